"""The pruned greedy tree: its alpha, against trees that are pruned one by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from helpers import make_problem
from ngdt import ObliqueTreeClassifier
from ngdt._methods.greedy.pruned import CrossValidatedPruning
from ngdt._training.choice import Fold
from ngdt._training.folds import fold_samples
from ngdt._training.size_limits import enforce_limits, sequence_of
from ngdt.initializers import InfoGain, Pruned, RandomOblique
from ngdt.losses import LogLoss, SquaredLoss


def without(problem, folds):
    """The problems without the test samples of each fold."""
    return [Fold.without(problem, samples) for samples in folds]


def data(name):
    """Samples, targets that are exact in any order of summation, and weights."""
    X, y = {"wine": load_wine, "cancer": load_breast_cancer,
            "diabetes": load_diabetes}[name](return_X_y=True)
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.0], len(y))
    return X, y, weight


def folds_of(problem, n_folds, seed=0):
    samples = problem.training_samples
    fold = np.random.default_rng(seed).permutation(len(samples)) % n_folds
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
    alphas = np.unique(sequence_of(tree, problem).alphas)
    return [*np.sqrt(alphas[:-1] * alphas[1:]), np.inf]


def errors_one_by_one(problem, init, folds, alphas):
    """Weighted error on the folds for each alpha: one pruned tree after the other."""
    errors = np.zeros(len(alphas))
    for test in folds:
        weight = problem.sample_weight.copy()
        weight[test] = 0.0
        part = problem.replace(sample_weight=weight)
        tree = init.initialize(part)
        for k, alpha in enumerate(alphas):
            pruned = enforce_limits(tree, part.replace(ccp_alpha=alpha))
            errors[k] += problem.sample_weight[test] @ part.errors(pruned, test)
    return errors


@pytest.mark.parametrize("n_folds", [1, 4])
@pytest.mark.parametrize("init", [InfoGain(), RandomOblique(5)], ids=str)
@pytest.mark.parametrize("limits", [{}, {"min_samples_leaf": 4, "max_leaf_nodes": 12}], ids=str)
@pytest.mark.parametrize(("name", "loss"), [
    ("wine", LogLoss()), ("cancer", LogLoss()), ("diabetes", SquaredLoss())], ids=str)
def test_the_choice_is_that_of_the_definition(name, loss, limits, init, n_folds):
    X, y, weight = data(name)
    problem = make_problem(X, y, loss, weight, max_depth=5, **limits)
    folds = folds_of(problem, 4)[:n_folds]
    tree = init.initialize(problem)
    alphas = candidates_of(tree, problem)
    if n_folds == 1:
        weight = problem.sample_weight.copy()
        weight[folds[0]] = 0.0
        part = problem.replace(sample_weight=weight)
        alphas = candidates_of(init.initialize(part), part)
    expected = errors_one_by_one(problem, init, folds, alphas)
    best = np.flatnonzero(expected <= expected.min() * (1 + 1e-10))[-1]
    pruning = CrossValidatedPruning(problem, init, without(problem, folds))
    assert_allclose(pruning.ccp_alpha, alphas[best])
    assert pruning.tree == enforce_limits(tree, problem.replace(ccp_alpha=pruning.ccp_alpha))
    errors = sum(problem.sample_weight[test] @ problem.errors(pruning.fold_tree(k), test)
                 for k, test in enumerate(folds))
    assert_allclose(errors, expected[best])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_folds", [1, 4])
def test_an_initial_tree_is_larger_where_its_probabilities_are_better(n_folds, seed):
    """Of larger subtrees with a standard error more errors, the one with the best Brier score."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(200, 3))
    y = (random.random(200) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int)
    weight = random.choice([0.0, 1.0, 2.0], len(y))
    problem = make_problem(X, y, LogLoss(), weight, max_depth=4)
    folds = folds_of(problem, 4)[:n_folds]
    pruning = CrossValidatedPruning(problem, InfoGain(), without(problem, folds))
    whole = problem if n_folds > 1 else without(problem, folds)[0].problem
    found = []
    for alpha in candidates_of(InfoGain().initialize(whole), whole):
        trees = [enforce_limits(InfoGain().initialize(part.problem),
                                part.problem.replace(ccp_alpha=alpha))
                 for part in without(problem, folds)]
        if min(tree.n_leaves for tree in trees) == 1 or (n_folds > 1 and enforce_limits(
                InfoGain().initialize(problem), problem.replace(ccp_alpha=alpha)).n_leaves == 1):
            continue
        errors = square = 0.0
        for tree, test in zip(trees, folds, strict=True):
            p = np.exp(problem.predictions(tree, test))
            errors += weight[test] @ (p.argmax(axis=1) != y[test])
            square += weight[test] @ ((p - np.eye(2)[y[test]])**2).sum(axis=1)
        found.append((alpha, errors, square))
    alphas, errors, squares = np.array(found).T
    best = np.flatnonzero(errors == errors.min())[-1]
    tested = weight[np.concatenate(folds)]
    share = errors.min() / tested.sum()
    close = errors <= errors.min() + tested.sum() * np.sqrt(share * (1 - share) / len(tested))
    squares[~close | (np.arange(len(alphas)) > best)] = np.inf
    assert_allclose(pruning.initial_alpha, alphas[np.argmin(squares)])


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
    ccp_alpha = CrossValidatedPruning(problem, InfoGain(), without(problem, folds)).ccp_alpha
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


@pytest.mark.parametrize("loss", [LogLoss(), SquaredLoss()], ids=str)
def test_an_initial_tree_keeps_a_split(loss):
    random = np.random.default_rng(1)
    X, y = random.normal(size=(300, 3)), (random.random(300) < 0.2).astype(int)
    problem = make_problem(X, y, loss, max_depth=6)
    pruning = CrossValidatedPruning(
        problem, InfoGain(), without(problem, fold_samples(problem)))
    assert pruning.ccp_alpha > pruning.initial_alpha
    assert pruning.tree.n_leaves == 1
    trees = [pruning.initial.tree, *(pruning.initial.fold_tree(k) for k in range(3))]
    assert min(tree.n_leaves for tree in trees) > 1
    nothing = make_problem(np.ones((30, 1)), np.arange(30) % 2, loss)
    assert CrossValidatedPruning(
        nothing, InfoGain(), without(nothing, fold_samples(nothing))).initial.tree.n_leaves == 1
