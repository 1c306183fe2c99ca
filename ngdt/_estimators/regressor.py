"""Regression trees."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ngdt._core.quantiles import check_quantiles
from ngdt._estimators.base import ObliqueTree
from ngdt._estimators.data import RegressorData
from ngdt._estimators.resolve import check_has_optimizer


@dataclass(eq=False, repr=False)
class ObliqueTreeRegressor(RegressorData, ObliqueTree):
    """Regression tree with oblique splits and constant or linear leaves, trained as a whole.

    All splits and leaves of an initial tree (`init`) are improved together by one or more
    optimizers (`optimizer`). By default, several trees compete on samples that they were not
    trained on, and the winner is trained on all: a greedy tree with a ridge regression in each
    leaf, and what tree alternating optimization makes of it (Carreira-Perpiñán & Tavallali, 2018),
    which is preferred; a complete tree with linear leaves that routes softly while routing becomes
    hard; and the greedy tree pruned by cost complexity. Where linear leaves are not wanted or take
    too long, trees with constant leaves compete. A linear model alone, a tree of one leaf, wins
    only if it is clearly better than the best tree with splits, and the mean of y if no tree is
    clearly better. `candidates_` has the errors. The rule is in the user guide, "What is trained by
    default".

    Parameters
    ----------
    max_depth : int, None or "auto", default="auto"
        Largest number of splits between the root and a leaf of a tree that is grown. None sets no
        limit, and "auto" none where held-out samples choose the size: where trees compete, and for
        `init` "pruned" or "model_tree" without an optimizer. Elsewhere, "auto" is 8. A tree given
        as `init` keeps its depth.
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
        Least decrease of the mean of the loss, by default the squared error, by a split, times the
        share of the samples, by weight, that reach it. Several targets have the same influence,
        each in units of its variance.
    ccp_alpha : float, default=0.0
        Cost of a leaf in minimal cost-complexity pruning: of all subtrees of the trained tree, the
        one with the least sum of the mean loss and `ccp_alpha` times the number of leaves is
        chosen. 0 prunes nothing. Several targets count as for `min_impurity_decrease`. See
        `cost_complexity_pruning_path`.
    init : str, Initializer, Tree or fitted estimator, default="auto"
        The initial tree: the name of an initializer, such as "info_gain", "co2" or
        "random_complete", or an object (see :mod:`ngdt.initializers`); a :class:`Tree`; or a fitted
        ngdt tree or scikit-learn decision tree for the same features and targets. Cloning drops the
        fitted state of an estimator, so in a grid search pass a `Tree`. "auto" depends on the first
        optimizer: "random_complete" for soft training, and "info_gain" for all others and for none.
        Where its tree competes and `max_depth` is "auto", the pruned tree takes the place of a
        greedy one.
    optimizer : str, Optimizer, list of these, or None, default="auto"
        Improves the initial tree: a name, such as "tao", "annealed", "ssgd" or "regrow", or an
        object (see :mod:`ngdt.optimizers`). A list is run in order. None keeps the initial tree, by
        default the greedy one. With "auto", trees compete if `init` is "auto", too. Otherwise, and
        to continue from a fitted tree, "auto" is "ssgd".
    loss : str, Loss or None, default=None
        Loss of a leaf, by which trees are compared and pruned, too: "squared_error" (a leaf
        predicts the mean), "absolute_error" (the median), "quantile" (see `QuantileLoss`), "huber",
        "poisson" (for targets that are not negative), or an object (see :mod:`ngdt.losses`). None
        is "squared_error".
    leaf : {"auto", "constant", "linear"} or LinearLeaves, default="auto"
        What a leaf predicts: a constant, or a weighted sum of the features that stays in the range
        of the leaf's training targets. "auto" lets both compete by default, and is "constant" where
        `init` or `optimizer` is given. With "linear", :class:`ngdt.optimizers.LinearLeaves` comes
        after the given optimizers; such an object says which features leaves use, and their
        penalty.
    monotonic_cst : array-like of int, dict of int or None, default=None
        For each column of X, 1 if the prediction must not fall where the column rises, -1 if it
        must not rise, 0 otherwise; a dict gives columns by name, the others are 0. It holds for all
        inputs: see :ref:`monotone`. There must be one target, and columns of categories must be 0.
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
        subtrees. A number is a share of the samples, in place of the folds. With an `optimizer`,
        nothing competes on these samples: they are not trained on, and choose epochs and subtrees.
        0 and None hold out nothing: the given method, or the preferred one of the default trees, is
        trained on all samples. With `X_val` in `fit`, no sample of X is held out.
    callback : callable or None, default=None
        Called after each epoch with a dict of the epoch's metrics, but not while trees compete.

    Attributes
    ----------
    n_outputs_ : int
        Number of targets.
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
        The tree. Leaf values are in the units of y.
    n_node_samples_ : ndarray of int, shape (n_internal + n_leaves,)
        Number of training samples at each internal node of `tree_`, then at each leaf. Validation
        samples are counted. Samples of weight 0, and those that `max_time` left out, are not.
    kind_ : str
        Kind of the tree: "single leaf" or "linear model", if it has one leaf, without or with
        slopes; "tree trained as a whole by TAO", with the names of the optimizers; "pruned greedy
        tree", "greedy tree", "model tree", or what else its initializer makes; or "given tree".
        See `summary`.
    history_ : dict of lists
        One entry per epoch. `optimizer` is the name of the optimizer. The other columns are
        metrics, NaN where the optimizer does not record them. Losses are measured on standardised
        targets.
    n_iter_ : int
        Number of epochs.
    candidates_ : dict of lists
        One entry per tree that competed: by default, and where an `optimizer`, but neither `init`
        nor `validation_fraction` was given; else empty. ``candidate`` is its name, ``error`` its
        mean error on samples that it was not trained on (the loss of the standardised targets,
        summed over several; the squared error is in units of the variance of y),
        ``standard_error`` the error's own, ``lead`` how many standard errors of the difference it
        is better than the first one, ``n_leaves`` the mean number of leaves, ``n_folds`` the number
        of folds after which it left the race or won, and ``chosen`` whether it won. Where a winner
        failed, ``failed`` says which: it had more error when all samples were trained on, or no
        split, and gave way. Only errors of the same ``n_folds`` can be compared.
    baseline_kept_ : bool
        Whether the fitted tree is not a trained one: the pruned greedy tree or a single leaf, which
        won; or, where nothing competed, the initial tree, as the training made it worse. If
        `optimizer` was given, `fit` warns of it.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in what the tree gains: ``|weight|`` times standard deviation of the
        feature, normalised in each node and averaged over the nodes, weighted by how much each
        split decreases the squared error of its training samples (for other losses, of the targets
        of greedy splits, such as ranks). A linear leaf counts as one more node, by its
        slopes and the error that they save. A column has the sum over its features. The sum
        is 1, or 0 for a tree without splits and slopes.

    Notes
    -----
    Each target is standardised while the tree is trained, so that step sizes and bounds do not
    depend on its unit; for the Poisson loss, it is divided by its mean. Afterwards the leaf values
    are transformed back to predictions in the units of y. Later calls of
    `partial_fit`, and of `fit` with `warm_start`, keep the mean and the scale of the first call.

    References
    ----------
    M. Norouzi, M. Collins, M. Johnson, D. Fleet, P. Kohli. "Efficient non-greedy optimization of
    decision trees." NIPS 2015.

    M. Á. Carreira-Perpiñán, P. Tavallali. "Alternating optimization of decision trees, with
    application to learning sparse oblique trees." NeurIPS 2018.

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

    @available_if(check_has_optimizer)
    @_fit_context(prefer_skip_nested_validation=False)
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None,
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
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
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
        return self._partial_fit(X, y, sample_weight)

    def predict(self, X: ArrayLike, check_input: bool = True) -> np.ndarray:
        """Value of the leaf that each sample reaches.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
        check_input : bool, default=True
            As for `apply`.

        Returns
        -------
        ndarray of shape (n_samples,) or, for several targets, (n_samples, n_outputs)
        """
        tree, leaf, predictions = self._route(X, check_input, predict=True)
        values = tree.values[leaf] if predictions is None else predictions
        return values[:, 0] if self.n_outputs_ == 1 else values

    def predict_quantiles(
        self, X: ArrayLike, quantiles: ArrayLike = (0.1, 0.5, 0.9), check_input: bool = True
    ) -> np.ndarray:
        """Quantiles of the training targets in the leaf that each sample reaches.

        They are defined as by ``numpy.quantile(..., method="averaged_inverted_cdf")``, with sample
        weights. Validation samples count as training samples. In a leaf of more than 512 samples,
        512 targets stand for all, so that a quantile may be off by 0.1 percent of the samples.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
        quantiles : array-like of float, shape (n_quantiles,), default=(0.1, 0.5, 0.9)
            In [0, 1]. 0 is the least target, 1 the largest.
        check_input : bool, default=True
            As for `apply`.

        Returns
        -------
        ndarray of shape (n_samples, n_quantiles) or, for several targets, \
                (n_samples, n_quantiles, n_outputs)
            In the order of `quantiles`; a larger quantile is never smaller.

        Notes
        -----
        After `partial_fit`, only the targets of its last call count. A leaf that none of them
        reached has the quantiles of all.

        Examples
        --------
        >>> import numpy as np
        >>> from ngdt import ObliqueTreeRegressor
        >>> X, y = np.repeat([[0.0], [1.0]], 5, axis=0), np.arange(10.0)
        >>> tree = ObliqueTreeRegressor(max_depth=1, optimizer=None).fit(X, y)
        >>> tree.predict_quantiles([[0.0], [1.0]], [0.0, 0.5, 1.0])
        array([[0., 2., 4.],
               [5., 7., 9.]])
        """
        quantiles = check_quantiles(quantiles)
        check_is_fitted(self)
        self._check_tree_is_trained("predict_quantiles")
        tree, leaf, predictions = self._route(X, check_input, predict=True)
        reached, row = np.unique(leaf, return_inverse=True)
        predicted = self._leaf_quantiles.take(reached).quantiles(quantiles)[row]
        if predictions is not None:
            predicted += (predictions - tree.values[leaf])[:, None]
        return predicted[:, :, 0] if self.n_outputs_ == 1 else predicted
