"""Cost of prediction."""

from typing import NamedTuple

import numpy as np

from ngdt._core.structure import sums_above_leaves
from ngdt._core.tree import check_is_tree
from ngdt._util.validation import check_weight


class Spread(NamedTuple):
    """Mean and range of a quantity over samples.

    Attributes
    ----------
    mean, min, max : float or ndarray of shape (n_Cs,)
    """

    mean: float
    min: float
    max: float


def prediction_cost(tree, X, *, sample_weight=None):
    """Cost of prediction: splits on the path to the leaf, and multiplications on the way.

    Parameters
    ----------
    tree : Tree
    X : array-like or CSR matrix of shape (n_samples, n_features)
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the means. Samples of weight zero are ignored.

    Returns
    -------
    path_length : Spread
        Number of internal nodes on the path of a sample.
    n_multiplications : Spread
        Number of nonzero weights of these nodes, and of nonzero slopes of the leaf.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid; the message names it.

    References
    ----------
    Carreira-Perpinan & Tavallali (2018), Alternating Optimization of Decision Trees, with
    Application to Learning Sparse Oblique Trees, NeurIPS 31, Fig. 1.

    Examples
    --------
    >>> from ngdt import Tree
    >>> from ngdt.path import prediction_cost
    >>> tree = Tree([[1.0, 1.0], [0.0, 1.0]], [0.0, 0.0], [~0, ~1], [1, ~2], [[0], [1], [2]])
    >>> path_length, n_multiplications = prediction_cost(tree, [[-1.0, 0.0], [1.0, 0.0]])
    >>> path_length
    Spread(mean=1.5, min=1, max=2)
    >>> n_multiplications
    Spread(mean=2.5, min=2, max=3)
    """
    check_is_tree(tree)
    leaf = tree.apply(X)
    reached = np.bincount(leaf, check_weight(sample_weight, len(leaf)), tree.n_leaves)
    n_nonzero = np.asarray((tree.weights != 0).sum(axis=1)).ravel()
    n_multiplications = sums_above_leaves(tree, n_nonzero)
    if tree.slopes is not None:
        n_multiplications = n_multiplications + np.count_nonzero(tree.slopes, axis=(1, 2))
    return tuple(
        Spread(float(np.average(cost, weights=reached)), int(cost[reached > 0].min()),
               int(cost[reached > 0].max()))
        for cost in (tree.leaf_depths(), n_multiplications))
