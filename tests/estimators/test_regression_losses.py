"""The losses of regression, by name: every optimizer, the leaves, and what they are good for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import make_friedman1
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import mean_absolute_error, mean_pinball_loss, mean_poisson_deviance
from sklearn.tree import DecisionTreeRegressor

from helpers import in_nightly, make_problem
from ngdt import ObliqueForestRegressor, ObliqueTreeRegressor, Tree
from ngdt._methods.linear_leaves.quantile_slopes import quantile_regression, with_quantile_slopes
from ngdt._selection.shrinkage import with_held_out_quantile
from ngdt._training.folds import Fold
from ngdt.initializers import InfoGain
from ngdt.losses import LOSSES, PoissonLoss, QuantileLoss, get_loss
from ngdt.optimizers import (
    GTO,
    OPTIMIZERS,
    SGD,
    SSGD,
    TAO,
    Annealed,
    CutLeaves,
    EndToEnd,
    LinearLeaves,
    ShrinkLeaves,
)

NAMES = [name for name in LOSSES if not LOSSES[name].is_classifier]
each_loss = pytest.mark.parametrize("name", NAMES)
SHORT = {"sgd": SGD(epochs=3), "ssgd": SSGD(epochs=3), "annealed": Annealed(steps=50),
         "end_to_end": EndToEnd(epochs=3)}


def counts(n=1200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, rng.poisson(np.exp(X[:, 0] + 0.5 * X[:, 1] - 1.0)).astype(float)


def with_outliers(X, y):
    """Training and test samples; a tenth of the training targets is ten times as large."""
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    training, test = order[:300], order[300:]
    noisy = y.copy()
    noisy[rng.random(len(y)) < 0.1] *= 10.0
    return X[training], noisy[training], X[test], y[test]


@each_loss
@pytest.mark.parametrize(
    "optimizer", [None, "auto", *(name for name in OPTIMIZERS if name != GTO.name)])
def test_every_loss_works_with_every_optimizer(name, optimizer):
    X, y = counts(100)
    refusals = {CutLeaves.name: r"CutLeaves\(\) is for classes and the squared loss"}
    if name == "poisson":
        refusals[LinearLeaves.name] = "linear leaves minimise the squared, absolute"
    if optimizer in refusals and name != "squared_error":
        with pytest.raises(ValueError, match=refusals[optimizer]):
            ObliqueTreeRegressor(
                3, loss=name, optimizer=optimizer, validation_fraction=None).fit(X, y)
        return
    tree = ObliqueTreeRegressor(
        2, loss=name, optimizer=SHORT.get(optimizer, optimizer), validation_fraction=None,
        random_state=0).fit(X, y)
    predicted = tree.predict(X)
    assert np.isfinite(predicted).all()
    assert predicted.min() >= y.min()
    assert predicted.max() <= y.max() + 1.0
    if name == "poisson":
        assert predicted.min() > 0


@each_loss
def test_several_targets(name):
    X, y = counts(200)
    y = np.column_stack([y, 100.0 * X[:, 0] ** 2])
    tree = ObliqueTreeRegressor(3, loss=name, optimizer="tao", random_state=0).fit(X, y)
    assert tree.predict(X).shape == y.shape


@each_loss
@pytest.mark.parametrize("optimizer", [None, TAO()])
def test_leaves_have_the_best_values_for_their_samples(name, optimizer, diabetes):
    X, y = diabetes
    loss = LOSSES[name]()
    tree = ObliqueTreeRegressor(
        3, loss=loss, optimizer=optimizer, validation_fraction=None, random_state=0).fit(X, y)
    targets, leaf = tree._targets, tree.apply(X)
    best = loss.fit_leaves(leaf, targets.encode(y), np.ones(len(y)), tree.get_n_leaves(), 1)
    assert_allclose(
        targets.scale_leaf_values(tree.tree_, loss).values, best, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("optimizer", ["auto", "tao", SSGD(epochs=30), None], ids=str)
@pytest.mark.filterwarnings("ignore:No tree was better")    # in squared errors
def test_the_absolute_error_is_robust(optimizer, diabetes):
    X, y, X_test, y_test = with_outliers(*diabetes)
    error = {}
    for loss in ("squared_error", "absolute_error"):
        tree = ObliqueTreeRegressor(4, loss=loss, optimizer=optimizer, random_state=0).fit(X, y)
        error[loss] = mean_absolute_error(y_test, tree.predict(X_test))
    assert error["absolute_error"] < 0.7 * error["squared_error"]


@pytest.mark.parametrize(("optimizer", "quantile"), [
    ("auto", 0.9), ("ssgd", 0.1), *in_nightly([("auto", 0.1), ("ssgd", 0.9)])])
def test_a_quantile_covers_its_share(quantile, optimizer):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(1600, 2))
    y = X[:, 0] + (1.0 + (X.sum(axis=1) > 0)) * rng.exponential(size=1600)
    tree = ObliqueTreeRegressor(
        4, loss=QuantileLoss(quantile), optimizer=optimizer, random_state=0).fit(X[:600], y[:600])
    predicted = tree.predict(X[600:])
    assert np.mean(y[600:] <= predicted) == pytest.approx(quantile, abs=0.04)
    constant = np.full(1000, np.quantile(y[:600], quantile))
    loss, trivial = (mean_pinball_loss(y[600:], each, alpha=quantile)
                     for each in (predicted, constant))
    assert loss < 0.95 * trivial


def test_linear_leaves_are_moved_to_the_quantile_of_held_out_samples():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    problem = make_problem(X, y, QuantileLoss(0.8), rng.integers(1, 3, 60))
    tree = LinearLeaves(penalty=1.0).optimize(
        InfoGain().initialize(problem.limited(max_depth=1)), problem).tree
    folds = [Fold.without(problem, each) for each in np.arange(60, dtype=np.int32).reshape(3, 20)]
    trees = [tree, tree.replace(values=tree.values + 1.0, slopes=tree.slopes, ranges=tree.ranges)]
    moved = with_held_out_quantile(problem, tree, folds, trees)     # not all folds were used
    with_slopes, *others = (
        with_quantile_slopes(each, of) for each, of in
        [(tree, problem), (trees[0], folds[0].problem), (trees[1], folds[1].problem)])
    rest = np.repeat(
        y[:40] - np.concatenate([
            each.predict(X[k:k + 20])[:, 0] for each, k in zip(others, (0, 20), strict=True)]),
        problem.sample_weight[:40].astype(int))
    shift, = np.unique((moved.values - with_slopes.values).round(12))
    assert np.mean(rest <= shift + 1e-9) >= 0.8
    assert np.mean(rest < shift - 1e-9) <= 0.8
    np.testing.assert_array_equal(moved.slopes, with_slopes.slopes)
    np.testing.assert_array_equal(moved.ranges, tree.ranges)
    constant = InfoGain().initialize(problem)
    assert with_held_out_quantile(problem, constant, folds, trees) is constant
    assert with_held_out_quantile(problem, tree, [], []) is tree


def test_slopes_of_a_quantile_are_shared_and_drawn_to_zero():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    y = X[:, 0] + np.exp(X[:, 1]) * rng.normal(size=200)
    problem = make_problem(X, y, QuantileLoss(0.9), weight)
    tree = LinearLeaves(features=[0, 1]).optimize(
        InfoGain().initialize(problem.limited(max_depth=1)), problem).tree
    found = with_quantile_slopes(tree, problem)
    steps = (found.slopes - tree.slopes).round(12)
    assert len(np.unique(steps, axis=0)) == 1
    assert not steps[:, :, 2].any()
    assert (steps[:, :, 1] > 0).all()
    # No other slopes have less of the loss and the penalty, in units of the scaled features.
    counted = np.flatnonzero(weight)
    w, z = weight[counted] / weight[counted].mean(), X[counted, :2] / X[counted, :2].std(axis=0)
    rest = y[counted] - tree.predict(X[counted])[:, 0]
    best = np.quantile(np.repeat(rest, weight[counted]), 0.9, method="inverted_cdf")
    spread = np.average(np.abs(rest - best), weights=w)

    def objective(model):
        error = rest - model[0] - z @ model[1:]
        return w @ np.maximum(0.9 * error, -0.1 * error) + 25.0 / spread * (model[1:]**2).sum()

    least = minimize(objective, [best, 0.0, 0.0], method="Nelder-Mead",
                     options={"maxiter": 5000, "fatol": 1e-9, "xatol": 1e-9}).fun
    moved = found.predict(X[counted])[:, 0] - tree.predict(X[counted])[:, 0]
    slopes = steps[0, 0, :2] * X[counted, :2].std(axis=0)
    constant = np.median(moved - z @ slopes)
    assert objective(np.append(constant, slopes)) == pytest.approx(least, rel=2e-3)
    flat = tree.replace(values=tree.values, slopes=np.zeros_like(tree.slopes))
    assert with_quantile_slopes(flat, problem) is flat


def test_slopes_of_a_quantile_are_not_fitted_to_too_many_features():
    rng = np.random.default_rng(0)
    problem = make_problem(rng.normal(size=(20, 501)), rng.normal(size=20), QuantileLoss(0.9))
    tree = LinearLeaves(features="all", penalty=1.0).optimize(
        InfoGain().initialize(problem.limited(max_depth=0)), problem).tree
    assert with_quantile_slopes(tree, problem) is tree


@pytest.mark.parametrize("quantile", [0.1, 0.9])
def test_quantile_regression_has_the_least_loss(quantile):
    rng = np.random.default_rng(0)
    Z, weight = rng.normal(size=(300, 4)), rng.integers(1, 4, 300)
    y = (Z @ rng.normal(size=(4, 2)) + np.exp(Z[:, 1:3])) * rng.normal(size=(300, 2))
    constant, slopes = quantile_regression(Z, y, weight, QuantileLoss(quantile), 0.0)
    for k, target in enumerate(y.T):
        exact = QuantileRegressor(quantile=quantile, alpha=0.0).fit(Z, target, weight)
        loss, least = (mean_pinball_loss(target, each, sample_weight=weight, alpha=quantile)
                       for each in (constant[k] + Z @ slopes[k], exact.predict(Z)))
        assert least - 1e-12 <= loss <= 1.002 * least
    constant, slopes = quantile_regression(
        Z, np.ones((300, 1)), weight, QuantileLoss(quantile), 100.0)
    assert constant == 1.0
    assert not slopes.any()


@pytest.mark.parametrize("quantile", [0.9, *in_nightly([0.1])])
def test_quantiles_are_farther_apart_where_targets_spread_more(quantile):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(4000, 2))
    y = X[:, 0] + (1.2 + X[:, 1]) * rng.normal(size=4000)
    tree = ObliqueTreeRegressor(
        0, loss=QuantileLoss(quantile), leaf="linear", random_state=0).fit(X[:2000], y[:2000])
    below = y[2000:] <= tree.predict(X[2000:])
    shares = [each.mean() for each in np.array_split(below[np.argsort(X[2000:, 1])], 3)]
    assert_allclose(shares, quantile, atol=0.03)


@pytest.mark.parametrize("quantile", [0.9, *in_nightly([0.1])])
def test_a_quantile_of_linear_leaves_covers_its_share_of_other_samples(quantile):
    X, y = make_friedman1(2500, noise=1.0, random_state=0)
    tree = ObliqueTreeRegressor(loss=QuantileLoss(quantile), random_state=0).fit(X[:500], y[:500])
    assert tree.tree_.slopes is not None
    assert np.mean(y[500:] <= tree.predict(X[500:])) == pytest.approx(quantile, abs=0.05)


@pytest.mark.parametrize("loss", [
    "absolute_error", "huber", QuantileLoss(0.9), *in_nightly([QuantileLoss(0.1)])], ids=str)
def test_slopes_are_followed_by_few_leaves(loss):
    """A tree of the same size with constant leaves makes some twice the loss."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(900, 3))
    y = 3.0 * np.abs(X[:, 0]) + X[:, 1] + 0.3 * rng.exponential(size=900)
    trees = [ObliqueTreeRegressor(max_leaf_nodes=4, loss=loss, leaf=leaf, random_state=0).fit(
        X[:300], y[:300]) for leaf in ("auto", "constant")]
    assert trees[0].tree_.slopes is not None
    loss = get_loss(loss)
    ours, constant = (loss.value(each.predict(X[300:])[:, None], y[300:, None]).mean()
                      for each in trees)
    assert ours < 0.6 * constant


@pytest.mark.parametrize("loss", ["absolute_error", QuantileLoss(0.9)], ids=str)
def test_linear_leaves_of_sparse_data_and_of_other_units(loss):
    """CSR matrices are as dense ones; units of weights do not matter, those of y only for y."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) * (rng.random((60, 3)) < 0.5)
    y, weight = np.abs(X[:, 0]) + 0.1 * rng.normal(size=60), rng.integers(1, 3, 60)
    tree = ObliqueTreeRegressor(
        2, loss=loss, leaf=LinearLeaves(penalty=1.0), init="info_gain", optimizer=LinearLeaves(
            penalty=1.0), validation_fraction=None, standardize=False)
    expected = tree.fit(X, y, sample_weight=weight).predict(X)
    assert tree.tree_.slopes is not None
    assert_allclose(tree.fit(X, y, sample_weight=4 * weight).predict(X), expected, atol=1e-9)
    assert_allclose(tree.fit(sparse.csr_matrix(X), y, sample_weight=weight).predict(X), expected,
                    atol=1e-9)
    assert_allclose(tree.fit(X, 1e6 * y + 5.0, sample_weight=weight).predict(X),
                    1e6 * expected + 5.0, rtol=1e-6)


@pytest.mark.parametrize("optimizer", ["tao", "ssgd"])
@pytest.mark.filterwarnings("ignore:The initial tree was kept")
def test_linear_leaves_of_a_given_tree_become_constants_for_counts(optimizer):
    X, y = counts(200)
    given = ObliqueTreeRegressor(leaf="linear", max_depth=2, random_state=0).fit(X, y)
    assert given.tree_.slopes is not None
    tree = ObliqueTreeRegressor(
        init=given, loss="poisson", optimizer=optimizer, random_state=0).fit(X, y)
    assert tree.tree_.slopes is None
    assert tree.predict(X).min() > 0.0


@pytest.mark.parametrize("loss", ["absolute_error", "huber"])
def test_shared_slopes_of_a_given_tree_become_constants(loss):
    """They are of squared errors alone."""
    X, y = np.arange(60.0).reshape(-1, 2), np.arange(30.0)
    options = {"monotonic_cst": [1, 0], "random_state": 0}
    given = ObliqueTreeRegressor(
        1, leaf="linear", init="info_gain", optimizer=None, **options).fit(X, y).tree_
    assert given.slopes is not None
    tree = ObliqueTreeRegressor(loss=loss, init=given, optimizer="tao", **options).fit(X, y)
    assert tree.tree_.slopes is None
    assert tree.score(X, y) > 0.5


@pytest.mark.parametrize("optimizer", ["tao", *in_nightly(["auto"])])
def test_counts_have_a_lower_deviance_by_the_poisson_loss(optimizer):
    deviance = dict.fromkeys(("squared_error", "poisson"), 0.0)
    for seed in range(2):
        X, y = counts(3500, seed)
        for loss in deviance:
            tree = ObliqueTreeRegressor(
                6, loss=loss, optimizer=optimizer, leaf="constant", random_state=0)
            tree.fit(X[:1500], y[:1500])
            predicted = np.maximum(tree.predict(X[1500:]), 1e-3)
            deviance[loss] += mean_poisson_deviance(y[1500:], predicted)
    assert deviance["poisson"] < 0.99 * deviance["squared_error"]


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_predictions_of_counts_follow_their_unit(unit):
    X, y = counts(300)
    trees = [ObliqueTreeRegressor(3, loss="poisson", optimizer="tao", random_state=0).fit(X, each)
             for each in (y, unit * y)]
    assert_allclose(trees[1].predict(X), unit * trees[0].predict(X), rtol=1e-6)


@pytest.mark.parametrize("name", ["absolute_error", "squared_error"])
def test_the_pruning_path_of_a_loss_is_that_of_scikit_learn(name, diabetes):
    X, y = diabetes
    X, y = X[:100].astype(np.float32), y[:100]
    model = DecisionTreeRegressor(max_depth=3, criterion=name, random_state=0).fit(X, y)
    theirs = model.cost_complexity_pruning_path(X, y)
    ours = ObliqueTreeRegressor(
        init=Tree.from_sklearn(model), optimizer=None, loss=name).cost_complexity_pruning_path(X, y)
    for key in ("ccp_alphas", "impurities"):
        assert_allclose(ours[key], theirs[key], rtol=1e-9, atol=1e-9)


def test_min_impurity_decrease_is_that_of_the_loss(diabetes):
    X, y = diabetes
    tree = ObliqueTreeRegressor(
        5, loss="absolute_error", optimizer=None, min_impurity_decrease=1.0).fit(X, y)
    leaf, passes = tree.apply(X), tree.decision_path(X).toarray()
    right = tree.tree_.scores(X) > 0

    def total(part):
        return np.abs(part - np.median(part)).sum()

    assert len(np.unique(leaf)) > 2
    for node in range(tree.tree_.n_internal):
        here = passes[:, node]
        sides = here & right[:, node], here & ~right[:, node]
        decrease = total(y[here]) - sum(total(y[side]) for side in sides)
        assert decrease / len(y) >= 1.0 * (1 - 1e-9)


@pytest.mark.parametrize(("y", "message"), [
    ([0.0, 1.0, -1.0], "no negative number for the poisson loss"),
    ([0.0, 0.0, 0.0], "y must have a positive sum")])
def test_bad_counts_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        ObliqueTreeRegressor(loss="poisson").fit(np.eye(3), y)


def test_later_counts_may_all_be_zero():
    X, y = counts(100)
    tree = ObliqueTreeRegressor(2, loss=PoissonLoss(), optimizer="ssgd", random_state=0)
    tree.partial_fit(X, y).partial_fit(X, 0 * y)
    assert np.isfinite(tree.predict(X)).all()
    with pytest.raises(ValueError, match="y must not be negative"):
        tree.partial_fit(X, y - 10)


def test_the_loss_may_change_between_fits():
    X, y = counts(300)
    tree = ObliqueTreeRegressor(3, warm_start=True, optimizer="tao", random_state=0).fit(X, y)
    for loss in ("poisson", "squared_error"):
        tree.set_params(loss=loss).fit(X, y)
        assert np.average(tree.predict(X)) == pytest.approx(y.mean(), rel=0.05)


def test_tao_refuses_a_loss_of_other_leaf_values():
    X, y = counts(50)
    with pytest.raises(ValueError, match=r"TAO\(loss='squared_error'\) does not fit the loss 'po"):
        ObliqueTreeRegressor(loss="poisson", optimizer=TAO(loss="squared_error")).fit(X, y)


@each_loss
@pytest.mark.parametrize("pseudo_count", [0, 2.5])
def test_shrunk_leaves_minimise_the_loss_with_their_parent(name, pseudo_count, diabetes):
    X, y = diabetes
    loss = LOSSES[name]()
    tree = ObliqueTreeRegressor(
        1, loss=loss, init="info_gain", optimizer=ShrinkLeaves(pseudo_count=pseudo_count),
        validation_fraction=None).fit(X, y)
    encoded, leaf = tree._targets.encode(y), tree.apply(X)
    one = np.ones(len(y))
    root = loss.fit_leaves(np.zeros(len(y), dtype=int), encoded, one, 1, 1)
    values = tree._targets.scale_leaf_values(tree.tree_, loss).values
    for j in range(2):
        targets = np.concatenate([encoded[leaf == j], loss.decode(root)])
        weight = np.append(one[leaf == j], pseudo_count)
        best = loss.fit_leaves(np.zeros(len(targets), dtype=int), targets, weight, 1, 1)
        assert_allclose(values[j], best[0], rtol=1e-9, atol=1e-9)


def test_greedy_splits_by_ranks_do_not_look_at_the_distance_of_outliers(diabetes):
    X, y = diabetes
    far = np.where(y > 300, y + 1e6, y)
    tree, other = (
        ObliqueTreeRegressor(3, loss="absolute_error", optimizer=None).fit(X, each).tree_
        for each in (y, far))
    np.testing.assert_array_equal(tree.thresholds, other.thresholds)


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
@pytest.mark.parametrize("make", [
    ObliqueTreeRegressor, lambda **params: ObliqueForestRegressor(3, **params)])
def test_score_of_large_targets_is_that_of_small_ones(make, loss):
    X = np.random.default_rng(0).normal(size=(100, 3))
    y = np.exp(X[:, 0])
    scores = [make(max_depth=3, init="info_gain", optimizer=None, loss=loss, random_state=0).fit(
        X, unit * y).score(X, unit * y) for unit in (1.0, 2.0**510)]
    np.testing.assert_allclose(scores[1], scores[0])     # it was 1, or NaN
