"""Growth without Python, against `build` and thresholds one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import FORMS, make_problem
from ngdt._core.greedy.splitter import Splitter
from ngdt._methods.random.oblique import ObliqueBuilder
from ngdt._training.problem import Limits
from ngdt.initializers import RandomOblique
from reference import random_oblique

LIMITS = st.fixed_dictionaries({}, optional={
    "max_depth": st.integers(0, 4), "min_samples_split": st.integers(2, 20),
    "min_samples_leaf": st.integers(1, 9), "max_leaf_nodes": st.integers(2, 9),
    "min_impurity_decrease": st.floats(0.0, 0.2)})


@FORMS
@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(seed=st.integers(0, 99), limits=LIMITS, n_nonzero=st.sampled_from([1, 2, 3, 6]))
def test_trees_are_those_of_the_builder(form, loss, dtype, seed, limits, n_nonzero):
    random = np.random.default_rng(seed)
    X = random.integers(-2, 3, (60, 6)).astype(dtype)
    y = random.integers(0, 3, 60)
    problem = make_problem(
        form(X), y, loss, random.integers(0, 3, 60) * 1.0, random_state=seed, **limits)
    tree = RandomOblique(4, n_nonzero=n_nonzero).initialize(problem)
    assert tree == random_oblique.grow(problem, 4, n_nonzero)


def builder(n_nonzero=2, y=None, **limits):
    random = np.random.default_rng(0)
    X, samples = random.normal(size=(40, 3)), np.arange(40, dtype=np.int32)
    splitter = Splitter(
        X, random.normal(size=(40, 1)) if y is None else y, np.ones(40), 1, "variance")
    return ObliqueBuilder(splitter, samples, n_nonzero, Limits(**limits), 0.0), samples, X


def directions(n_sets):
    random = np.random.default_rng(1)
    features = np.argsort(random.random((n_sets, 5, 3)), axis=2)[:, :, :2].astype(np.int32)
    return features, random.normal(size=(n_sets, 5, 2))


@pytest.mark.parametrize("step", [1, 3, 100])
def test_directions_may_come_in_parts(step):
    features, weights = directions(60)
    (whole, samples, _), (parts, again, _) = builder(), builder()
    assert whole.grow(features, weights)
    done = [parts.grow(features[i:i + step], weights[i:i + step]) for i in range(0, 60, step)]
    assert done[-1]
    for one, other in zip(whole.result(), parts.result(), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(samples, again)
    assert sorted(samples) == list(range(40))
    assert whole.result()[-1].tolist() == [1] * 40


def test_a_tree_that_is_stopped_has_the_splits_found_so_far():
    part, samples, X = builder()
    assert not part.grow(*directions(7))
    part.stop()
    used, weights, thresholds, *_, n_at_leaf = part.result()
    assert len(thresholds) == 7
    assert n_at_leaf.sum() == 40
    goes_right = (X[:, used[0]] * weights[0]).sum(axis=1) > thresholds[0]
    n_left = np.flatnonzero(np.isin(samples, np.flatnonzero(goes_right)))[0]
    assert set(samples[:n_left]) == set(np.flatnonzero(~goes_right))


def test_pure_nodes_and_small_ones_need_no_directions():
    none = directions(0)
    for limits in ({"y": np.ones((40, 1))}, {"max_depth": 0}, {"min_samples_split": 41},
                   {"min_samples_leaf": 21}):
        root, _, _ = builder(**limits)
        assert root.grow(*none)
        assert root.result()[-1].tolist() == [40]


def test_products_that_overflow_are_not_split():
    # In float64 the sum of each sample is infinite, or NaN from two sums of opposite signs.
    X = np.c_[np.random.default_rng(0).normal(size=(60, 3)), np.full((60, 20), 1.7e308)]
    problem = make_problem(X, np.arange(60) % 2, "log_loss", random_state=0)
    assert np.isfinite(RandomOblique(3000).initialize(problem).thresholds).all()

    features, weights = directions(300)
    weights[1:] = np.inf, -np.inf
    root, samples, _ = builder(max_leaf_nodes=10**6)
    assert root.grow(features, weights)
    assert len(root.result()[-1]) == 2
    assert sorted(samples) == list(range(40))
