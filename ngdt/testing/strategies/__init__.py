"""Hypothesis strategies for trees, losses and data.

All arguments are keyword-only, and are strategies themselves: ``trees(n_features=st.just(4))``
draws trees with four features. All values shrink: trees to a single leaf, or to a stump if the test
needs an internal node, and numbers to zero.

Numbers are *dyadic* by default: small integers over a power of two. Scores, prices and squared
errors of such numbers have no rounding error, in any order of summation, so that a test may compare
with ``==``. The hard cases of a decision tree are frequent among them: scores of exactly zero, ties
and equal samples. Pass ``elements=st.floats(-1e3, 1e3)`` for other numbers.

The types `ngdt.Tree` and `ngdt.losses.Loss` are registered, so ``st.from_type(Tree)`` works too.
"""

from ngdt.testing.strategies._data import Dataset, assignments, datasets, samples, targets
from ngdt.testing.strategies._elements import dyadics, losses
from ngdt.testing.strategies._monotone import MonotoneTree, directions, monotone_trees
from ngdt.testing.strategies._problems import TreeProblem, problems
from ngdt.testing.strategies._trees import trees

__all__ = [
    "Dataset",
    "MonotoneTree",
    "TreeProblem",
    "assignments",
    "datasets",
    "directions",
    "dyadics",
    "losses",
    "monotone_trees",
    "problems",
    "samples",
    "targets",
    "trees",
]
