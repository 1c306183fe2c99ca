"""One fit of a forest on partitions."""

from dataclasses import replace

import dask
import numpy as np
from sklearn.base import is_classifier

from ngdt._core.tree import Tree
from ngdt._estimators.resolve import seed_of
from ngdt._forest.sampling import Sampling, number_of_columns, number_of_samples, seeds_of
from ngdt._forest.training import stored
from ngdt._training.result import TrainingResult, history_of
from ngdt._training.wide_data import widen
from ngdt.dask._blocks import Division
from ngdt.dask._draw import Draw
from ngdt.dask._forest_training import ForestTraining
from ngdt.dask._reading import Reading, resolve_optimizer, warn_of_slopes
from ngdt.dask._sums import TRAINING, Description, LeafSums, within_limits
from ngdt.pruning._unused import keep_reached

# Share of the training in the progress that is shown.
TRAINING_WORK = 0.9


class ForestFit:
    """One fit of a forest on partitions.

    Parameters
    ----------
    estimator : ObliqueForestClassifier or ObliqueForestRegressor
        Estimator of ngdt with the parameters; not fitted. It gets the number and the names of the
        columns.
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
        self.optimizer, self.interrupted = resolve_optimizer(estimator), False
        division = Division(None, False, is_classifier(estimator), seed_of(estimator))
        self.data = Reading(estimator, X, y, sample_weight, division, n_at_once,
                            replace(control, callback=None))
        self.draws = self._draws(estimator)
        self.drawn = [self.data.partitions.drawn(draw) for draw in self.draws]
        trees, histories = self._trained(estimator)
        results = [
            TrainingResult(tree, history)
            for tree, history in zip(self._finished(trees), histories, strict=True)]
        trees = estimator._estimators(self._described(results), self.data.fitted)
        self.fitted = estimator._attributes(self.data.fitted | {"candidates_": {}}, trees)

    def _draws(self, estimator):
        """Draws of samples and features, one for each tree."""
        fitted, n_samples = self.data.fitted, int(self.data.partitions.n_training.sum())
        table = fitted["_table"]
        bootstrap = bool(estimator.bootstrap)      # "auto" is True
        n_drawn = number_of_samples(estimator.max_samples, n_samples, bootstrap)
        sampling = Sampling(
            bootstrap, None, number_of_columns(estimator.max_features, len(table.names)),
            np.array([feature.column for feature in table.features]))
        seeds = seeds_of(self.data.problem.random_state, estimator.n_estimators)
        return [Draw(sampling, None if n_drawn is None else n_drawn / n_samples, seed)
                for seed in seeds]

    def _trained(self, estimator):
        """Train; return the trees, of all features, and the metrics of their epochs."""
        data, optimizers = self.data, [] if self.optimizer is None else [self.optimizer]
        self.init = data.initial(optimizers)
        if isinstance(self.init, Tree):
            warn_of_slopes(self.init, estimator)
            if self.draws[0].features is not None:
                raise ValueError(
                    "init is a tree of all features: use max_features=None, or an initializer")
        problem = data.problem.doing(TRAINING_WORK)
        trees, histories = [self._initial(draw) for draw in self.draws], [{}] * len(self.draws)
        split = [k for k, tree in enumerate(trees) if optimizers and tree.n_internal]
        if split:
            training = ForestTraining(
                self.optimizer, [trees[k] for k in split], [self.draws[k] for k in split], problem,
                data.partitions, data.prior)
            for k, trained in zip(split, training.run(), strict=True):
                trees[k], histories[k] = trained
            self.interrupted = training.progress.interrupted
        trees = [widen(tree, draw.features, problem.X.shape[1])
                 for tree, draw in zip(trees, self.draws, strict=True)]
        return trees, [history_of(self.optimizer, each) for each in histories]

    def _initial(self, draw):
        """The initial tree, of the features that it draws."""
        if isinstance(self.init, Tree):
            return self.init
        problem = self.data.problem
        own = problem.part(draw.weight(problem.sample_weight, 0), draw.features)
        return self.init.initialize(own.replace(random_state=draw.seed))

    def _finished(self, trees):
        """The trees with the best leaf values, without empty leaves, and within the limits."""
        self._sum(trees)
        fitted = []
        for tree, drawn in zip(trees, self.drawn, strict=True):
            sums = drawn.sums(tree)
            fitted.append(keep_reached(sums.fit_leaves(tree), sums.count[TRAINING] > 0))
        self._sum(fitted)
        return [stored(within_limits(tree, self.data.limits, drawn.sums))
                for tree, drawn in zip(fitted, self.drawn, strict=True)]

    def _sum(self, trees):
        """Compute the sums of all trees in one reading of the partitions, unless they are kept."""
        new = [(drawn, tree) for drawn, tree in zip(self.drawn, trees, strict=True)
               if drawn.known(tree) is None]
        found = dask.compute(*(
            drawn.lazy_total(LeafSums.of, LeafSums.add, tree) for drawn, tree in new))
        for (drawn, tree), sums in zip(new, found, strict=True):
            drawn.keep(tree, sums)

    def _described(self, results):
        """Fitted attributes and parameters of the estimator of each tree."""
        found = dask.compute(*(
            drawn.lazy_total(Description.of, Description.add, result.tree, *self.data.units)
            for drawn, result in zip(self.drawn, results, strict=True)))
        parameters = {"init": self.init, "optimizer": self.optimizer,
                      "max_depth": self.data.problem.max_depth}
        return [
            self.data.described(result, each) | parameters | {"random_state": draw.seed}
            for result, each, draw in zip(results, found, self.draws, strict=True)]
