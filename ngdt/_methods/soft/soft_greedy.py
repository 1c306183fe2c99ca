"""Greedy trees of Hehn, Kooij & Hamprecht (2020): each split is a stump with soft routing."""

from dataclasses import dataclass
from typing import ClassVar
from zlib import crc32

import numpy as np

from ngdt._core.greedy.builder import build
from ngdt._core.threads import one_blas_thread
from ngdt._core.tree import Tree
from ngdt._methods.greedy.info_gain import RefinedSplitter
from ngdt._methods.initializer import Initializer
from ngdt._methods.soft.end_to_end import EndToEnd
from ngdt._methods.soft.run import SoftOptimizer, check_image_shape, unit_weight
from ngdt._util.stopped import finished
from ngdt._util.validation import COUNT, DRAWN_FEATURES, number_of_features

# Samples from which a stump is trained by several threads: with fewer, mini-batches are too small.
_MIN_THREADED_SAMPLES = 8000


@dataclass(eq=False, repr=False, kw_only=True)
class SoftGreedy(Initializer):
    """Greedy tree with oblique splits, each trained as a stump with soft routing.

    Section 2.5 of the paper. For each node that is not pure, a stump is trained by
    expectation-maximisation on the samples that reach the node by hard routing. Its initial
    direction is drawn from the unit sphere in scaled feature space, and its plane contains the mean
    of these samples. Its two leaves are equal at first. In the limit of hard routing, training
    maximises the information gain of the split (eq. 19). If a stump sends all samples to one side,
    another direction is tried, up to `n_attempts` in all. If all fail, the node becomes a leaf.

    Parameters
    ----------
    stump : EndToEnd, Annealed or None, default=None
        Optimizer that trains a stump. None is ``EndToEnd()``.
    n_attempts : int, default=5
        Largest number of stumps that are tried per node.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of features per split, drawn anew for each. A float is a share of all features,
        rounded down, and a name a function of their number. All other weights are exactly zero, and
        ``EndToEnd(keep_zeros=True)`` keeps them so. The trees of the paper's forests differ in
        these draws (section 2.7). None uses all features.
    patch : tuple of two ints or None, default=None
        Height and width, in pixels, of the rectangle of pixels that each split uses instead. Its
        position is drawn anew for each split.
    image_shape : tuple of two or three ints, or None, default=None
        Rows, columns and, if there are several, channels of the images of which the features are
        the pixels.

    See Also
    --------
    ngdt.optimizers.EndToEnd : Trains all splits together; the next step of the paper.

    Notes
    -----
    The draws of a node depend on the seed and on the samples that reach it, not on the order in
    which nodes are split. The scaling of the features is computed once, from all training samples.

    References
    ----------
    Hehn, Kooij & Hamprecht (2020), End-to-End Learning of Decision Trees and Forests, IJCV 128.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import ObliqueTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ObliqueTreeClassifier(
    ...     max_depth=3, init="soft_greedy", optimizer=None, random_state=0)
    >>> tree.fit(X, y).score(X, y) > 0.95
    True
    """

    name = "soft_greedy"
    noun = "greedy oblique tree"
    is_stochastic = True    # the stumps are trained on random mini-batches

    _parameter_constraints: ClassVar[dict] = {
        "stump": [SoftOptimizer, None],
        "n_attempts": [COUNT],
        "max_features": DRAWN_FEATURES,
        "patch": [tuple, None],
        "image_shape": [tuple, None],
    }

    stump: SoftOptimizer | None = None
    n_attempts: int = 5
    max_features: int | float | str | None = None
    patch: tuple | None = None
    image_shape: tuple | None = None

    def check(self, problem):
        super().check(problem)
        self._stump().check(problem)
        self._feature_draw(problem.X.shape[1])

    def _stump(self):
        return EndToEnd() if self.stump is None else self.stump

    def _initialize(self, problem):
        strategy = SoftStumpSplitter(
            self._stump(), problem, self.n_attempts, self._feature_draw(problem.X.shape[1]))
        with one_blas_thread:
            return finished(lambda: build(strategy, problem.training_samples, problem),
                            lambda grown: grown.to_tree(problem))

    def _feature_draw(self, p):
        """Function that draws the features of a split with a generator; None for all features."""
        if self.patch is not None:
            return self._patch_draw(p)
        n = number_of_features(self.max_features, p)
        return None if n == p else lambda random: random.choice(p, n, replace=False)

    def _patch_draw(self, p):
        check_image_shape(self.image_shape or (), p)
        rows, columns = self.image_shape[:2]
        if self.max_features is not None or len(self.patch) != 2 or not (
                1 <= self.patch[0] <= rows and 1 <= self.patch[1] <= columns):
            raise ValueError(
                f"patch={self.patch} must be a height and a width of at most {rows} x {columns} "
                "pixels, and selects the features of a split: set max_features=None")
        height, width = self.patch
        pixels = np.arange(p).reshape(self.image_shape)

        def draw(random):
            top, left = random.integers([rows - height + 1, columns - width + 1])
            return pixels[top:top + height, left:left + width].ravel()

        return draw


class SoftStumpSplitter(RefinedSplitter):
    """A split strategy for the builder: a stump is trained for every node that is not pure."""

    def __init__(self, optimizer, problem, n_attempts, draw_features):
        super().__init__(problem)
        self.optimizer, self.n_attempts = optimizer, n_attempts
        self.draw_features, self.varying = draw_features, problem.varying
        self.unit_weight, self.scaling = unit_weight(problem), problem.scaling
        # Planes are found on winsorized samples, and cut on raw ones.
        self.problem = problem.winsorized.replace(
            validation_weight=None, control=problem.control.silent())
        # Ranks of the samples among those of positive weight. They seed the nodes, so that samples
        # of weight 0 change nothing.
        self.rank = np.cumsum(problem.sample_weight > 0, dtype=np.int32)

    def split(self, samples, min_samples_leaf):
        # If distinct values of every sample give no valid threshold, no direction does.
        distinct = np.arange(len(samples), dtype=np.float64)
        if self.splitter.best_threshold(samples, distinct, min_samples_leaf) is None:
            return None
        seed = [self.problem.random_state, crc32(self.rank[samples])]
        for attempt in range(self.n_attempts):
            stump = self._train(samples, np.random.default_rng([*seed, attempt]))
            if stump.n_internal:
                split = self.cut_at(
                    samples, stump.weights[0], stump.thresholds[0], min_samples_leaf)
                if split is not None:
                    return split
        return None

    def _train(self, samples, random):
        """A trained stump, or a tree of one leaf if it sends all samples to one side."""
        problem = self.problem.replace(random_state=int(random.integers(2**31)))
        if len(samples) < _MIN_THREADED_SAMPLES:
            problem = problem.replace(n_jobs=1)
        p = problem.X.shape[1]
        used = self.varying if self.draw_features is None else self.draw_features(random)
        direction = np.zeros(p)
        direction[used] = random.normal(size=len(used))
        direction /= np.linalg.norm(direction)
        weights = direction / self.scaling.scale
        # The paper does not specify the initial threshold. A plane through the mean of all training
        # samples mostly has all samples of a deep node on one side, where it learns nothing.
        threshold = np.average(
            problem.data.project(samples, weights), weights=self.weight[samples])
        # Initial leaf values: all classes alike, or the value of the whole node for regression.
        values = np.zeros((1, problem.n_outputs))
        if not problem.loss.is_classifier:
            values = problem.fit_leaves(np.zeros(len(samples), dtype=np.int32), samples, 1)
        stump = Tree([weights], [threshold], [~0], [~1], np.repeat(values, 2, axis=0))
        return self.optimizer._train(
            stump, problem, samples, self.unit_weight, self.draw_features is not None).tree
