"""Trees of scikit-learn on the scores of nodes: samples reach the same leaves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from helpers import rules_text
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt.export import export_sklearn
from ngdt.testing.strategies import problems


@given(problems(n_internal=st.integers(1, 6)))
def test_samples_reach_the_same_leaves(problem):
    tree, X = problem.tree, problem.X
    estimator, scores, names = export_sklearn(tree, X)
    assert len(names) == scores.shape[1] == tree.n_internal
    np.testing.assert_array_equal(estimator.apply(scores) - tree.n_internal, tree.apply(X))


def test_estimators_predict_the_same(iris):
    X, y = iris
    labels = np.array(["a", "b", "c"])[y]
    model = make_pipeline(StandardScaler(), ObliqueTreeClassifier(
        3, init="co2", optimizer=None, random_state=0)).fit(X, labels)
    estimator, scores, names = export_sklearn(model, X)
    np.testing.assert_array_equal(estimator.predict(scores), model.predict(X))
    np.testing.assert_allclose(estimator.predict_proba(scores), model.predict_proba(X))
    np.testing.assert_array_equal(estimator.tree_.n_node_samples, model[-1].n_node_samples)
    assert estimator.get_depth() == model[-1].get_depth()
    # Names have the units of the table.
    condition = rules_text(model, n_terms=2, digits=3).splitlines()[0].removeprefix("if ")
    assert names[0].replace(" - ", " <= ").startswith(condition.split(" <= ")[0].replace(
        " - ", " <= "))
    for targets in (y, np.c_[y, -y]):
        model = ObliqueTreeRegressor(2, optimizer=None).fit(X, targets)
        estimator, scores, _ = export_sklearn(model, X)
        assert isinstance(estimator, DecisionTreeRegressor)
        np.testing.assert_allclose(estimator.predict(scores), model.predict(X), atol=1e-12)


def test_names_say_what_is_compared_with_zero():
    for weights, threshold, name in [
            ([2.0, 0.0], 1.0, "x0 - 0.5"), ([-2.0, 0.0], 1.0, "-(x0 + 0.5)"),
            ([1.0, -1.0], -3.0, "1 * x0 - 1 * x1 + 3")]:
        tree = Tree([weights], [threshold], [~0], [~1], np.eye(2))
        X = np.array([[1.0, 4.0], [-3.0, 8.0]])
        _, scores, (found,) = export_sklearn(tree, X)
        assert found == name
        expected = eval(name, {"x0": X[:, 0], "x1": X[:, 1]})
        np.testing.assert_array_equal(scores[:, 0], expected)
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"city": ["Rome", "Oslo"] * 9})
    model = ObliqueTreeClassifier(1, optimizer=None).fit(table, table["city"].to_numpy())
    _, scores, (name,) = export_sklearn(model, table)
    is_in = {"not: city is Rome": "Oslo", "not: city is Oslo": "Rome",
             "not: city is not Rome": "Rome", "not: city is not Oslo": "Oslo"}[name]
    np.testing.assert_array_equal(scores[:, 0] > 0, table["city"] == is_in)


def test_trees_that_scikit_learn_cannot_have(iris):
    with pytest.raises(ValueError, match="must have a split"):
        export_sklearn(Tree(np.empty((0, 2)), [], [], [], [[0.0]]), np.zeros((1, 2)))
    linear = ObliqueTreeRegressor(1, leaf="linear", optimizer=None).fit(*iris)
    with pytest.raises(ValueError, match="train it with leaf='constant'"):
        export_sklearn(linear, iris[0])


def test_dtreeviz_reads_it(iris):
    dtreeviz = pytest.importorskip("dtreeviz", reason="needs dtreeviz, to draw a tree with it")
    model = ObliqueTreeClassifier(2, init="co2", optimizer=None, random_state=0).fit(*iris)
    estimator, scores, names = export_sklearn(model, iris[0])
    shown = dtreeviz.model(
        estimator, scores, iris[1], feature_names=names, target_name="kind",
        class_names=["a", "b", "c"])
    assert shown.shadow_tree.nnodes() == 2 * model.get_n_leaves() - 1


def test_nodes_are_weighted_means_of_their_children(iris):
    X, y = iris
    model = ObliqueTreeClassifier(3, optimizer=None, class_weight={0: 1, 1: 30, 2: 5}).fit(X, y)
    tree = export_sklearn(model, X).estimator.tree_
    weight, value = tree.weighted_n_node_samples, tree.value[:, 0]
    for node in np.flatnonzero(tree.children_left >= 0):
        children = [tree.children_left[node], tree.children_right[node]]
        np.testing.assert_allclose(weight[node], weight[children].sum())
        np.testing.assert_allclose(
            value[node], np.average(value[children], axis=0, weights=weight[children]))
    assert tree.compute_feature_importances(False).min() >= -1e-12
