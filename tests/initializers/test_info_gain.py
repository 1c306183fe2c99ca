"""InfoGain against exhaustive search, and against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import datasets
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from helpers import InterruptedSearch, dense, examples, make_problem, nested
from ngdt import ObliqueTreeRegressor
from ngdt._core.greedy.splitter import Splitter
from ngdt._core.tree import Tree
from ngdt._methods.greedy.info_gain import InfoGain
from ngdt._util.stopped import Stopped
from reference.splits import entropy, grow, midpoint, variance

IMPURITY = {"log_loss": entropy, "squared_error": variance}


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
    if loss == "log_loss":
        y = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    else:
        q = draw(st.integers(1, 2))
        y = np.array(draw(st.lists(
            st.lists(st.integers(-4, 4), min_size=q, max_size=q), min_size=n, max_size=n)))
        y = draw(st.sampled_from([1.0, 1e-200, 1e150])) * y
    weight = draw(st.lists(
        st.one_of(st.integers(0, 3), st.sampled_from([0.25, 0.7, 1e-3])),
        min_size=n, max_size=n).filter(any))
    return make_problem(
        X, y, loss, weight, max_depth=draw(st.sampled_from([None, 0, 1, 2])),
        min_samples_leaf=draw(st.sampled_from([1, 2, 3])))


def check_exhaustive(problem):
    X = dense(problem.X)
    y = problem.y
    if problem.loss.name == "squared_error":
        # Squares of these scales leave the range of doubles, which the reference cannot avoid.
        y = y / (np.abs(y).max() or 1.0)
    expected = grow(
        X, y, problem.sample_weight, IMPURITY[problem.loss.name], problem.limits.max_depth,
        problem.limits.min_samples_leaf)
    tree = InfoGain().initialize(problem)
    assert nested(tree, X, problem.sample_weight) == expected


@examples(5)
@given(problems("log_loss"))
def test_is_exhaustive_for_entropy(problem):
    check_exhaustive(problem)


@examples(5)
@given(problems("squared_error"))
def test_is_exhaustive_for_variance(problem):
    check_exhaustive(problem)


@pytest.mark.parametrize("form", [np.float32, np.float64, sparse.csr_matrix])
def test_splits_where_nothing_is_gained(form):
    # Both sides have the classes one to one, in weights that make the gain round below zero.
    X = form(np.array([[0.0], [0.0], [1.0], [1.0], [1.0], [1.0]]))
    y, weight = np.array([0, 1, 0, 0, 1, 1]), np.array([1.0, 1.0, 0.25, 1.0, 1.0, 0.25])
    tree = InfoGain().initialize(make_problem(X, y, sample_weight=weight))
    assert nested(tree, X, weight) == (0, 0.5, (0, 1), (2, 3, 4, 5))


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 2.0, 1e160, 1e300])
def test_weights_of_any_size_for_regression(scale):
    X, y = datasets.load_diabetes(return_X_y=True)
    tree, scaled = (
        ObliqueTreeRegressor(4, init="info_gain", optimizer=None).fit(X, y, np.full(len(y), each))
        for each in (1.0, scale))
    np.testing.assert_array_equal(scaled.tree_.weights, tree.tree_.weights)
    np.testing.assert_array_equal(scaled.tree_.thresholds, tree.tree_.thresholds)
    np.testing.assert_allclose(scaled.predict(X), tree.predict(X))
    np.testing.assert_allclose(scaled.feature_importances_, tree.feature_importances_)


def test_unsorted_csr_is_the_same_matrix():
    X = sparse.csr_matrix(datasets.load_wine().data)
    shuffled = X.copy()
    for start, end in zip(X.indptr, X.indptr[1:], strict=False):
        shuffled.indices[start:end] = X.indices[start:end][::-1]
        shuffled.data[start:end] = X.data[start:end][::-1]
    shuffled.has_sorted_indices = shuffled.has_canonical_format = False
    before = shuffled.indices.copy()
    y = datasets.load_wine().target
    one, other = (InfoGain().initialize(make_problem(form, y)) for form in (shuffled, X))
    assert one == other
    np.testing.assert_array_equal(shuffled.indices, before)


def test_columns_changed_behind_the_back_of_scipy():
    # The matrix still says that its columns ascend.
    X = sparse.csr_matrix(np.arange(1.0, 7.0).reshape(3, 2))
    assert X.has_canonical_format
    X.indices[:] = [1, 0, 0, 1, 0, 0]
    assert X.has_canonical_format
    same = np.array([[2.0, 1.0], [3.0, 4.0], [11.0, 0.0]])
    y = np.array([0, 0, 1])
    assert InfoGain().initialize(make_problem(X, y)) == InfoGain().initialize(make_problem(same, y))


@pytest.mark.parametrize("rows", [[0, 2], [-1], [3]])
def test_splitter_takes_samples_with_weight_only(rows):
    X, y, weight = np.arange(3.0)[:, None], np.array([[0.0], [1.0], [1.0]]), np.array([1.0, 1.0, 0])
    splitter, rows = Splitter(X, y, weight, 2, "entropy"), np.array(rows, dtype=np.int32)
    with pytest.raises(ValueError, match="is not a sample with weight"):
        splitter.split(rows)
    with pytest.raises(ValueError, match="is not a sample with weight"):
        splitter.best_threshold(rows, np.arange(2.0)[:len(rows)])
    with pytest.raises(ValueError, match="X has 3 samples, y 3, sample_weight 2"):
        Splitter(X, y, weight[:2], 2, "entropy")


# --- against scikit-learn -------------------------------------------------------------------------


def continuous_data():
    X, y = datasets.make_classification(
        3000, 8, n_informative=5, n_classes=3, flip_y=0.2, random_state=0)
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
@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
def test_same_tree_as_scikit_learn(controls, weighted, loss):
    X, y = continuous_data()
    rng = np.random.default_rng(1)
    if loss == "squared_error":
        y = X[:, 0] * X[:, 1] + rng.normal(size=len(y))
        reference = DecisionTreeRegressor(random_state=0)
    else:
        reference = DecisionTreeClassifier(criterion="entropy", random_state=0)
    weight = rng.integers(0, 3, len(y)) if weighted else np.ones(len(y), dtype=int)
    controls = {"min_samples_leaf": 30, **controls}
    reference.set_params(max_depth=3, **controls)
    if controls.get("max_leaf_nodes") == 1:
        expected = Tree(np.empty((0, X.shape[1])), [], [], [], [[0.0]])
    else:
        expected = Tree.from_sklearn(reference.fit(X, y, sample_weight=weight))
    tree = InfoGain().initialize(make_problem(X, y, loss, weight, max_depth=3, **controls))
    assert nested(tree, X, weight) == nested(expected, X, weight)
    if loss == "squared_error" and tree.n_internal:
        np.testing.assert_allclose(tree.predict(X), expected.predict(X), atol=1e-12)


@pytest.mark.parametrize("name", ["digits", "breast_cancer", "wine", "iris", "diabetes"])
@pytest.mark.parametrize("max_depth", [3, 6])
def test_fits_as_well_as_scikit_learn(name, max_depth):
    # Which of several equally good splits is taken below the top is chance: the impurity that is
    # left may differ a little in either direction.
    data = getattr(datasets, f"load_{name}")()
    X, y = data.data.astype(np.float32), data.target
    if name == "diabetes":
        loss, impurity = "squared_error", variance
        reference = DecisionTreeRegressor(max_depth=max_depth, random_state=0)
    else:
        loss, impurity = "log_loss", entropy
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


def test_targets_that_differ_by_rounding_are_equal():
    X = np.arange(3.0).reshape(3, 1)
    for y, n_leaves in (([0.3, 0.1 + 0.2, 0.3], 1), ([1e9, 1e9 + 1e-5, 1e9], 3)):
        assert InfoGain().initialize(make_problem(X, y, "squared_error")).n_leaves == n_leaves


def test_leaves_have_the_values_of_the_loss():
    X, y = datasets.load_iris(return_X_y=True)
    problem = make_problem(X, y, max_depth=3)
    tree = InfoGain().initialize(problem)
    np.testing.assert_array_equal(tree.values, problem.loss.fit_leaves(
        tree.apply(X), problem.y, problem.sample_weight, tree.n_leaves, 3))


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


@pytest.mark.parametrize("n_searches", [2, 4])
def test_ctrl_c_keeps_splits_of_the_features_of_wide_data(n_searches, monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 5000))
    y = (X[:, 4990] > 0) + 2 * (X[:, 4001] > 0)
    problem = make_problem(X, y, max_depth=3)
    whole = InfoGain().initialize(problem)
    InterruptedSearch(monkeypatch, InfoGain, n_searches)
    with pytest.raises(Stopped) as caught:
        InfoGain().initialize(problem)
    stopped = caught.value.tree
    assert stopped.n_features == 5000
    assert stopped.n_internal == n_searches // 2
    splits = {tuple(each) for each in np.argwhere(whole.weights)[:, 1:]}
    assert {tuple(each) for each in np.argwhere(stopped.weights)[:, 1:]} <= splits
    refitted = problem.refit_leaves(stopped)
    np.testing.assert_array_equal(stopped.values, refitted.values)
