"""Plot docs/_static/overview.png, the figure of the README and of the front page.

Usage: python docs/figures/overview.py [PATH]
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from ngdt import ObliqueTreeClassifier
from ngdt.optimizers import TAO, Annealed
from ngdt.plotting import plot_history, plot_regions, plot_tree

PATH = Path(__file__).parents[1] / "_static/overview.png"


def spirals(n, seed=0):
    """Two noisy spiral arms in the plane."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0.6, 3.4, n) * np.pi / 1.7
    arm = rng.integers(2, size=n)
    X = angle[:, None] * np.c_[np.cos(angle + np.pi * arm), np.sin(angle + np.pi * arm)]
    return X + rng.normal(scale=0.25, size=X.shape), arm


def main(path=PATH):
    figure = plt.figure(figsize=(11, 8.8), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1)
    top, bottom = figure.subfigures(2, 1, height_ratios=(3, 5.6))
    axes = top.subplots(1, 3, width_ratios=(1, 1, 1.25))

    X, y = spirals(1500)
    train, test = slice(0, 1000), slice(1000, None)
    for optimizer, name, ax in ((None, "greedy", axes[0]), ("ssgd", "non-greedy", axes[1])):
        model = ObliqueTreeClassifier(max_depth=4, optimizer=optimizer, random_state=0)
        model.fit(X[train], y[train])
        plot_regions(model, X[test], y[test], ax=ax)
        ax.set(xticks=[], yticks=[])
        accuracy = 100 * model.score(X[test], y[test])
        ax.set_title(f"{name}, depth 4: test accuracy {accuracy:.0f} %", fontsize=10)
    plot_history(model, ax=axes[2]).set_title("training of the non-greedy tree", fontsize=10)

    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
    greedy = DecisionTreeClassifier(max_depth=4, criterion="entropy", random_state=0)
    greedy.fit(X_train, y_train)
    model = ObliqueTreeClassifier(
        max_depth=4, init="random_complete", optimizer=[Annealed(), TAO(C=0.03)], random_state=0)
    model.fit(X_train, y_train)
    plot_tree(model, shape=(8, 8), max_depth=4, ax=bottom.add_axes((0, 0, 1, 1)))
    used = model.tree_.n_nonzero / model.tree_.n_internal
    bottom.text(
        0.98, 0.97, f"handwritten digits, {model.get_n_leaves()} leaves\n"
        f"{used:.0f} of 64 pixels for a split\n"
        f"test accuracy {100 * model.score(X_test, y_test):.0f} %\n"
        f"(greedy tree of depth 4: {100 * greedy.score(X_test, y_test):.0f} %)",
        ha="right", va="top", fontsize=12)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
