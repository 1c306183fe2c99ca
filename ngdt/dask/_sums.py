"""Exact sums over partitions, from which leaves, errors and limits follow."""

from dataclasses import dataclass
from itertools import chain

import numpy as np

from ngdt._core.loss import class_weights
from ngdt._core.quantiles import MAX_STORED, LeafQuantiles
from ngdt._inspection.sample_summary import SampleSummary
from ngdt._training.folds import Score
from ngdt._training.size_limits import subtree_within_limits
from ngdt.pruning._impurity import LeafTargets
from ngdt.pruning._unused import keep_reached

# Indices of the training and validation samples in the sums.
TRAINING, VALIDATION = range(2)
# Sums of the scores of validation samples that each block gives at most: they are as many for any
# number of samples, and a hundred blocks tell the spread of a lead to a hundredth.
MAX_SCORES = 100


@dataclass(frozen=True, eq=False)
class LeafSums:
    """Sums over the training and validation samples of each leaf.

    Attributes
    ----------
    count : ndarray of int, shape (2, n_leaves)
        Number of samples.
    sums : ndarray of shape (2, n_leaves, n_sums)
        Weight of each class; or the weight and, of each target, the weighted sums of the values and
        of the squares.
    loss : Loss
    """

    count: np.ndarray
    sums: np.ndarray
    loss: object

    @classmethod
    def of(cls, block, tree):
        """Sums of a block, of near targets."""
        problem = block.problem
        leaf = problem.apply(tree, np.arange(problem.X.shape[0], dtype=np.int32))
        return cls.of_leaves(problem, tree, leaf, problem.y, block.weights)

    @classmethod
    def of_leaves(cls, problem, tree, leaf, y, weights):
        """Sums of samples with these leaves, targets and weights of both kinds."""
        count = np.stack([
            np.bincount(leaf[weight > 0], minlength=tree.n_leaves) for weight in weights])
        if problem.loss.is_classifier:
            sums = np.stack([class_weights(leaf, y, weight, tree.n_leaves, problem.n_outputs)
                             for weight in weights])
            return cls(count, sums, problem.loss)
        columns = np.hstack([np.ones((len(leaf), 1)), y, y**2])
        sums = np.stack([np.stack([
            np.bincount(leaf, weight * column, tree.n_leaves) for column in columns.T], axis=1)
            for weight in weights])
        return cls(count, sums, problem.loss)

    @classmethod
    def add(cls, found):
        return cls(sum(each.count for each in found), sum(each.sums for each in found),
                   found[0].loss)

    @property
    def weight(self):
        """Weight of each leaf, over all samples."""
        sums = self.sums.sum(axis=0)
        return sums.sum(axis=1) if self.loss.is_classifier else sums[:, 0]

    def targets(self, which=(TRAINING, VALIDATION)):
        """Targets of a few samples for each leaf, with the same sums as those of all its samples.

        Returns
        -------
        LeafTargets
            One sample for each class; or two, a standard deviation below and above the mean.
        """
        sums = self.sums[list(which)].sum(axis=0)
        n_leaves, k = sums.shape
        if self.loss.is_classifier:
            leaf, y, weight = (*np.divmod(np.arange(n_leaves * k), k), sums.ravel())
            y = y[:, None].astype(np.float64)
        else:
            weight = np.repeat(0.5 * sums[:, 0], 2)
            leaf = np.repeat(np.arange(n_leaves), 2)
            mean, square = np.split(
                sums[:, 1:] / np.where(sums[:, :1] > 0, sums[:, :1], 1.0), 2, axis=1)
            spread = np.sqrt(np.maximum(square - mean**2, 0.0))
            y = np.stack([mean - spread, mean + spread], axis=1).reshape(len(leaf), -1)
        present = weight > 0
        return LeafTargets(
            leaf[present], np.ascontiguousarray(y[present]), weight[present], self.loss)

    def fit_leaves(self, tree):
        """Set the leaf values of a tree to the best ones for its training samples."""
        return tree.replace(values=self.targets([TRAINING]).fit_leaves(tree))

    def fit_reached(self, tree):
        """The tree with the best leaf values, and without leaves that training does not reach."""
        return keep_reached(self.fit_leaves(tree), self.count[TRAINING] > 0)

    def mean_error(self, tree):
        """Mean error of a tree of constant leaves on its validation samples."""
        leaf, y, weight, loss = self.targets([VALIDATION])
        if not len(leaf):
            return np.nan
        return np.average(loss.errors(tree.values[leaf], y), weights=weight)


def scores_of(block, *trees):
    """Sums over some validation samples each: their weights, and the `Score` of each tree."""
    problem, samples = block.problem, block.problem.validation_samples
    if len(samples) == 0:
        return np.empty((1 + len(Score._fields) * len(trees), 0))
    weight, part = problem.validation_weight[samples], np.arange(len(samples)) % MAX_SCORES
    scores = [Score.of_tree(problem, tree, samples, weight) for tree in trees]
    return np.stack([np.bincount(part, each) for each in (weight, *chain(*scores))])


def within_limits(tree, sums, limits, sums_of):
    """Bring a tree within limits, as `enforce_limits` with all samples.

    Parameters
    ----------
    tree : Tree
    sums : LeafSums
        Of the tree.
    limits : Limits
    sums_of : callable
        Returns the `LeafSums` of another tree.

    Returns
    -------
    Tree
        The tree itself if it is within all limits.
    """
    known = tree, sums

    def sums_at(small):
        nonlocal known
        if small is not known[0]:
            known = small, sums_of(small)
        return known[1]

    def at_leaves(small):
        sums = sums_at(small)
        return sums.count.sum(axis=0), sums.targets()

    small = subtree_within_limits(tree, limits, at_leaves)
    return tree if small is tree else sums_at(small).fit_leaves(small)


@dataclass(frozen=True, eq=False)
class Description:
    """Statistics of the samples in a tree that the fitted attributes need.

    Attributes
    ----------
    left, right : ndarray of shape (n_internal,)
        As in `SampleSummary`.
    sums : LeafSums
        Of all targets.
    far : ndarray of shape (2, n_leaves)
        Number and weight of the samples with far targets in each leaf.
    quantiles : LeafQuantiles or None
        Quantiles of the targets in the units of y, for regression.
    """

    left: np.ndarray
    right: np.ndarray
    sums: LeafSums
    far: np.ndarray
    quantiles: LeafQuantiles | None

    @classmethod
    def of(cls, block, tree, targets, moments):
        """Description of a block."""
        problem, samples = block.problem, block.present
        summary = SampleSummary.of(tree, problem.X, problem.data, samples, moments)
        leaf, y, weights = problem.apply(tree, samples), block.y[samples], block.weights[:, samples]
        sums = LeafSums.of_leaves(problem, tree, leaf, y, weights)
        is_far = (y != problem.y[samples]).any(axis=1)
        far = np.stack([np.bincount(leaf, each * is_far, tree.n_leaves)
                        for each in (np.ones(len(y)), weights.sum(axis=0))])
        quantiles = None if problem.loss.is_classifier or not len(samples) else LeafQuantiles.fit(
            leaf, targets.decode(y), weights.sum(axis=0), tree.n_leaves, max_stored=MAX_STORED)
        return cls(summary.left, summary.right, sums, far, quantiles)

    @classmethod
    def add(cls, found):
        known = [each for each in found if each.quantiles is not None]
        quantiles = None if not known else LeafQuantiles.pool(
            [each.quantiles for each in known], [each.sums.weight for each in known],
            max_stored=MAX_STORED)
        return cls(np.max([each.left for each in found], axis=0),
                   np.min([each.right for each in found], axis=0),
                   LeafSums.add([each.sums for each in found]),
                   sum(each.far for each in found), quantiles)
