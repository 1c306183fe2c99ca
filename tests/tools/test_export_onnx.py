"""ONNX: in onnxruntime, the model predicts what it predicts in Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from ngdt import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    Tree,
)
from ngdt.export import export_onnx, register_onnx_converters
from ngdt.testing.strategies import problems

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
TYPES = {"float": np.float32, "double": np.float64}
DTYPES = pytest.mark.parametrize("dtype", TYPES)


def run(onnx_model, X):
    onnx.checker.check_model(onnx_model, full_check=True)
    session = onnxruntime.InferenceSession(
        onnx_model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: X})


@given(problems(sparse=st.just(False), sparse_weights=st.booleans(), linear_leaves=st.booleans(),
                scales=st.just(1.0)), st.sampled_from(list(TYPES)))
def test_trees_predict_what_they_predict_in_python(problem, dtype):
    tree, X = problem.tree, problem.X.astype(TYPES[dtype])
    (found,) = run(export_onnx(tree, dtype=dtype), X)
    np.testing.assert_array_equal(found, tree.predict(X))


def fitted(kind, X, y, **parameters):
    return kind(optimizer=None, random_state=0, **parameters).fit(X, y)


def samples_near(X, n=2000, seed=0):
    """Random samples of float32 with the means and the standard deviations of others."""
    rng = np.random.default_rng(seed)
    return (X.mean(axis=0) + X.std(axis=0) * rng.normal(size=(n, X.shape[1]))).astype(np.float32)


def near_thresholds(model, X, dtype):
    """Mask of the samples with a score on the path within the rounding errors of its sum."""
    epsilon, near = 4 * np.finfo(TYPES[dtype]).eps * X.shape[1], np.zeros(len(X), dtype=bool)
    for tree in (each.tree_ for each in getattr(model, "estimators_", [model])):
        size = np.abs(X) @ np.abs(tree.dense_weights(slice(None))).T + np.abs(tree.thresholds)
        is_sum = np.count_nonzero(tree.dense_weights(slice(None)), axis=1) > 1
        close = (np.abs(tree.scores(X)) <= epsilon * size) & is_sum
        near |= (close & tree.decision_path(X).toarray()).any(axis=1)
    return near


@pytest.fixture(scope="module")
def models(iris, diabetes):
    X, y = iris
    oblique = dict(init="random", max_depth=4)
    classifiers = [
        fitted(ObliqueTreeClassifier, X, np.array(["a", "é", "c"])[y], max_depth=4),
        fitted(ObliqueTreeClassifier, X, y == 1, **oblique),
        fitted(ObliqueTreeClassifier, X, np.zeros(len(X)), max_depth=2),
        fitted(ObliqueForestClassifier, X, y, n_estimators=4, **oblique)]
    regressors = [
        fitted(ObliqueTreeRegressor, *diabetes, max_depth=6),
        fitted(ObliqueTreeRegressor, diabetes[0], diabetes[0][:, :2], **oblique),
        fitted(ObliqueTreeRegressor, *diabetes, max_depth=3, loss="poisson"),
        fitted(ObliqueTreeRegressor, *diabetes, max_depth=3, init="model_tree", leaf="linear"),
        fitted(ObliqueForestRegressor, *diabetes, n_estimators=4, **oblique)]
    return [(model, samples_near(X)) for model in classifiers] + [
        (model, samples_near(diabetes[0])) for model in regressors]


@DTYPES
def test_estimators_predict_what_they_predict_in_python(models, dtype):
    tolerance = 1e-5 if dtype == "float" else 1e-12
    for model, X in models:
        found = run(export_onnx(model, dtype=dtype), X.astype(TYPES[dtype]))
        far = ~near_thresholds(model, X, dtype)
        assert far.mean() > 0.999
        if hasattr(model, "classes_"):
            wanted = model.predict_proba(X)
            clear = far & (np.sort(wanted, axis=1)[:, -2:] @ [-1, 1] > tolerance
                           if wanted.shape[1] > 1 else True)
            assert (found[0] == model.predict(X))[clear].all()
        else:
            wanted = model.predict(X).reshape(len(X), -1)
        np.testing.assert_allclose(
            found[-1][far], wanted[far], atol=tolerance * np.abs(wanted).max(), rtol=tolerance)


@DTYPES
def test_splits_on_one_feature_do_not_round(dtype):
    """Samples at thresholds, and next to them, that are no numbers of float32."""
    rng = np.random.default_rng(0)
    for weight in (1.0, -1.0, 0.3, -7.0):
        threshold = rng.normal()
        tree = Tree([[0.0, weight]], [threshold], [~0], [~1], [[0.0], [1.0]])
        at = TYPES[dtype](threshold / weight)
        x = [np.nextafter(at, TYPES[dtype](side)) for side in (-np.inf, np.inf)]
        X = np.array([[5.0, value] for value in (at, *x)], dtype=TYPES[dtype])
        (found,) = run(export_onnx(tree, dtype=dtype), X)
        np.testing.assert_array_equal(found, tree.predict(X))


@DTYPES
def test_gaps_are_filled_as_the_model_does(dtype):
    rng = np.random.default_rng(0)
    X = rng.integers(-4, 4, (80, 3)).astype(TYPES[dtype])
    y = np.where(X[:, 0] > 0, X[:, 1], 2.0) > 0
    for gaps in ([], [0, 1]):       # gaps that are in the samples of training
        X[::3, gaps] = np.nan
        model = fitted(ObliqueTreeClassifier, X, y, max_depth=4)
        new = X.copy()
        new[::5, 2] = np.nan
        label, _ = run(export_onnx(model, dtype=dtype), new)
        assert (label == model.predict(new)).all()


def test_categories_have_to_be_encoded():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"city": ["Rome", "Oslo"] * 20, "age": np.arange(40.0)})
    model = fitted(ObliqueTreeClassifier, frame, np.arange(40) % 2, max_depth=2)
    with pytest.raises(ValueError, match=r"encoded=True, and pass it rows of model\.encode"):
        export_onnx(model)
    X = model.encode(frame).astype(np.float32)
    assert (run(export_onnx(model, encoded=True), X)[0] == model.predict(frame)).all()


def test_wrong_arguments(iris):
    tree = Tree([[1e39]], [0.0], [~0], [~1], [[0.0], [1e39]])
    with pytest.raises(ValueError, match="too large for float: use dtype='double'"):
        export_onnx(tree)
    with pytest.raises(ValueError, match="dtype must be 'float' or 'double'"):
        export_onnx(tree, dtype="half")
    labels = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")[(iris[1] > 0) * 1]
    with pytest.raises(TypeError, match="labels that are all strings or all integers"):
        export_onnx(fitted(ObliqueTreeClassifier, iris[0], labels, max_depth=1))


def test_skl2onnx_converts_pipelines(iris, diabetes):
    skl2onnx = pytest.importorskip("skl2onnx")
    register_onnx_converters()
    cases = [
        (ObliqueTreeClassifier, iris[0], np.array(["a", "b", "c"])[iris[1]]),
        (ObliqueForestClassifier, *iris), (ObliqueTreeRegressor, *diabetes),
        (ObliqueForestRegressor, *diabetes)]
    for kind, X, y in cases:
        model = kind(max_depth=3, optimizer=None, random_state=0)
        pipeline = make_pipeline(MinMaxScaler(), model).fit(X, y)
        for dtype in TYPES.values():
            X = X.astype(dtype)
            converted = skl2onnx.to_onnx(
                pipeline, X[:1],
                options={"zipmap": False} if hasattr(model, "classes_") else None)
            found = run(converted, X)
            same = found[0].ravel() == pipeline.predict(X) if hasattr(model, "classes_") else (
                np.isclose(found[0][:, 0], pipeline.predict(X), rtol=1e-5))
            assert same.mean() > 0.97       # the scaler rounds to float32, too


@DTYPES
def test_logits_that_overflow_are_cut_as_in_python(iris, dtype):
    model = fitted(ObliqueTreeClassifier, *iris, max_depth=1)
    model.tree_ = model.tree_.replace(
        values=model.tree_.values, slopes=np.full((2, 3, 4), [[[9.0], [-9.0], [8.0]]]))
    X = np.full((1, 4), 0.5 * np.finfo(TYPES[dtype]).max, TYPES[dtype])
    _, found = run(export_onnx(model, dtype=dtype), X)
    np.testing.assert_array_equal(found, [[0.5, 0.0, 0.5]])
