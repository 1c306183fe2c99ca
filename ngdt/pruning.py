"""Smaller trees with the same predictions."""

import numpy as np

from ngdt._checks import check_weight
from ngdt._tree import Tree

__all__ = ["prune_dead_branches"]


def prune_dead_branches(tree, X, *, sample_weight=None):
    """Remove what no sample reaches.

    A split that sends all samples to one side is replaced by that side. No prediction for the given
    samples changes; others may.

    Parameters
    ----------
    tree : Tree
    X : array-like or CSR matrix of shape (n_samples, n_features)
    sample_weight : array-like of shape (n_samples,), default=None
        Samples of weight zero are not there.

    Returns
    -------
    Tree
        The leaves keep their order.

    Raises
    ------
    ValueError, TypeError
        If an argument does not fit; the message names it.

    Examples
    --------
    >>> from ngdt import Tree
    >>> from ngdt.pruning import prune_dead_branches
    >>> tree = Tree([[1.0], [1.0]], [0.0, 5.0], [~0, ~1], [1, ~2], [[1.0], [2.0], [3.0]])
    >>> prune_dead_branches(tree, [[-1.0], [2.0]])
    Tree(n_internal=1, n_leaves=2, n_features=1, n_outputs=1, max_depth=1)
    """
    if not isinstance(tree, Tree):
        raise TypeError(f"tree must be an ngdt Tree, got {type(tree).__name__}")
    rows = tree._check(X)
    weight = check_weight(sample_weight, rows.n_samples)
    leaf = tree._apply_at(rows, np.flatnonzero(weight).astype(np.int32))
    return keep_reached(tree, np.bincount(leaf, minlength=tree.n_leaves) > 0)


def keep_reached(tree, reached):
    """The tree without the leaves that are not reached, of which there must be one.

    Parameters
    ----------
    tree : Tree
    reached : ndarray of bool, shape (n_leaves,)

    Returns
    -------
    Tree
    """
    if reached.all():
        return tree
    m = tree.n_internal
    children = np.stack([tree.children_left, tree.children_right], axis=1)
    alive = np.zeros(m, dtype=bool)

    def is_alive(child):
        return alive[child] if child >= 0 else reached[~child]

    stand_in = {}   # node -> what takes its place
    for node in range(m - 1, -1, -1):
        sides = [stand_in.get(child, child) for child in children[node] if is_alive(child)]
        alive[node] = bool(sides)
        if len(sides) == 1:
            stand_in[node] = sides[0]
    kept = [node for node in range(m) if alive[node] and node not in stand_in]
    leaves = np.flatnonzero(reached)
    number = {node: new for new, node in enumerate(kept)}
    number.update({~leaf: ~new for new, leaf in enumerate(leaves.tolist())})
    renumbered = np.array(
        [[number[stand_in.get(child, child)] for child in children[node].tolist()]
         for node in kept], dtype=np.int32).reshape(-1, 2)
    return Tree(
        tree.weights[kept], tree.thresholds[kept], renumbered[:, 0].copy(),
        renumbered[:, 1].copy(), tree.values[leaves])
