"""The default beside the greedy tree where axis-aligned splits do well.

Synthetic data with axis-aligned classes, heavy tails, one-hot categories, many noise features,
noisy labels or rare classes, and scikit-learn's bundled data sets. A row has the test accuracy of
both in per cent, their paired difference in standard errors, and whether the baseline was kept.
"""

import numpy as np
from sklearn.datasets import make_classification

from benchmarks.data import BUNDLED
from benchmarks.runner import Benchmark
from ngdt import ObliqueTreeClassifier

N_TRAIN, N_TEST = 6000, 20_000


def axis_aligned_labels(rng, X, depth, n_classes):
    """Labels of a random axis-aligned tree over the first features."""
    node = np.zeros(len(X), dtype=int)
    for _ in range(depth):
        below = node.copy()
        for v in np.unique(node):
            samples = node == v
            j = rng.integers(min(X.shape[1], 8))
            threshold = np.quantile(X[samples, j], rng.uniform(0.25, 0.75))
            below[samples] = 2 * v + (X[samples, j] > threshold)
        node = below
    return rng.integers(0, n_classes, 2**depth)[node]


def boxes(rng, n):
    X, y = rng.uniform(size=(n, 10)), np.zeros(n, dtype=bool)
    for _ in range(4):
        center, features = rng.uniform(0.2, 0.8, 10), rng.choice(10, 3, replace=False)
        y |= (np.abs(X[:, features] - center[features]) < 0.25).all(axis=1)
    return X, y.astype(int)


def checkerboard(rng, n):
    X = rng.uniform(size=(n, 5))
    return X, (4 * X[:, :2]).astype(int).sum(axis=1) % 2


def lognormal(rng, n):
    X = np.exp(2 * rng.normal(size=(n, 10)))
    return X, axis_aligned_labels(rng, X, 4, 3)


def fifth_powers(rng, n):
    Z = rng.normal(size=(n, 8))
    return np.sign(Z) * np.abs(Z) ** 5, (Z[:, :4].sum(axis=1) > 0).astype(int)


def one_hot(rng, n):
    codes, t = rng.integers(0, 8, size=(n, 6)), rng.integers(0, 2, size=(6, 8))
    y = np.where(t[0][codes[:, 0]] == 1, 2 * t[1][codes[:, 1]] + t[2][codes[:, 2]],
                 t[3][codes[:, 3]] + t[4][codes[:, 4]])
    return np.eye(8)[codes].reshape(n, -1), y


def noise_features(rng, n):
    X = rng.normal(size=(n, 100))
    return X, axis_aligned_labels(rng, X[:, :3], 3, 2)


def linear_among_noise(rng, n):
    X = rng.normal(size=(n, 60))
    return X, (X[:, :4].sum(axis=1) > 0).astype(int)


def rare_classes(rng, n):
    X, y = rng.normal(size=(n, 12)), np.zeros(n, dtype=int)
    for c in range(1, 6):
        y[(X[:, rng.choice(12, 2, replace=False)] > 1.1).all(axis=1)] = c
    return X, y


def deep_tree(rng, n):
    X = rng.normal(size=(n, 10))
    return X, axis_aligned_labels(rng, X, 6, 4)


def noisy_labels(rng, n):
    X = rng.normal(size=(n, 10))
    y, noisy = axis_aligned_labels(rng, X, 4, 3), rng.uniform(size=n) < 0.25
    y[noisy] = rng.integers(0, 3, noisy.sum())
    return X, y


def integers(rng, n):
    X = rng.integers(0, 10, size=(n, 12)) * np.where(np.arange(12) % 2, 1.0, 1000.0)
    return X, axis_aligned_labels(rng, X, 5, 3)


def clusters(rng, n):
    return make_classification(
        n, 20, n_informative=8, n_classes=3, n_clusters_per_class=3,
        random_state=int(rng.integers(2**31)))


SYNTHETIC = {source.__name__: source for source in (
    boxes, checkerboard, lognormal, fifth_powers, one_hot, noise_features, linear_among_noise,
    rare_classes, deep_tree, noisy_labels, integers, clusters)}


def draw(data, seed):
    rng = np.random.default_rng(seed)
    if data in SYNTHETIC:
        X, y = SYNTHETIC[data](rng, N_TRAIN + N_TEST)
        n_train = N_TRAIN
    else:
        X, y = BUNDLED[data](return_X_y=True)
        order = rng.permutation(len(y))
        X, y, n_train = X[order], y[order], int(0.7 * len(y))
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


def jobs(quick):
    return [{"data": data, "depth": depth, "seed": seed}
            for data in (("iris",) if quick else (
                *SYNTHETIC, "digits", "wine", "iris", "breast_cancer"))
            for depth in (6, 10) for seed in range(1 if quick else 3)]


def run(data, depth, seed):
    X, y, X_test, y_test = draw(data, seed)
    greedy = ObliqueTreeClassifier(depth, optimizer=None).fit(X, y)
    tree = ObliqueTreeClassifier(depth, random_state=seed).fit(X, y)
    correct = [model.predict(X_test) == y_test for model in (greedy, tree)]
    difference = correct[1].astype(float) - correct[0]
    error = difference.std() / np.sqrt(len(difference))
    return [{"greedy": 100 * correct[0].mean(), "default": 100 * correct[1].mean(),
             "z": difference.mean() / error if error > 0 else 0.0,
             "baseline_kept": tree.baseline_kept_}]


BENCHMARK = Benchmark(
    "synthetic", "the default beside the greedy tree where axis-aligned splits do well",
    ("data", "depth", "seed"), ("greedy", "default", "z", "baseline_kept"), jobs, run)
