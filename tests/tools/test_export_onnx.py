"""ONNX: in onnxruntime, the model predicts what it predicts in Python."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from exported_tables import make_dyadic, random_case
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


def samples_near(X):
    """2000 random samples of float32 with the means and the standard deviations of others."""
    normal = np.random.default_rng(0).normal(size=(2000, X.shape[1]))
    return (X.mean(axis=0) + X.std(axis=0) * normal).astype(np.float32)


def near_thresholds(model, X, dtype):
    """Mask of the samples with a score on the path within the rounding errors of its sum."""
    epsilon, near = 4 * np.finfo(TYPES[dtype]).eps * X.shape[1], np.zeros(len(X), dtype=bool)
    for tree in (each.tree_ for each in getattr(model, "estimators_", [model])):
        size = np.abs(X) @ np.abs(tree.dense_weights()).T + np.abs(tree.thresholds)
        is_sum = np.count_nonzero(tree.dense_weights(), axis=1) > 1
        close = (np.abs(tree.scores(X)) <= epsilon * size) & is_sum
        near |= (close & tree.decision_path(X).toarray()).any(axis=1)
    return near


@pytest.fixture(scope="module")
def models(iris, diabetes):
    X, y = iris
    oblique = dict(init="random_oblique", max_depth=4)
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


@pytest.mark.parametrize("weight", [1.0, -1e-3])
def test_limits_of_one_feature_may_be_beyond_its_type(weight):
    """No sample of float32 is there, so that the split decides as in Python all the same."""
    X = np.finfo(np.float32).max * np.array([[-1.0], [0.0], [1.0]], dtype=np.float32)
    for threshold in (1e39, -1e39):
        tree = Tree([[weight]], [threshold], [~0], [~1], [[0.0], [1.0]])
        np.testing.assert_array_equal(run(export_onnx(tree), X)[0], tree.predict(X))
    tree = Tree([[weight, 1.0]], [1e39], [~0], [~1], [[0.0], [1.0]])
    with pytest.raises(ValueError, match="too large for float: use dtype='double'"):
        export_onnx(tree)


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


def feed(onnx_model, rows, holds, model, dtype):
    """Columns as the inputs of a model, or all numbers as one."""
    if set(holds) == {"number"}:
        return {"X": rows.astype(float).to_numpy(TYPES[dtype])}
    found = {}
    inputs = [each.name for each in onnx_model.graph.input]
    for j, (name, each) in enumerate(zip(inputs, holds, strict=True)):
        column = rows.iloc[:, [j]].astype(object)
        if each == "text":
            found[name] = column.where(column.notna(), "").to_numpy(object)
        else:
            found[name] = column.where(column.notna(), np.nan).to_numpy(
                np.float64 if each == "code" else TYPES[dtype])
    return found


@given(st.integers(0, 2**20), st.sampled_from(list(TYPES)))
def test_tables_of_all_types(seed, dtype):
    model, rows, holds = random_case(seed)
    make_dyadic(model)
    onnx_model = export_onnx(model, dtype=dtype)
    onnx.checker.check_model(onnx_model, full_check=True)
    session = onnxruntime.InferenceSession(
        onnx_model.SerializeToString(), providers=["CPUExecutionProvider"])
    found = session.run(None, feed(onnx_model, rows, holds, model, dtype))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X. values that did not occur")
        if not hasattr(model, "classes_"):
            tolerance = 1e-5 if hasattr(model, "estimators_") and dtype == "float" else 1e-12
            np.testing.assert_allclose(
                found[0], model.predict(rows), rtol=tolerance, atol=tolerance)
            return
        wanted, proba = model.predict(rows), model.predict_proba(rows)
    tolerance = 1e-5 if dtype == "float" else 1e-12
    np.testing.assert_allclose(found[1], proba, rtol=tolerance, atol=tolerance)
    clear = np.ones(len(proba), bool) if not hasattr(model, "estimators_") else (
        np.sort(proba, axis=1)[:, -2:] @ [-1, 1] > tolerance)
    assert (found[0] == wanted)[clear].all()


def test_inputs_have_the_names_of_columns():
    frame = pd.DataFrame({name: np.arange(20.0) for name in (
        "", "variable", "_variable", "ngdt_v0", "label", "été")})
    frame["city"] = ["Rome", "Oslo"] * 10
    inputs = export_onnx(fitted(ObliqueTreeRegressor, frame, np.arange(20))).graph.input
    assert [each.name for each in inputs] == [
        "_", "__variable", "_variable", "_ngdt_v0", "label", "été", "city"]


def test_an_empty_string_is_a_category_or_a_missing_value():
    city, y = ["Rome", "", "Oslo"] * 20, np.arange(60) % 3

    def export(city, rows):
        model = fitted(ObliqueTreeClassifier, pd.DataFrame({"city": city}), y, max_depth=3)
        onnx_model = export_onnx(model)
        session = onnxruntime.InferenceSession(onnx_model.SerializeToString())
        return session.run(None, {"city": np.array(rows, dtype=object)[:, None]})[0].tolist()

    assert export(city, ["Rome", "", "Oslo"]) == [0, 1, 2]
    gaps = pd.Series(city, dtype=object).replace("", None)
    assert export(gaps, ["Rome", "", "Oslo"]) == [0, 1, 2]
    y[40:] = 0      # missing values tell something of y
    with pytest.raises(ValueError, match="has the category '' and missing values in column 'city'"):
        export([*city[:40], *[None] * 20], [])


def test_an_empty_string_beside_missing_values_that_are_rare():
    """They share a feature with unknown categories, which the empty string has not."""
    city = pd.Series(["", "Oslo"] * 30 + ["Rome", "Rome", "Bern", None, None, None], dtype=object)
    model = fitted(ObliqueTreeClassifier, pd.DataFrame({"city": city}), [0] * 60 + [1] * 6)
    assert None in model._table.categories[0].rare
    with pytest.raises(ValueError, match="has the category '' and missing values"):
        export_onnx(model)


def test_skl2onnx_refuses_categories():
    skl2onnx = pytest.importorskip("skl2onnx")
    register_onnx_converters()
    model = fitted(ObliqueTreeClassifier, np.arange(20)[:, None] % 2, np.arange(20) % 2,
                   max_depth=1, categorical_features=[0])
    with pytest.raises(ValueError, match="convert the model alone by export_onnx"):
        skl2onnx.to_onnx(model, np.zeros((1, 1), np.float32))


def test_wrong_arguments(iris):
    tree = Tree([[1e39]], [0.0], [~0], [~1], [[0.0], [1e39]])
    with pytest.raises(ValueError, match="too large for float: use dtype='double'"):
        export_onnx(tree)
    with pytest.raises(ValueError, match="dtype must be 'float' or 'double'"):
        export_onnx(tree, dtype="half")
    labels = iris[1].astype(np.uint64) + np.uint64(2**63 - 2)     # it would be a negative int64
    with pytest.raises(TypeError, match=r"9223372036854775808.*, but .* all integers of 64 bits"):
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


def test_skl2onnx_writes_the_index_in_place_of_the_label(iris):
    skl2onnx = pytest.importorskip("skl2onnx")
    register_onnx_converters()
    X, y = iris[0].astype(np.float32), iris[1]
    for labels in (np.array(["a", "b", "c"]), np.array([-3, 4, 7])):
        model = fitted(ObliqueTreeClassifier, X, labels[y], max_depth=2)
        converted = skl2onnx.to_onnx(
            model, X[:1], options={ObliqueTreeClassifier: {"nocl": True, "zipmap": False}})
        np.testing.assert_array_equal(labels[run(converted, X)[0]], model.predict(X))


def test_skl2onnx_knows_the_number_of_targets(diabetes):
    skl2onnx = pytest.importorskip("skl2onnx")
    register_onnx_converters()
    X = diabetes[0].astype(np.float32)
    for kind, n in itertools.product((ObliqueTreeRegressor, ObliqueForestRegressor), (1, 2)):
        model = fitted(kind, X, diabetes[0][:, :n], max_depth=2)
        converted = skl2onnx.to_onnx(model, X[:1])
        (output,) = converted.graph.output
        assert [each.dim_value for each in output.type.tensor_type.shape.dim] == [0, n]
        (found,) = run(converted, X)
        np.testing.assert_allclose(found, model.predict(X).reshape(-1, n), rtol=1e-5)


@DTYPES
def test_logits_that_overflow_are_cut_as_in_python(iris, dtype):
    model = fitted(ObliqueTreeClassifier, *iris, max_depth=1)
    model.tree_ = model.tree_.replace(
        values=model.tree_.values, slopes=np.full((2, 3, 4), [[[9.0], [-9.0], [8.0]]]))
    X = np.full((1, 4), 0.5 * np.finfo(TYPES[dtype]).max, TYPES[dtype])
    _, found = run(export_onnx(model, dtype=dtype), X)
    np.testing.assert_array_equal(found, [[0.5, 0.0, 0.5]])
