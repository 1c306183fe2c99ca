"""Build the loss next to its source: python setup.py build_ext --inplace."""

from pathlib import Path

from Cython.Build import cythonize
from setuptools import setup

import ngdt

setup(
    name="quantile-loss",
    # Where Cython finds ngdt/_loss.pxd, however ngdt was installed.
    ext_modules=cythonize("quantile_loss.pyx", include_path=[str(Path(ngdt.__file__).parents[1])]),
)
