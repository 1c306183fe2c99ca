"""Weighted sums of features, term by term."""

from dataclasses import dataclass, field, replace
from math import isfinite

import numpy as np

from ngdt._util.text import one_line

# Share of a mean by which the order of a sum may move it.
_ROUNDING = 1e-12


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
        The sum. Where it, or a term, overflows, it is the largest number.
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
    _of_columns: dict = field(default_factory=dict, repr=False)

    @classmethod
    def _of(cls, names, weights, x, mean, total, contributions=None):
        """Take a sum apart.

        Parameters
        ----------
        names : tuple
            Of all features, as `Row.names` returns them.
        weights, x, mean : ndarray of shape (n_features,)
            Features of weight zero are left out.
        total : float
            The sum, as the tree computes it.
        contributions : ndarray of shape (n_features,), default=None
            Of a forest, whose weights are NaN.
        """
        names, columns, of_columns = names
        name = "at the mean" if contributions is None else "mean prediction"
        if contributions is None:
            # What stands for a missing number is the mean, up to rounding.
            is_mean = np.abs(x - mean) <= _ROUNDING * np.abs(mean)
            contributions = np.nan_to_num(weights * np.where(is_mean, 0.0, x - mean))
        features = np.flatnonzero(weights)
        features = features[np.argsort(-np.abs(contributions[features]), kind="stable")]
        added = contributions[features]
        total = float(total) if isfinite(total) else _sum(added)
        return cls(
            [names[j] for j in features], x[features], mean[features], weights[features],
            added, total, _sum(np.array([total, -_sum(added)])), name,
            [columns[j] for j in features], of_columns)

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
        terms = []
        for column, own in places.items():
            contribution = _sum(self.contributions[own])
            name, value, mean, weight = self._of_columns.get(column), np.nan, np.nan, np.nan
            if name is None:
                # Of a number, and of the indicator that it is not missing, the number.
                shown = one_line(column)
                k = next((k for k in own if self.names[k] == shown), own[0])
                name, value, mean = self.names[k], self.values[k], self.means[k]
                weight = self.weights[k] if len(own) == 1 else np.nan
            terms.append((name, value, mean, weight, contribution, column))
        terms.sort(key=lambda term: -abs(term[4]))
        names, *numbers, columns = zip(*terms, strict=True) if terms else [()] * 6
        values, means, weights, contributions = map(np.array, numbers)
        return replace(self, names=list(names), values=values, means=means, weights=weights,
                       contributions=contributions, columns=list(columns))

    def _is_label(self):
        """Return whether the only term has no number: it is a category, or a missing number."""
        return len(self.names) == 1 and bool(np.isnan(self.values[0]))

    def _in_unit(self):
        """The sum in the unit of its column, if it is the only one; else as it is.

        The weight of a condition on one number has no meaning: training may have scaled it.
        """
        if len(self.weights) != 1 or np.isnan(self.weights[0]):
            return self
        numbers = np.array([self.total, self.base, *self.contributions])
        with np.errstate(over="ignore"):
            total, base, added = np.nan_to_num(numbers / abs(self.weights)).tolist()
        return replace(self, total=total, base=base, contributions=np.array([added]),
                       weights=np.sign(self.weights))

    def _rows(self, n_terms=None):
        """The first terms, and the others as one, "3 more".

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
        rows = list(zip(*(column[:n_terms] for column in columns), strict=True))
        n_others = len(self.names) - len(rows)
        if n_others:
            rows.append((f"{n_others} more", np.nan, np.nan, _sum(self.contributions[n_terms:])))
        return rows


def _sum(numbers):
    """The sum of some numbers as a float: the largest number where it overflows."""
    total = float(sum(numbers.tolist()))
    if isfinite(total):
        return total
    # The sum of parts is finite, wherever it ends.
    return float(np.nan_to_num(len(numbers) * sum((numbers / len(numbers)).tolist())))
