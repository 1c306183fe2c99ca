"""Samples sorted by leaf, so that those that reach a node need no search."""

import numpy as np


class ByLeaf:
    """Samples in the order of the leaves they reach: those below any node are one slice."""

    def __init__(self, tree, rows, samples):
        leaf = tree._apply_at(rows, samples)
        place, self._first, self._last = _leaf_order(tree)
        order = np.argsort(place[leaf], kind="stable")
        self.samples, self.leaf = samples[order], leaf[order]
        self._start = np.searchsorted(place[self.leaf], np.arange(tree.n_leaves + 1))

    def below(self, node):
        return slice(self._start[self._first[node]], self._start[self._last[node] + 1])


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
