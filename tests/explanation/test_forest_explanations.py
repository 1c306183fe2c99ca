"""Explanations of forests add up to the prediction; their changes lead to another one."""

import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from ngdt import ObliqueForestClassifier, ObliqueForestRegressor, Tree
from ngdt.explanation._axes import Box, nearest_on_axes
from ngdt.explanation._contributions import (
    contributions,
    contributions_of_leaf,
    values_at_nodes,
)
from ngdt.initializers import RandomOblique
from ngdt.optimizers import TAO, LinearLeaves
from ngdt.testing.strategies import problems, trees

OBLIQUE = RandomOblique(4, n_nonzero=2)


def oblique_forest(iris, forest=ObliqueForestClassifier, **parameters):
    X, y = iris
    parameters = {"init": OBLIQUE, "optimizer": None, "random_state": 0} | parameters
    return forest(6, **parameters).fit(X, y)


@pytest.mark.parametrize("parameters", [
    {}, {"max_features": 2}, {"leaf": LinearLeaves(penalty=0.1), "init": "info_gain",
                              "optimizer": TAO(max_iter=2), "max_depth": 2}])
@pytest.mark.parametrize("forest", [ObliqueForestClassifier, ObliqueForestRegressor])
def test_contributions_add_up_to_the_prediction(iris, forest, parameters):
    model, X = oblique_forest(iris, forest, **parameters), iris[0][::15]
    is_classifier = forest is ObliqueForestClassifier
    outputs = model.predict_proba(X) if is_classifier else model.predict(X)[:, None]
    for explanation, output in zip(model.explain(X), outputs, strict=True):
        total = explanation.base + explanation.contributions.sum(axis=0)
        np.testing.assert_allclose(total, output, atol=1e-12 if "leaf" not in parameters else (
            1e-7))      # of the integrals in linear leaves
        (terms,) = explanation.sums().values()
        k = output.argmax()
        assert explanation.prediction.value == (model.classes_[k] if is_classifier else output[0])
        assert terms.total == output[k]
        assert terms.base + terms.contributions.sum() == pytest.approx(output[k])
        assert terms.base == pytest.approx(explanation.base[k])


def test_contributions_of_a_linear_leaf(iris):
    """Small steps from the mean of the leaf to the sample, each divided by the gradient."""
    X, y = iris
    for forest in (ObliqueForestClassifier, ObliqueForestRegressor):
        model = forest(2, max_depth=0, leaf=LinearLeaves(penalty=1.0), init="info_gain",
                       optimizer=None, bootstrap=False, random_state=0).fit(X, y)
        tree, mean, x = model.estimators_[0].tree_, X.mean(axis=0), X[60]
        slopes = tree.slopes[0]
        if forest is ObliqueForestRegressor:
            expected = (slopes * (x - mean)).T
        else:
            shares = (np.arange(20_000)[:, None] + 0.5) / 20_000
            p = np.exp(tree.values[0] + (mean + shares * (x - mean)) @ slopes.T)
            p /= p.sum(axis=1, keepdims=True)
            gradients = p[:, :, None] * (slopes - (p @ slopes)[:, None])
            expected = gradients.mean(axis=0).T * (x - mean)[:, None]
        (explanation,) = model.explain(X[60:61])
        np.testing.assert_allclose(explanation.contributions, expected, atol=1e-7)
        assert abs(expected).max() > 0.05


@pytest.mark.parametrize("far", [1e4, 1e300])
@pytest.mark.parametrize("forest", [ObliqueForestClassifier, ObliqueForestRegressor])
def test_contributions_far_away_add_up(iris, forest, far):
    model = oblique_forest(iris, forest, leaf=LinearLeaves(penalty=1.0), max_depth=1)
    x = iris[0][:1] + far * np.array([0.0, 1.0, 0.0, -1.0])
    (explanation,) = model.explain(x)
    output = model.predict_proba(x)[0] if forest is ObliqueForestClassifier else model.predict(x)
    np.testing.assert_allclose(
        explanation.base + explanation.contributions.sum(axis=0), output, atol=1e-8)


@pytest.mark.parametrize("n_classes", [1, 2, 3, 6])
def test_contributions_add_up_wherever_another_class_gets_ahead(n_classes):
    random = np.random.default_rng(0)
    for _ in range(50):
        slopes = random.normal(size=(n_classes, 3)) * 10.0 ** random.uniform(-1, 8, (n_classes, 1))
        values = random.normal(size=n_classes) * 10.0 ** random.uniform(-1, 5)
        tree = Tree(np.empty((0, 3)), [], [], [], [values], slopes=[slopes])
        mean, x = random.normal(size=(2, 3))
        found = contributions_of_leaf(tree, 0, x, mean, is_classifier=True)
        start, end = (softmax(values + slopes @ each) for each in (mean, x))
        np.testing.assert_allclose(found.sum(axis=0), end - start, atol=1e-7)
        if n_classes == 2:      # in proportion to the terms of the log-odds
            terms = np.diff(slopes, axis=0)[0] * (x - mean)
            np.testing.assert_allclose(
                found[:, 1], terms / terms.sum() * (end - start)[1], rtol=1e-6, atol=1e-7)


def test_the_base_is_the_mean_prediction_for_the_samples_of_each_tree(iris):
    X, _ = iris
    model = oblique_forest(iris, bootstrap=False)
    base = model.explain(X[:1])[0].base
    np.testing.assert_allclose(base, model.predict_proba(X).mean(axis=0))


def test_votes_are_those_of_the_trees(iris):
    X, _ = iris
    model = oblique_forest(iris, max_depth=2)
    for x, explanation in zip(X[::9], model.explain(X[::9]), strict=True):
        votes = [tree.predict(x[None])[0] for tree in model.estimators_]
        assert explanation.votes == {label: votes.count(label) for label in set(votes)}
    model = oblique_forest(iris, ObliqueForestRegressor)
    assert model.explain(X[:1])[0].votes.tolist() == [
        tree.predict(X[:1])[0] for tree in model.estimators_]


@given(trees(n_internal=st.integers(0, 6), n_features=st.just(3)), st.data())
def test_splits_on_one_feature_give_it_the_whole_change(tree, data):
    """As in A. Saabas, "Interpreting random forests" (2014), by a walk from the root."""
    m = tree.n_internal
    features = data.draw(st.lists(st.integers(0, 2), min_size=m, max_size=m))
    sides = data.draw(st.lists(st.sampled_from([-1.0, 2.0]), min_size=m, max_size=m))
    weights = np.zeros((m, 3))
    weights[range(m), features] = sides
    tree = tree.replace(weights=weights)
    n_samples = np.array(data.draw(st.lists(
        st.integers(1, 9), min_size=m + 1, max_size=m + 1)))
    x = np.array(data.draw(st.lists(st.integers(-4, 4), min_size=3, max_size=3))) / 2
    values = values_at_nodes(tree, tree.values, n_samples, is_classifier=False)
    leaf = int(tree.apply(x[None])[0])
    found = contributions(tree, values, leaf, x, np.full(3, 0.5), np.ones(3))

    def mean_below(item):
        def leaves(item):
            if item < 0:
                return [~item]
            return leaves(tree.children_left[item]) + leaves(tree.children_right[item])
        below = leaves(item)
        return np.average(tree.values[below], axis=0, weights=n_samples[below])

    expected, item = np.zeros((3, tree.n_outputs)), 0 if m else ~0
    while item >= 0:
        right = weights[item] @ x > tree.thresholds[item]
        child = (tree.children_right if right else tree.children_left)[item]
        expected[features[item]] += mean_below(child) - mean_below(item)
        item = child
    np.testing.assert_allclose(found, expected, atol=1e-12)


@given(problems(n_internal=st.just(1)), st.lists(st.integers(-4, 4), min_size=3, max_size=3))
def test_a_change_is_divided_among_the_terms_that_speak_for_the_side(problem, mean):
    tree, X = problem.tree, problem.X
    x = (X.toarray() if hasattr(X, "toarray") else X)[0].astype(float)
    mean = np.array(mean[:len(x)], dtype=float)
    values = values_at_nodes(tree, tree.values, [1, 3], is_classifier=True)
    leaf = int(tree.apply(x[None])[0])
    found = contributions(tree, values, leaf, x, mean, np.ones(len(x)))
    w = tree.weights[0]
    if not w.any():
        assert not found.any()
        return
    change = values[1 + leaf] - values[0]
    np.testing.assert_allclose(found.sum(axis=0), change, atol=1e-12)
    goes_right = tree.children_right[0] == ~leaf
    terms = w * (x - mean) * (1 if goes_right else -1)
    support = terms if (terms > 0).any() else np.abs(w)
    expected = np.maximum(support, 0) / np.maximum(support, 0).sum()
    np.testing.assert_allclose(found, np.outer(expected, change), atol=1e-12)


@pytest.mark.parametrize("forest", [ObliqueForestClassifier, ObliqueForestRegressor])
def test_no_smaller_change_of_one_column_meets_the_goal(iris, forest):
    X, _ = iris
    model = oblique_forest(iris, forest, max_depth=4)
    low, high, std, n_changes = X.min(axis=0), X.max(axis=0), X.std(axis=0), 0
    for x, explanation in zip(X[::25], model.explain(X[::25]), strict=True):
        value = explanation.prediction.value
        target = None if forest is ObliqueForestClassifier else (value + 0.1, np.inf)

        def meets(points, value=value, target=target):
            found = model.predict(points)
            return found != value if target is None else found >= target[0]

        changes = explanation.changes_of_one_column(target)
        distances = [change.distance for change in changes]
        assert distances == sorted(distances)
        n_changes += len(changes)
        found = {}
        for change in changes:
            ((name, value),) = change.values.items()
            assert meets(change.sample[None])[0]
            found[int(name[1:])] = abs(value - x[int(name[1:])])
        for j in range(4):
            # All boundaries, and a point between any two that follow each other.
            ends = np.concatenate([
                x[j] - tree.tree_.scores(x[None])[0][used] / tree.tree_.weights[used, j]
                for tree in model.estimators_ for used in [tree.tree_.weights[:, j] != 0]])
            ends = np.unique(np.r_[ends[(low[j] < ends) & (ends < high[j])], low[j], high[j]])
            middles = np.repeat(x[None], len(ends) - 1, axis=0)
            middles[:, j] = 0.5 * (ends[1:] + ends[:-1])
            is_met = meets(middles)
            nearest = np.abs(np.clip(x[j], ends[:-1], ends[1:]) - x[j])
            expected = nearest[is_met].min(initial=np.inf)
            assert found.get(j, np.inf) == pytest.approx(expected, rel=1e-6, abs=1e-12)
            if j in found:
                (change,) = [each for each in changes if f"x{j}" in each.values]
                assert change.distance == pytest.approx(found[j] / std[j], rel=0.5)
    assert n_changes > 5


ANYWHERE = Box(-np.inf, np.inf, np.ones(1), np.zeros(1, dtype=bool))


def test_samples_on_a_boundary_go_left():
    sums = [(np.ones((1, 1)), np.ones(1), np.ones(1))]
    for x, value in ((2.0, 1.0), (0.0, np.nextafter(1.0, 2.0))):
        meets = {1.0: lambda Z: Z[:, 0] <= 1.0}.get(value, lambda Z: Z[:, 0] > 1.0)
        found = nearest_on_axes(sums, meets, ANYWHERE, np.array([x]), np.array([0]))
        assert found[0] == pytest.approx(value, abs=1e-13)


@pytest.mark.parametrize("weight", [1.0, -1.0])
def test_a_sample_on_a_boundary_at_zero(weight):
    tree = Tree([[weight]], [0.0], [~0], [~1], [[0.0], [1.0]])
    found = nearest_on_axes(
        [(tree.weights, tree.thresholds, tree.thresholds)],
        lambda Z: tree.predict(Z)[:, 0] == 1.0, ANYWHERE, np.zeros(1), np.array([0]))
    assert 0 < found[0] * weight < 1e-13


def test_categories_and_gaps():
    pd = pytest.importorskip("pandas")
    city = ["Lima", "Oslo", "Rome"] * 20
    frame = pd.DataFrame({"city": city, "age": np.r_[[np.nan] * 6, np.arange(54.0)]})
    y = (frame["city"] == "Oslo") | (frame["age"] > 40)
    model = ObliqueForestClassifier(10, optimizer=None, random_state=0).fit(frame, y)
    for i in (0, 1, 20, 59):
        row, explanation = frame[i:i + 1], model.explain(frame[i:i + 1])[0]
        changes = explanation.changes_of_one_column()
        assert changes
        for change in changes:
            changed = row.assign(**change.values)
            assert model.predict(changed)[0] == change.prediction.value
            assert change.prediction.value != explanation.prediction.value
    assert "city Lima to Oslo: True" in str(model.explain(frame[:1])[0])


def test_an_explanation_can_be_kept_in_a_file(iris):
    explanation = oblique_forest(iris).explain(iris[0][:1])[0]
    kept = pickle.loads(pickle.dumps(explanation))
    assert str(kept) == str(explanation)
    changes, others = (each.changes_of_one_column() for each in (kept, explanation))
    assert [*map(str, changes)] == [*map(str, others)]


def test_text(iris):
    X, _ = iris
    text = str(oblique_forest(iris).explain(X[:1])[0])
    assert text.startswith("0 (0.987), 6 of 6 trees: 0\nprobability of 0: 0.987\n    +0.")
    assert "mean prediction\n" in text
    assert "changes to another class:" in text
    regression = oblique_forest(iris, ObliqueForestRegressor)
    assert re.match(
        r"1\.\d+, trees: 1 to 2\nprediction: 1\.\d+\n    \+1\.\d+ +mean prediction\n",
        str(regression.explain(X[83:84])[0]))
    several = ObliqueForestRegressor(3, optimizer=None).fit(X, X[:, :2])
    assert "target 1: 3" in str(several.explain(X[:1])[0])


def test_a_probability_near_one_is_not_one():
    X = np.arange(2.0).repeat(2000)[:, None]
    model = ObliqueForestClassifier(2, optimizer=None, bootstrap=False).fit(X, X[:, 0] > 0)
    first, second, *_ = str(model.explain(X[:1])[0]).splitlines()
    assert first.startswith("False (0.9998), ")
    assert second == "probability of False: 0.9998"


def test_what_is_not_known(iris):
    X, _ = iris
    (explanation,) = oblique_forest(iris, ObliqueForestRegressor).explain(X[:1])
    with pytest.raises(ValueError, match="target must be a range of predictions"):
        explanation.changes_of_one_column()
    linear = oblique_forest(
        iris, leaf=LinearLeaves(penalty=1.0), init="info_gain", max_depth=1).explain(X[:1])[0]
    with pytest.raises(ValueError, match="forests of trees with linear leaves"):
        linear.changes_of_one_column()


def test_values_near_the_largest_number():
    X = np.random.default_rng(0).normal(size=(60, 2))
    forest = ObliqueForestClassifier(3, init=OBLIQUE, optimizer=None, random_state=0).fit(
        X, X[:, 0] + X[:, 1] > 0)
    # No warning, of boundaries that would overflow.
    for x in ([1e308, -1e308], [0.0, 1.75e308], [0.0, -1.75e308]):
        explanation, = forest.explain([x])
        assert str(explanation).startswith(str(explanation.prediction))
        assert np.isfinite(explanation.contributions).all()
