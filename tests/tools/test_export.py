"""Trees as text: what is written routes and predicts as the tree does."""

import re
import sys

import numpy as np
import pytest
from hypothesis import given
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt.export import export_text
from ngdt.testing.strategies import problems


def run(text, x):
    """What the text makes of a sample with features x0, x1, ...: it is Python, but for leaves."""
    statements = re.sub(r"^( *)(?!if |else:| )(.*)$", r"\1leaf = '\2'", text, flags=re.M)
    found = {f"x{j}": value for j, value in enumerate(x.tolist())}
    exec(statements, found)
    return found["leaf"]


@given(problems())
def test_conditions_lead_to_the_leaf(problem):
    tree, X = problem.tree, problem.X
    X = X if isinstance(X, np.ndarray) else X.toarray()
    leaf = tree.replace(values=np.arange(tree.n_leaves)[:, None])
    text = export_text(leaf, n_terms=None, digits=17)
    assert [int(run(text, x)) for x in X] == tree.apply(X).tolist()


@pytest.fixture(scope="module")
def iris():
    return load_iris()


def test_names_and_probabilities(iris):
    tree = ObliqueTreeClassifier(1, optimizer=None).fit(iris.data, iris.target_names[iris.target])
    proba = tree.predict_proba(iris.data[[0, 50]]).max(axis=1)
    text = export_text(tree, feature_names=iris.feature_names, digits=4)
    assert re.fullmatch(
        r"if petal (length|width) \(cm\) <= [\d.]+:\n"
        rf"    setosa \({proba[0]:.4g}\)\nelse:\n    versicolor \({proba[1]:.4g}\)", text)
    assert "A (" in export_text(tree, class_names=["A", "B", "C"])


def test_names_are_those_of_the_data_frame(iris):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(iris.data, columns=["a", "b", "c", "d"])
    tree = ObliqueTreeClassifier(1, optimizer=None).fit(X, iris.target)
    assert re.match("if [cd] <= ", export_text(tree))


def test_values_of_all_targets(iris):
    tree = ObliqueTreeRegressor(0, optimizer=None).fit(iris.data, iris.data[:, :2])
    assert export_text(tree, digits=3) == "5.84, 3.06"


@pytest.mark.parametrize(("weights", "threshold", "text"), [
    ([0.0, 2.0, 0.0], 1.0, "if x1 <= 0.5:"),
    ([0.0, -2.0, 0.0], 1.0, "if x1 >= -0.5:"),
    ([0.0, -2.0, 0.0], 0.0, "if x1 >= 0:"),
    ([0.0, 0.0, 0.0], 1.0, "if 0 <= 1:"),
    ([1.0, -2.0, 0.0], -0.0, "if - 2 * x1 + 1 * x0 <= 0:"),
    ([1.0, -2.0, 3.0], 1.0, "if 3 * x2 - 2 * x1 + 1 more <= 1:"),
])
def test_conditions(weights, threshold, text):
    tree = Tree([weights], [threshold], [~0], [~1], [[0.0], [1.0]])
    for form in (tree, tree.sparsify()):
        assert export_text(form, n_terms=2).splitlines() == [text, "    0", "else:", "    1"]


def test_a_chain_deeper_than_the_recursion_limit():
    m = 2 * sys.getrecursionlimit()
    tree = Tree(np.ones((m, 1)), np.zeros(m), ~np.arange(m), np.r_[np.arange(1, m), ~m],
                np.arange(m + 1.0)[:, None])
    assert export_text(tree).count("else:") == m
    assert export_text(tree, max_depth=1) == "if x0 <= 0:\n    0\nelse:\n    ..."


@pytest.mark.parametrize("arguments", [
    dict(n_terms=0), dict(n_terms=1.5), dict(digits=0), dict(digits=None), dict(max_depth=0),
    dict(max_depth="all"), dict(feature_names=["a"]), dict(class_names="abc")])
def test_wrong_arguments(iris, arguments):
    tree = ObliqueTreeClassifier(1, optimizer=None).fit(iris.data, iris.target)
    (name,) = arguments
    with pytest.raises(ValueError, match=f"^{name} must be"):
        export_text(tree, **arguments)


def test_wrong_models(iris):
    fitted = DecisionTreeClassifier().fit(iris.data, iris.target)
    with pytest.raises(TypeError, match=r"convert it by Tree.from_sklearn"):
        export_text(fitted)
    assert export_text(Tree.from_sklearn(fitted)).startswith("if x")
