"""Slopes that all leaves share, none of them against its direction."""

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import lsq_linear

from ngdt._core.threads import one_blas_thread
from ngdt._methods.linear_leaves.ridge import Sums
from ngdt._training.samples_by_leaf import SamplesByLeaf

# Smallest penalty, as a share of the largest sum of squares.
_RIDGE = 1e-9


def with_shared_slopes(tree, data, penalty, clip=True):
    """The tree whose leaves share the slopes that explain most of what differs within them.

    They minimise ``sum(w * (y - c - a @ z)**2) + penalty * |a|**2`` with a constant c for each
    leaf, as in the analysis of covariance, and with a slope of the right sign for each feature that
    has a direction.

    Parameters
    ----------
    tree : Tree
    data : ScaledSamples
        Of a problem with directions, and one target.
    penalty : float
    clip : bool, default=True
        Whether predictions stay in the range of all targets.

    Returns
    -------
    Tree
        With values that are still to be fitted. Its leaves are constant if no slope is of use.
    """
    problem = data.problem
    samples = problem.training_samples
    by_leaf = SamplesByLeaf(tree, samples, problem.apply(tree, samples))
    p = len(data.features)
    products, zy = np.zeros((p, p)), np.zeros(p)
    with one_blas_thread:
        for leaf in range(tree.n_leaves):
            here = by_leaf.samples[by_leaf.slice_of(~leaf)]
            if len(here) > 1:
                _, _, of_leaf, zy_of_leaf, _ = Sums.read(data, here).centered()
                products += of_leaf
                zy += zy_of_leaf[:, 0]
        slopes = _solve(products, zy, penalty, problem.directions[data.features])
    if not slopes.any():
        return tree.replace(values=tree.values)
    raw = np.zeros((tree.n_leaves, 1, tree.n_features))
    raw[:, 0, data.features] = slopes / data.scale
    y = problem.y[samples]
    ranges = np.tile([y.min(), y.max()], (tree.n_leaves, 1, 1)) if clip else None
    return tree.replace(values=tree.values, slopes=raw, ranges=ranges)


def _solve(products, zy, penalty, direction):
    """Slopes of ridge regression of which none is against its direction."""
    least = _RIDGE * products.diagonal().max(initial=0.0)
    if not (0.0 < least < np.inf and np.isfinite(zy).all() and penalty < np.inf):
        return np.zeros_like(zy)
    factor = cholesky(products + max(penalty, least) * np.eye(len(zy)))
    low, high = np.where(direction > 0, 0.0, -np.inf), np.where(direction < 0, 0.0, np.inf)
    solved = lsq_linear(factor, solve_triangular(factor, zy, trans="T"), (low, high), "bvls")
    return np.clip(solved.x, low, high)
