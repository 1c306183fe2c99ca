"""Forests: their predictions, and trees that depend on the seed only."""

import pickle
from copy import deepcopy
from itertools import product

import joblib
import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import cross_val_score

from helpers import in_nightly
from ngdt import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
)
from ngdt.export import export_text
from ngdt.initializers import RandomOblique
from ngdt.losses import HuberLoss, QuantileLoss
from ngdt.optimizers import SSGD, TAO, Annealed, LinearLeaves

BOTH = pytest.mark.parametrize("forest", [ObliqueForestClassifier, ObliqueForestRegressor])
QUICK = {"max_depth": 3, "optimizer": Annealed(steps=60), "random_state": 0}


def greedy(forest, n_trees=4, **parameters):
    """A forest that is trained in no time."""
    return forest(n_trees, **{
        "max_depth": 4, "optimizer": None, "random_state": 0, **parameters})


def trees_of(model):
    return [estimator.tree_ for estimator in model.estimators_]


# --- predictions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", [
    {}, {"max_features": 0.5, "n_jobs": 3}, {"bootstrap": False, "max_samples": 50},
    {"optimizer": TAO(max_iter=2), "n_jobs": 3}, {"loss": "bounded"},
    {"leaf": LinearLeaves(penalty=10.0), "optimizer": None, "max_features": 0.5}], ids=str)
def test_probabilities_are_the_mean_of_those_of_the_trees(parameters, digits):
    X, y = digits
    labels = np.array([f"digit {label}" for label in y])
    model = ObliqueForestClassifier(3, **QUICK | parameters).fit(X[::2], labels[::2])
    mean = np.mean([tree.predict_proba(X) for tree in model.estimators_], axis=0)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba, mean, rtol=1e-12)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict_log_proba(X), np.log(proba))
    np.testing.assert_array_equal(model.predict(X), model.classes_[proba.argmax(axis=1)])
    assert model.score(X, labels) > max(tree.score(X, labels) for tree in model.estimators_) - 0.1


@pytest.mark.parametrize(("parameters", "n_targets"), [
    ({}, 1), ({"leaf": "linear"}, 1), ({"leaf": "linear"}, 2),
    ({"leaf": "linear", "max_features": 0.4}, 1), ({"optimizer": "tao"}, 2),
    ({"optimizer": [SSGD(epochs=3)], "loss": HuberLoss()}, 2),
    ({"leaf": LinearLeaves(features=[2, 3, 8]), "optimizer": None, "max_features": 3}, 1),
    *in_nightly([
        ({}, 2), ({"leaf": "linear", "max_features": 0.4}, 2), ({"optimizer": "tao"}, 1),
        ({"optimizer": [SSGD(epochs=3)], "loss": HuberLoss()}, 1),
        ({"leaf": LinearLeaves(features=[2, 3, 8]), "optimizer": None, "max_features": 3}, 2)]),
], ids=str)
def test_values_are_the_mean_of_those_of_the_trees(parameters, n_targets, diabetes):
    X, y = diabetes
    y = y if n_targets == 1 else np.column_stack([y, 1e-3 * X[:, 2]])
    if "max_features" in parameters:
        X = np.column_stack([X, X[:, 0] > 0])
    model = ObliqueForestRegressor(3, **QUICK | parameters).fit(X, y)
    mean = np.mean([tree.predict(X) for tree in model.estimators_], axis=0)
    np.testing.assert_allclose(model.predict(X), mean, rtol=1e-10, atol=1e-12)
    assert model.predict(X).shape == y.shape
    assert model.n_outputs_ == n_targets
    assert model.score(X, y) > 0.2


@pytest.mark.parametrize(("loss", "optimizer"), [
    *product(["squared_error", "huber", "absolute_error", QuantileLoss(0.9), "poisson"], [None]),
    ("quantile", "tao"), ("poisson", "annealed"), *in_nightly(
        product(["squared_error", "huber", "absolute_error", QuantileLoss(0.9)],
                ["tao", "annealed"]))],
    ids=str)
@pytest.mark.filterwarnings("ignore:.*no out-of-bag prediction")
def test_all_losses(loss, optimizer, diabetes):
    X, y = diabetes[0][:150], diabetes[1][:150]
    model = ObliqueForestRegressor(
        5, max_depth=2, loss=loss, optimizer=optimizer, oob_score=True, random_state=0).fit(X, y)
    mean = np.mean([tree.predict(X) for tree in model.estimators_], axis=0)
    np.testing.assert_allclose(model.predict(X), mean, rtol=1e-10)
    quantile = getattr(loss, "quantile", 0.5)
    assert np.average(y <= mean) == pytest.approx(quantile, abs=0.2)
    known = np.isfinite(model.oob_prediction_)
    assert y.min() <= model.oob_prediction_[known].min()
    assert model.oob_prediction_[known].max() <= y.max()


@BOTH
def test_a_forest_is_a_sequence_of_its_estimators(forest, iris):
    model = greedy(forest).fit(*iris)
    assert len(model) == 4
    assert list(model) == model.estimators_
    assert model[-1] is model.estimators_[3]
    assert model[1:3] == model.estimators_[1:3]


@BOTH
def test_leaves_and_paths(forest, iris):
    X, y = iris
    model = greedy(forest).fit(X, y)
    leaves = model.apply(X)
    assert leaves.shape == (150, 4)
    indicator, ends = model.decision_path(X)
    assert ends[-1] == indicator.shape[1]
    for t, tree in enumerate(model.estimators_):
        np.testing.assert_array_equal(leaves[:, t], tree.apply(X))
        own = indicator[:, ends[t]:ends[t + 1]]
        assert (own != tree.decision_path(X)).nnz == 0


def test_many_samples_are_predicted_by_threads(iris):
    X, y = iris
    X, y = np.tile(X, (20, 1)), np.tile(y, 20)
    model = greedy(ObliqueForestClassifier).fit(X, y)
    one = model.predict_proba(X)
    many = model.set_params(n_jobs=3)
    np.testing.assert_array_equal(many.predict_proba(X), one)
    np.testing.assert_array_equal(many.apply(X), np.transpose([t.apply(X) for t in trees_of(many)]))


@BOTH
def test_predictions_follow_changes_of_the_trees(forest, iris):
    X, y = iris
    model = greedy(forest).fit(X, y)
    before = model.predict(X[:1]), model.apply(X)
    model.estimators_ = model.estimators_[1:3]
    np.testing.assert_array_equal(model.apply(X), before[1][:, 1:3])
    model.estimators_[0] = model.estimators_[1]
    np.testing.assert_array_equal(model.apply(X), before[1][:, [2, 2]])


# --- the trees -----------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("given", [
    {}, {"max_features": "sqrt", "max_samples": 0.5}, {"optimizer": "tao"},
    {"init": RandomOblique(n_candidates=5), "optimizer": None}], ids=str)
def test_threads_train_the_same_trees(forest, given, iris):
    X, y = iris
    parameters = QUICK | given

    def fit(n_jobs):
        return trees_of(forest(3, n_jobs=n_jobs, **parameters).fit(X, y))

    alone = fit(1)
    assert fit(2) == alone
    for backend in () if "optimizer" in given else ("threading", "sequential"):
        with parallel_config(backend, n_jobs=2):
            assert fit(None) == alone
    assert all(tree != alone[0] for tree in alone[1:])


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_processes_train_the_same_trees(iris):
    """One test: each process that runs tests would start processes of its own."""
    # Those of loky would import all of ngdt first, those that are forked have it.
    backend = "loky" if in_nightly([True]) else "multiprocessing"
    table = pd.DataFrame({"name": [f"n{i % 40}" * 70 for i in range(200)], "x": range(200)})
    y = np.arange(200) // 7 % 3
    for forest, parameters in (
            (ObliqueForestClassifier, {"max_features": "sqrt", "max_samples": 0.5}),
            (ObliqueForestClassifier, QUICK),
            (ObliqueForestRegressor, {"optimizer": TAO(max_iter=2)}),
            (ObliqueForestRegressor, {"init": RandomOblique(n_candidates=5)})):
        alone, together = greedy(forest, **parameters), greedy(forest, **parameters)
        alone.fit(table, y)
        with parallel_config(backend, n_jobs=2):
            assert joblib.effective_n_jobs(None) == 2
            together.fit(table, y)
        assert trees_of(together) == trees_of(alone)
        # Arrays from a process have data types of their own. The names of the features are 20 times
        # as large.
        assert together.get_nbytes() == pytest.approx(alone.get_nbytes(), abs=4 * 700)
    model = ObliqueForestClassifier(3, n_jobs=2, **QUICK)
    with parallel_config(backend):
        scores = cross_val_score(model, *iris, cv=3, n_jobs=2)
    assert scores.mean() > 0.85
    assert cross_val_score(model, *iris, cv=3).tolist() == scores.tolist()


def test_all_trees_read_the_same_samples(spy, digits):
    X, y = digits
    model = ObliqueForestClassifier(3, init="info_gain", optimizer=spy).fit(X, y)
    one, *others = spy.seen
    assert one.X is X
    for other in others:
        assert other.X is X
        assert other.data is one.data
        assert other.scaling is one.scaling
        assert other.y is one.y
        assert (other.sample_weight != one.sample_weight).any()
    assert [each.random_state for each in spy.seen] == [
        tree.random_state for tree in model.estimators_]
    assert {each.sample_weight.sum() for each in spy.seen} == {len(y)}


@BOTH
def test_samples_of_weight_zero_do_not_exist(forest, diabetes):
    X, y = diabetes
    y = np.digitize(y, [100, 200]) if forest is ObliqueForestClassifier else y
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    used = weight > 0
    X_changed, y_changed = X.copy(), y.copy()
    X_changed[~used] = 1e6
    y_changed[~used] = y[used][0]
    model = greedy(forest, 15, init=RandomOblique(3), max_features=0.6, oob_score=True)
    with_them = clone(model).fit(X_changed, y_changed, weight)
    without = clone(model).fit(X[used], y[used], weight[used])
    for one, other in zip(trees_of(with_them), trees_of(without), strict=True):
        np.testing.assert_allclose(one.predict(X), other.predict(X))
    assert with_them.oob_score_ == pytest.approx(without.oob_score_)


def test_trees_weigh_the_columns_that_they_drew(digits):
    X, y = digits
    model = greedy(ObliqueForestClassifier, 10, max_features=5, max_depth=None).fit(X, y)
    used = [np.unique(tree.weights.nonzero()[1]) for tree in trees_of(model)]
    assert max(map(len, used)) <= 5
    assert len(np.unique(np.concatenate(used))) > 15
    assert {tree.n_features for tree in trees_of(model)} == {64}


@BOTH
def test_trees_are_estimators(forest, iris):
    X, y = iris
    model = forest(3, **QUICK, max_features=0.5).fit(X, y)
    kind = (ObliqueTreeClassifier if forest is ObliqueForestClassifier else ObliqueTreeRegressor)
    assert {type(tree) for tree in model.estimators_} == {kind}
    for tree in model.estimators_:
        assert vars(tree).keys() >= vars(kind(1, optimizer=None).fit(X, y)).keys()
        assert tree.n_features_in_ == 4
        assert tree.get_n_leaves() <= 8
        assert tree.history_["optimizer"] == ["Annealed"] * tree.n_iter_
        assert tree.n_node_samples_[0] < 150      # drawn at least once
        assert tree.feature_importances_.sum() == pytest.approx(1.0)
    text = export_text(model.estimators_[0])
    assert "x" in text
    # It can be trained again, on all samples.
    again = clone(model.estimators_[0]).fit(X, y)
    assert again.score(X, y) > 0.5


@BOTH
def test_importances_are_means(forest, iris):
    model = greedy(forest, max_features=2).fit(*iris)
    mean = np.mean([tree.feature_importances_ for tree in model.estimators_], axis=0)
    np.testing.assert_allclose(model.feature_importances_, mean / mean.sum())
    assert greedy(forest, max_depth=0).fit(*iris).feature_importances_.tolist() == [0.0] * 4


@BOTH
def test_limits_hold_for_each_tree(forest, iris):
    model = forest(3, min_samples_leaf=12, max_leaf_nodes=3, **QUICK).fit(*iris)
    for tree in model.estimators_:
        assert tree.get_n_leaves() <= 3
        assert tree.n_node_samples_.min() >= 12


# --- out of bag ----------------------------------------------------------------------------------


def left_out_predictions(trees, X, draws):
    """Mean predictions of the trees for the samples that they did not draw, one by one.

    Each tree has the number of samples that it draws, and whether it does so with replacement.
    """
    totals, n_trees = 0.0, np.zeros(len(X))
    for tree, (n_drawn, replace) in zip(trees, draws, strict=True):
        drawn = np.random.default_rng([tree.random_state, 0]).choice(
            len(X), n_drawn, replace=replace)
        assert tree.n_node_samples_[0] == len(np.unique(drawn))
        is_outside = ~np.isin(np.arange(len(X)), drawn)
        predictions = getattr(tree, "predict_proba", tree.predict)(X)
        totals = totals + (predictions.T * is_outside).T
        n_trees += is_outside
    return (totals.T / n_trees).T


def predictions_out_of_bag(model):
    return getattr(model, "oob_prediction_", getattr(model, "oob_decision_function_", None))


@BOTH
@pytest.mark.parametrize("parameters", [
    {}, {"bootstrap": False, "max_samples": 0.5}, {"max_features": 2}], ids=str)
def test_out_of_bag_predictions(forest, parameters, iris):
    X, y = iris
    is_classifier = forest is ObliqueForestClassifier
    weight = np.linspace(0.5, 2.0, 150)
    model = greedy(forest, 18, oob_score=True, **parameters).fit(X, y, weight)
    draw = (75, False) if "max_samples" in parameters else (150, True)
    expected = left_out_predictions(model.estimators_, X, [draw] * 18)
    np.testing.assert_allclose(predictions_out_of_bag(model), expected)
    score = accuracy_score(y, expected.argmax(axis=1), sample_weight=weight) if (
        is_classifier) else r2_score(y, expected, sample_weight=weight)
    assert model.oob_score_ == pytest.approx(score)
    assert 0.8 < model.oob_score_ < 1.0


@BOTH
def test_a_metric_scores_out_of_bag(forest, iris):
    X, y = iris
    model = greedy(forest, 25, oob_score=lambda true, predicted: (true - predicted).tolist())
    errors = model.fit(X, y).oob_score_
    assert len(errors) == 150


@BOTH
def test_samples_in_every_bag(forest, iris):
    X, y = iris
    with pytest.warns(UserWarning, match="drawn for every tree") as caught:
        model = greedy(forest, 1, oob_score=True).fit(X, y)
    assert caught[0].filename == __file__
    predictions = (
        model.oob_decision_function_[:, 0] if forest is ObliqueForestClassifier
        else model.oob_prediction_)
    assert 0.25 < np.isfinite(predictions).mean() < 0.5
    assert np.isfinite(model.oob_score_)


def test_out_of_bag_score_of_targets_of_any_size(iris):
    X, y = iris
    model = greedy(ObliqueForestRegressor, 25, oob_score=True)
    score = model.fit(X, y).oob_score_
    for size in (1e-300, 1e200, 1e300):
        assert model.fit(X, size * y).oob_score_ == pytest.approx(score)


def test_targets_whose_sum_over_the_trees_overflows():
    model = greedy(ObliqueForestRegressor, 4)
    X, y = [[0.0], [1.0]], np.array([0.0, -4e307])
    assert np.isfinite(model.fit(X, y).predict(X)).all()
    with pytest.raises(ValueError, match=r"y has numbers up to 8e\+307, whose sum over 4 trees"):
        model.fit(X, 2.0 * y)


@BOTH
@pytest.mark.filterwarnings("ignore:100% of the samples have no out-of-bag prediction")
def test_one_sample_in_every_bag(forest):
    for score in (True, lambda true, predicted: 1 / len(true)):
        model = greedy(forest, 2, oob_score=score).fit([[1.0]], [3])
        assert np.isnan(model.oob_score_)
        assert model.predict([[1.0]]) == 3


def test_out_of_bag_predictions_of_several_targets(iris):
    X, y = iris
    model = greedy(ObliqueForestRegressor, 25, oob_score=True).fit(X, np.column_stack([y, X[:, 0]]))
    assert model.oob_prediction_.shape == (150, 2)


@BOTH
def test_out_of_bag_attributes_are_those_of_the_last_fit(forest, iris):
    X, y = iris
    model = greedy(forest, 25, oob_score=True).fit(X, y)
    assert any(name.startswith("oob_") and name.endswith("_") for name in vars(model))
    with pytest.raises(ValueError, match="negative"):
        model.fit(X, y, -np.ones(150))
    assert hasattr(model, "oob_score_")     # it is as it was
    model.set_params(oob_score=False).fit(X[:100], y[:100])
    assert not any(name.startswith("oob_") and name.endswith("_") for name in vars(model))


# --- more trees ----------------------------------------------------------------------------------


@BOTH
def test_warm_start_adds_the_trees_of_a_larger_forest(forest, iris):
    X, y = iris
    model = forest(2, warm_start=True, oob_score=True, max_features=3, **QUICK)
    with pytest.warns(UserWarning, match="drawn for every tree"):
        first = list(model.fit(X, y).estimators_)
    model.set_params(n_estimators=12).fit(X, y)
    assert model.estimators_[:2] == first
    whole = forest(12, oob_score=True, max_features=3, **QUICK).fit(X, y)
    assert trees_of(model) == trees_of(whole)
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))
    np.testing.assert_array_equal(model.feature_importances_, whole.feature_importances_)
    assert model.oob_score_ == whole.oob_score_


@pytest.mark.parametrize(("forest", "first", "then"), [
    (ObliqueForestClassifier, {"bootstrap": False}, {"bootstrap": True}),
    (ObliqueForestRegressor, {"bootstrap": False}, {"bootstrap": True}),
    (ObliqueForestRegressor, {}, {"max_samples": 0.2}),
    (ObliqueForestClassifier, {"bootstrap": False, "max_samples": 0.9}, {"max_samples": 20})],
    ids=str)
def test_out_of_bag_after_a_warm_start_with_other_draws(forest, first, then, iris):
    """Each tree is left out for the samples that it was trained on itself."""
    draws = {0.9: (135, False), 0.2: (30, True), 20: (20, False), None: (150, True)}
    model = greedy(forest, 6, **first).fit(*iris)
    model.set_params(warm_start=True, oob_score=True, n_estimators=30, **then).fit(*iris)
    n_old = 6 if first.get("bootstrap", True) or "max_samples" in first else 0
    expected = left_out_predictions(
        model.estimators_[6 - n_old:], iris[0],
        [draws[first.get("max_samples")]] * n_old + [draws[then.get("max_samples")]] * 24)
    np.testing.assert_allclose(predictions_out_of_bag(model), expected)


@BOTH
def test_out_of_bag_after_a_warm_start_with_other_samples(forest, iris):
    """Draws of the first trees from other samples say nothing of these samples."""
    X, y = iris[0][::2], iris[1][::2]
    model = greedy(forest, 15, warm_start=True, oob_score=True).fit(*iris)
    model.set_params(n_estimators=40).fit(X, y)
    expected = left_out_predictions(model.estimators_[15:], X, [(75, True)] * 25)
    np.testing.assert_allclose(predictions_out_of_bag(model), expected)


def test_warm_start_with_no_more_trees(iris):
    model = greedy(ObliqueForestClassifier, warm_start=True).fit(*iris)
    trees = trees_of(model)
    with pytest.warns(UserWarning, match="Nothing was trained") as caught:
        model.fit(*iris)
    assert caught[0].filename == __file__
    assert trees_of(model) == trees
    with pytest.raises(ValueError, match="n_estimators=3 must be at least the 4 trees"):
        model.set_params(n_estimators=3).fit(*iris)
    assert trees_of(model) == trees
    assert len(model.set_params(warm_start=False).fit(*iris).estimators_) == 3


# --- weights of classes --------------------------------------------------------------------------


def test_class_weights_are_sample_weights(spy, iris):
    X, y = iris
    X, y = X[20:], y[20:]
    by_class = {0: 3.0, 1: 1.0, 2: 0.5}
    common = {"init": "info_gain", "optimizer": spy, "random_state": 0}
    ObliqueForestClassifier(2, class_weight=by_class, **common).fit(X, y)
    ObliqueForestClassifier(2, **common).fit(X, y, [by_class[label] for label in y])
    ObliqueForestClassifier(2, class_weight="balanced_subsample", **common).fit(X, y)
    weights = [problem.sample_weight for problem in spy.seen]
    np.testing.assert_allclose(weights[:2], weights[2:4])
    for weight in weights[4:]:
        totals = np.bincount(y, weights=weight)
        np.testing.assert_allclose(totals, totals[0])
    assert not np.allclose(weights[4], weights[5])


def test_a_tree_may_miss_a_class():
    X, y = np.arange(40.0)[:, None], np.repeat([0, 1], [39, 1])
    model = greedy(ObliqueForestClassifier, 10, oob_score=True).fit(X, y)
    assert model.predict_proba(X).shape == (40, 2)
    assert min(tree.get_n_leaves() for tree in model.estimators_) == 1


# --- tables --------------------------------------------------------------------------------------


@BOTH
def test_data_frames(forest):
    random = np.random.default_rng(0)
    table = pd.DataFrame({
        "age": random.integers(18, 80, 200).astype(float), "income": random.normal(size=200),
        "city": random.choice(["Rome", "Oslo", "Lima"], 200)})
    table.loc[::7, "age"] = np.nan
    table.loc[::9, "city"] = None
    y = ((table["city"] == "Oslo") | (table["age"].isna())).astype(int)
    model = forest(8, max_features=2, **QUICK).fit(table, y)
    assert model.n_features_in_ == 3
    assert model.feature_names_in_.tolist() == list(table.columns)
    assert len(model.encoded_feature_names_) == 7
    assert model.feature_importances_.shape == (3,)
    assert model.score(table, y) > 0.7
    assert model.encode(table).shape == (200, 7)
    for tree in model.estimators_:
        assert np.count_nonzero(tree.feature_importances_) <= 2
        assert tree.predict(table).shape == (200,)
    mean = np.mean([tree.predict(table) for tree in model.estimators_], axis=0)
    if forest is ObliqueForestRegressor:
        np.testing.assert_allclose(model.predict(table), mean)


@BOTH
@pytest.mark.parametrize("parameters", [
    {"optimizer": None}, {"max_features": 20}, {"optimizer": "tao", "max_features": 0.5}], ids=str)
def test_sparse_samples(forest, parameters, digits):
    X, y = digits
    # Sparse samples are not centred: let the dense ones have the same scale.
    parameters = QUICK | {"standardize": False} | parameters
    dense, of_sparse = (
        forest(3, **parameters).fit(form(X[:300]), y[:300]) for form in (np.asarray,
                                                                         sparse.csr_array))
    same = np.isclose(of_sparse.predict(sparse.csr_array(X)), of_sparse.predict(X))
    assert same.all()
    if parameters["optimizer"] is None:
        assert trees_of(dense) == trees_of(of_sparse)


# --- as every estimator --------------------------------------------------------------------------


@BOTH
def test_pickles_are_not_larger_than_their_trees(forest, digits):
    X, y = digits
    model = forest(5, **QUICK).fit(X, y)
    model.predict(X)
    stored = pickle.dumps(model)
    trees = sum(len(pickle.dumps(tree)) for tree in model.estimators_)
    assert len(stored) < trees
    for copy in (pickle.loads(stored), deepcopy(model)):
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
        assert trees_of(copy) == trees_of(model)
        assert export_text(copy.estimators_[0]) == export_text(model.estimators_[0])


@BOTH
def test_trees_have_what_is_the_same_for_all_in_common(forest, digits):
    trees = greedy(forest, 3, init="info_gain").fit(*digits).estimators_
    for name in ("_table", "_targets", "encoded_feature_names_", "init"):
        assert len({id(getattr(tree, name)) for tree in trees}) == 1
    for name in ("std", "low", "high"):
        assert len({id(getattr(tree._sample_summary, name)) for tree in trees}) == 1


@BOTH
def test_weights_are_sparse_where_that_saves_half_of_the_tree(forest, digits):
    X, y = digits
    few = greedy(forest, init="info_gain").fit(X, y)
    assert all(tree.is_sparse for tree in trees_of(few))
    many = greedy(forest, init=RandomOblique(4, n_nonzero=40)).fit(X, y)
    assert not any(tree.is_sparse for tree in trees_of(many))


@BOTH
def test_the_default_with_another_initial_tree(forest, iris):
    model = forest(1, max_depth=2, init="random_oblique", random_state=0).fit(*iris)
    name = "Annealed" if forest is ObliqueForestClassifier else "TAO"
    assert set(model.estimators_[0].history_["optimizer"]) == {name}


@BOTH
@pytest.mark.parametrize(("parameters", "error", "message"), [
    ({"n_estimators": 0}, ValueError, "'n_estimators' parameter"),
    ({"max_samples": 0}, ValueError, "'max_samples' parameter"),
    ({"max_samples": 1.5}, ValueError, "'max_samples' parameter"),
    ({"max_samples": 151, "bootstrap": False}, ValueError, "max_samples=151 is more than 150, the"),
    ({"max_samples": 10**30, "bootstrap": True}, ValueError, r"10+ is more than 10000000, the"),
    ({"max_samples": 2**31, "bootstrap": True}, ValueError, "8 is more than 10000000, the most"),
    ({"oob_score": int, "n_estimators": 40, "optimizer": None}, TypeError,
     r"^oob_score, a function of y_true and y_pred, failed: only"),
    ({"max_features": 5}, ValueError, "max_features=5 is more than the 4 features"),
    ({"max_features": "every"}, ValueError, "'max_features' parameter"),
    ({"bootstrap": 2}, ValueError, "'bootstrap' parameter"),
    ({"oob_score": True, "bootstrap": False}, ValueError, "oob_score needs .* use bootstrap=True"),
    ({"oob_score": "yes"}, ValueError, "'oob_score' parameter"),
    ({"optimizer": "anneal"}, ValueError, "Did you mean 'annealed'"),
    ({"optimizer": Annealed}, TypeError, "or an Optimizer object"),
    ({"optimizer": Annealed(steps=0)}, ValueError, "'steps' parameter"),
    ({"loss": "nothing"}, ValueError, "loss"),
    ({"max_time": 0}, ValueError, "'max_time' parameter"),
])
def test_bad_parameters(forest, parameters, error, message, iris):
    model = forest(**{"n_estimators": 2, **parameters})
    with pytest.raises(error, match=message):
        model.fit(*iris)
    assert [name for name in vars(model) if name.endswith("_")] == []


def test_bad_class_weights(iris):
    with pytest.raises(ValueError, match="'class_weight' parameter"):
        ObliqueForestClassifier(2, class_weight="subsample").fit(*iris)


@BOTH
def test_a_tree_as_initial_tree(forest, iris):
    kind = ObliqueTreeClassifier if forest is ObliqueForestClassifier else ObliqueTreeRegressor
    init = kind(2, optimizer=None).fit(*iris).tree_
    model = forest(3, init=init, optimizer=None, bootstrap=False).fit(*iris)
    for tree in trees_of(model):
        np.testing.assert_allclose(tree.predict(iris[0]), init.predict(iris[0]))
    with pytest.raises(ValueError, match="init is a tree of all features: use max_features=None"):
        forest(3, init=init, optimizer=None, max_features=2).fit(*iris)
    with pytest.raises(ValueError, match="init: the tree is for 4 features"):
        forest(3, init=init, optimizer=None).fit(iris[0][:, :3], iris[1])


def test_what_a_failed_fit_leaves(iris):
    X, y = iris
    model = greedy(ObliqueForestClassifier).fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, np.where(y == 0, np.nan, y))
    assert vars(model) == before
    with pytest.raises(ValueError, match="X has 3 features"):
        model.predict(X[:, :3])
    assert joblib.hash(model.predict(X)) == joblib.hash(model.predict(X.tolist()))
