"""Exact Shapley values of trees that use few columns."""

from math import comb

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from ngdt._inspection.importances import used_features
from ngdt._util.arrays import as_dense, row_blocks

# Most columns that a tree may use: predictions for all subsets of these are made.
MAX_COLUMNS = 12
# Number of values of mixed samples that are made at a time.
_BLOCK_VALUES = 2**21


class HasShapleyValues:
    """Mixin of trees and forests."""

    def shap_values(self, X: ArrayLike, background: ArrayLike) -> np.ndarray:
        """Exact Shapley values of the columns, for trees that use few of them.

        They are interventional: a column that is left out takes its values from the background. All
        subsets of the columns that a tree uses are evaluated on all samples of the background. So
        each tree may use at most 12 columns, and a background of some hundred samples is large.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
        background : array-like, data frame or CSR matrix of shape (n_background, n_features)
            Samples, such as some of those of the training.

        Returns
        -------
        ndarray of shape (n_samples, n_features, n_outputs), or (n_samples, n_features)
            For classification, one for each class. For regression, two-dimensional with a single
            target. The sum over the features is the prediction (the probabilities, for
            classification) minus the mean prediction for the background.

        Raises
        ------
        ValueError
            If a tree uses more than 12 columns.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from ngdt import ObliqueTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> tree = ObliqueTreeClassifier(max_depth=2, optimizer=None).fit(X, y)
        >>> values = tree.shap_values(X[:2], background=X)
        >>> values.shape
        (2, 4, 3)
        >>> total = values.sum(axis=1) + tree.predict_proba(X).mean(axis=0)
        >>> bool(abs(total - tree.predict_proba(X[:2])).max() < 1e-12)
        True
        """
        check_is_fitted(self)
        X, background = (self._table.transform(self._read(each)) for each in (X, background))
        trees, is_proba = self._trees(), is_classifier(self)
        column_of = self._table.column_of
        values = np.zeros((X.shape[0], len(self._table.names), trees[0].n_outputs))
        for tree in trees:
            used = used_features(tree)
            columns = np.unique(column_of[used])
            if len(columns) > MAX_COLUMNS:
                predict = "predict_proba" if is_proba else "predict"
                raise ValueError(
                    f"exact Shapley values are known for trees of at most {MAX_COLUMNS} columns, "
                    f"but a tree uses {len(columns)}. Train a sparse tree, such as TAO(C=0.1), or "
                    f"estimate them by shap.Explainer(model.{predict}, background)")
            if len(columns):
                small, member = _narrowed(tree, used), columns[:, None] == column_of[used]
                others = as_dense(background[:, used])
                for i, x in enumerate(as_dense(X[:, used])):
                    values[i, columns] += _shapley(
                        _values_of_subsets(small, x, others, member, is_proba))
        values /= len(trees)
        return values[:, :, 0] if values.shape[2] == 1 and not is_proba else values


def _narrowed(tree, used):
    """The tree of some features only."""
    leaves = tree.leaf_arrays()
    if tree.slopes is not None:
        leaves["slopes"] = tree.slopes[:, :, used]
    return tree.replace(weights=tree.dense_weights()[:, used], **leaves)


def _values_of_subsets(tree, x, background, member, is_proba):
    """Mean prediction where the columns of each subset are those of the sample.

    Subset s has column k if bit k of s is set. The array is of shape (2**n_columns, n_outputs).
    """
    n_columns = len(member)
    subsets = np.arange(2**n_columns)[:, None] >> np.arange(n_columns) & 1
    is_own = (subsets @ member).astype(bool)
    means = []
    for block in row_blocks((len(is_own), background.size), _BLOCK_VALUES):
        mixed = np.where(is_own[block, None], x, background)
        outputs = tree.predict(mixed.reshape(-1, len(x)))
        if is_proba:
            outputs = softmax(outputs, axis=1)
        means.append(outputs.reshape(-1, len(background), tree.n_outputs).mean(axis=1))
    return np.concatenate(means)


def _shapley(values):
    """Shapley values of a game, from the values of all subsets; shape (n_columns, n_outputs)."""
    n = len(values).bit_length() - 1
    sizes = np.array([subset.bit_count() for subset in range(len(values))])
    weights = np.array([1.0 / (n * comb(n - 1, size)) for size in range(n)])
    found = []
    for k in range(n):
        without = np.flatnonzero(np.arange(len(values)) >> k & 1 == 0)
        gains = values[without + 2**k] - values[without]
        found.append(weights[sizes[without]] @ gains)
    return np.array(found)
