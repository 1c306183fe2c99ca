"""Training curves."""

from collections.abc import Mapping

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ngdt._inspection.pipelines import unwrap
from ngdt.plotting._style import BLUE, RED, axes_of, import_pyplot


def plot_history(history, *, ax=None):
    """Plot the training loss and its upper bound by epoch.

    Parameters
    ----------
    history : mapping or fitted estimator
        The metrics by epoch, ``history_`` of an estimator, or the estimator itself, of a single
        tree; of a pipeline or a search, the tree in it. The entries "bound" and "loss" are drawn as
        lines.
    ax : matplotlib Axes, default=None
        Where to draw. None makes a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn on.

    Examples
    --------
    >>> from ngdt.plotting import plot_history
    >>> ax = plot_history({"loss": [1.0, 0.5], "bound": [2.0, 0.8]})
    >>> [line.get_label() for line in ax.get_lines()]
    ['upper bound', 'training loss']
    """
    if not isinstance(history, Mapping):
        _, model = unwrap(history)
        if hasattr(model, "fit"):
            check_is_fitted(model)
        if not hasattr(model, "history_"):
            raise TypeError("history must be a mapping or a fitted estimator of a single tree, got "
                            f"{type(model).__name__}")
        history = model.history_
    plt = import_pyplot()
    if ax is None:
        _, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
    (ax,) = axes_of(ax, 1)
    for key, label, color in (("bound", "upper bound", RED), ("loss", "training loss", BLUE)):
        values = np.asarray(history.get(key, []), dtype=float)
        if len(values) and not np.isnan(values).all():
            ax.plot(range(1, len(values) + 1), values, label=label, marker=".", color=color)
    ax.set(xlabel="epoch", ylabel="loss (mean over training samples)")
    if not ax.get_lines():
        ax.text(0.5, 0.5, "no loss was recorded", ha="center", transform=ax.transAxes)
        return ax
    ax.legend(frameon=False)
    ax.xaxis.set_major_locator(plt.MaxNLocator("auto", integer=True))
    if min(np.nanmin(line.get_ydata()) for line in ax.get_lines()) > 0:
        ax.set_yscale("log")  # the loss falls steeply in the first epochs
        ax.yaxis.get_major_locator().set_params(subs=(1.0, 2.0, 5.0))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter("")
    return ax
