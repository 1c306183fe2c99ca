"""The experiments run, go on where they stopped, and use no test sample for a choice."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

from ngdt import ObliqueTreeClassifier

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))      # neither of the two folders is installed

from experiments import data, fitting, runner  # noqa: E402
from experiments.__main__ import EXPERIMENTS, main  # noqa: E402


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    folder = tmp_path_factory.mktemp("quick")
    main(["all", "--quick", "--output", str(folder)])
    return folder


def test_all_experiments_run(quick):
    for name, experiment in EXPERIMENTS.items():
        if not experiment.can_run:      # the tests of ngdt.deep run it
            assert not (quick / f"{name}.csv").exists()
            continue
        rows = pd.read_csv(quick / f"{name}.csv")
        assert rows.columns.tolist() == experiment.columns
        jobs = [runner.key_of(experiment, job) for job in experiment.jobs(quick=True)]
        keys = rows[list(experiment.keys)].astype(str).drop_duplicates()
        assert list(keys.itertuples(index=False, name=None)) == jobs
        assert rows["versions"].str.contains("ngdt").all()
    assert {path.stem for path in quick.glob("*.png")} == {
        "depths", "end_to_end", "epochs", "kernels", "leaves", "load", "spatial",
        "tao_path"}


def test_finished_jobs_are_not_run_again(quick):
    before = {path: path.read_bytes() for path in quick.glob("*.csv")}
    for name in ("record", "tao", "gto"):
        main([name, "--quick", "--output", str(quick)])
    assert {path: path.read_bytes() for path in quick.glob("*.csv")} == before


def counter(runs, fails_at=None):
    """An experiment of five jobs with two rows each, which is stopped at one of them."""
    def run(job):
        if job == fails_at:
            raise KeyboardInterrupt
        runs.append(job)
        return [{"square": job**2 + row} for row in range(2)]

    return runner.Experiment(
        "counter", "", ("job",), ("square",),
        lambda quick: [{"job": job} for job in range(5)], run)


@pytest.mark.parametrize("cut", [0, 3])
def test_a_stopped_run_goes_on(tmp_path, cut):
    runs = []
    experiment = counter(runs, fails_at=3)
    with pytest.raises(KeyboardInterrupt):
        runner.run(experiment, experiment.jobs(False), tmp_path)
    assert runs == [0, 1, 2]
    path = tmp_path / "counter.csv"
    path.write_bytes(path.read_bytes() + b"3,9"[:cut])      # killed while it wrote
    experiment = counter(runs)
    rows = runner.run(experiment, experiment.jobs(False), tmp_path)
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

    experiment = runner.Experiment("waiting", "", ("job",), ("rows",), None, run)
    rows = runner.run(experiment, [{"job": job} for job in range(4)], tmp_path, n_jobs=2)
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


def write_csv(path, X, y):
    pd.DataFrame(np.column_stack([y, X])).to_csv(path, index=False, header=False)


def write_csv_with_names(path, X, y):
    pd.DataFrame(np.column_stack([y, X])).add_prefix("column").to_csv(path, index=False)


def write_arff(path, X, y):
    header = "".join(f"@attribute {name} numeric\n" for name in ["y", *"abcd"])
    rows = "".join(",".join(map(str, row)) + "\n" for row in np.column_stack([y, X]))
    path.write_text(f"@relation r\n{header}@data\n{rows}")


def write_libsvm(path, X, y):
    dump_svmlight_file(X, y, str(path), zero_based=False)


@pytest.fixture
def form(monkeypatch):
    """A data set of two classes in two files, with labels 1 and 3."""
    monkeypatch.setitem(data.DOWNLOADS, "pair", data.Download(
        ("pair", "pair.t"), (6, 4), 4, 2, "https://example.org"))
    random = np.random.default_rng(0)
    X = random.integers(-3, 4, size=(10, 4)) / 8
    return X, np.resize([3.0, 1.0], 10)


@pytest.mark.parametrize(("write", "suffix"), [
    (write_csv, ".txt"), (write_csv_with_names, ".csv"), (write_arff, ".arff"), (write_libsvm, "")])
def test_downloaded_files_are_read(tmp_path, form, write, suffix):
    X, y = form
    write(tmp_path / f"pair{suffix}", X[:6], y[:6])
    write(tmp_path / f"pair.t{suffix}", X[6:], y[6:])
    X_train, y_train, X_test, y_test = data.read_download("pair", 0, tmp_path)
    np.testing.assert_array_equal(np.concatenate([X_train, X_test]), X)
    np.testing.assert_array_equal(np.concatenate([y_train, y_test]), (y - 1) / 2)
    assert X_train.dtype == np.float32


def test_wrong_or_missing_downloads_are_named(tmp_path, form):
    X, y = form
    with pytest.raises(FileNotFoundError, match=r"pair, nor .*https://example\.org.*NGDT_DATA"):
        data.read_download("pair", 0, tmp_path)
    write_csv(tmp_path / "pair.csv", X[:5], y[:5])
    with pytest.raises(ValueError, match=r"pair\.csv has 5 samples of 4 features, expected 6 of 4"):
        data.read_download("pair", 0, tmp_path)
    write_csv(tmp_path / "pair.csv", X[:6], np.arange(6))
    with pytest.raises(ValueError, match=r"pair\.csv has 6 classes, expected 2"):
        data.read_download("pair", 0, tmp_path)


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
