"""The parameters init, optimizer and loss, and their errors."""


import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor
from ngdt._estimators.resolve import resolve_init, resolve_optimizers
from ngdt.initializers import (
    CO2,
    INITIALIZERS,
    OC1,
    InfoGain,
    RandomComplete,
    RandomOblique,
    SoftGreedy,
)
from ngdt.losses import LogLoss, SquaredLoss
from ngdt.optimizers import (
    GTO,
    OPTIMIZERS,
    SGD,
    SSGD,
    TAO,
    Annealed,
    EndToEnd,
    LinearLeaves,
    Optimizer,
    OptimizerResult,
    Regrow,
    ShrinkLeaves,
)

BOTH = pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueTreeRegressor])

@BOTH
def test_algorithms_by_name_are_those_by_object(estimator):
    for name, algorithm in INITIALIZERS.items():
        assert repr(resolve_init(estimator(init=name), [], {})) == repr(algorithm())
    for name, algorithm in OPTIMIZERS.items():
        for optimizer in (algorithm(), [name]):
            assert repr(resolve_optimizers(estimator(optimizer=optimizer))) == repr([algorithm()])


@BOTH
@pytest.mark.parametrize("name", sorted(
    name for name, optimizer in OPTIMIZERS.items()
    if optimizer.is_stochastic and not optimizer.takes_linear_leaves))
def test_the_name_of_an_optimizer_brings_its_finishing_steps(estimator, name):
    finish = [Regrow()] if estimator is ObliqueTreeClassifier else [
        Regrow(min_samples_leaf=5), ShrinkLeaves()]
    found = resolve_optimizers(estimator(optimizer=name))
    assert repr(found) == repr([OPTIMIZERS[name](), *finish])


def test_a_list_runs_in_order_and_the_history_is_one_table(iris):
    chain = [SGD(epochs=2), _Other(), SSGD(epochs=3)]
    fitted = ObliqueTreeClassifier(
        2, optimizer=chain, validation_fraction=None, random_state=0).fit(*iris)
    history = fitted.history_
    assert history["optimizer"] == ["SGD"] * 2 + ["_Other"] + ["SSGD"] * 3
    assert fitted.n_iter_ == 6
    assert {len(column) for column in history.values()} == {6}
    assert np.isnan(history["bound"]).tolist() == [False] * 2 + [True] + [False] * 3
    np.testing.assert_array_equal(history["special"], [np.nan] * 2 + [7] + [np.nan] * 3)
    bound, loss = np.array(history["bound"]), np.array(history["loss"])
    assert (bound[[0, 1, 3, 4, 5]] >= loss[[0, 1, 3, 4, 5]] - 1e-9).all()


class _Other(Optimizer):
    def _optimize(self, tree, problem):
        return OptimizerResult(tree, {"special": [7]})


def test_an_impossible_optimizer_is_refused_before_any_runs(iris, spy):
    class Impossible(Optimizer):
        def check(self, problem):
            raise ValueError("Impossible does not work with the log loss")

        def _optimize(self, tree, problem):
            raise AssertionError

    with pytest.raises(ValueError, match="Impossible does not work"):
        ObliqueTreeClassifier(optimizer=[spy, Impossible()]).fit(*iris)
    assert spy.seen == []


def test_init_may_be_a_tree(iris):
    initial = ObliqueTreeClassifier(3, optimizer=None).fit(*iris).tree_
    kept = ObliqueTreeClassifier(init=initial, optimizer=None).fit(*iris)
    assert kept.tree_ == initial
    assert clone(kept).fit(*iris).tree_ == initial  # a tree survives cloning
    trained = ObliqueTreeClassifier(
        init=initial, optimizer=SSGD(epochs=3), validation_fraction=None, random_state=0).fit(*iris)
    assert trained.tree_ != initial
    assert trained.tree_.n_internal == initial.n_internal


def test_init_may_be_a_fitted_estimator(iris):
    X, y = iris
    for fitted in (ObliqueTreeClassifier(2, optimizer=None), DecisionTreeClassifier(max_depth=2)):
        fitted.fit(X, y)
        kept = ObliqueTreeClassifier(init=fitted, optimizer=None).fit(X, y)
        np.testing.assert_array_equal(kept.predict(X), fitted.predict(X))
        frozen = clone(kept.set_params(init=FrozenEstimator(fitted)))
        np.testing.assert_array_equal(frozen.fit(X, y).predict(X), fitted.predict(X))


def test_no_estimator_is_its_own_init(iris):
    """It could neither be written nor cloned, nor get another init."""
    model = ObliqueTreeClassifier(2, optimizer=None).fit(*iris)
    with pytest.raises(ValueError, match=r"init must not be the estimator itself.*=tree\.tree_"):
        model.set_params(optimizer="tao", init=model)
    assert repr(model.set_params(init=model.tree_)).startswith("<ObliqueTreeClassifier(init=Tree(")


def test_a_fitted_regressor_as_init_keeps_its_units(diabetes):
    X, y = diabetes
    X = X.astype(np.float32)
    for targets in (1000 + y, np.column_stack([y, 1e3 * y])):
        for fitted in (ObliqueTreeRegressor(3, optimizer=None),
                       DecisionTreeRegressor(max_depth=3, random_state=0)):
            fitted.fit(X, targets)
            kept = ObliqueTreeRegressor(init=fitted, optimizer=None).fit(X, targets)
            np.testing.assert_allclose(kept.predict(X), fitted.predict(X))


def test_an_init_that_does_not_fit_is_refused(iris, diabetes):
    X, y = iris
    fitted = ObliqueTreeClassifier(2, optimizer=None).fit(X, y)
    with pytest.raises(ValueError, match=r"init: the tree is for 4 features .* the data have 3"):
        ObliqueTreeClassifier(init=fitted).fit(X[:, :3], y)
    with pytest.raises(ValueError, match="4 features and 3 outputs, but the data have 4 and 2"):
        ObliqueTreeClassifier(init=fitted.tree_).fit(X[:100], y[:100])
    with pytest.raises(ValueError, match=r"classes \[0 1 2\] does not fit y .* classes \[1 2 3\]"):
        ObliqueTreeClassifier(init=fitted).fit(X, y + 1)
    with pytest.raises(ValueError, match=r"classes \[0 1 2\] does not fit y .* classes None"):
        ObliqueTreeRegressor(init=fitted).fit(X, y)
    for unfitted in (ObliqueTreeClassifier(), DecisionTreeClassifier()):
        with pytest.raises(NotFittedError, match="pass the Tree instead"):
            ObliqueTreeClassifier(init=unfitted).fit(X, y)


@BOTH
@pytest.mark.parametrize(("parameter", "value", "error"), [
    ("max_depth", -1, ValueError),
    ("max_depth", 2.5, ValueError),
    ("init", "best", ValueError),
    ("init", 3, TypeError),
    ("init", LogisticRegression(), TypeError),
    ("optimizer", "adam", ValueError),
    ("optimizer", ["ssgd", "adam"], ValueError),
    ("optimizer", InfoGain(), TypeError),
    ("optimizer", SSGD, TypeError),
    ("optimizer", [None], TypeError),
    ("loss", "hinge", ValueError),
    ("loss", 1, TypeError),
    ("validation_fraction", 1.0, ValueError),
    ("validation_fraction", -0.1, ValueError),
    ("validation_fraction", "some", ValueError),
    ("standardize", "local", ValueError),
    ("max_time", 0, ValueError),
    ("max_time", -1.0, ValueError),
    ("max_time", "1 s", ValueError),
    ("n_jobs", 1.5, ValueError),
    ("n_jobs", 0, ValueError),
    ("callback", 1, ValueError),
    ("warm_start", "yes", ValueError),
    ("random_state", "seed", ValueError),
])
def test_bad_parameters_are_named(estimator, iris, parameter, value, error):
    with pytest.raises(error, match=parameter):
        estimator(**{parameter: value}).fit(*iris)


# Values of parameters of algorithms that are out of range, or of another type.
BAD = {
    SGD: {"inference": ["both"], "nu": [0.0, -1.0, "large", None], "learning_rate": [0.0],
          "batch_size": [0, 1.5], "epochs": [0, "many"], "leaf_learning_rate": [-1.0],
          "leaf_limit": [0.0], "norm_limit": [0.0]},
    SSGD: {"assignment": ["worst"], "renew": [0, "never"], "nu": [0.0]},
    Annealed: {"gamma": [3.0, [1.0, 2.0]], "q": [1.1, -0.1], "learning_rate": [0],
               "weight_decay": [-1.0], "batch_size": [0], "steps": [2.5], "mixing": [1.1],
               "pseudo_count": [0.0], "cutoff": [1.0, "never"], "leaf": ["cubic"],
               "leaf_learning_rate": [0.0], "slope_penalty": [-1.0]},
    EndToEnd: {"gamma": [0.0], "gamma_step": [-1.0], "epochs": [0], "learning_rate": ["auto"],
               "batch_size": [0], "spatial_penalty": [-1.0], "image_shape": [[2, 2]],
               "keep_zeros": ["yes"], "cutoff": [-0.1]},
    TAO: {"C": [0.0, -1.0, np.nan], "penalty": ["l0"], "node": ["linear"], "alpha": [-1, 11],
          "tol": [-0.1], "max_iter": [0], "loss": [3, "hinge"]},
    GTO: {"max_iter": [0], "tol": [-1.0]},
    LinearLeaves: {"penalty": [-1.0]}, Regrow: {"min_samples_leaf": [-1]},
    ShrinkLeaves: {"pseudo_count": [-1]},
    OC1: {"n_restarts": [-1], "n_jumps": [0.5]}, CO2: {"optimizer": ["sgd"]},
    RandomOblique: {"n_candidates": [0, 2.5], "n_nonzero": [0]},
    RandomComplete: {"max_depth": [21, -1, 2.5]},
    SoftGreedy: {"stump": ["end_to_end"], "n_attempts": [0], "max_features": [0, 1.5, "all"]},
}


@pytest.mark.parametrize(("algorithm", "parameter", "value"), [
    (algorithm, parameter, value) for algorithm, parameters in BAD.items()
    for parameter, values in parameters.items() for value in values])
def test_bad_parameters_of_algorithms_are_named(iris, algorithm, parameter, value):
    made = algorithm(**{parameter: value})
    given = {"optimizer": made} if isinstance(made, Optimizer) else {"init": made}
    with pytest.raises(ValueError, match=f"'{parameter}' parameter of {algorithm.__name__}"):
        ObliqueTreeClassifier(2, **given).fit(*iris)


@pytest.mark.parametrize(("init", "message"), [
    (CO2(optimizer=SGD(nu=-1)), "'nu' parameter of SGD"),
    (SoftGreedy(max_features=5), "more than the 4 features"),
    (RandomOblique(n_nonzero=5), "n_nonzero=5 is more than the 4 features")])
def test_initializers_that_do_not_fit_are_refused(iris, init, message):
    with pytest.raises(ValueError, match=message):
        ObliqueTreeClassifier(2, init=init, optimizer=None).fit(*iris)


def test_a_class_in_place_of_an_object_is_refused(iris):
    with pytest.raises(TypeError, match=r"must be .* or an Optimizer object, .*SSGD"):
        ObliqueTreeClassifier(optimizer=SSGD).fit(*iris)
    with pytest.raises(TypeError, match=r"must be .* or an Initializer object or .*InfoGain"):
        ObliqueTreeClassifier(init=InfoGain).fit(*iris)
    with pytest.raises(TypeError, match=r"loss must be .*: pass an object, LogLoss\(\)$"):
        ObliqueTreeClassifier(loss=LogLoss).fit(*iris)


def test_unknown_names_list_the_known_ones(iris):
    for parameter, none, registry, end in (
            ("init", "", INITIALIZERS, " object or a fitted tree"),
            ("optimizer", "None, ", OPTIMIZERS, " object")):
        with pytest.raises(ValueError, match=f"^{parameter} must be") as caught:
            ObliqueTreeClassifier(**{parameter: "nonsense"}).fit(*iris)
        assert f" must be 'auto', {none}one of {list(registry)}, or an " in str(caught.value)
        assert str(caught.value).endswith(f"{end}, got 'nonsense'.")


@pytest.mark.parametrize("item", ["auto", "nonsense", None])
def test_items_of_a_list_are_optimizers(iris, item):
    with pytest.raises((TypeError, ValueError), match=r"optimizer\[1\]") as caught:
        ObliqueTreeClassifier(optimizer=["tao", item]).fit(*iris)
    assert f"] must be one of {list(OPTIMIZERS)}, or" in str(caught.value)


@pytest.mark.parametrize(("parameter", "given", "close"), [
    ("optimizer", "atuo", "auto"), ("optimizer", "toa", "tao"), ("optimizer", "TAO", "tao"),
    ("init", "infogain", "info_gain")])
def test_a_name_that_is_nearly_known_is_suggested(iris, parameter, given, close):
    with pytest.raises(ValueError, match=rf"got '{given}'\. Did you mean '{close}'\?"):
        ObliqueTreeClassifier(**{parameter: given}).fit(*iris)


@pytest.mark.parametrize("loss", ["log_loss", LogLoss(), LogLoss(pseudo_count=1.0)])
def test_loss_by_name_and_by_object(iris, loss):
    plain, named = (
        ObliqueTreeClassifier(
            2, loss=choice, optimizer=SSGD(epochs=3), random_state=0).fit(*iris).tree_
        for choice in (None, loss))
    assert plain == named


def test_a_loss_of_the_other_task_is_refused(iris):
    with pytest.raises(ValueError, match=r"loss='squared_error' is for regression.*TreeClassifier"):
        ObliqueTreeClassifier(loss="squared_error").fit(*iris)
    with pytest.raises(ValueError, match="is for classification and does not fit Oblique"):
        ObliqueTreeRegressor(loss=LogLoss()).fit(*iris)
    ObliqueTreeRegressor(1, loss=SquaredLoss(), optimizer=None).fit(*iris)


@pytest.mark.parametrize(("X", "y", "message"), [
    ([[np.inf], [1.0]], [0, 1], "X contains infinity"),
    (np.empty((0, 2)), [], "0 sample"),
    (np.empty((2, 0)), [0, 1], "0 feature"),
    ([[1.0], [2.0]], [0, 1, 1], "inconsistent"),
    ([1.0, 2.0], [0, 1], "2D array"),
    ([[[1.0]], [[2.0]]], [0, 1], "dim 3"),
])
@BOTH
def test_bad_data_are_refused(estimator, X, y, message):
    with pytest.raises(ValueError, match=message):
        estimator().fit(X, y)


def test_bad_targets_are_refused(iris):
    X, y = iris
    for target in (np.where(y == 0, np.nan, y), np.where(y == 0, np.inf, y)):
        for estimator in (ObliqueTreeClassifier(), ObliqueTreeRegressor()):
            with pytest.raises(ValueError, match="y contains"):
                estimator.fit(X, target)
    with pytest.raises(ValueError, match="continuous"):
        ObliqueTreeClassifier().fit(X, X[:, 0])
    with pytest.raises(TypeError, match="y must be a dense array"):
        ObliqueTreeRegressor().fit(X, sparse.csr_matrix(y[:, None]))
