"""Data sets of the experiments: those of the benchmarks, and files that a reader has downloaded.

`split(name, seed, rows)` returns training and test samples:

- rows="all": all training samples of the official split, or a random fifth of the samples for
  testing where there is none.
- rows="strict": as many training samples as the published results were trained on, so that methods
  are compared on equal terms. Which ones is drawn by the seed, unless a file says so.

SensIT, Protein, YearPrediction and CT slice are read from files in NGDT_DATA in the form in which
LIBSVM and UCI offer them: `DOWNLOADS` has their names and shapes.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.io import arff
from scipy.sparse import issparse
from sklearn.datasets import load_digits, load_svmlight_file
from sklearn.model_selection import train_test_split

from benchmarks import data as benchmarks

# Training samples of the published results, 80 % of the training part or what its files say.
STRICT = {"mnist": 60_000, "letter": 10_500, "pendigits": 5_995, "satimage": 3_104,
          "connect4": 43_236, "segment": 1_478, "sensit": 63_058, "protein": 14_895}
# Names of the sets on the pages.
TITLES = {"mnist": "MNIST", "connect4": "Connect4", "letter": "Letter", "pendigits": "Pendigits",
          "satimage": "SatImage", "segment": "Segment", "usps": "USPS",
          "fashion_mnist": "Fashion-MNIST", "sensit": "SensIT", "protein": "Protein",
          "digits": "Digits"}


@dataclass(frozen=True)
class Download:
    """Files of a data set that the reader has downloaded.

    Attributes
    ----------
    files : tuple of str
        Training and test file, or one file. Each may also end in .csv, .txt, .arff or .bz2.
    samples : tuple of int
        Training and test samples, or all samples.
    n_features : int
    n_classes : int
        0 for regression.
    source : str
        Where the files are offered.
    target : int, default=0
        Column of the target in a CSV or ARFF file.
    ignored : tuple of int, default=()
        Columns of a CSV or ARFF file that are not features.
    n_train : int or None, default=None
        Number of samples at the beginning of a single file that are the training samples. None
        splits them 80/20 by the seed.
    """

    files: tuple
    samples: tuple
    n_features: int
    n_classes: int
    source: str
    target: int = 0
    ignored: tuple = ()
    n_train: int | None = None


_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
DOWNLOADS = {
    "sensit": Download(
        ("combined", "combined.t"), (78_823, 19_705), 100, 3, f"{_LIBSVM}/multiclass.html"),
    "protein": Download(
        ("protein", "protein.t"), (17_766, 6_621), 357, 3, f"{_LIBSVM}/multiclass.html"),
    "yearprediction": Download(
        ("YearPredictionMSD",), (515_345,), 90, 0, "https://archive.ics.uci.edu/dataset/203",
        n_train=463_715),
    "ctslice": Download(
        ("slice_localization_data",), (53_500,), 384, 0, "https://archive.ics.uci.edu/dataset/206",
        target=385, ignored=(0,)),
}
SUFFIXES = ("", ".txt", ".csv", ".arff", ".bz2")


def split(name, seed, rows="all"):
    """Training and test samples of a data set: X, y, X_test, y_test."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return _shuffled_fifth(X.astype(np.float32), y, seed)
    if name in DOWNLOADS:
        data = read_download(name, seed)
    elif name in benchmarks.REGRESSION:
        data = benchmarks.regression(name, seed)
    else:
        data = benchmarks.classification(name, seed)
    return _strict(name, data, seed) if rows == "strict" else data


def _strict(name, data, seed):
    X, y, X_test, y_test = data
    n = STRICT[name]
    if name == "letter":    # the samples of letter.scale.tr come first, those of .val after them
        X, y = X[:n], y[:n]
    elif n < len(y):
        X, _, y, _ = train_test_split(X, y, train_size=n, random_state=seed, stratify=y)
    return X, y, X_test, y_test


def _shuffled_fifth(X, y, seed):
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=0.2, random_state=seed, stratify=y if y.dtype.kind == "i" else None)
    return X, y, X_test, y_test


def read_download(name, seed, folder=None):
    """The samples of a data set that has to be downloaded: X, y, X_test, y_test.

    Raises
    ------
    FileNotFoundError
        With the names of the files, and where they are offered.
    ValueError
        If a file does not have the samples, features or classes that it should have.
    """
    form, folder = DOWNLOADS[name], Path(folder or benchmarks.DATA)
    parts = []
    for file, n_samples in zip(form.files, form.samples, strict=True):
        path = _find(folder, file, form.source)
        X, y = read(path, form.n_features, form.target, form.ignored)
        _check(path, X, y, n_samples, form)
        if form.n_classes:
            y = np.unique(y, return_inverse=True)[1]
        parts.append((X, y))
    if len(parts) == 2:
        return *parts[0], *parts[1]
    X, y = parts[0]
    if form.n_train is None:
        return _shuffled_fifth(X, y, seed)
    return X[:form.n_train], y[:form.n_train], X[form.n_train:], y[form.n_train:]


def is_downloaded(name):
    return all(_found(benchmarks.DATA, file) for file in DOWNLOADS[name].files)


def _found(folder, file):
    return [path for path in _paths(folder, file) if path.is_file()]


def _paths(folder, file):
    return [folder / f"{file}{suffix}" for suffix in SUFFIXES]


def _find(folder, file, source):
    paths, found = _paths(folder, file), _found(folder, file)
    if not found:
        raise FileNotFoundError(
            f"no {paths[0]}, nor with any of the suffixes {', '.join(SUFFIXES[1:])}: download it "
            f"from {source}, and set NGDT_DATA to its folder")
    return found[0]


def read(path, n_features, target=0, ignored=()):
    """X as float32 and y of a LIBSVM, CSV or ARFF file; the first line tells which one it is."""
    if path.suffix == ".arff":
        table = pd.DataFrame(arff.loadarff(path)[0]).to_numpy()
    elif _is_csv(path):
        table = pd.read_csv(path, header=None, skiprows=_has_header(path)).to_numpy()
    else:
        X, y = load_svmlight_file(str(path), n_features=n_features, dtype=np.float32)
        return X.toarray() if issparse(X) else X, y
    X = np.delete(table, [target, *ignored], axis=1)
    return np.ascontiguousarray(X, dtype=np.float32), table[:, target].astype(float)


def _first_line(path):
    if path.suffix == ".bz2":
        return ""
    with open(path, encoding="utf-8") as file:
        return file.readline()


def _is_csv(path):
    return "," in _first_line(path)


def _has_header(path):
    return int(any(character.isalpha() for character in
                   _first_line(path).replace("e-", "").replace("E-", "").replace("e+", "")))


def _check(path, X, y, n_samples, form):
    expected = n_samples, form.n_features
    if X.shape != expected:
        raise ValueError(
            f"{path} has {X.shape[0]} samples of {X.shape[1]} features, expected {expected[0]} of "
            f"{expected[1]}: is it complete, and the file that {form.source} offers?")
    classes = len(np.unique(y))
    if form.n_classes and classes != form.n_classes:
        raise ValueError(f"{path} has {classes} classes, expected {form.n_classes}")
