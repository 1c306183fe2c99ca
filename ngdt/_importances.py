"""Feature importances."""

import numpy as np

from ngdt._scaling import row_blocks
from ngdt._structure import sums_below

# Number of weights that are made dense at a time: half a megabyte.
_BLOCK_WEIGHTS = 2**16


def feature_importances(tree, std, sample_weight_at_leaf):
    """Share of each feature in the splits and in the linear leaves.

    In a node, it is the effect of the feature, absolute weight times standard deviation, normalised
    to sum 1. A leaf with slopes counts as one more node: its share is the mean of those of the
    outputs that have slopes there. The importance is the average over nodes and such leaves,
    weighted by the samples that reach them.

    Parameters
    ----------
    tree : Tree
    std : ndarray of shape (n_features,)
        Standard deviation of each feature.
    sample_weight_at_leaf : ndarray of float64, shape (n_leaves,)
        Weight of the samples that reach each leaf.

    Returns
    -------
    ndarray of shape (n_features,)
        They add up to 1, or to 0 for a tree without splits and slopes, or with those of constant
        features only.
    """
    total = np.zeros(tree.n_features)
    weighted_n_node_samples = sums_below(
        tree, sample_weight_at_leaf / sample_weight_at_leaf.max())
    for nodes in row_blocks(tree.weights, _BLOCK_WEIGHTS):
        share = _shares(tree.dense_weights(nodes), std)
        total += weighted_n_node_samples[:tree.n_internal][nodes] @ share
    if tree.slopes is not None:
        for leaves in row_blocks(tree.slopes.reshape(tree.n_leaves, -1), _BLOCK_WEIGHTS):
            share = _shares(tree.slopes[leaves], std)
            n_linear = share.any(axis=2).sum(axis=1)    # outputs
            weight = weighted_n_node_samples[tree.n_internal:][leaves] / np.maximum(n_linear, 1)
            total += weight @ share.sum(axis=1)
    return total / (total.sum() or 1.0)


def _shares(weights, std):
    """Effects, normalised to sum 1 or, where all are zero, 0; shape (..., n_features)."""
    share = effects(weights, std)
    total = share.sum(axis=-1, keepdims=True)
    share /= np.where(total == 0, 1.0, total)
    return share


def effects(weights, std):
    """Absolute weights times standard deviations: how much each feature moves a weighted sum.

    Parameters
    ----------
    weights : ndarray of shape (..., n_features)
    std : ndarray of shape (n_features,)

    Returns
    -------
    ndarray of shape (..., n_features)
        In units of a power of two near the largest of each node, in which nothing overflows.
    """
    size, size_exponent = np.frexp(np.abs(weights))
    spread, spread_exponent = np.frexp(std)
    product, exponent = size * spread, size_exponent + spread_exponent
    unit = np.where(product == 0, -3000, exponent).max(axis=-1, keepdims=True, initial=-3000)
    # A product of zero has any exponent.
    return np.ldexp(product, np.minimum(exponent - unit, 0))
