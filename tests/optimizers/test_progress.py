"""Reports of a training run, epoch by epoch: history, printed lines, callback."""

import re
import sys
from importlib import import_module

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from helpers import Interruption, serves, short
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt._training.control import Control
from ngdt._util.stopped import Stopped
from ngdt.losses import LogLoss
from ngdt.optimizers import OPTIMIZERS, SGD, TAO, Progress, Regrow

REPORTING = sorted(name for name, optimizer in OPTIMIZERS.items() if optimizer.metrics)


def fit(optimizer, **params):
    return ObliqueTreeClassifier(
        2, optimizer=optimizer, validation_fraction=None, random_state=0, **params).fit(
            *load_iris(return_X_y=True))


def test_an_optimizer_without_metrics_reports_nothing():
    assert REPORTING
    for name in OPTIMIZERS.keys() - set(REPORTING):
        seen = []
        optimizer = OPTIMIZERS[name]()
        estimator = (
            ObliqueTreeClassifier if serves(optimizer, LogLoss()) else ObliqueTreeRegressor)
        model = estimator(
            2, optimizer=optimizer, validation_fraction=None, callback=seen.append)
        model.fit(*load_iris(return_X_y=True))
        assert model.history_ == {"optimizer": []}
        assert seen == []


@pytest.mark.parametrize("name", REPORTING)
def test_history_printed_lines_and_callback_agree(name, capsys):
    seen, optimizer = [], short(OPTIMIZERS[name])
    history = fit(optimizer, callback=seen.append, verbose=2).history_
    assert list(history) == ["optimizer", *optimizer.metrics]
    assert {len(column) for column in history.values()} == {len(seen)}
    *lines, _, _ = capsys.readouterr().out.splitlines()  # how long it took, and what came out
    step = type(optimizer).__name__
    for number, (progress, line) in enumerate(zip(seen, lines, strict=True)):
        assert progress.pop("optimizer") == history["optimizer"][number] == step
        epoch, epochs = progress.pop("epoch"), progress.pop("epochs")
        assert epoch == number + 1 <= epochs
        assert list(progress) == list(optimizer.metrics)
        head, *shown = line.split("  ")
        assert head == f"[{step}] epoch {epoch}/{epochs}"
        for metric, value in progress.items():
            assert type(value) in (int, float)
            np.testing.assert_equal(value, history[metric][number])
        measured = {metric: value for metric, value in progress.items() if not np.isnan(value)}
        for item, (metric, value) in zip(shown, measured.items(), strict=True):
            label, number_shown = item.split(" ")
            assert label == metric
            np.testing.assert_allclose(float(number_shown), value, rtol=5e-4)


@pytest.mark.parametrize("name", REPORTING)
def test_ctrl_c_in_the_first_epoch_leaves_a_fitted_tree_and_empty_columns(name, monkeypatch):
    def stop(progress, metrics, state=None):
        raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "report", stop)
    with pytest.warns(ConvergenceWarning, match="interrupted after 0 epochs"):
        model = fit(name)
    assert model.history_ == {name: [] for name in ("optimizer", *OPTIMIZERS[name].metrics)}
    assert model.predict([[5.0, 3.0, 1.5, 0.2]]).shape == (1,)


def test_a_chain_has_the_metrics_of_all_its_optimizers_though_none_had_an_epoch():
    X, y = load_iris(return_X_y=True)
    model = ObliqueTreeClassifier(
        0, optimizer=[SGD(epochs=1), Regrow()], validation_fraction=None).fit(X, y)
    assert model.history_ == {"optimizer": [], **{name: [] for name in SGD.metrics}}


def test_large_counts_are_printed_in_full(capsys):
    problem = type("Problem", (), {"control": Control(verbose=2)})
    Progress(TAO(), problem, 9).report({
        "objective": 1234.5678, "loss": np.float64(0.0123456), "n_nonzero": np.int64(1234567),
        "n_nodes": 3, "validation": np.nan})
    assert re.fullmatch(
        r"\[TAO\] epoch 1/9  objective 1235  loss 0\.01235  n_nonzero 1234567  n_nodes 3\n",
        capsys.readouterr().out)


@pytest.mark.parametrize("made_by", [
    "ngdt._methods.sgd.run.SGDRun.best_tree", "ngdt._methods.soft.run.SoftRun.best_tree",
    "ngdt._methods.tao.tao.TAORun.result"])
def test_ctrl_c_while_the_last_tree_is_made(made_by, monkeypatch):
    name = made_by.split(".")[2].replace("soft", "annealed")
    # From random splits, which three epochs make better: after Ctrl-C, the best tree is kept.
    trained = fit(short(OPTIMIZERS[name]), init="random_complete")
    *_, owner, method = made_by.split(".")
    module = import_module(made_by.rsplit(".", 2)[0])
    Interruption(monkeypatch, getattr(module, owner), method, 1)
    with pytest.warns(ConvergenceWarning, match="interrupted after"):
        model = fit(short(OPTIMIZERS[name]), init="random_complete")
    assert model.tree_ == trained.tree_


def test_ctrl_c_between_two_metrics_of_an_epoch():
    class Interrupted(list):
        def append(self, value):
            if len(self) == 1:
                raise KeyboardInterrupt
            super().append(value)

    problem = type("Problem", (), {"control": Control()})
    progress = Progress(TAO(), problem, 9)
    progress.history["n_nonzero"] = Interrupted()
    metrics = dict.fromkeys(TAO.metrics, 1)
    with progress.until_interrupted():
        for _ in range(2):
            progress.report(metrics)
    with pytest.raises(Stopped) as caught:
        progress.result(None)
    assert caught.value.history == {name: [1] for name in TAO.metrics}


def test_ctrl_c_before_the_block_is_not_taken_for_its_end():
    problem = type("Problem", (), {"control": Control()})
    progress = Progress(TAO(), problem, 9)

    def stop(frame, event, argument):
        if "_training" in frame.f_code.co_filename and event == "line":
            sys.settrace(None)
            raise KeyboardInterrupt
        return stop

    def enter():
        before = sys.gettrace()
        sys.settrace(stop)
        try:
            with progress.until_interrupted():
                pass
        finally:
            sys.settrace(before)

    with pytest.raises(KeyboardInterrupt):
        enter()
