# cython: language_level=3, boundscheck=False
"""A loss of your own: the quantile ("pinball") loss, for trees that predict a quantile."""

import numpy as np

from libc.math cimport fmax, fmin
from ngdt._core.loss cimport Loss


cdef class QuantileLoss(Loss):
    """Minimised by the `level` quantile: 0.5 is the median, 0.9 is exceeded by one in ten."""

    cdef readonly double level
    name = "quantile"
    is_classifier = False

    def __init__(self, level=0.5):
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1, got {level}")
        self.level = level

    # The loss of one target: falling with slope -level up to y, rising with 1 - level above it.
    cdef double pinball(self, double theta, double y) noexcept nogil:
        return fmax(self.level * (y - theta), (self.level - 1.0) * (y - theta))

    # What leaves are compared by. Here the loss is a simple function of theta, so theta itself.
    cdef void profile(self, const double *theta, int k, double *out) noexcept nogil:
        cdef int t
        for t in range(k):
            out[t] = theta[t]

    # A convex function is largest at one of the two ends of an interval ...
    cdef double largest(
            self, const double *lo, const double *hi, int k, const double *y) noexcept nogil:
        cdef double total = 0.0
        cdef int t
        for t in range(k):
            total += fmax(self.pinball(lo[t], y[t]), self.pinball(hi[t], y[t]))
        return total

    # ... and smallest at the point that is nearest to its minimum, which is y.
    cdef double smallest(
            self, const double *lo, const double *hi, int k, const double *y) noexcept nogil:
        cdef double total = 0.0
        cdef int t
        for t in range(k):
            total += self.pinball(fmin(fmax(y[t], lo[t]), hi[t]), y[t])
        return total

    cdef void gradient(
            self, const double *theta, int k, const double *y, double *out) noexcept nogil:
        cdef int t
        for t in range(k):
            out[t] = (theta[t] > y[t]) - self.level if theta[t] != y[t] else 0.0

    def fit_leaves(self, leaf, y, sample_weight, n_leaves, n_outputs):
        overall = [self.quantile(y[:, t], sample_weight) for t in range(n_outputs)]
        values = np.tile(overall, (n_leaves, 1))  # what a leaf without samples gets
        for j in np.unique(leaf[sample_weight > 0]):
            here = leaf == j
            for t in range(n_outputs):
                values[j, t] = self.quantile(y[here, t], sample_weight[here])
        return values

    def quantile(self, values, weight):
        order = np.argsort(values, kind="stable")
        below = np.cumsum(weight[order])
        return values[order][np.searchsorted(below, self.level * below[-1])]

    # A loss travels with the fitted estimator: tell pickle how to make it again.
    def __reduce__(self):
        return type(self), (self.level,)
