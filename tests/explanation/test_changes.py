"""Changes that lead to another prediction: they do, and no smaller one does."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.datasets import load_iris

from explained import model_of
from helpers import random_children
from ngdt import ObliqueForestClassifier, ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt.explanation import TreeExplanation, _regions
from ngdt.explanation._changes import _rounded_away
from ngdt.explanation._regions import project
from ngdt.testing.strategies import problems


@st.composite
def random_trees(draw, n_features, n_outputs=None):
    """Trees of numbers without any order, so that no region is without an inside."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    m, p = draw(st.integers(1, 6)), draw(n_features)
    k = n_outputs or draw(st.integers(1, 3))
    slopes = {}
    if draw(st.booleans()):
        slopes["slopes"] = random.normal(size=(m + 1, k, p))
        if k == 1 and draw(st.booleans()):
            slopes["ranges"] = np.sort(random.normal(size=(m + 1, 1, 2)))
    weights = random.normal(size=(m, p)) * (random.random((m, p)) < 0.7)
    return Tree(weights, random.normal(size=m), *random_children(random, m),
                random.normal(size=(m + 1, k)), **slopes), random


def goal_of(model, x, target):
    """Function that tells whether samples meet the goal of a change, by the estimator."""
    if isinstance(target, tuple):
        return lambda Z: (target[0] <= model.predict(Z)) & (model.predict(Z) <= target[1])
    if target is not None:
        return lambda Z: model.predict(Z) == target
    if isinstance(model, ObliqueTreeRegressor):
        return lambda Z: model.apply(Z) != model.apply(x[None])[0]
    return lambda Z: model.predict(Z) != model.predict(x[None])[0]


@st.composite
def goals(draw, model, x):
    """A target for a change, or None."""
    prediction = model.predict(x[None])[0]
    if isinstance(model, ObliqueTreeRegressor):
        above = draw(st.floats(0.01, 0.5))
        return draw(st.sampled_from([
            None, (prediction + above, np.inf), (prediction - 2 * above, prediction - above)]))
    return draw(st.sampled_from([None, *(c for c in model.classes_.tolist() if c != prediction)]))


def boundaries(tree, x, feature, target):
    """Steps along a feature at which a decision or a prediction may change."""
    weights = tree.dense_weights()[:, feature]
    values = [(tree.scores(x[None])[0], weights)]
    if tree.slopes is not None:
        outputs, slopes = tree.values + tree.slopes @ x, tree.slopes[:, :, feature]
        for a, b in itertools.combinations(range(tree.n_outputs), 2):
            values.append((outputs[:, a] - outputs[:, b], slopes[:, a] - slopes[:, b]))
        if isinstance(target, tuple):
            values += [(outputs[:, 0] - end, slopes[:, 0]) for end in target if np.isfinite(end)]
    steps = [-value[slope != 0] / slope[slope != 0] for value, slope in values]
    return np.unique(np.concatenate(steps))


def nearest_by_scan(tree, meets, x, feature, target):
    """Size of the smallest step along a feature that meets the goal: all intervals are tried."""
    ends = np.concatenate([[-np.inf], boundaries(tree, x, feature, target), [np.inf]])
    best = np.inf
    for low, high in itertools.pairwise(ends):
        low_, high_ = max(low, min(high, 0.0) - 1e3), min(high, max(low, 0.0) + 1e3)
        z = x.copy()
        z[feature] += 0.5 * (low_ + high_)
        if meets(z[None])[0]:
            best = min(best, abs(np.clip(0.0, low, high)))
    return best


@given(st.data())
def test_no_smaller_change_of_one_feature_meets_the_goal(data):
    tree, random = data.draw(random_trees(st.integers(1, 4)))
    X = random.normal(size=(12, tree.n_features)) * 2.0 ** random.integers(-3, 4, tree.n_features)
    model, x = model_of(tree, X), X[0]
    target = data.draw(goals(model, x))
    meets, std = goal_of(model, x, target), X.std(axis=0)
    changes = model.explain(x[None])[0].changes_of_one_column(target, within_range=False)
    event(f"{len(changes)} changes")
    found = {}
    for change in changes:
        ((name, value),) = change.values.items()
        j = int(name[1:])
        z = x.copy()
        z[j] = value
        assert meets(z[None])[0]
        assert change.prediction.value == model.predict(z[None])[0]
        assert change.distance == pytest.approx(abs(value - x[j]) / std[j])
        found[j] = abs(value - x[j])
        z[j] = float(change.texts[name])        # as it is written
        assert meets(z[None])[0]
    distances = [change.distance for change in changes]
    assert distances == sorted(distances)
    for j in range(tree.n_features):
        expected = nearest_by_scan(tree, meets, x, j, target)
        assert found.get(j, np.inf) == pytest.approx(expected, rel=1e-6)


def projection_by_enumeration(A, b, low, high):
    """Norm of the shortest u with A u <= b and low <= u <= high: all active sets are tried."""
    p = A.shape[1]
    G = np.vstack([A, np.eye(p), -np.eye(p)])
    h = np.concatenate([b, np.full(p, high), -np.full(p, low)])
    G, h = G[np.isfinite(h)], h[np.isfinite(h)]
    best = np.inf
    for size in range(p + 1):
        for active in itertools.combinations(range(len(h)), size):
            u = np.linalg.pinv(G[list(active)]) @ h[list(active)] if size else np.zeros(p)
            if (G @ u <= h + 1e-9).all():
                best = min(best, np.linalg.norm(u))
    return best


@given(st.data(), st.integers(1, 3), st.sampled_from([1e9, 0.3]))
def test_projections_are_those_of_all_active_sets(data, p, limit):
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    A, b = random.normal(size=(data.draw(st.integers(0, 5)), p)), random.normal()
    b = b + random.normal(size=len(A))
    scale = random.choice([0.0, 0.5, 1.0, 4.0], p)
    step = project(A, b, scale, -limit * scale, limit * scale)
    expected = projection_by_enumeration((A * scale)[:, scale > 0], b, -limit, limit)
    if step is None:
        event("empty")
        assert expected == np.inf
        return
    assert (A @ step <= b + 1e-9).all()
    assert (step[scale == 0] == 0).all()
    moved = scale > 0
    assert np.linalg.norm(step[moved] / scale[moved]) == pytest.approx(
        expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("norm", [1e-10, 1e-100])
def test_a_half_space_too_far_away_for_a_number_is_not_reached(norm):
    A = np.array([[-norm, 0.0]])
    assert project(A, np.array([-1e300]), np.ones(2)) is None
    np.testing.assert_allclose(project(A, np.array([-norm]), np.ones(2)), [1.0, 0.0])


def test_a_step_too_long_for_a_number_is_none():
    A = np.array([[-1.0, 0.0], [0.9, -0.4]])
    np.testing.assert_allclose(project(A, np.array([-1.0, -1.0]), np.ones(2)), [1.0, 4.75])
    assert project(A, np.array([-1e308, -1e308]), np.ones(2)) is None


def regions_by_hand(tree, meets_leaf, conditions):
    """All polytopes A z <= b in which a goal is met, by the paths from the root."""
    def walk(item, A, b):
        if item < 0:
            if meets_leaf(~item):
                for more, limits in conditions(~item):
                    yield np.array([*A, *more]).reshape(-1, tree.n_features), np.array(
                        [*b, *limits])
            return
        w, t = tree.weights[item], tree.thresholds[item]
        yield from walk(tree.children_left[item], [*A, w], [*b, t])
        yield from walk(tree.children_right[item], [*A, -w], [*b, -t])

    return walk(0, [], [])


@given(st.data(), st.booleans())
def test_no_smaller_change_of_all_features_meets_the_goal(data, is_fixed):
    tree, random = data.draw(random_trees(st.integers(1, 3), n_outputs=3))
    X = random.normal(size=(12, tree.n_features)) * 2.0 ** random.integers(-3, 4, tree.n_features)
    model, x = model_of(tree, X), X[0]
    meets, best = goal_of(model, x, None), model.predict(x[None])[0]
    scale = X.std(axis=0)
    if is_fixed:
        scale[0] = 0.0
    change = model.explain(x[None])[0].smallest_change(
        fixed=[0] if is_fixed else (), within_range=False)

    def conditions(leaf):
        """Some class is more probable than that of the sample."""
        if tree.slopes is None:
            return [([], [])]
        return [([tree.slopes[leaf, best] - tree.slopes[leaf, k]],
                 [tree.values[leaf, k] - tree.values[leaf, best]]) for k in range(3) if k != best]

    regions = regions_by_hand(
        tree, lambda leaf: tree.slopes is not None or tree.values[leaf].argmax() != best,
        conditions)
    moved = scale > 0
    expected = min((
        projection_by_enumeration((A * scale)[:, moved], b - A @ x, -np.inf, np.inf)
        for A, b in regions), default=np.inf)
    if change is None:
        event("no change meets the goal")
        assert expected == np.inf
        return
    z = change.sample
    assert meets(z[None])[0]
    assert (z[~moved] == x[~moved]).all()
    assert change.distance == pytest.approx(np.linalg.norm((z - x)[moved] / scale[moved]))
    assert change.distance == pytest.approx(expected, rel=1e-6)
    assert change.prediction.value == model.predict(z[None])[0]
    assert [change.values[f"x{j}"] for j in range(len(x)) if z[j] != x[j]] == z[z != x].tolist()


@given(problems(n_outputs=st.just(2), linear_leaves=st.booleans(),
                scales=st.sampled_from([1.0, 2.0**-40, 2.0**40])), st.booleans())
def test_changes_of_trees_with_ties_lead_to_another_class(problem, within_range):
    """Parallel splits, samples on boundaries, regions without an inside."""
    tree = problem.tree
    tree = tree.replace(values=tree.values, slopes=tree.slopes)     # no ranges
    X = problem.X if isinstance(problem.X, np.ndarray) else problem.X.toarray()
    model = model_of(tree, np.repeat(X.astype(float), 3, axis=0))
    low, high = X.min(axis=0), X.max(axis=0)
    for x, explanation in zip(X, model.explain(X), strict=True):
        changes = explanation.changes_of_one_column(within_range=within_range)
        together = explanation.smallest_change(within_range=within_range)
        if together is not None:
            moving = [each.distance for each in changes if np.isfinite(each.distance)]
            assert together.distance <= min(moving, default=np.inf) * (1 + 1e-9)
            changes.append(together)
        for change in changes:
            assert model.predict(change.sample[None])[0] != explanation.prediction.value
            assert (change.sample != x).sum() == len(change.values)
            if within_range:
                assert (change.sample >= low - 1e-9 * abs(low)).all()
                assert (change.sample <= high + 1e-9 * abs(high)).all()


@given(st.data())
def test_changes_within_the_range_are_those_of_a_tree_that_has_the_range_as_splits(data):
    """Outside of the box of the samples, it says what it says of the sample."""
    tree, random = data.draw(random_trees(st.integers(1, 2), n_outputs=2))
    tree = tree.replace(values=tree.values)     # constant leaves
    X = random.normal(size=(8, tree.n_features))
    model, x = model_of(tree, X), X[0]
    p, best = tree.n_features, model.predict(x[None])[0]
    box = np.vstack([np.eye(p), -np.eye(p)])
    ends = np.concatenate([X.max(axis=0), -X.min(axis=0)])
    m = 2 * p
    below = [np.where(c >= 0, c + m, c - m) for c in (tree.children_left, tree.children_right)]
    walled = Tree(
        np.vstack([box, tree.weights]), np.concatenate([ends, tree.thresholds]),
        np.concatenate([np.arange(1, m + 1), below[0]]), np.concatenate([~np.arange(m), below[1]]),
        np.vstack([np.repeat(np.eye(2)[[best]], m, axis=0), tree.values]))
    expected = model_of(walled, X).explain(x[None])[0].smallest_change(within_range=False)
    change = model.explain(x[None])[0].smallest_change()
    assert (change is None) == (expected is None)
    if change is not None:
        assert change.distance == pytest.approx(expected.distance, rel=1e-6)


@given(arrays(np.float64, 2, elements=st.floats(-5, 5)), st.integers(-9, 0))
def test_samples_next_to_a_boundary(x, exponent):
    weights = np.array([1.0, 3.0])
    threshold = weights @ x + 10.0**exponent
    model = model_of(Tree([weights], [threshold], [~0], [~1], np.eye(2)))
    change = model.explain(x[None])[0].smallest_change(within_range=False)
    assert model.predict(change.sample[None])[0] == 1
    margin = -model.tree_.scores(x[None])[0, 0]
    distance = margin / np.linalg.norm(weights * model._sample_summary.std)
    assert change.distance == pytest.approx(distance, rel=1e-6)


@pytest.mark.parametrize("weight", [1.0, -2.0])
def test_a_sample_on_a_boundary_at_zero(weight):
    """Sample at zero, where the size of the numbers does not give the size of a step."""
    tree = Tree([[weight]], [0.0], [~0], [~1], np.eye(2))
    model = model_of(tree, np.arange(-3.0, 3.0)[:, None] * 1.1)
    (explanation,) = model.explain([[0.0]])
    for change in [*explanation.changes_of_one_column(), explanation.smallest_change()]:
        assert model.predict(change.sample[None])[0] == 1
        assert 0 < change.distance < 1e-14
    assert len(explanation.changes_of_one_column()) == 1


def test_targets(iris):
    X, y = iris
    names = np.array(["a", "b", "c"])
    model = ObliqueTreeClassifier(2, optimizer=None).fit(X, names[y])
    (explanation,) = model.explain(X[:1])
    for target in ("b", "c"):
        change = explanation.smallest_change(target)
        assert model.predict(change.sample[None])[0] == change.prediction.value == target
    with pytest.raises(ValueError, match=r"one of the other classes \['b', 'c'\], got 'd'"):
        explanation.smallest_change("d")
    with pytest.raises(ValueError, match=r"^target must be one of the other .*'c'\], got 'a'"):
        explanation.smallest_change("a")
    with pytest.raises(ValueError, match=r"^fixed names the columns \['z'\], which X lacks"):
        explanation.smallest_change(fixed=["z"])


@pytest.mark.parametrize("target", [3.0, (3.0, 2.0), "high", (1.0, 2.0, 3.0), (None, 1.0)])
def test_wrong_ranges(iris, target):
    X, y = iris
    (explanation,) = ObliqueTreeRegressor(1, optimizer=None).fit(X, y).explain(X[:1])
    with pytest.raises(ValueError, match=r"^target must be a range of predictions \(low, high\)"):
        explanation.changes_of_one_column(target)


def test_a_range_must_not_hold_the_prediction(iris):
    X, y = iris
    (explanation,) = ObliqueTreeRegressor(1, optimizer=None).fit(X, y).explain(X[:1])
    with pytest.raises(ValueError, match=r"^target must be .* without the present one, .*, got"):
        explanation.smallest_change((-1.0, 1.0))


def test_no_change_is_to_infinity():
    model = model_of(Tree([[1e-200]], [1e150], [~0], [~1], [[0.0], [1.0]]), np.eye(3, 1))
    (explanation,) = model.explain([[0.0]])
    assert explanation.changes_of_one_column(within_range=False) == []
    assert explanation.smallest_change(within_range=False) is None


def test_classes_that_tie():
    model = model_of(Tree(np.empty((0, 1)), [], [], [], [[1.0, 1.0]], slopes=[[[1.0], [2.0]]]),
                     np.arange(-3.0, 3.0)[:, None] * 1.1)
    (explanation,) = model.explain([[0.0]])
    assert explanation.prediction.value == 0
    assert [*explanation.leaf_terms] == ["1 against 0"]
    (change,) = explanation.changes_of_one_column()
    assert model.predict(change.sample[None])[0] == 1
    assert 0 < change.distance < 1e-12


@pytest.mark.parametrize("values", [[0.5, 0.5, 0.0], [-0.5, -0.5, -1.0]])
def test_a_linear_leaf_of_classes_that_tie_predicts_the_first(values):
    tree = Tree([[1.0]], [0.0], [~0], [~1], [[0.0, 1.0, 0.0], values], np.zeros((2, 3, 1)))
    explanation = model_of(tree).explain([[-1.0]])[0]
    change = explanation.smallest_change(within_range=False)
    assert (explanation.prediction.value, change.prediction.value) == (1, 0)
    assert change.sample == pytest.approx(0.0, abs=0.1)


@pytest.mark.parametrize("unit", [2.0**-560, 2.0**560])
def test_numbers_whose_squares_are_none_have_more_than_two_values(unit):
    X = np.random.default_rng(0).normal(size=(100, 2))
    small, model = (
        ObliqueTreeClassifier(2, optimizer=None, random_state=0).fit(each, X.sum(axis=1) > 0)
        for each in (X, unit * X))
    found, expected = (
        tree.explain(each)[0] for tree, each in ((model, unit * X), (small, X)))
    np.testing.assert_allclose(
        [each.distance for each in found.path], [each.distance for each in expected.path])
    change, expected = (each.smallest_change() for each in (found, expected))
    np.testing.assert_allclose(change.sample, unit * expected.sample)


def test_numbers_with_two_values_change_from_one_to_the_other():
    pd = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    frame = pd.DataFrame({
        "age": random.normal(size=60), "smokes": random.random(60) < 0.3,
        "dose": random.choice([2.0, 5.0], 60)})
    risk = frame.age + 3.0 * frame.smokes + frame.dose
    model = ObliqueTreeClassifier(
        2, optimizer="tao", validation_fraction=None).fit(frame, risk > risk.median())
    n_changes = 0
    for row, explanation in enumerate(model.explain(frame)):
        for change in explanation.changes_of_one_column():
            (name,), (value,) = change.values, change.values.values()
            if name != "age":
                assert value in ((0.0, 1.0) if name == "smokes" else (2.0, 5.0))
                changed = frame[row:row + 1].assign(**change.values)
                assert model.predict(changed)[0] == change.prediction.value
                n_changes += 1
        change = explanation.smallest_change()
        assert change is None or [*change.values] == ["age"]
    assert n_changes > 10


def table_of_guests(n=300):
    """Whole numbers, one of them with gaps, and a number that is not whole."""
    random = np.random.default_rng(0)
    nights = np.where(random.random(n) < 0.2, np.nan, random.integers(0, 14, n))
    X = np.column_stack([random.integers(1, 6, n), nights, random.normal(60, 20, n)])
    return X, X[:, 0] * 1.3 + np.nan_to_num(nights, nan=6.0) * 0.3 - X[:, 2] * 0.04 > 2.5


@pytest.mark.parametrize("make", [
    lambda: ObliqueTreeClassifier(3, init="co2", optimizer=None, random_state=0),
    lambda: ObliqueTreeClassifier(1, init="model_tree", optimizer=None, leaf="linear"),
    lambda: ObliqueForestClassifier(5, max_depth=3, optimizer=None, random_state=0)])
def test_numbers_that_were_whole_in_training_change_to_whole_ones(make):
    X, y = table_of_guests()
    model = make().fit(X, y)
    n_whole, n_other = 0, 0
    for x, explanation in zip(X[:12], model.explain(X[:12]), strict=True):
        changes = explanation.changes_of_one_column()
        if hasattr(explanation, "smallest_change"):
            changes.append(explanation.smallest_change())
        for change in changes:
            changed = x.copy()
            for name, value in change.values.items():
                changed[int(name[1:])] = value
                n_other += name == "x2"
                if name != "x2":
                    n_whole += 1
                    assert value == round(value)
                    assert float(change.texts[name]) == value
            assert model.predict(changed[None])[0] == change.prediction.value
            assert change.prediction.value != explanation.prediction.value
    assert n_whole
    assert n_other


def test_no_nearer_whole_number_leads_to_another_class():
    X, y = table_of_guests()
    model = ObliqueTreeClassifier(3, init="co2", optimizer=None, random_state=0).fit(X, y)
    n_found = 0
    for x, explanation in zip(X[:60], model.explain(X[:60]), strict=True):
        found = {name: value for change in explanation.changes_of_one_column()
                 for name, value in change.values.items()}
        others = np.repeat(x[None], 5, axis=0)
        others[:, 0] = np.arange(1.0, 6.0)
        differs = model.predict(others) != explanation.prediction.value
        assert differs.any() == ("x0" in found)
        if "x0" in found:
            n_found += 1
            distances = np.abs(others[differs, 0] - x[0])
            assert abs(found["x0"] - x[0]) == distances.min()
    assert n_found


def test_the_smallest_change_of_one_number_is_true_as_written():
    tree = Tree([[1.0]] * 2, [1.0, 1.0001], [~0, ~1], [1, ~2], [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    X = np.array([0.5, 0.9, 1.00005, 1.5])[:, None]
    model = ObliqueTreeClassifier(init=tree, optimizer=None).fit(X, tree.predict(X).argmax(axis=1))
    change = model.explain(X[:1])[0].smallest_change()
    assert model.predict([[float(change.texts["x0"])]])[0] == change.prediction.value == 1


def test_numbers_are_rounded_away_where_distances_are_equal_by_rounding():
    before, value = 0.2, np.nextafter(-0.6, -1.0)
    assert abs(value - before) == abs(-0.6 - before)
    assert float(_rounded_away(value, before)) <= value


def test_whole_columns_are_those_without_a_fraction_in_training():
    X, y = table_of_guests()
    X[0, 0], weight = 2.5, np.ones(len(X))
    for of_row, whole in ((1.0, (1,)), (0.0, (0, 1))):
        weight[0] = of_row
        for table in (X, sparse.csr_matrix(X)):
            model = ObliqueTreeClassifier(1, optimizer=None).fit(table, y, sample_weight=weight)
            assert model._table.whole == whole


def test_the_nearest_point_is_found_without_scipys_nnls_as_well(monkeypatch):
    random = np.random.default_rng(0)
    cases = [(random.normal(size=(m, p)), random.normal(size=m), random.random(p))
             for m in range(1, 7) for p in range(1, 5)]
    expected = [project(*case) for case in cases]

    def fails(*arguments, **options):
        raise RuntimeError("Maximum number of iterations reached.")

    monkeypatch.setattr(_regions, "nnls", fails)
    for case, step in zip(cases, expected, strict=True):
        found = project(*case)
        assert (found is None) == (step is None)
        if step is not None:
            np.testing.assert_allclose(found, step, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("leaf", ["constant", "linear"])
def test_samples_near_the_largest_number_are_explained_without_warnings(leaf):
    X, y = load_iris(return_X_y=True)
    tree = ObliqueTreeClassifier(leaf=leaf, max_depth=2, random_state=0).fit(X, y)
    for x in (np.full(4, 1e308), *(size * X[0] for size in (1e307, 3e306, -1e305, 1e200))):
        (explanation,) = tree.explain([x])
        assert not re.search("[-+ ](inf|nan)", str(explanation))
        assert np.isfinite(explanation.to_frame()["contribution"]).all()
        change = explanation.smallest_change(within_range=False)
        assert change is None or np.isfinite(change.distance)


def test_columns_that_no_tree_reads_are_not_tried(monkeypatch):
    pd = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.choice(list("abcdef"), (400, 20))).add_prefix("text ")
    X["number"] = random.normal(size=400)
    model = ObliqueTreeClassifier(max_depth=1, optimizer=None).fit(X, X["text 3"] == "b")
    explanation, sizes = model.explain(X[X["text 3"] == "a"][:1])[0], []
    predict = TreeExplanation._outputs_of
    monkeypatch.setattr(TreeExplanation, "_outputs_of", lambda self, points: sizes.append(
        len(points)) or predict(self, points))
    (change,) = explanation.changes_of_one_column()
    assert change.values == {"text 3": "b"}
    assert sum(sizes) == 5      # the other categories of this column
    assert explanation.smallest_change() is None
