"""Greedy trees of oblique splits, each the best of several directions that are given.

The leaf with the largest gain is split first, as by `build`. Nodes are ranges of one array of
samples. No Python runs between them: a deep tree has thousands, most of them of a few samples.
"""

import numpy as np

from ngdt._core.tree import Tree

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from ngdt._core.greedy.criterion cimport Cut
from ngdt._core.greedy.splitter cimport Splitter, midpoint
from ngdt._core.samples cimport Reader, Sample

# Relative difference below which two gains are equal: the order of summation changes the last
# digits.
ROUNDING = 1e-9


cdef class ObliqueBuilder:
    """A growing tree.

    Parameters
    ----------
    splitter : Splitter
        Its lists are written to: not to be used by several threads at once.
    samples : ndarray of int32
        Samples to grow on, all with positive weights. Reordered in place.
    n_nonzero : int
        Number of features of a direction.
    limits : Limits
        Of `Problem`.
    min_gain : float
        Least gain of a split.
    """

    cdef Splitter _splitter
    cdef Reader _reader
    cdef int32_t[::1] _samples, _right_samples
    cdef Py_ssize_t _k, _max_depth, _max_leaf_nodes, _min_samples_split
    cdef double _min_gain, _rounding
    # Nodes: their ranges of samples, and the first of their two children, -1 for a leaf.
    cdef object _nodes
    cdef int32_t[::1] _begin, _end, _depth, _child, _split_of
    cdef Py_ssize_t _n_nodes, _next     # of the nodes, those from `_next` on are not searched yet
    # Splits that were found, in this order, and a heap of those that are not made yet.
    cdef double[::1] _gain, _threshold
    cdef int32_t[::1] _node_of, _heap
    cdef Py_ssize_t _n_splits, _n_waiting
    cdef int32_t[:, ::1] _features
    cdef double[:, ::1] _weights
    cdef double[::1] _z

    def __init__(self, Splitter splitter, samples, n_nonzero, limits, min_gain):
        cdef Py_ssize_t n = splitter.check_samples(samples)
        self._splitter, self._samples, self._k = splitter, samples, n_nonzero
        self._reader = Reader(splitter.data, n_nonzero < splitter.n_features)
        self._max_depth = limits.depth(n)
        self._max_leaf_nodes = limits.max_leaf_nodes or max(n, 1)
        self._min_samples_split = max(2, limits.min_samples_split)
        self._min_gain, self._rounding = min_gain, ROUNDING
        splitter.limit(limits.min_samples_leaf)
        self._right_samples, self._z = np.empty(n, dtype=np.int32), np.empty(n)
        self._nodes = np.full((5, 2 * n + 1), -1, dtype=np.int32)
        self._begin, self._end, self._depth, self._child, self._split_of = self._nodes
        self._heap, self._node_of = np.empty((2, n), dtype=np.int32)
        self._gain, self._threshold = np.empty((2, n))
        self._features = np.empty((0, n_nonzero), dtype=np.int32)
        self._weights = np.empty((0, n_nonzero))
        self._begin[0], self._end[0], self._depth[0], self._n_nodes = 0, n, 0, 1

    def grow(self, const int32_t[:, :, ::1] features, const double[:, :, ::1] weights):
        """Split nodes, until the tree is complete or there are no directions left.

        Parameters
        ----------
        features : ndarray of int32, shape (n_sets, n_directions, n_nonzero)
            Features of the directions of one node after the other. With as many as X has, they
            must be all, in their order.
        weights : ndarray of float64 of the same shape

        Returns
        -------
        bool
            Whether the tree is complete.
        """
        cdef Py_ssize_t n_sets = features.shape[0], used = 0
        cdef bint is_complete = False
        self._reserve(self._n_splits + n_sets)
        with nogil:
            while True:
                if self._next == self._n_nodes:
                    if not self._split_best():
                        is_complete = True
                        break
                elif not self._is_splittable(self._next):
                    self._next += 1
                elif used == n_sets:
                    break
                else:
                    self._search(self._next, features[used], weights[used])
                    used += 1
                    self._next += 1
        return is_complete

    def stop(self):
        """Complete the tree with the splits that were found: other nodes become leaves."""
        while self._split_best():
            pass

    def result(self):
        """The tree. Nodes and leaves are numbered depth first, left first.

        Returns
        -------
        features : ndarray of int32, shape (n_internal, n_nonzero)
        weights : ndarray of shape (n_internal, n_nonzero)
        thresholds : ndarray of shape (n_internal,)
        children_left, children_right : ndarray of int32, shape (n_internal,)
            As in `Tree`.
        n_at_leaf : ndarray of int, shape (n_leaves,)
            Numbers of samples; `samples` has the samples of one leaf after the other.
        """
        begin, end, depth, child, split = self._nodes[:, :self._n_nodes]
        nodes, leaves = np.flatnonzero(child >= 0), np.flatnonzero(child < 0)
        # Samples of the left side are in front of those of the right side.
        nodes = nodes[np.lexsort((depth[nodes], begin[nodes]))]
        leaves = leaves[np.argsort(begin[leaves])]
        number = np.empty(self._n_nodes, dtype=np.int32)
        number[nodes], number[leaves] = np.arange(len(nodes)), ~np.arange(len(leaves))
        found, left = split[nodes], child[nodes]
        return (np.asarray(self._features)[found], np.asarray(self._weights)[found],
                np.asarray(self._threshold)[found], number[left], number[left + 1],
                (end - begin)[leaves])

    def to_tree(self, problem):
        """The tree with the best leaf values for the problem's training samples."""
        features, found, thresholds, left, right, n_at_leaf = self.result()
        weights, n_leaves = np.zeros((len(features), problem.X.shape[1])), len(n_at_leaf)
        np.put_along_axis(weights, features, found, axis=1)
        leaf = np.repeat(np.arange(n_leaves), n_at_leaf)
        values = problem.fit_leaves(leaf, np.asarray(self._samples), n_leaves)
        return Tree(weights, thresholds, left, right, values)

    def _reserve(self, n_splits):
        """Make room for directions."""
        if n_splits > self._features.shape[0]:
            more = max(n_splits, 2 * self._n_splits), self._k
            features, weights = np.empty(more, dtype=np.int32), np.empty(more)
            features[:self._n_splits] = self._features[:self._n_splits]
            weights[:self._n_splits] = self._weights[:self._n_splits]
            self._features, self._weights = features, weights

    cdef bint _is_splittable(self, Py_ssize_t node) noexcept nogil:
        """Tell whether a node is impure and large enough for a split."""
        cdef Py_ssize_t begin = self._begin[node], n = self._end[node] - begin, i
        if n < self._min_samples_split or self._depth[node] >= self._max_depth:
            return False
        if not self._splitter.criterion.start(&self._samples[begin], n):
            return False
        # If distinct values of every sample give no valid threshold, no direction does.
        for i in range(n):
            self._z[i] = i
        return self._splitter.cut_at(&self._z[0], n).gain > -INFINITY

    cdef void _search(
        self, Py_ssize_t node, const int32_t[:, ::1] features, const double[:, ::1] weights
    ) noexcept nogil:
        """Find the best split of the node that was started last."""
        cdef Py_ssize_t begin = self._begin[node], n = self._end[node] - begin, i, best = -1
        cdef Py_ssize_t split = self._n_splits
        cdef double gain = -INFINITY
        cdef Cut cut
        for i in range(features.shape[0]):
            self._project(&self._samples[begin], n, &features[i, 0], &weights[i, 0])
            cut = self._splitter.cut_at(&self._z[0], n)
            if cut.gain > -INFINITY and (best < 0 or cut.gain > gain + self._rounding * fabs(gain)):
                best, gain = i, cut.gain
        if best < 0:
            return
        self._set_direction(split, &features[best, 0], &weights[best, 0])
        # Sums of all products, in the order in which the tree takes them, may have other last bits.
        for i in range(n):
            self._z[i] = self._product(self._samples[begin + i], split)
        cut = self._splitter.cut_at(&self._z[0], n)
        gain = cut.gain * self._splitter.criterion.unit
        if cut.gain == -INFINITY or not gain >= self._min_gain:
            return
        self._threshold[split], self._gain[split] = midpoint(cut.low, cut.high), gain
        self._split_of[node], self._node_of[split] = <int32_t> split, <int32_t> node
        self._n_splits += 1
        self._push(<int32_t> split)

    cdef void _project(
        self, const int32_t *samples, Py_ssize_t n, const int32_t *features, const double *weights
    ) noexcept nogil:
        """Write the products of samples with a direction to `_z`."""
        cdef Py_ssize_t i, k
        cdef Sample x
        for i in range(n):
            if self._k == self._splitter.n_features:
                x = self._splitter.data.get(samples[i])
                self._z[i] = x.dot(x.values, x.indices, x.n, weights)
            else:
                self._z[i] = 0.0
                for k in range(self._k):
                    self._z[i] += weights[k] * self._splitter.columns.get(samples[i], features[k])

    cdef void _set_direction(
        self, Py_ssize_t split, const int32_t *features, const double *weights
    ) noexcept nogil:
        """Store a direction, its features in ascending order."""
        cdef Py_ssize_t k, place
        for k in range(self._k):
            place = k
            while place > 0 and self._features[split, place - 1] > features[k]:
                self._features[split, place] = self._features[split, place - 1]
                self._weights[split, place] = self._weights[split, place - 1]
                place -= 1
            self._features[split, place], self._weights[split, place] = features[k], weights[k]

    cdef double _product(self, Py_ssize_t sample, Py_ssize_t split) noexcept nogil:
        """Product of a sample with the direction of a split, as the tree computes it."""
        cdef Sample x = self._reader.get(sample)
        if self._k == self._splitter.n_features:
            return x.dot(x.values, x.indices, x.n, &self._weights[split, 0])
        return x.dot_sparse(x.values, x.indices, x.n, &self._weights[split, 0],
                            &self._features[split, 0], self._k)

    cdef bint _split_best(self) noexcept nogil:
        """Make the split with the largest gain; False if there is none, or no leaf may be added."""
        cdef Py_ssize_t split, node, i, begin, end, n_left = 0, n_right = 0
        cdef bint right
        cdef int32_t sample
        if self._n_waiting == 0 or self._n_nodes // 2 + 1 >= self._max_leaf_nodes:
            return False
        split = self._pop()
        node = self._node_of[split]
        begin, end = self._begin[node], self._end[node]
        for i in range(begin, end):
            sample = self._samples[i]
            right = self._product(sample, split) > self._threshold[split]
            self._right_samples[n_right] = sample
            self._samples[begin + n_left] = sample
            n_right += right
            n_left += not right
        if n_right:
            memcpy(&self._samples[begin + n_left], &self._right_samples[0],
                   n_right * sizeof(int32_t))
        self._child[node] = <int32_t> self._n_nodes
        self._add_node(begin, begin + n_left, self._depth[node] + 1)
        self._add_node(begin + n_left, end, self._depth[node] + 1)
        return True

    cdef void _add_node(self, Py_ssize_t begin, Py_ssize_t end, int32_t depth) noexcept nogil:
        self._begin[self._n_nodes], self._end[self._n_nodes] = <int32_t> begin, <int32_t> end
        self._depth[self._n_nodes] = depth
        self._n_nodes += 1

    cdef bint _before(self, int32_t a, int32_t b) noexcept nogil:
        """Tell whether split a is made before b: of equal gains, the one found first."""
        return self._gain[a] > self._gain[b] or (self._gain[a] == self._gain[b] and a < b)

    cdef void _push(self, int32_t split) noexcept nogil:
        cdef Py_ssize_t at = self._n_waiting
        self._n_waiting += 1
        while at > 0 and self._before(split, self._heap[(at - 1) // 2]):
            self._heap[at] = self._heap[(at - 1) // 2]
            at = (at - 1) // 2
        self._heap[at] = split

    cdef int32_t _pop(self) noexcept nogil:
        cdef int32_t first = self._heap[0], last
        cdef Py_ssize_t at = 0, below
        self._n_waiting -= 1
        last = self._heap[self._n_waiting]
        while 2 * at + 1 < self._n_waiting:
            below = 2 * at + 1
            if below + 1 < self._n_waiting and self._before(self._heap[below + 1],
                                                            self._heap[below]):
                below += 1
            if not self._before(self._heap[below], last):
                break
            self._heap[at] = self._heap[below]
            at = below
        self._heap[at] = last
        return first
