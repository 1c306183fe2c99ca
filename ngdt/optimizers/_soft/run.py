"""Training with soft routing: what `Annealed` and `EndToEnd` share."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from numbers import Integral

import numpy as np
from scipy import sparse
from scipy.special import softmax
from threadpoolctl import threadpool_limits

from ngdt._inference import Topology
from ngdt.optimizers._base import Optimizer, Progress
from ngdt.optimizers._soft.epoch import CHUNK, SoftTrainer
from ngdt.optimizers._soft.routing import Categorical, DenseRouting, Gaussian, SparseRouting
from ngdt.pruning import keep_reached

# How often the hard tree is read out and judged, evenly over the last half of the epochs: routing
# the training set costs about as much as an epoch.
_CHECKS = 3
# Share of a sample below which a subtree is not visited, and the nodes from which on this pays.
_CUTOFF, _MANY_NODES = 0.01, 2**11
# A mini-batch may hold nothing heavier, and the inverse of its weight must fit float32.
_LEAST_WEIGHT = 1e-30


@dataclass(frozen=True)
class SoftSchedule:
    """One run in metrics; schedules map the share of the run that is done to numbers.

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
    spatial_penalty : float
    image_shape : tuple or None
        Of which neighbours the spatial_penalty is.
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
    spatial_penalty: float = 0.0
    image_shape: tuple | None = None
    keep_zeros: bool = False
    cutoff: "float | str | None" = "auto"


class SoftOptimizer(Optimizer):
    """Base class of optimizers that route softly; a subclass makes the plan."""

    is_stochastic = True
    default_init = "random_complete"
    metrics = ("loss", "gamma", "validation")

    @abstractmethod
    def _schedule(self, n_samples, problem):
        """SoftSchedule for so many training samples."""

    def optimize(self, tree, problem):
        """Train; see `Optimizer.optimize`.

        Parameters
        ----------
        tree : Tree
        problem : Problem

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
        # The threads of the kernel share the work; BLAS must not start its own below each.
        with threadpool_limits(1, user_api="blas"):
            return self._train(tree, problem, problem.training_samples, unit_weight(problem))

    def _train(self, tree, problem, rows, weight, keep_zeros=False):
        """`optimize` for a tree with splits, on some of the rows.

        For those that train many trees on parts of one problem: what is the same for all is
        measured once, and BLAS kept from starting threads, which takes longer than a small stump.

        Parameters
        ----------
        tree : Tree
        problem : Problem
        rows : ndarray of int32
            Each with a positive weight.
        weight : ndarray of float64, shape (n_samples,)
            As `unit_weight` returns it.
        keep_zeros : bool, default=False
            Whether weights that are zero at the start stay zero, whatever the plan says.
        """
        run = _Run(self, tree, problem, rows, weight, keep_zeros)
        run.train()
        return run.best_tree(), run.progress.history


class _Run:
    """One training run: what lives between epochs."""

    def __init__(self, params, tree, problem, rows, weight, keep_zeros):
        self.tree, self.problem, self.rows, self.weight = tree, problem, rows, weight
        self.scaling, self.held_out = problem.scaling, problem.validation_samples
        self.random = np.random.RandomState(problem.random_state)
        self.schedule = params._schedule(len(rows), problem)
        weights, thresholds = self.scaling.to_unit_rows(tree)
        self.weights = np.column_stack([weights, -thresholds]).astype(np.float32)
        self.model = self._leaf_model()
        neighbours = _neighbours(self.schedule.image_shape, problem.X.shape[1])
        self.trainer = SoftTrainer(
            self._routing(), self.weight, weights=self.weights, q=self.schedule.q,
            betas=(0.9, self.schedule.beta2), refit_every_step=self.schedule.refit_every_step,
            mask=self._mask() if keep_zeros or self.schedule.keep_zeros else None,
            spatial_penalty=self.schedule.spatial_penalty, neighbour=neighbours, n_threads=problem.n_jobs)
        self.progress = Progress(params, problem, self.schedule.epochs)
        self.best = None

    def _mask(self):
        mask = (self.weights != 0).astype(np.float32)
        mask[:, -1] = 1.0       # a threshold may be zero by chance, and is of no feature
        return mask

    def _leaf_model(self):
        problem, tree = self.problem, self.tree
        weight = self.weight[self.rows]
        weight /= weight.sum()
        prior_weight = self.schedule.pseudo_count / len(self.rows)
        if not problem.loss.is_classifier:
            return Gaussian(
                tree.values.astype(np.float32), problem.y, weight @ problem.y[self.rows],
                prior_weight, self.schedule.batch_size, self.schedule.variance or 1.0,
                self.schedule.variance is None)
        prior = np.bincount(
            problem.y[self.rows, 0].astype(np.intp), weights=weight, minlength=problem.n_outputs)
        return Categorical(
            softmax(tree.values, axis=1).astype(np.float32), problem.y, prior, prior_weight,
            self.schedule.batch_size)

    def _routing(self):
        arguments = (Topology(self.tree), self.weights, self.model, self.problem.data,
                     self.scaling, self.schedule.batch_size)
        cutoff = self.schedule.cutoff
        if cutoff == "auto":
            cutoff = _CUTOFF if self.tree.n_internal >= _MANY_NODES else None
        if cutoff is None and not sparse.issparse(self.problem.X):
            return DenseRouting(*arguments)
        return SparseRouting(*arguments, CHUNK, cutoff or 0.0)

    def train(self):
        epochs = self.schedule.epochs
        checks = set()
        if len(self.held_out):
            checks.update(np.linspace(epochs // 2, epochs - 1, _CHECKS, dtype=int).tolist())
        with self.progress.until_interrupted():
            for epoch in range(epochs):
                self._epoch(epoch, epoch in checks)

    def _epoch(self, epoch, check):
        plan = self.schedule
        n, batch = len(self.rows), plan.batch_size
        steps = np.arange(-(-n // batch))
        done = (epoch + steps / len(steps)) / plan.epochs
        order = self.random.permutation(self.rows)
        weight = np.add.reduceat(self.weight[order], steps * batch)
        seen = np.cumsum(weight)
        if plan.refit_every_step:
            # A running mean over the weight of one epoch, plain while the first one lasts.
            seen = np.minimum(seen + epoch * seen[-1], seen[-1])
        gamma = plan.gamma(done)
        loss = self.trainer.epoch(
            order, gamma, plan.rate(done), 1.0 - plan.decay(done), weight / seen)
        if not plan.refit_every_step:
            self.trainer.refit()
        self.progress.report({
            "loss": loss, "gamma": gamma[-1], "validation": self._check() if check else np.nan})

    def _check(self):
        """Read out the hard tree and keep it if it is the best; its error on held-out rows."""
        tree, held, problem = self._hard_tree(), self.held_out, self.problem
        errors = problem.validation_weight[held] * problem.errors(
            tree.values[tree._apply_at(problem.data, held)], held)
        if self.best is None or errors.sum() <= self.best[0]:
            self.best = errors.sum(), tree
        return errors.sum() / problem.validation_weight[held].sum()

    def _hard_tree(self):
        problem, rows = self.problem, self.rows
        weights, thresholds = self.scaling.to_raw(
            self.weights[:, :-1].astype(np.float64), -self.weights[:, -1].astype(np.float64))
        tree = self.tree.replace(weights=weights, thresholds=thresholds)
        leaf = tree._apply_at(problem.data, rows)
        tree = tree.replace(values=problem.fit_leaves(leaf, rows, tree.n_leaves))
        return keep_reached(tree, np.bincount(leaf, minlength=tree.n_leaves) > 0)

    def best_tree(self):
        return self._hard_tree() if self.best is None else self.best[1]


def unit_weight(problem):
    """Training weights, of mean 1 over the rows that have one, as mini-batches take them."""
    present = problem.sample_weight > 0
    weight = problem.sample_weight / problem.sample_weight.mean(where=present)
    weight[present] = np.maximum(weight[present], _LEAST_WEIGHT)
    return weight


def check_image_shape(shape, n_features):
    """Raise a ValueError unless so many features make an image of that shape."""
    if not (len(shape) in (2, 3) and all(isinstance(n, Integral) and n > 0 for n in shape)
            and prod(shape) == n_features):
        raise ValueError(
            f"image_shape={shape} does not make the {n_features} features of X: "
            "give rows, columns and, if there are several, channels")


def _neighbours(image_shape, n_features):
    """Pairs of features that lie side by side, or one below the other, in an image."""
    if image_shape is None:
        return np.empty((0, 2), dtype=np.int32)
    index = np.arange(n_features, dtype=np.int32).reshape(image_shape)
    pairs = [np.stack([index[:-1].ravel(), index[1:].ravel()], axis=1),
             np.stack([index[:, :-1].ravel(), index[:, 1:].ravel()], axis=1)]
    return np.ascontiguousarray(np.concatenate(pairs))
