"""Growth of a tree by splits after which linear models fit best."""

import numpy as np

from ngdt._core.structure import number_depth_first
from ngdt._core.threads import one_blas_thread
from ngdt._core.tree import Tree
from ngdt._methods.linear_leaves.ridge import PSEUDO_COUNT, RidgeNode, Sums
from ngdt._methods.model_tree.search import NodeSamples, SplitSearch, fit_sides
from ngdt._methods.model_tree.splits import divide
from ngdt._util.arrays import as_dense
from ngdt._util.stopped import Stopped

# Least number of samples in a leaf: fewer do not support slopes.
MIN_SAMPLES_LEAF = 5
# Largest number of samples of a node by which its split is chosen.
_MAX_SAMPLES = 20_000
# Share of the squared targets below which the squared residuals of a node count as zero.
_TINY = 1e-10
# Penalties of the model of the root: small ones are for many features that go together, as spectra
ROOT_PENALTIES = np.geomspace(1e-5, 1e4, 28)


class _Branch:
    """Node: its samples, its model as a leaf, and its split and children if any.

    `order` has the samples in the order of each feature; it is None before they are sorted.
    """

    def __init__(self, samples, depth, value, slope, order=None):
        self.samples, self.depth, self.value, self.slope = samples, depth, value, slope
        self.order = order
        self.split = self.children = None


def grow(problem, data, penalty, *, looks_ahead=False):
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
    looks_ahead : bool, default=False
        Whether a node gets the split, of the best ones of several features, with the least error
        after the best splits of its children.

    Returns
    -------
    Tree
        All leaf values are 0.

    Raises
    ------
    Stopped
        By Ctrl-C, with the tree so far.
    """
    random = np.random.RandomState(problem.random_state)
    samples = problem.training_samples
    zeros = np.zeros((problem.n_outputs, len(data.features)))
    node = RidgeNode(data, samples)
    (slope,) = node.slopes(zeros, node.best_penalty(ROOT_PENALTIES)[None])
    root = _Branch(samples, 0, node.y - slope @ node.z, slope)
    waiting, n_done = [root], 0
    try:
        # Products of a few columns: several threads of BLAS would mostly wait for each other.
        with one_blas_thread:
            while waiting and problem.control.deadline.fits():
                branch = waiting.pop()
                if _split(branch, problem, data, random, penalty, looks_ahead):
                    waiting += branch.children
                else:
                    n_done += len(branch.samples)
                    problem.control.activity.at(n_done / len(samples))
    except KeyboardInterrupt as error:
        raise Stopped(_tree(root, problem, data)) from error
    return _tree(root, problem, data)


def _tree(root, problem, data):
    """The tree of a root, whose leaf values are 0."""
    nodes, leaves, left, right = number_depth_first(root, lambda branch: branch.children)
    weights = np.zeros((len(nodes), problem.X.shape[1]))
    for row, node in zip(weights, nodes, strict=True):
        row[data.features[node.split[0]]] = 1.0
    return Tree(weights, [node.split[1] for node in nodes], left, right,
                np.zeros((len(leaves), problem.n_outputs)))


def _split(branch, problem, data, random, penalty, looks_ahead):
    """Give a branch its split and children, if it can have any."""
    n, limits = len(branch.samples), problem.limits
    least = max(MIN_SAMPLES_LEAF, limits.min_samples_leaf)
    if branch.depth == limits.max_depth or n < max(2 * least, limits.min_samples_split):
        return False
    samples = branch.samples
    if n > _MAX_SAMPLES:
        samples = random.choice(samples, _MAX_SAMPLES, replace=False)
        least = max(1, least * _MAX_SAMPLES // n)
    node = _samples_of(branch, data, samples)
    if node.error <= _TINY * (node.weight @ (node.y**2).sum(axis=1)):
        return False
    search = SplitSearch(penalty, least, problem.n_jobs)
    has_levels_below = branch.depth + 1 != limits.max_depth
    split = search.look_ahead(node, random) if looks_ahead and has_levels_below else (
        search.best(node))
    if split is None:
        return False
    feature, n_left = split
    order = node.order[feature]
    below, above = node.columns[feature, order[n_left - 1:n_left + 1]]
    middle = 0.5 * below + 0.5 * above
    branch.split = feature, middle if middle < above else below
    models = _models(branch, node, order[n_left:], penalty)
    if samples is branch.samples:
        is_right = node.is_right(feature, n_left)
        orders = divide(node.order, is_right)
    else:
        column = as_dense(problem.X[:, [data.features[feature]]])
        is_right, orders = column[branch.samples, 0] > branch.split[1], (None, None)
    branch.children = [
        _Branch(branch.samples[side], branch.depth + 1, value, slope, order)
        for side, (value, slope), order in zip(
            (~is_right, is_right), models, orders, strict=True)]
    branch.order = None
    return True


def _samples_of(branch, data, samples):
    """Samples of a branch by which its split is chosen."""
    X, y, weight = data.read_raw(samples), data.y[samples], data.weight[samples]
    Z = data.scaled(X)
    columns = np.ascontiguousarray(X.T, dtype=np.float64)
    order = branch.order
    if order is None:
        order = np.argsort(columns, axis=1, kind="stable").astype(np.int32)
    return NodeSamples(
        Z, y, y - branch.value - Z @ branch.slope.T, weight, branch.slope, columns, order)


def _models(branch, node, right, penalty):
    """Values and slopes of the two children, for the samples on the right and all others."""
    Z, y, weight = node.Z, node.y, node.weight
    right = Sums.of(Z[right], y[right], weight[right])
    sides = [Sums.of(Z, y, weight) - right, right]
    values, slopes = fit_sides(sides, branch.slope, penalty)
    # Mean predictions are drawn to those of the branch, as by `RidgeNode.fit`.
    for value, side in zip(values, sides, strict=True):
        z, y = side.means()
        share = PSEUDO_COUNT / (side.weight + PSEUDO_COUNT)
        value += share * (branch.value + branch.slope @ z - y)
    return zip(values, slopes, strict=True)
