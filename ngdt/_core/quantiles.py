"""Weighted quantiles of the targets in each leaf."""

from dataclasses import dataclass

import numpy as np

from ngdt._util.validation import error_prefix

# Largest number of targets that a fitted tree keeps per leaf.
MAX_STORED = 512
# Shares of weight that rounding can make different: at a tie, two targets are averaged.
TIE = 1e-10


@dataclass(frozen=True, eq=False)
class LeafQuantiles:
    """Weighted quantiles of the targets in each leaf, from sorted targets.

    The quantile `q` of a leaf is the least of its targets up to which there is the share `q` of its
    weight. If there is exactly this share, it is the mean of this and the next target. For equal
    weights this is ``numpy.quantile(..., method="averaged_inverted_cdf")``. For any weights, it
    minimises the quantile loss.

    Make it by `fit` or `pool`.

    Parameters
    ----------
    targets : ndarray of shape (n_stored, n_targets)
        Targets, group by group, sorted in each group and column.
    shares : ndarray of shape (n_stored, n_targets)
        Share of the weight of the group up to each target; the last of a group is 1.
    offsets : ndarray of int, shape (n_groups + 1,)
        Where each group begins; none is empty.
    group : ndarray of int, shape (n_leaves,)
        Group of each leaf.

    Examples
    --------
    >>> import numpy as np
    >>> from ngdt._core.quantiles import LeafQuantiles
    >>> y = np.array([[1.0], [2.0], [3.0], [10.0]])
    >>> leaves = LeafQuantiles.fit(np.array([0, 0, 0, 1]), y, np.ones(4), n_leaves=2)
    >>> leaves.quantiles([0.0, 0.5, 1.0])[:, :, 0]
    array([[ 1.,  2.,  3.],
           [10., 10., 10.]])
    """

    targets: np.ndarray
    shares: np.ndarray
    offsets: np.ndarray
    group: np.ndarray

    @classmethod
    def fit(cls, leaf, y, sample_weight, n_leaves, *, max_stored=None):
        """Sort the targets of each leaf.

        Parameters
        ----------
        leaf : ndarray of int, shape (n_samples,)
        y : ndarray of float64, shape (n_samples, n_targets)
        sample_weight : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Samples of weight zero in all targets are ignored; there must be another one.
        n_leaves : int
        max_stored : int, default=None
            Largest number of targets that are kept per leaf, at least 2: the quantiles that divide
            its weight evenly, from the least to the largest target. None keeps all.

        Returns
        -------
        LeafQuantiles
            A leaf without samples has the quantiles of all samples together.
        """
        weight = sample_weight[:, None] if sample_weight.ndim == 1 else sample_weight
        present = weight.any(axis=1)
        leaf, y = np.asarray(leaf)[present], y[present]
        weight = np.broadcast_to(weight[present], y.shape)
        is_empty = np.bincount(leaf, minlength=n_leaves) == 0
        group = np.where(is_empty, n_leaves, np.arange(n_leaves))
        if is_empty.any():
            leaf = np.concatenate([leaf, np.full(len(leaf), n_leaves)])
            y, weight = np.concatenate([y, y]), np.concatenate([weight, weight])
        found, leaf, size = np.unique(leaf, return_inverse=True, return_counts=True)
        quantiles = cls(
            *_sorted(leaf, y, weight, size), np.concatenate([[0], np.cumsum(size)]),
            np.searchsorted(found, group))
        return quantiles if max_stored is None else quantiles._thinned(max_stored)

    @classmethod
    def pool(cls, parts, weights=None, *, max_stored=None):
        """The targets of several trees, or of parts of the samples, together.

        Parameters
        ----------
        parts : list of LeafQuantiles
            With the same number of leaves.
        weights : list of ndarray of shape (n_leaves,), default=None
            Weight of each leaf of each part. None gives all of them the same influence.
        max_stored : int, default=None
            As for `fit`.

        Returns
        -------
        LeafQuantiles
            Leaf i has the targets of the leaves i of all parts.
        """
        stored = [part.samples() for part in parts]
        leaf, targets, weight = map(np.concatenate, zip(*stored, strict=True))
        if weights is not None:
            weight *= np.concatenate([of_leaves[leaf] for (leaf, *_), of_leaves in zip(
                stored, weights, strict=True)])[:, None]
        return cls.fit(leaf, targets, weight, len(parts[0].group), max_stored=max_stored)

    def merge(self, leaf, weight, shift, *, max_stored=None):
        """The quantiles of fewer leaves, each with the targets of some of these.

        Parameters
        ----------
        leaf : ndarray of int, shape (n_leaves,)
            New leaf of each leaf.
        weight : ndarray of shape (n_leaves,)
            Weight of each leaf; leaves of weight zero are ignored.
        shift : ndarray of shape (n_leaves, n_targets)
            Is added to the targets of each.
        max_stored : int, default=None
            As for `fit`.

        Returns
        -------
        LeafQuantiles
        """
        of_target, targets, share = self.samples(shift)
        return self.fit(leaf[of_target], targets, share * weight[of_target, None],
                        leaf.max() + 1, max_stored=max_stored)

    def samples(self, shift=None):
        """The targets that are kept for each leaf.

        Parameters
        ----------
        shift : ndarray of shape (n_leaves, n_targets), default=None
            Is added to the targets of each.

        Returns
        -------
        leaf : ndarray of int, shape (n_stored,)
            Leaf of each.
        targets : ndarray of shape (n_stored, n_targets)
        weight : ndarray of shape (n_stored, n_targets)
            The sum of a leaf is 1.
        """
        own = self.take(np.arange(len(self.group)), shift)
        first, weight = own.offsets[:-1], np.diff(own.shares, axis=0, prepend=0.0)
        weight[first] = own.shares[first]
        return np.repeat(own.group, np.diff(own.offsets)), own.targets, weight

    def sizes(self, leaf):
        """Number of targets that are kept for some leaves.

        Parameters
        ----------
        leaf : ndarray of int, shape (n,)

        Returns
        -------
        ndarray of int, shape (n,)
        """
        # In 32 bits, np.repeat takes no int64, of which the offsets in a file may be.
        return np.diff(self.offsets).astype(np.intp)[self.group[leaf]]

    def take(self, leaf, shift=None):
        """The quantiles of some leaves.

        Parameters
        ----------
        leaf : ndarray of int, shape (n,)
        shift : ndarray of shape (n, n_targets), default=None
            Is added to the targets of each.

        Returns
        -------
        LeafQuantiles
            Of `n` leaves, each a group of its own.
        """
        first, size = self.offsets[self.group[leaf]], self.sizes(leaf)
        offsets = np.concatenate([[0], np.cumsum(size)])
        stored = np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], size)
        targets = self.targets[stored]
        if shift is not None:
            targets += np.repeat(shift, size, axis=0)
        return type(self)(targets, self.shares[stored], offsets, np.arange(len(size)))

    def quantiles(self, quantiles):
        """Quantiles of each leaf.

        Parameters
        ----------
        quantiles : array-like of float, shape (n_quantiles,)
            In [0, 1]. 0 is the least target, 1 the largest.

        Returns
        -------
        ndarray of shape (n_leaves, n_quantiles, n_targets)
            Not decreasing in the quantile.
        """
        first, last = self.offsets[:-1], self.offsets[1:, None] - 1
        found = np.empty((len(first), len(quantiles), self.targets.shape[1]))
        for i, quantile in enumerate(quantiles):
            n_below = np.add.reduceat(self.shares < quantile - TIE, first, axis=0, dtype=np.intp)
            at = np.minimum(first[:, None] + n_below, last)
            share = np.take_along_axis(self.shares, at, axis=0)
            other = np.where(share <= quantile + TIE, np.minimum(at + 1, last), at)
            lower, upper = (np.take_along_axis(self.targets, row, axis=0) for row in (at, other))
            found[:, i] = np.where(lower == upper, lower, 0.5 * lower + 0.5 * upper)
        return found[self.group]

    def _thinned(self, max_stored):
        """At most `max_stored` targets per group, from the least to the largest."""
        size = np.diff(self.offsets)
        if (size <= max_stored).all():
            return self
        levels = np.arange(max_stored) / (max_stored - 1)
        # Each stands for the targets that are nearest to its level.
        shares = np.minimum((np.arange(max_stored) + 0.5) / (max_stored - 1), 1.0)
        parts = []
        for begin, end in zip(self.offsets[:-1], self.offsets[1:], strict=True):
            targets, own = self.targets[begin:end], self.shares[begin:end]
            if end - begin > max_stored:
                at = [np.searchsorted(column, levels - TIE) for column in own.T]
                targets = np.take_along_axis(targets, np.stack(at, axis=1), axis=0)
                own = np.repeat(shares[:, None], targets.shape[1], axis=1)
            parts.append((targets, own))
        targets, shares = (np.concatenate(part) for part in zip(*parts, strict=True))
        offsets = np.concatenate([[0], np.cumsum(np.minimum(size, max_stored))])
        return type(self)(targets, shares, offsets, self.group)


def _sorted(group, y, weight, size):
    """Targets sorted in each group and column, and the shares of weight up to each."""
    targets, shares = np.empty_like(y), np.empty_like(y)
    first = np.cumsum(size) - size
    for t in range(y.shape[1]):
        order = np.lexsort((y[:, t], group))
        targets[:, t] = y[order, t]
        # Relative to the weight of the group: a heavy group must not round a light one away.
        relative = weight[order, t] / np.maximum.reduceat(weight[order, t], first)[group[order]]
        relative /= np.add.reduceat(relative, first)[group[order]]
        total = np.cumsum(relative)
        before = np.concatenate([[0.0], total[first[1:] - 1]])
        shares[:, t] = np.minimum(total - np.repeat(before, size), 1.0)
    shares[first + size - 1] = 1.0
    return targets, shares


def check_quantiles(quantiles):
    """Check quantiles, and return them as an array.

    Parameters
    ----------
    quantiles : array-like of float, shape (n_quantiles,)

    Returns
    -------
    ndarray of float64, shape (n_quantiles,)

    Raises
    ------
    ValueError, TypeError
        If they are not a list of numbers in [0, 1].
    """
    with error_prefix("quantiles"):
        quantiles = np.asarray(quantiles, dtype=np.float64)
    if quantiles.ndim != 1 or not quantiles.size or not (
            (quantiles >= 0) & (quantiles <= 1)).all():
        raise ValueError(
            "quantiles must be a list of numbers in [0, 1], such as 0.05 for 5 %, got "
            f"{quantiles.tolist()}")
    return quantiles
