"""Error, size and prediction cost along a path over C."""

import numpy as np

from ngdt.plotting._style import BLUE, RED, axes_of, import_pyplot


def plot_path(path, *, ax=None):
    """Plot errors, size, path length and multiplications of the trees of a path over C.

    Parameters
    ----------
    path : TAOPath
        The return value of `ngdt.tao_path`.
    ax : array of four matplotlib Axes, default=None
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
    >>> [ax.get_ylabel() for ax in axes]
    ['error', 'nonzero weights', 'path length (splits)', 'multiplications per prediction']
    """
    plt = import_pyplot()
    if not hasattr(path, "n_multiplications"):
        raise TypeError(
            f"path must be a TAOPath, as ngdt.tao_path returns it, got {type(path).__name__}")
    if ax is None:
        _, ax = plt.subplots(
            1, 4, figsize=(12, 3), layout="constrained", gridspec_kw={"wspace": 0.06})
    axes = axes_of(ax, 4)
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
            (lengths, path.path_length, "path length (splits)"),
            (multiplications, path.n_multiplications, "multiplications per prediction")):
        ax.fill_between(
            path.Cs, spread.min, spread.max, color="0.9", label="range over samples")
        draw(ax, spread.mean, "mean over samples", color=BLUE)
        ax.set_ylabel(label)
    for ax in axes:
        ax.set(xscale="log", xlabel="C", ylim=(0, None))
    for ax in (errors, lengths):    # the last two look alike
        ax.legend(frameon=False)
    return axes
