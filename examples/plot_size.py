"""
A small tree instead of a random forest: accuracy against size (digits)
=======================================================================

A random forest of twenty trees has some 2500 leaves for handwritten digits. A single tree that is
trained as a whole is as accurate with a hundredth of the leaves, and ten such trees are more
accurate than a random forest of a hundred.
"""

import pickle

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from ngdt import ObliqueForestClassifier, ObliqueTreeClassifier
from ngdt.optimizers import Annealed

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

# %%
# Four families from small to large: a greedy tree that is pruned less and less, trees of increasing
# depth, and forests with more trees.

greedy = DecisionTreeClassifier(random_state=0)
alphas = greedy.cost_complexity_pruning_path(X_train, y_train).ccp_alphas
families = {
    "greedy tree, pruned": [
        DecisionTreeClassifier(ccp_alpha=alpha, random_state=0) for alpha in alphas[-8::-12]],
    "random forest of 1 to 100 trees": [
        RandomForestClassifier(n, random_state=0) for n in (1, 5, 20, 100)],
    "tree trained as a whole, of depth 3 to 6": [
        ObliqueTreeClassifier(max_depth=depth, optimizer=Annealed(steps=1000), random_state=0)
        for depth in (3, 4, 5, 6)],
    "forest of 3 and 10 such trees": [
        ObliqueForestClassifier(n, optimizer=Annealed(steps=500), random_state=0)
        for n in (3, 10)],
}


def n_leaves(model):
    """Return the number of leaves of a tree, or of all trees of a forest."""
    return sum(tree.get_n_leaves() for tree in getattr(model, "estimators_", [model]))


# %%
# Each point is a model. Its size is the number of leaves on the left, and the size of its pickle
# on the right, since a split on 64 pixels takes more memory than a split on one.

figure, axes = plt.subplots(1, 2, figsize=(9, 5), sharey=True, layout="constrained")
for (name, models), marker, color in zip(
        families.items(), "vs^o", ("0.5", "tab:orange", "tab:blue", "navy"), strict=True):
    accuracy = [100 * model.fit(X_train, y_train).score(X_test, y_test) for model in models]
    leaves = [n_leaves(model) for model in models]
    kilobytes = [len(pickle.dumps(model)) / 1e3 for model in models]
    for ax, size in zip(axes, (leaves, kilobytes), strict=True):
        ax.semilogx(size, accuracy, marker=marker, color=color, label=name)
    print(name)
    for row in zip(leaves, kilobytes, accuracy, strict=True):
        print("{:8} leaves {:6.0f} kB {:6.1f} %".format(*row))
for ax, label in zip(axes, ("leaves", "size in kB"), strict=True):
    ax.set_xlabel(label)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.grid(alpha=0.4)
axes[0].set_ylabel("test images recognized, %")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
plt.show()
