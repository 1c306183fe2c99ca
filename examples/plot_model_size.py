"""
Accuracy against size
=====================

How small can a tree be? Here the limit on the number of leaves is lowered, for trees that are
trained as a whole and for greedy ones of scikit-learn. Each point is a mean over five folds.
"""

# %%
# The table has 30 measurements of 569 tumours. A greedy split asks for one of them, a split of
# :class:`~ngdt.optimizers.TAO` for a few.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_validate
from sklearn.tree import DecisionTreeClassifier

from ngdt import ObliqueTreeClassifier, export_text
from ngdt.optimizers import TAO

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
LEAVES = [2, 3, 4, 6, 8, 12]
MODELS = {
    "greedy, one feature a split": DecisionTreeClassifier(random_state=0),
    "TAO(C=0.1), few features a split": ObliqueTreeClassifier(optimizer=TAO(C=0.1)),
    "TAO(C=10)": ObliqueTreeClassifier(optimizer=TAO(C=10)),
}


def fold_scores(model, n_leaves):
    """Accuracies on five folds, and the mean number of weights."""
    model = model.set_params(max_leaf_nodes=n_leaves)
    result = cross_validate(model, X, y, cv=5, return_estimator=True)
    n_weights = [
        tree.tree_.n_nonzero if isinstance(tree, ObliqueTreeClassifier) else tree.get_n_leaves() - 1
        for tree in result["estimator"]]
    return result["test_score"], np.mean(n_weights)


results = {name: [fold_scores(model, n) for n in LEAVES] for name, model in MODELS.items()}

# %%
# The same accuracies, against leaves on the left, and against the weights of all splits on the
# right.

fig, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for name, found in results.items():
    accuracy = [100 * scores.mean() for scores, _ in found]
    axes[0].plot(LEAVES, accuracy, marker="o", label=name)
    axes[1].plot([n_weights for _, n_weights in found], accuracy, marker="o", label=name)
axes[0].set(xlabel="limit on the leaves", ylabel="accuracy on the test folds, %")
axes[1].set(xlabel="weights that are not zero", xscale="log")
axes[0].legend()

# %%
# Two leaves, that is, one split with few weights, are as accurate as a greedy tree of any size
# here:

tree = ObliqueTreeClassifier(max_leaf_nodes=2, optimizer=TAO(C=0.1)).fit(X, y)
print(export_text(tree, digits=2, n_terms=4))
