"""Replacement of nodes by what is below them, the common step of all prunings."""

import numpy as np

from ngdt._core.structure import child_ids
from ngdt._core.tree import Tree
from ngdt._util.validation import check_weight
from ngdt.inference import check_samples


def present_samples(tree, data, sample_weight):
    """Leaf of each sample of positive weight, all weights, and the indices of these samples."""
    weight = check_weight(sample_weight, data.n_samples)
    present = np.flatnonzero(weight).astype(np.int32)
    return tree.apply_samples(data, present), weight, present


def present_targets(tree, X, y, loss, sample_weight):
    """Leaf, encoded target and weight of each sample of positive weight, and the loss."""
    data, y, loss, _ = check_samples(tree, X, y, loss)
    leaf, weight, present = present_samples(tree, data, sample_weight)
    return leaf, y[present], weight[present], loss


def children_first(tree):
    """Each node with its children, in an order in which children come before parents."""
    return reversed(list(enumerate(child_ids(tree))))


def identity(tree):
    """Replacement of each node and leaf by itself."""
    return np.arange(2 * tree.n_internal + 1)


def replace(tree, replacement):
    """The tree with some nodes replaced by a node or leaf below them.

    `replacement` holds for each node and leaf what replaces it; leaves are counted after the nodes.
    """
    m = tree.n_internal
    if (replacement == np.arange(2 * m + 1)).all():
        return tree
    for node in range(m - 1, -1, -1):
        replacement[node] = replacement[replacement[node]]
    children = replacement[child_ids(tree)]
    stays = np.zeros(2 * m + 1, dtype=bool)
    stays[replacement[0]] = True
    for node in range(m):
        stays[children[node]] |= stays[node]
    nodes, leaves = np.flatnonzero(stays[:m]), np.flatnonzero(stays[m:])
    number = np.empty(2 * m + 1, dtype=np.int32)
    number[nodes], number[m + leaves] = np.arange(len(nodes)), ~np.arange(len(leaves))
    left, right = number[children[nodes]].T
    return Tree(
        tree.weights[nodes], tree.thresholds[nodes], left, right, **tree.leaf_arrays(leaves))


def collapse(tree, is_leaf):
    """The tree with some nodes turned into leaves.

    Parameters
    ----------
    tree : Tree
    is_leaf : ndarray of bool, shape (n_internal,)
        Nodes to turn into leaves; what is below them goes as well.

    Returns
    -------
    Tree
        Where a subtree was, its first leaf is. The tree itself if there is nothing to do.
    """
    return replace(tree, first_leaves(tree, is_leaf))


def first_leaves(tree, is_leaf):
    """Replacement of some nodes by the first leaf below them."""
    replacement = identity(tree)
    first = identity(tree)     # first leaf below each node
    for node, children in children_first(tree):
        first[node] = first[children[0]]
        if is_leaf[node]:
            replacement[node] = first[node]
    return replacement


def places(tree, collapsed):
    """What each node and leaf of a tree has become in the tree with some nodes turned into leaves.

    Parameters
    ----------
    tree, collapsed : Tree
        The second as `collapse` returns it.

    Returns
    -------
    ndarray of int, shape (n_internal + n_leaves,)
        A node or leaf of `collapsed`: the leaf that has taken its place, if it is gone. Leaves are
        counted after the nodes.
    """
    place = np.zeros(2 * tree.n_internal + 1, dtype=np.intp)
    children = child_ids(collapsed)
    for node, below in enumerate(child_ids(tree)):
        is_node = place[node] < collapsed.n_internal
        place[below] = children[place[node]] if is_node else place[node]
    return place


def fit_replaced(tree, replacement, leaf, y, weight, loss):
    """Leaf values fitted after subtrees were replaced by leaves, and the leaves that did so."""
    m = tree.n_internal
    part_of = np.arange(2 * m + 1)      # the leaf that replaces the subtree around, or itself
    for node, children in enumerate(child_ids(tree)):
        if part_of[node] == node:
            part_of[node] = replacement[node]
        if part_of[node] != node:
            part_of[children] = part_of[node]
    fitted = loss.fit_leaves(
        part_of[m + leaf] - m, y, weight, tree.n_leaves, tree.n_outputs)
    return fitted, np.unique(part_of[:m][part_of[:m] >= m]) - m
