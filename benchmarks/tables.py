"""One tree beside other models on tables with categories and missing values.

The data are those of NGDT_DATA/tabular, and the models get the same five folds:

- `default`: the estimators with default parameters, apart from the depth.
- `greedy`: the same with `optimizer=None`.
- `pruned`: scikit-learn's tree. 5-fold cross-validation on the training part chooses ccp_alpha
  among at most 30 of its path.
- `forest`, `boosting`, `linear`: scikit-learn's random forest of 300 trees, boosting by histograms,
  and logistic or ridge regression on standardized features.
- `fifty`, `random_forest`, `extra_trees`: the forest of this package with 50 trees and default
  parameters, and scikit-learn's forests of 500 trees.

The depth (0 for no limit) is that of single trees; the other models have their default parameters.
"""

import warnings

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, balanced_accuracy_score, r2_score

from benchmarks.data import TABLES, folds, names_in, table
from benchmarks.figures import scores_by_table
from benchmarks.fitting import latency, seconds_of
from benchmarks.models import chosen, make, n_leaves, prepared
from benchmarks.runner import Benchmark, write_table

# Models and their parameters: those that are compared with single trees, and forests.
TREES = {"default": ("tree", {}), "greedy": ("tree", {"optimizer": None}),
         "pruned": ("pruned tree", {})}
METHODS = {**TREES, "forest": ("random forest", {"n_estimators": 300}),
           "boosting": ("boosting", {}), "linear": ("linear", {})}
FORESTS = {"fifty": ("forest", {"n_estimators": 50}),
           "random_forest": ("random forest", {"n_estimators": 500}),
           "extra_trees": ("extra trees", {"n_estimators": 500})}
NAMES = {"default": "default", "greedy": "greedy tree", "pruned": "pruned tree", "forest": "forest",
         "boosting": "boosting", "linear": "linear"}
# The one of the tables and the figure first.
DEPTHS, N_FOLDS = (8, 0), 5
# Forests have three seeds on these, where folds differ most.
MORE_SEEDS = "glass", "hepatitis", "german_credit"
TASKS = {"classification": "accuracy", "regression": "R²"}


def jobs(quick):
    """Without a limit of the depth there is no greedy tree: it would only stop at pure leaves."""
    names, depths, n_folds = (["wine"], DEPTHS[:1], 1) if quick else (
        names_in(TABLES), DEPTHS, N_FOLDS)
    kinds = [(each, depth) for depth in depths for each in TREES if depth or each != "greedy"] + [
        (each, "") for each in (*METHODS, *(() if quick else FORESTS)) if each not in TREES]
    return [{"data": name, "max_depth": depth, "seed": seed, "fold": f"{k}/{N_FOLDS}",
             "method": method}
            for seed in range(1 if quick else 3) for name in names for k in range(n_folds)
            for method, depth in kinds
            if seed == 0 or (method in FORESTS and name in MORE_SEEDS)]


def run(data, max_depth, seed, fold, method):
    X, y = table(data)
    name, parameters = (METHODS | FORESTS)[method]
    if method in TREES:
        parameters = {**parameters, "max_depth": max_depth or None}
    X, test = prepared(name, X), folds(y, seed, N_FOLDS) == int(fold.partition("/")[0])
    model = make(name, X, y, seed, **parameters)
    is_class, balanced = y.dtype.kind == "i", ""
    with warnings.catch_warnings():
        # Rare classes are absent from some folds.
        warnings.filterwarnings("ignore", "y_pred contains classes not in y_true")
        warnings.filterwarnings("ignore", "The least populated class")
        seconds = seconds_of(lambda: model.fit(X[~test], y[~test]))
        predicted = model.predict(X[test])
        if is_class:
            balanced = balanced_accuracy_score(y[test], predicted)
    return [{"task": "classification" if is_class else "regression", "n_samples": len(X),
             "score": (accuracy_score if is_class else r2_score)(y[test], predicted),
             "balanced_accuracy": balanced, "leaves": n_leaves(model), "seconds": seconds,
             "microseconds": 1e6 * latency(model.predict, X[test]), "chosen": chosen(model)}]


def of_models(rows, methods, depth):
    """Rows of some models, with single trees of a depth, in folds on which all of them were run."""
    rows = rows[rows["method"].isin(methods) & rows["max_depth"].isin([depth, np.nan])]
    n_methods = rows.groupby(["data", "seed", "fold"])["method"].transform("nunique")
    return rows[n_methods == rows["method"].nunique()]


def by_fold(rows, column="score"):
    """A row per fold, a column per method."""
    return rows.pivot(index=["data", "seed", "fold"], columns="method", values=column)


def means(rows, column="score"):
    return by_fold(rows, column).groupby("data").mean()


def report(rows, folder):
    """Print a summary by depth; draw and write the tables of the first depth."""
    rows = rows.assign(score=100 * rows["score"])
    tasks = [task for task in TASKS if task in set(rows["task"])]
    for depth in DEPTHS:
        for task in tasks:
            of_task = rows[rows["task"] == task]
            if depth in set(of_task["max_depth"]):
                print(f"\n{task}, depth {depth or 'without limit'}: {TASKS[task]}, %\n")
                summarize(of_task, depth)
    found = {task: of_models(rows[rows["task"] == task], METHODS, DEPTHS[0]) for task in tasks}
    scores_by_table({task: means(each) for task, each in found.items()}, TASKS, folder)
    for task, each in found.items():
        for end, lines in zip(("", "_costs"), zip(*lines_of(each), strict=True), strict=True):
            write_table(lines, folder, f"tables_{task}{end}")
        forests = of_models(rows[rows["task"] == task], FORESTS, 0)
        if len(forests):
            summarize_forests(forests, task)


def lines_of(rows):
    """For each data set a line of the table of scores, the best in bold, and one of costs."""
    scores, samples = means(rows), rows.groupby("data")["n_samples"].first()
    costs = {column: means(rows, column) for column in ("leaves", "seconds", "microseconds")}
    for name, score in scores.sort_values("default", ascending=False).iterrows():
        title, best = {"Data": name.replace("_", " ")}, max(score[list(NAMES)].round(1))
        yield {**title, "Samples": samples[name], **{
            label.capitalize(): f"**{score[method]:.1f}**" if round(score[method], 1) == best
            else f"{score[method]:.1f}" for method, label in NAMES.items()}}, {**title, **{
                f"{what}: {NAMES[method]}": f"{costs[column].loc[name, method] / unit:.{digits}f}"
                for what, column, unit, digits, methods in (
                    ("Leaves", "leaves", 1, 0, ("default", "pruned")),
                    ("Training, s", "seconds", 1, 2, ("default", "pruned", "forest")),
                    ("One row, ms", "microseconds", 1000, 1, ("default", "forest")))
                for method in methods}}


def paired(rows):
    """Mean lead over the pruned tree per data set, its standard error, and the number of folds."""
    scores = by_fold(rows)
    difference = (scores["default"] - scores["pruned"]).groupby("data", sort=False)
    return pd.DataFrame({
        "difference": difference.mean(), "standard_error": difference.sem(),
        "folds": difference.size()})


def kind(candidate):
    """Model that the default returns if it chooses a candidate."""
    fixed = {"pruned": "pruned greedy tree", "model tree": "greedy tree with linear leaves",
             "pruned, shrunk": "pruned greedy tree"}
    candidate = candidate.removesuffix(", sparse")
    if candidate in ("linear model", "score bands", "single leaf"):
        return candidate
    return fixed.get(candidate, "trained as a whole")


def summarize(of_task, depth):
    """Print means, differences from the default, what it chose, and costs, of one task.

    Means are those of the folds that all models share; pairs and choices have all of theirs.
    """
    rows, pair, default = (of_models(of_task, methods, depth) for methods in (
        METHODS, ("default", "pruned"), ("default",)))
    scores = means(rows)
    differences = paired(pair).reindex(scores.index)
    print(scores.join(differences).round(2).sort_values("difference").to_string())
    print("\nmean    ", scores.mean().round(2).to_dict())
    print("median  ", scores.median().round(2).to_dict())
    wins = scores.rank(axis=1, ascending=False, method="min").eq(1).sum()
    print("best    ", wins.to_dict())
    for other in scores.columns.drop("default"):
        gain = scores["default"] - scores[other]
        print(f"default against {other}: better by over 1 point on {(gain > 1).sum()}, "
              f"within 1 on {(gain.abs() <= 1).sum()}, worse by over 1 on {(gain < -1).sum()}")
    se = differences.standard_error.clip(lower=1e-9)
    worse, better = differences.difference < -2 * se, differences.difference > 2 * se
    print(f"default against pruned, over 2 standard errors: better on {better.sum()}, "
          f"worse on {worse.sum()} {scores.index[worse].tolist()}")
    is_linear = default["chosen"].str.startswith("model tree") & default["leaves"].eq(1)
    found = default["chosen"].map(kind).mask(is_linear, "linear model")
    print(f"chosen, % of {len(found)}:",
          (100 * found.value_counts(normalize=True)).round(1).to_dict())
    for column in ("leaves", "seconds", "microseconds"):
        medians = by_fold(rows, column).groupby("data").median().median()
        print(f"median of {column}:", medians.round(2).to_dict())


def summarize_forests(rows, task):
    """Print the mean ranks of the forests, and the data sets where ours is behind most."""
    scores = means(rows)[[*FORESTS]]
    print(f"\nforests, {task}, {len(scores)} data sets\n")
    print("mean rank", scores.rank(axis=1, ascending=False).mean().round(2).to_dict())
    print("mean     ", scores.mean().round(2).to_dict())
    scores["gap"] = scores["fifty"] - scores.drop(columns="fifty").max(axis=1)
    scores["folds"] = by_fold(rows).groupby("data").size()
    print(scores.sort_values("gap").round(2).head(8).to_string())


BENCHMARK = Benchmark(
    "tables", "one tree beside other models on tables",
    ("data", "max_depth", "seed", "fold", "method"),
    ("task", "n_samples", "score", "balanced_accuracy", "leaves", "seconds", "microseconds",
     "chosen"), jobs, run, report)
