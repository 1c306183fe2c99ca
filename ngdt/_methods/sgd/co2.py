"""CO2: greedy trees with oblique splits, each optimised continuously on its own bound."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ngdt._core.tree import Tree
from ngdt._methods.greedy.info_gain import InfoGain, RefinedSplitter
from ngdt._methods.sgd.run import InputScale
from ngdt._methods.sgd.sgd import SGD


@dataclass(eq=False, repr=False, kw_only=True)
class CO2(InfoGain):
    """Greedy tree with oblique splits: Norouzi et al. (2015a); the initial tree of the paper.

    The initial split of each node is the best axis-aligned one. SGD optimises its weights, and the
    values of its two sides, on the bound of a tree of depth 1. The threshold is then set by an
    exact scan. The split is kept if its gain is no less than that of the axis-aligned one.

    Parameters
    ----------
    optimizer : SGD or None, default=None
        Optimizer of the splits. None is ``SGD(epochs=20, batch_size=20)``.

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

    name = "co2"
    noun = "greedy oblique tree"
    _screens = False
    is_stochastic = True    # the splits are found on random mini-batches

    _parameter_constraints: ClassVar[dict] = {"optimizer": [SGD, None]}

    optimizer: SGD | None = None

    def check(self, problem):
        super().check(problem)
        self._sgd().check(problem)

    def _sgd(self):
        return SGD(epochs=20, batch_size=20) if self.optimizer is None else self.optimizer

    def _strategy(self, problem):
        return CO2Splitter(self._sgd(), problem)


class CO2Splitter(RefinedSplitter):
    """A split strategy for the builder: axis-aligned splits, made oblique where the gain rises."""

    def __init__(self, optimizer, problem):
        super().__init__(problem)
        self.optimizer = optimizer
        # Directions are found on winsorized samples, and cut on raw ones.
        self.problem = problem.winsorized.replace(
            validation_weight=None, n_jobs=1, control=problem.control.silent())
        self.input_scale = InputScale.measure(self.problem, optimizer.norm_limit)

    def _refined(self, samples, axis_aligned, min_samples_leaf):
        weights = self._optimize(samples, axis_aligned)
        best = self.cut(samples, weights, min_samples_leaf)
        if best is not None and best.gain >= axis_aligned.gain:
            yield best

    def _optimize(self, samples, split):
        problem = self.problem
        weights = np.zeros((1, problem.X.shape[1]))
        weights[0, split.direction] = 1.0
        right = self.data.project(samples, weights[0]) > split.threshold
        values = problem.fit_leaves(right.astype(np.int32), samples, 2)
        stump = Tree(weights, [split.threshold], [~0], [~1], values)
        sample_weight = np.zeros_like(problem.sample_weight)
        sample_weight[samples] = problem.sample_weight[samples]
        problem = problem.replace(sample_weight=sample_weight)
        return self.optimizer._optimize(stump, problem, self.input_scale).tree.weights[0]
