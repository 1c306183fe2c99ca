"""Plots: their contents, not their looks."""

import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from helpers import complete_tree
from ngdt import (
    ObliqueForestClassifier,
    ObliqueTreeClassifier,
    TAOPathCV,
    Tree,
    plotting,
    tao_path,
)

matplotlib = pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("plt")


@pytest.fixture(scope="module")
def classifier(iris):
    return ObliqueTreeClassifier(max_depth=3, optimizer=None, random_state=0).fit(*iris)


def stump_of_one_leaf():
    return Tree(np.empty((0, 6)), [], [], [], [[0.0, 1.0]])


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"ngdt\[plot\]"):
        plotting.plot_history({"loss": [1.0]})


def test_weights_as_images():
    tree = complete_tree(2)
    axes = plotting.plot_weights(tree, (2, 3))
    assert [ax.get_title() for ax in axes] == [
        "root", "left child of the root", "right child of the root"]
    for node, ax in enumerate(axes):
        image = ax.get_images()[0]
        np.testing.assert_array_equal(image.get_array().ravel(), tree.weights[node])
        low, high = image.get_clim()
        assert low == -high  # white means zero


@pytest.mark.parametrize(("weight", "text"), [(2.0, "x1 ≤ 0.5"), (-2.0, "x1 ≥ −0.5")])
def test_axis_aligned_splits_are_written_out(weight, text):
    tree = Tree([[0.0, weight]], [1.0], [~0], [~1], np.eye(2))
    assert text in [found.get_text() for found in plotting.plot_tree(tree).texts]


def test_children_that_are_leaves_are_left_out():
    assert len(plotting.plot_weights(complete_tree(1), (2, 3))) == 1
    assert plotting.plot_weights(stump_of_one_leaf(), (2, 3)) == []


def test_history_of_an_estimator(iris):
    tree = ObliqueTreeClassifier(max_depth=2, optimizer="ssgd", random_state=0).fit(*iris)
    lines = plotting.plot_history(tree).get_lines()
    assert {"upper bound", "training loss"} <= {line.get_label() for line in lines}


def test_history_of_the_tree_in_a_pipeline_or_a_search(iris):
    tree = ObliqueTreeClassifier(max_depth=1, optimizer="ssgd", random_state=0)
    for model in (make_pipeline(StandardScaler(), tree), GridSearchCV(tree, {}, cv=2),
                  TAOPathCV(ObliqueTreeClassifier(
                      1, optimizer="tao", validation_fraction=None), Cs=1, cv=2)):
        assert plotting.plot_history(model.fit(*iris)).get_lines()


def test_history_of_a_greedy_tree_is_an_empty_plot(classifier):
    ax = plotting.plot_history(classifier)
    assert list(ax.get_lines()) == []
    assert [text.get_text() for text in ax.texts] == ["no loss was recorded"]


@pytest.mark.parametrize(("losses", "scale"), [([0.5, 0.1], "log"), ([0.5, 0.0], "linear")])
def test_a_loss_of_zero_is_drawn(losses, scale):
    assert plotting.plot_history({"loss": losses}).get_yscale() == scale


@pytest.mark.parametrize("losses", [[0.5, 0.2, 0.1], [0.5, 0.2, 0.0]])
@pytest.mark.parametrize("scale", ["linear", "log"])
def test_epochs_are_whole_on_any_axis(losses, scale, plt):
    _, ax = plt.subplots()
    ax.set_xscale(scale)
    ticks = plotting.plot_history({"loss": losses}, ax=ax).get_xticks()
    assert {1.0, 2.0, 3.0} <= set(ticks)
    assert (ticks == np.rint(ticks)).all()


def test_wrong_arguments(classifier, iris):
    for shape in ((3, 3), (-2, -2)):
        with pytest.raises(ValueError, match="image_shape must"):
            plotting.plot_weights(classifier, shape)
    with pytest.raises(ValueError, match="nodes"):
        plotting.plot_weights(classifier, (2, 2), nodes=[99])
    with pytest.raises(ValueError, match="max_depth"):
        plotting.plot_tree(classifier, max_depth=0)
    with pytest.raises(ValueError, match="X has 2 features"):
        plotting.plot_tree(classifier, X=iris[0][:, :2])
    for model in (3, GaussianNB().fit(*iris)):
        with pytest.raises(TypeError, match="model must be a Tree"):
            plotting.plot_tree(model)
    with pytest.raises(TypeError, match=r"DecisionTreeClassifier: convert it by Tree.from"):
        plotting.plot_tree(DecisionTreeClassifier().fit(*iris))
    forest = ObliqueForestClassifier(2, optimizer=None).fit(*iris)
    for history, hint in ((3, "int$"), (GaussianNB().fit(*iris), "GaussianNB$"),
                          (forest, "ForestClassifier$")):
        with pytest.raises(TypeError, match=rf"^history must be .*{hint}"):
            plotting.plot_history(history)
    with pytest.raises(NotFittedError):
        plotting.plot_history(ObliqueTreeClassifier())
    with pytest.raises(TypeError, match="path must be"):
        plotting.plot_path(classifier)
    with pytest.raises(TypeError, match=r"explanation must be that .*, got ObliqueTree"):
        plotting.plot_explanation(classifier)


def test_axes_of_another_kind(classifier, iris):
    (explanation,) = classifier.explain(iris[0][:1])
    for got, plot in {
            "float": lambda: plotting.plot_history({"loss": [1.0]}, ax=0.5),
            "int": lambda: plotting.plot_weights(classifier, (2, 2), nodes=[0], ax=1),
            "Figure": lambda: plotting.plot_explanation(
                explanation, ax=matplotlib.figure.Figure()),
            "NoneType": lambda: plotting.plot_path(tao_path(*iris, Cs=1), ax=[None] * 4)}.items():
        with pytest.raises(TypeError, match=f"^ax must be matplotlib Axes or None, got {got}"):
            plot()


@pytest.mark.parametrize("arguments", [
    dict(nodes=0), dict(nodes=[0.5]), dict(nodes=[-1]), dict(nodes=["root"]), dict(ax=[])])
def test_wrong_arguments_of_weights(classifier, arguments):
    (name,) = arguments
    with pytest.raises(ValueError, match=f"^{name} must be"):
        plotting.plot_weights(classifier, (2, 2), **arguments)


def test_a_single_axes_will_do(classifier, plt):
    _, ax = plt.subplots()
    assert plotting.plot_weights(classifier, (2, 2), nodes=[0], ax=ax) == [ax]


def test_no_two_labels_of_a_path_are_side_by_side(iris, plt):
    """The splits on the right of the sizes, and the length on the left of the next panel."""
    errors, sizes, lengths, multiplications = plotting.plot_path(tao_path(*iris, Cs=[1.0, 0.1]))
    assert lengths.get_legend() is not None
    assert multiplications.get_legend() is None     # the same
    figure = errors.figure
    figure.draw_without_rendering()
    (splits,) = {*figure.axes} - {errors, sizes, lengths, multiplications}
    left, right = (ax.yaxis.label.get_window_extent() for ax in (splits, lengths))
    assert right.x0 - left.x1 > left.width
