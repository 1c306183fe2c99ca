"""Model trees: splits after which linear models fit best, pruned by their errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris

from helpers import make_problem
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt._core.structure import child_ids
from ngdt._methods.linear_leaves.ridge import Sums
from ngdt._methods.model_tree import grow, model_tree, splits
from ngdt.initializers import ModelTree


@st.composite
def nodes(draw):
    """Features with repeated values, targets and weights of the samples of a node."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p, k = draw(st.integers(2, 15)), draw(st.integers(1, 4)), draw(st.integers(1, 2))
    Z = random.integers(-3, 4, (n, p)).astype(float)
    weight = random.integers(1, 4, n).astype(float) if draw(st.booleans()) else np.ones(n)
    return Z, random.normal(size=(n, k)), weight


def reduction(z, limit, y, weight):
    """Decrease of the weighted sum of squared deviations from the mean by a split."""
    def squares(here):
        return weight[here] @ ((y[here] - np.average(
            y[here], axis=0, weights=weight[here])) ** 2).sum(axis=1)

    right = z > limit
    return squares(np.full(len(z), True)) - squares(right) - squares(~right)


@given(nodes(), st.integers(1, 3))
def test_splits_reduce_the_variance_most(node, least):
    Z, y, weight = node
    if len(Z) < 2 * least:
        return
    columns = np.ascontiguousarray(Z.T)
    order = np.argsort(columns, axis=1, kind="stable").astype(np.int32)
    found = grow._best_splits(columns, order, (y,), weight, least)
    best = {}
    for j, z in enumerate(Z.T):
        limits = [0.5 * (a + b) for a, b in zip(np.unique(z)[:-1], np.unique(z)[1:], strict=True)]
        gains = [reduction(z, limit, y, weight) for limit in limits
                 if least <= (z > limit).sum() <= len(z) - least]
        if gains and max(gains) > 1e-9:
            best[j] = max(gains)
    expected = sorted(best.values(), reverse=True)[:2]
    reached = [
        reduction(Z[:, j], columns[j, order[j, n_left - 1]], y, weight) for j, n_left in found]
    np.testing.assert_allclose(reached[:len(expected)], expected, rtol=1e-9)
    for j, n_left in found:
        assert columns[j, order[j, n_left - 1]] < columns[j, order[j, n_left]]
        assert least <= n_left <= len(Z) - least


@given(nodes(), st.data())
def test_both_sides_of_a_split_keep_their_order(node, data):
    columns = np.ascontiguousarray(node[0].T)
    order = np.argsort(columns, axis=1, kind="stable").astype(np.int32)
    is_right = np.array(data.draw(st.lists(
        st.booleans(), min_size=columns.shape[1], max_size=columns.shape[1])))
    for found, side in zip(splits.divide(order, is_right), (~is_right, is_right), strict=True):
        np.testing.assert_array_equal(found, np.argsort(columns[:, side], axis=1, kind="stable"))


@given(nodes())
def test_models_are_ridge_regression_from_the_prior(node):
    Z, y, weight = node
    prior = np.random.default_rng(0).normal(size=(y.shape[1], Z.shape[1]))
    (error,), (value,), (slope,) = grow._fit([Sums.of(Z, y, weight)], prior)
    w, mean = weight[:, None], np.average(Z, axis=0, weights=weight)
    gram = (w * (Z - mean)).T @ (Z - mean) + 30.0 * np.eye(Z.shape[1])
    expected = np.linalg.solve(gram, (w * (Z - mean)).T @ y + 30.0 * prior.T).T
    np.testing.assert_allclose(slope, expected, atol=1e-9)
    np.testing.assert_allclose(
        value + slope @ mean, np.average(y, axis=0, weights=weight), atol=1e-9)
    squares = weight @ ((y - value - Z @ slope.T) ** 2).sum(axis=1)
    penalty = 30.0 * ((slope - prior) ** 2).sum()
    assert error == pytest.approx(squares + penalty, abs=1e-8)


def roof(n=400, seed=0):
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, (n, 3))
    return X, np.abs(X[:, 1] - 0.2) + 0.01 * random.normal(size=n)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_it_splits_by_the_feature_whose_slope_changes(form):
    X, y = roof()
    tree = ObliqueTreeRegressor(init="model_tree", optimizer=None, random_state=0).fit(form(X), y)
    assert np.flatnonzero(tree.tree_.dense_weights([0])[0]).tolist() == [1]
    assert tree.score(form(X), y) > 0.99
    assert np.median(np.abs(tree.tree_.slopes[:, 0, 1])) > 5 * np.abs(
        tree.tree_.slopes[:, 0, ::2]).max()


@pytest.mark.parametrize("alpha", [0.1, 1.0, 12.0, np.inf])
def test_only_splits_that_pruning_removes_are_not_grown(alpha, monkeypatch):
    X, y = roof(200)
    problem = make_problem(X, y + (X[:, 0] > 0.5), "squared")
    part = model_tree._Grown(problem, ModelTree(), alpha)
    monkeypatch.setattr(model_tree, "_ALPHAS", np.array([0.0]))
    whole = model_tree._Grown(problem, ModelTree())
    assert part.tree.n_leaves < whole.tree.n_leaves
    found, expected = (each.pruned(alpha, 1) for each in (part, whole))
    assert (found.n_leaves > 1) == (alpha < np.inf)
    np.testing.assert_array_equal(found.thresholds, expected.thresholds)
    np.testing.assert_array_equal(found.children_left, expected.children_left)


def test_a_linear_truth_needs_no_split():
    X, _ = roof()
    tree = ObliqueTreeRegressor(init="model_tree", optimizer=None, random_state=0)
    assert tree.fit(X, X @ [1.0, 2.0, 3.0]).get_n_leaves() == 1


def test_noise_has_no_slopes_worth_mentioning():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(400, 5)), random.normal(size=400)
    tree = ObliqueTreeRegressor(init="model_tree", optimizer=None, random_state=0).fit(X, y)
    assert tree.get_n_leaves() == 1
    assert np.std(tree.predict(X)) < 0.3


def test_limits():
    X, y = load_diabetes(return_X_y=True)
    y = y + 100 * np.abs(X[:, 2]) / X[:, 2].std()
    options = dict(init="model_tree", optimizer=None, random_state=0)
    whole = ObliqueTreeRegressor(**options).fit(X, y)
    assert whole.get_n_leaves() > 2
    assert ObliqueTreeRegressor(max_depth=1, **options).fit(X, y).get_depth() == 1
    small = ObliqueTreeRegressor(max_leaf_nodes=2, **options).fit(X, y)
    assert small.get_n_leaves() == 2
    assert small.tree_.slopes is not None
    large = ObliqueTreeRegressor(min_samples_leaf=100, **options).fit(X, y)
    assert large.n_node_samples.min() >= 100


def test_samples_of_weight_zero_are_ignored():
    X, y = roof()
    weight = np.ones(len(X))
    weight[::3] = 0.0
    options = dict(init="model_tree", optimizer=None, random_state=0)
    some = ObliqueTreeRegressor(**options).fit(X, np.where(weight > 0, y, 99.0), weight)
    only = ObliqueTreeRegressor(**options).fit(X[weight > 0], y[weight > 0])
    assert some.score(X, y) == pytest.approx(only.score(X, y), abs=0.02)


def test_several_targets():
    X, y = roof()
    tree = ObliqueTreeRegressor(init="model_tree", optimizer=None, random_state=0)
    assert tree.fit(X, np.stack([y, -y], axis=1)).score(X, np.stack([y, -y], axis=1)) > 0.98


@pytest.mark.parametrize(("X", "y"), [
    ([[1.0]], [2.0]), (np.ones((30, 2)), np.arange(30.0)), (np.arange(30.0)[:, None], np.ones(30)),
    (np.arange(3.0)[:, None], np.arange(3.0))])
def test_little_to_learn_from(X, y):
    tree = ObliqueTreeRegressor(init="model_tree", optimizer=None).fit(X, y)
    assert tree.predict(X).mean() == pytest.approx(np.mean(y))


def test_features_and_penalty():
    X, y = load_diabetes(return_X_y=True)
    problem = make_problem(X, y, "squared", max_depth=2)
    tree = ModelTree(features=[2, 8], penalty=5.0).initialize(problem)
    assert set(np.flatnonzero(tree.slopes.any(axis=(0, 1)))) == {2, 8}
    assert set(np.flatnonzero(tree.weights.any(axis=0))) <= {2, 8}


# --- classes --------------------------------------------------------------------------------------


def broken_line(n=600):
    """Classes on the two sides of a line with a kink at x1 = 0."""
    X = np.random.default_rng(0).uniform(-1, 1, (n, 3))
    return X, np.where(X[:, 1] > 0, X[:, 0] > X[:, 1], X[:, 0] > -X[:, 1]).astype(int)


def fit_classes(X, y, **options):
    return ObliqueTreeClassifier(
        init="model_tree", optimizer=None, random_state=0, **options).fit(X, y)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_broken_line_between_classes(form):
    X, y = broken_line()
    fitted = fit_classes(form(X), y)
    constant = ObliqueTreeClassifier(init="pruned", optimizer=None, random_state=0).fit(X, y)
    assert fitted.score(form(X), y) > 0.95
    assert 2 <= fitted.get_n_leaves() < constant.get_n_leaves()
    assert fitted.get_depth() <= 5


def test_linear_classes_need_no_split():
    X, _ = broken_line()
    fitted = fit_classes(X, X @ [1.0, 2.0, 3.0] > 0)
    assert fitted.get_n_leaves() == 1
    assert fitted.score(X, X @ [1.0, 2.0, 3.0] > 0) > 0.98


def test_limits_of_trees_for_classes():
    X, y = broken_line()
    assert fit_classes(X, y, max_depth=2).get_depth() <= 2
    assert fit_classes(X, y, max_leaf_nodes=3).get_n_leaves() <= 3
    assert fit_classes(X, y, min_samples_leaf=100).n_node_samples.min() >= 100


@pytest.mark.parametrize("alpha", [0.0, 2.0, 25.0, np.inf])
def test_the_pruned_tree_has_the_least_cost(alpha):
    X, y = broken_line(200)
    grown = model_tree._Grown(make_problem(X, y, max_depth=3), ModelTree())
    m, losses = grown.tree.n_internal, grown.models.losses[:, 0]
    children = child_ids(grown.tree)

    def least(node):
        """Least cost of the subtrees of a node."""
        below = np.inf if node >= m else sum(map(least, children[node]))
        return min(losses[node] + alpha, below)

    tops = np.unique(grown._tops(grown._is_leaf(alpha, 0)))
    if np.isinf(alpha):
        assert tops.tolist() == [0]
    else:
        assert losses[tops].sum() + alpha * len(tops) == pytest.approx(least(0))


@pytest.mark.parametrize(("X", "y"), [
    ([[1.0], [2.0]], [0, 1]), (np.ones((30, 2)), np.arange(30) % 3),
    (np.arange(12.0)[:, None], np.arange(12) > 5)])
def test_little_to_learn_of_classes(X, y):
    assert np.isfinite(fit_classes(X, y).predict_proba(X)).all()


def test_threads_change_no_model():
    X, y = broken_line()
    assert fit_classes(X, y, n_jobs=1).tree_ == fit_classes(X, y, n_jobs=2).tree_


def test_other_losses_are_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="minimise the log loss"):
        fit_classes(X, y, loss="bounded")


@pytest.mark.parametrize("features", ["path", np.empty(0, dtype=int)], ids=["path", "none"])
@pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueTreeRegressor])
@pytest.mark.parametrize("max_depth", [0, 2])
def test_models_of_the_features_on_the_paths_or_of_none(estimator, features, max_depth):
    X, y = load_iris(return_X_y=True)
    tree = estimator(
        max_depth, init=ModelTree(features=features), optimizer=None, random_state=0).fit(X, y)
    split_by = set(np.flatnonzero(tree.tree_.weights.any(axis=0)))
    used = set() if tree.tree_.slopes is None else (
        set(np.flatnonzero(tree.tree_.slopes.any(axis=(0, 1)))))
    if isinstance(features, str) and max_depth:
        assert used >= split_by
    else:
        assert used == set()
    default = estimator(max_depth, leaf_features=features, random_state=0).fit(X, y)
    assert default.score(X, y) >= tree.score(X, y) - 0.05
