"""
Regression
==========

For regression, SSGD minimizes an upper bound on the squared loss. Each leaf predicts a value.
"""

import matplotlib.pyplot as plt
import numpy as np

from ngdt import ObliqueTreeRegressor
from ngdt.plotting import plot_regions

# %%
# The targets are a noisy staircase of three steps whose edges are oblique. Axis-aligned splits
# approximate them badly.

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(3000, 2))
y = np.digitize(X @ [1.0, 0.7], [-0.6, 0.0, 0.6]) + rng.normal(scale=0.3, size=len(X))
train, test = slice(0, 2000), slice(2000, None)

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
for optimizer, name, ax in ((None, "greedy", axes[0]), ("ssgd", "non-greedy", axes[1])):
    model = ObliqueTreeRegressor(max_depth=3, optimizer=optimizer, random_state=0)
    model.fit(X[train], y[train])
    plot_regions(model, X[test], y[test], ax=ax).label_outer()
    ax.set_title(f"{name}, depth 3: test $R^2$ = {model.score(X[test], y[test]):.2f}")
    figure.colorbar(ax.get_images()[0], ax=ax, label="prediction (area), target (points)")
plt.show()
