"""Enforce the limits of the fitted tree on the trees that optimizers return."""

import numpy as np

from ngdt._core.structure import child_ids, sums_below
from ngdt._training.monotone import monotone_leaves, straighten
from ngdt._training.shared_slopes import put_back, split_off
from ngdt.pruning._equal import merge_same_leaves
from ngdt.pruning._impurity import LeafTargets, node_errors, node_impurities
from ngdt.pruning._replace import collapse
from ngdt.pruning._sequence import pruning_sequence
from ngdt.pruning._size import prune_to_size
from ngdt.pruning._unused import keep_reached

# Share of a weight that rounding explains.
ROUNDING = 1e-9


def enforce_limits(tree, problem):
    """The tree without leaves that no sample reaches, and within the limits of the problem.

    A leaf with fewer than `min_samples_leaf` samples, or a smaller share of the weight than
    `min_weight_fraction_leaf`, is removed with the split above it, and its samples go to the other
    side. A split of fewer than `min_samples_split` samples, or one that decreases the impurity by
    less than `min_impurity_decrease`, becomes a leaf. The rest is pruned to `max_leaf_nodes` leaves
    with the least training error. What is left is pruned to the least cost complexity for
    `ccp_alpha`. Leaves that receive samples are refitted, all others keep their values. If the tree
    is within the limits, the cost is one pass over the samples. With directions, splits and leaves
    become monotone; slopes that leaves share stay.

    Parameters
    ----------
    tree : Tree
    problem : Problem
        Its training and validation samples are counted, without their weights; not those that are
        given apart.

    Returns
    -------
    Tree
        The tree itself if it is within all limits.
    """
    if problem.directions is None:
        return _limited(tree, problem, problem)
    constant, rest = split_off(tree, problem)
    small = _limited(straighten(constant, rest), problem, rest)
    small = merge_same_leaves(monotone_leaves(small, rest))
    return tree if small is constant else put_back(small, tree)


def _limited(tree, problem, rest):
    """The tree within the limits of a problem, with leaves for what slopes leave of its targets."""
    def at_leaves(tree):
        targets = targets_at_leaves(tree, problem)
        return np.bincount(targets.leaf, minlength=tree.n_leaves), targets

    small = subtree_within_limits(_numbered(tree), problem.limits, at_leaves)
    if small.n_leaves == tree.n_leaves:
        return tree
    return _with_values(small, tree, rest)


def subtree_within_limits(tree, limits, at_leaves):
    """The subtree within limits, whose leaves are still to be fitted.

    Parameters
    ----------
    tree : Tree
    limits : Limits
    at_leaves : callable
        Takes a subtree. Returns the number of samples of each leaf, and their `LeafTargets`.

    Returns
    -------
    Tree
        A leaf that is new has the values of a leaf that was below it.
    """
    small = tree
    while True:
        count, targets = at_leaves(small)
        share = np.bincount(targets.leaf, targets.weight, small.n_leaves) / targets.weight.sum()
        keep = large_leaves(small, count, (count >= limits.min_samples_leaf) & (
            share >= limits.min_weight_fraction_leaf * (1.0 - ROUNDING)))
        if keep.all():
            break
        small = keep_reached(small, keep)
    small = collapse(small, forbidden_splits(small, limits, count, targets))
    if limits.max_leaf_nodes is not None and small.n_leaves > limits.max_leaf_nodes:
        _, targets = at_leaves(small)
        small = prune_to_size(small, node_errors(small, targets), limits.max_leaf_nodes)
    if limits.ccp_alpha > 0:
        _, targets = at_leaves(small)
        sequence = pruning_sequence(small, targets)
        small = collapse(small, sequence.is_leaf(limits.ccp_alpha))
    return small


def collapsed(tree, problem, is_leaf):
    """A tree within all limits with some nodes turned into leaves, which are fitted."""
    return _with_values(collapse(_numbered(tree), is_leaf), tree, problem)


def _numbered(tree):
    """The tree whose leaf values are their ids, so that leaves of a subtree are found in it."""
    return tree.replace(values=np.arange(tree.n_leaves, dtype=np.float64)[:, None])


def targets_at_leaves(tree, problem):
    """The `LeafTargets` of training and validation samples."""
    samples, weight = _present(problem)
    return LeafTargets(
        problem.apply(tree, samples), problem.y[samples], weight[samples], problem.loss)


def _present(problem):
    """Training and validation samples, and the weights of all samples."""
    weight = problem.sample_weight
    if problem.validation_weight is not None and not problem.own_validation:
        weight = weight + problem.validation_weight
    return np.flatnonzero(weight > 0).astype(np.int32), weight


def large_leaves(tree, count, has_enough):
    """Mask of the leaves to keep: those with enough samples; of two small siblings, the larger.

    Parameters
    ----------
    tree : Tree
    count : ndarray of int, shape (n_leaves,)
        Number of samples of each leaf.
    has_enough : ndarray of bool, shape (n_leaves,)
        Whether a leaf is within the limits.

    Returns
    -------
    ndarray of bool, shape (n_leaves,)
    """
    keep = has_enough.copy()
    left, right = ~tree.children_left, ~tree.children_right
    pairs = (left >= 0) & (right >= 0)
    left, right = left[pairs], right[pairs]
    is_small = ~(keep[left] | keep[right]) & (count[left] + count[right] > 0)
    keep[np.where(count[left] >= count[right], left, right)] |= is_small
    if not keep.any():
        keep[count.argmax()] = True
    return keep


def forbidden_splits(tree, limits, count, targets):
    """Mask of the nodes with too few samples to be split, or a split with too small a gain.

    Parameters
    ----------
    tree : Tree
    limits : Limits
    count : ndarray of int, shape (n_leaves,)
        Number of samples of each leaf.
    targets : LeafTargets

    Returns
    -------
    ndarray of bool, shape (n_internal,)
    """
    m = tree.n_internal
    forbidden = sums_below(tree, count)[:m] < limits.min_samples_split
    if limits.min_impurity_decrease > 0:
        impurity = node_impurities(tree, targets)
        decrease = impurity[:m] - impurity[child_ids(tree)].sum(axis=1)
        least = limits.min_impurity_decrease * targets.weight.sum()
        forbidden |= decrease * (1 + 1e-10) < least
    return forbidden


def _with_values(small, tree, problem):
    """A subtree of `_numbered` with the leaves of the tree, refitted where one gained samples."""
    samples, _ = _present(problem)
    leaf, before = problem.apply(small, samples), problem.apply(tree, samples)
    origin = small.values[:, 0].astype(np.intp)
    changed = np.zeros(small.n_leaves, dtype=bool)
    changed[leaf[origin[leaf] != before]] = True
    small = small.replace(**tree.leaf_arrays(origin))
    if changed.any():
        training = problem.sample_weight[samples] > 0
        fitted = problem.fit_leaves(leaf[training], samples[training], small.n_leaves)
        small = small.make_constant(changed, fitted[changed])
    return small
