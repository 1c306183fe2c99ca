r"""
The upper bound on the loss
===========================

SGD and SSGD minimize an upper bound on the loss. How tight is the bound, what shape does it have,
and what does it cost? The functions of :mod:`ngdt.inference` answer that for any tree. See
:ref:`theory-bound` for the equations.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from ngdt import ObliqueTreeClassifier, Tree
from ngdt.inference import empirical_loss, loss_augmented_inference, upper_bound

X, y = load_digits(return_X_y=True)
tree = ObliqueTreeClassifier(max_depth=6, optimizer="ssgd", random_state=0).fit(X, y).tree_

# %%
# Proposition 1
# -------------
#
# Multiply all splits by :math:`\alpha`. No decision changes, so the loss stays the same. As
# :math:`\alpha` grows, both bounds decrease towards the loss. The fast bound (eq. :eq:`eq-13`) is
# at most the full bound (eq. :eq:`eq-7`).


def scaled(tree, alpha):
    """Return the tree with all splits multiplied by alpha."""
    return Tree(
        alpha * tree.weights,
        alpha * tree.thresholds,
        tree.children_left,
        tree.children_right,
        tree.values,
    )


alphas = np.logspace(-2, 2, 25)
figure, ax = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
for inference, color in (("full", "#b2182b"), ("fast", "#ef8a62")):
    means = [
        upper_bound(scaled(tree, alpha), X, y, inference=inference).mean() for alpha in alphas]
    ax.semilogx(alphas, means, label=f"{inference} bound", color=color)
ax.axhline(empirical_loss(tree, X, y).mean(), label="loss", color="#2166ac")
ax.axvline(1.0, color="0.8", zorder=0)
ax.set(
    xlabel=r"$\alpha$, factor of all splits (1: as trained)",
    ylabel="mean over training samples")
ax.legend(frameon=False)

# %%
# The bound as a function of the weights
# --------------------------------------
#
# Take a small random tree and a single sample, and move all weights along a straight line. The loss
# is a step function, without a gradient. The full bound is continuous, and has a gradient. The fast
# bound has a gradient too, but may jump where a decision flips: from there on, other leaves are one
# flip away.

rng = np.random.default_rng(4)
m, p, k = 15, 2, 3
ids = np.arange(m)
left, right = (np.where(child < m, child, ~(child - m)) for child in (2 * ids + 1, 2 * ids + 2))
weights, direction = rng.normal(size=(2, m, p))
thresholds, values = 0.3 * rng.normal(size=m), 2 * rng.normal(size=(m + 1, k))
x, label = rng.normal(size=(1, p)), [0]

steps = np.linspace(-1, 1, 801)
trees = [Tree(weights + t * direction, thresholds, left, right, values) for t in steps]
figure, ax = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
for inference, color in (("full", "#b2182b"), ("fast", "#ef8a62")):
    bounds = [upper_bound(tree, x, label, inference=inference)[0] for tree in trees]
    width = 3 if inference == "full" else 1.5  # both lines are visible where they agree
    ax.plot(steps, bounds, label=f"{inference} bound", color=color, linewidth=width)
losses = [empirical_loss(tree, x, label)[0] for tree in trees]
ax.plot(steps, losses, label="loss", color="#2166ac")
ax.set(
    xlabel="step $t$: weights $W + t D$ with random $W$ and $D$",
    ylabel="loss and bounds of one sample")
ax.legend(frameon=False)

# %%
# Cost of the bound
# -----------------
#
# The cost is counted in node scores, one dot product each. Without pruning, the full search
# computes the scores of all nodes. With pruning, both searches compute little more than the scores
# on the path of the sample, and return exactly the same result.

print("node scores per sample, without and with pruning")
for inference in ("fast", "full"):
    results = [
        loss_augmented_inference(tree, X, y, inference=inference, prune=prune)
        for prune in (False, True)]
    assert (results[0].bound == results[1].bound).all()
    print(f"{inference:5}", *(f"{result.n_scored.mean():8.1f}" for result in results))

plt.show()
