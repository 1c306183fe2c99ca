"""The kernel of one epoch, against numpy and against itself with other threads and data forms."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse

from helpers import assert_other_threads_run, random_children
from ngdt import Tree
from ngdt._core.samples import Samples
from ngdt._core.scaling import Scaling
from ngdt._core.search import RADIUS
from ngdt._core.sgd.epoch import SGDTrainer, TrainedTree, TrainingSamples
from ngdt.inference import surrogate_gradient
from ngdt.losses import LOSSES
from reference.sgd import NaiveTrainer

KINDS = pytest.mark.parametrize("kind", sorted(RADIUS))
RULES = pytest.mark.parametrize("rule", ["navigate", "best"])
BOTH_LOSSES = pytest.mark.parametrize("loss", ["log_loss", "squared_error"])


class Case:
    """A random tree and data, and the parameters of training them."""

    def __init__(self, loss, seed, *, n=23, p=3, m=6, dyadic=False, dtype=np.float64, **options):
        self.random = np.random.default_rng(seed)
        self.loss, self.n = loss, n
        draw = self.dyadics if dyadic else self.normal
        self.X = draw((n, p)).astype(dtype)
        k = 3 if loss == "log_loss" else 2
        # Leaf values in sixteenths, which the rest is not: no two leaves tie.
        values = draw((m + 1, k)) if not dyadic else self.dyadics((m + 1, k), 64) + 1 / 64
        children = random_children(self.random, m)
        self.tree = Tree(draw((m, p)), draw(m), *children, values)
        self.y = (self.random.integers(0, k, (n, 1)).astype(float) if loss == "log_loss"
                  else draw((n, k)))
        self.weight = self.random.choice([0.5, 1.0, 2.0], n)
        self.scaling = Scaling(np.zeros(p), np.ones(p))
        self.options = dict(
            norm_limit=np.inf, nu=1e12, leaf_limit=1e6,
            max_leaf_step=np.inf) | options

    def normal(self, shape):
        return self.random.normal(size=shape)

    def dyadics(self, shape, parts=4):
        return self.random.integers(-2 * parts, 2 * parts, shape) / parts

    def pair(self, kind, rule, *, batch_size, n_threads=1, X=None):
        """The kernel, and the reference."""
        common = dict(radius=RADIUS[kind], best_assignment=rule == "best", **self.options)
        tree, X = self.tree, self.X if X is None else X
        start = tree.weights.astype(np.float32), tree.thresholds.copy(), tree.values.copy()
        naive = NaiveTrainer(
            tree, *start, X, self.y, self.weight, self.scaling, self.loss, **common)
        moves = {name: self.options[name]
                 for name in ("nu", "leaf_limit", "max_leaf_step")}
        trainer = SGDTrainer(
            TrainedTree(tree, *start, LOSSES[self.loss](), **moves),
            TrainingSamples(
                Samples(X), self.y, self.weight, self.scaling, self.options["norm_limit"]),
            radius=RADIUS[kind], best_assignment=rule == "best", batch_size=batch_size,
            n_threads=n_threads)
        return trainer, naive

    def trainer(self, kind, rule, **parameters):
        return self.pair(kind, rule, **parameters)[0]

    def order(self):
        return self.random.permutation(self.n).astype(np.int32)


def assert_equal(trainer, naive, rtol=0.0):
    for mine, reference in (
            (trainer.tree.weights, naive.rows[:, :-1]),
            (trainer.tree.thresholds, naive.rows[:, -1]), (trainer.tree.values, naive.values)):
        np.testing.assert_allclose(mine, reference, rtol=rtol, atol=rtol)


def parameters(trainer):
    return np.concatenate([
        np.ravel(part).astype(np.float64)
        for part in (trainer.tree.weights, trainer.tree.thresholds, trainer.tree.values)])


# --- against the reference -----------------------------------------------------------------------


@KINDS
@RULES
def test_steps_on_dyadic_data_are_exact(kind, rule):
    case = Case("squared_error", 3, n=16, dyadic=True)
    trainer, naive = case.pair(kind, rule, batch_size=4)
    before = parameters(trainer)
    for _ in range(2):
        order, rates = case.order()[:8], np.array([0.25, 0.125])
        figures = trainer.epoch(order, rates, rates)
        expected = naive.epoch(order, rates, rates, 4)
        np.testing.assert_array_equal(trainer.tree.weights, naive.rows[:, :-1])
        np.testing.assert_array_equal(trainer.tree.thresholds, naive.rows[:, -1])
        np.testing.assert_allclose(trainer.tree.values, naive.values, rtol=1e-14)
        assert {name: figures[name] for name in expected} == pytest.approx(expected, rel=1e-12)
    assert (parameters(trainer) != before).mean() > 0.25


@KINDS
def test_the_search_knows_how_far_leaves_have_moved(kind):
    # Leaves start close together, so the range of losses at the root is what steps make of it.
    case = Case("squared_error", 5)
    tree = case.tree
    case.tree = tree.replace(weights=0.1 * tree.weights, values=0.01 * tree.values)
    trainer, naive = case.pair(kind, "navigate", batch_size=5)
    for _ in range(4):
        order, rates = case.order()[:20], np.full(4, 0.01)
        trainer.epoch(order, rates, np.full(4, 0.4))
        naive.epoch(order, rates, np.full(4, 0.4), 5)
        assert_equal(trainer, naive, 1e-4)


OPTIONS = {
    "plain": {},
    "ball": {"nu": 0.7},
    "clip": {"norm_limit": 1.3},
    "leaves": {"leaf_limit": 0.8, "max_leaf_step": 0.02},
    "all": {"nu": 1.5, "norm_limit": 1.5, "leaf_limit": 2.0,
            "max_leaf_step": 0.25},
}


@KINDS
@RULES
@BOTH_LOSSES
@pytest.mark.parametrize("name", OPTIONS)
def test_every_step_is_the_reference_step(kind, rule, loss, name):
    case = Case(loss, 11, **OPTIONS[name])
    case.scaling = Scaling(np.array([0.5, -0.25, 0.0]), np.array([2.0, 0.5, 1.0]))
    trainer, naive = case.pair(kind, rule, batch_size=5)
    assert_equal(trainer, naive, 1e-6)      # projected at the start
    order = case.order()
    for first in range(0, case.n, 5):       # the last batch is a short one
        batch = order[first:first + 5]
        rate, leaf_rate = np.array([0.2]), np.array([0.5])
        before = parameters(trainer)
        figures = trainer.epoch(batch, rate, leaf_rate)
        expected = naive.epoch(batch, rate, leaf_rate, 5)
        assert {key: figures[key] for key in expected} == pytest.approx(expected, rel=1e-5)
        assert_equal(trainer, naive, 1e-5)
        assert (parameters(trainer) != before).any()
        # From here on from the same numbers, so that rounding does not pile up.
        naive.rows[:, :-1], naive.rows[:, -1] = trainer.tree.weights, trainer.tree.thresholds


def test_the_options_of_the_steps_above_all_bite():
    results = []
    for options in OPTIONS.values():
        case = Case("log_loss", 11, **options)
        trainer = case.trainer("fast", "best", batch_size=5)
        trainer.epoch(case.order(), np.full(5, 0.2), np.full(5, 0.5))
        results.append(parameters(trainer))
    assert len(np.unique(np.round(results, 6), axis=0)) == len(OPTIONS)


@KINDS
@RULES
def test_a_fixed_assignment_is_that_of_the_tree_that_made_it(kind, rule):
    case = Case("log_loss", 4)
    trainer, naive = case.pair(kind, rule, batch_size=8)
    everything, rates = np.arange(case.n, dtype=np.int32), np.full(3, 0.6)
    for _ in range(2):
        trainer.assign(everything)
        naive.assign(everything)
        assigned = trainer.assignment.copy()
        np.testing.assert_array_equal(assigned, naive.fixed)
        for _ in range(2):
            order = case.order()
            figures = trainer.epoch(order, rates, rates)
            expected = naive.epoch(order, rates, rates, 8)
            assert {key: figures[key] for key in expected} == pytest.approx(expected, rel=1e-5)
            assert_equal(trainer, naive, 1e-5)
        np.testing.assert_array_equal(trainer.assignment, assigned)
    # What a renewal would say has changed meanwhile, so that the above can fail.
    trainer.assign(everything)
    assert (trainer.assignment != assigned).any()


@KINDS
@RULES
@BOTH_LOSSES
def test_the_gradient_is_the_public_one(kind, rule, loss):
    case = Case(loss, 8)
    trainer = case.trainer(kind, rule, batch_size=case.n)
    order = np.arange(case.n, dtype=np.int32)
    tree = Tree(trainer.tree.weights.astype(np.float64), trainer.tree.thresholds,
                case.tree.children_left, case.tree.children_right, case.tree.values)
    rate, leaf_rate = 0.5, 0.25
    trainer.epoch(order, np.array([rate]), np.array([leaf_rate]))
    y = case.y[:, 0].astype(int) if loss == "log_loss" else case.y
    gradient = surrogate_gradient(
        tree, case.X, y, loss=loss, inference=kind, assignment=trainer.assignment,
        sample_weight=case.weight)
    mean = case.weight.mean()               # a step is on the sum over the batch / its size
    assert np.abs(gradient.weights).max() > 0.05
    for before, after, size, part in (
            (tree.weights, trainer.tree.weights, rate, gradient.weights),
            (tree.thresholds, trainer.tree.thresholds, rate, gradient.thresholds),
            (tree.values, trainer.tree.values, leaf_rate, gradient.values)):
        np.testing.assert_allclose((before - after) / size, mean * part, rtol=1e-5, atol=1e-5)


def test_rows_that_no_sample_touches_stay_as_they_are():
    # One sample, one flip: the other nodes keep their weights.
    case = Case("squared_error", 2, n=12)
    trainer, naive = case.pair("fast", "navigate", batch_size=1)
    moved = 0
    for sample in case.order():
        before = trainer.tree.weights.copy()
        trainer.epoch(np.array([sample]), np.array([0.1]), np.array([0.0]))
        naive.epoch(np.array([sample]), [0.1], [0.0], 1)
        untouched = (before == trainer.tree.weights).all(axis=1)
        moved += (~untouched).sum()
        assert untouched.sum() >= case.tree.n_internal - 1
        assert_equal(trainer, naive, 1e-5)
    assert moved > 0


# --- threads -------------------------------------------------------------------------------------


@RULES
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("batch_size", [1, 7, 64])
def test_the_number_of_threads_changes_no_bit(rule, form, batch_size):
    results = []
    for n_threads in (1, 3):
        n = 150 if batch_size > 1 else 12
        case = Case("log_loss", 4, n=n, p=5, m=15, nu=3.0, norm_limit=3.0)
        trainer = case.trainer(
            "full", rule, batch_size=batch_size, n_threads=n_threads, X=form(case.X))
        rates = np.full(-(-case.n // batch_size), 0.1)
        figures = [trainer.epoch(case.order(), rates, rates) for _ in range(2)]
        results.append((parameters(trainer).tobytes(), figures))
    assert results[0] == results[1]


def test_another_thread_makes_progress_during_an_epoch():
    case = Case("log_loss", 6, n=2000, p=100, m=60)
    trainer = case.trainer("full", "best", batch_size=100)

    order = case.order()

    def epoch(times):
        still = np.zeros(times * case.n // 100)
        return partial(trainer.epoch, np.tile(order, times), still, still)

    assert_other_threads_run(epoch)


# --- forms of the data ---------------------------------------------------------------------------


@KINDS
@RULES
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exact_sums_make_the_form_of_the_data_irrelevant(kind, rule, dtype):
    results = []
    for form in (lambda X: X.astype(np.float64), lambda X: sparse.csr_matrix(X.astype(dtype)),
                 lambda X: X.astype(dtype)):
        case = Case("squared_error", 3, n=16, p=20, dyadic=True)
        case.X[case.random.random(case.X.shape) < 0.6] = 0.0
        trainer = case.trainer(kind, rule, batch_size=4, X=form(case.X))
        for _ in range(2):
            trainer.epoch(case.order()[:8], np.array([0.25, 0.125]), np.array([0.25, 0.125]))
        results.append(parameters(trainer))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_sums_in_another_order_make_no_difference_beyond_rounding():
    results = []
    for form in (np.asarray, sparse.csr_array):
        case = Case("log_loss", 13, n=40, p=30, nu=2.0, norm_limit=4.0)
        case.X[case.random.random(case.X.shape) < 0.5] = 0.0
        trainer = case.trainer("fast", "best", batch_size=8, X=form(case.X))
        trainer.epoch(case.order(), np.full(5, 0.1), np.full(5, 0.1))
        results.append((parameters(trainer), trainer.navigate(case.order())))
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(results[0][1], results[1][1])


# --- the rest of the trainer ---------------------------------------------------------------------


def test_a_factor_changes_prices_and_no_decision():
    case = Case("log_loss", 7)
    case.scaling = Scaling(np.array([0.5, -0.25, 0.0]), np.array([2.0, 0.5, 1.0]))
    trainer = case.trainer("fast", "navigate", batch_size=case.n)
    order, still = case.order(), np.zeros(1)
    leaves = trainer.navigate(order)
    figures = trainer.epoch(order, still, still)
    trainer.tree.scale(2.0**-4)
    np.testing.assert_array_equal(trainer.navigate(order), leaves)
    shrunk = trainer.epoch(order, still, still)
    assert shrunk["loss"] == figures["loss"]
    assert shrunk["bound"] > figures["bound"]   # Prop. 1 of the paper
    assert shrunk["gradient_share"] > figures["gradient_share"]
