"""ccp_alpha prunes every fitted tree, whatever made it, as in scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, load_wine
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from helpers import in_nightly, serves, short
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt.initializers import INITIALIZERS, InfoGain
from ngdt.losses import LogLoss, SquaredLoss
from ngdt.optimizers import OPTIMIZERS, SSGD, LinearLeaves
from ngdt.pruning import cost_complexity_pruning_path, prune_cost_complexity

WINE = tuple(part[::3] for part in load_wine(return_X_y=True))
DIABETES = tuple(part[:60] for part in load_diabetes(return_X_y=True))
for part in (*WINE, *DIABETES):
    part.flags.writeable = False
TASKS = pytest.mark.parametrize(("estimator", "theirs", "X", "y"), [
    (ObliqueTreeClassifier, DecisionTreeClassifier(criterion="entropy"), *WINE),
    (ObliqueTreeRegressor, DecisionTreeRegressor(), *DIABETES)],
    ids=["classification", "regression"])
NAMES = [*INITIALIZERS, *OPTIMIZERS]


def parameters_of(name):
    if name in INITIALIZERS:
        return {"init": short(INITIALIZERS[name]), "optimizer": None}
    algorithm = short(OPTIMIZERS[name])
    init = algorithm.default_init
    return {"init": init, "optimizer": [algorithm]}


@TASKS
@pytest.mark.parametrize("name", NAMES)
def test_the_fitted_tree_is_the_pruned_one(name, estimator, theirs, X, y):
    loss = LogLoss() if estimator is ObliqueTreeClassifier else SquaredLoss()
    if not serves((INITIALIZERS | OPTIMIZERS)[name](), loss):
        pytest.skip(f"{name} is not for this task")
    # Without validation samples, every part of training is the same with and without pruning, since
    # two fits to the same samples, which none may change, give the same tree.
    model = estimator(3, random_state=0, validation_fraction=None, **parameters_of(name))
    whole = model.fit(X, y).tree_
    path = model.cost_complexity_pruning_path(X, y)
    expected = cost_complexity_pruning_path(whole, X, y, loss=loss)
    assert_allclose(path.ccp_alphas, expected.ccp_alphas, atol=1e-9 * expected.impurities[-1])
    assert_allclose(path.impurities, expected.impurities, atol=1e-9 * expected.impurities[-1])
    assert model.tree_ is whole
    middle = path.ccp_alphas[len(path.ccp_alphas) // 2] * 1.001
    # The last alpha leaves one leaf of any tree.
    last = [path.ccp_alphas[-1]] if name == InfoGain.name else in_nightly(path.ccp_alphas[-1:])
    for alpha in (middle, *last):
        pruned = model.set_params(ccp_alpha=alpha).fit(X, y)
        by_hand = prune_cost_complexity(whole, X, y, alpha * (1 + 1e-9), loss=loss)
        assert pruned.get_n_leaves() == by_hand.n_leaves
        if name != LinearLeaves.name:   # which fits all leaves after pruning
            assert_allclose(pruned.tree_.predict(X), by_hand.predict(X))
        assert pruned.get_n_leaves() == 1 or alpha == middle


@TASKS
@pytest.mark.parametrize("weighted", [False, True])
def test_the_greedy_tree_is_that_of_scikit_learn(weighted, estimator, theirs, X, y):
    weight = np.random.default_rng(1).choice([0.5, 1.0, 3.0], len(y)) if weighted else None
    ours = estimator(4, optimizer=None)
    theirs.set_params(max_depth=4, random_state=0, ccp_alpha=0.0)
    path = ours.cost_complexity_pruning_path(X, y, weight)
    expected = theirs.cost_complexity_pruning_path(X, y, weight)
    assert not hasattr(ours, "tree_")
    assert_allclose(path.ccp_alphas, expected.ccp_alphas, atol=1e-10)
    assert_allclose(path.impurities, expected.impurities)
    for alpha in expected.ccp_alphas:
        theirs.set_params(ccp_alpha=alpha * (1 + 1e-9)).fit(X, y, weight)
        assert ours.set_params(ccp_alpha=alpha).fit(X, y, weight).get_n_leaves() == (
            theirs.get_n_leaves())
        assert_array_equal(ours.predict(X).round(9), theirs.predict(X).round(9))


def test_targets_have_the_same_influence():
    X, y = DIABETES
    y = np.column_stack([y, X[:, 2] / 100])
    model = ObliqueTreeRegressor(4, optimizer=None)
    path = model.cost_complexity_pruning_path(X, y)
    other = model.cost_complexity_pruning_path(X, y * [1.0, 1e6])
    standardised = model.cost_complexity_pruning_path(X, y / y.std(axis=0))
    for each in (path, other):
        assert_allclose(each.ccp_alphas / each.impurities[-1], standardised.ccp_alphas, atol=1e-12)
    expected = np.mean(y.var(axis=0))
    assert_allclose(path.impurities[-1], expected)


def test_classes_are_weighted():
    X, y = WINE
    class_weight = {0: 1.0, 1: 5.0, 2: 0.5}
    ours = ObliqueTreeClassifier(3, optimizer=None, class_weight=class_weight)
    theirs = DecisionTreeClassifier(
        criterion="entropy", max_depth=3, class_weight=class_weight, random_state=0)
    assert_allclose(ours.cost_complexity_pruning_path(X, y).ccp_alphas,
                    theirs.cost_complexity_pruning_path(X, y).ccp_alphas, atol=1e-10)


@pytest.mark.parametrize("validation_fraction", ["auto", 0.3])
def test_the_initial_tree_is_pruned_too(validation_fraction):
    X, y = WINE
    model = ObliqueTreeClassifier(
        3, init="info_gain", optimizer=SSGD(epochs=2), ccp_alpha=10.0, random_state=0,
        validation_fraction=validation_fraction).fit(X, y)
    assert model.get_n_leaves() == 1


def test_partial_fit_does_not_prune():
    X, y = WINE
    model = ObliqueTreeClassifier(3, optimizer=SSGD(epochs=1), ccp_alpha=10.0, random_state=0)
    assert model.partial_fit(X, y, classes=np.unique(y)).get_n_leaves() > 1


def test_the_path_is_of_the_alphas_that_prune_where_targets_are_far():
    X, y = DIABETES
    y = np.where(np.arange(len(y)) == 7, 1e6 * y, y)
    model = ObliqueTreeRegressor(5, init="info_gain", optimizer=None, random_state=0)
    n_leaves = []
    for alpha in model.cost_complexity_pruning_path(X, y).ccp_alphas:
        n_leaves.append(model.set_params(ccp_alpha=alpha * (1 + 1e-9)).fit(X, y).get_n_leaves())
    assert n_leaves == sorted(set(n_leaves), reverse=True)
    assert n_leaves[-1] == 1


@pytest.mark.parametrize("ccp_alpha", [-0.1, np.nan, "auto", None])
def test_a_bad_alpha_is_refused(ccp_alpha):
    with pytest.raises(ValueError, match="ccp_alpha"):
        ObliqueTreeClassifier(ccp_alpha=ccp_alpha).fit(*WINE)


@pytest.mark.parametrize("unit", [2.0**560, 2.0**900])
def test_the_path_of_targets_whose_squares_overflow_has_no_nan(unit):
    X, y = load_diabetes(return_X_y=True)
    model = ObliqueTreeRegressor(2, optimizer=None, leaf="constant")
    path = model.cost_complexity_pruning_path(X, unit * y)
    assert path.ccp_alphas[0] == 0.0        # it was NaN
    assert (path.ccp_alphas[1:] == np.inf).all()
    assert (path.impurities == np.inf).all()


def test_the_path_of_a_tree_that_starts_from_a_fitted_one():
    X, y = load_diabetes(return_X_y=True)
    parameters = dict(optimizer=None, leaf="constant")
    init = ObliqueTreeRegressor(3, **parameters).fit(X, y)
    paths = [ObliqueTreeRegressor(init=each, **parameters).cost_complexity_pruning_path(X, y)
             for each in (init, init.tree_)]
    np.testing.assert_array_equal(paths[0].ccp_alphas, paths[1].ccp_alphas)
