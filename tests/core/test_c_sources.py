"""The C sources under gcc's sanitizers: in seconds, where the whole package takes many minutes."""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [Path(__file__).with_name("c_sources.c"),
           ROOT / "ngdt/_core/src/dot.c", ROOT / "ngdt/_methods/soft/src/soft.c"]
COMPILER = shutil.which("gcc")
MEMORY, RACES = "address,undefined,float-cast-overflow", "thread"

pytestmark = pytest.mark.skipif(
    COMPILER is None or sys.platform != "linux", reason="needs gcc on Linux")


@cache
def program(sanitizers):
    """Compile calls of the functions with arrays of just the size that they need."""
    path = Path(mkdtemp()) / "program"
    built = subprocess.run(
        [COMPILER, "-std=c11", "-Wall", "-Wextra", "-Werror", "-O0", "-g", "-ffp-contract=off",
         f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all",
         *(f"-I{source.parent}" for source in SOURCES), *map(str, SOURCES), "-lm", "-lpthread",
         "-o", str(path)],
        capture_output=True, text=True)
    if "cannot find" in built.stderr:
        pytest.skip(f"no libraries for -fsanitize={sanitizers}")
    assert built.returncode == 0, built.stderr
    return path


def run(sanitizers, *words):
    # Not the library of a sanitizer that the tests themselves run under, nor where its reports go.
    environment = {key: value for key, value in os.environ.items()
                   if key != "LD_PRELOAD" and not key.endswith("SAN_OPTIONS")}
    return subprocess.run(
        [program(sanitizers), *words], capture_output=True, text=True, env=environment)


@pytest.mark.parametrize("sanitizers", [MEMORY, RACES])
def test_no_function_leaves_its_arrays_and_no_thread_its_phase(sanitizers):
    result = run(sanitizers)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(("sanitizers", "word", "found"), [
    (MEMORY, "overrun", "heap-buffer-overflow"), (RACES, "race", "data race")])
def test_the_sanitizers_find_what_is_planted(sanitizers, word, found):
    result = run(sanitizers, word)
    assert result.returncode != 0
    assert found in result.stderr
