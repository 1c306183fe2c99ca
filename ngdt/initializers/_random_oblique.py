"""Greedy trees with the best of several random oblique splits at every node."""

from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ngdt._greedy.directions import best_direction
from ngdt.initializers._info_gain import InfoGain, RefinedSplitter

# Number of weights of directions that are drawn at once.
N_VALUES_AT_ONCE = 10_000


class RandomOblique(InfoGain):
    """Greedy tree that takes the best of several random hyperplanes at every node.

    Directions are drawn from the unit sphere in scaled feature space, anew for each node. The
    threshold of each is the best one, by an exact scan of the projected samples. This is the
    baseline "random" of Norouzi et al. (2015).

    Parameters
    ----------
    n_candidates : int, default=100
        Number of hyperplanes that are tried at each node.
    n_nonzero : int or None, default=None
        Number of features of a hyperplane, drawn anew for each. All other weights are zero. None
        uses all features.

    See Also
    --------
    OC1 : Improves its hyperplanes by coordinate descent.

    Notes
    -----
    Directions do not depend on the number of samples, and features are scaled by weighted moments.
    A sample of weight k therefore counts as k samples.

    References
    ----------
    Norouzi, Collins, Johnson, Fleet & Kohli (2015), Efficient non-greedy optimization of decision
    trees, NIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import ObliqueTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ObliqueTreeClassifier(max_depth=3, init="random", optimizer=None, random_state=0)
    >>> tree.fit(X, y).score(X, y) > 0.95
    True
    """

    name = "random"

    _parameter_constraints: ClassVar[dict] = {
        "n_candidates": [Interval(Integral, 1, None, closed="left")],
        "n_nonzero": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(self, n_candidates=100, n_nonzero=None):
        self.n_candidates = n_candidates
        self.n_nonzero = n_nonzero

    def check(self, problem):
        super().check(problem)
        if self.n_nonzero is not None and self.n_nonzero > problem.X.shape[1]:
            raise ValueError(
                f"n_nonzero={self.n_nonzero} is more than the {problem.X.shape[1]} features of X")

    def _strategy(self, problem):
        return RandomObliqueSplitter(
            problem, self.n_candidates, self.n_nonzero or problem.X.shape[1])


class RandomObliqueSplitter(RefinedSplitter):
    """A split strategy for the builder: the best of several random directions."""

    def __init__(self, problem, n_candidates, n_nonzero):
        super().__init__(problem)
        self.scale = problem.scaling.scale
        self.directions = random_directions(
            np.random.default_rng(problem.random_state), n_candidates, len(self.scale), n_nonzero)

    def split(self, samples, min_samples_leaf):
        if not self.is_splittable(samples, min_samples_leaf):
            return None
        features, vectors = next(self.directions)
        weights = vectors / self.scale[features]
        best = best_direction(self.splitter, samples, features, weights, min_samples_leaf)
        if best < 0:
            return None
        direction = np.zeros(len(self.scale))
        direction[features[best]] = weights[best]
        # Sums of all products, in the order in which the tree takes them, may have other last bits.
        return self.cut(samples, direction, min_samples_leaf)


def random_directions(random, n_candidates, n_features, n_nonzero):
    """The random directions of one node after the other, without end.

    Parameters
    ----------
    random : numpy Generator
    n_candidates : int
        Number of directions of a node.
    n_features, n_nonzero : int

    Yields
    ------
    features : ndarray of int32, shape (n_candidates, n_nonzero)
    vectors : ndarray of shape (n_candidates, n_nonzero)
        Unit vectors of these features.
    """
    # Drawn for many nodes at once: a call of numpy takes longer than the few numbers of a node.
    n_drawn = n_candidates * max(1, N_VALUES_AT_ONCE // (n_candidates * n_nonzero))
    while True:
        features = random_subsets(random, n_drawn, n_features, n_nonzero)
        vectors = unit_vectors(random, features.shape)
        for first in range(0, n_drawn, n_candidates):
            node = slice(first, first + n_candidates)
            yield features[node], vectors[node]


def unit_vectors(random, shape):
    """Random unit vectors, uniform on the sphere, one per row."""
    vectors = random.normal(size=shape)
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def random_subsets(random, n_subsets, n_features, size):
    """Random sets of features: all sets of this size are equally probable.

    Parameters
    ----------
    random : numpy Generator
    n_subsets, n_features, size : int

    Returns
    -------
    ndarray of int32, shape (n_subsets, size)
        The sets of all features are in their order.
    """
    if size == n_features:
        return np.tile(np.arange(size, dtype=np.int32), (n_subsets, 1))
    # Floyd's algorithm: a feature that a set has already is replaced by the last one.
    subsets = np.empty((n_subsets, size), dtype=np.int32)
    for i, last in enumerate(range(n_features - size, n_features)):
        drawn = random.integers(last + 1, size=n_subsets)
        is_repeated = (subsets[:, :i] == drawn[:, None]).any(axis=1)
        subsets[:, i] = np.where(is_repeated, last, drawn)
    return subsets
