"""Checks of the arguments of kernels: a wrong size would read past the end of an array."""

import numpy as np
import pytest
from scipy import sparse

from helpers import make_problem
from ngdt import Tree
from ngdt._core.greedy.splitter import Split
from ngdt._core.samples import Samples
from ngdt._forest.ensemble import Ensemble
from ngdt._methods.model_tree import splits
from ngdt.losses import PoissonLoss

X = np.arange(12.0).reshape(6, 2)
DATA = Samples(X)
ALL, ONE = np.arange(6, dtype=np.int32), np.zeros(1, dtype=np.int32)
SPLITTER = make_problem(X, [0, 1, 0, 1, 0, 1]).splitter
STUMP = Tree([[1.0, 1.0]], [0.0], [~0], [~1], [[0.0], [1.0]], np.zeros((2, 1, 2)))
WIDE = sparse.csr_matrix((1, 1))
WIDE._shape = (1, 2**31)


def damaged(name, values):
    """A CSR matrix of three samples with other contents of one of its arrays."""
    matrix = sparse.csr_matrix(X[:3])
    setattr(matrix, name, np.array(values, dtype=np.int32))
    return matrix


@pytest.mark.parametrize(("call", "message"), [
    (lambda: Samples(X.T), "C-contiguous"),
    (lambda: Samples(sparse.csc_matrix(X)), "CSR format when sparse, got csc"),
    (lambda: Samples(X.astype(np.float16)), "float32 or float64, got float16"),
    (lambda: Samples(WIDE), "columns that 32 bits count"),
    (lambda: Samples(damaged("indptr", [0, 3])), "no valid CSR matrix"),
    (lambda: Samples(damaged("indptr", [0, 2, 4, 9])), "no valid CSR matrix"),
    (lambda: Samples(damaged("indptr", [0, 1, 3, 9])), "no valid CSR matrix"),
    (lambda: Samples(damaged("indptr", [0, 1, 0, 1])), "no valid CSR matrix"),
    (lambda: STUMP.apply_samples(None), "got NoneType"),
    (lambda: STUMP._route_finite(None, 0, 0, np.empty(0, np.int32)), "got NoneType"),
    (lambda: STUMP.scores_of(None), "got NoneType"),
    (lambda: STUMP._nearest_products(None, ALL, ONE, np.ones(1)), "got NoneType"),
    (lambda: Ensemble([STUMP], False).mean(None, 0, 0, np.empty((0, 1))), "got NoneType"),
    (lambda: PoissonLoss().fits(None), "got NoneType"),
    (lambda: splits.divide(None, np.zeros(1, bool)), "must not be None"),
    (lambda: splits.split_errors(
        np.ones((2, 3)), None, np.zeros((1, 2), np.int32), 1.0, 1, 5, 1, 1.0), "must not be None"),
    (lambda: splits.variance_gains(None, np.zeros((1, 1), np.int32), np.ones((1, 1, 1)), np.ones(1),
                                   1.0, 1), "must not be None"),
    (lambda: DATA.project(ALL, np.ones(3)), "weights has 3 entries for 2"),
    (lambda: SPLITTER.best_threshold(ALL, np.ones(5)), "z has 5 values for 6 samples"),
    (lambda: SPLITTER.partition(ALL.copy(), Split(np.ones(3), 0.0, 1.0)), "3 entries for 2"),
    (lambda: SPLITTER.partition(ALL.copy(), Split(2, 0.0, 1.0)), "there is no feature 2"),
    (lambda: STUMP._predict_linear(ONE, DATA, ALL), "leaf has 1 entries for 6 samples"),
    (lambda: STUMP._nearest_products(DATA, ALL, ONE, np.ones(2)), "an entry for each node"),
    (lambda: PoissonLoss(pseudo_count=-1.0), "pseudo_count must be finite and not negative"),
])
def test_wrong_arguments_are_refused(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_one_sample_has_no_split_and_two_have():
    assert SPLITTER.split(ONE) is None
    assert SPLITTER.best_threshold(ONE, np.ones(1)) is None
    assert SPLITTER.split(ALL[:2]).threshold == 1.0
    assert SPLITTER.best_threshold(ALL[:2], np.array([5.0, 7.0]))[0] == 6.0
