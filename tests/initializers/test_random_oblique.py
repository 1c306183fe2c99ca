"""RandomOblique: the best of its directions, by an exhaustive search over their projections."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_wine

from helpers import FORMS, TASKS, make_problem
from ngdt._core.scaling import Scaling
from ngdt._methods.random.random_oblique import random_directions, random_subsets
from ngdt.initializers import RandomOblique
from ngdt.losses import LogLoss
from reference import splits as naive_splits


def drawn(random, n_directions, n_features, n_nonzero):
    """The directions of the first node."""
    directions = np.zeros((n_directions, n_features))
    used, vectors = next(random_directions(random, n_directions, n_features, n_nonzero))
    np.put_along_axis(directions, used[0], vectors[0], axis=1)
    return directions


def test_nodes_draw_different_directions():
    draws = random_directions(np.random.default_rng(0), 3, 4, 2)
    batches = [next(draws)[1] for _ in range(3)]
    nodes = [vectors.tobytes() for batch in batches for vectors in batch]
    assert {batch.shape[1:] for batch in batches} == {(3, 2)}
    assert len(set(nodes)) == len(nodes) > 4000


@FORMS
@TASKS
@given(st.integers(0, 50), st.sampled_from([None, 1, 2]), st.integers(1, 6))
def test_a_split_is_the_best_of_all_candidates_and_thresholds(
        form, loss, impurity, seed, n_nonzero, n_candidates):
    random = np.random.default_rng(seed)
    X = random.integers(-3, 4, (12, 3)) * np.array([1.0, 10.0, 0.1])
    y, weight = random.integers(0, 3, 12), random.choice([0.0, 0.5, 1.0, 3.0], 12)
    used = weight > 0
    problem = make_problem(form(X), y, loss, weight, max_depth=1, random_state=seed)
    tree = RandomOblique(n_candidates, n_nonzero=n_nonzero).initialize(problem)
    data = problem.y[used], weight[used], impurity

    scale = Scaling.fit(problem.X, weight).scale
    directions = drawn(np.random.default_rng(seed), n_candidates, 3, n_nonzero or 3) / scale
    best = [naive_splits.best_split((X[used] @ direction)[:, None], *data)
            for direction in directions]
    gains = [split[0] for split in best if split is not None]
    assert tree.n_internal == bool(gains)
    if gains:
        (direction,), (threshold,) = tree.weights, tree.thresholds
        right = X[used] @ direction > threshold
        reached = impurity(*data[:2]) - sum(
            impurity(data[0][side], data[1][side]) for side in (right, ~right))
        assert reached == pytest.approx(max(gains), rel=1e-6, abs=1e-9)
        assert np.linalg.norm(direction * scale) == pytest.approx(1)
        assert np.count_nonzero(direction) == (n_nonzero or 3)


@pytest.mark.parametrize("n_nonzero", [1, 2, 5])
def test_directions_are_uniform_on_the_sphere(n_nonzero):
    directions = drawn(np.random.default_rng(0), 4000, 5, n_nonzero)
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1.0)
    assert (np.count_nonzero(directions, axis=1) == n_nonzero).all()
    # Moments of the sphere in n_nonzero dimensions, over features drawn without preference.
    np.testing.assert_allclose(directions.mean(axis=0), 0.0, atol=0.03)
    covariance = directions.T @ directions / len(directions)
    np.testing.assert_allclose(covariance, np.eye(5) / 5, atol=0.03)


def test_all_sets_of_features_are_equally_probable():
    sets = np.sort(random_subsets(np.random.default_rng(0), 6000, 5, 3), axis=1)
    found, counts = np.unique(sets, axis=0, return_counts=True)
    assert len(found) == 10     # of 5 features, 3 can be chosen in 10 ways
    np.testing.assert_allclose(counts, 600, atol=100)


def test_more_candidates_gain_more():
    problem = make_problem(*load_wine(return_X_y=True), LogLoss(), max_depth=1)
    gains = []
    for n_candidates in (1, 10, 100):
        # The first candidates of the many are those of the few.
        tree = RandomOblique(n_candidates).initialize(problem)
        right = tree.apply(problem.X) == 1
        gains.append(-sum(
            naive_splits.entropy(problem.y[side], problem.sample_weight[side])
            for side in (right, ~right)))
    assert gains == sorted(gains)
    assert gains[0] < gains[-1]
