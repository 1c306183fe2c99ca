"""Figures 2, 3 and 4 of Norouzi et al. (2015), Efficient Non-greedy Optimization of Decision Trees.

The depths are some of the paper's. The 1000 epochs of figure 4 are a few, measured and scaled up.
"""

import time

import numpy as np

from experiments.data import split
from experiments.figures import accuracy_by_depth, epochs_by_depth, leaves_by_nu
from experiments.fitting import FIELDS, result
from experiments.methods import METHODS, tree
from experiments.runner import Experiment
from ngdt import ObliqueTreeClassifier
from ngdt.inference import loss_augmented_inference
from ngdt.optimizers import SGD, SSGD

DATA = ("segment", "satimage", "pendigits", "letter", "usps", "connect4", "mnist", "fashion_mnist")
COMPARED = ("axis-aligned", "random", "oc1", "co2", "non-greedy", "annealed")


def depth_jobs(quick):
    if quick:
        return [{"data": "digits", "depth": depth, "seed": 0, "method": method}
                for depth in (2, 4) for method in ("axis-aligned", "co2")]
    return [{"data": data, "depth": depth, "seed": 0, "method": method}
            for depth in (6, 10, 14, 18) for data in DATA for method in COMPARED]


def depth_run(data, depth, seed, method):
    return [result(METHODS[method](depth, seed), split(data, seed), seed)]


DEPTHS = Experiment(
    "depths", "accuracy of one tree by its depth (Norouzi 2015, figure 2)",
    ("data", "depth", "seed", "method"), FIELDS, depth_jobs, depth_run, accuracy_by_depth)


def leaf_jobs(quick):
    if quick:
        return [{"data": "digits", "depth": 4, "nu": nu} for nu in (1.0, 1000.0)]
    return [{"data": "mnist", "depth": depth, "nu": nu}
            for depth in (10, 13, 16) for nu in (0.1, 1.0, 4.0, 10.0, 43.0, 100.0, 1000.0)]


def leaf_run(data, depth, nu):
    """Stable SGD of the axis-aligned tree; active leaves are those that a sample reaches."""
    X, y, X_test, y_test = split(data, 0)
    initial = tree(depth, 0, "info_gain").fit(X, y)
    begin = time.process_time()
    model = tree(depth, 0, initial.tree_, SSGD(
        assignment="navigate", renew="plateau", nu=nu)).fit(X, y)
    return [{
        "initial": initial.tree_.n_leaves, "active": len(np.unique(model.apply(X))),
        "train": 100 * model.score(X, y), "test": 100 * model.score(X_test, y_test),
        "seconds": time.process_time() - begin}]


LEAVES = Experiment(
    "leaves", "active leaves by the size of the weights (Norouzi 2015, figure 3)",
    ("data", "depth", "nu"), ("initial", "active", "train", "test", "seconds"),
    leaf_jobs, leaf_run, leaves_by_nu)


N_EPOCHS = 3
N_SCORED = 2000     # samples for which scores are counted


def epoch_jobs(quick):
    data, depths = ("digits", (3, 5)) if quick else ("connect4", range(6, 19, 2))
    return [{"data": data, "depth": depth, "inference": inference}
            for depth in depths for inference in ("fast", "full")]


def epoch_run(data, depth, inference):
    """Time of some epochs of SGD with pruned searches, and scores of the last tree by either."""
    X, y, _, _ = split(data, 0)
    initial = tree(depth, 0, "info_gain").fit(X, y).tree_
    begin = time.process_time()
    initialised = tree(depth, 0, initial, SGD(inference=inference, epochs=1)).fit(X, y)
    between = time.process_time()
    model = ObliqueTreeClassifier(
        depth, init=initial, optimizer=SGD(inference=inference, epochs=N_EPOCHS + 1),
        validation_fraction=None, random_state=0).fit(X, y)
    # Both fits prepare the data in the same way: the difference is that of the epochs.
    seconds = (time.process_time() - between - (between - begin)) / N_EPOCHS
    sample = np.random.default_rng(0).permutation(len(y))[:N_SCORED]
    pruned, plain = (
        loss_augmented_inference(
            model.tree_, X[sample], y[sample], inference=inference, prune=prune).n_scored.mean()
        for prune in (True, False))
    return [{
        "leaves": initialised.tree_.n_leaves, "seconds": 1000 * seconds, "scored": pruned,
        "scored_without_pruning": plain}]


EPOCHS = Experiment(
    "epochs", "time of 1000 epochs by depth (Norouzi 2015, figure 4)",
    ("data", "depth", "inference"), ("leaves", "seconds", "scored", "scored_without_pruning"),
    epoch_jobs, epoch_run, epochs_by_depth)
