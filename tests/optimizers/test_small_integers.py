"""Parameters may be NumPy integers of a few bits, whose products would overflow."""

from numbers import Integral

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.utils._param_validation import Interval

from ngdt import ObliqueForestClassifier, ObliqueTreeClassifier
from ngdt.initializers import INITIALIZERS
from ngdt.optimizers import OPTIMIZERS

X = np.random.default_rng(0).normal(size=(40, 3))
Y = X[:, 0] + X[:, 1] > 0
SHORT = {"epochs": 3, "steps": 30}


def counts(cls):
    """Parameters that may be integers."""
    return [name for name, constraints in cls._parameter_constraints.items()
            if isinstance(constraints, list) and any(
                isinstance(each, Interval) and each.type is Integral for each in constraints)]


def assert_same(make):
    """Small integers train the same tree as those of Python, or are refused as those are."""
    for value in (np.uint8(3), np.int8(100), True):
        try:
            expected = make(int(value)).fit(X, Y).predict_proba(X)
        except ValueError as error:     # more than there is
            with pytest.raises(ValueError, match=str(error)[:10]):
                make(value).fit(X, Y)
        else:
            assert_array_equal(make(value).fit(X, Y).predict_proba(X), expected)


@pytest.mark.parametrize(("which", "algorithm", "name"), [
    (which, cls, name) for which, classes in (("optimizer", OPTIMIZERS), ("init", INITIALIZERS))
    for cls in classes.values() for name in counts(cls)])
def test_of_algorithms(which, algorithm, name):
    short = {key: few for key, few in SHORT.items() if key in algorithm._parameter_constraints}

    def make(number):
        return ObliqueTreeClassifier(2, random_state=0, validation_fraction=None, **{
            "optimizer": None, which: algorithm(**short | {name: number})})

    assert_same(make)


@pytest.mark.parametrize("name", counts(ObliqueForestClassifier))
def test_of_estimators(name):
    for model in (ObliqueTreeClassifier(), ObliqueForestClassifier(3)):
        if name in counts(type(model)):
            model.set_params(max_depth=2, init="info_gain", optimizer=None, random_state=0)
            assert_same(lambda number, model=model: clone(model).set_params(**{name: number}))
