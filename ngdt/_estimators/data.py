"""The base class of trees and forests: `fit`, and before it the checks and encoding of X and y."""

from __future__ import annotations

import pickle
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from numbers import Integral, Real
from os import PathLike
from textwrap import indent
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ngdt._core.loss import Loss
from ngdt._core.tree import Tree
from ngdt._encoding.check import check_table
from ngdt._encoding.check_targets import check_names_of_targets, check_targets, warn_of_target
from ngdt._encoding.table import Table
from ngdt._encoding.targets import ClassTargets, RegressionTargets
from ngdt._estimators.callbacks import CallbackSupportMixin, FitTasks
from ngdt._estimators.monotonic import encoded_directions, resolve_directions
from ngdt._estimators.resolve import resolve_loss, resolve_problem
from ngdt._estimators.run import running
from ngdt._estimators.score import RegressorScore
from ngdt._estimators.summary import ShowsSummary
from ngdt._estimators.validation import Validation
from ngdt._util.validation import (
    COUNT,
    COUNT_OR_ZERO,
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    HasParameters,
    as_attribute_error,
    check_weight,
    takes_only_its_parameters,
    warn,
)
from ngdt.explanation._shapley import HasShapleyValues
from ngdt.initializers import Initializer
from ngdt.optimizers import LinearLeaves, Optimizer


class HasTrees:
    """Mixin of estimators that predict by trees."""

    @abstractmethod
    def _trees(self):
        """The trees, list of Tree. Their mean is the prediction, but for boosting."""

    def get_depth(self) -> int:
        """Depth: the largest number of splits between the root and a leaf.

        Returns
        -------
        int
            Of a forest, that of its deepest tree.
        """
        check_is_fitted(self)
        return max(tree.max_depth for tree in self._trees())

    def get_n_leaves(self) -> int:
        """Number of leaves.

        Returns
        -------
        int
            Of a forest, those of all trees.
        """
        check_is_fitted(self)
        return sum(tree.n_leaves for tree in self._trees())


@dataclass(eq=False, repr=False, kw_only=True)
class TableEstimator(
        CallbackSupportMixin, HasParameters, ShowsSummary, HasTrees, HasShapleyValues,
        BaseEstimator):
    """Base class of estimators that are trained on encoded tables.

    `ClassifierData` and `RegressorData` add what depends on the task.
    """

    _default_loss: ClassVar[str]
    _check_y_params: ClassVar[dict] = {}

    _parameter_constraints: ClassVar[dict] = {
        "max_depth": [COUNT_OR_ZERO, None],
        "min_samples_split": [Interval(Integral, 2, None, closed="left"), SHARE],
        "min_samples_leaf": [COUNT, Interval(RealNotInt, 0.0, 1.0, closed="neither")],
        "min_weight_fraction_leaf": [Interval(Real, 0.0, 0.5, closed="both")],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "min_impurity_decrease": [NOT_NEGATIVE],
        "ccp_alpha": [NOT_NEGATIVE],
        # The others are validated when they are resolved, and by the objects themselves.
        "leaf": [StrOptions({"auto", "constant", "linear"}), LinearLeaves],
        "standardize": ["boolean", StrOptions({"auto", "global"})],
        "max_time": [POSITIVE, None],
        "checkpoint": [str, PathLike, None],
        "n_jobs": [COUNT, Interval(Integral, None, -1, closed="right"), None],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }

    max_depth: int | None = None
    min_samples_split: int | float = 2
    min_samples_leaf: int | float = 1
    min_weight_fraction_leaf: float = 0.0
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0
    ccp_alpha: float = 0.0
    init: str | Initializer | Tree | BaseEstimator = "auto"
    optimizer: str | Optimizer | Sequence[str | Optimizer] | None = "auto"
    loss: str | Loss | None = None
    leaf: Literal["auto", "constant", "linear"] | LinearLeaves = "auto"
    monotonic_cst: ArrayLike | Mapping[str, int] | None = None
    standardize: bool | Literal["auto", "global"] = "auto"
    categorical_features: ArrayLike | Literal["from_dtype"] | None = "from_dtype"
    max_time: float | None = None
    checkpoint: str | PathLike | None = None
    n_jobs: int | None = None
    verbose: int = 0
    warm_start: bool = False
    random_state: int | np.random.RandomState | None = None

    @takes_only_its_parameters
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None, *,
        X_val: ArrayLike | None = None, y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None, groups: ArrayLike | None = None,
    ) -> Self:
        """Train the tree, or the trees.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
            A data frame may have text and gaps: see :ref:`tables`. The type of numbers is kept if
            it is float32 or float64. A C-contiguous array is then not copied.
        y : array-like of shape (n_samples,) or, for regression, (n_samples, n_outputs)
            Labels of any type, or regression targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Not negative; samples of weight zero are ignored. None gives all samples weight 1, and a
            weight of 2 counts a sample twice. Their size matters: where the samples of a leaf weigh
            far less than 1 together, the probabilities of its classes are nearly equal.
        X_val : array-like, data frame or CSR matrix of shape (n_val, n_features), default=None
            Validation samples of your own: the default trees, or the kinds of trees of a forest,
            compete on them, and sizes, epochs and penalties of a tree have the least error there.
            Nothing of X is held out then, and X_val is never trained on: see :ref:`validation`.
        y_val : array-like of shape (n_val,) or, for regression, (n_val, n_outputs), default=None
            Labels or targets of X_val.
        sample_weight_val : array-like of shape (n_val,), default=None
            Weights of X_val. None gives all samples weight 1.
        groups : array-like of shape (n_samples,), default=None
            Group of each sample, such as its customer: labels of any type. Where samples are held
            out, all of a group are, and a forest draws groups; see :ref:`validation`.

        Returns
        -------
        self : object
            The fitted estimator. If `fit` fails, the estimator is unchanged.

        Warns
        -----
        ConvergenceWarning
            If `max_time` or Ctrl-C ended the training. The estimator is then fitted with the best
            tree so far, or with the trees of a forest that were trained until then. Before there is
            a tree, Ctrl-C raises KeyboardInterrupt; so it does where `fit` is called by a search or
            a cross-validation, and at the second time.
        """
        tasks = FitTasks(self, X, y, sample_weight)
        with running(self, self.max_time, tasks) as run:
            self._train(run, X, y, sample_weight,
                        Validation(X_val, y_val, sample_weight_val, groups))
        if self.verbose:
            print(indent(self.summary(), "[ngdt] "))
        for text in () if run.interrupted else self._surprises():
            warn(text)
        run.warn()
        return self

    @abstractmethod
    def _train(self, run, X, y, sample_weight, validation):
        """Train on data that are not checked, in a warm start further: sets the result of a run."""

    def _surprises(self):
        """Texts of warnings of another model than was asked for."""
        return ()

    def _columns(self):
        """Fitted attributes that say which columns X has."""
        return {name: value for name, value in vars(self).items() if name in (
            "n_features_in_", "feature_names_in_")}

    def _checked_problem(self, X, y, sample_weight, resume, known=None):
        """The problem of checked data, and the fitted attributes that depend on X and y only.

        Of the targets, all labels or the encoding may be `known`.
        """
        raw, names, categorical = check_table(
            self, X, self._table.categorical if resume else self.categorical_features,
            reset=not resume)
        if not resume:
            warn_of_target(X, y)
        checked = check_targets(self, y, **self._check_y_params)
        check_consistent_length(raw.numbers, checked)
        sample_weight = check_weight(sample_weight, raw.numbers.shape[0])
        fitted, targets, sample_weight = self._encode_targets(
            checked, sample_weight, resume, known)
        fitted["_targets"] = check_names_of_targets(fitted["_targets"], y)
        table = self._table.with_samples(raw, sample_weight) if resume else Table.fit(
            raw, names, categorical, targets, sample_weight)
        fitted |= {"_table": table, "encoded_feature_names_": table.feature_names}
        # At first, only samples without weight have unknown categories.
        encoded = table.transform(raw, name="X" if resume else None)
        problem = resolve_problem(self, encoded, targets, sample_weight, fitted["_targets"])
        return problem.replace(
            directions=resolve_directions(self, fitted),
            fill=table.gap_values(encoded.dtype)), fitted

    @abstractmethod
    def _encode_targets(self, y, sample_weight, resume, known):
        """Fitted attributes that depend on y, encoded targets, and sample weights."""

    def encode(self, X: ArrayLike) -> np.ndarray | sparse.csr_matrix:
        """Encode a table as the features that splits weigh.

        Numbers stay as they are. A missing number becomes the mean of the training samples; if gaps
        told something of y in training, an indicator feature says so. Each category of a
        categorical column becomes an indicator feature; of two, only the last.

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

    @property
    def encoded_monotonic_cst_(self) -> np.ndarray:
        """`monotonic_cst` of the encoded features, ndarray of int8, shape (n_features,)."""
        check_is_fitted(self)
        with as_attribute_error():      # of a parameter that was set since, for another table
            return self._directions_of(None)

    def _directions_of(self, monotonic_cst):
        """The directions of the encoded features; None stands for the parameter of this name."""
        return encoded_directions(
            self, self._table, self.monotonic_cst if monotonic_cst is None else monotonic_cst)

    def _summands(self):
        """The fitted estimators of tables whose predictions have the sum of this one."""
        check_is_fitted(self)
        return [self]

    def get_nbytes(self) -> int:
        """Size of the fitted estimator as a pickle, in bytes.

        Most of it are the arrays of the trees (`Tree.nbytes`). The rest is what text, plots and
        quantiles need.

        Returns
        -------
        int
        """
        check_is_fitted(self)
        # Functions that were given as parameters may have no name by which a pickle finds them.
        stored = copy(self)
        stored.set_params(**{name: None for name, value in self.get_params(deep=False).items()
                             if callable(value)})
        return len(pickle.dumps(stored))

    def _read(self, X):
        """The values of a table, checked, before they are encoded."""
        return check_table(self, X, self._table.categorical, reset=False)[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


class ClassifierData:
    """Mixin of classifiers: targets are class indices."""

    _default_loss = "log_loss"

    def _encode_targets(self, y, sample_weight, resume, known):
        encoder = self._targets if resume else ClassTargets.fit(y, known)
        targets = encoder.encode(y)
        weight = encoder.apply_class_weight(self.class_weight, targets, sample_weight)
        fitted = {"_targets": encoder, "classes_": encoder.classes,
                  "n_classes_": len(encoder.classes), "n_outputs_": 1}
        return fitted, targets, weight


class RegressorData(RegressorScore):
    """Mixin of regressors: targets are standardised."""

    _default_loss = "squared_error"
    _check_y_params: ClassVar[dict] = {"multi_output": True, "y_numeric": True}

    def _encode_targets(self, y, sample_weight, resume, known):
        loss = resolve_loss(self)
        # A loss with another link needs other targets.
        if resume and self._targets.has_log_link == loss.has_log_link:
            known = self._targets
        encoder = known or RegressionTargets.fit(y, sample_weight, loss)
        # Those of samples without weight count nowhere, and may be of any size.
        used, targets = sample_weight > 0, np.zeros((len(y), encoder.n_outputs))
        targets[used] = encoder.encode(y[used])
        encoder.check_weighted(targets, sample_weight)
        return {"_targets": encoder, "n_outputs_": encoder.n_outputs}, targets, sample_weight

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
