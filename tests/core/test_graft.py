"""Trees in the place of leaves, and first splits that stay."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_iris

from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt._core.structure import balanced_children
from ngdt.testing.strategies import trees

TOP = Tree([[1.0, 0.0]], [0.0], [~0], [~1], [[0.0], [0.0]])


@given(st.data())
def test_samples_go_through_the_tree_and_then_through_the_other(data):
    p, k = st.just(data.draw(st.integers(1, 3))), st.just(data.draw(st.integers(1, 2)))
    any_tree = trees(n_features=p, n_outputs=k, linear_leaves=st.booleans(),
                     sparse_weights=st.booleans())
    top = data.draw(any_tree)
    chosen = data.draw(st.lists(st.integers(0, top.n_leaves - 1), unique=True))
    below = {leaf: data.draw(any_tree | st.just(top)) for leaf in chosen}
    joined = top.replace_leaves(below)
    X = np.random.default_rng(0).normal(size=(40, top.n_features)) * 3
    leaf, expected = top.apply(X), top.predict(X)
    for each, tree in below.items():
        if (here := leaf == each).any():
            expected[here] = tree.predict(X[here])
    np.testing.assert_array_equal(joined.predict(X), expected)
    assert joined.n_leaves == top.n_leaves + sum(tree.n_leaves - 1 for tree in below.values())
    assert (joined.slopes is None) == all(
        tree.slopes is None for tree in
        [*below.values(), *([top] if len(below) < top.n_leaves else [])])


def test_no_leaf_is_no_change():
    by_level = Tree(np.ones((7, 1)), np.arange(7), *balanced_children(8), np.ones((8, 1)))
    for tree in (TOP, by_level):
        assert tree.replace_leaves({}) == tree


@pytest.mark.parametrize(("trees", "error", "message"), [
    ({2: TOP}, ValueError, "there is no leaf 2: leaves are 0 to 1"),
    ({-1: TOP}, ValueError, "there is no leaf -1"),
    ({0: "tree"}, TypeError, "tree must be an ngdt Tree, got str"),
    ([TOP, TOP], TypeError, "trees must be a dict of numbers of leaves to trees, got list"),
    ({0: Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [0.0]])}, ValueError,
     "the tree for leaf 0 has n_features=1 and n_outputs=1, not 2"),
    ({1: Tree([[1.0, 1.0]], [0.0], [~0], [~1], [[0.0, 1.0], [0.0, 1.0]])}, ValueError,
     "the tree for leaf 1 has n_features=2 and n_outputs=2, not 2 and 1"),
])
def test_wrong_trees(trees, error, message):
    with pytest.raises(error, match=message):
        TOP.replace_leaves(trees)


@pytest.mark.parametrize(("estimator", "load"), [
    (ObliqueTreeClassifier, load_iris), (ObliqueTreeRegressor, load_diabetes)])
def test_a_first_split_of_your_own_stays(estimator, load):
    X, y = (part[:150] for part in load(return_X_y=True))
    column, threshold = 1, np.median(X[:, 1])
    n_outputs = len(np.unique(y)) if estimator is ObliqueTreeClassifier else 1
    top = Tree([1.0 * (np.arange(X.shape[1]) == column)], [threshold], [~0], [~1],
               np.zeros((2, n_outputs)))
    side = top.apply(X)
    below = [estimator(max_depth=3, random_state=0).fit(X, y, sample_weight=side == k)
             for k in (0, 1)]
    tree = estimator(init=top.replace_leaves({k: below[k].tree_ for k in (0, 1)}),
                     optimizer=None).fit(X, y)
    assert np.flatnonzero(tree.tree_.weights[0]).tolist() == [column]
    assert tree.tree_.weights[0, column] == 1.0
    assert tree.tree_.thresholds[0] == threshold
    assert tree.get_n_leaves() == sum(each.get_n_leaves() for each in below)
    for k in (0, 1):
        np.testing.assert_allclose(
            tree.predict(X[side == k]), below[k].predict(X[side == k]), rtol=1e-9)
