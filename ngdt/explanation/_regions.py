"""The regions of a tree in which a goal is met, and the points of them nearest to a sample.

A region is a polytope: the inequalities of the path to a leaf and, where the leaf is linear, those
under which its predictions meet the goal. A sample that goes right, or whose class changes, has to
be beyond a boundary. A point on the boundary is therefore moved into the region by as little as
the rounding errors of the tree's own sums ask for: every point that is returned was predicted.
"""

import numpy as np
from scipy.optimize import lsq_linear, nnls

from ngdt.explanation._axes import rounding_errors
from ngdt.explanation._goals import conditions_of

# Distances from a boundary that are tried, in units of the rounding error of the sum.
_MARGINS = (0.0, 1.0, 16.0, 256.0, 4096.0, 65536.0)
# Lengths of steps that are tried where features have to be whole, in units of the shortest one.
_LENGTHS = np.linspace(1.0, 3.0, 41)
# Polytopes that are farther than this many times their most distant half-space count as empty.
_FARTHEST = 1e7
# Half-spaces that reach beyond a point by this many times the distance to others are no limit.
_NO_LIMIT = 1e100


class Regions:
    """The regions of a tree in which samples meet a goal.

    Parameters
    ----------
    tree : Tree
    search : Search
        Has the goal, and the points that the sample may change to.
    """

    def __init__(self, tree, search):
        self._tree, self._search, self._box = tree, search, search.box
        self._path = tree.ancestors()

    def _of_leaf(self, leaf):
        """The inequalities of the path to a leaf, with each set of those that the goal adds."""
        tree = self._tree
        own = slice(*self._path.indptr[leaf:leaf + 2])
        nodes, side = self._path.indices[own], self._path.data[own].astype(np.float64)
        # Left: w @ z <= t. Right: -w @ z < -t.
        A, b = -side[:, None] * tree.dense_weights(nodes), -side * tree.thresholds[nodes]
        for slopes, limits, size, is_strict in conditions_of(self._search.goal, tree, leaf):
            yield (np.vstack([A, slopes]), np.concatenate([b, limits]),
                   np.concatenate([np.abs(b), size]),
                   np.concatenate([side > 0, np.full(len(limits), is_strict)]))

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
            for region in self._of_leaf(leaf):
                point, distance = self._nearest_in(region, x, scale)
                if distance < least:
                    best, least = point, distance
        return best, least

    def _bounds(self, x, scale):
        """Lower bound of the distance of each leaf: to the farthest half-space of its path."""
        tree = self._tree
        margins = tree.scores(x[None])[0]
        norm = norms(tree.dense_weights() * scale)
        away = np.where(margins == 0, 0.0, margins / norm)
        path = self._path.copy()
        # Where the path goes the other way than the sample.
        path.data = np.maximum(-path.data * away[path.indices], 0.0)
        return path.max(axis=1).toarray().ravel() if tree.n_internal else np.zeros(1)

    def _nearest_in(self, region, x, scale):
        """The nearest point of a region that meets the goal, or None, and its distance."""
        A, b, size, is_strict = region
        low, high = self._box.around(x)
        errors = rounding_errors(A, np.abs(x) + self._box.unit, size)
        for margin in _MARGINS:
            margins = np.where(is_strict, max(margin, 1.0), margin)
            step = project(A, b - A @ x - margins * errors, scale, low - x, high - x)
            if step is None:
                continue
            points = np.clip(self._rounded(x, step), low, high)
            points = points[np.isfinite(points).all(axis=1)]
            points = points[self._search.meets(points)] if len(points) else points
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
        moves = self._box.is_whole & (step != 0)
        if not moves.any():
            return (x + step)[None]
        points = x + np.vstack([_LENGTHS[:, None] * step, step])
        points[:-1, moves] = np.rint(points[:-1, moves])
        points[-1, moves] = np.where(step > 0, np.ceil(points[-1]), np.floor(points[-1]))[moves]
        return points


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
    if (b[norm == 0] < 0).any():
        return None
    A, b, norm = A[norm > 0], b[norm > 0], norm[norm > 0]
    b = b / norm
    if not (np.isfinite(norm).all() and np.isfinite(b).all()):
        return None
    unit = -b.min(initial=0.0)
    if unit == 0:
        return np.zeros(A.shape[1])
    # As G u >= h, where the rows of G have norm 1 and the largest h is 1.
    G, h = -A / norm[:, None], np.maximum(-b / unit, -_NO_LIMIT)
    multipliers, residual = _nonnegative(np.vstack([G.T, h]), np.eye(G.shape[1] + 1)[-1])
    if residual < 1.0 / _FARTHEST:
        return None
    # Solved once more on the active constraints, where the residual has lost digits.
    active = multipliers > 0
    return unit * np.linalg.lstsq(G[active], h[active], rcond=None)[0]


def _nonnegative(A, b):
    """The x without negative numbers for which A x is nearest to b, and the distance."""
    try:
        return nnls(A, b, maxiter=30 * (A.shape[1] + 1))
    except RuntimeError:    # too many iterations
        x = lsq_linear(A, b, (0.0, np.inf), method="bvls", tol=1e-15).x
        return x, np.linalg.norm(A @ x - b)
