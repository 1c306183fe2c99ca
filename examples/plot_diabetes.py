"""
Regression on a table
=====================

Ten measurements of 442 patients, and how their diabetes progressed within a year: a small table
with much noise, on which a greedy tree does badly. The leaves of our trees may be linear. Here
the default finds on its own folds that a single linear leaf is enough, which is a linear model;
where groups of patients differ, each gets a formula of its own.
"""

# %%
# Models with default parameters, on five folds.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from ngdt import ObliqueTreeRegressor, export_text

data = load_diabetes(as_frame=True, scaled=False)
X, y = data.data, data.target
MODELS = {
    "greedy tree of depth 3": DecisionTreeRegressor(max_depth=3, random_state=0),
    "ObliqueTreeRegressor": ObliqueTreeRegressor(random_state=0),
    "ridge regression": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 3, 20))),
    "random forest": RandomForestRegressor(random_state=0),
}
scores = {name: cross_val_score(model, X, y, cv=5) for name, model in MODELS.items()}

fig, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
for i, (name, values) in enumerate(scores.items()):
    ax.barh(name, values.mean(), color="C0" if "Oblique" in name else "0.7")
    ax.plot(values, [i] * len(values), "k.", markersize=4)
ax.set(xlabel="R² on the test folds: mean, and each fold")
ax.invert_yaxis()

# %%
# What the tree says: a formula in the units of the table, written around a typical patient.

tree = ObliqueTreeRegressor(random_state=0).fit(X, y)
print(export_text(tree, digits=2, n_terms=4))

# %%
# Why one patient is predicted as it is:

print(tree.explain(X[:1])[0])

# %%
# One of ten training patients in this leaf had a progression below the first number, nine of ten
# below the second:

print(tree.predict_quantiles(X[:1], [0.1, 0.9]))
