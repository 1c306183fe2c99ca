"""Splits and weighted sums of columns as SQL expressions."""

from numbers import Integral, Real

import numpy as np

from ngdt._inspection.rules import exact_limit
from ngdt.export._encoded_columns import NumberColumn

# Databases limit how deep an expression may be, SQLite to 1000 terms.
_MAX_TERMS = 100
# Characters of a sum in a line; a longer one has a line for each term.
_WIDTH = 100
_ALWAYS = {True: "1 = 1", False: "1 = 0"}


def condition(columns, weights, threshold):
    """Condition for a child of a split; for other rows, it is false or NULL.

    Parameters
    ----------
    columns : list of NumberColumn or CategoryColumn
    weights : ndarray of shape (n_features,)
    threshold : float

    Returns
    -------
    total : str
        The weighted sum that the condition begins with; empty if it is on one column.
    text : str
        The rest of the condition, or all of it.
    is_left : bool
        Whether the child is the left one.
    """
    used = [column for column in columns if column.is_used(weights)]
    if not used:
        return "", _ALWAYS[threshold >= 0], True
    if len(used) == 1 and not isinstance(used[0], NumberColumn):
        return "", *_category_condition(used[0], weights, threshold)
    text = None if len(used) > 1 else _number_condition(used[0], weights, threshold)
    if text is not None:
        return "", text, True
    return weighted_sum(used, weights), f" <= {literal(threshold)}", True


def weighted_sum(columns, weights, constant=None):
    """Weighted sum of a row.

    Parameters
    ----------
    columns : list of NumberColumn or CategoryColumn
    weights : ndarray of shape (n_features,)
    constant : float, default=None
        The first term.

    Returns
    -------
    str
    """
    terms = [] if constant is None else [literal(constant)]
    terms += [
        (_number_term if isinstance(column, NumberColumn) else _category_term)(column, weights)
        for column in columns if column.is_used(weights)]
    return in_groups(terms, _added)


def literal(value):
    """Literal of SQL for a number, a string or a bool."""
    if isinstance(value, bool | np.bool_):
        return "TRUE" if value else "FALSE"
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return repr(float(value))
    if isinstance(value, str):
        doubled = value.replace("'", "''")
        return f"'{doubled}'"
    raise TypeError(
        f"model has the class or category {value!r}, which SQL cannot hold: train it with strings, "
        "numbers or bools")


def quoted(name):
    """Quote a name for SQL."""
    doubled = str(name).replace('"', '""')
    return f'"{doubled}"'


def in_groups(terms, join):
    """Join terms, strings, in groups, so that the expression is not deep."""
    while len(terms) > _MAX_TERMS:
        terms = [f"({join(terms[first:first + _MAX_TERMS])})"
                 for first in range(0, len(terms), _MAX_TERMS)]
    return join(terms)


def _added(terms):
    first, *others = terms
    signed = [f"- {term[1:]}" if term.startswith("-") else f"+ {term}" for term in others]
    text = " ".join([first, *signed])
    return text if len(text) <= _WIDTH else "\n        ".join([first, *signed])


def _number_condition(column, weights, threshold):
    """Condition for a split on a number, or on its absence; None if it has to be a sum."""
    name, weight = quoted(column.name), float(weights[column.feature])
    missing = column.missing_term(weights)
    missing_is_left = missing is not None and missing <= threshold
    if weight == 0.0:
        present_is_left = threshold >= 0
        if present_is_left == missing_is_left:
            return _ALWAYS[present_is_left]
        return f"{name} IS {'' if missing_is_left else 'NOT '}NULL"
    limit = exact_limit(abs(weight), threshold)
    if limit is None:
        return None
    number = _number(column)
    text = f"{number} <= {literal(limit)}" if weight > 0 else f"{number} >= {literal(-limit)}"
    return f"{text} OR {name} IS NULL" if missing_is_left else text


def _number(column):
    """Number in a column; bools are cast, since some databases do not compute with them."""
    return f"CAST({quoted(column.name)} AS INTEGER)" if column.is_boolean else quoted(column.name)


def _category_condition(column, weights, threshold):
    """Condition for the side without unknown categories, which it lists, and the side."""
    name, (terms, missing, other) = quoted(column.name), column.terms(weights)
    others_are_left, missing_is_left = other <= threshold, missing <= threshold
    listed = [
        category for category, term in terms.items() if (term <= threshold) != others_are_left]
    is_left = not others_are_left
    if listed:
        text = f"{name} IN ({', '.join(map(literal, listed))})"
        return (f"{text} OR {name} IS NULL" if missing_is_left == is_left else text), is_left
    if missing_is_left == others_are_left:
        return _ALWAYS[others_are_left], True
    return f"{name} IS NULL", is_left


def _number_term(column, weights):
    name, weight = quoted(column.name), float(weights[column.feature])
    missing = column.missing_term(weights)
    if weight == 0.0:
        return f"CASE WHEN {name} IS NULL THEN {literal(missing)} ELSE 0.0 END"
    product = f"{literal(weight)} * {_number(column)}"
    return product if missing is None else f"COALESCE({product}, {literal(missing)})"


def _category_term(column, weights):
    name, (terms, missing, other) = quoted(column.name), column.terms(weights)
    groups = {}
    for category, term in terms.items():
        if term != other:
            groups.setdefault(term, []).append(literal(category))
    cases = [f"WHEN {name} IN ({', '.join(group)}) THEN {literal(term)}"
             for term, group in groups.items()]
    if missing != other:
        cases.append(f"WHEN {name} IS NULL THEN {literal(missing)}")
    return f"CASE {' '.join(cases)} ELSE {literal(other)} END" if cases else literal(other)
