"""Weights of samples and classes."""

from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_friedman1

from helpers import in_nightly, serves, short
from ngdt import ObliqueForestRegressor, ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt.initializers import INITIALIZERS
from ngdt.losses import LogLoss, SquaredLoss
from ngdt.optimizers import OPTIMIZERS, TAO, Annealed, CutLeaves, ShrinkLeaves

BOTH = pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueTreeRegressor])


def test_dict_and_balanced_class_weight_are_row_weights(iris):
    X, y = iris[0][:120], iris[1][:120]  # 50, 50, 20
    by_class = np.array([0.8, 0.8, 2.0])
    balanced = ObliqueTreeClassifier(3, optimizer=None, class_weight="balanced").fit(X, y)
    given = ObliqueTreeClassifier(
        3, optimizer=None, class_weight=dict(enumerate(by_class))).fit(X, y)
    weighted = ObliqueTreeClassifier(3, optimizer=None).fit(X, y, by_class[y])
    np.testing.assert_allclose(balanced.predict_proba(X), weighted.predict_proba(X))
    np.testing.assert_array_equal(given.predict_proba(X), weighted.predict_proba(X))


def test_balanced_class_weight_counts_by_sample_weight(iris):
    X, y = iris
    weight = np.random.default_rng(0).integers(0, 4, len(y), np.intp)
    estimator = ObliqueTreeClassifier(3, optimizer=None, class_weight="balanced")
    weighted = clone(estimator).fit(X, y, weight)
    repeated = clone(estimator).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X))


@BOTH
@pytest.mark.parametrize("unit", [2.0**600, 2.0**1000], ids=["2**600", "2**1000"])
@pytest.mark.filterwarnings("error")
def test_errors_of_large_weights_have_squares(estimator, unit):
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = (X[:, 0] > 0.1).astype(int)
    large, larger = (estimator(leaf="constant", random_state=0).fit(X, y, np.full(60, weight))
                     for weight in (2.0**100, unit))
    # But for the log loss: the heavier a leaf, the surer it is.
    for name in larger.candidates_.keys() - {"log_loss"}:
        np.testing.assert_equal(larger.candidates_[name], large.candidates_[name])
    np.testing.assert_array_equal(larger.predict(X), large.predict(X))


def in_units(unit, algorithm):
    """An algorithm for weights in a unit: penalties and least gains are counted in samples."""
    if algorithm is TAO:
        return TAO(0.1 / unit)
    if algorithm is CutLeaves:
        return CutLeaves(min_samples_leaf=3, min_gain=0.1 * unit)
    return ShrinkLeaves(pseudo_count=5.0 * unit) if algorithm is ShrinkLeaves else short(algorithm)


def of_method(method, is_classifier, unit):
    """A tree of an initializer or an optimizer, for weights in a unit."""
    estimator, method = ObliqueTreeRegressor(random_state=0), in_units(unit, method)
    if is_classifier:
        estimator = ObliqueTreeClassifier(loss=LogLoss(pseudo_count=unit), random_state=0)
    if type(method) in INITIALIZERS.values():
        return estimator.set_params(init=method, max_depth=3, optimizer=None)
    return estimator.set_params(
        optimizer=method, max_depth=3, leaf="auto", validation_fraction=None)


def of_tao(unit, estimator=ObliqueTreeRegressor, **parameters):
    if estimator is ObliqueTreeRegressor:
        parameters["validation_fraction"] = None
    return estimator(optimizer=TAO(0.1 / unit), random_state=0, **parameters)


def of_linear_leaves(unit):
    return ObliqueTreeRegressor(
        3, optimizer=Annealed(steps=60, leaf="linear"), validation_fraction=None, random_state=0)


METHODS = [
    pytest.param(partial(of_method, each, loss.is_classifier), loss.is_classifier,
                 id=f"{name}-{loss.name}")
    for loss in (LogLoss(), SquaredLoss())
    for name, each in {**INITIALIZERS, **OPTIMIZERS}.items() if serves(each(), loss)]
OF_TAO = [
    pytest.param(partial(of_tao, **parameters), False, id=f"tao-{name}")
    for name, parameters in {
        "deep": {"leaf": "constant"}, "absolute": {"loss": "absolute_error", "max_depth": 4},
        "monotone": {"monotonic_cst": [1, 1] + 3 * [0], "max_depth": 3},
        "limits": {"min_samples_leaf": 10, "max_leaf_nodes": 6, "ccp_alpha": 0.01, "max_depth": 4},
        "forest": {"estimator": ObliqueForestRegressor, "n_estimators": 2}}.items()]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("highest", "exact", "rounded"), [
    (3, 2.0**60, 1e-6), *in_nightly([(1, 2.0**-60, 1e6), (3, 2.0**-60, 1e6)])])
@pytest.mark.parametrize(("make", "is_classifier"), [*METHODS, *OF_TAO, (of_linear_leaves, False)])
def test_a_factor_of_all_weights_changes_only_what_is_counted_in_samples(
        make, is_classifier, highest, exact, rounded):
    X, y = make_friedman1(60, 5, noise=1.0, random_state=0)
    if is_classifier:
        X, y = load_breast_cancer(return_X_y=True)
        X, y = X[:60, ::6], y[:60]
    weight = np.random.default_rng(0).integers(1, highest, len(y), endpoint=True).astype(float)
    expected, same, near = (
        make(unit=unit).fit(X, y, unit * weight).predict(X) for unit in (1.0, exact, rounded))
    np.testing.assert_array_equal(same, expected)
    np.testing.assert_allclose(near, expected, rtol=1e-9)   # but for rounding


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("estimator", [
    ObliqueTreeRegressor(leaf="constant", random_state=0),
    ObliqueTreeRegressor(monotonic_cst=[1, 1] + 8 * [0], random_state=0),
    ObliqueForestRegressor(n_estimators=2, random_state=0),
    ObliqueForestRegressor(init="random_oblique", n_estimators=2, random_state=0),
], ids=["tree", "monotone", "forest", "random"])
def test_the_unit_of_small_weights_changes_no_default(estimator):
    X, y = make_friedman1(100, noise=1.0, random_state=0)
    expected, small = (
        clone(estimator).fit(X, y, np.full(len(y), unit)).predict(X) for unit in (1.0, 2.0**-60))
    np.testing.assert_array_equal(small, expected)


@pytest.mark.parametrize("far", [-1.0, 1.7e308])
@pytest.mark.parametrize("estimator", [
    ObliqueTreeRegressor(4, init="co2", optimizer=None, random_state=0),
    ObliqueTreeRegressor(4, loss="poisson", optimizer="tao", leaf="constant", random_state=0),
    ObliqueForestRegressor(2, max_depth=4, optimizer="tao", random_state=0),
], ids=["co2", "poisson", "forest"])
def test_targets_without_weight_are_ignored(estimator, far):
    X, y = make_friedman1(80, 5, noise=1.0, random_state=0)
    y, weight = np.abs(y), (np.arange(80) % 7 > 0).astype(float)
    used = weight > 0
    expected = clone(estimator).fit(X[used], y[used]).predict(X)
    y[~used] = far
    # Not even by rounding, which would tip what is drawn.
    np.testing.assert_array_equal(clone(estimator).fit(X, y, weight).predict(X), expected)


def test_leaves_of_small_weights_have_probabilities():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:200, :10], y[:200]
    model = ObliqueTreeClassifier(max_depth=3, random_state=0)
    of_first = model.fit(X, y, np.full(len(y), 2.0**-60)).predict_proba(X)[:, 0]
    assert np.ptp(of_first) > 0.8


@BOTH
@pytest.mark.parametrize(("weight", "message"), [
    ([1.0] * 149, "sample_weight must have shape"),
    ([[1.0]] * 150, "sample_weight must have shape"),
    ([-1.0] + [1.0] * 149, "sample_weight must not be negative, got -1"),
    ([0.0] * 150, "sample_weight must not be zero"),
    ([1e307] * 150, "sample_weight must have a finite sum"),
    ([1e305] * 150, "a finite sum, of at most 1e\\+305"),
    ([1e-310] * 150, "sample_weight must .* must not be below 2.2e-308 for every sample"),
    (["heavy"] * 150, "sample_weight: could not convert"),
    ([np.nan] * 150, "sample_weight contains NaN"),
    ([np.inf] * 150, "sample_weight contains infinity"),
])
def test_bad_weights_are_refused(estimator, iris, weight, message):
    with pytest.raises(ValueError, match=message):
        estimator().fit(*iris, weight)


@pytest.mark.parametrize("kind", ["M8[D]", "m8[s]"])
def test_dates_are_no_weights(iris, kind):
    with pytest.raises(TypeError, match=r"^sample_weight: dates or times are no weights"):
        ObliqueTreeClassifier(optimizer=None).fit(*iris, np.arange(150).astype(kind))


@pytest.mark.parametrize(("class_weight", "message"), [
    ({0: 1.0, 1: 1.0, 2: -1.0}, r"class_weight must be finite and not negative, got \{0: 1"),
    ({0: 1.0, 1: 1.0, 2: np.nan}, "class_weight must be finite and not negative"),
    ({0: 1.0, 1: 1.0, 2: np.inf}, "class_weight must be finite and not negative"),
    ({0: 0.0, 1: 0.0, 2: 0.0}, "class_weight and sample_weight leave no sample"),
    ({0: 1.0, "virginica": 2.0}, r"class_weight: The classes, \[1, 2\], are not in"),
    ({"1": 2.0}, r"class_weight: The classes, \[0, 1, 2\], are not in"),
    ({0: 1.0, 1: 1.0, 2: "much"}, "class_weight: could not convert"),
    ("evenly", "class_weight"),
])
def test_bad_class_weights_are_refused(iris, class_weight, message):
    with pytest.raises(ValueError, match=message):
        ObliqueTreeClassifier(class_weight=class_weight).fit(*iris)


def test_of_balanced_classes_that_cannot_be_told_apart_the_frequent_one_is_predicted():
    y = np.repeat([0, 1, 2], [300, 603, 7])
    X = np.zeros((len(y), 1))
    with pytest.warns(UserWarning, match="^No tree was better than a single leaf"):
        tree = ObliqueTreeClassifier(class_weight="balanced").fit(X, y)
    assert (tree.predict(X) == 1).all()
    np.testing.assert_allclose(tree.predict_proba(X), 1 / 3, rtol=1e-9)


def test_tiny_weights_leave_the_order_of_the_classes(iris):
    X, y = iris
    trees = [ObliqueTreeClassifier(3, optimizer=None).fit(X, y, np.full(len(y), weight))
             for weight in (1.0, 1e-20)]
    np.testing.assert_array_equal(trees[1].predict(X), trees[0].predict(X))
    np.testing.assert_array_equal(
        trees[1].predict_proba(X).argmax(axis=1), trees[1].predict(X))
