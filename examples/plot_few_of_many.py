"""
Few rows, many columns: which genes matter?
===========================================

Two hundred patients, and more columns than patients, three of which tell who is ill. The tree finds
them. The data are made up, so that we know what is right.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from ngdt import ObliqueTreeClassifier, export_text


def patients(n, n_genes, seed):
    """Activities of genes, and who is ill: a sum of three of them tells it, with some noise."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame(random.normal(size=(n, n_genes)), columns=[f"gene{i}" for i in range(n_genes)])
    score = 2.0 * X["gene3"] - X["gene7"] + X["gene9"] + random.normal(scale=0.5, size=n)
    return X, np.where(score > 0.0, "ill", "well")


# %%
# With 500 genes, the default is one sum of the three genes, and a table of its bands. The lasso has
# chosen them, as it does with few samples for each feature (:ref:`default`).

tree = ObliqueTreeClassifier(random_state=0).fit(*patients(200, 500, seed=0))
print(export_text(tree))

# %%
# The more genes there are, the more of them seem to matter by chance. Accuracy on 2000 new
# patients:

numbers = [10, 30, 100, 300, 1000]
models = {"tree of ngdt": ObliqueTreeClassifier(random_state=0),
          "random forest": RandomForestClassifier(random_state=0),
          "logistic regression": LogisticRegression(max_iter=1000)}
figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
for (name, model), color in zip(models.items(), ("#08519c", "0.6", "0.3"), strict=True):
    accuracy = [model.fit(*patients(200, n, seed=0)).score(*patients(2000, n, seed=1))
                for n in numbers]
    ax.plot(numbers, 100 * np.array(accuracy), "o-", color=color, label=name)
ax.set(xscale="log", xlabel="columns, of which three matter", ylabel="accuracy, %", ylim=(50, 100))
ax.set_xticks(numbers, numbers)
ax.legend(frameon=False)
plt.show()
