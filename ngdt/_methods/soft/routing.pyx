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

from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport sgemm

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

    cdef float *values(self, int slot) noexcept nogil:
        """The sample of a slot."""
        return NULL

    cdef void mix(self, int slot, Py_ssize_t other, float share, float *scaled) noexcept nogil:
        """Move the dense sample of a slot towards another one; `scaled` has room for that."""
        cdef float *x = self.values(slot)
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


cdef class DenseRouting(Routing):
    """All nodes for all samples: one matrix product forward, one for the gradient.

    Each costs the batch size times the number of nodes times that of features, all else the batch
    size times the number of nodes.
    """

    def __init__(self, Topology topology, *arguments):
        super().__init__(topology, *arguments)
        m, batch_size = topology.n_internal, self.batch_size
        self.x = np.ones(self._shape_of_samples(), dtype=np.float32)
        self.p = np.empty((m, batch_size), dtype=np.float32)
        self.state = np.empty((2 * m + 1, batch_size), dtype=np.float32)

    def _shape_of_samples(self):
        return self.batch_size, self.n_features + 1

    cdef void read(self, int slot, Py_ssize_t sample) noexcept nogil:
        self.standardizer.write(sample, &self.x[slot, 0])

    cdef float *values(self, int slot) noexcept nogil:
        return &self.x[slot, 0]

    cdef void forward(self, int first, int n, float gamma, float *root_value) noexcept nogil:
        cdef int m = self.topology.n_internal, i
        self.score(first, n)
        self._multiply_leaves(first, n)
        for i in range(m + 1):
            self.model.value(i, NULL, first, n, &self.state[m + i, first])
        for i in range(m - 1, -1, -1):
            ngdt_sigmoid(gamma, n, &self.p[i, first])
            ngdt_lerp(
                &self.p[i, first], &self.state[self.topology.left[i], first],
                &self.state[self.topology.right[i], first], n, &self.state[i, first])
        memcpy(root_value, &self.state[0, first], n * sizeof(float))

    cdef void score(self, int first, int n) noexcept nogil:
        """Write the scores of n slots at all nodes into p."""
        # BLAS takes arrays for column-major: p' = x w', with x' and w' given.
        multiply(True, n, self.topology.n_internal, <int> self.x.shape[1], &self.x[first, 0],
                 self.x.shape[1], &self.weights[0, 0], self.weights.shape[1], &self.p[0, first],
                 self.batch_size)

    cdef void _multiply_leaves(self, int first, int n) noexcept nogil:
        """Outputs of linear leaves."""
        if self.model.rows_per_leaf > 0:
            multiply(True, n, <int> self.model.coefficients.shape[0], <int> self.x.shape[1],
                     &self.x[first, 0], self.x.shape[1], &self.model.coefficients[0, 0],
                     self.x.shape[1], &self.model.output[0, first], self.batch_size)

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

    cdef void accumulate_leaves(self, int first, int n_leaves, int n) noexcept nogil:
        cdef int leaf, row = first * self.model.rows_per_leaf
        for leaf in range(first, first + n_leaves):
            self.model.reset(leaf)
            self.model.accumulate(leaf, NULL, 0, n, &self.state[self.topology.n_internal + leaf, 0])
        if self.model.rows_per_leaf > 0:
            multiply(False, <int> self.x.shape[1], n_leaves * self.model.rows_per_leaf, n,
                     &self.x[0, 0], self.x.shape[1], &self.model.output[row, 0], self.batch_size,
                     &self.model.gradient[row, 0], self.x.shape[1])
