"""Base class of the classification forest and the regression forest."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from ngdt._core.samples import Samples
from ngdt._core.structure import decision_path
from ngdt._core.tree import Tree
from ngdt._estimators.base import ObliqueTree
from ngdt._estimators.data import TableEstimator
from ngdt._estimators.resolve import (
    is_auto,
    resolve_given_tree,
    resolve_init,
    resolve_leaves,
    resolve_optimizers,
)
from ngdt._estimators.summary import SummarizesForest
from ngdt._forest.candidates import forest_candidates
from ngdt._forest.ensemble import Ensemble
from ngdt._forest.pruned import PrunesForest
from ngdt._forest.sampling import drawn_samples, out_of_bag_predictions, sampling_of, seeds_of
from ngdt._forest.training import Growth
from ngdt._forest.trial import compete
from ngdt._selection.train import Candidate
from ngdt._util.parallel import map_ranges
from ngdt._util.validation import (
    AUTO,
    COUNT,
    DRAWN_FEATURES,
    SHARE,
    check_weight,
    error_prefix,
    warn,
)
from ngdt.explanation._forest import ExplainsForest

# Number of samples for a thread, below which to start it takes longer.
_SAMPLES_PER_THREAD = 256
# Fitted attributes that a forest has only after a fit with `oob_score`, or once it is pruned.
OPTIONAL = {"oob_score_", "oob_decision_function_", "oob_prediction_", "pruning_path_"}


@dataclass(eq=False, repr=False)
class ObliqueForest(SummarizesForest, PrunesForest, ExplainsForest, TableEstimator):
    """Base class of the forests.

    A subclass sets `_tree_class` and implements `_set_out_of_bag`.
    """

    _tree_class: ClassVar[type[ObliqueTree]]
    class_weight = None     # a parameter of classification
    _kernel = None

    _parameter_constraints: ClassVar[dict] = {
        **TableEstimator._parameter_constraints,
        "n_estimators": [COUNT],
        "bootstrap": ["boolean", AUTO],
        "max_samples": [COUNT, SHARE, None],
        "max_features": DRAWN_FEATURES,
        "oob_score": ["boolean", callable],
    }

    n_estimators: int = 20
    _: KW_ONLY
    bootstrap: bool | Literal["auto"] = "auto"
    max_samples: int | float | None = None
    max_features: int | float | Literal["sqrt", "log2"] | None = None
    oob_score: bool | Callable[[Any, Any], float] = False

    def _train(self, run, X, y, sample_weight, validation):
        """Train the trees, or in a warm start further ones."""
        resume = self.warm_start and hasattr(self, "estimators_")
        before = list(self.estimators_) if resume else []
        n_more, used = self.n_estimators - len(before), [tree.random_state for tree in before]
        if n_more < 0:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be at least the {len(before)} trees of the "
                "previous fit, since warm_start=True adds trees")
        run.begin(
            X, y, sample_weight, validation, resume=resume, checkpoint=self.checkpoint,
            before=(used, self.candidates_) if resume else None)
        problem = run.problem
        _check_directions(before, problem.directions)
        if problem.own_validation and not self._is_default:
            raise ValueError(
                "X_val decides which kinds of trees a forest has, but init or optimizer names one: "
                "leave X_val and y_val out, or use init='auto' and optimizer='auto'")
        sampling = sampling_of(self, problem, run.fitted)
        run.fitted["candidates_"] = self.candidates_ if resume else {}
        if n_more:
            growth = Growth(problem, run.fitted, run.tasks, lambda trees: self._attributes(
                run.fitted, before + self._trained(trees, run.fitted)))
            seeds = seeds_of(problem.random_state, n_more, set(used))
            self._grow(growth, sampling, seeds, run.fitted)
            before = before + self._trained(growth.trees, run.fitted)
            run.interrupted, run.was_cut = growth.interrupted, growth.was_cut
        else:
            warn("Nothing was trained: with warm_start=True, raise n_estimators to add trees")
        run.result = before, sampling, y, sample_weight

    def _set_fitted(self, run):
        """Set all fitted attributes together."""
        trees, sampling, y, sample_weight = run.result
        self._set_trees(run.fitted, trees)
        for tree in trees:      # those of an earlier fit, too: what it encoded is encoded as before
            tree._table, tree._targets = self._table, self._targets
        problem = run.problem
        vars(self).pop("_drawn_from", None)
        if run.drawn is None:
            weight = np.delete(problem.sample_weight, problem.validation_samples)
            # As a number if none is left out: it takes less space, as does the draw of each tree.
            self._drawn_from = len(weight) if weight.all() else np.flatnonzero(weight)
        if self.oob_score:
            y = np.asarray(y)
            predictions = out_of_bag_predictions(problem, sampling, trees, len(y), run.drawn)
            self._set_out_of_bag(y, check_weight(sample_weight, len(predictions)), predictions)

    def _cut_message(self, by_user):
        why = "Ctrl-C" if by_user else f"max_time={self.max_time:g} s"
        n, n_asked = len(self.estimators_), self.n_estimators
        return (f"{why} shortened the training: the forest has {n} of {n_asked} trees."
                if n < n_asked else
                f"{why} shortened the training of trees; the forest has all {n}.")

    @property
    def _is_default(self):
        return is_auto(self.optimizer) and is_auto(self.init)

    def _grow(self, growth, sampling, seeds, fitted):
        """Train a tree for each seed."""
        problem, kinds = growth.problem, []
        leaves = resolve_leaves(self, fitted["_table"])
        if is_auto(self.optimizer):
            kinds = forest_candidates(problem, leaves, sampling.n_columns)
        if self._is_default:
            fitted["candidates_"] = compete(growth, kinds, sampling, seeds, fitted["candidates_"])
            return
        optimizers = kinds[0].optimizers if kinds else resolve_optimizers(
            self, leaves, problem.directions is not None)
        given = self._given(problem, sampling, optimizers, fitted)
        growth.add([(given, sampling, seed) for seed in seeds])

    def _given(self, problem, sampling, optimizers, fitted):
        """The candidate for all trees that the parameters say."""
        init = resolve_init(self, optimizers, fitted)
        if isinstance(init, Tree):
            init = resolve_given_tree(init, problem, fitted["_targets"])
            if sampling.n_columns is not None:
                raise ValueError(
                    "init is a tree of all features: use max_features=None, or an initializer")
        return Candidate("", init, tuple(optimizers))

    def _trained(self, trees, fitted):
        return self._estimators([tree.attributes for tree in trees], fitted)

    def _estimators(self, described, fitted):
        """The estimators of trees, of the fitted attributes of each and of the forest."""
        parameters = self.get_params(deep=False)
        parameters |= {
            "validation_fraction": None, "callback": None, "max_time": None, "checkpoint": None,
            "n_jobs": None, "verbose": 0, "warm_start": False}
        if self.class_weight == "balanced_subsample":
            parameters["class_weight"] = "balanced"
        names = self._tree_class._get_param_names()
        parameters, estimators = {name: parameters[name] for name in names}, []
        for attributes in described:
            estimators.append(self._tree_class(**parameters))
            vars(estimators[-1]).update(self._columns() | fitted | attributes)
        return estimators

    def _set_trees(self, fitted, trees):
        for name in OPTIONAL & vars(self).keys():
            delattr(self, name)
        vars(self).update(self._attributes(fitted, trees))
        self._ensemble()

    def _attributes(self, fitted, trees):
        """The fitted attributes of a forest of these trees."""
        return fitted | {"estimators_": trees, "_kernel": None}

    @abstractmethod
    def _set_out_of_bag(self, y, sample_weight, predictions):
        """Set the attributes of out-of-bag predictions."""

    def _out_of_bag_score(self, metric, y, predictions, weight):
        """The score of samples with predictions; a given `oob_score` is the metric, unweighted."""
        if not len(y):
            return np.nan
        if callable(self.oob_score):
            with error_prefix("oob_score, a function of y_true and y_pred, failed"):
                return self.oob_score(y, predictions)
        return metric(y, predictions, sample_weight=weight)

    def _samples(self, X):
        """The samples of a table, encoded as the trees read them."""
        check_is_fitted(self)
        return Samples(self._table.transform(self._read(X)))

    def _trees(self):
        return [estimator.tree_ for estimator in self.estimators_]

    def _check_trees_are_trained(self, what):
        for place, estimator in enumerate(self.estimators_):
            estimator._check_tree_is_trained(f"{what} of estimators_[{place}]")

    def _ensemble(self):
        """The kernel for all trees; made anew where `estimators_` has been changed."""
        trees, ensemble = self._trees(), self._kernel
        if ensemble is None or [*map(id, trees)] != [*map(id, ensemble.trees)]:
            ensemble = self._kernel = Ensemble(trees, is_classifier(self))
        return ensemble

    def _predictions(self, X):
        """Mean prediction of the trees: probabilities, or values."""
        return self._mean(self._samples(X))

    def _mean(self, data, ensemble=None):
        """Mean prediction of the trees of now, or of an ensemble that was taken before."""
        ensemble = ensemble or self._ensemble()
        out = np.empty((data.n_samples, ensemble.n_outputs))
        map_ranges(lambda first, stop: ensemble.mean(data, first, stop, out), data.n_samples,
                   self.n_jobs, _SAMPLES_PER_THREAD)
        return out

    def apply(self, X: ArrayLike) -> np.ndarray:
        """Leaf of each tree that each sample reaches.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of int32, shape (n_samples, n_trees)
            A leaf of tree ``t`` is a number from 0 to ``estimators_[t].get_n_leaves() - 1``.
        """
        return self._leaves(self._samples(X))

    def _leaves(self, data):
        return np.stack(
            [tree._apply_by_threads(data, self.n_jobs) for tree in self._trees()], axis=1)

    def decision_path(self, X: ArrayLike) -> tuple[sparse.csr_matrix, np.ndarray]:
        """Internal nodes on the paths of each sample.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        indicator : CSR matrix of bool, shape (n_samples, n_nodes)
            The internal nodes of all trees, one tree after the other.
        n_nodes_ptr : ndarray of int, shape (n_trees + 1,)
            The nodes of tree ``t`` are ``indicator[:, n_nodes_ptr[t]:n_nodes_ptr[t + 1]]``.
        """
        leaves, trees = self._leaves(self._samples(X)), self._trees()
        paths = [decision_path(tree, leaves[:, t]) for t, tree in enumerate(trees)]
        ends = np.cumsum([0, *(tree.n_internal for tree in trees)])
        return sparse.hstack(paths, format="csr"), ends

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean of the importances of the trees, scaled to a sum of 1."""
        check_is_fitted(self)
        importances = np.mean([tree.feature_importances_ for tree in self.estimators_], axis=0)
        return importances / (importances.sum() or 1.0)

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """The samples that each tree was trained on, drawn anew from its seed at each use.

        Returns
        -------
        list of ndarray of int
            For each tree the indices of its samples in X of the last `fit`. With `bootstrap`, one
            that was drawn several times is there as often.

        Raises
        ------
        AttributeError
            If they are not known: of forests whose training `max_time` shortened, of those that
            drew groups, and of trees of an earlier `fit` with another number of samples.
        """
        check_is_fitted(self)
        samples = getattr(self, "_drawn_from", None)
        if isinstance(samples, int):
            samples = np.arange(samples)
        draws = [getattr(each, "_draw", (None,)) for each in self.estimators_]
        if samples is None or any(
                each.random_state is None or n != len(samples)
                for each, (n, *_) in zip(self.estimators_, draws, strict=True)):
            raise AttributeError(
                "estimators_samples_ is not known for all trees: fit the forest without max_time, "
                "warm_start and groups")
        return [drawn_samples(samples, *draw, each.random_state)
                for each, (_, *draw) in zip(self.estimators_, draws, strict=True)]

    def __len__(self):
        """Number of trees."""
        return len(self.estimators_)

    def __getitem__(self, index):
        """The estimator of a tree, or a list of the estimators in a slice."""
        return self.estimators_[index]

    def __iter__(self):
        """The estimators of the trees, one after the other."""
        return iter(self.estimators_)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "estimators_")

    def __getstate__(self):
        # The kernel holds copies of the leaves, and is soon made anew. Files of version 1 may hold
        # importances, which are those of the trees.
        return {name: value for name, value in super().__getstate__().items()
                if name not in ("_kernel", "feature_importances_")}


def _check_directions(before, directions):
    """Raise a ValueError if trees of an earlier fit need not have the present directions."""
    if directions is None:
        return
    for tree in before:
        if ((directions != 0) & (tree.encoded_monotonic_cst_ != directions)).any():
            raise ValueError(
                "monotonic_cst must be that of the previous fit, since warm_start=True keeps its "
                "trees: use warm_start=False to train all of them anew")
