"""Leaf values from the rows that reach the leaves, shrunk towards those of the nodes above."""

from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ngdt.optimizers._base import Optimizer


class ShrinkLeaves(Optimizer):
    """Set leaf values to means of the training rows, shrunk towards the means above.

    Ends a chain for regression: training leaves the values where the bound is small, but what a
    tree is judged by is the squared loss itself, and a leaf with few rows is better off borrowing
    from its ancestors.

    Parameters
    ----------
    pseudo_count : float, default=5.0
        Samples' worth of the parent's mean that enter each node's.

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

    def optimize(self, tree, problem):
        rows, n_leaves = problem.training_samples, tree.n_leaves
        leaf, weight = tree._apply_at(problem.data, rows), problem.sample_weight[rows]
        at_leaf = np.zeros((n_leaves, problem.n_outputs))
        np.add.at(at_leaf, leaf, weight[:, None] * problem.y[rows])
        # Of every node, then of every leaf; from here on, parents come before their children.
        total = tree._sums_below(at_leaf)
        count = tree._sums_below(np.bincount(leaf, weights=weight, minlength=n_leaves))[:, None]
        mean = total / np.maximum(count, np.finfo(float).tiny)
        for node, children in enumerate(tree._children()):
            for child in children:
                if count[child] + self.pseudo_count > 0:
                    mean[child] = (total[child] + self.pseudo_count * mean[node]) / (
                        count[child] + self.pseudo_count)
                else:
                    mean[child] = mean[node]
        return tree.replace(values=mean[tree.n_internal:]), {}
