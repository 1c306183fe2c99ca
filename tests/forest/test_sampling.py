"""Samples and features that a tree of a forest is trained on."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import ngdt._selection.sample
from helpers import make_problem
from ngdt import ObliqueForestClassifier, ObliqueForestRegressor, ObliqueTreeClassifier, Tree
from ngdt._encoding.targets import ClassTargets
from ngdt._forest.sampling import Sampling, number_of_columns, number_of_samples
from ngdt._training.wide_data import for_all_features

WEIGHT = np.array([1.0, 0.0, 2.0, 0.5, 1.0, 0.0, 3.0])
COLUMNS = np.array([0, 1, 1, 2, 2, 3])


def sampling(**fields):
    return Sampling(**{"bootstrap": True, "n_drawn": 5, "n_columns": None, "column_of": COLUMNS,
                       **fields})


@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("n_drawn", [1, 3, 5])
def test_samples_of_weight_zero_are_never_drawn(bootstrap, n_drawn):
    for seed in range(20):
        counts = sampling(bootstrap=bootstrap, n_drawn=n_drawn).counts(WEIGHT, seed)
        assert counts.sum() == n_drawn
        assert not counts[WEIGHT == 0].any()
        assert bootstrap or counts.max() == 1


def test_samples_are_drawn_with_equal_probability():
    draws = sum(sampling().counts(WEIGHT, seed) for seed in range(2000))
    np.testing.assert_allclose(draws[WEIGHT > 0], 2000, rtol=0.1)
    without = sum(sampling(bootstrap=False, n_drawn=2).counts(WEIGHT, s) for s in range(2000))
    np.testing.assert_allclose(without[WEIGHT > 0], 800, rtol=0.1)


def test_without_drawing_all_samples_are_used():
    assert sampling(bootstrap=False, n_drawn=None).counts(WEIGHT, 3).tolist() == (
        WEIGHT > 0).astype(int).tolist()


@pytest.mark.parametrize(("bootstrap", "n_drawn"), [(True, 3), (False, 3), (False, None)])
def test_samples_that_are_held_out_are_never_drawn(bootstrap, n_drawn):
    own = sampling(bootstrap=bootstrap, n_drawn=n_drawn, held_out=np.array([0, 1, 6]))
    drawn = sum(own.counts(WEIGHT, seed) for seed in range(300))
    assert np.flatnonzero(drawn).tolist() == [2, 3, 4]
    np.testing.assert_allclose(drawn[[2, 3, 4]], 300, rtol=0.2)


def test_a_seed_gives_one_draw():
    one, again, other = (sampling().counts(np.ones(100), seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


def test_counts_multiply_the_weights():
    y = np.array([0, 1, 0, 1, 0, 1, 0])
    problem = make_problem(np.eye(7), y, sample_weight=WEIGHT)
    counts = sampling().counts(WEIGHT, 4)
    np.testing.assert_array_equal(sampling().weight(problem, 4), counts * WEIGHT)
    for seed in range(10):
        plain = sampling().weight(problem, seed)
        balanced = sampling(encoder=ClassTargets(np.array([0, 1]))).weight(problem, seed)
        np.testing.assert_array_equal(plain > 0, balanced > 0)
        totals = np.bincount(y, weights=balanced)
        assert totals[totals > 0] == pytest.approx(totals.max())
        assert balanced.sum() == pytest.approx(plain.sum())


def test_features_of_a_column_go_together():
    assert sampling().features(0) is None
    seen = set()
    for seed in range(50):
        features = sampling(n_columns=2).features(seed)
        assert (np.diff(features) > 0).all()
        columns = np.unique(COLUMNS[features])
        assert len(columns) == 2
        np.testing.assert_array_equal(features, np.flatnonzero(np.isin(COLUMNS, columns)))
        seen.add(tuple(columns))
    assert len(seen) == 6       # all pairs


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("is_linear", [False, True])
def test_a_widened_tree_ignores_the_other_features(is_sparse, is_linear):
    random = np.random.default_rng(0)
    slopes = random.normal(size=(3, 2, 2)) if is_linear else None
    tree = Tree([[1.0, -1.0], [0.0, 2.0]], [0.0, 0.5], [1, ~0], [~1, ~2],
                random.normal(size=(3, 2)), slopes)
    features = np.array([1, 4])
    wide = for_all_features(tree.sparsify() if is_sparse else tree, features, 6)
    X = random.normal(size=(50, 6))
    assert wide.n_features == 6
    np.testing.assert_array_equal(wide.apply(X), tree.apply(X[:, features]))
    np.testing.assert_allclose(wide.predict(X), tree.predict(np.ascontiguousarray(X[:, features])))


@pytest.mark.parametrize(("max_samples", "bootstrap", "expected"), [
    (None, True, 90), (None, False, None), (10, True, 10), (200, True, 200), (90, False, 90),
    (0.5, True, 45), (0.5, False, 45), (1e-9, True, 1), (1.0, False, 90)])
def test_number_of_samples(max_samples, bootstrap, expected):
    assert number_of_samples(max_samples, 90, bootstrap) == expected


@pytest.mark.parametrize(("max_features", "expected"), [
    (None, None), (1.0, None), (9, None), (4, 4), (0.5, 4), (0.43, 3), (1e-9, 1), ("sqrt", 3),
    ("log2", 3)])
def test_number_of_columns(max_features, expected):
    assert number_of_columns(max_features, 9) == expected


def test_more_than_there_are():
    with pytest.raises(ValueError, match="max_samples=91 is more than 90, the most samples"):
        number_of_samples(91, 90, False)
    with pytest.raises(ValueError, match="max_features=10 is more than the 9 features"):
        number_of_columns(10, 9)


# --- the samples of a trained forest ------------------------------------------------------------


def a_forest(**parameters):
    return ObliqueForestClassifier(
        4, init="info_gain", optimizer=None, random_state=0, **parameters)


@pytest.mark.parametrize("parameters", [
    {}, {"bootstrap": False, "max_samples": 0.4}, {"bootstrap": False}], ids=str)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_the_samples_of_each_tree_are_known(parameters, is_weighted, iris, tmp_path):
    X, y = iris
    weight = np.ones(len(y))
    if is_weighted:
        weight[::3] = 0.0
    forest = a_forest(**parameters).fit(X, y, weight)
    samples = forest.estimators_samples_
    assert len(samples) == 4
    for tree, drawn in zip(forest, samples, strict=True):
        assert weight[drawn].all()
        # A leaf has the samples that the tree counted in it.
        counts = np.bincount(np.unique(tree.apply(X[np.unique(drawn)]), return_inverse=True)[1])
        of_leaves = tree._n_node_samples[tree.tree_.n_internal:]
        np.testing.assert_array_equal(counts, of_leaves[of_leaves > 0])
        again = ObliqueTreeClassifier(optimizer=None, init="info_gain").fit(
            X, y, np.bincount(drawn, minlength=len(y)))
        np.testing.assert_allclose(again.predict_proba(X), tree.predict_proba(X), rtol=1e-9)
    ngdt.save(forest, tmp_path / "forest.ngdt")
    for other in (ngdt.load(tmp_path / "forest.ngdt"), pickle.loads(pickle.dumps(forest))):
        np.testing.assert_equal(other.estimators_samples_, samples)


@pytest.mark.filterwarnings("ignore:.*of the samples have no out-of-bag prediction")
@pytest.mark.parametrize("forest", [ObliqueForestClassifier, ObliqueForestRegressor])
def test_out_of_bag_predictions_where_there_is_no_time_for_all_samples(forest, iris, monkeypatch):
    X, y = iris
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    weight[:2] = 0.0, 1.0
    model = forest(30, init="info_gain", optimizer=None, oob_score=True, random_state=0)
    monkeypatch.setattr(ngdt._selection.sample, "number_in_time", lambda *_: 60)
    cut = clone(model).set_params(max_time=1e5).fit(X, y, weight)
    name = "oob_prediction_" if forest is ObliqueForestRegressor else "oob_decision_function_"
    found = getattr(cut, name)
    rows = np.flatnonzero(np.isfinite(found.reshape(len(y), -1)).all(axis=1))
    assert 55 < len(rows) < 65
    again = model.fit(X[rows], y[rows], weight[rows])
    np.testing.assert_array_equal(found[rows], getattr(again, name))
    assert cut.oob_score_ == again.oob_score_


def test_samples_that_are_not_known_are_not_guessed(iris):
    X, y = iris
    with pytest.raises(NotFittedError):
        _ = a_forest().estimators_samples_
    forest = a_forest(warm_start=True).fit(X, y).set_params(n_estimators=5).fit(X[::2], y[::2])
    with pytest.raises(AttributeError, match="without max_time, warm_start and groups"):
        _ = forest.estimators_samples_
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ngdt._selection.sample, "number_in_time", lambda *_: len(X) // 2)
        of_some = a_forest(max_time=1e5).fit(X, y)
    assert len(of_some) == 4
    assert not hasattr(of_some, "estimators_samples_")
    of_part = a_forest().fit(X, y)
    del of_part._drawn_from
    assert not hasattr(of_part, "estimators_samples_")
