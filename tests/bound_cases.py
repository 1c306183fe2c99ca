"""Trees with data to take bounds of, and short names for the functions that take them."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from ngdt import Tree
from ngdt.inference import (
    cost_diminished_inference,
    empirical_loss,
    loss_augmented_inference,
    upper_bound,
)
from ngdt.losses import LOSSES
from ngdt.testing.strategies import assignments, problems
from reference import inference as naive

KINDS = ["fast", "full"]
each_kind = pytest.mark.parametrize("inference", KINDS)


def each_loss(law):
    """Run a law with every loss, on shared examples: losses differ in one table only."""
    examples = max(1, 4 * settings.default.max_examples // len(LOSSES))
    return pytest.mark.parametrize("loss", LOSSES)(settings(max_examples=examples)(law))


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
