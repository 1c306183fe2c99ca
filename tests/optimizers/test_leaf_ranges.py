"""Ranges of linear leaves: those of the targets, narrowed by part of the residuals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import make_problem
from ngdt._methods.linear_leaves.ranges import with_ranges
from ngdt.initializers import InfoGain, ModelTree
from ngdt.optimizers import TAO, LinearLeaves


def noisy_problem(seed=0, n=150, n_targets=1, unit=1.0):
    """A bend in one of two features, with noise that is large on one side, and weights."""
    random = np.random.default_rng(seed)
    X = random.uniform(-1.0, 1.0, (n, 2))
    y = np.abs(X[:, :1]) + random.exponential(0.3, (n, n_targets))
    return make_problem(X, unit * y, "squared_error", random.integers(0, 3, n) + 1.0, max_depth=2)


def linear_tree(problem):
    return LinearLeaves(penalty=1.0).optimize(InfoGain().initialize(problem), problem).tree


@given(st.integers(0, 2**32 - 1), st.integers(1, 2))
def test_limits_are_those_of_targets_less_the_residuals_of_each_side(seed, n_targets):
    problem = noisy_problem(seed, n_targets=n_targets)
    tree = linear_tree(problem)
    tight = with_ranges(tree, problem)
    leaf = problem.apply(tree, problem.training_samples)
    for each in range(tree.n_leaves):
        here = leaf == each
        y, weight = problem.y[here], problem.sample_weight[here]
        residual = y - tree.predict(problem.X[here])
        for sign, limit, most in ((-1.0, tight.ranges[each, :, 0], y.min(axis=0)),
                                  (1.0, tight.ranges[each, :, 1], y.max(axis=0))):
            squares = np.where(sign * residual > 0.0, residual, 0.0) ** 2
            expected = most - sign * 0.6 * np.sqrt(np.average(squares, axis=0, weights=weight))
            middle = 0.5 * (y.min(axis=0) + y.max(axis=0))
            expected = sign * np.maximum(sign * expected, sign * middle)
            np.testing.assert_allclose(limit, expected, rtol=1e-9, atol=1e-12)


def test_the_ranges_before_make_no_difference():
    problem = noisy_problem()
    tree = linear_tree(problem)
    tight = with_ranges(tree, problem)
    assert (tight.ranges[..., 0] > tree.ranges[..., 0]).all()
    assert (tight.ranges[..., 1] < tree.ranges[..., 1]).all()
    np.testing.assert_array_equal(with_ranges(tight, problem).ranges, tight.ranges)
    np.testing.assert_array_equal(with_ranges(tight, problem, margin=0.0).ranges, tree.ranges)


def test_model_trees_and_tao_narrow_the_ranges():
    problem = noisy_problem()
    tree = ModelTree(penalty=1.0).initialize(problem)
    trained = TAO(max_iter=2).optimize(tree, problem).tree
    for each in (tree, trained):
        assert each.slopes is not None
        np.testing.assert_array_equal(each.ranges, with_ranges(each, problem).ranges)
        assert (each.ranges != with_ranges(each, problem, margin=0.0).ranges).all()


def test_targets_without_noise_keep_their_range():
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (100, 2))
    problem = make_problem(X, np.where(X[:, :1] > 0.0, 5.0, 0.0) + X[:, 1:], "squared_error",
                           max_depth=1)
    tree = LinearLeaves(penalty=1e-9, shrink=False).optimize(
        InfoGain().initialize(problem), problem).tree
    np.testing.assert_allclose(with_ranges(tree, problem).ranges, tree.ranges, atol=1e-6)


@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_units_of_targets_scale_the_limits(unit):
    problem, scaled = noisy_problem(), noisy_problem(unit=unit)
    tree = linear_tree(problem)
    other = tree.replace(
        values=tree.values * unit, slopes=tree.slopes * unit, ranges=tree.ranges * unit)
    np.testing.assert_allclose(
        with_ranges(other, scaled).ranges, with_ranges(tree, problem).ranges * unit, rtol=1e-9)


def test_constant_leaves_and_those_without_limits_stay():
    problem = noisy_problem()
    constant = InfoGain().initialize(problem)
    free = LinearLeaves(penalty=1.0, clip=False).optimize(constant, problem).tree
    assert with_ranges(constant, problem) is constant
    assert with_ranges(free, problem) is free


def test_a_leaf_whose_slopes_are_wrong_where_values_are_far_is_constant():
    # Slopes are fitted to the values at the fences, and far from there predict the largest target.
    x = np.append(np.arange(40.0), 1e4 + np.arange(5.0))
    y = np.where(x < 40.0, x, -40.0)
    problem = make_problem(x[:, None], y[:, None], "squared_error", max_depth=0)
    assert problem.winsorized.X.max() < 1e4
    single = InfoGain().initialize(problem)
    tree = single.replace(
        values=[[0.0]], slopes=np.ones((1, 1, 1)), ranges=np.array([[[-40.0, 39.0]]]))
    found = with_ranges(tree, problem)
    np.testing.assert_allclose(found.predict(x[:, None]), y.mean())
    # So far, they are right.
    near = make_problem(x[:40, None], y[:40, None], "squared_error", max_depth=0)
    np.testing.assert_allclose(with_ranges(tree, near).predict(x[:40, None])[:, 0], y[:40])
