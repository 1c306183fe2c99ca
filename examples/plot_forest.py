"""
Forests
=======

A forest predicts the mean of many trees, each trained on samples of its own. How fast its accuracy
rises with the number of trees depends on the kind of the trees.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from ngdt import ObliqueForestClassifier
from ngdt.initializers import RandomOblique
from ngdt.optimizers import TAO, Annealed

X, y = load_digits(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.7, random_state=0)

# %%
# Trees that are trained as a whole are strong and few of them suffice. Deep random trees are weak,
# but differ from each other, so that their mean gains more.

random = RandomOblique(8, n_nonzero=1)
kinds = {
    "trained softly": {"optimizer": Annealed(steps=500), "max_features": 0.6},
    "TAO": {"init": random, "optimizer": TAO(C=1.0, max_passes=5), "max_depth": 8},
    "random oblique": {"init": RandomOblique(8, n_nonzero=3), "optimizer": None},
    "random": {"init": random, "optimizer": None},
}
figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for name, parameters in kinds.items():
    forest = ObliqueForestClassifier(20, random_state=0, **parameters).fit(X_train, y_train)
    proba = np.cumsum([tree.predict_proba(X_test) for tree in forest.estimators_], axis=0)
    accuracy = 100 * (proba.argmax(axis=2) == y_test.to_numpy()).mean(axis=1)
    ax.plot(np.arange(1, 21), accuracy, marker=".", label=name)
    print(f"{name:15} one tree {accuracy[0]:.1f} %, 20 trees {accuracy[-1]:.1f} %")
ax.set(xlabel="number of trees", ylabel="test accuracy, %", xticks=[1, 5, 10, 15, 20])
ax.legend(frameon=False)
plt.show()

# %%
# By default, the kinds compete. The error is the estimated squared error of the probabilities of a
# forest of one kind only, and the forest gets the numbers of trees for which that error is least.

forest = ObliqueForestClassifier(20, random_state=0).fit(X_train, y_train)
kinds = forest.candidates_
for name, error, n_trees in zip(kinds["candidate"], kinds["error"], kinds["n_trees"], strict=True):
    print(f"{name:15} error {error:.3f}, {n_trees} trees")
print(f"default: test accuracy {100 * forest.score(X_test, y_test):.1f} %")
