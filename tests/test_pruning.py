"""Trees without branches that no sample reaches."""

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from scipy import sparse

from ngdt import Tree
from ngdt.pruning import keep_reached, prune_dead_branches
from ngdt.testing.strategies import problems

# Both splits of the left side send everything right; leaf 3 is reached, leaf 4 is not.
DEAD = Tree(
    [[1.0], [1.0], [1.0], [1.0]], [0.0, -9.0, -8.0, 9.0],
    [1, ~0, ~1, ~3], [3, 2, ~2, ~4], [[0.0], [1.0], [2.0], [3.0], [4.0]])


def children(tree):
    return np.stack([tree.children_left, tree.children_right], axis=1).tolist()


@given(problems(n_samples=st.integers(1, 12)), st.data())
def test_predictions_stay_and_every_leaf_and_split_is_used(problem, data):
    tree, X, _, _ = problem
    weight = data.draw(st.lists(
        st.sampled_from([0.0, 1.0, 2.5]), min_size=X.shape[0], max_size=X.shape[0]).filter(any))
    pruned = prune_dead_branches(tree, X, sample_weight=weight)
    present = np.flatnonzero(weight)
    X = X[present]
    np.testing.assert_array_equal(pruned.predict(X), tree.predict(X))
    # Which leaf is which does not show where values tie: the splits on the way are the same too.
    for before, after in ((tree, pruned), (pruned, pruned)):
        reached = np.unique(before.apply(X))
        np.testing.assert_array_equal(after.values, before.values[reached])
    np.testing.assert_array_equal(
        np.searchsorted(np.unique(tree.apply(X)), tree.apply(X)), pruned.apply(X))
    assert pruned.n_internal == pruned.n_leaves - 1
    assert prune_dead_branches(pruned, X) == pruned
    event(f"leaves removed: {tree.n_leaves - pruned.n_leaves > 0}")
    event(f"splits left: {pruned.n_internal > 0}")


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix, list])
def test_by_hand(form):
    X = form([[-1.0], [-2.0], [3.0]])
    pruned = prune_dead_branches(DEAD, X)
    assert children(pruned) == [[~0, ~1]]
    assert pruned.thresholds.tolist() == [0.0]
    assert pruned.values.tolist() == [[2.0], [3.0]]


def test_a_root_that_decides_nothing_gives_way():
    pruned = prune_dead_branches(DEAD, [[1.0], [10.0]])
    assert children(pruned) == [[~0, ~1]]
    assert pruned.thresholds.tolist() == [9.0]
    assert pruned.values.tolist() == [[3.0], [4.0]]


def test_samples_of_no_weight_are_not_there():
    X = [[-1.0], [-8.5], [3.0]]
    assert prune_dead_branches(DEAD, X).n_leaves == 3
    pruned = prune_dead_branches(DEAD, X, sample_weight=[1.0, 0.0, 1.0])
    assert pruned.values.tolist() == [[2.0], [3.0]]
    pruned = prune_dead_branches(DEAD, X, sample_weight=[0.0, 0.5, 0.0])
    assert pruned.n_internal == 0
    assert pruned.values.tolist() == [[1.0]]


def test_trees_where_all_is_reached_are_returned_as_they_are():
    leaf = Tree(np.empty((0, 2)), [], [], [], [[1.0]])
    assert prune_dead_branches(leaf, [[0.0, 1.0]]) is leaf
    X = [[-10.0], [-8.5], [-1.0], [1.0], [10.0]]
    assert prune_dead_branches(DEAD, X) is DEAD
    assert keep_reached(DEAD, np.ones(5, dtype=bool)) is DEAD


def test_a_long_chain():
    m = 3000        # deeper than Python may recurse
    chain = Tree(np.ones((m, 1)), -np.arange(m), [*range(1, m), ~(m - 1)],
                 [*(~np.arange(m - 1)), ~m], np.arange(m + 1.0)[:, None])
    pruned = prune_dead_branches(chain, [[0.5], [-m]])
    assert pruned.n_internal == 1
    assert pruned.values.tolist() == [[0.0], [m - 1.0]]


@pytest.mark.parametrize(("arguments", "error", "message"), [
    (dict(X=[[1.0, 2.0]]), ValueError, "X has 2 features, but the tree was built for 1"),
    (dict(X=[[np.nan]]), ValueError, "X contains NaN"),
    (dict(X=[[1.0]], sample_weight=[0.0]), ValueError, "sample_weight must not be zero"),
    (dict(X=[[1.0]], sample_weight=[1.0, 1.0]), ValueError, "sample_weight must have shape"),
    (dict(X=[[1.0]], tree="oak"), TypeError, "tree must be an ngdt Tree, got str"),
])
def test_bad_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        prune_dead_branches(**({"tree": DEAD} | arguments))
