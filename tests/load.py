"""Load: `python tests/load.py 300` runs each of these for a multiple of what the tests do."""

import gc
import multiprocessing
import resource
import sys
import threading
import time
import tracemalloc
from functools import partial
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from ngdt import ObliqueForestClassifier, ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt._structure import complete_children
from ngdt.optimizers import TAO, Annealed

_RANDOM = np.random.default_rng(0)
X = _RANDOM.normal(size=(200, 5))
Y = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)
MODELS = {
    "greedy": ObliqueTreeClassifier(4, optimizer=None),
    "soft": ObliqueTreeClassifier(
        3, optimizer=Annealed(steps=30), n_jobs=2, validation_fraction=None, random_state=0),
    "tao": ObliqueTreeRegressor(
        2, optimizer=TAO(max_passes=1), leaf="linear", leaf_penalty=1.0, validation_fraction=None,
        random_state=0),
    "forest": ObliqueForestClassifier(
        3, optimizer=Annealed(steps=20), n_jobs=2, random_state=0, oob_score=False),
}


def fitted(name, y=Y):
    """A new model of this name."""
    model = MODELS[name]
    return type(model)(**model.get_params(deep=False)).fit(X, y)


def in_threads(calls):
    """Run all in threads at once, and raise the first error."""
    errors = []

    def run(call):
        try:
            call()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    if errors:
        raise errors[0]


def fit_and_predict_at_once(name, n):
    """Threads predict by an estimator that another one fits: each answer is that of one fit."""
    model, stop = fitted(name), threading.Event()
    answers = [fitted(name, y).predict(X) for y in (Y, 1 - Y)]

    def fit():
        for k in range(n):
            model.fit(X, (Y, 1 - Y)[k % 2])
        stop.set()

    def predict():
        n_done = 0
        while not stop.is_set() or not n_done:
            found = model.predict(X)
            assert any(np.array_equal(found, each) for each in answers), "a mixture of two fits"
            n_done += 1

    in_threads([fit, predict, predict])


def many_at_once(name, n):
    """Threads that have an estimator each: none changes another's."""
    expected = fitted(name).predict(X)

    def use():
        for _ in range(n):
            assert np.array_equal(fitted(name).predict(X), expected)

    in_threads([use] * 4)


def _answer(model, queue):
    queue.put((model.predict(X), type(model)(**model.get_params(deep=False)).fit(X, Y).predict(X)))


def in_processes(name, start):
    """A child predicts by the model of its parent, and fits its own."""
    context, model = multiprocessing.get_context(start), fitted(name)
    queue = context.SimpleQueue()
    child = context.Process(target=_answer, args=(model, queue))
    child.start()
    found = queue.get()
    child.join(60)
    assert child.exitcode == 0
    assert all(np.array_equal(each, model.predict(X)) for each in found)


def nested(name, backend):
    """Fits with threads of their own, in jobs of joblib."""
    expected = fitted(name).predict(X)
    for model in Parallel(2, backend=backend)(delayed(fitted)(name) for _ in range(3)):
        assert np.array_equal(model.predict(X), expected)


def _resident():
    """Bytes of the process in memory; 0 where this is not Linux."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * resource.getpagesize() if status.exists() else 0


def growth(action, n):
    """Bytes that `n` more calls leave: of Python and of NumPy, and of the process."""
    for _ in range(max(3, n // 10)):
        action()
    gc.collect()
    before = _resident()
    tracemalloc.start()
    try:
        action()
        gc.collect()
        traced = tracemalloc.get_traced_memory()[0]
        for _ in range(n):
            action()
        gc.collect()
        traced = tracemalloc.get_traced_memory()[0] - traced
    finally:
        tracemalloc.stop()
    return traced, _resident() - before


def deep_tree(depth):
    """A complete tree whose leaf is the bits of a number from 0 to 1."""
    m = 2**depth - 1
    node = np.arange(1, m + 1)
    level = np.floor(np.log2(node)).astype(int)
    thresholds = (node - 2.0**level + 0.5) / 2.0**level
    return Tree(
        np.ones((m, 1)), thresholds, *complete_children(depth), np.arange(m + 1.0)[:, None])


def a_deep_tree(depth, n):
    """A deep tree, and one row after the other."""
    tree = deep_tree(depth)
    numbers = np.random.default_rng(1).random((n, 1))
    found = tree.predict(numbers)[:, 0]
    # Sides are of open intervals, and thresholds are no numbers of this kind.
    expected = np.floor(numbers[:, 0] * 2**depth)
    assert np.array_equal(found, expected)
    assert all(tree.predict(numbers[i:i + 1])[0, 0] == expected[i] for i in range(min(n, 1000)))


def one_row_at_a_time(name, n):
    """One row after the other gives what all rows give."""
    model = fitted(name)
    expected = model.predict(X)
    for k in range(n):
        i = k % len(X)
        assert model.predict(X[i:i + 1])[0] == expected[i]


def _main(factor):
    steps = {}
    for name in MODELS:
        steps |= {
            f"fit and predict at once, {name}": partial(fit_and_predict_at_once, name, factor),
            f"many at once, {name}": partial(many_at_once, name, factor // 10),
            f"fork, {name}": partial(in_processes, name, "fork"),
            f"spawn, {name}": partial(in_processes, name, "spawn"),
            f"nested in loky, {name}": partial(nested, name, "loky"),
            f"nested in threads, {name}": partial(nested, name, "threading"),
            f"memory of fits, {name}": partial(growth, partial(fitted, name), factor),
            f"one row, {name}": partial(one_row_at_a_time, name, 100 * factor),
        }
    steps["a tree of depth 20"] = partial(a_deep_tree, 20, 1000 * factor)
    for what, step in steps.items():
        begin = time.monotonic()
        found = step()
        print(f"{what}: {time.monotonic() - begin:.1f} s{'' if found is None else f', {found}'}",
              flush=True)


if __name__ == "__main__":
    _main(int(sys.argv[1]))
