"""Initializers: each makes the initial tree for the optimizers."""

from ngdt._methods.greedy.info_gain import InfoGain
from ngdt._methods.greedy.pruned import Pruned
from ngdt._methods.initializer import Initializer
from ngdt._methods.linear_leaves.score_bands import ScoreBands
from ngdt._methods.linear_programs.greedy_lp import GreedyLP
from ngdt._methods.model_tree.model_tree import ModelTree
from ngdt._methods.oc1.oc1 import OC1
from ngdt._methods.random.random_complete import RandomComplete
from ngdt._methods.random.random_oblique import RandomOblique
from ngdt._methods.sgd.co2 import CO2
from ngdt._methods.soft.soft_greedy import SoftGreedy
from ngdt._training.algorithm import registry

INITIALIZERS = registry(
    CO2, GreedyLP, InfoGain, ModelTree, OC1, Pruned, RandomComplete, RandomOblique, ScoreBands,
    SoftGreedy)

__all__ = [
    "INITIALIZERS", "Initializer",
    *(initializer.__name__ for initializer in INITIALIZERS.values())]
