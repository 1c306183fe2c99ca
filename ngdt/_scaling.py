"""Feature scaling that is folded into the weights, so that trees work on raw features."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ngdt._tree import Tree

_LARGEST = 1e18     # of features that nobody scales
_BLOCK = 2**18  # numbers that are copied at a time, so that no copy of X is made


@dataclass(frozen=True)
class Scaling:
    """The map x -> (x - center) / scale and its effect on trees.

    Attributes
    ----------
    center, scale : ndarray of float64, shape (n_features,)
        Rounded to the type of the data, so that folding undoes exactly what the kernels do.
    """

    center: np.ndarray
    scale: np.ndarray

    @classmethod
    def fit(cls, X, weight, standardize="auto"):
        """Scaling from the weighted mean and spread of the training rows.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_samples, n_features)
        weight : ndarray of shape (n_samples,)
            Rows of weight 0 do not count.
        standardize : {True, "global", "auto", False}
            Each feature by its own standard deviation; all by one; whichever suits (`auto`: one
            global scale where the features share their range, as pixels do); not at all.

        Raises
        ------
        ValueError
            If features are not to be scaled, but must be.
        """
        if standardize is False:
            _check_size(X, weight)
        p = X.shape[1]
        mean, scale = np.zeros(p), np.ones(p)
        if standardize is not False:
            # Squares of far outliers overflow; those of absent rows turn into NaN.
            with np.errstate(over="ignore", invalid="ignore"):
                mean, scale = _moments(X, weight)
                scale = np.where(np.isnan(scale), np.inf, scale)
        if standardize == "auto":
            standardize = "global" if _share_range(X, weight) else True
        if standardize == "global":
            largest = scale.max(initial=0.0)
            unit = power_of_two(largest)
            scale = np.full(p, unit * np.sqrt(np.mean((scale / unit) ** 2)))
        # The mean of equal numbers need not be that number to the last bit.
        scale[scale <= 1e-14 * np.abs(mean)] = 1.0
        # Kernels multiply with the inverse, in the type of the data.
        tiny = np.finfo(X.dtype).tiny
        scale = np.clip(scale, float(tiny), 1.0 / float(tiny))
        center = mean.astype(X.dtype).astype(np.float64)
        return cls(center, 1.0 / (1.0 / scale).astype(X.dtype).astype(np.float64))

    def transform(self, X):
        """Samples in scaled space: float64, dense or CSR as X is; sparse ones are not centred."""
        if sparse.issparse(X):
            return sparse.csr_array(X, dtype=np.float64) @ sparse.diags_array(1.0 / self.scale)
        return (X - self.center) / self.scale

    def to_scaled(self, tree: Tree):
        """Weights, dense, and thresholds with which standardised samples take the same decisions.

        Training starts here, so it never meets sparse weights.
        """
        weights = tree.densify().weights
        return weights * self.scale, tree.thresholds - weights @ self.center

    def to_unit_rows(self, tree: Tree):
        """As `to_scaled`, each row with its threshold divided by its norm, unless that is 0."""
        rows = np.column_stack(self.to_scaled(tree))
        # By the largest entry first, whose square may overflow.
        for order in (np.inf, 2):
            size = np.linalg.norm(rows, order, axis=1, keepdims=True)
            rows /= np.where(size == 0, 1.0, size)
        return rows[:, :-1], rows[:, -1]

    def to_raw(self, weights, thresholds):
        """The way back."""
        weights = weights / self.scale
        return weights, thresholds + weights @ self.center


def _check_size(X, weight):
    used = weight > 0
    if sparse.issparse(X):
        values, used = X.data, np.repeat(used, np.diff(X.indptr))
    else:
        values, used = X, used[:, None]
    largest = max(values.max(initial=0.0, where=used), -values.min(initial=0.0, where=used))
    if largest > _LARGEST:
        raise ValueError(
            f"X has values up to {largest:.3g}, whose squares do not fit the float32 of training: "
            "scale X, or let standardize=True do so")


def _moments(X, weight):
    """Weighted mean and standard deviation; about zero, and never centred, for sparse data."""
    total = weight.sum()
    if sparse.issparse(X):
        squares = X.copy()
        squares.data = squares.data.astype(np.float64) ** 2
        return np.zeros(X.shape[1]), np.sqrt(np.asarray(squares.T @ weight).ravel() / total)
    blocks = row_blocks(X, _BLOCK)
    mean = sum(weight[rows] @ X[rows].astype(np.float64) for rows in blocks) / total
    unit = power_of_two_units(X)
    squares = np.zeros(X.shape[1])
    for rows in blocks:
        deviation = X[rows] - mean
        deviation *= 1.0 / unit     # a power of two: nothing is rounded
        deviation *= deviation
        squares += weight[rows] @ deviation
    return mean, unit * np.sqrt(squares / total)


def row_blocks(matrix, size):
    """Slices of rows that hold at most about so many numbers each."""
    step = max(1, size // matrix.shape[1])
    return [slice(start, start + step) for start in range(0, matrix.shape[0], step)]


def power_of_two_units(X):
    """Powers of two near the range of the first features' values, in which no square overflows."""
    half = 0.5 * X[:64].astype(np.float64)      # the range itself may overflow
    return power_of_two(np.ptp(half, axis=0))


def power_of_two(size):
    """A power of two near each size, to divide by without rounding anything."""
    return 2.0 ** np.frexp(size)[1].clip(-1000, 1000)


def _share_range(X, weight):
    if sparse.issparse(X):
        return False
    low, high = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
    for rows in row_blocks(X, _BLOCK):
        used = weight[rows] > 0
        block = X[rows] if used.all() else X[rows][used]
        low = np.minimum(low, block.min(axis=0, initial=np.inf))
        high = np.maximum(high, block.max(axis=0, initial=-np.inf))
    spread = (high - low)[high > low]
    return len(spread) > 1 and spread.max() <= 2.0 * np.median(spread)
