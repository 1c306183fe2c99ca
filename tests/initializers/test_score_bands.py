"""ScoreBands: a linear model cut into bands of its score."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LogisticRegression

from helpers import FORMS, make_problem
from ngdt import ObliqueTreeClassifier
from ngdt._methods.greedy.single_leaf import SingleLeaf
from ngdt._methods.linear_leaves.score_bands import _cuts
from ngdt.initializers import ScoreBands
from ngdt.optimizers import LinearLeaves


def problem(form=np.asarray, loss="log_loss", **fields):
    load = load_breast_cancer if loss == "log_loss" else load_diabetes
    X, y = load(return_X_y=True)
    if loss == "log_loss":       # no band is pure
        y = np.where(np.random.default_rng(0).random(len(y)) < 0.3, 1 - y, y)
    return make_problem(form(X[:300, :6].copy()), y[:300], loss, **fields)


@FORMS
@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
def test_bands_of_the_score_hold_equal_shares(form, loss):
    given = problem(form, loss)
    tree = ScoreBands().initialize(given)
    model = LinearLeaves().fit_leaves(SingleLeaf().initialize(given), given)
    outputs = model.predict(given.X)
    score = outputs[:, -1] - (outputs[:, 0] if loss == "log_loss" else 0.0)
    leaf = tree.apply(given.X)
    assert (tree.n_leaves, tree.max_depth) == (8, 3)
    assert (tree.densify().weights == tree.densify().weights[0]).all()
    order = np.argsort(score)
    assert (np.diff(leaf[order]) >= 0).all()        # the leaves are bands of the score
    share = np.full(300, 1.0)
    if loss == "log_loss":       # one cut is where the classes are equally likely
        share = 1.0 / np.bincount(given.y[:, 0].astype(int))[given.y[:, 0].astype(int)]
        assert len(np.intersect1d(leaf[score > 0], leaf[score <= 0])) == 0
    share = np.bincount(leaf, share) / share.sum()
    moved = 2 if loss == "log_loss" else 0               # bands beside the cut that was moved
    assert (np.abs(share - 1 / 8) < 0.02).sum() >= 8 - moved
    np.testing.assert_allclose(tree.values, given.fit_leaves(
        leaf, np.arange(300, dtype=np.int32), 8))


def test_labels_are_those_of_a_logistic_regression_where_bands_agree():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    tree = ObliqueTreeClassifier(init="score_bands", optimizer=None, random_state=0).fit(X, y)
    model = LogisticRegression(C=0.1).fit(X, y)
    assert tree.kind_ == "score bands"
    assert (tree.predict(X) == model.predict(X)).mean() > 0.98


@pytest.mark.parametrize("zero", [None, 0.1])
def test_a_share_of_k_is_k_samples_for_the_cuts(zero):
    rng = np.random.default_rng(0)
    score, weight = rng.normal(size=200).round(2), rng.integers(0, 4, 200)      # with ties
    at = np.repeat(np.arange(200), weight)[rng.permutation(weight.sum())]
    used = weight > 0
    np.testing.assert_array_equal(
        _cuts(score[used], weight[used] / weight.sum(), 8, zero),
        _cuts(score[at], np.full(len(at), 1 / len(at)), 8, zero))


@pytest.mark.parametrize(("n_bands", "limits", "n_leaves"), [
    (8, {"max_leaf_nodes": 3}, 3), (8, {"max_depth": 2}, 4), (5, {}, 5), (1, {}, 1),
    (8, {"max_depth": 0}, 1), (1000, {}, 30)])
def test_number_of_bands(n_bands, limits, n_leaves):
    assert ScoreBands(n_bands).initialize(problem(**limits)).n_leaves == n_leaves


def test_the_cut_at_zero_leaves_no_band_empty():
    """Zero is nearer to the first cut, but on the other side of a value."""
    score = np.repeat([0.0, 1.0, 5.0], 100)
    np.testing.assert_array_equal(_cuts(score, np.full(300, 1 / 300), 3, None), [0.5, 3.0])
    np.testing.assert_array_equal(_cuts(score, np.full(300, 1 / 300), 3, 1.6), [0.5, 1.6])


def test_pure_bands_under_one_split_become_one():
    y = np.arange(80) >= 40
    tree = ScoreBands().initialize(
        make_problem(np.arange(80.0)[:, None], y.astype(int), "log_loss"))
    assert tree.n_leaves == 2
    assert (tree.apply(np.arange(80.0)[:, None]) == y).all()


@pytest.mark.parametrize("n", [1, 2, 20])
def test_nothing_to_cut(n):
    assert ScoreBands().initialize(
        make_problem(np.ones((n, 2)), np.arange(n) % 2, "log_loss", n_outputs=2)).n_leaves == 1


@pytest.mark.parametrize(("y", "loss"), [
    (np.arange(30) % 3, "log_loss"), (np.arange(60.0).reshape(30, 2), "squared_error"),
    (np.arange(30) % 2, "bounded"), (np.arange(30.0), "absolute_error")])
def test_what_has_no_score_is_refused(y, loss):
    with pytest.raises(ValueError, match="score bands are for"):
        ScoreBands().initialize(make_problem(np.ones((30, 2)), y, loss))


def test_score_bands_win_where_the_rule_is_nearly_linear():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 10))
    y = rng.random(400) < 1 / (1 + np.exp(-X @ np.linspace(-1, 1, 10)))
    fitted = ObliqueTreeClassifier(random_state=0).fit(sparse.csr_array(X), y)
    assert fitted.kind_ == "score bands"
    assert "score bands" in fitted.summary().splitlines()[0].lower()


@FORMS
@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
def test_no_weight_is_against_its_direction(form, loss):
    free = ScoreBands().initialize(problem(form, loss)).densify().weights[0]
    given = problem(form, loss, directions=np.sign(free) * [1, -1, 1, 0, 1, -1])
    tree = ScoreBands().initialize(given)
    weights = tree.densify().weights[0]
    assert (weights * given.directions >= 0.0).all()
    # Once the features that are against it have left, the model is that of the others.
    kept = ScoreBands(features=np.flatnonzero(weights)).initialize(problem(form, loss))
    assert tree == kept
    assert set(np.flatnonzero(weights)) <= {0, 2, 3, 4} & set(np.flatnonzero(free))
    # Directions that all weights have change nothing.
    assert ScoreBands().initialize(problem(form, loss, directions=np.sign(free))).densify() == (
        ScoreBands().initialize(problem(form, loss)).densify())


def test_one_class_where_all_weights_are_against_their_directions():
    X, y = load_breast_cancer(return_X_y=True)
    given = make_problem(X[:, :1].copy(), y, directions=np.array([1]))
    assert ScoreBands().initialize(given).n_leaves == 1
