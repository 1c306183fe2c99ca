"""Feature importances."""


import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt.optimizers import SSGD

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
