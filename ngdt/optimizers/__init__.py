"""Optimizers: each improves a tree."""

from ngdt._algorithm import OptimizerResult, Progress, registry
from ngdt.optimizers._base import Optimizer
from ngdt.optimizers._gto.gto import GTO
from ngdt.optimizers._linear_leaves.linear_leaves import LinearLeaves
from ngdt.optimizers._regrow import Regrow
from ngdt.optimizers._sgd.sgd import SGD, SSGD
from ngdt.optimizers._shrink_leaves import ShrinkLeaves
from ngdt.optimizers._soft.annealed import Annealed
from ngdt.optimizers._soft.end_to_end import EndToEnd
from ngdt.optimizers._tao.tao import TAO

OPTIMIZERS = registry(Annealed, EndToEnd, GTO, LinearLeaves, Regrow, SGD, ShrinkLeaves, SSGD, TAO)

__all__ = [
    "OPTIMIZERS", "Optimizer", "OptimizerResult", "Progress",
    *(optimizer.__name__ for optimizer in OPTIMIZERS.values())]
