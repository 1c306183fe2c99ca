"""Choice between ways to make a tree, on samples that they were not trained on.

Candidates are listed in the order of preference: one takes the place of those before it only if it
is clearly better. Of several trees that are about equally good, the one with the least error on a
few samples is so by luck, and no more accurate on others than one that is taken whatever the luck.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import NamedTuple

import numpy as np

from ngdt._training.folds import numbered_groups, problem_without
from ngdt._training.problem import Problem
from ngdt._training.size_limits import enforce_limits
from ngdt._util.arrays import log_probabilities, power_of_two, standard_errors_saved

# Lead over the first candidate with which another one wins, in standard errors of the paired
# difference: in errors or, if these are a tie, in squared errors of probabilities. On 112 folds of
# 27 tables, 1.5 and 2 were as accurate as 0, which is the least error, to 0.2 points (86.0 and
# 85.8 %), with a tenth fewer leaves and a quarter fewer weights. Losses of regression tell more
# than errors: on 14 tables, 1 was the best.
MIN_LEAD, MIN_LOSS_LEAD = 1.5, 1.0
# Lead in errors up to which they are a tie, in standard errors. Where one linear rule made the
# classes, a tree of four leaves has as few errors as a logistic regression in bands, by luck.
TIE = 1.0
# Lead over the first candidate with which the remaining folds are only for those that may be better
# still: by one fold, a tree of four levels won on digits, two points worse than one of eight.
FAR_LEAD = 5.0
# Least logarithm of a probability of which losses are compared, of one in a million: a linear model
# is all too sure of a sample with gross errors, and a single loss of 1000 would decide.
MIN_LOG_PROBABILITY = np.log(1e-6)
# Number of groups of a fold from which the errors of each are summed up: the sums of fewer tell so
# little of their spread that hardly any lead would be clear.
MIN_GROUPS = 10


class Score(NamedTuple):
    """Errors and losses of predictions, for each of some samples."""

    error: np.ndarray       # 0 or 1 for classification, the loss for regression
    square: np.ndarray      # squared error of the probabilities; the error for regression
    log_loss: np.ndarray    # of the probabilities, bounded; the error for regression

    @classmethod
    def of(cls, problem, predictions, samples, weight, row=None):
        """The weighted score of predictions; `row` has the row of each sample, if some share."""
        if row is None:
            row = np.arange(len(samples))
        error = weight * problem.prediction_errors(predictions[row], samples)
        if not problem.loss.is_classifier:
            return cls(error, error, error)
        used, row = np.unique(row, return_inverse=True)
        log_p = log_probabilities(predictions[used])
        p, at = np.exp(log_p), (row, problem.y[samples, 0].astype(np.intp))
        square = np.maximum((p**2).sum(axis=1)[row] - 2.0 * p[at] + 1.0, 0.0)
        return cls(error, weight * square, -weight * np.maximum(log_p[at], MIN_LOG_PROBABILITY))

    @classmethod
    def of_tree(cls, problem, tree, samples, weight):
        """The weighted score of a tree."""
        leaf = problem.apply(tree, samples)
        if tree.slopes is None:
            return cls.of(problem, tree.values, samples, weight, leaf)
        return cls.of(problem, problem.predictions(tree, samples, leaf), samples, weight)


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
        if problem.own_validation:
            return cls(problem, samples, problem.validation_weight[samples], trees)
        weight = problem.sample_weight[samples]
        return cls(problem_without(problem, samples), samples, weight, trees)

    def initial(self, init):
        """The tree of an initializer, or of a name, which is made once."""
        if init not in self.made:
            is_name = isinstance(init, str)
            self.made[init] = self.trees(init) if is_name else init.initialize(self.problem)
        return self.made[init]

    def score(self, tree):
        """The `Score` of a tree on the test samples; its sums over several groups."""
        return Score(*map(self.sums, Score.of_tree(
            self.problem, tree, self.samples, self.weight)))

    def sums(self, values):
        """The values of the test samples, or their sums over each of several groups.

        Errors within a group are not independent of each other; the sums of groups are.
        """
        if self.problem.groups is None:
            return values
        group = numbered_groups(self.problem, self.samples)
        return np.bincount(group, values) if group.max() + 1 >= MIN_GROUPS else values


class Choice:
    """The candidates, their scores on each fold, and their trees.

    Parameters
    ----------
    candidates : list of Candidate
        Each has a `name`, and a method `make`, which takes a `Fold` and returns a `TrainingResult`.
        In the order of preference.
    folds : list of Fold
    """

    def __init__(self, candidates, folds):
        self.candidates, self.folds = list(candidates), folds
        self.first = candidates[0]          # which is preferred to all others
        self.alive = list(candidates)       # who may still win
        self.scores, self.trees = defaultdict(list), defaultdict(list)      # of each fold

    def add(self, candidate, fold, tree):
        """Test a tree of a candidate on a fold."""
        self.trees[candidate].append(tree)
        self.scores[candidate].append(fold.score(tree))

    def values(self, candidate, of="error"):
        """Weighted values of the test samples of all folds that a candidate was tested on."""
        return np.concatenate([getattr(score, of) for score in self.scores[candidate]])

    def lead(self, candidate, other=None, of="error"):
        """Lead over another candidate, the first one by default, on the folds of both."""
        one, two = self.values(candidate, of), self.values(other or self.first, of)
        n = min(len(one), len(two))
        return standard_errors_saved(two[:n], one[:n])

    def wins(self, candidate, other=None):
        """Return whether a candidate is clearly better than another one, the first by default."""
        lead = self.lead(candidate, other)
        if not self.folds[0].problem.loss.is_classifier:
            return lead > MIN_LOSS_LEAD
        return lead > MIN_LEAD or (
            lead >= -TIE and self.lead(candidate, other, of="square") > MIN_LEAD)

    def may_win(self, candidate):
        """Return whether a candidate is worth training on another fold."""
        lead, of_square = self.lead(candidate), self.lead(candidate, of="square")
        return candidate is self.first or lead > 0.0 or of_square > (0.0 if lead == 0.0 else 1.0)

    def ranked(self):
        """The candidates that were tested: the winner, and the others by their errors.

        In the order of the list, a candidate that is clearly better than the first one takes the
        place of the winner so far if it is clearly better than this one, too.
        """
        tested = [each for each in self.candidates if self.scores[each]]
        if not tested:
            return []
        winner = self.first
        for each in tested:
            if each in self.alive and self.wins(each) and self.wins(each, winner):
                winner = each
        tested.sort(key=lambda each: (-len(self.scores[each]), self.mean_error(each)[0]))
        return [winner, *(each for each in tested if each is not winner)]

    def mean_error(self, candidate, of="error"):
        """Mean error of a candidate, and the standard error of the mean; NaN without folds."""
        if not self.scores[candidate]:
            return np.nan, np.nan
        n_folds = len(self.scores[candidate])
        weight = np.concatenate([fold.sums(fold.weight) for fold in self.folds[:n_folds]])
        unit = power_of_two(weight.max())   # squares of large weights overflow
        weight, errors = weight / unit, self.values(candidate, of) / unit
        mean = errors.sum() / weight.sum()
        return mean, np.sqrt(((errors - mean * weight) ** 2).sum()) / weight.sum()

    def table(self, winner):
        """The candidates with what they did, dict of lists."""
        rows = []
        for each in self.candidates:
            scores, trees = self.scores[each], self.trees[each]
            mean, deviation = self.mean_error(each)
            row = {"candidate": each.name, "error": float(mean), "standard_error": float(deviation)}
            if self.folds and self.folds[0].problem.loss.is_classifier:
                row["log_loss"] = float(self.mean_error(each, "log_loss")[0])
            rows.append(row | {
                "lead": float(self.lead(each)) if scores and self.scores[self.first] else np.nan,
                "n_leaves": float(np.mean([tree.n_leaves for tree in trees])) if trees else np.nan,
                "n_folds": len(scores), "chosen": each is winner})
        return {name: [row[name] for row in rows] for name in rows[0]}


def choose(choice, deadline):
    """Train the candidates of a `Choice` without the samples of each fold, and test them on these.

    After each fold, candidates leave that are no better than the first one; and, where another one
    is far ahead of it, all that are no better than this one. The candidates of a fold share the
    time until the deadline, and further folds are left out. After Ctrl-C, a KeyboardInterrupt, the
    choice has what was tested until then.
    """
    n = len(choice.folds)
    for k, fold in enumerate(choice.folds):
        begin = monotonic()
        train_on(choice, fold, deadline)
        if k + 1 == n or not deadline.fits(monotonic() - begin):
            break
        choice.alive = [each for each in choice.alive if choice.may_win(each)]
        winner = choice.ranked()[0]
        if choice.lead(winner) > FAR_LEAD:
            choice.alive = [each for each in choice.alive
                            if each is winner or choice.lead(each, winner) > 0.0]
        if len(choice.alive) == 1:
            break


def train_on(choice, fold, deadline):
    """Train the candidates that may still win on a fold; without time, only the first of them."""
    tested, n = [], len(choice.alive)
    for i, candidate in enumerate(choice.alive):
        if i > 0 and not deadline.fits():
            break
        control = fold.problem.control.part(1 / n, candidate.name)
        problem = fold.problem.replace(
            control=replace(control, deadline=deadline.share(1 / (n - i))))
        tree = enforce_limits(candidate.make(replace(fold, problem=problem)).tree, problem)
        control.activity.finish()
        choice.add(candidate, fold, tree)
        tested.append(candidate)
    choice.alive = tested


def least(errors, slack=0.0):
    """Index of the least error; of those within the slack of it, the last.

    Candidates in an array are sorted from the most complex to the simplest: of equally good ones,
    the simplest is chosen.
    """
    errors = np.where(np.isnan(errors), np.inf, errors)
    return int(np.flatnonzero(errors <= errors.min() + slack)[-1])
