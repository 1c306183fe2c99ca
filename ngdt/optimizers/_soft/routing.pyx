"""Soft routing: a sample goes right at node i with probability sigmoid(gamma * s_i).

Hehn, Kooij & Hamprecht (2020), eqs. 1 and 2, in a form that needs no logarithms. Bottom-up, each
node gets the likelihood of the sample's target below it,

    V_leaf = p(y | leaf),    V_i = (1 - P_i) V_left + P_i V_right,

and V_root is the likelihood of the tree. Top-down, each gets minus the loss's derivative in it,

    M_left = (1 - P_i) M_i,    M_right = P_i M_i,

which is the probability of the way there times M_root. The gradient in a score is
-gamma M_i P_i (1 - P_i) (V_right - V_left), and M_leaf V_leaf is what the leaf is responsible for.

One array, `state`, holds these in turn: `forward` writes V, `backward` replaces it by M in leaves
and by the gradient in the score in nodes. The slots of a mini-batch are the inner index. `read`,
`forward` and `backward` belong to visits, each of which writes its own slots; `gradient` and
`accumulate_leaf` belong to updates, and only read.
"""

import numpy as np

from libc.stdint cimport int32_t
from libc.string cimport memcpy, memset
from scipy.linalg.cython_blas cimport sgemm

from ngdt._samples cimport axpy, training_sample

cdef extern from "soft.h" nogil:
    void ngdt_sigmoid(float gamma, Py_ssize_t n, float *s) noexcept
    void ngdt_lerp(const float *p, const float *left, const float *right, Py_ssize_t n,
                   float *out) noexcept
    void ngdt_backward_node(float gamma, const float *p, Py_ssize_t n, float *node, float *left,
                            float *right) noexcept


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

    cdef void read(self, int slot, Py_ssize_t sample) noexcept nogil:
        """Write a sample, scaled, into a slot of the mini-batch."""

    cdef void forward(self, int first, int n, float gamma, float *root_value) noexcept nogil:
        """Route n slots from `first` on; write V_root of each."""

    cdef void backward(
            self, int first, int n, float gamma, const float *grad_output) noexcept nogil:
        """Take M_root of the same slots, `grad_output`, down the tree."""

    cdef bint gradient(self, int node, int n_nodes, int n, float *out) noexcept nogil:
        """Write gradients in the weights of some nodes, summed over n slots; False if all are 0."""
        return False

    cdef void accumulate_leaf(self, int leaf, int n) noexcept nogil:
        """Let the model accumulate the responsibilities of a leaf for n slots."""


cdef void multiply(
    bint transpose_a, int m, int n, int k, const float *a, Py_ssize_t lda,
    const float *b, Py_ssize_t ldb, float *c, Py_ssize_t ldc
) noexcept nogil:
    """c = a b, or a' b, all column-major."""
    cdef float one = 1.0, zero = 0.0
    cdef int a_stride = <int> lda, b_stride = <int> ldb, c_stride = <int> ldc
    sgemm(b"T" if transpose_a else b"N", b"N", &m, &n, &k, &one, <float *> a, &a_stride,
          <float *> b, &b_stride, &zero, c, &c_stride)


cdef class DenseRouting(Routing):
    """All nodes for all samples: one matrix product forward, one for the gradient.

    Each costs the batch size times the number of nodes times that of features, all else the batch
    size times the number of nodes.
    """

    cdef float[:, ::1] x        # (batch_size, n_features + 1)
    cdef float[:, ::1] p        # (n_internal, batch_size): scores, then probabilities to go right
    cdef float[:, ::1] state    # (nodes and leaves, batch_size): V; then M and gradients

    def __init__(self, Topology topology, *arguments):
        super().__init__(topology, *arguments)
        m, batch_size = topology.n_internal, self.batch_size
        self.x = np.ones((batch_size, self.n_features + 1), dtype=np.float32)
        self.p = np.empty((m, batch_size), dtype=np.float32)
        self.state = np.empty((2 * m + 1, batch_size), dtype=np.float32)

    cdef void read(self, int slot, Py_ssize_t sample) noexcept nogil:
        self.standardizer.write(sample, &self.x[slot, 0])

    cdef void forward(self, int first, int n, float gamma, float *root_value) noexcept nogil:
        cdef int m = self.topology.n_internal, i
        # BLAS takes arrays for column-major: p' = x w', with x' and w' given.
        multiply(True, n, m, <int> self.x.shape[1], &self.x[first, 0], self.x.shape[1],
                 &self.weights[0, 0], self.weights.shape[1], &self.p[0, first], self.batch_size)
        for i in range(m + 1):
            self.model.density(i, NULL, first, n, &self.state[m + i, first])
        for i in range(m - 1, -1, -1):
            ngdt_sigmoid(gamma, n, &self.p[i, first])
            ngdt_lerp(
                &self.p[i, first], &self.state[self.topology.left[i], first],
                &self.state[self.topology.right[i], first], n, &self.state[i, first])
        memcpy(root_value, &self.state[0, first], n * sizeof(float))

    cdef void backward(
            self, int first, int n, float gamma, const float *grad_output) noexcept nogil:
        cdef int i
        memcpy(&self.state[0, first], grad_output, n * sizeof(float))
        for i in range(self.topology.n_internal):
            ngdt_backward_node(
                gamma, &self.p[i, first], n, &self.state[i, first],
                &self.state[self.topology.left[i], first],
                &self.state[self.topology.right[i], first])

    cdef bint gradient(self, int node, int n_nodes, int n, float *out) noexcept nogil:
        # gradient' = x' state', all as they are stored.
        multiply(False, <int> self.x.shape[1], n_nodes, n, &self.x[0, 0], self.x.shape[1],
                 &self.state[node, 0], self.batch_size, out, self.x.shape[1])
        return True

    cdef void accumulate_leaf(self, int leaf, int n) noexcept nogil:
        self.model.accumulate(
            leaf, NULL, 0, n, &self.state[self.topology.n_internal + leaf, 0])


cdef class SparseRouting(Routing):
    """Each sample visits only nodes that it reaches with some probability.

    Where less than `cutoff` would go to one side, all goes to the other, as in a hard tree. So a
    sample visits at most 1 / cutoff nodes per level, however many there are. Scores are dot
    products one by one, slower than a matrix product of the same size by about ten times: it pays
    on deep trees, and for sparse data.

    The visits of a chunk of slots are listed node by node, in one row per chunk. A visit has its
    slot and the visits of the children that it leads to. The first n are those of the root.
    """

    cdef readonly double cutoff
    cdef int chunk
    # by slot
    cdef float[:, ::1] x            # stored values, scaled
    cdef object _samples
    cdef Sample *samples
    # by chunk and visit
    cdef int32_t[:, ::1] slot
    cdef int32_t[:, ::1] left       # visits of the children, -1 where not visited
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
        visits = n_ids
        if cutoff > 0:
            visits = min(visits, (topology.max_depth + 1) * (1 + int(1 / cutoff)))
        capacity = chunk * visits       # of a chunk
        self.x = np.zeros((batch_size, max(1, data.max_stored)), dtype=np.float32)
        self._samples = np.zeros(batch_size * sizeof(Sample), dtype=np.uint8)
        self.samples = <Sample *> <Py_ssize_t> self._samples.ctypes.data
        self.slot, self.left, self.right = np.empty((3, n_chunks, capacity), dtype=np.int32)
        self.p, self.state, self.reach = np.empty((3, n_chunks, capacity), dtype=np.float32)
        self.start, self.count = np.zeros((2, n_chunks, n_ids), dtype=np.int32)

    cdef void read(self, int slot, Py_ssize_t sample) noexcept nogil:
        cdef Sample x = self.data.get(sample)
        self.standardizer.write(sample, &self.x[slot, 0])
        self.samples[slot] = training_sample(&self.x[slot, 0], x.indices, x.n, 1.0)

    cdef void forward(self, int first, int n, float gamma, float *root_value) noexcept nogil:
        cdef int c = first // self.chunk, m = self.topology.n_internal, i, v, v_left, v_right
        cdef int end = n
        cdef int32_t *left = &self.left[c, 0]
        cdef int32_t *right = &self.right[c, 0]
        cdef float *value = &self.state[c, 0]
        for i in range(n):
            self.slot[c, i] = first + i
            self.reach[c, i] = 1.0
        self.start[c, 0], self.count[c, 0] = 0, n
        for i in range(m):
            end = self._visit(c, i, gamma, end)
        for i in range(m, 2 * m + 1):
            v = self.start[c, i]
            self.model.density(i - m, &self.slot[c, v], 0, self.count[c, i], &value[v])
        for i in range(m - 1, -1, -1):
            for v in range(self.start[c, i], self.start[c, i] + self.count[c, i]):
                v_left, v_right = left[v], right[v]
                if v_left < 0:
                    value[v] = value[v_right]
                elif v_right < 0:
                    value[v] = value[v_left]
                else:
                    ngdt_lerp(&self.p[c, v], &value[v_left], &value[v_right], 1, &value[v])
        memcpy(root_value, value, n * sizeof(float))

    cdef int _visit(self, int c, int node, float gamma, int end) noexcept nogil:
        """Score the visits of a node and list those of its children from `end` on."""
        cdef int first = self.start[c, node], last = first + self.count[c, node], v, side, child
        cdef int32_t *slot = &self.slot[c, 0]
        cdef int32_t *to
        cdef float *p = &self.p[c, 0]
        cdef float *reach = &self.reach[c, 0]
        cdef const float *w = &self.weights[node, 0]
        cdef const Sample *x
        cdef float share
        for v in range(first, last):
            x = &self.samples[slot[v]]
            p[v] = <float> (x.dot(x.values, x.indices, x.n, w) + w[self.n_features])
        ngdt_sigmoid(gamma, last - first, &p[first])
        for side in range(2):
            child = self.topology.right[node] if side else self.topology.left[node]
            to = &self.right[c, 0] if side else &self.left[c, 0]
            self.start[c, child] = end
            for v in range(first, last):
                share = reach[v] * (p[v] if side else 1.0 - p[v])
                # The larger side is always visited, whatever the cutoff.
                if share < self.cutoff and (p[v] < 0.5) == side:
                    to[v] = -1
                    continue
                # A sample that is cut off from one side reaches the other with all it has.
                if reach[v] - share < self.cutoff and (p[v] >= 0.5) == side:
                    share = reach[v]
                to[v] = end
                slot[end] = slot[v]
                reach[end] = share
                end += 1
            self.count[c, child] = end - self.start[c, child]
        return end

    cdef void backward(
            self, int first, int n, float gamma, const float *grad_output) noexcept nogil:
        cdef int c = first // self.chunk, i, v, left, right
        # Before a node is done: M in it, V in its children. After: its gradient, M in them.
        cdef float *state = &self.state[c, 0]
        cdef float p, grad_value
        memcpy(state, grad_output, n * sizeof(float))
        for i in range(self.topology.n_internal):
            for v in range(self.start[c, i], self.start[c, i] + self.count[c, i]):
                left, right = self.left[c, v], self.right[c, v]
                if left < 0:
                    state[right] = state[v]
                    state[v] = 0.0
                elif right < 0:
                    state[left] = state[v]
                    state[v] = 0.0
                else:
                    p, grad_value = self.p[c, v], state[v]
                    state[v] = -gamma * grad_value * p * (1.0 - p) * (state[right] - state[left])
                    state[left] = grad_value * (1.0 - p)
                    state[right] = grad_value * p

    cdef bint gradient(self, int node, int n_nodes, int n, float *out) noexcept nogil:
        cdef int c, i, v
        cdef bint touched = False
        cdef float size
        cdef Py_ssize_t stride = self.n_features + 1
        memset(out, 0, n_nodes * stride * sizeof(float))
        for i in range(n_nodes):
            for c in range((n + self.chunk - 1) // self.chunk):
                for v in range(self.start[c, node + i],
                               self.start[c, node + i] + self.count[c, node + i]):
                    size = self.state[c, v]
                    if size != 0.0:
                        axpy(size, &self.samples[self.slot[c, v]], out)
                        out[self.n_features] += size
                        touched = True
            out += stride
        return touched

    cdef void accumulate_leaf(self, int leaf, int n) noexcept nogil:
        cdef int c, i = self.topology.n_internal + leaf
        for c in range((n + self.chunk - 1) // self.chunk):
            self.model.accumulate(
                leaf, &self.slot[c, self.start[c, i]], 0, self.count[c, i],
                &self.state[c, self.start[c, i]])
