"""Greedy trees with the best of several random oblique splits at every node."""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from ngdt._core.greedy.builder import least_gain
from ngdt._methods.greedy.info_gain import InfoGain
from ngdt._methods.random.oblique import ObliqueBuilder
from ngdt._util.validation import COUNT

# Number of weights of directions that are drawn at once.
_N_VALUES_AT_ONCE = 10_000


@dataclass(eq=False, repr=False)
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
    >>> tree = ObliqueTreeClassifier(
    ...     max_depth=3, init="random_oblique", optimizer=None, random_state=0)
    >>> tree.fit(X, y).score(X, y) > 0.95
    True
    """

    name = "random_oblique"
    noun = "random tree"
    _screens = False

    _parameter_constraints: ClassVar[dict] = {
        "n_candidates": [COUNT],
        "n_nonzero": [COUNT, None],
    }

    n_candidates: int = 100
    _: KW_ONLY
    n_nonzero: int | None = None

    def check(self, problem):
        super().check(problem)
        if self.n_nonzero is not None and self.n_nonzero > problem.X.shape[1]:
            raise ValueError(
                f"n_nonzero={self.n_nonzero} is more than the {problem.X.shape[1]} features of X")

    def _builder(self, problem):
        splitter, scale = problem.splitter, problem.scaling.scale
        varying = problem.varying.astype(np.int32)
        # Products of integers of a few bits would overflow.
        n_nonzero = min(int(self.n_nonzero or problem.X.shape[1]), len(varying))
        directions = random_directions(
            np.random.default_rng(problem.random_state), int(self.n_candidates), len(varying),
            n_nonzero)

        def grow(samples, problem):
            deadline = problem.control.deadline
            builder = ObliqueBuilder(
                splitter, samples, n_nonzero, problem.limits, least_gain(samples, problem))
            for features, vectors in directions:
                features = varying[features]
                weights = vectors / scale[features]
                # With a deadline, the time is checked after each node.
                step = 1 if deadline.is_set else len(features)
                for first in range(0, len(features), step):
                    nodes = slice(first, first + step)
                    if not deadline.fits():
                        builder.stop()
                    elif not builder.grow(features[nodes], weights[nodes]):
                        continue
                    return builder

        return grow


def random_directions(random, n_candidates, n_features, n_nonzero):
    """Yield random directions, for many nodes at a time, without end.

    Parameters
    ----------
    random : numpy Generator
    n_candidates : int
        Number of directions of a node.
    n_features, n_nonzero : int

    Yields
    ------
    features : ndarray of int32, shape (n_nodes, n_candidates, n_nonzero)
    vectors : ndarray of shape (n_nodes, n_candidates, n_nonzero)
        Unit vectors of these features.
    """
    n_nodes = max(1, _N_VALUES_AT_ONCE // (n_candidates * n_nonzero))
    shape = n_nodes, n_candidates, n_nonzero
    while True:
        features = random_subsets(random, n_nodes * n_candidates, n_features, n_nonzero)
        vectors = unit_vectors(random, features.shape)
        yield features.reshape(shape), vectors.reshape(shape)


def unit_vectors(random, shape):
    """Random unit vectors, uniform on the sphere, one per row."""
    vectors = random.normal(size=shape)
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def random_subsets(random, n_subsets, n_features, size):
    """Random sets of features of one size, all equally probable.

    Parameters
    ----------
    random : numpy Generator
    n_subsets, n_features, size : int

    Returns
    -------
    ndarray of int32, shape (n_subsets, size)
        Sets of all features are in the order of the features.
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
