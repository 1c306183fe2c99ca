"""How many threads share mini-batches, and how many BLAS uses meanwhile."""

import subprocess
import sys
import sysconfig
import threading
from contextlib import ExitStack

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info

from ngdt import ObliqueTreeClassifier
from ngdt.optimizers import SSGD, Annealed
from ngdt.optimizers import _threads as threads


@pytest.mark.parametrize(("n_jobs", "n_cores", "used"), [(1, 4, 1), (4, 4, 4), (16, 2, 2)])
@pytest.mark.parametrize("optimizer", [SSGD(epochs=1), Annealed(steps=2)])
def test_no_more_threads_than_cores(monkeypatch, optimizer, n_jobs, n_cores, used):
    counts, run_threads = [], threads.run_threads

    def count(calls, abort):
        counts.append(len(calls))
        return run_threads(calls, abort)

    monkeypatch.setattr(threads, "run_threads", count)
    monkeypatch.setattr(joblib, "cpu_count", lambda: n_cores)
    X = np.random.default_rng(0).normal(size=(60, 3))
    tree = ObliqueTreeClassifier(2, optimizer=optimizer, n_jobs=n_jobs, random_state=0)
    tree.fit(X, X[:, 0] > 0)
    assert set(counts) == {used}


@pytest.mark.usefixtures("two_blas_threads")
def test_blas_has_one_thread_until_the_last_fit_ends():
    def n_threads():
        return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

    with ExitStack() as second:
        with threads.one_blas_thread:
            second.enter_context(threads.one_blas_thread)
        assert n_threads() == {1}
    assert n_threads() == {2}


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
        ObliqueTreeClassifier(2, optimizer=optimizer, n_jobs=3).fit(X, X[:, 0] > 0)
    assert [thread.is_alive() for thread in started] == [False]
