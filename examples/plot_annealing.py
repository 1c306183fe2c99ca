r"""
From soft to hard
=================

While a tree is trained softly, an example goes to both sides of each split, with shares that depend
on its distance from the split and on the steepness :math:`\gamma`. As :math:`\gamma` rises, the
soft tree becomes the hard one that is used in the end. On the plane one can watch that.
"""

import matplotlib.pyplot as plt
import numpy as np

from ngdt import ObliqueTreeClassifier, Tree
from ngdt.inference import soft_predict_proba
from ngdt.optimizers import EndToEnd

# %%
# Two spirals, this time with so much noise that their arms touch.

rng = np.random.default_rng(0)
angle = rng.uniform(0.6, 3.4, 6000) * np.pi / 1.7
arm = rng.integers(2, size=len(angle))
X = angle[:, None] * np.c_[np.cos(angle + np.pi * arm), np.sin(angle + np.pi * arm)]
X += rng.normal(scale=0.8, size=X.shape)
train, test = slice(0, 3000), slice(3000, None)

# %%
# Stages of one run
# -----------------
#
# :class:`~ngdt.optimizers.EndToEnd` raises :math:`\gamma` by a tenth after each epoch, so a short
# run is the beginning of a longer one with the same seed.


def fit(epochs):
    """The tree after so many epochs, and the steepness of the last one."""
    model = ObliqueTreeClassifier(
        max_depth=5,
        init="random_complete",
        optimizer=EndToEnd(epochs=epochs, learning_rate=0.01, batch_size=100),
        validation_fraction=None,
        random_state=0,
    )
    return model.fit(X[train], arm[train]).tree_, 1.0 + 0.1 * (epochs - 1)


# %%
# A fitted tree has the leaves that suit hard decisions. Those of the soft tree are a few rounds of
# EM away: eqs. :eq:`soft-10` and :eq:`soft-13`. A tree whose leaf :math:`j` predicts "class"
# :math:`j` gives the probabilities of reaching the leaves. (Branches that no training example takes
# by hard decisions are gone already.)


def with_values(tree, values):
    """The same splits with other leaves."""
    splits = tree.weights, tree.thresholds, tree.children_left, tree.children_right
    return Tree(*splits, values)


def soften(tree, gamma):
    """The tree with the leaves that maximise its soft likelihood."""
    reach = soft_predict_proba(with_values(tree, 1e3 * np.eye(tree.n_leaves)), X[train], gamma)
    leaves = np.full((tree.n_leaves, 2), 0.5) + rng.uniform(-0.1, 0.1, (tree.n_leaves, 1)) * [1, -1]
    labels = np.eye(2)[arm[train]]
    for _ in range(100):
        responsible = reach * leaves[:, arm[train]].T
        responsible /= responsible.sum(axis=1, keepdims=True)
        leaves = responsible.T @ labels + 0.1 * labels.mean(axis=0)
        leaves /= leaves.sum(axis=1, keepdims=True)
    return with_values(tree, np.log(leaves))


# %%
# The darker, the more probable the second arm. Above, the tree as it is trained; below, the hard
# tree that would come of it at that stage. In the beginning the soft tree is hardly more than a
# shade, and the hard one is sure of itself where it should not be. In the end they nearly agree.

side = np.linspace(X.min(axis=0), X.max(axis=0), 300)
grid = np.stack(np.meshgrid(*side.T), axis=-1).reshape(-1, 2)
extent = np.c_[side[0], side[-1]].ravel()

figure, axes = plt.subplots(2, 4, figsize=(10, 5), layout="constrained", sharex=True, sharey=True)
for column, epochs in zip(axes.T, (1, 5, 20, 80), strict=True):
    tree, gamma = fit(epochs)
    for ax, kind in zip(column, ("soft", "hard"), strict=True):
        model = soften(tree, gamma) if kind == "soft" else tree
        steepness = gamma if kind == "soft" else 1e9
        posterior = soft_predict_proba(model, grid, steepness)[:, 1].reshape(len(side), -1)
        ax.imshow(posterior, cmap="Greys", vmin=0, vmax=1, origin="lower", extent=extent)
        guess = soft_predict_proba(model, X[test], steepness).argmax(axis=1)
        ax.set(xticks=[], yticks=[])
        ax.set_title(f"{kind}: {100 * np.mean(guess == arm[test]):.1f} % right", fontsize=10)
    stage = rf"epoch {epochs}, $\gamma$ = {gamma:.1f}"
    column[0].set_title(f"{stage}\n{column[0].get_title()}", fontsize=10)
plt.show()
