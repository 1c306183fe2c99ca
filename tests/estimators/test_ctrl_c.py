"""Ctrl-C at any moment of a fit: before there is a tree, between the epochs, and afterwards."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import ngdt._estimators.base
import ngdt._selection.train
from helpers import Interruption, StopAt
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt._methods.greedy.pruned import CrossValidatedPruning
from ngdt._util.stopped import Stopped
from ngdt.initializers import InfoGain
from ngdt.losses import SquaredLoss
from ngdt.optimizers import SSGD, TAO, Annealed, Regrow

BOTH = pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueTreeRegressor])
FRACTIONS = pytest.mark.parametrize("fraction", ["auto", 0.3, None])


def fit_interrupted(model, X, y, n_epochs):
    epochs = "1 epoch;" if n_epochs == 1 else f"{n_epochs} epochs;"
    with pytest.warns(ConvergenceWarning, match=f"interrupted after {epochs}") as caught:
        assert model.fit(X, y) is model
    assert caught[0].filename == __file__
    assert model.n_iter_ == n_epochs
    assert len(model.history_["optimizer"]) == n_epochs
    assert not model.baseline_kept_
    assert model.n_node_samples_[0] == len(y)
    assert model.feature_importances_.sum() == pytest.approx(1.0)


@BOTH
@FRACTIONS
def test_while_subtrees_are_regrown(estimator, fraction, digits, monkeypatch):
    X, y = digits
    stop = Interruption(monkeypatch, Regrow, "_optimize", 1)
    model = estimator(
        3, init="random_complete", optimizer=[SSGD(epochs=4), Regrow()],
        validation_fraction=fraction, random_state=0)
    fit_interrupted(model, X, y, 4)
    ((_, trained, _),) = stop.seen
    alone = model._targets.unscale_leaf_values(trained, SquaredLoss()).predict(X)
    np.testing.assert_allclose(model.tree_.predict(X), alone)


@pytest.mark.parametrize("call", [1, 2])
@pytest.mark.parametrize("told", [False, True])
def test_while_folds_are_trained(call, told, digits):
    class Interrupted(SSGD):
        calls = 0

        def _optimize(self, tree, problem):
            Interrupted.calls += 1
            if call != Interrupted.calls:
                return super()._optimize(tree, problem)
            if told:
                raise Stopped(tree)
            raise KeyboardInterrupt

    X, y = digits
    model = ObliqueTreeClassifier(3, optimizer=Interrupted(epochs=5), random_state=0)
    with pytest.warns(ConvergenceWarning, match="interrupted after 0 epochs"):
        model.fit(X, y)
    assert Interrupted.calls == call
    # The pruned tree of the fold, or the tree that was trained on it.
    assert model.baseline_kept_ == (call == 1)
    assert model.score(X, y) > 0.5


@pytest.mark.parametrize("optimizer", [TAO, Annealed])
def test_before_a_candidate_is_trained(optimizer, digits, monkeypatch):
    Interruption(monkeypatch, optimizer, "_optimize", 1)
    model = ObliqueTreeClassifier(3, optimizer=optimizer.name, random_state=0)
    with pytest.warns(ConvergenceWarning, match="interrupted after 0 epochs"):
        model.fit(*digits)
    assert model.kind_ == "greedy tree"
    assert "training made it worse" not in model.summary()


@BOTH
def test_before_a_subtree_is_chosen(estimator, iris, monkeypatch):
    Interruption(monkeypatch, CrossValidatedPruning, "_choose", 1)
    with pytest.warns(ConvergenceWarning, match="interrupted after 0 epochs"):
        model = estimator(init="pruned", optimizer=None, random_state=0).fit(*iris)
    assert model.score(*iris) > 0.9


@BOTH
@pytest.mark.filterwarnings("error")
def test_before_any_candidate_has_won(estimator, monkeypatch):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(300, 4)), random.integers(0, 2, 300)
    Interruption(monkeypatch, TAO, "_optimize", 1)
    with pytest.warns(ConvergenceWarning, match="interrupted after 0 epochs"):
        assert estimator(3, optimizer="tao", random_state=0).fit(X, y).kind_ == "single leaf"


@BOTH
def test_while_the_limits_are_enforced(estimator, iris, monkeypatch):
    stop = Interruption(monkeypatch, ngdt._selection.train, "enforce_limits", 1)
    model = estimator(
        4, optimizer=SSGD(epochs=3), validation_fraction=None, min_samples_leaf=10, random_state=0)
    fit_interrupted(model, *iris, 3)
    assert len(stop.seen) == 2
    assert model.n_node_samples_.min() >= 10
    monkeypatch.undo()
    assert model.tree_ == estimator(**model.get_params(deep=False)).fit(*iris).tree_


@BOTH
def test_while_importances_are_computed(estimator, iris, monkeypatch):
    stop = Interruption(monkeypatch, ngdt._estimators.description, "feature_importances", 1)
    model = estimator(3, optimizer=SSGD(epochs=1), validation_fraction=None, random_state=0)
    fit_interrupted(model, *iris, 1)
    assert len(stop.seen) == 2
    monkeypatch.undo()
    assert model.tree_ == estimator(**model.get_params(deep=False)).fit(*iris).tree_


@BOTH
def test_twice(estimator, iris, monkeypatch):
    Interruption(monkeypatch, ngdt._estimators.description, "feature_importances", 1, 2)
    model = estimator(3, optimizer=SSGD(epochs=3))
    with pytest.raises(KeyboardInterrupt):
        model.fit(*iris)
    with pytest.raises(NotFittedError):
        model.predict(iris[0])


@BOTH
@pytest.mark.parametrize(("owner", "name"), [
    (InfoGain, "_initialize"), (ngdt._estimators.base, "best_tree")])
def test_before_the_first_epoch(estimator, owner, name, iris, monkeypatch):
    X, y = iris
    fitted = estimator(3, optimizer=SSGD(epochs=3), random_state=0).fit(X, y)
    before = dict(vars(fitted))
    Interruption(monkeypatch, owner, name, 1, 2)
    fresh = estimator(3, optimizer=SSGD(epochs=3))
    for model in (fresh, fitted):
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    assert {name for name in vars(fresh) if name.endswith("_")} == set()
    assert vars(fitted) == before


@BOTH
def test_in_partial_fit_ends_the_loop_and_keeps_the_tree(estimator, iris):
    X, y = iris
    classes = {"classes": [0, 1, 2]} if estimator is ObliqueTreeClassifier else {}
    model = estimator(3, optimizer=[SSGD(epochs=5), Regrow()], callback=StopAt(2), random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y, **classes)
    assert len(model.history_["optimizer"]) == 2
    assert model.predict(X).shape == y.shape
    kept = model.tree_
    model.set_params(callback=None).partial_fit(X, y)
    assert model.tree_ != kept
