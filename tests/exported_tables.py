"""Models of data frames with columns of all types, for the exports that encode them."""

import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd

from ngdt import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    Tree,
)

TEXTS = np.array([
    "Rome", "O'slo", '"??/\\', "*/ é\u2028", "\n%s", "nan", "NULL", "\U0001f600", "Rome ",
    "\x01012", "\u202e", "z"], dtype=object)
# Names that are no identifiers, that are made the same one, and that are words of C and of ONNX.
NAMES = [
    "age", "a b", "a_b", "a.b", "a_b_2", "class", "int", "", "2nd", "é", "è", "x", "NULL",
    "__LINE__", "_age", "*/ evil();", "/*/", "\u202e", "a\nb", "label", "variable", "probabilities",
    "ngdt_c0", '"q"', "label_"]


def _some(random, values, n):
    """Values of which some are frequent and some rare."""
    return random.choice(values, n, p=random.dirichlet(np.full(len(values), 0.7)))


def _with_gaps(random, values, gap):
    is_gap = random.random(len(values)) < random.choice([0.0, 0.03, 0.3])
    return [gap if missing else value for missing, value in zip(is_gap, values, strict=True)]


# What a column has in the code, and a function that makes one, of a generator and a length.
KINDS = {
    "float": ("number", lambda random, n: _with_gaps(random, random.integers(-9, 9, n) / 4, None)),
    "int": ("number", lambda random, n: random.integers(-9, 9, n)),
    "Int64": ("number", lambda random, n: pd.array(
        _with_gaps(random, random.integers(-9, 9, n).tolist(), pd.NA), "Int64")),
    "bool": ("number", lambda random, n: random.random(n) < 0.4),
    "boolean": ("number", lambda random, n: pd.array(
        _with_gaps(random, (random.random(n) < 0.4).tolist(), pd.NA), "boolean")),
    "object": ("text", lambda random, n: pd.Series(
        _with_gaps(random, _some(random, TEXTS, n), None), dtype=object)),
    "string": ("text", lambda random, n: pd.array(
        _with_gaps(random, _some(random, TEXTS[:3], n), pd.NA), "string")),
    "categorical": ("text", lambda random, n: pd.Categorical(
        _with_gaps(random, _some(random, TEXTS[:6], n), None))),
    "empty": ("text", lambda random, n: _some(random, ["", "Oslo", "Rome"], n)),
    "whole codes": ("code", lambda random, n: pd.Categorical(
        _with_gaps(random, _some(random, [0, 1, -7, 2**53], n), None))),
    "codes": ("code", lambda random, n: pd.Categorical(
        _with_gaps(random, _some(random, [0.1, 0.25, 1e300, -2.5, 16777217.0], n), None))),
    "flags": ("code", lambda random, n: pd.Categorical(
        _with_gaps(random, (random.random(n) < 0.4).tolist(), None))),
}


class Case(NamedTuple):
    """A model with the rows that it is to predict, and what its columns hold."""

    model: object
    rows: pd.DataFrame
    holds: list


def random_tree(random, n_features, n_outputs):
    """A tree of six splits on few features; sums of its numbers are exact."""
    weights = random.integers(-3, 4, (6, n_features)) * (random.random((6, n_features)) < 0.4) / 2
    weights[0] *= np.arange(n_features) < 3
    slopes = random.integers(-2, 3, (7, n_outputs, n_features)) * random.choice(
        [0.0, 0.5], (7, 1, 1))
    ranges = np.sort(random.integers(-3, 4, (7, n_outputs, 2)))
    return Tree(
        weights, random.integers(-3, 4, 6) / 2, [1, 3, 5, ~0, ~2, ~4], [2, 4, ~6, ~1, ~3, ~5],
        random.integers(-3, 4, (7, n_outputs)), *[(None, None), (slopes, None), (slopes, ranges)][
            random.integers(3)])


def make_dyadic(model):
    """Round what stands for missing and unknown values, so that sums are exact in any order."""
    table = getattr(model, "estimators_", [model])[0]._table
    object.__setattr__(table, "fill", np.round(table.fill * 4) / 4)
    for each in table.categories:
        object.__setattr__(each, "fill", (0.25,) * each.n_features)


def random_case(seed, *, kinds=tuple(KINDS), n=60):
    """A random model of a random table, rows with unknown and missing values among others."""
    random = np.random.default_rng(seed)
    chosen = random.choice(kinds, random.integers(1, 7))
    names = random.permutation(NAMES)[:len(chosen)].tolist()

    def frame(n):
        return pd.DataFrame({
            name: pd.Series(KINDS[kind][1](random, n))
            for name, kind in zip(names, chosen, strict=True)})

    X, rows = frame(n), frame(n)
    for name, kind in zip(names, chosen, strict=True):
        if KINDS[kind][0] == "text":
            rows[name] = rows[name].astype(object).where(random.random(n) < 0.9, "Mars")
        elif KINDS[kind][0] == "code":
            rows[name] = rows[name].astype(object).where(random.random(n) < 0.9, 0.75)
            rows[name] = pd.Categorical(rows[name].tolist())
        elif kind == "float":
            rows[name] = rows[name].where(random.random(n) < 0.9)
    model = [ObliqueTreeClassifier, ObliqueTreeRegressor, ObliqueForestClassifier,
             ObliqueForestRegressor][random.integers(4)]
    y = random.integers(0, 3, n) if "Classifier" in model.__name__ else random.normal(size=(n, 2))
    y[X[names[0]].isna()] = 2       # gaps that tell nothing of y have no indicator
    model = model(optimizer=None, max_depth=1, random_state=0)
    if hasattr(model, "n_estimators"):
        model.set_params(n_estimators=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    assert [*model.feature_names_in_] == names      # scikit-learn ignores those of NumPy's type
    for each in getattr(model, "estimators_", [model]):
        each.tree_ = random_tree(random, each.tree_.n_features, each.tree_.n_outputs)
    return Case(model, rows, [KINDS[kind][0] for kind in chosen])
