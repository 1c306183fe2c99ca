"""The greedy builder: grows a tree with any split strategy."""

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from math import inf

import numpy as np

from ngdt._core.greedy.splitter import Split
from ngdt._core.structure import number_depth_first
from ngdt._core.tree import Tree
from ngdt._util.stopped import Stopped


class SplitStopped(KeyboardInterrupt):
    """Ctrl-C ended the search for a split, and there is one.

    Parameters
    ----------
    split : Split
        The best one so far.
    """

    def __init__(self, split):
        super().__init__()
        self.split = split


@dataclass(slots=True, eq=False)
class Node:
    """A node of a growing tree; a leaf as long as it has no children."""

    samples: np.ndarray
    depth: int
    split: Split | None = None
    children: "tuple[Node, Node] | None" = None

    def numbered(self):
        """Nodes, leaves and children of the tree below, as of `number_depth_first`."""
        return number_depth_first(self, lambda node: node.children)

    def to_tree(self, problem) -> Tree:
        """The tree below, with the best leaf values for the problem's training samples."""
        nodes, leaves, left, right = self.numbered()
        weights = np.zeros((len(nodes), problem.X.shape[1]))
        for weight_vector, node in zip(weights, nodes, strict=True):
            if isinstance(node.split.direction, np.ndarray):
                weight_vector[:] = node.split.direction
            else:
                weight_vector[node.split.direction] = 1.0
        samples = [leaf.samples for leaf in leaves]
        leaf = np.repeat(np.arange(len(leaves)), [*map(len, samples)])
        values = problem.fit_leaves(leaf, np.concatenate(samples), len(leaves))
        return Tree(weights, [node.split.threshold for node in nodes], left, right, values)


def build(strategy, samples: np.ndarray, problem) -> Node:
    """Grow a tree greedily: split the leaf with the largest gain until no leaf may be split.

    Parameters
    ----------
    strategy : object
        Has the methods `split` and `partition` of `Splitter`. By Ctrl-C, `split` may raise
        SplitStopped.
    samples : ndarray of int32
        Samples to grow on, all with positive weights. Reordered in place.
    problem : Problem
        Its limits hold, except `ccp_alpha`. Impurity decreases are relative to the weight of
        `samples`. At the deadline of its `control`, the remaining nodes become leaves. It is told
        the share of the samples of all levels that have been searched for splits.

    Returns
    -------
    Node
        The root.

    Raises
    ------
    Stopped
        By Ctrl-C, with the root so far, once there is a split; before, KeyboardInterrupt.
        A split of the root that is not yet the best one counts, so that there is a tree.
    """
    min_gain = least_gain(samples, problem)
    limits, control = problem.limits, problem.control
    max_leaf_nodes = limits.max_leaf_nodes
    # Splits of different leaves are independent, so the order matters only for max_leaf_nodes. Of
    # equal gains, the counter puts the leaf that was added first to the front.
    splittable, counter = [], count()
    n_levels = limits.max_depth or len(samples).bit_length()
    max_depth = inf if limits.max_depth is None else limits.max_depth
    least = max(limits.min_samples_split, 2 * limits.min_samples_leaf)
    n_searched = 0

    def find_split(node):
        nonlocal n_searched
        n = len(node.samples)
        if n < least or node.depth >= max_depth or not control.deadline.fits():
            return
        split = strategy.split(node.samples, limits.min_samples_leaf)
        n_searched += n
        control.activity.at(n_searched / (n_levels * len(samples)))
        if split is not None and split.gain >= min_gain:
            node.split = split
            heappush(splittable, (-split.gain, next(counter), node))

    root = Node(samples, 0)
    n_leaves = 1
    try:
        find_split(root)
        while splittable and (max_leaf_nodes is None or n_leaves < max_leaf_nodes):
            _, _, node = heappop(splittable)
            _divide(node, strategy)
            n_leaves += 1
            for child in node.children:
                find_split(child)
    except KeyboardInterrupt as error:
        if root.children is None:
            split = error.split if isinstance(error, SplitStopped) else root.split
            if split is None or split.gain < min_gain:
                raise KeyboardInterrupt from error  # the tree of a trained split is not this one
            root.split = split
            _divide(root, strategy)
        raise Stopped(root) from error
    return root


def _divide(node, strategy):
    """Give a node with a split its children."""
    n_left = strategy.partition(node.samples, node.split)
    # Slices: np.split took as long as the search for the split of a small node.
    node.children = (Node(node.samples[:n_left], node.depth + 1),
                     Node(node.samples[n_left:], node.depth + 1))


def least_gain(samples, problem):
    """The least gain of a split that `min_impurity_decrease` admits.

    Parameters
    ----------
    samples : ndarray of int32
        The samples that a tree is grown on; ValueError unless all have positive weights.
    problem : Problem

    Returns
    -------
    float
    """
    sample_weight = problem.sample_weight[samples]
    if not (sample_weight > 0).all():
        raise ValueError("samples must have positive weights")
    # Gains are those of entropy or variance. The decrease of another loss is checked at the end, by
    # `enforce_limits`.
    least, loss = problem.limits.min_impurity_decrease, problem.loss
    if least and (loss.is_classifier or loss.is_squared):
        return least * sample_weight.sum() / (1 + 1e-10)     # rounding
    return 0.0
