"""Validation samples that are given apart, on which all choices are made."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import Wrecker, in_nightly
from ngdt import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    Tree,
)
from ngdt._estimators import base
from ngdt._forest import policy, training, trial
from ngdt._methods.linear_leaves import linear_leaves
from ngdt._selection import sample
from ngdt._selection.train import Candidate
from ngdt._training import folds
from ngdt.initializers import InfoGain
from ngdt.losses import PoissonLoss
from ngdt.optimizers import SSGD, TAO, LinearLeaves, Optimizer, OptimizerResult

BOTH = pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueTreeRegressor])


def parts(X, y):
    """Two thirds to train on, and the rest to validate on."""
    random = np.random.default_rng(0)
    is_val = random.random(len(y)) < 1 / 3
    return X[~is_val], y[~is_val], {"X_val": X[is_val], "y_val": y[is_val]}


CANCER, DIABETES = (parts(*(part[:300] for part in load(return_X_y=True)))
                    for load in (load_breast_cancer, load_diabetes))


def data_of(estimator):
    return CANCER if "Classifier" in estimator.__name__ else DIABETES


class Spy(Optimizer):
    """Returns the tree that it is given, and keeps the problems."""

    is_stochastic = True
    winsorizes = False

    def __init__(self):
        self.seen = []

    def _optimize(self, tree, problem):
        self.seen.append(problem)
        return OptimizerResult(tree)


# --- what is chosen is what a choice by hand would be -----------------------------------------


@cache
def best_size():
    """The subtree of a greedy tree with the least error on the validation samples."""
    X, y, val = DIABETES
    greedy = ObliqueTreeRegressor(init="info_gain", optimizer=None, min_samples_leaf=6)
    alphas = greedy.cost_complexity_pruning_path(X, y).ccp_alphas
    # From the whole tree to a single leaf; a number between two alphas gives the same subtree.
    between = np.append(np.sqrt(alphas[:-1] * alphas[1:])[1:], 2 * alphas[-1])
    trees = [greedy.set_params(ccp_alpha=alpha).fit(X, y).tree_ for alpha in [0.0, *between]]
    errors = [((tree.predict(val["X_val"])[:, 0] - val["y_val"])**2).sum() for tree in trees]
    best = len(errors) - 1 - np.argmin(errors[::-1])
    assert 1 < trees[best].n_leaves < trees[0].n_leaves
    return trees[best]


@pytest.mark.parametrize("is_moderate", [False, True])
def test_the_size_is_the_one_with_the_least_error(is_moderate, monkeypatch):
    X, y, val = DIABETES
    if is_moderate:     # a number of samples of which ten folds would be made
        monkeypatch.setattr(folds, "MIN_PRUNING_SAMPLES", 100)
    pruned = ObliqueTreeRegressor(
        init="pruned", optimizer=None, min_samples_leaf=6, random_state=0)
    assert pruned.fit(X, y, **val).tree_ == best_size()
    assert pruned.fit(X, y).tree_ != best_size()


@BOTH
def test_groups_change_nothing_where_no_sample_is_held_out(estimator):
    X, y, val = data_of(estimator)
    model = estimator(2, optimizer="tao", random_state=0)
    expected = model.fit(X, y, **val).tree_
    assert model.fit(X, y, groups=np.arange(len(y)) // 9, **val).tree_ == expected


@BOTH
def test_the_winner_may_have_more_loss_on_harder_samples_that_it_is_trained_on(estimator):
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 3))
    score = X[:, 0] + X[:, 1]
    noisy = score + np.where(np.arange(600) < 400, 2.0, 0.1) * random.normal(size=600)
    y = noisy > 0 if estimator is ObliqueTreeClassifier else noisy
    model = estimator(2, optimizer="tao", leaf="constant", random_state=0)
    model.fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
    assert "failed" not in model.candidates_
    assert model.candidates_["candidate"][0] == "tao"
    assert not model.baseline_kept_


@BOTH
def test_the_penalty_is_the_one_with_the_least_loss(estimator):
    is_class = estimator is ObliqueTreeClassifier
    random = np.random.default_rng(0)
    X = random.uniform(size=(300, 8))       # no value is far, which would count as less far
    y = X[:, 0] + X[:, 1] + 0.5 * random.normal(size=300)
    X, y, val = parts(X, (y > 1.0).astype(int) if is_class else y)
    greedy = estimator(2, init="info_gain", optimizer=None, leaf="constant").fit(X, y)
    model = estimator(init=greedy.tree_, optimizer=None, leaf="linear")
    penalties = linear_leaves._CLASS_PENALTIES if is_class else linear_leaves._PENALTIES
    trees, losses = [], []
    for penalty in penalties:
        model.set_params(leaf=LinearLeaves(penalty=penalty)).fit(X, y)
        trees.append(model.tree_)
        losses.append(-model.predict_log_proba(val["X_val"])[
            np.arange(len(val["y_val"])), val["y_val"]].sum() if is_class else (
            (model.predict(val["X_val"]) - val["y_val"])**2).sum())
    best = np.argmin(losses)
    assert 0 < best < len(losses) - 1
    assert model.set_params(leaf="linear").fit(X, y, **val).tree_ == trees[best]


def test_epochs_are_validated_on_them():
    X, y, val = CANCER
    start = ObliqueTreeClassifier(3, optimizer=None).fit(X, y).tree_
    model = ObliqueTreeClassifier(init=start, optimizer=TAO(max_iter=3)).fit(X, y, **val)
    assert model.history_["validation"][-1] == pytest.approx(
        1.0 - model.score(val["X_val"], val["y_val"]), abs=1e-12)


@pytest.mark.parametrize("fraction", ["auto", 0.3, 0, None])
@BOTH
def test_the_default_trains_on_all_of_x_and_compares_on_them(estimator, fraction, monkeypatch):
    X, y, val = data_of(estimator)
    X, y = X[:150], y[:150]
    spy = Spy()
    candidates = [Candidate(name, InfoGain(), (spy,)) for name in ("greedy", "again")]
    candidates.append(Candidate("pruned", "pruned"))
    monkeypatch.setattr(base, "default_candidates", lambda *_: candidates)
    model = estimator(validation_fraction=fraction, random_state=0).fit(X, y, **val)
    table = pd.DataFrame(model.candidates_).set_index("candidate")
    assert table["n_folds"].tolist() == [1] * len(table)
    error = {}
    for name, init in (("greedy", "info_gain"), ("pruned", "pruned")):
        by_hand = estimator(None, init=init, optimizer=None).fit(X, y, **val)
        error[name] = (by_hand.predict(val["X_val"]) != val["y_val"]).mean() if (
            estimator is ObliqueTreeClassifier) else (
            (by_hand.predict(val["X_val"]) - val["y_val"])**2).mean()
    # Those of regression are in units of the standardised targets.
    assert table["error"]["pruned"] / table["error"]["greedy"] == pytest.approx(
        error["pruned"] / error["greedy"])
    assert table["error"]["again"] == table["error"]["greedy"]
    for problem in spy.seen:
        np.testing.assert_array_equal(problem.X[problem.training_samples], X)
        np.testing.assert_array_equal(problem.X[problem.validation_samples], val["X_val"])


@pytest.mark.parametrize("fraction", ["auto", 0.3, None])
@BOTH
def test_a_named_method_trains_on_all_of_x(estimator, fraction):
    X, y, val = data_of(estimator)
    spy = Spy()
    estimator(3, init=ObliqueTreeClassifier(3, optimizer=None).fit(X, y).tree_ if (
        estimator is ObliqueTreeClassifier) else "info_gain", optimizer=spy,
        validation_fraction=fraction).fit(X, y, **val)
    (problem,) = spy.seen
    np.testing.assert_array_equal(problem.X[problem.training_samples], X)
    np.testing.assert_array_equal(problem.X[problem.validation_samples], val["X_val"])


def test_a_worse_tree_loses_on_them():
    X, y, val = CANCER
    model = ObliqueTreeClassifier(4, optimizer=Wrecker()).fit(X, y, **val)
    assert model.baseline_kept_
    pruned = ObliqueTreeClassifier(4, init="pruned", optimizer=None).fit(X, y, **val)
    np.testing.assert_array_equal(model.apply(X), pruned.apply(X))


# --- laws -------------------------------------------------------------------------------------

MODELS = [
    ObliqueTreeClassifier(3, optimizer=[SSGD(epochs=3), "regrow"], random_state=0),
    ObliqueTreeClassifier(random_state=0, max_depth=3, class_weight="balanced"),
    ObliqueTreeRegressor(2, init="info_gain", optimizer=["tao", "shrink_leaves"], random_state=0),
    ObliqueTreeRegressor(init="model_tree", optimizer=None, leaf="linear", random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=range(len(MODELS)))
def test_samples_of_weight_zero_are_absent(model):
    X, y, val = data_of(type(model))
    X, X_val, y_val = X[:, :8], val["X_val"][:, :8], val["y_val"]
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.0], len(y_val))
    there = weight > 0
    one = model.fit(X, y, X_val=X_val, y_val=y_val, sample_weight_val=weight)
    tree, table = one.tree_, one.candidates_
    other = model.fit(X, y, X_val=X_val[there], y_val=y_val[there],
                      sample_weight_val=weight[there])
    assert tree == other.tree_
    pd.testing.assert_frame_equal(pd.DataFrame(table), pd.DataFrame(other.candidates_))


@pytest.mark.parametrize("model", [*MODELS[::2], *in_nightly(MODELS[1::2])])
def test_their_form_and_type_do_not_matter(model):
    X, y, val = data_of(type(model))
    X, y, val = X[:120, :8], y[:120], {"X_val": val["X_val"][:60, :8], "y_val": val["y_val"][:60]}
    tree = model.fit(X, y, **val).tree_
    for form in (np.asfortranarray, pd.DataFrame, sparse.csr_array, sparse.csc_matrix):
        given = pd.DataFrame(X) if form is pd.DataFrame else X
        assert model.fit(given, y, X_val=form(val["X_val"]), y_val=val["y_val"]).tree_ == tree
    X = X.astype(np.float32)
    tree = model.fit(X, y, X_val=val["X_val"].astype(np.float32), y_val=val["y_val"]).tree_
    assert model.fit(X, y, **val).tree_ == tree


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_samples(form):
    X, y, val = CANCER
    model = ObliqueTreeClassifier(3, optimizer=SSGD(epochs=3), random_state=0)
    tree = model.fit(form(X), y, X_val=form(val["X_val"]), y_val=val["y_val"]).tree_
    assert model.fit(form(X), y, **val).tree_ == tree


@pytest.mark.parametrize("least", [1, 3])
@pytest.mark.parametrize("optimizer", [None, SSGD(epochs=2)])
def test_limits_and_counts_are_those_of_x(optimizer, least):
    random = np.random.default_rng(0)
    X, X_val = random.normal(size=(30, 2)), 5.0 * random.normal(size=(200, 2))
    y, y_val = (each[:, 0] + each[:, 1] > 0 for each in (X, X_val))
    # Validation samples alone reach many of its leaves.
    start = ObliqueTreeClassifier(None, init="info_gain", optimizer=None).fit(X_val, y_val).tree_
    model = ObliqueTreeClassifier(init=start, optimizer=optimizer, random_state=0,
                                  min_samples_leaf=least).fit(X, y, X_val=X_val, y_val=y_val)
    counts = np.bincount(model.apply(X), minlength=model.get_n_leaves())
    assert counts.min() >= least
    assert model.n_node_samples_[model.tree_.n_internal:].tolist() == counts.tolist()


def test_one_class_is_enough():
    X, y, val = CANCER
    ones = val["y_val"] == 1
    model = ObliqueTreeClassifier(max_depth=2, random_state=0).fit(
        X, y, X_val=val["X_val"][ones], y_val=val["y_val"][ones])
    assert model.candidates_["n_folds"].count(1) == len(model.candidates_["n_folds"])


def test_classes_weigh_as_much_as_in_x():
    X, y, val = CANCER
    spy = Spy()
    for weight, by_class in (({0: 3.0, 1: 0.5}, [3.0, 0.5]),
                             ("balanced", len(y) / 2 / np.bincount(y)), (None, [1.0, 1.0])):
        ObliqueTreeClassifier(2, init=InfoGain(), optimizer=spy, class_weight=weight).fit(
            X, y, **val)
        problem = spy.seen[-1]
        samples = problem.validation_samples
        np.testing.assert_allclose(
            problem.validation_weight[samples],
            np.array(by_class)[problem.y[samples, 0].astype(int)], rtol=1e-9)


def test_tables_are_encoded_as_x():
    random = np.random.default_rng(0)
    table = pd.DataFrame({
        "size": random.normal(size=200), "colour": random.choice(["red", "blue", "green"], 200),
        "gaps": np.where(random.random(200) < 0.3, np.nan, 1.0)})
    y = ((table["size"] > 0) ^ (table["colour"] == "red")) | table["gaps"].isna()
    X_val = table[:50].copy()
    X_val.loc[:20, "size"] = np.nan     # without gaps in training
    X_val.loc[:1, "colour"] = "black"
    spy = Spy()
    model = ObliqueTreeClassifier(2, init=Tree(
        np.zeros((0, 6)), [], [], [], np.zeros((1, 2))), optimizer=spy).fit(
        table[50:], y[50:], X_val=X_val, y_val=y[:50])
    (problem,) = spy.seen
    np.testing.assert_array_equal(problem.X[problem.validation_samples], model.encode(X_val))
    np.testing.assert_array_equal(problem.X[problem.training_samples], model.encode(table[50:]))


def test_unknown_categories_are_told_to_be_of_x_val():
    table = pd.DataFrame({"colour": ["red", "blue"] * 20})
    y = [0, 1] * 20
    with pytest.warns(UserWarning, match="^X_val: values that did not occur in training"):
        ObliqueTreeClassifier(1, init="info_gain", optimizer=None).fit(
            table, y, X_val=pd.DataFrame({"colour": ["green"] * 10}), y_val=[0] * 10)


def test_a_warm_start_and_limited_time_take_them(monkeypatch):
    X, y, val = CANCER
    model = ObliqueTreeClassifier(3, optimizer=SSGD(epochs=2), random_state=0, warm_start=True)
    model.fit(X, y, **val).fit(X, y, **val)
    assert np.isfinite(model.history_["validation"]).all()
    monkeypatch.setattr(sample, "number_in_time", lambda *_: 100)
    spy = Spy()
    ObliqueTreeClassifier(3, init=model.tree_, optimizer=spy, max_time=60.0).fit(X, y, **val)
    (problem,) = spy.seen
    assert len(problem.training_samples) < 110
    np.testing.assert_array_equal(problem.X[problem.validation_samples], val["X_val"])


def test_pipelines_transform_them():
    X, y, val = CANCER
    tree = ObliqueTreeClassifier(3, optimizer=SSGD(epochs=2), random_state=0)
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler(), tree.set_fit_request(X_val=True, y_val=True),
                             transform_input=["X_val"]).fit(X, y, **val)
    scaler = StandardScaler().fit(X)
    assert pipe[-1].tree_ == tree.fit(scaler.transform(X), y, y_val=val["y_val"],
                                      X_val=scaler.transform(val["X_val"])).tree_


# --- forests ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("few_trial_trees")
@pytest.mark.parametrize("estimator", [ObliqueForestClassifier, ObliqueForestRegressor])
def test_kinds_of_trees_are_compared_on_them(estimator, monkeypatch):
    X, y, val = data_of(estimator)
    X, y = X[:100], y[:100]
    weight = np.arange(1.0, len(val["y_val"]) + 1)
    seen = []

    def spy(errors, outside, sample_weight, *args):
        seen.append((outside, sample_weight))
        return error_models(errors, outside, sample_weight, *args)

    error_models = trial.error_models
    monkeypatch.setattr(trial, "error_models", spy)
    model = estimator(policy.MIN_TREES, random_state=0, oob_score=True, max_samples=0.5)
    model.fit(X, y, **val, sample_weight_val=weight)
    ((outside, sample_weight),) = seen
    assert not outside[:, :len(X)].any()
    assert outside[:, len(X):].all()
    np.testing.assert_array_equal(sample_weight[len(X):], weight)
    for tree, samples in zip(model, model.estimators_samples_, strict=True):
        assert samples.max() < len(X)
        assert tree._n_node_samples[tree.tree_.n_internal:].sum() == len(np.unique(samples))
    name = "oob_decision_function_" if "Class" in estimator.__name__ else "oob_prediction_"
    assert len(getattr(model, name)) == len(X)
    assert isinstance(model._drawn_from, int)


@pytest.mark.usefixtures("few_trial_trees")
def test_trees_of_a_forest_do_not_validate(monkeypatch):
    X, y, val = CANCER
    X, y = X[:100], y[:100]
    seen = []

    def spy(problem, *args):
        seen.append(problem)
        return train(problem, *args)

    train = training.train
    monkeypatch.setattr(training, "train", spy)
    ObliqueForestClassifier(policy.MIN_TREES, max_depth=3, random_state=0).fit(X, y, **val)
    assert len(seen) > policy.MIN_TREES     # and those of the trial
    for problem in seen:
        assert problem.validation_weight is None
        np.testing.assert_array_equal(problem.X[problem.training_samples], X)


def test_a_forest_of_a_named_kind_refuses_them():
    X, y, val = CANCER
    for params in ({"init": "random_oblique"}, {"optimizer": "tao"}):
        with pytest.raises(ValueError, match="X_val decides which kinds of trees a forest has"):
            ObliqueForestClassifier(**params).fit(X, y, **val)


# --- errors -----------------------------------------------------------------------------------

X6, X3 = np.arange(12.0).reshape(6, 2), np.ones((3, 2))


@pytest.mark.parametrize(("given", "message"), [
    ({"X_val": X3}, "X_val and y_val must be given together, but y_val is missing"),
    ({"y_val": [0, 1, 0]}, "X_val and y_val must be given together, but X_val is missing"),
    ({"sample_weight_val": [1.0]}, "X_val and y_val must be given together"),
    ({"X_val": np.ones((3, 4)), "y_val": [0, 1, 0]}, "X_val: X has 4 features, but .* 2 features"),
    ({"X_val": X3, "y_val": [0, 1]}, "y_val has 2 samples, but X_val has 3"),
    ({"X_val": X3, "y_val": [0, 1, 0], "sample_weight_val": [1.0]},
     r"sample_weight_val must have shape \(3,\)"),
    ({"X_val": X3, "y_val": [0, 1, 0], "sample_weight_val": [0, 0, 0]},
     "sample_weight_val must not be zero for every sample"),
    ({"X_val": X3, "y_val": [0, 1, 0], "sample_weight_val": [1, -1, 0]},
     "sample_weight_val must not be negative"),
    ({"X_val": X3 * np.inf, "y_val": [0, 1, 0]}, "X_val: .*infinity"),
    ({"X_val": X3, "y_val": [0, 1, None]}, "y_val"),
    ({"X_val": X3[0], "y_val": [0]}, "X_val: Expected 2D array"),
])
@pytest.mark.parametrize("estimator", [
    ObliqueTreeClassifier, ObliqueTreeRegressor, ObliqueForestClassifier])
def test_wrong_samples(estimator, given, message):
    model = estimator()
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X6, [0, 1] * 3, **given)
    assert not hasattr(model, "n_features_in_")


def test_wrong_targets():
    with pytest.raises(ValueError, match=r"y_val: y contains the labels \[7\], but the classes"):
        ObliqueTreeClassifier().fit(X6, [0, 1] * 3, X_val=X3, y_val=[0, 1, 7])
    with pytest.raises(ValueError, match="y_val: expected 1 targets, as y has, got 2"):
        ObliqueTreeRegressor().fit(X6, np.arange(6.0), X_val=X3, y_val=np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"y_val: .*not be negative"):
        ObliqueTreeRegressor(loss=PoissonLoss()).fit(
            X6, np.arange(6.0), X_val=X3, y_val=[1.0, -1.0, 2.0])
    with pytest.raises(ValueError, match="sample_weight_val leave no sample"):
        ObliqueTreeClassifier(class_weight={0: 0.0, 1: 1.0}).fit(
            X6, [0, 1] * 3, X_val=X3, y_val=[0, 0, 0])
    with pytest.raises(ValueError, match="product of class_weight and sample_weight_val must have"):
        ObliqueTreeClassifier(class_weight={0: 1e200, 1: 1.0}).fit(
            X6, [0, 1] * 3, X_val=X3, y_val=[0, 1, 0], sample_weight_val=[1e200] * 3)


def test_wrong_columns():
    table = pd.DataFrame(X6, columns=["a", "b"])
    with pytest.raises(ValueError, match="X_val: The feature names should match"):
        ObliqueTreeClassifier().fit(
            table, [0, 1] * 3, X_val=table.rename(columns={"b": "c"}), y_val=[0, 1] * 3)


def test_numbers_beyond_the_type_of_x():
    with pytest.raises(ValueError, match="X_val: every number, as float32 like X, must be finite"):
        ObliqueTreeClassifier().fit(
            X6.astype(np.float32), [0, 1] * 3, X_val=1e300 * X3, y_val=[0, 1, 0])


@pytest.mark.parametrize("name", ["ObliqueTreeClassifier", "ObliqueForestRegressor"])
def test_dask_takes_none(name):
    array = pytest.importorskip("dask.array")
    model = getattr(pytest.importorskip("ngdt.dask"), name)()
    X, y = array.from_array(X6, chunks=3), array.from_array(np.arange(6) % 2, chunks=3)
    with pytest.raises(ValueError, match=f"ngdt.dask.{name} does not take X_val"):
        model.fit(X, y, X_val=X3, y_val=[0, 1, 0])
    with pytest.raises(ValueError, match=f"ngdt.dask.{name} does not take groups"):
        model.fit(X, y, groups=np.arange(6))
