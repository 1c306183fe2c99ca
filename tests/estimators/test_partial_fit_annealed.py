"""Soft training on samples that come in parts."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import ngdt
from helpers import StopAt
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt.optimizers import Annealed

SHORT = {"max_depth": 5, "random_state": 0, "init": "random_complete"}


def streamed(estimator, X, y, n_passes=4, **first):
    """The estimator after `n_passes` over parts of the samples."""
    for start in [*range(0, len(X), 300)] * n_passes:
        estimator.partial_fit(X[start:start + 300], y[start:start + 300], **first)
    return estimator


def test_parts_are_as_good_as_one_fit(all_digits):
    X, y = all_digits
    n, few = 800, Annealed(steps=160)
    whole = ObliqueTreeClassifier(
        optimizer=few, validation_fraction=None, **SHORT).fit(X[:n], y[:n])
    parts = streamed(ObliqueTreeClassifier(
        optimizer=Annealed(steps=160, expected_samples=4 * n), **SHORT), X[:n], y[:n],
        classes=range(10))
    assert parts.score(X[n:], y[n:]) > whole.score(X[n:], y[n:]) - 0.03
    without = streamed(ObliqueTreeClassifier(optimizer=few, **SHORT), X[:n], y[:n],
                       n_passes=1, classes=range(10))
    assert parts.score(X[n:], y[n:]) > without.score(X[n:], y[n:]) + 0.05
    with pytest.raises(ValueError, match="expected_samples=3200 have been given to partial_fit"):
        parts.partial_fit(X, y)


def test_regression_in_parts():
    random = np.random.default_rng(0)
    X = random.normal(size=(900, 2))
    y = 100.0 + 10.0 * np.stack([X[:, 0] > X[:, 1], X[:, 0] < 0], axis=1)
    optimizer = Annealed(steps=200, expected_samples=1800)
    tree = streamed(ObliqueTreeRegressor(optimizer=optimizer, **SHORT), X, y, n_passes=2)
    assert tree.score(X, y) > 0.85
    assert tree.history_["gamma"][-1] > 6


def test_one_part_is_all_steps_and_copies_go_on(iris):
    """The schedule depends on the share of the samples; a pickle goes on as the original does."""
    X, y = iris
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    tree = ObliqueTreeClassifier(optimizer=Annealed(steps=64, expected_samples=150), **SHORT)
    tree.partial_fit(X[:75], y[:75], classes=range(3))
    copy = pickle.loads(pickle.dumps(tree))
    assert tree.history_["gamma"][-1] < 4 < tree.partial_fit(X[75:], y[75:]).history_["gamma"][-1]
    assert copy.partial_fit(X[75:], y[75:]).tree_ == tree.tree_
    assert tree._stream.state.n_steps == 64
    assert_array_equal(tree.tree_.values.shape, (32, 3))        # no branch is lost
    assert tree.score(X, y) > 0.9


def test_what_cannot_go_on_is_refused(iris, tmp_path):
    X, y = iris
    expecting = Annealed(steps=64, expected_samples=300)
    tree = ObliqueTreeClassifier(optimizer=expecting, **SHORT)
    ngdt.save(tree.partial_fit(X, y, classes=range(3)), tmp_path / "model.ngdt")
    for other in (ngdt.load(tmp_path / "model.ngdt"), tree.fit(X, y)):
        with pytest.raises(ValueError, match="the present tree is not of one"):
            other.partial_fit(X, y)
    with pytest.raises(ValueError, match="expected_samples is for Annealed alone"):
        ObliqueTreeClassifier(optimizer=[expecting, "tao"]).partial_fit(X, y, classes=range(3))
    mixing = Annealed(mixing=0.4, expected_samples=300)
    with pytest.raises(ValueError, match="mixing=0"):
        ObliqueTreeRegressor(optimizer=mixing).partial_fit(X, y)
    single = ObliqueTreeClassifier(0, optimizer=expecting).partial_fit(X, y, classes=range(3))
    assert single.get_n_leaves() == 1


def test_ctrl_c_keeps_what_the_part_has_trained(iris):
    X, y = iris
    tree = ObliqueTreeClassifier(
        optimizer=Annealed(steps=640, expected_samples=300), callback=StopAt(3), **SHORT)
    with pytest.raises(KeyboardInterrupt):
        tree.partial_fit(X, y, classes=range(3))
    assert tree.n_iter_ == 3
    assert tree.set_params(callback=None).partial_fit(X, y).n_iter_ > 3
