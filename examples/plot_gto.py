"""
Greedy planes and the global tree
=================================

A picture as in Bennett's paper of 1994: two classes in the plane, which a tree of three decisions
parts, and the trees that are learnt from them.
"""

import matplotlib.pyplot as plt
import numpy as np

from ngdt import ObliqueTreeClassifier, Tree
from ngdt.initializers import GreedyLP
from ngdt.optimizers import GTO
from ngdt.plotting import plot_regions

# %%
# Three decisions
# ---------------
#
# The truth is a tree of three decisions. The greedy tree solves a linear program at each node, and
# goes on until it makes no error. Pruned, it keeps the three decisions that serve best as they
# are. Global tree optimization starts from these, and moves all of them together.

truth = Tree(
    weights=[[1.0, -0.2], [0.7, -0.7], [0.55, 0.85]], thresholds=[0.26, 0.34, 0.94],
    children_left=[~0, 2, ~2], children_right=[1, ~1, ~3],
    values=[[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
rng = np.random.default_rng(0)
X, X_test = rng.uniform(size=(300, 2)), rng.uniform(size=(3000, 2))
y, y_test = (truth.predict(data).argmax(axis=1) for data in (X, X_test))

greedy = ObliqueTreeClassifier(max_depth=None, init="greedy_lp", optimizer=None)
pruned = ObliqueTreeClassifier(init=GreedyLP(max_leaf_nodes=4), optimizer=None)
gto = ObliqueTreeClassifier(
    init=GreedyLP(max_leaf_nodes=4), optimizer=GTO(), validation_fraction=None)


def draw_decisions(tree, ax):
    """Draw each plane of a tree where it decides about anything."""
    x0, x1 = np.meshgrid(*2 * [np.linspace(0, 1, 400)])
    grid = np.column_stack([x0.ravel(), x1.ravel()])
    scores, visited = tree.scores(grid), tree.decision_path(grid).toarray()
    for score, inside in zip(scores.T, visited.T, strict=True):
        score = np.where(inside, score, np.nan).reshape(x0.shape)
        ax.contour(x0, x1, score, levels=[0], colors="black", linewidths=1.2)


figure, axes = plt.subplots(1, 3, figsize=(10, 3.8), layout="constrained", sharey=True)
for (name, model), ax in zip(
        {"greedy": greedy, "pruned": pruned, "GTO": gto}.items(), axes, strict=True):
    model.fit(X, y)
    plot_regions(model, X, y, ax=ax)
    draw_decisions(model.tree_, ax)
    ax.set_title(f"{name}: {model.tree_.n_internal} decisions\n"
                 f"{100 * model.score(X_test, y_test):.1f} % of test points right")

# %%
# What happened
# -------------
#
# The first greedy plane parts the classes as well as one plane can, which is not what the truth
# does first; the small planes below it repair that, and overfit. GTO finds three planes
# that make no error on the training points. The history has its objective, the gap of the minimum
# principle and the training error; an objective of zero is drawn as 1e-6. (It does not always end
# so well: see :ref:`theory-gto`.)

figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
axes[0].semilogy(np.maximum(gto.history_["objective"], 1e-6), marker="o")
axes[0].set(xlabel="iteration", ylabel="objective")
axes[1].plot(100 * np.array(gto.history_["error"]), marker="o")
axes[1].set(xlabel="iteration", ylabel="training errors, %")
plt.show()
