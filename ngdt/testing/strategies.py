"""Hypothesis strategies for trees, losses and data.

All arguments are keyword-only strategies: ``trees(n_features=st.just(4))``
draws trees with four features. Trees shrink to a single leaf, or to a stump if the test needs a
split, and numbers to zero.

Numbers are *dyadic* by default: small integers over a power of two. Scores, prices and squared
errors of such numbers have no rounding error, in any order of summation, so that a test may compare
with ``==``. The hard cases of a decision tree are frequent among them: scores of exactly zero, ties
and equal samples. Pass ``elements=st.floats(-1e3, 1e3)`` for other numbers.

Once this module is imported, ``st.from_type`` draws an `ngdt.Tree` or an `ngdt.losses.Loss`, too.
"""

from math import ldexp
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from ngdt._core.loss import Loss
from ngdt._core.tree import Tree
from ngdt.losses import LOSSES

__all__ = [
    "Dataset", "TreeProblem", "assignments", "datasets", "dyadics", "losses", "problems", "samples",
    "targets", "trees"]

_NUMERATORS = st.integers(-8, 8)
_EXPONENTS = st.just(-1)


def dyadics(*, numerators=_NUMERATORS, exponents=_EXPONENTS):
    """Numbers ``numerator * 2**exponent``, whose sums and products have no rounding error.

    Parameters
    ----------
    numerators : strategy of int
        Small integers.
    exponents : strategy of int
        Powers of two. Sums stay exact while the exponents of one draw are close together.

    Returns
    -------
    strategy of float

    Examples
    --------
    >>> from hypothesis import find
    >>> from ngdt.testing.strategies import dyadics
    >>> find(dyadics(), lambda number: number > 1)
    1.5
    """
    return st.builds(ldexp, numerators, exponents)


# As dyadics(), in half the time: one draw per number instead of three.
DYADICS = _NUMERATORS.map(lambda numerator: numerator / 2)
SIZES = st.integers(1, 3)
N_INTERNAL = st.integers(0, 6)
N_SAMPLES = st.integers(1, 4)
DTYPES = st.sampled_from([np.float64, np.float32])
SPARSE = st.booleans()
NEVER = st.just(False)
SCALES = st.sampled_from([1.0, 2.0**-40, 2.0**40])
_LOSS_NAMES = st.sampled_from(list(LOSSES))


def losses(*, names=_LOSS_NAMES):
    """Losses of `ngdt.losses.LOSSES`, with their default parameters.

    Parameters
    ----------
    names : strategy of str

    Returns
    -------
    strategy of Loss

    Examples
    --------
    >>> from hypothesis import find
    >>> from ngdt.testing.strategies import losses
    >>> find(losses(), lambda loss: not loss.is_classifier)
    SquaredLoss()
    """
    return names.map(lambda name: LOSSES[name]())


DEFAULT_LOSSES = losses()


class Dataset(NamedTuple):
    """Samples, targets and a loss, as `datasets` draws them.

    Attributes
    ----------
    X : ndarray or CSR array of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    loss : Loss
        A loss for targets such as `y`.
    """

    X: Any
    y: np.ndarray
    loss: Loss


@st.composite
def samples(
    draw, *, n_samples=N_SAMPLES, n_features=SIZES, elements=DYADICS, dtypes=DTYPES, sparse=SPARSE,
):
    """Data matrices.

    Parameters
    ----------
    n_samples, n_features : strategy of int
    elements : strategy of float
        Entries; rounded to the dtype. Many are zero.
    dtypes : strategy of dtype
        float32 or float64.
    sparse : strategy of bool
        True for a CSR array.

    Returns
    -------
    strategy of ndarray or csr_array, shape (n_samples, n_features)

    Examples
    --------
    >>> from hypothesis import find
    >>> from ngdt.testing.strategies import samples
    >>> find(samples(), lambda X: X.max() > 1)
    array([[1.5]])
    """
    shape = draw(n_samples), draw(n_features)
    X = draw(arrays(np.float64, shape, elements=elements)).astype(draw(dtypes))
    return csr_array(X) if draw(sparse) else X


@st.composite
def targets(draw, *, losses=DEFAULT_LOSSES, n_samples=N_SAMPLES, n_outputs=SIZES, elements=DYADICS):
    """Targets for a loss: class indices, or targets for regression.

    Parameters
    ----------
    losses : strategy of Loss
    n_samples : strategy of int
    n_outputs : strategy of int
        Number of classes, or of regression targets.
    elements : strategy of float
        Regression targets. A loss of targets that are not negative gets the absolute values.

    Returns
    -------
    strategy of ndarray, shape (n_samples,) or (n_samples, n_outputs)

    Examples
    --------
    >>> from hypothesis import find
    >>> from hypothesis import strategies as st
    >>> from ngdt.losses import LogLoss
    >>> from ngdt.testing.strategies import targets
    >>> find(targets(losses=st.just(LogLoss())), lambda y: len(set(y)) == 2)
    array([0, 1])
    """
    loss, n, k = draw(losses), draw(n_samples), draw(n_outputs)
    if loss.is_classifier:
        return draw(arrays(np.int64, n, elements=st.integers(0, k - 1)))
    shape = n if k == 1 and draw(st.booleans()) else (n, k)
    if loss.has_log_link:
        elements = elements.map(abs)
    return draw(arrays(np.float64, shape, elements=elements))


@st.composite
def assignments(draw, *, n_leaves=SIZES, n_samples=N_SAMPLES):
    """Leaf ids, one per sample: an assignment for the bound of `ngdt.inference.upper_bound`.

    Parameters
    ----------
    n_leaves, n_samples : strategy of int

    Returns
    -------
    strategy of ndarray of int32, shape (n_samples,)

    Examples
    --------
    >>> from hypothesis import find
    >>> from ngdt.testing.strategies import assignments
    >>> find(assignments(), lambda leaf: leaf.max() > 1)
    array([2], dtype=int32)
    """
    n, n_leaves = draw(n_samples), draw(n_leaves)
    return draw(arrays(np.int32, n, elements=st.integers(0, n_leaves - 1)))


@st.composite
def datasets(
    draw, *, losses=DEFAULT_LOSSES, n_samples=N_SAMPLES, n_features=SIZES, n_outputs=SIZES,
    elements=DYADICS, dtypes=DTYPES, sparse=SPARSE,
):
    """Samples with targets, as `fit` of an estimator takes them.

    Parameters
    ----------
    losses : strategy of Loss
        Decides between classification and regression.
    n_samples, n_features, n_outputs : strategy of int
    elements : strategy of float
        Entries of the samples and regression targets.
    dtypes : strategy of dtype
        Dtypes of the samples.
    sparse : strategy of bool

    Returns
    -------
    strategy of Dataset

    Examples
    --------
    >>> from hypothesis import find
    >>> from ngdt.testing.strategies import datasets
    >>> X, y, loss = find(datasets(), lambda dataset: dataset.loss.is_classifier)
    >>> X, y, loss
    (array([[0.]]), array([0]), LogLoss(pseudo_count=1))
    """
    n, loss = st.just(draw(n_samples)), draw(losses)
    X = draw(samples(
        n_samples=n, n_features=n_features, elements=elements, dtypes=dtypes, sparse=sparse))
    y = draw(targets(losses=st.just(loss), n_samples=n, n_outputs=n_outputs, elements=elements))
    return Dataset(X, y, loss)


@st.composite
def _shapes(draw, n_internal):
    """Children of a tree, of every shape and every numbering with parents before children."""
    m = draw(n_internal)
    children = np.zeros((2, m), dtype=np.int32)
    # Slots are the missing children of the nodes so far. Always taking the first gives a balanced
    # tree, always taking the last a chain.
    slots = [(side, 0) for side in range(2 if m else 0)]
    for node in range(1, m):
        side, parent = slots.pop(draw(st.integers(0, len(slots) - 1)))
        children[side, parent] = node
        slots += [(0, node), (1, node)]
    for (side, parent), leaf in zip(slots, draw(st.permutations(range(m + 1))), strict=False):
        children[side, parent] = ~leaf
    return children


@st.composite
def trees(
    draw, *, n_internal=N_INTERNAL, n_features=SIZES, n_outputs=SIZES, elements=DYADICS,
    sparse_weights=NEVER, linear_leaves=NEVER,
):
    """Trees of every shape: single leaves, stumps, chains, balanced trees, with dead branches.

    Parameters
    ----------
    n_internal : strategy of int
        Number of internal nodes.
    n_features, n_outputs : strategy of int
    elements : strategy of float
        Entries of the weights, thresholds, leaf values, slopes and ranges. Many weights are zero.
    sparse_weights : strategy of bool
        True for a tree with sparse weights; always False by default.
    linear_leaves : strategy of bool
        True for a tree with linear leaves, of which some have no slopes, and with ranges or none;
        always False by default.

    Returns
    -------
    strategy of Tree

    Examples
    --------
    >>> from hypothesis import find
    >>> from ngdt.testing.strategies import trees
    >>> find(trees(), lambda tree: tree.n_internal > 0)
    Tree(n_internal=1, n_leaves=2, n_features=1, n_outputs=1, max_depth=1)
    """
    left, right = draw(_shapes(n_internal))
    m, p, k = len(left), draw(n_features), draw(n_outputs)
    tree = Tree(
        weights=draw(arrays(np.float64, (m, p), elements=elements)),
        thresholds=draw(arrays(np.float64, m, elements=elements)),
        children_left=left, children_right=right,
        values=draw(arrays(np.float64, (m + 1, k), elements=elements)))
    if draw(linear_leaves):
        slopes = draw(arrays(np.float64, (m + 1, k, p), elements=elements))
        is_linear = draw(arrays(np.bool_, m + 1))
        ranges = np.sort(draw(arrays(np.float64, (m + 1, k, 2), elements=elements)))
        tree = tree.replace(
            values=tree.values, slopes=slopes * is_linear[:, None, None],
            ranges=ranges if draw(st.booleans()) else None)
    return tree.sparsify() if draw(sparse_weights) else tree


class TreeProblem(NamedTuple):
    """A tree, samples, targets and a loss: the arguments of the functions in `ngdt.inference`.

    Attributes
    ----------
    tree : Tree
    X : ndarray or CSR array of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    loss : Loss
    """

    tree: Tree
    X: Any
    y: np.ndarray
    loss: Loss


@st.composite
def problems(
    draw, *, losses=DEFAULT_LOSSES, n_internal=N_INTERNAL, n_samples=N_SAMPLES, n_features=SIZES,
    n_outputs=SIZES, elements=DYADICS, scales=SCALES, dtypes=DTYPES, sparse=SPARSE,
    sparse_weights=NEVER, linear_leaves=NEVER,
):
    """Trees with matching samples, targets and losses, as `ngdt.inference` takes them.

    Parameters
    ----------
    losses : strategy of Loss
    n_internal, n_samples, n_features, n_outputs : strategy of int
    elements : strategy of float
        All numbers, before the scales are applied.
    scales : strategy of float
        Powers of two. Two are drawn: one multiplies the samples and divides the weights and slopes,
        which does not change the scores; the other multiplies all scores.
    dtypes : strategy of dtype
        Dtypes of the samples.
    sparse : strategy of bool
        True for sparse samples.
    sparse_weights : strategy of bool
        True for a tree with sparse weights.
    linear_leaves : strategy of bool
        True for a tree with linear leaves, as `trees` draws them.

    Returns
    -------
    strategy of TreeProblem

    Examples
    --------
    The fast bound is at most the full bound:

    >>> from hypothesis import given
    >>> from ngdt.inference import upper_bound
    >>> from ngdt.testing.strategies import problems
    >>> @given(problems())
    ... def test_order_of_bounds(problem):
    ...     tree, X, y, loss = problem
    ...     fast = upper_bound(tree, X, y, loss=loss, inference="fast")
    ...     assert (fast <= upper_bound(tree, X, y, loss=loss, inference="full")).all()
    >>> test_order_of_bounds()
    """
    p, k = st.just(draw(n_features)), st.just(draw(n_outputs))
    tree = draw(trees(
        n_internal=n_internal, n_features=p, n_outputs=k, elements=elements,
        sparse_weights=sparse_weights, linear_leaves=linear_leaves))
    X, y, loss = draw(datasets(
        losses=losses, n_samples=n_samples, n_features=p, n_outputs=k, elements=elements,
        dtypes=dtypes, sparse=sparse))
    feature_scale, score_scale = draw(scales), draw(scales)
    leaves = tree.leaf_arrays()
    if tree.slopes is not None:
        leaves["slopes"] = tree.slopes / feature_scale
    tree = tree.replace(
        weights=tree.weights / feature_scale * score_scale,
        thresholds=tree.thresholds * score_scale, **leaves)
    return TreeProblem(tree, X * X.dtype.type(feature_scale), y, loss)


st.register_type_strategy(Tree, trees())
st.register_type_strategy(Loss, losses())
