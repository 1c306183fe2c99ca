"""Plot docs/_static/networks.png, the tree of networks on the page of splits by networks.

Usage: python docs/figures/networks.py [PATH], with PyTorch installed
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from ngdt.deep import CNN, DeepTreeClassifier
from ngdt.optimizers import Annealed

PATH = Path(__file__).parents[1] / "_static/networks.png"


def main(path=PATH):
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    model = DeepTreeClassifier(
        CNN((8,), kernel_size=3, hidden=16), input_shape=(1, 8, 8), max_leaf_nodes=10,
        init="balanced", random_state=0,
        optimizer=Annealed(steps=400, learning_rate=0.005, weight_decay=0.0, q=0))
    model.fit(X_train, y_train)
    features, tree = model.as_tree()
    scores = features(X_test)

    figure, ax = plt.subplots(figsize=(11, 5.5), layout="constrained")
    ax.set(xlim=(-0.6, tree.n_leaves - 0.4), ylim=(-tree.max_depth - 0.75, 0.5))
    ax.axis("off")
    n_drawn = 0

    def draw(node, samples, level):
        """Draw a subtree; returns the horizontal place of its root."""
        nonlocal n_drawn
        if node < 0:
            x, n_drawn = n_drawn, n_drawn + 1
            digits, counts = np.unique(y_test[samples], return_counts=True)
            most = counts.argmax()
            ax.text(x, -level - 0.45, f"{digits[most]}\n{counts[most]} of {len(samples)}",
                    ha="center", va="top", fontsize=9)
        else:
            right = scores[samples, node] > 0
            places = [draw(child, samples[side], level + 1) for child, side in (
                (tree.children_left[node], ~right), (tree.children_right[node], right))]
            x = np.mean(places)
            for place in places:
                ax.plot([x, place], [-level, -level - 1], color="0.7", linewidth=1, zorder=0)
        inset = ax.inset_axes((x - 0.36, -level - 0.4, 0.72, 0.8), transform=ax.transData)
        inset.imshow(X_test[samples].mean(axis=0).reshape(8, 8), cmap="gray_r")
        inset.set(xticks=[], yticks=[])
        return x

    draw(0, np.arange(len(X_test)), 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
