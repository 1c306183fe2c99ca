"""Conditions on the samples of the children of a split, as text."""

from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from ngdt._core.structure import parents
from ngdt._inspection.rules import category_rule_of, factor, rule_of
from ngdt._util.numbers import format_number
from ngdt._util.text import one_line, typeset

# Relations of conditions for the left child, and their opposites for the right child.
_OPPOSITE = {"<=": ">", ">=": "<"}


@dataclass(frozen=True)
class Condition:
    """Condition that the samples of a child of a split meet.

    Attributes
    ----------
    subject : str
        Name of a column, or a sum; for categories, the whole condition.
    relation : {"<=", ">=", "<", ">", ""}
        Empty for categories.
    limit : Decimal or None
    is_certain : bool
        False where the order of a sum in floating point decides for some samples.
    or_missing : bool
        Whether samples with a missing number meet the condition, too.
    """

    subject: str
    relation: str = ""
    limit: Decimal | None = None
    is_certain: bool = True
    or_missing: bool = False

    def __str__(self):
        return self._written()

    @property
    def typeset(self):
        """The condition with the signs of plots and pages."""
        return self._written(typeset)

    def _written(self, style=str):
        if not self.relation:
            return self.subject
        limit = style(f"{self.relation} {format_number(self.limit)}")
        return f"{self.subject} {limit}{' (or missing)' * self.or_missing}"


def condition_of(captions, node, n_terms=None, digits=None, *, left=True):
    """Make the condition that the samples of a child meet.

    Parameters
    ----------
    captions : Captions
    node : int
    n_terms, digits
        As for `rule_of`.
    left : bool, default=True
        Whether the child is the left one.

    Returns
    -------
    Condition
    """
    of_categories = category_rule_of(captions, node)
    if of_categories is not None:
        return Condition(of_categories.text(left=left))
    rule = rule_of(captions, node, n_terms, digits)
    if rule.is_condition:
        subject = one_line(captions.feature_names[rule.features[0]])
        (sign,) = rule.weights
        relation, limit = "<=" if sign > 0 else ">=", sign * rule.threshold
    else:
        terms = " ".join(
            f"{'-' if weight < 0 else '+'} {format_number(abs(weight))} * {factor(captions, j)}"
            for weight, j in zip(rule.weights, rule.features, strict=True)) or "0"
        subject, relation, limit = (
            f"{terms.removeprefix('+ ')} {rule.hidden}".rstrip(), "<=", rule.threshold)
    return Condition(subject, relation if left else _OPPOSITE[relation], limit, rule.is_certain,
                     rule.missing_is_left is left)


def first_condition(captions, node, n_terms=None, digits=None):
    """Make the condition of the child that is written first.

    Parameters
    ----------
    captions, node, n_terms, digits
        As for `condition_of`.

    Returns
    -------
    Condition
        A sum that is that of the root is not written again.
    """
    condition = condition_of(captions, node, n_terms, digits, left=is_left_first(captions, node))
    return replace(condition, subject="the same sum") if repeats_root(captions, node) else condition


def is_left_first(captions, node):
    """Return whether the condition of a node is that of its left child: "yes" leads to the left.

    Rules of categories list those that go right, where the left child could only say what its
    samples are not.
    """
    rule = category_rule_of(captions, node)
    return rule is None or rule.is_left or rule.other is not None


def is_sum(captions, node):
    """Return whether the rule of a node is a sum of terms, and no condition on one column."""
    return category_rule_of(captions, node) is None and not rule_of(captions, node).is_condition


def repeats_root(captions, node):
    """Return whether the rule of a node is the sum of all nodes above, with another limit."""
    tree = captions.tree
    first, own = tree.dense_weights([0, node])
    if node == 0 or np.count_nonzero(own) < 2 or not np.array_equal(first, own):
        return False
    parent, path = parents(tree), [node]
    while path[-1] > 0:
        path.append(parent[path[-1]])
    return bool((tree.dense_weights(path) == own).all()) and is_sum(captions, node)


def right_first(captions):
    """The nodes whose right child is written and drawn first, as the one that "yes" leads to.

    Parameters
    ----------
    captions : Captions

    Returns
    -------
    frozenset of int
    """
    nodes = range(captions.tree.n_internal)
    return frozenset(node for node in nodes if not is_left_first(captions, node))
