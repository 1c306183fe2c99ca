"""Commands: their output, their files, and one line on stderr for every mistake."""

import contextlib
import gzip
import io
import os
import re
import subprocess
import sys
import threading
import warnings
from base64 import b64decode
from decimal import Decimal
from errno import ENOSPC
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file, load_diabetes, load_svmlight_file, load_wine
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

import ngdt
import ngdt_command
from ngdt._core.scaling import Scaling
from ngdt._encoding.targets import ClassTargets
from ngdt.cli import main
from ngdt.cli._export import FORMATS as EXPORTS
from ngdt.cli._main import COMMANDS
from ngdt.cli._options import Mistake, task_of
from ngdt.cli._scores import losses, probability_score, score
from ngdt.deep import DeepTreeClassifier
from ngdt.deep._base import score_tree
from ngdt.export import export_text
from ngdt.optimizers import TAO

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def frame():
    """Wine with a column of categories, and with gaps."""
    wine = load_wine(as_frame=True)
    frame, random = wine.data.iloc[:, [0, 6, 9, 12]].copy(), np.random.default_rng(0)
    frame["region"] = np.array(["north", "south", "west"])[(wine.target + random.choice(
        [0, 0, 1], len(frame))) % 3]
    frame.loc[random.random(len(frame)) < 0.1, ["region", "alcohol"]] = None
    frame["zip"] = random.choice([10115, 20095], len(frame))
    frame["cultivar"] = wine.target_names[wine.target]
    return frame


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    """A table in each type of file that needs no other package, and models."""
    folder = tmp_path_factory.mktemp("cli")
    frame.to_csv(folder / "wine.csv", index=False)
    frame.to_csv(folder / "wine.tsv", index=False, sep="\t")
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:120], y[:120]
    dump_svmlight_file(X, y, str(folder / "diabetes.svm"))
    pd.DataFrame(X).add_prefix("x").to_csv(folder / "diabetes.csv", index=False)
    fit = ["fit", "-q", "--set", "optimizer=None", "max_depth=2"]
    main([*fit, "-t", "cultivar", "--categorical", "zip", "-o", str(folder / "wine.ngdt"),
          "--", str(folder / "wine.csv")])
    main([*fit, "n_estimators=3", "-m", "forest", "-o", str(folder / "forest.ngdt"),
          "--", str(folder / "diabetes.svm")])
    boosted = ngdt.ObliqueBoostingRegressor(ngdt.ObliqueForestRegressor(
        5, max_depth=2, init="random_oblique", optimizer=None), random_state=0)
    columns = ["flavanoids", "region", "zip"]
    ngdt.save(boosted.fit(frame[columns], frame["proline"]), folder / "boosted.ngdt")
    ngdt.save(deep_tree(), folder / "deep.ngdt")
    ngdt.save(ngdt.load(folder / "wine.ngdt").tree_, folder / "bare.ngdt")
    ngdt.save(ngdt.ObliqueTreeClassifier(), folder / "unfitted.ngdt")
    return folder


def deep_tree():
    """A single leaf, as PyTorch would have trained it."""
    model = DeepTreeClassifier()
    vars(model).update(
        _scaling=Scaling(np.zeros(10), np.ones(10)), _targets=ClassTargets(np.array([0, 1])),
        classes_=np.array([0, 1]), n_classes_=2, history_={}, n_features_in_=10, n_iter_=0,
        feature_names_in_=np.array([f"x{j}" for j in range(10)], dtype=object),
        n_outputs_=1, tree_=score_tree([], [], [[0.0, 1.0]]), weights_=[])
    return model


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """Run a command in the folder, and return what it printed."""
    monkeypatch.chdir(folder)

    def run(*arguments):
        capsys.readouterr()
        assert main(list(arguments)) == 0
        return capsys.readouterr()
    return run


@pytest.fixture
def mistake(folder, monkeypatch, capsys):
    """Run a command that ends with exit code 2, and return its line."""
    monkeypatch.chdir(folder)

    def mistake(*arguments):
        with pytest.raises(SystemExit) as error, warnings.catch_warnings():
            main(list(arguments))
        assert error.value.code == 2
        printed = capsys.readouterr()
        assert printed.err.count("\n") == 1
        assert printed.err.startswith("ngdt")
        return printed.err
    return mistake


# --- what they do ---------------------------------------------------------------------------------


def test_fit_says_what_it_made(run, folder):
    printed = run("fit", "wine.tsv", "-t", "cultivar", "--drop", "zip", "--test-size", "0.3",
                  "-o", "small.ngdt", "--set", "optimizer=tao", "max_depth=1").out.splitlines()
    assert printed[0] == "wine.tsv: 178 rows, 5 columns; classification of 3 classes"
    assert printed[1].startswith("[ngdt] done in ")
    model = ngdt.load("small.ngdt")
    *summary, size, score = printed[2:]
    assert [line.removeprefix("[ngdt] ") for line in summary] == model.summary().splitlines()
    assert re.fullmatch(r"small\.ngdt: [\d.]+ kB", size)
    assert score.startswith("accuracy on 54 rows that were held out: ")
    assert model.get_params()["optimizer"] == "tao"
    assert model.random_state == 0
    assert "zip" not in model.feature_names_in_


def test_predictions_are_those_of_the_model(run, frame):
    printed = run("predict", "wine.ngdt", "wine.csv", "--proba", "-t", "cultivar")
    found = pd.read_csv(io.StringIO(printed.out))
    model = ngdt.load("wine.ngdt")
    X = frame.drop(columns="cultivar").astype({"zip": str})
    assert found["prediction"].tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(found.iloc[:, 1:], model.predict_proba(X))
    assert list(found)[1:] == [f"probability_class_{k}" for k in range(3)]
    accuracy = accuracy_score(frame["cultivar"], found["prediction"])
    assert printed.err.startswith(f"accuracy on 178 rows: {100 * accuracy:.1f} % (")


def test_columns_are_found_by_name(run, frame, folder):
    frame[frame.columns[::-1]].to_csv(folder / "other.csv", index=False)
    run("predict", "wine.ngdt", "other.csv", "-o", "predictions.csv")
    expected = run("predict", "wine.ngdt", "wine.csv").out
    assert (folder / "predictions.csv").read_text() == expected


def test_all_types_of_files_are_the_same_table(run, frame, folder):
    expected = run("predict", "wine.ngdt", "wine.csv").out
    assert run("predict", "wine.ngdt", "wine.tsv").out == expected
    pytest.importorskip("pyarrow")
    frame.to_parquet(folder / "wine.parquet")
    frame.astype({"region": "category"}).to_feather(folder / "wine.arrow")
    assert run("predict", "wine.ngdt", "wine.parquet").out == expected
    assert run("predict", "wine.ngdt", "wine.arrow").out == expected
    run("predict", "wine.ngdt", "wine.csv", "-o", "predictions.parquet")
    assert pd.read_parquet(folder / "predictions.parquet").to_csv(index=False) == expected


def test_names_of_columns_may_be_numbers(run, folder):
    frame = pd.DataFrame({0: np.arange(60) % 7, 1: [*"abc"] * 20})
    frame.to_csv(folder / "numbers.csv", index=False)
    pytest.importorskip("pyarrow")
    frame.to_parquet(folder / "numbers.parquet")
    for name in ("numbers.csv", "numbers.parquet"):
        run("fit", name, "-t", "0", "-q", "-o", "numbers.ngdt", "--set", "optimizer=None")
        for other in ("numbers.csv", "numbers.parquet"):
            assert "accuracy on 60 rows" in run("predict", "numbers.ngdt", other, "-t", "0").err


def test_categories_of_numbers_are_read_as_numbers(run, folder):
    frame = pd.DataFrame({"code": np.arange(60) % 3, "own": np.arange(60) % 5 < 2, "y": "no"})
    frame.loc[(frame["code"] == 1) ^ frame["own"], "y"] = "yes"
    X = frame[["code", "own"]].astype("category")
    ngdt.save(ngdt.ObliqueTreeClassifier(optimizer=None).fit(X, frame["y"]), folder / "code.ngdt")
    frame.to_csv(folder / "code.csv", index=False)
    assert "100.0 %" in run("predict", "code.ngdt", "code.csv", "-t", "y").err
    pytest.importorskip("pyarrow")
    X.assign(y=frame["y"]).to_parquet(folder / "code.parquet")
    assert "100.0 %" in run("predict", "code.ngdt", "code.parquet", "-t", "y").err


def test_categories_of_whole_numbers_may_have_gaps(run, folder):
    parquet = pytest.importorskip("pyarrow.parquet")
    frame = pd.DataFrame({"code": pd.array([7, 8, None] * 20, "Int64"), "y": [*"pqp"] * 20})
    frame.to_csv(folder / "gaps.csv", index=False)
    for name, rows in (("gaps.parquet", frame), ("none.parquet", frame.dropna())):
        table = pytest.importorskip("pyarrow").Table.from_pandas(rows)
        parquet.write_table(table.replace_schema_metadata(), folder / name)     # as not by pandas
    for name in ("gaps.csv", "gaps.parquet"):
        run("fit", name, "-t", "y", "--categorical", "code", "-q", "-o", "gaps.ngdt", "--set",
            "optimizer=None")
        for other in ("gaps.csv", "gaps.parquet", "none.parquet"):
            assert "100.0 %" in run("predict", "gaps.ngdt", other, "-t", "y").err


def test_truth_values_with_gaps_are_numbers_in_all_types_of_files(run, folder):
    frame = pd.DataFrame({"own": [True, False, None] * 20, "y": [0.5, 1.5, 2.5] * 20})
    frame.to_csv(folder / "own.csv", index=False)
    fit = "-t", "y", "-q", "-o", "own.ngdt", "--set", "optimizer=None"
    run("fit", "own.csv", *fit)
    expected = run("show", "own.ngdt").out
    assert "own is " in expected
    pytest.importorskip("pyarrow")
    frame.to_parquet(folder / "own.parquet")
    frame.to_feather(folder / "own.feather")
    for name in ("own.parquet", "own.feather"):
        run("fit", name, *fit)
        assert run("show", "own.ngdt").out == expected


def test_a_table_from_stdin(run, folder, monkeypatch):
    expected = run("predict", "wine.ngdt", "wine.csv").out
    monkeypatch.setattr(sys, "stdin", io.StringIO((folder / "wine.csv").read_text()))
    assert run("predict", "wine.ngdt", "-").out == expected


def test_other_tables_from_stdin(run, mistake, folder, monkeypatch):
    expected = run("predict", "wine.ngdt", "wine.csv").out
    monkeypatch.setattr(sys, "stdin", io.StringIO((folder / "wine.tsv").read_text()))
    assert run("predict", "wine.ngdt", "-", "--input-format", "tsv").out == expected
    monkeypatch.setattr(sys, "stdin", io.StringIO("a,t\n"))
    assert "stdin: the table has no rows" in mistake("fit", "-", "-t", "t")
    monkeypatch.setattr(sys, "stdin", io.StringIO("a,t\n"))
    assert "stdin cannot be read as svm" in mistake("fit", "-", "--input-format", "svm")


@pytest.mark.parametrize("labels", [["1", "x"], [0, 1], [False, True]])
def test_scores_compare_labels_as_the_model_has_them(labels, run, mistake, folder):
    """Types that pandas reads differ, in a file with some of the labels, or with gaps."""
    values = np.array(labels, dtype=object)[np.arange(40) % 2]
    frame = pd.DataFrame({"a": np.arange(40) % 2, "t": values})
    frame.to_csv(folder / "labels.csv", index=False)
    run("fit", "labels.csv", "-t", "t", "--task", "classification", "-q", "-o", "labels.ngdt",
        "--set", "optimizer=None")
    some = frame[frame["a"] == 0].copy()
    some.to_csv(folder / "some.csv", index=False)
    assert run("predict", "labels.ngdt", "some.csv", "-t", "t").err.startswith(
        "accuracy on 20 rows: 100.0 % (")
    some.loc[:9, "t"] = None
    some.to_csv(folder / "some.csv", index=False)
    printed = run("predict", "labels.ngdt", "some.csv", "-t", "t")
    assert printed.err.startswith("accuracy on 15 rows (5 without a target): 100.0 % (")
    assert len(printed.out.splitlines()) == 21
    some["t"] = None
    some.to_csv(folder / "some.csv", index=False)
    assert "'t' is missing in all rows" in mistake("predict", "labels.ngdt", "some.csv", "-t", "t")
    if not isinstance(labels[0], str):
        some["t"] = "no"
        some.to_csv(folder / "some.csv", index=False)
        assert "the classes of the model are numbers" in mistake(
            "predict", "labels.ngdt", "some.csv", "-t", "t")


def test_labels_keep_zeros_at_the_front(run, folder, monkeypatch):
    y = np.array(["007", "12", "012"])[np.arange(60) % 3]
    frame = pd.DataFrame({"a": np.arange(60) % 3 == 0, "b": np.arange(60) % 3, "y": y})
    frame.to_csv(folder / "zeros.csv", index=False)
    content = (folder / "zeros.csv").read_text().replace("\n", ",\n").replace(",\n", "\n", 1)
    (folder / "commas.csv").write_text(content)     # rows end with a comma
    fit = "-t", "y", "-q", "-o", "zeros.ngdt", "--set", "optimizer=None"
    for name in ("zeros.csv", "commas.csv", "-"):
        monkeypatch.setattr(sys, "stdin", io.StringIO(content))
        assert not run("fit", name, *fit).err
        printed = run("predict", "zeros.ngdt", "zeros.csv", "-t", "y")
        assert printed.out.split()[1:] == y.tolist()
        assert printed.err.startswith("accuracy on 60 rows: 100.0 %")
    run("fit", "zeros.csv", *fit, "max_depth=2", "--task", "regression")
    assert "R2 on 60 rows: 1.000" in run("predict", "zeros.ngdt", "zeros.csv", "-t", "y").err


def test_long_labels_are_not_cut(run, folder):
    frame = pd.DataFrame({"a": np.arange(40) % 2, "t": np.array(["ab", "c"])[np.arange(40) % 2]})
    frame.to_csv(folder / "labels.csv", index=False)
    run("fit", "labels.csv", "-t", "t", "-q", "-o", "labels.ngdt", "--set", "optimizer=None")
    frame.assign(t="abc").to_csv(folder / "some.csv", index=False)
    assert run("predict", "labels.ngdt", "some.csv", "-t", "t").err.startswith(
        "accuracy on 40 rows: 0.0 % (")


@pytest.mark.parametrize("model", [
    ngdt.ObliqueTreeRegressor(2, optimizer=None), ngdt.ObliqueForestRegressor(2, optimizer=None)])
def test_several_targets(model, run, mistake, folder):
    X = pd.DataFrame({"x": np.arange(40.0)})
    X.assign(price=X["x"]).to_csv(folder / "x.csv", index=False)
    y = pd.DataFrame({"price": X["x"], "cost": -X["x"]})
    for targets, names in ((y.to_numpy(), [0, 1]), (y, [*y])):
        ngdt.save(clone(model).fit(X, targets), folder / "two.ngdt")
        assert run("predict", "two.ngdt", "x.csv").out.splitlines()[0] == ",".join(
            f"prediction_{name}" for name in names)
    assert "predictions of 2 targets are not scored" in mistake(
        "predict", "two.ngdt", "x.csv", "-t", "price")


def test_regression_of_truth_values(run, folder):
    frame = pd.DataFrame({"a": np.arange(40), "t": np.arange(40) > 19})
    frame.to_csv(folder / "truth.csv", index=False)
    run("fit", "truth.csv", "-t", "t", "--task", "regression", "-q", "-o", "truth.ngdt",
        "--set", "max_depth=1", "optimizer=None")
    assert run("predict", "truth.ngdt", "truth.csv", "-t", "t").err.startswith(
        "R2 on 40 rows: 1.000")


def test_sparse_files(run, folder):
    printed = run("predict", "forest.ngdt", "diabetes.svm", "-t", "target")
    assert printed.err.startswith("R2 on 120 rows: 0.")
    X = load_svmlight_file(str(folder / "diabetes.svm"))[0]
    np.testing.assert_allclose(
        np.loadtxt(io.StringIO(printed.out), skiprows=1),
        ngdt.load(folder / "forest.ngdt").predict(X))


def test_show(run, folder):
    model = ngdt.load(folder / "wine.ngdt")
    assert run("show", "wine.ngdt").out == (
        f"{model.summary()}\nThe model predicts 3 classes, from 6 columns.\n\n"
        f"{export_text(model)}\n")
    assert "largest feature importances" in run("show", "forest.ngdt").out
    assert "else:" in run("show", "forest.ngdt", "--tree", "3").out
    pytest.importorskip("matplotlib")
    run("show", "wine.ngdt", "-o", "wine.png")
    assert (folder / "wine.png").read_bytes().startswith(b"\x89PNG")
    run("show", "wine.ngdt", "-o", "wine.html")
    assert 'role="tree"' in (folder / "wine.html").read_text(encoding="utf-8")


def test_a_sum_of_forests(run, frame, folder):
    model = ngdt.load(folder / "boosted.ngdt")
    n_trees = sum(len(forest.estimators_) for forest in model.estimators_)
    printed = run("show", "boosted.ngdt").out
    assert re.match(
        rf"(Sum of 2 forests with|Forest of) {n_trees} trees (and|with) \d+ leaves in all.*\n"
        r"The model predicts numbers, from \d+ columns\.\n", printed)
    assert "feature importances" in printed
    last = model.estimators_[-1].estimators_[-1]
    printed = run("show", "boosted.ngdt", "--tree", str(n_trees)).out
    assert export_text(last) in printed
    predictions = run("predict", "boosted.ngdt", "wine.csv").out.split()[1:]
    expected = model.predict(frame[model.feature_names_in_])
    np.testing.assert_allclose(np.array(predictions, float), expected)


def test_a_tree_of_networks_predicts(run, mistake):
    if find_spec("torch") is None:
        assert "ngdt.deep needs torch" in mistake("predict", "deep.ngdt", "diabetes.csv")
    else:
        assert run("predict", "deep.ngdt", "diabetes.csv").out.split() == [
            "prediction", *120 * ["1"]]


def test_explain(run, folder):
    printed = run("explain", "wine.ngdt", "wine.csv", "--row", "3", "5").out
    assert printed.startswith("row 3\nclass_0 (")
    assert "\n\nrow 5\n" in printed
    pytest.importorskip("matplotlib")
    run("explain", "wine.ngdt", "wine.csv", "-o", "why.png")
    assert (folder / "why.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_of_a_single_leaf(run, folder):
    pytest.importorskip("matplotlib")
    X = pd.DataFrame({"a": np.zeros(9)})
    X.to_csv(folder / "zeros.csv", index=False)
    ngdt.save(ngdt.ObliqueTreeClassifier(init="info_gain", optimizer=None).fit(X, [0, 1, 1] * 3),
              folder / "leaf.ngdt")
    run("explain", "leaf.ngdt", "zeros.csv", "-o", "leaf.png")
    assert (folder / "leaf.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", [name for name in EXPORTS if name != "onnx"])
def test_export_writes_every_format(name, run, folder):
    file = f"model{EXPORTS[name][1][0]}"
    run("export", "wine.ngdt", "-o", file)
    content = (folder / file).read_text()
    assert run("export", "wine.ngdt", "-f", name).out == content
    assert len(content.splitlines()) > 1 or name in ("json", "rules")


def test_keys_stand_beside_predictions(run, frame, folder, mistake):
    keys = ["NA", *(f"{k:04}" for k in range(1, len(frame)))]
    frame.assign(key=keys, prediction=1).to_csv(folder / "keys.csv", index=False)
    command = "predict", "wine.ngdt", "keys.csv", "--columns", "key"
    alone = run(*command[:3]).out.splitlines()
    beside = run(*command, "alcohol").out.splitlines()
    assert beside[0] == "key,alcohol,prediction"
    assert [line.split(",")[0] for line in beside[1:]] == keys
    assert [line.split(",")[2] for line in beside[1:]] == alone[1:]
    sql = run("export", "wine.ngdt", "-f", "sql", "--columns", "key").out
    assert sql.startswith('SELECT\n    "key",\n    CASE ')
    assert "the result would have two columns 'prediction'" in mistake(*command, "prediction")
    assert "there is no column 'kay'" in mistake(*command[:-1], "kay")
    assert "no column 'key', but an array without names" in mistake(
        "predict", "forest.ngdt", "diabetes.svm", "--columns", "key")


def test_keys_stand_beside_predictions_of_some_rows_of_a_frame(run, frame, folder):
    """A Parquet file keeps the numbers that the rows had in a larger frame."""
    pytest.importorskip("pyarrow")
    some = frame.assign(key=range(len(frame)))[::-3]
    some.to_csv(folder / "some.csv", index=False)
    some.to_parquet(folder / "some.parquet")
    command = "predict", "wine.ngdt", "--columns", "key", "--"
    assert run(*command, "some.parquet").out == run(*command, "some.csv").out


def test_keys_with_gaps_keep_their_digits(run, frame, folder):
    parquet = pytest.importorskip("pyarrow.parquet")
    keys = pd.array([None, *range(2**60, 2**60 + len(frame) - 1)], "Int64")
    table = pytest.importorskip("pyarrow").Table.from_pandas(frame.assign(key=keys))
    parquet.write_table(table.replace_schema_metadata(), folder / "keys.parquet")
    printed = run("predict", "wine.ngdt", "keys.parquet", "--columns", "key").out
    found = [line.split(",")[0] for line in printed.splitlines()[1:]]
    assert found == ["", *map(str, keys[1:])]


def test_export_writes_probabilities_of_sql(run):
    assert ' AS "probability_class_1"' in run(
        "export", "wine.ngdt", "-f", "sql", "--proba").out


def test_export_writes_the_header_of_c(run, folder):
    run("export", "wine.ngdt", "-o", "wine.H", "--name", "wine")
    assert "#ifndef wine_h\n" in (folder / "wine.H").read_text()


def test_every_export_of_the_package_has_a_format():
    functions = {name.removeprefix("export_") for name in ngdt.export.__all__
                 if name.startswith("export_")}
    # `ngdt show` writes pages; a tree of scikit-learn and a data frame are objects, no files.
    formats = set(EXPORTS) - {"dot"} | {"graphviz"}
    assert functions == formats | {"frame", "html"}


class Page(HTMLParser):
    """Cells and pictures of a page; nothing comes from elsewhere."""

    def __init__(self):
        super().__init__()
        self.images, self.cells, self.in_cell = [], [], False

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        assert tag not in ("script", "link")
        if tag == "img":
            self.images.append(b64decode(attrs["src"].removeprefix("data:image/png;base64,")))
            assert attrs["alt"]
        self.in_cell = tag == "td"

    def handle_endtag(self, tag):
        self.in_cell = False

    def handle_data(self, data):
        if self.in_cell:
            self.cells.append(data)


@pytest.mark.parametrize(("file", "target"), [("wine.csv", "cultivar"), ("diabetes.svm", None)])
def test_compare(file, target, run, folder):
    models = ["tree", "pruned", "linear"] if target else ["pruned", "linear"]
    given = ["-t", target] if target else []
    printed = run("compare", file, *given, "--folds", "2", "--models", *models, "--max-time",
                  "0.1", "-q").out.splitlines()
    rows, rest = printed[1:len(models) + 1], printed[len(models) + 1:-1]
    assert [line.split()[0] for line in rows] == models
    page = Page()
    report = (folder / "report.html").read_text(encoding="utf-8")
    page.feed(report)
    # What the default chose.
    assert [line.startswith("tree: ") for line in rest[:1]] == [True] * (target is not None)
    summary = "\n".join(rest).removeprefix("tree: ")
    assert (f"<pre>{summary}</pre>" in report) == (target is not None)
    assert target is None or report.count(summary) == 1
    assert ("classification of &#x27;cultivar&#x27;." in report) == (target is not None)
    # What is explained are columns of the table.
    assert ("The log loss is" in report) == (target is not None)
    assert "AUC is" not in report
    n_cells = 7 + (target is not None)
    assert page.cells[::n_cells] == models
    for line, score_cell in zip(rows, page.cells[1::n_cells], strict=True):
        assert score_cell in line
    if target:
        assert printed[0].split()[:5] == ["accuracy", "minus", "tree", "log", "loss"]
        for line, loss_cell in zip(rows, page.cells[3::n_cells], strict=True):
            assert f" {loss_cell} " in line
    if "matplotlib" in sys.modules:
        assert len(page.images) == (target is not None)
        assert all(each.startswith(b"\x89PNG") for each in page.images)


def test_compare_says_how_far_the_training_is(run, monkeypatch):
    monkeypatch.setattr(ngdt._estimators.display, "INTERVAL", 0.0)
    lines = run("compare", "wine.csv", "-t", "cultivar", "--folds", "2", "--models", "pruned",
                "linear").out.splitlines()
    for start in ("pruned, fold 1 of 2, initial tree", "pruned, fold 2 of 2: 50% done",
                  "pruned, on all rows, initial tree", "linear, fold 1 of 2: ",
                  "linear: 100% done"):
        assert any(line.startswith(f"[ngdt] {start}") for line in lines)
    assert sum(line.startswith("[ngdt] done in ") for line in lines) == 1


@pytest.mark.parametrize("arguments", [
    ["export", "wine.ngdt", "-o", "result.sql"], ["show", "wine.ngdt", "-o", "result.html"],
    ["show", "wine.ngdt", "-o", "result.png"], ["explain", "wine.ngdt", "wine.csv", "-o",
                                               "result.txt"],
    ["predict", "wine.ngdt", "wine.csv", "-o", "result.csv"],
    ["compare", "diabetes.svm", "--folds", "2", "--models", "linear", "-q", "-o", "result.htm"]])
def test_results_before_are_kept_if_a_new_one_cannot_be_written(
        arguments, mistake, folder, monkeypatch):
    if arguments[-1].endswith("png"):
        pytest.importorskip("matplotlib")
    path = folder / arguments[-1]
    path.write_text("old")

    def fail(file):
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    assert "cannot be written (No space left" in mistake(*arguments)
    assert path.read_text() == "old"


@pytest.mark.parametrize("refused", ["folder", "device"])
def test_no_model_is_trained_that_cannot_be_written(refused, mistake, folder, monkeypatch):
    monkeypatch.setattr(ngdt.ObliqueTreeClassifier, "fit", None)
    if refused == "folder":     # a super-user may write anywhere
        monkeypatch.setattr(os, "access", lambda path, _: path != folder.resolve() / "models")
        (folder / "models").mkdir()
        text = mistake("fit", "wine.csv", "-t", "cultivar", "-o", "models/wine.ngdt")
        assert "you may not write 'models/wine.ngdt': choose another path" in text
    else:
        text = mistake("fit", "wine.csv", "-t", "cultivar", "-o", os.devnull)
        assert "no regular file" in text


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders")
@pytest.mark.parametrize("arguments", [
    ["predict", "wine.ngdt", "wine.csv"], ["export", "wine.ngdt", "-f", "sql"]])
def test_results_are_written_to_pipes(arguments, run, tmp_path):
    expected = run(*arguments).out
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as reader:
        run(*arguments, "-o", str(pipe))
        assert reader.stdout.read() == expected
    assert pipe.is_fifo()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders")
def test_tables_are_read_from_pipes(run, folder, tmp_path):
    expected = run("predict", "wine.ngdt", "wine.csv").out
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    content = (folder / "wine.csv").read_bytes()
    threading.Thread(target=pipe.write_bytes, args=[content], daemon=True).start()
    assert run("predict", "wine.ngdt", str(pipe)).out == expected


def test_scores_of_probabilities_are_those_of_scikit_learn():
    random = np.random.default_rng(0)
    for classes, name, expected in ((np.array(["a", "b"]), "AUC", None), (np.arange(4), "log loss",
                                                                         log_loss)):
        y = random.choice(classes, 50)
        proba = random.dirichlet(np.ones(len(classes)), 50)
        found = probability_score(y, proba)
        wanted = roc_auc_score(y, proba[:, 1]) if expected is None else expected(y, proba)
        assert found == {name: pytest.approx(wanted)}


def test_a_class_that_training_rows_lack_has_no_probability(run, folder):
    pd.DataFrame({"x": np.arange(21) % 2, "y": ["a", "b"] * 10 + ["c"]}).to_csv(
        folder / "rare.csv", index=False)
    printed = run("compare", "rare.csv", "-t", "y", "--folds", "3", "--models", "pruned", "-q")
    log_loss = float(printed.out.splitlines()[1].split(")")[1].split()[1])
    assert 36.04 / 21 < log_loss < 36.04 / 21 + 0.3


def test_classes_of_few_rows_are_compared(run, mistake, folder):
    options = "--folds", "3", "--models", "linear", "boosting", "linear", "-q"
    frame = pd.DataFrame({"x": np.arange(21) % 2, "y": ["a"] * 19 + ["b"] * 2})
    frame.to_csv(folder / "few.csv", index=False)
    assert len(run("compare", "few.csv", "-t", "y", *options).out.splitlines()) == 4
    frame[:-1].to_csv(folder / "few.csv", index=False)
    found = mistake("compare", "few.csv", "-t", "y", *options)
    assert ": few.csv: linear: This solver needs samples of at least 2 classes" in found
    assert found.endswith(
        "). If that is because y is 'b' in one row only: leave this row out, give it another "
        "class, or choose other --models\n")
    frame[:-1].assign(x=np.inf).to_csv(folder / "few.csv", index=False)
    assert "Input X contains infinity" in mistake("compare", "few.csv", "-t", "y", *options)
    frame.assign(y=[0.0, 1.0] * 10 + [np.inf]).to_csv(folder / "few.csv", index=False)
    assert "Input y contains infinity" in mistake("compare", "few.csv", "-t", "y", *options)


def test_intervals_cover_the_truth():
    random, n_inside = np.random.default_rng(0), 0
    for _ in range(40):
        y = random.normal(size=200)
        found = score(y, losses(y, 0.5 * y + random.normal(size=200), False), False)
        n_inside += found.low <= 1.0 - 1.25 <= found.high
    assert n_inside >= 33       # 38 of 40 on average; fewer than 33 by chance: 1 in 500
    expected = score(y, losses(y, 0.5 * y, False), False)
    for far in (2.0**600 * y, 2.0**-600 * y):       # whose squares overflow, or vanish
        assert score(far, losses(far, 0.5 * far, False), False) == expected
    assert np.isnan(score([0.0, 1.0], np.zeros(2), False).low)      # and nobody is warned
    right = score(np.zeros(4), np.zeros(4), True)
    assert (right.value, right.high) == (1.0, 1.0)
    assert 0.3 < right.low < 0.6    # not 1: four samples say little


@pytest.mark.parametrize(("y", "task"), [
    (["a", "b"], "classification"), ([0, 1, 2], "classification"), ([0.0, 3.0], "classification"),
    ([0.5, 1.0], "regression"), (range(11), "regression"), ([True, False], "classification")])
def test_the_task_follows_from_the_target(y, task):
    assert task_of(np.array(y)) == task


# --- what they say --------------------------------------------------------------------------------


@pytest.mark.parametrize(("arguments", "message"), [
    ("fitt", "invalid choice: 'fitt' (choose from "),
    ("fit wyne.csv -t cultivar", "there is no such file. Did you mean 'wine.csv'?"),
    ("fit wine.xlsx -t y", "not '.xlsx'. Save it as one of these, or say by --input"),
    ("fit wine.csv", "--target COLUMN is missing. The columns are alcohol, "),
    ("fit wine.csv -t cultivr", "there is no column 'cultivr', but alcohol, "),
    ("fit wine.csv -t cultivr", "Did you mean 'cultivar'?"),
    ("fit wine.csv -t alcohol", "the target 'alcohol' is missing in "),
    ("predict wine.ngdt wine.csv --columns zip zip", "--columns: the result would have two"),
    ("fit wine.csv -t cultivar --drop alcohol flavanoids color_intensity proline region zip",
     "wine.csv: there is no column to learn from"),
    ("fit wine.csv -t cultivar --drop Zip", "Did you mean 'zip'?"),
    ("fit wine.csv -t cultivar --task regression", "convert string to float: 'class_0'"),
    ("fit wine.csv -t flavanoids --task classification -q", "amounts, give --task regression"),
    ("fit wine.csv -t cultivar --set loss=poisson -q", "ifier: give --task regression\n"),
    ("fit wine.csv -t cultivar --set max_dept=3", "Did you mean 'max_depth'?"),
    ("fit wine.csv -t cultivar --set criterion=gini", "'. The parameters are "),
    ("fit wine.csv -t cultivar --set max_depth", "got 'max_depth'.\n"),
    ("fit wine.csv -t cultivar --set optimizer=TAO -q", "Did you mean 'tao'?"),
    ("fit wine.csv -t cultivar --set optimizer=ngdt.optimizers.TAO(C=0.03)",
     "as in --set optimizer=tao optimizer__C=0.1\n"),
    ("fit wine.csv -t cultivar --max-leaf-nodes 3", "--max-leaf-nodes 3 (ngdt fit --help"),
    ("fit wine.csv -t cultivar -o no/model.ngdt", "create the folder, or choose another path"),
    ("fit wine.csv -t cultivar --test-size 3", "must be between 0 and 1, such as 0.25, got 3"),
    ("fit wine.csv -t cultivar --test-size a", "must be between 0 and 1, such as 0.25, got a"),
    ("fit wine.ngdt --input-format csv -t y", "wine.ngdt cannot be read as csv: "),
    ("fit wine.csv --input-format svm", "wine.csv cannot be read as svm: "),
    ("fit diabetes.svm --drop x0", "no column 'x0', but an array without names"),
    ("show wine.csv", "wine.csv is no valid model file"),
    ("show wyne.ngdt", "there is no such file. Did you mean 'wine.ngdt'?"),
    ("show wine.ngdt --tree 2", "--tree must be from 1 to 1"),
    ("show forest.ngdt -o x.png", "--tree must be from 1 to 3"),
    ("export forest.ngdt -o x.sql", "JSON or ONNX, ngdt export writes a whole forest"),
    ("show wine.ngdt -o x.gif", "or --output FILE that ends with one of .txt, .html, .htm"),
    ("predict wine.ngdt diabetes.svm", "set to 6, but input file contains 10 features"),
    ("predict forest.ngdt wine.csv", "the model was trained on an array of 10 features"),
    ("predict forest.ngdt diabetes.svm --proba", "has no probabilities of classes"),
    ("explain wine.ngdt wine.csv --row 1000", "wine.csv has 178 rows"),
    ("explain wine.ngdt wine.csv --rows 1", "--rows 1. Did you mean '--row'? (ngdt explain -"),
    ("explain wine.ngdt wine.csv --row 1 2 -o x.png", "a picture shows one row: give --row a"),
    ("fit wine.csv --separator ab -t y", "must be a single character, got 'ab'"),
    ("explain boosted.ngdt wine.csv", "ObliqueBoostingRegressor does not explain"),
    ("explain deep.ngdt diabetes.svm", "DeepTreeClassifier does not explain"),
    ("show boosted.ngdt --tree 9", "--tree must be from 1 to 5"),
    ("show boosted.ngdt -o x.html", "--tree must be from 1 to 5"),
    ("export boosted.ngdt -o x.sql", "--tree must be from 1 to 5, a tree of the model\n"),
    ("show bare.ngdt", "bare.ngdt holds a Tree, which has no columns"),
    ("predict unfitted.ngdt wine.csv", "This ObliqueTreeClassifier instance is not"),
    ("show deep.ngdt", "a DeepTreeClassifier, whose splits are networks"),
    ("export deep.ngdt -f rules", "a DeepTreeClassifier, whose splits are networks"),
    ("export deep.ngdt -f c", "a DeepTreeClassifier, whose splits are networks"),
    ("export wine.ngdt", "--format is missing: give one of c, sql"),
    ("compare wine.csv -t cultivar --folds 500", "--folds must be from 2 to 178, the number"),
    ("compare wine.csv -t cultivar --folds 1", "--folds must be from 2 to 178"),
    ("compare diabetes.svm --models tree boosting", "compared: tree, pruned, forest, linear\n"),
    ("compare wine.csv -t cultivar --models trees", "invalid choice: 'trees' (choose from "),
])
def test_mistakes_are_one_line(arguments, message, mistake):
    if "-o x.png" in arguments:
        pytest.importorskip("matplotlib")
    assert message in mistake(*arguments.split())


@pytest.mark.skipif(os.name == "nt", reason="no such names")
def test_a_name_of_two_lines_is_in_one_line(mistake, monkeypatch):
    def fail(path):
        raise OSError(5, "Input/output error", "wine\nand cheese.ngdt")

    monkeypatch.setattr("ngdt.cli._models.load", fail)
    assert mistake("show", "wine.ngdt") == "ngdt: error: wine and cheese.ngdt: Input/output error\n"


def test_of_many_columns_the_last_are_named(mistake, folder):
    pd.DataFrame(0.0, [0], [f"x{k}" for k in range(19)] + ["y"]).to_csv(
        folder / "many.csv", index=False)
    assert mistake("fit", "many.csv").endswith(" x8, x9, ..., x18, y\n")


def test_columns_that_are_missing_are_named(mistake, frame, folder):
    frame.rename(columns={"zip": "zipp"}).drop(columns="region").to_csv(
        folder / "renamed.csv", index=False)
    line = mistake("predict", "wine.ngdt", "renamed.csv")
    assert "there is no column 'region', 'zip', but alcohol, " in line
    line = mistake("fit", "renamed.csv", "-t", "cultivar", "--drop", "zip")
    assert "there is no column 'zip', but alcohol, " in line
    assert "Did you mean 'zipp'?" in line


@pytest.mark.parametrize(("text", "message"), [
    ("a;b\n1;2\n", "the header has a single column, 'a;b'. --separator says"),
    ("a|b\n1|2\n", "a single column, 'a|b'"), ("a\tb\n1\t2\n", "a single column, 'a\\tb'"),
    ("a;b\n1,5;2\n2;1,5,3\n", "columns (--decimal ',' reads decimal commas)"),
    ("", "cannot be read as csv"), ("a,y\n1,2\n1,2,3\n", "in line 3, saw 3: give each field"),
    ("a,y,y\n1,2,0\n2,3,1\n", "several columns are named 'y': rename them, or keep"),
    ("1,1.0,y\n1,2,2\n2,2,2\n", "the same in all rows"),
    ("a,y\n0,2,3\n1,5,6\n", "give each field of a row a name in the header"),
    ("a,y\n1,2,3,4\n4,5,6,7\n", "give each field of a row a name in the header"),
    ("a,y\n", "the table has no rows"), ("a,y\n1,2\n2,2\n", "the same in all rows"),
    ("y\n1\n2\n", "there is no column to learn from")])
def test_tables_that_cannot_be_trained_on(text, message, mistake, folder):
    (folder / "bad.csv").write_text(text)
    assert message in mistake("fit", "bad.csv", "-t", "y")


@pytest.mark.parametrize(("name", "content", "message"), [
    ("bad.csv.gz", b"a,y\n1,2\n", "Not a gzipped file"), ("bad.csv.xz", b"a,y\n1,2\n", "format"),
    ("bad.csv", "a,y\nR\xf6me,2\n".encode("latin-1"), "Convert it to UTF-8, or say by its name"),
    ("bad.csv", gzip.compress(b"a,y\n1,2\n", mtime=0), "how it is compressed, as in .csv.gz")])
def test_files_that_cannot_be_read_are_named(name, content, message, mistake, folder):
    (folder / name).write_bytes(content)
    line = mistake("fit", name, "-t", "y")
    assert f"{name} cannot be read as " in line
    assert message in line


def test_a_folder_is_no_table(mistake, folder):
    (folder / "folder.csv").mkdir(exist_ok=True)
    line = mistake("fit", "folder.csv", "-t", "y")
    assert "folder.csv: there is no such file." in line
    assert "mean 'folder.csv'" not in line


def test_a_column_of_a_large_file_has_one_type(run, folder):
    """The first text of the column comes late, after a part that pandas would read by itself."""
    n = 1100
    table = pd.DataFrame(np.zeros((n, 1024), dtype=int)).add_prefix("x")
    table.insert(0, "zip", ["10115", "20095"] * (n // 2 - 1) + ["20095", "W1"])
    table["y"] = (table["zip"] == "10115").astype(int)
    table.to_csv(folder / "large.csv", index=False)
    with warnings.catch_warnings():     # of text that spells numbers
        warnings.filterwarnings("ignore", r"X: columns \['zip'\] are text")
        run("fit", "large.csv", "-t", "y", "-o", "large.ngdt", "--set", "optimizer=None",
            "max_depth=1")
    assert 'zip is "10115"' in run("show", "large.ngdt").out


def test_rows_that_end_with_a_separator(run, folder, monkeypatch):
    random = np.random.default_rng(0)
    rows = [f"{a:.3f},{b:.3f}" for a, b in random.normal(size=(60, 2))]
    y = ["p" if float(row.partition(",")[0]) > 0 else "q" for row in rows]
    lines = [f"{row},{each}" for row, each in zip(rows, y, strict=True)]
    for name, end in (("plain.csv", ""), ("comma.csv", ",")):
        (folder / name).write_text("\n".join(["a,b,y", *(line + end for line in lines)]))
    run("fit", "comma.csv", "-t", "y", "-q", "-o", "comma.ngdt", "--set", "optimizer=None")
    plain = run("predict", "comma.ngdt", "plain.csv").out
    assert run("predict", "comma.ngdt", "comma.csv").out == plain
    monkeypatch.setattr(sys, "stdin", io.StringIO((folder / "comma.csv").read_text()))
    assert run("predict", "comma.ngdt", "-").out == plain
    assert plain.split()[1:] == y


def test_other_separators_and_decimal_signs(run, folder):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.normal(size=60), "b": random.normal(size=60)})
    frame["y"] = np.where(frame["a"] > 0, "p", "q")
    frame.to_csv(folder / "dots.csv", index=False)
    frame.to_csv(folder / "commas.csv", index=False, sep=";", decimal=",")
    how = ["--separator", ";", "--decimal", ","]
    run("fit", "commas.csv", "-t", "y", "-q", "-o", "c.ngdt", "--set", "optimizer=None", *how)
    assert run("predict", "c.ngdt", "commas.csv", *how).out == run(
        "predict", "c.ngdt", "dots.csv").out
    printed = run("fit", "commas.csv", "-t", "y", "-q", "-o", "d.ngdt", "--set", "optimizer=None",
                  *how[:2])
    assert "columns ['a', 'b'] are text" in printed.err
    assert "by --decimal ','; if they are codes, say so by --categorical 'a'\n" in printed.err


def test_amounts_are_numbers(run, folder):
    random = np.random.default_rng(0)
    paid, share = random.integers(1, 5000, 60), random.integers(0, 100, 60)
    numbers = pd.DataFrame({"paid": paid, "share": share, "y": 7 * paid - 5000})
    signs = pd.DataFrame({
        "paid": [f"${k:,}" for k in paid], "share": [f"{k / 10:.1f} %" for k in 10 * share],
        "y": [f"{k:,}.00 €" for k in numbers["y"]]})
    swapped = signs.map(lambda text: text.translate(str.maketrans(",.", ".,")))
    numbers.to_csv(folder / "numbers.csv", index=False)
    signs.to_csv(folder / "signs.csv", index=False)
    swapped.to_csv(folder / "swapped.csv", index=False)
    fit = ["fit", "-q", "-t", "y", "-o", "amounts.ngdt", "--set", "optimizer=None", "--"]
    predict = ["predict", "amounts.ngdt", "-t", "y"]
    run(*fit, "numbers.csv")
    found = run(*predict, "numbers.csv")
    assert "R2 on 60 rows" in found.err
    assert run(*predict, "signs.csv") == found
    assert run(*predict, "swapped.csv", "--decimal", ",") == found
    run(*fit, "signs.csv")
    assert run(*predict, "numbers.csv") == found


def test_decimals_of_many_places_are_amounts(run, folder):
    """Python writes zero of nine places as 0E-9."""
    pyarrow = pytest.importorskip("pyarrow")
    y = [Decimal(k) / 8 for k in range(40)]
    table = pyarrow.table({"a": range(40), "y": pyarrow.array(y, pyarrow.decimal128(20, 9))})
    pytest.importorskip("pyarrow.parquet").write_table(table, folder / "decimals.parquet")
    printed = run("fit", "decimals.parquet", "-t", "y", "-o", "d.ngdt", "--set", "optimizer=None")
    assert printed.out.startswith("decimals.parquet: 40 rows, 1 column; regression\n")


@pytest.mark.parametrize("values", [["$5", "€7"], ["5 %", "0.7"], ["1,23", "4"], ["$007", "$8"]])
def test_amounts_of_different_kinds_stay_text(run, folder, mistake, values):
    pd.DataFrame({"a": values * 20, "y": [1.5, 2.5] * 20}).to_csv(
        folder / "kinds.csv", index=False)
    assert "the target of a regression must be numbers: " in mistake(
        "fit", "kinds.csv", "-t", "a", "--task", "regression")
    fit = ["fit", "kinds.csv", "-q", "-t", "y", "-o", "kinds.ngdt"]
    warning = run(*fit, "--set", "optimizer=None").err
    assert ("spell numbers" in warning) == (values[0] != "$007")
    assert "pandas" not in warning
    assert "if a is " in run("show", "kinds.ngdt").out


def test_signs_of_missing_numbers_are_named(run, folder):
    pd.DataFrame({"a": [*range(99, 0, -1), "?"], "y": [1.5, 2.5] * 50}).to_csv(
        folder / "signs.csv", index=False)
    printed = run("fit", "signs.csv", "-q", "-t", "y", "-o", "s.ngdt", "--set", "optimizer=None")
    assert "numbers, in the file, without signs such as '?', '$' and those of" in printed.err


def test_text_in_a_column_of_numbers(run, mistake, folder):
    frame = pd.DataFrame({"a": range(0, 60, 2), "y": ["no", "yes"] * 15})
    frame.to_csv(folder / "numbers.csv", index=False)
    run("fit", "numbers.csv", "-t", "y", "-q", "-o", "n.ngdt", "--set", "optimizer=None")
    frame.assign(a="x").to_csv(folder / "text.csv", index=False)
    assert mistake("predict", "n.ngdt", "text.csv").endswith(
        "Convert it to numbers or, in training, give --categorical 'a'\n")


def test_parameters_of_an_algorithm(run, folder, mistake):
    run("fit", "wine.csv", "-t", "cultivar", "-q", "-o", "c.ngdt", "--set", "optimizer=tao",
        "optimizer__C=0.03", "max_depth=2")
    optimizer = ngdt.load(folder / "c.ngdt").optimizer
    assert isinstance(optimizer, TAO)
    assert optimizer.C == 0.03
    assert "Invalid parameter 'c' for estimator TAO(). Valid parameters are: ['C'" in mistake(
        "fit", "wine.csv", "-t", "cultivar", "--set", "optimizer=tao", "optimizer__c=0.03")
    assert "as in --set optimizer=tao optimizer__C=0.1" in mistake(
        "fit", "wine.csv", "-t", "cultivar", "--set", "optimizer__C=0.03")
    run("fit", "wine.csv", "-t", "proline", "-q", "-o", "q.ngdt", "--set", "loss=quantile",
        "loss__quantile=0.9", "optimizer=None")
    assert repr(ngdt.load(folder / "q.ngdt").loss) == "QuantileLoss(quantile=0.9)"
    assert "unexpected keyword argument 'q'" in mistake(
        "fit", "wine.csv", "-t", "proline", "--set", "loss=quantile", "loss__q=0.9")
    assert "--set loss__...: only an algorithm or a loss has parameters" in mistake(
        "fit", "wine.csv", "-t", "proline", "--set", "loss__quantile=0.9")


def test_classes_that_are_large_numbers(run, folder):
    y = np.repeat([1e19, 3e19], 20)
    pd.DataFrame({"a": y > 2e19, "y": y}).to_csv(folder / "large.csv", index=False)
    run("fit", "large.csv", "-t", "y", "-q", "-o", "large.ngdt", "--set", "optimizer=None")
    found = run("predict", "large.ngdt", "large.csv").out.split()[1:]
    assert [float(each) for each in found] == y.tolist()


@pytest.mark.parametrize("first", [10**18, 2**63], ids=["int64", "uint64"])
def test_classes_that_are_large_numbers_differ_in_the_last_digit(run, folder, first):
    y = [first, first + 1] * 20
    pd.DataFrame({"a": [0, 1] * 20, "y": y}).to_csv(folder / "large.csv", index=False)
    run("fit", "large.csv", "-t", "y", "-q", "-o", "large.ngdt", "--set", "optimizer=None")
    printed = run("predict", "large.ngdt", "large.csv", "-t", "y")
    assert [int(each) for each in printed.out.split()[1:]] == y
    assert "accuracy on 40 rows: 100.0 %" in printed.err


def test_letters_that_stdout_cannot_hold(run, mistake, folder, monkeypatch):
    frame = pd.DataFrame({"a": np.arange(40), "y": np.where(np.arange(40) > 19, "café", "bar")})
    frame.to_csv(folder / "cafe.csv", index=False)
    run("fit", "cafe.csv", "-t", "y", "-q", "-o", "cafe.ngdt", "--set", "optimizer=None")
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert mistake("show", "cafe.ngdt").endswith(": write to a file, with --output\n")


def test_columns_without_a_value_are_compared(run, folder):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.normal(size=60), "empty": np.nan})
    frame["y"] = np.where(frame["a"] > 0, "p", "q")
    frame.to_csv(folder / "empty.csv", index=False)
    printed = run("compare", "empty.csv", "-t", "y", "--models", "boosting", "linear", "-o",
                  "empty.html", "--folds", "2")
    assert "error" not in printed.err


def test_columns_with_gaps_are_compared(run, folder):
    def accuracies(file):
        printed = run("compare", file, "-t", "y", "--categorical", "k", "--folds", "2", "--models",
                      "boosting", "linear", "-q")
        return [line.partition(")")[0] for line in printed.out.splitlines()[1:3]]

    frame = pd.DataFrame({"self": ["u", None, "w"] * 20, "k": pd.array([0, 1, None] * 20, "Int64")})
    frame["y"] = frame["k"].notna()
    frame.to_csv(folder / "gaps.csv", index=False)
    expected = accuracies("gaps.csv")
    pytest.importorskip("pyarrow")
    frame.astype({"self": "category"}).to_parquet(folder / "gaps.parquet")
    assert accuracies("gaps.parquet") == expected


@pytest.mark.parametrize("times", [
    pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"])),
    pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"], utc=True)),
    pd.Series(pd.to_timedelta([1, 2], "D"))], ids=["dates", "dates of a zone", "times"])
def test_dates_are_no_targets(times, run, mistake, folder):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": [0.0, 1.0] * 20, "b": [0.5, 1.5] * 20})
    frame.assign(t=[*times] * 20).to_parquet(folder / "dates.parquet")
    command = "dates.parquet", "-t", "t"
    for task in ("classification", "regression"):
        assert "the target holds dates or times: convert them to numbers, such as" in mistake(
            "fit", *command, "--task", task)
    run("fit", "dates.parquet", "-t", "b", "--drop", "t", "-q", "-o", "dates.ngdt", "--set",
        "optimizer=None")
    assert "the target holds dates or times" in mistake("predict", "dates.ngdt", *command)


def test_lists_are_no_values(run, mistake, folder):
    pytest.importorskip("pyarrow")
    pd.DataFrame({"a": [[1]] * 40, "y": [1.5, 2.5] * 20}).to_parquet(folder / "lists.parquet")
    assert "column 'a' of type object holds '[1]'" in mistake(
        "fit", "lists.parquet", "-t", "y", "-q")


def test_a_single_row_has_no_r2(run, folder):
    frame = pd.read_csv(folder / "wine.csv")
    run("fit", "wine.csv", "-t", "proline", "-q", "-o", "r.ngdt", "--set", "optimizer=None")
    frame[:1].to_csv(folder / "one.csv", index=False)
    printed = run("predict", "r.ngdt", "one.csv", "-t", "proline")
    assert printed.err == "R2 on 1 rows: nan (nan to nan)\n"


def test_names_are_noticed_once(run, folder):
    names = [f"n{k}" for k in range(30)]
    pd.DataFrame({"name": names, "a": range(0, 60, 2), "y": [0, 1] * 15}).to_csv(
        folder / "names.csv", index=False)
    printed = run("fit", "names.csv", "-t", "y", "-q", "--set", "optimizer=None", "-o", "n.ngdt")
    assert printed.err.startswith("ngdt: warning: X: all categories of columns ['name'] are rare")
    assert "feature: leave them out by --drop, put" in printed.err
    assert printed.err.count("warning") == 1


def test_advice_names_options(run, folder):
    noise = np.random.default_rng(0).normal(size=60)
    pd.DataFrame({"a": noise, "y": ["no", "yes"] * 30}).to_csv(folder / "noise.csv", index=False)
    fit = "fit", "noise.csv", "-t", "y", "-q", "-o", "n.ngdt"
    printed = run(*fit).err
    assert "such as fit --set optimizer=tao validation_fraction=None, returns its tree" in printed
    assert "try fit --set class_weight=balanced\n" in printed
    frame = pd.DataFrame({"a": np.random.default_rng(0).normal(size=300)})
    frame.assign(y=frame["a"].abs() > 0.5).to_csv(folder / "noise.csv", index=False)
    printed = run(*fit, "--set", "optimizer=ssgd", "max_depth=2").err
    assert "With fit --set validation_fraction=None, fit returns" in printed
    row = np.arange(60)
    rare = np.where((row % 10 > 6) & (row < 20), "yes", "no")
    pd.DataFrame({"a": row % 10, "y": rare}).to_csv(folder / "noise.csv", index=False)
    printed = run(*fit, "--set", "optimizer=None", "max_depth=1").err
    assert "or a threshold of what predict --proba writes" in printed
    texts = [f"{number}.5 " for number in range(60)] + ["a"]
    pd.DataFrame({"a": np.arange(61) % 10, "y": texts}).to_csv(folder / "noise.csv", index=False)
    printed = run(*fit, "--set", "optimizer=None", "max_depth=1").err
    assert "For amounts, give --task regression, with numbers in the file\n" in printed


def test_numbers_of_the_rows_are_noticed(run, folder):
    frame = pd.DataFrame({"a": np.arange(30.0) % 7, "y": ["no", "yes"] * 15})
    frame.to_csv(folder / "index.csv")
    fit = "fit", "index.csv", "-t", "y", "-q", "--set", "optimizer=None", "-o", "i.ngdt"
    assert "numbers the rows: leave it out by --drop 'Unnamed: 0', unless" in run(*fit).err
    assert not run(*fit, "--drop", "Unnamed: 0").err
    for other in (frame.sample(frac=1.0, random_state=0), frame.set_axis(["p", "q"] * 15)):
        other.to_csv(folder / "index.csv")
        assert not run(*fit).err
    frame.assign(id=range(100, 130)).to_csv(folder / "index.csv", index=False)
    assert "column 'id' numbers the rows: leave it out by --drop 'id', unless" in run(*fit).err


def test_a_warning_of_each_fold_is_printed_once(run, folder):
    """Folds differ in the values that are examples, and in those that no training row has."""
    days = pd.date_range("2020-05-03", periods=60).astype(str)
    pd.DataFrame({"a": range(0, 120, 2), "day": days, "y": ["no", "yes"] * 30}).to_csv(
        folder / "days.csv", index=False)
    printed = run("compare", "days.csv", "-t", "y", "-q", "-o", "days.html", "--models", "pruned",
                  "--folds", "3")
    assert printed.err.count("spell") == 1
    assert "their values spell dates, such as '2020-05-03'" in printed.err
    assert printed.err.count("names of groups, say so by --categorical 'day'\n") == 1
    assert "a date, in the file, or leave them out by --drop;" in printed.err


def test_packages_that_are_missing_are_named(mistake, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert 'pip install "ngdt[cli]"' in mistake("predict", "wine.ngdt", "wine.csv")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert 'pip install "ngdt[plot]"' in mistake("show", "wine.ngdt", "-f", "png")
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert 'needs shtab: python -m pip install "ngdt[cli]"' in mistake("--print-completion", "bash")


def test_a_report_without_matplotlib_has_no_picture(run, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    run("compare", "wine.csv", "-t", "cultivar", "--models", "tree", "--folds", "2",
        "-o", "plain.html")
    assert "There is no picture of the tree: " in (folder / "plain.html").read_text("utf-8")


def test_commands_are_completed(capsys):
    pytest.importorskip("shtab")
    with pytest.raises(SystemExit) as error:
        main(["--print-completion", "bash"])
    assert error.value.code == 0
    printed = capsys.readouterr().out
    assert all(f"_{name}" in printed for name in COMMANDS)


def test_every_command_has_help(capsys):
    for name in COMMANDS:
        with pytest.raises(SystemExit) as error:
            main([name, "--help"])
        assert error.value.code == 0
        assert f"usage: ngdt {name}" in capsys.readouterr().out


def test_ctrl_c_while_modules_are_imported(tmp_path):
    (tmp_path / "ngdt").mkdir()
    (tmp_path / "ngdt" / "__init__.py").write_text("")
    (tmp_path / "ngdt" / "cli.py").write_text(
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)")
    command = Path(ngdt_command.__file__)
    (tmp_path / command.name).write_text(command.read_text(encoding="utf-8"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", "import ngdt_command; ngdt_command.main()"], cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True,
        check=False)
    assert (done.returncode, done.stderr) == (130, "ngdt: interrupted\n")


def test_the_command_runs_as_installed(run, folder, monkeypatch):
    expected = run("show", "wine.ngdt").out
    monkeypatch.setattr(sys, "argv", ["ngdt", "show", "wine.ngdt"])
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert ngdt_command.main() == 0
    assert printed.getvalue() == expected


def test_pictures_are_written_to_stdout_unless_it_is_a_terminal(mistake, folder, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(folder)
    stdout = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", stdout)
    command = ["show", "wine.ngdt", "-f", "png"]
    assert main(command) == 0
    assert stdout.buffer.getvalue().startswith(b"\x89PNG")
    monkeypatch.setattr(stdout, "isatty", lambda: True)
    assert "this format is not text: give a file with --output" in mistake(*command)


def test_an_error_may_be_traced(folder, monkeypatch):
    monkeypatch.chdir(folder)
    with pytest.raises(Mistake):
        main(["--traceback", "show", "wyne.ngdt"])


def test_ctrl_c_ends_a_command(folder, monkeypatch, capsys):
    def interrupt(path):
        raise KeyboardInterrupt

    monkeypatch.setattr("ngdt.cli._models.load", interrupt)
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit) as error:
        main(["show", "wine.ngdt"])
    assert (error.value.code, capsys.readouterr().err) == (130, "ngdt: interrupted\n")


def test_a_search_is_read_as_its_tree(run, frame, folder):
    search = ngdt.TAOPathCV(ngdt.ObliqueTreeClassifier(1, optimizer="tao"), Cs=[0.1], cv=2)
    search.fit(frame[["flavanoids"]], frame["cultivar"])
    ngdt.save(search, folder / "search.ngdt")
    ngdt.save(search.estimator_, folder / "best.ngdt")
    for command, *rest in (["show"], ["predict", "wine.csv", "-t", "cultivar"]):
        assert run(command, "search.ngdt", *rest) == run(command, "best.ngdt", *rest)


@pytest.mark.parametrize(
    "arguments", [["show", "wine.ngdt"], ["--help"], ["--print-completion", "bash"]])
def test_a_closed_pipe_is_no_error(arguments, folder, monkeypatch, capsys):
    """As in `ngdt show wine.ngdt | true`."""
    if "bash" in arguments:
        pytest.importorskip("shtab")
    monkeypatch.chdir(folder)
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as pipe:     # Python, too, flushes and closes it at the end
        monkeypatch.setattr(sys, "stdout", pipe)
        assert main(arguments) == 0
    assert capsys.readouterr().err == ""
