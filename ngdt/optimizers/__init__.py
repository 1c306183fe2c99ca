"""Optimizers: each takes a tree and returns a better one."""

from ngdt.optimizers._base import Optimizer
from ngdt.optimizers._gto.gto import GTO
from ngdt.optimizers._regrow import Regrow
from ngdt.optimizers._sgd.sgd import SGD, SSGD
from ngdt.optimizers._shrink_leaves import ShrinkLeaves
from ngdt.optimizers._soft.annealed import Annealed
from ngdt.optimizers._soft.end_to_end import EndToEnd
from ngdt.optimizers._tao.tao import TAO

OPTIMIZERS = {
    "annealed": Annealed,
    "end_to_end": EndToEnd,
    "gto": GTO,
    "regrow": Regrow,
    "sgd": SGD,
    "shrink_leaves": ShrinkLeaves,
    "ssgd": SSGD,
    "tao": TAO,
}

__all__ = [
    "GTO",
    "OPTIMIZERS",
    "SGD",
    "SSGD",
    "TAO",
    "Annealed",
    "EndToEnd",
    "Optimizer",
    "Regrow",
    "ShrinkLeaves",
]
