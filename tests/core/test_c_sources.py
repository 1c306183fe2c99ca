"""The C sources under gcc's sanitizers: in seconds, where the whole package takes many minutes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [Path(__file__).with_name("c_sources.c"),
           ROOT / "ngdt/_core/src/dot.c", ROOT / "ngdt/_methods/soft/src/soft.c"]
COMPILER = shutil.which("gcc")
MEMORY, RACES = "address,undefined,float-cast-overflow", "thread"

pytestmark = pytest.mark.skipif(
    COMPILER is None or sys.platform != "linux", reason="needs gcc on Linux")


def run(folder, sanitizers, *definitions):
    """Compile and run the functions, with arrays of just the size that they need."""
    program = folder / "program"
    built = subprocess.run(
        [COMPILER, "-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-ffp-contract=off",
         f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all", *definitions,
         *(f"-I{source.parent}" for source in SOURCES), *map(str, SOURCES), "-lm", "-lpthread",
         "-o", str(program)],
        capture_output=True, text=True)
    if "cannot find" in built.stderr:
        pytest.skip(f"no libraries for -fsanitize={sanitizers}")
    assert built.returncode == 0, built.stderr
    # Not the library of a sanitizer that the tests themselves run under, nor where its reports go.
    environment = {key: value for key, value in os.environ.items()
                   if key != "LD_PRELOAD" and not key.endswith("SAN_OPTIONS")}
    return subprocess.run([program], capture_output=True, text=True, env=environment)


@pytest.mark.parametrize("sanitizers", [MEMORY, RACES])
def test_no_function_leaves_its_arrays_and_no_thread_its_phase(tmp_path, sanitizers):
    result = run(tmp_path, sanitizers)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(("sanitizers", "definition", "found"), [
    (MEMORY, "OVERRUN", "heap-buffer-overflow"), (RACES, "RACE", "data race")])
def test_the_sanitizers_find_what_is_planted(tmp_path, sanitizers, definition, found):
    result = run(tmp_path, sanitizers, f"-D{definition}")
    assert result.returncode != 0
    assert found in result.stderr
