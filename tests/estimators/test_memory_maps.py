"""Arrays on disk are read in place."""

import tracemalloc

import numpy as np
import pytest

from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt.optimizers import SSGD, Annealed


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory):
    path = tmp_path_factory.mktemp("memory_map") / "X.npy"
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(30_000, 100))
    X[:] = np.random.default_rng(0).standard_normal(X.shape, dtype=X.dtype)
    X.flush()
    return np.load(path, mmap_mode="r")


@pytest.mark.parametrize(("tree", "optimizer"), [
    (ObliqueTreeClassifier, Annealed(steps=50)), (ObliqueTreeRegressor, SSGD(epochs=1))], ids=str)
def test_a_memory_map_is_not_copied(tree, optimizer, on_disk):
    y = (on_disk[:, 0] > 0).astype(int)
    model = tree(max_depth=3, init="random_complete", optimizer=optimizer, random_state=0,
                 validation_fraction=None)
    tracemalloc.start()
    model.fit(on_disk, y)
    model.predict(on_disk)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < on_disk.nbytes / 2        # of which targets, weights and blocks are most
