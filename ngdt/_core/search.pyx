"""Search for the leaf with the largest loss minus price, or the smallest loss plus price.

The price of flipping the decision of node i is 2|s_i|: max_h h'Wx is the sum of |s_i|, from which
each decision that differs from sgn(s_i) takes 2|s_i| (eq. 12). Norouzi (2015), eq. (7), is the
largest "loss minus price" over all leaves; eq. (13) allows one flip only; the smallest "loss plus
price" is not in the paper (cost-diminished inference, which assigns samples to leaves). All three
are one search, `Search.find`, with a sign and a radius: the number of decisions that may differ
from sgn(Wx).

Scores are dot products of length n_features; they are most of the cost. Each is computed when first
needed, at most once per sample, so all searches for one sample share them. Without pruning, a
search visits all nodes; with it, those below which a better leaf may lie.

`Topology` is read-only. `LeafBoxes` is written by `refresh` alone, when no search runs. A `Search`
holds the state of one sample: one object per thread.
"""

import numpy as np

from ngdt._core.structure import child_ids, flip_matrix, parents

cimport cython
from libc.math cimport fabs

from ngdt._core.flat_tree cimport FlatTree
from ngdt._core.samples cimport Samples, dense_score

# Allowed number of flips: the Hamming ball of eq. (13), or any number for eq. (7).
RADIUS = {"fast": 1, "full": np.iinfo(np.int32).max}


@cython.final
cdef class Topology:
    """Children, parents and depths of a tree in one id space."""

    def __init__(self, FlatTree tree):
        self.n_internal, self.max_depth = tree.n_internal, tree.max_depth
        # Two arrays: a step down reads one of the sides, not both.
        self.left, self.right = np.ascontiguousarray(child_ids(tree).T)
        self.parent = parents(tree)
        self.depth = np.concatenate([tree._node_depths, tree._leaf_depths])


@cython.final
cdef class LeafBoxes:
    """Range of the leaf profiles below every node, kept exact as leaves change."""

    def __init__(self, Topology topology, Loss loss, const double[:, ::1] values, prune=True):
        cdef int m = topology.n_internal, j, node
        self.topology = topology
        self.loss = loss
        self.n_outputs = values.shape[1]
        # An unpruned search takes any loss to be possible below a node.
        # Ranges of leaves are written in any case: at a leaf, the loss has to be exact.
        self.lo = np.full((2 * m + 1, self.n_outputs), -np.inf)
        self.hi = np.full((2 * m + 1, self.n_outputs), np.inf)
        for j in range(m + 1):
            self.set_leaf(j, &values[j, 0])
        if prune:
            # Children have larger numbers than their parents, so that backwards they come first.
            for node in range(m - 1, -1, -1):
                self.merge_children(node)

    cdef void set_leaf(self, int leaf, const double *values) noexcept nogil:
        cdef int c, id = self.topology.n_internal + leaf
        self.loss.profile(values, self.n_outputs, &self.lo[id, 0])
        for c in range(self.n_outputs):
            self.hi[id, c] = self.lo[id, c]

    cdef bint merge_children(self, int node) noexcept nogil:
        """Recompute the range of a node; tell whether it changed."""
        cdef int c
        cdef double *lo = &self.lo[node, 0]
        cdef double *hi = &self.hi[node, 0]
        cdef const double *lo_left = &self.lo[self.topology.left[node], 0]
        cdef const double *hi_left = &self.hi[self.topology.left[node], 0]
        cdef const double *lo_right = &self.lo[self.topology.right[node], 0]
        cdef const double *hi_right = &self.hi[self.topology.right[node], 0]
        cdef double low, high
        cdef bint changed = False
        for c in range(self.n_outputs):
            # Comparisons, as fmin and fmax are not inlined.
            low = lo_left[c] if lo_left[c] < lo_right[c] else lo_right[c]
            high = hi_left[c] if hi_left[c] > hi_right[c] else hi_right[c]
            # Bitwise, so that the loop has no branch.
            changed |= (low != lo[c]) | (high != hi[c])
            lo[c] = low
            hi[c] = high
        return changed

    cdef void refresh(self, int leaf, const double *values) noexcept nogil:
        """Take new values of a leaf. Above an ancestor whose range stays as it was, all do."""
        self.set_leaf(leaf, values)
        cdef int node = self.topology.parent[self.topology.n_internal + leaf]
        while node >= 0 and self.merge_children(node):
            node = self.topology.parent[node]


@cython.final
cdef class Search:
    """Scratch and state of the searches for one sample at a time; one object per thread."""

    def __init__(self, LeafBoxes boxes):
        cdef int m = boxes.topology.n_internal
        self.topology = boxes.topology
        self.boxes = boxes
        self.loss = boxes.loss
        self.n_outputs = boxes.n_outputs
        self.score_of = np.empty(m + 1)
        self.scored_at = np.zeros(m + 1, dtype=np.uint32)
        self.tick = 0
        self.path = np.empty(self.topology.max_depth + 1, dtype=np.int32)
        # Subtrees on the stack are disjoint: there are no more of them than leaves.
        self.stack_node = np.empty(m + 1, dtype=np.int32)
        self.stack_flips = np.empty(m + 1, dtype=np.int32)
        self.stack_price = np.empty(m + 1)

    cdef void bind(
            self, const char *weights, Py_ssize_t stride, const double *thresholds, object owner):
        """Point to the split parameters. `owner` keeps them alive; they may change in place."""
        self.weights = weights
        self.stride = stride
        self.thresholds = thresholds
        self._owner = owner

    cdef double score(self, int node) noexcept nogil:
        # Stamps instead of flags: to clear a flag per node would cost more, for each sample, than
        # to score the few nodes that its searches visit.
        if self.scored_at[node] != self.tick:
            self.scored_at[node] = self.tick
            self.score_of[node] = dense_score(
                &self.x, self.weights + node * self.stride, self.thresholds[node])
            self.n_scored += 1
        return self.score_of[node]

    cdef double potential(self, int node, int sign) noexcept nogil:
        """An upper bound on sign * loss of the leaves below; at a leaf, it is that."""
        if sign > 0:
            return self.loss.largest(
                &self.boxes.lo[node, 0], &self.boxes.hi[node, 0], self.n_outputs, self.y)
        return -self.loss.smallest(
            &self.boxes.lo[node, 0], &self.boxes.hi[node, 0], self.n_outputs, self.y)

    cdef void begin(self, Sample x, const double *y) noexcept nogil:
        """Start on a sample: discard the scores of the one before, and route."""
        self.x = x
        self.y = y
        # Scores depend on weights that may have changed since this sample was seen last.
        self.tick += 1
        if self.tick == 0:      # the counter wrapped around: old stamps would look fresh
            self.scored_at[:] = 0
            self.tick = 1
        self.leaf = self.descend(&self.x, True)
        self.path_length = self.topology.depth[self.topology.n_internal + self.leaf]
        self.n_scored = self.path_length
        self._sort_path()

    cdef void _sort_path(self) noexcept nogil:
        """Order the visited nodes by the price of a flip there, cheapest first, ties root first."""
        cdef int i, j, node
        cdef double size
        # Insertion: paths are short, and ties keep the order from the root, which
        # decides between leaves of equal value.
        for i in range(1, self.path_length):
            node = self.path[i]
            size = fabs(self.score_of[node])
            j = i
            while j > 0 and fabs(self.score_of[self.path[j - 1]]) > size:
                self.path[j] = self.path[j - 1]
                j -= 1
            self.path[j] = node

    cdef Found find(self, int sign, int radius) noexcept nogil:
        """Leaf with the largest sign * loss - price among codes at most `radius` flips away.

        Ties: the leaf that the sample reaches wins, then the first leaf met. A subtree is skipped
        where even its most extreme loss, less the price so far, does not beat the best leaf found.
        The value that is found is "loss - price" with the sign 1, and "loss + price" with -1.
        Prices only grow on the way down and potentials only shrink, in floating point too, so the
        result is that of the unpruned search.
        """
        cdef int m = self.topology.n_internal, i, node, other, flips, top
        # Of no leaf, sign * loss is larger than below the root: where this, less the price of the
        # cheapest flip, does not win, the search is over after one look.
        cdef double most = self.potential(0, sign), price, flip_price, value
        cdef Found best
        best.leaf = self.leaf
        best.value = self.potential(m + self.leaf, sign)
        for i in range(self.path_length):
            node = self.path[i]
            price = 2.0 * fabs(self.score_of[node])
            if not most - price > best.value:
                break           # the later flips cost more still
            self.stack_node[0] = self._sibling_of_choice(node)
            self.stack_price[0] = price
            self.stack_flips[0] = 1
            top = 1
            # Depth first, the sample's own choice before the flip: good leaves are met early, and
            # prune what is on the stack.
            while top > 0:
                top -= 1
                node = self.stack_node[top]
                price = self.stack_price[top]
                flips = self.stack_flips[top]
                while True:
                    value = self.potential(node, sign) - price
                    # `not >` instead of `<=`: a price that has overflowed to NaN is no better.
                    if not value > best.value:
                        break
                    if node >= m:
                        best.leaf = node - m
                        best.value = value
                        break
                    other = self._sibling_of_choice(node)
                    if flips < radius:
                        flip_price = price + 2.0 * fabs(self.score_of[node])
                        # Tested before it is put on the stack, and again when it is taken off: by
                        # then, the best leaf may be better.
                        if self.potential(other, sign) - flip_price > best.value:
                            self.stack_node[top] = other
                            self.stack_price[top] = flip_price
                            self.stack_flips[top] = flips + 1
                            top += 1
                    # The other child of the two, without a comparison. Going on with it is free of
                    # charge; what waits on the stack costs more, so that the best leaf is mostly
                    # found first.
                    node = self.topology.left[node] + self.topology.right[node] - other
        best.value *= sign
        return best

    cdef int _sibling_of_choice(self, int node) noexcept nogil:
        """The child that the sample does not go to."""
        if self.score(node) > 0.0:
            return self.topology.left[node]
        return self.topology.right[node]

    cdef double price(self, int leaf) noexcept nogil:
        """Price of all flips on the way to a leaf."""
        cdef int id = self.topology.n_internal + leaf, parent = self.topology.parent[id]
        # From the leaf upwards: parents are stored, the paths to leaves are not.
        cdef double total = 0.0, s
        while parent >= 0:
            s = self.score(parent)
            if (s > 0.0) != self.topology.goes_right(id):
                total += 2.0 * fabs(s)
            id = parent
            parent = self.topology.parent[id]
        return total

    cdef int _flips(self, int leaf, int32_t *nodes, int8_t *decisions) noexcept nogil:
        """Write the nodes to flip on the way to a leaf and their new decisions; return how many."""
        cdef int id = self.topology.n_internal + leaf, parent = self.topology.parent[id], n = 0
        while parent >= 0:
            if (self.score(parent) > 0.0) != self.topology.goes_right(id):
                nodes[n] = parent
                decisions[n] = 1 if self.topology.goes_right(id) else -1
                n += 1
            id = parent
            parent = self.topology.parent[id]
        return n


cdef Search _search_for(FlatTree tree, LeafBoxes boxes):
    cdef Search search = Search(boxes)
    # Each node is scored at most once a sample, but by any sample: rows that lie one behind the
    # other are read faster than lists of nonzeros.
    tree = tree.densify()       # the same scores
    if tree.n_internal:
        search.bind(
            <const char *> &tree._weights[0, 0], tree.n_features * sizeof(double),
            &tree._thresholds[0], tree)
    return search


def search_samples(FlatTree tree, Samples data, const double[:, ::1] y, Loss loss, int sign,
                   int radius, prune):
    """`Search.find` for every sample: leaf, flips, value, n_scored."""
    cdef Topology topology = Topology(tree)
    cdef Search search = _search_for(tree, LeafBoxes(topology, loss, tree.values, prune))
    cdef Py_ssize_t n = data.n_samples, i
    leaves, values = np.empty(n, dtype=np.int32), np.empty(n)
    counts, n_scored = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    # A path has no more flips than it has nodes, nor than the radius allows.
    width = max(1, min(topology.max_depth, radius))
    nodes, decisions = np.empty((n, width), dtype=np.int32), np.empty((n, width), dtype=np.int8)
    cdef int32_t[::1] leaf = leaves, count = counts, scored = n_scored
    cdef double[::1] value = values
    cdef int32_t[:, ::1] flipped = nodes
    cdef int8_t[:, ::1] decision = decisions
    cdef Found found
    with nogil:
        for i in range(n):
            search.begin(data.get(i), &y[i, 0])
            found = search.find(sign, radius)
            leaf[i] = found.leaf
            value[i] = found.value
            scored[i] = search.n_scored
            count[i] = search._flips(found.leaf, &flipped[i, 0], &decision[i, 0])
    return leaves, flip_matrix(nodes, decisions, counts, tree.n_internal), values, n_scored


def price_samples(FlatTree tree, Samples data, const int32_t[::1] leaves):
    """Price of the path to a given leaf for every sample, and the flips on it."""
    cdef Topology topology = Topology(tree)
    # No loss is evaluated here.
    cdef Search search = _search_for(
        tree, LeafBoxes(topology, Loss(), tree.values, True))
    cdef Py_ssize_t n = data.n_samples, i
    prices, counts = np.empty(n), np.empty(n, dtype=np.int32)
    width = max(1, topology.max_depth)
    nodes, decisions = np.empty((n, width), dtype=np.int32), np.empty((n, width), dtype=np.int8)
    cdef double[::1] price = prices
    cdef int32_t[::1] count = counts
    cdef int32_t[:, ::1] flipped = nodes
    cdef int8_t[:, ::1] decision = decisions
    with nogil:
        for i in range(n):
            search.begin(data.get(i), NULL)
            price[i] = search.price(leaves[i])
            count[i] = search._flips(leaves[i], &flipped[i, 0], &decision[i, 0])
    return prices, flip_matrix(nodes, decisions, counts, tree.n_internal)
