"""The greedy builder: one loop for every way to choose a split."""

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import Protocol

import numpy as np

from ngdt._greedy.splitter import Split, Splitter
from ngdt._tree import Tree


class SplitStrategy(Protocol):
    """How the split of a node is chosen; `ngdt._greedy.splitter.Splitter` is one."""

    weight: np.ndarray

    def split(self, rows: np.ndarray) -> Split | None:
        """The split of the node with these rows, or None for a leaf."""

    def partition(self, rows: np.ndarray, split: Split) -> int:
        """Move the rows of the left side to the front, and return their number."""


@dataclass(slots=True)
class Node:
    """A node while the tree grows; a leaf as long as it has no children."""

    rows: np.ndarray
    depth: int
    split: Split | None = None
    children: "tuple[Node, Node] | None" = None


@dataclass(slots=True)
class GrownTree:
    """The structure of a grown tree; nodes and leaves are numbered depth first, left first.

    Parameters
    ----------
    splits : list of Split
        One per internal node.
    children_left, children_right : ndarray of int32, shape (n_internal,)
        As in `Tree`.
    leaf_samples : list of ndarray of int32
        Samples that reach each leaf.
    """

    splits: list[Split]
    children_left: np.ndarray
    children_right: np.ndarray
    leaf_samples: list[np.ndarray]

    def weights(self, n_features: int) -> np.ndarray:
        """Split weights, shape (n_internal, n_features)."""
        weights = np.zeros((len(self.splits), n_features))
        for row, split in zip(weights, self.splits, strict=True):
            if isinstance(split.direction, np.ndarray):
                row[:] = split.direction
            else:
                row[split.direction] = 1.0
        return weights

    def thresholds(self) -> np.ndarray:
        """Thresholds, shape (n_internal,)."""
        return np.array([split.threshold for split in self.splits], dtype=np.float64)

    def to_tree(self, problem) -> Tree:
        """The tree, with the best leaf values for the problem's training rows."""
        rows = np.concatenate(self.leaf_samples)
        n_leaves = len(self.leaf_samples)
        leaf = np.repeat(np.arange(n_leaves), [len(rows) for rows in self.leaf_samples])
        values = problem.fit_leaves(leaf, rows, n_leaves)
        return Tree(self.weights(problem.X.shape[1]), self.thresholds(), self.children_left,
                    self.children_right, values)


def splitter_for(problem, min_samples_leaf: float = 1) -> Splitter:
    """The search for axis-aligned splits of a problem, to be used for any number of growths.

    Splits reduce the entropy of classes, or the variance of numbers.

    Parameters
    ----------
    problem : Problem
    min_samples_leaf : float, default=1
        As in `InfoGain`.

    Returns
    -------
    Splitter
    """
    return Splitter(
        problem.X, problem.y, problem.sample_weight, problem.n_outputs,
        "entropy" if problem.loss.is_classifier else "variance", min_samples_leaf)


def build(
    strategy: SplitStrategy,
    rows: np.ndarray,
    *,
    max_depth: int | None = None,
    min_samples_split: float = 2,
    max_leaf_nodes: int | None = None,
    min_impurity_decrease: float = 0.0,
) -> GrownTree:
    """Grow greedily: split the leaf with the largest gain until nothing may be split.

    Parameters
    ----------
    strategy : SplitStrategy
    rows : ndarray of int32
        Rows to grow on, all with positive weights. Reordered in place.
    max_depth, min_samples_split, max_leaf_nodes, min_impurity_decrease
        As in `InfoGain`; impurity decreases are relative to the weight of `rows`.

    Returns
    -------
    GrownTree
    """
    if not (strategy.weight[rows] > 0).all():
        raise ValueError("rows must have positive weights")
    least_gain = min_impurity_decrease * strategy.weight[rows].sum() if min_impurity_decrease else 0
    # Splits of different leaves do not influence each other, so the order matters only for
    # max_leaf_nodes; the counter breaks ties in favour of the leaf that is older.
    frontier, age = [], count()

    def consider(node):
        if max_depth is not None and node.depth >= max_depth:
            return
        # Two samples are the least one can split, so the default is no limit for any weights.
        if min_samples_split > 2 and strategy.weight[node.rows].sum() < min_samples_split:
            return
        split = strategy.split(node.rows)
        if split is not None and split.gain * (1 + 1e-10) >= least_gain:
            node.split = split
            heappush(frontier, (-split.gain, next(age), node))

    root = Node(rows, 0)
    n_leaves = 1
    consider(root)
    while frontier and (max_leaf_nodes is None or n_leaves < max_leaf_nodes):
        _, _, node = heappop(frontier)
        n_left = strategy.partition(node.rows, node.split)
        node.children = tuple(
            Node(part, node.depth + 1) for part in (node.rows[:n_left], node.rows[n_left:]))
        n_leaves += 1
        for child in node.children:
            consider(child)
    return _number(root)


def _number(root: Node) -> GrownTree:
    splits, left, right, leaf_samples = [], [], [], []
    # Each entry: a node, and where its id belongs.
    waiting = [(root, None, 0)]
    while waiting:
        node, children_of_parent, parent = waiting.pop()
        if node.children is None:
            number = ~len(leaf_samples)
            leaf_samples.append(node.rows)
        else:
            number = len(splits)
            splits.append(node.split)
            left.append(0)
            right.append(0)
            waiting += [(node.children[1], right, number), (node.children[0], left, number)]
        if children_of_parent is not None:
            children_of_parent[parent] = number
    return GrownTree(
        splits, np.array(left, dtype=np.int32), np.array(right, dtype=np.int32), leaf_samples)
