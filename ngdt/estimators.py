"""The scikit-learn face: one estimator for classes, one for values."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import log_softmax, softmax
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    _fit_context,
    is_classifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.tree import BaseDecisionTree
from sklearn.utils import assert_all_finite, check_random_state, compute_class_weight
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ngdt._importances import feature_importances
from ngdt._loss import Loss, get_loss
from ngdt._scaling import power_of_two
from ngdt._selection import CROSS_VALIDATION_SAMPLES, hold_out, train
from ngdt._tree import Tree
from ngdt._validation import CHECK_X_PARAMS, check_weight, error_prefix
from ngdt.initializers import INITIALIZERS, Initializer
from ngdt.optimizers import OPTIMIZERS, Optimizer, Regrow, ShrinkLeaves
from ngdt.problem import Problem

__all__ = ["ObliqueTreeClassifier", "ObliqueTreeRegressor"]

# Soft training multiplies every sample with every split: beyond so many features, not in good time.
_WIDEST_SOFT = 4096


def _has_optimizer(estimator: "_ObliqueTree") -> bool:
    if estimator.optimizer is None:
        raise AttributeError("partial_fit continues an optimizer, but optimizer=None")
    return True


class _ObliqueTree(BaseEstimator, ABC):
    """What the classifier and the regressor share.

    A subclass says how y becomes targets (`_read_targets`), what a row weighs (`_weigh`), how leaf
    values translate between the user's units and those of training (`_into_training`,
    `_out_of_training`), and which loss is the default.
    """

    _default_loss: str
    _finishing_steps: Sequence[Optimizer]
    _y_form: Mapping[str, bool]

    __metadata_request__predict: ClassVar[dict] = {"check_input": UNUSED}

    _parameter_constraints: ClassVar[dict] = {
        "max_depth": [Interval(Integral, 0, None, closed="left"), None],
        # What is valid for these three, the registries and the objects know.
        "init": "no_validation",
        "optimizer": "no_validation",
        "loss": "no_validation",
        "validation_fraction": [
            StrOptions({"auto"}), Interval(Real, 0, 1, closed="left"), None],
        "standardize": ["boolean", StrOptions({"auto", "global"})],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "callback": [callable, None],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train a tree.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            float32 and float64 stay what they are, and a C-contiguous array is read in place.
        y : array-like of shape (n_samples,) or, for regression, (n_samples, n_outputs)
            Labels of any type, or values.
        sample_weight : array-like of shape (n_samples,), default=None
            Not negative; a row of weight zero takes no part. None weighs all rows 1.

        Returns
        -------
        self : object
            The fitted estimator.

        Warns
        -----
        ConvergenceWarning
            If Ctrl-C ended the training. The estimator is fitted all the same, with the best tree
            so far. (Before the first epoch there is none, and KeyboardInterrupt is raised.)
        """
        resume = self.warm_start and hasattr(self, "tree_")
        fresh = not resume and _is_auto(self.init)
        return self._fit(X, y, sample_weight, resume, fresh, self.validation_fraction)

    def _fit(self, X, y, sample_weight, resume, fresh, validation_fraction, classes=None):
        if not resume:
            # If this fit fails, what it has set by then does not go with a tree of the fit before.
            vars(self).pop("tree_", None)
        X, y = validate_data(self, X, y, reset=not resume, **CHECK_X_PARAMS, **self._y_form)
        weight = check_weight(sample_weight, X.shape[0])
        targets, n_values = self._read_targets(y, weight, resume, classes)
        weight = self._weigh(targets, weight)
        loss = self._resolve_loss()
        steps = self._resolve_steps(fresh)
        init = self.tree_ if resume else self._resolve_init(steps)
        # A random start is no baseline: the greedy tree is what has to be beaten.
        baseline = INITIALIZERS["info_gain"]() if fresh and steps else None
        baseline = None if type(baseline) is type(init) else baseline
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        training, validation = hold_out(
            weight,
            # Without a step after the start there is nothing to validate.
            validation_fraction if steps else None,
            targets if is_classifier(self) else None,
            seed)
        problem = Problem(
            X=X, y=loss.encode(targets, n_values), loss=loss, n_outputs=n_values,
            sample_weight=training, validation_weight=validation, max_depth=self.max_depth,
            standardize=self.standardize, random_state=seed,
            n_jobs=effective_n_jobs(self.n_jobs), verbose=int(self.verbose),
            callback=self.callback)
        if isinstance(init, Tree):
            with error_prefix("init"):
                problem.check_shapes(init)
            init = self._into_training(init)
        cross_validate = (
            validation_fraction == "auto" and np.count_nonzero(weight) < CROSS_VALIDATION_SAMPLES)
        result = train(problem, init, steps, baseline=baseline, cross_validate=cross_validate)
        self.tree_ = self._out_of_training(result.tree)
        self.history_ = result.history
        self.n_iter_ = len(result.history["step"])
        self.baseline_kept_ = result.baseline_kept
        self.feature_importances_ = feature_importances(self.tree_, X, weight)
        if result.interrupted:
            warnings.warn(
                f"Training was interrupted after {self.n_iter_} epochs; tree_ is the best tree "
                "found until then.", ConvergenceWarning, stacklevel=4)
        return self

    @abstractmethod
    def _read_targets(self, y, weight, resume, classes):
        """Targets, and the number of classes or of targets; sets what is fitted of them."""

    def _weigh(self, targets, weight):
        return weight

    def _into_training(self, tree):
        return tree

    def _out_of_training(self, tree):
        return tree

    def _resolve_loss(self):
        loss = get_loss(self._default_loss if self.loss is None else self.loss)
        if loss.is_classifier != is_classifier(self):
            raise ValueError(
                f"loss={self.loss!r} is for {'classes' if loss.is_classifier else 'values'} "
                f"and does not fit {type(self).__name__}")
        return loss

    def _resolve_steps(self, fresh):
        if self.optimizer is None:
            return []
        if isinstance(self.optimizer, (list, tuple)):
            return [_named("optimizer", step, OPTIMIZERS, Optimizer) for step in self.optimizer]
        step = self._default_optimizer(fresh) if _is_auto(self.optimizer) else _named(
            "optimizer", self.optimizer, OPTIMIZERS, Optimizer)
        # A name stands for what serves most users, an object or a list for itself.
        named = isinstance(self.optimizer, str) and step.is_stochastic
        return [step, *self._finishing_steps] if named else [step]

    def _default_optimizer(self, fresh):
        """Soft training of classifiers, unless there is a tree to build on or X is very wide."""
        soft = fresh and is_classifier(self) and self.n_features_in_ <= _WIDEST_SOFT
        return OPTIMIZERS["annealed" if soft else "ssgd"]()

    def _resolve_init(self, steps):
        """The grower to start with, or the tree."""
        if _is_auto(self.init):
            return INITIALIZERS[steps[0].default_init if steps else "info_gain"]()
        init = self.init.estimator if isinstance(self.init, FrozenEstimator) else self.init
        if isinstance(init, (_ObliqueTree, BaseDecisionTree)):
            check_is_fitted(init, msg=(
                "init=%(name)s is not fitted. (Cloning an estimator, as a grid search does, drops "
                "the fitted state of the estimators in it: pass the Tree instead.)"))
            self._check_same_task(init)
            init = Tree.from_sklearn(init) if isinstance(init, BaseDecisionTree) else init.tree_
        return init if isinstance(init, Tree) else _named("init", init, INITIALIZERS, Initializer)

    def _check_same_task(self, fitted):
        if is_classifier(fitted) != is_classifier(self):
            raise ValueError(
                f"init={type(fitted).__name__} does not predict what {type(self).__name__} does")
        if is_classifier(self) and not np.array_equal(fitted.classes_, self.classes_):
            raise ValueError(
                f"init was fitted for the classes {fitted.classes_}, "
                f"but y holds {self.classes_}")

    def apply(self, X: ArrayLike, check_input: bool = True) -> np.ndarray:
        """Leaf that each sample reaches.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        check_input : bool, default=True
            False skips the validation of X, which costs far more than a prediction for one row. X
            must then be a C-contiguous array or a CSR matrix of finite float32 or float64.

        Returns
        -------
        ndarray of int32, shape (n_samples,)
            From 0 to ``tree_.n_leaves - 1``.
        """
        if check_input:
            return self._checked_apply(X)
        if not hasattr(self, "tree_"):      # check_is_fitted takes as long as a row does
            check_is_fitted(self)
        return self.tree_._apply(self.tree_._read(X))

    def _checked_apply(self, X):
        check_is_fitted(self)
        # To look for NaN and infinity would take as long as to route some of the way: scores tell.
        X = validate_data(self, X, reset=False, ensure_all_finite=False, **CHECK_X_PARAMS)
        rows = self.tree_._read(X)
        leaf = self.tree_._apply_unless_suspect(rows)
        if leaf is None:
            assert_all_finite(X, estimator_name=type(self).__name__, input_name="X")
            leaf = self.tree_._apply(rows)
        return leaf

    def decision_path(self, X: ArrayLike) -> sparse.csr_matrix:
        """Internal nodes that each sample passes.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        CSR matrix of bool, shape (n_samples, n_internal)
        """
        leaf = self._checked_apply(X)
        return self.tree_._paths_to(leaf)

    def _values(self, X, check_input):
        leaf = self.apply(X, check_input)
        return self.tree_.values[leaf]

    def __sklearn_is_fitted__(self):
        return hasattr(self, "tree_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class ObliqueTreeClassifier(ClassifierMixin, _ObliqueTree):
    """Classification tree with oblique splits, trained as a whole.

    All splits and leaves of a start (`init`) are improved together by one or more optimizers
    (`optimizer`). The default trains a complete tree that routes softly, after Hehn et al. (2020),
    while routing turns hard. With more than 4096 features, it grows a tree greedily instead, and
    minimises an upper bound on its log loss by stochastic gradient descent, after Norouzi et al.
    (2015). Either way, the fitted tree routes hard, and the greedy tree of depth `max_depth` is
    what it has to beat.

    Parameters
    ----------
    max_depth : int or None, default=8
        Largest number of splits between the root and a leaf of a tree that is grown. None sets no
        limit. "random_complete" makes no deeper trees than were seen to gain anything: 8, or what
        gives each class 32 leaves. A tree given as `init` keeps its depth.
    init : str, Initializer, Tree or fitted estimator, default="auto"
        What the optimizers start from: the name of a grower, such as "info_gain", "co2" or
        "random_complete", or a grower (see :mod:`ngdt.initializers`); a :class:`Tree`; or a fitted
        ngdt tree or scikit-learn decision tree for the same features and classes. Cloning drops the
        fitted state of an estimator, so in a grid search pass a `Tree`. "auto" is what suits the
        first optimizer: "random_complete" for soft training, "info_gain" for all others and for
        none.
    optimizer : str, Optimizer, list of these, or None, default="auto"
        What improves the start: a name, such as "annealed", "ssgd", "sgd", "end_to_end" or
        "regrow", or an object (see :mod:`ngdt.optimizers`). A list runs in order. None keeps the
        start: the greedy tree. "auto" is "annealed" up to 4096 features where `init`
        is "auto" too, and "ssgd" beyond, and where there is a tree to build on.
    loss : str, Loss or None, default=None
        Loss of a leaf (see :mod:`ngdt.losses`). None is the log loss. Soft training follows its own
        likelihood; there, the loss only sets the values of the leaves at the end.
    validation_fraction : float in [0, 1), "auto" or None, default="auto"
        Share of the rows, by class, that optimizers do not train on: half of them choose epochs
        and subtrees, half decide whether the result beats its baseline. That is the start, or the
        greedy tree where ``init="auto"``. "auto" is 0.1 from 2000 rows on and 0 below, and up to
        20 000 rows 3-fold cross-validation decides instead. 0 and None hold out nothing and keep
        what the optimizers made. A tree given as `init` does not compete.
    class_weight : dict, "balanced" or None, default=None
        Weight of each label, multiplied with the weights of the rows. "balanced" gives each class
        the same total.
    standardize : {"auto", "global", True, False}, default="auto"
        How features are scaled while split weights are trained: each by its spread (True), all by
        one number ("global"), not at all, or whichever suits ("auto"). The scaling is folded into
        the result: `tree_` works on raw features. Sparse data are scaled, never centred.
    n_jobs : int or None, default=None
        Number of threads, as in joblib. The tree does not depend on it.
    verbose : int, default=0
        Positive prints a line per epoch.
    callback : callable or None, default=None
        Called after each epoch with a dict of the epoch's metrics.
    warm_start : bool, default=False
        Whether `fit` starts from the tree of the fit before instead of `init`.
    random_state : int, RandomState or None, default=None
        Seed of the held-out rows, of random starts and of the optimizers.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    n_classes_ : int
        Number of labels.
    n_outputs_ : int
        Always 1.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Names of the features, where X had such.
    tree_ : Tree
        The tree. A leaf value is an unnormalised log-probability per class.
    history_ : dict of lists
        One entry per epoch: `step` is the optimizer, the others are what it recorded, NaN where it
        recorded none.
    n_iter_ : int
        Number of epochs.
    baseline_kept_ : bool
        Whether the baseline, which is the start or, with ``init="auto"``, the greedy tree, was kept
        because the trained tree was not clearly better on held-out rows or folds.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in the splits: ``|weight|`` times standard deviation of the feature,
        normalised in each node and averaged over the nodes by the weight of the rows that reach
        them. The sum is 1, or 0 for a tree without splits.

    References
    ----------
    M. Norouzi, M. Collins, M. Johnson, D. Fleet, P. Kohli. "Efficient non-greedy optimization of
    decision trees." NIPS 2015.

    T. M. Hehn, J. F. P. Kooij, F. A. Hamprecht. "End-to-end learning of decision trees and
    forests." International Journal of Computer Vision 128, 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import ObliqueTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ObliqueTreeClassifier(max_depth=2, optimizer=None).fit(X, y)
    >>> tree.tree_
    Tree(n_internal=2, n_leaves=3, n_features=4, n_outputs=3, max_depth=2)
    >>> tree.predict(X[:2])
    array([0, 0])
    """

    _default_loss = "log"
    _finishing_steps = (Regrow(),)
    _y_form: Mapping[str, bool] = {}

    __metadata_request__predict_proba: ClassVar[dict] = {"check_input": UNUSED}
    __metadata_request__predict_log_proba: ClassVar[dict] = {"check_input": UNUSED}

    _parameter_constraints: ClassVar[dict] = {
        **_ObliqueTree._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        max_depth: int | None = 8,
        *,
        init: "str | Initializer | Tree | BaseEstimator" = "auto",
        optimizer: "str | Optimizer | Sequence[str | Optimizer] | None" = "auto",
        loss: str | Loss | None = None,
        validation_fraction: float | Literal["auto"] | None = "auto",
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        standardize: bool | Literal["auto", "global"] = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[dict], Any] | None = None,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.max_depth = max_depth
        self.init = init
        self.optimizer = optimizer
        self.loss = loss
        self.validation_fraction = validation_fraction
        self.class_weight = class_weight
        self.standardize = standardize
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.warm_start = warm_start
        self.random_state = random_state

    @available_if(_has_optimizer)
    @_fit_context(prefer_skip_nested_validation=False)
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Run the optimizer on these rows, from the tree there is.

        The first call grows the start, as `fit` does. No rows are held out. Not available with
        ``optimizer=None``. Soft training, the default, runs its whole schedule at each call and
        keeps only branches and leaves of the rows it is given: for rows that come bit by bit,
        choose "ssgd".

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever occur. Needed at the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Not negative; a row of weight zero takes no part.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        resume = hasattr(self, "tree_")
        if not resume and classes is None:
            raise ValueError("classes must be given at the first call of partial_fit")
        if classes is not None:
            classes = np.unique(classes)
            if resume and not np.array_equal(classes, self.classes_):
                raise ValueError(
                    f"classes={classes} differ from those of the first call, {self.classes_}")
        return self._fit(X, y, sample_weight, resume, False, None, classes)

    def predict(self, X: ArrayLike, check_input: bool = True) -> np.ndarray:
        """Most probable label of each sample.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        check_input : bool, default=True
            As for `apply`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        best = self._values(X, check_input).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: ArrayLike, check_input: bool = True) -> np.ndarray:
        """Probability of each label: the softmax of the leaf values.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        check_input : bool, default=True
            As for `apply`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        return softmax(self._values(X, check_input), axis=1)

    def predict_log_proba(self, X: ArrayLike, check_input: bool = True) -> np.ndarray:
        """Logarithm of the probability of each label.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        check_input : bool, default=True
            As for `apply`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        return log_softmax(self._values(X, check_input), axis=1)

    def _read_targets(self, y, weight, resume, classes):
        check_classification_targets(y)
        found, targets = np.unique(y, return_inverse=True)
        known = self.classes_ if resume else found if classes is None else classes
        if known is not found:
            unknown = np.setdiff1d(found, known)
            if unknown.size:
                raise ValueError(f"y holds the labels {unknown}, but the classes are {known}")
            targets = np.searchsorted(known, found)[targets]
        self.classes_ = known
        self.n_classes_ = len(known)
        self.n_outputs_ = 1
        return targets, len(known)

    def _weigh(self, targets, weight):
        if self.class_weight is None:
            return weight
        if self.class_weight == "balanced":
            total = np.bincount(targets, weights=weight, minlength=self.n_classes_)
            # A class without weight has no row that could be scaled up.
            by_class = total.sum() / np.count_nonzero(total) / np.where(total == 0, 1, total)
        else:
            with error_prefix("class_weight"):
                by_class = compute_class_weight(
                    self.class_weight, classes=self.classes_, y=self.classes_)
            if (by_class < 0).any() or not np.isfinite(by_class).all():
                raise ValueError("class_weight must be finite and not negative")
        weight = weight * by_class[targets]
        if not weight.any():
            raise ValueError("class_weight and sample_weight leave no sample with a weight")
        return weight


class ObliqueTreeRegressor(RegressorMixin, _ObliqueTree):
    """Regression tree with oblique splits and constant leaves, trained as a whole.

    All splits and leaves of a start (`init`) are improved together by one or more optimizers
    (`optimizer`). The default grows the start greedily and minimises an upper bound on the squared
    error of the tree by stochastic gradient descent, after Norouzi et al. (2015).

    Parameters
    ----------
    max_depth : int or None, default=8
        Largest number of splits between the root and a leaf of a tree that is grown. None sets no
        limit. A tree given as `init` keeps its depth.
    init : str, Initializer, Tree or fitted estimator, default="auto"
        What the optimizers start from: the name of a grower, such as "info_gain", "co2" or
        "random_complete", or a grower (see :mod:`ngdt.initializers`); a :class:`Tree`; or a fitted
        ngdt tree or scikit-learn decision tree for the same features and targets. Cloning drops the
        fitted state of an estimator, so in a grid search pass a `Tree`. "auto" is what suits the
        first optimizer: "random_complete" for soft training, "info_gain" for all others and for
        none.
    optimizer : str, Optimizer, list of these, or None, default="auto"
        What improves the start: a name, such as "ssgd", "sgd", "annealed" or "regrow", or an object
        (see :mod:`ngdt.optimizers`). A list runs in order. None keeps the start: the greedy tree.
        "auto" is "ssgd".
    loss : str, Loss or None, default=None
        Loss of a leaf (see :mod:`ngdt.losses`). None is the squared loss. Soft training follows the
        likelihood of normal leaves; there, the loss only sets their values at the end.
    validation_fraction : float in [0, 1), "auto" or None, default="auto"
        Share of the rows that optimizers do not train on: half of them choose epochs and subtrees,
        half decide whether the result beats its baseline. That is the start, or the greedy tree where
        ``init="auto"``. "auto" is 0.1 from 2000 rows on and 0 below, and up to 20 000 rows 3-fold
        cross-validation decides instead. 0 and None hold out nothing and keep what the optimizers
        made. A tree given as `init` does not compete.
    standardize : {"auto", "global", True, False}, default="auto"
        How features are scaled while split weights are trained: each by its spread (True), all by
        one number ("global"), not at all, or whichever suits ("auto"). The scaling is folded into
        the result: `tree_` works on raw features. Sparse data are scaled, never centred.
    n_jobs : int or None, default=None
        Number of threads, as in joblib. The tree does not depend on it.
    verbose : int, default=0
        Positive prints a line per epoch.
    callback : callable or None, default=None
        Called after each epoch with a dict of the epoch's metrics.
    warm_start : bool, default=False
        Whether `fit` starts from the tree of the fit before instead of `init`.
    random_state : int, RandomState or None, default=None
        Seed of the held-out rows, of random starts and of the optimizers.

    Attributes
    ----------
    n_outputs_ : int
        Number of targets.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Names of the features, where X had such.
    tree_ : Tree
        The tree. Leaf values are in the units of y.
    history_ : dict of lists
        One entry per epoch: `step` is the optimizer, the others are what it recorded, NaN where it
        recorded none. Losses are those of the standardised targets.
    n_iter_ : int
        Number of epochs.
    baseline_kept_ : bool
        Whether the baseline, which is the start or, with ``init="auto"``, the greedy tree, was kept
        because the trained tree was not clearly better on held-out rows or folds.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in the splits: ``|weight|`` times standard deviation of the feature,
        normalised in each node and averaged over the nodes by the weight of the rows that reach
        them. The sum is 1, or 0 for a tree without splits.

    Notes
    -----
    Each target is standardised while the tree is trained, and leaf values are brought back
    afterwards: step sizes and bounds mean the same in all units. Later calls of `partial_fit`, and
    of `fit` with `warm_start`, keep the centre and the scale of the first.

    References
    ----------
    M. Norouzi, M. Collins, M. Johnson, D. Fleet, P. Kohli. "Efficient non-greedy optimization of
    decision trees." NIPS 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from ngdt import ObliqueTreeRegressor
    >>> X, y = np.arange(20.0).reshape(-1, 1), np.repeat([1.0, 5.0], 10)
    >>> tree = ObliqueTreeRegressor(max_depth=1, optimizer=None).fit(X, y)
    >>> tree.tree_
    Tree(n_internal=1, n_leaves=2, n_features=1, n_outputs=1, max_depth=1)
    >>> tree.predict([[0.5], [15.0]])
    array([1., 5.])
    """

    _default_loss = "squared"
    _finishing_steps = (Regrow(min_samples_leaf=5), ShrinkLeaves())
    _y_form: Mapping[str, bool] = {"multi_output": True, "y_numeric": True}

    def __init__(
        self,
        max_depth: int | None = 8,
        *,
        init: "str | Initializer | Tree | BaseEstimator" = "auto",
        optimizer: "str | Optimizer | Sequence[str | Optimizer] | None" = "auto",
        loss: str | Loss | None = None,
        validation_fraction: float | Literal["auto"] | None = "auto",
        standardize: bool | Literal["auto", "global"] = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[dict], Any] | None = None,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.max_depth = max_depth
        self.init = init
        self.optimizer = optimizer
        self.loss = loss
        self.validation_fraction = validation_fraction
        self.standardize = standardize
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.warm_start = warm_start
        self.random_state = random_state

    @available_if(_has_optimizer)
    @_fit_context(prefer_skip_nested_validation=False)
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Run the optimizer on these rows, from the tree there is.

        The first call grows the start, as `fit` does. No rows are held out. Not available with
        ``optimizer=None``.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            Not negative; a row of weight zero takes no part.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight, hasattr(self, "tree_"), False, None)

    def predict(self, X: ArrayLike, check_input: bool = True) -> np.ndarray:
        """Value of the leaf that each sample reaches.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        check_input : bool, default=True
            As for `apply`.

        Returns
        -------
        ndarray of shape (n_samples,) or, for several targets, (n_samples, n_outputs)
        """
        values = self._values(X, check_input)
        return values[:, 0] if self.n_outputs_ == 1 else values

    def _read_targets(self, y, weight, resume, classes):
        if sparse.issparse(y):
            raise TypeError("y must be a dense array, got a sparse matrix")
        targets = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        n_outputs = targets.shape[1]
        if resume and n_outputs != self.n_outputs_:
            raise ValueError(
                f"y has {n_outputs} targets, but the tree to start from has {self.n_outputs_}")
        if not resume:
            self.n_outputs_ = n_outputs
            self._center, self._scale = _center_and_scale(targets, weight)
        return (targets - self._center) / self._scale, n_outputs

    def _into_training(self, tree):
        return tree.replace(values=(tree.values - self._center) / self._scale)

    def _out_of_training(self, tree):
        return tree.replace(values=tree.values * self._scale + self._center)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _is_auto(value):
    return isinstance(value, str) and value == "auto"


# What a parameter may be beside a name.
_KINDS = {
    "init": "an Initializer, a Tree, a fitted estimator of this package, a fitted scikit-learn "
            "decision tree",
    "optimizer": "None, an Optimizer, a list of these",
}


def _named(parameter, value, registry, base):
    """The object that a name or an object stands for."""
    if isinstance(value, str):
        if value not in registry:
            raise ValueError(f"{parameter}={value!r} is unknown; known are {sorted(registry)}")
        return registry[value]()
    if not isinstance(value, base):
        forgot = isinstance(value, type) and issubclass(value, base)
        hint = f": pass an object, {value.__name__}()" if forgot else ""
        raise TypeError(
            f"{parameter} must be {_KINDS[parameter]} or one of {sorted(registry)}, "
            f"got {value!r}{hint}")
    return value


def _center_and_scale(y, weight):
    """Weighted mean and standard deviation of each target; the scale of a constant one is 1."""
    # In units of a power of two no square overflows, and nothing is rounded.
    unit = power_of_two(np.abs(y).max(axis=0))
    y = y / unit
    center = np.average(y, axis=0, weights=weight)
    scale = np.sqrt(np.average((y - center) ** 2, axis=0, weights=weight))
    # The mean of equal numbers need not be that number to the last bit.
    constant = scale <= 1e-14 * np.abs(center)
    return unit * center, np.where(constant, 1.0, unit * scale)
