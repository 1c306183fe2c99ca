"""
Prediction intervals: how sure is a regression tree or forest?
==============================================================

The quantiles of the training targets in a leaf tell how sure a prediction
is: between the quantiles 0.05 and 0.95 there should be 90 % of the targets.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold

from ngdt import ObliqueForestRegressor, ObliqueTreeRegressor

data = load_diabetes(as_frame=True, scaled=False)
X, y = data.data, data.target

# %%
# How far will the diabetes of a patient progress within a year? A tree of few leaves has one
# interval for all patients of a leaf. A forest has one for each patient, from the training targets
# in the leaves of all trees. Each patient is predicted by a model that was trained on other folds.

models = {
    "a tree": ObliqueTreeRegressor(
        max_depth=2, min_samples_leaf=30, leaf="constant", random_state=0),
    "a forest": ObliqueForestRegressor(50, optimizer=None, min_samples_leaf=5, random_state=0),
}


def out_of_fold_quantiles(model):
    """The quantiles 0.05, 0.5 and 0.95 for each patient."""
    quantiles = np.empty((len(X), 3))
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        model.fit(X.iloc[train], y.iloc[train])
        quantiles[test] = model.predict_quantiles(X.iloc[test], [0.05, 0.5, 0.95])
    return quantiles


# %%
# Patients are sorted by their predicted medians. Intervals are narrower for a small predicted
# progression.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    quantiles = out_of_fold_quantiles(model)
    order = np.lexsort(quantiles.T[[0, 2, 1]])
    (low, median, high), target = quantiles[order].T, y.to_numpy()[order]
    inside = (low <= target) & (target <= high)
    share = 100 * inside.mean()
    patient = np.arange(len(X))
    ax.fill_between(patient, low, high, step="mid", alpha=0.3, label="5 % to 95 %")
    ax.step(patient, median, where="mid", color="tab:orange", linewidth=2, label="median")
    ax.plot(patient[inside], target[inside], ".", ms=4, color="0.3", label="inside")
    ax.plot(patient[~inside], target[~inside], "x", ms=5, color="black", label="outside")
    ax.set(xlabel="patients, sorted by predicted median",
           title=f"{name}: {share:.0f} % inside, mean width {np.mean(high - low):.0f}")
axes[0].set_ylabel("diabetes progression")
axes[0].legend(loc="upper left")
plt.show()
