"""The table of the README: one tree against other models, on data that come with scikit-learn.

    python benchmarks/readme_table.py

Means over five random splits into 70 % training and 30 % test samples, stratified by class. All
models have their default parameters, except that logistic regression gets standardized features,
and that 5-fold cross-validation chooses ccp_alpha of scikit-learn's tree. Prints Markdown: test
accuracy, and for the data sets in this order the mean number of leaves, the size of the pickle and
the time of a prediction for one sample, on one core. Below the table: what the default chose.
"""

import argparse
import pickle
import time
from collections import Counter
from functools import partial

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from ngdt import ObliqueTreeClassifier

DATA = {"breast cancer": load_breast_cancer, "digits": load_digits, "wine": load_wine}
MODELS = {
    "`ObliqueTreeClassifier`": lambda seed: ObliqueTreeClassifier(random_state=seed),
    '`ObliqueTreeClassifier(leaf="constant")`': lambda seed: ObliqueTreeClassifier(
        leaf="constant", random_state=seed),
    "pruned `DecisionTreeClassifier`": lambda seed: DecisionTreeClassifier(random_state=seed),
    "`LogisticRegression`": lambda seed: make_pipeline(StandardScaler(), LogisticRegression()),
    "`RandomForestClassifier`": lambda seed: RandomForestClassifier(random_state=seed),
    "`HistGradientBoostingClassifier`": lambda seed: HistGradientBoostingClassifier(
        random_state=seed),
}


def fit(model, X, y):
    """Fit, and choose ccp_alpha of a tree among those at which pruning changes it."""
    if not isinstance(model, DecisionTreeClassifier):
        return model.fit(X, y)
    # Rounding may make the smallest alphas negative. Some 40 of them cover the path.
    alphas = np.unique(np.maximum(model.cost_complexity_pruning_path(X, y).ccp_alphas, 0.0))
    alphas = alphas[::max(1, len(alphas) // 40)]
    return GridSearchCV(model, {"ccp_alpha": alphas}, cv=5).fit(X, y).best_estimator_


def milliseconds(predict, X, calls=100):
    """CPU time of a prediction for one sample, which other programs disturb less than wall time."""
    seconds = []
    for i in range(calls):
        x = X[i % len(X):][:1]
        start = time.process_time()
        predict(x)
        seconds.append(time.process_time() - start)
    return 1e3 * np.median(seconds)


def n_leaves(model):
    """Leaves of a tree, or of all trees of an ensemble. NaN for a linear model."""
    if hasattr(model, "get_n_leaves"):
        return model.get_n_leaves()
    if hasattr(model, "estimators_"):
        return sum(tree.get_n_leaves() for tree in model.estimators_)
    if hasattr(model, "_predictors"):
        return sum(tree.get_n_leaf_nodes() for trees in model._predictors for tree in trees)
    return np.nan


def chosen(model):
    """The candidate that won."""
    return model.candidates_["candidate"][model.candidates_["chosen"].index(True)]


def measure(make, load, seed, choices):
    """Test accuracy in per cent, leaves, size of the pickle in kB, milliseconds for one sample.

    What a default of this package chose is counted in ``choices``.
    """
    X, y = load(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    model = fit(make(seed), X, y)
    figures = [100 * model.score(X_test, y_test), n_leaves(model), len(pickle.dumps(model)) / 1e3,
               milliseconds(model.predict, X_test)]
    if getattr(model, "candidates_", None):
        choices[chosen(model)] += 1
    return figures


def latencies(load):
    """Milliseconds of the default: a row of an array, the same unchecked, a row of a data frame."""
    found = []
    for as_frame in (False, True):
        X, y = load(return_X_y=True, as_frame=as_frame)
        model = ObliqueTreeClassifier(random_state=0).fit(X, y)
        found.append(milliseconds(model.predict, X))
        if not as_frame:
            found.append(milliseconds(partial(model.predict, check_input=False), X))
    return found


def cells(column, digits):
    return " / ".join("-" if np.isnan(each) else f"{each:.{digits}f}" for each in column)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=5, help="random splits (default: 5)")
    splits = parser.parse_args().splits
    choices = {}
    print("| model |", *(f"{name}, % |" for name in DATA), "leaves | kB | ms |")
    print("|---" * (len(DATA) + 4) + "|")
    for name, make in MODELS.items():
        counts = [Counter() for _ in DATA]
        # One row for each data set, one column for each figure.
        mean = np.array([
            np.mean([measure(make, load, seed, count) for seed in range(splits)], axis=0)
            for load, count in zip(DATA.values(), counts, strict=True)])
        accuracy, leaves, size, latency = mean.T
        print("|", " | ".join([
            name, *(f"{each:.1f}" for each in accuracy), cells(leaves, 0), cells(size, 0),
            cells(latency, 2)]), "|", flush=True)
        if any(counts):
            choices[name] = dict(zip(DATA, map(dict, counts), strict=True))
    print("\nchosen:", *(f"{name}: {found}" for name, found in choices.items()), sep="\n")
    print("\nms of `ObliqueTreeClassifier`: an array, with `check_input=False`, a data frame")
    for name, load in DATA.items():
        print(f"{name}:", " / ".join(f"{each:.3f}" for each in latencies(load)))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
