"""CO2: its splits against numpy, and never worse than those it starts from."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from helpers import FORMS, TASKS, StopAt, make_problem, oblique_problem
from ngdt import ObliqueTreeClassifier
from ngdt._core.scaling import Moments
from ngdt._training.control import Control
from ngdt.inference import empirical_loss
from ngdt.initializers import CO2, InfoGain
from ngdt.losses import LogLoss
from ngdt.optimizers import SGD
from reference import splits as naive_splits


def gain(X, y, weight, impurity, weights, threshold):
    right = X @ weights > threshold
    return impurity(y, weight) - sum(
        impurity(y[side], weight[side]) for side in (right, ~right) if side.any())


@FORMS
@TASKS
@pytest.mark.parametrize("seed", [0, 1])
def test_a_stump_is_oblique_and_cut_at_its_best_threshold(form, loss, impurity, seed):
    problem, X = oblique_problem(loss, form=form, seed=seed, max_depth=1)
    tree = CO2().initialize(problem)
    used = problem.sample_weight > 0
    data = X[used], problem.y[used], problem.sample_weight[used]
    reached = gain(*data, impurity, tree.weights[0], tree.thresholds[0])
    axis_aligned = naive_splits.best_split(*data, impurity)[0]
    projected = naive_splits.best_split((X[used] @ tree.weights[0])[:, None], *data[1:], impurity)
    assert np.count_nonzero(tree.weights) > 1
    assert reached > 1.1 * axis_aligned
    assert reached == pytest.approx(projected[0])
    side = (X[used] @ tree.weights[0] > tree.thresholds[0]).astype(int)
    np.testing.assert_allclose(tree.values, loss.fit_leaves(
        side, *data[1:], 2, problem.n_outputs))


def test_features_are_not_measured_anew_in_each_node(monkeypatch):
    of, calls = Moments.of, []
    monkeypatch.setattr(Moments, "of", lambda *arguments: calls.append(1) or of(*arguments))
    n_calls = []
    for max_depth in (1, 3):
        calls.clear()
        problem, _ = oblique_problem(LogLoss(), max_depth=max_depth)
        assert CO2().initialize(problem).max_depth == max_depth
        n_calls.append(len(calls))
    assert n_calls[0] == n_calls[1] > 0


@TASKS
@pytest.mark.parametrize("optimizer", [
    None,
    SGD(epochs=1, learning_rate=1e3),  # lands anywhere: the fallback must act
])
def test_no_node_gains_less_than_the_best_axis_aligned_split(loss, impurity, optimizer):
    problem, X = oblique_problem(loss)
    tree = CO2(optimizer=optimizer).initialize(problem.limited(max_depth=4))
    on_path = tree.decision_path(X).toarray().astype(bool)
    strictly = 0
    for node in range(tree.n_internal):
        rows = on_path[:, node] & (problem.sample_weight > 0)
        data = X[rows], problem.y[rows], problem.sample_weight[rows]
        reached = gain(*data, impurity, tree.weights[node], tree.thresholds[node])
        axis_aligned = naive_splits.best_split(*data, impurity)[0]
        assert reached >= axis_aligned - 1e-6 * impurity(*data[1:])
        strictly += reached > axis_aligned + 1e-6
    assert tree.n_internal > 4
    if optimizer is None:
        assert strictly > 1


def test_a_useless_optimizer_leaves_the_axis_aligned_tree():
    problem, _ = oblique_problem(LogLoss())
    problem = problem.limited(max_depth=3)
    still = SGD(epochs=1, learning_rate=1e-30, leaf_learning_rate=0)
    tree, start = CO2(optimizer=still).initialize(problem), InfoGain().initialize(problem)
    np.testing.assert_array_equal(np.abs(tree.weights) > 1e-20, start.weights != 0)
    np.testing.assert_array_equal(tree.values, start.values)


def test_each_split_is_trained_on_the_samples_of_its_node():
    class Watched(SGD):
        seen = []       # noqa: RUF012  one list for the class, which the test reads

        def _optimize(self, tree, problem, space):
            Watched.seen.append(problem.sample_weight)
            return super()._optimize(tree, problem, space)

    problem, X = oblique_problem(LogLoss())
    tree = CO2(optimizer=Watched(epochs=2)).initialize(problem.limited(max_depth=2))
    path = tree.decision_path(X).toarray().astype(bool)
    assert len(Watched.seen) == tree.n_internal == 3
    expected = {(problem.sample_weight * path[:, node]).tobytes() for node in range(3)}
    assert {weight.tobytes() for weight in Watched.seen} == expected


def test_oblique_splits_lower_the_training_loss_on_digits():
    X, y = load_digits(return_X_y=True)
    X, y = X[:700].astype(np.float32), y[:700]
    co2, greedy = (
        empirical_loss(ObliqueTreeClassifier(
            4, init=init, optimizer=None, random_state=0).fit(X, y).tree_, X, y).mean()
        for init in ("co2", "info_gain"))
    assert co2 < 0.8 * greedy


def test_the_limits_of_growth_hold():
    X, y = load_iris(return_X_y=True)
    for limits, bound in (({"max_leaf_nodes": 3}, 3), ({"min_samples_leaf": 40}, 3)):
        tree = CO2().initialize(make_problem(X, y, max_depth=5, **limits))
        assert 1 < tree.n_leaves <= bound
        if "min_samples_leaf" in limits:
            assert np.bincount(tree.apply(X)).min() >= 40


def test_ctrl_c_ends_the_growth():
    class Interrupted(SGD):
        def _optimize(self, tree, problem, space):
            return super()._optimize(tree, problem.replace(
                control=Control(callback=StopAt(1))), space)

    problem, _ = oblique_problem(LogLoss())
    with pytest.raises(KeyboardInterrupt):
        CO2(optimizer=Interrupted()).initialize(problem)
