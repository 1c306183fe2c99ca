"""Forests that are trained on the partitions of dask collections."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import ngdt
from ngdt._forest.sampling import Sampling
from ngdt._training.progress import Progress
from ngdt._util.stopped import Stopped
from ngdt.initializers import RandomOblique
from ngdt.optimizers import SSGD, TAO, Annealed

da = pytest.importorskip("dask.array", reason="dask is not installed")
# They import dask, so they come after the line that skips.
import ngdt.dask  # noqa: E402
from ngdt.dask import ObliqueForestClassifier, ObliqueForestRegressor  # noqa: E402
from ngdt.dask._forest_training import Draw  # noqa: E402
from ngdt.dask._training import Partitions  # noqa: E402

SHORT = {"max_depth": 4, "optimizer": Annealed(steps=80), "random_state": 0}


@pytest.fixture(scope="module")
def digits_in_parts(all_digits):
    X, y = all_digits
    return da.from_array(X.astype(np.float32), chunks=(500, 64)), da.from_array(y, chunks=500)


@pytest.fixture(scope="module")
def fitted(digits_in_parts):
    return ObliqueForestClassifier(3, **SHORT).fit(*digits_in_parts)


def test_as_accurate_as_in_memory(fitted, all_digits):
    X, y = all_digits
    alone = ngdt.ObliqueForestClassifier(3, **SHORT).fit(X, y)
    assert fitted.score(X, y) > alone.score(X, y) - 0.03
    history = fitted.estimators_[0].history_
    assert history["optimizer"] == ["Annealed"] * len(alone.estimators_[0].history_["loss"])
    assert history["loss"][-1] < 0.5 * history["loss"][0]
    assert len({tree.random_state for tree in fitted.estimators_}) == 3


@pytest.mark.filterwarnings("ignore")       # of the cluster
def test_the_same_forest_when_a_worker_dies(digits_in_parts, monkeypatch):
    """One of two workers ends before the third epoch; the local scheduler made `alone`."""
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    model = ObliqueForestClassifier(2, **SHORT | {"max_depth": 2})
    alone = clone(model).fit(*digits_in_parts)
    groups, epochs = Partitions.groups, []
    with distributed.Client(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as client:
        def watched(self, seed):
            epochs.append(seed)
            if len(epochs) == 3:
                cluster = client.cluster
                cluster.sync(cluster.workers[0].close, executor_wait=False)
            return groups(self, seed)

        monkeypatch.setattr(Partitions, "groups", watched)
        again = clone(model).fit(*digits_in_parts)
        assert len(client.scheduler_info()["workers"]) == 1
    assert len(epochs) > 3
    assert again._trees() == alone._trees()


def test_predictions_are_lazy_and_those_in_memory(fitted, digits_in_parts, tmp_path):
    X, y = digits_in_parts
    ngdt.save(fitted, tmp_path / "model.ngdt")
    model = ngdt.load(tmp_path / "model.ngdt")
    assert type(model) is ngdt.ObliqueForestClassifier
    for name in ("predict", "predict_proba", "predict_log_proba", "apply"):
        lazy, expected = getattr(fitted, name)(X), getattr(model, name)(X.compute())
        assert isinstance(lazy, da.Array)
        assert (lazy.shape, lazy.dtype) == (expected.shape, expected.dtype)
        assert_array_equal(lazy.compute(), expected)
    assert fitted.score(X, y) == model.score(X.compute(), y.compute())


@pytest.mark.parametrize("parameters", [
    {"bootstrap": True}, {"bootstrap": False, "max_samples": 0.5}, {"bootstrap": False}], ids=str)
def test_leaves_are_those_of_the_samples_that_a_tree_draws(parameters):
    """Each tree is the one that all samples, with weights of how often it drew them, would give."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(250, 2)), random.normal(size=250)
    sizes = (100, 50, 100)
    model = ObliqueForestRegressor(
        2, max_depth=2, optimizer=None, random_state=0, **parameters).fit(
        da.from_array(X, chunks=(sizes, 2)), da.from_array(y, chunks=(sizes,)))
    share = None if parameters == {"bootstrap": False} else parameters.get("max_samples", 1.0)
    sampling = Sampling(parameters["bootstrap"], None, None, np.arange(2))
    for tree in model.estimators_:
        draw = Draw(sampling, share, tree.random_state)
        counts = np.concatenate([draw.weight(np.ones(n), k) for k, n in enumerate(sizes)])
        assert [each.sum() for each in np.split(counts, np.cumsum(sizes)[:-1])] == [
            n * (share or 1) for n in sizes]
        assert abs(draw.distinct - (counts > 0).mean()) < 0.05
        leaf = tree.apply(X)
        drawn = np.bincount(leaf, counts, tree.tree_.n_leaves)
        assert_allclose(tree.tree_.values[:, 0], np.bincount(leaf, counts * y) / drawn)
        assert_array_equal(tree.n_node_samples_[tree.tree_.n_internal:],
                           np.bincount(leaf[counts > 0], minlength=tree.tree_.n_leaves))
    assert len({tuple(tree.tree_.values[0]) for tree in model.estimators_}) == (1 if share is None
                                                                             else 2)


def test_partitions_in_turn_columns_and_limits(digits_in_parts, all_digits):
    model = ObliqueForestClassifier(
        3, n_jobs=2, max_features=0.5, max_leaf_nodes=8, min_samples_leaf=30,
        **SHORT | {"optimizer": SSGD(epochs=5)}).fit(*digits_in_parts)
    for tree in model.estimators_:
        used = np.asarray(tree.tree_.densify().weights != 0).any(axis=0)
        assert 0 < used.sum() <= 32
        assert tree.get_n_leaves() <= 8
        assert tree.n_node_samples_.min() >= 30
    assert model.score(*all_digits) > 0.6


@pytest.mark.parametrize(("parameters", "message"), [
    ({"optimizer": TAO()}, "cannot train on the partitions"),
    ({"oob_score": True}, "oob_score is not available"),
    ({"class_weight": "balanced_subsample"}, "balanced_subsample' is not available"),
    ({"warm_start": True}, "warm_start is not available"),
    ({"max_samples": 2000, "bootstrap": False}, "max_samples=2000 is more than 1797"),
], ids=str)
def test_what_partitions_cannot_give_is_refused_by_name(parameters, message, digits_in_parts):
    with pytest.raises(ValueError, match=message):
        ObliqueForestClassifier(2, **SHORT | parameters).fit(*digits_in_parts)


def test_an_initial_tree(digits_in_parts, all_digits):
    X, y = digits_in_parts
    tree = ngdt.ObliqueTreeClassifier(3, optimizer=None, random_state=0).fit(*all_digits).tree_
    model = ObliqueForestClassifier(2, **SHORT | {"init": tree, "optimizer": None}).fit(X, y)
    assert_array_equal(model.estimators_[1].tree_.densify().weights, tree.densify().weights)
    with pytest.raises(ValueError, match="init is a tree of all features"):
        ObliqueForestClassifier(2, init=tree, max_features=3).fit(X, y)


@pytest.mark.parametrize(("model", "n_totals"), [
    (ObliqueForestClassifier(2, **SHORT), 6),
    (ngdt.dask.ObliqueTreeClassifier(**SHORT), 3),
    (ngdt.dask.ObliqueTreeClassifier(**SHORT, validation_fraction=None), 2),
], ids=["forest", "tree", "without validation"])
def test_ctrl_c_after_the_training_loses_nothing(model, n_totals, digits_in_parts, monkeypatch):
    alone, X = clone(model).fit(*digits_in_parts), digits_in_parts[0][:500].compute()
    total, leave, plan, left = Partitions.lazy_total, Progress.__exit__, [], []

    def interrupt(*args):
        if left and left.pop():
            raise KeyboardInterrupt
        return total(*args)

    def end(*args):
        left.extend(plan)
        return leave(*args)

    monkeypatch.setattr(Partitions, "lazy_total", interrupt)
    monkeypatch.setattr(Progress, "__exit__", end)
    for number in range(n_totals):      # of sums over the partitions once the training has ended
        plan[:] = [True] + [False] * number
        with pytest.warns(ConvergenceWarning, match=r"Ctrl-C|interrupted"):
            again = clone(model).fit(*digits_in_parts)
        assert_array_equal(again.predict_proba(X), alone.predict_proba(X))


class StoppedInitializer(RandomOblique):
    """An initializer that Ctrl-C ends, with a tree."""

    def initialize(self, problem):
        raise Stopped(super().initialize(problem))


@pytest.mark.parametrize("kind", [ObliqueForestClassifier, ngdt.dask.ObliqueTreeClassifier])
def test_ctrl_c_before_the_training_leaves_no_model(kind, digits_in_parts):
    model = kind(**SHORT, init=StoppedInitializer(3))
    with pytest.raises(KeyboardInterrupt):
        model.fit(*digits_in_parts)
    assert vars(model).keys() == vars(clone(model)).keys()


@pytest.mark.parametrize("n_trees", [None, 2])
def test_nothing_of_an_earlier_fit_is_left(n_trees, digits_in_parts):
    if n_trees is None:
        model = ngdt.dask.ObliqueTreeClassifier(**SHORT)
    else:
        model = ObliqueForestClassifier(n_trees, **SHORT)
    X, y = (each[:500] for each in digits_in_parts)
    model.feature_names_in_ = np.array([f"pixel {j}" for j in range(64)], dtype=object)
    model.pruning_path_ = {}
    model.fit(X, y)
    assert vars(model).keys() == vars(clone(model).fit(X, y)).keys()
