"""Predictions of leaves as text: values, or formulas of linear leaves.

A formula that shows all its features predicts for each sample of the summary what the tree does, up
to half a unit in the last of the digits that are asked for.
"""

from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from ngdt._core.structure import has_slopes
from ngdt._inspection.rules import DEFAULT_DIGITS, factor, hidden_terms, round_weights, terms_of
from ngdt._util.numbers import exact, format_number, format_within, shortest
from ngdt._util.text import one_line

# Farthest that a feature is written from its mean in the leaf, in standard deviations.
_CENTER_TOLERANCE = 0.25


@dataclass(frozen=True, eq=False)
class Formula:
    """A constant, plus slopes times the differences of features from round numbers near their mean.

    So the constant is about the mean prediction of the leaf; as the prediction for features that
    are zero, such as a year or a blood pressure, it would mean nothing.

    Attributes
    ----------
    constant : Decimal
    features : ndarray of int
        The features that are shown, the largest effect first; none if the leaf is constant.
    slopes, centers : list of Decimal
    limits : list of Decimal
        Smallest and largest prediction; empty if there are none.
    hidden : str
        What is not shown, as text. The constant holds for the means of these features.
    """

    constant: Decimal
    features: np.ndarray
    slopes: list
    centers: list
    limits: list = ()
    hidden: str = ""

    def text(self, captions):
        """The formula as text, such as ``152 + 5.3 * (bmi - 26), within [25, 346]``."""
        terms = [
            f"{'-' if slope < 0 else '+'} {format_number(abs(slope))} * "
            + difference(captions, feature, center)
            for feature, slope, center in zip(
                self.features, self.slopes, self.centers, strict=True)]
        constant = format_number(self.constant)
        # A constant of zero is left out.
        first = [] if constant == "0" and terms else [constant]
        text = " ".join([*first, *terms, self.hidden]).strip().removeprefix("+ ")
        if not self.limits:
            return text
        return f"{text}, within [{', '.join(map(format_number, self.limits))}]"


def difference(captions, feature, center):
    """A feature, less the number near its mean, as it is written in a term."""
    if center:
        name = one_line(captions.feature_names[feature])
        return f"({name} {'-' if center > 0 else '+'} {format_number(abs(center))})"
    return factor(captions, feature)


def log_odds_of(captions):
    """Captions of the log-odds of two classes, without their names, as linear leaves are written.

    Others are the captions themselves.
    """
    tree, names, summary = captions.tree, captions.class_names, captions.summary
    if tree.slopes is None or tree.ranges is not None or names is None or len(names) != 2:
        return captions
    odds = log_odds_tree(tree)
    if summary is not None:     # the largest span that the difference may have
        summary = replace(summary, tree=odds, spans=summary.spans.sum(keepdims=True))
    return replace(captions, tree=odds, class_names=None, summary=summary)


def log_odds_tree(tree):
    """The tree of the differences of the logits of a tree with linear leaves for two classes."""
    return tree.replace(values=tree.values[:, 1:] - tree.values[:, :1],
                        slopes=tree.slopes[:, 1:] - tree.slopes[:, :1])


def formula_of(captions, leaf, output, n_terms, digits, *, terms=None):
    """The formula of a leaf for one output.

    Parameters
    ----------
    captions : Captions
    leaf : int
    output : int
    n_terms : int or None
        Number of features to show. None shows all.
    digits : int or None
        Least number of significant digits. Numbers have more where the error of a prediction would
        exceed half a unit in that digit of the range of all predictions: leaves that differ have to
        look different. None stands for 3, or for exact numbers where all features are shown and the
        samples are not known.
    terms : (ndarray of int, ndarray), default=None
        The features in the order in which they are shown, at least all that have a slope, and their
        effects. None begins with the largest effect.

    Returns
    -------
    Formula
    """
    tree, summary = captions.tree, captions.summary
    slopes = np.zeros(1) if tree.slopes is None else tree.slopes[leaf, output]
    limits = () if tree.ranges is None else tree.ranges[leaf, output]
    value, (features, effect) = tree.values[leaf, output], terms or terms_of(captions, slopes)
    slopes = slopes[features]
    if not len(features):
        value, limits = np.clip(value, *limits) if len(limits) else value, ()
    hidden, shown = hidden_terms(captions, effect, n_terms), features[:n_terms]
    as_it_is = Formula(
        exact(value), shown, [*map(exact, slopes[:n_terms])], [Decimal(0)] * len(shown),
        [*map(exact, limits)], hidden)
    if digits is None and summary is None and not hidden:
        return as_it_is
    digits = digits or DEFAULT_DIGITS
    tolerance = tolerance_of(captions, output, digits)
    centers = [_center(captions, leaf, feature) for feature in shown]
    # Where the constant holds: at the written centers, and at the means of hidden features.
    point = np.zeros(len(features))
    if summary is not None and len(features):
        point = summary.leaf_means[leaf, features]
    point[:len(shown)] = [float(center) for center in centers]
    with np.errstate(over="ignore", invalid="ignore"):
        constant = value + slopes @ point
        if summary is None or hidden or not len(features):
            rounded, room = [shortest(slope, digits) for slope in slopes[:n_terms]], tolerance
        else:
            # Another slope changes the prediction of a sample by at most the change times the
            # largest distance of the feature from its center.
            center, half_range = summary.center_and_half_range(features)
            size = abs(value) + np.abs(slopes) @ (np.abs(center) + np.abs(point) + half_range)
            rounded, _, error = round_weights(
                slopes, np.abs(center - point) + half_range, size, tolerance, digits)
            room = tolerance - error
    if not (room > 0 and np.isfinite(constant)):
        return as_it_is
    return Formula(
        _near(constant, digits, room), shown, rounded, centers,
        [_near(limit, digits, tolerance) for limit in limits], hidden)


def _near(value, digits, tolerance):
    return shortest(value, digits, lambda rounded: abs(rounded - value) <= tolerance)


def mean_texts(captions, prediction, digits=None):
    """The mean prediction of a node as text, with the digits of the leaves.

    Parameters
    ----------
    captions : Captions
    prediction : ndarray of shape (n_outputs,)
        Numbers.
    digits : int or None, default=None
        As for `formula_of`; None stands for 3.

    Returns
    -------
    list of str
    """
    digits = digits or DEFAULT_DIGITS
    return [format_within(value, digits, tolerance_of(captions, output, digits))
            for output, value in enumerate(prediction.tolist())]


def tolerance_of(captions, output, digits=DEFAULT_DIGITS):
    """By how much a prediction may be rounded, so that predictions that differ look different.

    Parameters
    ----------
    captions : Captions
    output : int
    digits : int, default=3

    Returns
    -------
    float
        Half a unit in this digit of the range of all predictions; infinite if all are the same.
    """
    if captions.summary is None or captions.tree.slopes is None:
        values = captions.tree.values[:, output]
        half = values.max() / 2 - values.min() / 2      # as the difference may overflow
    else:
        half = captions.summary.spans[output] / 2
    return 10.0**-digits * half if half > 0 else np.inf


def _center(captions, leaf, feature):
    """The shortest number near the mean of a feature in a leaf; 0 without samples."""
    # Bools, categories and gaps are 0 or 1; the constant is the prediction without them.
    if captions.summary is None or not captions.is_number(feature) or feature in captions.booleans:
        return Decimal(0)
    mean = float(captions.summary.leaf_means[leaf, feature])
    tolerance = _CENTER_TOLERANCE * captions.summary.std[feature]
    return Decimal(0) if abs(mean) <= tolerance else _near(mean, 1, tolerance)


def is_linear_model(tree):
    """Return whether a tree is a single linear leaf."""
    return tree.n_internal == 0 and has_slopes(tree)
