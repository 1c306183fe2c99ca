from libc.float cimport DBL_MAX
from libc.stdint cimport int32_t, int64_t

from ngdt._core.samples cimport Sample, Samples


cdef class FlatTree:
    cdef readonly int n_internal
    cdef readonly int n_features
    cdef readonly int n_outputs
    cdef readonly int max_depth
    cdef readonly bint is_sparse
    cdef readonly object thresholds, children_left, children_right, values, slopes, ranges
    cdef readonly object _node_depths, _leaf_depths
    cdef readonly object _dense, _csr   # the weights, in one of the two forms
    cdef const double[:, ::1] _weights  # dense
    cdef const double *_nonzeros        # sparse
    cdef const int32_t *_columns
    cdef const int64_t[::1] _starts
    cdef const double[::1] _thresholds
    cdef const double[:, ::1] _values
    cdef const int32_t[::1] _left
    cdef const int32_t[::1] _right
    cdef bint _has_ranges
    cdef const double[:, ::1] _slopes   # one row for each leaf and output
    cdef const double[:, ::1] _ranges

    cdef int _check_width(self, Samples data) except -1
    cdef int32_t[::1] _only_columns(self)

    cdef inline double product(self, const Sample *x, int node) noexcept nogil:
        cdef int64_t start
        if not self.is_sparse:
            return x.dot(x.values, x.indices, x.n, &self._weights[node, 0])
        start = self._starts[node]
        return x.dot_sparse(
            x.values, x.indices, x.n, self._nonzeros + start, self._columns + start,
            self._starts[node + 1] - start)

    cdef inline double score(self, const Sample *x, int node) noexcept nogil:
        return self.product(x, node) - x.offset * self._thresholds[node]

    cdef inline int child(self, int node, double score) noexcept nogil:
        # Right only where the score is positive: a score of zero goes left.
        return self._right[node] if score > 0.0 else self._left[node]

    cdef inline void predict_linear(self, const Sample *x, int leaf, double *out) noexcept nogil:
        # Prediction of a linear leaf; x multiplies dense weights.
        cdef int k, row
        cdef double value
        for k in range(self.n_outputs):
            row = leaf * self.n_outputs + k
            value = self._values[leaf, k] + x.dot(x.values, x.indices, x.n, &self._slopes[row, 0])
            # Differences of logits have to be finite, too. In this order, NaN of a sum that
            # overflows becomes the lower end.
            out[k] = min(max(-0.5 * DBL_MAX, value), 0.5 * DBL_MAX)
            if self._has_ranges:
                out[k] = min(max(self._ranges[row, 0], out[k]), self._ranges[row, 1])

    cdef inline int leaf_below(self, const Sample *x, int node) noexcept nogil:
        while node >= 0:
            node = self.child(node, self.score(x, node))
        return ~node
