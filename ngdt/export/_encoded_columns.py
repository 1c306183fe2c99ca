"""Columns of a table, with the features of a tree that encode them."""

from dataclasses import dataclass

import numpy as np

# Places of categories all of whose features are 0, and of those that training did not have.
NONE, UNKNOWN = -1, -2


@dataclass(frozen=True)
class NumberColumn:
    """Column of numbers.

    Attributes
    ----------
    name : str
    feature : int
        Index of the feature that holds the number.
    fill : float or None
        Value of a missing number; None if no number may be missing.
    gap : int or None
        Index of the feature that is 1 where the number is missing, and else 0.
    is_boolean : bool
        Whether the table has bools in place of the numbers.
    """

    name: str
    feature: int
    fill: float | None = None
    gap: int | None = None
    is_boolean: bool = False

    def is_used(self, weights):
        """Return whether some feature of the column has a nonzero weight."""
        return bool(weights[self.feature]) or (self.gap is not None and bool(weights[self.gap]))

    def missing_term(self, weights):
        """Term of a missing number in a weighted sum; None if no number may be missing."""
        if self.fill is None:
            return None
        term = float(weights[self.feature]) * self.fill
        return term if self.gap is None else term + float(weights[self.gap])


@dataclass(frozen=True)
class CategoryColumn:
    """Column of categories, of which at most one feature is not 0.

    Attributes
    ----------
    name : str
    first : int
        Index of the first of the features of the column, which follow each other.
    places : dict
        Place among the features of the one that is 1 for each category; `NONE` if all are 0.
    missing_place : int
        The same for a missing category; `UNKNOWN` if it counts as an unknown one.
    unknown : list of float
        Values of all features for an unknown category.
    few : tuple
        Categories of training that count as unknown.
    """

    name: str
    first: int
    places: dict
    missing_place: int
    unknown: list
    few: tuple

    @property
    def is_text(self):
        """Return whether the categories are strings, not numbers."""
        return all(isinstance(category, str) for category in (*self.places, *self.few))

    def values_at(self, place):
        """Values of the features that are not 0 for the categories of a place, dict."""
        if place == UNKNOWN:
            return {self.first + k: value for k, value in enumerate(self.unknown) if value}
        return {} if place == NONE else {self.first + place: 1.0}

    def is_used(self, weights):
        """Return whether some feature of the column has a nonzero weight."""
        return bool(weights[self.first:self.first + len(self.unknown)].any())

    def terms(self, weights):
        """Terms of each category, of a missing one, and of all others in a weighted sum."""
        def term(place):
            return sum(float(weights[feature]) * value
                       for feature, value in self.values_at(place).items())

        return ({category: float(term(place)) for category, place in self.places.items()},
                term(self.missing_place), term(UNKNOWN))

    def doubles(self):
        """Categories that are numbers, as float, dict to their places.

        Raises
        ------
        ValueError
            If one is not a float64.
        """
        found = {}
        for category, place in self.places.items():
            number = float(category)
            if number != category:
                raise ValueError(
                    f"model has the category {category!r} of column {self.name!r}, which is no "
                    "number of type double: convert the column to strings, and train again")
            found[number] = place
        return found


def encoded_columns(table, names):
    """Columns that a model reads.

    Parameters
    ----------
    table : Table or None
        Encoding of columns as features. None for a bare `Tree`, which reads features.
    names : list of str

    Returns
    -------
    list of NumberColumn or CategoryColumn
        In the order of the table.
    """
    if table is None:
        return [NumberColumn(name, j) for j, name in enumerate(names)]
    first = len(table.numeric)
    gaps = {int(k): first + i for i, k in enumerate(table.gaps)}
    columns = {
        int(j): NumberColumn(names[j], k, float(fill), gaps.get(k), int(j) in table.booleans)
        for k, (j, fill) in enumerate(zip(table.numeric, table.fill, strict=True))}
    first += len(gaps)
    # A table without numbers is encoded as float32.
    dtype = np.float64 if len(table.numeric) else np.float32
    for j, categories in zip(table.categorical, table.categories, strict=True):
        columns[int(j)] = _category_column(names[j], categories, first, dtype)
        first += categories.n_features
    return [columns[j] for j in range(len(names))]


def _category_column(name, categories, first, dtype):
    places = {category: max(feature, NONE) for category, feature in categories.feature.items()
              if category not in categories.few}
    missing_place = places.pop(None, UNKNOWN)
    for category in places.keys() & {np.inf, -np.inf}:
        raise ValueError(
            f"model has the category {category!r} of column {name!r}, which has no place in other "
            "programs: convert the column to strings, and train again")
    few = tuple(category for category in categories.few if category is not None)
    return CategoryColumn(name, first, places, missing_place,
                          [float(dtype(value)) for value in categories.fill], few)
