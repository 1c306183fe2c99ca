"""Error, size and prediction cost along a path over C, and error along one over sizes."""

import numpy as np

from ngdt.plotting._style import BLUE, GREY, RED, axes_of, import_pyplot


def plot_path(path, *, ax=None):
    """Plot errors, size, path length and multiplications over C, or errors over the size.

    Parameters
    ----------
    path : TAOPath or SizePath
        The return value of `ngdt.tao_path` or `ngdt.path.size_path`. Of the latter, errors are
        drawn with one standard error to either side, and the chosen size.
    ax : matplotlib Axes, or array of four for a TAOPath, default=None
        Where to draw. None makes a new figure.

    Returns
    -------
    list of matplotlib Axes
        The axes drawn on.

    References
    ----------
    Carreira-Perpinan & Tavallali (2018), Alternating Optimization of Decision Trees, with
    Application to Learning Sparse Oblique Trees, NeurIPS 31, Fig. 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import tao_path
    >>> from ngdt.plotting import plot_path
    >>> axes = plot_path(tao_path(*load_iris(return_X_y=True), Cs=[1.0, 0.1]))
    >>> [ax.get_ylabel() for ax in axes[:3]]
    ['error', 'nonzero weights', 'path length of samples (splits)']
    """
    plt = import_pyplot()
    by_C = hasattr(path, "n_multiplications")
    if not by_C and not hasattr(path, "standard_error"):
        raise TypeError(
            "path must be the result of ngdt.tao_path or ngdt.path.size_path, "
            f"got {type(path).__name__}")
    if ax is None and by_C:
        _, ax = plt.subplots(
            1, 4, figsize=(12, 3), layout="constrained", gridspec_kw={"wspace": 0.06})
    elif ax is None:
        _, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
    axes = axes_of(ax, 4 if by_C else 1)
    if by_C:
        _draw_over_C(path, axes)
    else:
        _draw_over_size(path, *axes)
    return axes


def _draw_over_size(path, ax):
    """Draw errors with their standard errors, the limit of the choice, and what it chose."""
    sizes, error, spread = path.max_leaf_nodes, path.error, path.standard_error
    ax.errorbar(
        sizes, error, spread, label="mean and standard error", color=BLUE, marker=".", capsize=3)
    best = np.flatnonzero(error == error.min())[-1]     # of equal errors, as for the choice
    if spread[best] == spread[best]:
        ax.axhline(error[best] + spread[best], color=GREY, linestyle="--", zorder=0,
                   label="least error plus its standard error")
    is_chosen = sizes == path.chosen
    ax.plot(sizes[is_chosen], error[is_chosen], "o", color=RED, markerfacecolor="none",
            markersize=11, label=f"chosen: {path.chosen}")
    ax.set_xscale("log", base=2)    # one leaf more tells less, the larger the tree
    ax.set_xticks(sizes, sizes)
    ax.minorticks_off()
    ax.set(xlabel="largest number of leaves", ylabel="error on held-out folds")
    ax.legend(frameon=False)


def _draw_over_C(path, axes):
    """Draw errors, sizes and costs of predictions."""
    errors, sizes, lengths, multiplications = axes

    def draw(ax, values, label, **style):
        ax.plot(path.Cs, values, label=label, marker=".", **style)

    draw(errors, path.train_error, "training", color=BLUE)
    if not np.isnan(path.validation_error).all():
        draw(errors, path.validation_error, "validation", color=RED)
    errors.set_ylabel("error")
    draw(sizes, path.n_nonzero, "weights", color=BLUE)
    sizes.set_ylabel("nonzero weights", color=BLUE)
    splits = sizes.twinx()
    draw(splits, path.n_internal, "splits", color=RED)
    splits.set_ylabel("splits", color=RED)
    splits.set_ylim(0, None)
    for ax, spread, label in (
            (lengths, path.path_length, "path length of samples (splits)"),
            (multiplications, path.n_multiplications, "multiplications per prediction")):
        ax.fill_between(
            path.Cs, spread.min, spread.max, color="0.9", label="range")
        draw(ax, spread.mean, "mean", color=BLUE)
        ax.set_ylabel(label)
    for ax in axes:
        ax.set(xscale="log", xlabel="C", ylim=(0, None))
    errors.legend(frameon=False)
    # The last two look alike. Few paths are shorter than one split.
    lengths.legend(frameon=False, loc="lower right")
