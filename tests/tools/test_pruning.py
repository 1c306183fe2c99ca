"""Trees without branches that no sample reaches, or that decide nothing."""

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from scipy import sparse

from ngdt import Tree
from ngdt.losses import HuberLoss, LogLoss, SquaredLoss
from ngdt.pruning import (
    prune_dead_branches,
    prune_equal_leaves,
    prune_pure_subtrees,
    prune_zero_weight_nodes,
)
from ngdt.pruning._equal import collapse_pure
from ngdt.pruning._impurity import LeafTargets
from ngdt.pruning._unused import keep_reached
from ngdt.testing.strategies import problems, samples, trees

BOTH = st.booleans()

# Both splits of the left side send everything right; leaf 3 is reached, leaf 4 is not.
DEAD = Tree(
    [[1.0], [1.0], [1.0], [1.0]], [0.0, -9.0, -8.0, 9.0],
    [1, ~0, ~1, ~3], [3, 2, ~2, ~4], [[0.0], [1.0], [2.0], [3.0], [4.0]])


def children(tree):
    return np.stack([tree.children_left, tree.children_right], axis=1).tolist()


def weights_for(n):
    return st.lists(st.sampled_from([0.0, 1.0, 2.5]), min_size=n, max_size=n).filter(any)


def predictions(tree, X, loss):
    values = tree.predict(X)
    return values.argmax(axis=1) if loss.is_classifier else values


@given(problems(n_samples=st.integers(1, 12), sparse_weights=BOTH), st.data())
def test_predictions_stay_and_every_leaf_and_split_is_used(problem, data):
    tree, X, _, _ = problem
    weight = data.draw(weights_for(X.shape[0]))
    pruned = prune_dead_branches(tree, X, sample_weight=weight)
    present = np.flatnonzero(weight)
    X = X[present]
    np.testing.assert_array_equal(pruned.predict(X), tree.predict(X))
    # Which leaf is which does not show where values tie: the splits on the way are the same too.
    for before, after in ((tree, pruned), (pruned, pruned)):
        reached = np.unique(before.apply(X))
        np.testing.assert_array_equal(after.values, before.values[reached])
    np.testing.assert_array_equal(
        np.searchsorted(np.unique(tree.apply(X)), tree.apply(X)), pruned.apply(X))
    assert pruned.n_internal == pruned.n_leaves - 1
    assert prune_dead_branches(pruned, X) is pruned
    assert pruned.is_sparse == tree.is_sparse
    event(f"leaves removed: {tree.n_leaves - pruned.n_leaves > 0}")
    event(f"splits left: {pruned.n_internal > 0}")


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix, list])
def test_by_hand(form):
    X = form([[-1.0], [-2.0], [3.0]])
    pruned = prune_dead_branches(DEAD, X)
    assert children(pruned) == [[~0, ~1]]
    assert pruned.thresholds.tolist() == [0.0]
    assert pruned.values.tolist() == [[2.0], [3.0]]


def test_a_root_that_decides_nothing_gives_way():
    pruned = prune_dead_branches(DEAD, [[1.0], [10.0]])
    assert children(pruned) == [[~0, ~1]]
    assert pruned.thresholds.tolist() == [9.0]
    assert pruned.values.tolist() == [[3.0], [4.0]]


def test_samples_of_no_weight_are_not_there():
    X = [[-1.0], [-8.5], [3.0]]
    assert prune_dead_branches(DEAD, X).n_leaves == 3
    pruned = prune_dead_branches(DEAD, X, sample_weight=[1.0, 0.0, 1.0])
    assert pruned.values.tolist() == [[2.0], [3.0]]
    pruned = prune_dead_branches(DEAD, X, sample_weight=[0.0, 0.5, 0.0])
    assert pruned.n_internal == 0
    assert pruned.values.tolist() == [[1.0]]


def test_trees_where_all_is_reached_are_returned_as_they_are():
    leaf = Tree(np.empty((0, 2)), [], [], [], [[1.0]])
    assert prune_dead_branches(leaf, [[0.0, 1.0]]) is leaf
    X = [[-10.0], [-8.5], [-1.0], [1.0], [10.0]]
    assert prune_dead_branches(DEAD, X) is DEAD
    assert keep_reached(DEAD, np.ones(5, dtype=bool)) is DEAD


def test_a_long_chain():
    m = 3000        # deeper than Python may recurse
    chain = Tree(np.ones((m, 1)), -np.arange(m), [*range(1, m), ~(m - 1)],
                 [*(~np.arange(m - 1)), ~m], np.arange(m + 1.0)[:, None])
    pruned = prune_dead_branches(chain, [[0.5], [-m]])
    assert pruned.n_internal == 1
    assert pruned.values.tolist() == [[0.0], [m - 1.0]]


@pytest.mark.parametrize(("arguments", "error", "message"), [
    (dict(X=[[1.0, 2.0]]), ValueError, "X has 2 features, but the tree was built for 1"),
    (dict(X=[[np.nan]]), ValueError, "X contains NaN"),
    (dict(X=[[1.0]], sample_weight=[0.0]), ValueError, "sample_weight must not be zero"),
    (dict(X=[[1.0]], sample_weight=[1.0, 1.0]), ValueError, "sample_weight must have shape"),
    (dict(X=[[1.0]], tree="oak"), TypeError, "tree must be an ngdt Tree, got str"),
])
def test_bad_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        prune_dead_branches(**({"tree": DEAD} | arguments))


# --- pure subtrees ------------------------------------------------------------------------------


def leaves_below(tree, node):
    if node < 0:
        return [~node]
    return [leaf for side in children(tree)[node] for leaf in leaves_below(tree, side)]


def pure(tree, leaf, y, loss):
    """Nodes whose samples share one target, which they all get predicted; by definition."""
    values = loss.decode(tree.values)
    found = []
    for node in range(tree.n_internal):
        here = np.isin(leaf, leaves_below(tree, node))
        if here.any() and (y[here] == y[here][0]).all() and (values[leaf[here]] == y[here]).all():
            found.append(node)
    return found


@st.composite
def nearly_pure(draw):
    """Problems whose targets are mostly what the tree predicts, so that subtrees are pure."""
    tree, X, y, loss = draw(problems(
        n_samples=st.integers(1, 10), sparse_weights=BOTH, elements=st.integers(-1, 1).map(float)))
    predicted = loss.decode(tree.predict(X)).reshape(y.shape)
    if draw(st.booleans()):
        y = predicted.astype(y.dtype)
    elif draw(st.booleans()):
        change = draw(st.integers(0, len(y) - 1))
        y = np.where(np.arange(len(y)).reshape(-1, *[1] * (y.ndim - 1)) == change, y, predicted)
    return tree, X, y.astype(int) if loss.is_classifier else y, loss


@given(nearly_pure(), st.data())
def test_pure_subtrees(problem, data):
    tree, X, y, loss = problem
    weight = np.array(data.draw(weights_for(X.shape[0])))
    pruned = prune_pure_subtrees(tree, X, y, loss=loss, sample_weight=weight)
    present = np.flatnonzero(weight)
    X, weight, y = X[present], weight[present], loss.encode(y, tree.n_outputs)[present]
    before, after = tree.apply(X), pruned.apply(X)
    np.testing.assert_array_equal(predictions(pruned, X, loss), predictions(tree, X, loss))
    assert pure(pruned, after, y, loss) == []
    # Exactly the pure subtrees are gone: all other splits are there, in their order.
    nodes = pure(tree, before, y, loss)
    inside = {leaf for node in nodes for leaf in leaves_below(tree, node)}
    gone = {node for node in range(tree.n_internal)
            if inside.issuperset(leaves_below(tree, node))
            and any(set(leaves_below(tree, top)) >= set(leaves_below(tree, node))
                    for top in nodes)}
    kept = [node for node in range(tree.n_internal) if node not in gone]
    np.testing.assert_array_equal(
        pruned.dense_weights(), tree.dense_weights()[kept])
    np.testing.assert_array_equal(pruned.thresholds, tree.thresholds[kept])
    # Leaves that are not new keep their values, and so do those of regression, which predict the
    # same; the new ones of classes fit their samples.
    old = ~np.isin(before, list(inside)) | (not loss.is_classifier)
    np.testing.assert_array_equal(pruned.values[after[old]], tree.values[before[old]])
    best = loss.fit_leaves(after, y, weight, pruned.n_leaves, pruned.n_outputs)
    np.testing.assert_allclose(
        pruned.values[after[~old]], best[after[~old]], rtol=1e-12, atol=1e-12)
    assert prune_pure_subtrees(pruned, X, y if y.shape[1] > 1 else y[:, 0], loss=loss) is pruned
    assert pruned.is_sparse == tree.is_sparse
    event(f"splits removed: {len(gone) > 0}, left: {len(kept) > 0}")


def test_the_largest_pure_subtrees_go():
    X = [[-8.5], [-1.0], [1.0], [10.0]]     # leaves 1, 2, 3, 4; none reaches leaf 0
    tree = Tree(*DEAD._arrays()[:4], [[0.0, 9.0], [1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    pruned = prune_pure_subtrees(tree, X, [0, 0, 1, 0])
    assert children(pruned) == [[~0, 1], [~1, ~2]]
    np.testing.assert_allclose(np.exp(pruned.values[0]), [2.5 / 3, 0.5 / 3])
    assert pruned.values[1:].tolist() == [[0.0, 1.0], [1.0, 0.0]]
    # A wrong prediction, even of one sample, keeps all that is above it.
    assert prune_pure_subtrees(tree, X, [1, 0, 1, 0]) is tree
    # What is not there may be anything.
    pruned = prune_pure_subtrees(tree, X, [1, 0, 1, 0], sample_weight=[0.0, 1.0, 1.0, 1.0])
    assert children(pruned) == [[~0, 1], [~1, ~2]]
    np.testing.assert_allclose(np.exp(pruned.values[0]), [1.5 / 2, 0.5 / 2])


def test_a_pure_root():
    tree = Tree(*DEAD._arrays()[:4], [[0.5, 1.0]] * 5)
    pruned = prune_pure_subtrees(tree, [[-8.5], [1.0]], [1, 1])
    assert pruned.n_internal == 0
    np.testing.assert_allclose(np.exp(pruned.values), [[0.5 / 3, 2.5 / 3]])


def test_one_class():
    tree = Tree(*DEAD._arrays()[:4], np.zeros((5, 1)))
    assert prune_pure_subtrees(tree, [[-8.5], [1.0]], [0, 0]).n_internal == 0


@pytest.mark.parametrize("loss", [SquaredLoss(), HuberLoss()])
def test_regression_values_have_to_be_equal(loss):
    value = 1 / 3
    tree = Tree([[1.0]], [0.0], [~0], [~1], [[value, 2.0], [value, 2.0]])
    X, y = [[-1.0], [1.0], [2.0]], np.array([[value, 2.0]] * 3)
    weight = [0.1, 0.7, 0.3]        # the weighted mean of equal numbers need not be that number
    pruned = prune_pure_subtrees(tree, X, y, loss=loss, sample_weight=weight)
    assert pruned.values.tolist() == [[value, 2.0]]
    y[2, 0] = np.nextafter(value, 1)
    assert prune_pure_subtrees(tree, X, y, loss=loss, sample_weight=weight) is tree


def test_weights_that_vanish_beside_the_pseudo_count():
    tree = Tree([[1.0]], [0.0], [~0], [~1], [[0.0, 1.0], [0.0, 2.0]])
    pruned = prune_pure_subtrees(tree, [[-1.0], [1.0]], [1, 1], sample_weight=[1e-30, 1e-30])
    assert pruned.values.argmax(axis=1).tolist() == [1]


def test_pure_core_takes_leaves():
    tree = Tree([[1.0]], [0.0], [~0], [~1], [[0.0, 1.0], [0.0, 2.0]])
    targets = LeafTargets(np.array([0, 1, 1]), np.ones((3, 1)), np.ones(3), LogLoss())
    assert collapse_pure(tree, targets).n_internal == 0
    assert collapse_pure(tree, targets._replace(y=1 - targets.y)) is tree


# --- splits without weights ---------------------------------------------------------------------


@given(st.data(), st.integers(1, 3))
def test_zero_weight_nodes(data, p):
    tree = data.draw(trees(n_features=st.just(p), sparse_weights=BOTH))
    X = data.draw(samples(n_samples=st.integers(1, 12), n_features=st.just(p)))
    pruned = prune_zero_weight_nodes(tree)
    np.testing.assert_array_equal(pruned.predict(X), tree.predict(X))
    rows = pruned.dense_weights()
    assert rows.any(axis=1).all()
    # Splits and leaves on the paths of the samples are there as they were.
    np.testing.assert_array_equal(
        np.asarray(pruned.decision_path(X).sum(axis=1)).ravel(),
        tree.decision_path(X).toarray() @ tree.dense_weights().any(axis=1).astype(int))
    assert prune_zero_weight_nodes(pruned) is pruned
    assert pruned.is_sparse == tree.is_sparse
    event(f"splits removed: {pruned.n_internal < tree.n_internal}")
    event(f"splits left: {pruned.n_internal > 0}")


@pytest.mark.parametrize("form", [Tree.sparsify, Tree.densify])
def test_the_threshold_decides(form):
    tree = form(Tree([[0.0], [-0.0], [1.0]], [-1e-320, 0.0, 7.0], [~0, 2, ~2], [1, ~1, ~3],
                     [[0.0], [1.0], [2.0], [3.0]]))
    pruned = prune_zero_weight_nodes(tree)
    assert children(pruned) == [[~0, ~1]]
    assert pruned.thresholds.tolist() == [7.0]
    assert pruned.values.tolist() == [[2.0], [3.0]]
    assert prune_zero_weight_nodes(form(Tree(np.zeros((2, 1)), [1.0, 1.0], [1, ~0], [~2, ~1],
                                             [[0.0], [1.0], [2.0]]))).values.tolist() == [[0.0]]


# --- equal leaves -------------------------------------------------------------------------------


def equal(tree, loss):
    """Nodes whose leaves predict one class, or the same values; by definition."""
    predicted = tree.values.argmax(axis=1)[:, None] if loss.is_classifier else tree.values
    return [node for node in range(tree.n_internal)
            if len({tuple(predicted[leaf]) for leaf in leaves_below(tree, node)}) == 1]


@given(problems(n_samples=st.integers(1, 10), sparse_weights=BOTH), st.data())
def test_equal_leaves(problem, data):
    tree, X, y, loss = problem
    weight = np.array(data.draw(weights_for(X.shape[0])))
    # Some leaves predict what their neighbours do.
    source = data.draw(st.lists(
        st.integers(0, 1), min_size=tree.n_leaves, max_size=tree.n_leaves))
    values = tree.values[np.minimum(source, tree.n_leaves - 1)]
    tree = Tree(*tree._arrays()[:4], values)
    pruned = prune_equal_leaves(tree, X, y, loss=loss, sample_weight=weight)
    everything = np.vstack([X.toarray() if sparse.issparse(X) else X,
                            np.random.default_rng(0).normal(size=(50, tree.n_features))])
    np.testing.assert_array_equal(
        predictions(pruned, everything, loss), predictions(tree, everything, loss))
    assert equal(pruned, loss) == []
    gone = equal(tree, loss)
    kept = np.setdiff1d(np.arange(tree.n_internal), gone)
    np.testing.assert_array_equal(
        pruned.dense_weights(), tree.dense_weights()[kept])
    assert prune_equal_leaves(pruned, X, y, loss=loss) is pruned
    assert pruned.is_sparse == tree.is_sparse
    event(f"splits removed: {len(gone) > 0}, left: {len(kept) > 0}")


def test_probabilities_of_equal_leaves_are_those_of_all_their_samples():
    X, y = [[-8.5], [-1.0], [-0.5], [1.0]], [0, 0, 1, 0]    # leaves 1, 2, 2, 3
    tree = Tree(*DEAD._arrays()[:4], [[0.0, 9.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [1.0, 0.0]])
    pruned = prune_equal_leaves(tree, X, y)
    assert children(pruned) == [[1, ~2], [~0, ~1]]
    assert pruned.values[0].tolist() == [0.0, 9.0]
    np.testing.assert_allclose(
        np.exp(pruned.values[1:]), [[2.5 / 4, 1.5 / 4], [1.5 / 2, 0.5 / 2]])
    # Where samples speak for another class, a leaf stays as it was.
    pruned = prune_equal_leaves(tree, X, y, sample_weight=[1.0, 1.0, 9.0, 1.0])
    assert children(pruned) == [[1, ~2], [~0, ~1]]
    assert pruned.values[1].tolist() == [1.0, 0.0]


@given(nearly_pure())
def test_all_together(problem):
    tree, X, y, loss = problem
    steps = [prune_zero_weight_nodes, lambda tree: prune_dead_branches(tree, X),
             lambda tree: prune_pure_subtrees(tree, X, y, loss=loss)]
    small = [steps[2](steps[1](steps[0](tree))), steps[0](steps[1](steps[2](tree)))]
    for pruned in small:
        np.testing.assert_array_equal(predictions(pruned, X, loss), predictions(tree, X, loss))
        for step in steps:
            assert step(pruned) is pruned
    assert small[0].n_internal == small[1].n_internal


@pytest.mark.parametrize("prune", [
    lambda tree: prune_pure_subtrees(tree, [[0.0, 1.0]], [0]),
    lambda tree: prune_equal_leaves(tree, [[0.0, 1.0]], [0]), prune_zero_weight_nodes])
def test_a_single_leaf_is_small_enough(prune):
    leaf = Tree(np.empty((0, 2)), [], [], [], [[1.0]])
    assert prune(leaf) is leaf
    assert prune(leaf.sparsify()).is_sparse


@pytest.mark.parametrize(("arguments", "error", "message"), [
    (dict(y=[0, 0]), ValueError, "y has 2 samples, but X has 1"),
    (dict(y=[5]), ValueError, "y must"),
    (dict(loss="hinge"), ValueError, "loss"),
    (dict(X=[[1.0, 2.0]]), ValueError, "X has 2 features, but the tree was built for 1"),
    (dict(sample_weight=[-1.0]), ValueError, "sample_weight must not be negative"),
    (dict(tree="oak"), TypeError, "tree must be an ngdt Tree, got str"),
])
@pytest.mark.parametrize("prune", [prune_pure_subtrees, prune_equal_leaves])
def test_bad_arguments_where_targets_are_given(prune, arguments, error, message):
    with pytest.raises(error, match=message):
        prune(**(dict(tree=DEAD, X=[[1.0]], y=[0]) | arguments))


def test_bad_argument_of_zero_weight_nodes():
    with pytest.raises(TypeError, match="tree must be an ngdt Tree, got str"):
        prune_zero_weight_nodes("oak")
