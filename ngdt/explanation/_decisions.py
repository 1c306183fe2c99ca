"""Decisions of the path of a sample as text: the rule of the tree, the answer, and why it is so."""

import operator
from dataclasses import replace
from math import isfinite, isnan

import numpy as np

from ngdt._inspection.conditions import first_condition, is_left_first, is_sum
from ngdt._inspection.rules import DEFAULT_TERMS, number_of, one_line
from ngdt._util.numbers import format_number, format_value, shortest, whole_digits
from ngdt.explanation._context import DIGITS, deviations

_RELATIONS = {"<=": operator.le, ">=": operator.ge}


def answers_of(captions, node):
    """The answers to the rule of a node that lead to its left and to its right child.

    Parameters
    ----------
    captions : Captions
    node : int

    Returns
    -------
    tuple of str
        "yes" and "no", or the other way round.
    """
    return ("yes", "no") if is_left_first(captions, node) else ("no", "yes")


def title_of(explanation, decision):
    """The rule of a decision with its answer, as short as in a plot of the tree.

    Parameters
    ----------
    explanation : TreeExplanation
    decision : Decision

    Returns
    -------
    str
    """
    captions, node = explanation._context.captions, decision.node
    condition, _ = _rule_and_reason(explanation, decision)
    if is_sum(captions, node):
        condition = replace(condition, subject="sum")
    return f"{condition.typeset}: {answers_of(captions, node)[decision.is_right]}"


def lines_of(explanation, decision):
    """The rule of a decision and, in a second line, the answer and what another one would lead to.

    Parameters
    ----------
    explanation : TreeExplanation
    decision : Decision

    Returns
    -------
    list of str
    """
    answer = answers_of(explanation._context.captions, decision.node)[decision.is_right]
    condition, reason = _rule_and_reason(explanation, decision)
    return [f"if {condition}:", f"    {answer}{reason}; otherwise {decision.otherwise}"]


def _rule_and_reason(explanation, decision):
    """The rule as the text of the tree has it, and the reason for the answer."""
    captions, node = explanation._context.captions, decision.node
    condition = first_condition(captions, node, DEFAULT_TERMS)
    if is_sum(captions, node):
        return condition, f", by {format_value(abs(decision.margin))}{_far(decision)}"
    if condition.relation:
        condition, number = _limit_and_number(explanation, decision, condition)
        return condition, f", {number}"
    ((name, value, *_),) = decision.terms.by_column().rows()
    return condition, f", {name}" if isnan(value) and name != str(condition) else ""


def _far(decision):
    return f" ({deviations(decision.distance)})" if isfinite(decision.distance) else ""


def _limit_and_number(explanation, decision, condition):
    """The rule on a number, and the number.

    Where this lies between the limit that the text has and the threshold, the rule has another
    limit: all numbers on the side of the sample go its way.
    """
    context, row = explanation._context, explanation._row
    tree = context.captions.tree
    weights, threshold = tree.dense_weights([decision.node])[0], tree.thresholds[decision.node]
    number = number_of(context.captions, np.flatnonzero(weights))
    value, weight, holds = row.x[number], weights[number], _RELATIONS[condition.relation]
    name = one_line(context.captions.feature_names[number])
    is_gap = context.features[number].column in row.gaps
    if is_gap and number in context.captions.fill:      # the rule says where it goes
        return condition, f"{name} is missing"

    def is_beside(value, limit):
        return holds(value, limit) != decision.is_right

    def fits(limit):
        score = weight * limit - threshold
        return is_beside(value, limit) and (score >= 0 if decision.is_right else score <= 0)

    limit = float(condition.limit)
    if not is_beside(value, limit):
        exact_limit = threshold / weight
        limit = shortest(exact_limit, whole_digits(exact_limit, DIGITS), fits)
        condition = replace(condition, limit=limit)
    written = format_number(shortest(
        value, whole_digits(value, decimals=1), lambda number: is_beside(number, float(limit))))
    return condition, f"{name} is missing and counts as {written}" if is_gap else (
        f"{name} = {written}{_far(decision)}")
