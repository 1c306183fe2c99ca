"""
Categorical features and missing values in a decision tree
==========================================================

Categories of a data frame need no encoding, and missing values no imputation. Here are measurements
of 442 patients, and how their diabetes progressed within a year.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from ngdt import ObliqueTreeRegressor, export_text, plot_tree
from ngdt.optimizers import TAO

data = load_diabetes(as_frame=True, scaled=False)
X, y = data.data, data.target

# %%
# In this table, 1 and 2 stand for the sexes, and nothing is missing. We make a category of the sex,
# and forget the body mass index of every fifth patient.

X["sex"] = X["sex"].map({1: "female", 2: "male"}).astype("category")
X.loc[np.random.default_rng(0).random(len(X)) < 0.2, "bmi"] = np.nan
print(X.head())

X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
tree = ObliqueTreeRegressor(max_depth=2, optimizer=TAO(C=0.03), leaf="constant", random_state=0)
tree.fit(X_train, y_train)
print(f"R² on test patients: {tree.score(X_test, y_test):.2f}")

# %%
# A category is 0 or 1 in a split. A missing number counts as the mean of the training patients. If
# its absence told something of the target, it would be a feature, too.

plot_tree(tree, filled=True)
plt.show()

# %%
# The same as text:

print(export_text(tree, precision=2))

# %%
# The prediction for a patient whose index is missing, and if it were known:

patient = X_test[X_test["bmi"].isna()].head(1)
for bmi in (np.nan, 20.0, 26.0, 32.0):
    (predicted,) = tree.predict(patient.assign(bmi=bmi))
    print(f"bmi {bmi:4g}: {predicted:.0f}")
