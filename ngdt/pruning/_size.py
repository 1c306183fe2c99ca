"""Subtree of least error with a given number of leaves."""

import numpy as np

from ngdt.pruning._unused import keep_reached


def prune_to_size(tree, error, n_leaves):
    """Replace subtrees by leaves, with the least error for a number of leaves.

    Parameters
    ----------
    tree : Tree
    error : ndarray of float64, shape (n_internal + n_leaves,)
        Error of each internal node if it were a leaf, then of each leaf.
    n_leaves : int
        Largest number of leaves. Of equally good trees, the smallest is taken.

    Returns
    -------
    Tree
        A subtree is replaced by its first leaf.
    """
    n_leaves = min(n_leaves, tree.n_leaves)
    # By child id: the least error with at most 1, 2, ... leaves, up to the number below the node.
    least = {~leaf: each for leaf, each in enumerate(error[tree.n_internal:, None])}
    for node in reversed(range(tree.n_internal)):
        n_below = len(least[tree.children_left[node]]) + len(least[tree.children_right[node]])
        errors = least[node] = np.full(min(n_below, n_leaves), error[node])
        for extra in range(1, len(errors)):
            errors[extra] = min(errors[extra - 1], _shares(tree, least, node, extra)[1].min())
    kept = np.zeros(tree.n_leaves, dtype=bool)
    waiting = [(0 if tree.n_internal else ~0, n_leaves - 1)]
    while waiting:
        child, extra = waiting.pop()
        while extra and least[child][extra] == least[child][extra - 1]:
            extra -= 1
        if extra:
            first, errors = _shares(tree, least, child, extra)
            left = first + int(errors.argmin())
            waiting += [(tree.children_left[child], left),
                        (tree.children_right[child], extra - 1 - left)]
        else:
            while child >= 0:
                child = tree.children_left[child]
            kept[~child] = True
    return keep_reached(tree, kept)


def _shares(tree, least, node, extra):
    """Errors of a node with `extra` + 1 leaves, by the extra leaves of its left child.

    Returns
    -------
    first : int
        Extra leaves of the left child for the first of them.
    errors : ndarray
    """
    left, right = least[tree.children_left[node]], least[tree.children_right[node]]
    first, stop = max(0, extra - len(right)), min(extra, len(left))
    return first, left[first:stop] + right[extra - stop:extra - first][::-1]
