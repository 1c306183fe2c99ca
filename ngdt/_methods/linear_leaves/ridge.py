"""Ridge regression in a node, for several penalties at once.

The slopes of a node minimise

    sum of weight * |y - value - slopes @ z|^2 + penalty * |slopes - prior|^2

over its samples z, in scaled features. One eigendecomposition serves all penalties.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.linalg import eigh, solve  # faster than SciPy for small matrices

from ngdt._util.arrays import row_blocks

# Number of values of X that are scaled at a time.
_BLOCK_VALUES = 2**18
# Weight of the prediction of the node above in the mean of each node, in samples.
PSEUDO_COUNT = 5.0
# Smallest penalty for which equations are solved, as a share of the largest sum of squares.
_RIDGE = 1e-9
# Share of the largest sum of squares within which that of deviations counts as zero: rounding left
# up to 5e-13 of none, of up to 1e5 samples whose mean is some standard deviations from zero.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Sums:
    """Weighted sums over the samples of a node: all that ridge regression needs of them.

    Attributes
    ----------
    products : ndarray of shape (1 + p + n_outputs, 1 + p + n_outputs)
        Products of a one, the features and the targets with each other. Those of several nodes have
        one dimension more, the first.
    n_outputs : int
    """

    products: np.ndarray
    n_outputs: int

    @classmethod
    def of(cls, Z, y, weight):
        """The sums over some samples."""
        rows = np.concatenate((np.ones((len(y), 1)), Z, y), axis=1)
        return cls((weight[:, None] * rows).T @ rows, y.shape[1])

    @classmethod
    def read(cls, data, samples):
        """The sums over samples that are read block by block."""
        total = None
        for block in row_blocks((len(samples), len(data.features)), _BLOCK_VALUES):
            part = samples[block]
            sums = cls.of(data.read(part), data.y[part], data.weight[part])
            total = sums if total is None else total + sums
        return total

    def __add__(self, other):
        return Sums(self.products + other.products, self.n_outputs)

    def __sub__(self, other):
        return Sums(self.products - other.products, self.n_outputs)

    @property
    def weight(self):
        """Sum of the weights."""
        return self.products[..., 0, 0]

    def means(self):
        """Means of features and targets."""
        # All weights of a node may be too small next to their mean.
        weight = np.where(self.weight > 0.0, self.weight, 1.0)
        means = self.products[..., 0, 1:] / weight[..., None]
        return means[..., :-self.n_outputs], means[..., -self.n_outputs:]

    def centered(self):
        """Means of features and targets, and products of their deviations from the means.

        The products of the targets with themselves are added up.
        """
        sums, k = self.products[..., 0, 1:, None], self.n_outputs
        weight = np.where(self.weight > 0.0, self.weight, 1.0)
        products = self.products[..., 1:, 1:] - sums * (
            sums / weight[..., None, None]).swapaxes(-1, -2)
        yy = np.maximum(products[..., -k:, -k:].trace(axis1=-2, axis2=-1), 0.0)
        return (*self.means(), products[..., :-k, :-k], products[..., :-k, -k:], yy)


class RidgeNode:
    """The products of the samples of a node.

    Parameters
    ----------
    data : ScaledSamples
    samples : ndarray of int
        At least one.
    """

    @staticmethod
    def constant(data, samples):
        """The mean of the targets, shape (n_outputs,)."""
        return data.weight[samples] @ data.y[samples] / data.weight[samples].sum()

    @staticmethod
    def ranges(data, samples):
        """The smallest and the largest of each target, shape (n_outputs, 2)."""
        y = data.problem.y[samples]
        return np.stack([y.min(axis=0), y.max(axis=0)], axis=-1)

    def __init__(self, data, samples):
        # With fewer samples than features, their own products are smaller.
        self.products, self.rounding = None, 0.0
        if len(samples) >= len(data.features):
            sums = Sums.read(data, samples)
            self.rounding = _ROUNDING * sums.products.diagonal()[1:-sums.n_outputs].max(initial=0.0)
            self.weight = sums.weight
            self.z, self.y, self.products, self.zy, self.yy = sums.centered()
            if not (np.isfinite(self.products).all() and np.isfinite(self.zy).all()):
                # Where numbers overflow, the features count as constant.
                self.products, self.zy = np.zeros_like(self.products), np.zeros_like(self.zy)
        else:
            self._multiply_samples(data, samples)
        self.z = np.nan_to_num(self.z, copy=False, posinf=0.0, neginf=0.0)

    def _multiply_samples(self, data, samples):
        """The products of the samples with each other, where they are fewer than the features."""
        weight, y, Z = data.weight[samples], data.y[samples], data.read(samples)
        self.weight, root = weight.sum(), np.sqrt(weight)[:, None]
        total = self.weight if self.weight > 0.0 else 1.0
        self.z, self.y = weight @ Z / total, weight @ y / total
        self._rows, self._targets = root * (Z - self.z), root * (y - self.y)
        self._of_samples = self._rows @ self._rows.T
        if not np.isfinite(self._of_samples).all():
            self._rows, self._of_samples = (
                np.zeros_like(each) for each in (self._rows, self._of_samples))
        self.zy, self.yy = self._rows.T @ self._targets, (self._targets**2).sum()

    @cached_property
    def spectrum(self):
        """Eigenvalues and eigenvectors of the products of the features; not all of few samples."""
        if self.products is not None:
            s, V = eigh(self.products)
            return np.maximum(s, 0.0), V
        s, U = eigh(self._of_samples)
        used = s > len(s) * np.finfo(float).eps * max(s[-1], 0.0)
        s = s[used]
        return s, self._rows.T @ (U[:, used] / np.sqrt(s))

    def slopes(self, prior, penalties):
        """Slopes for each penalty, shape (n_penalties, n_outputs, p), drawn to a prior."""
        few = self.products is None
        products = self._of_samples if few else self.products
        if self._is_solved_directly(products, penalties):
            # Eigenvectors would take some eight times as long.
            prior = prior.reshape(prior.shape[-2:])
            residual = self._targets - self._rows @ prior.T if few else (
                self.zy - self.products @ prior.T)
            step = solve(products + penalties[0] * np.eye(len(products)), residual)
            return (prior + (self._rows.T @ step if few else step).T)[None]
        s, V = self.spectrum
        residual, penalties = self.zy.T @ V - s * (prior @ V), penalties[:, None, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            step = residual / (s + penalties)
        # Without a penalty, directions in which samples do not differ are not fitted.
        step[~np.isfinite(step) | ((penalties == 0.0) & (s <= self.rounding))] = 0.0
        return prior + step @ V.T

    @staticmethod
    def _is_solved_directly(products, penalties):
        """True if there is one penalty, large enough for the equations to be regular."""
        return len(penalties) == 1 and (
            _RIDGE * products.diagonal().max(initial=0.0) < penalties[0] < np.inf)

    def best_penalty(self, penalties):
        """The penalty with the least generalised cross-validation error, for a prior of zero."""
        slopes = self.slopes(np.zeros(self.zy.T.shape), penalties)
        errors = self.squared_errors(self.y - slopes @ self.z, slopes)
        s, _ = self.spectrum
        used = 1.0 + (s / (s + penalties[:, None])).sum(axis=1)
        return penalties[np.argmin(errors / np.maximum(self.weight - used, 1e-9) ** 2)]

    def fit(self, value, prior, penalties, *, is_drawn):
        """Values and slopes for each penalty.

        Parameters
        ----------
        value : ndarray of shape (n_penalties, n_outputs)
        prior : ndarray of shape (n_penalties, n_outputs, p) or (n_outputs, p)
            The model of the node above.
        penalties : ndarray of shape (n_penalties,)
        is_drawn : bool
            Whether the mean prediction is drawn to that of the node above, besides the slopes.

        Returns
        -------
        values : ndarray of shape (n_penalties, n_outputs)
        slopes : ndarray of shape (n_penalties, n_outputs, p)
        """
        slopes, mean = self.slopes(prior, penalties), self.y
        if is_drawn:
            mean = (self.weight * mean + PSEUDO_COUNT * (value + prior @ self.z)) / (
                self.weight + PSEUDO_COUNT)
        return mean - slopes @ self.z, slopes

    def squared_errors(self, value, slopes):
        """Sum of squared errors of a model for each penalty, shape (n_penalties,)."""
        if self.products is None:
            squares = (slopes @ self._rows.T)**2
        else:
            squares = slopes * (slopes @ self.products)
        explained = 2.0 * (slopes * self.zy.T).sum(axis=(1, 2)) - squares.sum(axis=(1, 2))
        shift = ((self.y - value - slopes @ self.z) ** 2).sum(axis=1)
        return np.maximum(self.yy - explained, 0.0) + self.weight * shift

    losses = squared_errors


def best_constants(loss, y, weight):
    """The constant with the least loss for each column of targets, shape (n_columns,)."""
    return loss.fit_leaves(np.zeros(len(y), np.intp), y, weight, 1, y.shape[1])[0]


class LocationNode(RidgeNode):
    """Slopes of ridge regression, and the constant with the least loss for what these leave.

    Deviation: quantile regression has slopes of its own. Those of a quantile are added once, to the
    tree that the default returns (`with_quantile_slopes`); in each leaf, they take many times the
    time, and for the absolute error saved 0.2 % more of it on 13 tables.
    """

    @staticmethod
    def constant(data, samples):
        """The constant with the least loss, shape (n_outputs,)."""
        return best_constants(data.problem.loss, data.problem.y[samples], data.weight[samples])

    def __init__(self, data, samples):
        super().__init__(data, samples)
        self.problem, self.samples = data.problem, samples
        self._weights = data.weight[samples]
        # A feature that overflows counts as constant.
        self._Z = np.nan_to_num(data.read(samples), copy=False, posinf=0.0, neginf=0.0)

    def fit(self, value, prior, penalties, *, is_drawn):
        slopes = self.slopes(prior, penalties)
        rest = self.problem.y[self.samples, None] - np.tensordot(self._Z, slopes, axes=(1, 2))
        # All constants at once, as those of several targets.
        own = best_constants(
            self.problem.loss, rest.reshape(len(rest), -1), self._weights).reshape(rest.shape[1:])
        if is_drawn:
            above = value + (prior - slopes) @ self.z
            own = (self.weight * own + PSEUDO_COUNT * above) / (self.weight + PSEUDO_COUNT)
        return own, slopes

    def losses(self, value, slopes):
        """Sum of losses of a model for each penalty, shape (n_penalties,)."""
        return np.array([
            self._weights @ self.problem.prediction_errors(one + self._Z @ each.T, self.samples)
            for one, each in zip(value, slopes, strict=True)])
