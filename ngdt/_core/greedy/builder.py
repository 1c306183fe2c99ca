"""The greedy builder: grows a tree with any split strategy."""

from heapq import heappop, heappush
from math import inf

import numpy as np

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


class Growth:
    """A growing tree, as lists with an entry for each node and leaf, in the order they are made.

    The garbage collector has nothing to do with numbers and arrays. An object for each node, of
    thousands, was a tenth of the time of a pruned tree.

    Parameters
    ----------
    samples : ndarray of int32
        Those of the root.
    """

    def __init__(self, samples):
        self.samples, self.depth = [samples], [0]
        # The split that was found, and the left child: none as long as it is 0, the root.
        self.split, self.left = [None], [0]

    def divide(self, node, strategy):
        """Give a leaf with a split its children; return them."""
        samples, left = self.samples[node], len(self.samples)
        n_left = strategy.partition(samples, self.split[node])
        # Slices: np.split took as long as the search for the split of a small node.
        self.samples += (samples[:n_left], samples[n_left:])
        self.depth += [self.depth[node] + 1] * 2
        self.split += (None, None)
        self.left += (0, 0)
        self.left[node] = left      # at last: before, Ctrl-C leaves it a leaf
        return left, left + 1

    def numbered(self):
        """Splits, samples of the leaves, and children, as of `number_depth_first`."""
        nodes, leaves, left, right = number_depth_first(
            0, lambda node: (self.left[node], self.left[node] + 1) if self.left[node] else None)
        return ([self.split[node] for node in nodes], [self.samples[leaf] for leaf in leaves],
                left, right)

    def to_tree(self, problem) -> Tree:
        """The tree, with the best leaf values for the problem's training samples."""
        splits, samples, left, right = self.numbered()
        weights = np.zeros((len(splits), problem.X.shape[1]))
        for weight_vector, split in zip(weights, splits, strict=True):
            if isinstance(split.direction, np.ndarray):
                weight_vector[:] = split.direction
            else:
                weight_vector[split.direction] = 1.0
        leaf = np.repeat(np.arange(len(samples)), [*map(len, samples)])
        values = problem.fit_leaves(leaf, np.concatenate(samples), len(samples))
        return Tree(weights, [split.threshold for split in splits], left, right, values)


def build(strategy, samples: np.ndarray, problem) -> Growth:
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
    Growth

    Raises
    ------
    Stopped
        By Ctrl-C, with the growth so far, once there is a split; before, KeyboardInterrupt.
        A split of the root that is not yet the best one counts, so that there is a tree.
    """
    min_gain = least_gain(samples, problem)
    limits, control = problem.limits, problem.control
    max_leaf_nodes = limits.max_leaf_nodes
    # Splits of different leaves are independent, so the order matters only for max_leaf_nodes. Of
    # equal gains, the leaf that was added first comes first.
    splittable = []
    n_levels = limits.max_depth or len(samples).bit_length()
    max_depth = inf if limits.max_depth is None else limits.max_depth
    least = max(limits.min_samples_split, 2 * limits.min_samples_leaf)
    n_searched = 0

    def find_split(node):
        nonlocal n_searched
        n = len(growth.samples[node])
        if n < least or growth.depth[node] >= max_depth or not control.deadline.fits():
            return
        split = strategy.split(growth.samples[node], limits.min_samples_leaf)
        n_searched += n
        control.activity.at(n_searched / (n_levels * len(samples)))
        if split is not None and split.gain >= min_gain:
            growth.split[node] = split
            heappush(splittable, (-split.gain, node))

    growth = Growth(samples)
    n_leaves = 1
    try:
        find_split(0)
        while splittable and (max_leaf_nodes is None or n_leaves < max_leaf_nodes):
            _, node = heappop(splittable)
            n_leaves += 1
            for child in growth.divide(node, strategy):
                find_split(child)
    except KeyboardInterrupt as error:
        if not growth.left[0]:
            split = error.split if isinstance(error, SplitStopped) else growth.split[0]
            if split is None or split.gain < min_gain:
                raise KeyboardInterrupt from error  # the tree of a trained split is not this one
            growth.split[0] = split
            growth.divide(0, strategy)
        raise Stopped(growth) from error
    return growth


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
