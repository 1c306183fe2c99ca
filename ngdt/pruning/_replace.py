"""Replacement of nodes by nodes or leaves below them, the common step of all pruning."""

import numpy as np

from ngdt._core.structure import child_ids
from ngdt._core.tree import Tree
from ngdt._util.validation import TINY, check_weight
from ngdt.inference import check_tree_and_samples
from ngdt.pruning._impurity import LeafTargets


def present_targets(tree, X, y, loss, sample_weight):
    """The `LeafTargets` of the samples of positive weight."""
    data, y, loss, _ = check_tree_and_samples(tree, X, y, loss)
    weight = check_weight(sample_weight, data.n_samples)
    present = np.flatnonzero(weight).astype(np.int32)
    return LeafTargets(tree.apply_samples(data, present), y[present], weight[present], loss)


def children_first(tree):
    """Pairs of a node and its two children, all int, children before parents."""
    left, right = child_ids(tree)[::-1].T.tolist()
    # No list of pairs: the garbage collector would look at each of them.
    return zip(reversed(range(tree.n_internal)), zip(left, right, strict=True), strict=True)


def identity(tree):
    """Replacement of each node and leaf by itself."""
    return np.arange(2 * tree.n_internal + 1)


def replace_subtrees(tree, replacement):
    """Replace some nodes by a node or leaf below them.

    `replacement` has the replacement of each node and leaf; leaves are counted after the nodes.
    """
    m = tree.n_internal
    if (replacement == identity(tree)).all():
        return tree
    for node in reversed(range(m)):
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
    """Turn some nodes of a tree into leaves.

    Parameters
    ----------
    tree : Tree
    is_leaf : ndarray of bool, shape (n_internal,)
        Nodes to turn into leaves; nodes and leaves below them are removed.

    Returns
    -------
    Tree
        A subtree is replaced by its first leaf. The tree itself if there is nothing to do.
    """
    return replace_subtrees(tree, first_leaves(tree, is_leaf))


def collapse_to(tree, is_leaf, values):
    """Turn some nodes of a tree into constant leaves.

    Parameters
    ----------
    tree : Tree
    is_leaf : ndarray of bool, shape (n_internal,)
        As for `collapse`.
    values : ndarray of shape (n_internal + n_leaves, n_outputs)
        What each node predicts as a leaf; only the rows of the nodes that become leaves are read.

    Returns
    -------
    Tree
    """
    replacement = first_leaves(tree, is_leaf)
    # Several nodes may have the same first leaf. The last that is written is the topmost.
    nodes = np.flatnonzero(is_leaf)[::-1]
    small = replace_subtrees(
        tree.make_constant(replacement[nodes] - tree.n_internal, values[nodes]), replacement)
    has_idle_slopes = small.slopes is not None and not small.slopes.any()
    return small.replace(values=small.values) if has_idle_slopes else small


def as_leaf_values(predictions, is_classifier):
    """Leaf values that predict these numbers, or probabilities, of which none can be 0."""
    return np.log(np.maximum(predictions, TINY)) if is_classifier else predictions


def first_leaves(tree, is_leaf):
    """Replacement of some nodes by the first leaf below them."""
    replacement = identity(tree)
    first = identity(tree)     # first leaf below each node
    for node, (left, _) in children_first(tree):
        first[node] = first[left]
        if is_leaf[node]:
            replacement[node] = first[node]
    return replacement


def places(tree, collapsed):
    """Nodes and leaves of a collapsed tree, by node and leaf of the tree before.

    Parameters
    ----------
    tree, collapsed : Tree
        The second as `collapse` returns it.

    Returns
    -------
    ndarray of int, shape (n_internal + n_leaves,)
        For each node and leaf of `tree`, the node or leaf of `collapsed`, or the leaf that has
        replaced it. Leaves are counted after the nodes.
    """
    place = np.zeros(2 * tree.n_internal + 1, dtype=np.intp)
    children = child_ids(collapsed)
    for node, below in enumerate(child_ids(tree)):
        is_node = place[node] < collapsed.n_internal
        place[below] = children[place[node]] if is_node else place[node]
    return place


def fit_replaced(tree, replacement, targets, is_taken=None):
    """Replace subtrees by leaves whose values are fitted to the samples that reach them.

    Parameters
    ----------
    tree : Tree
    replacement : ndarray of int
        As for `replace_subtrees`: leaves in place of some nodes.
    targets : LeafTargets
        Of the tree.
    is_taken : callable, default=None
        Takes the tree with the values of leaves below, and fitted values: a mask of the leaves
        that are to have these. None stands for all that have replaced a subtree.

    Returns
    -------
    Tree
    """
    small = replace_subtrees(tree, replacement)
    place = places(tree, small)
    leaf = place[tree.n_internal + targets.leaf] - small.n_internal
    fitted = targets._replace(leaf=leaf).fit_leaves(small)
    is_new = np.bincount(place[tree.n_internal:] - small.n_internal) > 1
    if is_taken is not None:
        is_new &= is_taken(small, fitted)
    return small.make_constant(is_new, fitted[is_new])
