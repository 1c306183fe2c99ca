"""Hostile data and containers, and the leaves to which trees may send samples."""

from fractions import Fraction
from itertools import product
from tempfile import TemporaryFile

import numpy as np
import pandas as pd
from scipy import sparse


def _signs(random, n):
    return random.choice([-1.0, 1.0], n)


# Columns of numbers, by a generator and a length.
COLUMNS = {
    "normal": lambda random, n: random.normal(size=n),
    "integers": lambda random, n: random.integers(-3, 4, n).astype(float),
    "constant": lambda random, n: np.full(n, 0.1),
    "zeros": lambda random, n: np.zeros(n),
    "negative zeros": lambda random, n: -np.zeros(n),
    "indicator": lambda random, n: random.integers(0, 2, n).astype(float),
    "denormal": lambda random, n: random.integers(-9, 9, n) * 5e-324,
    "tiny": lambda random, n: random.normal(size=n) * 1e-300,
    "huge": lambda random, n: random.normal(size=n) * 1e300,
    "largest": lambda random, n: _signs(random, n) * np.finfo(np.float64).max,
    "float32 largest": lambda random, n: _signs(random, n) * np.finfo(np.float32).max,
    "mixed": lambda random, n: _signs(random, n) * 10.0 ** random.integers(-300, 300, n),
    "far": lambda random, n: 1e15 + random.integers(0, 5, n),
    "outlier": lambda random, n: np.r_[1e30, random.normal(size=n - 1)],
}
# What is put into some places of a table.
GAPS = {
    "none": None,
    "nan": np.nan,
    "payload": np.array([0x7FF8DEADBEEF0001], dtype=np.uint64).view(np.float64)[0],
    "negative nan": np.array([0xFFF8000000000000], dtype=np.uint64).view(np.float64)[0],
    "signalling nan": np.array([0x7FF0000000000001], dtype=np.uint64).view(np.float64)[0],
    "inf": np.inf,
}


def table(columns, n, seed, gap="none"):
    """A table of float64.

    Parameters
    ----------
    columns : sequence of str
        Names of `COLUMNS`; "copy" repeats the one before.
    n, seed : int
    gap : str
        One of `GAPS`, which takes a fifth of the places.
    """
    random = np.random.default_rng(seed)
    X = np.empty((n, len(columns)))
    for j, name in enumerate(columns):
        X[:, j] = X[:, max(0, j - 1)] if name == "copy" and j else COLUMNS.get(
            name, COLUMNS["normal"])(random, n)
    if GAPS[gap] is not None:
        X[random.random(X.shape) < 0.2] = GAPS[gap]
    return X


# --- containers ----------------------------------------------------------------------------------


def _read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def _misaligned(X):
    buffer = np.empty(X.nbytes + 1, dtype=np.uint8)
    shifted = buffer[1:].view(X.dtype).reshape(X.shape)
    shifted[...] = X
    assert not shifted.flags.aligned
    return shifted


def _memory_mapped(X):
    with TemporaryFile() as file:
        mapped = np.memmap(file, dtype=X.dtype, shape=X.shape)
        mapped[...] = X
    return mapped


def _strided(X):
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), 7, dtype=X.dtype)
    wide[::-2, ::3] = X
    return wide[::-2, ::3]


# Of the same values: predictions are equal bit for bit.
DENSE = {
    "as it is": lambda X: X,
    "columns": np.asfortranarray,
    "read-only": _read_only,
    "misaligned": _misaligned,
    "memory-mapped": _memory_mapped,
    "strided": _strided,
    "non-native": lambda X: X.astype(X.dtype.newbyteorder()),
    "frame": lambda X: pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]),
    "list": lambda X: X.astype(np.float64).tolist(),
    "objects": lambda X: X.astype(object),
}


def _unsorted(X):
    X = sparse.csr_matrix(X)
    for start, stop in zip(X.indptr, X.indptr[1:], strict=False):
        X.indices[start:stop], X.data[start:stop] = (
            each[start:stop][::-1].copy() for each in (X.indices, X.data))
    X.has_sorted_indices = False
    return X


def _repeated(X):
    """Each entry is there twice, once as a zero."""
    X = sparse.csr_matrix(X)
    return sparse.csr_matrix(
        (np.column_stack([X.data, 0 * np.nan_to_num(X.data, posinf=0, neginf=0)]).ravel(),
         np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)


def _explicit_zeros(X):
    columns = np.indices(X.shape)[1]
    return sparse.csr_matrix(
        (X.ravel(), columns.ravel(), np.arange(len(X) + 1) * X.shape[1]), shape=X.shape)


def _read_only_csr(X):
    X = sparse.csr_matrix(X)
    for part in (X.data, X.indices, X.indptr):
        part.flags.writeable = False
    return X


def _long_indices(X):
    X = sparse.csr_matrix(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


SPARSE = {
    "csr": sparse.csr_matrix,
    "csr array": sparse.csr_array,
    "unsorted csr": _unsorted,
    "repeated csr": _repeated,
    "explicit zeros": _explicit_zeros,
    "read-only csr": _read_only_csr,
    "csr of int64": _long_indices,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_matrix,
}


# --- where a tree may send samples ---------------------------------------------------------------


def possible_leaves(tree, x):
    """Leaves that a sample may reach: both sides where rounding or overflow can decide.

    Parameters
    ----------
    tree : Tree
    x : ndarray of float64, shape (n_features,)
        Finite.

    Returns
    -------
    set of int
    """
    weights, found, waiting = tree.densify().weights, set(), [0 if tree.n_internal else ~0]
    while waiting:
        node = waiting.pop()
        if node < 0:
            found.add(~node)
            continue
        terms = [Fraction(w) * Fraction(v) for w, v in zip(
            weights[node].tolist(), x.tolist(), strict=True)]
        terms.append(-Fraction(float(tree.thresholds[node])))
        score, size = sum(terms), sum(map(abs, terms))
        # Each product and each sum rounds once, to 53 bits or to a multiple of the least number.
        rounding = len(terms) * (size * Fraction(2) ** -51 + Fraction(5e-324))
        unsure = abs(score) <= rounding or size > Fraction(1e308)
        if unsure or score <= 0:
            waiting.append(int(tree.children_left[node]))
        if unsure or score > 0:
            waiting.append(int(tree.children_right[node]))
    return found


def impossible_leaves(tree, X, leaf):
    """Samples whose leaf is none that they may reach, list of int."""
    return [i for i, (x, reached) in enumerate(zip(X, leaf, strict=True))
            if int(reached) not in possible_leaves(tree, x)]


ALL_FORMS = [*product([np.float64, np.float32], DENSE), *product([np.float64, np.float32], SPARSE)]
