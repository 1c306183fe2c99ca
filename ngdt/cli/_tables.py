"""Read tables from files, and choose the columns that a model needs."""

import argparse
import io
import re
import sys
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from ngdt._util.optional import import_optional
from ngdt._util.validation import did_you_mean
from ngdt.cli._models import estimators_of
from ngdt.cli._options import FILES, Mistake, check_is_there

_COMPRESSED = {".gz", ".bz2", ".xz", ".zip", ".zst"}
# Number of names of columns that a message lists.
_MAX_NAMES = 12
# An amount: a number that has no zeros at the front, which codes have, and perhaps a sign of a
# currency or of per cent, commas between thousands, and an exponent, as small decimals of Arrow.
_AMOUNT = re.compile(
    r"([-+]?) ?([$€£¥]?) ?((?!0\d)\d+|[1-9]\d{0,2}(?:,\d{3})+)"
    r"((?:\.\d+)?(?:E[-+]\d+)?) ?([%$€£¥]?)")

_HOW_TO_SEPARATE = "--separator says what is between columns (--decimal ',' reads decimal commas)"


@dataclass(frozen=True, eq=False)
class Data:
    """The content of a file.

    Attributes
    ----------
    path : str
    X : DataFrame of pandas, or CSR matrix, of shape (n_samples, n_columns)
    y : ndarray of shape (n_samples,) or None
        Targets that the file has apart from X. A data frame has them as a column.
    beside : DataFrame of pandas or None
        Columns to write beside predictions, as they are in the file.
    """

    path: str
    X: Any
    y: Any = None
    beside: Any = None

    @property
    def has_columns(self):
        """True if columns have names."""
        return hasattr(self.X, "columns")

    def require(self, names):
        """Raise unless there are columns of these names."""
        known = getattr(self.X, "columns", ())
        missing = [name for name in names if name not in known]
        if missing:
            raise Mistake(
                f"{self.path}: there is no column {_listed(map(repr, missing))}, but "
                f"{_listed(known) or 'an array without names'}.{did_you_mean(missing[0], known)}")


def add_data_arguments(parser, target=None):
    """The arguments by which commands read a table.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    target : str, default=None
        Help for the target; None if there is none.
    """
    data = parser.add_argument(
        "data", metavar="DATA", help=f"table: {', '.join(READERS)}; - reads CSV or TSV from stdin")
    data.complete = FILES
    if target is not None:
        parser.add_argument("-t", "--target", metavar="COLUMN", help=target)
    parser.set_defaults(target=None)
    parser.add_argument(
        "--input-format", choices=[each.lstrip(".") for each in READERS], metavar="TYPE",
        help="type of DATA, if its name does not end with it")
    parser.add_argument(
        "--separator", metavar="CHAR", type=_one_character,
        help="what is between the columns of a CSV file, such as ; (default: a comma)")
    parser.add_argument(
        "--decimal", metavar="CHAR", type=_one_character, default=".",
        help="decimal point of the numbers in a CSV file (default: .)")


def _one_character(text):
    text = "\t" if text == "\\t" else text
    if len(text) != 1:
        raise argparse.ArgumentTypeError(f"must be a single character, got {text!r}")
    return text


def read(arguments, text=(), n_features=None, keys=(), classes=None):
    """Read a file.

    Parameters
    ----------
    arguments : argparse.Namespace
        With the arguments of `add_data_arguments`.
    text : sequence of str, default=()
        Columns to read as text, though their categories are numbers.
    n_features : int, default=None
        Of LIBSVM files, which do not say it.
    keys : sequence of str, default=()
        Columns to read as they are in the file, such as 007 of a CSV file.
    classes : str, default=None
        Column of a CSV file to read as text if it has whole numbers with zeros at the front.

    Returns
    -------
    Data
    """
    path, input_format = arguments.data, arguments.input_format
    if path == "-":
        path, file, suffix = "stdin", sys.stdin, f".{input_format or 'csv'}"
    else:
        file, suffix = path, _suffix(path, input_format)
    try:
        found = READERS[suffix](
            file, text=text, n_features=n_features, keys=keys, classes=classes,
            separator=arguments.separator, decimal=arguments.decimal)
    except Exception as error:      # readers raise many types of errors for damaged files
        if getattr(error, "filename", None):    # which tells what is wrong with the file
            raise
        advice = (". Convert it to UTF-8, or say by its name how it is compressed, as in .csv.gz"
                  if isinstance(error, UnicodeError) else "")
        raise Mistake(
            f"{path} cannot be read as {suffix.lstrip('.')}: {error}{advice}") from error
    data = Data(path, *found) if isinstance(found, tuple) else Data(path, found)
    if not data.X.shape[0]:
        raise Mistake(f"{path}: the table has no rows")
    return data


def _suffix(path, input_format):
    """The type of a file that exists, a key of `READERS`."""
    suffixes = [each.lower() for each in Path(path).suffixes if each.lower() not in _COMPRESSED]
    suffix = f".{input_format}" if input_format else (suffixes or [""])[-1]
    if suffix not in READERS:
        raise Mistake(
            f"{path}: the type of a table must be one of {', '.join(READERS)}, not {suffix!r}."
            f"{did_you_mean(suffix, READERS)} Save it as one of these, or say by --input-format "
            "which of them it is")
    check_is_there(path)
    return suffix


def training_data(arguments):
    """The table that is trained on, without columns to drop, as `Data` with its target."""
    data = read(arguments, arguments.categorical, classes=arguments.target)
    if data.has_columns:
        data = _chosen_columns(data, arguments)
    else:
        data.require([*arguments.drop, *arguments.categorical])
    if len(np.unique(np.asarray(data.y).astype(str))) < 2:
        raise Mistake(f"{data.path}: the target is the same in all rows: nothing can be learnt")
    return data


def _chosen_columns(data, arguments):
    """The table without the target and the columns that are left out, and the target."""
    if arguments.target is None:
        raise Mistake(f"--target COLUMN is missing. The columns are {_listed(data.X.columns)}")
    data.require([arguments.target, *arguments.drop])
    y = data.X[arguments.target]
    data = Data(data.path, data.X.drop(columns=[arguments.target, *arguments.drop]))
    data.require(arguments.categorical)
    if not data.X.shape[1]:
        raise Mistake(f"{data.path}: there is no column to learn from")
    n_missing = int(y.isna().sum())
    if n_missing:
        raise Mistake(
            f"{data.path}: the target {arguments.target!r} is missing in {n_missing} of {len(y)} "
            "rows: leave them out, or fill them in")
    _warn_of_row_numbers(data)
    if arguments.task != "classification":
        y = _amounts(y, arguments.decimal)
    X = _with_amounts(data.X, arguments.categorical, arguments.decimal)
    # As text, numbers would be warned of.
    return Data(data.path, X.astype(dict.fromkeys(arguments.categorical, "category")), y)


def _with_amounts(X, text, decimal):
    """A table with its columns of amounts as numbers, but for those that are to be text."""
    return _replaced(X, {
        name: _amounts(X[name], decimal) for name in X.columns if name not in text})


def _replaced(X, columns):
    """A table with other columns; `assign` takes no column named self."""
    found = X.copy(deep=False)
    for name, values in columns.items():
        found[name] = values
    return found


def _amounts(values, decimal):
    """A column of texts such as "$1,200.50" or "5 %" as numbers, if all have the same signs."""
    if values.dtype.kind != "O":    # numbers: large integers, which may be labels, stay exact
        return values
    swapped = str.maketrans({decimal: ".", ".": ","}) if decimal != "." else {}
    numbers, signs = {}, set()
    for text in values.dropna().astype(str).unique():      # of lists, too
        found = _AMOUNT.fullmatch(text.translate(swapped).strip())
        if found is None:
            return values
        minus, before, whole, part, after = found.groups("")
        signs.add((before, after))
        numbers[text] = float(minus + whole.replace(",", "") + part)
    if len(signs) != 1:
        return values
    return values.map(lambda value: numbers[str(value)], na_action="ignore").astype(float)


def _warn_of_row_numbers(data):
    """Warn of a column that counts the rows, unless these are few."""
    for name, values in data.X.items():
        if len(values) > 10 and values.dtype.kind == "i" and (np.diff(values) == 1).all():
            warnings.warn(
                f"{data.path}: column {str(name)!r} numbers the rows: leave it out by --drop "
                f"{str(name)!r}, unless the order of the rows tells something of the target",
                stacklevel=2)


def samples_for(model, arguments):
    """The columns of a table that a model reads, in its order, and the target if it is given.

    Returns `Data`, whose `y` is None without a target.
    """
    names = list(getattr(model, "feature_names_in_", []))
    table = getattr(estimators_of(model)[0], "_table", None)
    text = [] if not names or table is None else [
        names[j] for j, each in zip(table.categorical, table.categories, strict=True)
        if any(isinstance(category, str) for category in each.feature)]
    if arguments.target and has_text_classes(model):
        text.append(arguments.target)       # "1" may be one of its labels
    beside = getattr(arguments, "columns", ())
    data = read(arguments, text, model.n_features_in_,
                [name for name in beside if name not in (*names, arguments.target)])
    if not data.has_columns:
        data.require([*names, *beside])
        # The labels of a LIBSVM file may be mere fillers: they are compared only where asked for.
        return Data(data.path, data.X, data.y if arguments.target else None)
    if not names:
        raise Mistake(
            f"{data.path} has names of columns, but the model was trained on an array of "
            f"{model.n_features_in_} features: give it a LIBSVM file, or predict in Python")
    data.require([*names, *([arguments.target] if arguments.target else []), *beside])
    y = data.X[arguments.target] if arguments.target else None
    if y is not None and not has_text_classes(model):
        y = _amounts(y, arguments.decimal)
    X = _with_amounts(data.X[names], text, arguments.decimal)
    return Data(data.path, X, y, data.X[[*beside]])


def has_text_classes(model):
    """Return whether the classes of a model are text, even if they look like numbers."""
    return getattr(model, "classes_", np.zeros(0)).dtype.kind in "OU"


def _listed(names):
    shown = [str(name) for name in names]
    if len(shown) > _MAX_NAMES:    # the target is often the last column
        shown[_MAX_NAMES - 2:-2] = ["..."]
    return ", ".join(shown)


def import_pandas():
    """Import pandas, which reads and writes tables."""
    return import_optional("pandas", "tables need", "ngdt[cli]")


def _csv(file, *, text, keys, classes, separator, decimal, usual=",", **_):
    pandas = import_pandas()
    content = None      # of what cannot be read several times
    if file is sys.stdin:
        content = file.read()
    elif not Path(file).is_file():      # but a pipe
        content = Path(file).read_text(encoding="utf-8")

    def read_csv(**options):
        # sep=None would guess, and take the "n" of a single column "name" for a separator. As an
        # index, first fields that the header lacks would be taken for names of the rows.
        return pandas.read_csv(
            file if content is None else io.StringIO(content), sep=separator or usual,
            index_col=False, **options)

    names = read_csv(dtype="string", header=None, nrows=1, keep_default_na=False).iloc[0]
    repeated = names[names.duplicated() & (names != "")]
    if len(repeated):       # which pandas would change
        raise ValueError(
            f"several columns are named {repeated.iloc[0]!r}: rename them, or keep only one")
    if separator is None and len(names) == 1 and re.search(r"[;|\t]", names.iloc[0]):
        raise ValueError(f"the header has a single column, {names.iloc[0]!r}. {_HOW_TO_SEPARATE}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pandas.errors.ParserWarning)     # of more fields
            # With low_memory, each part of a large file sets the types of its own values.
            found = read_csv(decimal=decimal, dtype=dict.fromkeys(text, str), low_memory=False)
    except (pandas.errors.ParserError, pandas.errors.ParserWarning) as error:
        raise ValueError(
            f"{str(error).strip().rstrip('.')}: give each field of a row a name in the header. "
            f"{_HOW_TO_SEPARATE}") from error
    labels = [classes] if classes in found and found[classes].dtype.kind in "iu" else []
    names = labels or [name for name in keys if name in found]
    if not names:
        return found
    written = read_csv(usecols=names, dtype=str, keep_default_na=False, na_values="")
    if labels and not written[classes].str.match(r"\s*0\d").any():
        return found
    return _replaced(found, written)


def _arrow(reader, file, *, text, keys, **_):
    pandas = import_pandas()

    def load(**options):
        # Without the numbers of rows and columns that a frame had when it was written.
        return getattr(pandas, reader)(file, **options).reset_index(drop=True).rename(columns=str)

    frame = load()
    # As from a CSV file, so that a model for one reads the other.
    text = {name for name in text if name in frame.columns}
    text |= {name for name, values in frame.select_dtypes("category").items()
             if values.cat.categories.dtype.kind == "O"}
    # Of other types, whole numbers with gaps would be floats, which have a point as text.
    names = [name for name in frame if name in {*text, *keys}]
    nullable = load(columns=names, dtype_backend="numpy_nullable") if names else frame[[]]
    frame = _replaced(frame, nullable[[*text]].astype("string"))
    # scikit-learn takes NA, which no CSV file has, for a category of another type.
    return _replaced(frame, {
        name: values.astype(object).where(values.notna(), np.nan).infer_objects()
        for name, values in frame.items()
        if not isinstance(values.dtype, np.dtype | pandas.CategoricalDtype)
    } | dict(nullable[[name for name in keys if name in nullable]].items()))


def _libsvm(file, *, n_features, **_):
    return load_svmlight_file(file, n_features=n_features)


READERS = {
    ".csv": _csv, ".tsv": partial(_csv, usual="\t"), ".parquet": partial(_arrow, "read_parquet"),
    ".arrow": partial(_arrow, "read_feather"), ".feather": partial(_arrow, "read_feather"),
    ".libsvm": _libsvm, ".svm": _libsvm}
