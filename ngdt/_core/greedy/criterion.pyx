"""Gains of splits, from the targets: of classes by entropy or errors, of numbers by variance.

`start` takes the samples of a node; then `scan` finds the best threshold of one feature after
another: it goes through the samples in ascending order of the feature and moves them from the right
to the left side, or back. Gains are the impurity of the node minus that of its two sides, each
times its weight. Samples without weight must have been dropped.

`start` costs the samples of the node (times the targets), `scan` the moves in its list (times the
targets; for entropy, plus the classes). A criterion belongs to one splitter, and so to one thread.
"""

import numpy as np

from libc.math cimport INFINITY, fabs, fmax, fmin, log2
from libc.stdint cimport int32_t, int64_t

ctypedef fused number:
    int64_t
    double


cdef class Criterion:
    """Base class.

    Parameters
    ----------
    y : ndarray of float64, shape (n_samples, n_targets)
        Targets as `Loss.encode` returns them.
    sample_weight : ndarray of float64, shape (n_samples,)
    n_outputs : int
        Classes, or regression targets.
    """

    def __init__(self, y, sample_weight, n_outputs):
        self._y = y
        self._sample_weight = sample_weight
        self.tag = np.empty(len(y), dtype=np.int32)
        self.amount = np.empty(len(y))

    cdef bint start(self, const int32_t *samples, Py_ssize_t n) noexcept nogil:
        """Start on a node; False if it is pure."""
        return False

    cdef Cut scan(self, const Moves *moves) noexcept nogil:
        """The best threshold of one feature, the lowest among equals."""
        return Cut(-INFINITY, 0.0, 0.0)


cdef class Entropy(Criterion):
    """Entropy in bits times weight: n log2 n - sum_c n_c log2 n_c.

    Whole weights (no weights, or repetitions) are counted in integers, with n log2 n in fixed point
    from a table: faster than logarithms, and a running sum has no rounding error, so that equal
    splits have equal gains whatever feature they come from.
    """

    cdef Py_ssize_t n_classes
    cdef int64_t[::1] _table
    cdef double[::1] _count
    cdef double[:, ::1] _scratch
    cdef int64_t[:, ::1] _int_scratch

    def __init__(self, y, sample_weight, n_outputs):
        super().__init__(y, sample_weight, n_outputs)
        self.n_classes = n_outputs
        self._count = np.empty(n_outputs)
        self._scratch = np.empty((3, n_outputs))
        self._int_scratch = np.empty((3, n_outputs), dtype=np.int64)
        total = sample_weight.sum()
        self.unit = 1.0
        self._table = None
        # The table may take as much memory as two to eight features of X.
        if total <= 2**16 + 4 * len(y) and (sample_weight == np.floor(sample_weight)).all():
            count = np.arange(int(total) + 1, dtype=np.float64)
            exact = count * np.log2(np.maximum(count, 1.0))
            # Two sums of at most the last entry have to fit into 62 bits.
            bits = 60 - int(np.ceil(np.log2(max(exact.max(), 1.0))))
            self.unit = 2.0 ** -bits
            self._table = np.rint(np.ldexp(exact, bits)).astype(np.int64)
        if len(y):
            self.tally = Tally(
                n_outputs, self._table is not None, &self.tag[0], &self.amount[0])

    cdef bint start(self, const int32_t *samples, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t position, c
        cdef double largest = 0.0, smallest = INFINITY
        for c in range(self.n_classes):
            self._count[c] = 0.0
        for position in range(n):
            c = <Py_ssize_t> self._y[samples[position], 0]
            self.tag[position] = <int32_t> c
            self.amount[position] = self._sample_weight[samples[position]]
            self._count[c] += self.amount[position]
            smallest = fmin(smallest, self.amount[position])
        # Half of the least weight: a side with less than that has no samples, but rounding.
        self.least = 0.5 * smallest
        self.total = 0.0
        for c in range(self.n_classes):
            self.total = self.total + self._count[c]
            largest = fmax(largest, self._count[c])
        if self._table is None:
            self.tolerance = 1e-12 * self.total * (
                1.0 + log2(self.n_classes) + fabs(log2(self.total)))
        else:
            self.tolerance = 4.0 * self.n_classes    # roundings of table entries
        # Pure up to a millionth: where class weights say that other classes hardly count, they
        # do not get leaves of their own.
        return largest < (1.0 - 1e-6) * self.total

    cdef Cut scan(self, const Moves *moves) noexcept nogil:
        if self._table is None:
            return _scan_entropy[double](
                moves, self.n_classes, &self._count[0], &self._scratch[0, 0],
                NULL, self.least, self.tolerance)
        return _scan_entropy[int64_t](
            moves, self.n_classes, &self._count[0], &self._int_scratch[0, 0],
            &self._table[0], self.least, <int64_t> self.tolerance)


cdef inline number _n_log_n(number n, const int64_t *table) noexcept nogil:
    if number is int64_t:
        return table[n]
    else:
        return n * log2(n) if n > 0.0 else 0.0


cdef inline number _move(
    number *left, number *right, number a, const int64_t *table
) noexcept nogil:
    """Move weight a of one class to the left; return the change of n_c log n_c on both sides."""
    # Only one class changes: two terms of the sums over classes.
    cdef number before = _n_log_n(left[0], table) + _n_log_n(right[0], table)
    left[0] += a
    right[0] -= a
    return _n_log_n(left[0], table) + _n_log_n(right[0], table) - before


cdef Cut _scan_entropy(
    const Moves *moves, Py_ssize_t n_classes, const double *count, number *scratch,
    const int64_t *table, double least, number tolerance
) noexcept nogil:
    cdef number *left = scratch             # weight of each class on each side
    cdef number *right = scratch + n_classes
    cdef number *rest = scratch + 2 * n_classes
    cdef number n_left = 0, n_right = 0, a
    cdef number purity = 0                  # sum over both sides of n_c log n_c
    cdef number score, start, best = 0
    cdef Py_ssize_t m, c, where = -1
    for c in range(n_classes):
        # A scan starts from the node as it is: a criterion scans many features in a row.
        left[c] = 0
        right[c] = rest[c] = <number> count[c]
        n_right += right[c]
        purity += _n_log_n(right[c], table)
    start = purity - _n_log_n(n_right, table)
    if moves.has_rest:
        for m in range(moves.n):
            if moves.item[m] != REST:
                # What was not listed has the weights that the listed samples leave over.
                rest[moves.item[m]] -= <number> moves.amount[m]
    for m in range(moves.end):
        c = moves.item[m]
        if c != REST:
            a = <number> moves.amount[m]
            purity += _move(left + c, right + c, a, table)
            n_left += a
            n_right -= a
        else:
            for c in range(n_classes):
                purity += _move(left + c, right + c, rest[c], table)
                n_left += rest[c]
                n_right -= rest[c]
        # No threshold lies between equal values, and none may leave a side empty.
        if m < moves.first or moves.z[m] == moves.z[m + 1] or n_left < least or n_right < least:
            continue
        score = purity - _n_log_n(n_left, table) - _n_log_n(n_right, table) - start
        # By more than rounding: of equal cuts the first stays, which has the lowest threshold.
        if where < 0 or score > best + tolerance:
            best = score
            where = m
    if where < 0:
        return Cut(-INFINITY, 0.0, 0.0)
    # No cut raises the entropy: what is below zero is rounding.
    return Cut(fmax(<double> best, 0.0), moves.z[where], moves.z[where + 1])


cdef class Misclassification(Criterion):
    """Weight of the misclassified samples of two classes.

    Either side may stand for either class. A gain is against sending all samples to one side, so it
    may be negative. Targets and weights are read anew in each node.
    """

    cdef double _count[2]

    def __init__(self, y, sample_weight, n_outputs):
        super().__init__(y, sample_weight, n_outputs)
        self.unit = 1.0
        if len(y):
            self.tally = Tally(2, False, &self.tag[0], &self.amount[0])

    cdef bint start(self, const int32_t *samples, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t position
        self._count[0] = self._count[1] = 0.0
        for position in range(n):
            self.tag[position] = <int32_t> self._y[samples[position], 0]
            self.amount[position] = self._sample_weight[samples[position]]
            self._count[self.tag[position]] += self.amount[position]
        self.total = self._count[0] + self._count[1]
        self.tolerance = 1e-12 * self.total
        return self._count[0] > 0.0 and self._count[1] > 0.0

    cdef Cut scan(self, const Moves *moves) noexcept nogil:
        cdef double left[2]
        cdef double rest[2]
        cdef double score, best = -INFINITY
        cdef Py_ssize_t m, c, where = -1
        for c in range(2):
            left[c] = 0.0
            rest[c] = self._count[c]
        if moves.has_rest:
            for m in range(moves.n):
                if moves.item[m] != REST:
                    rest[moves.item[m]] -= moves.amount[m]
        for m in range(moves.end):
            if moves.item[m] != REST:
                left[moves.item[m]] += moves.amount[m]
            else:
                left[0] += rest[0]
                left[1] += rest[1]
            if m < moves.first or moves.z[m] == moves.z[m + 1]:
                continue
            # Right are the samples of one class on the left, and of the other on the right.
            score = self._count[1] + left[0] - left[1]
            # Or the other way round: a side may stand for either class.
            score = fmax(score, self.total - score)
            if where < 0 or score > best + self.tolerance:
                best = score
                where = m
        if where < 0:
            return Cut(-INFINITY, 0.0, 0.0)
        return Cut(
            best - fmax(self._count[0], self._count[1]), moves.z[where], moves.z[where + 1])


cdef class Variance(Criterion):
    """Sum of squared deviations from the mean, over all targets.

    Targets and weights are scaled by powers of two, so that no square overflows or vanishes.
    Targets are centred in every node: what is left of a node's sum is rounding, and no digits
    cancel however far the targets lie from zero.
    """

    cdef Py_ssize_t n_targets
    cdef double _scale
    cdef double[:, ::1] _deviation      # of each position and target from the node's mean
    cdef double[:, ::1] _scratch

    def __init__(self, y, sample_weight, n_outputs):
        # Powers of two round nothing, so that the scaled numbers are as exact as the given ones.
        bits = [int(np.frexp(np.abs(each).max(initial=0.0))[1]) for each in (sample_weight, y)]
        # A positive weight must not vanish by scaling: its sample would have none.
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
                # Shares first: they sum to one, and the mean cannot overflow.
                mean += self.amount[position] / self.total * value
            # Targets that differ by rounding are the same.
            pure = pure and high - low <= 1e-15 * fmax(fabs(low), fabs(high))
            for position in range(n):
                # A second pass over the targets: about the mean, sums of squares lose no digits.
                value = self._y[samples[position], t] * self._scale - mean
                self._deviation[position, t] = value
                left_over += self.amount[position] * value
                impurity += self.amount[position] * value * value
            self._scratch[0, t] = left_over
        self.tolerance = 1e-12 * impurity
        return not pure

    cdef Cut scan(self, const Moves *moves) noexcept nogil:
        # Local, as a loop would read what belongs to an object anew after each number it writes.
        cdef Py_ssize_t n_targets = self.n_targets
        cdef const double *deviation = &self._deviation[0, 0]
        cdef const double *sum_ = &self._scratch[0, 0]  # over the node, the left side and the rest
        cdef double *left = &self._scratch[1, 0]
        cdef double *rest = &self._scratch[2, 0]
        cdef double total = self.total, least = self.least, tolerance = self.tolerance
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
            # The variance between the sides, all that a cut removes. What the node has in common
            # for all cuts is left out.
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
