"""max_time: training ends in time, its schedules fit, and enough time changes nothing."""

import pickle
import sys
from itertools import count, product
from time import monotonic, process_time

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning

import ngdt._selection.sample
import ngdt._training.control
from helpers import in_nightly
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt._core.greedy.builder import build
from ngdt._core.samples import Samples
from ngdt._core.scaling import Moments, Scaling
from ngdt._methods.tao.linear import LinearSolver
from ngdt._selection.policy import MIN_SAMPLES, N_READINGS
from ngdt._selection.sample import draw, number_in_time
from ngdt._training import folds
from ngdt._training.control import Control, Deadline, Pace
from ngdt.initializers import InfoGain
from ngdt.optimizers import SGD, SSGD, TAO, Annealed, EndToEnd, Optimizer, Progress

BOTH = pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueTreeRegressor])
HOURS = 1e5


class Clock:
    """Stands for `time.monotonic` and advances only where a test says so."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def set_clock(monkeypatch, clock):
    """Let all modules of ngdt read another clock."""
    for name, module in [*sys.modules.items()]:
        if name.startswith("ngdt.") and getattr(module, "monotonic", None) is monotonic:
            monkeypatch.setattr(module, "monotonic", clock)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    set_clock(monkeypatch, clock)
    return clock


def test_a_deadline_on_another_machine(clock):
    """Its clock may have begun at any other time."""
    clock.now = 1000.0
    sent = pickle.dumps([Deadline.after(60.0), Deadline()])
    clock.now = 5.0
    received, never = pickle.loads(sent)
    assert received.left == pytest.approx(60.0, abs=5.0)    # less the time on the way
    assert received.left <= 60.0
    assert not never.is_set


# --- enough time ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("estimator", "optimizer"), [
    *product([ObliqueTreeClassifier], ["auto", "gto", SSGD(epochs=3), Annealed(steps=100)]),
    *product([ObliqueTreeRegressor], ["auto", None, "tao", SSGD(epochs=5, renew="plateau"),
                                      EndToEnd(epochs=3)]), *in_nightly([
        *product([ObliqueTreeClassifier], [None, "tao", SSGD(epochs=5, renew="plateau"),
                                           SGD(epochs=3), EndToEnd(epochs=3)]),
        *product([ObliqueTreeRegressor], [SSGD(epochs=3), SGD(epochs=3), Annealed(steps=100)])])],
    ids=str)
@pytest.mark.filterwarnings("error", "ignore:.* was kept", "ignore:No tree was better")
def test_enough_time_changes_nothing(estimator, optimizer, digits):
    X, y = digits
    if optimizer == "gto":
        X, y = X[:40], y[:40]
    X, y = X[:100, ::4], y[:100]
    free, limited = (
        estimator(3, optimizer=optimizer, max_time=max_time, random_state=0).fit(X, y)
        for max_time in (None, HOURS))
    assert limited.tree_ == free.tree_
    np.testing.assert_equal(limited.history_, free.history_)
    np.testing.assert_equal(limited.candidates_, free.candidates_)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("optimizer", [
    SSGD(epochs=3), SGD(epochs=3), Annealed(steps=30, batch_size=10), EndToEnd(epochs=3)], ids=str)
def test_the_clock_changes_no_bit(form, optimizer, digits, monkeypatch):
    X, y = form(digits[0][:200]), digits[1][:200]
    models = []
    for seconds in (HOURS, 0.0):
        monkeypatch.setattr(ngdt._training.control, "_PIECE_SECONDS", seconds)
        models.append(ObliqueTreeClassifier(
            3, init="random_complete", optimizer=optimizer, random_state=0).fit(X, y))
    whole, in_pieces = models
    assert in_pieces.tree_ == whole.tree_
    np.testing.assert_equal(in_pieces.history_, whole.history_)


# --- the pace of a schedule ----------------------------------------------------------------------


def finished_shares(pace, clock, seconds_per_step):
    """Finished shares at the steps of a run whose steps take this time."""
    shares = []
    for epoch in range(pace.epochs):
        for steps, done in pace.pieces(epoch):
            assert len(done) == steps.stop - steps.start > 0
            shares += done.tolist()
            clock.now += len(done) * seconds_per_step(len(shares))
        if pace.is_finished:
            break
    return np.array(shares)


@pytest.mark.parametrize("n_steps", [1, 7, 400])
def test_a_pace_is_even_if_there_is_time(n_steps, clock):
    expected = np.concatenate([(k + np.arange(n_steps) / n_steps) / 5 for k in range(5)])
    for deadline in (Deadline(), Deadline(1.1 * 5 * n_steps)):
        clock.now = 0.0
        shares = finished_shares(Pace(Control(deadline), 5, n_steps), clock, lambda step: 1.0)
        np.testing.assert_array_equal(shares, expected)
        assert not deadline.has_cut


@pytest.mark.parametrize(("epochs", "n_steps"), [(1, 3000), (10, 300), (300, 10)])
@pytest.mark.parametrize("share", [0.9, 0.5, 0.1])
@pytest.mark.parametrize("slower", [1.0, 3.0])
def test_a_pace_ends_its_schedule_at_the_deadline(epochs, n_steps, share, slower, clock):
    """Steps that become slower at the half are no reason to end early."""
    time = share * epochs * n_steps
    deadline = Deadline(time)
    shares = finished_shares(
        Pace(Control(deadline), epochs, n_steps), clock,
        lambda step: slower if clock.now > 0.5 * time else 1.0)
    assert 0.8 * time < clock.now < 1.05 * time
    assert (np.diff(shares) > 0).all()
    assert shares[0] == 0.0
    assert 0.9 < shares[-1] < 1.0
    assert deadline.has_cut


def test_without_time_a_run_is_one_step(clock):
    clock.now, deadline = 2.0, Deadline(1.0)
    pace = Pace(Control(deadline), 5, 100)
    assert finished_shares(pace, clock, lambda step: 1.0).tolist() == [0.0]
    assert deadline.has_cut


# --- shares of the time --------------------------------------------------------------------------


def test_shares_of_the_time_note_what_does_not_fit(clock):
    deadline = Deadline.after(10.0)
    half = deadline.share(0.5)
    assert half.end == 5.0
    assert half.earlier(2.0).left == 3.0
    assert half.earlier(7.0).not_before(1.0).left == 1.0
    assert half.fits(4.0)
    assert not deadline.has_cut
    assert not half.share(0.5).fits(4.0)
    assert deadline.has_cut
    clock.now = 11.0
    assert deadline.left == 0.0
    assert not deadline.fits()


def test_few_samples_are_drawn_if_there_is_little_time(clock):
    n = 20_000
    y = np.repeat([0, 1], n // 2)
    model = ObliqueTreeClassifier(random_state=0)
    X = np.random.default_rng(0).normal(size=(n, 2))
    problem, _ = model._checked_problem(X, y, None, False)
    for share in (1.1, 0.5, 0.001):
        in_time = problem.replace(control=Control(Deadline(share * N_READINGS)))
        drawn, _ = draw(problem, number_in_time(in_time, 1 / n))
        n_drawn = len(drawn.training_samples)
        assert n_drawn == pytest.approx(n * min(1.0, max(share, 0.1)), rel=0.01)
        assert drawn.y.mean() == pytest.approx(0.5, abs=0.01)


@BOTH
@pytest.mark.parametrize("n_drawn", [MIN_SAMPLES, 5000, 20_000])
@pytest.mark.filterwarnings("ignore:max_time")
def test_all_but_the_drawn_samples_are_left_alone(estimator, n_drawn, clock, monkeypatch):
    """To read a sample takes a second."""
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    y, n_read, moments_of = (X[:, 0] > 0).astype(int), [], Moments.of

    def slow(X, sample_weight):
        n_read.append(len(X))
        clock.now += len(X)
        return moments_of(X, sample_weight)

    monkeypatch.setattr(Moments, "of", slow)
    time = MIN_SAMPLES + N_READINGS * n_drawn * 1.001
    model = estimator(3, optimizer=None, max_time=time, random_state=0).fit(X, y)
    assert n_read[0] == MIN_SAMPLES
    assert n_read[1:] == [pytest.approx(n_drawn, rel=0.01)]
    assert model.n_node_samples_[0] == n_read[1]
    assert model._sample_summary.std[0] == pytest.approx(1.0, abs=0.1)
    assert clock.now < time


def test_the_builder_stops_at_the_deadline(digits, clock):
    X, y = digits
    problem, _ = ObliqueTreeClassifier(None)._checked_problem(X, y, None, False)
    n_leaves = []
    for seconds in (0, 7, 21, HOURS):
        clock.now = 0.0
        timed = problem.replace(control=Control(Deadline(seconds)))
        strategy = _Slow(problem.splitter, clock)
        _, leaves, *_ = build(strategy, problem.training_samples, timed).numbered()
        n_leaves.append(len(leaves))
    assert n_leaves[0] == 1
    assert n_leaves[1] <= 8 < n_leaves[2] <= 22 < n_leaves[3]


class _Slow:
    """A split strategy that takes a second for each node."""

    def __init__(self, splitter, clock):
        self.splitter, self.clock = splitter, clock
        self.partition = splitter.partition

    def split(self, *arguments):
        self.clock.now += 1.0
        return self.splitter.split(*arguments)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_a_linear_node_ends_after_its_last_complete_step(penalty, monkeypatch):
    """Each look at the clock takes a second."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 300))
    target = np.sign(X[:, 0] + rng.normal(size=1000))
    scaling = Scaling.fit(X, np.ones(1000))
    objectives = []
    for seconds in (1, 2, 4, 8, 16, 32, 64, HOURS):
        looks = count()
        monkeypatch.setattr(ngdt._training.control, "monotonic", looks.__next__)
        solver = LinearSolver(Samples(X), scaling, penalty=penalty, deadline=Deadline(seconds))
        weights, intercept = solver.fit(
            np.arange(1000, dtype=np.int32), target, np.ones(1000), np.zeros(300), 0.0)
        assert next(looks) <= seconds + 4
        Z = (X - scaling.center) / scaling.scale
        losses = np.maximum(0.0, 1.0 - target * (Z @ weights + intercept)) ** 2
        size = np.abs(weights).sum() if penalty == "l1" else 0.5 * weights @ weights
        objectives.append(losses.sum() + size)
    assert (np.diff(objectives) <= 0.0).all()
    assert len(set(objectives)) > 2     # some deadlines lie between the steps
    free = LinearSolver(Samples(X), scaling, penalty=penalty).fit(
        np.arange(1000, dtype=np.int32), target, np.ones(1000), np.zeros(300), 0.0)
    np.testing.assert_array_equal(weights, free[0])


# --- fits that run out of time -------------------------------------------------------------------


class Sleeper(Optimizer):
    """An optimizer of another package, of many epochs of 10 ms, by a clock of the test."""

    metrics, clock = ("loss",), Clock()

    def _optimize(self, tree, problem):
        progress = Progress(self, problem, 200)
        with progress.until_interrupted():
            for _ in range(200):
                self.clock.now += 0.01
                progress.report({"loss": 0.0})
        return progress.result(tree)


def test_an_own_optimizer_ends_at_the_deadline(iris, clock, monkeypatch):
    monkeypatch.setattr(Sleeper, "clock", clock)
    model = ObliqueTreeClassifier(2, optimizer=Sleeper(), max_time=0.5, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_time=0.5 s shortened .* epochs") as caught:
        model.fit(*iris)
    assert 0.2 < clock.now < 0.52
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert 5 < model.n_iter_ < 100
    assert model.score(*iris) > 0.9
    assert model.partial_fit(iris[0][:60], iris[1][:60]).n_iter_ == 200   # without a limit


ENDLESS = ["auto", None, SSGD(epochs=10**5), Annealed(steps=10**7), TAO(max_iter=10**5, tol=0.0)]


@pytest.mark.parametrize(("estimator", "optimizer"), [
    *((ObliqueTreeClassifier, each) for each in ENDLESS[::2]),
    *((ObliqueTreeRegressor, each) for each in ENDLESS[1::2]), *in_nightly([
        *((ObliqueTreeRegressor, each) for each in ENDLESS[::2]),
        *((ObliqueTreeClassifier, each) for each in ENDLESS[1::2])])], ids=str)
@pytest.mark.filterwarnings("ignore:max_time")
def test_a_fit_ends_in_time_with_a_useful_tree(estimator, optimizer, monkeypatch):
    """The time is that of this process, whatever else keeps the machine busy."""
    set_clock(monkeypatch, process_time)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 20))
    y = (X[:, :4].sum(axis=1) > 0).astype(int)
    model = estimator(8, optimizer=optimizer, max_time=0.15, random_state=0)
    before = process_time()
    model.fit(X, y)
    assert process_time() - before < 3.0
    assert model.score(X, y) > (0.75 if estimator is ObliqueTreeClassifier else 0.3)


@BOTH
@pytest.mark.parametrize(("seconds_per_tree", "n_trees"), [(0.3, [1]), (1e-6, range(4, 99))])
@pytest.mark.filterwarnings("ignore:max_time")
def test_greedy_trees_are_not_grown_without_time_for_them(
        estimator, seconds_per_tree, n_trees, clock, monkeypatch):
    """There are three folds, and the tree of all samples."""
    grown, grow = [], InfoGain._initialize

    def slow(init, problem):
        clock.now += seconds_per_tree
        grown.append(len(problem.training_samples))
        return grow(init, problem)

    monkeypatch.setattr(InfoGain, "_initialize", slow)
    X, y = load_breast_cancer(return_X_y=True)
    model = estimator(leaf="constant", max_time=0.5, random_state=0).fit(X, y)
    assert len(grown) in n_trees
    assert model.score(X, y) > 0.5


def test_probabilities_are_computed_once_for_all_samples_of_a_leaf(monkeypatch):
    """Many classes take no more time for more samples."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 2)), np.arange(400) % 5
    n_rows, log_probabilities = [], folds.log_probabilities
    tree = ObliqueTreeClassifier(3, optimizer=None).fit(X, y)
    problem, _ = tree._checked_problem(X, y, None, False)
    samples = problem.training_samples
    expected = folds.Score.of(
        problem, problem.predictions(tree.tree_, samples), samples, np.arange(400.0))
    monkeypatch.setattr(folds, "log_probabilities", lambda logits: (
        n_rows.append(len(logits)), log_probabilities(logits))[1])
    found = folds.Score.of_tree(problem, tree.tree_, samples, np.arange(400.0))
    np.testing.assert_array_equal(found, expected)
    assert n_rows == [tree.tree_.n_leaves]


def test_almost_no_time_gives_a_tree(digits):
    with pytest.warns(ConvergenceWarning, match="max_time=1e-09 s"):
        model = ObliqueTreeClassifier(max_time=1e-9, random_state=0).fit(*digits)
    assert model.score(*digits) > 0.3
    pruned = ObliqueTreeClassifier(init="pruned", optimizer=None, max_time=1e-9)
    with pytest.warns(ConvergenceWarning, match="shortened the training; tree_ is"):
        pruned.fit(*digits)
