"""Build the Cython extensions; everything else is in pyproject.toml.

Three environment switches change the whole build:
``NGDT_DEBUG=1`` turns bounds checks on, ``NGDT_COVERAGE=1`` counts how often lines run (gcov), and
``NGDT_SANITIZE=address,undefined`` is given to the compiler as ``-fsanitize``.
"""

import os
import platform
import sys
from pathlib import Path

from Cython import __version__ as cython_version
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer, newer_group

DEBUG = os.environ.get("NGDT_DEBUG") == "1"
COVERAGE = os.environ.get("NGDT_COVERAGE") == "1"
SANITIZE = os.environ.get("NGDT_SANITIZE", "")
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": True,
    "binding": True,
    "embedsignature": True,
    "freethreading_compatible": True,
    # What is pickled says how (__reduce__). Cython would write it for all other classes too, which
    # is a sixth of the time to compile.
    "auto_pickle": False,
}

# Contraction is off so that AVX2 machines give the same bits as those without: a fused
# multiply-add rounds once where a product and a sum round twice.
COMPILE_ARGS = [] if os.name == "nt" else [
    "-ffp-contract=off",
    # Neither changes a result; without them sqrt is a call, and a choice of two numbers a branch.
    "-fno-math-errno", "-fno-trapping-math",
]
if os.name != "nt" and sys.maxsize < 2**32 and platform.machine() in ("i386", "i686", "x86_64"):
    # The default of 32 bits, x87, rounds from 80 bits when a number leaves a register: not at the
    # same places in two functions. NumPy needs SSE2 too.
    COMPILE_ARGS += ["-msse2", "-mfpmath=sse"]
LINK_ARGS = [f"-fsanitize={SANITIZE}"] if SANITIZE else []
if SANITIZE:
    COMPILE_ARGS += [*LINK_ARGS, "-O1", "-g", "-fno-omit-frame-pointer"]
elif COVERAGE:
    LINK_ARGS += ["--coverage"]
    COMPILE_ARGS += ["--coverage", "-O1", "-g0"]
elif os.name != "nt" and not DEBUG:
    COMPILE_ARGS += ["-g0"]  # Python's own flags ask for symbols: a quarter of the time to compile

# The compiler takes most of the time of a build, and most of what it compiles is not kernels but
# the way from Python to them. So it optimises fully only what loops over numbers, and little by
# default. Measured on gcc 12, against -O3 for everything: training and prediction are as fast, and
# it takes half of the time. -O2 for what needs its inlining (with -O1, greedy splits took 20 %
# longer, SGD 15 %), -O1 where that was as fast; with -Og, prediction took 20 % longer, soft
# training 5 to 15 %. No level changes a result: none lets the compiler reorder sums.
C_LEVEL, DEFAULT_LEVEL = "-O3", "-Og"
LEVELS = {
    "-O2": [
        "ngdt/_core/greedy/columns.pyx", "ngdt/_core/greedy/criterion.pyx",
        "ngdt/_core/greedy/moves.pyx", "ngdt/_core/search.pyx", "ngdt/_core/sgd/epoch.pyx",
        "ngdt/_methods/linear_leaves/log_loss.pyx", "ngdt/_methods/model_tree/splits.pyx",
        "ngdt/_methods/oc1/descent.pyx", "ngdt/_methods/soft/routing.pyx",
        "ngdt/_methods/tao/linear.pyx", "ngdt/_methods/tao/newton.pyx"],
    "-O1": [
        "ngdt/_core/flat_tree.pyx", "ngdt/_core/greedy/splitter.pyx", "ngdt/_core/loss.pyx",
        "ngdt/_core/regression_losses.pyx", "ngdt/_core/samples.pyx",
        "ngdt/_forest/ensemble.pyx", "ngdt/_methods/soft/epoch.pyx",
        "ngdt/_methods/soft/leaf_model.pyx"],
}

# What Cython writes for memoryviews and the like, once for all extensions instead of in each.
CYTHON_UTILITY = "ngdt._cyutility"
# What kernels are made of besides their own source.
DOT, SOFT = "ngdt/_core/src/dot.c", "ngdt/_methods/soft/src/soft.c"
EXTRA_SOURCES = {
    "ngdt/_core/samples.pyx": [DOT],
    "ngdt/_core/sgd/epoch.pyx": [DOT],
    "ngdt/_methods/model_tree/splits.pyx": [DOT],
    "ngdt/_methods/soft/epoch.pyx": [DOT, SOFT],
    "ngdt/_methods/soft/leaf_model.pyx": [SOFT],
    "ngdt/_methods/soft/routing.pyx": [DOT, SOFT],
    "ngdt/_methods/tao/linear.pyx": [DOT],
    "ngdt/_methods/tao/newton.pyx": [DOT],
}
HEADERS = [path.as_posix() for path in sorted(Path("ngdt").rglob("src/*.h"))]
INCLUDE = sorted({os.path.dirname(path) for path in (DOT, SOFT)})


def at_level(level: str) -> list[str]:
    """Arguments of the compiler; those of the special builds have their own level, behind it."""
    return [] if os.name == "nt" else [level, *COMPILE_ARGS]


def extension(path: Path) -> Extension:
    source = path.as_posix()
    level = next((each for each, sources in LEVELS.items() if source in sources), DEFAULT_LEVEL)
    return Extension(
        source.removesuffix(".pyx").replace("/", "."),
        sources=[source, *EXTRA_SOURCES.get(source, [])],
        include_dirs=INCLUDE,
        depends=HEADERS,
        extra_compile_args=at_level(level),
        extra_link_args=LINK_ARGS,
    )


class BuildExt(build_ext):
    def finalize_options(self):
        super().finalize_options()
        # Not among the options of setup(): an editable install makes this command anew without.
        self.parallel = self.parallel or CORES

    def run(self):
        # An editable install builds in a temporary folder and leaves its extensions in the source
        # tree, any other install leaves them in build/. Start from what is there, or the first
        # build of the other kind would compile all of them once more.
        for ext in self.extensions:
            name = self.get_ext_filename(ext.name)
            built = os.path.join(self.build_lib, name)
            for left in map(str, (Path(name), *Path("build").glob(f"lib*/{name}"))):
                if os.path.exists(left) and newer(left, built):
                    self.mkpath(os.path.dirname(built))
                    self.copy_file(left, built)
        super().run()

    def build_extensions(self):
        # Extensions that are compiled side by side must not write the same object file: what they
        # share is compiled before them.
        for source in sorted({source for sources in EXTRA_SOURCES.values() for source in sources}):
            (built,) = self.compiler.object_filenames([source], output_dir=self.build_temp)
            if newer_group([source, *HEADERS], built):
                self.compiler.compile(
                    [source], output_dir=self.build_temp, extra_postargs=at_level(C_LEVEL))
            for ext in self.extensions:
                if source in ext.sources:
                    ext.sources.remove(source)
                    ext.depends.append(source)
                    ext.extra_objects.append(built)
        super().build_extensions()


if __name__ == "__main__":  # not in the processes of cythonize, where they import this file
    extensions = [extension(path) for path in Path("ngdt").rglob("*.pyx")]
    # The longest first, so that no core is left with one of them at the end.
    extensions.sort(key=lambda extension: -os.path.getsize(extension.sources[0]))
    utility = Extension(
        CYTHON_UTILITY, [CYTHON_UTILITY.replace(".", "/") + ".c"],
        extra_compile_args=at_level(DEFAULT_LEVEL), extra_link_args=LINK_ARGS)
    modules = [utility, *extensions]
    # Time stamps do not show that generated C is from a build with other switches.
    stamp, switches = Path("build/switches"), f"{DEBUG=} {COVERAGE=} {SANITIZE=} {cython_version=}"
    is_other = not stamp.exists() or stamp.read_text() != switches
    written = [Path(each.sources[0]).with_suffix(".c") for each in modules]
    own = [path for folder in ("ngdt", "pxd") for path in Path(folder).rglob("*.p[xy][xd]")]
    if is_other or newer_group(map(str, own), str(stamp)) or not all(map(Path.exists, written)):
        modules = cythonize(
            modules,
            nthreads=CORES,
            # With SciPy's declarations at hand, an isolated build need not install SciPy and NumPy.
            include_path=["pxd", "."],
            compiler_directives=DIRECTIVES,
            shared_utility_qualified_name=CYTHON_UTILITY,
            force=is_other,
        )
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(switches)
    else:
        # Cython would look at its own files too, which in an isolated build are always new.
        for module, source in zip(modules, written, strict=True):
            module.sources[0] = source.as_posix()
    setup(
        ext_modules=modules,
        cmdclass={"build_ext": BuildExt},
    )
