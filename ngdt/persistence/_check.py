"""Checks that the fields of an object fit together.

A `Tree` and a loss check themselves when they are made. The other classes trust the code that makes
them, but a file may hold anything.
"""

from functools import singledispatch
from numbers import Real
from operator import eq

import numpy as np

from ngdt._core.quantiles import LeafQuantiles
from ngdt._core.scaling import Scaling
from ngdt._core.tree import Tree
from ngdt._encoding.categories import Categories
from ngdt._encoding.table import Table
from ngdt._encoding.targets import ClassTargets, RegressionTargets
from ngdt._estimators.base import ObliqueTree
from ngdt._estimators.data import ClassifierData
from ngdt._forest import ObliqueBoostingRegressor, ObliqueForestRegressor
from ngdt._forest.base import OPTIONAL, ObliqueForest
from ngdt._forest.ensemble import Ensemble
from ngdt._inspection.sample_summary import SampleSummary
from ngdt._training.algorithm import Algorithm
from ngdt.deep import CNN
from ngdt.deep._base import DeepTree, score_tree
from ngdt.path import TAOPathCV
from ngdt.persistence._registry import attributes_of

# Attributes of fitted estimators.
OF_TABLE = {
    "_table", "_targets", "n_features_in_", "n_outputs_", "encoded_feature_names_", "candidates_"}
OF_TREE = {
    "tree_", "history_", "n_iter_", "baseline_kept_", "feature_importances_", "_n_node_samples",
    "_sample_summary"}
OF_BOOSTING = {
    "estimators_", "oob_errors_", "feature_importances_", "n_features_in_", "n_outputs_"}
OF_SEARCH = {"estimator_", "tree_", "Cs_", "scores_", "C_", "n_features_in_"}
OF_NETWORKS = {
    "_scaling", "_targets", "history_", "n_features_in_", "n_iter_", "n_outputs_", "tree_",
    "weights_"}


def require(name, holds):
    """Raise a ValueError that names an attribute unless what it must be holds."""
    if not holds:
        raise ValueError(
            f"{name} must be as fit makes it, and go with the other attributes: fit again")


def is_array(array, kinds, shape):
    """Return whether an array has one of these `dtype.kind` and this shape; None is any length."""
    return (isinstance(array, np.ndarray) and array.dtype.kind in kinds
            and array.ndim == len(shape)
            and all(want in (None, got) for got, want in zip(array.shape, shape, strict=True)))


def is_of(container, type_, values):
    """Return whether values are in a container of this class, and all of this type."""
    return isinstance(values, container) and all(isinstance(each, type_) for each in values)


def is_fitted(model, wanted, optional=frozenset()):
    """Return whether an estimator is fitted; raise a ValueError if attributes are missing."""
    names = attributes_of(model).keys()
    if isinstance(model, ClassifierData):
        wanted = wanted | {"classes_", "n_classes_"}
    missing, unknown = wanted - names, names - wanted - optional - {"feature_names_in_"}
    if names and missing:
        raise ValueError(f"{type(model).__name__} lacks {sorted(missing)}: fit it again")
    if unknown:
        raise ValueError(
            f"{type(model).__name__} has the attributes {sorted(unknown)}, which ngdt does not "
            "know: delete them, or use pickle")
    return bool(names)


def is_tree(tree, n_features, n_outputs):
    """Return whether this is a tree of these numbers of features and outputs."""
    return isinstance(tree, Tree) and (tree.n_features, tree.n_outputs) == (n_features, n_outputs)


def are_columns(table):
    """Return whether a table is a dict of lists of the same length."""
    return (isinstance(table, dict) and is_of(list, list, list(table.values()))
            and len({*map(len, table.values())}) <= 1)


def are_indices(array, n):
    """Return whether all entries are from 0 to n - 1."""
    return ((array >= 0) & (array < n)).all()


def ascends(array):
    """Return whether an array ascends without repetition."""
    return (array[1:] > array[:-1]).all()


@singledispatch
def check(thing):
    """Raise an error unless the fields of an object fit together.

    Objects in its fields have been checked before.

    Parameters
    ----------
    thing : object

    Raises
    ------
    ValueError, TypeError
        The message names the attribute.
    """


@check.register
def _(parameters: Algorithm | CNN):
    is_fitted(parameters, set())    # they have no fitted attributes


@check.register
def _(scaling: Scaling):
    center, scale = scaling.center, scaling.scale
    require("center", is_array(center, "f", (None,)) and np.isfinite(center).all())
    require("scale", is_array(scale, "f", center.shape) and np.isfinite(scale).all()
            and (scale > 0).all())
    require("low and high", scaling.low is scaling.high is None or all(
        is_array(limit, "f", center.shape) and not np.isnan(limit).any()
        for limit in (scaling.low, scaling.high)))


@check.register
def _(targets: ClassTargets):
    require("classes", is_array(targets.classes, "biufUOM", (None,)) and len(targets.classes)
            and ascends(targets.classes))


@check.register
def _(targets: RegressionTargets):
    require("center", is_array(targets.center, "f", (None,)))
    require("scale", is_array(targets.scale, "f", targets.center.shape)
            and (targets.scale > 0).all())
    require("has_log_link", isinstance(targets.has_log_link, bool))
    require("names", is_of(tuple, str, targets.names)
            and len(targets.names) in (0, targets.n_outputs))


@check.register
def _(categories: Categories):
    values, fill = categories.frequent + categories.rare + categories.few, categories.fill
    require("frequent, rare and few", is_of(tuple, str | Real | np.bool_ | None, values)
            and len(categories.feature) == len(values))
    n_groups = len(categories.groups)
    require("fill", is_of(tuple, float, fill) and len(fill) == (1 if n_groups == 2 else n_groups)
            and all(0 <= value <= 1 for value in fill))


@check.register
def _(table: Table):
    names, numeric, categorical = table.names, table.numeric, table.categorical
    require("names", is_of(tuple, str, names))
    require("categorical", is_array(categorical, "iu", (None,)) and ascends(categorical)
            and are_indices(categorical, len(names)))
    require("numeric", is_array(numeric, "iu", (None,)) and np.array_equal(
        numeric, np.setdiff1d(np.arange(len(names)), categorical)))
    require("fill", is_array(table.fill, "f", numeric.shape) and np.isfinite(table.fill).all())
    require("gaps", is_array(table.gaps, "iu", (None,)) and ascends(table.gaps)
            and are_indices(table.gaps, len(numeric)))
    require("categories", is_of(tuple, Categories, table.categories)
            and len(table.categories) == len(categorical))
    require("is_sparse", isinstance(table.is_sparse, bool))
    for name in ("booleans", "whole", "incomplete"):
        columns = getattr(table, name)
        require(name, isinstance(columns, tuple) and set(columns) <= set(numeric.tolist()))


@check.register
def _(quantiles: LeafQuantiles):
    targets, shares, offsets = quantiles.targets, quantiles.shares, quantiles.offsets
    require("targets", is_array(targets, "f", (None, None)))
    require("shares", is_array(shares, "f", targets.shape))
    require("offsets", is_array(offsets, "iu", (None,)) and len(offsets) > 1 and ascends(offsets)
            and offsets[0] == 0 and offsets[-1] == len(targets))
    is_first = np.isin(np.arange(1, len(targets)), offsets)
    for name, array in (("targets", targets), ("shares", shares)):
        require(name, (np.diff(array, axis=0) >= 0)[~is_first].all())
    require("shares", (shares[offsets[1:] - 1] == 1).all())
    require("group", is_array(quantiles.group, "iu", (None,))
            and are_indices(quantiles.group, len(offsets) - 1))


@check.register
def _(summary: SampleSummary):
    tree = summary.tree
    require("tree", isinstance(tree, Tree))
    n_leaves = tree.n_leaves
    shapes = dict.fromkeys(("mean", "std", "low", "high"), (tree.n_features,)) | dict.fromkeys(
        ("left", "right"), (tree.n_internal,)) | {"gains": (tree.n_internal + n_leaves,)}
    if tree.slopes is None:
        require("leaf_means and spans", summary.leaf_means is summary.spans is None)
    else:
        shapes |= {"leaf_means": (n_leaves, tree.n_features), "spans": (tree.n_outputs,)}
    optional = {"leaf_weights": (n_leaves,), "probabilities": tree.values.shape}
    for name, shape in (shapes | optional).items():
        array = getattr(summary, name)
        require(name, is_array(array, "f", shape) or (array is None and name in optional))
        if name in ("gains", "leaf_weights") and array is not None:
            require(name, np.isfinite(array).all() and (array >= 0).all())


@check.register
def _(model: ObliqueTree):
    is_classifier = isinstance(model, ClassifierData)
    of_task = set() if is_classifier else {"_leaf_quantiles"}
    if not is_fitted(model, OF_TABLE | OF_TREE | of_task, {"_draw", "_edits", "_noun"}):
        return
    size = _check_table_attributes(model)
    require("tree_", is_tree(model.tree_, *size))
    require("_edits", is_of(list, str, getattr(model, "_edits", [])))
    require("_noun", isinstance(getattr(model, "_noun", ""), str))
    draw = getattr(model, "_draw", (0, False, None))
    require("_draw", isinstance(draw, tuple) and [*map(type, draw)] in (
        [int, bool, int], [int, bool, type(None)]))
    require("_sample_summary", isinstance(model._sample_summary, SampleSummary))
    # The trained tree; tree_ may have been replaced since.
    tree = model._sample_summary.tree
    require("_sample_summary", is_tree(tree, *size))
    require("_n_node_samples",
            is_array(model._n_node_samples, "iu", (tree.n_internal + tree.n_leaves,)))
    if not is_classifier:
        quantiles = model._leaf_quantiles
        require("_leaf_quantiles", isinstance(quantiles, LeafQuantiles)
                and len(quantiles.group) == tree.n_leaves
                and quantiles.targets.shape[1] == tree.n_outputs)
    require("history_", are_columns(model.history_)
            and is_of(list, str, model.history_["optimizer"]))
    require("n_iter_", model.n_iter_ == len(model.history_["optimizer"]))
    require("baseline_kept_", isinstance(model.baseline_kept_, bool | np.bool_))


@check.register
def _(forest: ObliqueForest):
    if not is_fitted(forest, OF_TABLE | {"estimators_"}, OPTIONAL | {"_drawn_from"}):
        return
    size = _check_table_attributes(forest)
    trees = forest.estimators_
    require("estimators_", isinstance(trees, list) and trees and all(
        type(each) is forest._tree_class and is_tree(getattr(each, "tree_", None), *size)
        for each in trees))
    require("_kernel", isinstance(forest._kernel, Ensemble | None))
    samples = getattr(forest, "_drawn_from", 1)
    require("_drawn_from", is_array(samples, "iu", (None,)) or (
        type(samples) is int and samples > 0))
    require("pruning_path_", are_columns(getattr(forest, "pruning_path_", {})))


@check.register
def _(model: ObliqueBoostingRegressor):
    if not is_fitted(model, OF_BOOSTING):
        return
    forests = model.estimators_
    require("estimators_", isinstance(forests, list) and forests and all(
        type(forest) is ObliqueForestRegressor and hasattr(forest, "estimators_")
        and forest.n_outputs_ == model.n_outputs_ for forest in forests))
    for forest in forests:
        _check_names(model, forest._table)
    require("feature_importances_",
            is_array(model.feature_importances_, "f", (model.n_features_in_,)))
    require("oob_errors_", is_of(list, float, model.oob_errors_))


@check.register
def _(search: TAOPathCV):
    is_classifier = isinstance(search._estimator(), ClassifierData)
    if not is_fitted(search, OF_SEARCH | ({"classes_"} if is_classifier else set())):
        return
    found = search.estimator_
    require("estimator_", type(found) is type(search._estimator()) and hasattr(found, "tree_"))
    require("tree_", is_tree(search.tree_, found.tree_.n_features, found.tree_.n_outputs))
    require("Cs_", is_array(search.Cs_, "f", (None,)))
    require("scores_", is_array(search.scores_, "f", (None, len(search.Cs_))))
    require("C_", isinstance(search.C_, Real))
    _check_names(search, found._table)
    if is_classifier:
        _check_classes(search, found.classes_)


@check.register
def _(model: DeepTree):
    if not is_fitted(model, OF_NETWORKS):
        return
    tree, weights = model.tree_, model.weights_
    _check_targets(model)
    require("_scaling", isinstance(model._scaling, Scaling)
            and model._scaling.center.shape == (model.n_features_in_,))
    require("tree_", isinstance(tree, Tree) and tree.n_outputs == model._targets.n_outputs)
    networks = [weights] if isinstance(weights, dict) else weights
    require("weights_", is_of(list, dict, networks) and all(
        isinstance(value, np.ndarray | np.generic)
        for network in networks for value in network.values()))
    require("weights_", isinstance(weights, dict) or (
        len(weights) == tree.n_internal and tree == score_tree(
            tree.children_left, tree.children_right, tree.values)))
    require("history_", are_columns(model.history_))


def _check_table_attributes(model):
    """Check the attributes that depend on X and y; return the size of the trees.

    Returns
    -------
    n_features, n_outputs : int
    """
    table, targets, names = model._table, model._targets, model.encoded_feature_names_
    require("_table", isinstance(table, Table))
    _check_targets(model)
    is_classifier = isinstance(model, ClassifierData)
    require("n_outputs_", model.n_outputs_ == (1 if is_classifier else targets.n_outputs))
    require("n_classes_", not is_classifier or model.n_classes_ == targets.n_outputs)
    _check_names(model, table)
    features = table.features
    # One by one: a long name of a column is repeated in the names of all its categories.
    require("encoded_feature_names_", isinstance(names, list) and len(names) == len(features)
            and all(map(eq, names, map(table.name_of, features))))
    require("feature_importances_",
            is_array(model.feature_importances_, "f", (len(table.names),)))
    require("candidates_", are_columns(model.candidates_))
    return len(features), targets.n_outputs


def _check_targets(model):
    is_classifier = isinstance(model, ClassifierData)
    require("_targets",
            isinstance(model._targets, ClassTargets if is_classifier else RegressionTargets))
    if is_classifier:
        _check_classes(model, model._targets.classes)


def _check_names(model, table):
    require("n_features_in_", model.n_features_in_ == len(table.names))
    names = getattr(model, "feature_names_in_", np.array(table.names, dtype=object))
    require("feature_names_in_",
            isinstance(names, np.ndarray) and names.tolist() == list(table.names))


def _check_classes(model, classes):
    require("classes_",
            isinstance(model.classes_, np.ndarray) and np.array_equal(model.classes_, classes))
