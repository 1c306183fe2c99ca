"""Linear models of all nodes of a tree, each drawn to that of the node above."""

from dataclasses import dataclass

import numpy as np

from ngdt._core.structure import child_ids
from ngdt._core.threads import one_blas_thread
from ngdt._methods.linear_leaves.logistic import LogisticNode
from ngdt._methods.linear_leaves.ridge import LocationNode, RidgeNode
from ngdt._training.control import SILENT
from ngdt._training.samples_by_leaf import SamplesByLeaf
from ngdt._util.arrays import as_dense
from ngdt.losses import LogLoss

# Losses of the difference between target and prediction: the best constant of a linear model is
# that for what its slopes leave.
LOCATION_LOSSES = ("squared_error", "huber", "absolute_error", "quantile")


def node_type(loss):
    """The class that fits models of nodes, `RidgeNode` for the squared loss; None for some."""
    if loss.is_squared:
        return RidgeNode
    if loss.name in LOCATION_LOSSES:
        return LocationNode
    return LogisticNode if type(loss) is LogLoss else None


def takes_linear_leaves(problem):
    """Return whether leaves can be linear; with directions, they share their slopes."""
    kind = node_type(problem.loss)
    return kind is not None and (kind is not LocationNode or problem.directions is None)


def targets_of_slopes(problem):
    """The targets, without far ones where squared errors fit the slopes of another loss."""
    return problem._near_targets if node_type(problem.loss) is LocationNode else problem.y


class ScaledSamples:
    """Some features of the samples of a problem, scaled, dense and in float64.

    Parameters
    ----------
    problem : Problem
        Its sample weights are used in units of their mean, so that penalties count samples.
    features : ndarray of int
    """

    def __init__(self, problem, features):
        self.problem, self.features = problem, features
        self.X, self.y = problem.winsorized.X, targets_of_slopes(problem)
        self.weight = problem.sample_weight / problem.sample_weight[problem.training_samples].mean()
        self.scale = problem.scaling.scale[features]
        # Sparse data have a center of zero.
        self.center = problem.scaling.center[features]

    def read_raw(self, samples):
        """The features as they are, shape (n, n_used_features)."""
        X = self.X[samples]
        if X.shape[1] > len(self.features):
            X = X[:, self.features]
        return as_dense(X)

    def scaled(self, X):
        """The features scaled; infinite far beyond all training samples."""
        with np.errstate(over="ignore"):
            return (X - self.center) / self.scale

    def read(self, samples):
        """The scaled features, shape (n, n_used_features)."""
        return self.scaled(self.read_raw(samples))


@dataclass(frozen=True, eq=False)
class NodeModels:
    """A linear model per node and penalty, in scaled features; leaves come after the nodes.

    Attributes
    ----------
    values : ndarray of shape (n_nodes, n_penalties, n_outputs)
        Predictions at the origin of the scaled features.
    slopes : ndarray of shape (n_nodes, n_penalties, n_outputs, n_used_features)
    ranges : ndarray of shape (n_nodes, n_outputs, 2)
        Smallest and largest target of the samples of each node; for classes, infinite.
    losses : ndarray of shape (n_nodes, n_penalties), or None
        Losses, added up over the samples of each node, before predictions are clipped.
    """

    values: np.ndarray
    slopes: np.ndarray
    ranges: np.ndarray
    losses: np.ndarray

    def predict(self, node, Z, clip=True):
        """Predictions of a node for each penalty, shape (n, n_penalties, n_outputs)."""
        predictions = self.values[node] + np.tensordot(Z, self.slopes[node], axes=(1, 2))
        return np.clip(predictions, *self.ranges[node].T) if clip else predictions


def fit_models(
        tree, data, samples, penalties, *, prior=None, shrink=True, root_penalties=None,
        with_losses=False, activity=SILENT):
    """Linear models of all nodes.

    Parameters
    ----------
    tree : Tree
    data : ScaledSamples
    samples : ndarray of int32, shape (n,)
        Samples to fit.
    penalties : ndarray of shape (n_penalties,)
    prior : ndarray of shape (n_leaves, n_outputs, n_used_features), default=None
        Slopes to which each leaf is drawn. None draws it to the slopes of the node above if
        `shrink`, else to zero.
    shrink : bool, default=True
        Whether a model is fitted to each node from the root down, and both its slopes and the mean
        of its predictions are drawn to the model of the node above. If not, or with a prior, only
        leaves have models.
    root_penalties : ndarray of shape (n,), default=None
        Penalties of which the root gets the best one by generalised cross-validation. None gives it
        `penalties`.
    with_losses : bool, default=False
        Whether to find `NodeModels.losses`, for which each node needs its samples read.
    activity : Activity, default=SILENT
        Where to say how much is done.

    Returns
    -------
    NodeModels
        A leaf without samples, or time, has the model of the node above or, without `shrink`,
        predicts the mean of all targets.
    """
    m, n_nodes = tree.n_internal, tree.n_internal + tree.n_leaves
    shape = len(penalties), tree.n_outputs, len(data.features)
    by_leaf = SamplesByLeaf(tree, samples, data.problem.apply(tree, samples))
    values, slopes = np.zeros((n_nodes, *shape[:2])), np.zeros((n_nodes, *shape))
    ranges = np.zeros((n_nodes, shape[1], 2))
    losses = np.zeros((n_nodes, shape[0])) if with_losses else None
    node_model = node_type(data.problem.loss)
    values[0], ranges[0] = node_model.constant(data, samples), node_model.ranges(data, samples)
    children, is_chain = child_ids(tree), shrink and prior is None
    # The products of a node are small: several threads of BLAS would mostly wait for each other.
    with one_blas_thread:
        for node in range(n_nodes):     # parents come before children
            here = by_leaf.samples[by_leaf.slice_of(node)]
            if len(here) and (is_chain or node >= m):
                fits = not is_chain or node == 0 or data.problem.control.deadline.fits()
                if fits or with_losses:
                    fitted = node_model(data, here)
                if fits:
                    strengths = penalties
                    if node == 0 and root_penalties is not None:
                        strengths = np.full(len(penalties), fitted.best_penalty(root_penalties))
                    values[node], slopes[node] = fitted.fit(
                        values[node], slopes[node] if prior is None else prior[node - m], strengths,
                        is_drawn=is_chain and node > 0)
                if with_losses:
                    losses[node] = fitted.losses(values[node], slopes[node])
                ranges[node] = node_model.ranges(data, here)
                activity.at((node + 1) / n_nodes)
            if node < m:
                for each in (values, slopes, ranges):
                    each[children[node]] = each[node]
    return NodeModels(values, slopes, ranges, losses)


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
    values, slopes, ranges = (
        models.values[nodes, penalty], models.slopes[nodes, penalty], models.ranges[nodes])
    if not slopes.any():
        # What the folds have judged: a leaf of equal targets predicts these, and no mean.
        return tree.replace(values=values.clip(*np.moveaxis(ranges, -1, 0)) if clip else values)
    raw = np.zeros((tree.n_leaves, tree.n_outputs, tree.n_features))
    raw[:, :, data.features] = slopes / data.scale
    values = values - raw[:, :, data.features] @ data.center
    is_clipped = clip and not np.isinf(ranges).all()
    return tree.replace(values=values, slopes=raw, ranges=ranges if is_clipped else None)
