"""Monotone trees beside free ones, and scikit-learn's models with the same constraints.

- `free`, `monotone`: the estimators with constant leaves, without and with `monotonic_cst`.
- `default`, `monotone_default`: the same with the default leaves, which may be linear.
- `sklearn_tree`: scikit-learn's tree with the constraints, grown to as many leaves as the monotone
  tree has. Categories are indicators, missing numbers the mean.
- `boosting`: boosting by histograms with the constraints and a depth of 4.
"""

import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks.data import folds, table
from benchmarks.fitting import seconds_of
from benchmarks.models import prepared
from benchmarks.runner import Benchmark
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt.inference import is_monotone

# Of the classes, the second is a refused credit, and a bad one.
CONSTRAINTS = {
    "credit_approval": {"A8": -1, "A11": -1, "A15": -1},
    "german_credit": {
        "duration": 1, "credit_amount": 1, "installment_commitment": 1, "age": -1},
    "auto_mpg": {"displacement": -1, "horsepower": -1, "weight": -1, "model_year": 1},
    "concrete": {"cement": 1, "water": -1, "age": 1},
    "california_housing": {"median_income": 1},
}
QUICK = {"diabetes": {"bmi": 1, "bp": 1, "s5": 1, "s3": -1}}
N_FOLDS = 2


def jobs(quick):
    return [{"data": name, "seed": seed, "fold": k}
            for name in (QUICK if quick else CONSTRAINTS) for seed in range(1 if quick else 3)
            for k in range(1 if quick else N_FOLDS)]


def as_numbers(X):
    """The table for scikit-learn's tree."""
    numbers = X.select_dtypes("number")
    categories = X.drop(columns=numbers.columns)
    numbers = numbers.fillna(numbers.mean())
    return numbers.join(pd.get_dummies(categories).astype(float)) if len(
        categories.columns) else numbers


def run(data, seed, fold):
    X, y = table(data)
    cst, test, row = (CONSTRAINTS | QUICK)[data], folds(y, seed, N_FOLDS) == fold, {}
    tree, sklearn_tree, boosting = (
        (ObliqueTreeClassifier, DecisionTreeClassifier, HistGradientBoostingClassifier)
        if y.dtype.kind == "i" else
        (ObliqueTreeRegressor, DecisionTreeRegressor, HistGradientBoostingRegressor))

    def fit(name, model, X):
        row[f"{name}_seconds"] = seconds_of(lambda: model.fit(X[~test], y[~test]))
        row[name] = model.score(X[test], y[test])
        return model

    free = fit("free", tree(leaf="constant", random_state=seed), X)
    fit("default", tree(random_state=seed), X)
    monotone = fit("monotone", tree(leaf="constant", monotonic_cst=cst, random_state=seed), X)
    default = fit("monotone_default", tree(monotonic_cst=cst, random_state=seed), X)
    row["free_leaves"], row["leaves"], row["default_leaves"] = (
        each.get_n_leaves() for each in (free, monotone, default))
    row["free_is_monotone"], row["is_monotone"], row["default_is_monotone"] = (
        is_monotone(each.tree_, monotone.encoded_monotonic_cst_)[0]
        for each in (free, monotone, default))
    numbers = as_numbers(X)
    fit("sklearn_tree", sklearn_tree(
        max_leaf_nodes=max(2, row["leaves"]), random_state=seed,
        monotonic_cst=[cst.get(name, 0) for name in numbers.columns]), numbers)
    fit("boosting", boosting(
        max_depth=4, monotonic_cst=cst, categorical_features="from_dtype", random_state=seed),
        prepared("boosting", X))
    return [row]


def report(rows, folder):
    means = rows.groupby("data", sort=False).mean(numeric_only=True)
    means["time"] = means["monotone_seconds"] / means["free_seconds"]
    print(means.drop(columns=["seed", "fold"]).round(3).T.to_string())


MONOTONE = Benchmark(
    "monotone", "monotone trees: what they lose, and the same constraints in other models",
    keys=("data", "seed", "fold"),
    fields=("free", "default", "monotone", "monotone_default", "sklearn_tree", "boosting",
            "free_leaves", "leaves", "default_leaves", "free_is_monotone", "is_monotone",
            "default_is_monotone", "free_seconds", "default_seconds", "monotone_seconds",
            "monotone_default_seconds", "sklearn_tree_seconds", "boosting_seconds"),
    jobs=jobs, run=run, report=report)
