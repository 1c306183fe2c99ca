"""Change one operator or constant of a kernel at a time, and see whether a test fails.

    python tools/cover.py                     first: which tests run which lines
    python tools/mutate.py --limit 5          five mutants of each file
    python tools/mutate.py --module tao       only of files with this in their path
    python tools/mutate.py --again            the survivors once more, after a change of the tests
    python tools/mutate.py --report           counts per file, and the survivors

A mutant is killed if a test fails, crashes or does not end. It is tried on the test files that run
its line, as many as fit in `--seconds`: those first whose path has most words in common with the
file's, then those that run most of its lines per second. Which mutants are drawn depends on the
seed and the file alone. The source is copied to build/mutants and changed there; build/mutants.csv
has a row for each mutant, and a stopped run goes on.
"""

import argparse
import csv
import json
import os
import random
import re
import resource
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from cover import RESULTS, ROOT, build, copy_source, test_command

COPY = ROOT / "build" / "mutants"
ROWS = ROOT / "build" / "mutants.csv"
COLUMNS = ["file", "line", "column", "old", "new", "outcome", "by", "seconds", "text"]
MEMORY = 8 << 30

BOTH_WAYS = [
    ("+", "-"), ("*", "/"), ("<", "<="), (">", ">="), ("==", "!="), ("<<", ">>"), ("&", "|"),
    ("&&", "||"), ("and", "or"), ("+=", "-="), ("*=", "/="), ("|=", "&="), ("0", "1"),
    ("0.0", "1.0"), ("0.0f", "1.0f"), ("min", "max"), ("fmin", "fmax"), ("True", "False"),
]
CHANGES = {
    "//": "*", "%": "+", "2": "3", "2.0": "3.0", "0.5": "0.25", "not ": "",
    **{old: new for pair in BOTH_WAYS for old, new in (pair, pair[::-1])}}

# Strings and comments come first, so that nothing is found in them. Operators of two operands have
# blanks around them, which a pointer and a sign have not.
STRINGS = r'"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
C_COMMENTS = r"/\*(?:.|\n)*?\*/|//.*|\#include.*|\#if.*"
COMMENTS = {".pyx": r"#.*", ".c": C_COMMENTS, ".h": C_COMMENTS}
OPERATOR = r"(?<=\s)(?:[-+*|&]=|//|<<|>>|&&|\|\||[-+*/%<>&|]|[<>=!]=)(?=\s)"
WORD = r"\b(?:(?:and|or|True|False)\b|not\ |f?(?:min|max)(?=\())"
NUMBER = r"(?<![\w.:])(?:0\.0f?|1\.0f?|0\.5|2\.0|[012])(?![\w.])"
# No arithmetic, or none that changes a result.
SKIPPED_LINE = re.compile(
    r"\s*(?:from|import|cimport|ctypedef|cdef extern|cdef class|@|\#define)\b|.*prefetch")


class Mutant(NamedTuple):
    file: str
    line: int
    column: int
    old: str
    new: str

    @property
    def key(self):
        return tuple(map(str, self))


def mutants(file, text):
    """All mutants of a file with this text."""
    lines = text.splitlines()
    token = re.compile(
        f"(?P<skip>{STRINGS}|{COMMENTS[Path(file).suffix]})|(?P<found>{OPERATOR}|{WORD}|{NUMBER})")
    for match in token.finditer(text):
        line = text.count("\n", 0, match.start())
        if match["found"] in CHANGES and not SKIPPED_LINE.match(lines[line]):
            column = match.start() - text.rfind("\n", 0, match.start()) - 1
            yield Mutant(file, line + 1, column, match["found"], CHANGES[match["found"]])


def words(path):
    return set(re.findall(r"[a-z0-9]+", path))


def line_of(mutant, counted):
    """The counted line that a mutant belongs to."""
    if mutant.line not in counted and not mutant.file.endswith(".pyx"):
        # Lines of a macro are counted where it is used, further below.
        return min((line for line in counted if line > mutant.line), default=0)
    # A statement has the number of its first line.
    return max((line for line in counted if line <= mutant.line), default=0)


def tests_of(mutant, coverage, most_seconds):
    """Test files that run the line of a mutant, and the seconds that they take."""
    lines, seconds = coverage["lines"].get(mutant.file, {}), coverage["seconds"]
    at = line_of(mutant, [*map(int, lines)])
    n_lines = Counter(test for tests in lines.values() for test in tests)
    start = min(seconds.values())       # of Python and pytest, which is paid once
    cost = {test: seconds[test] - start + 0.2 for test in lines.get(str(at), [])}
    chosen, spent = [], 0.0
    for test in sorted(cost, key=lambda test: (
            -len(words(test) & words(mutant.file)), -n_lines[test] / cost[test])):
        if not chosen or spent + cost[test] <= most_seconds:
            chosen.append(test)
            spent += cost[test]
    return chosen, start + spent


def run_tests(tests, seconds):
    """The end of the mutant that is built: a test, a signal, too much time, or None."""
    command, where = test_command(COPY, "-x", *tests, HYPOTHESIS_PROFILE="mutants")
    limit = int(60 + 5 * seconds)     # where threads wait for a core, they use up one

    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))

    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           start_new_session=True, preexec_fn=limited, **where)
    try:
        output, _ = run.communicate(timeout=10 * limit)     # threads that sleep
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        return "time"
    if run.returncode < 0:
        return signal.Signals(-run.returncode).name
    if run.returncode == 0:
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", output, flags=re.MULTILINE)
    return failed[1] if failed else "error"


def judge(mutant, coverage, most_seconds):
    """Build a mutant and run its tests; (outcome, by)."""
    tests, seconds = tests_of(mutant, coverage, most_seconds)
    if not tests:
        return "survived", "no test runs it"
    source = (ROOT / mutant.file).read_text(encoding="utf-8").splitlines(keepends=True)
    line = source[mutant.line - 1]
    source[mutant.line - 1] = (
        line[:mutant.column] + mutant.new + line[mutant.column + len(mutant.old):])
    (COPY / mutant.file).write_text("".join(source), encoding="utf-8")
    if build(COPY).returncode:
        return "invalid", "compiler"
    by = run_tests(tests, seconds)
    return ("survived", f"{len(tests)} test files") if by is None else ("killed", by)


def restore(file):
    """Write a file of the copy as it should be, if it is not: so it is compiled once more."""
    text = (ROOT / file).read_text(encoding="utf-8")
    if not (COPY / file).exists() or (COPY / file).read_text(encoding="utf-8") != text:
        (COPY / file).write_text(text, encoding="utf-8")


def read_rows():
    if not ROWS.exists():
        return []
    with ROWS.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_rows(rows):
    with ROWS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)


def drawn(file, seed):
    """All mutants of a file, in a random order."""
    found = list(mutants(file, (ROOT / file).read_text(encoding="utf-8")))
    random.Random(f"{seed} {file}").shuffle(found)
    return found


def try_mutants(file, options, coverage, rows):
    """Try as many mutants of a file as are asked for, those with rows included."""
    outcomes = {tuple(row[name] for name in COLUMNS[:5]): row["outcome"] for row in rows}
    n_valid, lines = 0, (ROOT / file).read_text(encoding="utf-8").splitlines()
    for mutant in drawn(file, options.seed):
        if n_valid == options.limit:
            break
        if mutant.key not in outcomes:
            began = time.perf_counter()
            outcome, by = judge(mutant, coverage, options.seconds)
            seconds = round(time.perf_counter() - began, 1)
            text = lines[mutant.line - 1].strip()
            rows.append(dict(zip(
                COLUMNS, [*mutant.key, outcome, by, str(seconds), text], strict=True)))
            write_rows(rows)
            outcomes[mutant.key] = outcome
            print(f"{len(rows):4} {outcome:8} {seconds:5.0f} s  {file}:{mutant.line}  "
                  f"{mutant.old} -> {mutant.new}  {text}  [{by}]", flush=True)
        n_valid += outcomes[mutant.key] != "invalid"
    restore(file)


def report(rows):
    counts = Counter((row["file"], row["outcome"]) for row in rows)
    for file in sorted({row["file"] for row in rows}):
        print(f"{file:45} {counts[file, 'killed']:3} killed {counts[file, 'survived']:3} survived")
    for row in rows:
        if row["outcome"] == "survived":
            print(f"{row['file']}:{row['line']}:{row['column']}  {row['old']} -> {row['new']}  "
                  f"{row['text']}  [{row['by']}]")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", default="", help="part of the path of the files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, default=5, help="mutants per file")
    parser.add_argument("--seconds", type=float, default=60.0, help="of tests per mutant")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    rows = read_rows()
    if options.again:
        rows = [row for row in rows
                if row["outcome"] != "survived" or options.module not in row["file"]]
    if not options.report:
        coverage = json.loads(RESULTS.read_text())
        files = [file for file in coverage["lines"] if Path(file).suffix in COMMENTS]
        COPY.mkdir(parents=True, exist_ok=True)
        for file in files:      # a run that was stopped has left a mutant
            (COPY / file).parent.mkdir(parents=True, exist_ok=True)
            restore(file)
        copy_source(COPY, keep=files)
        for file in files:
            if options.module in file:
                try_mutants(file, options, coverage, rows)
    report(rows)


if __name__ == "__main__":
    main()
