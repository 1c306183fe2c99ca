"""ShrinkLeaves: leaf values as means of samples, shrunk towards the means of the ancestors."""

from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ngdt._algorithm import OptimizerResult
from ngdt._structure import child_ids, sums_below
from ngdt.optimizers._base import Optimizer


class ShrinkLeaves(Optimizer):
    """Set leaf values to means of the training samples, shrunk towards those of the ancestors.

    Use it as the last optimizer of a list, for regression. Other optimizers choose the leaf values
    for their own objective, such as a bound on the loss; these are the values for the squared loss
    itself. Shrinkage reduces the variance of leaves with few samples.

    Parameters
    ----------
    pseudo_count : float, default=5.0
        Weight of the mean of the parent in the mean of each node, in samples.

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

    name = "shrink_leaves"

    _parameter_constraints: ClassVar[dict] = {
        "pseudo_count": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, *, pseudo_count=5.0):
        self.pseudo_count = pseudo_count

    def check(self, problem):
        super().check(problem)
        if problem.loss.is_classifier:
            raise ValueError("optimizer=ShrinkLeaves() is for regression only")

    def _optimize(self, tree, problem):
        samples, n_leaves = problem.training_samples, tree.n_leaves
        leaf, sample_weight = problem.apply(tree, samples), problem.sample_weight[samples]
        leaf_total = np.zeros((n_leaves, problem.n_outputs))
        np.add.at(leaf_total, leaf, sample_weight[:, None] * problem.y[samples])
        # Sums over every node, then over every leaf. Parents come before their children.
        total = sums_below(tree, leaf_total)
        weight_at_leaf = np.bincount(leaf, weights=sample_weight, minlength=n_leaves)
        count = sums_below(tree, weight_at_leaf)[:, None]
        mean = total / np.maximum(count, np.finfo(float).tiny)
        for node, children in enumerate(child_ids(tree)):
            for child in children:
                if count[child] + self.pseudo_count > 0:
                    mean[child] = (total[child] + self.pseudo_count * mean[node]) / (
                        count[child] + self.pseudo_count)
                else:
                    mean[child] = mean[node]
        return OptimizerResult(tree.replace(values=mean[tree.n_internal:]))
