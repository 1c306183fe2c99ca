"""Parameters may be NumPy integers of a few bits, whose products would overflow."""

from numbers import Integral

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.utils._param_validation import Interval

from ngdt import ObliqueForestClassifier, ObliqueTreeClassifier
from ngdt.initializers import INITIALIZERS
from ngdt.optimizers import OPTIMIZERS

X = np.random.default_rng(0).normal(size=(150, 3))
Y = X[:, 0] + X[:, 1] > 0
SHORT = {"epochs": 3, "steps": 30}


def counts(cls):
    """Parameters that may be integers."""
    return [name for name, constraints in cls._parameter_constraints.items()
            if isinstance(constraints, list) and any(
                isinstance(each, Interval) and each.type is Integral for each in constraints)]


def assert_same(make, value):
    try:
        expected = make(int(value)).fit(X, Y).predict_proba(X)
    except ValueError as error:     # more than there is
        with pytest.raises(ValueError, match=str(error)[:10]):
            make(value).fit(X, Y)
    else:
        assert_array_equal(make(value).fit(X, Y).predict_proba(X), expected)


VALUES = pytest.mark.parametrize("value", [np.int8(3), np.int8(100), np.uint8(3), True], ids=repr)


@VALUES
@pytest.mark.parametrize(("which", "algorithm", "name"), [
    (which, cls, name) for which, classes in (("optimizer", OPTIMIZERS), ("init", INITIALIZERS))
    for cls in classes.values() for name in counts(cls)])
def test_of_algorithms(which, algorithm, name, value):
    short = {key: few for key, few in SHORT.items() if key in algorithm._parameter_constraints}

    def make(number):
        return ObliqueTreeClassifier(2, random_state=0, **{
            "optimizer": None, which: algorithm(**short | {name: number})})

    assert_same(make, value)


@VALUES
@pytest.mark.parametrize("name", counts(ObliqueForestClassifier))
def test_of_estimators(name, value):
    for cls in (ObliqueTreeClassifier, ObliqueForestClassifier):
        if name in counts(cls):
            params = {"max_depth": 2, "optimizer": None, "random_state": 0}
            assert_same(lambda number: cls(**params | {name: number}), value)   # noqa: B023  it is called in this turn
