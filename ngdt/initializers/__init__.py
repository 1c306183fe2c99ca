"""Initializers: each makes the initial tree for the optimizers."""

from ngdt._algorithm import registry
from ngdt.initializers._base import Initializer
from ngdt.initializers._co2 import CO2
from ngdt.initializers._greedy_lp import GreedyLP
from ngdt.initializers._info_gain import InfoGain
from ngdt.initializers._model_tree.model_tree import ModelTree
from ngdt.initializers._oc1.oc1 import OC1
from ngdt.initializers._pruned import Pruned
from ngdt.initializers._random_complete import RandomComplete
from ngdt.initializers._random_oblique import RandomOblique
from ngdt.initializers._soft_greedy import SoftGreedy

INITIALIZERS = registry(
    CO2, GreedyLP, InfoGain, ModelTree, OC1, Pruned, RandomComplete, RandomOblique,
    SoftGreedy)

__all__ = [
    "INITIALIZERS", "Initializer",
    *(initializer.__name__ for initializer in INITIALIZERS.values())]
