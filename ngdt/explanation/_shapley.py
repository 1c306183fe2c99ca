"""Exact Shapley values of trees that use few columns."""

from math import factorial

import numpy as np
from scipy import sparse
from scipy.special import softmax

from ngdt._core.tree import Tree
from ngdt._inspection.importances import used_features

# Most columns that a tree may use: predictions for all subsets of these are made.
MAX_COLUMNS = 12
# Number of values of mixed samples that are made at a time.
_BLOCK_VALUES = 2**21


def shapley_values(trees, table, X, background, is_classifier):
    """Interventional Shapley values of the columns for the mean prediction of trees.

    A column out of a subset takes its values from the background. The value of a subset is the mean
    prediction over the background for the sample with the other columns replaced.

    Parameters
    ----------
    trees : sequence of Tree
    table : Table
        The encoding of samples. The features of a column are replaced together.
    X, background : ndarray or CSR matrix of shape (n, n_features)
        Encoded samples.
    is_classifier : bool
        Whether predictions are probabilities.

    Returns
    -------
    ndarray of shape (n_samples, n_columns, n_outputs)

    Raises
    ------
    ValueError
        If a tree uses too many columns.
    """
    column_of = np.array([feature.column for feature in table.features])
    total = np.zeros((X.shape[0], len(table.names), trees[0].n_outputs))
    for tree in trees:
        used = used_features(tree)
        columns = np.unique(column_of[used])
        if len(columns) > MAX_COLUMNS:
            predict = "predict_proba" if is_classifier else "predict"
            raise ValueError(
                f"exact Shapley values are known for trees of at most {MAX_COLUMNS} columns, but "
                f"a tree uses {len(columns)}. Train a sparse tree, such as TAO(C=0.1), or "
                f"estimate them by shap.Explainer(model.{predict}, background)")
        if len(columns):
            small, member = _narrowed(tree, used), columns[:, None] == column_of[used]
            others = _dense(background, used)
            for i, x in enumerate(_dense(X, used)):
                values = _values_of_subsets(small, x, others, member, is_classifier)
                total[i, columns] += _shapley(values)
    return total / len(trees)


def _dense(X, features):
    X = X[:, features]
    return X.toarray() if sparse.issparse(X) else X


def _narrowed(tree, used):
    """The tree of some features only."""
    leaves = tree.leaf_arrays()
    if tree.slopes is not None:
        leaves["slopes"] = tree.slopes[:, :, used]
    return Tree(tree.dense_weights(slice(None))[:, used], tree.thresholds, tree.children_left,
                tree.children_right, **leaves)


def _values_of_subsets(tree, x, background, member, is_classifier):
    """Mean prediction where the columns of each subset are those of the sample.

    Subset s has column k if bit k of s is set. The array is of shape (2**n_columns, n_outputs).
    """
    n_columns = len(member)
    subsets = np.arange(2**n_columns)[:, None] >> np.arange(n_columns) & 1
    is_own = (subsets @ member).astype(bool)
    size = max(1, _BLOCK_VALUES // background.size)
    means = []
    for begin in range(0, len(is_own), size):
        own = is_own[begin:begin + size, None]
        outputs = tree.predict(np.where(own, x, background).reshape(-1, len(x)))
        if is_classifier:
            outputs = softmax(outputs, axis=1)
        means.append(outputs.reshape(-1, len(background), tree.n_outputs).mean(axis=1))
    return np.concatenate(means)


def _shapley(values):
    """Shapley values of a game, from the values of all subsets; shape (n_columns, n_outputs)."""
    n = len(values).bit_length() - 1
    sizes = np.array([subset.bit_count() for subset in range(len(values))])
    weights = np.array([
        factorial(size) * factorial(n - size - 1) / factorial(n) for size in range(n)])
    found = []
    for k in range(n):
        without = np.flatnonzero(np.arange(len(values)) >> k & 1 == 0)
        gains = values[without + 2**k] - values[without]
        found.append(weights[sizes[without]] @ gains)
    return np.array(found)
