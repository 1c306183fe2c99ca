"""How TAO fits one split to the samples that care which side they are sent to."""

from queue import SimpleQueue
from typing import NamedTuple

import numpy as np

from ngdt._linear import LinearSolver
from ngdt._splitter import Splitter


class NodeProblem(NamedTuple):
    """A binary, weighted problem.

    Parameters
    ----------
    node : int
    samples : ndarray of int32, shape (n,)
    target : ndarray of float64, shape (n,)
        1 for samples that are better off on the right, -1 for the others; both occur.
    cost : ndarray of float64, shape (n,)
        What a sample loses on the wrong side, times its weight.
    C : float
        Weight of the costs against the penalty.
    """

    node: int
    samples: np.ndarray
    target: np.ndarray
    cost: np.ndarray
    C: float


_PENALTY = {"l1": abs, "l2": lambda weights: 0.5 * weights * weights}


class ObliqueSolver:
    """Linear splits by `LinearSolver`, which lowers the penalised loss from any start.

    Parameters
    ----------
    params : TAO
    problem : Problem
    data : Rows
        Of the problem.
    """

    def __init__(self, params, problem, data):
        self.scaling = problem.scaling
        self.penalty = _PENALTY[params.penalty]
        self.solver = LinearSolver(data, self.scaling, params.node_loss, params.penalty)

    def penalties(self, weights):
        """The penalty of each row of weights, dense or CSR, which are those of raw features."""
        return self.penalty(weights * self.scaling.scale).sum(axis=1)

    def fit(self, problem, weights, threshold):
        """A split in place of the present one.

        Parameters
        ----------
        problem : NodeProblem
        weights : ndarray of shape (n_features,)
        threshold : float

        Returns
        -------
        weights : ndarray of shape (n_features,)
        threshold : float
        """
        scaling = self.scaling
        start = weights * scaling.scale, weights @ scaling.center - threshold
        *found, _ = self.solver.fit(
            problem.samples, problem.target, problem.C * problem.cost, *start)
        if found[1] == start[1] and np.array_equal(found[0], start[0]):
            return weights, threshold   # and not what rounding makes of them on the way back
        weights = found[0] / scaling.scale
        return weights, weights @ scaling.center - found[1]


class AxisSolver:
    """The axis-aligned split that sends the least weight of samples the wrong way."""

    def __init__(self, problem, data):
        self.data = data
        # Read by all splitters, written before each search: nodes of a level share no samples.
        self.right, self.cost = np.zeros((data.n_samples, 1)), problem.weight.copy()
        # A splitter serves one thread at a time.
        self.splitters = SimpleQueue()
        for _ in range(problem.n_jobs):
            self.splitters.put(Splitter(problem.X, self.right, self.cost, 2, "misclassification"))

    def penalties(self, weights):
        """None."""
        return np.zeros(weights.shape[0])

    def fit(self, problem, weights, threshold):
        """As for `ObliqueSolver`; the present split plays no part."""
        right, cost = problem.target > 0, problem.cost
        self.right[problem.samples, 0], self.cost[problem.samples] = right, cost
        splitter = self.splitters.get()
        try:
            split = splitter.split(problem.samples)
        finally:
            self.splitters.put(splitter)
        weights = np.zeros_like(weights)
        if split is None or split.gain <= 0.0:
            return weights, -1.0 if 2.0 * cost[right].sum() > cost.sum() else 1.0
        weights[split.direction] = 1.0
        above = self.data.project(problem.samples, weights) > split.threshold
        if 2.0 * cost[above != right].sum() <= cost.sum():
            return weights, split.threshold
        # The other way round: right is where x < the next number, which is x <= threshold.
        return -weights, -np.nextafter(split.threshold, np.inf)
