"""The models that `ngdt compare` compares."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import methodcaller

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.utils import check_array

from ngdt.cli._options import make_estimator

# Categories of a column that histogram boosting takes.
_MAX_CATEGORIES = 254


class _FilledColumns(TransformerMixin, BaseEstimator):
    """Zeros in columns without any value, on which scikit-learn's boosting fails."""

    def fit(self, X, y=None):
        self.is_empty_ = np.isnan(self._numbers(X)).all(axis=0)
        return self

    def transform(self, X):
        return np.where(self.is_empty_, 0.0, self._numbers(X))

    _numbers = staticmethod(partial(
        check_array, dtype=np.float64, ensure_all_finite="allow-nan"))


@dataclass(frozen=True)
class Contender:
    """A model that is compared.

    Attributes
    ----------
    what : str
        Description for the report.
    make : callable
        ``make(task, X, arguments)`` returns an estimator for these samples.
    leaves : callable
        Number of leaves of the fitted estimator, or None.
    takes_sparse : bool
    cost : int
        About how many times as long the training takes as that of a linear model.
    """

    what: str
    make: Callable
    leaves: Callable = methodcaller("get_n_leaves")
    takes_sparse: bool = True
    cost: int = 1


def _boosting(task, X, arguments):
    boosting = (HistGradientBoostingClassifier if task == "classification" else
                HistGradientBoostingRegressor)
    texts = _texts(X)
    encoder = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=np.nan, max_categories=_MAX_CATEGORIES,
        encoded_missing_value=np.nan)
    return make_pipeline(
        make_column_transformer((encoder, texts), remainder="passthrough"), _FilledColumns(),
        boosting(random_state=arguments.random_state, categorical_features=range(len(texts))))


def _linear(task, X, arguments):
    model = LogisticRegression(max_iter=2000) if task == "classification" else RidgeCV(
        np.logspace(-3, 3, 13))
    if sparse.issparse(X):
        return make_pipeline(MaxAbsScaler(), model)
    numbers = make_pipeline(
        SimpleImputer(add_indicator=True, keep_empty_features=True), StandardScaler())
    return make_pipeline(make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), _texts(X)), remainder=numbers), model)


def _texts(X):
    """Names of the columns of a data frame that hold neither numbers nor truth values."""
    return list(X.select_dtypes(exclude=["number", "bool"]))


def _leaves_of_boosting(estimator):
    return sum(tree.get_n_leaf_nodes() for trees in estimator[-1]._predictors for tree in trees)


CONTENDERS = {
    "tree": Contender(
        "a tree of ngdt, the default",
        lambda task, X, arguments: make_estimator("tree", task, arguments), cost=5),
    "pruned": Contender(
        "a greedy tree with splits on single columns, pruned by cross-validated cost complexity",
        lambda task, X, arguments: make_estimator("tree", task, arguments).set_params(
            init="pruned", optimizer=None, leaf="constant"), cost=3),
    "forest": Contender(
        "a forest of ngdt, the default",
        lambda task, X, arguments: make_estimator("forest", task, arguments), cost=50),
    "boosting": Contender(
        "histogram gradient boosting of scikit-learn, the default", _boosting,
        _leaves_of_boosting, takes_sparse=False, cost=4),
    "linear": Contender(
        "logistic regression, or ridge regression with a cross-validated penalty, on scaled "
        "columns and indicators of categories", _linear, lambda estimator: None),
}
