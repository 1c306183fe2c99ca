"""
Greedy and non-greedy on the plane
==================================

With two features one can see what a tree does. The trees below have the same depth, and so the same
number of questions to ask about an example.
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

models = {
    name: ObliqueTreeClassifier(max_depth=4, optimizer=optimizer, random_state=0)
    for name, optimizer in (("greedy", None), ("SSGD", "ssgd"), ("annealed", "annealed"))
}
figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained", sharey=True)
for (name, model), ax in zip(models.items(), axes, strict=True):
    model.fit(X[train], arm[train])
    plot_regions(model, X[test], arm[test], ax=ax)
    ax.set_title(f"{name}, depth 4: {100 * model.score(X[test], arm[test]):.0f} % right")

# %%
# What happened
# -------------
#
# The tree in the middle started as the greedy one. SSGD then turned and moved all of its cuts at
# once, so as to push down the upper bound on the loss, and the loss came down with it. The tree on
# the right started from random cuts and was trained with soft decisions that turned hard.

plot_history(models["SSGD"])
plt.show()
