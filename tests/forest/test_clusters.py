"""Forests whose trees are trained by the processes of a cluster, through joblib."""

from functools import partial

import numpy as np
import pytest
from joblib import parallel_config

from helpers import in_nightly
from ngdt import ObliqueForestClassifier, ObliqueForestRegressor, Problem

# Warnings of the clusters are not about forests.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def dask():
    """A worker with two threads, to which all is sent as to another machine.

    It is in this process, but for the nightly profile: another one would import all of it first.
    """
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=bool(in_nightly([True])), protocol="tcp://",
        dashboard_address=None)
    with cluster, distributed.Client(cluster):
        yield partial(parallel_config, backend="dask")


@pytest.fixture(scope="module")
def ray():
    """Room for two worker processes."""
    ray = pytest.importorskip("ray", reason="ray is not installed")
    from ray.util.joblib import register_ray

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "disabled")   # else it writes a file to the home folder
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    register_ray()
    yield partial(parallel_config, backend="ray", n_jobs=2)
    ray.shutdown()


def assert_equal_forests(one, other, X):
    for left, right in zip(one.estimators_, other.estimators_, strict=True):
        assert left.tree_ == right.tree_
        np.testing.assert_array_equal(left.feature_importances_, right.feature_importances_)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_one_job_of_ray(ray, iris):
    with parallel_config(backend="ray", n_jobs=1):
        forest = ObliqueForestClassifier(2, init="info_gain", optimizer=None).fit(*iris)
    assert len(forest.estimators_) == 2


# Of the second one, kinds of trees compete.
@pytest.mark.usefixtures("few_trial_trees")
@pytest.mark.parametrize("cluster", ["dask", "ray"])
@pytest.mark.parametrize(("forest", "parameters"), [
    (ObliqueForestRegressor, {
        "init": "info_gain", "optimizer": None, "max_features": 0.5, "oob_score": True}),
    (ObliqueForestClassifier, {"max_depth": 2})], ids=str)
def test_the_same_forest_as_alone(forest, cluster, parameters, iris, request):
    X, y = iris
    config = request.getfixturevalue(cluster)
    alone = forest(8, random_state=0, n_jobs=1, **parameters).fit(X, y)
    with config():
        together = forest(8, random_state=0, **parameters).fit(X, y)
    assert_equal_forests(alone, together, X)


@pytest.mark.parametrize("cluster", ["dask", "ray"])
def test_samples_are_sent_once_not_for_each_tree(cluster, digits, request, monkeypatch):
    config, pickled = request.getfixturevalue(cluster), []
    getstate = Problem.__getstate__
    monkeypatch.setattr(
        Problem, "__getstate__", lambda self: pickled.append(self) or getstate(self))
    with config():
        ObliqueForestClassifier(12, init="info_gain", optimizer=None, max_depth=2).fit(*digits)
    assert 1 <= len(pickled) <= 2     # once for each worker, at most
