"""Estimators in pipelines, searches, clones and pickles."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt.initializers import RandomOblique
from ngdt.optimizers import SSGD

BOTH = pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueTreeRegressor])


def test_nested_parameters_and_grid_search(digits):
    estimator = ObliqueTreeClassifier(
        4, init=RandomOblique(), optimizer=SSGD(epochs=3), random_state=0)
    assert estimator.get_params()["optimizer__epochs"] == 3
    search = GridSearchCV(
        estimator, {"optimizer__nu": [1e-9, 100.0], "init__n_candidates": [5, 20],
                    "min_samples_split": [2, 20]}, cv=2)
    search.fit(*(part[:200] for part in digits))
    assert search.best_params_["optimizer__nu"] == 100.0
    assert estimator.optimizer.nu == "auto"  # the original is not touched


def test_clone_pickle_and_repeatability(digits):
    fitted = ObliqueTreeClassifier(4, optimizer=SSGD(epochs=3), random_state=3).fit(*digits)
    again = clone(fitted).fit(*digits)
    loaded = pickle.loads(pickle.dumps(fitted))
    assert fitted.tree_ == again.tree_ == loaded.tree_
    np.testing.assert_array_equal(loaded.predict(digits[0]), fitted.predict(digits[0]))
    assert repr(clone(fitted)) in repr(fitted)


def test_pipeline_of_sparse_data(digits):
    X, y = sparse.csr_matrix(digits[0]), digits[1]
    pipeline = make_pipeline(MaxAbsScaler(), ObliqueTreeClassifier(5, random_state=0))
    assert pipeline.fit(X, y).score(X, y) > 0.9


def test_fit_does_not_write_into_its_arguments(digits):
    X, y = digits[0].copy(), digits[1].copy()
    weight = np.ones(len(y))
    for array in (X, y, weight):
        array.flags.writeable = False
    estimator = ObliqueTreeClassifier(3, optimizer=SSGD(epochs=3), random_state=0)
    before = repr(clone(estimator))
    estimator.fit(X, y, weight)
    assert repr(clone(estimator)) == before
