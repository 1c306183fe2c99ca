"""
Prediction intervals
====================

The training targets in a leaf of a regression tree vary. Their quantiles tell how sure a prediction
is: between the quantiles 0.05 and 0.95 there should be 90 % of the targets.
"""

import matplotlib.pyplot as plt
import numpy as np

from ngdt import ObliqueTreeRegressor

# %%
# The target rises along an oblique direction, and its noise grows with it. One tree predicts the
# mean and the interval of each sample.

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(6000, 2))
direction = X @ [1.0, 0.7]
y = 2.0 * direction + (0.2 + 0.5 * np.exp(direction)) * rng.gumbel(size=len(X))
train, test = slice(0, 4000), slice(4000, None)

tree = ObliqueTreeRegressor(max_depth=4, min_samples_leaf=50, random_state=0)
tree.fit(X[train], y[train])
low, median, high = tree.predict_quantiles(X[test], [0.05, 0.5, 0.95]).T
inside = (low <= y[test]) & (y[test] <= high)

# %%
# On the left, each test sample is a point. On the right, the width of the interval follows the
# oblique direction, as the splits do.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
order = np.argsort(direction[test])
at = direction[test][order]
axes[0].fill_between(
    at, low[order], high[order], step="mid", alpha=0.3, label="5 % to 95 %")
axes[0].step(at, median[order], where="mid", color="tab:orange", zorder=3, label="median")
for chosen, color, label in ((inside, "0.3", "inside"), (~inside, "tab:red", "outside")):
    axes[0].plot(direction[test][chosen], y[test][chosen], ".", ms=3, color=color, label=label)
axes[0].set(xlabel="$x_1 + 0.7 x_2$", ylabel="target",
            title=f"{inside.mean():.1%} of the test samples are inside")
axes[0].legend(loc="upper left")

ticks = np.linspace(-1, 1, 200)
grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
width = np.ptp(tree.predict_quantiles(grid, [0.05, 0.95]), axis=1).reshape(200, 200)
image = axes[1].pcolormesh(ticks, ticks, width)
axes[1].set(xlabel="$x_1$", ylabel="$x_2$")
figure.colorbar(image, ax=axes[1], label="width of the interval")
plt.show()
