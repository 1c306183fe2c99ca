"""Arguments that the functions of ngdt.inference refuse, each by its name."""


import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.special import softmax

from ngdt import Tree
from ngdt.inference import (
    cost_diminished_inference,
    empirical_loss,
    loss_augmented_inference,
    soft_predict_proba,
    surrogate_gradient,
    upper_bound,
)
from ngdt.losses import LOSSES

STUMP = Tree([[1.0, 0.0]], [0.0], [~0], [~1], [[0.0, 1.0], [1.0, 0.0]])
X_GOOD = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])
Y_GOOD = np.array([0, 1, 0])
FUNCTIONS = {
    function.__name__: function
    for function in (
        empirical_loss,
        upper_bound,
        loss_augmented_inference,
        cost_diminished_inference,
        surrogate_gradient,
    )
}
BAD_X = {
    "nan": [[np.nan, 0.0]] * 3,
    "infinity": [[np.inf, 0.0]] * 3,
    "sparse nan": csr_array([[np.nan, 0.0]] * 3),
    "features": np.zeros((3, 3)),
    "1-d": np.zeros(3),
    "3-d": np.zeros((3, 2, 1)),
    "strings": [["a", "b"]] * 3,
    "complex": np.zeros((3, 2), dtype=complex),
    "ragged": [[1.0, 2.0], [1.0], [1.0, 2.0]],
    "empty": np.zeros((0, 2)),
    "None": None,
}
BAD_Y = {
    "above the classes": ("log_loss", [0, 1, 2]),
    "below the classes": ("log_loss", [0, 1, -1]),
    "between the classes": ("log_loss", [0, 1, 0.5]),
    "nan class": ("log_loss", [0, 1, np.nan]),
    "strings": ("log_loss", ["a", "b", "c"]),
    "2-d classes": ("log_loss", [[0, 1]] * 3),
    "short": ("log_loss", [0, 1]),
    "long": ("log_loss", [0, 1, 0, 1]),
    "scalar": ("log_loss", 1),
    "None": ("log_loss", None),
    "ragged": ("squared_error", [[0.0, 1.0], [0.0], [1.0, 1.0]]),
    "nan": ("squared_error", [[0.0, np.nan]] * 3),
    "infinity": ("squared_error", [[0.0, np.inf]] * 3),
    "too few targets": ("squared_error", [0.0, 1.0, 2.0]),
    "too many targets": ("squared_error", np.zeros((3, 3))),
    "complex": ("squared_error", np.zeros((3, 2), dtype=complex)),
}
BAD_ASSIGNMENT = {
    "above the leaves": [0, 1, 2],
    "below the leaves": [0, 1, -1],
    "floats": [0.0, 1.0, 0.0],
    "short": [0, 1],
    "2-d": [[0, 1, 0]],
    "ragged": [[0], [1, 0], [1]],
    "huge": [0, 1, 2**40],
    "strings": ["a", "b", "c"],
}
BAD_WEIGHT = {
    "negative": [1.0, 1.0, -1.0],
    "nan": [1.0, 1.0, np.nan],
    "infinity": [1.0, 1.0, np.inf],
    "zero": [0.0, 0.0, 0.0],
    "short": [1.0, 1.0],
    "2-d": [[1.0, 1.0, 1.0]],
    "strings": ["a", "b", "c"],
}


def names(parameter):
    return pytest.raises((ValueError, TypeError), match=rf"\b{parameter}\b")


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("case", BAD_X)
def test_bad_X(function, case):
    with names("X"):
        FUNCTIONS[function](STUMP, BAD_X[case], Y_GOOD)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("case", BAD_Y)
def test_bad_y(function, case):
    loss, y = BAD_Y[case]
    with names("y"):
        FUNCTIONS[function](STUMP, X_GOOD, y, loss=loss)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("loss", ["hinge", None, 1, LOSSES["log_loss"]])
def test_bad_loss(function, loss):
    with names("loss"):
        FUNCTIONS[function](STUMP, X_GOOD, Y_GOOD, loss=loss)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("tree", [None, "tree", STUMP.weights])
def test_bad_tree(function, tree):
    with names("tree"):
        FUNCTIONS[function](tree, X_GOOD, Y_GOOD)
    with names("tree"):
        soft_predict_proba(tree, X_GOOD, 1.0)


@pytest.mark.parametrize("function", [upper_bound, loss_augmented_inference, surrogate_gradient])
@pytest.mark.parametrize("inference", ["stable", "FAST", None, 1, ["fast"]])
def test_bad_inference(function, inference):
    with names("inference"):
        function(STUMP, X_GOOD, Y_GOOD, inference=inference)


@pytest.mark.parametrize("function", [upper_bound, surrogate_gradient])
@pytest.mark.parametrize("case", BAD_ASSIGNMENT)
def test_bad_assignment(function, case):
    with names("assignment"):
        function(STUMP, X_GOOD, Y_GOOD, assignment=BAD_ASSIGNMENT[case])


@pytest.mark.parametrize("case", BAD_WEIGHT)
def test_bad_sample_weight(case):
    with names("sample_weight"):
        surrogate_gradient(STUMP, X_GOOD, Y_GOOD, sample_weight=BAD_WEIGHT[case])


def test_inputs_are_left_alone():
    X, y, weight = X_GOOD.copy(), Y_GOOD.copy(), np.ones(3)
    for array in (X, y, weight):
        array.flags.writeable = False
    surrogate_gradient(STUMP, X, y, assignment=y, sample_weight=weight)
    sparse = csr_array(X_GOOD)
    loss_augmented_inference(STUMP, sparse, y, inference="full")
    assert_array_equal(sparse.toarray(), X_GOOD)


def test_soft_routing_sends_a_nan_score_to_the_left():
    # The products overflow, and inf - inf is NaN: the tree sends the sample to the left.
    tree = Tree([[1e300, -1e300]], [0.0], [~0], [~1], [[0.0, 1.0], [1.0, 0.0]])
    X = [[1e300, 1e300]]
    assert tree.apply(X) == [0]
    assert_allclose(soft_predict_proba(tree, X, gamma=1.0), softmax(tree.values[:1], axis=1))


@pytest.mark.parametrize("gamma", [0.0, -1.0, np.inf, np.nan, "1"])
def test_bad_steepness(gamma):
    with pytest.raises(ValueError, match="gamma must be a positive, finite number, got"):
        soft_predict_proba(STUMP, X_GOOD, gamma)
