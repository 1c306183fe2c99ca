"""Values of X and y of an unusual kind: a right answer, or an error that says what to do."""

from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

from ngdt import (
    ObliqueBoostingRegressor,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    TAOPathCV,
    export_text,
)
from ngdt.export import export_graphviz, export_sql
from ngdt.initializers import ModelTree
from ngdt.optimizers import LinearLeaves

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

X = np.random.default_rng(0).normal(size=(20, 2))
Y = (X[:, 0] > 0).astype(float)

# --- targets ----------------------------------------------------------------------------------


DATES = np.array(["2020-01-01"] * 10 + ["2021-01-01"] * 10, dtype="M8[D]")


def tree():
    return ObliqueTreeClassifier(2, optimizer=None)


TIMES = pytest.mark.parametrize("times", [
    DATES, DATES - DATES[0], list(DATES), (DATES - DATES[0]).tolist(), DATES.astype(object),
    pd.Series(DATES), pd.Series(DATES).dt.tz_localize("UTC"), pd.DataFrame({"day": DATES}),
    pl.Series(DATES)], ids=lambda times: type(times).__name__)
REGRESSORS = pytest.mark.parametrize("regressor", [
    ObliqueTreeRegressor(2, optimizer=None), ObliqueForestRegressor(4, optimizer=None),
    ObliqueBoostingRegressor(ObliqueForestRegressor(4, optimizer=None))], ids=str)


@TIMES
@REGRESSORS
def test_dates_as_targets_of_regression(regressor, times):
    with pytest.raises(TypeError, match=r"^y: .*, but Obl.* dates to the days since one"):
        regressor.fit(X, times)


@pytest.mark.parametrize("make", [
    np.array, list, lambda y: y.astype(object), pd.Series, pd.DatetimeIndex,
    lambda y: pd.DatetimeIndex(y).tz_localize("UTC")])
@pytest.mark.parametrize("estimator", [
    tree(), ObliqueTreeRegressor(2, optimizer=None), ObliqueForestRegressor(2, optimizer=None)],
    ids=str)
def test_dates_that_are_missing_in_targets(estimator, make):
    with pytest.raises(ValueError, match="y contains missing values: leave those samples out"):
        estimator.fit(X, make(np.where(np.arange(20) < 10, np.datetime64("NaT", "D"), DATES)))


def test_dates_may_be_labels():
    assert tree().fit(X, DATES).classes_.tolist() == sorted(set(DATES.tolist()))


@REGRESSORS
def test_bytes_as_targets_of_regression(regressor):
    with pytest.raises(ValueError, match=r"^y: .*b'a'.*predicts numbers"):
        regressor.fit(X, np.array([b"a", b"b"] * 10))


# --- columns -------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [{0, 1}, {0: 1}, set(), [[0, 1]], [["x0"]], [[0], [0, 1]]],
    ids=str)
def test_columns_that_are_no_list_are_refused(columns):
    with pytest.raises(ValueError, match=r"^categorical_features(:| must be a list of names)"):
        ObliqueTreeClassifier(2, optimizer=None, categorical_features=columns).fit(X, Y)
    model = ObliqueTreeClassifier(2, optimizer=None, leaf=LinearLeaves(features=columns))
    with pytest.raises(ValueError, match=r"^features of leaf(:| must be a list of names)"):
        model.fit(X, Y)
    fitted = tree().fit(X, Y)
    with pytest.raises(ValueError, match=r"^fixed(:| must be a list of names)"):
        fitted.explain(X[:1])[0].changes_of_one_column(fixed=columns)


@pytest.mark.parametrize(("parameters", "message"), [
    ({"categorical_features": "job"}, r"^categorical_features must be a list of names, .* or "
     r"'from_dtype', got 'job'$"),
    ({"categorical_features": 1}, r"^categorical_features must be a .*, got 1$"),
    ({"categorical_features": "from_dtypes"}, r"got 'from_dtypes'. Did you mean 'from_dtype'\?$"),
    ({"leaf": LinearLeaves(features="age")}, r"^features of leaf must be a list of names, .* or "
     r"'auto', or 'all', or 'path', or 'lasso', got 'age'$"),
    ({"leaf": LinearLeaves(features="pth")}, r"got 'pth'. Did you mean 'path'\?$"),
    ({"optimizer": LinearLeaves(features="age")},
     r"^features must be a list of indices below 5, .*, got 'age'. Names .* parameter leaf"),
    ({"optimizer": LinearLeaves(features=["age"])}, r"^features must .*, got \['age'\]. Names"),
    ({"optimizer": LinearLeaves(features=[5])}, r"^features must be a .* below 5, .*, got \[5\]"),
    ({"init": ModelTree(features="age"), "optimizer": None}, "^features must be a list of indices"),
    *(({"monotonic_cst": given},
       r"^monotonic_cst must (have an entry|be an array-like of) -1, 0 or 1")
      for given in ("age", {"age"}, ["age"], ["age", "job"], 1, np.array(["age"], object))),
    ({"monotonic_cst": {"agee": 1}},
     r"^monotonic_cst contains 1 unexpected feature names: \['agee'\]"),
], ids=str)
def test_a_column_that_is_given_otherwise_than_in_a_list(parameters, message):
    frame = pd.DataFrame({"age": np.arange(20.0), "job": ["a", "b", "c", "d"] * 5})
    for model in (ObliqueTreeRegressor(2, random_state=0),
                  ObliqueForestRegressor(2, max_depth=2, random_state=0)):
        with pytest.raises(ValueError, match=message):
            model.set_params(**parameters).fit(frame, np.arange(20.0))


def test_names_in_a_string_are_no_list_of_names():
    model = tree().fit(X, Y)
    for name in ("sample_weight", "groups"):
        with pytest.raises(ValueError, match=rf"^{name}: .*, got 'x0'. Give a column, such as tab"):
            tree().fit(X, Y, **{name: "x0"})
    with pytest.raises(ValueError, match=r"^fixed must be .* columns, got 'x0'$"):
        model.explain(X[:1])[0].changes_of_one_column(fixed="x0")
    for write in (export_text, export_graphviz):
        with pytest.raises(ValueError, match=r"^feature_names must be .* 2 names, got 'ab'$"):
            write(model, feature_names="ab")
    # Its letters would be columns.
    for columns in ("id", 1):
        with pytest.raises(TypeError, match=rf"columns a list of names, got .* {columns!r}$"):
            export_sql(model, columns=columns)


# --- integers beyond floats ----------------------------------------------------------------------


@pytest.mark.parametrize("make", [
    lambda values: np.array(values, dtype=object), list,
    lambda values: pd.DataFrame(values, columns=["x0", "x1"], dtype=object)])
def test_integers_beyond_floats_in_samples(make):
    given = make([[10**400, 1]] * 20)
    expected = "holds an integer beyond the largest float64"
    for model in (tree(), ObliqueForestRegressor(2, optimizer=None)):
        with pytest.raises(ValueError, match=rf"^X(: column 'x0')? {expected}"):
            model.fit(given, Y)
    fitted = tree().fit(make([[1.0, 0.0], [0.0, 1.0]]), [0, 1])
    with pytest.raises(ValueError, match=rf"^X(: column 'x0')? {expected}"):
        fitted.predict(given)
    with pytest.raises(ValueError, match=rf"^X(: column 'x0')? {expected}"):
        TAOPathCV(ObliqueTreeClassifier(
            2, optimizer="tao", validation_fraction=None), Cs=2).fit(given, Y)


@pytest.mark.parametrize(("values", "type_"), [
    ([2**63 - 1, None], "int64"), ([-(2**63), 2**53 + 1], "int64"), ([2**64 - 1, 0], "uint64")])
def test_integers_that_no_float_is_equal_to(values, type_):
    pa = pytest.importorskip("pyarrow")
    arrow = pa.array(values * 10, type_)
    expected = pd.DataFrame({"x0": [np.nan if x is None else float(x) for x in values] * 10})
    fitted = tree().fit(expected, Y)
    for table in (pa.table([arrow], ["x0"]), pd.DataFrame({
            "x0": pd.array(arrow, pd.ArrowDtype(arrow.type))})):
        assert tree().fit(table, Y).tree_ == fitted.tree_
        assert (fitted.predict(table) == fitted.predict(expected)).all()


@REGRESSORS
@pytest.mark.parametrize("make", [
    list, partial(np.array, dtype=object), partial(pd.Series, dtype=object)])
def test_integers_beyond_floats_in_targets(regressor, make):
    with pytest.raises(ValueError, match=r"^y holds an integer beyond the largest float64"):
        regressor.fit(X, make([10**400, 1] * 10))


def test_integers_beyond_floats_in_weights():
    with pytest.raises(ValueError, match=r"^sample_weight holds an integer beyond the largest"):
        tree().fit(X, Y, sample_weight=[10**400] * 20)


# --- classes of batches --------------------------------------------------------------------------


@pytest.mark.parametrize(("classes", "message"), [
    ([0.0, np.nan, 1.0], "a label is missing"), ([0.0, np.inf, 1.0], "every label must be finite"),
    (["a", None], "a label is missing"), ([[0], [1, 2]], "inhomogeneous"),
    ([[0, 1]], "expected a list of labels"), (1, "expected a list of labels"),
    ([0.0, 1.5], "Unknown label type: continuous"),
    (np.array(["a", 1], dtype=object), "Unknown label type: int and str objects"),
    (np.array(["NaT", "2020-01-01"], dtype="M8[D]"), "a label is missing"), ([b"a"], "bytes"),
    ({0, 1}, "expected a list of labels")], ids=str)
def test_classes_that_are_no_labels(classes, message):
    if message == "bytes":
        pytest.importorskip("sklearn", "1.7")   # which refuses them
    model = ObliqueTreeClassifier(2, optimizer="ssgd", validation_fraction=None)
    with pytest.raises((ValueError, TypeError), match=rf"^classes: .*{message}"):
        model.partial_fit(X, Y, classes=classes)
    assert not hasattr(model, "classes_")


# --- masks ---------------------------------------------------------------------------------------


def test_masked_values_are_refused():
    mask = np.zeros(20, dtype=bool)
    mask[3:9] = True
    masked = np.ma.masked_array(X, np.column_stack([mask, mask]))
    fitted = tree().fit(X, Y)
    path = TAOPathCV(ObliqueTreeClassifier(2, optimizer="tao", validation_fraction=None), Cs=2)
    for action in (lambda: tree().fit(masked, Y), lambda: fitted.predict(masked),
                   lambda: path.fit(masked, Y)):
        with pytest.raises(ValueError, match=r"^X is an array with masked .*filled\(numpy.nan\)"):
            action()
    with pytest.raises(ValueError, match=r"^X is an array with masked values"):
        fitted.tree_.apply(masked)
    with pytest.raises(ValueError, match=r"^y is an array with masked .* leave those samples out"):
        tree().fit(X, np.ma.masked_array(Y, mask))
    with pytest.raises(ValueError, match=r"^sample_weight is an array with masked"):
        tree().fit(X, Y, sample_weight=np.ma.masked_array(Y, mask))
    filled = tree().fit(masked.astype(float).filled(np.nan), mask)
    assert "x0 is missing" in filled.encoded_feature_names_
    assert tree().fit(np.ma.masked_array(X), Y).tree_ == fitted.tree_


@REGRESSORS
def test_masked_targets_are_refused(regressor):
    with pytest.raises(ValueError, match=r"^y is an array with masked"):
        regressor.fit(X, np.ma.masked_array(Y, Y > 0))


# --- single samples ------------------------------------------------------------------------------


FRAME = pd.DataFrame({"age": X[:, 0], "sex": np.where(X[:, 1] > 0, "female", "male")})


@pytest.mark.parametrize("sample", [
    FRAME.iloc[0], FRAME.iloc[0].tolist(), FRAME.iloc[0].to_numpy(), FRAME["age"], FRAME["sex"],
    tuple(FRAME.iloc[0]), X[0], X[0].tolist(), pl.Series(X[0])],
    ids=lambda sample: type(sample).__name__)
@pytest.mark.parametrize("model", [tree(), ObliqueForestRegressor(2, optimizer=None)], ids=str)
def test_a_sample_without_rows_and_columns(model, sample):
    fitted = clone(model).fit(FRAME, Y)
    message = r"^Expected 2D array, got 1D .* Reshape your data: a single sample is X.iloc\[\[0\]\]"
    with pytest.raises(ValueError, match=message):
        fitted.predict(sample)
    with pytest.raises(ValueError, match=message):
        clone(model).fit(sample, Y)
    assert fitted.predict(FRAME.iloc[[0]]) == fitted.predict(FRAME)[:1]
