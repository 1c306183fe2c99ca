"""The regions of a tree in which a goal is met, and the points of them nearest to a sample.

A region is a polytope: the inequalities of the path to a leaf and, where the leaf is linear, those
under which its predictions meet the goal. A sample that goes right, or whose class changes, has to
be beyond a boundary. A point on the boundary is therefore moved into the region by as little as
the rounding errors of the tree's own sums ask for: every point that is returned was predicted.
"""

from typing import NamedTuple

import numpy as np

from ngdt._core.structure import paths
from ngdt.explanation._projection import project

# Distances from a boundary that are tried, in units of the rounding error of the sum.
_MARGINS = (0.0, 1.0, 16.0, 256.0, 4096.0, 65536.0)


class Region(NamedTuple):
    """The points z of a leaf with ``A @ z <= b``, on the other side of strict inequalities.

    Attributes
    ----------
    A : ndarray of shape (n_conditions, n_features)
    b : ndarray of shape (n_conditions,)
    is_strict : ndarray of bool, shape (n_conditions,)
    size : ndarray of shape (n_conditions,)
        Of the numbers that `b` is the difference of.
    unit : ndarray of shape (n_features,)
        Size of the features.
    """

    A: np.ndarray
    b: np.ndarray
    is_strict: np.ndarray
    size: np.ndarray
    unit: np.ndarray

    def rounding_errors(self, x):
        """What the sums of the inequalities may be wrong by."""
        size = np.abs(self.A) @ (np.abs(x) + self.unit) + self.size
        return (np.count_nonzero(self.A, axis=1) + 2) * np.finfo(float).eps * size

    def room(self, x, margin):
        """What a sample leaves of each inequality, with a margin in units of the rounding error."""
        margins = np.where(self.is_strict, max(margin, 1.0), margin)
        return self.b - self.A @ x - margins * self.rounding_errors(x)

    def steps(self, x, features, margin=0.0):
        """Smallest change of each of some features that leads into the region; NaN if none does.

        Parameters
        ----------
        x : ndarray of shape (n_features,)
        features : ndarray of int
        margin : float, default=0.0
            In units of the rounding error.

        Returns
        -------
        ndarray of shape (len(features),)
        """
        room, slope = self.room(x, margin)[:, None], self.A[:, features]
        # Without a margin: what a feature does not move is as it was. Errors are found out later.
        holds = self.b - self.A @ x >= -self.rounding_errors(x)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            end = room / slope
        low = np.where(slope < 0, end, -np.inf).max(axis=0, initial=-np.inf)
        high = np.where(slope > 0, end, np.inf).min(axis=0, initial=np.inf)
        is_reached = (low <= high) & (holds[:, None] | (slope != 0)).all(axis=0)
        return np.where(is_reached, np.clip(0.0, low, high), np.nan)


def inequalities(tree, leaf):
    """Those of the path to a leaf: ``A @ z <= b``, or ``<`` where the path goes right.

    Parameters
    ----------
    tree : Tree
    leaf : int

    Returns
    -------
    A : ndarray of shape (n_nodes, n_features)
    b : ndarray of shape (n_nodes,)
    is_right : ndarray of bool, shape (n_nodes,)
    """
    path = paths(tree, [leaf])
    side = path.data.astype(np.float64)
    # Left: w @ z <= t. Right: -w @ z < -t.
    return (-side[:, None] * tree.dense_weights(path.indices),
            -side * tree.thresholds[path.indices], side > 0)


def nearest_in(region, x, scale, limits, meets):
    """The point of a region nearest to a sample.

    Parameters
    ----------
    region : Region
    x, scale : ndarray of shape (n_features,)
        As for `Regions.nearest`.
    limits : tuple of (ndarray, ndarray)
        Limits of the step from the sample.
    meets : callable
        Takes points, and returns whether each meets the goal.

    Returns
    -------
    point : ndarray of shape (n_features,) or None
        None if no point that was tried meets the goal.
    distance : float
    """
    for margin in _MARGINS:
        step = project(region.A, region.room(x, margin), scale, *limits)
        if step is None:
            continue
        point = x + step
        if np.isfinite(point).all() and meets(point[None])[0]:
            return point, distance_of(point - x, scale)
    return None, np.inf


def distance_of(step, scale):
    """Length of a step, where the distance of each feature is in units of its scale."""
    moved = scale > 0
    return float(np.linalg.norm(step[moved] / scale[moved]))


class Regions:
    """The regions of a tree in which samples meet a goal.

    Parameters
    ----------
    tree : Tree
    goal : ClassGoal, RangeGoal or LeafGoal
    unit : ndarray of shape (n_features,)
        Size of the features, such as their standard deviations.
    low, high : float or ndarray of shape (n_features,), default=-inf and inf
        Limits of the points. A sample beyond them may stay where it is.
    """

    def __init__(self, tree, goal, unit, low=-np.inf, high=np.inf):
        self.tree, self.goal, self.unit, self.low, self.high = tree, goal, unit, low, high

    def predict(self, points):
        """Leaves and outputs of points, and whether they meet the goal.

        Parameters
        ----------
        points : ndarray of shape (n_points, n_features)
        """
        data = self.tree._samples(np.ascontiguousarray(points))
        leaf = self.tree.apply_samples(data)
        outputs = self.tree.leaf_predictions(leaf, data)
        return leaf, outputs, self.goal.accepts(leaf, outputs)

    def of_leaf(self, leaf):
        """The regions of a leaf.

        Yields
        ------
        Region
        """
        tree = self.tree
        if tree.slopes is None:
            if not self.goal.accepts(np.array([leaf]), tree.values[[leaf]])[0]:
                return
            conditions = [(np.empty((0, tree.n_features)), np.empty(0), np.empty(0), False)]
        else:
            conditions = self.goal.conditions(tree, leaf)
        A, b, is_right = inequalities(tree, leaf)
        for slopes, limits, size, is_strict in conditions:
            yield Region(
                np.vstack([A, slopes]), np.concatenate([b, limits]),
                np.concatenate([is_right, np.full(len(limits), is_strict)]),
                np.concatenate([np.abs(b), size]), self.unit)

    def nearest_on_axes(self, x, features):
        """The nearest points that differ from a sample in one feature.

        Parameters
        ----------
        x : ndarray of shape (n_features,)
        features : ndarray of int

        Returns
        -------
        dict
            New value by feature, for those of which some value meets the goal.
        """
        regions = [region for leaf in range(self.tree.n_leaves) for region in self.of_leaf(leaf)]
        if not regions:
            return {}
        steps = np.array([region.steps(x, features) for region in regions])
        low, high = self._limits(x)
        steps[(steps < low[features]) | (steps > high[features])] = np.nan
        order, found = np.argsort(np.abs(steps), axis=0), {}    # NaN comes last
        for k, feature in enumerate(features.tolist()):
            for r in order[:, k]:
                if np.isnan(steps[r, k]):
                    break
                value = self._value_in(regions[r], x, feature)
                if value is not None:
                    found[feature] = value
                    break
        return found

    def _limits(self, x):
        """Limits of the steps from a sample."""
        return np.minimum(self.low - x, 0.0), np.maximum(self.high - x, 0.0)

    def _value_in(self, region, x, feature):
        """The value of a feature with which a sample meets the goal, in the region or beside it."""
        point = x.copy()
        for margin in _MARGINS:
            (step,) = region.steps(x, np.array([feature]), margin)
            point[feature] = x[feature] + step
            if np.isfinite(point[feature]) and self.predict(point[None])[2][0]:
                return float(point[feature])
        return None

    def nearest(self, x, scale):
        """The nearest point, where the distance of each feature is in units of its scale.

        Parameters
        ----------
        x : ndarray of shape (n_features,)
        scale : ndarray of shape (n_features,)
            A feature of scale zero does not change.

        Returns
        -------
        point : ndarray of shape (n_features,) or None
            None if no point meets the goal.
        distance : float
        """
        best, least = None, np.inf
        bounds = self._bounds(x, scale)
        for leaf in np.argsort(bounds, kind="stable"):
            if bounds[leaf] >= least:
                break
            for region in self.of_leaf(leaf):
                point, distance = nearest_in(region, x, scale, self._limits(x), self._meets)
                if distance < least:
                    best, least = point, distance
        return best, least

    def _bounds(self, x, scale):
        """How far each leaf is away at least: as far as the farthest half-space of its path."""
        tree = self.tree
        margins = tree.scores(x[None])[0]
        norm = np.linalg.norm(tree.dense_weights(slice(None)) * scale, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            away = np.where(margins == 0, 0.0, margins / norm)
        path = paths(tree, np.arange(tree.n_leaves))
        # Where the path goes the other way than the sample.
        path.data = np.maximum(-path.data * away[path.indices], 0.0)
        return path.max(axis=1).toarray().ravel() if tree.n_internal else np.zeros(1)

    def _meets(self, points):
        return self.predict(points)[2]
