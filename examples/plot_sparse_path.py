r"""
From a large tree to one that can be read
=========================================

With an :math:`\ell_1` penalty on its split weights, a tree shrinks as :math:`C` does: first most
weights become zero, then whole branches go. :func:`~ngdt.tao_path` follows that path, each tree
being the start for the next. (:ref:`theory-tao` says how.)
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from ngdt import ObliqueTreeClassifier, TAOPathCV, tao_path
from ngdt.optimizers import TAO
from ngdt.plotting import plot_tree

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=500, random_state=0, stratify=y)
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=400, random_state=0, stratify=y)

# %%
# The path
# --------
#
# Fifteen values of :math:`C`, from a greedy tree of depth 6 on. From right to left, as :math:`C`
# falls: the training error rises slowly, the validation error falls at first and rises only late,
# and weights and splits get fewer. So a prediction costs less and less: fewer splits on the way to
# the leaf, and fewer multiplications there. Grey is the range over the training images.

estimator = ObliqueTreeClassifier(max_depth=6, optimizer=TAO())
path = tao_path(X_train, y_train, Cs=15, estimator=estimator, X_val=X_val, y_val=y_val)
path.plot()

best = int(path.validation_error.argmin())
for i in (0, best):
    print(
        f"C = {path.Cs[i]:.3g}: {path.n_internal[i]} splits, {path.n_nonzero[i]} nonzeros, "
        f"{path.n_multiplications.mean[i]:.0f} multiplications, "
        f"validation error {100 * path.validation_error[i]:.1f} %"
    )

# %%
# A tree to read
# --------------
#
# Further down the path accuracy is traded for a tree that fits on a page. Red pixels send an image
# to the right, blue ones to the left; a leaf shows the mean of the training images that it gets,
# below its digit and their number.

small = int(np.flatnonzero(path.n_internal >= 12)[-1])
tree = path.trees[small]
print(
    f"C = {path.Cs[small]:.3g}: {tree.n_internal} splits, {tree.n_nonzero} nonzeros, "
    f"validation error {100 * path.validation_error[small]:.1f} %"
)
plot_tree(tree, shape=(8, 8), X=X_train, max_depth=tree.max_depth)

# %%
# Which C?
# --------
#
# :class:`~ngdt.TAOPathCV` chooses by cross-validation, the path being run in every fold. Here it
# takes the smallest C whose score is within one standard error of the best.

search = TAOPathCV(estimator, Cs=np.geomspace(1, 0.01, 7), cv=3, rule="one_standard_error")
search.fit(X, y)
print(
    f"C = {search.C_:.3g}: {search.tree_.n_internal} splits, {search.tree_.n_nonzero} nonzeros, "
    f"{100 * search.score(X_test, y_test):.1f} % of the test images"
)
plt.show()
