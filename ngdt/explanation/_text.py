"""Explanations as text."""

import operator
from math import isnan

from ngdt._inspection.rules import category_rule_of, one_line, rule_of
from ngdt._util.numbers import format_number, format_value, shortest, whole_digits
from ngdt.explanation._context import DIGITS

# A number of standard deviations is written with this many digits.
_DISTANCE_DIGITS = 2
_RELATIONS = {">": operator.gt, "<": operator.lt, "<=": operator.le, ">=": operator.ge}


def text_of_tree(explanation, n_terms):
    """The text of a `TreeExplanation`.

    Parameters
    ----------
    explanation : TreeExplanation
    n_terms : int or None

    Returns
    -------
    str
    """
    lines = [f"{explanation.prediction}, leaf {explanation.leaf}"]
    for decision in explanation.path:
        lines += _decision(explanation, decision, n_terms)
    for name, terms in explanation.leaf_terms.items():
        lines.append(f"leaf {explanation.leaf}: {leaf_title(explanation, name, terms)}")
        lines += term_lines(terms, n_terms)
    if not explanation._knows_changes:
        return "\n".join(lines)
    is_regression = explanation._context.classes is None
    if is_regression and explanation._context.captions.tree.n_leaves == 1:
        return "\n".join(lines)
    return "\n".join(lines + change_lines(
        "leaf" if is_regression else "class", explanation.changes_of_one_column(),
        explanation.smallest_change(), n_terms,
        "no change of one column or of several numbers"))


def leaf_title(explanation, name, terms):
    """The title of the weighted sum of a linear leaf, with its total.

    Parameters
    ----------
    explanation : TreeExplanation
    name : str
        Of the target, or of two classes.
    terms : WeightedSum

    Returns
    -------
    str
    """
    if explanation._context.classes is not None:
        return f"log-odds of {name}: {_number(terms.total)}"
    output = explanation._outputs[[*explanation.leaf_terms].index(name)]
    total, value = _number(terms.total), _number(output)
    return f"{name and f'{name}: '}{total}{'' if total == value else f', cut to {value}'}"


def _decision(explanation, decision, n_terms):
    """The lines of a decision."""
    captions, terms = explanation._context.captions, decision.terms
    side, other = ("right", "left") if decision.is_right else ("left", "right")
    far = f"{format_number(decision.distance, _DISTANCE_DIGITS)} standard deviations"
    otherwise = f"{other}: {decision.otherwise}"
    rule = category_rule_of(captions, decision.node)
    if rule is not None:
        condition = rule.text(left=not decision.is_right)
        return [f"node {decision.node}: {side}, {condition}; {otherwise}"]
    if len(terms.names) == 1:
        condition = _condition(captions, decision)
        return [f"node {decision.node}: {side}, {condition} ({far}); {otherwise}"]
    where = "above" if decision.is_right else "below"
    return [f"node {decision.node}: {side}, {_number(abs(decision.margin))} {where} the threshold "
            f"({far}); {otherwise}", *term_lines(terms, n_terms)]


def _condition(captions, decision):
    """A split on one feature: its value and a limit, that of the text of the tree.

    Where the sample lies between this and the threshold, all numbers on its side of the limit that
    is written go its way.
    """
    threshold = captions.tree.thresholds[decision.node]
    (name,), (value,), (weight,) = (
        decision.terms.names, decision.terms.values, decision.terms.weights)
    sign = {(True, True): ">", (True, False): "<", (False, True): "<=", (False, False): ">="}[
        decision.is_right, bool(weight > 0)]
    holds = _RELATIONS[sign]

    def fits(limit):
        score = weight * limit - threshold
        return holds(value, limit) and (score >= 0 if decision.is_right else score <= 0)

    exact_limit = threshold / weight
    limit = shortest(exact_limit, whole_digits(exact_limit, DIGITS), fits)
    rule = rule_of(captions, decision.node)
    if captions.summary is not None and rule.is_condition and holds(
            value, float(rule.comparison[1])):
        limit = rule.comparison[1]
    written = shortest(
        value, whole_digits(value, decimals=1), lambda number: holds(number, float(limit)))
    return f"{one_line(name)} = {format_number(written)} {sign} {format_number(limit)}"


def term_lines(terms, n_terms):
    """The lines of a weighted sum: at the mean, the columns that add most, and the rest.

    Parameters
    ----------
    terms : WeightedSum
    n_terms : int or None

    Returns
    -------
    list of str
    """
    terms = terms.by_column()
    rows = [(terms.base, terms.base_name)]
    rows += [
        (contribution, name if isnan(value) else (
            f"{name} = {format_value(value)} (mean {_mean(mean, value)})"))
        for name, value, mean, contribution in terms.rows(n_terms)]
    if n_terms is not None and len(terms.names) > n_terms:
        rows.append((terms.rest(n_terms), f"{len(terms.names) - n_terms} more"))
    numbers = [f"{'-' if number < 0 else '+'}{_number(abs(number))}" for number, _ in rows]
    width = max(map(len, numbers))
    return [f"    {number:<{width}}  {what}" for number, (_, what) in zip(
        numbers, rows, strict=True)]


def change_lines(what, changes, together, n_terms, none):
    """The lines of changes that lead to another leaf or class.

    Parameters
    ----------
    what : {"leaf", "class"}
    changes : list of Change
        Of one column each.
    together : Change or None
        Of several numbers, or of one, which is left out.
    n_terms : int or None
    none : str
        What was looked for, if there are no changes.

    Returns
    -------
    list of str
    """
    shown = [each.text(n_terms) for each in changes[:n_terms]]
    if len(shown) < len(changes):
        n_more = len(changes) - len(shown)
        shown.append(f"{n_more} more change{'s' if n_more > 1 else ''} of one column")
    if together is not None and len(together.values) > 1:
        shown.append(together.text(n_terms))
    if not shown:
        return [f"{none} within the range of the training samples leads to another {what}"]
    return [f"changes to another {what}:", *(f"    {each}" for each in shown)]


def _mean(mean, value):
    # That of a standardized feature is zero but for the rounding errors of its sum.
    return format_number(
        0.0 if abs(mean) < 1e-12 * abs(value) else mean, whole_digits(mean, DIGITS))


def _number(value):
    # With a decimal: what a year of 2019.4 adds up to is not 2020.
    return format_value(float(value))
