"""Soft training in rounds: replicas of a tree take steps on parts of the data, and are averaged.

A round is a few steps of each replica, each on samples of its own, from the average of the round
before. Weights, leaves and the moments of Adam are averaged. What a round is told and returns can
be sent to another process.
"""

from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ngdt._folds import problem_of
from ngdt.optimizers._soft.run import SoftRun, unit_weight
from ngdt.optimizers._threads import one_blas_thread

# Steps of a round, at most. With 16 instead of 8, four replicas lost 0.4 points on Connect4.
ROUND_STEPS = 8
# Least samples of a mini-batch of a replica, unless those of a single process are smaller.
MIN_BATCH_SIZE = 64
# Steps of an epoch, above which mini-batches become larger: many small rounds take longer than
# their steps.
MAX_EPOCH_STEPS = 10_000


@dataclass(frozen=True)
class SoftState:
    """What steps have changed so far.

    Attributes
    ----------
    arrays : list of ndarray of float32
        As `SoftTrainer.arrays`.
    n_steps : int
        Steps of each replica.
    weight : float
        Of the samples of the last round.
    losses : tuple of float
        Mean loss of each round.
    """

    arrays: list
    n_steps: int = 0
    weight: float = 0.0
    losses: tuple = ()

    @classmethod
    def average(cls, states):
        """The average of replicas, by the weights of their samples."""
        weight = sum(state.weight for state in states)
        share = [state.weight / weight if weight else 1.0 / len(states) for state in states]
        arrays = [sum(np.float32(a) * array for a, array in zip(share, replicas, strict=True))
                  for replicas in zip(*(state.arrays for state in states), strict=True)]
        losses = np.dot(share, [state.losses for state in states])
        return cls(arrays, states[0].n_steps, weight, tuple(losses.tolist()))


@dataclass(frozen=True)
class Steps:
    """The schedules at each step of a round; arguments of `SoftTrainer.epoch`."""

    gamma: np.ndarray
    rate: np.ndarray
    keep: np.ndarray
    leaf_rate: np.ndarray

    def __len__(self):
        return len(self.gamma)

    def first(self, n):
        """The first steps, one after the other as arguments."""
        return self.gamma[:n], self.rate[:n], self.keep[:n], self.leaf_rate[:n]


class SoftRounds:
    """What all rounds of a training have in common; sent to where they run.

    The mini-batch of a single process is divided among the replicas, down to `MIN_BATCH_SIZE`
    samples. A gradient of a k-th of the samples has k times the variance, by which Adam divides
    steps: the learning rate is multiplied by the square root of k. The average of the replicas then
    moves as far as one tree would, with as much noise.

    Parameters
    ----------
    optimizer : Annealed
    tree : Tree
        The initial tree.
    problem : Problem
        Some of the samples, with the scaling of all.
    n_samples : int
        All training samples.
    n_replicas : int
    prior : ndarray or None
        Share of each class in all samples, for classification.

    Attributes
    ----------
    batch_size : int
        Samples of a mini-batch of a replica.
    epochs : int
    """

    def __init__(self, optimizer, tree, problem, n_samples, n_replicas, prior):
        self.schedule = optimizer._schedule(n_samples, problem)
        whole = self.schedule.batch_size
        self.batch_size = max(-(-whole // n_replicas), min(whole, MIN_BATCH_SIZE),
                              n_samples // (n_replicas * MAX_EPOCH_STEPS))
        self.steps_per_epoch = max(1, n_samples // (n_replicas * self.batch_size))
        self.epochs = optimizer._epochs(self.steps_per_epoch)
        self._rate_factor = np.sqrt(max(1.0, whole / self.batch_size))
        self.tree, self.scaling = tree, problem.scaling
        self.optimizer = optimizer
        self.prior, self.prior_weight = prior, self.schedule.pseudo_count / n_samples
        # Stands for its shapes only.
        self._example = problem_of(problem, problem.training_samples[:1], problem.scaling)

    def __getstate__(self):
        return {name: value for name, value in vars(self).items()
                if name not in ("schedule", "_replica")}

    @cached_property
    def _replica(self):
        return _Replica(self, self._example, 1)

    def start(self):
        """The state before the first step."""
        return SoftState([array.copy() for array in self._replica.trainer.arrays])

    def steps(self, done, first):
        """Schedules of some steps.

        Parameters
        ----------
        done : ndarray of shape (n_steps,)
            Finished share of the training before each step.
        first : int
            Number of steps before.

        Returns
        -------
        Steps
        """
        schedule, number = self.schedule, first + 1 + np.arange(len(done))
        # Leaves of classes are running means over an epoch, at first over the steps so far.
        leaf_rate = 1.0 / np.minimum(number, self.steps_per_epoch) if (
            schedule.leaves is None) else self._rate_factor * schedule.leaves.rate(done)
        return Steps(schedule.gamma(done), self._rate_factor * schedule.rate(done),
                     1.0 - schedule.decay(done), leaf_rate)

    def advance(self, problem, samples, state, steps):
        """Let a replica take the steps of a round.

        Parameters
        ----------
        problem : Problem
        samples : ndarray of int, shape (n,)
            Training samples in the order of their visits, each once.
        state : SoftState
            Is not changed.
        steps : Steps

        Returns
        -------
        SoftState
        """
        n, n_steps = len(samples), state.n_steps + len(steps)
        if n == 0:
            return SoftState(state.arrays, n_steps, 0.0, (*state.losses, 0.0))
        batch_size = -(-n // len(steps))
        n_batches = -(-n // batch_size)
        problem = problem_of(problem, samples, self.scaling)
        with one_blas_thread:
            replica = _Replica(self, problem, batch_size)
            replica.restore(state)
            loss = replica.trainer.epoch(
                np.arange(n, dtype=np.int32), *steps.first(n_batches))
            replica.trainer.catch_up()
        return SoftState(replica.trainer.arrays, n_steps, float(problem.sample_weight.sum()),
                         (*state.losses, loss))

    def tree_of(self, state):
        """The initial tree with the splits of a state."""
        self._replica.restore(state)
        return self._replica.with_splits()


class _Replica(SoftRun):
    """The run of a round. The prior of its leaves is that of all samples."""

    def __init__(self, rounds, problem, batch_size):
        self._rounds = rounds
        optimizer = copy(rounds.optimizer)
        optimizer.batch_size = batch_size
        super().__init__(
            optimizer, rounds.tree, problem, problem.training_samples, unit_weight(problem), False)

    def _prior(self):
        return self._rounds.prior, self._rounds.prior_weight

    def restore(self, state):
        self.trainer.restore(state.arrays, state.n_steps)
