"""
Linear leaves
=============

A leaf may predict a weighted sum of the features instead of a constant. The prediction is then a
piecewise linear surface: few leaves follow what would take many constant ones.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.model_selection import ValidationCurveDisplay

from ngdt import ObliqueTreeRegressor
from ngdt.plotting import plot_regions

# %%
# The targets are a roof with an oblique ridge, and noise. Both trees have at most four leaves.

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(3000, 2))
y = 2 - 2 * np.abs(X @ [0.8, 0.6]) + X[:, 1] + rng.normal(scale=0.2, size=len(X))
train, test = slice(0, 2000), slice(2000, None)

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
for leaf, ax in zip(("constant", "linear"), axes, strict=True):
    model = ObliqueTreeRegressor(max_depth=2, optimizer="annealed", leaf=leaf, random_state=0)
    model.fit(X[train], y[train])
    plot_regions(model, X[test], y[test], ax=ax).label_outer()
    ax.set_title(f"{leaf} leaves: test $R^2$ = {model.score(X[test], y[test]):.2f}")
    figure.colorbar(ax.get_images()[0], ax=ax, label="prediction (area), target (points)")
plt.show()

# %%
# The same along one line. Predictions of a leaf stay in the range of its training targets.

line = np.column_stack([np.linspace(-1, 1, 400), np.zeros(400)])
figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
near = np.abs(X[train, 1]) < 0.1
ax.plot(X[train][near, 0], y[train][near], ".", color="0.7", label="samples near the line")
for leaf in ("constant", "linear"):
    model = ObliqueTreeRegressor(max_depth=2, optimizer="annealed", leaf=leaf, random_state=0)
    ax.plot(line[:, 0], model.fit(X[train], y[train]).predict(line), label=f"{leaf} leaves")
ax.set(xlabel="first feature, the second being 0", ylabel="prediction")
ax.legend()
plt.show()

# %%
# How many leaves are enough? A model tree of each size is grown and pruned at that size, so that a
# validation curve over ``max_leaf_nodes`` compares the best trees of each.

X, y = make_friedman1(1000, noise=1.0, random_state=0)
figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
for init, label in (("model_tree", "linear leaves"), ("pruned", "constant leaves")):
    display = ValidationCurveDisplay.from_estimator(
        ObliqueTreeRegressor(init=init, optimizer=None, random_state=0), X, y,
        param_name="max_leaf_nodes", param_range=[2, 4, 8, 16, 32], cv=3, score_type="test",
        score_name="$R^2$ on the folds", ax=ax)
    display.lines_[0].set_label(label)
ax.set_xscale("log", base=2)
ax.xaxis.set_major_formatter("{x:.0f}")
ax.set(xlabel="leaves at most")
ax.legend()
plt.show()
