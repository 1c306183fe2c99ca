"""Pictures of trees: node weights, training curves, the tree itself, paths, decision regions.

Matplotlib is imported by the functions, not by the module: ``import ngdt.plotting`` works without
it, and the package does not depend on it. ``pip install "ngdt[plot]"`` brings it.
"""

from collections.abc import Mapping
from functools import partial
from numbers import Integral

import numpy as np
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from ngdt._tree import Tree
from ngdt._validation import check_matrix

__all__ = ["plot_history", "plot_path", "plot_regions", "plot_tree", "plot_weights"]

# Diverging and symmetric around white: red pushes to the right child, blue to the left one.
WEIGHT_COLORS = "RdBu_r"
RED, BLUE = "#b2182b", "#2166ac"

# Letters of a name that there is room for.
_NAME = 17


def _pyplot():
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            'ngdt.plotting needs matplotlib: python -m pip install "ngdt[plot]"'
        ) from error
    return plt


def tree_of(model):
    """The tree of a `Tree` or of a fitted ngdt estimator.

    Parameters
    ----------
    model : Tree or fitted estimator

    Returns
    -------
    Tree
    """
    if isinstance(model, Tree):
        return model
    if hasattr(model, "fit"):
        check_is_fitted(model)
    tree = getattr(model, "tree_", None)
    if not isinstance(tree, Tree):
        hint = "" if tree is None else ": pass Tree.from_sklearn of it"
        raise TypeError(
            f"model must be a Tree or a fitted ngdt estimator, got {type(model).__name__}{hint}"
        )
    return tree


def _check_shape(shape, n_features):
    if shape is None:
        return
    sides = np.asarray(shape)
    if sides.shape != (2,) or sides.dtype.kind not in "iu" or sides.prod() != n_features:
        raise ValueError(
            f"shape must be (rows, columns) with rows x columns = {n_features} features, "
            f"got {shape!r}"
        )


def feature_names_of(model, tree, names=None):
    """Names of the features: those given, or as the model has seen them.

    Parameters
    ----------
    model : Tree or fitted estimator
    tree : Tree
        That of the model.
    names : sequence, default=None

    Returns
    -------
    list of str
    """
    if names is None:
        names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(tree.n_features)])
    return _check_names("feature_names", names, tree.n_features)


def class_names_of(model, tree, names=None):
    """Names of the classes: those given, or the labels that the model has seen.

    Parameters
    ----------
    model : Tree or fitted estimator
    tree : Tree
        That of the model.
    names : sequence, default=None

    Returns
    -------
    list of str, or None
        None for a tree that predicts values.
    """
    if tree.n_outputs == 1 if model is tree else is_regressor(model):
        return None
    if names is None:
        names = getattr(model, "classes_", range(tree.n_outputs))
    return _check_names("class_names", names, tree.n_outputs)


def _check_names(parameter, names, count):
    if np.shape(names) != (count,):
        raise ValueError(
            f"{parameter} must be a sequence of {count} names, got shape {np.shape(names)}"
        )
    return [str(name) for name in names]


def _short(names):
    """The names, cut in the middle where there is no room for them."""
    half = _NAME // 2
    return names and [
        name if len(name) <= _NAME else f"{name[:half]}…{name[-half:]}" for name in names]


def _children(tree, node):
    return int(tree.children_left[node]), int(tree.children_right[node])


def _draw_split(ax, tree, node, shape, feature_names, n_bars=5):
    """What one node asks: its weights as an image where a shape is given, else as bars.

    A node that looks at one feature only is written out.
    """
    weights = tree.dense_weights([node])[0]
    limit = np.abs(weights).max(initial=0.0) or 1.0
    if shape is not None:
        ax.imshow(weights.reshape(shape), cmap=WEIGHT_COLORS, vmin=-limit, vmax=limit)
        ax.set(xticks=[], yticks=[])
        return
    largest = np.argsort(-np.abs(weights), kind="stable")[:n_bars]
    largest = largest[weights[largest] != 0.0]
    names = [feature_names[j] for j in largest]
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_color("0.8")
    if len(largest) == 1:
        weight = weights[largest[0]]
        text = f"{names[0]}\n{'>' if weight > 0 else '<'} {tree.thresholds[node] / weight:.4g}"
        ax.text(0.5, 0.5, text, ha="center", va="center", fontsize=8, transform=ax.transAxes)
        return
    middle = 0.5 * (len(largest) - 1)
    ax.set_xlim(-1.1 * limit, 1.1 * limit)
    ax.set_ylim(middle + 0.5 * n_bars + 0.1, middle - 0.5 * n_bars - 0.1)
    for place, j in enumerate(largest):
        ax.barh(place, weights[j], color=RED if weights[j] > 0 else BLUE)
        # The name stands on the free side of the zero line.
        x, side = -0.06 * np.sign(weights[j]) * limit, "right" if weights[j] > 0 else "left"
        ax.text(x, place, names[place], ha=side, va="center", fontsize=7)
    ax.axvline(0.0, color="0.4", linewidth=0.8)


def plot_weights(model, *, shape=None, nodes=None, feature_names=None, axes=None):
    """Show what single nodes look at.

    Parameters
    ----------
    model : Tree or fitted estimator
        The tree to look into.
    shape : tuple of (int, int), default=None
        Shape of an image, if the features are its pixels: each node's weights are then drawn as
        an image. Red pixels push an example to the right, blue ones to the left. Without it, the
        five largest weights are drawn as bars; a split on one feature is written out.
    nodes : sequence of int, default=None
        Ids of the internal nodes. None takes the root and those of its children that are internal.
    feature_names : sequence of str, default=None
        Labels of the bars; long ones are cut. None takes ``feature_names_in_`` of the estimator.
    axes : matplotlib Axes or array of these, default=None
        Where to draw: at least one for each node. None makes a new figure.

    Returns
    -------
    list of matplotlib Axes
        One for each node.

    Examples
    --------
    >>> import numpy as np
    >>> from ngdt import Tree
    >>> from ngdt.plotting import plot_weights
    >>> tree = Tree(np.eye(1, 6), [0.5], [~0], [~1], [[0.0], [1.0]])
    >>> [ax.get_title() for ax in plot_weights(tree, shape=(2, 3))]
    ['root']
    """
    plt = _pyplot()
    tree = tree_of(model)
    _check_shape(shape, tree.n_features)
    feature_names = _short(feature_names_of(model, tree, feature_names))
    titles = {}
    if tree.n_internal:
        left, right = _children(tree, 0)
        titles = {0: "root", left: "left of the root", right: "right of the root"}
    if nodes is None:
        nodes = [node for node in titles if node >= 0]
    if np.ndim(nodes) != 1 or not np.isin(nodes, range(tree.n_internal)).all():
        raise ValueError(
            f"nodes must be a list of ids of internal nodes, 0 to {tree.n_internal - 1}, "
            f"got {nodes!r}"
        )
    if axes is None:
        columns = max(1, len(nodes))
        _, axes = plt.subplots(1, columns, figsize=(2.4 * columns, 2.7), layout="constrained")
        if not len(nodes):
            axes.set_axis_off()
    axes = np.ravel(axes)
    if len(axes) < len(nodes):
        raise ValueError(f"axes must be one for each of {len(nodes)} nodes, got {len(axes)}")
    for node, ax in zip(map(int, nodes), axes, strict=False):
        _draw_split(ax, tree, node, shape, feature_names)
        ax.set_title(titles.get(node, f"node {node}"), fontsize=10)
    return list(axes[: len(nodes)])


def plot_history(history, *, ax=None):
    """Draw the loss and the bound above it, epoch by epoch.

    Parameters
    ----------
    history : mapping or fitted estimator
        What ``history_`` of an estimator holds, or the estimator itself. The entries "bound" and
        "loss" become lines.
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
        if not hasattr(history, "fit"):
            raise TypeError(
                f"history must be a mapping or a fitted estimator, got {type(history).__name__}"
            )
        check_is_fitted(history, "history_")
        history = history.history_
    plt = _pyplot()
    if ax is None:
        _, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
    lines = (
        ("bound", "upper bound", {"color": RED}),
        ("loss", "training loss", {"color": BLUE}),
    )
    lowest = np.inf
    for key, label, style in lines:
        values = np.asarray(history.get(key, []), dtype=float)
        if len(values) and not np.isnan(values).all():
            lowest = min(lowest, np.nanmin(values))
            marker = "o" if len(values) < 3 else ""
            ax.plot(range(1, len(values) + 1), values, label=label, marker=marker, **style)
    ax.set(xlabel="epoch", ylabel="mean over the examples")
    if ax.get_lines():
        ax.legend(frameon=False)
    else:
        ax.text(0.5, 0.5, "no loss was recorded", ha="center", transform=ax.transAxes)
    if ax.get_lines() and lowest > 0:
        ax.set_yscale("log")  # most of the way down is behind after a few epochs
        ax.yaxis.get_major_locator().set_params(subs=(1.0, 2.0, 5.0))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter("")
        ax.xaxis.get_major_locator().set_params(integer=True)
    return ax


def plot_path(path, *, axes=None):
    """Draw the figures of a path over C: errors, size, path length, multiplications.

    Parameters
    ----------
    path : TAOPath
        What `ngdt.tao_path` returns.
    axes : array of four matplotlib Axes, default=None
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
    ['error', 'weights that are not zero', 'splits on the path', 'multiplications']
    """
    plt = _pyplot()
    if not hasattr(path, "n_multiplications"):
        raise TypeError(
            f"path must be what ngdt.tao_path returns, got {type(path).__name__}")
    if axes is None:
        _, axes = plt.subplots(1, 4, figsize=(12, 3), layout="constrained")
    axes = list(np.ravel(axes))
    if len(axes) != 4:
        raise ValueError(f"axes must be four, got {len(axes)}")
    errors, sizes, lengths, multiplications = axes
    marker = "o" if len(path.Cs) < 3 else ""

    def draw(ax, values, label, **style):
        ax.plot(path.Cs, values, label=label, marker=marker, **style)

    draw(errors, path.train_error, "training", color=BLUE)
    if not np.isnan(path.validation_error).all():
        draw(errors, path.validation_error, "validation", color=RED)
    errors.set(ylabel="error", ylim=(0, None))
    draw(sizes, path.n_nonzero, "weights", color=BLUE)
    sizes.set(ylabel="weights that are not zero", ylim=(0, None))
    splits = sizes.twinx()
    draw(splits, path.n_internal, "splits", color=RED)
    splits.set(ylabel="splits", ylim=(0, None))
    for ax, color in ((sizes.yaxis, BLUE), (splits.yaxis, RED)):
        ax.label.set_color(color)
    for ax, spread, label in (
            (lengths, path.path_length, "splits on the path"),
            (multiplications, path.n_multiplications, "multiplications")):
        ax.fill_between(path.Cs, spread.min, spread.max, color="0.9", label="least to most")
        draw(ax, spread.mean, "mean", color=BLUE)
        ax.set(ylabel=label, ylim=(0, None))
    for ax in axes:
        ax.set(xscale="log", xlabel="C")
        if ax is not sizes:
            ax.legend(frameon=False)
    return axes


def _layout(tree, max_depth):
    """Places of what is drawn: {id: (x, depth)}, leaves and cut-off subtrees one unit apart.

    Ids are those of the tree: >= 0 for an internal node, ~leaf for a leaf. A node stands above
    the middle of its two children.
    """
    depth, order = {}, []
    stack = [(0 if tree.n_internal else ~0, 0)]
    while stack:  # an explicit stack: a chain may be deeper than Python's recursion limit
        item, depth[item] = stack.pop()
        order.append(item)
        if item >= 0 and depth[item] < max_depth:
            stack += [(child, depth[item] + 1) for child in reversed(_children(tree, item))]
    ends = [item for item in order if item < 0 or depth[item] == max_depth]
    x = {item: float(place) for place, item in enumerate(ends)}
    for item in reversed(order):
        if item not in x:
            left, right = _children(tree, item)
            x[item] = 0.5 * (x[left] + x[right])
    return {item: (x[item], depth[item]) for item in order}


def _draw_class_distribution(ax, theta, class_names):
    probability = np.exp(theta - np.max(theta))
    probability /= probability.sum()
    k = len(probability)
    colors = _pyplot().get_cmap("tab10" if k <= 10 else "tab20").colors
    ax.bar(range(k), probability, color=[colors[c % len(colors)] for c in range(k)], width=0.9)
    ax.set(xticks=[], yticks=[], ylim=(0, 1.05), xlim=(-0.6, k - 0.4))
    ax.set_title(class_names[np.argmax(theta)], fontsize=9, pad=2)
    ax.spines[["top", "left", "right"]].set_visible(False)


def _draw_values(ax, theta):
    ax.set_axis_off()
    text = "\n".join(f"{value:.4g}" for value in theta[:3])
    ax.text(0.5, 1.0, text, ha="center", va="top", transform=ax.transAxes, fontsize=9)


def _draw_mean(ax, mean, count, title, **style):
    ax.set(xticks=[], yticks=[])
    ax.set_title(f"{title} ({count})", fontsize=9, pad=2)
    ax.spines[:].set_color("0.8")
    if count:
        ax.imshow(mean, cmap="gray_r", **style)


def _leaf_means(tree, X):
    """Number of samples in each leaf, and their mean."""
    X = check_matrix(X)
    leaf = tree.apply(X)
    count = np.bincount(leaf, minlength=tree.n_leaves)
    member = sparse.csr_array(
        (np.ones(len(leaf)), (leaf, np.arange(len(leaf)))), shape=(tree.n_leaves, len(leaf)))
    total = member @ X
    total = total.toarray() if sparse.issparse(total) else total
    return count, total / np.maximum(count, 1)[:, None]


def _leaf_drawer(tree, class_names, shape, X):
    """What draws a leaf, of classes if they have names: ``draw(axes, leaf)``."""
    if X is None:
        draw = _draw_values if class_names is None else partial(
            _draw_class_distribution, class_names=class_names)
        return lambda ax, leaf: draw(ax, tree.values[leaf])
    if shape is None:
        raise ValueError("X is drawn as images, for which shape is needed")
    counts, means = _leaf_means(tree, X)
    name = (lambda theta: f"{theta[0]:.4g}") if class_names is None else (
        lambda theta: class_names[np.argmax(theta)])
    style = {"vmin": means.min(), "vmax": means.max()}
    return lambda ax, leaf: _draw_mean(
        ax, means[leaf].reshape(shape), counts[leaf], name(tree.values[leaf]), **style)


def _n_leaves_below(tree, node):
    count, stack = 0, [node]
    while stack:
        item = stack.pop()
        if item < 0:
            count += 1
        else:
            stack += _children(tree, item)
    return count


def plot_tree(
    model, *, shape=None, X=None, max_depth=3, feature_names=None, class_names=None, figure=None
):
    """Draw the tree: the weights of each node, the class distribution of each leaf.

    Samples for which the red weights prevail, or what is written in the node is true, go right.

    Parameters
    ----------
    model : Tree or fitted estimator
        The tree to draw. The leaf values of a bare `Tree` with two or more outputs are taken for
        log-probabilities, as the log loss has them.
    shape : tuple of (int, int), default=None
        Shape of an image, if the features are its pixels.
    X : array-like or CSR matrix of shape (n_samples, n_features), default=None
        Images of that shape. A leaf is then drawn as the mean of those that reach it, below its
        class or value and their number.
    max_depth : int or None, default=3
        Levels of splits to draw. Subtrees below them are drawn as their number of leaves. None
        draws all.
    feature_names : sequence of str, default=None
        Names of the features, where `shape` is not given; long ones are cut. None takes
        ``feature_names_in_`` of the estimator.
    class_names : sequence, default=None
        Names of the classes. None takes ``classes_`` of the estimator.
    figure : matplotlib Figure, default=None
        Where to draw. None makes a new one that is large enough.

    Returns
    -------
    matplotlib Figure
        The figure drawn on.

    Examples
    --------
    >>> from ngdt import Tree
    >>> from ngdt.plotting import plot_tree
    >>> tree = Tree([[1.0, -1.0]], [0.0], [~0], [~1], [[2.0, 0.0], [0.0, 2.0]])
    >>> len(plot_tree(tree).axes)  # a canvas for the branches, one split, two leaves
    4
    """
    plt = _pyplot()
    tree = tree_of(model)
    _check_shape(shape, tree.n_features)
    if max_depth is None:
        max_depth = max(1, tree.max_depth)
    if not isinstance(max_depth, Integral) or max_depth < 1:
        raise ValueError(f"max_depth must be an int of at least 1, or None, got {max_depth!r}")
    feature_names = _short(feature_names_of(model, tree, feature_names))
    class_names = _short(class_names_of(model, tree, class_names))
    draw_split = partial(_draw_split, tree=tree, shape=shape, feature_names=feature_names)
    draw_leaf = _leaf_drawer(tree, class_names, shape, X)

    places = _layout(tree, max_depth)
    width = 1 + max(x for x, _ in places.values())
    height = 1 + max(depth for _, depth in places.values())
    if figure is None:
        unit = 1.05
        if shape is None:  # names need more room than images, and beside bars more than alone
            beside_bars = tree.n_nonzero > tree.n_internal
            unit = max(1.5, 0.155 * max(map(len, feature_names)) * beside_bars)
        figure = plt.figure(figsize=(max(3.0, unit * width), 1.5 * height))
    # Half the height of the bars, and a line of text in inches
    above_leaf = 0.25 + 0.17 * height * figure.dpi / figure.bbox.height
    canvas = figure.add_axes((0, 0, 1, 1))
    canvas.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5))
    canvas.set_axis_off()

    def new_axes(x, depth, w, h):
        """Axes of size (w, h) in units of the layout, with (x, depth) as their middle."""
        left, bottom = (x + 0.5 - w / 2) / width, 1 - (depth + 0.5 + h / 2) / height
        return figure.add_axes((left, bottom, w / width, h / height))

    for item, (x, depth) in places.items():
        if item < 0:
            # An image is square, and its title needs room above.
            place = (x, depth, 0.72, 0.5) if X is None else (x, depth + 0.06, 0.72, 0.6)
            draw_leaf(new_axes(*place), ~item)
        elif depth == max_depth:
            box = {"boxstyle": "round", "facecolor": "white", "edgecolor": "0.8"}
            text = f"{_n_leaves_below(tree, item)}\nleaves"
            canvas.text(x, depth, text, ha="center", va="center", fontsize=8, bbox=box)
        else:
            for child in _children(tree, item):
                # A line to a leaf ends above what is written there.
                end = (places[child][0], places[child][1] - above_leaf * (child < 0))
                canvas.plot(*zip((x, depth), end, strict=True), color="0.7", zorder=0)
            draw_split(new_axes(x, depth, 0.8, 0.72), node=item)
    return figure


def _check_plane(model, X, y, resolution):
    """The examples as an array."""
    if not hasattr(model, "fit"):
        raise TypeError(f"model must be a fitted estimator, got {type(model).__name__}")
    if not isinstance(resolution, Integral) or resolution < 2:
        raise ValueError(f"resolution must be an int of at least 2, got {resolution!r}")
    X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=float)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"X must have two features, got an array of shape {X.shape}")
    if y is not None and np.shape(y) != (len(X),):
        raise ValueError(f"y must have shape ({len(X)},), one per row of X, got {np.shape(y)}")
    return X


def plot_regions(model, X, y=None, *, resolution=200, ax=None):
    """Colour the plane by what a model on two features predicts.

    Parameters
    ----------
    model : fitted estimator
        Classifier or single-output regressor on two features; any scikit-learn estimator will do.
    X : array-like of shape (n, 2)
        Examples; the picture covers their range. Columns of a DataFrame name the axes.
    y : array-like of shape (n,), default=None
        Labels or targets, to colour the examples by. None draws no examples.
    resolution : int, default=200
        Points on each side of the grid that is predicted.
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
    plt = _pyplot()
    frame = X if hasattr(X, "iloc") else None
    X = _check_plane(model, X, y, resolution)
    if ax is None:
        _, ax = plt.subplots(figsize=(4, 4), layout="constrained")
    low, high = X.min(axis=0), X.max(axis=0)
    margin = 0.05 * np.where(high > low, high - low, 1.0)
    sides = [np.linspace(low[j] - margin[j], high[j] + margin[j], resolution) for j in (0, 1)]
    grid = np.stack(np.meshgrid(*sides), axis=-1)
    points = grid.reshape(-1, 2)
    if frame is not None:  # of pandas: a model that knows its names looks for them
        points = type(frame)(points, columns=frame.columns)
        ax.set(xlabel=frame.columns[0], ylabel=frame.columns[1])
    value = np.asarray(model.predict(points)).ravel()
    if len(value) != len(points):
        raise ValueError("model must predict one target, not several")
    color, style, alpha = y, {"cmap": "viridis"}, 0.6
    if not is_regressor(model):
        # tab10 has ten colours: with more classes they come round again.
        value = np.searchsorted(model.classes_, value) % 10
        color = None if y is None else np.searchsorted(model.classes_, y) % 10
        style, alpha = {"cmap": "tab10", "vmin": 0, "vmax": 9}, 0.35
    elif y is not None:
        style |= {"vmin": min(np.min(y), value.min()), "vmax": max(np.max(y), value.max())}
    extent = (sides[0][0], sides[0][-1], sides[1][0], sides[1][-1])
    picture = value.reshape(resolution, resolution)
    ax.imshow(picture, extent=extent, origin="lower", aspect="auto", alpha=alpha, **style)
    if y is not None:
        ax.scatter(X[:, 0], X[:, 1], c=color, s=9, edgecolors="white", linewidths=0.3, **style)
    ax.set(xlim=extent[:2], ylim=extent[2:])
    return ax
