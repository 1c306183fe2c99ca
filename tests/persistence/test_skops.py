"""Estimators can be stored by skops, too."""

import numpy as np
import pytest

from model_cases import MODELS, assert_same, made
from ngdt import ObliqueTreeRegressor
from ngdt.losses import PoissonLoss


def stored(model):
    skops = pytest.importorskip("skops.io")     # which takes long to import
    data = skops.dumps(model)
    types = skops.get_untrusted_types(data=data)
    assert all(name.startswith(("ngdt.", "scipy.sparse.")) for name in types)
    return skops.loads(data, trusted=types)


@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
def test_models_by_skops(make):
    model, X, _ = made(make)
    np.testing.assert_array_equal(stored(model).predict(X), model.predict(X))


def test_a_loss_by_skops():
    assert_same(stored(ObliqueTreeRegressor(loss=PoissonLoss(0.5))).loss, PoissonLoss(0.5))
