"""Encoding of a table: one-hot categories, values and indicators of missing numbers."""

from dataclasses import dataclass, replace
from itertools import compress
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ngdt._encoding.categories import (
    MIN_SAMPLES,
    Categories,
    TargetTest,
    category_text,
    plain_text,
)
from ngdt._util.arrays import as_dense, power_of_two, row_blocks
from ngdt._util.numbers import percent
from ngdt._util.validation import canonical_csr, stored_per_sample, warn

# Memory of a dense encoded table, in bytes, above which it is a CSR matrix if that is smaller. Soft
# training on CSR matrices takes ten times as long.
_MAX_DENSE_BYTES = 2**28
# Share of unknown values in a column above which there is a warning.
_UNKNOWN_SHARE = 0.05
# Number of columns that an error names.
_MAX_NAMES = 5
# Number of values that are looked at together.
_BLOCK_VALUES = 2**18


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
    others : tuple
        Of the only feature of two groups of categories: the group for which it is 0.
    fill : float
        Value for unknown categories.
    """

    column: int
    kind: str
    categories: tuple = ()
    others: tuple = ()
    fill: float = 0.0

    @property
    def category(self):
        """The category as it is written, "missing" or "rare"."""
        return _group_text(self.categories)

    @property
    def other(self):
        """The category of which the feature is 0, if it is the only one; else None."""
        return _group_text(self.others) if self.others else None

    def name(self, column, write=category_text):
        """Name of the feature.

        Parameters
        ----------
        column : str
            Name of the column.
        write : callable, default=category_text
            Writes a category.

        Returns
        -------
        str
        """
        return column if self.kind == "number" else _statement(
            column, _group_text(self.categories, write))

    def other_name(self, column):
        """Name of a column where the feature is 0 because it has the only other category."""
        return _statement(column, self.other)


def _group_text(categories, write=category_text):
    """A group of categories as it is written: the only one, "missing" or "rare"."""
    if categories in ((), (None,)):
        return "missing"
    return "rare" if len(categories) > 1 else write(*categories)


def _statement(column, category):
    """Text that says which category a column has."""
    return f"{column} {'is' if category in ('missing', 'rare') else '='} {category}"


@dataclass(frozen=True, eq=False)
class Table:
    """Encoding of a table. The features are numbers, indicators of gaps, then categories.

    A missing number becomes the mean of the training samples. If it was missing in some of them, an
    indicator, which has a weight of its own in each split, lets the training choose another value.
    Each category becomes an indicator; rare categories of a column share one, and a missing value
    is a category of its own. Of two, the last has the only one. Gaps and rare categories have an
    indicator only if they tell something of the targets, as `TargetTest` decides. Categories that
    are unknown in training count as rare. If there are no rare ones, all indicators of the column
    become their means, as a number does.

    Attributes
    ----------
    names : tuple of str
        Names of the columns.
    numeric, categorical : ndarray of int
        Indices of the columns of numbers, and of the columns of categories.
    fill : ndarray of shape (n_numeric,)
        Value of a missing number, of each column; NaN until it is known.
    gaps : ndarray of int
        Positions in `numeric` of the columns with an indicator of missing numbers.
    categories : tuple of Categories
        One for each of the columns `categorical`.
    is_sparse : bool
        Whether the encoded table is a CSR matrix.
    booleans : tuple of int
        Columns of numbers whose values are bools.
    whole : tuple of int
        Columns of numbers whose values are whole, where they are known.
    incomplete : tuple of int
        Columns of numbers that some training sample lacks.
    """

    names: tuple
    numeric: np.ndarray
    categorical: np.ndarray
    fill: np.ndarray
    gaps: np.ndarray
    categories: tuple
    is_sparse: bool
    booleans: tuple
    whole: tuple
    incomplete: tuple

    @classmethod
    def fit(cls, raw, names, categorical, targets, sample_weight):
        """Learn the encoding from training samples.

        Parameters
        ----------
        raw : RawTable
        names : list of str
        categorical : ndarray of int
            Columns of categories.
        targets : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Integers are indices of classes.
        sample_weight : ndarray of shape (n_samples,)
            Samples of weight zero are ignored.
        """
        numeric = np.delete(np.arange(len(names)), categorical)
        fill, gaps = np.full(len(numeric), np.nan), []
        present = sample_weight > 0
        deserves_feature = TargetTest(targets[present])
        incomplete = _incomplete_columns(raw.numbers, present)
        for k in incomplete:
            column = as_dense(raw.numbers[:, [k]])[:, 0]
            fill[k] = _mean(column, sample_weight)
            if deserves_feature(np.isnan(column[present])):
                gaps.append(k)
        categories = tuple(
            _fit_categories(values, deserves_feature, present, names[j])
            for values, j in zip(raw.categories, categorical, strict=True))
        _warn_of_constants([names[j] for j in categorical], categories, np.count_nonzero(present))
        table = cls(tuple(names), numeric, categorical, fill, np.array(gaps, dtype=np.intp),
                    categories,
                    sparse.issparse(raw.numbers), raw.booleans,
                    tuple(numeric[_whole_columns(raw.numbers, present)].tolist()),
                    tuple(numeric[incomplete].tolist()))
        return replace(table, is_sparse=table.is_sparse or table._is_better_sparse(raw))

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

    def gap_values(self, dtype):
        """Value of each feature where samples lack one; NaN if none does in training.

        Parameters
        ----------
        dtype : dtype
            Of the encoded table.

        Returns
        -------
        ndarray of shape (n_features,)
        """
        nan = float("nan")
        numbers = np.where(np.isin(self.numeric, self.incomplete), self.fill, nan)
        found = np.concatenate([numbers, np.full(len(self.gaps), nan), *(
            (nan,) * each.n_features if each.rare else each.fill
            for each in self.categories)])
        return _as_type(found, dtype)

    def name_of(self, feature):
        """Name of a feature of the encoded table."""
        return feature.name(self.names[feature.column], plain_text)

    @property
    def features(self):
        """Meaning of each feature of the encoded table, list of Feature."""
        found = [Feature(int(j), "number") for j in self.numeric]
        found += [Feature(int(j), "missing") for j in self.numeric[self.gaps]]
        for j, each in zip(self.categorical, self.categories, strict=True):
            groups, n_features = each.groups, each.n_features
            others = groups[0] if len(groups) > n_features else ()
            found += [Feature(int(j), "category", group, others, value) for group, value in zip(
                groups[-n_features:], each.fill, strict=True)]
        return found

    @property
    def column_of(self):
        """Column of each feature, ndarray of int."""
        return np.array([feature.column for feature in self.features], dtype=np.intp)

    def transform(self, raw, *, name="X"):
        """Encode the values of a table.

        Parameters
        ----------
        raw : RawTable
        name : str or None, default="X"
            Of the table, in a warning of columns with many unknown categories. None: there is none.

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
        found = self._encode(raw.categories, name)
        n_samples = numbers.shape[0]
        if self.is_sparse:
            indicators = [
                _as_csr(*each, categories.fill, n_samples, numbers.dtype)
                for each, categories in zip(found, self.categories, strict=True)]
            return canonical_csr(sparse.hstack([numbers, gaps, *indicators], format="csr"))
        first = numbers.shape[1] + gaps.shape[1]
        encoded = np.zeros(
            (n_samples, first + sum(each.n_features for each in self.categories)), numbers.dtype)
        encoded[:, :numbers.shape[1]] = as_dense(numbers)
        encoded[:, numbers.shape[1]:first] = as_dense(gaps)
        for (samples, features, filled), categories in zip(found, self.categories, strict=True):
            # One index for both axes takes half of the time.
            encoded.reshape(-1)[samples * encoded.shape[1] + first + features] = 1.0
            encoded[filled, first:first + categories.n_features] = categories.fill
            first += categories.n_features
        return encoded

    def _encode(self, columns, name):
        """Results of `Categories.encode` for each column, without the mask of unknown values."""
        found, unknown = [], []
        for j, values, categories in zip(
                self.categorical, columns, self.categories, strict=True):
            try:
                *entries, is_unknown = categories.encode(values)
            except TypeError as error:      # of a cell that cannot be looked up, such as a list
                raise TypeError(
                    f"X: column {self.names[j]!r} holds cells that are no categories ({error}). "
                    "Give it strings or numbers, as in training") from error
            found.append(entries)
            if np.count_nonzero(is_unknown) > _UNKNOWN_SHARE * len(values):
                known = next((each for each in categories.feature if each is not None), None)
                unknown.append(f"{percent(float(is_unknown.mean()))} of column {self.names[j]!r}, "
                               f"such as {values[is_unknown.argmax()]!r}, unlike {known!r} in "
                               "training")
        if unknown and name is not None:
            warn(
                f"{name}: values that did not occur in training: {'; '.join(unknown)}. All count "
                "as unknown categories: check their spelling and their type, or train with them")
        return found

    def _fill(self, numbers):
        """Fill the gaps; return the numbers, and a mask of the gaps or None if there are none."""
        values = numbers.data if sparse.issparse(numbers) else numbers
        if not _has_nonfinite(values):
            return numbers, None
        self._check_no_infinity(numbers, values)
        is_gap = np.isnan(values)
        if not is_gap.any():
            return numbers, None
        fill = _as_type(self.fill, values.dtype)
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
            names = [self.names[j] for j in self.numeric[np.unique(positions)]]
            more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
            raise ValueError(
                f"Input X contains infinity or a value too large for {values.dtype!r}, in column"
                f"{'s' if len(names) > 1 else ''} {', '.join(map(repr, names[:_MAX_NAMES]))}{more}."
                " Replace it by NaN, a missing value, or by a number")

    @property
    def is_number(self):
        """Mask of the features that may have any value: not indicators, nor bools."""
        mask = np.zeros(len(self.features), dtype=bool)
        mask[:len(self.numeric)] = ~np.isin(self.numeric, self.booleans)
        return mask

    def nearest_row(self, sample):
        """The nearest encoded sample that has one category in each column, and no gaps.

        Parameters
        ----------
        sample : ndarray of shape (n_features,)

        Returns
        -------
        ndarray of shape (n_features,)
        """
        row, first = sample.copy(), len(self.numeric) + len(self.gaps)
        is_bool = np.isin(self.numeric, self.booleans)
        row[:len(self.numeric)][is_bool] = sample[:len(self.numeric)][is_bool] > 0.5
        row[len(self.numeric):first] = 0.0
        for each in self.categories:
            own = slice(first, first + each.n_features)
            rows = np.eye(len(each.groups))[:, -each.n_features:]
            if len(rows):
                row[own] = rows[((rows - row[own])**2).sum(axis=1).argmin()]
            first = own.stop
        return row

    def with_means(self, mean):
        """Copy of the encoding whose unknown values of missing numbers are the means in training.

        Parameters
        ----------
        mean : ndarray of shape (n_features,)
            Means of the encoded features.
        """
        known = mean[:len(self.fill)]
        return replace(self, fill=np.where(np.isnan(self.fill), known, self.fill))

    def with_samples(self, raw, sample_weight):
        """Copy of the encoding, for further training samples: it says what their numbers are like.

        Parameters
        ----------
        raw, sample_weight
            As for `fit`.
        """
        present = sample_weight > 0
        whole = self.numeric[_whole_columns(raw.numbers, present)].tolist()
        incomplete = self.numeric[_incomplete_columns(raw.numbers, present)].tolist()
        return replace(self, whole=tuple(sorted({*self.whole} & {*whole})),
                       incomplete=tuple(sorted({*self.incomplete} | {*incomplete})))

    def _is_better_sparse(self, raw):
        """Return whether the encoded table is large, and smaller as a CSR matrix."""
        n_samples, itemsize = len(raw.numbers), raw.numbers.dtype.itemsize
        dense = n_samples * itemsize * len(self.features)
        if dense <= _MAX_DENSE_BYTES:
            return False
        n_stored = n_samples * len(self.numeric) + sum(
            each.n_stored(values)
            for each, values in zip(self.categories, raw.categories, strict=True))
        return bool(dense > n_stored * (itemsize + 4))


def _as_csr(samples, features, filled, fill, n_samples, dtype):
    """The features of a column of categories, from what `Categories.encode` returns."""
    (of_filled,) = np.nonzero(fill)
    values = np.array(fill, dtype=dtype)[of_filled]
    return sparse.csr_array((
        np.append(np.ones(len(samples), dtype), np.tile(values, len(filled))),
        (np.append(samples, np.repeat(filled, len(values))),
         np.append(features, np.tile(of_filled, len(filled))))), (n_samples, len(fill)))


def _fit_categories(values, deserves_feature, present, name):
    """Learn the categories of a column from the samples that are present."""
    try:
        found = Categories.fit(
            values if present.all() else list(compress(values, present)), deserves_feature)
    except TypeError as error:
        raise TypeError(
            f"X: column {name!r} holds cells that are no categories ({error}). Convert them all to "
            f"strings, as X[{name!r}].astype(str) does, or all to numbers") from error
    return found


def _warn_of_constants(names, categories, n_samples):
    """Warn of columns of categories that are all rare."""
    # With fewer samples, two categories are always rare.
    rare = [name for name, found in zip(names, categories, strict=True)
            if not found.frequent and len(found.rare) > 1 and n_samples >= 2 * MIN_SAMPLES]
    if rare:
        warn(
            f"X: all categories of columns {rare} are rare, so that each column is one constant "
            "feature: drop them, put their values into groups or, if these are numbers or dates, "
            "convert them to numbers")


def _has_nonfinite(values):
    """Return whether some values may be NaN or infinite; if the sum is finite, none is."""
    with np.errstate(over="ignore", invalid="ignore"):
        return not np.isfinite(values.sum())


def _incomplete_columns(numbers, present):
    """Columns of numbers that are missing in some of the samples that are present."""
    values = numbers.data if sparse.issparse(numbers) else numbers
    if not _has_nonfinite(values):
        return np.empty(0, dtype=np.intp)
    if sparse.issparse(numbers):
        is_gap = np.isnan(values) & np.repeat(present, stored_per_sample(numbers))
        return np.unique(numbers.indices[is_gap])
    return np.flatnonzero(np.isnan(numbers[present]).any(axis=0))


def _whole_columns(numbers, present):
    """Columns whose numbers are whole, or missing, in the samples that are present."""
    if sparse.issparse(numbers):
        is_split = _is_split(numbers.data) & np.repeat(present, stored_per_sample(numbers))
        return np.setdiff1d(np.arange(numbers.shape[1]), numbers.indices[is_split])
    columns = np.arange(numbers.shape[1])      # few are left after the first rows of most tables
    for rows in row_blocks((len(numbers), len(columns)), _BLOCK_VALUES):
        block = numbers[rows] if len(columns) == numbers.shape[1] else numbers[rows, columns]
        is_split = _is_split(block) & present[rows, None]
        columns = columns[~is_split.any(axis=0)]
    return columns


def _is_split(values):
    """Return whether numbers have digits after the point; infinity and NaN have none."""
    return (np.floor(values) != values) & ~np.isnan(values)


def _as_type(means, dtype):
    """Means of float64 in the type of the data, for which they may be too large."""
    largest = np.finfo(dtype).max
    return np.clip(means, -largest, largest).astype(dtype)


def _mean(values, sample_weight):
    """Weighted mean of the numbers that are not missing; 0 if all are missing."""
    present = ~np.isnan(values) & (sample_weight > 0)
    if not present.any():
        return 0.0
    values, weight = values[present].astype(np.float64), sample_weight[present]
    unit = power_of_two(np.abs(values).max())
    return float(unit * np.average(values / unit, weights=weight / weight.max()))
