"""The default: candidates are compared on held-out samples, and the best is trained on all."""

from dataclasses import replace
from functools import cached_property
from time import monotonic

import numpy as np
from scipy.special import softmax

from ngdt._methods.greedy.info_gain import InfoGain
from ngdt._methods.greedy.pruned import CrossValidatedPruning
from ngdt._methods.greedy.single_leaf import SingleLeaf
from ngdt._methods.model_tree.model_tree import CrossValidatedModels, ModelTree
from ngdt._methods.soft.annealed import Annealed
from ngdt._selection import policy
from ngdt._selection.candidates import candidate, default_candidates
from ngdt._selection.sample import draw, draw_in_time
from ngdt._training.choice import Choice, Fold, Rule, choose
from ngdt._training.folds import (
    fold_samples,
    hold_out,
    pruning_folds,
    strata_of,
)
from ngdt._training.limits import enforce_limits
from ngdt._training.problem import standard_errors_saved
from ngdt._training.result import TrainingResult
from ngdt._util.stopped import Stopped


def default_tree(problem, validation_fraction="auto", *, leaf="constant", linear_leaves=None,
                 seconds_per_sample=0.0):
    """Choose between the default candidates, and train the winner on all samples.

    Each candidate is trained without the samples of a fold and tested on them. After each fold,
    candidates that clearly lag behind the best one leave. From 2000 samples on, a third of them is
    the only fold. Of large data, only some of the samples are compared on.

    Parameters
    ----------
    problem : Problem
        Without validation samples.
    validation_fraction : float, "auto" or None
        Share of the samples that is held out, in place of the folds. Without any, or if there are
        too few samples, the last candidate wins.
    leaf, linear_leaves
        As for `default_candidates`.
    seconds_per_sample : float, default=0.0
        That it takes to read the data. With a deadline, the samples that are compared on depend on
        it.

    Returns
    -------
    TrainingResult
        Its `candidates` have the columns ``candidate``, ``error`` (mean error on the folds: the
        share of misclassified samples, or the loss of the standardised targets),
        ``standard_error``, ``n_folds`` and ``chosen``.

    Raises
    ------
    Stopped
        By Ctrl-C, with the best tree of the folds, or the winner as far as it has been trained if
        that is better.
    """
    candidates = default_candidates(problem, leaf, linear_leaves)
    sample = _sample(problem, len(candidates) * seconds_per_sample)
    sample = sample.replace(control=sample.control.quiet()).doing(0.5, "comparing trees")
    model_tree = None if linear_leaves is None else ModelTree(
        features=linear_leaves.features, penalty=linear_leaves.penalty)
    rule, greedy = _DefaultRule(candidates), None
    try:
        greedy = _GreedyTrees(sample, validation_fraction, model_tree, candidates)
        choice = choose(candidates, greedy.folds, rule, greedy.deadline,
                        problem.control.verbose > 1)
    except KeyboardInterrupt as error:
        if not isinstance(error, Stopped):
            if greedy is None:
                raise
            error = Stopped(greedy.pruned_tree(), baseline_kept=True, candidates=Choice(
                candidates, []).table(candidates[0]))
        raise Stopped(enforce_limits(error.tree, problem), {"optimizer": []}, error.candidates,
                      error.baseline_kept) from error
    sample.control.activity.finish()
    winner, result = _train_winner(
        problem, greedy, choice, rule.ranked(choice), validation_fraction)
    is_baseline = winner.name == "single leaf" or (
        winner is candidates[0] and leaf != "linear")
    found = (enforce_limits(result.tree, problem), result.history)
    if isinstance(result, Stopped):
        raise Stopped(*found, choice.table(winner), is_baseline)
    return TrainingResult(*found, is_baseline, choice.table(winner))


def _train_winner(problem, greedy, choice, ranked, validation_fraction):
    """The first candidate whose training on all samples succeeds, and its result.

    After Ctrl-C, the result is `Stopped`, of the best tree so far.
    """
    of_all = greedy if greedy.problem.X is problem.X else _GreedyTrees(
        problem, validation_fraction, greedy.model_tree)
    seconds = greedy.seconds_for(problem)
    winner, best, least = ranked[0], None, np.inf
    try:
        for each in ranked[:policy.MAX_TRAININGS]:
            training = problem.doing(0.5, f"training {each.name} on all samples")
            # The greedy trees of all samples if there is time for them, else of the sample.
            trees = of_all if problem.control.deadline.fits(seconds) else greedy
            result = each.make(Fold(
                training, trees=lambda name, of=trees, on=training: of.tree(name, on, seconds)))
            error = _training_error(result.tree, problem)
            if error < least:
                least, winner, best = error, each, result
            if not error > sum(choice.mean_error(each)) or not problem.control.deadline.fits():
                break
    except KeyboardInterrupt as error:
        found = [(winner, best), (each, error)]
        if choice.trees:
            first = choice.ranked(choice.trees)[0]
            found.append((first, Stopped(choice.trees[first], {"optimizer": []})))
        else:
            found.append((ranked[0], Stopped(greedy.pruned_tree(), {"optimizer": []})))
        winner, best = min(
            ((each, result) for each, result in found if hasattr(result, "tree")),
            key=lambda pair: _training_error(pair[1].tree, problem))
        best = Stopped(best.tree, best.history)
    return winner, best


def _training_error(tree, problem):
    samples = problem.training_samples
    return np.average(
        problem.errors(tree, samples), weights=problem.sample_weight[samples])


def _sample(problem, seconds_per_sample):
    """The problem, or one of some of its samples where a comparison on all would take too long."""
    sample = draw(problem, np.clip(policy.MAX_DRAWN_VALUES // problem.X.shape[1],
                                   policy.MIN_DRAWN_SAMPLES, policy.MAX_DRAWN_SAMPLES))
    drawn = draw_in_time(sample.with_time(policy.COMPARISON_TIME), seconds_per_sample)
    return drawn.replace(control=replace(drawn.control, deadline=problem.control.deadline))


def _fold_samples(problem, fraction):
    """Test samples of each fold."""
    if fraction == "auto":
        return fold_samples(problem)
    _, validation = hold_out(
        problem.sample_weight, fraction, strata_of(problem), problem.random_state)
    return [] if validation is None else [np.flatnonzero(validation).astype(np.int32)]


class _GreedyTrees:
    """The greedy trees that candidates are, or start from: of all samples and without each fold.

    By name, "pruned" is the pruned greedy tree, "initial" the same of a depth of at most 8 with at
    least one split, and "model" the model tree. They are made when asked for.

    Attributes
    ----------
    folds : list of Fold
        For candidates: with the trees without the samples of each.
    deadline : Deadline
        Of the comparison of candidates.
    """

    def __init__(self, problem, fraction, model_tree, candidates=()):
        samples, self.has_candidates = _fold_samples(problem, fraction), bool(candidates)
        n = len(samples)
        self.problem, self.model_tree = problem.doing(1 / (1 + n)), model_tree
        self.deadline = problem.control.deadline.share(
            policy.FOLDS_TIME if n > 1 else policy.COMPARISON_TIME)
        self.folds = [
            replace(fold, problem=fold.problem.doing(1 / (1 + n), f"fold {k + 1} of {n}"),
                    trees=lambda name, k=k: self._fold_tree(name, k))
            for k, fold in enumerate(Fold.without(problem, each) for each in samples)]
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
        return self._fold_tree("pruned", 0) if self.folds else self._initial.initial_tree

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

    def tree(self, name, training, seconds):
        """The tree of a name for all training samples, which `training` is the problem of.

        With `folds`, it takes as many `seconds`.
        """
        if name == "model":
            return self._models.tree
        if name == "initial":
            return self._initial.initial_tree
        # A few folds compare trees well enough, but choose the size of one less well.
        samples = pruning_folds(self.problem) if self.folds else []
        if len(samples) <= len(self.folds) or not training.control.deadline.fits(
                seconds * (len(samples) + 1) / (len(self.folds) + 1)):
            return self._pruned.tree
        folds = [Fold.without(training, each) for each in samples]
        return CrossValidatedPruning(training, InfoGain(), folds).tree

    def _fold_tree(self, name, k):
        if name == "model":
            return self._models.fold_tree(k)
        if name == "initial":
            return self._initial.fold_initial_tree(k)
        return self._pruned.fold_tree(k)


class _DefaultRule(Rule):
    """The rule of the default: how clear a lead has to be, and over whom."""

    def __init__(self, candidates):
        super().__init__(policy.MAX_LAG_SE)
        # Where all trees have linear leaves, a constant one is none of them.
        self.has_chance = candidates[0].name == "pruned"
        # The single leaf of each fold with its errors, and what probabilities gain over it.
        self.chance, self.gains = {}, {}

    def stays(self, candidate):
        return candidate.name == "single leaf"

    def skips(self, candidate, choice, trained):
        # Soft trees with constant leaves say little: they have a few levels, and the one with
        # teachers 7.
        soft = [each for each in trained if _is_soft_linear(each)]
        return bool(candidate.make.n_teachers and soft) and (
            choice.lead(choice.best(trained), choice.best(soft)) > policy.MAX_SOFT_LAG_SE)

    def tested(self, candidate, fold, tree):
        if not (self.has_chance and fold.problem.loss.is_classifier):
            return
        key = fold.samples.tobytes()
        if key not in self.chance:
            leaf = SingleLeaf().initialize(fold.problem)
            self.chance[key] = leaf, fold.weight * fold.problem.errors(leaf, fold.samples)
        self.gains.setdefault(candidate, []).append(
            fold.weight * _gains_over(self.chance[key][0], tree, fold))

    def ranked(self, choice):
        """The candidates, the best first. Without folds, it is the last candidate only."""
        alive = choice.alive
        if not choice.trees:
            return alive[-1:]
        best = choice.best(alive)
        if self.chance and not self._beats_chance(best):
            leaf = candidate("single leaf", SingleLeaf())
            choice.candidates.append(leaf)
            choice.errors[leaf] = [errors for _, errors in self.chance.values()]
            return [leaf]
        for each in alive:
            if self.stays(each) and choice.lead(best, each) <= policy.MIN_LEAF_GAIN_SE:
                return [each]
        ranked = choice.ranked(choice.candidates)
        if len(choice.errors[best]) == 1 and choice.n_folds == 1:
            preferred = [(each, policy.MIN_TAUGHT_GAIN_SE) for each in ranked
                         if each.make.n_teachers]
            preferred += [(each, policy.MIN_LEAF_GAIN_SE) for each in ranked
                          if each.name == "pruned"]
            for each, least in preferred:
                if choice.errors[each] and choice.lead(best, each) <= least:
                    ranked.remove(each)
                    ranked.insert(0, each)
        return ranked

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
    """By how much probabilities are better than those of a single leaf, shape (2, n_samples).

    What they save of the squared error, and half of what a small step towards them would save,
    relative to its size: that of a tree that is too sure may be positive where the first is not.
    """
    problem, samples = fold.problem, fold.samples
    labels = np.eye(problem.n_outputs)[problem.y[samples, 0].astype(np.intp)]
    shares = softmax(leaf.values, axis=1)
    missing, step = labels - shares, softmax(problem.predictions(tree, samples), axis=1) - shares
    slope = (missing * step).sum(axis=1)
    return np.array([2.0 * slope - (step**2).sum(axis=1), slope])
