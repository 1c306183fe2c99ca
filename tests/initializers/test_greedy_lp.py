"""GreedyLP: its linear program, the form of its data, its growth and its pruning."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from helpers import InterruptedSearch, dense, examples, make_problem, prunings
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt._core.greedy.splitter import Split
from ngdt._core.scaling import Scaling
from ngdt._methods.linear_programs.greedy_lp import LPSplitter
from ngdt._methods.linear_programs.linear_program import distinct, place_plane
from ngdt._util.stopped import Stopped
from ngdt.initializers import GreedyLP
from ngdt.losses import LogLoss
from ngdt.pruning._size import prune_to_size
from ngdt.testing.strategies import trees
from reference.gto import plane_cost

FORMS = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])


# --- the linear program ---------------------------------------------------------------------------


@st.composite
def priced_samples(draw):
    n, p = draw(st.integers(1, 8)), draw(st.integers(1, 3))
    whole = st.integers(-4, 4)
    X = np.array(draw(st.lists(
        st.lists(whole, min_size=p, max_size=p), min_size=n, max_size=n)), dtype=float)
    prices = st.lists(st.sampled_from([0.0, 0.25, 1.0, 3.0, 1e3]), min_size=n, max_size=n)
    return X, np.array(draw(prices)), np.array(draw(prices))


def least_cost(X, left, right):
    """The same program with a slack for either error of each sample."""
    n, p = X.shape
    rows = np.column_stack([X, -np.ones(n)])
    solved = linprog(
        np.concatenate([np.zeros(p + 1), left, right]),
        A_ub=np.block([[rows, -np.eye(n), np.zeros((n, n))],
                       [-rows, np.zeros((n, n)), -np.eye(n)]]),
        b_ub=-np.ones(2 * n), bounds=[(None, None)] * (p + 1) + [(0, None)] * (2 * n))
    return solved.fun


@FORMS
@examples(2)
@given(priced_samples())
def test_a_plane_costs_the_least(form, problem):
    X, left, right = problem
    plane = place_plane(form(X), left, right)
    if not (left.any() or right.any()):
        assert plane is None
        return
    least = least_cost(X, left, right)
    assert plane_cost(X, left, right, plane) == pytest.approx(least, rel=1e-6, abs=1e-6)


def test_prices_of_very_different_size():
    # What is expensive can be had for nothing, and what is cheap too.
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    left, right = np.array([1e9, 1e-2, 0.0, 0.0]), np.array([0.0, 0.0, 1e-2, 1e9])
    assert plane_cost(X, left, right, place_plane(X, left, right)) < 1e-5


@pytest.mark.parametrize("side", [0, 1])
def test_one_side_for_all_costs_nothing(side):
    X, prices = np.random.default_rng(0).normal(size=(9, 2)), np.ones(9)
    left, right = (prices, 0 * prices) if side == 0 else (0 * prices, prices)
    assert plane_cost(X, left, right, place_plane(X, left, right)) == pytest.approx(0)


# --- the form of the data -------------------------------------------------------------------------


@FORMS
def test_equal_rows_become_one(form):
    X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, -0.0], [1.0, 0.0], [5.0, 5.0]], dtype=np.float32)
    problem = make_problem(form(X), [0, 1, 0, 1, 1], sample_weight=[1.0, 2.0, 0.5, 4.0, 0.0])
    merged = distinct(problem)
    rows = dense(merged.X)
    found = {(*row, label): weight for row, label, weight in zip(
        rows.tolist(), merged.y[:, 0].tolist(), merged.sample_weight.tolist(), strict=True)}
    assert found == {(1.0, 0.0, 0.0): 1.5, (0.0, 2.0, 1.0): 2.0, (1.0, 0.0, 1.0): 4.0}
    assert merged.X.dtype == np.float32
    assert type(merged.X) is type(problem.X)


@FORMS
def test_the_order_of_rows_does_not_matter(form):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    one, other = (distinct(make_problem(form(data), label))
                  for data, label in ((X, y), (X[order], y[order])))
    np.testing.assert_array_equal(one.y, other.y)
    np.testing.assert_array_equal(one.sample_weight, other.sample_weight)
    assert abs(one.X - other.X).max() == 0


# --- growth ---------------------------------------------------------------------------------------


@FORMS
def test_the_root_is_the_robust_linear_program(form):
    random = np.random.default_rng(0)
    X, weight = random.normal(size=(60, 3)), random.choice([0.0, 1.0, 2.5], 60)
    y = (X @ [1.0, -1.0, 0.5] + 0.5 * random.normal(size=60) > 0.3).astype(int)
    problem = make_problem(form(X), y, sample_weight=weight, max_depth=1, standardize=False)
    tree = GreedyLP().initialize(problem)
    # The mean error of either class
    prices = [np.where(y == c, weight, 0.0) / weight[y == c].sum() for c in (0, 1)]
    assert plane_cost(X, *prices, np.append(tree.weights[0], tree.thresholds)) == pytest.approx(
        least_cost(X, *prices))


def test_grows_until_leaves_are_pure():
    X, y = load_breast_cancer(return_X_y=True)
    y = y ^ (np.random.default_rng(0).random(len(y)) < 0.1)
    tree = ObliqueTreeClassifier(None, init="greedy_lp", optimizer=None).fit(X, y)
    assert tree.score(X, y) == 1.0
    assert tree.tree_.n_leaves > 5


def test_a_node_that_no_plane_parts_is_split_along_an_axis():
    # A class in the middle of the other: the best plane of the linear program parts nothing.
    X = np.array([[-2.0], [-1.0], [0.0], [1.0], [2.0]])
    tree = ObliqueTreeClassifier(None, init="greedy_lp", optimizer=None).fit(X, [0, 0, 1, 0, 0])
    assert tree.score(X, [0, 0, 1, 0, 0]) == 1.0


def test_several_classes_are_parted_in_two_sets():
    X, y = load_wine(return_X_y=True)
    tree = ObliqueTreeClassifier(2, init="greedy_lp", optimizer=None).fit(X, y)
    assert tree.score(X, y) == 1.0


@pytest.mark.parametrize("threshold", [-0.5, 0.5, 1.5, 2.5, 3.5])
@pytest.mark.parametrize("seed", range(5))
def test_a_class_belongs_to_the_side_of_most_of_its_weight(threshold, seed):
    random = np.random.default_rng(seed)
    X, y = random.integers(0, 4, size=(20, 2)).astype(float), np.arange(20) % 3
    weight = random.integers(1, 4, 20).astype(float)
    splitter = LPSplitter(make_problem(X, y, sample_weight=weight))
    found = splitter._belongs_right(
        splitter.splitter.used_samples(), Split(0, threshold, 0.0))
    right, each = X[:, 0] > threshold, range(3)
    total = [weight[y == c].sum() for c in each]
    belongs = [2 * weight[right & (y == c)].sum() > total[c] for c in each]
    if len(set(belongs)) == 1:      # one side for all classes parts none
        belongs = [c == np.argmax(total) for c in each]
    np.testing.assert_array_equal(found, np.array(belongs)[y])


def test_numbers_are_refused_by_name():
    with pytest.raises(ValueError, match=r"GreedyLP.*is for classification only"):
        ObliqueTreeRegressor(init="greedy_lp", optimizer=None).fit([[0.0], [1.0]], [0.0, 1.0])


@pytest.mark.parametrize("limits", [{"min_samples_leaf": 5}, {"min_samples_split": 5}], ids=str)
def test_limits_count_equal_samples_each_as_one(limits):
    X, y = np.repeat([[0.0], [1.0]], 10, axis=0), np.repeat([0, 1], 10)
    assert GreedyLP().initialize(make_problem(X, y, **limits)).n_leaves == 2


# --- pruning --------------------------------------------------------------------------------------


@given(trees(n_internal=st.integers(0, 6)), st.integers(1, 8) | st.just(10**12), st.data())
def test_pruning_to_a_size_is_the_best_of_all(tree, n_leaves, data):
    # Errors of whole numbers, which add up from below as those of a node do.
    error = {~leaf: data.draw(st.integers(0, 3)) for leaf in range(tree.n_leaves)}
    for node in range(tree.n_internal - 1, -1, -1):
        error[node] = data.draw(st.integers(0, 3)) + sum(
            error[child] for child in (tree.children_left[node], tree.children_right[node]))
    least = min(
        (sum(error[child] for child in ends), len(ends))
        for ends in prunings(tree, 0 if tree.n_internal else ~0) if len(ends) <= n_leaves)
    marked = Tree(tree.weights, tree.thresholds, tree.children_left, tree.children_right,
                  np.arange(tree.n_leaves, dtype=float)[:, None])
    pruned = prune_to_size(
        marked, np.array([error[child] for child in (
            *range(tree.n_internal), *(~leaf for leaf in range(tree.n_leaves)))]), n_leaves)
    assert pruned.n_leaves == least[1]
    # The first leaf of each subtree says which end it stands for.
    ends = {}
    for candidate in prunings(tree, 0 if tree.n_internal else ~0):
        first = []
        for end in candidate:
            child = end
            while child >= 0:
                child = tree.children_left[child]
            first.append(~child)
        ends.setdefault(tuple(sorted(first)), []).append(sum(error[end] for end in candidate))
    assert least[0] in ends[tuple(sorted(pruned.values[:, 0].astype(int).tolist()))]


def test_a_pruned_tree_has_the_size_that_was_asked_for():
    random = np.random.default_rng(0)
    X = random.uniform(size=(100, 2))
    y = (np.sin(9 * X[:, 0]) > np.cos(7 * X[:, 1])).astype(int)
    whole = GreedyLP().initialize(make_problem(X, y))
    for n_leaves in (1, 2, 5):
        pruned = GreedyLP().initialize(make_problem(X, y, max_leaf_nodes=n_leaves))
        assert pruned.n_leaves == n_leaves < whole.n_leaves
        kept = {tuple(row) for row in pruned.weights.tolist()}
        assert kept <= {tuple(row) for row in whole.weights.tolist()}
        np.testing.assert_array_equal(
            pruned.values, LogLoss().fit_leaves(
                pruned.apply(X), y[:, None].astype(float), np.ones(100), n_leaves, 2))


@FORMS
def test_features_are_scaled_without_losing_their_form(form):
    X = np.array([[1.0, 0.0], [0.0, 4.0], [3.0, 0.0]])
    data = form(X)
    scaling = Scaling.fit(data, np.ones(3), True)
    scaled = scaling.transform(data)
    assert sparse.issparse(scaled) == sparse.issparse(data)
    np.testing.assert_allclose(dense(scaled), (X - scaling.center) / scaling.scale)


@pytest.mark.parametrize("max_leaf_nodes", [None, 2])
def test_ctrl_c_keeps_the_leaves_of_repeated_rows(max_leaf_nodes, monkeypatch):
    X = np.repeat(np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 4 + 1, axis=0)
    y = (X[:, 0] > 0) + 2 * (X[:, 1] > 0)
    problem = make_problem(X, y, max_depth=3, max_leaf_nodes=max_leaf_nodes)
    InterruptedSearch(monkeypatch, GreedyLP, 4)
    with pytest.raises(Stopped) as caught:
        GreedyLP().initialize(problem)
    tree = caught.value.tree
    assert tree.n_leaves == (max_leaf_nodes or 3)
    np.testing.assert_allclose(tree.values, problem.refit_leaves(tree).values)
