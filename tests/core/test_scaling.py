"""Moments, and scaling: its figures, and that trees decide in either space alike."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse

from helpers import FORMS
from ngdt import Tree
from ngdt._core import scaling as _scaling
from ngdt._core.scaling import Moments, Scaling
from ngdt._training.problem import Problem
from ngdt._util.validation import stored_per_sample
from ngdt.losses import LogLoss


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
    # Pixels at the edge of images may be constant, and have no part in it.
    more = Scaling.fit(np.column_stack([X, np.full((60, 3), 7.0)]), weight, "global")
    np.testing.assert_allclose(more.scale[:4], scaling.scale, rtol=1e-12)


@pytest.mark.parametrize("standardize", [True, "auto"])
def test_sparse_data_are_scaled_and_never_centred(X, weight, standardize):
    scaling = Scaling.fit(sparse.csr_array(X), weight, standardize)
    assert not scaling.center.any()
    np.testing.assert_allclose(
        scaling.scale, np.sqrt(np.average(X**2, axis=0, weights=weight)), rtol=1e-12)


def test_wide_sparse_data_of_zeros_are_not_scaled():
    scaling = Scaling.fit(sparse.csr_array((3, 4000)), np.ones(3), "auto")
    assert (scaling.scale == 1).all()


@FORMS
def test_no_scaling(X, weight, form):
    scaling = Scaling.fit(form(X), weight, False)
    assert (scaling.center == 0).all()
    assert (scaling.scale == 1).all()


@pytest.mark.parametrize(("ranges", "chosen"), [
    ([1.0, 1.0, 1.5, 1.0], "global"), ([1.0, 1.0, 4.0, 1.0], True), ([1.0, 1.8], "global"),
    ([1.0, 10.0], True), ([1.0, 10.0, 10.0], True), ([1.0, 10.0, 10.0, 10.0, 10.0], True),
    ([0.1] * 5 + [1.0] * 65, "global"), ([0.1] * 9 + [1.0] * 65, True),
    ([0.1, 1.0, 1.0, 1.0, 1.0] + [0.0] * 60, True)])
def test_automatic_choice_by_the_ranges(ranges, chosen):
    X = np.random.default_rng(0).random((500, len(ranges))) * ranges
    auto, same = (Scaling.fit(X, np.ones(500), choice) for choice in ("auto", chosen))
    np.testing.assert_array_equal(auto.scale, same.scale)
    varies = np.array(ranges) > 0
    assert (len(np.unique(auto.scale[varies])) == 1) == (chosen == "global")


@pytest.mark.parametrize("unit", [1.0, 2.0**-9])
@pytest.mark.parametrize(("sizes", "chosen"), [
    ([1.0] * 450 + [3.0] * 150, "global"), ([1.0] * 450 + [5.0] * 150, True),
    ([0.2] * 150 + [1.0] * 450, True), ([0.0] * 300 + [1.0] * 260 + [9.0] * 20, "global"),
    ([1.0] * 511, True)])
def test_automatic_choice_by_the_sizes_of_wide_sparse_data(sizes, chosen, unit):
    values = np.random.default_rng(0).choice([-1.0, 0.0, 1.0], (9, len(sizes)))
    values[0] = 1.0
    X = sparse.csr_array(unit * values * sizes)
    auto, same = (Scaling.fit(X, np.ones(9), choice) for choice in ("auto", chosen))
    np.testing.assert_array_equal(auto.scale, same.scale)


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


def test_the_mean_of_equal_numbers_is_exact():
    X = np.full((4, 1), 1e120)
    scaling = Scaling.fit(X, np.array([1e-6, 1e6, 1.0, 1e6]), True)
    np.testing.assert_array_equal(scaling.transform(X), 0.0)


@FORMS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("standardize", [True, "global"])
def test_trees_decide_alike_in_both_spaces(X, form, dtype, standardize):
    random = np.random.default_rng(2)
    X = X.astype(dtype)
    scaling = Scaling.fit(form(X), np.ones(len(X)), standardize)
    scaled = (X - scaling.center) / scaling.scale
    tree = Tree(random.normal(size=(2, 4)), random.normal(size=2), [1, ~0], [~1, ~2], np.eye(3))
    weights, thresholds = scaling.to_scaled(tree.densify().weights, tree.thresholds)
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


@pytest.mark.filterwarnings("ignore:X. no feature varies by more than 1.2e-38")
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


@FORMS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("standardize", [True, "global"])
def test_features_that_vary_too_little_are_warned_of(form, dtype, standardize):
    tiny = np.float64(np.finfo(dtype).tiny)
    X = np.array([[0.1 * tiny, 0.0], [0.0, 0.0], [0.2 * tiny, 0.0]]).astype(dtype)
    with pytest.warns(UserWarning, match=rf"no feature varies .* {X.dtype}, .*: multiply X"):
        Scaling.fit(form(X), np.ones(3), standardize)
    # Beside a feature of numbers, such noise is constant, as are zeros.
    Scaling.fit(form(np.hstack([X, X / tiny])), np.ones(3), standardize)
    Scaling.fit(form(0.0 * X), np.ones(3), standardize)


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
    weights, thresholds = scaling.to_unit_norm(tree.densify().weights, tree.thresholds)
    np.testing.assert_allclose(weights, [[0.6, 0.8], [0.0, 0.0]])
    assert (thresholds == 0).all()


def test_it_is_measured_once_and_anew_where_it_may_differ(X, weight):
    y = np.zeros((60, 1))
    problem = Problem(X, y, LogLoss(), 2, weight, standardize=True)
    scaling = problem.scaling
    assert problem.replace(random_state=3, validation_weight=None).scaling is scaling
    for changes in ({"X": 2 * X}, {"sample_weight": np.arange(60.0)}, {"standardize": "global"}):
        changed = problem.replace(**changes)
        fresh = Scaling.fit(changed.X, changed.sample_weight, changed.standardize)
        np.testing.assert_array_equal(changed.scaling.scale, fresh.scale)
        assert (fresh.scale != scaling.scale).any()


# --- moments -------------------------------------------------------------------------------------

FIELDS = ("mean", "std", "root_mean_square", "low", "high")


@st.composite
def weighted_samples(draw):
    """Samples with zeros and constant features, and weights, some of which are 0."""
    random = np.random.default_rng(draw(st.integers(0, 2**16)))
    n, p = draw(st.integers(1, 40)), draw(st.integers(1, 4))
    X = random.normal(size=(n, p)) + draw(st.sampled_from([0.0, 1.0, 1e5]))
    X[random.random((n, p)) < draw(st.sampled_from([0.0, 0.6, 1.0]))] = 0.0
    X[:, random.random(p) < 0.2] = 3.3
    weight = random.choice(draw(st.sampled_from([[1.0], [0.0, 1.0, 2.5], [0.0, 1e-6, 1e6]])), n)
    weight[random.integers(n)] = 1.0
    return X, weight


def assert_moments(found, X, weight, rtol=1e-9):
    """Moments of the samples of positive weight, in plain numpy."""
    X, weight = X[weight > 0].astype(np.float64), weight[weight > 0]
    mean = np.average(X, axis=0, weights=weight)
    size = np.abs(X).max(axis=0)
    np.testing.assert_allclose(found.mean, mean, rtol=rtol, atol=rtol * size.max(initial=0.0))
    np.testing.assert_allclose(
        found.std, np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight)), rtol=1e-6,
        atol=1e-9 * size.max(initial=0.0))
    np.testing.assert_allclose(
        found.root_mean_square, np.sqrt(np.average(X**2, axis=0, weights=weight)), rtol=rtol)
    np.testing.assert_array_equal(found.low, X.min(axis=0))
    np.testing.assert_array_equal(found.high, X.max(axis=0))


@FORMS
@given(weighted_samples())
def test_moments_are_those_of_numpy(form, samples):
    X, weight = samples
    assert_moments(Moments.of(form(X), weight), X, weight)


@FORMS
@given(weighted_samples(), st.sampled_from([1e300, -1e300, 1.7e308, 5e-324]))
def test_moments_do_not_look_at_samples_of_weight_zero(form, samples, wild):
    X, weight = samples
    other = X.copy()
    other[weight == 0] = wild
    # The zeros of such samples, too, are as if they were not.
    one, same = (Moments.of(form(data), weight) for data in (np.where(
        weight[:, None] == 0, 1.0, X), other))
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(one, field), getattr(same, field))


@given(weighted_samples())
# The sum of these weights depends on their order, by rounding.
@example((np.full((18, 1), 3.3), np.array([
    1e-6, 0, 1e-6, 1e-6, 1e6, 0, 1e6, 0, 0, 0, 1, 1e6, 1e-6, 1e6, 0, 1e6, 0, 1e-6])))
def test_moments_of_sparse_samples_are_those_of_dense_ones(samples):
    X, weight = samples
    dense = Moments.of(X, weight)
    for form in (sparse.csr_array, sparse.csr_matrix):
        found = Moments.of(form(X), weight)
        for field in ("mean", "std", "root_mean_square"):
            np.testing.assert_allclose(
                getattr(found, field), getattr(dense, field), rtol=1e-9,
                atol=1e-10 * np.abs(X).max(initial=0.0))


@FORMS
@given(weighted_samples(), st.sampled_from([1e-160, 1e-30, 1e30, 1e160]))
def test_moments_scale_with_the_samples(form, samples, scale):
    X, weight = samples
    scale = 2.0 ** np.round(np.log2(scale))
    plain, scaled = (Moments.of(form(data), weight) for data in (X, scale * X))
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(scaled, field), scale * getattr(plain, field))


@FORMS
def test_moments_of_float32_whose_squares_overflow(form):
    X = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    weight = np.arange(50) % 3.0
    large = X * np.float32(1e20)
    X[weight == 0] = large[weight == 0] = 3e38
    assert large.dtype == np.float32
    found = Moments.of(form(large), weight)
    assert_moments(found, large.astype(np.float64), weight, rtol=1e-9)
    np.testing.assert_allclose(found.std, 1e20 * Moments.of(form(X), weight).std, rtol=1e-5)


def test_moments_of_many_blocks(monkeypatch):
    X = np.random.default_rng(0).normal([0.0, 1e6, -5.0], size=(1000, 3))
    weight = np.random.default_rng(1).integers(0, 3, 1000).astype(float)
    whole = Moments.of(X, weight)
    monkeypatch.setattr(_scaling, "_BLOCK_VALUES", 20)
    blocks = Moments.of(X, weight)
    for field in FIELDS:
        np.testing.assert_allclose(getattr(blocks, field), getattr(whole, field), rtol=1e-12)
    assert_moments(blocks, X, weight)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_counts_of_stored_values_are_as_numpy_repeats(dtype):
    matrix = sparse.csr_array(np.diag([1.0, 0.0, 2.0]))
    matrix.indptr = matrix.indptr.astype(dtype)
    counts = stored_per_sample(matrix)
    assert counts.dtype == np.intp
    np.testing.assert_array_equal(counts, [1, 0, 1])


@FORMS
def test_the_mean_of_equal_numbers_is_not_beyond_them(form):
    for n in range(1, 60):
        for value in (0.1, -0.7, 1e300 / 3.0):
            moments = Moments.of(form(np.full((n, 1), value)), np.ones(n))
            assert min(value, 0.0) <= moments.mean <= max(value, 0.0)
            Scaling.fit(form(np.full((n, 1), value)), np.ones(n), True)
