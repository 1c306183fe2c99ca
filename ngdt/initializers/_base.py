"""What every initializer has in common."""

from abc import ABC, abstractmethod
from typing import ClassVar

from sklearn.base import BaseEstimator

from ngdt._tree import Tree
from ngdt.problem import Problem


class Initializer(BaseEstimator, ABC):
    """Grows the tree that an optimizer starts from.

    A record of parameters without fitted state: `grow` changes neither the record nor the problem,
    and the same record may be used for any number of problems.
    """

    is_stochastic = False  # draws samples at random: weight k is not the same as k copies

    _parameter_constraints: ClassVar[dict] = {}

    def check(self, problem):
        """Raise a ValueError if a parameter is out of range, or does not go with the problem.

        Parameters
        ----------
        problem : Problem
        """
        self._validate_params()

    @abstractmethod
    def initialize(self, problem: Problem) -> Tree:
        """Grow a tree.

        Parameters
        ----------
        problem : Problem

        Returns
        -------
        Tree
        """
