"""OC1: its steps against brute force, and never worse than the splits it starts from."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from helpers import FORMS, TASKS, examples, oblique_problem
from ngdt import ObliqueTreeClassifier
from ngdt._core.greedy.splitter import Splitter
from ngdt._methods.oc1 import oc1 as _oc1
from ngdt._methods.oc1.descent import Descent
from ngdt._methods.oc1.oc1 import OC1Splitter
from ngdt._training.problem import Problem
from ngdt.initializers import OC1, InfoGain
from ngdt.losses import LogLoss
from reference import splits as naive_splits

CRITERIA = pytest.mark.parametrize(("criterion", "impurity"), [
    ("entropy", naive_splits.entropy), ("variance", naive_splits.variance)])


def gain_of(right, y, weight, impurity):
    return impurity(y, weight) - sum(
        impurity(y[side], weight[side]) for side in (right, ~right) if side.any())


def best_step(score, slope, y, weight, impurity, min_leaf):
    """The largest gain on the line ``score + step * slope``, between the steps that turn a row."""
    with np.errstate(divide="ignore", invalid="ignore"):
        turns = -score / slope
    turns = np.unique(turns[np.isfinite(turns)] + 0.0)
    gains = [-np.inf]
    for step in 0.5 * turns[:-1] + 0.5 * turns[1:]:
        right = score + step * slope > 0
        if min(right.sum(), (~right).sum()) >= min_leaf:
            gains.append(gain_of(right, y, weight, impurity))
    return max(gains)


@st.composite
def hyperplanes(draw):
    """Samples and a hyperplane in small whole numbers: many ties, zeros and rows on the plane."""
    n, p = draw(st.integers(2, 9)), draw(st.integers(1, 3))
    whole = st.integers(-3, 3)
    X = np.array(draw(st.lists(
        st.lists(whole, min_size=p, max_size=p), min_size=n, max_size=n)), dtype=float)
    y = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), dtype=float)[:, None]
    weight = np.array(draw(st.lists(
        st.sampled_from([1.0, 2.0, 3.0]), min_size=n, max_size=n)))
    weight *= draw(st.sampled_from([1.0, 0.3]))
    plane = np.array(draw(st.lists(whole, min_size=p + 1, max_size=p + 1)), dtype=float)
    center = np.array(draw(st.lists(st.sampled_from([0.0, 0.5]), min_size=p, max_size=p)))
    return X, y, weight, plane, center


def same_direction(one, other):
    """Return whether two vectors differ by a factor that is a power of two."""
    if not other.any():
        return not one.any()
    factor = np.abs(one).max() / np.abs(other).max()
    return np.frexp(factor)[0] == 0.5 and (one == factor * other).all()


def is_right(scaled, descent):
    """Return which rows are right of a hyperplane; those that it turned about are left."""
    return scaled @ descent.weights > 1e-12


@FORMS
@CRITERIA
@examples(3)
@given(hyperplanes(), st.data())
def test_a_step_is_the_best_of_all(form, criterion, impurity, problem, data):
    X, y, weight, plane, center = problem
    scale = np.full(X.shape[1], 2.0)
    n_outputs = 3 if criterion == "entropy" else 1
    splitter = Splitter(form(X), y, weight, n_outputs, criterion)
    rows = splitter.used_samples()
    descent = Descent(splitter, center, scale)
    scaled = np.column_stack([(X - center) / scale, np.full(len(X), -1.0)])
    score = scaled @ plane
    start = gain_of(score > 0, y, weight, impurity)
    descent.start(rows, plane, score, start)
    j = data.draw(st.integers(0, X.shape[1]))
    # The norm is changed by a power of two, which rounds nothing.
    assert same_direction(descent.weights, plane)
    plane, score = descent.weights, scaled @ descent.weights

    gained = descent.descend(np.array([j], dtype=np.int32), np.ones(1))
    best = best_step(score, scaled[:, j], y, weight, impurity, 1)
    slack = 1e-9 * max(impurity(y, weight), 1e-3)
    assert descent.gain == pytest.approx(max(start, best), abs=slack)
    assert gained == (best > start + slack) or abs(best - start) <= slack
    if gained:
        assert gain_of(is_right(scaled, descent), y, weight, impurity) == pytest.approx(
            best, abs=slack)
        assert same_direction(np.delete(descent.weights, j), np.delete(plane, j))


@FORMS
@CRITERIA
@given(hyperplanes(), st.lists(st.integers(-3, 3), min_size=4, max_size=4))
def test_a_jump_is_the_best_of_its_direction(form, criterion, impurity, problem, direction):
    X, y, weight, plane, center = problem
    splitter = Splitter(
        form(X), y, weight, 3 if criterion == "entropy" else 1, criterion)
    descent = Descent(splitter, center, np.ones(X.shape[1]))
    scaled = np.column_stack([X - center, np.full(len(X), -1.0)])
    start = gain_of(scaled @ plane > 0, y, weight, impurity)
    descent.start(splitter.used_samples(), plane, scaled @ plane, start)
    plane, direction = descent.weights, np.array(direction[:len(plane)], dtype=float)
    gained = descent.jump(direction, scaled @ direction)
    best = best_step(scaled @ plane, scaled @ direction, y, weight, impurity, 1)
    slack = 1e-9 * max(impurity(y, weight), 1e-3)
    assert descent.gain == pytest.approx(max(start, best), abs=slack)
    if gained:
        assert gain_of(is_right(scaled, descent), y, weight, impurity) == pytest.approx(
            best, abs=slack)
    else:
        np.testing.assert_array_equal(descent.weights, plane)


def started(n=300):
    """A descent on random rows, from the best axis-aligned split."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3))
    y = ((X @ [1.0, -1.0, 0.5] > 0.2) ^ (random.random(n) < 0.1)).astype(float)[:, None]
    splitter = Splitter(X, y, np.ones(n), 2, "entropy")
    descent = Descent(splitter, np.zeros(3), np.ones(3))
    rows = splitter.used_samples()
    split = splitter.split(rows)
    plane = np.append(np.eye(3)[split.direction], split.threshold)
    scaled = np.column_stack([X, np.full(n, -1.0)])
    descent.start(rows, plane, scaled @ plane, split.gain)
    return descent, scaled, y


def test_a_descent_gains_until_no_coefficient_does():
    descent, scaled, y = started()
    gains = [descent.gain]
    while descent.descend(np.arange(4, dtype=np.int32), np.ones(4)):
        gains.append(descent.gain)
    assert len(gains) > 2
    assert gains == sorted(set(gains))
    weight = np.ones(len(y))
    assert gains[-1] == pytest.approx(
        gain_of(scaled @ descent.weights > 0, y, weight, naive_splits.entropy))
    for j in range(4):
        assert best_step(
            scaled @ descent.weights, scaled[:, j], y, weight, naive_splits.entropy, 1
        ) <= gains[-1] + 1e-9


def moves(descent, coefficient, chance):
    """Return whether a step is made that gains nothing."""
    before = descent.weights
    gained = descent.descend(np.array([coefficient], dtype=np.int32), np.array([chance]))
    assert not gained
    return not np.array_equal(before, descent.weights)


@pytest.mark.parametrize("n_ties", [0, 1, 2, 5])
def test_ties_are_taken_with_a_probability_that_falls_by_a_tenth(n_ties):
    X, y = np.array([[0.0], [1.0], [3.0], [8.0]]), np.array([[0.0], [0.0], [1.0], [1.0]])
    splitter = Splitter(X, y, np.ones(4), 2, "entropy")
    rows, descent = splitter.used_samples(), Descent(splitter, np.zeros(1), np.ones(1))
    for chance in (0.9**n_ties - 1e-6, 0.9**n_ties + 1e-6):
        # The plane parts the classes, and is where its weight, but not its threshold, would be put.
        descent.start(rows, np.array([1.0, 1.5]), X[:, 0] - 1.5, splitter.split(rows).gain)
        for _ in range(n_ties):
            assert not moves(descent, 0, 0.0)
        assert moves(descent, 1, chance) == (chance < 0.9**n_ties)
        assert descent.weights[1] == (2.0 if chance < 0.9**n_ties else 1.5)


def test_a_gain_makes_ties_certain_again():
    descent, *_ = started()
    for _ in range(20):
        moves(descent, 3, 0.0)      # the threshold is the best of this direction already
    assert not moves(descent, 3, 0.99)
    assert any(descent.descend(np.array([j], dtype=np.int32), np.ones(1)) for j in range(3))
    for j in [3, 0, 1, 2] * 9:
        before = descent.weights
        if not descent.descend(np.array([j], dtype=np.int32), np.array([0.99])):
            break
    assert not np.array_equal(descent.weights, before)


# --- the initializer ------------------------------------------------------------------------------


@FORMS
@TASKS
@pytest.mark.parametrize(("init", "least"), [
    (OC1(), 1), (OC1(n_restarts=0, n_jumps=0), 1), (OC1(n_restarts=2), 5)], ids=str)
def test_no_node_gains_less_than_the_best_axis_aligned_split(form, loss, impurity, init, least):
    oblique = strictly = 0
    for seed in range(2):
        problem, X = oblique_problem(loss, form=form, seed=seed)
        tree = init.initialize(problem.limited(min_samples_leaf=least))
        on_path = tree.decision_path(X).toarray().astype(bool)
        for node in range(tree.n_internal):
            rows = on_path[:, node] & (problem.sample_weight > 0)
            data = problem.y[rows], problem.sample_weight[rows], impurity
            right = X[rows] @ tree.weights[node] - tree.thresholds[node] > 0
            reached = gain_of(right, *data)
            axis_aligned = naive_splits.best_split(X[rows], *data, least)[0]
            assert reached >= axis_aligned - 1e-6 * impurity(*data[:2])
            assert min(right.sum(), (~right).sum()) >= least
            strictly += reached > axis_aligned + 1e-6
            oblique += np.count_nonzero(tree.weights[node]) > 1
    assert oblique == strictly > 3


@TASKS
def test_restarts_and_jumps_gain(loss, impurity):
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 6))
    y = (((X[:, 0] * X[:, 1] > 0) ^ (X[:, 2] > X[:, 3])).astype(float))[:, None]
    problem = Problem(
        X, y, loss, 2 if loss.is_classifier else 1, np.ones(200)).limited(max_depth=1)
    gains = []
    for n_restarts, n_jumps in ((0, 0), (0, 20), (20, 20)):
        tree = OC1(n_restarts, n_jumps=n_jumps).initialize(problem)
        right = X @ tree.weights[0] > tree.thresholds[0]
        gains.append(gain_of(right, y, problem.sample_weight, impurity))
    assert gains[0] < gains[1] < gains[2]


def test_a_plane_that_parts_the_classes_is_found():
    random = np.random.default_rng(0)
    X = random.uniform(size=(400, 4))
    y = X @ [1.0, -2.0, 0.5, 1.0] > 0.3
    tree = ObliqueTreeClassifier(1, init="oc1", optimizer=None, random_state=0).fit(X, y)
    assert tree.score(X, y) > 0.99
    assert InfoGain().initialize(oblique_problem(LogLoss())[0]).n_leaves > 2  # no axis does


def test_more_accurate_than_axis_aligned_splits_on_digits():
    X, y = load_digits(return_X_y=True)
    X = X.astype(np.float32)
    oc1, greedy = (
        ObliqueTreeClassifier(5, init=init, optimizer=None, random_state=0).fit(
            X[:1000], y[:1000]).score(X[1000:], y[1000:])
        for init in (OC1(1), "info_gain"))
    assert oc1 > greedy + 0.05


def test_more_accurate_than_axis_aligned_splits_on_pendigits(load_data):
    data = load_data("pendigits")
    oc1, greedy = (
        ObliqueTreeClassifier(8, init=init, optimizer=None, random_state=0).fit(
            data["X_train"][:2000].astype(np.float32), data["y_train"][:2000]).score(
                data["X_test"].astype(np.float32), data["y_test"])
        for init in ("oc1", "info_gain"))
    assert oc1 > greedy + 0.02


@pytest.mark.parametrize("n_looks", [1, 2, 3, 7])
def test_a_descent_looks_at_the_clock_within_a_pass(n_looks, monkeypatch):
    class Looks:
        """A deadline that lets so many looks pass, and a descent that is counted."""

        n = 0

        def fits(self):
            self.n += 1
            return self.n <= n_looks

        def __getattr__(self, name):
            return getattr(descent, name)

        def descend(self, coefficients, chance):
            lengths.append(len(coefficients))
            return descent.descend(coefficients, chance)

    problem, _ = oblique_problem(LogLoss())
    samples, lengths = problem.training_samples, []
    monkeypatch.setattr(_oc1, "_PART", 2 * len(samples))
    splitter = OC1Splitter(problem, 5, 5)
    descent = splitter.descent
    splitter.descent = splitter.deadline = Looks()
    split = splitter.split(samples, 1)
    assert split.gain >= problem.splitter.split(samples, 1).gain
    # The first looks are those of a restart and of a pass, the others those before each part.
    assert lengths[:2] == [2, 2][:max(0, n_looks - 2)]
    assert len(lengths) <= max(0, n_looks - 2)
