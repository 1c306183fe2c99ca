"""Plot docs/_static/tree_or_forest.png, the picture of the README and of the front page.

The tree is the one of the README's example.

Usage: python docs/figures/tree_or_forest.py [PATH]
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("agg")

import numpy as np
from matplotlib.collections import LineCollection
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import ShuffleSplit, cross_val_score, train_test_split

from ngdt import ObliqueTreeClassifier, plot_tree

PATH = Path(__file__).parents[1] / "_static/tree_or_forest.png"
# The cultivars, which the data number.
GRAPES = np.array(["Barolo", "Grignolino", "Barbera"])
COLUMNS = 25        # small trees in a row
TITLE, FOREST = 0.3, 1.4    # heights in inches


def outline(tree):
    """Lines from parents to children of a tree of scikit-learn, in a box of width and height 1."""
    left, right = tree.children_left, tree.children_right
    x, y = np.zeros(tree.node_count), np.zeros(tree.node_count)
    n_leaves = 0
    for node in reversed(range(tree.node_count)):   # children come after their parents
        if left[node] < 0:
            x[node] = -n_leaves
            n_leaves += 1
        else:
            x[node] = (x[left[node]] + x[right[node]]) / 2
    for node in range(tree.node_count):
        if left[node] >= 0:
            y[left[node]] = y[right[node]] = y[node] - 1
    points = np.c_[1 + x / max(1, n_leaves - 1), y / tree.max_depth]
    splits = np.flatnonzero(left >= 0)
    return [points[[node, child[node]]] for node in splits for child in (left, right)]


def plot_forest(forest, ax):
    """Draw the outlines of all trees side by side."""
    for number, tree in enumerate(forest.estimators_):
        row, column = divmod(number, COLUMNS)
        lines = [line * (0.75, 0.75) + (column, -row) for line in outline(tree.tree_)]
        ax.add_collection(LineCollection(lines, colors="0.35", linewidths=0.5))
    ax.autoscale_view()
    ax.axis("off")


def table():
    """Three columns of the wine data, and the grapes."""
    X, number = load_wine(return_X_y=True, as_frame=True)
    return X[["alcohol", "flavanoids", "hue"]], GRAPES[number]


def fitted(X, y):
    """The tree and the forest, fitted to the training part of the first split."""
    X_train, _, y_train, _ = train_test_split(X, y, random_state=0)
    tree = ObliqueTreeClassifier(max_leaf_nodes=4, random_state=0)
    return tree.fit(X_train, y_train), RandomForestClassifier(random_state=0).fit(X_train, y_train)


def accuracy(model, X, y):
    """Mean test accuracy of twenty random splits."""
    return cross_val_score(
        model, X, y, cv=ShuffleSplit(20, test_size=0.25, random_state=0)).mean()


def main(path=PATH):
    X, y = table()
    models = fitted(X, y)
    tree, forest = models
    right = [100 * accuracy(model, X, y) for model in models]
    n_leaves = sum(each.get_n_leaves() for each in forest.estimators_)

    figure = plot_tree(tree).figure
    ax, = figure.axes
    # The tree keeps its size; there is room above it for a title, and below it for the forest.
    width, height = figure.get_size_inches()
    whole = height + TITLE + FOREST
    figure.set_size_inches(width, whole)
    ax.set_position((0, FOREST / whole, 1, height / whole))
    plot_forest(forest, figure.add_axes((0.02, 0, 0.96, (FOREST - TITLE) / whole)))
    for y, text in (
            (whole, f"One tree: {tree.get_n_leaves()} leaves, {right[0]:.0f} % right"),
            (FOREST, f"A forest: {len(forest)} trees, {n_leaves} leaves, {right[1]:.0f} % right")):
        figure.text(0.03, (y - 0.1) / whole, text, fontsize=11, weight="bold", va="top")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=200)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
