"""Cost of training and prediction: ratios and counts, each part from one run.

A part takes training and test samples, and yields what was measured, its value and unit.
"""

import multiprocessing
import time
from functools import partial
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from benchmarks.data import split
from benchmarks.fitting import seconds_of
from benchmarks.runner import Benchmark, print_rows
from ngdt import ObliqueForestClassifier, ObliqueTreeClassifier, Tree
from ngdt._core.samples import Samples
from ngdt._core.scaling import Scaling
from ngdt._core.structure import balanced_children
from ngdt._forest.ensemble import Ensemble
from ngdt._methods.tao.linear import LinearSolver
from ngdt._training.problem import Problem
from ngdt.inference import loss_augmented_inference
from ngdt.initializers import RandomComplete
from ngdt.losses import LogLoss
from ngdt.optimizers import SSGD, TAO, Annealed


def scores(X, y, X_test, y_test):
    """Node scores per sample in a trained tree of depth 10, with and without pruning."""
    tree = ObliqueTreeClassifier(10, optimizer="ssgd", random_state=0).fit(X, y).tree_
    for inference in ("fast", "full"):
        for prune in (True, False):
            found = loss_augmented_inference(
                tree, X_test, y_test, inference=inference, prune=prune)
            yield (f"{inference}, {'pruned' if prune else 'not pruned'}", found.n_scored.mean(),
                   "scores per sample")


def time_of_fit(X, y, X_test, y_test):
    """Seconds of fits relative to scikit-learn's entropy tree of the same depth, alternating."""
    alone = partial(ObliqueTreeClassifier, 10, validation_fraction=None)
    seconds = np.array([[seconds_of(partial(model.fit, X, y)) for model in (
        ObliqueTreeClassifier(10, random_state=seed),
        alone(optimizer="ssgd", random_state=seed), alone(optimizer="annealed", random_state=seed),
        DecisionTreeClassifier(criterion="entropy", max_depth=10))] for seed in range(3)])
    for name, each in zip(("default", "ssgd", "annealed", "scikit-learn"), seconds.T, strict=True):
        yield name, np.median(each), "s"
        yield name, np.median(each / seconds[:, -1]), "x scikit-learn"


def soft(X, y, X_test, y_test):
    """Seconds of soft training by depth and steepness, without a cutoff and with 0.01."""
    X, y, loss, k = X[:5000], y[:5000], LogLoss(), int(y.max()) + 1
    problem = Problem(X, loss.encode(y, k), loss, k, np.ones(len(y)))
    for depth in (8, 10, 12, 14):
        tree = RandomComplete(depth).initialize(problem)
        for gamma in (1.0, 7.0, 30.0):
            for cutoff in (None, 0.01):
                optimizer = Annealed(gamma=(gamma, gamma), steps=20, cutoff=cutoff)
                yield (f"depth {depth}, gamma {gamma:g}, cutoff {cutoff}",
                       seconds_of(partial(optimizer.optimize, tree, problem)), "s")


def predict(X, y, X_test, y_test):
    """Seconds of predictions relative to path lengths times one dot product."""
    X, y = X[:20000], y[:20000]
    model = ObliqueTreeClassifier(10, random_state=0).fit(X, y)
    tree = model.tree_
    path = tree.decision_path(X_test).sum() / len(X_test)
    dot = min(seconds_of(lambda: tree.scores(X_test)) for _ in range(3)) / (
        len(X_test) * tree.n_internal)
    yield "path", path, "dot products"
    yield "dot product", 1e9 * dot, "ns"
    for name, call in (("tree.apply", lambda: tree.apply(X_test)),
                       ("predict", lambda: model.predict(X_test)),
                       ("predict, check_input=False",
                        lambda: model.predict(X_test, check_input=False))):
        seconds = min(seconds_of(call) for _ in range(7))
        yield name, seconds / (len(X_test) * path * dot), "x path x dot product"
    yield from _predict_by_forest(X, y, X_test)


def _predict_by_forest(X, y, X_test):
    """The same for a forest of trees as the default has for MNIST, trained for less time."""
    forest = ObliqueForestClassifier(
        20, init=RandomComplete(10), optimizer=Annealed(steps=500), bootstrap=False,
        random_state=0).fit(X, y)
    trees = [each.tree_ for each in forest.estimators_]
    kernel, data = Ensemble(trees, True), Samples(X_test)
    out = np.empty((len(X_test), len(forest.classes_)))
    dots = sum(each.decision_path(X_test).sum() for each in trees)
    n_nodes = sum(each.n_internal for each in trees)
    n_scored = min(500, len(X_test))
    # All in turn: other programs disturb this less.
    seconds = np.array([[
        seconds_of(call) for call in (
            lambda: [each.scores(X_test[:n_scored]) for each in trees],
            lambda: kernel.mean(data, 0, len(X_test), out),
            lambda: forest.predict(X_test))] for _ in range(7)]).min(axis=0)
    alone = seconds[0] * dots / (n_scored * n_nodes)
    yield "path in all trees", dots / len(X_test), "dot products"
    yield "dot product in all trees", 1e9 * alone / dots, "ns"
    for name, found in zip(("kernel of a forest", "predict of a forest"), seconds[1:], strict=True):
        yield name, found / alone, "x path x dot product"


def sparse(X, y, X_test, y_test):
    """Seconds with sparse weights relative to dense ones, by the number of nonzero weights.

    The trees are complete, with random splits through the medians of the samples that reach them:
    every sample visits eight nodes. Runs alternate; the data are checked before them.
    """
    X = X[:20000]
    formats = {"dense": Samples(X), "CSR": Samples(csr_array(X))}
    for n_nonzero in (1, 8, 24, 78, 157, 235, 470):
        if n_nonzero > X.shape[1]:
            continue
        dense = _random_tree(X, 8, n_nonzero)
        trees = dense.sparsify(), dense
        for name, data in formats.items():
            leaves = [tree.apply_samples(data) for tree in trees]
            assert (leaves[0] == leaves[1]).all()
            seconds = np.array([[seconds_of(partial(tree.apply_samples, data)) for tree in trees]
                                for _ in range(15)])
            case = f"{n_nonzero} of {X.shape[1]} nonzero, {name} samples"
            yield case, np.median(seconds[:, 0] / seconds[:, 1]), "x dense weights"
            yield case, 1e9 * seconds[:, 0].min() / len(X), "ns per sample"


def _random_tree(X, depth, n_nonzero):
    rng, (n, p) = np.random.default_rng(0), X.shape
    m = 2**depth - 1
    weights, thresholds = np.zeros((m, p)), np.zeros(m)
    used = np.flatnonzero(X[:1000].any(axis=0))     # the border of the images is empty
    for vector in weights:
        vector[rng.choice(used, min(n_nonzero, len(used)), replace=False)] = 1.0
    weights *= rng.normal(size=weights.shape)
    reaching = {0: np.arange(n)}
    for node in range(m):
        score = X[reaching[node]] @ weights[node]
        thresholds[node] = np.median(score) if len(score) else 0.0
        right = score > thresholds[node]
        reaching[2 * node + 1] = reaching[node][~right]
        reaching[2 * node + 2] = reaching[node][right]
    return Tree(weights, thresholds, *balanced_children(m + 1), np.zeros((m + 1, 1)))


def nodes(X, y, X_test, y_test):
    """Seconds and objectives of linear classifiers: our solver, cold and warm, and LIBLINEAR.

    Classes below 5 against the others; squared hinge, tolerance 1e-3.
    """
    X, y = X[:6000], np.where(y[:6000] < 5, -1.0, 1.0)
    for penalty in ("l1", "l2"):
        for C in (0.001, 0.01, 0.1):
            for name, value, unit in _solvers(X, y, penalty, C):
                yield f"{penalty} C={C}, {name}", value, unit


def _solvers(X, y, penalty, C):
    n, p = X.shape
    scaling = Scaling.fit(X, np.ones(n))
    Z = (X - scaling.center) / scaling.scale

    def objective(weights, intercept):
        hinge = np.maximum(0.0, 1.0 - y * (Z @ weights + intercept))
        size = np.abs(weights).sum() if penalty == "l1" else 0.5 * weights @ weights
        return C * (hinge @ hinge) + size

    ours = partial(LinearSolver(Samples(X), scaling, penalty, 1e-3).fit,
                   np.arange(n, dtype=np.int32), y)
    begin = time.process_time()
    found = ours(np.full(n, C), np.zeros(p), 0.0)
    yield "cold", time.process_time() - begin, "s"
    yield "warm start with 1.3 C", seconds_of(
        partial(ours, np.full(n, 1.3 * C), *found[:2])), "s"
    theirs = LinearSVC(C=C, penalty=penalty, dual=False, tol=1e-3, intercept_scaling=100.0,
                       max_iter=10_000)
    yield "LIBLINEAR", seconds_of(partial(theirs.fit, Z, y)), "s"
    yield "cold", objective(*found[:2]), "objective"
    yield "LIBLINEAR", objective(theirs.coef_[0], theirs.intercept_[0]), "objective"


def memory(X, y, X_test, y_test):
    """Peak of resident memory during a default fit, relative to the input in float32 (Linux)."""
    ObliqueTreeClassifier(4, random_state=0).fit(X[:3000], y[:3000])    # imports, thread pools
    Path("/proc/self/clear_refs").write_text("5")                       # forget earlier peaks
    before = _status("VmRSS")
    ObliqueTreeClassifier(10, random_state=0).fit(X, y)
    extra = _status("VmHWM") - before
    yield "input", X.nbytes / 1e6, "MB"
    yield "peak above the input", extra / 1e6, "MB"
    yield "peak above the input", 100 * extra / X.nbytes, "% of the input"


def _status(key):
    line = next(line for line in Path("/proc/self/status").read_text().splitlines()
                if line.startswith(key))
    return 1024 * int(line.split()[1])


def threads(X, y, X_test, y_test):
    """Speed-up by two threads, and for comparison by two independent processes."""
    greedy = ObliqueTreeClassifier(10, optimizer=None).fit(X[:20000], y[:20000]).tree_
    for name, init, optimizer in (("annealed", "random_complete", Annealed(steps=1000)),
                                  ("ssgd", greedy, SSGD(epochs=4)),
                                  ("tao", greedy, TAO(max_iter=4))):
        n = 20_000 if name == "tao" else len(X)
        model = ObliqueTreeClassifier(
            10, init=init, optimizer=optimizer, validation_fraction=None, random_state=0)
        yield from _speed_up(name, lambda n_jobs, model=model, n=n: _seconds_of_epochs(
            X[:n], y[:n], model.set_params(n_jobs=n_jobs)))
    tree = ObliqueTreeClassifier(init=greedy, optimizer=None).fit(X, y)
    yield from _speed_up("predictions", lambda n_jobs: [
        seconds_of(partial(tree.set_params(n_jobs=n_jobs).predict, X), time.perf_counter)
        for _ in range(10)])
    yield "two processes", 2 * _in_processes(1) / _in_processes(2), "x"


def _speed_up(name, measure):
    """Ratios of the seconds that a function measures for each of two numbers of threads."""
    seconds = {1: [], 2: []}
    for _ in range(3):
        for n_jobs, found in seconds.items():
            found.extend(measure(n_jobs))
    for what in (np.median, np.min):
        yield f"{name}, {what.__name__}", what(seconds[1]) / what(seconds[2]), "x"


def _seconds_of_epochs(X, y, model):
    marks = []
    model.set_params(callback=lambda _: marks.append(time.perf_counter())).fit(X, y)
    return np.diff(marks)


def _work(_):
    rng = np.random.default_rng(0)
    total = rng.normal(size=(300, 300))
    return seconds_of(
        lambda: [np.sort(total[::-1], axis=0) for _ in range(4000)], time.perf_counter)


def _in_processes(n):
    with multiprocessing.get_context("spawn").Pool(n) as pool:
        return max(pool.map(_work, range(n), chunksize=1))


# The parts, and their data sets.
PARTS = {"scores": (scores, ("mnist",)), "time": (time_of_fit, ("connect4", "mnist")),
         "soft": (soft, ("mnist",)), "predict": (predict, ("mnist",)),
         "sparse": (sparse, ("mnist",)), "nodes": (nodes, ("mnist", "pendigits")),
         "memory": (memory, ("mnist",)), "threads": (threads, ("mnist",))}


def jobs(quick):
    return [{"part": part, "data": data} for part, (_, names) in PARTS.items()
            for data in (("digits",) if quick else names)
            if not quick or part in ("predict", "sparse", "nodes")]


def run(part, data):
    for what, value, unit in PARTS[part][0](*split(data, 0)):
        yield {"what": what, "value": float(value), "unit": unit}


BENCHMARK = Benchmark(
    "cost", "seconds, memory and scores of training and prediction", ("part", "data"),
    ("what", "value", "unit"), jobs, run, print_rows)
