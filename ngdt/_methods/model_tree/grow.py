"""Growth of a tree by splits after which linear models fit best."""

import numpy as np
from scipy import sparse

from ngdt._core.structure import number_depth_first
from ngdt._core.tree import Tree
from ngdt._methods.linear_leaves.ridge import PSEUDO_COUNT, RidgeNode, Sums
from ngdt._methods.model_tree.splits import best_splits, divide

# Least number of samples in a leaf: fewer do not support slopes.
MIN_SAMPLES_LEAF = 5
# Number of splits by the residuals, and by the targets, for which linear models are fitted.
_N_SPLITS = 2
# Largest number of samples of a node by which its split is chosen.
_MAX_SAMPLES = 20_000
# Penalty of the models that splits are compared by, and share of the squared targets below which
# the squared residuals of the model of a node count as zero.
_PENALTY, _TINY = 30.0, 1e-10
# Penalties of the model of the root.
ROOT_PENALTIES = np.geomspace(0.1, 1e4, 16)


class _Branch:
    """Node: its samples, its model as a leaf, and its split and children if any.

    `order` has the samples in the order of each feature; it is None before they are sorted.
    """

    def __init__(self, samples, depth, value, slope, order=None):
        self.samples, self.depth, self.value, self.slope = samples, depth, value, slope
        self.order = order
        self.split = self.children = None


def grow(problem, data, least_error=0.0):
    """Grow a tree with axis-aligned splits for linear leaves.

    A node has the linear model of its samples, drawn to the model of the node above. Candidates are
    the splits that reduce the variance of its residuals most, and the splits that reduce the
    variance of the targets most. The node gets the one whose two models have the least squared
    error.

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
    while waiting and problem.control.deadline.fits():
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
    X, y, weight = data.read_raw(samples), data.y[samples], data.weight[samples]
    Z = data.scaled(X)
    residual = y - branch.value - Z @ branch.slope.T
    if weight @ (residual**2).sum(axis=1) <= max(
            least_error * len(samples) / n, _TINY * (weight @ (y**2).sum(axis=1))):
        return False
    columns = np.ascontiguousarray(X.T, dtype=np.float64)
    order = branch.order
    if order is None:
        order = np.argsort(columns, axis=1, kind="stable").astype(np.int32)
    splits = _best_splits(columns, order, (residual, y), weight, least)
    if not splits:
        return False
    (feature, n_left), models = _best_models(branch, splits, order, Z, y, weight)
    below, above = columns[feature, order[feature, n_left - 1:n_left + 1]]
    middle = 0.5 * below + 0.5 * above
    branch.split = feature, middle if middle < above else below
    if samples is branch.samples:
        is_right = _right_side(order, feature, n_left)
        orders = divide(order, is_right)
    else:
        column = problem.X[:, [data.features[feature]]]
        column = column.toarray() if sparse.issparse(column) else column
        is_right, orders = column[branch.samples, 0] > branch.split[1], (None, None)
    branch.children = [
        _Branch(branch.samples[side], branch.depth + 1, value, slope, order)
        for side, (value, slope), order in zip(
            (~is_right, is_right), models, orders, strict=True)]
    branch.order = None
    return True


def _right_side(order, feature, n_left):
    """Mask of the samples on the right of a split."""
    is_right = np.zeros(order.shape[1], bool)
    is_right[order[feature, n_left:]] = True
    return is_right


def _best_splits(columns, order, targets, weight, least):
    """Splits of the features that reduce the variance of some targets most, one per feature.

    Parameters
    ----------
    columns : ndarray of shape (p, n)
        Values of each feature.
    order : ndarray of int32, shape (p, n)
        The samples by each feature, ascending.
    targets : sequence of ndarray of shape (n, n_outputs)
        Each gets its own splits.
    weight : ndarray of shape (n,)
    least : int
        Number of samples on each side.

    Returns
    -------
    list of (feature, n_left)
        Without repetition.
    """
    total = weight.sum()
    deviations = np.stack(
        [weight[:, None] * (each - weight @ each / total) for each in targets], axis=1)
    gains, n_left = best_splits(columns, order, deviations, weight, total, least)
    return list(dict.fromkeys(
        (int(j), int(left[j])) for gain, left in zip(gains, n_left, strict=True)
        for j in np.argsort(-gain, kind="stable")[:_N_SPLITS] if gain[j] > 0.0))


def _best_models(branch, splits, order, Z, y, weight):
    """Split after which linear models fit best, and both models."""
    whole, sides = Sums.of(Z, y, weight), []
    for feature, n_left in splits:
        right = order[feature, n_left:]
        right = Sums.of(Z[right], y[right], weight[right])
        sides += [whole - right, right]
    errors, values, slopes = _fit(sides, branch.slope)
    best = errors.reshape(-1, 2).sum(axis=1).argmin()
    models = [(_drawn(values[k], sides[k], branch), slopes[k]) for k in (2 * best, 2 * best + 1)]
    return splits[best], models


def _drawn(value, sums, branch):
    """Value of a child whose mean prediction is drawn to the branch, as by `RidgeNode.fit`."""
    z, y = sums.means()
    share = PSEUDO_COUNT / (sums.weight + PSEUDO_COUNT)
    return value + share * (branch.value + branch.slope @ z - y)


def _fit(nodes, prior):
    """Penalised squared error, value and slopes of the model of each of some nodes."""
    z, y, products, zy, yy = Sums.of_nodes(nodes).centered()
    left = zy - products @ prior.T
    step = np.linalg.solve(products + _PENALTY * np.eye(len(prior.T)), left)
    slopes = prior + step.transpose(0, 2, 1)
    errors = yy - (prior.T * (zy + left)).sum(axis=(1, 2)) - (step * left).sum(axis=(1, 2))
    return errors, y - (slopes @ z[..., None])[..., 0], slopes
