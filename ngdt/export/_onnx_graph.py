"""The ONNX graph of a model: scores of all nodes, then leaves, then predictions.

The operators mean the same from opset 13 on.
"""

from collections import defaultdict

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from ngdt._core.structure import child_ids, finite_ranges
from ngdt._inspection.rules import exact_limit
from ngdt.export._encoded_columns import UNKNOWN, CategoryColumn
from ngdt.export._model import leaf_values, rounded
from ngdt.export._parts import check_writable

ML = "ai.onnx.ml"
PREFIX = "ngdt_"
TYPES = {"float": (np.float32, TensorProto.FLOAT), "double": (np.float64, TensorProto.DOUBLE)}


class GraphBuilder:
    """Builder of a graph with the operators of a model.

    Parameters
    ----------
    model : ExportedModel
    dtype : {"float", "double"}
    prefix : str, default="ngdt_"
        Of all names within the graph.

    Attributes
    ----------
    nodes : list of NodeProto
    constants : list of TensorProto
    """

    def __init__(self, model, dtype, prefix=PREFIX):
        self.nodes, self.constants = [], []
        self._model, self._prefix = model, prefix
        self._numpy_type, self._type = TYPES[dtype]

    def encode(self, inputs):
        """The features of the trees.

        Parameters
        ----------
        inputs : list of str
            One of the columns of a table with categories each, or one of all numbers.
        """
        columns = self._model.columns
        if not self._model.has_categories:
            return self._filled(*inputs, columns)
        named = list(zip(inputs, columns, strict=True))
        parts = [self._category(x, column) for x, column in named
                 if isinstance(column, CategoryColumn)]
        if len(parts) < len(named):
            names, columns = zip(
                *(each for each in named if not isinstance(each[1], CategoryColumn)), strict=True)
            parts.insert(0, self._filled(self._concatenated(names), columns))
        return self._concatenated(parts)

    def _filled(self, x, columns):
        """Numbers, with values for gaps, and indicators of gaps."""
        if all(column.fill is None for column in columns):
            return x
        is_gap = self._add("IsNaN", [x])
        fill = self._numbers(np.array([column.fill for column in columns]))
        filled = self._add("Where", [is_gap, fill, x])
        gaps = np.array(
            [j for j, column in enumerate(columns) if column.gap is not None], dtype=np.int64)
        if not len(gaps):
            return filled
        indicators = self._add("Gather", [is_gap, self._constant(gaps)], axis=1)
        return self._add(
            "Concat", [filled, self._add("Cast", [indicators], to=self._type)], axis=1)

    def _category(self, x, column):
        """Features of a column of categories, of shape (n_samples, n_features of the column).

        They are rows of a matrix: those of unknown categories, of categories without a feature, and
        of the others in the order of their features.
        """
        row = (self._row_of_text if column.is_text else self._row_of_number)(x, column)
        n_features = len(column.unknown)
        rows = np.vstack([column.unknown, np.zeros(n_features), np.eye(n_features)])
        found = self._add("Gather", [self._numbers(rows), row], axis=0)
        return self._add("Reshape", [found, self._constant(np.array([-1, n_features]))])

    def _row_of_text(self, x, column):
        """Row of each string; an empty one is missing if it is no category."""
        places = {"": column.missing_place} | column.places
        if "" in (*column.places, *column.few) and column.missing_place != UNKNOWN:
            raise ValueError(
                f"model has the category '' and missing values in column {column.name!r}, which "
                "ONNX cannot tell apart: give the category another name, and train again")
        for category in places:
            check_writable(category, "ONNX")
        return self._add(
            "LabelEncoder", [x], domain=ML, keys_strings=list(places), default_int64=0,
            values_int64s=[place - UNKNOWN for place in places.values()])

    def _row_of_number(self, x, column):
        places = column.doubles() or {np.nan: UNKNOWN}
        is_category = self._add("Equal", [x, self._constant(np.array(list(places)))])
        # The sum of the rows of all that are equal, one or none.
        rows = np.array(list(places.values()), dtype=np.float32)[:, None] - UNKNOWN
        found = self._add(
            "MatMul", [self._add("Cast", [is_category], to=TensorProto.FLOAT),
                       self._constant(rows)])
        missing = self._constant(np.array([column.missing_place - UNKNOWN]))
        row = self._add("Cast", [found], to=TensorProto.INT64)
        return self._add("Where", [self._add("IsNaN", [x]), missing, row])

    def _concatenated(self, parts):
        return parts[0] if len(parts) == 1 else self._add("Concat", parts, axis=1)

    def values(self, x):
        """Leaf values for features, of shape (n_samples, n_trees, n_outputs)."""
        leaves = self._leaves(x)
        trees = self._model.trees
        found = [leaf_values(tree) for tree in trees]
        values = self._numbers(np.concatenate([each for each, _ in found]))
        if not any(is_linear.any() for _, is_linear in found):
            return self._add("Gather", [values, leaves], axis=0)
        # Predictions by all leaves: (n_samples, n_leaves, n_outputs).
        k, p = self._model.n_outputs, self._model.n_features
        slopes = np.concatenate([
            np.zeros((tree.n_leaves, k, p)) if tree.slopes is None else tree.slopes
            for tree in trees]).reshape(-1, p)
        products = self._add("MatMul", [x, self._numbers(slopes.T)])
        shape = self._constant(np.array([-1, len(slopes) // k, k]))
        linear = self._add("Add", [self._add("Reshape", [products, shape]), values])
        low, high = np.moveaxis(np.concatenate([
            finite_ranges(tree, self._numpy_type) for tree in trees]), 2, 0)
        linear = self._add("Max", [linear, self._numbers(low)])
        linear = self._add("Min", [linear, self._numbers(high)])
        indices = self._add("Unsqueeze", [leaves, self._constant(np.array([2]))])
        return self._add("GatherND", [linear, indices], batch_dims=1)

    def mean(self, values):
        """The mean over the trees, of shape (n_samples, n_outputs)."""
        total = self._add("ReduceSum", [values, self._constant(np.array([1]))], keepdims=0)
        return self._add("Mul", [total, self._numbers(np.array([1 / len(self._model.trees)]))])

    def predict(self, inputs, outputs):
        """Write predictions or, for classes, labels and probabilities.

        Parameters
        ----------
        inputs : list of str
            As for `encode`.
        outputs : list of str
            One, or two for classes.
        """
        values = self.values(self.encode(inputs))
        if self._model.classes is None:
            self._add("Identity", [self.mean(values)], *outputs)
            return
        label, probabilities = outputs
        mean = self.mean(self._add("Softmax", [values], axis=2))
        # Different logits may have the same probability.
        scores = mean if self._model.is_forest else self.mean(values)
        best = self._add("ArgMax", [scores], axis=1, keepdims=0)
        self._add("Gather", [self._labels(), best], label, axis=0)
        self._add("Identity", [mean], probabilities)

    def _leaves(self, x):
        """Leaf that each sample reaches in each tree, counted over all trees."""
        weights, thresholds = self._splits()
        scores = self._add("Gemm", [x, self._numbers(weights), self._constant(-thresholds)],
                           transB=1)
        goes_right = self._add("Greater", [scores, self._numbers(np.zeros(1))])
        decisions = self._add("Cast", [goes_right], to=TensorProto.FLOAT)
        leaves = self._add(
            "TreeEnsembleRegressor", [decisions], domain=ML, aggregate_function="SUM",
            post_transform="NONE", n_targets=len(self._model.trees),
            **_ensemble(self._model.trees))
        return self._add("Cast", [leaves], to=TensorProto.INT64)

    def _splits(self):
        """Weights and thresholds of all nodes; splits on one feature decide without rounding.

        A limit of one feature that is below all numbers of the type is minus infinity.
        """
        trees = self._model.trees
        weights = np.concatenate([tree.dense_weights() for tree in trees])
        limits = np.concatenate([tree.thresholds for tree in trees])
        if not len(weights):        # Gemm needs a node
            weights, limits = np.zeros((1, self._model.n_features)), np.zeros(1)
        for node in np.flatnonzero(np.count_nonzero(weights, axis=1) == 1):
            (feature,) = np.flatnonzero(weights[node])
            limit = exact_limit(abs(weights[node, feature]), limits[node])
            if limit is not None:
                weights[node] = np.sign(weights[node])
                limits[node] = _rounded_down(limit, self._numpy_type)
        return weights, rounded(limits, self._numpy_type)

    def _labels(self):
        """The labels, as strings or as int64."""
        classes = self._model.classes
        if all(isinstance(label, str) for label in classes):
            for label in classes:
                check_writable(label, "ONNX")
            return self._constant(np.array(classes, dtype=object))
        if all(isinstance(label, int | float) and label == int(label)
               and label <= np.iinfo(np.int64).max for label in classes):
            return self._constant(np.array(classes).astype(np.int64))
        raise TypeError(
            f"model has the classes {classes}, but labels of ONNX are all strings or all integers "
            "of 64 bits: convert the labels to strings, and train anew")

    def _numbers(self, array):
        return self._constant(rounded(array, self._numpy_type))

    def _constant(self, array):
        name = f"{self._prefix}c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def _add(self, operator, inputs, output=None, domain="", **attributes):
        """Add a node and return the name of its output."""
        output = output or f"{self._prefix}v{len(self.nodes)}"
        self.nodes.append(helper.make_node(
            operator, inputs, [output], f"{self._prefix}n{len(self.nodes)}", domain=domain,
            **attributes))
        return output


def inputs_of(model, dtype, outputs):
    """Inputs of a model: X or, for a table with categories, one for each column.

    Parameters
    ----------
    model : ExportedModel
    dtype : {"float", "double"}
    outputs : list of str
        Names that the inputs must not have.

    Returns
    -------
    list of ValueInfoProto
    """
    columns, taken, inputs = model.columns, {"", *outputs}, []
    if not model.has_categories:
        return [helper.make_tensor_value_info("X", TYPES[dtype][1], [None, len(columns)])]
    names = {column.name for column in columns}
    for column in columns:
        name = column.name
        check_writable(name, "ONNX")
        while name in taken or name.startswith(PREFIX) or (name != column.name and name in names):
            name = f"_{name}"
        taken.add(name)
        type_ = TYPES[dtype][1]
        if isinstance(column, CategoryColumn):
            type_ = TensorProto.STRING if column.is_text else TensorProto.DOUBLE
        inputs.append(helper.make_tensor_value_info(name, type_, [None, 1]))
    return inputs


def _rounded_down(value, dtype):
    with np.errstate(over="ignore"):
        nearest = dtype(value)
    return nearest if nearest <= value else np.nextafter(nearest, dtype(-np.inf))


def _ensemble(trees):
    """Attributes of an operator that finds the leaf of each tree from decisions, 0 or 1."""
    found = defaultdict(list)
    first_node = first_leaf = 0
    for t, tree in enumerate(trees):
        m, n = tree.n_internal, tree.n_leaves
        left, right = child_ids(tree).T.tolist()
        for name, values in {
                "nodes_treeids": [t] * (m + n), "nodes_nodeids": range(m + n),
                "nodes_featureids": [*range(first_node, first_node + m), *[0] * n],
                "nodes_values": [0.5] * m + [0.0] * n,
                "nodes_modes": ["BRANCH_LEQ"] * m + ["LEAF"] * n,
                "nodes_truenodeids": left + [0] * n, "nodes_falsenodeids": right + [0] * n,
                "target_treeids": [t] * n, "target_nodeids": range(m, m + n),
                "target_ids": [t] * n,
                "target_weights": map(float, range(first_leaf, first_leaf + n))}.items():
            found[name] += values
        first_node, first_leaf = first_node + m, first_leaf + n
    return found
