"""The size of trees and estimators in bytes, against their pickles."""

import pickle

import pytest
from hypothesis import given
from sklearn.exceptions import NotFittedError

from ngdt import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
)
from ngdt.initializers import RandomOblique
from ngdt.optimizers import LinearLeaves
from ngdt.testing.strategies import trees

ALL = pytest.mark.parametrize("kind", [
    ObliqueTreeClassifier, ObliqueTreeRegressor, ObliqueForestClassifier, ObliqueForestRegressor])


@given(tree=trees())
def test_the_size_of_a_tree_is_that_of_its_arrays(tree):
    arrays = [tree.thresholds, tree.children_left, tree.children_right, tree.values]
    arrays += [each for each in (tree.slopes, tree.ranges) if each is not None]
    weights = tree.weights
    arrays += [weights.data, weights.indices, weights.indptr] if tree.is_sparse else [weights]
    assert tree.nbytes == sum(each.nbytes for each in arrays)
    # All else of a pickle is names and shapes.
    assert 0 < len(pickle.dumps(tree)) - tree.nbytes < 2000


@pytest.mark.parametrize("parameters", [
    {}, {"leaf": LinearLeaves(penalty=1.0)}], ids=str)
def test_the_size_of_a_tree_is_about_that_of_its_pickle(parameters, digits):
    model = ObliqueTreeRegressor(8, init=RandomOblique(4), optimizer=None, **parameters)
    model.fit(*digits)
    assert model.tree_.nbytes == pytest.approx(len(pickle.dumps(model.tree_)), rel=0.03)


@ALL
def test_the_size_of_an_estimator_is_that_of_its_pickle(kind, iris):
    model = kind(5, init="random_oblique", optimizer=None).fit(*iris)
    model.predict(iris[0])
    assert model.get_nbytes() == len(pickle.dumps(model))


@ALL
def test_what_is_not_fitted_has_no_size(kind):
    with pytest.raises(NotFittedError):
        kind().get_nbytes()
