"""Random trees with directions, and brute force for them: grids, linear and quadratic programs."""

from itertools import product

import numpy as np
from scipy.optimize import LinearConstraint, linprog, minimize

from helpers import random_children
from ngdt import Tree
from ngdt.inference import is_monotone


def climbs(tree, cst):
    """Whether samples of the row's leaf climb to the column's leaf; rounding is less than 1e-7."""
    n, p = tree.n_leaves, tree.n_features
    ancestors = tree.ancestors().toarray()
    found = np.zeros((n, n), dtype=bool)
    for low in range(n):
        for high in {*range(n)} - {low}:
            # The sample, how far each feature moves, and the room to the right of the thresholds.
            rows, limits = [], []
            for leaf, moves in ((low, 0), (high, 1)):
                for node in np.flatnonzero(ancestors[leaf]):
                    side, w = ancestors[leaf, node], tree.weights[node]
                    rows.append([*(-side * w), *(-side * w * cst * moves), side > 0])
                    limits.append(-side * tree.thresholds[node])
            solved = linprog(
                [0] * (2 * p) + [-1], np.array(rows, dtype=float), limits,
                bounds=[(None, None)] * p + [(0, None)] * p + [(None, 1)])
            found[low, high] = solved.status == 0 and solved.x[-1] > 1e-7
    return found


def isotonic(values, weight, order):
    """The nearest values of which none exceeds another one that the order has above it."""
    low, high = np.nonzero(order)
    if len(low) == 0:
        return values
    matrix = np.zeros((len(low), len(values)))
    matrix[np.arange(len(low)), low] = -1
    matrix[np.arange(len(low)), high] = 1
    weight = weight / weight.sum()
    return minimize(
        lambda v: weight @ (v - values) ** 2, np.full(len(values), values.mean()),
        jac=lambda v: 2 * weight * (v - values), method="SLSQP",
        constraints=LinearConstraint(matrix, 0, np.inf),
        options={"ftol": 1e-14, "maxiter": 1000}).x


def random_tree(random, n_features=3, n_outputs=1, most=7, single=0.0):
    """A tree with normal weights, of which a share of the nodes uses a single feature."""
    m = int(random.integers(1, most))
    left, right = random_children(random, m)
    weights = random.normal(size=(m, n_features))
    for node in np.flatnonzero(random.random(m) < single):
        weights[node, np.arange(n_features) != random.integers(n_features)] = 0.0
    return Tree(weights, random.normal(size=m), left, right,
                random.normal(size=(m + 1, n_outputs)))


def random_directions(random, n_features):
    """Directions of which at least one is not zero."""
    directions = random.integers(-1, 2, n_features)
    directions[random.integers(n_features)] = random.choice([-1, 1])
    return directions.astype(np.int8)


def output_of(tree, X):
    """Output that is to be monotone: the value, or the log-odds of the second class."""
    values = tree.predict(X)
    return values[:, 0] if tree.n_outputs == 1 else values[:, 1] - values[:, 0]


def violations_of_random_pairs(random, tree, directions, n=10_000):
    """Number of random pairs, near and far, that are out of order."""
    low = random.normal(size=(n, tree.n_features)) * random.choice([0.3, 1.0, 10.0], (n, 1))
    step = random.exponential(size=low.shape) * random.choice([0.01, 1.0, 10.0], (n, 1))
    high = low + directions * step * (random.random(low.shape) < 0.7)
    return (output_of(tree, low) > output_of(tree, high)).sum()


def grid_violations(tree, directions):
    """Number of neighbours on a grid of dyadic numbers that are out of order."""
    axis = np.arange(-12, 12.25, 0.25 if tree.n_features == 1 else 0.5)
    shape = (len(axis),) * tree.n_features
    X = np.array(list(product(axis, repeat=tree.n_features)))
    out = output_of(tree, X).reshape(shape)
    return sum((np.diff(out, axis=j) * direction < 0).sum()
               for j, direction in enumerate(directions))


def assert_agrees_with_grid(tree, directions):
    """Check that a proof has no violation on a grid, or that its pair is one."""
    proved, pair = is_monotone(tree, directions)
    assert proved is not True or grid_violations(tree, directions) == 0
    assert (pair is not None) == (proved is False)
    if pair is not None:
        low, high = pair
        assert ((high - low) * directions >= 0).all()
        assert (low == high)[directions == 0].all()
        first, last = output_of(tree, np.array(pair))
        assert first > last
