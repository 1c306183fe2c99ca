"""Ctrl-C as the shell sends it: SIGINT, at given phases of a training, in a process of its own."""

import multiprocessing
import os
import signal
import sys
import warnings

import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import ngdt
from ngdt import ObliqueForestClassifier, ObliqueTreeClassifier

ANNEALED = {"optimizer": "annealed", "max_depth": 5, "random_state": 0, "verbose": 1}
SMALL = {"max_depth": 5, "leaf": "constant", "random_state": 0, "verbose": 1}


class Display:
    """Sends SIGINT where the phase is the one that is waited for."""

    def __init__(self, phase, n_times, least):
        self.phase, self.n_left, self.least = phase, n_times, least

    def show(self, what, share):
        if self.n_left and self.phase in what and share >= self.least:
            self.n_left -= 1
            os.kill(os.getpid(), signal.SIGINT)


def interrupted(fit, X, y, phase, n_times=1, least=0.0):
    """Number of trees and score, warnings, and signals that were not sent, of one training."""
    display = Display(phase, n_times, least)
    ngdt._estimators.display.Lines = lambda: display
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fitted = fit(X, y)
            last = getattr(fitted, "steps", [(None, fitted)])[-1][1]
            state = len(getattr(last, "estimators_", [last])), float(fitted.score(X, y))
        except KeyboardInterrupt:
            state = None
    return state, [str(each.message) for each in caught], display.n_left


def run_all(sender, X, y):
    """All trainings, in a process of their own."""
    # A job that a shell has started in the background ignores it, and so do those that it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    ngdt._methods.soft.annealed.N_STEPS = 200
    annealed, forest = ObliqueTreeClassifier(**ANNEALED), ObliqueForestClassifier
    search = GridSearchCV(annealed, {"max_depth": [2, 3]}, cv=2)
    greedy = ObliqueTreeClassifier(optimizer=None, random_state=0, verbose=1)
    small = ObliqueTreeClassifier(**SMALL)
    sender.send({
        "growth": interrupted(greedy.fit, X, y, "initial tree", least=0.2),
        "prunings": interrupted(small.fit, X, y, "greedy tree without fold 2"),
        "race": interrupted(small.fit, X, y, "fold 1 of 3, tao"),
        "training": interrupted(annealed.fit, X, y, "soft training", least=0.1),
        "check": interrupted(annealed.fit, X, y, "fold 2 of 3"),
        "forest": interrupted(forest(8, n_jobs=2, **ANNEALED).fit, X, y, "tree 1"),
        "pipeline": interrupted(make_pipeline(annealed).fit, X, y, "soft training", least=0.2),
        "twice": interrupted(annealed.fit, X, y, "soft training", n_times=2, least=0.3),
        "search": interrupted(search.fit, X, y, "soft training", least=0.2),
        "folds": interrupted(
            lambda X, y: cross_val_score(forest(4, **ANNEALED), X, y, cv=2), X, y, "tree 1")})


@pytest.fixture(scope="module")
def results(all_digits):
    """Results of the trainings; a process that is forked need not import ngdt first."""
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    receiver, sender = context.Pipe(duplex=False)
    X, y = all_digits
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)
        child = context.Process(target=run_all, args=(sender, X[:150], y[:150]))
        child.start()
    sender.close()      # or the end of a child that fails would not be seen
    try:
        assert receiver.poll(120), "the child hangs"
        return receiver.recv()
    finally:
        child.kill()
        child.join()


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
