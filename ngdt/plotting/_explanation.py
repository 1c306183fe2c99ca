"""A plot of the explanation of a prediction."""

import textwrap

import numpy as np

from ngdt._util.numbers import format_value
from ngdt._util.text import typeset
from ngdt._util.validation import check_counts
from ngdt.plotting._style import BLUE, DARK, RED, axes_of, draw_key, import_pyplot, short, shortened

# Height of a bar, of the title and ticks of a panel, of a panel without bars, and of a line of the
# title of the figure, in inches.
_BAR_HEIGHT, _PANEL_HEIGHT, _EMPTY_HEIGHT, _LINE_HEIGHT = 0.24, 0.95, 0.45, 0.2
# Characters of a column, of a rule or a prediction, and of a line of the title of the figure.
_NAME_LENGTH, _TITLE_LENGTH, _WIDTH = 28, 60, 65
_LINE_LENGTH = 58       # of two predictions that are side by side
# Largest end of a bar: matplotlib adds lengths and room to it.
_MOST = 4e307


def plot_explanation(explanation, *, n_terms=5, ax=None):
    """Plot the explanation of a prediction: the contribution of each feature, sum by sum.

    There is a panel for each node of the path and for a linear leaf, from top to bottom; for a
    forest, there is a single one. It begins with the sum where each feature is at its
    mean, or with the mean prediction of the forest. Each bar is the contribution of a
    column, red if it is positive and blue if it is negative. The last point is the sum: the
    prediction or, for a node, the margin of the sample, its weighted sum minus the limit. For a
    rule on one number, it is in the unit of this number. A rule on the categories of one column, or
    on a sum that is drawn above, has no bars. The title of a node is its rule with the answer and,
    without bars, the category or the margin; below the panel are the predictions for both answers.
    A new figure has a key of the colours.

    Parameters
    ----------
    explanation : Explanation
        As `explain` returns them, one for each sample.
    n_terms : int or None, default=5
        Number of terms of a sum that are drawn. The others are summed up. None draws all.
    ax : matplotlib Axes or array of these, default=None
        Where to draw: at least one for each sum. None makes a new figure.

    Returns
    -------
    list of matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import ObliqueTreeClassifier
    >>> from ngdt.plotting import plot_explanation
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ObliqueTreeClassifier(max_depth=2, optimizer=None).fit(X, y)
    >>> [ax.get_title(loc="left") for ax in plot_explanation(tree.explain(X[:1])[0])]
    ['x2 ≤ 2.45? yes']
    """
    plt = import_pyplot()
    if not hasattr(explanation, "_panels"):
        raise TypeError("explanation must be that of one sample, such as model.explain(X)[0], got "
                        f"{type(explanation).__name__}")
    check_counts(n_terms=n_terms)
    panels = [
        (_lines(short(title, 2 * _TITLE_LENGTH - 2)), sides,
         _bars(terms.by_column(), n_terms, sides is not None) if has_bars else [])
        for terms, (title, has_bars, sides) in zip(
            explanation.sums().values(), explanation._panels(), strict=True)]
    if ax is None:
        heights = [
            (_PANEL_HEIGHT + _BAR_HEIGHT * len(bars) if bars else _EMPTY_HEIGHT)
            + _LINE_HEIGHT * title.count("\n") for title, _, bars in panels] or [1.0]
        title = f"prediction: {explanation.prediction}"
        if [title] == [of_panel for of_panel, *_ in panels]:
            title = ""      # a single panel of this title
        title = textwrap.wrap(title, _WIDTH, max_lines=4, placeholder=" …")
        figure, ax = plt.subplots(
            len(heights), figsize=(6.5, 0.5 + _LINE_HEIGHT * len(title) + sum(heights)),
            height_ratios=[len(bars) or 0.1 for *_, bars in panels] or None, squeeze=False,
            layout="constrained")
        figure.suptitle("\n".join(title), fontsize=11, parse_math=False)
        if any(bars for *_, bars in panels):
            of_nodes = any(sides for _, sides, _ in panels)
            draw_key(figure, {BLUE: f"lowers the sum{' (to the left)' * of_nodes}",
                              RED: f"raises the sum{' (to the right)' * of_nodes}"})
        if not panels:
            ax[0, 0].set_axis_off()
    axes = axes_of(ax, len(panels))
    for (title, sides, bars), panel in zip(panels, axes, strict=True):
        _draw(panel, bars, has_zero=sides is not None)     # the boundary
        panel.set_title(title, fontsize=9, loc="left", parse_math=False)
        if sides is not None:
            _draw_sides(panel, *sides, below=16 if bars else 0)
    return axes


def _lines(title):
    return "\n".join(textwrap.wrap(title, _TITLE_LENGTH, break_on_hyphens=False))


def _draw_sides(ax, *sides, below):
    """Write the predictions of both sides of the boundary below the ends of the axis."""
    left, right = (textwrap.shorten(side, _TITLE_LENGTH, placeholder=" …") for side in sides)
    next_line = 12 * (len(left) + len(right) > _LINE_LENGTH)
    for place, side, text, offset in (
            (0.0, "left", f"← {left}", below), (1.0, "right", f"{right} →", below + next_line)):
        ax.annotate(text, (place, 0), xycoords="axes fraction", xytext=(0, -offset),
                    textcoords="offset points", ha=side, va="top", fontsize=8, color=DARK,
                    parse_math=False)


def _bars(terms, n_terms, of_node):
    """Start, end, label and colour of each bar."""
    terms, total = (terms._in_unit(), "sum − limit") if of_node else (terms, "sum")
    rows = terms._rows(n_terms)
    names = [name if np.isnan(value) else f"{name} = {format_value(value)}" for name, (_, value, *_)
             in zip(shortened([name for name, *_ in rows], _NAME_LENGTH), rows, strict=True)]
    with np.errstate(over="ignore"):
        ends = terms.base + np.cumsum([0.0, *(contribution for *_, contribution in rows)])
    bars = [
        (begin, end, name, RED if end > begin else BLUE)
        for begin, end, name in zip(ends[:-1], ends[1:], names, strict=True)]
    return [(terms.base, terms.base, terms.base_name, DARK), *bars,
            (terms.total, terms.total, total, DARK)]


def _draw(ax, bars, has_zero):
    if not bars:
        ax.set_axis_off()
        return
    begins, ends, names, colors = zip(*bars, strict=True)
    begins, ends = (np.clip(each, -_MOST, _MOST) for each in (begins, ends))
    places, lengths = np.arange(len(bars)), np.subtract(ends, begins)
    numbers = [ends[0], *lengths[1:-1], ends[-1]]
    signs = ["", *("+" if length >= 0 else "" for length in lengths[1:-1]), ""]
    ax.bar_label(
        ax.barh(places, lengths, left=begins, color=colors, height=0.72),
        [typeset(f"{sign}{format_value(float(number))}")
         for sign, number in zip(signs, numbers, strict=True)],
        padding=6, fontsize=7, color="0.3",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5})
    # From the end of each bar to the start of the next one.
    ax.vlines(ends[:-1], places[:-1], places[1:], color="0.6", linewidth=0.8)
    ax.plot([begins[0], ends[-1]], places[[0, -1]], "o", color=DARK, markersize=5)
    low, high = min(ends), max(ends)
    span = (high - low) or 1.0
    if has_zero or low - span <= 0.0 <= high + span:
        low, high = min(low, 0.0), max(high, 0.0)
        ax.axvline(0.0, color="0.4", linewidth=0.8)
    room = 0.2 * ((high - low) or 1.0)     # for numbers beside the bars
    ax.set(yticks=places, yticklabels=names, ylim=(len(bars) - 0.4, -0.6),
           xlim=(low - room, high + room))
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="both", labelsize=8, length=0)
