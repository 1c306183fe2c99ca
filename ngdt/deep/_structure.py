"""The structure of a tree whose nodes are networks, as a `Tree`; without PyTorch."""

import numpy as np

from ngdt._tree import Tree


def balanced_children(n_leaves):
    """Children of a tree whose leaves differ in depth by one at most, level by level.

    Parameters
    ----------
    n_leaves : int

    Returns
    -------
    children_left, children_right : ndarray of int32, shape (n_leaves - 1,)
        As in `Tree`.
    """
    m = n_leaves - 1
    child = np.arange(1, 2 * m + 1, dtype=np.int32).reshape(m, 2)
    child[child >= m] = ~(child[child >= m] - m)
    return child[:, 0].copy(), child[:, 1].copy()


def score_tree(children_left, children_right, values):
    """The tree whose features are the scores of its nodes.

    Parameters
    ----------
    children_left, children_right, values : ndarray
        As in `Tree`.

    Returns
    -------
    Tree
        Node `i` sends a sample to the right where feature `i` is positive. A single leaf has one
        feature, too.
    """
    m = len(children_left)
    return Tree(np.eye(m, max(m, 1)), np.zeros(m), children_left, children_right, values)
