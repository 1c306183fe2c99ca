r"""
The norm limit
==============

:math:`\nu` limits the squared norm of each split, and with it the price of crossing it. It is the
one number of the method that matters: too small and the tree collapses, too large and it does not
move.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from ngdt import ObliqueTreeClassifier
from ngdt.optimizers import SSGD

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# Twelve values, and the automatic one as a dashed line. On the right: the share of examples that
# have a gradient, averaged over the epochs. It tells the two ends apart without any test images.


def fit(nu):
    """Train with one limit."""
    model = ObliqueTreeClassifier(
        max_depth=6,
        optimizer=SSGD(nu=nu),
        validation_fraction=None,  # or the greedy start would win where nu is far off
        random_state=0,
    )
    return model.fit(X_train, y_train)


limits = np.logspace(-5, 6, 12)
models = [fit(nu) for nu in limits]
automatic = fit("auto")

figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
axes[0].semilogx(limits, [100 * model.score(X_test, y_test) for model in models], marker="o")
axes[0].axhline(100 * automatic.score(X_test, y_test), linestyle="--", color="0.4")
axes[0].set(xlabel=r"$\nu$", ylabel="right on the test images (%)")

shares = [np.mean(model.history_["gradient_share"]) for model in models]
axes[1].semilogx(limits, shares, marker="o")
axes[1].axhline(np.mean(automatic.history_["gradient_share"]), linestyle="--", color="0.4")
axes[1].set(xlabel=r"$\nu$", ylabel="share with a gradient", ylim=(0, 1))
plt.show()
