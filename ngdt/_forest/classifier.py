"""Classification forests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import StrOptions

from ngdt._estimators.classifier import ObliqueTreeClassifier
from ngdt._estimators.data import ClassifierData
from ngdt._forest.base import ObliqueForest


@dataclass(eq=False, repr=False, kw_only=True)
class ObliqueForestClassifier(ClassifierMixin, ClassifierData, ObliqueForest):
    """Forest of oblique classification trees, each trained as a whole.

    Each tree is trained by itself, and if wanted on samples and features of its own, by any
    initializer and optimizers of this package. The forest predicts the mean of their probabilities.
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
        Least decrease of the entropy, in bits, by a split, times the share of the
        samples, by weight, that reach it.
    ccp_alpha : float, default=0.0
        Cost of a leaf in minimal cost-complexity pruning of each tree, in the units of
        `min_impurity_decrease`. 0 prunes nothing.
    init : str, Initializer, Tree or fitted estimator, default="auto"
        The initial tree of each tree, as for `ObliqueTreeClassifier`. "auto" depends on the first
        optimizer: "random_complete" for soft training, "greedy_lp" for "gto", and "info_gain" for
        all others and for none.
    optimizer : str, Optimizer, list of these, or None, default="auto"
        Trains each tree from its initial tree: a name or an object (see :mod:`ngdt.optimizers`), or
        a list, which is run in order. None keeps the initial trees. "auto" lets several kinds of
        trees compete if `init` is "auto", too: trees that are trained softly, on samples as they
        are or mixed, trees that are trained by TAO, random trees with oblique or with axis-aligned
        splits, and logistic regressions. A few of each are trained, and the forest gets the numbers
        of each kind for which its squared error is least, as estimated by trees of two thirds of
        the samples on the others. For fewer than 8 trees, and with another `init`, "auto" is
        "annealed".
    loss : str, Loss or None, default=None
        Loss of a leaf (see :mod:`ngdt.losses`). None is "log_loss".
    leaf : {"auto", "constant", "linear"} or LinearLeaves, default="auto"
        What a leaf predicts: constant probabilities, or those of a logistic regression, whose
        logits are weighted sums of the features. "auto" lets a logistic regression compete with
        the kinds of trees if neither `init` nor `optimizer` is given, and is "constant" otherwise.
        :class:`ngdt.optimizers.LinearLeaves` is "linear", with its features and penalty.
    monotonic_cst : array-like of int, dict of int or None, default=None
        For each column of X, 1 if the probability of the second of two classes must not fall where
        the column rises, -1 if it must not rise, 0 otherwise, as for `ObliqueTreeClassifier`: each
        tree is monotone, and so is their mean. See :ref:`monotone`.
    standardize : {"auto", "global", True, False}, default="auto"
        How features are scaled while split weights are trained, as for `ObliqueTreeClassifier`.
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
        ``metric(y_true, y_pred)`` replaces the accuracy as the score.
    class_weight : dict, "balanced", "balanced_subsample" or None, default=None
        Weight of each label, by which sample weights are multiplied; 1 for labels that the dict
        lacks. "balanced" gives each class the same total weight, and "balanced_subsample" does so
        among the samples of each tree.

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
        `monotonic_cst` of the features of the trees, for :func:`ngdt.inference.is_monotone`.
    encoded_feature_names_ : list of str
        Names of the features of the trees: columns of numbers, indicators of missing numbers, and
        categories. See `encode`.
    estimators_ : list of ObliqueTreeClassifier
        The trees, each as a fitted estimator that takes the same tables. Predictions follow changes
        of this list.
    estimators_samples_ : list of ndarray of int
        Indices of the samples that each tree was trained on, with `bootstrap` as often as drawn.
        They are drawn anew from the seeds of the trees at each use.
    candidates_ : dict of lists
        One entry per kind of trees that competed by default; else empty. ``candidate`` is its name,
        ``error`` the estimated squared error of the probabilities of a forest of this kind, NaN if
        it was not estimated, ``share`` the part of the trees that is to be of this kind, and
        ``n_trees`` the number of those that were trained.
    kind_ : str
        Kinds of the trees (`ObliqueTreeClassifier.kind_`), with the number of each: "forest: tree
        trained as a whole by TAO (60), random oblique tree (40)". See `summary`.
    feature_importances_ : ndarray of shape (n_features,)
        Mean of the importances of the trees. The sum is 1, or 0 if no tree has splits.
    oob_score_ : float
        Accuracy on the training samples, each predicted by the trees that did not
        draw it. Only with `oob_score`, as the next.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Mean probabilities by these trees; NaN for samples that every tree drew, and for those that
        `max_time` left out.
    pruning_path_ : dict of lists
        Only of a forest that `ngdt.pruning.prune_forest` returned, which describes it.

    See Also
    --------
    ObliqueTreeClassifier : A single tree.

    Notes
    -----
    Data are checked, encoded and scaled once. The samples of a tree are weights, so that no tree
    has a copy of X, unless `max_features` selects columns for it.

    References
    ----------
    L. Breiman. "Bagging predictors." Machine Learning 24, 1996.

    T. K. Ho. "The random subspace method for constructing decision forests." IEEE Transactions on
    Pattern Analysis and Machine Intelligence 20, 1998.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import ObliqueForestClassifier
    >>> from ngdt.optimizers import Annealed
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = ObliqueForestClassifier(
    ...     20, max_depth=3, optimizer=Annealed(steps=300), oob_score=True, random_state=0)
    >>> forest.fit(X, y).oob_score_ > 0.9
    True
    >>> forest.predict(X[:2])
    array([0, 0])
    >>> forest.estimators_[0].tree_.n_features
    4
    """

    _tree_class = ObliqueTreeClassifier
    _parameter_constraints: ClassVar[dict] = {
        **ObliqueForest._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced", "balanced_subsample"}), None],
    }

    class_weight: Mapping[Any, float] | Literal["balanced", "balanced_subsample"] | None = None

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Label with the largest mean probability, for each sample.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        best = self._predictions(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Mean of the probabilities that the trees give each label.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        return self._predictions(X)

    def predict_log_proba(self, X: ArrayLike) -> np.ndarray:
        """Logarithm of the mean probability of each label.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        with np.errstate(divide="ignore"):
            return np.log(self._predictions(X))

    def _set_out_of_bag(self, y, sample_weight, predictions):
        self.oob_decision_function_ = predictions
        known = np.isfinite(predictions[:, 0]) & (sample_weight > 0)
        y, best = y.ravel()[known], self.classes_[predictions[known].argmax(axis=1)]
        self.oob_score_ = self._out_of_bag_score(accuracy_score, y, best, sample_weight[known])
