"""Numbers of a model as arrays of C."""

import numpy as np
from scipy.special import softmax

from ngdt._core.structure import finite_ranges
from ngdt._core.tree_arrays import SPARSE_SHARE
from ngdt.export._model import leaf_values, rounded
from ngdt.export._parts import check_writable

TYPES = {"double": np.float64, "float": np.float32}
_PER_LINE = 8       # numbers


class CData:
    """Arrays of all trees, one after the other; the ids of nodes and leaves count over all trees.

    The rows of weights belong to all nodes, then to the linear leaves, one for each output.

    Parameters
    ----------
    model : ExportedModel
    name : str
        Prefix of the names.
    dtype : {"double", "float"}

    Attributes
    ----------
    thresholds : ndarray of shape (n_nodes,)
    has_dense, has_sparse : bool
        Whether there are rows of the weights of all features, and of those that are not zero.
    has_slopes : bool
        Whether there are linear leaves.
    """

    def __init__(self, model, name, dtype):
        self._name, self._dtype = name, dtype
        self._weights, self._columns, self._rows = [], [], []
        self.has_dense = self.has_sparse = False
        self._children, self._roots, self._values, self._slopes, self._ranges = [], [], [], [], []
        self.thresholds = np.concatenate([tree.thresholds for tree in model.trees])
        first_node = first_leaf = 0
        for tree in model.trees:
            self._add_nodes(tree, first_node, first_leaf)
            first_node, first_leaf = first_node + tree.n_internal, first_leaf + tree.n_leaves
        for tree in model.trees:
            self._add_leaves(tree, model.averages_probabilities)
        self.has_slopes = len(self._rows) > len(self.thresholds)
        # A tree without rows has the code for sparse ones, which is shorter.
        self.has_sparse |= not self.has_dense

    def _add_nodes(self, tree, first_node, first_leaf):
        children = np.stack([tree.children_left, tree.children_right], axis=1)
        moved = np.where(children < 0, children - first_leaf, children + first_node)
        self._children += map(_braces, moved.tolist())
        self._roots.append(first_node if tree.n_internal else ~first_leaf)
        for node in range(tree.n_internal):
            self._add_row(tree.dense_weights([node])[0])

    def _add_row(self, weights):
        (columns,) = np.nonzero(weights)
        is_sparse = len(columns) <= SPARSE_SHARE * len(weights)
        if is_sparse:
            weights = weights[columns]
        self.has_dense |= not is_sparse
        self.has_sparse |= is_sparse
        first_column = len(self._columns) if is_sparse else -1
        self._rows.append(_braces((len(weights), len(self._weights), first_column)))
        self._weights += self._numbers(weights)
        self._columns += map(str, columns.tolist() * is_sparse)

    def _add_leaves(self, tree, as_probabilities):
        values, is_linear = leaf_values(tree)
        ranges = finite_ranges(tree, TYPES[self._dtype])
        if as_probabilities:
            values = np.where(is_linear[:, None], values, softmax(values, axis=1))
        self._values += (_braces(self._numbers(row)) for row in values)
        for leaf, linear in enumerate(is_linear):
            self._slopes.append(str(len(self._rows)) if linear else "-1")
            for output in range(tree.n_outputs * linear):
                self._add_row(tree.slopes[leaf, output])
                self._ranges.append(_braces(self._numbers(ranges[leaf, output])))

    def _numbers(self, values):
        return literals(values, self._dtype)

    def text(self):
        """The definitions of all arrays that a prediction reads."""
        real, width = f"{self._name}_real", f"[{self._name}_n_outputs]"
        arrays = [
            (real, "weights", "", self._weights),
            *[("int", "columns", "", self._columns)] * self.has_sparse,
            (f"struct {self._name}_row", "rows", "", self._rows),
            (real, "thresholds", "", self._numbers(self.thresholds)),
            ("int", "children", "[2]", self._children),
            ("int", "roots", "", map(str, self._roots)), (real, "values", width, self._values)]
        if self.has_slopes:
            arrays += [("int", "slopes", "", self._slopes), (real, "ranges", "[2]", self._ranges)]
        return "\n" + "".join(
            definition(type_, f"{self._name}_{array}", width, items)
            for type_, array, width, items in arrays)

    def labels(self, classes):
        """The definition of the array of the labels."""
        texts = [*map(str, classes)]
        for text in texts:
            check_writable(text, "C")
        labels = ",\n    ".join(map(string, texts))
        return f"\nconst char *const {self._name}_classes[] = {{\n    {labels}}};\n"


def _braces(items):
    return f"{{{', '.join(map(str, items))}}}"


def definition(type_, name, width, items):
    """The definition of an array.

    Parameters
    ----------
    type_, name : str
    width : str
        What follows the first length.
    items : iterable of str
        Literals.

    Returns
    -------
    str
    """
    items = list(items) or ["{0}" if width or type_.startswith("struct") else "0"]
    lines = [
        ", ".join(items[first:first + _PER_LINE]) for first in range(0, len(items), _PER_LINE)]
    text = ",\n    ".join(lines)
    return f"static const {type_} {name}[]{width} = {{\n    {text}}};\n"


def literals(values, dtype):
    """Numbers as literals of C, without rounding."""
    suffix = "f" if dtype == "float" else ""
    return [f"{number}{suffix}" for number in rounded(values, TYPES[dtype])]


def string(text):
    """String literal; all but letters, digits and some signs are octal codes of UTF-8."""
    is_plain = set(b" _-+.,:;=()<>") | {byte for byte in range(128) if chr(byte).isalnum()}
    return '"' + "".join(
        chr(byte) if byte in is_plain else f"\\{byte:03o}"
        for byte in text.encode("utf-8", "surrogatepass")) + '"'
