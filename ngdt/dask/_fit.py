"""One fit of a tree on partitions: from collections to the fitted attributes of an estimator."""

import numpy as np
from sklearn.base import is_classifier

from ngdt._core.tree import Tree
from ngdt._estimators.resolve import is_auto, seed_of
from ngdt._methods.greedy.pruned import Pruned
from ngdt._selection.policy import MIN_GAIN
from ngdt._training.folds import AUTO_VALIDATION_FRACTION
from ngdt._training.result import TrainingResult, history_of
from ngdt._util.stopped import Stopped
from ngdt.dask._blocks import Division
from ngdt.dask._reading import Reading, resolve_optimizer, warn_of_slopes
from ngdt.dask._sums import Description, saved, within_limits
from ngdt.dask._training import Training
from ngdt.optimizers import OptimizerResult

# Share of the training in the progress that is shown.
TRAINING_WORK = 0.85


class Fit:
    """One fit on partitions.

    Parameters
    ----------
    estimator : estimator of ngdt
        Has the parameters; not fitted. It gets the number and the names of the columns.
    X, y, sample_weight : dask collections, or None
    control : Control
    n_at_once : int or None
        Number of partitions that are trained on at the same time; -1 stands for all.

    Attributes
    ----------
    fitted : dict
        The fitted attributes.
    interrupted : bool
        Whether Ctrl-C ended the training.
    """

    def __init__(self, estimator, X, y, sample_weight, control, n_at_once):
        self.estimator = estimator
        self.optimizer = resolve_optimizer(estimator)
        self.division = _division(estimator, self.optimizer)
        self.data = Reading(
            estimator, X, y, sample_weight, self.division, n_at_once, control)
        self.partitions = self.data.partitions
        self.interrupted = False
        result = self._train()
        found = self.partitions.total(
            Description.of, Description.add, result.tree, *self.data.units)
        self.fitted = self.data.fitted | self.data.described(result, found)

    def _train(self):
        """Train; return the tree or the baseline, whichever is better on the test samples."""
        optimizers = [] if self.optimizer is None else [self.optimizer]
        init, problem = self.data.initial(optimizers), self.data.problem.doing(TRAINING_WORK)
        tree = initial = init if isinstance(init, Tree) else init.initialize(problem)
        warn_of_slopes(tree, self.estimator)
        if optimizers and tree.n_internal:
            training = Training(
                self.optimizer, problem.refit_leaves(tree), problem, self.partitions,
                self.data.prior, bool(self.division.fraction))
            try:
                result = training.run()
            except Stopped as stopped:
                result, self.interrupted = OptimizerResult(stopped.tree, stopped.history), True
        else:
            result = OptimizerResult(self._with_leaves(tree))
        tree = within_limits(result.tree, self.data.limits, self.partitions.sums)
        kept = False
        if optimizers and self.division.fraction and not isinstance(init, Tree):
            other = self._with_leaves(
                Pruned().initialize(self.data.problem) if is_auto(self.estimator.init) else initial)
            other = within_limits(other, self.data.limits, self.partitions.sums)
            gain, squares = self.partitions.total(saved, sum, other, tree)
            kept = not gain > MIN_GAIN * np.sqrt(squares)
        return TrainingResult(
            other if kept else tree, history_of(self.optimizer, result.history), kept)

    def _with_leaves(self, tree):
        return self.partitions.sums(tree).fit_leaves(tree)


def _division(estimator, optimizer):
    """Division of the samples of each partition."""
    fraction = estimator.validation_fraction
    if is_auto(fraction):
        fraction = AUTO_VALIDATION_FRACTION
    return Division(None if optimizer is None else fraction, not isinstance(estimator.init, Tree),
                    is_classifier(estimator), seed_of(estimator))


