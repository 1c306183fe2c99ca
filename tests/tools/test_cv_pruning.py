"""The choice of ccp_alpha by cross-validation, against trees that are pruned one by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from helpers import make_problem
from ngdt._cv_pruning import choose_ccp_alpha
from ngdt._limits import enforce_limits, sequence_of
from ngdt.initializers import InfoGain, RandomOblique
from ngdt.losses import LogLoss, SquaredLoss


def data(name):
    """Samples, targets that are exact in any order of summation, and weights."""
    X, y = {"wine": load_wine, "cancer": load_breast_cancer,
            "diabetes": load_diabetes}[name](return_X_y=True)
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.0], len(y))
    return X, y, weight


def folds_of(problem, n_folds, seed=0):
    n = len(problem.training_samples)
    return np.random.default_rng(seed).permutation(n) % n_folds


def candidates_of(tree, problem):
    alphas = np.unique(sequence_of(tree, problem).alphas)
    return [*np.sqrt(alphas[:-1] * alphas[1:]), np.inf]


def errors_one_by_one(problem, init, fold, alphas):
    """Weighted out-of-fold error of each sample for each alpha: one pruned tree after the other."""
    samples = problem.training_samples
    errors = np.empty((len(alphas), len(samples)))
    for i in np.unique(fold):
        test = samples[fold == i]
        weight = problem.sample_weight.copy()
        weight[test] = 0.0
        part = problem.replace(sample_weight=weight)
        tree = init.initialize(part)
        for k, alpha in enumerate(alphas):
            pruned = enforce_limits(tree, part.replace(ccp_alpha=alpha))
            errors[k, fold == i] = problem.sample_weight[test] * part.errors(pruned, test)
    return errors


def choice(errors, alphas, rule):
    """Place of the chosen alpha, by definition."""
    total = errors.sum(axis=1)
    best = np.flatnonzero(total <= total.min() * (1 + 1e-10))[-1]
    if rule == "best":
        return best
    deviation = errors[best].std() * np.sqrt(errors.shape[1])
    return np.flatnonzero(total <= (total[best] + deviation) * (1 + 1e-10))[-1]


@pytest.mark.parametrize("rule", ["best", "one_standard_error"])
@pytest.mark.parametrize("init", [InfoGain(), RandomOblique(5)], ids=str)
@pytest.mark.parametrize("limits", [{}, {"min_samples_leaf": 4, "max_leaf_nodes": 12}], ids=str)
@pytest.mark.parametrize(("name", "loss"), [
    ("wine", LogLoss()), ("cancer", LogLoss()), ("diabetes", SquaredLoss())], ids=str)
def test_the_choice_is_that_of_the_definition(name, loss, limits, init, rule):
    X, y, weight = data(name)
    problem = make_problem(X, y, loss, weight, max_depth=5, **limits)
    fold = folds_of(problem, 4)
    alphas = candidates_of(init.initialize(problem), problem)
    expected = errors_one_by_one(problem, init, fold, alphas)
    chosen = choice(expected, alphas, rule)
    ccp_alpha, errors = choose_ccp_alpha(problem, init, fold, rule=rule)
    assert_allclose(ccp_alpha, alphas[chosen])
    assert_allclose(errors, expected[chosen])


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
    fold = folds_of(problem, 5)
    total = np.zeros(len(alphas))
    for k, alpha in enumerate(alphas):
        theirs.set_params(ccp_alpha=alpha)
        for i in range(5):
            theirs.fit(X[fold != i], y[fold != i])
            wrong = theirs.predict(X[fold == i]) - y[fold == i]
            total[k] += (wrong != 0).sum() if loss.is_classifier else (wrong**2).sum()
    ccp_alpha, errors = choose_ccp_alpha(problem, InfoGain(), fold)
    # Of equal splits, scikit-learn takes another one, which matters for few samples of the folds.
    near = np.argmin(np.abs(np.log(np.maximum(alphas, 1e-9) / max(ccp_alpha, 1e-9))))
    assert_allclose(errors.sum(), total[near], rtol=0.1)
    assert total[near] <= total.min() * 1.1


@pytest.mark.parametrize("loss", [LogLoss(), SquaredLoss()], ids=str)
def test_labels_without_pattern_leave_a_single_leaf(loss):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(300, 3)), (random.random(300) < 0.2).astype(int)
    problem = make_problem(X, y, loss, max_depth=6)
    ccp_alpha, errors = choose_ccp_alpha(
        problem, InfoGain(), folds_of(problem, 5), rule="one_standard_error")
    pruned = enforce_limits(
        InfoGain().initialize(problem), problem.replace(ccp_alpha=ccp_alpha))
    assert pruned.n_leaves == 1
    assert errors.shape == (300,)


def test_a_tree_that_needs_all_its_leaves_is_not_pruned():
    X = np.arange(80.0)[:, None]
    problem = make_problem(X, (np.arange(80) // 10) % 2)
    ccp_alpha, errors = choose_ccp_alpha(problem, InfoGain(), np.arange(80) % 5)
    tree = InfoGain().initialize(problem)
    assert tree.n_leaves == 8
    assert enforce_limits(tree, problem.replace(ccp_alpha=ccp_alpha)).n_leaves == 8
    assert errors.mean() < 0.2


@pytest.mark.parametrize("loss", [LogLoss(), SquaredLoss()], ids=str)
def test_a_single_leaf(loss):
    problem = make_problem(np.ones((6, 1)), np.arange(6) % 2, loss)
    ccp_alpha, errors = choose_ccp_alpha(problem, InfoGain(), np.arange(6) % 3)
    assert ccp_alpha == np.inf
    assert errors.shape == (6,)


def test_validation_samples_and_the_given_alpha_do_not_matter():
    X, y, weight = data("wine")
    problem = make_problem(X, y, "log", weight)
    fold = folds_of(problem, 3)
    other = problem.replace(ccp_alpha=0.5, validation_weight=(weight == 0).astype(float))
    for one, two in zip(choose_ccp_alpha(problem, InfoGain(), fold),
                        choose_ccp_alpha(other, InfoGain(), fold), strict=True):
        assert_allclose(one, two)


def test_one_fold_is_refused():
    problem = make_problem(np.arange(4.0)[:, None], np.arange(4) % 2)
    with pytest.raises(ValueError, match="fold must hold at least two different numbers"):
        choose_ccp_alpha(problem, InfoGain(), np.zeros(4, dtype=int))
