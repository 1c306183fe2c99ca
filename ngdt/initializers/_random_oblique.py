"""Greedy growth with the best of some random oblique splits at every node."""

from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ngdt.initializers._info_gain import InfoGain, RefinedSplitter

# Gains that differ by less are the same, in whatever order the rows were added up.
ROUNDING = 1e-9


class RandomOblique(InfoGain):
    """Greedy tree that takes the most informative of some random hyperplanes at every node.

    Directions are drawn from the unit sphere of scaled feature space, anew for each node; the
    threshold of each is the best of all, by an exact scan of the projected samples. The baseline
    "random" of Norouzi et al. (2015).

    Parameters
    ----------
    n_candidates : int, default=100
        Hyperplanes that are tried at each node.
    n_nonzero : int or None, default=None
        Features of a hyperplane, drawn anew for each; all other weights are zero. None: all.
    criterion, min_samples_split, min_samples_leaf, max_leaf_nodes, min_impurity_decrease
        As for `InfoGain`.

    See Also
    --------
    OC1 : Moves its hyperplanes to where they gain most.

    Notes
    -----
    Directions do not depend on the number of rows, and features are scaled by weighted moments: a
    row of weight k counts as k rows here too.

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

    _parameter_constraints: ClassVar[dict] = {
        **InfoGain._parameter_constraints,
        "n_candidates": [Interval(Integral, 1, None, closed="left")],
        "n_nonzero": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        n_candidates=100,
        n_nonzero=None,
        *,
        criterion=None,
        min_samples_split=2,
        min_samples_leaf=1,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
    ):
        super().__init__(
            criterion,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
        )
        self.n_candidates = n_candidates
        self.n_nonzero = n_nonzero

    def _strategy(self, splitter, problem):
        p = problem.X.shape[1]
        if self.n_nonzero is not None and self.n_nonzero > p:
            raise ValueError(f"n_nonzero={self.n_nonzero} is more than the {p} features of X")
        return RandomObliqueSplitter(splitter, problem, self.n_candidates, self.n_nonzero or p)


class RandomObliqueSplitter(RefinedSplitter):
    """A split strategy for the builder: the best of some random directions."""

    def __init__(self, splitter, problem, n_candidates, n_nonzero):
        super().__init__(splitter, problem)
        self.n_candidates, self.n_nonzero = n_candidates, n_nonzero
        self.scale = problem.scaling.scale
        self.random = np.random.default_rng(problem.random_state)

    def split(self, rows):
        # No numbers could be told apart better than these.
        if self.splitter.best_threshold(rows, np.arange(len(rows), dtype=np.float64)) is None:
            return None
        best = None
        for _ in range(self.n_candidates):
            found = self.cut(rows, self._direction())
            if found is not None and (best is None or found.gain > best.gain * (1 + ROUNDING)):
                best = found
        return best

    def _direction(self):
        """Weights of raw features."""
        return random_direction(self.random, len(self.scale), self.n_nonzero) / self.scale


def random_direction(random, n_features, n_nonzero):
    """A unit vector, uniform on the sphere of so many features.

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
