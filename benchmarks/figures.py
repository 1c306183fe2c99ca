"""Figures of the benchmarks: from the rows of one CSV file to a picture in a folder."""

from math import ceil, isqrt

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy.optimize import linprog

from benchmarks.data import TITLES

# Shapes and lines tell the methods apart without colours; the colours are safe for colour-blind
# readers. Greedy methods are dashed, dotted or both.
STYLES = {
    "axis-aligned": {"color": "0.55", "linestyle": ":", "marker": "s"},
    "random": {"color": "#E69F00", "linestyle": "-.", "marker": "v"},
    "oc1": {"color": "#009E73", "linestyle": "--", "marker": "^", "label": "OC1"},
    "co2": {"color": "#CC79A7", "linestyle": (0, (6, 2)), "marker": "D", "label": "CO2"},
    "non-greedy": {"color": "#D55E00", "marker": "o", "label": "non-greedy, as in the paper"},
    "ssgd": {"color": "#56B4E9", "marker": "X", "label": "non-greedy, SSGD()"},
    "greedy": {"color": "#CC79A7", "linestyle": "--", "marker": "D",
               "label": "greedy end-to-end tree (Greedy E2EDT)"},
    "finetuned": {"color": "#D55E00", "marker": "o",
                  "label": "finetuned end-to-end tree (Finetune E2EDT)"},
    "end-to-end": {"color": "#D55E00", "marker": "o", "label": "end-to-end forest"},
    "random forest": {"color": "0.45", "linestyle": "--", "marker": "s"},
    "annealed": {"color": "black", "marker": "P", "label": "annealed (ours)"},
}
# Where these are the least accurate, an axis begins above them: the others can be told apart.
CUT = "axis-aligned", "random"


def accuracy_by_depth(rows, folder, name="depths", floors=None):
    """Test accuracy above, training accuracy below, for each data set.

    The name is the file's. Floors are where the axes of some data sets begin.
    """
    names = [each for each in TITLES if each in set(rows["data"])]
    n_blocks = ceil(len(names) / 5)
    n_columns = ceil(len(names) / n_blocks)
    figure = Figure(figsize=(max(2.9 * n_columns, 7) + 0.4, 5.6 * n_blocks + 0.5),
                    layout="constrained")
    axes = figure.subplots(2 * n_blocks, n_columns, squeeze=False)
    handles = {}
    # One pair of panels, test above training, for each data set, block by block.
    pairs = axes.reshape(n_blocks, 2, n_columns).swapaxes(1, 2).reshape(-1, 2)
    for i, pair in enumerate(pairs):
        for part, (panel, column) in enumerate(zip(pair, ("test", "train"), strict=True)):
            if i >= len(names):
                panel.set_axis_off()
                continue
            group = rows[rows["data"] == names[i]]
            _accuracy(panel, group, column)
            panel.set_ylim(_floor(group, column, (floors or {}).get(names[i])),
                           min(panel.get_ylim()[1], 100.5))
            panel.set_title(f"{TITLES[names[i]]}, {'training' if part else 'test'}", fontsize=9)
            panel.set_xticks(sorted(group["depth"].unique()))
            panel.set_xlabel("depth" if part else "")
            handles |= dict(zip(*panel.get_legend_handles_labels()[::-1], strict=True))
    for panel in axes[:, 0]:
        panel.set_ylabel("accuracy, %")
    figure.legend(handles.values(), handles, loc="outside lower center",
                  ncols=len(handles) if n_columns > 2 else 2, fontsize=9)
    figure.savefig(folder / f"{name}.png", dpi=110)


def _floor(rows, column, floor):
    """Beginning of the axis of a panel: None is below all points."""
    means = rows[~rows["method"].isin(CUT)].groupby(["method", "depth"])[column].mean()
    if floor is not None or means.empty:
        return floor
    return means.min() - 0.1 * (means.max() - means.min())


def _accuracy(ax, rows, column):
    for method, style in STYLES.items():
        mean = rows[rows["method"] == method].groupby("depth")[column].mean()
        if len(mean):
            ax.plot(mean.index, mean, **{"label": method, "markersize": 5, **style})
    _plain(ax)


def leaves_by_nu(rows, folder):
    """Active leaves, and test error, against nu; dotted: the leaves of the initial tree."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots(1, 2)
    for depth, (color, marker) in zip(
            sorted(rows["depth"].unique()),
            (("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^")), strict=False):
        group = rows[rows["depth"] == depth].sort_values("nu")
        line = {"color": color, "marker": marker, "markersize": 5, "label": f"depth {depth}"}
        axes[0].axhline(group["initial"].iloc[0], color=color, linestyle=":",
                        label=f"depth {depth}, initial tree")
        axes[0].plot(group["nu"], group["active"], **line)
        axes[1].plot(group["nu"], 100 - group["test"], **line)
    axes[0].set(xlabel="nu", ylabel="active leaves", xscale="log", ylim=(0, None))
    # The errors differ by a point, or by a factor of eight.
    axes[1].set(xlabel="nu", ylabel="test error, %", xscale="log", yscale="log")
    ticks = 5, 6, 7, 8, 10, 15, 20, 30, 50
    axes[1].set_yticks(ticks, [str(tick) for tick in ticks])
    axes[1].minorticks_off()
    for ax in axes:
        _plain(ax)
    lines = dict(zip(*axes[0].get_legend_handles_labels()[::-1], strict=True))
    # Rows of the legend: the trained trees, and below them the initial ones.
    figure.legend([lines[label] for label in sorted(lines, key=lambda label: label[:8])],
                  sorted(lines, key=lambda label: label[:8]), loc="outside lower center", ncols=3,
                  fontsize=9)
    figure.savefig(folder / "leaves.png", dpi=110)


# The end of the axis in the paper's figure 4, which its full search reaches.
END_OF_AXIS = 1800


def epochs_by_depth(rows, folder):
    """Seconds of 1000 epochs, of their searches alone, and scores of a search."""
    figure = Figure(figsize=(11.5, 4.2), layout="constrained")
    epochs, searches, scores = figure.subplots(1, 3)
    for inference, (color, marker, size) in {
            "full": ("#D55E00", "s", 9), "fast": ("#0072B2", "o", 5)}.items():
        group = rows[rows["inference"] == inference].sort_values("depth")
        # The large hollow marks of one line are seen around those of the other.
        line = {"color": color, "marker": marker, "markersize": size, "mfc": "none"}
        epochs.plot(group["depth"], group["seconds"], label=f"{inference}, pruned", **line)
        for ax, column in ((searches, "search_seconds"), (scores, "search_scored")):
            ax.plot(group["depth"], group[column], label=f"{inference}, pruned", **line)
            ax.plot(group["depth"], group[f"{column}_without_pruning"], linestyle="--",
                    label=f"{inference}, not pruned", **line)
    searches.axhline(END_OF_AXIS, color="0.5", linestyle=":", label="end of the paper's axis")
    epochs.set(title="1000 epochs of training", ylabel="seconds", ylim=(0, None))
    searches.set(title="their searches alone, in the initial tree", ylabel="seconds", yscale="log")
    scores.set(title="a search in the initial tree", ylabel="scores per sample", yscale="log")
    for ax in epochs, searches, scores:
        ax.title.set_fontsize(10)
        ax.set_xlabel("depth")
        ax.set_xticks(sorted(rows["depth"].unique()))
        _plain(ax)
    figure.legend(*searches.get_legend_handles_labels(), loc="outside lower center", ncols=5,
                  fontsize=9)
    figure.savefig(folder / "epochs.png", dpi=110)


def accuracy_by_components(rows, folder):
    """Test accuracy of kernel splits against the number of components; dotted: without kernel."""
    figure, panels = _row_of_panels(rows, 2.8, 3.8)
    for name, ax in panels.items():
        group = rows[rows["data"] == name]
        for kernel, style in (
                ("linear", {"linestyle": ":", "color": "0.45", "label": "no kernel"}),
                ("span", {"linestyle": "--", "color": "#009E73",
                          "label": "all training samples as components, TAO"})):
            for test in group[group["kernel"] == kernel]["test"]:
                ax.axhline(test, **style)
        for kernel, color, marker, label in (
                ("nystroem", "#0072B2", "o", "Nystroem"),
                ("fourier", "#D55E00", "s", "random Fourier features")):
            line = group[group["kernel"] == kernel].sort_values("components")
            ax.plot(line["components"], line["test"], color=color, marker=marker, markersize=5,
                    label=label)
        ticks = sorted(set(group["components"]) - {0})
        ax.set(title=TITLES[name], xlabel="components", xscale="log")
        ax.set_xticks(ticks, [str(tick) for tick in ticks])
        ax.minorticks_off()
        # At least three points, so that a few samples do not look like much.
        low, high = ax.get_ylim()
        margin = max(0.0, (3 - (high - low)) / 2)
        ax.set_ylim(low - margin, high + margin)
        _plain(ax)
    _label_row(figure)
    figure.savefig(folder / "kernels.png", dpi=110)


def accuracy_by_evaluations(rows, folder):
    """Test accuracy of forests by the splits that a sample passes; numbers are those of trees."""
    figure, panels = _row_of_panels(rows, 3.6, 4.2)
    for name, ax in panels.items():
        for method, style in STYLES.items():
            line = rows[(rows["data"] == name) & (rows["method"] == method)].sort_values("n_trees")
            if line.empty:
                continue
            ax.plot(line["evaluations"], line["accuracy"],
                    **{"label": method, "markersize": 5, **style})
            # Above the most accurate line, below the others, beside the steep one.
            above, steep = method == "annealed", method == "random forest"
            for point in line.itertuples():
                ax.annotate(
                    point.n_trees, (point.evaluations, point.accuracy), fontsize=8,
                    xytext=(4 if steep else 0, 5 if above else -5), textcoords="offset points",
                    ha="left" if steep else "center", va="bottom" if above else "top",
                    color=style["color"])
        ax.set(title=TITLES[name], xlabel="splits that a sample passes", xscale="log")
        ax.margins(0.12)
        _plain(ax)
    _label_row(figure, title="numbers: trees of the forest")
    figure.savefig(folder / "load.png", dpi=110)


# The models of the figure of tables.
MARKS = {
    "forest": {"marker": "|", "color": "0.25", "s": 90, "linewidths": 2, "label": "random forest"},
    "pruned": {"marker": "D", "facecolors": "white", "edgecolors": "#D55E00", "s": 30,
               "linewidths": 1.4, "label": "pruned decision tree"},
    "default": {"marker": "o", "color": "#0072B2", "s": 34, "label": "ngdt default"},
}


def scores_by_table(scores, titles, folder):
    """Scores of three models on each table; a panel for each task, a title for each score."""
    figure = Figure(figsize=(8, 10.5), layout="constrained")
    axes = figure.subplots(
        len(scores), squeeze=False, height_ratios=[len(table) + 1 for table in scores.values()])
    for ax, (task, table) in zip(axes[:, 0], scores.items(), strict=True):
        # R² below zero would leave no room for the others.
        shown = table.loc[table["default"] > 0, [*MARKS]].sort_values("default")
        heights = range(len(shown))
        ax.hlines(heights, shown.min(axis=1), shown.max(axis=1), color="0.8", zorder=1)
        for z, (method, style) in enumerate(MARKS.items(), start=2):
            ax.scatter(shown[method], heights, zorder=z, **style)
        ax.set(yticks=heights, yticklabels=[name.replace("_", " ") for name in shown.index],
               ylim=(-0.7, len(shown) - 0.3), xlabel=f"{titles[task]} on test samples, %",
               title=task)
        _plain(ax, axis="x")
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
    axes[0, 0].legend(loc="lower right", frameon=True, reverse=True)
    figure.savefig(folder / "tables.png", dpi=110)


# Published trees of the path on MNIST: test error in per cent, splits, C, and the share of weights
# that are not zero in per cent of those of the initial tree. The largest C is not said.
PATH_INITIAL = {"error": 11.03, "splits": 410}
PATH_PUBLISHED = (
    {"error": 5.66, "splits": 230}, {"error": 5.69, "splits": 37, "C": 0.09, "share": 0.95},
    {"error": 10.19, "splits": 16, "C": 0.01, "share": 0.22})


def error_on_path(rows, folder):
    """Errors of the paths of TAO on MNIST against C, splits and nonzero weights.

    Lines are validation errors of a path. Points are test errors: of the initial tree, which is
    hollow, and of the trees of a path that validation samples chose.
    """
    figure = Figure(figsize=(11.5, 4.3), layout="constrained")
    axes = dict(zip(("C", "splits", "nonzeros"), figure.subplots(1, 3, sharey=True), strict=True))
    for (name, path), (color, marker) in zip(
            rows.groupby("initial", sort=False),
            (("#0072B2", "o"), ("#56B4E9", "s"), ("#D55E00", "^"), ("#E69F00", "D")), strict=False):
        trees = path[~path["chosen"].isin(["initial", "refitted"])]
        kind, depth = name.split()
        for column, ax in axes.items():
            ax.plot(trees[column], trees["validation"], color=color,
                    linestyle="--" if kind == "greedy" else "-",
                    label=f"from the {kind} tree of depth {depth}")
            chosen = trees[trees["test"].notna()]
            ax.plot(chosen[column], chosen["test"], marker, color=color)
        initial = path[path["chosen"] == "initial"]
        for column in ("splits", "nonzeros"):
            axes[column].plot(initial[column], initial["test"], marker, color=color, mfc="white")
    _published_path(axes)
    for column, label in (("C", "C"), ("splits", "splits"), ("nonzeros", "nonzero weights")):
        axes[column].set(xlabel=label, xscale="log")
        _plain(axes[column])
    axes["C"].set(ylabel="error, %", ylim=(3.5, 17.5))
    lines = dict(zip(*axes["splits"].get_legend_handles_labels()[::-1], strict=True))
    for label, fill in (("test error, chosen on validation samples", "0.3"),
                        ("test error of the initial tree", "white")):
        lines[label] = Line2D([], [], marker="o", linestyle="", color="0.3", mfc=fill)
    figure.legend(lines.values(), lines, loc="outside lower center", ncols=4, fontsize=9,
                  title="lines: validation error of TAO, one C after the other", title_fontsize=9)
    figure.savefig(folder / "tao_path.png", dpi=110)


def _published_path(axes):
    """Stars: published test errors; the nonzero weights are counted from their share."""
    style = {"color": "black", "linestyle": "", "marker": "*", "markersize": 11}
    n_weights = PATH_INITIAL["splits"] * 784
    for point in PATH_PUBLISHED:
        at = {"C": point.get("C"), "splits": point["splits"],
              "nonzeros": point["share"] / 100 * n_weights if "share" in point else None}
        for column, value in at.items():
            if value is not None:
                axes[column].plot(value, point["error"], **style)
    axes["splits"].plot([], [], **style, label="published, test error")
    axes["splits"].plot(PATH_INITIAL["splits"], PATH_INITIAL["error"], **style, mfc="white")


def smooth_weights(rows, folder):
    """Weights of splits of images: a column for each penalty, a row for each split."""
    names = [name for name in TITLES if name in set(rows["data"])]
    penalties, splits = sorted(rows["spatial_penalty"].unique()), sorted(rows["split"].unique())
    shape = len(names) * len(splits), len(penalties)
    figure = Figure(figsize=(2.0 * shape[1] + 1.2, 2.2 * shape[0]), layout="constrained")
    axes = figure.subplots(*shape, squeeze=False)
    for ax in axes.flat:
        ax.set(xticks=[], yticks=[])
    for row in rows.itertuples():
        line = names.index(row.data) * len(splits) + splits.index(row.split)
        ax = axes[line, penalties.index(row.spatial_penalty)]
        weights = np.array(row.weights.split(), dtype=float)
        image = ax.imshow(
            weights.reshape(2 * (isqrt(len(weights)),)), cmap="RdBu_r", vmin=-100, vmax=100)
        if row.split == splits[0]:
            ax.set_title(f"penalty {row.spatial_penalty:g}\ntest accuracy {row.test:.1f} %",
                         fontsize=9)
        if row.spatial_penalty == penalties[0]:
            part = "root" if row.split == 0 else "left child"
            ax.set_ylabel(f"{TITLES[row.data]}, {part}", fontsize=9)
    figure.colorbar(image, ax=axes, shrink=0.6, label="weight, % of the largest one of the split")
    figure.savefig(folder / "spatial.png", dpi=110)


def cost_of_partitions(rows, folder):
    """Processor time and memory of fits on partitions against the number of rows."""
    rows = rows[(rows["features"] == 20) & (rows["from"] == "made")]
    if len(rows) < 2:
        return
    n, cpu, memory = (rows[name].to_numpy(float) for name in ("rows", "cpu", "pss_mib"))
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.loglog(n, cpu, "o-", label="fit")
    fixed, each = _line(n, cpu)
    left.loglog(n, fixed + each * n, ":", color="0.5",
                label=f"{fixed:.1f} s, and {1e6 * each:.0f} s per million rows")
    left.set(xlabel="rows", ylabel="processor time, s")
    right.loglog(n, memory, "o-", label="peak of all processes")
    right.loglog(n, n * 80 / 2**20, ":", color="0.5", label="the rows themselves")
    right.set(xlabel="rows", ylabel="MiB")
    for ax in (left, right):
        ax.legend(frameon=False)
    figure.savefig(folder / "partitions.png", dpi=110)


def _line(x, y):
    """Intercept and slope of the line with the least largest relative distance from the points.

    A linear program: the distance t is minimised with |a + b x - y| <= t y.
    """
    ones = np.ones_like(x)
    above, below = np.column_stack([ones, x, -y]), np.column_stack([-ones, -x, -y])
    found = linprog([0, 0, 1], np.vstack([above, below]) / np.tile(y, 2)[:, None],
                    np.concatenate([ones, -ones]))
    print(f"{found.x[0]:.3g} s + {found.x[1]:.3g} s per row: within {found.x[2]:.1%}")
    return found.x[:2]


def _row_of_panels(rows, width, height):
    """A figure, and its panels by the data sets, from left to right; sizes in inches."""
    names = [name for name in TITLES if name in set(rows["data"])]
    figure = Figure(figsize=(width * len(names) + 0.4, height), layout="constrained")
    return figure, dict(zip(names, figure.subplots(1, len(names), squeeze=False)[0], strict=True))


def _label_row(figure, title=None):
    """Name the vertical axis, and the lines below all panels."""
    figure.axes[0].set_ylabel("test accuracy, %")
    lines = {}
    for ax in figure.axes:
        lines |= dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
    figure.legend(lines.values(), lines, loc="outside lower center", ncols=4, fontsize=9,
                  title=title, title_fontsize=9)


def _plain(ax, axis="both"):
    ax.grid(axis=axis, color="0.92")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
