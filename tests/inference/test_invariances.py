"""Invariances of bounds: numbers of nodes, order of features, form of the samples."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from bound_cases import (
    KINDS,
    ROUGH,
    assert_same_result,
    augmented,
    bound_of,
    diminished,
    each_kind,
    each_loss,
    only,
    take,
    with_tree,
)
from ngdt import Tree
from ngdt._core.structure import balanced_children
from ngdt.inference import (
    loss_augmented_inference,
    surrogate_gradient,
)
from reference import inference as naive

# --- law 8: names do not matter -----------------------------------------------------------------


def assert_same_bounds(problem, other, slack=0.0):
    for inference in KINDS:
        for assignment in (None, problem.assignment):
            a = bound_of(problem, inference, assignment)
            b = bound_of(other, inference, None if assignment is None else other.assignment)
            assert_allclose(a, b, rtol=0, atol=slack)
    assert_allclose(diminished(problem).bound, diminished(other).bound, rtol=0, atol=slack)


@each_loss
@given(data=st.data())
def test_numbers_of_nodes_and_leaves_do_not_matter(loss, data):
    problem = data.draw(only(loss))
    tree = problem.tree
    m = tree.n_internal
    # A new order of the nodes: of those whose parent has a number, always the one first in line.
    line = data.draw(st.permutations(range(m)))
    new_leaf = np.array(data.draw(st.permutations(range(m + 1))))
    order, free = [], [0][:m]
    while free:
        node = min(free, key=line.index)
        free.remove(node)
        order.append(node)
        free += [c for c in (tree.children_left[node], tree.children_right[node]) if c >= 0]
    new_node = np.argsort(np.array(order, dtype=int))

    def renamed(children):
        leaf = new_leaf[np.where(children < 0, ~children, 0)]
        return np.where(children < 0, ~leaf, new_node[np.maximum(children, 0)] if m else children)

    other = Tree(
        tree.weights[order],
        tree.thresholds[order],
        renamed(tree.children_left[order]),
        renamed(tree.children_right[order]),
        tree.values[np.argsort(new_leaf)],
    )
    other = problem._replace(tree=other, assignment=new_leaf[problem.assignment])
    assert_same_bounds(problem, other)
    # Searches visit nodes by price and place in the tree, so even ties end alike.
    for inference in KINDS:
        assert_array_equal(
            new_leaf[augmented(problem, inference).leaf], augmented(other, inference).leaf)


@each_loss
@given(data=st.data())
def test_order_of_features_does_not_matter(loss, data):
    problem = data.draw(only(loss))
    tree = problem.tree
    order = data.draw(st.permutations(range(tree.n_features)))
    other = Tree(
        tree.weights[:, order],
        tree.thresholds,
        tree.children_left,
        tree.children_right,
        tree.values,
    )
    assert_same_bounds(problem, problem._replace(tree=other, X=problem.X[:, order]))


@each_loss
@given(data=st.data())
def test_order_of_classes_does_not_matter(loss, data):
    problem = data.draw(only(loss))
    tree, y = problem.tree, problem.y
    order = np.array(data.draw(st.permutations(range(tree.n_outputs))))
    other = Tree(
        tree.weights,
        tree.thresholds,
        tree.children_left,
        tree.children_right,
        tree.values[:, order],
    )
    if problem.loss.is_classifier:
        y = np.argsort(order)[y]
    elif y.ndim == 2:
        y = y[:, order]
    # The sum over classes of exp(theta) is taken in another order: some units in the last place
    # of losses up to 12. Squared errors are exact.
    slack = 1e-13 if problem.loss.is_classifier or problem.loss.has_log_link else 0.0
    assert_same_bounds(problem, problem._replace(tree=other, y=y), slack)


@each_loss
@given(data=st.data())
def test_left_and_right_do_not_matter(loss, data):
    problem = data.draw(only(loss))
    tree = problem.tree
    # A score of zero goes left in both trees, so it has to be avoided.
    assume((naive.scores(tree, problem.X) != 0).all())
    mirror = Tree(
        -tree.weights, -tree.thresholds, tree.children_right, tree.children_left, tree.values
    )
    assert_same_bounds(problem, with_tree(problem, mirror))


# --- one sample at a time, whatever its form ----------------------------------------------------


@each_loss
@given(data=st.data())
def test_result_of_a_sample_does_not_depend_on_the_others(loss, data):
    problem = data.draw(only(loss) | only(loss, elements=ROUGH))
    n = len(problem.y)
    for inference in KINDS:
        together = augmented(take(problem, np.tile(np.arange(n), 2)), inference)
        for i in range(n):
            alone = augmented(take(problem, [i]), inference)
            for copy in (i, i + n):
                for part in ("leaf", "bound", "n_scored"):
                    assert getattr(together, part)[copy] == getattr(alone, part)[0]


@each_loss
@given(data=st.data())
def test_form_of_the_samples_does_not_matter(loss, data):
    problem = data.draw(only(loss, sparse=st.just(False)))
    forms = [form(problem.X.astype(dtype)) for form in (np.array, csr_array) for dtype in "fd"]
    for inference in KINDS:
        results = [augmented(problem._replace(X=X), inference) for X in forms]
        gradients = [
            surrogate_gradient(problem.tree, X, problem.y, loss=problem.loss, inference=inference)
            for X in forms
        ]
        for result, gradient in zip(results[1:], gradients[1:], strict=True):
            assert_same_result(results[0], result)
            for a, b in zip(gradients[0], gradient, strict=True):
                assert_allclose(a, b, rtol=1e-13, atol=0)


@each_kind
def test_threads_do_not_disturb_each_other(inference):
    rng = np.random.default_rng(0)
    m, n = 63, 2000
    tree = Tree(
        rng.normal(size=(m, 20)), rng.normal(size=m), *balanced_children(64),
        rng.normal(size=(m + 1, 5)))
    X, y = rng.normal(size=(n, 20)), rng.integers(5, size=n)
    alone = loss_augmented_inference(tree, X, y, inference=inference)
    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(
                lambda _: loss_augmented_inference(tree, X, y, inference=inference), range(8)):
            assert_same_result(alone, result)
