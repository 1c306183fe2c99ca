"""Ranges to which the predictions of linear leaves are clipped."""

import numpy as np

from ngdt._training.samples_by_leaf import SamplesByLeaf

# Distance of the limits from the least and the largest target, in root mean squares of the
# residuals on that side. The largest of some noisy targets is above the mean of any sample. R2 rose
# by 0.0008 on inner splits of eight sets and on 14 tables, and after TAO by 0.0005 and 0.0008, with
# standard errors of 0.0001 to 0.0002. With 0.9 it rose less on sets of many samples.
_MARGIN = 0.6


def with_ranges(tree, problem, margin=_MARGIN):
    """The tree with linear leaves that stay away from the limits of their training targets.

    Use it last: the training loss rises. It makes no difference what the ranges were before.

    Parameters
    ----------
    tree : Tree
        Without linear leaves or ranges, or for classes, it is returned as it is.
    problem : Problem
    margin : float, default=0.6
        Part of the noise, on either side. With 0, leaves predict up to the limits.

    Returns
    -------
    Tree
        A leaf without samples keeps its range. One that is worse than the best constant, as slopes
        may be where values are far, is constant.
    """
    if tree.slopes is None or tree.ranges is None or problem.loss.is_classifier:
        return tree
    samples, ranges = problem.training_samples, tree.ranges.copy()
    leaf = problem.apply(tree, samples)
    free = tree.replace(values=tree.values, slopes=tree.slopes, ranges=None)
    y, predictions = problem.y[samples], problem.predictions(free, samples, leaf)
    weight = problem.sample_weight[samples]
    by_leaf = SamplesByLeaf(tree, np.arange(len(samples)), leaf)
    for each in range(tree.n_leaves):
        here = by_leaf.samples[by_leaf.slice_of(tree.n_internal + each)]
        if len(here):
            ranges[each] = _limits(y[here], predictions[here], weight[here], margin)
    tree = tree.replace(values=tree.values, slopes=tree.slopes, ranges=ranges)
    if problem.winsorized.X is problem.X or problem.directions is not None:
        return tree
    # Slopes that were fitted to far values at the fences may be wrong where these are.
    constants = problem.fit_leaves(leaf, samples, tree.n_leaves)
    errors, of_constant = (
        np.bincount(leaf, weight * problem.prediction_errors(each, samples), tree.n_leaves)
        for each in (problem.predictions(tree, samples, leaf), constants[leaf]))
    return tree.make_constant(errors > of_constant, constants[errors > of_constant])


def _limits(y, predictions, weight, margin):
    """Limits of each output of a leaf, shape (n_outputs, 2)."""
    low, high = y.min(axis=0), y.max(axis=0)
    # In units of the range: squares of huge targets overflow.
    middle, half = 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low
    unit = np.where(half > 0.0, half, 1.0)
    residual = (y - middle) / unit - (np.clip(predictions, low, high) - middle) / unit
    share = weight / weight.max()
    # Residuals of skewed targets are large on one side only.
    below, above = (
        np.sqrt(share @ np.maximum(each, 0.0) ** 2 / share.sum()) for each in (-residual, residual))
    return np.stack([np.minimum(low + margin * below * unit, middle),
                     np.maximum(high - margin * above * unit, middle)], axis=-1)
