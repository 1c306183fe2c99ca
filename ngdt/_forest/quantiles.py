"""Quantiles of the training targets in the leaves that a sample reaches in all trees."""

import numpy as np

from ngdt._core.quantiles import LeafQuantiles

# Number of targets that are sorted at a time, about.
MAX_POOLED = 1_000_000


def pooled_quantiles(estimators, leaves, data, quantiles):
    """Quantiles for each sample; each tree has the same influence.

    Parameters
    ----------
    estimators : list of ObliqueTreeRegressor
    leaves : ndarray of int, shape (n_samples, n_trees)
    data : Samples
        For the predictions of linear leaves, from which the targets differ.
    quantiles : ndarray of shape (n_quantiles,)

    Returns
    -------
    ndarray of shape (n_samples, n_quantiles, n_targets)
    """
    trees = [(estimator._leaf_quantiles, leaf, _shift(estimator.tree_, leaf, data))
             for estimator, leaf in zip(estimators, leaves.T, strict=True)]
    n_pooled = sum(stored.sizes(leaf) for stored, leaf, _ in trees)
    found = np.empty((len(leaves), len(quantiles), trees[0][0].targets.shape[1]))
    block = np.cumsum(n_pooled) // MAX_POOLED
    for rows in np.split(np.arange(len(leaves)), np.flatnonzero(np.diff(block)) + 1):
        pooled = LeafQuantiles.pool([
            stored.take(leaf[rows], None if shift is None else shift[rows])
            for stored, leaf, shift in trees])
        found[rows] = pooled.quantiles(quantiles)
    return found


def _shift(tree, leaf, data):
    """By how much the prediction for each sample differs from the value of its leaf."""
    if tree.slopes is None:
        return None
    leaf = np.ascontiguousarray(leaf)
    return tree.leaf_predictions(leaf, data) - tree.values[leaf]
