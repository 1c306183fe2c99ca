"""Exact steps of a hyperplane: along one coordinate, or any line, to where the split gains most.

On a line ``score + step * slope``, a sample changes sides once, at ``step = -score / slope``: to
the right where its slope is positive, to the left where it is negative, never where it is zero. In
ascending order of these steps, that is a list of moves like any other for the criterion.
"""

import numpy as np

from libc.math cimport NAN, INFINITY, fabs, ilogb, ldexp
from libc.stdint cimport int32_t, uint32_t

from ngdt._core.greedy.columns cimport BinnedColumns
from ngdt._core.greedy.criterion cimport Criterion, Cut
from ngdt._core.greedy.moves cimport MoveList
from ngdt._core.greedy.splitter cimport Splitter

cdef enum:
    MAX_STEP = 1 << 27   # steps beyond it would drown the other weights, of which the norm is 1


cdef class Descent:
    """A hyperplane that splits one node, and moves.

    Its weights are those of scaled features, and behind them the threshold, which is the weight of
    a constant feature of value -1. Made once per training set.

    Parameters
    ----------
    splitter : Splitter
        Its features and its criterion.
    center, scale : ndarray of float64, shape (n_features,)
        Features are scaled to ``(x - center) / scale``.
    """

    cdef Splitter _splitter
    cdef BinnedColumns _columns
    cdef Criterion _criterion
    cdef const double[::1] _center
    cdef const double[::1] _scale
    cdef const int32_t[::1] _samples    # of the node
    cdef double[::1] _weights
    cdef double[::1] _score             # of each position in the node
    cdef double[::1] _slope
    cdef double[::1] _turn              # steps at which samples change sides,
    cdef int32_t[::1] _turning          # and their positions
    cdef double[::1] _pool              # weight of each label that starts on the left side
    cdef double _gain, _patience
    cdef MoveList _moves

    def __init__(self, Splitter splitter, center, scale):
        cdef Py_ssize_t n = len(splitter.used_samples())
        self._splitter = splitter
        self._columns, self._criterion = splitter.columns, splitter.criterion
        self._center, self._scale = center, scale
        self._samples = np.empty(0, dtype=np.int32)
        self._weights = np.empty(splitter.n_features + 1)
        self._score, self._slope, self._turn = np.empty(n), np.empty(n), np.empty(n)
        self._turning = np.empty(n, dtype=np.int32)
        self._pool = np.empty(max(1, self._criterion.tally.n))
        # A sample that leaves the left side has to be brought there before.
        self._moves = MoveList(2 * n, n, NAN)
        self._moves.moves.has_rest = False

    @property
    def gain(self):
        """Gain of the split, up to the rounding of its steps."""
        return self._gain * self._criterion.unit

    @property
    def weights(self):
        """Weights and threshold in scaled feature space, shape (n_features + 1,)."""
        return np.array(self._weights)

    def start(self, const int32_t[::1] samples, const double[::1] weights, const double[::1] score,
              double gain):
        """Start on a node and a hyperplane.

        Parameters
        ----------
        samples : ndarray of int32, shape (n,)
            Samples of the node, each with a positive weight.
        weights : ndarray of float64, shape (n_features + 1,)
            Weights and threshold in scaled feature space.
        score : ndarray of float64, shape (n,)
            Of each sample.
        gain : float
            Of the split.
        """
        self._splitter.check_samples(samples)
        self._samples = samples
        self._weights[:] = weights
        self._score[:samples.shape[0]] = score
        self._criterion.start(&samples[0], samples.shape[0])
        self._gain = gain / self._criterion.unit
        self._patience = 1.0
        self._normalize()

    def descend(self, const int32_t[::1] order, const double[::1] chance):
        """Move along coordinates, one after the other, each time as far as gains most.

        A step that gains nothing is still made, with a probability that falls by a tenth each time
        it is and is 1 again after the next gain.

        Parameters
        ----------
        order : ndarray of int32
            Coordinates; ``n_features`` is the threshold.
        chance : ndarray of float64, same shape
            Uniform random numbers that decide about steps that gain nothing.

        Returns
        -------
        bool
            Whether the split gained.
        """
        cdef Py_ssize_t k
        cdef double step, before = self._gain
        with nogil:
            for k in range(order.shape[0]):
                self._read_slope(order[k])
                step = self._step(chance[k])
                self._weights[order[k]] += step
            self._normalize()
        return self._gain > before

    def jump(self, const double[::1] direction, const double[::1] slope):
        """Move along a direction to where the split gains most, if it gains at all.

        Parameters
        ----------
        direction : ndarray of float64, shape (n_features + 1,)
            In scaled feature space.
        slope : ndarray of float64, shape (n,)
            Score of each sample of the node if `direction` were the hyperplane.

        Returns
        -------
        bool
            Whether the split gained.
        """
        cdef Py_ssize_t j
        cdef double step
        self._slope[:slope.shape[0]] = slope
        with nogil:
            step = self._step(INFINITY)
            for j in range(self._weights.shape[0]):
                self._weights[j] += step * direction[j]
            self._normalize()
        return step != 0.0

    cdef void _read_slope(self, Py_ssize_t j) noexcept nogil:
        """Derivative of the score of each sample in weight j: its scaled feature, or -1."""
        cdef Py_ssize_t i
        if j == self._splitter.n_features:
            for i in range(self._samples.shape[0]):
                self._slope[i] = -1.0
            return
        for i in range(self._samples.shape[0]):
            self._slope[i] = (
                self._columns.get(self._samples[i], j) - self._center[j]) / self._scale[j]

    cdef double _step(self, double chance) noexcept nogil:
        """Make the step along the slope that gains most, and return its length; 0 if none does."""
        cdef Py_ssize_t i
        cdef double step
        cdef Cut cut
        if not self._list_moves():
            return 0.0
        cut = self._criterion.scan(&self._moves.moves)
        if cut.gain > self._gain + self._criterion.tolerance:
            self._gain = cut.gain
            self._patience = 1.0
        elif cut.gain < self._gain - self._criterion.tolerance or chance >= self._patience:
            return 0.0
        else:
            self._patience *= 0.9
        step = 0.5 * cut.low + 0.5 * cut.high
        for i in range(self._samples.shape[0]):
            self._score[i] += step * self._slope[i]
        return step

    cdef bint _list_moves(self) noexcept nogil:
        """List the moves of the samples along the slope; False if none changes sides."""
        cdef Py_ssize_t i, k, e, m = 0, n = 0, n_labels = self._criterion.tally.n
        cdef double step
        cdef bint starts_left
        for k in range(n_labels):
            self._pool[k] = 0.0
        for i in range(self._samples.shape[0]):
            # A slope of zero gives an infinity, or NaN.
            step = -self._score[i] / self._slope[i]
            if fabs(step) <= MAX_STEP:
                self._turn[n] = step
                self._turning[n] = <int32_t> i
                n += 1
                starts_left = self._slope[i] > 0.0
            else:
                starts_left = not self._score[i] > 0.0
            if not starts_left:
                continue
            if n_labels:
                self._pool[self._criterion.tag[i]] += self._criterion.amount[i]
            else:
                m = self._moves.put(
                    m, 0.0, self._criterion.tag[i], self._criterion.amount[i])
        if n < 2:
            return False
        for k in range(n_labels):
            if self._pool[k] > 0.0:
                m = self._moves.put(m, 0.0, k, self._pool[k])
        self._moves.sort(&self._turn[0], n)
        # What starts on the left side is there before the first threshold.
        for k in range(m):
            self._moves.moves.z[k] = self._turn[<uint32_t> self._moves.order[0]]
        for k in range(n):
            e = <uint32_t> self._moves.order[k]
            i = self._turning[e]
            m = self._moves.put(
                m, self._turn[e], self._criterion.tag[i],
                -self._criterion.amount[i] if self._slope[i] > 0.0 else self._criterion.amount[i])
        self._moves.moves.n = m
        self._moves.moves.first, self._moves.moves.end = 0, m - 1
        return True

    cdef void _normalize(self) noexcept nogil:
        """Bring the norm of the weights near 1: by a power of two, which rounds nothing."""
        cdef double norm = 0.0, factor
        cdef Py_ssize_t i
        for i in range(self._weights.shape[0] - 1):
            norm += self._weights[i] * self._weights[i]
        if norm == 0.0:
            return
        factor = ldexp(1.0, -ilogb(norm) // 2)
        for i in range(self._weights.shape[0]):
            self._weights[i] *= factor
        for i in range(self._samples.shape[0]):
            self._score[i] *= factor
