"""matplotlib, Hypothesis and onnx are needed only by what uses them."""

import subprocess
import sys

SCRIPT = """
import sys
sys.modules["hypothesis"] = None    # as if it were not installed
sys.modules["onnx"] = None
import ngdt, ngdt.plotting, ngdt.testing
assert "matplotlib" not in sys.modules
try:
    ngdt.export.export_onnx(ngdt.Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [1.0]]))
except ImportError as error:
    assert 'pip install "ngdt[onnx]"' in str(error)
else:
    raise SystemExit("exported without onnx")
try:
    import ngdt.testing.strategies
except ImportError as error:
    assert "hypothesis" in str(error)
else:
    raise SystemExit("imported without Hypothesis")
"""


def test_import_without_optional_dependencies():
    subprocess.run([sys.executable, "-c", SCRIPT], check=True)
