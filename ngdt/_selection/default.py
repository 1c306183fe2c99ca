"""The default: candidates are compared on held-out samples, and the best is trained on all."""

from functools import cached_property, partial
from time import monotonic
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from ngdt._methods.greedy.pruned import CrossValidatedPruning
from ngdt._methods.greedy.single_leaf import SingleLeaf
from ngdt._methods.model_tree.model_tree import CrossValidatedModels
from ngdt._selection import policy
from ngdt._selection.candidates import candidate, default_candidates
from ngdt._selection.sample import fold_samples_of, sample_to_compare_on
from ngdt._training.choice import Candidate, Choice, Fold, Rule, choose
from ngdt._training.folds import pruning_folds
from ngdt._training.problem import standard_errors_saved
from ngdt._training.result import TrainingResult
from ngdt._training.size_limits import enforce_limits
from ngdt._util.stopped import Stopped
from ngdt.initializers import InfoGain, ModelTree
from ngdt.optimizers import Annealed

# Candidates that are not trained: the baseline is kept if one of them wins.
_BASELINES = {"pruned", "single leaf"}


def default_tree(problem, validation_fraction="auto", *, leaf="constant", linear_leaves=None,
                 seconds_per_sample=0.0):
    """Choose between the default candidates, and train the winner on all samples.

    A given fraction replaces the folds of `fold_samples`. Without any, the last candidate wins.
    Some samples of large data decide; with a deadline, as many as there is time to read. Mean
    errors in `Choice.table` are shares of misclassified samples, or losses of standardised targets.
    Ctrl-C raises Stopped, with the best tree of the folds, or the winner as far as it has been
    trained if that is better. The problem has no validation samples.
    """
    candidates = default_candidates(problem, leaf, linear_leaves)
    sample = sample_to_compare_on(problem, len(candidates) * seconds_per_sample)
    sample = sample.replace(control=sample.control.quiet()).doing(0.5, "comparing trees")
    model_tree = None if linear_leaves is None else ModelTree(
        features=linear_leaves.features, penalty=linear_leaves.penalty)
    greedy = _GreedyTrees(sample, validation_fraction, model_tree, policy.PRUNING_TIME)
    choice, rule = Choice(candidates, greedy.folds), _DefaultRule(candidates, problem.loss)
    start = "initial" if any(each.make.init == "initial" for each in candidates) else "pruned"
    ranked, trained, seconds = [], [], None
    try:
        begin = monotonic()
        getattr(greedy, start)      # made now, so that its time is known
        # What they take on all samples, with the trees for which no fold is left out.
        seconds = 2.0 * (monotonic() - begin) * (
            len(problem.training_samples) / len(sample.training_samples))
        choose(choice, rule, greedy.deadline, problem.control.verbose > 1)
        sample.control.activity.finish()
        of_all = greedy if sample.X is problem.X else _GreedyTrees(
            problem, validation_fraction, model_tree)
        ranked = rule.ranked(choice)
        for each in ranked[:policy.MAX_TRAININGS]:
            training = problem.doing(0.5, f"training {each.name} on all samples")
            # The greedy trees of all samples if there is time for them, else of the sample.
            trees = of_all if problem.control.deadline.fits(seconds) else greedy
            trained.append(_judged(problem, each, each.make(
                Fold(training, trees=partial(trees.tree, training, seconds)))))
            has_failed = trained[-1].error > sum(choice.mean_error(each))
            if not has_failed or not problem.control.deadline.fits():
                break
        return _best(problem, trained, choice)
    except KeyboardInterrupt as error:
        if isinstance(error, Stopped) and (ranked or seconds is None):
            trained.append(_judged(problem, (ranked or candidates)[len(trained)], error))
        elif seconds is None:
            raise
        if seconds is not None:     # the best tree of the folds
            first = (choice.ranked(choice.trees) or ranked or candidates)[0]
            tree = choice.trees[first] if choice.trees else greedy.any_tree()
            trained.append(_judged(problem, first, Stopped(tree)))
        best = _best(problem, trained, choice)
        is_pruned = best.baseline_kept or not (choice.trees or ranked)
        raise Stopped(best.tree, best.history, best.candidates, is_pruned) from error


class _Trained(NamedTuple):
    """A candidate after its training on all samples."""

    error: float    # on these samples
    candidate: Candidate
    result: TrainingResult | Stopped


def _judged(problem, candidate, result):
    samples = problem.training_samples
    errors, weight = problem.errors(result.tree, samples), problem.sample_weight[samples]
    return _Trained(np.average(errors, weights=weight), candidate, result)


def _best(problem, trained, choice):
    """The result with the least training error."""
    best = min(trained, key=lambda each: each.error)
    return TrainingResult(
        enforce_limits(best.result.tree, problem), best.result.history or {"optimizer": []},
        best.candidate.name in _BASELINES, choice.table(best.candidate))


class _GreedyTrees:
    """The greedy trees that candidates are, or start from: of all samples and without each fold.

    "pruned" is the pruned greedy tree, "initial" the same of at most 8 levels with a split, "model"
    the model tree; made when asked for. Until `deadline`, candidates are compared on `folds`.
    """

    def __init__(self, problem, fraction, model_tree, share=None):
        samples = fold_samples_of(problem, fraction)
        n = len(samples)
        self.problem, self.model_tree, self.share = problem.doing(1 / (1 + n)), model_tree, share
        self.deadline = problem.control.deadline.share(
            policy.FOLDS_TIME if n > 1 else policy.COMPARISON_TIME)
        self.folds = [
            Fold.without(problem.doing(1 / (1 + n), f"fold {k + 1} of {n}"), each,
                         lambda name, k=k: getattr(self, name).fold_tree(k))
            for k, each in enumerate(samples)]

    @cached_property
    def pruned(self):
        return CrossValidatedPruning(self.problem, InfoGain(), self.folds, self.share)

    @cached_property
    def initial(self):
        if self.pruned.depth <= policy.MAX_TRAINED_DEPTH:
            return self.pruned.initial
        limited = self.problem.replace(max_depth=policy.MAX_TRAINED_DEPTH)
        return CrossValidatedPruning(limited, InfoGain(), self.folds, self.share).initial

    @cached_property
    def model(self):
        share = policy.FOLDS_MODEL_TIME if len(self.folds) > 1 else policy.MODEL_TIME
        return CrossValidatedModels(self.problem, self.folds, self.model_tree, share)

    def any_tree(self):
        """A tree that there is in any case."""
        return self.pruned.fold_tree(0) if self.folds else self.initial.tree

    def tree(self, training, seconds, name):
        """The tree of a name for all samples, of which `training` is the problem.

        With `folds`, it takes so many seconds; with more of them, it takes longer.
        """
        # A few folds compare trees well enough, but choose the size of one less well.
        samples = pruning_folds(self.problem) if self.folds and name == "pruned" else []
        if len(samples) <= len(self.folds) or not training.control.deadline.fits(
                seconds * (len(samples) + 1) / (len(self.folds) + 1)):
            return getattr(self, name).tree
        folds = [Fold.without(training, each) for each in samples]
        return CrossValidatedPruning(training, InfoGain(), folds).tree


class _DefaultRule(Rule):
    """The rule of the default: how clear a lead has to be, and over whom."""

    def __init__(self, candidates, loss):
        super().__init__(policy.MAX_LAG_SE)
        # Where all trees have linear leaves, a constant one is none of them.
        self.has_chance = loss.is_classifier and candidates[0].name == "pruned"
        # What the probabilities of candidates gain over the single leaf, on each fold.
        self.leaf, self.gains = candidate("single leaf", SingleLeaf()), {}

    def stays(self, candidate):
        return candidate.name == "single leaf"

    def skips(self, candidate, choice, trained):
        # Soft trees with constant leaves say little: they have a few levels, and the one with
        # teachers 7.
        soft = [each for each in trained if _is_soft_linear(each)]
        return bool(candidate.make.n_teachers and soft) and (
            choice.lead(choice.best(trained), choice.best(soft)) > policy.MAX_SOFT_LAG_SE)

    def tested(self, candidate, fold, tree):
        if self.has_chance:
            gains = fold.weight * _gains_over(fold.initial(self.leaf.make.init), tree, fold)
            self.gains.setdefault(candidate, []).append(gains)

    def ranked(self, choice):
        """The candidates, the best first. Without folds, it is the last candidate only."""
        if not choice.trees:
            return choice.alive[-1:]
        best = choice.best(choice.alive)
        if self.has_chance and not self._beats_chance(best):
            choice.candidates.append(self.leaf)
            choice.errors[self.leaf] = [fold.errors(fold.initial(self.leaf.make.init))
                                        for fold in choice.folds[:len(self.gains[best])]]
            return [self.leaf]
        for each in choice.alive:
            if self.stays(each) and choice.lead(best, each) <= policy.MIN_LEAF_GAIN_SE:
                return [each]
        ranked = choice.ranked(choice.candidates)
        if len(choice.folds) > 1:
            return ranked
        slack = {each: policy.MIN_TAUGHT_GAIN_SE for each in ranked if each.make.n_teachers}
        slack |= {each: policy.MIN_LEAF_GAIN_SE for each in ranked if each.name == "pruned"}
        first = [each for each, most in slack.items()
                 if choice.errors[each] and choice.lead(best, each) <= most]
        return first[::-1] + [each for each in ranked if each not in first]

    def _beats_chance(self, best):
        """Return whether a tree knows more of the classes than a single leaf."""
        saved, slope = np.concatenate(self.gains[best], axis=1)
        return saved.sum() >= 0.0 or (
            standard_errors_saved(slope, 0.0 * slope) > policy.MIN_CLASS_GAIN_SE)


def _is_soft_linear(candidate):
    """Return whether soft training with linear leaves comes first."""
    return any(isinstance(each, Annealed) and each.leaf == "linear"
               for each in candidate.make.optimizers[:1])


def _gains_over(leaf, tree, fold):
    """Gain of probabilities over those of a single leaf, shape (2, n_samples).

    What they save of the squared error, and half of what a small step towards them would save.
    """
    problem, samples = fold.problem, fold.samples
    labels = np.eye(problem.n_outputs)[problem.y[samples, 0].astype(np.intp)]
    shares = softmax(leaf.values, axis=1)
    missing, step = labels - shares, softmax(problem.predictions(tree, samples), axis=1) - shares
    slope = (missing * step).sum(axis=1)
    return np.array([2.0 * slope - (step**2).sum(axis=1), slope])
