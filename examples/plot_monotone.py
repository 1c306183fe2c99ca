"""
Monotonic constraints: a decision tree that rises where it should
=================================================================

A higher body mass index or blood pressure should never lower the predicted progression of diabetes.
``monotonic_cst`` gives such directions, and
:func:`~ngdt.inference.is_monotone` proves that a tree follows them everywhere.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.model_selection import cross_val_score

from ngdt import ObliqueTreeRegressor
from ngdt.inference import is_monotone

data = load_diabetes(as_frame=True, scaled=False)
X, y = data.data[["bmi", "bp"]], data.target
X.columns = ["body mass index", "blood pressure"]

# %%
# Two trees with the same parameters except the directions. The score is the mean
# :math:`R^2` on five folds.

free = ObliqueTreeRegressor(max_depth=5, init="info_gain", optimizer="tao", random_state=0)
models = {
    "free": free,
    "monotone": ObliqueTreeRegressor(
        **free.get_params() | {"monotonic_cst": {"body mass index": 1, "blood pressure": 1}}),
}

# %%
# The free tree predicts most for a corner with a single patient. Along the dashed line, it rises,
# falls and rises again.

line = pd.DataFrame({X.columns[0]: 40.0, X.columns[1]: np.linspace(60, 135, 400)})
figure, axes = plt.subplots(
    1, 3, figsize=(10.5, 3.8), width_ratios=(1, 1, 0.8), layout="constrained")
for ax, (name, model), color in zip(
        axes[:2], models.items(), ("tab:orange", "tab:blue"), strict=True):
    score = cross_val_score(model, X, y, cv=5).mean()
    style = {"cmap": "viridis", "vmin": y.min(), "vmax": y.max()}
    shown = DecisionBoundaryDisplay.from_estimator(
        model.fit(X, y), X, plot_method="pcolormesh", alpha=0.6, ax=ax, **style)
    ax.scatter(*X.to_numpy().T, c=y, s=14, edgecolors="0.2", linewidths=0.4, **style)
    ax.plot(*line.to_numpy().T, color=color, linestyle="--", linewidth=2)
    ax.set_title(f"{name}: $R^2$ = {score:.2f}")
    axes[2].plot(line.iloc[:, 1], model.predict(line), color=color, linewidth=2, label=name)
figure.colorbar(shown.surface_, ax=axes[1], label="progression: areas predicted, points true")
axes[2].set(title=f"predicted for a\n{X.columns[0]} of 40", xlabel=X.columns[1])
axes[2].legend()
plt.show()

# %%
# The proof holds for all patients, not only on a grid. For a tree that is not monotone,
# ``is_monotone`` returns two patients that show it: here the second has the larger body mass index
# and the smaller prediction.

print("monotone:", is_monotone(models["monotone"]))
is_proved, pair = is_monotone(free, [1, 1])
print("free:", is_proved)
for patient in pair:
    print(patient.round(1), free.tree_.predict(patient[None]).round(1).ravel())
