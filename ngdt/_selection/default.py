"""The race: candidates are compared on held-out samples, and the winner is trained on all."""

from functools import cached_property, partial
from time import monotonic

from ngdt._core.structure import is_constant
from ngdt._methods.greedy.pruned import CrossValidatedPruning, Pruned
from ngdt._methods.greedy.single_leaf import SingleLeaf
from ngdt._methods.model_tree.model_tree import CrossValidatedModels
from ngdt._selection import policy
from ngdt._selection.candidates import CONSTANT
from ngdt._selection.sample import fold_samples_of, sample_to_compare_on
from ngdt._selection.shrinkage import (
    best_strength,
    shrunk_values,
    takes_shrinkage,
    with_held_out_quantile,
)
from ngdt._selection.train import Candidate
from ngdt._training.choice import PRUNED, Choice
from ngdt._training.folds import Fold, Score
from ngdt._training.result import TrainingResult
from ngdt._training.size_limits import enforce_limits
from ngdt._util.stopped import Stopped
from ngdt._util.validation import warn
from ngdt.initializers import ModelTree

_PRUNED, _SINGLE_LEAF = Candidate(PRUNED, "pruned"), Candidate("single leaf", SingleLeaf())
_NO_SPLIT = (
    "min_samples_leaf or min_weight_fraction_leaf ({} samples) and min_samples_split ({}) allow no "
    "split of the {} samples outside of a fold: the model predicts the same for all rows. Choose "
    "smaller limits")
_LOST_IN_THE_END = (
    "{!r} won on held-out samples, but trained on all samples it predicts the same for all rows. "
    "Leave out columns that matter little, add rows, or ask for another kind, such as "
    "init='pruned', optimizer=None")
NO_SPLITS = (
    "The tree has no splits, and predicts the same for all rows. If y depends on the columns, try "
    "another optimizer or init, a larger C of TAO or max_time, or a smaller ccp_alpha or "
    "min_samples_leaf")
ONE_TARGET = ("y is the same in all samples, and the model predicts it for all rows: add samples "
              "with other values of y")


def nothing_found(loss):
    """Text of a warning that a single leaf has won."""
    of_rare_class = ". If a class is rare, try class_weight='balanced'"
    return (
        "No tree was better than a single leaf on held-out samples: the model predicts the same "
        "for all rows. If y depends on the columns, more rows or more columns may show it. A named "
        "method, such as optimizer='tao' with validation_fraction=None, returns its tree in any "
        "case" + of_rare_class * loss.is_classifier)


def best_tree(problem, candidates, validation_fraction="auto", *, leaves=CONSTANT,
              seconds_per_sample=0.0):
    """Compare the candidates, and train the winner on all samples.

    A given fraction replaces the folds of `fold_samples`. Without any, the first candidate wins.
    Some samples of large data decide; with a deadline, as many as there is time to read. Errors in
    the table of the result are shares of misclassified samples, or losses of standardised targets.
    Ctrl-C raises Stopped, with the best tree of the folds, or the winner as far as it has been
    trained if that is better. Validation samples of the problem are given apart, and are the only
    fold: candidates are trained on all others.

    Warns
    -----
    UserWarning
        If the tree predicts the same for all samples, though its depth is not limited to 0, with
        the reason: all targets are equal, nothing was compared, the limits allow no split, no tree
        is better than a single leaf, or the winner has become one.
    """
    race = _Race(problem, candidates, validation_fraction, leaves, seconds_per_sample)
    try:
        race.run()
        return race.result()
    except KeyboardInterrupt as error:
        race.stop(error)
        best = race.result()
        raise Stopped(best.tree, best.history, best.candidates, best.baseline_kept) from error


class _Race:
    """The comparison of the candidates on the folds, and the training of the winner."""

    def __init__(self, problem, candidates, fraction, leaves, seconds_per_sample):
        sample = sample_to_compare_on(problem, len(candidates) * seconds_per_sample)
        sample = sample.replace(control=sample.control.quiet()).doing(0.5, "comparing trees")
        model_tree = ModelTree(features=leaves.linear.features, penalty=leaves.linear.penalty)
        self.problem, self.sample, self.leaf = problem, sample, leaves.kind
        self.greedy = _GreedyTrees(sample, fraction, model_tree, policy.PRUNING_TIME)
        self.of_all = self.greedy if sample.X is problem.X else _GreedyTrees(
            problem.doing(0.2, "initial tree for all samples"), fraction, model_tree)
        self.choice = Choice(candidates, self.greedy.folds, self.greedy.deadline, self._shrink)
        self.seconds = None     # that the greedy trees of all samples take, once this is known
        self.training = None    # the candidate that is trained on all samples
        # Of those that were: the loss there (of classes, the squared error of the probabilities),
        # the candidate, its tree, and its history.
        self.trained, self.failed, self.strengths = [], set(), {}

    def run(self):
        """Compare the candidates, and train the winner; and others where that fails."""
        choice, problem, begin = self.choice, self.problem, monotonic()
        _ = self.greedy.pruned      # made now, so that its time is known
        # What it takes on all samples, with the tree for which no fold is left out.
        self.seconds = 2.0 * (monotonic() - begin) * (
            len(problem.training_samples) / len(self.sample.training_samples))
        choice.run()
        self.sample.control.activity.finish()
        made = {}       # initial trees of all samples
        for each in self._ranked()[:policy.MAX_TRAININGS]:
            self.training = each
            part = problem.doing(
                problem.control.activity.left, f"training {each.name} on all samples")
            self._add(each, each.make(Fold(part, trees=partial(self._tree, part), made=made)))
            if not self._has_failed(each):
                break
            self.failed.add(each)
            if not problem.control.deadline.fits():
                # Time ended the training: the tree without a fold may have had more of it.
                self._add(each, Stopped(choice.trees[each][-1]))
                break

    def _has_failed(self, each):
        """Return whether training failed: all splits are lost, or it is worse than on the folds."""
        (_, _, tree, _), choice = self.trained[-1], self.choice
        has_lost = is_constant(tree) and not all(map(is_constant, choice.trees[each]))
        return has_lost or choice.is_worse(tree, each)

    def stop(self, error):
        """Take the best tree that there is after Ctrl-C, or raise the error if there is none."""
        choice, is_early = self.choice, self.seconds is None
        if isinstance(error, Stopped) and (is_early or self.training is not None):
            self._add(self.training or _PRUNED, error)
        if not is_early:
            best = self.training or next(iter(choice.ranked()), _PRUNED)
            name = "pruned" if self.greedy.folds else "initial"
            trees = choice.trees[best] or [self.greedy.tree_of_fold(name)]
            self._add(best, Stopped(trees[-1]))
        elif not self.trained:
            raise error

    def result(self):
        """The trained tree with the least training loss."""
        _, winner, tree, history = min(self.trained, key=lambda each: each[0])
        if self.training is not None and is_constant(tree) and self.problem.limits.max_depth != 0:
            warn(self._why_constant(winner))
        table = self.choice.table(winner)
        if self.strengths:
            table["shrinkage"] = [self.strengths.get(each, 0.0) for each in self.choice.candidates]
        failed = self.failed - {winner}     # of which the one with the least training loss may win
        if failed:
            table["failed"] = [each in failed for each in self.choice.candidates]
        # These are not trained.
        is_baseline = winner.name in (PRUNED, _SINGLE_LEAF.name)
        return TrainingResult(tree, history or {"optimizer": []}, is_baseline, table)

    def _why_constant(self, winner):
        """Text of a warning that all predictions are equal."""
        problem, choice = self.problem, self.choice
        y, limits = problem.y[problem.training_samples], problem.limits
        if (y == y[0]).all():
            return ONE_TARGET
        if not choice.folds:
            return NO_SPLITS
        if not all(map(is_constant, choice.trees[winner])):
            return _LOST_IN_THE_END.format(winner.name)
        leaf, split = limits.min_samples_leaf, limits.min_samples_split
        n = max(len(fold.problem.training_samples) for fold in choice.folds)
        return _NO_SPLIT.format(leaf, split, n) if max(2 * leaf, split) > n else (
            nothing_found(problem.loss))

    def _ranked(self):
        """The candidates, the winner first: a single leaf, if that is not better."""
        choice = self.choice
        ranked = choice.ranked() or [choice.first]
        if self.leaf == "auto" and not self.problem.loss.is_classifier:
            ranked = self._splits_first(ranked)
        # Where all trees have linear leaves, a constant one is none of them.
        if not choice.folds or self.leaf == "linear":
            return ranked
        winner = ranked[0]
        choice.candidates.append(_SINGLE_LEAF)
        self._test_leaf(winner)
        if self.problem.loss.is_classifier and (
                choice.lead(winner, _SINGLE_LEAF, "error") <= policy.TELLING_LEAD):
            # Errors tell little, as where a class is so rare that it is hardly ever the likelier.
            ranked = self._by_log_loss(ranked)
        winner, choice.alive = ranked[0], ranked[:1]
        # On as many folds as that needs. Of regression, log losses are errors.
        while not choice.lead(winner, _SINGLE_LEAF, "log_loss") > policy.MIN_LEAF_LEAD:
            if not choice.go_on():
                return [each for each in ranked if choice.lead(each, _SINGLE_LEAF, "log_loss")
                        > policy.MIN_OTHER_LEAF_LEAD] or [_SINGLE_LEAF]
            self._test_leaf(winner)
        return ranked

    def _by_log_loss(self, ranked):
        """Candidates by their log losses, which are huge for a few rows with gross errors.

        So those come last whose squared errors are larger than the winner's. And the pruned tree
        has to be better than others by as much.
        """
        lead, winner, least = self.choice.lead, ranked[0], policy.MIN_LOG_LOSS_LEAD
        return sorted(ranked, reverse=True, key=lambda each: (
            lead(winner, each) <= least,
            lead(each, winner, "log_loss") - least * (each.name == PRUNED)))

    def _test_leaf(self, winner):
        """Test the single leaf on the folds that the winner was tested on."""
        folds, scores = self.choice.folds, self.choice.scores
        for fold in folds[len(scores[_SINGLE_LEAF]):len(scores[winner])]:
            tree = fold.initial(_SINGLE_LEAF.init)
            self.choice.add(_SINGLE_LEAF, tree, fold.score(tree))

    def _shrink(self, each):
        """Find the shrinkage of the leaves of a candidate, and the losses with it."""
        choice = self.choice
        if all(takes_shrinkage(self.problem.loss, tree) for tree in choice.trees[each]):
            self.strengths[each], choice.scores[each] = best_strength(
                choice.folds, choice.trees[each])
        elif each in self.strengths:    # no slope helped on the folds before, but one on this
            del self.strengths[each]
            choice.scores[each] = list(map(Fold.score, choice.folds, choice.trees[each]))

    def _splits_first(self, ranked):
        """The candidates, a tree with splits first, unless one without is clearly better.

        Both are trained on all folds for that: on few samples, most of the lead is luck.
        """
        choice, winner = self.choice, ranked[0]

        def has_splits(each):
            return any(tree.n_internal for tree in choice.trees[each])

        split = [each for each in ranked if has_splits(each)
                 and len(choice.scores[each]) == len(choice.scores[winner])]
        if not split or split[0] is winner:
            return ranked
        choice.alive = [winner, split[0]]
        while choice.go_on():
            pass
        # The winner may have found splits by now.
        if has_splits(winner) or choice.lead(winner, split[0]) > policy.MIN_LINEAR_LEAD:
            return ranked
        return sorted(ranked, key=lambda each: each is not split[0])

    def _tree(self, part, name):
        """The greedy tree of a name for all samples or, without time for it, of a fold."""
        fits = part.control.deadline.fits
        if name == "pruned" and self.greedy.folds and fits(2.0 * self.seconds):
            # A few folds compare trees well enough, but choose the size of one less well.
            return Pruned().initialize(part.doing(0.5))
        if fits(self.seconds):
            return getattr(self.of_all, name).tree
        return self.greedy.tree_of_fold(name)

    def _add(self, each, result):
        problem, samples = self.problem, self.problem.training_samples
        tree, weight = enforce_limits(result.tree, problem), problem.sample_weight[samples]
        if each in self.strengths and takes_shrinkage(problem.loss, tree):
            values, = shrunk_values(problem, tree, [self.strengths[each]])
            tree = tree.replace(values=values)
        tree = with_held_out_quantile(
            problem, tree, self.choice.folds, self.choice.trees[each])
        loss = Score.of_tree(problem, tree, samples, weight).square
        self.trained.append((loss.sum() / weight.sum(), each, tree, result.history))


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
                         partial(self.tree_of_fold, k=k))
            for k, each in enumerate(samples)]

    def tree_of_fold(self, name, k=0):
        """The tree of a name, trained without a fold; if there are none, on all samples."""
        trees = getattr(self, name)
        return trees.fold_tree(k) if self.folds else trees.tree

    @cached_property
    def pruned(self):
        found = CrossValidatedPruning(self.problem, self.folds, self.share, may_skip=True)
        del self.folds[found.n_folds:]      # there is no time for more
        return found

    @cached_property
    def initial(self):
        if self.pruned.depth <= policy.MAX_TRAINED_DEPTH:
            return self.pruned.initial
        return CrossValidatedPruning(self.problem.limited(max_depth=policy.MAX_TRAINED_DEPTH),
                                     self.folds, self.share).initial

    @cached_property
    def model(self):
        share = policy.FOLDS_MODEL_TIME if len(self.folds) > 1 else policy.MODEL_TIME
        return CrossValidatedModels(self.problem, self.folds, self.model_tree, share)
