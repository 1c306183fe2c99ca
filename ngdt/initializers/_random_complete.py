"""Complete trees with random splits."""

from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ngdt._tree import Tree
from ngdt.initializers._base import Initializer
from ngdt.problem import Problem

# Deeper trees than these make cost twice as much per level, and were no more accurate.
_ENOUGH, _LEAVES_PER_CLASS = 8, 32


class RandomComplete(Initializer):
    """A complete tree with random splits: a start that prefers no leaf to any other.

    Rows of the weights, thresholds included, are drawn from the unit sphere in scaled feature
    space. Leaves have the best values for the samples that they get, and those that get none what a
    tree without splits would have.

    Parameters
    ----------
    max_depth : int or None, default=None
        Depth of the tree. None: that of the problem, which is the `max_depth` of the estimator, but
        not more than was seen to gain anything: 8, or what gives each class 32 leaves.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import ObliqueTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ObliqueTreeClassifier(
    ...     max_depth=3, init="random_complete", optimizer=None, random_state=0)
    >>> tree.fit(X, y).tree_
    Tree(n_internal=7, n_leaves=8, n_features=4, n_outputs=3, max_depth=3)
    """

    _parameter_constraints: ClassVar[dict] = {
        "max_depth": [Interval(Integral, 0, 20, closed="both"), None],
    }

    def __init__(self, max_depth=None):
        self.max_depth = max_depth

    def initialize(self, problem: Problem) -> Tree:
        self.check(problem)
        depth = self._depth(problem)
        random = np.random.default_rng(problem.random_state)
        m, p = 2**depth - 1, problem.X.shape[1]
        rows = random.normal(size=(m, p + 1))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        weights, thresholds = problem.scaling.to_raw(rows[:, :p], -rows[:, p])
        child = np.arange(1, 2 * m + 1, dtype=np.int32).reshape(m, 2)
        child[child >= m] = ~(child[child >= m] - m)
        left, right = child[:, 0].copy(), child[:, 1].copy()
        tree = Tree(weights, thresholds, left, right, np.zeros((m + 1, problem.n_outputs)))
        rows = problem.training_samples
        leaf = tree._apply_at(problem.data, rows)
        return tree.replace(values=problem.fit_leaves(leaf, rows, m + 1))

    def _depth(self, problem):
        if self.max_depth is not None:
            return self.max_depth
        classes = problem.n_outputs if problem.loss.is_classifier else 1
        enough = max(_ENOUGH, round(np.log2(_LEAVES_PER_CLASS * classes)))
        return enough if problem.max_depth is None else min(problem.max_depth, enough)
