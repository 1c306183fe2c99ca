"""Checks of targets: labels, or the numbers of regression."""

from datetime import date, time, timedelta

import narwhals as nw
import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import _check_y

from ngdt._encoding.columns import is_missing
from ngdt._util.validation import TOO_LARGE, refuse_mask

_TIMES = (date, time, timedelta, np.datetime64, np.timedelta64)


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
    refuse_mask("y", y, "leave those samples out")
    has_gap, has_times = _gaps_and_times(y)
    if has_gap:
        raise ValueError(
            "y contains missing values: leave those samples out, or give them a "
            f"{'label' if is_classifier(estimator) else 'number'}")
    if has_times and is_numeric:
        raise TypeError(
            f"y holds dates or times, but {name} predicts numbers: convert it to numbers, such as "
            "the days since a date, (y - y.min()) / np.timedelta64(1, 'D')")
    if not check_params.get("multi_output") and getattr(y, "ndim", 1) == 2 and y.shape[1] > 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {y.shape} instead. For several labels "
            "of a sample, use sklearn.multioutput.MultiOutputClassifier")
    try:
        y = _check_y(y, estimator=estimator, **check_params)
        return y.astype(np.float64) if is_numeric and y.dtype.kind in "US" else y
    except OverflowError as error:
        raise ValueError(f"y {TOO_LARGE}") from error
    except ValueError as error:
        if "could not convert string" not in str(error):
            raise
        raise ValueError(
            f"y holds text: {error}. {name} predicts numbers; a classifier predicts labels"
        ) from error


def _gaps_and_times(y):
    """Return whether y has missing values, and whether it has dates, times or differences."""
    given = nw.from_native(y, allow_series=True, pass_through=True)
    if isinstance(given, (nw.Series, nw.DataFrame)):
        found = [_in_series(each) for each in (
            given.iter_columns() if isinstance(given, nw.DataFrame) else [given])]
        return any(gap for gap, _ in found), any(times for _, times in found)
    kind = getattr(getattr(y, "dtype", None), "kind", "O")
    if kind in "Mm":
        values = np.asarray(y)      # of objects for pandas with time zones, where isnat fails
        return bool((values != values).any()), True
    if kind != "O" or not isinstance(y, (list, tuple, np.ndarray)):
        return False, False
    return _in_objects(np.ravel(y) if isinstance(y, np.ndarray) else y)


def _in_series(series):
    if series.dtype == nw.Object:
        return _in_objects(series.to_list())
    return bool(series.is_null().any()), series.dtype.is_temporal()


def _in_objects(values):
    return any(map(is_missing, values)), any(isinstance(value, _TIMES) for value in values)
