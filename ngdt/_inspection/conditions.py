"""Conditions on the samples of the children of a split, as text."""

from dataclasses import dataclass, replace
from decimal import Decimal

from ngdt._inspection.rules import Rule, category_rule_of, factor, rule_of
from ngdt._util.numbers import format_number
from ngdt._util.text import one_line, typeset

# Relations of conditions for the left child, and their opposites for the right child.
_OPPOSITE = {"<=": ">", ">=": "<"}
# What stands for a sum of terms that the split above has, too.
_SAME_SUM = "the same sum"


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
    rule : Rule or None
        The rule of the split; None for categories.
    name : str
        Name of a sum that is repeated below another split; empty for others.
    is_repeated : bool
        True if a split above has the sum, which is not written again.
    """

    subject: str
    relation: str = ""
    limit: Decimal | None = None
    is_certain: bool = True
    or_missing: bool = False
    rule: Rule | None = None
    name: str = ""
    is_repeated: bool = False

    @property
    def is_sum(self):
        """True if the condition is on a sum of terms, not on one column."""
        return self.rule is not None and not self.rule.is_condition

    @property
    def short_subject(self):
        """Name of a sum, or words for it, where its terms are written elsewhere."""
        return self.name or (_SAME_SUM if self.is_repeated else "sum")

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
        subject = self.subject
        if self.is_repeated:
            subject = self.short_subject
        elif self.name:
            subject = f"({self.name} := {subject})"
        return f"{subject} {limit}{' (or missing)' * self.or_missing}"


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
                     rule.missing_is_left is left, rule)


def first_condition(captions, node, n_terms, digits=None):
    """Make the condition of the child that is written first, as `condition_of`."""
    condition = condition_of(captions, node, n_terms, digits, left=node not in captions.right_first)
    if not condition.is_sum:
        return condition
    first = int(captions.first_of_sums[node])
    return replace(condition, name=captions.sum_names.get(first, ""), is_repeated=first != node)
