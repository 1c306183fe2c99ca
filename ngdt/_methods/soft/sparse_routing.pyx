"""Soft routing that visits only the nodes which a sample reaches."""

import numpy as np

from libc.stdint cimport int32_t, uintptr_t
from libc.string cimport memcpy, memset

from ngdt._core.search cimport Topology
from ngdt._core.samples cimport Sample, Samples, axpy, training_sample
from ngdt._methods.soft.leaf_model cimport LeafModel
from ngdt._methods.soft.routing cimport Routing

cdef extern from "dot.h" nogil:
    void ngdt_rows_times_f32(
        const float *x, Py_ssize_t stride, const int32_t *row, Py_ssize_t n, const float *w,
        Py_ssize_t p, float offset, float *out) noexcept
    Py_ssize_t ngdt_add_rows_f32(
        const float *a, const float *x, Py_ssize_t stride, const int32_t *row, Py_ssize_t n,
        Py_ssize_t p, float *w, float *sum) noexcept

cdef extern from "soft.h" nogil:
    void ngdt_sigmoid(float gamma, Py_ssize_t n, float *s) noexcept
    void ngdt_cut(float cutoff, const float *reach, Py_ssize_t n, float *p) noexcept
    int ngdt_list_visits(
        int right, int first, int n, const float *p, int end, int nowhere, int32_t *slot,
        float *reach, int32_t *child) noexcept
    void ngdt_lerp_visits(
        int first, int n, const float *p, const int32_t *left, const int32_t *right,
        float *state) noexcept
    void ngdt_backward_visits(
        float gamma, int first, int n, const float *p, const int32_t *left, const int32_t *right,
        float *state) noexcept


cdef class SparseRouting(Routing):
    """Each sample visits only nodes that it reaches with some probability.

    Where less than `cutoff` would go to one side, all goes to the other, as in a hard tree. So a
    sample visits at most 1 / cutoff nodes per level, however many there are. Scores are dot
    products, slower than a matrix product of the same size by several times: it pays where most of
    the work is skipped, in trees of many weights, and for sparse data.

    The visits of a chunk of slots are listed node by node, in one row per chunk. A visit has its
    slot and the visits of the children that it leads to. The first n are those of the root.
    """

    cdef readonly double cutoff
    cdef int chunk, nowhere
    # by slot
    cdef float[:, ::1] x            # stored values, scaled
    cdef object _samples
    cdef Sample *samples
    # by chunk and visit
    cdef int32_t[:, ::1] slot
    cdef int32_t[:, ::1] left       # visits of the children, the last where not visited
    cdef int32_t[:, ::1] right
    cdef float[:, ::1] p
    cdef float[:, ::1] state        # V; then M and gradients
    cdef float[:, ::1] reach        # probability of the way there
    # by chunk, node or leaf: where its visits start, how many
    cdef int32_t[:, ::1] start
    cdef int32_t[:, ::1] count

    def __init__(
            self, Topology topology, weights, LeafModel model, Samples data, scaling, batch_size,
            chunk, cutoff):
        super().__init__(topology, weights, model, data, scaling, batch_size)
        cdef Py_ssize_t n_ids = 2 * topology.n_internal + 1, n_chunks = -(-batch_size // chunk)
        self.cutoff, self.chunk = cutoff, chunk
        # A sample reaches as many nodes of a level as there are, but at most so many.
        most = n_ids if cutoff == 0 else 1 + int(1 / cutoff)
        visits = min(n_ids, sum(min(2**level, most) for level in range(topology.max_depth + 1)))
        # Of a chunk: its visits, one that is written without being listed, and the one of value 0
        # that stands for a child that is not visited.
        capacity = chunk * visits + 2
        self.nowhere = capacity - 1
        self.x = np.zeros((batch_size, max(1, data.max_stored)), dtype=np.float32)
        self._samples = np.zeros(batch_size * sizeof(Sample), dtype=np.uint8)
        self.samples = <Sample *> <uintptr_t> self._samples.ctypes.data
        self.slot, self.left, self.right = np.empty((3, n_chunks, capacity), dtype=np.int32)
        self.p, self.state, self.reach = np.zeros((3, n_chunks, capacity), dtype=np.float32)
        self.start, self.count = np.zeros((2, n_chunks, n_ids), dtype=np.int32)

    cdef void read(self, int slot, Py_ssize_t sample) noexcept nogil:
        cdef Sample x = self.data.get(sample)
        self.standardizer.write(sample, &self.x[slot, 0])
        self.samples[slot] = training_sample(&self.x[slot, 0], x.indices, x.n, 1.0)

    cdef float *values(self, int slot) noexcept nogil:
        return &self.x[slot, 0]

    cdef void forward(self, int first, int n, float gamma, float *root_value) noexcept nogil:
        cdef int c = first // self.chunk, m = self.topology.n_internal, i, v
        cdef int end = n
        cdef float *value = &self.state[c, 0]
        for i in range(n):
            self.slot[c, i] = first + i
            self.reach[c, i] = 1.0
        self.start[c, 0], self.count[c, 0] = 0, n
        for i in range(m):
            end = self._visit(c, i, gamma, end)
        for i in range(m, 2 * m + 1):
            v = self.start[c, i]
            self._multiply_leaf(i - m, &self.slot[c, v], self.count[c, i])
            self.model.value(i - m, &self.slot[c, v], 0, self.count[c, i], &value[v])
        for i in range(m - 1, -1, -1):
            ngdt_lerp_visits(self.start[c, i], self.count[c, i], &self.p[c, 0], &self.left[c, 0],
                             &self.right[c, 0], value)
        memcpy(root_value, value, n * sizeof(float))

    cdef void _multiply_leaf(self, int leaf, const int32_t *slots, int n) noexcept nogil:
        """Outputs of a linear leaf."""
        cdef const Sample *x
        cdef const float *a
        cdef int row, i
        for row in range(leaf * self.model.rows_per_leaf, (leaf + 1) * self.model.rows_per_leaf):
            a = &self.model.coefficients[row, 0]
            for i in range(n):
                x = &self.samples[slots[i]]
                self.model.output[row, slots[i]] = <float> (
                    x.dot(x.values, x.indices, x.n, a) + a[self.n_features])

    cdef int _visit(self, int c, int node, float gamma, int end) noexcept nogil:
        """Score the visits of a node and list those of its children from `end` on."""
        cdef int first = self.start[c, node], n = self.count[c, node], v
        cdef float *p = &self.p[c, 0]
        cdef float *reach = &self.reach[c, 0]
        cdef int32_t *slot = &self.slot[c, 0]
        cdef const float *w = &self.weights[node, 0]
        cdef const Sample *x
        if self.data.is_sparse:
            for v in range(first, first + n):
                x = &self.samples[slot[v]]
                p[v] = <float> (x.dot(x.values, x.indices, x.n, w) + w[self.n_features])
        else:
            ngdt_rows_times_f32(&self.x[0, 0], self.x.shape[1], slot + first, n, w,
                                self.n_features, w[self.n_features], p + first)
        ngdt_sigmoid(gamma, n, p + first)
        ngdt_cut(<float> self.cutoff, reach + first, n, p + first)
        end = self._list(c, node, self.topology.left[node], 0, end)
        return self._list(c, node, self.topology.right[node], 1, end)

    cdef int _list(self, int c, int node, int child, bint right, int end) noexcept nogil:
        cdef int32_t *visits = &self.right[c, 0] if right else &self.left[c, 0]
        self.start[c, child] = end
        end = ngdt_list_visits(
            right, self.start[c, node], self.count[c, node], &self.p[c, 0], end, self.nowhere,
            &self.slot[c, 0], &self.reach[c, 0], visits)
        self.count[c, child] = end - self.start[c, child]
        return end

    cdef void backward(
            self, int first, int n, float gamma, const float *grad_output) noexcept nogil:
        cdef int c = first // self.chunk, i
        # Before a node is done: M in it, V in its children. After: its gradient, M in them.
        memcpy(&self.state[c, 0], grad_output, n * sizeof(float))
        for i in range(self.topology.n_internal):
            ngdt_backward_visits(
                gamma, self.start[c, i], self.count[c, i], &self.p[c, 0], &self.left[c, 0],
                &self.right[c, 0], &self.state[c, 0])

    cdef bint gradient(self, int node, int n_nodes, int n, float *out) noexcept nogil:
        cdef int c, i
        cdef bint touched = False
        cdef Py_ssize_t stride = self.n_features + 1
        memset(out, 0, n_nodes * stride * sizeof(float))
        for i in range(n_nodes):
            for c in range((n + self.chunk - 1) // self.chunk):
                if self._add_visits(c, node + i, out):
                    touched = True
            out += stride
        return touched

    cdef bint _add_visits(self, int c, int node, float *out) noexcept nogil:
        """Add what the visits of a chunk say of the gradient in the weights of a node."""
        cdef int first = self.start[c, node], n = self.count[c, node], v
        cdef bint touched = False
        cdef float size
        if not self.data.is_sparse:
            return ngdt_add_rows_f32(
                &self.state[c, first], &self.x[0, 0], self.x.shape[1], &self.slot[c, first], n,
                self.n_features, out, out + self.n_features) > 0
        for v in range(first, first + n):
            size = self.state[c, v]
            if size != 0.0:
                axpy(size, &self.samples[self.slot[c, v]], out)
                out[self.n_features] += size
                touched = True
        return touched

    cdef void accumulate_leaves(self, int first, int n_leaves, int n) noexcept nogil:
        cdef int leaf, c, i, v
        for leaf in range(first, first + n_leaves):
            i = self.topology.n_internal + leaf
            self.model.reset(leaf)
            for c in range((n + self.chunk - 1) // self.chunk):
                v = self.start[c, i]
                self.model.accumulate(
                    leaf, &self.slot[c, v], 0, self.count[c, i], &self.state[c, v])
                self._add_gradient(leaf, &self.slot[c, v], self.count[c, i])

    cdef void _add_gradient(self, int leaf, const int32_t *slots, int n) noexcept nogil:
        """Gradient in the coefficients of a linear leaf."""
        cdef int row, i
        cdef float size
        for row in range(leaf * self.model.rows_per_leaf, (leaf + 1) * self.model.rows_per_leaf):
            for i in range(n):
                size = self.model.output[row, slots[i]]
                axpy(size, &self.samples[slots[i]], &self.model.gradient[row, 0])
                self.model.gradient[row, self.n_features] += size
