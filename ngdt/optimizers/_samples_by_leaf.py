"""Samples sorted by leaf, so that those that reach a node need no search."""

import numpy as np


class SamplesByLeaf:
    """Samples in the order of the leaves they reach: those below any node are one slice.

    Parameters
    ----------
    tree : Tree
    samples : ndarray of int32, shape (n,)
    leaf : ndarray of int32, shape (n,)
        Where each of them is.
    """

    def __init__(self, tree, samples, leaf):
        place, first, last = _leaf_order(tree)
        order = np.argsort(place[leaf], kind="stable")
        self.samples, self.leaf = samples[order], leaf[order]
        start = np.searchsorted(place[self.leaf], np.arange(tree.n_leaves + 1))
        # Leaf j is child ~j, the j-th from the end.
        self._start = start[np.concatenate([first, place[::-1]])]
        self._stop = start[np.concatenate([last, place[::-1]]) + 1]

    def slice_of(self, child):
        """Slice of the samples that reach a node, or a leaf ~j."""
        return slice(self._start[child], self._stop[child])


def _leaf_order(tree):
    """Place of each leaf from left to right, and the first and last place below each node."""
    m = tree.n_internal
    place = np.empty(m + 1, dtype=np.intp)
    waiting, next_place = [0 if m else ~0], 0
    while waiting:
        child = waiting.pop()
        if child < 0:
            place[~child] = next_place
            next_place += 1
        else:
            waiting += [tree.children_right[child], tree.children_left[child]]
    first, last = np.empty(m, dtype=np.intp), np.empty(m, dtype=np.intp)
    for node in range(m - 1, -1, -1):
        left, right = tree.children_left[node], tree.children_right[node]
        first[node] = place[~left] if left < 0 else first[left]
        last[node] = place[~right] if right < 0 else last[right]
    return place, first, last
