"""matplotlib, Hypothesis, onnx and torch are needed only by what uses them."""

import subprocess
import sys

SCRIPT = """
import sys
sys.modules["hypothesis"] = None    # as if it were not installed
sys.modules["onnx"] = None


class NoTorch:      # scipy takes None in sys.modules for a module
    is_asked_for = False

    def find_spec(name, *_):
        if name == "torch":
            NoTorch.is_asked_for = True
            raise ModuleNotFoundError("no torch", name=name)


sys.meta_path.insert(0, NoTorch)
import ngdt, ngdt.plotting, ngdt.testing
assert "matplotlib" not in sys.modules
try:
    ngdt.export.export_onnx(ngdt.Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [1.0]]))
except ImportError as error:
    assert 'pip install "ngdt[onnx]"' in str(error)
else:
    raise SystemExit("exported without onnx")
ngdt.deep.CNN()
model = ngdt.deep.DeepTreeClassifier()
assert not NoTorch.is_asked_for
try:
    model.fit([[0.0], [1.0]], [0, 1])
except ImportError as error:
    assert 'pip install "ngdt[deep]"' in str(error)
else:
    raise SystemExit("fitted without torch")
try:
    import ngdt.testing.strategies
except ImportError as error:
    assert "hypothesis" in str(error)
else:
    raise SystemExit("imported without Hypothesis")
"""


def test_import_without_optional_dependencies():
    subprocess.run([sys.executable, "-c", SCRIPT], check=True)
