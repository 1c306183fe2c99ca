"""Leaf values and splits that make trees monotone."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import expit

from helpers import examples, make_problem
from ngdt import Tree
from ngdt._core.climbs import TOLERANCE, Climbs
from ngdt._core.order import refute
from ngdt._core.structure import child_ids
from ngdt._training.monotone import (
    free_nodes,
    freed,
    kinds_of_splits,
    monotone_leaves,
    ordered_by_splits,
    straighten,
)
from ngdt.inference import is_monotone
from ngdt.initializers import RandomComplete, RandomOblique
from ngdt.optimizers import TAO, Annealed
from ngdt.pruning import prune_dead_branches
from ngdt.testing.strategies import trees
from reference import monotone
from reference.monotone import (
    grid_violations,
    random_directions,
    random_tree,
    violations_of_random_pairs,
)

SEEDS = st.integers(0, 2**16)


@given(SEEDS, st.booleans())
def test_nearest_leaf_values_are_monotone(seed, classes):
    random = np.random.default_rng(seed)
    tree = random_tree(random, n_outputs=1 + classes, single=random.choice([0.0, 0.5, 1.0]))
    directions = random_directions(random, 3)
    y = random.integers(0, 2, 200) if classes else random.normal(size=200)
    problem = make_problem(
        random.normal(size=(200, 3)), y, "log_loss" if classes else "squared_error",
        random.exponential(size=200), n_outputs=1 + classes, directions=directions)
    fitted = monotone_leaves(tree, problem)
    assert is_monotone(fitted, directions) == (True, None)
    assert violations_of_random_pairs(random, fitted, directions) == 0
    assert monotone_leaves(fitted, problem) is fitted


@given(trees(n_features=st.integers(1, 2), n_outputs=st.just(1)), SEEDS)
def test_nearest_leaf_values_are_monotone_where_cells_touch(tree, seed):
    random = np.random.default_rng(seed)
    directions = random_directions(random, tree.n_features)
    problem = make_problem(random.normal(size=(20, tree.n_features)), random.normal(size=20),
                           "squared_error", directions=directions)
    fitted = monotone_leaves(tree, problem)
    assert is_monotone(fitted, directions) == (True, None)
    assert grid_violations(fitted, directions) == 0


@examples(0.5)
@given(SEEDS, st.booleans())
def test_nearest_leaf_values_are_those_of_brute_force(seed, classes):
    random = np.random.default_rng(seed)
    X, weight = random.normal(size=(300, 3)), random.uniform(0.5, 2.0, 300)
    tree = prune_dead_branches(random_tree(random, n_outputs=1 + classes, single=0.3), X)
    directions = random_directions(random, 3)
    problem = make_problem(
        X, random.integers(0, 2, 300) if classes else random.normal(size=300),
        "log_loss" if classes else "squared_error", weight, n_outputs=1 + classes,
        directions=directions)
    leaf_weight = np.bincount(tree.apply(X), weight)
    values = tree.values[:, 0] if not classes else expit(tree.values[:, 1] - tree.values[:, 0])
    expected = monotone.isotonic(values, leaf_weight, monotone.climbs(tree, directions))
    fitted = monotone_leaves(tree, problem).values
    fitted = fitted[:, 0] if not classes else expit(fitted[:, 1] - fitted[:, 0])
    np.testing.assert_allclose(fitted, expected, atol=2e-5)


@given(SEEDS)
def test_straight_splits_rise_or_fall_and_are_as_good_as_any_threshold(seed):
    random = np.random.default_rng(seed)
    tree, directions = random_tree(random), random_directions(random, 3)
    X, weight = random.normal(size=(60, 3)).round(1), random.choice([0.5, 1.0, 3.0], 60)
    problem = make_problem(
        X, random.normal(size=60), "squared_error", weight, directions=directions)
    straight = straighten(tree, problem)
    upward = straight.weights * directions
    assert (np.all(upward >= 0, axis=1) | np.all(upward <= 0, axis=1)).all()
    assert ((straight.weights == tree.weights) | (straight.weights == 0)).all()
    assert straighten(straight, problem) is straight
    # All samples reach the root. Products are rounded as those of splits.
    was_right = tree.scores(X)[:, 0] > 0
    product = problem.data.project(problem.training_samples, straight.weights[0])
    costs = [weight[(product > t) != was_right].sum()
             for t in (straight.thresholds[0], product.min() - 1, *product)]
    assert costs[0] <= min(costs) + 1e-9


@examples(0.5)
@given(SEEDS, st.booleans(), st.booleans())
def test_values_in_the_order_of_splits_are_those_of_brute_force(seed, classes, is_straight):
    random = np.random.default_rng(seed)
    tree, directions = random_tree(random, n_outputs=1 + classes), random_directions(random, 3)
    X = random.normal(size=(50, 3))
    problem = make_problem(
        X, random.integers(0, 2, 50) if classes else random.normal(size=50),
        "log_loss" if classes else "squared_error", n_outputs=1 + classes, directions=directions)
    if is_straight:
        tree = straighten(tree, problem)
    weight, kinds = random.uniform(0.5, 2.0, tree.n_leaves), kinds_of_splits(tree, directions)
    sides, upward = tree.ancestors().toarray(), tree.weights * directions
    rises, falls = (upward > 0).any(axis=1), (upward < 0).any(axis=1)
    order = ((sides[:, None] < 0) & (sides > 0) & rises).any(axis=2) | (
        (sides[:, None] > 0) & (sides < 0) & falls).any(axis=2)
    found = ordered_by_splits(tree.values, weight, child_ids(tree), kinds, problem.loss)
    before, after = (
        each[:, 0] if not classes else expit(each[:, 1] - each[:, 0])
        for each in (tree.values, found))
    np.testing.assert_allclose(after, monotone.isotonic(before, weight, order), atol=2e-5)
    # The order of the splits is at least that of the climbs.
    low, high = np.nonzero(monotone.climbs(tree, directions))
    assert order[low, high].all()


def test_features_without_a_direction_stay_where_they_are_on_a_climb():
    # The root asks for x1, which may rise; its sides ask x0 > 2 and x0 > 0.
    tree = Tree([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]], [0.0, 2.0, 0.0], [1, ~0, ~2], [2, ~1, ~3],
                [[0.0]] * 4)
    climbs = Climbs(tree, np.array([0.0, 1.0]))
    found = climbs.can_climb(np.array([0, 0, 1, 1]), np.array([2, 3, 2, 3]))
    np.testing.assert_array_equal(found, [True, True, False, True])


def test_no_climb_leads_to_a_leaf_whose_limits_are_equal():
    # Only samples beyond the root's threshold, which are not there, would reach the leaf ~1.
    tree = Tree([[1.0], [1.0]], [0.0, 0.0], [1, ~0], [~2, ~1], [[0.0], [5.0], [1.0]])
    assert refute(tree, np.array([1.0])) == (True, None)


@examples(0.5)
@given(SEEDS)
@example(451)   # a cell is empty
@example(328)   # least squares decide both ways
def test_least_squares_and_linear_programs_find_the_same_climbs(seed):
    random = np.random.default_rng(seed)
    tree = random_tree(random, single=random.choice([0.0, 0.5, 1.0]))
    climbs = Climbs(tree, random_directions(random, 3))
    low, high = np.nonzero(climbs.possible)
    expected = climbs.violations(low, high)[0] <= TOLERANCE
    np.testing.assert_array_equal(climbs.can_climb(low, high), expected)
    decided = [climbs._decide(*pair) for pair in zip(low, high, strict=True)]
    assert sum(each is None for each in decided) <= 0.1 * len(low) + 1

    def fail(*_):
        raise RuntimeError("Maximum number of iterations reached.")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ngdt._core.climbs.nnls", fail)
        np.testing.assert_array_equal(climbs.can_climb(low, high), expected)


def test_equal_leaves_are_one_block():
    # The mean of 0.1, with these weights, is less than 0.1 by rounding.
    values, weight = np.full((3, 1), 0.1), np.array([0.7, 0.4, 0.1])
    problem = make_problem(np.zeros((1, 1)), np.zeros(1), "squared_error")
    found = ordered_by_splits(
        values, weight, np.array([[1, 2], [3, 4]]), np.ones(2, dtype=int), problem.loss)
    np.testing.assert_allclose(found, values)


def test_many_leaves_are_monotone_in_no_time():
    random = np.random.default_rng(0)
    X, directions = random.normal(size=(3000, 3)), np.array([1, -1, 0], dtype=np.int8)
    problem = make_problem(
        X, X @ directions + X[:, 2] + random.normal(size=3000), "squared_error",
        directions=directions)
    tree = RandomOblique(1, n_nonzero=2).initialize(
        problem.replace(directions=None).limited(min_samples_leaf=2))
    tree = straighten(tree, problem)
    assert tree.n_leaves > 500
    fitted = monotone_leaves(tree, problem)
    assert is_monotone(fitted, directions) == (True, None)
    assert monotone_leaves(fitted, problem) is fitted
    constant = tree.replace(values=np.full((tree.n_leaves, 1), problem.y.mean()))
    samples = problem.training_samples
    assert problem.errors(fitted, samples).mean() < problem.errors(constant, samples).mean()


@given(SEEDS, st.integers(1, 3))
@examples(0.2)
def test_splits_of_free_levels_stay_without_features_with_a_direction(seed, levels):
    random = np.random.default_rng(seed)
    X = random.normal(size=(200, 4))
    y = X.sum(axis=1) + X[:, 0] * X[:, 2] + random.normal(size=200)
    problem = make_problem(X, y, "squared_error", directions=np.array([1, -1, 0, 0], dtype=np.int8))
    problem = problem.replace(free_levels=levels, random_state=seed)
    tree = freed(RandomComplete(max_depth=4).initialize(problem), problem)
    # A split that sends all samples to one side would be replaced by one of a deeper level.
    with (mock.patch("ngdt._methods.soft.run.keep_reached", lambda tree, _: tree),
          mock.patch("ngdt._methods.tao.tao.keep_reached", lambda tree, _: tree)):
        annealed = Annealed(steps=30).optimize(tree, problem).tree
        trained = TAO(C=10.0, max_iter=3).optimize(annealed, problem).tree
    for each in (tree, annealed, trained):
        assert free_nodes(each, problem)[each.node_depths() == 0].all()
    # The others use these features.
    assert not free_nodes(annealed, problem.replace(free_levels=9)).all()
    fitted = monotone_leaves(straighten(trained, problem), problem)
    assert is_monotone(fitted, problem.directions) == (True, None)
