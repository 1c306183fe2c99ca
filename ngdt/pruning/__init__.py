"""Pruning of trees, in most cases with the same predictions, and of forests.

`prune_forest` takes a fitted forest, `prune_at` and `set_leaves` the fitted estimator of a tree,
and `refit_leaves` either. Each other function but `cost_complexity_pruning_path` takes a tree and
returns a tree, so they can be chained. The remaining nodes and leaves keep their order, and sparse
weights stay sparse.
"""

from ngdt.pruning._cost_complexity import cost_complexity_pruning_path, prune_cost_complexity
from ngdt.pruning._equal import prune_equal_leaves, prune_pure_subtrees
from ngdt.pruning._fitted import prune_at, refit_leaves, set_leaves
from ngdt.pruning._forest import prune_forest
from ngdt.pruning._unused import prune_dead_branches, prune_zero_weight_nodes

__all__ = [
    "cost_complexity_pruning_path",
    "prune_at",
    "prune_cost_complexity",
    "prune_dead_branches",
    "prune_equal_leaves",
    "prune_forest",
    "prune_pure_subtrees",
    "prune_zero_weight_nodes",
    "refit_leaves",
    "set_leaves",
]
