"""Axis-aligned trees by greedy information gain."""

from numbers import Integral, Real
from typing import ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from ngdt._greedy.builder import build, splitter_for
from ngdt._greedy.splitter import Split
from ngdt._tree import Tree
from ngdt.initializers._base import Initializer
from ngdt.problem import Problem


class InfoGain(Initializer):
    """Grow an axis-aligned tree that takes the most informative split at every node.

    The search is exact: every feature, every threshold halfway between neighbouring values. Nothing
    is random; of equally good splits, the one with the lowest feature and then the lowest threshold
    is taken. A row of weight k counts as k rows in every rule, and a row of weight 0 does not
    exist.

    Parameters
    ----------
    criterion : {"entropy", "variance"} or None, default=None
        What a split reduces. None: the entropy of classes, the variance of numbers.
    min_samples_split : float, default=2
        Least weight of a node that may be split. Up to 2, there is no limit.
    min_samples_leaf : float, default=1
        Least weight on each side of a split. Up to 1, there is no limit.
    max_leaf_nodes : int or None, default=None
        Largest number of leaves; the splits that gain most are made first.
    min_impurity_decrease : float, default=0.0
        Least decrease of impurity, weighted by the node's share of all rows. Entropy is in bits.

    See Also
    --------
    ngdt.initializers.CO2 : Oblique splits that start from these.

    Notes
    -----
    The depth is limited by the problem, that is, by the `max_depth` of the estimator. Impure nodes
    are split as long as a threshold exists, even if that gains nothing yet.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from ngdt.problem import Problem
    >>> from ngdt.initializers import InfoGain
    >>> from ngdt.losses import LogLoss
    >>> X, y = load_iris(return_X_y=True)
    >>> problem = Problem(X, LogLoss().encode(y, 3), LogLoss(), 3, np.ones(len(X)), max_depth=3)
    >>> InfoGain(min_samples_leaf=5).initialize(problem)
    Tree(n_internal=4, n_leaves=5, n_features=4, n_outputs=3, max_depth=3)
    """

    _parameter_constraints: ClassVar[dict] = {
        "criterion": [StrOptions({"entropy", "variance"}), None],
        "min_samples_split": [Interval(Real, 0, None, closed="left")],
        "min_samples_leaf": [Interval(Real, 0, None, closed="left")],
        "max_leaf_nodes": [Interval(Integral, 1, None, closed="left"), None],
        "min_impurity_decrease": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        criterion=None,
        *,
        min_samples_split=2,
        min_samples_leaf=1,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
    ):
        self.criterion = criterion
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease

    def check(self, problem):
        super().check(problem)
        natural = "entropy" if problem.loss.is_classifier else "variance"
        if self.criterion not in (None, natural):
            raise ValueError(
                f"criterion={self.criterion!r} does not fit the {problem.loss.name} loss, "
                f"use {natural!r}")

    def initialize(self, problem: Problem) -> Tree:
        """Grow a tree on the rows with training weight.

        Parameters
        ----------
        problem : Problem

        Returns
        -------
        Tree
            Split weights are rows of the unit matrix, leaf values those of the problem's loss.

        Raises
        ------
        ValueError
            If a parameter is out of range, or the criterion does not fit the loss.
        """
        self.check(problem)
        return self._grow(problem, self.max_leaf_nodes)

    def _grow(self, problem, max_leaf_nodes):
        splitter = splitter_for(problem, self.min_samples_leaf)
        growth = build(
            self._strategy(splitter, problem),
            splitter.used_samples(),
            max_depth=problem.max_depth,
            min_samples_split=self.min_samples_split,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=self.min_impurity_decrease,
        )
        return growth.to_tree(problem)

    def _strategy(self, splitter, problem):
        """How nodes are split; CO2 refines what the splitter finds."""
        return splitter


class RefinedSplitter:
    """What split strategies share that go on from what a splitter finds.

    Parameters
    ----------
    splitter : Splitter
    problem : Problem
        Of the splitter.
    """

    def __init__(self, splitter, problem):
        self.splitter, self.weight = splitter, splitter.weight
        self.data = problem.data

    def partition(self, rows, split):
        """As `Splitter.partition`."""
        return self.splitter.partition(rows, split)

    def cut(self, rows, weights):
        """The best split across this direction, or None."""
        found = self.splitter.best_threshold(rows, self.data.project(rows, weights))
        return found and Split(weights, *found)
