"""Greedy growth of Hehn, Kooij & Hamprecht (2020): each split is a softly routed stump."""

from numbers import Integral, Real
from typing import ClassVar
from zlib import crc32

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from threadpoolctl import threadpool_limits

from ngdt._greedy.builder import build, splitter_for
from ngdt._greedy.splitter import Split
from ngdt._tree import Tree
from ngdt.initializers._base import Initializer
from ngdt.optimizers import EndToEnd
from ngdt.optimizers._soft.run import SoftOptimizer, check_image_shape, unit_weight
from ngdt.problem import Problem

# With fewer rows than this, the mini-batches of a stump are too small to be shared out to threads.
_FEW_ROWS = 8000


class SoftGreedy(Initializer):
    """Greedy tree with oblique splits, each trained as a stump with soft routing.

    Section 2.5 of the paper. A node that is not pure gets a stump: a random direction from the unit
    sphere of scaled feature space, through the mean of the node's samples, and two leaves that do
    not differ yet. It is trained by expectation-maximisation on the samples that hard routing
    brings to the node. In the limit of hard routing, that maximises the information gain of the
    split (eq. 19). A stump that sends all samples to one side is tried again from another
    direction, a bounded number of times; then the node stays a leaf.

    Parameters
    ----------
    stump : EndToEnd, Annealed or None, default=None
        What trains a stump. None is ``EndToEnd()``.
    n_attempts : int, default=5
        Stumps that are tried per node.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Features per split, drawn anew for each: a number, or a share or function of their number.
        All other weights are exactly zero, which ``EndToEnd(keep_zeros=True)`` preserves. That is
        how the trees of the paper's forests differ (section 2.7). None: all features.
    patch : tuple of two ints or None, default=None
        Samples and columns of the rectangle of pixels that each split gets instead, drawn anew from
        all places in the image.
    image_shape : tuple of two or three ints, or None, default=None
        Rows, columns and, if there are several, channels of the images that the features are.
    max_leaf_nodes : int or None, default=None
        Largest number of leaves; the splits with the largest information gain are made first.
    min_samples_split, min_impurity_decrease
        As for `InfoGain`.

    See Also
    --------
    ngdt.optimizers.EndToEnd : Trains all splits together, which the paper does next.

    Notes
    -----
    The draws of a node depend on the seed and on the rows that reach it, not on the order in which
    nodes are split. Features are scaled once, by all rows.

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

    is_stochastic = True    # the stumps are trained on random mini-batches

    _parameter_constraints: ClassVar[dict] = {
        "stump": [SoftOptimizer, None],
        "n_attempts": [Interval(Integral, 1, None, closed="left")],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
            StrOptions({"sqrt", "log2"}),
            None,
        ],
        "patch": [tuple, None],
        "image_shape": [tuple, None],
        "max_leaf_nodes": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_split": [Interval(Real, 0, None, closed="left")],
        "min_impurity_decrease": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        stump=None,
        n_attempts=5,
        max_features=None,
        patch=None,
        image_shape=None,
        max_leaf_nodes=None,
        min_samples_split=2,
        min_impurity_decrease=0.0,
    ):
        self.stump = stump
        self.n_attempts = n_attempts
        self.max_features = max_features
        self.patch = patch
        self.image_shape = image_shape
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_split = min_samples_split
        self.min_impurity_decrease = min_impurity_decrease

    def initialize(self, problem: Problem) -> Tree:
        self.check(problem)
        stump = EndToEnd() if self.stump is None else self.stump
        stump.check(problem)
        strategy = SoftStumpSplitter(
            stump, problem, self.n_attempts, self._feature_draw(problem.X.shape[1]))
        with threadpool_limits(1, user_api="blas"):
            growth = build(
                strategy,
                strategy.splitter.used_samples(),
                max_depth=problem.max_depth,
                min_samples_split=self.min_samples_split,
                max_leaf_nodes=self.max_leaf_nodes,
                min_impurity_decrease=self.min_impurity_decrease,
            )
        return growth.to_tree(problem)

    def _feature_draw(self, p):
        """How the features of a split are drawn with a generator; None if it gets all."""
        if self.patch is not None:
            return self._patch_draw(p)
        n = self._n_features(p)
        return None if n == p else lambda random: random.choice(p, n, replace=False)

    def _patch_draw(self, p):
        if self.max_features is not None:
            raise ValueError("patch already says which features a split gets: drop max_features")
        if self.image_shape is None:
            raise ValueError("patch needs image_shape, the rows and columns of the images")
        check_image_shape(self.image_shape, p)
        rows, columns = self.image_shape[:2]
        if len(self.patch) != 2 or not (
                1 <= self.patch[0] <= rows and 1 <= self.patch[1] <= columns):
            raise ValueError(f"patch={self.patch} does not fit images of {rows} x {columns} pixels")
        height, width = self.patch
        pixels = np.arange(p).reshape(self.image_shape)

        def draw(random):
            top, left = random.integers([rows - height + 1, columns - width + 1])
            return pixels[top:top + height, left:left + width].ravel()

        return draw

    def _n_features(self, p):
        """Features of a split, of which there is always one."""
        given = self.max_features
        if given is None:
            return p
        if given in ("sqrt", "log2"):
            given = int(getattr(np, given)(p))
        elif not isinstance(given, Integral):
            given = int(given * p)
        if given > p:
            raise ValueError(f"max_features={given} is more than the {p} features of X")
        return max(1, given)


class SoftStumpSplitter:
    """A split strategy for the builder: a stump is trained for every node that is not pure."""

    def __init__(self, optimizer, problem, n_attempts, draw_features):
        self.optimizer, self.n_attempts = optimizer, n_attempts
        self.draw_features = draw_features
        self.weight = problem.sample_weight
        self.unit_weight, self.scaling = unit_weight(problem), problem.scaling
        # What a split gains, and which nodes are pure, is the same for all growers.
        self.splitter = splitter_for(problem)
        self.problem = problem.replace(validation_weight=None, verbose=0, callback=None)
        # Numbers that do not count rows of weight 0, from which nodes are seeded.
        self.number = np.cumsum(problem.sample_weight > 0, dtype=np.int32)

    def split(self, rows):
        # No numbers could be told apart better than these.
        if self.splitter.best_threshold(rows, np.arange(len(rows), dtype=np.float64)) is None:
            return None
        seed = [self.problem.random_state, crc32(self.number[rows])]
        for attempt in range(self.n_attempts):
            stump = self._train(rows, np.random.default_rng([*seed, attempt]))
            if stump.n_internal:
                weights, threshold = stump.weights[0], stump.thresholds[0]
                right = self.problem.data.project(rows, weights) - threshold > 0
                _, gain = self.splitter.best_threshold(rows, right.astype(np.float64))
                return Split(weights, threshold, gain)
        return None

    def partition(self, rows, split):
        return self.splitter.partition(rows, split)

    def _train(self, rows, random):
        """A trained stump, or a tree of one leaf if it sends all rows to one side."""
        problem = self.problem.replace(random_state=int(random.integers(2**31)))
        if len(rows) < _FEW_ROWS:
            problem = problem.replace(n_jobs=1)
        p = problem.X.shape[1]
        used = np.arange(p) if self.draw_features is None else self.draw_features(random)
        direction = np.zeros(p)
        direction[used] = random.normal(size=len(used))
        direction /= np.linalg.norm(direction)
        weights, _ = self.scaling.to_raw(direction[None], np.zeros(1))
        # The paper leaves open where the first plane lies. One that misses the samples, as planes
        # through the mean of all rows mostly miss those of deep nodes, has nothing to learn from.
        threshold = np.average(
            problem.data.project(rows, weights[0]), weights=self.weight[rows])
        # Leaves say nothing yet, or what the whole node says.
        values = np.zeros((1, problem.n_outputs))
        if not problem.loss.is_classifier:
            values = problem.fit_leaves(np.zeros(len(rows), dtype=np.int32), rows, 1)
        stump = Tree(weights, [threshold], [~0], [~1], np.repeat(values, 2, axis=0))
        stump, record = self.optimizer._train(
            stump, problem, rows, self.unit_weight, self.draw_features is not None)
        if record.get("interrupted"):
            raise KeyboardInterrupt
        return stump
