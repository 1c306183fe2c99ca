"""Base class of initializers and optimizers."""

from abc import ABC
from typing import ClassVar

from sklearn.base import BaseEstimator

from ngdt._util.validation import HasParameters


class Algorithm(HasParameters, BaseEstimator, ABC):
    """Parameters of an algorithm, without fitted state.

    A run changes neither the object nor its input. The same object may be used for any number of
    problems.
    """

    # Name of a registered algorithm in the parameters of the estimators.
    name: ClassVar[str] = ""
    # Whether samples are drawn at random. A sample of weight k is then not the same as k samples.
    is_stochastic: ClassVar[bool] = False

    _parameter_constraints: ClassVar[dict] = {}

    def check(self, problem):
        """Raise an error if a parameter is out of range, or does not fit the problem.

        The estimators call it for all algorithms of a run before the first one is run. Extend it
        for conditions on several parameters, or on parameters and the problem.

        Parameters
        ----------
        problem : Problem

        Raises
        ------
        ValueError
            The message names the parameter.
        """
        self._validate_params()

    def _check_type(self, method, result, expected):
        """Return the result of a method of a subclass, or raise a TypeError for another class."""
        if not isinstance(result, expected):
            raise TypeError(
                f"{type(self).__name__}.{method} must return an object of the class "
                f"{expected.__name__}, got one of {type(result).__name__}")
        return result


def registry(*algorithms):
    """Algorithms by name.

    Parameters
    ----------
    *algorithms : type
        Subclasses of `Algorithm`.

    Returns
    -------
    dict of str to type
        Sorted by name.
    """
    return {algorithm.name: algorithm for algorithm in sorted(algorithms, key=lambda a: a.name)}
