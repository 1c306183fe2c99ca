"""Quantiles of the targets in the leaves: against numpy, and the law of a fitted tree."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from ngdt import ObliqueTreeRegressor
from ngdt._core.quantiles import LeafQuantiles
from ngdt.losses import QuantileLoss
from ngdt.optimizers import SSGD
from ngdt.testing.strategies import dyadics

# Of these, the share of the samples at a tie is exact, for numpy, too.
QUANTILES = np.linspace(0.0, 1.0, 17)


def of_numpy(y, weight):
    """Quantiles of targets that are repeated as often as their weights say."""
    repeated = np.repeat(y, weight.astype(int), axis=0)
    return np.quantile(repeated, QUANTILES, axis=0, method="averaged_inverted_cdf")


@st.composite
def samples(draw):
    n, k, n_leaves = draw(st.integers(1, 12)), draw(st.integers(1, 2)), draw(st.integers(1, 4))
    leaf = draw(arrays(np.int32, n, elements=st.integers(0, n_leaves - 1)))
    y = draw(arrays(np.float64, (n, k), elements=dyadics()))
    weight = draw(arrays(np.float64, n, elements=st.integers(0, 3)).filter(np.any))
    return leaf, y, weight, n_leaves


@given(samples())
def test_quantiles_are_those_of_numpy(drawn):
    leaf, y, weight, n_leaves = drawn
    found = LeafQuantiles.fit(leaf, y, weight, n_leaves).quantiles(QUANTILES)
    assert (np.diff(found, axis=1) >= 0).all()
    for j in range(n_leaves):
        here = (leaf == j) if weight[leaf == j].any() else np.full(len(leaf), True)
        assert_array_equal(found[j], of_numpy(y[here], weight[here]))


@given(samples(), st.data())
def test_leaves_may_be_taken_and_pooled(drawn, data):
    leaf, y, weight, n_leaves = drawn
    first = LeafQuantiles.fit(leaf, y, weight, n_leaves)
    rows = np.array(data.draw(st.lists(st.integers(0, n_leaves - 1), min_size=1, max_size=5)))
    assert_array_equal(
        first.take(rows).quantiles(QUANTILES), first.quantiles(QUANTILES)[rows])
    same = LeafQuantiles.pool([first, first, first])
    assert_array_equal(same.quantiles(QUANTILES), first.quantiles(QUANTILES))
    # Two trees, of one leaf each, with different targets: half of the weight is that of each.
    one = LeafQuantiles.fit(np.zeros(2, int), np.array([[1.0], [2.0]]), np.ones(2), 1)
    other = LeafQuantiles.fit(np.zeros(1, int), np.array([[3.0]]), np.full(1, 9.0), 1)
    pooled = LeafQuantiles.pool([one, other]).quantiles([0.2, 0.3, 0.6])
    assert_array_equal(pooled[0, :, 0], [1.0, 2.0, 3.0])


@pytest.mark.parametrize("max_stored", [2, 64, 512])
def test_of_many_targets_only_some_are_kept(max_stored):
    rng = np.random.default_rng(0)
    leaf, y = rng.integers(0, 2, 4000), rng.normal(size=(4000, 2))
    leaf[:5] = 2
    leaf[5:2000] *= 0
    weight = rng.uniform(0.5, 2.0, 4000)
    every = LeafQuantiles.fit(leaf, y, weight, 3)
    some = LeafQuantiles.fit(leaf, y, weight, 3, max_stored=max_stored)
    assert np.diff(some.offsets).max() == max_stored
    assert_array_equal(some.quantiles([0.0, 1.0]), every.quantiles([0.0, 1.0]))
    levels = np.linspace(0.0, 1.0, 31)
    found, slack = some.quantiles(levels), 0.6 / (max_stored - 1) + 1e-3
    low, high = (every.quantiles(np.clip(levels + by, 0, 1)) for by in (-slack, slack))
    assert ((found >= low) & (found <= high)).all()


def test_a_heavy_leaf_does_not_round_a_light_one_away():
    leaf, y = np.array([0, 0, 1, 1, 1]), np.array([[5.0], [6.0], [1.0], [2.0], [3.0]])
    found = LeafQuantiles.fit(leaf, y, np.array([1e30, 1e30, 1e-30, 1e-30, 1e-30]), 2)
    assert_array_equal(found.quantiles([0.5])[:, 0, 0], [5.5, 2.0])


# --- the estimator --------------------------------------------------------------------------------


@pytest.mark.parametrize(("optimizer", "n_targets"), [
    (None, 1), (None, 2), ("tao", 2), (SSGD(epochs=5), 1), (SSGD(epochs=5), 2), ("auto", 1)],
    ids=str)
def test_a_tree_predicts_the_quantiles_of_its_leaves(optimizer, n_targets, diabetes):
    X, y = diabetes[0][::2], diabetes[1][::2]
    y = y if n_targets == 1 else np.column_stack([y, X[:, 0]])
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    tree = ObliqueTreeRegressor(4, optimizer=optimizer, leaf="constant", random_state=0)
    found = tree.fit(X, y, weight).predict_quantiles(X, QUANTILES)
    assert found.shape == (*y.shape[:1], len(QUANTILES), *y.shape[1:])
    leaf = tree.apply(X)
    for j in np.unique(leaf[weight > 0]):
        expected = of_numpy(y[leaf == j], weight[leaf == j])
        assert_allclose(found[leaf == j][0], expected, rtol=1e-12, atol=1e-12)
    again = pickle.loads(pickle.dumps(tree))
    assert_array_equal(again.predict_quantiles(X[:3]), tree.predict_quantiles(X[:3]))


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_a_tree_trained_for_a_quantile_predicts_it(quantile, diabetes):
    X, y = diabetes
    tree = ObliqueTreeRegressor(
        3, loss=QuantileLoss(quantile), optimizer="tao", validation_fraction=None, random_state=0)
    found = tree.fit(X, y).predict_quantiles(X, [quantile])[:, 0]
    assert_allclose(tree.predict(X), found, rtol=1e-12)


def test_partial_fit_and_warm_start_renew_the_quantiles(diabetes):
    X, y = diabetes
    tree = ObliqueTreeRegressor(2, optimizer="ssgd", random_state=0)
    for rows in (slice(0, 200), slice(200, 442)):
        tree.partial_fit(X[rows], y[rows])
        leaf = tree.apply(X[rows])
        largest = tree.predict_quantiles(X[rows], [1.0])[:, 0]
        for j in np.unique(leaf):
            assert_allclose(largest[leaf == j], y[rows][leaf == j].max())
    tree.set_params(warm_start=True).fit(X[:100], y[:100] + 1000)
    assert tree.predict_quantiles(X[:100], [0.0]).min() > 1000


@pytest.mark.parametrize("quantiles", [[-0.1], [1.1], [np.nan], 0.5, [], "x", [[0.5]]])
def test_quantiles_out_of_range_are_refused(quantiles, diabetes):
    tree = ObliqueTreeRegressor(1, optimizer=None).fit(*diabetes)
    with pytest.raises((ValueError, TypeError), match="quantiles"):
        tree.predict_quantiles(diabetes[0], quantiles)


def test_percentages_are_refused_with_what_to_give():
    model = ObliqueTreeRegressor(optimizer=None).fit([[0.0], [1.0]], [0.0, 1.0])
    with pytest.raises(ValueError, match=r"such as 0\.05 for 5 %, got \[5\.0, 95\.0\]"):
        model.predict_quantiles([[0.0]], [5, 95])


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_sizes_are_as_numpy_repeats(dtype):
    leaves = LeafQuantiles.fit(np.array([0, 1, 1]), np.array([[1.0], [2.0], [4.0]]), np.ones(3), 2)
    other = LeafQuantiles(leaves.targets, leaves.shares, leaves.offsets.astype(dtype), leaves.group)
    assert other.sizes([1, 0]).dtype == np.intp
    assert_array_equal(other.sizes([1, 0]), [2, 1])
