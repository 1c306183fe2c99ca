"""Groups of samples, of which all or none are held out."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import GroupKFold, cross_val_score

from helpers import make_problem
from ngdt import (
    ObliqueBoostingRegressor,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
)
from ngdt._forest import policy, trial
from ngdt._methods.linear_leaves.linear_leaves import _splits
from ngdt._training import folds
from ngdt._training.folds import (
    fold_samples,
    hold_out,
    numbered_groups,
    problem_of,
    pruning_folds,
    strata_of,
)
from ngdt.optimizers import SSGD

CANCER, DIABETES = (load(return_X_y=True) for load in (load_breast_cancer, load_diabetes))


@st.composite
def grouped_problems(draw):
    """Problems of few groups or of many, of classes or of numbers, some samples without weight."""
    n = draw(st.integers(7, 60))
    random = np.random.default_rng(draw(st.integers(0, 2**16)))
    groups = random.integers(0, draw(st.sampled_from([2, 3, 8, 200])), n)
    y = random.integers(0, draw(st.integers(1, 3)), n)
    weight = random.choice([0.0, 1.0, 3.0], n, p=[0.2, 0.4, 0.4])
    weight[:2] = 1.0
    loss, y = draw(st.sampled_from([("log_loss", y), ("squared_error", random.normal(size=n))]))
    return make_problem(random.normal(size=(n, 2)), y, loss, weight, groups=groups,
                        random_state=draw(st.integers(0, 9)))


@given(grouped_problems(), st.sampled_from([fold_samples, pruning_folds]))
def test_a_fold_has_all_samples_of_a_group_or_none(problem, divide):
    groups, every = problem.groups, problem.training_samples
    found = divide(problem)
    n_groups = len(np.unique(groups[every]))
    assert len(found) == (min(folds.N_FOLDS, n_groups) if n_groups > 1 else 0)
    if found:
        np.testing.assert_array_equal(np.sort(np.concatenate(found)), every)
    for test in found:
        assert len(test)
        assert not np.isin(groups[np.setdiff1d(every, test)], groups[test]).any()


@given(grouped_problems(), st.sampled_from([0.1, 0.5, 0.9]))
def test_held_out_groups_are_held_out_as_a_whole(problem, fraction):
    groups, weight = problem.groups, problem.sample_weight
    training, validation = hold_out(
        weight, fraction, strata_of(problem), problem.random_state, groups)
    assert training.any()
    if validation is None:
        assert len(np.unique(groups[weight > 0])) == 1
        return
    np.testing.assert_array_equal(training + validation, weight)
    assert not np.isin(groups[training > 0], groups[validation > 0]).any()


@given(grouped_problems())
def test_groups_of_one_sample_are_divided_as_samples_are(problem):
    n = len(problem.y)
    alone = problem.replace(groups=np.arange(n))
    free = problem.replace(groups=None)
    for divide in (fold_samples, pruning_folds):
        if len(free.training_samples) >= 2 * folds.N_FOLDS:
            for one, other in zip(divide(alone), divide(free), strict=True):
                np.testing.assert_array_equal(one, other)
    labels = strata_of(problem)
    one, other = (hold_out(problem.sample_weight, 0.3, labels, 1, each.groups)[1]
                  for each in (alone, free))
    if other is not None:
        np.testing.assert_array_equal(one, other)


@given(grouped_problems())
def test_leaves_choose_their_penalty_on_other_groups(problem):
    for training, test, weight in _splits(problem):
        np.testing.assert_array_equal(weight, problem.sample_weight[test])
        assert len(test)
        assert not np.isin(problem.groups[training], problem.groups[test]).any()


@given(st.lists(st.integers(0, 5), min_size=1), st.booleans())
def test_groups_are_numbered_in_the_order_in_which_they_come(groups, is_grouped):
    n = len(groups)
    problem = make_problem(np.zeros((n, 1)), np.zeros(n, int), n_outputs=1,
                           groups=np.array(groups) if is_grouped else None)
    seen = list(dict.fromkeys(groups if is_grouped else range(n)))
    assert numbered_groups(problem, np.arange(n)).tolist() == [
        seen.index(each) for each in (groups if is_grouped else range(n))]


def test_samples_keep_their_groups_in_a_part_of_a_problem():
    problem = make_problem(np.zeros((4, 1)), [0, 1, 0, 1], groups=np.array([2, 0, 1, 2]))
    assert problem_of(problem, np.array([3, 1])).groups.tolist() == [2, 0]


def test_rare_classes_and_large_groups_are_spread_over_the_folds():
    groups = np.repeat(np.arange(60), [*[40] * 6, *[4] * 54])
    y = np.zeros(len(groups), int)
    y[np.isin(groups, [0, 1, 2, 20, 21, 22]) & (np.arange(len(groups)) % 4 == 0)] = 1
    for seed in range(5):
        found = fold_samples(make_problem(
            np.zeros((len(y), 1)), y, groups=groups, random_state=seed))
        assert {np.isin([0, 1, 2], groups[test]).sum() for test in found} == {1}
        assert {np.isin([20, 21, 22], groups[test]).sum() for test in found} == {1}
        assert np.ptp([len(test) for test in found]) <= 40


@pytest.mark.parametrize(("model", "data"), [
    (ObliqueTreeClassifier(max_depth=3, random_state=0), CANCER),
    (ObliqueTreeClassifier(max_depth=3, validation_fraction=0.3, random_state=0), CANCER),
    (ObliqueTreeClassifier(3, optimizer=SSGD(epochs=5), random_state=0), CANCER),
    (ObliqueTreeClassifier(init="pruned", optimizer=None, random_state=0), CANCER),
    (ObliqueTreeRegressor(random_state=0, leaf="linear"), DIABETES),
    (ObliqueTreeRegressor(init="info_gain", optimizer="tao", leaf="linear", max_depth=3,
                          random_state=0), DIABETES),
], ids=["default", "fraction", "ssgd", "pruned", "linear", "tao"])
def test_groups_of_one_sample_change_no_tree(model, data):
    X, y = data[0][:150, :10], data[1][:150]
    assert model.fit(X, y).tree_ == model.fit(X, y, groups=np.arange(150)).tree_


@pytest.mark.usefixtures("few_trial_trees")
def test_groups_of_one_sample_change_no_forest():
    X, y = (each[:200] for each in DIABETES)
    model = ObliqueForestRegressor(8, max_samples=0.4, oob_score=True, random_state=0)
    one = model.fit(X, y)
    trees, score, samples = one._trees(), one.oob_score_, one.estimators_samples_
    other = model.fit(X, y, groups=np.arange(len(y)))
    assert trees == other._trees()
    assert score == other.oob_score_
    np.testing.assert_array_equal(samples, other.estimators_samples_)


def noise(n_groups, n_copies, *, is_class=True):
    """Groups of almost the same samples, of which each has a label or number by chance."""
    random = np.random.default_rng(0)
    groups = np.repeat(np.arange(n_groups), n_copies)
    X = random.normal(size=(n_groups, 3))[groups] + 1e-3 * random.normal(size=(len(groups), 3))
    y = random.integers(0, 2, n_groups) if is_class else random.normal(size=n_groups)
    return X, y[groups], groups


@pytest.mark.parametrize("is_class", [True, False])
def test_what_groups_share_is_not_taken_for_a_rule(is_class):
    X, y, groups = noise(100, 3, is_class=is_class)     # of fewer groups, some rules hold by chance
    model = (ObliqueTreeClassifier if is_class else ObliqueTreeRegressor)(random_state=0)
    assert model.fit(X, y).score(X, y) > 0.8        # each group is learned by heart
    with pytest.warns(UserWarning, match="No tree was better than a single leaf"):
        model.fit(X, y, groups=groups)
    assert model.get_n_leaves() == 1


def test_labels_of_groups_without_an_order_are_refused():
    X, y = np.eye(4), np.arange(4) % 2
    for groups, types in ((["a", None, "b", "b"], "NoneType and str"),
                          ([1, "1", 2, "2"], "int and str")):    # not two groups
        with pytest.raises(TypeError, match=f"^groups: labels of type {types} .* to strings"):
            ObliqueTreeClassifier().fit(X, y, groups=groups)


def test_groups_of_any_labels_are_the_same():
    X, y, groups = noise(30, 4)
    y = (X[:, 0] > 0).astype(int)
    model = ObliqueTreeClassifier(random_state=0)
    tree = model.fit(X, y, groups=groups).tree_
    for labels in (groups + 7, [f"customer {each:03}" for each in groups],
                   groups.astype(float).tolist()):
        assert model.fit(X, y, groups=labels).tree_ == tree


@pytest.mark.parametrize("model", [
    ObliqueTreeClassifier(max_depth=3, random_state=0),
    ObliqueTreeClassifier(max_depth=3, random_state=0, validation_fraction=0.4),
    ObliqueTreeClassifier(3, optimizer=SSGD(epochs=5), random_state=0),
    ObliqueTreeClassifier(3, optimizer=SSGD(epochs=5), random_state=0, validation_fraction=0.5),
], ids=["default", "fraction", "ssgd", "ssgd, fraction"])
@pytest.mark.parametrize("n_groups", [2, 3, 40])
def test_no_tree_is_tested_on_groups_that_it_was_trained_on(model, n_groups, monkeypatch):
    X, y = CANCER[0][:200, :10], CANCER[1][:200]
    groups = np.random.default_rng(1).integers(0, n_groups, len(y))
    seen = []

    def spy(problem, tree, samples, weight):
        training, tested = problem.groups[problem.training_samples], problem.groups[samples]
        if not np.array_equal(problem.training_samples, samples):   # the loss after training
            validation = problem.groups[problem.validation_samples]
            for one, other in combinations([training, tested, validation], 2):
                assert not np.isin(one, other).any()
            seen.append(tested)
        return of_tree(problem, tree, samples, weight)

    of_tree = folds.Score.of_tree
    monkeypatch.setattr(folds.Score, "of_tree", spy)
    model.fit(X, y, groups=groups)
    # A named method that has validation samples is compared with nothing.
    assert seen or (model.validation_fraction != "auto" and model.optimizer != "auto")


@pytest.mark.usefixtures("few_trial_trees")
def test_kinds_of_trees_are_compared_on_groups_that_none_has_seen(monkeypatch):
    X, y = CANCER[0][::4, :8], CANCER[1][::4]
    groups = np.random.default_rng(1).integers(0, 9, len(y))
    seen = []

    def spy(errors, outside, *args):
        seen.extend(outside)
        np.testing.assert_array_equal(args[-1], groups)
        return error_models(errors, outside, *args)

    error_models = trial.error_models
    monkeypatch.setattr(trial, "error_models", spy)
    ObliqueForestClassifier(policy.MIN_TREES, random_state=0).fit(X, y, groups=groups)
    assert len(seen) > 1
    for outside in seen:
        assert outside.any()
        assert not np.isin(groups[outside], groups[~outside]).any()


def test_errors_of_a_group_count_as_one(monkeypatch):
    groups = np.array([3, 3, 1, 1, 1, 0])
    problem = make_problem(np.zeros((6, 1)), np.zeros(6, int), n_outputs=2, groups=groups)
    fold = folds.Fold(problem, np.arange(6, dtype=np.int32), np.arange(6.0))
    assert fold.sums(fold.weight) is fold.weight        # of too few groups
    monkeypatch.setattr(folds, "MIN_GROUPS", 3)
    assert fold.sums(fold.weight).tolist() == [1.0, 9.0, 5.0]
    assert folds.Fold(problem.replace(groups=None), fold.samples, fold.weight).sums(
        fold.weight) is fold.weight


@pytest.mark.parametrize("max_samples", [None, 0.5])
@pytest.mark.parametrize("bootstrap", [True, False])
def test_trees_of_a_forest_draw_groups(bootstrap, max_samples):
    X, y, groups = noise(40, 5)
    model = ObliqueForestClassifier(
        20, init="random_oblique", optimizer=None, bootstrap=bootstrap, max_samples=max_samples,
        random_state=0).fit(X, y, groups=groups)
    counts = [tree._n_node_samples[tree.tree_.n_internal:].sum() for tree in model]
    n_drawn = 200 if max_samples is None else 100
    assert all(each % 5 == 0 for each in counts)
    assert (max(counts) < n_drawn) == bootstrap
    with pytest.raises(AttributeError, match="without max_time, warm_start and groups"):
        _ = model.estimators_samples_


def test_the_out_of_bag_score_is_that_of_new_groups():
    X, y, groups = noise(60, 10)
    model = ObliqueForestClassifier(30, init="info_gain", optimizer=None, oob_score=True,
                                    random_state=0)
    assert model.fit(X, y).oob_score_ > 0.9
    assert model.fit(X, y, groups=groups).oob_score_ < 0.65


def test_boosting_passes_groups_on():
    X, y, groups = noise(60, 10, is_class=False)
    forest = ObliqueForestRegressor(20, init="info_gain", optimizer=None)
    model = ObliqueBoostingRegressor(forest, random_state=0)
    assert model.fit(X, y).oob_errors_[0] < 0.3 * np.var(y)
    assert model.fit(X, y, groups=groups).oob_errors_[0] > 0.7 * np.var(y)


def test_boosting_on_residuals_of_one_group_only():
    X, y, groups = noise(2, 10, is_class=False)
    forest = ObliqueForestRegressor(4, init="info_gain", optimizer=None)
    found = [len(ObliqueBoostingRegressor(forest, random_state=seed).fit(
        X, y, groups=groups).estimators_) for seed in range(8)]
    assert 1 in found


def test_more_groups_than_there_are():
    X, y, groups = noise(4, 5)
    with pytest.raises(ValueError, match="max_samples=6 is more than 4, the most samples"):
        ObliqueForestClassifier(2, max_samples=6).fit(X, y, groups=groups)


def test_samples_of_groups_of_one_sample_are_not_those_of_samples():
    X, y, _ = noise(40, 1)
    model = ObliqueForestClassifier(3, init="info_gain", optimizer=None, bootstrap=True,
                                    random_state=0).fit(X, y, groups=np.arange(40)[::-1])
    with pytest.raises(AttributeError, match="without max_time, warm_start and groups"):
        _ = model.estimators_samples_


@pytest.mark.parametrize("size", [1, 5])
def test_trees_that_drew_other_groups_predict_no_sample_out_of_bag(size):
    X, y, groups = noise(40, size)
    model = ObliqueForestClassifier(20, init="info_gain", optimizer=None, oob_score=True,
                                    warm_start=True, random_state=0)
    model.fit(X, y, groups=None if size == 1 else np.arange(40 * size) % 40)
    model.set_params(n_estimators=21)
    with pytest.warns(UserWarning, match="have no out-of-bag prediction"):
        model.fit(X, y, groups=groups[::-1])
    assert np.isnan(model.oob_decision_function_).any()
    model.set_params(n_estimators=60).fit(X, y, groups=groups[::-1])
    assert not np.isnan(model.oob_decision_function_).any()     # of trees that drew the same ones


def test_a_trial_of_samples_of_one_group_only(monkeypatch):
    monkeypatch.setattr(policy, "MAX_TRIAL_SAMPLES", 20)
    X, y, groups = noise(60, 1)
    model = ObliqueForestClassifier(8, random_state=0).fit(X, y, groups=groups == 7)
    table = model.candidates_
    assert [name for name, share in zip(table["candidate"], table["share"], strict=True)
            if share] == table["candidate"][:1]
    assert np.isnan(table["error"]).all()


def test_searches_of_scikit_learn_pass_groups_on():
    X, y, groups = noise(60, 10)
    seen = []

    class Tree(ObliqueTreeClassifier):
        def fit(self, X, y, sample_weight=None, *, groups=None):
            seen.append(groups)
            return super().fit(X, y, sample_weight, groups=groups)

    with config_context(enable_metadata_routing=True):
        tree = Tree(max_depth=2, random_state=0).set_fit_request(groups=True)
        with pytest.warns(UserWarning, match="No tree was better"):
            cross_val_score(tree, X, y, cv=GroupKFold(3), params={"groups": groups})
    assert [len(each) for each in seen] == [400] * 3
    assert [len(np.unique(each)) for each in seen] == [40] * 3


def test_large_labels_of_nullable_types_are_not_merged():
    pd = pytest.importorskip("pandas")
    X, _, groups = noise(30, 4)
    large = pd.Series(groups + 2**60, dtype="Int64")
    model = ObliqueTreeClassifier(optimizer="ssgd", random_state=0)
    one, other = (clone(model).fit(X, X[:, 0] > 0, groups=each) for each in (groups, large))
    assert one.tree_ == other.tree_


@pytest.mark.parametrize(("groups", "message"), [
    (np.zeros(6, int), r"^groups has one group only, 0, so that none can be held out"),
    ([1, 1, 1, 1, 1, 2], "^groups has one group only, 1,"),      # the last has no weight
    ([1, 2], r"groups: expected one group per sample, of shape \(6,\), got \(2,\)"),
    (np.ones((6, 1)), r"groups: expected one group per sample, of shape \(6,\), got \(6, 1\)"),
    ([1.0, np.nan, 1.0, 2.0, 2.0, 2.0], "groups: Input groups contains NaN"),
    (["a", None, "a", "b", "b", "b"], "groups"),
    (np.array([1, "a", 1, 2, 2, 2], dtype=object), "^groups: labels of type int and str"),
    (["a", np.nan, "a", "b", "b", "b"], "^groups: Input contains NaN"),
    (np.ma.array([1, 2, 3, 4, 5, 6], mask=[1, 0, 0, 0, 0, 0]), "groups is an array with masked"),
])
@pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueForestRegressor])
def test_wrong_groups(estimator, groups, message):
    X, y, weight = np.arange(12.0).reshape(6, 2), [0, 1] * 3, [1, 1, 1, 1, 1, 0]
    with pytest.raises((ValueError, TypeError), match=message):
        estimator().fit(X, y, weight, groups=groups)


def test_a_checkpoint_is_of_the_same_groups(tmp_path):
    X, y, groups = noise(30, 4)
    y = (X[:, 0] > 0).astype(int)

    def interrupt(metrics):
        raise RuntimeError("killed")

    model = ObliqueTreeClassifier(3, init="info_gain", optimizer=SSGD(epochs=3), random_state=0,
                                  checkpoint=tmp_path / "file", callback=interrupt)
    with pytest.raises(RuntimeError, match="killed"):
        model.fit(X, y, groups=groups)
    if (tmp_path / "file").exists():
        with pytest.raises(ValueError, match="groups"):
            model.set_params(callback=None).fit(X, y, groups=groups // 2)
