"""Errors by number of leaves, beside those of trees that are fitted one by one."""

from functools import partial

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_diabetes, load_iris, make_friedman1
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.tree import DecisionTreeRegressor

from helpers import in_nightly
from ngdt import (
    ObliqueBoostingRegressor,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
)
from ngdt.initializers import ModelTree
from ngdt.path import SizePath, size_path
from ngdt.plotting import plot_path

MODEL_TREE = ObliqueTreeRegressor(init=ModelTree(n_folds=1), optimizer=None, random_state=0)


def friedman():
    return make_friedman1(90, noise=1.0, random_state=0)


@pytest.mark.parametrize(("estimator", "samples", "is_weighted"), [
    (MODEL_TREE, friedman, True),
    (ObliqueTreeRegressor(leaf="constant", optimizer="tao", random_state=0), friedman, False),
    *((ObliqueTreeClassifier(optimizer=None, random_state=0), partial(load_iris, return_X_y=True),
       is_weighted) for is_weighted in (False, True)),
    (ObliqueForestRegressor(2, optimizer=None, random_state=0), friedman, True)])
def test_each_size_is_fitted_by_itself(estimator, samples, is_weighted):
    X, y = samples()
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y)) if is_weighted else np.ones(len(y))
    path = size_path(estimator, X, y, max_leaf_nodes=[5, 2, 5], cv=2,
                     sample_weight=weight if is_weighted else None)
    assert path.max_leaf_nodes.tolist() == [2, 5]
    folds = (StratifiedKFold if is_classifier(estimator) else KFold)(2).split(X, y)
    for k, (train, test) in enumerate(folds):
        for j, size in enumerate(path.max_leaf_nodes.tolist()):
            model = clone(estimator).set_params(max_leaf_nodes=size)
            model.fit(X[train], y[train], weight[train] if is_weighted else None)
            predicted = model.predict(X[test])
            losses = predicted != y[test] if is_classifier(model) else (predicted - y[test])**2
            assert path.errors[k, j] == pytest.approx(
                np.average(losses, weights=weight[test]), rel=1e-12)
            assert path.n_leaves[k, j] == model.get_n_leaves()
    mean, spread = path.errors.mean(axis=0), path.errors.std(axis=0, ddof=1) / np.sqrt(2)
    np.testing.assert_array_equal(path.error, mean)
    np.testing.assert_allclose(path.standard_error, spread)


def path_of(*errors):
    errors = np.array(errors, dtype=float)
    return SizePath(np.array([2, 4, 8, 16]), np.ones_like(errors, dtype=int), errors)


@pytest.mark.parametrize(("errors", "chosen"), [
    # The least mean is 2, with a standard error of 1.
    (([9, 3.1, 1, 3], [9, 3.1, 3, 3]), 8), (([9, 2.9, 1, 3], [9, 2.9, 3, 3]), 4),
    (([2, 2, 1, 1], [4, 2, 3, 3]), 2), (([9, 9, 9, 1], [9, 9, 9, 1]), 16),
    # A single fold tells no standard error.
    (([9, 3.1, 3, 3],), 8)])
@pytest.mark.filterwarnings("error")
def test_the_smallest_size_within_one_standard_error_is_chosen(errors, chosen):
    path = path_of(*errors)
    assert path.chosen == chosen
    assert str(path).endswith(f"\nchosen: max_leaf_nodes={chosen}")
    assert np.isnan(path.standard_error).all() == (len(errors) == 1)


def test_neither_the_state_of_the_estimator_nor_jobs_change_the_path(tmp_path):
    X, y = friedman()
    fitted = clone(MODEL_TREE).set_params(
        warm_start=True, max_leaf_nodes=7, checkpoint=str(tmp_path / "checkpoint")).fit(X, y)
    before = dict(vars(fitted))
    one = size_path(MODEL_TREE, X, y, max_leaf_nodes=[2, 6], cv=2)
    with parallel_config("loky" if in_nightly([True]) else "threading"):
        two = size_path(fitted, X, y, max_leaf_nodes=[2, 6], cv=2, n_jobs=2)
    assert vars(fitted) == before
    np.testing.assert_array_equal(one.errors, two.errors)
    assert not list(tmp_path.iterdir())


def test_progress_is_that_of_the_path(capsys):
    tree = ObliqueTreeClassifier(optimizer=None, verbose=1)
    size_path(tree, *load_iris(return_X_y=True), max_leaf_nodes=[2, 3], cv=2)
    printed = "".join(capsys.readouterr())
    assert "Done   4 out of   4" in printed
    assert "Greedy tree" not in printed      # of each tree


def test_tables_with_text_and_samples_without_weight():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pandas.DataFrame({"city": rng.choice(["Rome", "Oslo", "Lima"], 90),
                              "age": rng.normal(size=90)})
    label = np.where((table["city"] == "Rome") ^ (table["age"] > 0), "yes", "no")
    estimator = ObliqueTreeClassifier(optimizer="tao", validation_fraction=None)
    weight = np.r_[np.ones(60), np.zeros(30)]
    path, alone = (size_path(estimator, table[:n], label[:n], max_leaf_nodes=[2, 4], cv=3,
                             sample_weight=weight[:n]) for n in (90, 60))
    np.testing.assert_array_equal(path.errors, alone.errors)
    assert path.error[1] < 0.2 < path.error[0]


@pytest.mark.parametrize(("change", "message"), [
    ({"estimator": DecisionTreeRegressor()}, "^estimator must be an oblique tree or forest"),
    ({"estimator": ObliqueBoostingRegressor()}, "^estimator must be"),
    ({"max_leaf_nodes": []}, "^max_leaf_nodes must have at least one size"),
    ({"max_leaf_nodes": [1, 2]}, "'max_leaf_nodes' parameter"),
    ({"max_leaf_nodes": [2.5]}, "'max_leaf_nodes' parameter"),
    ({"max_leaf_nodes": [2, None]}, "^max_leaf_nodes: "),
    ({"y": np.zeros(3)}, "inconsistent numbers of samples"),
    ({"y": 1e200 * np.arange(442.0)}, "^y: squared errors are beyond .* divide y by"),
    ({"cv": iter([])}, "^cv must give folds"),
    ({"cv": GroupKFold(2)}, r"^cv: .*groups.* Give its folds: cv=list\(splitter.split"),
    ({"cv": KFold(443)}, r"^cv: Cannot have number of splits n_splits=443 .*=442\.$"),
    ({"sample_weight": -np.ones(442)}, "^sample_weight")])
def test_invalid_arguments(change, message):
    X, y = load_diabetes(return_X_y=True)
    arguments = {"estimator": MODEL_TREE, "X": X, "y": y, "max_leaf_nodes": [2]} | change
    with pytest.raises((ValueError, TypeError), match=message):
        size_path(**arguments)


@pytest.mark.filterwarnings("error")
def test_the_plot_shows_the_errors_and_the_choice(plt):
    path = path_of([9, 2.9, 1, 3], [7, 2.9, 3, 3])
    (ax,) = plot_path(path)
    (line, (_, _), (bars,)), = ax.containers
    np.testing.assert_array_equal(line.get_xydata(), np.c_[path.max_leaf_nodes, path.error])
    ends = np.array([bar[:, 1] for bar in bars.get_segments()])
    np.testing.assert_allclose(ends.mean(axis=1), path.error)
    np.testing.assert_allclose(np.diff(ends)[:, 0], 2 * path.standard_error)
    lines = {each.get_label(): each.get_xydata() for each in ax.get_lines()}
    assert lines["chosen: 4"].tolist() == [[4.0, 2.9]]
    assert (lines["least error plus its standard error"][:, 1] == 3.0).all()
    # A single fold has neither bars nor the limit.
    (again,) = plot_path(path_of([9, 3, 1, 2]), ax=plt.subplots()[1])
    assert [each.get_label() for each in again.get_lines()][-1] == "chosen: 8"
    assert "least error plus its standard error" not in {
        each.get_label() for each in again.get_lines()}


def test_of_equal_errors_the_plot_has_the_limit_of_the_choice(plt):
    path = path_of([3, 0, 2, 3], [3, 4, 2, 3])
    (ax,) = plot_path(path)
    limit = {line.get_label(): line.get_ydata()[0] for line in ax.get_lines()}[
        "least error plus its standard error"]
    assert path.max_leaf_nodes[path.error <= limit].min() == path.chosen == 4
