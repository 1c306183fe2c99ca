"""
One sum and a table: a linear score in bands (breast cancer)
============================================================

Is a tumour benign or malignant? One weighted sum of thirty measurements, and a table of a few
bands, are right more often than a forest of 100 trees, and each band says how sure it is.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_score, train_test_split

from ngdt import ObliqueTreeClassifier
from ngdt.initializers import RandomComplete
from ngdt.optimizers import Annealed, CutLeaves

# %%
# All splits of a tree made by :class:`~ngdt.initializers.ScoreBands` share the weights of a
# logistic regression. Where two classes differ along one sum, the default returns it, too. The
# points are the shares of malignant tumours among those that were not trained on.

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
tree = ObliqueTreeClassifier(init="score_bands", optimizer=None, random_state=0)
tree.fit(X_train, y_train)
bands, count = np.unique(tree.apply(X_test), return_counts=True)
says = [tree.predict_proba(X_test[tree.apply(X_test) == band])[0, 1] for band in bands]
share = [np.mean(y_test[tree.apply(X_test) == band] == "malignant") for band in bands]
place = np.arange(len(bands))
figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
ax.bar(place, says, color="#9ecae1", label="what the tree says")
ax.plot(place, share, "o", color="0.2", label="new patients")
ax.set_xticks(place, [f"{n} patients" for n in count], fontsize=8)
ax.set(xlabel="bands of the score, from low to high", ylabel="share of malignant tumours",
       ylim=(0, 1.05))
ax.legend(frameon=False)
plt.show()

# %%
# Accuracy on patients left out, in three folds:

forest = RandomForestClassifier(random_state=0)
pruned = ObliqueTreeClassifier(init="pruned", optimizer=None, random_state=0)
models = {"score bands": tree, "random forest": forest, "pruned tree": pruned}
accuracy = {name: cross_val_score(model, X, y, cv=3).mean() for name, model in models.items()}
for name, right in accuracy.items():
    print(f"{name:14} {100 * right:.1f} %")

# %%
# The default divides the leaves of trees with several sums in the same way, by
# :class:`~ngdt.optimizers.CutLeaves`: the farther a sample is from a split, the surer its class.
# Seven sums cannot tell ten digits apart with eight leaves; with more thresholds, they do better,
# and there is no weight more to read.

digits, label = load_digits(return_X_y=True)
for steps in ([Annealed()], [Annealed(), CutLeaves()]):
    tree = ObliqueTreeClassifier(
        init=RandomComplete(max_depth=3), optimizer=steps, validation_fraction=None, random_state=0)
    right = cross_val_score(tree, digits, label, cv=3).mean()
    loss = -cross_val_score(tree, digits, label, cv=3, scoring="neg_log_loss").mean()
    n_leaves = tree.fit(digits, label).get_n_leaves()
    print(f"{n_leaves:2} leaves: {100 * right:.1f} %, log loss {loss:.2f}")
