"""Structure of a tree whose nodes are networks, as a `Tree`; without PyTorch."""

import numpy as np

from ngdt._core.tree import Tree


def score_tree(children_left, children_right, values):
    """Make a tree whose features are the scores of its nodes.

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
