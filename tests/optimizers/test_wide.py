"""Wide data: training in the span of the samples, and of the most informative features."""

import numpy as np
import pytest
from scipy import sparse

from helpers import in_nightly
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, Problem
from ngdt._core import scaling as _scaling
from ngdt._core.scaling import is_wide
from ngdt._selection import candidates
from ngdt._training import wide_data as _wide
from ngdt._training.wide_data import RowSpan, Screen, optimize_reduced, space_of
from ngdt.initializers import InfoGain, RandomComplete
from ngdt.losses import LogLoss, SquaredLoss
from ngdt.optimizers import SSGD, TAO, Annealed

N, P = 30, 200


@pytest.fixture(autouse=True)
def small_data_are_wide(monkeypatch):
    monkeypatch.setattr(_scaling, "MAX_SOFT_FEATURES", P - 1)
    monkeypatch.setattr(_scaling, "MIN_SPARSE_FEATURES", P)
    monkeypatch.setattr(_wide, "N_SCREENED", 50)


def problem_of(seed=0, *, loss=None, form=np.asarray, **changes):
    random = np.random.default_rng(seed)
    X = random.normal(size=(N, P)) * np.linspace(0.5, 2, P) + 3
    X[3] = X[7]     # the samples are not independent
    y = np.digitize(X[:, 0] + X[:, 5] - X[:, 9], [2, 4])
    if sparse.issparse(form(X)):
        X[random.random(X.shape) < 0.9] = 0.0
    loss = loss or LogLoss()
    k = 3 if loss.is_classifier else 1
    weight = random.choice([0.0, 1.0, 2.0], N)
    return Problem(
        form(X), loss.encode(y if k == 3 else y[:, None].astype(float), k), loss, k, weight,
        **changes).limited(max_depth=3).winsorized


def in_span(problem, tree):
    """The tree without what its weights have outside of the span of the samples."""
    span = space_of(problem, "row_span")
    return span.raw(span.reduced(tree))


# --- the span of the samples ---------------------------------------------------------------------


@pytest.mark.parametrize("standardize", [True, "global", False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_coordinates_have_the_products_of_the_samples(standardize, dtype):
    problem = problem_of(standardize=standardize, form=lambda X: X.astype(dtype))
    Z = problem.scaling.transform(problem.X.astype(float))
    used, coordinates = problem.training_samples, space_of(problem, "row_span").X
    assert coordinates.dtype == dtype
    tolerance = 1e-5 if dtype == np.float32 else 1e-9
    assert coordinates.shape[1] == np.linalg.matrix_rank(Z[used], 1e-4)
    np.testing.assert_allclose(
        coordinates[used] @ coordinates[used].T, Z[used] @ Z[used].T,
        rtol=tolerance, atol=tolerance * P)
    # Other samples are projected onto the span.
    outside = np.setdiff1d(np.arange(N), [*used, 3, 7])
    lengths = np.linalg.norm(coordinates[outside], axis=1)
    assert (lengths < np.linalg.norm(Z[outside], axis=1)).all()
    np.testing.assert_allclose(
        coordinates[outside] @ coordinates[used].T, Z[outside] @ Z[used].T,
        rtol=tolerance, atol=tolerance * P)


@pytest.mark.parametrize("optimizer", [Annealed(steps=20), SSGD(epochs=3), TAO(penalty="l2")])
def test_folded_weights_predict_what_the_rotated_tree_predicts(optimizer):
    problem = problem_of()
    span, start = space_of(problem, "row_span"), RandomComplete().initialize(problem)
    inner = span.of(problem, optimizer.scales_coordinates)
    rotated = optimizer.optimize(span.reduced(start), inner).tree
    raw = optimize_reduced(optimizer, start, problem).tree
    every = np.arange(N, dtype=np.int32)       # also samples that were not trained on
    scores = span.X @ rotated.weights.T - rotated.thresholds
    np.testing.assert_allclose(raw.scores(problem.X), scores, rtol=1e-7, atol=1e-7)
    np.testing.assert_array_equal(inner.apply(rotated, every), problem.apply(raw, every))
    assert rotated.n_internal > 0


@pytest.mark.parametrize(("optimizer", "depth", "rtol"), [
    (SSGD(epochs=2), 2, 1e-3), (SSGD(epochs=2, assignment="navigate"), 2, 1e-3),
    (TAO(penalty="l2", max_iter=1), 1, 0.03)])     # the tolerance of the solver of a node
def test_a_method_without_a_basis_gives_the_same_tree_in_any(optimizer, depth, rtol):
    # Of a tree with weights in the span, nothing is outside at any time.
    for seed in range(3):
        problem = problem_of(seed)
        start = in_span(problem, RandomComplete(depth).initialize(problem))
        here = optimizer.optimize(start, problem).tree
        there = optimize_reduced(optimizer, start, problem).tree
        np.testing.assert_array_equal(here.children_left, there.children_left)
        scale = np.abs(here.scores(problem.X)).max()
        np.testing.assert_allclose(
            here.scores(problem.X), there.scores(problem.X), rtol=rtol, atol=rtol * scale)
        assert not np.array_equal(here.weights, there.weights)


def test_equal_samples_have_a_span():
    problem = problem_of().replace(X=np.full((N, P), 7.0))
    tree = in_span(problem, RandomComplete(2).initialize(problem))
    assert np.isfinite(tree.weights).all()
    assert space_of(problem, "row_span").X.shape == (N, 1)


def test_a_given_tree_keeps_what_it_has_outside_of_the_span():
    problem = problem_of()
    y = problem.y[:, 0].astype(int)
    model = ObliqueTreeClassifier(
        2, init="random_complete", optimizer=Annealed(steps=1, learning_rate=1e-12,
                                                      weight_decay=0.0), random_state=0)
    start = RandomComplete(2).initialize(problem)
    model.set_params(init=start).fit(problem.X, y)
    for node in range(model.tree_.n_internal):
        cosines = start.weights @ model.tree_.weights[node] / (
            np.linalg.norm(start.weights, axis=1) * np.linalg.norm(model.tree_.weights[node]))
        assert cosines.max() > 0.999


# --- screened features ---------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [LogLoss(), SquaredLoss()])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_screen_keeps_what_is_correlated_most(loss, form):
    problem = problem_of(1, loss=loss, form=form)
    X, w, y = problem.X, problem.sample_weight, problem.y
    X = X.toarray() if sparse.issparse(X) else X
    targets = y == np.arange(3) if loss.is_classifier else y
    score = np.zeros(P)
    for target in targets.T.astype(float):
        centred = target - np.average(target, weights=w)
        for j in range(P):
            x = X[:, j] - np.average(X[:, j], weights=w)
            if (w * x**2).sum() > 0 and (w * centred**2).sum() > 0:
                score[j] += (w * x * centred).sum() ** 2 / (
                    (w * x**2).sum() * (w * centred**2).sum())
    kept = space_of(problem, "screen").features
    assert len(kept) == 50
    assert score[kept].min() >= np.delete(score, kept).max() - 1e-12


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_trees_of_screened_features_are_those_of_these_columns_alone(form):
    problem = problem_of(form=form)
    features = space_of(problem, "screen").features
    alone = problem.part(problem.sample_weight, features)
    every = np.arange(N, dtype=np.int32)
    greedy = InfoGain().initialize(problem)
    np.testing.assert_array_equal(
        problem.apply(greedy, every), alone.apply(InfoGain().initialize(alone), every))
    tree = optimize_reduced(TAO(C=1.0), greedy, problem).tree
    expected = TAO(C=1.0).optimize(space_of(problem, "screen").reduced(greedy), alone).tree
    np.testing.assert_array_equal(problem.apply(tree, every), alone.apply(expected, every))
    assert set(np.flatnonzero(tree.densify().weights.any(axis=0))) <= set(features)


def test_the_scaling_of_the_screen_is_that_of_the_problem_that_is_asked():
    problem = problem_of()
    assert (space_of(problem, "screen").of(problem).scaling.scale != 1.0).all()
    other = problem.replace(standardize=False)
    np.testing.assert_array_equal(space_of(other, "screen").of(other).scaling.scale, 1.0)


def test_limits_are_those_of_the_problem_that_is_asked():
    problem = problem_of()
    deep = InfoGain().initialize(problem)
    shallow = InfoGain().initialize(problem.limited(max_depth=1))
    assert deep.max_depth > shallow.max_depth == 1


def test_a_tree_of_other_features_is_not_reduced():
    problem = problem_of()
    other = np.setdiff1d(np.arange(P), space_of(problem, "screen").features)[0]
    tree = InfoGain().initialize(problem)
    weights = tree.densify().weights.copy()
    weights[0, other] = 1.0
    assert space_of(problem, "screen").reduced(tree) is not None
    assert space_of(problem, "screen").reduced(tree.replace(weights=weights)) is None


# --- which data are wide -------------------------------------------------------------------------


def test_what_is_wide():
    assert is_wide(np.empty((N, P)))
    assert not is_wide(np.empty((P, P)))
    assert not is_wide(np.empty((N, P - 1)))
    assert not is_wide(sparse.csr_array((N, P - 1)))
    problem = problem_of()
    assert RowSpan.fits(problem)
    assert Screen.fits(problem)
    csr = problem_of(form=sparse.csr_array)
    assert space_of(csr, "row_span") is None
    assert Screen.fits(csr)


@pytest.mark.parametrize(("estimator", "form"), [
    (ObliqueTreeClassifier, sparse.csr_array), *in_nightly([(ObliqueTreeRegressor, np.asarray)])])
@pytest.mark.filterwarnings("ignore:No tree was better")
def test_the_default_fits_wide_data_alike_with_any_number_of_threads(
        estimator, form, monkeypatch):
    monkeypatch.setattr(candidates, "MAX_SOFT_FEATURES", P - 1)
    problem = problem_of(form=form)
    models = [estimator(random_state=0, n_jobs=n_jobs).fit(problem.X, problem.y[:, 0])
              for n_jobs in (1, 2)]
    if estimator is ObliqueTreeClassifier:
        assert models[0].candidates_["candidate"][0] == "annealed depth=3"   # as of wide data
    assert models[0].tree_ == models[1].tree_
    assert models[0].tree_.n_features == P
