"""The values of one feature at which the decisions of several trees change."""

import numpy as np

# Points are predicted in groups of this many, the nearest first.
_GROUP = 128
# Distances from a boundary that are tried, in units of the rounding error of a sum.
_MARGINS = (0.0, 16.0, -16.0)


def nearest_on_axes(trees, meets, unit, x, features, limits):
    """The nearest points that differ from a sample in one feature and meet a goal.

    Leaves are constant: nothing changes between two boundaries. Each is tried itself, as a sample
    on it goes left, and on both sides of it.

    Parameters
    ----------
    trees : sequence of Tree
    meets : callable
        Takes points, and returns whether each meets the goal.
    unit : ndarray of shape (n_features,)
        Size of the features, such as their standard deviations.
    x : ndarray of shape (n_features,)
    features : ndarray of int
    limits : tuple of (ndarray, ndarray), or of (float, float)
        Least and largest values of the features. A sample beyond them may stay where it is.

    Returns
    -------
    dict
        New value by feature, for those of which some value meets the goal.
    """
    if meets(x[None])[0]:
        return {int(feature): float(x[feature]) for feature in features}
    scores = [tree.scores(x[None])[0] for tree in trees]
    errors = [_rounding_errors(tree, np.abs(x) + unit) for tree in trees]
    low, high = (np.broadcast_to(end, x.shape) for end in limits)
    low, high, found = np.minimum(low, x), np.maximum(high, x), {}
    for feature in features.tolist():
        values = np.unique(np.concatenate([
            _boundaries(tree, feature, score, error, x[feature])
            for tree, score, error in zip(trees, scores, errors, strict=True)]))
        values = values[(low[feature] <= values) & (values <= high[feature])]
        values = values[np.argsort(np.abs(values - x[feature]), kind="stable")]
        for begin in range(0, len(values), _GROUP):
            group = values[begin:begin + _GROUP]
            points = np.repeat(x[None], len(group), axis=0)
            points[:, feature] = group
            is_met = meets(points)
            if is_met.any():
                found[feature] = float(group[is_met.argmax()])
                break
    return found


def _boundaries(tree, feature, scores, errors, value):
    """Values of a feature at the boundaries of a tree, and on both sides of them."""
    column = tree.weights[:, [feature]]
    weights = (column.toarray() if tree.is_sparse else column)[:, 0]
    used = weights != 0
    steps = -scores[used] / weights[used]
    away = errors[used] / np.abs(weights[used])
    return np.concatenate([value + steps + margin * away for margin in _MARGINS])


def _rounding_errors(tree, size):
    """What the scores of samples of some size may be wrong by."""
    weights = np.abs(tree.dense_weights(slice(None)))
    size = weights @ size + np.abs(tree.thresholds)
    return (np.count_nonzero(weights, axis=1) + 2) * np.finfo(float).eps * size
