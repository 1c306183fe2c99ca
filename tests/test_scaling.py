"""Scaling: its figures, and that trees decide in either space alike."""

import numpy as np
import pytest
from scipy import sparse

from ngdt import Tree
from ngdt._scaling import Scaling
from ngdt.losses import LogLoss
from ngdt.problem import Problem

FORMS = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])


@pytest.fixture
def X():
    random = np.random.default_rng(0)
    return random.normal(size=(60, 4)) * [1.0, 100.0, 0.01, 3.0] + [0.0, 50.0, 0.0, -3.0]


@pytest.fixture
def weight():
    weight = np.random.default_rng(1).integers(0, 4, 60).astype(float)
    assert (weight == 0).any()
    return weight


def test_each_feature_by_its_own_spread(X, weight):
    scaling = Scaling.fit(X, weight, True)
    repeated = np.repeat(X, weight.astype(int), axis=0)
    np.testing.assert_allclose(scaling.center, repeated.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(scaling.scale, repeated.std(axis=0), rtol=1e-12)


def test_all_features_by_one_spread(X, weight):
    scaling = Scaling.fit(X, weight, "global")
    repeated = np.repeat(X, weight.astype(int), axis=0)
    np.testing.assert_allclose(scaling.center, repeated.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(scaling.scale, np.sqrt(repeated.var(axis=0).mean()), rtol=1e-12)


@pytest.mark.parametrize("standardize", [True, "auto"])
def test_sparse_data_are_scaled_and_never_centred(X, weight, standardize):
    scaling = Scaling.fit(sparse.csr_array(X), weight, standardize)
    assert not scaling.center.any()
    np.testing.assert_allclose(
        scaling.scale, np.sqrt(np.average(X**2, axis=0, weights=weight)), rtol=1e-12)


@FORMS
def test_no_scaling(X, weight, form):
    scaling = Scaling.fit(form(X), weight, False)
    assert (scaling.center == 0).all()
    assert (scaling.scale == 1).all()


@pytest.mark.parametrize(("ranges", "chosen"), [
    ([1.0, 1.0, 1.5, 1.0], "global"), ([1.0, 1.0, 4.0, 1.0], True)])
def test_automatic_choice_by_the_ranges(ranges, chosen):
    X = np.random.default_rng(0).random((500, 4)) * ranges
    auto, same = (Scaling.fit(X, np.ones(500), choice) for choice in ("auto", chosen))
    np.testing.assert_array_equal(auto.scale, same.scale)
    assert (len(np.unique(auto.scale)) == 1) == (chosen == "global")


@FORMS
@pytest.mark.parametrize("standardize", [True, "global", "auto", False])
def test_rows_of_no_weight_do_not_exist(form, standardize):
    X = np.random.default_rng(0).random((30, 3))
    weight = np.arange(30) % 3.0
    wild = X.copy()
    wild[weight == 0] = [1e9, 0.0, -5.0]
    one, other = (Scaling.fit(form(data), weight, standardize) for data in (X, wild))
    np.testing.assert_array_equal(one.center, other.center)
    np.testing.assert_array_equal(one.scale, other.scale)


@FORMS
@pytest.mark.parametrize("value", [0.0, 7.0])
def test_constant_features_are_left_alone(form, value):
    X = np.column_stack([np.full(8, value), np.arange(8.0)])
    scaling = Scaling.fit(form(X), np.ones(8), True)
    assert scaling.scale[0] == (1.0 if form is np.asarray or value == 0 else value)


@FORMS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("standardize", [True, "global"])
def test_trees_decide_alike_in_both_spaces(X, form, dtype, standardize):
    random = np.random.default_rng(2)
    X = X.astype(dtype)
    scaling = Scaling.fit(form(X), np.ones(len(X)), standardize)
    scaled = (X - scaling.center) / scaling.scale
    tree = Tree(random.normal(size=(2, 4)), random.normal(size=2), [1, ~0], [~1, ~2], np.eye(3))
    weights, thresholds = scaling.to_scaled(tree)
    np.testing.assert_allclose(scaled @ weights.T - thresholds, tree.scores(X), atol=1e-9)
    back, thresholds = scaling.to_raw(weights, thresholds)
    np.testing.assert_allclose(back, tree.weights, rtol=1e-12)
    np.testing.assert_allclose(thresholds, tree.thresholds, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_center_and_factor_are_numbers_of_the_type_of_the_data(X, dtype):
    scaling = Scaling.fit(X.astype(dtype), np.ones(len(X)), True)
    np.testing.assert_array_equal(scaling.center.astype(dtype), scaling.center)
    inverse = 1.0 / scaling.scale
    np.testing.assert_allclose(inverse.astype(dtype), inverse, rtol=1e-15)


@FORMS
def test_scales_that_the_type_can_hardly_hold(form):
    X = np.array([[-1.0], [1.0], [1.0], [-1.0]])
    for scale, dtype in ((1e-40, np.float32), (1e38, np.float32), (1e-200, float), (1e200, float)):
        scaling = Scaling.fit(form((X * scale).astype(dtype)), np.ones(4), True)
        assert np.isfinite(scaling.center).all()
        assert np.isfinite(scaling.scale).all()
        assert (scaling.scale > 0).all()
        with np.errstate(over="raise"):
            assert np.isfinite((1.0 / scaling.scale).astype(dtype)).all()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_unscaled_features_must_fit_float32(form):
    X, weight = np.array([[1.0, 2e18], [3.0, 1.0], [0.0, 5.0]]), np.ones(3)
    with pytest.raises(ValueError, match="X has values up to 2e\\+18"):
        Scaling.fit(form(X), weight, False)
    weight[0] = 0.0     # such a row is not there
    assert (Scaling.fit(form(X), weight, False).scale == 1).all()


def test_unit_rows_of_huge_weights():
    scaling = Scaling(np.zeros(2), np.full(2, 1e200))
    tree = Tree([[3.0, 4.0], [0.0, 0.0]], [0.0, 0.0], [1, ~1], [~0, ~2], np.zeros((3, 1)))
    weights, thresholds = scaling.to_unit_rows(tree)
    np.testing.assert_allclose(weights, [[0.6, 0.8], [0.0, 0.0]])
    assert (thresholds == 0).all()


def test_it_is_measured_once_and_anew_where_it_may_differ(X, weight):
    y = np.zeros((60, 1))
    problem = Problem(X, y, LogLoss(), 2, weight, standardize=True)
    scaling = problem.scaling
    assert problem.replace(random_state=3, validation_weight=None).scaling is scaling
    for changes in ({"X": 2 * X}, {"weight": np.arange(60.0)}, {"standardize": "global"}):
        changed = problem.replace(**changes)
        fresh = Scaling.fit(changed.X, changed.weight, changed.standardize)
        np.testing.assert_array_equal(changed.scaling.scale, fresh.scale)
        assert (fresh.scale != scaling.scale).any()
