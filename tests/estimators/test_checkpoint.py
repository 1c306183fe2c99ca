"""A checkpoint: a killed training goes on to the same tree, and nothing is lost by one."""

import contextlib
import copy
import errno
import os
import sys
from functools import cache
from pathlib import Path
from random import Random
from tempfile import mkdtemp

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

import killed
import ngdt
from damaged import change_description, changed
from ngdt import ObliqueForestRegressor, ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt._forest.training import Growth
from ngdt._training.checkpoint import FORMAT, CheckpointFile
from ngdt._util.container import read, write
from ngdt.optimizers import SGD, SSGD, TAO, Annealed, EndToEnd, Optimizer, OptimizerResult

X, LABELS, TARGETS = killed.X[:100], killed.LABELS[:100], killed.TARGETS[:100]
SPARSE = sparse.csr_matrix(np.where(np.abs(X) > 1.0, X, 0.0))


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(ngdt._training.checkpoint, "INTERVAL", 0.0)
    monkeypatch.setattr(ngdt._training.checkpoint, "MAX_SHARE", 1e9)
    return tmp_path / "training.ckpt"


@pytest.fixture
def killed_after(monkeypatch):
    """Function: a fit that is killed after so many writes, or not at all if it has fewer."""
    write = CheckpointFile._write

    def fit(model, X, y, n_writes):
        left = iter(range(n_writes - 1))

        def count(self):
            write(self)
            if next(left, None) is None:
                raise Killed

        with monkeypatch.context() as patch:
            patch.setattr(CheckpointFile, "_write", count)
            try:
                model.fit(X, y)
            except Killed:
                return True
        return False

    return fit


def small(optimizer, X=X, **params):
    y = LABELS if params.pop("classes", True) else TARGETS
    kind = ObliqueTreeClassifier if y is LABELS else ObliqueTreeRegressor
    return kind(2, optimizer=optimizer, random_state=0, **params), X, y


def same(a, b):
    trees = [getattr(each, "estimators_", [each]) for each in (a, b)]
    return all(x.tree_ == y.tree_ and str(x.history_) == str(y.history_) and x.candidates_ ==
               y.candidates_ for x, y in zip(*trees, strict=True))


@pytest.mark.parametrize("case", [
    small(Annealed(steps=60)),
    small(Annealed(steps=60), SPARSE),
    small(Annealed(steps=40), classes=False, validation_fraction=0.3),
    small(EndToEnd(epochs=3), classes=False),
    small(SGD(epochs=5), validation_fraction=0.3),
    small(SSGD(epochs=5, renew=2)),
    small(TAO(C=1.0, tol=0.0)),
    small([Annealed(steps=20), "tao", "regrow"]),
    small("auto"),
    (ObliqueForestRegressor(4, random_state=0, n_jobs=2, max_depth=3, optimizer="tao"), X, TARGETS),
], ids=lambda case: f"{type(case[1]).__name__}-{case[0].optimizer}")
@pytest.mark.filterwarnings("ignore:.*tasks")       # of joblib, about trees that nobody waits for
def test_killed_training_goes_on_to_the_same_tree(case, path, killed_after):
    model, X, y = case
    whole = model.fit(X, y)
    resumed = type(model)(**{**model.get_params(deep=False), "checkpoint": path})
    for n_writes in (2, 5):         # the first is made before anything is trained
        if not killed_after(resumed, X, y, n_writes):
            break
    assert n_writes > 2             # or nothing was resumed
    assert same(resumed.fit(X, y), whole)
    assert not path.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork and kill")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.usefixtures("few_trial_trees")
@pytest.mark.parametrize("name", ["soft tree", "forest"])
def test_kill_at_any_time_loses_nothing(name, path):
    model = killed.MODELS[name]
    done = killed.kill(model, path, 2, 0.2, Random(3))
    assert killed.nothing_is_lost(done)
    assert same(killed.fitted(model, path), killed.fitted(model))
    assert not list(path.parent.iterdir())


def test_drawn_seed_is_that_of_the_checkpoint(path, killed_after):
    model = ObliqueTreeClassifier(
        2, optimizer=Annealed(steps=60), checkpoint=path, validation_fraction=None)
    assert killed_after(model, X, LABELS, 3)
    trees = []
    for _ in range(2):
        data = path.read_bytes()
        trees.append(model.fit(X, LABELS).tree_)
        path.write_bytes(data)
    assert trees[0] == trees[1]


@pytest.fixture
def begun(path, killed_after):
    """A model whose training was killed."""
    model = ObliqueTreeClassifier(
        2, init="random_complete", optimizer=Annealed(steps=60), checkpoint=os.fspath(path),
        random_state=0)
    assert killed_after(model, X, LABELS, 3)
    return model


@pytest.mark.parametrize(("params", "message"), [
    ({"max_depth": 3}, "max_depth"), ({"random_state": 1}, "random_state"),
    ({"optimizer": Annealed(steps=61)}, "optimizer"),
    ({"class_weight": "balanced"}, "class_weight, sample_weight"),
], ids=str)
def test_checkpoint_of_other_parameters_is_refused(params, message, begun, path):
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"another training, which differs in {message}\\. "):
        begun.set_params(**params).fit(X, LABELS)
    assert path.read_bytes() == before


@pytest.mark.filterwarnings("ignore:.*no out-of-bag prediction")
def test_an_out_of_bag_score_that_changes_what_trees_draw_is_refused(path, killed_after):
    model = ObliqueForestRegressor(3, max_depth=2, checkpoint=path, random_state=0)
    assert killed_after(model, X, TARGETS, 2)
    with pytest.raises(ValueError, match=r"another training, which differs in oob_score\. "):
        model.set_params(oob_score=True).fit(X, TARGETS)
    path.unlink()
    model.set_params(bootstrap=True, oob_score=False)
    assert killed_after(model, X, TARGETS, 2)
    model.set_params(oob_score=True).fit(X, TARGETS)
    again = copy.copy(model).set_params(checkpoint=None).fit(X, TARGETS)
    assert same(model, again)
    assert model.oob_score_ == again.oob_score_


def test_more_trees_for_a_forest_of_other_seeds_are_refused(path, killed_after):
    model = ObliqueForestRegressor(
        2, init="random_oblique", optimizer=None, warm_start=True, random_state=0)
    other = copy.copy(model).set_params(random_state=1).fit(X, TARGETS)
    more = {"n_estimators": 5, "random_state": 0, "checkpoint": path}
    assert killed_after(model.fit(X, TARGETS).set_params(**more), X, TARGETS, 3)
    with pytest.raises(ValueError, match=r"another training, which differs in the fit before\. "):
        other.set_params(**more).fit(X, TARGETS)


@pytest.mark.parametrize(("X", "y", "what"), [
    (X + np.eye(*X.shape), LABELS, "X"), (X.astype(np.float32), LABELS, "X"),
    (X, LABELS[::-1], "y")], ids=["X", "type of X", "y"])
def test_checkpoint_of_other_data_is_refused(X, y, what, begun):
    with pytest.raises(ValueError, match=f"another training, which differs in {what}\\. "):
        begun.fit(X, y)


@pytest.mark.parametrize("data", [b"", b"my only copy", "model", "cut", "changed"])
def test_file_that_is_no_checkpoint_is_refused_and_kept(data, begun, path):
    if data == "model":
        ngdt.save(ngdt.Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [1.0]]), path)
        data = path.read_bytes()
    data = {"cut": path.read_bytes()[:-30],
            "changed": path.read_bytes().replace(b"float32", b"float61")}.get(data, data)
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"is no valid checkpoint.*another path, or delete"):
        begun.fit(X, LABELS)
    assert path.read_bytes() == data


@pytest.mark.parametrize(("params", "far", "message"), [
    ({"init": "greedy_lp"}, 1.0, "GreedyLP"), ({}, 1e308, "range")], ids=["init", "X"])
def test_a_refused_fit_leaves_no_checkpoint(params, far, message, path):
    model, _, y = small("tao", classes=False, checkpoint=path)
    with pytest.raises(ValueError, match=message):
        copy.copy(model).set_params(**params).fit(far * np.sign(X), y)
    model.fit(X, y)


def test_what_a_killed_write_has_left_is_removed(begun, path):
    left_over = path.with_name(f".{path.name}.1.tmp")
    left_over.touch()
    begun.fit(X, LABELS)
    assert not left_over.exists()


def test_folder_that_does_not_exist(begun, tmp_path):
    with pytest.raises(FileNotFoundError, match="create it first"):
        begun.set_params(checkpoint=tmp_path / "none" / "x").fit(X, LABELS)


def test_folder_in_place_of_a_file(begun, tmp_path):
    with pytest.raises(FileExistsError, match="path of a file"):
        begun.set_params(checkpoint=tmp_path).fit(X, LABELS)


def test_max_time_is_refused(begun):
    with pytest.raises(ValueError, match="checkpoint and max_time do not go together"):
        begun.set_params(max_time=1e5).fit(X, LABELS)


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS])
def test_full_disk_loses_no_training(error, begun, path, monkeypatch):
    def fail(_):
        raise OSError(error, os.strerror(error))

    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match=os.strerror(error)):      # before anything is trained
            begun.set_params(checkpoint=path.with_name("new")).fit(X, LABELS)
        patch.setattr(CheckpointFile, "remove", lambda _: None)
        begun.set_params(checkpoint=path)
        with pytest.warns(UserWarning, match=r"not be written.*The training goes on") as found:
            begun.fit(X, LABELS)
    assert len(found) == 1
    assert path.read_bytes() == before
    assert same(begun, small(Annealed(steps=60), init="random_complete")[0].fit(X, LABELS))


@pytest.mark.filterwarnings("ignore:Training was interrupted")
def test_interrupted_training_can_be_resumed(path):
    def interrupt(metrics):
        if metrics["epoch"] == 3:
            raise KeyboardInterrupt

    model = small(Annealed(steps=60), checkpoint=path)[0]
    model.set_params(callback=interrupt).fit(X, LABELS)
    assert killed.steps_done(path)[1] == 2
    epochs = []
    model.set_params(callback=lambda metrics: epochs.append(metrics["epoch"])).fit(X, LABELS)
    assert epochs[0] == 3
    assert same(model, small(Annealed(steps=60))[0].fit(X, LABELS))


def test_saved_model_has_no_checkpoint(path):
    model = ObliqueTreeClassifier(2, optimizer=None, checkpoint=path).fit(X, LABELS)
    ngdt.save(model, path)
    assert ngdt.load(path).checkpoint is None


# --- files made to do harm -----------------------------------------------------------------------


@cache
def half_done():
    """The models of some trainings that were killed, and what their checkpoints hold."""
    found, write = [], CheckpointFile._write
    for optimizer in (Annealed(steps=40), SSGD(epochs=4, renew=2), TAO(C=1.0, tol=0.0)):
        path = Path(mkdtemp()) / "training.ckpt"
        model = small(optimizer, checkpoint=path)[0]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ngdt._training.checkpoint, "INTERVAL", 0.0)
            patch.setattr(ngdt._training.checkpoint, "MAX_SHARE", 1e9)
            left = iter(range(3))

            def count(self, left=left):
                write(self)
                if next(left, None) is None:
                    raise Killed

            patch.setattr(CheckpointFile, "_write", count)
            with pytest.raises(Killed):
                model.fit(X, LABELS)
        found.append((model, read(path.read_bytes(), FORMAT)))
    return found


@settings(max_examples=3 * settings.default.max_examples)
@given(number=st.integers(0, 2**64))
@example(number=1680)   # a best tree, without samples that it was the best on
@pytest.mark.filterwarnings("ignore:.*(overflow|invalid|divide):RuntimeWarning")
def test_changed_checkpoints(number):
    random = Random(number)
    model, (description, arrays) = random.choice(half_done())
    description, arrays = copy.deepcopy(description), dict(arrays)
    content = dict(description["content"]["dict"])
    if random.random() < 0.5:
        change_description(random, [content[random.choice(["results", "runs"])]])
    else:
        name = random.choice(sorted(arrays))
        arrays[name] = changed(random, arrays[name])
    with open(model.checkpoint, "wb") as file:
        write(file, description, arrays, FORMAT)
    try:
        model.fit(X, LABELS)
    except ValueError:
        pass
    else:
        assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("is_kept", [False, True])
def test_results_are_returned_for_a_checkpoint_only(is_kept, path, monkeypatch):
    returned, add = [], Growth._add

    def record(self, tree, candidate):
        returned.append(tree.result is not None)
        add(self, tree, candidate)

    monkeypatch.setattr(Growth, "_add", record)
    ObliqueForestRegressor(
        3, optimizer=None, max_depth=2, checkpoint=path if is_kept else None).fit(X, TARGETS)
    assert returned == [is_kept] * 3


class FailingEvery(Optimizer):
    """An error at each fourth tree."""

    calls = 0

    def _optimize(self, tree, problem):
        FailingEvery.calls += 1
        if FailingEvery.calls % 4 == 0:
            raise RuntimeError("no memory")
        return OptimizerResult(tree)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_finished_trees_are_kept_at_an_error(n_jobs, path):
    FailingEvery.calls = n_fits = 0
    forest = ObliqueForestRegressor(
        9, init="random_oblique", optimizer=FailingEvery(), max_depth=2, checkpoint=path,
        n_jobs=n_jobs, random_state=0)
    while not hasattr(forest, "estimators_"):
        n_fits += 1
        with contextlib.suppress(RuntimeError):
            forest.fit(X, TARGETS)
    # At an error, at most the tree of another thread is under way.
    assert n_fits <= (4 if n_jobs == 1 else 6)
    assert FailingEvery.calls <= 9 + n_jobs * (n_fits - 1)
