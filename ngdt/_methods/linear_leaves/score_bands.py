"""Bands of the score of a linear model."""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ngdt._core.quantiles import TIE
from ngdt._core.structure import number_depth_first
from ngdt._core.tree import Tree
from ngdt._methods.greedy.single_leaf import SingleLeaf
from ngdt._methods.initializer import Initializer
from ngdt._methods.linear_leaves.linear_leaves import LinearLeaves
from ngdt._methods.linear_leaves.models import node_type
from ngdt._methods.linear_leaves.ridge import LocationNode
from ngdt._util.validation import COUNT
from ngdt.pruning._equal import collapse_pure
from ngdt.pruning._impurity import LeafTargets

# Least number of samples for each band, in the mean.
_SAMPLES_PER_BAND = 10


@dataclass(eq=False, repr=False)
class ScoreBands(Initializer):
    """A linear model cut into bands of its score: all splits of the tree share its weights.

    The score is that of the logistic regression, or ridge regression, that `LinearLeaves` fits
    without splits. The splits cut it into bands, each of which is a leaf with the shares of classes
    or the mean of its samples. For two classes, one split is where they are equally likely. With
    the probabilities of a few bands, the tree is nearly as accurate as the model, and a person can
    apply it: one weighted sum, and a table.

    Parameters
    ----------
    n_bands : int, default=8
        Largest number of bands. There are also no more than the estimator's `max_leaf_nodes`, or
        `max_depth`, allows, and than one for ten samples, but at least two.
    features : {"auto", "all", "lasso"} or array-like of int, default="auto"
        Features with a weight, as for `LinearLeaves`.

    Notes
    -----
    With `monotonic_cst`, features whose weights are against their directions get none, and the
    model is fitted again. The bands hold equal shares of the weight of the samples, where each
    class has the same weight in all: of a rare class, most samples would share one band. Adjacent
    bands of one class become one where the tree has them under one split. More bands than 8 were
    not more accurate on 17 tables of two classes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ngdt import ObliqueTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = ObliqueTreeClassifier(init="score_bands", optimizer=None, random_state=0).fit(X, y)
    >>> tree.get_n_leaves(), tree.score(X, y) > 0.97
    (6, True)
    """

    name = "score_bands"
    noun = "score bands"
    is_stochastic = True    # as the choice of the penalty is

    _parameter_constraints: ClassVar[dict] = {
        "n_bands": [COUNT],
        "features": LinearLeaves._parameter_constraints["features"],
    }

    n_bands: int = 8
    _: KW_ONLY
    features: ArrayLike = "auto"

    def check(self, problem):
        super().check(problem)
        most, what = (2, "two classes") if problem.loss.is_classifier else (1, "one target")
        if node_type(problem.loss) in (None, LocationNode) or problem.n_outputs > most:
            raise ValueError(
                f"score bands are for {what} and the "
                f"{'log' if problem.loss.is_classifier else 'squared'} loss, got "
                f"{problem.n_outputs} and loss={problem.loss}: choose another init")
        LinearLeaves(features=self.features).check(problem)

    def _initialize(self, problem):
        single = SingleLeaf().initialize(problem)
        weights, zero = self._score(single, problem)
        if weights is None:
            return single
        score = problem.data.project(problem.training_samples, weights)
        cuts = _cuts(score, self._shares(problem), self._limit(problem), zero)
        nodes, _, left, right = number_depth_first((0, len(cuts)), _halves)
        thresholds = cuts[[sum(node) // 2 for node in nodes]]
        samples = problem.training_samples
        tree = Tree(np.tile(weights, (len(cuts), 1)), thresholds, left, right,
                    np.zeros((len(cuts) + 1, problem.n_outputs)))
        leaf = problem.apply(tree, samples)
        return collapse_pure(
            problem.refit_leaves(tree, leaf), LeafTargets.of(problem, leaf, samples))

    def _score(self, single, problem):
        """Weights of the features, None if there are none, and where both classes are equal.

        With directions, features whose weights are against them leave, until no others are.
        """
        linear, free = LinearLeaves(features=self.features), problem.replace(directions=None)
        while True:
            model = linear.fit_leaves(single, free)
            if model.slopes is None:
                return None, None
            # Of two classes: the difference of their logits.
            weights, zero = np.diff(model.slopes[0], axis=0, prepend=0.0)[-1], None
            if problem.loss.is_classifier:
                zero = -np.diff(model.values[0], prepend=0.0)[-1]
            if problem.directions is None or not (weights * problem.directions < 0.0).any():
                return weights, zero
            linear = LinearLeaves(features=np.flatnonzero(
                (weights != 0.0) & (weights * problem.directions >= 0.0)))

    def _limit(self, problem):
        """Number of bands within the limits of a problem."""
        limits = problem.limits
        most = min(self.n_bands, max(2, len(problem.training_samples) // _SAMPLES_PER_BAND),
                   limits.max_leaf_nodes or self.n_bands)
        return min(most, 2**limits.depth(most))

    def _shares(self, problem):
        """Shares of the training samples in all weight, for classes of equal weight."""
        samples = problem.training_samples
        weight = problem.sample_weight[samples]
        if problem.loss.is_classifier:
            label = problem.y[samples, 0].astype(np.intp)
            weight = weight / np.bincount(label, weight)[label]
        return weight / weight.sum()


def _cuts(score, share, n_bands, zero):
    """Ascending cuts that divide the shares of scores evenly, the nearest to `zero` moved there."""
    values, at = np.unique(score, return_inverse=True)
    below = np.cumsum(np.bincount(at, share))
    last = np.searchsorted(below, np.arange(1, n_bands) / n_bands - TIE)
    last = np.unique(last[last < len(values) - 1])
    cuts = values[last] + 0.5 * (values[last + 1] - values[last])
    if zero is not None and len(cuts) and values[0] <= zero < values[-1]:
        # The nearest in rank, so that no band between two cuts loses its samples.
        place, of_zero = (np.searchsorted(values, each, side="right") for each in (cuts, zero))
        cuts[np.abs(place - of_zero).argmin()] = zero
    return cuts


def _halves(bands):
    """The bands below and above the cut in the middle of some; None for one."""
    first, last = bands
    middle = sum(bands) // 2
    return None if first == last else ((first, middle), (middle + 1, last))
