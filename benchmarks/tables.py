"""One tree against other models on tables with categories and missing values.

    python benchmarks/tables.py --output benchmarks/results/tables.csv
    python benchmarks/tables.py --output benchmarks/results/tables.csv --summary

A CSV line per data set, fold and method. Rows that the file already has are not run again, so a
run that was stopped goes on, and further seeds, depths or methods are added to the file. The last
step, or with --summary the only one, prints a summary. One thread is used.

The data are those of NGDT_DATA/tabular, and the models get the same folds:

- `default`: the estimators with default parameters, apart from the depth.
- `greedy`: the same with `optimizer=None`.
- `pruned`: scikit-learn's tree. 5-fold cross-validation on the training part chooses ccp_alpha
  among at most 30 of its path.
- `forest`, `boosting`, `linear`: scikit-learn's random forest of 300 trees, boosting by histograms,
  and logistic or ridge regression on standardized features.
- `fifty`, `random_forest`, `extra_trees`: the forest of this package with 50 trees and default
  parameters, and scikit-learn's forests of 500 trees.

--max-depth (0 for none) is that of single trees; the other models have their default parameters.
`greedy`, `default`, `fifty` and `boosting` take the table as it is. For the others, categories are
encoded as one-hot features, and missing values as the mean and an indicator.
"""

import argparse
import sys
import time
import warnings
from functools import partial

import numpy as np
import pandas as pd
from data import folds, table, table_names
from rows import add_rows
from sklearn.base import BaseEstimator, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from ngdt import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
)

FIELDS = ["data", "task", "n_samples", "max_depth", "seed", "fold", "method", "score",
          "balanced_accuracy", "leaves", "seconds", "microseconds", "chosen"]
KEYS = ["data", "max_depth", "seed", "fold", "method"]
TREES = ("default", "greedy", "pruned")
METHODS = (*TREES, "linear", "boosting", "forest")
FORESTS = ("fifty", "random_forest", "extra_trees")
MAX_ALPHAS = 30
# Calls for the time of a prediction.
N_CALLS = 30


class PrunedTree(BaseEstimator):
    """scikit-learn's tree with the ccp_alpha of least error in cross-validation."""

    def __init__(self, tree):
        self.tree = tree

    def fit(self, X, y):
        # Rounding may make the smallest alphas negative.
        alphas = np.unique(np.maximum(self.tree.cost_complexity_pruning_path(X, y).ccp_alphas, 0))
        # Evenly spaced in the logarithm of the number of prunings left, since the small trees at
        # the end of the path differ most from each other.
        steps = np.geomspace(1, len(alphas), MAX_ALPHAS).round().astype(int)
        folds = StratifiedKFold if is_classifier(self.tree) else KFold
        cv = folds(5, shuffle=True, random_state=self.tree.random_state)
        search = GridSearchCV(self.tree, {"ccp_alpha": np.unique(alphas[-steps])}, cv=cv)
        self.best_ = search.fit(X, y).best_estimator_
        return self

    def predict(self, X):
        return self.best_.predict(X)

    def get_n_leaves(self):
        return self.best_.get_n_leaves()


def encoder(X):
    """Numbers of a table, as scikit-learn's models need them."""
    categorical = X.select_dtypes(exclude="number").columns.tolist()
    numeric = X.columns.difference(categorical, sort=False).tolist()
    return ColumnTransformer([
        ("categories", OneHotEncoder(
            handle_unknown="infrequent_if_exist", min_frequency=5, sparse_output=False),
         categorical),
        ("numbers", SimpleImputer(add_indicator=True, keep_empty_features=True), numeric),
    ])


def make(method, X, classify, max_depth, seed):
    """An estimator that takes a table."""
    def choose(classifier, regressor, **parameters):
        return (classifier if classify else regressor)(**parameters)

    tree = {"max_depth": max_depth, "random_state": seed}
    if method in ("default", "greedy"):
        optimizer = {"optimizer": None} if method == "greedy" else {}
        return choose(ObliqueTreeClassifier, ObliqueTreeRegressor, **tree, **optimizer)
    if method == "fifty":
        return choose(ObliqueForestClassifier, ObliqueForestRegressor,
                      n_estimators=50, random_state=seed)
    if method == "boosting":
        return choose(HistGradientBoostingClassifier, HistGradientBoostingRegressor,
                      categorical_features="from_dtype", random_state=seed)
    if method == "pruned":
        model = PrunedTree(choose(DecisionTreeClassifier, DecisionTreeRegressor, **tree))
    elif method in ("forest", "random_forest"):
        model = choose(RandomForestClassifier, RandomForestRegressor,
                       n_estimators=300 if method == "forest" else 500, random_state=seed)
    elif method == "extra_trees":
        model = choose(ExtraTreesClassifier, ExtraTreesRegressor,
                       n_estimators=500, random_state=seed)
    else:
        regression = LogisticRegression(max_iter=1000) if classify else Ridge()
        return make_pipeline(encoder(X), StandardScaler(), regression)
    return make_pipeline(encoder(X), model)


def prepared(method, X):
    """The table; for boosting with categories as it knows them, and no empty column: it fails."""
    if method != "boosting":
        return X
    X = X.dropna(axis="columns", how="all")
    return X.astype(dict.fromkeys(X.select_dtypes(exclude="number").columns, "category"))


def microseconds(model, X):
    """CPU time of a prediction for one row, which other programs disturb less than wall time."""
    seconds = []
    for i in range(N_CALLS):
        row = X.iloc[[i % len(X)]]
        start = time.process_time()
        model.predict(row)
        seconds.append(time.process_time() - start)
    return 1e6 * np.median(seconds)


def n_leaves(model):
    last = model[-1] if isinstance(model, Pipeline) else model
    return last.get_n_leaves() if hasattr(last, "get_n_leaves") else ""


def measure(method, X, y, test, max_depth, seed):
    """The figures of a row."""
    classify = y.dtype.kind == "i"
    X = prepared(method, X)
    model = make(method, X, classify, max_depth, seed)
    start = time.process_time()
    model.fit(X[~test], y[~test])
    seconds = time.process_time() - start
    predicted, true = model.predict(X[test]), y[test]
    if classify:
        score, balanced = np.mean(predicted == true), balanced_accuracy_score(true, predicted)
    else:
        balanced = ""
        score = 1 - np.sum((true - predicted) ** 2) / np.sum((true - true.mean()) ** 2)
    chosen = ""
    if method == "default":
        names, best = model.candidates_["candidate"], model.candidates_["chosen"]
        # A single leaf is none of the candidates.
        chosen = names[best.index(True)] if any(best) else "leaf"
    elif method == "fifty":
        names, counts = model.candidates_["candidate"], model.candidates_["n_trees"]
        chosen = " + ".join(f"{n} {name}" for name, n in zip(names, counts, strict=True) if n)
    return {"score": score, "balanced_accuracy": balanced, "leaves": n_leaves(model),
            "seconds": seconds, "microseconds": microseconds(model, X[test]), "chosen": chosen}


def run(options, done):
    """Rows that are not done yet."""
    for seed in options.seeds:
        for name in options.data or table_names():
            X, y = table(name)
            if len(X) > options.max_samples:
                continue
            fold = folds(y, seed, options.folds)
            for k in range(options.folds):
                for method in options.methods:
                    depth = str(options.max_depth) if method in TREES else ""
                    key = name, depth, str(seed), f"{k}/{options.folds}", method
                    if key not in done:
                        task = "classification" if y.dtype.kind == "i" else "regression"
                        yield {**dict(zip(KEYS, key, strict=True)), "task": task,
                               "n_samples": len(X), **measure(
                                   method, X, y, fold == k, options.max_depth or None, seed)}


def read(path, max_depth):
    """The rows with single trees of a depth, and the models that have none."""
    rows = pd.read_csv(path, keep_default_na=False, na_values={"leaves": "", "max_depth": ""})
    return rows[rows.max_depth.isna() | (rows.max_depth == max_depth)]


def by_fold(rows, column, task):
    """A column of one task: a row per fold, a column per method."""
    rows = rows[rows.task == task]
    return rows.pivot(index=["data", "seed", "fold"], columns="method", values=column)


def paired(scores, method="default", other="pruned"):
    """Mean difference per data set, its standard error, and the number of folds."""
    difference = (scores[method] - scores[other]).dropna().groupby("data", sort=False)
    return pd.DataFrame({
        "difference": difference.mean(), "standard_error": difference.sem(),
        "folds": difference.size()})


def kind(candidate):
    """What the default returns if it chooses a candidate."""
    fixed = {"pruned": "pruned greedy tree", "model tree": "greedy tree with linear leaves",
             "single leaf": "mean", "pruned, shrunk": "pruned greedy tree"}
    if candidate.startswith("logistic"):
        return "logistic regression"
    return fixed.get(candidate, "trained as a whole")


def summarize_forests(rows):
    """Print the mean ranks of the forests, and the data sets where ours is behind most."""
    for task in ("classification", "regression"):
        scores = 100 * by_fold(rows, "score", task)
        if not {*FORESTS} <= {*scores}:
            continue
        scores = scores[[*FORESTS]].dropna()
        means = scores.groupby("data").mean()
        ranks = means.rank(axis=1, ascending=False).mean()
        print(f"\nforests, {task}, {len(means)} data sets\n")
        print("mean rank", ranks.round(2).to_dict())
        print("mean     ", means.mean().round(2).to_dict())
        means["gap"] = means["fifty"] - means.drop(columns="fifty").max(axis=1)
        means["folds"] = scores.groupby("data").size()
        print(means.sort_values("gap").round(2).head(8).to_string())


def summarize(path, max_depth):
    rows = read(path, max_depth)
    for task, unit in (("classification", "accuracy, %"), ("regression", "R2, %")):
        scores = 100 * by_fold(rows, "score", task)
        if scores.empty:
            continue
        # Of the folds that all methods share; the paired difference takes those of both trees.
        shared = scores[[each for each in METHODS if each in scores]].dropna()
        means = shared.groupby("data").mean()
        if means.empty:
            continue
        print(f"\n{task}: {unit}, {len(means)} data sets\n")
        differences = paired(scores).reindex(means.index)
        print(means.join(differences).round(2).sort_values("difference").to_string())
        print("\nmean    ", means.mean().round(2).to_dict())
        print("median  ", means.median().round(2).to_dict())
        wins = means.rank(axis=1, ascending=False, method="min").eq(1).sum()
        print("best    ", wins.to_dict())
        for other in means.columns.drop("default"):
            gain = means["default"] - means[other]
            print(f"default against {other}: better by over 1 point on {(gain > 1).sum()}, "
                  f"within 1 on {(gain.abs() <= 1).sum()}, worse by over 1 on {(gain < -1).sum()}")
        se = differences.standard_error.clip(lower=1e-9)
        worse, better = differences.difference < -2 * se, differences.difference > 2 * se
        print(f"default against pruned, over 2 standard errors: better on {better.sum()}, "
              f"worse on {worse.sum()} {means.index[worse].tolist()}")
        chosen = rows.chosen[(rows.task == task) & (rows.method == "default")].map(kind)
        print(f"chosen, % of {len(chosen)}:",
              (100 * chosen.value_counts(normalize=True)).round(1).to_dict())
        for column in ("leaves", "seconds", "microseconds"):
            values = by_fold(rows, column, task).loc[shared.index, means.columns]
            values = values.groupby("data").median()
            print(f"median of {column}:", values.median().round(2).to_dict())
    summarize_forests(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", default="tables.csv")
    parser.add_argument("--summary", action="store_true", help="run nothing")
    parser.add_argument("--data", nargs="*", help="data sets (default: all, small ones first)")
    parser.add_argument("--methods", nargs="*", choices=(*METHODS, *FORESTS), default=METHODS)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seeds", nargs="*", type=int, default=[0])
    parser.add_argument("--max-depth", type=int, default=8, help="of single trees; 0: no limit")
    parser.add_argument("--max-samples", type=int, default=10**9, help="skip larger data sets")
    options = parser.parse_args()
    if not options.summary:
        # Rare classes are absent from some folds.
        warnings.filterwarnings("ignore", "y_pred contains classes not in y_true")
        warnings.filterwarnings("ignore", "The least populated class")
        with threadpool_limits(1):
            for row in add_rows(options.output, FIELDS, KEYS, partial(run, options)):
                print(*(row[key] for key in (*KEYS, "score", "seconds")), file=sys.stderr)
    summarize(options.output, options.max_depth)


if __name__ == "__main__":
    main()
