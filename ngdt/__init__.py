"""Non-greedy oblique decision trees."""

from ngdt._tree import Tree

__all__ = ["Tree"]
__version__ = "0.1.0"
