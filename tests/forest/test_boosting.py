"""Boosting: a forest, and a second one that corrects it."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import estimator_checks_generator

import ngdt
from helpers import in_nightly
from ngdt import ObliqueBoostingRegressor, ObliqueForestClassifier, ObliqueForestRegressor
from ngdt.export import export_c, export_json
from ngdt.initializers import RandomOblique
from ngdt.losses import PoissonLoss, SquaredLoss

FOREST = ObliqueForestRegressor(14, init=RandomOblique(3, n_nonzero=2), max_depth=6, optimizer=None)
CHECKED = ObliqueBoostingRegressor(ObliqueForestRegressor(
    2, max_depth=2, init="random_oblique", optimizer=None))
CHECKS = [*estimator_checks_generator(CHECKED)]
if not in_nightly([True]):
    # Those of the same name differ in the type of the samples, which its forests are checked with.
    CHECKS = list({pair[1].func.__name__.replace("_matrix", "_array"): pair
                   for pair in reversed(CHECKS)}.values())


@pytest.fixture(scope="module")
def smooth():
    """Targets that a forest smooths too much."""
    return make_friedman1(250, 5, noise=0.1, random_state=0)


@pytest.fixture(scope="module")
def boosted(smooth):
    return ObliqueBoostingRegressor(FOREST, random_state=0).fit(*smooth)


@pytest.mark.filterwarnings("ignore:[0-9]+% of the samples have no out-of-bag prediction")
def test_the_second_forest_is_trained_on_what_the_first_misses(smooth, boosted):
    X, y = smooth
    first, second = boosted.estimators_
    assert [len(each.estimators_) for each in (first, second)] == [8, 6]
    missed = y - clone(first).fit(X, y).oob_prediction_
    known = np.isfinite(missed)
    assert 0 < (~known).sum() < 10
    alone = clone(second).fit(X, np.where(known, missed, 0.0), known.astype(float))
    np.testing.assert_array_equal(alone.predict(X), second.predict(X))
    np.testing.assert_array_equal(boosted.predict(X), first.predict(X) + second.predict(X))
    left = missed - alone.oob_prediction_
    known &= np.isfinite(left)
    before, after = (float(np.mean(each[known] ** 2)) for each in (missed, left))
    assert boosted.oob_errors_ == pytest.approx([before, after])
    assert after < before
    gains = [y[known].var() - before, before - after]
    expected = np.average([first.feature_importances_, second.feature_importances_], axis=0,
                          weights=gains)
    np.testing.assert_allclose(boosted.feature_importances_, expected)


def test_it_is_more_accurate_than_a_forest_of_smooth_targets(smooth):
    X, y = make_friedman1(1000, 5, noise=0.0, random_state=1)
    forest = clone(FOREST).set_params(n_estimators=20, bootstrap=False, random_state=0)
    boosted = ObliqueBoostingRegressor(
        clone(FOREST).set_params(n_estimators=20), random_state=0)
    errors = [np.mean((model.fit(*smooth).predict(X) - y) ** 2) for model in (boosted, forest)]
    assert errors[0] < 0.9 * errors[1]


def test_noise_is_left_to_one_forest(smooth):
    X, _ = smooth
    y = np.random.RandomState(0).randn(len(X))
    model = ObliqueBoostingRegressor(FOREST, random_state=0).fit(X, y)
    forest, = model.estimators_
    assert len(forest.estimators_) == 14
    assert not model.oob_errors_[1] < model.oob_errors_[0]
    same = clone(FOREST).set_params(random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), same.predict(X))
    np.testing.assert_allclose(model.feature_importances_, same.feature_importances_)


@pytest.mark.usefixtures("few_trial_trees")
def test_defaults(smooth):
    X, y = smooth
    model = ObliqueBoostingRegressor(random_state=0).fit(X[:30], y[:30])
    assert sum(len(each.estimators_) for each in model.estimators_) == 50
    assert model.score(X[30:], y[30:]) > 0.6


def test_the_trees_may_start_from_a_fitted_one(smooth):
    init = ngdt.ObliqueTreeRegressor(2, leaf="constant", optimizer=None).fit(*smooth)
    models = [ObliqueBoostingRegressor(ObliqueForestRegressor(
        5, init=each, optimizer="tao", leaf="constant"), random_state=0).fit(*smooth)
        for each in (init, init.tree_)]
    np.testing.assert_array_equal(*(model.predict(smooth[0]) for model in models))


def test_several_targets(smooth):
    X, y = smooth
    model = ObliqueBoostingRegressor(FOREST, random_state=0).fit(X, np.c_[y, -2 * y])
    assert len(model.estimators_) == model.n_outputs_ == 2
    predicted = model.predict(X[:7])
    np.testing.assert_allclose(predicted[:, 1], -2 * predicted[:, 0])


def test_frames_and_sparse_matrices(smooth):
    X, y = smooth
    frame = pd.DataFrame(X.copy(), columns=list("abcde"))
    frame["kind"] = pd.Categorical(np.where(y > 15, "high", "low"))
    frame.loc[frame.index[::9], "a"] = np.nan
    model = ObliqueBoostingRegressor(FOREST, random_state=0).fit(frame, y)
    assert list(model.feature_names_in_) == list(frame.columns)
    assert model.n_features_in_ == len(model.feature_importances_) == 6
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.score(frame, y) > 0.8
    matrix = sparse.csr_array(np.where(X > 0.4, X, 0.0))
    model = model.fit(matrix, y)
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_allclose(model.predict(matrix), model.predict(matrix.toarray()))


def test_samples_of_weight_zero_are_ignored(smooth):
    X, y = smooth
    weight = np.ones(len(y))
    weight[::3] = 0.0
    wrong = np.where(weight > 0, y, 1e6)
    model = ObliqueBoostingRegressor(FOREST, random_state=0)
    np.testing.assert_array_equal(
        model.fit(X, wrong, weight).predict(X), model.fit(X, y, weight).predict(X))


@pytest.mark.parametrize("n_estimators", [1, 2, 14])
@pytest.mark.parametrize("n_samples", [1, 2, 5])
def test_few_samples_and_trees(n_samples, n_estimators):
    X, y = np.arange(2.0 * n_samples).reshape(-1, 2), 3.0 + np.arange(n_samples)
    model = ObliqueBoostingRegressor(
        clone(FOREST).set_params(n_estimators=n_estimators), random_state=0).fit(X, y)
    predicted = model.predict(X)
    assert np.isfinite(predicted).all()
    assert np.abs(predicted - y).max() <= 2 * n_samples
    if n_samples == 1:
        assert predicted == pytest.approx(3.0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e150, 1e160, 1e300])
def test_targets_of_any_size(smooth, boosted, size):
    X, y = smooth
    model = ObliqueBoostingRegressor(FOREST, random_state=0).fit(X, size * y)
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.feature_importances_).all()
    assert np.corrcoef(model.predict(X) / size, y)[0, 1] > 0.9
    assert len(model.estimators_) == 2
    np.testing.assert_allclose(model.predict(X) / size, boosted.predict(X), rtol=0.2)
    assert not np.isnan(model.oob_errors_).any()


@pytest.mark.parametrize("size", [2.0**-700, 2.0**700])
def test_units_of_the_targets_change_nothing(smooth, boosted, size):
    X, y = smooth
    model = ObliqueBoostingRegressor(FOREST, random_state=0).fit(X, size * y)
    np.testing.assert_allclose(model.predict(X) / size, boosted.predict(X))
    np.testing.assert_allclose(model.feature_importances_, boosted.feature_importances_)


def test_the_error_state_of_numpy_stays(smooth):
    before = np.geterr()
    ObliqueBoostingRegressor(FOREST, random_state=0).fit(*smooth)
    assert np.geterr() == before


def test_seeds_and_threads(smooth, boosted):
    X, y = smooth
    for estimator, seed in ((FOREST, 0), (clone(FOREST).set_params(random_state=0), None),
                            (clone(FOREST).set_params(n_jobs=2), 0)):
        again = ObliqueBoostingRegressor(estimator, random_state=seed).fit(X, y)
        np.testing.assert_array_equal(again.predict(X), boosted.predict(X))
    other = ObliqueBoostingRegressor(FOREST, random_state=1).fit(X, y)
    assert (other.predict(X) != boosted.predict(X)).any()


def test_saved(smooth, boosted, tmp_path):
    X, _ = smooth
    ngdt.save(boosted, tmp_path / "model.ngdt")
    for same in (ngdt.load(tmp_path / "model.ngdt"), pickle.loads(pickle.dumps(boosted))):
        np.testing.assert_array_equal(same.predict(X), boosted.predict(X))
        assert same.oob_errors_ == boosted.oob_errors_
    assert boosted.get_nbytes() == sum(each.get_nbytes() for each in boosted.estimators_)


def test_changed_models_are_not_saved(boosted, tmp_path):
    for name, value, message in (
            ("estimators_", [], "estimators_"),
            ("estimators_", [FOREST], "estimators_"),
            ("n_outputs_", 2, "estimators_"),
            ("n_features_in_", 4, "n_features_in_"),
            ("feature_importances_", np.ones(4), "feature_importances_"),
            ("oob_errors_", [None], "oob_errors_"),
            ("more_", 1, "does not know")):
        model = pickle.loads(pickle.dumps(boosted))
        setattr(model, name, value)
        with pytest.raises(ValueError, match=message):
            ngdt.save(model, tmp_path / "model.ngdt")


def test_quantiles_are_those_of_new_samples():
    samples = [make_friedman1(800, 5, noise=1.0, random_state=seed) for seed in (0, 1)]
    forest = clone(FOREST).set_params(n_estimators=20, min_samples_leaf=5)
    model = ObliqueBoostingRegressor(forest, random_state=0).fit(*samples[0])
    assert len(model.estimators_) == 2
    X, y = samples[1]
    quantiles = [0.1, 0.5, 0.9]
    found = model.predict_quantiles(X, quantiles)
    assert (np.diff(found) >= 0).all()
    np.testing.assert_allclose((y[:, None] < found).mean(axis=0), quantiles, atol=0.05)
    first, second = model.estimators_
    np.testing.assert_allclose(
        found, first.predict(X)[:, None] + second.predict_quantiles(X, quantiles))
    y = np.c_[samples[0][1], -samples[0][1]]
    assert model.fit(samples[0][0][:100], y[:100]).predict_quantiles(X, quantiles).shape == (
        800, 3, 2)


def test_no_second_forest_without_time(smooth):
    estimator = clone(FOREST).set_params(max_time=1e-9)
    with pytest.warns(ConvergenceWarning, match="of 8 trees"):
        model = ObliqueBoostingRegressor(estimator, random_state=0).fit(*smooth)
    assert [len(each.estimators_) for each in model.estimators_] == [1]


@pytest.mark.parametrize(("parameters", "message"), [
    ({"loss": "absolute_error"}, "^estimator must have loss=None"),
    ({"loss": PoissonLoss()}, "^estimator must have loss=None"),
    ({"loss": "square"}, "Did you mean 'squared_error'"),
    ({"checkpoint": "file"}, r"checkpoint=None .* got ObliqueForestR.*checkpoint='file'"),
    ({"warm_start": True}, "warm_start=False, .* got ObliqueF"),
    ({"bootstrap": False}, "draw samples, by bootstrap='auto'"),
    ({"n_estimators": 0}, "'n_estimators' parameter of ObliqueForestRegressor"),
])
def test_messages(smooth, parameters, message):
    model = ObliqueBoostingRegressor(clone(FOREST).set_params(**parameters))
    with pytest.raises(ValueError, match=message):
        model.fit(*smooth)
    assert not hasattr(model, "estimators_")


@pytest.mark.parametrize("loss", ["squared_error", SquaredLoss()])
def test_the_squared_loss_may_be_named(smooth, boosted, loss):
    named = ObliqueBoostingRegressor(clone(FOREST).set_params(loss=loss), random_state=0)
    np.testing.assert_array_equal(
        named.fit(*smooth).predict(smooth[0]), boosted.predict(smooth[0]))


def test_wrong_estimator(smooth):
    with pytest.raises(ValueError, match="'estimator' parameter of ObliqueBoostingRegressor"):
        ObliqueBoostingRegressor(ObliqueForestClassifier()).fit(*smooth)


@pytest.mark.parametrize(
    ("estimator", "check"), [
        pair for pair in CHECKS
        # A sample of weight k is drawn as one, k copies of it one by one.
        if not pair[1].func.__name__.startswith("check_sample_weight_equivalence")],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else value.func.__name__)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_each_forest_reports_its_progress(smooth, capfd):
    ObliqueBoostingRegressor(clone(FOREST).set_params(verbose=1), random_state=0).fit(*smooth)
    assert "".join(capfd.readouterr()).count("[ngdt] done in") == 2
    ObliqueBoostingRegressor(FOREST, random_state=0).fit(*smooth)
    assert "".join(capfd.readouterr()) == ""


def test_parameters_of_the_forests_are_theirs():
    with pytest.raises(ValueError, match="Set estimator itself to an object"):
        ObliqueBoostingRegressor().set_params(estimator__n_estimators=9)


@pytest.mark.parametrize("export", [export_c, export_json])
def test_its_forests_are_exported_one_by_one(export, boosted):
    with pytest.raises(TypeError, match="export each of its estimators_"):
        export(boosted)
    assert all(export(each) for each in boosted.estimators_)


def test_far_targets_are_left_to_the_first_forest():
    X, y = make_friedman1(400, 5, noise=0.1, random_state=0)
    X[:8], y[:8] = X[0], y[0] + 1e5
    first, second = ObliqueBoostingRegressor(
        clone(FOREST).set_params(n_estimators=30), random_state=0).fit(X, y).estimators_
    assert np.abs(first.predict(X)).max() > 1e3
    assert np.abs(second.predict(X)).max() < 10.0   # it was 7000


@pytest.mark.parametrize("rows", [[], [3, 50, 90, 170, 210, 250]])
def test_far_targets_are_told_once_and_residuals_never(rows):
    random = np.random.default_rng(0)
    X = random.random((300, 4))
    y = 100.0 * X[:, 0] + random.normal(size=300) + 3.0 * random.standard_t(2, 300)
    y[rows] = 1e6
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        ObliqueBoostingRegressor(FOREST, random_state=0).fit(X, y)
    assert [str(each.message)[:17] for each in found] == ["6 of 300 targets "] * bool(rows)
