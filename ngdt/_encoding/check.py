"""Check tables, and read their values."""

import re
from collections import defaultdict
from contextlib import contextmanager
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from ngdt._encoding.columns import ArrayColumns, as_columns, column_indices, is_missing
from ngdt._util.validation import (
    CHECK_X_PARAMS,
    TOO_LARGE,
    canonical_csr,
    error_prefix,
    refuse_mask,
)
from ngdt._util.warn import warn

# Share of the values of a column of text that spell numbers from which they are probably meant. A
# half is enough of many different ones, beside a few texts, such as "?" and "n/a".
_SPELLED_SHARE, _MANY_SPELLED, _FEW_OTHERS = 0.95, 20, 3
# Signs of a currency before or after a number, and of per cent.
_SIGNS = re.compile(r"^\s*([-+]?)\s*[$€£¥]\s*|\s*[%$€£¥]\s*$")
# Number of names of columns that a warning lists.
_MAX_NAMES = 5
_FROM_DTYPE = "from_dtype"


class RawTable(NamedTuple):
    """The values of a table, before they are encoded.

    Attributes
    ----------
    numbers : ndarray or CSR matrix of shape (n_samples, n_numbers)
        float32 or float64, with NaN where a value is missing.
    categories : list of list
        Values of each categorical column; missing ones are None, NaN or pandas.NA.
    booleans : tuple of int
        Columns of numbers whose values are bools; empty unless the samples are for training.
    spelled : tuple of int
        Columns of text of which there was a warning that they spell numbers or dates.
    """

    numbers: Any
    categories: list
    booleans: tuple = ()
    spelled: tuple = ()


def check_samples(estimator, X, *, reset):
    """Check samples that other estimators will encode.

    Parameters
    ----------
    estimator : estimator
        Gets `n_features_in_` and `feature_names_in_`, or compares X with them.
    X : array-like, data frame or sparse matrix of shape (n_samples, n_columns)
    reset : bool
        Whether X is for training.

    Returns
    -------
    data frame, ndarray or CSR matrix
        Samples can be selected from it.
    """
    _check_form(X)
    if as_columns(X) is not None:
        return _validated(estimator, X, reset=reset, skip_check_array=True)
    with _helpful_errors(X, reset):
        return _validated(
            estimator, X, reset=reset, ensure_all_finite="allow-nan", **CHECK_X_PARAMS)


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
        The numbers may be infinite; `Table.transform` refuses these.
    names : list of str or None
        Names of the columns; None for an array that is not for training.
    categorical : ndarray of int
        Columns of categories.
    """
    with error_prefix("categorical_features"):
        given = np.asarray([] if categorical_features is None else categorical_features)
    is_from_dtype = given.ndim == 0 and given == _FROM_DTYPE
    _check_form(X)
    columns = as_columns(X)
    if columns is None:
        if given.size and not is_from_dtype:
            if sparse.issparse(X):
                raise TypeError("categorical_features needs a dense table, but X is sparse")
            with _helpful_errors(X, reset):
                columns = ArrayColumns(_validated(
                    estimator, X, reset=reset, ensure_all_finite=False,
                    dtype=CHECK_X_PARAMS["dtype"]))
        else:
            with _helpful_errors(X, reset):
                X = _validated(
                    estimator, X, reset=reset, ensure_all_finite=False, **CHECK_X_PARAMS)
            X = canonical_csr(X) if sparse.issparse(X) else X
            # To make names takes longer than to predict one sample, which needs none.
            names = [f"x{j}" for j in range(X.shape[1])] if reset else None
            return RawTable(X, []), names, np.empty(0, dtype=np.intp)
    else:
        _validated(estimator, X, reset=reset, skip_check_array=True)
        if not columns.n_samples or not columns.n_columns:
            raise ValueError(
                f"Found array with {columns.n_samples} sample(s) and {columns.n_columns} feature(s)"
                f" while a minimum of 1 is required by {type(estimator).__name__}.")
    categorical = (
        _categorical_by_type(columns) if is_from_dtype else
        column_indices("categorical_features", given, columns.names, [_FROM_DTYPE]))
    raw = _read(columns, categorical, reset)
    if reset and is_from_dtype:
        raw = raw._replace(
            spelled=_warn_of_spelled_values(columns, categorical, raw.categories))
    return raw, columns.names, categorical


def _categorical_by_type(columns):
    """Indices of the columns of categories; an error names all that are of no other type."""
    found, errors = [], []
    for j in range(columns.n_columns):
        try:
            if columns.is_categorical(j):
                found.append(j)
        except TypeError as error:
            errors.append(str(error))
    if errors:
        raise TypeError("\n".join(errors))
    return np.array(found, dtype=np.intp)


def _validated(estimator, X, **params):
    """Check X by `validate_data`, whose error for other columns gets a remedy."""
    try:
        return validate_data(estimator, X, **params)
    except ValueError as error:
        text = str(error).rstrip()
        is_new, lacks = "unseen at fit time" in text, "yet now missing" in text
        if not (is_new or lacks or "must be in the same order" in text):
            raise
        advice = ("the columns the names that they had in training" if is_new and lacks else
                  "all columns of training, with NaN where a value is not known" if lacks else
                  "X[tree.feature_names_in_]")
        raise ValueError(f"{text}\nGive {advice}") from error


def _check_form(X):
    """Refuse masked arrays, and objects without rows and columns, before they are read."""
    if isinstance(X, (str, PathLike)):
        raise TypeError(
            f"X: expected the samples, got {str(X)!r}. Read a file first, such as by "
            "pandas.read_csv")
    if hasattr(X, "__next__"):
        raise TypeError(
            f"X is a {type(X).__name__}, which gives its rows one by one: pass a list, list(X)")
    n_dimensions = len(getattr(X, "shape", (None, None)))
    if type(X) is dict or (isinstance(X, (list, tuple)) and X and (
            isinstance(X[0], (str, dict)) or not hasattr(X[0], "__len__"))):
        n_dimensions = 1
    if n_dimensions == 1:
        raise ValueError(
            f"Expected 2D array, got 1D {type(X).__name__} instead. Reshape your data: "
            f"{_reshaped(X)}")
    refuse_mask("X", X, "pass X.astype(float).filled(numpy.nan), whose NaN are missing values")


def _reshaped(X):
    """Advice for X with one dimension: how to make a table of it."""
    if type(X) is dict:
        is_columns = any(not isinstance(value, str) and hasattr(value, "__len__")
                         for value in X.values())
        return ("columns are a table as pandas.DataFrame(X)" if is_columns else
                "a single sample is a table as pandas.DataFrame([X])")
    if isinstance(X, (list, tuple)) and isinstance(X[0], dict):
        return "rows as dicts are a table as pandas.DataFrame(X)"
    if isinstance(X, (list, tuple, np.ndarray)) and all(isinstance(each, str) for each in X):
        return (
            "texts are made numbers by a vectorizer before, such as sklearn's TfidfVectorizer in "
            "a pipeline; a single column of categories is pandas.DataFrame({'name': X}), and a "
            "single sample is [X]")
    return (
        "a single sample is X.iloc[[0]] of a data frame, X[:1] of an array, or x.reshape(1, -1); a "
        "single feature is X[['name']] of a data frame, or x.reshape(-1, 1)")


class _Spelled(NamedTuple):
    """Numbers or dates that the values of a column of text spell."""

    what: str
    advice: str     # how to convert them
    groups: str     # what they may be instead
    example: str
    other: str | None   # an example of other texts, if there are some


def _warn_of_spelled_values(columns, categorical, categories):
    """Warn of columns of text that spell numbers or dates, each of which becomes a category.

    Return their indices.
    """
    found, same_advice = {}, defaultdict(list)
    for j, values in zip(categorical, categories, strict=True):
        spelled = spelled_by(values) if columns.is_text(j) else None
        if spelled is not None:
            found[int(j)] = spelled
            same_advice[spelled.what, spelled.advice].append(int(j))
    for some in same_advice.values():
        warn(_of_spelled_values([columns.names[j] for j in some], [found[j] for j in some]))
    return tuple(sorted(found))


def spelled_by(values):
    """Numbers or dates that most texts among the values spell.

    Parameters
    ----------
    values : sequence

    Returns
    -------
    _Spelled or None
        None if they spell neither.
    """
    present = [value for value in values if not is_missing(value)]
    for what, spells, advice, groups in _SPELLED:
        spelled = {value for value in {*present} if spells(value)}
        others = [value for value in present if value not in spelled]
        few = len(spelled) >= _MANY_SPELLED and len({*others}) <= _FEW_OTHERS
        if spelled and len(others) <= (0.5 if few else 1.0 - _SPELLED_SHARE) * len(present):
            example = next(value for value in present if value in spelled)
            return _Spelled(
                what, advice(spelled), groups, example, others[0] if others else None)
    return None


def _of_spelled_values(names, some):
    """Warning of columns to which the same advice applies."""
    what, advice, groups, example, _ = some[0]
    more = len(names) - _MAX_NAMES
    shown = ", ".join(map(repr, names[:_MAX_NAMES])) + (f" and {more} more" if more > 0 else "")
    is_one = len(names) == 1
    column, their, convert = (f"column {shown} is", "its", "it") if is_one else (
        f"columns {shown} are", "their", "them")
    others = [each.other for each in some if each.other is not None]
    coerced = (f". With errors='coerce', others, such as {others[0]!r}, become missing values"
               if others else "")
    return (
        f"X: {column} text, but {their} values spell {what}, such as {example!r}, and each is a "
        f"category. Convert {convert} to numbers, {advice}; if they are {groups}, by "
        f"X.astype({{{names[0]!r}: 'category'{'' if is_one else ', ...'}}}){coerced}")


def _spells_number(text):
    """Return whether a text is a number; one with zeros at the front is a code."""
    bare = _SIGNS.sub(r"\1", text)
    try:
        float(bare.replace(",", ""))
    except ValueError:
        return False
    return not re.match(r"\s*0\d", bare)


def _advice_for_numbers(texts):
    """Advice on how texts become numbers."""
    if any(re.search(r"\d,(\d\d?|\d{4,})\D*$", text) for text in texts):
        return "by decimal=',' of pandas.read_csv"
    if any(_SIGNS.search(text) or "," in text for text in texts):
        return "as pandas.to_numeric does without signs of currencies, thousands and per cent"
    return "as pandas.to_numeric does"


def _spells_date(text):
    """Return whether a text is a date with a year of four digits, and perhaps a time."""
    return re.match(
        r"\s*(\d{4}([-/.])\d\d?\2\d\d?|\d\d?([-/.])\d\d?\3\d{4})(\s|T|$)", text) is not None


def _advice_for_dates(texts):
    """Advice on how texts become dates, and these numbers."""
    return "such as the days since a date, after pandas.to_datetime"


_SPELLED = [("numbers", _spells_number, _advice_for_numbers, "codes"),
            ("dates", _spells_date, _advice_for_dates, "names of groups")]


@contextmanager
def _helpful_errors(X, reset):
    """Add advice to errors for dates, and for text and large integers in lists."""
    if getattr(getattr(X, "dtype", None), "kind", "") in ("M", "m"):
        raise TypeError(
            "X holds dates or times: convert them to numbers, such as the year, or the days since "
            "a date")
    try:
        yield
    except OverflowError as error:
        raise ValueError(f"X {TOO_LARGE}") from error
    except ValueError as error:
        if not isinstance(X, (list, tuple)) or "could not convert string" not in str(error):
            raise
        raise ValueError(
            f"X: {error}. For columns of categories, give a data frame, or an array of objects"
            f"{' with categorical_features' if reset else ', as in training'}") from error


def _read(columns, categorical, reset):
    """Read the values of a table that is given by columns."""
    numeric = np.setdiff1d(np.arange(columns.n_columns), categorical)
    numbers = columns.numbers_at_once(numeric)
    if numbers is None:
        numbers = _one_by_one(columns, numeric, "Convert it to numbers" + (
            ", or name it in categorical_features" if reset else ", as in training"))
    booleans = tuple(j for j in numeric.tolist() if columns.is_boolean(j)) if reset else ()
    return RawTable(numbers, [columns.categories(j) for j in categorical], booleans)


def _one_by_one(columns, numeric, advice):
    """Read columns of numbers of any type, one by one."""
    # A table without numbers is float32, which holds indicators exactly.
    is_float32 = all(columns.is_float32(j) for j in numeric)
    dtype = np.float32 if is_float32 else np.float64
    numbers = np.empty((columns.n_samples, len(numeric)), dtype=dtype)
    for k, j in enumerate(numeric):
        numbers[:, k] = columns.numbers(j, advice)
    return numbers
