"""Data sets: files in the folder NGDT_DATA (default: ../shared/data), or those of scikit-learn.

`split(name, seed, rows)` returns training and test samples:

- rows="all": all training samples of the official split, or a random fifth of the samples for
  testing where there is none.
- rows="strict": as many training samples as the published results were trained on, so that methods
  are compared on equal terms. Which ones is drawn by the seed, unless a file says so.

`table(name)` returns a data frame with categories and missing values, of NGDT_DATA/tabular.

A file has the arrays `X_train`, `y_train`, `X_test` and `y_test`, or `X` and `y`.
"""

import json
import os
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.model_selection import train_test_split

DATA = Path(os.environ.get("NGDT_DATA", Path(__file__).parents[1] / ".." / "shared" / "data"))

CLASSIFICATION = (
    "mnist", "connect4", "letter", "pendigits", "satimage", "usps", "fashion_mnist", "segment")
REGRESSION = ("abalone", "cpu_act", "ailerons")
# Those of scikit-learn.
BUNDLED = {"digits": load_digits, "wine": load_wine, "iris": load_iris,
           "breast_cancer": load_breast_cancer, "diabetes": load_diabetes}
# Training samples of the published results, 80 % of the training part or what its files say.
STRICT = {"mnist": 60_000, "letter": 10_500, "pendigits": 5_995, "satimage": 3_104,
          "connect4": 43_236, "segment": 1_478, "sensit": 63_058, "protein": 14_895}
# Names of the sets on the pages.
TITLES = {"mnist": "MNIST", "connect4": "Connect4", "letter": "Letter", "pendigits": "Pendigits",
          "satimage": "SatImage", "segment": "Segment", "usps": "USPS",
          "fashion_mnist": "Fashion-MNIST", "sensit": "SensIT", "protein": "Protein",
          "digits": "Digits"}


def split(name, seed, rows="all"):
    """Training and test samples of a data set: X, y, X_test, y_test."""
    if name in BUNDLED:
        X, y = BUNDLED[name](return_X_y=True)
        return hold_out(X.astype(np.float32), y, seed)
    data = _read(name, seed)
    return _strict(name, data, seed) if rows == "strict" else data


def _read(name, seed):
    """The official split, the one with the number `seed`, or a random fifth for testing."""
    data = load(name)
    if "X_train" in data:
        parts = [part for part in ("train", "val") if f"X_{part}" in data]
        X, y = (np.concatenate([data[f"{each}_{part}"] for part in parts]) for each in "Xy")
        X_test, y_test = data["X_test"], data["y_test"]
    elif "dgt_train" in data:
        train = data["dgt_train"][seed % len(data["dgt_train"])].astype(bool)
        X, y = data["X"], data.get("y_dgt", data["y"]).astype(float)
        X, y, X_test, y_test = X[train], y[train], X[~train], y[~train]
    elif "test" in data:
        X, y, test = data["X"], data["y"], data["test"][seed]
        return X[~test], y[~test], X[test], y[test]
    else:
        X, y, X_test, y_test = hold_out(data["X"], data["y"], seed)
    if name not in REGRESSION:
        X, X_test = (np.ascontiguousarray(each, dtype=np.float32) for each in (X, X_test))
    return X, y, X_test, y_test


def load(name):
    """The arrays of a file, by their names."""
    with np.load(DATA / f"{name}.npz", allow_pickle=False) as file:
        return dict(file)


def names_in(folder=DATA):
    """The data sets of a folder, the smallest first."""
    return [path.stem for _, path in sorted(
        (path.stat().st_size, path) for path in folder.glob("*.npz"))]


TABLES = DATA / "tabular"


def table(name):
    """Data frame with strings for categories and NaN for missing values, and y."""
    if name in BUNDLED:
        X, y = BUNDLED[name](return_X_y=True, as_frame=True)
        return X, y.to_numpy()
    with np.load(TABLES / f"{name}.npz", allow_pickle=False) as data:
        labels = json.loads(str(data["categories"]))
        frame = pd.DataFrame(data["X"], columns=data["feature_names"].tolist())
        y = data["y"]
    for column, names in labels.items():
        frame[column] = frame[column].map(dict(enumerate(names)))
    return frame, y


@cache
def targets(name):
    """y of a table, without a look at its columns, for those who list jobs."""
    if name in BUNDLED:
        return BUNDLED[name](return_X_y=True)[1]
    with np.load(TABLES / f"{name}.npz", allow_pickle=False) as data:
        return data["y"]


def folds(y, seed, n_folds):
    """Fold of each sample, stratified by class for labels."""
    order = np.random.RandomState(seed).permutation(len(y))
    if y.dtype.kind == "i":
        order = order[np.argsort(y[order], kind="stable")]
    fold = np.empty(len(y), dtype=int)
    fold[order] = np.arange(len(y)) % n_folds
    return fold


def _strict(name, data, seed):
    X, y, X_test, y_test = data
    n = STRICT[name]
    if name == "letter":    # the samples of letter.scale.tr come first, those of .val after them
        X, y = X[:n], y[:n]
    elif n < len(y):
        X, _, y, _ = train_test_split(X, y, train_size=n, random_state=seed, stratify=y)
    return X, y, X_test, y_test


def hold_out(X, y, seed):
    """All but a fifth of the samples, drawn at random, and that fifth: X, y, X_test, y_test."""
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=0.2, random_state=seed, stratify=y if y.dtype.kind == "i" else None)
    return X, y, X_test, y_test
