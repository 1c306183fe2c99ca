"""Training that goes on: warm_start, partial_fit, Ctrl-C."""


import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from helpers import StopAt
from ngdt import ObliqueForestClassifier, ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt.export import export_c
from ngdt.losses import SquaredLoss
from ngdt.optimizers import SSGD, TAO
from ngdt.pruning import refit_leaves

BOTH = pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueTreeRegressor])


@BOTH
def test_warm_start_goes_on_from_the_tree(estimator, iris):
    X, y = iris
    cold = estimator(3, optimizer=None, validation_fraction=None).fit(X, y)
    warm = clone(cold).set_params(warm_start=True).fit(X, y)
    structure = warm.tree_
    starts = []

    class Watched(SSGD):
        def _optimize(self, tree, problem):
            starts.append(tree)
            return super()._optimize(tree, problem)

    warm.set_params(optimizer=Watched(epochs=3), max_depth=1, random_state=0).fit(X, y)
    (start,) = starts
    for name in ("weights", "thresholds", "children_left", "children_right"):
        np.testing.assert_array_equal(getattr(start, name), getattr(structure, name))
    np.testing.assert_allclose(warm._targets.unscale_leaf_values(
        start, SquaredLoss()).values, structure.values)
    assert warm.tree_ != structure
    assert warm.tree_.max_depth == structure.max_depth == 3
    restarted = warm.set_params(optimizer=None, warm_start=False).fit(X, y)
    assert restarted.tree_ == clone(warm).fit(X, y).tree_


@pytest.mark.parametrize("optimizer", ["auto", "tao", None])
def test_linear_leaves_that_the_default_chose_are_kept(optimizer):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    y = X @ [1.0, 2.0, 3.0, 4.0] > 0.0
    fitted = ObliqueTreeClassifier(
        max_depth=2, leaf="linear", optimizer=None, random_state=0).fit(X, y)
    fitted.set_params(leaf="auto", optimizer=optimizer, warm_start=True, random_state=0)
    assert fitted.fit(X, y).tree_.slopes is not None
    assert fitted.score(X, y) > 0.95
    other = ObliqueTreeClassifier(init=fitted, optimizer=optimizer, random_state=0).fit(X, y)
    assert other.score(X, y) > 0.95
    if optimizer == "auto":
        with pytest.warns(UserWarning, match="Fit with leaf='constant' before") as caught:
            fitted.partial_fit(X, y)
        assert caught[0].filename == __file__


def test_warm_start_refuses_other_data(iris):
    X, y = iris
    warm = ObliqueTreeClassifier(2, optimizer=None, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="X has 3 features"):
        warm.fit(X[:, :3], y)
    with pytest.raises(ValueError, match=r"y contains the labels \[3\].* or train with them"):
        warm.fit(X, y + 1)
    warm.fit(X[:100], y[:100])  # a label less is fine
    assert warm.n_classes_ == 3
    warm = ObliqueTreeRegressor(2, optimizer=None, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="y has 2 targets, but the initial tree has 1"):
        warm.fit(X, np.column_stack([y, y]))


def test_partial_fit_of_a_classifier(digits):
    X, y = digits
    estimator = ObliqueTreeClassifier(5, optimizer=SSGD(epochs=20), random_state=0)
    estimator.partial_fit(X[:200], y[:200], classes=range(10))
    before = estimator.score(X[400:], y[400:])
    for start in (0, 200):
        estimator.partial_fit(X[start:start + 200], y[start:start + 200])
    assert estimator.score(X[400:], y[400:]) > before
    one = y == 1
    estimator.partial_fit(X[one], y[one])
    assert estimator.n_classes_ == 10


@pytest.mark.filterwarnings("error")
def test_given_classes_are_no_targets_of_regression():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = ObliqueTreeClassifier(1, optimizer=SSGD(epochs=1))
    model.partial_fit(X, np.arange(60), classes=range(100))
    assert model.n_classes_ == 100


def test_small_batches_after_the_first_are_warned_of(iris):
    X, y = iris
    model = ObliqueTreeClassifier(2, optimizer=SSGD(epochs=3), random_state=0)
    model.partial_fit(X[::10], y[::10], classes=[0, 1, 2]).partial_fit(X[::3], y[::3])
    with pytest.warns(UserWarning, match="fits the present tree to 1 sample alone, .* forget"):
        model.partial_fit(X[:1], y[:1])
    with pytest.warns(UserWarning, match="to 49 samples alone"):
        model.partial_fit(X[::3], y[::3], sample_weight=np.arange(50) > 0)


def test_partial_fit_wants_all_classes_first(iris):
    X, y = iris
    estimator = ObliqueTreeClassifier(2, optimizer=SSGD(epochs=3), validation_fraction=None)
    with pytest.raises(ValueError, match=r"classes must be given .* such as those of np\.unique"):
        estimator.partial_fit(X, y)
    with pytest.raises(ValueError, match=r"y contains the labels \[2\]"):
        estimator.partial_fit(X, y, classes=[0, 1])
    estimator.partial_fit(X[:50], y[:50], classes=[2, 0, 1])
    with pytest.raises(ValueError, match=r"differ from those of the first .*: leave classes out"):
        estimator.partial_fit(X, y, classes=[0, 1])


def test_partial_fit_of_a_regressor(diabetes):
    X, y = diabetes
    estimator = ObliqueTreeRegressor(3, optimizer=SSGD(epochs=3), random_state=0)
    estimator.partial_fit(X[:200], y[:200])
    scale = estimator.predict(X).std()
    estimator.partial_fit(X[200:], y[200:], sample_weight=np.ones(len(y) - 200))
    assert 0.5 * scale < estimator.predict(X).std() < 2 * scale


@pytest.mark.parametrize(("kind", "go_on"), [
    (ObliqueTreeClassifier, lambda model, X, y: model.partial_fit(X, y)),
    (ObliqueTreeClassifier, lambda model, X, y: model.set_params(warm_start=True).fit(X, y)),
    (ObliqueTreeClassifier, refit_leaves),
    (ObliqueForestClassifier,
     lambda model, X, y: model.set_params(warm_start=True, n_estimators=21).fit(X, y)),
], ids=["partial_fit", "warm_start", "refit_leaves", "forest"])
def test_further_samples_may_have_gaps_and_fractions(kind, go_on):
    X = np.arange(200.0)[:, None] % 9
    model = kind(max_depth=1, init="info_gain", optimizer=TAO(max_iter=1), random_state=0)
    model.fit(X, y := X[:, 0] > 4)
    assert model.explain([[0.0]])[0].changes_of_one_column()[0].values == {"x0": 5.0}
    X[X == 5.0], X[::10] = 4.6, np.nan
    model = go_on(model, X, y)
    assert model.explain([[0.0]])[0].changes_of_one_column()[0].values["x0"] % 1.0 > 0.0
    assert "sample[0] != sample[0]" in export_c(model)      # a missing number is no error


@BOTH
def test_without_an_optimizer_there_is_nothing_to_go_on_with(estimator):
    assert not hasattr(estimator(optimizer=None), "partial_fit")
    assert hasattr(estimator(), "partial_fit")


@BOTH
def test_ctrl_c_leaves_the_best_tree_so_far(estimator, iris):
    X, y = iris
    fitted = estimator(
        3, optimizer=["ssgd", "sgd"], validation_fraction=None, callback=StopAt(3), random_state=0)
    with pytest.warns(ConvergenceWarning, match="interrupted after 3 epochs") as caught:
        assert fitted.fit(X, y) is fitted
    assert caught[0].filename == __file__
    assert fitted.n_iter_ == 3
    assert set(fitted.history_["optimizer"]) == {"SSGD"}  # the chain ends too
    assert fitted.predict(X).shape == y.shape
