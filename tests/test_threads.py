"""Numbers of threads that share mini-batches, and of threads of BLAS meanwhile."""

import copy
import os
import subprocess
import sys
import sysconfig
import threading
from contextlib import ExitStack

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import load_diabetes
from threadpoolctl import threadpool_info

from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt._core import threads
from ngdt._util.parallel import Threads, map_ranges
from ngdt.optimizers import SSGD, Annealed


@pytest.mark.parametrize(("n_jobs", "n_cores", "used"), [(1, 4, 1), (4, 4, 4), (16, 2, 2)])
@pytest.mark.parametrize("optimizer", [SSGD(epochs=1), Annealed(steps=2)])
def test_no_more_threads_than_cores(monkeypatch, optimizer, n_jobs, n_cores, used):
    counts, run_threads = [], threads.run_threads

    def count(calls, abort):
        counts.append(len(calls))
        return run_threads(calls, abort)

    monkeypatch.setattr(threads, "run_threads", count)
    monkeypatch.setattr(joblib, "cpu_count", lambda: n_cores)
    X = np.random.default_rng(0).normal(size=(30, 3))
    tree = ObliqueTreeClassifier(1, optimizer=optimizer, n_jobs=n_jobs, random_state=0)
    tree.fit(X, X[:, 0] > 0)
    assert set(counts) == {used}


def blas_threads():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


@pytest.mark.usefixtures("two_blas_threads")
def test_blas_has_one_thread_until_the_last_fit_ends():
    with ExitStack() as second:
        with threads.one_blas_thread:
            second.enter_context(threads.one_blas_thread)
        assert blas_threads() == {1}
    assert blas_threads() == {2}


@pytest.mark.usefixtures("two_blas_threads")
def test_another_thread_than_the_first_may_leave_last():
    def fit():
        with threads.one_blas_thread:
            entered.set()
            end.wait()

    entered, end = threading.Event(), threading.Event()
    other = threading.Thread(target=fit)
    with threads.one_blas_thread:
        other.start()
        entered.wait()
    assert blas_threads() == {1}
    end.set()
    other.join()
    assert blas_threads() == {2}


def in_child(check):
    """Return whether a check holds in a forked process."""
    child = os.fork()
    if not child:
        os._exit(not check())
    return os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.usefixtures("two_blas_threads")
def test_a_child_is_not_held_by_the_fits_of_other_threads():
    entered, end = threading.Event(), threading.Event()

    def fit():
        with threads.one_blas_thread:
            entered.set()
            end.wait()

    def leaves():
        inside = blas_threads()
        threads.one_blas_thread.__exit__()
        return (inside, blas_threads()) == ({1}, {2})

    other = threading.Thread(target=fit)
    other.start()
    entered.wait()
    try:
        assert in_child(lambda: blas_threads() == {2})
        with threads.one_blas_thread:
            assert in_child(leaves)
        assert blas_threads() == {1}
    finally:
        end.set()
        other.join()
    assert blas_threads() == {2}


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="not a free-threaded Python")
def test_the_global_lock_stays_off():
    code = "import sys, ngdt; sys.exit(sys._is_gil_enabled())"
    assert subprocess.run([sys.executable, "-W", "error", "-c", code]).returncode == 0


@pytest.mark.parametrize("optimizer", [SSGD(epochs=1), Annealed(steps=2)])
def test_threads_that_wait_for_one_that_cannot_start_return(monkeypatch, optimizer):
    started = []

    class Thread(threading.Thread):
        def start(self):
            if started:
                raise RuntimeError("can't start new thread")
            super().start()
            started.append(self)

    monkeypatch.setattr(joblib, "cpu_count", lambda: 3)
    monkeypatch.setattr(threading, "Thread", Thread)
    X = np.random.default_rng(0).normal(size=(60, 3))
    with pytest.raises(RuntimeError, match="start new thread"):
        ObliqueTreeClassifier(
            2, optimizer=optimizer, n_jobs=3, validation_fraction=None).fit(X, X[:, 0] > 0)
    assert [thread.is_alive() for thread in started] == [False]


@pytest.mark.parametrize("n_jobs", [1, 3, -1])
@pytest.mark.parametrize("n", [0, 1, 7, 8, 29])
def test_ranges_follow_each_other_and_cover_all(n, n_jobs):
    ranges = map_ranges(lambda first, stop: (first, stop), n, n_jobs, 4)
    assert [first for first, _ in ranges] == [0, *(stop for _, stop in ranges[:-1])]
    assert ranges[-1][1] == n
    assert len(ranges) == 1 or min(stop - first for first, stop in ranges) >= 4


def test_errors_of_a_range_are_raised():
    def fail(first, _):
        raise ValueError(f"range {first}")

    with pytest.raises(ValueError, match="range 0"):
        map_ranges(fail, 10, 2, 1)


@pytest.mark.parametrize("leaf", ["constant", "linear"])
@pytest.mark.parametrize("form", ["dense", "csr", "sparse weights", "overflow"])
def test_predictions_do_not_depend_on_the_number_of_threads(monkeypatch, form, leaf):
    monkeypatch.setattr("ngdt._core.tree._VALUES_PER_THREAD", 8)
    X, y = load_diabetes(return_X_y=True)
    one = ObliqueTreeRegressor(
        3, init="random_complete", optimizer=None, leaf=leaf, random_state=0).fit(X, y)
    if form == "sparse weights":
        tree = one.tree_
        one.tree_ = tree.replace(weights=sparse.csr_array(tree.weights * (np.arange(10) == 2)))
    if form == "overflow":
        X = X * 1e308       # scores are not finite, and the samples are checked by themselves
    X = sparse.csr_array(X) if form == "csr" else X
    three = copy.copy(one).set_params(n_jobs=3)
    threads = []
    monkeypatch.setattr("ngdt._util.parallel.Threads", lambda n: threads.append(n) or Threads(n))
    assert_array_equal(three.predict(X), one.predict(X))
    assert_array_equal(three.apply(X), one.apply(X))
    assert set(threads) == {3}
