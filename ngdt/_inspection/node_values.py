"""What a tree predicts on average for the samples of each node."""

import numpy as np
from scipy.special import softmax

from ngdt._core.structure import constant_predictions, node_means


def node_predictions(labels):
    """Mean prediction for the samples of each node, by their weights: probabilities, or values.

    Parameters
    ----------
    labels : TreeLabels

    Returns
    -------
    ndarray of shape (n_internal + n_leaves, n_outputs)
        Nodes come first, then leaves. A linear leaf counts by the mean probabilities of its
        samples, or by its value at their mean. NaN where samples are not known, but for constant
        leaves.
    """
    tree, weights = labels.tree, labels.leaf_weights
    at_leaf = constant_predictions(tree) if labels.summary is None else (
        labels.summary.leaf_averages())
    if labels.class_names is not None:
        at_leaf = softmax(at_leaf, axis=1)
        # Not known of models that an earlier version has saved.
        if labels.summary is not None and labels.summary.probabilities is not None:
            is_linear = tree.slopes.any(axis=(1, 2))
            at_leaf[is_linear] = labels.summary.probabilities[is_linear]
    if weights is None:
        return np.vstack([np.full((tree.n_internal, tree.n_outputs), np.nan), at_leaf])
    return node_means(tree, at_leaf, weights)


def place_between(value, low, high):
    """Where a value lies between two others: 0 at the lower one, 1 at the higher one."""
    # Halved, as the difference may overflow.
    return (value / 2 - low / 2) / ((high / 2 - low / 2) or 1.0)
