"""One training run of SGD or Stable SGD, and the scale of its input."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import ArpackError, svds

from ngdt._core.scaling import Scaling
from ngdt._core.search import RADIUS
from ngdt._core.sgd.epoch import SGDTrainer, TrainedTree, TrainingSamples
from ngdt._core.threads import usable_threads
from ngdt._training.control import Pace, cosine, set_random_state
from ngdt._training.progress import Progress
from ngdt._util.arrays import as_dense, standard_errors_saved

# Number of samples that estimate the spread of the data. They suffice for one eigenvalue.
_N_SAMPLES = 2000
TINY = np.finfo(np.float32).tiny
# Number of samples on which the share of samples with a gradient is measured.
_N_PROBE_SAMPLES = 1000
# Least share of samples with a gradient at the beginning, relative to tiny weights. Dense
# data have 0.99 at norm 1. The one-hot Connect4 data have 0.2 to 0.8 there, and make no progress.
_MIN_GRADIENT_SHARE = 0.95
# Limits of epochs="auto": epochs, steps, and steps per feature.
_MIN_EPOCHS, _MAX_EPOCHS, _MIN_STEPS, _STEPS_PER_FEATURE = 10, 300, 10_000, 40
# Renewal "plateau": relative decrease of the mean bound below which it is on a plateau.
_MIN_BOUND_DECREASE = 1e-3


@dataclass(frozen=True)
class InputScale:
    """The scaled samples that split weights are trained on: their map, and their size.

    Attributes
    ----------
    scaling : Scaling
        The map from the raw features.
    norm_limit : float
        Samples of a larger norm, with the constant feature, are shrunk to this norm.
    spread : float
        Largest standard deviation of the shrunk samples in any direction.
    """

    scaling: Scaling
    norm_limit: float
    spread: float

    @classmethod
    def measure(cls, problem, norm_limit):
        """Measure it on training samples; `norm_limit` is in units of the median norm, or None."""
        scaling = problem.scaling
        X = problem.X[representative_samples(problem.training_samples)]
        is_sparse = sparse.issparse(X)
        if is_sparse:
            X = scaling.transform(X)
            norms = np.sqrt(X.multiply(X).sum(axis=1) + 1.0)
        else:
            X, norms = _standardize(X, scaling)
        limit = np.inf if norm_limit is None else norm_limit * np.median(norms)
        shrink = np.minimum(1.0, limit / norms)
        if is_sparse:
            X = sparse.diags_array(shrink) @ X      # never centred
        else:
            X *= shrink[:, None].astype(X.dtype)
            X -= X.mean(axis=0)
        return cls(scaling, limit, max(_largest_singular_value(X) / np.sqrt(X.shape[0]), TINY))


def _standardize(X, scaling):
    """Dense samples, standardised as in the kernel, and their norms with the constant feature."""
    # Near the largest number of the type, differences from the mean overflow.
    with np.errstate(over="ignore", invalid="ignore"):
        X = (X - scaling.center.astype(X.dtype)) * (1.0 / scaling.scale).astype(X.dtype)
        norms = np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64) + 1.0)
    overflown = ~np.isfinite(norms)
    X[overflown], norms[overflown] = 0.0, 1.0
    return X, norms


def representative_samples(samples):
    """At most `_N_SAMPLES` of the samples, spread evenly over them."""
    return samples[:: -(-len(samples) // _N_SAMPLES)]


def _largest_singular_value(X):
    if min(X.shape) <= 2:
        return np.linalg.norm(as_dense(X), 2)
    largest = abs(X).max()
    if largest < np.finfo(np.float64).tiny:
        return 0.0      # the inverse may overflow
    # Not the vector of ones: with more features than samples, centring makes X' 1 = 0.
    initial = np.random.RandomState(0).normal(size=min(X.shape))
    # Entries of order 1, since ARPACK computes squares.
    X = X / largest
    try:
        return largest * svds(X, k=1, v0=initial, return_singular_vectors=False)[0]
    except ArpackError:
        return largest * sparse.linalg.norm(X) if sparse.issparse(X) else (
            largest * np.linalg.norm(X))     # an upper bound


class SGDRun:
    """One training run: its state between epochs."""

    def __init__(self, params, tree, problem, input_scale):
        self.params, self.tree, self.problem = params, tree, problem
        self.scaling = input_scale.scaling
        self.renew = params.renew
        self.random = np.random.RandomState(problem.random_state)
        self.training_samples = problem.training_samples
        self.validation_samples = problem.validation_samples
        self.probe = representative_samples(self.training_samples)
        self.nu = self._nu(input_scale.spread)
        self.batch_size = int(min(params.batch_size, len(self.training_samples)))
        self.n_steps = -(-len(self.training_samples) // self.batch_size)
        self.epochs = number_of_epochs(params, self.n_steps, problem)
        auto_rate, auto_leaf_rate = (0.1, 10.0) if problem.loss.is_classifier else (0.03, 1.0)
        rate, leaf_rate = params.learning_rate, params.leaf_learning_rate
        self.rate = (auto_rate if rate == "auto" else rate) * np.sqrt(self.nu)
        self.leaf_rate = auto_leaf_rate if leaf_rate == "auto" else float(leaf_rate)
        self.trainer = trainer_of(params, tree, problem, input_scale, self.nu, self.batch_size)
        self.progress = Progress(params, problem, self.epochs)
        self.best = None

    def _nu(self, spread):
        if self.params.nu != "auto":
            return float(self.params.nu)
        problem = self.problem
        largest = problem.loss.extremes(self.tree.values, problem.y[self.probe])[1]
        # Weight vectors of norm sqrt(nu) must fit float32, even if all samples are equal.
        return float(np.clip((2.0 * largest.mean() / spread) ** 2, TINY, 1.0 / TINY))

    def shrink_weights(self):
        """Shrink the weight vectors until almost all samples that can have a gradient have one."""
        order = np.resize(self.probe, self.batch_size * -(-_N_PROBE_SAMPLES // self.batch_size))
        zero_rates = np.zeros(len(order) // self.batch_size)
        shares = []
        for factor in (1.0, 0.5, 0.5, 0.5, 0.5):
            self.trainer.tree.scale(factor)
            shares.append(self.trainer.epoch(order, zero_rates, zero_rates)["gradient_share"])
        chosen = next(
            i for i, share in enumerate(shares) if share >= _MIN_GRADIENT_SHARE * shares[-1])
        self.trainer.tree.scale(2.0 ** (len(shares) - 1 - chosen))

    def train(self):
        """Run the epochs of Algorithm 1."""
        self._keep_best()
        with self.progress.until_interrupted():
            pace = Pace(self.progress.control, self.epochs, self.n_steps)
            for epoch in range(self.progress.resume(self._restore), self.epochs):
                self._epoch(epoch, pace)
                if pace.is_finished:
                    break

    def _epoch(self, epoch, pace):
        if self._is_renewal(epoch):
            self.trainer.assign(self.training_samples)
        order = self.random.permutation(self.training_samples)
        for steps, done in pace.pieces(epoch):
            decay = cosine(done)
            metrics = self.trainer.epoch(
                order[steps.start * self.batch_size:steps.stop * self.batch_size],
                self.rate * decay, self.leaf_rate * decay, resume=steps.start > 0)
        self.progress.report({**metrics, "validation": self._keep_best()}, self._state)

    def _state(self):
        trainer = self.trainer
        weights, thresholds, values = trainer.tree.arrays
        return {"weights": weights, "thresholds": thresholds, "values": values, "best": self.best,
                "random": self.random.get_state(legacy=False),
                "assignment": trainer.assignment if trainer.fixed_assignment else None}

    def _restore(self, state):
        trainer = self.trainer
        trainer.tree.restore([state["weights"], state["thresholds"], state["values"]])
        set_random_state(self.random, state["random"])
        if state["assignment"] is not None:
            trainer.assignment[...] = state["assignment"]
            leaf = trainer.assignment[self.training_samples]
            if not ((leaf >= 0) & (leaf < self.tree.n_leaves)).all():
                raise ValueError("the assigned leaves are out of range")
            trainer.fixed_assignment = True
        self._keep_best()       # sets the present errors
        if self.best is not None:   # without validation samples, only a damaged file has one
            self.best = state["best"]

    def _is_renewal(self, epoch):
        if self.renew == "step":
            return False    # the kernel assigns each sample anew when it is visited
        if self.renew == "plateau":
            bound = self.progress.history["bound"]
            return len(bound) < 2 or bound[-1] > (1.0 - _MIN_BOUND_DECREASE) * bound[-2]
        return epoch % (1 if self.renew == "epoch" else self.renew) == 0

    def _keep_best(self):
        """Keep the present tree if it is the best so far; return its validation error."""
        if not len(self.validation_samples):
            return np.nan
        self.errors = self._weighted_errors()
        if self.best is None or self.errors.sum() <= self.best[0].sum():
            self.best = (self.errors, *(array.copy() for array in self.trainer.tree.arrays))
        return self.errors.sum()

    def _weighted_errors(self):
        """Errors on the validation samples, times their weights, which add up to 1."""
        samples = self.validation_samples
        weight = self.problem.validation_weight[samples]
        values = self.trainer.tree.values[self.trainer.navigate(samples)]
        return self.problem.prediction_errors(values, samples) * (weight / weight.sum())

    def best_tree(self):
        """The last tree, or the best one if it was clearly better.

        The lowest of many noisy validation errors is biased, and the decay of the learning rate
        makes the last tree a good one. The best tree must therefore be better by more than one
        standard error.
        """
        arrays = self.trainer.tree.arrays
        if self.best is not None and standard_errors_saved(self.errors, self.best[0]) > 1.0:
            _, *arrays = self.best
        return raw_tree(arrays, self.tree, self.scaling)


def raw_tree(arrays, initial, scaling):
    """The tree of some `TrainedTree.arrays`, for raw features; `initial` has its structure."""
    weights, thresholds, values = arrays
    weights, thresholds = scaling.to_raw(weights.astype(np.float64), thresholds)
    return initial.replace(weights=weights, thresholds=thresholds, values=values)


def number_of_epochs(params, n_steps, problem):
    """Number of epochs of so many steps."""
    if params.epochs != "auto":
        return int(params.epochs)
    steps = max(_MIN_STEPS, _STEPS_PER_FEATURE * len(problem.varying))
    return int(np.clip(-(-steps // n_steps), _MIN_EPOCHS, _MAX_EPOCHS))


def trainer_of(params, tree, problem, input_scale, nu, batch_size):
    """Make the trainer of a tree.

    Parameters
    ----------
    params : SGD
    tree : Tree
        The initial tree.
    problem : Problem
        With the samples to visit.
    input_scale : InputScale
    nu : float
        Largest squared norm of a weight vector.
    batch_size : int

    Returns
    -------
    SGDTrainer
    """
    loss, inference = problem.loss, params.inference
    if inference == "auto":
        inference = "fast" if loss.is_classifier else "full"
    # Leaf values of regression are in the units of the targets, which may be any number of
    # standard deviations from zero. Logarithms need the limit: their exponentials are summed.
    leaf_limit = params.leaf_limit if loss.is_classifier or loss.has_log_link else np.inf
    weights, thresholds = input_scale.scaling.to_unit_norm(tree.dense_weights(), tree.thresholds)
    trained = TrainedTree(
        tree, weights.astype(np.float32), thresholds.copy(),
        np.clip(tree.values, -leaf_limit, leaf_limit), loss, nu=nu, leaf_limit=leaf_limit,
        max_leaf_step=_max_leaf_step(loss, tree))
    samples = TrainingSamples(
        problem.data, problem.y,
        problem.sample_weight / problem.sample_weight[problem.training_samples].mean(),
        input_scale.scaling, input_scale.norm_limit)
    return SGDTrainer(
        trained, samples, radius=RADIUS[inference],
        best_assignment=params.assignment == "best", batch_size=batch_size,
        n_threads=usable_threads(problem.n_jobs))


def _max_leaf_step(loss, tree):
    """Step of a leaf value along its mean gradient that does not overshoot the optimum.

    The squared loss has curvature 2; for the Poisson loss, it is the prediction.
    """
    if loss.is_classifier:
        return np.inf
    curvature = loss.decode(tree.values).max() if loss.has_log_link else 2.0
    return 0.5 / max(2.0, curvature)
