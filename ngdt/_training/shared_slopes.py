"""Linear leaves that share their slopes: leaf values are constants for what these leave of y.

Monotone trees have no other linear leaves. Where no slope is against its direction, such a tree is
monotone if the one with the same values and no slopes is. For two classes, that is said of the
difference of the logits, of which each class gets half.
"""

import numpy as np
from scipy.special import expit

from ngdt._core.climbs import monotone_output
from ngdt._core.structure import shares_slopes
from ngdt._core.tree import Tree
from ngdt.losses import SquaredLoss

# Least curvature of the log loss, which limits the targets of samples that are predicted well.
_MIN_CURVATURE = 0.01


def split_off(tree, problem):
    """The tree without its slopes, and the problem whose targets are what the slopes leave.

    Parameters
    ----------
    tree : Tree
        With constant leaves, or with linear ones that share their slopes.
    problem : Problem
        With directions.

    Returns
    -------
    constant : Tree
        With one output.
    rest : Problem
        Both are the given ones if the leaves are constant. Far values of the features count as the
        fences, as where the slopes are fitted. For classes, it is that of a Newton step.

    Raises
    ------
    ValueError
        If leaves have slopes of their own, or slopes against their directions.
    """
    if tree.slopes is None:
        return tree, problem
    slopes = monotone_output(tree.slopes[0].T)[None, None] if tree.n_outputs <= 2 else None
    if slopes is None or not shares_slopes(tree) or (slopes * problem.directions < 0.0).any():
        raise ValueError(
            "monotonic_cst needs leaves that are constant or share slopes in its directions, but "
            "those of the trained tree have slopes of their own: use leaf='constant' or 'linear', "
            "no optimizer with linear leaves but LinearLeaves as the last one, and an init with "
            "constant leaves")
    constant, by_slopes = constant_of(tree), products(slopes, problem)
    if not problem.loss.is_classifier:
        return constant, problem.replace(y=problem.y - by_slopes)
    return constant, newton_problem(constant, problem, by_slopes)


def products(slopes, problem):
    """Products of slopes with the winsorized samples of a problem.

    Parameters
    ----------
    slopes : ndarray of shape (1, 1, n_features)
    problem : Problem

    Returns
    -------
    ndarray of shape (n_samples, 1)
    """
    tree = Tree(np.empty((0, slopes.shape[2])), [], [], [], np.zeros((1, 1)), slopes=slopes)
    return problem.winsorized.predictions(tree, np.arange(len(problem.y), dtype=np.int32))


def newton_problem(constant, problem, by_slopes):
    """The problem of squared errors that approximates the log loss near some predictions.

    Parameters
    ----------
    constant : Tree
        Log-odds of the second class, with constant leaves.
    problem : Problem
        Of two classes.
    by_slopes : ndarray of shape (n_samples, 1), or 0.0
        What is added to them.

    Returns
    -------
    Problem
        Its targets are those of `constant`. Weights are multiplied by the curvature.
    """
    every = np.arange(len(problem.y), dtype=np.int32)
    values = problem.predictions(constant, every)
    share = expit(values + by_slopes)
    curvature = np.maximum(share * (1.0 - share), _MIN_CURVATURE)
    return problem.replace(
        loss=SquaredLoss(), n_outputs=1, y=values + (problem.y - share) / curvature,
        sample_weight=problem.sample_weight * curvature[:, 0])


def constant_of(tree):
    """The tree of one output without its slopes: the log-odds of the second class for classes."""
    return tree.replace(values=monotone_output(tree.values)[:, None])


def put_back(constant, tree):
    """The tree with the slopes, the ranges and the outputs of another one.

    Parameters
    ----------
    constant : Tree
        As `split_off` returns it.
    tree : Tree
        Its leaves are constant, or share their slopes.

    Returns
    -------
    Tree
        `constant` itself if the leaves of `tree` are constant.
    """
    if tree.slopes is None:
        return constant
    shared = {name: np.repeat(each[:1], constant.n_leaves, axis=0) for name, each in (
        ("slopes", tree.slopes), ("ranges", tree.ranges)) if each is not None}
    values = constant.values
    return constant.replace(
        values=values if tree.n_outputs == 1 else values * [-0.5, 0.5], **shared)
