"""Complete trees with random splits."""

from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ngdt._core.structure import balanced_children
from ngdt._core.tree import Tree
from ngdt._methods.initializer import Initializer

# Largest depth by default, and number of leaves per class for which a deeper tree is made. Each
# further level doubles the cost. With ten levels, trees of eight classes and 60 000 samples were 5
# points more accurate, and those of six other sets by .3 at most, with twice the leaves.
_DEFAULT_DEPTH, _LEAVES_PER_CLASS = 8, 32


@dataclass(eq=False, repr=False)
class RandomComplete(Initializer):
    """A complete tree with random splits.

    The weight vector of each node, with its threshold, is drawn from the unit sphere in scaled
    feature space. A leaf has the best values for the samples that reach it. A leaf without samples
    has the values of a tree without splits.

    Parameters
    ----------
    max_depth : int or None, default=None
        Depth of the tree. None is the `max_depth` of the estimator, but at most 8, or the depth
        that gives each class 32 leaves, but no more leaves than samples, if that is larger. Deeper
        trees were seldom more accurate. It is the least depth for `max_leaf_nodes` leaves, if that
        is smaller.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import ObliqueTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ObliqueTreeClassifier(
    ...     max_depth=3, init="random_complete", optimizer=None, random_state=0)
    >>> tree.fit(X, y).tree_
    Tree(n_internal=4, n_leaves=5, n_features=4, n_outputs=3, max_depth=3)
    """

    name = "random_complete"
    noun = "random tree"

    _parameter_constraints: ClassVar[dict] = {
        "max_depth": [Interval(Integral, 0, 20, closed="both"), None],
    }

    max_depth: int | None = None

    def _initialize(self, problem):
        depth = self.depth(problem)
        # Weights of features that are constant stay zero; the last one is minus the threshold.
        drawn = np.append(problem.varying, problem.X.shape[1])
        planes = np.zeros((2**depth - 1, problem.X.shape[1] + 1))
        planes[:, drawn] = np.random.default_rng(problem.random_state).normal(
            size=(len(planes), len(drawn)))
        planes /= np.linalg.norm(planes, axis=1, keepdims=True)
        weights, thresholds = problem.scaling.to_raw(planes[:, :-1], -planes[:, -1])
        values = np.zeros((2**depth, problem.n_outputs))
        tree = Tree(weights, thresholds, *balanced_children(2**depth), values)
        return problem.refit_leaves(tree)

    def depth(self, problem):
        """Depth of the tree for a problem."""
        if self.max_depth is not None:
            return self.max_depth
        largest = default_depth(problem)
        limits = problem.limits
        if limits.max_leaf_nodes is not None:      # all leaves are trained, none is cut off
            largest = min(largest, int(np.ceil(np.log2(limits.max_leaf_nodes))))
        return limits.depth(largest)


def default_depth(problem):
    """Default depth of a tree for a problem."""
    classes = problem.n_outputs if problem.loss.is_classifier else 1
    n_samples = np.count_nonzero(problem.sample_weight)
    return max(_DEFAULT_DEPTH, round(np.log2(min(_LEAVES_PER_CLASS * classes, n_samples))))
