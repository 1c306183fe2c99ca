from libc.stdint cimport int32_t, int64_t

from ngdt._samples cimport Reader, Sample, Samples


cdef class Tree:
    cdef readonly int n_internal
    cdef readonly int n_features
    cdef readonly int n_outputs
    cdef readonly int max_depth
    cdef readonly bint is_sparse
    cdef readonly object thresholds, children_left, children_right, values
    cdef object _dense, _csr            # the weights, in one of the two forms
    cdef const double[:, ::1] _weights  # dense
    cdef const double *_nonzeros        # sparse
    cdef const int32_t *_columns
    cdef const int64_t[::1] _starts
    cdef const double[::1] _thresholds
    cdef const int32_t[::1] _left
    cdef const int32_t[::1] _right

    cdef void _set_weights(self, dense, csr)
    cdef Tree _for(self, Samples rows, Py_ssize_t n_samples)

    cdef inline double score(self, const Sample *row, int node) noexcept nogil:
        cdef double total
        cdef int64_t start
        if self.is_sparse:
            start = self._starts[node]
            total = row.dot_sparse(
                row.values, row.indices, row.n,
                self._nonzeros + start, self._columns + start, self._starts[node + 1] - start)
        else:
            total = row.dot(row.values, row.indices, row.n, &self._weights[node, 0])
        return total - row.offset * self._thresholds[node]

    cdef inline int child(self, int node, double score) noexcept nogil:
        # Right only where the score is positive: a score of zero goes left.
        return self._right[node] if score > 0.0 else self._left[node]

    cdef inline int leaf_of(self, const Sample *row) noexcept nogil:
        return self.leaf_below(row, 0 if self.n_internal else ~0)

    cdef inline int leaf_below(self, const Sample *row, int node) noexcept nogil:
        while node >= 0:
            node = self.child(node, self.score(row, node))
        return ~node
