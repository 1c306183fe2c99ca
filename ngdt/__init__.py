"""Non-greedy oblique decision trees."""

from ngdt import export, inference, initializers, losses, optimizers, path, plotting, pruning
from ngdt._tree import Tree
from ngdt.estimators import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt.forest import ObliqueForestClassifier, ObliqueForestRegressor
from ngdt.path import TAOPathCV, tao_path
from ngdt.problem import Problem

__all__ = [
    "ObliqueForestClassifier",
    "ObliqueForestRegressor",
    "ObliqueTreeClassifier",
    "ObliqueTreeRegressor",
    "Problem",
    "TAOPathCV",
    "Tree",
    "export",
    "inference",
    "initializers",
    "losses",
    "optimizers",
    "path",
    "plotting",
    "pruning",
    "tao_path",
]
__version__ = "0.1.0"
