"""Regression forests."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ngdt._core.quantiles import LeafQuantiles, check_quantiles
from ngdt._core.r2 import r2
from ngdt._estimators.data import RegressorData
from ngdt._estimators.regressor import ObliqueTreeRegressor
from ngdt._forest.base import ObliqueForest

# Number of targets that are sorted at a time, about.
MAX_POOLED = 1_000_000


@dataclass(eq=False, repr=False)
class ObliqueForestRegressor(RegressorData, ObliqueForest):
    """Forest of oblique regression trees, each trained as a whole.

    Each tree is trained by itself, and if wanted on samples and features of its own, by any
    initializer and optimizers of this package. The forest predicts the mean of their predictions.
    It is more accurate than a single tree, and larger and slower by the number of trees.

    Parameters
    ----------
    n_estimators : int, default=20
        Number of trees.
    max_depth : int or None, default=None
        Largest number of splits between the root and a leaf of a tree that is grown. None sets no
        limit. Complete initial trees of soft training have at most 8 levels, or as many as give
        each class 32 leaves, and those of TAO by default at most 8. A tree given as `init` keeps
        its depth.
    min_samples_split : int or float, default=2
        Least number of training samples of a node that is split; a float is a share of all samples.
        A sample that a tree has drawn several times counts once.
    min_samples_leaf : int or float, default=1
        Least number of training samples in a leaf of a tree; a float is a share of all.
    min_weight_fraction_leaf : float, default=0.0
        Least share of the weight of all training samples in a leaf of a tree, at most 0.5.
    max_leaf_nodes : int or None, default=None
        Largest number of leaves of a tree. None sets no limit.
    min_impurity_decrease : float, default=0.0
        Least decrease of the mean loss, by default the squared error, by a split, times the share
        of the samples, by weight, that reach it.
    ccp_alpha : float, default=0.0
        Cost of a leaf in minimal cost-complexity pruning of each tree, in the units of
        `min_impurity_decrease`. 0 prunes nothing.
    init : str, Initializer, Tree or fitted estimator, default="auto"
        The initial tree of each tree, as for `ObliqueTreeRegressor`. "auto" depends on the first
        optimizer: "random_complete" for soft training, and "info_gain" for all others and for none.
    optimizer : str, Optimizer, list of these, or None, default="auto"
        Trains each tree from its initial tree: a name or an object (see :mod:`ngdt.optimizers`), or
        a list, which is run in order. None keeps the initial trees. "auto" lets several kinds of
        trees compete if `init` is "auto", too: trees that are trained softly, trees that are
        trained by TAO, random trees with oblique or with axis-aligned splits, and models of a
        single leaf. A few of each are trained, and the forest gets the numbers of each kind for
        which its squared error is least, as estimated by trees of two thirds of the samples on the
        others. For the absolute, quantile and Huber losses, half of the trees are trained by TAO,
        and half are model trees, if leaves may be linear. For fewer than 8 trees, and with another
        `init`, "auto" is "tao" with ``C=10``.
    loss : str, Loss or None, default=None
        Loss of a leaf (see :mod:`ngdt.losses`). None is "squared_error".
    leaf : {"auto", "constant", "linear"} or LinearLeaves, default="auto"
        What a leaf predicts: a constant, or a weighted sum of the features that stays in the range
        of the leaf's training targets. "auto" lets trees with linear leaves and a ridge
        regression compete with the others if neither `init` nor `optimizer` is given, and is
        "constant" otherwise, and with `monotonic_cst`. :class:`ngdt.optimizers.LinearLeaves` is
        "linear", with its features and penalty.
    monotonic_cst : array-like of int, dict of int or None, default=None
        For each column of X, 1 if the prediction must not fall where the column rises, -1 if it
        must not rise, 0 otherwise, as for `ObliqueTreeRegressor`: each tree is monotone, and so is
        their mean. See :ref:`monotone`.
    standardize : {"auto", "global", True, False}, default="auto"
        How features are scaled while split weights are trained, as for `ObliqueTreeRegressor`.
        The scaling is that of all samples, for all trees.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns of categories: names, indices or a mask. "from_dtype" takes the columns of a data
        frame whose type is category, enum or string. None takes none.
    max_time : float or None, default=None
        Seconds that `fit` may take. If they do not suffice, there are fewer trees, but at least
        one, and the forest depends on the speed of the machine.
    checkpoint : str, os.PathLike or None, default=None
        File in which `fit` keeps the trees that are trained. If the process is killed, `fit` with
        the same file, data and parameters trains the others, to the same forest. The file is
        removed at the end. See :ref:`checkpoints`.
    n_jobs : int or None, default=None
        Number of trees that are trained at the same time, each in a thread, and of threads that
        predict. The results do not depend on it.
    verbose : int, default=0
        1 prints a line a second: what is being done, which share of it is done, and the time left.
        2 also prints how good each kind of trees is.
    warm_start : bool, default=False
        Whether `fit` keeps the trees of the previous fit and adds those that are missing to
        `n_estimators`. Give it the same data. The shares of the kinds that competed stay.
    random_state : int, RandomState or None, default=None
        Seed of all that is drawn. With the same int and a given optimizer, the first trees of a
        larger forest are those of a smaller one.
    bootstrap : bool or "auto", default="auto"
        Whether the samples of each tree are drawn with replacement. If not, each tree is trained on
        all samples, or on `max_samples` different ones. "auto" is False where kinds of trees
        compete, which differ without it, and True with `oob_score`, or if `init` or `optimizer` is
        given.
    max_samples : int, float or None, default=None
        Number of samples that are drawn for each tree; a float is a share of all. None draws as
        many as there are. At most ten million, or as many as there are.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of columns of X that each tree is trained on, drawn at random; a float is a share of
        all, rounded down. None takes all. Features that a column is encoded as go together.
    oob_score : bool or callable, default=False
        Whether to predict each training sample by the trees that did not draw it. A callable
        ``metric(y_true, y_pred)`` replaces :math:`R^2` as the score.

    Attributes
    ----------
    n_outputs_ : int
        Number of targets.
    n_features_in_ : int
        Number of features, that is of columns of X.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Names of the features, if X had names.
    encoded_monotonic_cst_ : ndarray of int8, shape (n_encoded_features,)
        `monotonic_cst` of the features of the trees, for :func:`ngdt.inference.is_monotone`.
    encoded_feature_names_ : list of str
        Names of the features of the trees: columns of numbers, indicators of missing numbers, and
        categories. See `encode`.
    estimators_ : list of ObliqueTreeRegressor
        The trees, each as a fitted estimator that takes the same tables. Predictions follow changes
        of this list.
    estimators_samples_ : list of ndarray of int
        Indices of the samples that each tree was trained on, with `bootstrap` as often as drawn.
        They are drawn anew from the seeds of the trees at each use.
    candidates_ : dict of lists
        One entry per kind of trees that competed by default; else empty. ``candidate`` is its name,
        ``error`` the estimated squared error of a forest of this kind, in units of the variance of
        y (for the Poisson loss, of the square of its mean), NaN if it was not estimated, ``share``
        the part of the trees that is to be of this kind, and ``n_trees`` the number of those that
        were trained.
    kind_ : str
        Kinds of the trees (`ObliqueTreeRegressor.kind_`), with the number of each: "forest: tree
        trained as a whole by TAO (60), random oblique tree (40)". See `summary`.
    feature_importances_ : ndarray of shape (n_features,)
        Mean of the importances of the trees. The sum is 1, or 0 if no tree has splits.
    oob_score_ : float
        :math:`R^2` on the training samples, each predicted by the trees that did not
        draw it. Only with `oob_score`, as the next.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Mean predictions by these trees; NaN for samples that every tree drew, and for those that
        `max_time` left out.
    pruning_path_ : dict of lists
        Only of a forest that `ngdt.pruning.prune_forest` returned, which describes it.

    See Also
    --------
    ObliqueTreeRegressor : A single tree.

    Notes
    -----
    Data are checked, encoded and scaled once. The samples of a tree are weights, so that no tree
    has a copy of X, unless `max_features` selects columns for it.

    References
    ----------
    L. Breiman. "Bagging predictors." Machine Learning 24, 1996.

    N. Meinshausen. "Quantile regression forests." Journal of Machine Learning Research 7, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from ngdt import ObliqueForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = ObliqueForestRegressor(
    ...     20, max_depth=3, optimizer=None, oob_score=True, random_state=0)
    >>> forest.fit(X, y).oob_score_ > 0.4
    True
    >>> forest.predict(X[:2]).shape
    (2,)
    """

    _tree_class = ObliqueTreeRegressor

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Mean prediction of the trees for each sample.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or, for several targets, (n_samples, n_outputs)
        """
        values = self._predictions(X)
        return values[:, 0] if self.n_outputs_ == 1 else values

    def predict_quantiles(
        self, X: ArrayLike, quantiles: ArrayLike = (0.1, 0.5, 0.9)
    ) -> np.ndarray:
        """Quantiles of the training targets in the leaves that each sample reaches.

        The targets of all trees are put together, as in a quantile regression forest: each tree has
        the same weight, which the samples that it has drawn share as in
        `ObliqueTreeRegressor.predict_quantiles`. It takes more time than `predict`, in proportion
        to the number of targets in these leaves.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
        quantiles : array-like of float, shape (n_quantiles,), default=(0.1, 0.5, 0.9)
            In [0, 1]. 0 is the least target, 1 the largest.

        Returns
        -------
        ndarray of shape (n_samples, n_quantiles) or, for several targets, \
                (n_samples, n_quantiles, n_outputs)
            In the order of `quantiles`; a larger quantile is never smaller.

        Examples
        --------
        >>> import numpy as np
        >>> from ngdt import ObliqueForestRegressor
        >>> X, y = np.repeat([[0.0], [1.0]], 5, axis=0), np.arange(10.0)
        >>> forest = ObliqueForestRegressor(max_depth=1, optimizer=None, random_state=0).fit(X, y)
        >>> forest.predict_quantiles([[0.0], [1.0]], [0.0, 0.5, 1.0])
        array([[0., 2., 4.],
               [5., 7., 9.]])
        """
        quantiles = check_quantiles(quantiles)
        data = self._samples(X)
        self._check_trees_are_trained("predict_quantiles")
        leaves = self._leaves(data)
        trees = [(estimator._leaf_quantiles, leaf, _shift(estimator.tree_, leaf, data))
                 for estimator, leaf in zip(self.estimators_, leaves.T, strict=True)]
        n_pooled = sum(stored.sizes(leaf) for stored, leaf, _ in trees)
        found = np.empty((len(leaves), len(quantiles), self.n_outputs_))
        block = np.cumsum(n_pooled) // MAX_POOLED
        for rows in np.split(np.arange(len(leaves)), np.flatnonzero(np.diff(block)) + 1):
            pooled = LeafQuantiles.pool([
                stored.take(leaf[rows], None if shift is None else shift[rows])
                for stored, leaf, shift in trees])
            found[rows] = pooled.quantiles(quantiles)
        return found[:, :, 0] if self.n_outputs_ == 1 else found

    def _encode_targets(self, y, sample_weight, resume, known):
        largest = float(np.abs(y[sample_weight > 0]).max())
        if not np.isfinite(largest * self.n_estimators):
            raise ValueError(
                f"y has numbers up to {largest:.3g}, whose sum over {self.n_estimators} trees "
                "overflows: divide y by the largest of them")
        return super()._encode_targets(y, sample_weight, resume, known)

    def _set_out_of_bag(self, y, sample_weight, predictions):
        known = np.isfinite(predictions[:, 0]) & (sample_weight > 0)
        self.oob_prediction_ = predictions[:, 0] if self.n_outputs_ == 1 else predictions
        y = y.astype(np.float64).reshape(self.oob_prediction_.shape)[known]
        self.oob_score_ = self._out_of_bag_score(
            r2, y, self.oob_prediction_[known], sample_weight[known])


def _shift(tree, leaf, data):
    """By how much the prediction for each sample differs from the value of its leaf."""
    if tree.slopes is None:
        return None
    leaf = np.ascontiguousarray(leaf)
    return tree.leaf_predictions(leaf, data) - tree.values[leaf]
