"""The gradient of the bound is that of finite differences."""

import numpy as np
from hypothesis import assume, event, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from bound_cases import KINDS, each_kind, each_loss, only, tables, take
from ngdt.inference import (
    surrogate_gradient,
)
from reference import inference as naive


def margin(tree, scores, table, inference):
    """Difference between the best leaf of each sample and the next one."""
    gains = table - naive.prices(tree, scores)
    out = np.full(len(gains), np.inf)
    for i, h in enumerate(naive.decisions(scores)):
        candidates = np.sort(gains[i, naive.reachable(tree, h, inference)])
        if len(candidates) > 1:
            out[i] = candidates[-1] - candidates[-2]
    return out


@each_loss
@each_kind
@given(data=st.data())
def test_gradient_is_that_of_finite_differences(loss, inference, data):
    problem = data.draw(
        only(loss, n_internal=st.integers(0, 4), n_features=st.integers(1, 2), scales=st.just(1.0))
    )
    scores, table = tables(problem)
    smooth = (scores != 0).all(axis=1) & (margin(problem.tree, scores, table, inference) > 0.25)
    assume(smooth.any())
    problem, signs = take(problem, smooth), naive.decisions(scores[smooth])
    for assignment in (None, problem.assignment):       # the plain and the stable bound
        check_gradient(problem, inference, assignment, signs)


def check_gradient(problem, inference, assignment, signs):
    tree, X, y, loss, _ = problem
    target = loss.encode(y, tree.n_outputs)
    weight = 1.0 + np.arange(len(y))
    W, b, theta = tree.weights, tree.thresholds, tree.values
    table, balls = naive.loss_table(loss.name, theta, target), naive.balls(tree, signs, inference)

    def mean_bound(weights, thresholds, losses):
        s = naive.dense(X) @ weights.T - thresholds
        bound = naive.largest(balls, s, losses, signs)
        if assignment is not None:
            bound = bound + naive.price(tree, s, assignment, signs)
        return np.average(bound, weights=weight)

    gradient = surrogate_gradient(
        tree, X, y, loss=loss, inference=inference, assignment=assignment, sample_weight=weight)
    # The step moves no price by more than 4 nodes * 2 * step * max |x| = 4, 0.03 in all, and no
    # loss by more than 3 * 2 * step * max |theta - y| = 8: the maximiser stays. The bound is linear
    # in W and b up to there; in theta the third derivatives (and the jump of Huber's second one)
    # leave an error of the order of the step.
    step = 2.0**-10
    tight, loose = {"rtol": 0, "atol": 1e-9}, {"rtol": 0, "atol": 2 * step}
    numeric = naive.central_difference(lambda w: mean_bound(w, b, table), W, step)
    assert_allclose(gradient.weights, numeric, **tight)
    numeric = naive.central_difference(lambda t: mean_bound(W, t, table), b, step)
    assert_allclose(gradient.thresholds, numeric, **tight)
    numeric = naive.central_difference(
        lambda v: mean_bound(W, b, naive.loss_table(loss.name, v, target)), theta, step)
    assert_allclose(gradient.values, numeric, **loose)
    event(f"gradient in W, stable {assignment is not None}: {gradient.weights.any()}")


@each_loss
@given(data=st.data())
def test_sample_weight_repeats_samples(loss, data):
    problem = data.draw(only(loss))
    n = len(problem.y)
    # Powers of two as totals, so that the weighted mean has no rounding error of its own.
    repeats = np.array([2, 0, 1, 1])[:n] if n > 1 else np.array([2])
    tree, X, y, loss, _ = problem
    for inference in KINDS:
        weighted = surrogate_gradient(
            tree, X, y, loss=loss, inference=inference, sample_weight=repeats)
        rows = np.repeat(np.arange(n), repeats)
        repeated = surrogate_gradient(tree, X[rows], y[rows], loss=loss, inference=inference)
        for a, b in zip(weighted, repeated, strict=True):
            assert_allclose(a, b, rtol=1e-12, atol=1e-12 * (np.abs(b).max(initial=0)))
