"""Common properties of CO2 and OC1, which refine the splits of greedy trees."""

import numpy as np
import pytest

from helpers import Interruption, oblique_problem
from ngdt._methods.greedy.info_gain import InfoGain
from ngdt._methods.linear_programs import greedy_lp
from ngdt._methods.oc1.oc1 import OC1Splitter
from ngdt._methods.sgd.co2 import CO2Splitter
from ngdt._util.stopped import Stopped
from ngdt.initializers import CO2, OC1, GreedyLP
from ngdt.losses import LogLoss


@pytest.mark.parametrize(("init", "owner", "name"), [
    (OC1(), OC1Splitter, "_descend"),
    (CO2(), CO2Splitter, "_optimize"),
    (GreedyLP(), greedy_lp, "place_plane")])
def test_ctrl_c_while_the_first_split_is_refined_keeps_the_axis_aligned_one(
        init, owner, name, monkeypatch):
    problem, _ = oblique_problem(LogLoss())
    expected = InfoGain().initialize(problem.limited(max_depth=1))
    Interruption(monkeypatch, owner, name, 1, 2)
    with pytest.raises(Stopped) as caught:
        init.initialize(problem)
    np.testing.assert_array_equal(caught.value.tree.weights, expected.weights)
    np.testing.assert_allclose(caught.value.tree.values, expected.values)
    with pytest.raises(KeyboardInterrupt) as caught:
        init.initialize(problem.limited(min_impurity_decrease=10.0))
    assert not isinstance(caught.value, Stopped)


def test_ctrl_c_between_restarts_keeps_the_split_of_those_before(monkeypatch):
    problem, _ = oblique_problem(LogLoss())
    expected = OC1(n_restarts=0).initialize(problem.limited(max_depth=1))
    Interruption(monkeypatch, OC1Splitter, "_descend", 2)
    with pytest.raises(Stopped) as caught:
        OC1().initialize(problem)
    assert caught.value.tree == expected
