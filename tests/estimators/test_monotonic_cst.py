"""The parameter `monotonic_cst` of trees and forests."""

import importlib
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_friedman1
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ngdt
from helpers import make_problem
from ngdt import (
    ObliqueBoostingRegressor,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    Tree,
    tao_path,
)
from ngdt._estimators.edited import described_in_order
from ngdt.inference import is_monotone
from ngdt.initializers import InfoGain, RandomOblique
from ngdt.optimizers import TAO, Annealed
from ngdt.pruning import prune_at, refit_leaves
from ngdt.pruning._replace import collapse

DIABETES = {"bmi": 1, "bp": 1, "s5": 1, "s3": -1}


def diabetes():
    return load_diabetes(return_X_y=True, as_frame=True)


def cancer():
    """The classes are malignant and benign."""
    X, y = load_breast_cancer(return_X_y=True)
    return X[:, :10], y, [-1, -1, -1, -1, 0, 0, -1, -1, 0, 0]


def assert_monotone(model, X, predict):
    """Check by a proof, and by samples of which some columns are moved."""
    cst = model.encoded_monotonic_cst_
    assert cst.any()
    assert is_monotone(model._trees(), cst) == is_monotone(model) == (True, None)
    random = np.random.default_rng(0)
    X = np.asarray(X)[random.integers(len(X), size=1000)]
    moved = X + np.ptp(X, axis=0) * cst * random.exponential(size=X.shape) * (
        random.random(X.shape) < 0.5)
    with warnings.catch_warnings():     # of names
        warnings.simplefilter("ignore", UserWarning)
        assert (predict(moved) >= predict(X)).all()


def test_a_score_in_bands_competes_for_two_classes():
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 6))
    y = X @ [1.0, 1.0, 1.0, 1.0, 0.0, -1.0] + random.logistic(size=600) > 0.0
    options = dict(monotonic_cst=[1, 1, 0, 1, 0, 1], random_state=0)
    assert "score bands" in ObliqueTreeClassifier(**options).fit(X, y).candidates_["candidate"]
    model = ObliqueTreeClassifier(init="score_bands", optimizer=None, **options).fit(X, y)
    assert model.get_n_leaves() > 4
    assert model.tree_.dense_weights([0])[0, 5] == 0.0      # the data have the other direction
    assert_monotone(model, X, lambda X: model.predict_proba(X)[:, 1])


@pytest.mark.parametrize("parameters", [
    {}, {"optimizer": None, "max_depth": 5}, {"optimizer": "tao", "max_depth": 4},
    {"optimizer": "annealed", "max_depth": 3},
    {"optimizer": ["ssgd", TAO(penalty="l2")], "max_depth": 4},
    {"max_leaf_nodes": 5}, {"loss": "absolute_error"}, {"loss": "poisson"}], ids=str)
def test_regression_trees_are_monotone(parameters):
    X, y = (each[:150] for each in diabetes())
    model = ObliqueTreeRegressor(monotonic_cst=DIABETES, random_state=0, **parameters).fit(X, y)
    assert_monotone(model, X, model.predict)
    assert model.get_n_leaves() > 1
    assert model.score(X, y) > 0.25


def test_free_levels_make_monotone_trees_as_accurate_as_free_ones(monkeypatch):
    monkeypatch.setattr("ngdt._selection.policy.FEW_STEPS", 500)
    X, y = make_friedman1(1800, noise=1.0, random_state=1)
    free, ordered = (ObliqueTreeRegressor(
        leaf="constant", monotonic_cst=cst, random_state=0).fit(X[:800], y[:800]).score(
            X[800:], y[800:]) for cst in (None, [0, 0, 0, 1, 1, 0, 0, 0, 0, 0]))
    assert ordered >= free + 0.01   # without such levels, it is less than that of the free one


def test_all_columns_may_have_a_direction():
    X, y = make_friedman1(300, noise=1.0, random_state=0)
    X, cst = X[:, 3:5], [1, 1]
    model = ObliqueTreeRegressor(monotonic_cst=cst, random_state=0).fit(X, y)
    assert_monotone(model, X, model.predict)


@pytest.mark.parametrize("parameters", [
    {}, {"optimizer": None, "max_depth": 5}, {"optimizer": "tao", "max_depth": 4},
    {"optimizer": "annealed", "max_depth": 3}, {"class_weight": "balanced", "leaf": "auto"}],
    ids=str)
def test_classification_trees_are_monotone(parameters):
    X, y, cst = cancer()
    model = ObliqueTreeClassifier(monotonic_cst=cst, random_state=0, **parameters).fit(X, y)
    assert_monotone(model, X, lambda X: model.predict_proba(X)[:, 1])
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("parameters", [{}, {"optimizer": "tao"}, {"optimizer": None}], ids=str)
@pytest.mark.parametrize("kind", [ObliqueTreeClassifier, ObliqueForestClassifier])
def test_a_single_class_is_in_any_order(kind, parameters):
    X, _, cst = cancer()
    options = dict(monotonic_cst=cst, max_depth=3, random_state=0)
    with warnings.catch_warnings():     # of a single leaf
        warnings.simplefilter("ignore", UserWarning)
        model = kind(**options, **parameters).fit(X, ["a"] * len(X))
    assert set(model.predict(X)) == {"a"}
    assert is_monotone(model) == (True, None)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("form", [np.ascontiguousarray, sparse.csr_array])
def test_the_splits_of_tao_rise_or_fall(penalty, form):
    X, y = diabetes()
    directions = np.array([DIABETES.get(name, 0) for name in X.columns], dtype=np.int8)
    problem = make_problem(
        form(X.to_numpy()), y / y.std(), "squared_error", directions=directions, max_depth=4)
    free = TAO(penalty=penalty).optimize(
        InfoGain().initialize(problem), problem.replace(directions=None)).tree
    assert not is_straight(free, directions).all()
    for initial in (InfoGain().initialize(problem), free):
        tree = TAO(penalty=penalty).optimize(initial, problem).tree
        assert is_straight(tree, directions).all()
        assert np.count_nonzero(tree.dense_weights() * directions, axis=1).max() > 1
        assert is_monotone(tree, directions) == (True, None)


def is_straight(tree, directions):
    """Whether the score of each split does not both rise and fall."""
    upward = tree.dense_weights() * directions
    return np.all(upward >= 0, axis=1) | np.all(upward <= 0, axis=1)


def test_missing_numbers_and_categories_are_free():
    X, y = diabetes()
    X = X.assign(sex=np.where(X["sex"] > 0, "f", "m"), bmi=X["bmi"].mask(X["age"] > 0.06))
    model = ObliqueTreeRegressor(monotonic_cst=DIABETES, random_state=0).fit(X, y)
    named = dict(zip(model.encoded_feature_names_, model.encoded_monotonic_cst_, strict=True))
    assert {name: cst for name, cst in named.items() if cst} == DIABETES
    assert is_monotone(model.tree_, model.encoded_monotonic_cst_) == (True, None)
    model.predict(X)


def test_further_training_keeps_the_order():
    X, y = diabetes()
    model = ObliqueTreeRegressor(
        monotonic_cst=DIABETES, optimizer="tao", max_depth=4, warm_start=True,
        validation_fraction=None).fit(X, y)
    assert_monotone(model.fit(X[::2], y[::2]), X, model.predict)
    path = tao_path(X.to_numpy(), y, Cs=2, estimator=ObliqueTreeRegressor(
        max_depth=4, optimizer=TAO(), monotonic_cst=[*model.encoded_monotonic_cst_],
        validation_fraction=None))
    assert all(is_monotone(tree, model.encoded_monotonic_cst_)[0] for tree in path.trees)


def test_files_and_clones_keep_the_parameter(tmp_path):
    X, y = diabetes()
    model = ObliqueTreeRegressor(monotonic_cst=DIABETES, random_state=0, max_depth=3).fit(X, y)
    ngdt.save(model, tmp_path / "model.ngdt")
    loaded = ngdt.load(tmp_path / "model.ngdt")
    assert loaded.monotonic_cst == DIABETES == clone(model).monotonic_cst
    assert (loaded.encoded_monotonic_cst_ == model.encoded_monotonic_cst_).all()
    assert loaded.tree_ == model.tree_


@pytest.mark.parametrize("parameters", [
    {}, {"optimizer": "annealed", "leaf": "linear", "max_depth": 2, "validation_fraction": None}],
    ids=str)
def test_zeros_are_no_constraints(parameters):
    X, y = (each[:150] for each in diabetes())
    free = ObliqueTreeRegressor(random_state=0, **parameters).fit(X, y)
    zeros = clone(free).set_params(monotonic_cst=np.zeros(10)).fit(X, y)
    assert zeros.tree_ == free.tree_
    assert not free.encoded_monotonic_cst_.any()


def test_what_does_not_fit_is_refused():
    X, y = diabetes()
    frame = X.assign(sex=np.where(X["sex"] > 0, "f", "m"))

    def fit(cst, X=X, y=y, **parameters):
        return ObliqueTreeRegressor(monotonic_cst=cst, **parameters).fit(X, y)

    with pytest.raises(ValueError, match=r"monotonic_cst must be an array-like of -1, 0 or 1"):
        fit([2] * 10)
    with pytest.raises(ValueError, match=r"monotonic_cst has shape \(9,\).*10 features"):
        fit([1] * 9)
    with pytest.raises(ValueError, match=r"monotonic_cst must have an entry -1, 0 or 1 for each"):
        fit(np.ones((10, 1)))
    with pytest.raises(ValueError, match=r"monotonic_cst must have an entry .* got \[1, .*None"):
        fit([1] * 9 + [None])
    with pytest.raises(ValueError, match=r"1 unexpected feature names: \['weight'\]"):
        fit({"weight": 1})
    with pytest.raises(ValueError, match="not fitted on data with feature names"):
        fit({"bmi": 1}, X.to_numpy())
    with pytest.raises(ValueError, match=r"columns of categories \['sex'\], which have no order"):
        fit({"sex": 1}, frame)
    with pytest.raises(ValueError, match=r"for one target, or .*, but y has more"):
        fit(DIABETES, y=np.column_stack([y, y]))
    with pytest.raises(ValueError, match="the trained tree have slopes of their own"):
        fit(DIABETES, optimizer=Annealed(leaf="linear", steps=20), validation_fraction=None)
    free = ObliqueTreeRegressor(init="model_tree", optimizer=None).fit(X, y)
    against = {name: -1 for name in DIABETES}
    with pytest.raises(ValueError, match="the trained tree have slopes of their own"):
        fit(against, init=free.tree_, optimizer=None)
    with pytest.raises(ValueError, match="partial_fit cannot fit linear leaves, nor keep pred"):
        ObliqueTreeRegressor(monotonic_cst=DIABETES).partial_fit(X, y)
    with pytest.raises(ValueError, match=r"for one target, or .*, but y has more"):
        ObliqueTreeClassifier(monotonic_cst=[1, 0, 0, 0]).fit(*load_iris(return_X_y=True))


@pytest.mark.parametrize("name", ["ObliqueTreeRegressor", "ObliqueForestRegressor"])
def test_partitions_refuse_the_parameter(name):
    pytest.importorskip("dask.array")
    on_partitions = getattr(importlib.import_module("ngdt.dask"), name)
    X, y = diabetes()
    with pytest.raises(ValueError, match=r"monotonic_cst is not available in ngdt\.dask"):
        on_partitions(monotonic_cst=DIABETES).fit(pd.DataFrame(X), y)


@pytest.mark.usefixtures("few_trial_trees")
@pytest.mark.parametrize("parameters", [
    {}, {"optimizer": None, "max_features": 0.5, "max_samples": 0.5, "oob_score": True},
    {"optimizer": "tao", "loss": "absolute_error"}], ids=str)
def test_regression_forests_are_monotone(parameters):
    X, y = diabetes()
    forest = ObliqueForestRegressor(
        8, monotonic_cst=DIABETES, max_depth=3, random_state=0, **parameters).fit(X[:200], y[:200])
    assert_monotone(forest, X, forest.predict)
    assert len({tree.get_n_leaves() for tree in forest}) > 1
    assert forest.score(X, y) > 0.3


@pytest.mark.usefixtures("few_trial_trees")
@pytest.mark.parametrize("parameters", [
    {}, {"optimizer": "tao", "class_weight": "balanced_subsample"}], ids=str)
def test_classification_forests_are_monotone(parameters):
    X, y, cst = cancer()
    forest = ObliqueForestClassifier(
        8, monotonic_cst=cst, max_depth=3, random_state=0, **parameters).fit(X, y)
    assert_monotone(forest, X, lambda X: forest.predict_proba(X)[:, 1])
    assert forest.score(X, y) > 0.9


def test_boosted_forests_are_monotone():
    X, y = diabetes()
    forest = ObliqueForestRegressor(
        8, monotonic_cst=DIABETES, optimizer="tao", max_depth=3, bootstrap=True, random_state=0)
    model = ObliqueBoostingRegressor(forest).fit(X[:200], y[:200])
    for each in model.estimators_:
        assert_monotone(each, X, each.predict)


def test_the_sum_of_two_forests_is_proved_or_refuted():
    X, y = make_friedman1(600, 5, random_state=0)
    forest = ObliqueForestRegressor(20, max_depth=4, init="info_gain", optimizer=None)
    for cst, expected in (([0, 0, 0, 1, 1], True), (None, False)):
        forest.set_params(monotonic_cst=cst)
        model = ObliqueBoostingRegressor(forest, random_state=0).fit(X, y)
        assert len(model.estimators_) == 2
        proved, pair = is_monotone(model, None if expected else [0, 0, 0, 1, 1])
        assert proved is expected
        if pair is not None:
            before, after = model.predict(np.array(pair))
            assert before > after


def test_a_tree_of_a_sum_counts_by_the_share_that_it_has_of_its_forest():
    X = np.arange(10.0)[:, None]
    forest = ObliqueForestRegressor(2, max_depth=1, init="info_gain", optimizer=None)
    model = ObliqueBoostingRegressor(forest, random_state=0).fit(X, X[:, 0])
    model.estimators_ = [clone(forest).set_params(n_estimators=n).fit(X, X[:, 0]) for n in (1, 2)]
    # The only tree of a forest falls by 1, and one of two rises: the sum, by half of that.
    trees = [tree for each in model.estimators_ for tree in each.estimators_]
    for rise, expected in ((1.5, False), (2.5, None)):
        for tree, high in zip(trees, (-1.0, rise, 0.0), strict=True):
            tree.tree_ = Tree([[1.0]], [4.5], [~0], [~1], [[0.0], [high]])
        assert is_monotone(model, [1])[0] is expected


def test_a_warm_start_cannot_order_the_trees_that_there_are():
    X, y = diabetes()
    forest = ObliqueForestRegressor(
        2, monotonic_cst={"bmi": 1, "bp": 1}, optimizer=None, max_depth=3, random_state=0,
        warm_start=True).fit(X, y)
    before = list(forest)
    for cst in ({"bmi": -1}, {"bmi": 1, "s5": 1}):
        forest.set_params(n_estimators=3, monotonic_cst=cst)
        with pytest.raises(ValueError, match="monotonic_cst must be that of the previous fit"):
            forest.fit(X, y)
        assert list(forest) == before
    forest.set_params(monotonic_cst={"bmi": 1}).fit(X, y)   # asks for less
    assert_monotone(forest, X, forest.predict)
    assert len(forest.set_params(n_estimators=4, monotonic_cst=None).fit(X, y)) == 4


def test_forests_keep_the_parameter_and_refuse_what_does_not_fit(tmp_path):
    X, y = diabetes()
    forest = ObliqueForestRegressor(
        2, monotonic_cst=DIABETES, optimizer="tao", max_depth=3, random_state=0, warm_start=True)
    forest.fit(X, y).set_params(n_estimators=4).fit(X, y)
    assert_monotone(forest, X, forest.predict)
    assert is_monotone(forest[3].tree_, forest[3].encoded_monotonic_cst_) == (True, None)
    ngdt.save(forest, tmp_path / "forest.ngdt")
    loaded = ngdt.load(tmp_path / "forest.ngdt")
    assert loaded.monotonic_cst == DIABETES == loaded[0].monotonic_cst
    np.testing.assert_array_equal(loaded.predict(X), forest.predict(X))
    with pytest.raises(ValueError, match="the trained tree have slopes of their own"):
        clone(forest).set_params(optimizer=Annealed(leaf="linear")).fit(X, y)
    with pytest.raises(ValueError, match=r"for one target, or .*, but y has more"):
        clone(forest).fit(X, np.column_stack([y, y]))


@pytest.mark.parametrize("model", [
    ObliqueTreeRegressor(5, leaf="constant", optimizer="tao", validation_fraction=None),
    ObliqueForestRegressor(10, init="info_gain", optimizer=None, random_state=0)], ids=str)
def test_free_estimators_are_refuted_by_rows(model):
    X, y = diabetes()
    model.fit(X, y)
    with pytest.raises(ValueError, match="monotonic_cst must be given, since that of the estim"):
        is_monotone(model)
    for cst in (DIABETES, model.set_params(monotonic_cst=DIABETES).encoded_monotonic_cst_, None):
        proved, pair = is_monotone(model, cst)
        assert proved is False
        low, high = pair
        assert ((high - low) * model.encoded_monotonic_cst_ >= 0.0).all()
        assert set(X.columns[low != high]) <= DIABETES.keys()
        before, after = model.predict(pd.DataFrame(pair, columns=X.columns))
        assert before > after


def test_the_mean_is_refuted_where_one_tree_falls():
    X, y = diabetes()
    forest = ObliqueForestRegressor(
        6, monotonic_cst=DIABETES, optimizer="tao", max_depth=3, random_state=0).fit(X, y)
    free = ObliqueForestRegressor(1, optimizer="tao", leaf="constant", random_state=1).fit(X, y)
    forest.estimators_[3] = free[0]
    # The sample that the tree falls at is a pair of the mean only where no other tree rises.
    proved, pair = is_monotone(forest)
    assert proved is False
    before, after = forest.predict(pd.DataFrame(pair, columns=X.columns))
    assert before > after


@pytest.mark.parametrize("model", [
    ObliqueTreeClassifier(3, leaf="constant", optimizer="tao", random_state=0),
    ObliqueForestClassifier(5, max_depth=3, init="info_gain", optimizer=None, random_state=0)],
    ids=str)
def test_a_class_is_chosen_by_its_index(model):
    X, y = load_iris(return_X_y=True)
    model.fit(X, y)
    with pytest.raises(ValueError, match=r"output must be one of .*, 0\.\.2"):
        is_monotone(model, [1, 1, 1, 1])
    found = []
    for output in range(3):
        for sign in (1, -1):
            proved, pair = is_monotone(model, [0, 0, sign, sign], output=output)
            found.append(proved)
            if pair is not None:
                before, after = model.predict_proba(np.array(pair))[:, output]
                assert before > after
    # The first class has small petals, the last large ones; that of neither ranks in between.
    assert found[2:4] == [False, False]
    assert found[0] is found[5] is False


def a_table():
    """A table of numbers, bools and categories, and targets that fall with the size in Oslo."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame({
        "city": random.choice(["Rome", "Oslo", "Lima"], 400), "size": random.normal(size=400),
        "sex": random.choice(["f", "m"], 400), "age": random.normal(size=400),
        "own": random.random(400) < 0.5})
    frame.loc[::7, "size"] = np.nan
    y = np.where(frame["city"] == "Oslo", -1.0, 1.0) * (
        frame["size"].fillna(3.0) + frame["age"]) + (frame["sex"] == "m") - frame["own"]
    return frame, y


def row_of(model, sample):
    """The row of a table that a sample encodes."""
    of = dict(zip(model.encoded_feature_names_, sample, strict=True))
    assert sorted(of[f"city = {name}"] for name in ("Rome", "Oslo", "Lima")) == [0.0, 0.0, 1.0]
    assert of["sex = m"] in (0.0, 1.0)
    assert of["own"] in (0.0, 1.0)
    assert of["size is missing"] == 0.0
    (city,) = (name for name in ("Rome", "Oslo", "Lima") if of[f"city = {name}"])
    return {"city": city, "size": of["size"], "sex": "m" if of["sex = m"] else "f",
            "age": of["age"], "own": bool(of["own"])}


@pytest.mark.parametrize("optimizer", [None, "tao"])
def test_rows_that_refute_have_one_category_in_each_column(optimizer):
    model = ObliqueTreeRegressor(
        6, leaf="constant", optimizer=optimizer, random_state=0).fit(*a_table())
    for cst in ({"size": 1, "age": 1}, {"own": 1}, {"size": -1, "own": 1}):
        proved, pair = is_monotone(model, cst)
        assert proved is False
        low, high = (row_of(model, each) for each in pair)
        assert all(low[name] == high[name] for name in low.keys() - cst.keys())
        assert all((high[name] >= low[name]) if sign > 0 else (high[name] <= low[name])
                   for name, sign in cst.items())
        before, after = model.predict(pd.DataFrame([low, high]))
        assert before > after
    with pytest.raises(ValueError, match=r"columns of categories \['city'\], which have no order"):
        is_monotone(model, {"city": 1})


def test_a_sum_of_forests_is_refuted_by_rows():
    frame, y = a_table()
    forest = ObliqueForestRegressor(20, init=RandomOblique(2), optimizer=None)
    model = ObliqueBoostingRegressor(forest, random_state=0).fit(frame, y)
    first, second = model.estimators_
    assert first._table.features != second._table.features      # means of unknown categories
    proved, pair = is_monotone(model, {"size": 1, "age": 1})
    assert proved is False
    before, after = model.predict(pd.DataFrame([row_of(first, each) for each in pair]))
    assert before > after
    # Samples of one encoding are none of another.
    few = clone(first).set_params(oob_score=False, n_estimators=2)
    model.estimators_ = [
        clone(few).fit(each, y) for each in (frame, frame.fillna({"size": 0.0}))]
    assert is_monotone(model, {"size": 1, "age": 1}) == (None, None)


def test_what_no_row_can_show_is_not_refuted():
    """A tree that falls between samples that have half of each category, and nowhere else."""
    frame = pd.DataFrame({"sex": ["f", "m"] * 10, "size": np.arange(20.0)})
    model = ObliqueTreeRegressor(1, leaf="constant", optimizer=None).fit(frame, np.arange(20.0))
    size, sex = (model.encoded_feature_names_.index(name) for name in ("size", "sex = m"))
    weights = np.zeros((3, 2))
    weights[0, sex], weights[1, sex], weights[2, size] = 1.0, 1.0, 1.0
    model.tree_ = Tree(weights, [0.3, 0.6, 10.0], [~0, 2, ~1], [1, ~3, ~2],
                       [[0.0], [2.0], [1.0], [3.0]])
    assert is_monotone(model.tree_, [1, 0])[0] is False
    assert is_monotone(model, {"size": 1}) == (None, None)


def test_proofs_take_fitted_estimators_only():
    X, y = diabetes()
    with pytest.raises(ValueError, match="not fitted"):
        is_monotone(ObliqueTreeRegressor(monotonic_cst=DIABETES))
    pipeline = make_pipeline(StandardScaler(), ObliqueTreeRegressor(leaf="constant")).fit(X, y)
    with pytest.raises(TypeError, match="got Pipeline: pass the last step of a pipeline"):
        is_monotone(pipeline, DIABETES)
    linear = ObliqueTreeRegressor(1, optimizer="linear_leaves", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="tree must have constant leaves"):
        is_monotone(linear, DIABETES)


@given(st.integers(0, 2**16), st.sampled_from(["squared_error", "absolute_error", "log_loss"]))
def test_edited_trees_stay_monotone(seed, loss):
    random = np.random.default_rng(seed)
    X = random.normal(size=(80, 3))
    y = X[:, 0] + random.normal(size=80)
    estimator = ObliqueTreeClassifier if loss == "log_loss" else ObliqueTreeRegressor
    y = (y > 0).astype(int) if loss == "log_loss" else y
    model = estimator(
        4, monotonic_cst=[1, 1, 0], init=RandomOblique(2, n_nonzero=2), optimizer=None, loss=loss,
        random_state=seed).fit(X, y, random.choice([1.0, 2.0], 80))
    nodes = np.flatnonzero(random.random(model.tree_.n_internal) < 0.4)
    is_leaf = np.isin(np.arange(model.tree_.n_internal), nodes)
    of_forest = described_in_order(model, collapse(model.tree_, is_leaf))["tree_"]
    refitted = refit_leaves(model, X[:30], random.permutation(y)[:30])
    for edited in (prune_at(model, nodes).tree_, of_forest, refitted.tree_):
        assert is_monotone(edited, [1, 1, 0]) == (True, None)
