"""
Look into a tree
================

Nodes of a tree on images are images themselves, so a small tree can be read at a glance.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from ngdt import ObliqueTreeClassifier
from ngdt.plotting import plot_history, plot_tree, plot_weights

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

for optimizer in (None, "sgd", "ssgd", "annealed"):
    model = ObliqueTreeClassifier(max_depth=6, optimizer=optimizer, random_state=0)
    model.fit(X_train, y_train)
    print(f"optimizer={optimizer!s:8} {100 * model.score(X_test, y_test):.1f} % of the test images")

# %%
# The whole tree
# --------------
#
# Red pixels send an image to the right, blue ones to the left. The bars below are the class
# distributions of the leaves, with the most likely digit on top.

small = ObliqueTreeClassifier(max_depth=4, random_state=0).fit(X_train, y_train)
print(f"depth 4: {100 * small.score(X_test, y_test):.1f} % of the test images")
plot_tree(small, shape=(8, 8), max_depth=4)

# %%
# Single nodes
# ------------

plot_weights(small, shape=(8, 8))

# %%
# Training
# --------
#
# The default, ``"annealed"``, trains with soft decisions, so what it records is the loss of the
# soft tree, on the left. ``"ssgd"`` minimises an upper bound on the loss of the hard tree: on the
# right, the red line never falls below the blue one.

hard = ObliqueTreeClassifier(max_depth=4, optimizer="ssgd", random_state=0).fit(X_train, y_train)
print(f"ssgd, depth 4: {100 * hard.score(X_test, y_test):.1f} % of the test images")
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for model, name, ax in zip((small, hard), ("annealed", "ssgd"), axes, strict=True):
    plot_history(model, ax=ax).set_title(name)
plt.show()
