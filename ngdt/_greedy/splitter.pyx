"""Search for the best split of a node: features from `Columns`, gains from a `Criterion`.

For each feature, the samples of the node are put in ascending order, as a list of moves from the
right to the left side, and the criterion walks through them. Where the feature has been counted,
the list is the table of counts; elsewhere the values are sorted, in time linear in their number.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from ngdt._greedy.criterion import CRITERIA

from libc.math cimport INFINITY, fmax, fmin
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.string cimport memcpy

from ngdt._greedy.columns cimport CELL_BYTES, Columns, Feature, count_t, ngdt_lowest_bit
from ngdt._greedy.criterion cimport REST, Cut
from ngdt._samples cimport Sample, Samples
from ngdt._greedy.sort cimport sort_doubles, sort_keys


class Split(NamedTuple):
    """A split of a node: right where ``direction @ x > threshold``.

    Parameters
    ----------
    direction : int or ndarray of shape (n_features,)
        The weights of the split, or the one feature that has weight 1.
    threshold : float
    gain : float
        Impurity of the node minus that of its two sides, each times its weight.
    """

    direction: "int | np.ndarray"
    threshold: float
    gain: float


cdef class Splitter:
    """Finds the best axis-aligned split of any subset of rows.

    Made once per training set: looking for the features that need no sorting takes about as long as
    one split of all rows. Not to be used by several threads at once.

    Parameters
    ----------
    X : ndarray, C-contiguous float32 or float64, or CSR matrix, of shape (n_samples, n_features)
        Used in place; only a CSR matrix with unsorted or repeated columns is copied.
    y : ndarray of float64, shape (n_samples, n_targets)
        Targets as `Loss.encode` returns them.
    weight : ndarray of float64, shape (n_samples,)
        Samples with weight 0 do not exist.
    n_outputs : int
        Classes, or regression targets.
    criterion : {"entropy", "misclassification", "variance"}
    min_samples_leaf : float, default=1
        Least weight on either side of a split. Up to 1, there is no limit: no side is empty, and
        weights may have any unit.

    Examples
    --------
    >>> import numpy as np
    >>> from ngdt._greedy.splitter import Splitter
    >>> X, y = np.array([[0.0, 5.0], [2.0, 5.0], [4.0, 6.0]]), np.array([[0.0], [0.0], [1.0]])
    >>> splitter = Splitter(X, y, np.ones(3), 2, "entropy")
    >>> rows = splitter.used_samples()
    >>> split = splitter.split(rows)
    >>> split.direction, split.threshold, round(split.gain, 3)
    (0, 3.0, 2.755)
    >>> splitter.partition(rows, split)
    2
    """

    def __init__(self, X, y, weight, n_outputs, criterion, min_samples_leaf=1):
        if sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        self._rows = Samples(X)
        self.n_features = self._rows.n_features
        self.weight = weight
        self._used = np.flatnonzero(weight > 0).astype(np.int32)
        self._columns = Columns(self._rows, self._used)
        self._criterion = CRITERIA[criterion](
            y, weight, n_outputs, min_samples_leaf if min_samples_leaf > 1 else 0.0)
        self._gain = np.empty(self.n_features)
        self._low = np.empty(self.n_features)
        self._high = np.empty(self.n_features)
        self._by_count = np.empty(self.n_features, dtype=np.uint8)
        cdef Py_ssize_t n = len(self._used)
        self._order = np.empty(n, dtype=np.uint64)
        self._scratch = np.empty(n, dtype=np.uint64)
        self._right = np.empty(n, dtype=np.int32)
        self._allocate_moves(max(n, CELL_BYTES // 8) + 1)

    def _allocate_moves(self, Py_ssize_t n):
        cdef double[::1] z = np.empty(n)
        cdef double[::1] amount = np.empty(n)
        cdef int32_t[::1] item = np.empty(n, dtype=np.int32)
        self._buffers = z, amount, item
        self._moves.z = &z[0]
        self._moves.amount = &amount[0]
        self._moves.item = &item[0]

    def used_samples(self):
        """The rows with weight: a new int32 array, to be partitioned in place."""
        return self._used.copy()

    def split(self, int32_t[::1] rows):
        """Best split of a node.

        Parameters
        ----------
        rows : ndarray of int32
            Rows of the node, each with a positive weight.

        Returns
        -------
        Split or None
            None if the node is pure or no threshold leaves `min_samples_leaf` on both sides. Of
            splits with equal gain, the one with the lowest feature, then the lowest threshold.
        """
        cdef Py_ssize_t feature = -1
        cdef double threshold = 0.0
        if self._check_rows(rows) < 2:
            return None
        with nogil:
            if self._criterion.start(&rows[0], len(rows)):
                feature = self._search(&rows[0], len(rows))
            if feature >= 0:
                threshold = self._threshold(&rows[0], len(rows), feature)
        if feature < 0:
            return None
        return Split(feature, threshold, self._gain[feature] * self._criterion.unit)

    def best_threshold(self, int32_t[::1] rows, const double[::1] z):
        """Best threshold of one number per row, e.g. a projection.

        Parameters
        ----------
        rows : ndarray of int32, shape (n,)
            Rows of the node, each with a positive weight.
        z : ndarray of float64, shape (n,)

        Returns
        -------
        tuple of float (threshold, gain), or None
        """
        cdef Py_ssize_t i, e, n = self._check_rows(rows)
        cdef Cut cut
        cdef bint impure = False
        if len(z) != n:
            raise ValueError(f"z has {len(z)} values for {n} rows")
        if n < 2:
            return None
        with nogil:
            impure = self._criterion.start(&rows[0], n)
            sort_doubles(&z[0], &self._order[0], &self._scratch[0], n)
            for i in range(n):
                e = <uint32_t> self._order[i]
                self._moves.z[i] = z[e]
                self._moves.item[i] = self._criterion.tag[e]
                self._moves.amount[i] = self._criterion.amount[e]
            self._moves.n = n
            self._moves.has_rest = False
            cut = self._criterion.scan(&self._moves)
        if not impure or cut.gain == -INFINITY:
            return None
        return _midpoint(cut.low, cut.high), cut.gain * self._criterion.unit

    def partition(self, int32_t[::1] rows, split):
        """Reorder rows, the left side first, each side in its old order; return where it ends."""
        cdef Py_ssize_t feature = 0, i
        cdef double threshold = split.threshold
        cdef const double[::1] direction
        cdef Py_ssize_t n_left = 0, n_right = 0
        cdef bint oblique = isinstance(split.direction, np.ndarray)
        cdef bint right
        cdef Sample row
        self._check_rows(rows)
        if oblique:
            direction = split.direction
        else:
            feature = split.direction
        with nogil:
            for i in range(rows.shape[0]):
                if oblique:
                    row = self._rows.get(rows[i])
                    right = row.dot(
                        row.values, row.indices, row.n, &direction[0]) - threshold > 0.0
                else:
                    right = self._columns.get(rows[i], feature) > threshold
                self._right[n_right] = rows[i]
                rows[n_left] = rows[i]
                n_right += right
                n_left += not right
            if n_right:
                memcpy(&rows[n_left], &self._right[0], n_right * sizeof(int32_t))
        return n_left

    cdef Py_ssize_t _check_rows(self, int32_t[::1] rows) except -1:
        if rows.shape[0] > self._right.shape[0]:
            raise ValueError(
                f"rows has {rows.shape[0]} entries, but only {self._right.shape[0]} rows have "
                "weight")
        return rows.shape[0]

    cdef Py_ssize_t _search(self, const int32_t *rows, Py_ssize_t n) noexcept nogil:
        """Find the best cut of every feature; return the best feature, -1 if none can be cut."""
        cdef Py_ssize_t first, last = 0, j
        cdef Feature feature
        cdef Cut cut
        cdef double best = -INFINITY
        while last < self.n_features:
            first = last
            last = self._columns.read(rows, n, first, &self._criterion.labels)
            for j in range(first, last):
                self._gain[j] = -INFINITY
                feature = self._columns.feature[j - first]
                if feature.count == 0:
                    continue
                self._by_count[j] = feature.counted
                if not feature.counted:
                    self._list_sorted(j, &feature, n)
                elif self._criterion.labels.whole:
                    self._list_counted(
                        <int32_t *> &self._columns.cells[0] + feature.base, j, &feature, n)
                else:
                    self._list_counted(
                        <double *> &self._columns.cells[0] + feature.base, j, &feature, n)
                cut = self._criterion.scan(&self._moves)
                self._gain[j], self._low[j], self._high[j] = cut.gain, cut.low, cut.high
                best = fmax(best, cut.gain)
        if best == -INFINITY:
            return -1
        for j in range(self.n_features):
            if self._gain[j] >= best - self._criterion.tolerance:
                return j
        return -1

    cdef double _threshold(
        self, const int32_t *rows, Py_ssize_t n, Py_ssize_t feature
    ) noexcept nogil:
        """Threshold of the best cut: halfway between the neighbouring values in the node."""
        cdef double low = self._low[feature], high = self._high[feature], x
        cdef Py_ssize_t i
        cdef int32_t last_point
        if self._by_count[feature]:
            last_point = <int32_t> low
            low, high = -INFINITY, INFINITY
            for i in range(n):
                x = self._columns.get(rows[i], feature)
                if self._columns.point(feature, x) <= last_point:
                    low = fmax(low, x)
                else:
                    high = fmin(high, x)
        return _midpoint(low, high)

    cdef void _list_counted(
        self, count_t *cells, Py_ssize_t j, const Feature *feature, Py_ssize_t n
    ) noexcept nogil:
        """List the counts of feature j, and set them back to 0."""
        cdef unsigned char *seen = &self._columns.seen[feature.base_point]
        cdef Py_ssize_t n_labels = self._criterion.labels.n
        cdef Py_ssize_t first, point, label, m = 0, rest = 0
        cdef bint waiting = feature.count < n
        cdef count_t *cell
        cdef uint64_t word
        self._moves.has_rest = waiting
        if waiting:
            rest = self._columns.point(j, self._columns.skip[j])
        for first in range(0, self._columns.steps[j], 8):
            word = (<uint64_t *> (seen + first))[0]
            (<uint64_t *> (seen + first))[0] = 0
            while word:
                point = first + ngdt_lowest_bit(word) // 8
                word &= word - 1
                if waiting and point > rest:
                    waiting = False
                    m = self._list(m, rest, REST, 0.0)
                cell = cells + point * n_labels
                for label in range(n_labels):
                    if cell[label]:
                        m = self._list(m, point, label, cell[label])
                        cell[label] = 0
        if waiting:
            m = self._list(m, rest, REST, 0.0)
        self._moves.n = m

    cdef Py_ssize_t _list(
        self, Py_ssize_t m, double z, Py_ssize_t item, double amount
    ) noexcept nogil:
        """Write move m; return the number of the next."""
        self._moves.z[m] = z
        self._moves.item[m] = <int32_t> item
        self._moves.amount[m] = amount
        return m + 1

    cdef void _list_sorted(
        self, Py_ssize_t j, const Feature *feature, Py_ssize_t n
    ) noexcept nogil:
        """List the entries of feature j in ascending order, those that were skipped as one."""
        cdef const double *z = &self._columns.z[feature.base]
        cdef const int32_t *position = &self._columns.position[feature.base]
        cdef Py_ssize_t i, e, m = 0
        cdef bint waiting = feature.count < n
        cdef double skip = self._columns.skip[j]
        if self._columns.steps[j]:
            for i in range(feature.count):
                self._order[i] = <uint64_t> self._columns.point(j, z[i]) << 32
                self._order[i] |= <uint64_t> i
            sort_keys(&self._order[0], &self._scratch[0], feature.count)
        else:
            sort_doubles(z, &self._order[0], &self._scratch[0], feature.count)
        self._moves.has_rest = waiting
        for i in range(feature.count):
            e = <uint32_t> self._order[i]
            if waiting and z[e] > skip:
                waiting = False
                m = self._list(m, skip, REST, 0.0)
            m = self._list(
                m, z[e], self._criterion.tag[position[e]], self._criterion.amount[position[e]])
        if waiting:
            m = self._list(m, skip, REST, 0.0)
        self._moves.n = m


cdef inline double _midpoint(double low, double high) noexcept nogil:
    """The middle of low < high, such that low <= middle < high also after rounding."""
    cdef double middle = 0.5 * low + 0.5 * high
    return middle if low <= middle < high else low
