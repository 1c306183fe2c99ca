"""
A tree of a table
=================

The rules of a tree are in the units of its table, whatever a pipeline does to the columns. Here is
a tree of few, oblique splits for measurements of tumours.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, plot_tree
from ngdt.export import export_html, export_text
from ngdt.optimizers import TAO

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = make_pipeline(
    StandardScaler(), ObliqueTreeClassifier(max_depth=3, optimizer=TAO(C=0.3), random_state=0))
model.fit(X_train, y_train)
print(f"test accuracy {100 * model.score(X_test, y_test):.1f} %")
plot_tree(model)
plt.show()

# %%
# A split on several columns lists its terms: the weight in the units of the table, and a bar for
# its effect, which is the weight times the standard deviation. The bar points to the right if
# larger values lead to "no". Below are the number of training samples and the shares of the
# classes.
#
# As text, the same tree is

print(export_text(model))

# %%
# and as a page whose branches fold, which needs nothing but a browser:
#
# .. code-block:: python
#
#    export_html(model, "tumours.html", title="Tumours")

page = export_html(model, title="Tumours")
print(f"{len(page) / 1024:.0f} kB")

# %%
# Regression
# ----------
#
# With ``filled=True``, larger predictions have a darker box. The leaves of this tree are linear:
# they have the prediction at the mean of their samples, and the largest terms.

diabetes = load_diabetes(as_frame=True, scaled=False)
regressor = ObliqueTreeRegressor(
    max_depth=2, init="info_gain", optimizer="tao", leaf="linear", random_state=0)
regressor.fit(diabetes.data, diabetes.target)
plot_tree(regressor, filled=True, rounded=True)
plt.show()

# %%
# A large tree
# ------------
#
# The upper levels of a tree with many leaves; ``max_depth=None`` draws them all.

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 4))
y = np.array(["low", "middle", "high"])[np.digitize(np.abs(X).sum(axis=1), [2.5, 4.0])]
large = ObliqueTreeClassifier(max_depth=6, optimizer="tao", max_leaf_nodes=40, random_state=0)
large.fit(X, y)
plot_tree(large, max_depth=2, filled=True, proportion=True, label="root")
plt.show()
