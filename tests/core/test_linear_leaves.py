"""Linear leaves: their predictions, and the functions that support them."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from helpers import dense, make_problem, oblique_problem, serves, short
from ngdt import ObliqueForestClassifier, ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt._core.samples import Samples
from ngdt._core.structure import constant_predictions
from ngdt._core.tree_arrays import checked_arrays
from ngdt._encoding.targets import RegressionTargets
from ngdt._training.size_limits import enforce_limits
from ngdt.inference import (
    cost_diminished_inference,
    loss_augmented_inference,
    soft_predict_proba,
    surrogate_gradient,
    upper_bound,
)
from ngdt.losses import LogLoss, SquaredLoss
from ngdt.optimizers import OPTIMIZERS, Annealed
from ngdt.path import prediction_cost
from ngdt.pruning import (
    prune_cost_complexity,
    prune_dead_branches,
    prune_equal_leaves,
    prune_pure_subtrees,
    prune_zero_weight_nodes,
)
from ngdt.testing.strategies import problems, samples, trees

TRUE = st.just(True)
FLOATS = st.floats(-1e3, 1e3)
# Few numbers, so that leaves and targets are often equal.
FEW = st.integers(-1, 1).map(float)
STUMP = Tree(
    [[1.0, 0.0]], [0.0], [~0], [~1], [[1.0], [2.0]], slopes=[[[1.0, 0.0]], [[0.0, 0.5]]],
    ranges=[[[-1.0, 1.0]], [[0.0, 9.0]]])


def predict(tree, X):
    """Predictions by the definition."""
    rows = []
    for leaf, x in zip(tree.apply(X), dense(X).astype(float), strict=True):
        row = tree.values[leaf] + tree.slopes[leaf] @ x
        rows.append(row if tree.ranges is None else np.clip(row, *tree.ranges[leaf].T))
    return np.array(rows)


@st.composite
def trees_and_samples(draw, elements=None):
    """Trees with linear leaves, and samples of any form for them."""
    elements = {} if elements is None else {"elements": elements}
    p = st.just(draw(st.integers(1, 3)))
    return (
        draw(trees(linear_leaves=TRUE, n_features=p, sparse_weights=st.booleans(), **elements)),
        draw(samples(n_samples=st.integers(1, 8), n_features=p, **elements)))


# --- predictions --------------------------------------------------------------------------------


@given(trees_and_samples())
def test_predictions(case):
    tree, X = case
    assert_array_equal(tree.predict(X), predict(tree, X))
    event(f"clipped: {(tree.predict(X) != tree.replace(**free(tree)).predict(X)).any()}")
    event(f"some leaves are constant: {not tree.slopes.any(axis=(1, 2)).all()}")


def free(tree):
    return tree.leaf_arrays() | {"ranges": None}


@pytest.mark.parametrize("p", [1, 3, 4, 7, 8, 15, 16, 17, 31, 33, 64, 100, 357])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_predictions_of_any_width(p, dtype, form):
    random = np.random.default_rng(p)
    X = (random.integers(-4, 5, (20, p)) / 2).astype(dtype)
    slopes = random.integers(-4, 5, (2, 3, p)) / 4
    tree = Tree(np.eye(1, p), [0.0], [~0], [~1], random.integers(-9, 9, (2, 3)), slopes=slopes)
    assert_array_equal(tree.predict(form(X)), predict(tree, X))


@given(trees_and_samples(), st.data())
def test_predictions_of_some_samples(case, data):
    tree, X = case
    chosen = np.array(data.draw(st.lists(st.integers(0, X.shape[0] - 1))), dtype=np.int32)
    data = Samples(X)
    assert_array_equal(
        tree.leaf_predictions(tree.apply_samples(data, chosen), data, chosen),
        predict(tree, X)[chosen])


@given(trees_and_samples(elements=FLOATS))
def test_leaves_without_slopes_predict_as_constant_ones(case):
    tree, X = case
    constant = tree.replace(values=tree.values)
    assert constant.slopes is constant.ranges is None
    assert_array_equal(constant.predict(X), tree.values[tree.apply(X)])
    flat = tree.replace(values=tree.values, slopes=np.zeros_like(tree.slopes))
    assert_array_equal(flat.predict(X), constant.predict(X))
    known = constant_predictions(tree)[tree.apply(X)]
    assert_array_equal(tree.predict(X)[~np.isnan(known)], known[~np.isnan(known)])
    assert_array_equal(np.isnan(constant_predictions(tree)), ~(tree.slopes == 0).all(axis=2))


@given(trees_and_samples(elements=st.floats(-1e38, 1e38)))
def test_predictions_are_within_the_ranges(case):
    tree, X = case
    if tree.ranges is not None:
        predictions, ranges = tree.predict(X), tree.ranges[tree.apply(X)]
        assert (predictions >= ranges[..., 0]).all()
        assert (predictions <= ranges[..., 1]).all()


@pytest.mark.parametrize(("X", "expected"), [([[1e300, 1e300]], 0.0), ([[1e300, 0.0]], 9.0)])
def test_sums_that_overflow(X, expected):
    tree = STUMP.replace(values=STUMP.values, slopes=[[[0.0, 0.0]], [[1e300, -1e300]]],
                         ranges=STUMP.ranges)
    assert tree.predict(X).tolist() == [[expected]]


@pytest.mark.parametrize("model", [
    ObliqueTreeClassifier(leaf="linear", random_state=0),
    ObliqueForestClassifier(
        3, max_depth=3, leaf="linear", optimizer=None, random_state=0)])
@pytest.mark.filterwarnings("error")
def test_probabilities_of_logits_that_overflow(model):
    X = np.random.default_rng(0).normal(size=(100, 4))
    model.fit(X, (X[:, 0] + X[:, 1] > 0).astype(int))
    trees = getattr(model, "estimators_", [model])
    assert any(each.tree_.slopes is not None for each in trees)
    far = 1e308 * np.array([[1, 1, 1, 1], [-1, -1, -1, -1], [1, -1, 1, 0]])
    proba = model.predict_proba(far)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert (proba >= 0.0).all()
    assert proba[0, 1] > 0.5 > proba[1, 1]
    assert not np.isnan(model.predict_log_proba(far)).any()
    explained = model.explain(far)
    with np.errstate(over="ignore", invalid="ignore"):
        assert "nan" not in str(explained)


def test_linear_leaves_need_the_samples():
    with pytest.raises(TypeError):
        STUMP.leaf_predictions(np.zeros(1, dtype=np.int32))


# --- storage ------------------------------------------------------------------------------------


@given(trees_and_samples())
def test_copies_and_forms(case):
    tree, X = case
    expected = predict(tree, X)
    for other in (tree.copy(), copy.copy(tree), copy.deepcopy(tree), tree.sparsify(),
                  tree.densify(), tree.compact(), pickle.loads(pickle.dumps(tree)),
                  tree.replace(weights=tree.weights), tree.replace(**tree.leaf_arrays())):
        assert other == tree
        assert_array_equal(other.slopes, tree.slopes)
        assert_array_equal(other.predict(X), expected)


def test_equal_means_the_same_leaves():
    leaves = STUMP.leaf_arrays()
    for name in leaves:
        for change in ({name: 1.0 + leaves[name]}, {"ranges": None},
                       {"slopes": None, "ranges": None}):
            assert STUMP.replace(**(leaves | change)) != STUMP
    assert STUMP.replace(**leaves) == STUMP


@pytest.mark.parametrize("name", ["slopes", "ranges"])
def test_slopes_and_ranges_are_replaced_with_values_only(name):
    array = 2.0 * getattr(STUMP, name)
    with pytest.raises(ValueError, match=f"{name} must be given together with values"):
        STUMP.replace(**{name: array})
    assert_array_equal(
        getattr(STUMP.replace(**STUMP.leaf_arrays() | {name: array}), name), array)


def test_arrays_are_read_only():
    for array in (STUMP.slopes, STUMP.ranges):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(AttributeError):
        STUMP.slopes = None


@given(trees(linear_leaves=st.booleans()), st.data())
def test_leaves_made_constant(tree, data):
    X = data.draw(samples(n_features=st.just(tree.n_features)))
    mask = np.array(data.draw(st.lists(
        st.booleans(), min_size=tree.n_leaves, max_size=tree.n_leaves)))
    values = np.arange(mask.sum() * tree.n_outputs, dtype=float).reshape(-1, tree.n_outputs)
    before, leaf = tree.predict(X), tree.apply(X)
    for leaves in (mask, np.flatnonzero(mask)):
        made = tree.make_constant(leaves, values)
        assert (made is tree) == (not mask.any())
        expected = before.copy()
        expected[mask[leaf]] = values[(np.cumsum(mask) - 1)[leaf[mask[leaf]]]]
        assert_array_equal(made.predict(X), expected)


@given(trees(linear_leaves=st.booleans()), st.data())
def test_arrays_of_some_leaves(tree, data):
    leaves = data.draw(st.lists(st.integers(0, tree.n_leaves - 1)))
    for name, array in tree.leaf_arrays(leaves).items():
        whole = getattr(tree, name)
        assert (array is None) == (whole is None)
        if whole is not None:
            assert_array_equal(array, whole[leaves])


BAD = {
    "too few dimensions": (dict(slopes=[[1.0, 0.0]]), "slopes must have 3 dimension"),
    "too few leaves": (dict(slopes=np.ones((1, 1, 2))), r"slopes must have shape \(2, 1, 2\)"),
    "too many outputs": (dict(slopes=np.ones((2, 2, 2))), "slopes must have shape"),
    "too few features": (dict(slopes=np.ones((2, 1, 1))), "slopes must have shape"),
    "nan": (dict(slopes=np.full((2, 1, 2), np.nan)), "slopes must be finite"),
    "text": (dict(slopes=np.full((2, 1, 2), "a")), "slopes must hold real numbers"),
    "ragged": (dict(slopes=[[[1.0], 2.0]]), "slopes: "),
    "one limit": (dict(ranges=np.ones((2, 1, 1))), r"ranges must have shape \(2, 1, 2\)"),
    "limits of one leaf": (dict(ranges=np.ones((1, 1, 2))), "ranges must have shape"),
    "infinite limit": (dict(ranges=np.full((2, 1, 2), np.inf)), "ranges must be finite"),
    "descending limits": (dict(ranges=[[[1.0, 0.0]], [[0.0, 1.0]]]), "ranges must hold pairs"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arrays(case):
    change, message = BAD[case]
    arguments = tuple((dict(zip(
        ("weights", "thresholds", "children_left", "children_right", "values", "slopes", "ranges"),
        STUMP._arrays(), strict=True)) | change).values())

    class Tampered:
        def __reduce__(self):
            return Tree, arguments

    with pytest.raises((ValueError, TypeError), match=message):
        Tree(*arguments)
    with pytest.raises((ValueError, TypeError), match=message):
        pickle.loads(pickle.dumps(Tampered()))
    with pytest.raises((ValueError, TypeError), match=message):
        checked_arrays(*arguments)


# --- prunings -----------------------------------------------------------------------------------


@st.composite
def equal_leaves(draw):
    """Problems of regression or classification with many leaves of the same arrays."""
    tree, X, y, loss = draw(problems(
        linear_leaves=TRUE, elements=FEW, n_samples=st.integers(1, 8), scales=st.just(1.0)))
    copied = draw(st.lists(st.integers(0, min(1, tree.n_internal)), min_size=tree.n_leaves,
                           max_size=tree.n_leaves))
    return tree.replace(**tree.leaf_arrays(copied)), X, y, loss


@given(equal_leaves(), samples(n_samples=st.just(20), n_features=st.just(3), elements=FEW))
def test_pruned_equal_leaves_predict_the_same(problem, others):
    tree, X, y, loss = problem
    pruned = prune_equal_leaves(tree, X, y, loss=loss)
    for form in (X, dense(others)[:, :tree.n_features]):
        before, after = tree.predict(form), pruned.predict(form)
        if loss.is_classifier:
            assert_array_equal(after.argmax(axis=1), before.argmax(axis=1))
        else:
            assert_array_equal(after, before)
    # No two leaves that are siblings are left with the same arrays.
    for left, right in zip(~pruned.children_left, ~pruned.children_right, strict=True):
        assert min(left, right) < 0 or any(
            not np.array_equal(array[left], array[right])
            for array in pruned.leaf_arrays().values() if array is not None)
    event(f"pruned: {pruned is not tree}")
    event(f"linear leaves are left: {bool(pruned.slopes.any())}")


@given(equal_leaves(), st.booleans())
def test_pruned_pure_subtrees_predict_the_same(problem, is_predicted):
    tree, X, y, loss = problem
    before = tree.predict(X)
    if is_predicted:
        y = loss.decode(before).reshape(y.shape)
    pruned = prune_pure_subtrees(tree, X, y, loss=loss)
    after = pruned.predict(X)
    if loss.is_classifier:
        assert_array_equal(after.argmax(axis=1), before.argmax(axis=1))
    else:
        assert_array_equal(after, before)
    event(f"pruned: {pruned is not tree}")


@given(problems(linear_leaves=TRUE))
def test_branches_without_samples_and_splits_without_weights(problem):
    tree, X, _, _ = problem
    assert_array_equal(prune_dead_branches(tree, X).predict(X), predict(tree, X))
    assert_array_equal(prune_zero_weight_nodes(tree).predict(X), predict(tree, X))


def assert_leaves_stay_or_are_fitted(pruned, tree, problem):
    """Each leaf that samples reach is one of the tree, or has the best value for its samples."""
    X, y, loss = problem
    y, leaf_before, leaf_after = loss.encode(y, tree.n_outputs), tree.apply(X), pruned.apply(X)
    for leaf in np.unique(leaf_after):
        here = leaf_after == leaf
        old = leaf_before[here]
        if (old == old[0]).all() and all(
                array is None or np.array_equal(array[leaf], getattr(tree, name)[old[0]])
                for name, array in pruned.leaf_arrays().items()):
            continue
        fitted = loss.fit_leaves(
            np.zeros(here.sum(), dtype=np.intp), y[here], np.ones(here.sum()), 1, tree.n_outputs)
        np.testing.assert_allclose(
            pruned.predict(X)[here], np.repeat(fitted, here.sum(), axis=0), atol=1e-12)


@given(problems(linear_leaves=TRUE, n_samples=st.integers(1, 8), scales=st.just(1.0)),
       st.sampled_from([0.0, 0.1, 1.0, 100.0]))
def test_cost_complexity(problem, ccp_alpha):
    tree, X, y, loss = problem
    pruned = prune_cost_complexity(tree, X, y, ccp_alpha, loss=loss)
    assert_leaves_stay_or_are_fitted(pruned, tree, (X, y, loss))
    event(f"leaves: {tree.n_leaves} to {pruned.n_leaves}")


@given(problems(linear_leaves=TRUE, n_samples=st.integers(1, 8), scales=st.just(1.0)),
       st.sampled_from([
           dict(min_samples_leaf=2), dict(max_leaf_nodes=2), dict(min_samples_split=4),
           dict(ccp_alpha=0.1)]))
def test_limits(problem, limits):
    tree, X, y, loss = problem
    pruned = enforce_limits(
        tree, make_problem(X, y, loss, n_outputs=tree.n_outputs, **limits))
    before, after = tree.apply(X), pruned.apply(X)
    unchanged = [(before[after == leaf] == before[after == leaf][0]).all() for leaf in after]
    assert_array_equal(pruned.predict(X)[unchanged], predict(tree, X)[unchanged])
    changed = ~np.array(unchanged)
    assert not pruned.slopes[after[changed]].any()
    event(f"leaves: {tree.n_leaves} to {pruned.n_leaves}")


# --- others that take trees ---------------------------------------------------------------------


def test_a_leaf_of_equal_targets_has_no_slopes():
    X = np.linspace(-1, 1, 40)[:, None]
    y = np.where(X[:, 0] > 0, 30.0, 0.0)
    models = [ObliqueTreeRegressor(2, leaf="linear", optimizer=optimizer, random_state=0).fit(X, y)
              for optimizer in (None, "tao", Annealed(steps=200, leaf="linear"))]
    for model in models:
        assert model.tree_.slopes is None
        assert_array_equal(model.predict(X), y)     # zero is zero, without rounding errors


@given(trees_and_samples())
def test_units_of_targets(case):
    tree, X = case
    k = tree.n_outputs
    targets = RegressionTargets(np.arange(k) - 1.0, 2.0 ** np.arange(k))
    scaled = targets.scale_leaf_values(tree, SquaredLoss())
    back = targets.unscale_leaf_values(scaled, SquaredLoss())
    assert_array_equal(back.predict(X), tree.predict(X))
    assert_array_equal(scaled.predict(X) * targets.scale + targets.center, tree.predict(X))


@given(trees_and_samples())
def test_cost_of_prediction(case):
    tree, X = case
    lengths, products = prediction_cost(tree, X)
    constant_lengths, _ = prediction_cost(tree.replace(values=tree.values), X)
    assert lengths == constant_lengths
    weights = (tree.dense_weights() != 0).sum(axis=1)
    cost = tree.decision_path(X) @ weights + (tree.slopes[tree.apply(X)] != 0).sum(axis=(1, 2))
    assert products == (pytest.approx(cost.mean()), cost.min(), cost.max())


@pytest.mark.parametrize("function", [
    upper_bound, loss_augmented_inference, cost_diminished_inference, surrogate_gradient])
def test_bounds_need_constant_leaves(function):
    with pytest.raises(ValueError, match="tree must have constant leaves"):
        function(STUMP, [[1.0, 2.0]], [1.0], loss="squared_error")


def test_soft_predictions_need_constant_leaves():
    with pytest.raises(ValueError, match="tree must have constant leaves"):
        soft_predict_proba(STUMP, [[1.0, 2.0]], 1.0)


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("loss", [LogLoss(), SquaredLoss()], ids=str)
def test_optimizers_get_constant_leaves(name, loss):
    optimizer = short(OPTIMIZERS[name])
    if not serves(OPTIMIZERS[name](), loss) or optimizer.takes_linear_leaves:
        pytest.skip("not for this loss, or for linear leaves")
    problem = oblique_problem(loss, max_depth=2)[0]
    k = problem.n_outputs
    constant = problem.refit_leaves(
        Tree(np.eye(1, 3), [0.1], [~0], [~1], np.ones((2, k))))
    linear = constant.replace(
        values=9.0 * constant.values, slopes=np.ones((2, k, 3)), ranges=np.ones((2, k, 2)))
    results = [optimizer.optimize(tree, problem).tree for tree in (constant, linear)]
    assert results[1].slopes is results[1].ranges is None
    assert results[0] == results[1]
