"""Slopes of quantile regression, which all linear leaves share.

Hunter & Lange (2000), "Quantile regression via an MM algorithm", Journal of Computational and
Graphical Statistics 9.
"""

import numpy as np
from scipy.linalg import solve

from ngdt._core.threads import one_blas_thread
from ngdt._methods.linear_leaves.lasso import MAX_FEATURES
from ngdt._methods.linear_leaves.models import ScaledSamples
from ngdt._methods.linear_leaves.ridge import best_constants

# Penalty on the squared slopes, in samples: on 13 tables, 30 to 300 were as good.
_PENALTY = 100.0
# Number of samples that are used at most, and of products of two features of these.
_MAX_SAMPLES, _MAX_PRODUCTS = 20_000, 2e8
# Number of steps, and the smallest error that they divide by, in mean errors. It falls to a tenth
# in eight steps, from .1 on: with a small one at once, a model stays at the first samples it meets.
_STEPS, _LEAST_ERROR = 25, 1e-3


def with_quantile_slopes(tree, problem):
    """A tree for a quantile, with the same slopes and constant added to all linear leaves.

    They are those of quantile regression for what the tree leaves of the targets. The slopes of the
    leaves are those of means: quantiles are farther apart where targets spread more.

    Parameters
    ----------
    tree : Tree
        Without linear leaves, or with ones of more than 500 features, it is returned as it is.
    problem : Problem
        With a `QuantileLoss`.

    Returns
    -------
    Tree
    """
    features = [] if tree.slopes is None else tree.slopes.any(axis=(0, 1)).nonzero()[0]
    if not 0 < len(features) <= MAX_FEATURES:
        return tree
    data = ScaledSamples(problem, features)
    n = int(min(_MAX_SAMPLES, _MAX_PRODUCTS / len(features)**2))
    samples = np.random.RandomState(problem.random_state).permutation(problem.training_samples)[:n]
    # A feature that overflows counts as constant, as in `LocationNode`.
    Z = np.nan_to_num(data.read(samples), copy=False, posinf=0.0, neginf=0.0)
    rest, weight = problem.y[samples] - problem.predictions(tree, samples), data.weight[samples]
    with one_blas_thread:
        constant, slopes = quantile_regression(
            Z, rest, weight / weight.mean(), problem.loss, _PENALTY)
    slopes = slopes / data.scale
    raw = tree.slopes.copy()
    raw[:, :, data.features] += slopes
    return tree.replace(values=tree.values + constant - slopes @ data.center, slopes=raw,
                        ranges=tree.ranges)


def quantile_regression(Z, y, weight, loss, penalty):
    """Constants and slopes with the least loss, of each target.

    They minimise ``sum(weight * loss) + penalty / (4 * e) * |slopes|**2``, where `e` is the mean
    absolute error of the best constant. Each step minimises a parabola in each error that is above
    the loss and touches it.

    Parameters
    ----------
    Z : ndarray of shape (n, p)
        Features of about the same scale.
    y : ndarray of shape (n, n_outputs)
    weight : ndarray of shape (n,)
    loss : QuantileLoss
    penalty : float

    Returns
    -------
    constant : ndarray of shape (n_outputs,)
    slopes : ndarray of shape (n_outputs, p)
    """
    rows = np.concatenate((np.ones((len(Z), 1)), Z), axis=1)
    ridge = np.diag(np.append(0.0, np.full(Z.shape[1], penalty)))
    start = best_constants(loss, y, weight)
    found = np.zeros((y.shape[1], rows.shape[1]))
    for target, model, constant in zip(y.T, found, start, strict=True):
        model[0] = constant
        scale = weight @ np.abs(target - constant) / weight.sum()
        if scale == 0.0:
            continue
        for step in range(_STEPS):
            error = np.abs(target - rows @ model)
            curvature = weight / np.maximum(error / scale, max(10.0**(-1 - step / 8), _LEAST_ERROR))
            aim = target + (2.0 * loss.quantile - 1.0) * error
            model[:] = solve(rows.T @ (curvature[:, None] * rows) + ridge,
                             rows.T @ (curvature * aim), assume_a="pos")
    return best_constants(loss, y - Z @ found[:, 1:].T, weight), found[:, 1:]
