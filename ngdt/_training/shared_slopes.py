"""Linear leaves that share their slopes: leaf values are constants for what these leave of y.

Monotone trees have no other linear leaves. Where no slope is against its direction, such a tree is
monotone if the one with the same values and no slopes is.
"""

import numpy as np

from ngdt._core.structure import shares_slopes
from ngdt._core.tree import Tree


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
    rest : Problem
        Both are the given ones if the leaves are constant. Far values of the features count as the
        fences, as where the slopes are fitted.

    Raises
    ------
    ValueError
        If leaves have slopes of their own, or slopes against their directions.
    """
    if tree.slopes is None:
        return tree, problem
    if not shares_slopes(tree) or (tree.slopes[0] * problem.directions < 0.0).any():
        raise ValueError(
            "monotonic_cst needs leaves that are constant or share slopes in its directions, but "
            "those of the trained tree have slopes of their own: use leaf='constant' or 'linear', "
            "no optimizer with linear leaves but LinearLeaves, and an init with constant leaves")
    slopes = Tree(np.empty((0, tree.n_features)), [], [], [], np.zeros((1, tree.n_outputs)),
                  slopes=tree.slopes[:1])
    every = np.arange(len(problem.y), dtype=np.int32)
    return tree.replace(values=tree.values), problem.replace(
        y=problem.y - problem.winsorized.predictions(slopes, every))


def put_back(constant, tree):
    """The tree with the slopes, and the ranges, of another one.

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
    return constant.replace(values=constant.values, **shared)
