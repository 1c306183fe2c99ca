"""Leaves that Adam trains on the expected loss over the leaves, against sums over all leaves."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import in_nightly
from ngdt import Tree
from ngdt.losses import HuberLoss, SquaredLoss
from soft_cases import (
    NOT_LAZY,
    PLAIN,
    PLAIN_RATE,
    AnyLoss,
    assert_close,
    case_for,
    gradient,
    schedule,
    still,
)

LEAVES = pytest.mark.parametrize("leaves", ["constant", "linear"])
# The updates of linear leaves are dense, so that there are no lazy ones of splits above them.
ROUTED_LEAVES = pytest.mark.parametrize(("routing", "leaves"), [
    *product(["matrix", "visits", "csr"], ["constant", "linear"]), ("lazy", "constant")])
LOSSES = pytest.mark.parametrize(
    "loss", [SquaredLoss(), HuberLoss(0.7), AnyLoss(0.7)], ids=str)
TARGETS = pytest.mark.parametrize("k", [1, 3])


def loss_case(routing, leaves, seed, loss, **parameters):
    return case_for(routing, leaves, seed, loss=loss, q=1.0, **parameters)


def leaf_gradient(case, routing, gamma, batch):
    """Gradient, from one step of `PLAIN` Adam."""
    case.options |= PLAIN
    trainer, _, model = case.kernel(routing, len(batch))
    trainer.epoch(batch, *schedule(gamma, 0.0, 1.0, PLAIN_RATE))
    return (case.parameters.astype(np.float64) - model.parameters) / 10


@TARGETS
@LOSSES
@LEAVES
def test_the_gradients_of_the_reference_are_those_of_finite_differences(leaves, loss, k):
    case = loss_case("matrix", leaves, 5, loss, k=k, m=5)
    naive, batch, step = case.naive(), case.order()[:11], 1e-5
    model = naive.model
    penalty = model.penalty

    def objective():
        slopes = model.parameters[:, :-1]
        return naive.loss(batch, 1.7) + penalty * np.square(slopes).sum()

    for numbers, claimed in (
            (naive.rows, naive.gradient(batch, 1.7)),
            (model.parameters, model.gradient(batch, naive.share(batch, 1.7)))):
        differences = np.empty_like(numbers)
        for at in np.ndindex(numbers.shape):
            ends = []
            for side in (1, -1):
                numbers[at] += side * step
                ends.append(objective())
                numbers[at] -= side * step
            differences[at] = (ends[0] - ends[1]) / (2 * step)
        assert_close(claimed, differences, 1e-6)


@TARGETS
@LOSSES
@ROUTED_LEAVES
def test_the_gradients_and_the_loss_are_those_of_the_reference(leaves, loss, k, routing):
    # The second n is more than one chunk of samples, its tree has more than one block of nodes.
    is_large = k == 3 and type(loss) is HuberLoss
    for seed, n, m in [(2, 23, 9), *([(3, 130, 130)] if is_large else in_nightly([(3, 130, 130)]))]:
        case = loss_case(routing, leaves, seed, loss, n=n, m=m, k=k)
        naive, batch = case.naive(), case.order()
        assert_close(gradient(case, routing, 2.0, batch), naive.gradient(batch, 2.0))
        assert_close(leaf_gradient(case, routing, 2.0, batch),
                     naive.model.gradient(batch, naive.share(batch, 2.0)))
        trainer, _, _ = case.kernel(routing, n)
        assert trainer.epoch(batch, *still(2.0)) == pytest.approx(naive.loss(batch, 2.0), rel=1e-5)


@TARGETS
@LOSSES
@ROUTED_LEAVES
def test_epochs_are_those_of_the_reference(leaves, loss, k, routing):
    case = loss_case(routing, leaves, 9, loss, n=50, k=k, betas=(0.9, 0.95))
    trainer, weights, model = case.kernel(routing, 8)
    reference = case.naive()
    for _ in range(2):
        order, steps = case.order(), np.arange(7)       # the last batch is a short one
        run = schedule(1.0 + 0.3 * steps, 0.1 - 0.01 * steps, 0.97 + 0.004 * steps,
                       0.05 - 0.005 * steps)
        loss = trainer.epoch(order, *run)
        assert loss == pytest.approx(reference.epoch(order, *run, 8), rel=1e-3)
        np.testing.assert_allclose(weights, reference.rows, rtol=1e-2, atol=2e-3)
        np.testing.assert_allclose(
            model.parameters, reference.model.parameters, rtol=1e-2, atol=2e-3)
    assert np.median(np.abs(model.parameters - case.parameters)) > 0.05


@LEAVES
@pytest.mark.parametrize("routing", ["visits", "csr"])
def test_what_is_cut_off_goes_hard_to_the_other_side(leaves, routing):
    case = loss_case(routing, leaves, 12, SquaredLoss(), n=80, m=30, cutoff=0.1)
    reference, batch = case.naive(), case.order()
    trainer, _, _ = case.kernel(routing, case.n)
    loss = reference.loss(batch, 2.0)
    assert trainer.epoch(batch, *still(2.0)) == pytest.approx(loss, rel=1e-5)
    assert_close(gradient(case, routing, 2.0, batch), reference.gradient(batch, 2.0))
    assert_close(leaf_gradient(case, routing, 2.0, batch),
                 reference.model.gradient(batch, reference.share(batch, 2.0)))
    case.cutoff = 0.0       # it is another loss than that of the whole tree
    assert abs(case.naive().loss(batch, 2.0) - loss) > 1e-4 * loss


@TARGETS
@LOSSES
@NOT_LAZY
def test_linear_leaves_without_slopes_are_constant_leaves(loss, k, routing):
    constant = loss_case(routing, "constant", 3, loss, n=60, k=k)
    linear = loss_case(routing, "linear", 3, loss, n=60, k=k)
    linear.parameters[:, :-1] = 0.0
    linear.parameters[:, -1] = constant.parameters[:, 0]
    batch = np.arange(60, dtype=np.int32)
    results = [
        (case.kernel(routing, 60)[0].epoch(batch, *still(2.0)), gradient(case, routing, 2.0, batch),
         leaf_gradient(case, routing, 2.0, batch)[:, -1]) for case in (constant, linear)]
    for one, other in zip(*results, strict=True):
        assert_close(one, other)


@given(st.floats(1e-3, 1e3), st.floats(-10, 10), st.integers(0, 100))
def test_the_loss_is_that_of_the_residuals(limit, y, seed):
    # One leaf gets everything.
    tree = Tree([[0.0]], [1.0], [~0], [~1], [[0.0], [0.0]])
    case = case_for("matrix", "constant", seed, loss=HuberLoss(limit), q=1.0, tree=tree,
                    X=np.zeros((1, 1)), y=np.array([[y]]))
    case.parameters[1] = case.parameters[0]
    expected = case.loss.value(case.parameters[:1], case.y)[0]
    trainer, _, _ = case.kernel("matrix", 1)
    loss = trainer.epoch(np.zeros(1, dtype=np.int32), *still(1.0))
    assert loss == pytest.approx(expected, rel=1e-5, abs=1e-9)
