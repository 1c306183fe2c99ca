"""Build the loss next to its source: python setup.py build_ext --inplace."""

from importlib.util import find_spec
from pathlib import Path

from Cython.Build import cythonize
from setuptools import setup

setup(
    name="quantile-loss",
    ext_modules=cythonize(
        "quantile_loss.pyx",
        # Where Cython finds ngdt/_core/loss.pxd, however ngdt was installed.
        include_path=[str(Path(find_spec("ngdt").origin).parents[1])],
        # Without it, to import the loss would switch the lock of free-threaded Python on again.
        compiler_directives={"freethreading_compatible": True}),
)
