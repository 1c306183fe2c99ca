"""One epoch of soft training: gradients of a bounded likelihood or of a loss, and Adam.

Visits route the samples of a mini-batch through the tree and back (`routing`); updates let blocks
of nodes take a step of Adam, and blocks of leaves take theirs (`leaf_model`). With dense routing,
nearly all time goes into matrix products of the mini-batch with the weights.

Sparse data have a trainer of their own, for which a step costs the stored values of its samples.
Where no sample of a mini-batch has a value of a feature, the gradient in the weights of the feature
is zero. Adam still moves them, by moments that fade, and decay shrinks them. These steps are made
up for at once when the feature is needed next, so that training is that of dense data. (Adam's
epsilon fades with the moments there. It matters only to gradients of its size.)
"""

import numpy as np

from ngdt._util.arrays import fill

from libc.math cimport log, pow, sqrt
from libc.stdint cimport int32_t
from libc.string cimport memset

from ngdt._core.samples cimport Sample, ngdt_axpy_f32, ngdt_scale_f32
from ngdt._core.threads cimport MiniBatchLoop, Step, Worker
from ngdt._methods.soft.leaf_model cimport LeafModel, ngdt_adam, ngdt_adam_step
from ngdt._methods.soft.routing cimport CHUNK, CSRRouting, Routing

cdef extern from "soft.h" nogil:
    unsigned int ngdt_flush_tiny() noexcept
    void ngdt_keep_tiny(unsigned int mode) noexcept
    ctypedef struct ngdt_wait:
        float keep
        float rate
        float first_share
        float second_share
        float epsilon
    void ngdt_adam_wait(const ngdt_wait *wait, Py_ssize_t n, float *w, float *first,
                        float *second) noexcept

cdef int ROWS_PER_TASK = 128        # nodes, whose gradients are one matrix product, or leaves
cdef int FEATURES_PER_TASK = 256    # of sparse data
cdef int SLOTS_AHEAD = 4            # of the sample that is read, which are prefetched
# Likelihoods are held above this: the inverse, times weights and gamma, must fit float32.
cdef float MIN_LIKELIHOOD = 1e-20
NOT_MIXED = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float32)


cdef class SoftWorker(Worker):
    """Buffers of one thread: gradients, and statistics of the mini-batch.

    Parameters
    ----------
    n_columns : int
        Of the weights.
    """

    cdef float[:, ::1] gradient
    cdef float[::1] other       # a sample to mix with, scaled
    cdef ngdt_adam adam, leaf_adam
    cdef double batch_weight    # sum of the sample weights

    def __init__(self, n_columns):
        self.gradient = np.empty((ROWS_PER_TASK, n_columns), dtype=np.float32)
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

    # Constant in an epoch.
    cdef Routing routing
    cdef LeafModel model
    cdef const double[::1] sample_weight
    cdef double q
    cdef const float[:, ::1] mask
    cdef bint refit_every_step
    cdef const int32_t[:, ::1] neighbour
    cdef double spatial_penalty, beta1, beta2, epsilon
    cdef public long long n_steps_before    # steps that the moments have seen
    cdef const double[::1] gamma, rate, keep, leaf_rate     # per step
    # Per place in the order; empty where samples are not mixed.
    cdef const int32_t[::1] partner
    cdef const float[::1] share
    # Per slot, written by visits.
    cdef float[::1] root_value
    cdef float[::1] grad_output     # minus the derivative of the loss in it
    cdef double[::1] slot_weight
    # Per node, written by the update task of its block.
    cdef float[:, ::1] w, first_moment, second_moment
    # Written by update task 0.
    cdef double sum_loss, sum_weight

    def __init__(self, Routing routing, sample_weight, *, q, betas=(0.9, 0.999), epsilon=1e-8,
                 mask=None, spatial_penalty=0.0, neighbour=None, refit_every_step=True,
                 n_threads=1):
        self.routing, self.model = routing, routing.model
        self.sample_weight, self.q, self.epsilon = sample_weight, q, epsilon
        self.w = routing.weights
        shape = self.w.shape[0], self.w.shape[1]
        self.first_moment, self.second_moment = np.zeros((2, *shape), dtype=np.float32)
        self.mask, self.refit_every_step = mask, refit_every_step
        self.spatial_penalty, self.neighbour = spatial_penalty, neighbour
        self.beta1, self.beta2 = betas
        self.batch_size, self.samples_per_task = routing.batch_size, CHUNK
        self.root_value, self.grad_output = np.empty((2, self.batch_size), dtype=np.float32)
        self.slot_weight = np.empty(self.batch_size)
        self.workers = [SoftWorker(shape[1]) for _ in range(n_threads)]

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
        self.run(order, rate.shape[0])
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

    def catch_up(self):
        """Bring all weights up to date, if steps leave some of them out."""

    def refit(self):
        """The M-step of all leaves, where steps do not take it."""
        cdef int leaf
        for leaf in range(self.model.n_leaves):
            self.model.m_step(leaf)

    def _run(self, Worker worker):
        cdef unsigned int mode = ngdt_flush_tiny()
        MiniBatchLoop._run(self, worker)
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
                self.routing.data.prefetch(samples[s + SLOTS_AHEAD])
            self.routing.read(s, samples[s])
            if self.partner.shape[0] > 0:
                self.routing.mix(s, self.partner[step.start + s], self.share[step.start + s],
                                 &(<SoftWorker> worker).other[0])
        self.routing.forward(first, n, gamma, &self.root_value[first])
        for s in range(first, stop):
            self.grad_output[s] = <float> self.slot_weight[s]
            if self.model.is_likelihood:
                self.root_value[s] = max(self.root_value[s], MIN_LIKELIHOOD)
                self.grad_output[s] = <float> (
                    self.slot_weight[s] * pow(self.root_value[s], self.q - 1.0))
        self.routing.backward(first, n, gamma, &self.grad_output[first])

    cdef int begin_updates(self, Worker worker, const Step *step) noexcept nogil:
        """First the tasks of blocks of nodes, then the tasks of blocks of leaves."""
        cdef ngdt_adam *adam = &(<SoftWorker> worker).adam
        cdef ngdt_adam *leaf_adam = &(<SoftWorker> worker).leaf_adam
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
        leaf_adam[0] = adam[0]
        leaf_adam.rate = <float> (self.leaf_rate[step.number] * second_bias / first_bias)
        leaf_adam.keep = 1.0
        return self._n_node_tasks(worker) + (
            self.model.n_leaves + ROWS_PER_TASK - 1) // ROWS_PER_TASK

    cdef int _n_node_tasks(self, Worker worker) noexcept nogil:
        """Number of tasks that move the weights of nodes."""
        return (<int> self.w.shape[0] + ROWS_PER_TASK - 1) // ROWS_PER_TASK

    cdef void update(self, Worker worker, const Step *step, int task) noexcept nogil:
        cdef int n_node_tasks = self._n_node_tasks(worker), s
        if task == 0:
            self.sum_weight += (<SoftWorker> worker).batch_weight
            for s in range(step.n):
                self.sum_loss += self.slot_weight[s] * self._loss(self.root_value[s])
        if task < n_node_tasks:
            self._move_task(<SoftWorker> worker, task, step.n)
        else:
            self._move_leaves(<SoftWorker> worker, (task - n_node_tasks) * ROWS_PER_TASK, step)

    cdef double _loss(self, double value) noexcept nogil:
        if not self.model.is_likelihood:
            return -value
        return (1.0 - pow(value, self.q)) / self.q if self.q > 0.0 else -log(value)

    cdef void _move_task(self, SoftWorker worker, int task, int n) noexcept nogil:
        """Take the step of one part of the weights: here, a block of nodes."""
        cdef float *gradient = &worker.gradient[0, 0]
        cdef int node = task * ROWS_PER_TASK
        cdef int n_nodes = min(ROWS_PER_TASK, <int> self.w.shape[0] - node)
        cdef Py_ssize_t j, size = n_nodes * self.w.shape[1]
        cdef float scale = <float> (1.0 / worker.batch_weight)
        cdef int i
        if not self.routing.gradient(node, n_nodes, n, gradient):
            return
        ngdt_scale_f32(scale, size, gradient)
        if self.spatial_penalty > 0.0:
            for i in range(n_nodes):
                self._add_penalty(&self.w[node + i, 0], gradient + i * self.w.shape[1])
        if self.mask is not None:
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
            self, SoftWorker worker, int first, const Step *step) noexcept nogil:
        """Take the step of a block of leaves."""
        cdef int n_leaves = min(ROWS_PER_TASK, self.model.n_leaves - first), leaf
        self.routing.accumulate_leaves(first, n_leaves, step.n)
        for leaf in range(first, first + n_leaves):
            self.model.update(
                leaf, self.leaf_rate[step.number], worker.batch_weight, &worker.leaf_adam)
            if self.refit_every_step:
                self.model.m_step(leaf)


cdef class LazyWorker(SoftWorker):
    """Memory of one thread: the features that a step moves, and what others have missed.

    Every thread makes the lists for itself: that takes less time than another barrier.

    Parameters
    ----------
    n_nodes, n_features : int
    n_values : int
        Most stored values of a mini-batch.
    betas : of Adam
    """

    cdef int32_t[::1] place         # per feature: where it is listed, else -1
    cdef int32_t[::1] feature       # in this mini-batch, then the others in the next one
    cdef int n_moved, n_listed
    cdef int32_t[::1] start         # per feature of this mini-batch: its first entry
    cdef int32_t[::1] slot          # per entry
    cdef float[::1] value
    # Of a feature that was up to date after some of these steps: what it has missed since.
    cdef double[::1] keep, rate
    # By a number of steps: what is left of the moments, and of the quotient that moves weights.
    cdef double[::1] first_share, second_share, fade
    cdef double beta1, beta2
    cdef Py_ssize_t n_steps         # since all features were up to date

    def __init__(self, n_nodes, n_features, n_values, betas):
        super().__init__(n_nodes)
        self.beta1, self.beta2 = betas
        self.place = np.full(n_features, -1, dtype=np.int32)
        n_listed = min(n_features, 2 * n_values)
        self.feature = np.empty(n_listed, dtype=np.int32)
        self.start = np.zeros(n_listed + 2, dtype=np.int32)
        self.slot = np.empty(n_values, dtype=np.int32)
        self.value = np.empty(n_values, dtype=np.float32)
        self.begin()

    def begin(self):
        """All features are up to date."""
        self.n_steps = 0
        self.keep, self.rate = np.ones(1), np.zeros(1)

    def make_room(self, n_steps):
        """Make room for so many more steps."""
        before, number = self.n_steps + 1, np.arange(self.n_steps + n_steps + 1)
        self.first_share, self.second_share = self.beta1**number, self.beta2**number
        quotient = self.beta1 / np.sqrt(self.beta2) if self.beta1 else 0.0
        self.fade = quotient**number
        self.keep = np.concatenate([self.keep[:before], np.ones(n_steps)])
        self.rate = np.concatenate([self.rate[:before], np.zeros(n_steps)])

    cdef void add_step(self) noexcept nogil:
        """Features that take no part in this step miss one more."""
        cdef Py_ssize_t i
        self.n_steps += 1
        for i in range(self.n_steps):
            self.rate[i] *= self.adam.keep
            self.rate[i] += self.adam.rate * self.fade[self.n_steps - i]
            self.keep[i] *= self.adam.keep

    cdef void list_features(self, const Sample *samples, int n) noexcept nogil:
        """List the features of a mini-batch with their entries, in the order of the slots."""
        cdef int32_t *end = &self.start[1]      # of the entries before, then of its own
        cdef int s, k, n_before = 0
        cdef Py_ssize_t e
        for k in range(self.n_listed):
            self.place[self.feature[k]] = -1
        self.n_listed = 0
        for s in range(n):
            for e in range(samples[s].n):
                k = self._list(samples[s].indices[e])
                end[k] += 1
        self.n_moved = self.n_listed
        for k in range(self.n_moved):
            n_before += end[k]
            end[k] = n_before - end[k]
        for s in range(n):
            for e in range(samples[s].n):
                k = self.place[samples[s].indices[e]]
                self.slot[end[k]] = s
                self.value[end[k]] = (<const float *> samples[s].values)[e]
                end[k] += 1

    cdef int _list(self, int feature) noexcept nogil:
        if self.place[feature] < 0:
            self.place[feature] = self.n_listed
            self.feature[self.n_listed] = feature
            self.n_listed += 1
            self.start[self.n_listed] = 0
        return self.place[feature]


cdef class LazyTrainer(SoftTrainer):
    """`SoftTrainer` for sparse data.

    Before a mini-batch is read, its features are brought up to date: by the step before, or at the
    beginning of a call. Call `catch_up` before the weights are read. When it is called changes last
    bits, how an epoch is divided into calls does not.

    Parameters
    ----------
    routing : CSRRouting
    sample_weight : ndarray of float64, shape (n_samples,)
    betas, n_threads, **options
        As for `SoftTrainer`, without a mask and spatial penalties.
    """

    cdef CSRRouting csr
    cdef int32_t[::1] up_to_date    # per feature: since which step

    def __init__(self, CSRRouting routing, sample_weight, *, betas=(0.9, 0.999), n_threads=1,
                 **options):
        super().__init__(routing, sample_weight, betas=betas, **options)
        self.csr = routing
        n_features, n_nodes = routing.n_features, routing.topology.n_internal
        self.up_to_date = np.zeros(n_features, dtype=np.int32)
        n_values = routing.batch_size * routing.data.max_stored
        self.workers = [
            LazyWorker(n_nodes, n_features, n_values, betas) for _ in range(n_threads)]

    def epoch(self, const int32_t[::1] order, const double[::1] gamma, const double[::1] rate,
              const double[::1] keep, const double[::1] leaf_rate, **options):
        """Train as `SoftTrainer` does, but sparse samples are not mixed."""
        cdef LazyWorker first = self.workers[0]
        cdef Py_ssize_t place, e
        cdef Sample x
        for worker in self.workers:
            worker.make_room(rate.shape[0])
        with nogil:
            for place in range(min(self.batch_size, order.shape[0])):
                x = self.csr.data.get(order[place])
                for e in range(x.n):
                    self._make_up(first, x.indices[e])
        return SoftTrainer.epoch(self, order, gamma, rate, keep, leaf_rate, **options)

    def catch_up(self):
        """Bring all weights up to date."""
        cdef LazyWorker first = self.workers[0]
        cdef int j
        with nogil:
            for j in range(self.up_to_date.shape[0]):
                self._make_up(first, j)
        self.up_to_date[:] = 0
        for worker in self.workers:
            worker.begin()

    cdef int begin_updates(self, Worker worker, const Step *step) noexcept nogil:
        cdef Py_ssize_t place, e, end = step.start + step.n
        cdef Sample x
        cdef int n_tasks
        (<LazyWorker> worker).list_features(self.csr.samples, step.n)
        for place in range(end, min(end + self.batch_size, self.order.shape[0])):
            x = self.csr.data.get(self.order[place])
            for e in range(x.n):
                (<LazyWorker> worker)._list(x.indices[e])
        n_tasks = SoftTrainer.begin_updates(self, worker, step)
        (<LazyWorker> worker).add_step()
        return n_tasks

    cdef int _n_node_tasks(self, Worker worker) noexcept nogil:
        """One for the thresholds, and one for each block of features."""
        return 1 + ((<LazyWorker> worker).n_listed + FEATURES_PER_TASK - 1) // FEATURES_PER_TASK

    cdef void _move_task(self, SoftWorker worker, int task, int n) noexcept nogil:
        if task == 0:
            self._move_thresholds(<LazyWorker> worker, n)
        else:
            self._move_features(<LazyWorker> worker, (task - 1) * FEATURES_PER_TASK)

    cdef void _move_features(self, LazyWorker worker, int first) noexcept nogil:
        """Take the step of a block of features, or make up for what they missed."""
        cdef int k, j
        cdef Py_ssize_t e
        for k in range(first, min(first + FEATURES_PER_TASK, worker.n_listed)):
            j = worker.feature[k]
            if k >= worker.n_moved:
                self._make_up(worker, j)
                continue
            memset(&worker.gradient[0, 0], 0, self.w.shape[1] * sizeof(float))
            for e in range(worker.start[k], worker.start[k + 1]):
                self._add_row(worker, worker.slot[e], worker.value[e])
            self._step(worker, j)
            self.up_to_date[j] = <int32_t> worker.n_steps

    cdef void _move_thresholds(self, LazyWorker worker, int n) noexcept nogil:
        cdef int s
        memset(&worker.gradient[0, 0], 0, self.w.shape[1] * sizeof(float))
        for s in range(n):
            self._add_row(worker, s, 1.0)
        self._step(worker, self.w.shape[0] - 1)

    cdef void _add_row(self, LazyWorker worker, int slot, float times) noexcept nogil:
        """Add the gradient in the scores of a slot to that in the weights of a feature."""
        ngdt_axpy_f32(
            times, &self.csr.row[slot, 0], NULL, self.w.shape[1], &worker.gradient[0, 0])

    cdef void _step(self, LazyWorker worker, Py_ssize_t j) noexcept nogil:
        cdef Py_ssize_t m = self.w.shape[1]
        cdef float *gradient = &worker.gradient[0, 0]
        ngdt_scale_f32(<float> (1.0 / worker.batch_weight), m, gradient)
        ngdt_adam_step(&worker.adam, gradient, m, &self.w[j, 0], &self.first_moment[j, 0],
                       &self.second_moment[j, 0])

    cdef void _make_up(self, LazyWorker worker, int j) noexcept nogil:
        """Make up for the steps that a feature has missed."""
        cdef Py_ssize_t since = self.up_to_date[j], n = worker.n_steps - since
        cdef ngdt_wait wait
        if n > 0:
            wait.keep, wait.rate = <float> worker.keep[since], <float> worker.rate[since]
            wait.first_share = <float> worker.first_share[n]
            wait.second_share = <float> worker.second_share[n]
            wait.epsilon = worker.adam.epsilon
            ngdt_adam_wait(&wait, self.w.shape[1], &self.w[j, 0], &self.first_moment[j, 0],
                           &self.second_moment[j, 0])
            self.up_to_date[j] = <int32_t> worker.n_steps
