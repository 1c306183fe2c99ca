"""Checks that the fields of an object fit together.

A `Tree` and a loss check themselves when they are made. The other classes trust the code that makes
them, but a file may hold anything.
"""

from functools import singledispatch
from numbers import Real

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
from ngdt._forest.base import ObliqueForest
from ngdt._forest.ensemble import Ensemble
from ngdt._inspection.sample_summary import SampleSummary
from ngdt._training.algorithm import Algorithm
from ngdt.deep import CNN
from ngdt.deep._base import DeepTree, score_tree
from ngdt.path import TAOPathCV
from ngdt.persistence._registry import attributes_of

# Values of `dtype.kind`.
FLOAT, INTEGER = "f", "iu"
# Attributes of fitted estimators.
OF_TABLE = {
    "_table", "_targets", "n_features_in_", "n_outputs_", "encoded_feature_names_",
    "feature_importances_", "candidates_"}
OF_CLASSES = {"classes_", "n_classes_"}
OF_TREE = {
    "tree_", "history_", "n_iter_", "baseline_kept_", "_n_node_samples", "_sample_summary"}
OF_PRUNED_OR_SCORED = {
    "pruning_path_", "oob_score_", "oob_prediction_", "oob_decision_function_", "_drawn_from"}
OF_BOOSTING = {
    "estimators_", "oob_errors_", "feature_importances_", "n_features_in_", "n_outputs_"}
OF_SEARCH = {"estimator_", "tree_", "Cs_", "scores_", "C_", "n_features_in_"}
OF_NETWORKS = {
    "_scaling", "_targets", "history_", "n_features_in_", "n_iter_", "n_outputs_", "tree_",
    "weights_"}
OF_FRAME = {"feature_names_in_"}


def require(holds, name, wanted):
    """Raise a ValueError unless a condition holds."""
    if not holds:
        raise ValueError(f"{name} must be {wanted}")


def require_array(name, array, dtype_kinds, shape):
    """Raise a ValueError unless an array has this type and shape; None stands for any length."""
    require(
        isinstance(array, np.ndarray) and array.dtype.kind in dtype_kinds
        and array.ndim == len(shape)
        and all(want in (None, got) for got, want in zip(array.shape, shape, strict=True)),
        name, f"an array of shape {shape} of the right type")


def is_of(container, type_, values):
    """Return whether values are in a container of this class, and all of this type."""
    return isinstance(values, container) and all(isinstance(each, type_) for each in values)


def is_fitted(model, wanted, optional=frozenset()):
    """Return whether an estimator is fitted; raise a ValueError if attributes are missing."""
    names = attributes_of(model).keys()
    missing, unknown = wanted - names, names - wanted - optional
    if names and missing:
        raise ValueError(f"{type(model).__name__} lacks {sorted(missing)}: fit it again")
    if unknown:
        raise ValueError(
            f"{type(model).__name__} has the attributes {sorted(unknown)}, which ngdt does not "
            "know: delete them, or use pickle")
    return bool(names)


def require_columns(name, table):
    """Raise a ValueError unless a table is a dict of columns of the same length."""
    require(
        isinstance(table, dict) and all(isinstance(column, list) for column in table.values())
        and len({len(column) for column in table.values()}) <= 1,
        name, "a dict of lists of the same length")


def require_tree(name, tree, n_features, n_outputs):
    """Raise a ValueError unless a tree has these numbers of features and outputs."""
    require(
        isinstance(tree, Tree) and (tree.n_features, tree.n_outputs) == (n_features, n_outputs),
        name, f"a Tree of {n_features} features and {n_outputs} outputs")


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
    require_array("center", scaling.center, FLOAT, (None,))
    require_array("scale", scaling.scale, FLOAT, scaling.center.shape)
    require(np.isfinite(scaling.center).all() and (scaling.scale > 0).all()
            and np.isfinite(scaling.scale).all(), "scale", "positive, and all finite")
    for name in ("low", "high"):
        limit = getattr(scaling, name)
        if limit is not None:
            require_array(name, limit, FLOAT, scaling.center.shape)
            require(not np.isnan(limit).any(), name, "numbers")
    require((scaling.low is None) == (scaling.high is None), "high", "given where low is")


@check.register
def _(targets: ClassTargets):
    require_array("classes", targets.classes, "biufUOM", (None,))
    require(len(targets.classes) and ascends(targets.classes), "classes", "ascending labels")


@check.register
def _(targets: RegressionTargets):
    require_array("center", targets.center, FLOAT, (None,))
    require_array("scale", targets.scale, FLOAT, targets.center.shape)
    require((targets.scale > 0).all(), "scale", "positive")
    require(isinstance(targets.has_log_link, bool), "has_log_link", "True or False")
    require(is_of(tuple, str, targets.names) and len(targets.names) in (0, targets.n_outputs),
            "names", "a string for each target, or none")


@check.register
def _(categories: Categories):
    values, fill = categories.frequent + categories.rare + categories.few, categories.fill
    require(isinstance(values, tuple), "frequent, rare and few", "tuples")
    n_groups = len(categories.groups)
    require(
        fill is None or (isinstance(fill, tuple) and len(fill) == (1 if n_groups == 2 else n_groups)
                         and all(isinstance(value, float) and 0 <= value <= 1 for value in fill)),
        "fill", "None, or a value from 0 to 1 of each feature")
    require(
        all(value is None or isinstance(value, str | Real | np.bool_) for value in values)
        and len(categories.feature) == len(values),
        "categories", "different strings or numbers")


@check.register
def _(table: Table):
    names, numeric, categorical = table.names, table.numeric, table.categorical
    require(is_of(tuple, str, names), "names", "a tuple of strings")
    for name, columns in (("numeric", numeric), ("categorical", categorical)):
        require_array(name, columns, INTEGER, (None,))
        require(ascends(columns), name, "ascending columns")
    require(
        np.array_equal(np.sort(np.concatenate([numeric, categorical])), np.arange(len(names))),
        "numeric and categorical", "all columns")
    require_array("fill", table.fill, FLOAT, numeric.shape)
    require(np.isfinite(table.fill).all(), "fill", "finite")
    require_array("gaps", table.gaps, INTEGER, (None,))
    require(ascends(table.gaps) and are_indices(table.gaps, len(numeric)),
            "gaps", "ascending columns of numbers")
    require(is_of(tuple, Categories, table.categories)
            and len(table.categories) == len(categorical),
            "categories", "the Categories of each categorical column")
    require(isinstance(table.is_sparse, bool), "is_sparse", "True or False")
    for name in ("booleans", "whole", "incomplete"):
        columns = getattr(table, name)
        require(isinstance(columns, tuple) and set(columns) <= set(numeric.tolist()),
                name, "columns of numbers")


@check.register
def _(quantiles: LeafQuantiles):
    targets, shares, offsets = quantiles.targets, quantiles.shares, quantiles.offsets
    require_array("targets", targets, FLOAT, (None, None))
    require_array("shares", shares, FLOAT, targets.shape)
    require_array("offsets", offsets, INTEGER, (None,))
    require_array("group", quantiles.group, INTEGER, (None,))
    require(
        len(offsets) > 1 and ascends(offsets) and offsets[0] == 0 and offsets[-1] == len(targets),
        "offsets", "ascending, from 0 to the number of targets")
    is_first = np.isin(np.arange(1, len(targets)), offsets)
    for name, array in (("targets", targets), ("shares", shares)):
        require((np.diff(array, axis=0) >= 0)[~is_first].all(), name, "sorted in each group")
    require((shares[offsets[1:] - 1] == 1).all(), "shares", "1 at the end of each group")
    require(are_indices(quantiles.group, len(offsets) - 1), "group", "groups")


@check.register
def _(summary: SampleSummary):
    tree = summary.tree
    require(isinstance(tree, Tree), "tree", "a Tree")
    n_leaves = tree.n_leaves
    shapes = dict.fromkeys(("mean", "std", "low", "high"), (tree.n_features,)) | dict.fromkeys(
        ("left", "right"), (tree.n_internal,)) | {"gains": (tree.n_internal + n_leaves,)}
    if tree.slopes is None:
        require(summary.leaf_means is summary.spans is None, "leaf_means and spans", "None")
    else:
        shapes |= {"leaf_means": (n_leaves, tree.n_features), "spans": (tree.n_outputs,)}
    optional = {"leaf_weights": (n_leaves,), "probabilities": tree.values.shape}
    for name, shape in (shapes | optional).items():
        array = getattr(summary, name)
        if array is not None or name in shapes:
            require_array(name, array, FLOAT, shape)
    for name in ("gains", "leaf_weights"):
        array = getattr(summary, name)
        require(array is None or (np.isfinite(array).all() and (array >= 0).all()),
                name, "finite, and not negative")


@check.register
def _(model: ObliqueTree):
    is_classifier = isinstance(model, ClassifierData)
    of_task = OF_CLASSES if is_classifier else {"_leaf_quantiles"}
    if not is_fitted(model, OF_TABLE | OF_TREE | of_task, OF_FRAME | {"_draw", "_edits"}):
        return
    size = _check_table_attributes(model)
    require_tree("tree_", model.tree_, *size)
    require(is_of(list, str, getattr(model, "_edits", [])), "_edits", "a list of sentences")
    if hasattr(model, "_draw"):
        require(isinstance(model._draw, tuple) and [type(each) for each in model._draw] in (
            [int, bool, int], [int, bool, type(None)]), "_draw", "two integers and a bool")
    summary = model._sample_summary
    require(isinstance(summary, SampleSummary), "_sample_summary", "a SampleSummary")
    # The trained tree; tree_ may have been replaced since.
    tree = summary.tree
    require_tree("the tree of _sample_summary", tree, *size)
    require_array("_n_node_samples", model._n_node_samples, INTEGER,
                  (tree.n_internal + tree.n_leaves,))
    if not is_classifier:
        quantiles = model._leaf_quantiles
        require(
            isinstance(quantiles, LeafQuantiles) and len(quantiles.group) == tree.n_leaves
            and quantiles.targets.shape[1] == tree.n_outputs,
            "_leaf_quantiles", "LeafQuantiles for the leaves and outputs of the tree")
    require_columns("history_", model.history_)
    require(model.n_iter_ == len(model.history_["optimizer"]), "n_iter_", "that of history_")
    require(isinstance(model.baseline_kept_, bool | np.bool_), "baseline_kept_", "True or False")


@check.register
def _(forest: ObliqueForest):
    of_task = OF_CLASSES if isinstance(forest, ClassifierData) else set()
    if not is_fitted(
            forest, OF_TABLE | {"estimators_"} | of_task, OF_FRAME | OF_PRUNED_OR_SCORED):
        return
    size = _check_table_attributes(forest)
    trees = forest.estimators_
    require(isinstance(trees, list) and len(trees), "estimators_", "a list of trees")
    for each in trees:
        require(type(each) is forest._tree_class and hasattr(each, "tree_"),
                "estimators_", f"a list of fitted {forest._tree_class.__name__}")
        require_tree("tree_ of estimators_", each.tree_, *size)
    require(isinstance(forest._kernel, Ensemble | None), "_kernel", "None")
    samples = getattr(forest, "_drawn_from", 1)
    if not (type(samples) is int and samples > 0):
        require_array("_drawn_from", samples, INTEGER, (None,))
    if hasattr(forest, "pruning_path_"):
        require_columns("pruning_path_", forest.pruning_path_)


@check.register
def _(model: ObliqueBoostingRegressor):
    if not is_fitted(model, OF_BOOSTING, OF_FRAME):
        return
    forests = model.estimators_
    require(isinstance(forests, list) and len(forests), "estimators_", "a list of forests")
    for forest in forests:
        require(type(forest) is ObliqueForestRegressor and hasattr(forest, "estimators_")
                and forest.n_outputs_ == model.n_outputs_,
                "estimators_", "a list of fitted ObliqueForestRegressor for the same targets")
        _check_names(model, forest._table)
    require_array(
        "feature_importances_", model.feature_importances_, FLOAT, (model.n_features_in_,))
    require(is_of(list, float, model.oob_errors_), "oob_errors_", "a list of numbers")


@check.register
def _(search: TAOPathCV):
    is_classifier = isinstance(search._estimator(), ClassifierData)
    if not is_fitted(search, OF_SEARCH | ({"classes_"} if is_classifier else set()), OF_FRAME):
        return
    found = search.estimator_
    require(type(found) is type(search._estimator()) and hasattr(found, "tree_"),
            "estimator_", "fitted, of the class of estimator")
    require_tree("tree_", search.tree_, found.tree_.n_features, found.tree_.n_outputs)
    require_array("Cs_", search.Cs_, FLOAT, (None,))
    require_array("scores_", search.scores_, FLOAT, (None, len(search.Cs_)))
    require(isinstance(search.C_, Real), "C_", "a number")
    _check_names(search, found._table)
    if is_classifier:
        _check_classes(search, found.classes_)


@check.register
def _(model: DeepTree):
    is_classifier = isinstance(model, ClassifierData)
    if not is_fitted(model, OF_NETWORKS | (OF_CLASSES if is_classifier else set()), OF_FRAME):
        return
    targets, tree, weights = model._targets, model.tree_, model.weights_
    _check_targets(model)
    require(isinstance(model._scaling, Scaling) and isinstance(model.n_features_in_, int)
            and len(model._scaling.center) == model.n_features_in_,
            "_scaling", "the scaling of n_features_in_ features")
    require(isinstance(tree, Tree) and tree.n_outputs == targets.n_outputs,
            "tree_", "a Tree with the outputs of _targets")
    networks = [weights] if isinstance(weights, dict) else weights
    require(
        is_of(list, dict, networks) and all(
            isinstance(value, np.ndarray | np.generic)
            for network in networks for value in network.values()),
        "weights_", "arrays by name, for each network")
    if isinstance(weights, list):
        require(len(weights) == tree.n_internal and tree == score_tree(
            tree.children_left, tree.children_right, tree.values),
            "tree_", "a tree of the scores of the networks")
    require_columns("history_", model.history_)


def _check_table_attributes(model):
    """Check the attributes that depend on X and y; return the size of the trees.

    Returns
    -------
    n_features, n_outputs : int
    """
    table, targets = model._table, model._targets
    is_classifier = isinstance(model, ClassifierData)
    require(isinstance(table, Table), "_table", "a Table")
    _check_targets(model)
    require(model.n_outputs_ == (1 if is_classifier else targets.n_outputs),
            "n_outputs_", "that of _targets")
    if is_classifier:
        require(model.n_classes_ == targets.n_outputs, "n_classes_", "that of _targets")
    _check_names(model, table)
    features, names = table.features, model.encoded_feature_names_
    require(
        isinstance(names, list) and len(names) == len(features)
        # One by one: a long name of a column is repeated in the names of all its categories.
        and all(name == table.name_of(feature)
                for name, feature in zip(names, features, strict=True)),
        "encoded_feature_names_", "those of _table")
    require_array("feature_importances_", model.feature_importances_, FLOAT, (len(table.names),))
    require_columns("candidates_", model.candidates_)
    return len(features), targets.n_outputs


def _check_targets(model):
    is_classifier = isinstance(model, ClassifierData)
    require(isinstance(model._targets, ClassTargets if is_classifier else RegressionTargets),
            "_targets", "the encoding of y")
    if is_classifier:
        _check_classes(model, model._targets.classes)


def _check_names(model, table):
    require(model.n_features_in_ == len(table.names), "n_features_in_", "that of _table")
    names = getattr(model, "feature_names_in_", np.array(table.names, dtype=object))
    require(isinstance(names, np.ndarray) and names.tolist() == list(table.names),
            "feature_names_in_", "those of _table")


def _check_classes(model, classes):
    require(isinstance(model.classes_, np.ndarray) and np.array_equal(model.classes_, classes),
            "classes_", "those of _targets")
