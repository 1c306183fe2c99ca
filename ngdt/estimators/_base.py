"""Base class of the classifier and the regressor."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch, check_random_state
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ngdt._deadline import NO_DEADLINE, Deadline
from ngdt._limits import sequence_of
from ngdt._loss import Loss
from ngdt._resolve import (
    is_auto,
    resolve_baseline,
    resolve_init,
    resolve_leaves,
    resolve_loss,
    resolve_optimizers,
    sample_count,
)
from ngdt._selection import race, train, training_in_time
from ngdt._structure import decision_path
from ngdt._table import Table, check_table, check_targets
from ngdt._tree import Tree
from ngdt._validation import check_weight, error_prefix
from ngdt.estimators._description import describe
from ngdt.initializers import Initializer
from ngdt.optimizers import Optimizer
from ngdt.problem import Problem


class ObliqueTree(BaseEstimator):
    """Base class of the estimators.

    A subclass implements `_encode_targets` and sets the name of the default loss.
    """

    _default_loss: ClassVar[str]
    _check_y_params: ClassVar[dict] = {}

    __metadata_request__predict: ClassVar[dict] = {"check_input": UNUSED}

    _parameter_constraints: ClassVar[dict] = {
        "max_depth": [Interval(Integral, 0, None, closed="left"), None],
        "min_samples_split": [
            Interval(Integral, 2, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="right")],
        "min_samples_leaf": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="neither")],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "min_impurity_decrease": [Interval(Real, 0.0, None, closed="left")],
        "ccp_alpha": [Interval(Real, 0.0, None, closed="left")],
        # These three are validated when they are resolved, and by the objects themselves.
        "init": "no_validation",
        "optimizer": "no_validation",
        "loss": "no_validation",
        "validation_fraction": [
            StrOptions({"auto"}), Interval(Real, 0, 1, closed="left"), None],
        "leaf": [StrOptions({"auto", "constant", "linear"})],
        "leaf_features": [StrOptions({"auto", "all", "path"}), "array-like"],
        "leaf_penalty": [StrOptions({"auto"}), Interval(Real, 0, None, closed="both")],
        "standardize": ["boolean", StrOptions({"auto", "global"})],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "callback": [callable, None],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        max_depth: int | None = 8,
        *,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        init: "str | Initializer | Tree | BaseEstimator" = "auto",
        optimizer: "str | Optimizer | Sequence[str | Optimizer] | None" = "auto",
        loss: str | Loss | None = None,
        validation_fraction: float | Literal["auto"] | None = "auto",
        leaf: Literal["auto", "constant", "linear"] = "auto",
        leaf_features: ArrayLike | Literal["auto", "all", "path"] = "auto",
        leaf_penalty: float | Literal["auto"] = "auto",
        standardize: bool | Literal["auto", "global"] = "auto",
        categorical_features: ArrayLike | Literal["from_dtype"] | None = "from_dtype",
        max_time: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[dict], Any] | None = None,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.init = init
        self.optimizer = optimizer
        self.loss = loss
        self.validation_fraction = validation_fraction
        self.leaf = leaf
        self.leaf_features = leaf_features
        self.leaf_penalty = leaf_penalty
        self.standardize = standardize
        self.categorical_features = categorical_features
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.warm_start = warm_start
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train a tree.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The type is kept if it is float32 or float64. A C-contiguous array is then not copied.
        y : array-like of shape (n_samples,) or, for regression, (n_samples, n_outputs)
            Labels of any type, or regression targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Not negative; samples of weight zero are ignored. None gives all samples weight 1.

        Returns
        -------
        self : object
            The fitted estimator. If `fit` fails, the estimator is unchanged.

        Warns
        -----
        ConvergenceWarning
            If `max_time` or Ctrl-C ended the training. The estimator is then fitted with the best
            tree so far. Before the first epoch, Ctrl-C raises KeyboardInterrupt.
        """
        deadline = Deadline.after(self.max_time)
        resume = self.warm_start and hasattr(self, "tree_")
        return self._fit(
            X, y, sample_weight, resume=resume, fresh=not resume and is_auto(self.init),
            validation_fraction=self.validation_fraction, deadline=deadline)

    def _fit(self, X, y, sample_weight, deadline=NO_DEADLINE, **options):
        before = dict(vars(self))
        try:
            interrupted = self._fit_checked(X, y, sample_weight, deadline, **options)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise
        if interrupted:
            warnings.warn(
                f"Training was interrupted after {self.n_iter_} epochs; tree_ is the best tree "
                "found until then.", ConvergenceWarning, stacklevel=4)
        elif deadline.has_cut:
            warnings.warn(
                f"max_time={self.max_time:g} s shortened the training to {self.n_iter_} epochs; "
                "tree_ is the best tree found in this time.", ConvergenceWarning, stacklevel=4)
        return self

    def _fit_checked(self, X, y, sample_weight, deadline, *, resume, fresh, validation_fraction,
                     limit=True, classes=None):
        """Train, set the fitted attributes, and return whether Ctrl-C was pressed."""
        problem, fitted = self._checked_problem(X, y, sample_weight, resume, classes)
        problem, seconds = training_in_time(problem.replace(deadline=deadline))
        # Moments raise a ValueError for features whose range is too large.
        fitted["_table"] = fitted["_table"].with_means(problem.moments.mean)
        encoder = fitted["_targets"]
        linear_leaves = resolve_leaves(self, fitted["_table"])
        if fresh and is_auto(self.optimizer):
            result = race(
                problem, validation_fraction, leaf=self.leaf, linear_leaves=linear_leaves,
                seconds_per_sample=seconds)
            return self._set_fitted(problem, result, fitted)
        optimizers = resolve_optimizers(self, linear_leaves)
        init = self.tree_ if resume else resolve_init(self, optimizers, fitted.get("classes_"))
        if isinstance(init, Tree):
            with error_prefix("init"):
                problem.check_shapes(init)
            init = encoder.scale_leaf_values(init, problem.loss)
        result = train(
            problem, init, optimizers, baseline=resolve_baseline(init, optimizers, fresh),
            validation_fraction=validation_fraction, limit=limit)
        return self._set_fitted(problem, result, fitted)

    def _set_fitted(self, problem, result, fitted):
        """Set all fitted attributes together, and return whether Ctrl-C was pressed."""
        interrupted = result.interrupted
        try:
            fitted |= describe(problem, result, fitted)
        except KeyboardInterrupt:
            # The tree is trained, and the rest takes little time.
            interrupted = True
            fitted |= describe(problem, result, fitted)
        vars(self).update(fitted)
        return interrupted

    def _checked_problem(self, X, y, sample_weight, resume, classes=None):
        """The problem of checked data, and the fitted attributes that depend on X and y only."""
        raw, names, categorical = check_table(
            self, X, self._table.categorical if resume else self.categorical_features,
            reset=not resume)
        y = check_targets(self, y, **self._check_y_params)
        check_consistent_length(raw.numbers, y)
        sample_weight = check_weight(sample_weight, raw.numbers.shape[0])
        fitted, targets, sample_weight = self._encode_targets(y, sample_weight, resume, classes)
        table = self._table if resume else Table.fit(raw, names, categorical, sample_weight)
        fitted["_table"] = table
        return self._problem(
            table.transform(raw), targets, sample_weight, fitted["_targets"]), fitted

    @abstractmethod
    def _encode_targets(self, y, sample_weight, resume, classes):
        """Fitted attributes that depend on y, encoded targets, and sample weights."""

    def _problem(self, X, targets, sample_weight, encoder):
        loss = resolve_loss(self, self._default_loss)
        n_samples = np.count_nonzero(sample_weight)
        return Problem(
            X=X, y=loss.encode(targets, encoder.n_outputs), loss=loss,
            n_outputs=encoder.n_outputs, sample_weight=sample_weight, max_depth=self.max_depth,
            min_samples_split=sample_count(self.min_samples_split, n_samples, 2),
            min_samples_leaf=sample_count(self.min_samples_leaf, n_samples, 1),
            max_leaf_nodes=self.max_leaf_nodes,
            min_impurity_decrease=encoder.scale_impurity(self.min_impurity_decrease, loss),
            ccp_alpha=encoder.scale_impurity(self.ccp_alpha, loss),
            standardize=self.standardize,
            random_state=int(check_random_state(self.random_state).randint(
                np.iinfo(np.int32).max)),
            n_jobs=effective_n_jobs(self.n_jobs), verbose=int(self.verbose),
            callback=self.callback)

    def cost_complexity_pruning_path(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Bunch:
        """Alphas at which minimal cost-complexity pruning removes splits of the tree.

        A clone with ``ccp_alpha=0`` is fitted, and the path of its tree is returned. The estimator
        is not changed.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or, for regression, (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            As for `fit`.

        Returns
        -------
        sklearn.utils.Bunch
            `ccp_alphas` : ndarray of shape (n_subtrees,)
                Effective alpha of each subtree, ascending from 0.
            `impurities` : ndarray of shape (n_subtrees,)
                Sum of the impurities of the leaves of the subtree, in the units of `ccp_alpha`.
        """
        fitted = clone(self).set_params(ccp_alpha=0.0).fit(X, y, sample_weight)
        problem, _ = fitted._checked_problem(X, y, sample_weight, resume=True)
        sequence = sequence_of(fitted.tree_, problem)
        return sequence.path(unit=1.0 / fitted._targets.scale_impurity(1.0, problem.loss))

    def apply(self, X: ArrayLike, check_input: bool = True) -> np.ndarray:
        """Leaf that each sample reaches.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        check_input : bool, default=True
            False skips the validation of X, which is far slower than a prediction for one sample.
            X must then be a C-contiguous array or a CSR matrix of finite float32 or float64.

        Returns
        -------
        ndarray of int32, shape (n_samples,)
            From 0 to ``get_n_leaves() - 1``.
        """
        return self._route(X, check_input)[1]

    def _route(self, X, check_input, predict=False):
        """The tree, the leaf that each sample reaches and, if wanted, predictions.

        `tree_` is read once, since another thread may replace it at any time by `partial_fit`.
        """
        if check_input or not hasattr(self, "tree_"):   # check_is_fitted is as slow as a sample
            check_is_fitted(self)
        tree = self.tree_
        if check_input:
            raw = self._read(X)
            if self._table.is_identity:
                # A search for NaN and infinity costs as much as routing. Scores reveal both.
                data = tree._samples(raw.numbers)
                leaf, predictions = tree._predict_finite(data, predict)
                if leaf is not None:
                    return tree, leaf, predictions
            X = self._table.transform(raw)
        data = tree._samples(X)
        leaf = tree.apply_samples(data)
        return tree, leaf, tree.leaf_predictions(leaf, data) if predict else None

    def encode(self, X: ArrayLike) -> np.ndarray | sparse.csr_matrix:
        """Encode a table as the features that `tree_` reads.

        Numbers stay as they are. A missing number becomes the mean of the training samples; if it
        was missing in training, too, an indicator feature says so. Each category of a categorical
        column becomes an indicator feature.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, n_encoded_features)
            X itself if it is an array of float32 or float64 without missing values and categories.
        """
        check_is_fitted(self)
        return self._table.transform(self._read(X))

    def _read(self, X):
        """The values of a table, checked, before they are encoded."""
        return check_table(self, X, self._table.categorical, reset=False)[0]

    def _predictions(self, X, check_input):
        return self._route(X, check_input, predict=True)[2]

    def decision_path(self, X: ArrayLike) -> sparse.csr_matrix:
        """Internal nodes on the path of each sample.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        CSR matrix of bool, shape (n_samples, n_internal)
        """
        return decision_path(*self._route(X, True)[:2])

    def get_depth(self) -> int:
        """Depth of the tree: the largest number of splits between the root and a leaf.

        Returns
        -------
        int
        """
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Number of leaves of the tree.

        Returns
        -------
        int
        """
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def n_node_samples(self) -> np.ndarray:
        """Number of training samples at each internal node, then at each leaf.

        ndarray of int, shape (n_internal + n_leaves,). Validation samples are counted. Samples of
        weight 0, and those that `max_time` left out of the training, are not.
        """
        check_is_fitted(self)
        return self._n_node_samples

    def __sklearn_is_fitted__(self):
        return hasattr(self, "tree_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
