"""Sums over parts of the samples say what all samples together do; no cluster is needed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from helpers import FORMS, make_problem
from ngdt import Tree
from ngdt._core.quantiles import LeafQuantiles
from ngdt._core.scaling import Moments
from ngdt._methods.sgd.rounds import SGDRounds
from ngdt._methods.soft.rounds import SoftRounds
from ngdt._training.folds import Score, problem_of
from ngdt._training.rounds import RoundState
from ngdt.initializers import RandomComplete
from ngdt.optimizers import SSGD, Annealed
from ngdt.pruning._impurity import LeafTargets, node_errors, node_impurities

SEEDS = st.integers(0, 2**32 - 1)


def parted_samples(seed, n_targets=1):
    """X, y, weights, leaves, and in which of three parts each sample is; no part is empty."""
    random = np.random.default_rng(seed)
    n = random.integers(6, 40)
    part = np.append(random.integers(3, size=n - 3), [0, 1, 2])
    X = random.normal(10.0 ** random.integers(-3, 4), 1.0, (n, 3)) * (random.random((n, 3)) < 0.7)
    y = random.normal(size=(n, n_targets))
    return X, y, random.choice([0.5, 1.0, 2.0], n), random.integers(4, size=n), part


@FORMS
@given(seed=SEEDS)
def test_moments_of_parts_are_those_of_all(seed, form):
    X, _, weight, _, part = parted_samples(seed)
    masks = [part == k for k in range(3)]
    merged = Moments.merge(
        [Moments.of(form(X[mask]), weight[mask]) for mask in masks],
        [weight[mask].sum() for mask in masks])
    whole = Moments.of(form(X), weight)
    for name in ("mean", "std", "root_mean_square", "low", "high"):
        assert_allclose(getattr(merged, name), getattr(whole, name), rtol=1e-9, atol=1e-12)


@given(seed=SEEDS)
def test_quantiles_of_parts_are_those_of_all(seed):
    _, y, weight, leaf, part = parted_samples(seed)
    masks = [part == k for k in range(3)]
    pooled = LeafQuantiles.pool(
        [LeafQuantiles.fit(leaf[mask], y[mask], weight[mask], 4) for mask in masks],
        [np.bincount(leaf[mask], weight[mask], 4) for mask in masks])
    whole = LeafQuantiles.fit(leaf, y, weight, 4)
    levels = [0.0, 0.13, 0.37, 0.81, 1.0]
    assert_allclose(pooled.quantiles(levels), whole.quantiles(levels))


def blocks_and_tree(loss, seed):
    """A problem with both kinds of samples, its blocks in three parts, and a tree."""
    pytest.importorskip("dask", reason="dask is not installed")
    from ngdt.dask import _blocks as blocks
    X, y, weight, _, part = parted_samples(seed, n_targets=1 if loss == "log_loss" else 2)
    is_held_out = np.random.default_rng(seed).integers(2, size=len(X)) > 0
    if loss == "log_loss":
        y = (y[:, 0] > 0).astype(float) + (y[:, 0] > 1)
    weights = [np.where(is_held_out, 0.0, weight), np.where(is_held_out, weight, 0.0)]
    problem = make_problem(
        X, y, loss, weights[0], validation_weight=weights[1], random_state=seed,
        **({"n_outputs": 3} if loss == "log_loss" else {}))
    tree = RandomComplete(max_depth=2).initialize(problem.replace(sample_weight=weight))
    parts = [np.flatnonzero(part == k) for k in range(3)]
    return problem, weights, [blocks.Block(
        problem_of(problem, samples), problem.y[samples], k)
        for k, samples in enumerate(parts)], tree


@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
@given(seed=SEEDS)
def test_leaves_errors_and_impurities_follow_from_sums(loss, seed):
    problem, weights, blocks, tree = blocks_and_tree(loss, seed)
    from ngdt.dask._sums import LeafSums, scores_of
    sums = LeafSums.add([LeafSums.of(block, tree) for block in blocks])
    samples = np.arange(len(problem.X), dtype=np.int32)
    leaf, weight = problem.apply(tree, samples), sum(weights)
    assert_array_equal(
        sums.count, [np.bincount(leaf[each > 0], minlength=tree.n_leaves) for each in weights])
    for measure in (node_errors, node_impurities):
        expected = measure(tree, LeafTargets(leaf, problem.y, weight, problem.loss))
        assert_allclose(measure(tree, sums.targets()), expected, atol=1e-9)
    if not weights[0].any():
        return
    fitted, expected = sums.fit_leaves(tree), problem.refit_leaves(tree)
    assert_allclose(fitted.values, expected.values, atol=1e-12)
    if not weights[1].any():
        return
    assert_allclose(sums.mean_error(expected), np.average(
        problem.errors(expected, samples), weights=weights[1]), atol=1e-9)
    held_out = problem.validation_samples
    scores = [Score.of_tree(problem, each, held_out, weights[1][held_out])
              for each in (tree, fitted)]
    found = np.hstack([scores_of(block, tree, fitted) for block in blocks])
    assert found.shape == (7, len(held_out))
    expected = [weights[1][held_out], *scores[0], *scores[1]]
    assert_allclose(found.sum(axis=1), np.sum(expected, axis=1), atol=1e-9)


@pytest.mark.parametrize("optimizer", [Annealed(steps=24, batch_size=25), SSGD(batch_size=25)])
@pytest.mark.parametrize(("loss", "form"), [
    ("log_loss", np.asarray), ("log_loss", sparse.csr_array), ("squared_error", np.asarray)])
def test_a_replica_alone_trains_as_without_rounds(optimizer, loss, form):
    """The state has all that steps change: rounds of one replica are one uninterrupted training."""
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 3)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] > 0).astype(float) if loss == "log_loss" else X[:, 0] * X[:, 1]
    problem = make_problem(form(X), y, loss)
    tree = RandomComplete(max_depth=3).initialize(problem)
    prior = np.bincount(y.astype(int)) / len(y) if loss == "log_loss" else None
    kind = SGDRounds if isinstance(optimizer, SSGD) else SoftRounds
    rounds = kind(optimizer, tree, problem, 600, 1, prior)
    done, order = np.arange(24) / 24, random.permutation(600).astype(np.int32)
    whole = rounds.advance(problem, order, rounds.start(), rounds.schedule_at(done, 0))
    state = rounds.start()
    for k in range(3):
        schedule = rounds.schedule_at(done[8 * k:8 * k + 8], 8 * k)
        state = rounds.advance(problem, order[200 * k:200 * k + 200], state, schedule)
    assert state.n_steps == whole.n_steps == 24
    assert np.shape(state.metrics) == (3, len(rounds.metrics))
    if kind is SoftRounds:      # the steepness of the last step
        assert state.metrics[-1][1] == whole.metrics[0][1] == schedule["gamma"][-1]
    for one, other, before in zip(
            state.arrays, whole.arrays, rounds.start().arrays, strict=True):
        assert_allclose(one, other, rtol=1e-4, atol=1e-6)
        assert one.dtype == before.dtype
    assert not np.allclose(state.arrays[0], rounds.start().arrays[0], atol=0.1)
    assert isinstance(rounds.tree_at(state), Tree)


def test_results_are_combined_in_their_order():
    dask = pytest.importorskip("dask", reason="dask is not installed")
    from ngdt.dask._blocks import combined
    letters = [chr(k) for k in range(40, 110)]
    assert combined("".join, [dask.delayed(each) for each in letters]).compute() == "".join(letters)


def test_replicas_are_averaged_by_the_weight_of_their_samples():
    states = [RoundState([np.full(2, value, np.float32)], 8, weight, ((value,),))
              for value, weight in ((1.0, 1.0), (5.0, 3.0))]
    mean = RoundState.average(states)
    assert_array_equal(mean.arrays[0], [4.0, 4.0])
    assert (mean.n_steps, mean.weight, mean.metrics) == (8, 4.0, ((4.0,),))
