"""One epoch of stochastic gradient descent on the stable bound, Norouzi (2015), Algorithm 1.

The tree lives here in standardised feature space: weights float32 (half the memory traffic, and
twice the SIMD lanes, of float64), thresholds and leaf values float64. Samples of a mini-batch are
standardised into a small scratch that stays in cache, so the data themselves are never copied.

A mini-batch has two phases. First every sample is searched by itself and leaves its result in its
own slot. Then every touched row of the weights is updated by itself, its samples in slot order.
Threads draw samples in the first phase and rows in the second; whoever takes one, the sums are
formed in the same order, so the tree does not depend on the number of threads.
"""

from functools import partial

import numpy as np

from ngdt.optimizers._threads import run_threads

from libc.math cimport fmax, fmin, sqrt
from libc.stdint cimport int32_t, uint8_t

from ngdt._inference cimport Found, LeafBounds, Search, Topology
from ngdt._loss cimport Loss
from ngdt._samples cimport Sample, Samples, Standardizer, axpy, training_row
from ngdt.optimizers._threads cimport (
    ngdt_threads,
    ngdt_threads_abort,
    ngdt_threads_init,
    ngdt_threads_wait,
    ngdt_threads_next_task,
)

cdef extern from "dot.h" nogil:
    void ngdt_scale_f32(float a, Py_ssize_t n, float *w) noexcept
    double ngdt_norm2_f32(Py_ssize_t n, const float *w) noexcept

cdef int NO_LEAF = -1
cdef int ANY_FLIPS = 2147483647
# Samples that a thread takes at a time: the one it asks the memory for is then mostly its own.
cdef int TOGETHER = 4


cdef struct Slot:
    # What one sample of the mini-batch contributes.
    Py_ssize_t sample
    Sample row                     # standardised
    double weight
    int n_updates               # rows of the weights that it moves
    int leaf                    # where it navigates to
    int augmented               # leaf that learns
    int n_scored
    double loss
    double bound


cdef class Worker:
    """What each thread owns: a search, and the lists of updates by row of the weights."""
    cdef Search search
    cdef int32_t[::1] first     # per node: first update of the batch, -1 if none
    cdef int32_t[::1] last
    cdef int32_t[::1] next      # per update: the next one of the same node
    cdef int32_t[::1] touched   # nodes with updates, in order of first touch

    def __init__(self, Search search, int n_internal, int n_updates):
        self.search = search
        self.first = np.full(n_internal + 1, -1, dtype=np.int32)
        self.last = np.empty(n_internal + 1, dtype=np.int32)
        self.next = np.empty(n_updates, dtype=np.int32)
        self.touched = np.empty(n_internal + 1, dtype=np.int32)


cdef class SGDTrainer:
    """A tree in standardised space that epochs move in place.

    Parameters
    ----------
    tree : Tree
        Gives the structure; weights and thresholds are passed separately.
    weights : ndarray of float32, shape (n_internal, n_features)
    thresholds : ndarray of float64, shape (n_internal,)
    values : ndarray of float64, shape (n_leaves, n_outputs)
        Changed in place, all three.
    rows, y, weight : Samples, encoded targets, training weights
    scaling : Scaling
    loss : Loss
    radius : int
        Flips allowed in loss-augmented inference.
    best_assignment : bool
        Assign each sample, when it is visited, by cost-diminished inference; else to the leaf
        that it reaches. Overruled by `assignment`.
    norm_limit : float
        Standardised samples, with the constant feature 1, are shrunk to this norm if longer.
    nu : float
        Largest squared norm of a row of the weights with its threshold.
    momentum : float
    leaf_limit : float
        Leaf values are clipped to this size.
    max_leaf_step : float
        Largest step along the mean gradient of a leaf.
    batch_size, n_threads : int
    """

    cdef Topology topology
    cdef LeafBounds bounds
    cdef Loss loss
    cdef Samples rows
    cdef readonly object weights, thresholds, values, assignment, visited
    cdef float[:, ::1] w
    cdef double[::1] b
    cdef double[:, ::1] theta
    cdef float[:, ::1] velocity         # empty without momentum
    cdef double[::1] velocity_b
    cdef const double[:, ::1] y
    cdef const double[::1] weight
    cdef Standardizer standardizer
    cdef int32_t[::1] assigned          # leaf per sample
    cdef bint fixed_assignment
    cdef bint best_assignment
    cdef int radius
    cdef double norm_limit, nu, momentum, leaf_limit, max_leaf_step
    cdef int batch_size, n_outputs, max_updates
    cdef Py_ssize_t n_features
    # one slot per sample of the batch
    cdef object _slots
    cdef Slot *slots
    cdef float[:, ::1] scratch
    cdef double[:, ::1] theta_gradient
    cdef int32_t[:, ::1] update_node
    cdef double[:, ::1] update_size
    # sums of theta gradients by leaf
    cdef double[:, ::1] leaf_gradient
    cdef double[::1] leaf_weight
    cdef int32_t[::1] touched_leaves
    cdef uint8_t[::1] is_visited        # leaves reached in this epoch
    cdef list workers
    cdef ngdt_threads team
    # metrics of the epoch
    cdef double sum_loss, sum_bound, sum_weight
    cdef long long n_seen, n_moving, n_scored

    def __init__(
            self, tree, weights, thresholds, values, Samples rows, y, weight, scaling, Loss loss,
            *, radius, best_assignment, norm_limit, nu, momentum, leaf_limit, max_leaf_step,
            batch_size, n_threads):
        cdef int m = tree.n_internal
        self.topology = Topology(tree)
        self.weights, self.thresholds, self.values = weights, thresholds, values
        self.w, self.b, self.theta = weights, thresholds, values
        self.rows, self.loss = rows, loss
        self.y, self.weight = y, weight
        self.bounds = LeafBounds(self.topology, loss, values)
        self.standardizer = Standardizer(rows, scaling)
        self.radius, self.best_assignment = min(radius, ANY_FLIPS), best_assignment
        self.norm_limit, self.nu, self.momentum = norm_limit, nu, momentum
        self.leaf_limit, self.max_leaf_step = leaf_limit, max_leaf_step
        self.batch_size, self.n_outputs = batch_size, values.shape[1]
        self.n_features = rows.n_features
        moving = m if momentum > 0 else 0
        self.velocity = np.zeros((moving, self.n_features), dtype=np.float32)
        self.velocity_b = np.zeros(moving)
        self.assignment = np.full(rows.n_samples, NO_LEAF, dtype=np.int32)
        self.assigned = self.assignment
        self.fixed_assignment = False
        # Two paths, each at most max_depth long.
        self.max_updates = 2 * tree.max_depth + 1
        self._slots = np.zeros(batch_size * sizeof(Slot), dtype=np.uint8)
        cdef Py_ssize_t address = self._slots.ctypes.data
        self.slots = <Slot *> address
        self.scratch = np.zeros((batch_size, max(1, rows.max_stored)), dtype=np.float32)
        self.theta_gradient = np.empty((batch_size, self.n_outputs))
        self.update_node = np.empty((batch_size, self.max_updates), dtype=np.int32)
        self.update_size = np.empty((batch_size, self.max_updates))
        self.leaf_gradient = np.zeros((m + 1, self.n_outputs))
        self.leaf_weight = np.zeros(m + 1)
        self.touched_leaves = np.empty(m + 1, dtype=np.int32)
        self.visited = np.zeros(m + 1, dtype=np.uint8)
        self.is_visited = self.visited
        self.workers = [
            Worker(self._new_search(), m, batch_size * self.max_updates)
            for _ in range(n_threads)]
        self._project_all()

    cdef Search _new_search(self):
        cdef Search search = Search(self.topology, self.bounds)
        if self.topology.n_internal:
            search.bind(
                <const char *> &self.w[0, 0], self.n_features * sizeof(float), &self.b[0],
                (self.weights, self.thresholds))
        return search

    def _project_all(self):
        cdef int node
        for node in range(self.topology.n_internal):
            self._project(node)

    def epoch(self, const int32_t[::1] order, const double[::1] rate,
              const double[::1] leaf_rate):
        """Visit the samples in the given order, one mini-batch per entry of the rates.

        Returns
        -------
        dict
            Means over the visits: loss, bound (each before the step that it led to), share of
            samples with a gradient in the weights, node scores computed; and the number of leaves
            that were reached.
        """
        self.sum_loss = self.sum_bound = self.sum_weight = 0.0
        self.n_seen = self.n_moving = self.n_scored = 0
        self.visited[:] = 0
        ngdt_threads_init(&self.team, len(self.workers))
        run_threads(
            [partial(self._run, worker, order, rate, leaf_rate) for worker in self.workers],
            self._abort)
        total = max(self.sum_weight, np.finfo(float).tiny)
        return {
            "loss": self.sum_loss / total,
            "bound": self.sum_bound / total,
            "gradient_share": <double> self.n_moving / max(1, self.n_seen),
            "n_scored": <double> self.n_scored / max(1, self.n_seen),
            "active_leaves": int(self.visited.sum()),
        }

    def _abort(self):
        ngdt_threads_abort(&self.team)

    def _run(self, Worker worker, const int32_t[::1] order, const double[::1] rate,
             const double[::1] leaf_rate):
        cdef Py_ssize_t step, start
        cdef int n, s, first
        with nogil:
            for step in range(rate.shape[0]):
                start = step * self.batch_size
                n = <int> min(self.batch_size, order.shape[0] - start)
                first = TOGETHER * ngdt_threads_next_task(&self.team)
                while first < n:
                    for s in range(first, min(first + TOGETHER, n)):
                        if start + s + 1 < order.shape[0]:
                            self.rows.prefetch(order[start + s + 1])
                        self._search(worker.search, s, order[start + s])
                    first = TOGETHER * ngdt_threads_next_task(&self.team)
                if not ngdt_threads_wait(&self.team):
                    break
                self._update(worker, n, rate[step], leaf_rate[step])
                if not ngdt_threads_wait(&self.team):
                    break

    cdef Sample _standardize(self, Py_ssize_t sample, float *out) noexcept nogil:
        """The sample as training sees it: standardised, shrunk to the norm limit."""
        cdef Sample row = self.rows.get(sample)
        cdef double norm, factor = 1.0
        self.standardizer.write(sample, out)
        norm = sqrt(ngdt_norm2_f32(row.n, out) + 1.0)
        if norm > self.norm_limit:
            # A positive factor changes no decision, only the pull of far samples.
            factor = self.norm_limit / norm
            ngdt_scale_f32(<float> factor, row.n, out)
        return training_row(out, row.indices, row.n, factor)

    cdef void _search(self, Search search, int s, Py_ssize_t sample) noexcept nogil:
        """Fill slot s: loss-augmented leaf, assigned leaf, and which nodes move how far."""
        cdef Slot *slot = &self.slots[s]
        cdef const double *y = &self.y[sample, 0]
        cdef int m = self.topology.n_internal
        cdef Found augmented, assigned
        slot.row = self._standardize(sample, &self.scratch[s, 0])
        slot.weight = self.weight[sample]
        search.begin(slot.row, y)
        slot.leaf = search.leaf
        slot.loss = search.potential(m + search.leaf, 1)
        augmented = search.find(1, self.radius)
        slot.augmented = augmented.leaf
        slot.bound = augmented.value
        if self.fixed_assignment:
            slot.bound += search.price(self.assigned[sample])
        elif self.best_assignment:
            assigned = search.find(-1, ANY_FLIPS)
            self.assigned[sample] = assigned.leaf
            slot.bound += search.price(assigned.leaf)
        else:
            self.assigned[sample] = search.leaf
        slot.n_updates = self._list_updates(search, s, slot.weight, self.assigned[sample])
        slot.n_scored = search.n_scored
        self.loss.gradient(
            &self.theta[slot.augmented, 0], self.n_outputs, y, &self.theta_gradient[s, 0])

    cdef int _list_updates(
            self, Search search, int s, double weight, int assigned) noexcept nogil:
        """Gradient of the stable bound in the scores, Norouzi (2015), eq. (14).

        The paths to the augmented and to the assigned leaf share a prefix, which cancels. Walk
        both up to where they part: a node that the augmented path flips is pushed back to its own
        decision, one that the assigned path flips is pulled over.
        """
        cdef int m = self.topology.n_internal
        cdef int g = m + self.slots[s].augmented, a = m + assigned, child, node, n = 0
        cdef bint is_augmented
        cdef double score
        while g != a:
            is_augmented = self.topology.depth[g] >= self.topology.depth[a]
            child = g if is_augmented else a
            node = self.topology.parent[child]
            score = search.score(node)
            if (score > 0.0) != self.topology.goes_right(child):
                # d(-2|s|)/ds on the augmented path, d(+2|s|)/ds on the assigned one
                self.update_node[s, n] = node
                self.update_size[s, n] = weight * (
                    -2.0 if (score > 0.0) == is_augmented else 2.0)
                n += 1
            if is_augmented:
                g = node
            else:
                a = node
        return n

    cdef void _update(
            self, Worker worker, int n, double rate, double leaf_rate) noexcept nogil:
        """Second phase: one piece of work for all leaves, one for each touched row."""
        cdef int n_touched = self._group_by_node(worker, n), ticket, i
        ticket = ngdt_threads_next_task(&self.team)
        while ticket <= n_touched:
            if ticket == 0:
                self._move_leaves(n, leaf_rate)
            else:
                self._move_node(worker, worker.touched[ticket - 1], rate / n)
            ticket = ngdt_threads_next_task(&self.team)
        for i in range(n_touched):
            worker.first[worker.touched[i]] = -1

    cdef int _group_by_node(self, Worker worker, int n) noexcept nogil:
        """Chain the updates of each node, in slot order. Every thread does so for itself: the
        lists are short, and sharing them would take another meeting."""
        cdef int s, u, node, update, n_touched = 0
        for s in range(n):
            for u in range(self.slots[s].n_updates):
                node = self.update_node[s, u]
                update = s * self.max_updates + u
                worker.next[update] = -1
                if worker.first[node] < 0:
                    worker.first[node] = update
                    worker.touched[n_touched] = node
                    n_touched += 1
                else:
                    worker.next[worker.last[node]] = update
                worker.last[node] = update
        return n_touched

    cdef void _move_node(self, Worker worker, int node, double rate) noexcept nogil:
        """Take the step of one row, samples in slot order, and project it."""
        cdef float *w = &self.w[node, 0]
        cdef double *b = &self.b[node]
        cdef int update = worker.first[node], s
        cdef double size
        if self.momentum > 0.0:
            # The velocity of a row that no sample touches waits as it is.
            w = &self.velocity[node, 0]
            b = &self.velocity_b[node]
            ngdt_scale_f32(<float> self.momentum, self.n_features, w)
            b[0] *= self.momentum
        while update >= 0:
            s = update / self.max_updates
            size = -rate * self.update_size[s, update - s * self.max_updates]
            axpy(size, &self.slots[s].row, w)
            b[0] -= size * self.slots[s].row.offset
            update = worker.next[update]
        if self.momentum > 0.0:
            self._add_velocity(node)
        self._project(node)

    cdef void _add_velocity(self, int node) noexcept nogil:
        cdef Py_ssize_t j
        for j in range(self.n_features):
            self.w[node, j] += self.velocity[node, j]
        self.b[node] += self.velocity_b[node]

    cdef void _project(self, int node) noexcept nogil:
        """Onto ||w||^2 + b^2 <= nu, Norouzi (2015), eq. (9)."""
        cdef double norm2 = ngdt_norm2_f32(self.n_features, &self.w[node, 0])
        cdef double factor
        norm2 += self.b[node] * self.b[node]
        if norm2 > self.nu:
            factor = sqrt(self.nu / norm2)
            ngdt_scale_f32(<float> factor, self.n_features, &self.w[node, 0])
            self.b[node] *= factor

    cdef void _move_leaves(self, int n, double rate) noexcept nogil:
        """Step of the leaf values, refreshed bounds above them, and the metrics of the batch."""
        cdef int s, c, leaf, i, n_touched = 0
        cdef double share, step
        cdef Slot *slot
        for s in range(n):
            slot = &self.slots[s]
            leaf = slot.augmented
            if self.leaf_weight[leaf] == 0.0:
                self.touched_leaves[n_touched] = leaf
                n_touched += 1
            self.leaf_weight[leaf] += slot.weight
            for c in range(self.n_outputs):
                self.leaf_gradient[leaf, c] += slot.weight * self.theta_gradient[s, c]
            self.sum_weight += slot.weight
            self.sum_loss += slot.weight * slot.loss
            self.sum_bound += slot.weight * slot.bound
            self.n_seen += 1
            self.n_moving += slot.n_updates > 0
            self.n_scored += slot.n_scored
            self.is_visited[slot.leaf] = 1
        for i in range(n_touched):
            leaf = self.touched_leaves[i]
            # A step on the batch mean, which for few leaves would overshoot the leaf's optimum.
            share = self.leaf_weight[leaf] / n
            step = fmin(rate * share, self.max_leaf_step) / self.leaf_weight[leaf]
            for c in range(self.n_outputs):
                self.theta[leaf, c] = fmax(-self.leaf_limit, fmin(
                    self.leaf_limit, self.theta[leaf, c] - step * self.leaf_gradient[leaf, c]))
                self.leaf_gradient[leaf, c] = 0.0
            self.leaf_weight[leaf] = 0.0
            if rate > 0.0:
                self.bounds.refresh(leaf, &self.theta[leaf, 0])

    def assign(self, const int32_t[::1] samples):
        """Fix the assignment of the given samples by the present tree, until called again."""
        cdef Search search = (<Worker> self.workers[0]).search
        cdef Py_ssize_t i
        with nogil:
            for i in range(samples.shape[0]):
                search.begin(
                    self._standardize(samples[i], &self.scratch[0, 0]), &self.y[samples[i], 0])
                if self.best_assignment:
                    self.assigned[samples[i]] = search.find(-1, ANY_FLIPS).leaf
                else:
                    self.assigned[samples[i]] = search.leaf
        self.fixed_assignment = True

    def navigate(self, const int32_t[::1] samples):
        """Leaf that each of the given samples reaches."""
        out = np.empty(samples.shape[0], dtype=np.int32)
        cdef int32_t[::1] leaf = out
        cdef Py_ssize_t i
        cdef Sample row
        cdef int node
        cdef int m = self.topology.n_internal
        with nogil:
            for i in range(samples.shape[0]):
                row = self._standardize(samples[i], &self.scratch[0, 0])
                node = 0
                while node < m:
                    if row.dot(row.values, row.indices, row.n, &self.w[node, 0]) > (
                            row.offset * self.b[node]):
                        node = self.topology.right[node]
                    else:
                        node = self.topology.left[node]
                leaf[i] = node - m
        return out

    def scale(self, double factor):
        """Multiply all rows and thresholds: the same decisions at other prices."""
        self.weights *= np.float32(factor)
        self.thresholds *= factor

    def set_leaves(self, values):
        """Replace the leaf values (closed-form updates)."""
        self.values[:] = np.clip(values, -self.leaf_limit, self.leaf_limit)
        self.bounds = LeafBounds(self.topology, self.loss, self.values)
        for worker in self.workers:
            (<Worker> worker).search.bounds = self.bounds
