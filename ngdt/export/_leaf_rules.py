"""Trees as a list of rules, one for each leaf."""

import re
from dataclasses import replace
from typing import NamedTuple

from ngdt._core.structure import traverse
from ngdt._inspection.conditions import condition_of
from ngdt._inspection.path_constants import readable_captions
from ngdt._util.validation import check_counts
from ngdt.export._held_out import HeldOutLeaf, held_out_leaves
from ngdt.export._parts import UNCERTAIN, leaf_lines, terms_to_show, writable

# A sum of terms, with its limit.
_OF_SUM = re.compile(r"(.* \* .*) ((?:<=|>) \S+)")


class LeafRule(NamedTuple):
    """A leaf, and the conditions that its samples meet.

    Its text is one line, such as ``if age <= 40 and city is Rome: yes (0.9)``. A sum between two
    limits, as of score bands, is written once.

    Attributes
    ----------
    leaf : int
        Number of the leaf, as `apply` returns it.
    conditions : tuple of str
        All have to hold. There are none if the tree is a single leaf.
    prediction : str
        The most probable class with its probability, or values, or formulas of a linear leaf.
    n_samples : int or None
        Number of samples; None if they are not known.
    is_certain : bool
        False if the order of a sum in floating point decides for some samples.
    coverage : float or None
        Share of all samples; None if they are not known.
    held_out : HeldOutLeaf or None
        Held-out samples that meet the rule; None if none were given.
    """

    leaf: int
    conditions: tuple
    prediction: str
    n_samples: int | None
    is_certain: bool = True
    coverage: float | None = None
    held_out: HeldOutLeaf | None = None

    def __str__(self):
        head = f"if {' and '.join(_short(self.conditions))}" if self.conditions else "always"
        counted = "" if self.n_samples is None else f" [{self.n_samples}]"
        held_out = "" if self.held_out is None else f" {{{self.held_out}}}"
        return (f"{head}: {self.prediction}{counted}{held_out}"
                f"{'' if self.is_certain else UNCERTAIN}")


def export_rules(
    model, *, feature_names=None, class_names=None, n_terms="auto", precision=None, X=None,
    by_coverage=False, held_out=None,
):
    """Export a tree as rules: for each leaf, the conditions that its samples meet.

    Each sample meets all conditions of one rule. Terms and numbers are as in `export_text`: where
    all terms are written, they send each training sample as the tree does. Of several limits for
    the same column, only the nearest is written.

    Parameters
    ----------
    model : Tree, fitted estimator or Pipeline
        As for `export_text`.
    feature_names, class_names : sequence, default=None
        As for `export_text`.
    n_terms : int, None or "auto", default="auto"
        As for `export_text`. Where sums of several nodes begin alike, all terms are written.
    precision : int or None, default=None
        As for `export_text`.
    X : array-like, data frame or CSR matrix of shape (n_samples, n_features), default=None
        Samples to take for the training samples.
    by_coverage : bool, default=False
        Whether rules of many samples come first.
    held_out : tuple (X, y), default=None
        Samples that the model was not trained on, as it reads them, and their labels or targets.

    Returns
    -------
    list of LeafRule
        From the leftmost leaf to the rightmost, or by the number of samples. The text of a rule is
        one line: ``print(*rules, sep="\\\\n")``. In brackets is the number of samples. In braces
        are the number of held-out samples and, for classes, Wilson's interval (1927) at 95 % for
        the share of right predictions or, for regression, the 5 % and the 95 % quantile of each
        target. It counts each sample once: after a fit with class weights, the probability of a
        leaf is a share of weights, and need not lie in the interval.

    References
    ----------
    E. B. Wilson. "Probable inference, the law of succession, and statistical inference." Journal of
    the American Statistical Association 22, 1927.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import ObliqueTreeClassifier
    >>> from ngdt.export import export_rules
    >>> iris = load_iris(as_frame=True)
    >>> tree = ObliqueTreeClassifier(max_depth=2, optimizer=None)
    >>> tree = tree.fit(iris.data, iris.target_names[iris.target])
    >>> print(*export_rules(tree), sep="\\n")
    if petal length (cm) <= 2.45: setosa (0.987) [50]
    if petal length (cm) > 2.45 and petal width (cm) <= 1.75: versicolor (0.897) [54]
    if petal length (cm) > 2.45 and petal width (cm) > 1.75: virginica (0.965) [46]

    Trained on two thirds, and checked on the others:

    >>> X, y, rest = iris.data, iris.target_names[iris.target], iris.data.index % 3 == 0
    >>> tree = tree.fit(X[~rest], y[~rest])
    >>> rules = export_rules(tree, by_coverage=True, held_out=(X[rest], y[rest]))
    >>> print(*rules[:2], sep="\\n")
    if petal length (cm) > 4.85: virginica (0.901) [36] {15 held out: 0.702 to 0.988}
    if petal length (cm) <= 2.45: setosa (0.98) [33] {17 held out: 0.816 to 1}
    >>> rules[0].coverage
    0.36
    """
    check_counts(precision=precision)
    captions = readable_captions(
        model, feature_names=feature_names, class_names=class_names, X=X)
    n_terms = terms_to_show(n_terms, captions.tree)
    m, counts, rules = captions.tree.n_internal, captions.n_node_samples, []
    checked = None if held_out is None else held_out_leaves(model, held_out)
    path, sums = [], {}     # the conditions from the root down, and the node of each subject
    for type_, number, depth in traverse(captions.tree):
        if type_ in ("split", "else"):
            left, node = type_ == "split", captions.first_of_sums[number]
            condition = condition_of(captions, number, n_terms, precision, left=left)
            if condition.is_sum and sums.setdefault(condition.subject, node) != node:
                condition = condition_of(captions, number, None, precision, left=left)
            path[depth:] = [condition]
        elif type_ == "leaf":
            conditions = _nearest(path[:depth])
            rules.append(LeafRule(
                number, tuple(writable(str(condition)) for condition in conditions),
                writable("; ".join(leaf_lines(captions, number, n_terms, precision))),
                None if counts is None else int(counts[m + number]),
                all(condition.is_certain for condition in conditions),
                None if counts is None else float(counts[m + number] / max(counts[0], 1)),
                None if checked is None else checked[number]))
    return sorted(rules, key=lambda rule: -(rule.n_samples or 0)) if by_coverage else rules


def _short(conditions):
    """Conditions in which a sum that has just been written is not written again."""
    shown, before = [], None
    for condition in conditions:
        found = _OF_SUM.fullmatch(condition)
        shown.append(f"the same sum {found[2]}" if found and found[1] == before else condition)
        before = found and found[1]
    return shown


def _nearest(conditions):
    """Drop the conditions that other ones imply; those on a subject follow each other."""
    kept = {}
    for condition in conditions:
        of_subject, side = kept.setdefault(condition.subject, {}), condition.relation[:1]
        other = of_subject.get(side, condition)
        nearer = condition if _implies(condition, other) else other
        # A sample without the number has to meet both.
        of_subject[side] = replace(nearer, or_missing=condition.or_missing and other.or_missing)
    return [each for of_subject in kept.values() for each in of_subject.values()]


def _implies(condition, other):
    """Return whether a condition with a limit in the same direction implies another one."""
    if condition.limit == other.limit:
        return "=" not in condition.relation
    return condition.limit is not None and (
        (condition.limit < other.limit) == condition.relation.startswith("<"))
