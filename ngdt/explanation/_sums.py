"""Weighted sums of features, term by term."""

from dataclasses import dataclass, replace
from math import fsum

import numpy as np


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """A weighted sum for one sample: what it is at the mean sample, and what each feature adds.

    A feature adds its weight times the difference of its value from the mean. The terms are in the
    order of what they add, the largest first. The prediction of a forest is written as such a sum,
    too; its terms have no weights.

    Attributes
    ----------
    names : list of str
        Names of the features.
    values, means, weights : ndarray of shape (n_terms,)
        Value of each feature, mean of it over the training samples, and weight. The weights of a
        forest are NaN, and so are the value and the mean of what linear leaves add to it.
    contributions : ndarray of shape (n_terms,)
        ``weights * (values - means)``, or what each feature adds to the prediction of a forest.
    total : float
        The sum.
    base : float
        The sum where each feature is at its mean; for a forest, its mean prediction for the
        training samples. It is ``total - contributions.sum()``.
    base_name : str
        "at the mean" or, for a forest, "mean prediction".
    """

    names: list
    values: np.ndarray
    means: np.ndarray
    weights: np.ndarray
    contributions: np.ndarray
    total: float
    base: float
    base_name: str = "at the mean"

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
        return cls(
            [names[j] for j in features], x[features], mean[features], weights[features],
            contributions, float(total), float(total) - _sum(contributions))._sorted()

    @classmethod
    def of_contributions(cls, names, contributions, x, mean, total):
        """The sum of the contributions to the prediction of a forest.

        Parameters
        ----------
        names : list of str
        contributions, x, mean : ndarray of shape (n_features,)
            Those that are zero are left out.
        total : float
        """
        (used,) = np.nonzero(contributions)
        return cls(
            [names[j] for j in used], x[used], mean[used], np.full(len(used), np.nan),
            contributions[used], float(total), float(total) - _sum(contributions),
            "mean prediction")._sorted()

    def _sorted(self):
        order = np.argsort(-np.abs(self.contributions), kind="stable")
        return replace(
            self, names=[self.names[k] for k in order], values=self.values[order],
            means=self.means[order], weights=self.weights[order],
            contributions=self.contributions[order])

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
        return _sum(self.contributions[n_terms:])


def _sum(numbers):
    """Their sum, rounded once; infinite or NaN where it overflows."""
    try:
        return fsum(numbers)
    except (OverflowError, ValueError):
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.sum(numbers))
