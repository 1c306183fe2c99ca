"""The split search against exhaustive search, over every kind of feature that it treats apart."""

from time import perf_counter

import numpy as np
import pytest
from scipy import sparse

from helpers import in_nightly, make_problem
from ngdt._core.greedy.columns import BinnedColumns
from ngdt._core.greedy.splitter import Split, Splitter
from ngdt._core.samples import Samples
from reference.splits import best_split, entropy, midpoint, variance

IMPURITY = {"log_loss": entropy, "squared_error": variance}


def columns(n, rng):
    """One feature of each kind that the search treats in a way of its own."""
    normal = rng.normal(size=n)
    whole = rng.integers(0, 256, n)
    return {
        "continuous": normal,
        "bytes": whole * (rng.random(n) < 0.3),
        "standardised bytes": (whole - 33.3) / 77.7,
        "thousandths": np.round(normal, 3),
        "more steps than a grid has": rng.integers(0, 100_000, n),
        "three values": rng.integers(0, 3, n) * 1.5 - 1,
        "half zeros, half continuous": normal * (rng.random(n) < 0.5),
        "background inside the range": np.where(rng.random(n) < 0.6, 0.2, normal),
        "equal in the upper bits": 1e9 + 1e-4 * normal,
        "heavy tails": np.exp(40 * normal),
        "crowds among even numbers": np.where(rng.random(n) < 0.05, 1e-9 * normal, whole + normal),
        "subnormal": whole * 5e-324,
        "the whole range": np.sign(normal) * 1.7e308 * rng.random(n),
        "two far values": np.where(normal > 0, 1.7e308, -1.7e308),
        "late odd value": np.where(np.arange(n) == n - 1, 0.5, 2 * rng.integers(0, 9, n)),
        "neighbouring numbers": 1 + np.spacing(1.0) * rng.integers(0, 5, n),
        "signed zeros": np.where(normal > 0, 0.0, -0.0) + (rng.random(n) < 0.3),
        "constant": np.full(n, 3.3),
    }


@pytest.mark.parametrize(("n", "n_classes"), [
    (5, 2), (5, 11), (23, 2), (23, 11), (200, 11), *in_nightly([(200, 2)])])
@pytest.mark.parametrize("form", ["float64", "float32", "csr", "fractional weights", "variance"])
def test_finds_the_best_split_of_every_kind_of_feature(n, n_classes, form):
    rng = np.random.default_rng(n)
    y = rng.integers(0, n_classes, n)
    weight = rng.choice([0.3, 1.0, 2.2], n) if form == "fractional weights" else np.ones(n)
    loss = "squared_error" if form == "variance" else "log_loss"
    for name, column in columns(n, rng).items():
        X = column.astype(np.float64)[:, None]
        if form == "float32":
            X = np.clip(X, -3e38, 3e38).astype(np.float32)
        problem = make_problem(sparse.csr_matrix(X) if form == "csr" else X, y, loss, weight)
        splitter = problem.splitter
        split = splitter.split(splitter.used_samples())
        expected = best_split(X, problem.y, weight, IMPURITY[loss])
        if expected is None:
            assert split is None, name
            continue
        assert split.gain == pytest.approx(expected[0], rel=1e-9), name
        assert (split.direction, split.threshold) == expected[1:], name


def test_targets_that_differ_by_little_are_split_as_those_that_differ_by_more():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 4, 60)
    unit = 2.0**-30     # in which no sum of these is rounded
    plain, near = (splitter.split(splitter.used_samples()) for splitter in (
        make_problem(X, targets, "squared_error").splitter for targets in (y, 1.0 + unit * y)))
    assert (near.direction, near.threshold) == (plain.direction, plain.threshold)
    assert near.gain == pytest.approx(unit**2 * plain.gain, rel=1e-6)


@pytest.mark.parametrize(("spacing", "lowest"), [(1, 0), (1, -7), (0.1, 3), (1 / 77.7, -0.4)])
@pytest.mark.parametrize("n_points", [2, 8, 9, 256, 4000])
def test_evenly_spaced_values_have_a_grid_of_their_number(spacing, lowest, n_points):
    rng = np.random.default_rng(0)
    even = lowest + spacing * rng.permutation(np.arange(2 * n_points) // 2)
    X = np.column_stack([even, np.full_like(even, lowest), rng.normal(size=len(even))])
    steps = np.asarray(BinnedColumns(Samples(X), np.arange(len(X), dtype=np.int32)).steps)
    assert steps[:2].tolist() == [n_points, 1]
    assert steps[2] == 0 or n_points < 256      # few values may be near to some grid


def test_values_that_share_a_point_if_counted_from_the_lowest_are_told_apart():
    # The first two tell the spacing. In it, the others are apart as seen from zero, the commonest.
    x = np.r_[np.zeros(9), -1.0, -2.3, 1.3, 1.6, np.tile([0.0, 0.0, -2.3, 1.3, 1.6], 20)]
    splitter = make_problem(x[:, None], x > 1.45).splitter
    split = splitter.split(splitter.used_samples())
    assert split.threshold == midpoint(1.3, 1.6)
    assert split.gain == pytest.approx(entropy((x > 1.45)[:, None], np.ones(len(x))))


@pytest.mark.parametrize("n", [5, 50])
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_projections_that_are_not_finite_have_no_threshold(n, odd):
    splitter = make_problem(np.zeros((n, 1)), np.arange(n) % 2).splitter
    samples, z = splitter.used_samples(), np.linspace(0.0, 1.0, n)
    assert splitter.best_threshold(samples, z) is not None
    for position in (0, n // 2, n - 1):
        z = np.linspace(0.0, 1.0, n)
        z[position] = odd
        assert splitter.best_threshold(samples, z) is None


def test_crowds_take_little_longer_than_values_that_are_spread():
    n, rng = 100_000, np.random.default_rng(0)
    splitter = make_problem(np.zeros((n, 1)), rng.integers(0, 2, n)).splitter
    samples, spread = splitter.used_samples(), rng.random(n)
    crowd = 1e-9 * spread
    crowd[0] = 1.0

    def seconds(z):
        began = perf_counter()
        splitter.best_threshold(samples, z)
        return perf_counter() - began

    # If all samples of the crowd were moved past each other, many hundred times as long
    assert min(seconds(crowd) for _ in range(3)) < 50 * min(seconds(spread) for _ in range(3))


@pytest.mark.parametrize("n", [23, 200])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_fewest_misclassified_with_either_class_on_either_side(n, form):
    rng = np.random.default_rng(n)
    y, weight = rng.integers(0, 2, n), rng.choice([0.5, 1.0, 2.0], n)
    most = np.bincount(y, weight).max()
    for name, column in columns(n, rng).items():
        X = column.astype(np.float64)[:, None]
        splitter = Splitter(form(X), y[:, None].astype(float), weight, 2, "misclassification")
        split = splitter.split(splitter.used_samples())
        values = np.unique(X)
        gains = {}
        for threshold in map(midpoint, values[:-1], values[1:]):
            right = weight[(X[:, 0] > threshold) == y].sum()
            gains[threshold] = max(right, weight.sum() - right) - most
        if gains:
            assert split.gain == max(gains.values()) == gains[split.threshold], name
        else:
            assert split is None, name


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
def test_best_split_of_many_columns_is_the_best_of_each(kind, loss):
    rng = np.random.default_rng(0)
    n, p = 1000, 300    # more features, entries and grid points than fit into one block
    y = rng.integers(0, 5, n)
    X = np.zeros((n, p))
    X[:, ::3] = rng.normal(size=(n, 100)) * (rng.random((n, 100)) < 0.8)
    X[:, 1::3] = rng.integers(0, 3000, (n, 100)) * (rng.random((n, 100)) < 0.8)
    X[:, 2::3] = rng.integers(0, 3, (n, 100))
    X[:, 271] = X[:, 290] = (y < 2) + 3 * (rng.random(n) < 0.1)

    def best(X):
        X = sparse.csr_matrix(X) if kind == "csr" else np.ascontiguousarray(X)
        splitter = make_problem(X, y, loss).splitter
        return splitter.split(splitter.used_samples())

    each = [best(X[:, [j]]) for j in range(p)]
    j = int(np.argmax([split.gain for split in each]))
    assert best(X) == Split(j, each[j].threshold, each[j].gain)
    assert j == 271
    # As the leading column, or as the last one
    assert best(X[:, 271:]).direction == 0
    assert best(np.delete(X[:, :272], np.s_[:10], axis=1)).direction == 261
