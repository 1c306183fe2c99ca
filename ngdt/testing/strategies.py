"""Hypothesis strategies for trees, losses and data.

Every argument is keyword-only and is itself a strategy: ``trees(n_features=st.just(4))`` fixes
what ``trees()`` leaves open. All values shrink, trees to a single leaf (or to a stump, where a test
needs an internal node) and numbers to zero.

Numbers are *dyadic* by default, small integers over a power of two. Scores, prices and squared
errors of such numbers have no rounding error, whatever the order of the sums, so that a test may
compare with ``==``; scores of exactly zero, ties and equal rows, the hard cases of a decision tree,
are frequent among them. Pass ``elements=st.floats(-1e3, 1e3)`` to leave that ground.

The types `ngdt.Tree` and `ngdt.losses.Loss` are registered, so ``st.from_type(Tree)`` works too.
"""

from typing import Any, NamedTuple

import numpy as np
from hypothesis import event
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from ngdt._loss import LOSSES, Loss
from ngdt._tree import Tree

__all__ = [
    "Dataset",
    "TreeProblem",
    "assignments",
    "datasets",
    "dyadics",
    "losses",
    "problems",
    "samples",
    "targets",
    "trees",
]


class Dataset(NamedTuple):
    """What `datasets` draws.

    Attributes
    ----------
    X : ndarray or CSR array of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    loss : Loss
        A loss that `y` is meant for.
    """

    X: Any
    y: np.ndarray
    loss: Loss


class TreeProblem(NamedTuple):
    """What `problems` draws: the arguments of the functions in `ngdt.inference`.

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


def _ldexp(numerator, exponent):
    return float(np.ldexp(float(numerator), exponent))


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
    return st.builds(_ldexp, numerators, exponents)


# What dyadics() draws, in half the time: one draw per number instead of three.
_DYADICS = _NUMERATORS.map(lambda numerator: numerator / 2)
_SIZES = st.integers(1, 3)
_N_INTERNAL = st.integers(0, 6)
_N_SAMPLES = st.integers(1, 4)
_DTYPES = st.sampled_from([np.float64, np.float32])
_SPARSE = st.booleans()
_DENSE = st.just(False)
_SCALES = st.sampled_from([1.0, 2.0**-40, 2.0**40])
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


_LOSSES = losses()


@st.composite
def _shapes(draw, n_internal):
    """Children of a tree: every shape and every numbering with parents before children."""
    m = draw(n_internal)
    children = np.zeros((2, m), dtype=np.int32)
    # Slots are the places below the nodes that are still free. Taking always the first gives a
    # balanced tree, taking always the last a chain.
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
    draw,
    *,
    n_internal=_N_INTERNAL,
    n_features=_SIZES,
    n_outputs=_SIZES,
    elements=_DYADICS,
    sparse_weights=_DENSE,
):
    """Trees of every shape: single leaves, stumps, chains, balanced trees, dead branches.

    Parameters
    ----------
    n_internal : strategy of int
        Number of internal nodes.
    n_features, n_outputs : strategy of int
    elements : strategy of float
        Entries of the weights, thresholds and leaf values. Many weights are zero.
    sparse_weights : strategy of bool
        True for a tree that stores its weights sparse; by default, none does.

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
        children_left=left,
        children_right=right,
        values=draw(arrays(np.float64, (m + 1, k), elements=elements)),
    )
    event(f"tree: {_describe(tree)}")
    return tree.sparsify() if draw(sparse_weights) else tree


def _describe(tree):
    if tree.n_internal < 2:
        return "stump" if tree.n_internal else "single leaf"
    if tree.max_depth == tree.n_internal:
        return "chain"
    return "balanced" if 2**tree.max_depth < 2 * tree.n_leaves else "unbalanced"


@st.composite
def samples(
    draw,
    *,
    n_samples=_N_SAMPLES,
    n_features=_SIZES,
    elements=_DYADICS,
    dtypes=_DTYPES,
    sparse=_SPARSE,
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
    if len(np.unique(X, axis=0)) < len(X):
        event("samples: equal rows")
    return csr_array(X) if draw(sparse) else X


@st.composite
def targets(draw, *, losses=_LOSSES, n_samples=_N_SAMPLES, n_outputs=_SIZES, elements=_DYADICS):
    """Targets that a loss takes: class indices or numbers.

    Parameters
    ----------
    losses : strategy of Loss
    n_samples : strategy of int
    n_outputs : strategy of int
        Number of classes, or of regression targets.
    elements : strategy of float
        Regression targets.

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
    return draw(arrays(np.float64, shape, elements=elements))


@st.composite
def assignments(draw, *, n_leaves=_SIZES, n_samples=_N_SAMPLES):
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
    >>> find(assignments(), lambda leaf: leaf.any())
    array([1], dtype=int32)
    """
    n, n_leaves = draw(n_samples), draw(n_leaves)
    return draw(arrays(np.int32, n, elements=st.integers(0, n_leaves - 1)))


@st.composite
def datasets(
    draw,
    *,
    losses=_LOSSES,
    n_samples=_N_SAMPLES,
    n_features=_SIZES,
    n_outputs=_SIZES,
    elements=_DYADICS,
    dtypes=_DTYPES,
    sparse=_SPARSE,
):
    """Samples with targets, as for the `fit` of an estimator.

    Parameters
    ----------
    losses : strategy of Loss
        Decides between class indices and numbers as targets.
    n_samples, n_features, n_outputs : strategy of int
    elements : strategy of float
        Entries of the samples and regression targets.
    dtypes : strategy of dtype
        Of the samples.
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
    X = draw(
        samples(n_samples=n, n_features=n_features, elements=elements, dtypes=dtypes, sparse=sparse)
    )
    y = draw(targets(losses=st.just(loss), n_samples=n, n_outputs=n_outputs, elements=elements))
    return Dataset(X, y, loss)


@st.composite
def problems(
    draw,
    *,
    losses=_LOSSES,
    n_internal=_N_INTERNAL,
    n_samples=_N_SAMPLES,
    n_features=_SIZES,
    n_outputs=_SIZES,
    elements=_DYADICS,
    scales=_SCALES,
    dtypes=_DTYPES,
    sparse=_SPARSE,
    sparse_weights=_DENSE,
):
    """Trees with samples, targets and a loss to match: what `ngdt.inference` takes.

    Parameters
    ----------
    losses : strategy of Loss
    n_internal, n_samples, n_features, n_outputs : strategy of int
    elements : strategy of float
        Every number before the scales are applied.
    scales : strategy of float
        Powers of two. One factor makes the samples larger and the weights smaller, which leaves the
        scores as they are, another one multiplies all scores.
    dtypes : strategy of dtype
        Of the samples.
    sparse : strategy of bool
        True for sparse samples.
    sparse_weights : strategy of bool
        True for a tree with sparse weights.

    Returns
    -------
    strategy of TreeProblem

    Examples
    --------
    The fast bound is below the full one:

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
    tree = draw(
        trees(
            n_internal=n_internal,
            n_features=p,
            n_outputs=k,
            elements=elements,
            sparse_weights=sparse_weights,
        )
    )
    X, y, loss = draw(
        datasets(
            losses=losses,
            n_samples=n_samples,
            n_features=p,
            n_outputs=k,
            elements=elements,
            dtypes=dtypes,
            sparse=sparse,
        )
    )
    feature_scale, score_scale = draw(scales), draw(scales)
    event(f"problem: features times {feature_scale:g}, scores times {score_scale:g}")
    tree = Tree(
        tree.weights / feature_scale * score_scale,
        tree.thresholds * score_scale,
        tree.children_left,
        tree.children_right,
        tree.values,
    )
    X = X * X.dtype.type(feature_scale)
    if (tree.scores(X) == 0).any():
        event("problem: a score is zero")
    return TreeProblem(tree, X, y, loss)
