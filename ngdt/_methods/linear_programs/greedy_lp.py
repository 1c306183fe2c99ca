"""Greedy trees with one linear program per node: the baseline of global tree optimization."""

import numpy as np

from ngdt._methods.greedy.info_gain import InfoGain, RefinedSplitter
from ngdt._methods.linear_programs.linear_program import distinct, place_plane
from ngdt._training.size_limits import targets_at_leaves
from ngdt._util.stopped import finished
from ngdt.pruning._impurity import node_errors
from ngdt.pruning._size import prune_to_size


class GreedyLP(InfoGain):
    """Greedy tree with oblique splits, each found by a linear program.

    A node separates two sets of classes. Its plane minimises the mean hinge error of one set plus
    the mean hinge error of the other. A linear program finds it (robust linear programming).
    Bennett (1994) compares with this greedy tree. It is the initial tree of `GTO`.

    See Also
    --------
    ngdt.optimizers.GTO : Optimises all planes of the tree together.

    Notes
    -----
    For classification only.

    Where the estimator limits `max_leaf_nodes`, the tree is grown without this limit and then
    pruned. Of all ways to turn subtrees into leaves, the one with the least training error is
    taken.

    Deviation: with more than two classes in a node, the best axis-aligned split defines the two
    sets. A class belongs to the side that receives the greater part of its sample weight. If that
    is the same side for all classes, the two sets are the most frequent class and all others.
    Where no plane splits the samples of the node, the axis-aligned split is taken, so that the tree
    grows until its leaves are pure, as in the paper.

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

    name = "greedy_lp"
    noun = "greedy oblique tree"
    _screens = False

    def check(self, problem):
        super().check(problem)
        if not problem.loss.is_classifier:
            raise ValueError(
                "init=GreedyLP() is for classification only; for regression use 'info_gain', "
                "'oc1' or 'co2'")

    def _initialize(self, problem):
        max_leaf_nodes = problem.limits.max_leaf_nodes
        # Merging equal samples changes the counts, so these limits are applied later, at the end of
        # the fit.
        problem = distinct(problem).limited(
            max_leaf_nodes=None, min_samples_leaf=1, min_samples_split=2)

        def pruned(tree):
            if max_leaf_nodes is None:
                return tree
            error = node_errors(tree, targets_at_leaves(tree, problem))
            return problem.refit_leaves(prune_to_size(tree, error, max_leaf_nodes))

        return finished(lambda: self._grow(problem), pruned)

    def _strategy(self, problem):
        return LPSplitter(problem)


class LPSplitter(RefinedSplitter):
    """Split strategy for the builder: one linear program per node."""

    def __init__(self, problem):
        super().__init__(problem)
        self.deadline = problem.control.deadline
        self.label = problem.y[:, 0].astype(np.intp)
        self.scaling = problem.scaling
        # Planes are found on winsorized samples, and cut on raw ones.
        self.scaled = self.scaling.transform(problem.winsorized.X)

    def _refined(self, samples, axis_aligned, min_samples_leaf):
        """Yield the split of the linear program, unless a side has too few samples."""
        sample_weight = self.weight[samples]
        right = self._belongs_right(samples, axis_aligned)
        plane = place_plane(
            self.scaled[samples],
            np.where(right, 0.0, sample_weight / sample_weight[~right].sum()),
            np.where(right, sample_weight / sample_weight[right].sum(), 0.0), self.deadline)
        if plane is None:
            return
        split = self.cut_at(
            samples, *self.scaling.to_raw(plane[:-1], plane[-1]), min_samples_leaf)
        if split is not None:
            yield split

    def _belongs_right(self, samples, axis_aligned):
        """Mask of the samples whose class should go right."""
        sample_weight, label = self.weight[samples], self.label[samples]
        total = np.bincount(label, weights=sample_weight)
        if np.count_nonzero(total) == 2:
            return label == label.max()
        n_left = self.splitter.partition(partitioned := samples.copy(), axis_aligned)
        on_right = partitioned[n_left:]
        total_right = np.bincount(
            self.label[on_right], weights=self.weight[on_right], minlength=len(total))
        right = 2.0 * total_right[label] > total[label]
        return label == total.argmax() if right.all() or not right.any() else right
