"""Impurity and training error of every node of a tree, for samples whose leaves are known.

The functions take the same arguments: a tree, the leaf of each sample, targets as `Loss.encode`
returns them, positive weights, and a loss, which decides what is measured. They return one number
for each node, then for each leaf, not divided by the weight.
"""

import numpy as np
from scipy.special import xlogy

from ngdt._core.loss import class_weights
from ngdt._core.structure import levels, sums_below


def node_impurities(tree, leaf, y, weight, loss):
    """Impurity of each node and leaf, times the weight of its samples.

    Parameters
    ----------
    tree : Tree
    leaf : ndarray of int, shape (n_samples,)
    y : ndarray of float64, shape (n_samples, n_targets)
    weight : ndarray of float64, shape (n_samples,)
    loss : Loss

    Returns
    -------
    ndarray of shape (n_internal + n_leaves,)
        Entropies in bits, squared deviations from the mean, summed over the targets, or the least
        sum of another loss.
    """
    if loss.is_classifier:
        return _entropy(_class_weights(tree, leaf, y, weight))
    if loss.is_squared:
        return _squared_error(tree, leaf, y, weight)
    return _least_loss(tree, leaf, y, weight, loss)


def split_impurities(tree, leaf, y, weight, loss):
    """Impurity that greedy splits decrease, of each node and leaf, times the weight of its samples.

    For the squared loss and classes, they are proportional to `node_impurities`. The least sums of
    other losses take about as long as to grow the tree.

    Returns
    -------
    ndarray of shape (n_internal + n_leaves,)
        Entropies in bits, or squared deviations of `Loss.split_targets`, in a unit in which none
        overflows.
    """
    if loss.is_classifier:
        return node_impurities(tree, leaf, y, weight, loss)
    targets = loss.split_targets(y, weight)
    return _squared_error(tree, leaf, targets / (np.abs(targets).max() or 1.0), weight)


def node_errors(tree, leaf, y, weight, loss):
    """Error of each node as a leaf, and of each leaf, with their best values.

    Returns
    -------
    ndarray of shape (n_internal + n_leaves,)
        Weight of the misclassified samples, or the sum of their losses.
    """
    if loss.is_classifier:
        count = _class_weights(tree, leaf, y, weight)
        return count.sum(axis=1) - count.max(axis=1)
    return node_impurities(tree, leaf, y, weight, loss)


def _class_weights(tree, leaf, y, weight):
    """Weight of each class at each node and leaf, up to the last class that occurs."""
    n_classes = int(y.max()) + 1
    return sums_below(tree, class_weights(leaf, y, weight, tree.n_leaves, n_classes))


def _entropy(count):
    """Entropy in bits times weight."""
    total = count.sum(axis=1)
    return (xlogy(total, total) - xlogy(count, count).sum(axis=1)) / np.log(2.0)


def _squared_error(tree, leaf, y, weight):
    """Sum of squared deviations from the mean, over all targets."""
    # Far from zero, the difference of the squares below would be lost to rounding.
    y = y - np.average(y, axis=0, weights=weight)
    moments = weight[:, None] * np.concatenate([np.ones((len(y), 1)), y, y**2], axis=1)
    at_leaf = np.zeros((tree.n_leaves, moments.shape[1]))
    np.add.at(at_leaf, leaf, moments)
    total, sums, squares = np.split(sums_below(tree, at_leaf), [1, 1 + y.shape[1]], axis=1)
    total = np.maximum(total, np.finfo(float).tiny)
    return np.maximum(squares - sums * (sums / total), 0.0).sum(axis=1)


def _least_loss(tree, leaf, y, weight, loss):
    """Sum of the losses at the best values."""
    total = np.zeros(tree.n_internal + tree.n_leaves)
    for level in levels(tree):
        samples = np.flatnonzero(level[leaf] >= 0)
        if len(samples) == 0:
            break
        nodes, at = np.unique(level[leaf[samples]], return_inverse=True)
        values = loss.fit_leaves(at, y[samples], weight[samples], len(nodes), tree.n_outputs)
        losses = weight[samples] * loss.value(values[at], y[samples])
        total[nodes] = np.bincount(at, losses, len(nodes))
    return total
