"""The default: several trees compete, and the best one on samples of its own is trained again."""

from functools import cached_property, partial
from time import monotonic

import numpy as np
from scipy.special import softmax

from ngdt._core.greedy.builder import GrowthInterrupted
from ngdt._methods.greedy.pruned import CrossValidatedPruning
from ngdt._methods.greedy.single_leaf import SingleLeaf
from ngdt._methods.model_tree.model_tree import CrossValidatedModels
from ngdt._selection.candidates import Candidate, default_candidates
from ngdt._selection.result import TrainingResult
from ngdt._selection.sample import draw, draw_in_time
from ngdt._training.folds import (
    fold_samples,
    hold_out,
    problem_without,
    pruning_folds,
    standard_errors_saved,
    strata_of,
)
from ngdt._training.limits import enforce_limits
from ngdt.initializers import InfoGain, ModelTree

# Lead over a candidate, in standard errors of the paired difference, that ends its race.
MAX_LAG_SE = 1.5
# Lead, in standard errors, that a tree must have over a single leaf, and over the pruned tree where
# there is one fold. Errors of targets with outliers vary so much that the least one is often the
# least by chance. On one fold, model trees choose their penalty, and the pruned tree, which gains
# most from the samples of the fold, lacks a third of all: with smaller leads, others were worse
# than it on five tables, by 0.3 points on average.
MIN_GAIN_SE = 1.0
# The same for classes, of what a small step from their shares towards the probabilities of the
# tree would save, where these have a larger squared error. If classes do not depend on the
# features, the best of several trees errs least by chance, and is as sure as any. None of 24 tables
# has such a tree.
MIN_CLASS_GAIN_SE = 2.0
# The same over a tree with teachers. It errs least by chance: where a single sample was all of the
# lead of a model tree, this one was worse on others.
MIN_TAUGHT_GAIN_SE = 2.0
# Standard errors by which the best tree has to lead all softly trained ones so far, for those with
# teachers to be left out. They take most of the time of a race.
MAX_SOFT_LAG_SE = 3.0
# Numbers of samples, and of values of X, above which the race has only some of the samples. With
# 15 000 of the 54 000 samples of Connect4, it chose a tree of half the depth, 2.4 points worse.
MIN_DRAWN_SAMPLES, MAX_RACE_SAMPLES, MAX_RACE_VALUES = 15_000, 100_000, 12_000_000
# Largest depth of the trees that are trained. Deeper ones were not more accurate.
MAX_TRAINED_DEPTH = 8
# Number of candidates that are trained on all samples until one succeeds. Training has failed if
# the training error is more than a standard error above the error on the folds.
MAX_TRAININGS = 3
# Shares of the time until the deadline: for the race, the pruned trees before it, and model trees.
RACE_TIME, PRUNING_TIME, MODEL_TIME = 0.4, 0.15, 0.15
# With several folds, most of the work is theirs: with the shares above, and as much time as without
# a limit, half of it was left, and accuracies were up to 7 points lower.
FOLDS_TIME, FOLDS_MODEL_TIME = 0.8, 0.3
# Shares of the work that are shown: of the race, and in it of the pruned trees.
RACE_WORK, PRUNING_WORK = 0.6, 0.1


def race(problem, validation_fraction="auto", *, leaf="constant", linear_leaves=None,
         seconds_per_sample=0.0):
    """Let the default candidates compete, and train the winner on all samples.

    Each candidate is trained without the samples of a fold and tested on them. After each fold,
    candidates that clearly lag behind the best one leave the race. From 2000 samples on, a third of
    them is the only fold. Of large data, the race has only some of the samples.

    Ctrl-C returns the best of the trees of the folds, or the winner as far as it has been trained
    if that is better.

    Parameters
    ----------
    problem : Problem
        Without validation samples.
    validation_fraction : float, "auto" or None
        Share of the samples that is held out, in place of the folds. Without any, or if there are
        too few samples, the last candidate wins.
    leaf : {"auto", "constant", "linear"}, default="constant"
        Leaves of the candidates; "auto" are both kinds.
    linear_leaves : LinearLeaves or None, default=None
        Makes leaves linear.
    seconds_per_sample : float, default=0.0
        That it takes to read the data. With a deadline, the samples of the race depend on it.

    Returns
    -------
    TrainingResult
        Its `candidates` have the columns ``candidate``, ``error`` (mean error on the folds: the
        share of misclassified samples, or the loss of the standardised targets),
        ``standard_error``, ``n_folds`` and ``chosen``.
    """
    candidates = default_candidates(problem, leaf, linear_leaves)
    sample = _sample(problem, len(candidates) * seconds_per_sample)
    sample = sample.replace(verbose=0, callback=None).doing(RACE_WORK, "comparing trees")
    models = None if linear_leaves is None else ModelTree(
        features=linear_leaves.features, penalty=linear_leaves.penalty)
    try:
        contest = _Race(sample, candidates, _folds(sample, validation_fraction), models)
    except GrowthInterrupted as error:
        return TrainingResult(
            enforce_limits(error.tree, problem), {"optimizer": []}, interrupted=True)

    of_all = _Prunings(problem, _folds(problem, validation_fraction), models) if (
        sample.X is not problem.X) else contest.prunings

    def tree_of(training, name):
        """A pruned tree of all samples if there is time for it, else of the sample."""
        seconds = contest.seconds_of_prunings(problem)
        return (of_all if problem.deadline.fits(seconds) else contest.prunings).tree(
            name, training, seconds)

    winner, tree, history, least = contest.candidates[0], None, {"optimizer": []}, np.inf
    interrupted = False
    try:
        for candidate in contest.run(problem.verbose > 1)[:MAX_TRAININGS]:
            sample.activity.finish()
            training = problem.doing(1.0 - RACE_WORK, f"training {candidate.name} on all samples")
            result = candidate.fit(training, partial(tree_of, training), final=True)
            error = _training_error(result[0], problem)
            interrupted = result[2]
            if error < least:
                least, winner, (tree, history, _) = error, candidate, result
            if interrupted or not error > sum(contest.mean_error(candidate)) or (
                    not problem.deadline.fits()):
                break
    except KeyboardInterrupt:
        interrupted = True
    if interrupted:
        candidate, found = contest.best_so_far()
        if tree is None or _training_error(found, problem) < least:
            winner, tree = candidate, found
    return TrainingResult(
        enforce_limits(tree, problem), history,
        winner.is_single_leaf or (winner is contest.candidates[0] and leaf != "linear"),
        interrupted, contest.table(winner))


def _gains_over(leaf, tree, problem, samples):
    """By how much probabilities are better than those of a single leaf, shape (2, n_samples).

    What they save of the squared error, and half of what a small step towards them would save,
    relative to its size: that of a tree that is too sure may be positive where the first is not.
    """
    labels = np.eye(problem.n_outputs)[problem.y[samples, 0].astype(np.intp)]
    shares = softmax(leaf.values, axis=1)
    missing, step = labels - shares, softmax(problem.predictions(tree, samples), axis=1) - shares
    slope = (missing * step).sum(axis=1)
    return np.array([2.0 * slope - (step**2).sum(axis=1), slope])


def _training_error(tree, problem):
    samples = problem.training_samples
    return np.average(
        problem.errors(tree, samples), weights=problem.sample_weight[samples])


def _sample(problem, seconds_per_sample):
    """The problem, or one of some of its samples where a race of all would take too long."""
    sample = draw(problem, np.clip(
        MAX_RACE_VALUES // problem.X.shape[1], MIN_DRAWN_SAMPLES, MAX_RACE_SAMPLES))
    drawn = draw_in_time(sample.with_time(RACE_TIME), seconds_per_sample)
    return drawn.replace(deadline=problem.deadline)


def _folds(problem, fraction):
    """Test samples of each fold."""
    if fraction == "auto":
        return fold_samples(problem)
    _, validation = hold_out(
        problem.sample_weight, fraction, strata_of(problem), problem.random_state)
    return [] if validation is None else [np.flatnonzero(validation).astype(np.int32)]


class _Prunings:
    """The pruned trees by name, of all samples and without each fold; made when asked for."""

    def __init__(self, problem, folds, model_tree, share=None):
        self.problem, self.folds, self.share = problem, folds, share
        self.model_tree = model_tree

    @cached_property
    def pruned(self):
        """The pruned greedy trees."""
        return CrossValidatedPruning(self.problem, InfoGain(), self.folds, self.share)

    def _chosen(self, training, seconds):
        """The pruned tree for all training samples, if there is time for it by more folds.

        A few folds compare trees well enough, but choose the size of one less well.
        """
        folds = pruning_folds(self.problem) if self.folds else []
        if len(folds) <= len(self.folds) or not training.deadline.fits(
                seconds * (len(folds) + 1) / (len(self.folds) + 1)):
            return self.pruned.tree
        return CrossValidatedPruning(training, InfoGain(), folds).tree

    @cached_property
    def initial(self):
        """Those of a depth that trees are trained at."""
        if self.pruned.depth <= MAX_TRAINED_DEPTH:
            return self.pruned
        shallow = self.problem.replace(max_depth=MAX_TRAINED_DEPTH)
        return CrossValidatedPruning(shallow, InfoGain(), self.folds, self.share)

    @cached_property
    def models(self):
        """The model trees."""
        share = FOLDS_MODEL_TIME if len(self.folds) > 1 else MODEL_TIME
        return CrossValidatedModels(self.problem, self.folds, self.model_tree, share)

    def tree(self, name, training, seconds):
        """The tree for all training samples, which `training` is the problem of.

        With `folds`, it takes as many `seconds`.
        """
        if name == "model":
            return self.models.tree
        return self._chosen(training, seconds) if name == "pruned" else self.initial.initial_tree

    def fold_tree(self, name, k):
        """The tree without the samples of a fold."""
        if name == "model":
            return self.models.fold_tree(k)
        if name == "pruned":
            return self.pruned.fold_tree(k)
        return self.initial.fold_initial_tree(k)


class _Race:
    """The candidates, and their errors on the folds so far."""

    def __init__(self, problem, candidates, folds, models=None):
        self.problem, self.candidates, self.folds = problem, candidates, folds
        self.deadline = problem.deadline.share(FOLDS_TIME if len(folds) > 1 else RACE_TIME)
        begin = monotonic()
        self.prunings = _Prunings(problem.doing(PRUNING_WORK), folds, models, PRUNING_TIME)
        # Made now, so that its time is known.
        _ = self.prunings.initial if any(
            each.init == "initial" for each in candidates) else self.prunings.pruned
        self._seconds_of_prunings = monotonic() - begin
        self.errors = {candidate: [] for candidate in candidates}
        self.trees = {}     # of each candidate, that of its last fold
        # The single leaf of each fold with its errors, and what probabilities gain over it.
        self.chance, self.gains = [], {candidate: [] for candidate in candidates}

    def run(self, verbose):
        """The candidates, the best first.

        Without folds, it is the last candidate only.
        """
        alive = list(self.candidates)
        for k, samples in enumerate(self.folds):
            begin = monotonic()
            self._run_fold(k, samples, alive)
            alive = [each for each in alive if len(self.errors[each]) == k + 1]
            best = self._best(alive)
            if verbose:
                self._report(k, alive)
            alive = [each for each in alive if each is best or each.is_single_leaf
                     or self._lead(best, each) <= MAX_LAG_SE]
            is_decided = all(each is best or each.is_single_leaf for each in alive)
            if is_decided or (
                    k + 1 < len(self.folds) and not self.deadline.fits(monotonic() - begin)):
                break
        if not self.folds:
            return alive[-1:]
        leaf = self._leaf_instead(best, alive)
        if leaf is not None:
            return [leaf]
        ranked = sorted(
            self.candidates, key=lambda each: (-len(self.errors[each]), self.mean_error(each)[0]))
        if len(self.folds) == 1:
            preferred = [(each, MIN_TAUGHT_GAIN_SE) for each in ranked if each.n_teachers]
            preferred += [(each, MIN_GAIN_SE) for each in ranked if each.is_pruned]
            for each, least in preferred:
                if self.errors[each] and self._lead(best, each) <= least:
                    ranked.remove(each)
                    ranked.insert(0, each)
        return ranked

    def _leaf_instead(self, best, alive):
        """The single leaf that the best tree is not clearly better than, if there is one."""
        if self.chance and not self._beats_chance(best):
            leaf = Candidate("single leaf", (), SingleLeaf())
            self.candidates = [*self.candidates, leaf]
            self.errors[leaf] = [errors for _, errors in self.chance]
            return leaf
        return next((each for each in alive if each.is_single_leaf
                     and self._lead(best, each) <= MIN_GAIN_SE), None)

    def _beats_chance(self, best):
        """Whether a tree knows more of the classes than a single leaf."""
        saved, slope = np.concatenate(self.gains[best], axis=1)
        return saved.sum() >= 0.0 or standard_errors_saved(slope, 0.0 * slope) > MIN_CLASS_GAIN_SE

    def _soft_trees_lag(self, candidates):
        """Whether there are softly trained trees with linear leaves, all far behind the best one.

        Those with constant leaves say little: they have a few levels, and the one with teachers 7.
        """
        soft = [each for each in candidates if each.is_soft_linear]
        return bool(soft) and self._lead(*map(self._best, (candidates, soft))) > MAX_SOFT_LAG_SE

    def _best(self, candidates):
        return min(candidates, key=lambda each: np.concatenate(self.errors[each]).sum())

    def _lead(self, candidate, other):
        """How far a candidate is ahead of another one, in standard errors."""
        return standard_errors_saved(*(
            np.concatenate(self.errors[each]) for each in (other, candidate)))

    def _run_fold(self, k, samples, candidates):
        """Train the candidates without the samples of a fold, and test them on it."""
        fold = problem_without(self.problem, samples).doing(
            (1.0 - PRUNING_WORK) / len(self.folds), f"fold {k + 1} of {len(self.folds)}")
        weight = self.problem.sample_weight[samples]
        # Where all trees have linear leaves, a constant one is none of them.
        if self.problem.loss.is_classifier and self.candidates[0].is_pruned:
            leaf = SingleLeaf().initialize(fold)
            self.chance.append((leaf, weight * fold.errors(leaf, samples)))
        for i, candidate in enumerate(candidates):
            if i > 0 and not self.deadline.fits():
                break
            trained = [each for each in candidates[:i] if len(self.errors[each]) == k + 1]
            if candidate.n_teachers and self._soft_trees_lag(trained):
                continue
            problem = fold.replace(
                deadline=self.deadline.share(1 / (len(candidates) - i))).doing(
                    1 / len(candidates), candidate.name)
            tree, _, interrupted = candidate.fit(
                problem, lambda name: self.prunings.fold_tree(name, k))
            if interrupted:
                raise KeyboardInterrupt
            problem.activity.finish()
            self.trees[candidate] = tree = enforce_limits(tree, problem)
            self.errors[candidate].append(weight * problem.errors(tree, samples))
            if self.chance:
                self.gains[candidate].append(
                    weight * _gains_over(self.chance[-1][0], tree, problem, samples))

    def best_so_far(self):
        """The candidate with the least error, of those on most folds, and its last tree."""
        if not self.trees:
            return self.candidates[0], (
                self.prunings.fold_tree("pruned", 0) if self.folds else
                self.prunings.initial.initial_tree)
        best = min(self.trees, key=lambda each: (
            -len(self.errors[each]), self.mean_error(each)[0]))
        return best, self.trees[best]

    def seconds_of_prunings(self, problem):
        """Seconds that the pruned trees of a larger problem take, with those of all samples."""
        ratio = len(problem.training_samples) / len(self.problem.training_samples)
        return 2.0 * ratio * self._seconds_of_prunings

    def _report(self, k, candidates):
        shown = "  ".join(f"{each.name} {self.mean_error(each)[0]:.4g}" for each in candidates)
        print(f"[selection] fold {k + 1}/{len(self.folds)}  mean error: {shown}")

    def mean_error(self, candidate):
        """Mean error of a candidate on its folds, and the standard error of the mean."""
        errors = self.errors[candidate]
        if not errors:
            return np.nan, np.nan
        weight = self.problem.sample_weight[np.concatenate(self.folds[:len(errors)])]
        errors = np.concatenate(errors)
        mean = errors.sum() / weight.sum()
        return mean, np.sqrt(((errors - mean * weight) ** 2).sum()) / weight.sum()

    def table(self, winner):
        """What competed, with which result."""
        means = [self.mean_error(each) for each in self.candidates]
        return {
            "candidate": [each.name for each in self.candidates],
            "error": [float(mean) for mean, _ in means],
            "standard_error": [float(deviation) for _, deviation in means],
            "n_folds": [len(self.errors[each]) for each in self.candidates],
            "chosen": [each is winner for each in self.candidates],
        }
