"""Sample weights, targets and features near the limits of floating point."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence

from helpers import examples, hard_problems, in_nightly, serves, short
from ngdt import ObliqueForestRegressor, ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt._core.samples import Samples
from ngdt._core.scaling import Scaling
from ngdt._core.sgd.epoch import SGDTrainer, TrainedTree, TrainingSamples
from ngdt._methods.sgd import run as input_scale
from ngdt._methods.soft.run import SoftOptimizer
from ngdt.initializers import INITIALIZERS
from ngdt.losses import SquaredLoss
from ngdt.optimizers import OPTIMIZERS, SGD, SSGD, TAO, Annealed, EndToEnd, LinearLeaves


@pytest.mark.parametrize("best_assignment", [False, True])
def test_samples_of_weight_zero_do_not_move_the_leaves(best_assignment):
    # Relative to their mean, positive sample weights may round to zero.
    tree = Tree(np.ones((1, 1)), [0.0], [~0], [~1], [[-2.0], [2.0]])
    x = np.array([[-1.0], [1.0], [-1.5], [1.5]])
    weights, thresholds = tree.weights.astype(np.float32), tree.thresholds.copy()
    trained = TrainedTree(
        tree, weights, thresholds, tree.values.copy(), SquaredLoss(), nu=1e12,
        leaf_limit=12.0, max_leaf_step=0.25)
    samples = TrainingSamples(
        Samples(x), x.copy(), np.array([0.0, 0.0, 1.0, 0.0]), Scaling(np.zeros(1), np.ones(1)),
        np.inf)
    trainer = SGDTrainer(
        trained, samples, radius=1, best_assignment=best_assignment, batch_size=2, n_threads=1)
    order, rates = np.array([0, 1, 3, 1], dtype=np.int32), np.full(2, 0.1)
    metrics = trainer.epoch(order, rates, rates)
    np.testing.assert_array_equal(trainer.tree.values, tree.values)
    np.testing.assert_array_equal(weights, [[1.0]])
    assert metrics["loss"] == metrics["bound"] == 0.0
    trainer.epoch(np.array([0, 2], dtype=np.int32), rates[:1], rates[:1])
    assert np.isfinite(trainer.tree.values).all()
    assert (trainer.tree.values != tree.values).sum() == 1


@pytest.mark.parametrize("optimizer", [SGD(epochs=3), SSGD(epochs=3)])
def test_sample_weights_that_are_nothing_beside_the_others(optimizer):
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 5))
    y = X[:, 0] + X[:, 1] > 0
    weight = np.where(np.arange(300) % 2, 10.0, 5e-324)
    fits = [
        ObliqueTreeClassifier(
            3, optimizer=optimizer, random_state=seed, validation_fraction=None).fit(X, y, weight)
        for seed in range(4)]
    for fit in fits:
        assert np.isfinite(fit.tree_.weights).all()
        assert fit.score(X, y, weight) > 0.8


@pytest.mark.parametrize("loss", ["squared_error", "huber"])
def test_targets_many_standard_deviations_away(loss):
    X = np.random.default_rng(0).normal(size=(3000, 3))
    y = np.where(X[:, 0] > 2.6, 1000.0, 0.0)
    assert y.max() - y.mean() > 12 * y.std()
    exact = Tree([[1.0, 0.0, 0.0]], [2.6], [~0], [~1], [[0.0], [1000.0]])
    optimizer = SSGD(epochs=1, learning_rate=1e-9, leaf_learning_rate=0.0)
    fit = ObliqueTreeRegressor(
        loss=loss, init=exact, optimizer=optimizer, validation_fraction=None).fit(X, y)
    np.testing.assert_allclose(fit.tree_.values, exact.values, atol=1e-9)
    assert fit.score(X, y) > 0.999


def test_leaf_values_follow_targets_that_move_away():
    X = np.random.default_rng(0).normal(size=(300, 3))
    y = X[:, 0]
    fit = ObliqueTreeRegressor(2, optimizer=SSGD(epochs=20), random_state=0).partial_fit(X, y)
    for _ in range(3):
        fit.partial_fit(X, 100.0 + y)
    assert fit.predict(X).mean() == pytest.approx(100.0, abs=0.2)


UNIFORM = np.random.default_rng(0).uniform(-1.0, 1.0, (200, 6))
MAX_FLOAT = np.finfo(np.float32).max


@pytest.mark.parametrize("norm_limit", [1.5, None])
@pytest.mark.parametrize("X", [
    (UNIFORM * (MAX_FLOAT / 2)).astype(np.float32),
    np.where(UNIFORM > 0.0, MAX_FLOAT, -MAX_FLOAT) / np.float32(2),
    sparse.csr_array(UNIFORM * 1e-320),
])
@pytest.mark.filterwarnings(
    "ignore:(overflow|invalid value):RuntimeWarning", "ignore:X. no feature varies")
def test_features_near_the_limits_of_their_type(X, norm_limit, capfd):
    y = UNIFORM[:, 0] > 0.0
    init = Tree(np.eye(1, 6), [0.0], [~0], [~1], np.eye(2))
    fit = ObliqueTreeClassifier(
        init=init, optimizer=SGD(epochs=2, norm_limit=norm_limit), random_state=0).fit(X, y)
    assert np.isfinite(fit.tree_.weights).all()
    assert fit.score(X, y) > 0.5
    assert capfd.readouterr().err == ""     # LAPACK writes there


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_whose_range_their_type_cannot_hold_are_refused(form, dtype):
    X = UNIFORM.astype(dtype)
    X[:2, 3] = [-0.6 * np.finfo(dtype).max, 0.6 * np.finfo(dtype).max]
    y = UNIFORM[:, 0] > 0.0
    model = ObliqueTreeClassifier(1, optimizer=None)
    with pytest.raises(ValueError, match=rf"feature 3 .* does not fit {np.dtype(dtype)}: scale X"):
        model.fit(form(X), y)
    model.fit(form(X), y, np.arange(200) > 1)   # samples of weight 0 are not looked at


def test_a_singular_value_that_does_not_converge_is_bounded(monkeypatch):
    def fail(*arguments, **options):
        raise ArpackNoConvergence("", np.empty(0), np.empty(0))

    monkeypatch.setattr(input_scale, "svds", fail)
    for X in (UNIFORM, sparse.csr_array(UNIFORM)):
        largest = np.linalg.norm(UNIFORM, 2)
        assert largest <= input_scale._largest_singular_value(X) <= np.sqrt(6) * largest


LINEAR = {"leaf": "linear", "steps": 40}
TRAINED = [
    SGD(epochs=3, batch_size=4), SSGD(epochs=3, batch_size=4),
    SSGD(epochs=3, batch_size=1, nu=1e6, learning_rate=10.0, leaf_learning_rate=1e3),
    SSGD(epochs=3, renew="epoch", norm_limit=None),
    Annealed(steps=12, batch_size=4), Annealed(steps=12, batch_size=4, cutoff=0.1, q=0.0),
    Annealed(steps=12, batch_size=1, gamma=(50.0, 500.0), learning_rate=10.0, weight_decay=0.0),
    Annealed(steps=12, pseudo_count=1e-30, q=0.0),
    EndToEnd(epochs=3, batch_size=4, learning_rate=1.0, gamma=100.0, gamma_step=100.0),
    EndToEnd(epochs=3, batch_size=1, cutoff=0.3, keep_zeros=True, learning_rate=0.1),
    Annealed(batch_size=4, **LINEAR), Annealed(batch_size=4, cutoff=0.1, **LINEAR),
    Annealed(batch_size=1, gamma=(50.0, 500.0), learning_rate=10.0, weight_decay=0.0,
             leaf_learning_rate=1.0, slope_penalty=1e6, **LINEAR),
    *(TAO(C, node=node, penalty=penalty, max_iter=3) for C in (1e-6, 1.0, 1e6)
      for node in ("oblique", "axis") for penalty in ("l1", "l2"))]


@examples(10)
@given(hard_problems(), st.sampled_from(TRAINED))
def test_training_stays_finite(case, optimizer):
    tree, problem = case
    if optimizer.get_params().get("leaf") == "linear":
        assume(not problem.loss.is_classifier)
    with warnings.catch_warnings():
        if not isinstance(optimizer, TAO):
            warnings.simplefilter("ignore", RuntimeWarning)
        result = optimizer.optimize(tree, problem)
    trained, samples = result.tree, problem.training_samples
    for part in (trained.densify().weights, trained.thresholds, trained.values,
                 problem.predictions(trained, samples)):
        assert np.isfinite(part).all()
    for name, column in result.history.items():
        assert name == "validation" or np.isfinite(column).all()
    if isinstance(optimizer, SoftOptimizer) and tree.n_internal:
        leaf = trained.apply_samples(Samples(problem.winsorized.X), samples)
        assert len(np.unique(leaf)) == trained.n_leaves


# --- targets and weights of regression -----------------------------------------------------------

RANDOM = np.random.default_rng(0)
NORMAL = 3.0 * UNIFORM[:120, 0] + RANDOM.normal(size=120)
TARGETS = {
    "huge": 1e300 * NORMAL, "tiny": 1e-300 * NORMAL, "subnormal": 1e-320 * np.round(100 * NORMAL),
    "equal": np.full(120, 1e300), "equal but for rounding": 1e300 * (1.0 + 1e-15 * NORMAL),
    "one far": np.r_[1e35, NORMAL[1:]], "two far": np.r_[-1e30, 1e30, NORMAL[2:]],
    "of any size": 10.0 ** RANDOM.uniform(-30, 5, 120)}
WEIGHTS = {
    "large": np.full(120, 1e300), "small": np.full(120, 1e-300),
    "one large": np.r_[1e300, np.ones(119)], "of any size": 10.0 ** RANDOM.uniform(-300, 300, 120)}
CASES = [*((y, np.ones(120)) for y in TARGETS.values()),
         *((NORMAL, weight) for weight in WEIGHTS.values()),
         (TARGETS["huge"], WEIGHTS["small"]), (TARGETS["one far"], WEIGHTS["small"])]
REGRESSORS = {
    "default": ObliqueTreeRegressor(),
    **dict(in_nightly([("default, constant", ObliqueTreeRegressor(leaf="constant"))])),
    "forest": ObliqueForestRegressor(2),
    "absolute": ObliqueTreeRegressor(
        3, loss="absolute_error", optimizer="tao", validation_fraction=None),
    "huber": ObliqueTreeRegressor(
        3, loss="huber", optimizer=short(Annealed), validation_fraction=None),
    "ccp_alpha": ObliqueTreeRegressor(
        3, ccp_alpha=0.1, min_impurity_decrease=0.1, optimizer="tao", validation_fraction=None),
    "monotone": ObliqueTreeRegressor(
        3, optimizer="tao", monotonic_cst=[1] + 5 * [0], validation_fraction=None),
    # Without the comparison with a baseline, which is the same for all.
    **{name: ObliqueTreeRegressor(3, optimizer=short(each), validation_fraction=None)
       for name, each in OPTIMIZERS.items() if serves(each(), SquaredLoss())},
    "linear, annealed": ObliqueTreeRegressor(
        3, optimizer=Annealed(steps=200, leaf="linear"), leaf=short(LinearLeaves),
        validation_fraction=None),
    "linear, tao": ObliqueTreeRegressor(
        3, optimizer=[short(LinearLeaves), short(TAO)], validation_fraction=None),
    # Linear leaves come after all others in the same way.
    **{f"{name}, linear": ObliqueTreeRegressor(
        3, optimizer=short(OPTIMIZERS[name]), leaf="linear", validation_fraction=None)
       for name in in_nightly(["sgd", "ssgd", "end_to_end", "annealed", "tao", "regrow"])},
    **{name: ObliqueTreeRegressor(3, init=short(each), optimizer=None)
       for name, each in INITIALIZERS.items() if serves(each(), SquaredLoss())}}


@pytest.mark.parametrize("model", REGRESSORS.values(), ids=REGRESSORS)
@pytest.mark.filterwarnings("ignore::UserWarning", "error::RuntimeWarning")
def test_targets_and_weights_of_any_size_overflow_nowhere(model):
    for y, weight in CASES:
        model = model.set_params(random_state=0).fit(UNIFORM[:30], y[:30], weight[:30])
        assert np.isfinite(model.predict(UNIFORM)).all()


@pytest.mark.parametrize(("y", "weight", "message"), [
    (np.r_[1e300, NORMAL[1:]], 1.0, r"y has numbers up to 1e\+300, .* leave those samples out"),
    (10.0 ** np.linspace(-300, 300, 120), 1.0, "y has numbers up to .* the logarithm of y"),
    (TARGETS["two far"], 1e280, r"sample_weight .* 4.77e\+29 standard .* divide the weights")])
@pytest.mark.parametrize("estimator", [ObliqueTreeRegressor, ObliqueForestRegressor])
def test_targets_that_would_overflow_are_refused(estimator, y, weight, message):
    with pytest.raises(ValueError, match=message):
        estimator().fit(UNIFORM[:120], y, np.full(120, weight))
