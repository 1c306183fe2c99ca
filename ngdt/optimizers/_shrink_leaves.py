"""Leaf values from the rows that reach the leaves, shrunk towards those of the nodes above."""

from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ngdt._inference import Topology
from ngdt._rows import Rows
from ngdt._tree import Tree
from ngdt.optimizers._base import Optimizer


class ShrinkLeaves(Optimizer):
    """Set leaf values to means of the training rows, shrunk towards the means above.

    Ends a chain for regression: training leaves the values where the bound is small, but what a
    tree is judged by is the squared loss itself, and a leaf with few rows is better off borrowing
    from its ancestors.

    Parameters
    ----------
    pseudo_count : float, default=5.0
        Rows' worth of the parent's mean that enter each node's.

    Notes
    -----
    Deviation: not in the papers. From the root down, the mean of a node is replaced by
    ``(sum of its targets + pseudo_count * mean of the parent) / (its weight + pseudo_count)``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from ngdt import ObliqueTreeRegressor
    >>> from ngdt.optimizers import ShrinkLeaves
    >>> tree = ObliqueTreeRegressor(max_depth=4, optimizer=ShrinkLeaves(), random_state=0)
    >>> tree.fit(*load_diabetes(return_X_y=True)).tree_.n_leaves
    16
    """

    _parameter_constraints: ClassVar[dict] = {
        "pseudo_count": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, *, pseudo_count=5.0):
        self.pseudo_count = pseudo_count

    def check(self, problem):
        super().check(problem)
        if problem.loss.is_classifier:
            raise ValueError("ShrinkLeaves averages regression targets; it cannot serve the "
                             f"{problem.loss.name} loss")

    def improve(self, tree, problem):
        rows = np.flatnonzero(problem.weight > 0).astype(np.int32)
        leaf = tree._apply_at(Rows(problem.X), rows)
        m, weight = tree.n_internal, problem.weight[rows]
        parent = Topology(tree).parents()
        # Sums by node, leaves after the internal nodes, children added to their parents.
        count = np.bincount(m + leaf, weights=weight, minlength=2 * m + 1)
        total = np.zeros((2 * m + 1, problem.n_outputs))
        np.add.at(total, m + leaf, weight[:, None] * problem.y[rows])
        for node in [*range(m, 2 * m + 1), *range(m - 1, 0, -1)]:
            if parent[node] >= 0:
                count[parent[node]] += count[node]
                total[parent[node]] += total[node]
        mean = total / np.maximum(count, np.finfo(float).tiny)[:, None]
        for node in range(1, 2 * m + 1):
            above = self.pseudo_count * mean[parent[node]]
            if count[node] + self.pseudo_count > 0:
                mean[node] = (total[node] + above) / (count[node] + self.pseudo_count)
            else:
                mean[node] = mean[parent[node]]
        values = mean[m:]
        return Tree(tree.weights, tree.thresholds, tree.children_left, tree.children_right,
                    values), {}
