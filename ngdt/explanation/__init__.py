"""Explanations of single predictions: why this one, and what would change it.

`explain` of trees and forests makes them.
"""

from ngdt.explanation._changes import Change
from ngdt.explanation._context import Prediction
from ngdt.explanation._explanations import Explanations
from ngdt.explanation._forest import ForestExplanation
from ngdt.explanation._sums import WeightedSum
from ngdt.explanation._tree import Decision, TreeExplanation

__all__ = [
    "Change",
    "Decision",
    "Explanations",
    "ForestExplanation",
    "Prediction",
    "TreeExplanation",
    "WeightedSum",
]
