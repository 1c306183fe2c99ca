"""Splits and weighted sums of columns as SQL expressions."""

from numbers import Integral, Real

import numpy as np

from ngdt._inspection.rules import exact_limit
from ngdt.export._encoded_columns import NumberColumn

# Databases limit how deep an expression may be, SQLite to 1000 terms.
_MAX_TERMS = 100
# Characters of a sum in a line; a longer one has a line for each term.
_WIDTH = 100


def condition(columns, weights, threshold):
    """Conditions for both children of a split; for other rows, they are false or NULL.

    Parameters
    ----------
    columns : list of NumberColumn or CategoryColumn
    weights : ndarray of shape (n_features,)
    threshold : float

    Returns
    -------
    total : str
        The weighted sum that the conditions begin with; empty if they are on one column.
    texts : tuple of str
        The rest of the conditions for the left and the right child, or all of them.
    is_left : bool
        Whether the left child comes first: a condition on categories lists none for unknown ones.
    """
    used = [column for column in columns if column.is_used(weights)]
    if not used:
        return "", _always(threshold >= 0), True
    if len(used) == 1 and not isinstance(used[0], NumberColumn):
        return "", *_category_conditions(used[0], weights, threshold)
    texts = None if len(used) > 1 else _number_conditions(used[0], weights, threshold)
    if texts is not None:
        return "", texts, True
    limit = literal(threshold)
    return weighted_sum(used, weights), (f" <= {limit}", f" > {limit}"), True


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
    if isinstance(value, Real) and not isinstance(value, np.timedelta64):   # an integer of numpy
        return str(int(value)) if isinstance(value, Integral) else repr(float(value))
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


def _number_conditions(column, weights, threshold):
    """Conditions of a split on a number, or on its absence; None if it has to be a sum."""
    name, weight = quoted(column.name), float(weights[column.feature])
    missing = column.missing_term(weights)
    missing_is_left = None if missing is None else missing <= threshold
    if weight == 0.0:
        present_is_left = threshold >= 0
        if present_is_left == missing_is_left:
            return _always(present_is_left)
        return _null_conditions(name, missing_is_left)
    limit = exact_limit(abs(weight), threshold)
    if limit is None:
        return None
    number, limit = _number(column), literal(limit if weight > 0 else -limit)
    signs = ("<=", ">") if weight > 0 else (">=", "<")
    return _with_missing([f"{number} {sign} {limit}" for sign in signs], name, missing_is_left)


def _always(is_left):
    """Conditions of a split that sends all rows to one side."""
    return ("1 = 1", "1 = 0") if is_left else ("1 = 0", "1 = 1")


def _null_conditions(name, missing_is_left):
    """Conditions of a split that parts missing values from all others."""
    texts = f"{name} IS NULL", f"{name} IS NOT NULL"
    return texts if missing_is_left else texts[::-1]


def _with_missing(texts, name, missing_is_left):
    """Conditions for both children, one of which takes missing values, too, if there may be any."""
    return tuple(f"{text} OR {name} IS NULL" if missing_is_left == is_left else text
                 for text, is_left in zip(texts, (True, False), strict=True))


def _number(column):
    """Number in a column; bools are cast, since some databases do not compute with them."""
    return f"CAST({quoted(column.name)} AS INTEGER)" if column.is_boolean else quoted(column.name)


def _category_conditions(column, weights, threshold):
    """Conditions of a split on categories, and whether those listed are on the left side."""
    name, (terms, missing, other) = quoted(column.name), column.terms(weights)
    others_are_left, missing_is_left = other <= threshold, missing <= threshold
    listed = [
        category for category, term in terms.items() if (term <= threshold) != others_are_left]
    if listed:
        of_listed, of_others = (
            f"{name} {word} ({', '.join(map(literal, listed))})" for word in ("IN", "NOT IN"))
    elif missing_is_left == others_are_left:
        return _always(others_are_left), True
    else:
        return _null_conditions(name, missing_is_left), not others_are_left
    texts = (of_others, of_listed) if others_are_left else (of_listed, of_others)
    return _with_missing(texts, name, missing_is_left), not others_are_left


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
