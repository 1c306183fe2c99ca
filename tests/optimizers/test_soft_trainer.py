"""The kernels of soft training, against sums over all leaves and against themselves."""

from functools import cache, partial
from itertools import product

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from scipy.special import softmax

from helpers import assert_other_threads_run
from ngdt import Tree
from ngdt._core.scaling import Scaling
from ngdt._core.structure import balanced_children
from ngdt._methods.soft.epoch import LazyTrainer
from ngdt._methods.soft.run import _neighbours
from ngdt.inference import soft_predict_proba
from ngdt.losses import HuberLoss, LogLoss
from ngdt.testing.strategies import problems
from reference import inference as naive
from reference import soft as naive_soft
from soft_cases import (
    NOT_LAZY,
    ROUTINGS,
    AnyLoss,
    Case,
    assert_close,
    case_for,
    gradient,
    likelihoods,
    schedule,
    still,
)

QS = pytest.mark.parametrize("q", [0.0, 0.25, 0.5, 1.0])
LEAVES = pytest.mark.parametrize("leaves", ["categorical", "constant"])


# --- routing and gradients -----------------------------------------------------------------------


@QS
def test_the_gradient_of_the_reference_is_that_of_finite_differences(q):
    case = Case("categorical", 5, q=q)
    naive_trainer, batch = case.naive(), case.order()[:11]
    gradient = naive_trainer.gradient(batch, 1.7)
    step, rows = 1e-5, naive_trainer.rows
    differences = np.empty_like(gradient)
    for at in np.ndindex(rows.shape):
        ends = []
        for side in (1, -1):
            rows[at] += side * step
            ends.append(naive_trainer.loss(batch, 1.7))
            rows[at] -= side * step
        differences[at] = (ends[0] - ends[1]) / (2 * step)
    assert_close(gradient, differences, 1e-6)


@ROUTINGS
@pytest.mark.parametrize("gamma", [0.3, 1.0, 7.0])
def test_the_likelihood_is_a_sum_over_leaves(routing, gamma):
    case = case_for(routing, "categorical", 1, q=0.0)
    expected = case.naive().likelihood(np.arange(case.n), gamma)
    assert_close(likelihoods(case, routing, gamma), expected, 1e-5)
    assert np.ptp(expected) > 0.05


@QS
@ROUTINGS
def test_the_gradient_and_the_loss_are_those_of_the_reference(q, routing):
    # The second n is more than one chunk of samples. Trees of more than one block of nodes are
    # among those with losses of leaves.
    for seed, n, m in ((2, 23, 9), (3, 130, 40)):
        case = case_for(routing, "categorical", seed, q=q, n=n, m=m)
        naive_trainer, batch = case.naive(), case.order()
        assert_close(gradient(case, routing, 2.0, batch), naive_trainer.gradient(batch, 2.0))
        trainer, _, _ = case.kernel(routing, n)
        loss = trainer.epoch(batch, *still(2.0))
        assert loss == pytest.approx(naive_trainer.loss(batch, 2.0), rel=1e-5)


@given(problems(n_internal=st.integers(1, 6), scales=st.just(1.0), losses=st.just(LogLoss())),
       st.sampled_from([0.0, 0.05, 0.3, 0.6]), st.sampled_from([0.0, 0.5]),
       st.sampled_from([0.5, 4.0]))
def test_any_tree_is_routed_as_the_reference_routes_it(problem, cutoff, q, gamma):
    # Scores of zero are frequent here: a tie goes right where only one side can be visited.
    tree, X, y, loss = problem
    X, y = naive.dense(X), loss.encode(y, tree.n_outputs)
    case = Case("categorical", 0, tree=tree, X=X, y=y, centred=False, cutoff=cutoff, q=q)
    case.scaling = Scaling(np.zeros(tree.n_features), np.ones(tree.n_features))
    case.weights = np.column_stack([tree.weights, -tree.thresholds]).astype(np.float32)
    batch = np.arange(case.n, dtype=np.int32)
    naive_trainer = case.naive()
    right = naive_trainer.right(batch, gamma)
    event(f"cut off: {bool(np.isin(right, [0, 1]).any())}")
    for routing in ("visits", "csr") if cutoff else ("matrix", "visits", "csr", "lazy"):
        trainer, _, model = case.kernel(routing, case.n)
        loss = trainer.epoch(batch, *schedule(gamma, 0.0, 1.0, 1.0))
        assert loss == pytest.approx(naive_trainer.loss(batch, gamma), rel=1e-4, abs=1e-5)
        reference = case.naive()
        reference.step(batch, gamma, 0.0, 1.0, 1.0)
        np.testing.assert_allclose(
            model.parameters, reference.model.parameters, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(
            gradient(case, routing, gamma), naive_trainer.gradient(batch, gamma),
            rtol=1e-3, atol=1e-4)


def test_a_gamma_that_grows_routes_hard():
    case = Case("categorical", 14, q=0.0, n=60)
    leaves = softmax(case.tree.values, axis=1)
    hard = leaves[case.tree.apply(case.X)]
    assert len(np.unique(hard, axis=0)) > 4
    soft = soft_predict_proba(case.tree, case.X, 1e6)
    np.testing.assert_allclose(soft, hard, atol=1e-6)
    np.testing.assert_array_equal(soft_predict_proba(case.tree, case.X, 1e308), hard)
    of_target = hard[np.arange(60), case.y[:, 0].astype(int)]
    for routing in ("matrix", "visits"):
        np.testing.assert_allclose(likelihoods(case, routing, 1e6), of_target, rtol=1e-5)
    assert np.abs(soft_predict_proba(case.tree, case.X, 1.0) - hard).max() > 0.3


def test_predicted_probabilities_are_what_the_kernel_trains():
    case = Case("categorical", 8, q=0.0, n=20)
    proba = soft_predict_proba(case.tree, case.X, 1.3)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    of_target = proba[np.arange(20), case.y[:, 0].astype(int)]
    np.testing.assert_allclose(likelihoods(case, "matrix", 1.3), of_target, rtol=1e-5)


# --- leaves --------------------------------------------------------------------------------------


@QS
@ROUTINGS
def test_leaves_are_fitted_to_what_they_are_responsible_for(q, routing):
    case = case_for(routing, "categorical", 6, q=q, n=90)
    batch = case.order()
    trainer, weights, model = case.kernel(routing, case.n)
    trainer.epoch(batch, *schedule(2.0, 0.0, 1.0, 1.0))
    reference = case.naive()
    share = reference.share(batch, 2.0)
    if q == 0:
        np.testing.assert_allclose(
            share.sum(axis=1), case.weight[batch] / case.weight[batch].sum())   # eq. 10
    reference.model.mean = reference.model.collect(batch, share)
    reference.model.fit()
    assert_close(model.parameters, reference.model.parameters)
    np.testing.assert_array_equal(weights, case.weights)
    assert np.abs(model.parameters - case.parameters).max() > 0.1


def test_exact_em_never_lowers_the_likelihood():
    case = Case("categorical", 7, q=0.0, n=80, m=12, refit_every_step=False)
    case.prior_weight = 1e-9
    trainer, _, _ = case.kernel("matrix", case.n)
    order, losses = case.order(), []
    for _ in range(30):
        losses.append(trainer.epoch(order, *schedule(2.0, 0.0, 1.0, 1.0)))
        trainer.refit()
    assert (np.diff(losses) < 1e-6).all()
    assert losses[-1] < losses[0] - 0.05


# --- steps ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("refit_every_step", [True, False])
@QS
@ROUTINGS
def test_epochs_are_those_of_the_reference(q, routing, refit_every_step):
    case = case_for(routing, "categorical", 9, q=q, n=50, betas=(0.9, 0.95),
                    refit_every_step=refit_every_step)
    trainer, weights, model = case.kernel(routing, 8)
    reference = case.naive()
    for epoch in range(2):
        order, steps = case.order(), np.arange(7)       # the last batch is a short one
        run = schedule(1.0 + 0.3 * steps, 0.1 - 0.01 * steps, 0.97 + 0.004 * steps,
                       1 / (1.0 + steps + 7 * epoch))
        loss = trainer.epoch(order, *run)
        assert loss == pytest.approx(reference.epoch(order, *run, 8), rel=1e-4)
        if not refit_every_step:
            trainer.refit()
            reference.model.fit()
        np.testing.assert_allclose(weights, reference.rows, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(
            model.parameters, reference.model.parameters, rtol=1e-3, atol=1e-4)
    assert np.median(np.abs(weights - case.weights)) > 0.05


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("betas", [(0.9, 0.95), (0.9, 0.999), (0.0, 0.9)])
def test_lazy_steps_are_those_of_every_feature_at_every_step(betas, n_threads):
    # A feature waits for up to 40 steps of the reference, which moves all of them at each.
    case = Case("categorical", 15, n=80, p=60, m=5, q=0.5, betas=betas, centred=False)
    case.X[case.random.random(case.X.shape) < 0.97] = 0.0
    case.X[:, 3] = 0.0
    trainer, weights, _ = case.kernel("lazy", 2, n_threads)
    reference = case.naive()
    for _ in range(3):
        order, steps = case.order(), np.arange(40)
        run = schedule(1.0 + 0.1 * steps, 0.02 - 0.0003 * steps, 0.97 + 0.0007 * steps,
                       np.full(40, 0.5))
        loss = trainer.epoch(order, *run)
        assert loss == pytest.approx(reference.epoch(order, *run, 2), rel=1e-4)
        np.testing.assert_allclose(weights, reference.rows, rtol=1e-3, atol=2e-4)
    assert np.median(np.abs(weights - case.weights)) > 0.05


@pytest.mark.parametrize("image_shape", [(2, 6), (3, 4), (12, 1), (2, 3, 2)])
@NOT_LAZY
def test_the_penalty_is_a_laplacian(image_shape, routing):
    case = case_for(routing, "categorical", 10, p=12, q=0.0)
    batch = case.order()
    expected = case.naive(0.7 * naive_soft.laplacian(image_shape)).gradient(batch, 1.5) + (
        0.7 * case.weights @ naive_soft.laplacian(image_shape))
    plain = gradient(case, routing, 1.5, batch)
    case.options |= dict(spatial_penalty=0.7, neighbour=_neighbours(image_shape))
    penalised = gradient(case, routing, 1.5, batch)
    assert_close(penalised, expected)
    np.testing.assert_array_equal(penalised[:, -1], plain[:, -1])   # nothing is beside a threshold
    assert np.abs(penalised - plain).max() > 1


@NOT_LAZY
def test_a_mask_keeps_weights_as_they_are(routing):
    case = case_for(routing, "categorical", 11, p=6, q=0.5)
    case.weights[case.random.random(case.weights.shape) < 0.5] = 0.0
    mask = (case.weights != 0).astype(np.float32)
    case.options |= dict(mask=mask, spatial_penalty=0.1, neighbour=_neighbours((2, 3)))
    trainer, weights, _ = case.kernel(routing, 8)
    for _ in range(3):
        trainer.epoch(case.order(), *schedule([2.0] * 3, [0.1] * 3, [0.99] * 3, [0.5] * 3))
    np.testing.assert_array_equal(weights[mask == 0], 0.0)
    assert (weights != case.weights)[mask == 1].all()


# --- what is not visited -------------------------------------------------------------------------


@QS
@pytest.mark.parametrize("cutoff", [0.02, 0.4])
@pytest.mark.parametrize("routing", ["visits", "csr"])
def test_what_is_cut_off_goes_hard_to_the_other_side(q, cutoff, routing):
    case = case_for(routing, "categorical", 12, q=q, n=80, m=30, cutoff=cutoff)
    reference, batch = case.naive(), case.order()
    right = reference.right(batch, 2.0)
    mu = naive_soft.reach(case.tree, right)
    np.testing.assert_allclose(mu.sum(axis=1), 1.0)     # nothing is lost
    assert mu[mu > 0].min() >= cutoff
    trainer, _, model = case.kernel(routing, case.n)
    loss = trainer.epoch(batch, *schedule(2.0, 0.0, 1.0, 1.0))
    assert loss == pytest.approx(reference.loss(batch, 2.0), rel=1e-5)
    assert_close(gradient(case, routing, 2.0, batch), reference.gradient(batch, 2.0))
    reference.step(batch, 2.0, 0.0, 1.0, 1.0)
    assert_close(model.parameters, reference.model.parameters)
    # It is another loss than that of the whole tree.
    case.cutoff = 0.0
    assert abs(case.naive().loss(batch, 2.0) - loss) > 1e-4 * loss


def complete(depth, scale=1.0):
    random = np.random.default_rng(0)
    m = 2**depth - 1
    return Tree(scale * random.normal(size=(m, 2)), scale * random.normal(size=m),
                *balanced_children(m + 1), random.normal(size=(m + 1, 2)))


@pytest.mark.parametrize("cutoff", [1 / 64, 1 / 100, 0.0099])
def test_each_level_has_room_for_all_its_visits(cutoff):
    # Coins all the way: down to level 6 all nodes are visited, and from there on all ties go right.
    # Of the samples, there are more than two chunks.
    tree = complete(12, scale=0.0)
    case = Case("categorical", 0, tree=tree, n=2 * 128 + 5, q=0.0, cutoff=cutoff)
    trainer, _, model = case.kernel("visits", case.n)
    trainer.epoch(case.order(), *schedule(1.0, 0.0, 1.0, 1.0))
    visited = (np.arange(2**12) + 1) % 64 == 0
    prior = np.tile(case.prior, (2**12, 1))
    np.testing.assert_allclose(model.parameters[~visited], prior[~visited], rtol=1e-6)
    reference = case.naive()
    classes = case.y == np.arange(2)
    density = reference.model.parameters[visited]
    joint = density[:, case.y[:, 0].astype(int)]
    share = case.weight * joint / joint.sum(axis=0) / case.weight.sum()
    expected = share @ classes + case.prior_weight * case.prior
    np.testing.assert_allclose(
        model.parameters[visited], expected / expected.sum(axis=1, keepdims=True), rtol=1e-4)


# --- nothing overflows ---------------------------------------------------------------------------


@cache
def deep_tree():
    return complete(15)


@LEAVES
@pytest.mark.parametrize("q", [0.0, 0.5])
@pytest.mark.parametrize(("routing", "cutoff"), [("matrix", 0.0), ("visits", 0.01)])
def test_deep_steep_trees_stay_finite(q, leaves, routing, cutoff):
    case = Case(leaves, 3, tree=deep_tree(), n=6, cutoff=cutoff, q=q, betas=(0.9, 0.95))
    case.parameters[::2] = [1.0, 0.0] if leaves == "categorical" else 1e3
    trainer, weights, model = case.kernel(routing, 3)
    for gamma in (1.0, 500.0):
        loss = trainer.epoch(
            case.order(), *schedule([gamma] * 2, [0.5] * 2, [0.99] * 2, [0.5] * 2))
        assert np.isfinite(loss)
        assert np.isfinite(weights).all()
        assert np.isfinite(model.parameters).all()
    assert (weights != case.weights).any()


@ROUTINGS
@pytest.mark.parametrize("small", [1e-8, 1e-12, 1e-30, 0.0])
def test_a_small_probability_is_not_lost_beside_a_large_one(routing, small):
    # All of the sample goes right, where its class hardly is.
    tree = Tree([[1.0]], [0.0], [~0], [~1], [[0.0, 0.0], [0.0, 0.0]])
    case = Case("categorical", 0, tree=tree, X=np.array([[5.0]]), y=np.array([[0.0]]), q=0.0,
                centred=False)
    case.parameters[:] = [[0.9, 0.1], [small, 1.0 - small]]
    trainer, weights, model = case.kernel(routing, 1)
    loss = trainer.epoch(np.zeros(1, dtype=np.int32), *schedule(50.0, 0.1, 1.0, 0.5))
    if small > 1e-20:
        assert loss == pytest.approx(-np.log(small), rel=1e-5)
    assert loss > 18
    for numbers in (loss, weights, model.parameters):
        assert np.isfinite(numbers).all()


# --- forms of the data, threads ------------------------------------------------------------------


@pytest.mark.parametrize("leaves", ["categorical", "constant", "linear"])
@pytest.mark.parametrize("p", [20, 45, 77])     # whole vectors of 32 and of 8 numbers, and rests
def test_ways_to_route_differ_by_rounding_only(leaves, p):
    results = []
    # The updates of linear leaves are dense, so that there are no lazy ones of splits above them.
    for routing in ("matrix", "visits", "csr", "lazy")[:3 if leaves == "linear" else 4]:
        case = Case(leaves, 13, q=0.5, n=90, p=p, m=20, centred=False)
        case.X[case.random.random(case.X.shape) < 0.6] = 0.0
        trainer, weights, model = case.kernel(routing, 30)
        for _ in range(2):
            trainer.epoch(case.order(), *schedule([2.0] * 3, [0.01] * 3, [0.99] * 3, [0.5] * 3))
        results.append((weights, model.parameters))
    for weights, parameters in results[1:]:
        np.testing.assert_allclose(weights, results[0][0], rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(parameters, results[0][1], rtol=1e-3, atol=1e-4)


@pytest.mark.usefixtures("two_blas_threads")
@pytest.mark.parametrize(("routing", "leaves", "loss"), [
    (routing, leaves, loss) for routing in ("matrix", "visits", "csr", "lazy")
    for leaves, loss in (("categorical", None), *product(
        ("constant", "linear"), (HuberLoss(3.0), AnyLoss(3.0))))
    if (routing, leaves) != ("lazy", "linear")], ids=str)
@pytest.mark.parametrize("batch_size", [1, 70, 150])
def test_the_number_of_threads_changes_no_bit(leaves, routing, loss, batch_size):
    results = []
    for n_threads in (1, 3):
        n = 150 if batch_size > 1 else 12
        case = case_for(routing, leaves, 4, n=n, p=5, m=150, q=0.5, loss=loss)
        trainer, weights, model = case.kernel(routing, batch_size, n_threads)
        steps = -(-case.n // batch_size)
        losses = [
            trainer.epoch(case.order(), *schedule(
                [2.0] * steps, [0.05] * steps, [0.99] * steps, [0.5] * steps))
            for _ in range(2)]
        results.append((weights.tobytes(), model.parameters.tobytes(), losses))
    assert results[0] == results[1]


@LEAVES
@ROUTINGS
@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("pieces", [[1] * 9, [2, 6, 1]])
def test_how_an_epoch_is_divided_into_calls_changes_no_bit(leaves, routing, n_threads, pieces):
    # The clock decides where a call ends. Where samples are sparse, most features have missed steps
    # there.
    results = []
    for parts in ([9], pieces):
        case = case_for(routing, leaves, 7, n=85, p=30, m=20, q=0.5)
        case.X[case.random.random(case.X.shape) < 0.97] = 0.0
        trainer, weights, model = case.kernel(routing, 10, n_threads, lazy=LazyTrainer)
        losses = []
        for _ in range(2):
            order = case.order()
            ends = np.cumsum(parts)
            for begin, end in zip(ends - parts, ends, strict=True):
                steps = schedule(*np.array([[2.0, 0.05, 0.99, 0.5]] * (end - begin)).T)
                loss = trainer.epoch(order[10 * begin:10 * end], *steps, resume=begin > 0)
            trainer.catch_up()
            losses.append(loss)
        results.append((weights.tobytes(), model.parameters.tobytes(), losses))
    assert results[0] == results[1]


@LEAVES
@pytest.mark.parametrize("routing", ["matrix", "visits"])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_mixed_samples_are_what_mixed_rows_are(leaves, routing, n_threads):
    case = case_for(routing, leaves, 15, n=150, m=20, q=0.5)
    order, partner = case.order(), case.order()
    share = case.random.random(case.n).astype(np.float32)
    steps = schedule(*np.array([[2.0, 0.05, 0.99, 0.5]] * 2).T)
    trainer, weights, model = case.kernel(routing, 75, n_threads)
    loss = trainer.epoch(order, *steps, mixed=(partner, share))
    case.X = case.X.copy()
    case.X[order] += share[:, None] * (case.X[partner] - case.X[order])
    expected, expected_weights, expected_model = case.kernel(routing, 75)
    assert loss == pytest.approx(expected.epoch(order, *steps), rel=1e-5)
    assert_close(weights, expected_weights, 1e-3)
    assert_close(model.parameters, expected_model.parameters, 1e-3)


@ROUTINGS
def test_another_thread_makes_progress_during_an_epoch(routing):
    case = case_for(routing, "categorical", 6, n=1000, p=50, m=60, q=0.5)
    trainer, _, _ = case.kernel(routing, 100)

    order = case.order()

    def epoch(times):
        steps = times * case.n // 100
        return partial(trainer.epoch, np.tile(order, times), *schedule(
            [1.0] * steps, [0.0] * steps, [1.0] * steps, [0.0] * steps))

    assert_other_threads_run(epoch)
