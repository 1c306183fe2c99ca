"""The regions of a tree in which a goal is met, and the points of them nearest to a sample.

A region is a polytope: the inequalities of the path to a leaf and, where the leaf is linear, those
under which its predictions meet the goal. A sample that goes right, or whose class changes, has to
be beyond a boundary. A point on the boundary is therefore moved into the region by as little as
the rounding errors of the tree's own sums ask for: every point that is returned was predicted.
"""

import warnings
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgWarning
from scipy.optimize import lsq_linear, nnls

from ngdt.explanation._goals import LeafGoal

# Distances from a boundary that are tried, in units of the rounding error of the sum.
_MARGINS = (0.0, 1.0, 16.0, 256.0, 4096.0, 65536.0)
# Lengths of steps that are tried where features have to be whole, in units of the shortest one.
_LENGTHS = np.linspace(1.0, 3.0, 41)
# Polytopes that are farther than this many times their most distant half-space count as empty.
_FARTHEST = 1e7
# Half-spaces that reach beyond a point by this many times the distance to others are no limit.
_NO_LIMIT = 1e100


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
        """Bounds of the rounding errors of the sums of the inequalities."""
        return rounding_errors(self.A, np.abs(x) + self.unit, self.size)

    def room(self, x, margin):
        """Slack of a sample in each inequality, with a margin in units of the rounding error."""
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


def rounding_errors(weights, size, constants):
    """Bounds of the rounding errors of sums, of samples of some size and of constants.

    Parameters
    ----------
    weights : ndarray of shape (n_sums, n_features)
    size : ndarray of shape (n_features,)
    constants : ndarray of shape (n_sums,)
        Absolute values.

    Returns
    -------
    ndarray of shape (n_sums,)
    """
    size = np.abs(weights) @ size + constants
    return (np.count_nonzero(weights, axis=1) + 2) * np.finfo(float).eps * size


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
    is_whole : ndarray of bool, shape (n_features,), default=None
        The features that change to whole numbers. None stands for none.
    """

    def __init__(self, tree, goal, unit, low=-np.inf, high=np.inf, is_whole=None):
        self.tree, self.goal, self.unit, self.low, self.high = tree, goal, unit, low, high
        self.is_whole = np.zeros(tree.n_features, dtype=bool) if is_whole is None else is_whole
        self._path, self._of_leaves = tree.ancestors(), {}

    def predict(self, points):
        """Outputs of points, and whether they meet the goal.

        Parameters
        ----------
        points : ndarray of shape (n_points, n_features)
        """
        data = self.tree.samples_of(np.ascontiguousarray(points))
        leaf = self.tree.apply_samples(data)
        outputs = self.tree.leaf_predictions(leaf, data)
        return outputs, self.goal.accepts(leaf, outputs)

    def of_leaf(self, leaf):
        """The regions of a leaf, list of `Region`."""
        if leaf not in self._of_leaves:     # a search asks for most of them several times
            self._of_leaves[leaf] = [*self._made(leaf)]
        return self._of_leaves[leaf]

    def _made(self, leaf):
        """The inequalities of the path to a leaf, with each set of those that the goal adds."""
        tree = self.tree
        if tree.slopes is None or isinstance(self.goal, LeafGoal):
            if not self.goal.accepts(np.array([leaf]), tree.values[[leaf]])[0]:
                return
            conditions = [(np.empty((0, tree.n_features)), np.empty(0), np.empty(0), False)]
        else:
            conditions = self.goal.conditions(tree, leaf)
        own = slice(*self._path.indptr[leaf:leaf + 2])
        nodes, side = self._path.indices[own], self._path.data[own].astype(np.float64)
        # Left: w @ z <= t. Right: -w @ z < -t.
        A, b = -side[:, None] * tree.dense_weights(nodes), -side * tree.thresholds[nodes]
        for slopes, limits, size, is_strict in conditions:
            yield Region(
                np.vstack([A, slopes]), np.concatenate([b, limits]),
                np.concatenate([side > 0, np.full(len(limits), is_strict)]),
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
            values = np.array([x[feature] + step])
            if self.is_whole[feature]:
                values = whole_values(values, x[feature])
            for value in values[np.isfinite(values)].tolist():
                point[feature] = value
                _, (is_met,) = self.predict(point[None])
                if is_met:
                    return value
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
                point, distance = self._nearest_in(region, x, scale)
                if distance < least:
                    best, least = point, distance
        free = np.flatnonzero(scale)
        if self.is_whole[free].any():   # a single number may be rounded by less than several
            for feature, value in self.nearest_on_axes(x, free).items():
                distance = abs(value - x[feature]) / scale[feature]
                if distance < least:
                    best, least = x.copy(), float(distance)
                    best[feature] = value
        return best, least

    def _bounds(self, x, scale):
        """Lower bound of the distance of each leaf: to the farthest half-space of its path."""
        tree = self.tree
        margins = tree.scores(x[None])[0]
        norm = norms(tree.dense_weights(slice(None)) * scale)
        with np.errstate(divide="ignore", invalid="ignore"):
            away = np.where(margins == 0, 0.0, margins / norm)
        path = self._path.copy()
        # Where the path goes the other way than the sample.
        path.data = np.maximum(-path.data * away[path.indices], 0.0)
        return path.max(axis=1).toarray().ravel() if tree.n_internal else np.zeros(1)

    def _nearest_in(self, region, x, scale):
        """The nearest point of a region that meets the goal, or None, and its distance."""
        for margin in _MARGINS:
            step = project(region.A, region.room(x, margin), scale, *self._limits(x))
            if step is None:
                continue
            points = self._rounded(x, step)
            points = points[np.isfinite(points).all(axis=1)]
            points = points[self.predict(points)[1]] if len(points) else points
            if len(points):
                moved = scale > 0
                distance = np.linalg.norm((points - x)[:, moved] / scale[moved], axis=1)
                nearest = distance.argmin()
                return points[nearest], float(distance[nearest])
        return None, np.inf

    def _rounded(self, x, step):
        """The end of a step, or points near it whose whole features are whole.

        A rounded point may have left the region. So there are several, on and behind the end of the
        step, and one whose features are all rounded away from the sample.
        """
        moves = self.is_whole & (step != 0)
        if not moves.any():
            return (x + step)[None]
        points = x + _LENGTHS[:, None] * step
        points[:, moves] = np.rint(points[:, moves])
        farthest = x + step
        farthest[moves] = np.where(step > 0, np.ceil(farthest), np.floor(farthest))[moves]
        low, high = self._limits(x)
        return np.clip(np.vstack([points, farthest]), x + low, x + high)


def whole_values(values, x):
    """The whole numbers next to a number, and those at or beyond some values, seen from it.

    Parameters
    ----------
    values : ndarray
    x : float

    Returns
    -------
    ndarray
        Ascending by the distance from `x`.
    """
    whole = np.unique(np.concatenate([
        np.where(values > x, np.ceil(values), np.floor(values)), [np.floor(x), np.ceil(x)]]))
    return whole[np.argsort(np.abs(whole - x), kind="stable")]


def project(A, b, scale, low=-np.inf, high=np.inf):
    """The smallest step into a polytope, in units of the scale.

    Minimizes ``norm(step / scale)`` subject to ``A @ step <= b`` and to limits. This is least
    distance programming (Lawson and Hanson, 1974, chapter 23): the multipliers of the constraints
    are the solution of a least squares problem without negative numbers, which an active set method
    solves in finitely many steps.

    Parameters
    ----------
    A : ndarray of shape (n_constraints, n_features)
    b : ndarray of shape (n_constraints,)
    scale : ndarray of shape (n_features,)
        A feature of scale zero does not move.
    low, high : float or ndarray of shape (n_features,)
        Limits of the step: from `low`, not positive, to `high`, not negative.

    Returns
    -------
    ndarray of shape (n_features,) or None
        None if there is no such step, or if numbers overflow.

    Examples
    --------
    >>> import numpy as np
    >>> project(np.array([[-1.0, -1.0]]), np.array([-1.0]), np.array([1.0, 0.0]))
    array([1., 0.])
    """
    with np.errstate(over="ignore"):
        step, moves = np.zeros(A.shape[1]), np.flatnonzero(scale)
        rows, scale = A[:, moves] * scale[moves], scale[moves]
        low, high = (np.broadcast_to(end, step.shape)[moves] for end in (low, high))
        is_limited = np.zeros((2, len(moves)), dtype=bool)
        # Few limits matter: only those that a step has passed become constraints.
        while True:
            found = _shortest(
                np.vstack([rows, *(sign * np.diag(scale)[flags]
                                   for sign, flags in zip((-1.0, 1.0), is_limited, strict=True))]),
                np.concatenate([b, -low[is_limited[0]], high[is_limited[1]]]))
            if found is None:
                return None
            found *= scale
            passed = np.array([found < low, found > high]) & ~is_limited
            if not passed.any():
                if not np.isfinite(found).all():
                    return None
                step[moves] = np.clip(found, low, high)
                return step
            is_limited |= passed


def norms(rows):
    """The lengths of the rows of a matrix, whose squares may overflow or vanish."""
    return np.hypot.reduce(rows, axis=1)


def _shortest(A, b):
    """The shortest u with A u <= b; or None, also where it overflows."""
    norm = norms(A)
    if not (np.isfinite(norm).all() and np.isfinite(b).all()):
        return None
    if (b[norm == 0] < 0).any():
        return None
    A, b = A[norm > 0] / norm[norm > 0, None], b[norm > 0] / norm[norm > 0]
    if not np.isfinite(b).all():
        return None
    unit = -b.min(initial=0.0)
    if unit == 0:
        return np.zeros(A.shape[1])
    found = _least_distance(-A, np.maximum(-b / unit, -_NO_LIMIT))
    return None if found is None else unit * found


def _least_distance(G, h):
    """The shortest u with G u >= h, whose rows have norm 1 and the largest h is 1; or None."""
    p = G.shape[1]
    target = np.zeros(p + 1)
    target[p] = 1.0
    multipliers, residual = _nonnegative(np.vstack([G.T, h]), target)
    if residual < 1.0 / _FARTHEST:
        return None
    # Solved once more on the active constraints, where the residual has lost digits.
    active = multipliers > 0
    return np.linalg.lstsq(G[active], h[active], rcond=None)[0]


def _nonnegative(A, b):
    """The x without negative numbers for which A x is nearest to b, and the distance."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LinAlgWarning)
            return nnls(A, b, maxiter=30 * (A.shape[1] + 1))
    except RuntimeError:    # nnls of SciPy 1.12 to 1.14 may go round in circles
        x = lsq_linear(A, b, (0.0, np.inf), method="bvls", tol=1e-15).x
        return x, np.linalg.norm(A @ x - b)
