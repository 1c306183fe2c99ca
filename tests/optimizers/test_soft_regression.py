"""Annealed for regression: its trees, and their dependence on the data."""


import numpy as np
import pytest
from scipy import sparse

from helpers import FORMS, dense, iris_problem
from ngdt import ObliqueTreeRegressor
from ngdt._training.problem import Problem
from ngdt.initializers import RandomComplete
from ngdt.losses import HuberLoss, LogLoss, SquaredLoss
from ngdt.optimizers import Annealed

LEAVES = pytest.mark.parametrize("leaf", ["constant", "linear"])
LOSSES = pytest.mark.parametrize("loss", [SquaredLoss(), HuberLoss(0.5)], ids=str)


def annealed(leaf, **parameters):
    return Annealed(leaf=leaf, **dict(steps=40, batch_size=30) | parameters)


def run(optimizer, problem):
    return optimizer.optimize(RandomComplete().initialize(problem), problem)


def linear_steps(n=400, p=4):
    """A linear function on each side of an oblique plane."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, p))
    right = X @ random.normal(size=p) > 0.3
    slopes = random.normal(size=(2, p))
    return X, np.where(right, X @ slopes[0] + 2.0, X @ slopes[1]) + 0.05 * random.normal(size=n)


# --- what comes out ------------------------------------------------------------------------------


@LOSSES
@FORMS
def test_linear_leaves_have_the_best_intercepts_and_the_ranges_of_their_targets(loss, form):
    problem = iris_problem(loss, form, max_depth=4)
    weight = problem.sample_weight * (1 + np.arange(150) % 4)
    problem = problem.replace(sample_weight=weight)
    tree = run(annealed("linear"), problem).tree
    rows = np.flatnonzero(weight).astype(np.int32)
    leaf = problem.apply(tree, rows)
    assert tree.slopes.shape == (tree.n_leaves, 2, 4)
    assert np.abs(tree.slopes).max() > 0.01
    assert len(np.unique(leaf)) == tree.n_leaves >= 2
    X = dense(problem.X)[rows]
    for number in range(tree.n_leaves):
        here = leaf == number
        y, w = problem.y[rows][here], weight[rows][here]
        rest = y - X[here] @ tree.slopes[number].T
        expected = loss.fit_leaves(np.zeros(len(y), dtype=int), rest, w, 1, 2)[0]
        np.testing.assert_allclose(tree.values[number], expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(
            tree.ranges[number], np.column_stack([y.min(axis=0), y.max(axis=0)]))


def test_linear_leaves_fit_a_linear_function_on_each_side():
    X, y = linear_steps()
    scores = [
        ObliqueTreeRegressor(
            2, init="random_complete", optimizer=Annealed(leaf=leaf), validation_fraction=None,
            random_state=0).fit(X[:300], y[:300]).score(X[300:], y[300:])
        for leaf in ("constant", "linear")]
    assert scores[1] > 0.88 > 0.8 > scores[0]


def test_a_large_penalty_makes_slopes_small():
    X, y = linear_steps()
    problem = Problem(X, y[:, None] / y.std(), SquaredLoss(), 1, np.ones(len(y))).limited(
        max_depth=2)
    sizes = [np.abs(run(Annealed(leaf="linear", slope_penalty=penalty), problem).tree.slopes).max()
             for penalty in (0.0, 1e6)]
    assert sizes[1] < 0.02 < 0.5 < sizes[0]


# --- how it follows the data ---------------------------------------------------------------------


@LEAVES
def test_sparse_data_train_as_dense_data_up_to_rounding(leaf):
    # The first step of Adam moves equal leaves alike. The gradients of the splits between them are
    # then rounding errors, and yet the next step is as large as any other.
    problem = iris_problem(SquaredLoss(), max_depth=3, standardize=False)
    start = RandomComplete().initialize(problem)
    start = start.replace(values=np.random.default_rng(0).normal(size=start.values.shape))
    one, other = (annealed(leaf).optimize(start, problem.replace(X=form(problem.X)))
                  for form in (np.asarray, sparse.csr_array))
    np.testing.assert_allclose(one.history["loss"], other.history["loss"], rtol=1e-3)
    np.testing.assert_allclose(
        one.tree.predict(problem.X), other.tree.predict(problem.X), atol=1e-2)


# --- odd data ------------------------------------------------------------------------------------


def test_linear_leaves_are_for_regression():
    problem = iris_problem(LogLoss(), max_depth=2)
    with pytest.raises(ValueError, match="leaf='linear' is for regression with the losses squared"):
        run(Annealed(leaf="linear"), problem)
