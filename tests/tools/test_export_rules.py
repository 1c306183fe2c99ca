"""Rules and graphs, which send each sample as the tree does."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline

from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt.export import _leaf_rules, export_graphviz, export_rules, export_text
from ngdt.optimizers import LinearLeaves
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
    rules = export_rules(tree) if exact else export_rules(tree, X=X, precision=digits)
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
        tree.n_node_samples_[tree.tree_.n_internal:].tolist())
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


def test_a_sum_between_two_limits_is_written_once():
    bands = Tree([[1.0, 2.0]] * 3, [5.0, 3.0, 7.0], [1, ~0, ~2], [2, ~1, ~3], np.eye(4))
    first, second, *_ = rules = export_rules(bands)
    assert str(second).startswith("if 2 * x1 + 1 * x0 <= 5 and the same sum > 3: 1 ")
    assert second.conditions == ("2 * x1 + 1 * x0 <= 5", "2 * x1 + 1 * x0 > 3")
    assert str(first).startswith("if 2 * x1 + 1 * x0 <= 3: 0 ")
    other = Tree([[1.0, 2.0], [1.0, 3.0], [1.0, 0.0]], [5.0, 3.0, 7.0], bands.children_left,
                 bands.children_right, np.eye(4))
    assert "same" not in "".join(str(rule) for rule in export_rules(other))
    assert sum(str(rule).count("the same sum") for rule in rules) == 2
    apart = Tree([[1.0, 2.0], [1.0, 3.0], [1.0, 2.0]], [5.0, 3.0, 2.0], [1, 2, ~0], [~3, ~2, ~1],
                 np.eye(4))
    assert str(export_rules(apart)[1]).startswith(
        "if 2 * x1 + 1 * x0 <= 5 and the same sum > 2 and 3 * x1 + 1 * x0 <= 3: 1 ")


def test_rules_of_many_terms_are_short():
    tree = Tree([np.arange(1.0, 9.0)], [5.0], [~0], [~1], np.eye(2))
    assert export_rules(tree)[0].conditions == (
        "8 * x7 + 7 * x6 + 6 * x5 + 5 * x4 + 4 * x3 + 3 more <= 5",)
    assert len(export_rules(tree, n_terms=None)[0].conditions[0].split("*")) == 9


def test_other_sums_that_begin_alike_are_written_whole():
    tree = Tree([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]], [5.0, 3.0], [1, ~0], [~2, ~1], np.eye(3))
    first, *_ = export_rules(tree, n_terms=1)
    assert str(first).startswith(
        "if 1 * x0 + 1 more <= 5 and 1 * x0 + 1 * x2 <= 3: 0 ")


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
    assert text == export_graphviz(
        classifier, leaves_parallel=np.True_,
        **dict.fromkeys(["filled", "rounded", "node_ids", "rotate"], np.True_))
    labels, children = read_graph(text)
    assert children["0"] == ["2", "1"]
    assert labels["2"].startswith("node 2, leaf 0 a (")
    assert labels["2"].endswith("samples = 50")
    assert 'b"\\ (' in labels["3"]
    assert 'style="filled, rounded"' in text
    assert "rankdir=LR;" in text
    assert "{rank=same; 2; 3; 4;}" in text
    hues = re.findall(r'fillcolor="([\d.]+) ([\d.]+) 1.000"', text)
    assert [hue for hue, _ in hues] == ["0.000", "0.333", "0.667"]
    assert 0.8 < float(hues[1][1]) < float(hues[0][1]) < 1


def test_no_line_of_a_graph_ends_within_a_term():
    tree = Tree([[1.43, 0.548, 0.0113, -0.124, 0.462]], [2.25], [~0], [~1], [[0.0], [1.0]])
    names = ["city", "class", "age", "siblings", "(deck = C)"]
    assert export_graphviz(tree, feature_names=names).splitlines()[5] == (
        r'0 [label="1.43 * city + 0.548 * class\n+ 0.462 * (deck = C) - 0.124 * siblings\n'
        r'+ 0.0113 * age <= 2.25"];')


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


# --- coverage and held-out samples ---------------------------------------------------------------


@given(DENSE)
def test_coverage_is_the_share_of_the_samples(problem):
    tree, X = problem.tree, problem.X
    rules = export_rules(tree, X=X, by_coverage=True)
    shares = [np.mean(tree.apply(X) == rule.leaf) for rule in rules]
    assert [rule.coverage for rule in rules] == shares == sorted(shares, reverse=True)
    assert sorted(map(str, rules)) == sorted(map(str, export_rules(tree, X=X)))
    assert all(rule.coverage is rule.held_out is None for rule in export_rules(tree))


def wilson(n_right, n):
    """Shares from which the observed one differs by 1.96 standard errors: by bisection."""
    def is_near(p):
        return (n_right / n - p) ** 2 <= 1.959964**2 * p * (1 - p) / n

    ends = []
    for end in (0.0, 1.0):
        inside, outside = n_right / n, end
        for _ in range(60):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if is_near(middle) else (inside, middle)
        ends.append(inside)
    return ends


@pytest.mark.parametrize("leaf", ["constant", LinearLeaves(penalty=10.0)])
def test_held_out_classes(iris, leaf):
    X, y = iris[0], np.array(["a", "b", "c"])[iris[1]]
    rest = np.arange(150) % 3 == 0
    model = ObliqueTreeClassifier(
        2, optimizer=None, leaf=leaf, validation_fraction=None).fit(X[~rest], y[~rest])
    for given_model, samples in ((model, X[rest]), (make_pipeline("passthrough", model), X[rest])):
        for rule in export_rules(given_model, held_out=(samples, y[rest])):
            here = model.apply(X[rest]) == rule.leaf
            n, n_right = here.sum(), (model.predict(X[rest]) == y[rest])[here].sum()
            assert rule.held_out.n_samples == n
            np.testing.assert_allclose(rule.held_out.interval, wilson(n_right, n), atol=1e-6)
            assert rule.n_samples == (model.apply(X[~rest]) == rule.leaf).sum()
    plain = [str(rule) for rule in export_rules(model)]
    assert [re.sub(r" \{.*\}", "", str(rule)) for rule in export_rules(
        model, held_out=(X[rest], y[rest]))] == plain


def test_held_out_classes_of_nullable_types_are_not_merged():
    pd = pytest.importorskip("pandas")
    X, y = np.arange(20.0)[:, None], 2**60 + (np.arange(20) > 9)
    tree = ObliqueTreeClassifier(1, optimizer=None).fit(X, y)
    assert export_rules(tree, held_out=(X, pd.Series(y, dtype="Int64"))) == export_rules(
        tree, held_out=(X, y))


def test_held_out_targets(diabetes):
    X, y = diabetes
    for targets in (y, np.column_stack([y, -y])):
        model = ObliqueTreeRegressor(2, optimizer=None, leaf="constant").fit(X[:200], targets[:200])
        for rule in export_rules(model, held_out=(X[200:], targets[200:])):
            own = targets[200:][model.apply(X[200:]) == rule.leaf]
            expected = np.quantile(own, [0.05, 0.95], axis=0).T
            np.testing.assert_allclose(rule.held_out.interval, expected)
            assert str(rule).count(" to ") == np.size(expected) // 2
    rules = export_rules(model, held_out=(X[:1], targets[:1]))
    assert sorted(rule.held_out.n_samples for rule in rules) == [0, 0, 0, 1]
    assert sum(str(rule).endswith("{0 held out}") for rule in rules) == 3


@pytest.mark.parametrize(("held_out", "error", "message"), [
    (np.zeros((3, 4)), TypeError, r"held_out must be a tuple \(X, y\), got ndarray"),
    ((1, 2, 3), TypeError, r"held_out must be a tuple \(X, y\), got tuple of length 3"),
    ((np.zeros((3, 4)), ["a", "a"]), ValueError, "held_out: .*inconsistent numbers of samples"),
    ((np.zeros((3, 4)), ["a", "z", "a"]), ValueError, r"held_out: y contains the labels \['z'\]"),
    ((np.zeros((3, 3)), ["a", "a", "a"]), ValueError, "held_out: X has 3 features"),
])
def test_wrong_held_out_samples(held_out, error, message, classifier):
    with pytest.raises(error, match=message):
        export_rules(classifier, held_out=held_out)


def test_wrong_held_out_targets(diabetes):
    model = ObliqueTreeRegressor(1, optimizer=None).fit(*diabetes)
    for y, message in ((np.zeros((3, 2)), "y has 2 targets, but the tree has 1"),
                       ([np.nan] * 3, "Input y contains NaN")):
        with pytest.raises(ValueError, match=f"held_out: .*{message}"):
            export_rules(model, held_out=(diabetes[0][:3], y))


def test_each_condition_is_made_once(monkeypatch):
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3))
    model = ObliqueTreeRegressor(None, optimizer=None, init="info_gain").fit(X, X.sum(axis=1))
    made, make = [], _leaf_rules.condition_of
    monkeypatch.setattr(
        _leaf_rules, "condition_of", lambda captions, node, *args, left: made.append(
            (node, left)) or make(captions, node, *args, left=left))
    rules = export_rules(model)
    assert len(rules) == model.get_n_leaves() > 100
    assert len(made) == len({*made}) == 2 * model.tree_.n_internal
