"""Checks of targets: labels, or the numbers of regression."""

import re
from collections.abc import Mapping
from numbers import Real

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from sklearn.base import is_classifier
from sklearn.utils.validation import _check_y

from ngdt._encoding.columns import TIMES, is_missing
from ngdt._util.validation import TOO_LARGE, error_prefix, refuse_mask, refuse_string
from ngdt._util.warn import warn


def warn_of_target(X, y):
    """Warn of the column of X that y was taken from: a tree would predict y from itself.

    Parameters
    ----------
    X, y : array-like
        As they are given to `fit`. Only a series has a name.
    """
    name = getattr(y, "name", None)
    if name is None or name not in getattr(X, "columns", ()):
        return
    column = X[name]
    if type(column) is type(y) and column.equals(y):
        warn(
            f"X: column {name!r} is y itself, and says what is to be predicted: fit with "
            f"X.drop(columns={name!r})")


def names_of_targets(y):
    """Names of several targets: those of the columns of a data frame.

    Parameters
    ----------
    y : array-like
        As it is given to `fit`.

    Returns
    -------
    tuple of str
        Empty if y is no data frame of several columns with different names.
    """
    given = _read(y)
    names = tuple(given.columns) if isinstance(given, nw.DataFrame) else ()
    return names if len(names) > 1 and all(isinstance(name, str) for name in names) else ()


def check_names_of_targets(encoder, y):
    """Refuse several targets that are not those of training, or not in their order.

    Parameters
    ----------
    encoder : RegressionTargets
    y : array-like
        As it is given. Only a data frame has names.

    Raises
    ------
    ValueError
        If the names are known, and others.
    """
    names = names_of_targets(y)
    if names:
        with error_prefix("y"):
            encoder.named(names)


def check_targets(estimator, y, **check_params):
    """Check y as scikit-learn does, with advice for missing values and dates.

    Parameters
    ----------
    estimator : ObliqueTreeClassifier or ObliqueTreeRegressor
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
    **check_params : dict
        For `sklearn.utils.check_X_y`.

    Returns
    -------
    ndarray
        Its entries are numbers with ``y_numeric=True``.
    """
    name, is_numeric = type(estimator).__name__, check_params.get("y_numeric")
    if y is None:
        raise ValueError(
            f"This {name} estimator requires y to be passed, but the target y is None.")
    _refuse_no_array(y)
    refuse_mask("y", y, "leave those samples out")
    has_gap, has_times = _gaps_and_times(y)
    advice = ("leave those samples out, or give them a "
              f"{'label' if is_classifier(estimator) else 'number'}")
    if has_gap:
        raise ValueError(f"y contains missing values: {advice}")
    if has_times and is_numeric:
        raise TypeError(
            f"y holds dates or times, but {name} predicts numbers: convert it to numbers, such as "
            "the days since a date, (y - y.min()) / np.timedelta64(1, 'D')")
    if not check_params.get("multi_output") and getattr(y, "ndim", 1) == 2 and y.shape[1] > 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {y.shape} instead. For several labels "
            "of a sample, use sklearn.multioutput.MultiOutputClassifier")
    if not is_numeric:
        with error_prefix("y"):
            y = as_labels(y)
    try:
        y = _check_y(y, estimator=estimator, **check_params)
        with error_prefix("y"):
            refuse_objects(y)
        return y.astype(np.float64) if is_numeric and y.dtype.kind in "US" else y
    except OverflowError as error:
        raise ValueError(f"y {TOO_LARGE}") from error
    except ValueError as error:
        if re.search("contains (NaN|infinity)", str(error)):
            raise ValueError(f"{str(error).rstrip('.')}: {advice}") from error
        if "could not convert string" not in str(error):
            raise
        text = re.sub(r"^np\.\w+_\((.*)\)$", r"\1", str(error).partition(": ")[2])
        raise ValueError(
            f"y holds text, such as {text}, but {name} predicts numbers: convert it to numbers, as "
            "pandas.to_numeric does, without signs between thousands, or use a classifier, which "
            "predicts labels") from error


def _refuse_no_array(y):
    """Refuse what is no list of targets, in words."""
    refuse_string("y", y, "target")
    if isinstance(_read(y), nw.LazyFrame) and not hasattr(y, "__array__"):
        raise TypeError("y is a lazy frame, which has no values yet: pass y.collect()")
    reasons = {"has no order": (set, frozenset), "has names for its values": Mapping}
    for reason, types in reasons.items():
        if isinstance(y, types):
            raise TypeError(f"y is a {type(y).__name__}, which {reason}: pass a list")
    if hasattr(y, "__next__"):
        raise TypeError(
            f"y is a {type(y).__name__}, which gives its values one by one: pass a list")


def as_labels(y):
    """Labels, of which none is merged with another by a conversion.

    Parameters
    ----------
    y : array-like
        Missing labels are refused elsewhere.

    Returns
    -------
    array-like
        Nullable numbers of pandas as an array of their own type, which scikit-learn reads as
        floats; all else as it is.

    Raises
    ------
    TypeError
        If labels are of several types, or numbers as objects.
    """
    given = _read(y)
    if isinstance(given, nw.Series) and (given.dtype.is_integer() or given.dtype == nw.Boolean):
        return given.to_numpy()
    if isinstance(given, nw.DataFrame) and given.shape[1] == 1:
        column = as_labels(given.get_column(given.columns[0]).to_native())
        return column[:, None] if isinstance(column, np.ndarray) else y
    kind = getattr(getattr(y, "dtype", None), "kind", "O")
    if kind == "T":
        raise TypeError(
            "an array of numpy.dtypes.StringDType, which scikit-learn does not read: convert it by "
            "astype(object)")
    if kind == "O" and getattr(y, "ndim", 1) == 1 and (
            isinstance(y, (list, tuple)) or isinstance(getattr(y, "dtype", None), np.dtype)):
        _check_types([label for label in y if not is_missing(label)], isinstance(y, (list, tuple)))
    return y


def _check_types(labels, is_list):
    """Refuse objects that are neither all strings nor, in a list, all numbers."""
    others = [label for label in labels if not isinstance(label, str)]
    if not others or (is_list and any(hasattr(label, "__len__") for label in others)):
        return      # of nested lists, scikit-learn says what is wrong
    (first, *_) = others
    text = next((label for label in labels if isinstance(label, str)), None)
    if text is not None:
        raise TypeError(
            f"labels of several types, such as {first!r} and {text!r}: convert all to strings, or "
            "all to numbers")
    if not is_list and all(isinstance(label, Real | np.bool_) for label in others):
        dtype = np.array(others).dtype      # object for integers that fit no type, and fractions
        raise TypeError(
            f"Unknown label type: numbers as objects, such as {first!r}: convert them by "
            f"astype({'str' if dtype.kind == 'O' else dtype.name!r})")


def refuse_objects(labels):
    """Refuse labels that are neither text nor of a type of numpy, such as intervals.

    Parameters
    ----------
    labels : ndarray, or sparse matrix of numbers

    Raises
    ------
    TypeError
    """
    if labels.dtype != object:
        return
    for label in labels.flat:
        if not isinstance(label, str):
            raise TypeError(
                f"Unknown label type: {type(label).__name__}, where strings, numbers or bools were "
                "expected: convert them to strings")


def _gaps_and_times(y):
    """Return whether y has missing values, and whether it has dates, times or differences."""
    given = _read(y)
    if isinstance(given, (nw.Series, nw.DataFrame)):
        found = [_in_series(each) for each in (
            given.iter_columns() if isinstance(given, nw.DataFrame) else [given])]
        return any(gap for gap, _ in found), any(times for _, times in found)
    kind = getattr(getattr(y, "dtype", None), "kind", "O")
    if kind in "Mm":
        values = np.asarray(y)      # of objects for pandas with time zones, where isnat fails
        return bool((values != values).any()), True
    if kind not in "OT" or not isinstance(y, (list, tuple, np.ndarray)):
        return False, False
    return _in_objects(np.ravel(y) if isinstance(y, np.ndarray) else y)


def _read(y):
    """A data frame, a series or an array of pandas as one of narwhals; others as they are."""
    pandas = nw.dependencies.get_pandas()
    if pandas is not None and isinstance(y, pandas.api.extensions.ExtensionArray):
        y = pandas.Series(y)    # as `values` of a series of a nullable type is
    try:
        return nw.from_native(y, allow_series=True, pass_through=True)
    except DuplicateError as error:
        raise ValueError(
            f"y has several columns of one name: rename them, or pass y.to_numpy(). {error}"
        ) from error


def _in_series(series):
    if series.dtype == nw.Object:
        return _in_objects(series.to_list())
    return bool(series.is_null().any()), series.dtype.is_temporal()


def _in_objects(values):
    return any(map(is_missing, values)), any(isinstance(value, TIMES) for value in values)
