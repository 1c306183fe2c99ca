"""Figures 2, 3 and 4 of Norouzi et al. (2015), Efficient Non-greedy Optimization of Decision Trees.

The 1000 epochs of figure 4 are a few, measured and scaled up.
"""

import time

import numpy as np

from benchmarks.data import split
from benchmarks.figures import accuracy_by_depth, epochs_by_depth, leaves_by_nu
from benchmarks.fitting import FIELDS, Fit, result
from benchmarks.models import METHODS, tree
from benchmarks.runner import Benchmark
from ngdt.inference import loss_augmented_inference
from ngdt.optimizers import SGD, SSGD

DATA = ("segment", "satimage", "pendigits", "letter", "usps", "connect4", "mnist", "fashion_mnist")
COMPARED = ("axis-aligned", "random", "oc1", "co2", "non-greedy", "ssgd", "annealed")


def depth_jobs(quick):
    if quick:
        return [{"data": "digits", "depth": depth, "seed": 0, "method": method}
                for depth in (2, 4) for method in ("axis-aligned", "co2")]
    return [{"data": data, "depth": depth, "seed": 0, "method": method}
            for depth in range(6, 19, 2) for data in DATA for method in COMPARED]


def depth_run(data, depth, seed, method):
    return [result(METHODS[method](depth, seed), split(data, seed), seed)]


DEPTHS = Benchmark(
    "depths", "accuracy of one tree by its depth (Norouzi 2015, figure 2)",
    ("data", "depth", "seed", "method"), FIELDS, depth_jobs, depth_run, accuracy_by_depth)


NUS, LEAF_EPOCHS = (1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0, 1000.0), 10


def leaf_jobs(quick):
    if quick:
        return [{"data": "digits", "depth": 4, "nu": nu} for nu in (1.0, 1000.0)]
    return [{"data": "mnist", "depth": depth, "nu": nu}
            for depth in (10, 13, 16) for nu in NUS]


def leaf_run(data, depth, nu):
    """Stable SGD of the axis-aligned tree; active leaves are those that a sample reaches."""
    X, y, X_test, y_test = split(data, 0)
    initial = tree(depth, 0, "info_gain").fit(X, y)
    fit = Fit.of(tree(depth, 0, initial.tree_, SSGD(
        assignment="navigate", renew="plateau", nu=nu, epochs=LEAF_EPOCHS)), X, y)
    model = fit.model
    return [{
        "initial": initial.tree_.n_leaves, "active": len(np.unique(model.apply(X))),
        "nonzeros": model.tree_.n_nonzero,
        "train": 100 * model.score(X, y), "test": 100 * model.score(X_test, y_test),
        "seconds": fit.seconds}]


LEAVES = Benchmark(
    "leaves", "active leaves by the size of the weights (Norouzi 2015, figure 3)",
    ("data", "depth", "nu"),
    ("initial", "active", "nonzeros", "train", "test", "seconds"),
    leaf_jobs, leaf_run, leaves_by_nu)


N_EPOCHS = 10
N_SCORED = 1000     # samples for which searches without pruning are counted and timed


def epoch_jobs(quick):
    data, depths = ("digits", (2, 3)) if quick else ("connect4", range(6, 19, 2))
    return [{"data": data, "depth": depth, "inference": inference}
            for depth in depths for inference in ("fast", "full")]


def epoch_run(data, depth, inference):
    """Time and scores of some epochs of SGD, which prunes its searches, and of the searches alone.

    The searches with and without pruning are those of some samples in the initial tree.
    """
    X, y, _, _ = split(data, 0)
    initial = tree(depth, 0, "info_gain").fit(X, y).tree_
    one, more = (Fit.of(tree(depth, 0, initial, SGD(inference=inference, epochs=epochs)), X, y)
                 for epochs in (1, N_EPOCHS + 1))
    # Both fits prepare the data in the same way: their difference is that of the epochs.
    model, seconds = more.model, (more.seconds - one.seconds) / N_EPOCHS
    sample = np.random.default_rng(0).permutation(len(y))[:N_SCORED]
    start = initial.densify()
    row = {"leaves": initial.n_leaves, "nonzeros": model.tree_.n_nonzero, "seconds": 1000 * seconds,
           "scored": float(np.mean(model.history_["n_scored"]))}
    for prune, suffix in ((True, ""), (False, "_without_pruning")):
        begin = time.process_time()
        searched = loss_augmented_inference(
            start, X[sample], y[sample], inference=inference, prune=prune)
        searching = (time.process_time() - begin) * len(y) / len(sample)
        row |= {f"search_seconds{suffix}": 1000 * searching,
                f"search_scored{suffix}": float(searched.n_scored.mean())}
    return [row]


EPOCHS = Benchmark(
    "epochs", "time of 1000 epochs by depth (Norouzi 2015, figure 4)",
    ("data", "depth", "inference"),
    ("leaves", "nonzeros", "seconds", "scored", "search_seconds", "search_scored",
     "search_seconds_without_pruning", "search_scored_without_pruning"),
    epoch_jobs, epoch_run, epochs_by_depth)
