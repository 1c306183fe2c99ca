"""Paths over C: the same trees as direct fits give, metrics by brute force, the choice of C."""

import inspect
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib import parallel_config
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.utils.estimator_checks import estimator_checks_generator

from helpers import StopAt, in_nightly
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, TAOPathCV, tao_path
from ngdt.optimizers import SSGD, TAO
from ngdt.path import prediction_cost
from ngdt.path._path_cv import best_score
from ngdt.plotting import plot_path
from ngdt.testing.strategies import problems


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:1000], y[:1000], X[1000:], y[1000:]


def tao_tree(depth=5, **parameters):
    return ObliqueTreeClassifier(
        max_depth=depth, optimizer=TAO(**parameters), validation_fraction=None)


# -- the path -----------------------------------------------------------------------------------

def test_the_first_tree_may_be_that_of_a_fitted_estimator(digits):
    X, y, *_ = digits
    init = ObliqueTreeClassifier(3, init="info_gain", optimizer=None).fit(X[:300], y[:300])
    paths = [tao_path(X[:300], y[:300], Cs=[0.01], estimator=ObliqueTreeClassifier(
        init=each, optimizer=TAO(max_iter=1))) for each in (init, init.tree_)]
    assert paths[0].trees == paths[1].trees


def test_each_tree_is_trained_from_the_one_before(digits):
    X, y = digits[0][:300], digits[1][:300]
    Cs = [0.3, 0.1, 0.02]
    path = tao_path(X, y, Cs=Cs, estimator=tao_tree(alpha=0.3, max_iter=4))
    initial = "auto"
    for C, tree in zip(Cs, path.trees, strict=True):
        direct = ObliqueTreeClassifier(
            max_depth=5, init=initial, optimizer=TAO(C=C, alpha=0.3, max_iter=4),
            validation_fraction=None).fit(X, y)
        assert tree == direct.tree_
        initial = tree
    # The order in which values are given is without effect, and so is one that comes twice.
    again = tao_path(X, y, Cs=[0.02, 0.3, 0.1, 0.3], estimator=tao_tree(alpha=0.3, max_iter=4))
    np.testing.assert_array_equal(again.Cs, Cs)
    assert again.trees == path.trees


def test_values_of_a_regressor_survive_the_way_down():
    X, y = load_diabetes(return_X_y=True)
    estimator = ObliqueTreeRegressor(
        max_depth=3, optimizer=TAO(max_iter=3), validation_fraction=None)
    path = tao_path(X, 1e3 * y, Cs=[1.0, 0.1], estimator=estimator)
    initial = ObliqueTreeRegressor(
        max_depth=3, optimizer=TAO(C=1.0, max_iter=3), validation_fraction=None).fit(X, 1e3 * y)
    second = initial.set_params(optimizer=TAO(C=0.1, max_iter=3), warm_start=True).fit(X, 1e3 * y)
    assert path.trees[1] == second.tree_
    np.testing.assert_allclose(
        path.train_error[1], np.mean((second.predict(X) - 1e3 * y) ** 2))


def test_metrics_are_those_of_the_trees(digits):
    X, y, X_val, y_val = digits
    path = tao_path(X, y, Cs=4, estimator=tao_tree(max_iter=4), X_val=X_val, y_val=y_val)
    np.testing.assert_allclose(path.Cs, [1.0, 0.1, 0.01, 0.001])
    assert len(path.trees) == len(path.train_error) == 4
    for i, tree in enumerate(path.trees):
        assert path.train_error[i] == pytest.approx(np.mean(tree.predict(X).argmax(1) != y))
        assert path.validation_error[i] == pytest.approx(
            np.mean(tree.predict(X_val).argmax(1) != y_val))
        assert path.n_nonzero[i] == np.count_nonzero(tree.densify().weights)
        assert (path.n_internal[i], path.n_leaves[i]) == (tree.n_internal, tree.n_leaves)
        for found, expected in zip(
                (path.path_length, path.n_multiplications), prediction_cost(tree, X), strict=True):
            assert [values[i] for values in found] == list(expected)


def test_a_small_C_leaves_little(digits):
    X, y, _, _ = digits
    path = tao_path(X, y, Cs=[1.0, 0.1, 0.01, 1e-4, 1e-9], estimator=tao_tree(alpha=0))
    assert (np.diff(path.n_internal) <= 0).all()        # branches are removed, never added
    assert (np.diff(path.n_nonzero) < 0)[:3].all()
    assert path.n_nonzero[-1] == path.n_internal[-1] == 0
    assert path.train_error[0] < 0.02 < path.train_error[-1]
    assert path.n_multiplications.max[-1] == path.path_length.max[-1] == 0


def test_all_samples_are_trained_on(digits):
    # From 2000 rows on an estimator would hold out a tenth.
    X, y = np.tile(digits[0], (3, 1)), np.tile(digits[1], 3)
    path = tao_path(X, y, Cs=[0.1], estimator=tao_tree(max_iter=2))
    every = ObliqueTreeClassifier(
        max_depth=5, optimizer=TAO(max_iter=2), validation_fraction=None).fit(X, y)
    held = ObliqueTreeClassifier(max_depth=5, optimizer=TAO(max_iter=2), random_state=0).fit(X, y)
    assert path.trees[0] == every.tree_ != held.tree_


def test_the_estimator_is_left_alone(digits):
    X, y, _, _ = digits
    estimator = ObliqueTreeClassifier(max_depth=3, optimizer="tao", validation_fraction=None)
    before = repr(estimator.get_params())
    path = tao_path(X, y, Cs=[0.1], estimator=estimator)
    assert repr(estimator.get_params()) == before
    assert not hasattr(estimator, "tree_")
    assert path.trees == tao_path(X, y, Cs=[0.1], estimator=tao_tree(3)).trees


def test_a_tree_may_be_the_initial_tree(digits):
    X, y, _, _ = digits
    initial = ObliqueTreeClassifier(max_depth=3, optimizer=None).fit(X, y).tree_
    path = tao_path(X, y, Cs=[0.1], estimator=ObliqueTreeClassifier(init=initial, optimizer="tao"))
    assert path.trees == tao_path(X, y, Cs=[0.1], estimator=tao_tree(3)).trees
    # And a tree of the path predicts labels as a initial that is not trained.
    model = ObliqueTreeClassifier(init=path.trees[0], optimizer=None).fit(X, y)
    assert model.tree_ == path.trees[0]
    assert 1 - model.score(X, y) == pytest.approx(path.train_error[0])


@pytest.mark.parametrize(("y", "n_outputs"), [
    (np.repeat(["a", "b", "c"], 50), 3), (load_iris().target, 3), (load_iris().data[:, 0], 1),
    (load_iris().data[:, :2], 2)])
def test_by_default_y_tells_classification_from_regression(y, n_outputs):
    path = tao_path(load_iris().data, y, Cs=2)
    assert path.trees[0].n_outputs == n_outputs
    assert np.isnan(path.validation_error).all()


def test_weight_k_is_k_samples_and_sparse_data_are_taken():
    X, y = load_iris(return_X_y=True)
    times = np.random.default_rng(0).integers(0, 3, 150, np.intp)
    estimator = ObliqueTreeClassifier(
        3, optimizer="tao", standardize=False, validation_fraction=None)
    weighted = tao_path(X, y, Cs=[1.0, 0.1], estimator=estimator, sample_weight=times)
    repeated = tao_path(
        sparse.csr_array(np.repeat(X, times, axis=0)), np.repeat(y, times), Cs=[1.0, 0.1],
        estimator=estimator)
    for name in ("train_error", "n_nonzero", "n_leaves", "path_length", "n_multiplications"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name))


def test_ctrl_c_ends_the_path_with_the_best_tree_so_far(digits):
    X, y, _, _ = digits
    estimator = tao_tree(3, max_iter=2, tol=0).set_params(callback=StopAt(3))
    with pytest.warns(ConvergenceWarning, match=r"C=0\.1"):
        path = tao_path(X, y, Cs=[1.0, 0.1, 0.01], estimator=estimator)
    np.testing.assert_array_equal(path.Cs, [1.0, 0.1])
    assert len(path.trees) == len(path.train_error) == 2
    assert path.train_error[1] < 0.5
    with pytest.raises(KeyboardInterrupt):
        TAOPathCV(estimator.set_params(callback=StopAt(3)), Cs=[1.0, 0.1]).fit(X, y)


def test_a_time_limit_shortens_trees_but_not_the_path(digits):
    X, y, _, _ = digits
    estimator = ObliqueTreeClassifier(3, optimizer="tao", max_time=1e-9)
    with pytest.warns(ConvergenceWarning, match=r"At C=(1|0\.1), max_time=1e-09 s") as caught:
        path = tao_path(X, y, Cs=[1.0, 0.1], estimator=estimator)
    assert len(path.trees) == len(caught) == 2
    with pytest.warns(ConvergenceWarning, match="At C=.*, max_time=1e-09 s") as caught:
        search = TAOPathCV(estimator, Cs=[1.0, 0.1], cv=2).fit(X, y)
    assert search.scores_.shape == (2, 2)
    assert len(caught) == 1


def test_tables_are_read_as_their_estimator_reads_them():
    random = np.random.default_rng(0)
    kind, x = random.choice(["a", "b", "c"], 200), random.normal(size=200)
    y = (x > 0) ^ (kind == "b")
    table = pd.DataFrame({"kind": pd.Categorical(kind), "x": np.where(x > 1.5, np.nan, x)})
    estimator = tao_tree(3, max_iter=2)
    path = tao_path(table[:150], y[:150], Cs=[1.0, 0.1], estimator=estimator, X_val=table[150:],
                    y_val=y[150:])
    alone = tao_tree(3, C=1.0, max_iter=2).set_params(validation_fraction=None).fit(
        table[:150], y[:150])
    encoded = tao_path(
        alone.encode(table[:150]), y[:150], Cs=[1.0, 0.1], estimator=estimator)
    assert path.trees == encoded.trees
    np.testing.assert_array_equal(path.path_length.mean, encoded.path_length.mean)
    assert path.validation_error[0] == pytest.approx(1 - alone.score(table[150:], y[150:]))
    with pytest.raises(ValueError, match="feature names"):
        tao_path(table, y, estimator=estimator, X_val=table.rename(columns={"x": "z"}), y_val=y)


def test_warnings_of_fits_in_other_threads_are_no_errors():
    X, y = load_iris(return_X_y=True)
    shortened = ObliqueTreeClassifier(max_time=1e-9, random_state=0)

    def fit_elsewhere(_):
        with ThreadPoolExecutor(1) as threads:
            threads.submit(shortened.fit, X, y).result()

    estimator = tao_tree(2, max_iter=1).set_params(callback=fit_elsewhere)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        tao_path(X, y, Cs=[1.0], estimator=estimator)


# -- what a prediction costs ----------------------------------------------------------------------

@given(problems(n_internal=st.integers(0, 6), n_samples=st.integers(1, 12)), st.data())
def test_cost_by_walking_down(case, data):
    tree, X = case.tree, case.X.toarray() if sparse.issparse(case.X) else case.X
    weight = np.array(data.draw(st.lists(
        st.sampled_from([0.0, 0.5, 2.0]), min_size=len(X), max_size=len(X))))
    weight[0] += weight.sum() == 0
    costs = []
    for x in X:
        node, length, multiplications = 0 if tree.n_internal else ~0, 0, 0
        while node >= 0:
            w = tree.densify().weights[node]
            length, multiplications = length + 1, multiplications + np.count_nonzero(w)
            right = tree.scores(x[None])[0, node] > 0
            node = (tree.children_right if right else tree.children_left)[node]
        costs.append((length, multiplications))
    costs = np.array(costs)
    for found, cost in zip(
            prediction_cost(tree, case.X, sample_weight=weight), costs.T, strict=True):
        assert found.mean == pytest.approx(np.average(cost, weights=weight))
        assert (found.min, found.max) == (cost[weight > 0].min(), cost[weight > 0].max())


# -- the choice of C -------------------------------------------------------------------------------

def test_scores_are_those_of_paths_over_the_folds(digits):
    X, y, X_test, y_test = digits
    X, y, estimator = X[:300], y[:300], tao_tree(4, max_iter=3)
    Cs, cv = [0.3, 0.03, 0.003], StratifiedKFold(2)
    search = TAOPathCV(estimator, Cs=Cs, cv=cv).fit(X, y)
    for row, (train, test) in zip(search.scores_, cv.split(X, y), strict=True):
        path = tao_path(
            X[train], y[train], Cs=Cs, estimator=estimator, X_val=X[test], y_val=y[test])
        np.testing.assert_allclose(row, 1 - path.validation_error)
    np.testing.assert_array_equal(search.Cs_, Cs)
    best = int(search.scores_.mean(axis=0).argmax())
    assert search.Cs_[best] == search.C_
    # The last tree was trained on all rows, down from the largest C.
    assert search.tree_ == tao_path(X, y, Cs=Cs[:best + 1], estimator=estimator).trees[-1]
    assert search.estimator_.tree_ is search.tree_
    np.testing.assert_array_equal(search.predict(X_test), search.estimator_.predict(X_test))
    assert search.score(X_test, y_test) == np.mean(search.predict(X_test) == y_test) > 0.8
    np.testing.assert_array_equal(
        search.predict_proba(X_test).argmax(axis=1), search.predict(X_test))
    # Processes would import all of ngdt first.
    with parallel_config("loky" if in_nightly([True]) else "threading"):
        two = TAOPathCV(estimator, Cs=Cs, cv=cv, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(two.scores_, search.scores_)
    assert two.tree_ == search.tree_


def test_one_standard_error_buys_a_smaller_tree():
    X, y = (each[1::2] for each in load_breast_cancer(return_X_y=True))
    best, small = (
        TAOPathCV(tao_tree(2), Cs=7, cv=3, rule=rule).fit(X, y)
        for rule in ("best", "one_standard_error"))
    np.testing.assert_array_equal(best.scores_, small.scores_)
    mean = best.scores_.mean(axis=0)
    top = mean.argmax()
    limit = mean[top] - best.scores_[:, top].std(ddof=1) / np.sqrt(3)
    assert small.Cs_[mean >= limit].min() == small.C_
    assert small.C_ < best.C_
    assert small.tree_.n_nonzero < best.tree_.n_nonzero


@pytest.mark.parametrize(("scores", "best", "small"), [
    ([[0.5, 0.9, 0.9, 0.1]], 2, 2),                              # equals: the smaller C
    ([[1.0, 1.0, 0.8], [0.0, 0.8, 0.7], [0.5, 0.3, 0.2]], 1, 2),
    ([[0.9, 0.8], [0.9, 0.8]], 0, 0),                            # no spread, no way down
])
def test_rules(scores, best, small):
    assert best_score(np.array(scores), "best") == best
    assert best_score(np.array(scores), "one_standard_error") == small


def test_it_chooses_for_regressors_and_by_any_score():
    X, y = (part[:150] for part in load_diabetes(return_X_y=True))
    estimator = ObliqueTreeRegressor(
        max_depth=2, optimizer=TAO(max_iter=2), validation_fraction=None)
    r2 = TAOPathCV(estimator, Cs=2, cv=3).fit(X, y)
    assert is_regressor(r2)
    assert not is_classifier(r2)
    assert not hasattr(r2, "predict_proba")
    assert not hasattr(r2, "classes_")
    assert r2.score(X, y) == pytest.approx(r2.estimator_.score(X, y))
    mse = TAOPathCV(estimator, Cs=2, cv=2, scoring="neg_mean_squared_error").fit(X, y)
    assert (mse.scores_ < 0).all()
    assert mse.score(X, y) == pytest.approx(-np.mean((mse.predict(X) - y) ** 2))
    both = np.column_stack([y, -y])
    assert TAOPathCV(estimator, Cs=2, cv=2).fit(X, both).predict(X).shape == both.shape
    assert len(cross_val_score(mse, X, y, cv=KFold(2))) == 2


def test_parameters_and_attributes_are_described():
    described = set(re.findall(r"^(\w+) : ", inspect.getdoc(TAOPathCV), re.M))
    fitted = TAOPathCV(tao_tree(1), Cs=1, cv=2).fit(*load_iris(return_X_y=True))
    learnt = {name for name in vars(fitted) if name.endswith("_")}
    assert described == learnt | set(fitted.get_params(deep=False)) | {"feature_names_in_"}


def test_names_of_features_and_labels():
    pandas = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True)
    frame, names = pandas.DataFrame(X, columns=list("abcd")), np.array(["x", "y", "z"])[y]
    search = TAOPathCV(ObliqueTreeClassifier(
        2, optimizer="tao", validation_fraction=None), Cs=2, cv=3).fit(frame, names)
    assert list(search.feature_names_in_) == list("abcd")
    assert list(search.estimator_.feature_names_in_) == list("abcd")
    assert list(search.classes_) == ["x", "y", "z"]
    assert search.score(frame, names) > 0.9
    with pytest.raises(ValueError, match="feature names"):
        search.predict(frame[list("dcba")])


def checks_of(estimator):
    return list(estimator_checks_generator(TAOPathCV(
        estimator(max_depth=2, init="info_gain", optimizer=TAO(max_iter=1)), Cs=[0.1], cv=2)))


# Of the regressor, only what classifiers are not checked for; the rest is in the nightly profile.
# Those of the same name differ in the type of the samples, which its trees are checked with.
CLASSIFIER, REGRESSOR = map(checks_of, (ObliqueTreeClassifier, ObliqueTreeRegressor))
COMMON = {check.func for _, check in CLASSIFIER}
CHECKS = [*CLASSIFIER, *REGRESSOR] if in_nightly([True]) else [
    *{pair[1].func.__name__.replace("_matrix", "_array"): pair
      for pair in [*REGRESSOR, *CLASSIFIER][::-1]
      if pair in CLASSIFIER or pair[1].func not in COMMON}.values()]


@pytest.mark.parametrize(
    ("estimator", "check"), CHECKS,
    ids=lambda value: value.func.__name__ if hasattr(value, "func") else
    type(value.estimator).__name__)
def test_scikit_learn_check(estimator, check):
    check(estimator)


# -- bad input -------------------------------------------------------------------------------------

@pytest.mark.parametrize("Cs", [
    0, -1, True, 1.0, [], [0.0], [-1.0, 1.0], [np.nan], [np.inf], [[1.0, 0.1]], ["x"], None])
def test_bad_Cs(Cs):
    X, y = load_iris(return_X_y=True)
    with pytest.raises((ValueError, TypeError), match="Cs"):
        tao_path(X, y, Cs=Cs)
    with pytest.raises((ValueError, TypeError), match="Cs"):
        TAOPathCV(tao_tree(), Cs=Cs).fit(X, y)


@pytest.mark.parametrize(("estimator", "error"), [
    (ObliqueTreeClassifier(), ValueError), (ObliqueTreeClassifier(optimizer=SSGD()), ValueError),
    (ObliqueTreeClassifier(optimizer=None), ValueError), (TAO(), TypeError), ("tao", TypeError),
    (ObliqueTreeClassifier(optimizer=[TAO(), SSGD()]), ValueError)])
def test_bad_estimators(estimator, error):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(error, match=r"estimator.*must be.*got"):
        tao_path(X, y, estimator=estimator)
    with pytest.raises(error, match=r"estimator.*must be.*got"):
        TAOPathCV(estimator).fit(X, y)


def test_other_bad_input():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="checkpoint='kept' of the estimator is for a single"):
        tao_path(X, y, estimator=ObliqueTreeClassifier(optimizer="tao", checkpoint="kept"))
    with pytest.raises(ValueError, match="must be given together"):
        tao_path(X, y, X_val=X)
    with pytest.raises(ValueError, match="must be given together"):
        tao_path(X, y, y_val=y)
    with pytest.raises(ValueError, match="sample_weight"):
        tao_path(X, y, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="'rule'"):
        TAOPathCV(tao_tree(), rule="sparsest").fit(X, y)
    with pytest.raises(TypeError, match="tree must be"):
        prediction_cost(tao_tree(), X)
    for X_val, y_val, message in (
            (X[:, :2], y, "X has 2 features"), (X[:, 0], y, "Expected 2D array"),
            (X, y[:3], "Found .* inconsistent"), (X, y + 0.5, "Classification metrics can't")):
        with pytest.raises(ValueError, match=f"^X_val and y_val: {message}"):
            tao_path(X, y, X_val=X_val, y_val=y_val)


def test_data_frames_are_samples_of_both_kinds():
    X, y = load_iris(return_X_y=True, as_frame=True)
    path = tao_path(X, y, Cs=[0.1], X_val=X, y_val=y)       # a warning would be an error
    assert path.validation_error[0] == path.train_error[0]


def test_a_clone_is_not_fitted():
    X, y = load_iris(return_X_y=True)
    search = TAOPathCV(tao_tree(2), Cs=2, cv=2).fit(X, y)
    assert not hasattr(clone(search), "tree_")
    assert clone(search).set_params(estimator__optimizer__alpha=0.0).fit(X, y).C_ in search.Cs_


# -- plots --------------------------------------------------------------------------------------

def test_the_key_of_lengths_is_beside_the_line(plt):
    X, y = (each[::3] for each in load_breast_cancer(return_X_y=True))
    axes = plot_path(tao_path(X, y, Cs=6, estimator=tao_tree(3)))
    axes[0].figure.draw_without_rendering()
    line, key = axes[2].get_lines()[0], axes[2].get_legend().get_window_extent()
    assert not line.get_path().transformed(line.get_transform()).intersects_bbox(key, filled=False)


def test_four_curves(digits, plt):
    X, y, X_val, y_val = digits
    path = tao_path(X, y, Cs=4, estimator=tao_tree(3, max_iter=2), X_val=X_val, y_val=y_val)
    axes = plot_path(path)
    lines = {line.get_label(): line for ax in axes[0].figure.axes for line in ax.get_lines()}
    expected = {
        "training": path.train_error, "validation": path.validation_error,
        "weights": path.n_nonzero, "splits": path.n_internal}
    for name, values in expected.items():
        np.testing.assert_array_equal(lines[name].get_xdata(), path.Cs)
        np.testing.assert_array_equal(lines[name].get_ydata(), values)
    for ax, spread in zip(axes[2:], (path.path_length, path.n_multiplications), strict=True):
        np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(), spread.mean)
    assert all(ax.get_xscale() == "log" for ax in axes)
    # Axes of the caller; without validation samples there is no such line.
    given = plt.subplots(2, 2)[1].ravel()
    path = tao_path(X, y, Cs=2, estimator=tao_tree(2))
    assert plot_path(path, ax=given) == list(given)
    assert [line.get_label() for line in given[0].get_lines()] == ["training"]
    with pytest.raises(ValueError, match="ax must be at least 4 matplotlib Axes"):
        plot_path(path, ax=given[:2])
