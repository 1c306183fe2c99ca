"""Ridge regression in each node of a tree, for several penalties at once.

The slopes of a node minimise

    sum of weight * |y - value - slopes @ z|^2 + penalty * |slopes - prior|^2

over its samples z, in scaled features. The prior is zero, that of the node above, or given. One
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
# Weight of the prediction of the node above in the mean of each node, in samples.
PSEUDO_COUNT = 5.0


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
        self.weight = problem.sample_weight / problem.sample_weight[problem.training_samples].mean()
        self.scale = problem.scaling.scale[features]
        # Sparse data have a center of zero.
        self.center = problem.scaling.center[features]

    def read(self, samples):
        """The scaled features, shape (n, n_used_features)."""
        X = self.X[samples]
        if X.shape[1] > len(self.features):
            X = X[:, self.features]
        X = X.toarray() if sparse.issparse(X) else X
        return (X - self.center) / self.scale


@dataclass(frozen=True)
class Sums:
    """Weighted sums over the samples of a node, of which ridge regression needs no more.

    Attributes
    ----------
    weight : float
    z : ndarray of shape (p,)
    y : ndarray of shape (n_outputs,)
    zz : ndarray of shape (p, p)
    zy : ndarray of shape (p, n_outputs)
    yy : float
        Products of features and targets.
    """

    weight: float
    z: np.ndarray
    y: np.ndarray
    zz: np.ndarray
    zy: np.ndarray
    yy: float

    @classmethod
    def of(cls, Z, y, weight):
        """The sums over some samples."""
        weighted = weight[:, None] * Z
        return cls(weight.sum(), weighted.sum(axis=0), weight @ y, weighted.T @ Z, weighted.T @ y,
                   weight @ (y * y).sum(axis=1))

    @classmethod
    def read(cls, data, samples):
        """The sums over samples that are read block by block."""
        blocks = row_blocks(np.empty((len(samples), len(data.features)), bool), _BLOCK_VALUES)
        total = None
        for block in blocks:
            part = samples[block]
            sums = cls.of(data.read(part), data.y[part], data.weight[part])
            total = sums if total is None else total + sums
        return total

    def __add__(self, other):
        return Sums(*(getattr(self, name) + getattr(other, name) for name in vars(self)))

    def __sub__(self, other):
        return Sums(*(getattr(self, name) - getattr(other, name) for name in vars(self)))

    def centered(self):
        """Means of features and targets, and products of their deviations from the means."""
        z, y = self.z / self.weight, self.y / self.weight
        return (z, y, self.zz - np.outer(self.z, z), self.zy - np.outer(self.z, y),
                max(self.yy - self.y @ y, 0.0))


class Node:
    """The samples of a node in the eigenvectors of their features.

    Parameters
    ----------
    data : ScaledSamples
    samples : ndarray of int
        At least one.
    """

    def __init__(self, data, samples):
        if len(samples) >= len(data.features):
            sums = Sums.read(data, samples)
            self.weight = sums.weight
            self.z, self.y, products, self.zy, self.yy = sums.centered()
            s, self.V = eigh(products, check_finite=False)
            self.s = np.maximum(s, 0.0)
        else:
            self._decompose_samples(data, samples)

    def _decompose_samples(self, data, samples):
        """With fewer samples than features, from the products of the samples."""
        weight, y, Z = data.weight[samples], data.y[samples], data.read(samples)
        self.weight, root = weight.sum(), np.sqrt(weight)[:, None]
        self.z, self.y = weight @ Z / self.weight, weight @ y / self.weight
        Z, y = root * (Z - self.z), root * (y - self.y)
        s, U = eigh(Z @ Z.T, check_finite=False)
        used = s > len(s) * np.finfo(float).eps * max(s[-1], 0.0)
        self.s = s[used]
        self.V = Z.T @ (U[:, used] / np.sqrt(self.s))
        self.zy, self.yy = Z.T @ y, (y * y).sum()

    def slopes(self, prior, penalties):
        """Slopes for each penalty, shape (n_penalties, n_outputs, p), from those of the prior."""
        residual = self.zy.T @ self.V - self.s * (prior @ self.V)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = residual / (self.s + penalties[:, None, None])
        # Without a penalty, directions in which samples do not differ are not fitted.
        step[~np.isfinite(step)] = 0.0
        return prior + step @ self.V.T

    def best_penalty(self, penalties):
        """The penalty with the least generalised cross-validation error, for a prior of zero."""
        slopes = self.slopes(np.zeros(self.zy.T.shape), penalties)
        errors = self.squared_error(self.y - slopes @ self.z, slopes)
        used = 1.0 + (self.s / (self.s + penalties[:, None])).sum(axis=1)
        return penalties[np.argmin(errors / np.maximum(self.weight - used, 1e-9) ** 2)]

    def squared_error(self, value, slopes):
        """Sum of squared errors of a model for each penalty, shape (n_penalties,)."""
        along = slopes @ self.V
        explained = 2.0 * (slopes * self.zy.T).sum(axis=(1, 2)) - (self.s * along**2).sum((1, 2))
        shift = ((self.y - value - slopes @ self.z) ** 2).sum(axis=1)
        return np.maximum(self.yy - explained, 0.0) + self.weight * shift


@dataclass(frozen=True)
class NodeModels:
    """A linear model per node and penalty, in scaled features; leaves come after the nodes.

    Attributes
    ----------
    values : ndarray of shape (n_nodes, n_penalties, n_outputs)
        Predictions at the origin of the scaled features.
    slopes : ndarray of shape (n_nodes, n_penalties, n_outputs, n_used_features)
    ranges : ndarray of shape (n_nodes, n_outputs, 2)
        Smallest and largest target of the samples of each node.
    squared_errors : ndarray of shape (n_nodes, n_penalties)
        Sums over the samples of each node, before predictions are clipped.
    """

    values: np.ndarray
    slopes: np.ndarray
    ranges: np.ndarray
    squared_errors: np.ndarray

    def predict(self, node, Z, clip=True):
        """Predictions of a node for each penalty, shape (n, n_penalties, n_outputs)."""
        predictions = self.values[node] + np.tensordot(Z, self.slopes[node], axes=(1, 2))
        return np.clip(predictions, *self.ranges[node].T) if clip else predictions


def fit_models(
        tree, data, samples, leaf, penalties, *, prior=None, shrink=True, root_penalties=None):
    """Linear models of all nodes.

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
        of its predictions are drawn to the model of the node above. If not, or with a prior, only
        leaves have models.
    root_penalties : ndarray of shape (n,), default=None
        Penalties of which the root gets the best one by generalised cross-validation. None gives it
        `penalties`.

    Returns
    -------
    NodeModels
        A leaf without samples has the model of the node above or, without `shrink`, predicts the
        mean of all targets.
    """
    m, n_nodes = tree.n_internal, tree.n_internal + tree.n_leaves
    shape = len(penalties), data.y.shape[1], len(data.features)
    by_leaf = SamplesByLeaf(tree, samples, leaf)
    values, slopes = np.zeros((n_nodes, *shape[:2])), np.zeros((n_nodes, *shape))
    ranges, errors = np.zeros((n_nodes, shape[1], 2)), np.zeros((n_nodes, shape[0]))
    values[0] = data.weight[samples] @ data.y[samples] / data.weight[samples].sum()
    ranges[0] = _range(data.y[samples])
    children, is_chain = child_ids(tree), shrink and prior is None
    for node in range(n_nodes):     # parents come before children
        here = by_leaf.samples[by_leaf.slice_of(node if node < m else ~(node - m))]
        if len(here) and (is_chain or node >= m):
            fitted = Node(data, here)
            drawn_to = slopes[node].copy() if prior is None else prior[node - m]
            strengths = penalties
            if node == 0 and root_penalties is not None:
                strengths = np.full(len(penalties), fitted.best_penalty(root_penalties))
            slopes[node] = fitted.slopes(drawn_to, strengths)
            mean, above = fitted.y, values[node] + drawn_to @ fitted.z
            if is_chain and node:
                mean = (fitted.weight * mean + PSEUDO_COUNT * above) / (
                    fitted.weight + PSEUDO_COUNT)
            values[node] = mean - slopes[node] @ fitted.z
            ranges[node] = _range(data.y[here])
            errors[node] = fitted.squared_error(values[node], slopes[node])
        if node < m:
            for each in (values, slopes, ranges):
                each[children[node]] = each[node]
    return NodeModels(values, slopes, ranges, errors)


def with_models(tree, data, models, *, nodes=None, penalty=0, clip=True):
    """A tree with linear models in its leaves, in raw features.

    Parameters
    ----------
    tree : Tree
    data : ScaledSamples
    models : NodeModels
    nodes : ndarray of int, shape (n_leaves,), default=None
        Whose model each leaf gets. None are the leaves themselves.
    penalty : int, default=0
        Number of the penalty.
    clip : bool, default=True
        Whether predictions stay in the ranges.

    Returns
    -------
    Tree
        With constant leaves if all slopes are zero.
    """
    nodes = np.arange(tree.n_internal, len(models.values)) if nodes is None else nodes
    values, slopes = models.values[nodes, penalty], models.slopes[nodes, penalty]
    if not slopes.any():
        return tree.replace(values=values)
    raw = np.zeros((tree.n_leaves, tree.n_outputs, tree.n_features))
    raw[:, :, data.features] = slopes / data.scale
    values = values - raw[:, :, data.features] @ data.center
    return tree.replace(values=values, slopes=raw, ranges=models.ranges[nodes] if clip else None)


def _range(y):
    return np.stack([y.min(axis=0), y.max(axis=0)], axis=-1)
