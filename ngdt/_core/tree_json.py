"""Trees as JSON: plain objects of lists and numbers, in which nothing is rounded.

Python writes the shortest decimal that is read as the same float64.
"""

import json
from operator import index

import numpy as np
from scipy import sparse

from ngdt._util.validation import error_prefix

FORMAT, VERSION = "ngdt", 2


def tree_object(tree):
    """A tree as an object of lists and numbers: the schema is in `ngdt.export.export_json`.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    dict
    """
    rows = tree.sparsify().weights
    nodes = {
        "left": tree.children_left.tolist(), "right": tree.children_right.tolist(),
        "thresholds": tree.thresholds.tolist(), "weights": _sparse_rows(rows)}
    leaves = {"values": tree.values.tolist(), "slopes": None, "ranges": None}
    if tree.slopes is not None:
        slopes = _sparse_rows(sparse.csr_array(tree.slopes.reshape(-1, tree.n_features)))
        k = tree.n_outputs
        leaves["slopes"] = [slopes[first:first + k] for first in range(0, len(slopes), k)]
    if tree.ranges is not None:
        leaves["ranges"] = tree.ranges.tolist()
    return {"nodes": nodes, "leaves": leaves}


def read_tree(make, text, number=None):
    """A tree of a JSON document.

    Parameters
    ----------
    make : callable
        Takes the arguments of `Tree`, and checks them.
    text : str or bytes
    number : int or None
        Index of the tree. None stands for the only one.

    Returns
    -------
    Tree

    Raises
    ------
    ValueError
        If the text is no such document, or of a newer version.
    """
    document = _document(text)
    with error_prefix("text"):
        n_features = len(_get(document, "features", list))
        trees = _get(document, "trees", list)
        if number is None and len(trees) != 1:
            raise ValueError(f"it holds {len(trees)} trees: choose one of them by `number`")
        number = 0 if number is None else index(number)
        if not 0 <= number < len(trees):
            raise ValueError(f"it holds {len(trees)} trees, and none is number {number}")
        try:
            return make(*_arguments(trees[number], n_features))
        except TypeError as error:
            raise ValueError(error) from error


def _document(text):
    """The object that a text holds, if it is one of ours."""
    if not isinstance(text, str | bytes):
        raise TypeError(f"text must be str or bytes, got {type(text).__name__}")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"text is no JSON: {error}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f'text is no tree of export_json: it has no "format": "{FORMAT}"')
    version = document.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise ValueError(
            f"text has version {version!r} of the format, but this version of ngdt reads "
            f"versions up to {VERSION}: use the ngdt that wrote it, or a newer one")
    return document


def _get(parent, key, kind):
    """Value of an object under a key."""
    if not isinstance(parent, dict) or not isinstance(parent.get(key), kind):
        raise ValueError(f'"{key}" must be there, and be a JSON {_KINDS[kind]}')
    return parent[key]


_KINDS = {dict: "object", list: "array"}


def _arguments(tree, n_features):
    nodes, leaves = _get(tree, "nodes", dict), _get(tree, "leaves", dict)
    thresholds = _numbers(nodes, "thresholds", 1)
    values = _numbers(leaves, "values", 2)
    weights = _matrix("weights", _get(nodes, "weights", list), n_features)
    slopes = ranges = None
    if leaves.get("slopes") is not None:
        rows = [row for leaf in _get(leaves, "slopes", list) for row in leaf]
        slopes = _matrix("slopes", rows, n_features)
        if slopes.shape[0] != values.size:
            raise ValueError(f"slopes must have {values.size} rows, got {slopes.shape[0]}")
        slopes = slopes.toarray().reshape(*values.shape, n_features)
    if leaves.get("ranges") is not None:
        ranges = _numbers(leaves, "ranges", 3)
    return (weights, thresholds, _integers(nodes, "left"), _integers(nodes, "right"), values,
            slopes, ranges)


def _numbers(parent, key, ndim):
    with error_prefix(key):
        array = np.array(_get(parent, key, list))
    if array.size and array.dtype.kind not in "iuf":
        raise ValueError(f"{key} must hold numbers")
    shape = array.shape if array.size else (0,) * ndim
    if len(shape) != ndim:
        raise ValueError(f"{key} must be nested {ndim} deep, got {len(shape)}")
    return array.reshape(shape).astype(np.float64)


def _integers(parent, key):
    array = np.array(_get(parent, key, list))
    return array if array.size else np.empty(0, dtype=np.int32)


def _sparse_rows(matrix):
    """The rows of a CSR matrix as columns and values."""
    return [
        {"indices": matrix.indices[first:last].tolist(), "values": matrix.data[first:last].tolist()}
        for first, last in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)]


def _matrix(name, rows, n_features):
    """The CSR matrix of rows of columns and values."""
    indices = [_integers(row, "indices") for row in rows]
    values = [_numbers(row, "values", 1) for row in rows]
    if [each.shape for each in indices] != [each.shape for each in values]:
        raise ValueError(f"a row of {name} must have as many indices as values")
    columns = np.concatenate([np.empty(0, np.int64), *indices])
    if columns.dtype.kind not in "iu" or not (
            columns.min(initial=0) >= 0 and columns.max(initial=-1) < n_features):
        raise ValueError(f"indices of {name} must be whole numbers below {n_features}")
    ends = np.cumsum([0, *map(len, indices)])
    data = np.concatenate([np.empty(0), *values])
    return sparse.csr_array((data, columns, ends), shape=(len(rows), n_features))
