"""Training with soft routing: what `Annealed` and `EndToEnd` share."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import softmax
from threadpoolctl import threadpool_limits

from ngdt._inference import Topology
from ngdt._rows import Rows
from ngdt._scaling import Scaling
from ngdt._soft import Categorical, DenseRouting, Gaussian, SparseRouting
from ngdt._tree import Tree
from ngdt.optimizers._base import Optimizer
from ngdt.optimizers._soft_epoch import CHUNK, SoftTrainer
from ngdt.pruning import keep_reached

# How often the hard tree is read out and judged, evenly over the last half of the epochs: routing
# the training set costs about as much as an epoch.
_CHECKS = 6
# Share of a sample below which a subtree is not visited, and the nodes from which on this pays.
_CUTOFF, _MANY_NODES = 0.01, 2**11


@dataclass(frozen=True)
class Plan:
    """One run in figures; schedules map the share of the run that is done to numbers.

    Attributes
    ----------
    epochs, batch_size : int
    gamma, rate, decay : callable
        From an array in [0, 1) to the steepness, the learning rate, and the share of the weights
        that a step removes.
    q : float
        Loss of a sample: (1 - likelihood**q) / q.
    beta2 : float
        Of Adam.
    pseudo_count : float
        Weight of the prior in each leaf.
    variance : float or None
        Of the targets in a leaf, where they are numbers; None: as the data say.
    refit_every_step : bool
        Leaves follow their running means in every step, or once per epoch.
    smoothness : float
    image_shape : tuple or None
        Of which neighbours the smoothness is.
    keep_zeros : bool
        Whether weights that are zero at the start stay zero.
    cutoff : float, "auto" or None
    """

    epochs: int
    batch_size: int
    gamma: Callable
    rate: Callable
    decay: Callable
    q: float
    beta2: float
    pseudo_count: float
    variance: float | None = None
    refit_every_step: bool = True
    smoothness: float = 0.0
    image_shape: tuple | None = None
    keep_zeros: bool = False
    cutoff: "float | str | None" = "auto"


class SoftOptimizer(Optimizer):
    """Base class of optimizers that route softly; a subclass makes the plan."""

    minibatch = True
    natural_start = "random_complete"

    @abstractmethod
    def _plan(self, n_samples, problem, scaling):
        """Plan for so many training samples."""

    def check(self, tree, loss):
        self._validate_params()

    def improve(self, tree, problem):
        """Train; see `Optimizer.improve`.

        Returns
        -------
        tree : Tree
            Routes hard, has leaves in closed form, and no branch that no training sample reaches.
        history : dict
            Per epoch: ``loss`` (mean loss of the soft tree over the visits), ``gamma``, and
            ``validation``, the mean error of the hard tree on held-out rows, NaN where it was not
            asked for.
        """
        if tree.n_internal == 0:
            return tree, {}
        run = _Run(self, tree, problem)
        # The threads of the kernel share the work; BLAS must not start its own below each.
        with threadpool_limits(1, user_api="blas"):
            run.train()
        return run.best_tree(), run.history


class _Run:
    """One training run: what lives between epochs."""

    def __init__(self, params, tree, problem):
        self.params, self.tree, self.problem = params, tree, problem
        self.rows = np.flatnonzero(problem.weight > 0).astype(np.int32)
        self.weight = problem.weight / problem.weight[self.rows].mean()
        self.held_out = None
        if problem.validation is not None:
            self.held_out = np.flatnonzero(problem.validation > 0).astype(np.int32)
        self.random = np.random.RandomState(problem.random_state)
        self.scaling = Scaling.fit(problem.X, problem.weight, problem.standardize)
        self.plan = params._plan(len(self.rows), problem, self.scaling)
        self.data = Rows(problem.X)
        weights, thresholds = self.scaling.to_scaled(tree)
        self.weights = np.column_stack([weights, -thresholds])
        norm = np.linalg.norm(self.weights, axis=1, keepdims=True)
        self.weights = (self.weights / np.where(norm == 0, 1.0, norm)).astype(np.float32)
        self.model = self._leaf_model()
        neighbours = _neighbours(self.plan.image_shape, problem.X.shape[1])
        self.trainer = SoftTrainer(
            self._routing(), self.weight, weights=self.weights, q=self.plan.q,
            betas=(0.9, self.plan.beta2), refit_every_step=self.plan.refit_every_step,
            mask=(self.weights != 0).astype(np.float32) if self.plan.keep_zeros else None,
            smoothness=self.plan.smoothness, neighbour=neighbours, n_threads=problem.n_jobs)
        self.history = {}
        self.best = self.last = None

    def _leaf_model(self):
        problem, tree = self.problem, self.tree
        weight = self.weight[self.rows] / len(self.rows)
        prior_weight = self.plan.pseudo_count / len(self.rows)
        if not problem.loss.is_classifier:
            return Gaussian(
                tree.values.astype(np.float32), problem.y, weight @ problem.y[self.rows],
                prior_weight, self.plan.batch_size, self.plan.variance or 1.0,
                self.plan.variance is None)
        prior = np.bincount(
            problem.y[self.rows, 0].astype(np.intp), weights=weight, minlength=problem.n_outputs)
        return Categorical(
            softmax(tree.values, axis=1).astype(np.float32), problem.y, prior, prior_weight,
            self.plan.batch_size)

    def _routing(self):
        arguments = (Topology(self.tree), self.weights, self.model, self.data, self.scaling,
                     self.plan.batch_size)
        cutoff = self.plan.cutoff
        if cutoff == "auto":
            cutoff = _CUTOFF if self.tree.n_internal >= _MANY_NODES else None
        if cutoff is None and not sparse.issparse(self.problem.X):
            return DenseRouting(*arguments)
        return SparseRouting(*arguments, CHUNK, cutoff or 0.0)

    def train(self):
        epochs = self.plan.epochs
        checks = set(np.linspace(epochs // 2, epochs - 1, _CHECKS, dtype=int).tolist())
        for epoch in range(epochs):
            try:
                self._epoch(epoch, epoch in checks)
            except KeyboardInterrupt:
                self.history["interrupted"] = True
                break

    def _epoch(self, epoch, check):
        plan = self.plan
        n, batch = len(self.rows), plan.batch_size
        steps = np.arange(-(-n // batch))
        done = (epoch + steps / len(steps)) / plan.epochs
        # A running mean over one epoch, plain while the first one lasts.
        past = steps if not plan.refit_every_step else steps + epoch * len(steps)
        leaf_rate = 1.0 / (1.0 + past)
        if plan.refit_every_step:
            leaf_rate = np.maximum(batch / n, leaf_rate)
        gamma = plan.gamma(done)
        loss = self.trainer.epoch(
            self.random.permutation(self.rows), gamma, plan.rate(done), 1.0 - plan.decay(done),
            leaf_rate)
        if not plan.refit_every_step:
            self.trainer.refit()
        figures = {"loss": loss, "gamma": gamma[-1],
                   "validation": self._check() if check else np.nan}
        for name, figure in figures.items():
            self.history.setdefault(name, []).append(figure)
        self._report(epoch, figures)

    def _check(self):
        """Read out the hard tree and keep it if it is the best; its error on held-out rows."""
        self.last = tree = self._hard_tree()
        if self.held_out is None:
            return np.nan
        held, problem = self.held_out, self.problem
        errors = problem.validation[held] * problem.errors(
            tree.values[tree._apply_at(self.data, held)], held)
        if self.best is None or errors.sum() <= self.best[0]:
            self.best = errors.sum(), tree
        return errors.sum() / problem.validation[held].sum()

    def _hard_tree(self):
        problem, rows = self.problem, self.rows
        weights, thresholds = self.scaling.to_raw(
            self.weights[:, :-1].astype(np.float64), -self.weights[:, -1].astype(np.float64))
        tree = Tree(weights, thresholds, self.tree.children_left, self.tree.children_right,
                    self.tree.values)
        leaf = tree._apply_at(self.data, rows)
        values = problem.loss.fit_leaves(
            leaf, problem.y[rows], problem.weight[rows], tree.n_leaves, problem.n_outputs)
        tree = Tree(weights, thresholds, tree.children_left, tree.children_right, values)
        return keep_reached(tree, np.bincount(leaf, minlength=tree.n_leaves) > 0)

    def best_tree(self):
        if self.best is not None:
            return self.best[1]
        return self._hard_tree() if self.last is None or "interrupted" in self.history \
            else self.last

    def _report(self, epoch, figures):
        progress = {"step": type(self.params).__name__, "epoch": epoch + 1,
                    "epochs": self.plan.epochs, **figures}
        if self.problem.verbose:
            shown = "  ".join(f"{name} {figure:.4f}" for name, figure in figures.items())
            print(f"[{progress['step']}] epoch {epoch + 1}/{self.plan.epochs}  {shown}")
        if self.problem.callback is not None:
            self.problem.callback(progress)


def _neighbours(image_shape, n_features):
    """Pairs of features that lie side by side, or one below the other, in an image."""
    if image_shape is None:
        return np.empty((0, 2), dtype=np.int32)
    index = np.arange(n_features, dtype=np.int32).reshape(image_shape)
    pairs = [np.stack([index[:-1].ravel(), index[1:].ravel()], axis=1),
             np.stack([index[:, :-1].ravel(), index[:, 1:].ravel()], axis=1)]
    return np.ascontiguousarray(np.concatenate(pairs))
