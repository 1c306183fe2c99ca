"""Conversion between y of the user and the targets of training."""

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import compute_sample_weight

from ngdt import ObliqueForestClassifier, ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt._encoding.targets import ClassTargets, RegressionTargets
from ngdt.losses import AbsoluteLoss, LogLoss, PoissonLoss, SquaredLoss

SQUARED = SquaredLoss()

LABELS = pytest.mark.parametrize("labels", [
    np.array([-3, 0, 7]), np.array(["a", "b", "long"]), np.array(["a", "b", "c"], dtype=object),
    np.array([False, True])], ids=str)


def stump(values):
    return Tree([[1.0]], [0.0], [~0], [~1], values)


# --- classes -------------------------------------------------------------------------------------


@LABELS
def test_labels_become_indices_of_sorted_classes(labels):
    y = labels[np.random.default_rng(0).permutation(np.arange(30) % len(labels))]
    targets = ClassTargets.fit(y)
    np.testing.assert_array_equal(targets.classes, labels)
    assert targets.n_outputs == len(labels)
    np.testing.assert_array_equal(targets.classes[targets.encode(y)], y)
    np.testing.assert_array_equal(targets.encode(labels[-1:]), [len(labels) - 1])


def test_classes_may_be_given():
    targets = ClassTargets.fit(np.array([5, 5, 1]), np.array([1, 3, 5]))
    assert targets.n_outputs == 3
    np.testing.assert_array_equal(targets.encode(np.array([5, 1])), [2, 0])


def test_labels_that_are_not_known_are_named():
    targets = ClassTargets.fit(np.array([1, 3, 5]))
    with pytest.raises(ValueError, match=r"labels \[2 6\], but the classes are \[1 3 5\]"):
        targets.encode(np.array([1, 6, 2]))
    with pytest.raises(ValueError, match="continuous"):
        ClassTargets.fit(np.array([0.5, 1.5]))


def test_whole_numbers_that_are_classes_of_one_sample_are_warned_of():
    pytest.importorskip("sklearn", "1.7")   # which warns
    y = np.arange(30)
    with pytest.warns(UserWarning, match="greater than 50%"):
        ClassTargets.fit(np.maximum(y, 14))
    ClassTargets.fit(np.maximum(y, 15))


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 2.0, 2: 0.5}])
def test_class_weights_are_those_of_scikit_learn(class_weight):
    y = np.repeat([0, 1, 2], [10, 25, 5])
    targets = ClassTargets.fit(y)
    np.testing.assert_allclose(
        targets.apply_class_weight(class_weight, y, np.ones(40)),
        compute_sample_weight(class_weight, y))
    weight = np.random.default_rng(0).integers(0, 4, 40, np.intp)
    again = np.repeat(np.arange(40), weight)
    weighted = targets.apply_class_weight(class_weight, y, weight.astype(float))
    repeated = targets.apply_class_weight(class_weight, y[again], np.ones(len(again)))
    np.testing.assert_allclose(weighted[again] / weight[again], repeated)
    assert not weighted[weight == 0].any()


def test_a_class_without_weight_is_not_balanced():
    y = np.array([0, 0, 1, 2])
    weight = np.array([1.0, 1.0, 4.0, 0.0])
    balanced = ClassTargets.fit(y).apply_class_weight("balanced", y, weight)
    np.testing.assert_allclose(balanced, [1.5, 1.5, 3.0, 0.0])


@pytest.mark.parametrize(("class_weight", "weight", "message"), [
    ({0: 1e200, 1: 1.0}, [1e200, 1.0, 0.0], "must have a finite sum"),
    ("balanced", [1.0, 1e-310, 0.0], "must have a finite sum"),
    ({0: 1e-200, 1: 1e-200}, [1e-120, 1e-120, 0.0], "must .* must not be below 2.2e-308")])
def test_products_out_of_range_are_refused(class_weight, weight, message):
    y = np.array([0, 1, 1])
    with pytest.raises(ValueError, match=f"product of class_weight and sample_weight {message}"):
        ClassTargets.fit(y).apply_class_weight(class_weight, y, np.array(weight))


def test_trees_and_impurities_of_classes_stay():
    targets, tree = ClassTargets.fit(np.array([0, 1])), stump(np.eye(2))
    assert targets.scale_leaf_values(tree, LogLoss()) is tree
    assert targets.unscale_leaf_values(tree, LogLoss()) is tree
    assert targets.scale_impurity(0.3, LogLoss()) == 0.3


# --- regression ----------------------------------------------------------------------------------


@given(st.integers(0, 99), st.integers(1, 3), st.sampled_from([1e-300, 1e-150, 1.0, 1e6, 1e300]),
       st.sampled_from([0.0, 1.0, 1e6]))
def test_targets_are_standardised_in_any_unit(seed, n_targets, unit, offset):
    random = np.random.default_rng(seed)
    y = unit / 1e8 * (random.normal(size=(40, n_targets)) + offset)
    weight = random.choice([0.0, 1.0, 2.5], 40)
    weight[:2] = 1.0
    targets = RegressionTargets.fit(y, weight, SQUARED)
    assert targets.n_outputs == n_targets
    encoded = targets.encode(y)
    assert encoded.shape == (40, n_targets)
    atol = 1e-9 * max(1.0, offset)
    np.testing.assert_allclose(np.average(encoded, axis=0, weights=weight), 0.0, atol=atol)
    np.testing.assert_allclose(np.average(encoded**2, axis=0, weights=weight), 1.0, rtol=1e-6)
    # The way back, for the values of leaves
    tree = stump(encoded[:2])
    np.testing.assert_allclose(targets.unscale_leaf_values(tree, SQUARED).values, y[:2], rtol=1e-9)
    np.testing.assert_allclose(
        targets.scale_leaf_values(targets.unscale_leaf_values(tree, SQUARED), SQUARED).values,
        tree.values, rtol=1e-6, atol=atol)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e300, 1e-300])
def test_a_constant_target_is_centred_only(value):
    targets = RegressionTargets.fit(np.full(7, value), np.full(7, 0.3), SQUARED)
    assert targets.scale == [max(1.0, abs(value))]
    np.testing.assert_array_equal(targets.encode(np.full(7, value)), 0.0)


def test_targets_that_differ_by_rounding_stay_small():
    y = 1e300 * (1.0 + 1e-15 * np.arange(7))
    assert np.abs(RegressionTargets.fit(y, np.ones(7), SQUARED).encode(y)).max() < 1e-14


def test_samples_of_weight_zero_do_not_count():
    y, weight = np.array([1.0, 3.0, 1e9]), np.array([1.0, 1.0, 0.0])
    targets = RegressionTargets.fit(y, weight, SQUARED)
    np.testing.assert_allclose([*targets.center, *targets.scale], [2.0, 1.0])


def test_targets_are_dense_and_of_one_number():
    y = np.ones((4, 2))
    targets = RegressionTargets.fit(y, np.ones(4), SQUARED)
    with pytest.raises(ValueError, match="y has 3 targets, but the initial tree has 2"):
        targets.encode(np.ones((4, 3)))
    with pytest.raises(TypeError, match="y must be a dense array"):
        RegressionTargets.fit(sparse.csr_array(y), np.ones(4), SQUARED)


@pytest.mark.parametrize("unit", [1.0, 1e-150, 1e150, 1e250])
@pytest.mark.parametrize("n_targets", [1, 3])
def test_impurity_decreases_of_training_are_those_of_the_user(n_targets, unit):
    random = np.random.default_rng(0)
    one, weight = random.normal(size=(50, 1)), random.random(50)
    y = unit * np.hstack([one] * n_targets)
    targets, right = RegressionTargets.fit(y, weight, SQUARED), one[:, 0] > 0.4

    def decrease(y):
        """Decrease of the squared error, summed over targets, by a split."""
        def variance(rows):
            mean = np.average(y[rows], axis=0, weights=weight[rows])
            return weight[rows] @ ((y[rows] - mean) ** 2).sum(axis=1)

        everywhere = np.ones(50, dtype=bool)
        return (variance(everywhere) - variance(right) - variance(~right)) / weight.sum()

    assert targets.scale_impurity(0.0, SQUARED) == 0.0
    if unit <= 1e150:   # or squares overflow
        given = decrease(y / unit) * unit**2 / n_targets    # a mean over the targets
        assert targets.scale_impurity(given, SQUARED) == pytest.approx(
            decrease(targets.encode(y)), rel=1e-9)


# --- a log link ----------------------------------------------------------------------------------


@given(data=st.data())
def test_targets_of_a_log_link_are_relative_to_their_mean(data):
    n, k = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 2))
    y = np.array(data.draw(st.lists(
        st.integers(1, 9), min_size=n * k, max_size=n * k)), dtype=float).reshape(n, k) - 1
    y[0] += 1
    weight = np.arange(1.0, n + 1)
    loss = PoissonLoss()
    targets = RegressionTargets.fit(y, weight, loss)
    encoded = targets.encode(y)
    np.testing.assert_allclose(np.average(encoded, axis=0, weights=weight), 1.0)
    np.testing.assert_array_equal(encoded == 0, y == 0)
    np.testing.assert_allclose(targets.decode(encoded), y)
    means = 1.0 + np.arange(2.0 * k).reshape(2, k)
    scaled = targets.scale_leaf_values(stump(means), loss)
    np.testing.assert_allclose(scaled.values, np.log(means / targets.scale))
    np.testing.assert_allclose(targets.unscale_leaf_values(scaled, loss).values, means)


@pytest.mark.parametrize(("y", "message"), [
    ([1.0, -1.0, 2.0], "no negative number for the poisson loss, got values from -1"),
    ([0.0, 0.0, 3.0], "y must have a positive sum")])
def test_targets_that_do_not_fit_the_poisson_loss_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        RegressionTargets.fit(np.array(y), np.array([1.0, 1.0, 0.0]), PoissonLoss())


@pytest.mark.parametrize("loss", [AbsoluteLoss(), SQUARED, PoissonLoss()], ids=repr)
@pytest.mark.parametrize("unit", [1e-3, 100.0])
def test_impurities_have_the_unit_of_the_loss(loss, unit):
    y, weight = np.array([1.0, 2.0, 6.0, 9.0]), np.array([1.0, 2.0, 1.0, 1.0])

    def mean_loss(y):
        """Mean loss of targets at their best value, and the factor from the unit of y."""
        targets = RegressionTargets.fit(y, weight, loss)
        encoded, leaf = targets.encode(y), np.zeros(len(y), dtype=int)
        values = loss.fit_leaves(leaf, encoded, weight, 1, 1)[leaf]
        mean = np.average(loss.value(values, encoded), weights=weight)
        return mean / targets.scale_impurity(1.0, loss)

    assert mean_loss(unit * y) == pytest.approx(unit**loss.scale_power * mean_loss(y))


# --- labels --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("type_", "expected"), [
    ("Int64", np.int64), ("UInt64", np.uint64), ("int8[pyarrow]", np.int8),
    ("int64[pyarrow]", np.int64), ("boolean", np.bool_), ("bool[pyarrow]", np.bool_)])
@pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueForestClassifier])
def test_labels_of_nullable_types_keep_their_type(estimator, type_, expected):
    pd = pytest.importorskip("pandas")
    if "pyarrow" in type_:
        pytest.importorskip("pyarrow")
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = pd.Series((X[:, 0] > 0) * 1).astype(type_)
    fitted = estimator(max_depth=2, optimizer=None, random_state=0).fit(X, y)
    with pytest.warns(DataConversionWarning):
        of_column = estimator(max_depth=2, optimizer=None, random_state=0).fit(X, y.to_frame())
    for each in (fitted, of_column):
        assert each.classes_.dtype == expected
        assert each.predict(X).dtype == expected
        assert each.score(X, y) > 0.95


@pytest.mark.parametrize("type_", ["int64", "Int64", "UInt64", "int64[pyarrow]"])
def test_large_labels_are_not_merged(type_):
    pd = pytest.importorskip("pandas")
    if "pyarrow" in type_:
        pytest.importorskip("pyarrow")
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = pd.Series(np.where(X[:, 0] > 0, 2**60, 2**60 + 1)).astype(type_)
    for labels in (y, y.values):
        fitted = ObliqueTreeClassifier(2, optimizer=None).fit(X, labels)
        assert fitted.classes_.tolist() == [2**60, 2**60 + 1]
    fitted = ObliqueTreeClassifier(2, optimizer="ssgd", validation_fraction=None).partial_fit(
        X, y, classes=pd.Series([2**60 + 1, 2**60]).astype(type_))
    assert fitted.classes_.tolist() == [2**60, 2**60 + 1]


def test_missing_labels_in_arrays_of_pandas_are_refused():
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="y contains missing values: leave those samples out"):
        ObliqueTreeClassifier().fit(np.eye(3), pd.array([1, None, 0], dtype="Int64"))


@pytest.mark.parametrize(("labels", "message"), [
    ([1, "1"], "^y: labels of type int and str: convert all"),
    ([[1], ["1"]], "^y: labels of type int and str: convert all"),
    ([np.array([1]), np.array(["1"])], "^y: labels of type int64 and str_: convert all"),
    (np.array(["1", 1], dtype=object), "^y: Unknown label type: int and str objects: con"),
    (np.array([1, 1.5], dtype=object), "^y: Unknown label type: float and int objects: .* one"),
    ([2**70, 0], "^y: Unknown label type: int objects"),
    (np.array([date(2020, 1, 1), date(2021, 1, 1)]), "^y: Unknown label type: date objects"),
    ([object(), object()], "^y: Unknown label type: object objects")])
def test_labels_that_cannot_be_told_apart_are_refused(labels, message):
    y = [*labels] * 10 if isinstance(labels, list) else np.tile(labels, 10)
    with pytest.raises(TypeError, match=message):
        ObliqueTreeClassifier(2, optimizer=None).fit(np.zeros((20, 1)), y)


@pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueTreeRegressor])
@pytest.mark.parametrize(("rows", "message"), [
    ([[0], [1, 2]], "^y: samples hold lists: give each sample one label or number"),
    ([[0], [None]], "^y contains missing values: leave those samples out")], ids=str)
def test_rows_without_a_label_each_are_refused(estimator, rows, message):
    with pytest.raises(ValueError, match=message):
        estimator(optimizer=None).fit(np.zeros((20, 1)), rows * 10)


def test_labels_of_types_of_pandas_that_are_no_labels_are_named():
    pd = pytest.importorskip("pandas")
    X = np.arange(20.0)[:, None]
    parts = pd.cut(X[:, 0], 2)
    for y in (parts, pd.Series(parts)):
        with pytest.raises(TypeError, match=r"^y: Unknown label type: Interval objects"):
            ObliqueTreeClassifier(2, optimizer=None).fit(X, y)
    with pytest.raises(TypeError, match=r"^classes: Unknown label type: Interval"):
        ObliqueTreeClassifier(2).partial_fit(X, parts.astype(str), classes=parts.categories)
    with pytest.raises(TypeError, match=r"^y: Unknown label type: Timestamp"):
        ObliqueTreeClassifier(2, optimizer=None).fit(
            X, pd.Series(pd.date_range("2020", periods=20, tz="UTC")))


def test_labels_of_string_dtype_are_objects():
    if not hasattr(np.dtypes, "StringDType"):
        pytest.skip("numpy is older than 2.0")
    y = np.array(["a", "b"] * 10, dtype=np.dtypes.StringDType())
    fitted = ObliqueTreeClassifier(2, optimizer=None).fit(np.arange(20.0)[:, None] % 2, y)
    assert (fitted.predict([[0.0], [1.0]]) == ["a", "b"]).all()


def test_class_weights_that_lack_a_class_are_those_of_scikit_learn():
    """Other classes weigh 1; a class that y lacks is refused if another one has no weight."""
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    given, whole = (ObliqueTreeClassifier(2, optimizer=None, class_weight=each).fit(X, y)
                    for each in ({0: 3}, {0: 3, 1: 1}))
    assert given.tree_ == whole.tree_
    with pytest.raises(ValueError, match=r"^class_weight: The classes, \[1\], are not"):
        ObliqueTreeClassifier(optimizer=None, class_weight={0: 3, 7: 1}).fit(X, y)


def test_many_labels_that_are_floats_are_warned_of():
    y = np.repeat(np.arange(60.0), 3)
    tree = ObliqueTreeClassifier(optimizer=None, max_depth=1)
    with pytest.warns(UserWarning, match="60 different numbers.*use a regressor"):
        tree.fit(y[:, None], y)
    for labels in (y.astype(int), y // 2):
        tree.fit(y[:, None], labels)


def test_many_labels_that_spell_amounts_are_warned_of():
    """Without signs, texts may be codes."""
    y = np.repeat(np.arange(60), 3)
    tree, X = ObliqueTreeClassifier(optimizer=None, max_depth=1), y[:, None]
    amounts, codes, few = ([each.format(k) for k in group] for each, group in (
        ("{:d},500", y), ("{:d}", y), ("{:d},500", y // 2)))
    with pytest.warns(UserWarning, match="60 .* texts.*'0,500'.* use a regressor"):
        tree.fit(X, amounts)
    for labels in (codes, few):
        tree.fit(X, labels)
