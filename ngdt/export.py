"""Text export of trees."""

from numbers import Integral

import numpy as np
from scipy.special import softmax

from ngdt._labels import class_names_of, feature_names_of, tree_of

__all__ = ["export_text"]


def export_text(
    model, *, feature_names=None, class_names=None, n_terms=5, digits=3, max_depth=None
):
    """Export a tree as text: nested conditions.

    Parameters
    ----------
    model : Tree or fitted estimator
        The tree to export. The leaf values of a `Tree` with two or more outputs are taken as
        unnormalized log-probabilities, as for the log loss.
    feature_names : sequence of str, default=None
        Names of the features. None takes ``feature_names_in_`` of the estimator.
    class_names : sequence, default=None
        Names of the classes. None takes ``classes_`` of the estimator.
    n_terms : int or None, default=5
        Number of features of a split that are written, largest weights first; the number of further
        ones is written after them. None writes all.
    digits : int, default=3
        Significant digits of numbers.
    max_depth : int or None, default=None
        Levels of splits to write. None writes all.

    Returns
    -------
    str
        A line for each condition, each ``else`` and each leaf. A leaf is written as its most
        probable class, with the probability, or for regression as its values.

    See Also
    --------
    ngdt.plotting.plot_tree : A plot of the tree.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import ObliqueTreeClassifier
    >>> from ngdt.export import export_text
    >>> iris = load_iris()
    >>> tree = ObliqueTreeClassifier(max_depth=2, optimizer=None)
    >>> tree = tree.fit(iris.data, iris.target_names[iris.target])
    >>> print(export_text(tree, feature_names=iris.feature_names))
    if petal length (cm) <= 2.45:
        setosa (0.987)
    else:
        if petal width (cm) <= 1.75:
            versicolor (0.897)
        else:
            virginica (0.965)
    """
    for name, value in (("n_terms", n_terms), ("digits", digits), ("max_depth", max_depth)):
        if value is None and name != "digits":
            continue
        if not isinstance(value, Integral) or value < 1:
            or_none = "" if name == "digits" else " or None"
            raise ValueError(f"{name} must be a positive int{or_none}, got {value!r}")
    tree = tree_of(model)
    features = feature_names_of(model, tree, feature_names)
    classes = class_names_of(model, tree, class_names)
    lines, stack = [], [(0, 0 if tree.n_internal else ~0)]
    while stack:    # an explicit stack: a chain may be deeper than Python's recursion limit
        depth, item = stack.pop()
        if item is None:
            text = "else:"
        elif item < 0:
            text = _leaf(tree.values[~item], classes, digits)
        elif depth == max_depth:
            text = "..."
        else:
            text = _condition(tree, item, features, n_terms, digits)
            right, left = tree.children_right[item], tree.children_left[item]
            stack += [(depth + 1, right), (depth, None), (depth + 1, left)]
        lines.append("    " * depth + text)
    return "\n".join(lines)


def _condition(tree, node, features, n_terms, digits):
    """The condition that samples of the left child meet."""
    weights, threshold = tree.dense_weights([node])[0], tree.thresholds[node]
    order = np.argsort(-np.abs(weights), kind="stable")[:np.count_nonzero(weights)]
    if len(order) == 1:
        weight = weights[order[0]]
        limit = threshold / weight + 0.0    # no negative zero
        return f"if {features[order[0]]} {'<=' if weight > 0 else '>='} {limit:.{digits}g}:"
    terms = " ".join(
        f"{'-' if weights[j] < 0 else '+'} {abs(weights[j]):.{digits}g} * {features[j]}"
        for j in order[:n_terms]) or "0"
    hidden = len(order[n_terms:]) if n_terms is not None else 0
    more = f" + {hidden} more" if hidden else ""
    return f"if {terms.removeprefix('+ ')}{more} <= {threshold + 0.0:.{digits}g}:"


def _leaf(values, classes, digits):
    if classes is None:
        return ", ".join(f"{value:.{digits}g}" for value in values)
    best = values.argmax()
    return f"{classes[best]} ({softmax(values)[best]:.{digits}g})"
