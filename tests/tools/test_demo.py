"""The command line."""

import runpy
import sys

import numpy as np
import pytest

import ngdt
from ngdt.cli import main
from ngdt.cli._demo import MODELS


@pytest.fixture
def few_digits(digits, monkeypatch):
    X, y = digits
    monkeypatch.setattr("ngdt.cli._demo.load_digits", lambda return_X_y: (X[:150], y[:150]))


@pytest.mark.usefixtures("few_digits")
def test_demo_prints_a_table(capsys, monkeypatch, tmp_path):
    for model in MODELS.values():
        if hasattr(model, "n_estimators"):
            monkeypatch.setattr(model, "n_estimators", 2)
    assert main(["demo", "--max-depth", "4", "-o", str(tmp_path / "picture.png")]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {name: line for name in MODELS for line in lines if line.startswith(name)}
    assert rows.keys() == MODELS.keys()
    found = {name: [float(cell) for cell in line.split()[-5:]] for name, line in rows.items()}
    for name, (train, test, leaves, size, seconds) in found.items():
        assert 0 < test <= 100
        assert 0 < train <= 100
        assert 1 <= leaves <= (np.inf if hasattr(MODELS[name], "n_estimators") else 2**4)
        assert size > 0
        assert seconds >= 0
    test_accuracy = [cells[1] for cells in found.values()]
    assert test_accuracy[5] > test_accuracy[0]


@pytest.fixture
def one_method(few_digits, monkeypatch):
    """The demo trains nothing but what it draws."""
    name, model = next(iter(MODELS.items()))
    monkeypatch.setattr("ngdt.cli._demo.MODELS", {name: model})


@pytest.mark.usefixtures("one_method")
def test_demo_writes_a_plot(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    path = tmp_path / "picture.png"
    assert main(["demo", "--max-depth", "2", "--output", str(path)]) == 0
    assert path.read_bytes().startswith(b"\x89PNG")
    assert str(path) in capsys.readouterr().out


@pytest.mark.usefixtures("one_method")
def test_demo_says_how_to_get_the_plot(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # as if it were not installed
    path = tmp_path / "picture.png"
    assert main(["demo", "--max-depth", "1", "--output", str(path)]) == 0
    assert 'pip install "ngdt[plot]"' in capsys.readouterr().out
    assert not path.exists()


@pytest.mark.parametrize(
    "arguments",
    [[], ["nonsense"], ["demo", "--max-depth", "two"], ["demo", "--max-depth", "-1"],
     ["demo", "--max-depth", "0"]],
)
def test_wrong_arguments_end_with_a_message(arguments, capsys):
    with pytest.raises(SystemExit) as error:
        main(arguments)
    assert error.value.code == 2
    printed = capsys.readouterr()
    assert not printed.out
    assert printed.err


def test_version(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["ngdt", "--version"])
    monkeypatch.delitem(sys.modules, "ngdt.__main__", raising=False)
    with pytest.raises(SystemExit) as error:
        runpy.run_module("ngdt", run_name="__main__")   # as python -m ngdt does
    assert error.value.code == 0
    assert capsys.readouterr().out.strip() == f"ngdt {ngdt.__version__}"


def test_a_folder_that_is_not_there_is_noticed_before_the_training(tmp_path, capsys):
    for path in (tmp_path / "missing" / "picture.png", tmp_path):
        with pytest.raises(SystemExit) as error:
            main(["demo", "--output", str(path)])
        assert error.value.code == 2
        printed = capsys.readouterr()
        assert not printed.out
        assert "output must be" in printed.err
