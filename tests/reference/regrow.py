"""Regrow and ShrinkLeaves as their definitions read, for the comparison of predictions."""

import numpy as np

from ngdt.initializers import InfoGain
from reference import inference as naive


def below(tree, node):
    """Leaves below a node."""
    return np.flatnonzero(naive.directions(tree)[:, node])


def regrow(tree, problem, X):
    """Predictions for the rows X after all replacements, and the nodes replaced."""
    depth, leaf = tree.node_depths(), tree.apply(X)
    limit = max(problem.limits.max_depth or 0, tree.max_depth)
    predictions, replaced = tree.predict(X), []
    rows = np.arange(len(X))
    held = problem.validation_weight > 0
    for node in range(tree.n_internal - 1, -1, -1):
        here = np.isin(leaf, below(tree, node))
        weight = np.where(here, problem.sample_weight, 0.0)
        if not weight.any() or not (here & held).any():
            continue
        fresh = InfoGain().initialize(
            problem.replace(sample_weight=weight).limited(max_depth=limit - depth[node]))
        offered = np.where(here[:, None], fresh.predict(X), predictions)
        saved = problem.validation_weight * (
            problem.prediction_errors(predictions, rows)
            - problem.prediction_errors(offered, rows))
        if saved.sum() > 2 * np.sqrt((saved**2).sum()):
            predictions = offered
            replaced = [old for old in replaced
                        if not set(below(tree, old)) <= set(below(tree, node))] + [node]
    return predictions, replaced


def shrunk_leaves(tree, leaf, y, weight, pseudo_count):
    """Leaf values: means shrunk towards those of the parent, from the root down."""
    values = np.empty((tree.n_leaves, y.shape[1]))

    def descend(child, above):
        leaves = [~child] if child < 0 else below(tree, child)
        here = np.isin(leaf, leaves)
        total, count = weight[here] @ y[here], weight[here].sum()
        if above is None:
            mean = total / count
        elif count + pseudo_count == 0:
            mean = above
        else:
            mean = (total + pseudo_count * above) / (count + pseudo_count)
        if child < 0:
            values[~child] = mean
        else:
            descend(tree.children_left[child], mean)
            descend(tree.children_right[child], mean)

    descend(0 if tree.n_internal else ~0, None)
    return values
