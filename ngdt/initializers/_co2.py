"""CO2: greedy growth with oblique splits, each by continuous optimisation of its own bound."""

from typing import ClassVar

import numpy as np

from ngdt._tree import Tree
from ngdt.initializers._info_gain import InfoGain, RefinedSplitter
from ngdt.optimizers import SGD
from ngdt.optimizers._sgd.input_scale import InputScale


class CO2(InfoGain):
    """Greedy tree with oblique splits: Norouzi et al. (2015a), the start of the paper's pipeline.

    Each node starts from the best axis-aligned split. Its weights, and the values of its two
    sides, are optimised by SGD on the bound of a tree of depth 1; the threshold is then set by an
    exact scan, and the split is kept if its gain is no less than that of the start.

    Parameters
    ----------
    optimizer : SGD or None, default=None
        For the splits. None is ``SGD(epochs=20, batch_size=20)``.
    criterion, min_samples_split, min_samples_leaf, max_leaf_nodes, min_impurity_decrease
        As for `InfoGain`.

    References
    ----------
    Norouzi, Collins, Fleet & Kohli (2015), CO2 Forest: Improved Random Forest by Continuous
    Optimization of Oblique Splits, arXiv:1506.06155.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import ObliqueTreeClassifier
    >>> tree = ObliqueTreeClassifier(max_depth=3, init="co2", optimizer=None, random_state=0)
    >>> tree = tree.fit(*load_iris(return_X_y=True))
    >>> tree.tree_.max_depth
    3
    """

    is_stochastic = True    # the splits are found on random mini-batches

    _parameter_constraints: ClassVar[dict] = {
        **InfoGain._parameter_constraints,
        "optimizer": [SGD, None],
    }

    def __init__(
        self,
        *,
        optimizer=None,
        criterion=None,
        min_samples_split=2,
        min_samples_leaf=1,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
    ):
        super().__init__(
            criterion,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
        )
        self.optimizer = optimizer

    def _strategy(self, splitter, problem):
        optimizer = self.optimizer
        if optimizer is None:
            optimizer = SGD(epochs=20, batch_size=20)
        optimizer.check(problem)
        return CO2Splitter(splitter, optimizer, problem)


class CO2Splitter(RefinedSplitter):
    """A split strategy for the builder: axis-aligned splits, made oblique where that gains."""

    def __init__(self, splitter, optimizer, problem):
        super().__init__(splitter, problem)
        self.optimizer = optimizer
        self.problem = problem.replace(validation_weight=None, n_jobs=1, verbose=0, callback=None)
        self.space = InputScale.measure(problem, optimizer.norm_limit)

    def split(self, rows):
        axis_aligned = self.splitter.split(rows)
        if axis_aligned is None:
            return None
        weights = self._optimize(rows, axis_aligned)
        best = self.cut(rows, weights)
        return axis_aligned if best is None or not best.gain >= axis_aligned.gain else best

    def _optimize(self, rows, split):
        problem = self.problem
        weights = np.zeros((1, problem.X.shape[1]))
        weights[0, split.direction] = 1.0
        right = self.data.project(rows, weights[0]) > split.threshold
        values = problem.fit_leaves(right.astype(np.int32), rows, 2)
        stump = Tree(weights, [split.threshold], [~0], [~1], values)
        weight = np.zeros_like(problem.sample_weight)
        weight[rows] = problem.sample_weight[rows]
        stump, _ = self.optimizer._train(stump, problem.replace(sample_weight=weight), self.space)
        return stump.weights[0]
