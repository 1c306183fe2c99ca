"""The laws of the bounds, each once, over random trees and against brute force.

The numbers of most tests are dyadic: scores, prices and squared errors are exact there, whatever
the order of a sum, so that both sides of an equation are compared bit for bit. The logarithms of
the log loss are taken from the package on both sides; `test_losses` compares them with numpy's.
"""

import numpy as np
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from bound_cases import (
    KINDS,
    ROUGH,
    assert_same_result,
    augmented,
    bound_of,
    diminished,
    each_kind,
    each_loss,
    loss_of,
    only,
    scaled,
    tables,
    with_tree,
)
from helpers import random_children
from ngdt import Tree
from ngdt.inference import (
    cost_diminished_inference,
    loss_augmented_inference,
    upper_bound,
)
from ngdt.losses import LOSSES
from reference import inference as naive

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
@given(data=st.data())
def test_stable_bound_of_the_navigated_leaf_is_the_bound(loss, data):
    problem = data.draw(only(loss) | only(loss, elements=ROUGH))
    for inference in KINDS:
        stable = bound_of(problem, inference, problem.tree.apply(problem.X))
        assert_array_equal(stable, bound_of(problem, inference))


# --- law 3: Proposition 1 -----------------------------------------------------------------------


@each_loss
@given(data=st.data(), exponent=st.integers(1, 6))
def test_bound_does_not_grow_with_the_scale(loss, data, exponent):
    problem = data.draw(only(loss) | only(loss, elements=ROUGH))
    # A power of two scales every rounded sum exactly, so no slack is needed.
    larger = with_tree(problem, scaled(problem.tree, 2.0**exponent))
    for inference in KINDS:
        assert (bound_of(larger, inference) <= bound_of(problem, inference)).all()


@each_loss
@given(data=st.data(), alpha=st.floats(1.0, 10.0))
def test_bound_does_not_grow_with_any_scale(loss, data, alpha):
    problem = data.draw(only(loss, scales=st.just(1.0)))
    larger = with_tree(problem, scaled(problem.tree, alpha))
    # alpha * W is rounded, so that an exact tie or a score of zero may fall to the other side by
    # an error in the last place of the scores, which are below 100 * alpha.
    assume((naive.scores(problem.tree, problem.X) != 0).all())
    for inference in KINDS:
        assert (bound_of(larger, inference) <= bound_of(problem, inference) + 1e-11).all()


@each_loss
@given(data=st.data())
def test_bound_falls_to_the_loss_as_the_scale_grows(loss, data):
    problem = data.draw(only(loss))
    assume((naive.scores(problem.tree, problem.X) != 0).all())
    # A flip now costs at least 2**(1 + 80 - 2 - 40), far more than any loss here.
    steep = with_tree(problem, scaled(problem.tree, 2.0**80))
    for inference in KINDS:
        assert_array_equal(bound_of(steep, inference), loss_of(problem))


def test_stable_bound_is_not_monotone_in_the_scale():
    tree = Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [3.0]])
    bounds = [
        upper_bound(
            scaled(tree, alpha), [[1.0]], [3.0], loss="squared_error", assignment=[0]).item()
        for alpha in (1.0, 2.0, 8.0)
    ]
    # loss 9 of the other leaf - price + price of the assigned leaf, until loss 0 + price wins
    assert bounds == [9.0, 9.0, 16.0]


# --- law 4: brute force -------------------------------------------------------------------------


@each_loss
@given(data=st.data())
def test_bound_is_the_brute_force_maximum(loss, data):
    problem = data.draw(only(loss))
    scores, table = tables(problem)
    for inference in KINDS:
        expected = naive.upper_bound(problem.tree, scores, table, inference)
        assert_array_equal(bound_of(problem, inference), expected)
        price = naive.price(problem.tree, scores, problem.assignment)
        assert_array_equal(bound_of(problem, inference, problem.assignment), expected + price)
        event(f"another leaf wins, {inference}: {(expected > loss_of(problem)).any()}")
    navigated = naive.leaves(problem.tree, naive.decisions(scores))
    assert_array_equal(loss_of(problem), table[np.arange(len(table)), navigated])


@each_loss
@given(data=st.data())
def test_bound_is_the_brute_force_maximum_up_to_rounding(loss, data):
    problem = data.draw(only(loss, elements=ROUGH))
    scores, table = tables(problem)
    # Scores taken from the tree: a sign may turn on the last place of a sum.
    scores = problem.tree.scores(problem.X)
    for inference in KINDS:
        expected = naive.upper_bound(problem.tree, scores, table, inference)
        # Sums of at most seven terms in another order; losses and prices cancel in the difference.
        slack = 1e-14 * (np.abs(scores).sum(axis=1) + table.max(axis=1))
        bound = bound_of(problem, inference)
        with np.errstate(invalid="ignore"):     # the Poisson loss may be infinite
            assert ((bound == expected) | (np.abs(bound - expected) <= slack)).all()


@each_loss
@given(data=st.data())
def test_pruning_changes_nothing_but_the_work(loss, data):
    problem = data.draw(only(loss) | only(loss, elements=ROUGH))
    for inference in KINDS:
        pruned, unpruned = augmented(problem, inference), augmented(problem, inference, prune=False)
        assert_same_result(pruned, unpruned)
        assert (pruned.n_scored <= unpruned.n_scored).all()
        event(f"pruning saves, {inference}: {(pruned.n_scored < unpruned.n_scored).any()}")


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
@given(data=st.data())
def test_nothing_is_scored_that_cannot_win(loss, data):
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
    for inference in KINDS:
        assert (augmented(problem, inference).n_scored <= hopeful.sum(axis=1)).all()


@each_kind
def test_wide_margins_leave_nothing_to_search(inference):
    tree = Tree([[1.0], [1.0], [1.0]], [0.0, -2.0, 2.0], [1, ~0, ~2], [2, ~1, ~3], np.eye(4))
    result = loss_augmented_inference(
        scaled(tree, 100.0), [[1.0], [-1.0]], [2, 1], inference=inference)
    assert_array_equal(result.n_scored, [2, 2])
    result = loss_augmented_inference(
        scaled(tree, 0.001), [[1.0], [-1.0]], [2, 1], inference=inference)
    assert (result.n_scored > 2).all()


# --- law 5: leaf and flips ----------------------------------------------------------------------


@each_loss
@given(data=st.data())
def test_leaf_and_flips_give_the_bound(loss, data):
    problem = data.draw(only(loss))
    tree = problem.tree
    scores, table = tables(problem)
    signs = naive.decisions(scores)
    for inference in KINDS:
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
@given(data=st.data())
def test_navigated_leaf_wins_ties(loss, data):
    problem = data.draw(only(loss))
    for inference in KINDS:
        result, navigated = augmented(problem, inference), problem.tree.apply(problem.X)
        tie = result.bound == loss_of(problem)
        assert_array_equal(result.leaf[tie], navigated[tie])
        assert (result.leaf[~tie] != navigated[~tie]).all()


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


# --- large trees --------------------------------------------------------------------------------


def random_tree(rng, m, p, k, shape):
    """A tree too large for all codes: a chain of m nodes, or one grown at random places."""
    children = random_children(rng, m, chain=shape == "chain")
    return Tree(
        rng.integers(-4, 5, size=(m, p)),
        rng.integers(-4, 5, size=m),
        *children,
        rng.integers(-4, 5, size=(m + 1, k)) / 2,
    )


@pytest.mark.parametrize("loss", LOSSES)
@each_kind
@pytest.mark.parametrize("shape", ["chain", "random"])
def test_large_trees(loss, inference, shape):
    rng = np.random.default_rng(1)
    tree = random_tree(rng, m=150, p=5, k=3, shape=shape)
    X, n = rng.integers(-4, 5, size=(10, 5)).astype(float), 10
    y = rng.integers(3, size=n) if LOSSES[loss].is_classifier else rng.integers(-4, 5, (n, 3))
    y = np.abs(y) if LOSSES[loss].has_log_link else y
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
@given(data=st.data())
def test_overflow_gives_no_nan(loss, data):
    anything = st.floats(allow_nan=False, allow_infinity=False)
    problem = data.draw(
        only(loss, elements=anything, scales=st.just(1.0), dtypes=st.just(np.float64))
    )
    for inference in KINDS:
        bound = bound_of(problem, inference)
        assert not np.isnan(bound).any()
        assert (loss_of(problem) <= bound).all()
        assert not np.isnan(diminished(problem).bound).any()
