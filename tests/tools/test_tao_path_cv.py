"""The choice of C where scores are NaN, samples have no weight, or no estimator is given."""

import warnings

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold, LeaveOneOut

from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, TAOPathCV, tao_path
from ngdt.optimizers import TAO


def tree(estimator=ObliqueTreeRegressor):
    return estimator(max_depth=2, optimizer=TAO(max_iter=2))


@pytest.mark.parametrize("rule", ["best", "one_standard_error"])
def test_a_C_without_a_score_ranks_last(rule):
    X, y = load_diabetes(return_X_y=True)

    def score(model, X, y):
        return np.nan if model.optimizer.C == 0.1 else model.optimizer.C

    search = TAOPathCV(tree(), Cs=[1.0, 0.1, 0.01], cv=3, scoring=score, rule=rule)
    with pytest.warns(UserWarning, match=r"C = 0\.1, .*NaN"):
        search.fit(X, y)
    assert search.C_ == 1.0


@pytest.mark.parametrize("function", [
    lambda *args: TAOPathCV(tree(), Cs=[1e-4, 1.0], cv=2).fit(*args).tree_,
    lambda *args: tao_path(*args, estimator=tree(), Cs=[1e-4, 1.0]).trees[0]])
@pytest.mark.filterwarnings("error")
def test_a_tree_without_splits_is_no_surprise_if_it_is_not_chosen(function):
    assert function(*load_diabetes(return_X_y=True)).n_internal


def test_a_chosen_tree_without_splits_is_a_surprise():
    with pytest.warns(UserWarning, match="The tree has no splits") as record:
        TAOPathCV(tree(), Cs=[1e-4], cv=2).fit(*load_diabetes(return_X_y=True))
    assert len(record) == 1


@pytest.mark.filterwarnings("ignore:R.2 score is not well-defined")
@pytest.mark.filterwarnings("ignore:Only one class is present")
def test_no_C_has_a_score():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match=r"no C can be chosen.*scoring and cv"):
        TAOPathCV(tree(), Cs=2, cv=LeaveOneOut()).fit(X[:9], y[:9])
    X, y = load_iris(return_X_y=True)
    X, y = X[:100], y[:100]
    estimator = tree(ObliqueTreeClassifier)
    folds = [(np.arange(0, 100, 2), np.arange(1, 40, 2)), (np.arange(1, 100, 2), np.arange(0, 9))]
    with pytest.raises(ValueError, match="no C can be chosen"):
        TAOPathCV(estimator, Cs=2, cv=folds, scoring="roc_auc").fit(X, y)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_the_unit_of_targets_does_not_decide():
    X = np.random.default_rng(0).normal(size=(60, 2))
    found = [TAOPathCV(
        ObliqueTreeRegressor(2, leaf="constant", optimizer="tao", random_state=0), Cs=2, cv=2).fit(
            X, unit * X[:, 0]) for unit in (1.0, 2.0**600)]
    np.testing.assert_allclose(found[1].scores_, found[0].scores_)
    assert found[1].score(X, 2.0**600 * X[:, 0]) == found[1].estimator_.score(
        X, 2.0**600 * X[:, 0])


@pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueTreeRegressor])
def test_samples_of_weight_zero_are_in_no_fold(estimator):
    X, y = (load_iris if estimator is ObliqueTreeClassifier else load_diabetes)(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))[:100]
    X, y = X[order], y[order]
    weight = np.r_[np.ones(20), np.zeros(80)]
    search = TAOPathCV(tree(estimator), Cs=2, cv=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)    # classes with fewer samples than folds
        weighed = search.fit(X, y, weight).scores_
        alone = search.fit(X[:20], y[:20], np.ones(20)).scores_
    np.testing.assert_array_equal(weighed, alone)
    # Folds that are given count all samples.
    folds = [(train, np.r_[test, 50]) for train, test in KFold(3).split(X[:20])]
    weighed = search.set_params(cv=folds).fit(X, y, weight).scores_
    alone = search.set_params(cv=KFold(3)).fit(X[:20], y[:20], np.ones(20)).scores_
    np.testing.assert_array_equal(weighed, alone)
    for cv in ([(np.arange(10), np.arange(30, 40))], iter([])):
        with pytest.raises(ValueError, match=r"^cv must give folds"):
            search.set_params(cv=cv).fit(X, y, weight)


def test_the_default_is_a_classifier():
    X, y = load_iris(return_X_y=True)
    search = TAOPathCV(Cs=2, cv=2)
    assert is_classifier(search)
    assert search.fit(X, y).score(X, y) > 0.9
    assert search.predict_proba(X).shape == (150, 3)
    assert search.estimator is None
    assert isinstance(search.estimator_, ObliqueTreeClassifier)


@pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueTreeRegressor])
def test_a_fit_that_fails_changes_nothing(estimator):
    X, y = load_iris(return_X_y=True)
    search = TAOPathCV(estimator(2, optimizer=TAO(max_iter=1)), Cs=[1.0, 0.1], cv=3)
    with pytest.raises(NotFittedError):
        search.score(X, y)
    predictions, before = search.fit(X, y).predict(X), dict(vars(search))
    for arguments in ((X[:, :2], y[:9]), (X[:, :2], y, -np.ones(150))):
        with pytest.raises(ValueError, match=r"inconsistent|negative"):
            search.fit(*arguments)
    search.set_params(scoring=lambda *_: np.nan)
    with pytest.raises(ValueError, match="no C can be chosen"):
        search.fit(X[:, :2], y)
    assert vars(search) == before | {"scoring": search.scoring}
    np.testing.assert_array_equal(search.predict(X), predictions)


@pytest.mark.parametrize("rule", ["best", "one_standard_error"])
def test_a_search_tells_what_its_tree_does(rule):
    X, y = load_iris(return_X_y=True)
    search = TAOPathCV(tree(ObliqueTreeClassifier), Cs=[1.0, 0.1, 1e-4], cv=3, rule=rule).fit(X, y)
    model = search.estimator_
    for name, *arguments in (
            ("apply", X), ("decision_path", X), ("explain", X[:1]), ("get_depth",),
            ("get_n_leaves",), ("shap_values", X[:2], X[:5])):
        found, expected = (getattr(each, name)(*arguments) for each in (search, model))
        assert str(found) == str(expected)
        with pytest.raises(NotFittedError):
            getattr(TAOPathCV(), name)(*arguments)
    np.testing.assert_array_equal(search.feature_importances_, model.feature_importances_)
    text, means = search.summary(), search.scores_.mean(axis=0)
    assert text.startswith(
        f"{model.summary()}\nC={search.C_:.4g} was chosen of 3 values by 3-fold ")
    own = means[search.Cs_ == search.C_][0]
    assert f"its mean score was {own:.3g}" in text
