"""Conversion of scikit-learn's decision trees."""

import numpy as np


def convert(estimator):
    """Arguments of `Tree` for the tree of a fitted scikit-learn estimator.

    Parameters
    ----------
    estimator : DecisionTreeClassifier, DecisionTreeRegressor or their ExtraTree siblings

    Returns
    -------
    weights, thresholds, children_left, children_right, values : ndarray
    """
    from sklearn.base import is_classifier
    from sklearn.tree import BaseDecisionTree
    from sklearn.utils.validation import check_is_fitted

    if not isinstance(estimator, BaseDecisionTree):
        raise TypeError(
            f"estimator must be a scikit-learn decision tree, got {type(estimator).__name__}")
    check_is_fitted(estimator)
    source = estimator.tree_
    values = source.value[:, :, 0]
    if is_classifier(estimator):
        if source.n_outputs != 1:
            raise ValueError("estimator has several class outputs; only one is supported")
        frequency = source.value[:, 0, :source.max_n_classes]
        frequency = frequency / frequency.sum(axis=1, keepdims=True)
        values = np.log(np.maximum(frequency, 1e-6))
    is_leaf = source.children_left < 0
    # scikit-learn numbers nodes depth first, parents first: counting keeps that order.
    ids = np.where(is_leaf, ~(np.cumsum(is_leaf) - 1), np.cumsum(~is_leaf) - 1)
    internal = np.flatnonzero(~is_leaf)
    weights = np.zeros((len(internal), source.n_features))
    weights[np.arange(len(internal)), source.feature[internal]] = 1.0
    return (
        weights, source.threshold[internal], ids[source.children_left[internal]],
        ids[source.children_right[internal]], values[is_leaf])
