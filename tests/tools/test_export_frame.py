"""Tables of nodes: they send samples as the tree, and add up."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import rules_text
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt.export import export_frame
from ngdt.optimizers import LinearLeaves
from ngdt.pruning import set_leaves
from ngdt.testing.strategies import problems

pd = pytest.importorskip("pandas")

DENSE = problems(sparse=st.just(False), n_samples=st.integers(1, 8))
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(200, 3)).round(2)
CLASSES = np.array(["b", "a\0"])[(X[:, 0] + 0.5 * RANDOM.normal(size=200) > 0).astype(int)]
VALUES = X[:, 0] + 0.1 * RANDOM.normal(size=200)
WEIGHT = RANDOM.choice([0.5, 1.0, 4.0], 200)
TABLE = pd.DataFrame(X, columns=list("pqr")).assign(
    city=RANDOM.choice(["Rome", "Oslo", "Lima"], 200), r=np.where(X[:, 2] > 1, np.nan, X[:, 2]))


def leaf_by(frame, x):
    """The leaf that a sample reaches by the rules of the table."""
    names, row = {f"x{j}": value for j, value in enumerate(x.tolist())}, frame.iloc[0]
    while not row.is_leaf:
        side = "left" if eval(row.rule.split("  #")[0], names) else "right"
        ((_, row),) = frame[(frame.parent == row.node) & (frame.side == side)].iterrows()
    return row.node - (~frame.is_leaf).sum()


@given(DENSE, st.booleans())
def test_the_table_sends_each_sample_as_the_tree(problem, exact):
    tree, X = problem.tree, problem.X
    frame = export_frame(tree, n_terms=None) if exact else export_frame(tree, n_terms=None, X=X)
    assert [leaf_by(frame, x) for x in X] == tree.apply(X).tolist()


@given(DENSE)
def test_samples_and_depths_add_up(problem):
    tree, X = problem.tree, problem.X
    frame = export_frame(tree, X=X)
    leaves = frame[frame.is_leaf]
    assert_array_equal(leaves.samples, np.bincount(tree.apply(X), minlength=tree.n_leaves))
    assert_array_equal(leaves.depth, tree.leaf_depths())
    below = frame[frame.parent >= 0].groupby("parent")
    nodes = frame[~frame.is_leaf]
    assert_array_equal(below.samples.sum(), nodes.samples)
    assert_array_equal(below.weight.sum(), nodes.weight)
    assert_array_equal(below.depth.max(), nodes.depth + 1)
    assert (below.side.agg("/".join).str.len() == len("left/right")).all()
    assert frame.node.tolist() == list(range(len(frame)))


@pytest.mark.parametrize("table", [X, TABLE])
@pytest.mark.parametrize("leaf", ["constant", LinearLeaves(penalty=10.0)])
def test_classes(table, leaf):
    model = ObliqueTreeClassifier(3, optimizer=None, leaf=leaf, validation_fraction=None)
    # The mean over the samples of a linear leaf is one without weights.
    weight = WEIGHT if leaf == "constant" else np.ones(200)
    model.fit(table, CLASSES, weight)
    frame, path = export_frame(model), model.decision_path(table).toarray()
    reached = np.hstack([path, model.apply(table)[:, None] == np.arange(model.get_n_leaves())])
    shares = model.predict_proba(table)
    for node in range(len(frame)):
        here, row = reached[:, node] > 0, frame.iloc[node]
        mean = np.average(shares[here], axis=0, weights=weight[here])
        columns = [f"probability_{name}" for name in model.classes_]
        assert_allclose(row[columns].astype(float), mean)
        assert row.prediction == model.classes_[mean.argmax()]
        assert row.samples == here.sum()
        assert_allclose(row.weight, weight[here].sum())
        assert_allclose(row.impurity, -sum(p * np.log2(p) for p in mean if p))
    lines = [line.strip().removeprefix("if ").removesuffix(":")
             for line in rules_text(model).splitlines()]
    # The text has conditions on categories from whichever side is shorter.
    rules = [rule for rule in frame.rule if "city" not in rule]
    assert len(rules) > 4
    assert set(rules) <= set(lines)
    assert "\0" not in "".join(frame.rule)


@pytest.mark.parametrize("y", [VALUES, np.column_stack([VALUES, -3.0 * X[:, 1] + 1e6])])
def test_values(y):
    model = ObliqueTreeRegressor(3, optimizer=None, leaf="constant").fit(X, y, WEIGHT)
    frame, path = export_frame(model), model.decision_path(X).toarray()
    reached = np.hstack([path, model.apply(X)[:, None] == np.arange(model.get_n_leaves())])
    names = ["prediction"] if y.ndim == 1 else ["prediction_0", "prediction_1"]
    assert [name for name in frame if name.startswith("prediction")] == names
    for node in range(len(frame)):
        here, row = reached[:, node] > 0, frame.iloc[node]
        mean = np.average(y[here], axis=0, weights=WEIGHT[here])
        assert_allclose(row[names].astype(float), np.atleast_1d(mean))
        variance = np.average((y[here] - mean) ** 2, axis=0, weights=WEIGHT[here])
        assert_allclose(row.impurity, variance.mean())


def test_leaves_predict_as_the_tree_where_probabilities_are_equal():
    model = ObliqueTreeClassifier(1, optimizer=None).fit([[0.0], [0.0], [1.0]], [0, 1, 2])
    model.tree_ = model.tree_.replace(
        values=[[-0.1, np.nextafter(-0.1, 0.0), -7.0], [-7.0, -1.0, 0.0]])
    model._sample_summary = replace(model._sample_summary, tree=model.tree_)    # as if trained so
    first, second = model.predict_proba([[0.0]])[0, :2]
    assert first == second
    frame = export_frame(model)
    assert frame.prediction[1:].tolist() == model.predict([[0.0], [1.0]]).tolist() == [1, 2]
    assert set_leaves(model, frame).tree_ == model.tree_


def test_many_classes():
    # Columns that are added to a frame one by one make pandas warn from the hundredth on.
    model = ObliqueTreeClassifier(1, optimizer=None).fit(X, np.arange(200) % 100)
    assert export_frame(model).shape == (3, 110)


def test_what_is_not_known_is_missing():
    model = ObliqueTreeRegressor(2, optimizer=None, leaf="linear", random_state=0).fit(X, VALUES)
    assert model.tree_.slopes is not None
    assert export_frame(model).impurity.isna().all()
    model = ObliqueTreeRegressor(2, optimizer=None, leaf="constant").fit(X, VALUES)
    assert export_frame(model, X=X).impurity.isna().all()
    tree = Tree([[1.0]], [0.0], [~0], [~1], [[0.0, 1.0], [1.0, 0.0]])
    frame = export_frame(tree)
    assert frame.prediction.tolist() == [None, 1, 0]
    for name in ("samples", "weight"):
        assert frame[name].isna().all()
    assert_array_equal(frame.probability_0.isna(), [True, False, False])
    leaf = export_frame(Tree(np.empty((0, 1)), [], [], [], [[2.5]]))
    assert leaf.rule.tolist() == ["2.5"]
    assert leaf.side.tolist() == [""]
    assert leaf.prediction.tolist() == [2.5]


@pytest.mark.parametrize("unit", [2.0**-560, 2.0**560])
def test_variances_beyond_floats_are_zero_or_infinite(unit):
    model = ObliqueTreeRegressor(1, optimizer=None).fit(X, unit * VALUES)
    assert export_frame(model).impurity.isin([0.0, np.inf]).all()       # some were NaN


def test_names_and_units():
    model = ObliqueTreeRegressor(1, optimizer=None, leaf="constant")
    pipeline = make_pipeline(StandardScaler(), model).fit(1000.0 + X, VALUES)
    rule = export_frame(pipeline, feature_names=["age", "q", "r"]).rule[0]
    name, limit = rule.split(" <= ")
    assert name == "age"
    assert 995.0 < float(limit) < 1005.0


def test_frames_need_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="export_frame needs pandas"):
        export_frame(Tree(np.empty((0, 1)), [], [], [], [[2.5]]))
