"""Find the lines of the kernels that each test file runs.

    python tools/cover.py                  tests of the kernels; a table per file
    python tools/cover.py tests/greedy     only these test files or folders, and add them to it
    python tools/cover.py --report         the table of the last run

The C that Cython writes is compiled with gcc's counters. Line tracing would do the same through
Python's debugger, and is fifty times slower. Counts are those of C lines; a line of Cython has run
if any line of C that was made of it has.

The source is copied to build/coverage and built there. The results are in build/coverage.json: the
processor seconds of each test file, and for each line of code the test files that run it.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "build" / "coverage.json"
COPY = ROOT / "build" / "coverage"
KERNEL_TESTS = ["core", "greedy", "inference", "initializers", "optimizers",
                "estimators/test_checkpoint.py", "estimators/test_input_data.py",
                "estimators/test_max_time.py", "estimators/test_regression_losses.py",
                "forest/test_ensemble.py", "test_threads.py"]
MARKER = re.compile(r'\s*/\* "(ngdt/.+)":(\d+)$')
END = re.compile(r"}$|\s*/\* function exit code \*/")
LABEL = re.compile(r"\s*__pyx_L\w+:;$")      # also reached from the other branch


def copy_source(folder, keep=()):
    """Copy what git knows, times of change included, so that only what changed is compiled."""
    folder.mkdir(parents=True, exist_ok=True)
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout.split(b"\0")
    files = b"\0".join(name for name in names if name and name.decode() not in keep
                       and (ROOT / name.decode()).exists())
    packed = subprocess.run(["tar", "--null", "--files-from=-", "-cf", "-"], cwd=ROOT, check=True,
                            input=files, stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "-xf", "-", "-C", folder], check=True, input=packed)


def build(folder, **environment):
    return subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=folder, check=False,
        env=os.environ | environment, capture_output=True, text=True)


def test_command(folder, *options, **environment):
    """Arguments and keywords for `subprocess` to run tests in a copy of the source."""
    data = os.environ.get("NGDT_DATA", str(ROOT.parent / "shared" / "data"))
    return (
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *options],
        {"cwd": folder, "text": True, "env": os.environ | {
            "PYTHONPATH": str(folder), "NGDT_DATA": data, "PYTHONDONTWRITEBYTECODE": "1",
            **environment}})


def cython_lines(source):
    """For each line of generated C, by number, the (file, line) that it was made of."""
    origin, lines = None, {}
    for number, text in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
        marker = MARKER.match(text)
        if marker:
            origin = marker[1], int(marker[2])
        elif END.match(text):
            origin = None
        elif origin is not None and not LABEL.match(text):
            lines[number] = origin
    return lines


def counts():
    """Number of runs of each line of code: {(file, line): count}."""
    data = [path.as_posix() for path in COPY.rglob("*.gcda")]
    output = subprocess.run(
        ["gcov", "--json-format", "--stdout", *data], cwd=COPY, check=True,
        capture_output=True, text=True).stdout
    counted = {}
    for file in (file for each in output.splitlines() for file in json.loads(each)["files"]):
        path = COPY / file["file"]
        if not path.is_relative_to(COPY / "ngdt") or not path.exists():
            continue
        own = path.parent.name == "src"
        origins = {} if own else cython_lines(path)
        for line in file["lines"]:
            number = line["line_number"]
            origin = (file["file"], number) if own else origins.get(number)
            if origin is not None:
                counted[origin] = max(counted.get(origin, 0), line["count"])
    return counted


def processor_time():
    """Of the processes that have ended; unlike other time, about the same on a busy machine."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(tests, known):
    """Run each test file by itself; keep what is known of others."""
    seconds, lines = known.get("seconds", {}), known.get("lines", {})
    for file in lines.values():
        for line, ran in file.items():
            file[line] = [test for test in ran if test not in tests]
    for at, test in enumerate(tests, 1):
        for path in COPY.rglob("*.gcda"):
            path.unlink()
        began = processor_time()
        command, where = test_command(COPY, test)
        run = subprocess.run(command, capture_output=True, check=False, **where)
        if run.returncode:
            sys.exit(run.stdout)
        seconds[test] = round(processor_time() - began, 1)
        print(f"{at}/{len(tests)}  {seconds[test]:6.1f} s  {test}", flush=True)
        for (file, line), count in counts().items():
            ran = lines.setdefault(file, {}).setdefault(str(line), [])
            if count:
                ran.append(test)
    lines = {file: dict(sorted(lines[file].items(), key=lambda item: int(item[0])))
             for file in sorted(lines)}
    RESULTS.write_text(json.dumps({"seconds": seconds, "lines": lines}))


def report():
    """Print a row per file: share of the lines of code that ran, and those that did not."""
    lines = json.loads(RESULTS.read_text())["lines"]
    n_all = n_run = 0
    for file, tests in lines.items():
        if file.endswith(".pxd"):
            continue
        # What Cython makes of declarations is not ours.
        text = (ROOT / file).read_text(encoding="utf-8").splitlines()
        tests = {line: ran for line, ran in tests.items()
                 if "cdef readonly" not in text[int(line) - 1]}
        missed = [line for line in tests if not tests[line]]
        n_all += len(tests)
        n_run += len(tests) - len(missed)
        print(f"{file:45} {len(tests):4} lines {1 - len(missed) / len(tests):6.1%}  "
              f"{' '.join(missed)}")
    print(f"{'all':45} {n_all:4} lines {n_run / n_all:6.1%}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="*")
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    if not options.report:
        copy_source(COPY)
        built = build(COPY, NGDT_COVERAGE="1")
        if built.returncode:
            sys.exit(built.stderr)
        names = options.tests or [f"tests/{name}" for name in KERNEL_TESTS]
        paths = [path for name in names for path in (
            [ROOT / name] if name.endswith(".py") else (ROOT / name).rglob("test_*.py"))]
        known = json.loads(RESULTS.read_text()) if options.tests and RESULTS.exists() else {}
        measure(sorted(path.relative_to(ROOT).as_posix() for path in paths), known)
    report()


if __name__ == "__main__":
    main()
