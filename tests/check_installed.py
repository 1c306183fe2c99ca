"""Check an installed ngdt and the archives it came from; run by .ci/run, from another folder.

Usage: python check_installed.py ngdt.tar.gz ngdt.whl
"""

import sys
import tarfile
import zipfile
from importlib.metadata import requires
from pathlib import Path

from sklearn.datasets import load_iris

import ngdt


def check_archives(sdist, wheel):
    """The headers that users cimport and the types are shipped; generated C is not."""
    with tarfile.open(sdist) as archive:
        source = {name.partition("/")[2] for name in archive.getnames()}
    with zipfile.ZipFile(wheel) as archive:
        installed = set(archive.namelist())
    modules = {name.removesuffix(".pyx") for name in source if name.endswith(".pyx")}
    modules = {name for name in modules if name.startswith("ngdt/")}
    assert modules, "no Cython sources in the source distribution"
    headers = {name for name in source if name.startswith("ngdt/") and name.endswith(".pxd")}
    stubs = {name for name in source if name.startswith("ngdt/") and name.endswith(".pyi")}
    for files in (source, installed):
        missing = {"ngdt_command.py", "ngdt/py.typed", "ngdt/_core/loss.pxd", "ngdt/_core/loss.pyi"}
        missing = (missing | headers | stubs) - files
        assert not missing, f"not shipped: {sorted(missing)}"
        generated = {f"{name}.c" for name in modules} & files
        assert not generated, f"generated files shipped: {sorted(generated)}"
    assert not any(name.startswith(("tests", "docs")) for name in installed)
    assert {"LICENSE", "README.md", ".ci/run"} <= source, sorted(source)


def check_package():
    """The copy that was imported is the installed one, and it works."""
    assert Path(sys.prefix) in Path(ngdt.__file__).parents, ngdt.__file__
    for name in ngdt.__all__:
        getattr(ngdt, name)
    X, y = load_iris(return_X_y=True)
    tree = ngdt.ObliqueTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    assert tree.score(X, y) > 0.9
    assert "</html>" in ngdt.export.export_html(tree)   # its template is shipped
    assert not any("pytest" in line for line in requires("ngdt") if "extra" not in line)


if __name__ == "__main__":
    check_archives(*sys.argv[1:])
    check_package()
    print(f"ngdt {ngdt.__version__} in {Path(ngdt.__file__).parent}: fine")
