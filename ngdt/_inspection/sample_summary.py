"""Statistics of the training samples for text and plots."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.special import softmax

from ngdt._core.structure import constant_predictions
from ngdt._core.tree import Tree
from ngdt._util.arrays import as_dense, group_matrix


@dataclass(frozen=True, eq=False)
class SampleSummary:
    """Statistics of samples: the spread of each feature, and the gap between them at each split.

    The samples of a node are compared by their products with its weights. At a split on a single
    feature these are the values of the feature, times -1 if its weight is negative.

    Attributes
    ----------
    tree : Tree
    mean, std : ndarray of shape (n_features,)
        Mean and standard deviation of each feature.
    low, high : ndarray of shape (n_features,)
        Smallest and largest value of each feature.
    left, right : ndarray of shape (n_internal,)
        The largest product of the samples that go left, and the smallest of those that go right;
        -inf and inf where there are none. Any threshold from `left` on and below `right` splits
        these samples as the tree does.
    leaf_means : ndarray of shape (n_leaves, n_features), or None
        Mean of the samples of each leaf; zero where there are none. None for constant leaves.
    spans : ndarray of shape (n_outputs,), or None
        Largest minus smallest prediction or, where all are equal, its size. None for constant
        leaves.
    probabilities : ndarray of shape (n_leaves, n_classes), or None
        Mean probabilities of the classes for the samples of each leaf; those at the mean where
        there are none. None for constant leaves, and for regression.
    gains : ndarray of shape (n_internal + n_leaves,), or None
        By how much splits and slopes lower the error: see `importances.node_gains`.
        None where the targets of the samples are not known.
    leaf_weights : ndarray of shape (n_leaves,), or None
        Weight of the samples of each leaf. None where all samples have the same.
    """

    tree: Tree
    mean: np.ndarray
    std: np.ndarray
    low: np.ndarray
    high: np.ndarray
    left: np.ndarray
    right: np.ndarray
    leaf_means: np.ndarray | None = None
    spans: np.ndarray | None = None
    probabilities: np.ndarray | None = None
    gains: np.ndarray | None = None
    leaf_weights: np.ndarray | None = None

    @classmethod
    def of(cls, tree, X, data, samples, moments, is_classifier=False):
        """Summary of the samples at the nodes of a tree; costs about as much as a prediction.

        Parameters
        ----------
        tree : Tree
        X : ndarray or CSR matrix of shape (n_samples, n_features)
        data : Samples
            The same samples as kernels read them.
        samples : ndarray of int32, shape (n,)
            Indices of the samples.
        moments : Moments
            The moments of these samples.
        is_classifier : bool, default=False
            Whether the outputs of the tree are logits of classes.
        """
        left, right, leaf = tree._nearest_products(data, samples, *single_features(tree))
        of_leaves = () if tree.slopes is None else (
            _at_leaves(tree, X, data, samples, leaf, is_classifier))
        return cls(
            tree, moments.mean, moments.std, moments.low, moments.high, left, right, *of_leaves)

    def center_and_half_range(self, features):
        """Middle and half width of the range of some features."""
        # Halved first, as sums may overflow.
        low, high = (0.5 * end[features].astype(np.float64) for end in (self.low, self.high))
        return high + low, high - low

    def leaf_averages(self):
        """Prediction of each leaf at the mean of its samples, shape (n_leaves, n_outputs)."""
        tree = self.tree
        if tree.slopes is None:
            return tree.values
        with np.errstate(over="ignore", invalid="ignore"):
            averages = np.nan_to_num(
                tree.values + np.einsum("lkj,lj->lk", tree.slopes, self.leaf_means))
        return averages if tree.ranges is None else np.clip(
            averages, tree.ranges[..., 0], tree.ranges[..., 1])

    def collapse(self, tree, place, n_samples_at_leaf):
        """The summary for the tree with some nodes turned into leaves.

        Parameters
        ----------
        tree : Tree
            The smaller one.
        place : ndarray of int, shape (n_internal + n_leaves,)
            What each node and leaf has become, as `ngdt.pruning._replace.places` returns it.
        n_samples_at_leaf : ndarray of int, shape (n_leaves,)
        """
        m, leaf = self.tree.n_internal, place[self.tree.n_internal:] - tree.n_internal
        nodes = np.flatnonzero(place[:m] < tree.n_internal)
        is_linear, probabilities = tree.slopes is not None, None

        def mean(at_leaf):
            count = group_matrix(leaf, tree.n_leaves, n_samples_at_leaf)
            return count @ at_leaf / np.maximum(count.sum(axis=1), 1)[:, None]

        is_kept = np.bincount(place)[place] == 1    # others are a node and what is below it
        gains = np.zeros(tree.n_internal + tree.n_leaves)
        gains[place[is_kept]] = self.gains[is_kept]
        weights = None if self.leaf_weights is None else (
            np.bincount(leaf, self.leaf_weights, tree.n_leaves))
        if is_linear and self.probabilities is not None:
            # Those of new leaves are constant, or follow from the means of the samples.
            probabilities = np.where(
                np.isnan(constant_predictions(tree)), mean(self.probabilities),
                softmax(tree.values, axis=1))
            probabilities[leaf[is_kept[m:]]] = self.probabilities[is_kept[m:]]
        return replace(self, tree=tree, left=self.left[nodes], right=self.right[nodes],
                       leaf_means=mean(self.leaf_means) if is_linear else None,
                       spans=self.spans if is_linear else None,
                       probabilities=probabilities, gains=gains, leaf_weights=weights)


def _at_leaves(tree, X, data, samples, leaf, is_classifier):
    """Means of the samples of each leaf, spans of the predictions, and mean probabilities."""
    counts = np.bincount(leaf, minlength=tree.n_leaves)
    share = 1.0 / counts[leaf]      # of each sample in the mean of its leaf
    means = sparse.csr_array((share, (leaf, samples)), shape=(tree.n_leaves, X.shape[0])) @ X
    predictions = tree.leaf_predictions(leaf, data, samples)
    with np.errstate(over="ignore"):
        spans = np.ptp(predictions, axis=0)
    spans = np.where(spans > 0, spans, np.abs(predictions).max(axis=0))
    probabilities = None
    if is_classifier:
        probabilities = group_matrix(leaf, tree.n_leaves, share) @ softmax(predictions, axis=1)
        probabilities[counts == 0] = softmax(tree.values[counts == 0], axis=1)
    return as_dense(means), spans, probabilities


def single_features(tree):
    """The feature and the weight of each split on a single feature; -1 and 0 for other splits."""
    weights = tree.weights
    counts = np.diff(weights.indptr) if tree.is_sparse else np.count_nonzero(weights, axis=1)
    alone = np.flatnonzero(counts == 1)     # places of all weights are several times their size
    part = weights[alone]
    column, weight = np.full(tree.n_internal, -1, dtype=np.int32), np.zeros(tree.n_internal)
    column[alone] = part.nonzero()[1]
    weight[alone] = part.data if tree.is_sparse else part[np.arange(len(alone)), column[alone]]
    return column, weight
