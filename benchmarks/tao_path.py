"""Paths of TAO over C on MNIST, from several initial trees; a CSV line per tree.

    python benchmarks/tao_path.py --output benchmarks/results/tao_path.csv

There are 48 000 training and 12 000 validation samples. An annealed initial tree is the best of
five seeds. Two trees of each path are chosen: the one with the lowest validation error ("best"),
and the one with the lowest validation error among those of at most 40 splits and 3000 nonzero
weights ("small"). That is 0.93 % of the weights of a dense tree of 410 splits, the size of the
initial tree in the paper. The small tree is also trained further with soft decisions, which keep
its zero weights ("refitted"). The 10 000 test samples are used for these trees and the initial one.
"""

import argparse
import csv
import time

import numpy as np
from data import classification
from sklearn.model_selection import train_test_split

from ngdt import ObliqueTreeClassifier, tao_path
from ngdt.optimizers import TAO, Annealed, EndToEnd
from ngdt.path import prediction_cost

MOST_SPLITS, MOST_NONZEROS = 40, 3000
CS = np.geomspace(0.1, 0.0005, 14)
INITIAL = {
    "greedy 12": {"init": "info_gain", "max_depth": 12, "optimizer": None},
    "greedy 8": {"init": "info_gain", "max_depth": 8, "optimizer": None},
    "annealed 6": {"init": "random_complete", "max_depth": 6, "optimizer": Annealed()},
    "annealed 5": {"init": "random_complete", "max_depth": 5, "optimizer": Annealed()},
}
FIELDS = [
    "initial", "alpha", "C", "chosen", "train", "validation", "test", "splits", "nonzeros",
    "path_mean", "path_min", "path_max", "mult_mean", "mult_min", "mult_max", "seconds"]


def fit(X, y, seed=0, **parameters):
    model = ObliqueTreeClassifier(**parameters, validation_fraction=None, random_state=seed)
    return model.fit(X, y).tree_


def error(tree, X, y):
    """Share of misclassified samples in per cent."""
    return round(100 * np.mean(tree.predict(X).argmax(axis=1) != y), 3)


def path_of(name, alpha, X, X_val, y, y_val):
    """Trees of a path, with the C, the role and the seconds of each."""
    seeds = range(5 if name.startswith("annealed") else 1)
    initial = min((fit(X, y, seed, **INITIAL[name]) for seed in seeds),
                  key=lambda tree: error(tree, X_val, y_val))
    yield initial, "", "initial", ""
    clock = time.perf_counter()
    path = tao_path(
        X, y, Cs=CS, X_val=X_val, y_val=y_val, verbose=1,
        estimator=ObliqueTreeClassifier(init=initial, optimizer=TAO(alpha=alpha)))
    seconds = (time.perf_counter() - clock) / len(CS)
    fits = (path.n_internal <= MOST_SPLITS) & (path.n_nonzero <= MOST_NONZEROS)
    assert fits.any(), "no C is small enough"
    small = np.where(fits, path.validation_error, np.inf).argmin()
    roles = {int(path.validation_error.argmin()): "best", int(small): "small"}
    for i, tree in enumerate(path.trees):
        yield tree, path.Cs[i], roles.get(i, ""), seconds
    clock = time.perf_counter()
    refitted = fit(X, y, init=path.trees[small], optimizer=EndToEnd(epochs=20, keep_zeros=True))
    yield refitted, path.Cs[small], "refitted", time.perf_counter() - clock


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="tao_path.csv")
    parser.add_argument("--initial", nargs="+", choices=INITIAL, default=INITIAL)
    parser.add_argument("--alpha", type=float, default=0.0, help="0 as in the paper")
    options = parser.parse_args()
    X, y, X_test, y_test = classification("mnist", 0)
    X, X_val, y, y_val = train_test_split(X, y, test_size=12000, random_state=0, stratify=y)

    with open(options.output, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        for name in options.initial:
            for tree, C, role, seconds in path_of(name, options.alpha, X, X_val, y, y_val):
                lengths, multiplications = prediction_cost(tree, X)
                writer.writerow([
                    name, options.alpha, C and round(C, 6), role, error(tree, X, y),
                    error(tree, X_val, y_val),
                    error(tree, X_test, y_test) if role else "", tree.n_internal,
                    tree.n_nonzero, *(round(float(value), 2) for value in lengths),
                    *(round(float(value), 2) for value in multiplications),
                    seconds and round(seconds, 1)])
                file.flush()


if __name__ == "__main__":
    main()
