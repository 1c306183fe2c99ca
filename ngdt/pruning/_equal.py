"""Replacement of subtrees by leaves that predict the same."""

import numpy as np

from ngdt._core.structure import constant_predictions
from ngdt.pruning._replace import (
    children_first,
    fit_replaced,
    identity,
    present_targets,
    replace_subtrees,
)


def prune_pure_subtrees(tree, X, y, *, loss="log_loss", sample_weight=None):
    """Replace subtrees by leaves where all samples have the same target, predicted without error.

    The largest such subtrees are replaced. Predicted classes and values of the given samples stay
    the same; probabilities may change.

    Parameters
    ----------
    tree : Tree
    X : array-like or CSR matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Class indices for classification losses, targets for regression losses.
    loss : str or Loss, default="log_loss"
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
    return collapse_pure(tree, present_targets(tree, X, y, loss, sample_weight))


def prune_equal_leaves(tree, X, y, *, loss="log_loss", sample_weight=None):
    """Replace subtrees by leaves where all leaves predict the same class or value.

    The largest such subtrees are replaced. Predicted classes and values stay the same for every
    sample. Probabilities may change, since a split between more and less probable members of a
    class is removed. Linear leaves predict the same if their values, slopes and ranges are equal.

    Parameters
    ----------
    tree : Tree
    X : array-like or CSR matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Class indices for classification losses, targets for regression losses.
    loss : str or Loss, default="log_loss"
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
    targets = present_targets(tree, X, y, loss, sample_weight)
    predicted = _predicted(tree, targets.loss)

    def are_equal(left, right):
        return (predicted[left] == predicted[right]).all() or all(
            np.array_equal(each[left], each[right])
            for each in tree.leaf_arrays().values() if each is not None)

    return _replace_by_leaves(tree, _merged(tree, are_equal), targets)


def merge_same_leaves(tree):
    """Replace subtrees of constant leaves by one of them where all have the same values.

    The tree predicts the same for every sample.
    """
    return replace_subtrees(tree, _merged(
        tree, lambda left, right: (tree.values[left] == tree.values[right]).all()))


def _merged(tree, are_equal):
    """Replacement of each subtree whose leaves are equal in pairs, by its first leaf."""
    replacement = identity(tree)
    for node, children in children_first(tree):
        left, right = (replacement[each] - tree.n_internal for each in children)
        if min(left, right) >= 0 and are_equal(left, right):    # both are leaves
            replacement[node] = replacement[children[0]]
    return replacement


def collapse_pure(tree, targets):
    """Prune pure subtrees, as `prune_pure_subtrees`, for samples whose leaves are known."""
    leaf, y, _, loss = targets
    m, predicted = tree.n_internal, _predicted(tree, loss)
    # Range of the targets at every node, then at every leaf. It is empty without samples, and
    # infinite if a prediction is wrong.
    low = np.full((2 * m + 1, y.shape[1]), np.inf)
    high = -low
    np.minimum.at(low, m + leaf, y)
    np.maximum.at(high, m + leaf, y)
    wrong = m + np.unique(leaf[(predicted[leaf] != y).any(axis=1)])
    low[wrong], high[wrong] = -np.inf, np.inf
    reached = identity(tree)     # a leaf of the subtree, reached by samples if any is
    replacement = identity(tree)
    for node, (left, right) in children_first(tree):
        low[node] = np.minimum(low[left], low[right])
        high[node] = np.maximum(high[left], high[right])
        reached[node] = reached[left if (low[left] <= high[left]).all() else right]
        if (low[node] == high[node]).all():
            replacement[node] = reached[node]
    return _replace_by_leaves(tree, replacement, targets)


def _predicted(tree, loss):
    """Class or values that each leaf predicts, one row per leaf; NaN if it is linear."""
    values = constant_predictions(tree)
    is_linear = np.isnan(values).any(axis=1)[:, None]
    predicted = loss.decode(np.where(is_linear, 0.0, values))
    return np.where(is_linear, np.nan, predicted)


def _replace_by_leaves(tree, replacement, targets):
    """Replace subtrees by leaves that predict the same classes or values."""
    # For regression, the leaves of a subtree all predict the same, and one of them stays. For
    # classification, its probabilities are fitted to all samples of the subtree.
    if not targets.loss.is_classifier:
        return replace_subtrees(tree, replacement)
    # Fitted values that predict another class are not taken: the samples may have other classes,
    # and a pseudo-count may outweigh tiny sample weights. Nor do they replace linear leaves.
    return fit_replaced(tree, replacement, targets, lambda small, fitted: (
        fitted.argmax(axis=1) == _predicted(small, targets.loss)[:, 0]))
