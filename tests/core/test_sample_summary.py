"""Distances of samples to each split, against routing of one sample at a time."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from helpers import FORMS, complete_tree
from ngdt import ObliqueTreeRegressor, Tree
from ngdt._core.samples import Samples
from ngdt._core.scaling import Moments
from ngdt._inspection.captions import captions_of
from ngdt._inspection.sample_summary import SampleSummary, single_features


def nearest(tree, X, samples):
    """The largest product on the left and the smallest on the right of each node; the leaves."""
    left, right, leaves = np.full(tree.n_internal, -np.inf), np.full(tree.n_internal, np.inf), []
    weights = tree.dense_weights()
    for x in X[samples]:
        at = 0
        while at >= 0:
            size = np.abs(weights[at]).max() if np.count_nonzero(weights[at]) == 1 else 1.0
            product = weights[at] / size @ x    # exact here: small multiples of powers of two
            if size * product > tree.thresholds[at]:
                right[at] = min(right[at], product)
                at = tree.children_right[at]
            else:
                left[at] = max(left[at], product)
                at = tree.children_left[at]
        leaves.append(~at)
    return left, right, np.array(leaves)


@FORMS
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_summary_is_that_of_single_walks(form, is_sparse, dtype):
    rng, m, p = np.random.default_rng(0), 12, 19
    weights = rng.integers(-3, 4, size=(m, p)) * (rng.random((m, p)) < 0.3) * 1.0
    weights[::2] = 0.0
    weights[np.arange(0, m, 2), rng.integers(p, size=m // 2)] = [4.0, -2.0, 0.5, -1.0, 8.0, -0.25]
    weights[5] = 0.0
    nodes = np.arange(m)
    tree = Tree(weights, rng.integers(-1, 2, m) * 1.0, ~nodes, [*nodes[1:], ~m],
                np.zeros((m + 1, 1)), rng.normal(size=(m + 1, 1, p)))
    tree = tree.sparsify() if is_sparse else tree.densify()
    X = rng.integers(-2, 3, size=(80, p)).astype(dtype)
    samples = np.flatnonzero(rng.random(80) < 0.6).astype(np.int32)
    formed = form(X)
    summary = SampleSummary.of(
        tree, formed, Samples(formed), samples, Moments.of(formed, np.ones(80)))
    left, right, leaf = nearest(tree, X, samples)
    assert_array_equal(summary.left, left)
    assert_array_equal(summary.right, right)
    assert len(set(leaf.tolist())) > 4
    for each in range(tree.n_leaves):
        here = samples[leaf == each]
        mean = X[here].mean(axis=0) if len(here) else np.zeros(p)
        np.testing.assert_allclose(summary.leaf_means[each], mean, rtol=1e-6, atol=1e-6)


def test_a_product_that_is_no_number_stays():
    big = np.finfo(np.float64).max
    tree = Tree([[2.0, 2.0]], [0.0], [~0], [~1], [[0.0], [1.0]])
    X = np.array([[big, -big], [-1.0, -1.0]])
    data, moments = Samples(X), Moments.of(X / big, np.ones(2))
    for order in ([0, 1], [1, 0]):
        summary = SampleSummary.of(tree, X, data, np.array(order, dtype=np.int32), moments)
        assert np.isnan(summary.left[0])
        assert summary.right[0] == np.inf


def test_mean_probabilities_of_linear_leaves():
    rng = np.random.default_rng(0)
    X, samples = rng.normal(size=(50, 3)), np.arange(5, 50, dtype=np.int32)
    tree = Tree([[1.0, 0.0, 0.0]] * 2, [0.0, 9.0], [~0, ~1], [1, ~2], rng.normal(size=(3, 4)),
                rng.normal(size=(3, 4, 3)))
    summary = SampleSummary.of(
        tree, X, Samples(X), samples, Moments.of(X, np.ones(50)), is_classifier=True)
    for leaf in range(2):
        logits = tree.predict(X[samples][tree.apply(X[samples]) == leaf])
        shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(summary.probabilities[leaf], shares.mean(axis=0))
    empty = np.exp(tree.values[2]) / np.exp(tree.values[2]).sum()       # no sample reaches it
    np.testing.assert_allclose(summary.probabilities[2], empty)
    constant = tree.replace(values=tree.values)
    assert SampleSummary.of(constant, X, Samples(X), samples, Moments.of(X, np.ones(50)),
                            is_classifier=True).probabilities is None


@pytest.mark.parametrize("max_depth", [1, 3])
def test_means_of_nodes_are_those_of_weighted_samples(max_depth):
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(200, 2)), rng.integers(0, 4, 200).astype(float)
    y = X[:, 0] + rng.normal(size=200)
    model = ObliqueTreeRegressor(max_depth, optimizer=None).fit(X, y, sample_weight=weight)
    captions, of_leaf = captions_of(model), model.apply(X)
    path = model.decision_path(X).toarray()
    for node in range(model.tree_.n_internal):
        here = path[:, node] > 0
        np.testing.assert_allclose(
            captions.node_predictions()[node], np.average(y[here], weights=weight[here]))
    # Of the root as a leaf, whose samples are gone.
    leaf = Tree(np.empty((0, 2)), [], [], [], [[y.mean()]])
    n_nodes = model.tree_.n_internal + model.tree_.n_leaves
    gone = model._sample_summary.collapse(leaf, np.zeros(n_nodes, dtype=int), np.bincount(of_leaf))
    np.testing.assert_allclose(gone.leaf_weights, [weight.sum()])
    np.testing.assert_allclose(
        model._sample_summary.leaf_weights, np.bincount(of_leaf, weight))
    equal = ObliqueTreeRegressor(max_depth, optimizer=None).fit(X, y, sample_weight=2 * weight**0)
    assert equal._sample_summary.leaf_weights is None


def test_splits_on_single_features_are_found_without_copies_of_the_weights():
    tree = complete_tree(6, 5000)
    weights = tree.weights.copy()
    weights[[0, 3]] = 0.0
    weights[3, 7] = 2.0
    tree = tree.replace(weights=weights)
    tracemalloc.start()
    column, weight = single_features(tree)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 0.5 * weights.nbytes
    assert (column[3], weight[3]) == (7, 2.0)
    assert (np.delete(column, 3) == -1).all()
    assert not np.delete(weight, 3).any()
