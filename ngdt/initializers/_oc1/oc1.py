"""OC1: greedy growth with oblique splits, each by coordinate descent on its own impurity."""

from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from ngdt._scaling import Scaling
from ngdt.initializers._info_gain import InfoGain, RefinedSplitter
from ngdt.initializers._oc1.descent import Descent
from ngdt.initializers._random_oblique import ROUNDING, random_direction


class OC1(InfoGain):
    """Greedy tree with oblique splits, moved one coefficient at a time to where they gain most.

    Each node starts from the best axis-aligned split and, again and again, from a random
    hyperplane. One coefficient after the other is set to its best value, by an exact scan of all
    values at which a sample changes sides. A step that gains nothing is taken with a probability
    that falls each time. Where no coefficient gains any more, random directions are tried, each
    with its best step. The best hyperplane is kept if it gains more than the axis-aligned split.

    Parameters
    ----------
    n_restarts : int, default=5
        Random hyperplanes that the descent starts from, besides the axis-aligned split.
    n_jumps : int, default=5
        Random directions that are tried where the descent is stuck, until one gains.
    criterion, min_samples_split, min_samples_leaf, max_leaf_nodes, min_impurity_decrease
        As for `InfoGain`.

    See Also
    --------
    CO2 : Oblique splits by descent on a bound.
    RandomOblique : Random hyperplanes that stay where they are.

    Notes
    -----
    Deviation: of the paper's measures of impurity, splits are judged by entropy (for numbers, by
    variance), as those of all growers are. Features are scaled, and centred unless they are sparse,
    so that to change one coefficient turns the plane about the middle of the data. Coefficients
    take turns in random order. The threshold is a coefficient like any other, but is
    set anew at the end, to the best one for the projected samples.

    References
    ----------
    Murthy, Kasif & Salzberg (1994), A System for Induction of Oblique Decision Trees, Journal of
    Artificial Intelligence Research 2, 1-32.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import ObliqueTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ObliqueTreeClassifier(max_depth=2, init="oc1", optimizer=None, random_state=0)
    >>> tree.fit(X, y).score(X, y) > 0.97
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **InfoGain._parameter_constraints,
        "n_restarts": [Interval(Integral, 0, None, closed="left")],
        "n_jumps": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_restarts=5,
        n_jumps=5,
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
        self.n_restarts = n_restarts
        self.n_jumps = n_jumps

    def _strategy(self, splitter, problem):
        return OC1Splitter(splitter, problem, self.n_restarts, self.n_jumps)


class OC1Splitter(RefinedSplitter):
    """A split strategy for the builder: axis-aligned and random splits that move."""

    def __init__(self, splitter, problem, n_restarts, n_jumps):
        super().__init__(splitter, problem)
        self.n_restarts, self.n_jumps = n_restarts, n_jumps
        self.n_features = splitter.n_features
        self.scaling = _coarse(problem.scaling)
        self.descent = Descent(splitter, self.scaling.center, self.scaling.scale)
        self.random = np.random.default_rng(problem.random_state)

    def split(self, rows):
        best = self.splitter.split(rows)
        if best is None:
            return None
        start = best._replace(direction=np.eye(1, self.n_features, best.direction)[0])
        for restart in range(self.n_restarts + 1):
            if restart:
                start = self.cut(rows, self._random_hyperplane(self.n_features)[0])
            found = start and self._descend(rows, start)
            if found and found.gain > best.gain * (1 + ROUNDING):
                best = found
        return best

    def _random_hyperplane(self, n_weights):
        """Unit vector of scaled space, of which a last one may be the threshold; as raw weights and
        threshold, and as it is."""
        unit = random_direction(self.random, n_weights, n_weights)
        scaled = np.append(unit, np.zeros(self.n_features + 1 - n_weights))
        weights, thresholds = self.scaling.to_raw(scaled[None, :-1], scaled[-1:])
        return weights[0], thresholds[0], scaled

    def _descend(self, rows, start):
        """Move until nothing gains; the split that is reached, cut where it gains most."""
        scaled = np.append(start.direction * self.scaling.scale,
                           start.threshold - start.direction @ self.scaling.center)
        score = self.data.project(rows, start.direction) - start.threshold
        self.descent.start(rows, scaled, score, start.gain)
        while True:
            while self._take_turns():
                pass
            if not any(self._jump(rows) for _ in range(self.n_jumps)):
                break
        reached = self.descent.weights
        return self.cut(rows, self.scaling.to_raw(reached[None, :-1], reached[-1:])[0][0])

    def _take_turns(self):
        coefficients = self.random.permutation(self.n_features + 1).astype(np.int32)
        return self.descent.descend(coefficients, self.random.random(len(coefficients)))

    def _jump(self, rows):
        weights, threshold, scaled = self._random_hyperplane(self.n_features + 1)
        return self.descent.jump(scaled, self.data.project(rows, weights) - threshold)


def _coarse(scaling):
    """Scales that are powers of two, and centres on a grid: the last digits of the moments, which
    depend on the order of the rows, and on weights in place of repeated rows, do not matter."""
    scale = 2.0 ** np.round(np.log2(scaling.scale))
    return Scaling(np.round(scaling.center / scale * 16) * scale / 16, scale)
