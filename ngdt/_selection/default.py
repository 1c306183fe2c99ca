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

    A given fraction replaces the folds of `fold_samples`. Without any, the last candidate wins. Of
    large data, only some of the samples are compared on; with a deadline, how many depends on the
    time that it takes to read one. The problem has no validation samples.

    Returns a `TrainingResult` with the `Choice.table`: mean errors are shares of misclassified
    samples, or losses of standardised targets. Ctrl-C raises Stopped, with the best tree of the
    folds, or the winner as far as it has been trained if that is better.
    """
    candidates = default_candidates(problem, leaf, linear_leaves)
    sample = sample_to_compare_on(problem, len(candidates) * seconds_per_sample)
    sample = sample.replace(control=sample.control.quiet()).doing(0.5, "comparing trees")
    model_tree = None if linear_leaves is None else ModelTree(
        features=linear_leaves.features, penalty=linear_leaves.penalty)
    rule, choice, greedy, ranked, trained = (
        _DefaultRule(candidates), Choice(candidates, []), None, [], [])
    try:
        greedy = _GreedyTrees(sample, validation_fraction, model_tree, candidates)
        choice = Choice(candidates, greedy.folds)
        choose(choice, rule, greedy.deadline, problem.control.verbose > 1)
        sample.control.activity.finish()
        of_all = greedy if sample.X is problem.X else _GreedyTrees(
            problem, validation_fraction, model_tree)
        ranked, seconds = rule.ranked(choice), greedy.seconds_for(problem)
        for each in ranked[:policy.MAX_TRAININGS]:
            training = problem.doing(0.5, f"training {each.name} on all samples")
            # The greedy trees of all samples if there is time for them, else of the sample.
            trees = of_all if problem.control.deadline.fits(seconds) else greedy
            trained.append(_Trained.of(problem, each, each.make(
                Fold(training, trees=partial(trees.tree, training, seconds)))))
            has_failed = trained[-1].error > sum(choice.mean_error(each))
            if not has_failed or not problem.control.deadline.fits():
                break
        return _best(problem, trained, choice)
    except KeyboardInterrupt as error:
        if isinstance(error, Stopped) and (ranked or greedy is None):
            trained.append(_Trained.of(problem, (ranked or candidates)[len(trained)], error))
        elif greedy is None:
            raise
        if greedy is not None:      # the best tree of the folds
            first = (choice.ranked(choice.trees) or ranked or candidates)[0]
            tree = choice.trees[first] if choice.trees else greedy.pruned_tree()
            trained.append(_Trained.of(problem, first, Stopped(tree)))
        best = _best(problem, trained, choice)
        is_pruned = best.baseline_kept or not (choice.trees or ranked)
        raise Stopped(best.tree, best.history, best.candidates, is_pruned) from error


def _best(problem, trained, choice):
    """The result with the least training error."""
    best = min(trained, key=lambda each: each.error)
    return TrainingResult(
        enforce_limits(best.result.tree, problem), best.result.history or {"optimizer": []},
        best.candidate.name in _BASELINES, choice.table(best.candidate))


class _Trained(NamedTuple):
    """A candidate after its training on all samples, and its training error."""

    candidate: Candidate
    result: TrainingResult | Stopped
    error: float

    @classmethod
    def of(cls, problem, candidate, result):
        samples = problem.training_samples
        return cls(candidate, result, np.average(
            problem.errors(result.tree, samples), weights=problem.sample_weight[samples]))


class _GreedyTrees:
    """The greedy trees that candidates are, or start from: of all samples and without each fold.

    By name, "pruned" is the pruned greedy tree, "initial" the same of a depth of at most 8 with at
    least one split, and "model" the model tree. They are made when asked for. `folds` are those
    that the candidates are compared on, until `deadline`.
    """

    def __init__(self, problem, fraction, model_tree, candidates=()):
        samples, self.has_candidates = fold_samples_of(problem, fraction), bool(candidates)
        n = len(samples)
        self.problem, self.model_tree = problem.doing(1 / (1 + n)), model_tree
        self.deadline = problem.control.deadline.share(
            policy.FOLDS_TIME if n > 1 else policy.COMPARISON_TIME)
        self.folds = [Fold.without(problem.doing(1 / (1 + n), f"fold {k + 1} of {n}"), each,
                                   partial(self._fold_tree, k)) for k, each in enumerate(samples)]
        begin = monotonic()
        if candidates:      # made now, so that its time is known
            names = [each.make.init for each in candidates]
            _ = self._initial if "initial" in names else self._pruned
        self._seconds = monotonic() - begin

    def seconds_for(self, problem):
        """Seconds that the pruned trees of a larger problem take, with those of all samples."""
        ratio = len(problem.training_samples) / len(self.problem.training_samples)
        return 2.0 * ratio * self._seconds

    def pruned_tree(self):
        """The pruned tree that there is in any case."""
        return self._fold_tree(0, "pruned") if self.folds else self._initial.initial_tree

    def _prunings(self, problem):
        share = policy.PRUNING_TIME if self.has_candidates else None
        return CrossValidatedPruning(problem, InfoGain(), self.folds, share)

    @cached_property
    def _pruned(self):
        return self._prunings(self.problem)

    @cached_property
    def _initial(self):
        if self._pruned.depth <= policy.MAX_TRAINED_DEPTH:
            return self._pruned
        return self._prunings(self.problem.replace(max_depth=policy.MAX_TRAINED_DEPTH))

    @cached_property
    def _models(self):
        share = policy.FOLDS_MODEL_TIME if len(self.folds) > 1 else policy.MODEL_TIME
        return CrossValidatedModels(self.problem, self.folds, self.model_tree, share)

    def tree(self, training, seconds, name):
        """The tree of a name for all samples, of which `training` is the problem.

        With `folds`, it takes so many seconds; with more of them, it takes longer.
        """
        if name == "initial":
            return self._initial.initial_tree
        if name == "model":
            return self._models.tree
        # A few folds compare trees well enough, but choose the size of one less well.
        samples = pruning_folds(self.problem) if self.folds else []
        if len(samples) <= len(self.folds) or not training.control.deadline.fits(
                seconds * (len(samples) + 1) / (len(self.folds) + 1)):
            return self._pruned.tree
        folds = [Fold.without(training, each) for each in samples]
        return CrossValidatedPruning(training, InfoGain(), folds).tree

    def _fold_tree(self, k, name):
        if name == "initial":
            return self._initial.fold_initial_tree(k)
        return (self._models if name == "model" else self._pruned).fold_tree(k)


class _DefaultRule(Rule):
    """The rule of the default: how clear a lead has to be, and over whom."""

    def __init__(self, candidates):
        super().__init__(policy.MAX_LAG_SE)
        # Where all trees have linear leaves, a constant one is none of them.
        self.has_chance = candidates[0].name == "pruned"
        # The single leaf of each fold, and what the probabilities of candidates gain over it.
        self.leaves, self.gains = {}, {}

    def stays(self, candidate):
        return candidate.name == "single leaf"

    def skips(self, candidate, choice, trained):
        # Soft trees with constant leaves say little: they have a few levels, and the one with
        # teachers 7.
        soft = [each for each in trained if _is_soft_linear(each)]
        return bool(candidate.make.n_teachers and soft) and (
            choice.lead(choice.best(trained), choice.best(soft)) > policy.MAX_SOFT_LAG_SE)

    def tested(self, candidate, fold, tree):
        if self.has_chance and fold.problem.loss.is_classifier:
            if fold not in self.leaves:
                self.leaves[fold] = SingleLeaf().initialize(fold.problem)
            gains = fold.weight * _gains_over(self.leaves[fold], tree, fold)
            self.gains.setdefault(candidate, []).append(gains)

    def ranked(self, choice):
        """The candidates, the best first. Without folds, it is the last candidate only."""
        if not choice.trees:
            return choice.alive[-1:]
        best = choice.best(choice.alive)
        if self.leaves and not self._beats_chance(best):
            leaf = candidate("single leaf", SingleLeaf())
            choice.candidates.append(leaf)
            choice.errors[leaf] = [fold.errors(tree) for fold, tree in self.leaves.items()]
            return [leaf]
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

    What they save of the squared error, and half of what a small step towards them would save,
    relative to its size: that of a tree that is too sure may be positive where the first is not.
    """
    problem, samples = fold.problem, fold.samples
    labels = np.eye(problem.n_outputs)[problem.y[samples, 0].astype(np.intp)]
    shares = softmax(leaf.values, axis=1)
    missing, step = labels - shares, softmax(problem.predictions(tree, samples), axis=1) - shares
    slope = (missing * step).sum(axis=1)
    return np.array([2.0 * slope - (step**2).sum(axis=1), slope])
