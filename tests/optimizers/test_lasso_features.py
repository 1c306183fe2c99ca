"""Features of linear leaves that the lasso chooses."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris, make_friedman1
from sklearn.linear_model import Ridge, lasso_path

from helpers import in_nightly, make_problem
from ngdt import ObliqueForestClassifier, ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt._methods.linear_leaves import lasso, linear_leaves
from ngdt._methods.linear_leaves.lasso import _SHARES, chosen_by_lasso
from ngdt._methods.linear_leaves.models import ScaledSamples
from ngdt.optimizers import LinearLeaves

P = 6
problem_of = partial(make_problem, loss="squared_error", standardize=True)


def targets_of_some(n, p, n_targets=1, noise=0.5, seed=0):
    """Targets that are sums of the first three features and noise."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, p)) * random.uniform(0.01, 100.0, p) + random.normal(size=p)
    slopes = np.zeros((p, n_targets))
    slopes[:3] = random.choice([-1.0, 1.0], (3, n_targets))
    return X, (X / X.std(axis=0)) @ slopes + noise * random.normal(size=(n, n_targets))


def choose(problem, splits):
    return chosen_by_lasso(problem, problem.training_samples, splits)


def halves(n):
    """Each half of the samples, as training samples for the other one."""
    sides = np.arange(n // 2), np.arange(n // 2, n)
    return [(sides[k], sides[1 - k], np.ones(len(sides[1 - k]))) for k in range(2)]


def brute_force(problem, splits):
    """The same by scikit-learn's ridge regressions, of the samples as they are."""
    data = ScaledSamples(problem, np.arange(problem.X.shape[1]))
    Z, y = data.read(problem.training_samples), problem.winsorized.y

    def supports(rows, penalties):
        z, t = (each[rows] - each[rows].mean(axis=0) for each in (Z, y))
        slopes = lasso_path(z, t if t.shape[1] > 1 else t[:, 0], alphas=penalties, tol=1e-4)[1]
        return (slopes != 0).reshape(-1, P, len(penalties)).any(axis=0).T

    largest = np.linalg.norm((Z - Z.mean(axis=0)).T @ (y - y.mean(axis=0)), axis=1).max() / len(Z)
    errors = np.zeros(len(_SHARES))
    for training, test, _ in splits:
        for k, used in enumerate(supports(training, largest * _SHARES)):
            rest = y[test] - y[training].mean(axis=0)
            if used.any():
                ridge = Ridge(1.0).fit(Z[training][:, used], y[training])
                rest = y[test] - ridge.predict(Z[test][:, used]).reshape(rest.shape)
            errors[k] += (rest**2).sum()
    return np.flatnonzero(supports(slice(None), largest * _SHARES)[np.argmin(errors)])


@given(st.integers(0, 2**32 - 1), st.sampled_from([8, 60]), st.sampled_from([1, 2]))
def test_it_is_the_best_of_ridge_regressions_on_what_the_lasso_keeps(seed, n, n_targets):
    """Of more samples than features, and of as many."""
    problem = problem_of(*targets_of_some(n, P, n_targets, seed=seed))
    found, expected = choose(problem, halves(n)), brute_force(problem, halves(n))
    # The path is followed until slopes are nearly right: a slope next to zero may differ.
    assert len(np.setxor1d(found, expected)) <= 1


@pytest.mark.parametrize("n_targets", [1, 2])
@pytest.mark.parametrize(("n", "p"), [(80, 30), (80, 300)])
def test_the_features_that_made_the_targets_are_found(n, p, n_targets):
    problem = problem_of(*targets_of_some(n, p, n_targets, noise=0.1))
    assert choose(problem, halves(n)).tolist() == [0, 1, 2]


@pytest.mark.parametrize(("cost", "found"), [(80 * 30**2, [0, 1, 2]), (0, [0, 2])])
def test_it_chooses_from_more_features_than_leaves_use_by_default(cost, found, monkeypatch):
    monkeypatch.setattr(lasso, "MAX_FEATURES", 2)
    monkeypatch.setattr(lasso, "_MAX_COST", cost)
    problem = problem_of(*targets_of_some(80, 30, noise=0.1))
    assert choose(problem, halves(80)).tolist() == found


@given(st.integers(0, 2**32 - 1))
def test_units_and_sparse_data_change_no_choice(seed):
    X, y = targets_of_some(40, P, seed=seed)
    X *= np.median(X, axis=0) < X
    found = choose(problem_of(X, y), halves(40)).tolist()
    assert choose(problem_of(X * 2.0 ** np.arange(P), 8.0 * y), halves(40)).tolist() == found
    splits = halves(40)
    as_csr, dense = (problem_of(each, y).replace(standardize=False)
                     for each in (sparse.csr_matrix(X), X))
    assert choose(as_csr, splits).tolist() == choose(dense, splits).tolist()


def test_weights_are_repetitions():
    X, y = targets_of_some(40, P)
    times = np.random.default_rng(0).integers(1, 4, 40)
    often = np.repeat(np.arange(40), times)
    splits = [(training, test, times[test].astype(float)) for training, test, _ in halves(40)]
    repeated = [[np.flatnonzero(np.isin(often, side)) for side in split[:2]] for split in splits]
    repeated = [(training, test, np.ones(len(test))) for training, test in repeated]
    # Fences and scales of the repeated samples are the same.
    weighted = problem_of(X, y, sample_weight=times)
    assert choose(weighted, splits).tolist() == choose(
        problem_of(X[often], y[often]), repeated).tolist()


def test_without_splits_all_features_are_used():
    assert choose(problem_of(*targets_of_some(5, P)), []).tolist() == list(range(P))


@pytest.mark.parametrize("y", [np.zeros(20), np.arange(20.0) % 2])
def test_features_without_use_leave_constant_leaves(y):
    X = np.random.default_rng(0).normal(size=(20, 3))
    X[:, 1] = 4.0
    tree = ObliqueTreeRegressor(
        0, optimizer=LinearLeaves(features="lasso"), validation_fraction=None).fit(X, y).tree_
    assert tree.slopes is None or not tree.slopes[0, 0, 1]


def test_classes():
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X, np.random.default_rng(0).normal(size=(len(X), 20))])
    tree = ObliqueTreeClassifier(0, optimizer=LinearLeaves(features="lasso"), random_state=0,
                                 validation_fraction=None).fit(X, y).tree_
    used = np.flatnonzero(tree.slopes.any(axis=(0, 1)))
    assert used[used < 4].any()
    assert len(used) < 12


def classes_of_some(n, p):
    """Classes that are told by a sum of five features."""
    X = np.random.default_rng(0).normal(size=(n, p))
    return X, X[:, :5].sum(axis=1) > 0.0


@pytest.mark.parametrize("p", [100, *in_nightly([600])])
def test_a_score_of_the_features_that_tell_two_classes(p):
    """Scores of all features are right for 0.83 and 0.64, trees of TAO for 0.91 and 0.84."""
    X, y = classes_of_some(700, p)
    model = ObliqueTreeClassifier(random_state=0, n_jobs=1).fit(X[:200], y[:200])
    assert model.kind_ == "score bands"
    assert model.score(X[200:], y[200:]) > 0.93
    assert len(np.unique(model.tree_.weights.nonzero()[1])) < 10


@pytest.mark.usefixtures("few_trial_trees")
def test_forests_of_linear_models_of_the_features_that_tell_two_classes():
    X, y = classes_of_some(700, 100)
    model = ObliqueForestClassifier(8, max_depth=2, random_state=0, n_jobs=1)
    assert model.fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.9
    assert model.candidates_["share"][-1] > 0.5


def test_few_samples_of_many_features_get_a_tree_of_those_that_matter():
    """With linear models of all features, R2 is 0.55."""
    X, y = make_friedman1(1200, 60, noise=1.0, random_state=0)
    model = ObliqueTreeRegressor(random_state=0, n_jobs=1).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.75
    assert (model.tree_.slopes != 0).sum(axis=2).max() <= 10


@pytest.mark.parametrize("seed", [1, 2])
def test_features_of_very_many_are_found_by_the_training_samples_of_a_split(seed):
    """By all samples, 500 columns of noise predict the test samples, too: over 100 were chosen."""
    problem = problem_of(*targets_of_some(160, 3000, noise=1.5, seed=seed))
    assert choose(problem, halves(160)).tolist() == [0, 1, 2]


def test_of_many_samples_some_choose(monkeypatch):
    X, y = targets_of_some(400, 30)
    monkeypatch.setattr(linear_leaves, "_MAX_SAMPLES", 150)
    model = ObliqueTreeRegressor(
        0, init="info_gain", optimizer=LinearLeaves(features="lasso"), random_state=0)
    seen = []

    def spy(problem, samples, splits):
        seen.append(samples)
        return chosen_by_lasso(problem, samples, splits)

    monkeypatch.setattr(linear_leaves, "chosen_by_lasso", spy)
    used = np.flatnonzero(model.fit(X, y).tree_.slopes[0, 0])
    assert len(np.unique(seen[0])) == 150
    assert {0, 1, 2} <= {*used}
    assert len(used) < 15


@pytest.mark.parametrize("p", [20, 600])
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber", "quantile"])
def test_far_targets_choose_no_features(loss, p):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, p))
    y = 3.0 * X[:, 0] + 2.0 * X[:, 1] + 0.1 * rng.normal(size=200)
    y[:3] = 1e6
    problem = make_problem(X, y, loss).near
    found = LinearLeaves(features="lasso").used_features(None, problem)
    assert {0, 1} <= set(found)
    assert len(found) < 20
