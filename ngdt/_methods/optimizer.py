"""Base class of all optimizers."""

from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar

from ngdt._core.tree import Tree
from ngdt._training.algorithm import Algorithm
from ngdt._training.problem import Problem
from ngdt._training.progress import OptimizerResult


class Optimizer(Algorithm):
    """Base class of optimizers. An optimizer improves a tree.

    A subclass implements `_optimize`. It may use the public members of `Problem` and `Tree`, and
    `Progress` for metrics, messages and Ctrl-C.
    """

    # Name of the initializer that init="auto" stands for.
    default_init: ClassVar[str] = "info_gain"
    # Whether it takes trees with linear leaves. Others get constant leaves instead.
    takes_linear_leaves: ClassVar[bool] = False
    # The space of fewer coordinates in which to train on wide data: "row_span" is the span of the
    # samples, "screen" the most informative features. None trains on the features themselves.
    space: ClassVar[str | None] = None
    # Whether the coordinates of wide data get a standard deviation of 1 on average. Steps of a size
    # of their own need it; other methods give the same tree as without the change of basis.
    scales_coordinates: ClassVar[bool] = False
    # Whether far values are moved to the fences of their features before it reads them.
    winsorizes: ClassVar[bool] = True
    # Whether more training error is the price of a tree that is simpler, or smoother.
    regularizes: ClassVar[bool] = False
    # Names of the metrics that are recorded per epoch.
    metrics: ClassVar[tuple[str, ...]] = ()
    # What `verbose` says is being done. Empty stands for the name of the class.
    phase: ClassVar[str] = ""

    def optimize(self, tree: Tree, problem: Problem) -> OptimizerResult:
        """Train a tree.

        Parameters
        ----------
        tree : Tree
            The initial tree. If it has linear leaves, most optimizers fit constant ones first.
        problem : Problem

        Returns
        -------
        OptimizerResult

        Raises
        ------
        ValueError
            If a parameter is out of range or does not fit the problem, or if the tree has another
            number of features or outputs.
        Stopped
            By Ctrl-C, a KeyboardInterrupt with the best tree so far, if there is one.
        """
        self.check(problem)
        problem._check_shapes(tree)
        if tree.slopes is not None and not self.takes_linear_leaves:
            tree = problem.refit_leaves(tree)

        def make():
            result = self._check_type("_optimize", self._optimize(
                tree, problem.winsorized if self.winsorizes else problem), OptimizerResult)
            return replace(result, tree=problem._refit_moved(result.tree)) if (
                self.winsorizes) else result

        result = problem.control.checkpoint.step(OptimizerResult, make)
        problem._check_shapes(result.tree)
        return result

    @abstractmethod
    def _optimize(self, tree: Tree, problem: Problem) -> OptimizerResult:
        """`optimize` without the checks of the parameters and the shapes."""
