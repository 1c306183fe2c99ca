"""Training without far targets, which leaves follow afterwards where most are far."""

import numpy as np

from ngdt._core.structure import choose_leaves
from ngdt._training.monotone import monotone_leaves_beside
from ngdt._training.problem import MIN_FAR
from ngdt._training.shared_slopes import put_back, split_off
from ngdt._util.numbers import count, format_value
from ngdt._util.validation import warn

# Leaves stay where at most this share of their targets are far, or fewer than `MIN_FAR`. Of twelve
# errors in 1000 rows, two are more than a quarter of some small leaf: with leaves that followed any
# quarter, R2 of the default on friedman1 was below -5 (three draws), and now it is 0.86.
_MAX_SHARE = 0.5


class FarTargets:
    """The far targets of a problem, which trees are trained without.

    Parameters
    ----------
    problem : Problem
    near : Problem
        The same samples, as `Problem.near`: with far targets moved to the fences or left out.
    """

    def __init__(self, problem, near):
        self.problem, self.near = problem, near
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
            fitted to other samples, without these far targets. With directions, linear leaves stay,
            as they share their ranges.
        """
        self._given = self._start = tree
        if self.problem.directions is None or tree.slopes is None:
            self._start = _adapted(tree, self.problem, self.near)
        if self._start is not tree:
            before, after = self._leaf_errors(tree), self._leaf_errors(self._start)
            self._start = choose_leaves(after < before, self._start, tree)
        return self._start

    def restore(self, tree, leaf=None):
        """A trained tree, whose leaves follow far targets where most are far.

        Parameters
        ----------
        tree : Tree
        leaf : ndarray of shape (n_training_samples,), default=None
            Leaf of each training sample of the problem, if no directions are given. None computes
            it.

        Returns
        -------
        Tree
            The given one, if training has not changed it. With directions it is monotone, and far
            targets move no leaf but their own.
        """
        is_given = tree == self._start
        if self.problem.directions is None:
            return self._given if is_given else _adapted(
                tree, self.near, self.problem, follows_few=False, leaf=leaf)
        start = self._given if is_given else tree
        constant, near = split_off(start, self.near)
        problem = near if self.near is self.problem else split_off(start, self.problem)[1]
        moved = constant if is_given else _adapted(
            constant, near, problem, follows_few=False)
        found = monotone_leaves_beside(constant, near, moved, problem)
        return start if found is constant else self._including(put_back(found, start), constant)

    def _including(self, tree, constant):
        """The tree with ranges that include the mean targets of leaves that have moved."""
        if tree.ranges is None:
            return tree
        samples = self.problem.training_samples
        leaf = self.problem.apply(tree, samples)
        is_moved = (tree.values != constant.values).any(axis=1)
        means = self.problem.fit_leaves(leaf, samples, tree.n_leaves)[is_moved]
        low, high = np.moveaxis(tree.ranges, -1, 0)
        ranges = np.stack([np.minimum(low, means.min(axis=0, initial=np.inf)),
                           np.maximum(high, means.max(axis=0, initial=-np.inf))], axis=-1)
        return tree.replace(values=tree.values, slopes=tree.slopes, ranges=ranges)

    def _leaf_errors(self, tree):
        samples = self.near.training_samples
        return np.bincount(
            self.near.apply(tree, samples),
            self.near.sample_weight[samples] * self.near.errors(tree, samples), tree.n_leaves)


def follows(n_far, far_weight, weight, least=MIN_FAR):
    """Return which leaves follow far targets, ndarray of bool of shape (n_leaves,).

    Parameters
    ----------
    n_far, far_weight : ndarray of shape (n_leaves,)
        Number and weight of the samples with far targets in each leaf.
    weight : ndarray of shape (n_leaves,)
        Weight of all samples in each leaf.
    least : int, default=5
        Least number of far targets.
    """
    return (n_far >= least) & (far_weight > _MAX_SHARE * weight)


def warn_of_far_targets(problem, targets, leaves_out=True):
    """Warn that training leaves far targets out, or changes them, if the problem has some.

    Parameters
    ----------
    problem : Problem
    targets : RegressionTargets or ClassTargets
        The encoding of the targets.
    leaves_out : bool, default=True
        Whether fewer than `MIN_FAR` are left out, and not moved as more are.
    """
    near, samples = problem.near, problem.training_samples
    is_far = (near.y != problem.y)[samples]
    n_far = np.count_nonzero(is_far.any(axis=1))
    if n_far == 0:
        return
    column = is_far.any(axis=0).argmax()
    y, is_far = targets.decode(problem.y)[samples, column], is_far[:, column]
    far, others = y[is_far], y[~is_far]
    furthest = far[np.abs(far - np.median(others)).argmax()]
    done = "moved nearer, except in leaves where most are far"
    if n_far < MIN_FAR:
        done = "left out" if leaves_out else "moved nearer"
    be, was = ("is", "was") if n_far == 1 else ("are", "were")
    warn(f"{n_far} of {count(len(samples), 'target')} {be} far from all others, such as "
         f"{format_value(furthest)} (others: {format_value(others.min())} to "
         f"{format_value(others.max())}), and {was} {done}. Correct what is wrong. For right "
         "targets, train on logarithms of y, or take another loss, such as loss='absolute_error'")


def _adapted(tree, before, problem, follows_few=True, leaf=None):
    """A tree that was trained on other targets, with leaves for the targets of a problem.

    Parameters
    ----------
    tree : Tree
    before : Problem
        The same samples with other targets, and perhaps without the weights of some of them.
    problem : Problem
    follows_few : bool, default=True
        Whether constant leaves are moved by any number of targets that differ.
    leaf : ndarray of shape (n_samples,), default=None
        Leaf of each sample that has a weight in one of the problems. None computes it.

    Returns
    -------
    Tree
        Predictions of a leaf are moved by the mean difference of the targets in it; a sample that
        had no weight before differs from the prediction. Linear leaves, and others if asked for,
        stay where most of their targets are the same, or fewer than `MIN_FAR` differ.
    """
    samples = np.flatnonzero((problem.sample_weight > 0) | (before.sample_weight > 0)).astype(
        np.int32)
    moved = problem.y[samples] - before.y[samples]
    is_moved, follows_few = moved.any(axis=1), follows_few and tree.slopes is None
    least = 1 if follows_few else min(MIN_FAR, len(samples))
    if np.count_nonzero(is_moved) < least:
        return tree
    leaf = problem.apply(tree, samples) if leaf is None else leaf
    weight = np.maximum(problem.sample_weight, before.sample_weight)[samples]
    is_new = before.sample_weight[samples] == 0
    moved[is_new] = problem.y[samples[is_new]] - problem.predictions(
        tree, samples[is_new], leaf[is_new])
    total = np.maximum(np.bincount(leaf, weight, tree.n_leaves), np.finfo(float).tiny)
    shift = np.stack([np.bincount(leaf, weight * each, tree.n_leaves) / total
                      for each in moved.T], axis=1)
    if not follows_few:
        n_far, far_weight = (
            np.bincount(leaf, each, tree.n_leaves) for each in (is_moved, weight * is_moved))
        shift[~follows(n_far, far_weight, total, least)] = 0.0
    ranges = None if tree.ranges is None else tree.ranges + shift[:, :, None]
    return tree.replace(values=tree.values + shift, slopes=tree.slopes, ranges=ranges)
