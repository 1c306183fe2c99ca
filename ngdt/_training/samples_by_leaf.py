"""Samples sorted by leaf: the samples of a node are found without a search."""

import numpy as np


class SamplesByLeaf:
    """Samples in the order of the leaves that they reach. The samples of any node are one slice.

    Parameters
    ----------
    tree : Tree
    samples : ndarray of int32, shape (n,)
    leaf : ndarray of int32, shape (n,)
        Leaf of each sample.
    """

    def __init__(self, tree, samples, leaf):
        position, first, last = _leaf_order(tree)
        order = np.argsort(position[leaf], kind="stable")
        self.samples, self.leaf = samples[order], leaf[order]
        offsets = np.searchsorted(position[self.leaf], np.arange(tree.n_leaves + 1))
        # Leaf j is child ~j, the j-th from the end.
        self._start = offsets[np.concatenate([first, position[::-1]])]
        self._stop = offsets[np.concatenate([last, position[::-1]]) + 1]

    def bounds(self, children):
        """First and last place of the samples that reach each node, or leaf ~j."""
        return self._start[children], self._stop[children]

    def slice_of(self, child):
        """Slice of the samples that reach a node, or a leaf ~j."""
        return slice(*self.bounds(child))


def _leaf_order(tree):
    """Position of each leaf from left to right; first and last position below each node."""
    m = tree.n_internal
    position = np.empty(m + 1, dtype=np.intp)
    waiting, next_position = [0 if m else ~0], 0
    while waiting:
        child = waiting.pop()
        if child < 0:
            position[~child] = next_position
            next_position += 1
        else:
            waiting += [tree.children_right[child], tree.children_left[child]]
    first, last = np.empty(m, dtype=np.intp), np.empty(m, dtype=np.intp)
    for node in range(m - 1, -1, -1):
        left, right = tree.children_left[node], tree.children_right[node]
        first[node] = position[~left] if left < 0 else first[left]
        last[node] = position[~right] if right < 0 else last[right]
    return position, first, last
