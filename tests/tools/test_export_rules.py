"""Rules and graphs, which send each sample as the tree does."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt.export import export_graphviz, export_rules, export_text
from ngdt.testing.strategies import problems

DENSE = problems(sparse=st.just(False), n_samples=st.integers(1, 8))


def holds(condition, x):
    return eval(condition, {f"x{j}": value for j, value in enumerate(x.tolist())})


def leaf_by(rules, x):
    """The leaf of the only rule whose conditions a sample meets."""
    (leaf,) = [rule.leaf for rule in rules if all(holds(each, x) for each in rule.conditions)]
    return leaf


@given(DENSE, st.booleans(), st.none() | st.integers(1, 4))
def test_a_sample_meets_the_rule_of_its_leaf_only(problem, exact, digits):
    tree, X = problem.tree, problem.X
    rules = export_rules(tree) if exact else export_rules(tree, X=X, digits=digits)
    leaf = tree.apply(X)
    assert [leaf_by(rules, x) for x in X] == leaf.tolist()
    if not exact:
        counts = {rule.leaf: rule.n_samples for rule in rules}
        assert [counts[number] for number in range(tree.n_leaves)] == (
            np.bincount(leaf, minlength=tree.n_leaves).tolist())


@given(DENSE)
def test_no_limit_is_written_twice(problem):
    for rule in export_rules(problem.tree):
        limits = re.findall(r"(?m)^(x\d) ([<>])", "\n".join(rule.conditions))
        assert len(set(limits)) == len(limits)


def test_rules_of_an_estimator(iris):
    X, y = iris
    tree = ObliqueTreeClassifier(3, optimizer=None).fit(X, np.array(["a", "b", "c"])[y])
    rules = export_rules(tree)
    assert [leaf_by(rules, x) for x in X] == tree.apply(X).tolist()
    assert [rule.n_samples for rule in sorted(rules, key=lambda rule: rule.leaf)] == (
        tree.n_node_samples[tree.tree_.n_internal:].tolist())
    predicted = {rule.leaf: rule.prediction.split()[0] for rule in rules}
    assert [predicted[leaf] for leaf in tree.apply(X)] == tree.predict(X).tolist()
    assert re.fullmatch(r"if x[23] <= [\d.]+: a \(0\.\d+\) \[50\]", str(rules[0]))


def test_texts_of_rules():
    leaf = Tree(np.empty((0, 1)), [], [], [], [[2.5]])
    assert str(*export_rules(leaf)) == "always: 2.5"
    assert [str(rule) for rule in export_rules(leaf, X=np.zeros((3, 1)))] == ["always: 2.5 [3]"]
    chain = Tree([[1.0], [1.0], [-1.0]], [5.0, 3.0, -1.0], [1, 2, ~0], [~3, ~2, ~1], np.eye(4))
    assert [rule.conditions for rule in export_rules(chain)] == [
        ("x0 <= 3", "x0 >= 1"), ("x0 < 1",), ("x0 <= 5", "x0 > 3"), ("x0 > 5",)]


def test_a_rule_that_rounding_decides_is_marked():
    X = np.array([[1.0, 1.0], [1.0 + 2 * np.finfo(float).eps, 1.0]])
    tree = Tree([[1.0, 1.0]], [2.0], [~0], [~1], np.eye(2))
    assert [rule.is_certain for rule in export_rules(tree, X=X)] == [False, False]
    assert "# rounding of the sum decides" in str(export_rules(tree, X=X)[0])


# --- graphs --------------------------------------------------------------------------------------


def read_graph(text):
    """Labels and children by the numbers of a graph."""
    labels = {
        number: re.sub(r'\\(["\\])', r"\1", label.replace("\\n", " "))
        for number, label in re.findall(r'^(\d+) \[label="((?:\\.|[^"\\])*)"', text, re.M)}
    children = {}
    for parent, child in re.findall(r"^(\d+) -> (\d+)", text, re.M):
        children.setdefault(parent, []).append(child)
    return labels, children


@given(DENSE)
def test_the_graph_sends_each_sample_as_the_tree(problem):
    tree, X = problem.tree.replace(values=np.arange(problem.tree.n_leaves)[:, None]), problem.X
    labels, children = read_graph(export_graphviz(tree, n_terms=None))
    for x, leaf in zip(X, tree.apply(X), strict=True):
        node = "0"
        while node in children:
            node = children[node][not holds(labels[node], x)]
        assert labels[node] == str(leaf)


@pytest.fixture(scope="module")
def classifier(iris):
    X, y = iris
    return ObliqueTreeClassifier(2, optimizer=None).fit(X, np.array(["a", 'b"\\', "c"])[y])


def test_a_graph_has_the_names_counts_and_colours(classifier):
    text = export_graphviz(
        classifier, filled=True, rounded=True, node_ids=True, rotate=True, leaves_parallel=True)
    labels, children = read_graph(text)
    assert children["0"] == ["2", "1"]
    assert labels["2"].startswith("leaf 0 a (")
    assert labels["2"].endswith("samples = 50")
    assert 'b"\\ (' in labels["3"]
    assert 'style="filled, rounded"' in text
    assert "rankdir=LR;" in text
    assert "{rank=same; 2; 3; 4;}" in text
    hues = re.findall(r'fillcolor="([\d.]+) ([\d.]+) 1.000"', text)
    assert [hue for hue, _ in hues] == ["0.000", "0.333", "0.667"]
    assert 0.8 < float(hues[1][1]) < float(hues[0][1]) < 1


def test_a_graph_may_be_cut(classifier):
    labels, _ = read_graph(export_graphviz(classifier, max_depth=1))
    assert labels["1"].startswith("...")
    assert set(labels) == {"0", "1", "2"}


def test_larger_values_are_darker(diabetes):
    model = ObliqueTreeRegressor(2, optimizer=None).fit(*diabetes)
    text = export_graphviz(model, filled=True)
    shades = np.array(re.findall(r'fillcolor="0.080 ([\d.]+) 1.000"', text), dtype=float)
    values = np.array(re.findall(r'label="([\d.]+)\\n', text), dtype=float)
    assert (np.argsort(shades) == np.argsort(values)).all()
    assert (shades.min(), shades.max()) == (0.0, 1.0)
    two = ObliqueTreeRegressor(1, optimizer=None).fit(diabetes[0], diabetes[0][:, :2])
    assert export_graphviz(two, filled=True).count(" 0.000 1.000") == two.get_n_leaves()


def test_the_tree_of_a_replaced_model_has_no_counts(classifier):
    before = classifier.tree_
    classifier.tree_ = before.replace(thresholds=before.thresholds + 0.01)
    try:
        assert "samples" not in export_graphviz(classifier)
        assert export_rules(classifier)[0].n_samples is None
    finally:
        classifier.tree_ = before
    assert "samples" in export_graphviz(classifier)
    assert export_text(classifier)


@pytest.mark.parametrize("function", [export_rules, export_graphviz])
def test_wrong_arguments(function, classifier):
    with pytest.raises(ValueError, match="n_terms must be a positive int or None"):
        function(classifier, n_terms=0)
