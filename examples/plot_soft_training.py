r"""
How a decision tree is trained by gradient descent
==================================================

A hard split has no gradient. A soft one has: each sample goes to both sides, by shares that depend
on its distance from the split. Splits become steeper in training, until the soft tree
and the hard one agree. Here are five stages.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap, ListedColormap

from ngdt import ObliqueTreeClassifier
from ngdt.inference import soft_predict_proba
from ngdt.optimizers import EndToEnd

# %%
# One split hardly separates two spirals, so a tree that is grown split by split begins badly.

rng = np.random.default_rng(0)
angle = rng.uniform(0.6, 3.4, 2000) * np.pi / 1.7
y = rng.integers(2, size=len(angle))
X = angle[:, None] * np.c_[np.cos(angle + np.pi * y), np.sin(angle + np.pi * y)]
X += rng.normal(scale=0.4, size=X.shape)
train, test = slice(0, 1000), slice(1000, None)

greedy = ObliqueTreeClassifier(max_depth=4, optimizer=None).fit(X[train], y[train])
print(f"greedy tree of depth 4: test accuracy {greedy.score(X[test], y[test]):.1%}")

# %%
# :class:`~ngdt.optimizers.EndToEnd` raises the steepness :math:`\gamma` after each pass over the
# samples. With the same seed, a short training is the beginning of a longer one.


def fit(passes):
    """Return a tree of depth 4 after a number of passes."""
    model = ObliqueTreeClassifier(
        max_depth=4, init="random_complete", validation_fraction=None, random_state=0,
        optimizer=EndToEnd(epochs=passes, learning_rate=0.01, batch_size=50))
    return model.fit(X[train], y[train]).tree_


# %%
# The colour is the predicted class, and white is undecided. Points are the test samples. Leaves
# have the values of the hard tree in both rows.

side = np.linspace(X.min(axis=0), X.max(axis=0), 200)
grid = np.stack(np.meshgrid(*side.T), axis=-1).reshape(-1, 2)
areas = {"vmin": 0, "vmax": 1, "origin": "lower", "aspect": "auto",
         "extent": np.c_[side[0], side[-1]].ravel(),
         "cmap": LinearSegmentedColormap.from_list("classes", ["tab:blue", "white", "tab:orange"])}
points = {"s": 4, "linewidths": 0, "cmap": ListedColormap(["navy", "saddlebrown"])}

figure, axes = plt.subplots(2, 5, figsize=(10, 4.6), layout="constrained")
for column, passes in zip(axes.T, (1, 3, 6, 12, 80), strict=True):
    tree, gamma = fit(passes), 1 + 0.1 * (passes - 1)
    column[0].set_title(f"{passes} pass{'es' * (passes > 1)}\n$\\gamma$ = {gamma:.1f}")
    for ax, steepness in zip(column, (gamma, 1e9), strict=True):
        proba = soft_predict_proba(tree, grid, steepness)[:, 1]
        ax.imshow(proba.reshape(len(side), -1), **areas)
        ax.scatter(*X[test].T, c=y[test], **points)
        predicted = soft_predict_proba(tree, X[test], steepness).argmax(axis=1)
        ax.set(xticks=[], yticks=[], xlabel=f"{100 * np.mean(predicted == y[test]):.1f} % right")
for ax, name in zip(axes[:, 0], ("soft splits", "hard splits"), strict=True):
    ax.set_ylabel(name, fontsize=12)
plt.show()
