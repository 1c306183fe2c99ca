"""Data frames, categories and missing values."""

import pickle
import re
import tracemalloc
import warnings
from datetime import date
from decimal import Decimal
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import chi2_contingency
from sklearn.base import clone, is_classifier
from sklearn.tree import DecisionTreeClassifier

from helpers import in_nightly
from ngdt import (
    ObliqueForestClassifier,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    TAOPathCV,
)
from ngdt._encoding.columns import ArrayColumns, as_columns
from ngdt.optimizers import TAO

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
N = 200


def columns(seed=0):
    """A table of every type of column, with gaps in all but the first two."""
    rng = np.random.default_rng(seed)

    def with_gaps(values, share=0.1):
        return [None if gap else value
                for value, gap in zip(values.tolist(), rng.random(N) < share, strict=True)]

    return {
        "age": rng.normal(40, 10, N).round(),
        "member": rng.random(N) < 0.5,
        "income": with_gaps(rng.lognormal(10, 1, N)),
        "children": with_gaps(rng.integers(0, 4, N)),
        "city": with_gaps(rng.choice(["Rome", "Oslo", "Paris"], N)),
        "grade": with_gaps(rng.choice(["a", "b", "c"], N)),
    }


def pandas_frame(given):
    return pd.DataFrame({
        **given, "income": pd.Series(given["income"], dtype=float),
        "children": pd.array(given["children"], dtype="Int64"),
        "grade": pd.Categorical(given["grade"])})


def polars_frame(given):
    return pl.DataFrame(given).with_columns(pl.col("grade").cast(pl.Categorical))


def by_hand(given):
    """Numbers, indicators of gaps and one-hot categories, obviously right."""
    numbers = ["age", "member", "income", "children"]
    encoded = []
    for name in numbers:
        values = np.array([np.nan if v is None else v for v in given[name]], dtype=float)
        encoded.append(np.where(np.isnan(values), np.nanmean(values), values))
    for name in ("income", "children"):
        encoded.append([value is None for value in given[name]])
    for name in ("city", "grade"):
        for category in [*sorted({v for v in given[name] if v is not None}), None]:
            encoded.append([value == category for value in given[name]])
    return np.array(encoded, dtype=float).T


def target(given):
    rome = np.array([city == "Rome" for city in given["city"]])
    gaps = [[value is None for value in values] for values in given.values()]
    return (rome & (given["age"] > 40)) | np.any(gaps, axis=0)


FRAMES = pytest.mark.parametrize("frame", [pandas_frame, polars_frame])
ESTIMATORS = pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueTreeRegressor])


@ESTIMATORS
@pytest.mark.parametrize(("frame", "optimizer"), [
    (pandas_frame, "auto"), (pandas_frame, None), (pandas_frame, "tao"), (polars_frame, None),
    *in_nightly([(polars_frame, "auto"), (polars_frame, "tao")])])
def test_a_frame_is_trained_on_as_if_it_were_encoded_by_hand(frame, estimator, optimizer):
    given = columns()
    y = target(given)
    model = estimator(3, optimizer=optimizer, random_state=0)
    fitted, expected = clone(model).fit(frame(given), y), model.fit(by_hand(given), y)
    assert fitted.tree_ == expected.tree_
    np.testing.assert_allclose(fitted.encode(frame(given)), by_hand(given), rtol=1e-15)
    other = columns(1)
    encoded = by_hand(other)
    for j, name in ((2, "income"), (3, "children")):
        gaps = [value is None for value in other[name]]
        encoded[gaps, j] = np.mean([v for v in given[name] if v is not None])
    np.testing.assert_array_equal(fitted.predict(frame(other)), expected.predict(encoded))
    assert fitted.n_features_in_ == len(fitted.feature_importances_) == 6
    np.testing.assert_array_equal(fitted.feature_names_in_, list(given))
    if optimizer is None:       # no split weighs several categories, so their effects add up
        of_hand = expected.feature_importances_
        np.testing.assert_allclose(
            fitted.feature_importances_,
            [*of_hand[:2], of_hand[2] + of_hand[4], of_hand[3] + of_hand[5], of_hand[6:10].sum(),
             of_hand[10:].sum()], atol=1e-12)
    assert fitted.feature_importances_.sum() == pytest.approx(1.0)


def test_pandas_and_polars_give_the_same_tree():
    given = columns()
    one, other = (ObliqueTreeClassifier(3, random_state=0).fit(frame(given), target(given))
                  for frame in (pandas_frame, polars_frame))
    assert one.tree_ == other.tree_
    np.testing.assert_array_equal(
        one.predict(pandas_frame(columns(1))), other.predict(polars_frame(columns(1))))


@pytest.mark.parametrize("categorical", [
    ["city", "grade"], ["city", "grade", "city"], [4, 5], [5, 4, 5], [False] * 4 + [True] * 2])
def test_categorical_features_may_be_named_numbered_or_masked(categorical):
    given = columns()
    frame, y = pandas_frame(given), target(given)
    named = ObliqueTreeClassifier(3, optimizer=None, categorical_features=categorical)
    assert named.fit(frame, y).tree_ == ObliqueTreeClassifier(
        3, optimizer=None).fit(frame, y).tree_


def test_numbers_may_be_categories():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 6, N), rng.normal(size=N)])
    y = np.isin(X[:, 0], [1, 4])
    fitted = ObliqueTreeClassifier(
        1, optimizer="tao", categorical_features=[0], validation_fraction=None).fit(X, y)
    assert fitted.tree_.n_features == 7
    assert fitted.score(X, y) == 1.0
    as_objects = X.astype(object)
    as_objects[:, 0] = [f"c{value:.0f}" for value in X[:, 0]]
    strings = clone(fitted).fit(as_objects, y)
    assert strings.tree_ == fitted.tree_
    assert strings.score(as_objects, y) == 1.0


def test_rare_and_unknown_categories_share_a_place():
    city = ["Rome"] * 50 + ["Oslo"] * 50 + ["Ulm", "Bern", "Graz"] * 4
    y = np.array([0] * 50 + [1] * 50 + [2] * 12)
    fitted = ObliqueTreeClassifier(2, optimizer=None).fit(pd.DataFrame({"city": city}), y)
    assert fitted.tree_.n_features == 3
    new = pd.DataFrame({"city": ["Rome", "Oslo", "Ulm", "Mars", None]})
    with pytest.warns(UserWarning, match="40 % of column 'city', such as 'Mars'"):
        predicted = fitted.predict(new)
    np.testing.assert_array_equal(predicted, [0, 1, 2, 2, 2])


@pytest.mark.filterwarnings("ignore:X. values that did not occur")
@pytest.mark.parametrize(("n_few", "weights"), [(0, None), (4, None), (20, 0.0)])
def test_unknown_categories_without_rare_ones_are_the_mean_of_the_known(n_few, weights):
    """So are categories of fewer than five samples, and those of samples without weight."""
    few = ["Mars", None, "Moon", "Ulm"] * 5
    frame = pd.DataFrame({"city": ["Rome", "Oslo", "Lima", "Rome"] * 15 + few[:n_few]})
    weight = None if weights is None else np.repeat([1.0, weights], [60, n_few])
    fitted = ObliqueTreeClassifier(2, optimizer=None).fit(
        frame, [0, 1] * 30 + [0] * n_few, weight)
    assert fitted.encoded_feature_names_ == ["city = Lima", "city = Oslo", "city = Rome"]
    np.testing.assert_allclose(
        fitted.encode(pd.DataFrame({"city": ["Mars", None]})), [[0.25, 0.25, 0.5]] * 2)


@pytest.mark.filterwarnings("ignore:X. values that did not occur")
@pytest.mark.parametrize(("extra", "name", "unknown"), [
    ([], "city = Rome", 0.75), (["Ulm", None, "Mars"], "city = Rome", 0.75)])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_two_categories_share_a_feature(extra, name, unknown, is_sparse, monkeypatch):
    if is_sparse:
        monkeypatch.setattr("ngdt._encoding.table._MAX_DENSE_BYTES", 0)
        monkeypatch.setattr("ngdt._encoding.table.Table._is_better_sparse", lambda *_: True)
    frame = pd.DataFrame({"city": ["Oslo", *["Rome"] * 3] * 10 + extra})
    y = (frame["city"] == "Rome").to_numpy()
    fitted = ObliqueTreeClassifier(2, optimizer=None).fit(frame, y)
    assert fitted.encoded_feature_names_ == [name]
    found = fitted.encode(pd.DataFrame({"city": ["Oslo", "Rome", "Bern", None]}))
    found = found.toarray() if sparse.issparse(found) else found
    np.testing.assert_allclose(found[:, 0], [0, 1, unknown, unknown], rtol=1e-7)
    assert fitted.score(frame, y) >= 0.95


@pytest.mark.filterwarnings("ignore:X. values that did not occur")
def test_a_category_and_the_rare_or_missing_ones_share_a_feature():
    frame = pd.DataFrame({"city": ["Oslo"] * 30 + ["Ulm", "Bern", "Graz", "Mars"] * 4})
    new = pd.DataFrame({"city": ["Oslo", "Ulm", "Moon", None]})
    fitted = ObliqueTreeClassifier(2, optimizer=None).fit(frame, np.arange(46) < 30)
    assert fitted.encoded_feature_names_ == ["city is rare"]
    assert fitted.encode(new)[:, 0].tolist() == [0, 1, 1, 1]
    frame = pd.DataFrame({"city": ["Oslo"] * 30 + [None] * 10})
    fitted = ObliqueTreeClassifier(2, optimizer=None).fit(frame, np.arange(40) < 30)
    assert fitted.encoded_feature_names_ == ["city is missing"]
    assert fitted.encode(new)[:, 0].tolist() == [0, 0.25, 0.25, 1]
    assert fitted.predict(new).tolist() == [True, True, True, False]


def test_a_large_table_of_many_categories_is_sparse_inside(monkeypatch):
    rng = np.random.default_rng(0)
    code = rng.integers(0, 100, 2000)
    frame = pd.DataFrame({
        "city": [f"city {each}" for each in code], "x": rng.normal(size=2000)})
    y = code % 2
    model = ObliqueTreeClassifier(1, optimizer="tao", validation_fraction=None)
    dense = clone(model).fit(frame, y).encode(frame)
    monkeypatch.setattr("ngdt._encoding.table._MAX_DENSE_BYTES", 2**20)
    fitted = model.fit(frame, y)
    assert fitted._table.is_sparse is True
    np.testing.assert_array_equal(fitted.encode(frame).toarray(), dense)
    assert fitted.score(frame, y) > 0.95


def test_a_table_of_means_of_many_categories_is_dense_inside(monkeypatch):
    """Rows of rare categories that tell nothing have the means of all others, not one number."""
    monkeypatch.setattr("ngdt._encoding.table._MAX_DENSE_BYTES", 2**20)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"city": [f"city {each}" for each in rng.integers(0, 1000, 20_000)]})
    fitted = ObliqueTreeClassifier(1, optimizer=None).fit(frame, rng.integers(2, size=20_000))
    assert len(fitted.encoded_feature_names_) == 255    # without one for the rare
    tracemalloc.start()
    encoded = fitted.encode(frame)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(encoded, np.ndarray)
    assert fitted._table.is_sparse is False     # of Python's type, for files
    np.testing.assert_allclose(encoded.sum(axis=1), 1.0, rtol=1e-6)
    assert peak < 2 * encoded.nbytes


# --- missing values ------------------------------------------------------------------------------


@given(st.integers(0, 99), st.sampled_from([np.float32, np.float64]),
       st.sampled_from([np.asarray, sparse.csr_array]))
def test_gaps_are_the_mean_and_an_indicator(seed, dtype, form):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (40, 4)).astype(dtype)
    gaps = rng.random(X.shape) < 0.2
    gaps[:, 0] = False
    weight = rng.integers(0, 3, 40).astype(float)
    weight[0] = 1.0
    gapped = np.where(gaps, dtype(np.nan), X)
    y = gaps[:, 1] | (rng.random(40) < 0.3)
    fitted = ObliqueTreeClassifier(2, optimizer=None).fit(form(gapped), y, weight)
    known = weight > 0
    n_gaps = gaps[known].sum(axis=0)
    used = [j for j in np.flatnonzero(np.minimum(n_gaps, known.sum() - n_gaps) >= 5)
            if chi2_contingency(
                pd.crosstab(y[known], gaps[known, j]), correction=False).pvalue < 0.05]
    mean = [np.average(X[~gaps[:, j], j], weights=weight[~gaps[:, j]])
            if weight[~gaps[:, j]].any() else 0.0 for j in range(4)]
    expected = np.column_stack([np.where(gaps, mean, X), gaps[:, used]])
    encoded = fitted.encode(form(gapped))
    encoded = encoded.toarray() if sparse.issparse(encoded) else encoded
    np.testing.assert_allclose(encoded, expected, rtol=1e-6, atol=1e-6)
    assert encoded.dtype == dtype


def with_gaps(kind, n_gaps, n=600):
    """Two useful columns and one of noise, in which some training samples have gaps."""
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, 3 * n))
    noise = rng.normal(size=3 * n) if kind == "number" else rng.choice(["x", "y", "z"], 3 * n)
    frame = pd.DataFrame({"a": a, "b": b, "noise": noise})
    y = a + b + rng.logistic(size=3 * n)
    training, rest = frame[:n].copy(), frame[n:]
    training.loc[rng.choice(n, n_gaps, replace=False), "noise"] = None
    return training, y[:n], rest, y[n:], rng.random(2 * n) < 0.5


# Models, and how much of their score they may lose.
OF_GAPS = {
    "default": (ObliqueTreeClassifier(random_state=0), 0.01),
    "constant regression": (ObliqueTreeRegressor(leaf="constant", random_state=0), 0.02),
    "regression": (ObliqueTreeRegressor(random_state=0), 0.02),
    "forest": (ObliqueForestClassifier(
        3, init="random_oblique", optimizer="annealed", random_state=0), 0.01)}


@pytest.mark.filterwarnings("ignore:X. values that did not occur")
@pytest.mark.parametrize(("name", "kind", "n_gaps"), [
    ("default", "number", 20), ("default", "category", 20), ("constant regression", "number", 20),
    ("regression", "category", 20), ("forest", "number", 20),
    *in_nightly(product(OF_GAPS, ["number", "category"], [1, 2, 4, 20]))])
def test_few_gaps_do_not_decide_all_missing_values(name, kind, n_gaps):
    model, most = OF_GAPS[name]
    X, y, new, target, half = with_gaps(kind, n_gaps)
    if is_classifier(model):
        y, target = y > 0, target > 0
    fitted = clone(model).fit(X, y)
    assert "noise is missing" not in fitted.encoded_feature_names_
    complete = fitted.score(new, target)
    for value in [None] if kind == "number" else [None, "new"]:
        gapped = new.assign(noise=new["noise"].where(~half, value))
        assert fitted.score(gapped, target) >= complete - most


@pytest.mark.parametrize("optimizer", ["annealed", "ssgd", "tao", None])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@ESTIMATORS
def test_training_chooses_what_a_gap_means(estimator, form, optimizer):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    gap = rng.random(120) < 0.3
    y = (X[:, 0] > 1.0) | gap          # a gap means: large
    X[gap, 0] = np.nan
    fitted = estimator(3, optimizer=optimizer, random_state=0).fit(form(X), y)
    assert fitted.score(form(X), y) > 0.95


def test_nothing_is_copied_where_nothing_is_missing():
    X = np.random.default_rng(0).normal(size=(100, 3))
    fitted = ObliqueTreeClassifier(2, optimizer=None).fit(X, X[:, 0] > 0)
    assert fitted.encode(X) is X
    gapped = X.copy()
    gapped[3, 0] = np.nan
    before = gapped.copy()
    fitted.predict(gapped)
    np.testing.assert_array_equal(gapped, before)


def test_a_column_with_all_values_missing_changes_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = X[:, 0] > 0
    empty = np.column_stack([X, np.full(100, np.nan)])
    fitted = ObliqueTreeClassifier(2, random_state=0).fit(empty, y)
    assert fitted.score(empty, y) > 0.95
    assert fitted.feature_importances_[2] == 0.0


@pytest.mark.parametrize("y", [
    pd.Series(["a", None, "b"]), pd.Series([1, None, 2], dtype="Int64"), pl.Series([1, None, 2]),
    np.array(["a", None, "b"], dtype=object), ["a", None, "b"], np.array([1.0, np.nan, 2.0])])
@ESTIMATORS
def test_gaps_in_y_are_refused(estimator, y):
    with pytest.raises(ValueError, match=r"y contains (missing values|NaN)"):
        estimator().fit([[0.0], [1.0], [2.0]], y)


# --- what does not fit ---------------------------------------------------------------------------


@pytest.mark.parametrize(("column", "error", "message"), [
    (pd.date_range("2020-01-01", periods=N), TypeError, "'new' of type datetime64.*date, or drop"),
    (pd.Series([date(2020, 1, 1)] * N), TypeError, "'2020-01-01', .* strings: convert its values"),
    ([{}] * N, TypeError, "'new' of type object holds '{}', but has to be all numbers or all"),
    ([[1, 2]] * N, TypeError, r"'\[1, 2\]', .* strings: give the parts of lists columns of"),
    (["a", 1] * (N // 2), TypeError, "'new' of type object holds 'a', .* or all to strings"),
    # What comes late in a column, where narwhals does not look.
    (["a"] * (N - 1) + [1], TypeError, "'new' of type object holds 'a', .* or all to strings"),
    (["a"] * (N - 1) + [[1]], TypeError, r"'new' of type object holds '\[1\]', but has"),
    (pd.period_range("2020", periods=N), TypeError, r"'new' of type period\[.*\] holds '2020"),
    (np.full(N, 1j), TypeError, "'new' of type complex128 holds"),
    (pd.Categorical(["a", 1] * (N // 2)), TypeError, r"'new' holds .* \(of type int and str\). C"),
    (pd.cut(np.arange(N), 4), TypeError, r"\(of type Interval.* as X.*astype\(str\) does"),
    ([b"a", b"b"] * (N // 2), TypeError, "holds \"b'a'\", .* or all to strings"),
    ([np.inf] * N, ValueError, "infinity.*'new'. Replace it by NaN"),
])
def test_a_column_that_is_no_number_and_no_category_is_refused(column, error, message):
    given = columns()
    with pytest.raises(error, match=message):
        ObliqueTreeClassifier().fit(pandas_frame(given).assign(new=column), target(given))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("infinite", "message"), [
    ([3, 1], "in columns 'x1', 'x3'. R"),
    ([1, 2, 3, 4, 6, 7, 8], "in columns 'x1', 'x2', 'x3', 'x4', 'x6' and 2 more. R")])
def test_columns_with_infinity_are_named(form, infinite, message):
    X = np.eye(9)
    X[range(len(infinite)), infinite] = np.inf
    with pytest.raises(ValueError, match=message):
        ObliqueTreeClassifier().fit(form(X), np.arange(9) % 2)


@pytest.mark.parametrize(("cell", "message"), [
    ([1, 2], r"of type List.* holds '\[1, 2\]', .*lists columns of their own, or drop"),
    (b"a", "of type Binary.* holds \"b'a'\"")])
def test_a_column_of_pyarrow_that_is_no_number_and_no_category_is_refused(cell, message):
    table = pytest.importorskip("pyarrow").table({"new": [cell, None], "age": [0.0, 1.0]})
    with pytest.raises(TypeError, match=f"X: column 'new' {message}"):
        ObliqueTreeClassifier().fit(table, [0, 1])


def test_decimals_of_pyarrow_are_the_nearest_numbers():
    pyarrow = pytest.importorskip("pyarrow")
    prices = [Decimal(cents) / 100 for cents in range(400)]
    table = pyarrow.table({"price": pyarrow.array(prices, pyarrow.decimal128(12, 2))})
    tree = ObliqueTreeClassifier(1, optimizer=None).fit(table, np.arange(400) > 200)
    assert tree.encode(table)[:, 0].tolist() == [float(price) for price in prices]


@pytest.mark.parametrize(("categorical", "message"), [
    (["town"], r"names the columns \['town'\], which X lacks\. It has '[a-z]+', '"),
    (["cite"], r"names the columns \['cite'\], which X lacks. Did you mean 'city'\?$"),
    ([6], "indices below 6"), ([-1], "indices below 6"),
    ([0, "city"], r"a list of names, of indices .* got \[0, 'city'\]$"),
    ([True, False], "a mask of 6 columns"), ([0.5], "must be a list of names, of indices"),
    ("city", "categorical_features"),
])
def test_categorical_features_that_do_not_exist_are_named(categorical, message):
    given = columns()
    with pytest.raises(ValueError, match=message):
        ObliqueTreeClassifier(categorical_features=categorical).fit(
            pandas_frame(given), target(given))


def test_all_columns_that_cannot_be_read_are_named():
    given = columns()
    X, y = pandas_frame(given), target(given)
    tree = ObliqueTreeClassifier(1, optimizer=None).fit(X, y)
    wrong = X.assign(a=[[1, 2]] * N, b=pd.Timestamp("2020"), c=1j)
    with pytest.raises(TypeError, match=r"'a' .* Nor can the columns \['b', 'c'\] be read"):
        tree.fit(wrong, y)
    with pytest.raises(ValueError, match=r"'a' holds .* no numbers .* the columns \['b', 'c'\]"):
        tree.set_params(categorical_features=["city", "grade"]).fit(wrong, y)
    with pytest.raises(TypeError, match=r"'a' holds .* no categories \(.*'list'.* as X\['a'\]"):
        tree.set_params(categorical_features=["city", "grade", "a"]).fit(X.assign(a=wrong["a"]), y)


def test_strings_that_are_no_categories_say_what_to_do():
    given = columns()
    with pytest.raises(ValueError, match=r"categorical_features, as \['city'\]\. Nor"):
        ObliqueTreeClassifier(categorical_features=None).fit(pandas_frame(given), target(given))
    with pytest.raises(ValueError, match=r"features, as \['x0'\], or give a data frame, as tr"):
        ObliqueTreeClassifier().fit(np.array([["a"], ["b"]], dtype=object), [0, 1])
    with pytest.raises(TypeError, match=r"dense table.* pass X\.toarray\(\)"):
        ObliqueTreeClassifier(categorical_features=[0]).fit(sparse.eye(2, format="csr"), [0, 1])


@FRAMES
def test_other_columns_than_in_training_are_refused(frame):
    given = columns()
    fitted = ObliqueTreeClassifier(2, optimizer=None).fit(frame(given), target(given))
    without = {name: column for name, column in given.items() if name != "age"}
    for other in (frame(given)[list(without)], frame(given)[list(given)[::-1]],
                  frame({**given, "more": given["age"]})):
        with pytest.raises(ValueError, match=r"feature names should match .*\n(.*\n)+Give the col"):
            fitted.predict(other)
    with pytest.raises(ValueError, match=r"no numbers .*\. Convert it to numbers or, in training"):
        fitted.predict(frame({**given, "age": np.array(["old"] * N)}))


def test_cells_that_are_no_categories_are_refused():
    given = columns()
    table = pandas_frame(given)
    fitted = ObliqueTreeClassifier(2, optimizer=None).fit(table, target(given))
    with pytest.raises(TypeError, match=r"^X: column 'city' holds cells that are no categories .*"
                                        r"list.*\. Give it strings or numbers, as in training$"):
        fitted.predict(table.assign(city=[["Rome"]] * N))


def test_frames_that_cannot_be_read_say_what_to_do():
    frame = pd.DataFrame([[0.0, 1.0], [1.0, 0.0]], columns=["age", "age"])
    with pytest.raises(ValueError, match=r"(?s)^X: .*unique column names.*'age'"):
        ObliqueTreeClassifier().fit(frame, [0, 1])
    with pytest.raises(TypeError, match=r"pass X.collect\(\)"):
        ObliqueTreeClassifier().fit(pl.LazyFrame({"age": [0.0, 1.0]}), [0, 1])


@pytest.mark.parametrize(("values", "advice"), [
    (["3200.0", "1,200", "-7e3", " 5"], "numbers, such as '3200.0', .*pandas.to_numeric"),
    (["1", "2", None, "3"], "numbers, "),
    ([*map(str, range(20)), *["?"] * 20], r"numbers, such as '0', .* once signs such as '\?'"),
    ([*map(str, range(12)), *"abc"], None), (["1"] * 90 + ["unknown"] * 10, None),
    (["00123", "00456"], None), (["12a", "12b"], None),
    (["1", "2"], "numbers, .* by pandas.to_numeric once .*; if they are codes, say so by X"),
    (["58%", "7 %"], "numbers, such as '58%'"), (["$1,200", "-$7", "$ 5.5"], "numbers, "),
    (["5 €", "0,30"], "numbers, .* by decimal=',' of pandas.read_csv; if"),
    (["1.200,50", "3,25"], "numbers, "), (["$00123", "$"], None),
    (["2021-05-03", "1999-1-1"], "dates, such as '2021-05-03', .*days since.*pandas.to_datetime"),
    (["3.5.2021", " 31/12/1999", None], "dates, "), (["2021/05/03 10:00"], "dates, "),
    (["2021-05-03T10:00:00Z"], "dates, "), (["2021-05-03"] * 9 + ["later"], None),
    (["1.2.3", "10.11.12"], None), (["2021-05", "2021-06"], None), (["2021-05-03b"], None),
    (["2021-05.03"], None)])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_texts_that_spell_numbers_or_dates(make, values, advice):
    n = 20 * len(values)
    frame = make({"income": values * 20, "age": np.arange(float(n))})
    y, model = np.arange(n) % 2, ObliqueTreeClassifier(1, optimizer=None)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.fit(frame, y)
        model.predict(frame)
    texts = [str(each.message) for each in found]
    assert len(texts) == (advice is not None)
    if texts:
        assert re.match(
            rf"X: columns \['income'\] are text, but their values spell {advice}", texts[0])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            clone(model).set_params(categorical_features=["income"]).fit(frame, y)
            if make is pd.DataFrame:
                model.fit(frame.astype({"income": "category"}), y)


def test_columns_of_numbers_share_a_warning():
    frame = pd.DataFrame({f"x{j}": ["0,5", "1,25"] * 20 for j in range(3)} | {
        "day": ["2020-05-03", "2021-05-03"] * 20})
    with pytest.warns(UserWarning, match="spell") as found:
        ObliqueTreeClassifier(1, optimizer=None).fit(frame, np.arange(40) % 2)
    numbers, day = (str(each.message) for each in found)
    assert numbers.startswith(
        "X: columns ['x0', 'x1', 'x2'] are text, but their values spell numbers, such as '0,5'")
    assert numbers.endswith("by X.astype({'x0': 'category'})")
    assert day.startswith("X: columns ['day'] are text, but their values spell dates")


def test_an_empty_frame_is_refused():
    frame = pd.DataFrame({"city": pd.Series([], dtype=str)})
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        ObliqueTreeClassifier().fit(frame, [])


def test_tables_are_pickled_and_continued():
    given = columns()
    frame, y = pandas_frame(given), target(given)
    fitted = ObliqueTreeClassifier(3, optimizer="ssgd", random_state=0).fit(frame, y)
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict(frame), fitted.predict(frame))
    n_features = fitted.tree_.n_features
    with pytest.warns(UserWarning, match="50 % of column 'city', such as 'Mars'"):
        fitted.partial_fit(
            frame.assign(city=np.where(np.arange(N) % 2, "Mars", "Rome"))[:100], y[:100])
    assert fitted.tree_.n_features == n_features
    np.testing.assert_array_equal(
        fitted.predict(fitted.encode(frame), check_input=False), fitted.predict(frame))


@FRAMES
def test_a_path_takes_frames(frame):
    given = columns()
    y = target(given)
    fitted = TAOPathCV(ObliqueTreeClassifier(
        3, optimizer=TAO(max_iter=3), validation_fraction=None), Cs=[1.0, 0.1]).fit(
        frame(given), y)
    assert fitted.score(frame(given), y) > 0.9
    assert fitted.tree_.n_features == 14


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_texts_in_lists_say_what_to_do():
    frame = pd.DataFrame({"age": np.arange(20.0), "city": ["Rome", "Oslo"] * 10})
    model = ObliqueTreeClassifier(max_depth=1, optimizer=None).fit(frame, np.arange(20) % 2)
    with pytest.raises(ValueError, match="For columns of categories, give a data frame"):
        model.predict([[1.0, "Rome"]])
    assert model.predict(np.array([[1.0, "Rome"]], dtype=object)).tolist() == [0]


@pytest.mark.parametrize("types", [
    ["float64"], ["float32"], ["float32", "float64"], ["int8", "bool", "float32"], ["bool"],
    ["uint64", "float16"], ["Float64", "int64"], ["boolean", "bool"]])
def test_columns_are_read_at_once_as_they_are_one_by_one(types):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({
        f"c{j}": pd.Series(random.integers(0, 2, 20)).astype(each) for j, each in enumerate(types)})
    columns = as_columns(frame)
    for chosen in (np.arange(len(types)), np.arange(1, len(types))):
        found, expected = columns.all_numbers(chosen), ArrayColumns.all_numbers(columns, chosen)
        assert found.dtype == (np.float32 if set(np.array(types)[chosen]) <= {"float32"} else float)
        assert found.dtype == expected.dtype
        assert found.flags.c_contiguous
        np.testing.assert_array_equal(found, expected)
    assert [columns.is_boolean(j) for j in range(len(types))] == [
        each.startswith("bool") for each in types]
    assert as_columns(frame[::2]).all_numbers(np.arange(len(types))).shape == (10, len(types))


def test_decimals_are_numbers():
    rng = np.random.default_rng(0)
    number, city = rng.normal(size=120).round(2), rng.choice(["Rome", "Oslo"], 120)
    y = (number > 0.1) ^ (city == "Rome")
    number[:9] = np.nan
    cells = [Decimal(str(value)) for value in number]
    cells[:2] = None, np.nan
    tree = ObliqueTreeClassifier(3, optimizer=None)
    plain = pd.DataFrame({"number": number, "city": city})
    expected = tree.fit(plain, y)
    tables = [pd.DataFrame({"number": cells, "city": city}),
              pl.DataFrame({"number": [None] * 9 + cells[9:], "city": city})]
    for table in (*tables, tables[0].to_numpy(object)):
        found = clone(tree).set_params(categorical_features=[1]).fit(table, y)
        assert found.tree_ == expected.tree_
        assert (found.predict(table) == expected.predict(plain)).all()


@pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueForestClassifier])
def test_an_init_of_other_columns_or_categories_is_refused(estimator):
    """Its features would stand for others, though they are as many."""
    X = pd.DataFrame({"age": np.arange(40.0), "size": np.ones(40), "city": [*"abcd"] * 10})
    y = X["city"] == "a"
    init = ObliqueTreeClassifier(1, optimizer=None).fit(X, y)
    model = estimator(init=init, optimizer=None)
    others = X.assign(city=[*"bcde"] * 10)
    for rows, message in [
            (others, r"categories or gaps .* 'city = a' of init, 'city = b' of X. .*init.encode"),
            (X[["city", "size", "age"]], r"'age' of init, 'city' of X. Pass X\[init.feature_names"),
            (X.rename(columns={"age": "years"}), "'age' of init, 'years' of X"),
            (X.drop(columns="city"), "'city' of init, None of X")]:
        with pytest.raises(ValueError, match=f"^init was fitted to .*{message}"):
            model.fit(rows, y)
    assert model.fit(X, y).score(X, y) == 1.0
    with pytest.warns(UserWarning, match="values that did not occur in training: .*'e'"):
        encoded = init.encode(others)
    assert model.fit(encoded, y).n_features_in_ == len(init.encoded_feature_names_)


def test_an_init_of_scikit_learn_has_the_order_of_its_columns():
    X = pd.DataFrame({"age": np.arange(40.0), "size": np.ones(40)})
    init = DecisionTreeClassifier().fit(X, X["age"] > 20)
    with pytest.raises(ValueError, match="'age' of init, 'size' of X"):
        ObliqueTreeClassifier(init=init, optimizer=None).fit(X[["size", "age"]], X["age"] > 20)
