from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ngdt import Tree
from ngdt.initializers import Initializer


class MedianTree(Initializer):
    """A complete tree that halves the samples of each node at the median of a random projection."""

    is_stochastic = True

    _parameter_constraints: ClassVar = {"depth": [Interval(Integral, 0, 20, closed="both"), None]}

    def __init__(self, depth=None):
        self.depth = depth

    def check(self, problem):
        super().check(problem)  # the types and ranges above
        if self.depth is None and problem.limits.max_depth is None:
            raise ValueError("MedianTree needs a depth, or an estimator with max_depth")

    def _initialize(self, problem):
        depth = problem.limits.max_depth if self.depth is None else self.depth
        rng = np.random.default_rng(problem.random_state)
        m, p = 2**depth - 1, problem.X.shape[1]
        node = np.arange(m)
        left, right = (np.where(c < m, c, ~(c - m)) for c in (2 * node + 1, 2 * node + 2))
        # Directions are drawn where all features have the same spread, and go back to raw features.
        weights, thresholds = problem.scaling.to_raw(rng.normal(size=(m, p)), np.zeros(m))
        waiting = [(0, problem.training_samples)] if m else []
        while waiting:
            i, samples = waiting.pop()
            projection = problem.data.project(samples, weights[i])
            thresholds[i] = np.median(projection) if len(samples) else 0.0
            goes_right = projection > thresholds[i]
            for child, side in ((2 * i + 1, ~goes_right), (2 * i + 2, goes_right)):
                if child < m:
                    waiting.append((child, samples[side]))
        leaves = np.zeros((m + 1, problem.n_outputs))
        return problem.refit_leaves(Tree(weights, thresholds, left, right, leaves))
