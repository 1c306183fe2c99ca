"""Classification trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.metaestimators import available_if

from ngdt._encoding.targets import check_classes
from ngdt._estimators.base import ObliqueTree
from ngdt._estimators.data import ClassifierData
from ngdt._estimators.resolve import check_has_optimizer
from ngdt.optimizers import LinearLeaves


@dataclass(eq=False, repr=False, kw_only=True)
class ObliqueTreeClassifier(ClassifierMixin, ClassifierData, ObliqueTree):
    """Classification tree with oblique splits and constant or linear leaves, trained as a whole.

    All splits and leaves of an initial tree (`init`) are improved together by one or more
    optimizers (`optimizer`). By default, several trees compete on samples that they were not
    trained on, and the winner is trained on all: what tree alternating optimization makes of the
    greedy tree (Carreira-Perpiñán & Tavallali, 2018), which is preferred; for two classes, a
    logistic regression, cut into bands of its score; complete trees that route softly while routing
    becomes hard, after Hehn et al. (2020); and the greedy tree itself, pruned by cost complexity.
    `candidates_` has their errors. The rule is in the user guide, "What is trained by default".

    Parameters
    ----------
    max_depth : int, None or "auto", default="auto"
        Largest number of splits between the root and a leaf of a tree that is grown. None sets no
        limit, and "auto" none where held-out samples choose the size: where trees compete, and for
        `init` "pruned" or "model_tree" without an optimizer. Elsewhere, "auto" is 8, or the depth
        that gives each class 32 leaves, but no more leaves than samples, if that is larger;
        "random_complete" makes no deeper trees. A tree given as `init` keeps its depth.
    min_samples_split : int or float, default=2
        Least number of training samples of a node that is split; a float is a share of all samples.
        Sample weights do not count, as in scikit-learn.
    min_samples_leaf : int or float, default=1
        Least number of training samples in a leaf of the fitted tree; a float is a share of all.
    min_weight_fraction_leaf : float, default=0.0
        Least share of the weight of all training samples in a leaf of the fitted tree, at most 0.5.
    max_leaf_nodes : int or None, default=None
        Largest number of leaves of the fitted tree. None sets no limit.
    min_impurity_decrease : float, default=0.0
        Least decrease of the entropy, in bits, by a split, times the share of the samples,
        by weight, that reach it.
    ccp_alpha : float, default=0.0
        Cost of a leaf in minimal cost-complexity pruning, in bits: of all subtrees of the trained
        tree, the one with the least sum of the entropy and `ccp_alpha` times the number of leaves
        is chosen. 0 prunes nothing. See `cost_complexity_pruning_path`.
    init : str, Initializer, Tree or fitted estimator, default="auto"
        The initial tree: the name of an initializer, such as "info_gain", "co2" or
        "random_complete", or an object (see :mod:`ngdt.initializers`); a :class:`Tree`; or a fitted
        ngdt tree or scikit-learn decision tree for the same features and classes. Cloning drops the
        fitted state of an estimator, so in a grid search pass a `Tree`. "auto" depends on the first
        optimizer: "random_complete" for soft training, "greedy_lp" for "gto", and "info_gain" for
        all others and for none. Where its tree competes and `max_depth` is "auto", the pruned tree
        takes the place of a greedy one.
    optimizer : str, Optimizer, list of these, or None, default="auto"
        Improves the initial tree: a name, such as "tao", "annealed", "ssgd", "end_to_end" or
        "regrow", or an object (see :mod:`ngdt.optimizers`). A list is run in order. None keeps the
        initial tree, by default the greedy one. With "auto", trees compete if `init` is "auto",
        too. Otherwise, and to continue from a fitted tree, "auto" is "ssgd".
    loss : str, Loss or None, default=None
        Loss of a leaf: "log_loss", "bounded", or an object (see :mod:`ngdt.losses`). None is
        "log_loss". Soft training minimises a loss of its own; there, this loss only sets the values
        of the leaves at the end.
    leaf : {"auto", "constant", "linear"} or LinearLeaves, default="constant"
        What a leaf predicts: constant probabilities, or a logistic regression, with logits that are
        weighted sums of the features. "auto" lets both compete by default, where a
        linear model alone, a tree of one leaf, is preferred; it is "constant" where `init` or
        `optimizer` is given. With "linear", :class:`ngdt.optimizers.LinearLeaves` comes after the
        given optimizers; such an object says which features leaves use, and their penalty.
    monotonic_cst : array-like of int, dict of int or None, default=None
        For each column of X, 1 if the probability of the second of two classes must not fall where
        the column rises, -1 if it must not rise, 0 otherwise; a dict gives columns by name, the
        others are 0. It holds for all inputs: see :ref:`monotone`. Columns of categories must be 0.
        Linear leaves share their slopes.
    standardize : {"auto", "global", True, False}, default="auto"
        How features are scaled while split weights are trained: each by its spread (True), all by
        one number ("global"), or not at all (False). "auto" is "global" for dense data whose
        features have about the same range, and True otherwise. The scaling is folded into the
        result: `tree_` takes raw features. Sparse data are scaled, never centred. Unless this is
        False, values that are far from all others count as less far while splits are trained.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns of categories: names, indices or a mask. "from_dtype" takes the columns of a data
        frame whose type is category, enum or string. None takes none. Each category becomes an
        indicator feature; categories of fewer than five samples share one, and so do those that are
        unknown in training. A missing value is a category if it tells something of y.
    max_time : float or None, default=None
        Seconds that `fit` may take. If they do not suffice, training is shortened, and the fitted
        tree depends on the speed of the machine. `partial_fit` ignores it.
    checkpoint : str, os.PathLike or None, default=None
        File in which `fit` keeps what it has trained. If the process is killed, `fit` with the same
        file, data and parameters goes on from there, to the same tree. The file is removed at the
        end. See :ref:`checkpoints`. `partial_fit` ignores it.
    n_jobs : int or None, default=None
        Number of threads, as in joblib. The tree does not depend on it.
    verbose : int, default=0
        1 prints a line a second: what is being done, which share of it is done, and the time left.
        2 also prints the metrics of each epoch.
    warm_start : bool, default=False
        Whether `fit` takes the tree of the previous fit as the initial tree, instead of `init`.
    random_state : int, RandomState or None, default=None
        Seed of the validation samples, of random initial trees and of the optimizers.
    validation_fraction : float in [0, 1), "auto" or None, default="auto"
        Samples that are held out to choose by. With "auto", trees compete on three folds or, from
        2000 samples on, on a third of the samples, and the winner is trained on all: the default
        trees or, with an `optimizer` but no `init`, its tree and the pruned one. With an `init`,
        nothing competes; of 2000 or more samples, a tenth is not trained on, but chooses epochs and
        subtrees. A number is a share of the samples of each class, in place of the folds. With an
        `optimizer`, nothing competes on these samples: they are not trained on, and choose epochs
        and subtrees. 0 and None hold out nothing: the given method, or the preferred one of the
        default trees, is trained on all samples. With `X_val` in `fit`, no sample of X is held out.
    callback : callable or None, default=None
        Called after each epoch with a dict of the epoch's metrics, but not while trees compete.
    class_weight : dict, "balanced" or None, default=None
        Weight of each label, by which sample weights are multiplied; 1 for labels that the dict
        lacks. "balanced" gives each class the same total weight.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    n_classes_ : int
        Number of labels.
    n_outputs_ : int
        Always 1.
    n_features_in_ : int
        Number of features, that is of columns of X.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Names of the features, if X had names.
    encoded_monotonic_cst_ : ndarray of int8, shape (n_encoded_features,)
        `monotonic_cst` of the features of `tree_`, for :func:`ngdt.inference.is_monotone`.
    encoded_feature_names_ : list of str
        Names of the features of `tree_`: columns of numbers, indicators of missing numbers, and
        categories. See `encode`.
    tree_ : Tree
        The tree. A leaf value is an unnormalised log-probability per class; with linear leaves,
        slopes times the features are added to it.
    n_node_samples_ : ndarray of int, shape (n_internal + n_leaves,)
        Number of training samples at each internal node of `tree_`, then at each leaf. Validation
        samples are counted. Samples of weight 0, and those that `max_time` left out, are not.
    kind_ : str
        Kind of the tree: "single leaf" or "linear model", if it has one leaf, without or with
        slopes; "tree trained as a whole by TAO", with the names of the optimizers; "pruned greedy
        tree", "score bands", "model tree", or what else its initializer makes; or "given tree".
        See `summary`.
    history_ : dict of lists
        One entry per epoch. `optimizer` is the name of the optimizer. The other columns are
        metrics, NaN where the optimizer does not record them.
    n_iter_ : int
        Number of epochs.
    candidates_ : dict of lists
        One entry per tree that competed: by default, and where an `optimizer`, but neither `init`
        nor `validation_fraction` was given; else empty. ``candidate`` is its name, ``error`` the
        share of misclassified samples among those that it was not trained on, ``standard_error``
        the error's own, ``log_loss`` the log loss on these samples with probabilities of at least
        1e-6, ``lead`` how many standard errors of the difference it is better than the first one,
        in squared errors of the probabilities (Brier score), ``n_leaves`` the mean number of
        leaves, ``n_folds`` the number of folds after which it left the race or won, ``chosen``
        whether it won, and ``shrinkage`` how strongly its leaves are drawn to the nodes above, in
        samples. Where a winner failed, ``failed`` says which: it had more error when all samples
        were trained on, or no split, and gave way. Only errors of the same ``n_folds`` can be
        compared.
    baseline_kept_ : bool
        Whether the fitted tree is not a trained one: the pruned greedy tree or a single leaf, which
        won; or, where nothing competed, the initial tree, as the training made it worse. If
        `optimizer` was given, `fit` warns of it.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in what the tree gains: ``|weight|`` times standard deviation of the
        feature, normalised in each node and averaged over the nodes, weighted by how much each
        split decreases the entropy of its training samples. A linear leaf counts as one more node,
        by its slopes and the log loss that they save. A column has the sum over its features.
        The sum is 1, or 0 for a tree without splits and slopes.

    References
    ----------
    M. Norouzi, M. Collins, M. Johnson, D. Fleet, P. Kohli. "Efficient non-greedy optimization of
    decision trees." NIPS 2015.

    M. Á. Carreira-Perpiñán, P. Tavallali. "Alternating optimization of decision trees, with
    application to learning sparse oblique trees." NeurIPS 2018.

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

    __metadata_request__predict_proba: ClassVar[dict] = {"check_input": UNUSED}
    __metadata_request__predict_log_proba: ClassVar[dict] = {"check_input": UNUSED}

    _parameter_constraints: ClassVar[dict] = {
        **ObliqueTree._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    leaf: Literal["auto", "constant", "linear"] | LinearLeaves = "constant"
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None

    @available_if(check_has_optimizer)
    @_fit_context(prefer_skip_nested_validation=False)
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike | None = None, classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Run the optimizer on these samples, from the present tree.

        The first call makes the initial tree, as `fit` does. There are no validation samples. Not
        available with ``optimizer=None``. With "auto", the optimizer is "ssgd". With
        ``Annealed(expected_samples=...)``, soft training goes on from call to call. Without
        `expected_samples`, it runs its whole schedule at each call, and keeps only branches and
        leaves that the given samples reach.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,), default=None
            All labels that may occur. Required at the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Not negative; samples of weight zero are ignored.

        Returns
        -------
        self : object
            The fitted estimator. Its leaves are constant.

        Raises
        ------
        ValueError
            With ``leaf="linear"``: slopes cannot be fitted to samples that come in batches. With
            `expected_samples`, if so many have been given, or if the present tree is not of a
            `partial_fit` with it.
        KeyboardInterrupt
            By Ctrl-C, which ends the loop around the call, too. The estimator has the best tree so
            far, if there is one.

        Warns
        -----
        UserWarning
            If the present tree has linear leaves, which are replaced by constant ones, or is
            fitted to fewer than 50 samples.
        """
        resume = hasattr(self, "tree_")
        if not resume and classes is None:
            raise ValueError(
                "classes must be given at the first call of partial_fit: a list of all labels that "
                "will come, such as those of np.unique(y)")
        if classes is not None:
            classes = check_classes(classes)
            if resume and not np.array_equal(classes, self.classes_):
                raise ValueError(
                    f"classes={classes} differ from those of the first call, {self.classes_}: "
                    "leave classes out, or begin with a clone of the estimator")
        return self._partial_fit(X, y, sample_weight, classes)

    def predict(self, X: ArrayLike, check_input: bool = True) -> np.ndarray:
        """Most probable label of each sample.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
        check_input : bool, default=True
            As for `apply`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        best = self._of_predictions(np.argmax, X, check_input)
        return self.classes_[best]

    def predict_proba(self, X: ArrayLike, check_input: bool = True) -> np.ndarray:
        """Probability of each label: the softmax of the leaf values.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
        check_input : bool, default=True
            As for `apply`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        return self._of_predictions(softmax, X, check_input)

    def predict_log_proba(self, X: ArrayLike, check_input: bool = True) -> np.ndarray:
        """Logarithm of the probability of each label.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
        check_input : bool, default=True
            As for `apply`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        return self._of_predictions(log_softmax, X, check_input)

    def _of_predictions(self, function, X, check_input):
        """A function of the predictions along the classes."""
        tree, leaf, predictions = self._route(X, check_input, predict=True)
        if predictions is not None:
            return function(predictions, axis=1)
        if tree.n_leaves < len(leaf):
            # Once for each leaf: for each sample, it took as long as to route it.
            return function(tree.values, axis=1)[leaf]
        return function(tree.values[leaf], axis=1)
