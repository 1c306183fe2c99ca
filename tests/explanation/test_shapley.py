"""Exact Shapley values: those of all orders of the columns, and of the package shap."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from explained import model_of
from ngdt import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    Tree,
)
from ngdt.testing.strategies import dyadics, trees


def outputs_of(model, X):
    """Probabilities or values, shape (n_samples, n_outputs)."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    return model.predict(X).reshape(len(X), -1)


def by_all_orders(model, x, background):
    """Mean gain of each column over all orders in which they come to be those of the sample."""
    p = len(x)
    orders, total = list(itertools.permutations(range(p))), 0.0
    for order in orders:
        mixed, gains = background.copy(), [None] * p
        before = outputs_of(model, mixed).mean(axis=0)
        for j in order:
            mixed[:, j] = x[j]
            after = outputs_of(model, mixed).mean(axis=0)
            gains[j], before = after - before, after
        total = total + np.array(gains)
    return total / len(orders)


@given(trees(linear_leaves=st.booleans(), sparse_weights=st.booleans()), st.data())
def test_values_are_those_of_all_orders(tree, data):
    model = model_of(tree)
    rows = data.draw(st.integers(2, 4))
    X = np.array(data.draw(st.lists(
        st.lists(dyadics(), min_size=tree.n_features, max_size=tree.n_features),
        min_size=rows, max_size=rows)))
    values = model.shap_values(X[:1], X[1:])
    expected = by_all_orders(model, X[0], X[1:])
    np.testing.assert_allclose(
        values[0].reshape(expected.shape), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("forest", [ObliqueForestClassifier, ObliqueForestRegressor])
def test_values_of_a_forest(iris, forest):
    X, y = iris
    model = forest(4, max_depth=3, optimizer=None, random_state=0).fit(X, y)
    values = model.shap_values(X[[0, 60]], X[::30])
    for x, found in zip(X[[0, 60]], values, strict=True):
        expected = by_all_orders(model, x, X[::30])
        np.testing.assert_allclose(found.reshape(expected.shape), expected, atol=1e-12)


def test_values_add_up(iris):
    X, y = iris
    for model in (ObliqueTreeClassifier(3, optimizer="tao", validation_fraction=None).fit(X, y),
                  ObliqueTreeRegressor(
                      2, optimizer="tao", leaf="linear", validation_fraction=None).fit(X, X[:, :2]),
                  ObliqueTreeRegressor(2, optimizer=None).fit(X, y)):
        values, outputs = model.shap_values(X[:9], X[::3]), outputs_of(model, X)
        total = values.reshape(9, 4, -1).sum(axis=1) + outputs[::3].mean(axis=0)
        np.testing.assert_allclose(total, outputs[:9], atol=1e-10)
        np.testing.assert_allclose(
            model.shap_values(sparse.csr_array(X[:9]), sparse.csr_array(X[::3])), values)


def test_the_features_of_a_column_are_one_player():
    pd = pytest.importorskip("pandas")
    city = np.array(["Lima", "Oslo", "Rome"] * 20)
    frame = pd.DataFrame({"city": city, "age": np.r_[[np.nan] * 6, np.arange(54.0)]})
    y = (frame["city"] == "Oslo") ^ (frame["age"] > 30)
    model = ObliqueTreeClassifier(4, optimizer=None).fit(frame, y)
    rows, background = frame[:4], frame[::5]
    values = model.shap_values(rows, background)
    assert values.shape == (4, 2, 2)
    for i in range(4):
        def mean(**columns):
            return model.predict_proba(background.assign(**columns)).mean(axis=0)

        city, age = ({name: rows[name].iloc[i]} for name in ("city", "age"))
        expected = [0.5 * (mean(**own) - mean() + mean(**city, **age) - mean(**other))
                    for own, other in ((city, age), (age, city))]
        np.testing.assert_allclose(values[i], expected, atol=1e-12)


def test_too_many_columns():
    tree = Tree(np.ones((1, 13)), [0.0], [~0], [~1], np.eye(2))
    model = model_of(tree)
    with pytest.raises(ValueError, match=r"by shap.Explainer\(model.predict_proba, background\)"):
        model.shap_values(np.zeros((1, 13)), np.zeros((2, 13)))
    tree = Tree(np.ones((1, 13)) * (np.arange(13) < 12), [5.5], [~0], [~1], np.eye(2))
    values = model_of(tree).shap_values(np.ones((1, 13)), np.zeros((2, 13)))
    assert values[0, 12].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(values[0, :12, 1], (2 / (1 + np.exp(-1.0)) - 1) / 12)


def test_the_package_shap_explains_the_same(iris):
    shap = pytest.importorskip("shap")
    X, y = iris
    model = ObliqueTreeClassifier(2, optimizer="tao", random_state=0).fit(X, y)
    background = X[::15]
    found = shap.Explainer(model.predict_proba, background)(X[:3]).values
    np.testing.assert_allclose(model.shap_values(X[:3], background), found, atol=1e-6)
