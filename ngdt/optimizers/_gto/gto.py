"""Global tree optimization of Bennett (1994): all decisions of a fixed structure together."""

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils._param_validation import Interval

from ngdt.optimizers._base import Optimizer, Progress
from ngdt.optimizers._gto.linear_program import distinct, place_plane, warn_of_size
from ngdt.optimizers._gto.multilinear import Multilinear

# Scales of the start that are tried: what the hinge errors ask for is a margin of 1.
_SCALES = 2.0 ** np.arange(-10, 11)


class GTO(Optimizer):
    """Global tree optimization: Frank-Wolfe on the errors of a tree of fixed structure.

    Each leaf keeps its class. The error of a leaf for a point is the sum of the hinge errors of the
    decisions on its path, the error of a point the product of those of the leaves of its class, and
    what is minimised the mean error of each class, summed over classes. It is zero exactly where
    each point arrives at a leaf of its class with a margin of 1 at every decision on the way. Each
    iteration linearises the product, which leaves one linear program per decision, and goes to the
    best point on the way to their solutions.

    Parameters
    ----------
    max_iter : int, default=100
        Largest number of iterations.
    tol : float, default=1e-4
        The search ends when the gap of the minimum principle, which is what the linear programs
        promise to gain at most, falls to this share of the objective.

    See Also
    --------
    ngdt.initializers.GreedyLP : The paper's start.

    Notes
    -----
    For classes only, and for small trees and data: an iteration solves a linear program per
    decision, each with a variable per sample and an equation per feature. The programs are
    independent, and share out to `n_jobs` threads. The tree that is returned is the one with the
    least training error on the way, the start included. Rows are merged where they are equal, so
    that a row of weight k counts as k rows.

    Deviation: the paper has two classes. With more, the product runs over the leaves of the point's
    own class, as it does there; the points of a class without a leaf add 1. Hinge errors are
    brought down to what the planes need after each step, which only lowers the objective. The start
    is scaled by what makes the objective smallest. In the end, leaves get the values of the loss
    for the samples that reach them, so a leaf may change its class to a more frequent one; leaves
    that no sample reaches keep their values.

    References
    ----------
    Bennett (1994), Global tree optimization: a non-greedy decision tree algorithm, Computing
    Science and Statistics 26.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import ObliqueTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ObliqueTreeClassifier(max_depth=2, optimizer="gto", validation_fraction=None)
    >>> tree.fit(X, y).score(X, y) > 0.97
    True
    """

    default_init = "greedy_lp"
    metrics = ("objective", "gap", "error")

    _parameter_constraints: ClassVar[dict] = {
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, *, max_iter=100, tol=1e-4):
        self.max_iter = max_iter
        self.tol = tol

    def check(self, problem):
        super().check(problem)
        if not problem.loss.is_classifier:
            raise ValueError(f"GTO parts classes; it cannot serve the {problem.loss.name} loss")

    def optimize(self, tree, problem):
        if tree.n_internal == 0:
            return tree, {}
        return _FrankWolfe(self, tree, distinct(problem)).run()


class _FrankWolfe:
    """One run: planes move, and the best tree on the way is kept."""

    def __init__(self, params, tree, problem):
        self.params, self.tree, self.problem = params, tree, problem
        self.scaling = problem.scaling
        self.X = self.scaling.transform(problem.X)
        self.program = Multilinear(tree, problem.y[:, 0].astype(np.intp), problem.sample_weight)
        self.planes = self._start()     # a row per node, the threshold last
        self.best = np.inf, None
        self.progress = Progress(params, problem, params.max_iter)

    def run(self):
        with self.progress.until_interrupted():
            for iteration in range(self.params.max_iter):
                if self._iterate(iteration):
                    break
            else:
                self._training_error()   # where the last step led
        return (self.tree if self.best[1] is None else self.best[1]), self.progress.history

    def _iterate(self, iteration):
        """Report on the planes, and move them; True if there is nowhere to go."""
        hinges = self._hinges(self.planes)
        objective, error = self.program.objective(hinges), self._training_error()
        prices = self.program.gradient(hinges)
        if iteration == 0:
            warn_of_size("GTO", np.count_nonzero(prices, axis=(0, 1)), self.X.shape[1])
        goal = self._solve(prices)
        gain = (prices * (hinges - self._hinges(goal))).sum(axis=(0, 1))
        # No plane moves for nothing: where it was the best already, up to what the solver can tell.
        goal = np.where(gain[:, None] > 0.0, goal, self.planes)
        gap = np.maximum(gain, 0.0).sum()
        self.progress.report({"objective": objective, "gap": gap, "error": error})
        if gap <= self.params.tol * objective:
            return True
        step = self.program.best_step(hinges, self._hinges(goal))
        self.planes = self.planes + step * (goal - self.planes)
        return step == 0.0

    def _hinges(self, planes):
        return self.program.hinges(self.X @ planes[:, :-1].T - planes[:, -1])

    def _start(self):
        """The planes of the tree, on the scale at which the objective is smallest."""
        planes = np.column_stack(self.scaling.to_scaled(self.tree))
        scores = np.abs(self.X @ planes[:, :-1].T - planes[:, -1]).mean(axis=0)
        level = planes / np.where(scores == 0.0, 1.0, scores)[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            starts = [factor * start for start in (planes, level) for factor in _SCALES]
            objectives = [self.program.objective(self._hinges(start)) for start in starts]
        best = np.nanargmin(objectives)
        if not np.isfinite(objectives[best]):
            raise ValueError(
                f"GTO multiplies the errors of all leaves of a class, which overflows in a tree of "
                f"{self.tree.n_leaves} leaves: start from a smaller one")
        return starts[best]

    def _solve(self, prices):
        """The planes that are best at these prices; where nothing is to pay, those there are."""
        left, right = prices
        found = Parallel(n_jobs=self.problem.n_jobs, prefer="threads")(
            delayed(place_plane)(self.X, left[:, node].copy(), right[:, node].copy())
            for node in range(len(self.planes)))
        return np.stack([
            plane if new is None else new for plane, new in zip(self.planes, found, strict=True)])

    def _training_error(self):
        """Training error of the tree with hard decisions, which is kept if it is the best."""
        problem, tree = self.problem, self.tree
        weights, thresholds = self.scaling.to_raw(self.planes[:, :-1], self.planes[:, -1])
        tree, rows = tree.replace(weights=weights, thresholds=thresholds), problem.training_samples
        leaf = tree._apply_at(problem.data, rows)
        reached = np.bincount(leaf, minlength=tree.n_leaves) > 0
        values = np.where(
            reached[:, None], problem.fit_leaves(leaf, rows, tree.n_leaves), tree.values)
        error = problem.sample_weight @ problem.errors(values[leaf], rows) / problem.sample_weight.sum()
        if error <= self.best[0]:
            self.best = error, tree.replace(values=values)
        return error
