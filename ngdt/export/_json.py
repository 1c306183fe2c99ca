"""Models as JSON."""

import json
from dataclasses import asdict
from itertools import pairwise

from scipy import sparse

from ngdt.export._encoded_columns import NONE, UNKNOWN, NumberColumn
from ngdt.export._model import ExportedModel


def export_json(model, *, feature_names=None):
    """Export a tree or a forest as JSON, with all that a prediction needs.

    No number is rounded: Python writes the shortest decimal that is read as the same float64.

    Parameters
    ----------
    model : Tree or fitted estimator
    feature_names : sequence of str, default=None
        Names of the columns of X. None takes ``feature_names_in_`` of the estimator, or else "x0",
        "x1" and so on.

    Returns
    -------
    str

    Raises
    ------
    TypeError
        If a class label or a category is neither string, number nor bool.
    ValueError
        If the model is a pipeline whose other steps transform the columns, or if a category is
        infinite.

    Notes
    -----
    The document is an object with these members:

    ``format``, ``version``
        ``"ngdt"`` and ``2``. The version grows when a reader of the old one would go wrong.
    ``task``
        ``"classification"``, ``"regression"``, or null for a `Tree`.
    ``classes``
        The labels, in the order of the leaf values; null if leaf values are predictions.
    ``targets``
        Names of several targets, in the order of the leaf values; null if they are not known.
    ``columns``
        Encoding of each column of the table as features. For a column of numbers: ``name``, the
        index ``feature`` of the number, ``fill``, the value of a missing one (null if none may be
        missing), and ``gap``, the index of the feature that is 1 where it is missing, or null. For
        a column of categories: ``name``, ``categories``, pairs of a category and the index of the
        feature that is 1 for it (null if none is), and for ``missing`` and all ``other``
        categories, pairs of a feature and its value. All other features of the column are 0.
    ``features``
        Names of the features of the trees.
    ``trees``
        Objects with two members, ``nodes`` and ``leaves``. A forest averages the predictions of
        its trees, for classification their probabilities.

    ``nodes`` has ``weights``, one object for each node with the ``indices`` and ``values`` of the
    features that it weighs, ``thresholds``, ``left`` and ``right``. Node 0 is the root, unless the
    tree is a single leaf. A sample goes right where the weighted sum exceeds the threshold, else
    left. A child ``c >= 0`` is a node, and a negative one the leaf ``-1 - c``.

    ``leaves`` has ``values``, a row for each leaf: predictions, or for classification unnormalized
    log-probabilities. Where the leaves are linear, ``slopes`` has an object as in ``weights``
    for each leaf and output; the weighted sum is added to the value, and the result is cut at the
    pair of limits in ``ranges``. Else, both are null; ``ranges`` may be null, too.

    Examples
    --------
    >>> from ngdt import Tree
    >>> from ngdt.export import export_json
    >>> text = export_json(Tree([[0.0, 2.0]], [1.0], [~0], [~1], [[0.0], [1.0]]))
    >>> text[:60]
    '{"format": "ngdt", "version": 2, "task": null, "classes": nu'
    """
    exported = ExportedModel(model, feature_names)
    document = {
        "format": "ngdt", "version": 2, "task": exported.task, "classes": exported.classes,
        "targets": exported.target_names,
        "columns": [_column_object(column) for column in exported.columns],
        "features": exported.feature_names,
        "trees": [_tree_object(tree) for tree in exported.trees]}
    try:
        return json.dumps(document, allow_nan=False)
    except TypeError as error:
        raise TypeError(
            "model has classes or categories that JSON cannot hold: train it with strings, numbers "
            f"or bools ({error})") from error


def _column_object(column):
    if isinstance(column, NumberColumn):
        return asdict(column)

    def pairs(place):
        return [[*pair] for pair in column.values_at(place).items()]

    return {
        "name": column.name, "missing": pairs(column.missing_place), "other": pairs(UNKNOWN),
        "categories": [[category, None if place == NONE else column.first + place]
                       for category, place in column.places.items()]}


def _tree_object(tree):
    nodes = {
        "left": tree.children_left.tolist(), "right": tree.children_right.tolist(),
        "thresholds": tree.thresholds.tolist(), "weights": _sparse_rows(tree.sparsify().weights)}
    leaves = {"values": tree.values.tolist(), "slopes": None, "ranges": None}
    if tree.slopes is not None:
        slopes = _sparse_rows(sparse.csr_array(tree.slopes.reshape(-1, tree.n_features)))
        k = tree.n_outputs
        leaves["slopes"] = [slopes[first:first + k] for first in range(0, len(slopes), k)]
    if tree.ranges is not None:
        leaves["ranges"] = tree.ranges.tolist()
    return {"nodes": nodes, "leaves": leaves}


def _sparse_rows(matrix):
    """The rows of a CSR matrix as columns and values."""
    indices, values = matrix.indices.tolist(), matrix.data.tolist()
    return [{"indices": indices[first:last], "values": values[first:last]}
            for first, last in pairwise(matrix.indptr.tolist())]
