"""Growth of a tree by splits after which linear models fit best."""

import numpy as np
from scipy import sparse

from ngdt._core.structure import number_depth_first
from ngdt._core.threads import one_blas_thread
from ngdt._core.tree import Tree
from ngdt._methods.linear_leaves.ridge import PSEUDO_COUNT, RidgeNode, Sums
from ngdt._methods.model_tree.splits import divide, split_errors, variance_gains
from ngdt._util.parallel import map_ranges

# Least number of samples in a leaf: fewer do not support slopes.
MIN_SAMPLES_LEAF = 5
# Number of quantiles of each feature at which a node is split.
_N_CUTS = 60
# Largest number of features whose slopes differ on the two sides while splits are compared, and
# half of the largest number of features to split by. With 81 features of 400 samples, twice as many
# were less accurate.
_MAX_FEATURES = 30
# Largest number of samples of a node by which its split is chosen.
_MAX_SAMPLES = 20_000
# Share of the squared targets below which the squared residuals of a node count as zero.
_TINY = 1e-10
# Penalties of the model of the root.
ROOT_PENALTIES = np.geomspace(0.1, 1e4, 16)
# Number of multiplications from which it pays to start a thread.
_MIN_WORK = 10_000_000


class _Branch:
    """Node: its samples, its model as a leaf, and its split and children if any.

    `order` has the samples in the order of each feature; it is None before they are sorted.
    """

    def __init__(self, samples, depth, value, slope, order=None):
        self.samples, self.depth, self.value, self.slope = samples, depth, value, slope
        self.order = order
        self.split = self.children = None


def grow(problem, data, penalty):
    """Grow a tree with axis-aligned splits for linear leaves.

    A node has the linear model of its samples, drawn to the model of the node above. It gets the
    split whose two models, drawn to that of the node, have the least penalised squared error, if
    this is a better model than that of the node by Akaike's information criterion.

    Parameters
    ----------
    problem : Problem
    data : ScaledSamples
        Features for splits and models.
    penalty : float
        Of the squared differences of slopes from those of the node above.

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
    waiting, n_done = [root], 0
    # Products of a few columns: several threads of BLAS would mostly wait for each other.
    with one_blas_thread:
        while waiting and problem.control.deadline.fits():
            branch = waiting.pop()
            if _split(branch, problem, data, random, penalty):
                waiting += branch.children
            else:
                n_done += len(branch.samples)
                problem.control.activity.at(n_done / len(samples))
    nodes, leaves, left, right = number_depth_first(root, lambda branch: branch.children)
    weights = sparse.csr_array(
        (np.ones(len(nodes)), ([*range(len(nodes))], [data.features[n.split[0]] for n in nodes])),
        shape=(len(nodes), problem.X.shape[1]))
    return Tree(weights, [node.split[1] for node in nodes], left, right,
                np.zeros((len(leaves), problem.n_outputs))).densify()


def _split(branch, problem, data, random, penalty):
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
    error = weight @ (residual**2).sum(axis=1)
    if error <= _TINY * (weight @ (y**2).sum(axis=1)):
        return False
    columns = np.ascontiguousarray(X.T, dtype=np.float64)
    order = branch.order
    if order is None:
        order = np.argsort(columns, axis=1, kind="stable").astype(np.int32)
    # A second model has as many parameters as the first, and the split has one.
    n_parameters = min(Z.shape[1], _MAX_FEATURES) + 1 + 1 / y.shape[1]
    limit = error * np.exp(-2.0 * n_parameters / n)
    split, error_of_two = _best_split(
        (Z, y, residual, weight), branch.slope, columns, order, penalty, least, limit,
        problem.n_jobs)
    if not error_of_two < limit:
        return False
    feature, n_left = split
    below, above = columns[feature, order[feature, n_left - 1:n_left + 1]]
    middle = 0.5 * below + 0.5 * above
    branch.split = feature, middle if middle < above else below
    models = _models(branch, order[feature, n_left:], Z, y, weight, penalty)
    if samples is branch.samples:
        is_right = np.zeros(n, bool)
        is_right[order[feature, n_left:]] = True
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


def _best_split(node, slope, columns, order, penalty, least, limit, n_jobs=1):
    """The split after which two linear models of the residuals have the least error.

    Of many features, the models have those with the largest slopes in the node, and splits are by
    those that reduce the variance of the targets, or of the residuals, most: the cost grows by the
    number of features, not by its cube.

    Parameters
    ----------
    node : tuple of ndarray
        Features, targets, residuals and weights of the samples.
    slope : ndarray of shape (n_outputs, p)
    columns : ndarray of shape (p, n)
        Values of each feature.
    order : ndarray of int32, shape (p, n)
        The samples by each feature, ascending.
    penalty : float
    least : int
        Number of samples on each side.
    limit : float
        Error that a split has to be below.
    n_jobs : int, default=1

    Returns
    -------
    split : (feature, n_left)
    error : float
        Infinite without a split below the limit.
    """
    Z, y, residual, weight = node
    features = np.arange(Z.shape[1])
    if not len(features):
        return (0, 0), np.inf
    if len(features) > _MAX_FEATURES:
        largest = np.argsort(-np.abs(slope).sum(axis=0), kind="stable")[:_MAX_FEATURES]
        Z, features = Z[:, np.sort(largest)], _promising(
            columns, order, (residual, y), weight, least)
        columns, order = columns[features], order[features]
    rows = np.concatenate((np.ones((len(y), 1)), Z, residual), axis=1)
    rows = np.ascontiguousarray(np.sqrt(weight)[:, None] * rows)
    parts = map_ranges(
        lambda start, stop: split_errors(
            rows, columns[start:stop], order[start:stop], penalty, y.shape[1], _N_CUTS, least,
            limit),
        len(features), n_jobs, 1 + _MIN_WORK // (rows.size * rows.shape[1]))
    errors, n_left = (np.concatenate(part) for part in zip(*parts, strict=True))
    best = np.unravel_index(errors.argmin(), errors.shape)
    return (int(features[best[0]]), int(n_left[best])), float(errors[best])


def _promising(columns, order, targets, weight, least):
    """Features that reduce the variance of some targets most, as for `_best_split`."""
    total = weight.sum()
    deviations = np.stack(
        [weight[:, None] * (each - weight @ each / total) for each in targets], axis=1)
    gains = variance_gains(columns, order, deviations, weight, total, least)
    return np.unique(np.argsort(-gains, axis=1, kind="stable")[:, :_MAX_FEATURES])


def _models(branch, right, Z, y, weight, penalty):
    """Values and slopes of the two children, for the samples on the right and all others."""
    right = Sums.of(Z[right], y[right], weight[right])
    sides = [Sums.of(Z, y, weight) - right, right]
    values, slopes = _fit(sides, branch.slope, penalty)
    return [(_drawn(value, side, branch), slope)
            for value, side, slope in zip(values, sides, slopes, strict=True)]


def _drawn(value, sums, branch):
    """Value of a child whose mean prediction is drawn to the branch, as by `RidgeNode.fit`."""
    z, y = sums.means()
    share = PSEUDO_COUNT / (sums.weight + PSEUDO_COUNT)
    return value + share * (branch.value + branch.slope @ z - y)


def _fit(nodes, prior, penalty):
    """Value and slopes of the model of each of some nodes."""
    sums = Sums(np.array([each.products for each in nodes]), nodes[0].n_outputs)
    z, y, products, zy, _ = sums.centered()
    step = np.linalg.solve(products + penalty * np.eye(len(prior.T)), zy - products @ prior.T)
    slopes = prior + step.transpose(0, 2, 1)
    return y - (slopes @ z[..., None])[..., 0], slopes
