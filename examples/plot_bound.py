r"""
The upper bound on the loss that SSGD minimizes
===============================================

SGD and SSGD (Norouzi et al., 2015) minimize an upper bound on the loss (:ref:`theory-bound`). How
tight is it, what shape does it have, what does it cost, and what does the norm limit do?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from ngdt import ObliqueTreeClassifier, Tree
from ngdt.inference import empirical_loss, loss_augmented_inference, upper_bound
from ngdt.optimizers import SSGD
from ngdt.plotting import plot_history

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# The bound is never below the loss, and falls with it.

model = ObliqueTreeClassifier(max_depth=6, optimizer="ssgd", random_state=0)
tree = model.fit(X_train, y_train).tree_
plot_history(model)

# %%
# Proposition 1
# -------------
#
# Multiply all splits by :math:`\alpha`. No decision changes, so the loss stays the same. As
# :math:`\alpha` grows, both bounds decrease towards the loss. The fast bound (eq. :eq:`eq-13`) is
# at most the full bound (eq. :eq:`eq-7`).


def scaled(tree, alpha):
    """Return the tree with all splits multiplied by alpha."""
    return tree.replace(weights=alpha * tree.weights, thresholds=alpha * tree.thresholds)


alphas = np.logspace(-2, 2, 17)
figure, ax = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
for inference, color in (("full", "#b2182b"), ("fast", "#ef8a62")):
    means = [upper_bound(scaled(tree, alpha), X_train, y_train, inference=inference).mean()
             for alpha in alphas]
    ax.semilogx(alphas, means, label=f"{inference} bound", color=color)
ax.axhline(empirical_loss(tree, X_train, y_train).mean(), label="loss", color="#2166ac")
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
# is a step function, without a gradient. The full bound is continuous. The fast
# bound may jump where a decision flips: from there on, other leaves are one flip away.

rng = np.random.default_rng(4)
m, p, k = 15, 2, 3
ids = np.arange(m)
left, right = (np.where(child < m, child, ~(child - m)) for child in (2 * ids + 1, 2 * ids + 2))
weights, direction = rng.normal(size=(2, m, p))
thresholds, values = 0.3 * rng.normal(size=m), 2 * rng.normal(size=(m + 1, k))
x, label = rng.normal(size=(1, p)), [0]

steps = np.linspace(-1, 1, 501)
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
        loss_augmented_inference(tree, X_train, y_train, inference=inference, prune=prune)
        for prune in (False, True)]
    assert (results[0].bound == results[1].bound).all()
    print(f"{inference:5}", *(f"{result.n_scored.mean():8.1f}" for result in results))

# %%
# The norm limit
# --------------
#
# :math:`\nu` limits the squared norm of the weight vector of each split, and thereby the price of a
# flipped decision. If it is too small, the tree collapses; if it is too large, few samples have a
# gradient, and the splits hardly change. By default, :math:`\nu` is chosen from the data (dashed).


def fit(nu):
    """Return a tree with a norm limit."""
    model = ObliqueTreeClassifier(
        max_depth=6,
        optimizer=SSGD(nu=nu, epochs=60),
        validation_fraction=None,  # else the greedy tree would be kept where nu is unsuitable
        random_state=0,
    )
    return model.fit(X_train, y_train)


limits = np.logspace(-4, 6, 6)
models, automatic = [fit(nu) for nu in limits], fit("auto")
measures = {
    "test accuracy, %": lambda model: 100 * model.score(X_test, y_test),
    "share of samples with a gradient": lambda model: np.mean(model.history_["gradient_share"]),
}
figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
for ax, (label, measure) in zip(axes, measures.items(), strict=True):
    ax.semilogx(limits, [measure(model) for model in models], marker="o", label=r"given $\nu$")
    ax.axhline(measure(automatic), linestyle="--", color="0.4", label='nu="auto"')
    ax.set(xlabel=r"norm limit $\nu$", ylabel=label, ylim=0)
axes[1].legend(frameon=False)
plt.show()
