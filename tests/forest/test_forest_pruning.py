"""Pruned forests: the path against brute force, and the attributes of a pruned forest."""

import pickle
from copy import deepcopy
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score
from sklearn.tree import DecisionTreeClassifier

from helpers import in_nightly
from ngdt import ObliqueForestClassifier, ObliqueForestRegressor
from ngdt._core.samples import Samples
from ngdt._core.scaling import Moments
from ngdt._core.structure import node_means, sums_below
from ngdt._inspection.importances import feature_importances, node_gains
from ngdt._inspection.sample_summary import SampleSummary
from ngdt.export import export_text
from ngdt.initializers import RandomOblique
from ngdt.losses import HuberLoss
from ngdt.optimizers import LinearLeaves
from ngdt.pruning import _forest, prune_forest
from ngdt.pruning._forest import (
    N_STANDARD_ERRORS,
    PathStep,
    beyond_chance,
    drop,
    mean_prediction,
    prune,
)
from ngdt.pruning._impurity import LeafTargets
from ngdt.pruning._member import HeldOut
from ngdt.pruning._replace import collapse

COMMON = {"init": RandomOblique(4), "optimizer": None, "max_depth": 3, "random_state": 0}
LINEAR = {"leaf": LinearLeaves(penalty=1.0), "max_depth": 3}


def make_data(n=300):
    """Features, labels of three classes, two targets, and weights, some of them zero."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 5))
    noisy = X[:, :2] + 0.4 * random.normal(size=(n, 2))
    labels = np.array(["a", "b", "c"])[(noisy[:, 0] > 0).astype(int) + (noisy[:, 1] > 0.5)]
    targets = np.column_stack([100.0 + noisy[:, 0] * noisy[:, 1], 1e-3 * noisy[:, 1]])
    return X, labels, targets, random.choice([0.0, 0.5, 1.0, 2.0], n)


X, LABELS, TARGETS, WEIGHT = make_data()
TABLE = pd.DataFrame(X.copy(), columns=list("abcde"))     # pandas 2 would write into X
TABLE["c"] = np.where(X[:, 2] > 0, "high", "low")
TABLE.loc[X[:, 0] > 1.0, "a"] = np.nan

# Name of a case to the class of the forest, its parameters, the table and the targets.
CASES = {
    "classes": (ObliqueForestClassifier, {}, X, LABELS),
    "balanced": (ObliqueForestClassifier, {"class_weight": "balanced_subsample"}, X, LABELS),
    "bounded": (ObliqueForestClassifier, {"loss": "bounded", "max_features": 3}, X, LABELS),
    "linear classes": (ObliqueForestClassifier, LINEAR, X, LABELS),
    "table": (ObliqueForestClassifier, {}, TABLE, LABELS),
    "sparse": (ObliqueForestClassifier, {}, sparse.csr_matrix(X), LABELS),
    "values": (ObliqueForestRegressor, {}, X, TARGETS[:, 0]),
    "two targets": (ObliqueForestRegressor, {}, X, TARGETS),
    "linear values": (ObliqueForestRegressor, LINEAR, TABLE, TARGETS),
    "poisson": (ObliqueForestRegressor, {"loss": "poisson"}, X, TARGETS[:, 0]),
    "huber": (ObliqueForestRegressor, {"loss": HuberLoss()}, X, TARGETS[:, 0]),
}
SOME = pytest.mark.parametrize(
    "case", ["classes", "linear classes", "two targets", "linear values"])
# Other losses and forms, which differ in the samples that are given to the same code.
MORE = ["bounded", "huber", "sparse"]
FEW = pytest.mark.parametrize("case", ["classes", "linear values"])
FIRST, REST = slice(None, 150), slice(150, None)


@pytest.fixture(autouse=True)
def few_folds(monkeypatch):
    """Three folds, not five: for each, the forest is pruned once more."""
    monkeypatch.setattr("ngdt.pruning._forest.N_FOLDS", 3)


@cache
def fitted(case, n_trees=2, **parameters):
    """A forest of the first half of the samples; tests must not change it."""
    kind, own, table, y = CASES[case]
    return kind(n_trees, **COMMON | own | parameters).fit(table[FIRST], y[FIRST])


def held_out(case):
    _, _, table, y = CASES[case]
    return table[REST], y[REST], WEIGHT[REST]


@cache
def pruned_with(case, tolerance, weighted=False):
    """The forest of `fitted`, pruned; it is left as it is, and tests must not change the result."""
    forest, (table, y, weight) = fitted(case), held_out(case)
    before = pickle.dumps(forest)
    pruned = prune_forest(
        forest, table, y, tol=tolerance, sample_weight=weight if weighted else None)
    assert pickle.dumps(forest) == before
    return pruned


@cache
def pruned_without_draws(case):
    """A forest each of whose trees has seen the whole first half, and the pruned one."""
    forest, (table, y, _) = fitted(case, bootstrap=False), held_out(case)
    return forest, prune_forest(forest, table, y, tol=0.2)


def mean_of_trees(forest, table):
    """Mean prediction, tree after tree."""
    if isinstance(forest, ObliqueForestClassifier):
        return np.mean([tree.predict_proba(table) for tree in forest.estimators_], axis=0)
    return np.mean([tree.predict(table) for tree in forest.estimators_], axis=0)


# --- what is promised -----------------------------------------------------------------------------


@pytest.mark.parametrize(("case", "tolerance", "weighted"), [
    *((case, 0.02, True) for case in CASES if case not in MORE),
    *in_nightly((case, 0.02, True) for case in MORE),
    ("classes", 0.0, False), ("linear values", 0.0, False)])
def test_a_pruned_forest(case, tolerance, weighted):
    forest, pruned = fitted(case), pruned_with(case, tolerance, weighted)
    table, y, weight = held_out(case)
    weight = weight if weighted else None
    assert type(pruned) is type(forest)
    # It is within the tolerance.
    score = forest.score(table, y, weight)
    assert pruned.score(table, y, weight) >= score - tolerance
    # It is one of its path, which starts with the whole forest.
    path = pd.DataFrame(pruned.pruning_path_)
    sizes = ["n_trees", "n_leaves", "nbytes"]
    trees = [tree.tree_ for tree in pruned.estimators_]
    own = (len(trees), sum(tree.n_leaves for tree in trees), sum(tree.nbytes for tree in trees))
    row = path[(path[sizes].to_numpy() == own).all(axis=1)].iloc[0]
    assert row["score"] == pytest.approx(pruned.score(table, y, weight), abs=1e-12)
    assert path["score"][0] == path["cv_score"][0] == pytest.approx(score, abs=1e-12)
    assert path["n_trees"][0] == len(forest.estimators_)
    assert (path[sizes].diff()[1:] <= 0).all(axis=None)
    assert (path["alpha"].diff()[1:] > 0).all()
    # All before it are within the tolerance, with a margin, and the next one is not.
    path["sure"] = path["cv_score"] - N_STANDARD_ERRORS * path["cv_error"]
    is_within = (path[["score", "sure"]] >= score - tolerance).all(axis=1)
    assert is_within[:row.name].all()
    assert not is_within[row.name + 1:row.name + 2].any()
    # It predicts the mean of its trees.
    predict = getattr(pruned, "predict_proba", pruned.predict)
    assert_allclose(predict(table), mean_of_trees(pruned, table), rtol=1e-9)


def test_a_loss_above_the_tolerance_passes_once_in_twenty_times():
    random, n, n_runs = np.random.default_rng(0), 1000, 400
    losses, disagree = np.linspace(0.0, 0.04, 9), np.linspace(0.0, 0.1, 9)
    n_above = {N_STANDARD_ERRORS: 0, 0.0: 0}
    for _ in range(n_runs):
        # What each sample of each forest of the path loses: 1, 0 or -1.
        draw = random.random((n, 1))
        lost = (draw < (disagree + losses) / 2).astype(float) - (draw > 1 - (disagree - losses) / 2)
        path = [PathStep(loss, 0.0, 1, 1, 1, 1.0, 1.0 - each.mean(), each.std(ddof=1) / np.sqrt(n))
                for loss, each in zip(losses, lost.T, strict=True)]
        for n_errors in n_above:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(_forest, "N_STANDARD_ERRORS", n_errors)
                n_above[n_errors] += _forest.last_within(path, 0.019).members > 0.019
    assert n_above[0.0] > 0.2 * n_runs
    assert n_above[N_STANDARD_ERRORS] < 0.05 * n_runs + 3 * np.sqrt(0.05 * n_runs)


@pytest.mark.parametrize("is_classifier", [True, False])
def test_the_standard_error_is_that_of_the_paired_difference(is_classifier):
    random = np.random.default_rng(0)
    y = np.eye(2)[random.integers(0, 2, 50)] if is_classifier else random.normal(size=(50, 2))
    one, other = y + random.normal(size=(2, 50, 2))
    weight = np.where(np.arange(50) < 40, 3.0, 0.0)
    one[40:] = 1e200    # whose square overflows
    scale = np.ones(2) if is_classifier else y[:40].std(axis=0)
    samples = HeldOut(None, y, weight, np.zeros(2), scale, is_classifier)
    if is_classifier:
        right = [(each.argmax(axis=1) == y.argmax(axis=1))[:40] * 1.0 for each in (one, other)]
    else:
        right = [1.0 - (((each - y)[:40] / scale) ** 2).mean(axis=1) for each in (one, other)]
    difference = right[0] - right[1]
    assert samples.score(one) - samples.score(other) == pytest.approx(difference.mean())
    assert samples.standard_error(one, other) == pytest.approx(
        difference.std(ddof=1) / np.sqrt(40))
    assert samples.standard_error(one, one) == 0.0


@FEW
def test_more_tolerance_gives_smaller_forests(case):
    found = [pruned_with(case, each) for each in (0.0, 0.2, 10.0)]
    sizes = [sum(tree.tree_.nbytes for tree in each.estimators_) for each in found]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[1] < sizes[0]
    assert found[-1].n_estimators == len(found[-1].estimators_) == 1
    assert found[-1].estimators_[0].get_n_leaves() == 1


@FEW
def test_the_same_forest_each_time(case):
    table, y, weight = held_out(case)
    one = pruned_with(case, 0.02, True)
    other = prune_forest(deepcopy(fitted(case)).set_params(n_jobs=2), table, y, tol=0.02,
                         sample_weight=weight)
    assert one.pruning_path_ == other.pruning_path_
    assert [tree.tree_ for tree in one.estimators_] == [tree.tree_ for tree in other.estimators_]


@FEW
def test_samples_of_weight_zero_do_not_count(case):
    table, y, weight = held_out(case)
    used = weight > 0
    changed = table.copy()
    changed[~used] = changed[~used].to_numpy()[::-1] if hasattr(table, "iloc") else 1e3
    one = prune_forest(fitted(case), changed, y, tol=0.01, sample_weight=weight)
    other = prune_forest(
        fitted(case), table[used], y[used], tol=0.01, sample_weight=weight[used])
    assert pd.DataFrame(one.pruning_path_).to_numpy() == pytest.approx(
        pd.DataFrame(other.pruning_path_).to_numpy(), nan_ok=True)


# --- the two steps --------------------------------------------------------------------------------


def error_of(predictions, samples):
    """Brier score, or mean over the targets of the squared error in units of their variance."""
    y, weight = samples.y, samples.weight
    squares = np.average((predictions - y) ** 2, axis=0, weights=weight)
    if samples.is_classifier:
        return squares.sum()
    variance = np.average((y - np.average(y, axis=0, weights=weight)) ** 2, axis=0, weights=weight)
    assert 1.0 - np.mean(squares / variance) == pytest.approx(
        r2_score(y, predictions, sample_weight=weight))
    return np.mean(squares / variance)


@SOME
@pytest.mark.parametrize("alpha", [0.0, 1e-3, 0.5])
def test_trees_are_dropped_by_the_error_from_scratch(case, alpha, monkeypatch):
    monkeypatch.setattr(
        "ngdt.pruning._forest.beyond_chance", lambda change: change.sum(axis=1))
    members, samples = fitted(case)._pruning_input(*held_out(case))

    def cost(kept):
        return error_of(mean_prediction(kept), samples) + alpha * sum(
            member.tree.n_leaves for member in kept)

    expected = members
    while len(expected) > 1:
        without = [[*expected[:t], *expected[t + 1:]] for t in range(len(expected))]
        best = min(without, key=cost)
        if cost(best) >= cost(expected):
            break
        expected = best
    assert [each.place for each in drop(members, alpha, samples)] == [
        each.place for each in expected]


def subtrees(tree):
    """All sets of nodes that may be turned into leaves."""
    for is_leaf in product([False, True], repeat=tree.n_internal):
        yield np.array(is_leaf, dtype=bool)


@SOME
@pytest.mark.parametrize("alpha", [1e-6, 1e-3, 0.5])
def test_no_subtree_is_better_while_the_other_trees_stay(case, alpha):
    members, samples = fitted(case, max_leaf_nodes=5)._pruning_input(*held_out(case))
    found = prune(members, alpha, samples)
    for t, (before, after) in enumerate(zip(members, found, strict=True)):
        def cost(member, t=t):
            mean = mean_prediction([*found[:t], member, *members[t + 1:]])
            return error_of(mean, samples) + alpha * member.tree.n_leaves

        others = [before._collapsed(
            is_leaf, node_means(before.tree, before.means, before.counts), samples)
                  for is_leaf in subtrees(before.tree)]
        assert cost(after) == pytest.approx(min(map(cost, others)), rel=1e-9)
        # What is known of the smaller tree is true.
        leaf = after.tree.apply_samples(samples.data)
        assert_array_equal(after.leaf, leaf)
        assert_allclose(after.predictions, samples.predict(after.tree, leaf))


def test_differences_by_chance_are_not_believed():
    random = np.random.default_rng(0)
    noise = random.normal(1.0, 1.0, (20, 500))
    total = noise.sum(axis=1)
    believed = beyond_chance(noise)
    assert believed.mean() == pytest.approx(total.mean())
    assert np.ptp(believed) < 0.5 * np.ptp(total)
    # What differs by more is believed, and the order stays.
    clear = noise + np.linspace(0, 20, 20)[random.permutation(20), None]
    believed = beyond_chance(clear)
    assert_allclose(believed, clear.sum(axis=1), atol=0.01 * np.ptp(believed))
    assert_array_equal(believed.argsort(), clear.sum(axis=1).argsort())
    assert_array_equal(beyond_chance(np.ones((3, 4))), [4.0, 4.0, 4.0])


# --- what a pruned forest says of itself ----------------------------------------------------------


@SOME
def test_fitted_attributes_are_those_of_the_training_samples(case):
    table, y = (each[FIRST] for each in CASES[case][2:])
    forest, pruned = pruned_without_draws(case)
    encoded, samples = forest.encode(table), np.arange(150, dtype=np.int32)
    data, moments = Samples(encoded), Moments.of(encoded, np.ones(150))
    problem, _ = forest._checked_problem(table, y, None, True)
    assert any(each not in forest.estimators_ for each in pruned.estimators_)
    for estimator in pruned.estimators_:
        tree = estimator.tree_
        n_at_leaf = np.bincount(estimator.apply(table), minlength=tree.n_leaves)
        assert_array_equal(estimator.n_node_samples_, sums_below(tree, n_at_leaf))
        trained = forest._targets.scale_leaf_values(tree, problem.loss)
        gains = node_gains(
            tree, LeafTargets.of(problem, estimator.apply(table), samples),
            problem.predictions(trained, samples))
        assert_allclose(estimator.feature_importances_, feature_importances(
            tree, forest._table, moments.mean, moments.std, gains), atol=1e-9)
        summary = SampleSummary.of(tree, encoded, data, samples, moments)
        assert estimator._sample_summary.tree is tree
        for name in ("left", "right", "std", "leaf_means"):
            expected, found = getattr(summary, name), getattr(estimator._sample_summary, name)
            assert (expected is None) == (found is None)
            if expected is not None:
                assert_allclose(found, expected, atol=1e-12)
        assert export_text(estimator)
    assert_allclose(pruned.feature_importances_, np.mean(
        [each.feature_importances_ for each in pruned.estimators_], axis=0))


@pytest.mark.parametrize("case", ["classes", "values", "two targets"])
def test_a_new_leaf_predicts_the_mean_of_its_training_samples(case):
    table = CASES[case][2][FIRST]
    forest, pruned = pruned_without_draws(case)
    for after in pruned.estimators_:
        (before,) = [each for each in forest.estimators_ if each.random_state == after.random_state]
        predict = "predict_proba" if hasattr(before, "predict_proba") else "predict"
        old, new = (getattr(each, predict)(table) for each in (before, after))
        leaf = after.apply(table)
        for each in range(after.get_n_leaves()):
            assert_allclose(new[leaf == each][0], old[leaf == each].mean(axis=0), rtol=1e-9)


def test_quantiles_are_those_of_the_training_targets():
    table, y = X[FIRST], TARGETS[FIRST, 0]
    _, pruned = pruned_without_draws("values")
    quantiles = [0.0, 0.3, 0.5, 1.0]
    for estimator in pruned.estimators_:
        leaf = estimator.apply(table)
        for each in range(estimator.get_n_leaves()):
            expected = np.quantile(y[leaf == each], quantiles, method="averaged_inverted_cdf")
            assert_allclose(
                estimator.predict_quantiles(table[leaf == each][:1], quantiles)[0], expected)
    assert np.diff(pruned.predict_quantiles(table, quantiles), axis=1).min() >= 0


def test_merged_quantiles_are_those_of_weighted_samples():
    table, y = X[FIRST], TARGETS[FIRST, 0]
    weight = np.random.default_rng(0).integers(0, 5, len(y))
    forest = ObliqueForestRegressor(4, **COMMON, bootstrap=False).fit(table, y, weight)
    pruned = prune_forest(forest, X[REST], TARGETS[REST, 0], tol=0.2)
    assert pruned.get_nbytes() < forest.get_nbytes()
    for estimator in pruned.estimators_:
        leaf = estimator.apply(table)
        for each in range(estimator.get_n_leaves()):
            here = leaf == each
            expected = np.quantile(
                y[here].repeat(weight[here]), [0.3, 0.7], method="averaged_inverted_cdf")
            assert_allclose(estimator.predict_quantiles(table[here][:1], [0.3, 0.7])[0], expected)


@pytest.mark.parametrize("case", ["two targets", "linear values"])
def test_quantiles_of_what_is_not_constant(case):
    table, y, _ = held_out(case)
    found = prune_forest(fitted(case, 3), table, y, tol=0.2).predict_quantiles(
        table, [0.0, 0.5, 1.0])
    assert found.shape == (150, 3, 2)
    assert (np.diff(found, axis=1) >= 0).all()
    assert r2_score(y, found[:, 1]) > 0.2


def test_a_pruned_forest_is_as_any_other():
    kind, own, table, y = CASES["table"]
    forest = kind(6, **COMMON | own, bootstrap=False, max_samples=0.4, oob_score=True)
    forest.fit(table[FIRST], y[FIRST])
    pruned = prune_forest(forest, table[REST], y[REST], tol=0.05)
    assert not hasattr(pruned, "oob_score_")
    assert not hasattr(pruned, "oob_decision_function_")
    assert forest.oob_score_ > 0.5
    for copy in (pickle.loads(pickle.dumps(pruned)), deepcopy(pruned)):
        assert_array_equal(copy.predict_proba(table), pruned.predict_proba(table))
        assert copy.pruning_path_ == pruned.pruning_path_
    # It can be pruned again.
    again = prune_forest(copy, table[REST], y[REST], tol=0.05)
    assert again.get_nbytes() <= pruned.get_nbytes()
    assert pruned.apply(table).shape == (300, pruned.n_estimators)
    # Trees can be added, and it can be trained anew.
    pruned.set_params(oob_score=False)
    more = deepcopy(pruned).set_params(warm_start=True, n_estimators=pruned.n_estimators + 2)
    assert len(more.fit(table[FIRST], y[FIRST]).estimators_) == pruned.n_estimators + 2
    assert not hasattr(more, "pruning_path_")
    assert len({tree.random_state for tree in more.estimators_}) == len(more.estimators_)
    assert len(clone(pruned).fit(table[FIRST], y[FIRST]).estimators_) == pruned.n_estimators


def test_extreme_units():
    for unit in (1e-200, 1e150):
        y = unit * TARGETS[:, 0]
        forest = ObliqueForestRegressor(2, **COMMON).fit(X[FIRST], y[FIRST])
        pruned = prune_forest(forest, X[REST], y[REST], tol=0.2)
        assert pruned.get_nbytes() < forest.get_nbytes()


def test_samples_of_one_class_or_value():
    for case in ("classes", "values"):
        table, y, _ = held_out(case)
        same = y == "b" if case == "classes" else np.arange(150) < 50
        y = y[same] if case == "classes" else np.full(50, y.mean())
        pruned = prune_forest(fitted(case), table[same], y, tol=1.0)
        assert pruned.predict(table).shape == (150,)


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("case", "change", "error", "message"), [
    ("classes", {"tol": -0.1}, ValueError, "tol must not be negative, got -0.1"),
    ("classes", {"tol": np.nan}, ValueError, "tol must not be negative, got nan"),
    ("classes", {"tol": "little"}, TypeError, "tol must be a number, got str"),
    ("classes", {"X": X[REST, :3]}, ValueError, "X has 3 features"),
    ("table", {"X": TABLE[REST].drop(columns="b")}, ValueError, "feature names should match"),
    ("classes", {"y": LABELS[:20]}, ValueError, "y has 20 samples, but X has 150"),
    ("classes", {"y": np.repeat("d", 150)}, ValueError, r"y contains the labels \['d'\]"),
    ("classes", {"y": None}, ValueError, "requires y to be passed"),
    ("values", {"y": TARGETS[REST]}, ValueError, "y has 2 targets, .* trained on 1"),
    ("two targets", {"y": TARGETS[REST, 0]}, ValueError, "y has 1 targets, .* trained on 2"),
    ("values", {"X": X[:1], "y": TARGETS[:1, 0]}, ValueError, "y must have at least two samples"),
    ("classes", {"X": X[:1], "y": LABELS[:1]}, ValueError, "y must have at least two samples"),
    ("classes", {"sample_weight": np.zeros(150)}, ValueError, "sample_weight must not be zero"),
    ("classes", {"sample_weight": np.ones(3)}, ValueError, "sample_weight must have shape"),
    ("classes", {"forest": ObliqueForestClassifier()}, NotFittedError, "not fitted"),
    ("classes", {"forest": DecisionTreeClassifier()}, TypeError,
     "forest must be an ObliqueForestClassifier or ObliqueForestRegressor, got DecisionTree"),
])
def test_bad_arguments(case, change, error, message):
    table, y, _ = held_out(case)
    arguments = {"forest": fitted(case), "X": table, "y": y} | change
    with pytest.raises(error, match=message):
        prune_forest(
            arguments.pop("forest"), arguments.pop("X"), arguments.pop("y"), **arguments)


def test_trees_that_were_replaced():
    forest = deepcopy(fitted("classes"))
    tree = forest.estimators_[1].tree_
    forest.estimators_[1].tree_ = collapse(tree, np.ones(tree.n_internal, dtype=bool))
    with pytest.raises(ValueError, match=r"estimators_\[1\]: tree_ was replaced"):
        prune_forest(forest, X[REST], LABELS[REST])


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_targets_of_any_size(size):
    X, y = np.array([[0.0], [1.0]]), size * np.array([1.0, -1.0])
    single = ObliqueForestRegressor(1, optimizer=None, max_depth=0).fit(X, [0.0, 0.0])
    pruned = prune_forest(single, X, y, tol=0.1)
    assert pruned.pruning_path_["score"] == [0.0]
    assert pruned.predict(X).tolist() == [0.0, 0.0]


def test_targets_of_samples_without_weight_do_not_count():
    X, y = np.arange(6.0)[:, None], np.array([1.0, 2.0, 3.0, 1e200, -1e200, 5e-324])
    forest = ObliqueForestRegressor(3, optimizer=None, random_state=0).fit(X[:3], y[:3])
    path = prune_forest(forest, X, y, sample_weight=[1, 1, 1, 0, 0, 0]).pruning_path_
    assert path["score"][0] == pytest.approx(forest.score(X[:3], y[:3]))
    with pytest.raises(ValueError, match="at least two samples of positive weight"):
        prune_forest(forest, X, y, sample_weight=np.eye(6)[0])
