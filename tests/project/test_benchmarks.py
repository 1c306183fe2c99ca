"""The benchmarks run, go on where they stopped, and use no test sample for a choice."""

import ast
import re
import subprocess
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config

from benchmarks import data, fitting, runner
from benchmarks.__main__ import BENCHMARKS, main
from helpers import in_nightly
from ngdt import ObliqueTreeClassifier

ROOT = Path(__file__).parents[2]

# The first starts a cluster of processes. Of the others, some take as long as ten others: "tables"
# and "forests" train much as "readme_table", and report on their recorded rows here, as does
# "networks", of which the tests of ngdt.deep run two jobs. The rest is in files of which another
# benchmark runs.
LEFT_OUT = ["partitions"] if in_nightly([True]) else [
    "partitions", "partitions_accuracy", "cost", "tables", "forests", "wide", "tao_ssgd", "leaves",
    "epochs", "tao_path", "steepness", "load", "networks"]


def few(load, n):
    return lambda **arguments: tuple(part[:n] for part in load(**arguments))


@pytest.fixture(scope="module")
def quick(tmp_path_factory, docs_packages):
    folder = tmp_path_factory.mktemp("quick")
    # Of a few samples, a single leaf may be the best.
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "No tree was better")
        for name in LEFT_OUT:
            patch.delitem(BENCHMARKS, name)
        for name, n in {"digits": 150, "diabetes": 90, "breast_cancer": 90}.items():
            patch.setitem(data.BUNDLED, name, few(data.BUNDLED[name], n))
        patch.setattr("ngdt._selection.policy.FEW_STEPS", 50)
        patch.setattr("ngdt._methods.soft.annealed.N_STEPS", 50)
        patch.setattr("benchmarks.calibration.N_USED", 1)
        main(["all", "--quick", "--output", str(folder)])
    return folder


def test_all_benchmarks_run(quick):
    for name, benchmark in BENCHMARKS.items():
        if name in LEFT_OUT or not benchmark.can_run:
            assert not (quick / f"{name}.csv").exists()
            continue
        rows = pd.read_csv(quick / f"{name}.csv", dtype=str, keep_default_na=False)
        assert rows.columns.tolist() == benchmark.columns
        jobs = [runner.key_of(benchmark, job) for job in benchmark.jobs(quick=True)]
        keys = rows[list(benchmark.keys)].drop_duplicates()
        assert list(keys.itertuples(index=False, name=None)) == jobs
        assert rows["versions"].str.contains("ngdt").all()
    assert {path.stem for path in quick.glob("*.png")} == {
        "depths", "end_to_end", "kernels", "spatial",
        *in_nightly(["epochs", "leaves", "load", "tables", "tao_path"])}


def test_finished_jobs_are_not_run_again(quick):
    before = {path: path.read_bytes() for path in quick.glob("*.csv")}
    for name in ("record", "tao", "gto"):
        main([name, "--quick", "--output", str(quick)])
    assert {path: path.read_bytes() for path in quick.glob("*.csv")} == before


# Rows that need packages which may not be here.
OPTIONAL = {"forests": "method=lightgbm", "exports": "form=onnx"}


@pytest.mark.parametrize("name", [
    path.stem for path in runner.RESULTS.glob("*.csv") if path.stem in BENCHMARKS])
def test_recorded_rows_are_not_measured_again(name, load_data):
    if name in ("calibration", "exports", "ideas", "record", "small_trees", "tables"):
        load_data("letter")     # skips where there are no data sets, of which these make their jobs
    benchmark = BENCHMARKS[name]
    if not benchmark.can_run:
        pytest.skip(f"{benchmark.needs} is not installed")
    recorded = runner.Table(benchmark, runner.RESULTS).done()
    key, _, value = OPTIONAL.get(name, "").partition("=")
    if key:
        at = benchmark.keys.index(key)
        recorded = {each for each in recorded if not each[at].startswith(value)}
    assert recorded
    assert recorded <= {runner.key_of(benchmark, job) for job in benchmark.jobs(quick=False)}


@pytest.mark.parametrize("name", [
    "calibration", "forests", "model_trees", "networks", "small_trees", "synthetic", "tables"])
def test_recorded_tables_are_those_of_the_recorded_rows(name, tmp_path):
    BENCHMARKS[name].report(runner.Table(BENCHMARKS[name], runner.RESULTS).read(), tmp_path)
    written = list(tmp_path.glob("*.csv"))
    assert written
    for path in written:
        assert path.read_text(encoding="utf-8") == (runner.RESULTS / path.name).read_text(
            encoding="utf-8")


def test_table_of_the_readme_is_that_of_the_recorded_rows(tmp_path, capsys):
    benchmark = BENCHMARKS["readme_table"]
    benchmark.report(runner.Table(benchmark, runner.RESULTS).read(), tmp_path)
    table = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(table) == 8
    assert "\n".join(table) in (ROOT / "README.md").read_text(encoding="utf-8")


def test_shares_on_the_page_of_tables_are_those_of_the_recorded_rows(tmp_path, capsys):
    benchmark = BENCHMARKS["tables"]
    benchmark.report(runner.Table(benchmark, runner.RESULTS).read(), tmp_path)
    page = " ".join((ROOT / "docs/results/tables.rst").read_text(encoding="utf-8").split())
    chosen = re.findall(r"^chosen, % of (\d+): (.*)$", capsys.readouterr().out, re.M)
    for task, (n_fits, shares) in zip(("classification", "regression"), chosen, strict=False):
        sentence, = re.findall(rf"In {n_fits} fits for {task}, (.*?)\.", page)
        for share in ast.literal_eval(shares).values():
            assert f"in {share:.0f} %" in sentence


def counter(runs, fails_at=None):
    """A benchmark of five jobs with two rows each, which is stopped at one of them."""
    def run(job):
        if job == fails_at:
            raise KeyboardInterrupt
        runs.append(job)
        return [{"square": job**2 + row} for row in range(2)]

    return runner.Benchmark(
        "counter", "", ("job",), ("square",),
        lambda quick: [{"job": job} for job in range(5)], run)


def test_only_what_no_job_has_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["regression", "--quick", "--only", "method=default", "--output", str(tmp_path)])
    assert "--only: no job has method=default; the first one is data=" in capsys.readouterr().err


@pytest.mark.parametrize("cut", [0, 3])
def test_a_stopped_run_goes_on(tmp_path, cut):
    runs = []
    benchmark = counter(runs, fails_at=3)
    with pytest.raises(KeyboardInterrupt):
        runner.run(benchmark, benchmark.jobs(False), tmp_path)
    assert runs == [0, 1, 2]
    path = tmp_path / "counter.csv"
    path.write_bytes(path.read_bytes() + b"3,9"[:cut])      # killed while it wrote
    benchmark = counter(runs)
    rows = runner.run(benchmark, benchmark.jobs(False), tmp_path)
    assert runs == [0, 1, 2, 3, 4]
    assert rows["square"].tolist() == [0, 1, 1, 2, 4, 5, 9, 10, 16, 17]


def test_jobs_behind_a_slow_one_are_not_lost(tmp_path):
    path = tmp_path / "waiting.csv"

    def run(job):
        """The first job waits for the rows of the others."""
        for _ in range(0 if job else 300):
            if path.exists() and path.read_text().count("\n") == 4:
                break
            time.sleep(0.1)
        return [{"rows": path.read_text().count("\n") if path.exists() else 0}]

    benchmark = runner.Benchmark("waiting", "", ("job",), ("rows",), None, run)
    with parallel_config("threading"):      # processes would import all of it first
        rows = runner.run(benchmark, [{"job": job} for job in range(4)], tmp_path, n_jobs=2)
    assert rows["job"].iloc[-1] == 0
    assert rows["rows"].iloc[-1] == 4
    assert sorted(rows["job"]) == [0, 1, 2, 3]


def test_commit_of_a_folder(tmp_path):
    assert runner.commit_of(tmp_path) == ""

    def git(*arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        return subprocess.run(["git", "-C", tmp_path, *who, *arguments], check=True,
                              capture_output=True, text=True).stdout.strip()

    try:
        git("init")
    except OSError:
        pytest.skip("no git")
    package = tmp_path / "package"
    package.mkdir()
    assert runner.commit_of(package) == ""
    for name in ("package/code.py", "page.rst"):
        (tmp_path / name).write_text("")
        git("add", name)
        git("commit", "-m", name)
    first = git("log", "--format=%h", "--reverse").split()[0]
    assert runner.commit_of(package) == first
    (package / "code.py").write_text("changed")
    assert runner.commit_of(package) == f"{first}+"


def test_a_file_of_other_columns_is_not_continued(tmp_path):
    (tmp_path / "counter.csv").write_text("job,cube\n0,0\n")
    with pytest.raises(ValueError, match=r"counter\.csv has the columns .*cube.*move the file"):
        runner.run(counter([]), [], tmp_path)


def test_a_file_without_versions_is_continued(tmp_path):
    path = tmp_path / "counter.csv"
    path.write_text("square,job\n0,0\n1,0\n")
    runs = []
    runner.run(counter(runs), counter(runs).jobs(False), tmp_path)
    assert runs == [1, 2, 3, 4]
    assert path.read_text().startswith("square,job\n0,0\n1,0\n1,1\n2,1\n4,2\n")


def test_choices_are_made_without_test_samples(iris):
    X, y = iris
    scored = []

    class Spy(ObliqueTreeClassifier):
        def score(self, X, y):
            scored.append({row.tobytes() for row in X})
            return super().score(X, y)

    marked = X + 1e-3 * np.arange(len(X))[:, None]      # no two samples are equal
    test = marked[::3]
    training = np.delete(marked, np.s_[::3], axis=0), np.delete(y, np.s_[::3])
    candidates = {str(depth): Spy(max_depth=depth, optimizer=None) for depth in (1, 2)}
    row = fitting.result(candidates, (*training, test, y[::3]), seed=0)
    tests = {row.tobytes() for row in test}
    # Two candidates on validation samples, the chosen one on all training samples and once on test.
    assert [each & tests for each in scored] == [set(), set(), set(), tests]
    assert [len(each) for each in scored] == [20, 20, 100, 50]
    assert row["chosen"] == "2"
    assert row["n_train"] == 100


@pytest.mark.parametrize(("kind", "n_train"), [("official", 9), ("marked", 5), ("none", 8)])
def test_files_are_split(tmp_path, monkeypatch, kind, n_train):
    monkeypatch.setattr(data, "DATA", tmp_path)
    X, y = np.arange(20).reshape(10, 2), np.arange(10) % 2
    np.savez(tmp_path / "some.npz", **{
        "official": {"X_train": X[:6], "y_train": y[:6], "X_val": X[6:9], "y_val": y[6:9],
                     "X_test": X[9:], "y_test": y[9:]},
        "marked": {"X": X, "y": y, "dgt_train": [np.roll(y < 1, 1), y < 1]},
        "none": {"X": X, "y": y}}[kind])
    X_train, y_train, X_test, y_test = data.split("some", 7)
    assert len(X_train) == len(y_train) == n_train
    assert X_train.dtype == X_test.dtype == np.float32
    found = np.concatenate([X_train, X_test])
    order = (found[:, 0] / 2).astype(int)
    assert sorted(order) == list(range(10))
    np.testing.assert_array_equal(np.concatenate([y_train, y_test]), y[order])


@pytest.mark.parametrize("name", ["letter", "pendigits", "satimage", "segment"])
def test_strict_rows_are_training_samples(load_data, name):
    load_data(name)     # skips where there are no data sets
    X, y, X_test, y_test = data.split(name, 1, "all")
    X_strict, y_strict, *test = data.split(name, 1, "strict")
    assert len(X_strict) == len(y_strict) == data.STRICT[name]
    for part, whole in zip(test, (X_test, y_test), strict=True):
        np.testing.assert_array_equal(part, whole)
    rows = {(x.tobytes(), label) for x, label in zip(X, y, strict=True)}
    assert {(x.tobytes(), label) for x, label in zip(X_strict, y_strict, strict=True)} <= rows
