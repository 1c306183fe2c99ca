"""TAO: alternating optimization over the nodes, each fitted with the rest of the tree fixed."""

from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from itertools import chain
from numbers import Real
from time import monotonic
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ngdt._core.structure import child_ids, choose_leaves, nodes_by_depth
from ngdt._core.threads import one_blas_thread
from ngdt._methods.linear_leaves.linear_leaves import LinearLeaves
from ngdt._methods.linear_leaves.ranges import with_ranges
from ngdt._methods.optimizer import Optimizer
from ngdt._methods.tao.node_solvers import AxisSolver, NewtonSolver, NodeProblem
from ngdt._methods.tao.weights import (
    compact_weights,
    dense_vector,
    replace_weights,
    with_unit_norm,
)
from ngdt._training.monotone import free_nodes, kinds_of_splits, ordered_by_splits, straighten
from ngdt._training.progress import Progress
from ngdt._training.samples_by_leaf import SamplesByLeaf
from ngdt._util.parallel import Threads
from ngdt._util.validation import COUNT, POSITIVE, ZERO_TO_ONE
from ngdt.losses import LOSSES, Loss, get_loss
from ngdt.pruning._equal import collapse_pure
from ngdt.pruning._impurity import LeafTargets
from ngdt.pruning._unused import keep_reached

# Passes over which the objective must have fallen. It need not fall in each.
_PATIENCE = 3

# Penalty of linear leaves, which are fitted anew after each pass.
_LEAF_PENALTY = 30.0

# Share of losses that rounding can make different: of equal ones, it must not choose.
_TIE = 1e-12

_TINY = np.finfo(np.float64).tiny     # C divided by it is finite


@dataclass(eq=False, repr=False)
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
        Type of the splits. An oblique one is a linear classifier with the squared hinge loss. The
        search for an axis-aligned one is exact, over all features, thresholds and both directions;
        `penalty` has no effect on it.
    max_iter : int, default=14
        Largest number of passes.
    tol : float, default=0.005
        Training ends when three passes lower the objective by less than this share.

    See Also
    --------
    ngdt.optimizers.SSGD : Trains all nodes at once, on a bound of the loss.

    Notes
    -----
    The objective is ``C * (sum of losses) + sum of share**alpha * penalty`` over the nodes. The
    tree with the lowest objective after any pass is returned. A node takes its new oblique split if
    the penalised loss of the linear classifier does not rise. The training loss may rise by it, and
    with constant leaves the tree was more accurate for that; with linear ones, R2 fell by 0.02 on
    19 sets. There, the objective must not rise either. Linear leaves of the initial tree stay
    linear, of the features that they use, and are fitted as by `LinearLeaves`; for the squared
    loss, their ranges are narrowed in the end by part of the residuals. Nodes without samples and
    pure subtrees are not changed during training, and removed afterwards. The weights of the result
    are sparse where this takes less memory (`Tree.compact`). Training is deterministic. A sample of
    weight k is the same as k samples, to the tolerance of the solver.

    With `monotonic_cst`, leaves get values in order after each pass: those on the side to which
    the score of a split rises are at least those on its other side. At the end, they get the
    nearest values with which the tree is monotone, a weaker condition. A node is fitted again
    without the weights by which constrained features draw its score against their directions, until
    there are none.

    Deviation: the paper has no intercept outside of the penalty, no `alpha`, and no rule when a
    node takes its new split. Its solver, LIBLINEAR, starts from zero; the one here, with the same
    objective, from the present weights of the node. Its training ends when a single pass lowers the
    error by less than 0.5 %; but the objective need not fall in each.

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
    regularizes = True
    metrics = ("objective", "loss", "n_nonzero", "n_nodes", "validation")

    _parameter_constraints: ClassVar[dict] = {
        "C": [POSITIVE],
        "penalty": [StrOptions({"l1", "l2"})],
        "alpha": [Interval(Real, 0, 10, closed="both")],
        "loss": [StrOptions({"zero_one", *LOSSES}), Loss, None],
        "node": [StrOptions({"oblique", "axis"})],
        "max_iter": [COUNT],
        "tol": [ZERO_TO_ONE],
    }

    C: float = 0.1
    _: KW_ONLY
    penalty: str = "l1"
    alpha: float = 0.5
    loss: str | Loss | None = None
    node: str = "oblique"
    max_iter: int = 14
    tol: float = 0.005

    def check(self, problem):
        super().check(problem)
        loss = problem.loss
        fits = loss.is_classifier if self.loss == "zero_one" else (
            self.loss is None or get_loss(self.loss).fits(loss))
        if not fits:
            raise ValueError(
                f"TAO(loss={self.loss!r}) does not fit the loss {loss.name!r} of the estimator")

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
        problem = problem.replace(n_jobs=min(problem.n_jobs, tree.n_leaves))
        # The nodes are fitted by several threads; BLAS must not start further ones in each.
        with one_blas_thread, Threads(problem.n_jobs) as threads:
            # With narrower ranges, leaves that are fitted anew would not lower the training loss.
            run = TAORun(self, with_ranges(tree, problem, margin=0.0), problem, threads)
            run.train()
        return run.progress.result(
            lambda: with_ranges(run.result(), problem), converged=run.converged)


class TAORun:
    """One training run: the present tree, the best one so far, and the leaves of the samples."""

    def __init__(self, params, tree, problem, threads):
        before = monotonic()
        if problem.directions is not None:
            tree = straighten(tree, problem)
        if params.node != "axis":
            tree = with_unit_norm(tree, problem.scaling.scale)
        self.params, self.problem, self.tree, self.threads = params, problem, tree, threads
        # The weights of the tree, which makes a sparse matrix anew for each caller.
        self.weights = compact_weights(tree.weights)
        self.data, self.training_samples = problem.data, problem.training_samples
        self.total_weight = problem.sample_weight[self.training_samples].sum()
        self.levels, self.is_free = nodes_by_depth(tree), free_nodes(tree, problem)
        self.progress, self.converged = Progress(params, problem, params.max_iter), False
        self._refit_leaves(problem.apply(tree, self.training_samples))
        self.best, self.lowest = (np.inf, self.tree, self.samples_by_leaf), [np.inf]
        # The end takes as long.
        self.deadline = problem.control.deadline.earlier(monotonic() - before)
        kind = AxisSolver if params.node == "axis" else NewtonSolver
        self.solver = kind(params, problem.replace(
            control=replace(problem.control, deadline=self.deadline)))

    def train(self):
        with self.progress.until_interrupted():
            for _ in range(self.progress.resume(self._restore), self.params.max_iter):
                if self.converged:
                    break
                self._pass()

    def _pass(self):
        before = self.tree
        for nodes in reversed(self.levels):
            self._fit_nodes(nodes)
        self._refit_leaves(self.reached[np.argsort(self.samples_by_leaf.samples)])
        metrics = self._metrics()
        if metrics["objective"] <= (1.0 + _TIE) * self.best[0]:
            self.best = metrics["objective"], self.tree, self.samples_by_leaf
        self.lowest.append(self.best[0])
        self.converged = self.tree == before or (len(self.lowest) > _PATIENCE and not (
            self.lowest[-1] < (1.0 - self.params.tol) * self.lowest[-1 - _PATIENCE]))
        self.progress.report(metrics, self._state)

    def _state(self):
        """The state between two passes, for a checkpoint."""
        objective, tree, by_leaf = self.best
        return {
            "tree": self.tree, "leaf": _leaves(self.samples_by_leaf), "lowest": list(self.lowest),
            "best": [objective, tree, _leaves(by_leaf)], "converged": bool(self.converged)}

    def _restore(self, state):
        """Go on from a state, as `_state` returns it."""
        by_leaf = self._sorted(state["tree"], state["leaf"])
        self.tree, self.weights = state["tree"], compact_weights(state["tree"].weights)
        self._sort(by_leaf)
        objective, tree, leaf = state["best"]
        self.best = objective, tree, self._sorted(tree, leaf)
        self.lowest, self.converged = list(state["lowest"]), bool(state["converged"])

    def _sorted(self, tree, leaf):
        """The training samples by the leaves that a checkpoint has for them."""
        if (tree.n_internal, tree.n_features, len(leaf)) != (
                self.tree.n_internal, self.tree.n_features, len(self.training_samples)) or not (
                (leaf >= 0) & (leaf < tree.n_leaves)).all():
            raise ValueError("the tree or its leaves do not fit the training samples")
        return SamplesByLeaf(tree, self.training_samples, leaf)

    def result(self):
        """The best tree, compact, without branches that no sample reaches and pure subtrees."""
        _, tree, by_leaf = self.best
        reached = np.bincount(by_leaf.leaf, minlength=tree.n_leaves) > 0
        leaf = (np.cumsum(reached) - 1)[by_leaf.leaf]   # the remaining leaves keep their order
        targets = LeafTargets.of(self.problem, leaf, by_leaf.samples)
        return collapse_pure(keep_reached(tree, reached), targets).compact()

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
        leaf, samples = self.samples_by_leaf.leaf, self.samples_by_leaf.samples
        tree, problem = self.tree, self.problem
        fitted, weight = self._with_fitted_leaves(), problem.sample_weight[samples]
        before, after = (
            np.bincount(leaf, weight * self.losses(
                problem.predictions(each, samples, leaf), samples), tree.n_leaves)
            for each in (tree, fitted))
        if tree.slopes is not None and fitted.slopes is None:   # no slope helps
            self.tree = fitted if after.sum() <= (1.0 + _TIE) * before.sum() else tree
            return
        if problem.directions is not None:      # old and new values may be out of order
            self.tree = fitted
            return
        better = (after <= (1.0 + _TIE) * before) & (np.bincount(leaf, minlength=tree.n_leaves) > 0)
        self.tree = choose_leaves(better, fitted, tree)

    def _with_fitted_leaves(self):
        """The tree with all leaves fitted to their samples; with directions, in order."""
        tree, problem = self.tree, self.problem
        if tree.slopes is not None:
            features = np.flatnonzero(tree.slopes.any(axis=(0, 1)))
            linear = LinearLeaves(
                features=features, penalty=_LEAF_PENALTY, clip=tree.ranges is not None)
            # Without the present slopes, models are drawn to those of the nodes above.
            return linear.fit_leaves(tree.replace(values=tree.values), problem)
        leaf, samples = self.samples_by_leaf.leaf, self.samples_by_leaf.samples
        values = problem.fit_leaves(leaf, samples, tree.n_leaves)
        if problem.directions is not None:
            weight = np.bincount(leaf, problem.sample_weight[samples], tree.n_leaves)
            values = ordered_by_splits(values, weight, child_ids(tree), kinds_of_splits(
                tree, problem.directions), problem.loss)
        return tree.replace(values=values)

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
        problems = self._problems(nodes) if self.deadline.fits() else []
        if not problems:
            return
        # Each thread gets several nodes, since to start it takes as long as to fit a small node.
        # The largest nodes come first: where the last one is small, no thread waits long for it.
        problems.sort(key=lambda problem: len(problem.samples), reverse=True)
        n_parts = 4 * self.threads.n_threads
        fitted = self.threads.map(self._fit_each, [problems[k::n_parts] for k in range(n_parts)])
        thresholds, vectors = self.tree.thresholds.copy(), {}
        for node, vector, threshold in chain.from_iterable(fitted):
            vectors[node], thresholds[node] = vector, threshold
        self.weights = compact_weights(replace_weights(self.weights, vectors))
        self.tree = self.tree.replace(weights=self.weights, thresholds=thresholds)

    def _problems(self, nodes):
        """The problem of each node of a level, unless it is pure or all its costs are zero."""
        nodes = nodes[self.is_mixed[nodes]]
        if len(nodes) == 0:
            return []
        by_leaf, tree, weight = self.samples_by_leaf, self.tree, self.problem.sample_weight
        start, stop = by_leaf.bounds(nodes)
        counts, positions = stop - start, np.concatenate([*map(np.arange, start, stop)])
        samples = by_leaf.samples[positions]
        # On the side that a sample took before, its leaf is known from the level below. On the
        # other side, it is computed.
        own, is_right = self.reached[positions], positions >= np.repeat(
            by_leaf.bounds(child_ids(tree)[nodes, 0])[1], counts)
        left, right = (np.repeat(children[nodes], counts)
                       for children in (tree.children_left, tree.children_right))
        other = self._route(samples, np.where(is_right, left, right))
        loss, other_loss = (self.losses(self.problem.predictions(tree, samples, leaf), samples)
                            for leaf in (own, other))
        gain = weight[samples] * np.where(      # on the right
            is_right, other_loss - loss, loss - other_loss)
        problems, ends = [], np.cumsum(counts)
        for k, node in enumerate(nodes):
            every = slice(ends[k] - counts[k], ends[k])
            used = np.flatnonzero(gain[every])
            if len(used):
                own_gain = gain[every][used]
                problems.append(NodeProblem(
                    node, samples[every][used], np.sign(own_gain), np.abs(own_gain),
                    self._C(node), slice(start[k], stop[k]), is_right[every], other[every],
                    self.is_free[node]))
        return problems

    def _route(self, samples, start):
        """Leaf that each sample reaches from the node, or ~leaf, where it starts."""
        return np.concatenate(self.threads.map(partial(self.tree.apply_samples, self.data), *(
            np.array_split(each, self.threads.n_threads) for each in (samples, start))))

    def _C(self, node):
        """Factor of the costs of a node: the penalty counts less where few samples come."""
        share = self.node_weights[node] / self.total_weight
        return min(self.params.C / max(share**self.params.alpha, _TINY), 1.0 / _TINY)

    def _fit_each(self, problems):
        return [self._fit_node(problem) for problem in problems if self.deadline.fits()]

    def _fit_node(self, problem):
        """Fit one node: its id, nonzero weights and threshold; the present split may be kept.

        Several threads run this at once. Each writes `self.reached` at the samples of its own node
        only. Nodes of one level share no samples, so no two threads write the same entry.
        """
        weights = dense_vector(self.weights, problem.node)
        side = problem.target[0]
        if (problem.target == side).all():
            new, threshold = np.zeros_like(weights), -side  # sends all samples to this side
        else:
            before = self.tree.thresholds[problem.node]
            new, threshold = self.solver.fit(problem, weights, before)
            if self.tree.slopes is not None and self._cost(problem, new, threshold) > self._cost(
                    problem, weights, before):
                new, threshold = weights, before
        if new is not weights:
            samples = self.samples_by_leaf.samples[problem.position]
            right = self.data.project(samples, new) - threshold > 0.0
            np.copyto(
                self.reached[problem.position], problem.other, where=right != problem.is_right)
        features = np.flatnonzero(new)
        return problem.node, (features, new[features]), threshold

    def _cost(self, problem, weights, threshold):
        """Penalised costs of the samples of a node that a split sends to the worse side."""
        right = self.data.project(problem.samples, weights) - threshold > 0.0
        return problem.cost[right != (problem.target > 0.0)].sum() * problem.C + (
            self.solver.penalties(weights[None])[0])

    def _metrics(self):
        problem, by_leaf, tree = self.problem, self.samples_by_leaf, self.tree
        sample_weight = problem.sample_weight[by_leaf.samples]
        loss = sample_weight @ self.losses(
            problem.predictions(tree, by_leaf.samples, by_leaf.leaf), by_leaf.samples)
        reached = np.flatnonzero(self.node_weights)
        share = (self.node_weights[reached] / self.total_weight) ** self.params.alpha
        penalty = share @ self.solver.penalties(self.weights[reached])
        metrics = {
            "objective": self.params.C * loss + penalty, "loss": loss / self.total_weight,
            "n_nonzero": (self.weights[reached] != 0).sum(), "n_nodes": len(reached)}
        samples = problem.validation_samples
        if len(samples):
            metrics["validation"] = np.average(
                problem.errors(tree, samples), weights=problem.validation_weight[samples])
        return metrics


def _leaves(by_leaf):
    """Leaf of each training sample, in the order of the samples."""
    return by_leaf.leaf[np.argsort(by_leaf.samples)]
