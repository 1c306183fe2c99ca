"""The tree of a model and the names of its features and classes, for plots and text."""

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from ngdt._tree import Tree


def tree_of(model):
    """The tree of a `Tree` or of a fitted ngdt estimator.

    Parameters
    ----------
    model : Tree or fitted estimator

    Returns
    -------
    Tree
    """
    if isinstance(model, Tree):
        return model
    if hasattr(model, "fit"):
        check_is_fitted(model)
    tree = getattr(model, "tree_", None)
    if not isinstance(tree, Tree):
        hint = "" if tree is None else ": convert it by Tree.from_sklearn first"
        raise TypeError(
            f"model must be a Tree or a fitted ngdt estimator, got {type(model).__name__}{hint}"
        )
    return tree


def feature_names_of(model, tree, names=None):
    """Names of the features: those given, or those seen in `fit`.

    Parameters
    ----------
    model : Tree or fitted estimator
    tree : Tree
        The tree of the model.
    names : sequence, default=None
        None takes ``feature_names_in_`` of the estimator, or else "x0", "x1" and so on.

    Returns
    -------
    list of str
    """
    if names is None:
        names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(tree.n_features)])
    return _check_names("feature_names", names, tree.n_features)


def class_names_of(model, tree, names=None):
    """Names of the classes: those given, or the labels seen in `fit`.

    Parameters
    ----------
    model : Tree or fitted estimator
    tree : Tree
        The tree of the model.
    names : sequence, default=None
        None takes ``classes_`` of the estimator, or else "0", "1" and so on.

    Returns
    -------
    list of str, or None
        None for regression.
    """
    if tree.n_outputs == 1 if model is tree else is_regressor(model):
        return None
    if names is None:
        names = getattr(model, "classes_", range(tree.n_outputs))
    return _check_names("class_names", names, tree.n_outputs)


def _check_names(parameter, names, count):
    if np.shape(names) != (count,):
        raise ValueError(
            f"{parameter} must be a sequence of {count} names, got shape {np.shape(names)}"
        )
    return [str(name) for name in names]
