"""Non-greedy oblique decision trees."""

from ngdt import inference, initializers, losses, optimizers
from ngdt._tree import Tree
from ngdt.tree import ObliqueTreeClassifier, ObliqueTreeRegressor

__all__ = [
    "ObliqueTreeClassifier",
    "ObliqueTreeRegressor",
    "Tree",
    "inference",
    "initializers",
    "losses",
    "optimizers",
]
__version__ = "0.1.0"
