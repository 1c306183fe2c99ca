"""Derived data of a problem, and how long they are kept."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from ngdt import Tree
from ngdt._core.scaling import Moments, Scaling
from ngdt._training.control import Control
from ngdt._training.problem import Limits, Problem
from ngdt._util.arrays import standard_errors_saved
from ngdt.losses import LogLoss, SquaredLoss

X = np.arange(12.0).reshape(6, 2)
WEIGHT = np.array([1.0, 0.0, 2.0, 1.0, 0.0, 0.0])


def problem(loss, y, n_outputs, **fields):
    return Problem(X, loss.encode(y, n_outputs), loss, n_outputs, WEIGHT, **fields)


def classification(**fields):
    return problem(LogLoss(), [0, 1, 0, 1, 0, 1], 2, **fields)


MADE = ("data", "moments", "scaling", "splitter")
# Changes, and what is not true any more afterwards.
CHANGES = pytest.mark.parametrize(("changes", "outdated"), [
    ({}, ()),
    ({"random_state": 3, "validation_weight": None, "n_jobs": 2, "limits": Limits(1),
      "control": Control(verbose=1)}, ()),
    ({"sample_weight": np.ones(6)}, ("moments", "scaling", "splitter")),
    ({"standardize": False}, ("scaling",)),
    ({"y": np.ones((6, 1))}, ("splitter",)),
    ({"loss": SquaredLoss(), "n_outputs": 1}, ("splitter",)),
    ({"X": X.copy()}, MADE),
])


@CHANGES
def test_what_has_been_made_is_kept_by_copies_it_is_true_for(changes, outdated):
    original = classification()
    made = {name: getattr(original, name) for name in MADE}
    copy = original.replace(**changes)
    for name in MADE:
        assert (getattr(copy, name) is made[name]) == (name not in outdated)
        assert getattr(original, name) is made[name]
        assert getattr(copy, name) is getattr(copy.replace(random_state=1), name)


@CHANGES
def test_what_a_copy_makes_first_is_shared_where_it_is_true(changes, outdated):
    original = classification()
    copy = original.replace(**changes)
    for name in MADE:
        made = getattr(copy, name)
        if not outdated:
            assert getattr(original, name) is made
        elif name in outdated:
            assert getattr(original, name) is not made
        assert getattr(copy, name) is made


@pytest.mark.parametrize("changes", [{"X": 10.0 * X}, {"standardize": False}])
def test_a_problem_without_far_targets_computes_what_is_of_its_own_features(changes):
    original = problem(SquaredLoss(), [0.0, 1.0, 2.0, 3.0, 1.0, 1e9], 1).replace(
        sample_weight=np.array([5.0, 5.0, 5.0, 5.0, 5.0, 1.0]))
    assert original.near.scaling is not None
    copy = original.replace(**changes)
    assert copy.near is not copy
    expected = copy.replace(sample_weight=np.array([5.0, 5.0, 5.0, 5.0, 5.0, 0.0]))
    np.testing.assert_array_equal(copy.near.scaling.center, expected.scaling.center)
    np.testing.assert_array_equal(copy.near.moments.mean, expected.moments.mean)


FORMS = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])


@FORMS
@pytest.mark.parametrize("features", [None, np.array([1])])
def test_a_part_is_scaled_as_the_whole(form, features):
    whole = classification().replace(X=form(X))
    weight = np.array([0.0, 1.0, 0.0, 0.0, 3.0, 0.0])
    part = whole.part(weight, features)
    used = slice(None) if features is None else features
    assert part.sample_weight is weight
    expected = X[:, used]
    np.testing.assert_array_equal(part.X if form is np.asarray else part.X.toarray(), expected)
    for name in ("mean", "std", "root_mean_square", "low", "high"):
        np.testing.assert_array_equal(
            getattr(part.moments, name), getattr(whole.moments, name)[used])
    for name in ("center", "scale"):
        np.testing.assert_array_equal(
            getattr(part.scaling, name), getattr(whole.scaling, name)[used])
    assert (part.data is whole.data) == (features is None)
    np.testing.assert_array_equal(
        part.data.project(np.arange(6, dtype=np.int32), np.ones(expected.shape[1])),
        expected.sum(axis=1))
    assert part.splitter.used_samples().tolist() == [1, 4]
    assert whole.splitter.used_samples().tolist() == [0, 2, 3]


@FORMS
def test_a_pickled_problem_makes_its_kernels_anew(form):
    part = classification(standardize="global").replace(X=form(X)).part(np.ones(6))
    made = {name: getattr(part, name) for name in MADE}
    copy = pickle.loads(pickle.dumps(part))
    assert copy.data is not made["data"]
    assert copy.splitter.used_samples().tolist() == list(range(6))
    # A part does not know the weights that its moments and its scaling are of.
    np.testing.assert_array_equal(copy.moments.mean, made["moments"].mean)
    np.testing.assert_array_equal(copy.scaling.scale, made["scaling"].scale)
    assert pickle.loads(pickle.dumps(copy)).y.tolist() == part.y.tolist()


def test_what_is_made_is_made_of_the_fields():
    given = classification(standardize="global")
    np.testing.assert_array_equal(given.moments.mean, Moments.of(X, WEIGHT).mean)
    np.testing.assert_array_equal(given.scaling.scale, Scaling.fit(X, WEIGHT, "global").scale)
    first_two = np.arange(2, dtype=np.int32)
    np.testing.assert_array_equal(given.data.project(first_two, np.ones(2)), [1, 5])
    samples = given.training_samples        # three
    assert given.splitter.split(samples, 2) is None
    assert given.splitter.split(samples) is not None


def test_no_copy_knows_of_another_problem():
    one, other = classification(), classification()
    assert one.data is not other.data


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("loss", [LogLoss(), SquaredLoss()])
def test_a_tree_on_the_samples(form, loss):
    y = np.array([0.0, 1.0, 0.0, 1.0, 1.0, 1.0])
    given = problem(loss, y, 2 if loss.is_classifier else 1).replace(X=form(X))
    tree = Tree([[1.0, 0.0]], [3.0], [~0], [~1], np.eye(2)[:, :given.n_outputs])
    samples = np.array([0, 5, 3], dtype=np.int32)
    leaf = given.apply(tree, samples)
    np.testing.assert_array_equal(leaf, tree.apply(X)[samples])
    expected = tree.predict(X)[samples]
    np.testing.assert_array_equal(given.predictions(tree, samples), expected)
    np.testing.assert_array_equal(given.predictions(tree, samples, leaf), expected)
    if loss.is_classifier:
        errors = (expected.argmax(axis=1) != y[samples]).astype(float)
    else:
        errors = (expected[:, 0] - y[samples]) ** 2
    for found in (given.errors(tree, samples), given.errors(tree, samples, leaf),
                  given.prediction_errors(expected, samples)):
        np.testing.assert_array_equal(found, errors)
    # Where leaves are given, they count.
    np.testing.assert_array_equal(
        given.predictions(tree, samples, 1 - leaf), tree.values[1 - leaf])


def test_errors_of_several_targets_are_summed():
    y = np.column_stack([np.arange(6.0), np.zeros(6)])
    given = problem(SquaredLoss(), y, 2)
    samples = np.array([1, 2], dtype=np.int32)
    np.testing.assert_array_equal(
        given.prediction_errors(np.array([[0.0, 2.0], [2.0, 3.0]]), samples), [5.0, 9.0])


def test_leaves_are_refitted_to_training_samples():
    given = problem(SquaredLoss(), [1.0, 9.0, 4.0, 7.0, 9.0, 9.0], 1)
    tree = Tree([[1.0, 0.0]], [5.0], [~0], [~1], [[50.0], [60.0]])
    for leaf in (None, given.apply(tree, given.training_samples)):
        refitted = given.refit_leaves(tree, leaf)
        np.testing.assert_allclose(refitted.values, [[3.0], [7.0]])
        np.testing.assert_array_equal(refitted.weights, tree.weights)
    assert tree.values.tolist() == [[50.0], [60.0]]


def test_training_and_validation_samples():
    given = problem(LogLoss(), [0, 1, 0, 1, 0, 1], 2)
    np.testing.assert_array_equal(given.training_samples, [0, 2, 3])
    assert len(given.validation_samples) == 0
    given = given.replace(validation_weight=np.array([0.0, 3.0, 0.0, 0.0, 0.0, 1.0]))
    np.testing.assert_array_equal(given.validation_samples, [1, 5])
    assert given.training_samples.dtype == given.validation_samples.dtype == np.int32


def test_no_samples_to_validate_on_are_no_own_ones():
    own = classification().replace(validation_weight=np.zeros(6), own_validation=True)
    assert own.own_validation
    assert not own.replace(validation_weight=None).own_validation


def test_leaves_are_fitted_to_the_samples_that_reach_them():
    given = problem(SquaredLoss(), [1.0, 9.0, 4.0, 7.0, 9.0, 9.0], 1)
    values = given.fit_leaves(np.array([1, 1, 0]), given.training_samples, 2)
    np.testing.assert_allclose(values, [[7.0], [(1.0 + 2 * 4.0) / 3]])


def test_trees_for_other_data_are_refused():
    given = problem(LogLoss(), [0, 1, 0, 1, 0, 1], 2)
    leaf = np.empty((0, 2)), [], [], []
    given._check_shapes(Tree(*leaf, [[0.0, 0.0]]))
    with pytest.raises(ValueError, match="2 features and 3 outputs, but the data have 2 and 2"):
        given._check_shapes(Tree(*leaf, [[0.0, 0.0, 0.0]]))
    with pytest.raises(ValueError, match="5 features and 2 outputs, but the data have 2 and 2"):
        given._check_shapes(Tree(np.empty((0, 5)), [], [], [], [[0.0, 0.0]]))


@pytest.mark.parametrize("unit", [1e-300, 1.0, 1e300])
def test_standard_errors_do_not_depend_on_the_unit_of_the_weights(unit):
    rng = np.random.default_rng(0)
    errors, others = rng.random((2, 50))
    expected = (errors - others).sum() / np.sqrt(((errors - others) ** 2).sum())
    found = standard_errors_saved(errors * unit, others * unit)
    assert found == pytest.approx(expected, rel=1e-12)
    assert standard_errors_saved(errors * unit, errors * unit) == 0.0
