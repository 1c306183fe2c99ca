"""Linear leaves: ridge regression in each leaf, drawn to the node above."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge

from helpers import complete_tree, dense, make_problem
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt._core.structure import child_ids
from ngdt._core.winsorize import target_fences, winsorized
from ngdt._methods.linear_leaves import ridge
from ngdt._methods.linear_leaves.models import ScaledSamples
from ngdt._methods.linear_leaves.ridge import LocationNode, RidgeNode, Sums
from ngdt._training.control import Control, Deadline
from ngdt._training.problem import Problem
from ngdt.initializers import InfoGain
from ngdt.losses import AbsoluteLoss, HuberLoss, QuantileLoss, SquaredLoss
from ngdt.optimizers import LinearLeaves

FORMS = {"dense": np.ascontiguousarray, "csr": sparse.csr_matrix}
# Of the difference between target and prediction.
LOSSES = SquaredLoss(), AbsoluteLoss(), QuantileLoss(0.9), HuberLoss(0.5)


@st.composite
def regression_problems(draw, losses=LOSSES[:1]):
    """Problems of a few samples, with weights, several targets and more features than samples."""
    seed, n = draw(st.integers(0, 2**32 - 1)), draw(st.integers(1, 40))
    p, k = draw(st.integers(1, 12)), draw(st.integers(1, 2))
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, p)) * 10.0 ** random.integers(-3, 4, p) + random.normal(size=p)
    if draw(st.booleans()):
        X[:, -1] = X[:, 0]
    y = X @ random.normal(size=(p, k)) / 100.0 + random.normal(size=(n, k))
    weight = random.integers(0, 3, n) + (np.arange(n) == 0) if draw(st.booleans()) else np.ones(n)
    X = FORMS[draw(st.sampled_from(sorted(FORMS)))](X)
    return Problem(X, y, draw(st.sampled_from(losses)), k, weight.astype(float)).limited(
        max_depth=draw(st.integers(0, 3)))


def scaled(problem, X=None):
    Z = problem.scaling.transform(problem.winsorized.X if X is None else X)
    return dense(Z)


def models_of(tree, problem):
    """Values and slopes of the leaves in scaled features."""
    slopes = tree.slopes * problem.scaling.scale
    return tree.values + tree.slopes @ problem.scaling.center, slopes


def unit_weight(problem):
    return problem.sample_weight / problem.sample_weight[problem.training_samples].mean()


@given(regression_problems(), st.sampled_from([0.1, 1.0, 30.0]))
def test_without_shrinkage_it_is_ridge_regression_in_each_leaf(problem, penalty):
    start = InfoGain().initialize(problem)
    tree = LinearLeaves(penalty=penalty, shrink=False, clip=False).optimize(start, problem).tree
    samples = problem.training_samples
    leaf, Z, weight = problem.apply(tree, samples), scaled(problem), unit_weight(problem)
    raw = scaled(problem, problem.X)    # far values are moved in for training only
    if tree.slopes is None:
        return      # each leaf has one sample, or samples that are alike
    for each in range(tree.n_leaves):
        here = samples[leaf == each]
        ridge = Ridge(alpha=penalty, solver="svd").fit(
            Z[here], problem.y[here], sample_weight=weight[here])
        np.testing.assert_allclose(
            problem.predictions(tree, here), ridge.predict(raw[here]).reshape(len(here), -1),
            rtol=1e-6, atol=1e-6)


def near_targets(problem):
    """Targets for slopes: for other losses than the squared one, without far values."""
    return problem.y if problem.loss.is_squared else winsorized(
        problem.y, *target_fences(problem.y, problem.sample_weight))


def reference(tree, problem, penalty):
    """Models of all nodes, from the root down, by the normal equations."""
    samples, Z, weight = problem.training_samples, scaled(problem), unit_weight(problem)
    m, leaf = tree.n_internal, problem.apply(tree, problem.training_samples)
    below = {m + each: {each} for each in range(tree.n_leaves)}
    for node, children in reversed(list(enumerate(child_ids(tree).tolist()))):
        below[node] = below[children[0]] | below[children[1]]
    models = {}

    def visit(node, above):
        here = samples[np.isin(leaf, list(below[node]))]
        w, z, y = weight[here][:, None], Z[here], near_targets(problem)[here]
        z_mean, y_mean = (w * z).sum(axis=0) / w.sum(), (w * y).sum(axis=0) / w.sum()
        value, slope = above
        gram = (w * (z - z_mean)).T @ (z - z_mean) + penalty * np.eye(z.shape[1])
        products = (w * (z - z_mean)).T @ (y - y_mean) + penalty * slope
        new = np.linalg.solve(gram, products)
        best, = problem.loss.fit_leaves(
            np.zeros(len(here), int), problem.y[here] - z @ new, w[:, 0], 1, problem.n_outputs)
        mean = best + z_mean @ new
        if node:
            predicted = value + z_mean @ slope
            mean = (w.sum() * mean + 5.0 * predicted) / (w.sum() + 5.0)
        models[node] = mean - z_mean @ new, new
        for child in child_ids(tree)[node] if node < m else ():
            visit(child, models[node])

    visit(0, (np.zeros(problem.n_outputs), np.zeros((Z.shape[1], problem.n_outputs))))
    return [models[m + each] for each in range(tree.n_leaves)]


@given(regression_problems(LOSSES), st.sampled_from([0.5, 3.0, 100.0]))
def test_models_are_drawn_to_those_of_the_node_above(problem, penalty):
    start = InfoGain().initialize(problem)
    tree = LinearLeaves(penalty=penalty, clip=False).optimize(start, problem).tree
    if tree.slopes is None:
        return
    values, slopes = models_of(tree, problem)
    for each, (value, slope) in enumerate(reference(tree, problem, penalty)):
        np.testing.assert_allclose(slopes[each], slope.T, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(values[each], value, rtol=1e-6, atol=1e-6)


@given(regression_problems(LOSSES[1:]), st.sampled_from([0.0, 0.5, 30.0]))
def test_constants_have_the_least_loss_for_what_slopes_leave(problem, penalty):
    samples, loss = problem.training_samples, problem.loss
    data = ScaledSamples(problem, np.arange(problem.X.shape[1]))
    node, prior = LocationNode(data, samples), np.zeros((problem.n_outputs, problem.X.shape[1]))
    (value, _), (slopes, _) = node.fit(
        np.zeros((2, problem.n_outputs)), prior, np.array([penalty, 1.0]), is_drawn=False)
    squared = RidgeNode(data, samples)      # of the same near targets
    np.testing.assert_array_equal(slopes, squared.slopes(prior, np.array([penalty, 1.0]))[0])
    rest, weight = problem.y[samples] - data.read(samples) @ slopes.T, data.weight[samples]

    def loss_of(constant):
        return weight @ loss.value(np.broadcast_to(constant, rest.shape), rest)

    found = loss_of(value)
    assert node.losses(value[None], slopes[None])[0] == pytest.approx(found, rel=1e-9, abs=1e-9)
    for j in range(problem.n_outputs):      # losses of several targets are added up
        for other in np.concatenate((rest[:, j], value[j] + np.array([-1e-3, 1e-3]))):
            changed = value.copy()
            changed[j] = other
            assert found <= loss_of(changed) + 1e-9 * (1.0 + found)


@pytest.mark.parametrize("loss", LOSSES[1:], ids=str)
def test_three_far_targets_move_no_slope(loss):
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 2))
    y = X[:, :1] + 0.1 * random.normal(size=(300, 1))
    y[:3] = 1e6
    problem = Problem(X, y, loss, 1, np.ones(300))
    tree = LinearLeaves(penalty=1.0).optimize(
        InfoGain().initialize(problem.limited(max_depth=0)), problem).tree
    np.testing.assert_allclose(tree.slopes[0, 0], [1.0, 0.0], atol=0.1)


@pytest.mark.parametrize("most", [3, None])     # sometimes fewer than there are features
@given(regression_problems(), st.sampled_from([0.0, 1e-12, 0.5, 30.0, np.inf]))
def test_a_penalty_alone_gives_the_model_that_it_gives_among_others(most, problem, penalty):
    samples = problem.training_samples[:most]
    data = ScaledSamples(problem, np.arange(problem.X.shape[1]))
    node = RidgeNode(data, samples)
    prior = np.random.RandomState(0).normal(size=(problem.n_outputs, problem.X.shape[1]))
    alone, both = (node.slopes(prior, np.array(each)) for each in ([penalty], [penalty, 1.0]))
    assert alone.shape == (1, *prior.shape)
    np.testing.assert_allclose(alone[0], both[0], rtol=1e-6, atol=1e-7)
    losses = [node.losses(np.tile(node.y, (len(each), 1)), each) for each in (alone, both)]
    np.testing.assert_allclose(losses[0][0], losses[1][0], rtol=1e-6, atol=1e-6 * node.yy)
    errors = problem.y[samples] - node.y - data.read(samples) @ alone[0].T
    np.testing.assert_allclose(
        losses[0][0], data.weight[samples] @ (errors**2).sum(axis=1),
        rtol=1e-6, atol=1e-6 * node.yy)


@pytest.mark.parametrize("seed", range(10))
def test_without_a_penalty_slopes_are_the_least_ones_of_least_squares(seed):
    """In the leaf, one feature is constant, and one is a sum of two others."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(300, 4)) + random.normal(size=4)
    X[:, 0] = 0.1 + (np.arange(300) % 3 == 0)
    X[:, 3] = X[:, 1:3] @ [0.3, 0.7] + 1.0
    problem = Problem(X, X[:, 1:2] + random.normal(size=(300, 1)), SquaredLoss(), 1, np.ones(300))
    data, here = ScaledSamples(problem, np.arange(4)), np.flatnonzero(X[:, 0] < 1.0)
    slopes = RidgeNode(data, here).slopes(np.zeros((1, 4)), np.zeros(1))
    Z, y = data.read(here), problem.y[here]
    expected = np.linalg.lstsq(Z - Z.mean(axis=0), y - y.mean(axis=0), rcond=1e-9)[0]
    np.testing.assert_allclose(slopes[0], expected.T, atol=1e-9)


@given(regression_problems(), st.booleans())
def test_predictions_stay_in_the_range_of_the_leaf(problem, shrink):
    start = InfoGain().initialize(problem)
    tree = LinearLeaves(penalty=0.5, shrink=shrink).optimize(start, problem).tree
    samples = problem.training_samples
    leaf = problem.apply(tree, samples)
    if tree.slopes is None:
        return
    for each in range(tree.n_leaves):
        y = problem.y[samples[leaf == each]]
        np.testing.assert_array_equal(tree.ranges[each], np.stack([y.min(0), y.max(0)], axis=-1))
    moved = dense(problem.X) + 100.0
    values = tree.predict(moved)
    low, high = np.moveaxis(tree.ranges[tree.apply(moved)], -1, 0)
    assert (low <= values).all()
    assert (values <= high).all()


@given(regression_problems())
def test_an_infinite_penalty_makes_constant_leaves(problem):
    start = InfoGain().initialize(problem)
    tree = LinearLeaves(penalty=np.inf, shrink=False).optimize(start, problem).tree
    assert tree.slopes is None
    np.testing.assert_allclose(tree.values, start.values, rtol=1e-9, atol=1e-9)


@given(regression_problems(), st.sampled_from([2.0, 50.0]))
def test_slopes_are_drawn_to_those_of_the_tree(problem, penalty):
    start = LinearLeaves(penalty=1.0).optimize(InfoGain().initialize(problem), problem).tree
    if start.slopes is None:
        return
    far = LinearLeaves(penalty=1e12, clip=False).optimize(start, problem).tree
    np.testing.assert_allclose(
        far.slopes, start.slopes, rtol=1e-5, atol=1e-7 * abs(start.slopes).max())
    tree = LinearLeaves(penalty=penalty, clip=False).optimize(start, problem).tree
    samples = problem.training_samples
    leaf, Z, weight = problem.apply(tree, samples), scaled(problem), unit_weight(problem)
    before, after = (models_of(each, problem)[1] for each in (start, tree))
    for each in range(tree.n_leaves):
        here = samples[leaf == each]
        rest = problem.y[here] - Z[here] @ before[each].T
        ridge = Ridge(alpha=penalty, solver="svd").fit(Z[here], rest, sample_weight=weight[here])
        np.testing.assert_allclose(
            after[each] - before[each], ridge.coef_.reshape(after[each].shape), rtol=1e-5,
            atol=1e-6)


@pytest.fixture(scope="module")
def diabetes():
    """Samples, a tree, and its predictions."""
    X, y = load_diabetes(return_X_y=True)
    tree = ObliqueTreeRegressor(
        2, optimizer=LinearLeaves(), standardize=True, validation_fraction=None, random_state=0)
    return X, y, tree, tree.fit(X, y).predict(X)


@given(st.integers(0, 100))
def test_shift_and_scale_of_features_change_no_prediction(diabetes, seed):
    X, y, tree, expected = diabetes
    random = np.random.default_rng(seed)
    moved = np.exp(random.normal(size=X.shape[1])) * X + random.normal(size=X.shape[1])
    np.testing.assert_allclose(tree.fit(moved, y).predict(moved), expected, rtol=1e-6)


def test_shift_and_scale_of_the_target_are_those_of_predictions(diabetes):
    X, y, tree, expected = diabetes
    np.testing.assert_allclose(
        tree.fit(X, 7.0 * y - 3.0).predict(X), 7.0 * expected - 3.0, rtol=1e-6)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_penalty_is_the_best_one_on_other_samples(form):
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3))
    options = dict(
        max_depth=1, optimizer=LinearLeaves(), validation_fraction=None, random_state=0)
    straight = ObliqueTreeRegressor(**options).fit(form(X), X @ [1.0, 2.0, 3.0])
    noise = ObliqueTreeRegressor(**options).fit(form(X), random.normal(size=300))
    assert straight.score(form(X), X @ [1.0, 2.0, 3.0]) > 0.999
    assert np.abs(noise.tree_.slopes).max() < 0.02 if noise.tree_.slopes is not None else True


def test_features_that_leaves_use():
    X, y = load_diabetes(return_X_y=True)

    def used(features):
        tree = ObliqueTreeRegressor(
            2, optimizer=LinearLeaves(features=features, penalty=1.0), validation_fraction=None)
        tree = tree.fit(X, y).tree_
        return set(np.flatnonzero(tree.slopes.any(axis=(0, 1)))), tree

    everything, tree = used("auto")
    assert everything == set(range(10)) == used("all")[0]
    assert used("path")[0] == set(np.flatnonzero(tree.weights.any(axis=0)))
    assert used([2, 8, 2])[0] == {2, 8}


def test_features_of_the_parameter_leaf_are_columns():
    """Names, indices and masks, of a column that is encoded as several features."""
    X = pd.DataFrame({"kind": ["a", "b", "c"] * 20, "x": np.arange(60.0), "z": np.arange(60)[::-1]})
    y = 2.0 * X["x"] + (X["kind"] == "b")

    def fitted(columns):
        model = ObliqueTreeRegressor(0, leaf=LinearLeaves(features=columns, penalty=0.1)).fit(X, y)
        return model.tree_, np.array(model.encoded_feature_names_)

    tree, names = fitted(["kind", "x"])
    assert set(names[tree.slopes[0, 0] == 0.0]) == {"z"}
    assert fitted([0, 1])[0] == fitted([True, True, False])[0] == tree
    assert set(names[fitted(["z"])[0].slopes[0, 0] != 0.0]) == {"z"}


def test_the_widest_data_use_the_most_correlated_features():
    """For classes all of these; for regression those that the lasso chooses."""
    random = np.random.default_rng(0)
    X = random.normal(size=(100, 600))
    y = X[:, 555] + X[:, 3]

    def used(estimator, y):
        tree = estimator(
            0, optimizer=LinearLeaves(penalty=1.0), validation_fraction=None).fit(X, y).tree_
        return np.flatnonzero(tree.slopes.any(axis=(0, 1))).tolist()

    assert used(ObliqueTreeRegressor, y) == [3, 555]
    is_positive = y > 0.0
    correlation = np.abs((X - X.mean(0)).T @ (is_positive - is_positive.mean())) / X.std(0)
    assert used(ObliqueTreeClassifier, is_positive) == sorted(np.argsort(-correlation)[:500])


@pytest.mark.parametrize(("parameters", "message"), [
    ({"features": [10]}, "^features must be a list of indices below 10,"),
    ({"features": [-1]}, "^features must be a list of indices below 10,"),
    ({"features": "bmi"}, "features"),
])
def test_features_that_do_not_exist_are_named(parameters, message):
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        ObliqueTreeRegressor(
            1, optimizer=LinearLeaves(**parameters), validation_fraction=None).fit(X, y)


@pytest.mark.parametrize("n_features", [1, 9])
def test_leaves_of_negligible_weight_have_the_model_above(n_features):
    X = np.arange(10.0)[:, None] ** np.arange(1, n_features + 1)
    weight = np.where(X[:, 0] < 4.5, 1e-300, 1e100)
    problem = Problem(X, X[:, :1] + 3.0, SquaredLoss(), 1, weight)
    start = Tree(np.eye(1, n_features), [4.5], [~0], [~1], np.zeros((2, 1)))
    tree = LinearLeaves(penalty=1.0, clip=False).optimize(start, problem).tree
    root = LinearLeaves(penalty=1.0, clip=False).optimize(
        Tree(np.empty((0, n_features)), [], [], [], np.zeros((1, 1))), problem).tree
    np.testing.assert_allclose(tree.predict(X[:4]), root.predict(X[:4]))


def test_sums_over_blocks_are_those_of_all_samples(monkeypatch):
    X, y = load_diabetes(return_X_y=True)
    problem = make_problem(X, y, "squared_error", np.arange(len(y)) % 3)
    data, samples = ScaledSamples(problem, np.arange(X.shape[1])), problem.training_samples
    whole = Sums.read(data, samples).products
    monkeypatch.setattr(ridge, "_BLOCK_VALUES", 70 * X.shape[1])
    np.testing.assert_allclose(Sums.read(data, samples).products, whole, rtol=1e-9, atol=1e-6)


def test_without_time_only_the_root_is_fitted(monkeypatch):
    X, y = load_diabetes(return_X_y=True)
    problem = Problem(X, y[:, None], SquaredLoss(), 1, np.ones(len(y))).replace(
        control=Control(Deadline.after(0.0)))
    tree = complete_tree(3, X.shape[1]).replace(values=np.zeros((8, 1)))
    fitted, fit = [], RidgeNode.__init__
    monkeypatch.setattr(RidgeNode, "__init__", lambda self, data, samples: (
        fitted.append(len(samples)), fit(self, data, samples))[1])
    found = LinearLeaves().fit_leaves(tree, problem)
    assert fitted == [len(y)]
    assert found.n_leaves == 8
    assert found.slopes is None     # of equal errors, the largest penalty
