"""The files of the pages on extending are compiled and run as they stand."""

import importlib.util
import os
import pickle
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import ngdt
from helpers import FORMS, StopAt, make_problem
from ngdt.inference import (
    cost_diminished_inference,
    empirical_loss,
    loss_augmented_inference,
    upper_bound,
)

SOURCE = Path(__file__).parents[2] / "docs/extending"
FILES = ("quantile_loss.pyx", "setup.py", "use_quantile_loss.py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A user's project with the files of the page, built by its own setup.py."""
    pytest.importorskip("Cython")
    pytest.importorskip("setuptools")
    folder = tmp_path_factory.mktemp("quantile")
    for name in FILES:
        shutil.copy(SOURCE / name, folder)
    # Run in the source folder of ngdt, pytest finds the package there; a script elsewhere may not.
    # Code that is not optimised, without symbols, is quicker to compile.
    env = {**os.environ, "PYTHONPATH": str(Path(ngdt.__file__).parents[1]), "CFLAGS": "-O0 -g0"}
    built = subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", "--inplace"],
        cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def quantile_loss(folder):
    (path,) = (path for path in folder.glob("quantile_loss*") if path.suffix in (".so", ".pyd"))
    spec = importlib.util.spec_from_file_location("quantile_loss", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["quantile_loss"] = module  # where pickle looks for it
    spec.loader.exec_module(module)
    yield module
    del sys.modules["quantile_loss"]


def test_the_script_of_the_page(folder, quantile_loss, capsys):
    runpy.run_path(str(folder / "use_quantile_loss.py"), run_name="__main__")
    share = float(capsys.readouterr().out.rpartition(":")[2])
    assert share == pytest.approx(0.9, abs=0.02)


def test_value_gradient_and_leaves(quantile_loss):
    loss = quantile_loss.QuantileLoss(0.75)
    theta, y = np.array([[1.0], [1.0]]), loss.encode([3.0, 0.0], 1)
    assert loss.value(theta, y).tolist() == [0.75 * 2, 0.25 * 1]
    assert loss.values_gradient(theta, y).ravel().tolist() == [-0.75, 0.25]
    leaf, weight = np.array([0, 0, 0, 0]), np.array([1.0, 1.0, 1.0, 0.0])
    values = loss.fit_leaves(leaf, np.array([[1.0], [2.0], [3.0], [9.0]]), weight, 2, 1)
    assert values.ravel().tolist() == [3.0, 3.0]
    with pytest.raises(ValueError, match="level"):
        quantile_loss.QuantileLoss(1.0)
    assert pickle.loads(pickle.dumps(loss)).level == 0.75


def test_the_laws_hold_for_it(quantile_loss):
    loss = quantile_loss.QuantileLoss(0.9)
    rng = np.random.default_rng(0)
    m = 7
    left, right = 2 * np.arange(m) + 1, 2 * np.arange(m) + 2
    left, right = (np.where(ids < m, ids, ~(ids - m)) for ids in (left, right))
    tree = ngdt.Tree(
        rng.normal(size=(m, 3)), rng.normal(size=m), left, right, rng.normal(size=(m + 1, 2))
    )
    X, y = rng.normal(size=(200, 3)), rng.normal(size=(200, 2))
    fast, full = (
        upper_bound(tree, X, y, loss=loss, inference=inference) for inference in ("fast", "full"))
    assert (empirical_loss(tree, X, y, loss=loss) <= fast).all()
    assert (fast <= full).all()
    for search, kinds in (
        (loss_augmented_inference, [{"inference": "fast"}, {"inference": "full"}]),
        (cost_diminished_inference, [{}]),
    ):
        for inference in kinds:
            pruned = search(tree, X, y, loss=loss, **inference)
            whole = search(tree, X, y, loss=loss, prune=False, **inference)
            np.testing.assert_array_equal(pruned.bound, whole.bound)
            np.testing.assert_array_equal(pruned.leaf, whole.leaf)
            assert pruned.n_scored.sum() < whole.n_scored.sum()


# --- an initializer and an optimizer of your own -------------------------------------------------


@pytest.fixture(scope="module")
def median_tree():
    return runpy.run_path(str(SOURCE / "own_initializer.py"))["MedianTree"]


@pytest.fixture(scope="module")
def hill_climbing():
    return runpy.run_path(str(SOURCE / "own_optimizer.py"))["HillClimbing"]


@FORMS
def test_an_initializer_of_your_own(median_tree, form, iris):
    X, y = iris
    problem = make_problem(form(X), y, max_depth=3)
    tree = median_tree().initialize(problem)
    assert (tree.n_internal, tree.n_leaves, tree.max_depth) == (7, 8, 3)
    at_leaf = np.bincount(tree.apply(X), minlength=8)
    assert at_leaf.sum() == 150
    assert 15 <= at_leaf.min() <= at_leaf.max() <= 22     # halved three times
    assert tree == problem.refit_leaves(tree)
    assert tree == median_tree(3).initialize(problem.limited(max_depth=None))
    assert tree != median_tree().initialize(problem.replace(random_state=1))
    assert median_tree(0).initialize(problem).n_leaves == 1
    fitted = ngdt.ObliqueTreeClassifier(3, init=median_tree(), random_state=0).fit(form(X), y)
    assert fitted.score(form(X), y) > 0.8


def test_an_initializer_of_your_own_says_what_it_needs(median_tree, iris):
    for parameters, message in (({"depth": -1}, "'depth' parameter of MedianTree"),
                                ({}, "MedianTree needs a depth, or an estimator with max_depth")):
        with pytest.raises(ValueError, match=message):
            ngdt.ObliqueTreeClassifier(None, init=median_tree(**parameters)).fit(*iris)


@FORMS
@pytest.mark.parametrize("estimator", [ngdt.ObliqueTreeClassifier, ngdt.ObliqueTreeRegressor])
def test_an_optimizer_of_your_own(hill_climbing, median_tree, estimator, form, iris, capsys):
    seen = []
    X, y = form(iris[0]), iris[1]
    fitted = estimator(
        3, init=median_tree(), optimizer=hill_climbing(epochs=4), validation_fraction=0.2,
        verbose=2, callback=seen.append, random_state=0).fit(X, y)
    history = fitted.history_
    assert set(history) == {"optimizer", "error", "n_accepted", "validation"}
    assert history["optimizer"] == ["HillClimbing"] * 4
    assert (np.diff(history["error"]) <= 0).all()
    assert history["n_accepted"][0] > 0
    assert np.isfinite(history["validation"]).all()
    for number, metrics in enumerate(seen):
        assert metrics == {"epoch": number + 1, "epochs": 4} | {
            name: column[number] for name, column in history.items()}
    assert len(seen) == 4
    lines = [line for line in capsys.readouterr().out.splitlines()
             if not line.startswith("[ngdt] ")]
    assert [line.split("  ")[0] for line in lines] == [
        f"[HillClimbing] epoch {epoch}/4" for epoch in range(1, 5)]
    for line, error in zip(lines, history["error"], strict=True):
        assert f"  error {error:.4g}  n_accepted " in line


@FORMS
def test_an_optimizer_of_your_own_lowers_the_error_of_its_tree(
        hill_climbing, median_tree, form, iris):
    problem = make_problem(form(iris[0]), iris[1], max_depth=3)
    initial = median_tree().initialize(problem)
    result = hill_climbing().optimize(initial, problem)
    before, after = (
        problem.errors(tree, problem.training_samples).mean() for tree in (initial, result.tree))
    assert after < before
    assert after == pytest.approx(result.history["error"][-1])
    assert result.converged == (result.history["n_accepted"][-1] == 0)
    assert np.isnan(result.history["validation"]).all()     # there are no validation samples
    leaf = median_tree(0).initialize(problem)
    assert hill_climbing().optimize(leaf, problem).tree is leaf
    with pytest.raises(ValueError, match="'epochs' parameter of HillClimbing"):
        hill_climbing(epochs=0).optimize(initial, problem)


def test_mistakes_in_methods_of_your_own_are_named(hill_climbing, median_tree, iris):
    class ReturnsTree(hill_climbing):
        def _optimize(self, tree, problem):
            return tree

    class ReturnsNone(median_tree):
        def _initialize(self, problem):
            pass

    class LacksMetric(hill_climbing):
        metrics = ("error", "validation")

    for methods, message in (
            ({"optimizer": ReturnsTree()}, "ReturnsTree._optimize must return .*OptimizerResult, "
             "got one of Tree"),
            ({"init": ReturnsNone()}, "ReturnsNone._initialize must return .* Tree, .* NoneType"),
            ({"optimizer": LacksMetric()}, "metrics of LacksMetric lacks 'n_accepted'")):
        with pytest.raises((TypeError, ValueError), match=message):
            ngdt.ObliqueTreeClassifier(2, validation_fraction=None, **methods).fit(*iris)


def test_ctrl_c_in_an_optimizer_of_your_own(hill_climbing, median_tree, iris):
    interrupted, short = (
        ngdt.ObliqueTreeClassifier(
            3, init=median_tree(), optimizer=[hill_climbing(epochs), *after], callback=callback,
            validation_fraction=None, random_state=0)
        for epochs, after, callback in ((10, ["regrow"], StopAt(2)), (2, [], None)))
    with pytest.warns(ConvergenceWarning, match="interrupted after 2 epochs"):
        interrupted.fit(*iris)
    assert interrupted.n_iter_ == 2
    assert interrupted.tree_ == short.fit(*iris).tree_
    np.testing.assert_equal(interrupted.history_, short.history_)
    assert interrupted.score(*iris) == pytest.approx(1 - interrupted.history_["error"][-1])
