"""Validation: choice between the trained tree and the baseline, on samples neither has seen."""

from time import monotonic

import numpy as np

from ngdt._core.greedy.builder import GrowthInterrupted
from ngdt._core.tree import Tree
from ngdt._selection.reduced import optimize
from ngdt._selection.result import TrainingResult, append_metrics, empty_history
from ngdt._training.folds import (
    N_FOLDS,
    hold_out,
    problem_without,
    standard_errors_saved,
    strata_of,
)
from ngdt._training.limits import enforce_limits

# Number of samples below which folds decide. Half of a tenth of them is too few to distinguish a
# gain of four points from chance, and to train a few times more takes seconds.
CROSS_VALIDATION_SAMPLES = 20_000
# Gain over the baseline, in standard errors, above which the trained tree is chosen.
MIN_GAIN_SE = 2.0
# Difference, in standard errors, above which the remaining folds are skipped.
STOP_FOLDS_SE = 5.0
# Gain, in standard errors, above which the choice of epochs and subtrees on the same samples cannot
# explain it. With a quarter of random labels, this choice alone gained four standard errors.
SELECTION_BIAS_SE = 6.0
# Share of the time until the deadline for training, before the comparison; and of this time, the
# share for the initial tree; and of the time left for the comparison, that for the baseline.
TRAINING_TIME, INITIAL_TIME, BASELINE_TIME = 0.75, 0.3, 0.25
# Shares that are shown: of the work for the training, if folds follow, and of this for the initial
# tree.
TRAINING_WORK, INITIAL_WORK = 0.3, 0.1


class _Interrupted(Exception):
    """Ctrl-C ended an optimizer, which returned its best tree so far."""


def train(problem, init, optimizers, *, baseline=None, validation_fraction=None, limit=True):
    """Make a tree, run the optimizers on it in order, and choose between it and the baseline.

    The baseline is the tree of a given initializer, by default the initial tree. The trained tree
    is chosen if it saves more errors than two standard errors of the paired difference, on samples
    on which neither tree was trained. Samples by which epochs and subtrees were chosen are biased
    in favour of the trained tree. They decide only if the gain exceeds that bias. Otherwise half of
    the validation samples is reserved for the comparison, or folds decide. If the baseline is
    chosen, it is made anew from all samples. A given tree is not compared.

    Ctrl-C at any time after the first epoch returns the present trained tree.

    Parameters
    ----------
    problem : Problem
        Without validation samples.
    init : Initializer or Tree
    optimizers : list of Optimizer
    baseline : Initializer or None
        Makes the baseline. None: the baseline is the initial tree.
    validation_fraction : float, "auto" or None
        As for the estimators. Folds decide only with "auto", if half of the validation samples
        would be too few to decide.
    limit : bool, default=True
        Whether the limits of the problem are enforced.

    Returns
    -------
    TrainingResult
    """
    for algorithm in (*optimizers, init):     # those that are named before those that follow
        if not isinstance(algorithm, Tree):
            algorithm.check(problem)
    if isinstance(init, Tree):
        problem.check_shapes(init)
    return _Training(problem, init, optimizers, baseline, validation_fraction, limit).run()


class _Training:
    """One call of `train`: the problem with and without validation samples, and the baseline."""

    def __init__(self, problem, init, optimizers, baseline, validation_fraction, limit):
        self.whole, self.init, self.optimizers = problem, init, optimizers
        self.baseline, self.limit = init if baseline is None else baseline, limit
        self.baseline_name = "the initial tree" if baseline is None else "the pruned tree"
        # A given tree may have been fitted on these samples, so that a comparison would be biased.
        self.is_compared = bool(optimizers) and not isinstance(self.baseline, Tree)
        few = np.count_nonzero(problem.sample_weight) < CROSS_VALIDATION_SAMPLES
        # Folds are random. The result of a deterministic method must not depend on them.
        self.folds = self.is_compared and validation_fraction == "auto" and few and any(
            optimizer.is_stochastic for optimizer in optimizers)
        # Without an optimizer there is nothing to validate.
        training, validation = self._hold_out(
            problem.sample_weight, validation_fraction if optimizers else None)
        self.test_weight = validation
        if self.is_compared and not self.folds and validation is not None:
            validation, self.test_weight = self._hold_out(validation, 0.5)
        self.problem = problem
        if training is not problem.sample_weight:
            self.problem = problem.replace(sample_weight=training, validation_weight=validation)
        self.compared_tree = None   # the baseline without the samples of the comparison

    def _hold_out(self, sample_weight, fraction):
        return hold_out(
            sample_weight, fraction, strata_of(self.whole), self.whole.random_state)

    def run(self):
        share = TRAINING_WORK if self.folds else 1.0
        problem = self.problem.with_time(TRAINING_TIME if self.is_compared else 1.0).doing(share)
        begin = monotonic()
        history = empty_history(self.optimizers)
        try:
            initial = self._initialize(
                problem.with_time(INITIAL_TIME if self.optimizers else 1.0).doing(
                    INITIAL_WORK if self.optimizers else 1.0, "initial tree"), self.init)
        except GrowthInterrupted as error:
            return TrainingResult(self._limited(self.whole, error.tree), history, False, True)
        initialized = monotonic()
        tree, interrupted = self._optimize(problem, initial, history)
        problem.activity.finish()
        self.fold_seconds = monotonic() - begin
        if not interrupted:
            try:
                tree = self._limited(self.whole, tree)
                if not self._is_compared_in_time() or self._is_better(initial, tree):
                    return TrainingResult(tree, history)
                if self.whole.verbose:
                    print("[selection] the trained tree was not clearly better than "
                          f"{self.baseline_name}, which is kept")
                kept = self.compared_tree
                if kept is None or self.whole.deadline.fits(initialized - begin):
                    kept = self._initialize(self.whole, self.baseline)
                return TrainingResult(self._limited(self.whole, kept), history, True)
            except (KeyboardInterrupt, _Interrupted):
                pass
        return TrainingResult(self._limited(self.whole, tree), history, False, True)

    def _is_compared_in_time(self):
        """Whether there is a comparison, and time to make its baseline."""
        return self.is_compared and (self.baseline is self.init or self.whole.deadline.fits())

    def _initialize(self, problem, init):
        return init if isinstance(init, Tree) else init.initialize(problem)

    def _optimize(self, problem, tree, history=None):
        """The tree after all optimizers, and whether Ctrl-C ended one of them."""
        for i, optimizer in enumerate(self.optimizers):
            if i > 0 and not problem.deadline.fits():
                break
            seeded = problem.with_time(1 / (len(self.optimizers) - i)).replace(
                random_state=(problem.random_state + i) % 2**31).doing(
                    (1.0 - INITIAL_WORK) / len(self.optimizers))
            try:
                result = (
                    optimizer.optimize(tree, seeded) if isinstance(self.init, Tree) else
                    optimize(optimizer, tree, seeded))
            except KeyboardInterrupt:
                if i == 0:      # there is no trained tree yet
                    raise
                return tree, True
            tree = result.tree
            if history is not None:
                append_metrics(history, type(optimizer).__name__, result.history)
            if result.interrupted:
                return tree, True
        return tree, False

    def _limited(self, problem, tree):
        return enforce_limits(tree, problem) if self.limit else tree

    def _is_better(self, initial, tree):
        """Whether the trained tree is clearly better than the baseline."""
        gain = np.inf
        if self.test_weight is not None:
            baseline = initial if self.baseline is self.init else self._initialize(
                self.problem.with_time(BASELINE_TIME), self.baseline)
            self.compared_tree = self._limited(self.problem, baseline)
            gain = standard_errors_saved(*self._errors(
                np.flatnonzero(self.test_weight), self.test_weight, self.compared_tree, tree))
        # A gain that is not positive needs no folds: the bias favours the trained tree.
        if self.folds and (self.test_weight is None or 0 < gain <= SELECTION_BIAS_SE) and (
                self.whole.deadline.fits(N_FOLDS * self.fold_seconds)):
            gain = self._cross_validated_gain()
        return gain > MIN_GAIN_SE

    def _cross_validated_gain(self):
        """Gain over the baseline in standard errors, by cross-validation."""
        sample_weight = self.whole.sample_weight
        samples = np.flatnonzero(sample_weight)
        if len(samples) < 2 * N_FOLDS:
            return np.inf   # too few samples for a comparison: choose the trained tree
        fold = np.random.default_rng(self.problem.random_state).permutation(
            len(samples)) % N_FOLDS
        errors = np.empty((2, len(samples)))
        for i in range(N_FOLDS):
            test_samples = samples[fold == i]
            problem = problem_without(self.problem, test_samples).replace(
                verbose=0, callback=None).doing(
                    (1.0 - TRAINING_WORK) / N_FOLDS,
                    f"checking against {self.baseline_name}, fold {i + 1} of {N_FOLDS}")
            initial = self._initialize(problem, self.init)
            tree, interrupted = self._optimize(problem, initial)
            if interrupted:
                raise _Interrupted
            baseline = initial if self.baseline is self.init else (
                self._initialize(problem, self.baseline))
            errors[:, fold == i] = self._errors(
                test_samples, sample_weight,
                *(self._limited(problem, each) for each in (baseline, tree)))
            problem.activity.finish()
            gain = standard_errors_saved(*errors[:, fold <= i])
            if abs(gain) > STOP_FOLDS_SE:
                break
        return gain

    def _errors(self, samples, weight, *trees):
        """Weighted errors of trees on the given samples."""
        weight, samples = weight[samples], samples.astype(np.int32)
        return [weight * self.problem.errors(tree, samples) for tree in trees]
