"""C code: compiled by a strict compiler, it predicts what the model predicts."""

import ctypes
import itertools
import platform
import re
import shutil
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from exported_tables import make_dyadic, random_case
from ngdt import (
    ObliqueForestClassifier,
    ObliqueForestRegressor,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    Tree,
)
from ngdt.export import export_c
from ngdt.testing.strategies import trees

COMPILER = shutil.which("cc")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")
FLAGS = ["-Wall", "-Wextra", "-Werror", "-std=c99", "-pedantic", "-shared", "-fPIC"]


# The x87 of 32-bit x86 rounds to a double only when a register is stored.
X87 = sys.maxsize < 2**32 and platform.machine() in ("i386", "i586", "i686", "x86_64")


def assert_same_bits(found, expected):
    if X87:
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    else:
        # Zeros are equal numbers, and the code writes those of both signs alike.
        assert (found + 0.0).tobytes() == (expected + 0.0).tobytes()


class Compiled:
    """The code of several models, named m0, m1, ..., as one library."""

    numbers = itertools.count()

    def __init__(self, models, folder, level="-O0", **arguments):
        path = folder / "models.c"
        path.write_text("".join(
            export_c(model, name=f"m{i}", **arguments) for i, model in enumerate(models)))
        # A library is loaded for good, and found by its name when another one is asked for.
        library = path.with_suffix(f".{next(self.numbers)}.so")
        subprocess.run([COMPILER, level, *FLAGS, path, "-o", library, "-lm"], check=True)
        self.library = ctypes.CDLL(str(library))
        self.type = np.float32 if arguments.get("dtype") == "float" else np.float64

    def _call(self, function, x, n_outputs=0):
        out = np.full(n_outputs, np.nan, self.type)
        if not isinstance(x, np.void):      # a struct
            x = np.ascontiguousarray(x, self.type)
        result = getattr(self.library, function)(
            *(ctypes.c_void_p(array.__array_interface__["data"][0]) for array in
              (np.asarray(x), out)[:1 + (n_outputs > 0)]))
        return out if n_outputs else result

    def classes(self, i, X):
        return np.array([self._call(f"m{i}_predict", x) for x in X])

    def probabilities(self, i, X, n_classes):
        return np.array([self._call(f"m{i}_predict_proba", x, n_classes) for x in X])

    def values(self, i, X, n_outputs):
        return np.array([self._call(f"m{i}_predict", x, n_outputs) for x in X])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("c")


# A compiler takes as long for many small trees as for one; to shrink them would take minutes.
MANY_TREES = st.lists(trees(
    n_features=st.sampled_from([1, 2, 3, 5, 16, 17, 41]), n_outputs=st.integers(1, 3),
    elements=st.floats(-10, 10) | st.just(0.0), sparse_weights=st.booleans(),
    linear_leaves=st.booleans()), min_size=20, max_size=20)
FEW_COMPILATIONS = settings(
    max_examples=1 + settings.default.max_examples // 50,
    phases=[Phase.explicit, Phase.reuse, Phase.generate])


@FEW_COMPILATIONS
@given(MANY_TREES, st.integers(0, 2**16))
def test_trees_predict_to_the_last_bit(folder, models, seed):
    rng = np.random.default_rng(seed)
    compiled = Compiled(models, folder)
    for i, tree in enumerate(models):
        X = rng.normal(size=(8, tree.n_features)) * rng.choice([0.0, 1.0, 3.0], tree.n_features)
        assert_same_bits(compiled.values(i, X, tree.n_outputs), tree.predict(X))


def test_sums_run_in_the_same_order(folder):
    """The outputs of a single leaf are products with dense and with sparse rows."""
    rng, models = np.random.default_rng(0), []
    for p in (3, 7, 19, 64, 203):
        for share in (0.06, 1.0):
            rows = rng.normal(size=(1, 8, p)) * (rng.random((1, 8, p)) < share)
            models.append(Tree(np.empty((0, p)), [], [], [], np.zeros((1, 8)), rows))
    compiled = Compiled(models, folder)
    for i, tree in enumerate(models):
        X = rng.normal(size=(5, tree.n_features))
        assert_same_bits(compiled.values(i, X, 8), tree.predict(X))


@pytest.mark.parametrize("is_dense", [[0, 0], [1, 1], [0, 1]], ids=["sparse", "dense", "both"])
def test_an_optimising_compiler_warns_of_nothing(folder, is_dense):
    rows = np.where(np.array(is_dense)[:, None], np.arange(20) + 1.0, np.eye(20)[:2])
    tree = Tree(rows, [0.5, 1.0], [1, ~0], [~1, ~2], [[0.0], [1.0], [2.0]])
    compiled, X = Compiled([tree], folder, level="-O2"), np.eye(20)
    assert_same_bits(compiled.values(0, X, 1), tree.predict(X))


@pytest.mark.parametrize("n_features", [1, 3, 9, 17])
def test_an_optimising_compiler_warns_of_no_encoded_features(folder, n_features):
    pandas = pytest.importorskip("pandas")
    values = np.random.default_rng(0).normal(size=(60, n_features))
    frame = pandas.DataFrame(np.where(values > 1, np.nan, values)).add_prefix("x")
    model = fitted(ObliqueTreeRegressor, frame, np.nan_to_num(frame.to_numpy()).sum(axis=1))
    compiled = Compiled([model], folder, level="-O2")
    assert_same_bits(compiled.values(0, frame.to_numpy(), 1).ravel(), model.predict(frame))


def fitted(kind, X, y, **parameters):
    return kind(optimizer=None, random_state=0, **parameters).fit(X, y)


def with_linear_leaves(model):
    """The model with random slopes in some leaves of its trees, and limits of predictions."""
    rng = np.random.default_rng(0)
    for each in getattr(model, "estimators_", [model]):
        tree = each.tree_
        slopes = rng.normal(size=(*tree.values.shape, tree.n_features))
        slopes *= rng.choice([0.0, 1.0], (tree.n_leaves, 1, 1))
        ranges = np.sort(rng.normal(scale=3, size=(*tree.values.shape, 2)))
        each.tree_ = tree.replace(
            values=tree.values, slopes=slopes, ranges=ranges if rng.random() < 0.7 else None)
    return model


@pytest.fixture(scope="module")
def estimators(iris, diabetes):
    """Estimators of all kinds, and samples for them."""
    X, y = iris
    labels = np.array(['a"??/\\', "é*/ $name", "c"])[y]
    targets = np.column_stack([diabetes[1], diabetes[0][:, 2]])
    of_classes = [
        fitted(ObliqueTreeClassifier, X, labels, max_depth=4),
        fitted(ObliqueTreeClassifier, X, np.zeros(len(X)), max_depth=2),
        fitted(ObliqueForestClassifier, X, labels, n_estimators=3),
        with_linear_leaves(fitted(ObliqueTreeClassifier, X, labels, max_depth=3)),
        with_linear_leaves(fitted(ObliqueForestClassifier, X, y, n_estimators=3, max_depth=2))]
    of_numbers = [
        fitted(ObliqueTreeRegressor, *diabetes, max_depth=5),
        fitted(ObliqueTreeRegressor, *diabetes, max_depth=4, loss="poisson"),
        fitted(ObliqueTreeRegressor, diabetes[0], targets, max_depth=3),
        fitted(ObliqueForestRegressor, *diabetes, n_estimators=3, max_depth=4),
        with_linear_leaves(fitted(ObliqueTreeRegressor, diabetes[0], targets, max_depth=3)),
        with_linear_leaves(fitted(ObliqueForestRegressor, *diabetes, n_estimators=3, max_depth=3))]
    return [(model, X) for model in of_classes] + [(model, diabetes[0]) for model in of_numbers]


@pytest.fixture(scope="module")
def compiled(folder, estimators):
    # Compilers that optimise warn of more, and take twice as long.
    return Compiled([model for model, _ in estimators], folder, level="-O1")


def test_estimators_predict_what_they_predict_in_python(compiled, estimators):
    for i, (model, X) in enumerate(estimators):
        if hasattr(model, "classes_"):
            k = len(model.classes_)
            assert (model.classes_[compiled.classes(i, X)] == model.predict(X)).all()
            np.testing.assert_allclose(
                compiled.probabilities(i, X, k), model.predict_proba(X), rtol=1e-13)
            labels = (ctypes.c_char_p * k).in_dll(compiled.library, f"m{i}_classes")
            assert [each.decode() for each in labels] == [str(each) for each in model.classes_]
        else:
            found = compiled.values(i, X, model.n_outputs_)
            assert_same_bits(found, model.predict(X).reshape(found.shape))


def test_float_differs_only_near_thresholds(folder, estimators):
    """Samples reach the same leaf if no score is within rounding errors of float32."""
    compiled = Compiled([model for model, _ in estimators], folder, dtype="float")
    for i, (model, X) in enumerate(estimators):
        X = X.astype(np.float32)
        members = getattr(model, "estimators_", [model])
        is_near = np.zeros(len(X), dtype=bool)
        for tree in (each.tree_ for each in members):
            size = np.abs(X) @ np.abs(tree.dense_weights()).T + np.abs(tree.thresholds)
            near = np.abs(tree.scores(X)) <= 1e-6 * size
            is_near |= (near & tree.decision_path(X).toarray()).any(axis=1)
        assert is_near.mean() < 0.2     # iris has few different values
        if hasattr(model, "classes_"):
            found = compiled.probabilities(i, X, len(model.classes_))
            wanted = model.predict_proba(X)
        else:
            found = compiled.values(i, X, model.n_outputs_)
            wanted = model.predict(X).reshape(found.shape)
        np.testing.assert_allclose(
            found[~is_near], wanted[~is_near], rtol=1e-4, atol=1e-4 * np.abs(wanted).max())


def test_nan_is_answered_by_nan(compiled, estimators):
    for i, (model, X) in enumerate(estimators):
        nan = np.full((1, X.shape[1]), np.nan)
        tree = getattr(model, "estimators_", [model])[0].tree_
        if not tree.n_internal:
            continue
        if hasattr(model, "classes_"):
            assert compiled.classes(i, nan).tolist() == [-1]
            assert np.isnan(compiled.probabilities(i, nan, len(model.classes_))).all()
        else:
            assert np.isnan(compiled.values(i, nan, model.n_outputs_)).all()


def test_only_leaves_of_the_tree_are_logits(folder):
    tree = Tree([[1.0]], [0.0], [~0], [~1], [[2.0, 0.0], [0.0, 1.0]])
    values = Compiled([tree], folder).values(0, [[1.0]], 2)
    np.testing.assert_array_equal(values, [[0.0, 1.0]])
    assert not np.allclose(values, softmax(values))


def structs(rows, holds, dtype):
    """Rows as the structs of the code, or as arrays if none holds categories; and their texts."""
    if set(holds) == {"number"}:
        return rows.astype(float).to_numpy(dtype), []
    types = {"text": np.uintp, "code": np.float64, "number": dtype}
    found = np.zeros(len(rows), np.dtype(
        [(f"f{j}", types[each]) for j, each in enumerate(holds)], align=True))
    texts = []
    for j, each in enumerate(holds):
        values = rows.iloc[:, j].astype(object)
        values = values.where(values.notna(), None).tolist()
        if each == "text":
            column = [None if value is None else ctypes.create_string_buffer(value.encode())
                      for value in values]
            found[f"f{j}"] = [0 if value is None else ctypes.addressof(value) for value in column]
            texts.append(column)
        else:
            found[f"f{j}"] = [np.nan if value is None else value for value in values]
    return found, texts


def without_new_gaps(case):
    """The case with numbers in place of gaps, if the code of its model reads none."""
    return case if "_encode(" in export_c(case.model) else case._replace(
        rows=case.rows.astype(float).fillna(0.0))


@FEW_COMPILATIONS
@given(st.integers(0, 2**20))
def test_tables_of_all_types(folder, seed):
    cases = [without_new_gaps(random_case(10 * seed + i)) for i in range(10)]
    compiled = Compiled([case.model for case in cases], folder)
    for i, (model, rows, holds) in enumerate(cases):
        found, _texts = structs(rows, holds, np.float64)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X. values that did not occur")
            wanted = model.predict(rows)
            if not hasattr(model, "classes_"):
                assert_same_bits(compiled.values(i, found, model.n_outputs_), wanted)
                continue
            proba = model.predict_proba(rows)
        k = proba.shape[1]
        np.testing.assert_allclose(compiled.probabilities(i, found, k), proba, rtol=1e-12)
        # Sums of probabilities in a forest are rounded.
        clear = np.ones(len(proba), bool) if k == 1 or not hasattr(model, "estimators_") else (
            np.sort(proba, axis=1)[:, -2:] @ [-1, 1] > 1e-12)
        assert (model.classes_[compiled.classes(i, found)] == wanted)[clear].all()


def test_tables_in_float(folder):
    """Numbers of the tables and trees are exact, but not the values of forests."""
    cases = [without_new_gaps(case) for case in itertools.islice(
        (case for case in map(random_case, itertools.count())
         if not hasattr(case.model, "estimators_")), 6)]
    for case in cases:
        make_dyadic(case.model)
    compiled = Compiled([case.model for case in cases], folder, dtype="float")
    for i, (model, rows, holds) in enumerate(cases):
        found, _texts = structs(rows, holds, np.float32)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X. values that did not occur")
            wanted = model.predict(rows)
        if hasattr(model, "classes_"):
            assert (model.classes_[compiled.classes(i, found)] == wanted).all()
        else:
            np.testing.assert_array_equal(compiled.values(i, found, model.n_outputs_), wanted)


def test_numbers_with_gaps_are_an_array(folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    X[::4, 1] = np.nan
    model = fitted(ObliqueTreeRegressor, X, np.where(np.isnan(X[:, 1]), 9.0, X[:, 0]), max_depth=3)
    assert "const ngdt_real *sample" in export_c(model)
    assert "ngdt_n_features = 3," in export_c(model)
    X[::5] = np.nan
    assert_same_bits(Compiled([model], folder).values(0, X, 1)[:, 0], model.predict(X))


def test_members_are_named_as_the_columns():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({
        name: np.arange(20.0) for name in ("a b", "a_b", "a.b", "class", "2nd", "*/ é", "é", "")})
    frame["city"] = ["Rome", "Oslo"] * 10
    header = export_c(fitted(ObliqueTreeRegressor, frame, np.arange(20)), header=True)
    assert header[header.index("typedef struct"):header.index("/* Predictions")] == """\
typedef struct {
    ngdt_real a_b_;  /* a b */
    ngdt_real a_b;
    ngdt_real a_b__;  /* a.b */
    ngdt_real class_;  /* class */
    ngdt_real x2nd;  /* 2nd */
    ngdt_real x;  /* * / \\u00e9 */
    ngdt_real x_;  /* \\u00e9 */
    ngdt_real x__;  /*  */
    const char *city;
} ngdt_sample;

"""


def test_an_array_has_its_columns_as_a_comment(folder):
    pandas = pytest.importorskip("pandas")
    X = np.arange(40.0).reshape(20, 2)
    frame = pandas.DataFrame(X, columns=["age", "*/ $ \\"])
    model = fitted(ObliqueTreeRegressor, frame, np.arange(20.0), max_depth=1)
    assert "\n/* The columns of a sample:\n    [0] age\n    [1] * / $ \\\\\n*/\n" in export_c(
        model, header=True)
    assert_same_bits(Compiled([model], folder).values(0, X, 1)[:, 0], model.predict(frame))
    nameless = fitted(ObliqueTreeRegressor, X, np.arange(20.0), max_depth=1)
    assert "columns of a sample" not in export_c(nameless)


def test_a_name_in_a_comment_is_no_trigraph(folder):
    """At the end of a line, compilers warn of ``??/``, which is a backslash in C99."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"sure??/": np.arange(20.0), "*???/": np.arange(20.0)[::-1]})
    model = fitted(ObliqueTreeRegressor, frame, np.arange(20.0), max_depth=1)
    assert_same_bits(Compiled([model], folder).values(0, frame.to_numpy(), 1)[:, 0],
                     model.predict(frame))


def test_the_type_of_categories_without_a_feature(folder):
    """Both of the codes are too few for one, beside the missing values."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"code": pandas.Categorical([1.5, 2.5, *[None] * 38])})
    frame["x"] = np.arange(40.0)
    model = fitted(ObliqueTreeRegressor, frame, np.arange(40.0), max_depth=2)
    assert "double code;" in export_c(model, header=True)
    found, _ = structs(frame, ["code", "number"], np.float64)
    assert_same_bits(Compiled([model], folder).values(0, found, 1)[:, 0], model.predict(frame))


MAIN = """
#include <stdio.h>
#include "flat.h"

int main(void)
{
    flat_sample flat;
    double out;
    flat.class_ = flat.char16_t_ = 0;
    flat.city = "Oslo";
    flat_predict(&flat, &out);
    printf("%.0f", out);
    return 0;
}
"""


@pytest.mark.parametrize("language", ["c", "c++"])
def test_other_files_include_the_header(folder, language):
    pandas = pytest.importorskip("pandas")
    if shutil.which({"c": "cc", "c++": "g++"}[language]) is None:
        pytest.skip(f"no compiler of {language}")
    frame = pandas.DataFrame({
        "class": np.arange(20.0), "char16_t": 0.0, "city": ["Rome", "Oslo"] * 10})
    model = fitted(ObliqueTreeRegressor, frame, np.arange(20) % 2 * 7.0, max_depth=1)
    (folder / "flat.c").write_text(export_c(model, name="flat"))
    (folder / "flat.h").write_text(export_c(model, name="flat", header=True))
    (folder / f"main.{language}").write_text(MAIN)
    flags = FLAGS[:-2]
    subprocess.run([COMPILER, *flags, "-c", "flat.c"], check=True, cwd=folder)
    compiler, standard = ("cc", "-std=c99") if language == "c" else ("g++", "-std=c++11")
    flags[flags.index("-std=c99")] = standard
    subprocess.run(
        [compiler, *flags, "-x", language, f"main.{language}", "-x", "none", "flat.o", "-o", "main",
         "-lm"], check=True, cwd=folder)
    printed = subprocess.run([folder / "main"], check=True, capture_output=True, text=True).stdout
    assert printed == "7"


def test_the_program_of_the_user_guide(folder):
    pandas = pytest.importorskip("pandas")
    page = (Path(__file__).parents[2] / "docs/user_guide/deploying.rst").read_text()
    (program,) = re.findall(r"\.\. code-block:: c\n\n((?:    .*\n|\n)+)", page)
    (printed,) = re.findall(r"prints ``(.*)``, as ``predict`` does", page)
    frame = pandas.DataFrame({
        "city": ["Rome", "Oslo", "Lima", None] * 10, "income": np.arange(40.0)})
    frame.loc[::9, "income"] = None
    y = np.where((frame["city"] == "Oslo") | (frame["income"] > 20), "yes", "no")
    model = fitted(ObliqueTreeClassifier, frame, y, max_depth=2)
    asked = pandas.DataFrame({"city": ["Oslo", None], "income": [8.0, None]})
    assert printed == ", ".join(model.predict(asked))
    (folder / "rich.c").write_text(export_c(model, name="rich"))
    (folder / "rich.h").write_text(export_c(model, name="rich", header=True))
    (folder / "guide.c").write_text(textwrap.dedent(program))
    subprocess.run([COMPILER, "-O1", *FLAGS[:-2], "guide.c", "rich.c", "-o", "guide", "-lm"],
                   check=True, cwd=folder)
    found = subprocess.run([folder / "guide"], check=True, capture_output=True, text=True)
    assert found.stdout == f"{printed}\n"


def test_models_of_numbers_are_written_as_ever(iris):
    """Programs call this code: a change of it is meant, and a line of the changelog."""
    model = ObliqueTreeClassifier(1, optimizer=None).fit(*iris)
    assert export_c(model, name="iris") == Path(__file__).with_name("golden_iris.c").read_text()


@pytest.mark.parametrize(("arguments", "message"), [
    (dict(name="a b"), "name must be a C identifier"), (dict(name=1), "name must be"),
    (dict(dtype="half"), "dtype must be 'double' or 'float'")])
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        export_c(Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [1.0]]), **arguments)


def test_numbers_beyond_float_are_refused():
    tree = Tree([[1e39]], [0.0], [~0], [~1], [[0.0], [1.0]])
    with pytest.raises(ValueError, match="too large for float: use dtype='double'"):
        export_c(tree, dtype="float")


def test_logits_that_overflow_are_cut_as_in_python(folder, iris):
    model = with_linear_leaves(fitted(ObliqueTreeClassifier, *iris, max_depth=1))
    model.tree_ = model.tree_.replace(
        values=model.tree_.values, slopes=np.full((2, 3, 4), [[[9.0], [-9.0], [8.0]]]))
    X = np.full((1, 4), 1e308)
    compiled = Compiled([model], folder)
    assert model.predict_proba(X)[0, 1] == 0.0
    np.testing.assert_array_equal(compiled.probabilities(0, X, 3), model.predict_proba(X))
