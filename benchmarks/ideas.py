"""Ideas for a more accurate tree of a fixed depth, compared on validation samples only.

Each idea changes one thing of soft training. The samples are the strict training samples of
`benchmarks.data`, of which a fifth is for validation; no test sample is read. The first line of
the table is an accuracy, the others are mean gains over it on the same seeds, in points.
"""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.neighbors import NearestNeighbors

from benchmarks.data import TITLES, hold_out, split
from benchmarks.fitting import Fit
from benchmarks.models import tree
from benchmarks.record import DEPTHS, present_depths
from benchmarks.runner import Benchmark, write_table
from ngdt.optimizers import SSGD, TAO, Annealed

BASE, SHIFTED, LONG = "2250 steps", "6000 steps, copies shifted by a pixel", 6000
N_COPIES, N_TEACHERS = 4, 6


class OnOtherData(BaseEstimator):
    """A tree that is trained on other data, which a function makes of the training samples."""

    def __init__(self, tree, change):
        self.tree, self.change = tree, change

    def fit(self, X, y):
        self.tree_ = self.tree.fit(*self.change(X, y)).tree_
        return self

    def score(self, X, y):
        return self.tree.score(X, y)


def soft(*after, **parameters):
    return lambda depth, seed, p: tree(
        depth, seed, "random_complete", [Annealed(**{"steps": 2250, **parameters}), *after])


def at_rate(factor, **parameters):
    return lambda depth, seed, p: soft(
        learning_rate=factor * 0.11 / np.sqrt(p), **parameters)(depth, seed, p)


def one_level_more(depth, seed, p):
    """A larger tree, pruned back to the number of leaves of the others."""
    return soft(steps=4500)(depth + 1, seed, p).set_params(max_leaf_nodes=2**depth)


def with_decay(share):
    """The share of the weights that the first step removes."""
    return lambda depth, seed, p: soft(
        steps=LONG, weight_decay=share * np.sqrt(p) / 0.11)(depth, seed, p)


def changed(change, *arguments):
    return lambda depth, seed, p: OnOtherData(
        soft(steps=LONG, batch_size=250)(depth, seed, p),
        lambda X, y: change(X, y, depth, np.random.default_rng(seed), *arguments))


def random_labels(X, y, depth, random, share):
    y, drawn = y.copy(), random.random(len(y)) < share
    y[drawn] = random.permutation(y)[drawn]
    return X, y


def noisy_copies(X, y, depth, random, size):
    """Copies with normal noise, in units of the root mean square of the standard deviations."""
    scale = size * np.sqrt(X.var(axis=0).mean())
    copies = [X + scale * random.standard_normal(X.shape, dtype=np.float32)
              for _ in range(N_COPIES - 1)]
    return np.concatenate([X, *copies]).astype(np.float32), np.tile(y, N_COPIES)


def shifted_copies(X, y, depth, random, side=28):
    """Images moved by a pixel in the four directions; they have a dark frame."""
    images = X.reshape(-1, side, side)
    moved = [np.roll(images, step, axis).reshape(X.shape) for axis in (1, 2) for step in (-1, 1)]
    return np.concatenate([X, *moved]), np.tile(y, 5)


def between_neighbours(X, y, depth, random, label=None):
    """Points between a sample and one of its five nearest neighbours, labelled by a teacher."""
    nearest = NearestNeighbors(n_neighbors=6).fit(X).kneighbors(X, return_distance=False)
    parts, n_copies = [X], 2 * N_COPIES
    for _ in range(n_copies - 1):
        other = X[nearest[np.arange(len(X)), random.integers(1, 6, len(X))]]
        parts.append(X + random.random((len(X), 1), dtype=np.float32) * (other - X))
    points = np.concatenate(parts).astype(np.float32)
    return points, np.tile(y, n_copies) if label is None else label(X, y, points, depth)


def by_bagged_trees(X, y, points, depth):
    total = 0.0
    every_class = np.unique(y, return_index=True)[1]
    for seed in range(N_TEACHERS):
        drawn = np.random.default_rng(seed).integers(0, len(y), len(y))
        drawn = np.concatenate([drawn, every_class])
        teacher = soft()(depth, 100 + seed, X.shape[1]).fit(X[drawn], y[drawn])
        total = total + teacher.predict_proba(points)
    return total.argmax(axis=1)


IDEAS = {
    BASE: soft(),
    "4500 steps": soft(steps=4500),
    "6000 steps": soft(steps=6000),
    "9000 steps": soft(steps=9000),
    "4500 steps, batches of 125": soft(steps=4500, batch_size=125),
    "batches of 500": soft(batch_size=500),
    "4500 steps, steepness up to 14": soft(steps=4500, gamma=(1.0, 14.0)),
    "4500 steps, steepness up to 14, q = 0.2": soft(steps=4500, gamma=(1.0, 14.0), q=0.2),
    "steepness up to 5": soft(gamma=(1.0, 5.0)),
    "steepness up to 10": soft(gamma=(1.0, 10.0)),
    "4500 steps, mixing = 0.1": soft(steps=4500, mixing=0.1),
    "4500 steps, mixing = 0.2": soft(steps=4500, mixing=0.2),
    "4500 steps, mixing = 0.4": soft(steps=4500, mixing=0.4),
    "4500 steps, one level more, as many leaves": one_level_more,
    "q = 0.3": soft(q=0.3),
    "q = 0.7": soft(q=0.7),
    "learning rate times 0.73": at_rate(8 / 11),
    "learning rate times 1.45": at_rate(16 / 11),
    "then TAO, C = 0.03": soft(TAO(0.03, penalty="l2")),
    "then TAO, C = 0.001": soft(TAO(0.001, penalty="l2")),
    "then SSGD": soft(SSGD()),
    "then SSGD, a tenth of its learning rates": soft(
        SSGD(learning_rate=0.01, leaf_learning_rate=1.0)),
    "6000 steps, steepness up to 10": soft(steps=6000, gamma=(1.0, 10.0)),
    "6000 steps, q = 0.3": soft(steps=6000, q=0.3),
    "6000 steps, learning rate times 0.73": at_rate(8 / 11, steps=6000),
    "6000 steps, learning rate times 1.45": at_rate(16 / 11, steps=6000),
    "6000 steps, decay 0.005": with_decay(0.005),
    "6000 steps, decay 0.01": with_decay(0.01),
    "6000 steps, decay 0.02": with_decay(0.02),
    "6000 steps, 3 % random labels": changed(random_labels, 0.03),
    "6000 steps, noisy copies, 0.2": changed(noisy_copies, 0.2),
    "6000 steps, noisy copies, 0.3": changed(noisy_copies, 0.3),
    "6000 steps, points between neighbours": changed(between_neighbours),
    "6000 steps, the same labelled by six soft trees": changed(between_neighbours, by_bagged_trees),
    SHIFTED: changed(shifted_copies),
}
# Compared on more seeds than other ideas, and on most where a seed has few validation samples.
LENGTHS = (BASE, "4500 steps", "6000 steps", "9000 steps")
LARGE = ("mnist", "connect4", "letter")


def n_seeds(idea, data):
    if idea in LENGTHS:
        return 3 if data in LARGE else 8
    return 1 if data == "mnist" else 3


def jobs(quick):
    if quick:
        return [{"data": "digits", "idea": idea, "seed": 0} for idea in (BASE, "q = 0.3")]
    return [{"data": data, "idea": idea, "seed": seed}
            for seed in range(8) for idea in IDEAS for data in present_depths()
            if (data == "mnist" or idea != SHIFTED) and seed < n_seeds(idea, data)]


def run(data, idea, seed):
    X, y, _, _ = split(data, seed, "all" if data == "digits" else "strict")
    X, y, X_val, y_val = hold_out(X, y, seed)
    fit = Fit.of(IDEAS[idea](DEPTHS.get(data, 3), seed, X.shape[1]), X, y)
    return [{
        "train": 100 * fit.model.score(X, y), "validation": 100 * fit.model.score(X_val, y_val),
        "seconds": fit.seconds, "leaves": fit.model.tree_.n_leaves,
        "nonzeros": fit.model.tree_.n_nonzero}]


def report(rows, folder):
    """Mean gains over 2250 steps, of the same seeds."""
    base = rows[rows["idea"] == BASE][["data", "seed", "validation"]]
    rows = rows.merge(base, on=["data", "seed"], suffixes=("", "_base"))
    rows["gain"] = rows["validation"] - rows["validation_base"]
    lines = []
    for idea in [idea for idea in IDEAS if idea in set(rows["idea"])]:
        group = rows[rows["idea"] == idea]
        column, form = ("validation", ".2f") if idea == BASE else ("gain", "+.2f")
        means = group.groupby("data")[column].mean()
        lines.append({
            "Idea": idea,
            **{TITLES[name]: f"{means[name]:{form}}" for name in TITLES if name in means}})
    write_table(lines, folder, "ideas_table")


BENCHMARK = Benchmark(
    "ideas", "ideas for a more accurate tree, on validation samples", ("data", "idea", "seed"),
    ("train", "validation", "seconds", "leaves", "nonzeros"), jobs, run, report)
