"""Plot docs/_static/tables.png and write docs/user_guide/benchmarks_*.csv, for the user guide.

Usage: python docs/figures/tables.py

The figures are those that benchmarks/tables.py has written to benchmarks/results/tables.csv.
"""

from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import pandas as pd

DOCS = Path(__file__).parents[1]
RESULTS = DOCS.parent / "benchmarks/results/tables.csv"
MAX_DEPTH = 8

# Shapes tell the models apart without colours; the colours are safe for colour-blind readers.
MARKS = {
    "forest": {"marker": "|", "color": "0.25", "s": 90, "linewidths": 2, "label": "random forest"},
    "pruned": {"marker": "D", "facecolors": "white", "edgecolors": "#D55E00", "s": 30,
               "linewidths": 1.4, "label": "pruned decision tree"},
    "default": {"marker": "o", "color": "#0072B2", "s": 34, "label": "ngdt default"},
}
METHODS = {
    "default": "default", "greedy": "greedy tree", "pruned": "pruned tree", "forest": "forest",
    "boosting": "boosting", "linear": "linear"}


def read():
    """The rows of the folds on which all methods were run."""
    rows = pd.read_csv(RESULTS)
    rows = rows[(rows.max_depth.isna() | (rows.max_depth == MAX_DEPTH))
                & rows.method.isin(METHODS)]
    rows["score"] *= 100
    n_methods = rows.groupby(["data", "seed", "fold"]).method.transform("nunique")
    return rows[n_methods == len(METHODS)]


def means(rows, task, column="score"):
    """Means over folds: a row per data set, a column per method."""
    rows = rows[rows.task == task]
    return rows.groupby(["data", "method"])[column].mean().unstack()


def plot(rows, path):
    tasks = {"classification": "accuracy on test samples, %",
             "regression": "R² on test samples, %"}
    tables = {task: means(rows, task).sort_values("default") for task in tasks}
    figure, axes = plt.subplots(
        2, figsize=(8, 10.5), layout="constrained",
        height_ratios=[len(table) + 1 for table in tables.values()])
    for ax, (task, table) in zip(axes, tables.items(), strict=True):
        # R² below zero would leave no room for the others.
        shown = table.loc[table["default"] > 0, list(MARKS)]
        heights = range(len(shown))
        ax.hlines(heights, shown.min(axis=1), shown.max(axis=1), color="0.8", zorder=1)
        for z, (method, style) in enumerate(MARKS.items(), start=2):
            ax.scatter(shown[method], heights, zorder=z, **style)
        ax.set(yticks=heights, yticklabels=[name.replace("_", " ") for name in shown.index],
               ylim=(-0.7, len(shown) - 0.3), xlabel=tasks[task], title=task)
        ax.grid(axis="x", color="0.92")
        ax.set_axisbelow(True)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
    axes[0].legend(loc="lower right", frameon=True, reverse=True)
    figure.savefig(path, dpi=110)


def write(rows, task):
    """The tables of a task for the page: scores, and what they cost."""
    scores = means(rows, task).sort_values("default", ascending=False)
    best = scores[list(METHODS)].round(1).max(axis=1)
    names = pd.DataFrame({"Data": scores.index.str.replace("_", " ")}, index=scores.index)
    table = names.assign(Samples=rows.groupby("data").n_samples.first())
    for method, name in METHODS.items():
        table[name.capitalize()] = [
            f"**{value:.1f}**" if round(value, 1) == top else f"{value:.1f}"
            for value, top in zip(scores[method], best, strict=True)]
    table.to_csv(DOCS / f"user_guide/benchmarks_{task}.csv", index=False)
    table = names
    for title, column, unit, digits, methods in (
            ("Leaves", "leaves", 1, 0, ("default", "pruned")),
            ("Training, s", "seconds", 1, 2, ("default", "pruned", "forest")),
            ("One row, ms", "microseconds", 1000, 1, ("default", "forest"))):
        values = means(rows, task, column).loc[scores.index] / unit
        for method in methods:
            table[f"{title}: {METHODS[method]}"] = values[method].map(f"{{:.{digits}f}}".format)
    table.to_csv(DOCS / f"user_guide/benchmarks_{task}_costs.csv", index=False)


def main():
    rows = read()
    plot(rows, DOCS / "_static/tables.png")
    for task in ("classification", "regression"):
        write(rows, task)


if __name__ == "__main__":
    main()
