"""Changes of a sample that lead to another prediction: what they change, and how far."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ngdt._encoding.categories import category_text
from ngdt._encoding.columns import column_indices
from ngdt._util.numbers import format_number, shortest, whole_digits
from ngdt._util.text import one_line
from ngdt._util.validation import check_counts
from ngdt.explanation._axes import Box, nearest_on_axes
from ngdt.explanation._context import Prediction, beside, deviations

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
        if isinstance(before, float):
            return beside(before, float(self.texts[name]), decimals=1)
        is_named = before is not None and not isinstance(before, _Unnamed)
        return category_text(before) if is_named else str(before or "missing")

    def __str__(self):
        return self.text(None)

    def __repr__(self):
        return f"<Change: {self}>"


class Search:
    """Search for changes of a sample that lead to a goal.

    Parameters
    ----------
    explanation : Explanation
        Of the prediction for the sample.
    target, fixed, within_range
        As for `Explanation.changes_of_one_column`.

    Attributes
    ----------
    goal : ClassGoal, RangeGoal or LeafGoal
    box : Box
        The points that the sample may change to.
    """

    def __init__(self, explanation, target, fixed, within_range):
        self.goal, self._explanation = explanation._goal(target), explanation
        context = explanation._context
        self._context, self._row = context, explanation._row
        limits = (context.low, context.high) if within_range else (-np.inf, np.inf)
        self.box = Box(*limits, context.std, context.is_whole)
        fixed = column_indices("fixed", fixed, context.captions.column_names)
        self._free = context.used_columns.difference(fixed)

    def meets(self, points):
        """Return whether encoded samples meet the goal, bool of shape (n,)."""
        return self.goal.accepts(*self._explanation._outputs_of(np.ascontiguousarray(points)))

    def of_one_column(self):
        """The smallest change of each single column that meets the goal.

        Returns
        -------
        list of Change
            The smallest first; those of categories and missing numbers last.
        """
        numbers, is_gap = self._numbers()
        found = self._of_numbers(self._row.x, numbers[~is_gap])
        found.sort(key=lambda change: change.distance)
        for feature in numbers[is_gap]:
            found += self._of_numbers(self._filled(feature), np.array([feature]), is_gap=True)
        for feature, before, value, sample in self._with_other_values():
            prediction, is_met = self._predict(sample)
            if is_met:
                name = self._name_of(feature)
                found.append(Change({name: value}, {name: before}, np.nan, prediction, sample,
                                    {name: category_text(value)}))
        return found

    def of_all_numbers(self, nearest):
        """The smallest change of all free numbers together that meets the goal.

        Parameters
        ----------
        nearest : callable
            As `Regions.nearest`.

        Returns
        -------
        Change or None
        """
        numbers, is_gap = self._numbers()
        x, free = self._row.x, numbers[~is_gap]
        scale = np.zeros(len(x))
        scale[free] = self._context.std[free]
        sample, distance = nearest(x, scale)
        if sample is None:
            return None
        lengths = np.abs(sample - x)[free] / scale[free]
        moved = [j for j in free[np.argsort(-lengths, kind="stable")].tolist() if sample[j] != x[j]]
        if len(moved) == 1:
            return self._of_number(x, moved[0], float(sample[moved[0]]), is_gap=False)
        values = {self._name_of(j): float(sample[j]) for j in moved}
        before = {self._name_of(j): float(x[j]) for j in moved}
        return Change(
            values, before, distance, self._predict(sample)[0], sample,
            {name: _rounded_away(value, before[name]) for name, value in values.items()})

    def _of_numbers(self, start, features, is_gap=False):
        """The smallest change of each of some features from a sample, which may lack them."""
        nearest = nearest_on_axes(self._boundaries, self.meets, self.box, start, features)
        return [self._of_number(start, *each, is_gap) for each in nearest.items()]

    def _of_number(self, start, feature, value, is_gap):
        std = self._context.std[feature]

        def fits(number):
            return abs(number - value) <= MAX_ROUNDING * std and (
                self._predict(_changed(start, feature, number))[1])

        name, sample = self._name_of(feature), _changed(start, feature, value)
        text = format_number(shortest(value, whole_digits(value), fits))
        before, distance = (None, np.nan) if is_gap else (
            float(start[feature]), float(abs(value - start[feature]) / std))
        return Change({name: value}, {name: before}, distance, self._predict(sample)[0], sample,
                      {name: text})

    @cached_property
    def _boundaries(self):
        return self._explanation._boundaries(self.goal)

    def _predict(self, sample):
        """The prediction for an encoded sample, and whether that meets the goal."""
        leaf, outputs = self._explanation._outputs_of(sample[None])
        return self._context.prediction(outputs[0]), self.goal.accepts(leaf, outputs)[0]

    def _name_of(self, feature):
        """Name of the column of a feature."""
        return self._context.captions.column_names[self._context.features[feature].column]

    def _numbers(self, *, is_binary=False):
        """Features that are numbers of free columns, and whether each is missing.

        Either those with two values in the training samples, or the others.
        """
        numbers = self._of_kind("number")
        numbers = numbers[self._context.is_binary[numbers] == is_binary]
        gaps = [self._context.features[j].column in self._row.gaps for j in numbers]
        return numbers, np.array(gaps, dtype=bool)

    def _of_kind(self, kind):
        """Features of this kind of the free columns."""
        return np.array([j for j, feature in enumerate(self._context.features)
                         if feature.kind == kind and feature.column in self._free], dtype=int)

    def _filled(self, feature):
        """The sample with the mean in place of a missing number."""
        column = self._context.features[feature].column
        is_indicator = [each[:2] == (column, "missing") for each in self._context.features]
        return _changed(self._row.x, is_indicator, 0.0)

    def _with_other_values(self):
        """Samples in which one free column has another category, or the other one of two numbers.

        Yields
        ------
        feature : int
            One of the column.
        before, value : object
            What the sample has, None for a missing value, and the new value.
        sample : ndarray of shape (n_features,)
        """
        yield from self._with_other_categories()
        for j, is_gap in zip(*self._numbers(is_binary=True), strict=True):
            sample = self._filled(j) if is_gap else self._row.x
            read = bool if j in self._context.captions.booleans else float
            for value in (self._context.low[j], self._context.high[j]):
                if is_gap or value != sample[j]:
                    before = None if is_gap else read(sample[j])
                    yield j, before, read(value), _changed(sample, j, value)

    def _with_other_categories(self):
        features, of_column = self._context.features, {}
        for j in self._of_kind("category"):
            of_column.setdefault(features[j].column, []).append(j)
        for column, indicators in of_column.items():
            groups = [(j, group, number) for j in indicators for group, number in (
                (features[j].categories, 1.0), (features[j].others, 0.0))]
            own = [group for j, group, number in groups if group and self._row.x[j] == number]
            before = _Unnamed("rare" if own else "unknown")
            if column in self._row.gaps:
                before = None
            elif own and len(own[0]) == 1:
                before = own[0][0]
            for j, group, number in groups:
                if group and group not in own and group[0] is not None:
                    cleared = _changed(self._row.x, indicators, 0.0)
                    yield j, before, group[0], _changed(cleared, j, number)


def _changed(x, features, value):
    """A sample with another value of some features."""
    sample = x.copy()
    sample[features] = value
    return sample


def _rounded_away(value, before):
    """A number with few digits, not nearer to the one before: at one boundary, it is beyond."""
    # Their distances from the one before may be equal by rounding.
    side = np.sign(value - before)
    return format_number(shortest(
        value, whole_digits(value), lambda number: side * (number - value) >= 0))
