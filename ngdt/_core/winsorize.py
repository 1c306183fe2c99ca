"""Fences of features, to which training moves values that lie far beyond all others.

One value a thousand standard deviations from the others sets the scale of its feature, and its
gradient outweighs theirs. Training reads winsorized features: a value beyond a fence counts as if
it were on it. Trees are trees of raw features, and split far values as they split all others.

A long tail is no error: its values lead from the others to the furthest without a gap. Linear
leaves have to know what they predict there; and trees for classes, trained on cut tails, were 1.3
points less accurate on held-out samples of Segment, and no more accurate on 22 tables.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from ngdt._util.arrays import power_of_two, row_blocks
from ngdt._util.validation import stored_per_sample

# On each side of the median, a value is near if it is at most `REACH` times as far from it as
# `SHARE` of the values: up to a quarter of them may be anywhere without moving this limit, which is
# the fence where none is beyond. For a normal distribution it is 5.8 standard deviations; of an
# exponential one, 0.05 % are beyond.
REACH, SHARE = 5.0, 0.75
# A side with less than this share of the values of the other one is judged by the distances there,
# if these are less: where none but errors are below zero, they would be near to themselves.
FEW = 0.1


class Gap(NamedTuple):
    """Least gap that ends a tail: the values that lead from the near ones to the furthest.

    A value beyond it is more than `of_last` times as far from the median as the value before, and
    more than `of_share` times as far as `SHARE` of the values. The fence is the value before.
    """

    of_last: float
    of_share: float


# With fences that cut all tails, R2 of regression was 0.41 on house_16H; with these it is 0.49. The
# few samples of a rare class may be those with far values: with the gap of targets, the area under
# the ROC curve of trees on 22 small tables with such features was 0.02 less.
OF_FEATURES = Gap(2.0, 10.0)
# With the first gap, three errors of 10 standard deviations are near, and cost trees 0.02 to 0.97
# of R2 on three tables; with 6 instead of `REACH`, still up to 0.27. Of 170 tables, six have far
# targets with the first, four with the second.
OF_TARGETS = Gap(2.5, REACH)
# Sums of weights, relative to them all, and distances that rounding can make different: fences are
# the same in any unit of the weights and of the values.
_TIE = 1e-12
# Most samples by which the fences of dense data are measured: to sort more takes longer than to
# read them.
_MAX_SAMPLES = 10_000
# Number of values that are sorted at a time.
_BLOCK_VALUES = 2**17


def fences(X, sample_weight, gap=OF_FEATURES, fill=None):
    """Fences of each feature, ndarrays of shape (n_features,).

    A sample of weight k counts as k samples. The median of sparse data is zero.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    sample_weight : ndarray of shape (n_samples,)
        Samples of weight 0 are ignored.
    gap : Gap or None, default=OF_FEATURES
        What ends a tail, which is not cut. None cuts all tails.
    fill : ndarray of shape (n_features,), default=None
        Values, of the type of X, that were put where samples have none; NaN where none was. They do
        not count: where more samples lack a category than have it, a mean of next to zero would be
        near, and the ones of the category far.
    """
    if sparse.issparse(X):
        return _sparse_fences(sparse.csc_array(X), sample_weight, gap, fill)
    samples = np.flatnonzero(sample_weight > 0)
    if len(samples) > _MAX_SAMPLES:
        samples = samples[np.linspace(0, len(samples) - 1, _MAX_SAMPLES).astype(np.intp)]
    weight, low, high = sample_weight[samples], np.empty(X.shape[1]), np.empty(X.shape[1])
    # Sums of whole weights stay exact, and none overflows.
    weight = weight / power_of_two(weight.max())
    for block in row_blocks((X.shape[1], len(samples)), _BLOCK_VALUES):
        values = X[samples, block].T
        low[block], high[block] = _fences_of_rows(values, weight, gap)
        if fill is not None:
            rows, *known = _known(values, fill[block], weight)
            if len(rows):
                low[block][rows], high[block][rows] = _fences_of_rows(*known, gap)
    return low, high


def _known(values, fill, weight):
    """Rows with some filled values, and the values and the weights without these.

    A filled value becomes a known one, without weight.
    """
    is_filled = values == fill[:, None]
    rows = np.flatnonzero(is_filled.any(axis=1) & ~is_filled.all(axis=1))
    is_filled, values = is_filled[rows], values[rows]
    least = np.where(is_filled, np.inf, values).min(axis=1, keepdims=True)
    return rows, np.where(is_filled, least, values), np.where(is_filled, 0.0, weight)


def _fences_of_rows(values, weight, gap):
    """Fences of the rows of a matrix, with a weight for each column or for each value."""
    if np.ptp(weight) == 0.0 and weight.ndim == 1:       # to sort alone is several times as fast
        values, weight = np.sort(values, axis=1), np.broadcast_to(weight, values.shape)
    else:
        order = np.argsort(values, axis=1)
        values = np.take_along_axis(values, order, axis=1)
        weight = np.take_along_axis(np.broadcast_to(weight, values.shape), order, axis=1)
    values, reached = values.astype(np.float64), np.cumsum(weight, axis=1)
    total = reached[:, -1:]

    def at(index):
        return values[np.arange(len(values)), index][:, None]

    # The same for repeated samples as for weights. Halves are added, as a sum may overflow.
    lower, upper = (at((2.0 * reached > (1.0 + tie) * total).argmax(axis=1))
                    for tie in (-_TIE, _TIE))
    median = 0.5 * lower + 0.5 * upper
    below, above = (np.where(side, weight, 0.0).sum(axis=1, keepdims=True)
                    for side in (values < median, values > median))
    left = at((reached - weight <= (1.0 - SHARE) * below + _TIE * total).sum(axis=1) - 1)
    right = at((reached >= total - (1.0 - SHARE) * above - _TIE * total).argmax(axis=1))
    with np.errstate(over="ignore"):
        left, right = _of_few(
            np.maximum(median - left, 0.0), np.maximum(right - median, 0.0), below, above)
        return (-_upper_fences(-values[:, ::-1], -median, left, gap),
                _upper_fences(values, median, right, gap))


def _of_few(left, right, below, above):
    """Distances on both sides of the median, the lesser one where a side has few values."""
    least, share = np.minimum(left, right), FEW * (1.0 - _TIE)
    return (np.where(below < share * above, least, left),
            np.where(above < share * below, least, right))


def _upper_fences(values, median, distance, gap):
    """Fences above the medians of rows of ascending values, ndarray of shape (n_rows,).

    `distance` is that of `SHARE` of the values above the median, of shape (n_rows, 1) as `median`.
    """
    reach, last = REACH * distance, values[:, -1:]
    is_far = last - median > (1.0 + _TIE) * reach
    # A sum that should be the last value may be rounded to less.
    fence = np.where(is_far, median + reach, np.maximum(median + reach, last))[:, 0]
    far = np.flatnonzero(is_far)
    if len(far) == 0 or gap is None:
        return fence
    values, above = values[far], values[far] - median[far]
    is_gap = above[:, 1:] > (1.0 + _TIE) * np.maximum(
        gap.of_last * above[:, :-1], gap.of_share * distance[far])
    end = np.where(is_gap.any(axis=1), is_gap.argmax(axis=1), -1)
    fence[far] = values[np.arange(len(far)), end]
    return fence


def _sparse_fences(X, sample_weight, gap, fill):
    """Fences of sparse features, by columns; infinite where no value can be far."""
    low, high = np.full(X.shape[1], -np.inf), np.full(X.shape[1], np.inf)
    stored = np.flatnonzero(np.diff(X.indptr))
    starts, size = X.indptr[stored], np.abs(X.data)
    least, most = np.minimum.reduceat(size, starts), np.maximum.reduceat(size, starts)
    with np.errstate(over="ignore"):
        far = stored[most > REACH * least]
    counts = X.indptr[far + 1] - X.indptr[far]
    for count in np.unique(counts):     # at once: there may be as many features as words
        of_count = far[counts == count]
        for block in row_blocks((len(of_count), count), _BLOCK_VALUES):
            j = of_count[block]
            place = X.indptr[j][:, None] + np.arange(count)
            values, weight = X.data[place], sample_weight[X.indices[place]]
            if fill is not None:
                weight = np.where(values == fill[j][:, None], 0.0, weight)
            values = np.where(weight > 0, values, 0.0)
            order = np.argsort(values, axis=1)
            values, weight = (np.take_along_axis(each, order, axis=1) for each in (values, weight))
            (below, left, n_below), (above, right, n_above) = (
                _side(-values[:, ::-1], weight[:, ::-1]), _side(values, weight))
            left, right = _of_few(left, right, n_below, n_above)
            low[j] = -_fences_of_side(below, left, gap)
            high[j] = _fences_of_side(above, right, gap)
    return low, high


def _side(values, weight):
    """The positive ones of rows of ascending values, the distance of `SHARE` of them, their weight.

    All others are zero: so are a distance and a weight without any.
    """
    is_positive = values > 0
    values = np.where(is_positive, values, 0.0).astype(np.float64)
    reached = np.cumsum(np.where(is_positive, weight, 0.0), axis=1)
    end = (reached >= (SHARE - _TIE) * reached[:, -1:]).argmax(axis=1)
    return values, values[np.arange(len(values)), end][:, None], reached[:, -1:]


def _fences_of_side(values, distance, gap):
    """Fences of a side; infinite without any positive value."""
    with np.errstate(over="ignore"):
        fence = _upper_fences(values, np.zeros((len(values), 1)), distance, gap)
    return np.where(values[:, -1] > 0.0, fence, np.inf)


def target_fences(y, sample_weight):
    """The smallest and the largest near target, ndarrays of shape (n_targets,).

    Between the last value before a gap and where values begin to be far: of 1000 targets, 16 far
    ones that a feature tells from the others have to be worth a split, and three errors must not.

    Parameters
    ----------
    y : ndarray of shape (n_samples, n_targets)
    sample_weight : ndarray of shape (n_samples,)
    """
    (low, high), (low_reach, high_reach) = (
        fences(y, sample_weight, gap) for gap in (OF_TARGETS, None))
    return (np.minimum(low, 0.5 * low + 0.5 * low_reach),
            np.maximum(high, 0.5 * high + 0.5 * high_reach))


def winsorized(X, low, high):
    """Copy of samples with all values between fences.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    low, high : ndarray of shape (n_features,)
    """
    with np.errstate(over="ignore"):    # fences may lie beyond the largest float32
        low, high = low.astype(X.dtype), high.astype(X.dtype)
    if not sparse.issparse(X):
        return np.clip(X, low, high)
    values = np.clip(X.data, low[X.indices], high[X.indices])
    return type(X)((values, X.indices, X.indptr), shape=X.shape)


def weaken_rows(near, X, center):
    """Let the far values of a row together pull no more than one: changes `near` in place.

    A row with gross errors in many features lies far from all others even at the fences, and would
    turn linear models.

    Parameters
    ----------
    near : ndarray or CSR matrix of shape (n_samples, n_features)
        The samples between fences.
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        The samples as they are.
    center : ndarray of shape (n_features,)
        Zero for sparse data.
    """
    if sparse.issparse(X):
        is_far, row = near.data != X.data, np.repeat(np.arange(X.shape[0]), stored_per_sample(X))
        near.data[is_far] /= np.bincount(row, is_far)[row[is_far]]
        return
    is_far = near != X
    rows = np.flatnonzero(is_far.sum(axis=1) > 1)
    is_far, moved = is_far[rows], near[rows].astype(np.float64)
    count = is_far.sum(axis=1, keepdims=True)
    near[rows] = np.where(is_far, center + (moved - center) / count, moved)
