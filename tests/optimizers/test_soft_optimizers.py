"""Annealed, EndToEnd and RandomComplete: their trees, and no overflow."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris

from helpers import FORMS, StopAt, iris_problem
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt._methods.soft import run as _soft
from ngdt._training.control import Control
from ngdt._training.problem import Problem
from ngdt._util.stopped import Stopped
from ngdt.initializers import InfoGain, RandomComplete
from ngdt.losses import HuberLoss, LogLoss, SquaredLoss
from ngdt.optimizers import Annealed, EndToEnd

LOSSES = pytest.mark.parametrize("loss", [LogLoss(), SquaredLoss()])
# Ten epochs of the 100 training rows of `problem`, the last mini-batch of each a short one.
QUICK = {
    "annealed": Annealed(steps=40, batch_size=30),
    "annealed, cut off": Annealed(steps=40, batch_size=30, cutoff=0.05),
    "end to end": EndToEnd(epochs=10, batch_size=30, learning_rate=0.05),
    "end to end, cut off": EndToEnd(epochs=10, batch_size=30, learning_rate=0.05, cutoff=0.05),
}
OPTIMIZERS = pytest.mark.parametrize("optimizer", QUICK.values(), ids=QUICK)
SHORT = pytest.mark.parametrize("optimizer", [QUICK["annealed"], QUICK["end to end"]], ids=str)


@pytest.fixture
def problem():
    return iris_problem(max_depth=4)


def run(optimizer, problem, start=None):
    initial = RandomComplete().initialize(problem) if start is None else start
    return optimizer.optimize(initial, problem)


def same_splits(one, other):
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in (
        "weights", "thresholds", "children_left", "children_right"))


@pytest.fixture
def watch(monkeypatch):
    """The arguments of all epochs of all runs to come."""
    calls = []

    class Watched(_soft.SoftTrainer):
        def epoch(self, *arguments, resume, **options):
            # An epoch has several pieces, after which Ctrl-C is noticed.
            calls.append(
                tuple(np.concatenate(both) for both in zip(calls.pop(), arguments, strict=True))
                if resume else arguments)
            return super().epoch(*arguments, resume=resume, **options)

    monkeypatch.setattr(_soft, "SoftTrainer", Watched)
    return calls


def test_the_prior_of_the_leaves_has_the_weights_of_the_samples(problem):
    weight = problem.sample_weight * (1.0 + np.arange(150) % 4)
    problem = problem.replace(sample_weight=weight)
    samples = problem.training_samples
    prior, share = _soft.SoftRun(
        Annealed(pseudo_count=2.0), RandomComplete().initialize(problem), problem, samples,
        _soft.unit_weight(problem))._prior()
    expected = [weight[problem.y[:, 0] == c].sum() / weight.sum() for c in range(3)]
    np.testing.assert_allclose(prior, expected)
    assert share == 2.0 / len(samples)


@SHORT
def test_the_squared_loss_is_linear_from_three_on(problem, optimizer):
    y = np.where(np.arange(150)[:, None] % 50 == 7, 9.0, problem.X[:, :1] - 6.0)
    problem = problem.replace(
        y=y, loss=SquaredLoss(), n_outputs=1, validation_weight=None)
    start = RandomComplete().initialize(problem)
    trained, linear, never = (optimizer._optimize(start, problem.replace(loss=loss)).tree
                              for loss in (SquaredLoss(), HuberLoss(3.0), HuberLoss(1e6)))
    assert same_splits(trained, linear)
    assert not same_splits(trained, never)


# --- what comes out ------------------------------------------------------------------------------


@OPTIMIZERS
@FORMS
@LOSSES
def test_leaves_are_the_best_for_the_hard_tree_and_none_is_dead(optimizer, form, loss):
    problem = iris_problem(loss, form, max_depth=4)
    weight = problem.sample_weight * (1 + np.arange(150) % 4)
    problem = problem.replace(sample_weight=weight)
    tree = run(optimizer, problem).tree
    rows = np.flatnonzero(weight)
    leaf = tree.apply(problem.X)[rows]
    assert tree.n_internal >= 1
    assert len(np.unique(leaf)) == tree.n_leaves
    np.testing.assert_array_equal(tree.values, loss.fit_leaves(
        leaf, problem.y[rows], weight[rows], tree.n_leaves, problem.n_outputs))
    assert len(np.unique(tree.predict(problem.X), axis=0)) <= tree.n_leaves


def test_it_is_well_above_the_greedy_tree_on_digits():
    X, y = load_digits(return_X_y=True)
    greedy = ObliqueTreeClassifier(5, init="info_gain", optimizer=None).fit(X[:1200], y[:1200])
    tree = ObliqueTreeClassifier(
        5, init="random_complete", optimizer=Annealed(steps=1500), validation_fraction=None,
        random_state=0).fit(X[:1200], y[:1200])
    assert tree.tree_.max_depth <= 5
    assert tree.score(X[1200:], y[1200:]) > greedy.score(X[1200:], y[1200:]) + 0.12


def test_several_targets_of_an_oblique_step():
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, size=(900, 5))
    sides = X @ random.normal(size=(5, 2)) > 0
    y = np.column_stack([sides[:, 0], 3.0 * sides[:, 1] - sides[:, 0], sides.sum(axis=1)])
    greedy = ObliqueTreeRegressor(3, init="info_gain", optimizer=None).fit(X[:600], y[:600])
    tree = ObliqueTreeRegressor(
        3, init="random_complete", optimizer=Annealed(steps=1500), validation_fraction=None,
        random_state=0).fit(X[:600], y[:600])
    assert tree.score(X[600:], y[600:]) > 0.9
    assert tree.score(X[600:], y[600:]) > greedy.score(X[600:], y[600:]) + 0.2


@SHORT
def test_history(problem, optimizer):
    history = run(optimizer, problem).history
    assert set(history) == {"loss", "gamma", "validation"}
    assert {len(column) for column in history.values()} == {10}
    assert history["loss"][-1] < history["loss"][0]
    assert (np.diff(history["gamma"]) > 0).all()
    checked = np.isfinite(history["validation"])
    assert not checked[:5].any()
    np.testing.assert_array_equal(np.flatnonzero(checked), [5, 7, 9])
    unknown = run(optimizer, problem.replace(validation_weight=None)).history
    assert np.isnan(unknown["validation"]).all()
    assert unknown["loss"] == history["loss"]       # held-out rows change nothing else


@SHORT
def test_the_tree_with_the_fewest_held_out_errors_is_kept(monkeypatch, problem, optimizer):
    candidates, hard_tree = [], _soft.SoftRun._hard_tree

    def watched(run):
        candidates.append(hard_tree(run))
        return candidates[-1]

    monkeypatch.setattr(_soft.SoftRun, "_hard_tree", watched)
    problem = problem.replace(
        validation_weight=problem.validation_weight * (1 + np.arange(150) % 5))
    result = run(optimizer, problem)
    tree, history = result.tree, result.history
    held = np.flatnonzero(problem.validation_weight)
    errors = [np.average(
        problem.prediction_errors(candidate.predict(problem.X[held]), held),
        weights=problem.validation_weight[held]) for candidate in candidates]
    recorded = np.array(history["validation"])
    np.testing.assert_allclose(recorded[np.isfinite(recorded)], errors, atol=1e-12)
    last_best = max(i for i, error in enumerate(errors) if error <= min(errors) + 1e-12)
    assert tree is candidates[last_best]
    assert max(errors) > min(errors)


def test_a_tree_without_splits_is_returned_as_it_is(problem):
    leaf = RandomComplete(0).initialize(problem)
    assert leaf.n_internal == 0
    for optimizer in (Annealed(), EndToEnd()):
        assert optimizer.optimize(leaf, problem).tree is leaf


# --- schedules and parameters --------------------------------------------------------------------


def test_schedules_of_annealed(watch, problem):
    weight = problem.sample_weight * (1 + np.arange(150) % 2)
    run(Annealed(gamma=(2.0, 6.0), learning_rate=0.4, weight_decay=0.1, steps=40, batch_size=30),
        problem.replace(sample_weight=weight))
    rows = np.flatnonzero(weight)
    orders, gamma, rate, keep, leaf_rate = zip(*watch, strict=True)
    for order in orders:
        np.testing.assert_array_equal(np.sort(order), rows)
    assert len({order.tobytes() for order in orders}) == 10
    done = np.arange(40) / 40
    np.testing.assert_allclose(np.concatenate(gamma), 2.0 + 4.0 * done)
    np.testing.assert_allclose(np.concatenate(rate), 0.2 * (1 + np.cos(np.pi * done)))
    np.testing.assert_allclose(
        np.concatenate(keep), 1 - 0.1 * np.concatenate(rate), rtol=1e-12)
    batches = [order[k:k + 30] for order in orders for k in (0, 30, 60, 90)]
    weights = np.array([weight[batch].sum() for batch in batches])
    # A mean over the weight of one epoch: where a short batch counts less.
    expected = weights / np.minimum(np.cumsum(weights), weight.sum())
    np.testing.assert_allclose(np.concatenate(leaf_rate), expected)


def test_schedules_of_end_to_end(watch, problem):
    run(EndToEnd(gamma=0.5, gamma_step=0.25, learning_rate=0.02, epochs=7, batch_size=40), problem)
    for epoch, (order, gamma, rate, keep, leaf_rate) in enumerate(watch):
        assert len(order) == 100
        np.testing.assert_array_equal(gamma, 0.5 + 0.25 * epoch)
        np.testing.assert_array_equal(rate, 0.02)
        np.testing.assert_array_equal(keep, 1.0)
        np.testing.assert_allclose(leaf_rate, [1, 1 / 2, 1 / 5])
    assert len(watch) == 7


@pytest.mark.parametrize(("n", "batch", "steps"), [
    (3, 1, 3 * 300), (7, 1, 1125), (160, 10, 1200), (161, 11, 1125), (4000, 250, 1200),
    (4001, 250, 1275), (10_000, 250, 3000), (100_000, 250, 4500)])
def test_automatic_sizes(problem, n, batch, steps):
    plan = Annealed()._schedule(n, problem)
    assert plan.batch_size == batch
    assert plan.epochs * -(-n // batch) == pytest.approx(steps, rel=0.1)
    assert Annealed(steps=3)._schedule(n, problem).epochs == 1


@pytest.mark.parametrize(("n", "n_batches"), [(160, 16), (100_000, 400)])
def test_regression_takes_as_many_steps_whatever_the_number_of_samples(n, n_batches):
    epochs = Annealed()._schedule(n, iris_problem(SquaredLoss())).epochs
    assert epochs * n_batches == pytest.approx(2250, rel=0.1)


def test_the_leaves_of_an_epoch_do_not_depend_on_its_mini_batches():
    # Eq. 13 is about all samples: splits that stand still make each epoch an exact EM step.
    problem = iris_problem(LogLoss(), max_depth=4)
    problem = problem.replace(sample_weight=problem.sample_weight * (1 + np.arange(150) % 3))
    start, leaves = RandomComplete().initialize(problem), []
    for batch_size in (100, 30, 7):
        optimizer = EndToEnd(epochs=3, learning_rate=1e-30, batch_size=batch_size)
        training = _soft.SoftRun(
            optimizer, start, problem, problem.training_samples, _soft.unit_weight(problem), False)
        before = training.model.parameters.copy()
        training.train()
        leaves.append(training.model.parameters)
    np.testing.assert_allclose(leaves[1], leaves[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(leaves[2], leaves[0], rtol=1e-4, atol=1e-5)
    assert np.abs(leaves[0] - before).max() > 0.1


@pytest.mark.parametrize(("n_features", "form", "cutoff"), [
    (128, np.asarray, None), (129, np.asarray, 0.001), (129, sparse.csr_array, None)])
def test_subtrees_are_skipped_in_dense_trees_of_many_weights(n_features, form, cutoff):
    X = form(np.random.default_rng(0).normal(size=(60, n_features)))
    problem = Problem(X, np.arange(60.0)[:, None] % 2, LogLoss(), 2, np.ones(60),
                      standardize=False).limited(max_depth=8)
    found = {each: run(Annealed(steps=10, cutoff=each), problem).tree
             for each in ("auto", None, 0.001)}
    assert same_splits(found["auto"], found[cutoff])
    assert not same_splits(found[None], found[0.001])


@pytest.mark.parametrize("cutoff", [None, 0.05])
def test_keep_zeros(cutoff):
    X, y = load_digits(return_X_y=True)
    X, y = np.sign(X[:300, 20:45] - 8) + 1.0, y[:300]
    problem = Problem(X, y[:, None].astype(float), LogLoss(), 10, np.ones(300),
                      standardize=False).limited(max_depth=3)
    start = InfoGain().initialize(problem)
    # A threshold of zero is of no feature, and may move.
    start = Tree(start.weights, np.zeros(start.n_internal), start.children_left,
                 start.children_right, start.values)
    optimizer = EndToEnd(epochs=3, learning_rate=0.02, batch_size=50, cutoff=cutoff)
    free = run(optimizer, problem, start).tree
    optimizer.keep_zeros = True
    kept = run(optimizer, problem, start).tree
    assert (np.count_nonzero(kept.weights, axis=1) == 1).all()
    assert (kept.thresholds != 0).all()
    assert (np.count_nonzero(free.weights, axis=1) > 10).all()


def test_the_spatial_penalty_makes_weights_smooth():
    X, y = load_digits(return_X_y=True)
    problem = Problem(X[:300].copy(), y[:300, None].astype(float), LogLoss(), 10, np.ones(300),
                      standardize="global").limited(max_depth=3)
    roughness = []
    for penalty in (0.0, 0.1):
        optimizer = EndToEnd(epochs=15, learning_rate=0.02, batch_size=50,
                             spatial_penalty=penalty, image_shape=(8, 8))
        images = run(optimizer, problem).tree.weights.reshape(-1, 8, 8)
        steps = [np.square(np.diff(images, axis=axis)).sum() for axis in (1, 2)]
        roughness.append(sum(steps) / np.square(images).sum())
    assert roughness[1] < 0.3 * roughness[0]


@pytest.mark.parametrize(("optimizer", "message"), [
    (Annealed(gamma=(1.0,)), "gamma must be two positive numbers"),
    (Annealed(gamma=(0.0, 2.0)), "gamma must be two positive numbers"),
    (Annealed(gamma=(1.0, np.inf)), "gamma must be two positive numbers"),
    (Annealed(gamma=(1.0, np.nan)), "gamma must be two positive numbers"),
    (Annealed(gamma=("1", 2.0)), "gamma must be two positive numbers"),
    (Annealed(weight_decay=21.0, learning_rate=0.05), "weight_decay=21.0 .* at most .* 20"),
    (EndToEnd(spatial_penalty=1.0), "spatial_penalty needs image_shape"),
    (EndToEnd(image_shape=(4,)), r"image_shape=\(4,\) does not make the 4 features"),
    (EndToEnd(image_shape=(2, 3)), r"image_shape=\(2, 3\) does not make the 4 features"),
    (EndToEnd(image_shape=(-2, -2)), r"image_shape=\(-2, -2\) does not make"),
    (EndToEnd(image_shape=(1.0, 4.0)), r"image_shape=\(1.0, 4.0\) does not make"),
    (EndToEnd(image_shape=("a", 4)), r"image_shape=\('a', 4\) does not make"),
])
def test_parameters_that_do_not_go_together_are_named(optimizer, message):
    estimator = ObliqueTreeClassifier(1, init="random_complete", optimizer=optimizer)
    with pytest.raises(ValueError, match=message):
        estimator.fit(*load_iris(return_X_y=True))


def test_sparse_samples_are_not_mixed(problem):
    with pytest.raises(ValueError, match=r"mixing=0.4 is for dense data: use mixing=0"):
        run(Annealed(mixing=0.4), problem.replace(X=sparse.csr_array(problem.X)))


# --- weights, threads, forms of the data ---------------------------------------------------------


@LOSSES
def test_mixing_depends_on_the_seed_only(loss):
    problem = iris_problem(loss, max_depth=4)
    one, other = (run(Annealed(steps=64, mixing=0.4), problem.replace(n_jobs=n_jobs)).tree
                  for n_jobs in (1, 2))
    assert one == other
    assert not same_splits(one, run(Annealed(steps=64), problem).tree)
    # The samples themselves are fitted in the end.
    leaf = one.apply(problem.X)
    values = problem.fit_leaves(
        leaf[problem.training_samples], problem.training_samples, one.n_leaves)
    np.testing.assert_allclose(one.values, values)


@OPTIMIZERS
def test_sparse_data_train_as_dense_data_up_to_rounding(problem, optimizer):
    problem = problem.replace(standardize=False)
    dense, other = (run(optimizer, problem.replace(X=form(problem.X)))
                    for form in (np.asarray, sparse.csr_array))
    np.testing.assert_allclose(dense.history["loss"], other.history["loss"], rtol=1e-2)
    assert (dense.tree.predict(problem.X).argmax(axis=1)
            == other.tree.predict(problem.X).argmax(axis=1)).mean() > 0.95


@SHORT
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_data_are_neither_changed_nor_copied(optimizer, dtype):
    random = np.random.default_rng(0)
    X = random.random((6000, 300)).astype(dtype)
    before = X.copy()
    X.setflags(write=False)
    y = (X[:, :1] > 0.5).astype(float)
    problem = Problem(X, y, LogLoss(), 2, np.ones(len(X))).limited(max_depth=3)
    optimizer = type(optimizer)(**optimizer.get_params() | (
        dict(steps=10, batch_size=250) if isinstance(optimizer, Annealed)
        else dict(epochs=1, batch_size=250)))
    start = RandomComplete().initialize(problem)
    tracemalloc.start()
    optimizer.optimize(start, problem)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2 * X.nbytes
    np.testing.assert_array_equal(X, before)


# --- Ctrl-C --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_returns_what_as_many_epochs_return(problem, n_jobs):
    problem = problem.replace(validation_weight=None)
    common = dict(learning_rate=0.05, batch_size=30)
    # Of 30 epochs, the tree is read out after 16 and 18, and so on.
    for epochs, last in ((9, 1), (9, 4), (30, 17)):
        with pytest.raises(Stopped) as caught:
            run(EndToEnd(epochs=epochs, **common),
                problem.replace(control=Control(callback=StopAt(last)), n_jobs=n_jobs))
        result = caught.value
        assert {len(column) for column in result.history.values()} == {last}
        assert result.tree == run(EndToEnd(epochs=last, **common), problem).tree


# --- odd data ------------------------------------------------------------------------------------


@pytest.mark.parametrize("least", [1e-60, 1e-300])
@SHORT
def test_weights_of_any_size(problem, optimizer, least):
    # One sample at a time: some mini-batches weigh next to nothing.
    optimizer = type(optimizer)(**optimizer.get_params() | dict(batch_size=1))
    weight = np.where(np.arange(150) % 2, problem.sample_weight, least)
    result = run(optimizer, problem.replace(sample_weight=weight))
    assert np.isfinite(result.tree.weights).all()
    assert np.isfinite(result.history["loss"]).all()


@SHORT
def test_leaves_that_rule_a_class_out(problem, optimizer):
    # A given tree may say that what is in the data cannot be.
    start = RandomComplete().initialize(problem)
    impossible = np.tile([0.0, -1e4, -1e4], (start.n_leaves, 1))
    result = run(optimizer, problem, Tree(
        start.weights, start.thresholds, start.children_left, start.children_right, impossible))
    assert np.isfinite(result.tree.weights).all()
    assert np.isfinite(result.history["loss"]).all()
    assert problem.errors(result.tree, np.arange(150, dtype=np.int32)).mean() < 0.2
