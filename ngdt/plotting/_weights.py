"""Plots of the weights of single nodes."""

import textwrap
from dataclasses import replace

import numpy as np

from ngdt._inspection.captions import captions_of
from ngdt._inspection.rules import DEFAULT_TERMS, condition_of
from ngdt.plotting._layout import children
from ngdt.plotting._style import (
    DIRECTIONS,
    WEIGHT_COLORS,
    axes_of,
    draw_key,
    import_pyplot,
    shortened,
)

# Characters of a line of a rule, and of a name.
_LINE_LENGTH, _NAME_LENGTH = 24, 17
# Significant digits of numbers, where samples do not need more.
_DIGITS = 4


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
            f"image_shape must be (rows, columns), ints with rows * columns = {n_features} "
            f"features, got {shape!r}")


def _draw_split(ax, captions, node, shape):
    """Draw the weights of a node as an image if a shape is given; else write its rule."""
    ax.set(xticks=[], yticks=[])
    if shape is not None:
        weights = captions.tree.dense_weights([node])[0]
        limit = np.abs(weights).max(initial=0.0) or 1.0
        ax.imshow(weights.reshape(shape), cmap=WEIGHT_COLORS, vmin=-limit, vmax=limit)
        return
    ax.spines[:].set_color("0.8")
    digits = _DIGITS if captions.summary is None else None
    condition = condition_of(captions, node, DEFAULT_TERMS, digits).typeset
    ax.text(0.5, 0.5, textwrap.fill(condition, _LINE_LENGTH), ha="center", va="center",
            fontsize=8, transform=ax.transAxes, parse_math=False)


def plot_weights(model, *, image_shape=None, nodes=None, feature_names=None, ax=None, X=None):
    """Plot the weights of single nodes.

    Parameters
    ----------
    model : Tree or fitted estimator
        The tree with these nodes.
    image_shape : tuple of (int, int), default=None
        Shape of an image, if the features are its pixels: the weights of a node are then drawn as
        an image. Where the sample is bright, red (positive) weights send it to the right and blue
        (negative) ones to the left. Without it, the rule is written, with the five largest
        effects; `plot_tree` draws them as bars.
    nodes : sequence of int, default=None
        Ids of the internal nodes. None takes the root and its children that are internal nodes.
    feature_names : sequence of str, default=None
        Names of the columns; long names are cut. None takes ``feature_names_in_`` of the estimator.
    ax : matplotlib Axes or array of these, default=None
        Where to draw: at least one for each node. None makes a new figure.
    X : array-like or CSR matrix of shape (n_samples, n_features), default=None
        Samples to take for the training samples. None takes the samples of the last call of `fit`
        or `partial_fit`.

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
    >>> [ax.get_title() for ax in plot_weights(tree, image_shape=(2, 3))]
    ['root']
    """
    plt = import_pyplot()
    captions = captions_of(model, feature_names=feature_names, X=X)
    captions = replace(
        captions, feature_names=shortened(captions.feature_names, _NAME_LENGTH),
        column_names=shortened(captions.column_names, _NAME_LENGTH))
    tree = captions.tree
    check_shape(image_shape, tree.n_features)
    titles = {}
    if tree.n_internal:
        left, right = children(tree, 0)
        titles = {0: "root", left: "left child of the root", right: "right child of the root"}
    if nodes is None:
        nodes = [node for node in titles if node >= 0]
    if np.ndim(nodes) != 1 or not np.isin(nodes, range(tree.n_internal)).all():
        raise ValueError(
            f"nodes must be a list of ids of internal nodes, from 0 to {tree.n_internal - 1}, "
            f"got {nodes!r}")
    if ax is None:
        columns = max(1, len(nodes))
        figure, ax = plt.subplots(1, columns, figsize=(2.4 * columns, 3), layout="constrained")
        if not len(nodes):
            ax.set_axis_off()
        elif image_shape is not None:
            draw_key(figure, DIRECTIONS)
    axes = axes_of(ax, len(nodes))
    for node, panel in zip(map(int, nodes), axes, strict=True):
        _draw_split(panel, captions, node, image_shape)
        panel.set_title(titles.get(node, f"node {node}"), fontsize=10)
    return axes
