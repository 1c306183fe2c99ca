"""A little load; `tests/load.py` has more of it."""

import sys

import pytest

import load
from helpers import in_nightly
from load import MODELS

ALL = pytest.mark.parametrize("name", MODELS)


@ALL
def test_fit_and_predict_at_once(name):
    load.fit_and_predict_at_once(name, 30)


@pytest.mark.parametrize("name", ["soft", "forest"])
def test_many_at_once(name):
    load.many_at_once(name, 10)


@pytest.mark.skipif(sys.platform != "linux", reason="fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("name", ["soft", "forest"])
def test_fork_after_threads(name):
    load.in_processes(name, "fork")


@pytest.mark.parametrize("name", ["soft", "forest"])
def test_threads_in_threads_of_joblib(name):
    load.nested(name, "threading")


@pytest.mark.skipif(sys.platform != "linux", reason="fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_fork_while_threads_fit():
    load.processes_from_threads("soft", 2)


@pytest.mark.parametrize("name", ["soft", "tao", "forest", *in_nightly(["greedy"])])
def test_fits_leave_no_memory(name):
    traced, _ = load.growth(lambda: load.fitted(name), 3)
    # Python's lists of free objects fill, ever more slowly. A copy of the samples is more.
    assert traced < 3 * load.X.nbytes


def test_a_deep_tree():
    load.a_deep_tree(16, 500)


def test_one_row_at_a_time():
    load.one_row_at_a_time("greedy", 300)


def test_many_rows():
    load.many_rows(20_000)
