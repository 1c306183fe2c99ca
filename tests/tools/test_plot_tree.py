"""Plots of trees: text and bars, without overlaps."""

import itertools
import re
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import complete_tree
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, Tree
from ngdt._util.numbers import format_number
from ngdt.export import export_html, export_text
from ngdt.optimizers import LinearLeaves
from ngdt.plotting import plot_tree
from ngdt.plotting._layout import centers, children, depths
from ngdt.plotting._style import class_colors
from ngdt.testing.strategies import trees

matplotlib = pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("plt")


@pytest.fixture(scope="module")
def classifier(iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])
    return ObliqueTreeClassifier(max_depth=2, optimizer=None, random_state=0).fit(X, names[y])


def texts(ax):
    return [text.get_text() for text in ax.texts]


def boxes(ax):
    """The frames of the boxes."""
    return [patch for patch in ax.patches if isinstance(patch, matplotlib.patches.FancyBboxPatch)]


# --- what is written ----------------------------------------------------------------------------


def test_names_that_are_cut_stay_different():
    """Names that differ in their middles only are written whole."""
    columns = [f"{'a' * 20}{middle}{'z' * 20}" for middle in ("left", "right")] + ["b" * 50]
    labels = [f"{'c' * 20}{middle}{'y' * 20}" for middle in ("no", "yes")]
    tree = Tree([[1.0, 2.0, 3.0]], [0.0], [~0], [~1], [[2.0, 0.0], [0.0, 2.0]])
    found = "\n".join(texts(plot_tree(tree, feature_names=columns, class_names=labels)))
    assert all(name in found for name in columns[:2] + labels)
    assert columns[2] not in found
    assert columns[2] in export_html(tree, feature_names=columns)


def test_the_key_says_that_shares_are_of_weights(classifier, iris):
    remark = "shares of classes are shares of weights, not of samples"
    assert remark not in texts(plot_tree(classifier))
    weighted = ObliqueTreeClassifier(max_depth=2, optimizer=None, class_weight={0: 1, 1: 8, 2: 1})
    assert texts(plot_tree(weighted.fit(*iris)))[-1] == remark


def test_boxes_of_several_targets_are_not_filled(diabetes):
    X, y = diabetes
    model = ObliqueTreeRegressor(1, init="info_gain", optimizer=None)
    ax = plot_tree(model.fit(X, np.column_stack([y, -y])), filled=True)
    assert {box.get_facecolor() for box in boxes(ax)} == {(1.0, 1.0, 1.0, 1.0)}


def test_a_sum_that_is_repeated_is_written_once(iris):
    X, is_second = iris[0][50:], iris[1][50:] == 2
    model = ObliqueTreeClassifier(init="score_bands", optimizer=None).fit(X, is_second)
    found = [text for text in texts(plot_tree(model)) if "sum ≤" in text]
    assert len(found) == model.tree_.n_internal > 3
    assert sum(text.startswith("the same sum ≤") for text in found) == len(found) - 1


def test_a_sum_that_is_repeated_below_another_one_has_a_name():
    a, b = [-3.0, 1.0], [1.0, 2.0]
    found = texts(plot_tree(Tree([a, b, a], [0.0, 1.0, 2.0], [1, 2, ~0], [~3, ~2, ~1], np.eye(4))))
    assert [text for text in found if "≤" in text] == ["sum_1 ≤ 0", "sum ≤ 1", "sum_1 ≤ 2"]


def test_the_tree_is_that_of_the_text(classifier, iris):
    found = texts(plot_tree(classifier))
    conditions = re.findall(r"if (.*):", export_text(classifier))
    assert [text.replace("≤", "<=") for text in found if "≤" in text] == conditions
    for leaf, counts in enumerate(classifier.n_node_samples_[classifier.tree_.n_internal:]):
        probability = classifier.predict_proba(iris[0])[classifier.apply(iris[0]) == leaf][0].max()
        place = found.index(f"{counts} samples")
        assert found[place - 1] == f"{100 * probability:.3g} %"
    assert found[:4] == ["yes", "no", conditions[0].replace("<=", "≤"), "150 samples"]
    assert found[-3:] == ["setosa", "versicolor", "virginica"]     # the key


def test_terms_of_a_sum_come_with_their_weights_and_effects():
    X = np.random.default_rng(0).normal(size=(50, 7)) * 10.0 ** np.arange(7)
    weights = 0.1 ** np.arange(7) * [4, 1, -8, 1, 2, 1, -7]     # effects 4, 1, 8, ..., nearly
    tree = Tree([weights], [0.5], [~0], [~1], np.eye(2))
    effect = weights * X.std(axis=0)
    order = np.argsort(-abs(effect))
    rest = abs(effect[order[5:]]).sum() / abs(effect).sum()
    fitted = ObliqueTreeClassifier(init=tree, optimizer=None).fit(X, X @ weights > 0.5)
    for ax in (plot_tree(fitted), plot_tree(tree, X=X)):
        terms = [
            f"{format_number(weights[j])} × x{j}".replace("-", "−") for j in order[:5]]
        hidden = f"+ 2 more ({100 * rest:.0f} % of the effect)"
        assert [text for text in texts(ax) if "×" in text and "bar" not in text] == terms
        assert {hidden, "sum ≤ 0.5"} <= set(texts(ax))
        bars = [patch for patch in ax.patches if patch.get_facecolor()[:3] == (0.35, 0.35, 0.35)]
        lengths = np.array([bar.get_width() for bar in bars])
        np.testing.assert_allclose(
            lengths / abs(lengths).max(), effect[order[:5]] / abs(effect).max())
        assert "length of a bar: |weight| × standard deviation" in texts(ax)
    assert "length of a bar: |weight|" in texts(plot_tree(tree))     # no samples, no effects


def test_numbers_that_are_too_long_are_rounded_and_the_limit_says_so():
    weights = np.array([1.23456789, -2.0])
    assert {"1.23 × x0", "−2 × x1", "sum ≤ about 0.1"} <= set(texts(plot_tree(
        Tree([weights], [0.1], [~0], [~1], np.eye(2)))))


def test_the_key_is_of_the_bars_that_are_drawn():
    tree = Tree([[1.0, 0.0], [1.0, 1.0]], [0.0, 0.0], [~0, ~1], [1, ~2], np.eye(3))
    assert not any("bar" in text for text in texts(plot_tree(tree, max_depth=1)))
    assert any("bar" in text for text in texts(plot_tree(tree, max_depth=2)))


def test_categories_and_missing_values():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"city": ["Rome", "Oslo", "Lima", "Bern"] * 10})
    stump = Tree([[1.0, 1.0, 0.0, 0.0]], [0.5], [~0], [~1], np.eye(2))
    model = ObliqueTreeClassifier(init=stump, optimizer=None).fit(
        table, table["city"].isin(["Rome", "Oslo"]))
    (condition,) = re.findall("if (.*):", export_text(model))
    assert re.match(r"city in {\w+, \w+}$", condition) or "other than" in condition
    assert condition in texts(plot_tree(model))
    gaps = pandas.DataFrame({"age": [np.nan, 1.0, 2.0, 3.0] * 10})
    model = ObliqueTreeClassifier(1, optimizer=None).fit(gaps, gaps["age"].isna())
    assert {"age is missing", "age is not missing"} & set(texts(plot_tree(model)))


def test_options_change_what_is_written(classifier):
    plain = plot_tree(classifier)
    assert "33.3 % of samples" in texts(plot_tree(classifier, proportion=True))
    ax = plot_tree(classifier, node_ids=True)
    assert {"150 samples", "node 0", "node 2, leaf 0"} <= set(texts(ax))
    assert len(boxes(plain)) == len(boxes(plot_tree(classifier, rounded=True)))
    colors = {box.get_facecolor() for box in boxes(plot_tree(classifier, filled=True))}
    assert len(colors) == len(boxes(plain))
    assert {box.get_facecolor() for box in boxes(plain)} == {(1.0, 1.0, 1.0, 1.0)}


def test_a_regressor_has_means_and_values(iris):
    X, y = iris
    model = ObliqueTreeRegressor(max_depth=2, optimizer=None, random_state=0).fit(X, y)
    found = texts(plot_tree(model, filled=True))
    assert f"mean {y.mean():.3g}" in found
    assert set(re.findall(r"^ *([\d.]+)$", export_text(model), re.M)) <= set(found)
    assert f"{model.tree_.values.max():.4g}" == found[-1]     # of the key, as in the leaf
    stump = Tree([[1.0]], [0.0], [~0], [~1], [[-1.5], [2.0]])
    assert texts(plot_tree(stump, filled=True))[-2:] == ["−1.5", "2"]       # the key
    several = ObliqueTreeRegressor(1, optimizer=None).fit(X, np.c_[y, -y, y, y])
    assert f"mean {y.mean():.3g}, −{y.mean():.3g}, {y.mean():.3g}, …" in texts(plot_tree(several))
    years = ObliqueTreeRegressor(1, optimizer=None).fit(X, 1900 + y)
    assert "1900" in texts(plot_tree(years))
    years.fit(X, 1900 + 0.01 * y)
    assert {"mean 1900.01", "1900", "1900.015"} <= {*texts(plot_tree(years, filled=True))}
    assert "mean 1900.01" in export_html(years)


def test_trees_without_samples_and_of_one_leaf():
    ax = plot_tree(Tree(np.empty((0, 6)), [], [], [], [[0.0, 1.0]]))
    assert texts(ax) == ["1", "73.1 %", "0", "1"]
    assert not any("samples" in text for text in texts(plot_tree(complete_tree(2))))


def test_subtrees_that_are_not_drawn():
    ax = plot_tree(complete_tree(3), max_depth=2)
    assert texts(ax).count("… 2 leaves") == 4
    assert len(boxes(ax)) == 7
    assert len(boxes(plot_tree(complete_tree(4, n_features=1), max_depth=None))) == 31


def test_a_pipeline_is_drawn_in_units_of_the_table(iris):
    tree = ObliqueTreeClassifier(2, optimizer=None)
    scaled = make_pipeline(StandardScaler(), tree).fit(*iris)
    alone = ObliqueTreeClassifier(2, optimizer=None).fit(*iris)
    assert texts(plot_tree(scaled)) == texts(plot_tree(alone))


def test_names_are_written_as_they_are(iris):
    names = ["<b>&", "$x_1$ and $", "a\\frac{", "n" * 300]
    X, y = iris
    for init in ("info_gain", "co2"):
        model = ObliqueTreeClassifier(2, optimizer=None, init=init).fit(X, y)
        ax = plot_tree(model, feature_names=names, class_names=["$a", "$b$", "c" * 300])
        ax.figure.canvas.draw()     # a formula would fail here, or vanish
        assert all(len(text) <= 60 for text in texts(ax))


# --- where it is drawn --------------------------------------------------------------------------


@given(trees(n_internal=st.integers(1, 12)), st.integers(1, 8), st.data())
def test_boxes_are_beside_each_other_and_parents_in_the_middle(tree, max_depth, data):
    depth = depths(tree, max_depth)
    width = {item: data.draw(st.sampled_from([1.0, 2.5, 7.0])) for item in depth}
    center = centers(tree, depth, width, 0.5, frozenset())
    assert min(center[item] - width[item] / 2 for item in depth) == pytest.approx(0.0)
    for item, level in depth.items():
        if item >= 0 and level < max_depth:
            left, right = (center[child] for child in children(tree, item))
            assert center[item] == pytest.approx((left + right) / 2)
    for level in set(depth.values()):
        here = [item for item in depth if depth[item] == level]     # from left to right
        for item, other in itertools.pairwise(here):
            distance = center[other] - center[item]
            assert distance >= (width[item] + width[other]) / 2 + 0.5 - 1e-9


@pytest.mark.parametrize("own_axes", [False, True])
def test_text_fits_into_its_box(iris, own_axes, plt):
    X, y = iris
    names = ["a name that is far too long for one line of a box", "b", "W" * 40, "d d"]
    model = ObliqueTreeClassifier(3, optimizer=None, init="co2", random_state=0).fit(X, y)
    ax = plt.subplots(figsize=(9, 3))[1] if own_axes else None
    ax = plot_tree(model, feature_names=names, ax=ax)
    renderer = ax.figure.canvas.get_renderer()
    frames = [box.get_window_extent(renderer) for box in boxes(ax)]
    area = ax.get_window_extent(renderer)
    for text in ax.texts:
        extent = text.get_window_extent(renderer)
        middle = (extent.x0 + extent.x1) / 2, (extent.y0 + extent.y1) / 2
        around = [frame for frame in frames if frame.contains(*middle)] or [area]
        assert around[0].x0 <= extent.x0
        assert extent.x1 <= around[0].x1
    for k, frame in enumerate(frames):
        assert not any(frame.overlaps(other) for other in frames[:k])
    if own_axes:
        assert all(area.x0 <= frame.x0 and frame.x1 <= area.x1 for frame in frames)
        assert plot_tree(model, ax=ax, fontsize=5).texts[-1].get_fontsize() == pytest.approx(4.5)


def chain(m):
    """A tree of m nodes, each of which has a leaf on the left."""
    right = np.r_[np.arange(1, m), ~m]
    return Tree(np.ones((m, 1)), np.zeros(m), ~np.arange(m), right, np.zeros((m + 1, 1)))


@pytest.mark.parametrize(("m", "n_boxes", "cut"), [(7, 15, []), (8, 7, ["… 6 leaves"])])
def test_small_trees_are_drawn_whole(m, n_boxes, cut):
    ax = plot_tree(chain(m))
    assert len(boxes(ax)) == n_boxes
    assert [text for text in texts(ax) if "…" in text] == cut


def test_a_chain_deeper_than_the_recursion_limit():
    m = 2 * sys.getrecursionlimit()
    tree = chain(m)
    assert f"… {m - 1} leaves" in texts(plot_tree(tree, max_depth=2))


def test_the_colours_of_classes_differ():
    assert len(set(class_colors(20))) == 20
    assert class_colors(12)[:10] == class_colors(10)


# --- images and linear leaves -------------------------------------------------------------------


def test_weights_as_images():
    tree = complete_tree(2)
    ax = plot_tree(tree, image_shape=(2, 3))
    for node, image in enumerate(sorted(ax.get_images(), key=lambda image: image.get_extent()[3])):
        low, high = image.get_clim()
        assert low == -high     # white means zero
        if node == 0:
            np.testing.assert_array_equal(image.get_array().ravel(), tree.weights[0])
    assert {"negative weight: left", "positive weight: right"} <= set(texts(ax))
    assert "yes" not in texts(ax)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_leaves_as_the_mean_of_their_images(form):
    tree = complete_tree(2)
    X = np.random.default_rng(0).integers(0, 9, (20, 6)) - 4.0
    X = X[tree.apply(X) != 2]
    leaf = tree.apply(X)
    ax = plot_tree(tree, image_shape=(2, 3), X=form(X))
    assert {f"{j} ({np.sum(leaf == j)})" for j in range(4)} <= set(texts(ax))
    drawn = [image.get_array().ravel() for image in ax.get_images()]
    drawn = [image for image in drawn if not np.ma.getmaskarray(image).all()]
    for j in np.unique(leaf):
        mean = X[leaf == j].mean(axis=0)
        assert any(np.allclose(image, mean) for image in drawn)
    assert len(drawn) == 3 + len(np.unique(leaf))     # no sample, no mean


@pytest.fixture(scope="module")
def linear():
    """A stump with a constant leaf and a linear one on four features, and samples."""
    X = np.random.default_rng(0).normal(size=(60, 4)) * [1.0, 10.0, 1.0, 1.0] + [0.0, 0.0, 2.0, 0.0]
    slopes = np.zeros((2, 1, 4))
    slopes[1, 0] = [-2.0, 1.0, 0.5, 0.3]
    tree = Tree([[1.0, 0.0, 0.0, 0.0]], [0.0], [~0], [~1], [[7.0], [3.0]], slopes=slopes,
                ranges=[[[0.0, 5.0]], [[-40.0, 40.0]]])
    return tree, X


def test_linear_leaves_have_their_largest_terms(linear):
    tree, X = linear
    effect = tree.slopes[1, 0] * X.std(axis=0)
    order = np.argsort(-np.abs(effect))
    share = abs(effect[order[3]]) / np.abs(effect).sum()
    ax = plot_tree(tree, X=X)
    mean = 3.0 + tree.slopes[1, 0] @ X[tree.apply(X) == 1].mean(axis=0)
    start = texts(ax).index(f"{mean:.3g}")
    assert texts(ax)[start + 1:start + 5] == [
        *(f"{tree.slopes[1, 0, j]:.3g} × x{j}".replace("-", "−") for j in order[:3]),
        f"+ 1 more ({100 * share:.0f} % of the effect)"]
    assert "5" in texts(ax)     # the constant leaf, within its limits
    assert "bar of a leaf to the right: larger values raise the prediction" in texts(ax)
    unknown = texts(plot_tree(tree))
    assert "linear" in unknown
    assert len(plot_tree(tree, image_shape=(2, 2), X=X).get_images()) == 3


def test_linear_leaves_of_classes(linear):
    tree, X = linear
    both = Tree(tree.weights, tree.thresholds, [~0], [~1], [[1.0, 2.0]] * 2,
                slopes=[[[0.0] * 4] * 2, [[0.0] * 4, [0.0, 0.0, 1.0, 0.0]]])
    mean = X[X[:, 0] > 0].mean(axis=0)
    p = np.mean(100 / (1 + np.exp(-(1.0 + X[X[:, 0] > 0, 2]))))
    found = texts(plot_tree(both, X=X))
    assert found[found.index("linear") - 1] == f"{p:.3g} %"
    assert "linear leaf: mean probabilities of its samples" in found
    assert texts(plot_tree(both)).count("linear") == 1
    fitted = ObliqueTreeRegressor(optimizer=None).fit(X, np.zeros((60, 2)))
    fitted.tree_ = both
    found = texts(plot_tree(fitted, X=X))
    assert {"1", "2"} <= set(found)
    # The slopes of a target are below its value.
    assert found[found.index(f"{2 + mean[2]:.3g}") + 1] == "1 × x2"
    assert "linear leaf: prediction at the mean of its samples" in found


def test_linear_leaves_of_several_targets(diabetes):
    X, y = diabetes
    tree = ObliqueTreeRegressor(0, leaf="linear", optimizer=None).fit(X, np.stack([y, -y], axis=1))
    ax = plot_tree(tree)
    found = texts(ax)
    values = [tree.tree_.values[0, k] + tree.tree_.slopes[0, k] @ X.mean(axis=0) for k in (0, 1)]
    places = [found.index(f"{value:.4g}".replace("-", "−")) for value in values]
    for place, slopes in zip(places, tree.tree_.slopes[0], strict=True):
        order = np.argsort(-np.abs(slopes) * X.std(axis=0))[:3]
        assert [text.split(" × ")[1] for text in found[place + 1:place + 4]] == [
            f"x{j}" for j in order]
        assert re.match(r"\+ 7 more", found[place + 4])
    assert "bar of a leaf to the right: larger values raise the prediction" in found
    assert len(plot_tree(tree, image_shape=(2, 5)).get_images()) == 2
    many = ObliqueTreeRegressor(0, leaf="linear", optimizer=None)
    many.fit(X, np.outer(y, np.arange(1, 6)))
    assert texts(plot_tree(many)).count("…") == 1


@pytest.fixture(scope="module")
def linear_digits(digits):
    """A tree with linear leaves, and its samples."""
    X, y = digits
    tree = ObliqueTreeClassifier(
        2, leaf=LinearLeaves(penalty=0.1), optimizer=None, random_state=0)
    return tree.fit(X[:300], y[:300]), X[:300], y[:300]


@pytest.mark.parametrize("arguments", [
    dict(), dict(image_shape=(8, 8)), dict(image_shape=(8, 8), X=True)])
def test_linear_leaves_show_what_their_samples_are(linear_digits, arguments):
    tree, X, y = linear_digits
    arguments = {name: X if value is True else value for name, value in arguments.items()}
    ax = plot_tree(tree, **arguments)
    found, leaf = texts(ax), tree.apply(X)
    assert tree.tree_.slopes.any(axis=(1, 2)).all()
    widths = [np.array([bar.get_width() for bar in bars])
              for bars in ax.containers if len(bars) == 10]
    for k in range(tree.get_n_leaves()):
        share = np.bincount(y[leaf == k], minlength=10) / np.sum(leaf == k)
        mean = tree.predict_proba(X)[leaf == k].mean(axis=0)
        np.testing.assert_allclose(mean, share, atol=0.05)
        if "X" not in arguments:
            assert any(np.allclose(each / each.sum(), mean, atol=1e-6) for each in widths)
            assert f"{100 * mean.max():.3g} %" in found
    assert "linear leaf: mean probabilities of its samples" in found


def test_a_linear_leaf_whose_samples_are_not_known_says_so(linear):
    for shape in (None, (2, 2)):
        assert "linear leaf: what it predicts depends on features" in texts(
            plot_tree(linear[0], image_shape=shape))
    constant = linear[0].replace(values=linear[0].values)
    assert not any("linear" in text for text in texts(plot_tree(constant, image_shape=(2, 2))))


def test_linear_leaves_show_which_classes_a_feature_tells_apart(linear):
    from matplotlib.colors import to_rgba

    X = linear[1]
    slopes = np.array([[1.0, 0.2, 7.0, 0.0], [4.0, -0.1, 7.0, 0.0], [-2.0, -0.3, 7.0, 0.5]])
    tree = Tree(np.zeros((0, 4)), [], [], [], np.zeros((1, 3)), slopes=slopes[None])
    ax = plot_tree(tree, X=X)
    contrast = (slopes - slopes.mean(axis=0)) * X.std(axis=0)
    order = np.argsort(-np.ptp(contrast, axis=0))[:3]      # the third slopes do not differ
    start = texts(ax).index("linear") + 1
    assert texts(ax)[start:start + 3] == [f"x{j}" for j in order]
    colors = [to_rgba(color) for color in class_colors(3)]
    ends_of_sides = contrast.argmin(axis=0), contrast.argmax(axis=0)
    for side, ends in zip(ax.containers[:2], ends_of_sides, strict=True):
        assert [bar.get_facecolor() for bar in side] == [colors[k] for k in ends[order]]
        width = np.array([bar.get_width() for bar in side])
        expected = contrast[ends[order], order] / np.abs(contrast).max()
        np.testing.assert_allclose(width, 3.5 * expected)
    assert "right, against the class on the left" in texts(ax)


# --- wrong arguments ----------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [
    dict(image_shape=4), dict(image_shape="ab"), dict(image_shape=(2.0, 2.0)),
    dict(image_shape=(1, 2, 2)),
    dict(feature_names=["a"]), dict(feature_names="abcd"), dict(feature_names=4),
    dict(class_names=["a"]), dict(max_depth=2.5), dict(max_depth="all"),
    dict(precision=0), dict(precision=1.5), dict(fontsize=0), dict(fontsize="small")])
def test_wrong_arguments_of_a_tree(classifier, arguments):
    (name,) = arguments
    with pytest.raises(ValueError, match=f"^{name} must be"):
        plot_tree(classifier, **arguments)


def test_a_figure_is_no_axes(classifier, plt):
    with pytest.raises(TypeError, match="ax must be matplotlib Axes or None, got Figure"):
        plot_tree(classifier, ax=plt.figure())


def test_a_limit_is_not_alone_in_a_line():
    tree = Tree([[1.0]], [5.5], [~0], [~1], np.eye(2))
    assert "≤ 5.5" in texts(plot_tree(tree, feature_names=["number vmail messages"]))


def test_the_key_does_not_take_a_branch_for_a_class():
    tree = Tree([[1.0, 1.0]], [0.0], [~0], [~1], np.eye(2))
    found = texts(plot_tree(tree, class_names=["no", "yes"]))
    assert "bar of a split to the right: larger values lead to the right" in found


def test_huge_values_and_names_of_several_lines(iris):
    X, y = iris
    model = ObliqueTreeRegressor(2, optimizer=None).fit(X, y)
    model.tree_ = Tree([[0.0, 0.0, 1.0, 0.0]], [2.0], [~0], [~1], [[-1.7e308], [1.7e308]])
    found = texts(plot_tree(model, X=X, filled=True, feature_names=["a", "b", "c\nd", "e"]))
    assert {"c\\nd ≤ 2", "−1.7e+308", "1.7e+308"} <= set(found)


def test_subtrees_of_images_have_their_frequent_classes(all_digits):
    X, y = all_digits
    model = ObliqueTreeClassifier(3, optimizer=None).fit(X, y)
    shown = texts(plot_tree(model, max_depth=2, image_shape=(8, 8), X=X))
    labels, n_internal = model.apply(X), model.tree_.n_internal
    stubs = [text for text in shown if text.startswith("… ")]
    assert stubs
    node = model.tree_.children_left[model.tree_.children_left[0]]
    leaves = {~child for child in (
        model.tree_.children_left[node], model.tree_.children_right[node])}
    assert n_internal > node > 0
    counts = np.bincount(y[np.isin(labels, list(leaves))])
    assert any(text.split(", ")[0] == str(counts.argmax()) for text in shown)


def test_models_that_hold_a_tree_are_refused():
    with pytest.raises(TypeError, match=r"not a model that holds one, got Holder$"):
        plot_tree(type("Holder", (), {"regressor_": None})())


def test_probabilities_near_one_are_not_one():
    X = np.repeat([0.0, 1.0], 5000)[:, None]
    y = np.where(np.arange(10000) % 5000 < 1 + 3 * X[:, 0], "fraud", "sale")
    with pytest.warns(UserWarning, match="All leaves predict 'sale'"):
        model = ObliqueTreeClassifier(1, optimizer=None).fit(X, y)
    for text in (export_text(model), str(model.explain(X[:1])[0])):
        assert "sale (0.9997)" in text
        assert "sale (0.999)" in text
    for text in (export_html(model), " ".join(texts(plot_tree(model)))):
        assert "99.97 %" in text
        assert "99.9 %" in text
