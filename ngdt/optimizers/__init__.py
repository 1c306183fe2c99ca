"""Optimizers: each takes a tree and returns a better one."""

from ngdt.optimizers._base import Optimizer
from ngdt.optimizers._sgd import SGD, SSGD

OPTIMIZERS = {"sgd": SGD, "ssgd": SSGD}

__all__ = ["OPTIMIZERS", "SGD", "SSGD", "Optimizer"]
