"""Training with soft routing: the common part of `Annealed` and `EndToEnd`."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from numbers import Integral
from time import monotonic
from typing import ClassVar

import numpy as np
from scipy import sparse
from scipy.special import softmax

from ngdt._core.regression_losses import HuberLoss
from ngdt._core.search import Topology
from ngdt._core.threads import one_blas_thread, usable_threads
from ngdt._methods.optimizer import Optimizer
from ngdt._methods.soft.epoch import NOT_MIXED, LazyTrainer, SoftTrainer
from ngdt._methods.soft.leaf_model import Categorical, LossLeaves
from ngdt._methods.soft.routing import CSRRouting, DenseRouting, SparseRouting
from ngdt._training.control import Pace, set_random_state
from ngdt._training.progress import OptimizerResult, Progress
from ngdt.pruning._unused import keep_reached

# Number of evaluations of the hard tree, evenly over the last half of the epochs. Routing the
# training set costs about as much as an epoch.
_N_EVALUATIONS = 3
# Probability below which a subtree is skipped, and number of weights of all splits from which this
# is the faster way.
_CUTOFF, _MIN_CUTOFF_WEIGHTS = 0.001, 2**15
# Least sample weight. A mini-batch may hold samples of this weight only, and the inverse of its
# weight must fit float32.
_MIN_SAMPLE_WEIGHT = 1e-30
# Error from which the squared loss is linear, in units of the standard deviation of the targets.
_HUBER_LIMIT = 3.0
# Penalty on the slopes of linear leaves, in samples, unless another one is given.
_SLOPE_PENALTY = 3.0


@dataclass(frozen=True)
class SoftSchedule:
    """Length and schedules of one training run.

    Attributes
    ----------
    epochs, batch_size : int
    gamma, rate, decay : callable
        Schedules of the steepness, the learning rate, and the share of the weights that a step
        removes. Each maps an array of finished shares of the run, in [0, 1), to an array.
    leaf_rate : callable or None
        Learning rate of Adam for leaves of regression, as `rate`. None fits leaves by
        expectation-maximisation.
    """

    epochs: int
    batch_size: int
    gamma: Callable
    rate: Callable
    decay: Callable
    leaf_rate: Callable | None


class SoftOptimizer(Optimizer):
    """Base class of optimizers with soft routing; a subclass makes the schedule."""

    is_stochastic = True
    scales_coordinates = True
    default_init = "random_complete"
    metrics = ("loss", "gamma", "validation")
    phase = "soft training"
    # Decay of the second moments of Adam.
    beta2: ClassVar[float]
    # Whether leaves are set to their running means in every step, or once per epoch.
    refit_every_step: ClassVar[bool]
    # Parameters that only one of the two methods has.
    leaf, q, mixing, slope_penalty = "constant", 0.0, 0.0, 0.0
    spatial_penalty, image_shape, keep_zeros = 0.0, None, False

    @abstractmethod
    def _schedule(self, n_samples, problem):
        """The `SoftSchedule` for this number of training samples."""

    def _optimize(self, tree, problem):
        """Train.

        Parameters
        ----------
        tree : Tree
        problem : Problem

        Returns
        -------
        OptimizerResult
            The tree routes hard and has leaf values in closed form. Every branch is reached by a
            training sample. History, per epoch: ``loss``, the mean loss of the soft tree over the
            samples as they were visited; ``gamma``; and ``validation``, the mean error of the hard
            tree on the validation samples, NaN in epochs in which it was not evaluated.
        """
        if tree.n_internal == 0:
            return OptimizerResult(tree)
        # The kernel has threads of its own; BLAS must not start further ones in each.
        with one_blas_thread:
            return self._train(tree, problem, problem.training_samples, unit_weight(problem))

    def _train(self, tree, problem, samples, sample_weight, keep_zeros=False):
        """`optimize` for a tree with splits, on some of the samples.

        For algorithms that train many trees on parts of one problem. The caller computes the
        weights once, and once limits the threads of BLAS, which a small stump would wait for.

        Parameters
        ----------
        tree : Tree
        problem : Problem
        samples : ndarray of int32
            Samples to train on, each with a positive weight.
        sample_weight : ndarray of float64, shape (n_samples,)
            As `unit_weight` returns it.
        keep_zeros : bool, default=False
            True keeps weights at zero that are zero in the initial tree, whatever the schedule.
        """
        run = SoftRun(self, tree, problem, samples, sample_weight, keep_zeros)
        run.train()
        return run.progress.result(run.best_tree)


class SoftRun:
    """One training run: its state between epochs.

    The prior of the leaves is the share of each class in all samples, and its weight in a leaf, as
    a share of theirs. None takes those of the given samples.
    """

    def __init__(
            self, params, tree, problem, samples, sample_weight, keep_zeros=False, prior=None):
        self.params, self.tree, self.problem = params, tree, problem
        self.samples, self.sample_weight = samples, sample_weight
        self.scaling, self.validation_samples = problem.scaling, problem.validation_samples
        self.random = np.random.RandomState(problem.random_state)
        self.schedule = params._schedule(len(samples), problem)
        weights, thresholds = self.scaling.to_unit_norm(tree.dense_weights(), tree.thresholds)
        self.weights = np.column_stack([weights, -thresholds]).astype(np.float32)
        self.model = self._leaf_model(prior)
        self.trainer = self._trainer(keep_zeros or params.keep_zeros or problem.free_levels > 0)
        self.progress = Progress(params, problem, self.schedule.epochs)
        self.best = None

    def _trainer(self, keep_zeros):
        problem, params = self.problem, self.params
        topology, cutoff = Topology(self.tree), params.cutoff
        is_sparse = sparse.issparse(problem.X)
        if cutoff == "auto":
            n_weights = self.tree.n_internal * problem.X.shape[1]
            pays = n_weights >= _MIN_CUTOFF_WEIGHTS and not is_sparse
            cutoff = _CUTOFF if pays else None
        arguments = self.model, problem.data, self.scaling, self.schedule.batch_size
        options = dict(
            q=params.q, betas=(0.9, params.beta2), refit_every_step=params.refit_every_step,
            n_threads=usable_threads(problem.n_jobs))
        is_plain = not (keep_zeros or params.spatial_penalty or params.leaf == "linear")
        if is_sparse and is_plain and cutoff is None:
            weights = np.ascontiguousarray(self.weights.T)
            self.weights = weights.T
            routing = CSRRouting(topology, weights, *arguments)
            return LazyTrainer(routing, self.sample_weight, **options)
        mask = None
        if keep_zeros:
            mask = (self.weights != 0).astype(np.float32)
            mask[:, -1] = 1.0   # the threshold belongs to no feature, and may be zero by chance
        routing = (
            DenseRouting(topology, self.weights, *arguments) if cutoff is None and not is_sparse
            else SparseRouting(topology, self.weights, *arguments, cutoff or 0.0))
        return SoftTrainer(
            routing, self.sample_weight, mask=mask, spatial_penalty=params.spatial_penalty,
            neighbour=_neighbours(params.image_shape) if params.spatial_penalty else None,
            **options)

    def _leaf_model(self, prior):
        problem, schedule, values = self.problem, self.schedule, self.tree.values
        if schedule.leaf_rate is None:
            return Categorical(softmax(values, axis=1).astype(np.float32), problem.y,
                               *(prior or self._prior()), schedule.batch_size)
        n_slopes = problem.X.shape[1] if self.params.leaf == "linear" else 0
        parameters = np.zeros((values.size, n_slopes + 1), dtype=np.float32)
        parameters[:, -1] = values.ravel()
        # With the squared loss, outliers would direct the splits.
        loss = HuberLoss(_HUBER_LIMIT) if problem.loss.is_squared else problem.loss
        given = self.params.slope_penalty
        penalty = (_SLOPE_PENALTY if given == "auto" else given) / len(self.samples)
        return LossLeaves(parameters, problem.y, loss, penalty, schedule.batch_size)

    def _prior(self):
        problem, samples = self.problem, self.samples
        share = self.sample_weight[samples]
        share /= share.sum()
        prior = np.bincount(
            problem.y[samples, 0].astype(np.intp), weights=share, minlength=problem.n_outputs)
        return prior, self.params.pseudo_count / len(samples)

    def train(self):
        epochs = self.schedule.epochs
        evaluated = evaluated_epochs(epochs) if len(self.validation_samples) else set()
        with self.progress.until_interrupted():
            n_steps = -(-len(self.samples) // self.schedule.batch_size)
            control = replace(self.progress.control, deadline=self._deadline())
            pace = Pace(control, epochs, n_steps)
            for epoch in range(self.progress.resume(self._restore), epochs):
                self._epoch(epoch, evaluated, pace)
                if pace.is_finished:
                    break
        self.trainer.catch_up()     # Ctrl-C may have ended an epoch before its end

    def _deadline(self):
        """The deadline of the steps: the last tree is still to be evaluated."""
        deadline = self.problem.control.deadline
        if not deadline.is_set:
            return deadline
        before = monotonic()
        self._hard_tree()
        return deadline.earlier(2.0 * (monotonic() - before))

    def _epoch(self, epoch, evaluated, pace):
        schedule, batch_size = self.schedule, self.schedule.batch_size
        order = self.random.permutation(self.samples)
        batch_weight = np.add.reduceat(
            self.sample_weight[order], np.arange(pace.n_steps) * batch_size)
        seen = np.cumsum(batch_weight)
        if self.params.refit_every_step:
            # Leaves are running means over the weight of one epoch. In the first epoch, they are
            # means over the mini-batches so far.
            seen = np.minimum(seen + epoch * seen[-1], seen[-1])
        leaf_share = batch_weight / seen
        mixed = self._mixed(order)
        for steps, done in pace.pieces(epoch):
            gamma = schedule.gamma(done)
            leaf_rate = (leaf_share[steps] if schedule.leaf_rate is None
                         else schedule.leaf_rate(done))
            places = slice(steps.start * batch_size, steps.stop * batch_size)
            loss = self.trainer.epoch(
                order[places], gamma, schedule.rate(done), 1.0 - schedule.decay(done), leaf_rate,
                mixed=tuple(each[places] for each in mixed), resume=steps.start > 0)
        self.trainer.catch_up()
        if not self.params.refit_every_step:
            self.trainer.refit()
        metrics = {"loss": loss, "gamma": gamma[-1]}
        if epoch in evaluated or (pace.is_finished and evaluated):
            metrics["validation"] = self._evaluate_hard_tree()
        self.progress.report(metrics, self._state)

    def _mixed(self, order):
        """Another sample to mix each one with, and the share of that; empty if they are not."""
        if not self.params.mixing:
            return NOT_MIXED
        share = self.random.uniform(0.0, self.params.mixing, len(order)).astype(np.float32)
        return self.random.permutation(order), share

    def _state(self):
        return {"best": self.best, "arrays": self.trainer.arrays,
                "n_steps": self.trainer.n_steps_before,
                "random": self.random.get_state(legacy=False)}

    def _restore(self, state):
        self.best = state["best"]
        set_random_state(self.random, state["random"])
        self.trainer.restore(state["arrays"], state["n_steps"])

    def _evaluate_hard_tree(self):
        """Mean error of the hard tree on the validation samples; the best one is kept."""
        tree, samples, problem = self._hard_tree(), self.validation_samples, self.problem
        errors = problem.validation_weight[samples] * problem.errors(tree, samples)
        if self.best is None or errors.sum() <= self.best[0]:
            self.best = errors.sum(), tree
        return errors.sum() / problem.validation_weight[samples].sum()

    def _hard_tree(self):
        """The tree that routes hard, with refitted leaf values. Linear leaves keep their slopes."""
        problem, samples, tree = self.problem, self.samples, self.with_splits()
        leaf = problem.apply(tree, samples)
        if self.params.leaf == "linear":
            slopes = self.model.parameters[:, :-1].astype(np.float64) / self.scaling.scale
            tree = with_slopes(tree, slopes, problem, samples, leaf)
        else:
            tree = tree.replace(values=problem.fit_leaves(leaf, samples, tree.n_leaves))
        return keep_reached(tree, np.bincount(leaf, minlength=tree.n_leaves) > 0)

    def with_splits(self):
        """The initial tree with the present splits."""
        weights, thresholds = self.scaling.to_raw(
            self.weights[:, :-1].astype(np.float64), -self.weights[:, -1].astype(np.float64))
        return self.tree.replace(weights=weights, thresholds=thresholds)

    def best_tree(self):
        return self._hard_tree() if self.best is None else self.best[1]


def with_slopes(tree, slopes, problem, samples, leaf):
    """The tree with linear leaves: the best intercepts, and the ranges of the targets.

    Parameters
    ----------
    tree : Tree
    slopes : ndarray of shape (n_leaves * n_outputs, n_features)
        In raw features.
    problem : Problem
    samples, leaf : ndarray of int, shape (n,)
        Samples to fit, and the leaf of each.

    Returns
    -------
    Tree
    """
    shape = tree.values.shape
    tree = tree.replace(values=np.zeros(shape), slopes=slopes.reshape(*shape, -1))
    y, weight = problem.y[samples], problem.sample_weight[samples]
    residual = y - problem.predictions(tree, samples, leaf)
    values = problem.loss.fit_leaves(leaf, residual, weight, *shape)
    ranges = np.tile([np.inf, -np.inf], (*shape, 1))
    np.minimum.at(ranges[..., 0], leaf, y)
    np.maximum.at(ranges[..., 1], leaf, y)
    ranges[np.bincount(leaf, minlength=len(ranges)) == 0] = 0.0     # no sample sees them
    return tree.replace(values=values, slopes=tree.slopes, ranges=ranges)


def evaluated_epochs(epochs):
    """Numbers of the epochs after which the hard tree is evaluated on validation samples, set."""
    return set(np.linspace(epochs // 2, epochs - 1, _N_EVALUATIONS, dtype=int).tolist())


def unit_weight(problem):
    """Sample weights with mean 1 over the training samples, as mini-batches use them."""
    present = problem.sample_weight > 0
    sample_weight = problem.sample_weight / problem.sample_weight.mean(where=present)
    sample_weight[present] = np.maximum(sample_weight[present], _MIN_SAMPLE_WEIGHT)
    return sample_weight


def check_image_shape(shape, n_features):
    """Raise a ValueError unless an image of this shape has this number of features."""
    if not (len(shape) in (2, 3) and all(isinstance(n, Integral) and n > 0 for n in shape)
            and prod(shape) == n_features):
        raise ValueError(
            f"image_shape={shape} does not make the {n_features} features of X: "
            "give rows, columns and, if there are several, channels")


def _neighbours(image_shape):
    """Pairs of features that are horizontal or vertical neighbours in an image."""
    index = np.arange(prod(image_shape), dtype=np.int32).reshape(image_shape)
    pairs = [np.stack([index[:-1].ravel(), index[1:].ravel()], axis=1),
             np.stack([index[:, :-1].ravel(), index[:, 1:].ravel()], axis=1)]
    return np.ascontiguousarray(np.concatenate(pairs))
