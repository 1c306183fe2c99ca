"""The page "A loss of your own" is compiled and run as it stands."""

import importlib.util
import os
import pickle
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

import ngdt
from ngdt.inference import (
    cost_diminished_inference,
    empirical_loss,
    loss_augmented_inference,
    upper_bound,
)

SOURCE = Path(__file__).parents[1] / "docs/extending"
FILES = ("quantile_loss.pyx", "setup.py", "own_steps.py", "use_quantile_loss.py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A user's project with the files of the page, built by its own setup.py."""
    pytest.importorskip("Cython")
    pytest.importorskip("setuptools")
    folder = tmp_path_factory.mktemp("quantile")
    for name in FILES:
        shutil.copy(SOURCE / name, folder)
    run(folder, "setup.py", "-q", "build_ext", "--inplace")
    return folder


def run(folder, *arguments):
    # Run in the source folder of ngdt, pytest finds the package there; a script elsewhere may not.
    env = {**os.environ, "PYTHONPATH": str(Path(ngdt.__file__).parents[1])}
    result = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def quantile_loss(folder):
    (path,) = (path for path in folder.glob("quantile_loss*") if path.suffix in (".so", ".pyd"))
    spec = importlib.util.spec_from_file_location("quantile_loss", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["quantile_loss"] = module  # where pickle looks for it
    spec.loader.exec_module(module)
    yield module
    del sys.modules["quantile_loss"]


def test_the_script_of_the_page(folder):
    share = float(run(folder, "use_quantile_loss.py").rpartition(":")[2])
    assert share == pytest.approx(0.9, abs=0.02)


def test_value_gradient_and_leaves(quantile_loss):
    loss = quantile_loss.QuantileLoss(0.75)
    theta, y = np.array([[1.0], [1.0]]), loss.encode([3.0, 0.0], 1)
    assert loss.value(theta, y).tolist() == [0.75 * 2, 0.25 * 1]
    assert loss.theta_gradient(theta, y).ravel().tolist() == [-0.75, 0.25]
    leaf, weight = np.array([0, 0, 0, 0]), np.array([1.0, 1.0, 1.0, 0.0])
    values = loss.fit_leaves(leaf, np.array([[1.0], [2.0], [3.0], [9.0]]), weight, 2, 1)
    assert values.ravel().tolist() == [3.0, 3.0]
    with pytest.raises(ValueError, match="level"):
        quantile_loss.QuantileLoss(1.0)
    assert pickle.loads(pickle.dumps(loss)).level == 0.75


def test_a_start_of_your_own():
    own = runpy.run_path(str(SOURCE / "own_steps.py"))
    X, y = load_iris(return_X_y=True)
    tree = ngdt.ObliqueTreeClassifier(4, init=own["RandomSplits"](), random_state=0)
    start = tree.set_params(optimizer=None).fit(X, y)
    assert start.tree_.n_leaves == 16
    random_splits = start.score(X, y)
    tree.set_params(optimizer=["ssgd", own["RefitLeaves"]()]).fit(X, y)
    assert tree.score(X, y) > max(0.9, random_splits)


def test_the_laws_hold_for_it(quantile_loss):
    loss = quantile_loss.QuantileLoss(0.9)
    rng = np.random.default_rng(0)
    m = 7
    left, right = 2 * np.arange(m) + 1, 2 * np.arange(m) + 2
    left, right = (np.where(ids < m, ids, ~(ids - m)) for ids in (left, right))
    tree = ngdt.Tree(
        rng.normal(size=(m, 3)), rng.normal(size=m), left, right, rng.normal(size=(m + 1, 2))
    )
    X, y = rng.normal(size=(200, 3)), rng.normal(size=(200, 2))
    fast, full = (upper_bound(tree, X, y, loss=loss, inference=inference) for inference in ("fast", "full"))
    assert (empirical_loss(tree, X, y, loss=loss) <= fast).all()
    assert (fast <= full).all()
    for search, kinds in (
        (loss_augmented_inference, [{"inference": "fast"}, {"inference": "full"}]),
        (cost_diminished_inference, [{}]),
    ):
        for inference in kinds:
            pruned = search(tree, X, y, loss=loss, **inference)
            whole = search(tree, X, y, loss=loss, prune=False, **inference)
            np.testing.assert_array_equal(pruned.bound, whole.bound)
            np.testing.assert_array_equal(pruned.leaf, whole.leaf)
            assert pruned.n_scored.sum() < whole.n_scored.sum()
