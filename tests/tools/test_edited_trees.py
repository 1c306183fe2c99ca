"""Fitted trees that are pruned at given nodes, or whose leaves are refitted."""

import io
import pickle
import re
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ngdt
from helpers import examples, in_nightly
from ngdt import (
    ObliqueBoostingRegressor,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    Tree,
)
from ngdt._core.winsorize import target_fences
from ngdt.export import export_frame
from ngdt.inference import is_monotone
from ngdt.losses import AbsoluteLoss, HuberLoss, PoissonLoss, QuantileLoss, SquaredLoss
from ngdt.optimizers import LinearLeaves
from ngdt.pruning import prune_at, refit_leaves, set_leaves

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(160, 4)).round(1)
CLASSES = np.array(["a", "b", "c"])[
    (X[:, 0] > 0.2).astype(int) + (X[:, 1] + 0.3 * RANDOM.normal(size=160) > 0)]
VALUES = X[:, 0] * (X[:, 1] > 0) + 0.3 * RANDOM.normal(size=160)
COUNTS = RANDOM.poisson(np.exp(X[:, 0])).astype(float)
TABLE = pd.DataFrame(X, columns=list("pqrs")).assign(
    city=RANDOM.choice(["Rome", "Oslo", "Lima"], 160), r=np.where(X[:, 2] > 1, np.nan, X[:, 2]))
WEIGHT = RANDOM.choice([0.0, 0.5, 1.0, 3.0], 160)

GREEDY = dict(max_depth=4, optimizer=None, min_samples_leaf=3)
REGRESSION = GREEDY | dict(leaf="constant")
LINEAR = dict(leaf=LinearLeaves(penalty=10.0), validation_fraction=None)
# Estimator, X, y, sample weights.
CASES = {
    "classes": (ObliqueTreeClassifier(**GREEDY), X, CLASSES, None),
    "weighted classes": (
        ObliqueTreeClassifier(**GREEDY, class_weight="balanced"), TABLE, CLASSES, WEIGHT),
    "oblique": (ObliqueTreeClassifier(3, optimizer="tao", validation_fraction=None),
                sparse.csr_array(X), CLASSES, None),
    "linear classes": (ObliqueTreeClassifier(**GREEDY | LINEAR), X, CLASSES, None),
    "squared": (ObliqueTreeRegressor(**REGRESSION), X, VALUES, WEIGHT),
    "two targets": (
        ObliqueTreeRegressor(**REGRESSION), TABLE, np.column_stack([VALUES, COUNTS]), None),
    "absolute": (ObliqueTreeRegressor(**REGRESSION, loss=AbsoluteLoss()), X, VALUES, WEIGHT),
    "quantile": (ObliqueTreeRegressor(**REGRESSION, loss=QuantileLoss(0.8)), X,
                 np.column_stack([VALUES, COUNTS]), None),
    "huber": (ObliqueTreeRegressor(**REGRESSION, loss=HuberLoss(0.5)), X, VALUES, WEIGHT),
    "poisson": (ObliqueTreeRegressor(**REGRESSION, loss=PoissonLoss()), X, COUNTS, None),
    "linear": (ObliqueTreeRegressor(**GREEDY | LINEAR), TABLE, VALUES, WEIGHT),
}
# Where the leaves of the greedy tree are the best ones for its samples.
BEST = ["squared", "two targets", "absolute", "quantile", "huber"]
EVERY = pytest.mark.parametrize("case", CASES)


@cache
def fitted(case):
    estimator, table, y, weight = CASES[case]
    model = clone(estimator).fit(table, y, weight)
    assert model.tree_.n_internal >= 3
    assert (model.tree_.slopes is not None) == case.startswith("linear")
    return model, table, y, np.ones(160) if weight is None else weight


def outputs(model, table):
    found = model.predict_proba(table) if is_classifier(model) else model.predict(table)
    return found.reshape(len(found), -1)


def weights_of(model, y, weight):
    """The weights that samples have in training."""
    if not is_classifier(model) or model.class_weight is None:
        return weight
    total = {label: weight[y == label].sum() for label in model.classes_}
    return weight * [weight.sum() / len(total) / total[label] for label in y]


def subsets(model):
    m = model.tree_.n_internal
    return st.lists(st.integers(0, m - 1), max_size=4)


@EVERY
@examples(0.5)
@given(st.data())
def test_new_leaves_predict_the_mean_and_all_else_stays(case, data):
    model, table, y, weight = fitted(case)
    nodes = data.draw(subsets(model))
    before = pickle.dumps(model)
    smaller = prune_at(model, nodes)
    assert pickle.dumps(model) == before
    # The topmost pruned node on the path of each sample; -1 where there is none.
    path = model.decision_path(table).toarray()
    pruned = np.isin(np.arange(model.tree_.n_internal), nodes)
    top = np.where((path & pruned).any(axis=1), (path & pruned).argmax(axis=1), -1)
    kept = top < 0
    old, new = outputs(model, table), outputs(smaller, table)
    assert_array_equal(new[kept], old[kept])
    weight = weights_of(model, y, weight)
    for node in np.unique(top[~kept]):
        here = top == node
        assert len(np.unique(smaller.apply(table)[here])) == 1
        if case in BEST:
            best = refit_leaves(smaller, table, y, sample_weight=weight)
            assert_allclose(new[here], outputs(best, table)[here], rtol=1e-9, atol=1e-12)
        if case not in ("absolute", "quantile", "huber", "linear"):
            mean = np.average(old[here], axis=0, weights=weight[here])
            assert_allclose(new[here], np.tile(mean, (here.sum(), 1)), rtol=1e-6, atol=1e-12)


@EVERY
@examples(0.5)
@given(st.data())
def test_a_pruned_tree_is_described_as_one_that_was_trained_so(case, data):
    model, table, y, weight = fitted(case)
    smaller = prune_at(model, data.draw(subsets(model)))
    same = dict(init=smaller.tree_, optimizer=None, leaf="constant", min_samples_leaf=1)
    trained = clone(model).set_params(**same).fit(table, y, weight)
    assert_array_equal(smaller.n_node_samples_, trained.n_node_samples_)
    assert_array_equal(smaller.apply(table), trained.apply(table))
    assert smaller.get_n_leaves() == trained.get_n_leaves()
    assert_allclose(outputs(smaller, table), outputs(trained, table), atol=1e-12)
    assert_allclose(smaller.feature_importances_, trained.feature_importances_, atol=1e-9)
    for name in ("left", "right", "gains", "leaf_weights", "leaf_means", "spans"):
        ours, theirs = (getattr(each._sample_summary, name) for each in (smaller, trained))
        assert (ours is None) == (theirs is None)
        # Spans are those of the predictions before.
        if ours is not None and name != "spans":
            assert_allclose(ours, theirs, atol=1e-9)
    if hasattr(model, "predict_quantiles") and case != "linear":
        quantiles = [0.0, 0.2, 0.5, 0.9, 1.0]
        assert_allclose(smaller.predict_quantiles(table, quantiles),
                        trained.predict_quantiles(table, quantiles))


@pytest.mark.parametrize("case", [
    "weighted classes", "oblique", "linear classes", "quantile", "linear",
    *in_nightly(["classes", "squared", "two targets", "absolute", "huber", "poisson"])])
def test_an_edited_estimator_is_as_any_other(case, tmp_path):
    model, table, y, weight = fitted(case)
    n, first = model.tree_.n_internal, model.summary()
    assert prune_at(model, []).summary() == first
    for edited, told in (
            (prune_at(model, [n - 1]), f"It was then pruned at the nodes [{n - 1}]."),
            (prune_at(model, (n - 1, 0)), f"It was then pruned at the nodes [0, {n - 1}]."),
            (refit_leaves(model, table[:60], y[:60]),
             "Its leaves were then refitted to 60 samples.")):
        assert edited.summary().endswith(told)
        assert edited.history_ == model.history_
        ngdt.save(edited, tmp_path / "tree.ngdt")
        for copy in (ngdt.load(tmp_path / "tree.ngdt"), pickle.loads(pickle.dumps(edited))):
            assert_array_equal(copy.predict(table), edited.predict(table))
            assert copy.summary() == edited.summary()
            assert ngdt.export_text(copy) == ngdt.export_text(edited)
        assert len(edited.explain(table[:2])) == 2
        assert len(edited.cost_complexity_pruning_path(table, y).ccp_alphas) > 1
    again = clone(edited).fit(table, y, weight)
    assert again.summary() == first
    assert again.tree_ == model.tree_
    assert prune_at(model, [0]).get_n_leaves() == 1
    twice = refit_leaves(prune_at(model, [n - 1]), table, y)
    assert twice.summary().endswith(
        f"It was then pruned at the nodes [{n - 1}].\n"
        "Its leaves were then refitted to 160 samples.")
    assert model.summary() == first
    # A training ends what was told.
    assert twice.set_params(init=twice.tree_).fit(table, y).summary().count("refitted") == 0


@pytest.mark.parametrize("case", sorted(CASES.keys() - {"oblique"}))
def test_training_samples_make_the_same_leaves(case):
    model, table, y, weight = fitted(case)
    before = pickle.dumps(model)
    again = refit_leaves(model, table, y, sample_weight=weight)
    assert pickle.dumps(model) == before
    assert_allclose(outputs(again, table), outputs(model, table), rtol=1e-7, atol=1e-9)
    assert_array_equal(again.n_node_samples_, model.n_node_samples_)
    assert_allclose(again.feature_importances_, model.feature_importances_, atol=1e-9)
    assert_allclose(again._sample_summary.gains, model._sample_summary.gains, atol=1e-9)


@EVERY
@examples(0.5)
@given(st.integers(0, 2**16))
@example(38)        # a leaf has one sample, whose target is far
def test_leaves_are_fitted_to_the_samples_that_reach_them(case, seed):
    model, table, y, _ = fitted(case)
    random = np.random.default_rng(seed)
    rows = random.permutation(160)[:random.integers(5, 40)]
    weight = random.choice([0.0, 1.0, 2.5], len(rows))
    weight[0] = 1.0
    if is_classifier(model):
        model = prune_at(model, []).set_params(class_weight=None)
    take = table.iloc if hasattr(table, "iloc") else table
    again = refit_leaves(model, take[rows], y[rows], sample_weight=weight)
    for part in ("weights", "thresholds", "children_left", "children_right"):
        assert_array_equal(getattr(again.tree_, part) - getattr(model.tree_, part), 0)
    leaf = model.apply(table)
    assert_array_equal(again.n_node_samples_[model.tree_.n_internal:], np.bincount(
        leaf[rows[weight > 0]], minlength=model.get_n_leaves()))
    used = weight > 0
    if case in ("squared", "two targets", "linear"):
        targets = y[rows].reshape(len(rows), -1)
        low, high = target_fences(targets, weight)
        is_far = used & ((targets < low) | (targets > high)).any(axis=1)
        assume(is_far.sum() < 5)        # fewer are left out
        used &= ~is_far
    reached = np.bincount(leaf[rows[used]], minlength=model.get_n_leaves()) > 0
    here = reached[leaf]
    old, new = outputs(model, table), outputs(again, table)
    assert_allclose(new[~here], old[~here], rtol=1e-9, atol=1e-12)
    if not is_classifier(model):
        ends = np.array([again.predict_quantiles(table, [q]) for q in (0.0, 1.0)])
        for number in np.flatnonzero(reached):
            if case != "linear":
                own = y[rows][(leaf[rows] == number) & (weight > 0)]
                assert_allclose(ends[0][leaf == number][0].ravel(), np.min(own, axis=0))
        before = np.array([model.predict_quantiles(table, [q]) for q in (0.0, 1.0)])
        assert_allclose(ends[:, ~here], before[:, ~here], atol=1e-9)
    if case in ("squared", "two targets"):
        for number in np.flatnonzero(reached):
            own = (leaf[rows] == number) & used
            mean = np.average(y[rows][own], axis=0, weights=weight[own])
            assert_allclose(new[leaf == number][0], np.atleast_1d(mean), atol=1e-9)
    assert ngdt.export_text(again)


@pytest.mark.parametrize("case", ["linear", "linear classes"])
def test_linear_leaves_are_fitted_as_in_a_training(case):
    model, table, y, _ = fitted(case)
    again = refit_leaves(model, table[:80], y[:80])
    start = model.tree_.replace(values=model.tree_.values)
    named = clone(model).set_params(init=start, min_samples_leaf=1)
    if (again.n_node_samples_ == 0).any():
        pytest.fail("samples must reach all leaves")
    # The encoding of the table is that of the first training.
    trained = named.set_params(warm_start=True)
    vars(trained).update({name: value for name, value in vars(prune_at(model, [])).items()
                          if name.startswith("_") or name.endswith("_")} | {"tree_": start})
    trained.fit(table[:80], y[:80])
    assert_allclose(outputs(again, table), outputs(trained, table), rtol=1e-6, atol=1e-8)


def test_far_targets_cost_refitted_linear_leaves_no_slopes():
    model = ObliqueTreeRegressor(1, optimizer="linear_leaves", random_state=0).fit(X, VALUES)
    gross = np.where(np.arange(len(X)) == 7, 1e6, VALUES)
    near, far = (refit_leaves(model, X, y).score(X, VALUES) for y in (VALUES, gross))
    assert far >= 0.9 * near        # it was far below zero


def test_linear_leaves_of_a_list_keep_their_parameters():
    optimizer = [LinearLeaves(features=[0], penalty=1.0)]
    # A baseline may be better on some held-out samples.
    model = ObliqueTreeRegressor(1, optimizer=optimizer, validation_fraction=None).fit(X, VALUES)
    again = refit_leaves(model, X[:80], VALUES[:80])
    assert np.flatnonzero(again.tree_.slopes.any(axis=(0, 1))).tolist() == [0]


def test_trees_of_forests_and_of_batches():
    for kind, y in ((ObliqueForestClassifier, CLASSES), (ObliqueForestRegressor, VALUES)):
        forest = kind(3, max_depth=3, init="info_gain", optimizer=None, random_state=0)
        tree = forest.fit(TABLE, y)[1]
        assert prune_at(tree, [0]).get_n_leaves() == 1
        assert refit_leaves(tree, TABLE[:80], y[:80]).score(TABLE[:80], y[:80]) > 0.3
    model = ObliqueTreeClassifier(3, optimizer="ssgd", random_state=0)
    model.partial_fit(X[:20], CLASSES[:20], classes=["a", "b", "c", "d"])
    empty = np.flatnonzero(model.n_node_samples_[:model.tree_.n_internal] == 0)
    for node in (*empty, 0):
        assert np.isfinite(prune_at(model, [node]).predict_proba(X)).all()
    assert set_leaves(model, export_frame(model)).tree_ == model.tree_     # some are not known


CONSTANT = sorted(case for case in CASES if not case.startswith("linear"))


def with_leaf(model, leaf):
    """The frame of a model with random predictions of a leaf, and these."""
    frame, random = export_frame(model), np.random.default_rng(0)
    columns = [name for name in frame if name.startswith(
        "probability_" if is_classifier(model) else "prediction")]
    values = random.random(len(columns)) + 0.1
    values = values / values.sum() if is_classifier(model) else values
    frame.loc[model.tree_.n_internal + leaf, columns] = values
    return frame, values


@pytest.mark.parametrize("case", CONSTANT)
def test_a_frame_sets_the_predictions_of_leaves(case, tmp_path):
    model, table, y, _ = fitted(case)
    leaf, before, old = model.get_n_leaves() - 1, pickle.dumps(model), outputs(model, table)
    frame, values = with_leaf(model, leaf)
    frame.to_csv(tmp_path / "tree.csv", index=False)
    path = model.apply(table) == leaf
    for read in (frame, frame[frame.node == model.tree_.n_internal + leaf],
                 pd.read_csv(tmp_path / "tree.csv")):
        edited = set_leaves(model, read)
        new = outputs(edited, table)
        assert_allclose(new[path], np.tile(values, (path.sum(), 1)))
        assert_array_equal(new[~path], old[~path])
        assert edited.summary() == (
            f"{model.summary()}\nIts leaves [{leaf}] were then set by hand.")
    assert pickle.dumps(model) == before
    again = export_frame(edited)
    for name in ("rule", "samples", "weight"):
        of_splits = slice(None) if name != "rule" else slice(model.tree_.n_internal)
        assert again[name][of_splits].equals(export_frame(model)[name][of_splits])
    assert set_leaves(edited, again).tree_ == edited.tree_
    ngdt.save(edited, tmp_path / "tree.ngdt")
    for copy in (ngdt.load(tmp_path / "tree.ngdt"), pickle.loads(pickle.dumps(edited))):
        assert_array_equal(outputs(copy, table), new)
        assert copy.summary() == edited.summary()
    assert ngdt.export_text(edited) != ngdt.export_text(model)
    assert len(edited.explain(table[:2])) == 2
    refitted, own = (refit_leaves(each, table, y) for each in (edited, model))
    assert_allclose(outputs(refitted, table), outputs(own, table), rtol=1e-9)
    assert np.isfinite(outputs(prune_at(edited, [0]), table)).all()


def test_nothing_is_set_by_a_frame_of_the_tree_itself():
    for case in CASES:
        model, *_ = fitted(case)
        same = set_leaves(model, export_frame(model))
        assert same.tree_ == model.tree_
        assert same.summary() == model.summary()


@pytest.mark.parametrize("labels", [
    ("01", "02"), ("NA", "yes"), ("", "1.0"), (np.datetime64("2020-01-01"), np.datetime64(0, "D"))])
def test_labels_that_files_hold_in_another_form(labels):
    model = ObliqueTreeClassifier(2, optimizer=None).fit(X, np.where(X[:, 0] > 0, *labels))
    frame = export_frame(model)
    for read in (frame, pd.read_csv(io.StringIO(frame.to_csv(index=False)))):
        assert set_leaves(model, read).tree_ is model.tree_


def test_wrong_frames():
    model, *_ = fitted("classes")
    frame, leaf = export_frame(model), model.tree_.n_internal

    def changed(row, **values):
        return frame.assign(**{name: frame[name].where(frame.node != row, value)
                               for name, value in values.items()})

    sums = dict(probability_a=0.5, probability_b=0.4, probability_c=0.2)
    for wrong, message in (
            (changed(0, **sums), r"other predictions of the splits \[0\]"),
            (changed(leaf, **sums), r"with the sum 1, got \[\[0.5, 0.4, 0.2\]\] for the nodes"),
            (changed(leaf, **sums | dict(probability_a=-0.1, probability_b=0.9)), "with the sum"),
            (changed(leaf, probability_a=np.nan), "with the sum 1"),
            (changed(leaf, prediction="z"), r"prediction of the nodes \[\d+\] alone"),
            (frame.drop(columns="probability_b"), "has no column 'probability_b'"),
            (frame.drop(columns="node"), "has no column 'node'"),
            (changed(leaf, node=99), "numbers below .* in the column 'node'"),
            (pd.concat([frame, frame]), "each of them once"),
            (changed(leaf, probability_a="half"), "frame: could not convert"),
            (None, "has no column 'node'")):
        with pytest.raises(ValueError, match=message):
            set_leaves(model, wrong)
    for case, value, message in (("poisson", 0.0, "positive and finite"),
                                 ("squared", np.inf, "must be finite")):
        model, *_ = fitted(case)
        with pytest.raises(ValueError, match=message):
            set_leaves(model, {"node": [model.tree_.n_internal], "prediction": [value]})
    model, *_ = fitted("linear")
    leaf = model.tree_.slopes.any(axis=(1, 2)).argmax() + model.tree_.n_internal
    with pytest.raises(ValueError, match="other predictions of linear leaves"):
        set_leaves(model, {"node": [leaf], "prediction": [0.5]})
    with pytest.raises(TypeError, match=r"set_leaves\(forest.estimators_\[i\], frame\)"):
        set_leaves(ObliqueForestRegressor(2, optimizer=None).fit(X, VALUES), frame)


def test_leaves_of_a_monotone_tree_are_set_in_order_only():
    model = ObliqueTreeRegressor(3, monotonic_cst=[1, 0, 0, 0], optimizer=None).fit(X, VALUES)
    tree = model.tree_
    at_ends = tree.apply(np.array([[-9.0, 1.0, 0.0, 0.0], [9.0, 1.0, 0.0, 0.0]]))
    low, high = tree.n_internal + at_ends
    assert model.tree_.values[at_ends[0]] < model.tree_.values[at_ends[1]]
    higher = set_leaves(model, {"node": [high], "prediction": [99.0]})
    assert is_monotone(higher) == (True, None)
    with pytest.raises(ValueError, match=r"directions of monotonic_cst, of the nodes \[") as error:
        set_leaves(model, {"node": [low], "prediction": [99.0]})
    assert {low, high} <= {*map(int, re.findall(r"\d+", str(error.value)))}
    both = set_leaves(model.set_params(monotonic_cst=None), {
        "node": [low], "prediction": [99.0]})
    assert is_monotone(both, [1, 0, 0, 0])[0] is False


FORESTS = {
    "classes": (ObliqueForestClassifier(
        4, init="info_gain", optimizer=None, max_depth=3, class_weight="balanced_subsample",
        max_samples=0.2, oob_score=True, random_state=0), CLASSES),
    "values": (ObliqueForestRegressor(
        4, init="info_gain", optimizer=None, max_depth=3, max_samples=0.2, oob_score=True,
        random_state=0), VALUES),
    "linear": (ObliqueForestRegressor(
        3, init="info_gain", optimizer=LinearLeaves(penalty=10.0), max_depth=2, max_features=3,
        random_state=0), VALUES)}


@pytest.mark.parametrize("case", FORESTS)
def test_a_forest_fits_the_leaves_of_each_tree(case, tmp_path):
    kind, y = FORESTS[case]
    forest = clone(kind).fit(TABLE, y)
    forest.estimators_[1] = prune_at(forest[1], [forest[1].tree_.n_internal - 1])
    before, rows, weight = pickle.dumps(forest), slice(0, 160, 2), WEIGHT[::2]
    again = refit_leaves(forest, TABLE[rows], y[rows], sample_weight=weight)
    assert pickle.dumps(forest) == before
    alone = [refit_leaves(each, TABLE[rows], y[rows], sample_weight=weight) for each in forest]
    for ours, theirs in zip(again, alone, strict=True):
        assert ours.tree_ == theirs.tree_
        assert_array_equal(ours.n_node_samples_, theirs.n_node_samples_)
    mean = np.mean([outputs(each, TABLE) for each in alone], axis=0)
    assert_allclose(outputs(again, TABLE), mean, rtol=1e-12)
    assert not np.allclose(outputs(again, TABLE), outputs(forest, TABLE))
    assert not hasattr(again, "oob_score_")
    assert not hasattr(again, "estimators_samples_")
    assert f"{len(forest)} trees: Its leaves were then refitted to" in again.summary()
    assert "1 tree: It was then pruned at the nodes" in again.summary()
    ngdt.save(again, tmp_path / "forest.ngdt")
    for copy in (ngdt.load(tmp_path / "forest.ngdt"), pickle.loads(pickle.dumps(again))):
        assert_array_equal(outputs(copy, TABLE), outputs(again, TABLE))
        assert copy.summary() == again.summary()
    assert again.explain(TABLE[:2])
    if case == "values":
        assert np.isfinite(again.predict_quantiles(TABLE)).all()


def test_samples_of_refitted_leaves_are_not_out_of_the_bag():
    kind, y = FORESTS["values"]
    forest = clone(kind).set_params(warm_start=True).fit(X, y)
    again = refit_leaves(forest, X, y).set_params(n_estimators=8).fit(X, y)
    whole = clone(kind).set_params(n_estimators=8).fit(X, y)
    # The first trees know the targets of all samples.
    out = [~np.isin(np.arange(160), drawn) for drawn in whole.estimators_samples_[4:]]
    expected = np.ma.average(
        [tree.predict(X) for tree in whole[4:]], axis=0, weights=np.array(out, dtype=float))
    assert_allclose(again.oob_prediction_, expected.filled(np.nan))


def test_a_forest_follows_what_is_put_in_the_place_of_a_tree():
    for kind, y in FORESTS.values():
        forest = clone(kind).fit(TABLE, y)
        old, importances = outputs(forest, TABLE), forest.feature_importances_
        forest.estimators_[2] = prune_at(forest[2], [0])
        mean = np.mean([outputs(each, TABLE) for each in forest], axis=0)
        assert_allclose(outputs(forest, TABLE), mean, rtol=1e-12)
        assert not np.allclose(mean, old)
        expected = np.mean([each.feature_importances_ for each in forest], axis=0)
        assert_allclose(forest.feature_importances_, expected / expected.sum())
        assert not np.allclose(expected / expected.sum(), importances)
        assert forest.get_n_leaves() == sum(each.get_n_leaves() for each in forest)
        assert "1 tree: It was then pruned at the nodes [0]." in forest.summary()


@pytest.mark.parametrize("nodes", [[99], [0, -1], [0.0], [True], 0, ["0"], [[0]]], ids=str)
def test_wrong_nodes(nodes):
    with pytest.raises(ValueError, match=r"^nodes must be a list .* the split above it$"):
        prune_at(fitted("classes")[0], nodes)


def test_wrong_models():
    leaf = ObliqueTreeClassifier(0, optimizer=None).fit(X, CLASSES)
    with pytest.raises(ValueError, match=r"export_frame numbers below 0, got \[0\]"):
        prune_at(leaf, [0])
    forest = ObliqueForestClassifier(2, init="info_gain", optimizer=None).fit(X, CLASSES)
    pipeline = make_pipeline(StandardScaler(), leaf)
    tree = Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [1.0]])
    for model, message in (
            (pipeline, r"got Pipeline: .* pipeline its last step, model\[-1\]"),
            (GridSearchCV(leaf, {}), "got GridSearchCV: pass best_estimator_ of a search"),
            (tree, "got Tree")):
        for call in (lambda model: prune_at(model, [0]),
                     lambda model: refit_leaves(model, X, CLASSES)):
            with pytest.raises(TypeError, match=message):
                call(model)
    with pytest.raises(TypeError, match="got ObliqueForestClassifier: nodes are those of"):
        prune_at(forest, [0])
    boosting = ObliqueBoostingRegressor(ObliqueForestRegressor(2, optimizer=None))
    with pytest.raises(TypeError, match=r"or a forest, got ObliqueBoosting.* estimators_\[0\]"):
        refit_leaves(boosting.fit(X, VALUES), X, VALUES)
    for call in (lambda: prune_at(ObliqueTreeClassifier(), [0]),
                 lambda: refit_leaves(ObliqueTreeClassifier(), X, CLASSES),
                 lambda: refit_leaves(ObliqueForestClassifier(), X, CLASSES)):
        with pytest.raises(ValueError, match="not fitted"):
            call()
    model = clone(leaf).set_params(max_depth=2).fit(X, CLASSES)
    model.tree_ = model.tree_.replace(thresholds=model.tree_.thresholds + 1.0)
    with pytest.raises(ValueError, match="prune_at: tree_ was replaced"):
        prune_at(model, [0])
    assert refit_leaves(model, X, CLASSES).n_node_samples_[0] == 160


def test_wrong_samples():
    model, *_ = fitted("classes")
    with pytest.raises(ValueError, match=r"y contains the labels \['z'\]"):
        refit_leaves(model, X[:2], ["a", "z"])
    with pytest.raises(ValueError, match="X has 3 features"):
        refit_leaves(model, X[:, :3], CLASSES)
    with pytest.raises(ValueError, match="sample_weight"):
        refit_leaves(model, X, CLASSES, sample_weight=np.zeros(160))
    linear = prune_at(fitted("linear")[0], []).set_params(loss=SquaredLoss())
    assert refit_leaves(linear, TABLE, VALUES)
    absolute = refit_leaves(linear.set_params(loss=AbsoluteLoss()), TABLE, VALUES)
    assert mean_absolute_error(VALUES, absolute.predict(TABLE)) < mean_absolute_error(
        VALUES, linear.predict(TABLE))


@pytest.mark.parametrize("case", ["squared", "linear", "linear classes"])
def test_leaves_of_a_replaced_tree_are_kept_only_if_they_are_known(case):
    model, table, y, _ = fitted(case)
    of_few = clone(model).set_params(max_depth=1).fit(table, y)
    of_few.tree_ = model.tree_
    refitted = refit_leaves(of_few, table, y)       # all leaves have samples
    assert refitted.get_n_leaves() == model.get_n_leaves()
    with pytest.raises(ValueError, match=r"refit_leaves, of leaves .*: tree_ was replaced"):
        refit_leaves(of_few, table[:1], y[:1])


def test_a_damaged_list_of_edits_is_refused():
    model = prune_at(fitted("classes")[0], [1])
    model._edits = ["pruned", 3]
    with pytest.raises(ValueError, match="_edits must be"):
        ngdt.save(model, io.BytesIO())


@pytest.mark.parametrize("clip", [True, False])
def test_a_linear_leaf_without_samples_is_kept(clip):
    model = ObliqueTreeRegressor(
        1, init="info_gain", optimizer=LinearLeaves(penalty=1.0, clip=clip),
        validation_fraction=None).fit(X, VALUES)
    left = model.apply(X) == 0
    # Targets that are all the same make a constant leaf, and others a linear one.
    for y in (np.full(160, 2.0), VALUES + X[:, 2]):
        for last in (LinearLeaves(penalty=1.0), LinearLeaves(penalty=1.0, clip=False)):
            again = refit_leaves(prune_at(model, []).set_params(optimizer=last), X[left], y[left])
            assert_allclose(again.predict(X[~left]), model.predict(X[~left]))
            assert_allclose(again.predict(X[left]), y[left], atol=2.0)
            assert_array_equal(
                again._sample_summary.leaf_means[1], model._sample_summary.leaf_means[1])
            assert ngdt.export_text(again).count("within") <= (2 if clip else 0)
