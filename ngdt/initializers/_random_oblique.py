"""Greedy trees with the best of several random oblique splits at every node."""

from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ngdt.initializers._info_gain import InfoGain, RefinedSplitter

# Relative difference below which two gains are equal: the order of summation changes the last
# digits.
ROUNDING = 1e-9


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
        self.n_candidates, self.n_nonzero = n_candidates, n_nonzero
        self.scale = problem.scaling.scale
        self.random = np.random.default_rng(problem.random_state)

    def split(self, samples, min_samples_leaf):
        if not self.is_splittable(samples, min_samples_leaf):
            return None
        best = None
        for _ in range(self.n_candidates):
            found = self.cut(samples, self._direction(), min_samples_leaf)
            if found is not None and (best is None or found.gain > best.gain * (1 + ROUNDING)):
                best = found
        return best

    def _direction(self):
        """A random direction, as weights of raw features."""
        return random_direction(self.random, len(self.scale), self.n_nonzero) / self.scale


def random_direction(random, n_features, n_nonzero):
    """A random unit vector, uniform on the sphere of the features that it uses.

    Parameters
    ----------
    random : numpy Generator
    n_features, n_nonzero : int

    Returns
    -------
    ndarray of shape (n_features,)
    """
    direction = np.zeros(n_features)
    used = slice(None) if n_nonzero == n_features else random.choice(
        n_features, n_nonzero, replace=False)
    values = random.normal(size=n_nonzero)
    direction[used] = values / np.linalg.norm(values)
    return direction
