"""Global tree optimization of Bennett (1994): all decisions of a fixed structure together."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from ngdt._core.structure import choose_leaves
from ngdt._methods.linear_programs.linear_program import distinct, place_plane
from ngdt._methods.linear_programs.multilinear import Multilinear
from ngdt._methods.optimizer import Optimizer
from ngdt._training.control import Deadline
from ngdt._training.progress import OptimizerResult, Progress
from ngdt._util.parallel import Threads
from ngdt._util.validation import COUNT, NOT_NEGATIVE

# Factors by which the initial planes are scaled. The hinge errors require a margin of 1.
_SCALES = 2.0 ** np.arange(-10, 11)


@dataclass(eq=False, repr=False, kw_only=True)
class GTO(Optimizer):
    """Global tree optimization: Frank-Wolfe on the errors of a tree of fixed structure.

    Each leaf keeps its class. The error of a leaf for a sample is the sum of the hinge errors of
    the splits on the path to the leaf. The error of a sample is the product of the errors of the
    leaves of its class. The objective is the mean error of each class, summed over classes. It is
    zero if and only if each sample reaches a leaf of its class with a margin of 1 at every split of
    the path. Each iteration linearises the objective, solves one linear program per node, and
    searches for the best point on the segment from the present planes to the solutions.

    Parameters
    ----------
    max_iter : int, default=100
        Largest number of iterations.
    tol : float, default=1e-4
        Training ends when the gap of the minimum principle falls to this share of the objective.
        The gap is the decrease of the linearised objective by the solutions of the linear programs.

    See Also
    --------
    ngdt.initializers.GreedyLP : The initial tree of the paper.

    Notes
    -----
    For classification only, and for small trees and data: an iteration solves a linear program per
    node, each with a variable per sample and an equation per feature. The programs are independent
    and are solved by `n_jobs` threads. Of the initial tree and the trees of all iterations, the one
    with the least training error is returned. Equal samples are merged, so that a sample of weight
    k counts as k samples.

    Deviation: the paper has two classes. With more, the product is over the leaves of the sample's
    own class, as in the paper; a class without a leaf adds 1 to the objective. After each step the
    hinge errors are lowered to the least values for the planes, which only lowers the objective.
    The initial planes are scaled by the factor with the smallest objective. At the end, leaves get
    the best values for the samples that reach them, so a leaf may change its class to a more
    frequent one. Leaves without samples keep their values.

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

    name = "gto"
    default_init = "greedy_lp"
    metrics = ("objective", "gap", "error")

    _parameter_constraints: ClassVar[dict] = {
        "max_iter": [COUNT],
        "tol": [NOT_NEGATIVE],
    }

    max_iter: int = 100
    tol: float = 1e-4

    def check(self, problem):
        super().check(problem)
        if not problem.loss.is_classifier:
            raise ValueError(
                "optimizer=GTO() is for classification only; for regression use 'annealed', "
                "'ssgd' or 'tao'")

    def _optimize(self, tree, problem):
        if tree.n_internal == 0 or not problem.control.deadline.fits():
            return OptimizerResult(tree)
        return _FrankWolfe(self, tree, distinct(problem)).run()


class _FrankWolfe:
    """Training run, with the current planes and the best tree so far."""

    def __init__(self, params, tree, problem):
        self.params, self.tree, self.problem = params, tree, problem
        self.scaling = problem.scaling
        self.X = self.scaling.transform(problem.X)
        self.program = Multilinear(tree, problem.y[:, 0].astype(np.intp), problem.sample_weight)
        self.planes = None      # weights and threshold of each node
        self.best = np.inf, tree
        self.progress = Progress(params, problem, params.max_iter)

    def run(self):
        converged = False
        with self.progress.until_interrupted():
            self.planes = self.initial_planes()
            converged = any(self._iterate() for _ in range(self.params.max_iter))
            if not converged:
                self._training_error()   # of the planes after the last step
        return self.progress.result(self.best[1], converged=converged)

    def _iterate(self):
        """Report metrics and change the planes; return whether training has converged."""
        hinges = self._hinges(self.planes)
        objective, error = self.program.objective(hinges), self._training_error()
        prices = self.program.gradient(hinges)
        target = self._solve(prices)
        self.progress.look()
        gain = (prices * (hinges - self._hinges(target))).sum(axis=(0, 1))
        # A plane that is optimal already, to the tolerance of the solver, stays as it is.
        target = np.where(gain[:, None] > 0.0, target, self.planes)
        gap = np.maximum(gain, 0.0).sum()
        self.progress.report({"objective": objective, "gap": gap, "error": error})
        if gap <= self.params.tol * objective:
            return True
        step = self.program.best_step(hinges, self._hinges(target))
        self.planes = self.planes + step * (target - self.planes)
        return step == 0.0

    def _hinges(self, planes):
        return self.program.hinges(self.X @ planes[:, :-1].T - planes[:, -1])

    def initial_planes(self):
        """The planes of the initial tree, scaled by the factor with the smallest objective."""
        planes = np.column_stack(
            self.scaling.to_scaled(self.tree.dense_weights(), self.tree.thresholds))
        scores = np.abs(self.X @ planes[:, :-1].T - planes[:, -1]).mean(axis=0)
        with np.errstate(over="ignore"):
            normalised = planes / np.where(scores == 0.0, 1.0, scores)[:, None]
        scaled, objectives = [], []
        for each in (planes, normalised):
            for factor in _SCALES:
                self.progress.look()
                with np.errstate(over="ignore", invalid="ignore"):
                    scaled.append(factor * each)
                    objectives.append(self.program.objective(self._hinges(scaled[-1])))
        best = np.nanargmin(objectives)
        if not np.isfinite(objectives[best]):
            raise ValueError(
                f"GTO multiplies the errors of all leaves of a class, which overflows in a tree of "
                f"{self.tree.n_leaves} leaves: use a smaller initial tree")
        return scaled[best]

    def _solve(self, prices):
        """Optimal planes for these prices; the current plane where all prices are zero."""
        left, right = prices
        # One that ends the programs of all threads, and nothing else.
        deadline = Deadline(self.progress.control.deadline.end)
        with Threads(self.problem.n_jobs) as threads:
            try:
                found = threads.map(partial(place_plane, self.X, deadline=deadline),
                                    left.T.copy(), right.T.copy())
            except KeyboardInterrupt:
                deadline.stop()
                raise
        return np.stack([
            plane if new is None else new for plane, new in zip(self.planes, found, strict=True)])

    def _training_error(self):
        """Measure the training error with hard decisions; keep the tree if it is the best."""
        problem, tree = self.problem, self.tree
        weights, thresholds = self.scaling.to_raw(self.planes[:, :-1], self.planes[:, -1])
        tree = tree.replace(weights=weights, thresholds=thresholds)
        samples = problem.training_samples
        leaf = problem.apply(tree, samples)
        is_reached = np.bincount(leaf, minlength=tree.n_leaves) > 0
        tree = choose_leaves(is_reached, problem.refit_leaves(tree, leaf), tree)
        error = problem.sample_weight @ problem.errors(
            tree, samples, leaf) / problem.sample_weight.sum()
        if error <= self.best[0]:
            self.best = error, tree
        return error
