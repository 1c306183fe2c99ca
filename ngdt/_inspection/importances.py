"""Feature importances."""

import numpy as np

from ngdt._core.structure import child_ids
from ngdt._util.arrays import group_matrix, row_blocks
from ngdt.pruning._impurity import split_impurities

# Number of weights that are made dense at a time: half a megabyte.
_BLOCK_WEIGHTS = 2**16
# Gain that rounding can explain, relative to the impurity of the root. Alone, it would be scaled
# up to importances that sum to 1.
ROUNDING = 1e-12


def node_gains(tree, targets, predictions=None):
    """Decrease of the error of the samples by each split, and by the slopes of each leaf.

    A split counts by its decrease of the impurity, as in scikit-learn. Slopes of a leaf count by
    the impurity of its samples, times the share of their loss that the slopes save: for the squared
    and the log loss, this is the loss that they save. A model is not fitted at each node: so what a
    split makes possible to slopes below it counts for the slopes.

    Parameters
    ----------
    tree : Tree
    targets : LeafTargets
    predictions : ndarray of shape (n_samples, n_outputs), default=None
        As of `Problem.predictions`. Only linear leaves need them.

    Returns
    -------
    ndarray of shape (n_internal + n_leaves,)
        Not negative; in a unit of their own.
    """
    leaf, y, weight, loss = targets
    share = weight / weight.max()
    impurity = split_impurities(tree, targets._replace(weight=share))
    m, children = tree.n_internal, child_ids(tree)
    gains = np.concatenate(
        [impurity[:m] - impurity[children].sum(axis=1), np.zeros(tree.n_leaves)])
    if tree.slopes is not None:
        constant = targets.fit_leaves(tree)[leaf]
        with np.errstate(over="ignore", invalid="ignore"):
            before, after = (
                np.bincount(leaf, share * loss.value(each, y), tree.n_leaves)
                for each in (constant, predictions))
            saved = 1.0 - after / np.where(before > 0, before, np.inf)
        is_saved = (saved > 0) & (before > 0) & tree.slopes.any(axis=(1, 2))
        gains[m:] = impurity[m:] * np.where(is_saved, saved, 0.0)
    return np.where(gains > ROUNDING * impurity[0], gains, 0.0)


def feature_importances(tree, table, mean, std, gains):
    """Share of each column in what the splits and the linear leaves gain.

    In a node, it is the effect of the column, the standard deviation of what it adds to the score,
    normalised to sum 1. A leaf with slopes counts as one more node: its share is the mean of those
    of the outputs that have slopes there. The importance is the average over nodes and such leaves,
    weighted by what they gain.

    Parameters
    ----------
    tree : Tree
    table : Table
        Says which columns the features encode.
    mean, std : ndarray of shape (n_features,)
        Mean and standard deviation of each feature.
    gains : ndarray of float64, shape (n_internal + n_leaves,)
        As `node_gains` returns them.

    Returns
    -------
    ndarray of shape (n_columns,)
        They add up to 1, or to 0 for a tree whose splits and slopes gain nothing, or are those of
        constant features only.
    """
    shares = _Shares(table, mean, std)
    total = np.zeros(shares.n_columns)
    gains = gains / (gains.max() or 1.0)
    for nodes in row_blocks(tree.weights.shape, _BLOCK_WEIGHTS):
        total += gains[:tree.n_internal][nodes] @ shares(tree.dense_weights(nodes))
    if tree.slopes is not None:
        for leaves in row_blocks((tree.n_leaves, tree.slopes[0].size), _BLOCK_WEIGHTS):
            share = shares(tree.slopes[leaves])
            n_linear = share.any(axis=2).sum(axis=1)    # outputs
            weight = gains[tree.n_internal:][leaves] / np.maximum(n_linear, 1)
            total += weight @ share.sum(axis=1)
    return total / (total.sum() or 1.0)


class _Shares:
    """Effects of the columns, normalised to sum 1 or, where all are zero, 0."""

    def __init__(self, table, mean, std):
        self.std, self.n_columns, self.groups = std, len(table.names), None
        if table.is_identity:
            return
        place = table.column_of
        self.groups = group_matrix(place, self.n_columns).T
        self.is_alone = np.bincount(place, minlength=self.n_columns) == 1
        is_category = np.array([each.kind == "category" for each in table.features], dtype=bool)
        # Share of the samples that have a category. One that all have adds nothing that varies.
        self.p = np.where(is_category & (std > 0) & (mean < 1), mean, 0.0)

    def __call__(self, weights):
        """Shares of shape (..., n_columns) for weights of shape (..., n_features)."""
        share = np.abs(weights) * self.std
        if self.groups is not None:
            share = self._by_column(share, np.sign(weights))
        total = share.sum(axis=-1, keepdims=True)
        return share / np.where(total == 0, 1.0, total)

    def _by_column(self, effect, sign):
        """Effects of columns, from the effects of their features.

        A sample has one of the categories of a column, or their means if it counts as unknown. What
        they add varies by the mean of its square less the square of its mean, and not at all where
        all weigh the same. A number and the indicator that it is missing do not
        correlate, since gaps are filled with the mean.
        """
        p = self.p      # the variance of an indicator is p (1 - p)
        squares = self._sums(effect**2 / (1 - p))
        variance = squares - self._sums(sign * effect * np.sqrt(p / (1 - p))) ** 2
        return np.where(self.is_alone, self._sums(effect), np.sqrt(np.maximum(variance, 0.0)))

    def _sums(self, values):
        flat = values.reshape(-1, values.shape[-1]) @ self.groups
        return flat.reshape(*values.shape[:-1], self.n_columns)


def used_features(tree):
    """The features that have a weight in a split or a slope in a leaf, ascending.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    ndarray of int
    """
    used = tree.sparsify().weights.indices
    if tree.slopes is not None:
        used = np.append(used, np.flatnonzero(tree.slopes.any(axis=(0, 1))))
    return np.unique(used)
