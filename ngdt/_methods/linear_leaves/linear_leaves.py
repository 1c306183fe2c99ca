"""LinearLeaves: leaves that predict by weighted sums of the features."""

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval

from ngdt._methods.linear_leaves.lasso import MAX_FEATURES, chosen_by_lasso, most_correlated
from ngdt._methods.linear_leaves.models import (
    ScaledSamples,
    fit_models,
    takes_linear_leaves,
    with_models,
)
from ngdt._methods.linear_leaves.shared import fit_shared
from ngdt._methods.optimizer import Optimizer
from ngdt._training.control import SILENT
from ngdt._training.folds import HOLD_OUT_SAMPLES, N_FOLDS, numbered_groups
from ngdt._training.progress import OptimizerResult
from ngdt._training.size_limits import enforce_limits
from ngdt._util.arrays import least
from ngdt._util.validation import AUTO, error_prefix

# Penalties that are tried by "auto", for regression and for classes, which take longer. With an
# infinite one, leaves are constant.
_PENALTIES = np.array([1.0, 10.0, 100.0, 1000.0, 10_000.0, np.inf])
_CLASS_PENALTIES = np.array([0.1, 1.0, 10.0, 100.0, np.inf])
# The same of slopes that all leaves share: any of 1 to 100 was as good on 13 tables.
_SHARED_PENALTY = 10.0
# Words for `features`.
SETS_OF_FEATURES = ("auto", "all", "path", "lasso")
# Number of samples by which the penalty is chosen.
_MAX_SAMPLES = 20_000


@dataclass(eq=False, repr=False, kw_only=True)
class LinearLeaves(Optimizer):
    """Make the leaves linear: a leaf predicts by weighted sums of the features.

    Use it as the last optimizer of a list. The splits stay. From the root down, each node gets a
    linear model, which is shrunk towards the one of its parent: a leaf with few samples predicts
    nearly as its parent would. For regression, the models are ridge regressions, and predictions
    are clipped to the range of the targets in the leaf. For classification, they are logistic
    regressions. A tree without splits is one such regression. For the log loss, and the squared,
    absolute, quantile and Huber losses.

    If the tree has linear leaves already, as `Annealed` makes them, the model of each leaf is drawn
    to the one that it has.

    With `monotonic_cst`, all leaves share their slopes, none of which is against its direction, and
    the range of all targets.

    Parameters
    ----------
    features : {"auto", "all", "path", "lasso"} or array-like, default="auto"
        Features that leaves use: all, those that the tree splits by, those that the lasso chooses
        for a single linear model of all samples, or the ones at the given indices. The lasso
        chooses from the features with the largest correlation with a target: from 500 or, with n
        samples, from ``sqrt(1e9 / n)`` if these are more. "auto" uses all; of more than 500, for
        regression those that the lasso chooses, and for classes the 500 with the largest
        correlation. Where the object is the parameter `leaf` of an estimator, names, indices or a
        mask of columns.
    penalty : float or "auto", default="auto"
        Penalty on the squared distance between the slopes of a node and those that they are drawn
        to, in samples, for features in units of their standard deviation. For classification, it is
        1 / C of scikit-learn's `LogisticRegression`, and at least 0.001. "auto" chooses among some
        values, of which the largest makes constant leaves, by validation samples if there are any,
        else on three folds or, from 2000 samples on, a third of at most 20 000 samples. It is 10
        for slopes that all leaves share.
    shrink : bool, default=True
        Whether the model of a node is drawn to that of the node above. If not, its slopes are
        drawn to zero, which is one regression in each leaf by itself.
    clip : bool, default=True
        Whether predictions stay in the range of the training targets of the leaf. For
        classification, it has no effect.

    Notes
    -----
    The limits of the problem, such as `min_samples_leaf`, are enforced first, so that no leaf is
    fitted that will be removed.

    The slopes a of a node minimise ``sum(w * (y - c - a @ z)**2) + penalty * |a - a_above|**2``.
    Its mean prediction is, in the manner of `ShrinkLeaves`, a weighted mean of the mean of its
    targets, which counts as its samples, and of what the model above predicts there, which counts
    as five. The smoothing of predictions along the path goes back to the M5 model trees.

    For the absolute, quantile and Huber losses, slopes are those of squared errors, of targets that
    are not far, and the constant c is the one with the least loss for what they leave.

    For classification, slopes A and values v of a node minimise ``sum(w * log_loss) + penalty / 2 *
    |A - A_above|**2 + |v - v_above|**2 / 2``. At the root, nothing draws the values. For two
    classes, A and v are those of the difference of the logits. A model is fitted to at most 20 000
    samples of its node. Logistic model trees (Landwehr, Hall & Frank, 2005) refine the model of the
    node above by boosting instead.

    References
    ----------
    Quinlan (1992), Learning with Continuous Classes, AI '92.
    Landwehr, Hall & Frank (2005), Logistic Model Trees, Machine Learning 59.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from ngdt import ObliqueTreeRegressor
    >>> from ngdt.optimizers import LinearLeaves
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = ObliqueTreeRegressor(max_depth=1, optimizer=LinearLeaves(), random_state=0)
    >>> tree.fit(X, y).tree_.slopes.shape
    (2, 1, 10)
    """

    name = "linear_leaves"
    winsorizes = False
    regularizes = True
    is_stochastic = True
    takes_linear_leaves = True

    _parameter_constraints: ClassVar[dict] = {
        "features": "no_validation",    # see check
        "penalty": [Interval(Real, 0, None, closed="both"), AUTO],
        "shrink": ["boolean"],
        "clip": ["boolean"],
    }

    features: ArrayLike = "auto"
    penalty: float | str = "auto"
    shrink: bool = True
    clip: bool = True

    def check(self, problem):
        super().check(problem)
        if not takes_linear_leaves(problem):
            which, fitting = "linear leaves", "squared, absolute, quantile or Huber"
            if problem.loss.is_classifier:
                fitting = "log"
            elif problem.directions is not None:
                which, fitting = "with monotonic_cst, linear leaves", "squared"
            raise ValueError(
                f"{which} minimise the {fitting} loss, but loss={problem.loss}: use constant "
                "leaves")
        if not (isinstance(self.features, str) and self.features in SETS_OF_FEATURES):
            self._check_features(problem.X.shape[1])

    def _check_features(self, n_features):
        with error_prefix("features"):
            features = np.asarray(self.features)
        if features.ndim != 1 or features.dtype.kind not in "iu" or (
                features.size and not 0 <= features.min() <= features.max() < n_features):
            raise ValueError(
                f"features must be a list of indices below {n_features}, or "
                f"{' or '.join(map(repr, SETS_OF_FEATURES))}, got {self.features!r}. Names of "
                "columns are for the parameter leaf of an estimator, as in "
                "leaf=LinearLeaves(features=['age'])")

    def _optimize(self, tree, problem):
        tree = enforce_limits(tree, problem)
        activity = problem.control.activity.part(1.0, "linear leaves")
        return OptimizerResult(self.fit_leaves(tree, problem, activity))

    def fit_leaves(self, tree, problem, activity=SILENT):
        """The tree with linear leaves for the training samples.

        Parameters
        ----------
        tree : Tree
            If it has slopes, those of the result are drawn to them.
        problem : Problem
        activity : Activity, default=SILENT
            Where to say how much is done.

        Returns
        -------
        Tree
            With constant leaves if no slope helps.
        """
        data = ScaledSamples(problem, self.used_features(tree, problem))
        if not len(data.features):
            return problem.refit_leaves(tree)
        if problem.directions is not None:
            penalty = _SHARED_PENALTY if self.penalty == "auto" else self.penalty
            return fit_shared(tree, data, penalty, shrink=self.shrink, clip=self.clip)
        prior = None
        if tree.slopes is not None:
            prior = tree.slopes[:, :, data.features] * data.scale
        options = {"prior": prior, "shrink": self.shrink}
        penalty = self.penalty
        if penalty == "auto":
            penalty = self._choose_penalty(tree, problem, data, options, activity.part(0.5))
        models = fit_models(
            tree, data, problem.training_samples, np.array([penalty], dtype=np.float64),
            activity=activity.part(activity.left), **options)
        return with_models(tree, data, models, clip=self.clip)

    def used_features(self, tree, problem):
        """Indices of the features that leaves use."""
        p = problem.X.shape[1]
        if not isinstance(self.features, str):
            return np.unique(np.asarray(self.features))
        if self.features == "path":
            return np.unique((tree.weights != 0).nonzero()[1])
        if self.features == "all":
            return np.arange(p)
        samples = problem.training_samples
        if self.features != "lasso" and (p <= MAX_FEATURES or problem.loss.is_classifier):
            return most_correlated(problem, samples)
        if len(samples) > _MAX_SAMPLES:
            samples = np.random.RandomState(problem.random_state).choice(
                samples, _MAX_SAMPLES, replace=False)
        return chosen_by_lasso(problem, samples, _splits(problem))

    def _choose_penalty(self, tree, problem, data, options, activity):
        """The penalty with the least loss on samples that the models do not see."""
        penalties = _CLASS_PENALTIES if problem.loss.is_classifier else _PENALTIES
        losses = np.zeros(len(penalties))
        for training, test, weight in _splits(problem):
            if not problem.control.deadline.fits():
                break
            models = fit_models(
                tree, data, training, penalties, activity=activity.part(1 / N_FOLDS), **options)
            leaf = problem.apply(tree, test)
            for each in np.unique(leaf):
                here = leaf == each
                predictions = models.predict(
                    tree.n_internal + each, data.read(test[here]), self.clip)
                y = problem.y[test[here]]
                losses += [weight[here] @ problem.loss.value(predictions[:, j], y)
                           for j in range(len(penalties))]
        activity.finish()
        # Of equal ones, the largest: with too few samples for folds, leaves are constant.
        return penalties[least(losses)]


def _splits(problem):
    """Training samples, test samples and their weights, by which the penalty is chosen."""
    samples, validation = problem.training_samples, problem.validation_samples
    if len(validation):
        yield samples, validation, problem.validation_weight[validation]
        return
    samples = np.random.RandomState(problem.random_state).permutation(samples)[:_MAX_SAMPLES]
    group = numbered_groups(problem, samples)
    n_groups = group.max(initial=-1) + 1
    n_folds = min(N_FOLDS, n_groups)
    if n_folds < 2 or len(samples) < 2 * N_FOLDS:
        return
    fold = group % n_folds
    for k in range(1 if n_groups >= HOLD_OUT_SAMPLES else n_folds):
        test = samples[fold == k]
        yield samples[fold != k], test, problem.sample_weight[test]
