"""Jobs to rows of a CSV file; a run that was interrupted goes on where it stopped."""

import csv
import io
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import scipy
import sklearn
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from threadpoolctl import threadpool_limits

import ngdt

RESULTS = Path(__file__).parent / "results"


def commit_of(folder):
    """The last commit that changed files of a folder, with a plus if they have changed since.

    Empty if the folder is not under version control.
    """
    answers = []
    for command in (["log", "-1", "--format=%h"], ["status", "--porcelain"]):
        try:
            answer = subprocess.run(
                ["git", "-C", folder, *command, "--", "."], capture_output=True, text=True)
        except OSError:     # no git
            return ""
        answers.append("" if answer.returncode else answer.stdout.strip())
    commit, changes = answers
    return commit and commit + "+" * bool(changes)


def _versions():
    commit = commit_of(Path(ngdt.__file__).parent)
    package = f"ngdt {ngdt.__version__}" + (f" ({commit})" if commit else "")
    return (f"{package}, scikit-learn {sklearn.__version__}, "
            f"numpy {np.__version__}, scipy {scipy.__version__}, Python {sys.version.split()[0]}")


# Whoever compares rows has to know what made them. The commit is that of the package, which stays
# the same while pages and figures change.
VERSIONS = _versions()


@dataclass(frozen=True)
class Benchmark:
    """One CSV file, and the figures and tables that are made of it.

    Attributes
    ----------
    name : str
        Of the command and of the file.
    about : str
        What it measures, in one line.
    keys : tuple of str
        Columns that tell one job from the others.
    fields : tuple of str
        Columns of the results.
    jobs : callable
        From quick, a bool, to dicts with a value for each key.
    run : callable
        From the values of the keys to a list of dicts with the fields, or with some of them.
        Several rows of a job repeat its keys.
    report : callable or None
        From the rows, as a data frame, and a folder to figures and tables in the folder. It may
        print a summary.
    needs : str or None
        A package that its jobs need, besides those of the extras `plot` and `cli`.
    """

    name: str
    about: str
    keys: tuple
    fields: tuple
    jobs: Callable
    run: Callable
    report: Callable | None = None
    needs: str | None = None

    @property
    def can_run(self):
        return self.needs is None or find_spec(self.needs) is not None

    @property
    def columns(self):
        return [*self.keys, *self.fields, "versions"]


class Table:
    """The CSV file of a benchmark."""

    def __init__(self, benchmark, folder):
        self.benchmark, self.path = benchmark, Path(folder) / f"{benchmark.name}.csv"

    def columns(self):
        """Columns of the file, or of a new one; older files have no column of versions.

        Raises
        ------
        ValueError
            If the file has other columns.
        """
        columns = self.benchmark.columns
        if not self.path.exists():
            return columns
        with open(self.path, newline="", encoding="utf-8") as file:
            found = next(csv.reader(file), columns)
        if {*found, "versions"} != {*columns}:
            raise ValueError(f"{self.path} has the columns {found}, expected {columns}: "
                             "move the file away")
        return found

    def done(self):
        """Keys of the finished jobs, as they are in the file."""
        if not self.path.exists():
            return set()
        self._drop_cut_line()
        self.columns()
        with open(self.path, newline="", encoding="utf-8") as file:
            return {tuple(row[key] for key in self.benchmark.keys) for row in csv.DictReader(file)}

    def _drop_cut_line(self):
        """A run that was killed while it wrote leaves a line without an end."""
        text = self.path.read_bytes()
        whole = text[:text.rfind(b"\n") + 1]
        if whole != text:
            self.path.write_bytes(whole)

    def append(self, job, rows):
        """Write the rows of a job, by one call of the system: all of them, or none."""
        text, columns = io.StringIO(), self.columns()
        versions = {"versions": VERSIONS} if "versions" in columns else {}
        writer = csv.DictWriter(text, columns, lineterminator="\n")
        if not self.path.exists() or self.path.stat().st_size == 0:
            writer.writeheader()
        for row in rows:
            writer.writerow({**job, **_rounded(row), **versions})
        with open(self.path, "ab", buffering=0) as file:
            file.write(text.getvalue().encode())

    def read(self):
        return pd.read_csv(self.path, keep_default_na=False, na_values=[""])


def _rounded(row):
    """Floats with six digits; NaN as nothing, as where nothing was compared."""
    return {
        name: value if not isinstance(value, float) else "" if np.isnan(value) else f"{value:.6g}"
        for name, value in row.items()}


def key_of(benchmark, job):
    return tuple(str(job[key]) for key in benchmark.keys)


def run(benchmark, jobs, folder=RESULTS, n_jobs=1):
    """Run the jobs that the file lacks, each on one thread.

    Parameters
    ----------
    benchmark : Benchmark
    jobs : iterable of dict
    folder : Path
    n_jobs : int
        Processes. Times are those of processors, but a busy machine is slower.

    Returns
    -------
    DataFrame
        All rows of the file.
    """
    os.makedirs(folder, exist_ok=True)
    table = Table(benchmark, folder)
    done = table.done()
    jobs = [job for job in jobs if key_of(benchmark, job) not in done]
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, TimeRemainingColumn()) as progress:
        task = progress.add_task(benchmark.name, total=len(jobs))
        # In the order in which they finish: no result waits in memory for an earlier, slower job.
        results = joblib.Parallel(n_jobs, return_as="generator_unordered")(
            joblib.delayed(_on_one_thread)(benchmark.run, job) for job in jobs)
        for job, rows in results:
            table.append(job, rows)
            progress.update(
                task, advance=1,
                description=" ".join([benchmark.name, *key_of(benchmark, job)]))
    return table.read()


def _on_one_thread(function, job):
    """The job, too, because jobs do not finish in their order."""
    with threadpool_limits(1):
        return job, list(function(**job))


def print_rows(rows, folder):
    """Print all rows: a report."""
    print(rows.drop(columns="versions").to_string(index=False, float_format="{:.4g}".format))


def write_table(lines, folder, name):
    """Write lines, dicts or a data frame, as a table of the documentation."""
    pd.DataFrame(lines).to_csv(
        folder / f"{name}.csv", index=False, lineterminator="\n", encoding="utf-8")
