"""Greedy growth with one linear program per node: the baseline of global tree optimization."""

import numpy as np

from ngdt._greedy.splitter import Split
from ngdt._tree import Tree
from ngdt.initializers._info_gain import InfoGain, RefinedSplitter
from ngdt.optimizers._gto.linear_program import distinct, place_plane, warn_of_size
from ngdt.problem import Problem
from ngdt.pruning import prune_to_size


class GreedyLP(InfoGain):
    """Greedy tree of planes that part two sets of classes with the least error.

    Each node takes the plane with the least mean hinge error of either set, the sum of both, which
    a linear program finds: robust linear programming. It is the greedy tree that Bennett (1994)
    compares with, and where `GTO` starts.

    Parameters
    ----------
    criterion, min_samples_split, min_samples_leaf
        As for `InfoGain`.
    max_leaf_nodes : int or None, default=None
        Largest number of leaves, one more than the number of decisions. The tree is grown without
        this limit, and then pruned: of all ways to turn subtrees into leaves, the one with the
        least training error is taken.
    min_impurity_decrease : float, default=0.0
        As for `InfoGain`.

    See Also
    --------
    ngdt.optimizers.GTO : Improves all planes of the tree together.

    Notes
    -----
    For classes only.

    Deviation: with more than two classes in a node, the two sets are the classes that the best
    axis-aligned split would send, by the greater part of their weights, to either side; where that
    is the same side for all, the most frequent class and all others. Where no plane parts the node,
    the axis-aligned split does, so that the tree grows until its leaves are pure, as the paper's
    does.

    References
    ----------
    Bennett & Mangasarian (1992), Robust linear programming discrimination of two linearly
    inseparable sets, Optimization Methods and Software 1, 23-34.

    Bennett (1994), Global tree optimization: a non-greedy decision tree algorithm, Computing
    Science and Statistics 26.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import ObliqueTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ObliqueTreeClassifier(max_depth=2, init="greedy_lp", optimizer=None)
    >>> tree.fit(X, y).score(X, y) > 0.97
    True
    """

    def check(self, problem):
        super().check(problem)
        if not problem.loss.is_classifier:
            raise ValueError(
                f"GreedyLP parts classes; it cannot serve the {problem.loss.name} loss")

    def initialize(self, problem: Problem) -> Tree:
        self.check(problem)
        problem = distinct(problem)
        warn_of_size("GreedyLP", [len(problem.sample_weight)], problem.X.shape[1])
        tree = self._grow(problem, None)
        return tree if self.max_leaf_nodes is None else _prune(tree, problem, self.max_leaf_nodes)

    def _strategy(self, splitter, problem):
        return LPSplitter(splitter, problem)


def _prune(tree, problem, n_leaves):
    """The tree with so many leaves that misclassifies least, with new values in the leaves."""
    m, rows = tree.n_internal, problem.training_samples
    # Weight of each class at every leaf
    count = np.zeros((tree.n_leaves, problem.n_outputs))
    label = problem.y[:, 0].astype(np.intp)
    np.add.at(count, (tree._apply_at(problem.data, rows), label), problem.sample_weight)
    count = tree._sums_below(count)
    error = count.sum(axis=1) - count.max(axis=1)
    tree = prune_to_size(tree, error[:m], error[m:], n_leaves)
    leaf = tree._apply_at(problem.data, rows)
    return tree.replace(values=problem.fit_leaves(leaf, rows, tree.n_leaves))


class LPSplitter(RefinedSplitter):
    """A split strategy for the builder: one linear program per node."""

    def __init__(self, splitter, problem):
        super().__init__(splitter, problem)
        self.label = problem.y[:, 0].astype(np.intp)
        self.scaling = problem.scaling
        self.scaled = self.scaling.transform(problem.X)

    def split(self, rows):
        axis_aligned = self.splitter.split(rows)
        if axis_aligned is None:
            return None
        return self._plane(rows, axis_aligned) or axis_aligned

    def _plane(self, rows, axis_aligned):
        """The plane of the linear program, or None if it leaves a side empty or too light."""
        weight = self.weight[rows]
        right = self._on_the_right(rows, axis_aligned)
        plane = place_plane(
            self.scaled[rows], np.where(right, 0.0, weight / weight[~right].sum()),
            np.where(right, weight / weight[right].sum(), 0.0))
        if plane is None:
            return None
        weights, thresholds = self.scaling.to_raw(plane[None, :-1], plane[-1:])
        side = self.data.project(rows, weights[0]) - thresholds[0] > 0
        cut = self.splitter.best_threshold(rows, side.astype(np.float64))
        return cut and Split(weights[0], thresholds[0], cut[1])

    def _on_the_right(self, rows, axis_aligned):
        """Whether the class of each row belongs to the set that should be on the right."""
        weight, label = self.weight[rows], self.label[rows]
        total = np.bincount(label, weights=weight)
        if np.count_nonzero(total) == 2:
            return label == label.max()
        n_left = self.splitter.partition(moved := rows.copy(), axis_aligned)
        moved = moved[n_left:]
        passing = np.bincount(self.label[moved], weights=self.weight[moved], minlength=len(total))
        right = 2.0 * passing[label] > total[label]
        return label == total.argmax() if right.all() or not right.any() else right
