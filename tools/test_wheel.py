"""Test the ngdt that is installed: that it is not the source, and the tests of every kernel.

Usage: python tools/test_wheel.py, from any folder without an ngdt/ in it; cibuildwheel runs this
for every wheel. Needs pytest and hypothesis. What does not depend on the platform, as pages and
scikit-learn's long list of checks, stays with .ci/run.
"""

import sys
import sysconfig
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1] / "tests"
# What runs the kernels; predictions and pickles are in core.
FOLDERS = ("core", "greedy", "initializers", "optimizers")


def check_gil():
    """Nothing has switched the global lock back on in a free-threaded Python."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        assert not sys._is_gil_enabled()


if __name__ == "__main__":
    sys.path.insert(0, str(TESTS))
    import check_installed

    check_installed.check_package()
    check_gil()
    folders = [str(TESTS / name) for name in FOLDERS]
    sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *folders]))
