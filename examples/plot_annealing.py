r"""
From soft to hard decisions
===========================

During soft training, a sample goes to both children of each split. Their shares depend on the
distance of the sample from the split and on the steepness :math:`\gamma`. As :math:`\gamma` rises,
the soft tree approaches the hard tree that is used for predictions. This example shows that on data
with two features.
"""

import matplotlib.pyplot as plt
import numpy as np

from ngdt import ObliqueTreeClassifier, Tree
from ngdt.inference import soft_predict_proba
from ngdt.optimizers import EndToEnd

# %%
# Two spirals, with so much noise that they overlap.

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
# :class:`~ngdt.optimizers.EndToEnd` raises :math:`\gamma` by 0.1 after each epoch. With the same
# seed, a short run is therefore the beginning of a longer one.


def fit(epochs):
    """Return the tree after a number of epochs, and the steepness of the last epoch."""
    model = ObliqueTreeClassifier(
        max_depth=5,
        init="random_complete",
        optimizer=EndToEnd(epochs=epochs, learning_rate=0.01, batch_size=100),
        validation_fraction=None,
        random_state=0,
    )
    return model.fit(X[train], arm[train]).tree_, 1.0 + 0.1 * (epochs - 1)


# %%
# The leaf values of a fitted tree are those for hard decisions. The values for soft decisions
# follow from iterations of EM, eqs. :eq:`soft-10` and :eq:`soft-13`. They need the probabilities of
# reaching the leaves, which are the class probabilities of a tree whose leaf :math:`j` predicts
# class :math:`j`. (Branches that no training sample reaches by hard decisions have been removed.)


def with_values(tree, values):
    """Return a tree with the same splits and other leaf values."""
    splits = tree.weights, tree.thresholds, tree.children_left, tree.children_right
    return Tree(*splits, values)


def soften(tree, gamma):
    """Return the tree with the leaf values that maximize its soft likelihood."""
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
# The plots show the probability of the second spiral, and the test accuracy. Above is the soft tree
# as it is trained; below is the hard tree with the same splits. After the first epoch, the
# probabilities of the soft tree change slowly over the plane, while the hard tree is often
# confident and wrong. In the end they nearly agree.

side = np.linspace(X.min(axis=0), X.max(axis=0), 300)
grid = np.stack(np.meshgrid(*side.T), axis=-1).reshape(-1, 2)
extent = np.c_[side[0], side[-1]].ravel()

figure, axes = plt.subplots(2, 4, figsize=(11, 5), layout="constrained", sharex=True, sharey=True)
for column, epochs in zip(axes.T, (1, 5, 20, 80), strict=True):
    tree, gamma = fit(epochs)
    for ax, decisions in zip(column, ("soft", "hard"), strict=True):
        model = soften(tree, gamma) if decisions == "soft" else tree
        steepness = gamma if decisions == "soft" else 1e9
        posterior = soft_predict_proba(model, grid, steepness)[:, 1].reshape(len(side), -1)
        image = ax.imshow(posterior, cmap="Greys", vmin=0, vmax=1, origin="lower", extent=extent)
        predicted = soft_predict_proba(model, X[test], steepness).argmax(axis=1)
        ax.set(xticks=[], yticks=[])
        accuracy = 100 * np.mean(predicted == arm[test])
        ax.set_title(f"{decisions}: test accuracy {accuracy:.1f} %", fontsize=10)
    stage = rf"epoch {epochs}, $\gamma$ = {gamma:.1f}"
    column[0].set_title(f"{stage}\n{column[0].get_title()}", fontsize=10)
figure.supxlabel("$x_0$")
figure.supylabel("$x_1$")
figure.colorbar(image, ax=axes, label="probability of the second spiral")
plt.show()
