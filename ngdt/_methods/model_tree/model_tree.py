"""ModelTree: a greedy tree with linear leaves whose size is chosen by cross-validation."""

from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from numbers import Integral
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval

from ngdt._core.structure import levels
from ngdt._methods.greedy.info_gain import InfoGain
from ngdt._methods.initializer import Initializer
from ngdt._methods.linear_leaves.lasso import MAX_FEATURES, has_few_samples
from ngdt._methods.linear_leaves.linear_leaves import LinearLeaves
from ngdt._methods.linear_leaves.models import ScaledSamples, fit_models, node_type, with_models
from ngdt._methods.linear_leaves.ranges import with_ranges
from ngdt._methods.model_tree.grow import MIN_SAMPLES_LEAF, ROOT_PENALTIES, grow
from ngdt._training.folds import N_FOLDS, Fold, fold_samples
from ngdt._training.samples_by_leaf import SamplesByLeaf
from ngdt._util.arrays import least
from ngdt._util.stopped import Stopped
from ngdt.pruning._replace import collapse, places
from ngdt.pruning._sequence import sequence_of_costs

# Costs of a leaf that are tried: in squared errors of a sample where the mean is predicted, and for
# classes in nats.
_ALPHAS = np.array([0.1, 0.3, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 40.0, 80.0, np.inf])
_CLASS_ALPHAS = np.array([0.5, 2.0, 5.0, 10.0, 25.0, 60.0, np.inf])
# The cost where Ctrl-C leaves no time to try them.
_EARLY_ALPHA = 3.0
# Penalties of the models that are tried.
_PENALTIES, _CLASS_PENALTIES = np.array([0.03, 0.3, 3.0, 30.0]), np.array([10.0])
# Penalties with which regression trees are grown: a tree that was grown with the larger one was
# better where features have long tails. In trees of at most four levels, or so many leaves, nodes
# have many samples: smaller penalties raised R2 by 0.005 on inner splits of eight sets, and by
# 0.007 on 13 tables. Without a limit, they made trees a sixth larger, and no better.
_GROWTH_PENALTIES, _SMALL_GROWTH_PENALTIES, _SMALL_DEPTH = (1.0, 30.0), (0.1, 10.0), 4
# A shallow tree that looks ahead is taken if its error is so many times less. It raised R2 by 0.02
# on one of 22 sets and by 0.005 on another; chosen without a margin, it lost up to 0.007 on a few.
_AHEAD_MARGIN = 1.02
# Largest depth of trees for classes, with few and with many samples: deeper ones were not more
# accurate.
_FEW_DEPTH, _MANY_DEPTH, _MANY_SAMPLES = 3, 5, 2000


@dataclass(eq=False, repr=False, kw_only=True)
class ModelTree(Initializer):
    """Greedy axis-aligned tree with linear leaves, pruned by cross-validation: a model tree.

    Each node has a linear model, drawn to the model of the node above as in
    :class:`~ngdt.optimizers.LinearLeaves`. For regression, it gets the split after which two linear
    models fit best, as long as they are better than one by Akaike's information criterion; for
    classes, `InfoGain` grows the tree, with a depth of at most 3 or, from 2000 samples on, 5. The
    tree is pruned by minimal cost-complexity pruning, with the squared errors or log losses of the
    models in the place of impurities. The cost of a leaf and the penalties are chosen by three
    folds or, from 2000 samples on, by a third of the samples that is held out. A tree without
    splits is ridge regression or logistic regression. For regression, predictions stay in the range
    of the targets in the leaf, narrowed by part of the residuals. For the log loss and, as for
    `LinearLeaves`, the squared, absolute, quantile and Huber losses: trees of all these are grown
    by squared errors, and pruned by their own.

    Parameters
    ----------
    features : {"auto", "all", "path", "lasso"} or array-like of int, default="auto"
        Features for splits and models, as for `LinearLeaves`. With "path", splits use the
        features of "auto", and models the features by which the tree splits before it is pruned.
        For regression with fewer than 15 samples for each feature, "auto" tries "lasso" as well.
    penalty : float or "auto", default="auto"
        Penalty of the models, as for `LinearLeaves`. "auto" is 10 for classes. For regression, it
        chooses 0.03, 0.3, 3 or 30, and the penalty of the root by generalised cross-validation. Two
        trees are grown, with a penalty of 1 and of 30 in each node, of which one is chosen. For a
        tree of at most four levels or 16 leaves, they are 0.1 and 10. Within four levels, a third
        tree looks ahead.
    n_folds : int, default=3
        Largest number of folds to choose by. With one, it is a third of the samples in any case.

    Notes
    -----
    Deviation: M5 splits by the targets, and GUIDE by the signs of the residuals of a model. Here
    splits at 60 quantiles of each feature are compared by the errors of the models after them, for
    at most 20 000 samples of a node. All features are compared up to 30; of more, the models have
    the 30 with the largest slopes, and splits are by those that reduce the variance of targets or
    residuals most. A tree that looks ahead takes the split, of the best ones of eight features,
    with the least error after the next splits. For classes, splits by the same errors after a
    Newton step from the model of the node were no better than those by the entropy on 18 tables,
    and took twice as long.

    A level of the tree costs ``n * p * q**2 / 2`` multiplications for n samples of p features of
    which the models have q, and a node at most ``20 * p * q**3`` for its cuts,
    of which bounds leave out more than half.

    References
    ----------
    Quinlan (1992), Learning with Continuous Classes, AI '92.
    Loh (2002), Regression Trees with Unbiased Variable Selection and Interaction Detection,
    Statistica Sinica 12.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from ngdt import ObliqueTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = ObliqueTreeRegressor(init="model_tree", optimizer=None, random_state=0).fit(X, y)
    >>> tree.get_n_leaves(), tree.tree_.slopes.shape
    (1, (1, 1, 10))
    """

    name = "model_tree"
    noun = "model tree"
    chooses_size = True
    is_stochastic = True

    _parameter_constraints: ClassVar[dict] = {
        **{name: LinearLeaves._parameter_constraints[name] for name in ("features", "penalty")},
        "n_folds": [Interval(Integral, 1, N_FOLDS, closed="both")],
    }

    features: ArrayLike = "auto"
    penalty: float | str = "auto"
    n_folds: int = N_FOLDS

    def check(self, problem):
        super().check(problem)
        LinearLeaves(features=self.features).check(problem)

    def _initialize(self, problem):
        folds = [Fold.without(problem, each) for each in fold_samples(problem)[:self.n_folds]]
        return CrossValidatedModels(problem, folds, self).tree


class CrossValidatedModels:
    """Model trees of all samples and without each fold, of the same cost and penalty.

    Parameters
    ----------
    problem : Problem
    folds : list of Fold
        Of the same samples. Without folds, the tree has no splits.
    params : ModelTree
    share : float, default=1.0
        Share of the time until the deadline for the trees without each fold.
    """

    def __init__(self, problem, folds, params, share=1.0):
        self.problem = problem.replace(
            validation_weight=None, control=problem.control.quiet()).limited(
                max_depth=_max_depth(problem))
        growths = _growths(problem, params)
        margins = [_AHEAD_MARGIN if growth.looks_ahead else 1.0 for growth in growths]
        timed = self.problem.with_time(share)
        n, self._parts, errors = len(folds), [], 0.0
        try:
            for k, fold in enumerate(folds):
                control = timed.control.with_time(1 / (n - k)).part(
                    1 / (n + 1), f"model tree without fold {k + 1} of {n}")
                part = fold.problem.replace(
                    limits=timed.limits, validation_weight=None, control=control)
                self._parts.append([])
                # The lasso chooses once for growths of the same features.
                data_of = cache(partial(_scaled_samples, part))
                for growth in growths:
                    self._parts[k].append(_Grown(
                        part.doing(1 / len(growths)), growth, data_of(growth.params)))
                errors += np.stack([
                    margin * each.errors(fold.samples, fold.weight)
                    for margin, each in zip(margins, self._parts[k], strict=True)], axis=1)
        except KeyboardInterrupt as error:
            if not (self._parts and self._parts[0]):
                raise
            raise Stopped(self._parts[0][0].pruned_early()) from error
        # Of equal errors, the fewest leaves and the largest penalties.
        alpha, self._growth, self._penalty = -1, -1, -1
        if folds:
            alpha, self._growth, self._penalty = np.unravel_index(
                least(errors.ravel()), errors.shape)
        self._alpha = (_CLASS_ALPHAS if problem.loss.is_classifier else _ALPHAS)[alpha]
        self._last = self.problem.doing(1 / (n + 1), "model tree"), growths[self._growth]

    @cached_property
    def tree(self):
        """The tree for all training samples."""
        problem, growth = self._last
        return _Grown(problem, growth, _scaled_samples(problem, growth.params)).pruned(
            self._alpha, self._penalty)

    def fold_tree(self, k):
        """The tree without the samples of a fold."""
        return self._parts[k][self._growth].pruned(self._alpha, self._penalty)


class _Growth(NamedTuple):
    """Growth of a tree before it is pruned.

    Attributes
    ----------
    params : ModelTree
    penalty : float or None
        Of `grow`, for regression.
    looks_ahead : bool
        Of `grow`.
    """

    params: ModelTree
    penalty: float | None = None
    looks_ahead: bool = False


class _Grown:
    """Tree before it is pruned, and the models of its nodes.

    Parameters
    ----------
    problem : Problem
    growth : _Growth
    data : ScaledSamples
        Features for splits and models.
    """

    def __init__(self, problem, growth, data):
        self.problem, self.data, params = problem, data, growth.params
        classes, is_auto = problem.loss.is_classifier, params.penalty == "auto"
        self.alphas, penalties = (
            (_CLASS_ALPHAS, _CLASS_PENALTIES) if classes else (_ALPHAS, _PENALTIES))
        self._unit = 1.0 if classes else self._loss_of_constant()
        self._penalties = penalties if is_auto else np.array([float(params.penalty)])
        self._root_penalties = ROOT_PENALTIES if is_auto and not classes else None
        tree = None
        try:
            tree = self._grow(growth)
            self._fit_models(tree, params)
        except KeyboardInterrupt as error:
            tree = error.tree if isinstance(error, Stopped) else tree
            if tree is None:
                raise
            self._fit_models(tree, params)
            raise Stopped(self.pruned_early()) from error

    def _grow(self, growth):
        """The tree without models."""
        problem = self.problem.doing(0.5)
        if growth.penalty is not None:
            return grow(problem, self.data, growth.penalty, looks_ahead=growth.looks_ahead)
        return InfoGain().initialize(problem.limited(
            min_samples_leaf=max(problem.limits.min_samples_leaf, MIN_SAMPLES_LEAF)))

    def _fit_models(self, tree, params):
        """Fit the models of all nodes, and find the order in which pruning removes them."""
        problem, self.tree = self.problem, tree
        if _by_path(params):
            linear = LinearLeaves(features="path")
            self.data = ScaledSamples(problem, linear.used_features(tree, problem))
        self._paths = list(levels(tree))
        self.models = fit_models(
            tree, self.data, problem.training_samples, self._penalties,
            root_penalties=self._root_penalties, with_losses=True,
            activity=problem.control.activity.part(0.5))
        self._sequences = [sequence_of_costs(tree, losses) for losses in self.models.losses.T]

    def _loss_of_constant(self):
        """Loss of a training sample where the best constant is predicted."""
        problem, samples = self.problem, self.problem.training_samples
        best = np.tile(node_type(problem.loss).constant(self.data, samples), (len(samples), 1))
        return max(np.finfo(float).tiny, np.average(
            problem.prediction_errors(best, samples), weights=self.data.weight[samples]))

    def _n_steps(self, alpha, penalty):
        """Number of steps of pruning, at most `max_leaf_nodes` leaves being left."""
        sequence, limit = self._sequences[penalty], self.problem.limits.max_leaf_nodes
        n_steps = int(sequence.n_steps(alpha * self._unit))
        if limit is None:
            return n_steps
        # Each step leaves fewer leaves.
        return max(n_steps, np.count_nonzero(sequence.n_leaves > limit))

    def _tops(self, is_leaf):
        """Node at which the samples of each leaf stop: the first one that becomes a leaf."""
        stops = np.append(is_leaf, np.full(self.tree.n_leaves, True))
        top = np.full(self.tree.n_leaves, -1)
        for at in self._paths:
            top = np.where((top < 0) & stops[at], at, top)
        return top

    def errors(self, samples, weight):
        """Sums of weighted errors, shape (n_alphas, n_penalties)."""
        by_leaf = SamplesByLeaf(
            self.tree, np.arange(len(samples)), self.problem.apply(self.tree, samples))
        Z = self.data.read(samples)

        @cache
        def errors_of(node):
            """Sums of one node for each penalty, kept since many subtrees have it as a leaf."""
            here = by_leaf.samples[by_leaf.slice_of(node)]
            if len(here) == 0:
                return np.zeros(len(self._sequences))
            predictions = self.models.predict(node, Z[here])
            return np.array([
                weight[here] @ self.problem.prediction_errors(predictions[:, j], samples[here])
                for j in range(len(self._sequences))])

        errors = np.zeros((len(self.alphas), len(self._sequences)))
        for j, sequence in enumerate(self._sequences):
            of_alpha = np.array([self._n_steps(alpha, j) for alpha in self.alphas])
            for n_steps in np.unique(of_alpha):
                leaves = np.unique(self._tops(sequence.is_leaf_after(n_steps)))
                errors[of_alpha == n_steps, j] = sum(errors_of(node)[j] for node in leaves)
        return errors

    def pruned_early(self):
        """The pruned tree where Ctrl-C came before its cost and penalty were chosen."""
        return self.pruned(_EARLY_ALPHA, 0)

    def pruned(self, alpha, penalty):
        """The pruned tree with its linear leaves."""
        is_leaf = self._sequences[penalty].is_leaf_after(self._n_steps(alpha, penalty))
        small = collapse(self.tree, is_leaf)
        # Parents come before children: the first node with a place is the topmost.
        _, top = np.unique(places(self.tree, small), return_index=True)
        tree = with_models(
            small, self.data, self.models, nodes=top[small.n_internal:], penalty=penalty)
        return with_ranges(tree, self.problem)


def _by_path(params):
    """Return whether models have the features of the splits, known once the tree is grown."""
    return isinstance(params.features, str) and params.features == "path"


def _scaled_samples(problem, params):
    """Samples with the features for splits and models that are not constant, or all if all are.

    Growth counts slopes: with those of constants, a split would have to save more.
    """
    linear = LinearLeaves(features="auto" if _by_path(params) else params.features)
    features = linear.used_features(None, problem)
    varying = np.intersect1d(features, problem.varying)
    return ScaledSamples(problem, varying if len(varying) else features)


def _growths(problem, params):
    """Growths that compete."""
    if problem.loss.is_classifier:
        return [_Growth(params)]
    n_leaves = problem.limits.max_leaf_nodes
    is_shallow = problem.limits.max_depth is not None and problem.limits.max_depth <= _SMALL_DEPTH
    is_small = is_shallow or (n_leaves is not None and n_leaves <= 2**_SMALL_DEPTH)
    penalties = _SMALL_GROWTH_PENALTIES if is_small else _GROWTH_PENALTIES
    found = [_Growth(params, each) for each in penalties]
    if is_shallow:     # a tree that is cut to a few leaves gained a quarter as much, in more time
        found.append(_Growth(params, penalties[0], looks_ahead=True))
    is_auto = isinstance(params.features, str) and params.features == "auto"
    # Of more features, the lasso chooses in any case.
    if is_auto and problem.X.shape[1] <= MAX_FEATURES and has_few_samples(problem):
        found.append(_Growth(replace(params, features="lasso"), penalties[0]))
    return found


def _max_depth(problem):
    """Largest depth of the tree for a problem, or None."""
    if not problem.loss.is_classifier:
        return problem.limits.max_depth
    largest = _FEW_DEPTH if len(problem.training_samples) < _MANY_SAMPLES else _MANY_DEPTH
    return problem.limits.depth(largest)
