"""The sequence of subtrees of minimal cost-complexity pruning."""

from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush

import numpy as np
from sklearn.utils import Bunch

from ngdt._core.structure import child_ids, decision_path, nodes_by_depth
from ngdt._core.tree import Tree
from ngdt.pruning._impurity import node_impurities
from ngdt.pruning._replace import children_first

# Difference of alphas that rounding can explain, relative to the impurity of the root. At a tie,
# the node above becomes a leaf, and the nodes below it are not listed.
TIE = 1e-12
# Relative tolerance for an alpha that is too small by rounding, after a change of its units.
SLACK = 1e-10


@dataclass(frozen=True, eq=False)
class PruningSequence:
    """All subtrees that minimal cost-complexity pruning makes of a tree, from large to small.

    Each step turns a node of the tree into a leaf. The nodes below it are removed, also
    those that earlier steps have turned into leaves.

    Attributes
    ----------
    tree : Tree
    nodes : ndarray of int, shape (n_steps,)
        Node that each step turns into a leaf. The last is the root, if it is not a leaf already.
    alphas : ndarray of float64, shape (n_steps + 1,)
        Smallest alpha at which each subtree is the best, ascending. The first is the tree.
    impurities : ndarray of float64, shape (n_steps + 1,)
        Impurity of each subtree. Squared errors are summed over targets, not averaged.
    n_leaves : ndarray of int, shape (n_steps + 1,)
        Number of leaves of each subtree.
    """

    tree: Tree
    nodes: np.ndarray
    alphas: np.ndarray
    impurities: np.ndarray
    n_leaves: np.ndarray

    @cached_property
    def step(self):
        """Step that turns each node into a leaf, -1 if none does; shape (n_internal,)."""
        step = np.full(self.tree.n_internal, -1)
        step[self.nodes] = np.arange(len(self.nodes))
        return step

    def n_steps(self, ccp_alpha):
        """Number of steps up to an alpha; none at 0, as in scikit-learn.

        Parameters
        ----------
        ccp_alpha : float or ndarray of float, shape (n,)

        Returns
        -------
        ndarray of int, shape () or (n,)
        """
        n_steps = np.searchsorted(
            self.alphas[1:], np.multiply(ccp_alpha, 1 + SLACK), side="right")
        return np.where(np.equal(ccp_alpha, 0), 0, n_steps)

    def is_leaf(self, ccp_alpha):
        """Mask of the nodes that steps up to an alpha turn into leaves.

        Parameters
        ----------
        ccp_alpha : float

        Returns
        -------
        ndarray of bool, shape (n_internal,)
            As `collapse` takes it.
        """
        return self.is_leaf_after(self.n_steps(ccp_alpha))

    def is_leaf_after(self, n_steps):
        """Mask of the nodes that the first steps turn into leaves, as `is_leaf` returns it."""
        return (self.step >= 0) & (self.step < n_steps)

    def next_step(self):
        """First step that turns a node above each node and leaf into a leaf.

        The step that turns a node into a leaf comes later for the nodes above. So the predictions
        for a sample are found by following these steps from its leaf.

        Returns
        -------
        ndarray of int, shape (n_internal + n_leaves,)
            -1 if there is none.
        """
        above, children = np.full(2 * self.tree.n_internal + 1, -1), child_ids(self.tree)
        for nodes in nodes_by_depth(self.tree):
            step = self.step[nodes]
            above[children[nodes]] = np.where(step >= 0, step, above[nodes])[:, None]
        return above

    def fit_values(self, targets):
        """Values of the new leaf of each step, fitted to the samples that reach it.

        Parameters
        ----------
        targets : LeafTargets

        Returns
        -------
        ndarray of shape (n_steps, n_outputs)
        """
        if len(self.nodes) == 0:
            return np.empty((0, self.tree.n_outputs))
        leaf, y, weight, loss = targets
        path = decision_path(self.tree, leaf)
        samples = np.repeat(np.arange(len(leaf)), np.diff(path.indptr))
        step = self.step[path.indices]
        samples, step = samples[step >= 0], step[step >= 0]
        return loss.fit_leaves(
            step, y[samples], weight[samples], len(self.nodes), self.tree.n_outputs)

    def path(self, unit):
        """Alphas and impurities as in scikit-learn, with impurities divided by `unit`.

        Impurities of huge targets are infinite, but zero stays zero.
        """
        with np.errstate(divide="ignore", over="ignore"):
            return Bunch(**{
                name: np.divide(each, unit, out=np.zeros_like(each), where=each != 0.0)
                for name, each in (("ccp_alphas", self.alphas), ("impurities", self.impurities))})


def pruning_sequence(tree, targets):
    """Subtrees of minimal cost-complexity pruning, for samples whose leaves are known.

    Parameters
    ----------
    tree : Tree
    targets : LeafTargets

    Returns
    -------
    PruningSequence
    """
    # The pseudo-count of a loss is in the units of the weights.
    return sequence_of_costs(tree, node_impurities(tree, targets) / targets.weight.sum())


def sequence_of_costs(tree, cost):
    """Subtrees of minimal cost-complexity pruning, for any cost of nodes.

    Parameters
    ----------
    tree : Tree
    cost : ndarray of shape (n_internal + n_leaves,)
        Cost of each node as a leaf, then of each leaf, in place of the impurity.

    Returns
    -------
    PruningSequence
    """
    tie = TIE * cost[0]
    steps = np.array(_steps(tree, cost.tolist(), tie)).reshape(-1, 4)
    steps = steps[steps[:, 0].argsort()[::-1]]
    # Steps at the same alpha are taken in the order of the nodes.
    group = np.cumsum(np.diff(-steps[:, 0], prepend=0.0) > tie)
    alphas, nodes, increases, n_removed = steps[np.lexsort((steps[:, 1], group))].T
    return PruningSequence(
        tree, nodes.astype(np.intp), np.maximum.accumulate(np.append(0.0, -alphas)),
        np.cumsum(np.append(cost[tree.n_internal:].sum(), increases)),
        np.cumsum(np.append(tree.n_leaves, -n_removed.astype(np.intp))))


def _steps(tree, cost, tie):
    """Steps of the sequence: (-alpha, node, increase of the impurity, number of leaves removed).

    The best subtrees of a branch do not depend on the rest of the tree. So the steps of a node are
    the steps of its two branches, up to the alpha at which the node itself becomes a leaf. They are
    kept in heaps with the last step first.
    """
    branch = {}     # steps below each node
    for node, (left, right) in children_first(tree):
        steps, others = branch.pop(left, []), branch.pop(right, [])
        if len(steps) < len(others):
            steps, others = others, steps
        for step in others:
            heappush(steps, step)
        # Both children are leaves at first. Then steps that come too late are undone.
        increase, n_removed = cost[node] - cost[left] - cost[right], 1
        alpha = max(increase, 0.0)
        while steps and -steps[0][0] >= alpha - tie:
            _, _, undone, n_restored = heappop(steps)
            increase, n_removed = increase + undone, n_removed + n_restored
            alpha = max(increase / n_removed, 0.0)
        heappush(steps, (-alpha, node, increase, n_removed))
        branch[node] = steps
    return branch.get(0, [])
