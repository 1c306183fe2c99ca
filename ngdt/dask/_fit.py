"""One fit of a tree on partitions: from collections to the fitted attributes of an estimator."""

import numpy as np
from sklearn.base import is_classifier

from ngdt._core.tree import Tree
from ngdt._estimators.resolve import is_auto, seed_of
from ngdt._methods.greedy.pruned import Pruned
from ngdt._training.folds import AUTO_VALIDATION_FRACTION
from ngdt._training.result import TrainingResult, history_of
from ngdt._util.stopped import Stopped
from ngdt.dask._blocks import Division
from ngdt.dask._reading import Reading, resolve_optimizer, warn_of_linear_leaves
from ngdt.dask._sums import Description, saved, within_limits
from ngdt.dask._training import Training
from ngdt.optimizers import OptimizerResult

# Lead over the baseline that the trained tree must have, in standard errors of the difference.
_MIN_GAIN = 2.0

# Share of the training in the progress that is shown.
TRAINING_WORK = 0.85


def fit_tree(estimator, X, y, sample_weight, control, n_at_once):
    """Fit a tree on partitions.

    Parameters
    ----------
    estimator : estimator of ngdt
        Has the parameters; not fitted. It gets the number and the names of the columns.
    X, y, sample_weight : dask collections, or None
    control : Control
    n_at_once : int or None
        Number of partitions that are trained on at the same time; -1 stands for all.

    Returns
    -------
    fitted : dict
        The fitted attributes.
    interrupted : bool
        Whether Ctrl-C ended the training.
    """
    optimizer = resolve_optimizer(estimator)
    data = Reading(estimator, X, y, sample_weight, _division(estimator, optimizer), n_at_once,
                   control)
    result, interrupted = _trained(estimator, optimizer, data)
    found = data.partitions.total(Description.of, Description.add, result.tree, *data.units)
    return data.fitted | data.described(result, found), interrupted


def _trained(estimator, optimizer, data):
    """The tree or the baseline, whichever is better on the test samples, and if Ctrl-C came."""
    optimizers, interrupted = [] if optimizer is None else [optimizer], False
    partitions, fraction = data.partitions, data.division.fraction
    init, problem = data.initial(optimizers), data.problem.doing(TRAINING_WORK)
    tree = initial = init if isinstance(init, Tree) else init.initialize(problem)
    warn_of_linear_leaves(tree, estimator)
    if optimizers and tree.n_internal:
        training = Training(
            optimizer, problem.refit_leaves(tree), problem, partitions, data.prior, bool(fraction))
        try:
            result = training.run()
        except Stopped as stopped:
            result, interrupted = OptimizerResult(stopped.tree, stopped.history), True
    else:
        result = OptimizerResult(partitions.sums(tree).fit_leaves(tree))
    tree, kept = within_limits(result.tree, data.limits, partitions.sums), False
    if optimizers and fraction and not isinstance(init, Tree):
        other = Pruned().initialize(data.problem) if is_auto(estimator.init) else initial
        other = within_limits(
            partitions.sums(other).fit_leaves(other), data.limits, partitions.sums)
        gain, squares = partitions.total(saved, sum, other, tree)
        kept = not gain > _MIN_GAIN * np.sqrt(squares)
    return TrainingResult(
        other if kept else tree, history_of(optimizer, result.history), kept), interrupted


def _division(estimator, optimizer):
    """Division of the samples of each partition."""
    fraction = estimator.validation_fraction
    if is_auto(fraction):
        fraction = AUTO_VALIDATION_FRACTION
    return Division(None if optimizer is None else fraction, not isinstance(estimator.init, Tree),
                    is_classifier(estimator), seed_of(estimator))
