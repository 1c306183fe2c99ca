"""
How many trees
==============

The accuracy of a forest grows with its trees, and so do its size and the time of a prediction.
Trees that are trained as a whole need few: here the curves of four ensembles, over the number of
their trees, their bytes as a pickle, and the time to predict a sample.
"""

import pickle
from copy import copy
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_moons
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.model_selection import train_test_split

from ngdt import ObliqueForestClassifier
from ngdt.optimizers import Annealed

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
sizes = 1, 2, 5, 10, 20

# %%
# The first trees of a forest are a forest. Boosting has one tree for each class in a round, and its
# rounds build on each other: the model of the first ones is trained by itself. It has 100 rounds by
# default, which are 1000 trees here.


def first_trees(forest, n_trees):
    """The forest of the first trees."""
    part = copy(forest)
    part.estimators_ = forest.estimators_[:n_trees]
    part.n_estimators = n_trees
    return part


def figures(model):
    """Accuracy in per cent, kB, and microseconds to predict a sample."""
    seconds = []
    for _ in range(5):
        start = process_time()
        model.predict(X_test)
        seconds.append(process_time() - start)
    return (100 * model.score(X_test, y_test), len(pickle.dumps(model)) / 1e3,
            1e6 * min(seconds) / len(X_test))


forests = {
    "ObliqueForestClassifier": ObliqueForestClassifier(
        20, optimizer=Annealed(steps=500), random_state=0),
    "RandomForestClassifier": RandomForestClassifier(100, random_state=0),
    "ExtraTreesClassifier": ExtraTreesClassifier(100, random_state=0),
}
curves = {}
for name, forest in forests.items():
    forest.fit(X_train, y_train)
    counts = [n for n in (*sizes, 50, 100) if n <= forest.n_estimators]
    curves[name] = counts, [figures(first_trees(forest, n)) for n in counts]
rounds = 1, 2, 5, 10, 20, 50, 100
models = [HistGradientBoostingClassifier(max_iter=n, random_state=0).fit(X_train, y_train)
          for n in rounds]
curves["HistGradientBoostingClassifier"] = [10 * n for n in rounds], [
    figures(model) for model in models]

figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), sharey=True, layout="constrained")
for marker, (name, (counts, rows)) in zip("os^D", curves.items(), strict=True):
    accuracy, size, time = zip(*rows, strict=True)
    for ax, values in zip(axes, (counts, size, time), strict=True):
        ax.semilogx(values, accuracy, marker=marker, markersize=5, label=name)
    print(f"{name:30} {counts[-1]:4} trees: {accuracy[-1]:.1f} %, {size[-1]:6.0f} kB, "
          f"{time[-1]:5.1f} us")
for ax, label in zip(axes, ("trees", "kB", "microseconds for a sample"), strict=True):
    ax.set(xlabel=label, ylim=(84, 99))
axes[0].set_ylabel("test accuracy, %")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4,
              frameon=False, fontsize="small")
plt.show()

# %%
# What the number of trees does to predictions: the probability of a class, and, in black, where it
# is one half. Circles and triangles are the samples of the two classes. A tree that is trained as a
# whole cuts the plane into few pieces; the mean of 50 is smooth. Single axis-aligned trees follow
# single samples, and many of them average to steps.

X, y = make_moons(300, noise=0.3, random_state=0)
x_axis, y_axis = np.linspace(-2, 3, 200), np.linspace(-1.5, 2, 200)
grid = np.stack(np.meshgrid(x_axis, y_axis), axis=-1).reshape(-1, 2)
rows = {
    "oblique": ObliqueForestClassifier(50, optimizer=Annealed(steps=200), random_state=0),
    "random": RandomForestClassifier(50, random_state=0),
}
figure, axes = plt.subplots(
    2, 3, figsize=(9, 5.4), sharex=True, sharey=True, layout="constrained")
for line, (name, forest) in zip(axes, rows.items(), strict=True):
    forest.fit(X, y)
    for ax, n in zip(line, (1, 5, 50), strict=True):
        proba = first_trees(forest, n).predict_proba(grid)[:, 1].reshape(200, 200)
        ax.pcolormesh(x_axis, y_axis, proba, cmap="RdBu", vmin=-0.7, vmax=1.7)
        ax.contour(x_axis, y_axis, proba, [0.5], colors="black", linewidths=1)
        for label, marker, color in ((0, "o", "crimson"), (1, "^", "mediumblue")):
            ax.scatter(*X[y == label].T, marker=marker, color=color, s=18, edgecolors="white",
                       linewidths=0.4)
        ax.set(title=f"{name}, {n} tree{'s' * (n > 1)}", xticks=[], yticks=[])
plt.show()
