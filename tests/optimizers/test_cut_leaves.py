"""CutLeaves: thresholds of the weighted sums on the path to a leaf."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit

from helpers import FORMS
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt._core.greedy.builder import build
from ngdt._training.problem import Problem
from ngdt._util.stopped import Stopped
from ngdt.losses import LogLoss, PoissonLoss, SquaredLoss
from ngdt.optimizers import CutLeaves
from reference import cut_leaves as naive

TREE = Tree([[1.0, 0.5], [0.0, 1.0]], [0.0, 0.5], [~0, ~1], [1, ~2], np.zeros((3, 2)))


def problem_of(n=400, *, seed=0, form=np.asarray, loss=None, weighted=False, limits=(0.0,)):
    """Classes between limits, the surer the farther a sample is from the first split."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 2)).round(2)
    y = (random.uniform(size=(n, 1)) < expit(2.0 * X @ TREE.weights[:1].T - limits)).sum(axis=1)
    weight = random.uniform(0.5, 2.0, size=n) if weighted else np.ones(n)
    loss = loss or LogLoss()
    n_outputs = 1 + len(limits) if loss.is_classifier else 1
    return Problem(form(X), y[:, None].astype(float), loss, n_outputs, weight)


def cut(problem, tree=TREE, **parameters):
    return CutLeaves(**parameters).optimize(tree, problem).tree


@example(0, 5, 0.9, True, (0.0, 2.0), LogLoss())
@example(0, 5, 1.1, True, (0.0, 2.0), LogLoss())
@example(0, 5, 0.9, True, (0.0, 2.0), SquaredLoss())
@example(0, 5, 1.1, True, (0.0, 2.0), SquaredLoss())
@given(st.integers(0, 2**16), st.integers(1, 40), st.sampled_from([0.0, 0.9, 1.1]), st.booleans(),
       st.sampled_from([(0.0,), (0.0, 2.0)]), st.sampled_from([LogLoss(), SquaredLoss()]))
def test_the_first_cut_of_a_leaf_has_the_largest_gain(seed, least, share, weighted, limits, loss):
    problem = problem_of(200, seed=seed, weighted=weighted, limits=limits, loss=loss)
    tree = TREE.replace(values=np.zeros((3, problem.n_outputs)))
    gains = [naive.gains(tree, problem, leaf, least) for leaf in range(3)]
    leaf = tree.apply(problem.X)
    n_more = [max(len(np.unique(problem.y[leaf == number])) - 1, 1) if loss.is_classifier else 1
              for number in range(3)]
    min_gain = share * max(gains[seed % 3], default=0.0) / n_more[seed % 3]
    found = cut(problem, tree, min_samples_leaf=least, min_gain=min_gain)
    for number in range(3):
        here, least_gain = leaf == number, min_gain * n_more[number]
        y, weight = problem.y[here, 0], problem.sample_weight[here]
        right = naive.first_division(found, problem.X[here])
        if right is None:
            assert len(np.unique(y)) < 2 or max(gains[number], default=0.0) <= least_gain + 1e-9
        else:
            gain = naive.gain(y, weight, right, loss.is_classifier)
            assert gain == pytest.approx(max(gains[number]))
            assert gain >= least_gain - 1e-9


def test_all_splits_have_weights_of_the_path():
    problem = problem_of(2000)
    found = cut(problem, min_gain=1.0)
    assert found.n_leaves > TREE.n_leaves
    np.testing.assert_array_equal(
        np.unique(found.weights, axis=0), np.unique(TREE.weights, axis=0))
    before, after = TREE.apply(problem.X), found.apply(problem.X)
    for leaf in range(found.n_leaves):       # each lies in one leaf of before
        assert len(np.unique(before[after == leaf])) == 1
    on_the_left = found.ancestors()[np.unique(after[before == 0])]
    used = found.weights[np.unique(on_the_left.indices)]
    np.testing.assert_array_equal(used, np.tile(TREE.weights[0], (len(used), 1)))


def test_leaves_are_large_and_their_values_are_refitted():
    problem = problem_of(2000)
    found = cut(problem, min_samples_leaf=50, min_gain=0.0)
    leaf = found.apply(problem.X)
    before = np.bincount(TREE.apply(problem.X))
    count = np.bincount(leaf, minlength=found.n_leaves)
    assert (count >= np.minimum(50, before.min())).all()
    assert cut(problem.limited(min_samples_leaf=50), min_samples_leaf=1, min_gain=0.0) == found
    refitted = problem.refit_leaves(found)
    is_new = ~np.isin(count, before)
    np.testing.assert_array_equal(found.values[is_new], refitted.values[is_new])


def test_log_likelihood_grows_by_the_least_gain_of_each_cut():
    problem, min_gain = problem_of(2000), 6.0
    found = cut(problem, min_gain=min_gain)

    def log_likelihood(tree):
        tree = problem.refit_leaves(tree)
        leaf, y = tree.apply(problem.X), problem.y[:, 0]
        share = np.bincount(leaf, y, tree.n_leaves) / np.bincount(leaf, minlength=tree.n_leaves)
        p = np.where(y == 1, share[leaf], 1.0 - share[leaf])
        return np.log(p).sum()

    n_cuts = found.n_leaves - TREE.n_leaves
    assert n_cuts > 0
    assert log_likelihood(found) - log_likelihood(TREE) >= min_gain * n_cuts


@FORMS
def test_all_forms_of_data_and_weights_give_the_same_tree(form):
    dense = cut(problem_of(1000))
    assert cut(problem_of(1000, form=form)) == dense
    of_sparse = cut(problem_of(1000, form=form), TREE.sparsify())
    assert sparse.issparse(of_sparse.weights)
    assert of_sparse.densify() == dense


def test_sums_that_overflow_stay_on_their_side():
    problem = problem_of(1000)
    X = problem.X.copy()
    X[::5] = 1.5e308 * np.sign(X[::5])      # sums of one split are infinite, of the other NaN, too
    problem = problem.replace(X=X)
    found = cut(problem, TREE.replace(weights=[[1.0, 0.5], [4.0, -4.0]]), min_gain=0.0)
    assert found.n_leaves > TREE.n_leaves
    leaf = problem.apply(found, problem.training_samples)
    assert np.bincount(leaf, minlength=found.n_leaves).min() >= 30
    assert found == problem.refit_leaves(found)


def test_limits_of_the_size():
    problem = problem_of(2000)
    free = cut(problem, min_gain=0.0)
    assert free.max_depth > 3
    assert cut(problem.limited(max_depth=3), min_gain=0.0).max_depth == 3
    large = cut(problem, min_samples_leaf=200, min_gain=0.0)
    for n in range(3, large.n_leaves + 1):
        limited = cut(problem.limited(max_leaf_nodes=n), min_samples_leaf=200, min_gain=0.0)
        assert limited.n_leaves == n
        before, after = TREE.apply(problem.X), limited.apply(problem.X)
        largest = np.bincount(before).argmax()      # is cut first
        assert len(np.unique(after[before == largest])) > (n > 3)
    model = ObliqueTreeClassifier(
        max_leaf_nodes=6, init=TREE, optimizer=CutLeaves(min_gain=0.0)).fit(
            problem.X, problem.y[:, 0])
    assert model.get_n_leaves() == 6


def test_a_single_leaf_pure_leaves_and_few_samples_stay():
    problem = problem_of(400)
    leaf = Tree(np.empty((0, 2)), [], [], [], [[0.0, 0.0]])
    assert cut(problem, leaf) == leaf
    pure = problem.replace(y=(TREE.apply(problem.X) == 0).astype(float)[:, None])
    assert cut(pure, min_gain=0.0) == TREE
    assert cut(problem_of(59), min_gain=0.0) == TREE


def test_other_losses_are_refused():
    with pytest.raises(ValueError, match=r"CutLeaves\(\) is for classes and the squared loss, got"):
        cut(problem_of(loss=PoissonLoss()), Tree([[1.0, 0.0]], [0.0], [~0], [~1], [[0.0], [1.0]]))


def test_constant_leaves_of_regression_are_cut_by_default():
    X = np.random.default_rng(0).normal(size=(1500, 3))
    y = np.tanh(X[:, 0] + X[:, 1]) + 0.1 * X[:, 2]
    found = ObliqueTreeRegressor(leaf="constant", random_state=0).fit(X, y)
    assert found.kind_.startswith("tree trained as a whole by")
    weights = found.tree_.dense_weights()
    assert len(np.unique(weights, axis=0)) < len(weights)
    assert ObliqueTreeRegressor(leaf="constant", loss="huber", random_state=0).fit(
        X, y).get_n_leaves() > 1


def test_linear_leaves_stay_where_constant_ones_have_more_errors():
    problem = problem_of()
    linear = ObliqueTreeClassifier(0, optimizer=None, leaf="linear")
    linear.fit(problem.X, problem.y[:, 0])
    model = ObliqueTreeClassifier(
        init=linear.tree_, optimizer="cut_leaves", validation_fraction=0.2, random_state=0)
    with pytest.warns(UserWarning, match="initial tree was kept"):
        model.fit(problem.X, problem.y[:, 0])
    assert model.tree_ == linear.tree_


def test_ctrl_c_keeps_the_leaves_that_are_cut(monkeypatch):
    problem = problem_of(2000)
    whole, calls = cut(problem, min_gain=0.0), []

    def interrupted(strategy, samples, limits):
        calls.append(samples)
        grown = build(strategy, samples, limits)
        if len(calls) == 2:
            raise Stopped(grown)    # not a tree of all samples
        return grown

    monkeypatch.setattr("ngdt._methods.finishing.cut_leaves.build", interrupted)
    with pytest.raises(Stopped) as caught:
        cut(problem, min_gain=0.0)
    kept = caught.value.tree
    assert TREE.n_leaves < kept.n_leaves < whole.n_leaves


def test_the_default_cuts_and_is_still_a_tree_trained_as_a_whole():
    random = np.random.default_rng(0)
    X = random.normal(size=(1500, 3))
    score = np.abs(X[:, 0] + X[:, 1]) - 1.0     # two oblique splits
    y = random.uniform(size=1500) < 1.0 / (1.0 + np.exp(-2.0 * score))
    model = ObliqueTreeClassifier(random_state=0).fit(X, y)
    assert model.kind_.startswith("tree trained as a whole by")
    weights = np.unique(model.tree_.dense_weights(), axis=0)
    assert len(weights) < model.tree_.n_internal
