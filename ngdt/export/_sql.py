"""Trees as SQL."""

import numpy as np

from ngdt.export._characters import check_writable
from ngdt.export._encoded_columns import NumberColumn, encoded_columns
from ngdt.export._model import exported_model, leaf_values
from ngdt.export._sql_terms import any_missing, condition, literal, quoted, weighted_sum
from ngdt.export._traversal import traverse


def export_sql(model, *, table="data", prediction="prediction", columns=(), feature_names=None):
    """Export a tree as an SQL query that predicts for each row of a table.

    The query has one ``CASE`` for each split. It reads the columns that the model was trained on,
    categories included. ``NULL`` is a missing value, and goes where the tree sends one. A
    `Tree` has no way for missing values: its prediction is ``NULL`` where a column that it uses is
    ``NULL``.

    Parameters
    ----------
    model : Tree or fitted estimator of a single tree
    table : str, default="data"
        Name of the table.
    prediction : str, default="prediction"
        Name of the column of predictions: the most probable class, or the predicted number. For
        several targets, it is the beginning of their names, as in "prediction_0".
    columns : sequence of str, default=()
        Columns of the table that the result has beside it, such as a key.
    feature_names : sequence of str, default=None
        Names of the columns of X in the table. None takes ``feature_names_in_`` of the estimator,
        or else "x0", "x1" and so on.

    Returns
    -------
    str
        A ``SELECT`` without a semicolon. Names are quoted by ``"``, as in standard SQL.

    Raises
    ------
    TypeError
        If the model is a forest, or a class or category is neither string, number nor bool.
    ValueError
        If the model is a pipeline whose other steps transform the columns, or a name or a label
        holds a null character or a surrogate.

    Notes
    -----
    A split on a single column takes the same decision as the tree for each float64. The weighted
    sums of others are added in the order of the columns. A row so near to a threshold that rounding
    decides may go another way, also where the database reads numbers as decimals, not as float64.

    Examples
    --------
    >>> from ngdt import Tree
    >>> from ngdt.export import export_sql
    >>> tree = Tree([[0.0, 2.0]], [1.0], [~0], [~1], [[0.0], [1.0]])
    >>> print(export_sql(tree, feature_names=["age", "income"], columns=["id"]))
    SELECT
        "id",
        CASE WHEN "income" IS NULL THEN NULL ELSE
        CASE WHEN "income" <= 0.5 THEN
            0.0
        ELSE
            1.0
        END
        END AS "prediction"
    FROM "data"
    """
    exported = exported_model(model, feature_names)
    if exported.is_forest:
        raise TypeError(
            "model must be a single tree, got a forest: pass one of its estimators_, or use "
            "export_c, export_json or export_onnx")
    (tree,) = exported.trees
    writer = _Writer(tree, encoded_columns(exported))
    if exported.classes is not None:
        leaves = {prediction: lambda leaf: writer.label(leaf, exported.classes)}
    else:
        k = tree.n_outputs
        leaves = {
            prediction if k == 1 else f"{prediction}_{output}":
                lambda leaf, output=output: writer.value(leaf, output) for output in range(k)}
    lines = [f"    {quoted(column)}" for column in columns]
    lines += [f"{writer.case(leaf)} AS {quoted(name)}" for name, leaf in leaves.items()]
    selected = ",\n".join(lines)
    query = f"SELECT\n{selected}\nFROM {quoted(table)}"
    check_writable(query, "SQL")
    return query


class _Writer:
    """Writer of the splits and leaves of a tree in terms of columns.

    Parameters
    ----------
    tree : Tree
    columns : list of NumberColumn or CategoryColumn
    """

    def __init__(self, tree, columns):
        self._tree, self._columns = tree, columns
        self._values, self._is_linear = leaf_values(tree)
        self._conditions = [
            condition(columns, tree.dense_weights([node])[0], float(tree.thresholds[node]))
            for node in range(tree.n_internal)]

    def case(self, leaf):
        """Nested ``CASE`` expression; the function `leaf` writes the values of leaves."""
        lines = []
        right_first = [node for node, (_, is_left) in enumerate(self._conditions) if not is_left]
        for type_, item, depth in traverse(self._tree, right_first=frozenset(right_first)):
            text = {"else": "ELSE", "end": "END"}.get(type_)
            if type_ == "split":
                text = f"CASE WHEN {self._conditions[item][0]} THEN"
            elif type_ == "leaf":
                text = leaf(item)
            lines.append("    " * (depth + 1) + text)
        never_missing = self._never_missing()
        if never_missing:
            lines = [
                f"    CASE WHEN {any_missing(never_missing)} THEN NULL ELSE", *lines, "    END"]
        return "\n".join(lines)

    def value(self, leaf, output):
        """Prediction of a leaf for an output."""
        value, tree = self._values[leaf, output], self._tree
        if not self._is_linear[leaf]:
            return literal(value)
        formula = weighted_sum(self._columns, tree.slopes[leaf, output], value)
        if tree.ranges is None:
            return formula
        low, high = map(literal, tree.ranges[leaf, output])
        return (f"CASE WHEN {formula} < {low} THEN {low} WHEN {formula} > {high} THEN {high} "
                f"ELSE {formula} END")

    def label(self, leaf, classes):
        """The most probable class of a leaf."""
        if not self._is_linear[leaf]:
            return literal(classes[self._values[leaf].argmax()])
        values = [self.value(leaf, output) for output in range(len(classes))]
        # The first class that none of the later ones exceeds.
        cases = [
            "WHEN " + " AND ".join(f"{value} >= {later}" for later in values[k + 1:])
            + f" THEN {literal(classes[k])}" for k, value in enumerate(values[:-1])]
        last = literal(classes[-1])
        return f"CASE {' '.join(cases)} ELSE {last} END" if cases else last

    def _never_missing(self):
        """Names of the columns that the tree uses and that must not have missing values."""
        tree = self._tree
        used = tree.sparsify().weights.indices.tolist()
        if tree.slopes is not None:
            used += np.flatnonzero(tree.slopes.any(axis=(0, 1))).tolist()
        used = set(used)
        return [column.name for column in self._columns
                if isinstance(column, NumberColumn) and column.fill is None
                and column.feature in used]
