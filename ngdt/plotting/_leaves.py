"""Drawings of single leaves."""

import numpy as np
from scipy import sparse
from scipy.special import softmax

from ngdt._leaf_text import class_at_mean, formula_of
from ngdt._numbers import format_number
from ngdt._validation import check_matrix
from ngdt.plotting._style import import_pyplot
from ngdt.plotting._weights import draw_effects, draw_image

# Significant digits of leaf values.
_DIGITS = 4
# Number of slopes that are drawn.
_N_BARS = 3


def class_colors(n_classes):
    """A colour for each class; they repeat from the 21st class on."""
    colors = import_pyplot().get_cmap("tab10" if n_classes <= 10 else "tab20").colors
    return [colors[c % len(colors)] for c in range(n_classes)]


def _class_title(labels, leaf):
    """The class that a leaf predicts; of linear leaves, that at the mean sample."""
    tree, names = labels.tree, labels.class_names
    if not _is_linear(tree, leaf):
        return names[np.argmax(tree.values[leaf])]
    values = class_at_mean(labels, leaf)
    return "linear" if values is None else f"{names[np.argmax(values)]}, linear"


def _draw_class_distribution(ax, labels, leaf):
    is_linear = _is_linear(labels.tree, leaf)
    values = class_at_mean(labels, leaf) if is_linear else labels.tree.values[leaf]
    if values is None:
        return _draw_values(ax, ["linear"])
    k = len(values)
    ax.bar(range(k), softmax(values), color=class_colors(k), width=0.9)
    ax.set(xticks=[], yticks=[], ylim=(0, 1.05), xlim=(-0.6, k - 0.4))
    ax.set_title(_class_title(labels, leaf), fontsize=9, pad=2)
    ax.spines[["top", "left", "right"]].set_visible(False)


def _draw_values(ax, texts):
    ax.set_axis_off()
    text = "\n".join(texts[:3])
    ax.text(0.5, 1.0, text, ha="center", va="top", transform=ax.transAxes, fontsize=9)


def _draw_mean(ax, mean, count, title, **style):
    ax.set(xticks=[], yticks=[])
    ax.set_title(f"{title} ({count})", fontsize=9, pad=2)
    ax.spines[:].set_color("0.8")
    if count:
        ax.imshow(mean, cmap="gray_r", **style)


def _leaf_means(tree, X):
    """Number of samples in each leaf and their mean."""
    X = check_matrix(X)
    leaf = tree.apply(X)
    count = np.bincount(leaf, minlength=tree.n_leaves)
    member = sparse.csr_array(
        (np.ones(len(leaf)), (leaf, np.arange(len(leaf)))), shape=(tree.n_leaves, len(leaf)))
    total = member @ X
    total = total.toarray() if sparse.issparse(total) else total
    return count, total / np.maximum(count, 1)[:, None]


def _prediction_texts(labels, leaf):
    """Prediction of a leaf for each target, as text; of linear leaves, that at the mean sample."""
    texts = []
    for output in range(labels.tree.n_outputs):
        formula = formula_of(labels, leaf, output, n_terms=0, digits=_DIGITS)
        is_known = labels.summary is not None or not formula.hidden
        text = format_number(formula.constant) if is_known else "linear"
        texts.append(text)
    return texts


def _draw_slopes(ax, labels, leaf, shape):
    """Draw the slopes of a leaf for one output as the weights of a split, below its prediction."""
    slopes = labels.tree.slopes[leaf, 0]
    ax.set(xticks=[], yticks=[])
    ax.set_title(*_prediction_texts(labels, leaf), fontsize=9, pad=2)
    ax.spines[:].set_visible(False)
    if shape is None:
        draw_effects(ax, labels, slopes, _N_BARS)
    else:
        draw_image(ax, slopes, shape)


def _is_linear(tree, leaf):
    return tree.slopes is not None and tree.slopes[leaf].any()


def leaf_drawer(labels, shape, images):
    """The function ``draw(axes, leaf)`` that draws a leaf.

    It draws the mean of the images if they are given, else the class distribution or, for
    regression, the leaf values or the slopes.
    """
    tree, names = labels.tree, labels.class_names

    def draw(ax, leaf):
        if tree.n_outputs == 1 and _is_linear(tree, leaf):
            _draw_slopes(ax, labels, leaf, shape)
        elif names is None:
            _draw_values(ax, _prediction_texts(labels, leaf))
        else:
            _draw_class_distribution(ax, labels, leaf)

    if images is None:
        return draw
    counts, means = _leaf_means(tree, images)
    style = {"vmin": means.min(), "vmax": means.max()}

    def draw_mean(ax, leaf):
        title = (
            _prediction_texts(labels, leaf)[0] if names is None else _class_title(labels, leaf))
        _draw_mean(ax, means[leaf].reshape(shape), counts[leaf], title, **style)

    return draw_mean
