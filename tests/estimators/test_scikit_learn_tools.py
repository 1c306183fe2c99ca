"""Estimators in pipelines, searches, clones and pickles, and in other tools of scikit-learn."""

import pickle
from decimal import Decimal

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    StackingClassifier,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401  its import enables it
from sklearn.feature_selection import RFECV, SelectFromModel
from sklearn.inspection import (
    DecisionBoundaryDisplay,
    partial_dependence,
    permutation_importance,
)
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    cross_val_predict,
    learning_curve,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, PolynomialFeatures

from ngdt import ObliqueForestClassifier, ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt.initializers import RandomOblique
from ngdt.optimizers import SSGD

BOTH = pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueTreeRegressor])


def test_nested_parameters_and_grid_search(digits):
    estimator = ObliqueTreeClassifier(
        4, init=RandomOblique(), optimizer=SSGD(epochs=3), validation_fraction=None,
        random_state=0)
    assert estimator.get_params()["optimizer__epochs"] == 3
    search = GridSearchCV(
        estimator, {"optimizer__nu": [1e-9, 100.0], "init__n_candidates": [5, 20],
                    "min_samples_split": [2, 20]}, cv=2)
    search.fit(*(part[:120] for part in digits))
    assert search.best_params_["optimizer__nu"] == 100.0
    assert estimator.optimizer.nu == "auto"  # the original is not touched


def test_clone_pickle_and_repeatability(digits):
    X, y = (part[:150] for part in digits)
    fitted = ObliqueTreeClassifier(4, optimizer=SSGD(epochs=3), random_state=3).fit(X, y)
    again = clone(fitted).fit(X, y)
    loaded = pickle.loads(pickle.dumps(fitted))
    assert fitted.tree_ == again.tree_ == loaded.tree_
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    assert repr(clone(fitted)) in repr(fitted)


def test_pipeline_of_sparse_data(digits):
    X, y = sparse.csr_matrix(digits[0][:300]), digits[1][:300]
    pipeline = make_pipeline(MaxAbsScaler(), ObliqueTreeClassifier(5, random_state=0))
    assert pipeline.fit(X, y).score(X, y) > 0.9


# --- other tools ---------------------------------------------------------------------------------

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(150, 4)).round(2)
Y = 1 + np.searchsorted([-0.5, 0.4], X[:, 0] + X[:, 1])      # classes 1, 2 and 3
LABELS = np.array(["few", "some", "many"])[Y - 1]
TREE = ObliqueTreeClassifier(4, optimizer=None)
FOREST = ObliqueForestClassifier(
    3, max_depth=4, init="info_gain", optimizer=None, random_state=0)
CHANCE = 0.5    # more than the share of any class
EACH = pytest.mark.parametrize("estimator", [TREE, FOREST], ids=["tree", "forest"])


def frame():
    """The features, of which the second is told by a category alone, as a table."""
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(X, columns=list("abcd")).assign(
        b=np.where(X[:, 1] > 0, "high", "low"), c=np.where(X[:, 2] > 1, np.nan, X[:, 2]))


@EACH
@pytest.mark.parametrize("wrap", [
    lambda estimator: CalibratedClassifierCV(estimator, cv=2),
    lambda estimator: StackingClassifier([("one", estimator), ("other", TREE)], cv=2),
    lambda estimator: VotingClassifier([("one", estimator), ("other", TREE)], voting="soft"),
    OneVsRestClassifier,
], ids=["calibrated", "stacked", "voting", "one against the rest"])
def test_classifiers_in_others(wrap, estimator):
    for table in (X, frame()):
        model = wrap(clone(estimator)).fit(table, LABELS)
        shares = model.predict_proba(table)
        assert_allclose(shares.sum(axis=1), 1.0)
        assert_array_equal(model.classes_[shares.argmax(axis=1)], model.predict(table))
        assert model.score(table, LABELS) > CHANCE


@EACH
@pytest.mark.parametrize("wrap", [
    lambda estimator: BaggingClassifier(estimator, 3, random_state=0),
    lambda estimator: BaggingClassifier(estimator, 3, max_features=3, random_state=0),
    lambda estimator: AdaBoostClassifier(estimator, n_estimators=3, random_state=0),
], ids=["bagging", "bagging of columns", "boosting"])
def test_ensembles_of_classifiers(wrap, estimator):
    model = wrap(clone(estimator)).fit(X, LABELS)
    assert_array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], model.predict(X))
    assert model.score(X, LABELS) > CHANCE


@pytest.mark.parametrize("wrap", [
    lambda estimator: BaggingRegressor(estimator, 3, random_state=0),
    lambda estimator: AdaBoostRegressor(estimator, n_estimators=3, random_state=0),
    lambda estimator: VotingRegressor([("one", estimator), ("other", estimator)]),
], ids=["bagging", "boosting", "voting"])
def test_regressors_in_others(wrap):
    model = wrap(ObliqueTreeRegressor(4, optimizer=None, leaf="constant")).fit(X, X[:, 0])
    assert model.score(X, X[:, 0]) > 0.9


def test_a_bagged_tree_gets_an_array_of_a_table():
    """Names of columns are lost there, so that categories are told by their indices."""
    with pytest.raises(ValueError, match=r"name it in categorical_features, as \['x1'\]"):
        BaggingClassifier(clone(TREE), 2).fit(frame(), LABELS)
    tree = clone(TREE).set_params(categorical_features=[1])
    model = BaggingClassifier(tree, 2, random_state=0).fit(frame(), LABELS)
    assert model.estimators_[0].encoded_feature_names_[-1].startswith("x1 = ")
    assert model.score(frame(), LABELS) > CHANCE


@EACH
def test_predictions_by_cross_validation(estimator):
    folds, table = KFold(3), frame()
    found = cross_val_predict(clone(estimator), table, LABELS, cv=folds, method="predict_proba")
    for train, test in folds.split(table):
        fitted = clone(estimator).fit(table.iloc[train], LABELS[train])
        assert_array_equal(found[test], fitted.predict_proba(table.iloc[test]))


def test_a_transformed_target():
    model = ObliqueTreeRegressor(3, optimizer=None, leaf="constant")
    found = TransformedTargetRegressor(clone(model), func=np.log, inverse_func=np.exp).fit(
        frame(), np.exp(X[:, 0]))
    assert_allclose(found.predict(frame()), np.exp(model.fit(frame(), X[:, 0]).predict(frame())))


@EACH
def test_names_of_transformed_columns(estimator):
    transform = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["b"]), remainder="passthrough",
        verbose_feature_names_out=False).set_output(transform="pandas")
    model = make_pipeline(transform, clone(estimator)).fit(frame(), LABELS)
    assert model[-1].feature_names_in_.tolist() == ["b_high", "b_low", "a", "c", "d"]
    assert_array_equal(model.predict(frame()), clone(estimator).fit(
        transform.fit_transform(frame()), LABELS).predict(transform.transform(frame())))


@EACH
def test_a_union_of_features(estimator):
    union = make_union(MaxAbsScaler(), PolynomialFeatures(2))
    model = make_pipeline(union, clone(estimator)).fit(X, LABELS)
    assert model[-1].n_features_in_ == 4 + 15
    assert model.score(X, LABELS) > CHANCE


@EACH
def test_selection_by_importance(estimator):
    select = SelectFromModel(clone(estimator), threshold="mean").set_output(transform="pandas")
    assert select.fit_transform(frame(), LABELS).columns.tolist() == ["a", "b"]
    importances = select.estimator_.feature_importances_
    assert_array_equal(select.get_support(), importances >= importances.mean())


@EACH
@pytest.mark.parametrize("response", ["predict", "predict_proba"])
def test_a_picture_of_the_boundary(estimator, response):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    table = frame()[["a", "d"]]
    model = clone(estimator).fit(table, Y > 1)
    shown = DecisionBoundaryDisplay.from_estimator(
        model, table, grid_resolution=5, response_method=response)
    pyplot.close("all")
    grid = np.stack([shown.xx0.ravel(), shown.xx1.ravel()], axis=1)
    expected = getattr(model, response)(type(table)(grid, columns=["a", "d"]))
    assert_allclose(shown.response.ravel(), expected if response == "predict" else expected[:, 1])


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@EACH
def test_models_that_processes_have_fitted(estimator):
    expected = clone(estimator).fit(frame(), LABELS)
    # Those of loky would import all of ngdt first.
    for model in joblib.Parallel(2, backend="multiprocessing")(
            joblib.delayed(clone(expected).fit)(frame(), LABELS) for _ in range(2)):
        assert_array_equal(model.predict_proba(frame()), expected.predict_proba(frame()))
        assert not hasattr(clone(model), "n_features_in_")


@EACH
def test_a_chain_of_classifiers(estimator):
    several = np.column_stack([Y > 1, Y > 2]).astype(int)
    model = ClassifierChain(clone(estimator)).fit(X, several)
    assert model.estimators_[1].n_features_in_ == 5
    assert model.score(X, several) > CHANCE


@EACH
def test_recursive_elimination_finds_the_features(estimator):
    assert RFECV(clone(estimator), cv=2, min_features_to_select=2).fit(X, Y).support_[:2].all()


@EACH
def test_curves_and_halving(estimator):
    sizes, _, scores = learning_curve(
        clone(estimator), frame(), LABELS, train_sizes=[0.5, 1.0], cv=2, shuffle=True,
        random_state=0)
    assert sizes.tolist() == [37, 75]
    assert scores.min() > CHANCE
    search = HalvingGridSearchCV(
        clone(estimator), {"max_depth": [0, 4]}, cv=2, min_resources=60, random_state=0)
    assert search.fit(frame(), LABELS).best_params_ == {"max_depth": 4}


def test_halving_by_the_number_of_trees():
    search = HalvingGridSearchCV(
        FOREST, {"max_depth": [0, 4]}, cv=2, resource="n_estimators", min_resources=1,
        max_resources=4, random_state=0)
    assert search.fit(X, Y).best_params_["max_depth"] == 4


@EACH
def test_importance_by_permutation(estimator):
    table = frame()
    model = clone(estimator).fit(table, LABELS)
    found = permutation_importance(model, table, LABELS, n_repeats=2, random_state=0)
    assert found["importances_mean"][:2].min() > found["importances_mean"][2:].max()


def test_partial_dependence_is_the_mean_prediction():
    table = frame()
    regressor = ObliqueTreeRegressor(3, optimizer=None, leaf="constant").fit(table, X[:, 0])
    for model, mean in ((clone(TREE).fit(table, LABELS), lambda model, table: (
            model.predict_proba(table).mean(axis=0))), (regressor, lambda model, table: (
            model.predict(table).mean(keepdims=True)))):
        for name, categorical in (("a", None), ("b", ["b"])):
            found = partial_dependence(
                model, table, [name], categorical_features=categorical, grid_resolution=4)
            for value, average in zip(found["grid_values"][0], found["average"].T, strict=True):
                expected = mean(model, table.assign(**{name: value}))
                assert_allclose(average, expected, rtol=1e-9)


def test_a_pipeline_with_memory(tmp_path):
    for _ in range(2):      # the second reads what the first has stored
        selector = RFECV(clone(TREE), cv=2, min_features_to_select=2)
        pipeline = make_pipeline(selector, clone(TREE), memory=str(tmp_path)).fit(X, Y)
        assert pipeline.score(X, Y) > CHANCE
    assert any(tmp_path.rglob("*.pkl"))


# --- other forms of tables -----------------------------------------------------------------------


def in_forms():
    """Functions from an array of numbers to the same table in other forms."""
    def of_pandas(make):
        return lambda X: make(pytest.importorskip("pandas"), X)

    def of_polars(X):
        pl = pytest.importorskip("polars")
        return pl.DataFrame({"abcd"[j]: [Decimal(str(value)) for value in column]
                             for j, column in enumerate(X.T)})

    return {
        "big-endian doubles": lambda X: X.astype(">f8"),
        "little-endian doubles": lambda X: X.astype("<f8"),
        "objects": lambda X: X.astype(object),
        "decimals": np.vectorize(lambda value: Decimal(str(value)), otypes=[object]),
        "decimals of pandas": of_pandas(lambda pd, X: pd.DataFrame(
            X, columns=list("abcd")).map(lambda value: Decimal(str(value)))),
        "decimals of polars": of_polars,
        "sparse columns": of_pandas(lambda pd, X: pd.DataFrame(
            X, columns=list("abcd")).astype(pd.SparseDtype(float, 0.0))),
        "some sparse columns": of_pandas(lambda pd, X: pd.DataFrame(
            X, columns=list("abcd")).astype({"b": pd.SparseDtype(float, 0.0)})),
        "columns of two levels": of_pandas(lambda pd, X: pd.DataFrame(
            X, columns=pd.MultiIndex.from_product([["a", "b"], ["x", "y"]]))),
    }


@pytest.mark.parametrize("form", in_forms())
def test_other_forms_of_numbers(form):
    numbers = np.where(X > -0.5, X, 0.0)
    expected = clone(TREE).fit(numbers, Y)
    table = in_forms()[form](numbers)
    model = clone(TREE).fit(table, Y)
    assert model.tree_ == expected.tree_
    assert_array_equal(model.predict_proba(table), expected.predict_proba(numbers))
    assert_array_equal(model.apply(table[:5]), expected.apply(numbers[:5]))


def test_targets_of_another_byte_order_and_decimals():
    model = ObliqueTreeRegressor(2, optimizer=None, leaf="constant")
    expected = clone(model).fit(X, X[:, 0]).predict(X)
    for y in (X[:, 0].astype(">f8"), [Decimal(str(value)) for value in X[:, 0]]):
        assert_array_equal(clone(model).fit(X, y).predict(X), expected)
    assert_array_equal(clone(TREE).fit(X, Y.astype(">i4")).predict(X), clone(TREE).fit(
        X, Y).predict(X))


def test_enums_of_polars_are_categories():
    pl = pytest.importorskip("polars")
    table = frame()[["a", "b"]]
    enum = pl.DataFrame({"a": X[:, 0], "b": pl.Series(table["b"].tolist(), dtype=pl.Enum(
        ["high", "low", "none"]))})
    expected, model = clone(TREE).fit(table, LABELS), clone(TREE).fit(enum, LABELS)
    assert model.encoded_feature_names_ == expected.encoded_feature_names_
    assert_array_equal(model.predict(enum), expected.predict(table))
    labels = pl.Series(LABELS.tolist(), dtype=pl.Enum(["few", "some", "many"]))
    assert_array_equal(clone(TREE).fit(enum, labels).predict(enum), expected.predict(table))


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@BOTH
def test_matrices_of_numpy_are_refused(estimator):
    with pytest.raises(TypeError, match=r"np.matrix is not supported.*asarray"):
        estimator(2, optimizer=None).fit(np.asmatrix(X), Y)
    model = estimator(2, optimizer=None).fit(X, Y)
    with pytest.raises(TypeError, match=r"np.matrix is not supported.*asarray"):
        model.predict(np.asmatrix(X))
