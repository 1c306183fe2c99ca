"""What is made of a problem, and how long it lasts."""

import numpy as np
import pytest

from ngdt import Tree
from ngdt.losses import LogLoss, SquaredLoss
from ngdt.problem import Problem

X = np.arange(12.0).reshape(6, 2)
WEIGHT = np.array([1.0, 0.0, 2.0, 1.0, 0.0, 0.0])


def problem(loss, y, n_outputs, **fields):
    return Problem(X, loss.encode(y, n_outputs), loss, n_outputs, WEIGHT, **fields)


@pytest.mark.parametrize(("changes", "keeps_data", "keeps_scaling"), [
    ({"random_state": 3, "validation_weight": None, "n_jobs": 2}, True, True),
    ({"sample_weight": np.ones(6)}, True, False),
    ({"standardize": False}, True, False),
    ({"X": X.copy()}, False, False),
])
def test_what_has_been_made_is_kept_by_copies_it_is_true_for(changes, keeps_data, keeps_scaling):
    original = problem(LogLoss(), [0, 1, 0, 1, 0, 1], 2)
    assert not {"data", "scaling"} & vars(original.replace(**changes)).keys()
    data, scaling = original.data, original.scaling
    copy = original.replace(**changes)
    assert (copy.data is data) == keeps_data
    assert (copy.scaling is scaling) == keeps_scaling


def test_rows():
    given = problem(LogLoss(), [0, 1, 0, 1, 0, 1], 2)
    np.testing.assert_array_equal(given.training_samples, [0, 2, 3])
    assert len(given.validation_samples) == 0
    given = given.replace(validation_weight=np.array([0.0, 3.0, 0.0, 0.0, 0.0, 1.0]))
    np.testing.assert_array_equal(given.validation_samples, [1, 5])
    assert given.training_samples.dtype == given.validation_samples.dtype == np.int32


def test_leaves_are_fitted_to_the_rows_that_reach_them():
    given = problem(SquaredLoss(), [1.0, 9.0, 4.0, 7.0, 9.0, 9.0], 1)
    values = given.fit_leaves(np.array([1, 1, 0]), given.training_samples, 2)
    np.testing.assert_allclose(values, [[7.0], [(1.0 + 2 * 4.0) / 3]])


def test_trees_for_other_data_are_refused():
    given = problem(LogLoss(), [0, 1, 0, 1, 0, 1], 2)
    leaf = np.empty((0, 2)), [], [], []
    given.check_shapes(Tree(*leaf, [[0.0, 0.0]]))
    with pytest.raises(ValueError, match="the tree is for 3 outputs, but the data have 2"):
        given.check_shapes(Tree(*leaf, [[0.0, 0.0, 0.0]]))
    with pytest.raises(ValueError, match="the tree is for 5 features, but the data have 2"):
        given.check_shapes(Tree(np.empty((0, 5)), [], [], [], [[0.0, 0.0]]))
