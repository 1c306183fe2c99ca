"""The points nearest to a sample that differ from it in one feature."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

# Points are predicted in groups of this many, the nearest first.
_GROUP = 128
# Distances from a boundary that are tried, in units of the rounding error of a sum.
_MARGINS = (0.0, 8.0, -8.0)


class Box(NamedTuple):
    """The points that a sample may change to.

    Attributes
    ----------
    low, high : float or ndarray of shape (n_features,)
        Limits of the points. A sample beyond them may stay where it is.
    unit : ndarray of shape (n_features,)
        Size of the features, such as their standard deviations.
    is_whole : ndarray of bool, shape (n_features,)
        The features that change to whole numbers.
    """

    low: np.ndarray
    high: np.ndarray
    unit: np.ndarray
    is_whole: np.ndarray

    def around(self, x):
        """The limits, widened to a sample."""
        return np.minimum(self.low, x), np.maximum(self.high, x)


def rounding_errors(weights, size, constants):
    """Bounds of the rounding errors of sums, of samples of some size and of constants.

    Parameters
    ----------
    weights : ndarray or sparse array of shape (n_sums, n_features)
    size : ndarray of shape (n_features,)
    constants : ndarray of shape (n_sums,)
        Absolute values.

    Returns
    -------
    ndarray of shape (n_sums,)
    """
    size = abs(weights) @ size + constants
    return ((weights != 0).sum(axis=1) + 2) * np.finfo(float).eps * size


def whole_values(values, x):
    """The whole numbers next to a number, and those at or beyond some values, seen from it."""
    return np.concatenate([
        np.where(values > x, np.ceil(values), np.floor(values)), [np.floor(x), np.ceil(x)]])


def nearest_on_axes(sums, meets, box, x, features):
    """The nearest points that differ from a sample in one feature and meet a goal.

    Nothing changes between two boundaries, where a sum is at its limit. Each is tried itself, as a
    sample on it goes left, and on both sides of it.

    Parameters
    ----------
    sums : list of tuple (weights, limits, size)
        Weighted sums, and the limits at which they change what the model predicts: a matrix of
        shape (n_sums, n_features), the limits, and the size of the numbers that these are made of.
    meets : callable
        Takes points, and returns whether each meets the goal.
    box : Box
    x : ndarray of shape (n_features,)
    features : ndarray of int

    Returns
    -------
    dict
        New value by feature, for those of which some value meets the goal.
    """
    weights, limits, size = zip(*sums, strict=True)
    weights = sparse.vstack([*map(sparse.csr_array, weights)], format="csc")
    scores = weights @ x - np.concatenate(limits)
    errors = rounding_errors(weights, np.abs(x) + box.unit, np.concatenate(size))
    low, high = box.around(x)
    found = {}
    for feature in features.tolist():
        own = slice(*weights.indptr[feature:feature + 2])
        of_sum, slopes = weights.indices[own], weights.data[own]
        steps, away = -scores[of_sum] / slopes, errors[of_sum] / np.abs(slopes)
        values = x[feature] + np.concatenate([steps + margin * away for margin in _MARGINS])
        if box.is_whole[feature]:
            values = whole_values(values, x[feature])
        # Near the largest number, some are infinite or NaN.
        values = values[np.isfinite(values)]
        values = np.unique(values[(low[feature] <= values) & (values <= high[feature])])
        values = values[np.argsort(np.abs(values - x[feature]), kind="stable")]
        for begin in range(0, len(values), _GROUP):
            group = values[begin:begin + _GROUP]
            points = np.repeat(x[None], len(group), axis=0)
            points[:, feature] = group
            is_met = meets(points)
            if is_met.any():
                found[feature] = float(group[is_met.argmax()])
                break
    return found
