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
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.model_selection import cross_val_score

from ngdt import ObliqueTreeRegressor
from ngdt.inference import is_monotone

data = load_diabetes(as_frame=True, scaled=False)
X, y = data.data[["bmi", "bp"]], data.target
X.columns = ["body mass index", "blood pressure"]

# %%
# The first two trees have the same parameters except the directions. The third one also has linear
# leaves, which compete by default: they share one slope for each column, in its direction. The
# score is the mean :math:`R^2` on five folds.

free = ObliqueTreeRegressor(max_depth=5, init="info_gain", optimizer="tao", random_state=0)
directions = {"body mass index": 1, "blood pressure": 1}
models = {
    "free": free,
    "monotone": clone(free).set_params(monotonic_cst=directions),
    "with linear leaves": clone(free).set_params(monotonic_cst=directions, leaf="linear"),
}

# %%
# The free tree predicts most for a corner with a single patient. Along the dashed line, it rises,
# falls and rises again. Both monotone trees only rise, the last one also within its leaves.

line = pd.DataFrame({X.columns[0]: 40.0, X.columns[1]: np.linspace(60, 135, 400)})
figure, axes = plt.subplots(
    1, 4, figsize=(13.5, 3.8), width_ratios=(1, 1, 1, 0.8), layout="constrained")
for ax, (name, model), color in zip(
        axes[:3], models.items(), ("tab:orange", "tab:blue", "tab:green"), strict=True):
    score = cross_val_score(model, X, y, cv=5).mean()
    style = {"cmap": "viridis", "vmin": y.min(), "vmax": y.max()}
    shown = DecisionBoundaryDisplay.from_estimator(
        model.fit(X, y), X, plot_method="pcolormesh", alpha=0.6, ax=ax, **style)
    ax.scatter(*X.to_numpy().T, c=y, s=14, edgecolors="0.2", linewidths=0.4, **style)
    ax.plot(*line.to_numpy().T, color=color, linestyle="--", linewidth=2)
    ax.set_title(f"{name}: $R^2$ = {score:.2f}")
    axes[3].plot(line.iloc[:, 1], model.predict(line), color=color, linewidth=2, label=name)
figure.colorbar(shown.surface_, ax=axes[2], label="progression: areas predicted, points true")
axes[3].set(title=f"predicted for a\n{X.columns[0]} of 40", xlabel=X.columns[1])
axes[3].legend(fontsize="small")
plt.show()

# %%
# The proofs hold for all patients, not only on a grid. For a tree that is not monotone,
# ``is_monotone`` returns two patients that show it: here the second has the larger body mass index
# and the smaller prediction.

for name in ("monotone", "with linear leaves"):
    print(f"{name}:", is_monotone(models[name]))
is_proved, pair = is_monotone(free, directions)
print("free:", is_proved)
for patient in pair:
    print(patient.round(1), free.tree_.predict(patient[None]).round(1).ravel())
