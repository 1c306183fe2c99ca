"""Losses against their formulas, and the properties that the searches rely on."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from helpers import assert_other_threads_run
from ngdt.losses import (
    LOSSES,
    AbsoluteLoss,
    BoundedLoss,
    HuberLoss,
    LogLoss,
    Loss,
    PoissonLoss,
    QuantileLoss,
    SquaredLoss,
    get_loss,
)
from ngdt.testing.strategies import dyadics, targets
from reference import inference as naive

each_loss = pytest.mark.parametrize("name", LOSSES)
REGRESSION = [name for name in LOSSES if not LOSSES[name].is_classifier]
THETA = st.floats(-30, 30)


@st.composite
def leaves_and_targets(draw, name, elements=THETA):
    """Leaf values, a loss and encoded targets."""
    n_leaves, k, n = (draw(st.integers(1, 4)) for _ in range(3))
    loss = LOSSES[name]()
    theta = draw(arrays(np.float64, (n_leaves, k), elements=elements))
    y = draw(
        targets(
            losses=st.just(loss),
            n_samples=st.just(n),
            n_outputs=st.just(k),
            elements=elements,
        )
    )
    return loss, theta, loss.encode(y, k)


def table(loss, theta, y):
    """Loss of every leaf for every target, by the package."""
    return np.array([loss.value(np.tile(row, (len(y), 1)), y) for row in theta]).T


def test_every_loss_has_a_reference():
    assert LOSSES.keys() == naive.LOSSES.keys()
    assert all(loss.name == name for name, loss in LOSSES.items())


@each_loss
@given(data=st.data())
def test_value(name, data):
    loss, theta, y = data.draw(leaves_and_targets(name))
    expected = naive.loss_table(name, theta, y)
    # Log losses are differences of numbers up to 60, so their error is absolute.
    assert_allclose(table(loss, theta, y), expected, rtol=1e-13, atol=1e-13)
    assert (table(loss, theta, y) >= 0).all()


@pytest.mark.parametrize("name", [name for name in REGRESSION if name != "poisson"])
@given(data=st.data())
def test_value_of_dyadic_numbers_is_exact(name, data):
    loss, theta, y = data.draw(leaves_and_targets(name, dyadics()))
    assert_array_equal(table(loss, theta, y), naive.loss_table(name, theta, y))


def test_values_by_hand():
    y = np.array([[1.0]])
    assert LogLoss().value(np.log([[0.75, 0.25]]), y) == pytest.approx(np.log(4))
    assert BoundedLoss(q=0.5).value(np.log([[0.75, 0.25]]), y) == pytest.approx(1.0)
    assert BoundedLoss(q=1.0).value(np.log([[0.75, 0.25]]), y) == pytest.approx(0.75)
    assert SquaredLoss().value([[4.0]], y) == 9.0
    assert HuberLoss(limit=1.0).value([[4.0]], y) == 5.0
    assert HuberLoss(limit=3.0).value([[4.0]], y) == 9.0
    assert AbsoluteLoss().value([[4.0]], y) == 3.0
    assert QuantileLoss(0.75).value([[4.0]], y) == 0.75
    assert QuantileLoss(0.75).value([[-3.0]], y) == 3.0
    assert PoissonLoss().value([[0.0]], y) == 0.0
    assert PoissonLoss().value([[0.0]], 0 * y) == 1.0
    assert PoissonLoss().value(np.log([[2.0]]), y) == pytest.approx(1.0 - np.log(2.0))


@pytest.mark.parametrize("scaled", [
    lambda c: SquaredLoss(), lambda c: HuberLoss(limit=c), lambda c: AbsoluteLoss(),
    lambda c: QuantileLoss(0.3)])
def test_losses_grow_with_the_power_of_the_scale(scaled):
    values, y = np.array([[0.5], [4.0], [-2.0]]), np.ones((3, 1))
    expected = 8.0 ** scaled(1.0).scale_power * scaled(1.0).value(values, y)
    assert_array_equal(scaled(8.0).value(8.0 * values, 8.0 * y), expected)


@pytest.mark.parametrize("theta", [1e4, -1e4, 1e300])
def test_log_loss_of_extreme_leaves(theta):
    values = np.array([[theta, 0.0]])
    y = np.array([[0.0 if theta < 0 else 1.0]])
    assert LogLoss().value(values, y) == abs(theta)
    assert LogLoss().value(values, 1 - y) == 0.0
    assert BoundedLoss().value(values, y) == 2.0
    for loss in (LogLoss(), BoundedLoss()):
        assert np.isfinite(loss.values_gradient(values, y)).all()


@each_loss
@given(data=st.data())
def test_gradient(name, data):
    loss, theta, y = data.draw(leaves_and_targets(name, dyadics()))
    theta = theta[np.arange(len(y)) % len(theta)]
    gradient = loss.values_gradient(theta, y)
    step = 2.0**-12
    for i in range(len(y)):
        numeric = naive.central_difference(
            lambda row, i=i: naive.LOSSES[name](row, y[i]), theta[i], step
        )
        # The second derivative of the Huber loss jumps from 2 to 0: an error of step there.
        assert_allclose(gradient[i], numeric, rtol=0, atol=step if name == "huber" else 1e-6)


@each_loss
@given(data=st.data())
def test_extremes_enclose_every_leaf(name, data):
    loss, theta, y = data.draw(leaves_and_targets(name))
    smallest, largest = loss.extremes(theta, y)
    # No slack: an under-estimate by one bit would let the search prune the winner.
    assert (smallest <= table(loss, theta, y).min(axis=1)).all()
    assert (largest >= table(loss, theta, y).max(axis=1)).all()


@each_loss
@given(data=st.data())
def test_extremes_of_one_leaf_are_its_loss(name, data):
    loss, theta, y = data.draw(leaves_and_targets(name))
    smallest, largest = loss.extremes(theta[:1], y)
    assert_array_equal(smallest, table(loss, theta[:1], y)[:, 0])
    assert_array_equal(largest, table(loss, theta[:1], y)[:, 0])


@pytest.mark.parametrize("name", ["log_loss", "bounded"])
@given(data=st.data())
def test_extremes_of_classes_are_exact(name, data):
    loss, theta, y = data.draw(leaves_and_targets(name))
    smallest, largest = loss.extremes(theta, y)
    assert_array_equal(smallest, table(loss, theta, y).min(axis=1))
    assert_array_equal(largest, table(loss, theta, y).max(axis=1))


# --- leaf parameters ----------------------------------------------------------------------------


@st.composite
def groups(draw, loss):
    """Targets with weights, spread over leaves: arguments of fit_leaves."""
    n, k, n_leaves = draw(st.integers(1, 8)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    y = draw(targets(losses=st.just(loss), n_samples=st.just(n), n_outputs=st.just(k)))
    leaf = draw(arrays(np.int32, n, elements=st.integers(0, n_leaves - 1)))
    weight = draw(arrays(np.float64, n, elements=st.integers(0, 3)).filter(np.any))
    return leaf, loss.encode(y, k), weight, n_leaves, k


VARIANTS = [
    LogLoss(),
    LogLoss(0.1),
    SquaredLoss(),
    AbsoluteLoss(),
    *(QuantileLoss(quantile) for quantile in (0.1, 0.5, 0.75)),
    *(HuberLoss(limit) for limit in (0.25, 1.0, 2.0)),
    *(PoissonLoss(pseudo_count) for pseudo_count in (0.0, 0.5, 1.0)),
]


@pytest.mark.parametrize("loss", VARIANTS, ids=repr)
@given(data=st.data())
def test_fitted_leaves_have_the_least_loss(loss, data):
    leaf, y, weight, n_leaves, k = data.draw(groups(loss))
    values = loss.fit_leaves(leaf, y, weight, n_leaves, k)
    pseudo_y, pseudo_weight = pseudo_samples(loss, k)
    for j in range(n_leaves):
        here = (leaf == j) & (weight > 0)
        here = here if here.any() else weight > 0  # an empty leaf gets the best for all
        all_y = np.concatenate([y[here], pseudo_y])
        all_weight = np.concatenate([weight[here], pseudo_weight])

        def total(row, all_y=all_y, all_weight=all_weight):
            return all_weight @ loss.value(np.tile(row, (len(all_y), 1)), all_y)

        least = total(values[j])
        for t in range(k):
            # Losses are convex: if no value near by and far away is better, none is.
            for change in (1e-3, 0.1, 0.5, 1.0, 3.0):
                for sign in (-1, 1):
                    other = values[j].copy()
                    other[t] += sign * change
                    # A mean of zero has no logarithm; the value for it is not the least.
                    assert least <= total(other) + 1e-12 + 1e-5 * loss.has_log_link


def pseudo_samples(loss, k):
    """Targets that `fit_leaves` adds to each leaf, by its documentation."""
    if loss.is_classifier:
        return np.arange(k, dtype=float)[:, None], np.full(k, loss.pseudo_count / k)
    if loss.has_log_link:
        return np.ones((1, k)), np.array([loss.pseudo_count])
    return np.empty((0, k)), np.empty(0)


@given(data=st.data())
def test_leaves_of_the_bounded_loss_are_those_of_the_log_loss(data):
    arguments = data.draw(groups(BoundedLoss()))
    assert_array_equal(BoundedLoss().fit_leaves(*arguments), LogLoss().fit_leaves(*arguments))


@given(data=st.data())
def test_leaves_of_the_squared_loss_are_means(data):
    leaf, y, weight, n_leaves, k = data.draw(groups(SquaredLoss()))
    values = SquaredLoss().fit_leaves(leaf, y, weight, n_leaves, k)
    for j in np.unique(leaf[weight > 0]):
        mean = np.average(y[leaf == j], axis=0, weights=weight[leaf == j])
        assert_allclose(values[j], mean, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("quantile", [0.0625, 0.125, 0.25, 0.5, 0.75, 0.9375])
@given(data=st.data())
def test_leaves_of_the_quantile_loss_are_quantiles(quantile, data):
    leaf, y, weight, n_leaves, k = data.draw(groups(SquaredLoss()))
    values = QuantileLoss(quantile).fit_leaves(leaf, y, weight, n_leaves, k)
    for j in np.unique(leaf[weight > 0]):
        repeated = np.repeat(y[leaf == j], weight[leaf == j].astype(int), axis=0)
        expected = np.quantile(repeated, quantile, axis=0, method="averaged_inverted_cdf")
        assert_allclose(values[j], expected, rtol=1e-12, atol=1e-12)


def test_huber_leaves_lie_between_median_and_mean():
    y = np.array([[0.0], [1.0], [2.0], [1000.0]])
    leaf, weight = np.zeros(4, dtype=int), np.ones(4)
    assert HuberLoss(1e6).fit_leaves(leaf, y, weight, 1, 1).item() == y.mean()
    assert HuberLoss(1e-6).fit_leaves(leaf, y, weight, 1, 1).item() == pytest.approx(1.5, rel=1e-5)
    # -1.5 - 0.5 + 0.5 + 1.5 = 0 with the last residual cut to 1.5
    assert HuberLoss(1.5).fit_leaves(leaf, y, weight, 1, 1).item() == 1.5


@pytest.mark.parametrize("name", REGRESSION)
@given(data=st.data())
def test_values_of_targets_predict_them(name, data):
    loss = LOSSES[name]()
    _, y, *_ = data.draw(groups(loss))
    assert_allclose(loss.decode(loss.values_of(y)), y, rtol=1e-12, atol=2e-6 * loss.has_log_link)


@each_loss
@given(data=st.data())
def test_weights_of_leaves_repeat_samples(name, data):
    loss = LOSSES[name]()
    leaf, y, weight, n_leaves, k = data.draw(groups(loss))
    rows = np.repeat(np.arange(len(leaf)), weight.astype(int))
    repeated = loss.fit_leaves(leaf[rows], y[rows], np.ones(len(rows)), n_leaves, k)
    weighted = loss.fit_leaves(leaf, y, weight, n_leaves, k)
    assert_allclose(weighted, repeated, rtol=1e-12, atol=1e-12)


def test_leaves_of_large_targets_keep_their_digits():
    y = 1e9 + np.array([[0.0], [1.0], [2.0], [5.0]])
    theta = SquaredLoss().fit_leaves(np.array([0, 0, 1, 1]), y, np.ones(4), 2, 1)
    assert_array_equal(theta, [[1e9 + 0.5], [1e9 + 3.5]])


# --- names, parameters, targets -----------------------------------------------------------------


@each_loss
def test_lookup(name):
    assert type(get_loss(name)) is LOSSES[name]
    loss = LOSSES[name]()
    assert get_loss(loss) is loss


@pytest.mark.parametrize("loss", ["hinge", "", None, 1, LogLoss])
def test_bad_lookup(loss):
    with pytest.raises((ValueError, TypeError), match="loss"):
        get_loss(loss)


def test_losses_in_python_are_refused():
    """Compiled code does not see their methods, and would use those of the class below."""
    class Steep(LogLoss):
        def gradient(self, values, k, y, out):
            raise AssertionError("is not called")

    class Steeper(Steep):
        pass

    class Named(LogLoss):
        name = "named"

    for loss in (Steep(), Steeper()):
        with pytest.raises(TypeError, match=r"whose gradient in Python .* a cdef class of Cython$"):
            get_loss(loss)
    with pytest.raises(TypeError, match=r"cdef class of Cython$"):
        get_loss(lambda values, y: 0.0)
    named = Named()
    assert get_loss(named) is named


@pytest.mark.parametrize(
    "loss",
    [
        LogLoss(),
        LogLoss(0.5),
        BoundedLoss(0.7, 2.0),
        SquaredLoss(),
        HuberLoss(3.0),
        AbsoluteLoss(),
        QuantileLoss(0.9),
        PoissonLoss(0.25),
    ],
    ids=repr,
)
def test_pickle_and_repr(loss):
    other = pickle.loads(pickle.dumps(loss))
    assert type(other) is type(loss)
    assert repr(other) == repr(loss)
    assert repr(loss).startswith(type(loss).__name__)
    # the parameters arrived in the kernel too
    n_columns = 1 if loss.is_classifier else 3
    y = np.zeros((1, n_columns))
    theta = np.array([[5.0, -5.0, 9.0]])
    assert_array_equal(loss.value(theta, y), other.value(theta, y))


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, "1", None])
@pytest.mark.parametrize(
    ("loss", "parameter"),
    [
        (LogLoss, "pseudo_count"),
        (BoundedLoss, "q"),
        (BoundedLoss, "pseudo_count"),
        (HuberLoss, "limit"),
        (QuantileLoss, "quantile"),
    ],
)
def test_bad_parameters(loss, parameter, value):
    with pytest.raises((ValueError, TypeError), match=parameter):
        loss(**{parameter: value})


def test_bounded_loss_needs_q_up_to_one():
    with pytest.raises(ValueError, match="q"):
        BoundedLoss(q=1.5)


@pytest.mark.parametrize("quantile", [1.0, 1.5])
def test_quantile_is_below_one(quantile):
    with pytest.raises(ValueError, match="quantile"):
        QuantileLoss(quantile)


@pytest.mark.parametrize("value", [-1.0, np.inf, np.nan, None])
def test_bad_pseudo_count_of_the_poisson_loss(value):
    with pytest.raises((ValueError, TypeError), match="pseudo_count"):
        PoissonLoss(value)


def test_poisson_loss_refuses_negative_targets():
    with pytest.raises(ValueError, match="y must not be negative"):
        PoissonLoss().encode([1.0, -1.0], n_outputs=1)


def test_encode():
    encoded = LogLoss().encode([0, 2, 1], n_outputs=3)
    assert_array_equal(encoded, [[0.0], [2.0], [1.0]])
    assert_array_equal(LogLoss().encode(np.array([True, False]), n_outputs=2), [[1.0], [0.0]])
    assert_array_equal(SquaredLoss().encode([1, 2], n_outputs=1), [[1.0], [2.0]])
    fortran = np.asfortranarray([[1.0, 2.0], [3.0, 4.0]])
    encoded = SquaredLoss().encode(fortran, n_outputs=2)
    assert encoded.flags.c_contiguous
    assert_array_equal(encoded, fortran)


THETA_2 = np.zeros((3, 2))
MISFITS = {
    "class out of range": ("log_loss", THETA_2, [[0.0], [2.0], [1.0]]),
    "class far out of range": ("log_loss", THETA_2, [[0.0], [1e9], [1.0]]),
    "negative class": ("log_loss", THETA_2, [[0.0], [-1.0], [1.0]]),
    "nan class": ("log_loss", THETA_2, [[0.0], [np.nan], [1.0]]),
    "two columns of classes": ("log_loss", THETA_2, np.zeros((3, 2))),
    "too few targets": ("squared_error", THETA_2, np.zeros((3, 1))),
    "too many targets": ("squared_error", THETA_2, np.zeros((3, 3))),
    "1-d targets": ("squared_error", THETA_2, np.zeros(3)),
    "fewer rows": ("squared_error", THETA_2, np.zeros((2, 2))),
    "more rows": ("squared_error", THETA_2, np.zeros((4, 2))),
    "1-d theta": ("squared_error", np.zeros(3), np.zeros((3, 1))),
    "theta without columns": ("squared_error", np.zeros((3, 0)), np.zeros((3, 0))),
}


@pytest.mark.parametrize("method", ["value", "values_gradient"])
@pytest.mark.parametrize("case", MISFITS)
def test_misfits_are_refused_before_the_kernel(method, case):
    name, theta, y = MISFITS[case]
    with pytest.raises((ValueError, TypeError), match=r"\b(values|y)\b"):
        getattr(LOSSES[name](), method)(theta, np.array(y))


def test_base_class_cannot_fit():
    with pytest.raises(NotImplementedError, match="Loss"):
        Loss().fit_leaves([0], np.zeros((1, 1)), [1.0], 1, 1)


def test_extremes_refuse_misfits():
    with pytest.raises(ValueError, match="y"):
        LogLoss().extremes(THETA_2, np.array([[2.0]]))
    with pytest.raises(ValueError, match="values"):
        LogLoss().extremes(np.zeros((0, 2)), np.array([[1.0]]))


@each_loss
def test_encoded_targets_pass_unchanged(name):
    loss = LOSSES[name]()
    encoded = loss.encode([0, 1, 1], n_outputs=1 + loss.is_classifier)
    again = loss.encode(encoded, n_outputs=1 + loss.is_classifier)
    assert again.shape == (3, 1)
    assert np.shares_memory(again, encoded)


@pytest.mark.parametrize("method", ["value", "values_gradient"])
def test_other_threads_run_while_a_loss_is_measured(method):
    def epoch(times):
        values, y = np.zeros((5000 * times, 200)), np.zeros(5000 * times)
        return lambda: getattr(LogLoss(), method)(values, y)

    assert_other_threads_run(epoch)


@pytest.mark.parametrize("loss", [LogLoss(), LogLoss(1e-3), BoundedLoss()])
def test_of_equally_frequent_classes_a_leaf_predicts_that_of_most_samples(loss):
    y = np.array([0, 1, 2, 0, 1, 2, 2, 1, 1, 0])
    leaf = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2, 2])
    values = loss.fit_leaves(leaf, loss.encode(y, 3), np.ones(10), 3, 3)
    # Overall, 1 is the most frequent; in the second leaf, 2 is.
    assert_array_equal(values.argmax(axis=1), [1, 2, 1])
    assert_allclose(values[0], np.log(1 / 3), rtol=1e-14)
