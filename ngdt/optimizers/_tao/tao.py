"""TAO: node after node, each fitted to what the rest of the tree makes of its samples."""

from itertools import chain
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy import sparse
from sklearn.utils._param_validation import Interval, StrOptions
from threadpoolctl import threadpool_limits

from ngdt._loss import LOSSES, Loss, get_loss
from ngdt._tree import SPARSE_SHARE
from ngdt.optimizers._base import Optimizer, Progress
from ngdt.optimizers._samples_by_leaf import SamplesByLeaf
from ngdt.optimizers._tao.node_solvers import OBLIQUE_SOLVERS, AxisSolver, NodeProblem
from ngdt.pruning import collapse_pure, keep_reached

# Passes over which the objective must have fallen: that of a surrogate does not fall in each.
_PATIENCE = {"error": 1, "surrogate": 3}


class TAO(Optimizer):
    """Tree alternating optimization: fit all nodes of a level to the tree around them.

    A pass goes from the deepest level to the root, leaves first. What a node is fitted to are the
    samples that reach it and fare better on one side than on the other: the better side is their
    binary label, and the difference of the losses their weight. Samples of which both sides make
    the same do not matter. Nodes of one level share no samples, and are fitted side by side.

    Parameters
    ----------
    C : float, default=0.1
        Weight of the losses against the penalty: the smaller, the sparser and the smaller the tree.
    penalty : {"l1", "l2"}, default="l1"
        Of split weights, in the scaled features of the estimator's `standardize`. "l1" makes most
        of them zero; "l2" is often the more accurate.
    alpha : float, default=0.5
        The penalty of a node is multiplied by the share of the samples that reach it to this power,
        so that deep nodes, which see few, are not silenced; up to 10. 0 is the paper's.
    loss : str, Loss or None, default=None
        What says which side is better. None: the misclassification of classes ("zero_one"), the
        estimator's own loss for numbers. Else that loss, by name or as an object.
    node : {"oblique", "axis"}, default="oblique"
        Kind of the split. That of an axis-aligned node is exact, over all features, thresholds and
        both directions; what concerns penalties and linear classifiers is without effect there.
    node_loss : {"squared_hinge", "logistic"}, default="squared_hinge"
        Loss of the linear classifier in a node.
    solver : {"newton", "liblinear"}, default="newton"
        How the linear classifier in a node is fitted. "newton" is ours, and starts from the weights
        that the node has; "liblinear", as in the paper, is scikit-learn's, which starts from zero,
        copies the samples of a node, and serves one thread at a time. Both minimise the same.
    accept : {"surrogate", "error"}, default="surrogate"
        When a node takes its new split: "error" if that sends no more of its samples, by weight,
        the wrong way, so that the training loss never rises; "surrogate" if the penalised loss of
        an oblique split does not rise, which no solver lets it, and always for an axis-aligned one,
        which is the best there is. An overfitted tree can become sparse only by the latter.
    max_passes : int, default=14
    tol : float, default=0.005
        Training ends when a pass lowers the training loss by less than this share ("error"), or
        three passes the objective ("surrogate").
    n_jobs : int or None, default=None
        Threads that share the nodes of a level, -1 for all cores; None: the `n_jobs` of the
        estimator. The tree does not depend on it.

    See Also
    --------
    ngdt.optimizers.SSGD : Trains all nodes at once, on a bound of the loss.

    Notes
    -----
    The objective is ``C * (sum of losses) + sum of share**alpha * penalty`` over the nodes. Under
    "error" the last tree is returned, under "surrogate" the one with the lowest objective after any
    pass. Nodes without samples and pure subtrees are left alone during training, and removed
    afterwards; what is left is stored with sparse rows of weights where these take less memory
    (`Tree.compact`). There is nothing random: a sample of weight k is the same as k samples,
    to the tolerance of the solver.

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

    metrics = ("objective", "loss", "n_nonzero", "n_nodes", "validation")

    _parameter_constraints: ClassVar[dict] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "penalty": [StrOptions({"l1", "l2"})],
        "alpha": [Interval(Real, 0, 10, closed="both")],
        "loss": [StrOptions({"zero_one", *LOSSES}), Loss, None],
        "node": [StrOptions({"oblique", "axis"})],
        "node_loss": [StrOptions({"squared_hinge", "logistic"})],
        "solver": [StrOptions(set(OBLIQUE_SOLVERS))],
        "accept": [StrOptions(set(_PATIENCE))],
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
                    f"TAO(loss='zero_one') is for classes and does not fit the {loss.name} loss "
                    "of the estimator")
        elif self.loss is not None and get_loss(self.loss).is_classifier != loss.is_classifier:
            raise ValueError(
                f"TAO(loss={self.loss!r}) does not fit the {loss.name} loss of the estimator")

    def optimize(self, tree, problem):
        """Train; see `Optimizer.optimize`.

        Parameters
        ----------
        tree : Tree
        problem : Problem

        Returns
        -------
        tree : Tree
            Without branches that no training sample reaches.
        history : dict
            Per pass: ``objective``; ``loss``, the mean training loss; ``n_nonzero`` weights and
            ``n_nodes``, both of the nodes that samples reach; and ``validation``, the mean error on
            held-out rows, NaN without them.
        """
        problem.check_shapes(tree)
        n_jobs = problem.n_jobs if self.n_jobs is None else effective_n_jobs(self.n_jobs)
        problem = problem.replace(n_jobs=min(n_jobs, tree.n_leaves))
        run = _Run(self, tree, problem)
        # Threads share the nodes; BLAS must not start its own below each.
        with threadpool_limits(1, user_api="blas"):
            run.train()
        return run.result(), run.progress.history


class _Run:
    """One training run: the tree as it is, the best so far, and where the samples are."""

    def __init__(self, params, tree, problem):
        self.params, self.problem, self.tree = params, problem, tree
        self.weights = _compact(tree.weights)
        self.data, self.rows = problem.data, problem.training_samples
        self.total = problem.sample_weight[self.rows].sum()
        depth = tree.node_depths()
        self.levels = [np.flatnonzero(depth == d) for d in range(tree.max_depth)]
        if params.node == "axis":
            self.solver = AxisSolver(problem)
        else:
            self.solver = OBLIQUE_SOLVERS[params.solver](params, problem)
        self.in_threads = Parallel(problem.n_jobs, require="sharedmem")
        self.progress = Progress(params, problem, params.max_passes)
        self._refit_leaves(tree._apply_at(self.data, self.rows))
        self.best = np.inf, self.tree, self.samples

    def train(self):
        patience = _PATIENCE[self.params.accept]
        lowest = [self._objective(self._metrics()) if self.params.accept == "error" else np.inf]
        with self.progress.until_interrupted():
            for number in range(self.params.max_passes):
                before = self.tree
                self._pass()
                lowest.append(self.best[0])
                if self.tree == before or (number + 1 >= patience and not (
                        lowest[-1] < (1.0 - self.params.tol) * lowest[-1 - patience])):
                    break

    def _pass(self):
        for nodes in reversed(self.levels):
            self._fit_nodes(nodes)
        self._refit_leaves(self.reached[np.argsort(self.samples.samples)])
        metrics = self._metrics()
        goal = self._objective(metrics)
        if goal <= self.best[0]:
            self.best = goal, self.tree, self.samples
        self.progress.report(metrics)

    def _objective(self, metrics):
        return metrics["loss" if self.params.accept == "error" else "objective"]

    def result(self):
        """The best tree, without what no sample reaches and splits of what is pure; compact."""
        _, tree, samples = self.best
        reached = np.bincount(samples.leaf, minlength=tree.n_leaves) > 0
        leaf = (np.cumsum(reached) - 1)[samples.leaf]   # leaves that stay keep their order
        problem, rows = self.problem, samples.samples
        return collapse_pure(
            keep_reached(tree, reached), leaf, problem.y[rows], problem.sample_weight[rows], problem.loss,
        ).compact()

    def _losses(self, values, rows):
        """What a node weighs: losses of rows that are predicted by these leaf values."""
        problem, loss = self.problem, self.params.loss
        if loss == "zero_one" or (loss is None and problem.loss.is_classifier):
            return problem.errors(values, rows)
        loss = problem.loss if loss is None else get_loss(loss)
        return loss.value(values, problem.y[rows])

    def _refit_leaves(self, leaf):
        """Sort the rows by their leaves, and give these their best values if they are better."""
        problem = self.problem
        self.samples = SamplesByLeaf(self.tree, self.rows, leaf)
        # During a pass: leaf that each sample reaches from its node of the level that is done.
        self.reached = self.samples.leaf.copy()
        leaf, rows = self.samples.leaf, self.samples.samples
        n_leaves, weight = self.tree.n_leaves, problem.sample_weight[rows]
        old = self.tree.values
        new = problem.fit_leaves(leaf, rows, n_leaves)
        before, after = (
            np.bincount(leaf, weight * self._losses(values[leaf], rows), n_leaves)
            for values in (old, new))
        better = (after <= before) & (np.bincount(leaf, minlength=n_leaves) > 0)
        self.tree = self.tree.replace(values=np.where(better[:, None], new, old))

    def _fit_nodes(self, nodes):
        """Fit the nodes of one level."""
        problems = self._node_problems(nodes)
        # Not each by itself: to hand a small node to a thread takes as long as to fit it.
        n_parts = 4 * self.problem.n_jobs
        parts = self.in_threads(
            delayed(self._fit_each)(problems[k::n_parts]) for k in range(n_parts))
        thresholds, rows = self.tree.thresholds.copy(), {}
        for node, row, threshold in chain.from_iterable(parts):
            rows[node], thresholds[node] = row, threshold
        self.weights = _compact(_replace_rows(self.weights, rows))
        self.tree = self.tree.replace(weights=self.weights, thresholds=thresholds)

    def _fit_each(self, problems):
        return [self._fit_node(*problem) for problem in problems]

    def _node_problems(self, nodes):
        """What each node is to be fitted to, unless it is pure or nobody cares.

        With each, where all its samples are, and the leaves they would reach on the left and right.
        """
        problem, tree, samples = self.problem, self.tree, self.samples
        slices = [samples.slice_of(node) for node in nodes]
        counts = np.array([here.stop - here.start for here in slices])
        place = np.concatenate([np.arange(here.start, here.stop) for here in slices])
        if len(place) == 0:
            return []
        rows = samples.samples[place]
        # They are where they went before, and go on from there as the level below has found.
        middle = np.array([samples.slice_of(child).stop for child in tree.children_left[nodes]])
        is_right = place >= np.repeat(middle, counts)
        other_child = np.where(is_right, *(
            np.repeat(children[nodes], counts)
            for children in (tree.children_left, tree.children_right)))
        own = self.reached[place]
        parts = (np.array_split(whole, problem.n_jobs) for whole in (rows, other_child))
        other = np.concatenate(self.in_threads(
            delayed(tree._apply_below)(self.data, *part) for part in zip(*parts, strict=True)))
        leaves = np.where(is_right, [other, own], [own, other])
        left, right = (self._losses(tree.values[leaf], rows) for leaf in leaves)
        gain = problem.sample_weight[rows] * (left - right)    # of going right
        problems, end = [], 0
        for node, here, count in zip(nodes, slices, counts, strict=True):
            start, end = end, end + count
            care = start + np.flatnonzero(gain[start:end])
            if len(care) and np.ptp(problem.y[rows[start:end]], axis=0).any():
                share = problem.sample_weight[rows[start:end]].sum() / self.total
                problems.append((NodeProblem(
                    node, rows[care], np.sign(gain[care]), np.abs(gain[care]),
                    self.params.C / share**self.params.alpha), here, leaves[:, start:end]))
        return problems

    def _fit_node(self, problem, here, leaves):
        """A node with its new split, or the one that it has; of the weights, those not zero."""
        weights, threshold = self._dense_row(problem.node), self.tree.thresholds[problem.node]
        side = problem.target[0]
        if (problem.target == side).all():
            new = np.zeros_like(weights), -side     # all samples go there
        else:
            new = self.solver.fit(problem, weights, threshold)
            if self.params.accept == "error" and (
                    self._misrouted_weight(problem, *new) > self._misrouted_weight(problem, weights, threshold)):
                new = weights, threshold
        if new[0] is not weights:
            right = self._goes_right(self.samples.samples[here], *new)
            self.reached[here] = np.where(right, leaves[1], leaves[0])
        columns = np.flatnonzero(new[0])
        return problem.node, (columns, new[0][columns]), new[1]

    def _dense_row(self, node):
        weights = self.weights
        if not sparse.issparse(weights):
            return weights[node]
        row, stored = np.zeros(weights.shape[1]), slice(*weights.indptr[node:node + 2])
        row[weights.indices[stored]] = weights.data[stored]
        return row

    def _misrouted_weight(self, problem, weights, threshold):
        """Cost of the samples that a split sends to the worse side."""
        right = self._goes_right(problem.samples, weights, threshold)
        return problem.cost[right != (problem.target > 0)].sum()

    def _goes_right(self, rows, weights, threshold):
        return self.data.project(rows, weights) - threshold > 0.0

    def _metrics(self):
        problem, samples, tree = self.problem, self.samples, self.tree
        weight = problem.sample_weight[samples.samples]
        loss = weight @ self._losses(tree.values[samples.leaf], samples.samples)
        reach = np.array([weight[samples.slice_of(node)].sum() for node in range(tree.n_internal)])
        alive = np.flatnonzero(reach)
        share = (reach[alive] / self.total) ** self.params.alpha
        penalty = share @ self.solver.penalties(self.weights[alive])
        validation, held = np.nan, problem.validation_samples
        if len(held):
            errors = problem.errors(tree.values[tree._apply_at(self.data, held)], held)
            validation = np.average(errors, weights=problem.validation_weight[held])
        return {
            "objective": self.params.C * loss + penalty,
            "loss": loss / self.total,
            "n_nonzero": (self.weights[alive] != 0).sum(),
            "n_nodes": len(alive),
            "validation": validation,
        }


def _replace_rows(weights, rows):
    """Weights with some rows replaced, each by its columns and values there."""
    if not rows:
        return weights
    if not sparse.issparse(weights):
        weights = weights.copy()
        for node, (columns, values) in rows.items():
            weights[node] = 0.0
            weights[node, columns] = values
        return weights
    columns, values = zip(*rows.values(), strict=True)
    starts = np.cumsum([0, *map(len, columns)])
    new = sparse.csr_array((np.concatenate(values), np.concatenate(columns), starts),
                           shape=(len(rows), weights.shape[1]))
    source = np.arange(weights.shape[0])
    source[list(rows)] = weights.shape[0] + np.arange(len(rows))
    return sparse.vstack([weights, new], format="csr")[source]


def _compact(weights):
    """The weights in the form that is the faster one to multiply with."""
    few = (weights != 0).sum() < SPARSE_SHARE * np.prod(weights.shape)
    if few:
        return sparse.csr_array(weights)
    return weights.toarray() if sparse.issparse(weights) else weights
