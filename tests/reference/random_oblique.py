"""The tree of several random directions at each node, grown node by node in Python."""

import numpy as np

from ngdt._core.greedy.builder import build
from ngdt._core.greedy.splitter import Split
from ngdt._methods.random.random_oblique import random_directions


class Strategy:
    """The best threshold of one direction after the other, for `build`."""

    def __init__(self, problem, n_candidates, n_nonzero):
        self.problem, self.splitter = problem, problem.splitter
        self.scale = problem.scaling.scale
        self.directions = (node for nodes in random_directions(
            np.random.default_rng(problem.random_state), n_candidates, len(self.scale), n_nonzero)
            for node in zip(*nodes, strict=True))

    def split(self, samples, min_samples_leaf):
        distinct = np.arange(len(samples), dtype=np.float64)
        if self.splitter.best_threshold(samples, distinct, min_samples_leaf) is None:
            return None
        best = None
        for features, vector in zip(*next(self.directions), strict=True):
            weights = np.zeros(len(self.scale))
            weights[features] = vector / self.scale[features]
            found = self.splitter.best_threshold(
                samples, self.problem.data.project(samples, weights), min_samples_leaf)
            if found and (best is None or found[1] > best.gain + 1e-9 * abs(best.gain)):
                best = Split(weights, *found)
        return best

    def partition(self, samples, split):
        return self.splitter.partition(samples, split)


def grow(problem, n_candidates, n_nonzero):
    """The tree."""
    strategy = Strategy(problem, n_candidates, n_nonzero)
    return build(strategy, problem.training_samples, problem).to_tree(problem)
