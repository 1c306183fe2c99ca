"""Structure of trees: children, parents, paths, sums along paths, numbering, grafts.

Functions here that number nodes and leaves together use one id space: node i is i, leaf j is
n_internal + j. Parents come before children.
"""

from collections import Counter
from itertools import pairwise

import numpy as np
from scipy import sparse
from scipy.special import expit

# Limits of linear leaves that have none.
_UNLIMITED = np.finfo(np.float64).max * np.array([-1.0, 1.0])


def child_ids(tree):
    """Left and right child of each node.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    ndarray of int32, shape (n_internal, 2)
    """
    children = np.empty((tree.n_internal, 2), dtype=np.int32)
    children[:, 0], children[:, 1] = tree.children_left, tree.children_right
    return np.where(children < 0, tree.n_internal + ~children, children)


def parents(tree):
    """Parent of each node, then of each leaf; -1 for the root.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    ndarray of int32, shape (n_internal + n_leaves,)
    """
    parent = np.full(tree.n_internal + tree.n_leaves, -1, dtype=np.int32)
    parent[child_ids(tree)] = np.arange(tree.n_internal, dtype=np.int32)[:, None]
    return parent


def balanced_children(n_leaves):
    """Children of a tree whose leaves differ in depth by one at most, level by level.

    A tree of a power of two leaves is complete.

    Parameters
    ----------
    n_leaves : int

    Returns
    -------
    children_left, children_right : ndarray of int32, shape (n_leaves - 1,)
        As in `Tree`.
    """
    m = n_leaves - 1
    child = np.arange(1, 2 * m + 1, dtype=np.int32).reshape(m, 2)
    child[child >= m] = ~(child[child >= m] - m)
    return child[:, 0].copy(), child[:, 1].copy()


def paths(tree, leaf):
    """Internal nodes on the paths to some leaves, with the directions taken there.

    Costs the lengths of these paths, and O(n_internal).

    Parameters
    ----------
    tree : Tree
    leaf : ndarray of int, shape (n,)

    Returns
    -------
    CSR matrix of int8, shape (n, n_internal)
        +1 where the path goes right, -1 where it goes left; columns from the root down.
    """
    ends = np.cumsum(tree._leaf_depths[leaf], dtype=np.int64)
    indptr = np.concatenate([[0], ends])
    nodes = np.empty(indptr[-1], dtype=np.int32)
    directions = np.empty(indptr[-1], dtype=np.int8)
    parent = parents(tree)
    is_right = np.zeros(len(parent), dtype=bool)
    is_right[child_ids(tree)[:, 1]] = True
    # All paths go up together; those that have reached the root drop out.
    at = tree.n_internal + np.asarray(leaf)
    while (going := parent[at] >= 0).any():
        at, ends = at[going], ends[going] - 1
        directions[ends] = np.where(is_right[at], 1, -1)
        at = nodes[ends] = parent[at]
    return sparse.csr_matrix((directions, nodes, indptr), shape=(len(leaf), tree.n_internal))


def decision_path(tree, leaf):
    """Internal nodes that samples visit whose leaves are known.

    Parameters
    ----------
    tree : Tree
    leaf : ndarray of int, shape (n_samples,)

    Returns
    -------
    CSR matrix of bool, shape (n_samples, n_internal)
        True where the sample passes through the node.
    """
    is_reached = np.bincount(leaf, minlength=tree.n_leaves) > 0
    place = np.cumsum(is_reached) - 1
    return paths(tree, np.flatnonzero(is_reached))[place[leaf]].astype(bool)


def nodes_by_depth(tree):
    """The internal nodes of each depth.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    list of ndarray of int
        From the root down.
    """
    depth = tree.node_depths()
    nodes = np.argsort(depth, kind="stable")
    starts = np.searchsorted(depth[nodes], np.arange(tree.max_depth + 1)).tolist()
    return [nodes[start:end] for start, end in pairwise(starts)]


def levels(tree):
    """The path to each leaf, level by level from the root.

    Costs the lengths of all paths to leaves.

    Parameters
    ----------
    tree : Tree

    Yields
    ------
    ndarray of int, shape (n_leaves,)
        Node or leaf on the path to each leaf at this depth; -1 if the path has ended before.
    """
    path = paths(tree, np.arange(tree.n_leaves))
    length = np.diff(path.indptr)
    for depth in range(tree.max_depth + 1):
        at = np.where(length == depth, tree.n_internal + np.arange(tree.n_leaves), -1)
        goes_on = np.flatnonzero(length > depth)
        at[goes_on] = path.indices[path.indptr[goes_on] + depth]
        yield at


def sums_below(tree, at_leaf):
    """Sums of the numbers at the leaves below each node, then the numbers at each leaf.

    Parameters
    ----------
    tree : Tree
    at_leaf : ndarray of shape (n_leaves,) or (n_leaves, n)

    Returns
    -------
    ndarray of float64, shape (n_internal + n_leaves,) or (n_internal + n_leaves, n)
    """
    sums = np.concatenate([np.zeros((tree.n_internal, *at_leaf.shape[1:])), at_leaf])
    children = child_ids(tree)
    for nodes in reversed(nodes_by_depth(tree)):
        sums[nodes] = sums[children[nodes, 0]] + sums[children[nodes, 1]]
    return sums


def node_means(tree, at_leaf, weight):
    """Weighted means of the numbers at the leaves below each node, then the numbers at each leaf.

    Parameters
    ----------
    tree : Tree
    at_leaf : ndarray of shape (n_leaves, n)
    weight : ndarray of shape (n_leaves,)
        Not negative.

    Returns
    -------
    ndarray of float64, shape (n_internal + n_leaves, n)
        NaN for nodes without weight.
    """
    share = (weight / (weight.sum() or 1.0))[:, None]      # else, sums may overflow
    sums = sums_below(tree, np.hstack([share, share * at_leaf]))
    total = sums[:, :1]
    means = np.divide(
        sums[:, 1:], total, out=np.full((len(sums), at_leaf.shape[1]), np.nan), where=total > 0)
    means[tree.n_internal:] = at_leaf
    return means


def traverse(tree, max_depth=None, right_first=frozenset()):
    """Traverse a tree depth-first, left before right.

    Parameters
    ----------
    tree : Tree
    max_depth : int or None, default=None
        Levels of splits to traverse.
    right_first : collection of int, default=frozenset()
        Nodes whose right child comes before the left one.

    Yields
    ------
    type : {"split", "else", "end", "leaf", "cut"}
        A split comes before its first subtree, "else" between the two, and "end" after the second
        one. "cut" stands for a subtree that is left out.
    id : int
        Id of the node or the leaf.
    depth : int
        Number of splits above the node or leaf.
    """
    # An explicit stack: a chain may be deeper than Python's recursion limit.
    stack = [(None, 0 if tree.n_internal else ~0, 0)]
    while stack:
        type_, item, depth = stack.pop()
        if type_ is None:
            type_ = "leaf" if item < 0 else "cut" if depth == max_depth else "split"
        yield type_, ~item if type_ == "leaf" else item, depth
        if type_ == "split":
            children = [int(tree.children_left[item]), int(tree.children_right[item])]
            first, second = reversed(children) if item in right_first else children
            stack += [("end", item, depth), (None, second, depth + 1),
                      ("else", item, depth), (None, first, depth + 1)]


def number_depth_first(root, children_of):
    """Number the nodes and leaves of a linked tree depth first, left first.

    Parameters
    ----------
    root : object
    children_of : callable
        Returns the left and the right child of a node, and None for a leaf.

    Returns
    -------
    nodes, leaves : list
        The internal nodes and the leaves, in the order of their numbers.
    children_left, children_right : ndarray of int32, shape (n_internal,)
        As in `Tree`.
    """
    nodes, leaves, left, right = [], [], [], []
    # Each entry: a node, and where its number belongs.
    waiting = [(root, None, 0)]
    while waiting:
        node, side, parent = waiting.pop()
        children = children_of(node)
        if children is None:
            number = ~len(leaves)
            leaves.append(node)
        else:
            number = len(nodes)
            nodes.append(node)
            left.append(0)
            right.append(0)
            waiting += [(children[1], right, number), (children[0], left, number)]
        if side is not None:
            side[parent] = number
    return nodes, leaves, np.array(left, dtype=np.int32), np.array(right, dtype=np.int32)


def flip_matrix(nodes, decisions, counts, n_internal):
    """Flipped decisions of samples as a CSR matrix.

    Parameters
    ----------
    nodes : ndarray of int32, shape (n_samples, n)
        Nodes with flipped decisions, in the first places of each row.
    decisions : ndarray of int8, shape (n_samples, n)
        Their new decisions, +1 for right and -1 for left.
    counts : ndarray of int32, shape (n_samples,)
        Number of flips of each sample.
    n_internal : int

    Returns
    -------
    CSR matrix of int8, shape (n_samples, n_internal)
    """
    used = np.arange(nodes.shape[1]) < counts[:, None]
    indptr = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=indptr[1:])
    flips = sparse.csr_matrix(
        (decisions[used], nodes[used], indptr), shape=(len(counts), n_internal))
    flips.sort_indices()
    return flips


def constant_predictions(tree):
    """Predictions of the leaves that are the same for all of their samples.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    ndarray of shape (n_leaves, n_outputs)
        NaN where it depends on the sample, as the leaf has slopes.
    """
    if tree.slopes is None:
        return tree.values
    low, high = np.moveaxis(leaf_ranges(tree), 2, 0)
    return np.where(tree.slopes.any(axis=2), np.nan, np.clip(tree.values, low, high))


def has_slopes(tree, leaf=slice(None)):
    """Return whether a leaf of a tree, or any leaf, predicts by slopes.

    Parameters
    ----------
    tree : Tree
    leaf : int, default=slice(None)

    Returns
    -------
    bool
    """
    return tree.slopes is not None and bool(tree.slopes[leaf].any())


def is_constant(tree):
    """Return whether a tree predicts the same for all samples, as it has no splits and no slopes.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    bool
    """
    return not tree.n_internal and not has_slopes(tree)


def first_of_sums(tree):
    """The topmost node, on the path to each node, with the same weighted sum of several features.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    ndarray of int, shape (n_internal,)
        The node itself if none above it has that sum, or if it splits by one feature.
    """
    first, parent = np.arange(tree.n_internal), parents(tree)
    weights = sparse.csr_array(tree.weights)
    rows = [slice(*weights.indptr[node:node + 2]) for node in first]
    sums = [(weights.indices[row].tobytes(), weights.data[row].tobytes()) for row in rows]
    count = Counter(sums)
    for node in np.flatnonzero(np.diff(weights.indptr) > 1):
        # The way up is for the few that occur again: it is long in a deep tree.
        above = parent[node] if count[sums[node]] > 1 else -1
        while above >= 0 and sums[above] != sums[node]:
            above = parent[above]
        if above >= 0:
            first[node] = first[above]
    return first


def shares_slopes(tree):
    """Return whether the leaves of a tree are linear, and differ in their values only.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    bool
    """
    return tree.slopes is not None and all(
        each is None or (each == each[0]).all() for each in (tree.slopes, tree.ranges))


def leaf_ranges(tree):
    """Limits of the predictions of leaves, (n_leaves, n_outputs, 2); infinite if there are none."""
    if tree.ranges is None:
        return np.full((*tree.values.shape, 2), [-np.inf, np.inf])
    return tree.ranges


def finite_ranges(tree, dtype):
    """`leaf_ranges` for exports: differences of predictions are finite, as in the kernels."""
    limit = 0.5 * np.finfo(dtype).max
    return np.clip(leaf_ranges(tree), -limit, limit)


def reach_probabilities(tree, scores, gamma):
    """Probability that soft routing takes each sample to each leaf: (n_samples, n_leaves)."""
    n, m = scores.shape
    with np.errstate(over="ignore"):
        steep = gamma * scores
    steep[np.isnan(steep)] = -np.inf    # inf - inf: left, as in `Tree.apply`
    left, right = expit(-steep), expit(steep)
    reach = np.ones((2 * m + 1, n))     # nodes, then leaves
    for node, children in enumerate(child_ids(tree)):
        for child, share in zip(children, (left, right), strict=True):
            reach[child] = reach[node] * share[:, node]
    return reach[m:].T


def grafted(tree, subtrees):
    """Arrays of a tree with other trees in the place of some nodes or leaves.

    Of nested places, only the highest is used.

    Parameters
    ----------
    tree : Tree
    subtrees : dict of int to Tree
        By nodes, and leaves as ``~leaf``.

    Returns
    -------
    tuple
        Arguments of the constructor of `Tree`. Weights are sparse if those of the tree are.
    """

    def place(source, child, is_graft=False):
        # The same tree may be below itself.
        if not is_graft and child in subtrees:
            return subtrees[child], 0 if subtrees[child].n_internal else ~0, True
        return source, child, is_graft

    def children_of(item):
        source, child, is_graft = item
        if child < 0:
            return None
        return (place(source, source.children_left[child], is_graft),
                place(source, source.children_right[child], is_graft))

    root = place(tree, 0 if tree.n_internal else ~0)
    nodes, leaves, left, right = number_depth_first(root, children_of)
    return (_stacked_weights(tree, nodes),
            [source.thresholds[node] for source, node, _ in nodes], left, right,
            *_leaf_arrays([(source, ~child) for source, child, _ in leaves]))


def _stacked_weights(tree, nodes):
    """Weights of the nodes of several trees, in the form of those of one tree."""
    sources = {id(source): source for source in (tree, *(source for source, _, _ in nodes))}
    first, n = {}, 0
    for key, source in sources.items():
        first[key], n = n, n + source.n_internal
    rows = np.array([first[id(source)] + node for source, node, _ in nodes], dtype=np.intp)
    if sparse.issparse(tree.weights):
        return sparse.vstack([each.weights for each in sources.values()], "csr")[rows]
    return np.concatenate([each.dense_weights() for each in sources.values()])[rows]


def _leaf_arrays(leaves):
    """Values, slopes and ranges of leaves of several trees."""
    values = np.array([source.values[leaf] for source, leaf in leaves])
    if all(source.slopes is None for source, _ in leaves):
        return values, None, None
    slopes = np.zeros((*values.shape, leaves[0][0].n_features))
    ranges = np.tile(_UNLIMITED, (*values.shape, 1))
    for i, (source, leaf) in enumerate(leaves):
        if source.slopes is None:
            ranges[i] = values[i][:, None]
            continue
        slopes[i] = source.slopes[leaf]
        if source.ranges is not None:
            ranges[i] = source.ranges[leaf]
    has_ranges = any(source.ranges is not None for source, _ in leaves)
    return values, slopes, ranges if has_ranges else None


def choose_leaves(is_first, first, second):
    """A tree with the same splits as two trees, and leaves of either.

    Parameters
    ----------
    is_first : ndarray of bool, shape (n_leaves,)
        Which leaves are those of the first tree.
    first, second : Tree

    Returns
    -------
    Tree
    """
    values, slopes, ranges = _leaf_arrays(
        [(first if chosen else second, leaf) for leaf, chosen in enumerate(is_first)])
    return second.replace(values=values, slopes=slopes, ranges=ranges)
