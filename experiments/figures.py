"""Figures of the experiments: from the rows of one CSV file to a picture in a folder."""

from math import ceil

from matplotlib.figure import Figure

from experiments.data import TITLES

# Shapes and lines tell the methods apart without colours; the colours are safe for colour-blind
# readers. Greedy methods are dashed.
STYLES = {
    "axis-aligned": {"color": "0.45", "linestyle": "--", "marker": "s"},
    "random": {"color": "#E69F00", "linestyle": "--", "marker": "v"},
    "oc1": {"color": "#009E73", "linestyle": "--", "marker": "^", "label": "OC1"},
    "co2": {"color": "#CC79A7", "linestyle": "--", "marker": "D", "label": "CO2"},
    "non-greedy": {"color": "#D55E00", "marker": "o", "label": "non-greedy (stable SGD)"},
    "annealed": {"color": "#0072B2", "marker": "P", "label": "annealed (ours)"},
}


def accuracy_by_depth(rows, folder):
    """Test accuracy above, training accuracy below, for each data set."""
    names = [name for name in TITLES if name in set(rows["data"])]
    n_columns = min(4, len(names))
    n_blocks = ceil(len(names) / n_columns)
    figure = Figure(figsize=(2.75 * n_columns + 0.4, 4.6 * n_blocks + 0.5), layout="constrained")
    axes = figure.subplots(2 * n_blocks, n_columns, squeeze=False, sharex=True)
    for i, name in enumerate(names):
        block, column = divmod(i, n_columns)
        for part, column_of_rows in enumerate(("test", "train")):
            ax = axes[2 * block + part, column]
            _accuracy(ax, rows[rows["data"] == name], column_of_rows)
            ax.set_title(f"{TITLES[name]}, {'training' if part else 'test'}", fontsize=9)
    for ax in axes[:, 0]:
        ax.set_ylabel("accuracy, %")
    for ax in axes[-1]:
        ax.set_xlabel("depth")
    for ax in axes.ravel()[[not ax.lines for ax in axes.ravel()]]:
        ax.set_axis_off()
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=9)
    figure.savefig(folder / "depths.png", dpi=110)


def _accuracy(ax, rows, column):
    for method, style in STYLES.items():
        mean = rows[rows["method"] == method].groupby("depth")[column].mean()
        if len(mean):
            ax.plot(mean.index, mean, **{"label": method, "markersize": 4, **style})
    _plain(ax)
    ax.set_xticks(sorted(rows["depth"].unique()))


def leaves_by_nu(rows, folder):
    """Active leaves against nu; dotted: the leaves of the initial tree."""
    figure = Figure(figsize=(8.5, 3.4), layout="constrained")
    axes = figure.subplots(1, 2)
    depths = sorted(rows["depth"].unique())
    for depth, (color, marker) in zip(
            depths, (("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^")), strict=False):
        group = rows[rows["depth"] == depth].sort_values("nu")
        line = {"color": color, "marker": marker, "markersize": 5}
        axes[0].axhline(group["initial"].iloc[0], color=color, linestyle=":")
        axes[0].plot(group["nu"], group["active"], label=f"depth {depth}", **line)
        axes[1].plot(group["nu"], group["test"], label=f"depth {depth}", **line)
    axes[0].set(xlabel="nu", ylabel="active leaves", xscale="log")
    axes[1].set(xlabel="nu", ylabel="test accuracy, %", xscale="log")
    axes[0].legend(frameon=False)
    for ax in axes:
        _plain(ax)
    figure.savefig(folder / "leaves.png", dpi=110)


def epochs_by_depth(rows, folder):
    """Seconds of 1000 epochs, and scores per sample with and without pruning."""
    figure = Figure(figsize=(8.5, 3.4), layout="constrained")
    time, scores = figure.subplots(1, 2)
    for inference, (color, marker) in {"fast": ("#0072B2", "o"), "full": ("#D55E00", "s")}.items():
        group = rows[rows["inference"] == inference].sort_values("depth")
        line = {"color": color, "marker": marker, "markersize": 5}
        time.plot(group["depth"], group["seconds"], label=inference, **line)
        scores.plot(group["depth"], group["scored"], label=f"{inference}, pruned", **line)
        scores.plot(group["depth"], group["scored_without_pruning"], linestyle="--",
                    label=f"{inference}, not pruned", **line)
    time.set(xlabel="depth", ylabel="seconds of 1000 epochs, pruned", ylim=(0, None))
    scores.set(xlabel="depth", ylabel="scores per sample", yscale="log")
    for ax in time, scores:
        ax.legend(frameon=False)
        ax.set_xticks(sorted(rows["depth"].unique()))
        _plain(ax)
    figure.savefig(folder / "epochs.png", dpi=110)


def _plain(ax):
    ax.grid(color="0.92")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
