"""The kernel of forests predicts the mean of what each tree predicts by itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import softmax

from helpers import random_children
from ngdt import Tree
from ngdt._core.samples import Samples
from ngdt._forest.ensemble import Ensemble


@st.composite
def ensembles(draw):
    """Trees of all forms for the same features, and samples of all forms."""
    random = np.random.default_rng(draw(st.integers(0, 2**16)))
    p, k, n = draw(st.integers(1, 6)), draw(st.integers(1, 4)), draw(st.integers(0, 40))
    trees = []
    for _ in range(draw(st.integers(1, 5))):
        m = draw(st.integers(0, 6))
        left, right = random_children(random, m) if m else np.zeros((2, 0), dtype=np.int32)
        weights = random.integers(-2, 3, (m, p)).astype(float)
        leaves = {"values": random.normal(size=(m + 1, k))}
        if draw(st.booleans()):
            leaves["slopes"] = random.normal(size=(m + 1, k, p))
            if draw(st.booleans()):
                leaves["ranges"] = np.sort(random.normal(size=(m + 1, k, 2)))
        tree = Tree(weights, random.normal(size=m), left, right, **leaves)
        trees.append(tree.sparsify() if draw(st.booleans()) else tree)
    X = random.integers(-2, 3, (n, p)).astype(draw(st.sampled_from([np.float32, np.float64])))
    return trees, sparse.csr_array(X) if draw(st.booleans()) else X


@given(ensembles(), st.booleans(), st.data())
def test_the_mean_of_the_trees(case, is_classifier, drawn):
    trees, X = case
    n = X.shape[0]
    data, ensemble = Samples(X), Ensemble(trees, is_classifier)
    begin = drawn.draw(st.integers(0, n))
    end = drawn.draw(st.integers(begin, n))
    means = np.full((n, ensemble.n_outputs), np.nan)
    ensemble.mean(data, begin, end, means)
    predictions = [tree.leaf_predictions(tree.apply_samples(data), data) for tree in trees]
    if is_classifier:
        predictions = [softmax(each, axis=1) for each in predictions]
    np.testing.assert_allclose(
        means[begin:end], np.mean(predictions, axis=0)[begin:end], rtol=1e-12, atol=1e-14)
    # Others are left as they are.
    outside = np.r_[:begin, end:n].astype(int)
    assert np.isnan(means[outside]).all()


def test_blocks_and_ranges_do_not_change_a_bit():
    random = np.random.default_rng(0)
    trees = []
    for _ in range(7):
        left, right = random_children(random, 30)
        trees.append(Tree(random.normal(size=(30, 300)), random.normal(size=30), left, right,
                          random.normal(size=(31, 3))))
    data = Samples(random.normal(size=(2500, 300)))     # several blocks
    ensemble = Ensemble(trees, True)
    whole, parts, single = (np.empty((2500, 3)) for _ in range(3))
    ensemble.mean(data, 0, 2500, whole)
    for begin in range(0, 2500, 700):
        ensemble.mean(data, begin, min(begin + 700, 2500), parts)
    for i in range(2500):
        ensemble.mean(data, i, i + 1, single)
    np.testing.assert_array_equal(whole, parts)
    np.testing.assert_array_equal(whole, single)


def test_what_does_not_fit():
    tree = Tree([[1.0, 2.0]], [0.0], [~0], [~1], [[0.0], [1.0]])
    other = Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [1.0]])
    with pytest.raises(ValueError, match="same features and outputs"):
        Ensemble([tree, other], False)
    with pytest.raises(TypeError, match="FlatTree"):
        Ensemble([tree, "tree"], False)
    ensemble, data = Ensemble([tree], False), Samples(np.ones((3, 2)))
    with pytest.raises(ValueError, match="X has 1 features"):
        ensemble.mean(Samples(np.ones((3, 1))), 0, 3, np.empty((3, 1)))
    for begin, end, n in ((0, 4, 3), (-1, 2, 3), (2, 1, 3), (0, 3, 2)):
        with pytest.raises(ValueError, match="begin and end a range of its rows"):
            ensemble.mean(data, begin, end, np.empty((n, 1)))
    with pytest.raises(ValueError, match=r"out must be of shape \(3, 1\)"):
        ensemble.mean(data, 0, 3, np.empty((3, 2)))


def test_an_ensemble_keeps_its_trees_alive():
    def make():
        return Ensemble([Tree([[1.0]], [0.0], [~0], [~1], [[t], [t + 1.0]]) for t in range(50)],
                        False)

    ensemble, out = make(), np.empty((2, 1))
    ensemble.mean(Samples(np.array([[-1.0], [1.0]])), 0, 2, out)
    assert out.ravel().tolist() == [24.5, 25.5]


def test_no_trees():
    with pytest.raises(ValueError, match="at least one tree"):
        Ensemble([], True)
