"""A file is refused by one type of error, or gives a model that works."""

import io
import json
import pickle
import tracemalloc
import zipfile
from copy import deepcopy
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.utils.validation import check_is_fitted

import model_cases
import ngdt
from damaged import change_description, changed
from ngdt._core.scaling import Scaling
from ngdt._encoding.categories import Categories
from ngdt._encoding.targets import ClassTargets, RegressionTargets
from ngdt._util.container import read, write
from ngdt.persistence import InvalidModelFile
from ngdt.persistence._check import check

# Whose attributes are of all kinds.
MAKERS = [model_cases.tree_on_frame, model_cases.linear_leaves, model_cases.sparse_weights,
          model_cases.forest, model_cases.forest_pruned, model_cases.boosting, model_cases.search]
# A model may have lost the names of its features, and huge numbers overflow.
IGNORES = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
# Each example writes its file anew, so they can share a folder.
KEEPS_PATH = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@cache
def files():
    """The bytes of a file, and X, of each of some models."""
    found = []
    with TemporaryDirectory() as folder:
        for make in MAKERS:
            model, X = deepcopy(model_cases.made(make)[:2])
            if make is model_cases.boosting:
                for forest in model.estimators_:
                    del forest.estimators_[1:]
            elif hasattr(model, "estimators_"):
                del model.estimators_[1:]
            ngdt.save(model, Path(folder) / "model.ngdt")
            found.append(((Path(folder) / "model.ngdt").read_bytes(), X))
    return found


@pytest.fixture
def loaded(tmp_path):
    """Function from the bytes of a file to the model, or to None if it is refused."""
    def load(data):
        path = tmp_path / "model.ngdt"
        path.write_bytes(data)
        try:
            return ngdt.load(path)
        except InvalidModelFile:
            return None

    return load


def written(description, arrays):
    file = io.BytesIO()
    write(file, description, arrays)
    return file.getvalue()


def check_works(model, X):
    """A model that was made of a file does all that a model does without training."""
    if isinstance(model, ngdt.Tree):
        assert np.isfinite(model.predict(np.ones((2, model.n_features)))).all()
        return
    try:
        check_is_fitted(model)
    except ValueError:      # all that was learnt has been deleted
        return
    n_samples = X.shape[0]
    assert len(model.predict(X)) == n_samples
    for method in ("predict_proba", "predict_quantiles", "apply"):
        if hasattr(model, method):
            assert len(getattr(model, method)(X)) == n_samples
    if hasattr(model, "tree_") and hasattr(model, "apply"):
        ngdt.export.export_text(model)
    assert pickle.dumps(model)


# --- damaged bytes -------------------------------------------------------------------------------


@KEEPS_PATH
@given(st.data())
def test_flipped_bytes(loaded, data):
    content, X = data.draw(st.sampled_from(files()))
    damaged = bytearray(content)
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=3)):
        damaged[place] ^= data.draw(st.integers(1, 255))
    model = loaded(bytes(damaged))
    if model is not None:       # bytes that nothing depends on, such as a date
        check_works(model, X)


@KEEPS_PATH
@given(st.data())
def test_cut_repeated_and_moved_bytes(loaded, data):
    content, X = data.draw(st.sampled_from(files()))
    a, b, c = sorted(data.draw(st.tuples(*[st.integers(0, len(content))] * 3)))
    first, second, third, last = content[:a], content[a:b], content[b:c], content[c:]
    for damaged in (first, last, first + third + last, first + second + second + third + last,
                    first + third + second + last, content + second, second + content):
        model = loaded(damaged)
        if model is not None:
            check_works(model, X)


@KEEPS_PATH
@given(st.binary(max_size=200))
def test_any_bytes(loaded, content):
    assert loaded(content) is None


# --- wrong descriptions and arrays ---------------------------------------------------------------

SEEDS = st.integers(0, 2**64)


@IGNORES
@settings(KEEPS_PATH, max_examples=4 * settings.default.max_examples)
@given(seed=SEEDS)
def test_changed_descriptions(loaded, seed):
    random = Random(seed)
    content, X = random.choice(files())
    description, arrays = read(content)
    change_description(random, description["objects"])
    model = loaded(written(description, arrays))
    if model is not None:
        check_works(model, X)


@IGNORES
@settings(KEEPS_PATH, max_examples=4 * settings.default.max_examples)
@given(seed=SEEDS)
def test_changed_arrays(loaded, seed):
    random = Random(seed)
    content, X = random.choice(files())
    description, arrays = read(content)
    name = random.choice(sorted(arrays))
    array = changed(random, arrays[name])
    arrays[random.choice([name, array.dtype.name])] = array
    model = loaded(written(description, arrays))
    if model is not None:
        check_works(model, X)


@pytest.mark.parametrize(("thing", "name"), [
    (ClassTargets(np.array([1, 0])), "classes"),
    (ClassTargets(np.array([], dtype=int)), "classes"),
    (RegressionTargets(np.zeros(1), np.zeros(1)), "scale"),
    (Scaling(np.zeros(1), np.zeros(1)), "scale"),
    (Categories(("a", "b", "c"), (), (), (0.0, 1.0, 1.5)), "fill"),
    (Categories(("a", "b", "c"), (), (), (0.0, 1.0, -0.5)), "fill"),
])
def test_numbers_out_of_range_are_refused_by_name(thing, name):
    with pytest.raises(ValueError, match=f"^{name} must be as fit makes it"):
        check(thing)


def test_categories_without_or_with_all_samples_are_no_fault():
    check(Categories(("a", "b", "c"), (), (), (0.0, 1.0, 0.0)))


def test_each_name_of_a_feature_is_compared():
    model, *_ = deepcopy(model_cases.made(model_cases.tree_on_frame))
    check(model)
    model.encoded_feature_names_[-1] = "unheard"
    with pytest.raises(ValueError, match=r"^encoded_feature_names_ must be as fit makes it"):
        check(model)


# --- files made to do harm -----------------------------------------------------------------------

TREE = {"class": "Tree", "arguments": {
    "weights": {"array": ["float64", 0, 1, [1, 1]]},
    "thresholds": {"array": ["float64", 1, 2, [1]]},
    "children_left": {"array": ["int32", 0, 1, [1]]},
    "children_right": {"array": ["int32", 1, 2, [1]]},
    "values": {"array": ["float64", 2, 4, [2, 1]]}, "slopes": None, "ranges": None}}
ESTIMATOR = {"class": "ObliqueTreeClassifier", "arguments": {}}
ARRAYS = {"float64": np.arange(4.0), "int32": np.array([~0, ~1], dtype=np.int32)}


def tree_file(**changes):
    """A description of a tree with some of its arguments replaced."""
    return {"objects": [TREE | {"arguments": TREE["arguments"] | changes}]}


def error_of(content, path):
    """The error of a file, which must be refused without much memory."""
    path.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidModelFile) as caught:
            ngdt.load(path)
        assert tracemalloc.get_traced_memory()[1] < 20 * len(content) + 2**20
    finally:
        tracemalloc.stop()
    return str(caught.value)


def test_the_file_of_a_tree(tmp_path, loaded):
    expected = ngdt.Tree([[0.0]], [1.0], [~0], [~1], [[2.0], [3.0]])
    assert loaded(written(tree_file(), ARRAYS)) == expected


@pytest.mark.parametrize(("changes", "message"), [
    # A list of strings would become an array of as many strings of the longest size.
    ({"weights": [["x" * 100_000] + [""] * 100_000]}, "must consist of arrays"),
    ({"weights": {"csr": [[1, 1], ["x" * 100_000] + [""] * 100_000, [0], [0, 1]]}},
     "must consist of arrays"),
    ({"weights": {"array": ["float64", 0, 1, [1, 10**9]]}}, "reshape"),
    ({"weights": {"array": ["float64", 0, 10**12, [1, 10**12]]}}, "no part of the array float64"),
    ({"weights": {"array": ["float64", -1, 0, [1, 1]]}}, "no part of the array float64"),
    # Each entry is used once: a big array cannot be copied a million times.
    ({"thresholds": {"array": ["float64", 0, 2, [2]]}}, "no part of the array float64"),
    ({"children_left": {"array": ["float64", 0, 1, [1]]}}, "no part of the array float64"),
    ({"children_right": {"array": ["int32", 0, 1, [1]]}}, "that have no other parent"),
    ({"values": {"object": 0}}, "no object 0 before"),
    ({"values": {"object": -1}}, "no object -1 before"),
    ({"weights": None}, "real numbers"),
    ({"unheard": 1}, "must consist of arrays"),
])
def test_a_tree_of_wrong_arrays(tmp_path, changes, message):
    assert message in error_of(written(tree_file(**changes), ARRAYS), tmp_path / "model.ngdt")


@pytest.mark.parametrize(("description", "message"), [
    ({"objects": []}, "ValueError"),
    ({}, "KeyError"),
    ({"objects": [{"class": "Popen", "arguments": {}}]}, "KeyError: 'Popen'"),
    ({"objects": [{"class": "TAO", "arguments": {}}]}, "an object of type TAO"),
    ({"objects": [ESTIMATOR | {"arguments": {"max_depth": -1}}]}, "max_depth"),
    ({"objects": [ESTIMATOR | {"arguments": {"depth": 1}}]}, "depth"),
    ({"objects": [ESTIMATOR | {"attributes": {"predict": 1}}]}, "lacks"),
    ({"objects": [TREE | {"attributes": {"weights": 1}}]}, "TypeError"),
    ({"objects": [TREE], "format": "pickle"}, "its format is 'pickle'"),
    ({"objects": [TREE], "version": "1"}, "no version of the format"),
    ({"objects": [TREE], "version": 0}, "no version of the format"),
])
def test_wrong_descriptions(tmp_path, description, message):
    assert message in error_of(written(description, ARRAYS), tmp_path / "model.ngdt")


def test_a_file_of_a_later_format_says_what_to_do(tmp_path):
    later = {"objects": [{"class": "Unheard"}], "version": 2, "ngdt": "7.0"}
    message = error_of(written(later, ARRAYS), tmp_path / "model.ngdt")
    assert "version 2" in message
    assert "Update ngdt (ngdt 7.0 wrote the file)" in message


def zipped(members, compression=ZIP_STORED):
    file = io.BytesIO()
    with ZipFile(file, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return file.getvalue()


def members():
    with ZipFile(io.BytesIO(written(tree_file(), ARRAYS))) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def header(descr, shape):
    """The bytes of a .npy file with this header."""
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}".ljust(118).encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


START = b'{"format": "ngdt model", "version": 1, "objects": '


@pytest.mark.parametrize(("name", "content", "message"), [
    ("float64.npy", header("'<f8'", "(10**12,)"), "Error"),
    ("float64.npy", header("'<f8'", "(1000000000000,)"), "0 entries"),
    ("float64.npy", header("'<f8'", "(2, 2)") + bytes(32), "4 entries"),
    ("float64.npy", header("'|O'", "(4,)") + bytes(32), "type object"),
    ("float64.npy", header("'<f4'", "(4,)") + bytes(16), "type float32"),
    ("float64.npy", header("'<f8'", "(4,)").replace(b"\x01", b"\x02"), "unknown version"),
    ("float64.npy", header("__import__('os').getcwd()", "(4,)"), "Error"),
    ("float64.npy", b"", "Error"),
    ("float64.npy", pickle.dumps(1), "Error"),
    # Python 3.14 reads lists in lists until the stack is full, which takes 3 MB.
    ("model.json", b"[" * 1_000_000, "RecursionError"),
    ("model.json", START + b"[" * 1_000_000, "RecursionError"),
    ("model.json", b"", "JSONDecodeError"),
    ("model.json", b"\xff\xfe", "Error"),
    ("model.json", b"9" * 10_000, "Error"),
])
def test_members_made_by_hand(tmp_path, name, content, message):
    replaced = [(each, content if each == name else old) for each, old in members()]
    assert message in error_of(zipped(replaced), tmp_path / "model.ngdt")


def test_bombs_are_refused_before_they_unfold(tmp_path):
    bomb = ("float64.npy", bytes(10**8))
    assert "without compression" in error_of(
        zipped([members()[0], bomb], ZIP_DEFLATED), tmp_path / "model.ngdt")
    # Members that share their bytes.
    content = zipped([("a" * 4, bytes(10**5))])
    end = content.rindex(b"PK\x05\x06")
    entry = content[content.rindex(b"PK\x01\x02"):end]
    entries = b"".join(entry.replace(b"aaaa", b"%04d" % i) for i in range(1000))
    shared = content[:content.index(b"PK\x01\x02")] + entries + (
        content[end:end + 8] + (1000).to_bytes(2, "little") * 2
        + len(entries).to_bytes(4, "little") + content[end + 16:])
    assert len(zipfile.ZipFile(io.BytesIO(shared)).namelist()) == 1000
    assert "apart" in error_of(shared, tmp_path / "model.ngdt")


def test_members_of_one_name_are_refused(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        content = zipped([*members(), members()[-1]])
    assert "same name" in error_of(content, tmp_path / "model.ngdt")


def test_long_names_are_not_repeated(tmp_path):
    # A column has a long name and many categories, each of which has it in the name of a feature.
    categories = [str(i) for i in range(20_000)]
    model = ngdt.ObliqueTreeClassifier(1, optimizer=None).fit([[0.0], [1.0]], [0, 1])
    ngdt.save(model, tmp_path / "model.ngdt")
    description, arrays = read((tmp_path / "model.ngdt").read_bytes())
    objects = description["objects"]
    (table,) = (each for each in objects if each["class"] == "Table")
    indices = {"array": [np.dtype(np.intp).name, 0, 0, [0]]}
    table["arguments"] |= {
        "names": {"tuple": ["x" * 100_000]}, "numeric": indices,
        "categorical": table["arguments"]["numeric"], "gaps": indices,
        "fill": {"array": ["float64", 0, 0, [0]]}, "categories": {"tuple": [{"object": 0}]},
        "whole": {"tuple": []}}
    for each in objects:
        if "attributes" in each:
            each["attributes"]["encoded_feature_names_"] = categories
    text = json.dumps(objects)
    for number in reversed(range(len(objects))):
        text = text.replace(f'{{"object": {number}}}', f'{{"object": {number + 1}}}')
    objects = json.loads(text)
    for each in objects:
        if each["class"] == "Table":
            each["arguments"]["categories"] = {"tuple": [{"object": 0}]}
    first = {"class": "Categories", "arguments": {
        "frequent": {"tuple": categories}, "rare": {"tuple": []}, "few": {"tuple": []},
        "fill": {"tuple": [0.0] * len(categories)}}}
    description["objects"] = [first, *objects]
    message = error_of(written(description, arrays), tmp_path / "model.ngdt")
    assert "encoded_feature_names_" in message
