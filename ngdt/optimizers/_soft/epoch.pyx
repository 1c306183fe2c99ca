"""One epoch of soft training: gradients of a bounded likelihood, Adam, and leaves by online EM.

A mini-batch has two phases, as in `_epoch`. First chunks of samples are routed, each by itself.
Then blocks of nodes take their step, and leaves collect what they are responsible for, from the
whole batch. Chunks and blocks do not depend on the number of threads, and so the tree does not.
"""

from functools import partial

import numpy as np

from ngdt.optimizers._threads import run_threads

from libc.math cimport log, pow, sqrt
from libc.stdint cimport int32_t

from ngdt.optimizers._soft.routing cimport LeafModel, Routing
from ngdt.optimizers._threads cimport (
    ngdt_threads,
    ngdt_threads_abort,
    ngdt_threads_init,
    ngdt_threads_wait,
    ngdt_threads_next_task,
)

cdef extern from "soft.h" nogil:
    ctypedef struct ngdt_adam:
        float rate
        float keep
        float beta1
        float beta2
        float epsilon
    unsigned int ngdt_flush_tiny() noexcept
    void ngdt_keep_tiny(unsigned int mode) noexcept
    void ngdt_adam_step(const ngdt_adam *adam, const float *gradient, Py_ssize_t n, float *w,
                        float *first, float *second) noexcept

CHUNK = 128     # samples that are routed together: they fit the cache, and fill BLAS
cdef int BLOCK = 128    # nodes whose gradients are one matrix product
# Likelihoods are held above this: the inverse, times weights and gamma, must fit float32.
cdef float LEAST = 1e-20


cdef class SoftTrainer:
    """A softly routed tree in scaled feature space that epochs move in place.

    Parameters
    ----------
    routing : Routing
        Holds the weights and the model of the leaves.
    weight : ndarray of float64, shape (n_samples,)
        Training weights, of mean 1.
    q : float
        The loss of a sample is (1 - likelihood**q) / q, which is bounded by 1 / q; for q = 0 it is
        the log loss.
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

    cdef Routing routing
    cdef LeafModel model
    cdef const double[::1] weight
    cdef double q
    cdef float[:, ::1] w
    cdef float[:, ::1] first
    cdef float[:, ::1] second
    cdef const float[:, ::1] mask
    cdef bint masked, refit_every_step
    cdef const int32_t[:, ::1] neighbour
    cdef double spatial_penalty
    cdef float[:, :, ::1] gradients     # scratch: one block per thread
    cdef float[::1] value               # likelihood of the slots
    cdef float[::1] grad_output
    cdef double[::1] slot_weight
    cdef double beta1, beta2, epsilon
    cdef long long n_steps
    cdef int batch_size, chunk, n_threads
    cdef ngdt_threads team
    cdef double sum_loss, sum_weight

    def __init__(self, Routing routing, weight, *, q, weights, betas=(0.9, 0.999), epsilon=1e-8,
                 mask=None, spatial_penalty=0.0, neighbour=None, refit_every_step=True, n_threads=1):
        self.routing, self.model, self.weight, self.q = routing, routing.model, weight, q
        self.w = weights
        self.first, self.second = np.zeros_like(weights), np.zeros_like(weights)
        self.masked = mask is not None
        self.mask = mask
        self.spatial_penalty = spatial_penalty
        self.neighbour = neighbour
        self.refit_every_step = refit_every_step
        self.beta1, self.beta2 = betas
        self.epsilon = epsilon
        self.n_steps, self.n_threads = 0, n_threads
        self.batch_size, self.chunk = routing.batch_size, CHUNK
        self.gradients = np.empty((n_threads, BLOCK, weights.shape[1]), dtype=np.float32)
        self.value, self.grad_output = np.empty((2, self.batch_size), dtype=np.float32)
        self.slot_weight = np.empty(self.batch_size)

    def epoch(self, const int32_t[::1] order, const double[::1] gamma, const double[::1] rate,
              const double[::1] keep, const double[::1] leaf_rate):
        """Visit the samples in the given order, one mini-batch per entry of the rates.

        Returns
        -------
        float
            Mean loss over the visits, each before the step that it led to.
        """
        self.sum_loss = self.sum_weight = 0.0
        ngdt_threads_init(&self.team, self.n_threads)
        run_threads(
            [partial(self._run, number, order, gamma, rate, keep, leaf_rate)
             for number in range(self.n_threads)], self._abort)
        self.n_steps += rate.shape[0]
        self.model.end_epoch()
        return self.sum_loss / max(self.sum_weight, np.finfo(float).tiny)

    def refit(self):
        """The M-step of all leaves, where steps do not take it."""
        self.model.fit_all()

    def _abort(self):
        ngdt_threads_abort(&self.team)

    def _run(self, int number, const int32_t[::1] order, const double[::1] gamma,
             const double[::1] rate, const double[::1] keep, const double[::1] leaf_rate):
        cdef Py_ssize_t step, start
        cdef int n, first, k, ticket, b
        cdef double total, first_bias, second_bias
        cdef int m = self.w.shape[0], n_leaves = self.model.n_leaves
        cdef int n_blocks = (m + BLOCK - 1) // BLOCK
        cdef int n_pieces = n_blocks + (n_leaves + BLOCK - 1) // BLOCK
        cdef ngdt_adam adam
        adam.beta1, adam.beta2 = <float> self.beta1, <float> self.beta2
        cdef unsigned int mode
        with nogil:
            mode = ngdt_flush_tiny()
            for step in range(rate.shape[0]):
                start = step * self.batch_size
                n = <int> min(self.batch_size, order.shape[0] - start)
                first = self.chunk * ngdt_threads_next_task(&self.team)
                while first < n:
                    self._route(&order[start], first, min(self.chunk, n - first), gamma[step])
                    first = self.chunk * ngdt_threads_next_task(&self.team)
                if not ngdt_threads_wait(&self.team):
                    break
                total = 0.0
                for b in range(n):
                    total += self.slot_weight[b]
                if number == 0:
                    self._count(n, total)
                # Both moments start at zero and are too small by these factors.
                first_bias = 1.0 - pow(self.beta1, self.n_steps + step + 1)
                second_bias = sqrt(1.0 - pow(self.beta2, self.n_steps + step + 1))
                adam.rate = <float> (rate[step] * second_bias / first_bias)
                adam.epsilon = <float> (self.epsilon * second_bias)
                adam.keep = <float> keep[step]
                ticket = ngdt_threads_next_task(&self.team)
                while ticket < n_pieces:
                    if ticket < n_blocks:
                        k = ticket * BLOCK
                        self._move(number, &adam, k, min(BLOCK, m - k), n, total)
                    else:
                        k = (ticket - n_blocks) * BLOCK
                        self._move_leaves(
                            k, min(BLOCK, n_leaves - k), n, leaf_rate[step], total)
                    ticket = ngdt_threads_next_task(&self.team)
                if not ngdt_threads_wait(&self.team):
                    break
            ngdt_keep_tiny(mode)

    cdef void _count(self, int n, double total) noexcept nogil:
        """Add a batch to the metrics of the epoch."""
        cdef int b
        self.sum_weight += total
        for b in range(n):
            self.sum_loss += self.slot_weight[b] * self._loss(self.value[b])

    cdef double _loss(self, double value) noexcept nogil:
        return (1.0 - pow(value, self.q)) / self.q if self.q > 0.0 else -log(value)

    cdef void _route(
            self, const int32_t *samples, int first, int n, double gamma) noexcept nogil:
        cdef int b
        # What is read at random places is waited for: many small things together, long rows by
        # asking for them ahead.
        for b in range(first, first + n):
            self.model.read(b, samples[b])
            self.slot_weight[b] = self.weight[samples[b]]
        for b in range(first, first + n):
            if b + 4 < first + n:
                self.routing.rows.prefetch_all(samples[b + 4])
            self.routing.read(b, samples[b])
        self.routing.forward(first, n, <float> gamma, &self.value[first])
        for b in range(first, first + n):
            self.value[b] = max(self.value[b], LEAST)
            self.grad_output[b] = <float> (
                self.slot_weight[b] * pow(self.value[b], self.q - 1.0))
        self.routing.backward(first, n, <float> gamma, &self.grad_output[first])

    cdef void _move(
            self, int number, const ngdt_adam *adam, int node, int n_nodes, int n, double total
    ) noexcept nogil:
        """Take the step of a block of nodes."""
        cdef float *gradient = &self.gradients[number, 0, 0]
        cdef Py_ssize_t j, size = n_nodes * self.w.shape[1]
        cdef float scale = <float> (1.0 / total)
        cdef int i
        if not self.routing.gradient(node, n_nodes, n, gradient):
            return
        for j in range(size):
            gradient[j] *= scale
        if self.spatial_penalty > 0.0:
            for i in range(n_nodes):
                self._smooth(&self.w[node + i, 0], gradient + i * self.w.shape[1])
        if self.masked:
            for j in range(size):
                gradient[j] *= (&self.mask[node, 0])[j]
        ngdt_adam_step(adam, gradient, size, &self.w[node, 0], &self.first[node, 0],
                       &self.second[node, 0])

    cdef void _smooth(self, const float *w, float *gradient) noexcept nogil:
        """Gradient of spatial_penalty times the sum of (w_i - w_j)^2 over neighbours, Hehn (2020),
        eq. 15."""
        cdef Py_ssize_t k
        cdef float pull
        for k in range(self.neighbour.shape[0]):
            pull = <float> (2.0 * self.spatial_penalty) * (
                w[self.neighbour[k, 0]] - w[self.neighbour[k, 1]])
            gradient[self.neighbour[k, 0]] += pull
            gradient[self.neighbour[k, 1]] -= pull

    cdef void _move_leaves(
            self, int first, int n_leaves, int n, double rate, double total) noexcept nogil:
        cdef int leaf
        for leaf in range(first, first + n_leaves):
            self.model.begin(leaf)
            self.routing.collect(leaf, n)
            self.model.blend(leaf, rate, total)
            if self.refit_every_step:
                self.model.fit(leaf)
