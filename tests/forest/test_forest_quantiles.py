"""Quantiles of a forest are those of the targets of all its leaves."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import ngdt._forest.regressor
from ngdt import ObliqueForestRegressor
from ngdt._forest.sampling import Sampling

QUANTILES = np.linspace(0.0, 1.0, 8)


def brute_force(model, X, y, weight, row):
    """Quantiles for one sample, from the targets of the leaf of each tree and their weights."""
    targets, shares = [], []
    for tree in model.estimators_:
        n_drawn = np.count_nonzero(weight) if model.bootstrap else None
        counts = Sampling(model.bootstrap, n_drawn, None, None).counts(weight, tree.random_state)
        drawn = counts * weight
        same = (tree.apply(X) == tree.apply(X[row:row + 1])) & (drawn > 0)
        # Targets in linear leaves move with the prediction.
        targets.append(y[same] + tree.predict(X[row:row + 1]) - tree.predict(X)[same])
        shares.append(drawn[same] / drawn[same].sum() / len(model.estimators_))
    targets, shares = np.concatenate(targets), np.concatenate(shares)
    order = np.argsort(targets)
    targets, reached = targets[order], np.cumsum(shares[order])
    found = []
    for quantile in QUANTILES:
        lower = min(np.searchsorted(reached, quantile - 1e-9), len(targets) - 1)
        upper = min(np.searchsorted(reached, quantile + 1e-9), len(targets) - 1)
        found.append((targets[lower] + targets[upper]) / 2)
    return found


@pytest.mark.parametrize("parameters", [
    {}, {"bootstrap": False, "init": "random_oblique"}, {"leaf": "linear"}, {"loss": "poisson"},
    {"max_features": 3, "optimizer": "tao"}], ids=str)
def test_a_forest_predicts_the_quantiles_of_its_leaves(parameters, diabetes, monkeypatch):
    X, y = diabetes[0][::2], diabetes[1][::2]
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    model = ObliqueForestRegressor(
        3, **{"max_depth": 4, "optimizer": None, "random_state": 0, **parameters})
    model.fit(X, y, weight)
    expected = [brute_force(model, X, y, weight, row) for row in range(0, len(y), 50)]
    some = X[::10]
    for max_pooled in (1, 200, 10**6):
        monkeypatch.setattr(ngdt._forest.regressor, "MAX_POOLED", max_pooled)
        found = model.predict_quantiles(some, QUANTILES)
        assert found.shape == (len(some), len(QUANTILES))
        assert (np.diff(found, axis=1) >= 0).all()
        assert_allclose(found[::5], expected, rtol=1e-9)


def test_several_targets(diabetes):
    X, y = diabetes
    model = ObliqueForestRegressor(3, max_depth=3, optimizer=None, random_state=0)
    found = model.fit(X, np.column_stack([y, -2.0 * y])).predict_quantiles(X, QUANTILES)
    assert found.shape == (len(y), len(QUANTILES), 2)
    assert_allclose(found[:, ::-1, 1], -2.0 * found[:, :, 0])
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_quantiles(X[:3], QUANTILES), found[:3])


@pytest.mark.parametrize("quantiles", [[-0.1], 0.5, [], "x"])
def test_quantiles_out_of_range_are_refused(quantiles, diabetes):
    model = ObliqueForestRegressor(1, max_depth=1, optimizer=None).fit(*diabetes)
    with pytest.raises((ValueError, TypeError), match="quantiles"):
        model.predict_quantiles(diabetes[0], quantiles)
