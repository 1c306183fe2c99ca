"""All that text and plots say of a tree beside its numbers: names, and a summary of its samples."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from ngdt._sample_summary import SampleSummary
from ngdt._scaling import Moments
from ngdt._tree import Tree
from ngdt._validation import check_matrix


@dataclass(frozen=True)
class TreeLabels:
    """A tree and what is known of its features and classes.

    Attributes
    ----------
    tree : Tree
    feature_names : list of str
    class_names : list of str, or None
        None for regression.
    summary : SampleSummary or None
        Of the training samples, or of others that were given; None if there are none.
    """

    tree: Tree
    feature_names: list
    class_names: list | None
    summary: SampleSummary | None


def labels_of(model, *, feature_names=None, class_names=None, X=None):
    """The tree of a model, names of its features and classes, and a summary of its samples.

    Parameters
    ----------
    model : Tree or fitted estimator
    feature_names : sequence, default=None
        None takes ``feature_names_in_`` of the estimator, or else "x0", "x1" and so on.
    class_names : sequence, default=None
        None takes ``classes_`` of the estimator, or else "0", "1" and so on.
    X : array-like or CSR matrix of shape (n_samples, n_features), default=None
        Samples to summarize. None takes the training samples of the estimator.

    Returns
    -------
    TreeLabels
    """
    tree = tree_of(model)
    return TreeLabels(
        tree, _feature_names(model, tree, feature_names), _class_names(model, tree, class_names),
        _summary(model, tree, X))


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


def _feature_names(model, tree, names):
    if names is None:
        names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(tree.n_features)])
    return _check_names("feature_names", names, tree.n_features)


def _class_names(model, tree, names):
    if tree.n_outputs == 1 if model is tree else is_regressor(model):
        return None
    if names is None:
        names = getattr(model, "classes_", range(tree.n_outputs))
    return _check_names("class_names", names, tree.n_outputs)


def _summary(model, tree, X):
    if X is None:
        summary = getattr(model, "_sample_summary", None)
        # tree_ may have been replaced since.
        return summary if summary is not None and summary.tree is tree else None
    X = check_matrix(X)
    data = tree._samples(X)
    samples = np.arange(data.n_samples, dtype=np.int32)
    return SampleSummary.of(tree, data, samples, Moments.of(X, np.ones(data.n_samples)))


def _check_names(parameter, names, count):
    if np.shape(names) != (count,):
        raise ValueError(
            f"{parameter} must be a sequence of {count} names, got shape {np.shape(names)}"
        )
    return [str(name) for name in names]
