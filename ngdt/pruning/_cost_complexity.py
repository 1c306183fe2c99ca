"""Minimal cost-complexity pruning, by Breiman et al. (1984)."""

from ngdt._util.validation import check_number
from ngdt.pruning._replace import first_leaves, fit_replaced, present_targets
from ngdt.pruning._sequence import pruning_sequence


def cost_complexity_pruning_path(tree, X, y, *, loss="log_loss", sample_weight=None):
    """Alphas at which minimal cost-complexity pruning removes splits, and impurities of the rest.

    Like `cost_complexity_pruning_path` of scikit-learn, for any tree. The impurity of a node is the
    entropy of the classes that reach it, in bits, or the mean squared error of their mean, averaged
    over the targets. It counts by the share of the weight that reaches the node. The slopes of
    linear leaves do not count.

    Parameters
    ----------
    tree : Tree
    X : array-like or CSR matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Class indices for classification losses, targets for regression losses.
    loss : str or Loss, default="log_loss"
        Decides between classification and regression.
    sample_weight : array-like of shape (n_samples,), default=None
        Samples of weight zero are ignored.

    Returns
    -------
    sklearn.utils.Bunch
        `ccp_alphas` : ndarray of shape (n_subtrees,)
            Effective alpha of each subtree, ascending from 0. Equal ones are all listed.
        `impurities` : ndarray of shape (n_subtrees,)
            Sum of the impurities of the leaves of the subtree.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid; the message names it.

    Examples
    --------
    >>> from ngdt import Tree
    >>> from ngdt.pruning import cost_complexity_pruning_path
    >>> tree = Tree([[1.0], [1.0]], [0.0, 5.0], [~0, ~1], [1, ~2], [[0.0], [1.0], [2.0]])
    >>> path = cost_complexity_pruning_path(
    ...     tree, [[-1.0], [-2.0], [2.0], [7.0]], [0.0, 0.0, 4.0, 6.0], loss="squared_error")
    >>> path.ccp_alphas
    array([0.  , 0.5 , 6.25])
    >>> path.impurities
    array([0.  , 0.5 , 6.75])
    """
    targets = present_targets(tree, X, y, loss, sample_weight)
    return pruning_sequence(tree, targets).path(unit=targets.y.shape[1])


def prune_cost_complexity(tree, X, y, ccp_alpha, *, loss="log_loss", sample_weight=None):
    """Minimise impurity plus `ccp_alpha` times the number of leaves, over all subtrees.

    The tree is the smallest one with the least cost, as in scikit-learn. Impurities are defined
    as for `cost_complexity_pruning_path`.

    Parameters
    ----------
    tree : Tree
    X : array-like or CSR matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Class indices for classification losses, targets for regression losses.
    ccp_alpha : float
        Cost of a leaf, not negative. With 0, nothing is pruned, as in scikit-learn.
    loss : str or Loss, default="log_loss"
        Decides between classification and regression, and fits the values of new leaves.
    sample_weight : array-like of shape (n_samples,), default=None
        Samples of weight zero are ignored.

    Returns
    -------
    Tree
        The tree itself if nothing is pruned. Leaves that were leaves before keep their values.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid; the message names it.

    Examples
    --------
    >>> from ngdt import Tree
    >>> from ngdt.pruning import prune_cost_complexity
    >>> tree = Tree([[1.0], [1.0]], [0.0, 5.0], [~0, ~1], [1, ~2], [[0.0], [1.0], [2.0]])
    >>> pruned = prune_cost_complexity(
    ...     tree, [[-1.0], [-2.0], [2.0], [7.0]], [0.0, 0.0, 4.0, 6.0], 0.6, loss="squared_error")
    >>> pruned.values.tolist()
    [[0.0], [5.0]]
    """
    if not check_number("ccp_alpha", ccp_alpha) >= 0:
        raise ValueError(f"ccp_alpha must not be negative, got {ccp_alpha}")
    targets = present_targets(tree, X, y, loss, sample_weight)
    is_leaf = pruning_sequence(tree, targets).is_leaf(ccp_alpha * targets.y.shape[1])
    return fit_replaced(tree, first_leaves(tree, is_leaf), targets)
