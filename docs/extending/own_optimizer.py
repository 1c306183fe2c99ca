from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ngdt.optimizers import Optimizer, OptimizerResult, Progress


class HillClimbing(Optimizer):
    """Turn one split after the other at random, and keep what lowers the training error."""

    is_stochastic = True  # a weight of k is not the same as k copies of a sample
    metrics = ("error", "n_accepted", "validation")

    _parameter_constraints: ClassVar = {"epochs": [Interval(Integral, 1, None, closed="left")]}

    def __init__(self, epochs=10):
        self.epochs = epochs

    def _optimize(self, tree, problem):
        if tree.n_internal == 0:
            return OptimizerResult(tree)
        rng = np.random.default_rng(problem.random_state)
        progress = Progress(self, problem, self.epochs)
        n_accepted, error = 0, mean_error(tree, problem, problem.sample_weight)
        with progress.until_interrupted():  # Ctrl-C ends the block, and the tree so far is returned
            for _ in range(self.epochs):
                n_accepted = 0
                for node in rng.permutation(tree.n_internal):
                    candidate = self._turn(tree, node, problem, rng)
                    candidate_error = mean_error(candidate, problem, problem.sample_weight)
                    if candidate_error < error:
                        tree, error, n_accepted = candidate, candidate_error, n_accepted + 1
                progress.report({
                    "error": error,
                    "n_accepted": n_accepted,
                    "validation": mean_error(tree, problem, problem.validation_weight),
                })
        return progress.result(tree, converged=n_accepted == 0)

    def _turn(self, tree, node, problem, rng):
        weights, thresholds = problem.scaling.to_scaled(tree.densify().weights, tree.thresholds)
        weights[node] += 0.3 * np.linalg.norm(weights[node]) * rng.normal(size=tree.n_features)
        weights, thresholds = problem.scaling.to_raw(weights, thresholds)
        return problem.refit_leaves(tree.replace(weights=weights, thresholds=thresholds))


def mean_error(tree, problem, weight):
    if weight is None:  # nothing is held out
        return np.nan
    samples = np.flatnonzero(weight).astype(np.int32)
    return np.average(problem.errors(tree, samples), weights=weight[samples])
