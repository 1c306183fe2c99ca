"""Base class of all initializers."""

from abc import abstractmethod
from typing import ClassVar

from ngdt._core.tree import Tree
from ngdt._training.algorithm import Algorithm
from ngdt._training.problem import Problem


class Initializer(Algorithm):
    """Base class of initializers. An initializer makes the initial tree for the optimizers.

    A subclass implements `_initialize`. It may use the public members of `Problem` and `Tree`.
    """

    # What a tree is called that is left as the initializer made it.
    noun: ClassVar[str] = "initial tree"
    # Whether held-out samples choose how large the tree is, which needs no default depth then.
    chooses_size: ClassVar[bool] = False

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
        Stopped
            By Ctrl-C, a KeyboardInterrupt with the tree so far, if there is one.
        """
        self.check(problem)
        # What is trained on the way is no step.
        unstored = problem.replace(control=problem.control.unstored())
        tree = problem.control.checkpoint.step(Tree, lambda: self._check_type(
            "_initialize", self._initialize(unstored), Tree))
        problem._check_shapes(tree)
        return tree

    @abstractmethod
    def _initialize(self, problem: Problem) -> Tree:
        """`initialize` without the checks of the parameters."""
