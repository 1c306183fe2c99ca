"""A plot of a whole tree."""

from functools import partial
from numbers import Integral

from ngdt._labels import labels_of
from ngdt.plotting._leaves import class_colors, leaf_drawer
from ngdt.plotting._style import direction_keys, import_pyplot
from ngdt.plotting._weights import check_shape, children, draw_split, short_labels


def _layout(tree, max_depth):
    """Positions of nodes and leaves: {id: (x, depth)}; leaves and cut subtrees are one unit apart.

    Ids are as in the tree: >= 0 for an internal node, ~leaf for a leaf. A node is above the middle
    of its two children.
    """
    depth, order = {}, []
    stack = [(0 if tree.n_internal else ~0, 0)]
    while stack:  # an explicit stack: a chain may be deeper than Python's recursion limit
        item, depth[item] = stack.pop()
        order.append(item)
        if item >= 0 and depth[item] < max_depth:
            stack += [(child, depth[item] + 1) for child in reversed(children(tree, item))]
    ends = [item for item in order if item < 0 or depth[item] == max_depth]
    x = {item: float(position) for position, item in enumerate(ends)}
    for item in reversed(order):
        if item not in x:
            left, right = children(tree, item)
            x[item] = 0.5 * (x[left] + x[right])
    return {item: (x[item], depth[item]) for item in order}


def _draw_legend(canvas, x_root, keys, class_names):
    """Explain the colours beside the root, which is alone on its level, if there is room."""
    from matplotlib.patches import Patch

    if class_names is not None and len(class_names) <= 20:
        colors = class_colors(len(class_names))
        keys += [Patch(color=color, label=f"class {name}")
                 for color, name in zip(colors, class_names, strict=True)]
    if not keys:
        return
    n_columns = 1 + (len(keys) > 7)
    low, high = canvas.get_xlim()
    side, units = max(("left", x_root - low), ("right", high - x_root), key=lambda pair: pair[1])
    room = (units - 0.4) / (high - low) * canvas.figure.bbox.width / canvas.figure.dpi   # inches
    if room > n_columns * (0.4 + 0.055 * max(len(key.get_label()) for key in keys)):
        canvas.legend(
            handles=keys, loc=f"upper {side}", ncols=n_columns, fontsize=7, frameon=False)


def _n_leaves_below(tree, node):
    count, stack = 0, [node]
    while stack:
        item = stack.pop()
        if item < 0:
            count += 1
        else:
            stack += children(tree, item)
    return count


def plot_tree(
    model, *, shape=None, X=None, max_depth=3, feature_names=None, class_names=None, figure=None
):
    """Plot a tree: the weights of each node, and the class distribution or values of each leaf.

    A sample goes to the right if its score is above the threshold. Red weights are positive, blue
    ones negative; nodes are drawn as by `plot_weights`. A split on a single feature is written as a
    condition; samples that meet it go to the right.

    A linear leaf is drawn as a node, by its slopes: red ones raise the prediction with their
    feature, blue ones lower it. Above them is the prediction at the mean of the samples in the
    leaf. Of several targets, only these predictions are written. For classes, it is drawn by the
    distribution at that mean, with "linear" after the most probable class.

    Parameters
    ----------
    model : Tree or fitted estimator
        The tree to plot. The leaf values of a `Tree` with two or more outputs are taken as
        unnormalized log-probabilities, as for the log loss.
    shape : tuple of (int, int), default=None
        Shape of an image, if the features are its pixels.
    X : array-like or CSR matrix of shape (n_samples, n_features), default=None
        With `shape`, images of that shape. A leaf is then drawn as the mean of the images that
        reach it. Its title is the class or value, and the number of images. Without `shape`,
        samples to take for the training samples: by default, effects and conditions are those of
        the last call of `fit` or `partial_fit`.
    max_depth : int or None, default=3
        Levels of splits to draw. A subtree below them is drawn as its number of leaves. None draws
        all levels.
    feature_names : sequence of str, default=None
        Names of the features, for nodes without `shape`; long names are cut. None takes
        ``feature_names_in_`` of the estimator.
    class_names : sequence, default=None
        Names of the classes. None takes ``classes_`` of the estimator.
    figure : matplotlib Figure, default=None
        Where to draw. None makes a new figure whose size fits the tree.

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
    plt = import_pyplot()
    images, samples = (X, None) if shape is not None else (None, X)
    labels = short_labels(labels_of(
        model, feature_names=feature_names, class_names=class_names, X=samples))
    tree = labels.tree
    check_shape(shape, tree.n_features)
    if max_depth is None:
        max_depth = max(1, tree.max_depth)
    if not isinstance(max_depth, Integral) or max_depth < 1:
        raise ValueError(f"max_depth must be an int of at least 1, or None, got {max_depth!r}")
    draw_node = partial(draw_split, labels=labels, shape=shape)
    draw_leaf = leaf_drawer(labels, shape, images)
    has_slopes = tree.slopes is not None and tree.n_outputs == 1
    has_bars = tree.n_nonzero > tree.n_internal or has_slopes   # beyond splits on one feature

    positions = _layout(tree, max_depth)
    width = 1 + max(x for x, _ in positions.values())
    height = 1 + max(depth for _, depth in positions.values())
    if figure is None:
        # Names need more room than images, most of all next to bars.
        unit = 1.05 if shape is not None else max(
            1.5, 0.155 * max(map(len, labels.feature_names)) * has_bars)
        figure = plt.figure(figsize=(max(3.0, unit * width), 1.5 * height))
    # In units of the layout: half the height of the bars, and a line of text of 0.17 inches.
    above_leaf = 0.25 + 0.17 * height * figure.dpi / figure.bbox.height
    canvas = figure.add_axes((0, 0, 1, 1))
    canvas.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5))
    canvas.set_axis_off()
    if tree.n_internal:
        _draw_legend(
            canvas, positions[0][0],
            direction_keys(has_slopes) if shape is not None or has_bars else [],
            class_names=labels.class_names if images is None else None)

    def new_axes(x, depth, w, h):
        """Axes of size (w, h) around (x, depth), in units of the layout."""
        left, bottom = (x + 0.5 - w / 2) / width, 1 - (depth + 0.5 + h / 2) / height
        return figure.add_axes((left, bottom, w / width, h / height))

    for item, (x, depth) in positions.items():
        if item < 0:
            # An image is square, and its title needs room above.
            position = (x, depth, 0.72, 0.5) if images is None else (x, depth + 0.06, 0.72, 0.6)
            draw_leaf(new_axes(*position), ~item)
        elif depth == max_depth:
            box = {"boxstyle": "round", "facecolor": "white", "edgecolor": "0.8"}
            text = f"{_n_leaves_below(tree, item)}\nleaves"
            canvas.text(x, depth, text, ha="center", va="center", fontsize=8, bbox=box)
        else:
            for child in children(tree, item):
                # A line to a leaf ends above the title of the leaf.
                end = (positions[child][0], positions[child][1] - above_leaf * (child < 0))
                canvas.plot(*zip((x, depth), end, strict=True), color="0.7", zorder=0)
            draw_node(new_axes(x, depth, 0.8, 0.72), node=item)
    return figure
