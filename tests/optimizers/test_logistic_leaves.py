"""Linear leaves of classification: logistic regression in each node, drawn to the node above."""

from itertools import pairwise
from time import monotonic
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt._methods.linear_leaves import logistic
from ngdt._methods.linear_leaves.log_loss import minimise_log_loss
from ngdt._methods.linear_leaves.models import ScaledSamples, fit_models
from ngdt._training.control import NO_DEADLINE, Deadline
from ngdt._training.problem import Problem
from ngdt.initializers import InfoGain
from ngdt.losses import BoundedLoss, LogLoss
from ngdt.optimizers import LinearLeaves


@pytest.fixture(autouse=True)
def _exact(monkeypatch):
    monkeypatch.setattr(logistic, "TOLERANCE", 1e-7)


@st.composite
def class_problems(draw):
    """Problems of a few samples, with weights, absent classes and more features than samples."""
    seed, n = draw(st.integers(0, 2**32 - 1)), draw(st.integers(1, 30))
    p, k = draw(st.integers(1, 6)), draw(st.integers(2, 4))
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, p)) * 10.0 ** random.integers(-3, 4, p) + random.normal(size=p)
    y = random.integers(0, draw(st.integers(1, k)), (n, 1)).astype(float)
    weight = random.integers(0, 3, n) + (np.arange(n) == 0) if draw(st.booleans()) else np.ones(n)
    X = sparse.csr_matrix(X) if draw(st.booleans()) else X
    return Problem(X, y, LogLoss(), k, weight.astype(float)).limited(
        max_depth=draw(st.integers(0, 2)))


def all_models(problem, penalty):
    """A tree, the models of its nodes and leaves, and their samples, scaled."""
    tree = InfoGain().initialize(problem)
    data = ScaledSamples(problem, np.arange(problem.X.shape[1]))
    samples = problem.training_samples
    leaf = problem.apply(tree, samples)
    models = fit_models(tree, data, samples, np.array([penalty]), with_losses=True)
    below = {tree.n_internal + each: samples[leaf == each] for each in range(tree.n_leaves)}
    above = {}
    for node in reversed(range(tree.n_internal)):
        children = [each if each >= 0 else tree.n_internal + ~each
                    for each in (tree.children_left[node], tree.children_right[node])]
        above |= dict.fromkeys(children, node)
        below[node] = np.concatenate([below[each] for each in children])
    return models, data, below, above


def objective(problem, data, here, model, start, penalty, pull):
    """Objective of the model of a node, from its definition."""
    value, slopes = model
    Z, weight = data.read(here), data.weight[here]
    log_p = log_softmax(value + Z @ slopes.T, axis=1)
    loss = -weight @ log_p[np.arange(len(here)), problem.y[here, 0].astype(int)]
    d, b = value - start[0], slopes - start[1]
    if len(value) == 2:     # of the difference of the logits
        d, b = d[1:] - d[:1], b[1:] - b[:1]
    return loss + penalty / 2 * (b**2).sum() + pull / 2 * (d**2).sum()


@given(class_problems(), st.sampled_from([0.3, 10.0]))
def test_the_model_of_each_node_is_the_minimiser(problem, penalty):
    models, data, below, above = all_models(problem, penalty)
    shape = models.slopes[0, 0].shape
    for node, here in below.items():
        model = models.values[node, 0], models.slopes[node, 0]
        if node:
            start, pull = (models.values[above[node], 0], models.slopes[above[node], 0]), 1.0
        else:
            (shares,) = problem.fit_leaves(np.zeros(len(here), np.int32), here, 1)
            start, pull = (shares, np.zeros(shape)), logistic._MIN_PULL

        def loss(flat, here=here, start=start, pull=pull):
            flat = flat.reshape(shape[0], -1)
            return objective(problem, data, here, (flat[:, 0], flat[:, 1:]), start, penalty, pull)

        best = minimize(loss, np.column_stack([start[0], start[1]]).ravel(), options={"gtol": 1e-6})
        reached = loss(np.column_stack(model).ravel())
        assert reached <= best.fun + 1e-6 * (1 + best.fun)
        log_p = log_softmax(model[0] + data.read(here) @ model[1].T, axis=1)
        expected = -data.weight[here] @ log_p[
            np.arange(len(here)), problem.y[here, 0].astype(int)]
        assert models.losses[node, 0] == pytest.approx(expected)


@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(1, 60), st.booleans())
def test_steps_lower_the_loss_in_any_coordinates(seed, n_classes, n, is_diagonal):
    random = np.random.default_rng(seed)
    q, r = 5, n_classes if n_classes > 2 else 1
    Z, start = random.normal(size=(n, q)), random.normal(size=(n_classes, n))
    y, weight = random.integers(n_classes, size=n), random.random(n)
    ridge, times = random.uniform(0.1, 1.0, q), random.integers(1, 4, r).astype(float)
    whiten = random.normal(size=(1 if is_diagonal else q, q))

    def loss(b):
        scores = start.copy()
        scores[-r:] += b.reshape(r, q) @ Z.T
        log_p = log_softmax(scores, axis=0)[y, np.arange(n)]
        return -weight @ log_p + 0.5 * times @ (b.reshape(r, q)**2 @ ridge)

    def found(**options):
        options = dict(tol=1e-9, max_steps=1000, deadline=NO_DEADLINE) | options
        return loss(minimise_log_loss(Z, start, y, weight, ridge, times, whiten, **options))

    least = minimize(loss, np.zeros(r * q), options={"gtol": 1e-8}).fun
    assert found() <= least + 1e-9 * (1 + least)
    losses = [found(max_steps=steps) for steps in range(4)]
    assert losses[0] == pytest.approx(loss(np.zeros(r * q)))
    assert all(after <= before + 1e-12 for before, after in pairwise(losses))
    assert found(deadline=Deadline(monotonic() - 1.0)) == losses[1]


@pytest.mark.parametrize("data", [load_breast_cancer, load_iris])
@pytest.mark.parametrize("C", [0.1, 1.0])
def test_a_tree_without_splits_is_logistic_regression(data, C):
    X, y = data(return_X_y=True)
    weight = np.random.default_rng(0).integers(1, 3, len(y)).astype(float)
    X = np.clip(X, *np.quantile(X, [0.01, 0.99], axis=0))    # without far values
    Z = StandardScaler().fit(X, sample_weight=weight).transform(X)
    expected = LogisticRegression(C=C / weight.mean(), tol=1e-8, max_iter=10_000).fit(
        Z, y, sample_weight=weight).predict_proba(Z)
    tree = ObliqueTreeClassifier(
        0, optimizer=LinearLeaves(penalty=1 / C), standardize=True, validation_fraction=None)
    np.testing.assert_allclose(
        tree.fit(X, y, sample_weight=weight).predict_proba(X), expected, atol=2e-4)


@given(class_problems())
def test_an_infinite_penalty_makes_constant_leaves(problem):
    start = InfoGain().initialize(problem)
    tree = LinearLeaves(penalty=np.inf, shrink=False).optimize(start, problem).tree
    assert tree.slopes is None
    np.testing.assert_allclose(
        log_softmax(tree.values, axis=1), log_softmax(start.values, axis=1), atol=1e-9)


@given(class_problems())
def test_weighted_or_repeated_and_dense_or_sparse(problem):
    dense = problem.X.toarray() if sparse.issparse(problem.X) else problem.X
    dense = dense / np.maximum(np.abs(dense).max(axis=0), 1.0)
    problem = problem.replace(X=dense, standardize=False)   # sparse data are not centred
    start = InfoGain().initialize(problem)

    def log_p(problem, unit):
        """Weights are in units of their mean, and so are penalties."""
        with mock.patch.object(logistic, "_MIN_PULL", 0.01 * unit):
            leaves = LinearLeaves(penalty=2.0 * unit, shrink=False)
            return log_softmax(leaves.optimize(start, problem).tree.predict(dense), axis=1)

    expected = log_p(problem, 1.0)
    as_csr = log_p(problem.replace(X=sparse.csr_matrix(dense)), 1.0)
    n = problem.sample_weight.astype(int)
    repeated = log_p(problem.replace(
        X=np.repeat(dense, n, axis=0), y=np.repeat(problem.y, n, axis=0),
        sample_weight=np.ones(n.sum())), problem.sample_weight[n > 0].mean())
    np.testing.assert_allclose(as_csr, expected, atol=1e-4)
    np.testing.assert_allclose(repeated, expected, atol=1e-4)


def test_few_samples_follow_the_node_above():
    X, y = load_breast_cancer(return_X_y=True)
    problem = Problem(X, y[:, None].astype(float), LogLoss(), 2, np.ones(len(y)))
    # One of the two leaves gets four samples.
    stump = Tree([[1.0, *np.zeros(29)]], [np.sort(X[:, 0])[3]], [~0], [~1], np.zeros((2, 2)))
    tree = LinearLeaves(penalty=10.0).optimize(stump, problem).tree
    whole = LinearLeaves(penalty=10.0).optimize(
        Tree(np.empty((0, 30)), [], [], [], np.zeros((1, 2))), problem).tree
    here = tree.apply(X) == 0
    assert here.sum() == 4
    change = np.abs(tree.predict(X[here]) - whole.predict(X[here]))
    assert 0 < change.max() < 0.1 * np.abs(whole.predict(X[here])).max()


def test_of_many_samples_some_are_used(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    options = dict(max_depth=0, optimizer=LinearLeaves(penalty=10.0), validation_fraction=None,
                   random_state=0)
    every = ObliqueTreeClassifier(**options).fit(X, y)
    monkeypatch.setattr(logistic, "_MAX_SAMPLES", 300)
    some = ObliqueTreeClassifier(**options).fit(X, y)
    assert some.tree_ != every.tree_
    assert np.mean(some.predict(X) == every.predict(X)) > 0.97


def test_many_features(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    options = dict(max_depth=1, optimizer=LinearLeaves(penalty=10.0), validation_fraction=None)
    expected = ObliqueTreeClassifier(**options).fit(X, y)
    monkeypatch.setattr(logistic, "_MAX_WHITENED", 5)
    monkeypatch.setattr(logistic, "_MAX_STEPS", 1000)
    found = ObliqueTreeClassifier(**options).fit(X, y)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-4)


def test_the_widest_data_use_features_that_separate_any_class():
    random = np.random.default_rng(0)
    X = random.normal(size=(150, 600))
    y = np.arange(150) % 3
    X[:, 555] += 3 * (y == 1)       # not correlated with the number of the class
    fitted = ObliqueTreeClassifier(
        0, optimizer=LinearLeaves(penalty=1.0), validation_fraction=None).fit(X, y)
    used = np.flatnonzero(fitted.tree_.slopes.any(axis=(0, 1)))
    assert len(used) == 500
    assert 555 in used


def test_the_penalty_is_the_best_one_on_other_samples():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3))
    options = dict(max_depth=1, optimizer=LinearLeaves(), validation_fraction=None, random_state=0)
    straight = ObliqueTreeClassifier(**options).fit(X, X.sum(axis=1) > 0)
    noise = ObliqueTreeClassifier(**options).fit(X, random.random(300) > 0.5)
    assert straight.score(X, X.sum(axis=1) > 0) > 0.97
    assert noise.tree_.slopes is None or np.abs(noise.tree_.slopes).max() < 0.3


@pytest.mark.parametrize(("X", "y"), [
    ([[1.0], [2.0]], [0, 1]), (np.ones((6, 2)), [0, 1, 2, 0, 1, 2]),
    (np.arange(8.0)[:, None], np.arange(8) > 3),
    (1e-300 * np.arange(8.0)[:, None], np.arange(8) > 3),
    (1e30 * np.arange(8.0)[:, None], np.arange(8) > 3)])
@pytest.mark.parametrize("penalty", ["auto", 0.0, 10.0, np.inf])
def test_little_to_learn_from(X, y, penalty):
    fitted = ObliqueTreeClassifier(
        1, optimizer=LinearLeaves(penalty=penalty), validation_fraction=None).fit(X, y)
    probability = fitted.predict_proba(X)
    assert np.isfinite(probability).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)


def test_other_losses_are_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="minimise the log loss, but loss=BoundedLoss"):
        ObliqueTreeClassifier(1, loss=BoundedLoss(), optimizer=LinearLeaves()).fit(X, y)
    with pytest.raises(ValueError, match="minimise the squared, absolute, quantile or Huber loss"):
        ObliqueTreeRegressor(1, loss="poisson", optimizer=LinearLeaves()).fit(X, y)


def test_many_classes_without_samples_in_a_node_share_a_step(monkeypatch):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(200, 3)), random.integers(8, size=200)
    y[X[:, 0] > 0] %= 3
    problem = Problem(X, y[:, None].astype(float), LogLoss(), 8, np.ones(200))
    tree = Tree([[1.0, 0.0, 0.0]], [0.0], [~0], [~1], np.zeros((2, 8)))
    data, samples = ScaledSamples(problem, np.arange(3)), problem.training_samples
    monkeypatch.setattr(logistic, "_MANY_CLASSES", 8)
    models = fit_models(tree, data, samples, np.array([2.0]))
    (root, _, leaf), (_, _, value) = models.slopes[:, 0], models.values[:, 0]
    step = np.column_stack((leaf - root, value - models.values[0, 0]))
    np.testing.assert_allclose(step[3:], np.broadcast_to(step[3], (5, 4)), atol=1e-12)
    # Of all steps that absent classes share, it has the least loss.
    here = samples[X[:, 0] > 0]
    Z = np.column_stack((data.read(here), np.ones(len(here))))
    logits = models.values[0, 0] + data.read(here) @ root.T

    def loss(flat):
        step = flat.reshape(4, 4)[[0, 1, 2, 3, 3, 3, 3, 3]]
        own = log_softmax(logits + Z @ step.T, axis=1)[np.arange(len(here)), y[here]]
        return -own.sum() + 0.5 * ([2.0, 2.0, 2.0, 1.0] * step**2).sum()

    assert loss(step[:4].ravel()) <= minimize(loss, np.zeros(16)).fun + 1e-6


def test_values_that_overflow_in_units_of_their_spread_are_read():
    X = np.arange(60.0)[:, None] * 1e-300
    problem = Problem(X, (X > 3e-299).astype(float), LogLoss(), 2, np.ones(60))
    X[7] = 1e100
    data = ScaledSamples(problem, np.arange(1))
    assert np.isposinf(data.scaled(X)).sum() == 1
