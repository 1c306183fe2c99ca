"""Ctrl-C as the shell sends it: SIGINT, at given phases of a training, in a process of its own."""

import json
import subprocess
import sys

import pytest

SCRIPT = """
import json, os, signal, warnings
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
import ngdt._estimators.display
from ngdt import ObliqueForestClassifier, ObliqueTreeClassifier

# A job that a shell has started in the background ignores it, and so do those that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

class Display:
    "Sends SIGINT where the phase is the one that is waited for."
    def __init__(self, phase, n_times, least):
        self.phase, self.n_left, self.least = phase, n_times, least
    def show(self, what, share):
        if self.n_left and self.phase in what and share >= self.least:
            self.n_left -= 1
            os.kill(os.getpid(), signal.SIGINT)
    def stop(self):
        pass

    done = stop

X, y = load_digits(return_X_y=True)
X, y = X[:150], y[:150]
ngdt._methods.soft.annealed._N_STEPS = 200
results = {}

def run(name, model, phase, n_times=1, least=0.0, fit=None):
    display = Display(phase, n_times, least)
    ngdt._estimators.display._display = lambda: display
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fitted = model.fit(X, y) if fit is None else fit(model)
            last = getattr(fitted, "steps", [(None, fitted)])[-1][1]
            state = len(getattr(last, "estimators_", [last])), float(fitted.score(X, y))
        except KeyboardInterrupt:
            state = None
    results[name] = state, [str(each.message) for each in caught], display.n_left

annealed = {"optimizer": "annealed", "max_depth": 5, "random_state": 0, "verbose": 1}
small = {"max_depth": 5, "leaf": "constant", "random_state": 0, "verbose": 1}
run("growth", ObliqueTreeClassifier(optimizer=None, random_state=0, verbose=1), "initial tree",
    least=0.2)
run("prunings", ObliqueTreeClassifier(**small), "greedy tree without fold 2")
run("race", ObliqueTreeClassifier(**small), "fold 1 of 3, tao")
run("training", ObliqueTreeClassifier(**annealed), "soft training", least=0.1)
run("check", ObliqueTreeClassifier(**annealed), "fold 2 of 3")
run("forest", ObliqueForestClassifier(8, n_jobs=2, **annealed), "tree 1")
run("pipeline", make_pipeline(ObliqueTreeClassifier(**annealed)), "soft training", least=0.2)
run("twice", ObliqueTreeClassifier(**annealed), "soft training", n_times=2, least=0.3)
run("search", GridSearchCV(ObliqueTreeClassifier(**annealed), {"max_depth": [2, 3]}, cv=2),
    "soft training", least=0.2)
run("folds", ObliqueForestClassifier(4, **annealed), "tree 1",
    fit=lambda model: cross_val_score(model, X, y, cv=2))
print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def results():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], check=True, capture_output=True, text=True, timeout=120)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", [
    "growth", "prunings", "race", "training", "check", "forest", "pipeline"])
def test_ctrl_c_keeps_the_best_tree_so_far_and_says_so_once(name, results):
    (n_trees, score), warned, n_left = results[name]
    assert n_left == 0      # it was sent
    assert n_trees >= 1
    # Chance is 0.1. The tree whose growth was ended has few leaves.
    assert score > (0.15 if name == "growth" else 0.3)
    (message,) = warned
    assert ("interrupted" in message) if name != "forest" else ("Ctrl-C" in message)


@pytest.mark.parametrize("name", ["twice", "search", "folds"])
def test_ctrl_c_twice_or_in_a_search_ends_everything(name, results):
    state, warned, n_left = results[name]
    assert n_left == 0
    assert state is None
    assert warned == []
