"""Axis-aligned trees by greedy information gain."""

from dataclasses import replace
from functools import partial
from time import monotonic
from typing import ClassVar

import numpy as np

from ngdt._core.greedy.builder import SplitStopped, build
from ngdt._core.greedy.splitter import Split
from ngdt._methods.initializer import Initializer
from ngdt._training.wide_data import space_of
from ngdt._util.stopped import finished

# With a deadline: number of samples of a first tree, by which the time is measured; seconds that it
# always has; the increase of the time per sample up to all samples; and the share of the time
# for growing. To prune and describe a deep tree takes almost as long, since it has so many nodes.
_PILOT_SAMPLES, _PILOT_SECONDS, _MORE_PER_SAMPLE, _GROWING_TIME = 2000, 0.05, 1.5, 0.6


class InfoGain(Initializer):
    """Greedy axis-aligned tree that takes the split with the largest information gain.

    The search is exact: it covers every feature, and every threshold halfway between neighbouring
    values. Only of :ref:`wide data <wide>`, it covers the 4096 features that alone explain most of
    the variance of the targets. Nothing is random. Of equally good splits, the one with the lowest
    feature and then the lowest threshold is taken. Splits reduce the entropy of classes, in bits,
    or the variance of regression targets.

    See Also
    --------
    ngdt.initializers.CO2 : Oblique splits, initialised with these.

    Notes
    -----
    The problem limits depth and size by `max_depth`, `min_samples_split`, `min_samples_leaf`,
    `max_leaf_nodes` and `min_impurity_decrease` of the estimator. An impure node is split whenever
    a threshold exists, even if the gain is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import Problem
    >>> from ngdt.initializers import InfoGain
    >>> from ngdt.losses import LogLoss
    >>> X, y = load_iris(return_X_y=True)
    >>> loss = LogLoss()
    >>> problem = Problem(
    ...     X, loss.encode(y, 3), loss, n_outputs=3, sample_weight=np.ones(len(X)))
    >>> InfoGain().initialize(problem.limited(max_depth=3, min_samples_leaf=5))
    Tree(n_internal=4, n_leaves=5, n_features=4, n_outputs=3, max_depth=3)
    """

    name = "info_gain"
    noun = "greedy tree"

    # Whether wide data are screened. Features that are useless alone may help oblique splits.
    _screens: ClassVar[bool] = True

    def _initialize(self, problem):
        screened = space_of(problem, "screen") if self._screens else None
        if screened is not None:
            return finished(lambda: self._grow(screened.of(problem)), screened.raw)
        return self._grow(problem)

    def _grow(self, problem):
        return finished(lambda: self._structure(problem), lambda grown: grown.to_tree(problem))

    def _structure(self, problem):
        """The grown tree without leaf values, for which there is time."""
        problem = problem.with_time(_GROWING_TIME)
        deadline, samples = problem.control.deadline, problem.training_samples
        grow = self._builder(problem)
        if not deadline.is_set:
            return grow(samples, problem)
        # A tree of a few samples is always grown; its time tells how many samples are possible.
        order = np.random.default_rng(problem.random_state).permutation(samples)
        pilot, begin = np.sort(order[:_PILOT_SAMPLES]), monotonic()
        grown = grow(pilot.copy(), problem.replace(
            control=replace(problem.control, deadline=deadline.not_before(_PILOT_SECONDS))))
        expected = _MORE_PER_SAMPLE * (monotonic() - begin) * len(samples) / len(pilot)
        if len(pilot) < len(samples):
            n = len(samples) if deadline.fits(expected) else (
                int(len(samples) * deadline.left / expected))
            if n > len(pilot):
                grown = grow(np.sort(order[:n]), problem)
        return grown

    def _builder(self, problem):
        """Make a function that grows a tree on some samples, within the limits of a problem."""
        return partial(build, self._strategy(problem))

    def _strategy(self, problem):
        """Make the split strategy; subclasses refine the split that the splitter finds."""
        return problem.splitter


class RefinedSplitter:
    """Base class of split strategies that refine the split that a splitter finds.

    A subclass has a method `_refined` for this, which yields better and better splits, or another
    `split`.
    """

    def __init__(self, problem):
        self.splitter, self.weight = problem.splitter, problem.sample_weight
        self.data, self.partition = problem.data, problem.splitter.partition

    def split(self, samples, min_samples_leaf):
        """The axis-aligned split of a node, or a better one; None for a leaf."""
        best = self.splitter.split(samples, min_samples_leaf)
        if best is None:
            return None
        try:
            for better in self._refined(samples, best, min_samples_leaf):
                best = better
        except KeyboardInterrupt as error:
            raise SplitStopped(best) from error
        return best

    def cut(self, samples, weights, min_samples_leaf):
        """The best split with these weights, or None."""
        found = self.splitter.best_threshold(
            samples, self.data.project(samples, weights), min_samples_leaf)
        return found and Split(weights, *found)

    def cut_at(self, samples, weights, threshold, min_samples_leaf):
        """The split by a plane, or None if a side has too few samples."""
        right = self.data.project(samples, weights) - threshold > 0
        found = self.splitter.best_threshold(
            samples, right.astype(np.float64), min_samples_leaf)
        return found and Split(weights, threshold, found[1])
