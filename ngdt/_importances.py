"""How much each feature has to say in a tree."""

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from ngdt._samples import Samples
from ngdt._scaling import power_of_two_units, row_blocks

# Numbers that one step of a pass over a matrix widens to float64: half a megabyte.
_BLOCK = 2**16


def feature_importances(tree, X, weight):
    """Share of each feature in the splits.

    In a node, it is the size of the weight times the standard deviation of the feature; nodes count
    by the weight of the rows that reach them.

    Parameters
    ----------
    tree : Tree
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    weight : ndarray of float64, shape (n_samples,)

    Returns
    -------
    ndarray of shape (n_features,)
        They add up to 1, or to 0 for a tree without splits.
    """
    total = np.zeros(tree.n_features)
    spread = _spread(X, weight)
    at_leaf = np.bincount(tree._apply(Samples(X)), weights=weight, minlength=tree.n_leaves)
    reach = tree._sums_below(at_leaf)[:tree.n_internal]
    for nodes in row_blocks(tree.weights, _BLOCK):
        share = np.abs(tree.dense_weights(nodes)) * spread
        row = share.sum(axis=1, keepdims=True)
        share /= np.where(row == 0, 1.0, row)
        total += reach[nodes] @ share
    return total / (total.sum() or 1.0)


def _spread(X, weight):
    """Weighted standard deviation of each feature, without a float64 copy of X."""
    if sparse.issparse(X):
        variance = mean_variance_axis(X, axis=0, weights=weight.astype(X.dtype))[1]
        return np.sqrt(np.maximum(variance, 0.0))   # rounding may leave it below
    # Deviations are taken from a point within the data, so that a large mean cancels nothing.
    origin = X[:64].mean(axis=0, dtype=np.float64)
    unit = power_of_two_units(X)
    first, second = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for rows in row_blocks(X, _BLOCK):
        deviation = (X[rows] - origin) / unit
        first += weight[rows] @ deviation
        deviation *= deviation
        second += weight[rows] @ deviation
    first /= weight.sum()
    return unit * np.sqrt(np.maximum(second / weight.sum() - first**2, 0.0))
