"""TAO: alternating optimization over the nodes, each fitted with the rest of the tree fixed."""

from dataclasses import replace
from functools import partial
from itertools import chain
from numbers import Integral, Real
from time import monotonic
from typing import ClassVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils._param_validation import Interval, StrOptions

from ngdt._core.threads import one_blas_thread
from ngdt._methods.optimizer import Optimizer
from ngdt._methods.tao.leaves import refit_leaves
from ngdt._methods.tao.node_problems import node_problems
from ngdt._methods.tao.node_solvers import OBLIQUE_SOLVERS, AxisSolver
from ngdt._methods.tao.state import restore, state_of
from ngdt._methods.tao.weights import compact_weights, dense_vector, replace_weights
from ngdt._training.algorithm import Progress
from ngdt._training.samples_by_leaf import SamplesByLeaf
from ngdt._util.parallel import Threads
from ngdt.losses import ALIASES, LOSSES, Loss, get_loss
from ngdt.pruning._equal import collapse_pure
from ngdt.pruning._unused import keep_reached

# Passes over which the objective must have fallen. That of a surrogate need not fall in each.
_PATIENCE_PASSES = {"error": 1, "surrogate": 3}


class TAO(Optimizer):
    """Tree alternating optimization: fit the nodes level by level, with the other levels fixed.

    A pass refits the leaves, and then the nodes from the deepest level to the root. A node is
    fitted to the samples that reach it and have a smaller loss on one side than on the other. The
    better side is their binary label, and the difference of the losses is their weight. Samples
    with the same loss on both sides have no influence. Nodes of one level share no samples and are
    fitted in parallel. TAO is the subject of US patent application 2022/0318641.

    Parameters
    ----------
    C : float, default=0.1
        Factor of the losses against the penalty. A smaller C makes a sparser and smaller tree.
    penalty : {"l1", "l2"}, default="l1"
        Penalty of the split weights, for features scaled by the estimator's `standardize`. "l1"
        makes most weights zero, also those that rounding alone would leave; "l2" is often more
        accurate.
    alpha : float, default=0.5
        The penalty of a node is multiplied by the share of the samples that reach it to this power,
        at most 10. Without it, deep nodes, which few samples reach, lose their weights first. 0 is
        the paper's.
    loss : str, Loss or None, default=None
        Loss by which the better side of a sample is chosen: "zero_one" for misclassification, or
        another loss by name or as an object. None is "zero_one" for classification and the
        estimator's own loss for regression.
    node : {"oblique", "axis"}, default="oblique"
        Type of the splits. The search for an axis-aligned split is exact, over all features,
        thresholds and both directions. Parameters of penalties and linear classifiers have no
        effect on it.
    node_loss : {"squared_hinge", "logistic"}, default="squared_hinge"
        Loss of the linear classifier in a node.
    solver : {"newton", "liblinear"}, default="newton"
        Solver of the linear classifier in a node. "newton" is this package's own and starts from
        the present weights of the node. "liblinear", as in the paper, is scikit-learn's. It starts
        from zero, copies the samples of a node, and runs in one thread at a time. Both minimise the
        same objective.
    accept : {"surrogate", "error"}, default="surrogate"
        When a node takes its new split. "error": if the weight of the misrouted samples does not
        rise, so that the training loss never rises. "surrogate": if the penalised loss of an
        oblique split does not rise, which every solver ensures; an axis-aligned split is always
        taken, as it is the best one. An overfitted tree can become sparse only with "surrogate".
    max_passes : int, default=14
        Largest number of passes.
    tol : float, default=0.005
        Training ends when a pass lowers the training loss by less than this share ("error"), or
        when three passes lower the objective by less than this share ("surrogate").
    n_jobs : int or None, default=None
        Number of threads for the nodes of a level, -1 for all cores. None is the `n_jobs` of the
        estimator. The tree does not depend on it.

    See Also
    --------
    ngdt.optimizers.SSGD : Trains all nodes at once, on a bound of the loss.

    Notes
    -----
    The objective is ``C * (sum of losses) + sum of share**alpha * penalty`` over the nodes. Under
    "error" the last tree is returned, under "surrogate" the one with the lowest objective after any
    pass. Linear leaves of the initial tree stay linear, and are fitted as by `LinearLeaves`. Nodes
    without samples and pure subtrees are not changed during training, and removed afterwards. The
    weights of the result are sparse where this takes less memory (`Tree.compact`). Training is
    deterministic. A sample of weight k is the same as k samples, to the tolerance of
    the solver.

    Deviation: the paper has no intercept outside of the penalty, no `alpha`, and no rule of
    acceptance.

    References
    ----------
    Carreira-Perpinan & Tavallali (2018), Alternating Optimization of Decision Trees, with
    Application to Learning Sparse Oblique Trees, NeurIPS 31.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import ObliqueTreeClassifier
    >>> from ngdt.optimizers import TAO
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ObliqueTreeClassifier(max_depth=4, optimizer=TAO(C=0.1))
    >>> tree.fit(X, y).score(X, y) > 0.95
    True
    """

    name = "tao"
    takes_linear_leaves = True
    metrics = ("objective", "loss", "n_nonzero", "n_nodes", "validation")

    _parameter_constraints: ClassVar[dict] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "penalty": [StrOptions({"l1", "l2"})],
        "alpha": [Interval(Real, 0, 10, closed="both")],
        "loss": [StrOptions({"zero_one", *LOSSES, *ALIASES}), Loss, None],
        "node": [StrOptions({"oblique", "axis"})],
        "node_loss": [StrOptions({"squared_hinge", "logistic"})],
        "solver": [StrOptions(set(OBLIQUE_SOLVERS))],
        "accept": [StrOptions(set(_PATIENCE_PASSES))],
        "max_passes": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, 1, closed="both")],
        "n_jobs": [Interval(Integral, None, -1, closed="right"),
                   Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        C=0.1,
        *,
        penalty="l1",
        alpha=0.5,
        loss=None,
        node="oblique",
        node_loss="squared_hinge",
        solver="newton",
        accept="surrogate",
        max_passes=14,
        tol=0.005,
        n_jobs=None,
    ):
        self.C = C
        self.penalty = penalty
        self.alpha = alpha
        self.loss = loss
        self.node = node
        self.node_loss = node_loss
        self.solver = solver
        self.accept = accept
        self.max_passes = max_passes
        self.tol = tol
        self.n_jobs = n_jobs

    def check(self, problem):
        super().check(problem)
        loss = problem.loss
        if self.loss == "zero_one":
            if not loss.is_classifier:
                raise ValueError(
                    "TAO(loss='zero_one') is for classification and does not fit the "
                    f"{loss.name} loss of the estimator")
        elif self.loss is not None and not get_loss(self.loss).fits(loss):
            raise ValueError(
                f"TAO(loss={self.loss!r}) does not fit the {loss.name} loss of the estimator")

    @property
    def space(self):
        return "screen" if self.node == "axis" or self.penalty == "l1" else "row_span"

    def _optimize(self, tree, problem):
        """Train.

        Parameters
        ----------
        tree : Tree
        problem : Problem

        Returns
        -------
        OptimizerResult
            Every branch of the tree is reached by a training sample. History, per pass:
            ``objective``; ``loss``, the mean training loss; ``n_nonzero`` weights and ``n_nodes``,
            both of the nodes that samples reach; and ``validation``, the mean error on the
            validation samples, NaN without them.
        """
        n_jobs = problem.n_jobs if self.n_jobs is None else effective_n_jobs(self.n_jobs)
        problem = problem.replace(n_jobs=min(n_jobs, tree.n_leaves))
        # The nodes are fitted by several threads; BLAS must not start further ones in each.
        with one_blas_thread, Threads(problem.n_jobs) as threads:
            run = TAORun(self, tree, problem, threads)
            run.train()
        return run.progress.result(run.result(), converged=run.converged)


class TAORun:
    """One training run: the present tree, the best one so far, and the leaves of the samples."""

    def __init__(self, params, tree, problem, threads):
        before = monotonic()
        self.params, self.problem, self.tree, self.threads = params, problem, tree, threads
        self.weights = compact_weights(tree.weights)
        self.data, self.training_samples = problem.data, problem.training_samples
        self.total_weight = problem.sample_weight[self.training_samples].sum()
        depth = tree.node_depths()
        self.levels = [np.flatnonzero(depth == d) for d in range(tree.max_depth)]
        self.progress, self.converged = Progress(params, problem, params.max_passes), False
        self._refit_leaves(problem.apply(tree, self.training_samples))
        self.best, self.lowest = (np.inf, self.tree, self.samples_by_leaf), [np.inf]
        # The end takes as long.
        self.deadline = problem.control.deadline.earlier(monotonic() - before)
        kind = AxisSolver if params.node == "axis" else OBLIQUE_SOLVERS[params.solver]
        self.solver = kind(params, problem.replace(
            control=replace(problem.control, deadline=self.deadline)))
        self.begin, self.n_fitted = monotonic(), 0      # samples of all nodes so far

    def train(self):
        if self.params.accept == "error":
            self.lowest[0] = self._objective(self._metrics())
        with self.progress.until_interrupted():
            for _ in range(self.progress.resume(partial(restore, self)), self.params.max_passes):
                if self.converged:
                    break
                self._pass()

    def _pass(self):
        before, patience = self.tree, _PATIENCE_PASSES[self.params.accept]
        for nodes in reversed(self.levels):
            self._fit_nodes(nodes)
        self._refit_leaves(self.reached[np.argsort(self.samples_by_leaf.samples)])
        metrics = self._metrics()
        objective = self._objective(metrics)
        if objective <= self.best[0]:
            self.best = objective, self.tree, self.samples_by_leaf
        self.lowest.append(self.best[0])
        self.converged = self.tree == before or (len(self.lowest) > patience and not (
            self.lowest[-1] < (1.0 - self.params.tol) * self.lowest[-1 - patience]))
        self.progress.report(metrics, partial(state_of, self))

    def _objective(self, metrics):
        return metrics["loss" if self.params.accept == "error" else "objective"]

    def result(self):
        """The best tree, compact, without branches that no sample reaches and pure subtrees."""
        _, tree, by_leaf = self.best
        reached = np.bincount(by_leaf.leaf, minlength=tree.n_leaves) > 0
        leaf = (np.cumsum(reached) - 1)[by_leaf.leaf]   # the remaining leaves keep their order
        problem, samples = self.problem, by_leaf.samples
        tree = keep_reached(tree, reached)
        collapsed = collapse_pure(
            tree, leaf, problem.y[samples], problem.sample_weight[samples], problem.loss)
        # The probabilities of a new leaf have a pseudo-count, and may be worse than those before.
        if self.params.accept == "error" and self._loss(collapsed) > self._loss(tree):
            collapsed = tree
        return collapsed.compact()

    def _loss(self, tree):
        """Training loss of a tree."""
        samples = self.training_samples
        values = self.problem.predictions(tree, samples)
        return self.problem.sample_weight[samples] @ self.losses(values, samples)

    def losses(self, values, samples):
        """Losses of samples with these leaf values, by which the better side is chosen."""
        problem, loss = self.problem, self.params.loss
        if loss == "zero_one" or (loss is None and problem.loss.is_classifier):
            return problem.prediction_errors(values, samples)
        loss = problem.loss if loss is None else get_loss(loss)
        return loss.value(values, problem.y[samples])

    def _refit_leaves(self, leaf):
        """Sort the samples by their leaves, and refit each leaf whose loss does not rise by it."""
        self._sort(SamplesByLeaf(self.tree, self.training_samples, leaf))
        self.tree = refit_leaves(
            self.tree, self.problem, self.samples_by_leaf.leaf, self.samples_by_leaf.samples,
            self.losses)

    def _sort(self, by_leaf):
        """Take the samples by leaf that a pass starts from."""
        problem, self.samples_by_leaf = self.problem, by_leaf
        # During a pass: the leaf that each sample reaches from its node of the last fitted level.
        self.reached = by_leaf.leaf.copy()
        start, stop = by_leaf.bounds(np.arange(self.tree.n_internal))
        weight, y = problem.sample_weight[by_leaf.samples], problem.y[by_leaf.samples]
        self.node_weights = np.array([
            weight[slice(*bounds)].sum() for bounds in zip(start, stop, strict=True)])
        # Of a mixed node, some neighbouring samples differ in their targets.
        changes = 1 + np.flatnonzero((y[1:] != y[:-1]).any(axis=1))
        self.is_mixed = np.searchsorted(changes, start, side="right") < np.searchsorted(
            changes, stop)

    def _fit_nodes(self, nodes):
        """Fit the nodes of one level."""
        problems = node_problems(self, nodes) if self.deadline.fits() else []
        if not problems:
            return
        # A task is several nodes, since to start a task takes as long as to fit a small node. The
        # largest nodes come first: where the last task is small, no thread waits long for it.
        problems.sort(key=lambda each: len(each[0].samples), reverse=True)
        n_tasks = 4 * self.threads.n_threads
        fitted = self.threads.map(
            self._fit_each, [problems[k::n_tasks] for k in range(n_tasks)])
        thresholds, vectors = self.tree.thresholds.copy(), {}
        for node, vector, threshold in chain.from_iterable(fitted):
            vectors[node], thresholds[node] = vector, threshold
        self.weights = compact_weights(replace_weights(self.weights, vectors))
        self.tree = self.tree.replace(weights=self.weights, thresholds=thresholds)

    def _fit_each(self, problems):
        return [self._fit_node(*problem) for problem in problems if self._fits(problem[0])]

    def _fits(self, problem):
        """Whether there is time for a node; the deepest nodes, with few samples, come first."""
        if not self.deadline.is_set:
            return True
        n = len(problem.samples)
        seconds = n * (monotonic() - self.begin) / self.n_fitted if self.n_fitted else 0.0
        self.n_fitted += n
        return self.deadline.fits(seconds)

    def _fit_node(self, problem, position, was_right, other):
        """Fit one node: its id, nonzero weights and threshold; the present split may be kept.

        Several threads run this at once. Each writes `self.reached` at the samples of its own node
        only. Nodes of one level share no samples, so no two threads write the same entry.
        """
        weights = dense_vector(self.weights, problem.node)
        threshold = self.tree.thresholds[problem.node]
        side = problem.target[0]
        if (problem.target == side).all():
            new = np.zeros_like(weights), -side     # sends all samples to this side
        else:
            new = self.solver.fit(problem, weights, threshold)
            if self.params.accept == "error":
                old = weights, threshold
                if self._misrouted_weight(problem, *new) > self._misrouted_weight(problem, *old):
                    new = old
        if new[0] is not weights:
            right = self._goes_right(self.samples_by_leaf.samples[position], *new)
            np.copyto(self.reached[position], other, where=right != was_right)
        features = np.flatnonzero(new[0])
        return problem.node, (features, new[0][features]), new[1]

    def _misrouted_weight(self, problem, weights, threshold):
        """Cost of the samples that a split sends to the worse side."""
        right = self._goes_right(problem.samples, weights, threshold)
        return problem.cost[right != (problem.target > 0)].sum()

    def _goes_right(self, samples, weights, threshold):
        return self.data.project(samples, weights) - threshold > 0.0

    def _metrics(self):
        problem, by_leaf, tree = self.problem, self.samples_by_leaf, self.tree
        sample_weight = problem.sample_weight[by_leaf.samples]
        loss = sample_weight @ self.losses(
            problem.predictions(tree, by_leaf.samples, by_leaf.leaf), by_leaf.samples)
        reached = np.flatnonzero(self.node_weights)
        share = (self.node_weights[reached] / self.total_weight) ** self.params.alpha
        penalty = share @ self.solver.penalties(self.weights[reached])
        validation, samples = np.nan, problem.validation_samples
        if len(samples):
            validation = np.average(
                problem.errors(tree, samples), weights=problem.validation_weight[samples])
        return {
            "objective": self.params.C * loss + penalty, "loss": loss / self.total_weight,
            "n_nonzero": (self.weights[reached] != 0).sum(), "n_nodes": len(reached),
            "validation": validation}
