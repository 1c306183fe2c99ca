"""Trees for a decreasing sequence of C, each trained from the one before, and the choice of C."""

import warnings
from copy import deepcopy
from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import (
    BaseEstimator,
    MetaEstimatorMixin,
    _fit_context,
    clone,
    is_classifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer, get_scorer_names, mean_squared_error, zero_one_loss
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from ngdt._tree import check_is_tree
from ngdt._validation import CHECK_X_PARAMS, check_matrix, check_weight, error_prefix
from ngdt.estimators import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt.optimizers import TAO
from ngdt.plotting import plot_path

__all__ = ["Spread", "TAOPath", "TAOPathCV", "prediction_cost", "tao_path"]

# Where the grid of a number of Cs begins and ends.
LARGEST_C, SMALLEST_C = 1.0, 1e-3


class Spread(NamedTuple):
    """Mean and range of a figure over samples.

    Attributes
    ----------
    mean, min, max : float or ndarray of shape (n_Cs,)
    """

    mean: float
    min: float
    max: float


def prediction_cost(tree, X, *, sample_weight=None):
    """What predictions cost: splits on the way to the leaf, and multiplications there.

    Parameters
    ----------
    tree : Tree
    X : array-like or CSR matrix of shape (n_samples, n_features)
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the means; samples of weight zero are not there.

    Returns
    -------
    path_length : Spread
        Number of internal nodes that a sample passes.
    n_multiplications : Spread
        Number of weights there that are not zero.

    Raises
    ------
    ValueError, TypeError
        If an argument does not fit; the message names it.

    References
    ----------
    Carreira-Perpinan & Tavallali (2018), Alternating Optimization of Decision Trees, with
    Application to Learning Sparse Oblique Trees, NeurIPS 31, Fig. 1.

    Examples
    --------
    >>> from ngdt import Tree
    >>> from ngdt.path import prediction_cost
    >>> tree = Tree([[1.0, 1.0], [0.0, 1.0]], [0.0, 0.0], [~0, ~1], [1, ~2], [[0], [1], [2]])
    >>> path_length, n_multiplications = prediction_cost(tree, [[-1.0, 0.0], [1.0, 0.0]])
    >>> path_length
    Spread(mean=1.5, min=1, max=2)
    >>> n_multiplications
    Spread(mean=2.5, min=2, max=3)
    """
    check_is_tree(tree)
    leaf = tree.apply(X)
    reached = np.bincount(leaf, check_weight(sample_weight, len(leaf)), tree.n_leaves)
    visits = abs(tree.ancestors()).astype(np.int64)
    nonzero = np.asarray((tree.weights != 0).sum(axis=1)).ravel()
    return tuple(
        Spread(float(np.average(cost, weights=reached)), int(cost[reached > 0].min()),
               int(cost[reached > 0].max()))
        for cost in (np.diff(visits.indptr), visits @ nonzero))


@dataclass(frozen=True)
class TAOPath:
    """Trees of a path and their figures, as `tao_path` returns them; the largest C first.

    Attributes
    ----------
    Cs : ndarray of shape (n_Cs,)
        Descending.
    trees : list of Tree
    train_error, validation_error : ndarray of shape (n_Cs,)
        Share of samples that get a wrong label, or the mean squared error; NaN without validation
        samples.
    n_nonzero, n_internal, n_leaves : ndarray of int, shape (n_Cs,)
        Weights that are not zero, splits and leaves of each tree.
    path_length, n_multiplications : Spread
        Of the training samples, as `prediction_cost` has them: ``path_length.mean``, ``.min`` and
        ``.max`` are arrays of shape (n_Cs,).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import tao_path
    >>> path = tao_path(*load_iris(return_X_y=True), Cs=[1.0, 0.1, 0.01])
    >>> bool(path.n_internal[-1] <= path.n_internal[0])
    True
    """

    Cs: np.ndarray
    trees: list
    train_error: np.ndarray
    validation_error: np.ndarray
    n_nonzero: np.ndarray
    n_internal: np.ndarray
    n_leaves: np.ndarray
    path_length: Spread
    n_multiplications: Spread

    def plot(self, *, axes=None):
        """Draw the figures over C; see `ngdt.plotting.plot_path`.

        Parameters
        ----------
        axes : sequence of four matplotlib Axes, default=None
            Where to draw. None makes a new figure.

        Returns
        -------
        list of matplotlib Axes
        """
        return plot_path(self, axes=axes)


def tao_path(
    X,
    y,
    *,
    Cs=10,
    estimator=None,
    X_val=None,
    y_val=None,
    sample_weight=None,
    verbose=0,
):
    """Train trees for a decreasing sequence of C, each from the one before.

    From the largest C on, which hardly limits the tree, to the smallest, which leaves few weights
    and few splits: as with the lasso, one number rules the size of the model.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or, for regression, (n_samples, n_outputs)
        Labels of any type, or values.
    Cs : int or array-like of float, default=10
        Values of `C` of :class:`~ngdt.optimizers.TAO`, in any order. An int is their number, in
        equal ratios from 1 to 0.001. What is large depends on the data: C weighs the *sum* of the
        losses, so that with more samples the same tree needs a smaller C.
    estimator : ObliqueTreeClassifier or ObliqueTreeRegressor, default=None
        Not fitted. Its `optimizer` is a :class:`~ngdt.optimizers.TAO`, whose C is replaced, or
        "tao". All rows are trained on: `validation_fraction` plays no part. None takes the
        defaults: a regressor where y is of floating-point numbers that are not all integers, else a
        classifier.
    X_val, y_val : array-like, default=None
        Samples for `validation_error`, which training never sees.
    sample_weight : array-like of shape (n_samples,), default=None
        Not negative; a row of weight zero takes no part.
    verbose : int, default=0
        Positive prints a line for each C.

    Returns
    -------
    TAOPath

    Raises
    ------
    ValueError, TypeError
        If an argument does not fit; the message names it.

    Warns
    -----
    ConvergenceWarning
        If Ctrl-C ended the training. The path then ends with the best tree for that C so far.

    See Also
    --------
    ngdt.TAOPathCV : Chooses C by cross-validation.

    Notes
    -----
    To predict labels by a tree of the path, make it the start of an estimator that does not train:
    ``ObliqueTreeClassifier(init=path.trees[3], optimizer=None).fit(X, y)``.

    References
    ----------
    Carreira-Perpinan & Tavallali (2018), Alternating Optimization of Decision Trees, with
    Application to Learning Sparse Oblique Trees, NeurIPS 31, section 4.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ngdt import tao_path
    >>> X, y = load_digits(return_X_y=True)
    >>> path = tao_path(X[:1200], y[:1200], Cs=[0.3, 0.03], X_val=X[1200:], y_val=y[1200:])
    >>> bool(path.n_nonzero[1] < path.n_nonzero[0])
    True
    """
    if (X_val is None) != (y_val is None):
        given, missing = ("X_val", "y_val") if y_val is None else ("y_val", "X_val")
        raise ValueError(f"X_val and y_val go together, but {given} is given without {missing}")
    if estimator is None:
        continuous = type_of_target(y, input_name="y").startswith("continuous")
        estimator = (ObliqueTreeRegressor if continuous else ObliqueTreeClassifier)(optimizer=TAO())
    model = _start(estimator)
    error = zero_one_loss if is_classifier(model) else mean_squared_error
    Cs, trees, columns = _check_Cs(Cs), [], []
    X = check_matrix(X)     # once, not once for each C
    if X_val is not None and (np.shape(X_val)[1:] != X.shape[1:]
                              or np.shape(X_val)[:1] != np.shape(y_val)[:1]):
        raise ValueError(
            f"X_val and y_val must be samples of {X.shape[1]} features and a target for each, "
            f"got shapes {np.shape(X_val)} and {np.shape(y_val)}")
    for C, interrupted in _fits(model, Cs, X, y, sample_weight):
        tree = model.tree_
        trees.append(tree)
        columns.append((
            error(y, model.predict(X), sample_weight=sample_weight),
            np.nan if X_val is None else error(y_val, model.predict(X_val)),
            tree.n_nonzero, tree.n_internal, tree.n_leaves,
            *prediction_cost(tree, X, sample_weight=sample_weight)))
        if verbose:
            train, validation, *sizes = columns[-1][:4]
            print(f"[tao_path] C {C:.4g}  train {train:.4g}  validation {validation:.4g}  "
                  "nonzeros {}  splits {}".format(*sizes))
        if interrupted:
            warnings.warn(
                f"Training was interrupted at C={C:.4g}, where the path ends.",
                ConvergenceWarning, stacklevel=2)
            break
    *figures, path_length, n_multiplications = zip(*columns, strict=True)
    return TAOPath(
        Cs[:len(trees)], trees, *map(np.array, figures),
        *(Spread(*np.array(spreads).T) for spreads in (path_length, n_multiplications)))


def _check_Cs(Cs):
    """Values of C in descending order."""
    if isinstance(Cs, Integral) and not isinstance(Cs, bool):
        if Cs < 1:
            raise ValueError(f"Cs must be a positive number of values or the values, got {Cs}")
        return np.geomspace(LARGEST_C, SMALLEST_C, Cs) if Cs > 1 else np.array([LARGEST_C])
    with error_prefix("Cs"):
        values = np.asarray(Cs, dtype=np.float64)
    if values.ndim != 1 or not len(values) or not ((values > 0) & np.isfinite(values)).all():
        raise ValueError(f"Cs must be a list of positive, finite numbers, got {Cs!r}")
    return np.unique(values)[::-1]


def _start(estimator):
    """A copy that goes on from its tree whenever it is fitted, and trains on all rows."""
    if not isinstance(estimator, (ObliqueTreeClassifier, ObliqueTreeRegressor)):
        raise TypeError(
            "estimator must be an ObliqueTreeClassifier or ObliqueTreeRegressor, "
            f"got {estimator!r}")
    named = isinstance(estimator.optimizer, str) and estimator.optimizer == "tao"
    optimizer = TAO() if named else estimator.optimizer
    if not isinstance(optimizer, TAO):
        raise ValueError(
            f"the optimizer of estimator must be 'tao' or a TAO, got {estimator.optimizer!r}")
    model = clone(estimator)
    return model.set_params(
        optimizer=clone(optimizer), validation_fraction=None, warm_start=True)


def _fits(model, Cs, X, y, sample_weight):
    """Fit with each C in turn, and yield it, and whether Ctrl-C ended the training."""
    for C in Cs:
        model.set_params(optimizer__C=C)
        interrupted = False
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            try:
                model.fit(X, y, sample_weight)
            except ConvergenceWarning:
                interrupted = True
        yield C, interrupted


class TAOPathCV(MetaEstimatorMixin, BaseEstimator):
    """Tree trained by TAO, with a C that cross-validation has chosen.

    In every fold, trees for all `Cs` are trained on the other folds, each from the one before (see
    `ngdt.tao_path`), and scored on the fold. The path is then trained once more, on all rows, down
    to the C that was chosen.

    Parameters
    ----------
    estimator : ObliqueTreeClassifier or ObliqueTreeRegressor
        Not fitted. Its `optimizer` is a :class:`~ngdt.optimizers.TAO`, whose C is replaced, or
        "tao". All rows of the other folds are trained on: `validation_fraction` plays no part.
    Cs : int or array-like of float, default=10
        As for `ngdt.tao_path`.
    cv : int, cross-validation splitter or iterable, default=None
        As everywhere in scikit-learn: None stands for 5 folds, by class for a classifier.
    scoring : str, callable or None, default=None
        As everywhere in scikit-learn: a name, or ``scorer(estimator, X, y)``. None is the accuracy
        or the R2.
    rule : {"best", "one_standard_error"}, default="best"
        Which C is chosen: the one with the best mean score, or the smallest whose mean score is
        within one standard error of that, for the sake of a smaller tree.
    n_jobs : int or None, default=None
        Number of folds at a time, as in joblib.

    Attributes
    ----------
    C_ : float
        The C that was chosen.
    Cs_ : ndarray of shape (n_Cs,)
        All values, descending.
    scores_ : ndarray of shape (n_folds, n_Cs)
        Score of each fold for each C.
    estimator_ : ObliqueTreeClassifier or ObliqueTreeRegressor
        Fitted on all rows.
    tree_ : Tree
        That of `estimator_`.
    classes_ : ndarray of shape (n_classes,)
        Labels, in the order of the leaf values; not there for a regressor.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Names of the features, where X had such.

    See Also
    --------
    ngdt.tao_path : The trees for all C.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen, C. Stone. "Classification and regression trees." Wadsworth,
    1984, section 3.4.3: the rule of one standard error.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ngdt import ObliqueTreeClassifier, TAOPathCV
    >>> X, y = load_digits(return_X_y=True)
    >>> search = TAOPathCV(
    ...     ObliqueTreeClassifier(max_depth=5, optimizer="tao"), Cs=[0.3, 0.03, 0.003], cv=2)
    >>> search.fit(X, y).C_ in (0.3, 0.03)
    True
    >>> search.scores_.shape
    (2, 3)
    """

    _parameter_constraints: ClassVar[dict] = {
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "rule": [StrOptions({"best", "one_standard_error"})],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self, estimator, *, Cs=10, cv=None, scoring=None, rule="best", n_jobs=None
    ):
        self.estimator = estimator
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Choose C, and train on all rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or, for regression, (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            Of training and of the scores. Not negative; a row of weight zero takes no part.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self.estimator_ = _start(self.estimator)
        X, y = validate_data(self, X, y, **CHECK_X_PARAMS, **self.estimator_._y_form)
        weight = None if sample_weight is None else check_weight(sample_weight, X.shape[0])
        self.Cs_ = _check_Cs(self.Cs)
        cv = check_cv(self.cv, y, classifier=is_classifier(self))
        self.scores_ = np.array(Parallel(self.n_jobs)(
            delayed(_scores)(self.estimator, self.Cs_, X, y, weight, train, test, self._scorer())
            for train, test in cv.split(X, y)))
        self.C_ = self.Cs_[_choose(self.scores_, self.rule)]
        for _ in _uninterrupted(
                self.estimator_, self.Cs_[self.Cs_ >= self.C_], X, y, weight):
            pass
        self.tree_ = self.estimator_.tree_
        if hasattr(self, "feature_names_in_"):
            self.estimator_.feature_names_in_ = self.feature_names_in_
        if is_classifier(self):
            self.classes_ = self.estimator_.classes_
        return self

    def _scorer(self):
        default = "accuracy" if is_classifier(self.estimator) else "r2"
        return get_scorer(default if self.scoring is None else self.scoring)

    def _checked(self, X):
        check_is_fitted(self)
        return validate_data(self, X, reset=False, **CHECK_X_PARAMS)

    def predict(self, X):
        """Labels or values, as `estimator_` predicts them.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or, for several targets, (n_samples, n_outputs)
        """
        X = self._checked(X)
        return self.estimator_.predict(X, check_input=False)

    @available_if(lambda self: is_classifier(self.estimator))
    def predict_proba(self, X):
        """Probability of each label.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        X = self._checked(X)
        return self.estimator_.predict_proba(X, check_input=False)

    def score(self, X, y, sample_weight=None):
        """Score by `scoring`.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        return self._scorer()(self, X, y, **_weighed(sample_weight))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = deepcopy(inner.classifier_tags)
        tags.regressor_tags = deepcopy(inner.regressor_tags)
        tags.target_tags = deepcopy(inner.target_tags)
        tags.input_tags.sparse = inner.input_tags.sparse
        return tags


def _weighed(weight):
    """Arguments of a scorer, which need not take weights where there are none."""
    return {} if weight is None else {"sample_weight": weight}


def _uninterrupted(model, *arguments):
    """Fit as `_fits` does, and yield the model; half a path is no basis for a choice."""
    for _, interrupted in _fits(model, *arguments):
        if interrupted:
            raise KeyboardInterrupt
        yield model


def _scores(estimator, Cs, X, y, weight, train, test, scorer):
    """Scores of the path of one fold."""
    weights = [None if weight is None else weight[rows] for rows in (train, test)]
    fits = _uninterrupted(_start(estimator), Cs, X[train], y[train], weights[0])
    return [scorer(model, X[test], y[test], **_weighed(weights[1])) for model in fits]


def _choose(scores, rule):
    """Index of the C that is chosen; the smaller one among equals."""
    mean, limit = scores.mean(axis=0), scores.mean(axis=0).max()
    if rule == "one_standard_error" and len(scores) > 1:
        limit -= scores[:, mean.argmax()].std(ddof=1) / np.sqrt(len(scores))
    return np.flatnonzero(mean >= limit)[-1]
