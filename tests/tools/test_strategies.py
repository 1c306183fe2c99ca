"""Published Hypothesis strategies: their examples, and the smallest ones."""


import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from scipy.sparse import issparse

from ngdt import Tree
from ngdt.losses import LOSSES, HuberLoss, LogLoss, Loss
from ngdt.testing import strategies

# To explain an example, Hypothesis varies each part of it, which is not needed here.
SHRINK = settings(phases=[Phase.generate, Phase.shrink])
PUBLISHED = [name for name in strategies.__all__ if name.islower()]


@pytest.mark.parametrize("name", PUBLISHED)
def test_smallest_example(name):
    """Everything shrinks to a single leaf, one sample, zeros, the first loss."""
    smallest = find(getattr(strategies, name)(), lambda _: True, settings=SHRINK)
    parts = smallest if isinstance(smallest, tuple) else [smallest]
    for part in parts:
        if isinstance(part, Tree):
            assert part == Tree(np.zeros((0, 1)), [], [], [], [[0.0]])
        elif isinstance(part, Loss):
            assert isinstance(part, LogLoss)
        else:
            assert not issparse(part)
            assert_array_equal(part, np.zeros(np.shape(part)))
            assert np.size(part) == 1


def test_trees_shrink_to_a_stump():
    smallest = find(strategies.trees(), lambda tree: tree.max_depth, settings=SHRINK)
    assert smallest == Tree([[0.0]], [0.0], [~0], [~1], [[0.0], [0.0]])


def is_chain(tree):
    return tree.max_depth == tree.n_internal > 3


def is_complete(tree):
    return tree.n_leaves == 2**tree.max_depth > 2


def has_leaves_out_of_order(tree):
    return tree.n_internal == 1 and tree.children_left[0] == ~1


def has_dead_branch(tree):
    return ((tree.weights == 0).all(axis=1) & (tree.thresholds > 0)).any() and tree.n_internal > 1


def test_trees_of_all_shapes_are_drawn():
    missing = {is_chain, is_complete, has_leaves_out_of_order, has_dead_branch}

    def is_last(tree):
        missing.difference_update([wanted for wanted in missing if wanted(tree)])
        return not missing

    find(strategies.trees(), is_last, settings=settings(max_examples=2000, phases=[Phase.generate]))
    assert not missing


@given(problem=strategies.problems())
def test_problems_fit_together(problem):
    tree, X, y, loss = problem
    assert X.shape == (len(y), tree.n_features)
    assert X.dtype in (np.float32, np.float64)
    assert len(loss.encode(y, tree.n_outputs)) == len(y)


@given(
    problem=strategies.problems(
        losses=st.just(HuberLoss(3.0)),
        n_internal=st.just(2),
        n_samples=st.just(5),
        n_features=st.just(4),
        n_outputs=st.just(2),
        elements=st.floats(1.0, 2.0),
        scales=st.just(8.0),
        dtypes=st.just(np.float32),
        sparse=st.just(True),
    )
)
def test_arguments_of_problems(problem):
    tree, X, y, loss = problem
    assert repr(loss) == "HuberLoss(limit=3)"
    assert tree.n_internal == 2
    assert X.shape == (5, 4)
    assert X.dtype == np.float32
    assert X.nnz == 20
    assert y.shape == (5, 2)
    assert ((X.data >= 8) & (X.data <= 16)).all()
    assert ((tree.weights >= 1) & (tree.weights <= 2)).all()
    assert ((tree.thresholds >= 8) & (tree.thresholds <= 16)).all()


@given(
    tree=strategies.trees(
        n_internal=st.integers(2, 3), n_features=st.just(2), n_outputs=st.just(4)
    ),
    dataset=strategies.datasets(
        losses=strategies.losses(names=st.just("log_loss")),
        n_samples=st.just(6),
        n_outputs=st.just(2),
        dtypes=st.just(np.float32),
        sparse=st.just(False),
    ),
    X=strategies.samples(elements=strategies.dyadics(exponents=st.just(3))),
    leaf=strategies.assignments(n_leaves=st.just(2), n_samples=st.just(7)),
)
def test_arguments_of_parts(tree, dataset, X, leaf):
    assert tree.n_internal in (2, 3)
    assert (tree.n_features, tree.n_outputs) == (2, 4)
    assert isinstance(dataset.loss, LogLoss)
    assert dataset.X.dtype == np.float32
    assert len(dataset.X) == len(dataset.y) == 6
    assert set(dataset.y) <= {0, 1}
    assert (X.sum() % 8) == 0
    assert leaf.shape == (7,)
    assert set(leaf) <= {0, 1}


@given(tree=st.from_type(Tree), loss=st.from_type(Loss))
def test_types_are_registered(tree, loss):
    assert isinstance(tree, Tree)
    assert type(loss) in LOSSES.values()


@given(numbers=arrays(np.float64, 4, elements=strategies.dyadics()))
def test_dyadic_sums_do_not_depend_on_their_order(numbers):
    products = np.outer(numbers, numbers).ravel()
    assert products.sum() == products[::-1].cumsum()[-1] == sum(sorted(products.tolist()))
