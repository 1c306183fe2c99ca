"""Rounds of soft training: weights, leaves and the moments of Adam are averaged."""

from copy import copy

import numpy as np

from ngdt._core.threads import one_blas_thread
from ngdt._methods.soft.run import SoftRun, unit_weight
from ngdt._training.folds import problem_of
from ngdt._training.rounds import Rounds, RoundState

# Least probability whose logarithm is a leaf value.
TINY = np.finfo(np.float32).tiny


class SoftRounds(Rounds):
    """Rounds of a training by `Annealed`.

    A gradient of a k-th of the samples has k times the variance, by which Adam divides steps: the
    learning rate is multiplied by the square root of k.

    Parameters
    ----------
    optimizer, tree, problem, n_samples, n_replicas
        As of `Rounds`.
    prior : ndarray or None
        Share of each class in all samples, for classification.

    Attributes
    ----------
    leaf_steps : int
        Steps over which leaves of classes are running means: as many as an epoch has.
    """

    metrics = ("loss", "gamma")
    min_batch_size = 64

    def __init__(self, optimizer, tree, problem, n_samples, n_replicas, prior):
        self.schedule = optimizer._schedule(n_samples, problem)
        whole = self.schedule.batch_size
        super().__init__(optimizer, tree, problem, n_samples, n_replicas, whole)
        self.epochs = optimizer._epochs(self.steps_per_epoch, problem.loss)
        self.leaf_steps = self.steps_per_epoch
        self._rate_factor = np.sqrt(max(1.0, whole / self.batch_size))
        self.prior = prior, optimizer.pseudo_count / n_samples
        # Its sample stands for its shapes only.
        self._replica = self._run(
            problem_of(problem, problem.training_samples[:1], problem.scaling), 1)

    def __getstate__(self):
        return {name: value for name, value in vars(self).items()
                if name not in ("schedule", "_replica")}

    @staticmethod
    def check(optimizer):
        if optimizer.leaf == "linear" or optimizer.mixing:
            raise ValueError(
                f"optimizer={optimizer!r}: there are no linear leaves and no mixing for "
                "samples in parts. Use leaf='constant' and mixing=0")

    def _run(self, problem, batch_size):
        """The run of a replica. Its leaves have the prior of all samples."""
        optimizer = copy(self.optimizer)
        optimizer.batch_size = batch_size
        return SoftRun(optimizer, self.tree, problem, problem.training_samples,
                       unit_weight(problem), prior=self.prior)

    def start(self):
        return RoundState([array.copy() for array in self._replica.trainer.arrays])

    def schedule_at(self, done, n_before):
        schedule, number = self.schedule, n_before + 1 + np.arange(len(done))
        # Leaves of classes are running means over some steps, at first over all so far.
        leaf_rate = 1.0 / np.minimum(number, self.leaf_steps) if (
            schedule.leaf_rate is None) else self._rate_factor * schedule.leaf_rate(done)
        return {
            "rate": self._rate_factor * schedule.rate(done), "leaf_rate": leaf_rate,
            "gamma": schedule.gamma(done), "keep": 1.0 - schedule.decay(done)}

    def _take(self, schedule, problem, batch_size, state):
        with one_blas_thread:
            trainer = self._run(problem, batch_size).trainer
            trainer.restore(state.arrays, state.n_steps)
            loss = trainer.epoch(np.arange(problem.X.shape[0], dtype=np.int32), **schedule)
            trainer.catch_up()
        return trainer.arrays, (loss, schedule["gamma"][-1])

    def tree_at(self, state):
        self._replica.trainer.restore(state.arrays, state.n_steps)
        return self._replica.with_splits()

    def soft_tree_at(self, state):
        """`tree_at` with the leaf values that the steps have trained."""
        tree, model = self.tree_at(state), self._replica.model
        values = np.asarray(model.parameters, dtype=np.float64).reshape(tree.values.shape)
        return tree.replace(values=np.log(np.maximum(values, TINY)) if model.is_likelihood else (
            values))
