"""ObliqueTreeClassifier and ObliqueTreeRegressor beyond scikit-learn's own checks."""

import pickle
import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import validate_data

from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt._selection import hold_out
from ngdt.initializers import INITIALIZERS, InfoGain
from ngdt.losses import LogLoss, SquaredLoss
from ngdt.optimizers import OPTIMIZERS, SGD, SSGD, Optimizer
from ngdt.testing.strategies import trees

BOTH = pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueTreeRegressor])


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600]


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


def short(**parameters):
    return SSGD(epochs=3, **parameters)


# --- what comes out ------------------------------------------------------------------------------


def test_classifier_attributes_and_shapes(digits):
    X, y = digits
    fitted = ObliqueTreeClassifier(4, optimizer=short(), random_state=0).fit(X, y)
    leaves = fitted.tree_.n_leaves
    assert fitted.n_features_in_ == 64
    assert fitted.n_classes_ == fitted.tree_.n_outputs == 10
    assert fitted.n_outputs_ == 1
    assert fitted.tree_.max_depth <= 4
    assert set(fitted.apply(X)) <= set(range(leaves))
    assert fitted.decision_path(X).shape == (600, leaves - 1)
    assert fitted.predict_proba(X).shape == (600, 10)
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1)
    np.testing.assert_allclose(fitted.predict_log_proba(X), np.log(fitted.predict_proba(X)))
    np.testing.assert_array_equal(
        fitted.classes_[fitted.predict_proba(X).argmax(axis=1)], fitted.predict(X))


def test_the_default_beats_its_greedy_start(digits):
    X, y = digits
    greedy = ObliqueTreeClassifier(5, optimizer=None).fit(X[:400], y[:400])
    tree = ObliqueTreeClassifier(5, random_state=0).fit(X[:400], y[:400])
    assert tree.score(X[400:], y[400:]) > greedy.score(X[400:], y[400:]) + 0.05


def test_the_default_regressor_lowers_the_error_of_its_start_on_new_rows(diabetes):
    X, y = diabetes
    greedy = ObliqueTreeRegressor(6, optimizer=None).fit(X[:300], y[:300])
    tree = ObliqueTreeRegressor(6, random_state=0).fit(X[:300], y[:300])
    assert tree.score(X[300:], y[300:]) > greedy.score(X[300:], y[300:]) + 0.05


@pytest.mark.parametrize("labels", [
    np.array(["setosa", "versicolor", "virginica"]),
    np.array(["a", "b", "c"], dtype=object),
    np.array([-7, 0, 1000]),
    np.array([0.5, 1.5, 2.5]).round().astype(np.int8),
])
def test_labels_of_any_type(iris, labels):
    X, y = iris
    fitted = ObliqueTreeClassifier(3, optimizer=short(), random_state=0).fit(X, labels[y])
    plain = ObliqueTreeClassifier(3, optimizer=short(), random_state=0).fit(X, y)
    assert fitted.classes_.dtype == labels.dtype
    if len(np.unique(labels)) == 3:
        np.testing.assert_array_equal(fitted.predict(X), labels[plain.predict(X)])


def test_two_booleans(iris):
    X, y = iris
    fitted = ObliqueTreeClassifier(2, optimizer=None).fit(X, y == 0)
    assert fitted.predict(X).dtype == bool
    assert fitted.score(X, y == 0) == 1.0


@pytest.mark.parametrize("optimizer", [None, "ssgd"])
def test_regression_of_several_targets(diabetes, optimizer):
    X, y = diabetes
    Y = np.column_stack([y, -1e6 * y, np.full_like(y, 3.0)])
    fitted = ObliqueTreeRegressor(3, optimizer=optimizer, random_state=0).fit(X, Y)
    assert fitted.predict(X).shape == Y.shape
    assert fitted.n_outputs_ == 3
    np.testing.assert_allclose(
        fitted.predict(X)[:, 1], -1e6 * fitted.predict(X)[:, 0], rtol=1e-6)
    np.testing.assert_allclose(fitted.predict(X)[:, 2], 3.0)


def test_one_column_of_targets_is_predicted_as_a_vector(diabetes):
    X, y = diabetes
    vector, column = (
        ObliqueTreeRegressor(3, optimizer=None).fit(X, target).predict(X)
        for target in (y, y[:, None]))
    assert column.shape == y.shape
    np.testing.assert_array_equal(vector, column)


@pytest.mark.parametrize("unit", [2.0**-40, 2.0**900])     # scales without rounding
def test_units_of_the_target_do_not_matter(diabetes, unit):
    X, y = diabetes
    one, other = (
        ObliqueTreeRegressor(3, optimizer=short(), random_state=0).fit(X, scale * y).predict(X)
        for scale in (1.0, unit))
    np.testing.assert_allclose(other, unit * one, rtol=1e-9)


@BOTH
@pytest.mark.parametrize("optimizer", [None, SSGD(), "ssgd"])
@pytest.mark.parametrize(("X", "y"), [
    ([[1.0, 2.0]], [1]),  # one sample
    ([[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1]),  # one feature
    ([[1.0, 0.0], [2.0, 0.0], [3.0, 1.0]], [5, 5, 5]),  # one class, one value
    ([[1.0, 2.0], [1.0, 2.0]], [0, 1]),  # nothing to tell rows apart
])
def test_degenerate_data_give_a_sensible_tree(estimator, optimizer, X, y):
    fitted = estimator(3, init=InfoGain(), optimizer=optimizer, random_state=0).fit(X, y)
    assert np.isfinite(fitted.tree_.values).all()
    if len(np.unique(X, axis=0)) == len(X) and optimizer != "ssgd":  # the name shrinks leaves
        np.testing.assert_allclose(fitted.predict(X), y)
    if len(set(y)) == 1:
        assert fitted.tree_.n_leaves == 1


@BOTH
def test_no_depth_is_one_leaf(estimator, iris):
    fitted = estimator(0).fit(*iris)
    assert fitted.tree_.n_leaves == 1
    assert not fitted.feature_importances_.any()


@BOTH
def test_unlimited_depth_fits_the_training_rows(estimator, iris):
    X, y = iris
    X, first = np.unique(X, axis=0, return_index=True)
    # Leaves of less weight than their number of classes would be smoothed into a tie.
    fitted = estimator(None, optimizer=None).fit(X, y[first], np.full(len(X), 10.0))
    assert fitted.score(X, y[first]) == pytest.approx(1.0)


# --- how data come in ----------------------------------------------------------------------------


def test_one_row_is_predicted_as_in_a_batch(digits):
    X, y = digits
    fitted = ObliqueTreeClassifier(6, optimizer=short(), random_state=0).fit(X, y)
    batch = fitted.predict_proba(X)
    for i in range(50):
        np.testing.assert_array_equal(fitted.predict_proba(X[i:i + 1])[0], batch[i])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_unchecked_input_gives_the_same(digits, form, dtype):
    X, y = digits
    X = form(X.astype(dtype))
    fitted = ObliqueTreeClassifier(4, optimizer=None).fit(X, y)
    for method in ("predict", "predict_proba", "predict_log_proba", "apply"):
        call = getattr(fitted, method)
        np.testing.assert_array_equal(call(X, check_input=False), call(X))


def test_unchecked_input_of_another_width_is_refused(iris):
    fitted = ObliqueTreeClassifier(2, optimizer=None).fit(*iris)
    with pytest.raises(ValueError, match="X has 3 features"):
        fitted.predict(np.ones((1, 3)), check_input=False)
    with pytest.raises(TypeError, match="X must be"):
        fitted.predict([[1.0, 2.0, 3.0, 4.0]], check_input=False)


@pytest.mark.parametrize("check_input", [False, True])
def test_data_wider_than_the_tree_are_refused(iris, check_input):
    fitted = ObliqueTreeClassifier(2, optimizer=None).fit(*iris)
    fitted.tree_ = Tree([[1.0]], [0.0], [~0], [~1], np.zeros((2, 3)))   # one feature, not four
    with pytest.raises(ValueError, match=r"X has 4 features, but the tree was built for 1"):
        fitted.predict(iris[0], check_input=check_input)


@pytest.mark.parametrize("check_input", [False, True])
@pytest.mark.parametrize("fitted_before", [False, True])
def test_a_fit_that_fails_leaves_no_tree(iris, check_input, fitted_before):
    def fail(progress):
        raise RuntimeError("no more")

    X, y = iris
    model = ObliqueTreeClassifier(2, optimizer=short())
    if fitted_before:
        model.fit(X, y)
    with pytest.raises(RuntimeError, match="no more"):
        model.set_params(callback=fail).fit(X[:, :3], y)
    with pytest.raises(NotFittedError):
        model.predict(X[:, :3], check_input=check_input)



class _Spy(Optimizer):
    """Keeps the problem it was given and changes nothing."""

    def optimize(self, tree, problem):
        self.seen.append(problem)
        return tree, {}


@pytest.fixture
def spy():
    _Spy.seen = []
    return _Spy()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_data_reach_the_optimizer_as_they_are(digits, spy, dtype, as_sparse):
    X, y = digits
    X = sparse.csr_matrix(X, dtype=dtype) if as_sparse else X.astype(dtype)
    ObliqueTreeClassifier(2, optimizer=spy).fit(X, y)
    assert spy.seen
    for problem in spy.seen:
        assert problem.X.dtype == dtype
        assert np.shares_memory(*((X.data, problem.X.data) if as_sparse else (X, problem.X)))
        assert problem.validation_weight is None  # few rows
        assert problem.y.shape == (600, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_read_only_memory_map(tmp_path, digits, dtype):
    X, y = digits
    np.save(tmp_path / "X.npy", X.astype(dtype))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    fitted = ObliqueTreeClassifier(3, optimizer=short(), random_state=0).fit(mapped, y)
    assert fitted.tree_ == clone(fitted).fit(X.astype(dtype), y).tree_


def test_fit_and_predict_do_not_copy_the_data():
    rng = np.random.default_rng(0)
    X = rng.random((20_000, 500), dtype=np.float32)
    y = (X[:, 0] > 0.5).astype(int)
    estimator = ObliqueTreeClassifier(3, optimizer=None).fit(X[:100], y[:100])
    tracemalloc.start()
    estimator.fit(X, y)
    of_fit = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    estimator.predict(X)
    of_predict = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert of_fit < 0.2 * X.nbytes
    assert of_predict < 0.02 * X.nbytes


def test_pandas_feature_names(iris):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(iris[0], columns=list("abcd"))
    fitted = ObliqueTreeClassifier(2, optimizer=short(), random_state=0).fit(X, iris[1])
    assert list(fitted.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(X[list("dcba")])


@given(
    tree=trees(n_outputs=st.just(2), sparse_weights=st.booleans()),
    form=st.sampled_from([np.asarray, sparse.csr_array]),
    dtype=st.sampled_from([np.float32, np.float64]),
    bad=st.sampled_from([np.nan, np.inf, -np.inf]),
    data=st.data())
def test_prediction_refuses_what_is_not_finite_wherever_it_is(tree, form, dtype, bad, data):
    # The kernel finds it by its scores, so it matters which features a tree uses.
    p = tree.n_features
    fitted = ObliqueTreeClassifier(0).fit(np.zeros((2, p)), [0, 1])
    fitted.tree_ = tree
    X = np.ones((data.draw(st.integers(1, 5)), p), dtype)
    fitted.predict(form(X))
    X[data.draw(st.integers(0, len(X) - 1)), data.draw(st.integers(0, p - 1))] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity") as expected:
        validate_data(fitted, form(X), reset=False, accept_sparse="csr", dtype=dtype)
    for method in (fitted.apply, fitted.predict, fitted.predict_proba, fitted.decision_path):
        with pytest.raises(ValueError, match=re.escape(str(expected.value))):
            method(form(X))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_huge_values_are_no_error_though_scores_overflow(form):
    fitted = ObliqueTreeClassifier(1).fit([[0.0, 0.0], [1.0, 1.0]], [0, 1])
    fitted.tree_ = Tree([[1.0, 1.0]], [0.0], [~0], [~1], [[1.0, 0.0], [0.0, 1.0]])
    X = form(np.array([[1e308, 1e308], [-1e308, -1e308], [1.0, 1.0]]))
    np.testing.assert_array_equal(fitted.apply(X), [1, 0, 1])
    np.testing.assert_array_equal(fitted.apply(X, check_input=False), [1, 0, 1])


# --- weights -------------------------------------------------------------------------------------


def test_dict_and_balanced_class_weight_are_row_weights(iris):
    X, y = iris[0][:120], iris[1][:120]  # 50, 50, 20
    by_class = np.array([0.8, 0.8, 2.0])
    balanced = ObliqueTreeClassifier(3, optimizer=None, class_weight="balanced").fit(X, y)
    given = ObliqueTreeClassifier(
        3, optimizer=None, class_weight=dict(enumerate(by_class))).fit(X, y)
    weighted = ObliqueTreeClassifier(3, optimizer=None).fit(X, y, by_class[y])
    np.testing.assert_allclose(balanced.predict_proba(X), weighted.predict_proba(X))
    np.testing.assert_array_equal(given.predict_proba(X), weighted.predict_proba(X))


def test_balanced_class_weight_counts_by_sample_weight(iris):
    X, y = iris
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    estimator = ObliqueTreeClassifier(3, optimizer=None, class_weight="balanced")
    weighted = clone(estimator).fit(X, y, weight)
    repeated = clone(estimator).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X))


@BOTH
def test_rows_of_no_weight_take_no_part(estimator, iris):
    X, y = iris
    weight = np.ones(len(y))
    weight[::3] = 0
    noise = np.where(weight == 0, (y + 1) % 3, y)
    parameters = dict(max_depth=3, optimizer=short(), random_state=0)
    fitted = estimator(**parameters).fit(X, noise, weight)
    clean = estimator(**parameters).fit(X, y, weight)
    np.testing.assert_array_equal(fitted.predict(X), clean.predict(X))


@BOTH
@pytest.mark.parametrize(("weight", "message"), [
    ([1.0] * 149, "sample_weight must have shape"),
    ([[1.0]] * 150, "sample_weight must have shape"),
    ([-1.0] + [1.0] * 149, "sample_weight must not be negative"),
    ([0.0] * 150, "sample_weight must not be zero"),
    (["heavy"] * 150, "sample_weight: could not convert"),
    ([np.nan] * 150, "sample_weight contains NaN"),
    ([np.inf] * 150, "sample_weight contains infinity"),
])
def test_bad_weights_are_refused(estimator, iris, weight, message):
    with pytest.raises(ValueError, match=message):
        estimator().fit(*iris, weight)


@pytest.mark.parametrize(("class_weight", "message"), [
    ({0: 1.0, 1: 1.0, 2: -1.0}, "class_weight must be finite and not negative"),
    ({0: 1.0, 1: 1.0, 2: np.nan}, "class_weight must be finite and not negative"),
    ({0: 0.0, 1: 0.0, 2: 0.0}, "class_weight and sample_weight leave no sample"),
    ({0: 1.0, "virginica": 2.0}, r"not in class_weight"),
    ({0: 1.0, 1: 1.0, 2: "much"}, "class_weight: could not convert"),
    ("evenly", "class_weight"),
])
def test_bad_class_weights_are_refused(iris, class_weight, message):
    with pytest.raises(ValueError, match=message):
        ObliqueTreeClassifier(class_weight=class_weight).fit(*iris)


# --- held-out rows -------------------------------------------------------------------------------


def test_held_out_rows_are_stratified_and_rare_classes_stay():
    labels = np.repeat([0, 1, 2], [900, 95, 5])
    weight = np.arange(1000) + 1.0
    training, validation = hold_out(weight, 0.1, labels, seed=0)
    np.testing.assert_array_equal(training + validation, weight)
    assert not (training * validation).any()
    assert np.bincount(labels[validation > 0], minlength=3).tolist() == [90, 9, 0]


def test_held_out_rows_depend_on_the_seed_alone():
    labels = np.random.default_rng(0).integers(0, 3, 500)
    one, same, other = (hold_out(np.ones(500), 0.2, labels, seed)[1] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_absent_rows_are_not_held_out():
    weight = np.tile([0.0, 1.0], 500)
    _, validation = hold_out(weight, 0.1, None, seed=0)
    assert np.count_nonzero(validation) == np.count_nonzero(validation[1::2]) == 50


@pytest.mark.parametrize("fraction", [0, None, 1e-9])
def test_nothing_held_out(fraction):
    training, validation = hold_out(np.ones(50), fraction, None, seed=0)
    assert validation is None
    assert training.all()


@pytest.mark.parametrize(("rows", "held"), [(1999, 0), (2000, 200)])
def test_auto_holds_out_a_tenth_of_many_rows(rows, held):
    validation = hold_out(np.ones(rows), "auto", None, seed=0)[1]
    assert (0 if validation is None else np.count_nonzero(validation)) == held


class _Wrecker(Optimizer):
    """Returns the same splits with leaves that know nothing."""

    is_stochastic = True

    def optimize(self, tree, problem):
        return Tree(tree.weights, tree.thresholds, tree.children_left, tree.children_right,
                    np.zeros_like(tree.values)), {}


@BOTH
@pytest.mark.parametrize("fraction", [0.2, "auto"])
def test_a_worse_result_loses_to_the_start_grown_on_all_rows(estimator, fraction, digits):
    fitted = estimator(4, optimizer=_Wrecker(), validation_fraction=fraction).fit(*digits)
    assert fitted.baseline_kept_
    assert fitted.tree_ == estimator(4, optimizer=None).fit(*digits).tree_


@pytest.mark.parametrize("fraction", [0.2, "auto"])
def test_a_better_result_wins_against_the_start(fraction, digits):
    fitted = ObliqueTreeClassifier(
        4, optimizer=SSGD(epochs=60), validation_fraction=fraction, random_state=0).fit(*digits)
    assert not fitted.baseline_kept_


@pytest.mark.parametrize("fraction", [0.2, "auto"])
def test_a_given_tree_does_not_compete(fraction, digits):
    # It may have been fitted on the very rows that would have to judge it.
    start = ObliqueTreeClassifier(None, optimizer=None).fit(*digits)
    fitted = ObliqueTreeClassifier(
        init=start, optimizer=_Wrecker(), validation_fraction=fraction).fit(*digits)
    assert not fitted.baseline_kept_
    assert fitted.tree_ != start.tree_


def test_ctrl_c_while_folds_are_trained_leaves_the_start(digits):
    class Interrupted(_Wrecker):
        calls = 0

        def optimize(self, tree, problem):
            Interrupted.calls += 1
            return tree, {"interrupted": True}

    with pytest.warns(ConvergenceWarning, match="interrupted after 0 epochs"):
        fitted = ObliqueTreeClassifier(4, optimizer=Interrupted()).fit(*digits)
    assert Interrupted.calls == 1
    assert fitted.tree_ == ObliqueTreeClassifier(4, optimizer=None).fit(*digits).tree_


def test_without_held_out_rows_nothing_competes(digits):
    fitted = ObliqueTreeClassifier(4, optimizer=_Wrecker(), validation_fraction=None).fit(*digits)
    assert not fitted.baseline_kept_
    assert not fitted.tree_.values.any()


# --- starts, optimizers and losses ---------------------------------------------------------------


@pytest.mark.parametrize(("estimator", "name"), [
    (estimator, name) for estimator in (ObliqueTreeClassifier, ObliqueTreeRegressor)
    for name in sorted(INITIALIZERS)
    if estimator is ObliqueTreeClassifier or name != "greedy_lp"])     # which refuses numbers
def test_a_start_by_name_is_the_start_by_object(iris, name, estimator):
    one, other = (
        estimator(3, init=init, optimizer=None, random_state=0).fit(*iris)
        for init in (name, INITIALIZERS[name]()))
    assert one.tree_ == other.tree_


@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_an_optimizer_by_object_and_in_a_list(iris, name):
    estimator = ObliqueTreeClassifier if name == "gto" else ObliqueTreeRegressor
    trees = [
        estimator(2, optimizer=optimizer, random_state=0).fit(*iris).tree_
        for optimizer in (OPTIMIZERS[name](), [name], (OPTIMIZERS[name](),))]
    assert trees.count(trees[0]) == 3


@BOTH
@pytest.mark.parametrize("name", ["sgd", "ssgd"])
def test_the_name_of_an_optimizer_brings_its_finishing_steps(estimator, name, digits):
    X, y = digits
    chain = [name, *estimator._finishing_steps]
    one, other = (
        estimator(3, optimizer=optimizer, validation_fraction=0.3, random_state=0).fit(X, y).tree_
        for optimizer in (name, chain))
    assert one == other


def test_a_list_runs_in_order_and_the_history_is_one_table(iris):
    chain = [SGD(epochs=2), _Other(), SSGD(epochs=3)]
    fitted = ObliqueTreeClassifier(
        2, optimizer=chain, validation_fraction=None, random_state=0).fit(*iris)
    history = fitted.history_
    assert history["step"] == ["SGD"] * 2 + ["_Other"] + ["SSGD"] * 3
    assert fitted.n_iter_ == 6
    assert {len(column) for column in history.values()} == {6}
    assert np.isnan(history["bound"]).tolist() == [False] * 2 + [True] + [False] * 3
    np.testing.assert_array_equal(history["special"], [np.nan] * 2 + [7] + [np.nan] * 3)
    bound, loss = np.array(history["bound"]), np.array(history["loss"])
    assert (bound[[0, 1, 3, 4, 5]] >= loss[[0, 1, 3, 4, 5]] - 1e-9).all()


class _Other(Optimizer):
    def optimize(self, tree, problem):
        return tree, {"special": [7]}


def test_an_impossible_step_is_refused_before_any_step_runs(iris, spy):
    class Impossible(Optimizer):
        def check(self, problem):
            raise ValueError("Impossible does not work with the log loss")

        def optimize(self, tree, problem):
            raise AssertionError

    with pytest.raises(ValueError, match="Impossible does not work"):
        ObliqueTreeClassifier(optimizer=[spy, Impossible()]).fit(*iris)
    assert spy.seen == []


def test_a_tree_as_start(iris):
    start = ObliqueTreeClassifier(3, optimizer=None).fit(*iris).tree_
    kept = ObliqueTreeClassifier(init=start, optimizer=None).fit(*iris)
    assert kept.tree_ == start
    assert clone(kept).fit(*iris).tree_ == start  # a tree survives cloning
    trained = ObliqueTreeClassifier(
        init=start, optimizer=short(), validation_fraction=None, random_state=0).fit(*iris)
    assert trained.tree_ != start
    assert trained.tree_.n_internal == start.n_internal


@pytest.mark.parametrize("freeze", [False, True])
def test_a_fitted_estimator_as_start(iris, freeze):
    X, y = iris
    for fitted in (ObliqueTreeClassifier(2, optimizer=None), DecisionTreeClassifier(max_depth=2)):
        fitted.fit(X, y)
        init = FrozenEstimator(fitted) if freeze else fitted
        kept = ObliqueTreeClassifier(init=init, optimizer=None).fit(X, y)
        np.testing.assert_array_equal(kept.predict(X), fitted.predict(X))


def test_a_fitted_regressor_as_start_keeps_its_units(diabetes):
    X, y = diabetes
    X = X.astype(np.float32)
    for targets in (1000 + y, np.column_stack([y, 1e3 * y])):
        for fitted in (ObliqueTreeRegressor(3, optimizer=None),
                       DecisionTreeRegressor(max_depth=3, random_state=0)):
            fitted.fit(X, targets)
            kept = ObliqueTreeRegressor(init=fitted, optimizer=None).fit(X, targets)
            np.testing.assert_allclose(kept.predict(X), fitted.predict(X))


def test_a_start_that_does_not_fit_is_refused(iris, diabetes):
    X, y = iris
    fitted = ObliqueTreeClassifier(2, optimizer=None).fit(X, y)
    with pytest.raises(ValueError, match="init: the tree is for 4 features, but the data have 3"):
        ObliqueTreeClassifier(init=fitted).fit(X[:, :3], y)
    with pytest.raises(ValueError, match="init: the tree is for 3 outputs, but the data have 2"):
        ObliqueTreeClassifier(init=fitted.tree_).fit(X[:100], y[:100])
    with pytest.raises(ValueError, match=r"init was fitted for the classes \[0 1 2\]"):
        ObliqueTreeClassifier(init=fitted).fit(X, y + 1)
    with pytest.raises(ValueError, match="does not predict what ObliqueTreeRegressor does"):
        ObliqueTreeRegressor(init=fitted).fit(X, y)
    for unfitted in (ObliqueTreeClassifier(), DecisionTreeClassifier()):
        with pytest.raises(NotFittedError, match="pass the Tree instead"):
            ObliqueTreeClassifier(init=unfitted).fit(X, y)


@BOTH
@pytest.mark.parametrize(("parameter", "value", "error"), [
    ("max_depth", -1, ValueError),
    ("max_depth", 2.5, ValueError),
    ("init", "best", ValueError),
    ("init", 3, TypeError),
    ("init", LogisticRegression(), TypeError),
    ("optimizer", "adam", ValueError),
    ("optimizer", ["ssgd", "adam"], ValueError),
    ("optimizer", InfoGain(), TypeError),
    ("optimizer", SSGD, TypeError),
    ("optimizer", [None], TypeError),
    ("loss", "hinge", ValueError),
    ("loss", 1, TypeError),
    ("validation_fraction", 1.0, ValueError),
    ("validation_fraction", -0.1, ValueError),
    ("validation_fraction", "some", ValueError),
    ("standardize", "local", ValueError),
    ("n_jobs", 1.5, ValueError),
    ("n_jobs", 0, ValueError),
    ("callback", 1, ValueError),
    ("warm_start", "yes", ValueError),
    ("random_state", "seed", ValueError),
])
def test_bad_parameters_are_named(estimator, iris, parameter, value, error):
    with pytest.raises(error, match=parameter):
        estimator(**{parameter: value}).fit(*iris)


def test_a_class_in_place_of_an_object_is_told_how_to_make_one(iris):
    with pytest.raises(TypeError, match=r"pass an object, SSGD\(\)"):
        ObliqueTreeClassifier(optimizer=SSGD).fit(*iris)
    with pytest.raises(TypeError, match=r"pass an object, InfoGain\(\)"):
        ObliqueTreeClassifier(init=InfoGain).fit(*iris)


def test_unknown_names_list_the_known_ones(iris):
    for parameter, registry in (("init", INITIALIZERS), ("optimizer", OPTIMIZERS)):
        with pytest.raises(ValueError, match="unknown") as caught:
            ObliqueTreeClassifier(**{parameter: "nonsense"}).fit(*iris)
        assert all(name in str(caught.value) for name in registry)


@pytest.mark.parametrize("loss", ["log", LogLoss(), LogLoss(pseudo_count=1.0)])
def test_loss_by_name_and_by_object(iris, loss):
    plain, named = (
        ObliqueTreeClassifier(2, loss=choice, optimizer=short(), random_state=0).fit(*iris).tree_
        for choice in (None, loss))
    assert plain == named


def test_a_loss_of_the_other_task_is_refused(iris):
    with pytest.raises(ValueError, match=r"loss='squared' is for values.*ObliqueTreeClassifier"):
        ObliqueTreeClassifier(loss="squared").fit(*iris)
    with pytest.raises(ValueError, match="is for classes"):
        ObliqueTreeRegressor(loss=LogLoss()).fit(*iris)
    ObliqueTreeRegressor(1, loss=SquaredLoss(), optimizer=None).fit(*iris)


@pytest.mark.parametrize(("X", "y", "message"), [
    ([[np.nan], [1.0]], [0, 1], "X contains NaN"),
    ([[np.inf], [1.0]], [0, 1], "X contains infinity"),
    (np.empty((0, 2)), [], "0 sample"),
    (np.empty((2, 0)), [0, 1], "0 feature"),
    ([[1.0], [2.0]], [0, 1, 1], "inconsistent"),
    ([1.0, 2.0], [0, 1], "2D array"),
    ([[[1.0]], [[2.0]]], [0, 1], "dim 3"),
])
@BOTH
def test_bad_data_are_refused(estimator, X, y, message):
    with pytest.raises(ValueError, match=message):
        estimator().fit(X, y)


def test_bad_targets_are_refused(iris):
    X, y = iris
    for target in (np.where(y == 0, np.nan, y), np.where(y == 0, np.inf, y)):
        for estimator in (ObliqueTreeClassifier(), ObliqueTreeRegressor()):
            with pytest.raises(ValueError, match="y contains"):
                estimator.fit(X, target)
    with pytest.raises(ValueError, match="continuous"):
        ObliqueTreeClassifier().fit(X, X[:, 0])
    with pytest.raises(TypeError, match="y must be a dense array"):
        ObliqueTreeRegressor().fit(X, sparse.csr_matrix(y[:, None]))


# --- going on ------------------------------------------------------------------------------------


@BOTH
def test_warm_start_goes_on_from_the_tree(estimator, iris):
    X, y = iris
    cold = estimator(3, optimizer=None, validation_fraction=None).fit(X, y)
    warm = clone(cold).set_params(warm_start=True).fit(X, y)
    structure = warm.tree_
    warm.set_params(optimizer=short(), max_depth=1, random_state=0).fit(X, y)
    assert warm.tree_ != structure
    assert warm.tree_.n_internal == structure.n_internal
    restarted = warm.set_params(optimizer=None, warm_start=False).fit(X, y)
    assert restarted.tree_ == clone(warm).fit(X, y).tree_


def test_warm_start_refuses_other_data(iris):
    X, y = iris
    warm = ObliqueTreeClassifier(2, optimizer=None, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="X has 3 features"):
        warm.fit(X[:, :3], y)
    with pytest.raises(ValueError, match=r"y holds the labels \[3\]"):
        warm.fit(X, y + 1)
    warm.fit(X[:100], y[:100])  # a label less is fine
    assert warm.n_classes_ == 3
    warm = ObliqueTreeRegressor(2, optimizer=None, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="y has 2 targets, but the tree to start from has 1"):
        warm.fit(X, np.column_stack([y, y]))


def test_partial_fit_of_a_classifier(digits):
    X, y = digits
    estimator = ObliqueTreeClassifier(5, optimizer=SSGD(epochs=20), random_state=0)
    estimator.partial_fit(X[:200], y[:200], classes=range(10))
    before = estimator.score(X[400:], y[400:])
    for start in (0, 200):
        estimator.partial_fit(X[start:start + 200], y[start:start + 200])
    assert estimator.score(X[400:], y[400:]) > before
    one = y == 1
    estimator.partial_fit(X[one], y[one])
    assert estimator.n_classes_ == 10


def test_partial_fit_wants_all_classes_first(iris):
    X, y = iris
    estimator = ObliqueTreeClassifier(2, optimizer=short())
    with pytest.raises(ValueError, match="classes must be given"):
        estimator.partial_fit(X, y)
    with pytest.raises(ValueError, match=r"y holds the labels \[2\]"):
        estimator.partial_fit(X, y, classes=[0, 1])
    estimator.partial_fit(X[:50], y[:50], classes=[2, 0, 1])
    with pytest.raises(ValueError, match="differ from those of the first call"):
        estimator.partial_fit(X, y, classes=[0, 1])


def test_partial_fit_of_a_regressor(diabetes):
    X, y = diabetes
    estimator = ObliqueTreeRegressor(3, optimizer=short(), random_state=0)
    estimator.partial_fit(X[:200], y[:200])
    scale = estimator.predict(X).std()
    estimator.partial_fit(X[200:], y[200:], sample_weight=np.ones(len(y) - 200))
    assert 0.5 * scale < estimator.predict(X).std() < 2 * scale


@BOTH
def test_without_an_optimizer_there_is_nothing_to_go_on_with(estimator):
    assert not hasattr(estimator(optimizer=None), "partial_fit")
    assert hasattr(estimator(), "partial_fit")


@BOTH
def test_ctrl_c_leaves_the_best_tree_so_far(estimator, iris):
    X, y = iris
    seen = []

    def stop(progress):
        seen.append(progress)
        if len(seen) == 3:
            raise KeyboardInterrupt

    fitted = estimator(
        3, optimizer=["ssgd", "sgd"], validation_fraction=None, callback=stop, random_state=0)
    with pytest.warns(ConvergenceWarning, match="interrupted after 3 epochs") as caught:
        assert fitted.fit(X, y) is fitted
    assert caught[0].filename == __file__
    assert fitted.n_iter_ == 3
    assert set(fitted.history_["step"]) == {"SSGD"}  # the chain ends too
    assert fitted.predict(X).shape == y.shape


# --- being a scikit-learn estimator --------------------------------------------------------------


def test_nested_parameters_and_grid_search(digits):
    estimator = ObliqueTreeClassifier(4, init=InfoGain(), optimizer=short(), random_state=0)
    assert estimator.get_params()["optimizer__epochs"] == 3
    search = GridSearchCV(
        estimator, {"optimizer__nu": [1e-9, 100.0], "init__min_samples_split": [2, 20]}, cv=2)
    search.fit(*digits)
    assert search.best_params_["optimizer__nu"] == 100.0
    assert estimator.optimizer.nu == "auto"  # the original is not touched


def test_clone_pickle_and_repeatability(digits):
    fitted = ObliqueTreeClassifier(4, optimizer=short(), random_state=3).fit(*digits)
    again = clone(fitted).fit(*digits)
    loaded = pickle.loads(pickle.dumps(fitted))
    assert fitted.tree_ == again.tree_ == loaded.tree_
    np.testing.assert_array_equal(loaded.predict(digits[0]), fitted.predict(digits[0]))
    assert repr(clone(fitted)) == repr(fitted)


def test_pipeline_of_sparse_data(digits):
    X, y = sparse.csr_matrix(digits[0]), digits[1]
    pipeline = make_pipeline(MaxAbsScaler(), ObliqueTreeClassifier(5, random_state=0))
    assert pipeline.fit(X, y).score(X, y) > 0.9


def test_fit_does_not_write_into_its_arguments(digits):
    X, y = digits[0].copy(), digits[1].copy()
    weight = np.ones(len(y))
    for array in (X, y, weight):
        array.flags.writeable = False
    estimator = ObliqueTreeClassifier(3, optimizer=short(), random_state=0)
    before = repr(estimator)
    estimator.fit(X, y, weight)
    assert repr(estimator) == before


# --- importances ---------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("weighted", [False, True])
def test_importances_by_hand(form, weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) * [1.0, 100.0, 0.01] + [1e4, 0.0, 0.0]
    weight = rng.integers(0, 3, 300) if weighted else np.ones(300)
    tree = Tree([[2.0, 0.01, 0.0], [0.0, 0.0, 1.0]], [2e4, 0.0], [1, ~0], [~2, ~1], np.eye(3))
    fitted = ObliqueTreeClassifier(init=tree, optimizer=None).fit(
        form(X), np.arange(300) % 3, weight)
    mean = np.average(X, axis=0, weights=weight)
    spread = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    left = weight[X @ tree.weights[0] <= 2e4].sum()
    root = np.array([2.0 * spread[0], 0.01 * spread[1], 0.0])
    expected = weight.sum() * root / root.sum() + left * np.array([0.0, 0.0, 1.0])
    np.testing.assert_allclose(
        fitted.feature_importances_, expected / expected.sum(), rtol=1e-6)


def test_importances_of_axis_aligned_splits_do_not_depend_on_the_scale(iris):
    X, y = iris
    one, other = (
        ObliqueTreeClassifier(3, optimizer=None).fit(X * scale, y).feature_importances_
        for scale in (1.0, [1.0, 64.0, 0.5, 1.0]))
    np.testing.assert_allclose(one, other)
    assert one.sum() == pytest.approx(1.0)


def test_a_constant_feature_has_no_importance():
    X = np.column_stack([np.ones(40), np.arange(40.0)])
    fitted = ObliqueTreeClassifier(2, optimizer=short(), random_state=0).fit(
        X, X[:, 1] > 20)
    assert fitted.feature_importances_.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("optimizer", ["annealed", "ssgd"])
def test_features_whose_squares_overflow(optimizer):
    X, y = load_iris(return_X_y=True)
    tree = ObliqueTreeClassifier(3, optimizer=optimizer, random_state=0).fit(1e300 * X, y)
    assert tree.score(1e300 * X, y) > 0.9
    assert tree.feature_importances_.sum() == pytest.approx(1.0)
