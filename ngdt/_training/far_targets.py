"""Training without far targets, which the leaves follow before and after it."""

import numpy as np

from ngdt._core.graft import choose_leaves
from ngdt._training.monotone import monotone_leaves_beside


class FarTargets:
    """The far targets of a problem, which trees are trained without.

    Parameters
    ----------
    problem : Problem
    near : Problem
        The same samples, as `Problem.near`: with far targets moved to the fences or left out.
    least_share : float, default=0.0
        Leaves follow far targets if these are more than this share of theirs.
    """

    def __init__(self, problem, near, least_share=0.0):
        self.problem, self.near, self.least_share = problem, near, least_share
        self._given = self._start = None

    def withdraw(self, tree):
        """A given tree, with leaves for the near targets, to start from.

        Parameters
        ----------
        tree : Tree

        Returns
        -------
        Tree
            Only leaves that come closer to the near targets are moved: the tree may have been
            fitted to other samples, without these far targets.
        """
        self._given, self._start = tree, self.near._adapt_leaves(tree, self.problem)
        if self._start is not tree:
            before, after = self._leaf_errors(tree), self._leaf_errors(self._start)
            self._start = choose_leaves(after < before, self._start, tree)
        return self._start

    def restore(self, tree):
        """A trained tree, with leaves for all targets.

        Parameters
        ----------
        tree : Tree

        Returns
        -------
        Tree
            The given one, if training has not changed it. With directions it is monotone, and far
            targets move no leaf but their own.
        """
        is_given = tree == self._start
        moved = self._given if is_given else self.problem._adapt_leaves(
            tree, self.near, self.least_share)
        if self.problem.directions is None or tree.slopes is not None:
            return moved
        return monotone_leaves_beside(
            moved if is_given else tree, self.near, moved, self.problem)

    def _leaf_errors(self, tree):
        samples = self.near.training_samples
        return np.bincount(
            self.near.apply(tree, samples),
            self.near.sample_weight[samples] * self.near.errors(tree, samples), tree.n_leaves)
