"""Reading of tables by columns: numbers as float arrays, categories as lists."""

from datetime import date, time, timedelta
from decimal import Decimal
from functools import cached_property
from numbers import Real

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from scipy import sparse

from ngdt._util.validation import TOO_LARGE, did_you_mean, error_prefix

_TYPES_OF_CATEGORIES = (nw.String, nw.Categorical, nw.Enum)
# Cells that are numbers. Databases return decimals, which are no Real of Python.
_NUMBERS = Real | Decimal | np.bool_
# Types of dates, times and differences of them.
TIMES = (date, time, timedelta, np.datetime64, np.timedelta64)


def as_columns(X):
    """Columns of a data frame or of a two-dimensional array of objects; else None.

    Parameters
    ----------
    X : object

    Returns
    -------
    FrameColumns, ArrayColumns or None
        None for an array of numbers, and for an object that is no table.
    """
    if sparse.issparse(X):
        return None
    if isinstance(X, np.ndarray):
        return ArrayColumns(X) if X.ndim == 2 and X.dtype.kind in "OUS" else None
    try:
        frame = nw.from_native(X, pass_through=True)
    except DuplicateError as error:
        raise ValueError(
            f"X has several columns of one name: rename them, or drop all but one. {error}"
        ) from error
    if isinstance(frame, nw.LazyFrame) and not hasattr(X, "__array__"):
        raise TypeError("X is a lazy frame, which has no values yet: pass X.collect()")
    return FrameColumns(frame) if isinstance(frame, nw.DataFrame) else None


class FrameColumns:
    """Columns of a data frame that narwhals reads, such as those of pandas and polars.

    Parameters
    ----------
    frame : narwhals DataFrame
    """

    def __init__(self, frame):
        self.names = [str(name) for name in frame.columns]
        self.n_samples, self.n_columns = frame.shape
        self._frame = frame

    @cached_property
    def _series(self):
        return list(self._frame.iter_columns())

    def numbers_at_once(self, columns):
        """Read several columns of numbers at once, which is faster than one by one.

        Parameters
        ----------
        columns : ndarray of int
            Ascending.

        Returns
        -------
        ndarray of float32 or float64, C-contiguous, shape (n_samples, len(columns)), or None
            None if the frame is not of pandas, or if a column has no numeric type of numpy.
        """
        if not self._frame.implementation.is_pandas():
            return None
        frame = self._frame.to_native()
        if len(columns) < self.n_columns:
            frame = frame.iloc[:, columns]
        types = set(frame.dtypes)
        if not all(isinstance(each, np.dtype) and each.kind in "fiub" for each in types):
            return None
        dtype = np.float32 if types <= {np.dtype(np.float32)} else np.float64
        numbers = np.ascontiguousarray(frame.to_numpy(dtype=dtype))
        # The encoded array may be written to, and the frame of the user must not change.
        return numbers if numbers.flags.owndata else numbers.copy()

    def is_categorical(self, j):
        """Return whether a column holds categories, by its type.

        Raises
        ------
        TypeError
            If the column holds neither numbers nor categories.
        """
        dtype = self._series[j].dtype
        if dtype.is_numeric() or dtype == nw.Boolean:
            return False
        if isinstance(dtype, _TYPES_OF_CATEGORIES):
            return True
        described = f" of type {getattr(self._series[j].to_native(), 'dtype', dtype)}"
        return _holds_strings(self.categories(j), self.names[j], described)

    def is_text(self, j):
        """Return whether a column holds strings, and not of a type that is made for categories."""
        return self._series[j].dtype in (nw.String, nw.Object)

    def is_float32(self, j):
        """Return whether a column has the type float32."""
        return self._series[j].dtype == nw.Float32

    def is_boolean(self, j):
        """Return whether a column holds bools, also as objects."""
        dtype = self._series[j].dtype
        if dtype != nw.Object:
            return dtype == nw.Boolean
        present = [value for value in self.categories(j) if not is_missing(value)]
        return bool(present) and all(isinstance(value, bool | np.bool_) for value in present)

    def numbers(self, j, advice):
        """Numbers of a column, with NaN for missing ones, shape (n_samples,).

        Parameters
        ----------
        j : int
        advice : str
            End of the message if it holds something else.
        """
        series = self._series[j]
        if series.dtype.is_float():
            return series.to_numpy()
        if series.dtype in (nw.Int64, nw.UInt64):   # pyarrow casts none beyond 2**53
            return series.to_numpy().astype(np.float64)
        # pyarrow rounds decimals twice: it multiplies them by a power of ten.
        if series.dtype != nw.Decimal and (
                series.dtype.is_numeric() or series.dtype == nw.Boolean):
            return series.cast(nw.Float64).to_numpy()
        return _as_numbers(self.categories(j), self.names[j], advice)

    def categories(self, j):
        """List of the values of a column; missing ones are None, NaN or pandas.NA."""
        return self._series[j].to_list()


class ArrayColumns:
    """Columns of a two-dimensional array.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_columns)
    """

    def __init__(self, X):
        self.n_samples, self.n_columns = X.shape
        self.names = [f"x{j}" for j in range(self.n_columns)]
        self._X = X

    def numbers_at_once(self, columns):
        """Return None: values may be of any type, so columns are read one by one."""
        return None

    def is_categorical(self, j):
        """Return False: the columns of categories of an array are named by the user."""
        return False

    def is_text(self, j):
        """Return False: columns of categories have been named."""
        return False

    def is_float32(self, j):
        """Return whether the array has the type float32."""
        return self._X.dtype == np.float32

    def is_boolean(self, j):
        """Return False: the columns of an array have no types of their own."""
        return False

    def numbers(self, j, advice):
        """Numbers of a column; see `FrameColumns.numbers`."""
        column = self._X[:, j]
        return column if column.dtype.kind == "f" else _as_numbers(column, self.names[j], advice)

    def categories(self, j):
        """List of the values of a column; see `FrameColumns.categories`."""
        return self._X[:, j].tolist()


def is_missing(value):
    """Return whether a value is missing: None, NaN, or another one that differs from itself."""
    if value is None:
        return True
    different = value != value
    return different is not False and different is not np.False_ and (
        different is True or different is np.True_ or type(value).__name__ == "NAType")


def _holds_strings(values, name, described):
    """Return whether a column of objects holds strings (True) or numbers (False)."""
    present = [value for value in values if not is_missing(value)]
    if all(isinstance(value, str) for value in present):
        return bool(present)    # without any value, it is a column of missing numbers
    if all(isinstance(value, _NUMBERS) for value in present):
        return False
    if all(isinstance(value, str | _NUMBERS) for value in present):
        text = next(value for value in present if isinstance(value, str))
        raise TypeError(
            f"X: column {name!r}{described} holds numbers and strings, such as {text!r}: convert "
            "all its values to numbers, with errors='coerce' of pandas.to_numeric if strings are "
            "signs of missing values, or all to strings")
    other = next(value for value in present if not isinstance(value, str | _NUMBERS))
    raise TypeError(
        f"X: column {name!r}{described} holds neither numbers nor categories, but "
        f"{_way_out(other)}, or drop it")


def _way_out(value):
    """Description of what a cell holds that is neither a number nor a string, and what to do."""
    if isinstance(value, TIMES) or type(value).__name__ == "Period":
        return "dates or times. Convert it to numbers, such as the year, or the days since a date"
    kind = f"cells of type {type(value).__name__}"
    if hasattr(value, "__len__") and not isinstance(value, bytes):
        return f"{kind}. Give their parts columns of their own"
    return f"{kind}. Convert it to numbers or to strings"


def _as_numbers(values, name, advice):
    try:
        return np.array(
            [np.nan if is_missing(value) else value for value in values], dtype=np.float64)
    except OverflowError as error:
        raise ValueError(f"X: column {name!r} {TOO_LARGE}") from error
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"X: column {name!r} holds values that are no numbers ({error}). {advice}") from error


def column_indices(parameter, given, names, words=()):
    """Indices of columns that a parameter gives by names, indices or a mask.

    Parameters
    ----------
    parameter : str
        Name of the parameter, for error messages.
    given : array-like
    names : sequence of str
        Names of all columns.
    words : sequence of str, default=()
        What the parameter may be instead, for error messages.

    Returns
    -------
    ndarray of int
        Ascending.
    """
    n_columns = len(names)
    with error_prefix(parameter):
        given = np.asarray(given)
    if given.size == 0:
        return np.empty(0, dtype=np.intp)
    if given.dtype.kind in "OU" and given.ndim == 1:
        unknown = [str(name) for name in given if name not in names]
        if unknown:
            hint = did_you_mean(unknown[0], names)
            raise ValueError(
                f"{parameter} names the columns {unknown}, which X lacks{'.' * bool(hint)}{hint}")
        return np.sort([names.index(name) for name in given])
    if given.dtype.kind == "b" and given.shape == (n_columns,):
        return np.flatnonzero(given)
    if given.dtype.kind in "iu" and given.ndim == 1 and (
            given.min() >= 0 and given.max() < n_columns):
        return np.unique(given)
    given = given.tolist()
    is_one = type(given) is int or (isinstance(given, str) and given in names)
    others = f", or {' or '.join(map(repr, words))}" if words else ""
    hint = f": pass [{given!r}]" if is_one else f".{did_you_mean(given, words)}".rstrip(".")
    raise ValueError(
        f"{parameter} must be a list of names, indices below {n_columns}, or a mask of {n_columns} "
        f"columns{others}, got {given!r}{hint}")
