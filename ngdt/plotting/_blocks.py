"""Blocks that boxes of nodes consist of. Sizes are in units of the font size.

A block has a `width` and a `height`. `draw(ax, x, y, fontsize)` draws it with its middle at x and
its top at y, on axes in these units whose y axis points down.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ngdt.plotting._style import GREY, WEIGHT_COLORS

LINE = 1.3              # height of a line of text
_ROUNDED_UP = 1.06      # letters of small text are as wide as whole pixels
_BAR_COLUMN = 7.0       # width of the bars beside their names
_PADDING, _GAP = 0.5, 0.25     # of a box


@lru_cache(maxsize=4096)
def text_width(text):
    """Width of a line of text in the default font, in units of its size."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=100)
    width = text_to_path.get_text_width_height_descent(text, font, ismath=False)[0] / 100
    return _ROUNDED_UP * width


def write(ax, x, y, text, fontsize, **style):
    """Write a line of text without formulas: a dollar sign in a name stays as it is."""
    return ax.text(x, y, text, fontsize=fontsize, va="center", parse_math=False, **style)


@dataclass(frozen=True)
class Text:
    """Lines of text, one below the other."""

    lines: list
    size: float = 1.0
    color: str = "black"
    weight: str = "normal"

    @property
    def width(self):
        bold = 1.1 if self.weight == "bold" else 1.0
        return bold * self.size * max(map(text_width, self.lines), default=0.0)

    @property
    def height(self):
        return LINE * self.size * len(self.lines)

    def draw(self, ax, x, y, fontsize):
        for k, line in enumerate(self.lines):
            write(ax, x, y + LINE * self.size * (k + 0.5), line, self.size * fontsize,
                  ha="center", color=self.color, weight=self.weight)


@dataclass(frozen=True, eq=False)
class Bars:
    """Names, each with bars to the left and to the right of a line.

    Attributes
    ----------
    names : list of str
    lengths : ndarray of shape (n_bars, n_names)
        From -1 to 1; a bar of negative length is to the left.
    colors : list of list
        Colour of each bar of each name.
    """

    names: list
    lengths: np.ndarray
    colors: list
    size = 0.85

    @property
    def width(self):
        return self.size * max(map(text_width, self.names), default=0.0) + 0.5 + _BAR_COLUMN

    @property
    def height(self):
        return LINE * self.size * len(self.names)

    def draw(self, ax, x, y, fontsize):
        left, step = x - self.width / 2, LINE * self.size
        zero, middles = left + self.width - _BAR_COLUMN / 2, y + step * (
            0.5 + np.arange(len(self.names)))
        for name, middle in zip(self.names, middles, strict=True):
            write(ax, left, middle, name, self.size * fontsize, ha="left")
        for lengths, colors in zip(self.lengths, self.colors, strict=True):
            ax.barh(middles, lengths * _BAR_COLUMN / 2, left=zero, height=0.75 * step, color=colors)
        ax.vlines(zero, y, y + self.height, color=GREY, linewidth=0.8)


@dataclass(frozen=True, eq=False)
class Shares:
    """The shares of all classes in one bar."""

    shares: np.ndarray
    colors: list
    width, height = 6.0, 0.7

    def draw(self, ax, x, y, fontsize):
        lengths = self.width * self.shares
        begins = x - self.width / 2 + np.cumsum(lengths) - lengths
        ax.barh(y + self.height / 2, lengths, left=begins, height=0.75 * self.height,
                color=self.colors)


@dataclass(frozen=True, eq=False)
class Image:
    """Weights or samples as an image."""

    pixels: np.ndarray
    limits: tuple
    colors: str
    height = 6.0

    @classmethod
    def of_weights(cls, weights, shape):
        """An image in which white stands for zero."""
        limit = np.abs(weights).max(initial=0.0) or 1.0
        return cls(weights.reshape(shape), (-limit, limit), WEIGHT_COLORS)

    @property
    def width(self):
        rows, columns = self.pixels.shape
        return self.height * min(max(columns / rows, 0.3), 4.0)

    def draw(self, ax, x, y, fontsize):
        extent = (x - self.width / 2, x + self.width / 2, y + self.height, y)
        frame = [extent[0], extent[1], extent[1], extent[0], extent[0]]
        ax.plot(frame, [y, y, extent[2], extent[2], y], color=GREY, linewidth=0.8, zorder=3)
        low, high = self.limits
        ax.imshow(self.pixels, extent=extent, cmap=self.colors, vmin=low, vmax=high, aspect="auto",
                  zorder=2)


@dataclass(frozen=True)
class Box:
    """Blocks, one below the other, in a frame."""

    blocks: list
    color: str | tuple

    @property
    def width(self):
        return 2 * _PADDING + max(block.width for block in self.blocks)

    @property
    def height(self):
        gaps = _GAP * (len(self.blocks) - 1)
        return 2 * _PADDING + gaps + sum(block.height for block in self.blocks)

    def draw(self, ax, x, y, fontsize, rounded):
        from matplotlib.patches import FancyBboxPatch

        style = "round,pad=0,rounding_size=0.6" if rounded else "square,pad=0"
        ax.add_patch(FancyBboxPatch(
            (x - self.width / 2, y), self.width, self.height, boxstyle=style, linewidth=0.8,
            facecolor=self.color, edgecolor=GREY, zorder=1))
        y += _PADDING
        for block in self.blocks:
            block.draw(ax, x, y, fontsize)
            y += block.height + _GAP
