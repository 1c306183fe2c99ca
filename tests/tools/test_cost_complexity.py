"""Cost-complexity pruning, against scikit-learn and against all subtrees of small trees."""

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from helpers import prunings, random_children
from ngdt import Tree
from ngdt.losses import HuberLoss, LogLoss, SquaredLoss
from ngdt.pruning import cost_complexity_pruning_path, prune_cost_complexity
from ngdt.testing.strategies import problems

STUMP = Tree([[1.0]], [0.0], [~0], [~1], [[-7.0], [8.0]])


# --- scikit-learn ---------------------------------------------------------------------------------


def two_targets():
    X, y = load_diabetes(return_X_y=True)
    return X, np.column_stack([y, 1000 * X[:, 0]])


DATA = {
    "iris": lambda: load_iris(return_X_y=True),
    "digits": lambda: [each[:400] for each in load_digits(return_X_y=True)],
    "cancer": lambda: load_breast_cancer(return_X_y=True),
    "diabetes": lambda: load_diabetes(return_X_y=True), "two targets": two_targets}


def fitted(name, weighted, **parameters):
    """A tree of scikit-learn, its samples as it reads them, targets, weights and loss."""
    X, y = DATA[name]()
    X = X.astype(np.float32)
    weight = np.random.default_rng(0).choice([0.0, 0.3, 1.0, 2.0], len(y)) if weighted else None
    is_regression = name in ("diabetes", "two targets")
    model = (DecisionTreeRegressor(random_state=0) if is_regression
             else DecisionTreeClassifier(criterion="entropy", random_state=0))
    model.set_params(**parameters).fit(X, y, weight)
    return model, X, y, weight, "squared_error" if is_regression else "log_loss"


@pytest.mark.parametrize("max_depth", [None, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", DATA)
def test_the_path_is_that_of_scikit_learn(name, weighted, max_depth):
    model, X, y, weight, loss = fitted(name, weighted, max_depth=max_depth)
    theirs = model.cost_complexity_pruning_path(X, y, weight)
    ours = cost_complexity_pruning_path(
        Tree.from_sklearn(model), X, y, loss=loss, sample_weight=weight)
    for key in ("ccp_alphas", "impurities"):
        assert_allclose(ours[key], theirs[key], rtol=1e-9, atol=1e-12 * theirs[key].max())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", DATA)
def test_pruned_trees_are_those_of_scikit_learn(name, weighted):
    model, X, y, weight, loss = fitted(name, weighted, max_depth=7)
    tree = Tree.from_sklearn(model)
    alphas = np.unique(model.cost_complexity_pruning_path(X, y, weight).ccp_alphas.round(10))
    between = np.sqrt(alphas[1:-1] * alphas[2:])
    for alpha in [0.0, *between[::max(1, len(between) // 4)], 2 * alphas[-1]]:
        theirs = Tree.from_sklearn(model.set_params(ccp_alpha=alpha).fit(X, y, weight))
        ours = prune_cost_complexity(tree, X, y, alpha, loss=loss, sample_weight=weight)
        for part in ("weights", "thresholds", "children_left", "children_right"):
            assert_array_equal(getattr(ours, part), getattr(theirs, part))
        if loss == "squared_error":
            assert_allclose(ours.values, theirs.values, atol=1e-9)
        else:       # the values of new leaves have a pseudo-count
            found, expected = ours.predict(X), theirs.predict(X)
            # Of tied classes, theirs takes the first one, ours the more frequent one.
            second, first = np.sort(expected, axis=1).T[-2:]
            is_clear = first > second + 1e-9
            assert alpha or is_clear.mean() > 0.9
            assert_array_equal(
                found.argmax(axis=1)[is_clear], expected.argmax(axis=1)[is_clear])


# --- definition -----------------------------------------------------------------------------------


def samples_below(tree, X):
    """Samples that reach each node and leaf, by child id."""
    leaf = tree.apply(X)
    below = {~i: leaf == i for i in range(tree.n_leaves)}
    for node in range(tree.n_internal - 1, -1, -1):
        below[node] = below[tree.children_left[node]] | below[tree.children_right[node]]
    return below


def impurity(y, weight, loss):
    """Entropy in bits, or the least mean loss, averaged over targets."""
    if not weight.any():
        return 0.0
    if not loss.is_classifier:
        y = y.reshape(len(y), -1)
        leaf = np.zeros(len(y), dtype=int)
        values = loss.fit_leaves(leaf, y, weight, 1, y.shape[1])[leaf]
        return np.average(loss.value(values, y), weights=weight) / y.shape[1]
    share = np.bincount(y, weights=weight) / weight.sum()
    return -sum(p * np.log2(p) for p in share if p > 0)


@given(problems(n_samples=st.integers(1, 12), sparse_weights=st.booleans()), st.data())
def test_the_smallest_of_the_best_subtrees_is_found(problem, data):
    tree, X, y, loss = problem
    if tree.n_internal > 5:
        return
    n = X.shape[0]
    weight = np.array(data.draw(
        st.lists(st.sampled_from([0.0, 1.0, 2.5]), min_size=n, max_size=n).filter(any)))
    below = samples_below(tree, X)
    risk = {child: impurity(y[here], weight[here], loss) * weight[here].sum() / weight.sum()
            for child, here in below.items()}
    top = 0 if tree.n_internal else ~0
    candidates = list(prunings(tree, top))
    path = cost_complexity_pruning_path(tree, X, y, loss=loss, sample_weight=weight)
    assert path.ccp_alphas[0] == 0
    assert (np.diff(path.ccp_alphas) >= 0).all()
    assert_allclose(path.impurities[0], sum(risk[~i] for i in range(tree.n_leaves)), atol=1e-9)
    assert_allclose(path.impurities[-1], risk[top], atol=1e-9)
    alphas = np.unique(path.ccp_alphas.round(9))
    between = [*(alphas[:-1] + alphas[1:]) / 2, alphas[-1] + 1.0]
    event(f"different alphas: {len(alphas)}")
    for alpha in [*between, *alphas[1:]]:
        best = min((sum(risk[end] for end in ends) + alpha * len(ends)) for ends in candidates)
        smallest = min(
            (ends for ends in candidates
             if sum(risk[end] for end in ends) + alpha * len(ends) <= best + 1e-8), key=len)
        # At an alpha where a step is taken, a little more makes sure of it.
        pruned = prune_cost_complexity(
            tree, X, y, alpha + 1e-8, loss=loss, sample_weight=weight)
        check_pruned(tree, pruned, smallest, below, X, y, weight, loss)


def check_pruned(tree, pruned, ends, below, X, y, weight, loss):
    assert pruned.n_leaves == len(ends)
    leaf = pruned.apply(X)
    for end in ends:
        here = below[end] & (weight > 0)
        if not here.any():
            continue
        assert len(np.unique(leaf[here])) == 1
        assert (leaf[here][0] == leaf[weight > 0]).sum() == here.sum()
        found = pruned.values[leaf[here][0]]
        if end < 0:
            assert_array_equal(found, tree.values[~end])
        else:
            expected = loss.fit_leaves(
                np.zeros(here.sum(), dtype=int), loss.encode(y, tree.n_outputs)[here],
                weight[here], 1, tree.n_outputs)
            assert_allclose(found, expected[0], atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, list])
def test_new_leaves_are_fitted_and_others_keep_their_values(form):
    tree = Tree([[1.0], [1.0]], [0.0, 5.0], [~0, ~1], [1, ~2], [[-7.0], [8.0], [9.0]])
    X, y = form([[-1.0], [2.0], [2.0], [7.0]]), [0.0, 3.0, 3.0, 6.0]
    pruned = prune_cost_complexity(tree, X, y, 2.0, loss=HuberLoss())
    assert pruned.values.tolist() == [[-7.0], [4.0]]
    assert prune_cost_complexity(tree, X, y, 0.0, loss=HuberLoss()) is tree
    assert prune_cost_complexity(tree, X, y, 100.0, loss=HuberLoss()).values.tolist() == [[3.0]]


def test_splits_without_gain_go_at_any_positive_alpha():
    X, y = [[-2.0], [-1.0], [1.0], [2.0]], [1.0, 3.0, 1.0, 3.0]
    assert prune_cost_complexity(STUMP, X, y, 0.0, loss="squared_error") is STUMP
    assert prune_cost_complexity(STUMP, X, y, 1e-9, loss="squared_error").n_leaves == 1
    assert prune_cost_complexity(STUMP, X[:2], y[:2], 1e-9, loss="squared_error").n_leaves == 1
    # Of splits that go at the same alpha, only the highest is listed.
    chain = Tree([[1.0], [1.0]], [0.0, 1.5], [~0, ~1], [1, ~2], [[3.0], [3.0], [3.0]])
    path = cost_complexity_pruning_path(chain, X, np.full(4, 3.0), loss="squared_error")
    assert path.ccp_alphas.tolist() == [0.0, 0.0]


def test_targets_far_from_zero():
    X, y = [[-2.0], [-1.0], [1.0], [2.0]], np.array([0.0, 0.0, 1.0, 1.0]) + 1e8
    path = cost_complexity_pruning_path(STUMP, X, y, loss="squared_error")
    assert_allclose(path.ccp_alphas, [0.0, 0.25])
    assert_allclose(path.impurities, [0.0, 0.25])


def test_a_single_leaf():
    leaf = Tree(np.empty((0, 1)), [], [], [], [[1.0, 2.0]])
    path = cost_complexity_pruning_path(leaf, [[1.0], [2.0]], [0, 1])
    assert path.ccp_alphas.tolist() == [0.0]
    assert path.impurities.tolist() == [1.0]
    assert prune_cost_complexity(leaf, [[1.0], [2.0]], [0, 1], 9.0) is leaf


@pytest.mark.parametrize("loss", [LogLoss(), SquaredLoss()], ids=str)
def test_a_long_chain(loss):
    # Deeper than Python may recurse; each leaf has one sample, and the labels alternate.
    m = 3000
    left, right = random_children(np.random.default_rng(0), m, chain=True)
    tree = Tree(np.ones((m, 1)), np.zeros(m), left, right, np.zeros((m + 1, 2)))
    X, y = [[-1.0], [1.0]], ([0, 1] if loss.is_classifier else [[0.0, 0.0], [1.0, 1.0]])
    assert prune_cost_complexity(tree, X, y, 1e-3, loss=loss).n_leaves == 2


@pytest.mark.parametrize("function", [cost_complexity_pruning_path, prune_cost_complexity])
@pytest.mark.parametrize(("arguments", "error", "message"), [
    (dict(X=[[1.0, 2.0]]), ValueError, "X has 2 features, but the tree was built for 1"),
    (dict(y=[1.0, 2.0]), ValueError, "y has 2 samples, but X has 1"),
    (dict(y=[np.nan]), ValueError, "y"),
    (dict(sample_weight=[0.0]), ValueError, "sample_weight must not be zero"),
    (dict(loss="cubic"), ValueError, "loss must be one of"),
    (dict(tree="oak"), TypeError, "tree must be an ngdt Tree, got str"),
])
def test_bad_arguments_are_named(function, arguments, error, message):
    arguments = {"tree": STUMP, "X": [[1.0]], "y": [1.0], "loss": "squared_error"} | arguments
    if function is prune_cost_complexity:
        arguments["ccp_alpha"] = 0.1
    with pytest.raises(error, match=message):
        function(**arguments)


@pytest.mark.parametrize(("ccp_alpha", "error"), [
    (-0.1, ValueError), (np.nan, ValueError), ("auto", TypeError), (None, TypeError)])
def test_a_bad_alpha_is_named(ccp_alpha, error):
    with pytest.raises(error, match="ccp_alpha must"):
        prune_cost_complexity(STUMP, [[1.0]], [1.0], ccp_alpha, loss="squared_error")
