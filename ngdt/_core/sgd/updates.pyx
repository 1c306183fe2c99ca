"""The tree that SGD trains, and the step that a mini-batch takes.

A step costs one addition of a sample per update, and a projection per node with updates. Weights
are float32, which halves the memory traffic and doubles the SIMD lanes of float64; thresholds and
leaf values are float64. Each node sums its updates in the order of the slots, whichever thread
moves it, so that the bits do not depend on the number of threads.
"""

import numpy as np

from ngdt._core.sgd.state import fill

from libc.math cimport fmax, fmin, sqrt
from libc.stdint cimport uintptr_t

from ngdt._core.samples cimport axpy

cdef extern from "dot.h" nogil:
    void ngdt_scale_f32(float a, Py_ssize_t n, float *w) noexcept
    double ngdt_norm2_f32(Py_ssize_t n, const float *w) noexcept


cdef class Batch:
    """Memory for the samples of a mini-batch.

    Parameters
    ----------
    batch_size : int
    max_stored : int
        Stored values of the longest sample.
    n_outputs : int
    max_depth : int
        Of the tree.
    """

    def __init__(self, int batch_size, Py_ssize_t max_stored, int n_outputs, int max_depth):
        # Two paths, each at most max_depth long.
        self.max_updates = 2 * max_depth + 1
        self._slots = np.zeros(batch_size * sizeof(Slot), dtype=np.uint8)
        cdef uintptr_t address = self._slots.ctypes.data
        self.slots = <Slot *> address
        self.x = np.zeros((batch_size, max(1, max_stored)), dtype=np.float32)
        self.loss_gradient = np.empty((batch_size, n_outputs))
        self.update_node = np.empty((batch_size, self.max_updates), dtype=np.int32)
        self.update_size = np.empty((batch_size, self.max_updates))


cdef class SGDWorker(Worker):
    """What a thread owns: a search, and lists of the updates of each node.

    Parameters
    ----------
    tree : TrainedTree
    n_updates : int
        Most updates of a mini-batch.
    """

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
        for u in range(self.n_touched):
            self.first[self.touched[u]] = -1
        self.n_touched = 0
        for s in range(n):
            for u in range(batch.slots[s].n_updates):
                node = batch.update_node[s, u]
                update = s * batch.max_updates + u
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

    def __init__(self, tree, weights, thresholds, values, Loss loss, *, nu, leaf_limit,
                 max_leaf_step):
        cdef int m = tree.n_internal, node
        self.topology, self.loss = Topology(tree), loss
        self.weights, self.thresholds, self.values = weights, thresholds, values
        self.w, self.b, self.leaf_values = weights, thresholds, values
        self.n_features, self.n_outputs = weights.shape[1], values.shape[1]
        self.bounds = LeafBounds(self.topology, loss, values)
        self.nu, self.leaf_limit, self.max_leaf_step = nu, leaf_limit, max_leaf_step
        self.leaf_gradient = np.zeros((m + 1, self.n_outputs))
        self.leaf_weight = np.zeros(m + 1)
        self.touched_leaves = np.empty(m + 1, dtype=np.int32)
        for node in range(m):
            self._project(node)

    cdef Search new_search(self):
        """A search that follows the weights as they change."""
        cdef Search search = Search(self.topology, self.bounds)
        if self.topology.n_internal:
            search.bind(
                <const char *> &self.w[0, 0], self.n_features * sizeof(float), &self.b[0],
                (self.weights, self.thresholds))
        return search

    def restore(self, weights, thresholds, values):
        """Take the weights, thresholds and values of a checkpoint."""
        cdef int leaf
        fill(self.weights, weights)
        fill(self.thresholds, thresholds)
        fill(self.values, values)
        for leaf in range(self.values.shape[0]):
            self.bounds.refresh(leaf, &self.leaf_values[leaf, 0])

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
        cdef double size
        while update >= 0:
            s = update / batch.max_updates
            size = -rate * batch.update_size[s, update - s * batch.max_updates]
            axpy(size, &batch.slots[s].x, w)
            b[0] -= size * batch.slots[s].x.offset
            update = worker.next[update]
        self._project(node)

    cdef void _project(self, int node) noexcept nogil:
        """Onto ||w||^2 + b^2 <= nu, Norouzi (2015), eq. (9)."""
        cdef double norm2 = ngdt_norm2_f32(self.n_features, &self.w[node, 0])
        cdef double factor
        norm2 += self.b[node] * self.b[node]
        if norm2 > self.nu:
            factor = sqrt(self.nu / norm2)
            ngdt_scale_f32(<float> factor, self.n_features, &self.w[node, 0])
            self.b[node] *= factor

    cdef void move_leaves(self, Batch batch, int n, double rate) noexcept nogil:
        """Take the step of the leaf values, and renew the bounds above them."""
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
            # A step on the mean of the batch, which for few leaves would overshoot the optimum.
            share = self.leaf_weight[leaf] / n
            step = fmin(rate * share, self.max_leaf_step) / self.leaf_weight[leaf]
            for c in range(self.n_outputs):
                self.leaf_values[leaf, c] = fmax(-self.leaf_limit, fmin(
                    self.leaf_limit,
                    self.leaf_values[leaf, c] - step * self.leaf_gradient[leaf, c]))
                self.leaf_gradient[leaf, c] = 0.0
            self.leaf_weight[leaf] = 0.0
            if rate > 0.0:
                self.bounds.refresh(leaf, &self.leaf_values[leaf, 0])
