"""Fitted models of every kind that files hold, and a comparison of all that is in two models."""

from functools import cache

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.datasets import make_friedman1

from ngdt import (
    ObliqueBoostingRegressor,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    TAOPathCV,
    Tree,
)
from ngdt.losses import BoundedLoss, HuberLoss, Loss, PoissonLoss
from ngdt.optimizers import TAO, Annealed, LinearLeaves
from ngdt.pruning import prune_forest

N = 120


def numbers(n_features=3, seed=0):
    return np.random.default_rng(seed).normal(size=(N, n_features)).round(2)


def frame():
    """Numbers, one column with gaps; categories, some rare or missing; bools."""
    random = np.random.default_rng(1)
    city = random.choice(["Oslo", "Rome", "Bern", None], N, p=[0.4, 0.3, 0.2, 0.1])
    city[:3] = "Nice"
    return pd.DataFrame({
        "age": np.where(random.random(N) < 0.1, np.nan, random.integers(18, 80, N)),
        "city": city,
        "size": pd.Categorical(random.choice(["S", "M"], N)),
        "own": random.random(N) < 0.5,
    })


def labels(kind=str):
    return np.where(numbers()[:, 0] + frame()["own"] > 0.4, *{
        str: ("yes", "no"), bool: (True, False), int: (7, -2), float: (2.0, 1.0),
        object: np.array(["yes", "no"], dtype=object),
        np.datetime64: np.array(["2020-01-01", "2021-06-30"], dtype="M8[s]")}[kind])


def targets(n_targets=1):
    y = numbers(2) @ [[2.0, 1.0], [0.5, -1.0]] + frame()[["own"]].to_numpy()
    return y[:, 0] if n_targets == 1 else y


def tree_on_frame():
    model = ObliqueTreeClassifier(
        3, init="pruned", optimizer=[TAO(C=0.3, max_iter=2), "regrow"],
        class_weight={"yes": 2.0, "no": 1}, random_state=0)
    return model.fit(frame(), labels()), frame(), labels()


def linear_leaves():
    model = ObliqueTreeRegressor(2, leaf="linear", optimizer=None)
    return model.fit(numbers(2), targets(2)), numbers(2), targets(2)


def robust():
    model = ObliqueTreeRegressor(2, loss=HuberLoss(1.5), optimizer=None, leaf="constant")
    return model.fit(numbers(2), targets(2)), numbers(2), targets(2)


def counts():
    y = np.exp(targets()).round()
    model = ObliqueTreeRegressor(2, loss=PoissonLoss(0.5), optimizer=None, leaf="constant")
    return model.fit(numbers(2), y), numbers(2), y


def sparse_weights():
    model = ObliqueTreeClassifier(
        3, init="info_gain", optimizer=TAO(max_iter=2), loss=BoundedLoss(0.3, 2.0))
    X = numbers(60)
    X = sparse.csr_array(np.where(X > 1.0, X, 0.0))
    model.fit(X, labels(bool))
    model.tree_ = model.tree_.sparsify()
    return model, X, labels(bool)


def by_default():
    return ObliqueTreeRegressor(3, random_state=0).fit(numbers(2), targets()), numbers(2), targets()


def categories_of_numbers():
    X = np.column_stack([numbers(1), np.arange(N) % 3])
    model = ObliqueTreeClassifier(2, categorical_features=np.array([1]), optimizer=None)
    return model.fit(X, labels(float)), X, labels(float)


def from_an_estimator():
    init = ObliqueTreeClassifier(1, optimizer=None).fit(numbers(2), labels(np.datetime64))
    model = ObliqueTreeClassifier(2, init=init, optimizer=TAO(max_iter=2))
    return model.fit(numbers(2), labels(np.datetime64)), numbers(2), labels(np.datetime64)


def in_batches():
    model = ObliqueTreeClassifier(3, optimizer="ssgd", random_state=np.int64(0))
    model.partial_fit(numbers()[:60], labels(object)[:60], classes=["no", "perhaps", "yes"])
    return model, numbers(), labels(object)


def single_leaf():
    model = ObliqueTreeClassifier(0, optimizer=None).fit(numbers(), labels(int))
    return model, numbers(), labels(int)


def from_a_tree():
    init = Tree([[1.0, -1.0]], [0.0], (~0,), (~1,), [[1.0], [2.0]])
    model = ObliqueTreeRegressor(init=init, optimizer=(TAO(max_iter=2),))
    return model.fit(numbers(2), targets()), numbers(2), targets()


def forest():
    model = ObliqueForestClassifier(
        4, max_depth=3, oob_score=True, max_samples=0.5, random_state=0,
        optimizer=Annealed(steps=50))
    return model.fit(frame(), labels()), frame(), labels()


def forest_by_default():
    model = ObliqueForestRegressor(
        4, max_depth=2, max_samples=0.5, max_features=1, oob_score=True,
        leaf=LinearLeaves(features=[0]), random_state=0)
    return model.fit(numbers(2), targets(2)), numbers(2), targets(2)


def forest_pruned():
    X, y, held_out = numbers(2), targets(), np.arange(N) % 2 == 1
    model = ObliqueForestRegressor(6, optimizer=None, init="info_gain", random_state=0)
    model.fit(X[~held_out], y[~held_out])
    pruned = prune_forest(model, X[held_out], y[held_out], tol=0.1)
    assert pruned.get_nbytes() < model.get_nbytes()
    return pruned, X, y


def boosting():
    X, y = make_friedman1(200, 5, random_state=0)
    model = ObliqueBoostingRegressor(
        ObliqueForestRegressor(8, max_depth=2, init="random_oblique", optimizer="tao"),
        random_state=0)
    assert len(model.fit(X, y).estimators_) == 2
    return model, X, y


def search():
    tree = ObliqueTreeClassifier(3, optimizer=TAO(max_iter=2), validation_fraction=None)
    return TAOPathCV(tree, Cs=[1.0, 0.1], cv=2).fit(frame(), labels()), frame(), labels()


# Functions that return a fitted model, X and y.
MODELS = [
    tree_on_frame, linear_leaves, robust, counts, sparse_weights, by_default, categories_of_numbers,
    from_an_estimator, in_batches, single_leaf, from_a_tree, forest, forest_by_default,
    forest_pruned, boosting, search]


@cache
def made(make):
    """Result of a function of MODELS, the same each time; tests must not change it."""
    return make()


def assert_same(a, b):
    """Everything in two models is the same, types included."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for each, other in zip(a, b, strict=True):
            assert_same(each, other)
    elif isinstance(a, dict):
        assert_same(list(a), list(b))
        assert_same(list(a.values()), list(b.values()))
    elif isinstance(a, Loss):
        assert a.__reduce__() == b.__reduce__()
    elif hasattr(a, "__dict__"):
        # What is made at first use.
        assert_same(*({name: value for name, value in sorted(vars(each).items())
                       if name not in ("_kernel", "feature")} for each in (a, b)))
    else:
        assert a == b or (a != a and b != b)
