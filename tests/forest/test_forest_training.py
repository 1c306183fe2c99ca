"""Ctrl-C, max_time and messages while a forest is trained."""

import re
import threading
import warnings
from time import perf_counter, sleep

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import ngdt._forest.training
from helpers import in_nightly
from ngdt import ObliqueForestClassifier, ObliqueForestRegressor
from ngdt.optimizers import SSGD, Annealed, Optimizer, OptimizerResult, Progress

BOTH = pytest.mark.parametrize("forest", [ObliqueForestClassifier, ObliqueForestRegressor])


class Interrupted(Optimizer):
    """Ctrl-C in the tree of this number, before, in or after an epoch."""

    calls = 0

    def __init__(self, call=1, how="epoch"):
        self.call = call
        self.how = how

    def _optimize(self, tree, problem):
        Interrupted.calls += 1
        if Interrupted.calls == self.call and self.how == "before":
            raise KeyboardInterrupt
        progress = Progress(self, problem, 2)
        with progress.until_interrupted():
            progress.report({})
            if Interrupted.calls == self.call:
                raise KeyboardInterrupt
        return progress.result(tree)


@pytest.fixture(autouse=True)
def fresh():
    Interrupted.calls = 0


@BOTH
@pytest.mark.parametrize("how", ["before", "epoch"])
@pytest.mark.parametrize("call", [2, 4])
def test_ctrl_c_keeps_the_trees_that_are_finished(forest, how, call, iris):
    model = forest(5, max_depth=3, optimizer=Interrupted(call, how), random_state=0)
    with pytest.warns(ConvergenceWarning, match=f"Ctrl-C .* {call - 1} of 5 trees") as caught:
        model.fit(*iris)
    assert caught[0].filename == __file__
    assert len(caught) == 1
    assert len(model.estimators_) == call - 1
    assert model.predict(iris[0]).shape == (150,)
    # The others can be added.
    model.set_params(warm_start=True).fit(*iris)
    Interrupted.calls = 10
    whole = forest(**model.get_params(deep=False)).fit(*iris)
    for one, other in zip(model.estimators_, whole.estimators_, strict=True):
        assert one.tree_ == other.tree_


def test_ctrl_c_in_the_first_tree(iris):
    model = ObliqueForestClassifier(5, max_depth=3, optimizer=Interrupted(1, "before"))
    with pytest.raises(KeyboardInterrupt):
        model.fit(*iris)
    with pytest.raises(NotFittedError):
        model.predict(iris[0])
    # What there is after an epoch is a tree.
    Interrupted.calls = 0
    model = ObliqueForestClassifier(5, max_depth=3, optimizer=Interrupted(1))
    with pytest.warns(ConvergenceWarning, match="1 of 5 trees"):
        model.fit(*iris)
    assert model.score(*iris) > 0.9


def test_a_first_tree_that_ctrl_c_left_untrained_says_so(iris):
    class Worse(Interrupted):
        def _optimize(self, tree, problem):
            return super()._optimize(tree.replace(values=-tree.values), problem)

    model = ObliqueForestClassifier(
        5, max_depth=3, init="info_gain", optimizer=Worse(), random_state=0)
    with pytest.warns(ConvergenceWarning, match="1 of 5 trees"):
        model.fit(*iris)
    assert model[0].baseline_kept_
    assert model.kind_ == "forest: greedy tree (1)"
    assert model.score(*iris) > 0.9


class Endless(Optimizer):
    """Trains until it is interrupted, but for two trees."""

    finite, running, ended = (), 0, 0
    lock = threading.Lock()

    def _count(self, name):
        with self.lock:
            setattr(Endless, name, getattr(Endless, name) + 1)

    def _optimize(self, tree, problem):
        if problem.random_state in Endless.finite:
            return OptimizerResult(tree)
        self._count("running")
        progress = Progress(self, problem, 10**6)
        with progress.until_interrupted():
            while True:
                sleep(0.01)
                progress.report({})
        self._count("ended")
        return progress.result(tree)


def test_ctrl_c_ends_the_trees_in_other_threads(iris, monkeypatch):
    parameters = {"max_depth": 2, "random_state": 0}
    first = ObliqueForestClassifier(2, init="info_gain", optimizer=None, **parameters).fit(*iris)
    Endless.finite = {tree.random_state for tree in first.estimators_}
    add = ngdt._forest.training.Growth._add

    def interrupt(growth, *arguments):
        add(growth, *arguments)
        if len(growth.trees) == 2:
            while Endless.running < 2:
                sleep(0.01)
            raise KeyboardInterrupt

    monkeypatch.setattr(ngdt._forest.training.Growth, "_add", interrupt)
    model = ObliqueForestClassifier(6, optimizer=Endless(), n_jobs=2, **parameters)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")     # joblib, too, says that it did not finish
        model.fit(*iris)
    assert any("2 of 6 trees" in str(each.message) for each in caught)
    before = perf_counter()
    while Endless.ended < Endless.running and perf_counter() - before < 10:
        sleep(0.01)
    assert Endless.ended == Endless.running == 2
    assert model.score(*iris) > 0.8


@BOTH
@pytest.mark.filterwarnings("error")
def test_enough_time_changes_nothing(forest, iris):
    parameters = {"max_depth": 3, "optimizer": Annealed(steps=50), "random_state": 0}
    free, limited = (
        forest(3, max_time=max_time, **parameters).fit(*iris) for max_time in (None, 1e5))
    for one, other in zip(free.estimators_, limited.estimators_, strict=True):
        assert one.tree_ == other.tree_


@pytest.mark.parametrize(("optimizer", "n_jobs"), [
    (Annealed(steps=2000), 1), (SSGD(epochs=200), 2), (None, 1),
    *in_nightly([(Annealed(steps=2000), 2), (SSGD(epochs=200), 1), (None, 2)])], ids=str)
def test_a_forest_ends_in_time(optimizer, n_jobs):
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 20))
    y = (X[:, :4].sum(axis=1) > 0).astype(int)
    # A greedy tree has 0.85, so that the forest is good on a machine with no time for a step, too.
    init = "auto" if optimizer is None else "info_gain"
    model = ObliqueForestClassifier(
        1000, init=init, optimizer=optimizer, n_jobs=n_jobs, max_time=0.3, random_state=0)
    before = perf_counter()
    with pytest.warns(ConvergenceWarning, match=r"max_time=0\.3 s .* the forest has \d+ of 1000"):
        model.fit(X, y)
    assert perf_counter() - before < 4.0
    assert 1 <= len(model.estimators_) < 1000
    assert model.score(X, y) > 0.8


class Slow(Optimizer):
    """Takes more time than there is."""

    def _optimize(self, tree, problem):
        sleep(0.4)
        return OptimizerResult(tree)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_no_thread_begins_a_tree_after_the_deadline(n_jobs, iris):
    model = ObliqueForestClassifier(
        8, init="random_oblique", optimizer=Slow(), n_jobs=n_jobs, max_time=0.2, random_state=0)
    with pytest.warns(ConvergenceWarning, match=f"the forest has {n_jobs} of 8 trees"):
        model.fit(*iris)


def test_almost_no_time_gives_a_tree(digits):
    with pytest.warns(ConvergenceWarning, match="max_time=1e-09 s .* 1 of 20 trees"):
        model = ObliqueForestClassifier(max_time=1e-9, random_state=0).fit(*digits)
    assert model.predict(digits[0]).shape == (600,)
    with pytest.warns(ConvergenceWarning, match="training of trees; the forest has all 1"):
        model.set_params(n_estimators=1).fit(*digits)


def test_messages(iris, capsys, monkeypatch):
    model = ObliqueForestClassifier(4, max_depth=2, optimizer=None, random_state=0)
    model.fit(*iris)
    assert capsys.readouterr().out == ""
    model.set_params(verbose=1).fit(*iris)      # in less time than between two lines
    assert re.fullmatch(
        r"\[ngdt\] done in \d+\.\d s\n\[ngdt\] Forest of 4 trees .*\n", capsys.readouterr().out)
    monkeypatch.setattr(ngdt._estimators.display, "INTERVAL", 0.0)
    model.fit(*iris)
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("[ngdt] tree 4 of 4: 100% done, ")]
    model.set_params(warm_start=True, n_estimators=6).fit(*iris)
    assert "[ngdt] tree 2 of 2: 100% done, " in capsys.readouterr().out


def test_errors_in_threads_are_raised(iris):
    class Broken(Optimizer):
        def _optimize(self, tree, problem):
            raise RuntimeError("no tree")

    for n_jobs in (1, 2):
        with pytest.raises(RuntimeError, match="no tree"):
            ObliqueForestClassifier(4, optimizer=Broken(), n_jobs=n_jobs).fit(*iris)
    assert threading.active_count() < 50


def test_no_more_threads_than_trees(iris):
    # joblib starts them all: 20 000 took 18 s, and more than a million were refused.
    for n_jobs in (500, 10**9):
        before = threading.active_count()
        model = ObliqueForestClassifier(2, init="random_oblique", optimizer=None, n_jobs=n_jobs)
        model.fit(*iris)
        assert threading.active_count() <= before + 2
        assert len(model.estimators_) == 2
