"""Choice between ways to make a tree, by errors on samples that they were not trained on."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import NamedTuple

import numpy as np

from ngdt._core.scaling import power_of_two
from ngdt._training.folds import problem_without
from ngdt._training.problem import Problem, standard_errors_saved
from ngdt._training.size_limits import enforce_limits


@dataclass(frozen=True, eq=False)
class Candidate:
    """A way to make a tree: `make` takes a `Fold`, and returns a `TrainingResult`."""

    name: str
    make: Callable


@dataclass(frozen=True, eq=False)
class Fold:
    """Samples to train on, and others to test on. All candidates share what is made of it."""

    problem: Problem                    # without the test samples
    samples: np.ndarray | None = None   # to test on, int32; None where all are trained on
    weight: np.ndarray | None = None    # of these samples
    trees: Callable | None = None       # makes the initial tree of a name
    made: dict = field(default_factory=dict)

    @classmethod
    def without(cls, problem, samples, trees=None):
        """The fold of these test samples."""
        weight = problem.sample_weight[samples]
        return cls(problem_without(problem, samples), samples, weight, trees)

    def initial(self, init):
        """The tree of an initializer, or of a name, which is made once."""
        if init not in self.made:
            is_name = isinstance(init, str)
            self.made[init] = self.trees(init) if is_name else init.initialize(self.problem)
        return self.made[init]

    def errors(self, tree):
        """Errors of a tree on the test samples, times their weights."""
        return self.weight * self.problem.errors(tree, self.samples)


class Rule:
    """Rule of who leaves: candidates that the best one leads by over `max_lag` standard errors."""

    def __init__(self, max_lag):
        self.max_lag = max_lag

    def stays(self, candidate):
        """Return whether a candidate is trained on all folds that there are for others."""
        return False

    def skips(self, candidate, choice, trained):
        """Return whether a candidate is not worth its time, after those trained in this fold."""
        return False

    def tested(self, candidate, fold, tree):
        """Take note of a tree, and of its fold."""


class MeanError(NamedTuple):
    """Mean error of a candidate on its folds, and the standard error of the mean."""

    mean: float
    deviation: float


class Choice:
    """The candidates, who did not leave, their errors on each fold, and their trees of the last."""

    def __init__(self, candidates, folds):
        self.candidates, self.alive, self.folds = list(candidates), list(candidates), folds
        self.errors, self.trees = {each: [] for each in candidates}, {}

    def add(self, candidate, fold, tree):
        """Test a tree of a candidate on a fold."""
        self.trees[candidate] = tree
        self.errors[candidate].append(fold.errors(tree))

    def best(self, among):
        """The candidate with the least error; of equal ones, the first."""
        return min(among, key=lambda each: np.concatenate(self.errors[each]).sum())

    def lead(self, candidate, other):
        """Lead over another candidate in standard errors, on the folds that both were tested on."""
        pair = self.errors[other], self.errors[candidate]
        n = min(map(len, pair))
        return standard_errors_saved(*(np.concatenate(errors[:n]) for errors in pair))

    def mean_error(self, candidate):
        """The `MeanError` of a candidate; NaN without folds."""
        errors = self.errors[candidate]
        if not errors:
            return MeanError(np.nan, np.nan)
        weight = np.concatenate([fold.weight for fold in self.folds[:len(errors)]])
        unit = power_of_two(weight.max())   # squares of large weights overflow
        weight, errors = weight / unit, np.concatenate(errors) / unit
        mean = errors.sum() / weight.sum()
        return MeanError(mean, np.sqrt(((errors - mean * weight) ** 2).sum()) / weight.sum())

    def ranked(self, among):
        """Candidates, those on most folds first, and of these the one with the least error."""
        return sorted(among, key=lambda each: (-len(self.errors[each]), self.mean_error(each).mean))

    def table(self, winner):
        """The candidates with their errors, dict of lists."""
        errors = [self.mean_error(each) for each in self.candidates]
        return {
            "candidate": [each.name for each in self.candidates],
            "error": [float(each.mean) for each in errors],
            "standard_error": [float(each.deviation) for each in errors],
            "n_folds": [len(self.errors[each]) for each in self.candidates],
            "chosen": [each is winner for each in self.candidates],
        }


def choose(choice, rule, deadline, verbose=False):
    """Train the candidates of a `Choice` without the samples of each fold, and test them on these.

    After each fold, candidates that clearly lag behind the best one leave. Those of a fold share
    the time until the deadline, and further folds are left out. After Ctrl-C, a KeyboardInterrupt,
    the choice has what was tested until then.
    """
    for k, fold in enumerate(choice.folds):
        begin = monotonic()
        trained = _test(choice, fold, rule, deadline)
        best = choice.best(trained)
        if verbose:
            shown = "  ".join(
                f"{each.name} {choice.mean_error(each).mean:.4g}" for each in trained)
            print(f"[selection] fold {k + 1}/{len(choice.folds)}  mean error: {shown}")
        choice.alive = [each for each in trained if each is best or rule.stays(each)
                        or choice.lead(best, each) <= rule.max_lag]
        if all(each is best or rule.stays(each) for each in choice.alive) or (
                k + 1 < len(choice.folds) and not deadline.fits(monotonic() - begin)):
            break


def _test(choice, fold, rule, deadline):
    """Train the candidates on a fold, and return those that were."""
    trained, n = [], len(choice.alive)
    for i, candidate in enumerate(choice.alive):
        if i > 0 and not deadline.fits():
            break
        if rule.skips(candidate, choice, trained):
            continue
        control = fold.problem.control.part(1 / n, candidate.name)
        problem = fold.problem.replace(
            control=replace(control, deadline=deadline.share(1 / (n - i))))
        tree = enforce_limits(candidate.make(replace(fold, problem=problem)).tree, problem)
        control.activity.finish()
        choice.add(candidate, fold, tree)
        rule.tested(candidate, fold, tree)
        trained.append(candidate)
    return trained


def least(errors, slack=0.0):
    """Index of the least error; of those within the slack of it, the last.

    Candidates in an array are sorted from the most complex to the simplest: of equally good ones,
    the simplest is chosen.
    """
    errors = np.where(np.isnan(errors), np.inf, errors)
    return int(np.flatnonzero(errors <= errors.min() + slack)[-1])
