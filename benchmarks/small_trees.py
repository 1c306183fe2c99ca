"""Small trees: the default within eight leaves or three levels, beside a pruned decision tree.

The tables, folds and features are those of `tables`, of which three of the five folds are used:

- `default`: the estimators with default parameters, apart from the limit.
- `constant`: for regression, where the leaves of the default are linear, those with constant ones.
- `pruned`: scikit-learn's tree with the same limit. 5-fold cross-validation on the training part
  chooses ccp_alpha among at most 30 of its path.

A row has the nonzero weights per split and the nonzero slopes per leaf. Nine leaves, on one table,
are those of a published tree.
"""

import warnings

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, r2_score

from benchmarks.data import TABLES, folds, names_in, table, targets
from benchmarks.fitting import seconds_of
from benchmarks.models import chosen, make, n_leaves
from benchmarks.runner import Benchmark, write_table
from benchmarks.tables import N_FOLDS, TASKS, means, paired

LIMITS = {"8 leaves": {"max_leaf_nodes": 8}, "3 levels": {"max_depth": 3},
          "9 leaves": {"max_leaf_nodes": 9}}
# LicketySPLIT of Babbar et al. (ICML 2025) has nine leaves there.
ONLY = {"9 leaves": "bank_marketing"}
METHODS = {"default": ("tree", {}), "constant": ("tree", {"leaf": "constant"}),
           "pruned": ("pruned tree", {})}
N_USED = 3
NAMES = {"default": "default", "constant": 'leaf="constant"', "pruned": "pruned CART"}
# Their names and digits in the table.
FIELDS = {"leaves": ("Leaves", 1), "weights": ("Weights per split", 1),
          "slopes": ("Slopes per leaf", 1), "seconds": ("Seconds", 2)}


def jobs(quick):
    names, limits, n_folds = (["wine"], list(LIMITS)[:1], 1) if quick else (
        names_in(TABLES), LIMITS, N_USED)
    return [{"data": name, "limit": limit, "seed": 0, "fold": f"{k}/{N_FOLDS}", "method": method}
            for name in names for limit in limits for k in range(n_folds) for method in METHODS
            if ONLY.get(limit, name) == name
            and (method != "constant" or targets(name).dtype.kind != "i")]


def run(data, limit, seed, fold, method):
    X, y = table(data)
    test, is_class = folds(y, seed, N_FOLDS) == int(fold.partition("/")[0]), y.dtype.kind == "i"
    name, parameters = METHODS[method]
    model = make(name, X, y, seed, **parameters, **LIMITS[limit])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")
        seconds = seconds_of(lambda: model.fit(X[~test], y[~test]))
        score = (accuracy_score if is_class else r2_score)(y[test], model.predict(X[test]))
    return [{"task": "classification" if is_class else "regression", "n_samples": len(X),
             "score": score, "leaves": n_leaves(model), "seconds": seconds,
             "chosen": chosen(model), **sizes(model)}]


def sizes(model):
    """Nonzero weights per split and nonzero slopes per leaf; those of scikit-learn's are known."""
    if not hasattr(model, "tree_"):
        return {"weights": 1.0, "slopes": 0.0}
    tree = model.tree_
    slopes = 0 if tree.slopes is None else np.count_nonzero(tree.slopes)
    weights = np.count_nonzero(tree.densify().weights) / max(tree.n_internal, 1)
    return {"weights": weights, "slopes": slopes / tree.n_leaves}


def report(rows, folder):
    """Write the means by task and limit, and those of each data set within eight leaves."""
    rows = rows.assign(score=100 * rows["score"])
    lines = []
    for task in TASKS:
        for limit in LIMITS:
            # A mean of R² would be that of the few large targets of forest fires.
            group = rows[(rows["task"] == task) & (rows["limit"] == limit)
                         & (rows["data"] != "forest_fires")]
            if len(group):
                lines.extend(summary(task, limit, group))
                print(f"\n{task}, {limit}\n", by_data(group).to_string(index=False))
    write_table(lines, folder, "small_trees_table")
    first = rows[rows["limit"] == next(iter(LIMITS))]
    for task, group in first.groupby("task"):
        write_table(by_data(group), folder, f"small_trees_{task}")


def summary(task, limit, rows):
    """A line per method: means over the data sets, and how the default does against it."""
    scores = means(rows)
    costs = {field: means(rows, field) for field in FIELDS}
    for method in [each for each in METHODS if each in scores]:
        gain = scores["default"] - scores[method]
        of_data = f"{limit}, {ONLY[limit].replace('_', ' ')} only" if limit in ONLY else limit
        yield {"Task": task, "Limit": of_data, "Tree": NAMES[method],
               "Accuracy or R², %": f"{scores[method].mean():.1f}",
               **{name: f"{costs[field][method].mean():.{digits}f}"
                  for field, (name, digits) in FIELDS.items()},
               "Default better, within 1, worse": "" if method == "default" else " / ".join(
                   str(each.sum()) for each in (gain > 1, gain.abs() <= 1, gain < -1))}


def by_data(rows):
    """A line per data set: scores and leaves, the largest gain over the pruned tree first."""
    scores, leaves = means(rows), means(rows, "leaves")
    differences = paired(rows).sort_values("difference", ascending=False)
    return pd.DataFrame([{
        "Data": name.replace("_", " "),
        **{method: f"{scores.loc[name, method]:.1f}" for method in METHODS if method in scores},
        "difference": f"{each.difference:+.1f} ± {each.standard_error:.1f}",
        "leaves": " / ".join(f"{leaves.loc[name, method]:.0f}"
                             for method in METHODS if method in leaves)}
        for name, each in differences.iterrows()])


BENCHMARK = Benchmark(
    "small_trees", "trees of eight leaves or three levels, beside a pruned decision tree",
    ("data", "limit", "seed", "fold", "method"),
    ("task", "n_samples", "score", *FIELDS, "chosen"), jobs, run, report)
