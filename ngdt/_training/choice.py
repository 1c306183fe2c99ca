"""Choice between ways to make a tree, by errors on samples that they were not trained on."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import monotonic

import numpy as np

from ngdt._training.folds import problem_without
from ngdt._training.limits import enforce_limits
from ngdt._training.problem import Problem, standard_errors_saved
from ngdt._util.stopped import Stopped


@dataclass(frozen=True, eq=False)
class Candidate:
    """A way to make a tree.

    Attributes
    ----------
    name : str
    make : callable
        Takes a `Fold`, and returns a `TrainingResult` of its problem.
    """

    name: str
    make: Callable


@dataclass(frozen=True, eq=False)
class Fold:
    """Samples to train on, and others to test on.

    Attributes
    ----------
    problem : Problem
        Without the test samples. All candidates share what is computed for it.
    samples : ndarray of int32
        The test samples; of the problem of all samples, there are none.
    weight : ndarray
        Their weights.
    made : dict
        Initial trees by their initializers: each is made once, and by name those of `trees`.
    trees : callable or None
        Makes the initial tree of a name.
    """

    problem: Problem
    samples: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    weight: np.ndarray = field(default_factory=lambda: np.empty(0))
    trees: Callable | None = None
    made: dict = field(default_factory=dict)

    @classmethod
    def without(cls, problem, samples):
        """The fold of these test samples."""
        return cls(problem_without(problem, samples), samples, problem.sample_weight[samples])

    @property
    def is_whole(self):
        """Whether all samples are trained on."""
        return not len(self.samples)

    def initial(self, init):
        """The tree of an initializer, or of a name."""
        if init not in self.made:
            self.made[init] = self.trees(init) if isinstance(init, str) else (
                init.initialize(self.problem))
        return self.made[init]


class Rule:
    """When a candidate is not trained any more.

    Parameters
    ----------
    max_lag : float
        Lead of the best candidate, in standard errors of the paired difference, by which others
        leave.
    """

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


class Choice:
    """The candidates, and their errors on the folds so far.

    Attributes
    ----------
    candidates : list of Candidate
    alive : list of Candidate
        Candidates that did not leave.
    errors : dict of Candidate to list of ndarray
        Errors on each fold, times sample weights.
    trees : dict of Candidate to Tree
        Trees of the last fold.
    n_folds : int
        Number of folds that there are.
    """

    def __init__(self, candidates, folds):
        self.candidates, self.alive = list(candidates), list(candidates)
        self.errors, self.trees = {each: [] for each in candidates}, {}
        self.n_folds, self._weights = len(folds), [fold.weight for fold in folds]

    def add(self, candidate, fold, tree):
        """Test a tree of a candidate on a fold."""
        self.trees[candidate] = tree
        self.errors[candidate].append(fold.weight * fold.problem.errors(tree, fold.samples))

    def best(self, among):
        """The candidate with the least error; of equal ones, the first."""
        return min(among, key=lambda each: np.concatenate(self.errors[each]).sum())

    def lead(self, candidate, other):
        """Lead over another candidate in standard errors, on the folds that both were tested on."""
        pair = self.errors[other], self.errors[candidate]
        n = min(map(len, pair))
        return standard_errors_saved(*(np.concatenate(errors[:n]) for errors in pair))

    def mean_error(self, candidate):
        """Mean error of a candidate on its folds, and the standard error of the mean."""
        errors = self.errors[candidate]
        if not errors:
            return np.nan, np.nan
        weight, errors = np.concatenate(self._weights[:len(errors)]), np.concatenate(errors)
        mean = errors.sum() / weight.sum()
        return mean, np.sqrt(((errors - mean * weight) ** 2).sum()) / weight.sum()

    def ranked(self, among):
        """Candidates, those on most folds first, and of these the one with the least error."""
        return sorted(among, key=lambda each: (-len(self.errors[each]), self.mean_error(each)[0]))

    def table(self, winner):
        """The candidates with their errors, dict of lists."""
        means = [self.mean_error(each) for each in self.candidates]
        return {
            "candidate": [each.name for each in self.candidates],
            "error": [float(mean) for mean, _ in means],
            "standard_error": [float(deviation) for _, deviation in means],
            "n_folds": [len(self.errors[each]) for each in self.candidates],
            "chosen": [each is winner for each in self.candidates],
        }


def choose(candidates, folds, rule, deadline, verbose=False):
    """Train candidates without the samples of each fold, and test them on these.

    After each fold, candidates that clearly lag behind the best one leave.

    Parameters
    ----------
    candidates : sequence of Candidate
    folds : sequence of Fold
    rule : Rule
    deadline : Deadline
        Candidates of a fold share the time until then, and further folds are left out.
    verbose : bool, default=False
        Whether a line is printed for each fold.

    Returns
    -------
    Choice

    Raises
    ------
    Stopped
        By Ctrl-C, with the best tree so far; before there is one, KeyboardInterrupt.
    """
    choice = Choice(candidates, folds)
    try:
        for k, fold in enumerate(folds):
            begin = monotonic()
            trained = _test(choice, fold, rule, deadline)
            best = choice.best(trained)
            if verbose:
                shown = "  ".join(
                    f"{each.name} {choice.mean_error(each)[0]:.4g}" for each in trained)
                print(f"[selection] fold {k + 1}/{len(folds)}  mean error: {shown}")
            choice.alive = [each for each in trained if each is best or rule.stays(each)
                            or choice.lead(best, each) <= rule.max_lag]
            if all(each is best or rule.stays(each) for each in choice.alive) or (
                    k + 1 < len(folds) and not deadline.fits(monotonic() - begin)):
                break
    except KeyboardInterrupt as error:
        if not choice.trees:
            raise KeyboardInterrupt from error
        best = choice.ranked(choice.trees)[0]
        raise Stopped(choice.trees[best], candidates=choice.table(best)) from error
    return choice


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

    Parameters
    ----------
    errors : ndarray of shape (n,)
    slack : float, default=0.0

    Returns
    -------
    int
    """
    errors = np.where(np.isnan(errors), np.inf, errors)
    return int(np.flatnonzero(errors <= errors.min() + slack)[-1])
