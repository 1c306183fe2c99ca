"""One epoch of stochastic gradient descent, Norouzi (2015), Algorithm 1.

What it minimises is eq. (14), the stable bound, of which eqs. (7) and (13) are the case that each
sample is assigned to the leaf that it reaches.

Visits (`SGDTrainer`) search each sample of a mini-batch and write what it contributes into its
slot; updates (`TrainedTree`) move the nodes and the leaves by what the slots hold. Most of the time
goes into the dot products of the searches, about as many per sample as the tree is deep. A sample
is standardised into its slot, which stays in cache, so that the data are never copied.

A step costs one addition of a sample per update, and a projection per node with updates. Weights
are float32, which halves the memory traffic and doubles the SIMD lanes of float64; thresholds and
leaf values are float64. Each node sums its updates in the order of the slots, whichever thread
moves it, so that the bits do not depend on the number of threads.
"""

import numpy as np

from ngdt._util.arrays import fill

from libc.limits cimport INT_MAX
from libc.math cimport INFINITY, fmax, fmin, sqrt
from libc.stdint cimport int32_t, uint8_t, uintptr_t
from libc.string cimport memset

from ngdt._core.loss cimport Loss
from ngdt._core.samples cimport (
    Sample, Samples, Standardizer, axpy, ngdt_scale_f32, training_sample)
from ngdt._core.search cimport Found, LeafBoxes, Search, Topology
from ngdt._core.threads cimport MiniBatchLoop, Step, Worker

cdef extern from "dot.h" nogil:
    double ngdt_norm2_f32(Py_ssize_t n, const float *w) noexcept

# Several: the sample that a thread prefetches is then mostly one that it visits itself.
cdef int SAMPLES_PER_TASK = 4


cdef struct Slot:
    # What one sample of a mini-batch contributes.
    Sample x                    # standardised
    double sample_weight
    int n_updates               # nodes whose weights it moves
    int leaf                    # that it reaches
    int augmented_leaf          # whose values it moves
    int n_scored                # dot products that its search took
    double loss
    double bound


cdef class Batch:
    """Memory of a mini-batch. Visits write it, each its own slots; updates read it.

    Parameters
    ----------
    batch_size : int
    max_stored : int
        Stored values of the longest sample.
    n_outputs : int
    max_depth : int
        Of the tree.
    """

    cdef int max_updates                # per slot
    cdef object _slots
    cdef Slot *slots
    cdef float[:, ::1] x                # per slot: stored values of the sample
    cdef double[:, ::1] loss_gradient   # per slot: in the values of the augmented leaf
    cdef int32_t[:, ::1] update_node    # per slot and update
    cdef double[:, ::1] score_gradient  # per slot and update: g_i - h_i of line 6, weighted

    def __init__(self, int batch_size, Py_ssize_t max_stored, int n_outputs, int max_depth):
        # Two paths, each at most max_depth long; not 0, as numbers of updates are divided by it.
        self.max_updates = 2 * max_depth + 1
        # Memory of NumPy, which is freed with the batch: structs have no array type of their own.
        self._slots = np.zeros(batch_size * sizeof(Slot), dtype=np.uint8)
        self.slots = <Slot *> <uintptr_t> self._slots.ctypes.data
        self.x = np.zeros((batch_size, max(1, max_stored)), dtype=np.float32)
        self.loss_gradient = np.empty((batch_size, n_outputs))
        self.update_node = np.empty((batch_size, self.max_updates), dtype=np.int32)
        self.score_gradient = np.empty((batch_size, self.max_updates))


cdef class SGDWorker(Worker):
    """Memory of one thread: a search, and lists of the updates of each node.

    Parameters
    ----------
    tree : TrainedTree
    n_updates : int
        Most updates of a mini-batch.
    """

    cdef Search search
    # Lists of the updates of each node, in the order of the slots.
    cdef int32_t[::1] first     # per node: first update of the mini-batch, -1 if none
    cdef int32_t[::1] last
    cdef int32_t[::1] next      # per update: the next one of the same node
    cdef int32_t[::1] touched   # nodes with updates, in order of first touch
    cdef int n_touched

    def __init__(self, TrainedTree tree, int n_updates):
        cdef int n_nodes = tree.topology.n_internal + 1
        self.search = tree.new_search()
        self.first = np.full(n_nodes, -1, dtype=np.int32)
        self.last = np.empty(n_nodes, dtype=np.int32)
        self.next = np.empty(n_updates, dtype=np.int32)
        self.touched = np.empty(n_nodes, dtype=np.int32)
        self.n_touched = 0

    cdef void list_updates(self, Batch batch, int n) noexcept nogil:
        """Chain the updates of each node in the order of the slots.

        Every thread does so for itself: the lists are short, and to share them would take another
        barrier.
        """
        cdef int s, u, node, update
        # Only what the last mini-batch has touched: trees may have many more nodes.
        for u in range(self.n_touched):
            self.first[self.touched[u]] = -1
        self.n_touched = 0
        for s in range(n):
            for u in range(batch.slots[s].n_updates):
                node = batch.update_node[s, u]
                update = s * batch.max_updates + u
                # Appended, not put to the front: sums run in the order of the slots.
                self.next[update] = -1
                if self.first[node] < 0:
                    self.first[node] = update
                    self.touched[self.n_touched] = node
                    self.n_touched += 1
                else:
                    self.next[self.last[node]] = update
                self.last[node] = update


cdef class TrainedTree:
    """A tree in standardised feature space that training changes in place.

    Parameters
    ----------
    tree : Tree
        Gives the structure; weights and thresholds are passed separately.
    weights : ndarray of float32, shape (n_internal, n_features)
    thresholds : ndarray of float64, shape (n_internal,)
    values : ndarray of float64, shape (n_leaves, n_outputs)
        Changed in place, all three.
    loss : Loss
    nu : float
        Largest squared norm of the weights of a node together with its threshold.
    leaf_limit : float
        Leaf values are clipped to this size; infinity clips nothing.
    max_leaf_step : float
        Largest step along the mean gradient of a leaf.
    """

    cdef Topology topology
    cdef Loss loss
    # Parameters of the tree, the arrays and their views. Visits read them. Of weights and
    # thresholds, update tasks write one node each; values, boxes and sums are one task.
    cdef readonly object weights, thresholds, values
    cdef float[:, ::1] w
    cdef double[::1] b
    cdef double[:, ::1] leaf_values
    cdef LeafBoxes boxes
    # Sums over the mini-batch, by leaf; zero between mini-batches.
    cdef double[:, ::1] leaf_gradient
    cdef double[::1] leaf_weight
    cdef int32_t[::1] touched_leaves
    # Constant in training.
    cdef readonly double nu, leaf_limit, max_leaf_step
    cdef Py_ssize_t n_features
    cdef int n_outputs

    def __init__(self, tree, weights, thresholds, values, Loss loss, *, nu, leaf_limit,
                 max_leaf_step):
        cdef int m = tree.n_internal, node
        self.topology, self.loss = Topology(tree), loss
        self.weights, self.thresholds, self.values = weights, thresholds, values
        self.w, self.b, self.leaf_values = weights, thresholds, values
        self.n_features, self.n_outputs = weights.shape[1], values.shape[1]
        self.boxes = LeafBoxes(self.topology, loss, values)
        self.nu, self.leaf_limit, self.max_leaf_step = nu, leaf_limit, max_leaf_step
        self.leaf_gradient = np.zeros((m + 1, self.n_outputs))
        self.leaf_weight = np.zeros(m + 1)
        self.touched_leaves = np.empty(m + 1, dtype=np.int32)
        # What training starts from has to be feasible, too.
        for node in range(m):
            self._project(node)

    cdef Search new_search(self):
        """A search that follows the weights as they change."""
        cdef Search search = Search(self.boxes)
        if self.topology.n_internal:
            search.bind(
                <const char *> &self.w[0, 0], self.n_features * sizeof(float), &self.b[0],
                (self.weights, self.thresholds))
        return search

    @property
    def arrays(self):
        """The weights, thresholds and values, to be read and written between epochs."""
        return [self.weights, self.thresholds, self.values]

    def restore(self, arrays):
        """Go on from what `arrays` were."""
        cdef int leaf
        for own, saved in zip(self.arrays, arrays, strict=True):
            fill(own, saved)
        for leaf in range(self.values.shape[0]):
            self.boxes.refresh(leaf, &self.leaf_values[leaf, 0])

    def scale(self, double factor):
        """Multiply all weights and thresholds: the same decisions at other prices."""
        self.weights *= np.float32(factor)
        self.thresholds *= factor

    cdef void move_node(
            self, Batch batch, SGDWorker worker, int node, double rate) noexcept nogil:
        """Take the step of one node and project it."""
        cdef float *w = &self.w[node, 0]
        cdef double *b = &self.b[node]
        cdef int update = worker.first[node], s
        cdef double step
        while update >= 0:
            s = update / batch.max_updates
            # Of all samples of the batch one after the other, in the order of the slots: that is
            # what makes the sum the same for any number of threads.
            step = -rate * batch.score_gradient[s, update - s * batch.max_updates]
            axpy(step, &batch.slots[s].x, w)
            # The constant feature is -1, shrunk together with the sample.
            b[0] -= step * batch.slots[s].x.offset
            update = worker.next[update]
        self._project(node)

    cdef void _project(self, int node) noexcept nogil:
        """Onto ||w||^2 + b^2 <= nu, Norouzi (2015), eq. (9)."""
        cdef double norm2 = ngdt_norm2_f32(self.n_features, &self.w[node, 0])
        cdef double factor
        # The threshold is a weight like the others in the paper, and counts in the norm.
        norm2 += self.b[node] * self.b[node]
        # Inside of the ball, nothing is written: most steps leave most nodes there.
        if norm2 > self.nu:
            factor = sqrt(self.nu / norm2)
            ngdt_scale_f32(<float> factor, self.n_features, &self.w[node, 0])
            self.b[node] *= factor

    cdef void move_leaves(self, Batch batch, int n, double rate) noexcept nogil:
        """Take the step of the leaf values, and renew the boxes above them."""
        cdef int s, c, leaf, i, n_touched = 0
        cdef double share, step
        cdef Slot *slot
        for s in range(n):
            slot = &batch.slots[s]
            # Relative to their mean, sample weights may round to zero. A leaf is listed at its
            # first weight, so that none is listed twice and no mean is taken over nothing.
            if slot.sample_weight == 0.0:
                continue
            leaf = slot.augmented_leaf
            if self.leaf_weight[leaf] == 0.0:
                self.touched_leaves[n_touched] = leaf
                n_touched += 1
            self.leaf_weight[leaf] += slot.sample_weight
            for c in range(self.n_outputs):
                self.leaf_gradient[leaf, c] += slot.sample_weight * batch.loss_gradient[s, c]
        for i in range(n_touched):
            leaf = self.touched_leaves[i]
            # Line 10 with the mean over the batch: rate * sum / n, which is rate * share times the
            # mean gradient of the leaf. Deviation: this factor is capped, since with few leaves
            # the step would overshoot the optimum.
            share = self.leaf_weight[leaf] / n
            step = fmin(rate * share, self.max_leaf_step) / self.leaf_weight[leaf]
            for c in range(self.n_outputs):
                self.leaf_values[leaf, c] = fmax(-self.leaf_limit, fmin(
                    self.leaf_limit,
                    self.leaf_values[leaf, c] - step * self.leaf_gradient[leaf, c]))
                self.leaf_gradient[leaf, c] = 0.0
            # Zero again, as the next mini-batch expects; to clear all leaves would cost more.
            self.leaf_weight[leaf] = 0.0
            # Searches prune by these boxes: a leaf that moved without them would be missed. Here
            # no search runs, as this is an update and searches are visits. At the rate 0, no leaf
            # has moved.
            if rate > 0.0:
                self.boxes.refresh(leaf, &self.leaf_values[leaf, 0])


cdef class TrainingSamples:
    """Samples as training sees them; nothing changes them.

    Parameters
    ----------
    data : Samples
    y : ndarray of float64, shape (n_samples, n_targets)
        Encoded targets.
    sample_weight : ndarray of float64, shape (n_samples,)
        Training weights.
    scaling : Scaling
    norm_limit : float
        Standardised samples, with the constant feature -1, are shrunk to this norm if longer.
    """

    cdef Samples data
    cdef const double[:, ::1] y
    cdef const double[::1] sample_weight
    cdef Standardizer standardizer
    cdef readonly double norm_limit

    def __init__(self, Samples data, y, sample_weight, scaling, norm_limit):
        self.data, self.y, self.sample_weight = data, y, sample_weight
        self.standardizer = Standardizer(data, scaling)
        self.norm_limit = norm_limit

    cdef Sample standardize(self, Py_ssize_t sample, float *out) noexcept nogil:
        """The sample, standardised and shrunk to the norm limit; its values are written to out."""
        cdef Sample x = self.data.get(sample)
        cdef double norm, factor = 1.0
        self.standardizer.write(sample, out)
        # With the constant feature.
        norm = sqrt(ngdt_norm2_f32(x.n, out) + 1.0)
        if not norm < INFINITY:
            # The difference from the mean has overflowed. Zeros keep the weights finite.
            factor = 0.0
            memset(out, 0, x.n * sizeof(float))
        elif norm > self.norm_limit:
            # A positive factor changes no decision, only the pull of far samples.
            factor = self.norm_limit / norm
            ngdt_scale_f32(<float> factor, x.n, out)
        return training_sample(out, x.indices, x.n, factor)


cdef class SGDTrainer(MiniBatchLoop):
    """Moves a tree by one epoch after the other.

    Parameters
    ----------
    tree : TrainedTree
        Changed in place.
    samples : TrainingSamples
    radius : int
        Flips allowed in loss-augmented inference.
    best_assignment : bool
        Assign each sample to the leaf with the smallest loss plus price; else to the leaf that it
        reaches. That is done at each visit, until `assign` is called for the first time.
    batch_size, n_threads : int
    """

    # Constant in an epoch.
    cdef readonly TrainedTree tree
    cdef Topology topology
    cdef TrainingSamples samples
    cdef int radius
    cdef bint best_assignment
    cdef public bint fixed_assignment
    cdef const double[::1] rate         # per step
    cdef const double[::1] leaf_rate
    # Written by visits, each for its own samples.
    cdef Batch batch
    cdef readonly object assignment     # leaf per sample, -1 before its first visit
    cdef int32_t[::1] assigned_leaf
    # Metrics of the epoch. Written by update task 0.
    cdef uint8_t[::1] is_active         # leaves that samples reach
    cdef double sum_loss, sum_bound, sum_weight
    cdef long long n_seen, n_moving, n_scored

    def __init__(self, TrainedTree tree, TrainingSamples samples, *, radius, best_assignment,
                 batch_size, n_threads):
        cdef Samples data = samples.data
        self.tree, self.topology, self.samples = tree, tree.topology, samples
        self.radius, self.best_assignment = radius, best_assignment
        self.fixed_assignment = False
        self.batch_size, self.samples_per_task = batch_size, SAMPLES_PER_TASK
        self.batch = Batch(
            batch_size, data.max_stored, tree.n_outputs, self.topology.max_depth)
        # Kept between epochs: with a fixed assignment, visits only read it.
        self.assignment = np.full(data.n_samples, -1, dtype=np.int32)
        self.assigned_leaf = self.assignment
        self.is_active = np.zeros(self.topology.n_internal + 1, dtype=np.uint8)
        self.workers = [
            SGDWorker(tree, batch_size * self.batch.max_updates) for _ in range(n_threads)]

    def epoch(self, const int32_t[::1] order, const double[::1] rate,
              const double[::1] leaf_rate, *, bint resume=False):
        """Visit the samples in the given order, one mini-batch per entry of the rates.

        With `resume`, the epoch of the call before goes on.

        Returns
        -------
        dict
            Means over the visits: loss, bound (each before the step that it led to), share of
            samples with a gradient in the weights, node scores computed; and the number of leaves
            that were reached.
        """
        self.rate, self.leaf_rate = rate, leaf_rate
        if not resume:
            self.sum_loss = self.sum_bound = self.sum_weight = 0.0
            self.n_seen = self.n_moving = self.n_scored = 0
            self.is_active[:] = 0
        self.run(order, rate.shape[0])
        total = max(self.sum_weight, np.finfo(float).tiny)
        return {
            "loss": self.sum_loss / total,
            "bound": self.sum_bound / total,
            "gradient_share": <double> self.n_moving / max(1, self.n_seen),
            "n_scored": <double> self.n_scored / max(1, self.n_seen),
            "n_active_leaves": int(np.sum(self.is_active)),
        }

    cdef void visit(
            self, Worker worker, const Step *step, int first, int stop) noexcept nogil:
        cdef int s
        cdef Py_ssize_t place
        for s in range(first, stop):
            # The next one of the order, which mostly is visited next by this thread.
            place = step.start + s
            if place + 1 < self.order.shape[0]:
                self.samples.data.prefetch(self.order[place + 1])
            self._fill_slot((<SGDWorker> worker).search, s, self.order[place])

    cdef void _fill_slot(self, Search search, int s, Py_ssize_t sample) noexcept nogil:
        """Find the augmented and the assigned leaf, and which nodes move how far."""
        cdef Slot *slot = &self.batch.slots[s]
        cdef const double *y = &self.samples.y[sample, 0]
        cdef int m = self.topology.n_internal
        cdef Found augmented
        # Standardised into the slot, where the update reads it again: the sample itself may be
        # CSR, float32, and out of the cache by then.
        slot.x = self.samples.standardize(sample, &self.batch.x[s, 0])
        slot.sample_weight = self.samples.sample_weight[sample]
        # All searches of a sample share its scores: the first one computes most of them.
        search.begin(slot.x, y)
        slot.leaf = search.leaf
        slot.loss = search.potential(m + search.leaf, 1)   # at a leaf, that is its loss
        augmented = search.find(1, self.radius)
        slot.augmented_leaf = augmented.leaf
        # Norouzi (2015), eqs. (13) and (14): both maxima less that of sgn(Wx), so that only flips
        # are left. The second one is minus the price of the way to the assigned leaf.
        if not self.fixed_assignment:
            self.assigned_leaf[sample] = self._leaf_to_assign(search)
        slot.bound = augmented.value + search.price(self.assigned_leaf[sample])
        slot.n_updates = self._find_updates(search, s, self.assigned_leaf[sample])
        slot.n_scored = search.n_scored
        # Of the augmented leaf, which carries the loss in eq. (14); the assigned leaf has none.
        self.tree.loss.gradient(
            &self.tree.leaf_values[slot.augmented_leaf, 0], self.tree.n_outputs, y,
            &self.batch.loss_gradient[s, 0])

    cdef int _leaf_to_assign(self, Search search) noexcept nogil:
        """By cost-diminished inference, or the leaf that the sample reaches, whose price is 0."""
        return search.find(-1, INT_MAX).leaf if self.best_assignment else search.leaf

    cdef int _find_updates(self, Search search, int s, int assigned) noexcept nogil:
        """Gradient of the stable bound in the scores, Norouzi (2015), eq. (14).

        The paths to the augmented and to the assigned leaf share a prefix, which cancels. Walk
        both up to where they part: a node that the augmented path flips is pushed back to its own
        decision, one that the assigned path flips is pulled over.
        """
        cdef int m = self.topology.n_internal
        cdef int g = m + self.batch.slots[s].augmented_leaf, a = m + assigned
        cdef int child, node, n = 0
        cdef bint is_augmented
        cdef double score, weight = self.batch.slots[s].sample_weight
        while g != a:
            # The deeper one moves up, so that they meet at the last common node.
            is_augmented = self.topology.depth[g] >= self.topology.depth[a]
            child = g if is_augmented else a
            node = self.topology.parent[child]
            score = search.score(node)
            if (score > 0.0) != self.topology.goes_right(child):
                # g_i - h_i of line 6: d(-2|s|)/ds on the augmented path, where h_i = sgn(s_i),
                # and d(+2|s|)/ds on the assigned one, where g_i = sgn(s_i).
                self.batch.update_node[s, n] = node
                self.batch.score_gradient[s, n] = weight * (
                    -2.0 if (score > 0.0) == is_augmented else 2.0)
                n += 1
            if is_augmented:
                g = node
            else:
                a = node
        return n

    cdef int begin_updates(self, Worker worker, const Step *step) noexcept nogil:
        """Task 0 is for all leaves, each other one for a node with updates."""
        # The same in all threads, so that they agree on the number of tasks.
        (<SGDWorker> worker).list_updates(self.batch, step.n)
        return 1 + (<SGDWorker> worker).n_touched

    cdef void update(self, Worker worker, const Step *step, int task) noexcept nogil:
        if task == 0:
            self._count(step.n)
            self.tree.move_leaves(self.batch, step.n, self.leaf_rate[step.number])
        else:
            self.tree.move_node(
                self.batch, <SGDWorker> worker, (<SGDWorker> worker).touched[task - 1],
                self.rate[step.number] / step.n)

    cdef void _count(self, int n) noexcept nogil:
        """Add a mini-batch to the metrics of the epoch."""
        cdef int s
        cdef Slot *slot
        # By one task in the order of the slots: sums do not depend on the number of threads.
        for s in range(n):
            slot = &self.batch.slots[s]
            self.sum_weight += slot.sample_weight
            self.sum_loss += slot.sample_weight * slot.loss
            self.sum_bound += slot.sample_weight * slot.bound
            self.n_moving += slot.n_updates > 0
            self.n_scored += slot.n_scored
            self.is_active[slot.leaf] = 1
        self.n_seen += n

    def assign(self, const int32_t[::1] samples):
        """Fix the assignment of the given samples by the present tree, until called again."""
        cdef Search search = (<SGDWorker> self.workers[0]).search
        cdef Py_ssize_t i, sample
        with nogil:
            # No epoch runs, so that the first slot of the batch is free.
            for i in range(samples.shape[0]):
                sample = samples[i]
                search.begin(
                    self.samples.standardize(sample, &self.batch.x[0, 0]),
                    &self.samples.y[sample, 0])
                self.assigned_leaf[sample] = self._leaf_to_assign(search)
        self.fixed_assignment = True

    def navigate(self, const int32_t[::1] samples):
        """Leaf that each of the given samples reaches."""
        out = np.empty(samples.shape[0], dtype=np.int32)
        cdef int32_t[::1] leaf = out
        cdef Search search = (<SGDWorker> self.workers[0]).search
        cdef Py_ssize_t i
        cdef Sample x
        with nogil:
            for i in range(samples.shape[0]):
                x = self.samples.standardize(samples[i], &self.batch.x[0, 0])
                leaf[i] = search.descend(&x, False)
        return out
