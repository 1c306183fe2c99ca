"""One training run of SGD or Stable SGD: what lives between epochs."""

import numpy as np

from ngdt.inference import RADIUS
from ngdt.optimizers._base import Progress
from ngdt.optimizers._sgd.epoch import SGDTrainer
from ngdt.optimizers._sgd.input_scale import TINY, representative_samples
from ngdt.problem import standard_errors_saved

# Samples that measure the share of samples with a gradient.
_PROBE = 1000
# Share of samples with a gradient, over that for tiny weights, with which training starts. Dense
# data have 0.99 at norm 1; the one-hot Connect4 has 0.2 to 0.8 there, and stands still.
_ENOUGH = 0.95
_MIN_EPOCHS, _MAX_EPOCHS, _MIN_STEPS, _STEPS_PER_FEATURE = 10, 300, 10_000, 40
# Renewal "plateau": relative improvement of the mean bound that counts as none.
_NEGLIGIBLE = 1e-3

SCHEDULES = {
    # share of the run that is done, number of epochs -> factor
    "constant": lambda done, epochs: np.ones_like(done),
    "cosine": lambda done, epochs: 0.5 * (1.0 + np.cos(np.pi * done)),
    "inverse_sqrt": lambda done, epochs: 1.0 / np.sqrt(1.0 + done * epochs),
}


class SGDRun:
    """One training run: what lives between epochs."""

    def __init__(self, params, tree, problem, space):
        self.params, self.tree, self.problem = params, tree, problem
        self.scaling = space.scaling
        self.rule, self.renew = params._assignment()
        self.random = np.random.RandomState(problem.random_state)
        self.rows, self.held_out = problem.training_samples, problem.validation_samples
        sample = representative_samples(self.rows)
        self.nu = self._nu(sample, space.spread)
        self.batch_size = int(min(params.batch_size, len(self.rows)))
        self.n_steps = -(-len(self.rows) // self.batch_size)
        self.epochs = params.epochs
        if self.epochs == "auto":
            steps = max(_MIN_STEPS, _STEPS_PER_FEATURE * problem.X.shape[1])
            self.epochs = int(np.clip(-(-steps // self.n_steps), _MIN_EPOCHS, _MAX_EPOCHS))
        learning_rate = params.learning_rate
        if learning_rate == "auto":
            learning_rate = 0.1 if problem.loss.is_classifier else 0.03
        self.rate = learning_rate * np.sqrt(self.nu)
        self.leaf_rate = self._leaf_rate()
        self.trainer = self._trainer(space.norm_limit)
        self._shrink_start(sample)
        self.progress = Progress(params, problem, self.epochs)
        self.best = None
        self._keep_best()

    def _nu(self, sample, spread):
        if self.params.nu != "auto":
            return float(self.params.nu)
        problem = self.problem
        largest = problem.loss.extremes(self.tree.values, problem.y[sample])[1]
        # Rows of the ball's size fit float32, even where the samples have no spread at all.
        return float(np.clip((2.0 * largest.mean() / spread) ** 2, TINY, 1.0 / TINY))

    def _leaf_rate(self):
        if self.params.leaf_update == "closed_form":
            return 0.0
        if self.params.leaf_learning_rate == "auto":
            return 10.0 if self.problem.loss.is_classifier else 1.0
        return float(self.params.leaf_learning_rate)

    def _trainer(self, norm_limit):
        problem, params = self.problem, self.params
        inference = params.inference
        if inference == "auto":
            inference = "fast" if problem.loss.is_classifier else "full"
        weights, thresholds = self.scaling.to_unit_rows(self.tree)
        return SGDTrainer(
            self.tree,
            weights.astype(np.float32),
            thresholds.copy(),
            np.clip(self.tree.values, -params.leaf_limit, params.leaf_limit),
            problem.data,
            problem.y,
            problem.sample_weight / problem.sample_weight[self.rows].mean(),
            self.scaling,
            problem.loss,
            radius=RADIUS[inference],
            best_assignment=self.rule == "best",
            norm_limit=norm_limit,
            nu=self.nu,
            momentum=params.momentum,
            leaf_limit=params.leaf_limit,
            # The squared loss has curvature 2: a larger step overshoots the leaf's mean.
            max_leaf_step=np.inf if problem.loss.is_classifier else 0.25,
            batch_size=self.batch_size,
            n_threads=problem.n_jobs,
        )

    def _shrink_start(self, sample):
        """Shrink the rows until about as many samples feel a gradient as can."""
        order = np.resize(sample, self.batch_size * -(-_PROBE // self.batch_size))
        still = np.zeros(len(order) // self.batch_size)
        sizes = [1.0, 0.5, 0.25, 0.125, 0.0625]
        shares = []
        for size in sizes:
            self.trainer.scale(size if size == 1.0 else 0.5)
            shares.append(self.trainer.epoch(order, still, still)["gradient_share"])
        enough = next(i for i, share in enumerate(shares) if share >= _ENOUGH * shares[-1])
        self.trainer.scale(sizes[enough] / sizes[-1])

    def train(self):
        with self.progress.until_interrupted():
            for epoch in range(self.epochs):
                self._epoch(epoch)
                if self._has_stalled():
                    break

    def _epoch(self, epoch):
        if self._is_renewal(epoch):
            self.trainer.assign(self.rows)
        done = (epoch + np.arange(self.n_steps) / self.n_steps) / self.epochs
        decay = SCHEDULES[self.params.schedule](done, self.epochs)
        metrics = self.trainer.epoch(
            self.random.permutation(self.rows), self.rate * decay, self.leaf_rate * decay)
        if self.params.leaf_update == "closed_form":
            self._fit_leaves()
        self.progress.report({**metrics, "validation": self._keep_best()})

    def _is_renewal(self, epoch):
        if self.renew == "step":
            return False    # the kernel re-assigns each sample when it is visited
        if self.renew == "plateau":
            bound = self.progress.history["bound"]
            return len(bound) < 2 or bound[-1] > (1.0 - _NEGLIGIBLE) * bound[-2]
        return epoch % (1 if self.renew == "epoch" else self.renew) == 0

    def _fit_leaves(self):
        problem, rows = self.problem, self.rows
        self.trainer.set_leaves(
            problem.fit_leaves(self.trainer.assignment[rows], rows, self.tree.n_leaves))

    def _has_stalled(self):
        patience, errors = self.params.patience, self.progress.history["validation"]
        if patience is None or not len(self.held_out) or len(errors) <= patience:
            return False
        return min(errors[-patience:]) >= min(errors[:-patience])

    def _keep_best(self):
        """Remember the present tree if it is the best so far; return its error."""
        trainer = self.trainer
        if not len(self.held_out):
            return np.nan
        self.errors = self._weighted_errors()
        if self.best is None or self.errors.sum() <= self.best[0].sum():
            self.best = (self.errors, trainer.weights.copy(), trainer.thresholds.copy(),
                         trainer.values.copy())
        return self.errors.sum()

    def _weighted_errors(self):
        """Errors on the held-out rows, times their weights, which add up to 1."""
        weight = self.problem.validation_weight[self.held_out]
        values = self.trainer.values[self.trainer.navigate(self.held_out)]
        return self.problem.errors(values, self.held_out) * (weight / weight.sum())

    def best_tree(self):
        """The last tree, or the best one if it was clearly better.

        The best of a hundred noisy metrics is flattered by the choice, and the decay of the steps
        makes the last tree a good one: the best must lead by its standard error.
        """
        trainer = self.trainer
        parameters = trainer.weights, trainer.thresholds, trainer.values
        if self.best is not None and standard_errors_saved(self.errors, self.best[0]) > 1.0:
            parameters = self.best[1:]
        weights, thresholds, values = parameters
        weights, thresholds = self.scaling.to_raw(weights.astype(np.float64), thresholds)
        return self.tree.replace(weights=weights, thresholds=thresholds, values=values)
