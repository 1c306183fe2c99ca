"""Load: `python tests/load.py` runs everything in full, `... "one row" soak` what has these names.

The tests run small parts of it.
"""

import copy
import gc
import multiprocessing
import pickle
import resource
import sys
import threading
import time
import tracemalloc
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from joblib import Parallel, delayed

import ngdt
from ngdt import ObliqueForestClassifier, ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt._core.structure import balanced_children
from ngdt.optimizers import TAO, Annealed, LinearLeaves

_RANDOM = np.random.default_rng(0)
X = _RANDOM.normal(size=(200, 5))
Y = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)
MODELS = {
    "greedy": ObliqueTreeClassifier(4, optimizer=None),
    "soft": ObliqueTreeClassifier(
        3, optimizer=Annealed(steps=30), n_jobs=2, validation_fraction=None, random_state=0),
    "tao": ObliqueTreeRegressor(
        2, optimizer=TAO(max_iter=1), leaf=LinearLeaves(penalty=1.0), validation_fraction=None,
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
    model, n_left = fitted(name), [n, n]
    answers = [fitted(name, y).predict(X) for y in (Y, 1 - Y)]
    n_found = [0, 0], [0, 0]    # of each thread

    def fit():
        k = 0
        while any(n_left):
            k += 1
            model.fit(X, (Y, 1 - Y)[k % 2])

    def predict(thread):
        try:
            while n_left[thread]:
                found = model.predict(X)
                which = [np.array_equal(found, each) for each in answers]
                assert any(which), "a mixture of two fits"
                n_found[thread][which.index(True)] += 1
                n_left[thread] -= 1
        finally:
            n_left[thread] = 0      # or the fits would go on

    in_threads([fit, partial(predict, 0), partial(predict, 1)])
    return n_found


def many_at_once(name, n):
    """Threads that have an estimator each: none changes another's."""
    expected = fitted(name).predict(X)

    def use():
        for _ in range(n // 10):
            model = fitted(name)
            for _ in range(10):
                assert np.array_equal(model.predict(X), expected)

    in_threads([use] * 4)


def _answer(model, sender):
    own = type(model)(**model.get_params(deep=False)).fit(X, Y)
    sender.send((model.predict(X), own.predict(X)))


def in_processes(name, start):
    """A child predicts by the model of its parent, and fits its own."""
    context, model = multiprocessing.get_context(start), fitted(name)
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_answer, args=(model, sender))
    child.start()
    sender.close()      # or the end of a child that fails would not be seen
    try:
        assert receiver.poll(120), "the child hangs"
        assert all(np.array_equal(each, model.predict(X)) for each in receiver.recv())
        child.join(60)
        assert child.exitcode == 0
    finally:
        child.kill()


def processes_from_threads(name, n):
    """As `in_processes`, while other threads fit."""
    def fit():
        while not done.is_set():
            fitted(name)

    def start():
        try:
            for k in range(n):
                in_processes(name, ("fork", "spawn")[k % 10 == 9])
        finally:
            done.set()

    done = threading.Event()
    in_threads([fit, start])


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
    gc.freeze()     # what there is stays, and may be much: the collector looks at what comes
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
        np.ones((m, 1)), thresholds, *balanced_children(2**depth), np.arange(m + 1.0)[:, None])


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


def many_rows(n):
    """A fit and predictions of many rows, and the memory they need in multiples of the rows."""
    random = np.random.default_rng(2)
    many = random.random((n, 10), dtype=np.float32)
    y = (many[:, 3] > 0.25).astype(np.int8)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    greedy = ObliqueTreeClassifier(2, optimizer=None).fit(many, y)
    assert np.array_equal(greedy.predict(many), y)
    some = Annealed(steps=100)
    soft = ObliqueTreeClassifier(
        2, optimizer=some, n_jobs=2, validation_fraction=None, random_state=0).fit(many, y)
    found = soft.predict(many)
    parts = [soft.predict(many[i:i + 9999]) for i in range(0, n, 9999)]
    assert np.array_equal(np.concatenate(parts), found)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return f"{1024 * (peak - before) / many.nbytes:.1f} times the bytes of the rows"


def soak(seconds, folder):
    """All models, fitted, copied and used for so long: memory in use stays the same.

    Returns
    -------
    list of (int, int)
        Bytes of Python and NumPy, and of the process, after equal parts of the time.
    """
    number, seen, end = 0, [], time.monotonic()
    tracemalloc.start()
    try:
        for _ in range(10):
            end += seconds / 10
            while time.monotonic() < end:
                _use_all(number, Path(folder) / "model.ngdt")
                number += 1
            gc.collect()
            seen.append((tracemalloc.get_traced_memory()[0], _resident()))
    finally:
        tracemalloc.stop()
    for kind, slack in ((0, X.nbytes), (1, 2**23)):
        first, last = (max(each[kind] for each in part) for part in (seen[2:6], seen[6:]))
        assert last <= first + slack, seen
    return f"{number} rounds", seen


def _use_all(number, file):
    """Use all models in two threads, as a program does in a day."""
    def use(name):
        model = fitted(name, (Y, 1 - Y)[number % 2])
        expected = model.predict(X)
        for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
            assert np.array_equal(copied.predict(X), expected)
        with suppress(ValueError):
            model.fit(np.full_like(X, np.inf), Y)
        assert np.array_equal(model.predict(X), expected)
        model.explain(X[:1])
        return model

    in_threads([partial(use, name) for name in MODELS])
    model = use("tao")
    ngdt.save(model, file)
    assert np.array_equal(ngdt.load(file).predict(X), model.predict(X))


def _steps(folder):
    """Names and calls of everything in full."""
    steps = {
        "a tree of depth 20": partial(a_deep_tree, 20, 10**6),
        "10^6 times one row, greedy": partial(one_row_at_a_time, "greedy", 10**6),
        "10^7 rows": partial(many_rows, 10**7),
    }
    for name in MODELS:
        steps |= {
            f"2 x 5000 predictions against fits, {name}":
                partial(fit_and_predict_at_once, name, 5000),
            f"4 x 2500 predictions of many, {name}": partial(many_at_once, name, 2500),
            f"fork and spawn from threads, {name}": partial(processes_from_threads, name, 20),
            f"nested in loky, {name}": partial(nested, name, "loky"),
            f"nested in processes, {name}": partial(nested, name, "multiprocessing"),
            f"nested in threads, {name}": partial(nested, name, "threading"),
            f"10^4 times one row, {name}": partial(one_row_at_a_time, name, 10**4),
        }
    return steps | {"soak of ten minutes": partial(soak, 600, folder)}


def _main(words):
    if hasattr(sys, "_is_gil_enabled"):
        print("global lock:", sys._is_gil_enabled())
    with TemporaryDirectory() as folder:
        for what, step in _steps(folder).items():
            if not words or any(word in what for word in words):
                begin = time.monotonic()
                found = step()
                seconds = f"{time.monotonic() - begin:.1f} s"
                print(f"{what}: {seconds}", *[] if found is None else [found], flush=True)


if __name__ == "__main__":
    _main(sys.argv[1:])
