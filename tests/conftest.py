"""Hypothesis profiles, processes that share the tests, data sets, and an optimizer that only looks.
"""

import gc
import os
import sys
from pathlib import Path

try:
    import fcntl
except ImportError:     # Windows
    fcntl = None

# Packages are imported where they are used: the process that only shares out the tests needs none.
# Before numpy is loaded: the arrays of most tests are too small for several BLAS threads, which
# would only wait for each other, and more so where processes share the cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import pytest

# Bytecode is written whatever the environment says: each of some twenty processes of a run would
# compile all modules of ngdt.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))      # the folder of the benchmarks is not installed


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Share the whole suite out to all cores, if pytest-xdist is there; a file is run right here.

    `-n` takes precedence: with `-n 0`, everything runs in one process.
    """
    options = config.option
    is_worker = hasattr(config, "workerinput")
    if (config.args_source is pytest.Config.ArgsSource.TESTPATHS and not is_worker
            and getattr(options, "numprocesses", 0) is None and not options.collectonly):
        options.numprocesses = "auto"
        if options.dist == "no":
            options.dist = "worksteal"      # what is left of a slow half goes to the other


def pytest_configure(config):
    """Choose how many examples there are, in the processes that run tests."""
    if hasattr(config, "workerinput") or config.getoption("dist", "no") == "no":
        load_profile()


def load_profile():
    """Register the profiles, and load the one of the environment.

    No deadline: the first example pays for imports, and the machines that run this are shared. The
    default draws the same examples every time, so that a patch fails for what it changed; "nightly"
    is what looks for new ones.
    """
    from hypothesis import Phase, settings

    settings.register_profile("dev", max_examples=5, deadline=None, derandomize=True)
    settings.register_profile("nightly", max_examples=2000, deadline=None, print_blob=True)
    # For tools/mutate.py: that a test fails is enough, and to find the simplest example takes
    # minutes.
    settings.register_profile(
        "mutants", settings.get_profile("dev"), phases=[Phase.explicit, Phase.generate])
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


def pytest_runtest_protocol(item, nextitem):
    """In a process that runs a share of the tests, send one short report of a test that passes.

    Three long ones cost more than most tests: they are packed, sent, unpacked and looked at. That
    it starts is not told.
    """
    from _pytest.runner import runtestprotocol

    if not hasattr(item.config, "workerinput"):
        return None
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    if all(report.passed for report in reports):
        reports = [report for report in reports if report.when == "call"]
        reports[0].keywords = {}
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_terminal_summary():
    """Keep Hypothesis from importing ngdt, if it is imported only now: no test has run then."""
    os.environ["HYPOTHESIS_NO_PLUGINS"] = "1"


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Import a test module in one process after the other.

    To rewrite its asserts takes longer than all else, and the second process finds that done.
    """
    if fcntl is None or not isinstance(collector, pytest.Module):
        return (yield)
    with collector.path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        return (yield)


def pytest_collection():
    """Nothing that the imports make is garbage."""
    gc.disable()


def pytest_collection_finish():
    """All modules and tests are there, and stay: the collector need not look at them again."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def load_data():
    """Function from the name of a data set to its arrays; skips where there are no data sets."""
    import numpy as np

    folder = Path(os.environ.get("NGDT_DATA", ROOT.parent / "shared" / "data"))

    def load(name):
        file = folder / f"{name}.npz"
        if not file.is_file():
            pytest.skip(f"no data set {file}: NGDT_DATA names the folder of the data sets")
        with np.load(file, allow_pickle=False) as arrays:
            return dict(arrays)

    return load


def read_only(X, y):
    """The arrays, which a test cannot change for the others."""
    import numpy as np

    X, y = np.ascontiguousarray(X), np.ascontiguousarray(y)
    X.flags.writeable = y.flags.writeable = False
    return X, y


@pytest.fixture(scope="session")
def iris():
    from sklearn.datasets import load_iris

    return read_only(*load_iris(return_X_y=True))


@pytest.fixture(scope="session")
def diabetes():
    from sklearn.datasets import load_diabetes

    return read_only(*load_diabetes(return_X_y=True))


@pytest.fixture(scope="session")
def all_digits():
    from sklearn.datasets import load_digits

    return read_only(*load_digits(return_X_y=True))


@pytest.fixture(scope="session")
def digits(all_digits):
    """The first 600 digits."""
    X, y = all_digits
    return X[:600], y[:600]


@pytest.fixture(scope="session")
def thread_pools():
    """The libraries with threads; to look for them takes longer than most tests."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@pytest.fixture
def two_blas_threads(thread_pools):
    """BLAS with threads of its own."""
    if not thread_pools.select(user_api="blas").lib_controllers:
        pytest.skip("this BLAS has no threads")
    with thread_pools.limit(limits=2, user_api="blas"):
        yield


@pytest.fixture(autouse=True, scope="module")
def short_soft_training(request):
    """By default, soft training takes 100 steps, not 2250, nor 500 where kinds compete.

    What is told of trees holds for these, too. Pages and their examples are of the full training,
    and tests of the optimizers themselves of their own steps.
    """
    folder = request.path.parent.name
    with pytest.MonkeyPatch.context() as patch:
        if folder not in ("project", "optimizers"):
            patch.setattr("ngdt._methods.soft.annealed.N_STEPS", 100)
        if folder != "project":
            patch.setattr("ngdt._selection.policy.FEW_STEPS", 100)
            # With fewer, others are trained in their place, which takes longer.
            patch.setattr("ngdt._forest.policy.STEPS", 300)
        yield


@pytest.fixture
def few_trial_trees(monkeypatch):
    """Two trees of each kind compete in a forest, by the same third of the samples.

    With folds, six are needed, or there would be samples that are held out of none or one of them.
    """
    monkeypatch.setattr("ngdt._forest.policy.N_TRIAL", 2)
    monkeypatch.setattr("ngdt._training.folds.HOLD_OUT_SAMPLES", 1)


@pytest.fixture
def spy():
    """Optimizer that keeps its problems, as `seen`, and returns the tree."""
    from ngdt.optimizers import Optimizer, OptimizerResult

    class Spy(Optimizer):
        seen = []       # noqa: RUF012  clones share it, so that the test can read it

        def _optimize(self, tree, problem):
            self.seen.append(problem)
            return OptimizerResult(tree)

    return Spy()


@pytest.fixture(scope="session")
def docs_packages():
    """What is said on pages and shown in pictures is tested where they can be built."""
    pytest.importorskip("sphinx_gallery")


@pytest.fixture
def plt():
    """`matplotlib.pyplot` for pictures that are not shown, and are gone after the test."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")
