"""Samples sorted by leaf: the samples of a node are found without a search.

Node i is i here, and leaf j is n_internal + j, as in `ngdt._core.structure`.
"""

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
        self._start, self._stop = offsets[first], offsets[first + n_below]

    def bounds(self, ids):
        """First and last place of the samples that reach each of some nodes and leaves."""
        return self._start[ids], self._stop[ids]

    def slice_of(self, id):
        """Slice of the samples that reach a node or a leaf."""
        return slice(*self.bounds(id))
