"""The table of the README: one tree beside other models, on data that come with scikit-learn.

Means over five random splits into 70 % training and 30 % test samples, stratified by class. All
models have their default parameters, except that logistic regression gets standardized features,
and that 5-fold cross-validation chooses ccp_alpha of scikit-learn's tree. Prints Markdown: test
accuracy, and for the data sets in this order the mean number of leaves, the size of the pickle and
the CPU time of a prediction for one sample. Below the table: what the default chose, and the time
of its prediction for a row of an array, the same unchecked, and a row of a data frame.
"""

import pickle
from functools import partial

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.data import BUNDLED
from benchmarks.fitting import latency
from benchmarks.models import chosen, make, n_leaves
from benchmarks.runner import Benchmark

DATA, N_SPLITS, N_CALLS = ("breast_cancer", "digits", "wine"), 5, 100
MODELS = {
    "`ObliqueTreeClassifier`": ("tree", {}),
    '`ObliqueTreeClassifier(leaf="auto")`': ("tree", {"leaf": "auto"}),
    "pruned `DecisionTreeClassifier`": ("pruned tree", {}),
    "`LogisticRegression`": ("linear", {}),
    "`RandomForestClassifier`": ("random forest", {}),
    "`HistGradientBoostingClassifier`": ("boosting", {}),
}
DEFAULT = next(iter(MODELS))
LATENCIES = ("ms", "ms_unchecked", "ms_frame")


def jobs(quick):
    models = list(MODELS)[:3] if quick else MODELS
    return [{"model": model, "data": data, "split": split} for model in models
            for data in (("wine",) if quick else DATA) for split in range(1 if quick else N_SPLITS)]


def run(model, data, split):
    X, y = BUNDLED[data](return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=split)
    name, parameters = MODELS[model]
    fitted = make(name, X, y, split, **parameters).fit(X, y)
    fitted = getattr(fitted, "best_", fitted)
    row = {"accuracy": 100 * fitted.score(X_test, y_test), "leaves": n_leaves(fitted),
           "kB": len(pickle.dumps(fitted)) / 1e3, "chosen": chosen(fitted),
           "ms": 1e3 * latency(fitted.predict, X_test, N_CALLS)}
    if model == DEFAULT and split == 0:
        frame, labels = BUNDLED[data](return_X_y=True, as_frame=True)
        of_frame = make(name, X, y, split).fit(frame, labels)
        row |= {"ms_unchecked": 1e3 * latency(
                    partial(fitted.predict, check_input=False), X_test, N_CALLS),
                "ms_frame": 1e3 * latency(of_frame.predict, frame, N_CALLS)}
    return [row]


def report(rows, folder):
    data = [name for name in DATA if name in set(rows["data"])]
    mean = rows.groupby(["model", "data"])[["accuracy", "leaves", "kB", *LATENCIES]].mean()
    print("| model |", *(f"{name.replace('_', ' ')}, % |" for name in data), "leaves | kB | ms |")
    print("|---" * (len(data) + 4) + "|")
    for model in [model for model in MODELS if model in set(rows["model"])]:
        means = mean.loc[model].loc[data]
        print("|", " | ".join([model, *(f"{each:.1f}" for each in means["accuracy"]), *(
            cells(means[column], digits) for column, digits in (
                ("leaves", 0), ("kB", 0), ("ms", 2)))]), "|")
    picked = rows.dropna(subset="chosen").groupby(["model", "data", "chosen"]).size()
    print("\nchosen\n", picked.to_string())
    print(f"\nms of {DEFAULT}: an array, with `check_input=False`, a data frame")
    for name in data:
        print(f"{name}:", cells(mean.loc[(DEFAULT, name), list(LATENCIES)], 3))


def cells(column, digits):
    return " / ".join("-" if np.isnan(each) else f"{each:.{digits}f}" for each in column)


BENCHMARK = Benchmark(
    "readme_table", "the table of the README", ("model", "data", "split"),
    ("accuracy", "leaves", "kB", "chosen", *LATENCIES), jobs, run, report)
