"""Properties of the trees of every initializer and of every optimizer."""

from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning

from helpers import StopAt, serves, short
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt._methods.soft.run import SoftOptimizer
from ngdt.initializers import CO2, INITIALIZERS
from ngdt.losses import HuberLoss, LogLoss, SquaredLoss
from ngdt.optimizers import OPTIMIZERS, SGD, SSGD, TAO, Annealed, EndToEnd, Optimizer

X, Y = (np.ascontiguousarray(part[::3]) for part in load_wine(return_X_y=True))
X.flags.writeable = Y.flags.writeable = False       # nothing writes into its arguments
LINEAR = Annealed(steps=30, leaf="linear")
CASES = [
    *((short(each), loss) for loss in (LogLoss(), SquaredLoss())
      for each in {**INITIALIZERS, **OPTIMIZERS}.values() if serves(each(), loss)),
    (SSGD(epochs=3, renew=2), LogLoss()), (TAO(node="axis", max_iter=2), LogLoss()),
    (Annealed(steps=30, cutoff=0.05), LogLoss()), (EndToEnd(epochs=3, cutoff=0.05), LogLoss()),
    (Annealed(steps=30), HuberLoss()), (LINEAR, SquaredLoss()), (LINEAR, HuberLoss())]
# Nothing is drawn for these, or folds only.
WITHOUT_SEED = (
    "info_gain", "pruned", "model_tree", "greedy_lp", "gto", "linear_leaves", "regrow",
    "cut_leaves", "shrink_leaves", "tao")
# Sums of whole weights are exact, and so is all that follows. OC1 rounds its scales for this.
TO_THE_LAST_BIT = "info_gain", "oc1", "greedy_lp", "gto", "regrow"


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


def cases_in_forms(is_included=lambda algorithm: True):
    """Cases with dense or sparse samples, in turn over the losses; both where there is one loss.

    The tests of the kernels have all pairs.
    """
    by_algorithm, forms = {}, (np.asarray, sparse.csr_array)
    for case in CASES:
        by_algorithm.setdefault(str(case[0]), []).append(case)
    return pytest.mark.parametrize(("algorithm", "loss", "form"), [
        (*case, form) for same in by_algorithm.values() for k, case in enumerate(same)
        for form in (forms if len(same) == 1 else [forms[k % 2]]) if is_included(case[0])],
        ids=lambda value: getattr(value, "__name__", str(value)))


@cache
def fitted(algorithm, loss, form=np.asarray):
    """The tree of all samples, which tests must not change."""
    return tree_of(algorithm, loss, standardize=True).fit(form(X), Y)


@cases_in_forms()
def test_samples_of_weight_zero_do_not_exist(algorithm, loss, form):
    weight = np.random.default_rng(0).integers(0, 3, len(Y))
    used, wild, y = weight > 0, X.copy(), Y.copy()
    wild[~used], y[~used] = 1e6, 2
    weight.flags.writeable = False
    one = tree_of(algorithm, loss).fit(form(wild), y, weight)
    other = tree_of(algorithm, loss).fit(form(X[used]), Y[used], weight[used])
    np.testing.assert_array_equal(one.apply(X), other.apply(X))
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-9)


@cases_in_forms(lambda algorithm: not algorithm.is_stochastic)
def test_a_weight_of_k_is_k_samples(algorithm, loss, form):
    random = np.random.default_rng(0)
    weight = random.integers(0, 4, len(Y), np.intp)
    again = random.permutation(np.repeat(np.arange(len(Y)), weight))
    one = tree_of(algorithm, loss).fit(form(X), Y, weight)
    other = tree_of(algorithm, loss).fit(form(X[again]), Y[again])
    assert one.get_n_leaves() > 1
    np.testing.assert_array_equal(one.apply(X[weight > 0]), other.apply(X[weight > 0]))
    np.testing.assert_allclose(one.predict(X), other.predict(X))
    assert one.tree_ == other.tree_ or algorithm.name not in TO_THE_LAST_BIT or not (
        loss.is_classifier)


@pytest.mark.usefixtures("two_blas_threads")
@cases_in_forms()
def test_threads_change_no_bit(algorithm, loss, form):
    one = fitted(algorithm, loss, form)
    three = tree_of(algorithm, loss, standardize=True, n_jobs=3).fit(form(X), Y)
    assert one.tree_ == three.tree_
    np.testing.assert_equal(one.history_, three.history_)


@cases(lambda algorithm: algorithm.name not in WITHOUT_SEED)
def test_the_seed_settles_the_tree(algorithm, loss):
    same, other = (tree_of(algorithm, loss, standardize=True, random_state=seed).fit(X, Y).tree_
                   for seed in (0, 1))
    assert same == fitted(algorithm, loss).tree_ != other


@cases()
def test_the_form_of_data_that_it_holds_exactly_changes_no_bit(algorithm, loss):
    """No sum has two terms, so that none depends on an order, but for sums over the samples."""
    random = np.random.default_rng(0)
    Z = np.zeros((120, 6))
    Z[np.arange(120), random.integers(0, 6, 120)] = random.integers(-8, 8, 120) / 4
    y = (Z.sum(axis=1) > 0) + (Z[:, 0] != 0)
    if isinstance(algorithm, (SGD, CO2)):       # nu is such a sum, by default
        algorithm = clone(algorithm)
        getattr(algorithm, "optimizer", algorithm).set_params(nu=50.0)
    dense, csr = ([tree_of(algorithm, loss, standardize=False).fit(form(Z.astype(dtype)), y).tree_
                   for dtype in (np.float32, np.float64)]
                  for form in (np.asarray, sparse.csr_array))
    assert dense[0].n_leaves > 1
    assert dense[0] == dense[1]
    assert csr[0] == csr[1]
    # Without a cutoff, soft routing of dense samples is a product of matrices.
    soft = getattr(algorithm, "stump", algorithm)
    assert dense[0] == csr[0] or (isinstance(soft, SoftOptimizer) and soft.cutoff != 0.05)


@cases()
def test_units_of_features_change_no_prediction(algorithm, loss):
    unit = 2.0 ** np.random.default_rng(0).choice([-490, -20, 0, 3, 20, 490], X.shape[1])
    one = fitted(algorithm, loss)
    other = tree_of(algorithm, loss, standardize=True).fit(X * unit, Y)
    np.testing.assert_array_equal(one.apply(X), other.apply(X * unit))
    np.testing.assert_array_equal(one.predict(X), other.predict(X * unit))


@cases(lambda algorithm: isinstance(algorithm, SoftOptimizer))
def test_a_unit_of_all_features_changes_no_prediction(algorithm, loss):
    one, other = (tree_of(algorithm, loss, standardize="global").fit(unit * X, Y)
                  for unit in (1.0, 2.0**490))
    np.testing.assert_array_equal(one.predict(X), other.predict(2.0**490 * X))


@pytest.mark.parametrize(("algorithm", "loss"), [
    case for case in CASES if not case[1].is_classifier], ids=str)
def test_predictions_are_in_the_unit_of_the_targets(algorithm, loss):
    one = fitted(algorithm, loss)
    for unit, offset in ((1024.0, 512.0), (2.0**-40, 0.0), (2.0**900, 0.0)):
        other = tree_of(algorithm, loss, standardize=True).fit(X, unit * Y - offset)
        np.testing.assert_array_equal(one.apply(X), other.apply(X))
        np.testing.assert_allclose(
            other.predict(X), unit * one.predict(X) - offset, atol=1e-12 * unit)


@cases()
def test_little_to_learn_from(algorithm, loss):
    wide, both = np.random.default_rng(0).normal(size=(10, 50)), np.arange(8) % 2
    for name, Z, y in (
            ("one sample", X[:1], np.ones(1)),
            ("two samples", sparse.csr_array([[0.0], [1.0]]), np.arange(2)),
            ("one target", X[:20], np.zeros(20)),
            ("copies of a feature", sparse.csr_array(np.repeat(X[::3, :1], 3, axis=1)), Y[::3]),
            ("more features than samples", wide, np.arange(10) % 3),
            ("constant features", np.ones((8, 3)), both),
            ("nothing stored", sparse.csr_array((8, 3)), both)):
        model = tree_of(algorithm, loss).fit(Z, y)
        predicted = model.predict(Z)
        assert np.isfinite(model.tree_.values).all(), name
        assert y.min() - 1e-9 <= predicted.min(), name
        assert predicted.max() <= y.max() + 1e-9, name
        if y is both:       # any class of equals, or the mean
            assert model.score(Z, y) == pytest.approx(0.5 if loss.is_classifier else 0.0), name


@cases(lambda algorithm: getattr(algorithm, "metrics", ()) and algorithm.name != "regrow")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_leaves_the_tree_so_far(algorithm, loss, n_jobs):
    model = tree_of(algorithm, loss, n_jobs=n_jobs, callback=StopAt(1))
    with pytest.warns(ConvergenceWarning, match="interrupted after 1 epoch"):
        model.fit(X, Y)
    assert model.n_iter_ == 1
    assert {len(column) for column in model.history_.values()} == {1}
    assert np.isfinite(model.predict(X)).all()
