"""Check tables, and read their values."""

import re
from collections import defaultdict
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
    is_checked,
    refuse_mask,
    warn,
)

# Share of the different values of a column of text that spell numbers above which they are probably
# meant: others are a few texts, such as "?" and "n/a".
_SPELLED_SHARE = 0.8
# Signs of a currency before or after a number, and of per cent.
_SIGNS = re.compile(r"^\s*([-+]?)\s*[$€£¥]\s*|\s*[%$€£¥]\s*$")
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
    """

    numbers: Any
    categories: list
    booleans: tuple = ()


def check_samples(estimator, X):
    """Check samples to train on, which other estimators will encode.

    Parameters
    ----------
    estimator : estimator
        Gets `n_features_in_` and `feature_names_in_`.
    X : array-like, data frame or sparse matrix of shape (n_samples, n_columns)

    Returns
    -------
    data frame, ndarray or CSR matrix
        Samples can be selected from it.
    """
    _check_form(X)
    if as_columns(X) is not None:
        return _validated(estimator, X, skip_check_array=True)
    return _validated(estimator, X, ensure_all_finite="allow-nan", **CHECK_X_PARAMS)


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
        named = [] if categorical_features is None else categorical_features
        given = np.asarray(named)
    is_from_dtype = given.ndim == 0 and given == _FROM_DTYPE
    _check_form(X)
    columns = as_columns(X)
    if columns is None:
        params = {"skip_check_array": True} if is_checked(X) else (
            CHECK_X_PARAMS | {"ensure_all_finite": False})
        X = _validated(estimator, X, reset=reset, **params)
        if is_from_dtype or not given.size:
            X = canonical_csr(X) if sparse.issparse(X) else X
            # To make names takes longer than to predict one sample, which needs none.
            names = [f"x{j}" for j in range(X.shape[1])] if reset else None
            return RawTable(X, []), names, np.empty(0, dtype=np.intp)
        if sparse.issparse(X):
            raise TypeError(
                "categorical_features needs a dense table, but X is sparse: pass X.toarray(), or "
                "encode the categories before, and leave categorical_features as it is")
        columns = ArrayColumns(X)
    else:
        _validated(estimator, X, reset=reset, skip_check_array=True)
        if not columns.n_samples or not columns.n_columns:
            raise ValueError(
                f"Found array with {columns.n_samples} sample(s) and {columns.n_columns} feature(s)"
                f" while a minimum of 1 is required by {type(estimator).__name__}.")
    categorical = (
        np.array(columns.of_categories(), dtype=np.intp) if is_from_dtype else
        column_indices("categorical_features", named, columns.names, [_FROM_DTYPE]))
    numeric = np.delete(np.arange(columns.n_columns), categorical)
    raw = RawTable(
        columns.all_numbers(numeric), [columns.categories(j) for j in categorical],
        tuple(j for j in numeric.tolist() if columns.is_boolean(j)) if reset else ())
    if reset and is_from_dtype:
        _warn_of_spelled_values(columns, categorical, raw.categories)
    return raw, columns.names, categorical


def _validated(estimator, X, **params):
    """Check X by `validate_data`, with advice for dates, other columns, text and large integers."""
    if getattr(getattr(X, "dtype", None), "kind", "") in ("M", "m"):
        raise TypeError(
            "X holds dates or times: convert them to numbers, such as the year, or the days since "
            "a date")
    try:
        return validate_data(estimator, X, **params)
    except OverflowError as error:
        raise ValueError(f"X {TOO_LARGE}") from error
    except ValueError as error:
        text = str(error).rstrip()
        if "feature names should match" in text:
            text += ("\nGive the columns of training, X[tree.feature_names_in_], with NaN in those "
                     "that are not known")
        elif isinstance(X, (list, tuple)) and "could not convert string" in text:
            text = (f"X: {text}. For columns of categories, give a data frame, or an array of "
                    "objects with categorical_features")
        raise ValueError(text) from error


def _check_form(X):
    """Refuse masked arrays, and objects without rows and columns, before they are read."""
    if isinstance(X, (str, PathLike)) or hasattr(X, "__next__"):
        raise TypeError(
            f"X: expected the samples, got {str(X)!r}. Read a file first, such as by "
            "pandas.read_csv, and pass list(X) of a generator")
    is_list = isinstance(X, (list, tuple)) and X and (
        isinstance(X[0], (str, dict)) or not hasattr(X[0], "__len__"))
    if is_list or type(X) is dict or len(getattr(X, "shape", (None, None))) == 1:
        raise ValueError(
            f"Expected 2D array, got 1D {type(X).__name__} instead. Reshape your data: a single "
            "sample is X.iloc[[0]] of a data frame, X[:1] of an array, x.reshape(1, -1), or "
            "pandas.DataFrame([X]) of a dict; a single feature is X[['name']] of a data frame, "
            "x.reshape(-1, 1), or pandas.DataFrame({'name': X}); columns or rows as dicts are "
            "pandas.DataFrame(X); texts are made numbers by a vectorizer before, such as sklearn's "
            "TfidfVectorizer in a pipeline")
    refuse_mask("X", X, "pass X.astype(float).filled(numpy.nan), whose NaN are missing values")


def _warn_of_spelled_values(columns, categorical, categories):
    """Warn of columns of text that spell numbers or dates, each of which becomes a category."""
    found = defaultdict(list)
    for j, values in zip(categorical, categories, strict=True):
        what, example = spelled_by(values) if columns.is_text(j) else (None, None)
        if what is not None:
            found[what].append((columns.names[j], example))
    for what, some in found.items():
        names, (example, *_) = zip(*some, strict=True)
        _, advice, groups = _SPELLED[what]
        warn(
            f"X: columns {[*names]} are text, but their values spell {what}, such as {example!r}, "
            f"and each is a category. Convert them to numbers, {advice}; if they are {groups}, say "
            f"so by X.astype({{{names[0]!r}: 'category'}})")


def spelled_by(values):
    """Tell what most texts among the values spell.

    Parameters
    ----------
    values : sequence

    Returns
    -------
    what : {"numbers", "dates"} or None
        None if they spell neither.
    example : str or None
    """
    texts = dict.fromkeys(value for value in values if not is_missing(value))
    for what, (spells, *_) in _SPELLED.items():
        spelled = [text for text in texts if spells(text)]
        if len(spelled) > _SPELLED_SHARE * len(texts):
            return what, spelled[0]
    return None, None


def _spells_number(text):
    """Return whether a text is a number; one with zeros at the front is a code."""
    bare = _SIGNS.sub(r"\1", text)
    try:
        float(bare.replace(",", ""))
    except ValueError:
        return False
    return not re.match(r"\s*0\d", bare)


def _spells_date(text):
    """Return whether a text is a date with a year of four digits, and perhaps a time."""
    return re.match(
        r"\s*(\d{4}([-/.])\d\d?\2\d\d?|\d\d?([-/.])\d\d?\3\d{4})(\s|T|$)", text) is not None


# For each of what texts spell: whether one does, how to convert them, and what they may be instead.
_SPELLED = {
    "numbers": (_spells_number, "by pandas.to_numeric once signs such as '?', '$' and those of "
                "thousands are removed, or by decimal=',' of pandas.read_csv", "codes"),
    "dates": (_spells_date, "such as the days since a date, by pandas.to_datetime",
              "names of groups")}
