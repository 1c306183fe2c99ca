"""JSON: a tree that is written is read as an equal tree, and nothing else is read."""

import json

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from ngdt import (
    ObliqueForestClassifier,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    Tree,
)
from ngdt.export import export_json
from ngdt.testing.strategies import trees

ANY_TREE = trees(
    elements=st.floats(-1e300, 1e300), sparse_weights=st.booleans(), linear_leaves=st.booleans())


@given(ANY_TREE)
def test_the_tree_is_read_to_the_last_bit(tree):
    read = Tree.from_json(export_json(tree))
    assert read == tree
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


def test_a_tree_of_a_forest(iris):
    forest = ObliqueForestClassifier(3, optimizer=None, random_state=0).fit(*iris)
    text = export_json(forest, feature_names=["a", "b", "c", "d"])
    for number, each in enumerate(forest.estimators_):
        assert Tree.from_json(text, number=number) == each.tree_
    with pytest.raises(ValueError, match="holds 3 trees: choose one of them by `number`"):
        Tree.from_json(text)
    with pytest.raises(ValueError, match="holds 3 trees, and none is number 3"):
        Tree.from_json(text, number=3)


@pytest.mark.parametrize(("text", "message"), [
    ("", "text is no JSON"),
    ("[" * 100_000, "text is no JSON"),
    ("[1]", "text is no tree of export_json"),
    ('{"format": "other", "version": 1}', "text is no tree of export_json"),
    ('{"format": "ngdt", "version": 3}', "text has version 3 of the format"),
    ('{"format": "ngdt", "version": true}', "text has version True of the format"),
    ('{"format": "ngdt", "version": 1}', '"features" must be there, and be a JSON array'),
])
def test_other_texts_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        Tree.from_json(text)


def read_or_refuse(text):
    """Read a tree that predicts, or see that the error speaks of the text."""
    try:
        tree = Tree.from_json(text)
    except ValueError as error:
        event("refused")
        if not str(error).startswith("text"):
            raise
    else:
        event("read")
        tree.predict(np.zeros((1, tree.n_features)))


JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 5), st.integers(), st.floats(), st.text(max_size=3),
    st.just([]), st.just({}), st.lists(st.integers(-2, 2), max_size=3),
    st.lists(st.lists(st.floats(-1, 1), max_size=2), max_size=2),
    st.just({"indices": [0], "values": [1.0]}))


def places(value, path=()):
    """Paths to all parts of a JSON value."""
    yield path
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in items:
            yield from places(part, (*path, key))


@given(ANY_TREE, st.data())
def test_mutated_documents_are_read_as_a_tree_or_refused(tree, data):
    document = json.loads(export_json(tree))
    for _ in range(data.draw(st.integers(1, 3))):
        *path, last = data.draw(st.sampled_from([*places(document)][1:]))
        parent = document
        for key in path:
            parent = parent[key]
        if data.draw(st.booleans()):
            parent[last] = data.draw(JUNK)
        else:
            del parent[last]
        if not document:
            return
    read_or_refuse(json.dumps(document))


@given(ANY_TREE, st.data())
def test_damaged_texts_are_read_as_a_tree_or_refused(tree, data):
    text = export_json(tree)
    place = data.draw(st.integers(0, len(text) - 1))
    damaged = text[:place] + data.draw(st.text(max_size=2)) + text[place + 1:]
    read_or_refuse(damaged)


def test_labels_that_json_lacks_are_refused(iris):
    X, y = iris
    labels = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")[(y > 0) * 1]
    model = ObliqueTreeClassifier(1, optimizer=None).fit(X, labels)
    with pytest.raises(TypeError, match="classes or categories that JSON has no type for"):
        export_json(model)
