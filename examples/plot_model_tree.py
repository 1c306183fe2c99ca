"""
Model tree or random forest: piecewise linear regression
========================================================

Each leaf of a model tree has a straight line. If a target rises, falls and jumps,
three lines follow it better than the thousands of steps of a forest, which follow the noise, too,
or, with larger leaves, cut the peaks.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestRegressor

from ngdt import ObliqueTreeRegressor, export_text
from ngdt.path import size_path
from ngdt.plotting import plot_path

# %%
# The data are made up: three slopes, a jump, and noise.


def truth(x):
    """Return the target without noise."""
    return np.where(x < 4, 1 + 1.5 * x, 7 - 1.5 * (x - 4) + 5 * (x > 7))


rng = np.random.default_rng(0)
X = rng.uniform(0, 10, size=(200, 1))
y = truth(X[:, 0]) + rng.normal(scale=1.0, size=len(X))
models = {
    "random forest": RandomForestRegressor(random_state=0),
    "forest, min_samples_leaf=10": RandomForestRegressor(min_samples_leaf=10, random_state=0),
    "model tree": ObliqueTreeRegressor(leaf="linear", random_state=0),
}

# %%
# The error is the mean distance of the prediction from the truth. With other noise, the model tree
# may have a few more leaves; it is nearer to the truth than both forests on most draws.

line = np.linspace(0, 10, 2000)[:, None]
figure, axes = plt.subplots(1, 3, figsize=(10, 4), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    predicted = model.fit(X, y).predict(line)
    trees = getattr(model, "estimators_", [model])
    n_leaves = sum(tree.get_n_leaves() for tree in trees)
    error = np.abs(predicted - truth(line[:, 0])).mean()
    ax.plot(X, y, ".", color="0.6", label="samples")
    ax.plot(line, truth(line), color="tab:orange", alpha=0.5, linewidth=6, label="truth")
    ax.plot(line, predicted, color="tab:blue", linewidth=2, label="prediction")
    ax.set(title=f"{name}\n{n_leaves} leaves, error {error:.2f}", xlabel="feature")
axes[0].set_ylabel("target")
axes[0].legend(loc="lower center", ncols=3, columnspacing=0.8, handlelength=1, fontsize="small")
axes[0].set_ylim(-1, 10)
plt.show()

# %%
# The model tree is short enough to be read:

print(export_text(models["model tree"], precision=2))

# %%
# How many leaves does it need? :func:`~ngdt.path.size_path` trains trees of each size without each
# of three folds, and has their errors on the folds. Three leaves are enough.

path = size_path(models["model tree"], X, y, max_leaf_nodes=[2, 3, 5], cv=3)
plot_path(path)
plt.show()
print(path)
