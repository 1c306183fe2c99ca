"""Trees as text, which routes and predicts as the tree does."""

import dataclasses
import inspect
import itertools
import pickle
import re
import sys

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from helpers import rules_text
from ngdt import (
    ObliqueForestClassifier,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    TAOPathCV,
    Tree,
    export,
)
from ngdt._util.numbers import exact, format_number, shortest
from ngdt.export import (
    export_c,
    export_frame,
    export_graphviz,
    export_html,
    export_json,
    export_onnx,
    export_rules,
    export_sql,
    export_text,
)
from ngdt.pruning import prune_at, refit_leaves
from ngdt.testing.strategies import problems, trees


def run(text, x):
    """Result of the text for a sample with features x0, x1, ...: it is Python, but for leaves."""
    lines, sums = [], {}
    for line in text.splitlines():
        indent = line.index(line.lstrip())
        if line.startswith("if ", indent):
            line = line.replace("the same sum", sums.get(indent - 4, ""))
            sums[indent] = re.match(r" *if (.*?) (?:[<>]|is )", line)[1]
        elif not line.startswith(("else:", " "), indent):
            line = f"{' ' * indent}leaf = '{line.lstrip()}'"
        lines.append(line)
    statements = "\n".join(lines)
    found = {f"x{j}": value for j, value in enumerate(x.tolist())}
    exec(statements, found)
    return found["leaf"]


def with_leaf_numbers(tree):
    """The tree whose leaf values are the numbers of the leaves."""
    return tree.replace(values=np.arange(tree.n_leaves)[:, None])


def leaves_by(text, X):
    X = X if isinstance(X, np.ndarray) else X.toarray()
    return [int(run(text, x)) for x in X]


@given(problems())
def test_numbers_are_exact_without_samples(problem):
    tree, X = with_leaf_numbers(problem.tree), problem.X
    assert leaves_by(rules_text(tree, n_terms=None), X) == tree.apply(X).tolist()


@given(problems(n_samples=st.integers(1, 8)), st.integers(1, 4), st.integers(1, 4))
def test_the_text_sends_each_sample_as_the_tree(problem, digits, n_sums):
    tree, X = with_leaf_numbers(problem.tree), problem.X
    if n_sums < tree.n_internal:    # which are written once, with digits for all splits
        tree = tree.replace(weights=tree.dense_weights(np.arange(tree.n_internal) % n_sums))
        event(f"the same sum: {'the same sum' in rules_text(tree)}")
        event(f"named: {':=' in rules_text(tree)}")
    text = rules_text(tree, n_terms=None, precision=digits, X=X)
    assert "#" not in text      # sums of these numbers are exact
    assert leaves_by(text, X) == tree.apply(X).tolist()


def test_a_sum_that_is_repeated_below_another_one_has_a_name():
    a, b = [-3.0, 1.0], [1.0, 2.0]
    tree = Tree([a, b, a, b, a], [0.0, 1.0, 2.0, 3.0, 4.0], [1, 2, ~0, ~2, ~4],
                [3, ~3, ~1, 4, ~5], np.eye(6))
    lines = [line.strip() for line in rules_text(tree).splitlines()]
    assert [line for line in lines if "if" in line] == [
        "if (sum_1 := - 3 * x0 + 1 * x1) <= 0:", "if 2 * x1 + 1 * x0 <= 1:", "if sum_1 <= 2:",
        "if 2 * x1 + 1 * x0 <= 3:", "if sum_1 <= 4:"]   # one of two beside each other has none


def test_a_sum_has_no_name_of_a_column():
    tree = Tree([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]], [9.0, 5.0, 1.0], [1, 2, ~0], [~3, ~2, ~1],
                np.eye(4))
    conditions = re.findall(r"if (.*):", rules_text(tree, feature_names=["sum_1", "sum_3"]))
    assert conditions[0::2] == ["(sum_2 := 2 * sum_3 + 1 * sum_1) <= 9", "sum_2 <= 1"]


def test_a_split_on_one_column_of_several_features_has_no_name():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"city": ["Bonn", "Oslo", "Rome"] * 9, "a": range(27), "b": [3, 7, 5] * 9})
    city, numbers = [0.0, 0.0, 2.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0, 0.0]
    model = ObliqueTreeClassifier(optimizer=None).fit(X, X["a"] % 2)
    model.tree_ = Tree([city, numbers, city, numbers], [1.5, 9.0, 0.5, 5.0], [1, 2, 3, ~0],
                       [~4, ~3, ~2, ~1], np.eye(5)[:, :2])
    assert re.findall(r"if (.*):", rules_text(model)) == [
        "city is Bonn", "(sum_1 := 1 * a + 1 * b) <= 9", "city is Rome", "sum_1 <= 5"]


@pytest.mark.parametrize("digits", [1, 2, 3, 17])
@pytest.mark.parametrize("offset", [0.0, 2000.0])
def test_splits_that_touch_a_sample(digits, offset):
    """The corners of a cube: for some of them, all changes of the weights add up."""
    rng = np.random.default_rng(0)
    X = offset + np.array(list(itertools.product([0.0, 1.0], repeat=5)))
    for _ in range(15):
        weights = rng.normal(size=5)
        products = Tree([weights], [0.0], [~0], [~1], np.eye(2)).scores(X)[:, 0]
        tree = Tree([weights], [rng.choice(products)], [~0], [~1], np.eye(2))
        text = rules_text(tree, n_terms=None, precision=digits, X=X)
        assert "#" not in text
        condition = text.splitlines()[0].removeprefix("if ").removesuffix(":")
        goes_left = eval(condition, {f"x{j}": x for j, x in enumerate(X.T)})
        assert (tree.apply(X) == ~goes_left).all()


OFFSETS = st.sampled_from([0.0, 0.0, 1.0, -2000.0, 1e6])
STEPS = st.sampled_from([1.0, 0.01, 1e-3, 1e-6])


@st.composite
def features_of_all_magnitudes(draw):
    """Samples with features such as years, money or probabilities, in units of all sizes."""
    n, p = draw(st.integers(2, 30)), draw(st.integers(1, 4))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    exponent = 290 if dtype is np.float64 else 28
    columns = [
        (draw(OFFSETS) + draw(STEPS) * draw(arrays(np.float64, n, elements=st.integers(-99, 99))))
        * 10.0 ** draw(st.integers(-exponent, exponent)) for _ in range(p)]
    X = np.stack(columns, axis=1).astype(dtype)
    return csr_array(X) if draw(st.booleans()) else X


@st.composite
def trees_through_samples(draw, X):
    """Trees whose splits meet a sample or the middle between two."""
    dense = (X if isinstance(X, np.ndarray) else X.toarray()).astype(np.float64)
    tree = draw(trees(
        n_internal=st.integers(1, 6), n_features=st.just(dense.shape[1]),
        elements=st.floats(-10, 10, width=32) | st.just(0.0), sparse_weights=st.booleans()))
    size = np.abs(dense).max(axis=0)
    weights = tree.weights / np.where(size == 0, 1.0, size)
    products = np.asarray(weights @ dense.T)
    pairs = draw(arrays(np.intp, (tree.n_internal, 2), elements=st.integers(0, len(dense) - 1)))
    thresholds = np.take_along_axis(products, pairs, axis=1).mean(axis=1)
    return Tree(weights, thresholds, tree.children_left, tree.children_right,
                np.arange(tree.n_leaves)[:, None])


def narrowest_gap(tree, X):
    """Least distance between samples on two sides of a split, relative to the terms of the sum."""
    X = X if isinstance(X, np.ndarray) else X.toarray()
    at_node, ratio = tree.decision_path(X).toarray(), np.inf
    weights = tree.dense_weights()
    for node, score in enumerate(tree.scores(X).T):
        here = at_node[:, node]
        left, right = score[here & (score <= 0)], score[here & (score > 0)]
        gap = right.min(initial=np.inf) - left.max(initial=-np.inf)
        ratio = min(ratio, gap / (np.abs(weights[node]) @ np.abs(X).max(axis=0) or 1.0))
    return ratio


@given(st.data(), st.integers(1, 5))
def test_the_text_of_a_fitted_tree_sends_each_training_sample_as_the_tree(data, digits):
    X = data.draw(features_of_all_magnitudes())
    tree = data.draw(trees_through_samples(X))
    fitted = ObliqueTreeRegressor(init=tree, optimizer=None).fit(X, np.arange(X.shape[0]))
    fitted.tree_ = with_leaf_numbers(fitted.tree_)
    for text in (rules_text(fitted, n_terms=None, precision=digits, X=X),
                 rules_text(replaced_values(fitted), n_terms=None, precision=digits)):
        if "#" in text:
            event("a sum is decided by rounding")
            assert narrowest_gap(fitted.tree_, X) < 1e-12
        else:
            event("all sums are decided by numbers")
            assert leaves_by(text, X) == fitted.apply(X).tolist()


def replaced_values(fitted):
    """The estimator with a summary of its training samples for the tree that it has now."""
    fitted._sample_summary = dataclasses.replace(fitted._sample_summary, tree=fitted.tree_)
    return fitted


@pytest.fixture(scope="module")
def iris():
    return load_iris()


def test_the_text_of_an_estimator_begins_with_what_it_is(iris):
    tree = ObliqueTreeClassifier(2, optimizer="tao", validation_fraction=None, random_state=0).fit(
        iris.data, iris.target)
    comment = "# tree trained as a whole by TAO: 3 leaves, depth 2\n"
    assert export_text(tree) == comment + rules_text(tree, show_weights=True)
    assert export_text(make_pipeline(StandardScaler(), tree).fit(iris.data, iris.target)
                       ).startswith(comment)
    assert export_text(tree.tree_).startswith("if ")
    leaf = ObliqueTreeClassifier(0, optimizer=None).fit(iris.data, iris.target)
    assert export_text(leaf).startswith("# single leaf\n")


def test_names_and_probabilities(iris):
    tree = ObliqueTreeClassifier(1, optimizer=None).fit(iris.data, iris.target_names[iris.target])
    proba = tree.predict_proba(iris.data[[0, 50]]).max(axis=1)
    text = rules_text(tree, feature_names=iris.feature_names, precision=4)
    assert re.fullmatch(
        r"if petal (length|width) \(cm\) <= [\d.]+:\n"
        rf"    setosa \({proba[0]:.4g}\)\nelse:\n    versicolor \({proba[1]:.4g}\)", text)
    assert "A (" in rules_text(tree, class_names=["A", "B", "C"])


def test_probabilities_of_weighted_samples_are_explained(iris):
    X, y = iris["data"], iris["target"]
    note = "probabilities are shares of weights, such as class weights, not of samples"
    plain = ObliqueTreeClassifier(max_depth=2, optimizer=None).fit(X, y)
    weighted = clone(plain).set_params(class_weight={0: 1, 1: 8, 2: 1}).fit(X, y)
    for model, is_weighted in (
            (plain, False), (weighted, True), (prune_at(weighted, [1]), True),
            (refit_leaves(weighted, X, y), True),
            (clone(plain).fit(X, y, np.full(150, 2.0)), False)):
        for text in (export_text(model), export_text(model, X=X[:50])):
            assert (f"\n# {note}\n" in text) == is_weighted
        assert (f"{note.capitalize()}." in export_html(model)) == is_weighted
    assert "# prob" not in export_text(ObliqueTreeRegressor(
        max_depth=2, optimizer=None).fit(X, y, y + 1))


def test_names_are_those_of_the_data_frame(iris):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(iris.data, columns=["a", "b", "c", "d"])
    tree = ObliqueTreeClassifier(1, optimizer=None).fit(X, iris.target)
    assert re.match("if [cd] <= ", rules_text(tree))


def test_numbers_of_samples(iris):
    model = ObliqueTreeClassifier(2, optimizer=None).fit(iris.data, iris.target)
    plain, counted = rules_text(model), rules_text(model, show_weights=True)
    counts = re.findall(r" \[(\d+)\]$", counted, re.M)
    assert list(map(int, counts)) == model.n_node_samples_[model.tree_.n_internal:].tolist()
    assert re.sub(r" \[\d+\]$", "", counted, flags=re.M) == plain
    assert rules_text(model.tree_, show_weights=True) == rules_text(model.tree_)


def test_values_of_all_targets(iris):
    tree = ObliqueTreeRegressor(0, optimizer=None).fit(iris.data, iris.data[:, :2])
    assert rules_text(tree, precision=3) == "5.84, 3.06"


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
        assert rules_text(form, n_terms=2).splitlines() == [text, "    0", "else:", "    1"]


def test_a_chain_deeper_than_the_recursion_limit():
    m = sys.getrecursionlimit() + 100
    tree = Tree(np.ones((m, 1)), np.zeros(m), ~np.arange(m), np.r_[np.arange(1, m), ~m],
                np.arange(m + 1.0)[:, None])
    assert rules_text(tree).count("else:") == m
    assert rules_text(tree, max_depth=1) == "if x0 <= 0:\n    0\nelse:\n    ..."


@pytest.mark.parametrize("arguments", [
    dict(n_terms=1.5), dict(precision=0), dict(precision=2.5), dict(max_depth=0),
    dict(max_depth="all"), dict(feature_names=["a"]), dict(class_names="abc")])
def test_wrong_arguments(iris, arguments):
    tree = ObliqueTreeClassifier(1, optimizer=None).fit(iris.data, iris.target)
    (name,) = arguments
    with pytest.raises(ValueError, match=f"^{name} must be"):
        rules_text(tree, **arguments)


@pytest.mark.parametrize("name", [name for name in dir(export) if name.startswith("export_")])
def test_all_but_the_model_is_given_by_name(name):
    """In no two exports a second argument would mean the same."""
    parameters = inspect.signature(getattr(export, name)).parameters.values()
    assert [each.name for each in parameters if each.kind is not each.KEYWORD_ONLY] == ["model"]


def test_wrong_models(iris):
    fitted = DecisionTreeClassifier().fit(iris.data, iris.target)
    with pytest.raises(TypeError, match=r"convert it by Tree.from_sklearn"):
        rules_text(fitted)
    assert rules_text(Tree.from_sklearn(fitted)).startswith("if x")


def test_the_tree_of_a_threshold_is_named(iris):
    X, y = iris["data"], iris["target"] == 1
    model = FixedThresholdClassifier(ObliqueTreeClassifier(1, optimizer=None), threshold=0.3)
    with pytest.raises(TypeError, match=r"got FixedThresholdClassifier: pass its estimator_$"):
        export_text(model.fit(X, y))
    assert export_text(model.estimator_).startswith("# greedy tree")


def test_the_tree_of_a_search_is_written_with_its_names(iris):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"a": iris.data[:, 2], "b": [f"w{width}" for width in iris.data[:, 3]]})
    search = TAOPathCV(ObliqueTreeClassifier(
        1, optimizer="tao", validation_fraction=None), Cs=[1.0], cv=2)
    search.fit(X, iris.target)
    assert rules_text(search) == rules_text(search.estimator_)


@pytest.mark.parametrize("export", [export_c, export_json, export_sql])
def test_programs_get_no_pipeline_that_transforms_columns(export, iris):
    tree = ObliqueTreeClassifier(1, optimizer=None)
    scaled = make_pipeline(StandardScaler(), tree).fit(iris.data, iris.target)
    with pytest.raises(ValueError, match="whose StandardScaler transforms the columns"):
        export(scaled)
    assert export(make_pipeline("passthrough", tree)) == export(tree)
    search = GridSearchCV(tree, {"max_depth": [1]}, cv=2).fit(iris.data, iris.target)
    assert export(search) == export(search.best_estimator_)
    with pytest.raises(TypeError, match=r"convert it by Tree\.from_sklearn"):
        export(DecisionTreeClassifier().fit(iris.data, iris.target))


OF_ONE_TREE = [export_text, export_rules, export_graphviz, export_html, export_frame, export_sql]


@pytest.mark.parametrize("export", OF_ONE_TREE)
def test_forests_are_exported_tree_by_tree(export, iris):
    forest = ObliqueForestClassifier(2, optimizer=None).fit(iris.data, iris.target)
    with pytest.raises(TypeError, match=r"single tree, got .* one of its (trees, such as )?estim"):
        export(forest)
    assert len(export(forest[0]))


@pytest.mark.parametrize("export", OF_ONE_TREE[:-1])
def test_a_number_of_terms_is_positive(export):
    with pytest.raises(ValueError, match=r"^n_terms must be a positive int"):
        export(Tree([[1.0]], [0.0], [~0], [~1], np.eye(2)), n_terms=0)


@pytest.mark.parametrize("export", OF_ONE_TREE[:-1])
def test_auto_shows_all_terms_of_a_linear_model_only(export):
    none, both = np.empty((0, 11)), np.ones((1, 11))
    model = Tree(none, [], [], [], [[0.0]], slopes=np.full((1, 1, 11), 2.0))
    split = Tree(both, [0.0], [~0], [~1], [[0.0], [1.0]])
    for tree, is_all in ((model, True), (split, False)):
        shown = export(tree, n_terms="auto")
        text = shown.to_csv() if export is export_frame else str(shown)
        assert ("more" in text) is not is_all


@pytest.mark.parametrize(("export", "message"), [
    (export_sql, "which SQL cannot hold"),
    (export_json, "classes or categories that JSON cannot hold"),
    (export_onnx, "labels of ONNX are all strings or all integers")])
@pytest.mark.parametrize("dtype", ["M8[D]", "M8[ns]", "m8[ns]"])
def test_labels_that_a_language_lacks_are_refused(export, message, dtype, iris):
    if export is export_onnx:
        pytest.importorskip("onnx")
    labels = (iris.target > 0).astype(dtype)
    model = ObliqueTreeClassifier(1, optimizer=None).fit(iris.data, labels)
    with pytest.raises(TypeError, match=message):
        export(model)


@pytest.mark.parametrize(("export", "language"), [(export_c, "C"), (export_onnx, "ONNX")])
@pytest.mark.parametrize(("values", "message"), [
    (["Ro\0me", "Oslo"], "holds '.x00', which {} cannot"),
    ([2**53 + 1, 1], "category 9007199254740993 of column 'code'")])
def test_categories_that_a_language_lacks_are_refused(export, language, values, message):
    pandas = pytest.importorskip("pandas")
    if export is export_onnx:
        pytest.importorskip("onnx")
    frame = pandas.DataFrame({"code": pandas.Categorical(values * 10)})
    model = ObliqueTreeClassifier(1, optimizer=None).fit(frame, np.arange(20) % 2)
    with pytest.raises(ValueError, match=message.format(language)):
        export(model)


@pytest.mark.parametrize("export", [export_c, export_json, export_onnx, export_sql])
def test_infinite_categories_are_refused(export):
    pandas = pytest.importorskip("pandas")
    if export is export_onnx:
        pytest.importorskip("onnx")
    frame = pandas.DataFrame({"ratio": pandas.Categorical([-np.inf, 1.0] * 10)})
    model = ObliqueTreeClassifier(1, optimizer=None).fit(frame, np.arange(20) % 2)
    with pytest.raises(ValueError, match="category -inf of column 'ratio'"):
        export(model)


def test_a_year_is_written_as_a_year():
    X = np.arange(1990.0, 2030.0)[:, None]
    tree = ObliqueTreeRegressor(1, optimizer=None).fit(X, X[:, 0] >= 2020)
    assert rules_text(tree).startswith("if x0 <= 2019:\n")
    assert rules_text(tree.tree_).startswith("if x0 <= 2019.5:\n")
    assert rules_text(tree.tree_, X=X).startswith("if x0 <= 2019:\n")
    assert rules_text(tree.tree_, precision=2).startswith("if x0 <= 2000:\n")


def test_limits_beyond_the_largest_number():
    tree = Tree([[1e-200]], [1e150], [~0], [~1], np.eye(2))
    assert rules_text(tree).startswith("if x0 <= 1.7976931348623157e+308:")
    assert rules_text(tree, precision=2).startswith("if x0 <= 1.8e+308:")
    assert rules_text(tree, X=[[0.0], [1.0]]).startswith("if x0 <= 1:")
    below = tree.replace(thresholds=-tree.thresholds)
    assert rules_text(below, X=[[1.0], [2.0]]).startswith("if x0 <= 0.999:")


def test_leaves_that_differ_look_different():
    X = np.arange(40.0)[:, None]
    tree = ObliqueTreeRegressor(2, optimizer=None).fit(X, 2000 + X[:, 0])
    values = re.findall(r"^ +([\d.]+)$", rules_text(tree), re.M)
    np.testing.assert_allclose(np.array(values, dtype=float), tree.tree_.values[:, 0], atol=0.03)


def test_an_estimator_keeps_the_summary_of_its_tree_only(iris):
    tree = ObliqueTreeClassifier(2, optimizer=None).fit(iris.data, iris.target)
    text = rules_text(tree)
    assert rules_text(pickle.loads(pickle.dumps(tree))) == text
    before = tree.tree_
    tree.tree_ = before.replace(weights=1.1 * before.weights)
    assert rules_text(tree) == rules_text(tree.tree_, class_names=tree.classes_)
    tree.tree_ = before
    assert rules_text(tree) == text


SPREAD = np.array([1.0, 1e3, 1e-3, 1.0])


@pytest.fixture(scope="module")
def four_features():
    """Features in units of different sizes, and a tree on them."""
    X = np.random.default_rng(0).normal(size=(100, 4)) * SPREAD
    tree = Tree([[1.0, -3e-3, 500.0, 2.0]], [0.1], [~0], [~1], np.eye(2))
    return X, ObliqueTreeClassifier(init=tree, optimizer=None).fit(X, np.arange(100) % 2)


def test_the_largest_effects_are_written_first(four_features):
    X, fitted = four_features
    for text in (rules_text(fitted), rules_text(fitted.tree_, X=X)):
        assert re.findall(r"x\d", text) == ["x1", "x3", "x0", "x2"]
    assert re.findall(r"x\d", rules_text(fitted.tree_)) == ["x2", "x3", "x0", "x1"]
    assert np.argsort(-fitted.feature_importances_).tolist() == [1, 3, 0, 2]


@pytest.mark.parametrize("n_terms", [1, 2, 3])
def test_the_hidden_share_of_the_effect_is_stated(four_features, n_terms):
    X, fitted = four_features
    effect = np.sort(np.abs(fitted.tree_.weights[0]) * X.std(axis=0))[::-1]
    share = 100 * effect[n_terms:].sum() / effect.sum()
    text = rules_text(fitted, n_terms=n_terms)
    assert f" + {4 - n_terms} more ({share:.0f} % of the effect) <= 0.1:" in text
    assert f" + {4 - n_terms} more <= 0.1:" in rules_text(fitted.tree_, n_terms=n_terms)
    assert "more" not in rules_text(fitted, n_terms=4)


def test_a_share_of_nearly_nothing():
    X = np.random.default_rng(0).normal(size=(100, 2)) * [1.0, 1e-5]
    tree = Tree([[1.0, 1.0]], [0.0], [~0], [~1], np.eye(2))
    assert "+ 1 more (under 1 % of the effect)" in rules_text(tree, X=X, n_terms=1)
    constant = rules_text(tree, X=np.ones((3, 2)), n_terms=1)
    assert "+ 1 more <= 0" in constant      # no feature has an effect


def test_a_split_within_rounding_errors_is_marked():
    X = np.array([[1.0, 1.0], [1.0 + 2 * np.finfo(float).eps, 1.0]])
    tree = Tree([[1.0, 1.0]], [2.0], [~0], [~1], np.eye(2))
    assert tree.apply(X).tolist() == [0, 1]
    text = rules_text(tree, X=X)
    assert text.startswith("if 1 * x0 + 1 * x1 <= 2:  # rounding of the sum decides")
    assert "Rounding of the sum decides for some samples." in export_html(tree, X=X)


def test_of_splits_with_the_same_sum_only_those_within_rounding_errors_are_marked():
    X = np.array([[1.0, 1.0], [1.0 + 2 * np.finfo(float).eps, 1.0], [5.0, 1.0]])
    tree = Tree([[1.0, 1.0]] * 2, [4.0, 2.0], [1, ~0], [~2, ~1], np.eye(3))
    first, second = re.findall("(if .*)", rules_text(tree, X=X))
    assert first == "if 1 * x0 + 1 * x1 <= 4:"
    assert second == "if the same sum <= 2:  # rounding of the sum decides for some samples"


@given(st.floats(-1e6, 1e6, exclude_min=True, exclude_max=True), st.integers(1, 17))
def test_numbers_below_a_million_have_no_exponent(value, digits):
    text = format_number(value, digits)
    assert "e" not in text or abs(value) < 1e-4
    assert float(text) == float(f"{value:.{digits}g}")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_exact_numbers_are_the_shortest_that_are_read_back(value):
    assert float(format_number(exact(value))) == value
    least = next(n for n in range(1, 18) if float(f"{value:.{n}g}") == value)
    assert len(exact(value).normalize().as_tuple().digits) <= least


@given(st.floats(-1e3, 1e3), st.floats(0, 1), st.floats(0, 1))
def test_no_shorter_decimal_fits(value, below, above):
    low, high = value - below, value + above
    found = shortest(value, 1, lambda rounded: low <= rounded <= high)
    assert low <= float(found) <= high
    n = len(found.normalize().as_tuple().digits)
    for shorter in range(1, n):
        unit = 10.0 ** (np.floor(np.log10(abs(value))) - shorter + 1)
        for neighbour in (np.floor(value / unit), np.ceil(value / unit)):
            rounded = float(f"{neighbour * unit:.{shorter}g}")
            assert not low < rounded < high


# --- linear leaves ------------------------------------------------------------------------------


def as_formulas(text):
    """The text with a table of a linear model as formulas: of all sums, in one line."""
    title, *rows = text.splitlines()
    if title.startswith("if ") or not title.endswith(":"):
        return text
    constants, *rows = [re.split(" {2,}", row.strip()) for row in rows["each" in title:]]
    sums, limits = [[constant] for constant in constants], [[] for _ in constants]
    for *numbers, name in rows:
        for i, number in enumerate(numbers):
            (sums[i] if name.startswith("*") else limits[i]).append(
                f"{number} {name}" if name.startswith("*") else number)
    return "; ".join(
        " ".join(terms) + (f", within [{', '.join(ends)}]" if ends else "")
        for terms, ends in zip(sums, limits, strict=True))


def value_of(formula, x):
    """Value of the text of a linear leaf for a sample with features x0, x1, ...."""
    formula, _, limits = formula.partition(", within ")
    value = eval(formula, {f"x{j}": value for j, value in enumerate(x.tolist())})
    return np.clip(value, *eval(limits)) if limits else value


def predictions_by(text, X):
    X, text = X if isinstance(X, np.ndarray) else X.toarray(), as_formulas(text)
    between = r"; |, (?!within|[^\[]*\])"
    return np.array([
        [value_of(formula, x) for formula in re.split(between, run(text, x))]
        for x in X.astype(float)])


@given(problems(linear_leaves=st.just(True), n_outputs=st.just(1)))
def test_formulas_are_exact_without_samples(problem):
    tree, X = problem.tree, problem.X
    np.testing.assert_allclose(
        predictions_by(rules_text(tree, n_terms=None), X), tree.predict(X), rtol=1e-14,
        atol=1e-14)


@st.composite
def linear_trees(draw, X):
    """Trees with linear leaves, whose slopes are of the size that the features ask for."""
    tree = draw(trees_through_samples(X))
    dense = (X if isinstance(X, np.ndarray) else X.toarray()).astype(np.float64)
    size = np.abs(dense).max(axis=0)
    k = draw(st.integers(1, 2))
    numbers = st.floats(-10, 10, width=32) | st.just(0.0)
    slopes = draw(arrays(np.float64, (tree.n_leaves, k, len(size)), elements=numbers))
    slopes /= np.where(size == 0, 1.0, size)
    # Some leaves predict about the same for all samples, far from zero.
    values = draw(st.sampled_from([0.0, 1.0, -3000.0])) + draw(
        arrays(np.float64, (tree.n_leaves, k), elements=numbers))
    ranges = np.sort(draw(arrays(np.float64, (tree.n_leaves, k, 2), elements=numbers)))
    return tree.replace(
        values=values, slopes=slopes, ranges=ranges if draw(st.booleans()) else None)


@given(st.data(), st.integers(1, 5))
def test_formulas_predict_for_each_training_sample_as_the_tree(data, digits):
    X = data.draw(features_of_all_magnitudes())
    tree = data.draw(linear_trees(X))
    fitted = ObliqueTreeRegressor(optimizer=None).fit(X, np.zeros((X.shape[0], tree.n_outputs)))
    fitted.tree_ = tree
    predictions = tree.predict(X)
    span = np.ptp(predictions, axis=0)
    span = np.where(span > 0, span, np.abs(predictions).max(axis=0))
    dense = np.abs(X if isinstance(X, np.ndarray) else X.toarray()).astype(float)
    sums = np.abs(tree.values).max() + (np.abs(tree.slopes) @ dense.max(axis=0)).max()
    text = rules_text(fitted, n_terms=None, precision=digits, X=X)
    if "#" in text:
        return      # the split, not the leaf, is in doubt
    error = np.abs(predictions_by(text, X) - predictions).max(axis=0)
    assert (error <= 0.5 * 10.0**-digits * span + 1e-14 * sums)[span > 0].all()
    event(f"several targets: {tree.n_outputs > 1}")
    event(f"clipped: {'within' in text}")
    event(f"features with an offset: {'(x' in text}")


@pytest.fixture(scope="module")
def years():
    """A leaf of three features: a year, a share and a temperature."""
    random = np.random.default_rng(0)
    X = np.column_stack([
        random.uniform(2010, 2020, 200), random.random(200), random.normal(-30, 2, 200)])
    tree = Tree(np.empty((0, 3)), [], [], [], [[-4000.0]], slopes=[[[2.0, 10.0, -0.01]]],
                ranges=[[[0.0, 100.0]]])
    return tree, X


def test_differences_from_round_numbers_near_the_mean(years):
    tree, X = years
    assert as_formulas(rules_text(tree, X=X)) == (
        "35.3 +2 * (x0 - 2015) +10 * (x1 - 0.5) -0.01 * (x2 + 30), within [0, 100]")
    assert as_formulas(rules_text(tree)) == (
        "-4000 +10 * x1 +2 * x0 -0.01 * x2, within [0, 100]")


def test_a_linear_model_is_a_table_of_all_features(years):
    tree, X = years
    assert rules_text(tree, X=X, show_weights=True).splitlines() == [
        "prediction: [200]",
        "     35.3",
        "     +2     * (x0 - 2015)",
        "    +10     * (x1 - 0.5)",
        "     -0.01  * (x2 + 30)",
        "      0     at least",
        "    100     at most"]
    X = np.random.default_rng(0).normal(size=(200, 20))
    fitted = ObliqueTreeRegressor(0, leaf="linear", optimizer=None).fit(X, X.sum(axis=1))
    assert fitted.tree_.slopes.all()
    assert rules_text(fitted).count(" * x") == 20


def test_a_linear_model_of_several_sums_has_a_column_for_each():
    tree = Tree(np.empty((0, 2)), [], [], [], [[0.5, -10.0]], slopes=[[[1.0, 2.0], [0.0, -30.0]]])
    assert rules_text(tree, class_names=["no", "perhaps"]).splitlines() == [
        "log-odds of perhaps against no:", "    -10.5", "    -32    * x1", "     -1    * x0"]
    three = tree.replace(
        values=[[0.5, -10.0, 0.0]], slopes=[[[1.0, 2.0], [0.0, -30.0], [0.0, 0.0]]])
    assert rules_text(three, class_names=["no", "perhaps", "yes"]).splitlines() == [
        "score of each class:",
        "      no  perhaps  yes",
        "     0.5      -10    0",
        "    +2        -30    0  * x1",
        "    +1          0    0  * x0"]
    several = ObliqueTreeRegressor(0, leaf="linear", optimizer=None)
    X = np.arange(20.0)[:, None]
    assert rules_text(several.fit(X, np.hstack([X, -X]))).startswith(
        "prediction of each target:\n")


def test_a_table_hides_terms_of_sums_that_overflow():
    X = 1e10 * np.arange(9.0).reshape(3, 3)
    tree = Tree(np.empty((0, 3)), [], [], [], [[7.0]], slopes=[[[1e300, 1e299, 1e298]]])
    title, constant, term, hidden = rules_text(tree, X=X, n_terms=1).splitlines()
    assert (title, constant.split(), term.split()) == (
        "prediction:", ["7"], ["+1e+300", "*", "x0"])
    assert hidden == "    + 2 more (10 % of the effect)"


@pytest.fixture(scope="module")
def long_lines():
    """A tree of one split, with ten weights, and two leaves with ten slopes each."""
    X = np.random.default_rng(0).normal(size=(200, 10)) + 20
    weights, slopes = np.arange(1.0, 11.0), np.arange(10.0, 0.0, -1)
    tree = Tree(weights[None], [1100.0], [~0], [~1], [[1.0], [2.0]],
                slopes=[[slopes], [-slopes]], ranges=[[[-2000.0, 1200.0]]] * 2)
    return tree, X, [f"column {j}" for j in range(10)]


def test_leaves_are_tables_where_formulas_are_long(long_lines):
    tree, X, names = long_lines
    text = export_text(tree, X=X, feature_names=names, n_terms=None)
    *_, table = text.split("else:\n")
    head, constant, *rows, low, high = table.splitlines()
    assert head == f"    prediction: [{(tree.apply(X) == 1).sum()}]"
    assert [line.split() for line in (low, high)] == [
        ["-2000", "at", "least"], ["1200", "at", "most"]]
    found = [re.fullmatch(r" *([-+].*?) +\* \(column (\d) - ([\d.]+)\)", row) for row in rows]
    effect = tree.slopes[1, 0] * X.std(axis=0)
    assert [int(each[2]) for each in found] == np.argsort(effect).tolist()
    here = X[tree.apply(X) == 1]
    total = float(constant) + sum(
        float(each[1]) * (here[:, int(each[2])] - float(each[3])) for each in found)
    np.testing.assert_allclose(total, tree.predict(here)[:, 0], atol=1.0)
    rows = export_text(tree, X=X, feature_names=names, n_terms=3).splitlines()[-7:]
    assert [row.split()[-1] for row in rows[-2:]] == ["least", "most"]
    assert re.fullmatch(r" +\+ 7 more \(\d+ % of the effect\)", rows[-3])
    short = export_text(tree, X=X, feature_names=names, n_terms=1).splitlines()
    assert short[1].endswith(f", within [-2000, 1200] [{(tree.apply(X) == 0).sum()}]")
    page = export_html(tree, X=X, feature_names=names)
    assert head.strip().split(" [")[0] in page
    for rule in export_rules(tree, X=X, feature_names=names, n_terms=None):   # read aloud
        assert f": leaf: {rule.prediction}; " in page


def test_no_line_is_longer_than_a_screen(long_lines):
    tree, X, names = long_lines
    for shown in (tree, tree.replace(slopes=None, ranges=None, values=np.ones((2, 1)))):
        text = export_text(shown, X=X, feature_names=names, n_terms=None)
        assert max(map(len, text.splitlines())) <= 100
        first, *_ = text.split("\n    ", 1)
        assert first.startswith("if 10 * column 9 ")
        # Those that go on are further to the right than leaves.
        condition, _ = re.split("\n    (?! )", text, maxsplit=1)
        long = rules_text(shown, X=X, feature_names=names, n_terms=None)
        assert re.sub("\n +", " ", condition) == long.split("\n")[0]
    model = ObliqueTreeRegressor(0, leaf="linear", optimizer=None)
    model.fit(np.where(X < 19, np.nan, X), X.sum(axis=1))
    names = [f"a long name of {name}" for name in names]
    text = export_text(model, feature_names=names)
    assert max(map(len, text.splitlines())) <= 100
    note = re.split("\n(?=# in)", text)[1].split("\n")
    assert len(note) == 6
    assert all(line.startswith("#         a long name of ") for line in note[1:])


def test_hidden_terms_are_at_their_mean(years):
    tree, X = years
    effect = np.abs(tree.slopes[0, 0]) * X.std(axis=0)
    share = 100 * effect[1:].sum() / effect.sum()
    at = np.array([2015.0, *X.mean(axis=0)[1:]])
    (rule,) = export_rules(tree, X=X, n_terms=1)
    constant, rest = rule.prediction.split(" ", 1)
    assert rest == f"+ 2 * (x0 - 2015) + 2 more ({share:.0f} % of the effect), within [0, 100]"
    assert float(constant) == pytest.approx(-4000 + tree.slopes[0, 0] @ at, abs=0.02)
    (rule,) = export_rules(tree, n_terms=1)
    assert rule.prediction == "-4000 + 10 * x1 + 2 more, within [0, 100]"
    _, first, *rest = rules_text(tree, X=X, n_terms=1).splitlines()
    assert float(first) == float(constant)
    assert [line.strip() for line in rest[:2]] == [
        "+2     * (x0 - 2015)", f"+ 2 more ({share:.0f} % of the effect)"]


def test_leaves_of_trees_with_linear_leaves():
    X = np.arange(-10.0, 10.0)[:, None]
    tree = Tree([[1.0]], [0.0], [~0], [~1], [[1.0, 2.0], [3.0, 40.0]],
                slopes=[[[0.0], [0.0]], [[-2.0], [0.0]]],
                ranges=[[[0.0, 5.0], [0.0, 5.0]], [[0.0, 5.0], [0.0, 5.0]]])
    fitted = ObliqueTreeRegressor(optimizer=None).fit(X, np.zeros((20, 2)))
    fitted.tree_ = tree
    assert rules_text(fitted, X=X).splitlines() == [
        "if x0 <= 0:", "    1, 2", "else:", "    -7 - 2 * (x0 - 5), within [0, 5]; 5"]
    # Of a tree alone, outputs are those of classes.
    assert rules_text(tree).splitlines()[1:] == [
        "    1 (0.731)", "else:", "    score of 0: 3 - 2 * x0, within [0, 5]",
        "    score of 1: 5"]


def test_log_odds_of_two_classes():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3)) * [1.0, 100.0, 1.0] + [0.0, 2000.0, 0.0]
    y = (X[:, 0] + X[:, 1] / 100 - 20 + random.normal(size=200) > 0).astype(int)
    fitted = ObliqueTreeClassifier(1, optimizer="tao", leaf="linear", random_state=0).fit(X, y)
    assert fitted.tree_.slopes is not None
    logits = fitted.tree_.predict(X)
    expected = logits[:, 1] - logits[:, 0]
    lines = rules_text(fitted, n_terms=None, precision=4)
    assert lines.count("log-odds of 1 against 0:") == fitted.get_n_leaves()
    found = predictions_by(lines.replace("log-odds of 1 against 0: ", ""), X)[:, 0]
    assert np.abs(found - expected).max() <= 0.5e-4 * 2 * np.ptp(expected)


def test_logits_of_three_classes():
    iris = load_iris()
    fitted = ObliqueTreeClassifier(0, leaf="linear", random_state=0).fit(iris.data, iris.target)
    found = predictions_by(rules_text(fitted, precision=4), iris.data)
    logits = fitted.tree_.predict(iris.data)
    assert (np.abs(found - logits).max(axis=0) <= 0.5e-4 * np.ptp(logits, axis=0) + 1e-12).all()


def test_a_constant_of_zero_is_not_written():
    tree = Tree(np.empty((0, 1)), [], [], [], [[0.0]], slopes=[[[-2.0]]])
    (rule,) = export_rules(tree)
    assert rule.prediction == "- 2 * x0"
    assert rules_text(tree.replace(values=[[0.0]], slopes=[[[0.0]]])) == "0"


def test_an_estimator_keeps_the_means_of_linear_leaves(years):
    tree, X = years
    fitted = ObliqueTreeRegressor(init=tree, optimizer=None).fit(X, tree.predict(X))
    assert fitted.tree_.slopes is not None
    assert rules_text(fitted) == rules_text(fitted.tree_, X=X)
