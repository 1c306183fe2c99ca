"""InfoGain against exhaustive search, and against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_splits import best_split, entropy, grow, midpoint, variance
from scipy import sparse
from sklearn import datasets
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ngdt._greedy.builder import build, splitter_for
from ngdt._greedy.splitter import Split
from ngdt._tree import Tree
from ngdt.initializers._info_gain import InfoGain
from ngdt.losses import LOSSES
from ngdt.problem import Problem

IMPURITY = {"log": entropy, "squared": variance}


def make_problem(X, y, loss="log", weight=None, max_depth=None):
    loss = LOSSES[loss]()
    n_outputs = int(np.max(y)) + 1 if loss.is_classifier else np.reshape(y, (len(y), -1)).shape[1]
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
    return Problem(
        X, loss.encode(y, n_outputs), loss, n_outputs, sample_weight=weight, max_depth=max_depth)


def nested(tree, X, weight):
    """A Tree in the form of `naive_splits.grow`."""
    leaf = tree.apply(X)

    def node(i):
        if i < 0:
            return tuple(np.flatnonzero((leaf == ~i) & (weight > 0)).tolist())
        (feature,) = np.flatnonzero(tree.weights[i])
        return (feature, tree.thresholds[i],
                node(tree.children_left[i]), node(tree.children_right[i]))

    return node(0 if tree.n_internal else ~0)


@st.composite
def problems(draw, loss):
    """Small data with ties, constant columns, huge and tiny scales, weights, every matrix type."""
    n, p = draw(st.integers(1, 14)), draw(st.integers(1, 3))
    cells = st.one_of(st.integers(-2, 3), st.sampled_from([0.0, 0.1, 0.25, 7.5, 1e3, 1e6 + 0.5]))
    X = np.array(draw(st.lists(st.lists(cells, min_size=p, max_size=p), min_size=n, max_size=n)))
    scale = np.array(draw(st.lists(
        st.sampled_from([0.0, 1.0, -3.0, 1e-30, 1e30]), min_size=p, max_size=p)))
    X = (X * scale).astype(draw(st.sampled_from([np.float32, np.float64])))
    if draw(st.booleans()):
        X = sparse.csr_matrix(X)
    if loss == "log":
        y = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    else:
        q = draw(st.integers(1, 2))
        y = np.array(draw(st.lists(
            st.lists(st.integers(-4, 4), min_size=q, max_size=q), min_size=n, max_size=n)))
        y = draw(st.sampled_from([1.0, 1e-200, 1e150])) * y
    weight = draw(st.lists(
        st.one_of(st.integers(0, 3), st.sampled_from([0.25, 0.7, 1e-3])),
        min_size=n, max_size=n).filter(any))
    return make_problem(X, y, loss, weight, max_depth=draw(st.sampled_from([None, 0, 1, 2])))


def check_exhaustive(problem, min_leaf):
    X = problem.X.toarray() if sparse.issparse(problem.X) else problem.X
    y = problem.y
    if problem.loss.name == "squared":
        # Squares of these scales leave the range of doubles, which the reference cannot avoid.
        y = y / (np.abs(y).max() or 1.0)
    expected = grow(
        X, y, problem.sample_weight, IMPURITY[problem.loss.name], problem.max_depth,
        min_leaf if min_leaf > 1 else 0.0)
    tree = InfoGain(min_samples_leaf=min_leaf).initialize(problem)
    assert nested(tree, X, problem.sample_weight) == expected


@settings(max_examples=200)
@given(problems("log"), st.sampled_from([1, 2, 2.5]))
def test_is_exhaustive_for_entropy(problem, min_leaf):
    check_exhaustive(problem, min_leaf)


@settings(max_examples=200)
@given(problems("squared"), st.sampled_from([1, 2, 2.5]))
def test_is_exhaustive_for_variance(problem, min_leaf):
    check_exhaustive(problem, min_leaf)


@pytest.mark.parametrize("form", [np.float32, np.float64, sparse.csr_matrix])
def test_splits_where_nothing_is_gained(form):
    # Both sides have the classes one to one, in weights that make the gain round below zero.
    X = form(np.array([[0.0], [0.0], [1.0], [1.0], [1.0], [1.0]]))
    y, weight = np.array([0, 1, 0, 0, 1, 1]), np.array([1.0, 1.0, 0.25, 1.0, 1.0, 0.25])
    tree = InfoGain().initialize(make_problem(X, y, weight=weight))
    assert nested(tree, X, weight) == (0, 0.5, (0, 1), (2, 3, 4, 5))


def columns(n, rng):
    """One feature of each kind that the search treats in a way of its own."""
    normal = rng.normal(size=n)
    whole = rng.integers(0, 256, n)
    return {
        "continuous": normal,
        "bytes": whole * (rng.random(n) < 0.3),
        "standardised bytes": (whole - 33.3) / 77.7,
        "thousandths": np.round(normal, 3),
        "more steps than a grid has": rng.integers(0, 100_000, n),
        "three values": rng.integers(0, 3, n) * 1.5 - 1,
        "half zeros, half continuous": normal * (rng.random(n) < 0.5),
        "background inside the range": np.where(rng.random(n) < 0.6, 0.2, normal),
        "equal in the upper bits": 1e9 + 1e-4 * normal,
        "heavy tails": np.exp(40 * normal),
        "subnormal": whole * 5e-324,
        "the whole range": np.sign(normal) * 1.7e308 * rng.random(n),
        "two far values": np.where(normal > 0, 1.7e308, -1.7e308),
        "late odd value": np.where(np.arange(n) == n - 1, 0.5, 2 * rng.integers(0, 9, n)),
        "neighbouring numbers": 1 + np.spacing(1.0) * rng.integers(0, 5, n),
        "signed zeros": np.where(normal > 0, 0.0, -0.0) + (rng.random(n) < 0.3),
        "constant": np.full(n, 3.3),
    }


@pytest.mark.parametrize("n", [5, 23, 200])
@pytest.mark.parametrize("n_classes", [2, 11])
@pytest.mark.parametrize("form", ["float64", "float32", "csr", "fractional weights", "variance"])
def test_finds_the_best_split_of_every_kind_of_feature(n, n_classes, form):
    rng = np.random.default_rng(n)
    y = rng.integers(0, n_classes, n)
    weight = rng.choice([0.3, 1.0, 2.2], n) if form == "fractional weights" else np.ones(n)
    loss = "squared" if form == "variance" else "log"
    for name, column in columns(n, rng).items():
        X = column.astype(np.float64)[:, None]
        if form == "float32":
            X = np.clip(X, -3e38, 3e38).astype(np.float32)
        problem = make_problem(sparse.csr_matrix(X) if form == "csr" else X, y, loss, weight)
        splitter = splitter_for(problem)
        split = splitter.split(splitter.used_samples())
        expected = best_split(X, problem.y, weight, IMPURITY[loss])
        if expected is None:
            assert split is None, name
            continue
        assert split.gain == pytest.approx(expected[0], rel=1e-9), name
        assert (split.direction, split.threshold) == expected[1:], name


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("loss", ["log", "squared"])
def test_best_split_of_many_columns_is_the_best_of_each(kind, loss):
    rng = np.random.default_rng(0)
    n, p = 1000, 300    # more features, entries and grid points than fit into one block
    y = rng.integers(0, 5, n)
    X = np.zeros((n, p))
    X[:, ::3] = rng.normal(size=(n, 100)) * (rng.random((n, 100)) < 0.8)
    X[:, 1::3] = rng.integers(0, 3000, (n, 100)) * (rng.random((n, 100)) < 0.8)
    X[:, 2::3] = rng.integers(0, 3, (n, 100))
    X[:, 271] = X[:, 290] = (y < 2) + 3 * (rng.random(n) < 0.1)

    def best(X):
        X = sparse.csr_matrix(X) if kind == "csr" else np.ascontiguousarray(X)
        splitter = splitter_for(make_problem(X, y, loss))
        return splitter.split(splitter.used_samples())

    each = [best(X[:, [j]]) for j in range(p)]
    j = int(np.argmax([split.gain for split in each]))
    assert best(X) == Split(j, each[j].threshold, each[j].gain)
    assert j == 271
    # As the leading column, or as the last one
    assert best(X[:, 271:]).direction == 0
    assert best(np.delete(X[:, :272], np.s_[:10], axis=1)).direction == 261


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("loss", ["log", "squared"])
def test_weight_is_repetition(kind, loss):
    X, y = datasets.load_wine(return_X_y=True)
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, len(y))
    again = np.repeat(np.arange(len(y)), weight)
    init = InfoGain(min_samples_leaf=3, min_samples_split=9, min_impurity_decrease=1e-3,
                    max_leaf_nodes=9)
    tree = init.initialize(make_problem(kind(X), y, loss, weight))
    repeated = init.initialize(make_problem(kind(X[again]), y[again], loss))
    assert tree.n_leaves > 4
    np.testing.assert_allclose(tree.values, repeated.values, rtol=1e-12, atol=1e-12)
    assert tree == Tree(*(getattr(repeated, name) for name in (
        "weights", "thresholds", "children_left", "children_right")), tree.values)


def test_weights_have_no_unit():
    X, y = datasets.load_wine(return_X_y=True)
    tree = InfoGain().initialize(make_problem(X, y))
    for scale in (1e-6, 0.3, 1e6):
        scaled = InfoGain().initialize(make_problem(X, y, weight=np.full(len(y), scale)))
        np.testing.assert_array_equal(scaled.weights, tree.weights)
        np.testing.assert_array_equal(scaled.thresholds, tree.thresholds)


def test_unsorted_csr_is_the_same_matrix():
    X = sparse.csr_matrix(datasets.load_wine().data)
    shuffled = X.copy()
    for start, end in zip(X.indptr, X.indptr[1:], strict=False):
        shuffled.indices[start:end] = X.indices[start:end][::-1]
        shuffled.data[start:end] = X.data[start:end][::-1]
    shuffled.has_sorted_indices = shuffled.has_canonical_format = False
    before = shuffled.indices.copy()
    y = datasets.load_wine().target
    assert InfoGain().initialize(make_problem(shuffled, y)) == InfoGain().initialize(make_problem(X, y))
    np.testing.assert_array_equal(shuffled.indices, before)


# --- against scikit-learn -------------------------------------------------------------------------


def continuous_data(n_classes=3):
    X, y = datasets.make_classification(
        3000, 8, n_informative=5, n_classes=n_classes, flip_y=0.2, random_state=0)
    return X.astype(np.float32), y


# Leaves are large enough for no two splits to be equally good.
@pytest.mark.parametrize("controls", [
    {},
    {"min_samples_leaf": 150},
    {"min_samples_split": 700},
    {"min_impurity_decrease": 0.02},
    {"max_leaf_nodes": 6},
    {"max_leaf_nodes": 1},
    {"min_samples_split": 200, "max_leaf_nodes": 7, "min_impurity_decrease": 0.002},
], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["log", "squared"])
def test_same_tree_as_scikit_learn(controls, weighted, loss):
    X, y = continuous_data()
    rng = np.random.default_rng(1)
    if loss == "squared":
        y = X[:, 0] * X[:, 1] + rng.normal(size=len(y))
        reference = DecisionTreeRegressor(random_state=0)
    else:
        reference = DecisionTreeClassifier(criterion="entropy", random_state=0)
    weight = rng.integers(0, 3, len(y)) if weighted else np.ones(len(y), dtype=int)
    again = np.repeat(np.arange(len(y)), weight)
    controls = {"min_samples_leaf": 30, **controls}
    reference.set_params(max_depth=3, **controls)
    if controls.get("max_leaf_nodes") == 1:
        expected = Tree(np.empty((0, X.shape[1])), [], [], [], [[0.0]])
    else:
        expected = Tree.from_sklearn(reference.fit(X[again], y[again]))
    tree = InfoGain(**controls).initialize(make_problem(X, y, loss, weight, max_depth=3))
    assert nested(tree, X, weight) == nested(expected, X, weight)
    if loss == "squared" and tree.n_internal:
        np.testing.assert_allclose(tree.predict(X), expected.predict(X), atol=1e-12)


@pytest.mark.parametrize("name", ["digits", "breast_cancer", "wine", "iris", "diabetes"])
@pytest.mark.parametrize("max_depth", [3, 6])
def test_fits_as_well_as_scikit_learn(name, max_depth):
    # Which of several equally good splits is taken below the top is chance: the impurity that is
    # left may differ a little in either direction.
    data = getattr(datasets, f"load_{name}")()
    X, y = data.data.astype(np.float32), data.target
    if name == "diabetes":
        loss, impurity = "squared", variance
        reference = DecisionTreeRegressor(max_depth=max_depth, random_state=0)
    else:
        loss, impurity = "log", entropy
        reference = DecisionTreeClassifier(
            criterion="entropy", max_depth=max_depth, random_state=0)
    expected = reference.fit(X, y).apply(X)
    problem = make_problem(X, y, loss, max_depth=max_depth)
    leaf = InfoGain().initialize(problem).apply(X)

    def left_over(leaf):
        return sum(impurity(problem.y[leaf == i], problem.sample_weight[leaf == i])
                   for i in np.unique(leaf))

    whole = impurity(problem.y, problem.sample_weight)
    assert left_over(leaf) <= left_over(expected) + 0.01 * whole


# --- rules ----------------------------------------------------------------------------------------


def test_equal_splits_take_the_lowest_feature_then_the_lowest_threshold():
    x = np.array([0.0, 1.0, 2.0, 3.0])
    y = np.array([0, 1, 1, 0])
    X = np.column_stack([np.zeros(4), -x, x, x])
    tree = InfoGain().initialize(make_problem(X, y, max_depth=1))
    assert tree.weights.tolist() == [[0, 1, 0, 0]]
    assert tree.thresholds.tolist() == [-2.5]


def test_splits_that_gain_nothing_yet_are_made():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = np.array([0, 1, 1, 0])
    tree = InfoGain().initialize(make_problem(X, y))
    assert tree.n_leaves == 4
    np.testing.assert_array_equal(tree.predict(X).argmax(axis=1), y)


@pytest.mark.parametrize("loss", ["log", "squared"])
@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.zeros((1, 1)), [0]),
        (np.arange(4.0).reshape(4, 1), [1, 1, 1, 1]),
        (np.ones((4, 2)), [0, 1, 0, 1]),
    ],
    ids=["one row", "one class", "constant features"],
)
def test_nothing_to_split_is_one_leaf(X, y, loss):
    for matrix in (X, X.astype(np.float32), sparse.csr_matrix(X)):
        assert InfoGain().initialize(make_problem(matrix, y, loss)).n_leaves == 1


def test_targets_that_differ_by_rounding_are_equal():
    X = np.arange(3.0).reshape(3, 1)
    assert InfoGain().initialize(make_problem(X, [0.3, 0.1 + 0.2, 0.3], "squared")).n_leaves == 1
    assert InfoGain().initialize(make_problem(X, [1e9, 1e9 + 1e-5, 1e9], "squared")).n_leaves == 3


def test_rows_without_weight_do_not_exist():
    X = np.array([[0.0], [0.5], [1.0], [9e99]])
    problem = make_problem(X, [0, 1, 1, 0], weight=[1, 0, 1, 0])
    assert InfoGain().initialize(problem) == InfoGain().initialize(make_problem(X[[0, 2]], [0, 1]))


def test_leaves_have_the_values_of_the_loss():
    X, y = datasets.load_iris(return_X_y=True)
    problem = make_problem(X, y, max_depth=3)
    tree = InfoGain().initialize(problem)
    np.testing.assert_array_equal(tree.values, problem.loss.fit_leaves(
        tree.apply(X), problem.y, problem.sample_weight, tree.n_leaves, 3))


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("criterion", "gini"),
        ("min_samples_split", -1),
        ("min_samples_split", "2"),
        ("min_samples_leaf", -0.5),
        ("max_leaf_nodes", 0),
        ("max_leaf_nodes", 2.5),
        ("min_impurity_decrease", np.nan),
        ("min_impurity_decrease", -1.0),
    ],
)
def test_bad_parameters_are_named(parameter, value):
    problem = make_problem(np.arange(4.0).reshape(4, 1), [0, 1, 0, 1])
    with pytest.raises(ValueError, match=parameter):
        InfoGain(**{parameter: value}).initialize(problem)


@pytest.mark.parametrize(("loss", "criterion"), [("log", "variance"), ("squared", "entropy")])
def test_criterion_has_to_fit_the_loss(loss, criterion):
    problem = make_problem(np.arange(4.0).reshape(4, 1), [0, 1, 0, 1], loss)
    with pytest.raises(ValueError, match="criterion='" + criterion):
        InfoGain(criterion).initialize(problem)


# --- what other growers share ---------------------------------------------------------------------


class Diagonal:
    """Splits along one oblique direction."""

    def __init__(self, splitter, X):
        self.splitter, self.X, self.weight = splitter, X, splitter.weight
        self.direction = np.ones(X.shape[1]) / 2

    def split(self, rows):
        found = self.splitter.best_threshold(rows, self.X[rows] @ self.direction)
        return None if found is None else Split(self.direction, *found)

    def partition(self, rows, split):
        return self.splitter.partition(rows, split)


def assert_leaves_hold(growth, tree, X, n_rows):
    """The rows in the leaves of a growth are those that a tree sends there."""
    leaf = tree.apply(X)
    for number, rows in enumerate(growth.leaf_samples):
        assert (leaf[rows] == number).all()
    assert len(np.unique(np.concatenate(growth.leaf_samples))) == n_rows


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_builder_grows_oblique_trees(kind):
    rng = np.random.default_rng(0)
    X = rng.integers(-8, 9, (200, 3)) / 4
    y = (np.sin(X.sum(axis=1)) > rng.normal(size=200)).astype(int)
    problem = make_problem(kind(X), y)
    splitter = splitter_for(problem)
    growth = build(Diagonal(splitter, X), splitter.used_samples(), max_depth=3)
    tree = growth.to_tree(problem)
    assert tree.n_internal == 7
    assert (tree.weights == 0.5).all()
    assert_leaves_hold(growth, tree, X, len(y))
    expected = grow((X @ np.full(3, 0.5))[:, None], problem.y, problem.sample_weight, entropy, 3)
    projected = Tree(np.ones((7, 1)), *(getattr(tree, name) for name in (
        "thresholds", "children_left", "children_right", "values")))
    assert nested(projected, (X @ np.full(3, 0.5))[:, None], problem.sample_weight) == expected


@pytest.mark.parametrize("loss", ["log", "squared"])
def test_subsets_grow_as_if_they_were_alone(loss):
    X, y = datasets.load_wine(return_X_y=True)
    splitter = splitter_for(make_problem(X, y, loss))
    for part in (np.arange(0, 178, 2), np.arange(50, 120), np.array([3, 177])):
        growth = build(splitter, part.astype(np.int32), max_depth=3)
        alone = InfoGain().initialize(make_problem(X[part], y[part], loss, max_depth=3))
        np.testing.assert_array_equal(growth.weights(X.shape[1]), alone.weights)
        np.testing.assert_array_equal(growth.thresholds(), alone.thresholds)
        assert_leaves_hold(growth, alone, X, len(part))


def test_rows_that_cannot_be_grown_on_are_refused():
    splitter = splitter_for(make_problem(np.eye(4), [0, 1, 0, 1], weight=[1, 1, 1, 0]))
    with pytest.raises(ValueError, match="rows must have positive weights"):
        build(splitter, np.arange(4, dtype=np.int32))
    repeated = np.zeros(4, dtype=np.int32)
    for call in (lambda: splitter.split(repeated),
                 lambda: splitter.best_threshold(repeated, np.zeros(4)),
                 lambda: splitter.partition(repeated, Split(0, 0.5, 1.0))):
        with pytest.raises(ValueError, match="rows has 4 entries, but only 3"):
            call()
    with pytest.raises(ValueError, match="z has 2 values for 3 rows"):
        splitter.best_threshold(np.arange(3, dtype=np.int32), np.zeros(2))


@given(st.floats(allow_nan=False, allow_infinity=False),
       st.floats(allow_nan=False, allow_infinity=False))
def test_thresholds_separate_any_two_numbers(a, b):
    X = np.array([[a], [b]])
    tree = InfoGain().initialize(make_problem(X, [0, 1]))
    if a == b:
        assert tree.n_leaves == 1
    else:
        assert tree.thresholds == [midpoint(min(a, b), max(a, b))]
        assert tree.apply(X).tolist() == ([0, 1] if a < b else [1, 0])
