"""Paths of TAO: trees for a decreasing sequence of C, their costs, and the choice of C."""

from ngdt.path._path import Spread, TAOPath, prediction_cost, tao_path
from ngdt.path._path_cv import TAOPathCV

__all__ = ["Spread", "TAOPath", "TAOPathCV", "prediction_cost", "tao_path"]
