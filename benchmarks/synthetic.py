"""One tree beside other models by the shape of the rule: what a tree with oblique splits can learn.

Each rule draws samples of features and targets with NumPy's generator: 1000 for training, 5000 for
testing. A row has the accuracy, or R², of one model on one draw.
"""

import warnings

import numpy as np
from sklearn.datasets import make_classification, make_friedman1, make_friedman2, make_friedman3
from sklearn.metrics import accuracy_score, r2_score

from benchmarks.fitting import seconds_of
from benchmarks.models import make, n_leaves
from benchmarks.runner import Benchmark, write_table

N_TRAIN, N_TEST = 1000, 5000
METHODS = {"default": ("tree", {}), "small": ("tree", {"max_leaf_nodes": 8}),
           "pruned": ("pruned tree", {}), "linear": ("linear", {}),
           "forest": ("random forest", {"n_estimators": 300}), "boosting": ("boosting", {})}
NAMES = {"default": "Default", "small": "8 leaves", "pruned": "Pruned tree", "linear": "Linear",
         "forest": "Random forest", "boosting": "Boosting"}


def of_seed(source, **parameters):
    """A data set of scikit-learn."""
    return lambda rng, n: source(n, random_state=int(rng.integers(2**31)), **parameters)


def intervals(rng, n):
    X = rng.uniform(size=(n, 15))
    return X, ((X[:, 0] > 0.7) & (X[:, 1] < 0.5)) | ((X[:, 2] > 0.8) & (X[:, 3] > 0.3))


def checkerboard(rng, n):
    X = rng.uniform(size=(n, 5))
    return X, (4 * X[:, :2]).astype(int).sum(axis=1) % 2


def parity(rng, n):
    X = rng.uniform(size=(n, 8))
    return X, (X[:, :3] > 0.5).sum(axis=1) % 2


def sums_of_counts(rng, n):
    X = rng.poisson(1.5, size=(n, 20))
    return X.astype(float), X[:, :5].sum(axis=1) > X[:, 5:10].sum(axis=1)


def noisy_sum(rng, n):
    X = rng.normal(size=(n, 10))
    return X, (X[:, 0] + X[:, 1] > 0) ^ (rng.uniform(size=n) < 0.2)


def ratio(rng, n):
    X = np.exp(rng.normal(size=(n, 6)))
    return X, X[:, 0] > 1.2 * X[:, 1]


def product_of_powers(rng, n):
    X = np.exp(2 * rng.normal(size=(n, 8)))
    return X, X[:, 0] * X[:, 1] > X[:, 2]


def two_products(rng, n):
    X = rng.normal(size=(n, 8))
    return X, X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] > 0


def stripes(rng, n):
    X = rng.uniform(size=(n, 4))
    return X, (3 * (X[:, 0] + X[:, 1])).astype(int) % 2


def nearest_point(rng, n):
    points, X = 10 * rng.uniform(size=(15, 2)), rng.normal(size=(n, 5))
    X[:, :2] = 10 * rng.uniform(size=(n, 2))
    return X, ((X[:, None, :2] - points)**2).sum(axis=2).argmin(axis=1) % 3


def ball(rng, n):
    X = rng.normal(size=(n, 5))
    return X, (X**2).sum(axis=1) > 4.35      # the median


def spirals(rng, n):
    y, t = rng.integers(2, size=n), 1 + 3 * np.pi * rng.uniform(size=n)
    angle = t + np.pi * y
    return t[:, None] * np.c_[np.cos(angle), np.sin(angle)] + 0.4 * rng.normal(size=(n, 2)), y


def narrow_and_wide(rng, n):
    """Two normal classes of 20 features, one of twice the spread (ringnorm of Breiman)."""
    y = rng.integers(2, size=n)
    X = rng.normal(size=(n, 20))
    return np.where(y[:, None], 2 * X, X + 2 / 20**0.5), y


def waves(rng, n):
    """Mixtures of two of three triangles, 21 features (waveform of Breiman)."""
    peaks = np.maximum(6 - np.abs(np.arange(1, 22) - np.array([[7], [15], [11]])), 0)
    y, u = rng.integers(3, size=n), rng.uniform(size=(n, 1))
    first, second = np.array([[0, 1], [0, 2], [1, 2]])[y].T
    return u * peaks[first] + (1 - u) * peaks[second] + rng.normal(size=(n, 21)), y


def steps(rng, n):
    X = rng.uniform(size=(n, 8))
    return X, np.floor(5 * X[:, 0]) + 3 * (X[:, 1] > 0.5) + 0.5 * rng.normal(size=n)


def sine_and_trend(rng, n):
    X = 10 * rng.uniform(size=(n, 3))
    return X, 3 * np.sin(X[:, 0]) + 0.2 * X[:, 1] + 0.3 * rng.normal(size=n)


def hours_and_days(rng, n):
    hour, day = rng.integers(24, size=n), rng.integers(7, size=n)
    X = np.c_[hour, day, rng.normal(size=(n, 3))]
    return X, (10 * np.sin(hour / 12 * np.pi) + 5 * (day > 4) + X[:, 2] + rng.normal(size=n))


def bends_along_sums(rng, n):
    X = rng.normal(size=(n, 10))
    return X, (2 * np.maximum(X[:, 0] + X[:, 1], 0) + np.maximum(-X[:, 2], 0)
               + 0.3 * rng.normal(size=n))


def slopes_by_group(rng, n):
    group, X, slopes = rng.integers(5, size=n), rng.normal(size=(n, 9)), rng.normal(size=(5, 4))
    X[:, 4:] = np.eye(5)[group]
    return X, (X[:, :4] * 2 * slopes[group]).sum(axis=1) + 0.5 * rng.normal(size=n)


def product(rng, n):
    X = rng.normal(size=(n, 8))
    return X, X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=n)


def squares(rng, n):
    X = rng.normal(size=(n, 6))
    return X, (X[:, :3]**2).sum(axis=1) + rng.normal(size=n)


def rings(rng, n):
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, np.cos(6 * np.hypot(*X.T)) + 0.1 * rng.normal(size=n)


def exponential(rng, n):
    X = rng.normal(size=(n, 6))
    return X, np.exp(X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n))


def counts(rng, n):
    X = rng.normal(size=(n, 6))
    return X, rng.poisson(np.exp(0.5 * X[:, 0] + 0.5 * (X[:, 1] > 0))).astype(float)


# The rules, with the words of the tables.
CLASSES = {
    "intervals of four columns": intervals, "sum of counts above another sum": sums_of_counts,
    "sum, a fifth of labels flipped": noisy_sum, "ratio above a limit": ratio,
    "product of powers": product_of_powers, "sign of a sum of two products": two_products,
    "stripes along a sum": stripes, "checkerboard of 4 x 4 fields": checkerboard,
    "parity of three columns": parity, "nearest of 15 points": nearest_point,
    "inside a ball": ball, "two spirals": spirals, "narrow and wide class": narrow_and_wide,
    "three waves": waves, "nine clusters, 20 columns": of_seed(
        make_classification, n_features=20, n_informative=8, n_classes=3, n_clusters_per_class=3),
    "16 clusters, 100 columns": of_seed(
        make_classification, n_features=100, n_informative=5, n_redundant=15,
        n_clusters_per_class=8)}
NUMBERS = {
    "steps of two columns": steps, "sine and trend": sine_and_trend,
    "hours and days": hours_and_days, "bends along sums": bends_along_sums,
    "slopes that differ by group": slopes_by_group, "product": product, "squares": squares,
    "rings": rings, "exponential of a sum": exponential, "counts": counts,
    "Friedman 1": of_seed(make_friedman1, noise=1.0),
    "Friedman 2": of_seed(make_friedman2, noise=50.0),
    "Friedman 3": of_seed(make_friedman3, noise=0.1)}


def jobs(quick):
    names, methods = (["counts"], ["small"]) if quick else ([*CLASSES, *NUMBERS], METHODS)
    return [{"data": data, "seed": seed, "method": method}
            for data in names for seed in range(1 if quick else 5) for method in methods]


def run(data, seed, method):
    X, y = (CLASSES | NUMBERS)[data](np.random.default_rng(seed), N_TRAIN + N_TEST)
    if data in CLASSES:
        y = y.astype(int)
    name, parameters = METHODS[method]
    model = make(name, X, y, seed, **parameters)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "No tree was better")
        seconds = seconds_of(lambda: model.fit(X[:N_TRAIN], y[:N_TRAIN]))
    score = accuracy_score if data in CLASSES else r2_score
    return [{"score": 100 * score(y[N_TRAIN:], model.predict(X[N_TRAIN:])),
             "leaves": n_leaves(model), "seconds": seconds}]


def report(rows, folder):
    """Print the means, and write a table of the scores for each task, the best in bold."""
    scores, leaves = (rows.pivot_table(index="data", columns="method", values=each)
                      for each in ("score", "leaves"))
    print(scores.round(1).to_string(), "\n", scores.mean().round(1).to_dict())
    for task, rules in (("classification", CLASSES), ("regression", NUMBERS)):
        write_table([{
            "Rule": name, **of_rule(scores.loc[name].round(1)), "Leaves": " / ".join(
                f"{leaves.loc[name, method]:.0f}"
                for method in ("default", "small", "pruned") if method in leaves)}
            for name in rules if name in scores.index], folder, f"synthetic_{task}")


def of_rule(score):
    """Cells of the scores of all models."""
    return {title: f"**{score[method]}**" if score[method] == score.max() else f"{score[method]}"
            for method, title in NAMES.items() if method in score}


BENCHMARK = Benchmark(
    "synthetic", "one tree beside other models, by the shape of the rule",
    ("data", "seed", "method"), ("score", "leaves", "seconds"), jobs, run, report)
