"""Attributes and predictions of fitted estimators."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from ngdt import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
)
from ngdt.initializers import InfoGain
from ngdt.optimizers import SSGD
from ngdt.pruning._replace import collapse

BOTH = pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueTreeRegressor])


def test_classifier_attributes_and_shapes(digits):
    X, y = digits
    fitted = ObliqueTreeClassifier(4, optimizer=SSGD(epochs=3), random_state=0).fit(X, y)
    leaves = fitted.tree_.n_leaves
    assert fitted.n_features_in_ == 64
    assert fitted.n_classes_ == fitted.tree_.n_outputs == 10
    assert fitted.n_outputs_ == 1
    assert fitted.tree_.max_depth <= 4
    assert set(fitted.apply(X)) <= set(range(leaves))
    assert fitted.decision_path(X).shape == (600, leaves - 1)
    assert fitted.predict_proba(X).shape == (600, 10)
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1)
    np.testing.assert_allclose(fitted.predict_log_proba(X), np.log(fitted.predict_proba(X)))
    np.testing.assert_array_equal(
        fitted.classes_[fitted.predict_proba(X).argmax(axis=1)], fitted.predict(X))


def test_the_default_beats_a_greedy_tree(digits):
    X, y = digits
    greedy = ObliqueTreeClassifier(5, optimizer=None).fit(X[:400], y[:400])
    tree = ObliqueTreeClassifier(5, random_state=0).fit(X[:400], y[:400])
    assert tree.score(X[400:], y[400:]) > greedy.score(X[400:], y[400:]) + 0.05


def test_the_default_regressor_has_a_lower_error_than_a_greedy_tree_on_new_samples(diabetes):
    X, y = diabetes
    greedy = ObliqueTreeRegressor(6, optimizer=None).fit(X[:300], y[:300])
    tree = ObliqueTreeRegressor(6, random_state=0).fit(X[:300], y[:300])
    assert tree.score(X[300:], y[300:]) > greedy.score(X[300:], y[300:]) + 0.05


@pytest.mark.parametrize("labels", [
    np.array(["setosa", "versicolor", "virginica"]),
    np.array(["a", "b", "c"], dtype=object),
    np.array([-7, 0, 1000]),
    np.array([0.5, 1.5, 2.5]).round().astype(np.int8),
])
def test_labels_of_any_type(iris, labels):
    X, y = iris
    fitted = ObliqueTreeClassifier(3, optimizer=SSGD(epochs=3), random_state=0).fit(X, labels[y])
    plain = ObliqueTreeClassifier(3, optimizer=SSGD(epochs=3), random_state=0).fit(X, y)
    assert fitted.classes_.dtype == labels.dtype
    if len(np.unique(labels)) == 3:
        np.testing.assert_array_equal(fitted.predict(X), labels[plain.predict(X)])


def test_two_booleans(iris):
    X, y = iris
    fitted = ObliqueTreeClassifier(2, optimizer=None).fit(X, y == 0)
    assert fitted.predict(X).dtype == bool
    assert fitted.score(X, y == 0) == 1.0


@pytest.mark.parametrize("optimizer", [None, "ssgd"])
def test_regression_of_several_targets(diabetes, optimizer):
    X, y = diabetes
    Y = np.column_stack([y, -1e6 * y, np.full_like(y, 3.0)])
    fitted = ObliqueTreeRegressor(3, optimizer=optimizer, random_state=0).fit(X, Y)
    assert fitted.predict(X).shape == Y.shape
    assert fitted.n_outputs_ == 3
    np.testing.assert_allclose(
        fitted.predict(X)[:, 1], -1e6 * fitted.predict(X)[:, 0], rtol=1e-6)
    np.testing.assert_allclose(fitted.predict(X)[:, 2], 3.0)


def test_one_column_of_targets_is_predicted_as_a_vector(diabetes):
    X, y = diabetes
    vector, column = (
        ObliqueTreeRegressor(3, optimizer=None).fit(X, target).predict(X)
        for target in (y, y[:, None]))
    assert column.shape == y.shape
    np.testing.assert_array_equal(vector, column)


@BOTH
@pytest.mark.parametrize("optimizer", [None, SSGD(), "ssgd"])
@pytest.mark.parametrize(("X", "y"), [
    ([[1.0, 2.0]], [1]),  # one sample
    ([[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1]),  # one feature
    ([[1.0, 0.0], [2.0, 0.0], [3.0, 1.0]], [5, 5, 5]),  # one class, one value
    ([[1.0, 2.0], [1.0, 2.0]], [0, 1]),  # nothing to tell rows apart
])
def test_degenerate_data_give_a_sensible_tree(estimator, optimizer, X, y):
    fitted = estimator(3, init=InfoGain(), optimizer=optimizer, random_state=0).fit(X, y)
    assert np.isfinite(fitted.tree_.values).all()
    if len(np.unique(X, axis=0)) == len(X) and optimizer != "ssgd":  # the name shrinks leaves
        np.testing.assert_allclose(fitted.predict(X), y)
    if len(set(y)) == 1:
        assert fitted.tree_.n_leaves == 1


@BOTH
def test_no_depth_is_one_leaf(estimator, iris):
    fitted = estimator(0).fit(*iris)
    assert fitted.tree_.n_leaves == 1
    assert fitted.feature_importances_.any() == (fitted.tree_.slopes is not None)


@BOTH
def test_unlimited_depth_fits_the_training_samples(estimator, iris):
    X, y = iris
    X, first = np.unique(X, axis=0, return_index=True)
    # Leaves of less weight than their number of classes would be smoothed into a tie.
    fitted = estimator(None, optimizer=None).fit(X, y[first], np.full(len(X), 10.0))
    assert fitted.score(X, y[first]) == pytest.approx(1.0)


@pytest.mark.parametrize("forest", [None, ObliqueForestRegressor])
def test_what_is_not_known_of_a_tree_that_was_replaced(forest, diabetes):
    X, y = diabetes
    model = ObliqueTreeRegressor(max_depth=4, optimizer=None).fit(X, y)
    tree, name = model, ""
    if forest is not None:
        model = forest(3, max_depth=4, init="random_oblique", optimizer=None, random_state=0)
        model.fit(X, y)
        tree, name = model.estimators_[1], r"of estimators_\[1\]"
    before = model.predict_quantiles(X[:5])
    trained = tree.tree_
    tree.tree_ = collapse(trained, np.arange(trained.n_internal) > 0)
    for method in [model.predict_quantiles, *[model.explain] * (forest is not None)]:
        with pytest.raises(ValueError, match=f"{name}.*: tree_ was replaced"):
            method(X[:5])
    with pytest.raises(AttributeError, match="n_node_samples_: tree_ was replaced"):
        _ = tree.n_node_samples_
    assert np.isfinite(model.predict(X)).all()
    tree.tree_ = trained
    np.testing.assert_array_equal(model.predict_quantiles(X[:5]), before)


def test_attributes_that_cannot_be_known_are_missing(iris):
    """Any other error would end `dir`, and with it the page of a notebook."""
    model = ObliqueTreeClassifier(2, optimizer=None).fit(*iris)
    model.tree_ = model.tree_.copy()
    model.set_params(monotonic_cst=[1, 0])      # for the table of the next fit
    with pytest.raises(AttributeError, match=r"monotonic_cst has shape \(2,\)"):
        _ = model.encoded_monotonic_cst_
    listed = {*dir(model)}
    for name in ("n_node_samples_", "encoded_monotonic_cst_"):
        assert not hasattr(model, name)
        # Before 1.9, scikit-learn lists what may be missing, too.
        assert name not in listed or "__dir__" not in vars(BaseEstimator)
    assert "given tree" in model._repr_html_().lower()


def test_the_size_of_estimators_with_functions(iris):
    tree = ObliqueTreeClassifier(2, optimizer=None, callback=lambda _: None).fit(*iris)
    plain = ObliqueTreeClassifier(2, optimizer=None).fit(*iris)
    assert tree.get_nbytes() == plain.get_nbytes()
    assert tree.callback is not None
    forest = ObliqueForestClassifier(
        20, max_depth=1, init="random_oblique", optimizer=None, oob_score=lambda y, found: 0.5,
        random_state=0).fit(*iris)
    assert forest.get_nbytes() > 0
