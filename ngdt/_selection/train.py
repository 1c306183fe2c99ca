"""Training by named methods, and the choice between the trained tree and the baseline."""

from dataclasses import dataclass
from time import monotonic

import numpy as np

from ngdt._core.tree import Tree
from ngdt._methods.greedy.pruned import Pruned, pruned_tree
from ngdt._methods.initializer import Initializer
from ngdt._methods.optimizer import Optimizer
from ngdt._selection import policy
from ngdt._training.choice import Choice, Fold, choose
from ngdt._training.folds import (
    N_FOLDS,
    fold_samples,
    hold_out,
    numbered_groups,
    problem_without,
    standard_errors_saved,
    strata_of,
)
from ngdt._training.monotone import freed
from ngdt._training.result import TrainingResult, append_metrics, empty_history
from ngdt._training.size_limits import enforce_limits
from ngdt._training.wide_data import optimize_reduced
from ngdt._util.stopped import Stopped


@dataclass(frozen=True, eq=False)
class Candidate:
    """An initial tree, and optimizers that train it in turn."""

    name: str
    init: Initializer | Tree | str      # the name of one of the trees of a fold
    optimizers: tuple[Optimizer, ...] = ()
    final: tuple[Optimizer, ...] | None = None  # in their place, where all samples are trained on
    max_depth: int | None = None        # of the initial tree, in a forest
    free_levels: int = 0                # as in a `Problem`

    def make(self, fold):
        """The `TrainingResult` for the training samples of a fold."""
        problem = fold.problem.replace(free_levels=self.free_levels)
        is_final = fold.samples is None and self.final is not None
        optimizers = self.final if is_final else self.optimizers
        tree, history = fold.initial(self.init), empty_history(optimizers)
        tree = freed(tree, problem) if self.free_levels else tree
        problem = problem.doing(problem.control.activity.left)
        return TrainingResult(run_in_turn(problem, tree, optimizers, history), history)


@dataclass(frozen=True, eq=False)
class PrunedTree:
    """The pruned greedy tree that a trained tree has to beat, as a candidate.

    Held-out samples choose its size. So it has a limit of its own on the depth: none, where the
    initial tree of an optimizer needs one.
    """

    max_depth: int | None
    name: str = ""

    def initialize(self, problem):
        """The tree of the training samples of a problem, as it is kept."""
        return Pruned().initialize(problem.replace(max_depth=self.max_depth))

    def to_compare(self, problem):
        """The same by fewer folds: deep trees of ten took longer than the training."""
        problem = problem.replace(max_depth=self.max_depth)
        return pruned_tree(problem, fold_samples(problem))

    def make(self, fold):
        """The `TrainingResult` for the training samples of a fold."""
        return TrainingResult(self.to_compare(fold.problem), empty_history(()))


def run_in_turn(problem, tree, optimizers, history, is_given=False):
    """The tree after all optimizers, whose metrics are added to a history.

    A tree that is given is not the tree of an initializer. Ctrl-C raises Stopped with the tree so
    far, and KeyboardInterrupt before there is one.
    """
    for i, optimizer in enumerate(optimizers):
        if i > 0 and not problem.control.deadline.fits():
            break
        seeded = problem.with_time(1 / (len(optimizers) - i)).replace(
            random_state=(problem.random_state + i) % 2**31).doing(1 / len(optimizers))
        try:
            result = None if is_given else optimize_reduced(optimizer, tree, seeded)
            if result is None:
                result = optimizer.optimize(tree, seeded)
        except Stopped as stopped:
            append_metrics(history, type(optimizer).__name__, stopped.history)
            raise Stopped(stopped.tree, history) from stopped
        except KeyboardInterrupt as error:
            if i == 0:      # there is no trained tree yet
                raise
            raise Stopped(tree, history) from error
        tree = result.tree
        append_metrics(history, type(optimizer).__name__, result.history)
    return tree


def train(problem, init, optimizers, *, baseline=None, validation_fraction=None, limit=True):
    """Make a tree, run the optimizers on it in order, and choose between it and the baseline.

    The baseline is a given `PrunedTree`, by default the initial tree. The trained tree is chosen if
    it saves more errors than two standard errors of the paired difference, on samples on which
    neither tree was trained. Samples by which epochs and subtrees were chosen are biased in favour
    of the trained tree. They decide only if the gain exceeds that bias. Otherwise half of the
    validation samples is reserved for the comparison, or folds decide. If the baseline is chosen,
    it is made anew from all samples. A given tree is not compared. But where no samples decide, an
    initial tree with less training error is kept, unless `validation_fraction` is None or 0, or the
    optimizer pays with training error for a simpler tree.

    Validation samples of the problem are given apart, and take the place of
    `validation_fraction`, which is that of the estimators. Folds decide only with "auto", if half
    of the validation samples would be too few to decide. With `limit`, the limits of the problem
    are enforced.

    Returns a `TrainingResult`. Ctrl-C raises Stopped with the present trained tree, and
    KeyboardInterrupt before there is one.
    """
    for algorithm in (*optimizers, init):     # those that are named before those that follow
        if not isinstance(algorithm, Tree):
            algorithm.check(problem)
    if isinstance(init, Tree):
        problem._check_shapes(init)
    comparison = _Comparison(problem, Candidate("", init, tuple(optimizers)), baseline,
                             validation_fraction)
    history = empty_history(optimizers)
    tree = None
    try:
        initial = comparison.initial_tree()
        tree = run_in_turn(
            comparison.training, initial, optimizers, history, isinstance(init, Tree))
        comparison.note_time()
        tree = enforce_limits(tree, problem) if limit else tree
        gain = comparison.gain(initial, tree)
        # Where nothing else decides, training samples do, unless a method is wanted as it is.
        is_worse = gain == np.inf and validation_fraction and comparison.is_worse(initial, tree)
        if gain > policy.MIN_GAIN and not is_worse:
            return TrainingResult(tree, history)
        kept = initial if is_worse else comparison.baseline_tree()
        return TrainingResult(enforce_limits(kept, problem) if limit else kept, history, True)
    except KeyboardInterrupt as error:
        found = getattr(error, "tree", None) if tree is None else tree
        if found is None:
            raise
        raise Stopped(enforce_limits(found, problem) if limit else found, history) from error


class _Comparison:
    """The samples that `train` holds out, and the comparison with the baseline."""

    def __init__(self, problem, trained, baseline, validation_fraction):
        self.whole, self.trained, self.init = problem, trained, trained.init
        self.baseline = self.init if baseline is None else baseline
        optimizers = trained.optimizers
        # A given tree may have been fitted on these samples, so that a comparison would be biased.
        self.is_compared = bool(optimizers) and not isinstance(self.baseline, Tree)
        few = np.count_nonzero(problem.sample_weight) < policy.CROSS_VALIDATION_SAMPLES
        # Folds are random. The result of a deterministic method must not depend on them.
        is_own = problem.own_validation
        self.has_folds = self.is_compared and validation_fraction == "auto" and few and any(
            optimizer.is_stochastic for optimizer in optimizers) and not is_own
        # Without an optimizer there is nothing to validate.
        training, validation = (problem.sample_weight, problem.validation_weight) if is_own else (
            self._hold_out(problem.sample_weight, validation_fraction if optimizers else None))
        self.test_weight = validation
        if self.is_compared and not self.has_folds and validation is not None:
            validation, self.test_weight = self._hold_out(validation, 0.5)
        self.problem = problem.replace(sample_weight=training, validation_weight=validation)
        self.training = self.problem.with_time(
            policy.TRAINING_TIME if self.is_compared else 1.0).doing(
                1 / (1 + N_FOLDS) if self.has_folds else 1.0)
        self.compared_tree = None   # the baseline without the samples of the comparison
        self.begin = monotonic()

    def _hold_out(self, sample_weight, fraction):
        whole = self.whole
        return hold_out(
            sample_weight, fraction, strata_of(whole), whole.random_state, whole.groups)

    def initial_tree(self):
        tree, n = self.init, len(self.trained.optimizers)
        if not isinstance(tree, Tree):
            timed = self.training.with_time(policy.INITIAL_TIME if n else 1.0)
            timed = timed.doing(1 / (1 + n), "initial tree")
            tree = tree.initialize(timed)
        self.initial_seconds = monotonic() - self.begin
        return tree

    def note_time(self):
        """Take the time of the training, as others like it will take as long."""
        self.training.control.activity.finish()
        self.seconds = monotonic() - self.begin

    def baseline_tree(self):
        """The baseline of all samples, if there is time for it."""
        if self.compared_tree is None or self.whole.control.deadline.fits(self.initial_seconds):
            return self.baseline.initialize(self.whole)
        return self.compared_tree

    def is_worse(self, initial, tree):
        """Return whether a tree has more error than the initial one where it should have less."""
        problem, optimizers = self.training, self.trained.optimizers
        if not optimizers or optimizers[0].regularizes:
            return False
        every = np.arange(len(problem.y), dtype=np.int32)
        saved = problem.errors(initial, every) - problem.errors(tree, every)
        weight, validation = problem.sample_weight, problem.validation_weight
        return weight @ saved < 0.0 and (validation is None or validation @ saved <= 0.0)

    def gain(self, initial, tree):
        """Gain of the trained tree over the baseline in standard errors.

        Infinite without samples, or time, for a comparison.
        """
        is_initial, deadline = self.baseline is self.init, self.whole.control.deadline
        if not self.is_compared or not (is_initial or deadline.fits()):
            return np.inf
        gain = np.inf
        if self.test_weight is not None:
            baseline = initial if is_initial else self.baseline.to_compare(
                self.problem.with_time(policy.BASELINE_TIME))
            self.compared_tree = enforce_limits(baseline, self.problem)
            samples = np.flatnonzero(self.test_weight).astype(np.int32)
            fold = Fold(self.problem, samples, self.test_weight[samples])
            gain = standard_errors_saved(
                fold.score(self.compared_tree).error, fold.score(tree).error)
        # A gain that is not positive needs no folds: the bias favours the trained tree.
        is_unsure = self.test_weight is None or 0 < gain <= policy.SELECTION_BIAS
        if self.has_folds and is_unsure and deadline.fits(N_FOLDS * self.seconds):
            gain = self._cross_validated_gain()
        return gain

    def _cross_validated_gain(self):
        """Gain over the baseline in standard errors, by cross-validation."""
        samples = np.flatnonzero(self.whole.sample_weight)
        group = numbered_groups(self.whole, samples)
        n_groups = group.max() + 1
        n_folds = min(N_FOLDS, n_groups)
        if n_folds < 2 or len(samples) < 2 * N_FOLDS:
            return np.inf   # too few samples for a comparison: choose the trained tree
        fold = np.random.default_rng(self.problem.random_state).permutation(
            n_groups)[group] % n_folds
        quiet = self.problem.replace(control=self.problem.control.quiet())
        folds = []
        for k in range(n_folds):
            test = samples[fold == k].astype(np.int32)
            part = quiet.doing(1 / (1 + n_folds), f"comparing, fold {k + 1} of {n_folds}")
            folds.append(Fold(problem_without(part, test), test, self.whole.sample_weight[test]))
        baseline, trained = self.baseline, self.trained
        if baseline is self.init:
            baseline = Candidate("", baseline)
        choice = Choice([baseline, trained], folds)
        choose(choice, self.whole.control.deadline)
        # Without time for the other one, the trained tree is taken to be better.
        return choice.lead(trained) if choice.scores[trained] else np.inf
