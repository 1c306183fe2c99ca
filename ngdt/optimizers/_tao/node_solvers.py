"""How TAO fits one split to the samples that care which side they are sent to."""

from operator import itemgetter
from queue import SimpleQueue
from threading import Lock
from typing import NamedTuple

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.fixes import parse_version

from ngdt._greedy.splitter import Splitter
from ngdt.optimizers._tao.linear import LinearSolver


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


class NewtonSolver:
    """Linear splits by `LinearSolver`, which lowers the penalised loss from any start.

    Parameters
    ----------
    params : TAO
    problem : Problem
    """

    def __init__(self, params, problem):
        self.scaling = problem.scaling
        self.penalty = _PENALTY[params.penalty]
        self.solver = LinearSolver(
            problem.data, self.scaling, params.node_loss, params.penalty)

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
        found = self._minimise(
            problem.samples, problem.target, problem.C * problem.cost, *start)
        if found[1] == start[1] and np.array_equal(found[0], start[0]):
            return weights, threshold   # and not what rounding makes of them on the way back
        weights = found[0] / scaling.scale
        return weights, weights @ scaling.center - found[1]

    def _minimise(self, samples, target, cost, weights, intercept):
        """Weights and intercept in scaled space, better than these."""
        return self.solver.fit(samples, target, cost, weights, intercept)[:2]


class LiblinearSolver(NewtonSolver):
    """The same by LIBLINEAR, unless that leaves the penalised loss higher than it was."""

    # Its random numbers are those of the whole process: one fit at a time, or they interleave.
    _lock = Lock()

    def __init__(self, params, problem):
        super().__init__(params, problem)
        self.X = problem.X
        # Without a step: says what the penalised loss of a split is, taken at a good scale.
        self.judge = LinearSolver(
            problem.data, self.scaling, params.node_loss, params.penalty, max_steps=0)
        if params.node_loss == "logistic":
            self.model = LogisticRegression(solver="liblinear")
            penalty = _logistic_penalty(params.penalty)
        else:
            self.model = LinearSVC(dual=False)
            penalty = {"penalty": params.penalty}
        # The intercept is the weight of a constant feature there, and penalised: a large feature.
        self.model.set_params(intercept_scaling=100.0, max_iter=10_000, random_state=0, **penalty)

    def _minimise(self, samples, target, cost, weights, intercept):
        model = clone(self.model).set_params(C=cost.max())
        with self._lock:
            model.fit(self._scaled(samples), target, sample_weight=cost / cost.max())
        starts = (weights, intercept), (model.coef_[0], model.intercept_[0])
        fits = [self.judge.fit(samples, target, cost, *start) for start in starts]
        return min(fits, key=itemgetter(2))[:2]

    def _scaled(self, samples):
        X = self.scaling.transform(self.X[samples])
        if sparse.issparse(X):      # LIBLINEAR counts by 32 bits only
            X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        return X


def _logistic_penalty(penalty):
    """Its name was deprecated in favour of a number."""
    if parse_version(sklearn.__version__) < parse_version("1.8"):
        return {"penalty": penalty}
    return {"l1_ratio": float(penalty == "l1")}


OBLIQUE_SOLVERS = {"newton": NewtonSolver, "liblinear": LiblinearSolver}


class AxisSolver:
    """The axis-aligned split that sends the least weight of samples the wrong way."""

    def __init__(self, problem):
        self.data = problem.data
        # Read by all splitters, written before each search: nodes of a level share no samples.
        self.right, self.cost = np.zeros((self.data.n_samples, 1)), problem.sample_weight.copy()
        # A splitter serves one thread at a time.
        self.splitters = SimpleQueue()
        for _ in range(problem.n_jobs):
            self.splitters.put(Splitter(problem.X, self.right, self.cost, 2, "misclassification"))

    def penalties(self, weights):
        """None."""
        return np.zeros(weights.shape[0])

    def fit(self, problem, weights, threshold):
        """As for `NewtonSolver`; the present split plays no part."""
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
