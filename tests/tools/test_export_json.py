"""JSON: a reader of the document has an equal tree, and predicts the same."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.exports import tree_of
from ngdt import ObliqueForestClassifier, ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt.export import export_json
from ngdt.testing.strategies import trees

ANY_TREE = trees(
    elements=st.floats(-1e300, 1e300), sparse_weights=st.booleans(), linear_leaves=st.booleans())


@given(ANY_TREE)
def test_the_tree_is_read_to_the_last_bit(tree):
    document = json.loads(export_json(tree))
    read = tree_of(document["trees"][0], len(document["features"]))
    assert read == tree.densify()
    assert read.values.tobytes() == tree.values.tobytes()


def predicted_by(document, row):
    """The prediction for a row of a table, by the rules that `export_json` states."""
    x = np.zeros(len(document["features"]))
    for column, value in zip(document["columns"], row, strict=True):
        missing = value is None or value != value
        if "categories" in column:
            known = dict(map(tuple, column["categories"]))
            values = [[known.get(value), 1.0]]
            if missing or value not in known:
                values = column["missing" if missing else "other"]
            for feature, number in values:
                if feature is not None:
                    x[feature] = number
        else:
            x[column["feature"]] = column["fill"] if missing else value
            if column["gap"] is not None:
                x[column["gap"]] = missing
    return np.mean([prediction_of(tree, x, document["task"]) for tree in document["trees"]], axis=0)


def prediction_of(tree, x, task):
    nodes, leaves = tree["nodes"], tree["leaves"]

    def product(row):
        return sum(x[j] * value for j, value in zip(row["indices"], row["values"], strict=True))

    node = 0 if nodes["left"] else -1
    while node >= 0:
        goes_right = product(nodes["weights"][node]) > nodes["thresholds"][node]
        node = nodes["right" if goes_right else "left"][node]
    leaf = -1 - node
    values = np.array(leaves["values"][leaf])
    if leaves["slopes"] is not None:
        values = values + [product(row) for row in leaves["slopes"][leaf]]
    if leaves["ranges"] is not None:
        values = np.clip(values, *np.transpose(leaves["ranges"][leaf]))
    if task != "classification":
        return values
    odds = np.exp(values - values.max())
    return odds / odds.sum()


def table(n=120):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({
        "age": rng.integers(18, 80, n), "city": rng.choice(["Rome", "Oslo", None], n),
        "income": rng.integers(0, 9, n) / 2, "code": rng.choice(list("abc"), n),
        "sex": rng.choice(["female", "male"], n)})
    frame.loc[::7, "income"] = None
    frame.loc[:2, "code"] = "rare"
    is_rich = (frame["income"].fillna(9) > 2) & (frame["city"] != "Rome")
    return frame, is_rich ^ (frame["sex"] == "male")


def rows_of(frame):
    return frame.astype(object).to_numpy().tolist()


@pytest.mark.filterwarnings("ignore:X. values that did not occur")
@pytest.mark.parametrize("model", [
    ObliqueTreeClassifier(4, optimizer=None), ObliqueTreeRegressor(4, optimizer=None),
    ObliqueTreeRegressor(2, init="model_tree", optimizer=None),
    ObliqueForestClassifier(3, max_depth=3, optimizer=None, random_state=0)],
    ids=["classes", "regression", "linear", "forest"])
def test_a_reader_of_the_document_predicts_what_the_model_predicts(model):
    frame, y = table()
    model.fit(frame, y)
    new = frame.head(20).copy()
    new.loc[3:5, "city"], new.loc[6:8, "code"], new.loc[9:12, "age"] = "Mars", None, None
    new.loc[13:14, "sex"], new.loc[15:16, "sex"] = "other", None
    document = json.loads(export_json(model))
    found = [predicted_by(document, row) for row in rows_of(new)]
    wanted = model.predict(new)[:, None] if document["classes"] is None else (
        model.predict_proba(new))
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert document["columns"][0]["name"] == "age"


def test_the_trees_of_a_forest(iris):
    forest = ObliqueForestClassifier(3, optimizer=None, random_state=0).fit(*iris)
    text = export_json(forest, feature_names=["a", "b", "c", "d"])
    trees = json.loads(text)["trees"]
    assert [tree_of(each, 4) for each in trees] == [
        each.tree_.densify() for each in forest.estimators_]
