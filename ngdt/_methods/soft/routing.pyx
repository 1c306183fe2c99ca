"""Soft routing: a sample goes right at node i with probability sigmoid(gamma * s_i).

Hehn, Kooij & Hamprecht (2020), eqs. 1 and 2, in a form that needs no logarithms. Bottom-up, each
node gets the likelihood of the sample's target below it,

    V_leaf = p(y | leaf),    V_i = (1 - P_i) V_left + P_i V_right,

and V_root is the likelihood of the tree. Top-down, each gets minus the loss's derivative in it,

    M_left = (1 - P_i) M_i,    M_right = P_i M_i,

which is the probability of the way there times M_root. The gradient in a score is
-gamma M_i P_i (1 - P_i) (V_right - V_left), and M_leaf V_leaf is what the leaf is responsible for.
The same recursions hold where V_leaf is minus a loss of the leaf; V_root is then minus the expected
loss over the leaves.

One array, `state`, holds these in turn: `forward` writes V, `backward` replaces it by M in leaves
and by the gradient in the score in nodes. The slots of a mini-batch are the inner index. `read`,
`forward` and `backward` belong to visits, each of which writes its own slots; `gradient` and
`accumulate_leaves` belong to updates; of what visits wrote, they change only the `output` of linear
leaves, each its own.
"""

import numpy as np

from libc.stdint cimport int32_t, uintptr_t
from libc.string cimport memcpy, memset
from scipy.linalg.cython_blas cimport sgemm

from ngdt._core.samples cimport Sample, Samples, axpy, ngdt_axpy_f32, training_sample
from ngdt._core.search cimport Topology
from ngdt._methods.soft.leaf_model cimport LeafModel

cdef extern from "dot.h" nogil:
    void ngdt_rows_times_f32(
        const float *x, Py_ssize_t stride, const int32_t *row, Py_ssize_t n, const float *w,
        Py_ssize_t p, float offset, float *out) noexcept
    Py_ssize_t ngdt_add_rows_f32(
        const float *a, const float *x, Py_ssize_t stride, const int32_t *row, Py_ssize_t n,
        Py_ssize_t p, float *w, float *sum) noexcept

cdef extern from "soft.h" nogil:
    void ngdt_sigmoid(float gamma, Py_ssize_t n, float *s) noexcept
    void ngdt_lerp(const float *p, const float *left, const float *right, Py_ssize_t n,
                   float *out) noexcept
    void ngdt_backward_node(float gamma, const float *p, Py_ssize_t n, float *node, float *left,
                            float *right) noexcept
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


cdef class Routing:
    """Interface of the two ways to route a batch, and what they share.

    Parameters
    ----------
    topology : Topology
    weights : ndarray of float32, shape (n_internal, n_features + 1)
        Splits in scaled feature space; the last column is minus the threshold.
    model : LeafModel
    data : Samples
    scaling : Scaling
    batch_size : int
    """

    def __init__(
            self, Topology topology, weights, LeafModel model, Samples data, scaling, batch_size):
        self.topology, self.model, self.data = topology, model, data
        self.weights = weights
        self.n_features, self.batch_size = data.n_features, batch_size
        self.standardizer = Standardizer(data, scaling)
        self.x = np.ones((batch_size, self._width()), dtype=np.float32)
        self._samples = np.zeros(batch_size * sizeof(Sample), dtype=np.uint8)
        self.samples = <Sample *> <uintptr_t> self._samples.ctypes.data

    def _width(self):
        """Number of values that a slot has room for."""
        return max(1, self.data.max_stored)

    cdef void read(self, int slot, Py_ssize_t sample) noexcept nogil:
        """Write a sample, scaled, into a slot of the mini-batch."""
        cdef Sample x = self.data.get(sample)
        self.standardizer.write(sample, &self.x[slot, 0])
        self.samples[slot] = training_sample(&self.x[slot, 0], x.indices, x.n, 1.0)

    cdef void mix(self, int slot, Py_ssize_t other, float share, float *scaled) noexcept nogil:
        """Move the dense sample of a slot towards another one; `scaled` has room for that."""
        cdef float *x = &self.x[slot, 0]
        cdef Py_ssize_t j
        self.standardizer.write(other, scaled)
        for j in range(self.n_features):
            x[j] += share * (scaled[j] - x[j])

    cdef void forward(self, int first, int n, float gamma, float *root_value) noexcept nogil:
        """Route n slots from `first` on; write V_root of each."""

    cdef void backward(
            self, int first, int n, float gamma, const float *grad_output) noexcept nogil:
        """Take M_root of the same slots, `grad_output`, down the tree."""

    cdef bint gradient(self, int node, int n_nodes, int n, float *out) noexcept nogil:
        """Write gradients in the weights of some nodes, summed over n slots; False if all are 0."""
        return False

    cdef void accumulate_leaves(self, int first, int n_leaves, int n) noexcept nogil:
        """Let the model accumulate what the updates of some leaves need of n slots."""


cdef void multiply(
    bint transpose_a, int m, int n, int k, const float *a, Py_ssize_t lda,
    const float *b, Py_ssize_t ldb, float *c, Py_ssize_t ldc
) noexcept nogil:
    """c = a b, or a' b, all column-major."""
    cdef float one = 1.0, zero = 0.0
    cdef int a_stride = <int> lda, b_stride = <int> ldb, c_stride = <int> ldc
    sgemm(b"T" if transpose_a else b"N", b"N", &m, &n, &k, &one, <float *> a, &a_stride,
          <float *> b, &b_stride, &zero, c, &c_stride)


cdef int whole_vectors(int n) noexcept nogil:
    """Number of slots, rounded up to vectors of AVX-512.

    A row of 21 slots takes as long as five vectors if its last five go one by one, and two if not.
    """
    return (n + 15) & ~15


cdef class DenseRouting(Routing):
    """All nodes for all samples: one matrix product forward, one for the gradient.

    Each costs the batch size times the numbers of nodes and of features, all else the batch
    size times the number of nodes.
    """

    def __init__(self, Topology topology, *arguments):
        super().__init__(topology, *arguments)
        m, self.stride = topology.n_internal, whole_vectors(self.batch_size)
        # What is beyond the last slot is computed with, and never read.
        self.p = np.zeros((m, self.stride), dtype=np.float32)
        self.state = np.zeros((2 * m + 1, self.stride), dtype=np.float32)

    def _width(self):
        return self.data.max_stored + 1     # the constant feature comes last

    cdef void forward(self, int first, int n, float gamma, float *root_value) noexcept nogil:
        cdef int m = self.topology.n_internal, n_whole = whole_vectors(n), i
        self.score(first, n)
        if self.model.rows_per_leaf > 0:
            multiply(True, n, <int> self.model.coefficients.shape[0], <int> self.x.shape[1],
                     &self.x[first, 0], self.x.shape[1], &self.model.coefficients[0, 0],
                     self.x.shape[1], &self.model.output[0, first], self.batch_size)
        for i in range(m + 1):
            self.model.value(i, NULL, first, n, &self.state[m + i, first])
        for i in range(m - 1, -1, -1):
            ngdt_sigmoid(gamma, n_whole, &self.p[i, first])
            ngdt_lerp(
                &self.p[i, first], &self.state[self.topology.left[i], first],
                &self.state[self.topology.right[i], first], n_whole, &self.state[i, first])
        memcpy(root_value, &self.state[0, first], n * sizeof(float))

    cdef void score(self, int first, int n) noexcept nogil:
        """Write the scores of n slots at all nodes into p."""
        # BLAS takes arrays for column-major: p' = x w', with x' and w' given.
        multiply(True, n, self.topology.n_internal, <int> self.x.shape[1], &self.x[first, 0],
                 self.x.shape[1], &self.weights[0, 0], self.weights.shape[1], &self.p[0, first],
                 self.stride)

    cdef void backward(
            self, int first, int n, float gamma, const float *grad_output) noexcept nogil:
        cdef int n_whole = whole_vectors(n), i
        memcpy(&self.state[0, first], grad_output, n * sizeof(float))
        for i in range(self.topology.n_internal):
            ngdt_backward_node(
                gamma, &self.p[i, first], n_whole, &self.state[i, first],
                &self.state[self.topology.left[i], first],
                &self.state[self.topology.right[i], first])

    cdef bint gradient(self, int node, int n_nodes, int n, float *out) noexcept nogil:
        # gradient' = x' state', all as they are stored.
        multiply(False, <int> self.x.shape[1], n_nodes, n, &self.x[0, 0], self.x.shape[1],
                 &self.state[node, 0], self.stride, out, self.x.shape[1])
        return True

    cdef void accumulate_leaves(self, int first, int n_leaves, int n) noexcept nogil:
        cdef int leaf, row = first * self.model.rows_per_leaf
        for leaf in range(first, first + n_leaves):
            self.model.accumulate(leaf, NULL, 0, n, &self.state[self.topology.n_internal + leaf, 0])
        if self.model.rows_per_leaf > 0:
            multiply(False, <int> self.x.shape[1], n_leaves * self.model.rows_per_leaf, n,
                     &self.x[0, 0], self.x.shape[1], &self.model.output[row, 0], self.batch_size,
                     &self.model.gradient[row, 0], self.x.shape[1])


cdef class CSRRouting(DenseRouting):
    """All nodes for all samples, by the stored values of CSR rows.

    A stored value is multiplied with the weights of its feature in all nodes, which lie side by
    side. The gradient in the scores of a slot lies likewise, in its `row`; `LazyTrainer` multiplies
    it with the sample. Leaves must be constant.

    Parameters
    ----------
    weights : ndarray of float32, shape (n_features + 1, n_internal)
        By features; others as for `Routing`.
    """

    def __init__(self, Topology topology, *arguments):
        super().__init__(topology, *arguments)
        self.row = np.empty((self.batch_size, topology.n_internal), dtype=np.float32)

    cdef void score(self, int first, int n) noexcept nogil:
        cdef int m = self.topology.n_internal, s, i
        cdef Py_ssize_t e
        cdef const Sample *x
        for s in range(first, first + n):
            x = &self.samples[s]
            memcpy(&self.row[s, 0], &self.weights[self.n_features, 0], m * sizeof(float))
            for e in range(x.n):
                ngdt_axpy_f32((<const float *> x.values)[e],
                              &self.weights[x.indices[e], 0], NULL, m, &self.row[s, 0])
            for i in range(m):
                self.p[i, s] = self.row[s, i]

    cdef void backward(
            self, int first, int n, float gamma, const float *grad_output) noexcept nogil:
        cdef int s, i
        DenseRouting.backward(self, first, n, gamma, grad_output)
        for s in range(first, first + n):
            for i in range(self.topology.n_internal):
                self.row[s, i] = self.state[i, s]


cdef class SparseRouting(Routing):
    """Each sample visits only nodes that it reaches with some probability.

    Where less than `cutoff` would go to one side, all goes to the other, as in a hard tree. So a
    sample visits at most 1 / cutoff nodes per level, however many there are. Scores are dot
    products, slower than a matrix product of the same size by several times: it pays where most of
    the work is skipped, in trees of many weights, and for sparse data.

    The visits of a chunk of slots are listed node by node, in one row per chunk. A visit has its
    slot and the visits of the children that it leads to. The first n belong to the root.
    """

    cdef readonly double cutoff
    cdef int nowhere
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
            cutoff):
        super().__init__(topology, weights, model, data, scaling, batch_size)
        cdef Py_ssize_t n_ids = 2 * topology.n_internal + 1, n_chunks = -(-batch_size // CHUNK)
        self.cutoff = cutoff
        # A sample reaches as many nodes of a level as there are, but at most so many.
        most = n_ids if cutoff == 0 else 1 + int(1 / cutoff)
        visits = min(n_ids, sum(min(2**level, most) for level in range(topology.max_depth + 1)))
        # Of a chunk: its visits, one that is written without being listed, and the one of value 0
        # that stands for a child that is not visited.
        capacity = CHUNK * visits + 2
        self.nowhere = capacity - 1
        self.slot, self.left, self.right = np.empty((3, n_chunks, capacity), dtype=np.int32)
        self.p, self.state, self.reach = np.zeros((3, n_chunks, capacity), dtype=np.float32)
        self.start, self.count = np.zeros((2, n_chunks, n_ids), dtype=np.int32)

    cdef void forward(self, int first, int n, float gamma, float *root_value) noexcept nogil:
        cdef int c = first // CHUNK, m = self.topology.n_internal, i, v
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
        """Score the visits of a node and list the visits of its children from `end` on."""
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
        cdef int c = first // CHUNK, i
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
            for c in range((n + CHUNK - 1) // CHUNK):
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
            for c in range((n + CHUNK - 1) // CHUNK):
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
