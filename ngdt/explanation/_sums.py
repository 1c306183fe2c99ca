"""Weighted sums of features, term by term."""

from dataclasses import dataclass
from math import fsum

import numpy as np


@dataclass(frozen=True)
class WeightedSum:
    """A weighted sum for one sample: what it is at the mean sample, and what each feature adds.

    A feature adds its weight times the difference of its value from the mean. The terms are in the
    order of what they add, the largest first.

    Attributes
    ----------
    names : list of str
        Names of the features.
    values, means, weights : ndarray of shape (n_terms,)
        Value of each feature, mean of it over the training samples, and weight.
    contributions : ndarray of shape (n_terms,)
        ``weights * (values - means)``.
    total : float
        The sum.
    at_mean : float
        The sum where each feature is at its mean: ``total - contributions.sum()``.
    """

    names: list
    values: np.ndarray
    means: np.ndarray
    weights: np.ndarray
    contributions: np.ndarray
    total: float
    at_mean: float

    @classmethod
    def of(cls, names, weights, x, mean, total):
        """Take a sum apart.

        Parameters
        ----------
        names : list of str
            Of all features.
        weights, x, mean : ndarray of shape (n_features,)
        total : float
            The sum, as the tree computes it.
        """
        features = np.flatnonzero(weights)
        contributions = weights[features] * (x[features] - mean[features])
        order = np.argsort(-np.abs(contributions), kind="stable")
        features, contributions = features[order], contributions[order]
        return cls(
            [names[j] for j in features], x[features], mean[features], weights[features],
            contributions, float(total), float(total) - fsum(contributions))

    def rows(self, n_terms=None):
        """The first terms.

        Parameters
        ----------
        n_terms : int or None, default=None
            None returns all.

        Returns
        -------
        list of tuple (str, float, float, float)
            Name, value, mean and contribution.
        """
        columns = self.names, self.values, self.means, self.contributions
        return list(zip(*(column[:n_terms] for column in columns), strict=True))

    def rest(self, n_terms):
        """What all other terms than the first ones add.

        Parameters
        ----------
        n_terms : int

        Returns
        -------
        float
        """
        return fsum(self.contributions[n_terms:])
