"""Encoding of a table: one-hot categories, values and indicators of missing numbers."""

import warnings
from dataclasses import dataclass, replace
from itertools import compress
from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ngdt._core.scaling import power_of_two
from ngdt._encoding.categories import MIN_SAMPLES, Categories
from ngdt._encoding.columns import column_indices
from ngdt._util.numbers import format_number
from ngdt._util.validation import canonical_csr, stored_per_sample

# Memory of a dense encoded table, in bytes, above which it is a CSR matrix if that is smaller. Soft
# training on CSR matrices takes ten times as long.
_MAX_DENSE_BYTES = 2**28
# Number of categories that a warning names.
_MAX_SHOWN = 5


class Feature(NamedTuple):
    """Meaning of a feature of the encoded table.

    Attributes
    ----------
    column : int
        Column of the table.
    kind : {"number", "missing", "category"}
        The number itself, an indicator that it is missing, or an indicator of some categories.
    categories : tuple
        Of kind "category": the categories that the feature indicates; None is the missing one.
        Unknown categories count as rare, if there are rare ones, which share a feature.
    """

    column: int
    kind: str
    categories: tuple = ()

    @property
    def category(self):
        """Name of the category, "missing" or "rare"."""
        if self.categories in ((), (None,)):
            return "missing"
        if len(self.categories) > 1:
            return "rare"
        (value,) = self.categories
        return format_number(value) if isinstance(value, Real) else str(value)


@dataclass(frozen=True, eq=False)
class Table:
    """Encoding of a table. The features are numbers, indicators of gaps, then categories.

    A missing number becomes the mean of the training samples. If it was missing in training, an
    indicator, which has a weight of its own in each split, lets the training choose another value.
    Each category becomes an indicator; rare categories of a column share one, and a missing value
    is a category of its own. Categories that are unknown in training count as rare. If there are no
    rare ones, all indicators of the column are 0.

    Attributes
    ----------
    names : tuple of str
        Names of the columns.
    numeric, categorical : ndarray of int
        Indices of the columns of numbers, and of the columns of categories.
    fill : ndarray of shape (n_numeric,)
        Value of a missing number, of each column; NaN until it is known.
    gaps : ndarray of int
        Positions in `numeric` of the columns that had missing numbers in training.
    categories : tuple of Categories
        One for each of the columns `categorical`.
    is_sparse : bool
        Whether the encoded table is a CSR matrix.
    booleans : tuple of int
        Columns of numbers whose values are bools.
    """

    names: tuple
    numeric: np.ndarray
    categorical: np.ndarray
    fill: np.ndarray
    gaps: np.ndarray
    categories: tuple
    is_sparse: bool
    booleans: tuple = ()

    @classmethod
    def fit(cls, raw, names, categorical, sample_weight):
        """Learn the encoding from training samples.

        Parameters
        ----------
        raw : RawTable
        names : list of str
        categorical : ndarray of int
            Columns of categories.
        sample_weight : ndarray of shape (n_samples,)
            Samples of weight zero are ignored.
        """
        numeric = np.setdiff1d(np.arange(len(names)), categorical)
        fill = np.full(len(numeric), np.nan)
        gaps = _columns_with_gaps(raw.numbers, sample_weight > 0)
        for k in gaps:
            column = raw.numbers[:, [k]].toarray()[:, 0] if sparse.issparse(raw.numbers) else (
                raw.numbers[:, k])
            fill[k] = _mean(column, sample_weight)
        categories = tuple(
            _fit_categories(values, sample_weight > 0, names[j])
            for values, j in zip(raw.categories, categorical, strict=True))
        table = cls(tuple(names), numeric, categorical, fill, gaps, categories,
                    sparse.issparse(raw.numbers), raw.booleans)
        return replace(table, is_sparse=table.is_sparse or table._is_better_sparse(raw.numbers))

    @property
    def is_identity(self):
        """Return whether a table without missing values is its own encoding."""
        return len(self.gaps) == 0 and not self.categories

    @property
    def feature_names(self):
        """Names of the features of the encoded table, list of str."""
        if self.is_identity:
            return list(self.names)
        return [self.name_of(feature) for feature in self.features]

    def name_of(self, feature):
        """Name of a feature of the encoded table.

        Parameters
        ----------
        feature : Feature
            One of `features`.

        Returns
        -------
        str
        """
        name = self.names[feature.column]
        if feature.kind == "number":
            return name
        category = feature.category
        return f"{name} {'is' if category in ('missing', 'rare') else '='} {category}"

    @property
    def features(self):
        """Meaning of each feature of the encoded table, list of Feature."""
        found = [Feature(int(j), "number") for j in self.numeric]
        found += [Feature(int(j), "missing") for j in self.numeric[self.gaps]]
        for j, each in zip(self.categorical, self.categories, strict=True):
            found += [Feature(int(j), "category", (value,)) for value in each.frequent]
            found += [Feature(int(j), "category", each.rare)] * bool(each.rare)
        return found

    def features_of(self, parameter, columns):
        """Indices of the features of some columns.

        Parameters
        ----------
        parameter : str
            The name of the parameter that gives the columns, for error messages.
        columns : array-like
            Names or indices of the columns, or a mask.

        Returns
        -------
        ndarray of int
        """
        columns = column_indices(parameter, columns, list(self.names))
        return np.flatnonzero(np.isin([each.column for each in self.features], columns))

    def transform(self, raw):
        """Encode the values of a table.

        Parameters
        ----------
        raw : RawTable

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, n_features)
            `raw.numbers` itself if there is nothing to encode.
        """
        numbers, is_gap = self._fill(raw.numbers)
        if self.is_identity:
            return numbers
        gaps = numbers[:, :0]
        if len(self.gaps):
            is_gap = sparse.csc_array(numbers.shape) if is_gap is None else is_gap
            gaps = is_gap[:, self.gaps].astype(numbers.dtype)
        samples, features = self._indicators(raw.categories)
        shape = numbers.shape[0], sum(each.n_features for each in self.categories)
        if self.is_sparse:
            ones = np.ones(len(samples), dtype=numbers.dtype)
            indicators = sparse.csr_array((ones, (samples, features)), shape)
            return canonical_csr(sparse.hstack([numbers, gaps, indicators], format="csr"))
        before = numbers.shape[1] + gaps.shape[1]
        encoded = np.zeros((shape[0], before + shape[1]), dtype=numbers.dtype)
        encoded[:, :numbers.shape[1]] = numbers.toarray() if sparse.issparse(numbers) else numbers
        encoded[:, numbers.shape[1]:before] = gaps.toarray() if sparse.issparse(gaps) else gaps
        encoded[samples, before + features] = 1.0
        return encoded

    def _indicators(self, columns):
        """Rows and columns of the ones in the matrix of the indicators of categories."""
        samples, features, first = [np.empty(0, np.intp)], [np.empty(0, np.intp)], 0
        for j, values, categories in zip(
                self.categorical, columns, self.categories, strict=True):
            if categories.are_foreign(values):
                _warn_of_foreign(self.names[j], values, categories)
            feature = categories.features_of(values)
            present = np.flatnonzero(feature >= 0)
            samples.append(present)
            features.append(first + feature[present])
            first += categories.n_features
        return np.concatenate(samples), np.concatenate(features)

    def _fill(self, numbers):
        """Fill the gaps; return the numbers, and a mask of the gaps or None if there are none."""
        values = numbers.data if sparse.issparse(numbers) else numbers
        if not _has_nonfinite(values):
            return numbers, None
        self._check_no_infinity(numbers, values)
        is_gap = np.isnan(values)
        if not is_gap.any():
            return numbers, None
        # The means of float64 may be too large for float32.
        largest = np.finfo(values.dtype).max
        fill = np.clip(self.fill, -largest, largest).astype(values.dtype)
        if not sparse.issparse(numbers):
            return np.where(is_gap, fill, numbers), is_gap
        filled = numbers.copy()
        filled.data[is_gap] = fill[numbers.indices[is_gap]]
        return filled, sparse.csr_array(
            (is_gap.astype(numbers.dtype), numbers.indices, numbers.indptr), numbers.shape).tocsc()

    def _check_no_infinity(self, numbers, values):
        infinite = np.isinf(values)
        if infinite.any():
            positions = numbers.indices[infinite] if sparse.issparse(numbers) else (
                np.flatnonzero(infinite.any(axis=0)))
            name = self.names[self.numeric[positions[0]]]
            raise ValueError(
                f"Input X contains infinity or a value too large for {values.dtype!r}, in column "
                f"{name!r}. Replace it by NaN, a missing value, or by a number")

    def with_means(self, mean):
        """Copy of the encoding whose unknown values of missing numbers are the means in training.

        Parameters
        ----------
        mean : ndarray of shape (n_features,)
            Means of the encoded features.
        """
        known = mean[:len(self.fill)]
        return replace(self, fill=np.where(np.isnan(self.fill), known, self.fill))

    def _is_better_sparse(self, numbers):
        """Return whether the encoded table is large, and smaller as a CSR matrix."""
        n_samples, itemsize = len(numbers), numbers.dtype.itemsize
        dense = n_samples * itemsize * len(self.features)
        stored = n_samples * (itemsize + 4) * (len(self.numeric) + len(self.categorical))
        return dense > max(_MAX_DENSE_BYTES, stored)


def _fit_categories(values, present, name):
    """Learn the categories of a column from the samples that are present."""
    try:
        found = Categories.fit(values if present.all() else list(compress(values, present)))
    except TypeError as error:
        raise TypeError(
            f"X: the categories of column {name!r} are of several types, or neither strings nor "
            "numbers. Convert them all to strings") from error
    # With fewer samples, two categories are always rare.
    if not found.frequent and len(found.rare) > 1 and np.count_nonzero(present) >= 2 * MIN_SAMPLES:
        warnings.warn(
            f"X: all {len(found.rare)} categories of column {name!r} are rare and share one "
            "feature, which is constant: drop the column, or put its values into groups",
            stacklevel=2)
    return found


def _warn_of_foreign(name, values, categories):
    """Warn that no value of a column is known from training."""
    known = [*categories.frequent, *categories.rare]
    expected = ", ".join(map(repr, known[:_MAX_SHOWN])) + ", ..." * (len(known) > _MAX_SHOWN)
    warnings.warn(
        f"X: no value of column {name!r} occurred in training: it has values such as "
        f"{values[0]!r}, where {expected} were expected. All count as unknown categories",
        stacklevel=2)


def _has_nonfinite(values):
    """Return whether some values may be NaN or infinite; if the sum is finite, none is."""
    with np.errstate(over="ignore", invalid="ignore"):
        return not np.isfinite(values.sum())


def _columns_with_gaps(numbers, present):
    """Columns with missing numbers among the samples that are present."""
    values = numbers.data if sparse.issparse(numbers) else numbers
    if not _has_nonfinite(values):
        return np.empty(0, dtype=np.intp)
    if sparse.issparse(numbers):
        is_gap = np.isnan(values) & np.repeat(present, stored_per_sample(numbers))
        return np.unique(numbers.indices[is_gap])
    return np.flatnonzero(np.isnan(numbers[present]).any(axis=0))


def _mean(values, sample_weight):
    """Weighted mean of the numbers that are not missing; 0 if all are missing."""
    present = ~np.isnan(values) & (sample_weight > 0)
    if not present.any():
        return 0.0
    values, weight = values[present].astype(np.float64), sample_weight[present]
    unit = power_of_two(np.abs(values).max())
    return float(unit * np.average(values / unit, weights=weight / weight.max()))
