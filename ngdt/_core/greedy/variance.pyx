"""Gains of splits for regression targets: reduction of the variance."""

import numpy as np

from libc.math cimport INFINITY, fabs, fmax, fmin
from libc.stdint cimport int32_t

from ngdt._core.greedy.criterion cimport REST, Criterion, Cut, Moves


cdef class Variance(Criterion):
    """Sum of squared deviations from the mean, over all targets.

    Targets and weights are scaled by powers of two, so that no square overflows or vanishes.
    Targets are centred in every node: what is left of a node's sum is rounding, and no digits
    cancel however far the targets lie from zero.
    """

    def __init__(self, y, sample_weight, n_outputs):
        bits = [int(np.frexp(np.abs(each).max(initial=0.0))[1]) for each in (sample_weight, y)]
        weight = np.maximum(np.ldexp(sample_weight, -bits[0]), np.finfo(float).tiny)
        super().__init__(y, np.where(sample_weight > 0, weight, 0.0), n_outputs)
        self.n_targets = n_outputs
        self._scale = 2.0 ** -float(np.clip(bits[1], -1000, 1000))
        gain_bits = bits[0] + 2 * bits[1]
        self.unit = 2.0 ** gain_bits if abs(gain_bits) < 1000 else 1.0
        self._deviation = np.empty((len(y), n_outputs))
        self._scratch = np.empty((3, n_outputs))

    cdef bint start(self, const int32_t *samples, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t position, t
        cdef double low, high, value, mean, left_over, impurity = 0.0, smallest = INFINITY
        cdef bint pure = True
        self.total = 0.0
        for position in range(n):
            self.tag[position] = <int32_t> position
            self.amount[position] = self._sample_weight[samples[position]]
            self.total = self.total + self.amount[position]
            smallest = fmin(smallest, self.amount[position])
        self.least = 0.5 * smallest
        for t in range(self.n_targets):
            low, high, mean, left_over = INFINITY, -INFINITY, 0.0, 0.0
            for position in range(n):
                value = self._y[samples[position], t] * self._scale
                low, high = fmin(low, value), fmax(high, value)
                mean += self.amount[position] / self.total * value
            # Targets that differ by rounding are the same.
            pure = pure and high - low <= 1e-15 * fmax(fabs(low), fabs(high))
            for position in range(n):
                value = self._y[samples[position], t] * self._scale - mean
                self._deviation[position, t] = value
                left_over += self.amount[position] * value
                impurity += self.amount[position] * value * value
            self._scratch[0, t] = left_over
        self.tolerance = 1e-12 * impurity
        return not pure

    cdef Cut scan(self, const Moves *moves) noexcept nogil:
        return _scan_variance(
            moves, self.n_targets, &self._deviation[0, 0], &self._scratch[0, 0], self.total,
            self.least, self.tolerance)


cdef Cut _scan_variance(
    const Moves *moves, Py_ssize_t n_targets, const double *deviation, double *scratch,
    double total, double least, double tolerance
) noexcept nogil:
    cdef const double *sum_ = scratch       # sums over the node, the left side and the rest
    cdef double *left = scratch + n_targets
    cdef double *rest = scratch + 2 * n_targets
    cdef double n_left = 0.0, n_rest = total, score, best = 0.0
    cdef Py_ssize_t m, t, where = -1
    for t in range(n_targets):
        left[t] = 0.0
        rest[t] = sum_[t]
    if moves.has_rest:
        for m in range(moves.n):
            if moves.item[m] != REST:
                n_rest -= moves.amount[m]
                for t in range(n_targets):
                    rest[t] -= moves.amount[m] * deviation[moves.item[m] * n_targets + t]
    for m in range(moves.end):
        if moves.item[m] != REST:
            n_left += moves.amount[m]
            for t in range(n_targets):
                left[t] += moves.amount[m] * deviation[moves.item[m] * n_targets + t]
        else:
            n_left += n_rest
            for t in range(n_targets):
                left[t] += rest[t]
        if m < moves.first or moves.z[m] == moves.z[m + 1] or (
                n_left < least or total - n_left < least):
            continue
        score = 0.0
        for t in range(n_targets):
            score += left[t] * left[t] / n_left
            score += (sum_[t] - left[t]) * (sum_[t] - left[t]) / (total - n_left)
        if where < 0 or score > best + tolerance:
            best = score
            where = m
    if where < 0:
        return Cut(-INFINITY, 0.0, 0.0)
    return Cut(best, moves.z[where], moves.z[where + 1])
