"""Messages of common mistakes: they name the fault and a remedy."""

import inspect
import pickle
import re
import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import ngdt
from ngdt import (
    ObliqueBoostingRegressor,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    TAOPathCV,
    tao_path,
)
from ngdt._methods.greedy.single_leaf import SingleLeaf
from ngdt.deep import DeepTreeClassifier, DeepTreeRegressor
from ngdt.export import export_text
from ngdt.initializers import CO2
from ngdt.losses import QuantileLoss
from ngdt.optimizers import TAO, Annealed
from ngdt.persistence import InvalidModelFile

ESTIMATORS = [ObliqueTreeClassifier, ObliqueTreeRegressor, ObliqueForestClassifier,
              ObliqueForestRegressor]
ALL = pytest.mark.parametrize("estimator", ESTIMATORS)


def tree():
    return ObliqueTreeClassifier(2, optimizer=None)


# --- parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("made", "message"), [
    *((each, f"^{each.__name__}.__init__.* argument 'max_dept'") for each in (
        *ESTIMATORS, DeepTreeClassifier, DeepTreeRegressor, TAO)),
    (SingleLeaf, "takes no arguments")])
def test_unknown_parameters_are_named(made, message):
    with pytest.raises(TypeError, match=message):
        made(max_dept=3)
    with pytest.raises(ValueError, match="Invalid parameter 'max_dept' for estimator"):
        made().set_params(max_dept=3)
    with pytest.raises(ValueError, match="Invalid parameter 'max_dept'"):
        ObliqueTreeClassifier().set_params(max_dept__steps=3)


@pytest.mark.parametrize(("estimator", "taken"), [
    *((each, "X_val, y_val, sample_weight_val and groups;") for each in ESTIMATORS),
    (ObliqueBoostingRegressor, "X, y, sample_weight and groups;"),
    (DeepTreeClassifier, "X, y and sample_weight;")])
def test_fit_says_what_it_takes(estimator, taken, iris):
    message = rf"^{estimator.__name__}\.fit\(\) got .* argument 'eval_set': it takes .*{taken} all"
    with pytest.raises(TypeError, match=message):
        estimator().fit(*iris, eval_set=[iris])


@ALL
def test_known_parameters_are_taken(estimator):
    params = estimator().get_params()
    assert list(inspect.signature(estimator).parameters) == list(
        inspect.signature(estimator.__init__).parameters)[1:]
    assert estimator(**params).get_params() == clone(estimator(**params)).get_params() == params


def test_parameters_of_objects_need_an_object(iris):
    with pytest.raises(ValueError, match=r"^optimizer__steps: optimizer='auto' has no param"):
        GridSearchCV(ObliqueTreeClassifier(), {"optimizer__steps": [3]}, cv=2).fit(*iris)
    with pytest.raises(ValueError, match=r"optimizer=None has .* or optimizer=TAO\(C=0.1\)$"):
        ObliqueTreeClassifier(optimizer=None).set_params(optimizer__C=0.1)
    model = ObliqueTreeRegressor(loss=QuantileLoss(0.5), leaf="linear")
    for wrong in ("loss__quantile", "leaf__penalty", "max_depth__steps"):
        with pytest.raises(ValueError, match=f"^{wrong}: .* has no parameters that can be set"):
            model.set_params(**{wrong: 0.9})
    model = ObliqueTreeClassifier().set_params(optimizer=Annealed(), optimizer__steps=7)
    assert model.optimizer.steps == 7
    assert model.set_params(optimizer=TAO(), optimizer__C=0.5).optimizer.C == 0.5


@ALL
def test_no_job_at_all(estimator, iris):
    with pytest.raises(ValueError, match=r"'n_jobs' parameter .* Got 0 instead"):
        estimator(n_jobs=0).fit(*iris)


@pytest.mark.parametrize(("estimator", "loss", "message"), [
    (ObliqueTreeRegressor, "mae", "one of ['absolute_error', "),
    (ObliqueTreeRegressor, "squared_eror", "Did you mean 'squared_error'?"),
    (ObliqueTreeRegressor, "poison", "Did you mean 'poisson'?"),
    (ObliqueTreeClassifier, "entropy", "one of ['bounded', 'log_loss'] or a Loss object"),
])
def test_losses_of_the_task_are_offered(estimator, loss, message, iris):
    with pytest.raises(ValueError, match="loss must be one of") as caught:
        estimator(loss=loss).fit(*iris)
    assert message in str(caught.value)
    assert ("'log_loss'" in str(caught.value)) == (estimator is ObliqueTreeClassifier)


def test_the_parameter_that_was_given_is_named(iris):
    with pytest.raises(ValueError, match=r"^optimizer=GTO\(\) is for classification only"):
        ObliqueTreeRegressor(optimizer="gto").fit(*iris)
    with pytest.raises(ValueError, match=r"^optimizer must be 'auto', None, one of \['annealed', "):
        ObliqueTreeClassifier(optimizer="adam").fit(*iris)
    with pytest.raises(ValueError, match=r"optimizer=\[\] .* pass None"):
        ObliqueTreeClassifier(optimizer=[]).fit(*iris)


def test_partial_fit_says_why_it_is_not_there(iris):
    with pytest.raises(AttributeError, match="no attribute 'partial_fit'") as caught:
        tree().partial_fit(*iris)
    assert "no partial_fit with optimizer=None" in str(caught.value.__cause__)
    assert not hasattr(tree(), "partial_fit")
    assert hasattr(ObliqueTreeClassifier(), "partial_fit")
    assert "sample" in ObliqueTreeClassifier.partial_fit.__doc__


@pytest.mark.parametrize(("model", "name"), [
    (ObliqueTreeClassifier(leaf="curved"), "LinearLeaves"),
    (ObliqueTreeClassifier(optimizer=TAO(loss="hinge")), "Loss"),
    (ObliqueTreeClassifier(init=CO2(optimizer="sgd")), "SGD"),
    (ObliqueBoostingRegressor(ObliqueTreeRegressor()), "ObliqueForestRegressor")])
def test_classes_are_named_without_private_modules(model, name):
    with pytest.raises(ValueError, match=rf" an instance of '{name}'(\.| or None\.) Got "):
        model.fit(X, Y)


# --- data -----------------------------------------------------------------------------------------


def test_texts_in_lists_and_dates():
    with pytest.raises(ValueError, match=r"'Rome'.* give a data frame"):
        tree().fit([["Rome", 2.0], ["Oslo", 3.0]], [0, 1])
    dates = np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]")[:, None]
    with pytest.raises(TypeError, match="X holds dates or times: convert them to numbers"):
        tree().fit(dates, [0, 1])


def test_columns_of_text_that_spell_numbers_say_how_to_convert_them():
    table = pytest.importorskip("pandas").DataFrame({"price": ["0.5", "$1.25"] * 20})
    with pytest.warns(UserWarning, match=(
            r"Convert them to numbers, by pandas\.to_numeric once signs .* are removed, .*; if "
            r"they are codes, say so by X\.astype\(\{'price': 'category'\}\)$")):
        tree().fit(table, np.arange(40) % 2)


def test_targets_of_another_task(iris):
    X, y = iris
    with pytest.raises(ValueError, match=r"got an array of shape \(150, 2\).*MultiOutputClassif"):
        tree().fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="type: continuous, in y: for amounts, use a regressor"):
        tree().fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"^y: .* float: 'no', but .* numbers: use a classifier"):
        ObliqueTreeRegressor().fit(X, np.array(["no", "yes", "no"])[y])


# --- names and models -----------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "message"), [
    ("export_sql", "it is ngdt.export.export_sql"), ("TAO", "it is ngdt.optimizers.TAO"),
    ("explain", "a method of fitted estimators"),
    ("export_txt", "Did you mean 'export_text'?"), ("unheard_of", "no attribute 'unheard_of'")])
def test_names_in_other_modules(name, message):
    with pytest.raises(AttributeError) as caught:
        getattr(ngdt, name)
    assert message in str(caught.value)


def test_a_path_is_printed_as_a_table(iris):
    path = tao_path(*iris, Cs=[1.0, 0.1])
    head, *lines = str(path).splitlines()
    assert re.split("  +", head.strip()) == ["C", "train error", "nonzeros", "splits", "leaves"]
    assert [float(line.split()[0]) for line in lines] == [1.0, 0.1]
    assert [int(line.split()[-1]) for line in lines] == path.n_leaves.tolist()
    assert len({len(line) for line in (head, *lines)}) == 1
    X, y = iris
    assert "validation error" in str(tao_path(X, y, Cs=[0.1], X_val=X, y_val=y))


def test_a_single_tree_of_boosting(iris):
    X, y = iris
    model = ObliqueBoostingRegressor(ObliqueForestRegressor(4, optimizer=None)).fit(X, y)
    with pytest.raises(TypeError, match=r"got ObliqueBo.* such as estimators_\[0\]$"):
        export_text(model)
    with pytest.raises(TypeError, match=r"got ObliqueForest.* such as estimators_\[0\]$"):
        export_text(model.estimators_[0])
    assert export_text(model.estimators_[0].estimators_[0])


# --- data ----------------------------------------------------------------------------------------

X = np.random.default_rng(0).normal(size=(40, 2))
Y = (X[:, 0] > 0) * 1


@ALL
def test_a_fit_without_y(estimator):
    with pytest.raises(ValueError, match=f"This {estimator.__name__} estimator requires y"):
        estimator(optimizer=None).fit(X)


@ALL
@pytest.mark.parametrize("y", [
    set(range(40)), (k % 2 for k in range(40)), {k: k % 2 for k in range(40)}.values()])
def test_what_has_no_order(estimator, y):
    kind = type(y).__name__
    with pytest.raises(TypeError, match=f"^y is a {kind}, .*: pass a list, or"):
        estimator(optimizer=None).fit(X, y)
    for name in ("sample_weight", "groups"):
        with pytest.raises(TypeError, match=f"^{name} is a {kind}, .*: pass a list, or"):
            estimator(optimizer=None).fit(X, Y, **{name: y})


@ALL
@pytest.mark.parametrize(("gap", "name"), [(np.nan, "NaN"), (-np.inf, "infinity")])
def test_targets_that_are_no_numbers(estimator, gap, name):
    y = np.append(Y[:-1], gap)
    with pytest.raises(ValueError, match=f"y contains {name}.*: leave those samples out, or give"):
        estimator(optimizer=None).fit(X, y)


@ALL
def test_targets_that_are_no_list(estimator):
    with pytest.raises(ValueError, match=r"^y: expected .* got 'price'.* table\['price'\]$"):
        estimator(optimizer=None).fit(X, "price")
    with pytest.raises(TypeError, match=r"^y is a dict, which is no list .*: pass a list"):
        estimator(optimizer=None).fit(X, dict(enumerate(Y)))
    frame = pytest.importorskip("polars").LazyFrame({"price": np.arange(40.0)})
    with pytest.raises(TypeError, match=r"^y is a LazyFrame, .* y.collect\(\) of a lazy frame$"):
        estimator(optimizer=None).fit(X, frame)


@ALL
@pytest.mark.parametrize(("given", "message"), [
    ((row for row in X), r"^X: .* got '<generator .* pass list\(X\) of a gen"),
    (["some text", "other text"] * 20, r"DataFrame\(\{'name': X\}\).*made numbers by a vectorizer"),
    ({"a": X[:, 0], "b": X[:, 1]}, r"got 1D dict.* as dicts are pandas.DataFrame\(X\)"),
    ({"a": 1.0, "b": "x"}, r"got 1D dict.*or pandas.DataFrame\(\[X\]\) of a dict"),
    ([{"a": 1.0, "b": "x"}] * 40, r"got 1D list.* rows as dicts are pandas.DataFrame\(X\)")])
def test_what_is_no_table(estimator, given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        estimator(optimizer=None).fit(given, Y)
    fitted = estimator(optimizer=None).fit(X, Y)
    if hasattr(given, "__len__"):
        with pytest.raises(ValueError, match=message):
            fitted.predict(given)


@ALL
@pytest.mark.parametrize("path", ["data.csv", Path("data.csv")])
def test_a_path_is_no_table(estimator, path):
    fitted = estimator(optimizer=None).fit(X, Y)
    for call in (fitted.predict, fitted.explain, lambda given: fitted.fit(given, Y)):
        with pytest.raises(TypeError, match=r"^X: expected .*'data.csv'.* by pandas.read_csv, and"):
            call(path)


@pytest.mark.parametrize("write", [
    joblib.dump, lambda model, path: joblib.dump(model, path, compress=3),
    lambda model, path: path.write_bytes(pickle.dumps(model))],
    ids=["joblib", "compressed", "pickle"])
def test_a_pickle_is_no_model_file(write, tmp_path):
    write(tree(), tmp_path / "x.joblib")
    with pytest.raises(InvalidModelFile, match=r"x.joblib is no valid.* by joblib.load"):
        ngdt.load(tmp_path / "x.joblib")


# --- data from which nothing, or too much, can be learnt -----------------------------------------


@ALL
@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_target_that_is_left_in_the_table(estimator, package, iris):
    table = pytest.importorskip(package).DataFrame(
        {"width": iris[0][:, 0], "length": iris[0][:, 1], "class": iris[1]})
    small = {"optimizer": None} | ({"n_estimators": 2} if "Forest" in estimator.__name__ else {})
    with pytest.warns(UserWarning, match=r"X: column 'class' is y itself"):
        estimator(**small).fit(table, table["class"])
    if "Regressor" in estimator.__name__:
        with pytest.warns(UserWarning, match=r"X: column 'class' is a column of y"):
            estimator(**small).fit(table[["length", "class"]], table[["width", "class"]])
    # The name alone says nothing.
    estimator(**small).fit(table, table["class"] % 2)


@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_a_target_that_is_a_table_of_pyarrow():
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    table = pa.table({"width": np.arange(20.0), "class": [0, 1] * 10})
    y, tree = table.select(["class"]), ObliqueTreeClassifier(1, optimizer=None)
    other = pd.DataFrame({"class": [0, 1] * 10})
    assert tree.fit(other, y).score(other, y) == 1.0
    with pytest.warns(UserWarning, match=r"X: column 'class' is a column of y"):
        tree.fit(table, y)


@pytest.mark.parametrize("estimator", ESTIMATORS[:2])
@pytest.mark.parametrize("n_samples", [1, 40])
def test_targets_that_are_all_equal(estimator, n_samples, iris):
    X = iris[0][:n_samples]
    with pytest.warns(UserWarning, match="^y is the same in all samples"):
        model = estimator().fit(X, np.full(n_samples, 3))
    assert (model.predict(iris[0]) == 3).all()


def test_class_weights_are_no_advice_for_amounts():
    X, y = np.eye(40), np.arange(40.0) % 7
    with pytest.warns(UserWarning, match=r"single leaf on held-out.* in any case$"):
        ObliqueTreeRegressor(random_state=0).fit(X, y)


@pytest.mark.parametrize("estimator", ESTIMATORS[:2])
@pytest.mark.parametrize("limits", [
    {"min_samples_leaf": 60}, {"min_samples_leaf": 0.4}, {"min_samples_split": 1.0}])
def test_limits_that_allow_no_split(estimator, limits):
    model = estimator(**limits, leaf="constant")
    with pytest.warns(UserWarning, match=r"^min_samples_leaf .* and min_samples_split .* smaller"):
        model.fit(X, Y)
    assert model.tree_.n_leaves == 1


# --- warnings -------------------------------------------------------------------------------------


def fitted_on_cities():
    return tree().fit(cities("Rome"), np.arange(40) % 2)


def cities(name):
    pd = pytest.importorskip("pandas")
    return pd.DataFrame({"city": ["Oslo", name] * 20, "age": np.arange(40.0)})


@pytest.mark.parametrize("call", [
    lambda: fitted_on_cities().predict(cities("Mars")),
    lambda: fitted_on_cities().score(cities("Mars"), np.arange(40) % 2),
    lambda: fitted_on_cities().explain(cities("Mars")[1:2]),
    lambda: make_pipeline(tree()).fit(cities("Rome"), np.arange(40) % 2).predict(cities("Mars")),
    lambda: export_text(fitted_on_cities(), X=cities("Mars")),
    lambda: tree().fit(cities("Rome").replace({"Oslo": "1", "Rome": "2"}), np.arange(40) % 2),
    lambda: tree().fit(np.eye(400), np.arange(400.0) // 3),
    lambda: ObliqueTreeRegressor().fit(np.eye(9), np.zeros(9)),
    lambda: ObliqueForestRegressor(2, optimizer=None, oob_score=True, random_state=0).fit(
        np.eye(9), np.arange(9)),
    lambda: TAOPathCV(ObliqueTreeClassifier(2, optimizer="tao", max_time=1e-9), Cs=[1.0], cv=2).fit(
        cities("Rome"), np.arange(40) % 2)])
def test_warnings_point_at_the_line_of_the_user(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert caught
    assert {each.filename for each in caught} == {__file__}
