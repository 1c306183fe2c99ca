"""Plots of the weights of single nodes."""

import numpy as np

from ngdt._inspection.captions import captions_of
from ngdt.plotting._layout import children
from ngdt.plotting._style import DIRECTIONS, WEIGHT_COLORS, axes_of, draw_key, import_pyplot


def check_shape(shape, n_features):
    """Check that images of a shape have as many pixels as there are features."""
    sides = np.asarray(shape)
    if sides.shape != (2,) or sides.dtype.kind not in "iu" or (
            sides.min() < 1 or sides.prod() != n_features):
        raise ValueError(
            f"image_shape must be (rows, columns), ints with rows * columns = {n_features} "
            f"features, got {shape!r}")


def plot_weights(model, image_shape, *, nodes=None, ax=None):
    """Plot the weights of single nodes as images, if the features are pixels.

    Where the sample is bright, red (positive) weights send it to the right and blue (negative) ones
    to the left. For other features, `plot_tree` draws the weights as bars.

    Parameters
    ----------
    model : Tree or fitted estimator
        The tree with these nodes.
    image_shape : tuple of (int, int)
        Shape of the images.
    nodes : sequence of int, default=None
        Ids of the internal nodes. None takes the root and its children that are internal nodes.
    ax : matplotlib Axes or array of these, default=None
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
    >>> [ax.get_title() for ax in plot_weights(tree, (2, 3))]
    ['root']
    """
    plt, tree = import_pyplot(), captions_of(model).tree
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
        weights = tree.dense_weights([node])[0]
        limit = np.abs(weights).max(initial=0.0) or 1.0     # white means zero
        panel.imshow(weights.reshape(image_shape), cmap=WEIGHT_COLORS, vmin=-limit, vmax=limit)
        panel.set(xticks=[], yticks=[])
        panel.set_title(titles.get(node, f"node {node}"), fontsize=10)
    return axes
