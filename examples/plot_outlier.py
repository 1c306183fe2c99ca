"""
What an outlier does to a regression tree, and what it does not
===============================================================

A decimal point is missing: one patient of 442 has a target that is a hundred times too large, or a
feature that is ten times too large. Which predictions change?
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

from ngdt import ObliqueTreeRegressor

data = load_diabetes(as_frame=True, scaled=False)
X, y = data.data[["bmi"]], data.target
mistyped = X["bmi"].sub(38).abs().idxmin()
wrong_y, wrong_X = y.copy(), X.copy()
wrong_y[mistyped] *= 100
wrong_X.loc[mistyped] *= 10

# %%
# The dashed lines are trained with the right number, the others with the wrong one.
#
# - A wrong target moves the whole line of a linear regression, and a random forest nearby.
#   A tree of ngdt leaves it out, and warns: :ref:`estimator-data`.
# - A wrong feature tilts the line. The trees hardly change: for them, it does not matter how far a
#   patient is beyond the last split.

models = {
    "linear regression": LinearRegression(),
    "random forest": RandomForestRegressor(30, min_samples_leaf=10, random_state=0),
    "ngdt tree": ObliqueTreeRegressor(
        max_depth=3, init="info_gain", optimizer="tao", random_state=0),
}
line = pd.DataFrame({"bmi": np.linspace(17, 45, 500)})
figure, axes = plt.subplots(2, 3, figsize=(9, 5.4), sharex=True, sharey=True, layout="constrained")
for row, table in zip(axes, ((X, wrong_y), (wrong_X, y)), strict=True):
    for ax, (name, model) in zip(row, models.items(), strict=True):
        ax.plot(X["bmi"], y, ".", color="0.75", markersize=3)
        ax.plot(X["bmi"][mistyped], y[mistyped], "kx", label="the patient, right numbers")
        wrong = model.fit(*table).predict(line)
        ax.plot(line, wrong, color="tab:orange", linewidth=3, label="trained with the wrong number")
        right = model.fit(X, y).predict(line)
        ax.plot(line, right, "--", color="tab:blue", label="with the right one")
        ax.set(title=name, ylim=(0, 500))
axes[0, 0].set_ylabel("a wrong target\n\ndiabetes progression")
axes[1, 0].set_ylabel("a wrong feature\n\ndiabetes progression")
figure.supxlabel("body mass index", fontsize="medium")
figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
plt.show()
