"""Rounds of `SGD` and `SSGD`: weights, thresholds and leaf values are averaged."""

import numpy as np

from ngdt._methods.sgd.run import InputScale, SGDRun, number_of_epochs, raw_tree, trainer_of
from ngdt._training.control import cosine
from ngdt._training.rounds import Rounds, RoundState


class SGDRounds(Rounds):
    """Rounds of a training by `SGD` or `SSGD`.

    The limit of the norms, the learning rates and the size of the initial weights are measured on
    the samples of the problem. The average of weight vectors stays in their ball.

    Parameters
    ----------
    optimizer, tree, problem, n_samples, n_replicas
        As of `Rounds`.
    prior : object
        Not used.
    """

    metrics = ("loss", "bound", "gradient_share", "n_scored")
    min_batch_size = 16

    def __init__(self, optimizer, tree, problem, n_samples, n_replicas, prior):
        super().__init__(
            optimizer, tree, problem, n_samples, n_replicas,
            min(optimizer.batch_size, n_samples))
        self.epochs = number_of_epochs(optimizer, self.steps_per_epoch, problem)
        problem = problem.winsorized
        self.input_scale = InputScale.measure(problem, optimizer.norm_limit)
        run = SGDRun(optimizer, tree, problem.replace(validation_weight=None), self.input_scale)
        self.nu, self.rate, self.leaf_rate = run.nu, run.rate, run.leaf_rate
        self._first = run.trainer.tree.arrays

    @staticmethod
    def check(optimizer):
        if optimizer.renew != "step":
            raise ValueError(
                f"optimizer={optimizer!r}: no assignments are kept on partitions. Use "
                "renew='step'")

    def start(self):
        return RoundState(self._first)

    def schedule_at(self, done, n_before):
        decay = cosine(done)
        return {"rate": self.rate * decay, "leaf_rate": self.leaf_rate * decay}

    def _take(self, schedule, problem, batch_size, state):
        trainer = trainer_of(
            self.optimizer, self.tree, problem, self.input_scale, self.nu, batch_size)
        trainer.tree.restore(state.arrays)
        found = trainer.epoch(np.arange(problem.X.shape[0], dtype=np.int32), **schedule)
        return trainer.tree.arrays, tuple(found[name] for name in self.metrics)

    def tree_at(self, state):
        return raw_tree(state.arrays, self.tree, self.scaling)
