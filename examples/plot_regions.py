"""
Greedy and non-greedy on the plane
==================================

With two features one can see what a tree does. Both trees below have the same depth, and so the
same number of questions to ask about an example.
"""

import matplotlib.pyplot as plt
import numpy as np

from ngdt import ObliqueTreeClassifier
from ngdt.plotting import plot_history, plot_regions

# %%
# Two spirals
# -----------
#
# A greedy tree cuts along the axes, one cut at a time. On two spirals its first cut can hardly be
# a good one, whichever it is: what makes it good or bad is what the later ones do with it.

rng = np.random.default_rng(0)
angle = rng.uniform(0.6, 3.4, 1500) * np.pi / 1.7
arm = rng.integers(2, size=len(angle))
X = angle[:, None] * np.c_[np.cos(angle + np.pi * arm), np.sin(angle + np.pi * arm)]
X += rng.normal(scale=0.25, size=X.shape)
train, test = slice(0, 1000), slice(1000, None)

greedy = ObliqueTreeClassifier(max_depth=4, optimizer=None, random_state=0)
tree = ObliqueTreeClassifier(max_depth=4, random_state=0)
figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained", sharey=True)
for model, name, ax in zip((greedy, tree), ("greedy", "non-greedy"), axes, strict=True):
    model.fit(X[train], arm[train])
    plot_regions(model, X[test], arm[test], ax=ax)
    ax.set_title(f"{name}, depth 4: {100 * model.score(X[test], arm[test]):.0f} % right")

# %%
# What happened
# -------------
#
# The non-greedy tree started as the greedy one. Training then turned and moved all of its cuts at
# once, so as to push down the upper bound on the loss, and the loss came down with it.

plot_history(tree)
plt.show()
