"""The best of several directions, against thresholds one by one."""

import numpy as np
import pytest
from scipy import sparse

from ngdt._greedy.directions import best_direction
from ngdt._greedy.splitter import Splitter

SAMPLES = np.arange(20, dtype=np.int32)


def splitter_of(form, dtype=np.float64):
    random = np.random.default_rng(0)
    X = random.integers(-2, 3, (20, 4)).astype(dtype)
    return X, Splitter(form(X), random.normal(size=(20, 1)), np.ones(20), 1, "variance")


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_nonzero", [1, 2, 4])
@pytest.mark.parametrize("min_samples_leaf", [1, 4, 10, 11])
def test_the_best_is_that_of_single_searches(form, dtype, n_nonzero, min_samples_leaf):
    X, splitter = splitter_of(form, dtype)
    random = np.random.default_rng(1)
    features = np.sort(
        random.permuted(np.tile(np.arange(4), (6, 1)), axis=1)[:, :n_nonzero]).astype(np.int32)
    weights = random.integers(1, 4, (6, n_nonzero)).astype(float)
    found = best_direction(splitter, SAMPLES, features, weights, min_samples_leaf)
    cuts = [splitter.best_threshold(SAMPLES, X[:, used].astype(float) @ w, min_samples_leaf)
            for used, w in zip(features, weights, strict=True)]
    gains = [-np.inf if cut is None else cut[1] for cut in cuts]
    assert (found < 0) == (max(gains) == -np.inf)
    if found >= 0:
        assert gains[found] == pytest.approx(max(gains), rel=1e-8)
        assert found == gains.index(gains[found])     # the first of equal ones


def test_no_direction_splits_a_pure_node():
    _, splitter = splitter_of(np.asarray)
    features, weights = np.zeros((2, 1), np.int32), np.ones((2, 1))
    assert best_direction(splitter, SAMPLES[:1], features, weights) == -1
    assert best_direction(splitter, SAMPLES[:0], features, weights) == -1
    assert best_direction(splitter, SAMPLES, features[:0], weights[:0]) == -1
    same = Splitter(np.arange(8.0)[:, None], np.ones((8, 1)), np.ones(8), 1, "variance")
    assert best_direction(same, SAMPLES[:8], features, weights) == -1


@pytest.mark.parametrize(("features", "weights"), [
    ([[0]], [[1.0, 2.0]]), ([[0], [1]], [[1.0]]), ([[4]], [[1.0]]), ([[-1]], [[1.0]]),
    (np.empty((1, 0)), np.empty((1, 0)))])
def test_bad_directions(features, weights):
    _, splitter = splitter_of(np.asarray)
    with pytest.raises(ValueError, match="features"):
        best_direction(
            splitter, SAMPLES, np.array(features, dtype=np.int32), np.array(weights))
