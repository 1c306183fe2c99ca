"""What all optimizers share."""

from abc import abstractmethod

from sklearn.base import BaseEstimator


class Optimizer(BaseEstimator):
    """Base class: a record of hyper-parameters that turns a tree into a better one.

    Optimizers have no fitted state and change neither the tree nor the problem they are given.
    """

    minibatch = False  # draws samples at random: weight k is not the same as k copies
    natural_start = "info_gain"     # name of the initializer that suits it best

    def check(self, tree, loss):
        """Raise a ValueError that names both sides if this optimizer cannot work on the tree.

        Parameters
        ----------
        tree : Tree
        loss : Loss
        """

    @abstractmethod
    def improve(self, tree, problem):
        """Train.

        Parameters
        ----------
        tree : Tree
        problem : Problem

        Returns
        -------
        tree : Tree
        history : dict of str to list
            One entry per epoch; empty for steps that have no epochs.
        """
