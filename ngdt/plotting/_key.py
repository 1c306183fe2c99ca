"""Key of a plot of a tree, which explains its colours and bars."""

import numpy as np

from ngdt._core.structure import has_slopes
from ngdt._inspection.conditions import condition_of
from ngdt._inspection.leaf_formulas import mean_texts
from ngdt._util.text import typeset
from ngdt.plotting._blocks import LINE, text_width, write
from ngdt.plotting._contents import VALUE_COLOR, blend
from ngdt.plotting._style import DARK, DIRECTIONS, class_colors, shortened

_SIZE = 0.9
_SQUARE, _GAP = 1.0, 1.2
_MAX_CLASSES, _NAME_LENGTH = 20, 32


class Key:
    """Key of a plot: entries, in lines. An entry without colour is a remark.

    Parameters
    ----------
    contents : Contents
    shown : collection of int
        The nodes and leaves that are drawn with what is in them.
    width : float
        Largest width of a line.
    """

    def __init__(self, contents, shown, width):
        lines = [[]]
        for entry in _colors(contents):
            if lines[-1] and _line_width([*lines[-1], entry]) > width:
                lines.append([])
            lines[-1].append(entry)
        lines += [[(None, text)] for text in _remarks(contents, shown)]
        self._lines = [line for line in lines if line]
        self.width = max(map(_line_width, self._lines), default=0.0)
        self.height = LINE * _SIZE * len(self._lines)

    def draw(self, ax, x, y, fontsize):
        """Draw the key; x is its left end and y its top."""
        from matplotlib.patches import Rectangle

        for k, line in enumerate(self._lines):
            left, middle = x, y + LINE * _SIZE * (k + 0.5)
            for color, text in line:
                if color is not None:
                    ax.add_patch(Rectangle(
                        (left, middle - 0.4 * _SQUARE), _SQUARE, 0.8 * _SQUARE, facecolor=color,
                        edgecolor=DARK, linewidth=0.4))
                    left += _SQUARE + 0.3
                write(ax, left, middle, text, _SIZE * fontsize, ha="left",
                      color=DARK if color is None else "black")
                left += _SIZE * text_width(text) + _GAP


def _line_width(line):
    return sum(_SIZE * text_width(text) + _GAP + (color is not None) * (_SQUARE + 0.3)
               for color, text in line) - _GAP


def _colors(contents):
    """Entries for the colours of images, classes and values."""
    captions, shape = contents.captions, contents.shape
    names, entries = captions.class_names, []
    if shape is not None:
        entries += DIRECTIONS.items()
    if names is not None:
        if len(names) <= _MAX_CLASSES and (contents.images is None or contents.filled):
            entries += zip(
                class_colors(len(names)), shortened(names, _NAME_LENGTH), strict=True)
    elif contents.filled and contents.value_range is not None:
        entries += [
            (blend(VALUE_COLOR, place), typeset(*mean_texts(captions, np.array([value]))))
            for place, value in zip((0.0, 1.0), contents.value_range, strict=True)]
    return entries


def _remarks(contents, shown):
    """Remarks on bars and linear leaves, in lines that are short enough for a small tree."""
    captions = contents.captions
    has_sums = any(item >= 0 and condition_of(captions, item).is_sum for item in shown)
    is_linear = any(item < 0 and has_slopes(captions.tree, ~item) for item in shown)
    known, of_classes = captions.summary is not None, captions.class_names is not None
    remarks = ["shares of classes are shares of weights, not of samples"] * captions.is_weighted
    if contents.shape is None and (has_sums or is_linear):
        remarks.append(f"length of a bar: |weight|{' × standard deviation' * known}")
        if has_sums:
            remarks.append("bar of a split to the right: larger values lead to the right")
        if is_linear:
            remarks += ["bars of a leaf: larger values speak for the class on the",
                        "right, against the class on the left"] if of_classes else [
                "bar of a leaf to the right: larger values raise the prediction"]
    if is_linear:
        remarks.append("linear leaf: " + (
            "what it predicts depends on features" if not known
            else "mean probabilities of its samples" if of_classes
            else "prediction at the mean of its samples"))
    return remarks
