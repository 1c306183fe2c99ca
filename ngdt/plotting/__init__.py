"""Plots of trees, node weights, training curves, paths and explanations.

`sklearn.inspection.DecisionBoundaryDisplay` draws decision regions.

Matplotlib is an optional dependency: ``pip install "ngdt[plot]"`` installs it. It is imported by
the functions, so that ``import ngdt.plotting`` works without it.
"""

from ngdt.plotting._explanation import plot_explanation
from ngdt.plotting._path import plot_path
from ngdt.plotting._training import plot_history
from ngdt.plotting._tree import plot_tree
from ngdt.plotting._weights import plot_weights

__all__ = [
    "plot_explanation",
    "plot_history",
    "plot_path",
    "plot_tree",
    "plot_weights",
]
