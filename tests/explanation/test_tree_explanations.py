"""Explanations of paths, which agree with the computations of the tree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import log_softmax

from explained import model_of
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt.testing.strategies import problems

LINEAR = st.booleans()


@given(problems(linear_leaves=LINEAR, sparse_weights=st.booleans()))
def test_paths_margins_and_predictions_are_those_of_the_tree(problem):
    model, X = model_of(problem.tree), problem.X
    tree, scores = problem.tree, problem.tree.scores(X)
    explanations = model.explain(X)
    assert [each.leaf for each in explanations] == tree.apply(X).tolist()
    assert [each.prediction.value for each in explanations] == model.predict(X).tolist()
    if tree.n_outputs > 1:
        np.testing.assert_allclose(
            [each.prediction.probability for each in explanations],
            model.predict_proba(X).max(axis=1))
    for i, each in enumerate(explanations):
        visited = tree.decision_path(X)[[i]].indices
        assert [decision.node for decision in each.path] == visited.tolist()
        assert [decision.margin for decision in each.path] == scores[i, visited].tolist()
        assert [decision.is_right for decision in each.path] == (scores[i, visited] > 0).tolist()


@given(problems(linear_leaves=LINEAR, sparse_weights=st.booleans()))
def test_terms_add_up_to_the_margin(problem):
    model, tree = model_of(problem.tree), problem.tree
    mean = model._sample_summary.mean
    at_mean = tree.scores(mean[None])[0]
    X = problem.X.toarray() if sparse.issparse(problem.X) else problem.X
    for i, explanation in enumerate(model.explain(problem.X)):
        for decision in explanation.path:
            terms, weights = decision.terms, tree.dense_weights([decision.node])[0]
            scale = max(1e-30, np.abs(weights) @ (np.abs(X[i]) + np.abs(mean)),
                        abs(tree.thresholds[decision.node]))
            assert terms.total == decision.margin
            assert abs(terms.base + terms.contributions.sum() - terms.total) < 1e-13 * scale
            assert abs(terms.base - at_mean[decision.node]) < 1e-13 * scale
            features = [int(name[1:]) for name in terms.names]
            assert sorted(features) == np.flatnonzero(weights).tolist()
            assert terms.values.tolist() == X[i, features].tolist()
            assert terms.weights.tolist() == weights[features].tolist()
            assert (np.diff(np.abs(terms.contributions)) <= 0).all()


@given(problems(linear_leaves=LINEAR))
def test_the_other_side_is_that_of_a_tree_with_the_children_swapped(problem):
    model, tree, X = model_of(problem.tree), problem.tree, problem.X
    for i, explanation in enumerate(model.explain(X)):
        for decision in explanation.path:
            swapped = [tree.children_left.copy(), tree.children_right.copy()]
            for k in range(2):
                swapped[k][decision.node] = (
                    tree.children_right, tree.children_left)[k][decision.node]
            model.tree_ = Tree(tree.weights, tree.thresholds, *swapped, **tree.leaf_arrays())
            assert decision.otherwise.value == model.predict(X[[i]])[0]


@given(problems(linear_leaves=st.just(True)))
def test_terms_of_a_linear_leaf_add_up_to_the_prediction(problem):
    model, tree, X = model_of(problem.tree), problem.tree, problem.X
    outputs = tree.predict(X)
    for explanation, output in zip(model.explain(X), outputs, strict=True):
        if not tree.slopes[explanation.leaf].any():
            assert explanation.leaf_terms == {}
            continue
        (terms,) = explanation.leaf_terms.values()
        total = terms.base + terms.contributions.sum()
        if tree.n_outputs > 1:
            ranked = log_softmax(output)
            # The log-odds of two classes are those of the formula: of the second one.
            second, best = ranked if len(ranked) == 2 else np.sort(ranked)[-2:]
            expected = best - second
        else:
            expected = output[0]
            if tree.ranges is not None:
                total = np.clip(total, *tree.ranges[explanation.leaf, 0])
        np.testing.assert_allclose(total, expected, rtol=1e-12, atol=1e-12)


def test_means_of_a_linear_leaf_are_those_of_its_samples():
    X = np.arange(20.0)[:, None]
    y = np.where(X[:, 0] < 10, X[:, 0], 3 * X[:, 0])
    model = ObliqueTreeRegressor(
        1, optimizer="tao", leaf="linear", validation_fraction=None, random_state=0).fit(X, y)
    (explanation,) = model.explain([[15.0]])
    leaf = model.apply(X)
    (terms,) = explanation.leaf_terms.values()
    assert terms.means == pytest.approx(X[leaf == explanation.leaf].mean())
    assert terms.base == pytest.approx(model.predict([terms.means])[0])


def test_distance_is_that_to_the_boundary_in_standard_deviations():
    X = np.random.default_rng(0).normal(size=(200, 2)) * [1.0, 50.0]
    std = X.std(axis=0)
    model = ObliqueTreeClassifier(1, optimizer=None).fit(X, X[:, 0] > 0)
    model.tree_ = Tree([[2.0, 0.1]], [1.0], [~0], [~1], np.eye(2))
    decision = model.explain(X[:1])[0].path[0]
    # To the boundary and no further: the step along the normal, in units of std.
    normal = np.array([2.0, 0.1]) * std
    step = -decision.margin * normal / (normal @ normal)
    assert model.tree_.scores((X[0] + step * std)[None]) == pytest.approx(0.0, abs=1e-12)
    assert decision.distance == pytest.approx(np.linalg.norm(step))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_form_of_samples(iris, form, dtype):
    X, y = iris
    model = ObliqueTreeClassifier(2, optimizer=None).fit(form(X.astype(dtype)), y)
    texts = [str(each) for each in model.explain(form(X[:3].astype(dtype)))]
    assert texts == [str(each) for each in model.explain(X[:3].astype(dtype))]


def test_an_explanation_stays_true_when_the_tree_is_replaced(iris):
    X, y = iris
    model = ObliqueTreeClassifier(2, optimizer=None).fit(X, y)
    (explanation,) = model.explain(X[:1])
    text = str(explanation)
    model.tree_ = Tree(np.empty((0, 4)), [], [], [], [[1.0, 0.0, 0.0]])
    assert str(explanation) == text
    assert str(model.explain(X[:1])).startswith("0 (0.576)\nno change of one column ")


def test_several_targets(iris):
    X, _ = iris
    model = ObliqueTreeRegressor(
        1, optimizer="tao", leaf="linear", validation_fraction=None, random_state=0)
    model.fit(X, X[:, :2])
    (explanation,) = model.explain(X[:1])
    np.testing.assert_array_equal(explanation.prediction.value, model.predict(X[:1])[0])
    assert [*explanation.leaf_terms] == ["target 0", "target 1"]
    assert "target 1: 3" in explanation.text()
    with pytest.raises(ValueError, match=r"^target needs a model of a single target, not of 2"):
        explanation.smallest_change((0.0, 1.0))
