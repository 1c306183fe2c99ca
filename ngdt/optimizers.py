"""Optimizers: each improves a tree."""

from ngdt._methods.finishing.cut_leaves import CutLeaves
from ngdt._methods.finishing.regrow import Regrow
from ngdt._methods.finishing.shrink_leaves import ShrinkLeaves
from ngdt._methods.linear_leaves.linear_leaves import LinearLeaves
from ngdt._methods.linear_programs.gto import GTO
from ngdt._methods.optimizer import Optimizer
from ngdt._methods.sgd.sgd import SGD, SSGD
from ngdt._methods.soft.annealed import Annealed
from ngdt._methods.soft.end_to_end import EndToEnd
from ngdt._methods.tao.tao import TAO
from ngdt._training.algorithm import registry
from ngdt._training.progress import OptimizerResult, Progress
from ngdt._util.stopped import Stopped

OPTIMIZERS = registry(
    Annealed, CutLeaves, EndToEnd, GTO, LinearLeaves, Regrow, SGD, ShrinkLeaves, SSGD, TAO)

__all__ = [
    "OPTIMIZERS", "Optimizer", "OptimizerResult", "Progress", "Stopped",
    *(optimizer.__name__ for optimizer in OPTIMIZERS.values())]
