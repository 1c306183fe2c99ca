"""Model to export: its trees, and the meaning of their features and classes."""

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from ngdt._core.structure import constant_predictions
from ngdt._core.tree import Tree
from ngdt._forest import ObliqueBoostingRegressor
from ngdt._forest.base import ObliqueForest
from ngdt._inspection.captions import captions_of, tree_of
from ngdt._inspection.pipelines import unwrap
from ngdt.export._encoded_columns import CategoryColumn, encoded_columns


class ExportedModel:
    """Data of a model that exports for other programs need.

    Parameters
    ----------
    model : Tree, fitted estimator, or search or Pipeline with no other step
    feature_names : sequence of str, default=None
        Names of the columns. None takes the names of the model.

    Attributes
    ----------
    trees : list of Tree
        One, or the trees of a forest, whose predictions are averaged.
    is_forest : bool
    task : {"classification", "regression"} or None
        None for a bare `Tree`.
    classes : list or None
        Labels; None if leaf values are predictions. A leaf of a classifier holds logits.
    target_names : list of str or None
        Names of several targets; None if they are not known.
    n_features, n_outputs : int
        Number of features of the trees, and of classes or targets.
    feature_names : list of str
        Names of the features of the trees.
    columns : list of NumberColumn or CategoryColumn
        Columns of the table.
    is_encoded, has_categories : bool
        Whether features are other numbers than the columns have in some samples, and some columns
        have none.
    averages_probabilities : bool
        Whether a prediction is a mean of probabilities, not of leaf values.

    Raises
    ------
    TypeError
        If the model is neither a tree nor a forest.
    ValueError
        If a step of a pipeline changes the columns.
    """

    def __init__(self, model, feature_names=None):
        steps, model = unwrap(model)
        if steps:
            raise ValueError(
                f"model is a pipeline whose {type(steps[0]).__name__} transforms the columns, but "
                "only its last step can be exported: export model[-1], and give the result the "
                "columns that model[:-1].transform returns")
        if isinstance(model, ObliqueBoostingRegressor):
            raise TypeError(
                "model must be a tree or a forest, got ObliqueBoostingRegressor: export each of "
                "its estimators_, and add up their predictions")
        self.is_forest = isinstance(model, ObliqueForest)
        if self.is_forest:
            check_is_fitted(model)
        members = model.estimators_ if self.is_forest else [model]
        captions = captions_of(members[0], feature_names=feature_names)
        self.task = None if isinstance(model, Tree) else (
            "classification" if is_classifier(model) else "regression")
        self.classes = _labels(model.classes_) if self.task == "classification" else None
        self.target_names = captions.target_names
        self.trees = [tree_of(each) for each in members]
        self.n_features, self.n_outputs = self.trees[0].n_features, self.trees[0].n_outputs
        self.feature_names, table = captions.feature_names, getattr(members[0], "_table", None)
        self.columns = encoded_columns(table, captions.column_names)
        self.is_encoded = table is not None and (
            bool(table.incomplete) or not table.is_identity)
        self.has_categories = any(isinstance(each, CategoryColumn) for each in self.columns)
        self.averages_probabilities = self.is_forest and self.classes is not None


def _labels(classes):
    """Labels as objects of Python; times stay of numpy, as `tolist` makes ints of nanoseconds."""
    return [*classes] if classes.dtype.kind in "mM" else classes.tolist()


def rounded(values, dtype):
    """Numbers of a model in another type.

    Parameters
    ----------
    values : array-like of float
        Limits may be infinite.
    dtype : numpy type of float

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        If a finite number becomes infinite.
    """
    values = np.asarray(values, dtype=np.float64)
    with np.errstate(over="ignore"):
        found = values.astype(dtype)
    if np.isinf(found[np.isfinite(values)]).any():
        raise ValueError("model has numbers that are too large for float: use dtype='double'")
    return found


def leaf_values(tree):
    """Constants of the leaves, and a mask of the linear leaves.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    values : ndarray of shape (n_leaves, n_outputs)
        Values of constant leaves are within their limits.
    is_linear : ndarray of bool, shape (n_leaves,)
        Whether a leaf has slopes.
    """
    if tree.slopes is None:
        return tree.values, np.zeros(tree.n_leaves, dtype=bool)
    is_linear = tree.slopes.any(axis=(1, 2))
    return np.where(is_linear[:, None], tree.values, constant_predictions(tree)), is_linear
