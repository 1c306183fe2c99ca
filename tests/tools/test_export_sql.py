"""SQL: in SQLite, the query predicts what the model predicts."""

import itertools
import math
import sqlite3

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exported_tables import random_tree
from ngdt import (
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    TAOPathCV,
    Tree,
)
from ngdt.export import export_sql
from ngdt.testing.strategies import problems


def answer(query, rows, names):
    """Result of a query for rows of the table "data"."""
    with sqlite3.connect(":memory:") as database:
        columns = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        database.execute(f"CREATE TABLE data ({columns})")
        places = ", ".join("?" * len(names))
        database.executemany(f"INSERT INTO data VALUES ({places})", rows)
        # That of SQLite is optional. As that of others, this one refuses large numbers.
        database.create_function("EXP", 1, math.exp)
        found = database.execute(query).fetchall()
    database.close()
    return found


@given(problems(sparse=st.just(False), sparse_weights=st.booleans(), linear_leaves=st.booleans()))
def test_trees_predict_what_they_predict_in_python(problem):
    tree, X = problem.tree, problem.X
    names = [f"x{j}" for j in range(tree.n_features)]
    found = answer(export_sql(tree), X.tolist(), names)
    np.testing.assert_array_equal(np.array(found, dtype=float), tree.predict(X))


CITIES = ["Rome", "O'slo", "Lima", "Bern", "Ulm", None]


def frame_of(rng, n):
    frame = pd.DataFrame({
        'the "age"': rng.integers(0, 20, n) / 2, "city": rng.choice(CITIES, n),
        "income": rng.integers(-9, 9, n) / 4, "code": rng.integers(0, 3, n),
        "sex": rng.choice(["female", "male"], n)})
    frame.loc[rng.random(n) < 0.3, "income"] = None
    return frame


def rows_of(frame):
    return frame.astype(object).where(frame.notna(), None).to_numpy().tolist()


def model_of_table(rng, classifies=False):
    """A model of a table with categories and gaps, and rows with others among them."""
    frame = frame_of(rng, 60)
    frame.loc[(frame["city"] == "Ulm") & (frame.index > 9), "city"] = "Rome"     # Ulm is rare
    labels = ["no", "yes", "it's"][:rng.integers(1, 4)]
    # Gaps that tell nothing of y have no indicator.
    y = rng.choice(labels, 60) if classifies else rng.normal(size=60) + 5 * frame["income"].isna()
    kind = ObliqueTreeClassifier if classifies else ObliqueTreeRegressor
    model = kind(1, optimizer=None, categorical_features=["city", "code", "sex"]).fit(frame, y)
    table = model._table    # filled by a dyadic number, so that sums are exact
    object.__setattr__(table, "fill", np.round(table.fill * 4) / 4)
    for each in table.categories:
        object.__setattr__(each, "fill", (0.25,) * each.n_features)
    new = frame_of(rng, 30)
    new.loc[0, "city"], new.loc[1, 'the "age"'] = "Mars", None
    new.loc[2:4, "sex"], new.loc[5:7, "sex"] = "other", None
    return model, new


@pytest.mark.filterwarnings("ignore:X. values that did not occur")
@given(st.integers(0, 2**20), st.booleans())
def test_tables_with_categories_and_gaps(seed, classifies):
    rng = np.random.default_rng(seed)
    model, new = model_of_table(rng, classifies)
    for _ in range(2):
        model.tree_ = random_tree(rng, model.tree_.n_features, model.tree_.n_outputs)
        found = [value for value, in answer(export_sql(model), rows_of(new), new.columns)]
        assert found == model.predict(new).tolist()
        if classifies:
            query = export_sql(model, columns=["code"], proba=True)
            codes, found, *shares = zip(*answer(query, rows_of(new), new.columns), strict=True)
            assert codes == tuple(new["code"])
            assert found == tuple(model.predict(new))
            np.testing.assert_allclose(
                np.transpose(shares), model.predict_proba(new), rtol=1e-12, atol=1e-300)


@pytest.mark.filterwarnings("ignore:X. values that did not occur")
def test_either_side_of_a_split_may_come_first(monkeypatch):
    monkeypatch.setattr("ngdt.export._sql._MAX_NESTED", 0)
    rng = np.random.default_rng(0)
    model, new = model_of_table(rng)
    p, queries = model.tree_.n_features, []
    for feature, weight, threshold in itertools.product(range(p), (-1.0, 1.0), (-0.5, 0.0, 0.5)):
        weights = weight * np.eye(p)[[feature, rng.integers(p)]]
        for is_sum in (False, True):
            weights[0] += is_sum * np.eye(p)[p - 1 - feature]
            # The larger side is the second one.
            for left, right in (([1, ~0], [~2, ~1]), ([~2, ~0], [1, ~1])):
                model.tree_ = Tree(weights, [threshold, 0.0], left, right, [[0.0], [1.0], [2.0]])
                queries.append(export_sql(model))
                found = [value for value, in answer(queries[-1], rows_of(new), new.columns)]
                assert found == model.predict(new).tolist()
    for part in ("> 0.5", "< 0.5", "<= 0.5", ">= 0.5", " NOT IN ", " NOT NULL"):
        assert any(part in query for query in queries)


@pytest.mark.filterwarnings("ignore:X. values that did not occur")
@given(st.integers(0, 2**20))
def test_sqlite_reads_trees_of_any_depth(seed):
    rng = np.random.default_rng(seed)
    model, new = model_of_table(rng)
    m, p = 60, model.tree_.n_features
    chain = np.stack([[*range(1, m), ~m], ~np.arange(m)])
    for others in (chain, chain[::-1], np.where(rng.random(m) < 0.5, chain, chain[::-1])):
        model.tree_ = Tree(
            rng.integers(-3, 4, (m, p)) / 2, rng.integers(-3, 4, m) / 2, *others,
            np.arange(m + 1.0)[:, None])      # SQLite rounds what it reads
        found = [value for value, in answer(export_sql(model), rows_of(new), new.columns)]
        assert found == model.predict(new).tolist()


@pytest.mark.filterwarnings("ignore:X. values that did not occur")
def test_a_table_of_categories_alone_is_encoded_as_float32():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"city": rng.choice(["Rome", "Oslo", "Lima"], 90, p=[0.5, 0.3, 0.2])})
    model = ObliqueTreeRegressor(0, optimizer=None).fit(frame, rng.normal(size=90))
    model.tree_ = Tree(np.empty((0, 3)), [], [], [], [[0.0]], [[[1e8, -1e7, 3.0]]])
    new = pd.DataFrame({"city": ["Rome", "Mars", None]})
    found = [value for value, in answer(export_sql(model), rows_of(new), new.columns)]
    np.testing.assert_allclose(found, model.predict(new), rtol=1e-12)


@pytest.mark.parametrize("optimizer", [None, "annealed"])
def test_bools_are_cast(optimizer):
    """Databases with a type of bools neither compare them with numbers nor multiply them."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"own": rng.random(90) < 0.5, "x": rng.normal(size=90)})
    y = frame["own"] & (frame["x"] > 0)
    model = ObliqueTreeClassifier(2, optimizer=optimizer, random_state=0).fit(frame, y)
    query = export_sql(model)
    assert 'CAST("own" AS INTEGER)' in query
    found = [value for value, in answer(query, rows_of(frame), frame.columns)]
    assert found == model.predict(frame).tolist()


def test_the_query_speaks_of_the_columns():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"city": ["Rome", "Oslo", "Lima"] * 20, "income": rng.normal(size=60)})
    frame.loc[::4, "income"] = None
    model = ObliqueTreeClassifier(2, optimizer=None).fit(
        frame, (frame["city"] != "Lima") & (frame["income"].isna()))
    query = export_sql(model, table="my data", prediction="rich", columns=["id"])
    assert query.startswith('SELECT\n    "id",\n    CASE WHEN "')
    assert '"income" IS N' in query
    assert '"city" NOT IN (\'Lima\')' in query or '"city" IN (\'Lima\')' in query
    assert query.endswith('END AS "rich"\nFROM "my data"')


def test_columns_of_a_tree_may_not_be_missing():
    tree = Tree([[0.0, 1.0, 0.0]], [0.0], [~0], [~1], [[0.0], [1.0]], [[[0, 0, 1]], [[0, 0, 0]]])
    found = answer(export_sql(tree), [[None, 1, 1], [1, None, 1], [1, 1, None]], ["x0", "x1", "x2"])
    assert found == [(1.0,), (None,), (None,)]


def test_names_and_sums_of_classes():
    """Two classes need one sum; sums are written once, and do not overflow."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["income", "NGDT_score_0"])
    for k in (2, 3):
        y = np.array(["no", "yes", "it's"])[np.arange(60) % k]
        model = ObliqueTreeClassifier(0, optimizer=None).fit(frame, y)
        slopes = np.zeros((1, k, 2))
        slopes[0, :, 0] = np.arange(k) - 0.25
        model.tree_ = Tree(np.empty((0, 2)), [], [], [], np.zeros((1, k)), slopes)
        query = export_sql(model, table="main.data", proba=True)
        assert query.count('* "income"') == (1 if k == 2 else k)
        new = pd.DataFrame({"income": [0.5, -1e4, 1e4], "NGDT_score_0": 0.0})
        with sqlite3.connect(":memory:") as database:
            new.to_sql("data", database, index=False)
            database.create_function("EXP", 1, math.exp)
            found = pd.read_sql(query, database)
        database.close()
        assert list(found) == ["prediction", *(f"probability_{name}" for name in model.classes_)]
        assert found.pop("prediction").tolist() == model.predict(new).tolist()
        np.testing.assert_allclose(found, model.predict_proba(new), rtol=1e-12, atol=1e-300)


def test_probabilities_of_leaves_write_each_split_once(iris):
    model = ObliqueTreeClassifier(3, optimizer=None).fit(*iris)
    query, names = export_sql(model, proba=True), ["x0", "x1", "x2", "x3"]
    assert query.count("<=") == model.tree_.n_internal
    found = np.array(answer(query, iris[0].tolist(), names))
    np.testing.assert_array_equal(found[:, 0], model.predict(iris[0]))
    np.testing.assert_allclose(found[:, 1:], model.predict_proba(iris[0]), rtol=1e-15)


@pytest.mark.parametrize("proba", [False, True])
def test_score_bands_write_their_sum_once(proba, iris):
    X, is_second = iris[0][50:], iris[1][50:] == 2
    model = ObliqueTreeClassifier(init="score_bands", optimizer=None).fit(X, is_second)
    query, names = export_sql(model, proba=proba), ["x0", "x1", "x2", "x3"]
    assert model.get_n_leaves() > 4
    assert {query.count(f'"{name}"') for name in names} == {1}
    found = np.array(answer(query, X.tolist(), names))
    np.testing.assert_array_equal(found[:, 0], model.predict(X))
    np.testing.assert_allclose(
        found[:, 1:], model.predict_proba(X)[:, :2 * proba], rtol=1e-15)


def test_other_trees_write_repeated_sums_once():
    tree = Tree([[1.0, 2.0]] * 3, [5.0, 3.0, 7.0], [1, ~0, ~2], [2, ~1, ~3], np.eye(4)[:, :3])
    rows = [[0.5, 1.0], [1.0, 1.25], [3.0, 1.75], [9.0, 1.0], [None, 1.0]]
    query = export_sql(tree)
    assert query.count('2.0 * "x1"') == 1
    np.testing.assert_array_equal(
        np.array(answer(query, rows, ["x0", "x1"]), float),
        [*tree.predict(np.array(rows[:-1])), [np.nan] * 3])


def test_long_sums_have_a_line_for_each_term():
    tree = Tree([np.linspace(0.1, 0.9, 9)], [1.0], [~0], [~1], [[0.0], [1.0]])
    assert "\n        + 0.2 * \"x1\"\n" in export_sql(tree)


@pytest.mark.parametrize("max_depth", [0, 2])
def test_limits_of_linear_leaves_write_each_sum_once(max_depth, diabetes):
    X, y = diabetes
    model = ObliqueTreeRegressor(max_depth, leaf="linear", optimizer=None).fit(X, y)
    assert model.tree_.ranges is not None
    query = export_sql(model)
    slopes = model.tree_.slopes[model.tree_.slopes != 0.0]
    assert len(slopes) >= 4
    assert {query.count(repr(abs(float(slope)))) for slope in slopes} == {1}


def test_a_split_that_does_not_decide_the_class_is_not_written(iris):
    model = ObliqueTreeClassifier(3, optimizer=None).fit(*iris)
    assert model.tree_.n_internal == 4      # one with two leaves of the last class
    query = export_sql(model)
    assert query.count("<=") == 3
    found = [value for value, in answer(query, iris[0].tolist(), ["x0", "x1", "x2", "x3"])]
    assert found == model.predict(iris[0]).tolist()


def test_numbers_have_no_probabilities(diabetes):
    model = ObliqueTreeRegressor(1, optimizer=None).fit(*diabetes)
    for each in (model, model.tree_):
        with pytest.raises(ValueError, match="proba must be False for a model that pred"):
            export_sql(each, proba=True)


@pytest.mark.parametrize("name", ["table", "prediction"])
@pytest.mark.parametrize("value", [None, ("schema", "people"), 3, ""])
def test_names_are_strings(iris, name, value):
    model = ObliqueTreeClassifier(max_depth=1, optimizer=None).fit(*iris)
    with pytest.raises(TypeError, match=r"^table and prediction must be names"):
        export_sql(model, **{name: value})


@pytest.mark.parametrize("names", [
    {"columns": ["id", "prediction"]}, {"columns": ["probability_0"]},
    {"prediction": "probability_0"}])
def test_each_column_of_the_result_has_a_name_of_its_own(iris, names):
    model = ObliqueTreeClassifier(max_depth=2, optimizer=None).fit(*iris)
    with pytest.raises(ValueError, match=r"would have two columns '(prediction|probability_0)'"):
        export_sql(model, proba=True, **names)


def test_several_targets(diabetes):
    X, y = diabetes
    model = ObliqueTreeRegressor(3, optimizer=None).fit(X, np.column_stack([y, -y]))
    names = [f"x{j}" for j in range(10)]
    query = export_sql(model, columns=["x3"])
    assert '"prediction_0"' in query
    found = np.array(answer(query, X.tolist(), names))
    np.testing.assert_array_equal(found, np.column_stack([X[:, 3], model.predict(X)]))


def test_many_features_and_real_numbers(all_digits):
    """Rows near a threshold are none of these; a sum of 512 terms is not too deep for SQLite."""
    X = np.tile(all_digits[0], (1, 8)) + np.random.default_rng(0).normal(size=(1797, 512))
    search = TAOPathCV(ObliqueTreeClassifier(
        3, optimizer="tao", validation_fraction=None), Cs=[1.0], cv=2)
    search.fit(X[:200], all_digits[1][:200])
    assert search.tree_.n_nonzero > 200
    names = [f"x{j}" for j in range(512)]
    found = [value for value, in answer(export_sql(search), X[:200].tolist(), names)]
    assert found == search.predict(X[:200]).tolist()


def test_more_features_than_an_expression_may_be_deep():
    tree = Tree(np.ones((1, 1200)), [0.0], [~0], [~1], [[0.0], [1.0]])
    names = [f"x{j}" for j in range(1200)]
    rows = [[-1.0] * 1200, [1.0] * 1200, [1.0] * 1199 + [None]]
    assert answer(export_sql(tree), rows, names) == [(0.0,), (1.0,), (None,)]
