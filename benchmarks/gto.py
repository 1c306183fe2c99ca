"""The experiment of Bennett (1994): does training recover a tree that generated the data?

A random oblique tree splits the unit cube into two classes. Three trees are trained on random
samples of it: the greedy tree, grown until it makes no training error; the same tree, pruned to the
number of splits of the generating tree; and the pruned tree, optimized by GTO. Every trial has its
own seed. The output is `gto.csv`, a line per trial and tree, and `gto_table.csv`, the means that
the documentation shows. The paired tests are printed.
"""

from itertools import product

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon

from benchmarks.fitting import Fit
from benchmarks.runner import Benchmark
from ngdt import ObliqueTreeClassifier, Tree
from ngdt.initializers import GreedyLP
from ngdt.optimizers import GTO

DIMENSIONS, DECISIONS = (2, 5, 10, 20), (2, 3, 4)
N_TRAIN, N_TEST, N_TRIALS = 500, 3000, 20
METHODS = ("greedy", "pruned", "gto")
FIELDS = ("tree", "train_error", "test_error", "seconds", "n_decisions", "nonzeros", "iterations")


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


def jobs(quick):
    for decisions, dimensions in product(DECISIONS[:1] if quick else DECISIONS,
                                         DIMENSIONS[:1] if quick else DIMENSIONS):
        for number in range(1 if quick else N_TRIALS):
            yield {"dimensions": dimensions, "decisions": decisions, "trial": number}


def run(dimensions, decisions, trial):
    """Results of the three trees of a trial."""
    random = np.random.default_rng([dimensions, decisions, trial])
    truth = generating_tree(random, dimensions, decisions)
    X, X_test = (random.uniform(size=(n, dimensions)) for n in (N_TRAIN, N_TEST))
    y, y_test = (truth.predict(data).argmax(axis=1) for data in (X, X_test))
    for name, max_leaf_nodes, optimizer in zip(
            METHODS, (None, decisions + 1, decisions + 1), (None, None, GTO()), strict=True):
        fit = Fit.of(ObliqueTreeClassifier(
            max_depth=None, max_leaf_nodes=max_leaf_nodes, init=GreedyLP(), optimizer=optimizer,
            validation_fraction=None), X, y)
        tree = fit.model
        yield dict(zip(FIELDS, (
            name, 1 - tree.score(X, y), 1 - tree.score(X_test, y_test), fit.seconds,
            tree.tree_.n_internal, tree.tree_.n_nonzero, tree.n_iter_), strict=True))


def report(rows, folder):
    """Means of each size and overall: errors in per cent, seconds; and the paired tests."""
    values = rows.assign(train_error=100 * rows.train_error, test_error=100 * rows.test_error)
    lines = []
    for size, group in [*values.groupby(["decisions", "dimensions"]), (("all", "all"), values)]:
        means = group.groupby("tree")[["train_error", "test_error", "seconds"]].mean()
        lines.append([*size, *(f"{means.loc[name, field]:.1f}"
                               for field in means.columns for name in METHODS)])
    pd.DataFrame(lines).to_csv(
        folder / "gto_table.csv", header=False, index=False, lineterminator="\n")
    if len(rows) >= len(METHODS) * N_TRIALS:    # enough for a test
        print(*paired_tests(rows), sep="\n")


def paired_tests(rows):
    """Wilcoxon's signed-rank tests of the test errors of GTO against the other trees."""
    error = {name: group["test_error"].to_numpy() for name, group in rows.groupby("tree")}
    for name in METHODS[:2]:
        test = wilcoxon(error["gto"], error[name], alternative="less")
        yield (f"GTO against {name}: "
               f"{100 * (error['gto'] - error[name]).mean():+.1f} percentage points, "
               f"better in {(error['gto'] < error[name]).sum()}, "
               f"worse in {(error['gto'] > error[name]).sum()} "
               f"of {len(error['gto'])} trials, p = {test.pvalue:.1e}")


BENCHMARK = Benchmark(
    "gto", "does training recover a tree that generated the data? (Bennett, 1994)",
    ("dimensions", "decisions", "trial"), FIELDS, jobs, run, report)
