"""The losses of regression targets. Each is a sum over the targets of a convex function."""

import numpy as np

from ngdt._core.quantiles import LeafQuantiles
from ngdt._util.validation import check_number

from libc.math cimport INFINITY, exp, fabs, log

from ngdt._core.loss cimport Loss, larger

# Largest number of Newton steps for the leaf values of the Huber loss. It took at most ten.
_MAX_STEPS = 100
# Largest logarithm of a mean; the exponentials of larger ones may overflow.
cdef double MAX_VALUE = 700.0
# Target that stands for a mean of zero, whose logarithm is not finite.
_MIN_MEAN = 1e-6


cdef class RegressionLoss(Loss):
    """Base class: a sum over the targets of a convex function of the leaf value.

    Cython subclasses override

    - ``at(value, y)``: the function, which is least at y,
    - ``slope(value, y)``: its derivative in the value,
    - ``fit_leaves``, as in every loss.

    Where it is least elsewhere, or where the computed function may fail to be monotone by rounding,
    as with `exp`, they override `largest` and `smallest` instead.
    """

    cdef double at(self, double value, double y) noexcept nogil:
        return 0.0

    cdef double slope(self, double value, double y) noexcept nogil:
        return 0.0

    cdef void profile(self, const double *values, int k, double *out) noexcept nogil:
        cdef int t
        for t in range(k):
            out[t] = values[t]

    cdef double largest(
            self, const double *lo, const double *hi, int k, const double *y) noexcept nogil:
        # A convex function is largest at one of the ends.
        cdef double total = 0.0
        cdef int t
        for t in range(k):
            total += larger(self.at(lo[t], y[t]), self.at(hi[t], y[t]))
        return total

    cdef double smallest(
            self, const double *lo, const double *hi, int k, const double *y) noexcept nogil:
        cdef double total = 0.0
        cdef int t
        for t in range(k):
            # A convex function is least at the target, or at the end of the interval that is next
            # to it. By `larger` alone, as fmin and fmax are not inlined.
            total += self.at(larger(lo[t], -larger(-hi[t], -y[t])), y[t])
        return total

    cdef void gradient(
            self, const double *values, int k, const double *y, double *out) noexcept nogil:
        cdef int t
        for t in range(k):
            out[t] = self.slope(values[t], y[t])


cdef class SquaredLoss(RegressionLoss):
    """Squared distance between the leaf values and y: Norouzi (2015), eq. (3).

    A leaf predicts the mean. There may be one target or several.

    Examples
    --------
    >>> from ngdt.losses import SquaredLoss
    >>> loss = SquaredLoss()
    >>> loss.value([[1.0, 2.0]], loss.encode([[1.0, 4.0]], n_outputs=2))
    array([4.])
    """

    name = "squared_error"
    is_squared = True
    scale_power = 2

    cdef double at(self, double value, double y) noexcept nogil:
        return (value - y) * (value - y)

    cdef double slope(self, double value, double y) noexcept nogil:
        return 2.0 * (value - y)

    def fit_leaves(self, leaf, y, sample_weight, n_leaves, n_outputs):
        return leaf_means(leaf, y, sample_weight, n_leaves)


cdef class HuberLoss(RegressionLoss):
    """Squared near the target, linear beyond `limit`: robust to targets far out.

    A leaf predicts the value with the least loss, between the mean and the median. There may be
    several targets.

    Parameters
    ----------
    limit : float, default=2.0
        Error up to which the loss is quadratic, in units of y (the estimators standardise y).

    Examples
    --------
    >>> from ngdt.losses import HuberLoss
    >>> loss = HuberLoss(limit=2.0)
    >>> loss.value([[1.0], [10.0]], loss.encode([0.0, 0.0], n_outputs=1))
    array([ 1., 36.])
    """

    name = "huber"
    scale_power = 2
    _parameters = ("limit",)
    cdef readonly double limit

    def __init__(self, limit=2.0):
        if not check_number("limit", limit) > 0:
            raise ValueError(f"limit must be positive, got {limit}")
        self.limit = limit

    cdef double at(self, double value, double y) noexcept nogil:
        cdef double e = fabs(value - y)
        # Twice the usual Huber loss: near the target, it is the squared loss.
        return e * e if e <= self.limit else self.limit * (2.0 * e - self.limit)

    cdef double slope(self, double value, double y) noexcept nogil:
        # The error, clipped to the limit on both sides.
        return 2.0 * larger(-self.limit, -larger(-self.limit, y - value))

    def fit_leaves(self, leaf, y, sample_weight, n_leaves, n_outputs):
        values = LeafQuantiles.fit(leaf, y, sample_weight, n_leaves).quantiles([0.5])[:, 0]
        # A leaf without weight gets the best value of all samples together.
        is_empty = np.bincount(leaf, weights=sample_weight, minlength=n_leaves) == 0
        for t in range(n_outputs):
            self._descend(values[:, t], leaf, y[:, t], sample_weight)
            if is_empty.any():
                overall = values[is_empty, t][:1]
                self._descend(overall, np.zeros(len(leaf), np.intp), y[:, t], sample_weight)
                values[is_empty, t] = overall
        return values

    def split_targets(self, y, sample_weight):
        best = self.fit_leaves(np.zeros(len(y), np.intp), y, sample_weight, 1, y.shape[1])
        # The derivative of the loss at the best constant: outliers count no more than the limit.
        return np.clip(y - best, -self.limit, self.limit)

    def _descend(self, values, leaf, y, sample_weight):
        """Newton's method for all leaves, from their medians; changes `values` in place.

        The derivative is piecewise linear, so that the last of few steps is exact. A step out of
        the interval between values that are known to be too small and too large halves it instead.
        """
        # The best value of a leaf is between its smallest and largest target, and so in here.
        low, high = np.full(len(values), y.min()), np.full(len(values), y.max())
        for _ in range(_MAX_STEPS):
            residual = y - values[leaf]
            pull = np.bincount(
                leaf, sample_weight * np.clip(residual, -self.limit, self.limit), len(values))
            curvature = np.bincount(
                leaf, sample_weight * (np.abs(residual) <= self.limit), len(values))
            low, high = np.where(pull >= 0, values, low), np.where(pull <= 0, values, high)
            # Where no residual is within the limit there is no curvature: the bisection takes over.
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                moved = np.where(pull == 0, values, values + pull / curvature)
            moved = np.where((moved >= low) & (moved <= high), moved, 0.5 * (low + high))
            if np.allclose(moved, values, rtol=1e-15, atol=0.0):
                break
            values[:] = moved


cdef class QuantileLoss(RegressionLoss):
    """The quantile ("pinball") loss: ``quantile`` of the targets lie below the prediction.

    An error counts `quantile` times if the target is above the leaf value, and ``1 - quantile``
    times if it is below. A leaf predicts the weighted quantile. There may be several targets.

    Parameters
    ----------
    quantile : float in (0, 1), default=0.5
        0.5 is the median.

    Examples
    --------
    >>> from ngdt.losses import QuantileLoss
    >>> loss = QuantileLoss(quantile=0.75)
    >>> loss.value([[1.0], [1.0]], loss.encode([5.0, -3.0], n_outputs=1))
    array([3., 1.])
    """

    name = "quantile"
    _parameters = ("quantile",)
    cdef readonly double quantile
    # What an error counts, by the side on which the target is: `AbsoluteLoss` doubles it.
    cdef double above, below

    def __init__(self, quantile=0.5):
        if not 0 < check_number("quantile", quantile) < 1:
            raise ValueError(f"quantile must be between 0 and 1, got {quantile}")
        self.quantile, self.above, self.below = quantile, quantile, 1.0 - quantile

    cdef double at(self, double value, double y) noexcept nogil:
        return self.above * (y - value) if y > value else self.below * (value - y)

    cdef double slope(self, double value, double y) noexcept nogil:
        # At the target, any number between the two is a subgradient.
        if value == y:
            return 0.5 * (self.below - self.above)
        return self.below if value > y else -self.above

    def fit_leaves(self, leaf, y, sample_weight, n_leaves, n_outputs):
        leaves = LeafQuantiles.fit(leaf, y, sample_weight, n_leaves)
        return leaves.quantiles([self.quantile])[:, 0]

    def split_targets(self, y, sample_weight):
        # Ranks: how far out an outlier lies must not decide about a split.
        return np.column_stack([_ranks(each, sample_weight) for each in y.T])


cdef class AbsoluteLoss(QuantileLoss):
    """Absolute error: robust to targets far out.

    A leaf predicts the weighted median. There may be several targets.

    Examples
    --------
    >>> from ngdt.losses import AbsoluteLoss
    >>> loss = AbsoluteLoss()
    >>> loss.value([[1.0], [1.0]], loss.encode([5.0, -3.0], n_outputs=1))
    array([4., 4.])
    """

    name = "absolute_error"
    _parameters = ()

    def __init__(self):
        # Twice the loss of the median, so that it is the absolute error itself.
        self.quantile, self.above, self.below = 0.5, 1.0, 1.0


def leaf_means(leaf, y, sample_weight, n_leaves):
    """Weighted mean of each leaf, and of all samples for a leaf without weight.

    Parameters
    ----------
    leaf, y, sample_weight, n_leaves
        As for `Loss.fit_leaves`.

    Returns
    -------
    ndarray of shape (n_leaves, n_targets)
    """
    weight = np.bincount(leaf, weights=sample_weight, minlength=n_leaves)
    # Sums are taken of differences from the overall mean: far from zero, those of the targets
    # themselves would lose digits.
    overall = np.average(y, axis=0, weights=sample_weight)
    total = np.stack(
        [np.bincount(leaf, weights=sample_weight * (y[:, t] - overall[t]), minlength=n_leaves)
         for t in range(y.shape[1])], axis=1)
    return overall + total / np.where(weight == 0, 1.0, weight)[:, None]


def _ranks(y, sample_weight):
    """Share of the weight below each target, plus half of the share of equal targets."""
    _, at = np.unique(y, return_inverse=True)
    weight = np.bincount(at, sample_weight) / sample_weight.sum()
    return (np.cumsum(weight) - 0.5 * weight)[at]


cdef inline double half_deviance(
        double value, double mean, double y, double log_y) noexcept nogil:
    """Half the deviance of a target from a mean, which is the exponential of the value."""
    if y == 0.0:        # the value may be infinite
        return mean
    return larger(0.0, mean - y * (1.0 + (value - log_y)))


cdef inline double bounded(double value) noexcept nogil:
    return value if value < MAX_VALUE else MAX_VALUE


cdef inline double rounding(double value, double mean, double y, double log_y) noexcept nogil:
    """More than the rounding error of `half_deviance`.

    It need not be monotone in the last digits, as the search for the worst leaf takes it to be.
    """
    return 4e-15 * (mean if y == 0.0 else mean + y * (1.0 + fabs(value) + fabs(log_y)))


cdef class PoissonLoss(RegressionLoss):
    """Half the Poisson deviance, for counts and other targets that are not negative.

    Leaf values are logarithms of the predictions, so that any step of training keeps predictions
    positive; the fitted tree of an estimator has the predictions themselves. Errors count by their
    ratio to the prediction. There may be several targets.

    Parameters
    ----------
    pseudo_count : float, default=1.0
        Weight of a target of 1 that is added to each leaf in `fit_leaves`; without it, a leaf whose
        targets are all zero would have an infinite loss for others. The estimators divide y by its
        mean, so that 1 is the mean.

    Examples
    --------
    >>> import numpy as np
    >>> from ngdt.losses import PoissonLoss
    >>> loss = PoissonLoss()
    >>> loss.value(np.log([[2.0], [2.0]]), loss.encode([2, 0], n_outputs=1))
    array([0., 2.])
    """

    name = "poisson"
    has_log_link = True
    _parameters = ("pseudo_count",)
    cdef readonly double pseudo_count

    def __init__(self, pseudo_count=1.0):
        if not 0 <= check_number("pseudo_count", pseudo_count) < INFINITY:
            raise ValueError(
                f"pseudo_count must be finite and not negative, got {pseudo_count}")
        self.pseudo_count = pseudo_count

    cdef double slope(self, double value, double y) noexcept nogil:
        return exp(bounded(value)) - y

    cdef double largest(
            self, const double *lo, const double *hi, int k, const double *y) noexcept nogil:
        cdef double total = 0.0, log_y, low, high, low_mean, high_mean
        cdef int t
        for t in range(k):
            log_y = log(y[t]) if y[t] > 0.0 else 0.0
            low, high = bounded(lo[t]), bounded(hi[t])
            high_mean = exp(high)
            # At a leaf the loss has to be exact: no room for rounding.
            if low == high:
                total += half_deviance(high, high_mean, y[t], log_y)
            else:
                low_mean = exp(low)
                total += larger(half_deviance(low, low_mean, y[t], log_y),
                                half_deviance(high, high_mean, y[t], log_y))
                # A computed value between the ends may be above both, but by no more than this.
                total += rounding(low, low_mean, y[t], log_y)
                total += rounding(high, high_mean, y[t], log_y)
        return total

    cdef double smallest(
            self, const double *lo, const double *hi, int k, const double *y) noexcept nogil:
        cdef double total = 0.0, log_y, best, mean, least
        cdef int t
        for t in range(k):
            log_y = log(y[t]) if y[t] > 0.0 else 0.0
            # For y = 0 the loss is exp(value): the lowest value is the best.
            best = lo[t] if y[t] == 0.0 else larger(lo[t], -larger(-hi[t], -log_y))
            best = bounded(best)
            mean = exp(best)
            least = half_deviance(best, mean, y[t], log_y)
            if lo[t] < hi[t]:
                least = larger(0.0, least - 2.0 * rounding(best, mean, y[t], log_y))
            total += least
        return total

    def encode(self, y, n_outputs):
        y = super().encode(y, n_outputs)
        if y.size and y.min() < 0:
            raise ValueError("y must not be negative for the poisson loss")
        return y

    def decode(self, values):
        return np.exp(values)

    def values_of(self, y):
        return np.log(np.maximum(y, _MIN_MEAN))

    def fit_leaves(self, leaf, y, sample_weight, n_leaves, n_outputs):
        weight = np.bincount(leaf, weights=sample_weight, minlength=n_leaves)[:, None]
        weight = np.where(weight == 0, sample_weight.sum(), weight)
        mean = leaf_means(leaf, y, sample_weight, n_leaves)
        # As if the pseudo-count were the weight of one more target of 1.
        share = weight / (weight + self.pseudo_count)
        return self.values_of(share * mean + (1.0 - share))
