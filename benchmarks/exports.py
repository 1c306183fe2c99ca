"""Exported models beside `predict`, on each row of each data set.

For each data set, model and form: how many rows are predicted differently, how many of these lie
within one unit in the last place of a threshold, and for how many two classes are equally probable,
so that rounding chooses one. C needs a compiler, ONNX the packages of `.[onnx]`.

Models are trained on at most 3000 samples, and fewer of wide data. They predict all:

- `default`: the tree of the default parameters, of each data set; often a single linear leaf.
- `tao`: a tree of `TAO` with sparse weights and constant leaves, of each data set.
- `forest`: five trees; of the data sets SOME.

The forms:

- `text`: the conditions of `export_rules`, for all rows as the samples of the summary; numbers in
  leaves have 15 digits.
- `json`: the trees of the document, for encoded rows.
- `sql`: the query in SQLite. `c`: compiled by `cc -O2 -std=c99`.
- `onnx`, `onnx_float`: in onnxruntime, with float64, and with float32 against the predictions for
  rows of float32.

A row is near a threshold if a score on its path is at most one unit in the last place of the sum
of the sizes of its terms, in the type of the form. Predicted numbers count as different if they
differ by more than 1e-9 (with float32, 1e-4) of the largest one, since the sums of linear leaves
and forests run in other orders.
"""

import ctypes
import json
import re
import shutil
import sqlite3
import subprocess
import tempfile
import warnings
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import softmax
from sklearn.base import is_classifier

from benchmarks.data import BUNDLED, CLASSIFICATION, TABLES, load, names_in, table
from benchmarks.models import make
from benchmarks.runner import Benchmark
from ngdt import Tree
from ngdt.export import export_c, export_json, export_onnx, export_rules, export_sql
from ngdt.optimizers import TAO

# The data sets of forests: wide and narrow, with categories and missing values, of both tasks.
SOME = ("mnist", "segment", "cpu_act", "abalone", "titanic", "auto_mpg", "credit_approval", "yeast")
# Most training samples, and values of them.
MAX_TRAIN, MAX_VALUES = 3000, 1_000_000
# The models and their parameters.
MODELS = {"default": ("tree", {}), "tao": ("tree", {"optimizer": TAO(C=0.1), "leaf": "constant"}),
          "forest": ("forest", {"n_estimators": 5})}
# Predicts all rows: structs if there are categories, else arrays.
RUN = """
void run(const SAMPLE *x, long n, double *out)
{
    for (long i = 0; i < n; i++, x += STEP)
        CALL;
}
"""
TOLERANCE = {np.float64: 1e-9, np.float32: 1e-4}


def read(name):
    """All rows as a data frame, and y."""
    if name in BUNDLED or (TABLES / f"{name}.npz").exists():
        frame, y = table(name)
    else:
        data = load(name)
        X, y = (
            np.concatenate([data[f"{each}_{part}"] for part in ("train", "val", "test")
                            if f"{each}_{part}" in data]) if f"{each}_train" in data else data[each]
            for each in ("X", "y"))
        frame = pd.DataFrame(X.astype(np.float64 if X.dtype == np.float64 else np.float32))
        y = y if name in (*CLASSIFICATION, "protein_val2871") else y.astype(float)
    frame.columns = [f"x{j}" for j in range(frame.shape[1])]
    return frame, y


@lru_cache(maxsize=1)
def fitted(data, model):
    """A model of some of the rows, and all rows. The forms of a model follow each other."""
    X, y = read(data)
    n_train = min(MAX_TRAIN, MAX_VALUES // X.shape[1], len(X))
    rows = np.random.default_rng(0).permutation(len(X))[:n_train]
    name, parameters = MODELS[model]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(name, X, y, 0, **parameters).fit(X.iloc[rows], y[rows]), X


def trees_of(model):
    return [each.tree_ for each in getattr(model, "estimators_", [model])]


def encoded(model, X):
    encoded = model.encode(X)
    return encoded if isinstance(encoded, np.ndarray) else encoded.toarray()


# --- the forms: functions of a model and a data frame, which return predictions -------------------


def by_json(model, X):
    document, X = json.loads(export_json(model)), encoded(model, X)
    trees = [tree_of(each, X.shape[1]) for each in document["trees"]]
    if not is_classifier(model):
        return np.mean([tree.predict(X)[:, 0] for tree in trees], axis=0)
    logits = [tree.predict(X) for tree in trees]
    # Different logits may have the same probability.
    means = logits[0] if len(trees) == 1 else np.mean(softmax(logits, axis=2), axis=0)
    return model.classes_[means.argmax(axis=1)]


def tree_of(written, n_features):
    """The tree that a document of `export_json` holds."""
    nodes, leaves = written["nodes"], written["leaves"]

    def dense(rows):
        found = np.zeros((len(rows), n_features))
        for each, row in zip(found, rows, strict=True):
            each[row["indices"]] = row["values"]
        return found

    slopes = leaves["slopes"]
    return Tree(
        dense(nodes["weights"]), nodes["thresholds"], nodes["left"], nodes["right"],
        leaves["values"], None if slopes is None else np.array([dense(rows) for rows in slopes]),
        leaves["ranges"])


def by_sql(model, X):
    rows = X.astype(object).where(X.notna(), None).to_numpy().tolist()
    with sqlite3.connect(":memory:") as database:
        database.execute(f"CREATE TABLE data ({', '.join(X.columns)})")
        database.executemany(f"INSERT INTO data VALUES ({', '.join('?' * X.shape[1])})", rows)
        found = database.execute(export_sql(model)).fetchall()
    database.close()
    return np.array([value for value, in found])


def structs(X):
    """Rows as the structs of the C code, and the texts to which they point."""
    types = {name: np.float64 if is_number(X[name]) else np.uintp for name in X}
    found, texts = np.zeros(len(X), np.dtype(list(types.items()))), []
    for name in X:
        if types[name] is np.float64:
            found[name] = X[name].astype(float)
            continue
        column = [None if pd.isna(value) else ctypes.create_string_buffer(value.encode())
                  for value in X[name]]
        found[name] = [0 if value is None else ctypes.addressof(value) for value in column]
        texts.append(column)
    return found, texts


def is_number(column):
    return pd.api.types.is_numeric_dtype(column)


def by_c(model, X):
    is_class, code = is_classifier(model), export_c(model)
    is_array = all(is_number(X[name]) for name in X)
    call = "out[i] = ngdt_predict(x)" if is_class else "ngdt_predict(x, out + i)"
    run = RUN.replace("CALL", call)
    if is_array:
        # A model with few gaps in training, or none, reads none.
        X = X.to_numpy(np.float64) if "ngdt_encode" in code else encoded(model, X)
        X = np.ascontiguousarray(X, dtype=np.float64)
        run = run.replace("SAMPLE", "double").replace("STEP", "ngdt_n_features")
    else:
        X, _texts = structs(X)
        run = run.replace("SAMPLE", "ngdt_sample").replace("STEP", "1")
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "model.c"), Path(folder, "model.so")
        source.write_text(code + run)
        subprocess.run(["cc", "-O2", "-std=c99", "-shared", "-fPIC", source, "-o", library, "-lm"],
                       check=True)
        out = np.empty(len(X))
        ctypes.CDLL(str(library)).run(
            ctypes.c_void_p(X.ctypes.data), ctypes.c_long(len(X)), ctypes.c_void_p(out.ctypes.data))
    return model.classes_[out.astype(int)] if is_class else out


def by_onnx(model, X, dtype="double"):
    from onnxruntime import InferenceSession

    session = InferenceSession(export_onnx(model, dtype=dtype).SerializeToString())
    type_ = {"double": np.float64, "float": np.float32}[dtype]
    if all(is_number(X[name]) for name in X):
        inputs = {"X": X.to_numpy(type_)}
    else:
        inputs = {
            name: X[[name]].to_numpy(type_) if is_number(X[name]) else
            X[[name]].fillna("").to_numpy(object) for name in X}
    return session.run(None, inputs)[0].ravel()


def by_text(model, X):
    """Prediction of a reader of the rules."""
    names = [f"x{j}" for j in range(X.shape[1])]
    words = [str(k) for k in range(len(model.classes_))] if is_classifier(model) else None
    texts = {"feature_names": names, "class_names": words, "n_terms": None, "X": X}
    rules, exact = export_rules(model, **texts), export_rules(model, precision=15, **texts)
    reader = Reader(model, X, names)
    found, hits = np.full(len(X), np.nan), np.zeros(len(X), dtype=int)
    for rule, predicted in zip(rules, exact, strict=True):
        meets = np.logical_and.reduce(
            [reader.holds(condition) for condition in rule.conditions] or [np.ones(len(X), bool)])
        hits += meets
        found[meets] = reader.predicted(predicted.prediction)[meets]
    found[hits != 1] = np.nan       # a row meets all conditions of one rule
    if words is None:
        return found
    return np.where(np.isnan(found), -1, model.classes_[np.nan_to_num(found).astype(int)])


class Reader:
    """Evaluates the text of conditions and predictions for all rows.

    Parameters
    ----------
    model : fitted estimator of a tree
    X : data frame
    names : list of str
        Names of the columns in the text.
    """

    def __init__(self, model, X, names):
        values = encoded(model, X).astype(np.float64).T
        features, self._n = model._table.features, len(X)
        self._variables, self._indicators, self._factors = {}, {}, {}
        for value, feature in zip(values, features, strict=True):
            name = names[feature.column]
            if feature.kind == "number":
                self._variables[name] = value
            else:
                sign = "is" if feature.category in ("missing", "rare") else "="
                variable = f"z{len(self._variables)}"
                self._variables[variable] = value
                self._factors[f"({name} {sign} {feature.category})"] = variable
                self._indicators[name, feature.category] = variable
        self._known = {}

    def holds(self, condition):
        """Mask of the rows that meet a condition."""
        if condition not in self._known:
            of_categories = re.fullmatch(r"(x\d+) (is not|not in|is|in) (.*)", condition)
            self._known[condition] = (
                self._number(condition).astype(bool) if of_categories is None else
                self._is_in(*of_categories.groups()))
        return self._known[condition]

    def _is_in(self, name, relation, words):
        words = words[1:-1].split(", ") if relation.endswith("in") else [words]
        is_in = sum(self._variables[self._indicators[name, word]] for word in words) > 0
        return is_in if relation in ("is", "in") else ~is_in

    def _number(self, text):
        for factor, variable in self._factors.items():
            text = text.replace(factor, variable)
        return np.broadcast_to(eval(text, {}, self._variables), self._n)

    def predicted(self, text):
        """Index of the class, or the number."""
        if text.startswith("log-odds of "):
            return self._formula(text.partition(": ")[2]) > 0
        if re.match(r"\d+: ", text):
            formulas = [each.partition(": ")[2] for each in text.split("; ")]
            return np.argmax([self._formula(each) for each in formulas], axis=0)
        label = re.fullmatch(r"(\d+) \([\d.e-]+\)", text)
        return self._formula(text if label is None else label[1])

    def _formula(self, text):
        formula, _, limits = text.partition(", within ")
        value = self._number(formula)
        return np.clip(value, *eval(limits)) if limits else value


FORMS = {"text": by_text, "json": by_json, "sql": by_sql, "c": by_c, "onnx": by_onnx,
         "onnx_float": partial(by_onnx, dtype="float")}


# --- comparison ---------------------------------------------------------------------------------


def are_near(model, X, dtype):
    """Mask of rows with a score within a unit in the last place of a threshold."""
    X, near = encoded(model, X).astype(dtype), np.zeros(len(X), dtype=bool)
    for tree in trees_of(model):
        weights = tree.dense_weights()
        size = np.abs(X) @ np.abs(weights).T + np.abs(tree.thresholds)
        close = np.abs(tree.scores(X)) <= np.spacing(size.astype(dtype))
        near |= (close & tree.decision_path(X).toarray()).any(axis=1)
    return near


def are_tied(model, X, dtype):
    """Return whether the two largest probabilities of a row are equal, but for rounding."""
    if not is_classifier(model):
        return np.zeros(len(X), dtype=bool)
    second, first = np.sort(model.predict_proba(X), axis=1)[:, -2:].T
    return first - second <= 4 * np.finfo(dtype).eps


def compare(model, form, X):
    """Numbers of rows with other predictions, and of those near a threshold and at a tie."""
    dtype = np.float32 if form == "onnx_float" else np.float64
    if dtype is np.float32:
        X = X.astype(dict.fromkeys(X.select_dtypes("number").columns, np.float32))
    wanted, found = model.predict(X), FORMS[form](model, X)
    if is_classifier(model):
        different = found != wanted
    else:
        scale = np.abs(wanted).max()
        different = ~(np.abs(found - wanted) <= TOLERANCE[dtype] * scale)
    rows = np.flatnonzero(different)
    near, tied = (
        int(each(model, X.iloc[rows], dtype).sum()) if len(rows) else 0
        for each in (are_near, are_tied))
    return {"different": len(rows), "near": near, "tied": tied}


def jobs(quick):
    forms = [form for form in FORMS if (
        find_spec("onnxruntime") if form.startswith("onnx") else form != "c" or shutil.which("cc"))]
    return [{"data": data, "model": model, "form": form}
            for data in (["iris"] if quick else [*names_in(TABLES), *names_in()])
            for model in MODELS if model != "forest" or data in SOME
            for form in forms if model != "forest" or form not in ("text", "sql")]


def run(data, model, form):
    estimator, X = fitted(data, model)
    return [{"n_samples": len(X), "leaves": sum(tree.n_leaves for tree in trees_of(estimator)),
             **compare(estimator, form, X)}]


def report(rows, folder):
    """Print rows by form, and the lines with rows that differ."""
    totals = rows.groupby("form").agg(
        models=("form", "size"), rows=("n_samples", "sum"), different=("different", "sum"),
        near=("near", "sum"), tied=("tied", "sum"))
    print(totals.to_string())
    print(rows[rows.different > 0].to_string(index=False))


BENCHMARK = Benchmark(
    "exports", "exported models beside `predict`", ("data", "model", "form"),
    ("n_samples", "leaves", "different", "near", "tied"), jobs, run, report)
