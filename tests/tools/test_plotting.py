"""Plots: what is drawn, not how it looks."""

import sys
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from helpers import complete_children
from ngdt import ObliqueTreeClassifier, ObliqueTreeRegressor, Tree, plotting
from ngdt.plotting._tree import _layout

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def memory():
    matplotlib.use("agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def classifier(iris):
    return ObliqueTreeClassifier(max_depth=3, optimizer=None, random_state=0).fit(*iris)


def complete(depth, n_features=6):
    """Complete tree of a depth, each node with weights of its own."""
    m = 2**depth - 1
    weights = np.arange(m * n_features, dtype=float).reshape(m, n_features)
    return Tree(weights, np.zeros(m), *complete_children(depth), np.eye(m + 1))


def stump_of_one_leaf():
    return Tree(np.empty((0, 6)), [], [], [], [[0.0, 1.0]])


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"ngdt\[plot\]"):
        plotting.plot_history({"loss": [1.0]})


def test_weights_as_images():
    tree = complete(2)
    axes = plotting.plot_weights(tree, shape=(2, 3))
    assert [ax.get_title() for ax in axes] == [
        "root", "left child of the root", "right child of the root"]
    for node, ax in enumerate(axes):
        image = ax.get_images()[0]
        np.testing.assert_array_equal(image.get_array().ravel(), tree.weights[node])
        low, high = image.get_clim()
        assert low == -high  # white means zero


def test_weights_as_bars_name_the_features():
    tree = Tree([[0.0, -3.0, 1.0]], [0.0], [~0], [~1], np.eye(2))
    (ax,) = plotting.plot_weights(tree, feature_names=["age", "income", "height"])
    assert [text.get_text() for text in ax.texts] == ["income", "height"]
    assert [bar.get_width() for bar in ax.patches] == [-1.0, pytest.approx(1 / 3)]


def test_bars_are_effects_and_the_rest_is_stated():
    X = np.random.default_rng(0).normal(size=(50, 7)) * 10.0 ** np.arange(7)
    weights = 0.1 ** np.arange(7) * [4, 1, -8, 1, 2, 1, -7]     # effects 4, 1, 8, ..., nearly
    tree = Tree([weights], [0.0], [~0], [~1], np.eye(2))
    effect = weights * X.std(axis=0)
    order = np.argsort(-abs(effect))
    rest = abs(effect[order[5:]]).sum() / abs(effect).sum()
    fitted = ObliqueTreeClassifier(init=tree, optimizer=None).fit(X, X @ weights > 0)
    for axes in (plotting.plot_weights(fitted), plotting.plot_weights(tree, X=X),
                 plotting.plot_tree(fitted).axes[1:2], plotting.plot_tree(tree, X=X).axes[1:2]):
        (ax,) = axes
        assert [text.get_text() for text in ax.texts] == [f"x{j}" for j in order[:5]]
        np.testing.assert_allclose([bar.get_width() for bar in ax.patches],
                                   effect[order[:5]] / abs(effect).max())
        assert ax.get_xlabel() == f"+ 2 more ({100 * rest:.0f} % of the effect)"
    (ax,) = plotting.plot_weights(tree)     # no samples, no effects
    assert [text.get_text() for text in ax.texts] == [f"x{j}" for j in range(5)]
    assert ax.get_xlabel() == "+ 2 more"


def test_conditions_of_plots_split_the_training_samples():
    year = np.arange(1990.0, 2030.0)[:, None]
    model = ObliqueTreeClassifier(1, optimizer=None).fit(year, year[:, 0] >= 2020)
    for ax in (plotting.plot_weights(model)[0], plotting.plot_tree(model).axes[1]):
        assert [text.get_text() for text in ax.texts] == ["x0\n> 2019"]


@pytest.mark.parametrize(("weight", "text"), [(2.0, "x1\n> 0.5"), (-2.0, "x1\n< -0.5")])
def test_axis_aligned_splits_are_written_out(weight, text):
    tree = Tree([[0.0, weight]], [1.0], [~0], [~1], np.eye(2))
    (ax,) = plotting.plot_weights(tree)
    assert [found.get_text() for found in ax.texts] == [text]


def test_children_that_are_leaves_are_left_out():
    assert len(plotting.plot_weights(complete(1))) == 1
    assert plotting.plot_weights(stump_of_one_leaf()) == []


def test_history_of_an_estimator(iris):
    tree = ObliqueTreeClassifier(max_depth=2, optimizer="ssgd", random_state=0).fit(*iris)
    lines = plotting.plot_history(tree).get_lines()
    assert {"upper bound", "training loss"} <= {line.get_label() for line in lines}


def test_history_of_a_greedy_tree_is_an_empty_plot(classifier):
    ax = plotting.plot_history(classifier)
    assert list(ax.get_lines()) == []
    assert [text.get_text() for text in ax.texts] == ["no loss was recorded"]


@pytest.mark.parametrize(("losses", "scale"), [([0.5, 0.1], "log"), ([0.5, 0.0], "linear")])
def test_a_loss_of_zero_is_drawn(losses, scale):
    assert plotting.plot_history({"loss": losses}).get_yscale() == scale


def test_tree_with_leaves_and_cut_off_subtrees():
    figure = plotting.plot_tree(complete(3), max_depth=2, shape=(2, 3))
    canvas, *axes = figure.axes
    assert len(axes) == 3  # the splits of two levels
    assert [text.get_text() for text in canvas.texts] == ["2\nleaves"] * 4
    assert len(canvas.get_lines()) == 6


@pytest.mark.parametrize("max_depth", [1, 3, 9])
def test_a_node_stands_above_the_middle_of_its_children(max_depth):
    tree = complete(3)
    places = _layout(tree, max_depth)
    for item, (x, depth) in places.items():
        if item >= 0 and depth < max_depth:
            left, right = places[tree.children_left[item]], places[tree.children_right[item]]
            assert left[0] < x < right[0]
            assert x == (left[0] + right[0]) / 2
            assert left[1] == right[1] == depth + 1
    assert len(set(places.values())) == len(places)


def test_tree_names_the_classes(iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])
    model = ObliqueTreeClassifier(max_depth=2, optimizer=None, random_state=0).fit(X, names[y])
    titles = {ax.get_title() for ax in plotting.plot_tree(model).axes}
    assert {"setosa", "versicolor"} <= titles


def test_tree_of_a_regressor_and_of_one_leaf(iris):
    X, y = iris
    model = ObliqueTreeRegressor(max_depth=2, optimizer=None, random_state=0).fit(X, y)
    texts = [text.get_text() for ax in plotting.plot_tree(model).axes for text in ax.texts]
    assert f"{model.tree_.values[0, 0]:.4g}" in texts
    years = ObliqueTreeRegressor(1, optimizer=None).fit(X, 1900 + y)
    assert len({ax.texts[0].get_text() for ax in plotting.plot_tree(years).axes[-2:]}) == 2
    assert len(plotting.plot_tree(stump_of_one_leaf()).axes) == 2


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_leaves_as_the_mean_of_their_images(form):
    tree = complete(2)
    X = np.random.default_rng(0).integers(0, 9, (20, 6)) - 4.0
    X = X[tree.apply(X) != 2]
    leaf = tree.apply(X)
    figure = plotting.plot_tree(tree, shape=(2, 3), X=form(X))
    drawn = {ax.get_title(): ax for ax in figure.axes if ax.get_title()}
    assert set(drawn) == {f"{j} ({np.sum(leaf == j)})" for j in range(4)}
    for j in np.unique(leaf):
        (image,) = drawn[f"{j} ({np.sum(leaf == j)})"].get_images()
        np.testing.assert_allclose(image.get_array(), X[leaf == j].mean(axis=0).reshape(2, 3))
    assert len(drawn["2 (0)"].get_images()) == 0     # no sample, no mean
    values = Tree(*[getattr(tree, name) for name in (
        "weights", "thresholds", "children_left", "children_right")], np.arange(4.0)[:, None])
    titles = {ax.get_title() for ax in plotting.plot_tree(values, shape=(2, 3), X=X).axes}
    assert f"3 ({np.sum(leaf == 3)})" in titles


def test_a_chain_deeper_than_the_recursion_limit():
    m = 2 * sys.getrecursionlimit()
    left = ~np.arange(m)
    right = np.r_[np.arange(1, m), ~m]
    tree = Tree(np.ones((m, 1)), np.zeros(m), left, right, np.zeros((m + 1, 1)))
    canvas = plotting.plot_tree(tree, max_depth=2).axes[0]
    assert [text.get_text() for text in canvas.texts] == [f"{m - 1}\nleaves"]


@pytest.mark.parametrize("estimator", [ObliqueTreeClassifier, ObliqueTreeRegressor])
def test_regions(iris, estimator):
    X, y = iris
    model = estimator(max_depth=2, optimizer=None, random_state=0).fit(X[:, :2], y)
    ax = plotting.plot_regions(model, X[:, :2], y, resolution=7)
    assert ax.get_images()[0].get_array().shape == (7, 7)
    assert len(ax.collections[0].get_offsets()) == len(X)


def test_wrong_arguments(classifier, iris):
    with pytest.raises(ValueError, match="shape"):
        plotting.plot_weights(classifier, shape=(3, 3))
    with pytest.raises(ValueError, match="nodes"):
        plotting.plot_weights(classifier, nodes=[99])
    with pytest.raises(ValueError, match="max_depth"):
        plotting.plot_tree(classifier, max_depth=0)
    for plot in (plotting.plot_tree, plotting.plot_weights):
        with pytest.raises(ValueError, match="X has 2 features"):
            plot(classifier, X=iris[0][:, :2])
    with pytest.raises(ValueError, match="two features"):
        plotting.plot_regions(classifier, iris[0])
    for model in (3, GaussianNB().fit(*iris)):
        with pytest.raises(TypeError, match="model must be a Tree"):
            plotting.plot_tree(model)
    with pytest.raises(TypeError, match=r"DecisionTreeClassifier: convert it by Tree.from"):
        plotting.plot_tree(DecisionTreeClassifier().fit(*iris))
    with pytest.raises(TypeError, match="history must be"):
        plotting.plot_history(3)
    with pytest.raises(TypeError, match="path must be"):
        plotting.plot_path(classifier)


@pytest.mark.parametrize("arguments", [
    dict(shape=4), dict(shape="ab"), dict(shape=(2.0, 2.0)), dict(shape=(1, 2, 2)),
    dict(feature_names=["a"]), dict(feature_names="abcd"), dict(feature_names=4),
    dict(class_names=["a"]), dict(max_depth=2.5), dict(max_depth="all")])
def test_wrong_arguments_of_a_tree(classifier, arguments):
    (name,) = arguments
    with pytest.raises(ValueError, match=f"^{name} must be"):
        plotting.plot_tree(classifier, **arguments)


@pytest.mark.parametrize("arguments", [
    dict(nodes=0), dict(nodes=[0.5]), dict(nodes=[-1]), dict(nodes=["root"]), dict(axes=[])])
def test_wrong_arguments_of_weights(classifier, arguments):
    (name,) = arguments
    with pytest.raises(ValueError, match=f"^{name} must be"):
        plotting.plot_weights(classifier, **arguments)


def test_wrong_arguments_of_regions(iris):
    X, y = iris[0][:, :2], iris[1]
    model = ObliqueTreeClassifier(1, optimizer=None).fit(X, y)
    with pytest.raises(TypeError, match="model must be a fitted estimator"):
        plotting.plot_regions(model.tree_, X)
    with pytest.raises(ValueError, match=r"y must have shape \(150,\)"):
        plotting.plot_regions(model, X, y[:3])
    for resolution in (0, 1, 7.5):
        with pytest.raises(ValueError, match="resolution must be"):
            plotting.plot_regions(model, X, resolution=resolution)
    several = ObliqueTreeRegressor(1, optimizer=None).fit(X, X)
    with pytest.raises(ValueError, match="model must predict one target"):
        plotting.plot_regions(several, X)


def test_names_are_those_of_the_data_frame(iris):
    pandas = pytest.importorskip("pandas")
    X, y = pandas.DataFrame(iris[0][:, :2], columns=["length", "a name that is too long"]), iris[1]
    model = ObliqueTreeClassifier(2, optimizer=None, init="co2").fit(X, y)
    (ax, *_) = plotting.plot_weights(model)
    assert {text.get_text() for text in ax.texts} == {"length", "a name t…too long"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ax = plotting.plot_regions(model, X, y, resolution=7)
    assert (ax.get_xlabel(), ax.get_ylabel()) == tuple(X.columns)


def test_a_single_axes_will_do(classifier):
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    assert plotting.plot_weights(classifier, nodes=[0], axes=ax) == [ax]


def test_no_depth_is_every_depth():
    figure = plotting.plot_tree(complete(5, n_features=1), max_depth=None)
    assert len(figure.axes) == 1 + 31 + 32


def test_lines_end_above_the_leaves(classifier):
    canvas = plotting.plot_tree(classifier).axes[0]
    places = _layout(classifier.tree_, 3)
    leaves = {place for item, place in places.items() if item < 0}
    for line in canvas.get_lines():
        x, depth = line.get_xydata()[1]
        assert all(depth < leaf_depth - 0.25 for leaf_x, leaf_depth in leaves if leaf_x == x)
    with pytest.raises(TypeError, match="model"):
        plotting.plot_tree(3)


# --- linear leaves ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def linear():
    """A stump with a constant leaf and a linear one on four features, and samples."""
    X = np.random.default_rng(0).normal(size=(60, 4)) * [1.0, 10.0, 1.0, 1.0] + [0.0, 0.0, 2.0, 0.0]
    slopes = np.zeros((2, 1, 4))
    slopes[1, 0] = [-2.0, 1.0, 0.5, 0.3]
    tree = Tree([[1.0, 0.0, 0.0, 0.0]], [0.0], [~0], [~1], [[7.0], [3.0]], slopes=slopes,
                ranges=[[[0.0, 5.0]], [[-40.0, 40.0]]])
    return tree, X


def leaves_of(figure):
    """The axes of the leaves; those of the branches and of splits come before them."""
    return figure.axes[2:]


def test_slopes_of_linear_leaves_are_bars(linear):
    tree, X = linear
    effect = tree.slopes[1, 0] * X.std(axis=0)
    order = np.argsort(-np.abs(effect))
    constant, leaf = leaves_of(plotting.plot_tree(tree, X=X))
    assert [text.get_text() for text in constant.texts] == ["5"]
    assert [text.get_text() for text in leaf.texts] == [f"x{j}" for j in order[:3]]
    np.testing.assert_allclose(
        [bar.get_width() for bar in leaf.patches], effect[order[:3]] / np.abs(effect).max())
    share = abs(effect[order[3]]) / np.abs(effect).sum()
    assert leaf.get_xlabel() == f"+ 1 more ({100 * share:.0f} % of the effect)"
    mean = X[tree.apply(X) == 1].mean(axis=0)
    assert float(leaf.get_title()) == pytest.approx(3.0 + tree.slopes[1, 0] @ mean, abs=0.01)


def test_a_legend_explains_the_slopes():
    tree = complete(3)
    tree = tree.replace(values=np.ones((8, 1)), slopes=np.ones((8, 1, 6)))
    for shape in (None, (2, 3)):
        legend = plotting.plot_tree(tree, shape=shape).axes[0].get_legend()
        assert [text.get_text() for text in legend.get_texts()] == [
            "negative weight: left or lower", "positive weight: right or higher"]


def test_linear_leaves_without_samples(linear):
    tree, _ = linear
    _, leaf = leaves_of(plotting.plot_tree(tree))
    assert leaf.get_title() == "linear"
    assert [text.get_text() for text in leaf.texts] == ["x0", "x1", "x2"]


def test_slopes_as_images(linear):
    tree, X = linear
    _, leaf = leaves_of(plotting.plot_tree(tree, shape=(2, 2)))
    np.testing.assert_array_equal(leaf.get_images()[0].get_array(), [[-2.0, 1.0], [0.5, 0.3]])
    # Means of images come first.
    _, leaf = leaves_of(plotting.plot_tree(tree, shape=(2, 2), X=X))
    mean = X[tree.apply(X) == 1].mean(axis=0)
    np.testing.assert_allclose(leaf.get_images()[0].get_array().ravel(), mean)
    fitted = ObliqueTreeRegressor(init=tree, optimizer=None).fit(X, tree.predict(X))
    _, leaf = leaves_of(plotting.plot_tree(fitted, shape=(2, 2), X=X))
    assert leaf.get_title().endswith(f" ({(tree.apply(X) == 1).sum()})")
    assert float(leaf.get_title().split()[0]) == pytest.approx(
        fitted.predict(X)[tree.apply(X) == 1].mean(), abs=0.05)


def test_linear_leaves_of_several_targets(linear):
    tree, X = linear
    both = Tree(tree.weights, tree.thresholds, [~0], [~1], [[1.0, 2.0]] * 2,
                slopes=[[[0.0] * 4] * 2, [[0.0] * 4, [0.0, 0.0, 1.0, 0.0]]])
    fitted = ObliqueTreeRegressor(optimizer=None).fit(X, np.zeros((60, 2)))
    fitted.tree_ = both
    for leaf, axes in enumerate(leaves_of(plotting.plot_tree(fitted, X=X))):
        mean = X[tree.apply(X) == leaf].mean(axis=0)
        (text,) = axes.texts
        np.testing.assert_allclose(
            [float(line) for line in text.get_text().splitlines()],
            [1.0, 2.0 + leaf * mean[2]], atol=0.01)
    # Of a tree alone, outputs are those of classes.
    constant, leaf = leaves_of(plotting.plot_tree(both, X=X))
    mean = X[X[:, 0] > 0].mean(axis=0)
    p = 1 / (1 + np.exp(-(1.0 + mean[2])))
    np.testing.assert_allclose([bar.get_height() for bar in leaf.patches], [1 - p, p])
    assert [axes.get_title() for axes in (constant, leaf)] == ["1", "1, linear"]
    constant, leaf = leaves_of(plotting.plot_tree(both))
    assert len(constant.patches) == 2
    assert leaf.texts[0].get_text() == "linear"
    image = leaves_of(plotting.plot_tree(both, X=X, shape=(2, 2)))[1]
    assert image.get_title().startswith("linear (")


def test_regions_of_linear_leaves_vary_within_a_leaf():
    X = np.random.default_rng(0).normal(size=(60, 2))
    slopes = [[[1.0, 0.0]], [[0.0, 2.0]]]
    tree = Tree([[1.0, 0.0]], [0.0], [~0], [~1], [[0.0], [1.0]], slopes=slopes)
    fitted = ObliqueTreeRegressor(init=tree, optimizer=None).fit(X, tree.predict(X)[:, 0])
    image = plotting.plot_regions(fitted, X, resolution=8).get_images()[0].get_array()
    assert len(np.unique(image.round(9))) == 4 + 8
