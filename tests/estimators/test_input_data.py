"""Forms of the data that estimators take, copy or refuse."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt.optimizers import SSGD
from ngdt.testing.strategies import trees

BOTH = pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueTreeRegressor])


def test_one_row_is_predicted_as_in_a_batch(digits):
    X, y = digits
    fitted = ObliqueTreeClassifier(6, optimizer=SSGD(epochs=3), random_state=0).fit(X, y)
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


@pytest.mark.parametrize(("X", "message"), [
    ([[1.0, 2.0, 3.0, 4.0]], "list: only estimators with check_input=True"),
    (np.ones((2, 8))[:, ::2], r"of shape \(2, 4\): numpy.ascontiguousarray"),
    (np.ones(4), r"shape \(4,\): one sample is X.reshape\(1, -1\)"),
    (np.ones((2, 4), dtype=np.int64), "float32 or float64, got int64")])
def test_unchecked_input_that_is_not_read_as_it_is_is_refused(iris, X, message):
    fitted = ObliqueTreeClassifier(2, optimizer=None).fit(*iris)
    with pytest.raises(TypeError, match=f"^X must be .*{message}"):
        fitted.predict(X, check_input=False)


@pytest.mark.parametrize("check_input", [False, True])
def test_data_wider_than_the_tree_are_refused(iris, check_input):
    fitted = ObliqueTreeClassifier(2, optimizer=None).fit(*iris)
    fitted.tree_ = Tree([[1.0]], [0.0], [~0], [~1], np.zeros((2, 3)))   # one feature, not four
    with pytest.raises(ValueError, match=r"X has 4 features, but the tree was built for 1"):
        fitted.predict(iris[0], check_input=check_input)


def fail(metrics):
    raise RuntimeError("no more")


@pytest.mark.parametrize("check_input", [False, True])
def test_a_first_fit_that_fails_leaves_no_tree(iris, check_input):
    X, y = iris
    model = ObliqueTreeClassifier(
        2, init="info_gain", optimizer=SSGD(epochs=3), callback=fail)
    before = dict(vars(model))
    with pytest.raises(RuntimeError, match="no more"):
        model.fit(X, y)
    assert vars(model) == before
    with pytest.raises(NotFittedError):
        model.predict(X, check_input=check_input)


@BOTH
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(("parameters", "n_features", "weight", "message"), [
    ({"callback": fail}, 4, None, "no more"),
    ({"callback": fail, "warm_start": True}, 4, None, "no"),
    ({"callback": fail}, 3, None, "no more|X has 3 features"),
    ({"loss": "hinge"}, 4, None, "hinge"),
    ({}, 4, -1.0, "negative|positive"), ({"optimizer": ["ssgd", "adam"]}, 4, None, "adam"),
], ids=["callback", "warm start", "fewer features", "loss", "weights", "optimizer"])
def test_a_later_fit_that_fails_leaves_the_fit_before(
        iris, estimator, method, parameters, n_features, weight, message):
    X, y = iris
    model = estimator(
        2, optimizer=SSGD(epochs=3), validation_fraction=None, random_state=0).fit(X, y)
    predictions = model.predict(X)
    model.set_params(**parameters)
    before = dict(vars(model))
    with pytest.raises((RuntimeError, ValueError), match=message):
        getattr(model, method)(
            X[:, :n_features], y, sample_weight=None if weight is None else np.full(150, weight))
    assert vars(model).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(model).items())
    np.testing.assert_array_equal(model.predict(X), predictions)


@BOTH
@pytest.mark.parametrize("method", [
    "predict", "predict_proba", "predict_log_proba", "apply", "decision_path"])
def test_a_tree_replaced_during_a_prediction_does_not_matter(iris, estimator, method):
    class Replaced(estimator):
        """Another thread trains on: each look at `tree_` finds another tree."""

        @property
        def tree_(self):
            swapping.reverse()
            return swapping[0]

        @tree_.setter
        def tree_(self, tree):
            pass

    X, y = iris
    if not hasattr(estimator, method):
        return
    small, large = (estimator(depth, optimizer=None).fit(X, y) for depth in (1, 6))
    assert (small.get_n_leaves(), large.get_n_leaves()) == (2, large.get_n_leaves())
    assert large.get_n_leaves() > 5
    swapping = [small.tree_, large.tree_]
    model = Replaced(1, optimizer=None).fit(X, y)

    def dense(found):
        return found.toarray() if sparse.issparse(found) else found

    expected = [dense(getattr(one, method)(X)) for one in (small, large)]
    found = [dense(getattr(model, method)(X, *unchecked)) for unchecked in (
        [(), (), ()] + [(False,)] * 3 * (method != "decision_path"))]
    for result in found:
        assert any(np.array_equal(result, one) for one in expected)


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
    fitted = ObliqueTreeClassifier(3, optimizer=SSGD(epochs=3), random_state=0).fit(mapped, y)
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
    fitted = ObliqueTreeClassifier(2, optimizer=SSGD(epochs=3), random_state=0).fit(X, iris[1])
    assert list(fitted.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(X[list("dcba")])


@given(
    tree=trees(n_outputs=st.just(2), sparse_weights=st.booleans()),
    form=st.sampled_from([np.asarray, sparse.csr_array]),
    dtype=st.sampled_from([np.float32, np.float64]),
    bad=st.sampled_from([np.nan, np.inf, -np.inf]),
    data=st.data())
def test_prediction_sees_what_is_not_finite_wherever_it_is(tree, form, dtype, bad, data):
    # The kernel finds it by its scores, so it matters which features a tree uses.
    p = tree.n_features
    fitted = ObliqueTreeClassifier(0).fit(np.full((2, p), 3.0), [0, 1])
    fitted.tree_ = tree
    X = np.ones((data.draw(st.integers(1, 5)), p), dtype)
    i, j = data.draw(st.integers(0, len(X) - 1)), data.draw(st.integers(0, p - 1))
    filled = X.copy()
    X[i, j], filled[i, j] = bad, 3.0
    for method in (fitted.apply, fitted.predict, fitted.predict_proba,
                   lambda X: fitted.decision_path(X).toarray()):
        if np.isinf(bad):
            with pytest.raises(ValueError, match=f"infinity.* in column 'x{j}'"):
                method(form(X))
        else:
            np.testing.assert_array_equal(method(form(X)), method(form(filled)))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_huge_values_are_no_error_though_scores_overflow(form):
    fitted = ObliqueTreeClassifier(1).fit([[0.0, 0.0], [1.0, 1.0]], [0, 1])
    fitted.tree_ = Tree([[1.0, 1.0]], [0.0], [~0], [~1], [[1.0, 0.0], [0.0, 1.0]])
    X = form(np.array([[1e308, 1e308], [-1e308, -1e308], [1.0, 1.0]]))
    np.testing.assert_array_equal(fitted.apply(X), [1, 0, 1])
    np.testing.assert_array_equal(fitted.apply(X, check_input=False), [1, 0, 1])
