"""Choice between ways to make a tree, on samples that they were not trained on.

The first candidate is preferred: another one takes its place only if it is clearly better. Of
several trees that are about equally good, the one with the least error on a few samples is so by
luck, and no more accurate on others than one that is taken whatever the luck.
"""

from collections import defaultdict
from dataclasses import replace
from time import monotonic

import numpy as np

from ngdt._training.size_limits import enforce_limits
from ngdt._util.arrays import power_of_two, standard_errors_saved

# Lead over the first candidate with which another one wins, in standard errors of the paired
# difference. On 27 tables of classes, four times divided into five folds, 1 was no more accurate
# (86.9 and 87.0 %), with more pruned trees; on 14 of regression neither (R2 74.9 and 75.0 %).
MIN_LEAD = 1.5
# Lead with which it has won, whatever the remaining folds may say.
_FAR_LEAD = 5.0
# Name of the pruned greedy tree, which is not trained as a whole.
PRUNED = "pruned"


class Choice:
    """The candidates, their scores on each fold, and their trees.

    Parameters
    ----------
    candidates : list of Candidate
        Each has a `name`, and a method `make`, which takes a `Fold` and returns a `TrainingResult`.
        The first one is preferred.
    folds : list of Fold
    deadline : Deadline
        For the trainings on folds.
    finish : callable, default=None
        Called with each candidate after it was tested on a fold. It may improve its scores.
    """

    def __init__(self, candidates, folds, deadline, finish=None):
        self.candidates, self.folds, self.deadline = list(candidates), folds, deadline
        self.finish = finish
        self.first = candidates[0]          # which is preferred to all others
        self.alive = list(candidates)       # who may still win
        self.scores, self.trees = defaultdict(list), defaultdict(list)      # of each fold

    def add(self, candidate, tree, score):
        """Add a tree of a candidate, and its `Score` on the next fold."""
        self.trees[candidate].append(tree)
        self.scores[candidate].append(score)

    def values(self, candidate, of):
        """Weighted values of the test samples of all folds that a candidate was tested on."""
        return np.concatenate([getattr(score, of) for score in self.scores[candidate]])

    def lead(self, candidate, other=None, of="square"):
        """Lead over another candidate, the first one by default, on the folds of both.

        In standard errors of the paired difference: of squared errors, those of the probabilities
        for classes, or of others that a `Score` has.
        """
        one, two = self.values(candidate, of), self.values(other or self.first, of)
        n = min(len(one), len(two))
        return standard_errors_saved(two[:n], one[:n])

    def is_worse(self, tree, candidate):
        """Return whether a tree of all samples is clearly worse than a candidate was on the folds.

        On the test samples, which the latter have not seen. All samples cannot be compared with
        them: a single far target elsewhere may have most of all loss.
        """
        folds = self.folds[:len(self.scores[candidate])]
        if not folds:
            return False
        loss = np.concatenate([fold.score(tree).square for fold in folds])
        return standard_errors_saved(loss, self.values(candidate, "square")) > MIN_LEAD

    def ranked(self):
        """The candidates that were tested: the winner, and the others by their squared errors.

        Of several that are clearly better than the first one, it is the one with the least squared
        error; but the pruned tree has to be clearly better than this one, too.
        """
        square = {each: self.mean_error(each, "square")[0] for each in self.candidates
                  if self.scores[each]}
        winners = [each for each in self.alive if each in square and self.lead(each) > MIN_LEAD]
        winner = min((each for each in winners if each.name != PRUNED), key=square.get,
                     default=self.first)
        winner = next((each for each in winners if each.name == PRUNED
                       and self.lead(each, winner) > MIN_LEAD), winner)
        return sorted(square, key=lambda each: (
            each is not winner, -len(self.scores[each]), square[each]))

    def mean_error(self, candidate, of="error"):
        """Mean error of a candidate, and the standard error of the mean; NaN without folds."""
        if not self.scores[candidate]:
            return np.nan, np.nan
        folds = self.folds[:len(self.scores[candidate])]
        weight = np.concatenate([fold.sums(fold.weight) for fold in folds])
        unit = power_of_two(weight.max())   # squares of large weights overflow
        weight, errors = weight / unit, self.values(candidate, of) / unit
        mean = errors.sum() / weight.sum()
        return mean, np.sqrt(((errors - mean * weight) ** 2).sum()) / weight.sum()

    def table(self, winner):
        """The candidates with what they did, dict of lists."""
        rows = []
        for each in self.candidates:
            mean, deviation = self.mean_error(each)
            row = {"candidate": each.name, "error": float(mean), "standard_error": float(deviation)}
            if self.folds and self.folds[0].problem.loss.is_classifier:
                row["log_loss"] = float(self.mean_error(each, "log_loss")[0])
            rows.append(row | {
                "lead": float(self.lead(each)) if self.scores[each] else np.nan,
                "n_leaves": float(np.mean([tree.n_leaves for tree in self.trees[each]] or np.nan)),
                "n_folds": len(self.scores[each]), "chosen": each is winner})
        return {name: [row[name] for row in rows] for name in rows[0]}

    def run(self):
        """Train the candidates without the samples of each fold, and test them on these.

        After each fold, candidates leave that are no better than the first one. The candidates of a
        fold share the time until the deadline. Without time, or if one is far ahead of the first
        one, further folds are left out. After Ctrl-C, a KeyboardInterrupt, the choice has what was
        tested until then.
        """
        for k, fold in enumerate(self.folds, 1):
            begin = monotonic()
            self._train_on(fold)
            if k == len(self.folds) or not self.deadline.fits(monotonic() - begin):
                break
            self.alive = [
                each for each in self.alive if each is self.first or self.lead(each) > 0.0]
            if len(self.alive) == 1 or self.lead(self.ranked()[0]) > _FAR_LEAD:
                break

    def go_on(self):
        """Train those who may still win on another fold; False if there is none, or no time."""
        n = len(self.scores[self.alive[0]])
        if n == len(self.folds) or not self.deadline.fits():
            return False
        self._train_on(self.folds[n])
        return True

    def _train_on(self, fold):
        """Train those who may still win on a fold; without time, only the first of them."""
        n = len(self.alive)
        for i, candidate in enumerate(self.alive):
            if i > 0 and not self.deadline.fits():
                del self.alive[i:]
                break
            control = fold.problem.control.part(1 / n, candidate.name)
            problem = fold.problem.replace(
                control=replace(control, deadline=self.deadline.share(1 / (n - i))))
            tree = enforce_limits(candidate.make(replace(fold, problem=problem)).tree, problem)
            control.activity.finish()
            self.add(candidate, tree, fold.score(tree))
            if self.finish is not None:
                self.finish(candidate)
