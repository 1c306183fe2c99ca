"""Brute force in numpy: each definition as it reads, the reference for the kernels.

A *code* holds one decision per internal node, -1 for left and +1 for right. Scores and losses come
as tables, one row per sample: `scores` has a column per node, `table` a column per leaf. Decisions
are always taken from `signs`, so that a finite difference can hold them fixed.
"""

import itertools

import numpy as np
from scipy.special import xlogy

# --- losses -------------------------------------------------------------------------------------


def log_loss(theta, y):
    """Norouzi (2015), eq. (2)."""
    top = theta.max()
    return np.log(np.exp(theta - top).sum()) + top - theta[int(y[0])]


def bounded_loss(theta, y, q=0.5):
    return (1 - np.exp(-q * log_loss(theta, y))) / q


def squared_loss(theta, y):
    """Norouzi (2015), eq. (3)."""
    return ((theta - y) ** 2).sum()


def huber_loss(theta, y, limit=2.0):
    error = np.abs(theta - y)
    return np.where(error <= limit, error**2, limit * (2 * error - limit)).sum()


def absolute_loss(theta, y):
    return np.abs(theta - y).sum()


def quantile_loss(theta, y, quantile=0.5):
    return np.where(y > theta, quantile * (y - theta), (1 - quantile) * (theta - y)).sum()


def poisson_loss(theta, y):
    """Half the deviance of the mean exp(theta)."""
    return (np.exp(theta) - y * theta - y + xlogy(y, y)).sum()


LOSSES = {
    "log_loss": log_loss,
    "bounded": bounded_loss,
    "squared_error": squared_loss,
    "absolute_error": absolute_loss,
    "quantile": quantile_loss,
    "huber": huber_loss,
    "poisson": poisson_loss,
}


def loss_table(name, values, y):
    """Loss of every leaf for every encoded target: (n, m + 1)."""
    return np.array([[LOSSES[name](theta, target) for theta in values] for target in y]).reshape(
        len(y), len(values)
    )


# --- navigation ---------------------------------------------------------------------------------


def dense(X):
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def scores(tree, X):
    return dense(X) @ tree.weights.T - tree.thresholds


def decisions(scores):
    """sgn(Wx) with the convention that a score of zero goes left."""
    return np.where(scores > 0, 1, -1)


def path(tree, code):
    """Nodes that a sample with these decisions visits, and the leaf f(code) it reaches."""
    visited = []
    child = 0 if tree.n_internal else ~0
    while child >= 0:
        visited.append(child)
        children = tree.children_right if code[child] > 0 else tree.children_left
        child = children[child]
    return visited, ~child


def leaves(tree, codes):
    return np.array([path(tree, code)[1] for code in codes], dtype=int)


def directions(tree):
    """The decision of each node (column) on the path to each leaf (row), 0 off the path."""
    out = np.zeros((tree.n_leaves, tree.n_internal), dtype=int)

    def descend(child, taken):
        if child < 0:
            for node, direction in taken:
                out[~child, node] = direction
        else:
            descend(tree.children_left[child], [*taken, (child, -1)])
            descend(tree.children_right[child], [*taken, (child, +1)])

    descend(0 if tree.n_internal else ~0, [])
    return out


# --- bounds -------------------------------------------------------------------------------------


def codes(kind, signs):
    """The codes that a bound is a maximum over: all of them, or the Hamming ball of radius 1."""
    m = len(signs)
    if kind == "full":
        return np.array(list(itertools.product([-1, 1], repeat=m)), dtype=int).reshape(2**m, m)
    return np.vstack([signs, signs * (1 - 2 * np.eye(m, dtype=int))])


def balls(tree, signs, kind):
    """For each sample, the codes that a bound is a maximum over, and the leaves that they reach."""
    if kind == "full" and len(signs):
        cube = codes(kind, signs[0])        # the same for all samples
        return [(cube, leaves(tree, cube))] * len(signs)
    return [(ball, leaves(tree, ball)) for ball in (codes(kind, h) for h in signs)]


def upper_bound(tree, scores, table, kind, signs=None):
    """Norouzi (2015), eqs. (7) and (13): max over g of l(f(g)) + g.s, minus h.s."""
    signs = _signs(scores, signs)
    return largest(balls(tree, signs, kind), scores, table, signs)


def largest(balls, scores, table, signs):
    """The maximum of `upper_bound` over balls that are known."""
    return np.array([
        (loss[reached] + (ball - h) @ s).max()
        for (ball, reached), s, loss, h in zip(balls, scores, table, signs, strict=True)])


def cheapest(tree, scores, table):
    """min over g of l(f(g)) - g.s, plus h.s."""
    signs = decisions(scores)
    return np.array([
        (loss[reached] - (cube - h) @ s).min()
        for (cube, reached), s, loss, h in zip(
            balls(tree, signs, "full"), scores, table, signs, strict=True)])


def prices(tree, scores, signs=None):
    """Price of getting to every leaf, 2|s| for every flip on the path: (n, m + 1)."""
    signs = _signs(scores, signs)
    flipped = directions(tree)[None] * signs[:, None] < 0
    return 2 * (flipped * (signs * scores)[:, None]).sum(axis=2)


def subtree(tree, scores, node):
    """Leaves below a node, and the price of getting to the node: (n,)."""
    paths = directions(tree)
    below = np.flatnonzero(paths[:, node])
    shared = (paths[below] == paths[below[0]]).all(axis=0)
    way = np.where(shared, paths[below[0]], 0)
    return below, 2 * (np.abs(scores) * (way * decisions(scores) < 0)).sum(axis=1)


def price(tree, scores, assignment, signs=None):
    """Term of eq. (14) in a bound: the price of the path to the assigned leaf."""
    return prices(tree, scores, signs)[np.arange(len(scores)), assignment]


def reachable(tree, signs, kind):
    """Leaves that a bound is a maximum over, for one sample."""
    if kind == "full":
        return np.arange(tree.n_leaves)
    return np.unique(leaves(tree, codes("fast", signs)))


def _signs(scores, signs):
    return decisions(scores) if signs is None else signs


# --- calculus -----------------------------------------------------------------------------------


def central_difference(function, array, step):
    """Derivatives of a scalar function in each entry of an array."""
    out = np.empty(array.shape)
    for index in np.ndindex(array.shape):
        difference = np.zeros(array.shape)
        difference[index] = step
        out[index] = (function(array + difference) - function(array - difference)) / (2 * step)
    return out
