"""Trees of a forest that is pruned, and the held-out samples that score it."""

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from ngdt._core.r2 import r2
from ngdt._core.samples import Samples
from ngdt._core.structure import node_means, sums_below
from ngdt._core.tree import Tree
from ngdt._util.arrays import group_matrix
from ngdt.pruning._replace import as_leaf_values, collapse_to, places
from ngdt.pruning._sequence import sequence_of_costs

# Count of a leaf without training samples: small, but positive.
FEW = 1e-6


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Samples that the forest was not trained on, and its errors and scores on them.

    Attributes
    ----------
    data : Samples
        Encoded as the trees read them.
    y : ndarray of shape (n_samples, n_outputs)
        Targets; for classification, 1 for the class of the sample, else 0.
    weight : ndarray of shape (n_samples,)
        Not negative, not all zero.
    center, scale : ndarray of shape (n_outputs,)
        Origin and unit of predictions.
    is_classifier : bool
    """

    data: Samples
    y: np.ndarray
    weight: np.ndarray
    center: np.ndarray
    scale: np.ndarray
    is_classifier: bool

    @property
    def root_weight(self):
        """Square root of the share of each sample in the error, shape (n_samples, 1)."""
        n_means = 1 if self.is_classifier else self.y.shape[1]
        return np.sqrt(self.weight / self.weight.sum() / n_means)[:, None]

    def predict(self, tree, leaf):
        """Probabilities, or values, by a tree, for samples whose leaves are known."""
        predictions = tree.leaf_predictions(leaf, self.data)
        return softmax(predictions, axis=1) if self.is_classifier else predictions

    def errors(self, predictions):
        """Predictions minus targets; their squared length is the error.

        Parameters
        ----------
        predictions : ndarray of shape (..., n_samples, n_outputs)
        """
        return self.root_weight * ((predictions - self.y) / self.scale)

    def score(self, predictions):
        """Accuracy, or R2."""
        if self.is_classifier:
            return np.average(self._shares(predictions), weights=self.weight)
        present = self.weight > 0       # the squares of others may overflow
        return r2(self.y[present], predictions[present], self.weight[present])

    def standard_error(self, predictions, others):
        """Standard error of the difference between the scores of two predictions.

        It is paired: samples on which both are equally right or wrong do not add to it.
        """
        share = self.weight / self.weight.sum()
        with np.errstate(over="ignore", invalid="ignore"):
            difference = np.where(
                share > 0, self._shares(predictions) - self._shares(others), 0.0)
        n = np.count_nonzero(share)
        square = (share**2) @ (difference - share @ difference) ** 2
        return np.sqrt(square * n / max(1, n - 1))

    def _shares(self, predictions):
        """Term of each sample in the score; the mean is the score, up to a constant."""
        if self.is_classifier:
            return (self.y.argmax(axis=1) == predictions.argmax(axis=1)).astype(np.float64)
        return -(((predictions - self.y) / self.scale) ** 2).mean(axis=1)


@dataclass(frozen=True, eq=False)
class Member:
    """Tree of a forest that is pruned.

    Attributes
    ----------
    place : int
        Index of the tree in the whole forest.
    tree : Tree
    counts : ndarray of shape (n_leaves,)
        Number of training samples in each leaf, positive.
    means : ndarray of shape (n_leaves, n_outputs)
        Mean prediction for the training samples: probabilities, or values.
    leaf : ndarray of int, shape (n_samples,)
        Leaf of each held-out sample.
    predictions : ndarray of shape (n_samples, n_outputs)
        Probabilities, or values, for the held-out samples.
    """

    place: int
    tree: Tree
    counts: np.ndarray
    means: np.ndarray
    leaf: np.ndarray
    predictions: np.ndarray

    @classmethod
    def of(cls, place, tree, counts, means, held_out):
        """Make a member: a tree with its predictions for held-out samples."""
        leaf = tree.apply_samples(held_out.data)
        return cls(place, tree, np.maximum(counts, FEW), means, leaf, held_out.predict(tree, leaf))

    def costs(self, means, errors, n_trees, held_out):
        """Error of the forest on the samples of each node as a leaf, and of each leaf as it is.

        Parameters
        ----------
        means : ndarray of shape (n_internal + n_leaves, n_outputs)
            What each node predicts as a leaf.
        errors : ndarray of shape (n_samples, n_outputs)
            Errors of the forest, with this tree.
        n_trees : int
            Number of trees of the forest.
        held_out : HeldOut

        Returns
        -------
        ndarray of shape (n_internal + n_leaves,)
        """
        tree, root = self.tree, held_out.root_weight
        unit = held_out.scale * n_trees
        others = errors - root * ((self.predictions - held_out.center) / unit)
        moments = np.column_stack([
            (errors**2).sum(axis=1), (others**2).sum(axis=1), root**2, root * others])
        at_leaf = group_matrix(self.leaf, tree.n_leaves) @ moments
        present, without, weight, *products = sums_below(tree, at_leaf).T
        share = (means - held_out.center) / unit
        cost = without + 2.0 * (share.T * products).sum(axis=0) + (share**2).sum(axis=1) * weight
        cost[tree.n_internal:] = present[tree.n_internal:]
        return cost

    def pruned(self, alpha, errors, n_trees, held_out):
        """Prune to the best subtree for an alpha, while the other trees stay as they are.

        Parameters
        ----------
        alpha : float
            Cost of a leaf.
        errors, n_trees, held_out
            As for `costs`.

        Returns
        -------
        Member
            This one itself, if nothing is pruned. A new leaf predicts the mean of the predictions
            that the training samples of its node had.
        """
        if self.tree.n_internal == 0:
            return self
        means = node_means(self.tree, self.means, self.counts)
        cost = self.costs(means, errors, n_trees, held_out)
        is_leaf = sequence_of_costs(self.tree, cost).is_leaf(alpha)
        return self._collapsed(is_leaf, means, held_out) if is_leaf.any() else self

    def _collapsed(self, is_leaf, means, held_out):
        """Turn some nodes into leaves."""
        tree = self.tree
        smaller = collapse_to(tree, is_leaf, as_leaf_values(means, held_out.is_classifier))
        place = places(tree, smaller)
        _, topmost = np.unique(place, return_index=True)    # parents come before children
        new_leaf = place[tree.n_internal:] - smaller.n_internal
        leaf = new_leaf[self.leaf]
        return Member(
            self.place, smaller, np.bincount(new_leaf, self.counts),
            means[topmost[smaller.n_internal:]], leaf, held_out.predict(smaller, leaf))
