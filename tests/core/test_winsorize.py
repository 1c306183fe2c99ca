"""Fences: their figures, and what they keep far values from doing."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

import ngdt._training.problem
from helpers import FORMS, dense, make_problem
from ngdt import ObliqueForestClassifier, Tree
from ngdt._core import winsorize as _winsorize
from ngdt._core.scaling import MAX_SCALED, MIN_TWO_VALUED, Scaling
from ngdt._core.winsorize import (
    FEW,
    OF_FEATURES,
    OF_TARGETS,
    REACH,
    SHARE,
    fences,
    target_fences,
    winsorized,
)
from ngdt.losses import AbsoluteLoss, HuberLoss, LogLoss, SquaredLoss
from ngdt.optimizers import SSGD


def brute_force(x, median=None, gap=OF_FEATURES):
    """Fences of one feature without weights, by sorted lists."""
    if median is None:
        median = np.median(x)
    sides = [np.sort(each) for each in (median - x[x < median], x[x > median] - median)]
    usual = [distance[int(np.ceil(SHARE * len(distance))) - 1] if len(distance) else 0.0
             for distance in sides]
    usual = [min(usual) if len(one) < FEW * len(other) else each
             for each, one, other in zip(usual, sides, sides[::-1], strict=True)]
    reach = []
    for distance, each in zip(sides, usual, strict=True):
        if gap is None or not (distance > REACH * each).any():
            reach.append(REACH * each)
            continue
        for last, following in zip([0.0, *distance], [*distance, np.inf], strict=True):
            if following > gap.of_last * last and following > gap.of_share * each:
                reach.append(last)
                break
    return median - reach[0], median + reach[1]


def columns(elements):
    return st.integers(1, 15).flatmap(lambda n: st.tuples(
        arrays(np.float64, n, elements=elements), arrays(np.int64, n, elements=st.integers(0, 3))))


@given(st.one_of(columns(st.integers(-3, 3).map(float)), columns(
    st.floats(-1e3, 1e3, allow_subnormal=False))), st.sampled_from([OF_FEATURES, OF_TARGETS, None]))
def test_fences_are_those_of_repeated_samples(column, gap):
    x, weight = column
    weight[0] = max(weight[0], 1)
    found = fences(x[:, None], weight.astype(float), gap)
    expected = brute_force(np.repeat(x, weight), gap=gap)
    np.testing.assert_allclose(np.concatenate(found), expected, rtol=1e-12, atol=1e-12)


@given(columns(st.integers(-6, 6).map(float)), st.floats(-10.0, 10.0), st.floats(0.1, 10.0))
@example((np.array([0.0, 2.0, 3.0]), np.array([1, 3, 4])), 0.2, 0.7)
def test_far_targets_are_the_same_in_all_units(column, center, scale):
    y, weight = column
    y = np.repeat(y, np.maximum(weight, np.arange(len(y)) == 0))
    found = [(each < low) | (each > high) for each in (y, (y - center) / scale)
             for low, high in [target_fences(each[:, None], np.ones(len(y)))]]
    np.testing.assert_array_equal(*found)


@given(columns(st.integers(-40, 40).map(float)), st.sampled_from([OF_FEATURES, OF_TARGETS, None]))
def test_the_median_of_sparse_data_is_zero(column, gap):
    x, weight = column
    found = np.concatenate(
        fences(sparse.csr_array(x[:, None]), weight.astype(float), gap))
    expected = brute_force(np.repeat(x, weight), 0.0, gap)
    for limit, other, sign in zip(found, expected, (-1.0, 1.0), strict=True):
        # It is infinite where no value is beyond it.
        if np.isinf(limit):
            assert (sign * np.repeat(x, weight) <= max(sign * other, 0.0)).all()
        else:
            assert limit == other


@FORMS
@pytest.mark.parametrize("unit", [0.1, 1e-6, 1 / 3])
def test_fences_do_not_depend_on_the_unit_of_the_weights(form, unit):
    # Exactly a quarter of the samples on a side is beyond the distance that sets the fence.
    X = form(np.arange(1.0, 401.0).reshape(-1, 1) ** 3)
    np.testing.assert_array_equal(fences(X, np.full(400, unit)), fences(X, np.ones(400)))


@FORMS
def test_a_tail_ends_at_a_gap(form):
    x = np.concatenate((np.linspace(1.0, 2.0, 50), 8.0 * 1.9 ** np.arange(8), np.full(2, 1e6)))
    X = np.stack((x, -x), axis=1)
    low, high = fences(form(X), np.ones(len(x)))
    assert high[0] == -low[1] == x[-3]
    # Without the two, nothing is far.
    low, high = fences(form(X[:-2]), np.ones(len(x) - 2))
    assert high[0] == -low[1] == x[-3]


@FORMS
@pytest.mark.parametrize("far", [-1e6, 1e6])
def test_the_only_values_on_a_side_are_not_near_to_themselves(form, far):
    x = np.sign(far) * -np.maximum(np.random.default_rng(0).normal(size=(200, 1)), 0.0)
    before = Scaling.fit(form(x), np.ones(200), True)
    x[[3, 70, 71], 0] = far, 0.6 * far, 0.5 * far
    after = Scaling.fit(form(x), np.ones(200), True)
    assert np.append(after.low, after.high)[int(far > 0)] == 0.0
    np.testing.assert_allclose(after.scale, before.scale, rtol=0.1)


def test_fences_of_many_samples_are_those_of_some_of_them(monkeypatch):
    X, weight = np.random.default_rng(0).normal(size=(5000, 3)), np.ones(5000)
    every = np.array(fences(X, weight))
    monkeypatch.setattr(_winsorize, "_MAX_SAMPLES", 1000)
    monkeypatch.setattr(_winsorize, "_BLOCK_VALUES", 1000)
    np.testing.assert_allclose(fences(X, weight), every, rtol=0.15)


@FORMS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_winsorized_values_lie_between_the_fences(form, dtype):
    X = np.random.default_rng(0).standard_cauchy((60, 3)).astype(dtype)
    X[np.abs(X) < 0.3] = 0.0
    low, high = fences(form(X), np.ones(60))
    found = winsorized(form(X), low, high)
    assert found.dtype == dtype
    assert sparse.issparse(found) == sparse.issparse(form(X))
    found = dense(found)
    np.testing.assert_array_equal(found, np.clip(X, low.astype(dtype), high.astype(dtype)))
    assert not np.array_equal(found, X)


@FORMS
def test_a_far_value_does_not_set_the_scale(form):
    X = np.random.default_rng(0).normal(size=(200, 2))
    before = Scaling.fit(form(X), np.ones(200), True)
    assert before.low is None
    X[7, 1] = 1e30
    after = Scaling.fit(form(X), np.ones(200), True)
    np.testing.assert_allclose(after.scale, before.scale, rtol=0.1)
    np.testing.assert_allclose(after.center, before.center, atol=0.1)


@FORMS
def test_scaled_indicators_are_not_large(form):
    X = np.zeros((1500, 4))
    X[:1, 0] = X[:20, 1] = X[:700, 2] = X[:20, 3] = 1.0
    X[0, 3] = 2.0
    scaling = Scaling.fit(form(X), np.ones(1500), True)
    Z = scaling.transform(form(X))
    assert abs(Z).max() <= MAX_SCALED * (1 + 1e-12)
    assert (scaling.scale[:2] == MIN_TWO_VALUED).all()
    # Frequent ones are in units of their spread.
    center = 0.0 if sparse.issparse(form(X)) else X[:, 2].mean()
    assert scaling.scale[2] == pytest.approx(np.sqrt(np.mean((X[:, 2] - center) ** 2)))


@FORMS
def test_filled_values_do_not_count(form):
    X = np.zeros((500, 2))
    X[:5, 0] = X[:40, 1] = 1.0
    X[7:9, 1] = 100.0
    weight, known = np.ones(500), np.arange(500) < 300
    X[~known] = fill = np.array([0.0125, 0.0125])
    high = fences(form(X), weight, fill=fill)[1]
    assert high[0] >= high[1] == 1.0
    # The same as if these samples were not there.
    assert fences(form(X), weight * known)[1][1] == 1.0
    scaling = Scaling.fit(form(X), weight, True, fill=fill)
    assert scaling.scale[0] == MIN_TWO_VALUED


@pytest.mark.filterwarnings("ignore:X. no feature varies")
@pytest.mark.parametrize("size", [1e-310, 5e-324])
def test_a_spread_that_is_no_normal_number_is_none(size):
    scaling = Scaling.fit(np.array([[0.0], [size]]), np.ones(2), True)
    assert scaling.scale == 1.0


def test_a_problem_without_far_values_is_its_winsorized_one():
    X = np.random.default_rng(0).uniform(size=(50, 2))
    problem = make_problem(X, (X[:, 0] > 0.5).astype(int))
    assert problem.winsorized is problem
    X[3] = 50.0
    problem = make_problem(X, (X[:, 0] > 0.5).astype(int))
    near = problem.winsorized
    assert near.X.max() < 50.0
    assert near.winsorized is near
    assert near.scaling.scale is problem.scaling.scale
    # What is computed is shared, by copies with other seeds, too.
    assert problem.replace(random_state=1).winsorized.data is near.data
    assert problem.part(problem.sample_weight).winsorized.X is near.X


def test_a_forest_winsorizes_only_what_its_trees_read(monkeypatch):
    X = np.random.default_rng(0).uniform(size=(60, 2))
    X[3] = 50.0
    y = (X[:, 0] > 0.5).astype(int)
    calls = []
    monkeypatch.setattr(ngdt._training.problem, "winsorized", lambda X, low, high: (
        calls.append(X) or winsorized(X, low, high)))
    forest = ObliqueForestClassifier(4, optimizer=None, init="info_gain", n_jobs=2, random_state=0)
    forest.fit(X, y)
    assert not calls
    forest.set_params(optimizer=SSGD(epochs=1)).fit(X, y)
    assert len(calls) == 1      # for all trees, whatever thread comes first


def test_far_targets_of_squared_errors_are_winsorized():
    X, y = np.random.default_rng(0).uniform(size=(2, 50, 1))
    y[3] = 50.0
    near = make_problem(X, y, SquaredLoss()).winsorized
    assert near.X is X
    # Halfway between the last value and where values begin to be far.
    (_, last), (_, far) = (fences(y, np.ones(50), gap) for gap in (OF_TARGETS, None))
    assert last == y[np.arange(50) != 3].max()
    assert near.y.max() == near.y[3] == 0.5 * last + 0.5 * far
    assert near.winsorized is near
    np.testing.assert_array_equal(make_problem(X, -y, SquaredLoss()).winsorized.y, -near.y)
    for loss in (AbsoluteLoss(), HuberLoss(1.0)):
        problem = make_problem(X, y, loss)
        assert problem.winsorized is problem


@pytest.mark.parametrize("loss", [LogLoss(), SquaredLoss()])
def test_leaves_are_refitted_to_raw_samples(loss):
    X = np.arange(9.0)[:, None]
    X[8] = 100.0
    y = np.repeat([0, 1, 0], [4, 4, 1])
    problem = make_problem(X, y if loss.is_classifier else y[:, None].astype(float), loss)
    limit = problem.scaling.high[0]
    assert limit == 7.0     # the last value before the gap
    beyond = Tree([[1.0]], [0.5 * (limit + 100.0)], [~0], [~1], np.zeros((2, problem.n_outputs)))
    found = problem._refit_moved(beyond)
    assert found == problem.refit_leaves(beyond)
    # No sample changes its side: the values are what training has made them.
    within = beyond.replace(thresholds=[3.5])
    assert problem._refit_moved(within) is within


@FORMS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", [LogLoss(), SquaredLoss()])
def test_far_values_of_a_row_together_pull_no_more_than_one(loss, dtype, form):
    X = np.random.default_rng(0).normal(size=(200, 5)).astype(dtype)
    X[:8, 4] = 4.0 * 1.5 ** np.arange(8)        # a tail
    X[7, 1] = -1e6                              # with one far value in another feature
    X[50, :3] = [1e6, -1e9, 1e12]
    y = np.arange(200.0)[:, None] % 2
    problem = make_problem(form(X), y, loss)
    near, scaling = dense(problem.winsorized.X), problem.scaling
    pull = np.abs(near - scaling.center) / np.where(
        near > scaling.center, scaling.high - scaling.center, scaling.center - scaling.low)
    np.testing.assert_allclose(pull[50, :3], 1 / 3, rtol=1e-5)
    np.testing.assert_allclose(pull[7, 1], 1.0, rtol=1e-5)
    expected = winsorized(X, scaling.low, scaling.high)
    expected[50, :3] = near[50, :3]
    np.testing.assert_array_equal(near, expected)


@pytest.mark.parametrize("block_values", [10, 2**17])
def test_sparse_features_are_read_together(block_values, monkeypatch):
    X = sparse.random(60, 400, 0.1, "csc", random_state=0)
    X.data = np.random.default_rng(1).standard_cauchy(X.nnz)
    alone = [np.concatenate(each) for each in zip(
        *(fences(X[:, [j]], np.ones(60)) for j in range(400)), strict=True)]
    monkeypatch.setattr(_winsorize, "_BLOCK_VALUES", block_values)
    calls, upper_fences = [], _winsorize._upper_fences
    monkeypatch.setattr(_winsorize, "_upper_fences", lambda *arguments: (
        calls.append(len(arguments[0])), upper_fences(*arguments))[1])
    np.testing.assert_array_equal(fences(X, np.ones(60)), alone)
    assert np.isfinite(alone).any(axis=1).all()
    assert block_values == 10 or len(calls) <= 2 * len(np.unique(np.diff(X.indptr)))
