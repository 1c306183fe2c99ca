"""Feature importances."""


import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris

from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt._importances import feature_importances
from ngdt.optimizers import SSGD
from ngdt.testing.strategies import trees

BOTH = pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueTreeRegressor])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("weighted", [False, True])
def test_importances_by_hand(form, weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) * [1.0, 100.0, 0.01] + [1e4, 0.0, 0.0]
    weight = rng.integers(0, 3, 300) if weighted else np.ones(300)
    tree = Tree([[2.0, 0.01, 0.0], [0.0, 0.0, 1.0]], [2e4, 0.0], [1, ~0], [~2, ~1], np.eye(3))
    fitted = ObliqueTreeClassifier(init=tree, optimizer=None).fit(
        form(X), np.arange(300) % 3, weight)
    mean = np.average(X, axis=0, weights=weight)
    spread = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    left = weight[X @ tree.weights[0] <= 2e4].sum()
    root = np.array([2.0 * spread[0], 0.01 * spread[1], 0.0])
    expected = weight.sum() * root / root.sum() + left * np.array([0.0, 0.0, 1.0])
    np.testing.assert_allclose(
        fitted.feature_importances_, expected / expected.sum(), rtol=1e-6)


def importances_by_definition(tree, std, weight_at_leaf):
    """The average of normalised effects over nodes and leaves, one by one."""
    leaves_below = {~leaf: {leaf} for leaf in range(tree.n_leaves)}
    for node in reversed(range(tree.n_internal)):
        leaves_below[node] = (
            leaves_below[tree.children_left[node]] | leaves_below[tree.children_right[node]])
    total = np.zeros(tree.n_features)
    for node, weights in enumerate(tree.dense_weights(slice(None))):
        effect = np.abs(weights) * std
        total += sum(weight_at_leaf[leaf] for leaf in leaves_below[node]) * effect / (
            effect.sum() or 1.0)
    for leaf in range(tree.n_leaves if tree.slopes is not None else 0):
        effect = np.abs(tree.slopes[leaf]) * std
        shares = [row / row.sum() for row in effect if row.any()]
        if shares:
            total += weight_at_leaf[leaf] * np.mean(shares, axis=0)
    return total / (total.sum() or 1.0)


@given(trees(linear_leaves=st.booleans(), sparse_weights=st.booleans()), st.data())
def test_importances_by_definition(tree, data):
    std = np.array(data.draw(st.lists(
        st.sampled_from([0.0, 0.5, 1.0, 1e3]), min_size=tree.n_features,
        max_size=tree.n_features)))
    weight = np.arange(tree.n_leaves, dtype=float) + 1.0
    np.testing.assert_allclose(
        feature_importances(tree, std, weight), importances_by_definition(tree, std, weight))


def test_leaves_without_slopes_change_no_importance():
    rng = np.random.default_rng(0)
    tree = Tree(rng.normal(size=(1, 3)), [0.0], [~0], [~1], np.ones((2, 1)))
    flat = tree.replace(values=tree.values, slopes=np.zeros((2, 1, 3)))
    std, weight = rng.random(3), np.ones(2)
    np.testing.assert_array_equal(
        feature_importances(flat, std, weight), feature_importances(tree, std, weight))


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
