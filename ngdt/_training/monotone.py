"""Monotone trees: splits of one direction, and isotonic regression of the leaf values."""

from functools import reduce

import numpy as np
from scipy.optimize import nnls
from scipy.sparse.csgraph import connected_components
from scipy.special import log_expit

from ngdt._core.climbs import Climbs, monotone_output
from ngdt._core.structure import child_ids

# Least weight of a leaf, as a share of the mean.
_MIN_WEIGHT = 1e-9
# Number of leaves above which no climbs are looked for.
_MANY_LEAVES = 500


def against(effects, direction):
    """Mask of the weights of a split that draw constrained features to the weaker of its sides.

    Parameters
    ----------
    effects : ndarray of shape (n_features,)
        Weights, times the spreads of the features.
    direction : ndarray of shape (n_features,)

    Returns
    -------
    ndarray of bool, shape (n_features,)
        Without these weights, the score of the split never falls, or never rises, where features
        move in their directions.
    """
    upward = effects * direction
    return upward < 0.0 if upward.sum() >= 0.0 else upward > 0.0


def freed(tree, problem):
    """The tree whose splits in the free levels of a problem have no features with a direction.

    Parameters
    ----------
    tree : Tree
    problem : Problem

    Returns
    -------
    Tree
        The leaves keep their values.
    """
    weights = tree.dense_weights().copy()
    weights[np.ix_(tree.node_depths() < problem.free_levels, problem.directions != 0)] = 0.0
    return tree.replace(weights=weights)


def free_nodes(tree, problem):
    """Mask of the splits in the free levels of a problem that have no features with a direction.

    Parameters
    ----------
    tree : Tree
    problem : Problem

    Returns
    -------
    ndarray of bool, shape (n_internal,)
    """
    if problem.directions is None:
        return np.zeros(tree.n_internal, dtype=bool)
    weights = tree.dense_weights()
    return (tree.node_depths() < problem.free_levels) & (
        weights[:, problem.directions != 0] == 0.0).all(axis=1)


def straighten(tree, problem):
    """The tree with splits whose scores do not both rise and fall in the directions of a problem.

    Two leaves below a split that does both would have to predict the same. The weaker weights of
    such a split become zero, its threshold parts the samples as the split before does, with the
    least weight of samples on another side, and the leaves are fitted anew.

    Parameters
    ----------
    tree : Tree
        With constant leaves.
    problem : Problem

    Returns
    -------
    Tree
        The tree itself if there is no such split.
    """
    weights, thresholds = tree.dense_weights().copy(), tree.thresholds.copy()
    scale = problem.scaling.scale
    wrong = np.array([
        against(row * scale, problem.directions) for row in weights], dtype=bool)
    if not wrong.any():
        return tree
    data, at = problem.data, {0: problem.training_samples}
    for node, (left, right) in enumerate(child_ids(tree)):
        here = at.pop(node)
        product = data.project(here, weights[node])
        if wrong[node].any():
            went_right = product > thresholds[node]
            weights[node, wrong[node]] = 0.0
            product = data.project(here, weights[node])
            if len(here):
                thresholds[node] = _threshold(product, went_right, problem.sample_weight[here])
        is_right = product > thresholds[node]
        at[left], at[right] = here[~is_right], here[is_right]
    return problem.refit_leaves(tree.replace(weights=weights, thresholds=thresholds))


def _threshold(products, is_right, weight):
    """The threshold with the least weight of samples on another side than they should be."""
    order = np.argsort(products, kind="stable")
    products, weight = products[order], np.where(is_right, weight, -weight)[order]
    # All to the right, and then one sample more to the left.
    cost = np.append(0.0, np.cumsum(weight))
    cost[1:-1][products[1:] == products[:-1]] = np.inf
    best = int(cost.argmin())
    return np.nextafter(products[0], -np.inf) if best == 0 else products[best - 1]


def kinds_of_splits(tree, directions):
    """Kinds of splits: whether scores rise, 1, fall, -1, or stay, 0, where features move.

    Parameters
    ----------
    tree : Tree
    directions : ndarray of shape (n_features,)

    Returns
    -------
    ndarray of int, shape (n_internal,)
        2 for those that do both, as after `straighten` none does.
    """
    upward = tree.dense_weights() * directions
    rises, falls = (upward > 0.0).any(axis=1), (upward < 0.0).any(axis=1)
    return np.where(rises & falls, 2, rises.astype(np.intp) - falls)


def ordered_by_splits(values, weight, children, kinds, loss):
    """The nearest leaf values such that those on the lower side of a split are below the others.

    That is more than a monotone tree needs, as no cells are looked at. But it takes no time, and
    of oblique splits that rise or fall, hardly any two cells are out of each other's reach.

    Parameters
    ----------
    values : ndarray of shape (n_leaves, n_outputs)
    weight : ndarray of shape (n_leaves,)
        Weights of the samples of the leaves.
    children : ndarray of int, shape (n_internal, 2)
        As `child_ids` returns them.
    kinds : ndarray of int, shape (n_internal,)
        As `kinds_of_splits` returns them.
    loss : Loss

    Returns
    -------
    ndarray of shape (n_leaves, n_outputs)
        In order but for rounding.
    """
    weight = np.maximum(weight / weight.mean(), _MIN_WEIGHT)
    quantity = _quantity(values, loss)
    block = _blocks_by_splits(
        quantity[:, -1], weight, _lower_first(children, kinds), np.abs(kinds).tolist())
    return _block_values(values, quantity, weight, block, loss)


def _lower_first(children, kinds):
    """The children of each node, list of pairs, the one with the lower leaves first."""
    return np.where((kinds < 0)[:, None], children[:, ::-1], children).tolist()


def _in_exact_order(values, children, kinds):
    """Values in the order of splits to the last bit: one that is too small becomes one below."""
    values, score, m = values.copy(), monotone_output(values).copy(), len(children)
    below = {m + leaf: [leaf] for leaf in range(len(values))}
    for node, (low, high) in reversed(list(enumerate(_lower_first(children, kinds)))):
        low, high = below.pop(low), below.pop(high)
        if kinds[node]:
            best, upper = low[score[low].argmax()], np.array(high)
            upper = upper[score[upper] < score[best]]
            values[upper], score[upper] = values[best], score[best]
        below[node] = low + high
    return values


def _blocks_by_splits(quantity, weight, children, order):
    """Blocks of the isotonic regression over the order of splits, from the leaves up.

    Below an ordered split, the values of a side are those of that side alone, clipped at a bound
    that both sides share: the highest blocks of the lower side and the lowest ones of the upper
    side become one, as adjacent violators are pooled where all values are in a row.

    Parameters
    ----------
    quantity, weight : ndarray of shape (n_leaves,)
    children : list of pairs of int
        Of each node, the lower side first.
    order : list of int
        0 where leaves of both sides are free, 1 where they are ordered, 2 where they are equal.

    Returns
    -------
    ndarray of int, shape (n_leaves,)
    """
    # The blocks below each node, ascending: mean, weight and leaves.
    below = {len(children) + leaf: [(*each, [leaf])] for leaf, each in enumerate(
        zip(quantity.tolist(), weight.tolist(), strict=True))}
    for node in reversed(range(len(children))):
        low, high = map(below.pop, children[node])
        if order[node] == 0:
            below[node] = sorted(low + high)
        elif order[node] == 2:
            below[node] = [reduce(_pooled, low + high)]
        elif low[-1][0] <= high[0][0]:
            below[node] = low + high
        else:
            high.reverse()
            one = _pooled(low.pop(), high.pop())
            while (low and low[-1][0] > one[0]) or (high and high[-1][0] < one[0]):
                one = _pooled(one, (low if low and low[-1][0] > one[0] else high).pop())
            below[node] = [*low, one, *reversed(high)]
    block = np.empty(len(quantity), dtype=np.intp)
    for number, (_, _, leaves) in enumerate(below[0]):
        block[leaves] = number
    return block


def _pooled(one, two):
    """One block of two."""
    weight = one[1] + two[1]
    return (one[0] * one[1] + two[0] * two[1]) / weight, weight, one[2] + two[2]


def monotone_leaves(tree, problem):
    """The tree with the nearest leaf values that are monotone.

    Nearest in the squared differences of predicted means, or probabilities of the second class,
    weighted by the samples of the leaves.

    Parameters
    ----------
    tree : Tree
        With constant leaves; one output, or two classes.
    problem : Problem
        Its directions, and its training samples, which weigh the leaves.

    Returns
    -------
    Tree
        The tree itself if it is monotone.
    """
    return nearest_monotone(tree, problem.directions, _weights_of(tree, problem), problem.loss)


def monotone_leaves_beside(tree, near, moved, problem):
    """A tree with some leaves moved, monotone again without a change of the other leaves.

    Parameters
    ----------
    tree, near : Tree, Problem
        As for `monotone_leaves`.
    moved : Tree
        The same splits, with other values of some leaves.
    problem : Problem
        Its training samples weigh the leaves that were moved.

    Returns
    -------
    Tree
        Moved leaves that the order would draw to one value with others stay as they are in the
        nearest monotone tree of `tree`.
    """
    before, weight = monotone_leaves(tree, near), _weights_of(tree, problem)
    is_moved = (moved.values != tree.values).any(axis=1)
    while is_moved.any():
        wanted = np.where(is_moved[:, None], moved.values, before.values)
        found = nearest_monotone(
            before.replace(values=wanted), problem.directions, weight, problem.loss).values
        is_drawn = ~is_moved & (found != before.values).any(axis=1)
        if not is_drawn.any():
            return before.replace(values=found)
        back = is_moved & np.isin(found[:, 0], found[is_drawn, 0])
        # Rounding may hide which leaves share a value with others.
        is_moved &= ~(back if back.any() else is_moved)
    return before


def _weights_of(tree, problem):
    """Weights of the training samples of each leaf."""
    samples = problem.training_samples
    return np.bincount(
        problem.apply(tree, samples), problem.sample_weight[samples], tree.n_leaves)


def nearest_monotone(tree, directions, weight, loss):
    """The tree with the nearest leaf values that are monotone, for leaves of these weights.

    Parameters
    ----------
    tree : Tree
        With constant leaves; one output, or two classes. Of more than 500 leaves, the order is that
        of `ordered_by_splits`: to ask all pairs for climbs would take minutes.
    directions : ndarray of shape (n_features,)
    weight : ndarray of shape (n_leaves,)
    loss : Loss

    Returns
    -------
    Tree
        The tree itself if it is monotone.
    """
    if tree.n_leaves > _MANY_LEAVES:
        children, kinds = child_ids(tree), kinds_of_splits(tree, directions)
        if np.array_equal(_in_exact_order(tree.values, children, kinds), tree.values):
            return tree
        values = ordered_by_splits(tree.values, weight, children, kinds, loss)
        return tree.replace(values=_in_exact_order(values, children, kinds))
    weight = np.maximum(weight / weight.mean(), _MIN_WEIGHT)
    climbs = Climbs(tree, directions)
    is_unknown, values = climbs.possible.copy(), tree.values
    edges = np.zeros_like(is_unknown)
    while True:
        score = monotone_output(values)
        excess = np.where(is_unknown, score[:, None] - score, 0.0)
        pairs = np.flatnonzero(excess > 0.0)
        if len(pairs) == 0:
            break
        # The worst first, some at a time: what they change may put others in order.
        pairs = pairs[np.argsort(-excess.ravel()[pairs], kind="stable")[:tree.n_leaves]]
        low, high = np.divmod(pairs, tree.n_leaves)
        is_unknown[low, high] = False
        edges[low, high] = climbs.can_climb(low, high)
        if edges[low, high].any():
            quantity, order = _quantity(tree.values, loss), _order_of(edges)
            block = isotonic_blocks(quantity[:, -1], weight, *order)
            values = _without_rounding(
                _block_values(tree.values, quantity, weight, block, loss), *order)
    return tree if values is tree.values else tree.replace(values=values)


def _quantity(values, loss):
    """Means, or the probabilities of two classes, whose squared differences are least."""
    if not loss.is_classifier:
        return loss.decode(values)
    if values.shape[1] == 1:    # the only class
        return np.ones_like(values)
    score = monotone_output(values)
    # Shares of both classes: of one that is nearly 1, the other one has more digits.
    return np.exp(np.column_stack([log_expit(-score), log_expit(score)]))


def _block_values(values, quantity, weight, block, loss):
    """Leaf values of the means of blocks; a leaf alone keeps its values."""
    count, total = np.bincount(block), np.bincount(block, weight)
    means = np.column_stack([
        np.bincount(block, weight * column) / total for column in quantity.T])
    fitted = np.log(np.maximum(means, np.finfo(np.float64).tiny)) if loss.is_classifier else (
        loss.values_of(means))
    return np.where((count > 1)[block, None], fitted[block], values)


def _order_of(edges):
    """The order of leaves that follows from some of its pairs; leaves of a cycle are one group.

    Parameters
    ----------
    edges : ndarray of bool, shape (n_leaves, n_leaves)

    Returns
    -------
    group : ndarray of int, shape (n_leaves,)
        Group of each leaf.
    above : ndarray of bool, shape (n_groups, n_groups)
        True if the row's group must not exceed the column's.
    """
    n_groups, group = connected_components(edges, connection="strong")
    above = np.zeros((n_groups, n_groups), dtype=bool)
    low, high = np.nonzero(edges)
    above[group[low], group[high]] = True
    np.fill_diagonal(above, False)
    while True:
        longer = above | _in_two_steps(above)
        if (longer == above).all():
            return group, above
        above = longer


def isotonic_blocks(quantity, weight, group, above):
    """Blocks of the weighted isotonic regression over an order: each predicts its mean.

    Parameters
    ----------
    quantity : ndarray of shape (n,)
    weight : ndarray of shape (n,)
        Positive.
    group, above
        As `_order_of` returns them.

    Returns
    -------
    ndarray of int, shape (n,)
        Block of each value.
    """
    n_groups, total = len(above), np.bincount(group, weight)
    mean = np.bincount(group, weight * quantity) / total
    # Without what follows from others, there are far fewer constraints.
    low, high = np.nonzero(above & ~_in_two_steps(above))
    if len(low) == 0:
        return group
    # The dual: prices of the constraints, non-negative least squares. In units of the square roots
    # of the weights, the regression is a projection onto a cone.
    root = np.sqrt(total)
    cone = np.zeros((n_groups, len(low)))
    cone[low, np.arange(len(low))] = -1.0 / root[low]
    cone[high, np.arange(len(low))] = 1.0 / root[high]
    price, _ = nnls(cone, -root * (mean - mean.mean()), maxiter=100 * len(low))
    # Values that a price holds together are equal.
    is_tied = np.zeros((n_groups, n_groups), dtype=bool)
    is_tied[low, high] = price > 0.0
    return connected_components(is_tied, directed=False)[1][group]


def _without_rounding(values, group, above):
    """Values that are in order to the last bit: a value that is too small becomes the one below."""
    values = values.copy()
    score = monotone_output(values)
    # Along the order, the number of groups below grows.
    for each in np.argsort(above.sum(axis=0), kind="stable"):
        below = np.flatnonzero(above[group, each] | (group == each))
        best = below[score[below].argmax()]
        members = np.flatnonzero((group == each) & (score < score[best]))
        values[members], score[members] = values[best], score[best]
    return values


def _in_two_steps(above):
    """Mask of the pairs of an order that have another one between them."""
    above = above.astype(np.float32)
    return above @ above > 0
