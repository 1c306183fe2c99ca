"""Trees for a decreasing sequence of C, or by number of leaves: their costs, and the choice."""

from ngdt.path._path import Spread, TAOPath, prediction_cost, tao_path
from ngdt.path._path_cv import TAOPathCV
from ngdt.path._size import SizePath, size_path

__all__ = [
    "SizePath", "Spread", "TAOPath", "TAOPathCV", "prediction_cost", "size_path", "tao_path"]
