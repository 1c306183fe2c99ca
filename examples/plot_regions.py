"""
Decision regions of greedy and non-greedy trees
===============================================

With two features, the decision regions of a tree can be drawn. The trees below have the same
maximum depth, so a sample passes at most the same number of splits.
"""

import matplotlib.pyplot as plt
import numpy as np

from ngdt import ObliqueTreeClassifier
from ngdt.plotting import plot_history, plot_regions

# %%
# Two spirals
# -----------
#
# A greedy tree chooses one axis-aligned split at a time. On two spirals, no first split is much
# better than the others by itself: its quality depends on the splits below it.

rng = np.random.default_rng(0)
angle = rng.uniform(0.6, 3.4, 1500) * np.pi / 1.7
arm = rng.integers(2, size=len(angle))
X = angle[:, None] * np.c_[np.cos(angle + np.pi * arm), np.sin(angle + np.pi * arm)]
X += rng.normal(scale=0.25, size=X.shape)
train, test = slice(0, 1000), slice(1000, None)

models = {
    name: ObliqueTreeClassifier(max_depth=4, optimizer=optimizer, random_state=0)
    for name, optimizer in (("greedy", None), ("SSGD", "ssgd"), ("annealed", "annealed"))
}
figure, axes = plt.subplots(1, 3, figsize=(10, 3.9), layout="constrained", sharey=True)
for (name, model), ax in zip(models.items(), axes, strict=True):
    model.fit(X[train], arm[train])
    plot_regions(model, X[test], arm[test], ax=ax).label_outer()
    ax.set_title(f"{name}: test accuracy {100 * model.score(X[test], arm[test]):.0f} %")
figure.suptitle("Trees of depth 4 and test samples of two spirals")

# %%
# Training curves
# ---------------
#
# The initial tree of the tree in the middle is the greedy one. SSGD then changes all splits
# together to minimize the upper bound on the loss, and the loss decreases with it. The tree on the
# right is trained from random splits, with soft decisions that become hard.

plot_history(models["SSGD"]).set_title("Training by SSGD")
plt.show()
