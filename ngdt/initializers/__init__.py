"""Trees to start from."""

from ngdt.initializers._base import Initializer
from ngdt.initializers._co2 import CO2
from ngdt.initializers._greedy_lp import GreedyLP
from ngdt.initializers._info_gain import InfoGain
from ngdt.initializers._oc1.oc1 import OC1
from ngdt.initializers._random_complete import RandomComplete
from ngdt.initializers._random_oblique import RandomOblique
from ngdt.initializers._soft_greedy import SoftGreedy

INITIALIZERS = {
    "co2": CO2,
    "greedy_lp": GreedyLP,
    "info_gain": InfoGain,
    "oc1": OC1,
    "random": RandomOblique,
    "random_complete": RandomComplete,
    "soft_greedy": SoftGreedy,
}

__all__ = [
    "CO2",
    "INITIALIZERS",
    "OC1",
    "GreedyLP",
    "InfoGain",
    "Initializer",
    "RandomComplete",
    "RandomOblique",
    "SoftGreedy",
]
