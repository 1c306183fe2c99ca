"""The experiment of Bennett (1994): does training recover a tree that generated the data?

    python experiments/gto.py --output experiments/results

A random oblique tree splits the unit cube into two classes. Three trees are trained on random
samples of it: the greedy tree, grown until it makes no training error; the same tree, pruned to the
number of splits of the generating tree; and the pruned tree, optimized by GTO. Every trial has its
own seed. The output is `gto.csv`, a line per trial and tree, and `gto_table.csv`, the means that
the documentation shows. The means and the paired tests are also printed.
"""

import argparse
import csv
import time
from itertools import product
from pathlib import Path

import numpy as np
from scipy.stats import wilcoxon

from ngdt import ObliqueTreeClassifier, Tree
from ngdt.initializers import GreedyLP
from ngdt.optimizers import GTO

DIMENSIONS, DECISIONS = (2, 5, 10, 20), (2, 3, 4)
N_TRAIN, N_TEST, N_TRIALS = 500, 3000, 20
METHODS = ("greedy", "pruned", "gto")
FIELDS = ["dimensions", "decisions", "trial", "tree", "train_error", "test_error", "seconds",
          "n_decisions", "iterations"]


def generating_tree(random, n_features, n_internal):
    """A random tree of two classes, each with a quarter of the cube or more.

    The leaf with the largest part of the cube is split in a random direction, through one of its
    samples, with a fifth of them or more on either side, until there are enough splits. The classes
    of leaves are random; siblings have different classes.
    """
    samples = random.uniform(size=(5000, n_features))
    while True:
        tree = _random_tree(random, samples, n_internal)
        share = tree.predict(samples)[:, 1].mean()
        if 0.25 <= share <= 0.75:
            return tree


def _random_tree(random, samples, n_internal):
    weights, thresholds = [], []
    children = np.zeros((n_internal, 2), dtype=np.int32)
    leaves = [(samples, None)]   # samples of the leaf, and the entry of its id in children
    for node in range(n_internal):
        inside, entry = leaves.pop(max(range(len(leaves)), key=lambda i: len(leaves[i][0])))
        right = np.zeros(len(inside), dtype=bool)
        while not 0.2 < right.mean() < 0.8:
            direction = random.normal(size=samples.shape[1])
            direction /= np.linalg.norm(direction)
            threshold = inside[random.integers(len(inside))] @ direction
            right = inside @ direction > threshold
        weights.append(direction)
        thresholds.append(threshold)
        if entry is not None:
            children[entry] = node
        leaves += [(inside[~right], (node, 0)), (inside[right], (node, 1))]
    for leaf, (_, entry) in enumerate(leaves):
        children[entry] = ~leaf
    one = random.integers(2, size=n_internal + 1)
    for left, right in children:
        if left < 0 and right < 0:
            one[~right] = 1 - one[~left]
    return Tree(weights, thresholds, children[:, 0].copy(), children[:, 1].copy(),
                np.eye(2)[one])


def trial(n_features, n_internal, number):
    """Results of the three trees of a trial."""
    random = np.random.default_rng([n_features, n_internal, number])
    truth = generating_tree(random, n_features, n_internal)
    X, X_test = (random.uniform(size=(n, n_features)) for n in (N_TRAIN, N_TEST))
    y, y_test = (truth.predict(data).argmax(axis=1) for data in (X, X_test))
    for name, max_leaf_nodes, optimizer in zip(
            METHODS, (None, n_internal + 1, n_internal + 1), (None, None, GTO()), strict=True):
        begin = time.perf_counter()
        tree = ObliqueTreeClassifier(
            max_depth=None, max_leaf_nodes=max_leaf_nodes, init=GreedyLP(), optimizer=optimizer,
            validation_fraction=None).fit(X, y)
        seconds = time.perf_counter() - begin
        yield dict(zip(FIELDS, (
            n_features, n_internal, number, name, 1 - tree.score(X, y),
            1 - tree.score(X_test, y_test), seconds, tree.tree_.n_internal, tree.n_iter_),
            strict=True))


def summary(rows):
    """Mean errors in per cent and mean seconds of each tree, by size of the trials and overall."""
    for size in [*product(DECISIONS, DIMENSIONS), ("all", "all")]:
        group = [row for row in rows
                 if size in [(row["decisions"], row["dimensions"]), ("all", "all")]]
        if group:
            means = [
                _mean(group, name, field) * (1 if field == "seconds" else 100)
                for field in ("train_error", "test_error", "seconds") for name in METHODS]
            yield [*size, *(f"{mean:.1f}" for mean in means)]


def _mean(rows, name, field):
    return np.mean([row[field] for row in rows if row["tree"] == name])


def paired_tests(rows):
    """Wilcoxon's signed-rank tests of the test errors of GTO against the other trees."""
    error = {name: np.array([row["test_error"] for row in rows if row["tree"] == name])
             for name in METHODS}
    for name in METHODS[:2]:
        test = wilcoxon(error["gto"], error[name], alternative="less")
        yield (f"GTO against {name}: "
               f"{100 * (error['gto'] - error[name]).mean():+.1f} percentage points, "
               f"better in {(error['gto'] < error[name]).sum()}, "
               f"worse in {(error['gto'] > error[name]).sum()} "
               f"of {len(error['gto'])} trials, p = {test.pvalue:.1e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--trials", type=int, default=N_TRIALS)
    arguments = parser.parse_args()
    rows = []
    for n_internal, n_features in product(DECISIONS, DIMENSIONS):
        for number in range(arguments.trials):
            rows += trial(n_features, n_internal, number)
        print(*list(summary(rows))[-2], flush=True)
    arguments.output.mkdir(parents=True, exist_ok=True)
    with open(arguments.output / "gto.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {name: f"{value:.5g}" if isinstance(value, float) else value
             for name, value in row.items()} for row in rows)
    with open(arguments.output / "gto_table.csv", "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(summary(rows))
    print(*paired_tests(rows), sep="\n")


if __name__ == "__main__":
    main()
