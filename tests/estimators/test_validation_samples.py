"""Validation samples, and the baseline that a trained tree has to beat."""

import numpy as np
import pytest

from helpers import Wrecker
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt._training.folds import hold_out
from ngdt.optimizers import SSGD

BOTH = pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueTreeRegressor])


def test_held_out_rows_are_stratified_and_rare_classes_stay():
    labels = np.repeat([0, 1, 2], [900, 95, 5])
    weight = np.arange(1000) + 1.0
    training, validation = hold_out(weight, 0.1, labels, seed=0)
    np.testing.assert_array_equal(training + validation, weight)
    assert not (training * validation).any()
    assert np.bincount(labels[validation > 0], minlength=3).tolist() == [90, 9, 0]


def test_held_out_rows_depend_on_the_seed_alone():
    labels = np.random.default_rng(0).integers(0, 3, 500)
    one, same, other = (hold_out(np.ones(500), 0.2, labels, seed)[1] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_absent_rows_are_not_held_out():
    weight = np.tile([0.0, 1.0], 500)
    _, validation = hold_out(weight, 0.1, None, seed=0)
    assert np.count_nonzero(validation) == np.count_nonzero(validation[1::2]) == 50


@pytest.mark.parametrize("fraction", [0, None, 1e-9])
def test_nothing_held_out(fraction):
    training, validation = hold_out(np.ones(50), fraction, None, seed=0)
    assert validation is None
    assert training.all()


@pytest.mark.parametrize(("rows", "held"), [(1999, 0), (2000, 200)])
def test_auto_holds_out_a_tenth_of_many_rows(rows, held):
    validation = hold_out(np.ones(rows), "auto", None, seed=0)[1]
    assert (0 if validation is None else np.count_nonzero(validation)) == held


@BOTH
@pytest.mark.parametrize("fraction", [0.2, "auto"])
def test_a_worse_result_loses_to_the_greedy_tree(estimator, fraction, digits):
    fitted = estimator(
        4, optimizer=Wrecker(), validation_fraction=fraction, random_state=0).fit(*digits)
    assert fitted.baseline_kept_
    if fraction == "auto":
        pruned = estimator(4, init="pruned", optimizer=None, random_state=0).fit(*digits)
        np.testing.assert_array_equal(fitted.apply(digits[0]), pruned.apply(digits[0]))


@pytest.mark.parametrize(("init", "message"), [
    ("auto", "^A pruned greedy tree was kept: it was better than the tree that the optimizer"),
    ("info_gain", "^The initial tree was kept, a greedy tree: training made it worse")])
def test_training_says_that_the_baseline_is_kept(init, message, digits):
    model = ObliqueTreeClassifier(4, init=init, optimizer=Wrecker(), random_state=0)
    with pytest.warns(UserWarning, match=message):
        model.fit(*digits)
    assert model.baseline_kept_


def test_training_says_that_a_tree_is_kept_for_its_probabilities():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = rng.random(600) < np.select([X[:, 0] > 1.2, X[:, 0] > 0.3], [0.45, 0.2], 0.02)
    model = ObliqueTreeClassifier(max_leaf_nodes=4, optimizer="tao", random_state=0)
    with pytest.warns(UserWarning, match="^A .* was kept: it had better probabilities than"):
        model.fit(X, y)
    error, loss = (dict(zip(model.candidates_["candidate"], model.candidates_[name], strict=True))
                   for name in ("error", "log_loss"))
    assert error["pruned"] >= error["tao"]
    assert loss["pruned"] < loss["tao"]


@pytest.mark.parametrize("fraction", [0.2, "auto"])
def test_a_better_result_wins_against_the_start(fraction, digits):
    fitted = ObliqueTreeClassifier(
        4, optimizer=SSGD(epochs=60), validation_fraction=fraction, random_state=0).fit(*digits)
    assert not fitted.baseline_kept_


@pytest.mark.parametrize(("fraction", "kept"), [(0.2, True), ("auto", True), (None, False)])
def test_a_perfect_tree_is_not_wrecked_without_a_word(fraction, kept, digits):
    start = ObliqueTreeClassifier(None, optimizer=None).fit(*digits)
    fitted = ObliqueTreeClassifier(
        init=start, optimizer=Wrecker(), validation_fraction=fraction).fit(*digits)
    assert fitted.baseline_kept_ == kept
    assert (fitted.tree_ == start.tree_) == kept


@pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueTreeRegressor])
def test_tao_pays_for_a_simpler_tree_only(estimator):
    X = np.random.default_rng(0).normal(size=(3000, 4))
    y = (X[:, 3] > 1.0).astype(int)
    fitted = estimator(1, init="info_gain", optimizer="tao", random_state=0).fit(X, y)
    assert fitted.baseline_kept_
    assert fitted.score(X, y) == pytest.approx(1.0)


def test_without_held_out_rows_nothing_competes(digits):
    fitted = ObliqueTreeClassifier(4, optimizer=Wrecker(), validation_fraction=None).fit(*digits)
    assert not fitted.baseline_kept_
    assert not fitted.tree_.values.any()
