"""Trees as trees of scikit-learn, for programs that draw or explain these."""

from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree._tree import NODE_DTYPE
from sklearn.tree._tree import Tree as SklearnTree

from ngdt._core.structure import child_ids, sums_below
from ngdt._inspection.captions import captions_of, leaves_and_samples, tree_of
from ngdt._inspection.conditions import condition_of
from ngdt._inspection.pipelines import unwrap
from ngdt._inspection.rules import number_of
from ngdt._util.numbers import format_number
from ngdt.export._model import leaf_values


class PseudoFeatureTree(NamedTuple):
    """A tree of scikit-learn that splits on the scores of the nodes of another tree.

    Attributes
    ----------
    estimator : DecisionTreeClassifier or DecisionTreeRegressor
        Fitted. Node i splits on feature i, at 0; leaf j is node n_internal + j.
    X : ndarray of shape (n_samples, n_internal)
        The scores of the samples at all nodes, to be passed to `estimator`. Scores of a split on
        one feature are in its unit.
    feature_names : list of str
        Names of the scores, such as "age - 60.5".
    """

    estimator: BaseEstimator
    X: np.ndarray
    feature_names: list


def export_sklearn(model, X, *, feature_names=None, n_terms=2):
    """Export a tree as one of scikit-learn whose features are the scores of the nodes.

    Programs that draw or explain trees of scikit-learn, such as dtreeviz, can only show splits on
    one feature. Here the score of each node is such a feature. Samples reach the same leaves, since
    the side of a sample depends on the sign of its score alone.

    Parameters
    ----------
    model : Tree, fitted estimator or Pipeline
        As for `export_text`, with at least one split. Leaves have to be constant.
    X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
        Samples whose scores are wanted, as `model` reads them.
    feature_names : sequence of str, default=None
        As for `export_text`.
    n_terms : int or None, default=2
        Number of terms of a weighted sum that its name has. None writes all.

    Returns
    -------
    PseudoFeatureTree

    Raises
    ------
    ValueError
        If the tree has linear leaves, or no split.

    Notes
    -----
    The values of nodes are mean predictions for the training samples. Impurities are the Gini
    index of the predicted probabilities, and 0 for regression.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import export_text
    >>> from ngdt import ObliqueTreeClassifier
    >>> from ngdt.export import export_sklearn
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = ObliqueTreeClassifier(max_depth=1, init="co2", optimizer=None).fit(X, y)
    >>> estimator, scores, names = export_sklearn(tree, X)
    >>> bool((estimator.predict(scores) == tree.predict(X)).all())
    True
    """
    captions = captions_of(model, feature_names=feature_names)
    inner = unwrap(model)[1]
    tree = tree_of(inner)
    if not tree.n_internal:
        raise ValueError("model must have a split, got a tree of a single leaf")
    if leaf_values(tree)[1].any():
        raise ValueError(
            "model has linear leaves, but those of a tree of scikit-learn are constant: train it "
            "with leaf='constant'")
    _, X = leaves_and_samples(model, X)
    scores, names = tree.scores(X), []
    for node in range(tree.n_internal):
        names.append(_name(condition_of(captions, node, n_terms, 3)))
        weights = captions.tree.dense_weights([node])[0]
        number = number_of(captions, np.flatnonzero(weights))
        if number is not None:      # in the unit of the feature
            scores[:, node] /= np.abs(weights[number])
    is_classifier = captions.class_names is not None
    estimator = DecisionTreeClassifier() if is_classifier else DecisionTreeRegressor()
    estimator.tree_ = _sklearn_tree(captions)
    estimator.n_features_in_ = tree.n_internal
    estimator.n_outputs_ = 1 if is_classifier else tree.n_outputs
    if is_classifier:
        estimator.classes_ = getattr(inner, "classes_", np.arange(tree.n_outputs))
        estimator.n_classes_ = tree.n_outputs
    return PseudoFeatureTree(estimator, scores, names)


def _name(condition):
    """Name of a score, which is compared with 0."""
    if not condition.relation:
        return f"not: {condition.subject}"
    sign = "-" if condition.limit >= 0 else "+"
    score = f"{condition.subject} {sign} {format_number(abs(condition.limit))}"
    return f"{score if condition.relation == '<=' else f'-({score})'}{condition.addition}"


def _sklearn_tree(captions):
    tree, m = captions.tree, captions.tree.n_internal
    n_nodes = m + tree.n_leaves
    predictions = np.nan_to_num(captions.node_predictions())
    nodes = np.zeros(n_nodes, dtype=NODE_DTYPE)
    for name, children in zip(("left_child", "right_child"), child_ids(tree).T, strict=True):
        nodes[name] = np.r_[children, np.full(tree.n_leaves, -1)]
    nodes["feature"] = np.r_[np.arange(m), np.full(tree.n_leaves, -2)]
    nodes["threshold"][m:] = -2.0
    if captions.n_node_samples is not None:
        nodes["n_node_samples"] = captions.n_node_samples
        nodes["weighted_n_node_samples"] = sums_below(tree, captions.leaf_weights)
    is_classifier = captions.class_names is not None
    if is_classifier:
        nodes["impurity"] = 1.0 - (predictions**2).sum(axis=1)
    values = predictions[:, None, :] if is_classifier else predictions[:, :, None]
    n_classes = np.array([tree.n_outputs] if is_classifier else [1] * tree.n_outputs)
    exported = SklearnTree(m, n_classes, len(n_classes))
    exported.__setstate__({
        "max_depth": tree.max_depth, "node_count": n_nodes, "nodes": nodes,
        "values": np.ascontiguousarray(values)})
    return exported
