"""Model trees: splits after which linear models fit best, pruned by their errors."""

import dataclasses
from functools import cache

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import Interruption, make_problem
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt._core.structure import child_ids
from ngdt._methods.linear_leaves.ridge import Sums
from ngdt._methods.model_tree import grow, model_tree, search, splits
from ngdt._methods.model_tree.model_tree import _Grown, _Growth, _scaled_samples
from ngdt._methods.model_tree.search import NodeSamples, SplitSearch
from ngdt._util.stopped import Stopped
from ngdt.initializers import ModelTree
from ngdt.optimizers import LinearLeaves

ONE_PENALTY = ModelTree(penalty=1.0)    # where the choice of one is not what is tested


@st.composite
def nodes(draw, most=(15, 9)):
    """Features with repeated values, targets and weights of the samples of a node."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p = (draw(st.integers(least, each)) for least, each in zip((2, 1), most, strict=True))
    k = draw(st.integers(1, 2))
    Z = random.integers(-3, 4, (n, p)).astype(float)
    weight = random.integers(1, 4, n).astype(float) if draw(st.booleans()) else np.ones(n)
    return Z, random.normal(size=(n, k)), weight


def reduction(z, limit, y, weight):
    """Decrease of the weighted sum of squared deviations from the mean by a split."""
    def squares(here):
        return weight[here] @ ((y[here] - np.average(
            y[here], axis=0, weights=weight[here])) ** 2).sum(axis=1)

    right = z > limit
    return squares(np.full(len(z), True)) - squares(right) - squares(~right)


def unpruned(problem, penalty=None):
    """A tree before it is pruned."""
    params = ModelTree()
    return _Grown(problem, _Growth(params, penalty), _scaled_samples(problem, params))


def sorted_columns(Z):
    columns = np.ascontiguousarray(Z.T)
    return columns, np.argsort(columns, axis=1, kind="stable").astype(np.int32)


def rows_of(Z, y, weight):
    return np.sqrt(weight)[:, None] * np.column_stack((np.ones(len(Z)), Z, y))


def ridge_error(Z, y, weight, penalty):
    """Penalised squared error of the ridge regression of some samples."""
    model = Ridge(alpha=penalty, solver="cholesky").fit(Z, y, weight)
    return weight @ ((y - model.predict(Z).reshape(y.shape)) ** 2).sum(axis=1) + penalty * (
        model.coef_**2).sum()


@given(nodes(), st.integers(1, 3), st.floats(0.1, 10.0), st.integers(1, 20),
       st.sampled_from([np.inf, 1.0, 0.5]), st.booleans())
# The quantile lies in a group that one sample is below.
@example((np.array([[0.0, 1, 1, 1, 1, 1, 2]]).T, np.arange(7.0)[:, None], np.ones(7)),
         1, 1.0, 1, np.inf, True)
def test_errors_of_splits_are_those_of_ridge_regression(
        node, least, penalty, n_cuts, share, of_each):
    """Splits whose errors are left out are above the limit or above the best."""
    Z, y, weight = node
    columns, order = sorted_columns(Z)
    limit = share * (weight @ (y**2).sum(axis=1))
    errors, n_left = splits.split_errors(
        rows_of(Z, y, weight), columns, order, penalty, y.shape[1], n_cuts, least, limit, of_each)
    expected = np.full(errors.shape, np.inf)
    for z, sizes, brute in zip(columns, n_left, expected, strict=True):
        sizes, values = sizes[sizes > 0].tolist(), np.sort(z)
        cuts = [i for i in range(least, len(z) - least + 1)
                if i < len(z) and values[i - 1] < values[i]]
        # The cuts at the quantiles, or next to them on both sides.
        nearest = set()
        for place in (q * len(z) // (n_cuts + 1) for q in range(1, n_cuts + 1)):
            nearest.update(cuts[np.searchsorted(cuts, place):][:1])
            nearest.update(cuts[:np.searchsorted(cuts, place, side="right")][-1:])
        assert sizes == sorted(nearest)
        for k, size in enumerate(sizes):
            sides = z < values[size], z >= values[size]
            brute[k] = sum(ridge_error(Z[side], y[side], weight[side], penalty) for side in sides)
    found = np.isfinite(errors)
    best = np.minimum(limit, expected.min(axis=1 if of_each else None, keepdims=True))
    np.testing.assert_allclose(errors[found], expected[found], rtol=1e-6, atol=1e-8)
    assert (found | (expected >= best - 1e-8)).all()


def test_bounds_leave_out_most_splits():
    random = np.random.default_rng(0)
    Z = random.normal(size=(1000, 12))
    y = np.where(Z[:, :1] > 0.5, Z[:, 1:2], 0.0) + random.normal(size=(1000, 1)) / 3
    errors, n_left = splits.split_errors(
        rows_of(Z, y, np.ones(1000)), *sorted_columns(Z), 1.0, 1, 60, 5, np.inf)
    assert np.isfinite(errors).sum() < 0.1 * (n_left > 0).sum()


@given(nodes())
def test_weights_are_repetitions(node):
    Z, y, weight = node
    again = np.repeat(np.arange(len(Z)), weight.astype(int))
    weighted, repeated = (
        splits.split_errors(
            rows_of(*each), *sorted_columns(each[0]), 1.0, y.shape[1], 100, 1, np.inf)[0]
        for each in (node, (Z[again], y[again], np.ones(len(again)))))
    assert weighted.min() == pytest.approx(repeated.min(), rel=1e-7, abs=1e-9) or (
        np.isinf([weighted.min(), repeated.min()]).all())


@given(st.lists(st.integers(0, 5), min_size=2, max_size=60), st.integers(1, 10))
@example([0, 1, 1, 1], 1)       # the only cut has one sample below it
@example([0, 1, 2, 2], 1)       # one cut is at the quantile, another below it
def test_cuts_are_next_to_the_quantiles(z, n_cuts):
    z = np.sort(np.array(z, dtype=float))[:, None]
    _, n_left = splits.split_errors(
        rows_of(z, z, np.ones(len(z))), *sorted_columns(z), 1.0, 1, n_cuts, 1, np.inf)
    cuts = np.flatnonzero(np.diff(z[:, 0])) + 1
    expected = set()
    for k in range(1, n_cuts + 1):
        place = k * len(z) // (n_cuts + 1)
        expected |= {*cuts[cuts <= place][-1:], *([] if place in cuts else cuts[cuts > place][:1])}
    # A quantile before the first sample has the same cuts as the first one.
    assert set(n_left[n_left > 0].tolist()) == expected


def samples_of(Z, y, weight=None):
    """Samples of a node whose model is the mean of the targets."""
    weight = np.ones(len(Z)) if weight is None else weight
    return NodeSamples(
        Z, y, y - np.average(y, axis=0, weights=weight), weight,
        np.zeros((y.shape[1], Z.shape[1])), *sorted_columns(Z))


@pytest.mark.parametrize("n_features", [1, 7, 40])
def test_threads_change_no_split(n_features, monkeypatch):
    random = np.random.default_rng(0)
    Z = random.normal(size=(200, n_features))
    node = samples_of(Z, np.abs(Z[:, -1:] - 0.3) + random.normal(size=(200, 1)) / 9)
    monkeypatch.setattr(search, "_MIN_WORK", 0)
    one, two = (SplitSearch(1.0, 5, n_jobs) for n_jobs in (1, 2))
    assert one.best(node) == two.best(node)
    assert one.best(node)[0] == n_features - 1
    assert one.look_ahead(node, None) == two.look_ahead(node, None)


@pytest.mark.parametrize("seed", range(5))
def test_of_features_that_part_the_samples_alike_the_first_is_taken(seed):
    """Their errors differ by the order of sums: targets in other units would change the choice."""
    random = np.random.default_rng(seed)
    Z = random.normal(size=(30, 4))
    Z[:, 1:3] = np.abs(Z[:, 1:3]) * np.sign(Z[:, :1])
    node = samples_of(Z, 3.0 * np.sign(Z[:, :1]) + Z[:, 3:] + random.normal(size=(30, 1)) / 9)
    found = SplitSearch(1.0, 5)
    assert found.best(node)[0] == found.look_ahead(node, None)[0] == 0


@given(nodes((10, 5)), st.floats(0.1, 10.0))
def test_a_look_ahead_finds_the_least_error_after_the_next_splits(samples, penalty):
    node, found = samples_of(*samples), SplitSearch(penalty, 1)
    split = found.look_ahead(node, None)
    if split is None:
        return
    Z, y, weight = samples

    def error_after(feature, n_left):
        """Sum over both sides of the error with one split more, if it pays."""
        total = 0.0
        for side in np.split(node.order[feature], [n_left]):
            part = samples_of(Z[side], y[side], weight[side])
            model = Ridge(alpha=penalty, solver="cholesky").fit(Z[side], y[side], weight[side])
            slope = model.coef_.reshape(y.shape[1], -1)
            residual = y[side] - model.predict(Z[side]).reshape(y[side].shape)
            part = dataclasses.replace(part, residual=residual, slope=slope)
            best = min((error for _, error in splits_of(part, penalty)), default=np.inf)
            total += penalty * (slope**2).sum() + (
                best if best < part.limit() else part.error)
        return total

    candidates = [min(group, key=lambda each: each[1])[0] for group in (
        [each for each in splits_of(node, penalty) if each[0][0] == feature]
        for feature in range(Z.shape[1])) if group]
    assert error_after(*split) <= min(error_after(*each) for each in candidates) + 1e-7


def splits_of(node, penalty):
    """Each split of a node, as its feature and size, with its error."""
    for feature, (z, order) in enumerate(zip(node.columns, node.order, strict=True)):
        for n_left in np.flatnonzero(np.diff(z[order]) > 0) + 1:
            yield (feature, n_left), sum(
                ridge_error(node.Z[side], node.residual[side], node.weight[side], penalty)
                for side in np.split(order, [n_left]))


@pytest.mark.parametrize("n_seen", [2000, 300])
def test_a_look_ahead_finds_what_shows_after_two_splits(n_seen, monkeypatch):
    """The target is a product of three signs: no split pays alone."""
    monkeypatch.setattr(search, "_AHEAD_SAMPLES", n_seen)
    random = np.random.default_rng(0)
    Z = random.choice([-1.0, 1.0], (2000, 5))
    node = samples_of(Z, Z[:, :3].prod(axis=1, keepdims=True) + random.normal(size=(2000, 1)) / 9)
    found = SplitSearch(1.0, 5)
    assert found.best(node) is None
    assert found.look_ahead(node, np.random.RandomState(0))[0] < 3
    noise = samples_of(Z, random.normal(size=(2000, 1)))
    assert found.look_ahead(noise, np.random.RandomState(0)) is None


@given(nodes(), st.integers(1, 3))
def test_splits_that_reduce_the_variance_most(node, least):
    Z, y, weight = node
    if len(Z) < 2 * least:
        return
    deviations = weight[:, None] * (y - weight @ y / weight.sum())
    (found,) = splits.variance_gains(
        *sorted_columns(Z), deviations[:, None], weight, weight.sum(), least)
    for z, gain in zip(Z.T, found, strict=True):
        gains = [reduction(z, limit, y, weight) for limit in np.unique(z)[:-1]
                 if least <= (z > limit).sum() <= len(z) - least]
        assert gain == pytest.approx(max([0.0, *gains]), abs=1e-9)


@given(nodes(), st.data())
def test_both_sides_of_a_split_keep_their_order(node, data):
    columns, order = sorted_columns(node[0])
    is_right = np.array(data.draw(st.lists(
        st.booleans(), min_size=columns.shape[1], max_size=columns.shape[1])))
    for found, side in zip(splits.divide(order, is_right), (~is_right, is_right), strict=True):
        np.testing.assert_array_equal(found, np.argsort(columns[:, side], axis=1, kind="stable"))


@given(nodes(), st.floats(0.1, 10.0))
def test_models_are_ridge_regression_from_the_prior(node, penalty):
    Z, y, weight = node
    prior = np.random.default_rng(0).normal(size=(y.shape[1], Z.shape[1]))
    (value,), (slope,) = search.fit_sides([Sums.of(Z, y, weight)], prior, penalty)
    model = Ridge(alpha=penalty, solver="cholesky").fit(Z, y - Z @ prior.T, weight)
    np.testing.assert_allclose(slope, prior + model.coef_, atol=1e-7)
    np.testing.assert_allclose(value, np.ravel(model.intercept_), atol=1e-7)


def roof(n=400):
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, (n, 3))
    return X, np.abs(X[:, 1] - 0.2) + 0.01 * random.normal(size=n)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_it_splits_by_the_feature_whose_slope_changes(form):
    X, y = roof(200)
    tree = ObliqueTreeRegressor(init="model_tree", optimizer=None, random_state=0).fit(form(X), y)
    assert np.flatnonzero(tree.tree_.dense_weights([0])[0]).tolist() == [1]
    assert tree.score(form(X), y) > 0.99
    assert np.median(np.abs(tree.tree_.slopes[:, 0, 1])) > 5 * np.abs(
        tree.tree_.slopes[:, 0, ::2]).max()


@pytest.mark.parametrize("n_targets", [1, 3])
def test_noise_ends_the_growth(n_targets):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(300, 5)), random.normal(size=(300, n_targets))
    problem = make_problem(X, y + X[:, :1], "squared_error")
    # Leaves of five samples are possible.
    assert unpruned(problem, 1.0).tree.n_leaves <= 10
    y += 3 * np.abs(X[:, 1:2])
    problem = make_problem(X, y, "squared_error")
    assert unpruned(problem, 1.0).tree.n_leaves >= 2


@cache
def standardized_tree():
    return ObliqueTreeRegressor(
        init="model_tree", optimizer=None, random_state=0, standardize=True).fit(*roof(200))


@pytest.mark.parametrize("units", [
    dict(X=[1e3, 1e-3, 7.0], y=1.0), dict(X=[1.0, 1.0, 1.0], y=1e-6),
    dict(X=[0.1, 4.0, 50.0], y=300.0)], ids=["features", "target", "both"])
def test_units_change_no_split(units):
    X, y = roof(200)
    scale, shift = np.array(units["X"]), np.arange(3)
    tree = standardized_tree()
    other = clone(tree).fit(X * scale + shift, 5.0 - units["y"] * y)
    np.testing.assert_array_equal(tree.apply(X), other.apply(X * scale + shift))
    np.testing.assert_allclose(
        other.predict(X * scale + shift), 5.0 - units["y"] * tree.predict(X), rtol=1e-6)


@pytest.mark.parametrize(("n", "seed"), [(60, 44), (200, 49)])
def test_units_change_no_choice_between_trees_of_equal_errors(n, seed):
    """The trees of two growths, pruned, are the same without a fold, and differ with it."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 2))
    y = np.where(X[:, 0] > 0, X[:, 1], 0.0) + random.normal(size=n) / 4
    one, other = (ObliqueTreeRegressor(
        max_depth=2, init=ONE_PENALTY, optimizer=None, random_state=0).fit(X, unit * y).predict(X)
        for unit in (1.0, 0.1))
    np.testing.assert_allclose(other, 0.1 * one, rtol=1e-6)


@pytest.mark.parametrize(("owner", "name", "call", "n_leaves"), [
    (grow, "_split", 1, 1),     # in the first growth
    (grow, "_split", 2, 2),
    (model_tree, "fit_models", 1, 2),
    (model_tree, "fit_models", 2, 2),
    (_Grown, "errors", 1, 2)])
def test_ctrl_c_leaves_a_tree(owner, name, call, n_leaves, monkeypatch):
    Interruption(monkeypatch, owner, name, call)
    X, y = roof(300)
    with pytest.raises(Stopped) as caught:
        ModelTree().initialize(make_problem(X, y, "squared_error"))
    tree = caught.value.tree
    assert tree.n_leaves >= n_leaves
    assert r2_score(y, tree.predict(X)) > (0.9 if n_leaves > 1 else 0.1)


def test_the_growth_ends_at_the_deadline():
    X, y = roof(2000)
    X = np.column_stack([X, np.random.default_rng(0).normal(size=(2000, 27))])
    tree = ObliqueTreeRegressor(
        init="model_tree", optimizer=None, random_state=0, max_time=1e-3)
    with pytest.warns(ConvergenceWarning):
        tree.fit(X, y)
    assert tree.get_n_leaves() == 1
    assert np.isfinite(tree.predict(X)).all()


def test_a_linear_truth_needs_no_split():
    X, _ = roof()
    tree = ObliqueTreeRegressor(init="model_tree", optimizer=None, random_state=0)
    assert tree.fit(X, X @ [1.0, 2.0, 3.0]).get_n_leaves() == 1


def test_noise_has_no_slopes_worth_mentioning():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(400, 5)), random.normal(size=400)
    tree = ObliqueTreeRegressor(init="model_tree", optimizer=None, random_state=0).fit(X, y)
    assert tree.get_n_leaves() == 1
    assert np.std(tree.predict(X)) < 0.3


def test_limits():
    X, y = (each[:200] for each in load_diabetes(return_X_y=True))
    y = y + 400 * np.abs(X[:, 2] - np.abs(X[:, 3])) / X[:, 2].std()
    options = dict(init=ONE_PENALTY, optimizer=None, random_state=0)
    whole = ObliqueTreeRegressor(**options).fit(X, y)
    assert whole.get_n_leaves() > 2
    assert ObliqueTreeRegressor(max_depth=1, **options).fit(X, y).get_depth() == 1
    small = ObliqueTreeRegressor(max_leaf_nodes=2, **options).fit(X, y)
    assert small.get_n_leaves() == 2
    assert small.tree_.slopes is not None
    large = ObliqueTreeRegressor(min_samples_leaf=50, **options).fit(X, y)
    assert large.n_node_samples_.min() >= 50


def test_several_targets():
    X, y = roof(200)
    tree = ObliqueTreeRegressor(init=ONE_PENALTY, optimizer=None, random_state=0)
    assert tree.fit(X, np.stack([y, -y], axis=1)).score(X, np.stack([y, -y], axis=1)) > 0.98


def test_features_and_penalty():
    X, y = load_diabetes(return_X_y=True)
    problem = make_problem(X, y, "squared_error", max_depth=2)
    tree = ModelTree(features=[2, 8], penalty=5.0).initialize(problem)
    assert set(np.flatnonzero(tree.slopes.any(axis=(0, 1)))) == {2, 8}
    assert set(np.flatnonzero(tree.weights.any(axis=0))) <= {2, 8}


def test_features_are_compared_that_reduce_the_variance_most():
    random = np.random.default_rng(0)
    Z, y, weight = random.normal(size=(50, 80)), random.normal(size=50), random.uniform(1, 2, 50)
    columns, order = sorted_columns(Z)
    node = NodeSamples(
        Z, y[:, None], 9.0 + y[:, None] ** 3, weight, np.zeros((1, 80)), columns, order)

    def gain(places, targets):
        left = np.cumsum(weight[places])[4:-5]
        deviation = weight * (targets - np.average(targets, weights=weight))
        sums = np.cumsum(deviation[places])[4:-5]
        return (sums**2 * (1.0 / left + 1.0 / (weight.sum() - left))).max()

    best = [np.argsort([-gain(places, targets) for places in order])[:30]
            for targets in (y, node.residual[:, 0])]
    np.testing.assert_array_equal(SplitSearch(1.0, 5)._promising(node), np.unique(best))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_large_nodes_are_split_by_some_of_their_samples(form, monkeypatch):
    X = np.random.default_rng(0).uniform(-1, 1, (900, 3))
    y = np.where(X[:, 1] > 0, 5 * X[:, 1] + np.abs(X[:, 2]), X[:, 0])
    problem = make_problem(form(X), y, "squared_error", max_depth=2)
    monkeypatch.setattr(grow, "_MAX_SAMPLES", 300)
    grown = unpruned(problem, 1.0).tree
    nodes = [0, grown.children_right[0]]
    assert grown.weights[nodes].tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    assert np.abs(grown.thresholds[nodes]).max() < 0.1


# --- classes --------------------------------------------------------------------------------------


def broken_line(n=600):
    """Classes on the two sides of a line with a kink at x1 = 0."""
    X = np.random.default_rng(0).uniform(-1, 1, (n, 3))
    return X, np.where(X[:, 1] > 0, X[:, 0] > X[:, 1], X[:, 0] > -X[:, 1]).astype(int)


def fit_classes(X, y, **options):
    return ObliqueTreeClassifier(
        init="model_tree", optimizer=None, random_state=0, **options).fit(X, y)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_broken_line_between_classes(form):
    X, y = broken_line()
    fitted = fit_classes(form(X), y)
    constant = ObliqueTreeClassifier(init="pruned", optimizer=None, random_state=0).fit(X, y)
    assert fitted.score(form(X), y) > 0.95
    assert 2 <= fitted.get_n_leaves() < constant.get_n_leaves()
    assert fitted.get_depth() <= 5


def test_linear_classes_need_no_split():
    X, _ = broken_line()
    fitted = fit_classes(X, X @ [1.0, 2.0, 3.0] > 0)
    assert fitted.get_n_leaves() == 1
    assert fitted.score(X, X @ [1.0, 2.0, 3.0] > 0) > 0.98


def test_limits_of_trees_for_classes():
    X, y = broken_line()
    assert fit_classes(X, y, max_depth=2).get_depth() <= 2
    assert fit_classes(X, y, max_leaf_nodes=3).get_n_leaves() <= 3
    assert fit_classes(X, y, min_samples_leaf=100).n_node_samples_.min() >= 100


@pytest.mark.parametrize("loss", ["log_loss", "absolute_error"])
@pytest.mark.parametrize("alpha", [0.0, 2.0, 25.0, np.inf])
def test_the_pruned_tree_has_the_least_cost(alpha, loss):
    X, y = broken_line(200)
    # Costs are in units of the loss of the best constant: the mean deviation from the median.
    alpha *= 1.0 if loss == "log_loss" else 0.5
    grown = unpruned(make_problem(X, y, loss, max_depth=3), 1.0 if loss != "log_loss" else None)
    m, losses = grown.tree.n_internal, grown.models.losses[:, 0]
    children = child_ids(grown.tree)

    def least(node):
        """Least cost of the subtrees of a node."""
        below = np.inf if node >= m else sum(map(least, children[node]))
        return min(losses[node] + alpha, below)

    sequence = grown._sequences[0]
    tops = np.unique(grown._tops(sequence.is_leaf_after(
        grown._n_steps(alpha / grown._unit, 0))))
    if np.isinf(alpha):
        assert tops.tolist() == [0]
    else:
        assert losses[tops].sum() + alpha * len(tops) == pytest.approx(least(0))


@pytest.mark.parametrize("limit", [1, 2, 5, 11, 100])
def test_the_largest_subtree_within_a_limit(limit):
    X, _ = broken_line(400)
    problem = make_problem(X, np.abs(X[:, 0] - X[:, 1]) + np.abs(X[:, 2]), "squared_error")
    grown = unpruned(problem, 1.0)
    grown.problem = problem.limited(max_leaf_nodes=limit)
    sequence = grown._sequences[0]
    found, step = sequence.is_leaf_after(grown._n_steps(0.0, 0)), sequence.step
    sizes = [len(np.unique(grown._tops((step >= 0) & (step < n)))) for n in range(len(step) + 1)]
    assert len(np.unique(grown._tops(found))) == max(n for n in sizes if n <= limit)


def test_other_losses_are_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="minimise the log loss"):
        fit_classes(X, y, loss="bounded")


@pytest.mark.parametrize("features", ["path", np.empty(0, dtype=int)], ids=["path", "none"])
@pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueTreeRegressor])
@pytest.mark.parametrize("max_depth", [0, 2])
def test_models_of_the_features_on_the_paths_or_of_none(estimator, features, max_depth):
    X, y = load_iris(return_X_y=True)
    tree = estimator(
        max_depth, init=ModelTree(features=features), optimizer=None, random_state=0).fit(X, y)
    split_by = set(np.flatnonzero(tree.tree_.weights.any(axis=0)))
    used = set() if tree.tree_.slopes is None else (
        set(np.flatnonzero(tree.tree_.slopes.any(axis=(0, 1)))))
    if isinstance(features, str) and max_depth:
        assert used >= split_by
    else:
        assert used == set()
    if max_depth:
        default = estimator(2, leaf=LinearLeaves(features=features), random_state=0).fit(X, y)
        assert default.score(X, y) >= tree.score(X, y) - 0.05


def test_spectra_have_small_penalties():
    rng = np.random.RandomState(0)
    places, amounts = np.linspace(0.0, 1.0, 300), rng.uniform(size=(120, 12))
    bands = np.exp(-((places - rng.uniform(size=(12, 1))) / rng.uniform(0.03, 0.15, (12, 1)))**2)
    X = amounts @ bands + 0.001 * rng.normal(size=(120, 300)) + 0.3 * rng.normal(size=(120, 1))
    y = amounts[:, 0] - 0.5 * amounts[:, 1] + 0.01 * rng.normal(size=120)
    score = [model.fit(X[:60], y[:60]).score(X[60:], y[60:]) for model in (
        ObliqueTreeRegressor(random_state=0),
        make_pipeline(StandardScaler(), RidgeCV(np.geomspace(1e-4, 1e4, 17))))]
    assert score[0] > score[1] - 0.02
