"""Ridge regression in each node of a tree, for several penalties at once.

The slopes of a node minimise

    sum of weight * (y - value - slopes @ z)^2 + penalty * |slopes - prior|^2

over its samples z, in scaled features. The prior is zero, that of a node above, or given. One
eigendecomposition per node serves all penalties.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import eigh

from ngdt._scaling import row_blocks
from ngdt._structure import child_ids
from ngdt.optimizers._samples_by_leaf import SamplesByLeaf

# Number of values of X that are scaled at a time.
_BLOCK_VALUES = 2**18
# Weight of the prediction of the parent in the mean of each node, in samples.
PSEUDO_COUNT = 5.0


@dataclass(frozen=True)
class LinearModels:
    """A linear model per leaf and penalty, in scaled features.

    Attributes
    ----------
    values : ndarray of shape (n_leaves, n_penalties, n_outputs)
        Predictions at the origin of the scaled features.
    slopes : ndarray of shape (n_leaves, n_penalties, n_outputs, n_used_features)
    ranges : ndarray of shape (n_leaves, n_outputs, 2)
        Smallest and largest target of the samples of each leaf.
    """

    values: np.ndarray
    slopes: np.ndarray
    ranges: np.ndarray

    def predict(self, leaf, Z, clip):
        """Predictions for samples that reach one leaf, shape (n, n_penalties, n_outputs)."""
        predictions = self.values[leaf] + np.tensordot(Z, self.slopes[leaf], axes=(1, 2))
        return np.clip(predictions, *self.ranges[leaf].T) if clip else predictions


class ScaledSamples:
    """Some features of the samples of a problem, scaled, dense and in float64.

    Parameters
    ----------
    problem : Problem
        Its sample weights are used in units of their mean, so that penalties count samples.
    features : ndarray of int
    """

    def __init__(self, problem, features):
        self.X, self.y, self.features = problem.X, problem.y, features
        training = problem.sample_weight[problem.training_samples]
        self.weight = problem.sample_weight / training.mean()
        scaling = problem.scaling
        self.scale = scaling.scale[features]
        # Sparse data have a center of zero.
        self.center = scaling.center[features]

    def read(self, samples):
        """The scaled features, shape (n, n_used_features)."""
        X = self.X[samples]
        if X.shape[1] > len(self.features):
            X = X[:, self.features]
        X = X.toarray() if sparse.issparse(X) else X
        return (X - self.center) / self.scale

    def spectrum(self, samples):
        """Means of a node, its products of features with targets, and its eigenvectors."""
        weight, y = self.weight[samples], self.y[samples]
        total, p = weight.sum(), len(self.features)
        y_mean = weight @ y / total
        if len(samples) < p:
            root, Z = np.sqrt(weight)[:, None], self.read(samples)
            z_mean = weight @ Z / total
            Z = root * (Z - z_mean)
            s, U = eigh(Z @ Z.T, check_finite=False)
            used = s > len(s) * np.finfo(float).eps * max(s[-1], 0.0)
            s = s[used]
            return _Node(total, z_mean, y_mean, Z.T @ (root * (y - y_mean)), s,
                         Z.T @ (U[:, used] / np.sqrt(s)))
        z_sum, products, gram = np.zeros(p), np.zeros((p, y.shape[1])), np.zeros((p, p))
        for block in row_blocks(np.empty((len(samples), p), dtype=bool), _BLOCK_VALUES):
            Z = self.read(samples[block])
            weighted = weight[block, None] * Z
            z_sum += weighted.sum(axis=0)
            products += weighted.T @ (y[block] - y_mean)
            gram += weighted.T @ Z
        z_mean = z_sum / total
        gram -= np.outer(z_sum, z_mean)
        s, V = eigh(gram, check_finite=False)
        return _Node(total, z_mean, y_mean, products, np.maximum(s, 0.0), V)


@dataclass(frozen=True)
class _Node:
    """What ridge regression needs of the samples of a node."""

    weight: float
    z_mean: np.ndarray      # (p,)
    y_mean: np.ndarray      # (n_outputs,)
    products: np.ndarray    # (p, n_outputs)
    s: np.ndarray           # eigenvalues of the weighted covariance times the weight
    V: np.ndarray           # (p, n_eigenvalues)

    def slopes(self, prior, penalties):
        """Slopes for each penalty, shape (n_penalties, n_outputs, p), from those of the prior."""
        residual = self.products.T @ self.V - self.s * (prior @ self.V)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = residual / (self.s + penalties[:, None, None])
        # Without a penalty, directions in which samples do not differ are not fitted.
        step[~np.isfinite(step)] = 0.0
        return prior + step @ self.V.T


def fit_models(tree, data, samples, leaf, penalties, *, prior=None, shrink=True):
    """Linear models of all leaves.

    Parameters
    ----------
    tree : Tree
    data : ScaledSamples
    samples, leaf : ndarray of int32, shape (n,)
        Samples to fit, and their leaves.
    penalties : ndarray of shape (n_penalties,)
    prior : ndarray of shape (n_leaves, n_outputs, n_used_features), default=None
        Slopes that those of each leaf are drawn to. None draws them to those of the node above if
        `shrink`, else to zero.
    shrink : bool, default=True
        Whether a model is fitted to each node from the root down, and both its slopes and the mean
        of its predictions are drawn to the model of the node above.

    Returns
    -------
    LinearModels
        A leaf without samples has the model of the node above or, without `shrink`, predicts the
        mean of all targets.
    """
    m, n_penalties = tree.n_internal, len(penalties)
    shape = n_penalties, data.y.shape[1], len(data.features)
    by_leaf = SamplesByLeaf(tree, samples, leaf)
    values = np.empty((tree.n_leaves, *shape[:2]))
    slopes = np.empty((tree.n_leaves, *shape))
    ranges = np.empty((tree.n_leaves, shape[1], 2))
    mean = data.weight[samples] @ data.y[samples] / data.weight[samples].sum()
    children, is_chain = child_ids(tree), shrink and prior is None
    waiting = [(0, np.broadcast_to(mean, shape[:2]), np.zeros(shape), _range(data.y[samples]))]
    while waiting:
        node, value, slope, limits = waiting.pop()
        here = by_leaf.samples[by_leaf.slice_of(node if node < m else ~(node - m))]
        if len(here) and (is_chain or node >= m):
            if prior is not None:
                slope = np.broadcast_to(prior[node - m], shape)
            value, slope = _fit(data.spectrum(here), value, slope, penalties, is_chain, node == 0)
            limits = _range(data.y[here])
        if node >= m:
            values[node - m], slopes[node - m], ranges[node - m] = value, slope, limits
        else:
            waiting += [(child, value, slope, limits) for child in children[node]]
    return LinearModels(values, slopes, ranges)


def _fit(node, value, prior, penalties, is_drawn, is_root):
    """Value at the origin and slopes of a node for each penalty."""
    slopes = node.slopes(prior, penalties)
    mean = np.broadcast_to(node.y_mean, value.shape)
    if is_drawn and not is_root:
        above = value + prior @ node.z_mean
        mean = (node.weight * mean + PSEUDO_COUNT * above) / (node.weight + PSEUDO_COUNT)
    return mean - slopes @ node.z_mean, slopes


def _range(y):
    return np.stack([y.min(axis=0), y.max(axis=0)], axis=-1)
