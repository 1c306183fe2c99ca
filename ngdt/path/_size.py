"""Errors of trees on held-out folds by their largest number of leaves, and the choice of it."""

from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import is_classifier
from sklearn.metrics import mean_squared_error, zero_one_loss
from sklearn.utils import check_consistent_length

from ngdt._encoding.check import check_samples
from ngdt._encoding.check_targets import check_targets
from ngdt._estimators.data import TableEstimator
from ngdt._estimators.resolve import cloned
from ngdt._util.numbers import table_text
from ngdt._util.validation import check_weight, error_prefix
from ngdt.path._path_cv import best_score, cv_folds, rows_of


@dataclass(frozen=True, eq=False)
class SizePath:
    """Errors of trees by their largest number of leaves: the result of `size_path`.

    Attributes
    ----------
    max_leaf_nodes : ndarray of int, shape (n_sizes,)
        Largest number of leaves, ascending.
    n_leaves : ndarray of int, shape (n_folds, n_sizes)
        Number of leaves of the tree that was trained without the fold. It has fewer than are
        allowed if its training chose fewer.
    errors : ndarray of shape (n_folds, n_sizes)
        Share of misclassified samples of the fold, or for regression the mean squared error.
    error, standard_error : ndarray of shape (n_sizes,)
        Mean of the errors over the folds, and its standard error, which is NaN for one fold.
    chosen : int
        Smallest of `max_leaf_nodes` whose error is within one standard error of the least.

    See Also
    --------
    ngdt.plotting.plot_path : Draws them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import ObliqueTreeClassifier
    >>> from ngdt.path import size_path
    >>> estimator = ObliqueTreeClassifier(optimizer=None)
    >>> print(size_path(estimator, *load_iris(return_X_y=True), max_leaf_nodes=[2, 3, 4]))
    max_leaf_nodes  leaves    error  standard error
                 2       2   0.3333               0
                 3       3  0.06667         0.02357
                 4       4  0.05333         0.02261
    chosen: max_leaf_nodes=3
    """

    max_leaf_nodes: np.ndarray
    n_leaves: np.ndarray
    errors: np.ndarray

    @property
    def error(self):
        return self.errors.mean(axis=0)

    @property
    def standard_error(self):
        n_folds = len(self.errors)
        if n_folds == 1:
            return np.full(len(self.max_leaf_nodes), np.nan)
        return self.errors.std(axis=0, ddof=1) / np.sqrt(n_folds)

    @property
    def chosen(self):
        # Of equally good sizes, the last is taken.
        best = best_score(-self.errors[:, ::-1], "one_standard_error")
        return int(self.max_leaf_nodes[::-1][best])

    def __str__(self):
        columns = {"max_leaf_nodes": self.max_leaf_nodes, "leaves": self.n_leaves.mean(axis=0),
                   "error": self.error, "standard error": self.standard_error}
        return f"{table_text(columns)}\nchosen: max_leaf_nodes={self.chosen}"


def size_path(estimator, X, y, *, max_leaf_nodes=(2, 3, 4, 6, 8, 12, 16), cv=None,
              sample_weight=None, n_jobs=None):
    """Errors of a tree by its largest number of leaves, on held-out folds.

    For each fold and each size, a clone of the estimator with this `max_leaf_nodes` is fitted to
    the other folds. No tree is cut out of a larger one: with another size, a tree may be grown with
    other penalties, and choose another depth or other leaves.

    Parameters
    ----------
    estimator : ObliqueTreeClassifier or ObliqueTreeRegressor
        Fitted or not. It is not changed. Of a forest, `max_leaf_nodes` are those of each tree, and
        `n_leaves` those of all. ``verbose=1`` shows how many trees are trained.
    X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
        Whatever the estimator takes, with categories and missing values.
    y : array-like of shape (n_samples,) or, for regression, (n_samples, n_outputs)
        Class labels of any type, or targets for regression.
    max_leaf_nodes : array-like of int, default=(2, 3, 4, 6, 8, 12, 16)
        Sizes, at least 2, in any order.
    cv : int, cross-validation splitter or iterable, default=None
        As in scikit-learn: None stands for 5 folds, stratified for a classifier. Samples of weight
        zero are in no fold. Folds are not shuffled: for samples that come sorted, take
        ``KFold(5, shuffle=True)``. With groups, give folds:
        ``[*GroupKFold(5).split(X, y, groups)]``.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights for training and for the errors. Not negative.
    n_jobs : int or None, default=None
        Number of trees that are trained in parallel, as in joblib.

    Returns
    -------
    SizePath

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid; the message names it.

    See Also
    --------
    ngdt.plotting.plot_path : Draws the errors.
    ngdt.TAOPathCV : Chooses the number of weights instead.

    Notes
    -----
    To choose by another score, take scikit-learn's ``GridSearchCV`` over `max_leaf_nodes`.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen, C. Stone. "Classification and regression trees." Wadsworth,
    1984, section 3.4.3: the rule of one standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from ngdt import ObliqueTreeRegressor
    >>> from ngdt.path import size_path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1.0, 1.0, size=(200, 1))
    >>> y = np.abs(X[:, 0]) + rng.normal(scale=0.1, size=200)
    >>> tree = ObliqueTreeRegressor(leaf="linear", random_state=0)
    >>> path = size_path(tree, X, y, max_leaf_nodes=[2, 4], cv=3)
    >>> tree.set_params(max_leaf_nodes=path.chosen).fit(X, y).get_n_leaves()
    2
    """
    if not isinstance(estimator, TableEstimator):
        raise TypeError(f"estimator must be an oblique tree or forest, got {estimator!r}")
    # A checkpoint is that of a single training, and the path has its own progress.
    model = cloned(estimator).set_params(checkpoint=None, verbose=0)
    X = check_samples(model, X)
    y = check_targets(model, y, **model._check_y_params)
    check_consistent_length(X, y)
    weight = None if sample_weight is None else check_weight(sample_weight, len(y))
    with error_prefix("max_leaf_nodes"):
        sizes = np.unique(max_leaf_nodes).tolist()
    if not sizes:
        raise ValueError("max_leaf_nodes must have at least one size")
    folds = cv_folds(cv, X, y, weight, is_classifier(model))
    found = Parallel(n_jobs, verbose=10 * estimator.verbose)(
        delayed(_size_and_error)(
            cloned(model).set_params(max_leaf_nodes=size), X, y, weight, *fold)
        for fold in folds for size in sizes)
    n_leaves, errors = (
        np.reshape(each, (len(folds), len(sizes))) for each in zip(*found, strict=True))
    if not np.isfinite(errors).all():
        raise ValueError(
            "y: squared errors are beyond the largest float64, 1.8e308: divide y by a large number")
    return SizePath(np.array(sizes), n_leaves, errors)


def _size_and_error(model, X, y, weight, train, test):
    """Number of leaves of a model of some samples, and its error on others."""
    model.fit(*rows_of(train, X, y, weight))
    X, y, weight = rows_of(test, X, y, weight)
    error = zero_one_loss if is_classifier(model) else mean_squared_error
    with np.errstate(over="ignore"):
        return model.get_n_leaves(), error(y, model.predict(X), sample_weight=weight)
