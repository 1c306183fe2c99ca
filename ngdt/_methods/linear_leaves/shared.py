"""Slopes that all leaves share, none of them against its direction."""

from copy import copy

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls

from ngdt._core.threads import one_blas_thread
from ngdt._methods.finishing.shrink_leaves import ShrinkLeaves
from ngdt._methods.linear_leaves.ridge import PSEUDO_COUNT, Sums
from ngdt._training.samples_by_leaf import SamplesByLeaf
from ngdt._training.shared_slopes import constant_of, newton_problem, products, put_back
from ngdt.losses import SquaredLoss

# Smallest penalty, as a share of the largest sum of squares.
_RIDGE = 1e-9
# Weight of the log-odds of the node above, in samples of the largest curvature.
_PULL = 1.0
# Newton steps for classes, until no slope changes by more than this share of the largest.
_MAX_STEPS, _TOLERANCE = 20, 1e-3


def fit_shared(tree, data, penalty, *, shrink, clip):
    """The tree with linear leaves that share their slopes, and values that suit them.

    Slopes a and a constant c for each leaf minimise ``sum(w * (y - c - a @ z)**2) + penalty *
    |a|**2``, as in the analysis of covariance, with a slope of the right sign for each feature that
    has a direction. For two classes, they minimise the log loss of the log-odds ``c + a @ z``, plus
    half of that penalty.

    Parameters
    ----------
    tree : Tree
    data : ScaledSamples
        Of a problem with directions: one target, or at most two classes.
    penalty : float
    shrink : bool
        Whether constants are drawn to those of the nodes above.
    clip : bool
        Whether predictions of regression stay in the range of all targets.

    Returns
    -------
    Tree
        Its leaves are constant if no slope is of use.
    """
    problem, slopes = data.problem, np.zeros((1, 1, tree.n_features))
    samples = problem.training_samples
    by_leaf = SamplesByLeaf(tree, samples, problem.apply(tree, samples))
    if not problem.loss.is_classifier:
        constant, slopes = _step(
            tree, by_leaf, data, problem.y, data.weight, penalty, PSEUDO_COUNT * shrink)
    elif problem.n_outputs == 2:
        constant, slopes = _newton(tree, by_leaf, data, penalty, _PULL * shrink)
    if not slopes.any():
        return problem.refit_leaves(tree)
    y = problem.y[samples]
    outputs = [1.0] if problem.n_outputs == 1 else [-0.5, 0.5]
    return put_back(constant, tree.replace(
        values=np.zeros((tree.n_leaves, problem.n_outputs)),
        slopes=np.tile(np.outer(outputs, slopes), (tree.n_leaves, 1, 1)),
        ranges=np.tile([y.min(), y.max()], (tree.n_leaves, 1, 1)) if (
            clip and not problem.loss.is_classifier) else None))


def _newton(tree, by_leaf, data, penalty, pseudo_count):
    """Constants and slopes of the log-odds of the second class."""
    problem = data.problem.replace(sample_weight=data.weight)
    samples = problem.training_samples
    # First, all log-odds are the same.
    mean = constant_of(tree.replace(values=np.repeat(problem.fit_leaves(
        np.zeros(len(samples), np.int32), samples, 1), tree.n_leaves, axis=0)))
    constant, slopes, by_slopes = mean, np.zeros((1, 1, tree.n_features)), 0.0
    for _ in range(_MAX_STEPS):
        rest, before = newton_problem(constant, problem, by_slopes), slopes
        constant, slopes = _step(
            tree, by_leaf, data, rest.y + by_slopes, rest.sample_weight, penalty, pseudo_count)
        if np.abs(slopes - before).max() <= _TOLERANCE * np.abs(slopes).max() or (
                not problem.control.deadline.fits()):
            break
        by_slopes = products(slopes, data.problem)
    return constant, slopes


def _step(tree, by_leaf, data, y, weight, penalty, pseudo_count):
    """Constants and slopes, ndarray of shape (1, 1, n_features), for squared errors."""
    data, problem = copy(data), data.problem
    data.y, data.weight = y, weight
    # Only deviations count: those of numbers far from zero would be lost in their squares.
    data.center = problem.winsorized.moments.mean[data.features]
    m, p = tree.n_internal, len(data.features)
    squares, zy = np.zeros((p, p)), np.zeros(p)
    with one_blas_thread:
        for leaf in range(m, m + tree.n_leaves):
            here = by_leaf.samples[by_leaf.slice_of(leaf)]
            if len(here) > 1:
                _, _, of_leaf, zy_of_leaf, _ = Sums.read(data, here).centered()
                squares += of_leaf
                zy += zy_of_leaf[:, 0]
        solved = _solve(squares, zy, penalty, problem.directions[data.features])
    slopes = np.zeros((1, 1, tree.n_features))
    slopes[0, 0, data.features] = solved / data.scale
    rest = problem.replace(y=y - products(slopes, problem), sample_weight=weight,
                           loss=SquaredLoss(), n_outputs=1)
    constant = tree.replace(values=np.zeros((tree.n_leaves, 1)))
    return ShrinkLeaves(pseudo_count=pseudo_count)._optimize(constant, rest).tree, slopes


def _solve(squares, zy, penalty, direction):
    """Slopes of ridge regression, none of them against its direction."""
    least = _RIDGE * squares.diagonal().max()
    if least == 0.0 or penalty == np.inf:
        return np.zeros_like(zy)
    # The free slopes come first: the triangle below theirs is the problem of the others alone.
    order, m = np.argsort(direction != 0, kind="stable"), np.count_nonzero(direction == 0)
    factor = cholesky((squares + max(penalty, least) * np.eye(len(zy)))[np.ix_(order, order)])
    target, sign = solve_triangular(factor, zy[order], trans="T"), direction[order[m:]]
    slopes = np.empty(len(zy))
    if len(sign):       # SciPy crashes where there is nothing to solve
        slopes[m:] = sign * nnls(
            factor[m:, m:] * sign, target[m:], maxiter=100 * len(sign))[0]
    slopes[:m] = solve_triangular(factor[:m, :m], target[:m] - factor[:m, m:] @ slopes[m:])
    return slopes[np.argsort(order)]
