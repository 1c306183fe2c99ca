"""Training by named methods, and what competes with it."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits

from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt._methods.greedy.single_leaf import SingleLeaf
from ngdt._selection import train as _train
from ngdt._selection.candidates import named_candidates
from ngdt._selection.train import train
from ngdt._training.control import Control, Deadline
from ngdt._training.folds import Fold
from ngdt._training.problem import Problem
from ngdt._util.stopped import Stopped
from ngdt.initializers import InfoGain, Initializer
from ngdt.losses import LogLoss
from ngdt.optimizers import (
    OPTIMIZERS,
    SSGD,
    TAO,
    LinearLeaves,
    Optimizer,
    OptimizerResult,
    Regrow,
)


class Stub(Initializer):
    """Makes a stump that is wrong for a given share of the samples."""

    def __init__(self, wrong):
        self.wrong = wrong

    def _initialize(self, problem):
        return stump(self.wrong)


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


@pytest.mark.parametrize(("max_depth", "depth"), [("auto", 10), (8, 8)])
def test_the_pruned_tree_competes_without_a_default_limit(max_depth, depth):
    # A chain of intervals, of which each level cuts off one.
    lengths = np.repeat(np.arange(11), 300 * 2 ** np.arange(11)[::-1] // 1024 + 20)
    X, y = np.random.default_rng(0).random((len(lengths), 1)) * 0.9 + lengths[:, None], lengths % 2
    tree = ObliqueTreeClassifier(max_depth, optimizer=SSGD(epochs=1), random_state=0)
    with pytest.warns(UserWarning, match="pruned greedy tree was kept"):
        tree.fit(X, y)
    assert tree.baseline_kept_
    assert tree.get_depth() == depth


@pytest.mark.parametrize(("optimizer", "n_classes", "names"), [
    ("tao", 2, ["tao"]), ("ssgd", 8, ["ssgd"]), ("ssgd", 20, ["ssgd", "ssgd depth=9"]),
    ("gto", 2, ["gto"]), ("annealed", 2, ["annealed depth=6", "annealed depth=2"])])
def test_a_named_method_competes_with_the_pruned_tree(optimizer, n_classes, names):
    X = np.arange(600.0)[:, None]
    given = Problem(X, np.arange(600.0)[:, None] % n_classes, LogLoss(), n_classes, np.ones(600))
    chain = (OPTIMIZERS[optimizer](), Step(0.0))    # which records nothing
    for has_depth, expected in ((False, names), (True, [names[0]])):
        limited = given.limited(max_depth=6) if has_depth else given
        *found, pruned = named_candidates(limited, chain, has_depth)
        assert [each.name for each in found] == expected
        assert all(each.optimizers == chain for each in found)
        assert (pruned.name, pruned.optimizers) == ("pruned", ())


@pytest.mark.parametrize(("optimizer", "name"), [
    (["ssgd", "tao"], "ssgd, tao"), (["annealed", Regrow(), "tao"], "annealed, tao depth=2"),
    ([Step(0.5), "sgd", LinearLeaves()], "Step, sgd"), ([Regrow(), Regrow()], "regrow")])
def test_a_candidate_has_the_names_of_all_optimizers_that_train_it(optimizer, name):
    X, y = load_breast_cancer(return_X_y=True)
    fitted = ObliqueTreeClassifier(2, optimizer=optimizer, random_state=0).fit(X[:90, :1], y[:90])
    assert fitted.candidates_["candidate"][0] == name


class SoftStep(Step):
    """Starts from a tree that is no pruned one."""

    default_init = "soft_greedy"


@pytest.mark.parametrize("optimizer", [SSGD(), SoftStep(0.5)], ids=["ssgd", "own"])
def test_a_candidate_may_have_a_depth_of_its_own(optimizer):
    X, labels = np.arange(600.0)[:, None], np.arange(600.0)[:, None] % 20
    given = Problem(X, labels, LogLoss(), 20, np.ones(600))
    *_, grown, _ = named_candidates(given, (optimizer,), False)
    assert grown.max_depth == 9
    made = replace(grown, init=InfoGain(), optimizers=()).make(Fold(given))
    assert made.tree.max_depth == 9
    assert InfoGain().initialize(given).max_depth > 9


@pytest.mark.parametrize(("end", "n_run"), [(0.0, 1), (np.inf, 3)])
def test_without_time_the_first_optimizer_is_the_last(end, n_run):
    chain = [Step(0.1), Step(0.2), Step(0.3)]
    given = problem(30).replace(control=Control(deadline=Deadline(end)))
    assert train(given, Stub(0.5), chain).tree.thresholds == chain[n_run - 1].wrong
    assert [len(each.seen) for each in chain] == [1] * n_run + [0] * (3 - n_run)


@pytest.mark.parametrize("optimizer", ["auto", ["ssgd", "tao"]])
def test_a_callback_is_not_called_while_trees_compete(optimizer):
    X, y = load_breast_cancer(return_X_y=True)
    seen = []
    fitted = ObliqueTreeClassifier(2, optimizer=optimizer, callback=seen.append, random_state=0)
    fitted.fit(X[:200], y[:200])
    assert [metrics["optimizer"] for metrics in seen] == fitted.history_["optimizer"]


class Collapse(Optimizer):
    """Leaves a single leaf of any tree."""

    def _optimize(self, tree, problem):
        return OptimizerResult(SingleLeaf().initialize(problem))


@pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueTreeRegressor])
def test_all_trees_that_compete_have_linear_leaves_if_these_are_asked_for(estimator):
    X = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
    y = np.where(X[:, 0] > 0, 1.0, 0.0)
    if estimator is ObliqueTreeRegressor:
        y += X[:, 1] / 4
    fitted = estimator(optimizer=Collapse(), leaf="linear", random_state=0)
    with pytest.warns(UserWarning, match="pruned greedy tree with linear leaves was kept"):
        fitted.fit(X, y)
    assert fitted.baseline_kept_
    assert fitted.tree_.slopes is not None


def test_a_named_method_with_a_single_leaf_is_preferred_to_one_with_splits():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(60, 1))
    y = X[:, 0] + 0.5 * rng.normal(size=60)
    fitted = ObliqueTreeRegressor(optimizer=[Collapse(), LinearLeaves()], random_state=0).fit(X, y)
    assert abs(fitted.candidates_["lead"][1]) < 1.0
    assert fitted.kind_ == "linear model"


@pytest.mark.parametrize("max_depth", [2, 3])
def test_a_depth_that_is_given_is_that_of_the_trained_tree(max_depth):
    X, y = load_digits(return_X_y=True)
    spy = Step(0.0)
    spy._optimize = lambda tree, problem: spy.seen.append(tree) or OptimizerResult(tree)
    ObliqueTreeClassifier(max_depth, optimizer=spy, random_state=0).fit(X[:300], y[:300])
    assert {(tree.max_depth, tree.n_leaves) for tree in spy.seen} == {(max_depth, 2**max_depth)}


@pytest.mark.parametrize("init", [stump(0.4), Stub(0.4)])
@pytest.mark.parametrize("fraction", ["auto", 0.3])
@pytest.mark.parametrize(("wrong", "regularizes", "kept"), [
    (0.5, False, True), (0.5, True, True), (0.3, False, False), (0.3, True, False)])
def test_an_initial_tree_is_kept_if_training_makes_it_worse(
        init, fraction, wrong, regularizes, kept):
    step = Step(wrong)
    step.regularizes = regularizes
    result = train(problem(300), init, [step], validation_fraction=fraction)
    assert result.baseline_kept == kept
    assert result.tree == stump(0.4 if kept else wrong)


@pytest.mark.parametrize(("trained", "kept"), [
    (Tree(np.empty((0, 1)), [], [], [], [[1.0, 0.0]]), False),
    (stump(0.4).replace(values=[[1.0, 0.0], [1.0, 0.0]]), False),
    (stump(0.5).replace(values=[[1.0, 0.0], [1.0, 0.0]]), True)],
    ids=["simpler", "same splits", "other splits"])
def test_more_errors_are_the_price_of_a_simpler_tree_or_other_leaves(trained, kept):
    step = Step(0.5)
    step.regularizes, step._optimize = True, lambda tree, problem: OptimizerResult(trained)
    result = train(problem(300), stump(0.4), [step], validation_fraction=0.3)
    assert result.baseline_kept == kept


@pytest.mark.parametrize("fraction", [None, 0, 0.0])
def test_a_method_is_taken_as_it_is_where_nothing_is_held_out(fraction):
    step = Step(0.9)
    result = train(problem(300), Stub(0.0), [step], validation_fraction=fraction)
    assert not result.baseline_kept
    assert step.seen[0][1].validation_weight is None


@pytest.mark.parametrize("fraction", [None, "auto"])
def test_a_method_that_is_shortened_returns_no_worse_tree(fraction):
    class Shortened(Step):
        def _optimize(self, tree, problem):
            assert not problem.control.deadline.fits(3600.0)
            return super()._optimize(tree, problem)

    given = problem(300)
    given = given.replace(control=replace(given.control, deadline=Deadline.after(600.0)))
    result = train(given, Stub(0.2), [Shortened(0.9)], validation_fraction=fraction)
    assert result.baseline_kept
    assert result.tree == stump(0.2)


@pytest.mark.parametrize(("wrong", "kept"), [(0.9, True), (0.1, False)])
@pytest.mark.parametrize("init", [stump(0.2), Stub(0.2)])
def test_a_method_that_is_interrupted_returns_no_worse_tree(init, wrong, kept):
    class Interrupted(Step):
        def _optimize(self, tree, problem):
            raise Stopped(stump(self.wrong))

    with pytest.raises(Stopped) as caught:
        train(problem(300), init, [Interrupted(wrong)], validation_fraction=None)
    assert caught.value.baseline_kept == kept
    assert caught.value.tree == stump(0.2 if kept else wrong)


@pytest.mark.parametrize(("label", "kept"), [(0.0, False), (1.0, True)])
def test_less_errors_on_validation_samples_excuse_more_on_training_samples(label, kept):
    # Both stumps differ on the samples from 0.3 to 0.5; the last half of them are for validation.
    given = problem(300)
    held = (given.X[:, 0] > 0.4) & (given.X[:, 0] < 0.5)
    given = given.replace(
        y=np.where(held, label, 1.0)[:, None], own_validation=True,
        sample_weight=np.where(held, 0.0, 1.0), validation_weight=np.where(held, 1.0, 0.0))
    result = train(given, Stub(0.3), [Step(0.5)], validation_fraction="auto")
    assert result.baseline_kept == kept


@pytest.mark.parametrize(("wrong", "kept"), [(0.4, False), (0.95, True)])
def test_ctrl_c_after_training_changes_nothing(monkeypatch, wrong, kept):
    calls = []

    def interrupt(tree, problem):
        calls.append(tree)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return tree

    monkeypatch.setattr(_train, "enforce_limits", interrupt)
    with pytest.raises(Stopped) as caught:
        train(problem(300), Stub(0.9), [Step(wrong)], validation_fraction="auto")
    assert caught.value.baseline_kept == kept
    assert caught.value.tree == stump(0.9 if kept else wrong)


def test_ctrl_c_in_a_later_optimizer_keeps_the_tree_before():
    class Interrupted(Step):
        def _optimize(self, tree, problem):
            raise KeyboardInterrupt

    with pytest.raises(Stopped) as caught:
        train(problem(300), Stub(0.9), [Step(0.4), Interrupted(0.2)])
    assert caught.value.tree == stump(0.4)
    with pytest.raises(KeyboardInterrupt) as caught:
        train(problem(300), Stub(0.9), [Interrupted(0.2)])
    assert not isinstance(caught.value, Stopped)    # there is nothing yet


@pytest.mark.parametrize("parameters", [
    {"optimizer": TAO(C=1e-3), "validation_fraction": None},
    {"init": "pruned", "optimizer": None}])
@pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueTreeRegressor])
def test_a_named_method_says_that_a_single_leaf_is_left(estimator, parameters):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(300, 4)), random.integers(0, 2, 300)
    with pytest.warns(UserWarning, match="The tree has no splits, and predicts the .* max_time"):
        assert estimator(random_state=0, **parameters).fit(X, y).get_n_leaves() == 1


def test_nor_slopes_that_are_lost_where_values_are_far_are_left_in_silence():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(300, 4)), random.normal(size=300)
    X[:20] *= 1e7
    model = ObliqueTreeRegressor(2, init="model_tree", optimizer=None, random_state=0)
    with pytest.warns(UserWarning, match="The tree has no splits, and predicts the same"):
        assert model.fit(X, y).kind_ == "single leaf"


@pytest.mark.filterwarnings("error")
def test_a_single_leaf_that_was_to_be_expected_is_no_surprise():
    X, y = np.eye(20), np.arange(20) % 2
    assert ObliqueTreeClassifier(0, optimizer=None).fit(X, y).get_n_leaves() == 1
    assert ObliqueTreeClassifier(2, optimizer="tao", validation_fraction=None).fit(
        X, np.zeros(20)).get_n_leaves() == 1
    linear = ObliqueTreeRegressor(0, leaf="linear", optimizer=None).fit(X[:, :1], X[:, 0])
    assert linear.kind_ == "linear model"
