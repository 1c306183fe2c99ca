"""Strategies for directions of features, and for trees that are monotone along them."""

from typing import NamedTuple

import numpy as np
from hypothesis import event
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ngdt._core.tree import Tree
from ngdt._training.monotone import nearest_monotone
from ngdt.losses import LogLoss, SquaredLoss
from ngdt.testing.strategies._elements import DYADICS, N_INTERNAL, SIZES
from ngdt.testing.strategies._trees import trees

_N_OUTPUTS = st.integers(1, 2)


class MonotoneTree(NamedTuple):
    """A tree, and the directions along which it is monotone: for `ngdt.inference.is_monotone`.

    Attributes
    ----------
    tree : Tree
    cst : ndarray of int8, shape (n_features,)
    """

    tree: Tree
    cst: np.ndarray


@st.composite
def directions(draw, *, n_features=SIZES):
    """Directions of features, as `monotonic_cst` has them, not all of them zero.

    Parameters
    ----------
    n_features : strategy of int

    Returns
    -------
    strategy of ndarray of int8, shape (n_features,)

    Examples
    --------
    >>> from hypothesis import find
    >>> from hypothesis import strategies as st
    >>> from ngdt.testing.strategies import directions
    >>> find(directions(n_features=st.just(3)), lambda cst: cst.min() < 0).tolist()
    [0, 0, -1]
    """
    p = draw(n_features)
    found = arrays(np.int8, p, elements=st.sampled_from([0, 1, -1]), fill=st.nothing())
    return draw(found.filter(np.any))


@st.composite
def monotone_trees(
    draw,
    *,
    n_internal=N_INTERNAL,
    n_features=SIZES,
    n_outputs=_N_OUTPUTS,
    elements=DYADICS,
):
    """Trees of any splits, with the leaf values that make them monotone.

    Parameters
    ----------
    n_internal, n_features : strategy of int
    n_outputs : strategy of int
        1, or 2 for the log-probabilities of two classes.
    elements : strategy of float
        As for `trees`. Equal leaves have the mean of these numbers, which need not be dyadic.

    Returns
    -------
    strategy of MonotoneTree

    Examples
    --------
    >>> from hypothesis import given
    >>> from ngdt.inference import is_monotone
    >>> from ngdt.testing.strategies import monotone_trees
    >>> @given(monotone_trees())
    ... def test_monotone_trees_are_proved(monotone):
    ...     assert is_monotone(*monotone) == (True, None)
    >>> test_monotone_trees_are_proved()
    """
    p = st.just(draw(n_features))
    tree = draw(trees(n_internal=n_internal, n_features=p, n_outputs=n_outputs, elements=elements))
    cst = draw(directions(n_features=p))
    loss = SquaredLoss() if tree.n_outputs == 1 else LogLoss()
    ordered = nearest_monotone(tree, cst, np.ones(tree.n_leaves), loss)
    event(f"monotone tree: leaf values are {'as drawn' if ordered is tree else 'ordered'}")
    return MonotoneTree(ordered, cst)
