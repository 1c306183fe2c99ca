"""Wide data, with many more features than samples: training in fewer coordinates.

Methods that combine all features train in the span of the samples (`RowSpan`), where nothing is
lost. Methods that choose features choose among the most informative ones (`Screen`). Either is a
problem in other features, so that algorithms and kernels need not know of it, and a map of trees
there and back.
"""

from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from ngdt._core.scaling import Scaling, is_wide
from ngdt._util.arrays import row_blocks
from ngdt._util.stopped import Stopped

# Largest number of samples that span the coordinates: the basis costs its third power.
_MAX_SPAN_SAMPLES = 2000
# Number of features that a screen leaves. With 1024 of 20 000, TAO was less accurate by 10 points
# where many features count a little.
N_SCREENED = 4096
# Share of the largest squared norm below which a sample adds no direction to the span.
_RANK_TOLERANCE = 1e-10
# Number of values that are scaled at a time, so that X is never copied as a whole.
_BLOCK_VALUES = 2**22


class RowSpan:
    """An orthonormal basis of the span of the training samples, scaled as in training.

    The basis is that of Gram and Schmidt, by a Cholesky decomposition of the products of the
    samples. Weights outside of the span have no influence on training samples.

    Parameters
    ----------
    problem : Problem
        Dense. Validation samples are projected onto the span.

    Attributes
    ----------
    X : ndarray of shape (n_samples, rank)
        Coordinates of all samples, in the type of the data.
    """

    def __init__(self, problem):
        self._X, self._scaling = problem.X, problem.scaling
        samples = problem.training_samples
        products = np.zeros((len(self._X), len(samples)))
        for _, block in self._blocks(slice(None)):
            products += block @ block[samples].T
        order, self._factor = _cholesky(products[samples])
        self._basis = samples[order]        # the samples from which the basis is made
        self.X = self._solve(products[:, order]).astype(self._X.dtype)

    def of(self, problem, scaled=False):
        """The problem in these coordinates, which are scaled by one number or not at all."""
        if not scaled:
            return problem.replace(X=self.X, fill=None, standardize=False)
        found = problem.replace(X=self.X, fill=None, standardize="global")
        # Coordinates have no fences: the first samples have large ones.
        return found.knowing(scaling=Scaling.of_moments(found.moments, self.X, "global"))

    @staticmethod
    def fits(problem):
        """Return whether this is the way to train on a problem."""
        return not sparse.issparse(problem.X) and is_wide(problem.X) and (
            len(problem.training_samples) <= _MAX_SPAN_SAMPLES)

    def _blocks(self, samples):
        """The scaled values of some samples, by blocks of features."""
        scaling = self._scaling
        for block in row_blocks(self._X.T.shape, _BLOCK_VALUES):
            yield block, (self._X[samples, block] - scaling.center[block]) / scaling.scale[block]

    def _solve(self, products):
        """Coordinates from products with the samples of the basis."""
        return solve_triangular(self._factor, products.T, lower=True).T

    def reduced(self, tree):
        """The tree that splits coordinates as the given one splits samples of the span."""
        weights, thresholds = self._scaling.to_scaled(tree.dense_weights(), tree.thresholds)
        products = np.zeros((len(weights), len(self._basis)))
        for block, values in self._blocks(self._basis):
            products += weights[:, block] @ values.T
        return tree.replace(weights=self._solve(products), thresholds=thresholds)

    def raw(self, tree):
        """The tree that splits raw features as the given one splits coordinates."""
        factors = solve_triangular(
            self._factor, tree.dense_weights().T, lower=True, trans="T").T
        weights = np.empty((len(factors), self._X.shape[1]))
        for block, values in self._blocks(self._basis):
            weights[:, block] = factors @ values
        weights, thresholds = self._scaling.to_raw(weights, tree.thresholds)
        return tree.replace(weights=weights, thresholds=thresholds)


def _cholesky(products):
    """Independent samples, and the lower triangular factor of their products."""
    factor, order, rank, _ = dpstrf(
        products, tol=_RANK_TOLERANCE * products.diagonal().max(initial=0.0), lower=1)
    rank = max(1, rank)
    order, factor = order[:rank] - 1, np.tril(factor[:rank, :rank])
    if factor[0, 0] == 0.0:
        factor[0, 0] = 1.0      # all samples are equal
    return order, factor


class Screen:
    """The features that alone explain most of the variance of the targets.

    Of each feature and target, that is the squared correlation, summed over the targets; classes
    count by their indicators. It takes one product of the data with the targets.

    Parameters
    ----------
    problem : Problem

    Attributes
    ----------
    features : ndarray of int, shape (n_used,)
        Ascending.
    """

    def __init__(self, problem):
        best = np.argsort(-_explained(problem), kind="stable")[:N_SCREENED]
        self.features, self._n_features = np.sort(best), problem.X.shape[1]
        self._part = problem.part(problem.sample_weight, self.features)

    @staticmethod
    def fits(problem):
        """Return whether there are more features than a screen leaves, and these are too many."""
        return is_wide(problem.X) and problem.X.shape[1] > N_SCREENED

    def of(self, problem, scaled=True):
        """The problem with these features alone, scaled as before.

        Parameters
        ----------
        problem : Problem
            With the same data, but maybe other limits. All share what is computed.
        """
        return problem.replace(X=self._part.X, fill=self._part.fill)._copy(self._part._computed)

    def reduced(self, tree):
        """The tree for these features alone, or None if it splits by others."""
        weights = sparse.csc_array(tree.weights)
        kept = weights[:, self.features]
        if kept.count_nonzero() < weights.count_nonzero():
            return None
        return tree.replace(weights=kept.toarray())

    def raw(self, tree):
        """The tree for all features, with sparse weights."""
        return for_all_features(tree.sparsify(), self.features, self._n_features)


def for_all_features(tree, features, n_features):
    """A tree of some features as one of all features, with weights of zero for the others.

    Parameters
    ----------
    tree : Tree
    features : ndarray of int, shape (tree.n_features,), or None
        Ascending. None stands for all.
    n_features : int

    Returns
    -------
    Tree
    """
    if features is None:
        return tree
    slopes = None
    if tree.slopes is not None:
        slopes = np.zeros((*tree.values.shape, n_features))
        slopes[..., features] = tree.slopes
    if tree.is_sparse:
        weights = tree.weights
        weights = sparse.csr_array(
            (weights.data, features[weights.indices], weights.indptr),
            shape=(tree.n_internal, n_features))
    else:
        weights = np.zeros((tree.n_internal, n_features))
        weights[:, features] = tree.weights
    return tree.replace(weights=weights, values=tree.values, slopes=slopes, ranges=tree.ranges)


def _explained(problem):
    """Share of the variance of the targets that each feature explains, times a constant."""
    weight, samples = problem.sample_weight, problem.training_samples
    weight = weight[samples] / weight[samples].sum()
    targets = problem.loss.split_targets(problem.y, problem.sample_weight)[samples]
    if problem.loss.is_classifier:
        targets = (targets == np.arange(problem.n_outputs)).astype(np.float64)
    targets = targets - weight @ targets
    variance = weight @ targets**2
    targets = targets / np.sqrt(np.where(variance > 0, variance, 1.0))
    moments, factors = problem.moments, weight[:, None] * targets
    X = problem.X
    # The targets are centred, so that the features need not be.
    scale = np.where(moments.std > 0, moments.std, np.inf)
    if sparse.issparse(X):
        products = X[samples].T @ factors
        return ((products / scale[:, None]) ** 2).sum(axis=1)
    score = np.empty(X.shape[1])
    for block in row_blocks((len(score), len(samples)), _BLOCK_VALUES):
        values = (X[samples, block] - moments.mean[block]) / scale[block]
        score[block] = ((values.T @ factors) ** 2).sum(axis=1)
    return score


_SPACES = {"row_span": RowSpan, "screen": Screen}


def space_of(problem, name):
    """The space of a problem without far values, made once.

    Parameters
    ----------
    problem : Problem
    name : {"row_span", "screen"}

    Returns
    -------
    RowSpan, Screen or None
        None where it does not fit.
    """
    if not _SPACES[name].fits(problem):
        return None
    near = problem.winsorized
    return near._once(name, lambda: _SPACES[name](near))


def optimize_reduced(optimizer, tree, problem):
    """`Optimizer.optimize` in the space of fewer coordinates that suits the optimizer.

    Parameters
    ----------
    optimizer : Optimizer
    tree : Tree
        The tree of an initializer. What a given tree has learned outside of the space would be
        lost.
    problem : Problem

    Returns
    -------
    OptimizerResult
        Its tree splits the features. It is trained on the features themselves if there is no such
        space, or the tree does not fit into it.
    """
    # Directions belong to the features.
    is_reduced = optimizer.space and tree.slopes is None and problem.directions is None
    space = space_of(problem, optimizer.space) if is_reduced else None
    start = None if space is None else space.reduced(tree)
    if start is None:
        return optimizer.optimize(tree, problem)
    try:
        result = optimizer.optimize(start, space.of(problem, optimizer.scales_coordinates))
    except Stopped as stopped:
        raise Stopped(space.raw(stopped.tree), stopped.history) from None
    return replace(result, tree=problem._refit_moved(space.raw(result.tree)))
