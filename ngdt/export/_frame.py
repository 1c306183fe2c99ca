"""Trees as data frames."""

import numpy as np
from scipy.special import entr

from ngdt._core.structure import child_ids, node_means, parents, sums_below
from ngdt._inspection.captions import captions_of
from ngdt._inspection.conditions import condition_of
from ngdt._inspection.path_constants import without_constants
from ngdt._inspection.pipelines import unwrap
from ngdt._util.arrays import group_matrix, power_of_two
from ngdt._util.optional import import_optional
from ngdt.export._parts import UNCERTAIN, leaf_lines, terms_to_show, writable


def export_frame(model, *, feature_names=None, n_terms="auto", X=None):
    """Export a tree as a data frame of pandas, with a row for each node and each leaf.

    Parameters
    ----------
    model : Tree, fitted estimator or Pipeline
        As for `export_text`.
    feature_names : sequence of str, default=None
        As for `export_text`.
    n_terms : int, None or "auto", default="auto"
        As for `export_text`.
    X : array-like, data frame or CSR matrix of shape (n_samples, n_features), default=None
        Samples to take for the training samples.

    Returns
    -------
    pandas.DataFrame
        Internal nodes come first, in the order of ``tree_``, then leaves: leaf ``j``, as `apply`
        returns it, is row ``n_internal + j``. The columns:

        ``node``, ``parent``
            Numbers of rows; -1 for the parent of the root.
        ``side``
            "left" or "right" of the parent, "" for the root.
        ``depth``
            Number of splits above.
        ``rule``
            Of a split, the condition that the samples of its left child meet, as `export_rules`
            writes it; of a leaf, what it predicts.
        ``samples``, ``weight``
            Number and total weight of the training samples; missing if they are not known.
        ``impurity``
            Entropy of the probabilities, in bits. For regression, the variance of the targets, over
            several their mean, from what `predict_quantiles` knows of them; missing for linear
            leaves, and if the targets are not known.
        ``prediction``
            The class or the value that is predicted, for a split on average over its samples, and
            for a linear leaf at their mean. For classification, the columns ``probability_`` and
            the class follow. Several targets have the columns ``prediction_0``, ``prediction_1``
            and so on instead or, where y was a data frame, ``prediction_`` and the name.
        ``is_leaf``
            True or False.

    Raises
    ------
    ImportError
        If pandas is not installed.

    See Also
    --------
    ngdt.pruning.prune_at : Turns splits into leaves, by their numbers.
    ngdt.pruning.set_leaves : Takes the predictions of leaves from a frame.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ngdt import ObliqueTreeClassifier
    >>> from ngdt.export import export_frame
    >>> iris = load_iris(as_frame=True)
    >>> tree = ObliqueTreeClassifier(max_depth=2, optimizer=None)
    >>> tree = tree.fit(iris.data, iris.target_names[iris.target])
    >>> frame = export_frame(tree)
    >>> print(frame[["parent", "side", "rule", "samples"]])
       parent   side                       rule  samples
    0      -1         petal length (cm) <= 2.45      150
    1       0  right   petal width (cm) <= 1.75      100
    2       0   left             setosa (0.987)       50
    3       1   left         versicolor (0.897)       54
    4       1  right          virginica (0.965)       46
    """
    pd = import_optional("pandas", "export_frame needs", "pandas")
    captions = captions_of(model, feature_names=feature_names, X=X)
    tree, inner = captions.tree, unwrap(model)[1]
    m, n = tree.n_internal, tree.n_internal + tree.n_leaves
    side = np.full(n, "", dtype=object)
    side[child_ids(tree)] = ["left", "right"]
    unknown, counts = pd.array([pd.NA] * n, dtype="Int64"), captions.n_node_samples
    columns = {
        "node": np.arange(n),
        "parent": parents(tree),
        "side": side,
        "depth": np.concatenate([tree.node_depths(), tree.leaf_depths()]),
        "rule": _rules(without_constants(captions), terms_to_show(n_terms, tree)),
        "samples": unknown if counts is None else counts,
        "weight": np.nan if counts is None else sums_below(tree, captions.leaf_weights)}
    means = captions.node_predictions()
    if captions.class_names is not None:
        columns["impurity"] = entr(means).sum(axis=1) / np.log(2.0)
        columns["prediction"] = _classes(inner, means, captions.node_classes(means))
    else:
        columns["impurity"] = np.nan if X is not None else _variances(captions, inner)
    columns |= zip(captions.prediction_columns, means.T, strict=True)
    return pd.DataFrame(columns | {"is_leaf": np.arange(n) >= m})


def _rules(captions, n_terms):
    """Conditions of the left children, then predictions of the leaves."""
    tree, rules = captions.tree, []
    for node in range(tree.n_internal):
        condition = condition_of(captions, node, n_terms)
        rules.append(f"{condition}{'' if condition.is_certain else UNCERTAIN}")
    rules += ["; ".join(leaf_lines(captions, leaf, n_terms)) for leaf in range(tree.n_leaves)]
    return list(map(writable, rules))


def _classes(model, means, best):
    """The most probable class of each node and leaf; None where it is not known."""
    is_known = ~np.isnan(means).any(axis=1)
    classes = np.asarray(getattr(model, "classes_", np.arange(means.shape[1])))
    found = classes[best]
    return found if is_known.all() else np.where(is_known, found, None)


def _variances(captions, model):
    """Variance of the targets of each node and leaf, averaged over the targets."""
    tree, quantiles = captions.tree, getattr(model, "_leaf_quantiles", None)
    if captions.leaf_weights is None or quantiles is None or tree.slopes is not None:
        return np.nan
    leaf, y, share = quantiles.samples()
    unit = float(power_of_two(np.abs(y).max()))     # squares of targets near 1 do not overflow
    y = y / unit
    by_leaf = group_matrix(leaf, tree.n_leaves)
    mean = by_leaf @ (share * y)
    within = by_leaf @ (share * (y - mean[leaf]) ** 2)
    at_root = node_means(tree, mean, captions.leaf_weights)[0]
    mean, within, between = (node_means(tree, each, captions.leaf_weights)
                             for each in (mean, within, (mean - at_root) ** 2))
    variances = np.maximum(within + between - (mean - at_root) ** 2, 0.0).mean(axis=1)
    with np.errstate(over="ignore"):
        return variances * unit * unit
