"""Split weights of a tree under training, dense or sparse."""

import math

import numpy as np
from scipy import sparse

from ngdt._core.tree_arrays import sparse_is_faster
from ngdt._util.arrays import as_dense

# Number of weights up to which they are dense: to make a sparse array takes longer than a product.
_MAX_SMALL = 2**15


def replace_weights(weights, vectors):
    """Weights with the vectors of some nodes replaced.

    Parameters
    ----------
    weights : ndarray or CSR array of shape (n_internal, n_features)
    vectors : dict of int to tuple
        For each of these nodes, its features with nonzero weights, and the weights.

    Returns
    -------
    ndarray or CSR array of shape (n_internal, n_features)
    """
    if not vectors:
        return weights
    if not sparse.issparse(weights):
        weights = weights.copy()
        for node, (features, values) in vectors.items():
            weights[node] = 0.0
            weights[node, features] = values
        return weights
    features, values = zip(*vectors.values(), strict=True)
    indptr = np.cumsum([0, *map(len, features)])
    new = sparse.csr_array((np.concatenate(values), np.concatenate(features), indptr),
                           shape=(len(vectors), weights.shape[1]))
    source = np.arange(weights.shape[0])
    source[list(vectors)] = weights.shape[0] + np.arange(len(vectors))
    return sparse.vstack([weights, new], format="csr")[source]


def with_unit_norm(tree, scale):
    """The tree with weight vectors of norm 1 in scaled space, or zero.

    An initial tree has weights of any size, which would make the result depend on the units of X.
    """
    weights = tree.weights
    with np.errstate(over="ignore"):
        scaled = weights * scale
        size = np.sqrt((scaled * scaled).sum(axis=1))
    factor = 1.0 / np.where((size > 0.0) & np.isfinite(size), size, 1.0)
    weights = sparse.diags_array(factor) @ weights if sparse.issparse(weights) else (
        factor[:, None] * weights)
    return tree.replace(weights=weights, thresholds=factor * tree.thresholds)


def compact_weights(weights):
    """The weights, dense or sparse, whichever is faster in products."""
    size = math.prod(weights.shape)
    n_nonzero = weights.count_nonzero() if sparse.issparse(weights) else np.count_nonzero(weights)
    if size > _MAX_SMALL and sparse_is_faster(n_nonzero, size):
        return sparse.csr_array(weights)
    return as_dense(weights)


def dense_vector(weights, node):
    """The weight vector of a node as an array, which may be a view."""
    if not sparse.issparse(weights):
        return weights[node]
    vector, stored = np.zeros(weights.shape[1]), slice(*weights.indptr[node:node + 2])
    vector[weights.indices[stored]] = weights.data[stored]
    return vector
