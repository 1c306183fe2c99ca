r"""
The bound, up close
===================

SGD and SSGD never see the loss itself, only an upper bound on it. How tight is the bound, what does
it look like, and what does it cost? The functions of :mod:`ngdt.inference` answer that for any
tree. See :ref:`theory-bound` for the equations.
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
# Multiply all splits by :math:`\alpha`. No decision changes, so the loss stays the same. Both
# bounds fall towards it as :math:`\alpha` grows, the fast one (eq. :eq:`eq-13`) below the full one
# (eq. :eq:`eq-7`).


def scaled(tree, alpha):
    """The same tree with all splits multiplied by alpha."""
    return Tree(
        alpha * tree.weights,
        alpha * tree.thresholds,
        tree.children_left,
        tree.children_right,
        tree.values,
    )


alphas = np.logspace(-2, 2, 25)
figure, ax = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
for kind, color in (("full", "#b2182b"), ("fast", "#ef8a62")):
    means = [upper_bound(scaled(tree, alpha), X, y, inference=kind).mean() for alpha in alphas]
    ax.semilogx(alphas, means, label=f"{kind} bound", color=color)
ax.axhline(empirical_loss(tree, X, y).mean(), label="loss", color="#2166ac")
ax.axvline(1.0, color="0.8", zorder=0)
ax.set(xlabel=r"$\alpha$ (1: as trained)", ylabel="mean over the examples")
ax.legend(frameon=False)

# %%
# A walk through the weights
# --------------------------
#
# Take a small random tree and a single example, and move all weights along a straight line. The
# loss is a step function: nothing changes, and then all at once. The full bound is continuous, and
# has a slope to follow on the way. The fast bound has a slope too, but may jump where a decision
# flips: from there on, other leaves are one flip away.

rng = np.random.default_rng(4)
m, p, k = 15, 2, 3
ids = np.arange(m)
left, right = (np.where(child < m, child, ~(child - m)) for child in (2 * ids + 1, 2 * ids + 2))
start, direction = rng.normal(size=(2, m, p))
thresholds, values = 0.3 * rng.normal(size=m), 2 * rng.normal(size=(m + 1, k))
x, label = rng.normal(size=(1, p)), [0]

way = np.linspace(-1, 1, 801)
trees = [Tree(start + t * direction, thresholds, left, right, values) for t in way]
figure, ax = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
for kind, color in (("full", "#b2182b"), ("fast", "#ef8a62")):
    height = [upper_bound(t, x, label, inference=kind)[0] for t in trees]
    width = 3 if kind == "full" else 1.5  # where they agree, both are to be seen
    ax.plot(way, height, label=f"{kind} bound", color=color, linewidth=width)
ax.plot(way, [empirical_loss(t, x, label)[0] for t in trees], label="loss", color="#2166ac")
ax.set(xlabel="way along the line", ylabel="one example")
ax.legend(frameon=False)

# %%
# What it costs
# -------------
#
# The unit is the node score, one dot product. Without pruning the full search looks at all nodes
# of the tree. With it, both searches end soon after the example's own path, and give exactly the
# same answer.

print("node scores per example, unpruned and pruned")
for kind in ("fast", "full"):
    results = [loss_augmented_inference(tree, X, y, inference=kind, prune=p) for p in (False, True)]
    assert (results[0].bound == results[1].bound).all()
    print(f"{kind:5}", *(f"{result.n_scored.mean():8.1f}" for result in results))

plt.show()
