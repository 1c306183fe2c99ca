"""
Plot a tree for images
======================

If the features are pixels, the weights of a node are an image too, so a small tree can be read from
its plot.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from ngdt import ObliqueTreeClassifier
from ngdt.plotting import plot_history, plot_tree, plot_weights

X, y = load_digits(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

for optimizer in (None, "sgd", "ssgd", "annealed"):
    model = ObliqueTreeClassifier(max_depth=6, optimizer=optimizer, random_state=0)
    model.fit(X_train, y_train)
    print(f"optimizer={optimizer!s:8} test accuracy {100 * model.score(X_test, y_test):.1f} %")

# %%
# The whole tree
# --------------
#
# Pixels with red weights send an image to the right where it is bright, those with blue weights to
# the left. The bars are the class distributions of the leaves, with the most probable digit as the
# title.

small = ObliqueTreeClassifier(max_depth=4, optimizer="annealed", random_state=0)
small.fit(X_train, y_train)
print(f"depth 4: test accuracy {100 * small.score(X_test, y_test):.1f} %")
plot_tree(small, shape=(8, 8), max_depth=4)

# %%
# Single nodes
# ------------

plot_weights(small, shape=(8, 8))

# %%
# Training
# --------
#
# ``"annealed"`` trains with soft decisions and records the loss of the soft tree
# (left plot). ``"ssgd"`` minimizes an upper bound on the loss of the hard tree (right plot), so the
# bound is never below the loss.

hard = ObliqueTreeClassifier(max_depth=4, optimizer="ssgd", random_state=0).fit(X_train, y_train)
print(f"ssgd, depth 4: test accuracy {100 * hard.score(X_test, y_test):.1f} %")
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
names = ('optimizer="annealed": soft tree', 'optimizer="ssgd": hard tree')
for model, name, ax in zip((small, hard), names, axes, strict=True):
    plot_history(model, ax=ax).set_title(name)
plt.show()
