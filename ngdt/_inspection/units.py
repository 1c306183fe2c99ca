"""A tree in the units that its columns had before they were scaled."""

from dataclasses import replace

import numpy as np
from scipy import sparse

# Rounding errors of scaled numbers, relative to numbers before. A scaler may work in float32.
_ROUNDING = 8 * np.finfo(np.float32).eps


def in_units(labels, scale, offset):
    """The tree of some labels, and what is known of its samples, in other units.

    Parameters
    ----------
    labels : TreeLabels
        Of a tree.
    scale, offset : ndarray of shape (n_features,)
        A number z of a feature is ``scale * z + offset`` in the other units. Scales are positive.

    Returns
    -------
    TreeLabels
        The tree is the same function up to rounding.
    """
    if np.all(scale == 1.0) and not offset.any():
        return labels
    before = labels.tree
    shift = offset / scale
    weights = before.weights @ sparse.diags_array(1.0 / scale)
    slopes = before.slopes
    tree = before.replace(
        weights=sparse.csr_array(weights) if sparse.issparse(weights) else weights,
        thresholds=before.thresholds + before.weights @ shift,
        **({} if slopes is None else {
            "slopes": slopes / scale, "values": before.values - slopes @ shift,
            "ranges": before.ranges}))
    summary = labels.summary
    if summary is not None:
        summary = _summary_in_units(summary, tree, scale, offset)
    fill = {j: float(scale[j] * value + offset[j]) for j, value in labels.fill.items()}
    return replace(labels, tree=tree, summary=summary, fill=fill)


def _summary_in_units(summary, tree, scale, offset):
    left, right = summary.left.copy(), summary.right.copy()
    for node in range(tree.n_internal):
        weights = summary.tree.dense_weights([node])[0]
        if np.count_nonzero(weights) == 1:      # the products are the values of the feature
            (feature,) = np.flatnonzero(weights)
            unit, shift = scale[feature], np.sign(weights[feature]) * offset[feature]
            size = abs(shift)
        else:
            terms = weights * (offset / scale)
            unit, shift, size = 1.0, terms.sum(), np.abs(terms).sum()
        left[node], right[node] = _narrowed(
            unit * left[node], unit * right[node], shift, size)
    means = summary.leaf_means
    return replace(
        summary, tree=tree, left=left, right=right, std=scale * summary.std,
        mean=scale * summary.mean + offset, low=scale * summary.low + offset,
        high=scale * summary.high + offset,
        leaf_means=None if means is None else scale * means + offset)


def _narrowed(left, right, shift, size):
    """Ends of a gap between samples, moved, less what rounding may have moved samples by."""
    ends = np.array([left, right])
    size = size + np.abs(ends[np.isfinite(ends)]).max(initial=0.0)
    error = min(_ROUNDING * size, (right - left) / 4)
    return ends + shift + [error, -error]
