import numpy as np

from ngdt import Tree
from ngdt.initializers import Initializer
from ngdt.optimizers import Optimizer


class RandomSplits(Initializer):
    """A complete tree of random splits that pass near the middle of the data."""

    def initialize(self, problem):
        rng = np.random.default_rng(problem.random_state)
        m = 2**problem.max_depth - 1
        ids = np.arange(m)
        left, right = (np.where(c < m, c, ~(c - m)) for c in (2 * ids + 1, 2 * ids + 2))
        weights = rng.normal(size=(m, problem.X.shape[1]))
        thresholds = weights @ np.asarray(problem.X.mean(axis=0)).ravel()
        tree = Tree(weights, thresholds, left, right, np.zeros((m + 1, problem.n_outputs)))
        return RefitLeaves().optimize(tree, problem)[0]


class RefitLeaves(Optimizer):
    """Leave the splits as they are and compute the leaves anew."""

    def check(self, problem):
        super().check(problem)  # raise a ValueError here if this step cannot work on the problem

    def optimize(self, tree, problem):
        values = problem.loss.fit_leaves(
            tree.apply(problem.X), problem.y, problem.sample_weight, tree.n_leaves, problem.n_outputs
        )
        return tree.replace(values=values), {}  # no epochs, so nothing for history_
