"""Linear leaves that share their slopes, as those of monotone trees do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize, nnls
from sklearn.base import clone, is_classifier
from sklearn.metrics import log_loss

from helpers import make_problem
from ngdt import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    Tree,
)
from ngdt._core.structure import shares_slopes
from ngdt._inspection.captions import captions_of
from ngdt._methods.linear_leaves.models import ScaledSamples
from ngdt._methods.linear_leaves.shared import fit_shared
from ngdt._training.shared_slopes import put_back, split_off
from ngdt._training.size_limits import enforce_limits
from ngdt.inference import is_monotone
from ngdt.optimizers import LinearLeaves
from ngdt.pruning import prune_at, prune_forest, refit_leaves
from reference.monotone import (
    assert_agrees_with_grid,
    random_directions,
    random_tree,
    violations_of_random_pairs,
)

SEEDS = st.integers(0, 2**16)


def shared_tree(random, n_features=3):
    """A tree whose leaves share their slopes, some of which may be zero."""
    tree = random_tree(random, n_features)
    slopes = random.normal(size=n_features) * (random.random(n_features) < 0.7)
    ranges = None if random.random() < 0.5 else np.tile([-1.0, 1.5], (tree.n_leaves, 1, 1))
    return tree.replace(
        values=tree.values, slopes=np.tile(slopes, (tree.n_leaves, 1, 1)), ranges=ranges)


def random_problem(random, directions, loss="squared_error", n=60):
    X = random.normal(size=(n, len(directions))) * [1.0, 10.0, 0.1][:len(directions)]
    y = X @ random.normal(size=X.shape[1]) + random.normal(size=n)
    weight = random.choice([1.0, 2.0], n)
    return make_problem(X, y > 0 if loss == "log_loss" else y, loss, weight,
                        n_outputs=2 if loss == "log_loss" else 1, directions=directions)


@given(SEEDS, st.sampled_from([0.0, 1.0, 10.0]))
def test_slopes_are_the_best_of_those_in_the_directions(seed, penalty):
    random = np.random.default_rng(seed)
    directions = random_directions(random, 3)
    problem, tree = random_problem(random, directions), random_tree(random)
    data = ScaledSamples(problem, np.arange(3))
    fitted = fit_shared(tree, data, penalty, shrink=False, clip=True)
    leaf = problem.apply(tree, problem.training_samples)
    Z, root = data.read(problem.training_samples), np.sqrt(data.weight)
    # An intercept for each leaf, and rows for the penalty. What may have any sign is a difference.
    rows = np.hstack([np.eye(tree.n_leaves)[leaf], Z]) * root[:, None]
    rows = np.vstack([rows, np.sqrt(penalty) * np.eye(3, rows.shape[1], tree.n_leaves)])
    sign = np.append(np.zeros(tree.n_leaves), directions)
    free = sign == 0
    parts, _ = nnls(np.hstack([rows * np.where(free, 1, sign), -rows[:, free]]),
                    np.append(problem.y[:, 0] * root, np.zeros(3)))
    best = parts[:len(sign)] * np.where(free, 1, sign)
    best[free] -= parts[len(sign):]
    best = best[tree.n_leaves:]
    slopes = np.zeros(3) if fitted.slopes is None else fitted.slopes[0, 0] * data.scale
    np.testing.assert_allclose(slopes, best, atol=1e-5)
    assert (slopes * directions >= 0.0).all()
    assert fitted.slopes is None or shares_slopes(fitted)


def test_no_used_feature_has_a_direction():
    X, y = data()
    model = ObliqueTreeRegressor(2, leaf=LinearLeaves(features=[2, 3]), monotonic_cst=CST)
    assert is_monotone(model.fit(X, y)) == (True, None)
    assert shares_slopes(model.tree_)
    assert model.tree_.slopes[:, :, 2].all()


@given(SEEDS, st.sampled_from([0.5, 10.0]))
def test_slopes_and_constants_of_classes_minimise_the_log_loss(seed, penalty):
    random = np.random.default_rng(seed)
    directions = random_directions(random, 3)
    problem, tree = random_problem(random, directions, "log_loss", 200), random_tree(random)
    leaf = problem.apply(tree, problem.training_samples)
    # Some of both classes in each leaf, so that no constant is infinite.
    y = random.permutation(np.arange(200) % 2)
    y[:50] = problem.y[:50, 0]
    share = np.bincount(leaf, y, tree.n_leaves) / np.maximum(1, np.bincount(
        leaf, minlength=tree.n_leaves))
    is_pure = (share < 0.05) | (share > 0.95)
    weight = np.where(is_pure[leaf], 0.0, problem.sample_weight)
    problem = problem.replace(y=y[:, None].astype(float), sample_weight=weight)
    data = ScaledSamples(problem, np.arange(3))
    fitted = fit_shared(tree, data, penalty, shrink=False, clip=True)
    Z, k = data.read(np.arange(200)), tree.n_leaves

    def objective(parts):
        margin = (2 * y - 1) * (parts[leaf] + Z @ parts[k:])
        return data.weight @ np.logaddexp(0.0, -margin) + 0.5 * penalty * parts[k:] @ parts[k:]

    best = minimize(objective, np.zeros(k + 3), method="L-BFGS-B", bounds=[(None, None)] * k + [
        (0.0 if d > 0 else None, 0.0 if d < 0 else None) for d in directions])
    slopes = np.zeros(3)
    if fitted.slopes is not None:
        assert shares_slopes(fitted)
        np.testing.assert_array_equal(fitted.slopes[:, 0], -fitted.slopes[:, 1])
        slopes = 2.0 * fitted.slopes[0, 1] * data.scale
        assert (slopes * directions >= 0.0).all()
        constants = 2.0 * (fitted.values + fitted.slopes @ data.center)[:, 1]
        assert objective(np.append(constants, slopes)) <= best.fun + 1e-3
    np.testing.assert_allclose(slopes, best.x[k:], atol=0.02)


@given(SEEDS, st.booleans(), st.sampled_from(["squared_error", "log_loss"]))
def test_trees_become_monotone(seed, clip, loss):
    random = np.random.default_rng(seed)
    directions = random_directions(random, 3)
    problem = random_problem(random, directions, loss)
    optimizer = LinearLeaves(clip=clip)
    tree = optimizer.optimize(random_tree(random, n_outputs=problem.n_outputs), problem).tree
    tree = enforce_limits(tree, problem)
    assert is_monotone(tree, directions) == (True, None)
    assert violations_of_random_pairs(random, tree, directions) == 0
    assert enforce_limits(tree, problem) is tree
    if tree.slopes is None:
        return
    is_clipped = clip and loss == "squared_error"
    assert (tree.ranges is not None) == is_clipped
    if is_clipped:
        predicted = tree.predict(np.vstack([problem.X, -1e6 * np.eye(3), 1e6 * np.eye(3)]))
        assert problem.y.min() <= predicted.min() <= predicted.max() <= problem.y.max()


def leaves(X, y, **parameters):
    return ObliqueTreeRegressor(
        2, init="info_gain", optimizer=LinearLeaves(**parameters), monotonic_cst=[1] * X.shape[1],
        random_state=0).fit(X, y)


def test_slopes_need_no_penalty():
    X, y = data()
    single = leaves(X[:, :1], y, penalty=0.0)
    twice = leaves(X[:, [0, 0]], y, penalty=0.0)
    assert shares_slopes(twice.tree_)
    np.testing.assert_allclose(twice.predict(X[:, [0, 0]]), single.predict(X[:, :1]), rtol=1e-6)


def test_leaves_are_constant_where_slopes_are_of_no_use():
    X, y = data()
    assert leaves(X, y, penalty=np.inf).tree_.slopes is None
    # One sample in each leaf.
    model = leaves(np.arange(4.0)[:, None], [0.0, 1.0, 10.0, 11.0], penalty=0.0)
    assert model.get_n_leaves() == 4
    assert model.tree_.slopes is None


@given(SEEDS)
def test_a_proof_or_a_pair_agrees_with_a_grid(seed):
    random = np.random.default_rng(seed)
    assert_agrees_with_grid(shared_tree(random, 2), random_directions(random, 2))


def single_leaf(value, slope):
    return Tree(np.empty((0, 1)), [], [], [], [[value]], slopes=[[[slope]]])


def test_a_slope_that_no_sample_shows_is_no_proof():
    assert is_monotone(single_leaf(1e10, -1e-300), [1]) == (None, None)
    assert is_monotone(single_leaf(1e10, 1e-300), [1]) == (True, None)


@pytest.mark.parametrize("step", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("slope", [1e-6, 1.0, 1e6])
def test_a_slope_refutes_a_tree_that_steps_up(step, slope):
    tree = Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [step]], slopes=[[[-slope]]] * 2,
                ranges=[[[-step, 2.0 * step]]] * 2)
    proved, pair = is_monotone(tree, [1])
    assert proved is False
    assert tree.predict(pair).ravel().tolist() == [2.0 * step, -step]


@given(SEEDS)
def test_rounding_of_a_mean_is_no_fall(seed):
    random = np.random.default_rng(seed)
    slopes = np.round(random.normal(size=3) * 10.0**random.integers(0, 6, 3))
    slopes = np.append(slopes, -slopes.sum())       # the mean is constant
    trees = [single_leaf(random.normal(), slope) for slope in slopes]
    assert is_monotone(trees, [1])[0] is not False
    assert is_monotone([*trees, single_leaf(0.0, -1.0)], [1])[0] is False


@given(SEEDS)
def test_values_are_what_slopes_leave(seed):
    random = np.random.default_rng(seed)
    directions = random_directions(random, 3)
    problem, tree = random_problem(random, directions), shared_tree(random)
    tree = tree.replace(values=tree.values, slopes=abs(tree.slopes) * (directions + (
        directions == 0)))
    constant, rest = split_off(tree, problem)
    every = problem.training_samples
    np.testing.assert_allclose(
        rest.y - rest.predictions(constant, every), problem.y - problem.predictions(tree, every))
    back = put_back(constant, tree)
    np.testing.assert_array_equal(back.slopes, tree.slopes)
    assert back.ranges is None


def data():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 4))
    return X, 2.0 * X[:, 0] + (X[:, 1] > 0) * 3.0 + X[:, 2] + 0.3 * random.normal(size=300)


CST = [1, 1, 0, 0]


def test_steps_and_slopes_are_told_apart():
    X, y = data()
    tree = ObliqueTreeRegressor(monotonic_cst=CST, random_state=0).fit(X[:200], y[:200])
    constant = ObliqueTreeRegressor(
        monotonic_cst=CST, leaf="constant", random_state=0).fit(X[:200], y[:200])
    assert shares_slopes(tree.tree_)
    assert tree.get_n_leaves() <= constant.get_n_leaves()
    assert tree.score(X[200:], y[200:]) > constant.score(X[200:], y[200:])
    # A slope against its direction is of no use.
    against = ObliqueTreeRegressor(monotonic_cst=[-1, 1, 0, 0], random_state=0).fit(X, y)
    assert is_monotone(against) == (True, None)
    assert against.tree_.slopes is None or against.tree_.slopes[0, 0, 0] == 0.0


@pytest.mark.parametrize("form", [sparse.csr_array, lambda X: X[:, ::1]], ids=["csr", "dense"])
def test_weights_are_repetition(form):
    X, y = data()
    weight = np.arange(len(y)) % 3
    model = ObliqueTreeRegressor(
        3, init="info_gain", optimizer=LinearLeaves(penalty=0.0, shrink=False), monotonic_cst=CST,
        random_state=0)
    repeated = model.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).predict(X)
    np.testing.assert_allclose(model.fit(form(X), y, weight).predict(form(X)), repeated)


def test_far_rows_and_targets_move_few_predictions():
    X, y = data()
    model = ObliqueTreeRegressor(monotonic_cst=CST, random_state=0)
    clean = model.fit(X, y).score(X, y)
    X, gross = X.copy(), y.copy()
    X[:3] *= 1e6
    gross[3:6] += 1e6
    model.fit(X, gross)
    assert is_monotone(model) == (True, None)
    predicted = model.predict(X)
    is_near = np.abs(predicted) < 100.0
    assert is_near.sum() >= 280
    is_near[:6] = False
    residual = y[is_near] - predicted[is_near]
    assert 1.0 - residual @ residual / np.var(y) / is_near.sum() > clean - 0.05


def test_leaves_follow_far_targets_that_a_feature_tells():
    X, y = data()
    X = np.column_stack([X, np.arange(300) < 10])
    y[:10] += 1e4
    model = ObliqueTreeRegressor(
        leaf="linear", monotonic_cst=[*CST, 1], random_state=0).fit(X, y)
    assert shares_slopes(model.tree_)
    assert is_monotone(model) == (True, None)
    np.testing.assert_allclose(model.predict(X[:10]), y[:10], rtol=0.01)
    assert np.abs(model.predict(X[10:])).max() < 20.0
    # A given tree whose leaf has far targets only.
    again = ObliqueTreeRegressor(init=model.tree_, optimizer=None, monotonic_cst=[*CST, 1])
    assert is_monotone(again.fit(X, y)) == (True, None)


def greedy(kind):
    """A tree of three levels whose leaves share their slopes."""
    return kind(
        3, init="info_gain", optimizer="linear_leaves", monotonic_cst=CST, random_state=0)


@pytest.mark.parametrize("leaf", ["auto", "linear"])
def test_probabilities_are_monotone(leaf):
    X, y = data()
    y = y > 1
    tree = ObliqueTreeClassifier(leaf=leaf, monotonic_cst=CST, random_state=0).fit(X[:200], y[:200])
    constant = ObliqueTreeClassifier(
        monotonic_cst=CST, optimizer="tao", validation_fraction=None, random_state=0)
    constant.fit(X[:200], y[:200])
    assert is_monotone(tree) == (True, None)
    with pytest.raises(ValueError, match="tree must have constant leaves"):
        is_monotone(tree, output=0)
    losses = [log_loss(y[200:], each.predict_proba(X[200:])) for each in (tree, constant)]
    assert shares_slopes(tree.tree_)
    assert losses[0] < losses[1]
    tree.set_params(warm_start=True, optimizer="tao").fit(X, y)
    assert shares_slopes(tree.tree_)
    assert is_monotone(refit_leaves(tree, X[100:], y[100:])) == (True, None)


@given(SEEDS)
def test_edits_of_classes_keep_slopes_and_the_order(seed):
    random = np.random.default_rng(seed)
    X, y = data()
    model = greedy(ObliqueTreeClassifier)
    model.fit(X, y + random.normal(size=len(y)) > 1, random.choice([1.0, 2.0], len(y)))
    pruned = prune_at(model, np.flatnonzero(random.random(model.tree_.n_internal) < 0.4))
    assert is_monotone(pruned) == (True, None)
    np.testing.assert_array_equal(pruned.tree_.slopes[0], model.tree_.slopes[0])
    # What is told of a leaf is the mean probability of its samples.
    told = captions_of(pruned).node_predictions()[0, 1]
    assert told == pytest.approx(model.predict_proba(X)[:, 1].mean(), abs=0.1)


def test_the_pruning_path_tells_the_number_of_leaves():
    X, y = data()
    model = greedy(ObliqueTreeRegressor)
    alphas = model.cost_complexity_pruning_path(X, y).ccp_alphas
    n_leaves = [clone(model).set_params(ccp_alpha=1.0001 * alpha).fit(X, y).get_n_leaves()
                for alpha in alphas]
    assert n_leaves == list(range(len(alphas), 0, -1))
    assert len(alphas) > 4


@given(SEEDS)
def test_edits_keep_slopes_and_the_order(seed):
    random = np.random.default_rng(seed)
    X, y = data()
    model = greedy(ObliqueTreeRegressor)
    model.fit(X, y, random.choice([1.0, 2.0], len(y)))
    nodes = np.flatnonzero(random.random(model.tree_.n_internal) < 0.4)
    pruned, some = prune_at(model, nodes), random.choice(len(y), 30, replace=False)
    refitted = refit_leaves(model, X[some], random.permutation(y)[some])
    assert refitted.get_n_leaves() == model.get_n_leaves()
    np.testing.assert_array_equal(pruned.tree_.slopes[0], model.tree_.slopes[0])
    assert is_monotone(pruned) == is_monotone(refitted) == (True, None)
    # The quantiles of a leaf are those of what its slopes leave, as they are without edits.
    low, high = pruned.predict_quantiles(X, [0.0, 1.0]).T
    assert ((low <= pruned.predict(X) + 1e-9) & (pruned.predict(X) <= high + 1e-9)).mean() > 0.9
    # Of a whole branch, the mean prediction stays.
    whole = prune_at(model, [0])
    np.testing.assert_allclose(whole.tree_.values, np.average(
        model.tree_.values[:, 0], weights=model._sample_summary.leaf_weights), rtol=1e-9)


@given(SEEDS)
def test_leaves_without_samples_keep_their_predictions(seed):
    random = np.random.default_rng(seed)
    X, y = data()
    model = greedy(ObliqueTreeRegressor)
    leaf = model.fit(X, y).apply(X)
    some = np.isin(leaf, random.choice(np.unique(leaf), 3, replace=False))
    # The targets keep the order of the leaves, which draws none without samples to another value.
    again = refit_leaves(model, X[some], model.predict(X[some]))
    np.testing.assert_allclose(again.predict(X[~some]), model.predict(X[~some]), rtol=1e-9)
    assert again.get_n_leaves() == model.get_n_leaves()


def test_pruned_classifiers_keep_their_probabilities():
    X, y = data()
    model = ObliqueTreeClassifier(3, init="info_gain", optimizer=None, monotonic_cst=CST)
    whole = prune_at(model.fit(X, y > 0), [0])
    np.testing.assert_allclose(
        whole.predict_proba(X[:1])[0], model.predict_proba(X).mean(axis=0), rtol=1e-9)


def test_directions_that_came_after_the_fit_change_no_slopes():
    X, y = data()
    model = ObliqueTreeRegressor(
        3, init="info_gain", optimizer="linear_leaves", random_state=0).fit(X, y)
    nodes = [model.tree_.n_internal - 1]
    free = prune_at(model, nodes)
    assert not shares_slopes(model.tree_)
    assert prune_at(model.set_params(monotonic_cst=CST), nodes).tree_ == free.tree_


@pytest.mark.parametrize("kind", [ObliqueForestRegressor, ObliqueForestClassifier])
def test_pruned_forests_stay_monotone(kind):
    X, y = data()
    y = y > 1 if is_classifier(kind()) else y
    forest = kind(3, leaf="linear", monotonic_cst=CST, optimizer="tao", max_depth=4, random_state=0)
    forest.fit(X, y)
    assert shares_slopes(forest[0].tree_)
    pruned = prune_forest(forest, X[::2], y[::2], tol=0.2)
    assert is_monotone(forest) == is_monotone(pruned) == (True, None)
    n_leaves, n_before = (
        sum(tree.get_n_leaves() for tree in each) for each in (pruned, forest))
    assert 1 < n_leaves < n_before
    assert shares_slopes(pruned[0].tree_)


@pytest.mark.parametrize("kind", [ObliqueTreeRegressor, ObliqueTreeClassifier])
def test_features_far_from_zero_need_no_scaling(kind):
    random = np.random.default_rng(0)
    X = random.integers(-9, 10, (100, 3)).astype(float)
    y = X[:, 0] + X[:, 1] + random.normal(size=100)
    y, answer = (y, "predict") if kind is ObliqueTreeRegressor else (y > 0, "predict_proba")
    model = kind(1, init="info_gain", optimizer=None, leaf="linear", standardize=False,
                 monotonic_cst=[1, 0, 0], random_state=0)
    shifted = X + 2.0**30 * np.eye(3)[1]
    near, far = (getattr(model.fit(each, y), answer)(each) for each in (X, shifted))
    np.testing.assert_allclose(far, near, atol=1e-5)
