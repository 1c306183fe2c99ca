"""Contributions of features to the prediction of a tree, along the path of a sample.

On the way from the root to a leaf, the mean prediction for the training samples changes from node
to node. The changes add up to the prediction of the leaf minus that of the root. Each is divided
among the terms of the decision. A linear leaf goes on from the mean of its training samples to the
sample, in a straight line.
"""

import numpy as np
from scipy.special import softmax

from ngdt._core.structure import child_ids, node_means, paths
from ngdt._util.arrays import power_of_two

# Points between -1, the mean of a leaf, and 1, a sample, at which probabilities are evaluated, and
# their weights, which add up to 2.
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(32)
# Change of logits that these points resolve, and lead of a class beside which others do not matter.
_REACH, _LEAD = 16.0, 40.0
# Largest term of a linear leaf, and change of logits beyond which no probability changes.
_MOST, _FAR = 1e300, 1e12


def values_at_nodes(tree, averages, n_samples_at_leaf, is_classifier):
    """Mean prediction for the training samples of each node, then of each leaf.

    Parameters
    ----------
    tree : Tree
    averages : ndarray of shape (n_leaves, n_outputs)
        As of `SampleSummary.leaf_averages`.
    n_samples_at_leaf : ndarray of shape (n_leaves,)
    is_classifier : bool
        Whether predictions are probabilities.

    Returns
    -------
    ndarray of shape (n_internal + n_leaves, n_outputs)
    """
    at_leaf = softmax(averages, axis=1) if is_classifier else averages
    # Nodes that no training sample reached have no mean, but the path of a new one may have them.
    return np.nan_to_num(node_means(tree, at_leaf, np.asarray(n_samples_at_leaf)))


def contributions_of_leaf(tree, leaf, x, leaf_mean, is_classifier):
    """Contributions of the features in a linear leaf.

    For regression, its slope times the difference from the mean; where the prediction is cut at the
    range of the leaf, all are cut in proportion. For classification, the integrated gradient of the
    probabilities (Sundararajan, Taly & Yan, 2017): as a sample moves from the mean to x, each
    feature gets what its change does at each point.

    Parameters
    ----------
    tree : Tree
        With slopes.
    leaf : int
    x, leaf_mean : ndarray of shape (n_features,)
        The sample, and the mean of the training samples of the leaf.
    is_classifier : bool

    Returns
    -------
    ndarray of shape (n_features, n_outputs)
        They add up to the prediction for x minus that for the mean.
    """
    slopes = tree.slopes[leaf]
    # Near the largest number, sums would overflow.
    terms = np.clip(slopes * (x - leaf_mean), -_MOST, _MOST).T
    start, change = tree.values[leaf] + slopes @ leaf_mean, terms.sum(axis=0)
    if not is_classifier:
        if tree.ranges is not None:
            ends = np.array([start, start + change])
            cut = np.clip(ends, *tree.ranges[leaf].T)
            is_cut = (cut != ends).any(axis=0)
            terms[:, is_cut] *= ((cut[1] - cut[0]) / np.where(change == 0, 1.0, change))[is_cut]
        return terms
    # No part is too short for a number: the way ends where nothing changes any more.
    shorter = min(1.0, _FAR / max(np.abs(change).max(), 1.0))
    terms, change = terms * shorter, change * shorter
    begin, end = _parts(start, change)[..., None]
    weights = ((end - begin) * _WEIGHTS / 2).ravel()
    points = (end - (end - begin) * (1.0 - _POINTS) / 2).ravel()
    proba = softmax(start + np.outer(points, change), axis=1)
    products = proba.T @ (weights[:, None] * proba)
    # Class after class: nothing is lost where one is almost sure.
    return sum((terms - terms[:, [k]]) * product for k, product in enumerate(products))


def _parts(start, change):
    """Begin and end of the parts of a way, as two rows; the points resolve what changes in each.

    As a sample moves, its probabilities change where another class gets ahead: parts there are
    halved until they are short enough.
    """
    parts, found = np.array([[0.0], [1.0]]), []
    while parts.size:
        logits = start + parts[..., None] * change      # at both ends
        best = logits.argmax(axis=2)
        matters = (logits > logits.max(axis=2, keepdims=True) - _LEAD).any(axis=0)
        matters |= (best[0] != best[1])[:, None]
        spread = (np.where(matters, change, -np.inf).max(axis=1)
                  - np.where(matters, change, np.inf).min(axis=1))
        is_long = (parts[1] - parts[0]) * spread > _REACH
        found.append(parts[:, ~is_long])
        begin, end = parts[:, is_long]
        middle = (begin + end) / 2
        parts = np.hstack([[begin, middle], [middle, end]])
    return np.hstack(found)


def contributions(tree, values, leaf, x, mean, std):
    """Contributions of the features to the value of the leaf of a sample.

    A change of the value is divided among the features whose terms speak for the side that the
    sample goes to, by the sizes of these terms; where none does, since the mean sample goes there
    too, among all by their effects. At a split on one feature, that feature gets all of it.

    Parameters
    ----------
    tree : Tree
    values : ndarray of shape (n_internal + n_leaves, n_outputs)
        As `values_at_nodes` returns them.
    leaf : int
    x, mean, std : ndarray of shape (n_features,)
        The sample, and moments of the training samples.

    Returns
    -------
    ndarray of shape (n_features, n_outputs)
        With the value of the root, they add up to the value of the leaf.
    """
    total, path = np.zeros((tree.n_features, tree.n_outputs)), paths(tree, [leaf])
    children = child_ids(tree)
    weights = tree.dense_weights(path.indices)
    for node, side, w in zip(path.indices, path.data, weights, strict=True):
        change = values[children[node, int(side > 0)]] - values[node]
        features = np.flatnonzero(w)
        away = x[features] - mean[features]
        # Shares have no unit: in that of the largest difference, none overflows.
        terms = side * w[features] * (away / power_of_two(np.abs(away).max(initial=0.0)))
        share = np.maximum(terms, 0.0)
        if not share.any():
            share = np.abs(w[features]) * std[features]
        if not share.any():
            share = np.ones(len(features))
        total[features] += np.outer(share / share.sum(), change)
    return total
