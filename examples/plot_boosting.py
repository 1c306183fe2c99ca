"""
Boosting a forest: when the mean of many trees is too smooth
============================================================

The mean of many trees predicts large values too small, and small ones too large. A second forest
can be trained on the errors of the first one.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1

from ngdt import ObliqueBoostingRegressor, ObliqueForestRegressor
from ngdt.initializers import RandomOblique

X, y = make_friedman1(500, n_features=5, noise=0.1, random_state=0)
X_test, y_test = make_friedman1(2000, n_features=5, noise=0.0, random_state=1)

# %%
# Both have thirty deep greedy trees. Boosting divides them: 18 for the first forest, and 12 for its
# out-of-bag errors, by the trees that did not draw a sample.

forest = ObliqueForestRegressor(
    30, init=RandomOblique(5, n_nonzero=2), optimizer=None, random_state=0)
models = {"one forest": forest, "boosting": ObliqueBoostingRegressor(forest)}
figure, axes = plt.subplots(1, 2, figsize=(7, 3.6), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    missed = y_test - model.fit(X, y).predict(X_test)
    ax.scatter(y_test, missed, s=4, alpha=0.3, linewidths=0)
    edges = np.quantile(y_test, np.linspace(0.0, 1.0, 9))
    part = np.digitize(y_test, edges[1:-1])
    ax.plot([y_test[part == k].mean() for k in range(8)],
            [missed[part == k].mean() for k in range(8)], color="C1", marker="o", label="mean")
    ax.axhline(0.0, color="0.5", linewidth=0.8)
    ax.set(title=f"{name}: RMSE {np.sqrt(np.mean(missed ** 2)):.2f}", xlabel="true value")
axes[0].set_ylabel("true value minus prediction")
axes[0].legend(frameon=False)
plt.show()

# %%
# ``oob_errors_`` are the out-of-bag squared errors of the first forest, and of both: the second one
# is kept since it lowers them.

print(models["boosting"].oob_errors_)

# %%
# If only noise remains, a second forest raises the out-of-bag error, and the result is one forest
# of all trees.

diabetes = load_diabetes()
model = ObliqueBoostingRegressor(forest).fit(diabetes.data, diabetes.target)
print(model.oob_errors_, [len(each.estimators_) for each in model.estimators_])
