"""Columns of one value: they change neither draws nor scales."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris

from helpers import make_problem
from ngdt import ObliqueForestClassifier, ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt.initializers import OC1, RandomOblique, SoftGreedy
from ngdt.optimizers import SGD, TAO, Annealed, EndToEnd

X, Y = load_iris(return_X_y=True)
# At the end, and by fours: products in float32 are added up in the same order.
WITH_CONSTANTS = np.column_stack((X, np.zeros((len(X), 4)), np.full((len(X), 4), 7.0)))


@pytest.mark.parametrize("params", [
    {"init": "random_complete", "optimizer": None},
    {"init": RandomOblique(n_candidates=3, n_nonzero=2), "optimizer": None},
    {"init": RandomOblique(n_candidates=3), "optimizer": None},
    {"init": OC1(n_restarts=2), "optimizer": None},
    {"init": SoftGreedy(stump=EndToEnd(epochs=2)), "optimizer": None},
    {"init": "model_tree", "optimizer": None},
    {"optimizer": Annealed(steps=50)},
    {"optimizer": EndToEnd(epochs=2)},
    {"optimizer": TAO()},
    {"optimizer": SGD(epochs=3)}], ids=str)
def test_constant_columns_change_nothing(params):
    tree, other = (ObliqueTreeClassifier(
        3, validation_fraction=None, random_state=0, **params).fit(data, Y).tree_.densify()
        for data in (X, WITH_CONSTANTS))
    np.testing.assert_allclose(other.weights[:, :4], tree.weights, rtol=1e-5)
    assert not other.weights[:, 4:].any()
    np.testing.assert_array_equal(other.apply(WITH_CONSTANTS), tree.apply(X))


@pytest.mark.parametrize("model", [
    ObliqueTreeClassifier(random_state=0), ObliqueForestClassifier(2, random_state=0)], ids=str)
def test_constant_columns_change_no_default(model):
    expected = model.fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(
        model.fit(WITH_CONSTANTS, Y).predict_proba(WITH_CONSTANTS), expected, atol=1e-5)


@pytest.mark.parametrize("init", ["random_complete", "random_oblique"])
def test_constant_columns_of_sparse_data_are_not_drawn(init):
    tree, other = (ObliqueTreeClassifier(
        3, init=init, optimizer=None, random_state=0).fit(csr_array(data), Y).tree_.densify()
        for data in (X, WITH_CONSTANTS))
    np.testing.assert_array_equal(other.weights[:, :4], tree.weights)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_a_single_sample_tells_nothing_of_what_varies(form):
    # The learning rate of a training in parts is that for all features.
    problem = make_problem(form(np.array([[0.0, 2.0, 0.0]])), [0])
    np.testing.assert_array_equal(problem.varying, [0, 1, 2])


def test_constant_columns_add_no_epochs():
    with_many = np.column_stack((X, np.zeros((len(X), 300))))
    tree = ObliqueTreeClassifier(2, optimizer=SGD(batch_size=1), validation_fraction=None)
    assert tree.fit(X, Y).n_iter_ == tree.fit(with_many, Y).n_iter_


def test_model_trees_of_numbers_do_not_count_slopes_of_constants():
    random = np.random.default_rng(0)
    x = random.uniform(-1, 1, (200, 2))
    y = np.abs(x[:, 0]) + random.normal(scale=0.45, size=200)
    tree = ObliqueTreeRegressor(init="model_tree", optimizer=None, max_leaf_nodes=2)
    with_constants = np.column_stack((x, np.full((len(x), 25), 7.0)))
    assert tree.fit(x, y).get_n_leaves() == tree.fit(with_constants, y).get_n_leaves() == 2


def test_a_table_of_constants_is_drawn_for():
    for init in ("random_complete", "random_oblique", "oc1", "soft_greedy"):
        tree = ObliqueTreeClassifier(2, init=init, optimizer=None, random_state=0)
        assert tree.fit(np.ones((4, 2)), [0, 0, 0, 1]).predict(np.ones((1, 2))) == 0
