"""Plots of the weights of single nodes."""

import textwrap
from dataclasses import replace

import numpy as np

from ngdt._inspection.captions import captions_of
from ngdt._inspection.rules import condition_of, hidden_terms, is_sum, terms_of
from ngdt.plotting._layout import children
from ngdt.plotting._style import (
    BLUE,
    DIRECTIONS,
    RED,
    WEIGHT_COLORS,
    axes_of,
    draw_key,
    import_pyplot,
    shortened,
)

# Longer names are cut.
_NAME_LENGTH = 17
_N_BARS = 5
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
    """Draw the weights of a node: as an image if a shape is given, else as a condition or bars."""
    weights = captions.tree.dense_weights([node])[0]
    ax.set(xticks=[], yticks=[])
    if shape is not None:
        limit = np.abs(weights).max(initial=0.0) or 1.0
        ax.imshow(weights.reshape(shape), cmap=WEIGHT_COLORS, vmin=-limit, vmax=limit)
        return
    ax.spines[:].set_color("0.8")
    if is_sum(captions, node):
        _draw_effects(ax, captions, weights)
        return
    digits = _DIGITS if captions.summary is None else None
    condition = condition_of(captions, node, digits=digits).typeset
    ax.text(0.5, 0.5, textwrap.fill(condition, _NAME_LENGTH), ha="center", va="center",
            fontsize=8, transform=ax.transAxes, parse_math=False)


def _draw_effects(ax, captions, weights):
    """Draw the largest effects of a weighted sum as bars, and state the share of the others."""
    features, effect = terms_of(captions, weights)
    features = features[:_N_BARS]
    middle = 0.5 * (len(features) - 1)
    ax.set(xlim=(-1.1, 1.1), ylim=middle + (0.5 * _N_BARS + 0.1) * np.array([1, -1]))
    for place, (j, length) in enumerate(zip(features, effect, strict=False)):
        side = np.sign(weights[j])
        ax.barh(place, side * length, color=RED if side > 0 else BLUE)
        # The name is on the side of zero that the bar leaves free.
        ax.text(-0.06 * side, place, captions.feature_names[j], va="center", fontsize=7,
                ha="right" if side > 0 else "left", parse_math=False)
    ax.axvline(0.0, color="0.4", linewidth=0.8)
    ax.set_xlabel(
        hidden_terms(captions, effect, _N_BARS), fontsize=6.5, color="0.4", labelpad=2)


def plot_weights(model, *, image_shape=None, nodes=None, feature_names=None, ax=None, X=None):
    """Plot the weights of single nodes.

    Parameters
    ----------
    model : Tree or fitted estimator
        The tree with these nodes.
    image_shape : tuple of (int, int), default=None
        Shape of an image, if the features are its pixels: the weights of a node are then drawn as
        an image. Where the sample is bright, red (positive) weights send it to the right and blue
        (negative) ones to the left. Without it, the five largest effects are drawn as
        bars: weight times standard deviation of the feature in training, or the weight if there
        are no training samples, as for a `Tree`. The share of the other effects is
        written below. A split on a single feature is written as a condition, which sends each
        training sample as the tree does.
    nodes : sequence of int, default=None
        Ids of the internal nodes. None takes the root and its children that are internal nodes.
    feature_names : sequence of str, default=None
        Labels of the bars; long names are cut. None takes ``feature_names_in_`` of the estimator.
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
        if len(nodes):
            draw_key(figure, DIRECTIONS)
        else:
            ax.set_axis_off()
    axes = axes_of(ax, len(nodes))
    for node, panel in zip(map(int, nodes), axes, strict=True):
        _draw_split(panel, captions, node, image_shape)
        panel.set_title(titles.get(node, f"node {node}"), fontsize=10)
    return axes
