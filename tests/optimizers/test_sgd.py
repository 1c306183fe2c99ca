"""SGD and SSGD: effects of the parameters, the kept tree, and no overflow."""


import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from helpers import FORMS, StopAt, iris_problem
from ngdt import ObliqueTreeClassifier, Tree
from ngdt._methods.sgd import run as _sgd
from ngdt._methods.sgd import run as input_scale
from ngdt._training.control import Control
from ngdt._util.stopped import Stopped
from ngdt.initializers import InfoGain
from ngdt.losses import LogLoss, PoissonLoss, SquaredLoss
from ngdt.optimizers import SGD, SSGD


@pytest.fixture
def problem():
    """150 rows, 50 of them held out."""
    return iris_problem(max_depth=3)


@pytest.fixture
def all_trained(problem):
    """The last tree is returned, since nothing is held out."""
    return problem.replace(validation_weight=None)


def of_targets(problem, loss):
    """The same rows, for regression; and a start."""
    problem = problem.replace(loss=loss, n_outputs=1)
    return problem, InfoGain().initialize(problem)


@pytest.fixture
def start(problem):
    return InfoGain().initialize(problem)


class _Watched(_sgd.SGDTrainer):
    """Writes down how it is called. Epochs without a step only measure gradient shares."""

    def __init__(self, *arguments, **parameters):
        super().__init__(*arguments, **parameters)
        tree, samples = arguments
        self.parameters = {
            **parameters, "nu": tree.nu,
            "leaf_limit": tree.leaf_limit, "norm_limit": samples.norm_limit}
        self.n_assignments, self.shares = 0, []
        self.assigned_before, self.rates, self.leaf_rates, self.trees = [], [], [], []
        _Watched.last = self

    def assign(self, samples):
        super().assign(samples)
        self.n_assignments += 1

    def epoch(self, order, rate, leaf_rate, **options):
        if not rate.any():
            figures = super().epoch(order, rate, leaf_rate)
            self.shares.append(figures["gradient_share"])
            return figures
        if not self.trees:
            self.trees.append(self.snapshot())
        self.assigned_before.append(self.n_assignments)
        self.rates.append(rate)
        self.leaf_rates.append(leaf_rate)
        figures = super().epoch(order, rate, leaf_rate, **options)
        self.trees.append(self.snapshot())
        return figures

    def snapshot(self):
        return (self.tree.weights.astype(np.float64), self.tree.thresholds.copy(),
                self.tree.values.copy())


@pytest.fixture
def watch(monkeypatch):
    """Run an optimizer; return tree, history and the trainer that it used."""
    monkeypatch.setattr(_sgd, "SGDTrainer", _Watched)

    def run(optimizer, tree, problem):
        result = optimizer.optimize(tree, problem)
        tree, history = result.tree, result.history
        return tree, history, _Watched.last

    return run


@pytest.fixture
def tree_after_epoch(monkeypatch):
    """The trees after each epoch of all runs, in a list that grows."""
    trees = []
    epoch = _sgd.SGDRun._epoch

    def watched(run, *arguments):
        epoch(run, *arguments)
        trees.append(run.best_tree())

    monkeypatch.setattr(_sgd.SGDRun, "_epoch", watched)
    return trees


# --- parameters do what they say -----------------------------------------------------------------


@pytest.mark.parametrize(("renew", "before_each_epoch"), [
    ("step", [0] * 7),
    ("epoch", [1, 2, 3, 4, 5, 6, 7]),
    (1, [1, 2, 3, 4, 5, 6, 7]),
    (3, [1, 1, 1, 2, 2, 2, 3]),
])
@pytest.mark.parametrize("rule", ["best", "navigate"])
def test_renewal_by_epochs(watch, problem, start, rule, renew, before_each_epoch):
    optimizer = SSGD(assignment=rule, renew=renew, epochs=7)
    assert watch(optimizer, start, problem)[2].assigned_before == before_each_epoch


def test_renewal_when_the_bound_stops_to_fall(watch, problem, start):
    _, history, trainer = watch(SSGD(renew="plateau", epochs=40), start, problem)
    bound = np.array(history["bound"])
    stalled = bound[1:] > 0.999 * bound[:-1]
    renewed = np.diff(trainer.assigned_before)      # before epochs 1, 2, ...
    np.testing.assert_array_equal(renewed, [1, *stalled[:-1]])
    assert 0 < stalled.sum() < len(stalled)


def test_sgd_is_ssgd_that_navigates_at_each_step(all_trained, start):
    one, other, best = (
        optimizer.optimize(start, all_trained).tree for optimizer in (
            SGD(epochs=5), SSGD(assignment="navigate", renew="step", epochs=5), SSGD(epochs=5)))
    assert one == other
    assert one != best


def test_both_rates_decay_as_a_cosine(watch, problem, start):
    _, _, trainer = watch(
        SGD(epochs=4, batch_size=10, learning_rate=0.25, nu=16.0, leaf_learning_rate=3.0),
        start, problem)
    factor = (1 + np.cos(np.pi * np.arange(40) / 40)) / 2   # 100 rows, ten steps per epoch
    np.testing.assert_allclose(np.concatenate(trainer.rates), 0.25 * 4.0 * factor, rtol=1e-12)
    np.testing.assert_allclose(np.concatenate(trainer.leaf_rates), 3.0 * factor, rtol=1e-12)


def test_batch_size_and_ball_reach_the_trainer(watch, problem, start):
    _, _, trainer = watch(
        SGD(epochs=1, batch_size=32, nu=3.0, leaf_limit=7.0), start, problem)
    assert len(np.concatenate(trainer.rates)) == 4       # 100 rows
    wanted = {"batch_size": 32, "nu": 3.0, "leaf_limit": 7.0}
    assert {name: trainer.parameters[name] for name in wanted} == wanted


def test_automatic_number_of_epochs(watch, problem, start):
    optimizer = SGD(batch_size=1)           # 100 steps per epoch
    assert len(watch(optimizer, start, problem)[1]["loss"]) == 100


def test_leaves_do_not_move_at_rate_zero_and_stay_within_their_limit(problem, start):
    problem = problem.replace(validation_weight=None)
    still = SGD(leaf_learning_rate=0, epochs=2).optimize(start, problem).tree
    np.testing.assert_array_equal(still.values, start.values)
    assert still != start
    clipped = SGD(leaf_limit=0.5, epochs=2).optimize(start, problem).tree
    assert np.abs(clipped.values).max() == 0.5


@pytest.mark.parametrize(("loss", "limited"), [
    (LogLoss(), True), (SquaredLoss(), False), (PoissonLoss(), True)])
def test_the_leaves_of_the_start_are_within_their_limit(problem, start, loss, limited):
    if not loss.is_classifier:
        problem, start = of_targets(problem, loss)
    scale = _sgd.InputScale.measure(problem, None)
    tree = _sgd.trainer_of(SGD(leaf_limit=0.5), start, problem, scale, 1.0, 10).tree
    assert np.abs(start.values).max() > 0.5
    np.testing.assert_array_equal(
        tree.values, np.clip(start.values, -0.5, 0.5) if limited else start.values)
    # Half of the way to the optimum of the squared loss, whose curvature is 2.
    largest = np.exp(start.values.max()) if loss.has_log_link else 2.0
    assert tree.max_leaf_step == (np.inf if loss.is_classifier else 0.5 / max(2.0, largest))


@pytest.mark.parametrize(("loss", "rate", "leaf_rate"), [
    (LogLoss(), 0.1, 10.0), (SquaredLoss(), 0.03, 1.0)])
def test_automatic_learning_rates(watch, problem, start, loss, rate, leaf_rate):
    if not loss.is_classifier:
        problem, start = of_targets(problem, loss)
    _, _, trainer = watch(SGD(epochs=1, nu=4.0), start, problem)
    assert trainer.rates[0][0] == pytest.approx(2.0 * rate)
    assert trainer.leaf_rates[0][0] == pytest.approx(leaf_rate)


@pytest.mark.parametrize(("kind", "loss"), [
    ("fast", LogLoss()), ("full", SquaredLoss())])
def test_automatic_inference(problem, start, kind, loss):
    if not loss.is_classifier:
        problem, start = of_targets(problem, loss)
    auto, named, other = (
        SGD(inference=inference, epochs=3).optimize(start, problem).history["bound"]
        for inference in ("auto", kind, {"fast": "full", "full": "fast"}[kind]))
    assert auto == named
    assert auto != other


# --- the space of training -----------------------------------------------------------------------


@FORMS
@pytest.mark.parametrize("norm_limit", [None, 0.8])
@pytest.mark.parametrize("loss", [LogLoss(), SquaredLoss()])
def test_automatic_nu(watch, problem, start, form, norm_limit, loss):
    if not loss.is_classifier:
        problem, start = of_targets(problem, loss)
    # Half of the values are 0, so that CSR stays CSR.
    X = np.where(np.indices(problem.X.shape).sum(axis=0) % 2, problem.X, 0.0)
    problem = problem.replace(X=form(X), standardize=True)
    _, _, trainer = watch(SGD(norm_limit=norm_limit, epochs=1), start, problem)
    used = problem.sample_weight > 0
    X, y = X[used], problem.y[used]
    if form is np.asarray:
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
    else:
        Z = X / np.sqrt((X**2).mean(axis=0))
    norms = np.sqrt((Z**2).sum(axis=1) + 1)
    limit = np.inf if norm_limit is None else norm_limit * np.median(norms)
    Z = Z * np.minimum(1, limit / norms)[:, None]
    if form is np.asarray:
        Z = Z - Z.mean(axis=0)
    sigma2 = np.linalg.eigvalsh(Z.T @ Z / len(Z))[-1]
    worst = np.max([loss.value(np.tile(theta, (len(y), 1)), y) for theta in start.values], axis=0)
    assert trainer.parameters["nu"] == pytest.approx(4 * worst.mean() ** 2 / sigma2, rel=1e-6)
    assert trainer.parameters["norm_limit"] == pytest.approx(limit, rel=1e-9)


@FORMS
@pytest.mark.parametrize("standardize", [True, "global", False])
def test_start_keeps_its_decisions_and_its_leaves(problem, start, form, standardize):
    problem = problem.replace(X=form(problem.X), standardize=standardize)
    frozen = SGD(learning_rate=1e-30, leaf_learning_rate=0, epochs=1)
    tree = frozen.optimize(start, problem).tree
    # Training rows: a held-out one may lie on a threshold, where rounding decides.
    rows = problem.X[problem.sample_weight > 0]
    np.testing.assert_array_equal(tree.apply(rows), start.apply(rows))
    np.testing.assert_array_equal(tree.values, start.values)
    assert tree != start        # it was scaled


def test_start_is_shrunk_only_where_that_moves_more_samples(watch, problem, start):
    sizes = []
    for scale in (1.0, 0.25, 0.0625):
        # Worse leaves make longer flips pay.
        mild = Tree(start.weights, start.thresholds, start.children_left, start.children_right,
                    scale * start.values)
        trainer = watch(SGD(nu=1e9, epochs=1, norm_limit=None), mild, problem)[2]
        weights, thresholds, _ = trainer.trees[0]
        norms = np.sqrt((weights**2).sum(axis=1) + thresholds**2)
        assert len(trainer.shares) == 5
        least = _sgd._MIN_GRADIENT_SHARE * trainer.shares[-1]
        enough = [share >= least for share in trainer.shares].index(True)
        np.testing.assert_allclose(norms, 0.5**enough, rtol=1e-5)
        sizes.append(enough)
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_an_unsplit_tree_is_returned_as_it_is(problem):
    leaf = InfoGain().initialize(problem.limited(max_depth=0))
    assert SGD().optimize(leaf, problem).tree is leaf


@pytest.mark.parametrize("shape", [(8, 9), (8, 20), (30, 5), (1, 4), (4, 1)])
@FORMS
def test_largest_singular_value(form, shape):
    X = np.random.default_rng(0).integers(-4, 5, shape).astype(float)
    X -= X.mean(axis=0)         # without rounding for eight rows: 1' X is zero
    for scale in (1.0, 1e-160, 1e150):
        value = input_scale._largest_singular_value(form(X * scale))
        assert value == pytest.approx(scale * np.linalg.svd(X)[1][0], rel=1e-9)


@pytest.mark.parametrize("n", [1, 2000, 2001, 3999, 4001, 60_000])
def test_representative_samples_are_spread_over_all(n):
    # The samples may be sorted by class: the first ones tell nothing of the others.
    found = input_scale.representative_samples(np.arange(n))
    steps = np.diff(np.append(found, n))
    assert found[0] == 0
    assert (steps[:-1] == steps[0]).all()
    assert steps[-1] <= steps[0]
    assert min(n, 1000) <= len(found) <= 2000


@pytest.mark.parametrize("n_features", [1, 3])
def test_training_rows_that_are_all_alike(n_features):
    # Grown trees do not split them, but a given one may.
    tree = Tree(np.ones((1, n_features)), [0.5], [~0], [~1], [[1.0, 0.0], [0.0, 1.0]])
    fitted = ObliqueTreeClassifier(init=tree, optimizer=SGD(epochs=3)).fit(
        np.ones((6, n_features)), [0, 1, 0, 1, 1, 1])
    assert fitted.predict(np.ones((1, n_features))) == [1]


# --- history, kept tree, Ctrl-C ------------------------------------------------------------------


@pytest.mark.parametrize("optimizer", [
    SGD(epochs=8), SGD(epochs=8, inference="full"), SSGD(epochs=8),
    SSGD(epochs=8, assignment="navigate", renew=4)], ids=str)
def test_history(problem, start, optimizer):
    history = optimizer.optimize(start, problem).history
    assert set(history) == {
        "loss", "bound", "gradient_share", "n_scored", "n_active_leaves", "validation"}
    assert {len(column) for column in history.values()} == {8}
    column = {name: np.array(values) for name, values in history.items()}
    assert (column["bound"] > column["loss"]).all()
    assert (column["loss"] > 0).all()
    for share in ("gradient_share", "validation"):
        assert (column[share] >= 0).all()
        assert (column[share] <= 1).all()
    assert column["gradient_share"].any()
    assert (column["n_active_leaves"] >= 2).all()
    assert (column["n_active_leaves"] <= start.n_leaves).all()
    assert (column["n_scored"] >= 1).all()
    assert (column["n_scored"] <= start.n_internal).all()


def test_validation_is_the_weighted_error_of_the_tree(problem):
    # Steps too small to see; on training rows, since others may lie on a threshold.
    frozen = SGD(learning_rate=1e-30, leaf_learning_rate=0, epochs=1)
    start = InfoGain().initialize(problem.limited(max_depth=1))
    weight = problem.sample_weight * np.arange(len(problem.sample_weight))
    wrong = start.predict(problem.X).argmax(axis=1) != problem.y[:, 0]
    history = frozen.optimize(start, problem.replace(validation_weight=weight)).history
    assert history["validation"] == pytest.approx([np.average(wrong, weights=weight)])
    assert np.average(wrong, weights=weight) != pytest.approx(wrong[weight > 0].mean(), rel=1e-3)
    unknown = frozen.optimize(start, problem.replace(validation_weight=None)).history["validation"]
    assert np.isnan(unknown).all()


@pytest.mark.parametrize(("errors", "kept"), [
    # errors of four held-out rows: of the start, then after each of three epochs
    ([[9, 9, 9, 9], [8, 8, 8, 8], [7, 7, 7, 7], [6, 6, 6, 6]], 3),  # the last is best
    ([[0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]], 0),  # clearly the start
    ([[9, 9, 9, 9], [1, 1, 1, 1], [2, 2, 2, 2], [2, 2, 2, 2]], 1),  # clearly an early one
    # It leads by 1 with a standard error of sqrt(1), which is no lead beyond it.
    ([[9, 9, 9, 9], [0, 2, 2, 2], [1, 2, 2, 2], [1, 2, 2, 2]], 3),
    # It leads by 4 - 1 = 3 with a standard error of sqrt(17)
    ([[9, 9, 9, 9], [0, 3, 2, 2], [7, 7, 7, 7], [4, 2, 2, 2]], 3),
    # ... and by 3 with a standard error of sqrt(5).
    ([[9, 9, 9, 9], [0, 2, 2, 2], [7, 7, 7, 7], [2, 3, 2, 2]], 1),
    ([[9, 9, 9, 9], [1, 1, 1, 1], [1, 1, 1, 1], [9, 9, 9, 9]], 2),  # the later one of equals
])
def test_the_best_tree_must_lead_by_its_standard_error(
        watch, monkeypatch, problem, start, errors, kept):
    rows = iter(np.array(errors, dtype=float))
    monkeypatch.setattr(_sgd.SGDRun, "_weighted_errors", lambda run: next(rows))
    tree, _, trainer = watch(SGD(epochs=3), start, problem)
    candidates = [values for _, _, values in trainer.trees]
    assert len({values.tobytes() for values in candidates}) == 4
    np.testing.assert_array_equal(tree.values, candidates[kept])
    scaling = input_scale.InputScale.measure(problem, 1.5).scaling
    weights, thresholds = scaling.to_raw(*trainer.trees[kept][:2])
    np.testing.assert_array_equal(tree.weights, weights)
    np.testing.assert_array_equal(tree.thresholds, thresholds)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("optimizer", [SGD, SSGD])
def test_ctrl_c_returns_the_tree_of_the_last_epoch(
        tree_after_epoch, all_trained, start, optimizer, n_jobs):
    whole = optimizer(epochs=9).optimize(start, all_trained)
    expected = tree_after_epoch[3]
    assert len(tree_after_epoch) == 9
    with pytest.raises(Stopped) as caught:
        optimizer(epochs=9).optimize(
            start, all_trained.replace(control=Control(callback=StopAt(4)), n_jobs=n_jobs))
    result = caught.value
    assert {name: column[:4] for name, column in whole.history.items() if name != "validation"} == {
        name: column for name, column in result.history.items() if name != "validation"}
    assert result.tree == expected
    assert result.tree != whole.tree


# --- threads and forms of the data ---------------------------------------------------------------


# --- nothing overflows ---------------------------------------------------------------------------


@pytest.mark.parametrize("optimizer", [SGD, SSGD])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_csr_matrix_without_zeros_is_trained_on_as_dense(all_trained, optimizer, dtype):
    # Of iris, whose features are never centred then, a third of the labels were right.
    given = all_trained.replace(X=all_trained.X.astype(dtype))
    start = InfoGain().initialize(given)
    dense, sparse = (
        optimizer(epochs=3).optimize(start, given.replace(X=form(given.X))).tree
        for form in (np.asarray, csr_array))
    assert sparse == dense


@pytest.mark.parametrize("share", [0.6, 0.7])
def test_samples_become_dense_only_where_that_takes_less_memory(all_trained, share, monkeypatch):
    seen, measure = [], _sgd.InputScale.measure
    monkeypatch.setattr(_sgd.InputScale, "measure", lambda problem, limit: (
        seen.append(problem.X) or measure(problem, limit)))
    X = np.where(np.random.default_rng(0).random(all_trained.X.shape) < share, all_trained.X, 0.0)
    given = all_trained.replace(X=csr_array(X))
    SGD(epochs=1).optimize(InfoGain().initialize(given), given)
    assert issparse(seen[0]) == (share < 2 / 3)
