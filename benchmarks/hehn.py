"""Figures 2, 4 and 6 and table 1 of Hehn, Kooij & Hamprecht (2020), End-to-End Learning of Decision
Trees and Forests.

Forests of table 1 have the paper's 70 and 100 trees for Letter and USPS, but three instead of 80
for MNIST, which would take two cores more than three hours. Those of figure 6 have fewer trees,
and 15 epochs only on MNIST.
"""

from functools import partial

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from benchmarks.data import TITLES, hold_out, split
from benchmarks.figures import accuracy_by_depth, accuracy_by_evaluations, smooth_weights
from benchmarks.fitting import FIELDS, Fit, result
from benchmarks.models import METHODS, tree
from benchmarks.runner import Benchmark, write_table
from ngdt import ObliqueForestClassifier
from ngdt.initializers import SoftGreedy
from ngdt.optimizers import EndToEnd

BATCH = 1000
# Epochs of greedy construction and of finetuning, among which validation chooses (section 3.1).
EPOCHS = (20, 35, 50, 65)


def greedy(depth, seed):
    """Greedy E2EDT, by the number of epochs."""
    return {f"epochs={epochs}": tree(depth, seed, _stumps(epochs)) for epochs in EPOCHS}


def finetuned(depth, seed):
    """Finetune E2EDT: the greedy tree, trained as a whole for as many epochs."""
    return {
        f"epochs={epochs}": tree(
            depth, seed, _stumps(epochs), EndToEnd(epochs=epochs, batch_size=BATCH))
        for epochs in EPOCHS}


def _stumps(epochs, gamma_step=0.1, **features):
    return SoftGreedy(
        stump=EndToEnd(epochs=epochs, gamma_step=gamma_step, batch_size=BATCH), **features)


TREES = {"greedy": greedy, "finetuned": finetuned, "annealed": METHODS["annealed-2250"]}


def tree_jobs(quick):
    if quick:
        return [{"data": "digits", "depth": 2, "seed": 0, "method": "annealed"}]
    return [{"data": data, "depth": depth, "seed": 0, "method": method}
            for depth in (2, 4, 6, 8, 10) for data in ("connect4", "mnist") for method in TREES]


def tree_run(data, depth, seed, method):
    return [result(TREES[method](depth, seed), split(data, seed), seed)]


END_TO_END = Benchmark(
    "end_to_end", "greedy and finetuned trees by depth (Hehn 2020, figure 2)",
    ("data", "depth", "seed", "method"), FIELDS, tree_jobs, tree_run,
    partial(accuracy_by_depth, name="end_to_end", floors={"mnist": 80}))


# Features of each split: 8 of Letter, and patches of pixels of the images.
SPLIT_FEATURES = {
    "letter": {"max_features": 8},
    "usps": {"patch": (10, 10), "image_shape": (16, 16)},
    "mnist": {"patch": (15, 15), "image_shape": (28, 28)},
    "digits": {"patch": (5, 5), "image_shape": (8, 8)},
}
N_TREES = {"letter": 70, "usps": 100, "mnist": 3, "digits": 1}
GAMMA_STEPS, FOREST_EPOCHS = (0.0, 0.01, 0.1), (15, 30, 45)
SMALLER = 1, 3, 5, 10, 20, 50
FOREST_FIELDS = "n_trees", "accuracy", "evaluations", "n_splits", "nonzeros", "seconds"


def forest(n_trees, data, gamma_step, epochs, seed):
    """Trees of depth 10 of all training samples, finetuned for three times as many epochs."""
    return ObliqueForestClassifier(
        n_trees, max_depth=10, bootstrap=False, random_state=seed,
        init=_stumps(epochs, gamma_step, **SPLIT_FEATURES[data]),
        optimizer=EndToEnd(
            epochs=3 * epochs, gamma_step=gamma_step, batch_size=BATCH, keep_zeros=True))


def forest_rows(model, X, y, X_test, y_test):
    """Rows for the whole forest, and for the smaller ones that its first trees are.

    Evaluations are the splits that a test sample passes in all trees, on average. Splits and
    nonzero weights are those of a tree; splits of a random forest have one weight.
    """
    fit = Fit.of(model, X, y)
    trees, classes = fit.model.estimators_, fit.model.classes_
    evaluations = [each.decision_path(X_test).getnnz() / len(X_test) - 1.0 for each in trees]
    n_splits = float(np.mean([each.get_n_leaves() - 1 for each in trees]))
    nonzeros = float(np.mean([getattr(each.tree_, "n_nonzero", n_splits) for each in trees]))
    total, rows = 0.0, []
    for n, each in enumerate(trees, start=1):
        total = total + each.predict_proba(X_test)
        if n in SMALLER or n == len(trees):
            accuracy = (classes[total.argmax(axis=1)] == y_test).mean()
            rows.append({
                "n_trees": n, "accuracy": 100 * float(accuracy),
                "evaluations": float(sum(evaluations[:n])),
                "n_splits": n_splits, "nonzeros": nonzeros,
                "seconds": fit.seconds * n / len(trees)})
    return rows


def steepness_jobs(quick):
    if quick:
        return [{"data": "digits", "gamma_step": 0.1, "epochs": 1, "seed": 0}]
    return [{"data": data, "gamma_step": gamma_step, "epochs": epochs, "seed": 0}
            for data in ("letter", "usps", "mnist") for epochs in FOREST_EPOCHS
            for gamma_step in GAMMA_STEPS]


def steepness_run(data, gamma_step, epochs, seed):
    """Accuracy on validation samples, as in the paper; no test sample is used."""
    X, y, _, _ = split(data, seed)
    return forest_rows(
        forest(N_TREES[data], data, gamma_step, epochs, seed), *hold_out(X, y, seed))


# Validation accuracy after 15, 30 and 45 epochs.
PUBLISHED = {
    ("letter", 0.0): "76.7 / 81.1 / 84.7", ("letter", 0.01): "81.8 / 89.2 / 92.5",
    ("letter", 0.1): "92.6 / 94.5 / 95.5", ("usps", 0.0): "88.5 / 92.3 / 94.1",
    ("usps", 0.01): "91.5 / 95.3 / 96.3", ("usps", 0.1): "96.1 / 96.6 / 96.7",
    ("mnist", 0.0): "97.9 / 98.1 / 98.1", ("mnist", 0.01): "97.9 / 98.1 / 98.1",
    ("mnist", 0.1): "97.7 / 97.8 / 97.4",
}


def steepness_table(rows, folder):
    """Our accuracies by the number of epochs, beside the published ones."""
    lines = []
    for (data, step), group in rows.groupby(["data", "gamma_step"], sort=False):
        whole = group[group["n_trees"] == group["n_trees"].max()].set_index("epochs")
        lines.append({
            "Data": TITLES[data], "Increase": f"{step:g}", "Trees": int(whole["n_trees"].max()),
            "Ours": " / ".join(
                f"{whole['accuracy'][epochs]:.1f}" if epochs in whole.index else "–"
                for epochs in FOREST_EPOCHS),
            "Splits": f"{whole['n_splits'].mean():.0f}",
            "Published": PUBLISHED.get((data, step), "")})
    write_table(lines, folder, "steepness_table")


STEEPNESS = Benchmark(
    "steepness", "forests by the increase of the steepness (Hehn 2020, table 1)",
    ("data", "gamma_step", "epochs", "seed"), FOREST_FIELDS, steepness_jobs, steepness_run,
    steepness_table)


FORESTS = {
    "end-to-end": lambda data, seed: forest(
        N_TREES[data], data, 0.1, {"mnist": 15, "digits": 1}.get(data, 45), seed),
    "annealed": lambda data, seed: ObliqueForestClassifier(
        N_TREES[data], optimizer="annealed", random_state=seed),
    "random forest": lambda data, seed: RandomForestClassifier(100, random_state=seed),
}


def load_jobs(quick):
    names = ("digits",) if quick else ("letter", "usps", "mnist")
    return [{"data": data, "method": method, "seed": 0} for data in names
            for method in (list(FORESTS)[:1] if quick else FORESTS)]


def load_run(data, method, seed):
    return forest_rows(FORESTS[method](data, seed), *split(data, seed))


LOAD = Benchmark(
    "load", "accuracy of forests by the splits that a sample passes (Hehn 2020, figure 6)",
    ("data", "method", "seed"), FOREST_FIELDS, load_jobs, load_run, accuracy_by_evaluations)


PENALTIES, SPATIAL_DEPTH, SPATIAL_EPOCHS = (0.0, 1e-4, 1e-3, 1e-2), 6, 50
IMAGES = {"mnist": (28, 28), "fashion_mnist": (28, 28), "digits": (8, 8)}
# Splits whose weights are drawn: the root, and its child on the left.
N_DRAWN = 2


def spatial_jobs(quick):
    if quick:
        return [{"data": "digits", "spatial_penalty": 0.01, "seed": 0}]
    return [{"data": data, "spatial_penalty": penalty, "seed": 0}
            for data in ("mnist", "fashion_mnist") for penalty in PENALTIES]


def spatial_run(data, spatial_penalty, seed):
    """Accuracy and roughness of one tree, and weights of splits in per cent of the largest.

    Roughness is the mean squared difference of neighbouring weights over their mean square, which
    is 2 for independent weights.
    """
    X, y, X_test, y_test = split(data, seed)
    shape = IMAGES[data]
    model = tree(SPATIAL_DEPTH, seed, "random_complete", EndToEnd(
        epochs=SPATIAL_EPOCHS, spatial_penalty=spatial_penalty, image_shape=shape))
    # One scale for all pixels, so that their weights are comparable.
    fit = Fit.of(model.set_params(standardize="global"), X, y)
    images = fit.model.tree_.densify().weights.reshape(-1, *shape)
    differences = np.mean([np.mean(np.diff(images, axis=axis) ** 2) for axis in (1, 2)])
    return [{
        "split": k, "train": 100 * fit.model.score(X, y),
        "test": 100 * fit.model.score(X_test, y_test),
        "roughness": float(differences / np.mean(images**2)), "seconds": fit.seconds,
        "leaves": fit.model.tree_.n_leaves, "nonzeros": fit.model.tree_.n_nonzero,
        "weights": " ".join(f"{share:.0f}" for share in (
            100 * images[k] / abs(images[k]).max()).ravel())} for k in range(N_DRAWN)]


SPATIAL = Benchmark(
    "spatial", "smooth weights of splits of images (Hehn 2020, figure 4)",
    ("data", "spatial_penalty", "seed"),
    ("split", "train", "test", "roughness", "seconds", "leaves", "nonzeros", "weights"),
    spatial_jobs, spatial_run, smooth_weights)
