"""The pruned greedy tree: its alpha, against trees that are pruned one by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from helpers import in_nightly, make_problem
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt._methods.greedy.pruned import CrossValidatedPruning
from ngdt._training.folds import Fold, fold_samples
from ngdt._training.size_limits import enforce_limits, targets_at_leaves
from ngdt.initializers import InfoGain, Pruned
from ngdt.losses import LogLoss, SquaredLoss
from ngdt.pruning._sequence import pruning_sequence


def without(problem, folds):
    """The problems without the test samples of each fold."""
    return [Fold.without(problem, samples) for samples in folds]


def data(name):
    """Samples, targets that are exact in any order of summation, and weights."""
    X, y = {"wine": load_wine, "cancer": load_breast_cancer,
            "diabetes": load_diabetes}[name](return_X_y=True)
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.0], len(y))
    return X, y, weight


def folds_of(problem, n_folds):
    samples = problem.training_samples
    fold = np.random.default_rng(0).permutation(len(samples)) % n_folds
    return [samples[fold == k] for k in range(n_folds)]


@pytest.mark.parametrize("y", [
    [0, 1, 2, 3, 4, 5], [0, 0, 1, 1, 2, 2, 3], [0] * 5 + [1, 2], [0, 1] * 30], ids=str)
def test_every_fold_has_samples_however_small_the_classes(y):
    samples = np.arange(len(y), dtype=float)[:, None]
    problem = make_problem(samples, np.array(y, dtype=float), LogLoss(), np.ones(len(y)))
    folds = fold_samples(problem)
    assert sorted(np.concatenate(folds)) == list(range(len(y)))
    assert all(len(fold) for fold in folds)


def candidates_of(tree, problem):
    alphas = np.unique(pruning_sequence(tree, targets_at_leaves(tree, problem)).alphas)
    return [*np.sqrt(alphas[:-1] * alphas[1:]), np.inf]


def errors_one_by_one(problem, folds, alphas):
    """Weighted errors, and squared errors, on the folds for each alpha: one pruned tree each."""
    errors, squares = np.zeros((2, len(alphas)))
    for part, test in zip(without(problem, folds), folds, strict=True):
        tree, weight = InfoGain().initialize(part.problem), problem.sample_weight[test]
        for k, alpha in enumerate(alphas):
            pruned = enforce_limits(tree, part.problem.limited(ccp_alpha=alpha))
            errors[k] += weight @ problem.errors(pruned, test)
            if problem.loss.is_classifier:
                p = np.exp(problem.predictions(pruned, test))
                labels = np.eye(problem.n_outputs)[problem.y[test, 0].astype(int)]
                squares[k] += weight @ ((p - labels)**2).sum(axis=1)
    return errors, squares


def best_of(errors, squares, problem, folds):
    """Index of the least error; of larger trees a standard error above it, the best Brier score."""
    best = np.flatnonzero(errors <= errors.min() * (1 + 1e-10))[-1]
    if problem.loss.is_classifier:
        weight = problem.sample_weight[np.concatenate(folds)]
        share = errors[best] / weight.sum()
        slack = weight.sum() * np.sqrt(share * (1 - share) / len(weight))
        close = [k for k in range(best + 1) if errors[k] <= errors[best] + slack]
        least = min(squares[k] for k in close)
        best = max(k for k in close if squares[k] == least)
    return best


@pytest.mark.parametrize("n_folds", [1, 4])
@pytest.mark.parametrize("limits", [{}, {"min_samples_leaf": 4, "max_leaf_nodes": 12}], ids=str)
@pytest.mark.parametrize(("name", "loss"), [
    ("wine", LogLoss()), ("diabetes", SquaredLoss()), *in_nightly([("cancer", LogLoss())])],
    ids=str)
def test_the_choice_is_that_of_the_definition(name, loss, limits, n_folds):
    X, y, weight = data(name)
    problem = make_problem(X, y, loss, weight, max_depth=5, **limits)
    folds = folds_of(problem, 4)[:n_folds]
    tree = InfoGain().initialize(problem)
    alphas = candidates_of(tree, problem)
    if n_folds == 1:
        weight = problem.sample_weight.copy()
        weight[folds[0]] = 0.0
        part = problem.replace(sample_weight=weight)
        alphas = candidates_of(InfoGain().initialize(part), part)
    expected, squares = errors_one_by_one(problem, folds, alphas)
    best = best_of(expected, squares, problem, folds)
    pruning = CrossValidatedPruning(problem, without(problem, folds))
    assert_allclose(pruning.ccp_alpha, alphas[best])
    assert pruning.tree == enforce_limits(tree, problem.limited(ccp_alpha=pruning.ccp_alpha))
    errors = sum(problem.sample_weight[test] @ problem.errors(pruning.fold_tree(k), test)
                 for k, test in enumerate(folds))
    assert_allclose(errors, expected[best])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_folds", [1, 4])
def test_the_choice_of_an_initial_tree_is_the_same_among_those_with_a_split(n_folds, seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(200, 3))
    y = (random.random(200) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int)
    problem = make_problem(X, y, LogLoss(), random.choice([0.0, 1.0, 2.0], 200), max_depth=4)
    folds = folds_of(problem, 4)[:n_folds]
    wholes = [part.problem for part in without(problem, folds)]
    wholes += [problem] * (n_folds > 1)
    trees = [InfoGain().initialize(whole) for whole in wholes]
    alphas = [alpha for alpha in candidates_of(trees[-1], wholes[-1]) if all(
        enforce_limits(tree, whole.limited(ccp_alpha=alpha)).n_leaves > 1
        for tree, whole in zip(trees, wholes, strict=True))]
    found = errors_one_by_one(problem, folds, alphas)
    pruning = CrossValidatedPruning(problem, without(problem, folds))
    assert_allclose(pruning.initial_alpha, alphas[best_of(*found, problem, folds)])


@pytest.mark.parametrize(("name", "loss", "theirs"), [
    ("cancer", LogLoss(), DecisionTreeClassifier(criterion="entropy", max_features=1.0)),
    ("diabetes", SquaredLoss(), DecisionTreeRegressor())], ids=["cancer", "diabetes"])
def test_errors_are_those_of_pruned_trees_of_scikit_learn(name, loss, theirs):
    # Features of few values: equal splits of the training samples are equal splits of all.
    X, y, _ = data(name)
    X = np.round(X / X.std(axis=0))
    theirs.set_params(max_depth=5, min_samples_leaf=5, random_state=0)
    path = theirs.cost_complexity_pruning_path(X, y)
    alphas = np.unique(np.maximum(path.ccp_alphas, 0.0).round(12))
    alphas = np.append(np.sqrt(alphas[:-1] * alphas[1:]), alphas[-1] * 10)
    problem = make_problem(X, y, loss, max_depth=5, min_samples_leaf=5)
    folds = folds_of(problem, 5)
    total = np.zeros(len(alphas))
    for k, alpha in enumerate(alphas):
        theirs.set_params(ccp_alpha=alpha)
        for test in folds:
            training = np.setdiff1d(np.arange(len(y)), test)
            theirs.fit(X[training], y[training])
            wrong = theirs.predict(X[test]) - y[test]
            total[k] += (wrong != 0).sum() if loss.is_classifier else (wrong**2).sum()
    ccp_alpha = CrossValidatedPruning(problem, without(problem, folds)).ccp_alpha
    # Of equal splits, scikit-learn takes another one, which matters for few samples of the folds.
    near = np.argmin(np.abs(np.log(np.maximum(alphas, 1e-9) / max(ccp_alpha, 1e-9))))
    assert total[near] <= total.min() * 1.1


@pytest.mark.parametrize("loss", [LogLoss(), SquaredLoss()], ids=str)
def test_most_leaves_go_where_labels_have_no_pattern(loss):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(300, 3)), (random.random(300) < 0.2).astype(int)
    problem = make_problem(X, y, loss, max_depth=6)
    assert Pruned().initialize(problem).n_leaves < InfoGain().initialize(problem).n_leaves / 2


def test_a_tree_that_needs_all_its_leaves_is_not_pruned():
    X = np.arange(80.0)[:, None]
    problem = make_problem(X, (np.arange(80) // 10) % 2)
    assert Pruned().initialize(problem).n_leaves == 8


@pytest.mark.parametrize("loss", [LogLoss(), SquaredLoss()], ids=str)
@pytest.mark.parametrize("n", [1, 5, 6])
def test_few_samples(loss, n):
    problem = make_problem(np.ones((n, 1)), np.arange(n) % 2, loss)
    assert Pruned().initialize(problem).n_leaves == 1


@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore:The number of unique classes")
def test_errors_of_all_samples_have_no_deviation():
    """Sums of tenths in two orders differ, but a share of errors above 1 has no deviation."""
    X, y = np.arange(6.0)[:, None], np.arange(6)
    model = ObliqueTreeClassifier(2, init="pruned", optimizer=None, random_state=0)
    exact, rounded = (
        model.fit(X, y, sample_weight=np.full(6, size)).apply(X) for size in (0.125, 0.1))
    np.testing.assert_array_equal(rounded, exact)


def test_folds_are_stratified_and_whole():
    y = np.repeat([0, 1], [90, 12])
    problem = make_problem(np.ones((102, 1)), y)
    folds = fold_samples(problem)
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.arange(102))
    assert [y[fold].sum() for fold in folds] == [4, 4, 4]
    many = make_problem(np.ones((3000, 1)), np.arange(3000) % 2)
    (third,) = fold_samples(many)
    assert len(third) == 1000
    assert fold_samples(make_problem(np.ones((5, 1)), np.arange(5) % 2)) == []


def test_it_is_an_initial_tree_like_others():
    X, y = load_breast_cancer(return_X_y=True)
    tree = ObliqueTreeClassifier(init="pruned", optimizer="tao", random_state=0).fit(X, y)
    assert tree.score(X, y) > 0.95


@pytest.mark.parametrize(("kind", "init"), [
    (ObliqueTreeClassifier, "pruned"), (ObliqueTreeRegressor, "pruned"),
    (ObliqueTreeRegressor, "model_tree")])
def test_it_has_no_default_depth(kind, init):
    # Of equal stripes, greedy splits take one after another.
    X = np.arange(250.0)[:, None]
    y = np.repeat(np.arange(25) % 2, 10)
    auto, free = (
        kind(max_depth, init=init, optimizer=None, random_state=0).fit(X, y)
        for max_depth in ("auto", None))
    assert auto.get_depth() > 8
    assert auto.tree_ == free.tree_
    further = kind(init=init, optimizer="tao", validation_fraction=None, leaf="constant")
    assert further.fit(X, y).get_depth() <= 8


@pytest.mark.parametrize("loss", [LogLoss(), SquaredLoss()], ids=str)
def test_an_initial_tree_keeps_a_split(loss):
    random = np.random.default_rng(1)
    X, y = random.normal(size=(300, 3)), (random.random(300) < 0.2).astype(int)
    problem = make_problem(X, y, loss, max_depth=6)
    pruning = CrossValidatedPruning(problem, without(problem, fold_samples(problem)))
    assert pruning.ccp_alpha > pruning.initial_alpha
    assert pruning.tree.n_leaves == 1
    trees = [pruning.initial.tree, *(pruning.initial.fold_tree(k) for k in range(3))]
    assert min(tree.n_leaves for tree in trees) > 1
    nothing = make_problem(np.ones((30, 1)), np.arange(30) % 2, loss)
    pruning = CrossValidatedPruning(nothing, without(nothing, fold_samples(nothing)))
    assert pruning.initial.tree.n_leaves == 1
