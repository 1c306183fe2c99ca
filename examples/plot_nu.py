r"""
The norm limit of SGD and SSGD
==============================

:math:`\nu` limits the squared norm of the weight vector of each split, and thereby the price of a
flipped decision. It is the most important parameter of the method: if it is too small, the tree
collapses; if it is too large, the splits hardly change.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from ngdt import ObliqueTreeClassifier
from ngdt.optimizers import SSGD

X, y = load_digits(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# The left plot shows the test accuracy for twelve values, and for the automatic choice as a dashed
# line. The right plot shows the share of samples that have a gradient, averaged over the epochs. It
# distinguishes the two extremes without test samples.


def fit(nu):
    """Train with a norm limit."""
    model = ObliqueTreeClassifier(
        max_depth=6,
        optimizer=SSGD(nu=nu),
        validation_fraction=None,  # else the greedy tree would be kept where nu is unsuitable
        random_state=0,
    )
    return model.fit(X_train, y_train)


limits = np.logspace(-5, 6, 12)
models = [fit(nu) for nu in limits]
automatic = fit("auto")

figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
accuracies = [100 * model.score(X_test, y_test) for model in models]
axes[0].semilogx(limits, accuracies, marker="o", label=r"given $\nu$")
axes[0].axhline(
    100 * automatic.score(X_test, y_test), linestyle="--", color="0.4", label='nu="auto"')
axes[0].set(xlabel=r"norm limit $\nu$", ylabel="test accuracy (%)")
axes[0].legend(frameon=False)

shares = [np.mean(model.history_["gradient_share"]) for model in models]
axes[1].semilogx(limits, shares, marker="o")
axes[1].axhline(np.mean(automatic.history_["gradient_share"]), linestyle="--", color="0.4")
axes[1].set(
    xlabel=r"norm limit $\nu$", ylabel="share of samples with a gradient", ylim=(0, 1))
plt.show()
