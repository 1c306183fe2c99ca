"""Greedy trees by exhaustive search, in plain numpy: the reference for the split search."""

import numpy as np


def entropy(y, weight):
    """Entropy in bits of the weighted classes y (n, 1), times the weight."""
    share = np.bincount(y[:, 0].astype(int), weights=weight)
    share = share[share > 0] / share.sum()
    return -weight.sum() * (share * np.log2(share)).sum()


def variance(y, weight):
    """Weighted sum of squared deviations of y (n, q)."""
    mean = np.average(y, axis=0, weights=weight)
    return (weight[:, None] * (y - mean) ** 2).sum()


def midpoint(low, high):
    middle = 0.5 * low + 0.5 * high
    return middle if low <= middle < high else low


def splits(X, y, weight, impurity, min_leaf=1):
    """All (gain, feature, threshold) with so many samples on either side, by feature and threshold.

    Samples are counted whatever their weight; all weights are positive.
    """
    whole = impurity(y, weight)
    for feature in range(X.shape[1]):
        values = np.unique(X[:, feature]).astype(np.float64)
        for threshold in map(midpoint, values[:-1], values[1:]):
            left = X[:, feature] <= threshold
            if min(left.sum(), (~left).sum()) >= min_leaf:
                yield (whole - impurity(y[left], weight[left])
                       - impurity(y[~left], weight[~left]), feature, threshold)


def best_split(X, y, weight, impurity, min_leaf=1):
    """The first of the best splits (gain, feature, threshold), or None."""
    found = list(splits(X, y, weight, impurity, min_leaf))
    if not found or (y == y[0]).all():
        return None
    enough = max(gain for gain, _, _ in found) - 1e-9 * impurity(y, weight)
    return next(split for split in found if split[0] >= enough)


def grow(X, y, weight, impurity, max_depth=None, min_leaf=1):
    """Nested (feature, threshold, left, right); a leaf is the tuple of its samples."""

    def node(rows, depth):
        split = None
        if depth != max_depth:
            split = best_split(X[rows], y[rows], weight[rows], impurity, min_leaf)
        if split is None:
            return tuple(rows.tolist())
        _, feature, threshold = split
        left = X[rows, feature] <= threshold
        return (feature, threshold, node(rows[left], depth + 1), node(rows[~left], depth + 1))

    return node(np.flatnonzero(weight > 0), 0)
