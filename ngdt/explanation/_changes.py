"""Changes of a sample that lead to another prediction: what they change, and how far."""

from dataclasses import dataclass

import numpy as np

from ngdt._encoding.categories import category_text
from ngdt._encoding.columns import column_indices
from ngdt._inspection.rules import one_line
from ngdt._util.numbers import (
    format_number,
    format_value,
    format_within,
    shortest,
    whole_digits,
)
from ngdt._util.validation import check_counts
from ngdt.explanation._context import DIGITS, Prediction, deviations

# By how much a new value may be rounded, in standard deviations.
MAX_ROUNDING = 0.2


class _Unnamed(str):
    """A stand-in for one of several rare categories, or for an unknown one."""


@dataclass(frozen=True, eq=False, repr=False)
class Change:
    """New values for some columns of a sample, and the prediction that they lead to.

    Attributes
    ----------
    values : dict
        The new value of each column that changes, by its name; the largest change first.
    before : dict
        The values in the sample; None for a missing one.
    distance : float
        Length of the change, in standard deviations of the training samples. NaN where a category
        changes, or a missing value is filled in.
    prediction : Prediction
        For the changed sample.
    sample : ndarray of shape (n_features,)
        The changed sample, encoded as the tree reads it.
    texts : dict
        The new values as written, with few digits. A number that changes alone leads to
        the goal as written; if several change, they are rounded away from the sample.
    """

    values: dict
    before: dict
    distance: float
    prediction: Prediction
    sample: np.ndarray
    texts: dict

    def text(self, n_terms=3):
        """The change in a line.

        Parameters
        ----------
        n_terms : int or None, default=3
            Number of columns to write. None writes all.

        Returns
        -------
        str
        """
        check_counts(n_terms=n_terms)
        parts = [f"{one_line(name)} {self._before(name)} to {text}"
                 for name, text in [*self.texts.items()][:n_terms]]
        if n_terms is not None and len(self.texts) > n_terms:
            parts.append(f"{len(self.texts) - n_terms} more")
        far = "" if np.isnan(self.distance) else f" ({deviations(self.distance)})"
        return f"{', '.join(parts)}{far}: {self.prediction}"

    def _before(self, name):
        before = self.before[name]
        return str(before) if isinstance(before, _Unnamed) else _written(before, self.texts[name])

    def __str__(self):
        return self.text(None)

    def __repr__(self):
        return f"<Change: {self}>"


def _written(value, other=None):
    """A value, a number with so many digits that these tell how far another text is."""
    if value is None:
        return "missing"
    if not isinstance(value, float):
        return category_text(value)
    if other is None:
        return format_value(value)
    return format_within(
        value, whole_digits(value, decimals=1), abs(value - float(other)) / 4 or np.inf)


class Columns:
    """The columns of a sample, and the features that they are encoded as.

    Parameters
    ----------
    context : Context
    row : Row
        The sample.
    fixed : array-like
        Names or indices of the columns that may not change, or a mask.
    """

    def __init__(self, context, row, fixed):
        names = context.captions.column_names
        self.context, self.row, self._is_free = context, row, context.is_used.copy()
        self._is_free[column_indices("fixed", fixed, names)] = False

    def name_of(self, feature):
        """Name of the column of a feature."""
        return self.context.captions.column_names[self.context.features[feature].column]

    def numbers(self):
        """Features that are numbers of free columns, and whether each is missing.

        Those with two values in the training samples are left out.
        """
        free = self._of_kind("number")
        free = free[~self.context.is_binary[free]]
        return free, np.array([self._is_gap(j) for j in free], dtype=bool)

    def _of_kind(self, kind):
        """Features of this kind of the free columns."""
        return np.array([j for j, feature in enumerate(self.context.features)
                         if feature.kind == kind and self._is_free[feature.column]], dtype=int)

    def _is_gap(self, feature):
        return self.context.features[feature].column in self.row.gaps

    def filled(self, feature):
        """The sample with the mean in place of a missing number."""
        column, x = self.context.features[feature].column, self.row.x.copy()
        x[[each[:2] == (column, "missing") for each in self.context.features]] = 0.0
        return x

    def with_other_values(self):
        """Samples in which one free column has another category, or the other one of two numbers.

        Yields
        ------
        column : int
        before, value : object
            What the sample has, None for a missing value, and the new value.
        sample : ndarray of shape (n_features,)
        """
        yield from self._with_other_categories()
        context, numbers = self.context, self._of_kind("number")
        for j in numbers[context.is_binary[numbers]]:
            is_gap = self._is_gap(j)
            start = self.filled(j) if is_gap else self.row.x
            for value in (context.low[j], context.high[j]):
                if is_gap or value != start[j]:
                    sample = start.copy()
                    sample[j] = value
                    read = bool if j in context.captions.booleans else float
                    before = None if is_gap else read(start[j])
                    yield context.features[j].column, before, read(value), sample

    def _with_other_categories(self):
        features, of_column = self.context.features, {}
        for j in self._of_kind("category"):
            of_column.setdefault(features[j].column, []).append(j)
        for column, indicators in of_column.items():
            is_gap, samples = column in self.row.gaps, []
            before = None if is_gap else _Unnamed("unknown")
            for j in indicators:
                for group, number in ((features[j].categories, 1.0), (features[j].others, 0.0)):
                    if self.row.x[j] == number and group:
                        if not is_gap:      # which may be one of the rare categories
                            before = group[0] if len(group) == 1 else _Unnamed("rare")
                    elif group and group[0] is not None:
                        sample = self.row.x.copy()
                        sample[indicators] = 0.0
                        sample[j] = number
                        samples.append((group[0], sample))
            for value, sample in samples:
                yield column, before, value, sample


def changes_of_one_column(columns, predict, nearest_on_axes):
    """The smallest change of each single column that meets a goal.

    Parameters
    ----------
    columns : Columns
    predict : callable
        Takes an encoded sample, and returns its prediction, and whether that meets the goal.
    nearest_on_axes : callable
        As `Regions.nearest_on_axes`.

    Returns
    -------
    list of Change
        The smallest first; those of categories and missing numbers last.
    """
    numbers, is_gap = columns.numbers()
    found = [
        _change_of_number(columns, predict, columns.row.x, feature, value)
        for feature, value in nearest_on_axes(columns.row.x, numbers[~is_gap]).items()]
    found.sort(key=lambda change: change.distance)
    for feature in numbers[is_gap]:
        start = columns.filled(feature)
        found += [
            _change_of_number(columns, predict, start, feature, value, is_gap=True)
            for value in nearest_on_axes(start, np.array([feature])).values()]
    for column, before, value, sample in columns.with_other_values():
        prediction, is_met = predict(sample)
        if is_met:
            name = columns.context.captions.column_names[column]
            found.append(Change({name: value}, {name: before}, np.nan, prediction, sample,
                                {name: _written(value)}))
    return found


def _change_of_number(columns, predict, start, feature, value, is_gap=False):
    sample, most = start.copy(), MAX_ROUNDING * columns.context.std[feature]

    def fits(number):
        sample[feature] = number
        return abs(number - value) <= most and predict(sample)[1]

    name = columns.name_of(feature)
    text = format_number(shortest(value, whole_digits(value, DIGITS), fits))
    sample[feature] = value
    distance = np.nan if is_gap else _lengths(columns, sample)[feature]
    return Change({name: value}, {name: None if is_gap else float(start[feature])},
                  float(distance), predict(sample)[0], sample, {name: text})


def change_of_all_numbers(columns, predict, nearest):
    """The smallest change of all free numbers together that meets a goal.

    Parameters
    ----------
    columns : Columns
    predict : callable
        As for `changes_of_one_column`.
    nearest : callable
        As `Regions.nearest`.

    Returns
    -------
    Change or None
    """
    numbers, is_gap = columns.numbers()
    scale = np.zeros(len(columns.row.x))
    free = numbers[~is_gap]
    scale[free] = columns.context.std[free]
    sample, distance = nearest(columns.row.x, scale)
    if sample is None:
        return None
    lengths = _lengths(columns, sample)
    moved = [j for j in np.argsort(-lengths, kind="stable").tolist() if lengths[j] > 0]
    values = {columns.name_of(j): float(sample[j]) for j in moved}
    before = {columns.name_of(j): float(columns.row.x[j]) for j in moved}
    return Change(
        values, before, distance, predict(sample)[0], sample,
        {name: _rounded_away(value, before[name]) for name, value in values.items()})


def _rounded_away(value, before):
    """A number with few digits, not nearer to the one before: at one boundary, it is beyond."""
    return format_number(shortest(
        value, whole_digits(value, DIGITS),
        lambda number: abs(number - before) >= abs(value - before)))


def _lengths(columns, sample):
    """Change of each feature, in standard deviations; infinite for those that did not vary."""
    change, std = np.abs(sample - columns.row.x), columns.context.std
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(change == 0, 0.0, change / std)
