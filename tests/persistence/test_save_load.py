"""Models that are saved and loaded are the same."""

import io
import os
import pickle
import stat
import threading
from enum import Enum
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import ngdt
from model_cases import MODELS, assert_same, frame, labels, made, numbers, targets
from ngdt import (
    ObliqueBoostingRegressor,
    ObliqueForestClassifier,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    TAOPathCV,
)
from ngdt.deep import DeepTreeClassifier
from ngdt.export import export_text
from ngdt.initializers import INITIALIZERS
from ngdt.losses import LOSSES
from ngdt.optimizers import OPTIMIZERS, SSGD, TAO, LinearLeaves
from ngdt.persistence._registry import CLASSES
from ngdt.testing.strategies import losses, samples, trees


@pytest.fixture(scope="module", params=MODELS, ids=lambda make: make.__name__)
def saved(request, tmp_path_factory):
    """A model, its data, the file, and the model that was loaded from it."""
    model, X, y = made(request.param)
    path = tmp_path_factory.mktemp("models") / "model.ngdt"
    ngdt.save(model, path)
    return model, X, y, path, ngdt.load(path)


def saved_and_loaded(model, folder):
    ngdt.save(model, folder / "model.ngdt")
    return ngdt.load(folder / "model.ngdt")


def trees_of(model):
    """The estimators of the trees of a model."""
    if isinstance(model, ObliqueBoostingRegressor):
        return [tree for forest in model.estimators_ for tree in forest.estimators_]
    return getattr(model, "estimators_", [getattr(model, "estimator_", model)])


# --- laws ----------------------------------------------------------------------------------------


def test_all_attributes_are_the_same(saved):
    model, _, _, _, loaded = saved
    assert_same(loaded, model)


@pytest.mark.parametrize("method", [
    "predict", "predict_proba", "predict_log_proba", "predict_quantiles", "apply", "encode",
    "decision_path"])
def test_methods_return_the_same(saved, method):
    model, X, _, _, loaded = saved
    assert hasattr(model, method) == hasattr(loaded, method)
    if hasattr(model, method):
        expected, got = getattr(model, method)(X), getattr(loaded, method)(X)
        if isinstance(expected, tuple):     # of the decision path of a forest
            np.testing.assert_array_equal(got[1], expected[1])
            expected, got = expected[0], got[0]
        if hasattr(expected, "toarray"):
            expected, got = expected.toarray(), got.toarray()
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)


def test_scores_parameters_and_clones_are_the_same(saved):
    model, X, y, _, loaded = saved
    assert loaded.score(X, y) == model.score(X, y)
    assert_same(loaded.get_params(), model.get_params())
    assert repr(clone(loaded)) == repr(clone(model))


def test_text_is_the_same(saved):
    model, _, _, _, loaded = saved
    for each, other in zip(trees_of(model), trees_of(loaded), strict=True):
        assert export_text(other) == export_text(each)


def test_plots_are_the_same(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from ngdt.plotting import plot_history, plot_tree

    model = ObliqueTreeClassifier(
        2, optimizer=TAO(max_iter=2), validation_fraction=None).fit(frame(), labels())
    loaded = saved_and_loaded(model, tmp_path)
    drawn = [[text.get_text() for text in plot_tree(each).findobj(matplotlib.text.Text)]
             for each in (model, loaded)]
    assert drawn[0] == drawn[1] != []
    assert plot_history(loaded).lines


def test_the_file_of_a_loaded_model_is_the_same(saved):
    *_, path, loaded = saved
    again = path.with_name("again.ngdt")
    ngdt.save(loaded, again)
    assert again.read_bytes() == path.read_bytes()


def test_a_loaded_model_is_trained_on(saved):
    model, X, y, _, loaded = saved
    if isinstance(model, TAOPathCV | ObliqueBoostingRegressor):
        return
    for each in (model, loaded):
        each.set_params(warm_start=True, random_state=3, **(
            {"n_estimators": 6} if hasattr(each, "estimators_") else {}))
    expected, got = (pickle.loads(pickle.dumps(each)).fit(X, y) for each in (model, loaded))
    assert_same(got, expected)


def test_batches_go_on(tmp_path):
    y = labels()
    model = ObliqueTreeClassifier(3, optimizer=SSGD(epochs=2), random_state=0)
    model.partial_fit(frame()[:60], y[:60], classes=["no", "yes"])
    loaded = saved_and_loaded(model, tmp_path)
    assert_same(*(each.partial_fit(frame()[60:], y[60:]) for each in (loaded, model)))


# Each example writes its file anew, so they can share a folder.
KEEPS_PATH = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@KEEPS_PATH
@given(tree=trees(), X=samples())
def test_any_tree(tmp_path, tree, X):
    for each in (tree, tree.sparsify()):
        loaded = saved_and_loaded(each, tmp_path)
        assert loaded == each
        assert loaded.is_sparse == each.is_sparse
        X = np.resize(X.toarray() if hasattr(X, "toarray") else X, (3, each.n_features))
        np.testing.assert_array_equal(loaded.predict(X), each.predict(X))


@KEEPS_PATH
@given(loss=losses())
def test_any_loss(tmp_path, loss):
    kind = ObliqueTreeClassifier if loss.is_classifier else ObliqueTreeRegressor
    assert_same(saved_and_loaded(kind(loss=loss), tmp_path).loss, loss)


@pytest.mark.parametrize("name", INITIALIZERS)
def test_any_initializer(tmp_path, name):
    model = ObliqueTreeClassifier(init=INITIALIZERS[name]())
    assert_same(saved_and_loaded(model, tmp_path), model)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_any_optimizer(tmp_path, name):
    model = ObliqueTreeClassifier(optimizer=["ssgd", OPTIMIZERS[name]()])
    assert_same(saved_and_loaded(model, tmp_path), model)


def test_every_loss_is_registered():
    assert set(LOSSES.values()) <= set(CLASSES.values())


@pytest.mark.parametrize("kind", [bool, int, float, str, object, np.datetime64])
def test_labels_of_any_type(tmp_path, kind):
    model = ObliqueTreeClassifier(2, optimizer=None).fit(numbers(), labels(kind))
    predicted = saved_and_loaded(model, tmp_path).predict(numbers())
    assert predicted.dtype == model.predict(numbers()).dtype
    np.testing.assert_array_equal(predicted, model.predict(numbers()))


def test_members_of_an_enumeration_become_strings(tmp_path):
    City = Enum("City", {"ROME": "Rome", "OSLO": "Oslo"}, type=str)
    X = np.array([[City.ROME], [City.OSLO]] * 10, dtype=object)
    model = ObliqueTreeClassifier(1, optimizer=None, categorical_features=[0]).fit(X, [0, 1] * 10)
    assert model.encoded_feature_names_ == ["x0 = Rome"]
    loaded = saved_and_loaded(model, tmp_path)
    assert export_text(loaded) == export_text(model)
    assert loaded.predict(X).tolist() == [0, 1] * 10


def test_bytes_of_another_order_become_native(tmp_path):
    model = ObliqueTreeClassifier(2, optimizer=None).fit(numbers(), labels(int).astype(">i4"))
    loaded = saved_and_loaded(model, tmp_path)
    assert loaded.classes_.dtype == np.int32
    assert loaded.classes_.tolist() == [-2, 7]


def test_numbers_of_every_kind_in_parameters(tmp_path):
    model = ObliqueTreeClassifier(
        np.int64(3), leaf=LinearLeaves(features=(0, 2), penalty=np.inf), warm_start=np.True_,
        ccp_alpha=np.float32(0.5), class_weight={np.int8(1): 2.0, 0: np.float64(1.0)})
    assert_same(saved_and_loaded(model, tmp_path), model)


def test_shared_objects_stay_shared(tmp_path):
    forest = saved_and_loaded(
        ObliqueForestClassifier(3, optimizer=None, random_state=0).fit(numbers(), labels()),
        tmp_path)
    assert all(tree._table is forest._table for tree in forest.estimators_)
    assert all(tree._sample_summary.tree is tree.tree_ for tree in forest.estimators_)


def test_a_replaced_tree_is_saved(tmp_path):
    model = ObliqueTreeRegressor(3, optimizer=None).fit(numbers(2), numbers(1)[:, 0])
    trained = model.tree_
    model.tree_ = ngdt.Tree([[1.0, 0.0]], [0.0], [~0], [~1], [[0.0], [1.0]])
    loaded = saved_and_loaded(model, tmp_path)
    assert loaded.tree_ == model.tree_
    assert loaded._sample_summary.tree == trained
    assert export_text(loaded) == export_text(model)


def test_a_callback_is_not_saved(tmp_path):
    model = ObliqueTreeClassifier(1, optimizer=None, callback=print).fit(numbers(), labels())
    assert saved_and_loaded(model, tmp_path).callback is None
    assert model.callback is print


def test_requests_of_metadata_are_not_saved(tmp_path):
    with config_context(enable_metadata_routing=True):
        model = ObliqueTreeClassifier(1, optimizer=None).set_fit_request(sample_weight=True)
    model.fit(numbers(), labels())
    loaded = saved_and_loaded(model, tmp_path)
    np.testing.assert_array_equal(loaded.predict(numbers()), model.predict(numbers()))


# --- what cannot be saved ------------------------------------------------------------------------


class Mine(TAO):
    """An optimizer that is not part of ngdt."""


class MyTree(ObliqueTreeClassifier):
    """An estimator that is not."""


@pytest.mark.parametrize(("parameters", "message"), [
    ({"optimizer": ["sgd", Mine()]}, r"ObliqueTreeClassifier\.optimizer\[1\] is of type Mine"),
    ({"init": DecisionTreeClassifier()}, r"\.init is of type DecisionTreeClassifier"),
    ({"random_state": np.random.RandomState(0)}, r"\.random_state is of type RandomState.* number"),
    ({"class_weight": {object(): 1.0}}, r"\.class_weight\[0\] is of type object"),
    ({"categorical_features": np.array([1j])},
     r"\.categorical_features is an array of type complex128"),
    ({"categorical_features": np.array([[None]])},
     r"\.categorical_features is an array of type object"),
])
def test_a_parameter_that_cannot_be_saved(tmp_path, parameters, message):
    with pytest.raises(TypeError, match=message):
        ngdt.save(ObliqueTreeClassifier(**parameters), tmp_path / "model.ngdt")
    assert os.listdir(tmp_path) == []


def test_what_a_forest_or_a_search_cannot_save(tmp_path):
    path = tmp_path / "model.ngdt"
    forest = ObliqueForestClassifier(2, oob_score=lambda y, best: 0.0)
    with pytest.raises(TypeError, match=r"oob_score is of type function"):
        ngdt.save(forest, path)
    with pytest.raises(TypeError, match=r"TAOPathCV\.cv is of type KFold"):
        ngdt.save(TAOPathCV(cv=KFold(3)), path)
    ngdt.save(TAOPathCV(cv=[(np.arange(5), np.arange(5, 9))]), path)


def test_models_that_are_not_fitted_and_searches_of_regression_come_back(tmp_path):
    search = TAOPathCV(ObliqueTreeRegressor(1, optimizer="tao"), Cs=[0.1], cv=2)
    for model in (ObliqueBoostingRegressor(), DeepTreeClassifier(),
                  search.fit(numbers(), targets())):
        assert_same(saved_and_loaded(model, tmp_path), model)


@pytest.mark.parametrize("model", [
    make_pipeline(StandardScaler(), ObliqueTreeClassifier()), RandomForestClassifier(),
    GridSearchCV(ObliqueTreeClassifier(), {}), MyTree(), TAO(), ObliqueTreeClassifier, None],
    ids=lambda model: type(model).__name__)
def test_another_model_is_refused_by_name(tmp_path, model):
    with pytest.raises(TypeError, match=rf"got {type(model).__name__}\. Save what ngdt trained"):
        ngdt.save(model, tmp_path / "model.ngdt")


def test_an_invalid_parameter_is_refused(tmp_path):
    with pytest.raises(ValueError, match="max_depth"):
        ngdt.save(ObliqueTreeClassifier(max_depth="deep"), tmp_path / "model.ngdt")


@pytest.mark.parametrize(("name", "value", "message"), [
    ("tree_", ngdt.Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [1.0]]), "tree_ must be"),
    ("tree_", None, "tree_ must be"),
    ("classes_", np.array(["a", "b"]), "classes_ must be"),
    ("n_features_in_", 4, "n_features_in_ must be"),
    ("history_", {"optimizer": [["tao"]]}, "history_ must be"),
    ("note", "mine", r"\['note'\], which ngdt does not know"),
    ("feature_importances_", np.ones(2), "feature_importances_ must be"),
])
def test_attributes_that_do_not_fit_are_refused(tmp_path, name, value, message):
    model = ObliqueTreeClassifier(1, optimizer=None).fit(numbers(), labels())
    setattr(model, name, value)
    with pytest.raises(ValueError, match=message):
        ngdt.save(model, tmp_path / "model.ngdt")


# --- paths and writing ---------------------------------------------------------------------------


@pytest.fixture
def model():
    return ObliqueTreeClassifier(1, optimizer=None).fit(numbers(), labels())


@pytest.mark.parametrize("kind", [str, Path])
def test_kinds_of_paths(tmp_path, model, kind):
    path = kind(tmp_path / "my model")      # nothing is added to it
    assert ngdt.save(model, path) is None
    assert os.listdir(tmp_path) == ["my model"]
    assert_same(ngdt.load(path), model)


@pytest.mark.parametrize("path", [3, None, b"model"])
def test_other_paths_are_refused(model, path):
    for action in (lambda: ngdt.save(model, path), lambda: ngdt.load(path)):
        with pytest.raises(TypeError, match=rf"^path: .*PathLike.*{type(path).__name__}"):
            action()


def test_files_that_are_open(tmp_path, model):
    stream = io.BytesIO()
    ngdt.save(model, stream)
    ngdt.save(model, tmp_path / "model")
    assert stream.getvalue() == (tmp_path / "model").read_bytes()
    stream.seek(0)
    assert_same(ngdt.load(stream), model)
    with open(tmp_path / "model", "rb") as file:
        assert_same(ngdt.load(file), model)
    with pytest.raises(ngdt.persistence.InvalidModelFile, match="is no valid model file"):
        ngdt.load(stream)       # at its end


def test_errors_of_the_disk_stay_what_they_are(tmp_path, model):
    with pytest.raises(FileNotFoundError):
        ngdt.load(tmp_path / "none")
    with pytest.raises(FileNotFoundError, match=r"There is no such folder, create it.*none'$"):
        ngdt.save(model, tmp_path / "none" / "model.ngdt")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        ngdt.save(model, tmp_path / "folder")
    assert os.listdir(tmp_path) == ["folder"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
@pytest.mark.parametrize("step", ["numpy.lib.format.write_array", "os.fsync", "os.replace"])
def test_an_error_leaves_the_old_file(tmp_path, model, monkeypatch, error, step):
    path = tmp_path / "model.ngdt"
    path.write_text("old")

    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(step, fail)
    with pytest.raises(error):
        ngdt.save(model, path)
    assert os.listdir(tmp_path) == ["model.ngdt"]
    assert path.read_text() == "old"


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_others_may_read_what_they_may_read_of_other_files(tmp_path, model):
    (tmp_path / "other").touch()
    ngdt.save(model, tmp_path / "model.ngdt")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert len(modes) == 1


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege")
def test_a_link_stays_one(tmp_path, model):
    (tmp_path / "real").mkdir()
    link = tmp_path / "model.ngdt"
    link.symlink_to(tmp_path / "real" / "model.ngdt")
    ngdt.save(model, link)
    assert link.is_symlink()
    assert os.listdir(tmp_path / "real") == ["model.ngdt"]


@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be replaced")
def test_who_reads_while_another_writes_gets_a_whole_model(tmp_path, model):
    path = tmp_path / "model.ngdt"
    other = ObliqueTreeClassifier(3, optimizer=None).fit(numbers(), labels())
    ngdt.save(model, path)

    def write():
        for i in range(15):
            ngdt.save(other if i % 2 else model, path)

    thread = threading.Thread(target=write)
    thread.start()
    while thread.is_alive():
        assert ngdt.load(path).tree_ in (model.tree_, other.tree_)
    thread.join()


def test_wrong_pruning_paths_are_not_saved(tmp_path):
    model = ObliqueForestClassifier(1, optimizer=None).fit([[0.0], [1.0]], [0, 1])
    model.pruning_path_ = {"alpha": [0.0], "score": [1.0]}
    ngdt.save(model, tmp_path / "model.ngdt")
    for path in (None, [1.0], {"alpha": [0.0], "score": []}):
        model.pruning_path_ = path
        with pytest.raises(ValueError, match="pruning_path_ must be"):
            ngdt.save(model, tmp_path / "model.ngdt")
