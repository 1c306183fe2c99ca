"""Non-greedy oblique decision trees."""

from ngdt import inference, initializers, losses, optimizers
from ngdt._tree import Tree
from ngdt.estimators import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt.path import TAOPathCV, tao_path

__all__ = [
    "ObliqueTreeClassifier",
    "ObliqueTreeRegressor",
    "TAOPathCV",
    "Tree",
    "inference",
    "initializers",
    "losses",
    "optimizers",
    "tao_path",
]
__version__ = "0.1.0"
