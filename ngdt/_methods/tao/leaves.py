"""The leaves of a tree during TAO: refitted where that does not raise the loss."""

import numpy as np

from ngdt._methods.linear_leaves.linear_leaves import LinearLeaves

# Penalty of linear leaves, which are fitted anew after each pass.
_PENALTY = 30.0


def refit_leaves(tree, problem, leaf, samples, losses):
    """The tree with each leaf refitted whose loss does not rise by it.

    Parameters
    ----------
    tree : Tree
        If it has linear leaves, these are fitted by :class:`LinearLeaves`.
    problem : Problem
    leaf, samples : ndarray of int32, shape (n,)
        The training samples, and the leaf that each reaches.
    losses : callable
        Losses of samples, from predictions and samples.

    Returns
    -------
    Tree
    """
    n_leaves, weight = tree.n_leaves, problem.sample_weight[samples]
    fitted = _fit(tree, problem, leaf, samples)
    before, after = (
        np.bincount(
            leaf, weight * losses(problem.predictions(each, samples, leaf), samples), n_leaves)
        for each in (tree, fitted))
    if tree.slopes is not None and fitted.slopes is None:   # no slope helps
        return fitted if after.sum() <= before.sum() else tree
    better = (after <= before) & (np.bincount(leaf, minlength=n_leaves) > 0)
    old, new = tree.leaf_arrays(), fitted.leaf_arrays()
    return tree.replace(**{
        name: None if array is None else np.where(
            better.reshape(-1, *[1] * (array.ndim - 1)), new[name], array)
        for name, array in old.items()})


def _fit(tree, problem, leaf, samples):
    if tree.slopes is None:
        return tree.replace(values=problem.fit_leaves(leaf, samples, tree.n_leaves))
    linear = LinearLeaves(penalty=_PENALTY, clip=tree.ranges is not None)
    # Without the present slopes, models are drawn to those of the nodes above.
    return linear.fit_leaves(tree.replace(values=tree.values), problem)
