"""Test accuracy by initializer, optimizer and depth on real data sets; a CSV line per fit.

    python benchmarks/accuracy.py --part defaults --output defaults.csv
    python benchmarks/accuracy.py --part methods --output methods.csv
    python benchmarks/accuracy.py --part annealed --seeds 0 1 2 3 4 5 6 7 8 --output annealed.csv
    python benchmarks/accuracy.py --part soft --output soft.csv
    python benchmarks/accuracy.py --part classics --output classics.csv
    python benchmarks/accuracy.py --part tao --output tao.csv

The parts:

- `defaults`: the estimators with default parameters, apart from the depth.
- `methods`: each optimizer by itself from each initial tree, with a tenth of the training samples
  for validation, and without a comparison with the baseline.
- `soft`: the same for the optimizers with soft decisions, at the depths of published results.
- `classics`: random oblique splits and those of OC1 compared with axis-aligned splits.
- `tao`: TAO by itself and TAO followed by SSGD, with C chosen on a fifth of the training samples.
  The test samples are used once for each.
"""

import argparse
import csv
import time

import numpy as np
from data import CLASSIFICATION, REGRESSION, classification, regression

from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt._training.folds import hold_out
from ngdt._training.problem import Problem
from ngdt.initializers import CO2, InfoGain, RandomComplete, SoftGreedy
from ngdt.losses import LogLoss
from ngdt.optimizers import SGD, SSGD, TAO, Annealed, EndToEnd

FIELDS = ["data", "depth", "seed", "init", "method", "test", "seconds", "leaves", "baseline_kept"]


def defaults(name, depth, seed):
    """The default estimator, SSGD, and the greedy tree on all training samples."""
    X, y, X_test, y_test = classification(name, seed)
    for method, optimizer in (("greedy", None), ("ssgd", "ssgd"), ("default", "auto")):
        tree = ObliqueTreeClassifier(max_depth=depth, optimizer=optimizer, random_state=seed)
        seconds = _time(lambda tree=tree: tree.fit(X, y))
        yield ("auto", method, 100 * tree.score(X_test, y_test), seconds,
               tree.tree_.n_leaves, tree.baseline_kept_)


def default_regression(name, depth, seed):
    """As `defaults`, for regression: root mean squared errors, also for each kind of leaves."""
    X, y, X_test, y_test = regression(name, seed)
    for method, parameters in (
            ("greedy", {"optimizer": None}), ("default", {}), ("constant", {"leaf": "constant"}),
            ("linear", {"leaf": "linear"})):
        tree = ObliqueTreeRegressor(max_depth=depth, random_state=seed, **parameters)
        seconds = _time(lambda tree=tree: tree.fit(X, y))
        rmse = np.sqrt(np.mean((tree.predict(X_test) - y_test) ** 2))
        yield "auto", method, rmse, seconds, tree.tree_.n_leaves, tree.baseline_kept_


def methods(name, depth, seed):
    """Each initial tree, and each optimizer from it."""
    yield from _chains(name, depth, seed, [
        (name_of_init, init, [
            ("sgd", SGD()),
            ("ssgd_navigate", SSGD(assignment="navigate", renew="epoch")),
            ("ssgd_best", SSGD()),
        ])
        for name_of_init, init in (("info_gain", InfoGain()), ("co2", CO2()))])


def soft(name, depth, seed):
    """The optimizers with soft decisions. Random splits alone are not evaluated."""
    yield from _chains(name, depth, seed, [
        ("soft_greedy", SoftGreedy(), [("end_to_end", EndToEnd())]),
        ("random_complete", RandomComplete(), [
            ("end_to_end", EndToEnd()), ("annealed", Annealed())]),
    ])


def annealed(name, depth, seed):
    """Complete fits by annealed soft training: three seeds on each of three data splits."""
    X, y, X_test, y_test = classification(name, seed // 3)
    tree = ObliqueTreeClassifier(
        depth, init="random_complete", optimizer=Annealed(), random_state=seed)
    seconds = _time(lambda: tree.fit(X, y))
    yield ("random_complete", "annealed", 100 * tree.score(X_test, y_test), seconds,
           tree.tree_.n_leaves, "")


def classics(name, depth, seed):
    """Greedy trees with axis-aligned and with oblique splits, on all training samples."""
    X, y, X_test, y_test = classification(name, seed)
    for init in ("info_gain", "random", "oc1"):
        tree = ObliqueTreeClassifier(depth, init=init, optimizer=None, random_state=seed)
        seconds = _time(lambda tree=tree: tree.fit(X, y))
        yield (init, "greedy", 100 * tree.score(X_test, y_test), seconds,
               tree.tree_.n_leaves, "")


def tao(name, depth, seed):
    """TAO from a greedy tree with either penalty, SSGD, and SSGD from the result of TAO."""
    X, y, X_test, y_test = classification(name, seed)
    weight, validation = hold_out(np.ones(len(y)), 0.2, y, seed)

    def fit(optimizer, init="info_gain"):
        tree = ObliqueTreeClassifier(
            depth, init=init, optimizer=[optimizer], validation_fraction=0, random_state=seed)
        seconds = _time(lambda: tree.fit(X, y, weight))
        return tree, seconds, tree.score(X, y, validation)

    def row(method, fits):
        tree, seconds, _ = max(fits, key=lambda fit: fit[2])
        return ("info_gain", method, 100 * tree.score(X_test, y_test), seconds,
                tree.tree_.n_leaves, "")

    yield row("ssgd", [fit(SSGD())])
    chains = []
    for penalty, costs in (("l1", (0.01, 0.03, 0.1, 0.3)), ("l2", (0.0003, 0.003, 0.03, 0.1))):
        fits = [fit(TAO(C, penalty=penalty)) for C in costs]
        yield row(f"tao_{penalty}", fits)
        for tree, seconds, _ in fits:
            after = fit(SSGD(), tree.tree_)
            chains.append((after[0], seconds + after[1], after[2]))
    yield row("tao_ssgd", chains)


def _chains(name, depth, seed, chains):
    X, y, X_test, y_test = classification(name, seed)
    loss, k = LogLoss(), int(y.max()) + 1
    weight, validation = hold_out(np.ones(len(y)), 0.1, y, seed)
    problem = Problem(
        X, loss.encode(y, k), loss, k, weight, validation, max_depth=depth, random_state=seed)

    def row(init, method, tree, seconds):
        test = 100 * np.mean(tree.predict(X_test).argmax(axis=1) == y_test)
        return init, method, test, seconds, tree.n_leaves, ""

    for name_of_init, init, optimizers in chains:
        begin = time.perf_counter()
        initial = init.initialize(problem)
        if name_of_init != "random_complete":
            yield row(name_of_init, "greedy", initial, time.perf_counter() - begin)
        for method, optimizer in optimizers:
            begin = time.perf_counter()
            tree = optimizer.optimize(initial, problem).tree
            yield row(name_of_init, method, tree, time.perf_counter() - begin)


def _time(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


# Depths of the published results.
PUBLISHED = {"mnist": (8,), "connect4": (8,), "letter": (10,), "pendigits": (8,),
             "satimage": (6,), "segment": (8,)}

# Functions that fit, with the depths for each data set.
PARTS = {
    "defaults": (defaults, dict.fromkeys(CLASSIFICATION, (6, 10, 14))),
    "methods": (methods, dict.fromkeys(CLASSIFICATION, (6, 10, 14))),
    "regression": (default_regression, dict.fromkeys(REGRESSION, (8,))),
    "soft": (soft, PUBLISHED),
    "annealed": (annealed, PUBLISHED),
    "classics": (classics, dict.fromkeys(("pendigits", "letter"), (8,))),
    "tao": (tao, {**PUBLISHED, "letter": (10, 12, 14), "pendigits": (8, 10)}),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, default="defaults")
    parser.add_argument("--output", default="accuracy.csv")
    parser.add_argument("--data", nargs="*")
    parser.add_argument("--depths", nargs="*", type=int)
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    options = parser.parse_args()
    fit, depths = PARTS[options.part]
    with open(options.output, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(FIELDS)
        for seed in options.seeds:
            for name in options.data or depths:
                for depth in options.depths or depths[name]:
                    for row in fit(name, depth, seed):
                        writer.writerow([name, depth, seed, *row])
                        file.flush()


if __name__ == "__main__":
    main()
