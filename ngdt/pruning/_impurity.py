"""Impurity and training error of every node of a tree, for samples whose leaves are known.

The functions return one number for each node, then for each leaf, not divided by the weight.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from ngdt._core.loss import Loss, class_weights
from ngdt._core.structure import levels, sums_below


class LeafTargets(NamedTuple):
    """Targets of samples, by the leaves that the samples reach.

    Attributes
    ----------
    leaf : ndarray of int, shape (n_samples,)
    y : ndarray of float64, shape (n_samples, n_targets)
        As `Loss.encode` returns them.
    weight : ndarray of float64, shape (n_samples,)
        Positive.
    loss : Loss
        Decides what is measured.
    """

    leaf: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    loss: Loss

    @classmethod
    def of(cls, problem, leaf, samples):
        """The targets of some training samples of a problem."""
        return cls(leaf, problem.y[samples], problem.sample_weight[samples], problem.loss)

    def fit_leaves(self, tree):
        """Best values of the leaves of a tree, shape (n_leaves, n_outputs)."""
        return self.loss.fit_leaves(self.leaf, self.y, self.weight, tree.n_leaves, tree.n_outputs)


def node_impurities(tree, targets):
    """Impurity of each node and leaf, times the weight of its samples.

    Parameters
    ----------
    tree : Tree
    targets : LeafTargets

    Returns
    -------
    ndarray of shape (n_internal + n_leaves,)
        Entropies in bits, squared deviations from the mean, summed over the targets, or the least
        sum of another loss.
    """
    if targets.loss.is_classifier:
        count = _class_weights(tree, targets)
        total = count.sum(axis=1)
        return (xlogy(total, total) - xlogy(count, count).sum(axis=1)) / np.log(2.0)
    return (_squared_error if targets.loss.is_squared else _least_loss)(tree, targets)


def split_impurities(tree, targets):
    """Impurity that greedy splits decrease, of each node and leaf, times the weight of its samples.

    For the squared loss and classes, they are proportional to `node_impurities`. The least sums of
    other losses take about as long as to grow the tree.

    Returns
    -------
    ndarray of shape (n_internal + n_leaves,)
        Entropies in bits, or squared deviations of `Loss.split_targets`, in a unit in which none
        overflows.
    """
    if targets.loss.is_classifier:
        return node_impurities(tree, targets)
    y = targets.loss.split_targets(targets.y, targets.weight)
    return _squared_error(tree, targets._replace(y=y / (np.abs(y).max() or 1.0)))


def node_errors(tree, targets):
    """Error of each node as a leaf, and of each leaf, with their best values.

    Returns
    -------
    ndarray of shape (n_internal + n_leaves,)
        Weight of the misclassified samples, or the sum of their losses.
    """
    if targets.loss.is_classifier:
        count = _class_weights(tree, targets)
        return count.sum(axis=1) - count.max(axis=1)
    return node_impurities(tree, targets)


def _class_weights(tree, targets):
    """Weight of each class at each node and leaf, up to the last class that occurs."""
    leaf, y, weight, _ = targets
    n_classes = int(y.max()) + 1
    return sums_below(tree, class_weights(leaf, y, weight, tree.n_leaves, n_classes))


def _squared_error(tree, targets):
    """Sum of squared deviations from the mean, over all targets."""
    leaf, y, weight, _ = targets
    # Far from zero, the difference of the squares below would be lost to rounding.
    y = y - np.average(y, axis=0, weights=weight)
    moments = weight[:, None] * np.concatenate([np.ones((len(y), 1)), y, y**2], axis=1)
    at_leaf = np.zeros((tree.n_leaves, moments.shape[1]))
    np.add.at(at_leaf, leaf, moments)
    total, sums, squares = np.split(sums_below(tree, at_leaf), [1, 1 + y.shape[1]], axis=1)
    total = np.maximum(total, np.finfo(float).tiny)
    return np.maximum(squares - sums * (sums / total), 0.0).sum(axis=1)


def _least_loss(tree, targets):
    """Sum of the losses at the best values."""
    leaf, y, weight, loss = targets
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
