"""
A decision tree as SQL: predictions inside a database
=====================================================

:func:`~ngdt.export.export_sql` writes a tree as a query. A database, here SQLite, then predicts
where the data are, without Python.
"""

import sqlite3

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap
from sklearn.datasets import load_iris

from ngdt import ObliqueTreeClassifier
from ngdt.export import export_sql
from ngdt.optimizers import TAO

iris = load_iris(as_frame=True)
X = iris.data[["petal length (cm)", "petal width (cm)"]]
y = pd.Series(iris.target_names[iris.target], name="species")
tree = ObliqueTreeClassifier(max_depth=2, optimizer=TAO(C=1.0), random_state=0).fit(X, y)
query = export_sql(tree, table="flowers", prediction="predicted", columns=[*X, "species"])
print(query)

# %%
# The query is a table like any other: rows can be selected, joined and counted.

database = sqlite3.connect(":memory:")
pd.concat([X, y], axis=1).to_sql("flowers", database, index=False)
count = f"SELECT species, predicted, COUNT(*) AS n FROM ({query}) GROUP BY species, predicted"
print(pd.read_sql(count, database))

# %%
# It predicts what ``predict`` does for all flowers. It also paints the plane, whose points are a
# second table.

predicted = pd.read_sql(query, database)["predicted"]
print(f"{(predicted == tree.predict(X)).sum()} of {len(X)} flowers as by predict")

sides = [np.linspace(X[name].min() - 0.3, X[name].max() + 0.3, 150) for name in X]
plane = pd.DataFrame(np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2), columns=X.columns)
plane.to_sql("plane", database, index=False)
painted = pd.read_sql(export_sql(tree, table="plane", columns=list(X)), database)
database.close()

areas = painted.pivot(index=X.columns[1], columns=X.columns[0], values="prediction")

figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
colors = "tab:blue", "tab:orange", "tab:purple"
ax.pcolormesh(areas.columns, areas.index, np.searchsorted(tree.classes_, areas),
              cmap=ListedColormap(colors), alpha=0.3)
for species, color, marker in zip(tree.classes_, colors, "os^", strict=True):
    ax.scatter(*X[y == species].to_numpy().T, color=color, marker=marker, label=species)
ax.set(xlabel=X.columns[0], ylabel=X.columns[1], title="Areas: predicted by SQLite")
ax.legend(loc="lower right", title="flowers")
plt.show()
