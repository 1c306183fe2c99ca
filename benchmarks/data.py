"""Data sets of the benchmarks, from the folder NGDT_DATA (default: ../shared/data)."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

DATA = Path(os.environ.get("NGDT_DATA", Path(__file__).parents[1] / ".." / "shared" / "data"))

CLASSIFICATION = (
    "mnist", "connect4", "letter", "pendigits", "satimage", "usps", "fashion_mnist", "segment")
REGRESSION = ("abalone", "cpu_act", "ailerons")


def classification(name, seed):
    """Training and test samples: the official split, or a stratified 80/20 split by the seed."""
    data = np.load(DATA / f"{name}.npz", allow_pickle=False)
    if "X" in data:
        X, X_test, y, y_test = train_test_split(
            data["X"], data["y"], test_size=0.2, random_state=seed, stratify=data["y"])
    else:
        X, y, X_test, y_test = (data[key] for key in ("X_train", "y_train", "X_test", "y_test"))
        if "X_val" in data:
            X, y = np.concatenate([X, data["X_val"]]), np.concatenate([y, data["y_val"]])
    return _as_float32(X), y, _as_float32(X_test), y_test


def regression(name, seed):
    """Training and test samples: the official split, or the DGT split with the number `seed`."""
    data = np.load(DATA / f"{name}.npz", allow_pickle=False)
    if "X_train" in data:
        return tuple(data[key] for key in ("X_train", "y_train", "X_test", "y_test"))
    train = data["dgt_train"][seed % len(data["dgt_train"])].astype(bool)
    X, y = data["X"], data["y_dgt"] if "y_dgt" in data else data["y"].astype(float)
    return X[train], y[train], X[~train], y[~train]


def table_names():
    """The data sets with tables, the smallest first."""
    files = (DATA / "tabular").glob("*.npz")
    return [path.stem for _, path in sorted((path.stat().st_size, path) for path in files)]


def table(name):
    """Data frame with strings for categories and NaN for missing values, and y."""
    data = np.load(DATA / "tabular" / f"{name}.npz", allow_pickle=False)
    labels = json.loads(str(data["categories"]))
    frame = pd.DataFrame(data["X"], columns=data["feature_names"].tolist())
    for column, names in labels.items():
        frame[column] = frame[column].map(dict(enumerate(names)))
    return frame, data["y"]


def folds(y, seed, n_folds):
    """Fold of each sample, stratified by class for labels."""
    order = np.random.RandomState(seed).permutation(len(y))
    if y.dtype.kind == "i":
        order = order[np.argsort(y[order], kind="stable")]
    fold = np.empty(len(y), dtype=int)
    fold[order] = np.arange(len(y)) % n_folds
    return fold


def _as_float32(X):
    return np.ascontiguousarray(X, dtype=np.float32)
