"""Removal of branches that no sample reaches, and of splits that decide nothing."""

import numpy as np

from ngdt._core.structure import child_ids, sums_below
from ngdt._core.tree import check_is_tree
from ngdt._util.validation import check_matrix, check_weight
from ngdt.pruning._replace import identity, replace_subtrees


def prune_dead_branches(tree, X, *, sample_weight=None):
    """Remove the branches that no sample reaches.

    A split that sends all samples to one child is replaced by that child. Predictions for the given
    samples stay the same; those for other samples may change.

    Parameters
    ----------
    tree : Tree
    X : array-like or CSR matrix of shape (n_samples, n_features)
    sample_weight : array-like of shape (n_samples,), default=None
        Samples of weight zero are ignored.

    Returns
    -------
    Tree
        The tree itself if every leaf is reached.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid; the message names it.

    Examples
    --------
    >>> from ngdt import Tree
    >>> from ngdt.pruning import prune_dead_branches
    >>> tree = Tree([[1.0], [1.0]], [0.0, 5.0], [~0, ~1], [1, ~2], [[1.0], [2.0], [3.0]])
    >>> prune_dead_branches(tree, [[-1.0], [2.0]])
    Tree(n_internal=1, n_leaves=2, n_features=1, n_outputs=1, max_depth=1)
    """
    check_is_tree(tree)
    data = tree.samples_of(check_matrix(X))
    weight = check_weight(sample_weight, data.n_samples)
    return keep_reached(tree, np.bincount(tree.apply_samples(data), weight, tree.n_leaves) > 0)


def prune_zero_weight_nodes(tree):
    """Remove the splits whose weights are all zero.

    The threshold of such a node sends every sample to the same child, which replaces the node.
    Predictions stay the same for every sample.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    Tree
        The tree itself if there is no such node.

    Raises
    ------
    TypeError
        If `tree` is not a `Tree`.

    Examples
    --------
    >>> from ngdt import Tree
    >>> from ngdt.pruning import prune_zero_weight_nodes
    >>> tree = Tree([[1.0], [0.0]], [0.0, 5.0], [~0, ~1], [1, ~2], [[1.0], [2.0], [3.0]])
    >>> prune_zero_weight_nodes(tree).values.tolist()
    [[1.0], [2.0]]
    """
    check_is_tree(tree)
    n_nonzero = (tree.weights != 0).sum(axis=1)
    replacement, children = identity(tree), child_ids(tree)
    for node in np.flatnonzero(n_nonzero == 0):
        replacement[node] = children[node, int(tree.thresholds[node] < 0)]
    return replace_subtrees(tree, replacement)


def keep_reached(tree, reached):
    """Remove the leaves that are not reached.

    Parameters
    ----------
    tree : Tree
    reached : ndarray of bool, shape (n_leaves,)
        At least one is True.

    Returns
    -------
    Tree
    """
    replacement, children = identity(tree), child_ids(tree)
    is_alive = (sums_below(tree, reached) > 0)[children]
    has_one = np.flatnonzero(is_alive.sum(axis=1) == 1)
    replacement[has_one] = children[has_one, is_alive[has_one].argmax(axis=1)]
    return replace_subtrees(tree, replacement)
