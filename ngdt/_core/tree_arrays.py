"""The arrays of a tree: checked, copied, read-only."""

import numpy as np
from scipy import sparse

from ngdt._core.flat_tree import depths
from ngdt._util.validation import check_csr, check_finite, error_prefix

# Largest share of weights that are not zero for which products with sparse weights are faster.
SPARSE_SHARE = 0.125


def checked_arrays(weights, thresholds, children_left, children_right, values, slopes, ranges):
    """Check the arguments of `Tree`, and return the arguments of `FlatTree`.

    Kernels follow these arrays without checks of their own.
    """
    dense, csr, (m, p) = checked_weights(weights)
    thresholds = numbers("thresholds", thresholds, 1)
    left = integers("children_left", children_left)
    right = integers("children_right", children_right)
    check_lengths(m, thresholds, left, right)
    leaves = checked_leaves((m, p), values, slopes, ranges)
    return dense, csr, p, thresholds, left, right, *leaves, *checked_depths(left, right)


def checked_weights(weights):
    """Weights as a dense array or the arrays of a sparse one, the other None, and their shape."""
    if sparse.issparse(weights):
        return None, _checked_csr(weights), weights.shape
    dense = numbers("weights", weights, 2)
    return dense, None, dense.shape


def check_lengths(m, thresholds, left, right):
    """Raise a ValueError if the nodes are not as many as the weight vectors."""
    for name, array in (
            ("thresholds", thresholds), ("children_left", left), ("children_right", right)):
        if len(array) != m:
            raise ValueError(f"{name} has {len(array)} entries, but weights has {m} rows")


def checked_leaves(shape, values, slopes, ranges):
    """The arrays of the leaves; `shape` is the shape of the weights."""
    m, p = shape
    values = numbers("values", values, 2)
    if len(values) != m + 1:
        raise ValueError(
            f"values must have one row per leaf, {m + 1} for {m} internal nodes, "
            f"got {len(values)}")
    if 0 in (p, values.shape[1]):
        raise ValueError("weights, one column per feature, and values, one per output, have none")
    slopes = _leaf_array("slopes", slopes, (*values.shape, p))
    # Constant leaves predict their values, which nothing clips.
    ranges = None if slopes is None else _leaf_array("ranges", ranges, (*values.shape, 2))
    if ranges is not None and (ranges[..., 0] > ranges[..., 1]).any():
        raise ValueError("ranges must hold pairs of a lower and an upper limit, in this order")
    return values, slopes, ranges


def _leaf_array(name, array, shape):
    """Numbers of the leaves beyond their values, or None."""
    if array is None:
        return None
    array = numbers(name, array, 3)
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    return array


def numbers(name, array, ndim):
    """Real numbers as float64."""
    array = _array(name, array, "real numbers", "iuf", ndim)
    array = np.array(array, dtype=np.float64, order="C")
    check_finite(name, array)
    return read_only(array)


def integers(name, array):
    """A vector of integers as int32."""
    array = _array(name, array, "integers", "iu", 1)
    limits = np.iinfo(np.int32)
    if array.size and (array.max() > limits.max or array.min() < limits.min):
        raise ValueError(f"{name} holds ids out of range")
    return read_only(np.array(array, dtype=np.int32))


def _checked_csr(weights):
    """Nonzeros of sparse weights, their columns and row starts.

    Columns ascend within a row, without repetition; no zero is stored.
    """
    _check_kind("weights", weights.dtype, "real numbers", "iuf")
    _check_ndim("weights", weights.ndim, 2)
    with error_prefix("weights"):
        matrix = sparse.csr_array(weights)
    check_csr("weights", matrix)
    if matrix.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(f"weights must have columns that 32 bits count, got {matrix.shape[1]}")
    with error_prefix("weights"):
        matrix = sparse.csr_array(
            (matrix.data.astype(np.float64), matrix.indices.astype(np.int32),
             matrix.indptr.copy()), shape=matrix.shape)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    check_finite("weights", matrix.data)
    # scipy does not copy indices of the dtype that it would choose.
    ends = np.int32 if matrix.nnz <= np.iinfo(np.int32).max else np.int64
    parts = (matrix.data, np.float64), (matrix.indices, np.int32), (matrix.indptr, ends)
    return tuple(read_only(np.array(part, dtype=dtype)) for part, dtype in parts)


def sparse_is_faster(n_nonzero, size):
    """The rule by which weights are sparse in products, instead of dense.

    A product with sparse weights looks a value up for each nonzero, one with dense weights
    multiplies several side by side. Where sparse weights are faster, they also take less memory;
    where they only take less memory, `Tree.compact` makes them sparse if a user wants that.

    Parameters
    ----------
    n_nonzero, size : int
        Of the weights.

    Returns
    -------
    bool
    """
    return n_nonzero < SPARSE_SHARE * size


def read_only(array):
    """The array itself, which nobody can write to any more."""
    array.flags.writeable = False
    return array


def checked_depths(left, right):
    """Depths of the nodes and leaves; a ValueError unless the children form one binary tree."""
    node_depths, leaf_depths, fault = depths(left, right)
    if fault < 0:
        return node_depths, leaf_depths
    m, (node, side) = len(left), divmod(fault, 2)
    name, children = (("children_left", left), ("children_right", right))[side]
    raise ValueError(
        f"{name}[{node}] = {children[node]}, but the children of node {node} must be nodes in "
        f"{node + 1}..{m - 1}, or leaves ~leaf in {-m - 1}..-1, that have no other parent")


def _array(name, array, wanted, kinds, ndim):
    with error_prefix(name):
        array = np.asarray(array)
    if array.size:
        _check_kind(name, array.dtype, wanted, kinds)
    _check_ndim(name, array.ndim, ndim)
    return array


def _check_kind(name, dtype, wanted, kinds):
    if dtype.kind not in kinds:
        raise TypeError(f"{name} must hold {wanted}, got dtype {dtype}")


def _check_ndim(name, got, wanted):
    if got != wanted:
        raise ValueError(f"{name} must have {wanted} dimension(s), got {got}")
