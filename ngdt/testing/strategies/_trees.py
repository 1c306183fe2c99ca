"""Strategies for trees."""

import numpy as np
from hypothesis import event
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ngdt._core.tree import Tree
from ngdt.testing.strategies._elements import CONSTANT, DENSE, DYADICS, N_INTERNAL, SIZES


@st.composite
def _shapes(draw, n_internal):
    """Children of a tree, of every shape and every numbering with parents before children."""
    m = draw(n_internal)
    children = np.zeros((2, m), dtype=np.int32)
    # Slots are the missing children of the nodes so far. Always taking the first gives a balanced
    # tree, always taking the last a chain.
    slots = [(side, 0) for side in range(2 if m else 0)]
    for node in range(1, m):
        side, parent = slots.pop(draw(st.integers(0, len(slots) - 1)))
        children[side, parent] = node
        slots += [(0, node), (1, node)]
    for (side, parent), leaf in zip(slots, draw(st.permutations(range(m + 1))), strict=False):
        children[side, parent] = ~leaf
    return children


@st.composite
def trees(
    draw,
    *,
    n_internal=N_INTERNAL,
    n_features=SIZES,
    n_outputs=SIZES,
    elements=DYADICS,
    sparse_weights=DENSE,
    linear_leaves=CONSTANT,
):
    """Trees of every shape: single leaves, stumps, chains, balanced trees, with dead branches.

    Parameters
    ----------
    n_internal : strategy of int
        Number of internal nodes.
    n_features, n_outputs : strategy of int
    elements : strategy of float
        Entries of the weights, thresholds, leaf values, slopes and ranges. Many weights are zero.
    sparse_weights : strategy of bool
        True for a tree with sparse weights; always False by default.
    linear_leaves : strategy of bool
        True for a tree with linear leaves, of which some have no slopes, and with ranges or none;
        always False by default.

    Returns
    -------
    strategy of Tree

    Examples
    --------
    >>> from hypothesis import find
    >>> from ngdt.testing.strategies import trees
    >>> find(trees(), lambda tree: tree.n_internal > 0)
    Tree(n_internal=1, n_leaves=2, n_features=1, n_outputs=1, max_depth=1)
    """
    left, right = draw(_shapes(n_internal))
    m, p, k = len(left), draw(n_features), draw(n_outputs)
    tree = Tree(
        weights=draw(arrays(np.float64, (m, p), elements=elements)),
        thresholds=draw(arrays(np.float64, m, elements=elements)),
        children_left=left,
        children_right=right,
        values=draw(arrays(np.float64, (m + 1, k), elements=elements)),
    )
    if draw(linear_leaves):
        tree = tree.replace(values=tree.values, **draw(_slopes((m + 1, k, p), elements)))
    event(f"tree: {_describe(tree)}")
    return tree.sparsify() if draw(sparse_weights) else tree


@st.composite
def _slopes(draw, shape, elements):
    """Slopes and ranges of linear leaves, as arguments of `Tree`."""
    slopes = draw(arrays(np.float64, shape, elements=elements))
    is_linear = draw(arrays(np.bool_, shape[0]))
    ranges = np.sort(draw(arrays(np.float64, (*shape[:2], 2), elements=elements)))
    return {"slopes": slopes * is_linear[:, None, None],
            "ranges": ranges if draw(st.booleans()) else None}


def _describe(tree):
    if tree.n_internal < 2:
        return "stump" if tree.n_internal else "single leaf"
    if tree.max_depth == tree.n_internal:
        return "chain"
    return "balanced" if 2**tree.max_depth < 2 * tree.n_leaves else "unbalanced"
