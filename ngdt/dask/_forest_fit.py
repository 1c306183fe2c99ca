"""One fit of a forest on partitions."""

from dataclasses import replace

import dask
from sklearn.base import is_classifier

from ngdt._core.tree import Tree
from ngdt._estimators.resolve import seed_of
from ngdt._forest.sampling import Sampling, number_of_columns, number_of_samples, seeds_of
from ngdt._forest.training import stored
from ngdt._training.result import TrainingResult, history_of
from ngdt._training.wide_data import for_all_features
from ngdt.dask._blocks import Division
from ngdt.dask._forest_training import Draw, ForestTraining
from ngdt.dask._reading import Reading, resolve_optimizer, warn_of_linear_leaves
from ngdt.dask._sums import Description, LeafSums, within_limits

# Share of the training in the progress that is shown.
TRAINING_WORK = 0.9


def fit_forest(estimator, X, y, sample_weight, control, n_at_once):
    """Fit a forest on partitions: as `fit_tree`.

    Parameters
    ----------
    estimator : ObliqueForestClassifier or ObliqueForestRegressor
        Estimator of ngdt with the parameters; not fitted. It gets the number and the names of the
        columns.
    X, y, sample_weight, control, n_at_once
        As for `fit_tree`.

    Returns
    -------
    finish : callable
    interrupted : bool
    """
    optimizer = resolve_optimizer(estimator)
    division = Division(None, is_classifier(estimator), seed_of(estimator))
    data = Reading(estimator, X, y, sample_weight, division, n_at_once,
                   replace(control, callback=None))
    draws = _draws(estimator, data)
    init = data.initial(optimizer)
    if isinstance(init, Tree) and draws[0].features is not None:
        raise ValueError(
            "init is a tree of all features: use max_features=None, or an initializer")
    trees = [_initial(init, data.problem, draw) for draw in draws]
    warn_of_linear_leaves(trees, estimator)
    trees, histories, interrupted = _trained(optimizer, trees, data, draws)

    def finish():
        drawn = [data.partitions.drawn(draw) for draw in draws]
        results = [
            TrainingResult(tree, history_of(optimizer, history)) for tree, history in zip(
                _finished(trees, drawn, data.limits), histories, strict=True)]
        # Fitted attributes and parameters of the estimator of each tree.
        parameters = {
            "init": init, "optimizer": optimizer, "max_depth": data.problem.limits.max_depth}
        found = dask.compute(*(
            own.lazy_total(Description.of, Description.add, result.tree, *data.units)
            for own, result in zip(drawn, results, strict=True)))
        estimators = estimator._estimators([
            data.described(result, each) | parameters | {"random_state": draw.seed}
            for result, each, draw in zip(results, found, draws, strict=True)], data.fitted)
        return estimator._attributes(data.fitted | {"candidates_": {}}, estimators)

    return finish, interrupted


def _draws(estimator, data):
    """Draws of samples and features, one for each tree."""
    table, n_samples = data.fitted["_table"], int(data.partitions.n_training.sum())
    bootstrap = bool(estimator.bootstrap)      # "auto" is True
    n_drawn = number_of_samples(estimator.max_samples, n_samples, bootstrap)
    sampling = Sampling(
        bootstrap, None, number_of_columns(estimator.max_features, len(table.names)),
        table.column_of)
    seeds = seeds_of(data.problem.random_state, estimator.n_estimators)
    return [Draw(sampling, None if n_drawn is None else n_drawn / n_samples, seed)
            for seed in seeds]


def _trained(optimizer, trees, data, draws):
    """The trees, of all features, the metrics of their epochs, and whether Ctrl-C came."""
    problem, interrupted = data.problem.doing(TRAINING_WORK), False
    trees, histories = [*trees], [{}] * len(draws)
    split = [k for k, tree in enumerate(trees) if optimizer is not None and tree.n_internal]
    if split:
        training = ForestTraining(
            optimizer, [trees[k] for k in split], [draws[k] for k in split], problem,
            data.partitions, data.prior)
        for k, trained in zip(split, training.run(), strict=True):
            trees[k], histories[k] = trained
        interrupted = training.progress.interrupted
    trees = [for_all_features(tree, draw.features, problem.X.shape[1])
             for tree, draw in zip(trees, draws, strict=True)]
    return trees, histories, interrupted


def _initial(init, problem, draw):
    """The initial tree, of the features that it draws."""
    if isinstance(init, Tree):
        return init
    own = problem.part(draw.weight(problem.sample_weight, 0), draw.features)
    return init.initialize(own.replace(random_state=draw.seed))


def _finished(trees, drawn, limits):
    """The trees with the best leaf values, without empty leaves, and within the limits."""
    fitted = [sums.fit_reached(tree)
              for tree, sums in zip(trees, _sums(trees, drawn), strict=True)]
    return [stored(within_limits(tree, sums, limits, own.sums))
            for tree, sums, own in zip(fitted, _sums(fitted, drawn), drawn, strict=True)]


def _sums(trees, drawn):
    """The `LeafSums` of all trees, in one reading of the partitions."""
    return dask.compute(*(own.lazy_total(LeafSums.of, LeafSums.add, tree)
                          for own, tree in zip(drawn, trees, strict=True)))
