"""SoftGreedy: a softly trained stump per node, and limits of the growth."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris

from helpers import StopAt, make_problem
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt._core.tree import Tree
from ngdt._methods.soft.run import SoftOptimizer, unit_weight
from ngdt._training.control import Control
from ngdt.initializers import SoftGreedy
from ngdt.optimizers import Annealed, EndToEnd, OptimizerResult


def classification(X, y, **fields):
    return make_problem(X, np.asarray(y), **{"max_depth": 4, **fields})


def digits():
    X, y = load_digits(return_X_y=True)
    return np.ascontiguousarray(X), y


def iris(**fields):
    return classification(*load_iris(return_X_y=True), **fields)


def oblique(n=400, p=5, **fields):
    """Two classes on the sides of a plane that no axis is near."""
    X = np.random.default_rng(0).normal(size=(n, p))
    return classification(X, X.sum(axis=1) > 0, **fields)


class Recorder(SoftOptimizer):
    """Sends every row to one side, and notes what it was asked to train."""

    def __init__(self):
        self.rows, self.starts = [], []

    def _schedule(self, n_samples, problem):
        raise NotImplementedError

    def check(self, problem):
        pass

    def _train(self, tree, problem, rows, *arguments):
        self.rows.append(rows.copy())
        self.starts.append(tree)
        return OptimizerResult(
            Tree(np.empty((0, tree.n_features)), [], [], [], tree.values[:1]))


def test_one_easy_split_gains_nearly_all_there_is():
    problem = oblique()
    tree = SoftGreedy().initialize(problem.limited(max_depth=1))
    right = tree.apply(problem.X) == 1
    assert abs(np.mean(right == problem.y[:, 0]) - 0.5) > 0.48
    cosine = tree.weights[0].sum() / (np.linalg.norm(tree.weights[0]) * np.sqrt(5))
    assert abs(cosine) > 0.98


def test_a_stump_for_images():
    X, y = load_digits(return_X_y=True)
    images = dict(spatial_penalty=0.1, image_shape=(8, 8))
    tree = ObliqueTreeClassifier(
        2, init=SoftGreedy(stump=EndToEnd(epochs=3, **images)), optimizer=None).fit(
            X[:200], y[:200])
    assert tree.tree_.n_internal > 0
    with pytest.raises(ValueError, match=r"image_shape=\(8, 8\) does not make the 63 features"):
        tree.fit(X[:200, 1:], y[:200])


def test_the_threshold_is_that_of_the_stump():
    problem = oblique(n=100)
    optimizer = EndToEnd(epochs=5)
    made = []

    class Spy(EndToEnd):
        def _train(self, tree, problem, rows, *arguments):
            result = optimizer._train(tree, problem, rows, *arguments)
            made.append(result.tree)
            return result

    tree = SoftGreedy(stump=Spy()).initialize(problem.limited(max_depth=1))
    assert len(made) == 1
    np.testing.assert_array_equal(tree.weights, made[0].weights)
    np.testing.assert_array_equal(tree.thresholds, made[0].thresholds)


def test_starts_are_random_directions_through_the_mean_with_equal_leaves():
    recorder, problem = Recorder(), oblique(standardize=False)
    weight = 1.0 + np.arange(len(problem.y)) % 3
    problem = problem.replace(sample_weight=weight)
    SoftGreedy(stump=recorder, n_attempts=3).initialize(problem)
    directions = np.concatenate([start.weights for start in recorder.starts])
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1.0)
    assert np.linalg.matrix_rank(directions) == 3
    np.testing.assert_allclose(
        np.concatenate([start.thresholds for start in recorder.starts]),
        directions @ np.average(problem.X, axis=0, weights=weight))
    assert not any(start.values.any() for start in recorder.starts)


@pytest.mark.parametrize("n_attempts", [1, 4])
def test_attempts_are_bounded(n_attempts):
    recorder = Recorder()
    tree = SoftGreedy(stump=recorder, n_attempts=n_attempts).initialize(iris())
    assert len(recorder.rows) == n_attempts
    assert tree.n_leaves == 1


def test_equal_samples_of_different_classes_stay_a_leaf():
    tree = SoftGreedy(stump=EndToEnd(epochs=3)).initialize(
        classification(np.ones((20, 3)), np.arange(20) % 2))
    assert tree.n_leaves == 1
    np.testing.assert_allclose(tree.predict(np.ones((1, 3)))[0, 0], tree.values[0, 1])


def test_pure_nodes_are_not_split():
    recorder = Recorder()
    problem = classification(np.arange(10.0)[:, None], np.zeros(10))
    assert SoftGreedy(stump=recorder).initialize(problem).n_leaves == 1
    assert recorder.rows == []
    # With no limit, everything that can be told apart is, and no split divides a pure node.
    problem = oblique(max_depth=None)
    tree = SoftGreedy().initialize(problem)
    visits = tree.decision_path(problem.X).toarray().astype(bool)
    assert all(len(np.unique(problem.y[rows])) == 2 for rows in visits.T)
    np.testing.assert_array_equal(tree.predict(problem.X).argmax(axis=1), problem.y[:, 0])


def test_a_stump_sees_the_rows_that_hard_routing_brings_to_it():
    problem = iris(max_depth=3)
    seen = []

    class Spy(EndToEnd):
        def _train(self, tree, problem, rows, *arguments):
            seen.append(set(rows.tolist()))
            return super()._train(tree, problem, rows, *arguments)

    tree = SoftGreedy(stump=Spy()).initialize(problem)
    visits = tree.decision_path(problem.X).toarray().astype(bool)
    for node in range(tree.n_internal):
        assert set(np.flatnonzero(visits[:, node]).tolist()) in seen


def test_the_leaf_cap_takes_the_splits_that_gain_most():
    problem = classification(*digits(), max_depth=6)
    stump = EndToEnd(epochs=2)
    sizes = {}
    for cap in (1, 2, 5, 6):
        tree = SoftGreedy(stump=stump).initialize(problem.limited(max_leaf_nodes=cap))
        assert tree.n_leaves == cap
        leaf = tree.apply(problem.X)
        sizes[cap] = {frozenset(np.flatnonzero(leaf == j)) for j in range(cap)}
    # One more leaf splits one leaf of the smaller tree; and it is the one that gains most.
    assert len(sizes[5] - sizes[6]) == 1
    parent, = sizes[5] - sizes[6]
    label = problem.y[:, 0].astype(int)

    def entropy(rows):
        count = np.bincount(label[list(rows)])
        count = count[count > 0]
        return -(count * np.log2(count / count.sum())).sum()

    gain = entropy(parent) - sum(map(entropy, sizes[6] - sizes[5]))
    full = SoftGreedy(stump=stump).initialize(problem)
    visits = full.decision_path(problem.X).toarray().astype(bool)
    groups = [frozenset(np.flatnonzero(column)) for column in visits.T]
    leaf = full.apply(problem.X)
    for node, rows in enumerate(groups):
        if rows in sizes[5] - {parent}:
            sides = [groups[child] if child >= 0 else frozenset(np.flatnonzero(leaf == ~child))
                     for child in (full.children_left[node], full.children_right[node])]
            assert entropy(rows) - sum(map(entropy, sides)) <= gain + 1e-9


@pytest.mark.parametrize(("max_features", "number"), [
    (1, 1), (3, 3), (0.5, 32), ("sqrt", 8), ("log2", 6), (1e-9, 1), (64, None), (1.0, None)])
def test_splits_use_as_many_features_as_asked_for(max_features, number):
    X, y = digits()
    problem = classification(X[:300], y[:300], max_depth=3)
    recorder = Recorder()
    SoftGreedy(stump=recorder, max_features=max_features).initialize(problem)
    used = [tuple(np.flatnonzero(start.weights)) for start in recorder.starts]
    if number is None:      # all, of which those that vary have weights
        assert set(used) == {tuple(problem.varying)}
    else:
        assert {len(features) for features in used} == {number}
        assert len(set(used)) > 1


@pytest.mark.parametrize("stump", [EndToEnd(epochs=10), Annealed(steps=50)])
def test_training_keeps_to_the_features_of_a_split(stump):
    problem = oblique(p=9, max_depth=3)
    tree = SoftGreedy(stump=stump, max_features="sqrt").initialize(problem)
    assert tree.n_internal > 1
    assert (np.count_nonzero(tree.weights, axis=1) == 3).all()
    assert len({tuple(np.flatnonzero(row)) for row in tree.weights}) > 1
    tuned = EndToEnd(keep_zeros=True, epochs=10).optimize(tree, problem).tree
    assert not np.array_equal(tuned.weights, tree.weights)
    assert (np.count_nonzero(tuned.weights, axis=1) == 3).all()
    free = EndToEnd(epochs=10).optimize(tree, problem).tree
    assert (np.count_nonzero(free.weights, axis=1) == 9).all()


def test_patches_are_rectangles_of_pixels():
    X, y = digits()
    recorder = Recorder()
    SoftGreedy(stump=recorder, patch=(2, 3), image_shape=(8, 8), n_attempts=40).initialize(
        classification(X, y))
    corners = set()
    for start in recorder.starts:
        rows, columns = np.nonzero(start.weights.reshape(8, 8))
        assert len(rows) == 6
        assert (np.ptp(rows), np.ptp(columns)) == (1, 2)
        corners.add((rows.min(), columns.min()))
    assert len(corners) > 15
    assert {row for row, _ in corners} == set(range(7))
    assert {column for _, column in corners} == set(range(6))
    problem = classification(X, y, max_depth=2)
    tree = SoftGreedy(patch=(3, 3), image_shape=(8, 8)).initialize(problem)
    assert (np.count_nonzero(tree.weights, axis=1) == 9).all()


@pytest.mark.parametrize(("parameters", "message"), [
    ({"patch": (2, 2)}, "does not make the 4 features"),
    ({"patch": (2, 2), "image_shape": (3, 3)}, "does not make the 4 features"),
    ({"patch": (3, 1), "image_shape": (2, 2)}, "of at most 2 x 2 pixels"),
    ({"patch": (1, 0), "image_shape": (2, 2)}, "of at most 2 x 2 pixels"),
    ({"patch": (1, 1), "image_shape": (2, 2), "max_features": 1}, "set max_features=None"),
])
def test_patches_have_to_fit(parameters, message):
    with pytest.raises(ValueError, match=message):
        SoftGreedy(**parameters).initialize(iris())


def test_the_seed_decides_and_threads_do_not():
    grow = SoftGreedy(stump=EndToEnd(epochs=1)).initialize
    big = oblique(n=20_000, max_depth=3)
    assert grow(big) == grow(big.replace(n_jobs=2))
    assert grow(iris(random_state=1)) == grow(iris(random_state=1))
    assert grow(iris(random_state=1)) != grow(iris(random_state=2))


def test_the_order_in_which_nodes_are_split_does_not_matter():
    problem = classification(*digits(), max_depth=4)
    stump = EndToEnd(epochs=2)
    tree = SoftGreedy(stump=stump).initialize(problem)
    # The cap is met by the last split, so the nodes of both trees are the same.
    capped = SoftGreedy(stump=stump).initialize(problem.limited(max_leaf_nodes=tree.n_leaves))
    assert tree == capped
    shallow = SoftGreedy(stump=stump).initialize(problem.limited(max_depth=2))
    for row in shallow.weights:
        assert (tree.weights == row).all(axis=1).any()


def test_a_part_trains_as_if_it_were_all_there_is():
    problem = oblique(standardize=False)
    rows = np.arange(0, 400, 3, dtype=np.int32)
    stump = Tree([[1.0, 0, 0, 0, 0]], [0.1], [~0], [~1], np.zeros((2, 2)))
    optimizer = EndToEnd(epochs=5)
    part = optimizer._train(stump, problem, rows, unit_weight(problem)).tree
    alone = classification(problem.X[rows], problem.y[rows, 0].astype(int), standardize=False)
    expected = optimizer.optimize(stump, alone).tree
    np.testing.assert_allclose(part.weights, expected.weights, rtol=1e-5)
    np.testing.assert_allclose(part.values, expected.values)


def test_sparse_data_grow_the_tree_of_dense_data():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 6)).round(1) * (random.random((300, 6)) < 0.5)
    problem = classification(X, X @ [1, -1, 1, 0, 0, 0] > 0, max_depth=3, standardize=False)
    grow = SoftGreedy(stump=EndToEnd(epochs=5)).initialize
    dense, csr = grow(problem), grow(problem.replace(X=sparse.csr_array(X)))
    np.testing.assert_array_equal(dense.children_left, csr.children_left)
    np.testing.assert_allclose(dense.weights, csr.weights, rtol=1e-3, atol=1e-4)
    assert np.mean(dense.apply(X) == csr.apply(X)) > 0.99


@pytest.mark.parametrize("fields", [{}, {"standardize": False}])
def test_regression(fields):
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 4))
    y = np.column_stack([np.abs(X @ [1.0, 1.0, 0.0, 0.0]), X[:, 2]])
    problem = make_problem(X, 5 * y + 100, "squared_error", max_depth=5, **fields)
    tree = SoftGreedy().initialize(problem)
    left = ((tree.predict(X) - problem.y) ** 2).sum() / (
        (problem.y - problem.y.mean(axis=0)) ** 2).sum()
    assert left < 0.45


@pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueTreeRegressor])
@pytest.mark.parametrize(("X", "y"), [
    ([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]),   # one feature
    ([[0.0, 1.0], [1.0, 0.0]], [1, 1]),             # one class, or one value
    ([[2.0, 1.0]], [0]),                            # one sample
    ([[0.0], [1.0]], [0, 1]),
])
def test_the_smallest_data(estimator, X, y):
    tree = estimator(3, init="soft_greedy", optimizer=None, random_state=0).fit(X, y)
    np.testing.assert_allclose(tree.predict(X), y)


def test_any_soft_optimizer_trains_the_stumps():
    tree = SoftGreedy(stump=Annealed(steps=200)).initialize(iris(max_depth=3))
    X, y = load_iris(return_X_y=True)
    assert np.mean(tree.predict(X).argmax(axis=1) == y) > 0.95


def test_large_nodes_may_be_left_whole():
    problem = iris(max_depth=None)
    tree = SoftGreedy().initialize(problem.limited(min_samples_split=60))
    visits = tree.decision_path(problem.X).toarray().sum(axis=0)
    assert tree.n_internal
    assert (visits >= 60).all()
    assert SoftGreedy().initialize(problem.limited(min_impurity_decrease=5.0)).n_leaves == 1


def test_ctrl_c_ends_the_growth():
    class Interrupted(EndToEnd):
        def _train(self, tree, problem, rows, *arguments):
            return super()._train(tree, problem.replace(
                control=Control(callback=StopAt(1))), rows, *arguments)

    with pytest.raises(KeyboardInterrupt):
        SoftGreedy(stump=Interrupted()).initialize(iris())
