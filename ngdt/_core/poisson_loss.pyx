"""The Poisson loss, of targets that are not negative."""

import numpy as np

from ngdt._core.regression_losses import leaf_means
from ngdt._util.validation import check_number

from libc.math cimport INFINITY, exp, fabs, log

from ngdt._core.loss cimport larger
from ngdt._core.regression_losses cimport RegressionLoss

# Largest logarithm of a mean; the exponentials of larger ones may overflow.
cdef double LARGEST_VALUE = 700.0
# Target that stands for a mean of zero, whose logarithm is not finite.
_LEAST_MEAN = 1e-6


cdef inline double half_deviance(
        double value, double mean, double y, double log_y) noexcept nogil:
    """Half the deviance of a target from a mean, which is the exponential of the value."""
    if y == 0.0:        # the value may be infinite
        return mean
    return larger(0.0, mean - y * (1.0 + (value - log_y)))


cdef inline double bounded(double value) noexcept nogil:
    return value if value < LARGEST_VALUE else LARGEST_VALUE


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
            if low == high:
                total += half_deviance(high, high_mean, y[t], log_y)
            else:
                low_mean = exp(low)
                total += larger(half_deviance(low, low_mean, y[t], log_y),
                                half_deviance(high, high_mean, y[t], log_y))
                total += rounding(low, low_mean, y[t], log_y)
                total += rounding(high, high_mean, y[t], log_y)
        return total

    cdef double smallest(
            self, const double *lo, const double *hi, int k, const double *y) noexcept nogil:
        cdef double total = 0.0, log_y, best, mean, least
        cdef int t
        for t in range(k):
            log_y = log(y[t]) if y[t] > 0.0 else 0.0
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
        return np.log(np.maximum(y, _LEAST_MEAN))

    def fit_leaves(self, leaf, y, sample_weight, n_leaves, n_outputs):
        weight = np.bincount(leaf, weights=sample_weight, minlength=n_leaves)[:, None]
        weight = np.where(weight == 0, sample_weight.sum(), weight)
        mean = leaf_means(leaf, y, sample_weight, n_leaves)
        share = weight / (weight + self.pseudo_count)
        return self.values_of(share * mean + (1.0 - share))

    def __reduce__(self):
        return type(self), (self.pseudo_count,)

    def __repr__(self):
        return f"PoissonLoss(pseudo_count={self.pseudo_count:g})"
