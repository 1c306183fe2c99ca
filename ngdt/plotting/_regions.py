"""Plots of decision regions."""

from numbers import Integral

import numpy as np
from scipy import sparse
from sklearn.base import is_regressor

from ngdt.plotting._style import class_colors, import_pyplot


def _check_plane(model, X, y, resolution):
    """Check the arguments of `plot_regions`, and return X as an array."""
    if not hasattr(model, "fit"):
        raise TypeError(f"model must be a fitted estimator, got {type(model).__name__}")
    if not isinstance(resolution, Integral) or resolution < 2:
        raise ValueError(f"resolution must be an int of at least 2, got {resolution!r}")
    X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=float)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"X must have shape (n_samples, 2), two features, got shape {X.shape}")
    if y is not None and np.shape(y) != (len(X),):
        raise ValueError(
            f"y must have shape ({len(X)},), one target for each sample of X, got {np.shape(y)}")
    return X


def plot_regions(model, X, y=None, *, resolution=200, ax=None):
    """Plot the predictions of a model on two features as colours of the plane.

    Parameters
    ----------
    model : fitted estimator
        Any scikit-learn classifier, or regressor with a single target, on two features.
    X : array-like of shape (n_samples, 2)
        Samples; the plot covers their range. Columns of a DataFrame name the axes.
    y : array-like of shape (n_samples,), default=None
        Classes or targets, the colours of the samples. None draws no samples.
    resolution : int, default=200
        Number of grid points on each side; the model predicts all of them.
    ax : matplotlib Axes, default=None
        Where to draw. None makes a new figure.

    Returns
    -------
    matplotlib Axes
        The axes drawn on.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ngdt import ObliqueTreeClassifier
    >>> from ngdt.plotting import plot_regions
    >>> X, y = make_blobs(50, centers=2, random_state=0)
    >>> tree = ObliqueTreeClassifier(max_depth=1, optimizer=None).fit(X, y)
    >>> ax = plot_regions(tree, X, y, resolution=20)
    """
    plt = import_pyplot()
    frame = X if hasattr(X, "iloc") else None
    X = _check_plane(model, X, y, resolution)
    if ax is None:
        _, ax = plt.subplots(figsize=(4, 4), layout="constrained")
    ax.set(xlabel="x0", ylabel="x1")
    low, high = X.min(axis=0), X.max(axis=0)
    margin = 0.05 * np.where(high > low, high - low, 1.0)
    sides = [np.linspace(low[j] - margin[j], high[j] + margin[j], resolution) for j in (0, 1)]
    grid = np.stack(np.meshgrid(*sides), axis=-1)
    points = grid.reshape(-1, 2)
    if frame is not None:  # a model that was fitted with feature names expects them
        points = type(frame)(points, columns=frame.columns)
        ax.set_xlabel(frame.columns[0], parse_math=False)
        ax.set_ylabel(frame.columns[1], parse_math=False)
    value = np.asarray(model.predict(points)).ravel()
    if len(value) != len(points):
        raise ValueError("model must predict one target, got a model that predicts several")
    extent = (sides[0][0], sides[0][-1], sides[1][0], sides[1][-1])
    draw = _draw_targets if is_regressor(model) else _draw_classes
    draw(ax, model, X, y, value.reshape(resolution, resolution),
         {"extent": extent, "origin": "lower", "aspect": "auto"})
    ax.set(xlim=extent[:2], ylim=extent[2:])
    return ax


def _draw_targets(ax, model, X, y, value, place):
    """Draw the regions and samples of a regressor."""
    known = value if y is None else np.append(value.ravel(), y)
    style = {"cmap": "viridis", "vmin": known.min(), "vmax": known.max()}
    ax.imshow(value, alpha=0.6, **place, **style)
    if y is not None:
        ax.scatter(X[:, 0], X[:, 1], c=y, s=14, edgecolors="0.2", linewidths=0.4, **style)


def _draw_classes(ax, model, X, y, value, place):
    """Draw the regions and samples of a classifier, with the names of the classes."""
    from matplotlib.colors import ListedColormap
    from matplotlib.lines import Line2D

    colors = class_colors(len(model.classes_))
    style = {"cmap": ListedColormap(colors), "vmin": -0.5, "vmax": len(colors) - 0.5}
    ax.imshow(np.searchsorted(model.classes_, value), alpha=0.4, **place, **style)
    if y is not None:
        ax.scatter(X[:, 0], X[:, 1], c=np.searchsorted(model.classes_, y), s=9,
                   edgecolors="white", linewidths=0.3, **style)
    if len(colors) == len(set(colors)):
        keys = [Line2D([], [], color=color, label=f"class {label}", marker="o", linestyle="",
                       markersize=4)
                for color, label in zip(colors, model.classes_, strict=False)]
        legend = ax.legend(handles=keys, loc="upper right", fontsize=8, handletextpad=0.1,
                           ncols=1 + (len(keys) > 10))
        for text in legend.get_texts():
            text.set_parse_math(False)
