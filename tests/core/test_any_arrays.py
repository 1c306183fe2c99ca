"""The constructor of a tree takes arrays of any type and shape: it refuses them, or they work."""

import warnings

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

import hostile
from ngdt import Tree

TYPES = st.sampled_from(
    [np.float64, np.float32, np.int32, np.int64, np.uint8, bool, ">f8", "S2", "U2", object, "M8[s]",
     np.complex128, np.longdouble])
SHAPES = st.lists(st.integers(0, 3), max_size=3).map(tuple)
ANY = TYPES.flatmap(lambda dtype: SHAPES.flatmap(
    lambda shape: st.just(np.ones(shape, dtype)) if dtype is object else arrays(dtype, shape)))
CHILDREN = arrays(np.int64, st.integers(0, 3), elements=st.integers(-5, 4))
NUMBERS = st.sampled_from([0.0, 1.0, -1.0, 5e-324, 1e308, -1e308])


@st.composite
def csr_matrices(draw):
    """Parts of CSR matrices that need not fit together."""
    matrix = sparse.csr_array((draw(st.integers(0, 3)), draw(st.integers(0, 3))))
    for name, values in (("data", NUMBERS), ("indices", st.integers(-2, 4)),
                         ("indptr", st.integers(-1, 5))):
        part = draw(st.lists(values, max_size=5))
        setattr(matrix, name, np.array(part, dtype=float if name == "data" else np.int32))
    return matrix


@st.composite
def arguments(draw):
    """Arguments that fit, some of them exchanged for others."""
    m, p, k = draw(st.integers(0, 2)), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    right = [*range(1, m), ~m] if m else []
    found = {
        "weights": draw(arrays(np.float64, (m, p), elements=NUMBERS)),
        "thresholds": draw(arrays(np.float64, m, elements=NUMBERS)),
        "children_left": ~np.arange(m), "children_right": np.array(right, dtype=int),
        "values": draw(arrays(np.float64, (m + 1, k), elements=NUMBERS)),
        "slopes": draw(st.none() | arrays(np.float64, (m + 1, k, p), elements=NUMBERS))}
    for name in draw(st.lists(st.sampled_from([*found, "ranges"]), max_size=2, unique=True)):
        found[name] = draw(CHILDREN | ANY if "children" in name else ANY | csr_matrices())
    return found


@settings(max_examples=6 * settings.default.max_examples)
@given(arguments(), st.sampled_from([*hostile.SPARSE, "as it is"]), st.integers(0, 99))
def test_any_arrays(given, form, number):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")     # of NumPy, about complex numbers
        try:
            tree = Tree(**given)
        except (ValueError, TypeError) as error:
            event(type(error).__name__)
            return
    event("tree")
    X = hostile.table(["normal", "mixed"][:tree.n_features] + ["largest"] * (tree.n_features - 2),
                      5, number)
    leaf = tree.apply(X)
    assert hostile.impossible_leaves(tree, X, leaf) == []
    given = (hostile.DENSE | hostile.SPARSE)[form](X)
    assert hostile.impossible_leaves(tree, X, tree.apply(given)) == []
    assert tree.predict(X).shape == (5, tree.n_outputs)


@pytest.mark.parametrize("name", ["weights", "slopes"])
def test_arrays_are_copied(name):
    given = {"weights": np.ones((1, 2)), "slopes": np.ones((2, 1, 2))}
    tree = Tree(given["weights"], [0.0], [~0], [~1], np.zeros((2, 1)), given["slopes"])
    given[name][...] = 7.0
    assert (getattr(tree, name) == 1.0).all()
