"""
A decision tree of images: splits and leaves as pictures (digits)
=================================================================

If the features are pixels, the weights of a split are an image, too.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from ngdt import ObliqueTreeClassifier, tao_path
from ngdt.optimizers import TAO, Annealed
from ngdt.plotting import plot_path, plot_tree

X, y = load_digits(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

# %%
# Soft training finds the tree, and :class:`~ngdt.optimizers.TAO` leaves it few weights. An image
# goes to the right where red pixels are bright, and to the left where blue ones are. A leaf is
# drawn as the mean of the training images that reach it, with its digit and their number.

tree = ObliqueTreeClassifier(
    max_depth=4, init="random_complete", optimizer=[Annealed(), TAO(C=0.03)], random_state=0)
tree.fit(X_train, y_train)
print(f"{tree.tree_.n_nonzero / tree.tree_.n_internal:.0f} of 64 pixels for a split, "
      f"test accuracy {tree.score(X_test, y_test):.1%}")
plot_tree(tree, image_shape=(8, 8), X=X_train, max_depth=None)
plt.show()

# %%
# How few weights are enough? :func:`~ngdt.tao_path` trains a tree for each of a decreasing sequence
# of C, from the tree before. The test images are its validation samples here. The grey area is the
# range over the training images.

estimator = ObliqueTreeClassifier(max_depth=6, optimizer=TAO())
path = tao_path(X_train, y_train, Cs=9, estimator=estimator, X_val=X_test, y_val=y_test)
plot_path(path)
plt.show()
