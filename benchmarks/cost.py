"""Cost of training and prediction: ratios and counts from one run.

    python benchmarks/cost.py scores|time|soft|predict|sparse|nodes|memory|threads
"""

import argparse
import multiprocessing
import time
from functools import partial
from pathlib import Path

import numpy as np
from data import classification
from scipy.sparse import csr_array
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from ngdt import ObliqueForestClassifier, ObliqueTreeClassifier, Tree
from ngdt._core.samples import Samples
from ngdt._core.scaling import Scaling
from ngdt._forest.ensemble import Ensemble
from ngdt._methods.tao.linear import LinearSolver
from ngdt._training.problem import Problem
from ngdt.inference import loss_augmented_inference
from ngdt.initializers import RandomComplete
from ngdt.losses import LogLoss
from ngdt.optimizers import SSGD, TAO, Annealed


def scores():
    """Node scores per sample, trained MNIST tree of depth 10, with and without pruning."""
    X, y, X_test, y_test = classification("mnist", 0)
    tree = ObliqueTreeClassifier(10, optimizer="ssgd", random_state=0).fit(X, y).tree_
    for inference in ("fast", "full"):
        pruned, plain = (
            loss_augmented_inference(tree, X_test, y_test, inference=inference, prune=prune)
            .n_scored.mean() for prune in (True, False))
        print(f"{inference}: {pruned:.1f} node scores per sample, {plain:.1f} without pruning")


def time_of_fit():
    """Seconds of fits relative to scikit-learn's entropy tree of the same depth, alternating."""
    for name in ("connect4", "mnist"):
        X, y, _, _ = classification(name, 0)
        ratios = []
        for seed in range(3):
            default, ssgd, theirs = seconds = [
                _seconds(partial(model.fit, X, y)) for model in (
                    ObliqueTreeClassifier(10, random_state=seed),
                    ObliqueTreeClassifier(10, optimizer="ssgd", random_state=seed),
                    DecisionTreeClassifier(criterion="entropy", max_depth=10))]
            ratios.append([default / theirs, ssgd / theirs])
            print(name, *(f"{part}: {second:.2f} s" for part, second in zip(
                ("default", "ssgd", "scikit-learn"), seconds, strict=True)), flush=True)
        print(f"{name}: median ratios, default and ssgd: {np.median(ratios, axis=0).round(2)}")


def soft():
    """Seconds of soft training by depth and steepness, without a cutoff and with 0.01."""
    X, y, _, _ = classification("mnist", 0)
    X, y, loss = X[:5000], y[:5000], LogLoss()
    problem = Problem(X, loss.encode(y, 10), loss, 10, np.ones(len(y)))
    for depth in (8, 10, 12, 14):
        tree = RandomComplete(depth).initialize(problem)
        for gamma in (1.0, 7.0, 30.0):
            seconds = [
                _seconds(partial(Annealed(
                    gamma=(gamma, gamma), steps=20, cutoff=cutoff).optimize, tree, problem))
                for cutoff in (None, 0.01)]
            print(f"depth {depth}, gamma {gamma:g}: all nodes {seconds[0]:.2f} s, "
                  f"cutoff 0.01 {seconds[1]:.2f} s", flush=True)


def predict():
    """Seconds for 10 000 predictions, relative to path lengths times one dot product."""
    X, y, X_test, _ = classification("mnist", 0)
    model = ObliqueTreeClassifier(10, random_state=0).fit(X[:20000], y[:20000])
    tree = model.tree_
    path = tree.decision_path(X_test).sum() / len(X_test)
    dot = min(_seconds(lambda: tree.scores(X_test)) for _ in range(3)) / (
        len(X_test) * tree.n_internal)
    for name, call in (("tree.apply", lambda: tree.apply(X_test)),
                       ("predict", lambda: model.predict(X_test)),
                       ("predict, check_input=False",
                        lambda: model.predict(X_test, check_input=False))):
        ratio = min(_seconds(call) for _ in range(7)) / (len(X_test) * path * dot)
        print(f"{name}: {ratio:.2f} x (path {path:.2f} x {1e9 * dot:.0f} ns)")
    _predict_by_forest(X[:20000], y[:20000], X_test)


def _predict_by_forest(X, y, X_test):
    """The same for a forest of trees as the default has for MNIST, trained for less time."""
    forest = ObliqueForestClassifier(
        20, init=RandomComplete(10), optimizer=Annealed(steps=500), bootstrap=False,
        random_state=0).fit(X, y)
    trees = [each.tree_ for each in forest.estimators_]
    kernel, data, out = Ensemble(trees, True), Samples(X_test), np.empty((len(X_test), 10))
    dots = sum(each.decision_path(X_test).sum() for each in trees)
    n_nodes = sum(each.n_internal for each in trees)
    # CPU time, and all in turn: other programs disturb this less.
    seconds = np.array([[
        _cpu_seconds(call) for call in (
            lambda: [each.scores(X_test[:500]) for each in trees],
            lambda: kernel.mean(data, 0, len(X_test), out),
            lambda: forest.predict(X_test))] for _ in range(7)]).min(axis=0)
    alone = seconds[0] * dots / (500 * n_nodes)
    for name, found in zip(("kernel of a forest", "predict of a forest"), seconds[1:], strict=True):
        print(f"{name}: {found / alone:.2f} x ({found:.3f} s for {dots / len(X_test):.0f} dot "
              f"products per sample of {1e9 * alone / dots:.0f} ns)")


def sparse_weights():
    """Seconds with sparse weights relative to dense ones, by share of nonzero weights, on MNIST.

    The trees are complete, with random splits through the medians of the samples that reach them:
    every sample visits eight nodes. Runs alternate; the data are checked before them.
    """
    X = classification("mnist", 0)[0][:20000]
    formats = {"dense": Samples(X), "CSR": Samples(csr_array(X))}
    for n_nonzero in (1, 8, 24, 78, 157, 235, 470):
        dense = _random_tree(X, 8, n_nonzero)
        sparse = dense.sparsify()
        for name, data in formats.items():
            assert (dense.apply_samples(data) == sparse.apply_samples(data)).all()
            seconds = np.array([
                [_seconds(partial(tree.apply_samples, data)) for tree in (sparse, dense)]
                for _ in range(15)])
            ratio = np.median(seconds[:, 0] / seconds[:, 1])
            fastest = 1e9 * seconds.min(axis=0) / len(X)
            print(f"{n_nonzero} of 784 nonzero, {name} samples: {ratio:.2f} x "
                  f"({fastest[0]:.0f} / {fastest[1]:.0f} ns per sample)", flush=True)


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
    children = 2 * np.arange(m) + 1
    left, right = (np.where(c < m, c, ~(c - m)) for c in (children, children + 1))
    return Tree(weights, thresholds, left, right, np.zeros((m + 1, 1)))


def nodes():
    """Seconds and objectives of linear classifiers: our solver, cold and warm, and LIBLINEAR.

    Classes below 5 against the others, on MNIST and Pendigits; squared hinge, tolerance 1e-3.
    """
    for name in ("mnist", "pendigits"):
        X, y, _, _ = classification(name, 0)
        X, y = X[:6000], np.where(y[:6000] < 5, -1.0, 1.0)
        for penalty in ("l1", "l2"):
            for C in (0.001, 0.01, 0.1):
                print(f"{name} {penalty} C={C}:", _solvers(X, y, penalty, C), flush=True)


def _solvers(X, y, penalty, C):
    n, p = X.shape
    scaling = Scaling.fit(X, np.ones(n))
    Z = (X - scaling.center) / scaling.scale

    def objective(weights, intercept):
        hinge = np.maximum(0.0, 1.0 - y * (Z @ weights + intercept))
        size = np.abs(weights).sum() if penalty == "l1" else 0.5 * weights @ weights
        return C * (hinge @ hinge) + size

    ours = partial(LinearSolver(Samples(X), scaling, "squared_hinge", penalty, 1e-3).fit,
                   np.arange(n, dtype=np.int32), y)
    begin = time.perf_counter()
    found = ours(np.full(n, C), np.zeros(p), 0.0)
    cold = time.perf_counter() - begin
    warm = _seconds(partial(ours, np.full(n, 1.3 * C), *found[:2]))
    theirs = LinearSVC(C=C, penalty=penalty, dual=False, tol=1e-3, intercept_scaling=100.0,
                       max_iter=10_000)
    seconds = _seconds(partial(theirs.fit, Z, y))
    return (f"{cold:.3f} s, warm start with 1.3 C {warm:.3f} s, LIBLINEAR {seconds:.3f} s; "
            f"objectives {objective(*found[:2]):.3f}, "
            f"{objective(theirs.coef_[0], theirs.intercept_[0]):.3f}")


def memory():
    """Peak of resident memory during a default fit, relative to the input in float32 (Linux)."""
    X, y, _, _ = classification("mnist", 0)
    ObliqueTreeClassifier(4, random_state=0).fit(X[:3000], y[:3000])    # imports, thread pools
    Path("/proc/self/clear_refs").write_text("5")                       # forget earlier peaks
    before = _status("VmRSS")
    ObliqueTreeClassifier(10, random_state=0).fit(X, y)
    extra = _status("VmHWM") - before
    print(f"peak {extra / 1e6:.1f} MB above {X.nbytes / 1e6:.1f} MB of input: "
          f"{100 * extra / X.nbytes:.1f} %")


def threads():
    """Speed-up by two threads, compared with two independent processes."""
    X, y, _, _ = classification("mnist", 0)
    greedy = ObliqueTreeClassifier(10, optimizer=None).fit(X[:20000], y[:20000]).tree_
    for name, init, optimizer in (("annealed", "random_complete", Annealed(steps=1000)),
                                  ("ssgd", greedy, SSGD(epochs=4)),
                                  ("tao", greedy, TAO(max_passes=4))):
        n = 20_000 if name == "tao" else len(X)
        model = ObliqueTreeClassifier(
            10, init=init, optimizer=optimizer, validation_fraction=None, random_state=0)
        _report_threads(name, lambda n_jobs, model=model, n=n: _seconds_of_epochs(
            X[:n], y[:n], model.set_params(n_jobs=n_jobs)))
    tree = ObliqueTreeClassifier(init=greedy, optimizer=None).fit(X, y)
    _report_threads("predictions", lambda n_jobs: [
        _seconds(partial(tree.set_params(n_jobs=n_jobs).predict, X)) for _ in range(10)])
    print(f"two processes: {2 * _in_processes(1) / _in_processes(2):.2f} x", flush=True)


def _report_threads(name, measure):
    """Ratios of the seconds that a function measures for each of two numbers of threads."""
    seconds = {1: [], 2: []}
    for _ in range(3):
        for n_jobs, found in seconds.items():
            found.extend(measure(n_jobs))
    for what in (np.median, np.min):
        print(f"{name}, {what.__name__}: {what(seconds[1]) / what(seconds[2]):.2f} x", flush=True)


def _seconds_of_epochs(X, y, model):
    marks = []
    model.set_params(callback=lambda _: marks.append(time.perf_counter())).fit(X, y)
    return np.diff(marks)


def _work(_):
    rng = np.random.default_rng(0)
    total, begin = rng.normal(size=(300, 300)), time.perf_counter()
    for _ in range(4000):
        total = np.sort(total, axis=0)[::-1]
    return time.perf_counter() - begin


def _in_processes(n):
    with multiprocessing.get_context("spawn").Pool(n) as pool:
        return max(pool.map(_work, range(n), chunksize=1))


def _status(key):
    line = next(line for line in Path("/proc/self/status").read_text().splitlines()
                if line.startswith(key))
    return 1024 * int(line.split()[1])


def _cpu_seconds(call):
    begin = time.process_time()
    call()
    return time.process_time() - begin


def _seconds(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


PARTS = {"scores": scores, "time": time_of_fit, "soft": soft, "predict": predict,
         "sparse": sparse_weights, "nodes": nodes, "memory": memory, "threads": threads}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    PARTS[parser.parse_args().part]()
