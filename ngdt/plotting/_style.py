"""Style of all plots: the colours, and the import of matplotlib."""

from collections import Counter

import numpy as np

from ngdt._util.optional import import_optional
from ngdt._util.text import visible

# Diverging and symmetric around white: red weights move samples to the right child, blue ones to
# the left.
WEIGHT_COLORS = "RdBu_r"
RED, BLUE = "#b2182b", "#2166ac"
DIRECTIONS = {BLUE: "negative weight: left", RED: "positive weight: right"}
# Frames and lines, and bars whose side shows their sign.
GREY, DARK = "0.7", "0.35"
# Ten colours that the colour-blind can distinguish, by Matthew Petroff (arXiv:2107.02270), and the
# same with half of the light.
_CLASS_COLORS = (
    "#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6", "#a96b59", "#e76300", "#b9ac70",
    "#717581", "#92dadd",
    "#20486d", "#805407", "#5e1000", "#4a5251", "#42165b", "#54362c", "#743200", "#5c5638",
    "#383a40", "#496d6e")


def class_colors(n_classes):
    """A colour for each class; they repeat from the 21st class on."""
    return [_CLASS_COLORS[c % len(_CLASS_COLORS)] for c in range(n_classes)]


def import_pyplot():
    """Import matplotlib.pyplot, or say how to install it."""
    return import_optional("matplotlib.pyplot", "ngdt.plotting needs", "ngdt[plot]")


def axes_of(ax, n):
    """The first n of the axes that are given as `ax`.

    Parameters
    ----------
    ax : matplotlib Axes or array of these
    n : int

    Returns
    -------
    list of matplotlib Axes

    Raises
    ------
    TypeError, ValueError
        If some are no axes of matplotlib, or if there are less.
    """
    axes = list(np.ravel(ax))
    for each in axes:
        if not hasattr(each, "barh"):
            raise TypeError(f"ax must be matplotlib Axes or None, got {type(each).__name__}")
    if len(axes) < n:
        raise ValueError(f"ax must be at least {n} matplotlib Axes, got {len(axes)}")
    return axes[:n]


def draw_key(figure, colors):
    """Explain colours below the axes of a figure; their meaning by colour."""
    from matplotlib.patches import Patch

    figure.legend(handles=[Patch(color=color, label=label) for color, label in colors.items()],
                  loc="outside lower center", ncols=1 + (figure.get_figwidth() > 4), fontsize=8,
                  frameon=False)


def short(name, length):
    """Shorten a name to one line of at most `length` characters, cut in the middle."""
    name = visible(" ".join(name.splitlines()))
    half = (length - 1) // 2
    return name if len(name) <= length else f"{name[:half]}…{name[-half:]}"


def shortened(names, length):
    """Shorten names; those that would then look like another one stay as long as they are.

    Examples
    --------
    >>> shortened(["sepal length", "petal length", "petal breadth"], 5)
    ['se…th', 'petal length', 'petal breadth']
    """
    cut = [short(name, length) for name in names]
    meant = Counter(text for text, _ in set(zip(cut, names, strict=True)))
    return [text if meant[text] == 1 else short(name, len(name))
            for text, name in zip(cut, names, strict=True)]
