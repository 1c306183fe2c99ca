"""Display of a long training: shares of the work, lines by the clock, ends in other threads."""

import copy
import pickle
import sys
from threading import Event

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

import ngdt._estimators.display
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt._estimators.display import watching
from ngdt._selection import policy
from ngdt._training.control import SILENT, Activity


class Display:
    def __init__(self):
        self.shown = []

    def show(self, what, share):
        self.shown.append((what, share))


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1.5)), max_size=20))
def test_shares_of_parts_add_up(steps):
    display = Display()
    whole = Activity(display)
    left, right = whole.part(0.25, "left"), whole.part(0.75, "right")
    parts = [left.part(0.5), left.part(0.5, "below"), right.part(1.0), right]
    done = np.zeros(3)      # of the two parts of the left half, and of the right one
    said = np.zeros(4)      # by each part; what one adds, others may have done before
    for k, share in steps:
        parts[k].at(share)
        before = done[2] if k == 3 else said[k]
        said[k] = max(before, min(share, 1.0))
        done[min(k, 2)] = min(1.0, done[min(k, 2)] + said[k] - before)
        assert display.shown[-1][1] == pytest.approx(done @ [0.125, 0.125, 0.75])
    for part in parts:
        part.finish()
    assert whole.left == pytest.approx(0.0)


def test_what_is_shown():
    display = Display()
    part = Activity(display).part(0.5, "fold 1").part(1.0, "training")
    part.at(0.0, "node 3")
    part.finish()
    assert display.shown == [("fold 1, training, node 3", 0.0), ("fold 1, training", 0.5)]


def test_lines_are_a_second_apart_and_estimate_the_time_left(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(ngdt._estimators.display, "monotonic", lambda: now[0])
    with watching(1) as activity:
        part = activity.part(1.0, "training")
        for step in range(200):
            now[0] = 0.5 * step
            part.at(step / 200)
        now[0] = 4000.0
    *lines, last = capsys.readouterr().out.splitlines()
    assert len(lines) == 99
    assert lines[0] == "[ngdt] training: 1% done, 1.0 s"
    assert lines[9] == "[ngdt] training: 10% done, 10 s, about 1 min 30 s left"
    assert last == "[ngdt] done in 1 h 6 min"


def test_nothing_is_shown_unless_it_is_wanted(capsys):
    with watching(0) as activity:
        assert activity is SILENT
        assert activity.part(0.5, "training") is SILENT
        activity.at(0.5)
    assert capsys.readouterr().out == ""


class Log:
    """An output that writes only, such as those that programs put in the place of a terminal."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.mark.parametrize("output", [Log(), None])
def test_other_outputs_get_lines(monkeypatch, output):
    monkeypatch.setattr(sys, "stdout", output)
    with watching(1) as activity:
        activity.part(1.0, "training").finish()
    assert output is None or output.text.startswith("[ngdt] ")


def test_a_stop_ends_the_parts_that_have_it():
    stop = Event()
    other, part = SILENT.part(0.5), SILENT.part(0.5, stop=stop).part(0.5)
    part.at(0.1)
    stop.set()
    with pytest.raises(KeyboardInterrupt):
        part.at(0.2)
    part.finish()
    other.at(0.2)


def test_other_processes_show_nothing():
    activity = Activity(Display()).part(0.5, "training", stop=Event())
    for copied in (pickle.loads(pickle.dumps(activity)), copy.deepcopy(activity)):
        copied.at(0.5)
        assert copied._display is None


def test_what_is_shown_changes_no_tree(monkeypatch):
    X, y = load_iris(return_X_y=True)
    display = Display()
    monkeypatch.setattr(ngdt._estimators.display, "Lines", lambda: display)
    model = ObliqueTreeClassifier(3, optimizer="annealed", random_state=0)
    silent = model.fit(X, y).tree_
    assert model.set_params(verbose=1).fit(X, y).tree_ == silent
    what, share = zip(*display.shown, strict=True)
    assert (np.diff(share) >= 0).all()
    assert share[-1] <= 1.0 + 1e-12
    for phase in ("comparing trees, fold 1 of 3, annealed depth=3, soft training",
                  "training annealed depth=3 on all samples, soft training"):
        assert phase in what


def test_a_model_tree_says_how_far_it_is(monkeypatch, diabetes):
    display = Display()
    monkeypatch.setattr(ngdt._estimators.display, "Lines", lambda: display)
    ObliqueTreeRegressor(init="model_tree", optimizer=None, verbose=1).fit(*diabetes)
    what, share = zip(*display.shown, strict=True)
    assert (np.diff(share) >= 0).all()
    assert np.diff(share).max() < 0.15
    for part in "model tree without fold 1 of 3", "model tree":
        assert sum(each.endswith(part) for each in what) > 2


def test_the_training_on_all_samples_has_a_share_where_some_are_compared(monkeypatch, diabetes):
    display = Display()
    monkeypatch.setattr(ngdt._estimators.display, "Lines", lambda: display)
    for name in "MIN_DRAWN_SAMPLES", "MAX_DRAWN_SAMPLES":
        monkeypatch.setattr(policy, name, 150)
    ObliqueTreeRegressor(
        leaf="constant", max_depth=2, verbose=1, random_state=0).fit(*diabetes)
    of_training = [share for each, share in display.shown if each.endswith("all samples, TAO")]
    assert of_training[0] < 0.7
    assert of_training[-1] > of_training[0]


def test_linear_leaves_say_how_far_they_are(monkeypatch, diabetes):
    """Also of data that have no model trees: the greedy tree leaves them a share."""
    display, (X, y) = Display(), diabetes
    monkeypatch.setattr(ngdt._estimators.display, "Lines", lambda: display)
    monkeypatch.setattr(policy, "MAX_MODEL_COST", 1.0)
    ObliqueTreeRegressor(leaf="linear", max_depth=3, verbose=1).fit(X, y)
    assert (np.diff([share for _, share in display.shown]) >= 0).all()
    of_leaves = np.array([share for each, share in display.shown
                          if each.endswith("all samples, linear leaves")])
    assert of_leaves[0] < 0.9
    assert np.count_nonzero(np.diff(of_leaves)) > 4


def test_a_line_without_a_part_has_no_colon(capsys, monkeypatch):
    monkeypatch.setattr(ngdt._estimators.display, "INTERVAL", 0.0)
    with watching(1) as activity:
        activity.at(0.5)
    assert capsys.readouterr().out.startswith("[ngdt] 50% done, ")
