"""Trees as SQL."""

from collections import Counter
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from ngdt._core.structure import child_ids
from ngdt._inspection.importances import used_features
from ngdt._inspection.leaf_formulas import log_odds_tree
from ngdt.export._encoded_columns import NumberColumn
from ngdt.export._model import ExportedModel, leaf_values
from ngdt.export._parts import check_writable
from ngdt.export._sql_terms import condition, in_groups, literal, quoted, weighted_sum
from ngdt.pruning._equal import merge_same_leaves

# Databases refuse exponentials that are too large or too small for float64.
_MAX_EXPONENT = 700.0
# Levels of conditions in conditions up to which the left side comes first. SQLite may refuse 16.
_MAX_NESTED = 8


def export_sql(model, *, table="data", prediction="prediction", columns=(), feature_names=None,
               proba=False):
    """Export a tree as an SQL query that predicts for each row of a table.

    The query has one condition for each split; without probabilities, for each split that decides
    the class. A weighted sum of several splits is computed once, in a subquery. The query reads the
    columns that the model was trained on, categories included. ``NULL`` is a missing value. A
    `Tree` takes no missing values: its prediction is ``NULL`` if a column that it uses is ``NULL``.

    Parameters
    ----------
    model : Tree or fitted estimator of a single tree
    table : str, default="data"
        Name of the table. Periods separate it from its schema, as in "sales.people".
    prediction : str, default="prediction"
        Name of the column of predictions: the most probable class, or the predicted number. For
        several targets, it is the beginning of their names, as in "prediction_0" or, where y was
        a data frame, in "prediction_price".
    columns : sequence of str, default=()
        Columns of the table that the result has beside it, such as a key.
    feature_names : sequence of str, default=None
        Names of the columns of X in the table. None takes ``feature_names_in_`` of the estimator,
        or else "x0", "x1" and so on.
    proba : bool, default=False
        Whether the result has the probability of each class, too, as "probability_no" and
        "probability_yes". Linear leaves need the function ``EXP``.

    Returns
    -------
    str
        A ``SELECT`` without a semicolon. Names are quoted by ``"``, as in standard SQL.

    Raises
    ------
    TypeError
        If the model is a forest, `table` or `prediction` is no string, `columns` is no sequence, or
        a class or category is neither string, number nor bool.
    ValueError
        If the model is a pipeline whose other steps transform the columns, if it has no classes
        and `proba` is True, if two columns of the result would have one name, if a category is
        infinite, or if a name or a label holds a null character or a surrogate.

    Notes
    -----
    A split on a single column takes the same decision as the tree for each float64. Weighted sums
    are added in the order of the columns: a row so near to a threshold that rounding decides may go
    another way, also if the database reads numbers as decimals.

    Columns, and categories, may differ by upper and lower case alone. The query needs a database
    that tells these apart then: quoted names as in standard SQL, and a collation of texts that
    minds case, which is not the default of MySQL and SQL Server.

    SQLite takes a column that is called "true" or "false" for a constant where a query has a
    subquery, as one of linear leaves: rename it in the table, and give `feature_names`.

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
    exported = ExportedModel(model, feature_names)
    if exported.is_forest:
        raise TypeError(
            "model must be a single tree, got a forest: pass one of its estimators_, or use "
            "export_c, export_json or export_onnx")
    if proba and exported.classes is None:
        raise ValueError("proba must be False for a model that predicts numbers, got True")
    names = [prediction, *(columns if hasattr(columns, "__iter__") else [columns]),
             *(table.split(".") if isinstance(table, str) else [table])]
    if isinstance(columns, str) or not all(isinstance(name, str) and name for name in names):
        raise TypeError("table and prediction must be names, and columns a list of names, got "
                        f"{table!r}, {prediction!r} and {columns!r}")
    parts = [*map(quoted, table.split("."))]
    # SQLite takes no schema before the name of a column.
    (tree,), source = exported.trees, _Source(".".join(parts), parts[-1])
    writer = _Writer(tree, exported.columns)
    if exported.classes is None:
        (texts, source), k = _outputs(writer, source), tree.n_outputs
        names = [prediction] if k == 1 else [
            f"{prediction}_{name}" for name in exported.target_names or range(k)]
    else:
        texts, source = _of_classes(writer, exported.classes, source, proba)
        names = [prediction, *(f"probability_{label}" for label in exported.classes)]
    results = list(zip(names, texts, strict=False))
    selected = [*columns, *(name for name, _ in results)]
    for name in selected:
        if selected.count(name) > 1:
            raise ValueError(
                f"columns and prediction: the result would have two columns {name!r}. Choose "
                "another prediction, or leave it out of columns")
    query = _select(map(quoted, columns), results, source.text)
    check_writable(query, "SQL")
    return query


class _Source(NamedTuple):
    """A table or a subquery, and the name by which its columns are called."""

    text: str
    name: str


def _outputs(writer, source):
    """Expressions for the predictions of all outputs, and the source that has what they read.

    Limits of linear leaves are compared with columns of a subquery, which has each sum once.
    """
    tree, outputs = writer.tree, range(writer.tree.n_outputs)
    source = _with_sums(writer, source)
    is_limited, leaves = writer.has_formulas and tree.ranges is not None, range(tree.n_leaves)
    if not is_limited or tree.n_leaves == 1:
        cases = [writer.case(lambda leaf, output=output: writer.value(leaf, output))
                 for output in outputs]
        if not is_limited:
            return cases, source
        sums, source = _subquery(writer, "sum", cases, source)
        return [f"    {writer.limited(sums[output], 0, output)}" for output in outputs], source
    (leaf,), source = _subquery(writer, "leaf", [writer.case(str)], source)
    sums, source = _subquery(writer, "sum", [
        _by_leaf(leaf, [writer.value(each, output) for each in leaves]) for output in outputs],
        source)
    return [_by_leaf(leaf, [writer.limited(sums[output], each, output) for each in leaves])
            for output in outputs], source


def _of_classes(writer, classes, source, proba):
    """The label, and the probabilities if they are wanted, and the source that has what they read.

    It is a subquery, which has each sum once, unless the label alone is a constant of a leaf.
    """
    if writer.has_formulas:
        scores, source = _scores(writer, source)
        shares = [_probability(scores, k) for k in range(len(classes) * proba)]
        return [_most_probable(scores, classes), *shares], source
    best = writer.values.argmax(axis=1)
    if not proba:
        # Leaves that differ in their probabilities alone are one.
        tree = merge_same_leaves(writer.tree.replace(values=np.eye(len(classes))[best]))
        labels = [literal(classes[k]) for k in tree.values.argmax(axis=1)]
        writer = _Writer(tree, writer.columns)
        source = _with_sums(writer, source)
        return [writer.case(labels.__getitem__)], source
    labels, source = [literal(classes[k]) for k in best], _with_sums(writer, source)
    (leaf,), source = _subquery(writer, "leaf", [writer.case(str)], source)
    found = [labels, *(map(literal, share) for share in softmax(writer.values, axis=1).T)]
    return [_by_leaf(leaf, texts) for texts in found], source


def _with_sums(writer, source):
    """The source that also has the sums of several splits, as of score bands, once each."""
    uses = Counter(total for total, *_ in writer.conditions)
    totals = [total for total, n in uses.items() if total and n > 1]
    if not totals:
        return source
    names, source = _subquery(writer, "split", [f"    {total}" for total in totals], source)
    writer.names.update(zip(totals, names, strict=True))
    return source


def _by_leaf(leaf, texts):
    cases = "\n".join(f"        WHEN {k} THEN {text}" for k, text in enumerate(texts))
    return f"    CASE {leaf}\n{cases}\n    END"


def _subquery(writer, name, texts, source):
    """Names of new columns, and the source that has them beside the others."""
    name = f"ngdt_{name}"
    # Many databases take upper and lower case for the same.
    while any(column.name.lower().startswith(name) for column in writer.columns):
        name = f"_{name}"
    names = [f"{name}_{k}" for k in range(len(texts))]
    query = _select([f"{source.name}.*"], zip(names, texts, strict=True), source.text)
    return [*map(quoted, names)], _Source(f"(\n{query}\n) {quoted(name)}", quoted(name))


def _select(columns, results, source):
    selected = ",\n".join([f"    {column}" for column in columns] + [
        f"{text} AS {quoted(name)}" for name, text in results])
    return f"SELECT\n{selected}\nFROM {source}"


def _scores(writer, source):
    """Logits of the classes, as names or constants, and the source that has them."""
    tree = writer.tree
    if tree.n_outputs == 2 and tree.ranges is None:     # one sum: that of the second less the first
        odds = _Writer(log_odds_tree(tree), writer.columns)
        (score,), source = _subquery(writer, "score", *_outputs(odds, source))
        return ["0.0", score], source
    return _subquery(writer, "score", *_outputs(writer, source))


def _most_probable(scores, classes):
    """The first class that none of the later ones exceeds."""
    cases = [
        "WHEN " + " AND ".join(f"{score} >= {later}" for later in scores[k + 1:])
        + f" THEN {literal(classes[k])}" for k, score in enumerate(scores[:-1])]
    last = literal(classes[-1])
    return f"    CASE {' '.join(cases)} ELSE {last} END" if cases else f"    {last}"


def _probability(scores, k):
    """The share of a class in the exponentials of the scores, within what databases compute."""
    terms = ["1.0"]
    for other in scores[:k] + scores[k + 1:]:
        odds = f"{other} - {scores[k]}"
        terms.append(
            f"EXP(CASE WHEN {odds} > {_MAX_EXPONENT} THEN {_MAX_EXPONENT} "
            f"WHEN {odds} < -{_MAX_EXPONENT} THEN -{_MAX_EXPONENT} ELSE {odds} END)")
    return f"    1.0 / ({' + '.join(terms)})"


class _Writer:
    """Writer of the splits and leaves of a tree in terms of columns.

    Parameters
    ----------
    tree : Tree
    columns : list of NumberColumn or CategoryColumn

    Attributes
    ----------
    values : ndarray of shape (n_leaves, n_outputs)
        Constants of the leaves.
    has_formulas : bool
        Whether some leaf is linear.
    conditions : list of tuple
        Of each split, as `condition` returns them.
    names : dict of str to str
        Names of weighted sums that are columns of the source.
    """

    def __init__(self, tree, columns):
        self.tree, self.columns = tree, columns
        self.values, self._is_linear = leaf_values(tree)
        self.has_formulas = self._is_linear.any()
        self.conditions, self.names = [
            condition(columns, tree.dense_weights([node])[0], float(tree.thresholds[node]))
            for node in range(tree.n_internal)], {}

    def case(self, leaf):
        """``CASE`` expression; the function `leaf` writes the values of leaves.

        Splits on the other side of a split are further conditions, so that a chain is not nested.
        """
        m, children, lines = self.tree.n_internal, self._children(), []
        waiting = [(0, 1)]      # lines, nodes and leaves, each with its level
        while waiting:
            item, level = waiting.pop()
            if not isinstance(item, str) and item >= m:
                item = leaf(item - m)
            if isinstance(item, str):
                lines.append("    " * level + item)
                continue
            parts, word = [], "CASE WHEN"
            while item < m:
                first, second, text = children[item]
                parts += [(f"{word} {text} THEN", level), (first, level + 1)]
                item, word = second, "WHEN"
            waiting += reversed([*parts, ("ELSE", level), (item, level + 1), ("END", level)])
        # Columns that the tree uses, and that must not have missing values.
        used = set(used_features(self.tree).tolist())
        missing = [f"{quoted(column.name)} IS NULL" for column in self.columns
                   if isinstance(column, NumberColumn) and column.fill is None
                   and column.feature in used]
        if missing:
            lines = [f"    CASE WHEN {in_groups(missing, ' OR '.join)} THEN NULL ELSE", *lines,
                     "    END"]
        return "\n".join(lines)

    def _children(self):
        """Of each node the child that is nested, the other one, and the condition for the first.

        The left one is nested, or that of listed categories, unless it nests too deep by itself.
        """
        children, nested = child_ids(self.tree).tolist(), [0] * (2 * self.tree.n_leaves - 1)
        for node, (total, texts, is_left) in reversed([*enumerate(self.conditions)]):
            left, right = children[node]
            ways = [(left, right, texts[0]), (right, left, texts[1])]
            first, second, text = min(
                ways if is_left else ways[::-1],
                key=lambda way: max(_MAX_NESTED, 1 + nested[way[0]], nested[way[1]]))
            children[node] = first, second, f"{self.names.get(total, total)}{text}"
            nested[node] = max(1 + nested[first], nested[second])
        return children

    def value(self, leaf, output):
        """Prediction of a leaf for an output, without its limits."""
        value = self.values[leaf, output]
        if not self._is_linear[leaf]:
            return literal(value)
        return weighted_sum(self.columns, self.tree.slopes[leaf, output], value)

    def limited(self, value, leaf, output):
        """A column that has the prediction of a leaf, within its limits."""
        if not self._is_linear[leaf]:
            return value
        low, high = map(literal, self.tree.ranges[leaf, output])
        return (f"CASE WHEN {value} < {low} THEN {low} WHEN {value} > {high} THEN {high} "
                f"ELSE {value} END")
