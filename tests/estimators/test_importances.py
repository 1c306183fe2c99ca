"""Feature importances."""


import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ngdt import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    Tree,
)
from ngdt._inspection.importances import feature_importances, node_gains
from ngdt.losses import LogLoss, SquaredLoss
from ngdt.optimizers import SSGD
from ngdt.pruning import prune_forest
from ngdt.pruning._impurity import LeafTargets
from ngdt.testing.strategies import trees

BOTH = pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueTreeRegressor])


def entropy(y, weight):
    """Entropy in bits, times the weight."""
    shares = np.array([weight[y == label].sum() for label in np.unique(y)]) / weight.sum()
    return -weight.sum() * sum(share * np.log2(share) for share in shares if share)


def squared_error(y, weight):
    return (weight[:, None] * (y - np.average(y, axis=0, weights=weight)) ** 2).sum()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("weighted", [False, True])
def test_importances_by_hand(form, weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) * [1.0, 100.0, 0.01] + [1e4, 0.0, 0.0]
    y = rng.integers(0, 3, 300)
    weight = rng.integers(0, 3, 300) if weighted else np.ones(300)
    tree = Tree([[2.0, 0.01, 0.0], [0.0, 0.0, 1.0]], [2e4, 0.0], [1, ~0], [~2, ~1], np.eye(3))
    fitted = ObliqueTreeClassifier(init=tree, optimizer=None).fit(form(X), y, weight)
    mean = np.average(X, axis=0, weights=weight)
    spread = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    root = np.array([2.0 * spread[0], 0.01 * spread[1], 0.0])
    expected = [0.0, 0.0, 0.0]
    here = np.ones(300, dtype=bool)
    for share, node in ((root / root.sum(), 0), (np.array([0.0, 0.0, 1.0]), 1)):
        right = X @ tree.weights[node] > tree.thresholds[node]
        whole, *parts = (
            entropy(y[part], weight[part]) for part in (here, here & ~right, here & right))
        expected = expected + (whole - sum(parts)) * share
        here &= ~right
    np.testing.assert_allclose(
        fitted.feature_importances_, expected / expected.sum(), rtol=1e-6)


def numbers(n):
    """The table of an array without gaps."""
    return ObliqueTreeClassifier(0, optimizer=None).fit(np.zeros((1, n)), [0])._table


def importances_by_definition(tree, std, gains):
    """The average of normalised effects over nodes and leaves, one by one."""
    total = np.zeros(tree.n_features)
    for node, weights in enumerate(tree.dense_weights()):
        effect = np.abs(weights) * std
        total += gains[node] * effect / (effect.sum() or 1.0)
    for leaf in range(tree.n_leaves if tree.slopes is not None else 0):
        effect = np.abs(tree.slopes[leaf]) * std
        shares = [row / row.sum() for row in effect if row.any()]
        if shares:
            total += gains[tree.n_internal + leaf] * np.mean(shares, axis=0)
    return total / (total.sum() or 1.0)


@given(trees(linear_leaves=st.booleans(), sparse_weights=st.booleans()), st.data())
def test_importances_by_definition(tree, data):
    std = np.array(data.draw(st.lists(
        st.sampled_from([0.0, 0.5, 1.0, 1e3]), min_size=tree.n_features,
        max_size=tree.n_features)))
    n = tree.n_internal + tree.n_leaves
    gains = np.array(data.draw(st.lists(
        st.sampled_from([0.0, 0.25, 1.0, 7.0]), min_size=n, max_size=n)))
    found = feature_importances(tree, numbers(tree.n_features), 0.0 * std, std, gains)
    np.testing.assert_allclose(found, importances_by_definition(tree, std, gains))
    assert (found >= 0).all()
    assert found.sum() in (0.0, pytest.approx(1.0))


@pytest.mark.parametrize("leaf", ["constant", "linear"])
@BOTH
def test_importances_of_columns_are_those_of_what_they_add(estimator, leaf):
    """Importances of all features of a column together, by the training samples one by one."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "size": np.where(rng.random(400) < 0.2, np.nan, rng.normal(size=400)),
        "city": rng.choice(list("abcdef"), 400, p=[0.3, 0.3, 0.1, 0.1, 0.1, 0.1]),
        "empty": np.nan, "age": rng.normal(size=400)})
    frame["flag"] = pd.Categorical(rng.choice(["no", None], 400))
    weight = rng.integers(0, 3, 400)
    first = estimator(0, leaf="linear", optimizer=None).fit(frame, frame["city"] < "c", weight)
    m, p = 2, len(first.encoded_feature_names_)
    slopes = {} if leaf == "constant" else {
        "slopes": rng.normal(size=(m + 1, first.tree_.n_outputs, p))}
    tree = Tree(rng.normal(size=(m, p)), np.zeros(m), [1, ~0], [~2, ~1],
                rng.normal(size=(m + 1, first.tree_.n_outputs)), **slopes)
    model = estimator(init=tree, optimizer=None).fit(frame, rng.integers(0, 2, 400), weight)
    features, gains = model._table.features, model._sample_summary.gains
    X = model.encode(frame)

    def shares(weights):
        spread = np.zeros(5)
        for column in range(5):
            own = [j for j, each in enumerate(features) if each.column == column]
            added = X[:, own] @ weights[own]
            mean = np.average(added, weights=weight)
            spread[column] = np.sqrt(np.average((added - mean) ** 2, weights=weight))
        return spread / spread.sum()

    expected = sum(gain * shares(row) for gain, row in zip(gains, tree.weights, strict=False))
    if slopes:
        found = model.tree_.slopes
        expected = expected + sum(
            gain * np.mean([shares(row) for row in rows], axis=0)
            for gain, rows in zip(gains[m:], found, strict=True))
    np.testing.assert_allclose(
        model.feature_importances_, expected / expected.sum(), rtol=1e-6, atol=1e-12)


def test_equal_weights_of_all_categories_have_no_importance():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"city": [*"abc"] * 10, "size": np.arange(30.0)})
    tree = Tree([[1.0, 7.0, 7.0, 7.0]], [20.0], [~0], [~1], np.eye(2))
    model = ObliqueTreeClassifier(init=tree, optimizer=None).fit(frame, np.arange(30) > 13)
    assert model.encoded_feature_names_[0] == "size"
    np.testing.assert_allclose(model.feature_importances_, [0.0, 1.0], atol=1e-7)


def gains_by_definition(tree, X, y, weight, loss):
    """Decrease of the loss by each split and by the slopes of each leaf, one by one."""
    def impurity(here):
        if not here.any():
            return 0.0
        return entropy(y[here, 0], weight[here]) if loss.is_classifier else (
            squared_error(y[here], weight[here]))

    passes = {0: np.ones(len(X), dtype=bool)} if tree.n_internal else {~0: np.ones(len(X), bool)}
    gains = np.zeros(tree.n_internal + tree.n_leaves)
    for node in range(tree.n_internal):
        left = tree.scores(X)[:, node] <= 0
        children = {tree.children_left[node]: left, tree.children_right[node]: ~left}
        for child, side in children.items():
            passes[child] = passes[node] & side
        gains[node] = impurity(passes[node]) - sum(impurity(passes[child]) for child in children)
    for leaf in range(tree.n_leaves if tree.slopes is not None else 0):
        here = passes[~leaf]
        if not here.any():
            continue
        constant = loss.fit_leaves(
            np.zeros(here.sum(), int), y[here], weight[here], 1, tree.n_outputs)
        before, after = (
            weight[here] @ loss.value(np.ascontiguousarray(each), y[here])
            for each in (np.repeat(constant, here.sum(), axis=0), tree.predict(X[here])))
        saved = 1.0 - after / before if before else 0.0
        gains[tree.n_internal + leaf] = impurity(here) * max(saved, 0.0)
    return gains


@pytest.mark.parametrize("loss", [LogLoss(), SquaredLoss()])
@given(tree=trees(linear_leaves=st.booleans()), seed=st.integers(0, 99))
# Weights have another sum than samples, of which a pseudo-count is one.
@example(Tree([[1.0]], [0.0], [~0], [~1], np.zeros((2, 2)), [[[0.0], [-0.2]]] * 2), 0)
def test_gains_by_definition(loss, tree, seed):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(60, tree.n_features)), 2)
    y = rng.integers(0, tree.n_outputs, 60) if loss.is_classifier else (
        rng.normal(size=(60, tree.n_outputs)))
    y, weight = loss.encode(y, tree.n_outputs), rng.integers(1, 4, 60).astype(float)
    gains = node_gains(tree, LeafTargets(tree.apply(X), y, weight, loss), tree.predict(X))
    expected = gains_by_definition(tree, X, y, weight, loss)
    # Both are in units of their own.
    unit = gains.max() / (expected.max() or 1.0)
    np.testing.assert_allclose(gains, unit * expected, rtol=1e-6, atol=1e-9 * gains.max())
    assert (gains >= 0).all()


@pytest.mark.parametrize(
    "loss", ["log_loss", "bounded", "squared_error", "absolute_error", "huber"])
def test_noise_is_not_ranked_first(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = ((X[:, 0] > 0) ^ (rng.random(2000) < 0.05)).astype(int)
    kind, reference = (
        (ObliqueTreeClassifier, DecisionTreeClassifier) if loss in ("log_loss", "bounded")
        else (ObliqueTreeRegressor, DecisionTreeRegressor))
    found = kind(6, optimizer=None, loss=loss, random_state=0).fit(X, y).feature_importances_
    wanted = reference(max_depth=6, random_state=0).fit(X, y).feature_importances_
    np.testing.assert_allclose(found, wanted, atol=0.1)
    assert found[0] > 0.85


def test_a_forest_does_not_rank_noise_first():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 6))
    y = (X[:, 0] + 0.7 * X[:, 1] > 0) ^ (rng.random(800) < 0.1)
    forest = ObliqueForestClassifier(20, init="info_gain", optimizer=None, random_state=0)
    found = forest.fit(X, y).feature_importances_
    assert found.sum() == pytest.approx(1.0)
    assert min(found[:2]) > 1.5 * max(found[2:])


def test_slopes_count_by_what_they_save():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = 10.0 * (X[:, 0] > 0) + 0.5 * X[:, 1]
    split = Tree([[1.0, 0.0, 0.0]], [0.0], [~0], [~1], [[0.0], [10.0]],
                 slopes=[[[0.0, 0.5, 0.0]]] * 2)
    found = ObliqueTreeRegressor(init=split, optimizer=None).fit(X, y).feature_importances_
    whole = squared_error(y[:, None], np.ones(400))
    left = sum(squared_error(y[X[:, 0] * sign > 0, None], np.ones((X[:, 0] * sign > 0).sum()))
               for sign in (-1, 1))
    np.testing.assert_allclose(found, [1.0 - left / whole, left / whole, 0.0], rtol=1e-9)


def test_importances_of_a_single_leaf_are_zero():
    X, y = np.arange(20.0)[:, None], np.tile([0, 1], 10)
    fitted = ObliqueTreeClassifier(0, optimizer=None).fit(X, y)
    assert fitted.get_n_leaves() == 1
    assert fitted.feature_importances_.tolist() == [0.0]


def test_importances_of_smaller_forests():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=200)
    forest = ObliqueForestRegressor(3, init="info_gain", optimizer=None, random_state=0)
    smaller = prune_forest(forest.fit(X[:100], y[:100]), X[100:], y[100:], tol=0.2)
    for each in smaller.estimators_:
        gains = each._sample_summary.gains
        assert len(gains) == 2 * each.get_n_leaves() - 1
        np.testing.assert_array_equal(
            each.feature_importances_,
            feature_importances(each.tree_, each._table, each._sample_summary.mean,
                                each._sample_summary.std, gains))
    assert smaller.feature_importances_[0] > forest.feature_importances_[0]


def test_splits_that_gain_nothing_have_no_importance():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 5)
    tree = Tree([[1.0, 0.0]], [0.5], [~0], [~1], np.eye(2))
    fitted = ObliqueTreeClassifier(init=tree, optimizer=None).fit(X, X[:, 1] > 0)
    assert fitted.feature_importances_.tolist() == [0.0, 0.0]


def test_importances_of_targets_far_out():
    X = np.arange(50.0)[:, None] * [1.0, 0.0]
    tree = ObliqueTreeRegressor(optimizer="ssgd", random_state=0).partial_fit(
        X, np.tile([0.0, 1.0], 25))
    tree.partial_fit(X, 1e35 * (X[:, 0] > 20))
    assert np.isfinite(tree.feature_importances_).all()


def test_a_constant_leaf_among_linear_ones_saves_nothing():
    tree = Tree([[1.0]], [0.0], [~0], [~1], [[1.0, 0.0], [3.0, 0.0]], [[[0.0], [0.0]], [[-1], [1]]])
    X = np.array([-2.0, -1.0, -1.0, 1.0, 2.0, 3.0])[:, None]
    y = np.array([0.0, 0.0, 1.0, 0.0, 1.0, 1.0])[:, None]
    # Surer than with a pseudo-sample, so that it has less loss.
    targets = LeafTargets(tree.apply(X), y, np.ones(6), LogLoss(10.0))
    gains = node_gains(tree, targets, tree.predict(X))
    assert gains[1] == 0.0
    assert gains[2] > 0.0


def test_leaves_without_slopes_change_no_importance():
    rng = np.random.default_rng(0)
    tree = Tree(rng.normal(size=(1, 3)), [0.0], [~0], [~1], np.ones((2, 1)))
    flat = tree.replace(values=tree.values, slopes=np.zeros((2, 1, 3)))
    std, gains = rng.random(3), np.array([1.0, 0.0, 0.0])
    np.testing.assert_array_equal(*(
        feature_importances(each, numbers(3), 0.0 * std, std, gains) for each in (flat, tree)))


def test_importances_of_axis_aligned_splits_do_not_depend_on_the_scale(iris):
    X, y = iris
    one, other = (
        ObliqueTreeClassifier(3, optimizer=None).fit(X * scale, y).feature_importances_
        for scale in (1.0, [1.0, 64.0, 0.5, 1.0]))
    np.testing.assert_allclose(one, other)
    assert one.sum() == pytest.approx(1.0)


def test_a_constant_feature_has_no_importance():
    X = np.column_stack([np.ones(40), np.arange(40.0)])
    fitted = ObliqueTreeClassifier(2, optimizer=SSGD(epochs=3), random_state=0).fit(
        X, X[:, 1] > 20)
    assert fitted.feature_importances_.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("optimizer", ["annealed", "ssgd"])
def test_features_whose_squares_overflow(optimizer):
    X, y = load_iris(return_X_y=True)
    tree = ObliqueTreeClassifier(3, optimizer=optimizer, random_state=0).fit(1e300 * X, y)
    assert tree.score(1e300 * X, y) > 0.9
    assert tree.feature_importances_.sum() == pytest.approx(1.0)
