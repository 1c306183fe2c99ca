"""One fit of a tree on partitions: from collections to the fitted attributes of an estimator."""

import numpy as np
from sklearn.base import is_classifier

from ngdt._core.tree import Tree
from ngdt._estimators.resolve import is_auto, seed_of
from ngdt._methods.greedy.pruned import Pruned
from ngdt._selection.default import ONE_TARGET, nothing_found
from ngdt._selection.train import Candidate
from ngdt._training.choice import Choice
from ngdt._training.control import NO_DEADLINE
from ngdt._training.folds import AUTO_VALIDATION_FRACTION, Fold, Score
from ngdt._training.result import TrainingResult, history_of
from ngdt._util.stopped import Stopped
from ngdt._util.validation import warn
from ngdt.dask._blocks import Division
from ngdt.dask._reading import Reading, resolve_optimizer, warn_of_linear_leaves
from ngdt.dask._sums import Description, scores_of, within_limits
from ngdt.dask._training import Training
from ngdt.optimizers import OptimizerResult

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
    finish : callable
        Returns the fitted attributes of what has been trained.
    interrupted : bool
        Whether Ctrl-C ended the training.
    """
    optimizer, fraction = resolve_optimizer(estimator), estimator.validation_fraction
    if is_auto(fraction):
        fraction = AUTO_VALIDATION_FRACTION
    division = Division(None if optimizer is None else fraction, is_classifier(estimator),
                        seed_of(estimator))
    data = Reading(estimator, X, y, sample_weight, division, n_at_once, control)
    init, problem = data.initial(optimizer), data.problem.doing(TRAINING_WORK)
    tree = init if isinstance(init, Tree) else init.initialize(problem)
    warn_of_linear_leaves([tree], estimator)
    trained, sums, interrupted = _trained(optimizer, tree, data, problem)

    def finish():
        small = within_limits(trained.tree, sums, data.limits, data.partitions.sums)
        result = TrainingResult(small, history_of(optimizer, trained.history))
        if data.division.fraction and not isinstance(init, Tree):
            baseline = Pruned().initialize(data.problem) if is_auto(estimator.init) else tree
            result = _better(estimator, optimizer, result, _fitted(baseline, data), data)
        found = data.partitions.total(Description.of, Description.add, result.tree, *data.units)
        return data.fitted | data.described(result, found)

    return finish, interrupted


def _trained(optimizer, tree, data, problem):
    """The result of the optimizer, the sums of its tree, and whether Ctrl-C came."""
    if optimizer is None or not tree.n_internal:
        sums = data.partitions.sums(tree)
        return OptimizerResult(sums.fit_leaves(tree)), sums, False
    training = Training(optimizer, problem.refit_leaves(tree), problem, data.partitions, data.prior,
                        bool(data.division.fraction))
    try:
        return training.run(), training.best.sums, False
    except Stopped as stopped:
        return OptimizerResult(stopped.tree, stopped.history), training.best.sums, True


def _fitted(tree, data):
    """The tree with the best leaf values, and within the limits."""
    sums = data.partitions.sums(tree)
    return within_limits(sums.fit_leaves(tree), sums, data.limits, data.partitions.sums)


def _better(estimator, optimizer, result, baseline, data):
    """The result with the trained tree or the baseline: a method that is asked for is preferred."""
    weight, *scores = data.partitions.total(scores_of, np.hstack, result.tree, baseline)
    if not weight.any():
        return result
    trained, kept = Candidate(optimizer.name, estimator.init), Candidate("pruned", "pruned")
    choice = Choice([kept, trained] if is_auto(estimator.optimizer) else [trained, kept],
                    [Fold(data.problem, weight=weight)], NO_DEADLINE)
    choice.add(trained, result.tree, Score(*scores[:3]))
    choice.add(kept, baseline, Score(*scores[3:]))
    winner = choice.ranked()[0]
    tree, = choice.trees[winner]
    if tree.n_leaves == 1 and data.limits.max_depth != 0:
        # A leaf without any loss has seen no other target.
        is_certain = choice.mean_error(winner, "log_loss")[0] == 0.0
        warn(ONE_TARGET if is_certain else nothing_found(data.problem.loss))
    # Where the initial tree is named, it is no candidate, as in memory.
    table = choice.table(winner) if is_auto(estimator.init) else {}
    return TrainingResult(tree, result.history, winner is kept, table)
