"""Trainings that are killed at random times: `python tests/killed.py 200` for 200 kills."""

import os
import signal
import sys
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import monotonic, sleep

import numpy as np

import ngdt._training.checkpoint
from ngdt import ObliqueForestClassifier, ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt._training.checkpoint import FORMAT
from ngdt._training.values import ValueReader
from ngdt._util.container import read
from ngdt.optimizers import TAO, Annealed

_RANDOM = np.random.default_rng(0)
X = _RANDOM.normal(size=(200, 6))
TARGETS = X @ _RANDOM.normal(size=6) + X[:, 0] * X[:, 1]
LABELS = np.digitize(TARGETS, [-1.0, 1.0])

MODELS = {
    "default tree": ObliqueTreeClassifier(3, random_state=0),
    "soft tree": ObliqueTreeRegressor(3, optimizer=Annealed(steps=1000)),
    "sgd": ObliqueTreeClassifier(3, optimizer="ssgd", random_state=0, validation_fraction=0.2),
    "tao": ObliqueTreeClassifier(4, optimizer=["annealed", TAO(tol=0.0)], random_state=0),
    "forest": ObliqueForestClassifier(8, max_depth=3, random_state=0, n_jobs=2),
}


def write_always():
    """Write a checkpoint at each epoch, so that many kills come while it is written."""
    ngdt._training.checkpoint.INTERVAL, ngdt._training.checkpoint.MAX_SHARE = 0.0, 1e9


def fitted(model, path=None, random_state=0):
    """The model, trained with a checkpoint at this path."""
    y = TARGETS if isinstance(model, ObliqueTreeRegressor) else LABELS
    params = {"checkpoint": path, "random_state": random_state}
    return type(model)(**{**model.get_params(deep=False), **params}).fit(X, y)


def steps_done(path):
    """Steps that a checkpoint has, and epochs of the one under way; raises unless it is whole."""
    description, arrays = read(path.read_bytes(), FORMAT)
    content = ValueReader(arrays).value(description["content"])
    return len(content["results"]), sum(run["epoch"] for run in content["runs"].values())


def kill(model, path, n_kills, seconds, random):
    """Train in processes that are killed, one after the other; return how many steps were done.

    Parameters
    ----------
    model : estimator
    path : Path
    n_kills : int
    seconds : float
        Longest time until a kill.
    random : Random

    Returns
    -------
    list of tuple of int
        As of `steps_done`, after each kill; an empty one after the end of a training.
    """
    done = []
    while n_kills:
        status = _trained(model, path, seconds * random.random())
        assert status in (0, signal.SIGKILL), "the training failed"
        n_kills -= status == signal.SIGKILL
        if path.exists():
            done.append(steps_done(path))
        elif done:
            done.append(())     # at the end, after which it begins anew
    return done


def _trained(model, path, seconds):
    """Train in another process, and kill it after this time; return how it ended."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            write_always()
            fitted(model, path)
            code = 0
        finally:
            os._exit(code)
    end = monotonic() + seconds
    while monotonic() < end:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return status
        sleep(1e-3)
    os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def nothing_is_lost(done):
    """Return whether no process began with less than the one before had left."""
    return all(not b or a <= b for a, b in pairwise(done))


def _main(n_kills):
    random = Random(0)
    for name, model in MODELS.items():
        fitted(model)       # imports all that it needs
        begin = monotonic()
        whole = fitted(model)
        seconds = monotonic() - begin
        with TemporaryDirectory() as folder:
            path = Path(folder) / "training.ckpt"
            done = kill(model, path, n_kills, 1.5 * seconds, random)
            last = fitted(model, path)
            left = os.listdir(folder)
        equal = all(a.tree_ == b.tree_ for a, b in zip(
            getattr(last, "estimators_", [last]), getattr(whole, "estimators_", [whole]),
            strict=True))
        print(f"{name}: {n_kills} kills, {done.count(())} trainings ended, equal: {equal}, nothing "
              f"lost: {nothing_is_lost(done)}, files left: {left}", flush=True)


if __name__ == "__main__":
    _main(int(sys.argv[1]))
