"""Paths of TAO over C on MNIST, from several starts; a CSV row per tree.

    python benchmarks/tao_path.py --output benchmarks/results/tao_path.csv

48 000 rows to train on, 12 000 to choose by. Of an annealed start, the best of five seeds goes on.
Chosen are, of each path: the tree with the lowest validation error ("best"), and the one with the
lowest among those of at most 40 splits and 3000 nonzeros ("small"), which is 0.93 % of the weights
of a dense tree of 410 splits, the size of the one that the paper starts from. The small one is also
trained further by soft decisions, which keep its zeros ("refitted"). The 10 000 test rows are read
for these, and for the start.
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
STARTS = {
    "greedy 12": {"init": "info_gain", "max_depth": 12, "optimizer": None},
    "greedy 8": {"init": "info_gain", "max_depth": 8, "optimizer": None},
    "annealed 6": {"init": "random_complete", "max_depth": 6, "optimizer": Annealed()},
    "annealed 5": {"init": "random_complete", "max_depth": 5, "optimizer": Annealed()},
}
FIELDS = [
    "start", "alpha", "C", "chosen", "train", "validation", "test", "splits", "nonzeros",
    "path_mean", "path_min", "path_max", "mult_mean", "mult_min", "mult_max", "seconds"]


def fit(X, y, seed=0, **parameters):
    model = ObliqueTreeClassifier(**parameters, validation_fraction=None, random_state=seed)
    return model.fit(X, y).tree_


def per_cent_wrong(tree, X, y):
    return round(100 * np.mean(tree.predict(X).argmax(axis=1) != y), 3)


def path_of(start, alpha, X, X_val, y, y_val):
    """Trees of a path, C and role of each, and the seconds that one took."""
    seeds = range(5 if start.startswith("annealed") else 1)
    begin = min((fit(X, y, seed, **STARTS[start]) for seed in seeds),
                key=lambda tree: per_cent_wrong(tree, X_val, y_val))
    yield begin, "", "start", ""
    clock = time.perf_counter()
    path = tao_path(
        X, y, Cs=CS, X_val=X_val, y_val=y_val, verbose=1,
        estimator=ObliqueTreeClassifier(init=begin, optimizer=TAO(alpha=alpha)))
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
    parser.add_argument("--starts", nargs="+", choices=STARTS, default=STARTS)
    parser.add_argument("--alpha", type=float, default=0.0, help="0 is the paper's")
    options = parser.parse_args()
    X, y, X_test, y_test = classification("mnist", 0)
    X, X_val, y, y_val = train_test_split(X, y, test_size=12000, random_state=0, stratify=y)

    with open(options.output, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        for start in options.starts:
            for tree, C, role, seconds in path_of(start, options.alpha, X, X_val, y, y_val):
                lengths, multiplications = prediction_cost(tree, X)
                writer.writerow([
                    start, options.alpha, C and round(C, 6), role, per_cent_wrong(tree, X, y),
                    per_cent_wrong(tree, X_val, y_val),
                    per_cent_wrong(tree, X_test, y_test) if role else "", tree.n_internal,
                    tree.n_nonzero, *(round(float(number), 2) for number in lengths),
                    *(round(float(number), 2) for number in multiplications),
                    seconds and round(seconds, 1)])
                file.flush()


if __name__ == "__main__":
    main()
