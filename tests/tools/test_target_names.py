"""Names of the targets of a frame in texts, tables and pictures."""

import io
import json
import re

import numpy as np
import pandas as pd
import pytest

import ngdt
from ngdt import ObliqueBoostingRegressor, ObliqueForestRegressor, ObliqueTreeRegressor
from ngdt.export import (
    export_frame,
    export_graphviz,
    export_html,
    export_json,
    export_rules,
    export_sql,
    export_text,
)
from ngdt.pruning import refit_leaves

RANDOM = np.random.default_rng(0)
X = pd.DataFrame(RANDOM.normal(size=(200, 2)), columns=["a", "b"])
Y = pd.DataFrame({"price": 3 * X["a"] + (X["b"] > 0), "rent": X["b"] - 5.0})


def tree(**parameters):
    defaults = {"init": "info_gain", "optimizer": None, "max_depth": 1, "random_state": 0}
    return ObliqueTreeRegressor(**defaults | parameters)


@pytest.fixture(scope="module")
def constant():
    return tree().fit(X, Y)


@pytest.fixture(scope="module")
def linear():
    return tree(leaf="linear").fit(X, Y)


def test_texts_name_targets(constant, linear):
    for model in (constant, linear):
        for text in (export_text(model), str(export_rules(model)[0]), export_graphviz(model),
                     export_html(model), export_frame(model)["rule"].iloc[-1]):
            is_table = model is linear and "prediction of each target:" in text
            price, rent = ("price", "rent") if is_table else ("price = ", "rent = ")
            assert 0 < text.index(price) + 1 < text.index(rent)
    single = export_text(tree(max_depth=0, leaf="linear").fit(X, Y))
    assert single.splitlines()[2].split() == ["price", "rent"]


def test_tables_and_programs_name_targets(constant):
    assert {"prediction_price", "prediction_rent"} <= {*export_frame(constant)}
    query = export_sql(constant)
    assert '"prediction_price"' in query
    assert '"prediction_rent"' in query
    assert json.loads(export_json(constant))["targets"] == ["price", "rent"]


def test_pictures_name_targets(constant, linear):
    for model in (constant, linear):
        ax = ngdt.plot_tree(model)
        texts = " ".join(each.get_text() for each in ax.texts)
        assert "price = " in texts
        assert "rent = " in texts


def test_explanations_name_targets(constant, linear):
    assert str(constant.explain(X[:1])[0]).startswith("price = ")
    explanation = linear.explain(X[:1])[0]
    assert [*explanation.leaf_terms] == ["price", "rent"]
    assert "linear leaf, rent: " in explanation.text()
    forest = ObliqueForestRegressor(2, init="info_gain", optimizer=None, random_state=0).fit(X, Y)
    text = forest.explain(X[:1])[0].text()
    assert "\nrent: " in text
    assert re.search(r", trees: price = \S+ to \S+, rent = \S+ to \S+\n", text)


def test_names_stay_with_a_model(constant):
    file = io.BytesIO()
    ngdt.save(constant, file)
    file.seek(0)
    for model in (ngdt.load(file), refit_leaves(constant, X, Y.to_numpy()),
                  tree(warm_start=True).fit(X, Y).fit(X, Y.to_numpy())):
        assert "rent = " in export_text(model)
    # A fit forgets what was before.
    assert "rent" not in export_text(tree().fit(X, Y).fit(X, Y.to_numpy()))


def test_columns_whose_names_are_numbers_have_none():
    assert " = " not in export_text(tree().fit(X, Y.set_axis([0, 1], axis=1)))


def test_columns_of_one_name_are_refused():
    with pytest.raises(ValueError, match=r"^y: Expected unique column names"):
        tree().fit(X, Y.set_axis(["one", "one"], axis=1))


def test_a_line_break_in_a_name_breaks_no_line():
    text = export_text(tree().fit(X, Y.set_axis(["a\nb", "rent"], axis=1)))
    assert len(text.splitlines()) == 5
    assert "a\\nb = " in text


def test_targets_in_another_order_are_refused(constant):
    swapped = Y[["rent", "price"]]
    for call in (lambda: tree(warm_start=True).fit(X, Y).fit(X, swapped),
                 lambda: refit_leaves(constant, X, swapped)):
        with pytest.raises(ValueError, match=r"^y: the columns must be \['price', 'rent'\]"):
            call()
    with pytest.raises(ValueError, match="y_val: the columns must be"):
        ObliqueTreeRegressor().fit(X, Y, X_val=X, y_val=swapped)
    with pytest.raises(ValueError, match="held_out: y: the columns must be"):
        export_rules(constant, held_out=(X, swapped))


@pytest.mark.parametrize("model", [
    tree(), ObliqueForestRegressor(2, optimizer=None, random_state=0),
    ObliqueBoostingRegressor(ObliqueForestRegressor(8, optimizer=None, random_state=0))])
def test_scores_are_of_targets_in_the_same_order(model):
    assert 0 < model.fit(X, Y).score(X, Y) == model.score(X, Y.to_numpy())
    with pytest.raises(ValueError, match=r"^y: the columns must be \['price', 'rent'\]"):
        model.score(X, Y[["rent", "price"]])


def test_partitions_of_frames_name_targets():
    dask = pytest.importorskip("dask.dataframe", exc_type=ImportError)
    from ngdt.dask import ObliqueTreeRegressor as DaskTree
    collections = [dask.from_pandas(each, npartitions=2) for each in (X, Y)]
    model = DaskTree(max_depth=1, random_state=0, optimizer="ssgd").fit(*collections)
    assert "rent = " in export_text(model.in_memory())
    with pytest.raises(ValueError, match=r"^y: the columns must be \['price', 'rent'\]"):
        model.score(collections[0], collections[1][["rent", "price"]])
