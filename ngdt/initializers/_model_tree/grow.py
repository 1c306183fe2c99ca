"""Grow a tree by splits after which linear models fit best."""

import numpy as np
from scipy import sparse

from ngdt._structure import number_depth_first
from ngdt._tree import Tree
from ngdt.optimizers._linear_leaves.ridge import PSEUDO_COUNT, RidgeNode, Sums

# Least number of samples in a leaf: fewer do not support slopes.
MIN_SAMPLES_LEAF = 5
# Number of splits by the residuals, and by the targets, for which linear models are fitted.
_N_SPLITS = 2
# Number of samples of a node by which its split is chosen.
_MAX_SAMPLES = 20_000
# Penalty of the models that splits are compared by, and share of the squares of the targets below
# which what the model of a node leaves is taken for zero.
_PENALTY, _TINY = 30.0, 1e-10
# Penalties of the model of the root.
ROOT_PENALTIES = np.geomspace(0.1, 1e4, 16)


class _Branch:
    """A node: its samples, the model that it has as a leaf, and its split and children if any."""

    def __init__(self, samples, depth, value, slope):
        self.samples, self.depth, self.value, self.slope = samples, depth, value, slope
        self.split = self.children = None


def grow(problem, data, least_error=0.0):
    """Grow a tree with axis-aligned splits for linear leaves.

    A node has the linear model of its samples, drawn to that of the node above. Of the splits that
    reduce the variance of its residuals most, and of those that reduce that of the targets most, it
    gets the one whose two models have the least squared error.

    Parameters
    ----------
    problem : Problem
    data : ScaledSamples
        Features for splits and models.
    least_error : float, default=0.0
        Sum of squared errors of a node's model up to which the node is not split.

    Returns
    -------
    Tree
        All leaf values are 0.
    """
    random = np.random.RandomState(problem.random_state)
    samples = problem.training_samples
    zeros = np.zeros((problem.n_outputs, len(data.features)))
    node = RidgeNode(data, samples)
    (slope,) = node.slopes(zeros, node.best_penalty(ROOT_PENALTIES)[None])
    root = _Branch(samples, 0, node.y - slope @ node.z, slope)
    waiting = [root]
    while waiting and problem.deadline.fits():
        branch = waiting.pop()
        if _split(branch, problem, data, random, least_error):
            waiting += branch.children
    nodes, leaves, left, right = number_depth_first(root, lambda branch: branch.children)
    weights = sparse.csr_array(
        (np.ones(len(nodes)), ([*range(len(nodes))], [data.features[n.split[0]] for n in nodes])),
        shape=(len(nodes), problem.X.shape[1]))
    return Tree(weights, [node.split[1] for node in nodes], left, right,
                np.zeros((len(leaves), problem.n_outputs))).densify()


def _split(branch, problem, data, random, least_error):
    """Give a branch its split and children, if it can have any."""
    n, least = len(branch.samples), max(MIN_SAMPLES_LEAF, problem.min_samples_leaf)
    if branch.depth == problem.max_depth or n < max(2 * least, problem.min_samples_split):
        return False
    samples = branch.samples
    if n > _MAX_SAMPLES:
        samples = random.choice(samples, _MAX_SAMPLES, replace=False)
        least = max(1, least * _MAX_SAMPLES // n)
    Z, y, weight = data.read(samples), data.y[samples], data.weight[samples]
    residual = y - branch.value - Z @ branch.slope.T
    if weight @ (residual**2).sum(axis=1) <= max(
            least_error * len(samples) / n, _TINY * (weight @ (y**2).sum(axis=1))):
        return False
    found = _best_models(branch, Z, y, residual, weight, least)
    if found is None:
        return False
    (feature, limit), models = found
    column = problem.X[:, [data.features[feature]]]
    column = column.toarray() if sparse.issparse(column) else column
    values = column[branch.samples, 0].astype(np.float64)
    threshold = _raw_threshold(values, limit * data.scale[feature] + data.center[feature])
    is_right = values > threshold
    if not 0 < is_right.sum() < n:
        return False
    branch.split = feature, threshold
    branch.children = [
        _Branch(branch.samples[side], branch.depth + 1, value, slope)
        for side, (value, slope) in zip((~is_right, is_right), models, strict=True)]
    return True


def _raw_threshold(values, limit):
    """The middle between the values of both sides, so that rounding moves no sample."""
    below, above = values[values <= limit], values[values > limit]
    if not len(below) or not len(above):
        return limit
    middle = 0.5 * below.max() + 0.5 * above.min()
    return middle if middle < above.min() else below.max()


def _best_models(branch, Z, y, residual, weight, least):
    """The split, in scaled features, after which linear models fit best, and both models."""
    order = np.argsort(Z, axis=0, kind="stable")
    values = np.take_along_axis(Z, order, axis=0)
    splits = _best_splits(values, order, (residual, y), weight, least)
    if not splits:
        return None
    whole, sides = Sums.of(Z, y, weight), []
    for feature, limit in splits:
        is_right = Z[:, feature] > limit
        right = Sums.of(Z[is_right], y[is_right], weight[is_right])
        sides += [whole - right, right]
    errors, values, slopes = _fit(sides, branch.slope)
    best = errors.reshape(-1, 2).sum(axis=1).argmin()
    models = [(_drawn(values[k], sides[k], branch), slopes[k]) for k in (2 * best, 2 * best + 1)]
    return splits[best], models


def _drawn(value, sums, branch):
    """The value of a child whose mean prediction is drawn to the branch, as by `RidgeNode.fit`."""
    predicted = branch.value + branch.slope @ (sums.z / sums.weight)
    share = PSEUDO_COUNT / (sums.weight + PSEUDO_COUNT)
    return value + share * (predicted - sums.y / sums.weight)


def _best_splits(values, order, targets, weight, least):
    """Splits of the features that reduce the variance of some targets most, one per feature.

    Parameters
    ----------
    values : ndarray of shape (n, p)
        Values of each feature, ascending.
    order : ndarray of int, shape (n, p)
        The samples in that order.
    targets : sequence of ndarray of shape (n, n_outputs)
        Each gets its own splits.
    weight : ndarray of shape (n,)
    least : int
        Number of samples on each side.

    Returns
    -------
    list of (feature, limit)
        Without repetition.
    """
    n, p = values.shape
    inside, every = slice(least - 1, n - least), np.arange(p)
    below, above = values[inside], values[least:n - least + 1]
    is_equal = ~(below < above)
    left_weight = np.cumsum(weight[order], axis=0)[inside]
    right_weight = weight.sum() - left_weight
    factor = 1.0 / left_weight + 1.0 / np.maximum(right_weight, np.finfo(float).tiny)
    found = {}
    for each in targets:
        deviation = weight[:, None] * (each - weight @ each / weight.sum())
        gain = sum(np.cumsum(column[order], axis=0)[inside] ** 2 for column in deviation.T) * factor
        gain[is_equal] = 0.0
        position = gain.argmax(axis=0)
        gain, left, right = (array[position, every] for array in (gain, below, above))
        middle = 0.5 * left + 0.5 * right
        limit = np.where(middle < right, middle, left)
        found |= {(int(j), float(limit[j])): None
                  for j in np.argsort(-gain, kind="stable")[:_N_SPLITS] if gain[j] > 0.0}
    return list(found)


def _fit(nodes, prior):
    """Penalised squared error, value and slopes of the model of each of some nodes."""
    z, y, products, zy, yy = Sums.of_nodes(nodes).centered()
    left = zy - products @ prior.T
    step = np.linalg.solve(products + _PENALTY * np.eye(len(prior.T)), left)
    slopes = prior + step.transpose(0, 2, 1)
    errors = yy - (prior.T * (zy + left)).sum(axis=(1, 2)) - (step * left).sum(axis=(1, 2))
    return errors, y - (slopes @ z[..., None])[..., 0], slopes
