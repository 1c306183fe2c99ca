"""Validation of parameters and of input, for all public functions and `Tree`, and its warnings."""

import re
import sys
import warnings
from collections.abc import Mapping, MappingView, Set
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache, wraps
from inspect import signature
from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    RealNotInt,
    StrOptions,
)

# A parameter may be what one of the constraints in its list allows.
COUNT = Interval(Integral, 1, None, closed="left")
COUNT_OR_ZERO = Interval(Integral, 0, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
SHARE = Interval(RealNotInt, 0, 1, closed="right")
BELOW_ONE = Interval(Real, 0, 1, closed="left")
ZERO_TO_ONE = Interval(Real, 0, 1, closed="both")
AUTO = StrOptions({"auto"})
# Of `max_features`, as `number_of_features` reads it.
DRAWN_FEATURES = [COUNT, SHARE, StrOptions({"sqrt", "log2"}), None]

# The form that the kernels take. float64 is what integers become; float32 stays as it is.
CHECK_X_PARAMS = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}

TINY = np.finfo(np.float64).tiny
# Largest sum of weights, whose product with its logarithm does not overflow.
_MAX_WEIGHT = 1e305
TOO_LARGE = "holds an integer beyond the largest float64, 1.8e308: divide all by a large number"
# Packages between the line of the user and a warning: this one, and what may call it.
_BETWEEN = {"contextlib", "joblib", "ngdt", "sklearn"}


class HasParameters:
    """Mixin of classes with parameters, which may be objects with parameters of their own."""

    # Each copy and each check asks for the names, and to take the signature apart needs most of the
    # time of these.
    @classmethod
    @cache
    def _get_param_names(cls):
        return super()._get_param_names()

    def _validate_params(self):
        try:
            super()._validate_params()
        except InvalidParameterError as error:
            # scikit-learn names the modules that define classes, which are not to be imported.
            raise InvalidParameterError(
                re.sub(r"instance of 'ngdt[\w.]*\.", "instance of '", str(error))) from None

    def set_params(self, **params):
        """Set parameters of this estimator and of the objects in them.

        Parameters
        ----------
        **params : dict
            Such as ``max_depth=3`` or, if the optimizer is an object, ``optimizer__steps=100``.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        ValueError
            If there is no such parameter, or no object that could have it, or if a value is the
            estimator itself.
        """
        for key in params:
            if params[key] is self:     # which could neither be written nor cloned
                raise ValueError(
                    f"{key} must not be the estimator itself. To go on from a fitted tree, set "
                    f"{key}=tree.tree_ or warm_start=True")
            name, is_nested, _ = key.partition("__")
            value = params.get(name, getattr(self, name, None))
            if is_nested and name in self._get_param_names() and not hasattr(value, "set_params"):
                raise ValueError(
                    f"{key}: {name}={value!r} has no parameters that can be set. Set {name} "
                    "itself to an object that has them, as in optimizer=Annealed(steps=100) or "
                    "optimizer=TAO(C=0.1)")
        return super().set_params(**params)


@contextmanager
def error_prefix(parameter):
    """Let the conversion errors of numpy and scikit-learn tell which parameter they are about."""
    try:
        yield
    except OverflowError as error:
        raise ValueError(f"{parameter} {TOO_LARGE}") from error
    except TypeError as error:
        raise TypeError(f"{parameter}: {error}") from error
    except ValueError as error:
        raise ValueError(f"{parameter}: {error}") from error


def takes_only_its_parameters(method):
    """Let a method name the estimator, and what it takes, if it is given anything else by name.

    Python would name the class that defines the method.
    """
    _, *names = signature(method).parameters
    taken = f"{', '.join(names[:-1])} and {names[-1]}"

    @wraps(method)
    def checked(self, *args, **given):
        for name in given:
            if name not in names:
                raise TypeError(
                    f"{type(self).__name__}.{method.__name__}() got an unexpected keyword argument "
                    f"{name!r}: it takes {taken}; all else is a parameter of the estimator")
        return method(self, *args, **given)

    return checked


@contextmanager
def as_attribute_error():
    """Let a property that cannot be known be missing, for `dir` and the pages of notebooks."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise AttributeError(str(error)) from error


def refuse_mask(name, values, way_out):
    """Refuse a masked array: its masked values would be taken for those below the mask.

    Parameters
    ----------
    name : str
    values : object
    way_out : str
        What to do.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{name} is an array with masked values: {way_out}")


def did_you_mean(given, known):
    """A hint at the known name that is closest to an unknown one.

    Parameters
    ----------
    given : object
        Upper and lower case are the same.
    known : iterable

    Returns
    -------
    str
        Such as " Did you mean 'tao'?"; empty if no name is close.
    """
    names = {str(each).lower(): each for each in known}
    close = get_close_matches(str(given).lower(), names, n=1)
    return f" Did you mean {names[close[0]]!r}?" if close else ""


def type_names(values):
    """Names of the types of values, as text such as "int and str"."""
    return " and ".join(sorted({type(value).__name__ for value in values}))


def check_number(name, value):
    """Return a number; raise a TypeError that names the parameter if it is none."""
    if not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}")
    return value


def check_counts(**counts):
    """Raise a ValueError unless each argument is a positive int or None."""
    for name, value in counts.items():
        if value is not None and (not isinstance(value, Integral) or value < 1):
            raise ValueError(f"{name} must be a positive int or None, got {value!r}")


def number_of_features(max_features, n_features):
    """Number of features that `max_features` means, as scikit-learn counts them: rounded down.

    Parameters
    ----------
    max_features : int, float, "sqrt", "log2" or None
    n_features : int

    Returns
    -------
    int
        At least 1. None stands for all.

    Raises
    ------
    ValueError
        If there are not so many.
    """
    if max_features is None:
        return n_features
    if max_features in ("sqrt", "log2"):
        return max(1, int(getattr(np, max_features)(n_features)))
    if not isinstance(max_features, Integral):
        return max(1, int(max_features * n_features))
    if max_features > n_features:
        raise ValueError(f"max_features={max_features} is more than the {n_features} features of X")
    return int(max_features)


def is_checked(X):
    """Return whether `check_array` with `CHECK_X_PARAMS` would only look for NaN and infinity.

    For a few samples, all that it does besides takes longer than their predictions.
    """
    return (type(X) is np.ndarray and X.ndim == 2 and X.size > 0 and X.flags.c_contiguous
            and X.dtype in CHECK_X_PARAMS["dtype"])


def check_matrix(X):
    """Check a data matrix and return it in the form the kernels take.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)

    Returns
    -------
    ndarray, C-contiguous, or CSR matrix
        float32 and float64 stay as they are; other numbers become float64. The columns of each
        sparse row ascend, and none is repeated.
    """
    refuse_mask("X", X, "replace them by numbers")
    with error_prefix("X"):
        if is_checked(X):
            assert_all_finite(X, input_name="X")
            return X
        X = check_array(X, **CHECK_X_PARAMS, input_name="X")
    return canonical_csr(X) if sparse.issparse(X) else X


def canonical_csr(X):
    """A CSR matrix of the same entries, with ascending columns in each row and none repeated.

    Kernels, and all code that reads `X.data`, rely on this form. Repeated entries are summed.

    Parameters
    ----------
    X : CSR matrix or array
        Not changed.

    Returns
    -------
    CSR matrix or array
        X itself if it has that form.

    Raises
    ------
    ValueError
        If the index arrays do not fit the shape, or a sum is not finite.
    """
    check_csr("X", X)
    # X keeps its own flags when its arrays are changed: look at the arrays.
    matrix = type(X)((X.data, X.indices, X.indptr), shape=X.shape)
    if matrix.has_canonical_format:
        return X if len(matrix.data) == len(X.data) else matrix
    matrix = matrix.copy()
    matrix.sum_duplicates()
    check_finite("X", matrix.data)
    return matrix


def check_csr(name, matrix):
    """Check the index arrays of a CSR matrix, which the kernels follow blindly.

    They can be changed behind scipy's back.

    Parameters
    ----------
    name : str
    matrix : CSR matrix or array
    """
    ends, columns = matrix.indptr, matrix.indices
    fits = (
        len(ends) == matrix.shape[0] + 1 and ends[0] == 0 and (np.diff(ends) >= 0).all()
        and ends.max() <= min(len(columns), len(matrix.data))
        and columns.min(initial=0) >= 0 and columns.max(initial=0) < matrix.shape[1])
    if not fits:
        raise ValueError(
            f"{name} is no valid CSR matrix: indices do not fit its shape {matrix.shape}")


def stored_per_sample(matrix):
    """Number of stored values of each sample of a CSR matrix, as `numpy.repeat` takes it.

    In 32 bits, that is no int64, in which the rows of a matrix may end.

    Parameters
    ----------
    matrix : CSR matrix or array

    Returns
    -------
    ndarray of intp, shape (n_samples,)
    """
    return np.diff(matrix.indptr).astype(np.intp, copy=False)


def refuse_no_list(name, values, what):
    """Refuse what has no value for each sample: a name, a set, a dict, a generator, a lazy frame.

    Parameters
    ----------
    name : str
    values : object
    what : str
        What samples have.
    """
    if isinstance(values, str):
        raise ValueError(f"{name}: expected the {what} of each sample, got {values!r}. Give a "
                         f"column, such as table[{values!r}]")
    if hasattr(values, "__next__") or isinstance(values, Set | Mapping | MappingView) or (
            hasattr(values, "collect") and not hasattr(values, "__array__")):
        raise TypeError(
            f"{name} is a {type(values).__name__}, which is no list of {what}s: pass a list, or "
            f"{name}.collect() of a lazy frame")


def check_weight(sample_weight, n_samples, name="sample_weight"):
    """Check the weights of samples; None stands for ones.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,) or None
    n_samples : int
    name : str, default="sample_weight"

    Returns
    -------
    ndarray of float64, shape (n_samples,)
        Not negative, not all zero, of a finite sum, and not all subnormal.
    """
    if sample_weight is None:
        return np.ones(n_samples)
    refuse_mask(name, sample_weight, f"pass {name}.filled(0)")
    refuse_no_list(name, sample_weight, "weight")
    with error_prefix(name):
        if np.asarray(sample_weight).dtype.kind in "Mm":    # which numpy would count in units
            raise TypeError("dates or times are no weights: give numbers")
        weight = check_array(
            sample_weight, dtype=np.float64, ensure_2d=False, input_name=name)
    if weight.shape != (n_samples,):
        raise ValueError(
            f"{name} must have shape ({n_samples},), one weight per sample, "
            f"got {weight.shape}")
    if (weight < 0).any():
        raise ValueError(f"{name} must not be negative, got {weight.min():g}")
    if not weight.any():
        raise ValueError(f"{name} must not be zero for every sample")
    check_size_of_weights(name, weight)
    return weight


def check_size_of_weights(name, weight):
    """Refuse weights that computations would overflow with, or lose the digits of.

    Parameters
    ----------
    name : str
        What the weights are made of.
    weight : ndarray of float64
        Not negative, not all zero.
    """
    with np.errstate(over="ignore"):
        if not weight.sum() <= _MAX_WEIGHT or weight.max() < TINY:
            raise ValueError(
                f"{name} must have a finite sum, of at most {_MAX_WEIGHT:g}, and must not be below "
                f"{TINY:.2g} for every sample: divide the weights by the largest of them")


def check_finite(name, array):
    """Raise a ValueError if an array holds NaN or infinity."""
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity")


def warn(message, category=UserWarning):
    """Warn at the nearest line of the callers that is in none of the packages between."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and (
            frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
