"""CutLeaves: leaves divided by the weighted sums of the splits above them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ngdt._core.greedy.builder import build
from ngdt._core.structure import paths
from ngdt._methods.optimizer import Optimizer
from ngdt._training.progress import OptimizerResult
from ngdt._training.samples_by_leaf import SamplesByLeaf
from ngdt._util.stopped import Stopped
from ngdt._util.validation import COUNT, NOT_NEGATIVE

# Bits in a nat: entropies are in bits.
_BITS = 1.0 / np.log(2.0)


@dataclass(eq=False, repr=False, kw_only=True)
class CutLeaves(Optimizer):
    """Divide leaves by the weighted sums of the splits above them, where their samples differ.

    Use it after optimizers that train splits. These often rank the samples on each side as well:
    the farther from the split, the surer the class, or the larger the target. Further thresholds of
    the same sums turn that into probabilities or values, and the tree has no more weights to read.

    Parameters
    ----------
    min_samples_leaf : int, default=30
        Least number of training samples in a leaf that is new.
    min_gain : float, default=4.0
        Least gain of a threshold in log likelihood, in nats: for each class of the leaf but one
        or, for regression, of normal errors with the variance in the leaf. The weights of samples
        count.

    Notes
    -----
    Deviation: not in the papers. In each leaf, a greedy tree is grown whose splits have the weights
    of one of the splits on the path from the root, and the threshold with the largest gain. In 135
    fits on 27 tables, it made the log loss of the default 1.8 % smaller and raised the area under
    the ROC curve from 91.2 to 91.5 %, with as many errors. A least gain of 3 or 5, or leaves of 20
    samples, were as good. On 14 tables for regression, R2 of trees with constant leaves rose from
    0.704 to 0.713.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ngdt import ObliqueTreeClassifier
    >>> from ngdt.initializers import ScoreBands
    >>> from ngdt.optimizers import CutLeaves
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = ObliqueTreeClassifier(
    ...     init=ScoreBands(n_bands=2), optimizer=CutLeaves(), random_state=0).fit(X, y)
    >>> tree.get_n_leaves(), len(np.unique(tree.tree_.weights, axis=0))
    (3, 1)
    """

    name = "cut_leaves"
    winsorizes = False

    _parameter_constraints: ClassVar[dict] = {
        "min_samples_leaf": [COUNT],
        "min_gain": [NOT_NEGATIVE],
    }

    min_samples_leaf: int = 30
    min_gain: float = 4.0

    def check(self, problem):
        super().check(problem)
        if not (problem.loss.is_classifier or problem.loss.is_squared):
            raise ValueError(
                "optimizer=CutLeaves() is for classes and the squared loss, got "
                f"loss={problem.loss}: leave it out")

    def _optimize(self, tree, problem):
        limits, samples, grown = problem.limits, problem.training_samples, {}
        problem = problem.limited(
            min_samples_leaf=max(limits.min_samples_leaf, int(self.min_samples_leaf)))
        by_leaf = SamplesByLeaf(tree, samples, problem.apply(tree, samples))
        count = np.bincount(by_leaf.leaf, minlength=tree.n_leaves)
        # The largest first: `max_leaf_nodes` may not allow all.
        order = np.argsort(-count, kind="stable")
        large = order[count[order] >= 2 * problem.limits.min_samples_leaf]
        above, n_leaves = paths(tree, large), tree.n_leaves
        try:
            for i, leaf in enumerate(large):
                if n_leaves == limits.max_leaf_nodes or not problem.control.step(
                        i / len(large), "cutting leaves"):
                    break
                here = by_leaf.samples[by_leaf.slice_of(tree.n_internal + leaf)]
                nodes = above.indices[slice(*above.indptr[i:i + 2])]
                found = self._grow(problem.limited(
                    max_depth=limits.max_depth and limits.max_depth - len(nodes),
                    max_leaf_nodes=limits.max_leaf_nodes and limits.max_leaf_nodes - n_leaves + 1,
                ), here, tree, nodes)
                if found is not None:
                    grown[leaf] = found
                    n_leaves += found.n_leaves - 1
        except KeyboardInterrupt as error:      # of the growth, with a tree that is a subtree here
            raise Stopped(tree.replace_leaves(grown)) from error
        return OptimizerResult(tree.replace_leaves(grown))

    def _grow(self, problem, samples, tree, nodes):
        """A greedy tree of the samples of a leaf, with weights of the nodes above it, or None.

        It splits the weighted sums of the features, which are features here.
        """
        y, sample_weight = problem.y[samples], problem.sample_weight[samples]
        if len(nodes) == 0 or (y == y[0]).all():
            return None
        least_decrease = self.min_gain / sample_weight.sum() * _nat(problem, y, sample_weight)
        sums = np.column_stack([
            problem.data.project(samples, each) for each in tree.dense_weights(nodes)])
        # Sums may overflow. Each keeps the side that it has in a tree: that of NaN is the left one.
        np.nan_to_num(sums, copy=False, nan=np.finfo(np.float64).min)
        of_leaf = problem.replace(
            X=sums, y=y, sample_weight=sample_weight, validation_weight=None, groups=None,
            directions=None, fill=None, control=problem.control.silent())
        grown = build(of_leaf.splitter, of_leaf.training_samples, of_leaf.limited(
            min_impurity_decrease=least_decrease))
        if not grown.left[0]:       # there is no split
            return None
        found = grown.to_tree(of_leaf)
        return found.replace(weights=tree.weights[nodes[found.weights.argmax(axis=1)]])


def _nat(problem, y, sample_weight):
    """The decrease of the impurity of a leaf that is a nat for each parameter of a new leaf."""
    if problem.loss.is_classifier:
        return _BITS * (len(np.unique(y)) - 1)
    mean = np.average(y, axis=0, weights=sample_weight)
    return 2.0 * np.average((y - mean) ** 2, axis=0, weights=sample_weight).sum()
