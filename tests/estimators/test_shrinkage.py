"""Leaves of classes, shrunk to the nodes above as far as held-out samples ask."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.datasets import make_classification

from helpers import make_problem
from ngdt import ObliqueTreeClassifier, Tree
from ngdt._core.structure import child_ids
from ngdt._selection import policy
from ngdt._selection.candidates import CONSTANT, Leaves, default_candidates
from ngdt._selection.default import _Race, best_tree
from ngdt._selection.shrinkage import best_strength, shrunk_values
from ngdt._selection.train import Candidate
from ngdt._training.folds import Fold
from ngdt.export import export_html, export_text
from ngdt.initializers import InfoGain
from ngdt.losses import BoundedLoss, LogLoss
from ngdt.optimizers import LinearLeaves
from ngdt.pruning import refit_leaves
from ngdt.testing.strategies import problems

STRENGTHS = 0.0, 0.5, 7.0, 1e6


@st.composite
def cases(draw):
    """A problem of classes with whole weights, some of them 0, and a tree."""
    tree, X, y, _ = draw(problems(losses=st.just(LogLoss()), n_samples=st.integers(1, 12)))
    weight = draw(st.lists(st.integers(0, 3), min_size=len(y), max_size=len(y)).filter(any))
    return tree, X, y, np.array(weight, dtype=float)


def of_definition(tree, leaf, y, weight, strength):
    """Shares in leaves: from the root down, what each node adds to the shares of its parent."""
    m, k = tree.n_internal, tree.n_outputs
    children, below = child_ids(tree), {}
    for node in range(m + tree.n_leaves - 1, -1, -1):
        below[node] = {node - m} if node >= m else below[children[node, 0]] | below[
            children[node, 1]]

    def counts(node):
        here = np.isin(leaf, list(below[node]))
        return np.array([weight[here & (y == c)].sum() for c in range(k)])

    def own(node, above):
        count = counts(node)
        return (count + 0.5 / k) / (count.sum() + 0.5) if count.any() else above

    shares = np.empty((tree.n_leaves, k))

    def walk(node, share, shrunk):
        if node >= m:
            shares[node - m] = shrunk
            return
        n = counts(node).sum()
        for child in children[node]:
            of_child = own(child, share)
            walk(child, of_child, shrunk + (of_child - share) * (n / (n + strength) if n else 0.0))

    walk(0, own(0, None), own(0, None))
    return shares


@given(cases(), st.sampled_from([2.0**-10, 2.0**-30]))
def test_small_weights_are_in_units_of_their_mean(case, unit):
    tree, X, y, weight = case
    plain, small = (
        shrunk_values(make_problem(X, y, sample_weight=each, n_outputs=tree.n_outputs), tree,
                      STRENGTHS) for each in (weight / weight[weight > 0].mean(), unit * weight))
    for one, other in zip(plain, small, strict=True):
        assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@given(cases())
def test_leaves_are_shrunk_as_defined_and_predict_the_same_class(case):
    tree, X, y, weight = case
    problem = make_problem(X, y, sample_weight=weight, n_outputs=tree.n_outputs)
    samples = problem.training_samples
    leaf = tree.apply(X)
    predicted = tree.values.argmax(axis=1)
    for strength, values in zip(
            STRENGTHS, shrunk_values(problem, tree, STRENGTHS), strict=True):
        expected = of_definition(tree, leaf, y, weight, strength)
        p = softmax(values, axis=1)
        reached = np.unique(leaf[samples])
        assert_array_equal(values.argmax(axis=1), predicted)
        # Else, the class that the tree predicts has just been made the likeliest.
        is_same = expected.argmax(axis=1) == predicted
        assert_allclose(p[is_same], expected[is_same], rtol=1e-9)
        largest = np.log(expected.max(axis=1))
        assert_allclose(values.max(axis=1)[~is_same], largest[~is_same] + 1e-4, rtol=1e-9)
        if strength == 0.0:
            plain = LogLoss(0.5).fit_leaves(
                leaf[samples], problem.y[samples], weight[samples], tree.n_leaves, tree.n_outputs)
            reached = reached[is_same[reached]]
            assert_allclose(values[reached], plain[reached], rtol=1e-9, atol=1e-9)


@given(cases())
def test_weights_are_repetitions(case):
    tree, X, y, weight = case
    row = np.repeat(np.arange(len(y)), weight.astype(int))
    weighted = make_problem(X, y, sample_weight=weight, n_outputs=tree.n_outputs)
    repeated = make_problem(X[row], y[row], n_outputs=tree.n_outputs)
    for one, other in zip(*(shrunk_values(each, tree, STRENGTHS) for each in (weighted, repeated)),
                          strict=True):
        assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@given(cases(), st.sampled_from([1e-250, 1e-20, 1e20, 1e250]))
def test_leaves_are_finite_with_any_weights(case, unit):
    tree, X, y, weight = case
    problem = make_problem(X, y, sample_weight=weight * unit, n_outputs=tree.n_outputs)
    for values in shrunk_values(problem, tree, STRENGTHS):
        assert np.isfinite(values).all()


def test_the_strength_has_the_least_loss_on_the_folds():
    X, y = make_classification(400, flip_y=0.05, random_state=0)
    weight = np.random.default_rng(0).choice([0.5, 1.0, 2.0], len(y))
    problem = make_problem(X, y, sample_weight=weight)
    folds = [Fold.without(problem, np.arange(k, len(y), 3, dtype=np.int32)) for k in range(3)]
    trees = [ObliqueTreeClassifier(5, optimizer=None).fit(
        X, y, sample_weight=fold.problem.sample_weight).tree_ for fold in folds]
    for n in (3, 2):    # folds on which a candidate was tested
        strength, found = best_strength(folds, trees[:n])
        scores = {each: [
            fold.score(tree.replace(values=next(shrunk_values(fold.problem, tree, [each]))))
            for fold, tree in zip(folds, trees[:n], strict=False)] for each in policy.STRENGTHS}
        losses = {each: np.concatenate([one.log_loss for one in of_strength]).sum()
                  for each, of_strength in scores.items()}
        assert strength == min(losses, key=losses.get)
        assert 0.0 < strength < policy.STRENGTHS[0]
        for one, expected in zip(found, scores[strength], strict=True):
            assert_allclose(one, expected, rtol=1e-12)


def test_a_tree_that_knows_thousands_of_samples_by_heart_is_worth_more_than_a_leaf():
    random = np.random.default_rng(0)
    X, fold = random.normal(size=(12_000, 1)), np.arange(4000, dtype=np.int32)
    y = X[:, 0] > 0
    y[fold] ^= random.random(len(fold)) < 0.35
    part = Fold.without(make_problem(X, y), fold)
    tree = part.problem.refit_leaves(Tree([[1.0]], [0.0], [~0], [~1], np.eye(2)))
    _, (score,) = best_strength([part], [tree])
    assert part.score(tree).log_loss.mean() > 2.0
    assert score.log_loss.mean() < 0.66 < np.log(2)


def test_candidates_are_compared_by_shrunk_probabilities():
    X, y = make_classification(300, flip_y=0.2, random_state=0)
    given = make_problem(X, y)
    candidates = [each for each in default_candidates(given) if each.name in ("pruned", "tao C=1")]
    race = _Race(given, candidates, "auto", CONSTANT, 0.0)
    race.run()
    choice = race.choice
    for each in candidates:
        assert race.strengths[each] > 0.0
        for fold, tree, found in zip(
                choice.folds, choice.trees[each], choice.scores[each], strict=False):
            values, = shrunk_values(fold.problem, tree, [race.strengths[each]])
            expected = fold.score(tree.replace(values=values))
            assert_allclose(found, expected, rtol=1e-12)
            assert not np.allclose(expected.square, fold.score(tree).square)


def test_a_tree_whose_leaves_are_too_sure_stays_in_the_race():
    random = np.random.default_rng(0)
    X = random.uniform(0.0, 4.0, (600, 1))
    y = random.random(600) < np.array([0.1, 0.7, 0.3, 0.9])[X[:, 0].astype(int)]
    result = best_tree(make_problem(X, y), [
        Candidate("stump", InfoGain(), max_depth=1), Candidate("pure leaves", InfoGain())])
    table = dict(zip(result.candidates["candidate"], result.candidates["n_folds"], strict=True))
    assert table["pure leaves"] == 3


def test_linear_leaves_are_not_shrunk_where_no_slope_helped_on_another_fold():
    random = np.random.default_rng(61)
    X = random.normal(size=(30, 2))
    y = X[:, 0] > 0.5
    y[0] ^= True
    each = Candidate("linear", "pruned", (LinearLeaves(),))
    race = _Race(make_problem(X, y), [each], "auto", Leaves("linear"), 0.0)
    choice = race.choice
    while choice.go_on():
        pass
    assert [tree.slopes is None for tree in choice.trees[each]] == [True, False, False]
    assert not race.strengths
    for fold, tree, score in zip(
            choice.folds, choice.trees[each], choice.scores[each], strict=True):
        assert_array_equal(score, fold.score(tree))


def test_linear_leaves_of_all_samples_are_not_shrunk():
    X, y = make_classification(300, flip_y=0.2, random_state=0)
    late = Candidate("linear in the end", InfoGain(), (), (LinearLeaves(),), max_depth=1)
    result = best_tree(make_problem(X, y), [late], leaves=Leaves("linear"))
    assert result.tree.slopes is not None


def test_probabilities_of_the_default_are_shrunk_and_no_class_changes():
    X, y = make_classification(600, flip_y=0.3, random_state=0)
    fitted = ObliqueTreeClassifier(random_state=0).fit(X, y)
    problem = make_problem(X, y)
    strength, = (strength for strength, values in zip(
        policy.STRENGTHS, shrunk_values(problem, fitted.tree_, policy.STRENGTHS), strict=True)
        if fitted.tree_.replace(values=values) == fitted.tree_)
    assert strength > 0.0
    plain = problem.refit_leaves(fitted.tree_)
    assert_array_equal(fitted.tree_.values.argmax(axis=1), plain.values.argmax(axis=1))


@pytest.mark.parametrize("loss", [LogLoss(3.0), BoundedLoss()])
def test_leaves_are_as_another_loss_asks(loss):
    X, y = make_classification(300, flip_y=0.2, random_state=0)
    fitted = ObliqueTreeClassifier(loss=loss, random_state=0).fit(X, y)
    expected = make_problem(X, y, loss).refit_leaves(fitted.tree_)
    assert_allclose(fitted.tree_.values, expected.values)


def test_heavy_samples_are_no_surer():
    random = np.random.default_rng(1)
    X = random.normal(size=(300, 4))
    y = X[:, 0] + 2.0 * random.normal(size=300) > 0
    light, heavy = (ObliqueTreeClassifier(random_state=0).fit(
        X, y, np.full(300, weight)).candidates_["log_loss"] for weight in (1.0, 16.0))
    assert_allclose(heavy, light, atol=0.03)


def test_groups_have_the_losses_of_their_samples():
    X, y = make_classification(300, flip_y=0.3, random_state=0)
    fitted = ObliqueTreeClassifier(random_state=0).fit(X, y, groups=np.arange(300) // 3)
    alone = ObliqueTreeClassifier(random_state=0).fit(X, y)
    assert_allclose(fitted.candidates_["log_loss"], alone.candidates_["log_loss"], atol=0.3)
    assert np.isfinite(fitted.candidates_["standard_error"]).all()


@pytest.mark.parametrize(("strength", "is_strong"), [(0.0, False), (1.0, False), (100.0, True)])
def test_the_text_of_a_tree_says_that_shrinkage_is_strong(strength, is_strong, monkeypatch):
    monkeypatch.setattr(policy, "STRENGTHS", (strength,))
    X = np.random.default_rng(0).normal(size=(200, 5))
    y = X[:, 0] > 0
    model = ObliqueTreeClassifier(2, leaf="constant", random_state=0).fit(X, y)
    assert dict(zip(model.candidates_["chosen"], model.candidates_["shrinkage"], strict=True))[
        True] == strength
    assert ("\n# probabilities are shrunk" in export_text(model)) == is_strong
    assert ("Probabilities are shrunk" in export_html(model)) == is_strong
    assert "are shrunk" not in export_text(refit_leaves(model, X, y))
    model.tree_ = model.tree_.replace(values=model.tree_.values)
    assert "are shrunk" not in export_text(model)
