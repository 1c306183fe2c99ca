cimport cython
from libc.stdint cimport int8_t, int32_t, uint32_t

from ngdt._core.loss cimport Loss
from ngdt._core.samples cimport Sample, dense_score


@cython.final
cdef class Topology:
    # One id space for the kernels: node i is i, leaf j is n_internal + j.
    cdef readonly int n_internal
    cdef readonly int max_depth
    cdef int32_t[::1] left      # children of the internal nodes
    cdef int32_t[::1] right
    cdef int32_t[::1] parent    # of all ids; -1 for the root
    cdef int32_t[::1] depth     # of all ids

    cdef inline bint goes_right(self, int child) noexcept nogil:
        return self.right[self.parent[child]] == child


@cython.final
cdef class LeafBoxes:
    # Boxes: elementwise ranges of the leaf profiles below every id. A leaf's own has lo = hi.
    cdef Topology topology
    cdef Loss loss
    cdef int n_outputs
    cdef double[:, ::1] lo
    cdef double[:, ::1] hi

    cdef void set_leaf(self, int leaf, const double *values) noexcept nogil
    cdef bint merge_children(self, int node) noexcept nogil
    cdef void refresh(self, int leaf, const double *values) noexcept nogil


cdef struct Found:
    int leaf            # id in the leaf space
    double value        # loss - price, or loss + price for the sign -1


@cython.final
cdef class Search:
    cdef Topology topology
    cdef LeafBoxes boxes
    cdef Loss loss
    cdef int n_outputs
    # split parameters, borrowed: weight vectors are `stride` bytes apart
    cdef const char *weights
    cdef Py_ssize_t stride
    cdef const double *thresholds
    cdef object _owner
    # the sample at hand
    cdef Sample x
    cdef const double *y
    cdef int n_scored
    cdef int leaf               # that the sample reaches
    cdef int path_length
    # scratch
    cdef double[::1] score_of
    cdef uint32_t[::1] scored_at
    cdef uint32_t tick
    cdef int32_t[::1] path
    cdef int32_t[::1] stack_node
    cdef int32_t[::1] stack_flips
    cdef double[::1] stack_price

    cdef void bind(
        self, const char *weights, Py_ssize_t stride, const double *thresholds, object owner)
    cdef inline int descend(self, const Sample *x, bint keeps) noexcept nogil:
        """Leaf that a sample reaches; `keeps` its path, and the scores there for the searches."""
        # Inlined, with a constant `keeps`: who asks for the leaf alone pays for nothing else.
        cdef int node = 0, m = self.topology.n_internal, n = 0
        cdef double score
        while node < m:
            score = dense_score(x, self.weights + node * self.stride, self.thresholds[node])
            if keeps:
                self.score_of[node] = score
                self.scored_at[node] = self.tick
                self.path[n] = node
                n += 1
            # A score of zero goes left, as in `FlatTree.child`: the two must agree.
            node = self.topology.right[node] if score > 0.0 else self.topology.left[node]
        return node - m

    cdef double score(self, int node) noexcept nogil
    cdef double potential(self, int node, int sign) noexcept nogil
    cdef void begin(self, Sample x, const double *y) noexcept nogil
    cdef Found find(self, int sign, int radius) noexcept nogil
    cdef double price(self, int leaf) noexcept nogil
    cdef void _sort_path(self) noexcept nogil
    cdef int _sibling_of_choice(self, int node) noexcept nogil
    cdef int _flips(self, int leaf, int32_t *nodes, int8_t *decisions) noexcept nogil
