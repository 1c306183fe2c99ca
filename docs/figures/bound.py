"""Plot docs/_static/bound.png: the price of each leaf for one sample, and the bound on its loss.

Usage: python docs/figures/bound.py [PATH]
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np

from ngdt import Tree
from ngdt.inference import upper_bound

PATH = Path(__file__).parents[1] / "_static/bound.png"
LOSS_OF_LEAF = np.array([0.2, 1.0, 0.6, 1.8])
SCORES = np.array([-0.3, -0.6, 0.5])    # of the root and its children, in the upper panel
BLUE, RED, GREEN = "#2166ac", "#b2182b", "#1b7837"


def tree_of(scores):
    """A tree whose nodes have these scores for a sample of zeros, and whose leaves these losses."""
    return Tree(
        np.eye(3), -scores, [1, ~0, ~2], [2, ~1, ~3], np.sqrt(LOSS_OF_LEAF)[:, None])


def bound(scores, **arguments):
    """The bound for a sample of zeros with the target zero."""
    return upper_bound(
        tree_of(scores), np.zeros((1, 3)), np.zeros(1), loss="squared_error", inference="full",
        **arguments)[0]


def draw_tree(ax):
    places = {0: (3.5, 2.0), 1: (1.5, 1.0), 2: (5.5, 1.0)}
    leaves = [(0.5, 0.0), (2.5, 0.0), (4.5, 0.0), (6.5, 0.0)]
    flipped = [[], [1], [0, 2], [0]]
    children = {0: (places[1], places[2]), 1: (leaves[0], leaves[1]), 2: (leaves[2], leaves[3])}
    for node, place in places.items():
        for child, is_right in zip(children[node], (False, True), strict=True):
            is_taken = (SCORES[node] > 0) == is_right
            ax.plot(*zip(place, child, strict=True), color="0.15" if is_taken else "0.75",
                    linewidth=3 if is_taken else 1, zorder=0)
        ax.text(*place, f"$s_{node}$ = {SCORES[node]:+.1f}", ha="center", va="center",
                bbox=dict(boxstyle="round", facecolor="white", edgecolor="0.4"))
    terms = []
    for place, loss, nodes in zip(leaves, LOSS_OF_LEAF, flipped, strict=True):
        price = 2 * np.abs(SCORES[nodes]).sum()
        terms.append(loss - price)
        ax.text(*place, f"loss {loss:.1f}\nprice {price:.1f}", ha="center", va="center",
                bbox=dict(boxstyle="square", facecolor="#f2f2f2", edgecolor="0.7"))
    best = int(np.argmax(terms))
    assert np.isclose(terms[best], bound(SCORES))
    for leaf, (place, term) in enumerate(zip(leaves, terms, strict=True)):
        color = RED if leaf == best else "0.35"
        ax.text(place[0], -0.52, f"{term:.1f}", ha="center", color=color,
                weight="bold" if leaf == best else "normal")
    ax.text(-0.5, -0.52, "loss $-$ price:", ha="right", color="0.35")
    ax.text(leaves[0][0], -0.82, "the sample\nis here", ha="center", va="top", color=BLUE)
    ax.text(leaves[best][0], -0.82, "the bound", ha="center", va="top", color=RED)
    ax.set(xlim=(-2.2, 7.4), ylim=(-1.25, 2.2))
    ax.set_axis_off()
    ax.set_title("Another leaf costs 2 |score| for each decision that changes", fontsize=11)


def draw_bounds(ax):
    roots = np.linspace(-1.4, 1.0, 481)
    scores = [np.array([root, *SCORES[1:]]) for root in roots]
    loss = np.where(roots > 0, LOSS_OF_LEAF[3], LOSS_OF_LEAF[0])
    ax.plot(roots, [bound(each, assignment=np.zeros(1, dtype=np.int32)) for each in scores],
            color=GREEN, linestyle="--", label="bound, assigned to the left leaf (14)")
    ax.plot(roots, [bound(each) for each in scores], color=RED, label="bound (7)")
    ax.plot(roots[roots <= 0], loss[roots <= 0], color=BLUE, linewidth=2.5, label="loss")
    ax.plot(roots[roots > 0], loss[roots > 0], color=BLUE, linewidth=2.5)
    ax.plot(SCORES[0], bound(SCORES), "o", color=RED)
    ax.annotate("the sample above", (SCORES[0], bound(SCORES)), (-1.35, 1.75),
                arrowprops=dict(arrowstyle="-", color="0.5"), color="0.35", fontsize=9)
    ax.set(xlabel="score of the root, $s_0$", ylim=(0, 3.4))
    ax.set_title("The loss has no slope, its bound has one", fontsize=11)
    ax.legend(frameon=False, loc="upper left", fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)


def main(path=PATH):
    figure, axes = plt.subplots(2, 1, figsize=(6.4, 6.8), layout="constrained")
    draw_tree(axes[0])
    draw_bounds(axes[1])
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main(*sys.argv[1:])
