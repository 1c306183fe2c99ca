"""Trees for a decreasing sequence of C, each trained from the one before, and their costs."""

from dataclasses import dataclass
from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import mean_squared_error, zero_one_loss
from sklearn.utils.multiclass import type_of_target

from ngdt._core.structure import paths
from ngdt._core.tree import check_is_tree
from ngdt._encoding.check import check_samples
from ngdt._estimators import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt._estimators.resolve import cloned
from ngdt._estimators.run import running
from ngdt._util.numbers import table_text
from ngdt._util.validation import check_weight, error_prefix, warn
from ngdt.optimizers import TAO


class Spread(NamedTuple):
    """Mean and range of a quantity over samples.

    Attributes
    ----------
    mean, min, max : float or ndarray of shape (n_Cs,)
    """

    mean: float
    min: float
    max: float


def prediction_cost(tree, X, *, sample_weight=None):
    """Cost of prediction: splits on the path to the leaf, and multiplications on the way.

    Parameters
    ----------
    tree : Tree
    X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the means. Samples of weight zero are ignored.

    Returns
    -------
    path_length : Spread
        Number of internal nodes on the path of a sample.
    n_multiplications : Spread
        Number of nonzero weights of these nodes, and of nonzero slopes of the leaf.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid; the message names it.

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
    weight = np.bincount(leaf, check_weight(sample_weight, len(leaf)), tree.n_leaves)
    reached = np.flatnonzero(weight)
    path = paths(tree, reached)
    n_nonzero = np.asarray((tree.weights != 0).sum(axis=1)).ravel()
    n_multiplications = abs(path) @ n_nonzero
    if tree.slopes is not None:
        n_multiplications = n_multiplications + np.count_nonzero(
            tree.slopes[reached], axis=(1, 2))
    return tuple(
        Spread(float(np.average(cost, weights=weight[reached])), int(cost.min()), int(cost.max()))
        for cost in (np.diff(path.indptr), n_multiplications))


@dataclass(frozen=True, eq=False)
class TAOPath:
    """Trees of a path with their errors, sizes and costs: the result of `tao_path`.

    Attributes
    ----------
    Cs : ndarray of shape (n_Cs,)
        Values of C, in descending order.
    trees : list of Tree
        A tree for each C.
    train_error, validation_error : ndarray of shape (n_Cs,)
        Share of misclassified samples, or for regression the mean squared error. The validation
        error is NaN without validation samples.
    n_nonzero, n_internal, n_leaves : ndarray of int, shape (n_Cs,)
        Number of nonzero weights, splits and leaves of each tree.
    path_length, n_multiplications : Spread
        Cost of predictions for the training samples, as in `prediction_cost`; ``path_length.mean``,
        ``.min`` and ``.max`` are arrays of shape (n_Cs,).

    See Also
    --------
    ngdt.plotting.plot_path : Draws them.

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

    def __str__(self):
        columns = {
            "C": self.Cs, "train error": self.train_error,
            "validation error": self.validation_error, "nonzeros": self.n_nonzero,
            "splits": self.n_internal, "leaves": self.n_leaves}
        if np.isnan(self.validation_error).all():       # there are no validation samples
            del columns["validation error"]
        return table_text(columns)


def tao_path(X, y, *, Cs=10, estimator=None, X_val=None, y_val=None, sample_weight=None):
    """Train trees for a decreasing sequence of C, each from the previous one.

    The largest C hardly limits the tree; the smallest leaves few nonzero weights and few splits.

    Parameters
    ----------
    X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
        Whatever the estimator takes, with categories and missing values.
    y : array-like of shape (n_samples,) or, for regression, (n_samples, n_outputs)
        Class labels of any type, or targets for regression.
    Cs : int or array-like of float, default=10
        Values of `C` of :class:`~ngdt.optimizers.TAO`, in any order. An int is a number of values,
        spaced evenly on a log scale from 1 to 0.001. The useful range depends on the data: C
        multiplies the *sum* of the losses, so with more samples the same tree needs a smaller C.
    estimator : ObliqueTreeClassifier or ObliqueTreeRegressor, default=None
        The estimator to fit for each C. Its `optimizer` is a :class:`~ngdt.optimizers.TAO`, whose C
        is replaced, or "tao". It is trained on all samples: `validation_fraction` has no effect.
        None takes the default estimator with TAO: a regressor if y has floating-point values that
        are not all integers, else a classifier.
    X_val, y_val : array-like, default=None
        Samples for `validation_error` only, not used in training.
    sample_weight : array-like of shape (n_samples,), default=None
        Not negative. Samples of weight zero are ignored.

    Returns
    -------
    TAOPath

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid; the message names it.

    Warns
    -----
    ConvergenceWarning
        If Ctrl-C ended the training: the path then ends with the best tree so far for that C. If
        `max_time` of the estimator, for each C, shortened the training for some C.

    See Also
    --------
    ngdt.TAOPathCV : Chooses C by cross-validation.

    Notes
    -----
    To predict labels with a tree of the path, make it the initial tree of an estimator without an
    optimizer: ``ObliqueTreeClassifier(init=path.trees[3], optimizer=None).fit(X, y)``.

    References
    ----------
    Carreira-Perpinan & Tavallali (2018), Alternating Optimization of Decision Trees, with
    Application to Learning Sparse Oblique Trees, NeurIPS 31, section 4.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ngdt import tao_path
    >>> X, y = load_digits(return_X_y=True)
    >>> path = tao_path(X[:500], y[:500], Cs=[0.3, 0.03], X_val=X[500:], y_val=y[500:])
    >>> bool(path.n_nonzero[1] < path.n_nonzero[0])
    True
    """
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val must be given together, but one is missing")
    if estimator is None:
        continuous = type_of_target(y, input_name="y").startswith("continuous")
        estimator = (ObliqueTreeRegressor if continuous else ObliqueTreeClassifier)(optimizer=TAO())
    model = warm_started(estimator)
    error = zero_one_loss if is_classifier(model) else mean_squared_error
    Cs, trees, columns, encoded = check_Cs(Cs), [], [], None
    X = check_samples(model, X)
    for C, run in fits(model, Cs, X, y, sample_weight):
        tree = model.tree_
        trees.append(tree)
        encoded = model.encode(X) if encoded is None else encoded   # the same for all C
        with error_prefix("X_val and y_val"):
            validation = np.nan if X_val is None else error(y_val, model.predict(X_val))
        columns.append((
            error(y, model.predict(X), sample_weight=sample_weight), validation,
            tree.n_nonzero, tree.n_internal, tree.n_leaves,
            *prediction_cost(tree, encoded, sample_weight=sample_weight)))
        if run.cut is not None:
            warn(
                f"Training was interrupted at C={C:.4g}, where the path ends." if run.interrupted
                else f"At C={C:.4g}, {run.cut}", ConvergenceWarning)
            if run.interrupted:
                break
    *metrics, path_length, n_multiplications = zip(*columns, strict=True)
    return TAOPath(
        Cs[:len(trees)], trees, *map(np.array, metrics),
        *(Spread(*np.array(spreads).T) for spreads in (path_length, n_multiplications)))


def check_Cs(Cs):
    """Distinct values of C in descending order.

    Parameters
    ----------
    Cs : int or array-like of float

    Returns
    -------
    ndarray of shape (n_Cs,)

    Raises
    ------
    ValueError, TypeError
        If they are not positive and finite.
    """
    is_number = isinstance(Cs, Integral) and not isinstance(Cs, bool)
    if is_number and Cs > 0:
        return np.geomspace(1.0, 1e-3, Cs)
    with error_prefix("Cs"):
        values = np.asarray(Cs, dtype=np.float64)
    if values.ndim != 1 or not len(values) or not ((values > 0) & np.isfinite(values)).all():
        raise ValueError(
            f"Cs must be a positive int or a 1-d array of positive, finite values, got {Cs!r}")
    return np.unique(values)[::-1]


def warm_started(estimator):
    """Copy an estimator; the copy trains on all samples and starts each `fit` from its tree.

    Parameters
    ----------
    estimator : ObliqueTreeClassifier or ObliqueTreeRegressor

    Returns
    -------
    ObliqueTreeClassifier or ObliqueTreeRegressor

    Raises
    ------
    ValueError, TypeError
        If it is another estimator, or its optimizer is not TAO, or it has a checkpoint.
    """
    if not isinstance(estimator, (ObliqueTreeClassifier, ObliqueTreeRegressor)):
        raise TypeError(
            "estimator must be an ObliqueTreeClassifier or ObliqueTreeRegressor, "
            f"got {estimator!r}")
    if estimator.checkpoint is not None:
        raise ValueError(
            f"checkpoint={estimator.checkpoint!r} of the estimator is for a single training, not "
            "for all those of a path: use checkpoint=None")
    named = isinstance(estimator.optimizer, str) and estimator.optimizer == "tao"
    optimizer = TAO() if named else estimator.optimizer
    if not isinstance(optimizer, TAO):
        raise ValueError(
            f"the optimizer of estimator must be 'tao' or an instance of TAO, "
            f"got {estimator.optimizer!r}")
    return cloned(estimator).set_params(
        optimizer=clone(optimizer), validation_fraction=None, warm_start=True)


def fits(model, Cs, X, y, sample_weight):
    """Fit a model for each C in turn.

    Parameters
    ----------
    model : ObliqueTreeClassifier or ObliqueTreeRegressor
        As `warm_started` returns it.
    Cs : ndarray of shape (n_Cs,)
    X, y, sample_weight : array-like

    Yields
    ------
    C : float
    run : Run
    """
    for C in Cs:
        model.set_params(optimizer__C=C)
        # Not `fit`, which warns: a filter of warnings would be one for all other threads, too.
        model._validate_params()
        with running(model, model.max_time) as run:
            model._train(run, X, y, sample_weight)
        yield C, run
