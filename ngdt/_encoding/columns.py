"""Reading of tables by columns: numbers as float arrays, categories as lists."""

from decimal import Decimal
from numbers import Real

import narwhals as nw
import numpy as np
from scipy import sparse

from ngdt._util.validation import TOO_LARGE, did_you_mean, error_prefix

_TYPES_OF_CATEGORIES = (nw.String, nw.Categorical, nw.Enum)
# Cells that are numbers. Databases return decimals, which are no Real of Python.
_NUMBERS = Real | Decimal | np.bool_
# Names of columns that a message has.
_N_SHOWN = 9


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
    with error_prefix("X"):     # of columns of one name
        frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame) and not hasattr(X, "__array__"):
        raise TypeError("X is a lazy frame, which has no values yet: pass X.collect()")
    return FrameColumns(frame) if isinstance(frame, nw.DataFrame) else None


class ArrayColumns:
    """Columns of a two-dimensional array.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_columns)
    """

    # Another way to have categories, where columns have no types.
    _ADVICE = ", or give a data frame, as transformers do after set_output(transform='pandas')"

    def __init__(self, X):
        self.n_samples, self.n_columns = X.shape
        self.names = [f"x{j}" for j in range(self.n_columns)]
        self._X = X

    def all_numbers(self, columns):
        """Numbers of several columns, with NaN for missing ones.

        Parameters
        ----------
        columns : ndarray of int
            Ascending.

        Returns
        -------
        ndarray of float32 or float64, C-contiguous, shape (n_samples, len(columns))
        """
        # A table without numbers is float32, which holds indicators exactly.
        is_float32 = all(self._is_float32(j) for j in columns)
        numbers = np.empty(
            (self.n_samples, len(columns)), dtype=np.float32 if is_float32 else np.float64)
        errors = {}
        for k, j in enumerate(columns):
            try:
                numbers[:, k] = self._numbers(j)
            except (TypeError, ValueError) as error:
                errors[j] = error
        self._refuse(errors)
        return numbers

    def of_categories(self):
        """Return no columns: those of categories of an array are named by the user."""
        return []

    def is_boolean(self, j):
        """Return False: the columns of an array have no types of their own."""
        return False

    def categories(self, j):
        """List of the values of a column; missing ones are None, NaN or pandas.NA."""
        return self._X[:, j].tolist()

    def _is_float32(self, j):
        return self._X.dtype == np.float32

    def _numbers(self, j):
        column = self._X[:, j]
        return column if column.dtype.kind == "f" else self._cells_as_numbers(j)

    def _refuse(self, errors):
        """Raise the first of the errors of columns, if there are any; it names the others."""
        if errors:
            (_, error), *others = errors.items()
            names = [self.names[j] for j, _ in others]
            also = f". Nor can the columns {names} be read" if names else ""
            raise type(error)(f"{error}{also}") from error

    def _cells_as_numbers(self, j):
        name = self.names[j]
        try:
            # np.array would make a matrix of lists of one length.
            return np.fromiter(
                (np.nan if is_missing(value) else value for value in self.categories(j)),
                np.float64, self.n_samples)
        except OverflowError as error:
            raise ValueError(f"X: column {name!r} {TOO_LARGE}") from error
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"X: column {name!r} holds values that are no numbers ({str(error).rstrip('.')}). "
                "Convert it to numbers or, in training, name it in categorical_features, "
                f"as [{name!r}]{self._ADVICE}") from error


class FrameColumns(ArrayColumns):
    """Columns of a data frame that narwhals reads, such as those of pandas and polars.

    Parameters
    ----------
    frame : narwhals DataFrame
    """

    _ADVICE = ""

    def __init__(self, frame):
        self.names = [str(name) for name in frame.columns]
        self.n_samples, self.n_columns = frame.shape
        self._frame, self._found = frame, {}

    def _series(self, j):
        """A column; all of them would take most of the time of reading a single row."""
        if j not in self._found:
            self._found[j] = self._frame[:, int(j)]
        return self._found[j]

    def all_numbers(self, columns):
        """As `ArrayColumns.all_numbers`; types of numpy in pandas are read at once, faster."""
        frame = self._frame.to_native()
        if self._frame.implementation.is_pandas():
            if len(columns) < self.n_columns:
                frame = frame.iloc[:, columns]
            types = set(frame.dtypes)
            if all(isinstance(each, np.dtype) and each.kind in "fiub" for each in types):
                dtype = np.float32 if types <= {np.dtype(np.float32)} else np.float64
                numbers = np.ascontiguousarray(frame.to_numpy(dtype=dtype))
                # The encoded array may be written to, and the frame of the user must not change.
                return numbers if numbers.flags.owndata else numbers.copy()
        return super().all_numbers(columns)

    def of_categories(self):
        """Columns that hold categories, by their types.

        Returns
        -------
        list of int

        Raises
        ------
        TypeError
            If columns hold neither numbers nor categories; it names all of them.
        """
        found, errors = [], {}
        self._found = dict(enumerate(self._frame.iter_columns()))   # faster, where all are needed
        for j in range(self.n_columns):
            try:
                if self._is_categorical(j):
                    found.append(j)
            except TypeError as error:
                errors[j] = error
        self._refuse(errors)
        return found

    def _is_categorical(self, j):
        dtype = self._series(j).dtype
        if dtype.is_numeric() or dtype == nw.Boolean:
            return False
        # narwhals takes a column of objects for one of strings if the first hundred are.
        if isinstance(dtype, _TYPES_OF_CATEGORIES) and self._type(j) != np.dtype(object):
            return True
        return self._holds_strings(j)

    def is_text(self, j):
        """Return whether a column holds strings, and not of a type that is made for categories."""
        return self._series(j).dtype in (nw.String, nw.Object)

    def is_boolean(self, j):
        """Return whether a column holds bools, also as objects."""
        dtype = self._series(j).dtype
        if dtype != nw.Object:
            return dtype == nw.Boolean
        present = [value for value in self.categories(j) if not is_missing(value)]
        return bool(present) and all(isinstance(value, bool | np.bool_) for value in present)

    def categories(self, j):
        """List of the values of a column; missing ones are None, NaN or pandas.NA."""
        return self._series(j).to_list()

    def _is_float32(self, j):
        return self._series(j).dtype == nw.Float32

    def _numbers(self, j):
        series = self._series(j)
        if series.dtype.is_float():
            return series.to_numpy()
        if series.dtype in (nw.Int64, nw.UInt64):   # pyarrow casts none beyond 2**53
            return series.to_numpy().astype(np.float64)
        # pyarrow rounds decimals twice: it multiplies them by a power of ten.
        if series.dtype != nw.Decimal and (
                series.dtype.is_numeric() or series.dtype == nw.Boolean):
            return series.cast(nw.Float64).to_numpy()
        return self._cells_as_numbers(j)

    def _holds_strings(self, j):
        """Return whether a column of objects holds strings (True) or numbers (False)."""
        present = [value for value in self.categories(j) if not is_missing(value)]
        if all(isinstance(value, str) for value in present):
            return bool(present)    # without any value, it is a column of missing numbers
        others = [value for value in present if not isinstance(value, _NUMBERS)]
        if not others:
            return False
        other = next((value for value in others if not isinstance(value, str)), others[0])
        advice = (
            "convert all values to numbers, with None for signs of missing ones, or all to strings"
            if isinstance(other, str | bytes) else "give the parts of lists columns of their own"
            if hasattr(other, "__len__") and not isinstance(other, dict) else
            "convert its values to numbers, such as the year, or the days since a date")
        raise TypeError(
            f"X: column {self.names[j]!r} of type {self._type(j)} holds {str(other)[:40]!r}, but "
            f"has to be all numbers or all strings: {advice}, or drop it")

    def _type(self, j):
        """The type of a column as its library names it."""
        return getattr(self._series(j).to_native(), "dtype", self._series(j).dtype)


def is_missing(value):
    """Return whether a value is missing: None, NaN, or another one that differs from itself."""
    if value is None:
        return True
    different = value != value
    return different is not False and different is not np.False_ and (
        different is True or different is np.True_ or type(value).__name__ == "NAType")


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
    # In an array, 0 would be the name "0".
    is_mixed = isinstance(given, list | tuple) and (
        len({isinstance(each, str) for each in given}) > 1)
    with error_prefix(parameter):
        given = np.asarray(given, dtype=object if is_mixed else None)
    if given.size == 0:
        return np.empty(0, dtype=np.intp)
    if given.dtype.kind in "OU" and given.ndim == 1 and not is_mixed:
        unknown = [str(name) for name in given if name not in names]
        if unknown:
            shown = [*map(repr, names[:_N_SHOWN]), *["..."] * (n_columns > _N_SHOWN)]
            hint = did_you_mean(unknown[0], names) or f" It has {', '.join(shown)}"
            raise ValueError(f"{parameter} names the columns {unknown}, which X lacks.{hint}")
        return np.unique([names.index(name) for name in given])
    if given.dtype.kind == "b" and given.shape == (n_columns,):
        return np.flatnonzero(given)
    if given.dtype.kind in "iu" and given.ndim == 1 and (
            given.min() >= 0 and given.max() < n_columns):
        return np.unique(given)
    given = given.tolist()
    hint = f".{did_you_mean(given, words)}".rstrip(".")
    raise ValueError(
        f"{parameter} must be a list of names, of indices below {n_columns}, or a mask of "
        f"{n_columns} columns{''.join(f', or {word!r}' for word in words)}, got {given!r}{hint}")
