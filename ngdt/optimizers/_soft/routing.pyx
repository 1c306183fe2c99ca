"""Soft routing: a sample goes right at node i with probability sigmoid(gamma * s_i).

Hehn, Kooij & Hamprecht (2020), eqs. 1 and 2, in a form that needs no logarithms. Bottom-up, each
node gets the likelihood of the sample's target below it,

    V_leaf = p(y | leaf),    V_i = (1 - P_i) V_left + P_i V_right,

and V_root is the likelihood of the tree. Top-down, each gets the derivative of the loss in it,

    M_left = (1 - P_i) M_i,    M_right = P_i M_i,

which is the probability of the way there times the derivative at the root. The gradient in a score
is -gamma M_i P_i (1 - P_i) (V_right - V_left), and M_leaf V_leaf is what the leaf is responsible
for. A mini-batch is the inner index everywhere.
"""

import numpy as np

from libc.string cimport memcpy, memset
from scipy.linalg.cython_blas cimport sgemm

from ngdt._samples cimport axpy, training_row

cdef extern from "soft.h" nogil:
    void ngdt_sigmoid(float gamma, Py_ssize_t n, float *s) noexcept
    void ngdt_exp_neg(float a, Py_ssize_t n, float *x) noexcept
    void ngdt_gather(
        const float *table, const int32_t *label, Py_ssize_t n, float *out) noexcept
    void ngdt_sum_by_label(const int32_t *label, const float *x, Py_ssize_t n, int k,
                           float *sums) noexcept
    void ngdt_lerp(const float *p, const float *left, const float *right, Py_ssize_t n,
                  float *out) noexcept
    void ngdt_backward_node(float gamma, const float *p, Py_ssize_t n, float *node, float *left,
                    float *right) noexcept

cdef enum:
    LANES = 64      # samples whose densities are computed at a time


cdef class LeafModel:
    """What a leaf says about targets. Subclasses override the kernels.

    A batch is read into slots; `density` and `collect` are told which slots a leaf deals with: the
    n consecutive ones from `first` on where `slots` is NULL.
    """

    cdef void read(self, int slot, Py_ssize_t sample) noexcept nogil:
        pass

    cdef void density(
            self, int leaf, const int32_t *slots, int first, int n, float *out) noexcept nogil:
        pass

    cdef void collect(
            self, int leaf, const int32_t *slots, int first, int n, const float *share
    ) noexcept nogil:
        """Add responsibilities: `share`, the derivative at the leaf, times the density."""

    cdef void begin(self, int leaf) noexcept nogil:
        """Forget the sums of the last batch."""

    cdef void blend(self, int leaf, double weight, double total) noexcept nogil:
        """Move the running means towards those of the batch, whose weights sum to `total`."""

    cdef void fit(self, int leaf) noexcept nogil:
        """M-step: the parameters that fit the running means best."""

    def fit_all(self):
        cdef int leaf
        for leaf in range(self.n_leaves):
            self.fit(leaf)

    def end_epoch(self):
        """Refit what all leaves have in common."""


cdef class Categorical(LeafModel):
    """Probabilities of classes: Hehn et al. (2020), eq. 13.

    Parameters
    ----------
    parameters : ndarray of float32, shape (n_leaves, n_classes)
        Probabilities at the start; changed in place.
    y : ndarray of float64, shape (n_samples, 1)
    prior : ndarray of shape (n_classes,)
    prior_weight : float
        Weight of the prior in each leaf, as a share of all samples.
    batch_size : int
    """

    cdef const double[:, ::1] y
    cdef double[::1] prior
    cdef float[:, ::1] batch
    cdef int32_t[::1] label
    cdef int n_classes

    def __init__(self, parameters, y, prior, prior_weight, batch_size):
        self.n_leaves, self.n_classes = parameters.shape
        self.parameters = parameters
        self._parameters = parameters
        self._mean = np.zeros_like(parameters)
        self.batch = np.zeros_like(parameters)
        self.y, self.prior, self.prior_weight = y, prior, prior_weight
        self.label = np.zeros(batch_size, dtype=np.int32)

    cdef void read(self, int slot, Py_ssize_t sample) noexcept nogil:
        self.label[slot] = <int32_t> self.y[sample, 0]

    cdef void density(
            self, int leaf, const int32_t *slots, int first, int n, float *out) noexcept nogil:
        cdef const float *probability = &self._parameters[leaf, 0]
        cdef int i
        if slots == NULL:
            ngdt_gather(probability, &self.label[first], n, out)
        else:
            for i in range(n):
                out[i] = probability[self.label[slots[i]]]

    cdef void begin(self, int leaf) noexcept nogil:
        memset(&self.batch[leaf, 0], 0, self.n_classes * sizeof(float))

    cdef void collect(
            self, int leaf, const int32_t *slots, int first, int n, const float *share
    ) noexcept nogil:
        cdef float *sums = &self.batch[leaf, 0]
        cdef int i
        if slots == NULL:
            ngdt_sum_by_label(&self.label[first], share, n, self.n_classes, sums)
        else:
            for i in range(n):
                sums[self.label[slots[i]]] += share[i]

    cdef void blend(self, int leaf, double weight, double total) noexcept nogil:
        cdef int c
        for c in range(self.n_classes):
            # The density depends on the class only: times it here, once.
            self._mean[leaf, c] += <float> (weight * (
                self.batch[leaf, c] * self._parameters[leaf, c] / total - self._mean[leaf, c]))

    cdef void fit(self, int leaf) noexcept nogil:
        cdef double total = self.prior_weight
        cdef int c
        for c in range(self.n_classes):
            total += self._mean[leaf, c]
        for c in range(self.n_classes):
            self._parameters[leaf, c] = <float> (
                (self._mean[leaf, c] + self.prior_weight * self.prior[c]) / total)


cdef class Gaussian(LeafModel):
    """Normal densities with a mean per leaf and one variance, up to a common factor.

    Parameters
    ----------
    parameters : ndarray of float32, shape (n_leaves, n_targets)
        Means at the start; changed in place.
    y : ndarray of float64, shape (n_samples, n_targets)
    prior : ndarray of shape (n_targets,)
    prior_weight : float
    batch_size : int
    variance : float
    fit_variance : bool
        Whether `end_epoch` sets the variance to what the running means say.
    """

    cdef const double[:, ::1] y
    cdef double[::1] prior
    cdef double[:, ::1] batch       # per leaf: sums of h y and, in the last columns, h and h e^2
    cdef float[:, ::1] target       # (n_targets, batch)
    cdef readonly double variance
    cdef bint fit_variance
    cdef int n_targets

    def __init__(
            self, parameters, y, prior, prior_weight, batch_size, variance, fit_variance):
        self.n_leaves, self.n_targets = parameters.shape
        self.parameters = parameters
        self._parameters = parameters
        self._mean = np.zeros((self.n_leaves, self.n_targets + 2), dtype=np.float32)
        self.batch = np.zeros((self.n_leaves, self.n_targets + 2))
        self.y, self.prior, self.prior_weight = y, prior, prior_weight
        self.target = np.zeros((self.n_targets, batch_size), dtype=np.float32)
        self.variance, self.fit_variance = variance, fit_variance

    cdef void read(self, int slot, Py_ssize_t sample) noexcept nogil:
        cdef int t
        for t in range(self.n_targets):
            self.target[t, slot] = <float> self.y[sample, t]

    cdef void _squares(
            self, int leaf, const int32_t *slots, int first, int n, float *out) noexcept nogil:
        """Squared distances of the targets from the mean of the leaf."""
        cdef int t, i
        cdef float mean, e
        cdef const float *target
        memset(out, 0, n * sizeof(float))
        for t in range(self.n_targets):
            mean, target = self._parameters[leaf, t], &self.target[t, 0]
            if slots == NULL:
                for i in range(n):
                    e = target[first + i] - mean
                    out[i] += e * e
            else:
                for i in range(n):
                    e = target[slots[i]] - mean
                    out[i] += e * e

    cdef void density(
            self, int leaf, const int32_t *slots, int first, int n, float *out) noexcept nogil:
        self._squares(leaf, slots, first, n, out)
        ngdt_exp_neg(<float> (0.5 / self.variance), n, out)

    cdef void begin(self, int leaf) noexcept nogil:
        memset(&self.batch[leaf, 0], 0, (self.n_targets + 2) * sizeof(double))

    cdef void collect(
            self, int leaf, const int32_t *slots, int first, int n, const float *share
    ) noexcept nogil:
        cdef int start = 0
        while start < n:
            self._collect(
                leaf, slots + start if slots != NULL else NULL, first + start,
                min(<int> LANES, n - start), share + start)
            start += LANES

    cdef void _collect(
            self, int leaf, const int32_t *slots, int first, int n, const float *share
    ) noexcept nogil:
        cdef double *sums = &self.batch[leaf, 0]
        cdef float[LANES] squares, density
        cdef double h
        cdef int i, t
        self._squares(leaf, slots, first, n, squares)
        memcpy(density, squares, n * sizeof(float))
        ngdt_exp_neg(<float> (0.5 / self.variance), n, density)
        for i in range(n):
            h = share[i] * density[i]
            for t in range(self.n_targets):
                sums[t] += h * self.target[t, slots[i] if slots != NULL else first + i]
            sums[self.n_targets] += h
            sums[self.n_targets + 1] += h * squares[i]

    cdef void blend(self, int leaf, double weight, double total) noexcept nogil:
        cdef int t
        for t in range(self.n_targets + 2):
            self._mean[leaf, t] += <float> (
                weight * (self.batch[leaf, t] / total - self._mean[leaf, t]))

    cdef void fit(self, int leaf) noexcept nogil:
        cdef double total = self.prior_weight + self._mean[leaf, self.n_targets]
        cdef int t
        for t in range(self.n_targets):
            self._parameters[leaf, t] = <float> (
                (self._mean[leaf, t] + self.prior_weight * self.prior[t]) / total)

    def end_epoch(self):
        responsible, squares = np.asarray(self._mean)[:, -2:].sum(axis=0, dtype=np.float64)
        if self.fit_variance and responsible > 0:
            # Not so small that the log-likelihood leaves the range of the loss.
            self.variance = max(squares / (self.n_targets * responsible), 1e-6)


cdef class Routing:
    """Interface of the two ways to route a batch, and what they share.

    Parameters
    ----------
    topology : Topology
    weights : ndarray of float32, shape (n_internal, n_features + 1)
        Splits in scaled feature space; the last column is minus the threshold.
    model : LeafModel
    rows : Samples
    scaling : Scaling
    batch_size : int
    """

    def __init__(self, Topology topology, weights, LeafModel model, Samples rows, scaling, batch_size):
        self.topology, self.model, self.rows = topology, model, rows
        self.weights = weights
        self.n_features, self.batch_size = rows.n_features, batch_size
        self.standardizer = Standardizer(rows, scaling)

    cdef void read(self, int slot, Py_ssize_t sample) noexcept nogil:
        """Bring a sample, scaled, into a slot of the batch."""

    cdef void forward(self, int first, int n, float gamma, float *value) noexcept nogil:
        """Route n slots from `first` on; write the likelihood at the root of each."""

    cdef void backward(self, int first, int n, float gamma, const float *grad_output) noexcept nogil:
        """Share the derivative at the root of the same slots out over the tree."""

    cdef bint gradient(self, int node, int n_nodes, int n, float *out) noexcept nogil:
        """Gradients of the weights of some nodes, summed over n slots; False where there are none.
        """
        return False

    cdef void collect(self, int leaf, int n) noexcept nogil:
        """Let a leaf of the model collect its responsibilities for n slots."""


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
    """All nodes for all samples: one matrix product forward, one backward."""

    cdef float[:, ::1] x        # (batch, n_features + 1)
    cdef float[:, ::1] p        # (n_internal, batch): scores, then probabilities to go right
    cdef float[:, ::1] t        # (nodes and leaves, batch): V, then M in leaves, gradients in nodes

    def __init__(self, Topology topology, weights, LeafModel model, Samples rows, scaling, batch_size):
        super().__init__(topology, weights, model, rows, scaling, batch_size)
        m = topology.n_internal
        self.x = np.ones((batch_size, self.n_features + 1), dtype=np.float32)
        self.p = np.empty((m, batch_size), dtype=np.float32)
        self.t = np.empty((2 * m + 1, batch_size), dtype=np.float32)

    cdef void read(self, int slot, Py_ssize_t sample) noexcept nogil:
        self.standardizer.write(sample, &self.x[slot, 0])

    cdef void forward(self, int first, int n, float gamma, float *value) noexcept nogil:
        cdef int m = self.topology.n_internal, i, b
        # In the column-major eyes of BLAS: p' = x w', with x' and w' given.
        multiply(True, n, m, <int> self.x.shape[1], &self.x[first, 0], self.x.shape[1],
                 &self.weights[0, 0], self.weights.shape[1], &self.p[0, first], self.batch_size)
        for i in range(m + 1):
            self.model.density(i, NULL, first, n, &self.t[m + i, first])
        for i in range(m - 1, -1, -1):
            ngdt_sigmoid(gamma, n, &self.p[i, first])
            ngdt_lerp(&self.p[i, first], &self.t[self.topology.left[i], first],
                     &self.t[self.topology.right[i], first], n, &self.t[i, first])
        for b in range(n):
            value[b] = self.t[0, first + b]

    cdef void backward(self, int first, int n, float gamma, const float *grad_output) noexcept nogil:
        cdef int i, b
        for b in range(n):
            self.t[0, first + b] = grad_output[b]
        for i in range(self.topology.n_internal):
            ngdt_backward_node(gamma, &self.p[i, first], n, &self.t[i, first],
                       &self.t[self.topology.left[i], first],
                       &self.t[self.topology.right[i], first])

    cdef bint gradient(self, int node, int n_nodes, int n, float *out) noexcept nogil:
        # g' = x' t', all as they lie.
        multiply(False, <int> self.x.shape[1], n_nodes, n, &self.x[0, 0], self.x.shape[1],
                 &self.t[node, 0], self.batch_size, out, self.x.shape[1])
        return True

    cdef void collect(self, int leaf, int n) noexcept nogil:
        self.model.collect(
            leaf, NULL, 0, n, &self.t[self.topology.n_internal + leaf, 0])


cdef class SparseRouting(Routing):
    """Each sample visits only nodes that it reaches with some probability.

    Where less than `cutoff` would go to one side, all goes to the other, as in a hard tree. So a
    sample visits at most 1 / cutoff nodes per level, however many there are. Scores are dot
    products one by one, slower than a matrix product of the same size by about ten times: it pays
    on deep trees, and for sparse data.

    The visits of a chunk of slots are listed node by node. A visit knows its slot and the visits
    that it leads to.
    """

    cdef readonly double cutoff
    cdef int chunk
    cdef Py_ssize_t capacity        # visits of a chunk
    cdef float[:, ::1] x            # stored values of the slots, scaled
    cdef object _row
    cdef Sample *row
    # by chunk and visit
    cdef int32_t[:, ::1] slot
    cdef int32_t[:, ::1] left       # visits of the children, -1 where not visited
    cdef int32_t[:, ::1] right
    cdef float[:, ::1] p
    cdef float[:, ::1] t            # V; then M in leaves, gradients in nodes
    cdef float[:, ::1] reach        # probability of the way there
    # by chunk, node or leaf: where its visits start, how many
    cdef int32_t[:, ::1] start
    cdef int32_t[:, ::1] count

    def __init__(self, Topology topology, weights, LeafModel model, Samples rows, scaling, batch_size,
                 chunk, cutoff):
        super().__init__(topology, weights, model, rows, scaling, batch_size)
        cdef Py_ssize_t n_ids = 2 * topology.n_internal + 1, n_chunks = -(-batch_size // chunk)
        self.cutoff, self.chunk = cutoff, chunk
        visits = n_ids
        if cutoff > 0:
            visits = min(visits, (topology.max_depth + 1) * (1 + int(1 / cutoff)))
        self.capacity = chunk * visits
        self.x = np.zeros((batch_size, max(1, rows.max_stored)), dtype=np.float32)
        self._row = np.zeros(batch_size * sizeof(Sample), dtype=np.uint8)
        cdef Py_ssize_t address = self._row.ctypes.data
        self.row = <Sample *> address
        self.slot, self.left, self.right = np.empty(
            (3, n_chunks, self.capacity), dtype=np.int32)
        self.p, self.t, self.reach = np.empty((3, n_chunks, self.capacity), dtype=np.float32)
        self.start, self.count = np.zeros((2, n_chunks, n_ids), dtype=np.int32)

    cdef void read(self, int slot, Py_ssize_t sample) noexcept nogil:
        cdef Sample row = self.rows.get(sample)
        self.standardizer.write(sample, &self.x[slot, 0])
        self.row[slot] = training_row(&self.x[slot, 0], row.indices, row.n, 1.0)

    cdef void forward(self, int first, int n, float gamma, float *value) noexcept nogil:
        cdef int c = first // self.chunk, m = self.topology.n_internal, i, v, v_left, v_right
        cdef int end = n
        cdef int32_t *left = &self.left[c, 0]
        cdef int32_t *right = &self.right[c, 0]
        cdef float *t = &self.t[c, 0]
        for i in range(n):
            self.slot[c, i] = first + i
            self.reach[c, i] = 1.0
        self.start[c, 0], self.count[c, 0] = 0, n
        for i in range(m):
            end = self._visit(c, i, gamma, end)
        for i in range(m, 2 * m + 1):
            v = self.start[c, i]
            self.model.density(i - m, &self.slot[c, v], 0, self.count[c, i], &t[v])
        for i in range(m - 1, -1, -1):
            for v in range(self.start[c, i], self.start[c, i] + self.count[c, i]):
                v_left, v_right = left[v], right[v]
                if v_left < 0:
                    t[v] = t[v_right]
                elif v_right < 0:
                    t[v] = t[v_left]
                else:
                    ngdt_lerp(&self.p[c, v], &t[v_left], &t[v_right], 1, &t[v])
        for i in range(n):
            value[i] = t[i]

    cdef int _visit(self, int c, int node, float gamma, int end) noexcept nogil:
        """Score the visits of a node and list those of its children from `end` on."""
        cdef int first = self.start[c, node], last = first + self.count[c, node], v, side, child
        cdef int32_t *slot = &self.slot[c, 0]
        cdef int32_t *to
        cdef float *p = &self.p[c, 0]
        cdef float *reach = &self.reach[c, 0]
        cdef const float *w = &self.weights[node, 0]
        cdef const Sample *row
        cdef float share
        for v in range(first, last):
            row = &self.row[slot[v]]
            p[v] = <float> (row.dot(row.values, row.indices, row.n, w) + w[self.n_features])
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

    cdef void backward(self, int first, int n, float gamma, const float *grad_output) noexcept nogil:
        cdef int c = first // self.chunk, i, v, left, right
        cdef float *t = &self.t[c, 0]
        cdef float p, node
        for i in range(n):
            t[i] = grad_output[i]
        for i in range(self.topology.n_internal):
            for v in range(self.start[c, i], self.start[c, i] + self.count[c, i]):
                left, right = self.left[c, v], self.right[c, v]
                if left < 0:
                    t[right] = t[v]
                    t[v] = 0.0
                elif right < 0:
                    t[left] = t[v]
                    t[v] = 0.0
                else:
                    p, node = self.p[c, v], t[v]
                    t[v] = -gamma * node * p * (1.0 - p) * (t[right] - t[left])
                    t[left] = node * (1.0 - p)
                    t[right] = node * p

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
                    size = self.t[c, v]
                    if size != 0.0:
                        axpy(size, &self.row[self.slot[c, v]], out)
                        out[self.n_features] += size
                        touched = True
            out += stride
        return touched

    cdef void collect(self, int leaf, int n) noexcept nogil:
        cdef int c, i = self.topology.n_internal + leaf
        for c in range((n + self.chunk - 1) // self.chunk):
            self.model.collect(leaf, &self.slot[c, self.start[c, i]], 0, self.count[c, i],
                               &self.t[c, self.start[c, i]])
