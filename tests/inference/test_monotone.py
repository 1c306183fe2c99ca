"""Proofs that trees are monotone, and pairs of samples that refute it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import OptimizeResult
from scipy.special import softmax

from helpers import examples
from ngdt import Tree
from ngdt._core import climbs
from ngdt._training.monotone import nearest_monotone
from ngdt.inference import is_monotone
from ngdt.losses import LogLoss, SquaredLoss
from ngdt.testing import strategies
from reference import monotone
from reference.monotone import (
    assert_agrees_with_grid,
    grid_violations,
    random_directions,
    random_tree,
)

SEEDS = st.integers(0, 2**16)


@st.composite
def trees_with_directions(draw):
    """A tree that need not be monotone, and directions of its features, not all of them zero."""
    tree = draw(strategies.trees(n_features=st.integers(1, 2), n_outputs=st.integers(1, 2)))
    directions = arrays(
        np.int8, tree.n_features, elements=st.sampled_from([0, 1, -1]), fill=st.nothing())
    return tree, draw(directions.filter(np.any))


@given(trees_with_directions())
def test_a_proof_or_a_pair_agrees_with_a_grid(case):
    assert_agrees_with_grid(*case)


@given(trees_with_directions())
def test_monotone_trees_are_proved(case):
    tree, directions = case
    loss = SquaredLoss() if tree.n_outputs == 1 else LogLoss()
    tree = nearest_monotone(tree, directions, np.ones(tree.n_leaves), loss)
    assert is_monotone(tree, directions) == (True, None)
    assert grid_violations(tree, directions) == 0


@examples(0.5)
@given(SEEDS)
def test_a_tree_is_proved_or_refuted_as_brute_force_says(seed):
    random = np.random.default_rng(seed)
    tree, directions = random_tree(random, single=0.3), random_directions(random, 3)
    low, high = np.nonzero(monotone.climbs(tree, directions))
    is_in_order = (tree.values[low] <= tree.values[high]).all()
    assert is_monotone(tree, directions)[0] is bool(is_in_order)


def test_without_a_solution_no_tree_is_refuted(monkeypatch):
    random = np.random.default_rng(0)
    cases = [(random_tree(random, single=0.3), random_directions(random, 3)) for _ in range(30)]
    expected = [is_monotone(*case)[0] for case in cases]
    assert {True, False} <= {*expected}
    monkeypatch.setattr(climbs, "linprog", lambda *_, **__: OptimizeResult(status=1))
    assert [is_monotone(*case)[0] for case in cases] == [each or None for each in expected]


@examples(0.5)
@given(SEEDS, st.sampled_from([1e-150, 1e-30, 1e30, 1e150]))
def test_units_of_features_and_splits_do_not_matter(seed, unit):
    random = np.random.default_rng(seed)
    tree, directions = random_tree(random, single=0.3), random_directions(random, 3)
    expected = is_monotone(tree, directions)[0]
    for changed in (
            tree.replace(weights=unit * tree.weights, thresholds=unit * tree.thresholds),
            tree.replace(weights=unit * tree.weights),
            tree.replace(weights=tree.weights * [1.0, unit, 1.0])):
        assert is_monotone(changed, directions)[0] is expected


def test_a_closed_and_an_open_limit_are_told_apart():
    # x <= 1 is left; then -x <= -1 is left: x is 1 there, which is reached from below.
    tree = Tree([[1.0], [-1.0]], [1.0, -1.0], [1, ~0], [~2, ~1], [[1.0], [2.0], [3.0]])
    assert is_monotone(tree, [1])[0] is False
    ordered = tree.replace(values=[[2.0], [1.0], [3.0]])
    assert is_monotone(ordered, [1]) == (True, None)


def test_an_output_is_chosen():
    tree = Tree([[1.0]], [0.0], [~0], [~1], [[0.0, 1.0, 5.0], [1.0, 0.0, 5.0]])
    assert is_monotone(tree, [1], output=0)[0] is True
    assert is_monotone(tree, [1], output=1)[0] is False
    assert is_monotone(tree, [1], output=2)[0] is True
    for output in (None, 3, 1.0, True):
        with pytest.raises(ValueError, match=rf"^output must be .*, 0\.\.2, .*, got {output}$"):
            is_monotone(tree, [1], output=output)


@pytest.mark.parametrize("cst", [[1, 0], [2], ["a"], [[1]], 1])
def test_constraints_are_checked(cst):
    tree = Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [1.0]])
    with pytest.raises(ValueError, match=r"monotonic_cst must have an entry -1, 0 or 1"):
        is_monotone(tree, cst)
    with pytest.raises(TypeError, match="model must be a Tree, a list of them"):
        is_monotone(None, cst)
    with pytest.raises(ValueError, match="tree must have constant leaves"):
        is_monotone(tree.replace(values=tree.values, slopes=[[[1.0]], [[0.0]]]), [1])


@given(SEEDS, st.integers(1, 2))
def test_the_mean_of_trees_is_proved_or_a_pair_refutes_it(seed, n_outputs):
    random = np.random.default_rng(seed)
    directions = random_directions(random, 3)
    trees = [random_tree(random, n_outputs=n_outputs, most=3) for _ in range(3)]
    is_each = [is_monotone(tree, directions)[0] for tree in trees]
    proved, pair = is_monotone(trees, directions)
    assert (proved is True) == all(is_each)
    assert (pair is not None) == (proved is False)
    if pair is not None:
        low, high = pair
        assert ((high - low) * directions >= 0).all()
        means = np.mean([
            softmax(tree.predict(pair), axis=1)[:, 1] if n_outputs == 2 else
            tree.predict(pair)[:, 0] for tree in trees], axis=0)
        assert means[0] > means[1]


def test_a_mean_may_be_monotone_though_a_tree_is_not():
    rising = Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [3.0]])
    falling = rising.replace(values=[[1.0], [0.0]])
    assert is_monotone([rising, falling], [1]) == (None, None)
    # Elsewhere, the fall of one shows between the samples that are far apart in its leaves.
    for threshold in (-0.5, 0.5):
        proved, pair = is_monotone([rising.replace(thresholds=[threshold]), falling], [1])
        assert proved is False
        assert np.sign(np.array(pair).ravel() - threshold).tolist() == [-np.sign(threshold)] * 2
    assert is_monotone([rising, rising], [1]) == (True, None)
    assert is_monotone([falling, falling], [1])[0] is False
    with pytest.raises(ValueError, match="a list of at least one"):
        is_monotone([], [1])
    with pytest.raises(TypeError, match="model must be a Tree, a list of them"):
        is_monotone([rising, None], [1])
