"""Smaller trees with the same predictions.

Each function takes a tree and returns a tree, so they can be chained. The remaining nodes and
leaves keep their order, and sparse weights stay sparse.
"""

import numpy as np

from ngdt._structure import child_ids
from ngdt._tree import Tree, check_is_tree
from ngdt._validation import check_weight
from ngdt.inference import check_samples

__all__ = [
    "prune_dead_branches", "prune_equal_leaves", "prune_pure_subtrees", "prune_zero_weight_nodes"]


def prune_dead_branches(tree, X, *, sample_weight=None):
    """Remove the branches that no sample reaches.

    A split that sends all samples to one child is replaced by that child. Predictions for the given
    samples stay the same; those for other samples may change.

    Parameters
    ----------
    tree : Tree
    X : array-like or CSR matrix of shape (n_samples, n_features)
    sample_weight : array-like of shape (n_samples,), default=None
        Samples of weight zero are ignored.

    Returns
    -------
    Tree
        The tree itself if every leaf is reached.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid; the message names it.

    Examples
    --------
    >>> from ngdt import Tree
    >>> from ngdt.pruning import prune_dead_branches
    >>> tree = Tree([[1.0], [1.0]], [0.0, 5.0], [~0, ~1], [1, ~2], [[1.0], [2.0], [3.0]])
    >>> prune_dead_branches(tree, [[-1.0], [2.0]])
    Tree(n_internal=1, n_leaves=2, n_features=1, n_outputs=1, max_depth=1)
    """
    check_is_tree(tree)
    leaf, _, _ = _present(tree, tree._check_samples(X), sample_weight)
    return keep_reached(tree, np.bincount(leaf, minlength=tree.n_leaves) > 0)


def prune_pure_subtrees(tree, X, y, *, loss="log", sample_weight=None):
    """Replace subtrees by leaves where all samples have the same target, predicted without error.

    The largest such subtrees are replaced. Predicted classes and values of the given samples stay
    the same; probabilities may change.

    Parameters
    ----------
    tree : Tree
    X : array-like or CSR matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Class indices for classification losses, targets for regression losses.
    loss : str or Loss, default="log"
        Decides between classification and regression, and fits the values of new leaves.
    sample_weight : array-like of shape (n_samples,), default=None
        Samples of weight zero are ignored.

    Returns
    -------
    Tree
        The tree itself if there is no such subtree. Subtrees that no sample reaches stay.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid; the message names it.

    Examples
    --------
    Both leaves below the second split predict class 1, the class of all their samples:

    >>> from ngdt import Tree
    >>> from ngdt.pruning import prune_pure_subtrees
    >>> tree = Tree([[1.0], [1.0]], [0.0, 5.0], [~0, ~1], [1, ~2],
    ...             [[2.0, 0.0], [0.0, 1.0], [0.0, 3.0]])
    >>> prune_pure_subtrees(tree, [[-1.0], [2.0], [7.0]], [0, 1, 1])
    Tree(n_internal=1, n_leaves=2, n_features=1, n_outputs=2, max_depth=1)
    """
    return collapse_pure(tree, *_present_targets(tree, X, y, loss, sample_weight))


def prune_equal_leaves(tree, X, y, *, loss="log", sample_weight=None):
    """Replace subtrees by leaves where all leaves predict the same class or value.

    The largest such subtrees are replaced. Predicted classes and values stay the same for every
    sample. Probabilities may change, since a split between more and less probable members of a
    class is removed.

    Parameters
    ----------
    tree : Tree
    X : array-like or CSR matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Class indices for classification losses, targets for regression losses.
    loss : str or Loss, default="log"
        Decides between classification and regression, and fits the values of new leaves.
    sample_weight : array-like of shape (n_samples,), default=None
        Samples of weight zero are ignored.

    Returns
    -------
    Tree
        The tree itself if there is no such subtree.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid; the message names it.

    Examples
    --------
    Both leaves below the second split predict class 1, though not all their samples have it:

    >>> from ngdt import Tree
    >>> from ngdt.pruning import prune_equal_leaves
    >>> tree = Tree([[1.0], [1.0]], [0.0, 5.0], [~0, ~1], [1, ~2],
    ...             [[2.0, 0.0], [0.0, 1.0], [0.0, 3.0]])
    >>> prune_equal_leaves(tree, [[-1.0], [2.0], [3.0], [7.0]], [0, 1, 0, 1])
    Tree(n_internal=1, n_leaves=2, n_features=1, n_outputs=2, max_depth=1)
    """
    leaf, y, weight, loss = _present_targets(tree, X, y, loss, sample_weight)
    predicted, replacement = _predicted(tree, loss), _identity(tree)
    for node, children in _children_first(tree):
        left, right = replacement[children] - tree.n_internal     # leaves, or negative
        if min(left, right) >= 0 and (predicted[left] == predicted[right]).all():
            replacement[node] = replacement[children[0]]
    return _replace_by_leaves(tree, replacement, leaf, y, weight, loss)


def prune_zero_weight_nodes(tree):
    """Remove the splits whose weights are all zero.

    The threshold of such a node sends every sample to the same child, which replaces the node.
    Predictions stay the same for every sample.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    Tree
        The tree itself if there is no such node.

    Raises
    ------
    TypeError
        If `tree` is not a `Tree`.

    Examples
    --------
    >>> from ngdt import Tree
    >>> from ngdt.pruning import prune_zero_weight_nodes
    >>> tree = Tree([[1.0], [0.0]], [0.0, 5.0], [~0, ~1], [1, ~2], [[1.0], [2.0], [3.0]])
    >>> prune_zero_weight_nodes(tree).values.tolist()
    [[1.0], [2.0]]
    """
    check_is_tree(tree)
    n_nonzero = (tree.weights != 0).sum(axis=1)
    replacement, children = _identity(tree), child_ids(tree)
    for node in np.flatnonzero(n_nonzero == 0):
        replacement[node] = children[node, int(tree.thresholds[node] < 0)]
    return _replace(tree, replacement)


# For callers that know which leaf each sample reaches.


def keep_reached(tree, reached):
    """The tree without the leaves that are not reached.

    Parameters
    ----------
    tree : Tree
    reached : ndarray of bool, shape (n_leaves,)
        At least one is True.

    Returns
    -------
    Tree
    """
    m = tree.n_internal
    alive = np.concatenate([np.zeros(m, dtype=bool), reached])
    replacement = _identity(tree)
    for node, children in _children_first(tree):
        sides = children[alive[children]]
        alive[node] = len(sides) > 0
        if len(sides) == 1:
            replacement[node] = sides[0]
    return _replace(tree, replacement)


def collapse_pure(tree, leaf, y, weight, loss):
    """As `prune_pure_subtrees`, for samples whose leaves are known.

    Parameters
    ----------
    tree : Tree
    leaf : ndarray of int, shape (n_samples,)
        Leaf that each sample reaches.
    y : ndarray of float64, shape (n_samples, n_targets)
        Targets as `Loss.encode` returns them.
    weight : ndarray of float64, shape (n_samples,)
        Positive weights.
    loss : Loss

    Returns
    -------
    Tree
    """
    m = tree.n_internal
    predicted = _predicted(tree, loss)
    # Range of the targets at every node, then at every leaf. It is empty without samples, and
    # infinite if a prediction is wrong.
    low = np.full((2 * m + 1, y.shape[1]), np.inf)
    high = -low
    np.minimum.at(low, m + leaf, y)
    np.maximum.at(high, m + leaf, y)
    wrong = m + np.unique(leaf[(predicted[leaf] != y).any(axis=1)])
    low[wrong], high[wrong] = -np.inf, np.inf
    reached = np.arange(2 * m + 1)  # a leaf of the subtree, reached by samples if any is
    replacement = _identity(tree)
    for node, children in _children_first(tree):
        low[node], high[node] = low[children].min(axis=0), high[children].max(axis=0)
        left, right = children
        reached[node] = reached[left if (low[left] <= high[left]).all() else right]
        if (low[node] == high[node]).all():
            replacement[node] = reached[node]
    return _replace_by_leaves(tree, replacement, leaf, y, weight, loss)


def _predicted(tree, loss):
    """Class or values that each leaf predicts, shape (n_leaves, 1) or (n_leaves, n_outputs)."""
    return tree.values.argmax(axis=1)[:, None] if loss.is_classifier else tree.values


def _replace_by_leaves(tree, replacement, leaf, y, weight, loss):
    """The tree with subtrees replaced by leaves that predict the same class or value."""
    # In regression, the leaf that replaces a subtree has the right value already. In
    # classification, its probabilities are fitted to all samples of the subtree.
    if not loss.is_classifier:
        return _replace(tree, replacement)
    return _replace(tree, replacement, _fit_collapsed(tree, replacement, leaf, y, weight, loss))


def _fit_collapsed(tree, replacement, leaf, y, weight, loss):
    """Leaf values, those of a leaf that replaces a subtree fitted to all samples of it."""
    m = tree.n_internal
    part_of = np.arange(2 * m + 1)      # the leaf that replaces the subtree around, or itself
    for node, children in enumerate(child_ids(tree)):
        if part_of[node] == node:
            part_of[node] = replacement[node]
        if part_of[node] != node:
            part_of[children] = part_of[node]
    fitted = loss.fit_leaves(
        part_of[m + leaf] - m, y, weight, tree.n_leaves, tree.n_outputs)
    new = np.unique(part_of[:m][part_of[:m] >= m]) - m
    # Fitted values that predict another class are not taken: the samples may have other classes,
    # and a pseudo-count may outweigh tiny sample weights.
    new = new[fitted[new].argmax(axis=1) == tree.values[new].argmax(axis=1)]
    values = tree.values.copy()
    values[new] = fitted[new]
    return values


def _children_first(tree):
    return reversed(list(enumerate(child_ids(tree))))


def _identity(tree):
    """Replacement of each node and leaf by itself."""
    return np.arange(2 * tree.n_internal + 1)


def _replace(tree, replacement, values=None):
    """The tree with some nodes replaced by a node or leaf below them.

    `replacement` holds for each node and leaf what replaces it; leaves are counted after the nodes.
    """
    m = tree.n_internal
    if (replacement == np.arange(2 * m + 1)).all():
        return tree
    for node in range(m - 1, -1, -1):
        replacement[node] = replacement[replacement[node]]
    children = replacement[child_ids(tree)]
    stays = np.zeros(2 * m + 1, dtype=bool)
    stays[replacement[0]] = True
    for node in range(m):
        stays[children[node]] |= stays[node]
    nodes, leaves = np.flatnonzero(stays[:m]), np.flatnonzero(stays[m:])
    number = np.empty(2 * m + 1, dtype=np.int32)
    number[nodes], number[m + leaves] = np.arange(len(nodes)), ~np.arange(len(leaves))
    left, right = number[children[nodes]].T
    return Tree(
        tree.weights[nodes], tree.thresholds[nodes], left, right,
        (tree.values if values is None else values)[leaves])


def _present(tree, data, sample_weight):
    """Leaf of each sample of positive weight, all weights, and the indices of these samples."""
    weight = check_weight(sample_weight, data.n_samples)
    present = np.flatnonzero(weight).astype(np.int32)
    return tree.apply_samples(data, present), weight, present


def _present_targets(tree, X, y, loss, sample_weight):
    """Leaf, encoded target and weight of each sample of positive weight, and the loss."""
    data, y, loss, _ = check_samples(tree, X, y, loss)
    leaf, weight, present = _present(tree, data, sample_weight)
    return leaf, y[present], weight[present], loss


def collapse(tree, is_leaf):
    """The tree with some nodes turned into leaves.

    Parameters
    ----------
    tree : Tree
    is_leaf : ndarray of bool, shape (n_internal,)
        Nodes to turn into leaves; what is below them goes as well.

    Returns
    -------
    Tree
        Where a subtree was, its first leaf is. The tree itself if there is nothing to do.
    """
    replacement = _identity(tree)
    first = _identity(tree)     # first leaf below each node
    for node, children in _children_first(tree):
        first[node] = first[children[0]]
        if is_leaf[node]:
            replacement[node] = first[node]
    return _replace(tree, replacement)


def prune_to_size(tree, node_error, leaf_error, n_leaves):
    """Replace subtrees by leaves such that the error is least for a number of leaves.

    Parameters
    ----------
    tree : Tree
    node_error : ndarray of float64, shape (n_internal,)
        Error of each internal node if it were a leaf.
    leaf_error : ndarray of float64, shape (n_leaves,)
    n_leaves : int
        Largest number of leaves. Of equally good trees, the smallest is taken.

    Returns
    -------
    Tree
        A subtree is replaced by its first leaf.
    """
    n_leaves = min(n_leaves, tree.n_leaves)
    # By child id: the least error with at most 1, 2, ... leaves
    least = {~leaf: np.full(n_leaves, error) for leaf, error in enumerate(leaf_error)}
    for node in range(tree.n_internal - 1, -1, -1):
        errors = least[node] = np.full(n_leaves, node_error[node])
        for extra in range(1, n_leaves):
            errors[extra] = min(errors[extra - 1], _shares(tree, least, node, extra).min())
    kept = np.zeros(tree.n_leaves, dtype=bool)
    waiting = [(0 if tree.n_internal else ~0, n_leaves - 1)]
    while waiting:
        child, extra = waiting.pop()
        while extra and least[child][extra] == least[child][extra - 1]:
            extra -= 1
        if extra:
            left = int(_shares(tree, least, child, extra).argmin())
            waiting += [(tree.children_left[child], left),
                        (tree.children_right[child], extra - 1 - left)]
        else:
            while child >= 0:
                child = tree.children_left[child]
            kept[~child] = True
    return keep_reached(tree, kept)


def _shares(tree, least, node, extra):
    """Errors of a node with `extra` + 1 leaves, by the extra leaves of its left child."""
    left, right = least[tree.children_left[node]], least[tree.children_right[node]]
    return left[:extra] + right[extra - 1::-1]
