"""Build the Cython extensions; everything else is in pyproject.toml.

Two environment switches change the whole build:
``NGDT_DEBUG=1`` turns bounds checks on, ``NGDT_COVERAGE=1`` traces lines for coverage.
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("NGDT_DEBUG") == "1"
COVERAGE = os.environ.get("NGDT_COVERAGE") == "1"

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": True,
    "binding": True,
    "embedsignature": True,
    "freethreading_compatible": True,
    "linetrace": COVERAGE,
}

# Contraction is off so that AVX2 machines give the same bits as those without: a fused
# multiply-add rounds once where a product and a sum round twice.
COMPILE_ARGS = [] if os.name == "nt" else [
    "-O3", "-ffp-contract=off",
    # Neither changes a result; without them sqrt is a call, and a choice of two numbers a branch.
    "-fno-math-errno", "-fno-trapping-math",
]
if os.name != "nt" and not DEBUG:
    COMPILE_ARGS += ["-g0"]  # Python's own flags ask for symbols: a quarter of the time to compile
EXTRA_SOURCES = {
    "ngdt/_samples.pyx": ["ngdt/src/dot.c"],
    "ngdt/optimizers/_soft/routing.pyx": ["ngdt/src/dot.c", "ngdt/src/soft.c"],
    "ngdt/optimizers/_tao/newton.pyx": ["ngdt/src/dot.c"],
    "ngdt/optimizers/_tao/linear.pyx": ["ngdt/src/dot.c"],
    "ngdt/optimizers/_sgd/epoch.pyx": ["ngdt/src/dot.c"],
    "ngdt/optimizers/_soft/epoch.pyx": ["ngdt/src/soft.c"],
}


def extension(path: Path) -> Extension:
    source = path.as_posix()
    return Extension(
        source.removesuffix(".pyx").replace("/", "."),
        sources=[source, *EXTRA_SOURCES.get(source, [])],
        include_dirs=["ngdt/src"],
        depends=[f"ngdt/src/{name}.h" for name in ("dot", "differ", "soft", "barrier")],
        extra_compile_args=COMPILE_ARGS,
        define_macros=[("CYTHON_TRACE_NOGIL", "1")] if COVERAGE else [],
    )


setup(
    ext_modules=cythonize(
        [extension(path) for path in sorted(Path("ngdt").rglob("*.pyx"))],
        compiler_directives=DIRECTIVES,
        # Switches do not change the sources' time stamps, so they have to force a new translation.
        force=DEBUG or COVERAGE,
    ),
)
