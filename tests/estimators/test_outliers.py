"""Three rows with gross errors, and values of any size: what they may change."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, make_friedman1
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split

from helpers import in_nightly
from ngdt import (
    ObliqueBoostingRegressor,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    Tree,
)
from ngdt.inference import is_monotone
from ngdt.optimizers import SGD, SSGD, Annealed, ShrinkLeaves
from ngdt.pruning import refit_leaves


def with_gross_errors(X, seed=0):
    """Half of the values of three rows moved by 1000 standard deviations."""
    random, X = np.random.default_rng(seed), X.copy()
    for i in random.choice(len(X), 3, replace=False):
        moved = random.random(X.shape[1]) < 0.5
        X[i, moved] += random.choice([-1000.0, 1000.0], moved.sum()) * X.std(axis=0)[moved]
    return X


def gains(make, X, y, **options):
    """Test scores without and with gross errors in training."""
    a, b, y_a, y_b = train_test_split(X, y, test_size=0.3, random_state=0, **options)
    return [make().fit(each, y_a).score(b, y_b) for each in (a, with_gross_errors(a))]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:900], y[:900]


@pytest.mark.parametrize("optimizer", [
    "tao", SSGD(epochs=15), Annealed(steps=300), *in_nightly([SGD(epochs=40), "end_to_end"])])
def test_three_rows_do_not_ruin_a_tree(optimizer, digits):
    clean, gross = np.mean([gains(lambda seed=seed: ObliqueTreeClassifier(
        5, optimizer=optimizer, leaf="constant", validation_fraction=None, random_state=seed),
        *digits, stratify=digits[1]) for seed in range(2)], axis=0)
    # Of 270 test samples: two seeds, as a single one may lose or gain three points by chance. With
    # the scale and the pull of far values, 20 to 40 points were lost.
    assert gross >= clean - 0.03


@pytest.mark.parametrize("optimizer", ["tao", *in_nightly([SSGD(epochs=15)])])
def test_nor_one_of_sparse_data(optimizer, digits):
    X, y = digits
    a, b, y_a, y_b = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    clean, gross = np.mean([[ObliqueTreeClassifier(
        5, optimizer=optimizer, leaf="constant", validation_fraction=None, random_state=seed).fit(
            csr_array(each), y_a).score(csr_array(b), y_b)
        for each in (a, with_gross_errors(a, seed=seed))] for seed in range(2)], axis=0)
    # No pixel is below zero but by an error, which was near as nothing else was there.
    assert gross >= clean - 0.03


@pytest.mark.parametrize("make", [
    pytest.param(lambda: ObliqueTreeClassifier(random_state=0), id="default"),
    pytest.param(lambda: ObliqueTreeClassifier(leaf="linear", random_state=0), id="linear"),
    pytest.param(lambda: ObliqueTreeClassifier(
        3, init="soft_greedy", optimizer=None, random_state=0), id="soft_greedy"),
    *in_nightly([pytest.param(lambda: ObliqueTreeClassifier(
        3, init="co2", optimizer=None, random_state=0), id="co2")]),
    pytest.param(lambda: ObliqueForestClassifier(
        4, optimizer="tao", random_state=0), id="forest")])
def test_nor_other_models(make):
    X, y = load_breast_cancer(return_X_y=True)
    clean, gross = gains(make, X[:, :10], y, stratify=y)
    assert gross >= clean - 0.03


@pytest.mark.parametrize("seed", [0, 2])
def test_a_loss_of_hundreds_rules_no_model_out(seed, monkeypatch):
    monkeypatch.setattr("ngdt._selection.policy.FEW_STEPS", 500)
    # A linear model is all too sure of the rows with gross errors, wherever they are tested.
    random = np.random.default_rng(seed)
    X = random.normal(size=(200, 6))
    y = X.sum(axis=1) + random.normal(size=200) > 0.0
    for each in (X, with_gross_errors(X, seed=seed)):
        tree = ObliqueTreeClassifier(leaf="auto", random_state=0).fit(each, y)
        assert tree.kind_ == "linear model"
        assert max(tree.candidates_["log_loss"]) < 1.0


def test_nor_regression():
    X, y = make_friedman1(300, noise=1.0, random_state=0)
    clean, gross = gains(lambda: ObliqueTreeRegressor(random_state=0), X, y)
    assert gross >= clean - 0.03


@pytest.mark.parametrize("params", [
    {"init": "model_tree", "optimizer": None}, {"max_depth": 1, "optimizer": "linear_leaves"}])
def test_linear_leaves_learn_what_they_predict_in_a_long_tail(params):
    X = np.exp(1.5 * np.random.default_rng(3).normal(size=(600, 2)))
    y = X @ [1.0, 0.5]
    tree = ObliqueTreeRegressor(random_state=0, **params).fit(X[:300], y[:300])
    # Within fences that cut the tail, 0.85.
    assert tree.score(X[300:], y[300:]) >= 0.95


@pytest.mark.parametrize("optimizer", ["tao", SSGD(epochs=30), Annealed(steps=300)])
def test_three_targets_do_not_turn_the_splits(optimizer):
    X, y = make_friedman1(700, noise=1.0, random_state=0)
    gross, scores = y.copy(), []
    gross[:3] += 1000 * y.std()
    for targets in (y, gross):
        tree = ObliqueTreeRegressor(
            4, optimizer=optimizer, leaf="constant", validation_fraction=None,
            random_state=0).fit(X[:500], targets[:500]).tree_
        # A mean has to follow them: the splits are judged with leaves of the right targets.
        leaf = tree.apply(X)
        means = np.bincount(leaf[:500], y[:500], tree.n_leaves) / np.bincount(
            leaf[:500], minlength=tree.n_leaves)
        scores.append(r2_score(y[500:], means[leaf[500:]]))
    # Of TAO and SSGD, 29 and 77 % were lost where they counted in full.
    assert scores[1] >= 0.8 * scores[0]


LINEAR = pytest.mark.parametrize("make", [
    pytest.param(ObliqueTreeRegressor, id="default"),
    # Its candidates are among those of the default.
    *in_nightly([
        pytest.param(lambda **params: ObliqueTreeRegressor(leaf="linear", **params), id="linear")]),
    pytest.param(lambda **params: ObliqueTreeRegressor(
        init="model_tree", optimizer=None, **params), id="model_tree"),
    pytest.param(lambda **params: ObliqueTreeRegressor(
        3, init="info_gain", optimizer="linear_leaves", **params), id="linear_leaves"),
    pytest.param(lambda **params: ObliqueTreeRegressor(
        3, optimizer=Annealed(steps=300, leaf="linear"), leaf="linear", **params), id="annealed")])


@LINEAR
def test_mistyped_targets_cost_linear_leaves_neither_slopes_nor_splits(make):
    X, y = make_friedman1(600, noise=1.0, random_state=0)
    clean = make(random_state=0).fit(X[:300], y[:300]).predict(X[300:])
    for factor in (1e6, -1e3):
        gross = y.copy()
        gross[[3, 50, 170]] *= factor
        moved = make(random_state=0).fit(X[:300], gross[:300]).predict(X[300:])
        # R2 was down to 0.69, and to less than -500 where a small linear leaf followed them.
        assert r2_score(y[300:], moved) >= 0.95 * r2_score(y[300:], clean)


@pytest.mark.usefixtures("few_trial_trees")
def test_mistyped_targets_move_few_predictions_of_a_forest():
    X, y = make_friedman1(700, noise=1.0, random_state=0)
    gross = y.copy()
    gross[[3, 50, 170]] *= 1e6
    clean, moved = (np.median(np.abs(ObliqueForestRegressor(4, random_state=0).fit(
        X[:200], each[:200]).predict(X[200:]) - y[200:])) for each in (y, gross))
    assert moved <= 2.0 * clean     # it was 40 000 times as large


@pytest.mark.parametrize("params", [
    {"leaf": "constant"}, {"init": "pruned", "optimizer": None}, {"optimizer": "tao"},
    {"optimizer": SSGD(epochs=20)}])
@pytest.mark.parametrize("size", [10.0, 1000.0])
def test_mistyped_targets_move_no_constant_leaves(params, size):
    X, y = make_friedman1(600, noise=1.0, random_state=0)
    gross = y.copy()
    gross[[3, 50, 170]] += size * y.std()
    model = ObliqueTreeRegressor(random_state=0, leaf="constant").set_params(**params)
    clean = model.fit(X[:250], y[:250]).score(X[250:], y[250:])
    model.fit(X[:250], gross[:250])
    assert model.tree_.values.max() <= y.max()
    # R2 was below -1000 where their leaves had the means of all targets.
    assert model.score(X[250:], y[250:]) >= 0.8 * clean


@pytest.mark.parametrize("model", [
    ObliqueTreeRegressor(random_state=0), ObliqueTreeRegressor(leaf="constant", random_state=0),
    ObliqueTreeRegressor(5, optimizer="annealed", leaf="constant", random_state=0),
    ObliqueForestRegressor(5, random_state=0)])
def test_twelve_mistyped_targets_move_no_small_leaves(model):
    X, y = make_friedman1(1500, noise=1.0, random_state=0)
    gross = y.copy()
    gross[:12] += 200.0 * y.std()
    # R2 was below -200 where two of them were more than a quarter of a leaf.
    assert model.fit(X[:1000], gross[:1000]).score(X[1000:], y[1000:]) > 0.5


@pytest.mark.parametrize("make", [
    ObliqueTreeRegressor, lambda **params: ObliqueForestRegressor(1, bootstrap=False, **params)])
@pytest.mark.parametrize(("n_far", "n_in_leaf"), [(4, 6), (5, 10), (6, 11)])
def test_a_leaf_follows_five_far_targets_that_are_most_of_its_targets(make, n_far, n_in_leaf):
    X, y = np.arange(220.0)[:, None], np.random.default_rng(0).normal(size=220)
    y[-n_far:] += 1e6
    stump = Tree([[1.0]], [219.5 - n_in_leaf], [~0], [~1], np.zeros((2, 1)))
    trained = make(init=stump, optimizer=ShrinkLeaves(pseudo_count=0.0), leaf="constant").fit(X, y)
    refitted = refit_leaves(ObliqueTreeRegressor(init=stump, optimizer=None).fit(X, y), X, y)
    for model in (trained, refitted):
        near, far = model.predict(X[[0, -1]])
        assert near == pytest.approx(y[:-n_in_leaf].mean())
        if n_far == 6:
            assert far == pytest.approx(y[-n_in_leaf:].mean())
        else:
            assert abs(far) < 3.0


@pytest.mark.parametrize(("rows", "expected"), [
    ([7], "1 of 200 targets is far from all others, such as -50 .*, and was left out"),
    ([7, 9, 50], r"3 of 200 targets are far from all others, such as -50 \(others: -3.9 to 2.12\)"),
    (np.arange(6), "6 of 200 targets are far .* and were moved nearer")])
@pytest.mark.parametrize("make", [
    lambda: ObliqueTreeRegressor(2, optimizer=None),
    lambda: ObliqueForestRegressor(2, max_depth=2, init="info_gain", optimizer=None)])
def test_far_targets_are_told(make, rows, expected):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(200, 2)), random.normal(size=200)
    model = make().fit(X, y)
    y[rows] = -50.0
    for refit in (clone(model).fit, partial(refit_leaves, model)):
        with pytest.warns(UserWarning, match=expected):
            refit(X, y)


@pytest.mark.parametrize(("center", "expected"), [
    (0, r"such as 50000 \(others: 0 to 39\)"),
    (10**9, r"such as 1000050000 \(others: 1000000000 to 1000000039\)")])
def test_far_targets_are_told_as_the_table_has_them(center, expected):
    y = center + np.r_[np.zeros(110), np.arange(1, 40), 50_000]
    with pytest.warns(UserWarning, match=expected):
        ObliqueTreeRegressor(2, optimizer=None).fit(np.arange(150.0)[:, None], y)


@pytest.mark.parametrize("first_is_gross", [False, True])
@pytest.mark.parametrize("make", [
    ObliqueTreeRegressor, lambda **params: ObliqueForestRegressor(2, bootstrap=False, **params)])
def test_a_given_tree_stays_as_it_is_among_far_targets(make, first_is_gross):
    X, y = make_friedman1(300, noise=1.0, random_state=0)
    gross = np.where(np.arange(300) == 7, 1e6 * y, y)
    given = ObliqueTreeRegressor(4, leaf="constant", optimizer=None).fit(
        X, gross if first_is_gross else y)
    model = make(init=given.tree_, optimizer=None, random_state=0).fit(X, gross)
    np.testing.assert_allclose(model.predict(X), given.predict(X), rtol=1e-12)


def test_new_far_targets_do_not_ruin_the_tree_before_a_warm_start():
    X, y = make_friedman1(600, noise=1.0, random_state=0)
    gross = np.where(np.arange(600) == 307, 1e6 * y, y)
    errors = []
    for targets in (y, gross):
        tree = ObliqueTreeRegressor(
            4, init="info_gain", optimizer=SSGD(epochs=10), leaf="constant", random_state=0)
        tree.partial_fit(X[:300], y[:300]).partial_fit(X[300:], targets[300:])
        errors.append(np.median(np.abs(tree.predict(X) - y)))
    assert errors[1] <= 1.2 * errors[0]     # it was 1.6 times as large


@pytest.mark.parametrize("params", [
    {}, {"leaf": "constant"}, {"max_depth": 4, "init": "info_gain"},
    {"optimizer": "tao", "max_depth": 5, "leaf": "constant"}, *in_nightly([{"leaf": "linear"}])])
def test_far_targets_that_a_feature_tells_from_others_are_learned(params):
    X, y = make_friedman1(2000, noise=1.0, random_state=0)
    is_far = X[:, 0] > 0.98
    y = y + 1000.0 * is_far
    assert is_far[:1000].sum() == 16
    tree = ObliqueTreeRegressor(random_state=0, **params).fit(X[:1000], y[:1000])
    # With fences at the last value before them, R2 was down to 0.1.
    assert tree.score(X[1000:], y[1000:]) >= 0.7


@pytest.mark.parametrize("optimizer", ["tao", SSGD(epochs=5), Annealed(steps=100)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_far_value_counts_no_more_than_the_value_at_the_fence(optimizer, dtype):
    # However far it is, the splits are the same.
    X, y = load_breast_cancer(return_X_y=True)
    X, trees = X[:200].astype(dtype), []
    for size in (1e6, 1e9, 1e30):
        X[5, 3] = size
        trees.append(ObliqueTreeClassifier(
            2, optimizer=optimizer, leaf="constant", validation_fraction=None,
            random_state=0).fit(X, y[:200]).tree_)
    for tree in trees[1:]:
        np.testing.assert_array_equal(tree.densify().weights, trees[0].densify().weights)
        np.testing.assert_array_equal(tree.thresholds, trees[0].thresholds)


def test_units_do_not_change_what_alternating_optimization_finds():
    X, y = load_breast_cancer(return_X_y=True)
    probabilities = [ObliqueTreeClassifier(3, optimizer="tao", random_state=0).fit(
        unit * X, y).predict_proba(unit * X) for unit in (1.0, 2.0**20, 2.0**-6)]
    for each in probabilities[1:]:
        np.testing.assert_allclose(each, probabilities[0], atol=1e-9)


def test_ones_of_rare_categories_are_not_far():
    # More samples have a category that counts as unknown than have any other one.
    rng = np.random.default_rng(0)
    town = np.repeat(np.arange(120), np.r_[np.full(40, 5), np.ones(80, int)])
    X = pd.DataFrame({"town": [f"town {i}" for i in town], "x": rng.normal(size=len(town))})
    y = X["x"] + rng.normal(size=len(X)) > 0
    tree = ObliqueTreeClassifier(max_depth=0, leaf="linear", random_state=0).fit(X, y)
    assert "town is rare" not in tree.encoded_feature_names_
    assert abs(tree.tree_.slopes).max() < 5.0


@pytest.mark.parametrize("optimizer", [None, "tao"])
def test_far_targets_move_no_other_leaves_of_a_monotone_tree(optimizer):
    X, y = make_friedman1(400, noise=1.0, random_state=0)
    gross, directions = y.copy(), [0, 0, 0, 1, 1, 0, 0, 0, 0, 0]
    gross[[3, 11, 170]] += [1e4, 1e3, -1e3]
    model = ObliqueTreeRegressor(
        4, init="info_gain", optimizer=optimizer, monotonic_cst=directions, random_state=0)
    tree = model.fit(X, gross).tree_
    is_near = ~np.isin(np.arange(tree.n_leaves), tree.apply(X[gross != y]))
    values = tree.values[is_near, 0]
    assert y.min() <= values.min()
    assert values.max() <= y.max()
    assert is_monotone(tree, directions)[0]
    refitted = refit_leaves(model, X, gross).tree_
    np.testing.assert_allclose(refitted.values[is_near, 0], values)
    assert is_monotone(refitted, directions)[0]


@pytest.mark.parametrize("directions", [None, [0, 0, 0, 1, 1, 0, 0, 0, 0, 0]])
def test_three_far_targets_have_no_say_in_a_pruned_tree(directions):
    X, y = make_friedman1(400, noise=1.0, random_state=0)
    gross, rows = y.copy(), [3, 11, 170]
    gross[rows] += 1000.0 * y.std() * np.array([1.0, 1.0, -1.0])
    model = ObliqueTreeRegressor(
        init="pruned", optimizer=None, monotonic_cst=directions, random_state=0)
    without = model.fit(X, y, sample_weight=~np.isin(np.arange(400), rows)).tree_
    tree = model.fit(X, gross).tree_
    np.testing.assert_array_equal(tree.children_left, without.children_left)
    np.testing.assert_allclose(tree.densify().weights, without.densify().weights)
    np.testing.assert_allclose(tree.thresholds, without.thresholds)
    np.testing.assert_allclose(tree.values, without.values)


def test_three_far_targets_have_no_leaf_of_their_own_in_monotone_forests():
    X, y = make_friedman1(700, noise=1.0, random_state=0)
    gross = y.copy()
    gross[[3, 50, 170]] += 1000.0 * y.std()
    forest = ObliqueForestRegressor(
        5, init="pruned", optimizer=None, monotonic_cst=[0, 0, 0, 1, 1, 0, 0, 0, 0, 0],
        random_state=0)
    clean, moved = (forest.fit(X[:300], each[:300]).score(X[300:], y[300:])
                    for each in (y, gross))
    assert moved >= clean - 0.05    # it was below -300


def test_a_tree_may_draw_none_but_a_far_target():
    X, y = make_friedman1(30, random_state=0)
    y[7] = 1e6
    forest = ObliqueForestRegressor(
        60, max_samples=1, max_depth=2, init="info_gain", optimizer=None,
        monotonic_cst=[1, *[0] * 9], random_state=0).fit(X, y)
    assert {tree.tree_.values.max() for tree in forest.estimators_} >= {y.max()}


@pytest.mark.parametrize("n_far", [4, 5])
def test_five_far_targets_that_a_feature_tells_from_others_are_learned(n_far):
    X, y = make_friedman1(200, noise=1.0, random_state=0)
    X[:n_far, 0] += 2.0
    y[:n_far] += 1000.0
    tree = ObliqueTreeRegressor(
        3, init="info_gain", optimizer=None, monotonic_cst=[1, *[0] * 9]).fit(X, y)
    assert (tree.score(X, y) > 0.9) == (n_far == 5)


@pytest.mark.parametrize("make", [
    ObliqueForestRegressor, pytest.param(
        lambda *args, **params: ObliqueBoostingRegressor(ObliqueForestRegressor(*args, **params)),
        id="boosting")])
def test_far_targets_move_few_predictions_of_many_small_trees(make):
    X, y = make_friedman1(700, noise=1.0, random_state=0)
    gross = y.copy()
    gross[[3, 50, 170]] += 1000.0 * y.std()
    clean, moved = (np.median(np.abs(make(
        3, init="pruned", optimizer=None, random_state=0).fit(
            X[:300], each[:300]).predict(X[300:]) - y[300:])) for each in (y, gross))
    assert moved <= 1.3 * clean     # it was 20 times as large
