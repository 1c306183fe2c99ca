"""Tree without splits."""

import numpy as np

from ngdt._core.tree import Tree
from ngdt._methods.initializer import Initializer


class SingleLeaf(Initializer):
    """A tree of a single leaf."""

    def _initialize(self, problem):
        samples = problem.training_samples
        values = problem.fit_leaves(np.zeros(len(samples), dtype=np.int32), samples, 1)
        return Tree(np.empty((0, problem.X.shape[1])), [], [], [], values)
