"""Choice of C by cross-validation."""

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from functools import wraps
from typing import ClassVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, _fit_context, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, check_consistent_length, get_tags
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ngdt._encoding.check import check_samples
from ngdt._encoding.check_targets import check_targets
from ngdt._estimators import ObliqueTreeClassifier
from ngdt._estimators.base import ObliqueTree
from ngdt._estimators.data import TableEstimator
from ngdt._estimators.run import unchanged_on_error
from ngdt._util.arrays import least
from ngdt._util.numbers import format_number
from ngdt._util.validation import check_weight, warn
from ngdt.optimizers import TAO
from ngdt.path._path import check_Cs, fits, warm_started


def _of_tree(name):
    """A method of trees that `estimator_` answers."""
    method = getattr(ObliqueTree, name)

    @wraps(method)
    def answer(self, *args, **kwargs):
        check_is_fitted(self)
        return getattr(self.estimator_, name)(*args, **kwargs)
    return answer


@dataclass(eq=False, repr=False)
class TAOPathCV(MetaEstimatorMixin, BaseEstimator):
    """Tree trained by TAO, with C chosen by cross-validation.

    For every fold, trees for all `Cs` are trained on the other folds, each from the previous one
    (see `ngdt.tao_path`), and scored on the fold. The path is then trained once more on all
    samples, down to the chosen C. TAO is the subject of US patent application 2022/0318641.

    Parameters
    ----------
    estimator : ObliqueTreeClassifier or ObliqueTreeRegressor, default=None
        The estimator to fit for each C. Its `optimizer` is a :class:`~ngdt.optimizers.TAO`, whose C
        is replaced, or "tao". It is trained on all samples of the other folds:
        `validation_fraction` has no effect. None takes ``ObliqueTreeClassifier(optimizer="tao")``.
    Cs : int or array-like of float, default=10
        As for `ngdt.tao_path`.
    cv : int, cross-validation splitter or iterable, default=None
        As in scikit-learn: None stands for 5 folds, stratified for a classifier. Samples of weight
        zero are in no fold. With groups, give folds: ``[*GroupKFold(5).split(X, y, groups)]``.
    scoring : str, callable or None, default=None
        As in scikit-learn: a name, or ``scorer(estimator, X, y)``, which with weights is also given
        `sample_weight`, by this name. None stands for accuracy or R2. A C whose score is NaN or
        infinite in any fold is not chosen.
    rule : {"best", "one_standard_error"}, default="best"
        Choice of C: the one with the best mean score or, for a smaller tree, the smallest one
        whose mean score is within one standard error of the best.
    n_jobs : int or None, default=None
        Number of folds that are trained in parallel, as in joblib.

    Attributes
    ----------
    C_ : float
        The chosen C.
    Cs_ : ndarray of shape (n_Cs,)
        All values of C, in descending order.
    scores_ : ndarray of shape (n_folds, n_Cs)
        Score of each fold for each C.
    estimator_ : ObliqueTreeClassifier or ObliqueTreeRegressor
        The estimator fitted on all samples.
    tree_ : Tree
        The tree of `estimator_`.
    classes_ : ndarray of shape (n_classes,)
        Class labels, in the order of the leaf values. Only for classification.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str, shape (n_features,)
        Names of the features, if X had names.

    See Also
    --------
    ngdt.tao_path : Trees for all values of C.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen, C. Stone. "Classification and regression trees." Wadsworth,
    1984, section 3.4.3: the rule of one standard error.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ngdt import ObliqueTreeClassifier, TAOPathCV
    >>> X, y = load_digits(return_X_y=True)
    >>> search = TAOPathCV(
    ...     ObliqueTreeClassifier(max_depth=5, optimizer="tao"), Cs=[0.3, 0.03, 0.003], cv=2)
    >>> search.fit(X, y).C_ in (0.3, 0.03)
    True
    >>> search.scores_.shape
    (2, 3)
    """

    _doc_link_module = TableEstimator._doc_link_module
    _doc_link_template = TableEstimator._doc_link_template

    _parameter_constraints: ClassVar[dict] = {
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "rule": [StrOptions({"best", "one_standard_error"})],
        "n_jobs": TableEstimator._parameter_constraints["n_jobs"],
    }

    estimator: ObliqueTree | None = None
    _: KW_ONLY
    Cs: int | ArrayLike = 10
    cv: object = None
    scoring: str | Callable | None = None
    rule: str = "best"
    n_jobs: int | None = None

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, sample_weight=None):
        """Choose C and train on all samples.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or, for regression, (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            Weights for training and for the scores. Not negative; samples of weight zero are
            ignored.

        Returns
        -------
        self : object
            The fitted estimator. If `fit` fails, it is unchanged.

        Raises
        ------
        ValueError, TypeError
            If an argument is invalid, or no C has finite scores in all folds.

        Warns
        -----
        UserWarning
            If some C has a score that is not finite, or the chosen tree has no splits.
        ConvergenceWarning
            If `max_time` of the estimator, for each C, shortened the training of the chosen tree.
        """
        with unchanged_on_error(self):
            estimator = self._estimator()
            self.estimator_ = warm_started(estimator)
            X = check_samples(self, X)
            y = check_targets(self, y, **self.estimator_._check_y_params)
            check_consistent_length(X, y)
            weight = None if sample_weight is None else check_weight(sample_weight, len(y))
            self.Cs_ = check_Cs(self.Cs)
            folds = cv_folds(self.cv, X, y, weight, is_classifier(self))
            self.scores_ = np.array(Parallel(self.n_jobs)(
                delayed(_scores)(estimator, self.Cs_, X, y, weight, train, test, self._scorer())
                for train, test in folds))
            _check_scores(self.scores_, self.Cs_)
            self.C_ = self.Cs_[best_score(self.scores_, self.rule)]
            # Each tree is trained further for the next C; the last one is that of C_.
            *_, (_, run) = _uninterrupted(
                self.estimator_, self.Cs_[self.Cs_ >= self.C_], X, y, weight)
            if run.surprise is not None:
                warn(run.surprise)
            if run.cut is not None:
                warn(f"At C={self.C_:.4g}, {run.cut}", ConvergenceWarning)
            self.tree_ = self.estimator_.tree_
            if is_classifier(self):
                self.classes_ = self.estimator_.classes_
        return self

    def _estimator(self):
        return ObliqueTreeClassifier(optimizer=TAO()) if self.estimator is None else self.estimator

    def _scorer(self):
        return check_scoring(self._estimator(), self.scoring)    # None: the score of an estimator

    def predict(self, X):
        """Predict class labels or regression targets with `estimator_`.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or, for several targets, (n_samples, n_outputs)
        """
        check_is_fitted(self)
        return self.estimator_.predict(X)

    @available_if(lambda self: is_classifier(self._estimator()))
    def predict_proba(self, X):
        """Predict class probabilities with `estimator_`.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    def score(self, X, y, sample_weight=None):
        """Score on given data, by `scoring`.

        Parameters
        ----------
        X : array-like, data frame or CSR matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        check_is_fitted(self)
        return self._scorer()(self.estimator_, X, y, **_weighed(sample_weight))

    apply = _of_tree("apply")
    decision_path = _of_tree("decision_path")
    explain = _of_tree("explain")
    get_depth = _of_tree("get_depth")
    get_n_leaves = _of_tree("get_n_leaves")
    shap_values = _of_tree("shap_values")

    @property
    def feature_importances_(self):
        """Importances of the columns for `estimator_`, ndarray of shape (n_features,)."""
        check_is_fitted(self)
        return self.estimator_.feature_importances_

    def summary(self):
        """Say what the tree is, and how its C was chosen.

        Returns
        -------
        str
            A few sentences, one in a line: the summary of `estimator_`, and the score of its C.
        """
        check_is_fitted(self)
        n_folds, n_Cs = self.scores_.shape
        score = format_number(self.scores_.mean(axis=0)[self.Cs_ == self.C_][0])
        return (f"{self.estimator_.summary()}\nC={self.C_:.4g} was chosen of {n_Cs} values by "
                f"{n_folds}-fold cross-validation: its mean score was {score}.")

    def __sklearn_tags__(self):
        return get_tags(self._estimator())


def cv_folds(cv, X, y, weight, stratify):
    """Indices of the training and test samples of each fold; none has weight zero.

    Parameters
    ----------
    cv : int, cross-validation splitter, iterable or None
        As in scikit-learn.
    X : array-like of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    weight : ndarray of shape (n_samples,) or None
    stratify : bool

    Returns
    -------
    list of (ndarray of int, ndarray of int)

    Raises
    ------
    ValueError
        If there are no folds, if one is empty, or if the splitter refuses the samples.
    """
    present = np.ones(len(y), dtype=bool) if weight is None else weight > 0
    # Given folds are indices of all samples, also of samples of weight zero.
    are_given = isinstance(cv, Iterable) and not hasattr(cv, "split")
    samples = np.arange(len(y)) if are_given else np.flatnonzero(present)
    splitter = check_cv(cv, y[samples], classifier=stratify)
    try:
        folds = [tuple(samples[indices][present[samples[indices]]] for indices in fold)
                 for fold in splitter.split(_safe_indexing(X, samples), y[samples])]
    except ValueError as error:
        way_out = " Give its folds: cv=list(splitter.split(X, y, groups))"
        raise ValueError(f"cv: {error}{way_out * ('groups' in str(error))}") from error
    if not folds or not all(len(indices) for fold in folds for indices in fold):
        raise ValueError(
            "cv must give folds, each with at least one training and one test sample of positive "
            "weight; a generator gives them once only")
    return folds


def rows_of(samples, X, y, weight):
    """Some of the samples, their targets and their weights.

    Parameters
    ----------
    samples : ndarray of int
    X : array-like of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    weight : ndarray of shape (n_samples,) or None

    Returns
    -------
    X, y, weight
    """
    return _safe_indexing(X, samples), y[samples], None if weight is None else weight[samples]


def _weighed(weight):
    """Keyword arguments of a scorer; not every scorer takes weights."""
    return {} if weight is None else {"sample_weight": weight}


def _uninterrupted(model, *arguments):
    """Fit the model for each C in turn, and yield it and its run; raise after Ctrl-C.

    An unfinished path does not compare all values of C. Trees that `max_time` has ended can be
    compared, since each C has the same time.
    """
    for _, run in fits(model, *arguments):
        if run.interrupted:
            raise KeyboardInterrupt
        yield model, run


def _scores(estimator, Cs, X, y, weight, train, test, scorer):
    """Scores of the path of one fold."""
    models = _uninterrupted(warm_started(estimator), Cs, *rows_of(train, X, y, weight))
    X, y, weight = rows_of(test, X, y, weight)
    return [scorer(model, X, y, **_weighed(weight)) for model, _ in models]


def _check_scores(scores, Cs):
    """Warn of values of C that cannot be chosen; raise a ValueError if none can be."""
    failed = ~np.isfinite(scores).all(axis=0)
    if failed.all():
        raise ValueError(
            "no C can be chosen: for each, the score of at least one fold is not finite. Choose "
            "scoring and cv such that every fold has a score (R2 needs two samples in each fold, "
            "roc_auc both classes)")
    if failed.any():
        warn(
            f"For C = {', '.join(f'{C:.4g}' for C in Cs[failed])}, the score of at least one fold "
            "is NaN or infinite. These values rank last.")


def best_score(scores, rule):
    """Index of the chosen column of scores; of equally good ones, the last.

    Parameters
    ----------
    scores : ndarray of shape (n_folds, n_columns)
    rule : {"best", "one_standard_error"}

    Returns
    -------
    int
    """
    with np.errstate(invalid="ignore"):
        mean = np.where(np.isfinite(scores).all(axis=0), scores.mean(axis=0), -np.inf)
    slack = 0.0
    if rule == "one_standard_error" and len(scores) > 1:
        slack = scores[:, mean.argmax()].std(ddof=1) / np.sqrt(len(scores))
    return least(-mean, slack)
