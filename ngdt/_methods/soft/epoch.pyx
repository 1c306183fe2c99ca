"""One epoch of soft training: gradients of a bounded likelihood or of a loss, and Adam.

Visits route the samples of a mini-batch through the tree and back (`routing`); updates let blocks
of nodes take a step of Adam, and blocks of leaves take theirs (`leaf_model`). With dense routing,
nearly all time goes into matrix products of the mini-batch with the weights.
"""

import numpy as np

from ngdt._core.sgd.state import fill

from libc.math cimport log, pow, sqrt
from libc.stdint cimport int32_t

from ngdt._methods.soft.leaf_model cimport ngdt_adam
from ngdt._methods.soft.routing cimport Routing
from ngdt._core.threads cimport MiniBatchLoop, Step, Worker

cdef extern from "soft.h" nogil:
    unsigned int ngdt_flush_tiny() noexcept
    void ngdt_keep_tiny(unsigned int mode) noexcept
    void ngdt_adam_step(const ngdt_adam *adam, const float *gradient, Py_ssize_t n, float *w,
                        float *first, float *second) noexcept

CHUNK = 128     # samples that are routed together: they fit the cache, and fill BLAS
cdef int NODES_PER_TASK = 128       # their gradients are one matrix product
cdef int LEAVES_PER_TASK = 128
cdef int SLOTS_AHEAD = 4            # of the sample that is read, which are prefetched
# Likelihoods are held above this: the inverse, times weights and gamma, must fit float32.
cdef float LEAST_LIKELIHOOD = 1e-20
NOT_MIXED = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float32)


cdef class SoftWorker(Worker):
    """What a thread owns: memory for gradients, and numbers of the mini-batch.

    Parameters
    ----------
    n_columns : int
        Of the weights.
    """

    def __init__(self, n_columns):
        self.gradient = np.empty((NODES_PER_TASK, n_columns), dtype=np.float32)
        self.other = np.empty(n_columns, dtype=np.float32)


cdef class SoftTrainer(MiniBatchLoop):
    """Moves a softly routed tree in scaled feature space by one epoch after the other.

    Parameters
    ----------
    routing : Routing
        Has the weights, which are changed in place, and the model of the leaves.
    sample_weight : ndarray of float64, shape (n_samples,)
        Training weights, of mean 1.
    q : float
        The loss of a sample is (1 - likelihood**q) / q, which is bounded by 1 / q; for q = 0 it is
        the log loss. Where leaves have a loss, it is the expected loss over the leaves instead.
    weights : ndarray of float32
        Those of the routing.
    betas, epsilon : of Adam
    mask : ndarray of float32, shape of the weights, or None
        Multiplied with gradients: weights where it is zero stay what they are.
    spatial_penalty : float
        Weight of the penalty on squared differences between the weights of neighbours.
    neighbour : ndarray of int32, shape (n_pairs, 2)
        Pairs of features that are neighbours.
    refit_every_step : bool
        Whether leaves follow their running means at each step, or when `refit` is called.
    n_threads : int
    """

    def __init__(self, Routing routing, sample_weight, *, q, weights, betas=(0.9, 0.999),
                 epsilon=1e-8, mask=None, spatial_penalty=0.0, neighbour=None,
                 refit_every_step=True, n_threads=1):
        self.routing, self.model = routing, routing.model
        self.sample_weight, self.q = sample_weight, q
        self.w = weights
        self.first_moment, self.second_moment = np.zeros_like(weights), np.zeros_like(weights)
        self.masked = mask is not None
        self.mask = mask
        self.spatial_penalty = spatial_penalty
        self.neighbour = neighbour
        self.refit_every_step = refit_every_step
        self.beta1, self.beta2 = betas
        self.epsilon = epsilon
        self.n_steps_before = 0
        self.batch_size, self.samples_per_task = routing.batch_size, CHUNK
        self.root_value, self.grad_output = np.empty((2, self.batch_size), dtype=np.float32)
        self.slot_weight = np.empty(self.batch_size)
        self.workers = [SoftWorker(weights.shape[1]) for _ in range(n_threads)]

    def epoch(self, const int32_t[::1] order, const double[::1] gamma, const double[::1] rate,
              const double[::1] keep, const double[::1] leaf_rate, *, mixed=NOT_MIXED,
              bint resume=False):
        """Visit the samples in the given order, one mini-batch per entry of the rates.

        `mixed` has another sample for each, and the share of it in what the tree is shown instead.
        With `resume`, the epoch of the call before goes on.

        Returns
        -------
        float
            Mean loss over the visits, each before the step that it led to.
        """
        self.gamma, self.rate, self.keep, self.leaf_rate = gamma, rate, keep, leaf_rate
        self.partner, self.share = mixed
        if not resume:
            self.sum_loss = self.sum_weight = 0.0
        self.run_epoch(order, rate.shape[0], self.workers)
        self.n_steps_before += rate.shape[0]
        return self.sum_loss / max(self.sum_weight, np.finfo(float).tiny)

    @property
    def arrays(self):
        """The arrays that steps change, to be read and written between epochs, after `catch_up`."""
        return [np.asarray(array) for array in (
            self.w, self.first_moment, self.second_moment, *self.model.arrays)]

    def restore(self, arrays, n_steps):
        """Go on from what `arrays` were after some number of steps."""
        for own, saved in zip(self.arrays, arrays, strict=True):
            fill(own, saved)
        self.n_steps_before = n_steps
        self.model.end_epoch()

    def catch_up(self):
        """Bring all weights up to date, if steps leave some of them out."""

    def refit(self):
        """The M-step of all leaves, where steps do not take it."""
        self.model.fit_all()

    cdef void run(self, Worker worker) noexcept nogil:
        cdef unsigned int mode = ngdt_flush_tiny()
        MiniBatchLoop.run(self, worker)
        ngdt_keep_tiny(mode)

    cdef void visit(
            self, Worker worker, const Step *step, int first, int stop) noexcept nogil:
        """Route a chunk of slots forward and backward."""
        cdef const int32_t *samples = &self.order[step.start]
        cdef float gamma = <float> self.gamma[step.number]
        cdef int s, n = stop - first
        # Reads at random places have to wait for memory: many small ones follow each other at
        # once, long samples are prefetched.
        for s in range(first, stop):
            self.model.read(s, samples[s])
            self.slot_weight[s] = self.sample_weight[samples[s]]
        for s in range(first, stop):
            if s + SLOTS_AHEAD < stop:
                self.routing.data.prefetch_all(samples[s + SLOTS_AHEAD])
            self.routing.read(s, samples[s])
            if self.partner.shape[0] > 0:
                self.routing.mix(s, self.partner[step.start + s], self.share[step.start + s],
                                 &(<SoftWorker> worker).other[0])
        self.routing.forward(first, n, gamma, &self.root_value[first])
        for s in range(first, stop):
            self.grad_output[s] = <float> self.slot_weight[s]
            if self.model.is_likelihood:
                self.root_value[s] = max(self.root_value[s], LEAST_LIKELIHOOD)
                self.grad_output[s] = <float> (
                    self.slot_weight[s] * pow(self.root_value[s], self.q - 1.0))
        self.routing.backward(first, n, gamma, &self.grad_output[first])

    cdef int begin_updates(self, Worker worker, const Step *step) noexcept nogil:
        """First the tasks of blocks of nodes, then those of blocks of leaves."""
        cdef ngdt_adam *adam = &(<SoftWorker> worker).adam
        cdef long long n_steps = self.n_steps_before + step.number + 1
        # Both moments start at zero and are too small by these factors.
        cdef double first_bias = 1.0 - pow(self.beta1, n_steps)
        cdef double second_bias = sqrt(1.0 - pow(self.beta2, n_steps))
        cdef double total = 0.0
        cdef int s
        for s in range(step.n):
            total += self.slot_weight[s]
        (<SoftWorker> worker).batch_weight = total
        adam.beta1, adam.beta2 = <float> self.beta1, <float> self.beta2
        adam.rate = <float> (self.rate[step.number] * second_bias / first_bias)
        adam.epsilon = <float> (self.epsilon * second_bias)
        adam.keep = <float> self.keep[step.number]
        (<SoftWorker> worker).leaf_adam = adam[0]
        (<SoftWorker> worker).leaf_adam.rate = <float> (
            self.leaf_rate[step.number] * second_bias / first_bias)
        (<SoftWorker> worker).leaf_adam.keep = 1.0
        return self._n_node_tasks(worker) + (
            self.model.n_leaves + LEAVES_PER_TASK - 1) // LEAVES_PER_TASK

    cdef int _n_node_tasks(self, Worker worker) noexcept nogil:
        """Number of tasks that move the weights of nodes."""
        return (<int> self.w.shape[0] + NODES_PER_TASK - 1) // NODES_PER_TASK

    cdef void update(self, Worker worker, const Step *step, int task) noexcept nogil:
        cdef int n_node_tasks = self._n_node_tasks(worker), first
        if task == 0:
            self._count(step.n, (<SoftWorker> worker).batch_weight)
        if task < n_node_tasks:
            self._move_task(<SoftWorker> worker, task, step.n)
        else:
            first = (task - n_node_tasks) * LEAVES_PER_TASK
            self._move_leaves(
                <SoftWorker> worker, first,
                min(LEAVES_PER_TASK, self.model.n_leaves - first), step)

    cdef void _count(self, int n, double batch_weight) noexcept nogil:
        """Add a mini-batch to the metrics of the epoch."""
        cdef int s
        self.sum_weight += batch_weight
        for s in range(n):
            self.sum_loss += self.slot_weight[s] * self._loss(self.root_value[s])

    cdef double _loss(self, double value) noexcept nogil:
        if not self.model.is_likelihood:
            return -value
        return (1.0 - pow(value, self.q)) / self.q if self.q > 0.0 else -log(value)

    cdef void _move_task(self, SoftWorker worker, int task, int n) noexcept nogil:
        """Move one part of the weights: here, a block of nodes."""
        cdef int first = task * NODES_PER_TASK
        self._move_nodes(worker, first, min(NODES_PER_TASK, <int> self.w.shape[0] - first), n)

    cdef void _move_nodes(
            self, SoftWorker worker, int node, int n_nodes, int n) noexcept nogil:
        """Take the step of a block of nodes."""
        cdef float *gradient = &worker.gradient[0, 0]
        cdef Py_ssize_t j, size = n_nodes * self.w.shape[1]
        cdef float scale = <float> (1.0 / worker.batch_weight)
        cdef int i
        if not self.routing.gradient(node, n_nodes, n, gradient):
            return
        for j in range(size):
            gradient[j] *= scale
        if self.spatial_penalty > 0.0:
            for i in range(n_nodes):
                self._add_penalty(&self.w[node + i, 0], gradient + i * self.w.shape[1])
        if self.masked:
            for j in range(size):
                gradient[j] *= (&self.mask[node, 0])[j]
        ngdt_adam_step(&worker.adam, gradient, size, &self.w[node, 0],
                       &self.first_moment[node, 0], &self.second_moment[node, 0])

    cdef void _add_penalty(self, const float *w, float *gradient) noexcept nogil:
        """Gradient of spatial_penalty times the sum of (w_i - w_j)^2 over neighbours, Hehn (2020),
        eq. 15."""
        cdef Py_ssize_t k
        cdef float slope
        for k in range(self.neighbour.shape[0]):
            slope = <float> (2.0 * self.spatial_penalty) * (
                w[self.neighbour[k, 0]] - w[self.neighbour[k, 1]])
            gradient[self.neighbour[k, 0]] += slope
            gradient[self.neighbour[k, 1]] -= slope

    cdef void _move_leaves(
            self, SoftWorker worker, int first, int n_leaves, const Step *step) noexcept nogil:
        """Take the step of a block of leaves."""
        cdef int leaf
        self.routing.accumulate_leaves(first, n_leaves, step.n)
        for leaf in range(first, first + n_leaves):
            self.model.update(
                leaf, self.leaf_rate[step.number], worker.batch_weight, &worker.leaf_adam)
            if self.refit_every_step:
                self.model.m_step(leaf)
