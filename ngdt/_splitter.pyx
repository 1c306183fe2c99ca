"""Search for the best split of a node: features from `Columns`, gains from a `Criterion`.

For each feature, the samples of the node are put in ascending order, as a list of moves from the
right to the left side, and the criterion walks through them. Where the feature has been counted,
the list is the table of counts; elsewhere the values are sorted, in time linear in their number.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from ngdt._criterion import CRITERIA

from libc.math cimport INFINITY, fmax, fmin
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.string cimport memcpy

from ngdt._columns cimport Columns
from ngdt._criterion cimport REST, Criterion, Cut, Moves
from ngdt._rows cimport Row, Rows
from ngdt._sort cimport sort_doubles, sort_keys


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
        Rows with weight 0 do not exist.
    n_outputs : int
        Classes, or regression targets.
    criterion : {"entropy", "variance"}
    min_samples_leaf : float, default=0.0
        Least weight on either side of a split.

    Examples
    --------
    >>> import numpy as np
    >>> from ngdt._splitter import Splitter
    >>> X, y = np.array([[0.0, 5.0], [2.0, 5.0], [4.0, 6.0]]), np.array([[0.0], [0.0], [1.0]])
    >>> splitter = Splitter(X, y, np.ones(3), 2, "entropy")
    >>> rows = splitter.used_rows()
    >>> split = splitter.split(rows)
    >>> split.direction, split.threshold, round(split.gain, 3)
    (0, 3.0, 2.755)
    >>> splitter.partition(rows, split)
    2
    """

    cdef readonly Py_ssize_t n_features
    cdef readonly object weight
    cdef Rows _rows
    cdef Columns _columns
    cdef Criterion _criterion
    cdef object _used
    # The best cut of every feature
    cdef double[::1] _gain
    cdef double[::1] _low
    cdef double[::1] _high
    cdef unsigned char[::1] _by_count   # low and high are grid points
    # Samples in the order of one feature
    cdef uint64_t[::1] _order
    cdef uint64_t[::1] _scratch
    cdef Moves _moves
    cdef object _buffers
    cdef int32_t[::1] _right

    def __init__(self, X, y, weight, n_outputs, criterion, min_samples_leaf=0.0):
        if sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        self._rows = Rows(X)
        self.n_features = self._rows.n_features
        self.weight = weight
        self._used = np.flatnonzero(weight > 0).astype(np.int32)
        self._columns = Columns(self._rows, self._used)
        self._criterion = CRITERIA[criterion](y, weight, n_outputs, min_samples_leaf)
        self._gain = np.empty(self.n_features)
        self._low = np.empty(self.n_features)
        self._high = np.empty(self.n_features)
        self._by_count = np.empty(self.n_features, dtype=np.uint8)
        cdef Py_ssize_t n = len(self._used)
        self._order = np.empty(n, dtype=np.uint64)
        self._scratch = np.empty(n, dtype=np.uint64)
        self._right = np.empty(n, dtype=np.int32)
        self._allocate_moves(max(n, self._columns.cell.shape[0]) + 1)

    def _allocate_moves(self, Py_ssize_t n):
        cdef double[::1] z = np.empty(n)
        cdef double[::1] amount = np.empty(n)
        cdef int32_t[::1] item = np.empty(n, dtype=np.int32)
        self._buffers = z, amount, item
        self._moves.z = &z[0]
        self._moves.amount = &amount[0]
        self._moves.item = &item[0]

    def used_rows(self):
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
        if len(rows) < 2:
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
        cdef Py_ssize_t i, e, n = len(rows)
        cdef Cut cut
        if len(z) != n:
            raise ValueError(f"z has {len(z)} values for {n} rows")
        if n < 2 or not self._criterion.start(&rows[0], n):
            return None
        with nogil:
            sort_doubles(&z[0], &self._order[0], &self._scratch[0], n)
            for i in range(n):
                e = <uint32_t> self._order[i]
                self._moves.z[i] = z[e]
                self._moves.item[i] = self._criterion.tag[e]
                self._moves.amount[i] = self._criterion.amount[e]
            self._moves.n = n
            self._moves.has_rest = False
            cut = self._criterion.scan(&self._moves)
        if cut.gain == -INFINITY:
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
        cdef Row row
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

    cdef Py_ssize_t _search(self, const int32_t *rows, Py_ssize_t n) noexcept nogil:
        """Find the best cut of every feature; return the best feature, -1 if none can be cut."""
        cdef Py_ssize_t first, last = 0, j, f
        cdef Cut cut
        cdef double best = -INFINITY
        while last < self.n_features:
            first = last
            last = self._columns.read(
                rows, n, first, self._criterion.n_labels,
                &self._criterion.tag[0], &self._criterion.amount[0])
            for j in range(first, last):
                f = j - first
                self._gain[j] = -INFINITY
                if self._columns.count[f] == 0:
                    continue
                self._by_count[j] = self._columns.counted[f]
                if self._columns.counted[f]:
                    self._list_counted(j, f, n)
                else:
                    self._list_sorted(j, f, n)
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

    cdef void _list_counted(self, Py_ssize_t feature, Py_ssize_t f, Py_ssize_t n) noexcept nogil:
        """List the counts of a feature, and set them back to 0."""
        cdef Py_ssize_t n_labels = self._criterion.n_labels
        cdef double *cell = &self._columns.cell[self._columns.base[f]]
        cdef int32_t c, rest = -1, label
        cdef Py_ssize_t m = 0
        self._moves.has_rest = self._columns.count[f] < n
        if self._moves.has_rest:
            rest = self._columns.point(feature, self._columns.skip[feature])
        for c in range(self._columns.steps[feature]):
            if c == rest:
                self._moves.z[m] = c
                self._moves.item[m] = REST
                m += 1
            for label in range(<int32_t> n_labels):
                if cell[label] != 0.0:
                    self._moves.z[m] = c
                    self._moves.item[m] = label
                    self._moves.amount[m] = cell[label]
                    cell[label] = 0.0
                    m += 1
            cell += n_labels
        self._moves.n = m

    cdef void _list_sorted(self, Py_ssize_t feature, Py_ssize_t f, Py_ssize_t n) noexcept nogil:
        """List the entries of a feature in ascending order, those that were skipped as one."""
        cdef const double *z = &self._columns.z[self._columns.base[f]]
        cdef const int32_t *position = &self._columns.position[self._columns.base[f]]
        cdef Py_ssize_t i, e, n_listed = self._columns.count[f], m = 0
        cdef bint waiting = n_listed < n
        cdef double skip = self._columns.skip[feature]
        if self._columns.steps[feature]:
            for i in range(n_listed):
                self._order[i] = <uint64_t> self._columns.point(feature, z[i]) << 32
                self._order[i] |= <uint64_t> i
            sort_keys(&self._order[0], &self._scratch[0], n_listed)
        else:
            sort_doubles(z, &self._order[0], &self._scratch[0], n_listed)
        self._moves.has_rest = waiting
        for i in range(n_listed):
            e = <uint32_t> self._order[i]
            if waiting and z[e] > skip:
                waiting = False
                self._moves.z[m] = skip
                self._moves.item[m] = REST
                m += 1
            self._moves.z[m] = z[e]
            self._moves.item[m] = self._criterion.tag[position[e]]
            self._moves.amount[m] = self._criterion.amount[position[e]]
            m += 1
        if waiting:
            self._moves.z[m] = skip
            self._moves.item[m] = REST
            m += 1
        self._moves.n = m


cdef inline double _midpoint(double low, double high) noexcept nogil:
    """The middle of low < high, such that low <= middle < high also after rounding."""
    cdef double middle = 0.5 * low + 0.5 * high
    return middle if low <= middle < high else low
