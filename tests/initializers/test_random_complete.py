"""RandomComplete: random splits of a complete tree, and the leaves that fit them."""

import numpy as np
import pytest

from helpers import FORMS, iris_problem
from ngdt._core.scaling import Scaling
from ngdt.initializers import RandomComplete
from ngdt.losses import LogLoss


@pytest.fixture
def problem():
    return iris_problem(max_depth=4)


@FORMS
@pytest.mark.parametrize("standardize", [True, "global", False])
def test_random_complete(form, standardize):
    problem = iris_problem(LogLoss(), form, max_depth=4, standardize=standardize)
    tree = RandomComplete(5).initialize(problem)
    assert (tree.n_internal, tree.n_leaves, tree.max_depth) == (31, 32, 5)
    assert np.bincount(tree.node_depths()).tolist() == [1, 2, 4, 8, 16]
    scaling = Scaling.fit(problem.X, problem.sample_weight, standardize)
    rows = np.column_stack(scaling.to_scaled(tree.densify().weights, tree.thresholds))
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, rtol=1e-9)
    rows = np.abs(rows).mean(axis=0)
    assert rows.max() < 2 * rows.min()      # no feature comes before another, nor the threshold
    train = problem.sample_weight > 0
    leaf = tree.apply(problem.X)
    np.testing.assert_array_equal(tree.values, problem.loss.fit_leaves(
        leaf[train], problem.y[train], problem.sample_weight[train], 32, 3))
    empty = np.setdiff1d(np.arange(32), leaf[train])
    unsplit = RandomComplete(0).initialize(problem)
    np.testing.assert_allclose(tree.values[empty], np.tile(unsplit.values, (len(empty), 1)))
    assert len(empty) > 0


def test_random_complete_depends_on_the_seed_alone(problem):
    one, same, other = (RandomComplete().initialize(problem.replace(random_state=seed))
                        for seed in (3, 3, 4))
    assert one == same
    assert not np.array_equal(one.weights, other.weights)
    held_out_lies = problem.replace(y=np.where(problem.sample_weight[:, None] > 0, problem.y, 0.0))
    assert RandomComplete().initialize(held_out_lies.replace(random_state=3)) == one


@pytest.mark.parametrize(("own", "of_problem", "depth"), [
    (None, 3, 3), (None, None, 8), (2, 3, 2), (4, None, 4), (0, 3, 0), (None, 0, 0), (None, 21, 8),
    (9, 3, 9)])
def test_depth_of_random_complete(problem, own, of_problem, depth):
    assert RandomComplete(own).initialize(problem.limited(max_depth=of_problem)).max_depth == depth


@pytest.mark.parametrize(("max_leaf_nodes", "depth"), [(1, 0), (2, 1), (4, 2), (5, 3), (999, 8)])
def test_no_deeper_than_so_many_leaves_need(problem, max_leaf_nodes, depth):
    limited = problem.limited(max_depth=None, max_leaf_nodes=max_leaf_nodes)
    assert RandomComplete().initialize(limited).max_depth == depth


def several(problem, n_outputs, n_copies):
    """A problem of many classes with so many copies of each sample."""
    return problem.limited(max_depth=None).replace(n_outputs=n_outputs, validation_weight=None, **{
        name: np.repeat(values, n_copies, axis=0) for name, values in (
            ("X", problem.X), ("y", problem.y), ("sample_weight", np.ones(len(problem.y))))})


def test_many_classes_get_more_levels(problem):
    many = several(problem, 32, 7)      # 32 leaves each
    assert RandomComplete().initialize(many).max_depth == 10
    assert RandomComplete().initialize(many.limited(max_depth=9)).max_depth == 9


def test_many_classes_get_no_more_leaves_than_samples(problem):
    assert RandomComplete().initialize(several(problem, 1000, 1)).max_depth == 8
    many = several(problem, 1000, 7)
    assert len(many.y) == 1050
    assert RandomComplete().initialize(many).max_depth == 10
    few = many.replace(sample_weight=np.where(np.arange(1050) < 500, 1.0, 0.0))
    assert RandomComplete().initialize(few).max_depth == 9
