"""Model to export: its trees, and the meaning of their features and classes."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ngdt._core.structure import constant_predictions
from ngdt._core.tree import Tree
from ngdt._encoding.table import Table
from ngdt._forest import ObliqueBoostingRegressor
from ngdt._forest.base import ObliqueForest
from ngdt._inspection.captions import captions_of, tree_of
from ngdt._inspection.pipelines import transformers
from ngdt.path import TAOPathCV


@dataclass(frozen=True)
class ExportedModel:
    """Data of a model that exports for other programs need.

    Attributes
    ----------
    trees : list of Tree
        One, or the trees of a forest, whose predictions are averaged.
    is_forest : bool
    task : {"classification", "regression"} or None
        None for a bare `Tree`.
    classes : list or None
        Labels; None if leaf values are predictions. A leaf of a classifier holds logits.
    column_names, feature_names : list of str
        Names of the columns of the table, and of the features of the trees.
    table : Table or None
        Encoding of columns as features. None for a bare `Tree`, which reads features.
    """

    trees: list
    is_forest: bool
    task: str | None
    classes: list | None
    column_names: list
    feature_names: list
    table: Table | None

    @property
    def n_features(self):
        """Number of features of the trees."""
        return self.trees[0].n_features

    @property
    def n_outputs(self):
        """Number of classes or targets."""
        return self.trees[0].n_outputs

    @property
    def averages_probabilities(self):
        """Return whether a prediction is a mean of probabilities, not of leaf values."""
        return self.is_forest and self.classes is not None


def exported_model(model, feature_names=None):
    """Collect the data of a model that exports for other programs need.

    Parameters
    ----------
    model : Tree, fitted estimator, or Pipeline with no other step
    feature_names : sequence of str, default=None
        Names of the columns. None takes the names of the model.

    Returns
    -------
    ExportedModel

    Raises
    ------
    TypeError
        If the model is neither a tree nor a forest.
    """
    model = inner_model(model)
    if isinstance(model, ObliqueBoostingRegressor):
        raise TypeError(
            "model must be a tree or a forest, got ObliqueBoostingRegressor: export each of its "
            "estimators_, the sum of whose predictions is its prediction")
    is_forest = isinstance(model, ObliqueForest)
    if is_forest:
        check_is_fitted(model)
    members = model.estimators_ if is_forest else [model]
    captions = captions_of(members[0], feature_names=feature_names)
    task = None if isinstance(model, Tree) else (
        "classification" if is_classifier(model) else "regression")
    return ExportedModel(
        [tree_of(each) for each in members], is_forest, task,
        model.classes_.tolist() if task == "classification" else None,
        captions.column_names, captions.feature_names, getattr(members[0], "_table", None))


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


def inner_model(model):
    """Tree or estimator inside of a model, which reads the same columns.

    Parameters
    ----------
    model : Tree, fitted estimator, or Pipeline with no other step

    Returns
    -------
    Tree or fitted estimator

    Raises
    ------
    ValueError
        If a step of a pipeline changes the columns.
    """
    if isinstance(model, Pipeline):
        steps = list(transformers(model))
        if steps:
            raise ValueError(
                f"model is a pipeline whose step {steps[0]!r} transforms the columns, which an "
                "export of the tree leaves out: export model[-1], for samples that "
                "model[:-1].transform has made")
        return inner_model(model[-1])
    if isinstance(model, TAOPathCV):
        check_is_fitted(model)
        return model.estimator_
    return model
