"""Contents of the boxes in a plot of a tree."""

import textwrap
from functools import cached_property

import numpy as np

from ngdt._core.structure import has_slopes
from ngdt._inspection.conditions import first_condition
from ngdt._inspection.leaf_formulas import formula_of, mean_texts
from ngdt._inspection.rules import (
    DEFAULT_DIGITS,
    DEFAULT_TERMS,
    factor,
    hidden_terms,
    terms_of,
    with_targets,
)
from ngdt._util.arrays import as_dense, group_matrix
from ngdt._util.numbers import count, format_number, format_probability, place_between, shortest
from ngdt._util.text import typeset
from ngdt.plotting._blocks import Bars, Box, Image, Shares, Text
from ngdt.plotting._style import DARK, class_colors, short, shortened

_LINE_LENGTH = 26       # characters of a line of text
_MAX_LINES = 4          # of a condition or a class
_NAME_LENGTH = 32       # characters of the name of a bar
_NUMBER_LENGTH = 8      # characters of a weight, above which it is rounded
_N_SLOPES = 3           # of a linear leaf
_N_TARGETS = 3
# Largest share of a colour in the background of a box, so that text and bars stay legible.
_MAX_COLOR = 0.45
VALUE_COLOR = "#e76300"    # of large predictions


class Contents:
    """The boxes of the nodes and leaves of a tree.

    Parameters
    ----------
    captions : Captions
    images : tuple of (ndarray, ndarray), or None
        Number of images in each leaf, and their mean.
    shape, filled, proportion, precision, node_ids
        As for `plot_tree`.
    """

    def __init__(self, captions, images, shape, filled, proportion, precision, node_ids):
        self.captions, self.images, self.shape, self.filled = captions, images, shape, filled
        self._proportion, self._precision, self._node_ids = proportion, precision, node_ids
        self._predictions = captions.node_predictions()
        known = self._predictions[~np.isnan(self._predictions).any(axis=1)]
        has_range = captions.class_names is None and captions.tree.n_outputs == 1 and len(known)
        self.value_range = (known.min(), known.max()) if has_range else None

    @cached_property
    def _factors(self):
        """Names of the features in terms, which are short where that tells them apart."""
        captions = self.captions
        return shortened([factor(captions, j) for j in range(len(captions.feature_names))],
                         _NAME_LENGTH)

    def split(self, node):
        """The box of a split."""
        weights = self.captions.tree.dense_weights([node])[0]
        rule = self._rule(node) if self.shape is None else [Image.of_weights(weights, self.shape)]
        return self._box(node, f"node {node}", [*rule, *self._summary(node)])

    def cut(self, node, n_leaves):
        """The box of a subtree that is not drawn."""
        name = [] if self.images is None else self._class(node)
        return self._box(node, f"node {node}", [
            Text([*name, f"… {n_leaves} leaves"]), *self._summary(node)])

    def leaf(self, leaf):
        """The box of a leaf."""
        number = self.captions.tree.n_internal + leaf
        if self.images is not None:
            blocks = self._mean_image(leaf)
        else:
            of_values = self.captions.class_names is None
            blocks = self._values(leaf) if of_values else self._classes(leaf)
            blocks += self._count(number)
        return self._box(number, f"node {number}, leaf {leaf}", blocks)

    def _box(self, number, name, blocks):
        if self._node_ids:
            blocks = [Text([name], 0.8, DARK), *blocks]
        return Box(blocks, self._color(number))

    def _color(self, number):
        """The colour of a box: paler for lower probabilities, or for smaller values."""
        prediction = self._predictions[number]
        if not self.filled or np.isnan(prediction).any():
            return "white"
        if self.captions.class_names is None:
            if self.value_range is None:
                return "white"
            return blend(VALUE_COLOR, place_between(prediction[0], *self.value_range))
        share = place_between(prediction.max(), 1 / len(prediction), 1.0)
        return blend(class_colors(len(prediction))[prediction.argmax()], share)

    # --- splits

    def _rule(self, node):
        captions, digits = self.captions, self._precision
        condition = first_condition(captions, node, DEFAULT_TERMS, digits)
        if not condition.is_sum:
            return [Text(_wrapped(condition.typeset))]
        numbers, threshold, about = _short_numbers(condition.rule, digits)
        limit = f"{condition.short_subject} ≤ {about}{typeset(format_number(threshold))}"
        if condition.is_repeated:
            return [Text([limit])]
        weights = captions.tree.dense_weights([node])[0]
        return [*self._bars(weights, condition.rule.features, numbers, DEFAULT_TERMS),
                Text([limit])]

    def _bars(self, weights, features, numbers, n_terms):
        """The largest terms of a sum as bars, and a line on the others."""
        _, effect = terms_of(self.captions, weights)
        names = [
            f"{typeset(format_number(number))} × {self._factors[j]}"
            for j, number in zip(features, numbers, strict=True)]
        lengths = np.sign(weights[features]) * effect[:len(features)]
        bars = Bars(names, lengths[None], [[DARK] * len(names)])
        return [bars, *self._hidden(effect, n_terms)]

    def _hidden(self, effect, n_terms):
        hidden = hidden_terms(self.captions, effect, n_terms)
        return [Text([hidden], 0.8, DARK)] if hidden else []

    # --- statistics of the samples

    def _count(self, number):
        counts = self.captions.n_node_samples
        if counts is None:
            return []
        share = counts[number] / max(counts[0], 1)
        text = f"{100 * share:.3g} % of samples" if self._proportion else (
            count(counts[number], "sample"))
        return [Text([text], 0.85, DARK)]

    def _summary(self, node):
        """Number of samples of a split, with the shares of the classes or the mean prediction."""
        blocks, prediction = self._count(node), self._predictions[node]
        if np.isnan(prediction).any():
            return blocks
        if self.captions.class_names is not None:
            shares = Shares(prediction, class_colors(len(prediction)))
            return [*blocks, shares] if self.images is None else blocks     # the key has no colours
        means = mean_texts(self.captions, prediction, self._precision)
        more = ["…"] * (len(means) > _N_TARGETS)
        text = typeset(f"mean {', '.join(means[:_N_TARGETS] + more)}")
        return [*blocks, Text([text], 0.85, DARK)]

    def _class(self, number):
        """The most probable class of a node or leaf, list of str; empty if it is not known."""
        names, prediction = self.captions.class_names, self._predictions[number]
        is_known = names is not None and not np.isnan(prediction).any()
        return [shortened(names, _NAME_LENGTH)[prediction.argmax()]] if is_known else []

    # --- leaves

    def _classes(self, leaf):
        captions = self.captions
        prediction = self._predictions[captions.tree.n_internal + leaf]
        note = []
        if has_slopes(captions.tree, leaf):
            note = [Text(["linear"], 0.85, DARK)]
            note += self._class_slopes(leaf) if self.shape is None else []
        if np.isnan(prediction).any():
            return note
        best = prediction.argmax()
        title = Text(_wrapped(captions.class_names[best]), weight="bold")
        share = Text([f"{format_probability(prediction[best], whole=100)} %"])
        return [title, share, *note, Shares(prediction, class_colors(len(prediction)))]

    def _values(self, leaf):
        captions, digits = self.captions, self._precision or DEFAULT_DIGITS
        n_outputs, known = captions.tree.n_outputs, captions.summary is not None
        formulas = [formula_of(captions, leaf, output, n_terms=0, digits=digits)
                    for output in range(min(n_outputs, _N_TARGETS))]
        numbers = [typeset(format_number(formula.constant)) if known or not formula.hidden
                   else "linear" for formula in formulas]
        names = captions.target_names and shortened(
            captions.target_names[:len(numbers)], _LINE_LENGTH - _NUMBER_LENGTH)
        blocks = []
        for output, line in enumerate(with_targets(names, numbers)):
            blocks += [Text([line], weight="bold"), *self._slopes(leaf, output)]
        return blocks + [Text(["…"], weight="bold")] * (n_outputs > _N_TARGETS)

    def _slopes(self, leaf, output):
        """The features of a linear leaf, for one of the targets."""
        if not has_slopes(self.captions.tree, leaf):
            return []
        slopes = self.captions.tree.slopes[leaf, output]
        if self.shape is not None:
            return [Image.of_weights(slopes, self.shape)]
        features = terms_of(self.captions, slopes)[0][:_N_SLOPES]
        numbers = [shortest(slopes[j], self._precision or DEFAULT_DIGITS) for j in features]
        return self._bars(slopes, features, numbers, _N_SLOPES)

    def _class_slopes(self, leaf):
        """The features of a linear leaf, with the classes that they separate most.

        A number that is added to the slopes of all classes changes no probability. So only their
        differences matter, and bars show the differences from the mean.
        """
        slopes, std = self.captions.tree.slopes[leaf], self.captions.std
        features, effect = terms_of(self.captions, np.ptp(slopes, axis=0))
        shown = features[:_N_SLOPES]
        if not len(shown):
            return []
        contrasts = ((slopes - slopes.mean(axis=0)) * std)[:, shown]
        classes = np.array([contrasts.argmin(axis=0), contrasts.argmax(axis=0)])
        lengths = np.take_along_axis(contrasts, classes, axis=0)
        colors = np.array(class_colors(len(slopes)))[classes].tolist()
        bars = Bars([self._factors[j] for j in shown], lengths / (np.abs(lengths).max() or 1.0),
                    colors)
        return [bars, *self._hidden(effect, _N_SLOPES)]

    def _mean_image(self, leaf):
        """The mean of the images in a leaf, below its prediction and their number."""
        counts, means = self.images
        tree = self.captions.tree
        if self.captions.class_names is None:
            title = self._values(leaf)[0].lines[0]
        else:
            linear = ["linear"] * has_slopes(tree, leaf)
            title = ", ".join(self._class(tree.n_internal + leaf) + linear)
        limits = np.nanmin(means), np.nanmax(means)
        return [Text([f"{title} ({counts[leaf]})"], weight="bold"),
                Image(means[leaf].reshape(self.shape), limits, "gray_r")]


def mean_images(captions, leaf, X):
    """Number of images in each leaf, and their mean.

    Parameters
    ----------
    captions : Captions
    leaf : ndarray of int, shape (n_images,)
        The leaf of each image.
    X : ndarray or CSR matrix of shape (n_images, n_features)

    Returns
    -------
    counts : ndarray of int, shape (n_leaves,)
    means : ndarray of shape (n_leaves, n_features)
        NaN, which is drawn as nothing, where there are none.
    """
    n_leaves = captions.tree.n_leaves
    counts = np.bincount(leaf, minlength=n_leaves)
    total = as_dense(group_matrix(leaf, n_leaves) @ X)
    return counts, total / np.where(counts > 0, counts, np.nan)[:, None]


def blend(color, share):
    """Mix a colour with white; its share is from 0 to 1."""
    from matplotlib.colors import to_rgb

    return tuple(1 - _MAX_COLOR * share * (1 - part) for part in to_rgb(color))


def _short_numbers(rule, digits):
    """Weights and threshold of a rule, rounded to fit a box, and "about " if they are rounded."""
    numbers = [*rule.weights, rule.threshold]
    *weights, threshold = fitting = [
        number if len(format_number(abs(number))) <= _NUMBER_LENGTH
        else shortest(number, digits or DEFAULT_DIGITS) for number in numbers]
    return weights, threshold, "about " * (fitting != numbers)


def _wrapped(text):
    """Wrap a text into lines; a text that is too long for a box is cut in the middle."""
    # A limit alone in a line is hard to read.
    text = short(text, _MAX_LINES * _LINE_LENGTH).replace(" ≤ ", " ≤\xa0")
    return [line.replace("\xa0", " ") for line in textwrap.wrap(text, _LINE_LENGTH)] or [""]
