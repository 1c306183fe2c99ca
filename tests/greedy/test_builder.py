"""The builder of greedy trees, with splits of its own and on subsets of the samples."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import datasets

from helpers import make_problem, nested
from ngdt._core.greedy.builder import build
from ngdt._core.greedy.splitter import Split
from ngdt._core.tree import Tree
from ngdt._methods.greedy.info_gain import InfoGain
from ngdt._util.stopped import Stopped
from reference.splits import entropy, grow


class Diagonal:
    """Splits along one oblique direction."""

    def __init__(self, splitter, X):
        self.splitter, self.X = splitter, X
        self.direction = np.ones(X.shape[1]) / 2

    def split(self, rows, min_samples_leaf):
        found = self.splitter.best_threshold(
            rows, self.X[rows] @ self.direction, min_samples_leaf)
        return None if found is None else Split(self.direction, *found)

    def partition(self, rows, split):
        return self.splitter.partition(rows, split)


def assert_leaves_hold(growth, tree, X, n_rows):
    """The rows in the leaves of a growth are those that a tree sends there."""
    leaf, (_, samples, *_) = tree.apply(X), growth.numbered()
    for number, each in enumerate(samples):
        assert (leaf[each] == number).all()
    assert len(np.unique(np.concatenate(samples))) == n_rows


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_builder_grows_oblique_trees(kind):
    rng = np.random.default_rng(0)
    X = rng.integers(-8, 9, (200, 3)) / 4
    y = (np.sin(X.sum(axis=1)) > rng.normal(size=200)).astype(int)
    problem = make_problem(kind(X), y, max_depth=3)
    splitter = problem.splitter
    growth = build(Diagonal(splitter, X), splitter.used_samples(), problem)
    tree = growth.to_tree(problem)
    assert tree.n_internal == 7
    assert (tree.weights == 0.5).all()
    assert_leaves_hold(growth, tree, X, len(y))
    expected = grow((X @ np.full(3, 0.5))[:, None], problem.y, problem.sample_weight, entropy, 3)
    projected = Tree(np.ones((7, 1)), *(getattr(tree, name) for name in (
        "thresholds", "children_left", "children_right", "values")))
    assert nested(projected, (X @ np.full(3, 0.5))[:, None], problem.sample_weight) == expected


@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
def test_subsets_grow_as_if_they_were_alone(loss):
    X, y = datasets.load_wine(return_X_y=True)
    problem = make_problem(X, y, loss, max_depth=3)
    for part in (np.arange(0, 178, 2), np.arange(50, 120), np.array([3, 177])):
        growth = build(problem.splitter, part.astype(np.int32), problem)
        tree = growth.to_tree(problem)
        alone = InfoGain().initialize(make_problem(X[part], y[part], loss, max_depth=3))
        np.testing.assert_array_equal(tree.weights, alone.weights)
        np.testing.assert_array_equal(tree.thresholds, alone.thresholds)
        assert_leaves_hold(growth, alone, X, len(part))


@pytest.mark.parametrize("n_searches", [1, 2, 4])
def test_ctrl_c_keeps_the_splits_so_far(n_searches, monkeypatch):
    problem = make_problem(*datasets.load_iris(return_X_y=True), max_depth=3)
    strategy, calls = Diagonal(problem.splitter, problem.X), iter(range(1, n_searches + 1))
    found = Diagonal.split

    def split(self, *arguments):
        if next(calls) == n_searches:
            raise KeyboardInterrupt
        return found(self, *arguments)

    monkeypatch.setattr(Diagonal, "split", split)
    with pytest.raises(KeyboardInterrupt) as caught:
        build(strategy, problem.splitter.used_samples(), problem)
    # The first search is that of the root. Then each split is followed by two searches.
    if n_searches == 1:
        assert not isinstance(caught.value, Stopped)
    else:
        assert len(caught.value.tree.numbered()[0]) == n_searches // 2


def test_rows_that_cannot_be_grown_on_are_refused():
    problem = make_problem(np.eye(4), [0, 1, 0, 1], sample_weight=[1, 1, 1, 0])
    splitter = problem.splitter
    with pytest.raises(ValueError, match="samples must have positive weights"):
        build(splitter, np.arange(4, dtype=np.int32), problem)
    repeated = np.zeros(4, dtype=np.int32)
    for call in (lambda: splitter.split(repeated),
                 lambda: splitter.best_threshold(repeated, np.zeros(4)),
                 lambda: splitter.partition(repeated, Split(0, 0.5, 1.0))):
        with pytest.raises(ValueError, match="samples has 4 entries, but only 3"):
            call()
    with pytest.raises(ValueError, match="z has 2 values for 3 samples"):
        splitter.best_threshold(np.arange(3, dtype=np.int32), np.zeros(2))
