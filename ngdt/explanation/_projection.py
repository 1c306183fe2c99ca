"""The point of a polytope that is nearest to a given one."""

import warnings

import numpy as np
from scipy.linalg import LinAlgWarning
from scipy.optimize import lsq_linear, nnls

# Polytopes that are farther than this many times their most distant half-space count as empty.
_FARTHEST = 1e7
# Half-spaces that reach beyond a point by this many times the distance to others are no limit.
_NO_LIMIT = 1e100


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


def _shortest(A, b):
    """The shortest u with A u <= b; or None, also where it overflows."""
    norm = np.linalg.norm(A, axis=1)
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
    except RuntimeError:    # that of SciPy 1.12 to 1.14 may go round in circles
        x = lsq_linear(A, b, (0.0, np.inf), method="bvls", tol=1e-15).x
        return x, np.linalg.norm(A @ x - b)
