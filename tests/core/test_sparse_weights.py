"""Trees with sparse weights: the same decisions to the last bit, in the memory of the nonzeros."""

import copy
import pickle
import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris

from helpers import in_nightly, serves, short
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt._core.samples import Samples
from ngdt.inference import (
    cost_diminished_inference,
    loss_augmented_inference,
    soft_predict_proba,
    surrogate_gradient,
    upper_bound,
)
from ngdt.losses import LogLoss
from ngdt.optimizers import OPTIMIZERS, Regrow
from ngdt.testing.strategies import problems, trees

TRUE = st.just(True)


def wide(share, p, dtype=np.float64):
    """Dense weights of some density in a chain, and samples."""
    rng = np.random.default_rng(0)
    weights = np.where(rng.random((3, p)) < share, rng.normal(size=(3, p)), 0.0)
    tree = Tree(weights, 0.1 * rng.normal(size=3), [~0, ~1, ~2], [1, 2, ~3], np.zeros((4, 1)))
    return tree, np.where(rng.random((7, p)) < 0.6, rng.normal(size=(7, p)), 0.0).astype(dtype)


def shuffled(X, rng):
    """CSR in which the columns of each row come in any order."""
    X = sparse.csr_array(X)
    for start, end in zip(X.indptr, X.indptr[1:], strict=False):
        order = start + rng.permutation(end - start)
        X.indices[start:end], X.data[start:end] = X.indices[order], X.data[order]
    return sparse.csr_array((X.data, X.indices, X.indptr), shape=X.shape)


def assert_same_decisions(dense, stored, X):
    assert stored.is_sparse
    assert not dense.is_sparse
    assert_array_equal(stored.scores(X), dense.scores(X))
    assert_array_equal(stored.apply(X), dense.apply(X))
    assert_array_equal(stored.predict(X), dense.predict(X))
    assert_array_equal(stored.decision_path(X).toarray(), dense.decision_path(X).toarray())


# --- decisions ----------------------------------------------------------------------------------

ANY_SCALE = st.builds(
    lambda number, exponent: number * 10.0**exponent,
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 1 / 3, -0.7]), st.integers(-160, 150))
ANY_SCALE_F32 = st.builds(
    lambda number, exponent: float(np.float32(number * 10.0**exponent)),
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 1 / 3, -0.7]), st.integers(-45, 37))


@given(data=st.data(), dtype=st.sampled_from([np.float32, np.float64]), p=st.integers(1, 40))
def test_scores_have_the_same_bits_at_any_scale(data, dtype, p):
    m = data.draw(st.integers(1, 3))
    elements = ANY_SCALE if dtype == np.float64 else ANY_SCALE_F32
    weights = data.draw(arrays(np.float64, (m, p), elements=elements, fill=st.just(0.0)))
    X = data.draw(arrays(np.float64, (3, p), elements=elements)).astype(dtype)
    nodes = np.arange(m)
    tree = Tree(weights, data.draw(arrays(np.float64, m, elements=elements)), ~nodes,
                [*nodes[1:], ~m], np.zeros((m + 1, 1)))
    stored = tree.sparsify()
    rng = np.random.default_rng(0)
    for form in (X, sparse.csr_array(X), shuffled(X, rng)):
        assert_same_decisions(tree, stored, form)
    event(f"nonzero scores: {tree.scores(X).any()}")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("p", "share"), [
    *((p, 0.3) for p in (1, 4, 5, 16, 17, 33)), *((357, share) for share in (0.0, 0.02, 0.3, 1.0)),
    *in_nightly(product([1, 3, 4, 5, 15, 16, 17, 31, 33, 100], [0.0, 0.02, 1.0])),
    *in_nightly(product([3, 15, 31, 100], [0.3]))])
def test_scores_of_any_width_and_density(p, dtype, share):
    tree, X = wide(share, p, dtype)
    rng = np.random.default_rng(1)
    explicit = sparse.csr_array((X.ravel(), np.tile(np.arange(p), 7), np.arange(0, 7 * p + 1, p)))
    repeated = sparse.csr_array(
        (np.repeat(X.ravel() / 3, 2), np.repeat(np.tile(np.arange(p), 7), 2),
         np.arange(0, 14 * p + 1, 2 * p)))
    for form in (X, sparse.csr_array(X), sparse.csr_matrix(X), explicit, repeated,
                 shuffled(X, rng), shuffled(repeated, rng)):
        assert_same_decisions(tree, tree.sparsify(), form)


@given(problem=problems(sparse_weights=TRUE, elements=st.floats(-1e3, 1e3)))
def test_problems(problem):
    assert_same_decisions(problem.tree.densify(), problem.tree, problem.X)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3, 1.0])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_many_samples_are_decided_as_few_are(share, form):
    # So many that dense rows of weights are worth making, unless few weights are not zero.
    tree, _ = wide(share, 40)
    stored, X = tree.sparsify(), np.random.default_rng(1).normal(size=(2000, 40))
    rows, some = Samples(form(X)), np.arange(0, 2000, 2, dtype=np.int32)
    leaf = stored.apply_samples(rows)
    assert_array_equal(leaf, tree.apply_samples(rows))
    assert_array_equal(leaf[::9], [stored.apply(form(x[None]))[0] for x in X[::9]])
    assert_array_equal(leaf[some], stored.apply_samples(rows, some))
    assert len(set(leaf)) > 1


def test_the_scratch_of_one_sample_does_not_reach_the_next():
    tree = Tree([[1.0, 1.0]], [0.5], [~0], [~1], [[0.0], [1.0]]).sparsify()
    X = sparse.csr_array([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0], [0.25, 0.0]])
    assert tree.scores(X)[:, 0].tolist() == [0.5, -0.5, 1.5, -0.25]
    some = np.array([2, 1, 0, 1], dtype=np.int32)
    assert tree.apply_samples(Samples(X), some).tolist() == [1, 0, 1, 0]


# --- form ---------------------------------------------------------------------------------------


@given(tree=trees())
def test_conversions(tree):
    stored = tree.sparsify()
    assert stored.sparsify() is stored
    assert tree.densify() is tree
    assert_array_equal(stored.densify().weights, tree.weights)
    assert_array_equal(stored.weights.toarray(), tree.weights)
    assert_array_equal(stored.dense_weights(), tree.dense_weights())
    assert stored.n_nonzero == tree.n_nonzero == np.count_nonzero(tree.weights)
    assert repr(stored) == (
        f"{repr(tree)[:-1]}, n_nonzero={tree.n_nonzero}, is_sparse=True)")


@given(tree=trees())
def test_the_compact_form_is_the_smaller_one(tree):
    m, nonzeros = tree.n_internal, tree.n_nonzero
    # Two starts a row, of 32 and 64 bits; value and column of a nonzero.
    is_smaller = nonzeros * (8 + 4) + m * (4 + 8) < tree.weights.nbytes
    for form in (tree, tree.sparsify()):
        compact = form.compact()
        assert compact == tree
        assert compact.is_sparse == is_smaller
        assert (compact is form) == (form.is_sparse == is_smaller)
    event(f"sparse: {is_smaller}")


@given(tree=trees(), other=trees())
def test_equal_means_the_same_numbers(tree, other):
    assert tree.sparsify() == tree == tree.sparsify().densify()
    assert tree.sparsify() == tree.sparsify().copy()
    for a in (tree, tree.sparsify()):
        for b in (other, other.sparsify()):
            assert (a == b) == (tree == other)
    event(f"equal: {tree == other}")


def test_unequal_weights():
    tree = Tree([[0.0, 1.0]], [0.0], [~0], [~1], [[0.0], [1.0]])
    for weights in ([[0.0, 2.0]], [[1.0, 0.0]], [[0.0, 0.0]], [[1.0, 1.0]], [[0.0, 1.0, 0.0]]):
        other = Tree(weights, [0.0], [~0], [~1], [[0.0], [1.0]])
        assert tree.sparsify() != other
        assert tree != other.sparsify()
        assert tree.sparsify() != other.sparsify()


@given(tree=trees(sparse_weights=TRUE))
def test_copies(tree):
    for other in (tree.copy(), copy.copy(tree), copy.deepcopy(tree),
                  *(pickle.loads(pickle.dumps(tree, protocol)) for protocol in range(2, 6))):
        assert other == tree
        assert other.is_sparse
        assert other.weights.data.dtype == np.float64
        assert other.weights.indices.dtype == np.int32
        assert not np.shares_memory(other.weights.data, tree.weights.data)


def test_weights_are_canonical_and_copied():
    data, columns, starts = np.array([2.0, 1.0, 0.0, 3.0, -3.0, 4.0]), [2, 0, 1, 1, 1, 1], [0, 3, 6]
    matrix = sparse.csr_array((data, columns, starts), shape=(2, 3))
    tree = Tree(matrix, [0.0, 0.0], [~0, ~1], [1, ~2], np.zeros((3, 1)))
    matrix.data[:] = 7
    assert tree.weights.toarray().tolist() == [[1.0, 0.0, 2.0], [0.0, 4.0, 0.0]]
    assert tree.weights.data.tolist() == [1.0, 2.0, 4.0]
    assert tree.n_nonzero == 3
    assert tree.weights.has_canonical_format


def test_weights_cannot_be_changed():
    tree = Tree(sparse.csr_array([[0.0, 1.0]]), [0.0], [~0], [~1], [[0.0], [1.0]])
    for array in (tree.weights.data, tree.weights.indices, tree.weights.indptr):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(AttributeError):
        tree.weights = tree.weights
    weights = tree.weights
    weights.data = np.array([5.0])
    assert tree.weights.data.tolist() == [1.0]
    assert tree.apply([[0.0, 1.0]]) == [1]


@pytest.mark.parametrize("form", [
    sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array, sparse.lil_matrix,
    sparse.dok_array, sparse.bsr_array, sparse.dia_matrix])
@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64])
def test_any_sparse_format(form, dtype):
    tree = Tree([[0.0, 1.0, 2.0], [0.0, 0.0, 0.0]], [0.0, 1.0], [~0, ~1], [1, ~2], [[0.0]] * 3)
    stored = Tree(form(tree.weights.astype(dtype)), *tree._arrays()[1:])
    assert stored.is_sparse
    assert stored == tree


def test_a_single_leaf():
    leaf = Tree(sparse.csr_array((0, 5)), [], [], [], [[1.0]])
    assert leaf.is_sparse
    assert leaf.n_nonzero == 0
    assert leaf == Tree(np.empty((0, 5)), [], [], [], [[1.0]])
    for X in (np.ones((2, 5)), sparse.csr_array(np.ones((2, 5)))):
        assert leaf.apply(X).tolist() == [0, 0]


# --- what is refused ----------------------------------------------------------------------------


def damaged(change):
    matrix = sparse.csr_array(np.array([[1.0, 0.0], [1.0, 2.0], [0.0, 3.0]]))
    change(matrix)
    return matrix


def set_index(array, index, value):
    def change(matrix):
        getattr(matrix, array)[index] = value
    return change


BAD = {
    "column out of range": damaged(set_index("indices", 0, 2)),
    "column far out of range": damaged(set_index("indices", 0, 2**31 - 1)),
    "negative column": damaged(set_index("indices", 0, -1)),
    "rows out of order": damaged(set_index("indptr", 1, 4)),
    "end out of range": damaged(set_index("indptr", -1, 10**6)),
    "negative start": damaged(set_index("indptr", 0, -1)),
    "too little data": damaged(lambda matrix: setattr(matrix, "data", matrix.data[:1])),
    "nan": damaged(set_index("data", 0, np.nan)),
    "infinity": damaged(set_index("data", 0, np.inf)),
    "a sum that overflows": sparse.csr_array(
        ([1e308, 1e308], [0, 0], [0, 2, 2, 2]), shape=(3, 2)),
    "no features": sparse.csr_array((3, 0)),
    "too few rows": sparse.csr_array((2, 2)),
    "complex": sparse.csr_array(np.ones((3, 2), dtype=complex)),
    "bool": sparse.csr_array(np.ones((3, 2), dtype=bool)),
    "too wide": sparse.csr_array((3, 2**31)),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_weights(case):
    class Tampered:
        def __reduce__(self):
            return Tree, arguments

    arguments = (BAD[case], np.zeros(3), [~0, ~1, ~2], [1, 2, ~3], np.zeros((4, 1)))
    with pytest.raises((ValueError, TypeError), match="weights"):
        Tree(*arguments)
    tampered = pickle.dumps(Tampered())
    with pytest.raises((ValueError, TypeError), match="weights"):
        pickle.loads(tampered)


def test_failed_initialization_leaves_the_tree_as_it_was():
    tree = Tree(sparse.csr_array([[0.0, 1.0]]), [0.0], [~0], [~1], [[0.0], [1.0]])
    with pytest.raises(ValueError, match="children"):
        tree.__init__(sparse.csr_array((3, 9)), np.zeros(3), [0] * 3, [0] * 3, np.zeros((4, 1)))
    assert tree.apply([[0.0, 1.0]]).tolist() == [1]


@pytest.mark.parametrize("X", [[[np.nan, 0.0]], sparse.csr_array([[np.inf, 0.0]]), np.ones((1, 3))])
def test_bad_samples(X):
    tree = Tree(sparse.csr_array([[0.0, 1.0]]), [0.0], [~0], [~1], [[0.0], [1.0]])
    with pytest.raises(ValueError, match=r"\bX\b"):
        tree.apply(X)       # the column that is not finite has no weight


# --- memory -------------------------------------------------------------------------------------


def test_a_wide_tree_is_never_dense():
    m, p = 500, 100_000
    columns = np.random.default_rng(0).integers(p, size=m)
    nodes = np.arange(m)
    tracemalloc.start()
    weights = sparse.csr_array((np.ones(m), columns, np.arange(m + 1)), shape=(m, p))
    tree = Tree(weights, np.zeros(m), ~nodes, [*nodes[1:], ~m], np.arange(m + 1.0)[:, None])
    X = sparse.csr_array((np.ones(3), [columns[0], columns[1], columns[7]], range(4)), shape=(3, p))
    tree.scores(X), tree.predict(X), tree.decision_path(X), tree.copy()
    pickle.loads(pickle.dumps(tree))
    assert tree.apply(-X).tolist() == [0, 0, 0]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * 8 * p        # a few rows; dense weights would take 500


# --- everything else that takes trees -----------------------------------------------------------


@given(problem=problems(sparse_weights=TRUE), inference=st.sampled_from(["fast", "full"]))
def test_inference(problem, inference):
    tree, X, y, loss = problem
    dense = tree.densify()
    assert_array_equal(
        upper_bound(tree, X, y, loss=loss, inference=inference),
        upper_bound(dense, X, y, loss=loss, inference=inference))
    for search in (loss_augmented_inference, cost_diminished_inference):
        for a, b in zip(search(tree, X, y, loss=loss), search(dense, X, y, loss=loss), strict=True):
            assert_array_equal(*(m.toarray() if sparse.issparse(m) else m for m in (a, b)))
    for a, b in zip(surrogate_gradient(tree, X, y, loss=loss, inference=inference),
                    surrogate_gradient(dense, X, y, loss=loss, inference=inference), strict=True):
        assert_array_equal(a, b)
    if tree.n_outputs > 1:
        assert_array_equal(soft_predict_proba(tree, X, 2.0), soft_predict_proba(dense, X, 2.0))


@pytest.mark.parametrize("name", sorted(
    name for name, optimizer in OPTIMIZERS.items() if serves(optimizer(), LogLoss())))
def test_optimizers_take_sparse_trees(name):
    X, y = load_iris(return_X_y=True)
    start = ObliqueTreeClassifier(3, optimizer=None).fit(X, y).tree_
    fitted = [
        ObliqueTreeClassifier(init=init, optimizer=short(OPTIMIZERS[name]),
                              validation_fraction=0.3, random_state=0).fit(X, y)
        for init in (start, start.sparsify())]
    assert fitted[0].tree_ == fitted[1].tree_
    assert_array_equal(fitted[0].feature_importances_, fitted[1].feature_importances_)


def test_regrow_replaces_a_sparse_subtree():
    X = np.arange(100.0)[:, None]
    y = np.arange(100) // 25 % 2
    poor = Tree([[0.0]], [1.0], [~0], [~1], [[1.0, 0.0], [0.0, 1.0]])
    trees_ = [
        ObliqueTreeClassifier(
            2, init=init, optimizer=Regrow(), validation_fraction=0.3, random_state=0).fit(X, y)
        for init in (poor, poor.sparsify())]
    assert trees_[0].tree_ == trees_[1].tree_ != poor


def test_sparse_trees_stay_sparse_where_only_leaves_change():
    X, y = load_diabetes(return_X_y=True)
    start = ObliqueTreeRegressor(3, optimizer=None).fit(X, y).tree_.sparsify()
    for optimizer in (None, "shrink_leaves"):
        model = ObliqueTreeRegressor(init=start, optimizer=optimizer).fit(X, y)
        dense = ObliqueTreeRegressor(init=start.densify(), optimizer=optimizer).fit(X, y)
        assert model.tree_.is_sparse
        assert model.tree_ == dense.tree_
        assert_array_equal(model.predict(X), dense.predict(X))
        assert_array_equal(model.feature_importances_, dense.feature_importances_)


def test_plots():
    pytest.importorskip("matplotlib")
    from ngdt.plotting import plot_tree, plot_weights

    tree = Tree(sparse.csr_array([[0.0, 1.0, 0.0, -2.0]]), [0.0], [~0], [~1], [[0.0], [1.0]])
    image = plot_weights(tree, (2, 2))[0].get_images()[0].get_array()
    assert_array_equal(image, [[0.0, 1.0], [0.0, -2.0]])
    plot_tree(tree)
