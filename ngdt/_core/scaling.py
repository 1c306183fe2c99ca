"""Feature scaling. It is folded into the weights, so that trees take raw features."""

from dataclasses import dataclass, fields, replace

import numpy as np
from scipy import sparse

from ngdt._core.winsorize import fences, winsorized
from ngdt._util.arrays import power_of_two, row_blocks
from ngdt._util.validation import stored_per_sample, warn

# Dense data are wide with more features than this. With fewer, soft training of the features takes
# seconds, and was more accurate on 300 samples of MNIST by 3 points.
MAX_SOFT_FEATURES = 4096
# Sparse data are wide from so many features on, and both from so many features per sample on.
MIN_SPARSE_FEATURES, _FEATURES_PER_SAMPLE = 512, 2
# Largest absolute value of features that are not scaled. Its square fits float32.
_MAX_UNSCALED = 1e18
# Ratio of the sizes of features up to which wide sparse data have one scale.
_SIZE_RATIO = 4.0
# Largest ratios of the widest range of features to the median one, and of that to the narrowest,
# for which they are about the same, and number of features from which a tenth may be narrower. Two
# features of the same influence, with ranges of 1 and 10: TAO had 97.0 % with one scale for both,
# and 99.4 % with its own for each; with ranges of 1 and 100, 73.4 %.
_MAX_ABOVE, _MAX_BELOW, _MANY = 2.0, 4.0, 50
# Floors of the scale where each feature has its own: it is such that no scaled value is larger, and
# for features of two values, at least a share of their distance. In units of its standard
# deviation, an indicator of a few samples is far from zero: a weight that costs little would decide
# what these are. Where 20 of 1500 values of a column of noise were missing, and half of them at
# prediction, the default lost three points without the second floor, and half a point with it.
MAX_SCALED, MIN_TWO_VALUED = 10.0, 0.25
# Number of values that are copied at a time, so that X is never copied as a whole.
_BLOCK_VALUES = 2**18


class _OfFeatures:
    """Mixin of dataclasses of arrays with an entry for each feature, or None."""

    def take(self, features):
        """The same of some features."""
        arrays = [getattr(self, field.name) for field in fields(self)]
        return type(self)(*(each if each is None else each[features] for each in arrays))


@dataclass(frozen=True, eq=False)
class Moments(_OfFeatures):
    """Mean, spread and range of each feature over the samples of positive weight.

    Computed in units of a power of two near the largest value of each feature, so that no square
    overflows or underflows and nothing is rounded. Samples of weight 0 are ignored.

    Attributes
    ----------
    mean, std : ndarray of float64, shape (n_features,)
        Weighted mean and standard deviation.
    root_mean_square : ndarray of float64, shape (n_features,)
        Spread about zero. It scales sparse data, which are never centred.
    low, high : ndarray of shape (n_features,)
        Smallest and largest value.
    """

    mean: np.ndarray
    std: np.ndarray
    root_mean_square: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, X, sample_weight):
        """Moments of a matrix, in three passes over its values.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_samples, n_features)
        sample_weight : ndarray of shape (n_samples,)
        """
        if sparse.issparse(X):
            return cls._of_sparse(X, sample_weight)
        used, blocks, p = sample_weight > 0, row_blocks(X.shape, _BLOCK_VALUES), X.shape[1]
        low, high = np.full(p, np.inf), np.full(p, -np.inf)
        for samples in blocks:
            block = X[samples] if used[samples].all() else X[samples][used[samples]]
            low = np.minimum(low, block.min(axis=0, initial=np.inf))
            high = np.maximum(high, block.max(axis=0, initial=-np.inf))
        _check_range(low, high, X.dtype)
        unit = power_of_two(np.maximum(np.abs(low), np.abs(high)))
        total, mean = sample_weight.sum(), np.zeros(p)
        for samples in blocks:
            mean += sample_weight[samples] @ _in_units(X[samples], 0.0, unit, used[samples])
        # Rounding must not take the mean of equal numbers away from them.
        mean = np.clip(unit * (mean / total), low, high)
        # Deviations have a unit of their own, since they may be tiny relative to the mean.
        unit = power_of_two(np.maximum(high - mean, mean - low))
        squares = np.zeros(p)
        for samples in blocks:
            deviation = _in_units(X[samples], mean, unit, used[samples])
            deviation *= deviation
            squares += sample_weight[samples] @ deviation
        std = unit * np.sqrt(squares / total)
        return cls(mean, std, np.hypot(mean, std), low, high)

    @classmethod
    def _of_sparse(cls, X, sample_weight):
        used = np.repeat(sample_weight > 0, stored_per_sample(X))
        values = np.where(used, X.data, 0.0)
        total, p = sample_weight.sum(), X.shape[1]

        def by_feature(values):
            matrix = sparse.csr_matrix((values, X.indices, X.indptr), shape=X.shape)
            return np.asarray(matrix.T @ sample_weight).ravel()

        n_held = np.bincount(X.indices[used], minlength=p)
        is_full = n_held == np.count_nonzero(sample_weight)     # others have zeros, too
        low, high = (np.where(is_full, end, 0.0) for end in (np.inf, -np.inf))
        np.minimum.at(low, X.indices[used], X.data[used])
        np.maximum.at(high, X.indices[used], X.data[used])
        _check_range(low, high, X.dtype)
        unit = power_of_two(np.maximum(-low, high))
        values = values / unit[X.indices]
        # Rounding must not take the mean of equal numbers away from them.
        mean = np.clip(by_feature(values) / total, low / unit, high / unit)
        root_mean_square = np.sqrt(by_feature(values**2) / total)
        # Weight of the samples of value zero. Where there is none, rounding must not make some.
        zero_weight = np.maximum(total - by_feature(used.astype(np.float64)), 0.0)
        zero_weight[is_full] = 0.0
        squares = by_feature(np.where(used, values - mean[X.indices], 0.0) ** 2)
        std = np.sqrt((squares + zero_weight * mean**2) / total)
        return cls(unit * mean, unit * std, unit * root_mean_square, low, high)

    @classmethod
    def merge(cls, parts, weights):
        """The moments of several sets of samples together.

        Parameters
        ----------
        parts : sequence of Moments
        weights : sequence of float
            Weight of the samples of each.
        """
        low = np.min([part.low for part in parts], axis=0)
        high = np.max([part.high for part in parts], axis=0)
        _check_range(low, high, low.dtype)
        unit = power_of_two(np.maximum(np.abs(low), np.abs(high)))
        share = np.asarray(weights) / np.sum(weights)
        means = np.stack([part.mean / unit for part in parts])
        mean = np.clip(unit * (share @ means), low, high)
        # Deviations have a unit of their own, since they may be tiny relative to the mean.
        unit = power_of_two(np.maximum(high - mean, mean - low))
        squares = share @ np.stack([
            (part.std / unit) ** 2 + ((part.mean - mean) / unit) ** 2 for part in parts])
        std = unit * np.sqrt(squares)
        return cls(mean, std, np.hypot(mean, std), low, high)


def _in_units(block, origin, unit, used):
    """Differences from the origin in the given units; 0 for samples that are not used."""
    with np.errstate(over="ignore"):    # values of samples that are not used may overflow
        block = np.subtract(block, origin, dtype=np.float64)
        block *= 1.0 / unit
    if not used.all():
        block[~used] = 0.0
    return block


@dataclass(frozen=True, eq=False)
class Scaling(_OfFeatures):
    """The map x -> (x - center) / scale and its effect on trees.

    Attributes
    ----------
    center, scale : ndarray of float64, shape (n_features,)
        Rounded to the type of the data, so that folding inverts the scaling of the kernels exactly.
    low, high : ndarray of float64, shape (n_features,), or None
        Fences of the features if training samples lie beyond them; training moves these in.
    """

    center: np.ndarray
    scale: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None

    @classmethod
    def fit(cls, X, sample_weight, standardize="auto", moments=None, fill=None):
        """Scaling from the weighted mean and spread of the training samples, winsorized.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_samples, n_features)
        sample_weight : ndarray of shape (n_samples,)
            Samples of weight 0 are ignored.
        standardize : {True, "global", "auto", False}
            True scales each feature by its own standard deviation, "global" all features by one
            number, and False none. "auto" is "global" for dense data whose features have about the
            same range, as pixels do, and for wide sparse data whose features have values of about
            the same size, as counts do. Otherwise it is True.
        moments : Moments, default=None
            The moments of X, if they have been computed.
        fill : ndarray of shape (n_features,), default=None
            As for `fences`.

        Raises
        ------
        ValueError
            If the range of a feature does not fit the type of X or, with ``standardize=False``, the
            squares of its values do not fit float32.

        Warns
        -----
        UserWarning
            If features vary, but all so little that their inverse scales overflow.
        """
        if standardize is False:
            _check_size(X, sample_weight)
            return cls(np.zeros(X.shape[1]), np.ones(X.shape[1]))
        moments = Moments.of(X, sample_weight) if moments is None else moments
        low, high = fences(X, sample_weight, fill=fill)
        gaps = None if fill is None else (fill, _filled_share(X, sample_weight, fill))
        if not (np.any(moments.low < low) or np.any(moments.high > high)):
            return cls.of_moments(moments, X, standardize, gaps)
        moments = Moments.of(winsorized(X, low, high), sample_weight)
        return replace(
            cls.of_moments(moments, X, standardize, gaps), low=low, high=high)

    @classmethod
    def of_moments(cls, moments, X, standardize, gaps=None):
        """Scaling by the moments of samples, without fences; parameters are those of `fit`.

        `gaps` are `fill`, and the share of the samples that have it.
        """
        mean, scale = moments.mean, moments.std
        if sparse.issparse(X):
            mean, scale = np.zeros(X.shape[1]), moments.root_mean_square
        if standardize == "auto":
            are_alike = (is_wide(X) and _have_one_size(moments) if sparse.issparse(X)
                         else _have_one_range(moments))
            standardize = "global" if are_alike else True
        if standardize == "global":
            unit = power_of_two(scale.max(initial=0.0))
            # Constant features have no part in it.
            squares = (scale[scale > 0] / unit) ** 2
            scale = np.full(len(scale), unit * np.sqrt(squares.sum() / max(1, len(squares))))
        else:
            reach = np.maximum(moments.high - mean, mean - moments.low)
            floor = np.maximum(reach / MAX_SCALED, np.where(
                _is_two_valued(moments, gaps), MIN_TWO_VALUED * (moments.high - moments.low), 0.0))
            scale = np.maximum(scale, floor)
        # The mean of equal numbers may differ from them in the last digits. And kernels multiply by
        # the inverse of the scale, in the type of the data.
        tiny = float(np.finfo(X.dtype).tiny)
        if 0.0 < scale.max(initial=0.0) < tiny:
            warn(
                f"X: no feature varies by more than {tiny:.2g}, the least normal {X.dtype}, and "
                "most methods of training take all for constant: multiply X by a large number")
        is_constant = scale <= np.maximum(1e-14 * np.abs(mean), tiny)
        scale = np.where(is_constant, 1.0, np.minimum(scale, 1.0 / tiny))
        center = mean.astype(X.dtype).astype(np.float64)
        return cls(center, 1.0 / (1.0 / scale).astype(X.dtype).astype(np.float64))

    def transform(self, X):
        """Samples in scaled space: float64, dense or CSR as X is; sparse ones are not centred."""
        if sparse.issparse(X):
            return sparse.csr_array(X, dtype=np.float64) @ sparse.diags_array(1.0 / self.scale)
        return (X - self.center) / self.scale

    def to_scaled(self, weights, thresholds):
        """Weights and thresholds that split scaled samples as the given ones split raw samples.

        Parameters
        ----------
        weights : ndarray of shape (n_nodes, n_features), or (n_features,) for one node
        thresholds : ndarray of shape (n_nodes,), or float
        """
        return weights * self.scale, thresholds - weights @ self.center

    def to_raw(self, weights, thresholds):
        """Inverse of `to_scaled`."""
        weights = weights / self.scale
        return weights, thresholds + weights @ self.center

    def to_unit_norm(self, weights, thresholds):
        """Weights of `to_scaled`, each vector with its threshold divided by their common norm.

        A zero vector stays zero.
        """
        planes = np.column_stack(self.to_scaled(weights, thresholds))
        # First by the largest entry, so that squares do not overflow.
        for order in (np.inf, 2):
            size = np.linalg.norm(planes, order, axis=1, keepdims=True)
            planes /= np.where(size == 0, 1.0, size)
        return planes[:, :-1], planes[:, -1]


def _is_two_valued(moments, gaps):
    """Tell which features have two values, beside filled ones.

    Of the features with a certain range and mean, one of two values has the largest mean square.
    """
    fill, share = (moments.low, 0.0) if gaps is None else gaps
    size = moments.high - moments.low
    size = np.where(size > 0.0, size, 1.0)
    mean, std = (moments.mean - moments.low) / size, moments.std / size
    filled = np.where(share > 0.0, (fill - moments.low) / size, 0.0)
    square = mean**2 + std**2 - share * filled**2
    return square >= (1.0 - 1e-6) * (mean - share * filled)


def _filled_share(X, sample_weight, fill):
    """Share of the samples whose value of a feature is the filled one, shape (n_features,)."""
    if sparse.issparse(X):
        weight = np.repeat(sample_weight, stored_per_sample(X)) * (X.data == fill[X.indices])
        return np.bincount(X.indices, weight, X.shape[1]) / sample_weight.sum()
    share, columns = np.zeros(X.shape[1]), np.flatnonzero(~np.isnan(fill))
    if len(columns):
        for samples in row_blocks(X.shape, _BLOCK_VALUES):
            share[columns] += sample_weight[samples] @ (X[samples][:, columns] == fill[columns])
    return share / sample_weight.sum()


def _check_range(low, high, dtype):
    with np.errstate(over="ignore"):
        spans = high.astype(dtype) - low.astype(dtype)
    if not np.isfinite(spans).all():
        feature = np.flatnonzero(~np.isfinite(spans))[0]
        raise ValueError(
            f"X: the values of feature {feature} span from {low[feature]:.3g} to "
            f"{high[feature]:.3g}, a range that does not fit {np.dtype(dtype)}: scale X")


def _check_size(X, sample_weight):
    used = sample_weight > 0
    if sparse.issparse(X):
        values, used = X.data, np.repeat(used, stored_per_sample(X))
    else:
        values, used = X, used[:, None]
    largest = max(values.max(initial=0.0, where=used), -values.min(initial=0.0, where=used))
    if largest > _MAX_UNSCALED:
        raise ValueError(
            f"X has values up to {largest:.3g}, whose squares do not fit the float32 of training: "
            "scale X, or set standardize=True")


def is_wide(X):
    """Tell whether there are many more features than samples.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    """
    least = MIN_SPARSE_FEATURES if sparse.issparse(X) else MAX_SOFT_FEATURES + 1
    return X.shape[1] >= max(least, _FEATURES_PER_SAMPLE * X.shape[0])


def _have_one_size(moments):
    """Tell whether most features of sparse data have values of about the same size.

    Scaled by its own spread about zero, a rare word would count more than all others.
    """
    size = np.maximum(-moments.low, moments.high)
    size = size[size > 0]
    if not len(size):
        return False
    low, middle, high = np.quantile(size, [0.1, 0.5, 0.9])
    return high <= _SIZE_RATIO * middle and middle <= _SIZE_RATIO * low


def _have_one_range(moments):
    """Tell whether all features that are not constant have about the same range.

    Of many, such as pixels, a tenth may have a smaller one: those at the edge of the images.
    """
    with np.errstate(over="ignore"):
        spread = (moments.high - moments.low)[moments.high > moments.low]
    if len(spread) < 2:
        return False
    low = np.quantile(spread, 0.1) if len(spread) >= _MANY else spread.min()
    middle = np.median(spread)
    return spread.max() <= _MAX_ABOVE * middle and middle <= _MAX_BELOW * low
