"""The linear classifier of a node: it is optimal, whatever it started from and wherever X lies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

from ngdt._core.samples import Samples
from ngdt._core.scaling import Scaling
from ngdt._methods.tao.linear import LinearSolver

PENALTIES = pytest.mark.parametrize("penalty", ["l1", "l2"])
COSTS = pytest.mark.parametrize("C", [0.01, 0.3, 10.0])
FORMS = pytest.mark.parametrize("form", [
    np.asarray, sparse.csr_array, lambda X: X.astype(np.float32),
    lambda X: sparse.csr_array(X.astype(np.float32))], ids=["f64", "csr", "f32", "csr32"])


def naive_objective(Z, y, cost, weights, intercept, penalty):
    margin = y * (Z @ weights + intercept)
    losses = np.maximum(0.0, 1.0 - margin) ** 2
    size = np.abs(weights).sum() if penalty == "l1" else 0.5 * weights @ weights
    return cost @ losses + size


def naive_gradient(Z, y, cost, weights, intercept):
    margin = y * (Z @ weights + intercept)
    slope = -2.0 * np.maximum(0.0, 1.0 - margin)
    return np.append(Z.T @ (cost * y * slope), cost @ (y * slope))


def blobs(n=80, p=6, C=0.3):
    """Two noisy classes in correlated features of different scales, with costs."""
    random = np.random.default_rng(0)
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    X = random.normal(size=(n, p)) @ random.normal(size=(p, p)) + np.outer(y, random.normal(size=p))
    X *= 10.0 ** random.integers(-3, 4, p)
    X[random.random((n, p)) < 0.2] = 0.0
    return X, y, C * random.choice([0.5, 1.0, 2.0], n)


def solve(X, y, cost, penalty="l1", start=None, tol=1e-6, scaling=None):
    scaling = scaling or Scaling.fit(X, np.ones(X.shape[0]), True)
    solver = LinearSolver(Samples(X), scaling, penalty, tol)
    start = start or (np.zeros(X.shape[1]), 0.0)
    Z = (X.toarray() if sparse.issparse(X) else X - scaling.center) / scaling.scale
    weights, intercept = solver.fit(np.arange(len(y), dtype=np.int32), y, cost, *start)
    objective = naive_objective(Z.astype(np.float64), y, cost, weights, intercept, penalty)
    return Z, (weights, intercept, objective)


@PENALTIES
@COSTS
@FORMS
def test_result_is_optimal(penalty, C, form):
    X, y, cost = blobs(C=C)
    Z, (weights, intercept, _) = solve(form(X), y, cost, penalty)
    Z = Z.astype(np.float64)
    # Optimality, coordinate by coordinate.
    gradient = naive_gradient(Z, y, cost, weights, intercept)
    reference = np.abs(naive_gradient(Z, y, cost, 0.0 * weights, 0.0)).sum()
    if penalty == "l2":
        violation = np.abs(gradient[:-1] + weights)
    else:
        violation = np.where(
            weights != 0, np.abs(gradient[:-1] + np.sign(weights)),
            np.maximum(np.abs(gradient[:-1]) - 1.0, 0.0))
    assert violation.sum() + abs(gradient[-1]) <= 1e-5 * reference


@PENALTIES
def test_a_general_minimiser_finds_nothing_lower(penalty):
    X, y, cost = blobs()
    Z, (_, _, objective) = solve(X, y, cost, penalty)
    p = Z.shape[1]

    # The positive and the negative part of each weight, which makes the l1 norm smooth.
    def parts(x):
        return naive_objective(Z, y, cost, x[:p] - x[p:-1], x[-1], "l2") + (
            x[:-1].sum() - 0.5 * ((x[:p] - x[p:-1]) ** 2).sum())

    def whole(x):
        return naive_objective(Z, y, cost, x[:-1], x[-1], "l2")

    if penalty == "l1":
        found = minimize(parts, np.zeros(2 * p + 1), method="L-BFGS-B",
                         bounds=[(0, None)] * (2 * p) + [(None, None)],
                         options={"maxiter": 10_000, "maxfun": 10**6, "ftol": 1e-14})
    else:
        found = minimize(whole, np.zeros(p + 1), method="BFGS")
    assert objective <= found.fun * (1 + 1e-6)


@PENALTIES
@COSTS
def test_liblinear_finds_nothing_lower(penalty, C):
    X, y, cost = blobs(n=200, p=12, C=C)
    Z, (_, _, objective) = solve(X, y, cost, penalty, tol=1e-3)
    # The intercept is a penalised feature there, so it is made a large one.
    model = LinearSVC(C=cost.max(), penalty=penalty, dual=False, tol=1e-5, intercept_scaling=1e3,
                      max_iter=100_000)
    model.fit(Z, y, sample_weight=cost / cost.max())
    theirs = naive_objective(
        Z, y, cost, model.coef_[0], model.intercept_[0], penalty)
    assert objective <= theirs * (1 + 1e-3)


@PENALTIES
def test_the_initial_weights_do_not_matter(penalty):
    X, y, cost = blobs()
    _, (weights, _, objective) = solve(X, y, cost, penalty)
    random = np.random.default_rng(1)
    for scale in (1e-6, 1.0, 1e6):
        start = scale * random.normal(size=X.shape[1]), scale * random.normal()
        _, again = solve(X, y, cost, penalty, start)
        assert again[2] == pytest.approx(objective, rel=1e-6)
        np.testing.assert_allclose(again[0], weights, atol=1e-3 * np.abs(weights).max())


@PENALTIES
def test_what_is_close_enough_to_the_optimum_stays_as_it_is(penalty):
    X, y, cost = blobs()
    _, (weights, intercept, _) = solve(X, y, cost, penalty)
    start = weights * (1 + 1e-5 * np.random.default_rng(1).normal(size=len(weights))), intercept
    _, again = solve(X, y, cost, penalty, start, tol=0.1)
    np.testing.assert_array_equal(again[0], start[0])
    assert again[1] == intercept


@pytest.mark.parametrize(("cost", "multiple"), [(0.4, 0.0), (0.625, 0.2)])
def test_the_multiple_of_the_start_is_right_where_all_margins_are_one(cost, multiple):
    # F = cost (1 - w)^2 + |w|
    X = np.array([[-1.0], [1.0]])
    solver = LinearSolver(Samples(X), Scaling.fit(X, np.ones(2), True), max_steps=0)
    fitted, intercept = solver.fit(
        np.arange(2, dtype=np.int32), X[:, 0], np.full(2, 0.5 * cost), np.ones(1), 0.0)
    assert fitted[0] == pytest.approx(multiple, rel=1e-2)
    assert intercept == 0.0


@given(st.integers(0, 2**16), st.sampled_from(["l1", "l2"]),
       st.sampled_from([1e-3, 1.0, 1e3]), st.sampled_from([0, 1]),
       st.sampled_from([1e-9, 1.0, 1e9]))
def test_no_fit_is_worse_than_any_multiple_of_its_start(seed, penalty, C, zeros, scale):
    random = np.random.default_rng(seed)
    n, p = random.integers(1, 12), random.integers(1, 5)
    X = random.normal(size=(n, p))
    X[:, random.random(p) < 0.3] = 1.0
    y = random.choice([-1.0, 1.0], n)
    cost = C * random.choice([1e-3, 1.0, 7.0], n)
    start = scale * random.normal(size=p) * (random.random(p) < 0.5), scale * zeros * 1.0
    Z, (weights, intercept, objective) = solve(X, y, cost, penalty, start, tol=1e-2)
    assert np.isfinite([*weights, intercept]).all()
    for multiple in np.append(0.0, np.geomspace(1e-3, 1e3, 25) / scale):
        there = naive_objective(
            Z, y, cost, multiple * start[0], multiple * start[1], penalty)
        assert objective <= there * (1 + 1e-9) + 1e-300


@PENALTIES
@pytest.mark.parametrize("multiple", [1e-3, 1e3])
def test_without_steps_the_best_multiple_of_the_start_is_found(penalty, multiple):
    X, y, cost = blobs()
    _, (weights, intercept, _) = solve(X, y, cost, penalty)     # better than all its multiples
    solver = LinearSolver(
        Samples(X), Scaling.fit(X, np.ones(len(X)), True), penalty, max_steps=0)
    found = solver.fit(np.arange(len(y), dtype=np.int32), y, cost, multiple * weights,
                       multiple * intercept)
    np.testing.assert_allclose(np.append(*found), np.append(weights, intercept), rtol=2e-3)


@PENALTIES
def test_cost_k_is_k_samples(penalty):
    X, y, cost = blobs()
    times = np.arange(len(y)) // 3 % 3
    scaling = Scaling.fit(X, np.ones(len(X)), True)
    one = solve(X[times > 0], y[times > 0], (cost * times)[times > 0], penalty,
                scaling=scaling)[1]
    other = solve(np.repeat(X, times, axis=0), np.repeat(y, times), np.repeat(cost, times), penalty,
                  scaling=scaling)[1]
    np.testing.assert_allclose(one[0], other[0], rtol=1e-4, atol=1e-6)
    assert one[2] == pytest.approx(other[2], rel=1e-8)


@PENALTIES
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_few_values_of_many_features_give_what_dense_ones_give(penalty, dtype):
    # Sparse data with so many features have steps of their own.
    random = np.random.default_rng(3)
    X = np.round(4 * random.normal(size=(90, 600))).astype(dtype)
    X[random.random(X.shape) < 0.95] = 0.0
    y, cost = np.where(X[:, :40].sum(axis=1) > 0, 1.0, -1.0), random.choice([0.5, 1.0], 90)
    scaling = Scaling(np.zeros(600), np.linspace(1, 3, 600))
    (_, dense), (_, csr) = (
        solve(form(X), y, cost, penalty, scaling=scaling)
        for form in (np.asarray, sparse.csr_array))
    assert csr[2] == pytest.approx(dense[2], rel=1e-6)
    np.testing.assert_allclose(csr[0], dense[0], atol=1e-3 * np.abs(dense[0]).max())


@PENALTIES
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_more_features_than_a_working_set_holds(penalty, form):
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 1500))
    y = np.sign(X[:, :20].sum(axis=1))
    cost = np.full(60, 5.0)
    Z, (weights, intercept, _) = solve(form(X), y, cost, penalty, tol=1e-7)
    gradient = naive_gradient(Z, y, cost, weights, intercept)[:-1]
    at_zero = naive_gradient(Z, y, cost, 0 * weights, 0.0)[:-1]
    if penalty == "l2":
        assert np.abs(gradient + weights).sum() <= 1e-3 * np.abs(at_zero).sum()
    else:
        assert 0 < np.count_nonzero(weights) < 60
        assert np.abs(gradient).max() <= 1.0 + 1e-2


# Up to 200 features, and above, steps are found in different ways.
@FORMS
@pytest.mark.parametrize(("n", "p"), [(30, 200), (30, 201), (500, 201), (200, 400), (1, 300)])
def test_wide_data_with_dense_weights(form, n, p):
    X, y, cost = blobs(n, p)
    Z, (weights, intercept, _) = solve(form(X), y, cost, "l2", tol=1e-6)
    Z = Z.astype(np.float64)
    gradient = naive_gradient(Z, y, cost, weights, intercept)
    reference = np.abs(naive_gradient(Z, y, cost, 0.0 * weights, 0.0)).sum()
    assert np.abs(gradient + np.append(weights, 0.0)).sum() <= 1e-5 * reference


@pytest.mark.parametrize("n_more", [0, 150, 194, 195, 1100])
def test_constant_features_change_nothing(n_more):
    X, y, cost = blobs()
    _, (weights, intercept, objective) = solve(X, y, cost, penalty="l2", tol=1e-8)
    more = np.hstack([X, np.full((len(X), n_more), 7.0)])
    found = solve(more, y, cost, penalty="l2", tol=1e-8)[1]
    np.testing.assert_allclose(found[0][:6], weights, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found[0][6:], 0.0, atol=1e-12)
    assert found[1] == pytest.approx(intercept, rel=1e-6)
    assert found[2] == pytest.approx(objective, rel=1e-9)


@pytest.mark.parametrize("p", [6, 200, 201, 500])
def test_inside_the_margin_it_is_ridge_regression(p):
    X, y, cost = blobs(p=p, C=1e-6)
    Z, (weights, intercept, _) = solve(X, y, cost, penalty="l2", tol=1e-9)
    A = np.append(Z, np.ones((len(y), 1)), axis=1)
    ridge = np.diag(np.append(np.ones(p), 0.0))
    expected = np.linalg.solve(2.0 * (A.T * cost) @ A + ridge, 2.0 * A.T @ (cost * y))
    assert (y * (A @ expected) < 1.0).all()
    np.testing.assert_allclose(
        np.append(weights, intercept), expected, rtol=1e-5, atol=1e-7 * np.abs(weights).max())


def test_what_the_penalty_makes_zero_is_exactly_zero():
    X, y, cost = blobs(C=0.02)
    _, (weights, intercept, _) = solve(X, y, cost)
    assert 0 < np.count_nonzero(weights) < X.shape[1]
    # And with hardly any cost, nothing is left but the intercept.
    _, (weights, intercept, _) = solve(X, y, cost * 1e-4)
    assert not weights.any()
    assert intercept < 0    # the majority


def test_centre_and_offset_of_features_do_not_matter():
    X, y, cost = blobs()
    weights = solve(X, y, cost)[1][0]
    shifted = solve(X + 1e4 * np.abs(X).max(axis=0), y, cost)[1][0]
    np.testing.assert_allclose(shifted, weights, rtol=1e-3, atol=1e-4)


@PENALTIES
@pytest.mark.parametrize("n_features", [1024, 1025, 2000])
def test_equal_features_do_not_stall_the_working_set(penalty, n_features):
    random = np.random.default_rng(0)
    x, y = random.normal(size=(200, 1)), random.choice([-1.0, 1.0], 200)
    X = np.ascontiguousarray(np.repeat(x + y[:, None], n_features, axis=1))
    _, (weights, _, objective) = solve(X, y, np.full(200, 0.1), penalty)
    # As many equal features as one wants: with l1 they are as good as one.
    one = solve(X[:, :1].copy(), y, np.full(200, 0.1), penalty)[1][2]
    assert weights.any()
    assert objective <= one * (1 + 1e-5)


@PENALTIES
@pytest.mark.parametrize("share", [0.1, 0.01, 0.003])
def test_few_against_many_are_fitted_as_well(penalty, share):
    # With the tolerance that trees are trained with, and from a constant classifier.
    random = np.random.default_rng(0)
    y = np.where(np.arange(10_000) < share * 10_000, 1.0, -1.0)
    X = random.normal(size=(10_000, 6))
    X[:, :2] += y[:, None]
    cost = np.full(10_000, 0.1)
    best = solve(X, y, cost, penalty, tol=1e-8)[1]
    for intercept in (0.0, -1.0, -np.log(1 / share)):
        _, found = solve(X, y, cost, penalty, (np.zeros(6), intercept), tol=1e-2)
        assert found[2] <= best[2] * (1 + 2e-3)
        np.testing.assert_allclose(found[0], best[0], atol=0.1 * np.abs(best[0]).max())


@pytest.mark.parametrize("cost", [1e-20, 1e-6, 1e30, 1e100])
def test_costs_of_any_size(cost):
    X, y, relative = blobs(C=1.0)
    _, (weights, intercept, objective) = solve(
        X, y, cost * relative, "l1", (np.zeros(X.shape[1]), 3.0))
    nothing = np.zeros(X.shape[1])
    constant = min(naive_objective(X, y, cost * relative, nothing, b, "l1")
                   for b in np.linspace(-3, 3, 601))
    assert np.isfinite([*weights, intercept]).all()
    assert objective <= constant * (1 + 1e-3)
    if cost > 1.0:
        assert objective < 0.9 * constant


@pytest.mark.parametrize(("penalty", "p", "form"), [
    ("l1", 6, np.asarray), ("l2", 201, np.asarray), ("l1", 513, sparse.csr_array)])
@pytest.mark.parametrize("n_before", [0, 1, 2])
def test_ctrl_c_ends_a_fit_with_a_deadline(penalty, p, form, n_before):
    class Pressed:
        is_set, n_calls = True, 0

        def fits(self):
            self.n_calls += 1
            if self.n_calls > n_before:
                raise KeyboardInterrupt
            return True

    X, y, cost = blobs(p=p)
    deadline, scaling = Pressed(), Scaling.fit(form(X), np.ones(len(X)), True)
    solver = LinearSolver(Samples(form(X)), scaling, penalty, 1e-6, deadline=deadline)
    with pytest.raises(KeyboardInterrupt):
        solver.fit(np.arange(len(y), dtype=np.int32), y, cost, np.zeros(p), 0.0)
    assert deadline.n_calls == n_before + 1
