"""Test accuracy of every method, start and depth on the real data sets; a CSV row per fit.

    python benchmarks/accuracy.py --part defaults --output defaults.csv
    python benchmarks/accuracy.py --part methods --output methods.csv

`defaults` fits the estimators as a user would; `methods` runs each optimizer by itself from each
start, without the choice between start and result, on one held-out tenth.
"""

import argparse
import csv
import time

import numpy as np
from data import CLASSIFICATION, REGRESSION, classification, regression

from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt._problem import Problem
from ngdt._training import hold_out
from ngdt.initializers import CO2, InfoGain
from ngdt.losses import LogLoss
from ngdt.optimizers import SGD, SSGD

FIELDS = ["data", "depth", "seed", "start", "method", "test", "seconds", "leaves", "kept_start"]


def defaults(name, depth, seed):
    """The estimators with nothing but a depth, SSGD, and the greedy tree on all rows."""
    X, y, X_test, y_test = classification(name, seed)
    for method, optimizer in (("greedy", None), ("ssgd", "ssgd"), ("default", "auto")):
        tree = ObliqueTreeClassifier(max_depth=depth, optimizer=optimizer, random_state=seed)
        seconds = _time(lambda tree=tree: tree.fit(X, y))
        yield ("auto", method, 100 * tree.score(X_test, y_test), seconds,
               tree.tree_.n_leaves, tree.kept_start_)


def default_regression(name, depth, seed):
    """As `defaults`, in root mean squared errors."""
    X, y, X_test, y_test = regression(name, seed)
    for method, optimizer in (("greedy", None), ("default", "auto"), ("annealed", "annealed")):
        tree = ObliqueTreeRegressor(max_depth=depth, optimizer=optimizer, random_state=seed)
        seconds = _time(lambda tree=tree: tree.fit(X, y))
        rmse = np.sqrt(np.mean((tree.predict(X_test) - y_test) ** 2))
        yield "auto", method, rmse, seconds, tree.tree_.n_leaves, tree.kept_start_


def methods(name, depth, seed):
    """Each start, and each optimizer from it."""
    X, y, X_test, y_test = classification(name, seed)
    loss, k = LogLoss(), int(y.max()) + 1
    weight, validation = hold_out(np.ones(len(y)), 0.1, y, seed)
    problem = Problem(
        X, loss.encode(y, k), loss, k, weight, validation, max_depth=depth, random_state=seed)

    def row(start, method, tree, seconds):
        test = 100 * np.mean(tree.predict(X_test).argmax(axis=1) == y_test)
        return start, method, test, seconds, tree.n_leaves, ""

    for start, init in (("info_gain", InfoGain()), ("co2", CO2())):
        begin = time.perf_counter()
        greedy = init.grow(problem)
        yield row(start, "greedy", greedy, time.perf_counter() - begin)
        for method, optimizer in (
                ("sgd", SGD()),
                ("ssgd_navigate", SSGD(assignment="navigate", renew="epoch")),
                ("ssgd_best", SSGD())):
            begin = time.perf_counter()
            tree, _ = optimizer.improve(greedy, problem)
            yield row(start, method, tree, time.perf_counter() - begin)


def _time(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


PARTS = {
    "defaults": (defaults, CLASSIFICATION, (6, 10, 14)),
    "methods": (methods, CLASSIFICATION, (6, 10, 14)),
    "regression": (default_regression, REGRESSION, (8,)),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, default="defaults")
    parser.add_argument("--output", default="accuracy.csv")
    parser.add_argument("--data", nargs="*")
    parser.add_argument("--depths", nargs="*", type=int)
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    options = parser.parse_args()
    fit, names, depths = PARTS[options.part]
    with open(options.output, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(FIELDS)
        for seed in options.seeds:
            for depth in options.depths or depths:
                for name in options.data or names:
                    for row in fit(name, depth, seed):
                        writer.writerow([name, depth, seed, *row])
                        file.flush()


if __name__ == "__main__":
    main()
