"""matplotlib and Hypothesis are needed only by what uses them."""

import subprocess
import sys

SCRIPT = """
import sys
sys.modules["hypothesis"] = None    # as if it were not installed
import ngdt, ngdt.plotting, ngdt.testing
assert "matplotlib" not in sys.modules
try:
    import ngdt.testing.strategies
except ImportError as error:
    assert "hypothesis" in str(error)
else:
    raise SystemExit("imported without Hypothesis")
"""


def test_import_without_optional_dependencies():
    subprocess.run([sys.executable, "-c", SCRIPT], check=True)
