"""OC1: greedy trees with oblique splits, each by coordinate descent on its impurity."""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from ngdt._core.scaling import Scaling
from ngdt._methods.greedy.info_gain import InfoGain, RefinedSplitter
from ngdt._methods.oc1.descent import Descent
from ngdt._methods.random.oblique import ROUNDING
from ngdt._methods.random.random_oblique import unit_vectors
from ngdt._util.validation import COUNT_OR_ZERO

# Number of samples, counted once for each coefficient, after which a descent looks at the clock and
# notices Ctrl-C: some tenths of a second.
_PART = 2**21


@dataclass(eq=False, repr=False)
class OC1(InfoGain):
    """Greedy tree with oblique splits, found by coordinate descent on the impurity.

    The descent in a node starts from the best axis-aligned split and then from each of
    `n_restarts` random hyperplanes. It sets one weight after the other to its best value, by an
    exact scan of all values at which a sample changes sides. A step that does not raise the gain is
    taken with a probability that falls each time. When no weight raises the gain any more, random
    directions are tried, each with its best step. The best hyperplane is kept if its gain is larger
    than the gain of the axis-aligned split.

    Parameters
    ----------
    n_restarts : int, default=5
        Number of random hyperplanes from which the descent starts, after the axis-aligned split.
    n_jumps : int, default=5
        Largest number of random directions that are tried in a local optimum, until one raises the
        gain.

    See Also
    --------
    CO2 : Oblique splits by descent on a bound.
    RandomOblique : Random hyperplanes without descent.

    Notes
    -----
    Deviation: of the paper's measures of impurity, the entropy is used (for regression, the
    variance), as in all initializers. Features are scaled, and centred unless they are sparse. A
    change of one weight then turns the plane about the centre of the data. Weights are changed in
    random order. The threshold is changed like a weight. At the end it is set to the best one for
    the projected samples. Steps of the descent may leave fewer than `min_samples_leaf` samples on a
    side; the last threshold does not.

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

    name = "oc1"
    noun = "greedy oblique tree"
    _screens = False

    _parameter_constraints: ClassVar[dict] = {
        "n_restarts": [COUNT_OR_ZERO],
        "n_jumps": [COUNT_OR_ZERO],
    }

    n_restarts: int = 5
    _: KW_ONLY
    n_jumps: int = 5

    def _strategy(self, problem):
        return OC1Splitter(problem, self.n_restarts, self.n_jumps)


class OC1Splitter(RefinedSplitter):
    """Split strategy for the builder: descent from axis-aligned and from random splits."""

    def __init__(self, problem, n_restarts, n_jumps):
        super().__init__(problem)
        self.n_restarts, self.n_jumps = n_restarts, n_jumps
        self.n_features = problem.X.shape[1]
        # A step along a constant feature would be one of the threshold.
        self.moved = np.append(problem.varying, self.n_features).astype(np.int32)
        self.scaling = _coarse(problem.scaling)
        self.descent = Descent(self.splitter, self.scaling.center, self.scaling.scale)
        self.random = np.random.default_rng(problem.random_state)
        self.deadline = problem.control.deadline

    def _refined(self, samples, best, min_samples_leaf):
        initial = best._replace(direction=np.eye(1, self.n_features, best.direction)[0])
        for restart in range(self.n_restarts + 1):
            if not self.deadline.fits():
                return
            if restart:
                initial = self.cut(
                    samples, self._random_hyperplane(self.moved[:-1])[0], min_samples_leaf)
            found = initial and self._descend(samples, initial, min_samples_leaf)
            if found and found.gain > best.gain * (1 + ROUNDING):
                best = found
                yield best

    def _random_hyperplane(self, coefficients):
        """A random unit vector in scaled space, of some weights and perhaps the threshold.

        Returns
        -------
        weights, threshold
            In raw space.
        scaled : ndarray of shape (n_features + 1,)
            Weights and threshold in scaled space.
        """
        scaled = np.zeros(self.n_features + 1)
        scaled[coefficients] = unit_vectors(self.random, len(coefficients))
        return *self.scaling.to_raw(scaled[:-1], scaled[-1]), scaled

    def _descend(self, samples, initial, min_samples_leaf):
        """Descend until no step raises the gain; return the split with its best threshold."""
        scaled = np.append(*self.scaling.to_scaled(initial.direction, initial.threshold))
        score = self.data.project(samples, initial.direction) - initial.threshold
        self.descent.start(samples, scaled, score, initial.gain)
        has_gained, step = True, max(1, _PART // len(samples))
        while has_gained and self.deadline.fits():
            coefficients = self.random.permutation(self.moved)
            chance = self.random.random(len(coefficients))
            has_gained = any([
                self.descent.descend(coefficients[k:k + step], chance[k:k + step])
                for k in range(0, len(coefficients), step) if self.deadline.fits()
            ]) or any(self._jump(samples) for _ in range(self.n_jumps))
        return self.cut(
            samples, self.descent.weights[:-1] / self.scaling.scale, min_samples_leaf)

    def _jump(self, samples):
        weights, threshold, scaled = self._random_hyperplane(self.moved)
        return self.descent.jump(scaled, self.data.project(samples, weights) - threshold)


def _coarse(scaling):
    """Round the scales of a scaling to powers of two, and its centres to a grid.

    The last digits of the moments depend on the order of the samples, and on weights in place of
    repeated samples. The splits must not depend on these.
    """
    scale = 2.0 ** np.round(np.log2(scaling.scale))
    return Scaling(np.round(scaling.center / scale * 16) * scale / 16, scale)
