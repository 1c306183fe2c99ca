"""Competitors of a trained tree, and when folds are not needed."""

import numpy as np
import pytest

from ngdt import ObliqueTreeClassifier, Tree
from ngdt._selection import train as _train
from ngdt._selection.train import Candidate, PrunedTree, _Comparison, train
from ngdt._training.folds import N_FOLDS
from ngdt._training.problem import Problem
from ngdt._training.result import TrainingResult
from ngdt._training.size_limits import enforce_limits
from ngdt._util.stopped import Stopped
from ngdt.initializers import InfoGain, Initializer
from ngdt.losses import LogLoss
from ngdt.optimizers import SSGD, Optimizer, OptimizerResult


class Stub(Initializer):
    """Makes a stump that is wrong for a given share of the samples, and keeps its problems."""

    def __init__(self, wrong):
        self.wrong, self.seen = wrong, []

    def _initialize(self, problem):
        self.seen.append(problem)
        return stump(self.wrong)

    def to_compare(self, problem):
        return self.initialize(problem)

    def make(self, fold):
        return TrainingResult(self.initialize(fold.problem), {})


class Step(Optimizer):
    """Puts such a stump in the place of any tree."""

    is_stochastic = True

    def __init__(self, wrong):
        self.wrong, self.seen = wrong, []

    def _optimize(self, tree, problem):
        self.seen.append((tree, problem))
        return OptimizerResult(stump(self.wrong), {"loss": [0.5]})


def stump(wrong):
    return Tree([[1.0]], [wrong], [~0], [~1], [[1.0, 0.0], [0.0, 1.0]])


def problem(n):
    """All samples are of class 1, x runs evenly from 0 to 1.

    A stump is wrong below its threshold.
    """
    random = np.random.default_rng(0)
    X = random.permutation((np.arange(n) + 0.5) / n)[:, None]
    return Problem(X, np.ones((n, 1)), LogLoss(), 2, np.ones(n))


@pytest.mark.parametrize(("baseline", "kept"), [(0.0, True), (0.9, False)])
@pytest.mark.parametrize("fraction", ["auto", 0.3])
def test_the_baseline_competes_in_the_place_of_the_initial_tree(baseline, kept, fraction):
    # The initial tree is better than both, or worse than both: it does not matter.
    for wrong in (0.0, 1.0):
        initial, step, baseline_stub = Stub(wrong), Step(0.4), Stub(baseline)
        result = train(problem(300), initial, [step], baseline=baseline_stub,
                       validation_fraction=fraction, limit=False)
        assert result.baseline_kept == kept
        assert result.tree == stump(baseline if kept else 0.4)
        assert all(tree == stump(wrong) for tree, _ in step.seen)
        if kept:        # it is made again, of all samples
            last = baseline_stub.seen[-1]
            assert last.validation_weight is None
            assert (last.sample_weight == 1).all()


@pytest.mark.parametrize(("max_depth", "depth"), [("auto", 10), (8, 8)])
def test_the_pruned_tree_competes_without_a_default_limit(max_depth, depth):
    # A chain of intervals, of which each level cuts off one.
    lengths = np.repeat(np.arange(11), 300 * 2 ** np.arange(11)[::-1] // 1024 + 20)
    X, y = np.random.default_rng(0).random((len(lengths), 1)) * 0.9 + lengths[:, None], lengths % 2
    tree = ObliqueTreeClassifier(max_depth, optimizer=SSGD(epochs=1), random_state=0)
    with pytest.warns(UserWarning, match="not clearly better"):
        tree.fit(X, y)
    assert tree.baseline_kept_
    assert tree.get_depth() == depth


def test_few_trees_are_grown_for_the_comparison_of_many_samples(monkeypatch):
    grown, grow = [], InfoGain._initialize
    monkeypatch.setattr(InfoGain, "_initialize", lambda self, problem: grown.append(
        np.count_nonzero(problem.sample_weight)) or grow(self, problem))
    pruned = PrunedTree(None)
    for make, n_trees in ((pruned.to_compare, 2), (pruned.initialize, 11)):
        assert make(problem(3000)).n_leaves == 1
        assert len(grown) == n_trees
        grown.clear()


def test_without_a_baseline_the_initial_tree_competes():
    for wrong, kept in ((0.0, True), (0.9, False)):
        result = train(problem(300), Stub(wrong), [Step(0.4)], validation_fraction=0.3)
        assert result.baseline_kept == kept


@pytest.mark.parametrize(("baseline", "wrong"), [(stump(0.0), 0.6), (Stub(0.0), None)])
def test_nothing_competes_with_a_given_tree_or_without_an_optimizer(baseline, wrong):
    steps = [] if wrong is None else [Step(wrong)]
    result = train(problem(300), Stub(0.7), steps, baseline=baseline, validation_fraction=0.3)
    assert not result.baseline_kept
    assert result.tree == stump(0.7 if wrong is None else wrong)


@pytest.mark.parametrize("fraction", [None, 0, 0.0])
def test_nothing_competes_where_nothing_is_held_out(fraction):
    step = Step(0.9)
    result = train(problem(300), Stub(0.0), [step], validation_fraction=fraction)
    assert not result.baseline_kept
    assert step.seen[0][1].validation_weight is None


@pytest.mark.parametrize(("n", "fraction", "n_test"), [(300, 0.2, 30), (30_000, "auto", 1500)])
def test_samples_are_split_three_ways(n, fraction, n_test):
    held = _Comparison(problem(n), Candidate("", Stub(0.0), (Step(0.4),)), None, fraction)
    weights = [held.problem.sample_weight, held.problem.validation_weight, held.test_weight]
    assert [weight.sum() for weight in weights] == [n - 2 * n_test, n_test, n_test]
    np.testing.assert_array_equal(np.sum(weights, axis=0), np.ones(n))


@pytest.mark.parametrize(("wrong", "n_folds", "kept"), [
    # The baseline is wrong for half of the samples. Of 900, a fold has 300: ten in a hundred fewer
    # errors are sqrt(30) = 5.5 standard errors, five are sqrt(15) = 3.9 after one fold and 5.5
    # after two.
    # The baseline is kept as soon as the trained tree is no better.
    (0.4, 1, False), (0.45, 2, False), (0.55, 1, True),
    (0.48, 3, False),           # sqrt(18) = 4.2 in the end
    (0.497, 3, True),           # sqrt(2.7) = 1.6, which is not sure
])
def test_folds_end_once_one_of_both_leads_clearly(wrong, n_folds, kept):
    step, baseline = Step(wrong), Stub(0.5)
    result = train(problem(900), Stub(1.0), [step], baseline=baseline, validation_fraction="auto")
    assert result.baseline_kept == kept
    assert len(step.seen) == 1 + n_folds
    assert len(baseline.seen) == n_folds + kept     # none for the first run: nothing could judge it
    for (_, fold), of_baseline in zip(step.seen[1:], baseline.seen, strict=False):
        assert fold.sample_weight.sum() == 900 - 900 // N_FOLDS
        np.testing.assert_array_equal(fold.sample_weight, of_baseline.sample_weight)
    held = [fold.sample_weight == 0 for _, fold in step.seen[1:]]
    assert np.sum(held, axis=0).max() == 1      # no sample is held out twice


@pytest.mark.parametrize(("wrong", "n_folds", "kept"), [
    (0.9, 0, True),         # behind, on samples that are biased in its favour
    (0.1, 0, False),        # sqrt(80) = 8.9 standard errors ahead, beyond that bias
    (0.35, 1, False),       # sqrt(30) = 5.5: ahead, but not so far
])
def test_validation_samples_that_tell_enough_make_folds_unnecessary(wrong, n_folds, kept):
    step = Step(wrong)
    result = train(
        problem(2000), Stub(1.0), [step], baseline=Stub(0.5), validation_fraction="auto")
    assert len(step.seen) == 1 + n_folds
    assert result.baseline_kept == kept


@pytest.mark.parametrize(("initial", "wrong", "kept"), [(0.0, 0.9, True), (0.4, 0.2, False)])
def test_training_samples_decide_where_there_are_too_few_for_folds(initial, wrong, kept):
    step = Step(wrong)
    result = train(problem(5), Stub(initial), [step], validation_fraction="auto")
    assert result.baseline_kept == kept
    assert result.tree == enforce_limits(stump(initial if kept else wrong), problem(5))
    assert len(step.seen) == 1


@pytest.mark.parametrize("fraction", ["auto", 0.3])
@pytest.mark.parametrize(("wrong", "regularizes", "kept"), [
    (0.5, False, True), (0.5, True, False), (0.3, False, False)])
def test_a_given_tree_is_kept_if_training_makes_it_worse(fraction, wrong, regularizes, kept):
    step = Step(wrong)
    step.regularizes = regularizes
    result = train(problem(300), stump(0.4), [step], validation_fraction=fraction)
    assert result.baseline_kept == kept
    assert result.tree == stump(0.4 if kept else wrong)


def test_ctrl_c_in_a_fold_keeps_the_trained_tree():
    class Interrupted(Step):
        def _optimize(self, tree, problem):
            result = super()._optimize(tree, problem)
            if len(self.seen) == 2:
                raise Stopped(stump(0.7))
            return result

    step = Interrupted(0.4)
    with pytest.raises(Stopped) as caught:
        train(problem(300), Stub(0.0), [step], validation_fraction="auto")
    assert len(step.seen) == 2
    assert caught.value.tree == stump(0.4)


@pytest.mark.parametrize("where", ["limit", "baseline", "fold"])
def test_ctrl_c_after_training_keeps_the_trained_tree(monkeypatch, where):
    calls = []

    def interrupt(*arguments):
        calls.append(arguments)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return arguments[0]

    step, baseline = Step(0.4), Stub(0.0)
    if where == "limit":
        monkeypatch.setattr(_train, "enforce_limits", interrupt)
    elif where == "baseline":
        monkeypatch.setattr(baseline, "initialize", interrupt)
    else:
        monkeypatch.setattr(_train, "problem_without", interrupt)
    with pytest.raises(Stopped) as caught:
        train(problem(300), Stub(0.0), [step], baseline=baseline,
              validation_fraction="auto" if where == "fold" else 0.2)
    assert caught.value.tree == stump(0.4)


def test_ctrl_c_in_a_later_optimizer_keeps_the_tree_before():
    class Interrupted(Step):
        def _optimize(self, tree, problem):
            raise KeyboardInterrupt

    with pytest.raises(Stopped) as caught:
        train(problem(300), Stub(0.0), [Step(0.4), Interrupted(0.2)])
    assert caught.value.tree == stump(0.4)
    with pytest.raises(KeyboardInterrupt) as caught:
        train(problem(300), Stub(0.0), [Interrupted(0.2)])
    assert not isinstance(caught.value, Stopped)    # there is nothing yet
