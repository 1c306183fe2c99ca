"""Plots of the weights of single nodes."""

import numpy as np

from ngdt._labels import feature_names_of, tree_of
from ngdt.plotting._style import BLUE, RED, WEIGHT_COLORS, direction_keys, import_pyplot

# Longer names are cut.
_NAME_LENGTH = 17


def check_shape(shape, n_features):
    """Check that images of a shape have as many pixels as there are features.

    Parameters
    ----------
    shape : tuple of (int, int), or None
    n_features : int

    Raises
    ------
    ValueError
        If they do not.
    """
    if shape is None:
        return
    sides = np.asarray(shape)
    if sides.shape != (2,) or sides.dtype.kind not in "iu" or sides.prod() != n_features:
        raise ValueError(
            f"shape must be (rows, columns), ints with rows * columns = {n_features} features, "
            f"got {shape!r}"
        )


def short(names):
    """Cut long names in the middle.

    Parameters
    ----------
    names : list of str, or None

    Returns
    -------
    list of str, or None
    """
    half = _NAME_LENGTH // 2
    return names and [
        name if len(name) <= _NAME_LENGTH else f"{name[:half]}…{name[-half:]}" for name in names]


def children(tree, node):
    """Left and right child of a node.

    Parameters
    ----------
    tree : Tree
    node : int

    Returns
    -------
    tuple of (int, int)
        Ids as in the tree: >= 0 for an internal node, ~leaf for a leaf.
    """
    return int(tree.children_left[node]), int(tree.children_right[node])


def draw_split(ax, tree, node, shape, feature_names, n_bars=5):
    """Draw the weights of a node: as an image if a shape is given, else as bars.

    A split on a single feature is written as a condition.

    Parameters
    ----------
    ax : matplotlib Axes
    tree : Tree
    node : int
    shape : tuple of (int, int), or None
    feature_names : list of str
    n_bars : int, default=5
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
        # The name is on the side of zero that the bar leaves free.
        x, side = -0.06 * np.sign(weights[j]) * limit, "right" if weights[j] > 0 else "left"
        ax.text(x, place, names[place], ha=side, va="center", fontsize=7)
    ax.axvline(0.0, color="0.4", linewidth=0.8)


def plot_weights(model, *, shape=None, nodes=None, feature_names=None, axes=None):
    """Plot the weights of single nodes.

    Parameters
    ----------
    model : Tree or fitted estimator
        The tree with these nodes.
    shape : tuple of (int, int), default=None
        Shape of an image, if the features are its pixels: each node's weights are then drawn as
        an image. Where the sample is bright, red (positive) weights send it to the right and blue
        (negative) ones to the left. Without a shape, the five largest weights are drawn as bars; a
        split on a single feature is written as a condition.
    nodes : sequence of int, default=None
        Ids of the internal nodes. None takes the root and those of its children that are internal.
    feature_names : sequence of str, default=None
        Labels of the bars; long names are cut. None takes ``feature_names_in_`` of the estimator.
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
    plt = import_pyplot()
    tree = tree_of(model)
    check_shape(shape, tree.n_features)
    feature_names = short(feature_names_of(model, tree, feature_names))
    titles = {}
    if tree.n_internal:
        left, right = children(tree, 0)
        titles = {0: "root", left: "left child of the root", right: "right child of the root"}
    if nodes is None:
        nodes = [node for node in titles if node >= 0]
    if np.ndim(nodes) != 1 or not np.isin(nodes, range(tree.n_internal)).all():
        raise ValueError(
            f"nodes must be a list of ids of internal nodes, from 0 to {tree.n_internal - 1}, "
            f"got {nodes!r}"
        )
    if axes is None:
        columns = max(1, len(nodes))
        figure, axes = plt.subplots(1, columns, figsize=(2.4 * columns, 3), layout="constrained")
        if len(nodes):
            figure.legend(
                handles=direction_keys(), loc="outside lower center", ncols=min(2, columns),
                fontsize=8, frameon=False)
        else:
            axes.set_axis_off()
    axes = np.ravel(axes)
    if len(axes) < len(nodes):
        raise ValueError(
            f"axes must be at least one for each of the {len(nodes)} nodes, got {len(axes)}")
    for node, ax in zip(map(int, nodes), axes, strict=False):
        draw_split(ax, tree, node, shape, feature_names)
        ax.set_title(titles.get(node, f"node {node}"), fontsize=10)
    return list(axes[: len(nodes)])
