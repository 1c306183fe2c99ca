"""Trees of which nodes or leaves are replaced by other trees."""

import numpy as np

from ngdt._core.structure import number_depth_first

# Limits of linear leaves that have none.
_UNLIMITED = np.finfo(np.float64).max * np.array([-1.0, 1.0])


def grafted(tree, subtrees):
    """Arrays of a tree with other trees in the place of some nodes or leaves.

    Of nested places, only the highest is used.

    Parameters
    ----------
    tree : Tree
    subtrees : dict of int to Tree
        By nodes, and leaves as ``~leaf``.

    Returns
    -------
    tuple
        Arguments of the constructor of `Tree`. Weights are dense.
    """
    dense = {}      # weight vectors of several trees are stacked

    def place(source, child, is_graft=False):
        # The same tree may be below itself.
        if not is_graft and child in subtrees:
            return subtrees[child], 0 if subtrees[child].n_internal else ~0, True
        return source, child, is_graft

    def children_of(item):
        source, child, is_graft = item
        if child < 0:
            return None
        return (place(source, source.children_left[child], is_graft),
                place(source, source.children_right[child], is_graft))

    def weights_of(source, node):
        if id(source) not in dense:
            dense[id(source)] = source.densify()
        return dense[id(source)].weights[node]

    root = place(tree, 0 if tree.n_internal else ~0)
    nodes, leaves, left, right = number_depth_first(root, children_of)
    weights = [weights_of(source, node) for source, node, _ in nodes]
    return (np.reshape(weights, (len(nodes), tree.n_features)),
            [source.thresholds[node] for source, node, _ in nodes], left, right,
            *_leaf_arrays([(source, ~child) for source, child, _ in leaves]))


def _leaf_arrays(leaves):
    """Values, slopes and ranges of leaves of several trees."""
    values = np.array([source.values[leaf] for source, leaf in leaves])
    if all(source.slopes is None for source, _ in leaves):
        return values, None, None
    slopes = np.zeros((*values.shape, leaves[0][0].n_features))
    ranges = np.tile(_UNLIMITED, (*values.shape, 1))
    for i, (source, leaf) in enumerate(leaves):
        if source.slopes is None:
            ranges[i] = values[i][:, None]
            continue
        slopes[i] = source.slopes[leaf]
        if source.ranges is not None:
            ranges[i] = source.ranges[leaf]
    has_ranges = any(source.ranges is not None for source, _ in leaves)
    return values, slopes, ranges if has_ranges else None


def choose_leaves(is_first, first, second):
    """A tree with the same splits as two trees, and leaves of either.

    Parameters
    ----------
    is_first : ndarray of bool, shape (n_leaves,)
        Which leaves are those of the first tree.
    first, second : Tree

    Returns
    -------
    Tree
    """
    values, slopes, ranges = _leaf_arrays(
        [(first if chosen else second, leaf) for leaf, chosen in enumerate(is_first)])
    return second.replace(values=values, slopes=slopes, ranges=ranges)
