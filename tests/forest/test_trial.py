"""The kinds of trees that compete by default, and the error that is estimated for forests of them.
"""

import warnings
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

import ngdt._forest.base
import ngdt._forest.trial
from helpers import in_nightly, make_problem
from ngdt import ObliqueForestClassifier, ObliqueForestRegressor
from ngdt._forest import policy
from ngdt._forest.candidates import forest_candidates
from ngdt._forest.sampling import Sampling
from ngdt._forest.trial import _in_proportion, error_models, errors_of, mean_best_counts
from ngdt._selection.candidates import Leaves
from ngdt._selection.train import Candidate
from ngdt.initializers import InfoGain, ModelTree, RandomComplete, RandomOblique
from ngdt.optimizers import SSGD, TAO, Annealed, LinearLeaves, Optimizer, OptimizerResult

BOTH = pytest.mark.parametrize("forest", [ObliqueForestClassifier, ObliqueForestRegressor])


def random_case(seed, n_kinds=3, n_trees=4, n=30):
    random = np.random.default_rng(seed)
    level = random.normal(size=(n_kinds, 1, n, 2))     # what the trees of a kind share
    errors = level + random.normal(size=(n_kinds, n_trees, n, 2))
    return errors, random.random((n_trees, n)) < 0.5, random.random(n)


def error_model(errors, outside, weight, n_parts=1):
    (model,) = error_models(errors, outside, weight, np.ones((1, n_parts)))
    return model


# --- the error model -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_products_are_means_over_pairs_of_trees(seed):
    errors, outside, weight = random_case(seed)
    model = error_model(errors, outside, weight, 4)
    for i, j in product(range(3), repeat=2):
        total = pairs = square = single = 0.0
        for s, t, sample in product(range(4), range(4), range(30)):
            if outside[s, sample] and outside[t, sample]:
                value = weight[sample] * errors[i, s, sample] @ errors[j, t, sample]
                if s != t:
                    total += value
                    pairs += weight[sample]
                elif i == j:
                    square += value
                    single += weight[sample]
        assert model.products[i, j] == pytest.approx(total / pairs)
        if i == j:
            assert model.spread[i] == pytest.approx(square / single - total / pairs)


def test_the_estimate_is_exact_for_the_trees_that_there_are():
    errors, outside, weight = random_case(0, n_kinds=1)
    everywhere = np.ones_like(outside)
    model = error_model(errors, everywhere, weight)
    mean = errors[0].mean(axis=0)
    exact = (weight @ (mean**2).sum(axis=1)) / weight.sum()
    assert model.error(np.array([4])) == pytest.approx(exact)


def test_the_estimate_of_many_trees_of_two_kinds():
    # Trees of few samples tell the error of forests that are much larger.
    random = np.random.default_rng(0)
    level = random.normal(size=(2, 1, 4000, 1))
    errors = level + np.array([0.5, 1.5])[:, None, None, None] * random.normal(
        size=(2, 60, 4000, 1))
    outside = random.random((4, 4000)) < 0.4
    model = error_model(errors[:, :4], outside, np.ones(4000))
    for counts in ([20, 0], [0, 20], [10, 10], [3, 37], [60, 60]):
        mean = sum(errors[k, :n].sum(axis=0) for k, n in enumerate(counts)) / sum(counts)
        assert model.error(np.array(counts)) == pytest.approx((mean**2).mean(), rel=0.1)


@pytest.mark.parametrize("seed", range(8))
def test_no_other_numbers_of_trees_have_a_smaller_error(seed):
    model = error_model(*random_case(seed))
    best = model.best_counts(9)
    assert best.sum() == 9
    smallest = min(
        model.error(np.array(counts)) for counts in product(range(10), repeat=3)
        if sum(counts) == 9)
    assert model.error(best) == pytest.approx(smallest)


def test_numbers_of_trees_are_means_over_weightings_of_the_samples():
    # Two kinds that are equally good, up to the chance of 60 samples, and a third one that is not.
    random = np.random.default_rng(0)
    level = np.array([1.0, 1.0, 8.0])[:, None, None, None] * random.normal(size=(3, 1, 60, 1))
    models = error_models(
        level + 0.1 * random.normal(size=(3, 4, 60, 1)), np.ones((4, 60), dtype=bool), np.ones(60),
        random.exponential(size=(20, 12)))
    counts = mean_best_counts(models, 40)
    each = np.array([model.best_counts(40) for model in models])
    assert sum(counts) == 40
    assert counts[2] <= 2
    assert np.ptp(each[:, 0]) > 2
    np.testing.assert_allclose(counts, each.mean(axis=0), atol=1)


def test_errors_of_trees(iris):
    X, y = iris
    problem = make_problem(X, y, max_depth=2)
    tree = InfoGain().initialize(problem)
    (errors,) = errors_of(problem, [tree])
    proba = np.exp(tree.predict(X))
    np.testing.assert_allclose(
        errors, proba / proba.sum(axis=1, keepdims=True) - np.eye(3)[y], atol=1e-12)
    problem = make_problem(X, X[:, :2], "squared_error", max_depth=2)
    tree = InfoGain().initialize(problem)
    np.testing.assert_array_equal(errors_of(problem, [tree])[0], tree.predict(X) - problem.y)
    problem = make_problem(X, X[:, :2], "poisson", max_depth=2)
    tree = InfoGain().initialize(problem)
    np.testing.assert_allclose(errors_of(problem, [tree])[0], np.exp(tree.predict(X)) - problem.y)


@pytest.mark.parametrize(("shares", "n_more", "present", "expected"), [
    ([5, 5], 4, 0, [2, 2]), ([20, 0, 0], 3, 0, [3, 0, 0]), ([17, 3], 20, 0, [17, 3]),
    ([1], 4, 0, [4]), ([10, 0, 10], 1, 0, [1, 0, 0]), ([0.5, 0.5], 10, [10, 0], [0, 10]),
    ([0.85, 0.15], 20, [17, 3], [17, 3]), ([0.5, 0.5], 4, [0, 2], [3, 1])])
def test_further_trees_in_proportion(shares, n_more, present, expected):
    assert _in_proportion(shares, n_more, present) == expected


# --- the default kinds ---------------------------------------------------------------------------


def test_forest_candidates():
    X, y = np.random.default_rng(0).normal(size=(30, 25)), np.arange(30) % 2
    problem = make_problem(X, y)
    kinds = forest_candidates(problem)
    assert [kind.name for kind in kinds] == [
        "annealed", "annealed, mixed", "tao", "random oblique", "random", "random, all"]
    first, mixed, tao, oblique, random, try_all = kinds
    assert isinstance(first.init, RandomComplete)
    assert isinstance(first.optimizers[0], Annealed)
    assert first.optimizers[0].q < Annealed().q
    assert mixed.optimizers[0].get_params() == (
        first.optimizers[0].get_params() | {"mixing": 0.4})
    assert isinstance(tao.optimizers[0], TAO)
    assert tao.optimizers[0].C == 1.0
    assert (oblique.init.n_candidates, oblique.init.n_nonzero) == (5, 3)
    assert (random.init.n_candidates, random.init.n_nonzero) == (5, 1)
    assert (try_all.init.n_candidates, try_all.init.n_nonzero) == (25, 1)
    assert forest_candidates(problem, n_columns=2)[-1].name == "random, all"
    assert forest_candidates(problem, n_columns=1)[-1].name == "random"
    sparse_kinds = forest_candidates(problem.replace(X=sparse.csr_array(X)))
    assert [kind.name for kind in sparse_kinds] == [
        "annealed", "tao", "random oblique", "random", "random, all"]
    wide = make_problem(np.zeros((6, 5000)), [0, 1, 0, 1, 0, 1])
    assert [kind.init.depth(wide) for kind in forest_candidates(wide)[:2]] == [2, 2]
    first, _, tao, *_ = forest_candidates(wide)
    assert isinstance(first.optimizers[0], Annealed)
    assert tao.optimizers[0].C == 0.1   # which overfits less
    _, _, tao, *_ = forest_candidates(wide, n_columns=5)
    assert tao.optimizers[0].C == 1.0


@pytest.mark.parametrize(("n", "n_classes", "limits", "depth"), [
    (19_999, 2, {}, 8), (20_000, 2, {}, 10), (20_000, 2, {"max_depth": 9}, 9),
    (20_000, 100, {}, 12), (20_000, 100, {"max_depth": 7}, 7)])
def test_soft_trees_of_many_samples_are_deeper(n, n_classes, limits, depth):
    problem = make_problem(np.zeros((n, 2)), np.arange(n) % n_classes, **limits)
    first, second, *_ = forest_candidates(problem)
    assert first.init.depth(problem) == depth
    # Mixtures help with few samples only.
    assert (second.name == "annealed, mixed") == (n < 20_000)


def test_default_kinds_of_regression():
    X, y = np.random.default_rng(0).normal(size=(30, 25)), np.arange(30.0)
    problem = make_problem(X, y, "squared_error")
    first, soft, oblique, random, constant, *_ = forest_candidates(problem, Leaves("auto"))
    assert [type(each) for each in first.optimizers] == [TAO]
    assert [type(each) for each in soft.optimizers] == [Annealed, TAO]
    assert soft.optimizers[0].leaf == "linear"
    assert first.init is oblique.init
    assert (oblique.init.n_candidates, oblique.init.n_nonzero) == (40, 2)
    assert (random.init.n_candidates, random.init.n_nonzero) == (25, 1)
    assert constant.init.initialize(problem).n_leaves == 1
    penalised = forest_candidates(problem, Leaves("auto", LinearLeaves(penalty=3.0)))[1]
    assert penalised.optimizers[-1].penalty == 3.0
    for leaf, loss in (("constant", "squared_error"), ("auto", "poisson")):
        soft = forest_candidates(make_problem(X, y, loss), Leaves(leaf))[1]
        assert [type(each) for each in soft.optimizers] == [Annealed]
        assert soft.optimizers[0].leaf == "constant"
    wide = make_problem(np.zeros((4, 5000)), [0.0, 1, 0, 1], "squared_error")
    assert isinstance(forest_candidates(wide, Leaves("auto"))[1].optimizers[0], SSGD)


@pytest.mark.parametrize(("n", "p", "leaf", "loss", "is_there"), [
    (30, 25, "auto", "log_loss", True), (30, 25, "constant", "log_loss", False),
    (30, 25, "auto", "bounded", False), (30, 128, "auto", "log_loss", True),
    (30, 501, "auto", "log_loss", False), (30, 501, "linear", "log_loss", True),
    (2000, 124, "auto", "log_loss", True), (2000, 125, "auto", "log_loss", False),
    (30, 25, "auto", "squared_error", True), (30, 25, "constant", "squared_error", False),
    (30, 25, "auto", "poisson", False), (2000, 128, "auto", "squared_error", True),
    (30, 501, "auto", "squared_error", False)])
def test_linear_models_compete_where_they_are_fast(n, p, leaf, loss, is_there):
    problem = make_problem(np.zeros((n, p)), np.arange(n) % 2, loss)
    linear = LinearLeaves(penalty=3.0)
    last = forest_candidates(problem, Leaves(leaf, linear))[-1]
    assert (last.name == "linear model") == is_there
    if is_there:
        assert last.optimizers == (linear,)
        assert last.init.initialize(problem).n_leaves == 1


@pytest.mark.parametrize(("n", "p", "leaf", "loss", "is_there"), [
    (30, 25, "auto", "squared_error", True), (30, 25, "linear", "squared_error", True),
    (30, 25, "constant", "squared_error", False), (30, 25, "auto", "huber", True),
    (30, 25, "auto", "poisson", False),
    (4000, 501, "auto", "squared_error", True), (4001, 501, "auto", "squared_error", False)])
def test_model_trees_compete_where_they_are_fast(n, p, leaf, loss, is_there):
    problem = make_problem(np.zeros((n, p)), np.arange(n) % 2, loss)
    last = forest_candidates(problem, Leaves(leaf))[-1]
    assert isinstance(last.init, ModelTree) == is_there
    assert not (is_there and last.optimizers)


@BOTH
def test_linear_leaves_of_given_features(forest, iris):
    model = forest(2, max_depth=2, leaf=LinearLeaves(features=[0, 2]), random_state=0).fit(*iris)
    used = {*np.concatenate([np.flatnonzero(tree.tree_.slopes.any(axis=(0, 1)))
                             for tree in model if tree.tree_.slopes is not None])}
    assert used <= {0, 2}


@pytest.mark.usefixtures("few_trial_trees")
def test_products_of_features_are_left_to_linear_leaves():
    """R2 of forests of this depth that have constant leaves is 0.44."""
    X = np.random.default_rng(0).normal(size=(1200, 8))
    y = X[:, 0] * X[:, 1] + (X[:, 2] > 0.0) * X[:, 3]
    model = ObliqueForestRegressor(8, max_depth=3, random_state=0).fit(X[:200], y[:200])
    share = dict(zip(*map(model.candidates_.get, ("candidate", "share")), strict=True))
    assert share["annealed, linear"] + share["model tree"] > 0.5
    assert model.score(X[200:], y[200:]) > 0.75


@pytest.mark.usefixtures("few_trial_trees")
def test_few_of_many_features_are_left_to_trees_that_try_all():
    X = np.random.default_rng(0).normal(size=(400, 80))
    y = (X[:, :3] > 0.0) @ [1, 2, 4]
    model = ObliqueForestClassifier(8, random_state=0).fit(X[:300], y[:300])
    n_trees = dict(zip(model.candidates_["candidate"], model.candidates_["n_trees"], strict=True))
    assert n_trees["random, all"] >= 6
    assert model.score(X[300:], y[300:]) > 0.9


@BOTH
def test_features_that_add_up_are_left_to_linear_models(forest, request):
    if forest is ObliqueForestRegressor:    # classes are told less clearly by few trees
        request.getfixturevalue("few_trial_trees")
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 5))
    y = X.sum(axis=1) + random.normal(size=500)
    if forest is ObliqueForestClassifier:
        y = y > 0
    models = (forest(8, leaf=leaf, max_depth=3, random_state=0) for leaf in ("auto", "constant"))
    scores = [model.fit(X[:100], y[:100]).score(X[100:], y[100:]) for model in models]
    assert scores[0] > scores[1] + 0.02


def test_default_kinds_with_linear_leaves():
    narrow = make_problem(np.zeros((4, 1)), [0.0, 1, 0, 1], "squared_error")
    for problem in (narrow, make_problem(np.zeros((4, 1)), [0, 1, 0, 1])):
        for kind in forest_candidates(problem, Leaves("linear")):
            last = (kind.init, *kind.optimizers)[-1]
            assert isinstance(last, (LinearLeaves, ModelTree))
            for algorithm in (kind.init, *kind.optimizers):
                algorithm.check(problem)


@pytest.mark.usefixtures("few_trial_trees")
@pytest.mark.parametrize(("forest", "max_features"), [
    (ObliqueForestClassifier, 1), (ObliqueForestRegressor, 2), *in_nightly([
        (ObliqueForestClassifier, 2), (ObliqueForestRegressor, 1)])])
def test_default_kinds_of_few_columns(forest, max_features, diabetes):
    X, y = diabetes[0][:80], diabetes[1][:80] > 140
    model = forest(8, max_depth=2, max_features=max_features, random_state=0).fit(X, y)
    assert len(model.candidates_["candidate"]) == 7
    for tree in model.estimators_:
        assert len(np.unique(tree.tree_.weights.nonzero()[1])) <= max_features


def test_few_columns_of_a_tree_set_its_learning_rate(iris, monkeypatch):
    monkeypatch.setattr("ngdt._forest.policy.MANY_FOREST_SAMPLES", 150)
    X = np.hstack([iris[0]] * 10)

    def rate(X, max_features=None):
        model = ObliqueForestClassifier(
            1, init="random_complete", max_depth=1, max_features=max_features, random_state=0)
        return model.fit(X, iris[1]).estimators_[0].optimizer[0].learning_rate

    assert rate(X, 4) == rate(iris[0]) > rate(X)


# --- competitions --------------------------------------------------------------------------------

GOOD = Candidate("good", RandomOblique(20), max_depth=4)
BAD = Candidate("bad", RandomComplete(1))
FINE = Candidate("fine", RandomOblique(3))


@pytest.fixture
def kinds(monkeypatch):
    """Lets a test choose the kinds that compete."""
    def use(*kinds):
        monkeypatch.setattr(ngdt._forest.base, "forest_candidates", lambda *_: list(kinds))
    use(BAD, GOOD)
    return use


@pytest.mark.parametrize(("forest", "n_jobs"), [
    (ObliqueForestClassifier, 1), (ObliqueForestRegressor, 2)])
def test_the_better_kind_wins(forest, n_jobs, kinds, iris, capsys):
    X, y = iris
    model = forest(10, n_jobs=n_jobs, verbose=2, oob_score=True, random_state=0).fit(X, y)
    assert model.candidates_["candidate"] == ["bad", "good"]
    assert model.candidates_["n_trees"] == [0, 10]
    assert model.candidates_["error"][0] > model.candidates_["error"][1]
    assert [tree.init for tree in model.estimators_] == [GOOD.init] * 10
    assert {tree.max_depth for tree in model.estimators_} == {4}
    assert "bad" in capsys.readouterr().out
    # They are the trees of a forest of this kind.
    alone = forest(10, max_depth=4, init=GOOD.init, optimizer=None, random_state=0).fit(X, y)
    assert [t.tree_ for t in alone.estimators_] == [t.tree_ for t in model.estimators_]
    assert alone.candidates_ == {}


@BOTH
def test_errors_tell_how_good_a_forest_is(forest, kinds, iris):
    X, y = iris
    kinds(GOOD)
    estimated, errors = [], []
    for seed in range(2):
        model = forest(20, oob_score=True, random_state=seed).fit(X, y)
        estimated += model.candidates_["error"]
        if forest is ObliqueForestClassifier:
            squares = (model.oob_decision_function_ - np.eye(3)[y]) ** 2
            errors.append(squares.sum(axis=1).mean())
        else:
            errors.append(((model.oob_prediction_ - y) ** 2).mean() / y.var())
    assert np.mean(errors) == pytest.approx(np.mean(estimated), rel=0.3)


@BOTH
def test_errors_are_those_of_samples_that_a_tree_is_not_trained_on(
        forest, kinds, iris, monkeypatch):
    def judged(errors, outside, *weights):
        # Deep trees of random targets have little error on the samples that they saw.
        squares = np.square(errors[0]).sum(axis=2)
        assert (outside.sum(axis=0) == 2).all()     # two of the six trees, for a pair
        assert squares[~outside].mean() < 0.2 * squares[outside].mean()
        found.append(error_models(errors, outside, *weights))
        return found[-1]

    found = []
    monkeypatch.setattr(ngdt._forest.trial, "error_models", judged)
    kinds(FINE)
    forest(8, random_state=0).fit(iris[0], np.random.default_rng(0).integers(3, size=150))
    assert len(found) == 1


@BOTH
@pytest.mark.parametrize(("parameters", "is_drawn"), [
    ({}, False), ({"bootstrap": True}, True), ({"oob_score": True}, True),
    ({"n_estimators": 7}, False), ({"init": GOOD.init}, True), ({"optimizer": None}, True)],
    ids=str)
def test_which_forests_draw_their_samples(forest, parameters, is_drawn, kinds, iris):
    model = forest(**{"n_estimators": 12, "random_state": 0} | parameters).fit(*iris)
    assert all((tree.n_node_samples_[0] < 150) == is_drawn for tree in model.estimators_)


@BOTH
def test_forests_of_several_kinds(forest, kinds, iris):
    kinds(FINE, GOOD)
    model = forest(21, random_state=0).fit(*iris)
    counts = model.candidates_["n_trees"]
    assert sum(counts) == len(model.estimators_) == 21
    assert [tree.max_depth for tree in model.estimators_].count(4) == counts[1]
    for name, n in zip((None, 4), counts, strict=True):
        seeds = [tree.random_state for tree in model.estimators_ if tree.max_depth == name]
        assert len(set(seeds)) == n


@BOTH
def test_max_features_holds_for_all_kinds(forest, kinds, iris):
    kinds(FINE, GOOD)
    model = forest(8, max_features=1, random_state=0).fit(*iris)
    for tree in model.estimators_:
        assert len(np.unique(tree.tree_.weights.nonzero()[1])) <= 1


@BOTH
def test_few_trees_are_of_the_first_kind(forest, kinds, iris):
    model = forest(7, random_state=0).fit(*iris)
    assert model.candidates_["candidate"] == ["bad"]
    assert model.candidates_["n_trees"] == [7]
    assert [tree.init for tree in model.estimators_] == [BAD.init] * 7


@pytest.mark.parametrize("loss", ["absolute_error", "quantile", "huber"])
def test_losses_that_do_not_predict_means_have_no_trial(loss, kinds, iris):
    model = ObliqueForestRegressor(9, loss=loss, random_state=0).fit(*iris)
    assert model.candidates_["candidate"] == ["bad", "good"]
    assert model.candidates_["n_trees"] == [5, 4]
    assert np.isnan(model.candidates_["error"]).all()


@pytest.mark.parametrize(("leaf", "directions", "expected"), [
    ("auto", None, ["tao", "model tree"]), ("constant", None, ["tao"]),
    ("linear", None, ["tao", "model tree"]), ("auto", [1, 0], ["tao"])])
def test_kinds_of_losses_that_do_not_predict_means(leaf, directions, expected):
    problem = make_problem(
        np.zeros((30, 2)), np.arange(30.0), "huber",
        directions=None if directions is None else np.array(directions))
    assert [each.name for each in forest_candidates(problem, Leaves(leaf))] == expected


@pytest.mark.usefixtures("few_trial_trees")
@BOTH
def test_trees_with_linear_leaves_compete(forest, iris):
    X, y = iris[0][::2], iris[1][::2]
    if not is_classifier(forest()):     # of equal targets, leaves have no slopes
        y = y + X[:, 0] / 10
    model = forest(8, leaf=LinearLeaves(penalty=10.0), max_depth=1, random_state=0).fit(X, y)
    assert all(tree.tree_.slopes is not None for tree in model.estimators_)
    assert model.score(X, y) > 0.9
    constant = forest(8, leaf="constant", max_depth=1, random_state=0).fit(X, y)
    assert all(tree.tree_.slopes is None for tree in constant.estimators_)


@BOTH
def test_warm_start_keeps_the_shares(forest, kinds, iris):
    model = forest(8, warm_start=True, random_state=0).fit(*iris)
    first = list(model.estimators_)
    model.set_params(n_estimators=12).fit(*iris)
    assert model.estimators_[:8] == first
    assert model.candidates_["n_trees"] == [0, 12]
    assert [tree.init for tree in model.estimators_] == [GOOD.init] * 12
    assert len({tree.random_state for tree in model.estimators_}) == 12


@BOTH
def test_warm_start_with_kinds_that_there_are_no_more(forest, kinds, iris):
    """As of more samples. The first kind takes their place."""
    model = forest(8, warm_start=True, random_state=0).fit(*iris)
    assert model.candidates_["n_trees"] == [0, 8]
    kinds(FINE, BAD)
    model.set_params(n_estimators=12).fit(*iris)
    assert model.candidates_["candidate"] == ["bad", "good", "fine"]
    assert model.candidates_["n_trees"] == [0, 8, 4]
    assert model.candidates_["share"] == [0.0, 0.0, 1.0]
    assert [tree.init for tree in model.estimators_[8:]] == [FINE.init] * 4


@BOTH
def test_many_samples_have_a_trial_on_some_of_them(forest, kinds, iris, monkeypatch):
    monkeypatch.setattr(policy, "MAX_TRIAL_SAMPLES", 60)
    model = forest(9, max_samples=0.5, random_state=0).fit(*iris)
    assert model.candidates_["n_trees"] == [0, 9]
    # No tree is left of the trial.
    assert min(tree.n_node_samples_[0] for tree in model.estimators_) > 45
    assert len({tree.random_state for tree in model.estimators_}) == 9


class Stopped(Optimizer):
    """Ctrl-C in the tree of this number."""

    calls = 0

    def __init__(self, call=1):
        self.call = call

    def _optimize(self, tree, problem):
        Stopped.calls += 1
        if Stopped.calls == self.call:
            raise KeyboardInterrupt
        return OptimizerResult(tree)


@BOTH
@pytest.mark.parametrize(("call", "n_trees"), [(3, 2), (10, 9), (14, 1), (17, 4)])
def test_ctrl_c_in_the_trial_and_after_it(forest, call, n_trees, kinds, iris):
    kinds(*(Candidate(name, InfoGain(), (Stopped(call),)) for name in ("one", "two")))
    Stopped.calls = 0
    with pytest.warns(ConvergenceWarning, match="Ctrl-C .* of 20 trees"):
        model = forest(20, random_state=0).fit(*iris)
    assert len(model.estimators_) == n_trees
    if call <= 12:
        assert model.candidates_ == {}
    else:
        assert sum(model.candidates_["n_trees"]) == n_trees
    assert model.predict(iris[0]).shape == (150,)


@BOTH
def test_warm_start_completes_the_shares_of_a_forest_that_was_cut(
        forest, kinds, iris, monkeypatch):
    """Kinds take turns, so the forest that was cut has trees of both."""
    kinds(*(Candidate(name, RandomOblique(3), (Stopped(17),), max_depth=depth)
            for name, depth in (("one", 3), ("two", 4))))
    monkeypatch.setattr(ngdt._forest.trial, "mean_best_counts", lambda *_: [12, 8])
    Stopped.calls = 0
    model = forest(20, warm_start=True, random_state=0)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C"):
        model.fit(*iris)
    assert model.candidates_["n_trees"] == [2, 2]
    assert model.candidates_["share"] == [0.6, 0.4]
    model.fit(*iris)
    assert model.candidates_["n_trees"] == [12, 8]
    depths = [tree.max_depth for tree in model.estimators_]
    assert [depths.count(3), depths.count(4)] == [12, 8]
    # At any time, each kind is at most a tree away from its share.
    for n_trees in range(5, 21):
        assert abs(depths[4:n_trees].count(4) - 0.375 * (n_trees - 4)) <= 1


@BOTH
def test_too_little_time_for_the_trial(forest, kinds, iris):
    with pytest.warns(ConvergenceWarning, match="max_time=1e-09 s"):
        model = forest(20, max_time=1e-9, random_state=0).fit(*iris)
    assert len(model.estimators_) == 1


@BOTH
def test_time_that_the_trial_leaves_is_used(forest, kinds, iris, monkeypatch):
    monkeypatch.setattr(policy, "TRIAL_TIME", 1e-9)
    with pytest.warns(ConvergenceWarning, match="max_time=1000 s .* has all 20"):
        model = forest(20, max_time=1e3, random_state=0).fit(*iris)
    assert len(model.estimators_) == 20
    assert len({tree.random_state for tree in model.estimators_}) == 20
    assert model.candidates_ == {}


@BOTH
@pytest.mark.parametrize("call", [3, 14])
def test_trees_of_the_trial_predict_nothing_out_of_bag(forest, call, kinds, iris):
    """Draws of the trees of the trial are not known, so out-of-bag samples are not, either."""
    kinds(*(Candidate(name, InfoGain(), (Stopped(call),)) for name in ("one", "two", "three")))
    Stopped.calls = 0
    model = forest(12, oob_score=True, warm_start=True, random_state=0)
    with pytest.warns(ConvergenceWarning, match="Ctrl-C"), pytest.warns(
            UserWarning, match="100% of the samples have no out-of-bag prediction.* more time"):
        model.fit(*iris)
    n_trial = len(model.estimators_)
    assert n_trial == min(call - 1, 11)     # never all, so that it can be seen
    predictions = "oob_prediction_" if hasattr(model, "oob_prediction_") else (
        "oob_decision_function_")
    assert np.isnan(getattr(model, predictions)).all()
    assert np.isnan(model.oob_score_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.set_params(n_estimators=18).fit(*iris)
    # The further trees do predict, by the samples that they drew.
    sampling = Sampling(True, 150, None, np.arange(4))
    known = np.any([sampling.counts(np.ones(150), tree.random_state) == 0
                    for tree in model.estimators_[n_trial:]], axis=0)
    found = np.isfinite(getattr(model, predictions).reshape(150, -1)[:, 0])
    np.testing.assert_array_equal(found, known)


@pytest.mark.parametrize("max_time", [1.0, *in_nightly([0.5, 2.0])])
def test_the_default_ends_in_time(max_time, digits):
    with pytest.warns(ConvergenceWarning, match="of 400 trees"):
        model = ObliqueForestClassifier(400, max_time=max_time, random_state=0).fit(*digits)
    assert model.score(*digits) > 0.8


def test_a_group_has_one_weight_in_each_weighting():
    random = np.random.default_rng(0)
    errors, groups = random.normal(size=(2, 3, 40, 1)), random.integers(0, 9, 40)
    outside, weight = random.random((3, 40)) < 0.6, random.random(40)
    weighting = random.exponential(size=(1, 4))
    (found,) = error_models(errors, outside, weight, weighting, groups)
    (expected,) = error_models(
        errors, outside, weight * weighting[0, groups % 4], np.ones((1, 4)))
    np.testing.assert_allclose(found.products, expected.products)
    np.testing.assert_allclose(found.spread, expected.spread)


@pytest.mark.parametrize("grouped", [False, True])
def test_samples_without_weight_change_no_weighting(grouped):
    random = np.random.default_rng(0)
    errors, weight = random.normal(size=(2, 3, 40, 1)), random.integers(0, 3, 40).astype(float)
    outside, weightings = random.random((3, 40)) < 0.6, random.exponential(size=(5, 4))
    groups, used = np.sort(random.integers(0, 20, 40)) if grouped else None, weight > 0
    with_them = error_models(errors, outside, weight, weightings, groups)
    without = error_models(errors[:, :, used], outside[:, used], weight[used], weightings,
                           np.unique(groups[used], return_inverse=True)[1] if grouped else None)
    for one, other in zip(with_them, without, strict=True):
        np.testing.assert_array_equal(one.products, other.products)
        np.testing.assert_array_equal(one.spread, other.spread)
