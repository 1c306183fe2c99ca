"""Callbacks of scikit-learn: the tasks that they see, ends of a training, and searches."""

import importlib.util
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ngdt
from ngdt import ObliqueForestClassifier, ObliqueTreeClassifier
from ngdt._estimators import callbacks as _callbacks
from ngdt.optimizers import GTO, SGD, SSGD, TAO, Annealed, EndToEnd

sklearn_callback = pytest.importorskip("sklearn.callback", reason="needs scikit-learn 1.9")

TREE = ObliqueTreeClassifier(2, init="info_gain", optimizer=TAO(max_iter=3), random_state=0)


class Record:
    """Writes down the tasks, and asks for the end of the training after a number of steps."""

    def __init__(self, n_steps=np.inf):
        self.n_steps, self.begun, self.ended, self.open = n_steps, [], [], []

    def setup(self, estimator, context):
        assert not self.open

    def teardown(self, estimator, context):
        assert not self.open

    def on_fit_task_begin(self, estimator, context, *, X, metadata):
        assert context.parent is None or context.parent is self.open[-1]
        assert X is not None
        self.open.append(context)
        self.begun.append((context.task_name, context.max_subtasks))

    def on_fit_task_end(self, estimator, context):
        assert context is self.open.pop()
        self.ended.append(context.task_name)
        return len(self.steps) == self.n_steps

    @property
    def steps(self):
        return [name for name in self.ended if name in ("epoch", "tree")]


@pytest.fixture(scope="module")
def data(iris):
    return iris[0][::3], iris[1][::3]


@pytest.mark.parametrize("optimizer", [
    Annealed(steps=20), EndToEnd(epochs=2), GTO(max_iter=3), SGD(epochs=2), SSGD(epochs=2),
    TAO(max_iter=3)], ids=lambda optimizer: optimizer.name)
def test_the_epochs_of_each_optimizer_are_steps(optimizer, data):
    record = Record()
    tree = clone(TREE).set_params(optimizer=optimizer, max_depth=1, validation_fraction=None)
    tree.set_callbacks(record).fit(*data)
    assert record.begun[0] == ("fit", None)
    assert record.ended[-1] == "fit"
    assert len(record.steps) == tree.n_iter_ > 0
    assert record.begun[1][0] == tree.history_["optimizer"][0]
    assert record.begun[1][1] >= tree.n_iter_


def test_callbacks_do_not_change_the_model(data):
    watched = clone(TREE).set_callbacks(Record()).fit(*data)
    assert watched.tree_ == clone(TREE).fit(*data).tree_
    assert clone(watched)._skl_callbacks is watched._skl_callbacks


def test_a_chain_has_a_part_for_each_optimizer(data):
    record, seen = Record(), []
    tree = clone(TREE).set_params(
        optimizer=[SSGD(epochs=2), TAO(max_iter=2)], callback=seen.append)
    tree.set_callbacks(record).fit(*data)
    assert [name for name, _ in record.begun if name in ("SSGD", "TAO")] == ["SSGD", "TAO"]
    assert len(record.steps) == len(seen) == tree.n_iter_


@pytest.mark.parametrize("optimizer", [
    Annealed(steps=100), [SSGD(epochs=5), "tao"], "auto"], ids=["one", "chain", "race"])
def test_a_callback_ends_the_training_of_a_tree(optimizer, data):
    record = Record(n_steps=1)
    tree = clone(TREE).set_params(optimizer=optimizer, init="auto" if optimizer == "auto" else
                                  "info_gain").set_callbacks(record).fit(*data)
    assert len(record.steps) == tree.n_iter_ == 1
    assert tree.score(*data) > 0.5
    assert tree.set_callbacks().fit(*data).n_iter_ > 1


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_callback_ends_the_training_of_a_forest(n_jobs, data):
    forest = ObliqueForestClassifier(
        6, optimizer=None, random_state=0, n_jobs=n_jobs).set_callbacks(Record(n_steps=4))
    forest.fit(*data)
    whole = clone(forest).set_callbacks().fit(*data)
    assert [each.tree_ for each in forest.estimators_] == [
        each.tree_ for each in whole.estimators_[:4]]


def test_a_callback_may_end_the_trial_of_a_forest(data):
    record = Record(n_steps=2)
    forest = ObliqueForestClassifier(8, random_state=0).set_callbacks(record).fit(*data)
    assert len(forest.estimators_) == len(record.steps) == 2
    assert ("trees", 8) not in record.begun


def test_a_monitor_scores_a_forest_after_each_tree(data):
    monitor = sklearn_callback.ScoringMonitor(scoring="neg_log_loss")
    forest = ObliqueForestClassifier(3, optimizer=None, random_state=0)
    forest.set_callbacks(monitor).fit(*data)
    logs = monitor.get_logs().data
    of_trees = [row["neg_log_loss"] for row in logs if row["task_name"] == "tree"]
    monitor = sklearn_callback.ScoringMonitor(scoring="neg_log_loss")
    for n, score in enumerate(of_trees):
        fewer = clone(forest).set_params(n_estimators=n + 1).set_callbacks(monitor).fit(*data)
        assert monitor.get_logs().data[0]["neg_log_loss"] == score
    assert fewer.predict_proba(data[0]).tolist() == forest.predict_proba(data[0]).tolist()


def test_a_search_shows_its_progress_and_goes_on_after_a_stop(data, capsys):
    pytest.importorskip("rich")
    record = Record(n_steps=1)
    pipeline = make_pipeline(StandardScaler(), clone(TREE).set_callbacks(record))
    search = GridSearchCV(pipeline, {"obliquetreeclassifier__max_depth": [1, 2]}, cv=2)
    search.set_callbacks(sklearn_callback.ProgressBar(max_propagation_depth=None))
    record.setup = record.teardown = lambda estimator, context: None
    record.on_fit_task_begin = lambda estimator, context: record.open.append(context)
    search.fit(*data)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert record.ended.count("fit") == 5
    assert "ObliqueTreeClassifier - TAO" in capsys.readouterr().out


def test_an_error_ends_the_callbacks(data):
    ended = []
    record = Record()
    record.teardown = lambda estimator, context: ended.append(estimator)
    tree = clone(TREE).set_callbacks(record)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        tree.fit(data[0], data[1][:-1])
    assert ended == [tree]
    assert not hasattr(tree, "tree_")


def test_files_have_no_callbacks(data, tmp_path):
    tree = clone(TREE).set_callbacks(Record()).fit(*data)
    ngdt.save(tree, tmp_path / "tree.ngdt")
    assert not hasattr(ngdt.load(tmp_path / "tree.ngdt"), "_skl_callbacks")


def test_older_versions_of_scikit_learn_have_none(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    spec = importlib.util.spec_from_file_location("without", _callbacks.__file__)
    without = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(without)
    assert not hasattr(without.CallbackSupportMixin, "set_callbacks")
    tasks = without.FitTasks(without.CallbackSupportMixin(), *data, None)
    assert tasks.after_epoch(print, None) is print
    tasks.begin_part("TAO", "epoch", 2)
    assert not tasks.step()
    tasks.finish()


@pytest.fixture
def checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr(ngdt._training.checkpoint, "INTERVAL", 0.0)
    monkeypatch.setattr(ngdt._training.checkpoint, "MAX_SHARE", 1e9)
    return tmp_path / "training.ckpt"


def test_training_goes_on_from_a_checkpoint_within_a_part(data, checkpoint):
    record, tree = Record(), clone(TREE).set_params(
        optimizer=SGD(epochs=5), checkpoint=checkpoint, validation_fraction=None)

    def fail(metrics):
        if metrics["epoch"] == 4:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        clone(tree).set_params(callback=fail).fit(*data)
    tree.set_callbacks(record).fit(*data)
    assert record.begun[:2] == [("fit", None), ("SGD", 5)]
    assert len(record.steps) == 2       # the others were done before


def test_a_checkpoint_holds_nothing_that_a_callback_cut_short(data, checkpoint, monkeypatch):
    tree = clone(TREE).set_params(optimizer=[SGD(epochs=5), TAO(max_iter=2)])
    watched = clone(tree).set_params(checkpoint=checkpoint)
    with monkeypatch.context() as patch:    # as if the process were killed just before the end
        patch.setattr(ngdt._training.checkpoint.CheckpointFile, "remove", lambda self: None)
        assert clone(watched).set_callbacks(Record(n_steps=3)).fit(*data).n_iter_ == 3
    assert str(watched.fit(*data).history_) == str(tree.fit(*data).history_)
