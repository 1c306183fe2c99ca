"""The flat tree: structure, decisions, conversions, and errors."""

import copy
import gc
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from ngdt import ObliqueTreeClassifier, Tree
from ngdt._core.samples import Samples
from ngdt._core.structure import first_of_sums, node_means, parents, sums_below
from ngdt._core.tree import check_is_tree
from ngdt.path import prediction_cost
from ngdt.testing.strategies import problems, trees
from reference import inference as naive

ARRAYS = ("weights", "thresholds", "children_left", "children_right", "values")


def arrays_of(tree):
    return {name: getattr(tree, name).copy() for name in ARRAYS}


def chain(n_internal, n_features=2):
    """Node i has leaf i on its left and node i + 1 on its right."""
    nodes = np.arange(n_internal)
    right = np.where(nodes + 1 < n_internal, nodes + 1, ~n_internal)
    values = np.arange(n_internal + 1.0)[:, None]
    return Tree(np.ones((n_internal, n_features)), nodes, ~nodes, right, values)


# --- structure ----------------------------------------------------------------------------------


@given(tree=trees())
def test_sizes(tree):
    directions = naive.directions(tree)
    assert tree.weights.shape == (tree.n_internal, tree.n_features)
    assert tree.values.shape == (tree.n_leaves, tree.n_outputs)
    assert tree.n_leaves == tree.n_internal + 1
    assert tree.max_depth == np.count_nonzero(directions, axis=1).max()
    assert repr(tree) == (
        f"Tree(n_internal={tree.n_internal}, n_leaves={tree.n_leaves}, "
        f"n_features={tree.n_features}, n_outputs={tree.n_outputs}, max_depth={tree.max_depth})"
    )


@given(problem=problems(), data=st.data())
def test_apply_samples(problem, data):
    tree, X = problem.tree, problem.X
    samples = data.draw(st.lists(st.integers(0, X.shape[0] - 1), max_size=9))
    samples = np.array(samples, dtype=np.int32)
    start = np.array(data.draw(st.lists(
        st.integers(-tree.n_leaves, tree.n_internal - 1),
        min_size=len(samples), max_size=len(samples))), dtype=np.int32)
    scores = tree.scores(X)
    assert_array_equal(tree.apply_samples(Samples(X)), tree.apply(X))
    assert_array_equal(tree.apply_samples(Samples(X), samples), tree.apply(X)[samples])
    below = []
    for sample, node in zip(samples, start, strict=True):
        while node >= 0:
            children = tree.children_right if scores[sample, node] > 0 else tree.children_left
            node = children[node]
        below.append(~node)
    assert_array_equal(tree.apply_samples(Samples(X), samples, start), below)
    assert_array_equal(tree.leaf_predictions(tree.apply(X)), tree.predict(X))


@pytest.mark.parametrize(("samples", "start", "message"), [
    ([-1], None, "samples must lie in 0..2, got values from -1 to -1"),
    ([0, 3], None, "samples must lie in 0..2"),
    ([0], [1], "start must lie in -2..0"),
    ([0], [-3], "start must lie in -2..0"),
    ([0, 1], [0], "start has 1 entries for 2 samples"),
])
def test_apply_samples_checks_indices(samples, start, message):
    tree, data = Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [1.0]]), Samples(np.zeros((3, 1)))
    with pytest.raises(ValueError, match=message):
        tree.apply_samples(
            data, np.array(samples, dtype=np.int32),
            None if start is None else np.array(start, dtype=np.int32))
    with pytest.raises(ValueError, match="X has 2 features, but the tree was built for 1"):
        tree.apply_samples(Samples(np.zeros((3, 2))))


def test_path_of_one_sample_costs_that_path():
    # All paths of this tree have 12.5 million nodes.
    tree = chain(5000, n_features=1)
    tracemalloc.start()
    try:
        path = tree.decision_path([[2.5]])
        path_length, n_multiplications = prediction_cost(tree, [[2.5], [99.5]])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert path.indices.tolist() == [0, 1, 2, 3]
    assert (path_length.min, path_length.max) == (4, 101)
    assert n_multiplications == path_length
    assert peak < 5e6


def test_ancestors_of_a_chain():
    m = 1000
    ancestors = chain(m).ancestors().toarray()
    assert_array_equal(ancestors[:m], np.tri(m) - 2 * np.eye(m))
    assert_array_equal(ancestors[m], np.ones(m))


@given(tree=trees())
def test_ancestors(tree):
    ancestors = tree.ancestors()
    assert_array_equal(ancestors.toarray(), naive.directions(tree))
    # from the root down: ids grow along a path
    for leaf in range(tree.n_leaves):
        path = ancestors.indices[ancestors.indptr[leaf] : ancestors.indptr[leaf + 1]]
        assert (np.diff(path) > 0).all()


@given(tree=trees())
def test_arrays_are_typed_and_read_only(tree):
    for name in ARRAYS:
        array = getattr(tree, name)
        assert array.dtype == (np.int32 if name.startswith("children") else np.float64)
        assert array.flags.c_contiguous
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
        with pytest.raises(AttributeError):
            setattr(tree, name, array)


def test_arguments_are_copied():
    arrays = arrays_of(chain(2))
    tree = Tree(**arrays)
    for array in arrays.values():
        array[...] = 7
    assert tree == chain(2)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.float16, np.float32, ">f8"])
def test_numbers_of_any_type_are_converted(dtype):
    tree = chain(2)
    arrays = arrays_of(tree)
    for name in ("weights", "thresholds", "values"):
        arrays[name] = arrays[name].astype(dtype)
    assert Tree(**arrays) == tree


def test_lists_and_fortran_order():
    tree = chain(3)
    assert Tree(**{name: array.tolist() for name, array in arrays_of(tree).items()}) == tree
    assert Tree(**{name: np.asfortranarray(a) for name, a in arrays_of(tree).items()}) == tree


# --- decisions ----------------------------------------------------------------------------------


@given(problem=problems())
def test_decisions(problem):
    tree, X = problem.tree, problem.X
    scores = naive.scores(tree, X)
    visited = np.zeros(scores.shape, dtype=bool)
    leaf = np.empty(len(scores), dtype=int)
    for i, code in enumerate(naive.decisions(scores)):
        path, leaf[i] = naive.path(tree, code)
        visited[i, path] = True
    assert_array_equal(tree.scores(X), scores)
    assert_array_equal(tree.apply(X), leaf)
    assert_array_equal(tree.predict(X), tree.values[leaf])
    paths = tree.decision_path(X)
    assert isinstance(paths, sparse.csr_matrix)
    assert paths.has_canonical_format
    assert paths.dtype == bool
    assert_array_equal(paths.toarray(), visited)
    event(f"single leaf: {tree.n_internal == 0}")


@pytest.mark.parametrize("p", [1, 3, 4, 7, 8, 15, 16, 17, 31, 33, 64, 100, 357])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_of_any_width(p, dtype):
    rng = np.random.default_rng(p)
    tree = Tree(rng.normal(size=(2, p)), [0.1, -0.2], [1, ~0], [~1, ~2], np.zeros((3, 1)))
    X = rng.normal(size=(5, p)).astype(dtype)
    # Any order of summation of p products in double precision is within p units of rounding.
    magnitude = np.abs(X.astype(float)) @ np.abs(tree.weights.T) + np.abs(tree.thresholds)
    slack = (p + 1) * np.finfo(float).eps * magnitude
    for form in (X, sparse.csr_array(X)):
        assert (np.abs(tree.scores(form) - naive.scores(tree, X)) <= slack).all()


def repeated(X):
    """CSR with each entry in two parts, whose columns descend."""
    p = X.shape[1]
    columns = np.tile(np.repeat(np.arange(p)[::-1], 2), len(X))
    return sparse.csr_matrix(
        (np.repeat(X[:, ::-1].ravel() / 2, 2), columns, np.arange(0, X.size * 2 + 1, 2 * p)),
        shape=X.shape)


@given(problem=problems(sparse=st.just(False), elements=st.floats(-1e3, 1e3)))
def test_repeated_entries_are_their_sum(problem):
    tree, X = problem.tree, np.asarray(problem.X)
    form = repeated(X)
    before = [array.copy() for array in (form.data, form.indices, form.indptr)]
    same = sparse.csr_matrix(2 * (X / 2))
    for stored in (tree.densify(), tree.sparsify()):
        assert_array_equal(stored.scores(form), stored.scores(same))
        assert_array_equal(stored.apply_samples(Samples(form)), stored.apply(same))
    for array, old in zip((form.data, form.indices, form.indptr), before, strict=True):
        assert_array_equal(array, old)


@pytest.mark.parametrize("optimizer", [None, "ssgd", "tao", "annealed"])
def test_fit_on_repeated_entries(optimizer):
    X, y = load_iris(return_X_y=True)
    # Halves of whole numbers have sums without rounding.
    X = np.rint(10 * X)
    parameters = dict(optimizer=optimizer, validation_fraction=None, random_state=0)
    fits = [ObliqueTreeClassifier(3, **parameters).fit(form, y)
            for form in (sparse.csr_matrix(X), repeated(X))]
    assert fits[0].tree_ == fits[1].tree_
    assert_array_equal(fits[0].predict(repeated(X), check_input=False), fits[0].predict(X))


def test_sum_of_repeated_entries_must_be_finite():
    X = sparse.csr_array(([1e308, 1e308], [0, 0], [0, 2]), shape=(1, 2))
    for use in (chain(1).apply, Samples):
        with pytest.raises(ValueError, match="X must be finite"):
            use(X)


@given(problem=problems(elements=st.floats(-1e3, 1e3)))
def test_every_way_to_score_takes_the_same_decisions(problem):
    tree, X = problem.tree, problem.X
    leaf = naive.leaves(tree, naive.decisions(tree.scores(X)))
    assert_array_equal(tree.apply(X), leaf)
    for i in range(len(leaf)):
        assert_array_equal(tree.apply(X[[i]]), leaf[[i]])


def test_score_of_zero_goes_left():
    tree = Tree([[1.0]], [0.5], [~0], [~1], [[0.0], [1.0]])
    above = np.nextafter(0.5, 1.0)
    assert_array_equal(tree.apply([[0.5], [above], [-1.0]]), [0, 1, 0])


def test_deep_chain():
    m = 3000
    tree = chain(m, n_features=1)
    assert tree.max_depth == m
    X = np.arange(0.0, m + 1, 100)[:, None]
    assert_array_equal(tree.apply(X), X[:, 0])
    assert_array_equal(tree.decision_path(X).sum(axis=1).ravel(), [np.minimum(X[:, 0] + 1, m)])
    assert pickle.loads(pickle.dumps(tree)) == tree


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_forms_of_one_matrix(dtype):
    rng = np.random.default_rng(0)
    dense = (rng.integers(-2, 3, size=(50, 4)) * rng.integers(2, size=(50, 4))).astype(dtype)
    tree = Tree(
        rng.integers(-3, 4, size=(3, 4)),
        rng.integers(-3, 4, size=3),
        [1, ~0, ~2],
        [2, ~1, ~3],
        np.zeros((4, 1)),
    )
    expected = naive.scores(tree, dense)
    wide = np.zeros((100, 8), dtype=dtype)
    wide[::2, ::2] = dense
    shuffled = sparse.csr_array(dense)
    for start, end in zip(shuffled.indptr, shuffled.indptr[1:], strict=False):
        order = np.arange(start, end)[::-1]
        shuffled.indices[start:end] = shuffled.indices[order]
        shuffled.data[start:end] = shuffled.data[order]
    shuffled.has_sorted_indices = False
    long = sparse.csr_array(dense)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    explicit_zeros = sparse.csr_array((dense.ravel(), np.tile(range(4), 50), range(0, 201, 4)))
    halves = sparse.csr_array(
        (np.repeat(dense.ravel() / 2, 2), np.tile(np.repeat(range(4), 2), 50), range(0, 401, 8))
    )
    forms = {
        "dense": dense,
        "Fortran order": np.asfortranarray(dense),
        "strided": wide[::2, ::2],
        "list": dense.tolist(),
        "other byte order": dense.astype(dtype().dtype.newbyteorder()),
        "integers": dense.astype(int),
        "csr_matrix": sparse.csr_matrix(dense),
        "csc_array": sparse.csc_array(dense),
        "coo_matrix": sparse.coo_matrix(dense),
        "unsorted columns": shuffled,
        "64-bit columns": long,
        "stored zeros": explicit_zeros,
        "repeated columns": halves,
    }
    for name, X in forms.items():
        assert_array_equal(tree.scores(X), expected, err_msg=name)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_data_are_not_copied(dtype, form):
    X = form(np.ones((1000, 200), dtype=dtype))
    size = X.data.nbytes
    tree = Tree(np.ones((1, 200)), [0.0], [~0], [~1], [[0.0], [1.0]])
    tree.apply(X[:10])
    gc.collect()
    tracemalloc.start()
    tree.apply(X)
    tree.decision_path(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # Masks of one byte per value may come and go; a second array of numbers may not.
    assert peak < size / 2


def test_read_only_samples(tmp_path):
    X = np.memmap(tmp_path / "X", dtype=np.float32, mode="w+", shape=(3, 2))
    X[:] = [[0, 0], [1, 0], [2, 0]]
    X = np.memmap(tmp_path / "X", dtype=np.float32, mode="r", shape=(3, 2))
    assert_array_equal(chain(1).apply(X), [0, 1, 1])


# --- equality, copies, pickles ------------------------------------------------------------------


@given(tree=trees())
def test_copies_are_equal_and_separate(tree):
    for other in (
        tree.copy(),
        copy.copy(tree),
        copy.deepcopy(tree),
        *(pickle.loads(pickle.dumps(tree, protocol)) for protocol in range(2, 6)),
    ):
        assert other == tree
        assert (other.n_internal, other.max_depth) == (tree.n_internal, tree.max_depth)
        for name in ARRAYS:
            a, b = getattr(tree, name), getattr(other, name)
            assert a.dtype == b.dtype
            assert not np.shares_memory(a, b)
            assert not b.flags.writeable


@pytest.mark.parametrize("name", ARRAYS)
def test_unequal_trees(name):
    arrays = arrays_of(chain(2))
    if name.startswith("children"):
        arrays["children_left"][:] = [~1, ~0]
    else:
        arrays[name].flat[0] += 1
    assert Tree(**arrays) != chain(2)


def test_equality_with_other_things():
    assert chain(1) != chain(2)
    assert chain(1) != chain(1, n_features=3)
    assert (chain(1) == "tree") is False
    with pytest.raises(TypeError, match="hash"):
        hash(chain(1))


# --- scikit-learn's trees -----------------------------------------------------------------------

SKLEARN_TREES = [
    DecisionTreeClassifier(random_state=0),
    DecisionTreeClassifier(max_depth=3, criterion="entropy", random_state=0),
    DecisionTreeClassifier(max_leaf_nodes=6, random_state=0),
    DecisionTreeClassifier(min_samples_split=1000),
    ExtraTreeClassifier(max_depth=4, random_state=0),
    DecisionTreeRegressor(max_depth=4, random_state=0),
    ExtraTreeRegressor(max_depth=4, random_state=0),
]


@pytest.mark.parametrize("estimator", SKLEARN_TREES, ids=str)
def test_from_sklearn(estimator):
    classifies = hasattr(estimator, "predict_proba")
    X, y = (load_iris if classifies else load_diabetes)(return_X_y=True)
    X = X.astype(np.float32)  # scikit-learn decides in float32
    tree = Tree.from_sklearn(estimator.fit(X, y))
    assert tree.n_leaves == estimator.get_n_leaves()
    assert tree.max_depth == estimator.get_depth()
    assert tree.n_features == X.shape[1]
    values = tree.predict(X)
    if classifies:
        p = np.exp(values)
        p /= p.sum(axis=1, keepdims=True)
        assert_allclose(p, estimator.predict_proba(X), atol=1e-5)
        assert_array_equal(values.argmax(axis=1), estimator.predict(X))
    else:
        assert_array_equal(values[:, 0], estimator.predict(X))
    # the same leaves, up to their numbers
    pairs = set(zip(tree.apply(X).tolist(), estimator.apply(X).tolist(), strict=True))
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def test_from_sklearn_with_several_targets():
    X, y = load_diabetes(return_X_y=True)
    X, y = X.astype(np.float32), np.c_[y, -y, X[:, 0]]
    estimator = DecisionTreeRegressor(max_depth=5, random_state=0).fit(X, y)
    assert_array_equal(Tree.from_sklearn(estimator).predict(X), estimator.predict(X))


def test_from_sklearn_refuses():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="estimator"):
        Tree.from_sklearn(LogisticRegression())
    with pytest.raises(NotFittedError):
        Tree.from_sklearn(DecisionTreeClassifier())
    with pytest.raises(ValueError, match="estimator"):
        Tree.from_sklearn(DecisionTreeClassifier().fit(X, np.c_[y, y]))
    gaps = np.where(y < 1, np.nan, 1.0)[:, None]
    stump = DecisionTreeClassifier(max_depth=1).fit(gaps, y)
    if stump.get_n_leaves() == 1:
        pytest.skip("needs scikit-learn 1.8")
    with pytest.raises(ValueError, match=r"whether a number is missing.*fit it without NaN"):
        Tree.from_sklearn(stump)


# --- what is refused ----------------------------------------------------------------------------


def changed(name, value):
    """Arguments of a chain of three nodes, one of them replaced."""
    return arrays_of(chain(3)) | {name: value}


BAD = {
    "node out of range": ("children_right", [1, 3, ~3]),
    "node far out of range": ("children_right", [1, 2**31 - 1, ~3]),
    "node beyond int32": ("children_right", [1, 2**40, ~3]),
    "leaf out of range": ("children_left", [~0, ~1, ~4]),
    "leaf far out of range": ("children_left", [~0, ~1, -(2**31)]),
    "leaf beyond int32": ("children_left", [~0, ~1, -(2**40)]),
    "its own child": ("children_right", [1, 1, ~3]),
    "cycle": ("children_right", [1, 2, 1]),
    "root as a child": ("children_right", [1, 2, 0]),
    "root as its own child": ("children_right", [0, 2, ~3]),
    "shared node": ("children_left", [~0, 2, ~2]),
    "shared leaf": ("children_left", [~0, ~0, ~2]),
    "shared leaf, both sides": ("children_left", [~0, ~1, ~3]),
    "too few children": ("children_left", [~0, ~1]),
    "too many children": ("children_right", [1, 2, ~3, ~4]),
    "2-d children": ("children_left", [[~0, ~1, ~2]]),
    "float children": ("children_left", [-1.0, -2.0, -3.0]),
    "no children": ("children_right", None),
    "strings as children": ("children_right", ["1", "2", "3"]),
    "bool children": ("children_left", [True, True, False]),
    "1-d weights": ("weights", np.ones(3)),
    "3-d weights": ("weights", np.ones((3, 2, 1))),
    "too few weights": ("weights", np.ones((2, 2))),
    "no features": ("weights", np.ones((3, 0))),
    "ragged weights": ("weights", [[1.0], [1.0, 2.0], [1.0]]),
    "nan weights": ("weights", np.full((3, 2), np.nan)),
    "infinite weights": ("weights", np.full((3, 2), np.inf)),
    "complex weights": ("weights", np.ones((3, 2), dtype=complex)),
    "sparse thresholds": ("thresholds", sparse.csr_array(np.ones((3, 1)))),
    "text as weights": ("weights", "weights"),
    "2-d thresholds": ("thresholds", np.ones((3, 1))),
    "too many thresholds": ("thresholds", np.ones(4)),
    "nan threshold": ("thresholds", [0.0, np.nan, 0.0]),
    "infinite threshold": ("thresholds", [0.0, -np.inf, 0.0]),
    "one leaf too few": ("values", np.ones((3, 1))),
    "one leaf too many": ("values", np.ones((5, 1))),
    "1-d values": ("values", np.ones(4)),
    "no outputs": ("values", np.ones((4, 0))),
    "nan values": ("values", [[0.0], [np.nan], [0.0], [0.0]]),
    "infinite values": ("values", [[0.0], [np.inf], [0.0], [0.0]]),
    "values of objects": ("values", [[None]] * 4),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arrays(case):
    name, value = BAD[case]
    with pytest.raises((ValueError, TypeError), match=name.split("_")[0]):
        Tree(**changed(name, value))


@given(trees(sparse_weights=st.booleans()), st.sets(st.sampled_from(ARRAYS[:2] + ARRAYS[-1:])))
def test_replace_changes_what_it_is_given(tree, names):
    arrays = {name: 2.0 * getattr(tree, name) + (name != "weights") for name in names}
    replaced = tree.replace(**arrays)
    assert replaced.is_sparse == tree.is_sparse
    for name in ARRAYS:
        array = arrays.get(name, getattr(tree, name))
        assert_array_equal(naive.dense(getattr(replaced, name)), naive.dense(array))
    with pytest.raises(ValueError, match="values must have one row per leaf"):
        tree.replace(values=np.zeros((tree.n_leaves + 1, 1)))


@given(trees(), st.data())
def test_sums_below(tree, data):
    shape = data.draw(st.sampled_from([(), (2,)]))
    at_leaf = np.array(data.draw(st.lists(
        st.integers(-9, 9), min_size=2 * tree.n_leaves, max_size=2 * tree.n_leaves)), dtype=float)
    at_leaf = at_leaf[:tree.n_leaves] if shape == () else at_leaf.reshape(-1, 2)
    is_below = tree.ancestors().toarray().T != 0
    assert_array_equal(
        sums_below(tree, at_leaf), np.concatenate([is_below @ at_leaf, at_leaf]))


@given(trees(), st.data())
def test_node_means(tree, data):
    is_below = tree.ancestors().toarray().T != 0
    weight = np.array(data.draw(st.lists(
        st.integers(0, 3), min_size=tree.n_leaves, max_size=tree.n_leaves)))
    # Their products with the weights would overflow.
    at_leaf = 1e307 * np.random.default_rng(0).uniform(-9, 9, size=(tree.n_leaves, 2))
    expected = [np.average(at_leaf[below] / 64, axis=0, weights=weight[below])
                if weight[below].any() else np.full(2, np.nan) for below in is_below]
    np.testing.assert_allclose(
        node_means(tree, at_leaf, weight) / 64, [*expected, *(at_leaf / 64)], atol=1e290)


@given(trees(n_internal=st.just(30)), st.integers(0, 99))
def test_first_of_sums(tree, seed):
    rng = np.random.default_rng(seed)
    sums = rng.integers(3, size=(12, 3)) / 2
    tree = tree.replace(weights=rng.choice(sums, size=30))
    parent = parents(tree)
    expected = np.arange(tree.n_internal)
    for node in np.flatnonzero(np.count_nonzero(tree.weights, axis=1) > 1):
        above = parent[node]
        while above >= 0:
            if np.array_equal(tree.weights[above], tree.weights[node]):
                expected[node] = above
            above = parent[above]
    assert_array_equal(first_of_sums(tree), expected)
    assert_array_equal(first_of_sums(tree.sparsify()), expected)


def test_children_before_parents():
    # A tree, but numbered from the leaves up
    with pytest.raises(ValueError, match="children_left"):
        Tree(np.ones((3, 1)), np.zeros(3), [2, ~0, 1], [~3, ~1, ~2], np.zeros((4, 1)))


def test_unreachable_cycle():
    # The root is a stump; nodes 1 and 2 are each other's child.
    with pytest.raises(ValueError, match="children"):
        Tree(np.ones((3, 1)), np.zeros(3), [~0, 2, 1], [~1, ~2, ~3], np.zeros((4, 1)))


@pytest.mark.parametrize("case", BAD)
def test_tampered_pickle(case):
    class Tampered:
        def __reduce__(self):
            return Tree, tuple(changed(*BAD[case]).values())

    damaged = pickle.dumps(Tampered())
    with pytest.raises((ValueError, TypeError), match=BAD[case][0].split("_")[0]):
        pickle.loads(damaged)


def test_pickle_damaged_in_place():
    tree = Tree([[1.0]], [0.0], [~0], [~1], [[12345.0], [1.0]])
    damaged = pickle.dumps(tree).replace(np.float64(12345.0).tobytes(), np.float64("nan").tobytes())
    with pytest.raises(ValueError, match="values"):
        pickle.loads(damaged)


def test_empty_shell_is_harmless():
    shell = Tree.__new__(Tree)
    with pytest.raises((ValueError, TypeError)):
        shell.apply([[1.0]])
    assert shell != chain(1)


@pytest.mark.parametrize("method", ["apply", "predict", "scores", "decision_path"])
@pytest.mark.parametrize(
    "X",
    [
        [[np.nan, 0.0]],
        [[np.inf, 0.0]],
        np.array([[np.nan, 0.0]]),      # of the type and order that kernels read
        np.array([[np.inf, 0.0]]),
        np.zeros((2, 3)),
        np.zeros(2),
        np.zeros((0, 2)),
        [["a", "b"]],
        None,
        sparse.csr_array([[0.0, np.nan]]),
        sparse.csr_array(np.ones((2, 3))),
    ],
    ids=str,
)
def test_bad_samples(method, X):
    with pytest.raises((ValueError, TypeError), match=r"\bX\b"):
        getattr(chain(3), method)(X)


def break_columns(X):
    X.indices[0] = 10**6


def break_negative_column(X):
    X.indices[0] = -1


def break_row_order(X):
    X.indptr[1] = 3


def break_row_end(X):
    X.indptr[-1] = 10**6


def break_stored_values(X):
    X.data = X.data[:1]


@pytest.mark.parametrize(
    "damage",
    [break_columns, break_negative_column, break_row_order, break_row_end, break_stored_values],
)
def test_damaged_sparse_samples(damage):
    X = sparse.csr_array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    damage(X)  # scipy does not look again
    with pytest.raises((ValueError, TypeError), match=r"\bX\b"):
        chain(3).apply(X)


def test_an_estimator_is_told_where_its_tree_is():
    estimator = ObliqueTreeClassifier(1, optimizer=None).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(TypeError, match=r"got ObliqueTreeClassifier: .* its tree_"):
        check_is_tree(estimator)


@pytest.mark.parametrize(("stop", "room", "shape"), [
    (4, 3, None), (3, 2, None), (-1, 3, None), (3, 3, (2, 1)), (3, 3, (3, 2))])
def test_routing_writes_only_where_there_is_room(stop, room, shape):
    tree = Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [1.0]], slopes=np.ones((2, 1, 1)))
    out = None if shape is None else np.empty(shape)
    with pytest.raises(ValueError, match="shape" if shape else "room for"):
        tree._route_finite(Samples(np.ones((3, 1))), 0, stop, np.empty(room, np.int32), out)
