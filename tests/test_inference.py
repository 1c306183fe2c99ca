"""The laws of the bounds, each once, over random trees and against brute force.

The numbers of most tests are dyadic: scores, prices and squared errors are exact there, whatever
the order of a sum, so that both sides of an equation are compared bit for bit. The logarithms of
the log loss are taken from the package on both sides; `test_losses` compares them with numpy's.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import naive
import numpy as np
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from ngdt import Tree
from ngdt.inference import (
    cost_diminished_inference,
    empirical_loss,
    loss_augmented_inference,
    soft_predict_proba,
    surrogate_gradient,
    upper_bound,
)
from ngdt.losses import LOSSES
from ngdt.testing.strategies import assignments, problems

KINDS = ["fast", "full"]
each_loss = pytest.mark.parametrize("loss", LOSSES)
each_kind = pytest.mark.parametrize("inference", KINDS)


class Case(NamedTuple):
    """A problem, and any leaf for any sample."""

    tree: Tree
    X: object
    y: np.ndarray
    loss: object
    assignment: np.ndarray


@st.composite
def only(draw, loss, **strategies):
    """Cases with one loss."""
    problem = draw(problems(losses=st.just(LOSSES[loss]()), **strategies))
    n_leaves, n_samples = st.just(problem.tree.n_leaves), st.just(len(problem.y))
    return Case(*problem, draw(assignments(n_leaves=n_leaves, n_samples=n_samples)))


def tables(problem):
    """Scores by numpy, and the loss of every leaf: what the brute force starts from."""
    tree, X, y, loss, _ = problem
    target = loss.encode(y, tree.n_outputs)
    table = np.empty((len(target), tree.n_leaves))
    for leaf in range(tree.n_leaves):
        table[:, leaf] = loss.value(np.tile(tree.values[leaf], (len(target), 1)), target)
    return naive.scores(tree, X), table


def take(problem, rows):
    X, y, assignment = (array[rows] for array in (problem.X, problem.y, problem.assignment))
    return problem._replace(X=X, y=y, assignment=assignment)


def with_tree(problem, tree):
    return problem._replace(tree=tree)


def scaled(tree, alpha):
    return Tree(
        tree.weights * alpha,
        tree.thresholds * alpha,
        tree.children_left,
        tree.children_right,
        tree.values,
    )


def loss_of(problem):
    tree, X, y, loss, _ = problem
    return empirical_loss(tree, X, y, loss=loss)


def bound_of(problem, inference, assignment=None):
    tree, X, y, loss, _ = problem
    return upper_bound(tree, X, y, loss=loss, inference=inference, assignment=assignment)


def augmented(problem, inference, prune=True):
    tree, X, y, loss, _ = problem
    return loss_augmented_inference(tree, X, y, loss=loss, inference=inference, prune=prune)


def diminished(problem, prune=True):
    tree, X, y, loss, _ = problem
    return cost_diminished_inference(tree, X, y, loss=loss, prune=prune)


def assert_same_result(a, b):
    assert_array_equal(a.leaf, b.leaf)
    assert_array_equal(a.flips.toarray(), b.flips.toarray())
    assert_array_equal(a.bound, b.bound)


# Arbitrary floats of ordinary size. What is compared exactly on these holds in floating point too:
# both sides add the same rounded numbers in the same order.
ROUGH = st.floats(-1e3, 1e3)


# --- law 1: loss <= fast <= full, and each <= its stable bound ----------------------------------


@each_loss
@given(data=st.data())
def test_bounds_are_ordered(loss, data):
    problem = data.draw(only(loss) | only(loss, elements=ROUGH))
    fast, full = (bound_of(problem, inference) for inference in KINDS)
    # No slack: the fast search maximises over fewer leaves, at the very prices of the full one,
    # and eq. (14) adds a number that is not negative.
    assert (loss_of(problem) <= fast).all()
    assert (fast <= full).all()
    assert (fast <= bound_of(problem, "fast", problem.assignment)).all()
    assert (full <= bound_of(problem, "full", problem.assignment)).all()


# --- law 2: assigned to its own leaf ------------------------------------------------------------


@each_loss
@each_kind
@given(data=st.data())
def test_stable_bound_of_the_navigated_leaf_is_the_bound(loss, inference, data):
    problem = data.draw(only(loss) | only(loss, elements=ROUGH))
    stable = bound_of(problem, inference, problem.tree.apply(problem.X))
    assert_array_equal(stable, bound_of(problem, inference))


# --- law 3: Proposition 1 -----------------------------------------------------------------------


@each_loss
@each_kind
@given(data=st.data(), exponent=st.integers(1, 6))
def test_bound_does_not_grow_with_the_scale(loss, inference, data, exponent):
    problem = data.draw(only(loss) | only(loss, elements=ROUGH))
    # A power of two scales every rounded sum exactly, so no slack is needed.
    larger = with_tree(problem, scaled(problem.tree, 2.0**exponent))
    assert (bound_of(larger, inference) <= bound_of(problem, inference)).all()


@each_loss
@each_kind
@given(data=st.data(), alpha=st.floats(1.0, 10.0))
def test_bound_does_not_grow_with_any_scale(loss, inference, data, alpha):
    problem = data.draw(only(loss, scales=st.just(1.0)))
    larger = with_tree(problem, scaled(problem.tree, alpha))
    # alpha * W is rounded, so that an exact tie or a score of zero may fall to the other side by
    # an error in the last place of the scores, which are below 100 * alpha.
    assume((naive.scores(problem.tree, problem.X) != 0).all())
    assert (bound_of(larger, inference) <= bound_of(problem, inference) + 1e-11).all()


@each_loss
@each_kind
@given(data=st.data())
def test_bound_falls_to_the_loss_as_the_scale_grows(loss, inference, data):
    problem = data.draw(only(loss))
    assume((naive.scores(problem.tree, problem.X) != 0).all())
    # A flip now costs at least 2**(1 + 80 - 2 - 40), far more than any loss here.
    steep = with_tree(problem, scaled(problem.tree, 2.0**80))
    assert_array_equal(bound_of(steep, inference), loss_of(problem))


def test_stable_bound_is_not_monotone_in_the_scale():
    tree = Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [3.0]])
    bounds = [
        upper_bound(scaled(tree, alpha), [[1.0]], [3.0], loss="squared", assignment=[0]).item()
        for alpha in (1.0, 2.0, 8.0)
    ]
    # loss 9 of the other leaf - price + price of the assigned leaf, until loss 0 + price wins
    assert bounds == [9.0, 9.0, 16.0]


# --- law 4: brute force -------------------------------------------------------------------------


@each_loss
@each_kind
@given(data=st.data())
def test_bound_is_the_brute_force_maximum(loss, inference, data):
    problem = data.draw(only(loss))
    scores, table = tables(problem)
    expected = naive.upper_bound(problem.tree, scores, table, inference)
    assert_array_equal(bound_of(problem, inference), expected)
    price = naive.price(problem.tree, scores, problem.assignment)
    assert_array_equal(bound_of(problem, inference, problem.assignment), expected + price)
    navigated = naive.leaves(problem.tree, naive.decisions(scores))
    assert_array_equal(loss_of(problem), table[np.arange(len(table)), navigated])
    event(f"another leaf wins: {(expected > loss_of(problem)).any()}")


@each_loss
@each_kind
@given(data=st.data())
def test_bound_is_the_brute_force_maximum_up_to_rounding(loss, inference, data):
    problem = data.draw(only(loss, elements=ROUGH))
    scores, table = tables(problem)
    # Scores taken from the tree: a sign may turn on the last place of a sum.
    scores = problem.tree.scores(problem.X)
    expected = naive.upper_bound(problem.tree, scores, table, inference)
    # Sums of at most seven terms in another order; losses and prices cancel in the difference.
    slack = 1e-14 * (np.abs(scores).sum(axis=1) + table.max(axis=1))
    assert (np.abs(bound_of(problem, inference) - expected) <= slack).all()


@each_loss
@each_kind
@given(data=st.data())
def test_pruning_changes_nothing_but_the_work(loss, inference, data):
    problem = data.draw(only(loss) | only(loss, elements=ROUGH))
    pruned, unpruned = augmented(problem, inference), augmented(problem, inference, prune=False)
    assert_same_result(pruned, unpruned)
    assert (pruned.n_scored <= unpruned.n_scored).all()
    event(f"pruning saves: {(pruned.n_scored < unpruned.n_scored).any()}")


@each_loss
@given(data=st.data())
def test_n_scored_counts_the_nodes_looked_at(loss, data):
    problem = data.draw(only(loss))
    tree = problem.tree
    signs = naive.decisions(naive.scores(tree, problem.X))
    lengths = [len(naive.path(tree, h)[0]) for h in signs]
    visited = [
        len({node for code in naive.codes("fast", h) for node in naive.path(tree, code)[0]})
        for h in signs
    ]
    assert_array_equal(augmented(problem, "fast", prune=False).n_scored, visited)
    assert_array_equal(augmented(problem, "full", prune=False).n_scored, tree.n_internal)
    for inference in KINDS:
        assert (augmented(problem, inference).n_scored >= lengths).all()


@each_loss
@each_kind
@given(data=st.data())
def test_nothing_is_scored_that_cannot_win(loss, inference, data):
    problem = data.draw(only(loss))
    tree, X, y, loss, _ = problem
    target = loss.encode(y, tree.n_outputs)
    scores = naive.scores(tree, X)
    hopeful = np.zeros(scores.shape, dtype=bool)
    for node in range(tree.n_internal):
        below, price = naive.subtree(tree, scores, node)
        largest = loss.extremes(tree.values[below], target)[1]
        hopeful[:, node] = largest - price > loss_of(problem)
    for i, code in enumerate(naive.decisions(scores)):
        hopeful[i, naive.path(tree, code)[0]] = True
    assert (augmented(problem, inference).n_scored <= hopeful.sum(axis=1)).all()


@each_kind
def test_wide_margins_leave_nothing_to_search(inference):
    tree = Tree([[1.0], [1.0], [1.0]], [0.0, -2.0, 2.0], [1, ~0, ~2], [2, ~1, ~3], np.eye(4))
    result = loss_augmented_inference(scaled(tree, 100.0), [[1.0], [-1.0]], [2, 1], inference=inference)
    assert_array_equal(result.n_scored, [2, 2])
    result = loss_augmented_inference(scaled(tree, 0.001), [[1.0], [-1.0]], [2, 1], inference=inference)
    assert (result.n_scored > 2).all()


# --- law 5: leaf and flips ----------------------------------------------------------------------


@each_loss
@each_kind
@given(data=st.data())
def test_leaf_and_flips_give_the_bound(loss, inference, data):
    problem = data.draw(only(loss))
    tree = problem.tree
    scores, table = tables(problem)
    signs = naive.decisions(scores)
    result = augmented(problem, inference)
    assert_array_equal(result.bound, bound_of(problem, inference))
    assert result.flips.shape == scores.shape
    assert (result.flips.data != 0).all()
    flips = result.flips.toarray()
    # The flips are those on the way to the leaf, each with its new decision.
    on_path = naive.directions(tree)[result.leaf]
    assert_array_equal(flips, np.where(on_path == -signs, on_path, 0))
    if inference == "fast":
        assert (np.count_nonzero(flips, axis=1) <= 1).all()
    code = np.where(flips != 0, flips, signs)
    assert_array_equal(naive.leaves(tree, code), result.leaf)
    loss_there = table[np.arange(len(table)), result.leaf]
    assert_array_equal(loss_there + ((code - signs) * scores).sum(axis=1), result.bound)


@each_loss
@each_kind
@given(data=st.data())
def test_navigated_leaf_wins_ties(loss, inference, data):
    problem = data.draw(only(loss))
    result, navigated = augmented(problem, inference), problem.tree.apply(problem.X)
    tie = result.bound == loss_of(problem)
    assert_array_equal(result.leaf[tie], navigated[tie])
    assert (result.leaf[~tie] != navigated[~tie]).all()


# --- law 6: gradients ---------------------------------------------------------------------------


def margin(tree, scores, table, inference):
    """How far the best leaf of each sample is ahead of the next one."""
    gains = table - naive.prices(tree, scores)
    out = np.full(len(gains), np.inf)
    for i, h in enumerate(naive.decisions(scores)):
        candidates = np.sort(gains[i, naive.reachable(tree, h, inference)])
        if len(candidates) > 1:
            out[i] = candidates[-1] - candidates[-2]
    return out


@pytest.mark.parametrize("assigned", [False, True], ids=["plain", "stable"])
@each_loss
@each_kind
@given(data=st.data())
def test_gradient_is_that_of_finite_differences(loss, inference, assigned, data):
    problem = data.draw(
        only(loss, n_internal=st.integers(0, 4), n_features=st.integers(1, 2), scales=st.just(1.0))
    )
    scores, table = tables(problem)
    smooth = (scores != 0).all(axis=1) & (margin(problem.tree, scores, table, inference) > 0.25)
    assume(smooth.any())
    problem = take(problem, smooth)
    tree, X, y, loss, assignment = problem
    signs = naive.decisions(scores[smooth])
    target = loss.encode(y, tree.n_outputs)
    weight = 1.0 + np.arange(len(y))

    def mean_bound(weights, thresholds, values):
        s = naive.dense(X) @ weights.T - thresholds
        losses = naive.loss_table(loss.name, values, target)
        bound = naive.upper_bound(tree, s, losses, inference, signs)
        if assigned:
            bound = bound + naive.price(tree, s, assignment, signs)
        return np.average(bound, weights=weight)

    W, b, theta = tree.weights, tree.thresholds, tree.values
    gradient = surrogate_gradient(
        tree,
        X,
        y,
        loss=loss,
        inference=inference,
        assignment=assignment if assigned else None,
        sample_weight=weight,
    )
    # The step moves no price by more than 4 nodes * 2 * step * max |x| = 4, 0.03 in all, and no
    # loss by more than 3 * 2 * step * max |theta - y| = 8: the maximiser stays. The bound is linear
    # in W and b up to there; in theta the third derivatives (and the jump of Huber's second one)
    # leave an error of the order of the step.
    step = 2.0**-10
    tight, loose = {"rtol": 0, "atol": 1e-9}, {"rtol": 0, "atol": 2 * step}
    numeric = naive.central_difference(lambda w: mean_bound(w, b, theta), W, step)
    assert_allclose(gradient.weights, numeric, **tight)
    numeric = naive.central_difference(lambda t: mean_bound(W, t, theta), b, step)
    assert_allclose(gradient.thresholds, numeric, **tight)
    numeric = naive.central_difference(lambda v: mean_bound(W, b, v), theta, step)
    assert_allclose(gradient.values, numeric, **loose)
    event(f"gradient in W: {gradient.weights.any()}")


@each_loss
@each_kind
@given(data=st.data())
def test_sample_weight_repeats_samples(loss, inference, data):
    problem = data.draw(only(loss))
    n = len(problem.y)
    # Powers of two as totals, so that the weighted mean has no rounding error of its own.
    repeats = np.array([2, 0, 1, 1])[:n] if n > 1 else np.array([2])
    tree, X, y, loss, _ = problem
    weighted = surrogate_gradient(tree, X, y, loss=loss, inference=inference, sample_weight=repeats)
    rows = np.repeat(np.arange(n), repeats)
    repeated = surrogate_gradient(tree, X[rows], y[rows], loss=loss, inference=inference)
    for a, b in zip(weighted, repeated, strict=True):
        assert_allclose(a, b, rtol=1e-12, atol=1e-12 * (np.abs(b).max(initial=0)))


# --- law 7: cost-diminished inference -----------------------------------------------------------


@each_loss
@given(data=st.data())
def test_cost_diminished_inference_is_the_brute_force_minimum(loss, data):
    problem = data.draw(only(loss))
    tree = problem.tree
    scores, table = tables(problem)
    result = diminished(problem)
    assert_array_equal(result.bound, naive.cheapest(tree, scores, table))
    loss_there = table[np.arange(len(table)), result.leaf]
    assert_array_equal(result.bound, loss_there + naive.price(tree, scores, result.leaf))
    on_path = naive.directions(tree)[result.leaf]
    flips = np.where(on_path == -naive.decisions(scores), on_path, 0)
    assert_array_equal(result.flips.toarray(), flips)
    tie = result.bound == loss_of(problem)
    assert_array_equal(result.leaf[tie], tree.apply(problem.X)[tie])


@each_loss
@given(data=st.data())
def test_cost_diminished_leaf_gives_a_bound(loss, data):
    problem = data.draw(only(loss) | only(loss, elements=ROUGH))
    result = diminished(problem)
    assert_same_result(result, diminished(problem, prune=False))
    assert (result.n_scored <= diminished(problem, prune=False).n_scored).all()
    assert (result.bound <= loss_of(problem)).all()
    for inference in KINDS:
        assert (loss_of(problem) <= bound_of(problem, inference, result.leaf)).all()


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
        assert_array_equal(new_leaf[augmented(problem, inference).leaf], augmented(other, inference).leaf)


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
    slack = 1e-13 if problem.loss.is_classifier else 0.0
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
@each_kind
@given(data=st.data())
def test_result_of_a_sample_does_not_depend_on_the_others(loss, inference, data):
    problem = data.draw(only(loss) | only(loss, elements=ROUGH))
    n = len(problem.y)
    together = augmented(take(problem, np.tile(np.arange(n), 2)), inference)
    for i in range(n):
        alone = augmented(take(problem, [i]), inference)
        for copy in (i, i + n):
            assert together.leaf[copy] == alone.leaf[0]
            assert together.bound[copy] == alone.bound[0]
            assert together.n_scored[copy] == alone.n_scored[0]


@each_loss
@each_kind
@given(data=st.data())
def test_form_of_the_samples_does_not_matter(loss, inference, data):
    problem = data.draw(only(loss, sparse=st.just(False)))
    forms = [form(problem.X.astype(dtype)) for form in (np.array, csr_array) for dtype in "fd"]
    results = [augmented(problem._replace(X=X), inference) for X in forms]
    gradients = [
        surrogate_gradient(problem.tree, X, problem.y, loss=problem.loss, inference=inference) for X in forms
    ]
    for result, gradient in zip(results[1:], gradients[1:], strict=True):
        assert_same_result(results[0], result)
        for a, b in zip(gradients[0], gradient, strict=True):
            assert_allclose(a, b, rtol=1e-13, atol=0)


@each_kind
def test_threads_do_not_disturb_each_other(inference):
    rng = np.random.default_rng(0)
    m, n = 63, 2000
    children = np.arange(1, 2 * m + 1)
    children = np.where(children < m, children, ~(children - m))
    tree = Tree(
        rng.normal(size=(m, 20)),
        rng.normal(size=m),
        children[::2],
        children[1::2],
        rng.normal(size=(m + 1, 5)),
    )
    X, y = rng.normal(size=(n, 20)), rng.integers(5, size=n)
    alone = loss_augmented_inference(tree, X, y, inference=inference)
    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(lambda _: loss_augmented_inference(tree, X, y, inference=inference), range(8)):
            assert_same_result(alone, result)


# --- large trees --------------------------------------------------------------------------------


def random_tree(rng, m, p, k, shape):
    """A tree too large for all codes: a chain of m nodes, or one grown at random places."""
    slots, children = [(0, 0), (1, 0)], np.zeros((2, m), dtype=int)
    for node in range(1, m):
        side, parent = slots.pop(-1 if shape == "chain" else rng.integers(len(slots)))
        children[side, parent] = node
        slots += [(0, node), (1, node)]
    for leaf, (side, parent) in enumerate(slots):
        children[side, parent] = ~leaf
    return Tree(
        rng.integers(-4, 5, size=(m, p)),
        rng.integers(-4, 5, size=m),
        *children,
        rng.integers(-4, 5, size=(m + 1, k)) / 2,
    )


@each_loss
@each_kind
@pytest.mark.parametrize("shape", ["chain", "random"])
def test_large_trees(loss, inference, shape):
    rng = np.random.default_rng(1)
    tree = random_tree(rng, m=150, p=5, k=3, shape=shape)
    X, n = rng.integers(-4, 5, size=(20, 5)).astype(float), 20
    y = rng.integers(3, size=n) if LOSSES[loss].is_classifier else rng.integers(-4, 5, (n, 3))
    problem = (tree, X, y, LOSSES[loss](), None)
    scores, table = tables(problem)
    gains = table - naive.prices(tree, scores)
    expected = [
        gains[i, naive.reachable(tree, h, inference)].max()
        for i, h in enumerate(naive.decisions(scores))
    ]
    result = loss_augmented_inference(tree, X, y, loss=loss, inference=inference)
    assert_array_equal(result.bound, expected)
    assert_array_equal(gains[np.arange(n), result.leaf], expected)
    cheapest = cost_diminished_inference(tree, X, y, loss=loss)
    assert_array_equal(cheapest.bound, (table + naive.prices(tree, scores)).min(axis=1))


# --- the edge of floating point -----------------------------------------------------------------


@each_loss
@each_kind
@given(data=st.data())
def test_overflow_gives_no_nan(loss, inference, data):
    anything = st.floats(allow_nan=False, allow_infinity=False)
    problem = data.draw(
        only(loss, elements=anything, scales=st.just(1.0), dtypes=st.just(np.float64))
    )
    bound = bound_of(problem, inference)
    assert not np.isnan(bound).any()
    assert (loss_of(problem) <= bound).all()
    assert not np.isnan(diminished(problem).bound).any()


# --- validation ---------------------------------------------------------------------------------

STUMP = Tree([[1.0, 0.0]], [0.0], [~0], [~1], [[0.0, 1.0], [1.0, 0.0]])
X_GOOD = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])
Y_GOOD = np.array([0, 1, 0])
FUNCTIONS = {
    function.__name__: function
    for function in (
        empirical_loss,
        upper_bound,
        loss_augmented_inference,
        cost_diminished_inference,
        surrogate_gradient,
    )
}
BAD_X = {
    "nan": [[np.nan, 0.0]] * 3,
    "infinity": [[np.inf, 0.0]] * 3,
    "sparse nan": csr_array([[np.nan, 0.0]] * 3),
    "features": np.zeros((3, 3)),
    "1-d": np.zeros(3),
    "3-d": np.zeros((3, 2, 1)),
    "strings": [["a", "b"]] * 3,
    "complex": np.zeros((3, 2), dtype=complex),
    "ragged": [[1.0, 2.0], [1.0], [1.0, 2.0]],
    "empty": np.zeros((0, 2)),
    "None": None,
}
BAD_Y = {
    "above the classes": ("log", [0, 1, 2]),
    "below the classes": ("log", [0, 1, -1]),
    "between the classes": ("log", [0, 1, 0.5]),
    "nan class": ("log", [0, 1, np.nan]),
    "strings": ("log", ["a", "b", "c"]),
    "2-d classes": ("log", [[0, 1]] * 3),
    "short": ("log", [0, 1]),
    "long": ("log", [0, 1, 0, 1]),
    "scalar": ("log", 1),
    "None": ("log", None),
    "ragged": ("squared", [[0.0, 1.0], [0.0], [1.0, 1.0]]),
    "nan": ("squared", [[0.0, np.nan]] * 3),
    "infinity": ("squared", [[0.0, np.inf]] * 3),
    "too few targets": ("squared", [0.0, 1.0, 2.0]),
    "too many targets": ("squared", np.zeros((3, 3))),
    "complex": ("squared", np.zeros((3, 2), dtype=complex)),
}
BAD_ASSIGNMENT = {
    "above the leaves": [0, 1, 2],
    "below the leaves": [0, 1, -1],
    "floats": [0.0, 1.0, 0.0],
    "short": [0, 1],
    "2-d": [[0, 1, 0]],
    "ragged": [[0], [1, 0], [1]],
    "huge": [0, 1, 2**40],
    "strings": ["a", "b", "c"],
}
BAD_WEIGHT = {
    "negative": [1.0, 1.0, -1.0],
    "nan": [1.0, 1.0, np.nan],
    "infinity": [1.0, 1.0, np.inf],
    "zero": [0.0, 0.0, 0.0],
    "short": [1.0, 1.0],
    "2-d": [[1.0, 1.0, 1.0]],
    "strings": ["a", "b", "c"],
}


def names(parameter):
    return pytest.raises((ValueError, TypeError), match=rf"\b{parameter}\b")


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("case", BAD_X)
def test_bad_X(function, case):
    with names("X"):
        FUNCTIONS[function](STUMP, BAD_X[case], Y_GOOD)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("case", BAD_Y)
def test_bad_y(function, case):
    loss, y = BAD_Y[case]
    with names("y"):
        FUNCTIONS[function](STUMP, X_GOOD, y, loss=loss)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("loss", ["hinge", None, 1, LOSSES["log"]])
def test_bad_loss(function, loss):
    with names("loss"):
        FUNCTIONS[function](STUMP, X_GOOD, Y_GOOD, loss=loss)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("tree", [None, "tree", STUMP.weights])
def test_bad_tree(function, tree):
    with names("tree"):
        FUNCTIONS[function](tree, X_GOOD, Y_GOOD)
    with names("tree"):
        soft_predict_proba(tree, X_GOOD, 1.0)


@pytest.mark.parametrize("function", [upper_bound, loss_augmented_inference, surrogate_gradient])
@pytest.mark.parametrize("inference", ["stable", "FAST", None, 1, ["fast"]])
def test_bad_kind(function, inference):
    with names("inference"):
        function(STUMP, X_GOOD, Y_GOOD, inference=inference)


@pytest.mark.parametrize("function", [upper_bound, surrogate_gradient])
@pytest.mark.parametrize("case", BAD_ASSIGNMENT)
def test_bad_assignment(function, case):
    with names("assignment"):
        function(STUMP, X_GOOD, Y_GOOD, assignment=BAD_ASSIGNMENT[case])


@pytest.mark.parametrize("case", BAD_WEIGHT)
def test_bad_sample_weight(case):
    with names("sample_weight"):
        surrogate_gradient(STUMP, X_GOOD, Y_GOOD, sample_weight=BAD_WEIGHT[case])


def test_inputs_are_left_alone():
    X, y, weight = X_GOOD.copy(), Y_GOOD.copy(), np.ones(3)
    for array in (X, y, weight):
        array.flags.writeable = False
    surrogate_gradient(STUMP, X, y, assignment=y, sample_weight=weight)
    sparse = csr_array(X_GOOD)
    loss_augmented_inference(STUMP, sparse, y, inference="full")
    assert_array_equal(sparse.toarray(), X_GOOD)
