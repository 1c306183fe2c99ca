"""
Greedy tree or tree trained as a whole: 38 splits or 3
======================================================

Two classes in the plane come from a tree of three splits. A tree that is grown split by split does
not find these, pruned or not. Global tree optimization (Bennett, 1994) does.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.inspection import DecisionBoundaryDisplay

from ngdt import ObliqueTreeClassifier, Tree
from ngdt.initializers import GreedyLP
from ngdt.optimizers import GTO

# %%
# The greedy tree solves a linear program at each node, until it makes no training error. Its first
# split separates the classes as well as one split can, but is none of the three; the splits below
# correct its errors, and follow single samples (points). The pruned tree keeps the best three of
# its splits. :class:`~ngdt.optimizers.GTO` starts from these and moves all of them together. (It
# does not always find such a tree: see :ref:`theory-gto`.)

truth = Tree(
    weights=[[1.0, -0.2], [0.7, -0.7], [0.55, 0.85]], thresholds=[0.26, 0.34, 0.94],
    children_left=[~0, 2, ~2], children_right=[1, ~1, ~3],
    values=[[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
rng = np.random.default_rng(0)
X, X_test = rng.uniform(size=(300, 2)), rng.uniform(size=(3000, 2))
y, y_test = (truth.predict(data).argmax(axis=1) for data in (X, X_test))

greedy = ObliqueTreeClassifier(max_depth=None, init="greedy_lp", optimizer=None)
pruned = ObliqueTreeClassifier(max_leaf_nodes=4, init=GreedyLP(), optimizer=None)
gto = ObliqueTreeClassifier(
    max_leaf_nodes=4, init=GreedyLP(), optimizer=GTO(), validation_fraction=None)


def draw_splits(tree, ax):
    """Draw each split of a tree within the region that reaches its node."""
    x0, x1 = np.meshgrid(*2 * [np.linspace(0, 1, 100)])
    grid = np.column_stack([x0.ravel(), x1.ravel()])
    scores, visited = tree.scores(grid), tree.decision_path(grid).toarray()
    for score, inside in zip(scores.T, visited.T, strict=True):
        score = np.where(inside, score, np.nan).reshape(x0.shape)
        ax.contour(x0, x1, score, levels=[0], colors="black", linewidths=1.2)


figure, axes = plt.subplots(1, 3, figsize=(10, 3.8), layout="constrained", sharey=True)
for (name, model), ax in zip(
        {"greedy": greedy, "pruned": pruned, "GTO": gto}.items(), axes, strict=True):
    model.fit(X, y)
    DecisionBoundaryDisplay.from_estimator(
        model, X, eps=0.05, response_method="predict", cmap="coolwarm", alpha=0.4, ax=ax)
    ax.scatter(*X.T, c=y, cmap="coolwarm", s=9)
    draw_splits(model.tree_, ax)
    ax.set_title(f"{name}: {model.tree_.n_internal} splits\n"
                 f"test accuracy {100 * model.score(X_test, y_test):.1f} %")
plt.show()
