"""Soft training of sparse data: a step costs the stored values of its samples.

Where no sample of a mini-batch has a value of a feature, the gradient in the weights of the feature
is zero. Adam still moves them, by moments that fade, and decay shrinks them. These steps are made
up for at once when the feature is needed next, so that training is that of dense data. (Adam's
epsilon fades with the moments there. It matters only to gradients of its size.)
"""

import numpy as np

from libc.stdint cimport int32_t
from libc.string cimport memset

from ngdt._core.samples cimport Sample
from ngdt._methods.soft.csr_routing cimport CSRRouting
from ngdt._methods.soft.epoch cimport SoftTrainer, SoftWorker
from ngdt._methods.soft.leaf_model cimport ngdt_adam
from ngdt._core.threads cimport Step, Worker

cdef extern from "soft.h" nogil:
    ctypedef struct ngdt_wait:
        float keep
        float rate
        float first_share
        float second_share
        float epsilon
    void ngdt_adam_step(const ngdt_adam *adam, const float *gradient, Py_ssize_t n, float *w,
                        float *first, float *second) noexcept
    void ngdt_adam_wait(const ngdt_wait *wait, Py_ssize_t n, float *w, float *first,
                        float *second) noexcept

cdef extern from "dot.h" nogil:
    void ngdt_axpy_f32(
        float a, const float *x, const int *indices, Py_ssize_t n, float *w) noexcept
    void ngdt_scale_f32(float a, Py_ssize_t n, float *w) noexcept

cdef int FEATURES_PER_TASK = 256


cdef class LazyWorker(SoftWorker):
    """What a thread owns: the features that a step moves, and what others have missed.

    Every thread makes the lists for itself: that takes less time than another barrier.

    Parameters
    ----------
    n_nodes, n_features : int
    n_values : int
        Most stored values of a mini-batch.
    betas : of Adam
    """

    cdef int32_t[::1] place         # per feature: where it is listed, else -1
    cdef int32_t[::1] feature       # those of this mini-batch, then the others of the next one
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
        """For so many more steps."""
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

    cdef ngdt_wait missed(self, Py_ssize_t since) noexcept nogil:
        cdef ngdt_wait wait
        cdef Py_ssize_t n = self.n_steps - since
        wait.keep, wait.rate = <float> self.keep[since], <float> self.rate[since]
        wait.first_share = <float> self.first_share[n]
        wait.second_share = <float> self.second_share[n]
        wait.epsilon = self.adam.epsilon
        return wait

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
    weights : ndarray of float32, shape (n_features + 1, n_internal)
        Those of the routing.
    betas, n_threads, **options
        As for `SoftTrainer`, without a mask and spatial penalties.
    """

    cdef CSRRouting csr
    cdef int32_t[::1] up_to_date    # per feature: since which step

    def __init__(self, CSRRouting routing, sample_weight, *, weights, betas=(0.9, 0.999),
                 n_threads=1, **options):
        super().__init__(routing, sample_weight, weights=weights, betas=betas, **options)
        self.csr = routing
        n_features, n_nodes = len(weights) - 1, weights.shape[1]
        self.up_to_date = np.zeros(n_features, dtype=np.int32)
        n_values = routing.batch_size * routing.data.max_stored
        self.workers = [
            LazyWorker(n_nodes, n_features, n_values, betas) for _ in range(n_threads)]

    def epoch(self, const int32_t[::1] order, const double[::1] gamma, const double[::1] rate,
              const double[::1] keep, const double[::1] leaf_rate, *, bint resume=False):
        """As of `SoftTrainer`, but sparse samples are not mixed."""
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
        return SoftTrainer.epoch(self, order, gamma, rate, keep, leaf_rate, resume=resume)

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
        for k in range(first, min(first + FEATURES_PER_TASK, worker.n_listed)):
            j = worker.feature[k]
            if k < worker.n_moved:
                self._move_feature(worker, k)
                self.up_to_date[j] = <int32_t> worker.n_steps
            else:
                self._make_up(worker, j)

    cdef void _move_feature(self, LazyWorker worker, int k) noexcept nogil:
        """Take the step of the weights of a feature."""
        cdef float *gradient = &worker.gradient[0, 0]
        cdef Py_ssize_t m = self.w.shape[1], e
        memset(gradient, 0, m * sizeof(float))
        for e in range(worker.start[k], worker.start[k + 1]):
            ngdt_axpy_f32(
                worker.value[e], &self.csr.row[worker.slot[e], 0], NULL, m, gradient)
        self._step(worker, worker.feature[k], gradient)

    cdef void _move_thresholds(self, LazyWorker worker, int n) noexcept nogil:
        cdef float *gradient = &worker.gradient[0, 0]
        cdef int s
        memset(gradient, 0, self.w.shape[1] * sizeof(float))
        for s in range(n):
            ngdt_axpy_f32(1.0, &self.csr.row[s, 0], NULL, self.w.shape[1], gradient)
        self._step(worker, self.w.shape[0] - 1, gradient)

    cdef void _step(self, LazyWorker worker, Py_ssize_t j, float *gradient) noexcept nogil:
        cdef Py_ssize_t m = self.w.shape[1]
        ngdt_scale_f32(<float> (1.0 / worker.batch_weight), m, gradient)
        ngdt_adam_step(&worker.adam, gradient, m, &self.w[j, 0], &self.first_moment[j, 0],
                       &self.second_moment[j, 0])

    cdef void _make_up(self, LazyWorker worker, int j) noexcept nogil:
        """Make up for the steps that a feature has missed."""
        cdef ngdt_wait wait
        if self.up_to_date[j] < worker.n_steps:
            wait = worker.missed(self.up_to_date[j])
            ngdt_adam_wait(&wait, self.w.shape[1], &self.w[j, 0], &self.first_moment[j, 0],
                           &self.second_moment[j, 0])
            self.up_to_date[j] = <int32_t> worker.n_steps
