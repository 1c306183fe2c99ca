"""Bounds on a tree's loss and the searches behind them: Norouzi et al. (2015), sections 5 and 6.

The functions take a `Tree`, samples and targets, and return one value or one leaf per sample. They
run the same kernels as training, in float64, and accept any tree, trained or not.
"""

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.base import is_classifier

from ngdt._core.order import refute, refute_mean, refute_table, with_one_output
from ngdt._core.search import RADIUS, price_samples, search_samples
from ngdt._core.structure import reach_probabilities, shares_slopes
from ngdt._core.tree import Tree, check_is_tree
from ngdt._util.arrays import row_blocks
from ngdt._util.validation import check_matrix, check_weight, error_prefix
from ngdt.losses import get_loss

__all__ = [
    "InferenceResult",
    "SurrogateGradient",
    "cost_diminished_inference",
    "empirical_loss",
    "is_monotone",
    "loss_augmented_inference",
    "soft_predict_proba",
    "surrogate_gradient",
    "upper_bound",
]


# Probabilities that soft_predict_proba holds in memory at a time.
_SOFT_BLOCK = 2**21


class InferenceResult(NamedTuple):
    """Result of a search, sample by sample.

    Attributes
    ----------
    leaf : ndarray of int32, shape (n_samples,)
        The winning leaf.
    flips : CSR matrix of int8, shape (n_samples, n_internal)
        The decision (+1 right, -1 left) of every node that has to decide otherwise than sgn(Wx)
        for the sample to reach that leaf. Other nodes have no entry.
    bound : ndarray of shape (n_samples,)
        Loss of the leaf minus (cost-diminished inference: plus) the price of the flips.
    n_scored : ndarray of int32, shape (n_samples,)
        Node scores, dot products of length p, that the search computed.
    """

    leaf: np.ndarray
    flips: sparse.csr_matrix
    bound: np.ndarray
    n_scored: np.ndarray


class SurrogateGradient(NamedTuple):
    """Gradient of the weighted mean bound.

    Attributes
    ----------
    weights : ndarray of shape (n_internal, n_features)
    thresholds : ndarray of shape (n_internal,)
    values : ndarray of shape (n_leaves, n_outputs)
    """

    weights: np.ndarray
    thresholds: np.ndarray
    values: np.ndarray


def _radius(inference):
    if not isinstance(inference, str) or inference not in RADIUS:
        raise ValueError(f"inference must be one of {sorted(RADIUS)}, got {inference!r}")
    return RADIUS[inference]


def check_tree_and_samples(tree, X, y, loss):
    """Check that a tree, samples, targets and a loss fit together.

    Parameters
    ----------
    tree : Tree
    X : array-like or CSR matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
    loss : str or Loss

    Returns
    -------
    data : Samples
    y : ndarray of float64, shape (n_samples, n_targets)
        As `Loss.encode` returns them.
    loss : Loss
    X : ndarray or CSR matrix of shape (n_samples, n_features)

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid; the message names it.
    """
    check_is_tree(tree)
    X = check_matrix(X)
    data = tree.samples_of(X)
    loss = get_loss(loss)
    y = loss.encode(y, tree.n_outputs)
    if len(y) != X.shape[0]:
        raise ValueError(f"y has {len(y)} samples, but X has {X.shape[0]}")
    return data, y, loss, X


def _check_constant(tree):
    """Check that a tree has constant leaves, and return it."""
    if getattr(tree, "slopes", None) is not None:
        raise ValueError("tree must have constant leaves, but it has linear ones (slopes): train "
                         "it with leaf='constant'")
    return tree


def _check_assignment(assignment, tree, n_samples):
    with error_prefix("assignment"):
        assignment = np.asarray(assignment)
    is_leaf = assignment.dtype.kind in "iu" and np.isin(assignment, range(tree.n_leaves)).all()
    if assignment.shape != (n_samples,) or not is_leaf:
        raise ValueError(
            f"assignment must have the id of a leaf, an int in 0..{tree.n_leaves - 1}, for each of "
            f"the {n_samples} samples, got {assignment!r}")
    return np.ascontiguousarray(assignment, dtype=np.int32)


def empirical_loss(tree, X, y, *, loss="log_loss"):
    """Loss of the leaf that each sample reaches: Norouzi (2015), eq. (4), term by term.

    Parameters
    ----------
    tree : Tree
    X : array-like or CSR matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Class indices for classification losses, targets for regression losses.
    loss : str or Loss, default="log_loss"
        A key of `ngdt.losses.LOSSES`, or an instance.

    Returns
    -------
    ndarray of shape (n_samples,)

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid; the message names it.

    Examples
    --------
    >>> from ngdt import Tree
    >>> from ngdt.inference import empirical_loss
    >>> tree = Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [3.0]])
    >>> empirical_loss(tree, [[-1.0], [0.5]], [1.0, 1.0], loss="squared_error")
    array([1., 4.])
    """
    data, y, loss, _ = check_tree_and_samples(tree, X, y, loss)
    return loss.value(tree.leaf_predictions(tree.apply_samples(data), data), y)


def upper_bound(tree, X, y, *, loss="log_loss", inference="fast", assignment=None):
    """Upper bound on the loss of each sample.

    Parameters
    ----------
    tree : Tree
    X : array-like or CSR matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Class indices for classification losses, targets for regression losses.
    loss : str or Loss, default="log_loss"
    inference : {"fast", "full"}, default="fast"
        "full" is eq. (7) of Norouzi (2015), "fast" its restriction to one flipped decision,
        eq. (13). The loss is at most the fast bound, which is at most the full bound.
    assignment : array-like of int, shape (n_samples,), default=None
        Leaf ids. With them, the bound of eq. (14): the price of the path to the assigned leaf is
        added. None assigns each sample to the leaf that it reaches, for which the price is zero.

    Returns
    -------
    ndarray of shape (n_samples,)

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid; the message names it.

    Examples
    --------
    >>> from ngdt import Tree
    >>> from ngdt.inference import upper_bound
    >>> tree = Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [3.0]])
    >>> upper_bound(tree, [[0.5]], [3.0], loss="squared_error")     # loss 0, or 9 for a flip of 1
    array([8.])
    >>> upper_bound(tree, [[0.5]], [3.0], loss="squared_error", assignment=[0])
    array([9.])
    """
    data, y, loss, _ = check_tree_and_samples(_check_constant(tree), X, y, loss)
    bound = search_samples(tree, data, y, loss, 1, _radius(inference), True)[2]
    if assignment is not None:
        assignment = _check_assignment(assignment, tree, len(y))
        bound = bound + price_samples(tree, data, assignment)[0]
    return bound


def loss_augmented_inference(tree, X, y, *, loss="log_loss", inference="fast", prune=True):
    """Leaf with the largest loss minus price of its path: Norouzi (2015), section 6.

    Parameters
    ----------
    tree : Tree
    X : array-like or CSR matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Class indices for classification losses, targets for regression losses.
    loss : str or Loss, default="log_loss"
    inference : {"fast", "full"}, default="fast"
        Codes at most one flip away from sgn(Wx), or all codes.
    prune : bool, default=True
        Skip flips that cannot lead to the maximum. This changes `n_scored` only.

    Returns
    -------
    InferenceResult
        `bound` is `upper_bound` of the same inference.

    Notes
    -----
    Of equally good leaves, the one that the sample reaches without flips is returned, else the
    first one found; flips are tried in ascending order of their price.

    Examples
    --------
    >>> from ngdt import Tree
    >>> from ngdt.inference import loss_augmented_inference
    >>> tree = Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [3.0]])
    >>> result = loss_augmented_inference(tree, [[0.5]], [3.0], loss="squared_error")
    >>> result.leaf, result.flips.toarray(), result.bound
    (array([0], dtype=int32), array([[-1]], dtype=int8), array([8.]))
    """
    data, y, loss, _ = check_tree_and_samples(_check_constant(tree), X, y, loss)
    return InferenceResult(*search_samples(tree, data, y, loss, 1, _radius(inference), prune))


def cost_diminished_inference(tree, X, y, *, loss="log_loss", prune=True):
    """Leaf with the smallest loss plus price of its path, over all leaves.

    Deviation: not in the paper. It is the mirror image of loss-augmented inference, and the
    assignment rule "best" of `ngdt.optimizers.SSGD`.

    Parameters
    ----------
    tree : Tree
    X : array-like or CSR matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Class indices for classification losses, targets for regression losses.
    loss : str or Loss, default="log_loss"
    prune : bool, default=True
        Skip flips that cannot lead to the minimum. This changes `n_scored` only.

    Returns
    -------
    InferenceResult
        `bound` holds the smallest sum, never above the loss of the leaf that the sample reaches.

    Examples
    --------
    >>> from ngdt import Tree
    >>> from ngdt.inference import cost_diminished_inference
    >>> tree = Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [3.0]])
    >>> result = cost_diminished_inference(tree, [[0.5]], [0.0], loss="squared_error")
    >>> result.leaf, result.bound
    (array([0], dtype=int32), array([1.]))
    """
    data, y, loss, _ = check_tree_and_samples(_check_constant(tree), X, y, loss)
    return InferenceResult(*search_samples(tree, data, y, loss, -1, RADIUS["full"], prune))


def surrogate_gradient(
    tree, X, y, *, loss="log_loss", inference="fast", assignment=None, sample_weight=None
):
    """Gradient of the weighted mean of `upper_bound` with respect to splits and leaf values.

    Parameters
    ----------
    tree : Tree
    X : array-like or CSR matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Class indices for classification losses, targets for regression losses.
    loss : str or Loss, default="log_loss"
    inference : {"fast", "full"}, default="fast"
    assignment : array-like of int, shape (n_samples,), default=None
        Leaf ids, see `upper_bound`.
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    SurrogateGradient

    Notes
    -----
    Norouzi (2015), lines 6 and 10 of Algorithm 1: the gradient of the weight vector of node i is
    (g_i - h_i) x, where h follows the path to the assigned leaf. Among the leaf values, only the
    values of the loss-augmented leaf have a gradient. It is valid where the maximizer is unique and
    no score is zero; the fast bound also jumps if a sign off the current path changes.

    Examples
    --------
    >>> from ngdt import Tree
    >>> from ngdt.inference import surrogate_gradient
    >>> tree = Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [3.0]])
    >>> surrogate_gradient(tree, [[0.5]], [3.0], loss="squared_error").weights
    array([[-1.]])
    """
    data, y, loss, X = check_tree_and_samples(_check_constant(tree), X, y, loss)
    n = len(y)
    weight = check_weight(sample_weight, n)
    weight = weight / weight.sum()
    leaf, flips, _, _ = search_samples(tree, data, y, loss, 1, _radius(inference), True)
    coefficient = 2.0 * flips       # g_i - h_i = 2 g_i where they differ
    if assignment is not None:
        assignment = _check_assignment(assignment, tree, n)
        coefficient = coefficient - 2.0 * price_samples(tree, data, assignment)[1]
    coefficient = sparse.diags_array(weight) @ coefficient
    weights = coefficient.T @ X
    values = np.zeros(tree.values.shape)
    np.add.at(values, leaf, weight[:, None] * loss.values_gradient(tree.values[leaf], y))
    return SurrogateGradient(
        weights.toarray() if sparse.issparse(weights) else np.asarray(weights, dtype=np.float64),
        -np.asarray(coefficient.sum(axis=0)).ravel(), values)


def soft_predict_proba(tree, X, gamma):
    """Class probabilities if splits send samples right with probability sigmoid(gamma * score).

    Parameters
    ----------
    tree : Tree
        Its leaf values are taken as unnormalized log-probabilities.
    X : array-like or CSR matrix of shape (n_samples, n_features)
    gamma : float
        Steepness. As it grows, the probabilities approach hard routing.

    Returns
    -------
    ndarray of shape (n_samples, n_outputs)
        Hehn et al. (2020), eq. 2: the class probabilities of the leaves, weighted by the
        probabilities of reaching them.

    Examples
    --------
    >>> from ngdt import Tree
    >>> from ngdt.inference import soft_predict_proba
    >>> tree = Tree([[1.0]], [0.0], [~0], [~1], [[0.0, 9.0], [9.0, 0.0]])
    >>> soft_predict_proba(tree, [[0.0], [1.0], [2.0]], gamma=2.0).round(2)
    array([[0.5 , 0.5 ],
           [0.88, 0.12],
           [0.98, 0.02]])
    """
    if not (isinstance(gamma, Real) and 0 < gamma < np.inf):
        raise ValueError(f"gamma must be a positive, finite number, got {gamma!r}")
    check_is_tree(_check_constant(tree))
    X = check_matrix(X)
    leaves = softmax(tree.values, axis=1)
    out = np.empty((X.shape[0], tree.n_outputs))
    for block in row_blocks((len(out), 2 * tree.n_internal + 1), _SOFT_BLOCK):
        out[block] = reach_probabilities(tree, tree.scores(X[block]), gamma) @ leaves
    return out


def is_monotone(model, monotonic_cst=None, *, output=None):
    """Prove that predictions never fall where constrained features rise, or find where they do.

    Parameters
    ----------
    model : Tree, list of Tree, or fitted estimator
        With constant leaves, or linear ones that share their slopes; an estimator is
        a tree, a forest or boosting of ngdt. Trees in a list predict the mean of their values or,
        for two classes, of their probabilities.
    monotonic_cst : array-like of int or dict of int, default=None
        1 for features with which the output must not fall, -1 if it must not rise, 0 for others,
        which are held fixed. Of an estimator, columns of X, as for its parameter `monotonic_cst`,
        which is the default. Of a `Tree`, an entry for each of its features.
    output : int or None, default=None
        Column of the leaf values; of a classifier, the index of the class whose probability is
        meant. None takes the only column or, for two classes, the probability of the second one.

    Returns
    -------
    is_proved : bool or None
        True if no two samples that differ only in features of `monotonic_cst`, in their direction,
        have outputs out of order. False if the pair has. None if neither is known: see the notes.
    pair : tuple of two ndarrays of shape (n_features,), or None
        A sample, and one beyond it whose output is out of order. Of an estimator, as its `encode`
        returns them: rows of X, if all columns are numbers.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid; the message names it.

    Notes
    -----
    For pairs of leaves whose outputs are out of order, a linear program searches for samples that
    reach one leaf and, further on, the other one, unless splits on single features, or the split at
    which they part, exclude it. The time grows with the number of these pairs: at worst with the
    square of the number of leaves. Rounding errors may allow neither a proof nor a pair, nor may
    slopes that outweigh what the values of leaves differ by.

    The mean of several trees is proved to be monotone if each tree is. That suffices, but is not
    needed: a rise of one tree may outweigh the fall of another. Where a tree falls, the mean is
    followed from one sample of its pair to the other. If it falls on none of these ways, it is not
    known whether it is monotone.

    A proof holds for all values of the encoded features, also for those that no table has. The pair
    of an estimator is one of rows of a table, without missing values. Where the tree falls between
    samples that no table has, rows are searched for with the nearest categories alone.

    Examples
    --------
    >>> from ngdt import ObliqueTreeRegressor, Tree
    >>> from ngdt.inference import is_monotone
    >>> tree = Tree([[1.0, -1.0]], [0.0], [~0], [~1], [[2.0], [3.0]])
    >>> is_monotone(tree, [1, -1])
    (True, None)
    >>> is_proved, (low, high) = is_monotone(tree, [0, 1])
    >>> is_proved, tree.predict([low, high]).ravel().tolist()
    (False, [3.0, 2.0])
    >>> model = ObliqueTreeRegressor(1, monotonic_cst=[1], optimizer=None)
    >>> is_monotone(model.fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 1.0, 1.0]))
    (True, None)
    """
    if hasattr(model, "_summands"):
        trees, directions, tables = _of_estimator(model, monotonic_cst, output)
        is_log_odds = is_classifier(model) and output is None
    else:
        given = model if isinstance(model, list | tuple) else [model]
        trees = [_checked_tree(each, output) for each in given]
        directions = [_check_directions(monotonic_cst, each.n_features) for each in given]
        if not given:
            raise ValueError("model must be a tree, or a list of at least one, got an empty one")
        is_log_odds, tables = output is None and given[0].n_outputs == 2, [None]
    # Forests of boosting have encodings of their own, in which a sample of one may be none.
    are_alike = all(_features_of(each) == _features_of(tables[0]) for each in tables[1:])
    is_proved = True
    for k, (tree, direction) in enumerate(zip(trees, directions, strict=True)):
        is_each, pair = refute(tree, direction)
        is_proved = (is_proved and is_each) or None
        if pair is not None and tables[0] is not None:
            pair = refute_table(tree, direction, tables[0], pair) if are_alike else None
        if pair is not None and len(trees) > 1:
            pair = refute_mean(trees, k, pair, is_log_odds)
        if pair is not None:
            return False, tuple(pair)
    return is_proved, None


def _of_estimator(model, monotonic_cst, output):
    """Trees with one output whose mean is that of an estimator, their directions, the encodings."""
    parts, trees, directions = model._summands(), [], []
    n_trees = sum(len(part._trees()) for part in parts)
    for part in parts:
        direction, own = part._directions_of(monotonic_cst), part._trees()
        if monotonic_cst is None and not direction.any():
            raise ValueError(
                "monotonic_cst must be given, since that of the estimator has no directions")
        for tree in own:
            tree = _checked_tree(tree, output, is_classifier(part))
            # The sum of the means of forests is the mean of all trees, of which each counts more.
            trees.append(tree.replace(**{
                name: None if each is None else each * (n_trees / len(own))
                for name, each in tree.leaf_arrays().items()}))
            directions.append(direction)
    return trees, directions, [part._table for part in parts]


def _features_of(table):
    """The features of rows, without the values for unknown categories."""
    return [each._replace(fill=0.0) for each in table.features]


def _checked_tree(tree, output, is_of_classifier=False):
    """The tree with a single output, which is to be monotone."""
    if not isinstance(tree, Tree):
        raise TypeError(
            "model must be a Tree, a list of them, or a fitted tree, forest or boosting of ngdt, "
            f"got {type(tree).__name__}: pass the last step of a pipeline, the fitted estimator "
            "of a search, Tree.from_sklearn(model) of another tree")
    is_int = isinstance(output, Integral) and not isinstance(output, bool)
    if output not in range(tree.n_outputs) if is_int else output is not None or tree.n_outputs > 2:
        raise ValueError(
            f"output must be one of the outputs of the tree, 0..{tree.n_outputs - 1}, or None if "
            f"there are one or two, got {output!r}")
    # Probabilities of one of several classes, and differences of clipped columns, are not linear.
    is_linear = not is_of_classifier if output is not None else (
        tree.n_outputs == 1 or tree.ranges is None)
    if not (is_linear and shares_slopes(tree)):
        _check_constant(tree)
    return with_one_output(tree, output, is_of_classifier)


def _check_directions(monotonic_cst, n_features):
    with error_prefix("monotonic_cst"):
        cst = np.asarray(monotonic_cst)
    if cst.shape != (n_features,) or not np.isin(cst, [-1, 0, 1]).all():
        raise ValueError(
            f"monotonic_cst must have an entry -1, 0 or 1 for each of the {n_features} features of "
            f"the tree, got {cst.tolist()!r}")
    return cst.astype(np.int8)
