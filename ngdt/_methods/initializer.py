"""Base class of all initializers."""

from abc import abstractmethod

from ngdt._core.greedy.builder import GrowthInterrupted
from ngdt._core.tree import Tree
from ngdt._training.algorithm import Algorithm
from ngdt._training.checkpoint import NO_CHECKPOINT
from ngdt._training.problem import Problem


class Initializer(Algorithm):
    """Base class of initializers. An initializer makes the initial tree for the optimizers.

    A subclass implements `_initialize`. It may use the public members of `Problem` and `Tree`.
    """

    def initialize(self, problem: Problem) -> Tree:
        """Make the initial tree.

        Parameters
        ----------
        problem : Problem

        Returns
        -------
        Tree

        Raises
        ------
        ValueError
            If a parameter is out of range or does not fit the problem.
        """
        self.check(problem)
        try:
            # What it trains on the way is not kept.
            tree = problem.checkpoint.once(
                Tree, lambda: self._initialize(problem.replace(checkpoint=NO_CHECKPOINT)))
            problem.check_shapes(tree)
            return tree
        except GrowthInterrupted as error:
            error.tree = error.tree or error.grown.to_tree(problem)
            raise

    @abstractmethod
    def _initialize(self, problem: Problem) -> Tree:
        """`initialize` without the checks of the parameters."""
