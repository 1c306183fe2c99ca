"""Strategies for trees with matching samples, targets and losses."""

from typing import Any, NamedTuple

import numpy as np
from hypothesis import event
from hypothesis import strategies as st

from ngdt._core.loss import Loss
from ngdt._core.tree import Tree
from ngdt.testing.strategies._data import datasets
from ngdt.testing.strategies._elements import (
    CONSTANT,
    DEFAULT_LOSSES,
    DENSE,
    DTYPES,
    DYADICS,
    N_INTERNAL,
    N_SAMPLES,
    SCALES,
    SIZES,
    SPARSE,
)
from ngdt.testing.strategies._trees import trees


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
    draw,
    *,
    losses=DEFAULT_LOSSES,
    n_internal=N_INTERNAL,
    n_samples=N_SAMPLES,
    n_features=SIZES,
    n_outputs=SIZES,
    elements=DYADICS,
    scales=SCALES,
    dtypes=DTYPES,
    sparse=SPARSE,
    sparse_weights=DENSE,
    linear_leaves=CONSTANT,
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
    tree = draw(
        trees(
            n_internal=n_internal,
            n_features=p,
            n_outputs=k,
            elements=elements,
            sparse_weights=sparse_weights,
            linear_leaves=linear_leaves,
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
    leaves = tree.leaf_arrays()
    if tree.slopes is not None:
        leaves["slopes"] = tree.slopes / feature_scale
    tree = tree.replace(
        weights=tree.weights / feature_scale * score_scale,
        thresholds=tree.thresholds * score_scale,
        **leaves,
    )
    X = X * X.dtype.type(feature_scale)
    if (tree.scores(X) == 0).any():
        event("problem: a score is zero")
    return TreeProblem(tree, X, y, loss)
