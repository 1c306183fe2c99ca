"""Trees of ten leaves for MNIST whose splits are networks; a CSV line per tree.

    python benchmarks/deep.py trunk nodes --seeds 1

Of the 60 000 training samples, 10 000 are kept for validation, and the settings below were chosen
on them. The test samples are read for `--test` only. A sample costs the multiplications of the
networks on its path, or of the trunk and the linear splits on its path.
"""

import argparse
import csv
import sys
import time

import numpy as np
import torch
from data import classification
from torch.utils.flop_counter import FlopCounterMode

from ngdt.deep import CNN, DeepTreeClassifier
from ngdt.optimizers import Annealed

N_VALIDATION = 10_000
SHAPE = 1, 28, 28


def annealed(steps, learning_rate=0.002, weight_decay=0.0):
    return Annealed(steps=steps, learning_rate=learning_rate, weight_decay=weight_decay, q=0)


TREES = {
    # Features that all splits share.
    "trunk": {"trunk": CNN((8, 16), hidden=64, n_outputs=32), "optimizer": annealed(1500)},
    # The paper's network in each split.
    "nodes": {"split": CNN(), "init": "balanced", "optimizer": annealed(6000, 0.01, 0.4)},
}


def multiplications(tree, X):
    """Mean number of multiplications for a prediction."""
    network = (tree.trunk or tree.split)(SHAPE)
    with FlopCounterMode(display=False) as counter:
        network(torch.zeros(1, *SHAPE))
    per_network = counter.get_total_flops() // 2
    n_splits = depths(tree.tree_)[tree.apply(X)].mean()
    if tree.trunk is None:
        return n_splits * per_network
    return per_network + n_splits * tree.tree_.n_features


def depths(tree):
    """Number of splits on the path to each leaf."""
    depth, leaf_depth = np.zeros(tree.n_internal, dtype=int), np.zeros(tree.n_leaves, dtype=int)
    for node in range(tree.n_internal):
        for child in (tree.children_left[node], tree.children_right[node]):
            (depth if child >= 0 else leaf_depth)[child if child >= 0 else ~child] = depth[node] + 1
    return leaf_depth


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trees", nargs="+", choices=TREES)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--test", action="store_true", help="read the test samples, too")
    args = parser.parse_args()
    X, y, X_test, y_test = classification("mnist", 0)
    order = np.random.RandomState(0).permutation(len(X))
    train, validation = order[:-N_VALIDATION], order[-N_VALIDATION:]
    writer = csv.writer(sys.stdout)
    writer.writerow(
        ["tree", "seed", "leaves", "multiplications", "validation", "test", "processor_seconds"])
    for name in args.trees:
        for seed in range(args.seeds):
            begin = time.process_time()
            tree = DeepTreeClassifier(
                **TREES[name], input_shape=SHAPE, max_leaf_nodes=10, random_state=seed)
            tree.fit(X[train], y[train])
            seconds = time.process_time() - begin
            test = f"{tree.score(X_test, y_test):.4f}" if args.test else ""
            writer.writerow([
                name, seed, tree.tree_.n_leaves, round(multiplications(tree, X[validation])),
                f"{tree.score(X[validation], y[validation]):.4f}", test, round(seconds)])
            sys.stdout.flush()


if __name__ == "__main__":
    main()
