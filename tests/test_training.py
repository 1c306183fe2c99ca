"""What competes with a trained tree, and when folds are spared."""

import numpy as np
import pytest

from ngdt import Tree
from ngdt._selection import N_FOLDS, train
from ngdt.initializers import Initializer
from ngdt.losses import LogLoss
from ngdt.optimizers import Optimizer
from ngdt.problem import Problem


class Stub(Initializer):
    """Grows a stump that is wrong for a given share of the rows, and writes down its problems."""

    def __init__(self, wrong):
        self.wrong, self.seen = wrong, []

    def initialize(self, problem):
        self.seen.append(problem)
        return stump(self.wrong)


class Step(Optimizer):
    """Puts such a stump in the place of any tree."""

    is_stochastic = True

    def __init__(self, wrong):
        self.wrong, self.seen = wrong, []

    def optimize(self, tree, problem):
        self.seen.append((tree, problem))
        return stump(self.wrong), {"loss": [0.5]}


def stump(wrong):
    return Tree([[1.0]], [wrong], [~0], [~1], [[1.0, 0.0], [0.0, 1.0]])


def problem(n, held=None):
    """All rows are of class 1, and x runs evenly from 0 to 1: a stump is wrong below its threshold.
    """
    random = np.random.default_rng(0)
    X = random.permutation((np.arange(n) + 0.5) / n)[:, None]
    weight, validation = np.ones(n), None
    if held is not None:
        validation = (np.arange(n) < held).astype(float)
        weight = weight - validation
    return Problem(X, np.ones((n, 1)), LogLoss(), 2, weight, validation)


@pytest.mark.parametrize(("baseline", "kept"), [(0.0, True), (0.9, False)])
@pytest.mark.parametrize("folds", [True, False])
def test_the_rival_competes_in_the_place_of_the_start(baseline, kept, folds):
    # The start is better than both, or worse than both: it does not matter.
    for wrong in (0.0, 1.0):
        start, step, rival_stub = Stub(wrong), Step(0.4), Stub(baseline)
        result = train(problem(300, None if folds else 100), start, [step], baseline=rival_stub,
                       cross_validate=folds)
        assert result.baseline_kept == kept
        assert result.tree == stump(baseline if kept else 0.4)
        assert all(tree == stump(wrong) for tree, _ in step.seen)
        if kept:        # it is grown again, on all rows
            last = rival_stub.seen[-1]
            assert last.validation_weight is None
            assert (last.sample_weight == 1).all()


def test_without_a_rival_the_start_competes():
    for wrong, kept in ((0.0, True), (0.9, False)):
        result = train(problem(300, 100), Stub(wrong), [Step(0.4)])
        assert result.baseline_kept == kept


@pytest.mark.parametrize(("baseline", "wrong"), [(stump(0.0), 0.9), (Stub(0.0), None)])
def test_nothing_competes_with_a_given_tree_or_without_a_step(baseline, wrong):
    steps = [] if wrong is None else [Step(wrong)]
    result = train(problem(300, 100), Stub(0.7), steps, baseline=baseline)
    assert not result.baseline_kept
    assert result.tree == stump(0.7 if wrong is None else wrong)


@pytest.mark.parametrize(("wrong", "n_folds", "kept"), [
    # The baseline is wrong for half of the rows. Of 900, a fold has 300: ten in a hundred fewer errors
    # are sqrt(30) = 5.5 standard errors, five are sqrt(15) = 3.9 after one fold and 5.5 after two.
    (0.4, 1, False), (0.45, 2, False), (0.6, 1, True), (0.55, 2, True),
    (0.48, 3, False),           # sqrt(18) = 4.2 in the end
    (0.497, 3, True),           # sqrt(2.7) = 1.6, which is not sure
])
def test_folds_are_spared_once_one_of_both_leads_clearly(wrong, n_folds, kept):
    step, baseline = Step(wrong), Stub(0.5)
    result = train(problem(900), Stub(1.0), [step], baseline=baseline, cross_validate=True)
    assert result.baseline_kept == kept
    assert len(step.seen) == 1 + n_folds
    assert len(baseline.seen) == n_folds + kept     # none for the first run: no rows could judge it
    for (_, fold), of_rival in zip(step.seen[1:], baseline.seen, strict=False):
        assert fold.sample_weight.sum() == 900 - 900 // N_FOLDS
        np.testing.assert_array_equal(fold.sample_weight, of_rival.sample_weight)
    held = [fold.sample_weight == 0 for _, fold in step.seen[1:]]
    assert np.sum(held, axis=0).max() == 1      # no row is held out twice


@pytest.mark.parametrize(("wrong", "n_folds", "kept"), [
    (0.9, 0, True),         # behind, though the rows that chose flatter it
    (0.1, 0, False),        # sqrt(40) = 6.3 standard errors ahead, beyond flattery
    (0.3, 1, False),        # ahead, but not so far
])
def test_held_out_rows_that_tell_enough_spare_the_folds(wrong, n_folds, kept):
    step = Step(wrong)
    result = train(problem(1000, 100), Stub(1.0), [step], baseline=Stub(0.5), cross_validate=True)
    assert len(step.seen) == 1 + n_folds
    assert result.baseline_kept == kept


def test_too_few_rows_for_folds_do_as_asked():
    step = Step(0.9)
    result = train(problem(5), Stub(0.0), [step], cross_validate=True)
    assert not result.baseline_kept
    assert len(step.seen) == 1


def test_ctrl_c_in_a_fold_keeps_the_trained_tree():
    class Interrupted(Step):
        def optimize(self, tree, problem):
            tree, record = super().optimize(tree, problem)
            return tree, record | ({"interrupted": True} if len(self.seen) == 2 else {})

    step = Interrupted(0.4)
    result = train(problem(300), Stub(0.0), [step], cross_validate=True)
    assert len(step.seen) == 2
    assert result.interrupted
    assert not result.baseline_kept
    assert result.tree == stump(0.4)
