"""What all optimizers share."""

from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator


class Optimizer(BaseEstimator, ABC):
    """Base class: a record of hyper-parameters that turns a tree into a better one.

    Optimizers have no fitted state and change neither the tree nor the problem they are given.
    """

    is_stochastic = False  # draws samples at random: weight k is not the same as k copies
    default_init = "info_gain"     # name of the initializer that suits it best
    metrics = ()    # names of what it records per epoch

    _parameter_constraints: ClassVar[dict] = {}

    def check(self, problem):
        """Raise a ValueError if a parameter is out of range, or does not go with the problem.

        Parameters
        ----------
        problem : Problem
        """
        self._validate_params()

    @abstractmethod
    def optimize(self, tree, problem):
        """Train.

        Parameters
        ----------
        tree : Tree
        problem : Problem

        Returns
        -------
        tree : Tree
        history : dict of str to list
            One entry per epoch for each of `metrics`; may be empty where there was no epoch.
        """


class Progress:
    """The history of a training run, and who is told of it.

    Parameters
    ----------
    optimizer : Optimizer
    problem : Problem
    epochs : int
        The largest number of them.

    Attributes
    ----------
    history : dict of str to list
        As `Optimizer.optimize` returns it.
    """

    def __init__(self, optimizer, problem, epochs):
        self.history = {name: [] for name in optimizer.metrics}
        self._step, self._problem = type(optimizer).__name__, problem
        self._epoch, self._epochs = 0, epochs

    @contextmanager
    def until_interrupted(self):
        """Ctrl-C ends the block, and the history says so."""
        try:
            yield
        except KeyboardInterrupt:
            self.history["interrupted"] = True

    def report(self, metrics):
        """Add an epoch to the history, print its metrics, and call back.

        Parameters
        ----------
        metrics : dict of str to number
        """
        self._epoch += 1
        metrics = {name: np.asarray(metric).item() for name, metric in metrics.items()}
        for name, metric in metrics.items():
            self.history[name].append(metric)
        if self._problem.verbose:
            shown = "  ".join(
                f"{name} {metric}" if isinstance(metric, int) else f"{name} {metric:.4g}"
                for name, metric in metrics.items())
            print(f"[{self._step}] epoch {self._epoch}/{self._epochs}  {shown}")
        if self._problem.callback is not None:
            self._problem.callback(
                {"step": self._step, "epoch": self._epoch, "epochs": self._epochs, **metrics})
