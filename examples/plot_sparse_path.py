r"""
Small, sparse trees by TAO
==========================

With an :math:`\ell_1` penalty on its split weights, a tree shrinks as :math:`C` decreases: most
weights become zero, and later whole branches are removed. :func:`~ngdt.tao_path` trains a tree for
each of a sequence of :math:`C`, where each tree is the initial tree for the next. (See
:ref:`theory-tao`.)
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from ngdt import ObliqueTreeClassifier, TAOPathCV, tao_path
from ngdt.optimizers import TAO
from ngdt.plotting import plot_tree

X, y = load_digits(return_X_y=True, as_frame=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=500, random_state=0, stratify=y)
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=400, random_state=0, stratify=y)

# %%
# The path
# --------
#
# Fifteen values of :math:`C`; the first initial tree is a greedy tree of depth 6. From right to
# left, as :math:`C` decreases, the training error rises slowly, the validation error first falls
# and then rises, and the numbers of nonzero weights and of splits decrease. So does the cost of a
# prediction: there are fewer splits on the path to the leaf, and fewer multiplications. The grey
# area is the range over the training samples.

estimator = ObliqueTreeClassifier(max_depth=6, optimizer=TAO())
path = tao_path(X_train, y_train, Cs=15, estimator=estimator, X_val=X_val, y_val=y_val)
path.plot()

best = int(path.validation_error.argmin())
for i in (0, best):
    print(
        f"C = {path.Cs[i]:.3g}: {path.n_internal[i]} splits, {path.n_nonzero[i]} nonzero weights, "
        f"{path.n_multiplications.mean[i]:.0f} multiplications, "
        f"validation error {100 * path.validation_error[i]:.1f} %"
    )

# %%
# A small tree
# ------------
#
# Trees further along the path are less accurate, but small enough for a plot. Pixels with red
# weights send an image to the right where it is bright, those with blue weights to the left. A leaf
# shows the mean of the training images that reach it, with its digit and their number as the title.

small = int(np.flatnonzero(path.n_internal >= 12)[-1])
tree = path.trees[small]
print(
    f"C = {path.Cs[small]:.3g}: {tree.n_internal} splits, {tree.n_nonzero} nonzero weights, "
    f"validation error {100 * path.validation_error[small]:.1f} %"
)
plot_tree(tree, shape=(8, 8), X=X_train, max_depth=tree.max_depth)

# %%
# Choice of C
# -----------
#
# :class:`~ngdt.TAOPathCV` chooses C by cross-validation; it trains the path for every fold. With
# this rule, it takes the smallest C whose mean score is within one standard error of the best.

search = TAOPathCV(estimator, Cs=np.geomspace(1, 0.01, 7), cv=3, rule="one_standard_error")
search.fit(X, y)
print(
    f"C = {search.C_:.3g}: {search.tree_.n_internal} splits, "
    f"{search.tree_.n_nonzero} nonzero weights, "
    f"test accuracy {100 * search.score(X_test, y_test):.1f} %"
)
plt.show()
