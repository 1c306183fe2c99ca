"""Trees as nested conditions."""

from ngdt._core.structure import traverse
from ngdt._estimators.base import ObliqueTree
from ngdt._inspection.conditions import first_condition
from ngdt._inspection.path_constants import readable_captions
from ngdt._inspection.pipelines import unwrap
from ngdt._util.text import wrapped
from ngdt._util.validation import check_counts
from ngdt.export._parts import (
    UNCERTAIN,
    leaf_block,
    notes_on_missing,
    notes_on_probabilities,
    terms_to_show,
    writable,
)


def export_text(
    model, *, feature_names=None, class_names=None, n_terms="auto", precision=None, max_depth=None,
    show_weights=True, X=None,
):
    """Export a tree as text: nested conditions.

    Conditions that show all their features send each training sample as the tree does. Their
    numbers have as many digits as this needs. Without training samples, as for a `Tree`, numbers
    are exact.

    A linear leaf is written as a formula, such as ``152 + 5.3 * (bmi - 26), within [25, 346]``. A
    round number near the mean in the leaf is subtracted from each feature. The first
    number is the prediction if all features have these values, and features that are not shown
    are at their means. Predictions are cut at the limits. For two classes, the formula is the
    log-odds of the second one. For more, there is a formula for the score of each class, and
    softmax of the scores gives the probabilities. A formula that shows all its features gives the
    prediction of the tree for each training sample, up to half a unit in the last of `precision`
    digits of the range of all predictions. Where a line would have more than 100 characters, and
    for a tree of one linear leaf, a table takes its place: the sum of a line for each feature,
    between the limits of the last two. Longer conditions are written in several lines. A sum that
    is repeated further below has a name, as in ``(sum_1 := 2 * a - 3 * b) <= 4``.

    Terms that the path to a leaf decides, such as a category that it rules out, are part of the
    first number. The condition of a split on categories lists them, whichever child they lead to.

    If a column had missing numbers in training, conditions on it say which way samples without a
    number go, and a last line has the means that replace missing numbers in sums. Another one has
    the means of the terms of a column for its missing or rare categories, if these have no term.

    Parameters
    ----------
    model : Tree, fitted estimator or Pipeline
        The tree to export. Of a pipeline or a search, it is the last step, in terms of the columns
        that the other steps make. If these steps end with scalers, such as StandardScaler, numbers
        are in the units of the columns before scaling. The leaf values of a `Tree` with two or more
        outputs are taken as unnormalized log-probabilities, as for the log loss.
    feature_names : sequence of str, default=None
        Names of the columns that the tree reads. None takes ``feature_names_in_`` of the estimator,
        or what the other steps of a pipeline call their columns.
    class_names : sequence, default=None
        Names of the classes. None takes ``classes_`` of the estimator.
    n_terms : int, None or "auto", default="auto"
        Number of features of a split or a linear leaf that are written, largest effects first. The
        effect is the absolute weight times the standard deviation of the feature in training;
        without training samples it is the absolute weight. The number of further features is
        written after them, with their share of the effect. None writes all. "auto" writes 5, and
        all of a tree of one linear leaf.
    precision : int or None, default=None
        Significant digits of numbers, of which conditions and formulas may need more. None stands
        for 3, and for exact numbers without training samples. If `precision` is given there,
        numbers are rounded, and a sample near a threshold may go another way.
    max_depth : int or None, default=None
        Levels of splits to write. None writes all.
    show_weights : bool, default=True
        Write the number of training samples of each leaf in brackets, if it is known.
    X : array-like, data frame or CSR matrix of shape (n_samples, n_features), default=None
        Samples to take for the training samples, as `model` reads them. None takes the samples of
        the last call of `fit` or `partial_fit`.

    Returns
    -------
    str
        In the order of the tree, each condition, ``else`` and leaf. Comments above say what the
        tree of an estimator is (`ObliqueTreeClassifier.kind_`), whether probabilities are shares of
        weights that differ, and whether those of some leaf were strongly shrunk (``shrinkage`` in
        `candidates_`). A leaf has its most
        probable class with the probability or, for regression, a value or formula for each target,
        and the number of its training samples. Formulas of several classes have a line each.

    See Also
    --------
    ngdt.plotting.plot_tree : A plot of the tree.

    Notes
    -----
    A comment marks a condition that some samples meet, or fail, by less than the rounding errors of
    a sum. With another order of the terms, these may go another way.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import ObliqueTreeClassifier
    >>> from ngdt.export import export_text
    >>> iris = load_iris()
    >>> tree = ObliqueTreeClassifier(max_depth=2, optimizer=None)
    >>> tree = tree.fit(iris.data, iris.target_names[iris.target])
    >>> print(export_text(tree, feature_names=iris.feature_names))
    # greedy tree: 3 leaves, depth 2
    if petal length (cm) <= 2.45:
        setosa (0.987) [50]
    else:
        if petal width (cm) <= 1.75:
            versicolor (0.897) [54]
        else:
            virginica (0.965) [46]
    """
    check_counts(precision=precision, max_depth=max_depth)
    captions = readable_captions(
        model, feature_names=feature_names, class_names=class_names, X=X)
    n_terms = terms_to_show(n_terms, captions.tree)
    estimator = unwrap(model)[1]
    lines = [f"# {estimator._outcome()}"] if isinstance(estimator, ObliqueTree) else []
    lines += [f"# {note}" for note in notes_on_probabilities(captions, estimator)]
    for type_, item, depth in traverse(captions.tree, max_depth, captions.right_first):
        indent = "    " * depth
        if type_ == "split":
            condition = first_condition(captions, item, n_terms, precision)
            lines += wrapped(f"if {condition}:", indent)
            lines[-1] += "" if condition.is_certain else UNCERTAIN
        elif type_ == "leaf":
            counts = captions.n_node_samples if show_weights else None
            counted = "" if counts is None else f" [{counts[captions.tree.n_internal + item]}]"
            lines += leaf_block(captions, item, n_terms, precision, counted, indent)
        elif type_ != "end":
            lines.append(f"{indent}{'else:' if type_ == 'else' else '...'}")
    for note in notes_on_missing(captions, n_terms):
        lines += wrapped(note, "# ")
    return writable("\n".join(lines))
