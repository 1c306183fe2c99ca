"""A plot of a whole tree."""

from numbers import Real

import numpy as np

from ngdt._core.structure import sums_below
from ngdt._inspection.captions import leaves_and_samples
from ngdt._inspection.path_constants import readable_captions
from ngdt._util.validation import check_counts
from ngdt.plotting._blocks import write
from ngdt.plotting._contents import Contents, mean_images
from ngdt.plotting._key import Key
from ngdt.plotting._layout import centers, children, depths
from ngdt.plotting._style import DARK, GREY, axes_of, import_pyplot
from ngdt.plotting._weights import check_shape

_FONT_SIZE = 9.0        # of a new figure, in points
# In units of the font size.
_LEVEL_GAP, _BOX_GAP, _MARGIN = 3.0, 0.7, 1.0
_MIN_KEY_WIDTH = 24.0


def plot_tree(
    model, *, max_depth="auto", feature_names=None, class_names=None, filled=False, node_ids=False,
    proportion=False, rounded=False, precision=None, ax=None, fontsize=None, image_shape=None,
    X=None,
):
    """Plot a tree: the rule of each node, and the prediction of each leaf.

    Parameters have the names of `sklearn.tree.plot_tree`. A split on a single column is written as
    a condition. Other splits are lists of terms, weight times feature in the units of the table,
    and the limit of their sum. Samples that meet the condition take the branch on
    the left, "yes"; a split on categories lists them, whichever child they lead to. The bar of a
    term is as long as its effect, the absolute weight times the standard deviation of the feature;
    it points to the side to which larger values lead. Rules that show all terms have as many digits
    as in `ngdt.export.export_text`, if they fit; otherwise numbers are rounded, and the
    limit is written as "about".

    Below the rule are the number of training samples and their mean prediction: the shares of the
    classes, or a value. A leaf has the most probable class with its probability and the shares of
    the classes, or the predicted value. A linear leaf has the mean probabilities of its samples, or
    the prediction at their mean, and its features with the largest effects, for each of the first
    three targets. Their bars point to the right if larger values raise the prediction. For classes,
    the bar to the right has the colour of the class that larger values favour most, the bar to the
    left the colour of the class that they favour least.
    Without training samples, as for a `Tree`, weights replace effects.

    Parameters
    ----------
    model : Tree, fitted estimator or Pipeline
        The tree to plot. Of a pipeline or a search, it is the last step, as for
        `ngdt.export.export_text`. The leaf values of a `Tree` with two or more outputs are taken as
        unnormalized log-probabilities, as for the log loss.
    max_depth : int, None or "auto", default="auto"
        Levels of splits to draw. A subtree below them is drawn as its number of leaves. None draws
        all levels, "auto" 3, and all of a tree of at most 8 leaves.
    feature_names : sequence of str, default=None
        Names of the columns that the tree reads; long names are cut. None takes
        ``feature_names_in_`` of the estimator, or what the other steps of a pipeline call them.
    class_names : sequence, default=None
        Names of the classes. None takes ``classes_`` of the estimator.
    filled : bool, default=False
        Paint boxes: in the colour of their class, paler for lower probabilities, or, for a single
        target, darker for larger values.
    node_ids : bool, default=False
        Write the number of each node, as in `ngdt.export.export_frame`, and of each leaf, as
        `apply` returns it.
    proportion : bool, default=False
        Write shares of the samples instead of numbers.
    rounded : bool, default=False
        Draw boxes with rounded corners.
    precision : int or None, default=None
        Significant digits of numbers, of which rules may need more. None stands for 3.
    ax : matplotlib Axes, default=None
        Where to draw. None makes a new figure whose size fits the tree.
    fontsize : float, default=None
        Size of the text in points. None takes 9 for a new figure, or else what makes the tree fit
        into `ax`.
    image_shape : tuple of (int, int), default=None
        Shape of an image, if the features are its pixels. Weights are then drawn as images: where
        the sample is bright, red (positive) weights send it to the right and blue (negative) ones
        to the left.
    X : array-like, data frame or CSR matrix of shape (n_samples, n_features), default=None
        Samples to take for the training samples, as `model` reads them. None takes the samples of
        the last call of `fit` or `partial_fit`. With `image_shape`, they are images; a leaf is then
        drawn as the mean of the images that reach it, with its prediction and, in brackets, their
        number.

    Returns
    -------
    matplotlib Axes
        The axes drawn on; ``ax.figure`` is the figure.

    See Also
    --------
    ngdt.export.export_html : A page with the whole tree, whose branches fold.
    ngdt.export.export_text : The tree as text.

    Notes
    -----
    There is no parameter `impurity`: leaf values are not counts of classes. There is no `label`
    either: all nodes name what they show.

    Examples
    --------
    >>> from ngdt import Tree
    >>> from ngdt.plotting import plot_tree
    >>> tree = Tree([[0.0, 2.0]], [1.0], [~0], [~1], [[2.0, 0.0], [0.0, 2.0]])
    >>> ax = plot_tree(tree, feature_names=["age", "income"], class_names=["no", "yes"])
    >>> [text.get_text() for text in ax.texts]
    ['yes', 'no', 'income ≤ 0.5', 'no', '88.1 %', 'yes', '88.1 %', 'no', 'yes']
    """
    plt = import_pyplot()
    captions = readable_captions(model, feature_names=feature_names, class_names=class_names, X=X)
    if image_shape is not None:
        check_shape(image_shape, captions.tree.n_features)
    if isinstance(max_depth, str) and max_depth == "auto":
        # Eight leaves are as wide as three full levels.
        max_depth = None if captions.tree.n_leaves <= 8 else 3
    check_counts(max_depth=max_depth, precision=precision)
    if fontsize is not None and not (isinstance(fontsize, Real) and fontsize > 0):
        raise ValueError(f"fontsize must be a positive number or None, got {fontsize!r}")
    images = None if image_shape is None or X is None else mean_images(
        captions, *leaves_and_samples(model, X))
    contents = Contents(captions, images, image_shape, filled, proportion, precision, node_ids)
    plan = _Plan(contents, max_depth)
    if ax is None:
        fontsize = fontsize or _FONT_SIZE
        figure = plt.figure(figsize=(plan.width * fontsize / 72, plan.height * fontsize / 72))
        ax = figure.add_axes((0, 0, 1, 1))
    (ax,) = axes_of(ax, 1)
    if fontsize is None:
        box = ax.get_window_extent()
        fontsize = 72 / ax.figure.dpi * min(box.width / plan.width, box.height / plan.height)
    plan.draw(ax, fontsize, rounded)
    return ax


class _Plan:
    """The boxes of a tree and their positions, in units of the font size."""

    def __init__(self, contents, max_depth):
        self._contents, self._tree = contents, contents.captions.tree
        self._depth = depths(self._tree, max_depth)
        self._n_leaves = sums_below(self._tree, np.ones(self._tree.n_leaves))
        self._boxes = {item: self._box(item) for item in self._depth}
        widths = {item: box.width for item, box in self._boxes.items()}
        self._right_first = contents.captions.right_first
        self._center = centers(self._tree, self._depth, widths, _BOX_GAP, self._right_first)
        self._top, bottom = self._tops()
        tree_width = max(x + widths[item] / 2 for item, x in self._center.items())
        shown = [item for item in self._depth if not self._is_cut(item)]
        self._key = Key(contents, shown, max(tree_width, _MIN_KEY_WIDTH))
        width = max(tree_width, self._key.width)
        self._center = {item: x + (width - tree_width) / 2 for item, x in self._center.items()}
        self._key_top = bottom + _MARGIN
        self.width = width + 2 * _MARGIN
        self.height = self._key_top + self._key.height + 2 * _MARGIN

    def _box(self, item):
        if item < 0:
            return self._contents.leaf(~item)
        if self._is_cut(item):
            return self._contents.cut(item, int(self._n_leaves[item]))
        return self._contents.split(item)

    def _is_cut(self, item):
        """Return whether a subtree is drawn as its number of leaves."""
        return item >= 0 and children(self._tree, item)[0] not in self._depth

    def _tops(self):
        """Top of the boxes of each level, and the bottom of the last."""
        heights = np.zeros(1 + max(self._depth.values()))
        np.maximum.at(heights, [*self._depth.values()], [
            box.height for box in self._boxes.values()])
        bottoms = np.cumsum(heights + _LEVEL_GAP)
        return bottoms - heights - _LEVEL_GAP, bottoms[-1] - _LEVEL_GAP

    def draw(self, ax, fontsize, rounded):
        """Draw the tree on axes, with text of a size in points."""
        has_answers = self._contents.shape is None
        for item, box in self._boxes.items():
            x, y = self._center[item], self._top[self._depth[item]]
            if item >= 0 and not self._is_cut(item):
                self._draw_branches(ax, item, y + box.height, fontsize, has_answers)
            box.draw(ax, x, y, fontsize, rounded)
        self._key.draw(ax, 0.0, self._key_top, fontsize)
        ax.set(xlim=(-_MARGIN, self.width - _MARGIN), ylim=(self.height - _MARGIN, -_MARGIN),
               aspect="equal")
        ax.set_axis_off()

    def _draw_branches(self, ax, node, bottom, fontsize, has_answers):
        x, end = self._center[node], self._top[self._depth[node] + 1]
        for child, answer in zip(
                children(self._tree, node, self._right_first), ("yes", "no"), strict=True):
            child_x = self._center[child]
            ax.plot([x, child_x], [bottom, end], color=GREY, linewidth=1, zorder=0)
            if has_answers:
                write(ax, (x + child_x) / 2, (bottom + end) / 2, answer, 0.85 * fontsize,
                      ha="center", color=DARK,
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})
