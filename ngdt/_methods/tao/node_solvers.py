"""Solvers of TAO for one split: a weighted binary classification of samples."""

from functools import partial
from queue import SimpleQueue
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ngdt._core.greedy.splitter import Splitter
from ngdt._core.samples import Samples
from ngdt._methods.tao.linear import LinearSolver
from ngdt._training.monotone import against


class NodeProblem(NamedTuple):
    """A node to be fitted: a binary, weighted problem, and the leaves that its samples reach.

    Parameters
    ----------
    node : int
    samples : ndarray of int32, shape (n,)
        Samples with different losses on the two sides; others have no influence.
    target : ndarray of float64, shape (n,)
        1 for samples with the smaller loss on the right, -1 for the others. Solvers need both.
    cost : ndarray of float64, shape (n,)
        Loss on the worse side minus loss on the better side, times the weight of the sample.
    C : float
        Factor of the costs against the penalty.
    position : slice
        Of all samples of the node, in the order of `SamplesByLeaf`.
    is_right : ndarray of bool
        Whether each of these has gone right.
    other : ndarray of int
        The leaf that each reaches on the other side.
    is_free : bool
        Whether features with a direction are left out.
    """

    node: int
    samples: np.ndarray
    target: np.ndarray
    cost: np.ndarray
    C: float
    position: slice
    is_right: np.ndarray
    other: np.ndarray
    is_free: bool = False


# Effect of a weight, relative to the largest, that is left of a weight of zero by rounding. Of
# features that depend on others, such as indicators of all categories, 1e-10 was seen. Also, an
# intercept without weights that is rounding: where costs balance, it must not choose the side.
_ROUNDING = 1e-9


class NewtonSolver:
    """Linear splits by `LinearSolver`, which lowers the penalised loss of the present split."""

    def __init__(self, params, problem):
        self.scaling, self.X, self.is_sparse = problem.scaling, problem.X, problem.data.is_sparse
        self.is_l1, self.directions = params.penalty == "l1", problem.directions
        if self.is_l1:
            # How far a sample may be from where a scaled feature is zero, and how far most are.
            moments, center = problem.moments, self.scaling.center
            with np.errstate(over="ignore"):
                self.reach = np.maximum(moments.high - center, center - moments.low)
            self.std = moments.std
        self.make_solver = partial(
            LinearSolver, penalty=params.penalty, deadline=problem.control.deadline)
        self.solver = self.make_solver(problem.data, self.scaling)

    def penalties(self, weights):
        """Penalty of each weight vector; the weights, dense or CSR, are those of raw features."""
        scaled = weights * self.scaling.scale
        return (abs(scaled) if self.is_l1 else 0.5 * scaled * scaled).sum(axis=1)

    def fit(self, problem, weights, threshold):
        """Fit a split, starting from the present one.

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
        before, intercept_before = weights * scaling.scale, weights @ scaling.center - threshold
        minimise = self._minimise if self.directions is None else partial(
            self._minimise_monotone, problem.is_free)
        scaled, intercept = minimise(
            problem.samples, problem.target, problem.C * problem.cost, before, intercept_before)
        if self.is_l1:
            scaled = self._without_rounding(scaled)
        if abs(intercept) < _ROUNDING and not scaled.any():
            intercept = 0.0
        if intercept == intercept_before and np.array_equal(scaled, before):
            return weights, threshold   # to scale them back would add rounding errors
        weights = scaled / scaling.scale
        return weights, weights @ scaling.center - intercept

    def _without_rounding(self, weights):
        """Weights in scaled space, zero where they move no sample by more than rounding does.

        They would count as features of the split, and be written in its rule.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            size = np.abs(weights) / self.scaling.scale
            largest = (size * self.std).max(initial=0.0)
            is_rounding = size * self.reach < _ROUNDING * largest
        if not np.isfinite(largest) or not weights[is_rounding].any():
            return weights
        return np.where(is_rounding, 0.0, weights)

    def _minimise(self, samples, target, cost, weights, intercept):
        """Weights and intercept in scaled space with at most the present penalised loss."""
        X = self.X[samples] if self.is_sparse else None
        if X is None or not 0 < X.nnz < X.shape[1]:
            return self.solver.fit(samples, target, cost, weights, intercept)
        # A fit goes through all features many times. Features without values have no weights.
        features = np.unique(X.indices)
        part = sparse.csr_array((X.data, np.searchsorted(features, X.indices), X.indptr),
                                shape=(len(samples), len(features)))
        return self._minimise_part(part, features, target, cost, weights, intercept)

    def _minimise_monotone(self, is_free, samples, target, cost, weights, intercept):
        """As `_minimise`, without weights by which features draw against their directions."""
        left_out = (self.directions != 0) & is_free
        while True:
            features = np.flatnonzero(~left_out)
            fitted = self._minimise_part(
                self.X[samples][:, features], features, target, cost, weights, intercept) if (
                left_out.any()) else self._minimise(samples, target, cost, weights, intercept)
            if not (wrong := against(fitted[0], self.directions)).any():
                return fitted
            left_out |= wrong

    def _minimise_part(self, X, features, target, cost, weights, intercept):
        """As `_minimise`, with the values of the samples for some features."""
        X = X if self.is_sparse else np.ascontiguousarray(X)
        solver = self.make_solver(Samples(X), self.scaling.take(features))
        fitted, intercept = solver.fit(
            np.arange(len(target), dtype=np.int32), target, cost, weights[features], intercept)
        weights = np.zeros_like(weights)
        weights[features] = fitted
        return weights, intercept


class AxisSolver:
    """The axis-aligned split with the least cost of misrouted samples; as `NewtonSolver`."""

    def __init__(self, params, problem):
        self.data = problem.data
        # All splitters read these arrays. Before its search, each thread writes the entries of its
        # own samples only: nodes of one level share no samples.
        self.right, self.cost = np.zeros((self.data.n_samples, 1)), problem.sample_weight.copy()
        # Only one thread at a time may use a splitter.
        self.splitters = SimpleQueue()
        for _ in range(problem.n_jobs):
            self.splitters.put(Splitter(problem.X, self.right, self.cost, 2, "misclassification"))

    def penalties(self, weights):
        """Zeros: axis-aligned splits are not penalised."""
        return np.zeros(weights.shape[0])

    def fit(self, problem, weights, threshold):
        """Fit a split as `NewtonSolver` does; the result does not depend on the present split."""
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
        # In the opposite direction, right is x < the next number, which is x <= threshold.
        return -weights, -np.nextafter(split.threshold, np.inf)
