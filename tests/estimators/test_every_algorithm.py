"""What holds of the trees of every initializer and of every optimizer."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning

from helpers import FORMS, StopAt, serves, short
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt.initializers import INITIALIZERS, ModelTree
from ngdt.losses import HuberLoss, LogLoss, SquaredLoss
from ngdt.optimizers import OPTIMIZERS, SSGD, TAO, Annealed, EndToEnd, Optimizer

X, Y = (np.ascontiguousarray(part[::2]) for part in load_wine(return_X_y=True))
LINEAR = Annealed(steps=60, leaf="linear")
CASES = [
    *((short(each), loss) for loss in (LogLoss(), SquaredLoss())
      for each in {**INITIALIZERS, **OPTIMIZERS}.values() if serves(each(), loss)),
    (SSGD(epochs=3, renew=2), LogLoss()), (TAO(node="axis", max_passes=2), LogLoss()),
    (Annealed(steps=60, cutoff=0.05), LogLoss()), (EndToEnd(epochs=3, cutoff=0.05), LogLoss()),
    (Annealed(steps=60), HuberLoss()), (LINEAR, SquaredLoss()), (LINEAR, HuberLoss())]
# Nothing is drawn for these, or folds only.
WITHOUT_SEED = (
    "info_gain", "pruned", "model_tree", "greedy_lp", "gto", "linear_leaves", "regrow",
    "shrink_leaves", "tao")
# Sums of whole weights are exact, and so is all that follows.
TO_THE_LAST_BIT = "info_gain", "greedy_lp", "gto", "regrow"


def cases(is_included=lambda algorithm: True):
    return pytest.mark.parametrize(
        ("algorithm", "loss"), [case for case in CASES if is_included(case[0])], ids=str)


def tree_of(algorithm, loss, **parameters):
    """An estimator whose tree an initializer makes, or an optimizer trains."""
    estimator = ObliqueTreeClassifier if loss.is_classifier else ObliqueTreeRegressor
    given = {"optimizer": [algorithm]} if isinstance(algorithm, Optimizer) else {
        "init": algorithm, "optimizer": None}
    return estimator(loss=loss, **given, **{
        "max_depth": 4, "random_state": 0, "validation_fraction": None} | parameters)


@FORMS
@cases()
def test_samples_of_weight_zero_do_not_exist(algorithm, loss, form):
    weight = np.random.default_rng(0).integers(0, 3, len(Y))
    used, wild, y = weight > 0, X.copy(), Y.copy()
    wild[~used], y[~used] = 1e6, 2
    # Penalties are compared by errors that may be equal but for rounding.
    algorithm = ModelTree(penalty=1.0) if isinstance(algorithm, ModelTree) else algorithm
    one = tree_of(algorithm, loss).fit(form(wild), y, weight)
    other = tree_of(algorithm, loss).fit(form(X[used]), Y[used], weight[used])
    np.testing.assert_array_equal(one.apply(X), other.apply(X))
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-9)


@FORMS
@cases(lambda algorithm: not algorithm.is_stochastic)
def test_a_weight_of_k_is_k_samples(algorithm, loss, form):
    random = np.random.default_rng(0)
    weight = random.integers(0, 4, len(Y), np.intp)
    again = random.permutation(np.repeat(np.arange(len(Y)), weight))
    one = tree_of(algorithm, loss).fit(form(X), Y, weight)
    other = tree_of(algorithm, loss).fit(form(X[again]), Y[again])
    assert one.get_n_leaves() > 2
    np.testing.assert_array_equal(one.apply(X[weight > 0]), other.apply(X[weight > 0]))
    np.testing.assert_allclose(one.predict(X), other.predict(X))
    assert one.tree_ == other.tree_ or algorithm.name not in TO_THE_LAST_BIT or not (
        loss.is_classifier)


@pytest.mark.usefixtures("two_blas_threads")
@FORMS
@cases()
def test_threads_change_no_bit(algorithm, loss, form):
    one, three = (
        tree_of(algorithm, loss, max_depth=7, n_jobs=n_jobs).fit(form(X), Y) for n_jobs in (1, 3))
    assert one.tree_ == three.tree_
    np.testing.assert_equal(one.history_, three.history_)


@cases(lambda algorithm: algorithm.name not in WITHOUT_SEED)
def test_the_seed_settles_the_tree(algorithm, loss):
    one, same, other = (
        tree_of(algorithm, loss, random_state=seed).fit(X, Y).tree_ for seed in (0, 0, 1))
    assert one == same
    assert one != other


@cases(lambda algorithm: getattr(algorithm, "metrics", ()) and algorithm.name != "regrow")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_leaves_the_tree_so_far(algorithm, loss, n_jobs):
    model = tree_of(algorithm, loss, n_jobs=n_jobs, callback=StopAt(1))
    with pytest.warns(ConvergenceWarning, match="interrupted after 1 epoch"):
        model.fit(X, Y)
    assert model.n_iter_ == 1
    assert {len(column) for column in model.history_.values()} == {1}
    assert np.isfinite(model.predict(X)).all()
