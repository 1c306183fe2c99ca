"""Samples sorted by leaf: the samples of a node are found without a search."""

import numpy as np

from ngdt._core.structure import child_ids, sums_below


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
        m, children = tree.n_internal, child_ids(tree).tolist()
        n_below, first = sums_below(tree, np.ones(m + 1)).astype(int).tolist(), [0] * (2 * m + 1)
        # Of all leaves from left to right: the first below each node, then each leaf.
        for node, (left, right) in enumerate(children):
            first[left], first[right] = first[node], first[node] + n_below[left]
        first = np.array(first, dtype=np.intp)
        order = np.argsort(first[m + leaf], kind="stable")
        self.samples, self.leaf = samples[order], leaf[order]
        offsets = np.searchsorted(first[m + self.leaf], np.arange(tree.n_leaves + 1))
        # Leaf j is child ~j, the j-th from the end.
        self._start, self._stop = (
            np.concatenate([place[:m], place[m:][::-1]])
            for place in (offsets[first], offsets[first + n_below]))

    def bounds(self, children):
        """First and last place of the samples that reach each node, or leaf ~j."""
        return self._start[children], self._stop[children]

    def slice_of(self, child):
        """Slice of the samples that reach a node, or a leaf ~j."""
        return slice(*self.bounds(child))
