"""Explanations as text."""

from math import fsum

from ngdt._numbers import format_number, shortest
from ngdt._rules import category_rule_of
from ngdt.explanation._context import DIGITS

# A number of standard deviations is written with this many digits.
_DISTANCE_DIGITS = 2


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
        what = f"log-odds of {name}" if explanation._context.classes is not None else name
        lines.append(f"leaf {explanation.leaf}: {what and f'{what}: '}{_number(terms.total)}")
        lines += term_lines(terms, n_terms)
    return "\n".join(lines + change_lines(explanation, n_terms))


def _decision(explanation, decision, n_terms):
    """The lines of a decision."""
    labels, terms = explanation._context.labels, decision.terms
    side, other = ("right", "left") if decision.is_right else ("left", "right")
    far = f"{format_number(decision.distance, _DISTANCE_DIGITS)} standard deviations"
    otherwise = f"{other}: {decision.otherwise}"
    rule = category_rule_of(labels, decision.node)
    if rule is not None:
        condition = rule.text(left=not decision.is_right)
        return [f"node {decision.node}: {side}, {condition}; {otherwise}"]
    if len(terms.names) == 1:
        condition = _condition(labels.tree.thresholds[decision.node], decision)
        return [f"node {decision.node}: {side}, {condition} ({far}); {otherwise}"]
    where = "above" if decision.is_right else "below"
    return [f"node {decision.node}: {side}, {_number(abs(decision.margin))} {where} the threshold "
            f"({far}); {otherwise}", *term_lines(terms, n_terms)]


def _condition(threshold, decision):
    """A split on one feature: its value and a limit that is true of it, with few digits."""
    (name,), (value,), (weight,) = (
        decision.terms.names, decision.terms.values, decision.terms.weights)
    is_above = decision.is_right == (weight > 0)
    limit = shortest(
        threshold / weight, DIGITS, lambda number: value > number if is_above else value <= number)
    sign = ">" if is_above else "<="
    written = format_number(shortest(value, DIGITS, lambda number: (
        number > float(limit) if is_above else number <= float(limit))))
    return f"{name} = {written} {sign} {format_number(limit)}"


def term_lines(terms, n_terms):
    """The lines of a weighted sum: at the mean, its largest terms, and the rest.

    Parameters
    ----------
    terms : WeightedSum
    n_terms : int or None

    Returns
    -------
    list of str
    """
    rows = [(terms.at_mean, "at the mean")]
    for name, value, mean, contribution in [*zip(
            terms.names, terms.values, terms.means, terms.contributions, strict=True)][:n_terms]:
        rows.append((contribution, f"{name} = {_number(value)} (mean {_number(mean)})"))
    if n_terms is not None and len(terms.names) > n_terms:
        rows.append((fsum(terms.contributions[n_terms:]), f"{len(terms.names) - n_terms} more"))
    return signed_lines(rows)


def signed_lines(rows):
    """Aligned lines of a signed number and what it is.

    Parameters
    ----------
    rows : list of tuple (float, str)

    Returns
    -------
    list of str
    """
    numbers = [f"{'-' if number < 0 else '+'}{_number(abs(number))}" for number, _ in rows]
    width = max(map(len, numbers))
    return [f"    {number:<{width}}  {what}" for number, (_, what) in zip(
        numbers, rows, strict=True)]


def change_lines(explanation, n_terms):
    """The lines of the smallest changes.

    Parameters
    ----------
    explanation : TreeExplanation
    n_terms : int or None

    Returns
    -------
    list of str
    """
    what = "leaf" if explanation._context.classes is None else "class"
    single = explanation.changes_of_one_column()
    together = explanation.smallest_change()
    changes = single[:n_terms]
    if together is not None and len(together.values) > 1:
        changes.append(together)
    if not changes:
        return [f"no change of numbers leads to another {what}"]
    return [f"changes to another {what}:", *(f"    {each.text(n_terms)}" for each in changes)]


def _number(value):
    return format_number(float(value), DIGITS)
