"""Probabilities of trees for the classes that they predict, beside how often they are right.

The tables, folds and features are those of `tables`, of which three of the five folds are used,
with all their test samples together. Of two tables with a rare class, there are also samples in
which it is rarer.

- `default`: the estimator with default parameters.
- `pruned`: scikit-learn's tree, with the shares of its leaves. 5-fold cross-validation on the
  training part chooses ccp_alpha among at most 30 of its path.
- `calibrated`: the same tree in scikit-learn's `CalibratedClassifierCV` with five folds, which
  needs five samples of each class.
- `linear`, `forest`: logistic regression on standardized features, and a random forest of 300
  trees, the latter for rare classes only.

The calibration error is that of the predicted class: samples are sorted by its probability into ten
bins of equal size, those of the same probability into the same, and the error is the mean of the
absolute difference between mean probability and accuracy, weighted by samples. `excess` is this
difference over all samples. The log loss takes probabilities of at least 1e-15. `auc` is that of
two classes, the mean over the folds.
"""

import warnings
from functools import lru_cache

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from benchmarks.data import TABLES, folds, names_in, table, targets
from benchmarks.models import calibrated, make, n_leaves
from benchmarks.runner import Benchmark, write_table

METHODS = {"default": "tree", "pruned": "pruned tree", "calibrated": "pruned tree",
           "linear": "linear", "forest": "random forest"}
NAMES = {"default": "Default", "pruned": "Pruned tree", "calibrated": "Calibrated",
         "linear": "Linear", "forest": "Forest"}
RARE, SHARES = ("bank_marketing", "churn"), (0.05, 0.01)
N_FOLDS, N_USED, N_BINS, MIN_PROBABILITY = 5, 3, 10, 1e-15
# Their titles and digits.
COLUMNS = {"accuracy": ("Accuracy, %", 1), "log_loss": ("Log loss", 3), "brier": ("Brier score", 3),
           "calibration_error": ("Calibration error", 3),
           "excess": ("Probability less accuracy", 3)}
# Samples of the rarest class from which five are in each training part.
MIN_CALIBRATED = 7


def jobs(quick):
    names = ["wine"] if quick else [name for name in names_in(TABLES) if is_class(name)]
    rarer = () if quick else [(name, share) for name in RARE for share in SHARES]
    return [{"data": name, "share": share, "method": method}
            for name, share in [*((name, "") for name in names), *rarer]
            for method in methods_of(name)]


def is_class(name):
    return targets(name).dtype.kind == "i"


def methods_of(name):
    left_out = [] if name in RARE else ["forest"]
    if np.bincount(targets(name)).min() < MIN_CALIBRATED:
        left_out.append("calibrated")
    return [each for each in METHODS if each not in left_out]


def data_of(name, share):
    """A table, with as many samples of the rarest class as make its share."""
    X, y = table(name)
    if share == "":
        return X, y
    is_rare = y == np.bincount(y).argmin()
    n_rare = round(share / (1 - share) * (~is_rare).sum())
    drawn = np.random.RandomState(0).permutation(np.flatnonzero(is_rare))[:n_rare]
    kept = np.sort(np.concatenate([np.flatnonzero(~is_rare), drawn]))
    return X.iloc[kept], y[kept]


@lru_cache(N_USED)
def fitted(data, share, name, k):
    """A model for the training part of a fold, and this."""
    X, y = data_of(data, share)
    test = folds(y, 0, N_FOLDS) == k
    model = make(name, X, y, 0, **({"n_estimators": 300} if name == "random forest" else {}))
    return model.fit(X[~test], y[~test]), X, y, test


def run(data, share, method):
    truth, found, aucs, leaves = [], [], [], []
    for k in range(N_USED):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class")
            warnings.filterwarnings("ignore", "No tree was better")
            model, X, y, test = fitted(data, share, METHODS[method], k)
            leaves.append(n_leaves(model))
            if method == "calibrated":
                model = calibrated(model, X[~test], y[~test])
        # A class may be absent from the training part.
        p = np.zeros((test.sum(), y.max() + 1))
        p[:, model.classes_] = model.predict_proba(X[test])
        truth.append(y[test])
        found.append(p)
        aucs.append(roc_auc_score(y[test] == 1, p[:, 1]) if p.shape[1] == 2 else np.nan)
    return [{"leaves": np.mean(leaves), "auc": np.mean(aucs),
             **scores(np.concatenate(truth), np.concatenate(found))}]


def scores(y, p):
    likeliest, is_right = p.max(axis=1), p.argmax(axis=1) == y
    of_class = p[np.arange(len(y)), y]
    return {"n_samples": len(y), "accuracy": is_right.mean(),
            "log_loss": np.abs(np.log(np.maximum(of_class, MIN_PROBABILITY))).mean(),
            "brier": ((p**2).sum(axis=1) - 2 * of_class + 1).mean(),
            "calibration_error": calibration_error(likeliest, is_right),
            "excess": likeliest.mean() - is_right.mean()}


def calibration_error(likeliest, is_right):
    edges = np.unique(np.quantile(likeliest, np.arange(1, N_BINS) / N_BINS))
    differences = np.bincount(np.searchsorted(edges, likeliest), likeliest - is_right)
    return np.abs(differences).sum() / len(likeliest)


def report(rows, folder):
    """Write the means, those of each table, and those of rare classes."""
    rows = rows.assign(accuracy=100 * rows["accuracy"])
    of_tables = rows[rows["share"].isna() & (rows["method"] != "forest")]
    by_table = {name: of_tables.pivot(index="data", columns="method", values=name)
                for name in COLUMNS}
    lines = pd.DataFrame([line_of(method, by_table) for method in NAMES
                          if method in set(of_tables["method"])])
    write_table(lines, folder, "calibration_table")
    write_table(of_data(by_table), folder, "calibration_data")
    rare = rows[rows["data"].isin(RARE)]
    if len(rare):
        write_table(of_rare(rare), folder, "calibration_rare")
    print(lines.T.to_string(header=False))


def line_of(method, by_table):
    """Means over the tables of all methods, and on how many the method is as good as the tree."""
    line = {"Model": NAMES[method]}
    for name, (title, digits) in COLUMNS.items():
        line[title] = f"{by_table[name].dropna()[method].mean():.{digits}f}"
    for name in ("log_loss", "calibration_error"):
        own = by_table[name][["pruned", method]].dropna().to_numpy()
        line[f"{COLUMNS[name][0]} at most the pruned tree's"] = (
            f"{(own[:, 1] <= own[:, 0]).sum()} of {len(own)}")
    return line


def of_data(by_table):
    """A line per table: log loss and calibration error."""
    columns = {
        f"{COLUMNS[name][0]}: {NAMES[method].lower()}": decimals(by_table[name][method])
        for name in ("log_loss", "calibration_error")
        for method in NAMES if method in by_table[name]}
    return pd.DataFrame(columns).rename(lambda name: name.replace("_", " ")).reset_index(
        names="Data")


def decimals(numbers):
    return numbers.map("{:.3f}".format, na_action="ignore")


def of_rare(rows):
    """A line per table and share: the area under the curve, and the log losses."""
    share = rows["share"].map("{:.0%}".format).where(rows["share"].notna(), "all")
    data = rows["data"].str.replace("_", " ") + ", " + share
    both = rows.assign(data=data).pivot(index="data", columns="method", values=["auc", "log_loss"])
    titles = {"auc": "AUC", "log_loss": "Log loss"}
    columns = {f"{titles[name]}: {NAMES[method].lower()}": decimals(both[name][method])
               for name in titles for method in NAMES if method in both[name]}
    return pd.DataFrame(columns).reset_index(names="Data, rare class")


BENCHMARK = Benchmark(
    "calibration", "how well the probabilities of classes are calibrated, beside other models",
    ("data", "share", "method"),
    ("n_samples", "accuracy", "log_loss", "brier", "calibration_error", "excess", "auc", "leaves"),
    jobs, run, report)
