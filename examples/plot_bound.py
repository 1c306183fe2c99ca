r"""
The bound, up close
===================

Training never sees the loss itself, only an upper bound on it. How tight is the bound, what does
it look like, and what does it cost? The functions of :mod:`ngdt.inference` answer that for any
tree. See :ref:`theory` for the equations.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from ngdt import ObliqueTreeClassifier, Tree
from ngdt.inference import empirical_loss, loss_augmented_inference, upper_bound

X, y = load_digits(return_X_y=True)
tree = ObliqueTreeClassifier(max_depth=6, random_state=0).fit(X, y).tree_

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
    means = [upper_bound(scaled(tree, alpha), X, y, kind=kind).mean() for alpha in alphas]
    ax.semilogx(alphas, means, label=f"{kind} bound", color=color)
ax.axhline(empirical_loss(tree, X, y).mean(), label="loss", color="#2166ac")
ax.axvline(1.0, color="0.8", zorder=0)
ax.set(xlabel=r"$\alpha$ (1: as trained)", ylabel="mean over the examples")
ax.legend(frameon=False)

# %%
# A walk through the weights
# --------------------------
#
# Turn the root from its trained direction to another one, and follow a single example. The loss is
# a step: nothing changes, and then all at once. The full bound is continuous, and gives a slope to
# follow on the way. The fast bound has a slope too, but it may jump, where a decision that is not
# on the example's path flips.

rng = np.random.default_rng(3)
other = rng.normal(size=tree.n_features) * np.abs(tree.weights[0]).mean()
way = np.linspace(-1, 1, 401)
example = X[:1], y[:1]


def turned(tree, step):
    """The tree with its root moved by `step` in the direction `other`."""
    weights = tree.weights.copy()
    weights[0] += step * other
    return Tree(weights, tree.thresholds, tree.children_left, tree.children_right, tree.values)


trees = [turned(tree, step) for step in way]
figure, ax = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
for kind, color in (("full", "#b2182b"), ("fast", "#ef8a62")):
    values = [upper_bound(t, *example, kind=kind)[0] for t in trees]
    ax.plot(way, values, label=f"{kind} bound", color=color)
ax.plot(way, [empirical_loss(t, *example)[0] for t in trees], label="loss", color="#2166ac")
ax.set(xlabel="step of the root's weights", ylabel="one example")
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
    results = [loss_augmented_inference(tree, X, y, kind=kind, prune=p) for p in (False, True)]
    assert (results[0].bound == results[1].bound).all()
    print(f"{kind:5}", *(f"{result.n_scored.mean():8.1f}" for result in results))

plt.show()
