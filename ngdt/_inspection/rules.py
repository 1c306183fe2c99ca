"""Rules of splits, of numbers or of categories, as readers see them.

Features are in order, and numbers are rounded. A rule that shows all its features sends each sample
of the summary as the tree does.
"""

from dataclasses import dataclass
from decimal import Decimal
from functools import partial

import numpy as np

from ngdt._util.arrays import power_of_two
from ngdt._util.numbers import exact, percent, shortest
from ngdt._util.text import one_line

# Significant digits of numbers for readers, and number of the features of a rule.
DEFAULT_DIGITS, DEFAULT_TERMS = 3, 5


@dataclass(frozen=True, eq=False)
class Rule:
    """A sample goes left where the weighted sum of its features is at most the threshold.

    Attributes
    ----------
    features : ndarray of int
        The features that are shown, the largest effect first.
    weights : list of Decimal
        Their weights. A single feature has the weight 1 or -1.
    threshold : Decimal
    hidden : str
        What is not shown, as text; empty if nothing is hidden.
    is_certain : bool
        False where samples come so near to the threshold that the order of a sum in floating
        point may decide.
    missing_is_left : bool or None
        Of a split on a single number, whether samples go left whose number is missing. None where
        none was missing in training.
    """

    features: np.ndarray
    weights: list
    threshold: Decimal
    hidden: str = ""
    is_certain: bool = True
    missing_is_left: bool | None = None

    @property
    def is_condition(self):
        """True if the rule compares a single feature with a limit."""
        return len(self.weights) == 1 and not self.hidden and abs(self.weights[0]) == 1


@dataclass(frozen=True)
class CategoryRule:
    """A split by a categorical column: a sample goes left by its category alone.

    Attributes
    ----------
    column : str
    categories : list of str
        As they are written.
    is_left : bool
        Whether samples of these categories go left; if not, all others do.
    other : str or None
        The other category, if there is one only.
    """

    column: str
    categories: list
    is_left: bool
    other: str | None = None

    def text(self, left):
        """The condition that samples of the left or of the right child meet."""
        is_in, column = self.is_left == left, one_line(self.column)
        if self.other is not None and not is_in:
            return f"{column} is {one_line(self.other)}"
        first, *others = categories = [one_line(each) for each in self.categories]
        listed = f"{{{', '.join(categories)}}}" if others else first
        # A category may be called "no account", which "is not" would negate twice.
        relation = "is any other than" if not is_in else "in" if others else "is"
        return f"{column} {relation} {listed}"


def category_rule_of(captions, node):
    """The rule of a node as one of categories.

    None if the split uses a number other than a bool, or several columns.
    """
    weights, threshold = captions.tree.dense_weights([node])[0], captions.tree.thresholds[node]
    features = np.flatnonzero(weights)
    number = number_of(captions, features)
    if number in captions.booleans:
        return _boolean_rule(captions, number, weights, threshold)
    if not len(features) or captions.is_number(features[0]):
        return None
    column, kind, *_ = captions.features[features[0]]
    if any(captions.features[j][:2] != (column, kind) for j in features):
        return None
    name = captions.column_names[column]
    scores, unknown = {}, 0.0
    for feature, weight in zip(captions.features, weights, strict=True):
        if feature[:2] == (column, kind):
            scores[feature.category] = weight
            unknown += weight * feature.fill
            if feature.other is not None:
                scores[feature.other] = 0.0
    # An unknown category goes with those that are not listed.
    is_left = bool(threshold < unknown)
    listed = [each for each, score in scores.items() if (score <= threshold) == is_left]
    return CategoryRule(name, listed, is_left) if listed else None


def _boolean_rule(captions, feature, weights, threshold):
    """The rule of a split on a bool; None if both values go the same way."""
    sides = {"True": bool(weights[feature] <= threshold), "False": bool(threshold >= 0.0)}
    if sides["True"] == sides["False"]:
        return None
    name = captions.feature_names[feature]
    missing_is_left = _missing_is_left(captions, feature, weights, threshold)
    if missing_is_left is None:
        return CategoryRule(name, ["True"], sides["True"], "False")
    # A missing one goes with the value that is not written.
    (listed,) = (each for each in sides if sides[each] != missing_is_left)
    return CategoryRule(name, [listed], sides[listed])


def terms_of(captions, weights):
    """Features of a weighted sum, the largest effect first, and their effects.

    Parameters
    ----------
    captions : Captions
    weights : ndarray of shape (n_features,)
        Weights of a split, or slopes of a leaf.

    Returns
    -------
    features : ndarray of int
        Those whose weight is not zero.
    effect : ndarray of shape (n_terms,)
        Absolute weight times standard deviation, in units of the largest. Where the samples are
        not known, the absolute weight instead.
    """
    features = np.flatnonzero(weights)
    size = np.abs(weights[features])
    # Effects have no unit: in that of the largest weight, none overflows.
    effect = size / power_of_two(size.max(initial=0.0)) * captions.std[features]
    order = np.lexsort((-size, -effect))
    return features[order], effect[order] / (effect.max(initial=0.0) or 1.0)


def hidden_terms(captions, effect, n_terms):
    """The hidden terms of a weighted sum as text.

    Parameters
    ----------
    captions : Captions
    effect : ndarray
        Effects of the features, as `terms_of` returns them.
    n_terms : int or None
        Number of features to show. None shows all.

    Returns
    -------
    str
        Their number and, if the samples are known, their share of the effect; empty if nothing is
        hidden.
    """
    if n_terms is None or len(effect) <= n_terms:
        return ""
    text = f"+ {len(effect) - n_terms} more"
    if captions.summary is None or not effect.sum():
        return text
    return f"{text} ({percent(float(effect[n_terms:].sum() / effect.sum()))} of the effect)"


def with_targets(names, texts):
    """Texts for several targets, each after the name of its target if names are known."""
    if names is None:
        return [*texts]
    return [f"{one_line(name)} = {text}" for name, text in zip(names, texts, strict=True)]


def factor(captions, feature):
    """The name of a feature in a term; in parentheses if it is a condition, such as a category."""
    name = one_line(captions.feature_names[feature])
    return name if captions.is_number(feature) else f"({name})"


def rule_of(captions, node, n_terms, digits):
    """The rule of a node.

    Parameters
    ----------
    captions : Captions
    node : int
    n_terms : int or None
        Number of features to show. None shows all.
    digits : int or None
        Least number of significant digits. None stands for 3, or for exact numbers where all
        features are shown and the samples are not known.

    Returns
    -------
    Rule
    """
    tree, summary = captions.tree, captions.summary
    weights = tree.dense_weights([node])[0]
    features, effect = terms_of(captions, weights)
    weights, threshold = weights[features], float(tree.thresholds[node])
    hidden = hidden_terms(captions, effect, n_terms)
    number = number_of(captions, features)
    if number is not None:
        return _of_number(captions, node, number, digits)
    if summary is not None and not hidden:
        return _rounded(captions, node, features, weights, digits or DEFAULT_DIGITS)
    written = exact if digits is None and not hidden else partial(
        shortest, digits=digits or DEFAULT_DIGITS)
    return Rule(features[:n_terms], list(map(written, weights[:n_terms])), written(threshold),
                hidden)


def number_of(captions, features):
    """The feature whose value decides a split: the only one, but for the indicator of its gaps.

    Parameters
    ----------
    captions : Captions
    features : ndarray of int
        Those with a weight.

    Returns
    -------
    int or None
        None if the split uses several columns.
    """
    if len(features) == 1:
        return int(features[0])
    if len(features) == 2:
        by_kind = {captions.features[j].kind: int(j) for j in features}
        if by_kind.keys() == {"number", "missing"} and (
                len({captions.features[j].column for j in features}) == 1):
            return by_kind["number"]
    return None


def _of_number(captions, node, number, digits):
    """The rule of a split on a feature, and where samples go whose number is missing."""
    weights, threshold = captions.tree.dense_weights([node])[0], captions.tree.thresholds[node]
    size, sign = float(abs(weights[number])), Decimal(int(np.sign(weights[number])))
    with np.errstate(over="ignore"):
        quotient = threshold / size
    if captions.summary is not None:
        low, high = captions.summary.left[node], captions.summary.right[node]
        if np.count_nonzero(weights) > 1:       # between products, not between numbers
            low, high = np.nextafter(low / size, np.inf), np.nextafter(high / size, -np.inf)
        limit = _limit_within(quotient, low, high, digits or DEFAULT_DIGITS)
    elif digits is not None:
        limit = shortest(np.nan_to_num(quotient), digits)
    elif (limit := exact_limit(size, threshold)) is not None:
        limit = exact(limit)
    else:
        sign, limit = exact(weights[number]), exact(threshold)
    return Rule(np.array([number]), [sign], limit,
                missing_is_left=_missing_is_left(captions, number, weights, threshold))


def _missing_is_left(captions, number, weights, threshold):
    """True if samples without the number go left; None if none was missing in training.

    All other weights are those of the indicator of its gaps.
    """
    fill = captions.fill.get(number)
    if fill is None:
        return None
    others = np.flatnonzero(weights)
    return bool(weights[number] * fill + weights[others[others != number]].sum() <= threshold)


def exact_limit(weight, threshold):
    """The largest float64 whose product with a positive weight is at most the threshold.

    Parameters
    ----------
    weight, threshold : float

    Returns
    -------
    float or None
        None if it is not next to the quotient, as where products underflow.
    """
    with np.errstate(over="ignore"):
        limit = np.float64(threshold) / weight
        for _ in range(3):
            limit = np.nextafter(limit, np.inf)
        for _ in range(6):
            above, limit = limit, np.nextafter(limit, -np.inf)
            if weight * limit <= threshold < weight * above:
                return limit
    return None


def _rounded(captions, node, features, weights, digits):
    """The rule of a split on several features, rounded within the gap between the samples.

    Rounding changes the weighted sum of a sample by ``change @ x``, which differs from
    ``change @ center`` by at most ``|change| @ half_range``. The threshold may lie anywhere in what
    this leaves of the gap.
    """
    summary, threshold = captions.summary, captions.tree.thresholds[node]
    center, half_range = summary.center_and_half_range(features)
    left, right = summary.left[node], summary.right[node]
    # A sum that is written once has digits for all its limits.
    same = captions.nodes_of_sums[captions.first_of_sums[node]]
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.abs(weights) @ (np.abs(center) + half_range)
        gap = (summary.right[same] - summary.left[same]).min()
        rounded, change, error = round_weights(weights, half_range, size, gap / 2, digits)
        shift = change @ center
        low, high = left + shift + error, right + shift - error
    if not low < high:
        return Rule(features, rounded, exact(threshold), is_certain=False)
    return Rule(features, rounded, _limit_within(threshold + shift, low, high, digits))


def round_weights(weights, reach, size, tolerance, digits):
    """Round the weights of a sum, which changes it by less than half of a tolerance.

    Parameters
    ----------
    weights : ndarray of shape (n,)
    reach : ndarray of shape (n,)
        The largest distance of each feature from where the rounded sum is to be the same.
    size : float
        The largest sum of the absolute terms.
    tolerance : float
        How much the sum may change, its rounding errors included.
    digits : int
        Least number of significant digits.

    Returns
    -------
    rounded : list of Decimal
        The weights themselves if rounding errors leave nothing of the tolerance.
    change : ndarray of shape (n,)
        The rounded weights, less the weights.
    error : float
        By how much the rounded sum of a sample differs at most, also in another order.
    """
    n = len(weights)
    # By so much, sums in any order may differ, also the sums of the caller.
    error = 4 * (n + 2) * (np.finfo(float).eps * size + np.finfo(float).smallest_subnormal)
    room = tolerance - error
    if not (room > 0 and np.isfinite(size)):
        return [*map(exact, weights)], np.zeros(n), error
    each = room / 2 / max(n, 1)
    rounded = [
        shortest(weight, digits, lambda value, w=weight, r=far: abs(value - w) * r <= each)
        for weight, far in zip(weights.tolist(), reach.tolist(), strict=True)]
    change = np.array([float(weight) for weight in rounded]) - weights
    return rounded, change, error + np.abs(change) @ reach


def _limit_within(value, low, high, digits):
    """The shortest number in the interval [low, high) near a value, or near an end of it."""
    if not (np.isfinite(value) and low <= value < high):
        value = low if low > -np.inf else np.nextafter(high, -np.inf)
    return shortest(value, digits, lambda limit: low <= limit < high)
