"""Search for the best split of a node: features from `BinnedColumns`, gains from a `Criterion`.

For each feature, the samples of the node are listed in ascending order by a `MoveList`, and the
criterion goes through the list. A search costs the values that are read, plus the moves in the
lists: at most one per sample and feature. A splitter, with its columns, criterion and lists,
belongs to one thread at a time.
"""

from typing import NamedTuple

import numpy as np

from ngdt._core.greedy.criterion import Entropy, Misclassification, Variance

from libc.math cimport INFINITY, fmax, fmin, isfinite, isnan
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from ngdt._core.greedy.columns cimport BinnedColumns, Feature, most_cells_of_feature
from ngdt._core.greedy.criterion cimport Cut
from ngdt._core.greedy.moves cimport MoveList
from ngdt._core.samples cimport Sample, Samples, dense_score

CRITERIA = {"entropy": Entropy, "misclassification": Misclassification, "variance": Variance}


class Split(NamedTuple):
    """A split of a node: right where ``direction @ x > threshold``.

    Parameters
    ----------
    direction : int or ndarray of shape (n_features,)
        The weights of the split, or the one feature that has weight 1.
    threshold : float
    gain : float
        Impurity of the node minus that of its two sides, each times its weight.
    """

    direction: "int | np.ndarray"
    threshold: float
    gain: float


cdef class Splitter:
    """Finds the best axis-aligned split of any subset of samples.

    Made once per training set: looking for the features that need no sorting takes about as long as
    one split of all samples. Not to be used by several threads at once.

    Parameters
    ----------
    X : ndarray, C-contiguous float32 or float64, or CSR matrix, of shape (n_samples, n_features)
        As for `Samples`.
    y : ndarray of float64, shape (n_samples, n_targets)
        Targets as `Loss.encode` returns them.
    sample_weight : ndarray of float64, shape (n_samples,)
        Samples with weight 0 do not exist.
    n_outputs : int
        Classes, or regression targets.
    criterion : {"entropy", "misclassification", "variance"}

    Examples
    --------
    >>> import numpy as np
    >>> from ngdt._core.greedy.splitter import Splitter
    >>> X, y = np.array([[0.0, 5.0], [2.0, 5.0], [4.0, 6.0]]), np.array([[0.0], [0.0], [1.0]])
    >>> splitter = Splitter(X, y, np.ones(3), 2, "entropy")
    >>> samples = splitter.used_samples()
    >>> split = splitter.split(samples)
    >>> split.direction, split.threshold, round(split.gain, 3)
    (0, 3.0, 2.755)
    >>> splitter.partition(samples, split)
    2
    """

    def __init__(self, X, y, sample_weight, n_outputs, criterion):
        self.data = Samples(X)
        self.n_features = self.data.n_features
        n_samples = self.data.n_samples
        if not len(y) == len(sample_weight) == n_samples <= np.iinfo(np.int32).max:
            raise ValueError(
                f"X has {n_samples} samples, y {len(y)}, sample_weight "
                f"{len(sample_weight)}: numbers that differ, or that 32 bits do not count")
        is_used = sample_weight > 0
        self._is_used = is_used.view(np.uint8)
        self._used = np.flatnonzero(is_used).astype(np.int32)
        self.columns = BinnedColumns(self.data, self._used)
        self.criterion = CRITERIA[criterion](y, sample_weight, n_outputs)
        self._gain = np.empty(self.n_features)
        self._low = np.empty(self.n_features)
        self._high = np.empty(self.n_features)
        self._by_count = np.empty(self.n_features, dtype=np.uint8)
        cdef Py_ssize_t n = len(self._used)
        present = sample_weight[self._used]
        same = present[0] if n and present.min() == present.max() else np.nan
        self._n_tags = self.criterion.tally.n
        self._moves = MoveList(max(n, most_cells_of_feature(n)) + 1, n, same)
        # Room for the samples that go right, see `partition`.
        self._right = np.empty(n, dtype=np.int32)

    def used_samples(self):
        """The samples with weight: a new int32 array, to be partitioned in place."""
        return self._used.copy()

    def split(self, const int32_t[::1] samples, Py_ssize_t min_samples_leaf=1):
        """Best split of a node.

        Parameters
        ----------
        samples : ndarray of int32
            Samples of the node, each with a positive weight.
        min_samples_leaf : int, default=1
            Least number of samples on either side, whatever their weights.

        Returns
        -------
        Split or None
            None if the node is pure or no threshold leaves `min_samples_leaf` on both sides. Of
            splits with equal gain, the one with the lowest feature, then the lowest threshold.
        """
        cdef Py_ssize_t feature = -1
        cdef double threshold = 0.0
        if self.check_samples(samples) < 2:
            return None
        self.limit(min_samples_leaf)
        # Without the GIL, so that splitters of several trees work at the same time.
        with nogil:
            if self.criterion.start(&samples[0], len(samples)):
                feature = self._search(&samples[0], len(samples))
            if feature >= 0:
                threshold = self._threshold(&samples[0], len(samples), feature)
        if feature < 0:
            return None
        return Split(feature, threshold, self._gain[feature] * self.criterion.unit)

    def best_threshold(
        self, const int32_t[::1] samples, const double[::1] z, Py_ssize_t min_samples_leaf=1
    ):
        """Best threshold of one number per sample, e.g. a projection.

        Parameters
        ----------
        samples : ndarray of int32, shape (n,)
            Samples of the node, each with a positive weight.
        z : ndarray of float64, shape (n,)
        min_samples_leaf : int, default=1
            As for `split`.

        Returns
        -------
        tuple of float (threshold, gain), or None
            None if a number is NaN or infinite, too: no threshold is between it and others.
        """
        cdef Py_ssize_t n = self.check_samples(samples)
        cdef Cut cut
        cdef bint impure = False
        if len(z) != n:
            raise ValueError(f"z has {len(z)} values for {n} samples")
        if n < 2:
            return None
        self.limit(min_samples_leaf)
        with nogil:
            impure = self.criterion.start(&samples[0], n)
            cut = self.cut_at(&z[0], n)
        if not impure or cut.gain == -INFINITY:
            return None
        return midpoint(cut.low, cut.high), cut.gain * self.criterion.unit

    def partition(self, int32_t[::1] samples, split):
        """Reorder samples, the left side first, each side in its order; return where it ends."""
        cdef Py_ssize_t feature = 0, i
        cdef double threshold = split.threshold
        cdef const double[::1] direction
        cdef Py_ssize_t n_left = 0, n_right = 0
        cdef bint oblique = isinstance(split.direction, np.ndarray)
        cdef bint right
        cdef Sample x
        self.check_samples(samples)
        if oblique:
            direction = split.direction
            if direction.shape[0] != self.n_features:
                raise ValueError(
                    f"direction has {direction.shape[0]} entries for {self.n_features} features")
        else:
            feature = split.direction
            if not 0 <= feature < self.n_features:
                raise ValueError(f"there is no feature {feature}")
        with nogil:
            for i in range(samples.shape[0]):
                if oblique:
                    x = self.data.get(samples[i])
                    right = dense_score(&x, &direction[0], threshold) > 0.0
                else:
                    right = self.columns.get(samples[i], feature) > threshold
                # Each sample is written to both sides, and one of the ends moves: no branch to be
                # mispredicted. The left end is never ahead of what is read.
                self._right[n_right] = samples[i]
                samples[n_left] = samples[i]
                n_right += right
                n_left += not right
            if n_right:
                memcpy(&samples[n_left], &self._right[0], n_right * sizeof(int32_t))
        return n_left

    cdef Py_ssize_t check_samples(self, const int32_t[::1] samples) except -1:
        if samples.shape[0] > self._right.shape[0]:
            raise ValueError(
                f"samples has {samples.shape[0]} entries, but only {self._right.shape[0]} samples "
                "have weight")
        # Buffers have room only for the values that were counted, of samples with weight.
        cdef Py_ssize_t i, n_samples = self._is_used.shape[0]
        for i in range(samples.shape[0]):
            if not 0 <= samples[i] < n_samples or not self._is_used[samples[i]]:
                raise ValueError(f"samples[{i}] = {samples[i]} is not a sample with weight")
        return samples.shape[0]

    cdef void limit(self, Py_ssize_t min_samples_leaf) noexcept:
        self._moves.min_samples_leaf = min_samples_leaf
        # Weights of cells tell their numbers of samples only if all samples have the same weight.
        counted = min_samples_leaf <= 1 or not isnan(self._moves.sample_weight)
        self.criterion.tally.n = self._n_tags if counted else 0

    cdef Cut cut_at(self, const double *z, Py_ssize_t n) noexcept nogil:
        """Best threshold of one number per sample, for the node that was started last."""
        cdef const double *ordered = self._moves.moves.z
        self._moves.list_all(z, n, self.criterion)
        # NaN and infinity, of products that overflow, are at an end. NaN goes left, wherever it is.
        if not isfinite(ordered[0]) or not isfinite(ordered[n - 1]):
            return Cut(-INFINITY, 0.0, 0.0)
        return self.criterion.scan(&self._moves.moves)

    cdef Py_ssize_t _search(self, const int32_t *samples, Py_ssize_t n) noexcept nogil:
        """Find the best cut of every feature; return the best feature, -1 if none can be cut."""
        cdef Py_ssize_t first, last = 0, j
        cdef Feature feature
        cdef Cut cut
        cdef double best = -INFINITY
        while last < self.n_features:
            first = last
            # A block at a time: its lists and counts fit the cache until they are scanned.
            last = self.columns.read(samples, n, first, &self.criterion.tally)
            for j in range(first, last):
                self._gain[j] = -INFINITY
                feature = self.columns.feature[j - first]
                # All samples have the value that is skipped: there is nothing to cut.
                if feature.count == 0:
                    continue
                self._by_count[j] = feature.counted
                self._moves.list_feature(self.columns, j, &feature, n, self.criterion)
                cut = self.criterion.scan(&self._moves.moves)
                self._gain[j], self._low[j], self._high[j] = cut.gain, cut.low, cut.high
                best = fmax(best, cut.gain)
        if best == -INFINITY:
            return -1
        # Gains that differ by rounding alone are equal, and the lowest feature wins: else the order
        # of sums, and with it the block size, would choose.
        for j in range(self.n_features):
            if self._gain[j] >= best - self.criterion.tolerance:
                return j
        return -1

    cdef double _threshold(
        self, const int32_t *samples, Py_ssize_t n, Py_ssize_t feature
    ) noexcept nogil:
        """Threshold of the best cut: halfway between the neighbouring values in the node."""
        cdef double low = self._low[feature], high = self._high[feature], x
        cdef Py_ssize_t i
        cdef int32_t last_point
        # Cells tell between which points of the grid the cut lies, but not which values are there:
        # those are looked up for the winner only.
        if self._by_count[feature]:
            last_point = <int32_t> low
            low, high = -INFINITY, INFINITY
            for i in range(n):
                x = self.columns.get(samples[i], feature)
                if self.columns.point(feature, x) <= last_point:
                    low = fmax(low, x)
                else:
                    high = fmin(high, x)
        return midpoint(low, high)
