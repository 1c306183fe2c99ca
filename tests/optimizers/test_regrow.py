"""Regrow and ShrinkLeaves: the steps that end a chain."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from helpers import FORMS
from ngdt import ObliqueTreeClassifier, Tree
from ngdt._core.greedy.builder import build
from ngdt._training.problem import Problem
from ngdt._util.stopped import Stopped
from ngdt.initializers import InfoGain
from ngdt.losses import LogLoss, PoissonLoss, SquaredLoss
from ngdt.optimizers import Regrow, ShrinkLeaves
from ngdt.testing.strategies import trees
from reference import regrow as naive_regrow


def checkerboard(n=240, *, loss=None, form=np.asarray, seed=0):
    """Classes of four quadrants; every third sample is for validation."""
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, size=(n, 2))
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0)
    held = (np.arange(n) % 3 == 0).astype(float)
    loss = loss or LogLoss()
    return Problem(form(X), y[:, None].astype(float), loss, 2 if loss.is_classifier else 1,
                   1 - held, held).limited(max_depth=2), X, y


# Root x0 > 0; its right side splits well, its left side has the split but the wrong leaves.
SPLITS = dict(
    weights=[[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], thresholds=[0.0, 3.0, 0.0],
    children_left=[1, ~0, ~2], children_right=[2, ~1, ~3])


def bad_on_the_left(loss):
    values = [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]   # left: always class 0
    return Tree(**SPLITS, values=values if loss.is_classifier else [[0.0], [0.0], [1.0], [0.0]])


@pytest.mark.parametrize("n_grown", [1, 2])
def test_ctrl_c_keeps_the_tree_with_the_subtrees_so_far(n_grown, monkeypatch):
    problem, X, _ = checkerboard()
    tree = Tree(**SPLITS, values=[[1.0, 0.0]] * 4)      # bad on both sides
    calls = []

    def interrupted(strategy, samples, limits):
        calls.append(samples)
        grown = build(strategy, samples, limits)
        if len(calls) == n_grown:
            raise Stopped(grown)    # not a tree of all samples
        return grown

    monkeypatch.setattr("ngdt._methods.finishing.regrow.build", interrupted)
    with pytest.raises(Stopped) as caught:
        Regrow().optimize(tree, problem)
    kept, right = caught.value.tree, X[:, 0] > 0
    np.testing.assert_array_equal(kept.predict(X)[~right], tree.predict(X)[~right])
    assert (kept.predict(X)[right] != tree.predict(X)[right]).any() == (n_grown == 2)


@FORMS
@pytest.mark.parametrize("loss", [LogLoss(), SquaredLoss()])
def test_a_bad_subtree_is_replaced_and_nothing_else(form, loss):
    problem, X, _ = checkerboard(loss=loss, form=form)
    tree = bad_on_the_left(loss)
    result = Regrow().optimize(tree, problem)
    regrown, history = result.tree, result.history
    assert history == {}
    assert regrown.n_internal == 3
    left = regrown.children_left[0]
    np.testing.assert_array_equal(regrown.weights[0], tree.weights[0])
    np.testing.assert_array_equal(regrown.weights[left], [0.0, 1.0])
    assert abs(regrown.thresholds[left]) < 0.1
    # The rest is as it was.
    right = X[:, 0] > 0
    np.testing.assert_array_equal(regrown.predict(X)[right], tree.predict(X)[right])
    np.testing.assert_array_equal(
        regrown.decision_path(X)[:, 0].toarray(), tree.decision_path(X)[:, 0].toarray())
    everywhere = np.arange(len(X), dtype=np.int32)
    assert problem.errors(regrown, everywhere).mean() < 0.05
    assert problem.errors(tree, everywhere).mean() > 0.2


@pytest.mark.parametrize("loss", [LogLoss(), SquaredLoss()])
def test_a_good_tree_stays(loss):
    problem, _, _ = checkerboard(loss=loss)
    good = Tree(
        [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], np.zeros(3), [1, ~0, ~2], [2, ~1, ~3],
        [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]] if loss.is_classifier
        else [[0.0], [1.0], [1.0], [0.0]])
    assert Regrow().optimize(good, problem).tree is good


def test_too_little_evidence_changes_nothing():
    # Four errors that a fresh tree does not make are two standard errors, and five are more.
    problem, X, _ = checkerboard()
    tree = bad_on_the_left(LogLoss())
    wrong = np.flatnonzero((problem.validation_weight > 0) & (X[:, 0] < -0.2) & (X[:, 1] > 0.2))
    for n_wrong, changes in ((4, False), (5, True)):
        validation = np.zeros(len(X))
        validation[wrong[:n_wrong]] = 1.0
        regrown = Regrow().optimize(tree, problem.replace(validation_weight=validation)).tree
        assert (regrown is not tree) == changes


def test_without_validation_samples_nothing_changes():
    problem, _, _ = checkerboard()
    tree = bad_on_the_left(LogLoss())
    assert Regrow().optimize(tree, problem.replace(validation_weight=None)).tree is tree


def test_validation_samples_are_not_trained_on():
    # Were they, the fresh tree would learn what only they say.
    problem, _, _ = checkerboard()
    lying = problem.y.copy()
    held = problem.validation_weight > 0
    lying[held] = 1 - lying[held]
    tree = Tree([[1.0, 0.0]], [0.0], [~0], [~1], [[0.1, 0.0], [0.0, 0.1]])
    assert Regrow().optimize(tree, problem.replace(y=lying)).tree is tree


def test_samples_of_no_weight_do_not_matter():
    problem, X, _ = checkerboard()
    absent = np.arange(len(X)) % 3 == 1
    problem = problem.replace(sample_weight=np.where(absent, 0.0, problem.sample_weight))
    lying = np.where(absent[:, None], 1 - problem.y, problem.y)
    tree = bad_on_the_left(LogLoss())
    one, other = (Regrow().optimize(tree, problem.replace(y=y)).tree for y in (problem.y, lying))
    assert one == other
    assert one != tree


@given(tree=trees(n_features=st.just(2), n_outputs=st.just(2)), seed=st.integers(0, 99),
       form=st.sampled_from([np.asarray, sparse.csr_array]), classes=st.booleans())
def test_the_decisions_are_those_of_the_definition(tree, seed, form, classes):
    loss = LogLoss() if classes else SquaredLoss()
    problem, X, y = checkerboard(60, form=form, seed=seed)
    random = np.random.default_rng(seed)
    if not classes:
        problem = problem.replace(y=np.column_stack([y, X[:, 0]]).astype(float), loss=loss)
    held = problem.validation_weight * random.choice([0.5, 1.0, 2.0], 60)
    problem = problem.replace(
        validation_weight=held, sample_weight=problem.sample_weight * random.integers(0, 3, 60))
    regrown = Regrow().optimize(tree, problem).tree
    if tree.n_internal == 0:
        assert regrown is tree
        return
    expected, replaced = naive_regrow.regrow(tree, problem, X)
    np.testing.assert_allclose(regrown.predict(X), expected, rtol=1e-12, atol=1e-12)
    assert (regrown is tree) == (not replaced)
    assert np.isfinite(regrown.values).all()
    assert regrown.max_depth <= max(2, tree.max_depth)


def test_many_samples_are_tried_on_a_few_first():
    # 3000 rows at the root: the pilot takes 500, and the outcome is the same.
    problem, _, _ = checkerboard(3000)
    regrown = Regrow().optimize(bad_on_the_left(LogLoss()), problem).tree
    assert problem.errors(regrown, np.arange(3000, dtype=np.int32)).mean() < 0.01


@pytest.mark.parametrize(("gain", "sizes"), [(-2.1, [600]), (-1.9, [600, 1200])])
def test_a_few_samples_reject_what_is_clearly_worse(gain, sizes, monkeypatch):
    problem, _, _ = checkerboard(1800)      # 1200 for training
    run, grown = "ngdt._methods.finishing.regrow._Regrowth", []
    monkeypatch.setattr(f"{run}._grow", lambda self, samples, depth: grown.append(len(samples)))
    monkeypatch.setattr(f"{run}._gain", lambda self, candidate, validation: (gain, None))
    tree = Tree([[1.0, 0.0]], [0.0], [~0], [~1], [[1.0, 0.0], [0.0, 1.0]])
    assert Regrow().optimize(tree, problem).tree is tree
    assert grown == sizes


def test_small_weights_are_no_reason_to_stop():
    problem, _, _ = checkerboard()
    tree = bad_on_the_left(LogLoss())
    light = LogLoss(pseudo_count=1e-6)
    one = Regrow().optimize(tree, problem.replace(loss=light)).tree
    scaled = problem.replace(loss=light, sample_weight=1e-3 * problem.sample_weight)
    other = Regrow().optimize(tree, scaled).tree
    np.testing.assert_array_equal(other.weights, one.weights)
    assert one != tree
    limited = Regrow(min_samples_leaf=50).optimize(tree, problem).tree
    assert limited is tree      # 80 rows on the left, 40 of each class


def test_a_chain_may_end_with_it():
    X, y = checkerboard()[1:]
    fitted = ObliqueTreeClassifier(
        init=bad_on_the_left(LogLoss()), optimizer=Regrow(), validation_fraction=0.3,
        random_state=0).fit(X, y)
    assert fitted.score(X, y) > 0.95


# --- leaves --------------------------------------------------------------------------------------


@given(tree=trees(n_features=st.just(2)), seed=st.integers(0, 99),
       pseudo_count=st.sampled_from([0, 0.5, 5.0]),
       form=st.sampled_from([np.asarray, sparse.csr_array]))
def test_leaves_are_shrunk_towards_their_ancestors(tree, seed, pseudo_count, form):
    random = np.random.default_rng(seed)
    X, k = random.normal(size=(12, 2)), tree.n_outputs
    y, weight = random.normal(size=(12, k)), random.integers(0, 3, 12).astype(float)
    weight[0] = 1.0
    problem = Problem(form(X), y, SquaredLoss(), k, weight)
    result = ShrinkLeaves(pseudo_count=pseudo_count).optimize(tree, problem)
    shrunk, history = result.tree, result.history
    assert history == {}
    np.testing.assert_allclose(shrunk.values, naive_regrow.shrunk_leaves(
        tree, tree.apply(X), y, weight, pseudo_count), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(shrunk.weights, tree.weights)
    np.testing.assert_array_equal(shrunk.thresholds, tree.thresholds)
    np.testing.assert_array_equal(shrunk.children_left, tree.children_left)


@given(tree=trees(n_features=st.just(2)), seed=st.integers(0, 99),
       pseudo_count=st.sampled_from([0, 0.5, 5.0]))
def test_leaves_with_logarithms_are_shrunk_by_what_they_predict(tree, seed, pseudo_count):
    random = np.random.default_rng(seed)
    X, k = random.normal(size=(12, 2)), tree.n_outputs
    y, weight = random.uniform(0.5, 9.0, size=(12, k)), random.integers(1, 3, 12).astype(float)
    problem = Problem(X, y, PoissonLoss(pseudo_count=0.0), k, weight)
    shrunk = ShrinkLeaves(pseudo_count=pseudo_count).optimize(tree, problem).tree
    np.testing.assert_allclose(np.exp(shrunk.values), naive_regrow.shrunk_leaves(
        tree, tree.apply(X), y, weight, pseudo_count), rtol=1e-10)


def test_without_shrinking_leaves_are_means():
    problem, _, _ = checkerboard(loss=SquaredLoss())
    greedy = InfoGain().initialize(problem.limited(max_depth=3))
    shrunk = ShrinkLeaves(pseudo_count=0).optimize(greedy, problem).tree
    np.testing.assert_allclose(shrunk.values, greedy.values, atol=1e-12)


def test_leaves_of_classes_are_refused():
    X, y = checkerboard()[1:]
    with pytest.raises(ValueError, match=r"ShrinkLeaves.*for regression only.*loss=LogLoss\(5\)"):
        ObliqueTreeClassifier(optimizer=ShrinkLeaves()).fit(X, y)
