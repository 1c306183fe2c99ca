"""Explanations as text: decisions of the path, weighted sums, and changes."""

import operator
from dataclasses import replace
from math import isfinite, isnan

import numpy as np

from ngdt._inspection.conditions import first_condition
from ngdt._inspection.rules import DEFAULT_TERMS, number_of
from ngdt._util.numbers import count, format_number, format_value, shortest, whole_digits
from ngdt._util.text import one_line, wrapped
from ngdt.explanation._context import beside, deviations

_RELATIONS = {"<=": operator.le, ">=": operator.ge}


def term_lines(terms, n_terms):
    """The lines of a weighted sum: at the mean, the columns that add most, and the rest."""
    terms = terms.by_column()
    rows = [(terms.base, terms.base_name)] + [
        (contribution, _term(name, value, mean))
        for name, value, mean, contribution in terms._rows(n_terms)]
    # What is left by rounding errors of the sum is zero.
    least = 1e-12 * max((abs(number) for number, _ in rows if isfinite(number)), default=0.0)
    # A sum of large and small numbers has the decimals of the small ones.
    most = 0.05 * max((abs(number) for number, _ in rows[1:]), default=0.0) or np.inf
    # With a decimal: what a year of 2019.4 adds up to is not 2020.
    numbers = [
        f"{'-' if number < -least else '+'}"
        f"{format_value(float(abs(number)), most) if abs(number) >= least else 0}"
        for number, _ in rows]
    width = max(map(len, numbers))
    return [f"    {number:<{width}}  {what}" for number, (_, what) in zip(
        numbers, rows, strict=True)]


def change_lines(what, changes, together, n_terms):
    """The lines of changes that lead to another leaf or class.

    Parameters
    ----------
    what : {"leaf", "class"}
    changes : list of Change
        Of one column each.
    together : Change or None
        Of several numbers, or of one, which is left out.
    n_terms : int or None

    Returns
    -------
    list of str
    """
    shown = [each.text(n_terms) for each in changes[:n_terms]]
    if len(shown) < len(changes):
        shown.append(f"{count(len(changes) - len(shown), 'more change')} of one column")
    if together is not None and len(together.values) > 1:
        shown.append(together.text(n_terms))
    if not shown:
        return ["no change of one column within the range of the training samples leads to another "
                f"{what}"]
    return [f"changes to another {what}:",
            *(line for each in shown for line in wrapped(each, "    "))]


def _term(name, value, mean):
    """A term, where it has a number with its mean: their digits tell by how much they differ."""
    if isnan(value):
        return name
    # The mean of a standardized feature is zero but for the rounding errors of its sum.
    mean = 0.0 if abs(mean) < 1e-12 * abs(value) else mean
    return f"{name} = {beside(value, mean, decimals=1)} (mean {beside(mean, value)})"


def answers_of(captions, node):
    """The answers to the rule of a node that lead to its left and to its right child, two str."""
    return ("no", "yes") if node in captions.right_first else ("yes", "no")


def rule_and_reason(explanation, decision):
    """The rule as the text of the tree has it, and the reason for the answer."""
    captions, node = explanation._context.captions, decision.node
    condition = first_condition(captions, node, DEFAULT_TERMS)
    if condition.is_sum:
        return condition, f", by {format_value(abs(decision.margin))}{_far(decision)}"
    if condition.relation:
        condition, number = _limit_and_number(explanation, decision, condition)
        return condition, f", {number}"
    ((name, value, *_),) = decision.terms.by_column()._rows()
    return condition, f", {name}" if isnan(value) and name != str(condition) else ""


def _far(decision):
    return f" ({deviations(decision.distance)})" if isfinite(decision.distance) else ""


def _limit_and_number(explanation, decision, condition):
    """The rule on a number, and the number.

    Where this lies between the limit that the text has and the threshold, the rule has another
    limit: all numbers on the side of the sample go its way. The digits of the number tell how far
    it is from the limit.
    """
    captions, row = explanation._context.captions, explanation._row
    weights = captions.tree.dense_weights([decision.node])[0]
    threshold = captions.tree.thresholds[decision.node]
    number = number_of(captions, np.flatnonzero(weights))
    value, weight, side = row.x[number], weights[number], 1 if decision.is_right else -1
    name = one_line(captions.feature_names[number])
    is_gap = captions.features[number].column in row.gaps
    if is_gap and number in captions.fill:      # the rule says where it goes
        return condition, f"{name} is missing"

    def is_beside(value, limit):
        return _RELATIONS[condition.relation](value, float(limit)) != decision.is_right

    if not is_beside(value, condition.limit):
        exact_limit = threshold / weight
        condition = replace(condition, limit=shortest(
            exact_limit, whole_digits(exact_limit),
            lambda limit: is_beside(value, limit) and side * (weight * limit - threshold) >= 0))
    most = abs(value - float(condition.limit)) / 4 or np.inf
    written = format_number(shortest(
        value, whole_digits(value, decimals=1),
        lambda number: is_beside(number, condition.limit) and abs(number - value) <= most))
    return condition, f"{name} is missing and counts as {written}" if is_gap else (
        f"{name} = {written}{_far(decision)}")
