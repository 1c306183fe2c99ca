"""ShrinkLeaves, for regression: the best leaf values, shrunk towards those of the ancestors."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ngdt._core.structure import levels, parents
from ngdt._methods.optimizer import Optimizer
from ngdt._training.progress import OptimizerResult
from ngdt._util.validation import NOT_NEGATIVE


@dataclass(eq=False, repr=False, kw_only=True)
class ShrinkLeaves(Optimizer):
    """Set leaf values to the best for the training samples, shrunk towards the ancestors' values.

    Use it as the last optimizer of a list, for regression. Other optimizers choose the leaf values
    for their own objective, such as a bound on the loss; this one sets those for the loss itself.
    Shrinkage reduces the variance of leaves with few samples.

    Parameters
    ----------
    pseudo_count : float, default=5.0
        Weight of the prediction of the parent among the targets of each node, in samples.

    Notes
    -----
    Deviation: not in the papers. From the root down, each node is fitted to its targets and, with
    the weight `pseudo_count`, to the prediction of its parent. For the squared loss, this is
    ``(sum of the targets + pseudo_count * mean of the parent) / (weight + pseudo_count)``.

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
    winsorizes = False
    regularizes = True

    _parameter_constraints: ClassVar[dict] = {
        "pseudo_count": [NOT_NEGATIVE],
    }

    pseudo_count: float = 5.0

    def check(self, problem):
        super().check(problem)
        if problem.loss.is_classifier:
            raise ValueError(
                "optimizer=ShrinkLeaves() is for regression only: for classes, leave it out, and "
                "give the loss a larger pseudo_count, as in loss=LogLoss(5)")

    def _optimize(self, tree, problem):
        samples, loss = problem.training_samples, problem.loss
        leaf, y = problem.apply(tree, samples), problem.y[samples]
        sample_weight = problem.sample_weight[samples]
        values = np.empty((tree.n_internal + tree.n_leaves, problem.n_outputs))
        parent = parents(tree)
        for level in levels(tree):
            nodes = np.unique(level[level >= 0])
            here = np.flatnonzero(level[leaf] >= 0)
            at = np.searchsorted(nodes, level[leaf[here]])
            targets, weight = y[here], sample_weight[here]
            above = parent[nodes]
            if above[0] >= 0:
                values[nodes] = values[above]
                at = np.concatenate([at, np.arange(len(nodes))])
                targets = np.concatenate([targets, loss.decode(values[above])])
                weight = np.append(weight, np.full(len(nodes), float(self.pseudo_count)))
            # A node of weight zero keeps the values of its parent.
            known = np.bincount(at, weight, len(nodes)) > 0
            if known.any():
                fitted = loss.fit_leaves(at, targets, weight, len(nodes), problem.n_outputs)
                values[nodes[known]] = fitted[known]
        return OptimizerResult(tree.replace(values=values[tree.n_internal:]))
