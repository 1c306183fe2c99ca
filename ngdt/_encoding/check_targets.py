"""Checks of targets, which are labels or the numbers of regression, and of groups."""

import re
from contextlib import contextmanager
from itertools import chain

import narwhals as nw
import numpy as np
from sklearn.utils.validation import _check_y, check_array

from ngdt._encoding.columns import is_missing
from ngdt._util.validation import (
    TOO_LARGE,
    error_prefix,
    refuse_mask,
    refuse_no_list,
    type_names,
    warn,
)

_OF_GAPS = "leave those samples out, or give them a label or a number"


def warn_of_target(X, y):
    """Warn of the column of X that y was taken from: a tree would predict y from itself.

    Parameters
    ----------
    X, y : array-like
        As they are given to `fit`. Only a series and the columns of a frame have names.
    """
    table, given = _read(X), _read(y)
    if not isinstance(table, nw.DataFrame) or not isinstance(given, nw.DataFrame | nw.Series):
        return
    is_frame = isinstance(given, nw.DataFrame)
    for each in given.iter_columns() if is_frame else [given]:
        if each.name not in table.columns:
            continue
        column, target = table.get_column(each.name).to_native(), each.to_native()
        if type(column) is type(target) and column.equals(target):
            warn(
                f"X: column {each.name!r} is {'a column of y' if is_frame else 'y itself'}, and "
                "says what is to be predicted: leave it out, as pandas' "
                f"X.drop(columns={each.name!r}) does")


def check_names_of_targets(encoder, y, parameter="y"):
    """Refuse several targets that are not those of training, or not in their order.

    Parameters
    ----------
    encoder : ClassTargets or RegressionTargets
    y : array-like
        As it is given. Only a data frame of several columns with different names has names.
    parameter : str, default="y"
        Name of the parameter, for error messages.

    Returns
    -------
    ClassTargets or RegressionTargets
        The encoder, with the names of y if it has several targets.

    Raises
    ------
    ValueError
        If the names are known, and others.
    """
    given = _read(y)
    names = tuple(given.columns) if isinstance(given, nw.DataFrame) else ()
    if len(names) < 2 or not all(isinstance(name, str) for name in names):
        return encoder
    with error_prefix(parameter):
        return encoder.named(names)


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
    refuse_no_list("y", y, "target")
    refuse_mask("y", y, "leave those samples out")
    if _has_gaps(y):
        raise ValueError(f"y contains missing values: {_OF_GAPS}")
    if not is_numeric:
        with error_prefix("y"):
            y = as_labels(y)
    with _helpful_errors(name, is_numeric):
        y = _check_y(y, estimator=estimator, **check_params)
        if is_numeric and y.dtype.kind in "Mm":
            raise TypeError("dates or times")
        refuse_objects(y)
        return y.astype(np.float64) if is_numeric and y.dtype.kind in "US" else y


@contextmanager
def _helpful_errors(name, is_numeric):
    """Add advice to errors for missing values, and for what is no number."""
    try:
        yield
    except OverflowError as error:
        raise ValueError(f"y {TOO_LARGE}") from error
    except (TypeError, ValueError) as error:
        text = re.sub(r"np\.str_\((.*)\)", r"\1", str(error))     # a label of an array of text
        if "setting an array element with a sequence" in text:
            text = "samples hold lists: give each sample one label or number"
        if re.search("contains (NaN|infinity)", text):
            raise ValueError(f"{text.rstrip('.')}: {_OF_GAPS}") from error
        if is_numeric and (isinstance(error, TypeError) or "could not convert" in text):
            raise type(error)(
                f"y: {text}, but {name} predicts numbers: use a classifier for labels, convert "
                "text by pandas.to_numeric, and dates to the days since one, "
                "(y - y.min()) / np.timedelta64(1, 'D')") from error
        if "should be a 1d array" in text:
            text += " For several labels of a sample, use MultiOutputClassifier of scikit-learn"
        raise type(error)(text if text.startswith("y") else f"y: {text}") from error


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
        If labels are of several types.
    """
    given = _read(y)
    if isinstance(given, nw.Series) and (given.dtype.is_integer() or given.dtype == nw.Boolean):
        return given.to_numpy()
    if isinstance(given, nw.DataFrame) and given.shape[1] == 1:
        column = as_labels(given.get_column(given.columns[0]).to_native())
        return column[:, None] if isinstance(column, np.ndarray) else y
    if getattr(getattr(y, "dtype", None), "kind", "O") == "T":
        return y.astype(object)     # a type of strings that scikit-learn does not read
    present = [each for each in _cells(y) if not is_missing(each)] if (
        isinstance(y, list | tuple)) else []
    if len({isinstance(label, str) for label in present}) > 1:
        # In an array, 1 and "1" would be equal.
        raise TypeError(f"labels of type {type_names(present)}: convert all to strings, or all to "
                        "numbers")
    return y


def refuse_objects(labels):
    """Refuse labels that are neither text nor of a type of numpy, such as intervals."""
    if labels.dtype == object and not all(isinstance(label, str) for label in labels.flat):
        raise TypeError(
            f"Unknown label type: {type_names(labels.flat)} objects: convert all labels to "
            "strings, or to one type of numbers")


def check_groups(groups, sample_weight):
    """Check the groups of samples, and number them.

    Parameters
    ----------
    groups : array-like of shape (n_samples,) or None
        Labels of any type.
    sample_weight : ndarray of shape (n_samples,)

    Returns
    -------
    ndarray of intp, shape (n_samples,), or None

    Raises
    ------
    ValueError
        If the samples of positive weight are not of two groups at least.
    TypeError
        If labels cannot be compared with each other.
    """
    if groups is None:
        return None
    refuse_mask("groups", groups, "give each sample a group")
    refuse_no_list("groups", groups, "group")
    if isinstance(groups, list | tuple) and any(isinstance(label, str) for label in groups):
        groups = np.array(groups, dtype=object)     # in an array of text, 1 would be "1"
    with error_prefix("groups"):
        groups = check_array(
            as_labels(groups), dtype=None, ensure_2d=False, input_name="groups")
        if groups.shape != sample_weight.shape:
            raise ValueError(
                f"expected one group per sample, of shape {sample_weight.shape}, got "
                f"{groups.shape}")
        try:
            _, numbers = np.unique(groups, return_inverse=True)
        except TypeError as error:      # of objects, such as None, that have no order
            raise TypeError(f"labels of type {type_names(groups)} have no order: convert all to "
                            "strings, and give missing ones a group") from error
    if len(np.unique(numbers[sample_weight > 0])) < 2:
        raise ValueError(
            f"groups has one group only, {groups[sample_weight.argmax()]}, so that none can be "
            "held out: give samples of more groups, or leave groups out")
    return numbers


def _has_gaps(y):
    """Return whether y has missing values; scikit-learn finds those of arrays of floats."""
    given = _read(y)
    if isinstance(given, (nw.Series, nw.DataFrame)):
        columns = given.iter_columns() if isinstance(given, nw.DataFrame) else [given]
        return any(any(map(is_missing, each.to_list())) if each.dtype == nw.Object else
                   each.is_null().any() for each in columns)
    kind = getattr(getattr(y, "dtype", None), "kind", "O")
    if kind in "Mm":
        values = np.asarray(y)      # of objects for pandas with time zones, where isnat fails
        return (values != values).any()
    return kind in "OT" and isinstance(y, (list, tuple, np.ndarray)) and any(
        map(is_missing, np.ravel(y) if isinstance(y, np.ndarray) else _cells(y)))


def _cells(y):
    """The entries of a list, and of the rows in it."""
    return chain.from_iterable(
        row if isinstance(row, list | tuple) or getattr(row, "ndim", 0) else (row,) for row in y)


def _read(y):
    """A data frame, a series or an array of pandas as one of narwhals; others as they are."""
    if isinstance(y, np.ndarray):       # to find out that it is none takes as long as to check it
        return y
    pandas = nw.dependencies.get_pandas()
    if pandas is not None and isinstance(y, pandas.api.extensions.ExtensionArray):
        y = pandas.Series(y)    # as `values` of a series of a nullable type is
    with error_prefix("y"):     # of columns of one name
        return nw.from_native(y, allow_series=True, pass_through=True)
