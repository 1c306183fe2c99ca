"""The encoding of a table: one-hot categories, and missing numbers with a value and an indicator."""

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import _check_y, validate_data

from ngdt._scaling import power_of_two
from ngdt._table.columns import ArrayColumns, as_columns
from ngdt._validation import CHECK_X_PARAMS, canonical_csr

# Least number of samples, and largest number per column, of categories with a feature of their own.
_MIN_SAMPLES, _MAX_CATEGORIES = 5, 256
# Share of the memory of a dense table below which a table with categories is stored as CSR.
_SPARSE_SHARE = 0.1


class RawTable(NamedTuple):
    """The values of a table, before they are encoded.

    Attributes
    ----------
    numbers : ndarray or CSR matrix of shape (n_samples, n_numbers)
        float32 or float64, with NaN where a value is missing.
    categories : ndarray of object, shape (n_samples, n_categorical)
        With None where a value is missing.
    """

    numbers: Any
    categories: np.ndarray


class Feature(NamedTuple):
    """What a feature of the encoded table means.

    Attributes
    ----------
    column : int
        Column of the table.
    kind : {"number", "missing", "category"}
        The number itself; 1 where it is missing; or 1 for samples of some categories.
    categories : tuple
        Of kind "category": those that the feature stands for; None is the missing one. Unknown ones
        count as rare, if there are rare ones, which share a feature.
    """

    column: int
    kind: str
    categories: tuple = ()


@dataclass(frozen=True)
class Table:
    """The encoding of a table. The features are numbers, indicators of gaps, then categories.

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
        The columns of each kind.
    fill : ndarray of shape (n_numeric,)
        Value of a missing number; NaN until it is known.
    gaps : ndarray of int
        Positions in `numeric` of the columns that had missing numbers in training.
    encoder : OneHotEncoder or None
    is_sparse : bool
        Whether the encoded table is a CSR matrix.
    """

    names: tuple
    numeric: np.ndarray
    categorical: np.ndarray
    fill: np.ndarray
    gaps: np.ndarray
    encoder: OneHotEncoder | None
    is_sparse: bool

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
        encoder = None
        if len(categorical):
            _check_categories(raw.categories, names, categorical)
            encoder = OneHotEncoder(
                handle_unknown="infrequent_if_exist", min_frequency=_MIN_SAMPLES,
                max_categories=_MAX_CATEGORIES, dtype=raw.numbers.dtype)
            encoder.fit(raw.categories[sample_weight > 0])
        table = cls(tuple(names), numeric, categorical, fill, gaps, encoder,
                    sparse.issparse(raw.numbers))
        return replace(table, is_sparse=table.is_sparse or table._is_smaller_sparse())

    @property
    def is_identity(self):
        """Whether a table without missing values is its own encoding."""
        return len(self.gaps) == 0 and self.encoder is None

    @property
    def features(self):
        """What each feature of the encoded table means, list of Feature."""
        found = [Feature(int(j), "number") for j in self.numeric]
        found += [Feature(int(j), "missing") for j in self.numeric[self.gaps]]
        if self.encoder is not None:
            for j, known, rare in zip(
                    self.categorical, self.encoder.categories_,
                    self.encoder.infrequent_categories_, strict=True):
                rare = () if rare is None else tuple(rare)
                found += [Feature(int(j), "category", (each,)) for each in known
                          if each not in rare]
                found += [Feature(int(j), "category", rare)] * bool(rare)
        return found

    def read(self, estimator, X):
        """The values of a table for prediction: `check_table` with the columns seen in training."""
        return check_table(estimator, X, self.categorical, reset=False)[0]

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
        parts = [numbers]
        if len(self.gaps):
            indicators = sparse.csc_array(numbers.shape) if is_gap is None else is_gap
            parts.append(indicators[:, self.gaps].astype(numbers.dtype))
        if self.encoder is not None:
            parts.append(self.encoder.transform(raw.categories).astype(numbers.dtype))
        if self.is_sparse:
            return canonical_csr(sparse.hstack(parts, format="csr"))
        return np.hstack([part.toarray() if sparse.issparse(part) else part for part in parts])

    def _fill(self, numbers):
        """The numbers with values for gaps, and where the gaps are; None if there are none."""
        values = numbers.data if sparse.issparse(numbers) else numbers
        if not _has_nonfinite(values):
            return numbers, None
        self._check_no_infinity(numbers, values)
        is_gap = np.isnan(values)
        if not is_gap.any():
            return numbers, None
        if not sparse.issparse(numbers):
            filled = np.where(is_gap, self.fill, numbers)
            return filled.astype(numbers.dtype, copy=False), is_gap
        filled = numbers.copy()
        filled.data[is_gap] = self.fill[numbers.indices[is_gap]]
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
                f"{name!r}")

    def sum_by_column(self, values):
        """Sums of values of the encoded features for each column of the table."""
        columns = [feature.column for feature in self.features]
        return np.bincount(columns, weights=values, minlength=len(self.names))

    def with_means(self, mean):
        """The encoding with the means of the training samples as values of missing numbers.

        Parameters
        ----------
        mean : ndarray of shape (n_features,)
            Means of the encoded features.
        """
        known = mean[:len(self.fill)]
        return replace(self, fill=np.where(np.isnan(self.fill), known, self.fill))

    def _is_smaller_sparse(self):
        """Whether a table with categories takes far less memory as a CSR matrix."""
        n_features = len(self.features)
        n_stored = len(self.numeric) + len(self.categorical)
        return 1.5 * n_stored < _SPARSE_SHARE * n_features


def check_table(estimator, X, categorical_features, *, reset):
    """Check a table and read its values.

    Parameters
    ----------
    estimator : ObliqueTreeClassifier or ObliqueTreeRegressor
        Gets `n_features_in_` and `feature_names_in_`, or compares X with them.
    X : array-like, data frame or sparse matrix of shape (n_samples, n_columns)
    categorical_features : "from_dtype", None, or array-like of bool, int or str
    reset : bool
        Whether X is for training.

    Returns
    -------
    raw : RawTable
        Its numbers may be infinite; `Table.transform` refuses those.
    names : list of str
        Names of the columns.
    categorical : ndarray of int
        Columns of categories.
    """
    columns = as_columns(X)
    if columns is not None:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    categorical = _categorical_columns(X, columns, categorical_features)
    if columns is None:
        X = validate_data(
            estimator, X, reset=reset, ensure_all_finite=False,
            **{**CHECK_X_PARAMS, "accept_sparse": "csr" if len(categorical) == 0 else False})
        if len(categorical) == 0:
            X = canonical_csr(X) if sparse.issparse(X) else X
            return RawTable(X, None), [f"x{j}" for j in range(X.shape[1])], categorical
        columns = ArrayColumns(X)
    elif not columns.n_samples or not columns.n_columns:
        raise ValueError(
            f"Found array with {columns.n_samples} sample(s) and {columns.n_columns} feature(s) "
            f"while a minimum of 1 is required by {type(estimator).__name__}.")
    return _read(columns, categorical), columns.names, categorical


def check_targets(estimator, y, **check_params):
    """Check y as scikit-learn does; missing values are refused by name.

    Parameters
    ----------
    estimator : ObliqueTreeClassifier or ObliqueTreeRegressor
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
    **check_params : dict
        For `sklearn.utils.check_X_y`.
    """
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y "
            "is None.")
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        has_gap = bool(series.is_null().any())
    else:
        has_gap = getattr(y, "dtype", None) == object and any(
            value is None for value in np.ravel(y))
    if has_gap:
        raise ValueError(
            "y contains missing values: leave those samples out, or give them a label")
    return _check_y(y, estimator=estimator, **check_params)


def _categorical_columns(X, columns, given):
    """Indices of the columns of categories."""
    if given is None:
        given = []
    if isinstance(given, str):
        if given != "from_dtype":
            raise ValueError(
                "categorical_features must be 'from_dtype', None, or an array of column names, "
                f"indices or a mask, got {given!r}")
        if columns is None:
            return np.empty(0, dtype=np.intp)
        return np.flatnonzero([columns.is_categorical(j) for j in range(columns.n_columns)])
    given = np.asarray(given)
    if given.size == 0:
        return np.empty(0, dtype=np.intp)
    n_columns = np.shape(X)[1] if columns is None else columns.n_columns
    if sparse.issparse(X):
        raise TypeError("categorical_features needs a dense table, but X is sparse")
    if given.dtype.kind in "OU":
        names = [] if columns is None else columns.names
        unknown = [str(name) for name in given if name not in names]
        if unknown:
            raise ValueError(f"categorical_features names the columns {unknown}, which X lacks")
        return np.sort([names.index(name) for name in given])
    if given.dtype.kind == "b" and given.shape == (n_columns,):
        return np.flatnonzero(given)
    if given.dtype.kind in "iu" and given.ndim == 1 and (
            given.min() >= 0 and given.max() < n_columns):
        return np.unique(given)
    raise ValueError(
        f"categorical_features must be names, indices below {n_columns}, or a mask of "
        f"{n_columns} columns, got {given!r}")


def _read(columns, categorical):
    """The values of a table that is given by columns."""
    n = columns.n_samples
    numeric = np.setdiff1d(np.arange(columns.n_columns), categorical)
    # Indicators fit float32, so that it is the type of a table without numbers.
    is_float32 = all(columns.is_float32(j) for j in numeric)
    numbers = np.empty((n, len(numeric)), dtype=np.float32 if is_float32 else np.float64)
    for k, j in enumerate(numeric):
        numbers[:, k] = columns.numbers(j)
    categories = np.empty((n, len(categorical)), dtype=object)
    for k, j in enumerate(categorical):
        categories[:, k] = columns.categories(j)
    return RawTable(numbers, categories)


def _check_categories(categories, names, categorical):
    """Raise a TypeError if the categories of a column are of several types."""
    for column, j in zip(categories.T, categorical, strict=True):
        present = [value for value in column if value is not None]
        if not (all(isinstance(value, str) for value in present)
                or all(isinstance(value, Real | np.bool_) for value in present)):
            raise TypeError(
                f"X: the categories of column {names[j]!r} are of several types. Convert them all "
                "to strings")


def _has_nonfinite(values):
    """Whether some values may be NaN or infinite; a finite sum tells that none is."""
    with np.errstate(over="ignore", invalid="ignore"):
        return not np.isfinite(values.sum())


def _columns_with_gaps(numbers, present):
    """Columns with missing numbers among the samples that are present."""
    values = numbers.data if sparse.issparse(numbers) else numbers
    if not _has_nonfinite(values):
        return np.empty(0, dtype=np.intp)
    if sparse.issparse(numbers):
        is_gap = np.isnan(values) & np.repeat(present, np.diff(numbers.indptr))
        return np.unique(numbers.indices[is_gap])
    return np.flatnonzero(np.isnan(numbers[present]).any(axis=0))


def _mean(values, sample_weight):
    """Weighted mean of the numbers that are not missing; 0 if all are."""
    present = ~np.isnan(values) & (sample_weight > 0)
    if not present.any():
        return 0.0
    values, weight = values[present].astype(np.float64), sample_weight[present]
    unit = power_of_two(np.abs(values).max())
    return float(unit * np.average(values / unit, weights=weight / weight.max()))
