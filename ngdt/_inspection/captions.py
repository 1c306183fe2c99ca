"""Captions of a tree for texts and plots: names, units, and a summary of its samples."""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from ngdt._core.scaling import Moments
from ngdt._core.structure import (
    constant_predictions,
    first_of_sums,
    node_means,
    parents,
    sums_below,
)
from ngdt._core.tree import Tree
from ngdt._encoding.table import Feature
from ngdt._inspection.pipelines import names_out, units_of, unwrap
from ngdt._inspection.rules import category_rule_of, number_of
from ngdt._inspection.sample_summary import SampleSummary, single_features
from ngdt._util.validation import check_matrix

# Rounding errors of scaled numbers, relative to numbers before. A scaler may work in float32.
_ROUNDING = 8 * np.finfo(np.float32).eps


@dataclass(frozen=True, eq=False)
class Captions:
    """A tree, with names of its features and classes and a summary of its samples.

    Attributes
    ----------
    tree : Tree
    feature_names : list of str
        Names of the features of the tree.
    features : list of Feature
        What the features mean.
    column_names : list of str
        Names of the columns of the table.
    class_names : list of str, or None
        None for regression.
    target_names : list of str, or None
        None for classification, for a single target, and if they are not known.
    summary : SampleSummary or None
        Of the training samples, or of others that were given; None if there are none.
    n_node_samples : ndarray of int, shape (n_internal + n_leaves,), or None
        Number of these samples at each node, then at each leaf.
    fill : dict of int to float
        What stands for a missing number, of the features that had missing ones in training.
    unknown : dict of int to float
        The same for categories of training that count as unknown; features of 0 are left out.
    booleans : frozenset of int
        The features that are numbers for bools.
    is_weighted : bool
        Whether probabilities are shares of weights that differ, not of training samples.
    """

    tree: Tree
    feature_names: list
    features: list
    column_names: list
    class_names: list | None
    target_names: list | None
    summary: SampleSummary | None
    n_node_samples: np.ndarray | None
    fill: dict
    unknown: dict
    booleans: frozenset
    is_weighted: bool

    @property
    def leaf_weights(self):
        """Weight of the samples of each leaf, or their number if all weigh the same, or None."""
        if self.summary is not None and self.summary.leaf_weights is not None:
            return self.summary.leaf_weights
        counts = self.n_node_samples
        return None if counts is None else counts[self.tree.n_internal:]

    @property
    def std(self):
        """Standard deviation of each feature; 1 where the samples are not known."""
        return np.ones(self.tree.n_features) if self.summary is None else self.summary.std

    @cached_property
    def right_first(self):
        """The nodes whose right child is written and drawn first: that "yes" leads to, frozenset.

        Rules of categories list those that go right, where the left child could only say what its
        samples are not.
        """
        rules = [category_rule_of(self, node) for node in range(self.tree.n_internal)]
        return frozenset(node for node, rule in enumerate(rules)
                         if rule is not None and not rule.is_left and rule.other is None)

    @cached_property
    def first_of_sums(self):
        """As the function of that name returns it, ndarray of int."""
        return first_of_sums(self.tree)

    @cached_property
    def nodes_of_sums(self):
        """The nodes that share a sum, by the first of them, dict of lists."""
        nodes = {}
        for node, first in enumerate(self.first_of_sums.tolist()):
            nodes.setdefault(first, []).append(node)
        return nodes

    @cached_property
    def sum_names(self):
        """Names, by their first node, of sums that are repeated below another split, dict."""
        first, parent = self.first_of_sums, parents(self.tree)
        is_below_another = [
            node for node in range(self.tree.n_internal)
            if first[node] != node and first[parent[node]] != first[node]]
        nodes = [node for node in np.unique(first[is_below_another]).tolist()
                 if not self._is_of_one_column(node)]
        names = (name for k in count(1) if (name := f"sum_{k}") not in self.column_names)
        return dict(zip(nodes, names, strict=False))

    def _is_of_one_column(self, node):
        """Return whether the condition of a node names a column, and thus no sum."""
        features = np.flatnonzero(self.tree.dense_weights([node])[0])
        return number_of(self, features) is not None or category_rule_of(self, node) is not None

    @property
    def prediction_columns(self):
        """Names of the outputs of `node_predictions` as columns of a data frame, list of str."""
        if self.class_names is not None:
            return [f"probability_{name}" for name in self.class_names]
        if self.tree.n_outputs == 1:
            return ["prediction"]
        return [f"prediction_{name}" for name in self.target_names or range(self.tree.n_outputs)]

    def is_number(self, feature):
        """Return whether a feature of the tree is a column of numbers."""
        return self.features[feature].kind == "number"

    def node_predictions(self):
        """Mean prediction for the samples of each node, by their weights: probabilities, or values.

        Returns
        -------
        ndarray of shape (n_internal + n_leaves, n_outputs)
            Nodes come first, then leaves. A linear leaf counts by the mean probabilities of its
            samples, or by its value at their mean. NaN where samples are not known, but for
            constant leaves.
        """
        tree, weights = self.tree, self.leaf_weights
        at_leaf = constant_predictions(tree) if self.summary is None else (
            self.summary.leaf_averages())
        if self.class_names is not None:
            at_leaf = softmax(at_leaf, axis=1)
            if self.summary is not None and tree.slopes is not None:
                is_linear = tree.slopes.any(axis=(1, 2))
                at_leaf[is_linear] = self.summary.probabilities[is_linear]
        if weights is None:
            return np.vstack([np.full((tree.n_internal, tree.n_outputs), np.nan), at_leaf])
        return node_means(tree, at_leaf, weights)

    def node_classes(self, means):
        """Index of the class that each node predicts.

        Parameters
        ----------
        means : ndarray of shape (n_internal + n_leaves, n_classes)
            As `node_predictions` returns them.

        Returns
        -------
        ndarray of int, shape (n_internal + n_leaves,)
            0 where the means are not known.
        """
        best, constant = means.argmax(axis=1), constant_predictions(self.tree)
        # Where values differ by rounding alone, the probabilities may be equal.
        is_constant = ~np.isnan(constant).any(axis=1)
        best[self.tree.n_internal:][is_constant] = constant[is_constant].argmax(axis=1)
        return best


def captions_of(model, *, feature_names=None, class_names=None, X=None):
    """The tree of a model, names of its features and classes, and a summary of its samples.

    Of a pipeline or a search, it is the tree of the last step. If the steps before it end with
    scalers, such as StandardScaler, the tree is in the units of the columns before these.

    Parameters
    ----------
    model : Tree or fitted estimator
    feature_names : sequence, default=None
        Names of the columns that the tree reads. None takes those that the other steps of a
        pipeline make, or ``feature_names_in_`` of the estimator, or else "x0", "x1" and so on.
    class_names : sequence, default=None
        None takes ``classes_`` of the estimator, or else "0", "1" and so on.
    X : array-like, data frame or CSR matrix of shape (n_samples, n_features), default=None
        Samples to summarize, as the model reads them. None takes the training samples of the
        estimator.

    Returns
    -------
    Captions
    """
    steps, model = unwrap(model)
    tree, table = tree_of(model), getattr(model, "_table", None)
    features = [Feature(j, "number") for j in range(tree.n_features)] if table is None else (
        table.features)
    n_columns = tree.n_features if table is None else len(table.names)
    if feature_names is None:
        feature_names = names_out(steps)
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(n_columns)])
    columns = _check_names("feature_names", feature_names, n_columns)
    names = [each.name(columns[each.column]) for each in features]
    classes = _class_names(model, tree, class_names)
    known = _known(model, tree)
    summary, counts = known if X is None else _summarize(
        tree, _encoded(steps, model, X), classes is not None)
    is_weighted = classes is not None and getattr(known[0], "leaf_weights", None) is not None
    targets = [*getattr(getattr(model, "_targets", None), "names", ())] or None
    captions = Captions(
        tree, names, features, columns, classes, targets, summary, counts, *_of_table(table),
        is_weighted)
    scale, offset = units_of(steps, n_columns)
    # Indicators have no units.
    is_number = np.array([each.kind == "number" for each in features])
    columns = [each.column for each in features]
    return _in_units(captions, np.where(is_number, scale[columns], 1.0),
                     np.where(is_number, offset[columns], 0.0))


def leaves_and_samples(model, X):
    """The leaf of each sample, and the samples as the tree reads them.

    Parameters
    ----------
    model : Tree or fitted estimator
    X : array-like, data frame or CSR matrix of shape (n_samples, n_features)

    Returns
    -------
    leaf : ndarray of int32, shape (n_samples,)
    X : ndarray or CSR matrix
    """
    steps, model = unwrap(model)
    X = _encoded(steps, model, X)
    tree = tree_of(model)
    return tree.apply_samples(tree.samples_of(X)), X


def _encoded(steps, model, X):
    """Samples as the tree reads them, after the other steps of a pipeline."""
    for step in steps:
        X = step.transform(X)
    return model.encode(X) if hasattr(model, "encode") else check_matrix(X)


def tree_of(model):
    """The tree of a `Tree` or of a fitted ngdt estimator."""
    if isinstance(model, Tree):
        return model
    if hasattr(model, "fit"):
        check_is_fitted(model)
    if hasattr(model, "estimators_"):
        raise TypeError(f"model must be a single tree, got {type(model).__name__}: pass one of "
                        "its trees, such as estimators_[0]")
    if hasattr(model, "as_tree"):
        raise TypeError(
            f"model must have splits of columns, got a {type(model).__name__}, whose splits are "
            "networks: its as_tree() gives the features and a Tree that splits them")
    tree = getattr(model, "tree_", None)
    if not isinstance(tree, Tree):
        hint = (": convert it by Tree.from_sklearn first" if tree is not None else
                ": pass its estimator_" if hasattr(model, "estimator_") else "")
        raise TypeError("model must be a Tree or a fitted ngdt estimator, not a model that holds "
                        f"one, got {type(model).__name__}{hint}")
    return tree


def _of_table(table):
    """Values for missing numbers, and for unknown categories of training; features for bools."""
    if table is None:
        return {}, {}, frozenset()
    # Of a column without an indicator, which tells nothing, a missing number is the mean.
    incomplete = np.isin(table.numeric, table.incomplete)
    incomplete[table.gaps] = True
    few = {j for j, each in zip(table.categorical, table.categories, strict=True) if each.few}
    return ({int(k): float(table.fill[k]) for k in np.flatnonzero(incomplete)},
            {k: each.fill for k, each in enumerate(table.features)
             if each.column in few and each.fill},
            frozenset(np.flatnonzero(np.isin(table.numeric, table.booleans)).tolist()))


def _class_names(model, tree, names):
    if tree.n_outputs == 1 if model is tree else is_regressor(model):
        return None
    if names is None:
        names = getattr(model, "classes_", range(tree.n_outputs))
    return _check_names("class_names", names, tree.n_outputs)


def _known(model, tree):
    """Summary and counts of the training samples; None and None if they are not known."""
    summary = getattr(model, "_sample_summary", None)
    # tree_ may have been replaced since.
    is_known = summary is not None and summary.tree is tree
    return (summary, model.n_node_samples_) if is_known else (None, None)


def _summarize(tree, X, is_classifier):
    data = tree.samples_of(X)
    samples = np.arange(data.n_samples, dtype=np.int32)
    n_samples_at_leaf = np.bincount(tree.apply_samples(data), minlength=tree.n_leaves)
    moments = Moments.of(X, np.ones(data.n_samples))
    summary = SampleSummary.of(tree, X, data, samples, moments, is_classifier)
    return summary, sums_below(tree, n_samples_at_leaf).astype(np.intp)


def _check_names(parameter, names, count):
    if np.shape(names) != (count,):
        raise ValueError(f"{parameter} must be a sequence of {count} names, got {names!r}")
    return [str(name) for name in names]


def _in_units(captions, scale, offset):
    """Captions in other units, where a number z of a feature is ``scale * z + offset``.

    The tree is the same function up to rounding. Scales are positive.
    """
    if np.all(scale == 1.0) and not offset.any():
        return captions
    before = captions.tree
    shift = offset / scale
    weights = before.weights @ sparse.diags_array(1.0 / scale)
    slopes = before.slopes
    tree = before.replace(
        weights=sparse.csr_array(weights) if sparse.issparse(weights) else weights,
        thresholds=before.thresholds + before.weights @ shift,
        **({} if slopes is None else {
            "slopes": slopes / scale, "values": before.values - slopes @ shift,
            "ranges": before.ranges}))
    summary = captions.summary
    if summary is not None:
        summary = _summary_in_units(summary, tree, scale, offset)
    fill = {j: float(scale[j] * value + offset[j]) for j, value in captions.fill.items()}
    return replace(captions, tree=tree, summary=summary, fill=fill)


def _summary_in_units(summary, tree, scale, offset):
    column, weight = single_features(summary.tree)
    is_single = column >= 0     # the products are then the values of the feature
    weights, zero = sparse.csr_array(summary.tree.weights), offset / scale
    unit = np.where(is_single, scale[column], 1.0)
    shift = np.where(is_single, np.sign(weight) * offset[column], weights @ zero)
    ends = unit * [summary.left, summary.right]
    size = np.abs(np.where(np.isfinite(ends), ends, 0.0)).max(axis=0) + np.where(
        is_single, np.abs(shift), abs(weights) @ np.abs(zero))
    # Ends of the gaps between samples, less what rounding may have moved samples by.
    error = np.minimum(_ROUNDING * size, (ends[1] - ends[0]) / 4)
    left, right = ends + shift + [error, -error]
    means = summary.leaf_means
    return replace(
        summary, tree=tree, left=left, right=right, std=scale * summary.std,
        mean=scale * summary.mean + offset, low=scale * summary.low + offset,
        high=scale * summary.high + offset,
        leaf_means=None if means is None else scale * means + offset)
