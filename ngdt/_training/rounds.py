"""Training in rounds: replicas of a tree take steps on parts of the data, and are averaged.

A round is a few steps of each replica, each on samples of its own, from the average of the round
before. All that steps change is averaged. What a round is told and returns can be sent to another
process.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ngdt._training.folds import problem_of

# Steps of a round, at most. Four replicas lost on Connect4 by longer ones: 0.4 points with 16 steps
# of `Annealed`, 0.9 with 32 of `SSGD`.
ROUND_STEPS = 8
# Steps of an epoch, above which mini-batches become larger: many small rounds take longer than
# their steps.
_MAX_EPOCH_STEPS = 10_000


@dataclass(frozen=True, eq=False)
class RoundState:
    """State of a training after some steps.

    Attributes
    ----------
    arrays : list of ndarray
        Parameters of the tree, and moments of them.
    n_steps : int
        Steps of each replica.
    weight : float
        Of the samples of the last round.
    metrics : tuple of tuple of float
        Of each round, a number for each of `Rounds.metrics`.
    """

    arrays: list
    n_steps: int = 0
    weight: float = 0.0
    metrics: tuple = ()

    @classmethod
    def average(cls, states):
        """The average of replicas, by the weights of their samples."""
        weight = sum(state.weight for state in states)
        share = [state.weight / weight if weight else 1.0 / len(states) for state in states]
        arrays = [sum(array.dtype.type(a) * array for a, array in zip(share, replicas, strict=True))
                  for replicas in zip(*(state.arrays for state in states), strict=True)]
        metrics = np.tensordot(share, [state.metrics for state in states], axes=1)
        return cls(arrays, states[0].n_steps, weight, tuple(map(tuple, metrics.tolist())))


class Rounds(ABC):
    """Common part of all rounds of a training; sent to where they run.

    The mini-batch of a single process is divided among the replicas, so that the average of the
    replicas moves as far as one tree would, with as much noise.

    A subclass sets `epochs`, and implements `check`, `start`, `schedule_at`, `tree_at` and `_take`.

    Parameters
    ----------
    optimizer : Optimizer
    tree : Tree
        The initial tree.
    problem : Problem
        Some of the samples, with the scaling of all.
    n_samples : int
        All training samples.
    n_replicas : int
    batch_size : int
        Samples of a mini-batch of a single process.

    Attributes
    ----------
    batch_size : int
        Samples of a mini-batch of a replica.
    epochs, steps_per_epoch : int
    """

    # Names of the metrics of a round.
    metrics: ClassVar[tuple[str, ...]]
    # Least samples of a mini-batch of a replica, unless those of a single process are smaller.
    min_batch_size: ClassVar[int]

    def __init__(self, optimizer, tree, problem, n_samples, n_replicas, batch_size):
        self.optimizer, self.tree, self.scaling = optimizer, tree, problem.scaling
        self.batch_size = max(-(-batch_size // n_replicas), min(batch_size, self.min_batch_size),
                              n_samples // (n_replicas * _MAX_EPOCH_STEPS))
        self.steps_per_epoch = max(1, n_samples // (n_replicas * self.batch_size))

    @staticmethod
    @abstractmethod
    def check(optimizer):
        """Raise a ValueError if a parameter of the optimizer asks for what rounds cannot give."""

    @abstractmethod
    def start(self):
        """The `RoundState` before the first step."""

    @abstractmethod
    def schedule_at(self, done, n_before):
        """The schedule of some steps.

        Parameters
        ----------
        done : ndarray of shape (n_steps,)
            Finished share of the training before each step.
        n_before : int
            Number of steps before.

        Returns
        -------
        dict of str to ndarray of float64, shape (n_steps,)
            Numbers that vary from step to step, such as the learning rates `rate` and `leaf_rate`:
            by the names of the arguments of `epoch` of the trainer.
        """

    def advance(self, problem, samples, state, schedule):
        """Let a replica take the steps of a round.

        Parameters
        ----------
        problem : Problem
        samples : ndarray of int, shape (n,)
            Training samples in the order of their visits, each once.
        state : RoundState
            Is not changed.
        schedule : dict of str to ndarray
            As `schedule_at` returns it.

        Returns
        -------
        RoundState
        """
        n, n_of_round = len(samples), len(schedule["rate"])
        n_steps = state.n_steps + n_of_round
        if n == 0:
            none = (0.0,) * len(self.metrics)
            return RoundState(state.arrays, n_steps, 0.0, (*state.metrics, none))
        batch_size = -(-n // n_of_round)
        schedule = {name: numbers[:-(-n // batch_size)] for name, numbers in schedule.items()}
        problem = problem_of(problem, samples, self.scaling).winsorized
        arrays, metrics = self._take(schedule, problem, batch_size, state)
        return RoundState(
            arrays, n_steps, float(problem.sample_weight.sum()), (*state.metrics, metrics))

    @abstractmethod
    def _take(self, schedule, problem, batch_size, state):
        """Visit the samples of a problem in their order: the arrays after it, and the metrics."""

    @abstractmethod
    def tree_at(self, state):
        """The initial tree with the splits of a state."""
