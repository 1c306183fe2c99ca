from libc.stdint cimport int32_t

from ngdt._rows cimport Row, Rows


cdef class Tree:
    cdef readonly int n_internal
    cdef readonly int n_features
    cdef readonly int n_outputs
    cdef readonly int max_depth
    cdef readonly object weights, thresholds, children_left, children_right, values
    cdef const double[:, ::1] _weights
    cdef const double[::1] _thresholds
    cdef const int32_t[::1] _left
    cdef const int32_t[::1] _right

    cdef inline double score(self, const Row *row, int node) noexcept nogil:
        return row.dot(row.values, row.indices, row.n, &self._weights[node, 0]) - (
            row.offset * self._thresholds[node])

    cdef inline int child(self, int node, double score) noexcept nogil:
        # Right only where the score is positive: a score of zero goes left.
        return self._right[node] if score > 0.0 else self._left[node]

    cdef inline int leaf_of(self, const Row *row) noexcept nogil:
        return self.leaf_below(row, 0 if self.n_internal else ~0)

    cdef inline int leaf_below(self, const Row *row, int node) noexcept nogil:
        while node >= 0:
            node = self.child(node, self.score(row, node))
        return ~node
