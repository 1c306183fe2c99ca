"""Weighted sums of features, term by term."""

from dataclasses import dataclass, field, replace
from math import fsum
from typing import NamedTuple

import numpy as np

from ngdt._inspection.rules import one_line


class Names(NamedTuple):
    """Names of the terms of a sum.

    Attributes
    ----------
    features : list of str
        Name of each feature.
    columns : list of str
        Name of the column that each feature encodes.
    values : dict of str to str
        What to write for columns that are not one number, such as "city = Rome".
    """

    features: list
    columns: list
    values: dict


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """A weighted sum for one sample: what it is at the mean sample, and what each feature adds.

    A feature adds its weight times the difference of its value from the mean. The largest terms
    come first. The prediction of a forest is such a sum, too, without weights.

    Attributes
    ----------
    names : list of str
        Names of the features.
    values, means, weights : ndarray of shape (n_terms,)
        Value of each feature, mean of it over the training samples, and weight. The weights of a
        forest are NaN.
    contributions : ndarray of shape (n_terms,)
        ``weights * (values - means)``, or what each feature adds to the prediction of a forest.
    total : float
        The sum.
    base : float
        The sum where each feature is at its mean; for a forest, its mean prediction for the
        training samples. It is ``total - contributions.sum()``.
    base_name : str
        "at the mean" or, for a forest, "mean prediction".
    columns : list of str
        Name of the column that each feature encodes.
    """

    names: list
    values: np.ndarray
    means: np.ndarray
    weights: np.ndarray
    contributions: np.ndarray
    total: float
    base: float
    base_name: str = "at the mean"
    columns: list = ()
    _of_columns: dict = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def _of(cls, names, weights, x, mean, total):
        """Take a sum apart.

        Parameters
        ----------
        names : Names
            Of all features.
        weights, x, mean : ndarray of shape (n_features,)
        total : float
            The sum, as the tree computes it.
        """
        features = np.flatnonzero(weights)
        contributions = weights[features] * (x[features] - mean[features])
        # Of infinite ones, neither the sum nor the base would be a number.
        limit = 0.5 * np.finfo(np.float64).max / max(1, len(features))
        contributions = np.clip(contributions, -limit, limit)
        return cls._named(names, features, x, mean, weights[features], contributions, total)

    @classmethod
    def _of_contributions(cls, names, contributions, x, mean, total):
        """The sum of the contributions to the prediction of a forest.

        Parameters
        ----------
        names : Names
        contributions, x, mean : ndarray of shape (n_features,)
            Those that are zero are left out.
        total : float
        """
        (used,) = np.nonzero(contributions)
        return cls._named(
            names, used, x, mean, np.full(len(used), np.nan), contributions[used], total,
            "mean prediction")

    @classmethod
    def _named(cls, names, features, x, mean, weights, contributions, total,
               base_name="at the mean"):
        return cls(
            [names.features[j] for j in features], x[features], mean[features], weights,
            contributions, float(total), float(total) - _sum(contributions), base_name,
            columns=[names.columns[j] for j in features], _of_columns=names.values)._sorted()

    def _sorted(self):
        return self._take(np.argsort(-np.abs(self.contributions), kind="stable"))

    def _take(self, order, **changes):
        taken = {"names": [self.names[k] for k in order],
                 "columns": [self.columns[k] for k in order]} | {
            name: getattr(self, name)[order]
            for name in ("values", "means", "weights", "contributions")}
        return replace(self, **taken | changes)

    def by_column(self):
        """The sum with one term for each column, as text and pictures show it.

        A column of categories, or with missing values, is encoded as several features. Their terms
        are added up, such as "city = Rome".

        Returns
        -------
        WeightedSum
            The value, mean and weight of a term for several features are NaN.
        """
        places = {}
        for k, column in enumerate(self.columns):
            places.setdefault(column, []).append(k)
        first = np.array([own[0] for own in places.values()], dtype=int)
        columns = self._take(
            first, contributions=np.array([_sum(self.contributions[own])
                                           for own in places.values()]))
        for k, (column, own) in enumerate(places.items()):
            if column in self._of_columns:
                columns.names[k] = self._of_columns[column]
                columns.values[k] = columns.means[k] = columns.weights[k] = np.nan
            elif len(own) > 1:      # a number, and that it is not missing
                name = one_line(column)
                number = next((i for i in own if self.names[i] == name), own[0])
                columns.names[k], columns.weights[k] = name, np.nan
                columns.values[k], columns.means[k] = self.values[number], self.means[number]
        return columns._sorted()

    def _is_label(self):
        """Return whether the only term has no number: it is a category, or a missing number."""
        return len(self.names) == 1 and bool(np.isnan(self.values[0]))

    def _in_unit(self):
        """The sum in the unit of its column, if it is the only one; else as it is.

        The weight of a condition on one number has no meaning: training may have scaled it.
        """
        if len(self.weights) != 1:
            return self
        with np.errstate(all="ignore"):
            total, base, part = np.array(
                [self.total, self.base, self.contributions[0]]) / abs(self.weights[0])
        if not np.isfinite([total, base, part]).all():
            return self
        return replace(self, total=float(total), base=float(base), contributions=np.array([part]),
                       weights=np.sign(self.weights))

    def _rows(self, n_terms=None):
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

    def _rest(self, n_terms):
        """The sum of all terms but the first ones.

        Parameters
        ----------
        n_terms : int

        Returns
        -------
        float
        """
        return _sum(self.contributions[n_terms:])


def _sum(numbers):
    """The sum of some numbers, rounded once; infinite or NaN where it overflows."""
    try:
        return fsum(numbers)
    except (OverflowError, ValueError):
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.sum(numbers))
